"""Run every notebook of docs/notebooks from top to bottom, each in a process of its own: `make notebooks`.

They are marimo notebooks, which are Python files. An exception in a cell ends its process with a code other than 0.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 600  # seconds a notebook


def main() -> int:
    failed = 0
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.py")):
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=PATIENCE)
        failed += bool(done.returncode)
        print(f"{'FAILED' if done.returncode else 'ok':<8}{path.name}\n{done.stdout}{done.stderr[-600:]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
