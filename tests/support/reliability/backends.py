"""Solves through backends that lie: the ends must hold the optimum whatever the backend says.

A trial survives if `solve` returns an interval that holds the true optimum, `optimal` only where its gap is the one
that was asked for, or raises one sentence of ours that claims nothing false.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import workbench as wb
from reliability import Trial
from reliability.lies import ENDS, LIES
from reliability.runs import apart, clouds
from workbench.backends import BACKENDS
from workbench.errors import BackendFailed, CutbenchError, MissingCapability, OutOfMemory

GAP = 1e-6
LIAR = "LIAR"
Pair = tuple[Any, Any, dict[str, Any]]
PAIRS: dict[str, Callable[[], Pair]] = {
    "gram": lambda: (wb.SoftMargin(lam=0.05), clouds(15), {"master": "gram"}),
    "compiled": lambda: (wb.SoftMargin(lam=0.05), clouds(15), {"master": "compiled", "groups": "one"}),
    "hard margin": lambda: (wb.HardMargin(), apart(), {}),
    "hard margin, compiled": lambda: (wb.HardMargin(), apart(), {"master": "compiled"}),
}


@contextlib.contextmanager
def lying(run: Callable[..., Any], clock: str | None) -> Iterator[None]:
    """The backend LIAR among the backends, and nothing of what it prints on stdout."""
    BACKENDS[LIAR] = replace(BACKENDS["CLARABEL"], name=LIAR, run=run, bounds=False, clock=clock)
    saved, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(nothing)
        del BACKENDS[LIAR]


def judged(pair: Pair, best: float, options: dict[str, Any]) -> str:
    """What was wrong with a solve through LIAR, if anything."""
    form, problem, more = pair
    try:
        found = wb.solve(form, problem, gap=GAP, backend=LIAR, **more, **options)
    except (BackendFailed, MissingCapability, OutOfMemory) as error:
        return "" if str(error).isprintable() else f"not one printable line: {str(error)!r}"
    except CutbenchError as error:
        return f"a false claim: {type(error).__name__}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    room = 1e-9 * abs(best)
    if not found.lower - room <= best <= found.upper + room:
        return f"[{found.lower}, {found.upper}] does not hold {best}"
    if found.status == "optimal" and not found.gap <= GAP:
        return f"optimal with a gap of {found.gap}"
    return ""


def campaign(seed: int = 0) -> Iterator[Trial]:
    """Every lie on every pair; what hangs or dies, under a time limit."""
    best = {}
    for name, made in PAIRS.items():
        form, problem, more = made()
        best[name] = wb.solve(form, problem, gap=1e-10, **more).upper
    for kind, run in LIES.items():
        for name, made in PAIRS.items():
            with np.errstate(all="ignore"), lying(run, "time_limit"):
                said = judged(made(), best[name], {"max_rounds": 30})
            yield Trial("backends", f"{kind}: {name}", not said, said)
    for kind, run in ENDS.items():
        with lying(run, None):
            said = judged(PAIRS["gram"](), best["gram"], {"time_limit": 1.0, "max_rounds": 3})
        yield Trial("backends", f"{kind.replace('_', ' ')}: gram", not said, said)
