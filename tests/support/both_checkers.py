"""Both checkers on one certificate, as work for a process of its own (workbench/system/processes.py)."""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from fractions import Fraction
from typing import Any

import second_checker

from workbench.errors import CutbenchError
from workbench.proofs.verify import verify

MEMORY = 4 << 30
SAME, INFINITE = Fraction(1, 10**20), float("inf")


def decide(numbers: dict[str, Any], arrays: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What both checkers say about the certificate numbers["stem"], within MEMORY bytes."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    return both(numbers["stem"]), {}


def both(stem: str) -> dict[str, Any]:
    """`first`, `second`: a word each; `lower`, `upper`, `gap` as the first recomputes them, `seconds` of both, `tie`.

    A word is `proven`, `malformed`, `conditional`, `not proven`, or `crash: …` for an exception that is none of ours.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        start = time.perf_counter()
        word, found = _first(stem)
        middle = time.perf_counter()
        second, other = _second(stem)
    ends = {key: found[key] if found and found[key] == found[key] else None for key in ("lower", "upper", "gap")}
    return {
        "first": word,
        "second": second,
        "seconds": [middle - start, time.perf_counter() - middle],
        "why": (found or {}).get("reason") or "",
        "tie": found is not None and other is not None and _tie(found, other, stem),
        **ends,
    }


def _first(stem: str) -> tuple[str, dict[str, Any] | None]:
    try:
        found = verify(stem + ".json")
    except CutbenchError as error:
        return "malformed", {"reason": str(error), "lower": None, "upper": None, "gap": None}
    except Exception as error:
        return f"crash: {type(error).__name__}: {error}"[:200], None
    if found["proven"]:
        return "proven", found
    return "conditional" if found["conditional_on"] else "not proven", found


def _second(stem: str) -> tuple[str, Any]:
    try:
        verdict = second_checker.check(stem)
    except Exception as error:
        return f"crash: {type(error).__name__}: {error}"[:200], None
    return verdict.word, verdict


def _tie(found: dict[str, Any], other: Any, stem: str) -> bool:
    """Whether the ends of both agree to SAME of their size, or to the room that the kind of proof leaves, but are not
    equal, and the claim lies as close to one of them, or the claimed gap as close to the gaps: then the rounding that
    §6, §7 and §12 leave to a checker decides whether the claim holds.
    """
    if not other.rounded or other.lower is None or None in (found.get("lower_exact"), found.get("upper_exact")):
        return False
    ends = [_number(found[key]) for key in ("lower_exact", "upper_exact")]
    others, claimed = (other.lower, other.upper), found["claimed"]
    if other.room == INFINITE:
        return ends[0] <= others[0] and ends[1] == others[1]
    if any(abs(each) == INFINITE for each in (*ends, *others, *claimed)):
        return False
    size = max(map(abs, ends))
    room = other.room or SAME * size
    close = all(abs(a - b) <= room for a, b in zip(ends, others, strict=True))
    with open(f"{stem}.json", encoding="utf-8") as file:
        gap = json.load(file)["gap"]
    gaps, same = (gap, found["gap"], other.gap), room / size if other.room and size else SAME
    level = max(map(abs, gaps)) < INFINITE and all(abs(Fraction(each) - other.gap) <= same for each in gaps)
    return close and (level or any(abs(Fraction(a) - b) <= room for a, b in zip(claimed, ends, strict=True)))


def _number(text: str) -> Fraction | float:
    """A fraction of any length in decimal digits, or ±∞."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return float(text) if "inf" in text else Fraction(text)
    finally:
        sys.set_int_max_str_digits(limit)
