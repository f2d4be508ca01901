"""CVXPY's expressions in a user's words: `sqrt(t)` where CVXPY writes `PowerApprox(t, 0.5)`."""

from __future__ import annotations

import re
from typing import Any

LENGTH = 60  # characters of an expression in a sentence
POWERS = {"0.5": "sqrt", "2.0": "square", "-1.0": "inv_pos"}
CALLS = re.compile(r"\b(Power|PowerApprox|Pnorm|PnormApprox|GeoMean|GeoMeanApprox|quad_over_lin|QuadForm|Sum)\(")
ZERO = re.compile(r" \+ (Promote\()?-0\.0(, \([\d, ]+\)\))?")  # what CVXPY adds to X where a user writes X >> 0
DEFAULTS = re.compile(r", None, False(?=\))")  # axis and keepdims


def worded(one: Any) -> str:
    """The text of a CVXPY expression or constraint, on one line, shortened to what fits into a sentence."""
    return shortened(called(ZERO.sub("", DEFAULTS.sub("", " ".join(str(one).split())))))


def shortened(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= LENGTH else f"{words[: LENGTH - 3]}…"


def called(words: str) -> str:
    """Calls of CVXPY's own classes as calls of the functions that a user writes."""
    found = CALLS.search(words)
    if found is None:
        return words
    parts, end = arguments(words, found.end())
    atom = as_written(found[1].removesuffix("Approx"), [called(part) for part in parts])
    return words[: found.start()] + atom + called(words[end:])


def arguments(words: str, start: int) -> tuple[list[str], int]:
    """The arguments of the call whose parenthesis opens before `start`, and where the call ends."""
    parts, depth, at = [""], 1, start
    while at < len(words) and depth:
        letter = words[at]
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 1:
            parts.append("")
        elif depth:
            parts[-1] += letter
        at += 1
    return [part.strip() for part in parts], at


def as_written(name: str, parts: list[str]) -> str:
    """One call, by CVXPY's class and its arguments."""
    inside, *rest = parts
    if name == "Power" and rest and rest[0] in POWERS:
        return f"{POWERS[rest[0]]}({inside})"
    if name == "quad_over_lin" and rest == ["1.0"]:
        return f"sum_squares({inside})"
    if name == "GeoMean" and rest and len(set(rest[0].strip("()").split(", "))) == 1:
        return f"geo_mean({inside})"
    if name == "Pnorm" and rest == ["2"]:
        return f"norm({inside})"
    names = {"GeoMean": "geo_mean", "QuadForm": "quad_form"}
    return f"{names.get(name, name.lower())}({', '.join(parts)})"
