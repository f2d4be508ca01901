"""The one ordered list of wings: `test_layers.py` tests it, docs/architecture.md and its picture are made from it."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "workbench"

# Bottom floor first. A wing imports from itself and from the floors below it, never from its neighbours on one floor.
FLOORS: list[dict[str, str]] = [
    {"errors": "one sentence each", "proofs/checker": "what says proven: reads certificates, imports nothing above"},
    {"contracts": "nouns and protocols: cuts, oracles, problems, formulations, solvers"},
    {
        "arithmetic": "intervals, rationals, exact linear systems, compiled code, checked arrays",
        "system": "processes with an alarm, the journal of a run, archives read safely",
        "registries": "a folder is a registry; typed settings; what fits what",
    },
    {"backends": "the cone program, its answer, and one adapter for each convex solver"},
    {
        "objectives": "pieces of F: regularizers, oracles, likelihoods, costs, novelty, pacing",
        "dyads": "pairs of two kinds with labels: flows, the bilinear learner, its bound",
    },
    {
        "outputs": "output structures: features, loss, argmax",
        "formulations": "objectives, each as closed forms and as CVXPY text",
        "solvers": "stochastic methods of ours, and the cached blocks that `solve` makes its passes with",
    },
    {"learners": "functions that return weights, ours and other people's"},
    {"proofs": "both bounds of every kind, exact optima, certificates"},
    {"programs": "any convex program: its exact optimum, proven ends, or why it has none"},
    {
        "data": "users' files, public data sets",
        "solving": "solve, run, LazyProblem: one loop of each kind, and the masters",
    },
    {
        "judging": "a learner's answer against the proven optimum: verdicts, audits, causes, races",
        "estimators": "scikit-learn's conventions over solve",
    },
    {"command": "the command line, tables, figures, the demo"},
    {"__init__": "the public names"},
]

HEAVY = {
    "cvxpy": [
        *("programs", "backends", "solving/masters/declared", "solving/lazy", "formulations", "objectives"),
        *("dyads/nuclear", "outputs", "learners/generative", "command/doctor"),
    ],
    "numba": ["arithmetic/ahead", "arithmetic/compiled", "arithmetic/meeting", "arithmetic/sealed"],
}
SOLVER_PACKAGES = {"clarabel", "osqp", "ecos", "scs", "piqp", "daqp", "highspy", "pyscipopt"}
HEAVY |= {package: ["backends", "command/doctor"] for package in SOLVER_PACKAGES}


def modules() -> list[Path]:
    """Every module of the package, an empty `__init__.py` aside."""
    return sorted(p for p in PACKAGE.rglob("*.py") if p.name != "__init__.py" or p.read_text().strip())


def wing_of(path: Path) -> str:
    """The first folder below the package, or the folder in it that has a floor of its own, or the module's own name."""
    parts = path.relative_to(PACKAGE).parts
    inner = "/".join(parts[:2])
    return inner if any(inner in floor for floor in FLOORS) else parts[0].removesuffix(".py")
