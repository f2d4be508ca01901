"""The wheel with other dependencies than those of the wheels' tests: none of the optional ones, and the oldest ones.

    python tests/nightly/dependencies.py [PYTHON] [VARIANT]        python3.11; each of VARIANTS

    core                 the wheel alone: without numba, scikit-learn, matplotlib, and without any optional backend
    without NAME         all extras but one, so that each backend and each optional package is absent once
    oldest               the least version that pyproject.toml declares, of every package of the wheel and of `all`

In each environment the wheel is installed from the package index, and `cutbench doctor`, `solve` on a file, `verify`
and `list` run in an empty folder (wheels.py). Exit code 1 if a step fails.
"""

from __future__ import annotations

import re
import sys
import tempfile
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import wheels

EXTRAS = ("fast", "data", "estimators", "figures", "backends", "mixed", "exact", "tracking")
SAME = {"estimators": "data"}  # extras that name the same package, and are absent together
ROWS = "".join(f"{k % 3},{k * k % 7},{k % 2}\n" for k in range(12))
STEPS = {
    "doctor": ("cutbench", "doctor"),
    "list": ("cutbench", "list"),
    "solve": ("cutbench", "solve", "./a.csv", "soft-margin", "--set", "lam=0.01", "--gap", "1e-6", "--out", "run"),
    "verify": ("cutbench", "verify", "run"),
}


def declared() -> tuple[list[str], dict[str, list[str]]]:
    """(requirements of the wheel, those of each extra)."""
    project = tomllib.loads((wheels.ROOT / "pyproject.toml").read_text())["project"]
    return project["dependencies"], project["optional-dependencies"]


def oldest() -> list[str]:
    """The requirements of the wheel and of EXTRAS with their least versions: name>=1.2,<2 becomes name==1.2.*"""
    core, extras = declared()
    least: dict[str, tuple[list[int], str]] = {}
    for text in (*core, *(each for name in EXTRAS for each in extras[name])):
        name, version = re.match(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", text).groups()
        rank = [int(part) for part in version.split(".")]
        if name not in least or rank > least[name][0]:
            least[name] = rank, f"{name}=={version}.*"
    return [pinned for _, pinned in least.values()]


def variants(wheel: Path) -> dict[str, list[str]]:
    """What pip installs, by the name of the variant."""

    def but(left_out: str) -> str:
        kept = [each for each in EXTRAS if SAME.get(each, each) != left_out]
        return f"{wheel}[{','.join(kept)}]"

    single = {f"without {each}": [but(each)] for each in EXTRAS if each not in SAME}
    return {"core": [str(wheel)], **single, "oldest": [f"{wheel}[{','.join(EXTRAS)}]", *oldest()]}


def main(python: str = "python3.11", only: str = "") -> int:
    with tempfile.TemporaryDirectory(prefix="cutbench-dependencies-") as place:
        folder, good = Path(place), True
        wheel, _ = wheels.built(folder)
        for number, (name, wanted) in enumerate(variants(wheel).items()):
            if only in name:
                empty = folder / str(number) / "empty"
                empty.mkdir(parents=True)
                (empty / "a.csv").write_text(ROWS)
                steps = {"install": ("python", "-m", "pip", "install", "--quiet", *wanted), **STEPS}
                found = wheels.walked(python, folder / str(number) / "environment", empty, steps)
                print(f"{name}: " + ", ".join(f"{step} {result}" for step, result in found.items()), flush=True)
                good = good and "FAILED" not in found.values()
    return int(not good)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
