"""`Proof`: what is proven of a convex program, in numbers, in the names that its user gave, and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.arithmetic.matrices import floats
from workbench.arithmetic.rationals import Ratios
from workbench.contracts import Floats
from workbench.programs.linear import INFEASIBLE, OPTIMAL, UNBOUNDED
from workbench.programs.program import AUXILIARY, Program
from workbench.proofs.checker.programs import Claim
from workbench.proofs.ends import above, below, nearest, text

UNKNOWN = "unknown"
FEW, SOME = 8, 3  # names, and roundings or rows of one constraint, in a sentence
SLIGHT = 1e-9  # of the largest price
LONG = 60  # characters of a fraction, beyond which a sentence only says how long


@dataclass
class Proof:
    """What is proven of a program, in its user's sense (a maximum is a maximum).

    kind : optimal, bounded, infeasible, unbounded, nonconvex, or unknown
    lower, upper : proven ends of the optimum, fractions; None where there is none
    rows : of an infeasible program, rows that contradict one another, no fewer of which do; empty if that is not known
    remark : why there is no more, in a sentence
    """

    program: Program
    reading: str
    kind: str
    claim: Claim
    lower: Fraction | None = None
    upper: Fraction | None = None
    rows: tuple[int, ...] = ()
    remark: str = ""
    backend: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def __repr__(self) -> str:
        return f"Proof({self.statement})"

    @property
    def rounded(self) -> tuple[str, ...]:
        """What was rounded or approximated before anything was proven, in sentences."""
        return self.program.rounded

    @property
    def optimum(self) -> Fraction | None:
        """The optimum as a fraction, where both ends meet."""
        return self.lower if self.lower is not None and self.lower == self.upper else None

    @property
    def width(self) -> float:
        """upper − lower, rounded up; ∞ where an end is missing."""
        return np.inf if self.lower is None or self.upper is None else above(self.upper - self.lower)

    @property
    def gap(self) -> float:
        """The width relative to the larger end, or to 1 if both are smaller."""
        if self.lower is None or self.upper is None:
            return np.inf
        return above((self.upper - self.lower) / max(Fraction(1), abs(self.lower), abs(self.upper)))

    @property
    def x(self) -> Floats | None:
        """The point that proves an end, as floats: of all compiled variables."""
        return None if self.claim.x is None else floats(vector_of(self.claim.x))

    @property
    def solution(self) -> dict[str, float] | None:
        """`x` by the names of the user's variables, where it attains an end of the optimum."""
        if (x := self.x) is None or self.kind not in (OPTIMAL, "bounded"):
            return None
        named = zip(self.program.columns, x.tolist(), strict=False)  # some programs name no columns
        return {name: value for name, value in named if not name.startswith(AUXILIARY)} or None

    @property
    def prices(self) -> dict[str, float] | None:
        """The prices of the user's constraints that hold the optimum, rounded, in the signs of CVXPY's `dual_value`.

        A price is how fast the optimum of the problem as a minimisation falls as the constraint's right-hand side is
        loosened. Constraints with several rows count them from 0. Prices below SLIGHT of the largest are left out.
        """
        if self.claim.y is None or self.kind not in (OPTIMAL, "bounded"):
            return None
        names, y = self.program.rows, floats(vector_of(self.claim.y))
        often, found = Counter(names), dict[str, float]()
        for name, place, price in zip(names, places(names), y.tolist(), strict=False):
            if name:
                found[f"{name} [{place}]" if often[name] > 1 else name] = price
        least = SLIGHT * max(map(abs, found.values()), default=0.0)
        return {name: price for name, price in found.items() if abs(price) > least}

    @property
    def direction(self) -> dict[str, float] | None:
        """Of an objective that is unbounded or not convex: the direction that proves this, by the variables' names.

        The largest entry is 1 or −1, entries that are 0 are left out, and the others are rounded.
        """
        if self.claim.d is None:
            return None
        whole, largest = self.claim.d[0], max(map(abs, self.claim.d[0]))
        named = zip(self.program.columns, whole, strict=False)
        return {name: v / largest for name, v in named if v and not name.startswith(AUXILIARY)} or None

    @property
    def along(self) -> str:
        """` (x +1, y -0.5)`, the largest entries of the direction; "" without names."""
        moved = sorted((self.direction or {}).items(), key=lambda each: -abs(each[1]))
        told = [f"{name} {value:+.3g}" for name, value in moved[:FEW]]
        told += [f"{len(moved) - FEW} more"] * (len(moved) > FEW)
        return f" ({', '.join(told)})" if told else ""

    @property
    def names(self) -> list[str]:
        """The names of `rows`, each once."""
        return list(dict.fromkeys(self.program.rows[k] for k in self.rows if self.program.rows[k]))

    @property
    def statement(self) -> str:
        """What is proven, in words, and which numbers were rounded before the program came to be."""
        return self.conclusion + rounded_before(self.program)

    @property
    def conclusion(self) -> str:
        """What is proven, in words."""
        best = "maximum" if self.program.sign < 0 else "minimum"
        reading = "decimals" if self.reading == "decimal" else "stored floats"
        about = f"{self.program.name} (numbers read as {reading})"
        if self.kind == OPTIMAL and self.optimum is not None:
            return f"The {best} of {about} is {shown(self.optimum)}."
        if self.kind == "bounded":
            ends = [f"at least {below(self.lower):.17g}"] if self.lower is not None else []
            ends += [f"at most {above(self.upper):.17g}"] if self.upper is not None else []
            return f"The {best} of {about} is {' and '.join(ends)}."
        if self.kind == INFEASIBLE:
            told = with_rows(self.program.rows, self.rows)
            shown_names = told[:FEW] + [f"{len(told) - FEW} more"] * (len(told) > FEW)
            verb = "contradict one another" if len(self.names) > 1 else "cannot hold"
            because = f": {', '.join(shown_names)} {verb}" if self.names else ""
            return f"No point satisfies the constraints of {about}{because}."
        if self.kind == UNBOUNDED:
            return f"The objective of {about} improves without end along a ray of feasible points{self.along}."
        if self.kind == "nonconvex":
            shape = "convex" if self.program.sign > 0 else "concave"
            return f"The objective of {about} is not {shape}: it bends the wrong way along a direction{self.along}."
        return f"Nothing is proven about {about}: {self.remark}."

    def save(self, stem: Any) -> Any:
        """Write the certificate STEM.json and STEM.npz, which `cutbench verify` proves again; the JSON's path."""
        from workbench.programs.certificate import save

        return save(self, stem)


def places(names: Sequence[str]) -> list[int]:
    """For each row its number among the rows of its name, from 0 on."""
    seen, found = Counter[str](), []
    for name in names:
        found.append(seen[name])
        seen[name] += 1
    return found


def with_rows(names: Sequence[str], rows: Sequence[int]) -> list[str]:
    """The constraints of these rows, each once; `demand [17]` where it is one row of several, that of number 17.

    names : of every row, that of its constraint, "" for a row of none. Numbers are those of `Proof.prices`.
    """
    numbers, often, chosen = places(names), Counter(names), dict[str, list[int]]()
    for k in rows:
        chosen.setdefault(names[k], []).append(numbers[k])
    found = []
    for name, own in chosen.items():
        told = [*map(str, own[:SOME]), *([f"{len(own) - SOME} more"] if len(own) > SOME else [])]
        found.append(name if len(own) == often[name] else f"{name} [{', '.join(told)}]")
    return [each for name, each in zip(chosen, found, strict=True) if name]


def rounded_before(program: Program) -> str:
    """What was rounded before the proof, as a sentence behind another one; "" if nothing was."""
    told = [*program.rounded[:SOME], *(["and more"] if len(program.rounded) > SOME else [])]
    return f" Rounded before the proof: {'; '.join(told)}." if told else ""


def shown(value: Fraction) -> str:
    words = text(value)
    if len(words) > LONG:
        return f"a fraction of {len(words)} characters, about {about(value)}"
    return f"exactly {words}, about {about(value)}" if "/" in words else f"exactly {words}"


def about(value: Fraction) -> str:
    """The value to twelve digits."""
    near = nearest(value)
    return f"{near:.12g}" if np.isfinite(near) else "a number beyond floats"


def vector_of(vector: tuple[list[int], int]) -> Ratios:
    return Ratios.of(vector[0], vector[1])
