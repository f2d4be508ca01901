"""Oracles with a fault, of problems given as three functions: trials name the fault, no solve claims a wrong number.

The sound problems and the faults are those of tests/judging/test_oracle_check.py. A trial of `check` survives if a
fault is named in one sentence, and none of a sound oracle. A trial of `solve` survives if the answer is a sentence of
ours, or an interval that holds the optimum of the sound problem, or an interval of a problem whose check names the
fault: a certificate about somebody's own functions is conditional on that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from reliability import Trial
from workbench.errors import CutbenchError
from workbench.registries import load_file

TESTS = Path(__file__).resolve().parents[2]


def cases() -> tuple[dict[str, Any], dict[str, Any]]:
    """The sound oracles and the faulty ones of the tests."""
    module = sys.modules.get("_oracles") or load_file(TESTS / "judging" / "test_oracle_check.py", "test")
    return module.SOUND, module.FAULTS


def checked(made: Any, sound: bool, seconds: float) -> tuple[bool, str]:
    """Whether the check accuses, and what was wrong with the check."""
    try:
        report = wb.check(made(), seconds=seconds, patience=10.0 if sound else 0.3)
    except CutbenchError as error:
        return True, f"refused: {error}" if sound else ""
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"
    if sound:
        return not report.ok, "" if report.ok else str(report)
    return not report.ok, "no fault was found" if report.ok else ""


def solved(made: Any, best: float, accused: bool) -> str:
    try:
        found = wb.solve(wb.SoftMargin(lam=0.1), made(), gap=1e-6, time_limit=2.0)
    except CutbenchError as error:
        return "" if str(error).isprintable() else f"not one printable line: {str(error)!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    holds = found.lower <= best * (1 + 1e-9) and best <= found.upper * (1 + 1e-9)
    return "" if holds or accused else f"[{found.lower}, {found.upper}] does not hold {best}, and no fault was found"


def campaign(seconds: float = 0.5) -> Iterator[Trial]:
    sound, faulty = cases()
    best = wb.solve(wb.SoftMargin(lam=0.1), sound["candidates"](), gap=1e-9).upper
    for name, made in sound.items():
        _, said = checked(made, True, seconds)
        yield Trial("oracles", f"check, sound: {name}", not said, said)
    for name, made in faulty.items():
        accused, said = checked(made, False, 2 * seconds)
        yield Trial("oracles", f"check: {name}", not said, said)
        if name != "hangs":  # a function of ours in this process; `check` gives it a patience
            with np.errstate(all="ignore"):
                said = solved(made, best, accused)
            yield Trial("oracles", f"solve: {name}", not said, said)
