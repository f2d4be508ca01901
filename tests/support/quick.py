"""The tests that a change needs: `make quick`, in less than 90 seconds.

    python tests/support/quick.py [BASE] [PYTEST OPTIONS]       BASE: a commit, HEAD unless given

A changed file `workbench/WING/NAME.py` needs the tests of its wing; a changed test file needs itself; a changed page
needs `tests/test_docs.py`; any change needs `tests/test_layers.py`. Tests that `tests/slow.txt` names are left to
`make test`; `tests/support/slow.py` renews that list from measured durations. Without a change, the last commit counts.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALWAYS = ["tests/test_layers.py"]


def changed(base: str) -> list[str]:
    """Paths that differ from a commit, new ones included."""

    def lines(*words: str) -> list[str]:
        done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    found = lines("diff", "--name-only", base) + lines("ls-files", "--others", "--exclude-standard")
    return found or lines("diff", "--name-only", f"{base}~1", base)


def needed(paths: list[str]) -> list[str]:
    """The test files and folders for these paths, in order, without repetition."""
    found = list(ALWAYS)
    for path in map(Path, paths):
        parts = path.parts
        if parts[0] == "tests" and path.name.startswith("test_") and (ROOT / path).is_file():
            found.append(str(path))
        elif parts[0] == "workbench" and (ROOT / "tests" / parts[1]).is_dir():
            found.append(f"tests/{parts[1]}")
        elif parts[0] == "workbench":
            found += ["tests/test_registry.py", "tests/test_refusals.py"]
        elif parts[0] in ("problems", "figures", "benchmarks"):
            found += ["tests/test_registry.py", "tests/command"]
        elif path.suffix == ".md":
            found.append("tests/test_docs.py")
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    words = sys.argv[1:]
    base = words.pop(0) if words and not words[0].startswith("-") else "HEAD"
    files = needed(changed(base))
    print("quick:", *files, flush=True)
    sys.exit(
        subprocess.run([sys.executable, "-m", "pytest", "--quick", "-n", "2", *words, *files], cwd=ROOT).returncode
    )
