"""A second reading of model files, written apart from HiGHS's reader: a model counts only where both readings agree.

HiGHS answers `ok` to files it has not understood: it leaves out an objective called "Minimise", takes prose for an
empty program, drops entries below 1e-9, and adds up no repeated terms. A proof about such numbers is a proof about
another program. So each text is read here as well, into the same few facts, and any difference is refused:

    costs c_j, constant, entries a_ij, ends of rows, bounds of variables, products p_jk of ½xᵀPx, and the sense
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from workbench.errors import BadInput

LONG = re.compile(r"(?<![\w.])(?:\d{16,}|(?=[\d.]{17,})\d*\.\d*)(?:[eE][+-]?\d+)?(?![\w.])")  # 16 digits and more
SOME = 5  # names in a sentence
ENDLESS = 1e20  # bounds of this size and beyond are none, for HiGHS as for the collections


class Unclear(Exception):
    """A fault of a text: what, and where."""


class Discrete(Unclear):
    """A place where a text says that variables are not continuous."""


@dataclass
class Facts:
    """What a text says. Rows are counted in the order of the file, variables go by name; zeros are left out."""

    maximise: bool = False
    constant: float = 0.0
    costs: dict[str, float] = field(default_factory=dict)
    entries: dict[tuple[int, str], float] = field(default_factory=dict)
    rows: list[tuple[float, float]] = field(default_factory=list)
    bounds: dict[str, list[float | None]] = field(default_factory=dict)
    products: dict[tuple[str, str], float] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    rounded: list[str] = field(default_factory=list)

    def bound(self, name: str) -> tuple[float, float]:
        """Lower and upper bound of a variable, 0 and ∞ where none is given."""
        lower, upper = self.bounds.get(name, (None, None))
        if lower is None and upper is not None and upper < 0:
            raise Unclear(f"{name} has the upper bound {upper:g} and no lower one, which readers take for 0 or −∞")
        return endless(0.0 if lower is None else lower), endless(inf if upper is None else upper)

    def once(self, told: dict, key: Any, value: float, where: str) -> None:
        """Note a value that may be told only once: readers differ on whether a second one adds or replaces."""
        if key in told:
            raise Unclear(f"{key if isinstance(key, str) else key[-1]} stands twice in {where}")
        told[key] = value


def overlong(text: str) -> list[str]:
    """A sentence on numbers of the text that are not the shortest decimals of their floats."""
    words = [word for word in LONG.findall(text) if Decimal(word) != Decimal(repr(float(word)))]
    more = f", as are {len(words) - 1} more" if len(words) > 1 else ""
    return [f"{words[0]}: rounded to {float(words[0])!r}, the digits that a float holds{more}"] if words else []


def cut_off(names: list[str], facts: Facts) -> list[str]:
    """A sentence on finite bounds and ends of rows (of these names) that are taken as none because of their size."""
    told = [*facts.bounds.items(), *zip(names, facts.rows, strict=True)]
    return without_end([name for name, ends in told if any(map(too_large, ends))])


def too_large(value: float | None) -> bool:
    return value is not None and ENDLESS <= abs(value) < inf


def without_end(names: list[str]) -> list[str]:
    """The sentence, where there are such names."""
    more = f" and of {len(names) - SOME} more" * (len(names) > SOME)
    return [f"the bound of {', '.join(names[:SOME])}{more}: taken as none, as all of {ENDLESS:g} and beyond"] * bool(
        names
    )


def endless(value: float) -> float:
    return value if abs(value) < ENDLESS else inf if value > 0 else -inf


def compare(path: Path, model: Any, facts: Facts) -> None:
    """Refuse the model where HiGHS's reading and ours differ."""
    try:
        difference = differs(model, facts)
    except Unclear as fault:
        raise BadInput(f"{path} is unclear: {fault}; correct the file.") from None
    if difference:
        raise BadInput(f"{path} is read in two ways: {difference}; write the file plainly.")


def differs(model: Any, facts: Facts) -> str:
    """The first difference in words, "" if there is none."""
    columns, known = model.columns, set(model.columns)
    if not columns:
        return "HiGHS finds no variable in it"
    if missing := [name for name in facts.names if name not in known]:
        return f"HiGHS finds no variable {missing[0]}"
    if len(known) != len(facts.names) or len(columns) != len(known):
        return f"HiGHS finds {len(columns)} variables, the text names {len(facts.names)}"
    if len(model.rows) != len(facts.rows):
        return f"HiGHS finds {len(model.rows)} rows, the text has {len(facts.rows)}"
    if model.maximise != facts.maximise or model.constant != facts.constant:
        return f"HiGHS finds the constant {model.constant:g} and {'max' if model.maximise else 'min'}imises, not so we"
    A, P = sparse.coo_array(model.A), sparse.coo_array(model.P)
    told = {(int(i), columns[j]): float(value) for i, j, value in zip(*A.coords, A.data, strict=True)}
    bent = {(columns[i], columns[j]): float(value) for i, j, value in zip(*P.coords, P.data, strict=True)}
    pairs = {
        "cost of": (dict(zip(columns, model.c.tolist(), strict=True)), facts.costs),
        "entry": (told, facts.entries),
        "product": (bent, facts.products),
        "bounds of": (dict(zip(columns, ends(model.lower, model.upper), strict=True)), bounds(facts)),
        "ends of row": (dict(enumerate(ends(model.row_lower, model.row_upper))), dict(enumerate(told_ends(facts)))),
    }
    for what, (theirs, ours) in pairs.items():
        for key in {**theirs, **ours}:
            if theirs.get(key, 0.0) != ours.get(key, 0.0):
                return f"HiGHS finds {theirs.get(key, 0.0)} as the {what} {place(model, key)}, we {ours.get(key, 0.0)}"
    return ""


def bounds(facts: Facts) -> dict[str, tuple[float, float]]:
    return {name: facts.bound(name) for name in facts.names}


def told_ends(facts: Facts) -> list[tuple[float, float]]:
    return [(endless(lower), endless(upper)) for lower, upper in facts.rows]


def ends(lower: np.ndarray, upper: np.ndarray) -> list[tuple[float, float]]:
    """Pairs of ends, beyond `ENDLESS` none."""
    return [(endless(a), endless(b)) for a, b in zip(lower.tolist(), upper.tolist(), strict=True)]


def place(model: Any, key: Any) -> str:
    """A key in words."""
    if isinstance(key, int):
        return model.rows[key]
    if isinstance(key, str):
        return key
    return " × ".join(model.rows[part] if isinstance(part, int) else part for part in key)
