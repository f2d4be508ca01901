"""The wheel as a stranger gets it: built from the sdist, installed into a fresh environment, used from an empty folder.

    python tests/nightly/wheels.py [PYTHON ...]         names on PATH or paths; python3.11 python3.12 python3.13

The wheel must hold every module of the checkout. Then for each Python, in an environment of its own:

    install   the wheel with the extras `all` and `test`, from the package index
    doctor    cutbench doctor
    solve     cutbench solve iris soft-margin --set lam=0.01 --out iris
    verify    cutbench verify iris
    tests     the quick ones of TESTS, from the sdist, copied to where nothing but the installed package can be imported

Exit code 1 if a step fails, or if there was no Python to try. A Python that is absent is named in the table.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = ("python3.11", "python3.12", "python3.13")
TESTS = ("conformance", "certificate", "intervals", "bounds", "regularizers")
QUICK = "not conformance or protocol or reaches or round_trip"
PACKED = {"workbench": "workbench", "problems": "workbench/problems", "figures": "workbench/figures"}
STEPS = {
    "doctor": ("cutbench", "doctor"),
    "solve": ("cutbench", "solve", "iris", "soft-margin", "--set", "lam=0.01", "--out", "iris"),
    "verify": ("cutbench", "verify", "iris"),
    "tests": ("pytest", "-c", "pyproject.toml", "-p", "no:cacheprovider", "-k", QUICK, "tests"),
}


class Failed(Exception):
    """A command's name and the end of what it said."""


def run(*words: str | Path, cwd: Path) -> str:
    """What a command prints; `Failed` with its last lines if it fails. The checkout is not in its environment."""
    outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(words, cwd=cwd, env=outside, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failed(f"{Path(words[0]).name} ended with code {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def built(folder: Path) -> tuple[Path, Path]:
    """(wheel, unpacked sdist), the wheel made from the sdist."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return wheel, folder / archive.name.removesuffix(".tar.gz")


def missing(wheel: Path) -> list[str]:
    """Modules of the checkout that the wheel lacks."""
    with zipfile.ZipFile(wheel) as packed:
        held = set(packed.namelist())
    modules = [(target, path.relative_to(ROOT / source)) for source, target in PACKED.items()
               for path in (ROOT / source).rglob("*.py")]  # fmt: skip
    return sorted(name for target, path in modules if (name := f"{target}/{path.as_posix()}") not in held)


def version(python: str) -> str | None:
    """What a Python calls itself; None if there is none of that name, or only a name that starts nothing."""
    if shutil.which(python) is None:
        return None
    done = subprocess.run([python, "--version"], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def tried(python: str, wheel: Path, sdist: Path, folder: Path) -> dict[str, str]:
    """What each step of one Python came to: seconds, or its failure, which ends the trial."""
    environment, empty = folder / "environment", folder / "empty"
    empty.mkdir(parents=True)
    (empty / "tests").mkdir()
    shutil.copy2(sdist / "pyproject.toml", empty)
    for name in ("conftest.py", *(f"test_{each}.py" for each in TESTS)):
        (found_in,) = (sdist / "tests").rglob(name)
        shutil.copy2(found_in, empty / "tests")
    install = ("python", "-m", "pip", "install", "--quiet", f"{wheel}[all,test]")
    return walked(python, environment, empty, {"install": install, **STEPS})


def walked(python: str, environment: Path, empty: Path, steps: dict[str, tuple[str | Path, ...]]) -> dict[str, str]:
    """What each step of one Python came to, in a fresh environment: seconds, or its failure, which ends the trial."""
    first = {"environment": (Path(shutil.which(python) or python).absolute(), "-m", "venv", environment)}
    found: dict[str, str] = {}
    steps = first | steps
    for step, words in steps.items():
        started = time.monotonic()
        try:
            said = run(environment / "bin" / words[0], *words[1:], cwd=empty)
        except Failed as failure:
            print(f"{python}, {step}: {failure}", file=sys.stderr)
            return found | {step: "FAILED"}
        found[step] = said.strip().splitlines()[-1] if step == "tests" else f"{time.monotonic() - started:.0f} s"
    return found


def main(pythons: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="cutbench-wheels-") as place:
        folder = Path(place)
        wheel, sdist = built(folder)
        lacking = missing(wheel)
        print(f"{wheel.name}: {wheel.stat().st_size // 1000} kB, lacks {', '.join(lacking) or 'no module'}")
        good, tests = not lacking, 0
        for number, python in enumerate(pythons):
            named = version(python)
            if named is None:
                print(f"{python}: not found, so not tried")
                continue
            found = tried(python, wheel, sdist, folder / str(number))
            print(f"{named}: " + ", ".join(f"{step} {result}" for step, result in found.items()), flush=True)
            good, tests = good and "FAILED" not in found.values(), tests + 1
        if not tests:
            print("No Python was found; name one, e.g. make wheels PYTHONS=/usr/bin/python3.12", file=sys.stderr)
        return int(not (good and tests))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:] or list(PYTHONS)))
