"""Cutbench's workbench: state a structured learning problem, get its proven optimum.

    import workbench as wb
    problem = wb.Multiclass(X, y)
    s = wb.solve(wb.SoftMargin(lam=0.1), problem, gap=1e-9)      # s.lower ≤ F* ≤ s.upper
    t = wb.run(wb.BCFW(), wb.SoftMargin(lam=0.1), problem, passes=50, rng=0)
    wb.crosscheck(t, s)                                          # agrees, disagrees, …

Names are resolved when first used: the classes of the registries by their class names.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "solve": "solving.solve",
    "Solution": "solving.solution",
    "LazyProblem": "solving.lazy",
    "LazyConstraint": "solving.lazy",
    "path": "solving.path",
    "validated": "solving.path",
    "Path": "solving.path",
    "break_points": "solving.break_points",
    "ExactPath": "solving.break_points",
    "run": "solving.stochastic",
    "Trace": "contracts",
    "crosscheck": "judging.verdicts",
    "Verdict": "judging.verdicts",
    "judge": "judging.judge",
    "Judgement": "judging.judge",
    "check": "judging.oracle_check",
    "OracleReport": "judging.oracle_check",
    "watch": "judging.watching",
    "Recorder": "judging.watching",
    "race": "judging.racing",
    "RACES": "judging.racing",
    "verify": "proofs.verify",
    "explain": "proofs.support",
    "Certificate": "proofs.certificate",
    "Bounds": "proofs.any_bounds",
    "tables": "command.tables",
    "registry": "registries",
    "load_problem": "data.loading",
    "nearest_matching": "outputs.matching",
    "split_tracks": "outputs.flow",
    "baseline_counts": "objectives.factorings",
    "Classes": "objectives.factorings",
    "alternation": "solving.capped_terms",
    "Dyads": "dyads.pairs",
    "Dyadic": "dyads.dyadic",
    "nuclear_bound": "dyads.nuclear",
    "read_pairs": "data.pairs",
    "read_texts": "data.texts",
    "Vocabulary": "data.texts",
    "read_fasta": "data.fasta",
    "novelty": "objectives.least_change",
    "novelties": "objectives.least_change",
    "novelty_programs": "objectives.novelty_program",
    "uncertainty": "objectives.criteria",
    "prove": "programs.prove",
    "infeasible": "programs.explain",
    "accuracy": "programs.accuracy",
    "load_program": "programs.files",
    "BACKENDS": "backends",
    "CutbenchError": "errors",
    "BadInput": "errors",
    "MissingCapability": "errors",
    "NotSeparable": "errors",
    "UnknownName": "errors",
}
_MODULES = {
    "datasets": "data.datasets",
    "dyads": "dyads",
    "estimators": "estimators",
    "flows": "dyads.flows",
    "motchallenge": "data.motchallenge",
    "pictures": "command.pictures",
    "vowpal": "dyads.vowpal",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return public_names()
    if name == "__version__":  # not at the top: the checker loads nothing else of the package
        return import_module("workbench.system.release").VERSION
    if name in _HOMES:
        return getattr(import_module(f"workbench.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"workbench.{_MODULES[name]}")
    if name[:1].isupper():
        from workbench.registries import registry

        for kind in ("output", "formulation", "solver", "learner"):
            for _, item in registry(kind).items():
                if getattr(item, "__name__", None) == name:
                    return item
    raise AttributeError(f"module 'workbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *public_names()])


def public_names() -> list[str]:
    """All public names: functions, modules, and the classes of the registries."""
    from workbench.registries import registry

    kinds = ("output", "formulation", "solver", "learner")
    items = [item for kind in kinds for _, item in registry(kind).items()]
    classes = {item.__name__ for item in items if isinstance(item, type)}
    return sorted({*_HOMES, *_MODULES, *classes})
