"""What a backend's default tolerance really certifies.

Each program is written out in full in CVXPY and solved by `problem.solve(solver=NAME)` with nothing else
said. What comes back, θ and the dual values of the cuts, goes through our bounds: the gap between F(θ) and
the dual value is proven, whatever the status says. It is relative to F*; ∞ means that θ is no feasible
point, for hard margins even after scaling, or that there are no dual values.

    soft          multiclass, 60 × 8, λ = 0.1
    soft-weak     the same, λ = 1e-4
    soft-scaled   the same, its columns scaled by 10^-2 … 10^2, λ = 1e-2
    hard          multiclass, 12 × 20, separable
    hard-tight    the same, its last sample a copy of another class's, moved by 1e-3
    chain         12 words of up to 3 letters, 8 features, 3 labels, λ = 0.01
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from workbench.backends import BACKENDS
from workbench.contracts import Cuts, enumerated
from workbench.errors import BadInput
from workbench.formulations.hard_margin import HardMargin
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.chain import Chain
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.bounds import Bounds


def cases() -> dict[str, tuple[Any, Any]]:
    """The (formulation, problem) of each row; the same numbers every time."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), rng.integers(0, 3, 60)
    few, labels = rng.normal(size=(12, 20)), np.arange(12) % 3
    twins = np.vstack([few, few[0] + 1e-3 * rng.normal(size=20)])
    lengths = rng.integers(1, 4, 12)
    words = [rng.normal(size=(t, 8)) for t in lengths], [rng.integers(0, 3, t) for t in lengths]
    table = Multiclass(X, y)
    return {
        "soft": (SoftMargin(0.1), table),
        "soft-weak": (SoftMargin(1e-4), table),
        "soft-scaled": (SoftMargin(1e-2), Multiclass(X * 10.0 ** np.linspace(-2, 2, 8), y)),
        "hard": (HardMargin(), Multiclass(few, labels)),
        "hard-tight": (HardMargin(), Multiclass(twins, np.append(labels, 1))),
        "chain": (SoftMargin(0.01), Chain(*words)),
    }


def certified(form: Any, problem: Any, name: str) -> dict[str, Any]:
    """The backend's own status, the gap that its answer certifies, and CPU seconds, CVXPY's included."""
    from cvxpy.error import SolverError

    from workbench.solving.masters.declared import written

    bounds, (program, family) = Bounds(form, problem), written(form, problem)
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "may be inaccurate": the status says so
            program.solve(solver=name)
    except SolverError:
        return {"says": "failed", "gap": np.inf, "seconds": time.process_time() - began}
    spent, dual = time.process_time() - began, family.constraints[0].dual_value
    gap = np.inf
    if program.value is not None and np.isfinite(program.value) and dual is not None:
        cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
        ids = cuts.add(*enumerated(problem, bounds.samples), bounds.oracle.rows)
        weights = np.bincount(ids, np.maximum(dual, 0), len(cuts))
        theta = np.concatenate([np.ravel(variable.value) for variable in family.theta])
        gap = bounds.gap(bounds.upper(theta), bounds.lower(cuts, weights))
    return {"says": program.status, "gap": gap, "seconds": spent}


def tolerances(only: str = "", backends: str = "") -> dict[str, Any]:
    """One row a backend and program: what it says, what it certifies, how long it took.

    boasts   rows whose status is `optimal` and whose certified gap is above 1e-6;  worst_BACKEND: its largest gap
    """
    known = cases()
    if only and only not in known:
        raise BadInput(f"There is no program called {only!r} here; known: {', '.join(known)}.")
    names = [each.strip().upper() for each in backends.split(",") if each.strip()] or list(BACKENDS)
    rows = [
        {"program": case, "backend": name, **certified(*known[case], name)}
        for case in ([only] if only else known)
        for name in names
        if BACKENDS[name].installed
    ]
    record: dict[str, Any] = {"programs": len({row["program"] for row in rows})}
    record["boasts"] = sum(row["says"] == "optimal" and row["gap"] > 1e-6 for row in rows)
    for name in dict.fromkeys(row["backend"] for row in rows):
        record[f"worst_{name.lower()}"] = max(row["gap"] for row in rows if row["backend"] == name)
    return record | {"rows": rows}


NAMES = {"tolerances": tolerances}
