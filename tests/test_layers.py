"""Imports run one way, and only where the house allows them (docs/architecture.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from house import FLOORS, HEAVY, PACKAGE, SOLVER_PACKAGES, modules, wing_of

ROOT = PACKAGE.parent
PUBLIC_ONLY = ("problems", "figures")
STARTERS = PACKAGE / "command" / "starters"  # files that users begin with, which import the package as users do
MODULES = [path for path in modules() if path.parent != STARTERS]
LEVEL = {wing: level for level, wings in enumerate(FLOORS) for wing in wings}


def imports(path: Path, typing: bool = False) -> list[tuple[str, bool]]:
    """(module, whether the import stands at the top level of the file) of every import that runs.

    typing : of those for types alone, too
    """
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and getattr(branch.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(branch)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in typing_only and not typing:
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, node in tree.body) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            base = node.module or ""
            is_package = base == "workbench" or (ROOT / base.replace(".", "/")).is_dir()
            names = [f"{base}.{a.name}" for a in node.names] if is_package else [base]
            found += [(name, node in tree.body) for name in names]
    return found


def file_of(module: str) -> Path | None:
    """The file that an import of `module` (a module, or a name in a package) reads; None outside of workbench."""
    parts = module.split(".")
    if parts[0] != "workbench":
        return None
    for end in (len(parts), len(parts) - 1):
        stem = ROOT.joinpath(*parts[:end])
        if stem.with_suffix(".py").is_file():
            return stem.with_suffix(".py")
        if (stem / "__init__.py").is_file():
            return stem / "__init__.py"
    raise AssertionError(f"{module} is no module of workbench")


def test_every_wing_stands_on_one_floor():
    wings = {wing_of(path) for path in MODULES}
    assert wings == set(LEVEL), "FLOORS in tests/support/house.py and the folder workbench/ name different wings"
    assert len(LEVEL) == sum(map(len, FLOORS)), "a wing stands on two floors"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_run_downwards(path):
    wing = wing_of(path)
    for module, _ in imports(path, typing=True):
        other = file_of(module)
        if other is not None and wing_of(other) != wing:
            assert LEVEL[wing_of(other)] < LEVEL[wing], f"{path.name} imports {module}, which is not below {wing}"


def test_no_file_imports_itself_through_others():
    graph = {path: {file_of(module) for module, _ in imports(path, typing=True)} - {None, path} for path in MODULES}
    done: set[Path] = set()

    def visit(path: Path, above: list[Path]) -> None:
        assert path not in above, " imports ".join(str(p.relative_to(PACKAGE)) for p in [*above, path])
        if path not in done:
            for other in sorted(graph.get(path, ())):
                visit(other, [*above, path])
            done.add(path)

    for path in MODULES:
        visit(path, [])


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_heavy_packages_stay_in_their_rooms(path):
    room = str(path.relative_to(PACKAGE).with_suffix(""))

    def allowed(package: str) -> bool:
        return package not in HEAVY or any(room == at or room.startswith(f"{at}/") for at in HEAVY[package])

    for module, at_top in imports(path):
        package = module.split(".")[0]
        assert allowed(package), f"{path.name} imports {package}"
        if package == "cvxpy" and room not in {"solving/masters/declared", "solving/lazy"}:
            assert not at_top, f"{path.name} imports cvxpy at the top; import it inside the function that declares"
        if package in SOLVER_PACKAGES:
            assert not at_top, f"{path.name} imports {package} at the top; import it inside the adapter"
        assert package != "pickle"


@pytest.mark.parametrize("path", sorted(p for f in PUBLIC_ONLY for p in (ROOT / f).glob("*.py")), ids=lambda p: p.name)
def test_problems_and_figures_use_the_public_api(path):
    for module, _ in imports(path):
        assert not module.startswith("workbench."), f"{path.name} reaches into {module}; use `import workbench as wb`"


def test_the_package_has_at_most_twenty_entries():
    shown = [p for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()]
    assert len(shown) <= 20, sorted(p.name for p in shown)
