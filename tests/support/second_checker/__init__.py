"""A second checker of certificates, written from docs/certificate-format.md alone: plain Python and Fractions.

    verdict = second_checker.check(Path("STEM"))         # STEM.json and STEM.npz
    verdict.proven, verdict.word, verdict.reason, verdict.lower, verdict.upper

`word` is `proven`, `not proven`, `contradiction`, `malformed`, `conditional` or `too great`. Nothing of the package is
imported. Slow is fine here; where the first checker uses one method, this one may use another.
"""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from . import convex
from .files import Malformed, Unknown, digest, header, need, read_arrays, read_json
from .formulations import INF, program
from .proofs import Refused, cuts, demand, tangent
from .slopes import slopes
from .structures import TooGreat
from .trees import tree

__all__ = ["Verdict", "check"]
KINDS = {"cuts": cuts, "tangent": tangent, "tree": tree, "slopes": slopes}


@dataclass
class Verdict:
    """What is to be said about a certificate; L and U where they were computed, `rounded` if not exactly, and the
    `room` by which another checker's L may be lower, if the kind of proof names one; the greater of U and F(θ); and
    the gap of L and U.
    """

    word: str
    reason: str = ""
    lower: Fraction | float | None = None
    upper: Fraction | float | None = None
    rounded: bool = False
    room: Fraction | float | None = None
    reached: Fraction | float | None = None
    gap: Fraction | float | None = None

    @property
    def proven(self):
        return self.word == "proven"


def check(stem):
    """The Verdict on STEM.json and STEM.npz."""
    stem = Path(stem)
    verdict = Verdict("proven")
    try:
        record = read_json(stem.parent / (stem.name + ".json"))
        arrays = read_arrays(stem.parent / (stem.name + ".npz"))
        record, first = header(record)
        _decide(record, first, arrays, verdict)
    except Malformed as error:
        verdict.word, verdict.reason = "malformed", str(error)
    except Unknown as error:
        verdict.word, verdict.reason = "conditional", str(error)
    except TooGreat as error:
        verdict.word, verdict.reason = "too great", str(error)
    except Refused as error:
        verdict.word, verdict.reason = "not proven", str(error)
    return verdict


def _decide(record, first, arrays, verdict):
    part = record["formulation"]
    if record["proof"]["kind"] == "program":
        need(part["name"] == record["problem"]["output"] == "program", "a proof of kind program is about a program")
        ends = convex.prove(part["settings"], arrays)
    else:
        kind = record["proof"]["kind"]
        said = part["name"], part["settings"], arrays, record["problem"]["output"], kind, part["version"]
        problem = program(*said)
        ends = KINDS[kind](problem, arrays)
    _compare(record, first, arrays, verdict, ends)


def _compare(record, first, arrays, verdict, ends):
    """The ends against the digest, the oracle's word and the claim."""
    part, kind = record["formulation"], record["proof"]["kind"]
    demand(record["oracle"] == "exact", "the oracle is exact")
    demand(digest(arrays) == record["problem"]["data_sha256"], "the data are not those of data_sha256")
    verdict.lower, verdict.upper = ends.lower, ends.upper
    verdict.rounded, verdict.room = kind in ("tangent", "tree", "slopes"), ends.room
    verdict.reached, verdict.gap = max(ends.upper, ends.saved), relative_gap(ends.upper, ends.lower, ends.start)
    if ends.lower > ends.upper:
        verdict.word, verdict.reason = "contradiction", "the lower end is above the upper end"
        return
    allowed = first and part["name"] in (
        "completed-ssvm", "fixed-cost", "simplex-cost-learning", "normalized-cost-learning", "self-paced"
    )  # fmt: skip
    _claim(record, ends, allowed)


def number(value):
    """A JSON number as Fraction or ±∞."""
    return value if value in (INF, -INF) else Fraction(value)


def relative_gap(upper, lower, start):
    if INF in (abs(upper), abs(lower)):
        return INF
    size = max(abs(upper), abs(lower), abs(start) / 10**6)
    return (upper - lower) / size if size else upper - lower


def _claim(record, ends, allowed):
    """Conditions 2 to 4 of §2."""
    lower, upper, gap = (number(record[key]) for key in ("lower", "upper", "gap"))
    finite = [abs(end) for end in (lower, upper) if abs(end) < INF]
    allowance = max(finite, default=0) / 10**12 if allowed else 0
    demand(lower == -INF or lower - allowance <= ends.lower, "lower is above the lower end")
    demand(upper == INF or upper + allowance >= max(ends.upper, ends.saved), "upper is below the upper end")
    demand(gap >= 0, "gap is negative")
    if gap < INF:
        demand(abs(lower) < INF and abs(upper) < INF, "an end is infinite and the gap is not")
        slack = gap * (1 + Fraction(1, 10**12))
        demand(min(relative_gap(*pair, ends.start) for pair in ((ends.upper, ends.lower), (upper, lower))) <= slack,
               "the gap is greater than claimed")  # fmt: skip
    if "optimum" in record:
        demand(ends.fractions and ends.lower == ends.upper == _fraction(record["optimum"]), "the optimum is not that")


def _decimal(text):
    """A whole number of any length in decimal digits."""
    total = 0
    for first in range(0, len(text), 4000):
        piece = text[first : first + 4000]
        total = total * 10 ** len(piece) + int(piece)
    return total


def _fraction(text):
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    above, _, below = digits.partition("/")
    return Fraction(sign * _decimal(above), _decimal(below) if below else 1)
