"""`check`: is this certificate a proof, and of what? (docs/certificate-format.md)

    read → statement and structural conditions → both ends recomputed → the claim compared → verdict

The verdict is `proven` only if the checker established every part of the claim itself. A file that is no
certificate raises `Malformed` (`Unknown`, if it is about a structure or formulation that no definition covers); a
well-formed certificate with a false claim gets a verdict with `faults`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from workbench.proofs.checker.archive import Header, digest, read
from workbench.proofs.checker.contracts import Ends, Formulation, Proof, Statement
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.learning import relative_gap
from workbench.proofs.checker.whole import Array

FORMATS = ("cutbench-certificate-1", "cutbench-certificate-2")
REQUIRED = {"format", "proof", "formulation", "problem", "program", "lower", "upper", "gap", "oracle"}
REQUIRED |= {"status", "backend", "versions"}
OPTIONAL = {"alternation", "optimum"}
WHOLE, LAST = "whole", "last of an alternation"
MOST_DIGITS = 100_000  # of a fraction in a file: Python reads them in quadratic time
ALLOWANCE = Fraction(1, 10**12)
INFINITE = float("inf")
CONDITIONS = {
    "under": "the upper end rests on a decoder that may miss the maximum",
    "relaxed": "the lower end rests on cuts of a relaxation, which outputs need not attain",
}


@dataclass(frozen=True)
class Verdict:
    """What was established.

    faults : why it is no proof, if it is none;  conditional_on : what it rests on besides, in sentences
    ends : both ends and F(θ);  gap : their relative gap;  optimum : where they meet
    statement, program, alternation : what is proven, and of what it is a part
    rounded : of format 1, whether the claim holds only within the allowance for rounding; then `ends` are proven, and
        the claim is not
    """

    statement: Statement
    program: str
    alternation: dict[str, str] | None
    ends: Ends
    gap: Fraction | float
    claimed: tuple[float, float, float]
    data_sha256: str
    data_named: str
    kind: str
    output: str
    oracle: str
    faults: list[str]
    conditional_on: list[str]
    rounded: bool

    @property
    def proven(self) -> bool:
        return not self.faults and not self.conditional_on

    @property
    def optimum(self) -> Fraction | None:
        same = self.ends.arithmetic == "rational" and self.ends.lower == self.ends.upper
        return Fraction(self.ends.lower) if same and abs(self.ends.lower) < INFINITE else None

    @property
    def not_proven(self) -> list[str]:
        """What the proof does not establish, in sentences."""
        found = list(self.statement.open)
        if self.rounded:
            claim = "{!r} … {!r}".format(*self.claimed)
            found.append(f"the claim {claim} of format 1, which left a rounding open: proven are the ends recomputed")
        if self.alternation is not None:
            name, status = self.alternation["formulation"], self.alternation["status"]
            part = f"this is the last convex program ({self.statement.formulation}) of {name}, which ended {status}"
            found.append(f"{part}; nothing is proven about the optimum of {name} itself")
        found.append("that the data inside the certificate are yours, unless they were compared (--data)")
        return found


def check(name: str | Path, most_bytes: int | None = None) -> Verdict:
    """The verdict about the certificate STEM.json, STEM.npz."""
    header, arrays = read(name, most_bytes)
    return judged(*normal(header), arrays)


def judged(header: Header, old: bool, arrays: dict[str, Array]) -> Verdict:
    """The verdict about a header in normal form and its arrays."""
    kind = Proof.find(header["proof"]["kind"], header["proof"]["version"])
    statement, prepared = kind.prepare(header, arrays)
    claim = Claim(header, ALLOWANCE if old and statement.rounded_claims else Fraction(0))
    ends = kind.ends(prepared, lambda found: not claim.faults(found))
    found = digest({name.removeprefix("data_"): each for name, each in arrays.items() if name.startswith("data_")})
    named, oracle, faults = header["problem"]["data_sha256"], header["oracle"], kind.faults(prepared)
    if found != named:
        faults.append(f"the data in the certificate differ: sha256 {found} instead of {named}")
    if oracle != statement.oracle:
        faults.append(
            f"the certificate calls its oracle {oracle[:20]!r} where that of the outputs is {statement.oracle!r}"
        )
    if claim.optimum is not None and not kind.attains(header, arrays):
        faults.append("an optimum is claimed, but nothing in the certificate is to attain it")
    conditions = [CONDITIONS[statement.oracle]] if statement.oracle in CONDITIONS else []
    return Verdict(
        statement, header["program"], header.get("alternation"), ends, relative_gap(ends.upper, ends.lower, ends.start),
        (claim.lower, claim.upper, claim.gap), found, named, kind.name, header["problem"]["output"],
        statement.oracle, [*faults, *claim.faults(ends)], conditions, claim.rounded(ends),
    )  # fmt: skip


# ── the header ────────────────────────────────────────────────────────────────────────────────────


def normal(header: Header) -> tuple[Header, bool]:
    """The header with every part that format 2 has, each of its type; and whether it was of format 1."""
    said = header.get("format")
    demand(isinstance(said, str) and said in FORMATS, f"it has the format {str(said)[:60]!r}, not {FORMATS[1]!r}")
    old = said == FORMATS[0]
    header = upgraded(header) if old else header
    missing, strange = sorted(REQUIRED - set(header)), sorted(set(header) - REQUIRED - OPTIONAL)
    demand(not missing, f"it has no {missing[0] if missing else ''}")
    demand(not strange, f"it has a key that it should not, {strange[0][:60] if strange else ''!r}")
    for part, keys in {"proof": ("kind", "version"), "formulation": ("name", "version", "settings")}.items():
        demand(
            isinstance(header[part], dict) and set(header[part]) == set(keys), f"its {part} is not {', '.join(keys)}"
        )
    problem = header["problem"]
    fits = isinstance(problem, dict) and isinstance(problem.get("data_sha256"), str)
    fits = fits and re.fullmatch("[0-9a-f]{64}", problem["data_sha256"])
    demand(fits, "its problem has no data_sha256 of 64 hexadecimal digits")
    for part, key in (("proof", "kind"), ("formulation", "name"), ("problem", "output")):
        name, version = header[part].get(key), header[part].get("version")
        demand(isinstance(name, str), f"its {part} has no {key}")
        demand(type(version) is int and version >= 1, f"the version of its {part} is no whole number from 1 on")
    for key in ("status", "backend", "oracle"):
        demand(isinstance(header[key], str), f"its {key} is no text")
    demand(texts(header["versions"]), "its versions are no texts")
    told, program = header.get("alternation"), header["program"]
    demand(program in (WHOLE, LAST), f"its program is {str(program)[:60]!r}, neither {WHOLE!r} nor {LAST!r}")
    demand((program == LAST) == ("alternation" in header), "program and alternation do not fit together")
    fits = texts(told) and set(told) == {"formulation", "status"} and all(map(str.isprintable, told.values()))
    demand("alternation" not in header or fits, "its alternation is not a formulation and a status, printable both")
    return header, old


def texts(value: object) -> bool:
    """Whether a JSON value is an object of texts."""
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def upgraded(header: Header) -> Header:
    """A header of format 1 in the form of format 2."""
    kept = {key: value for key, value in header.items() if key in REQUIRED | OPTIONAL}
    demand(not {"proof", "program"} & set(header), "it is of format 1, which has no proof and no program")
    for part in ("formulation", "problem"):
        demand(isinstance(kept.get(part), dict), f"it has no {part}")
        demand("version" not in kept[part], "it is of format 1, which has no versions of kinds")
        kept[part] = kept[part] | {"version": 1}
    said = kept["formulation"]
    kind, given = Formulation.find(said.get("name"), 1), said.get("settings")
    demand(isinstance(given, dict), "its settings are no object")
    given = {key: setting.default for key, setting in kind.settings.items()} | given
    kept["formulation"] = {"name": kind.name, "version": 1, "settings": given}
    hinge = kind.proof == "tangent" and given.get("loss") == "hinge"
    kept["proof"] = {"kind": "cuts" if hinge else kind.proof, "version": 1}
    kept["program"] = LAST if "alternation" in header else WHOLE
    return kept


# ── the claim ─────────────────────────────────────────────────────────────────────────────────────


class Claim:
    """lower, upper, gap and perhaps the optimum that a certificate claims; `room` is an allowance for the ends."""

    def __init__(self, header: Header, room: Fraction):
        self.lower, self.upper, self.gap = (number(name, header[name]) for name in ("lower", "upper", "gap"))
        finite = [abs(Fraction(each)) for each in (self.lower, self.upper) if abs(each) < INFINITE]
        self.room = room * max(finite, default=Fraction(0))
        self.optimum = fraction(header["optimum"]) if "optimum" in header else None

    def rounded(self, ends: Ends) -> bool:
        """Whether an end holds only by the allowance."""
        met = self.lower <= ends.lower and max(ends.upper, ends.reached) <= self.upper
        return self.room > 0 and not met

    def faults(self, ends: Ends) -> list[str]:
        """What of the claim is not so."""
        found, reached = [], max(ends.upper, ends.reached)
        if not ends.lower <= ends.upper:
            found.append(
                f"a contradiction: the lower end {shown(ends.lower)} exceeds the upper end {shown(ends.upper)}, "
                "so a definition or the checker has a bug"
            )
        if not self.lower <= ends.lower + self.room:
            found.append(f"the claimed lower bound is {self.lower!r}, the proven one {shown(ends.lower, self.lower)}")
        if not reached - self.room <= self.upper:
            found.append(f"the claimed upper bound is {self.upper!r}, the proven one {shown(reached, self.upper)}")
        if INFINITE in (abs(self.lower), abs(self.upper)) and self.gap != INFINITE:
            found.append(f"the claimed gap is {self.gap!r} where an end is infinite")
        gap = min(relative_gap(ends.upper, ends.lower, ends.start), relative_gap(self.upper, self.lower, ends.start))
        if not (self.gap >= 0 and (self.gap == INFINITE or gap <= Fraction(self.gap) * (1 + ALLOWANCE))):
            found.append(f"the claimed gap is {self.gap!r}, the proven one {shown(gap)}")
        if self.optimum is not None and not self.optimum == ends.lower == ends.upper:
            found.append("the claimed optimum is not the proven one")
        return found


def number(name: str, value: object) -> float:
    demand(type(value) in (int, float) and value == value, f"{name} is {str(value)[:60]!r}, no number")
    return float(value)  # a whole number in the file is a float64


def fraction(words: object) -> Fraction:
    """The fraction that "p/q" or "p" writes."""
    fits = isinstance(words, str) and len(words) <= MOST_DIGITS and re.fullmatch(r"-?[0-9]+(/0*[1-9][0-9]*)?", words)
    demand(fits, f"the optimum {str(words)[:30]!r} is no fraction p/q")
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return Fraction(words)
    finally:
        sys.set_int_max_str_digits(limit)


def shown(number: Fraction | float, claimed: float | None = None) -> str:
    """About how large a number is, told apart from the claimed one."""
    try:
        near = float(number)
    except OverflowError:
        return "beyond all floats"
    return repr(near) if near != claimed else f"{near!r} {float(number - Fraction(near)):+.1g}"
