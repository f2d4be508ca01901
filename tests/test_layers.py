"""Imports run one way, and only where the house allows them (docs/architecture.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "workbench"

# Each floor may import the floors below it (and itself only where listed in SAME_FLOOR).
FLOORS = [
    {"errors"},
    {"structures", "intervals", "processes"},
    {"rationals", "arrays"},
    {"lifting", "regularizers", "oracles", "likelihoods", "compiled"},
    {"costs", "flows", "vowpal", "variants", "criteria", "least_change"},
    {"difficulty", "pacing"},
    {"outputs", "formulations", "solvers", "learners"},
    {"bounds", "exact", "backends", "readers", "datasets", "dyads"},
    {"registries", "trees"},
    {"certificate", "journal", "declared", "polish", "passes"},
    {"master", "ascent", "dyadic", "nuclear"},
    {"cutting_planes", "smooth", "majorize", "branch_and_bound"},
    {"solving", "stochastic", "lazy", "conventions"},
    {"verdicts", "racing", "audits", "relations", "reports", "judging"},
    {"pictures", "doctor", "terminal"},
    {"demo"},
    {"cli"},
]
SAME_FLOOR = {
    ("outputs", "outputs"),
    ("formulations", "formulations"),
    ("solvers", "solvers"),
    ("learners", "solvers"),
    ("learners", "learners"),
    ("smooth", "cutting_planes"),
    ("ascent", "master"),
    ("conventions", "solving"),
    ("judging", "verdicts"),
    ("judging", "reports"),
    ("reports", "verdicts"),
    ("judging", "audits"),
    ("judging", "relations"),
    ("pictures", "terminal"),
    ("doctor", "terminal"),
}
HEAVY = {
    "cvxpy": {"declared", "lazy", "backends", "likelihoods", "nuclear", "outputs", "formulations", "doctor"}
    | {"variants"},
    "numba": {"compiled"},
}
SOLVER_PACKAGES = {"clarabel", "osqp", "ecos", "scs", "piqp", "daqp", "highspy"}
PUBLIC_ONLY = ("problems", "figures")


def floor_of(room: str) -> int:
    for level, rooms in enumerate(FLOORS):
        if room in rooms:
            return level
    raise AssertionError(f"workbench/{room} stands on no floor; add it to FLOORS and to docs/architecture.md")


def imports(path: Path) -> list[tuple[str, bool]]:
    """(module, at the top level of the file and not only for type checking) of every import."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and getattr(branch.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(branch)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, node in tree.body) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            base = node.module or ""
            names = [f"{base}.{a.name}" for a in node.names] if base == "workbench" else [base]
            found += [(name, node in tree.body) for name in names]
    return found


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p.name != "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_downwards(path):
    room = room_of(path)
    for module, _ in imports(path):
        if module.startswith("workbench."):
            other = module.split(".")[1]
            known = (PACKAGE / other).with_suffix(".py").exists() or (PACKAGE / other).is_dir()
            if not known or (room, other) in SAME_FLOOR:
                continue
            assert floor_of(other) < floor_of(room), f"{path.name} imports {other}, which is not below it"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_heavy_packages_stay_in_their_rooms(path):
    room = room_of(path)
    for module, at_top in imports(path):
        package = module.split(".")[0]
        assert room in HEAVY.get(package, {room}), f"{path.name} imports {package}"
        if package == "cvxpy" and room not in {"declared", "lazy"}:
            assert not at_top, f"{path.name} imports cvxpy at the top; import it inside the function that declares"
        if package in SOLVER_PACKAGES:
            assert room in {"backends", "doctor"}, f"{path.name} calls a convex solver; only backends.py does"
            assert not at_top
        assert package != "pickle"


@pytest.mark.parametrize("path", sorted(p for f in PUBLIC_ONLY for p in (ROOT / f).glob("*.py")), ids=lambda p: p.name)
def test_problems_and_figures_use_the_public_api(path):
    for module, _ in imports(path):
        assert not module.startswith("workbench."), f"{path.name} reaches into {module}; use `import workbench as wb`"


def test_every_room_has_a_floor_and_every_floor_exists():
    rooms = {room_of(p) for p in MODULES}
    for room in rooms:
        floor_of(room)
