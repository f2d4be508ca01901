"""Both checkers on one certificate, as work for a process of its own (workbench/system/processes.py)."""

from __future__ import annotations

import resource
import time
import warnings
from typing import Any

import second_checker

from workbench.errors import CutbenchError
from workbench.proofs.verify import verify

MEMORY = 4 << 30


def decide(numbers: dict[str, Any], arrays: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What both checkers say about the certificate numbers["stem"], within MEMORY bytes."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    return both(numbers["stem"]), {}


def both(stem: str) -> dict[str, Any]:
    """`first`, `second`: a word each; `lower`, `upper`, `gap` as the first recomputes them, `seconds` of both.

    A word is `proven`, `malformed`, `conditional`, `not proven`, or `crash: …` for an exception that is none of ours.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        start = time.perf_counter()
        word, found = _first(stem)
        middle = time.perf_counter()
        second = _second(stem)
    ends = {key: found[key] if found and found[key] == found[key] else None for key in ("lower", "upper", "gap")}
    return {
        "first": word,
        "second": second,
        "seconds": [middle - start, time.perf_counter() - middle],
        "why": (found or {}).get("reason") or "",
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


def _second(stem: str) -> str:
    try:
        return second_checker.check(stem).word
    except Exception as error:
        return f"crash: {type(error).__name__}: {error}"[:200]
