"""What must hold before a release, one line an item: `make release-check`.

    versions    pyproject, the package and CITATION.cff agree, and CHANGELOG has a section with a date for this version
    pages       docs/api.md, docs/architecture.md and docs/rooms.md are what their generators write
    archives    sdist and wheel build; `twine check --strict` accepts both
    contents    the wheel has one top-level name besides its metadata, `workbench`, with py.typed and templates; the
                sdist has tests, docs, problems and figures
    tree        nothing in the checkout waits for a commit

Exit code 1 if an item fails; its line says why.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
PACKED = ("py.typed", "command/reporting/page.html", "command/reporting/page.css", "command/starters/learner.py")
SHIPPED = ("tests/conftest.py", "docs/certificate-format.md", "problems/toy.py", "figures/gap_curves.py", "LICENSE")


def run(*words: str | Path) -> str:
    """What a command prints; raises `AssertionError` with the end of that if the command fails."""
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{Path(words[0]).name} ended with {done.returncode}: {done.stdout.strip()[-600:]}"
    return done.stdout


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def versions(_: Path) -> str:
    from workbench import __version__

    assert f'\nversion = "{__version__}"\n' in text("pyproject.toml"), "pyproject.toml has another version"
    assert f"\nversion: {__version__}\n" in text("CITATION.cff"), "CITATION.cff has another version"
    heading = re.search(rf"^## \[{re.escape(__version__)}\] – (.*)$", text("CHANGELOG.md"), re.M)
    assert heading, f"CHANGELOG.md has no section [{__version__}]"
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", heading[1]), f"CHANGELOG.md calls {__version__} {heading[1]!r}, no date"
    return __version__


def pages(_: Path) -> str:
    import api
    import tower

    assert text("docs/api.md") == api.page(), "run python tests/support/api.py"
    for path, made in tower.pages().items():
        assert path.read_text() == made, "run python tests/support/tower.py"
    return "current"


def archives(folder: Path) -> str:
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    made = sorted(folder.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *made)
    return ", ".join(f"{path.name} {path.stat().st_size >> 10} KiB" for path in made)


def contents(folder: Path) -> str:
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"workbench"}, f"the wheel has the top-level names {sorted(tops)}"
    for name in PACKED:
        assert f"workbench/{name}" in names, f"the wheel lacks workbench/{name}"
    with tarfile.open(sdist) as packed:
        inside = {name.partition("/")[2] for name in packed.getnames()}
    missing = [name for name in SHIPPED if name not in inside]
    assert not missing, f"the sdist lacks {', '.join(missing)}"
    return f"{len(names)} files in the wheel, {len(inside)} in the sdist"


def tree(_: Path) -> str:
    waiting = run("git", "status", "--porcelain").strip()
    assert not waiting, f"not committed: {waiting[:200]}"
    return run("git", "rev-parse", "--short", "HEAD").strip()


ITEMS: tuple[Callable[[Path], str], ...] = (versions, pages, archives, contents, tree)


def main() -> int:
    """Check every item, also after one failed."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for item in ITEMS:
            try:
                line = f"ok      {item.__name__:<10} {item(Path(folder))}"
            except (AssertionError, ValueError) as fault:
                failed += 1
                line = f"FAILED  {item.__name__:<10} {fault}"
            print(line, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
