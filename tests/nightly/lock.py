"""The lock file for development, and whether a vulnerability of a locked package is known.

    python tests/nightly/lock.py write     requirements-dev.lock: what pip would install for development, name==version
    python tests/nightly/lock.py audit     exit code 1 if pip-audit knows a vulnerability of a locked version

`write` installs nothing: pip resolves the extras EXTRAS in an environment taken as empty, for the Python and the system
at work, and only names and versions of its report are kept, without the label of a local build. `audit` asks the
advisories of PyPI; where these cannot be reached, it says so and prints the list, which can then be checked elsewhere.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements-dev.lock"
EXTRAS = "dev,docs,nightly"


def pinned(report: dict[str, Any]) -> list[str]:
    """name==version of every package in pip's report but our own, in the order of their names."""
    found = {}
    for each in report["install"]:
        told = each["metadata"]
        found[re.sub(r"[-_.]+", "-", told["name"]).lower()] = told["version"].partition("+")[0]
    found.pop("cutbench")
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def write() -> int:
    words = ["install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", f"{ROOT}[{EXTRAS}]"]
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-3000:], file=sys.stderr)
        return 1
    lines = pinned(json.loads(done.stdout))
    version, system = ".".join(platform.python_version_tuple()[:2]), f"{platform.system()}, {platform.machine()}"
    head = f"# What `make lock` resolved for the extras {EXTRAS} on Python {version}, {system}."
    LOCK.write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    print(f"{LOCK.name}: {len(lines)} packages")
    return 0


def audit(lock: Path = LOCK) -> int:
    words = ["--requirement", lock, "--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run([sys.executable, "-m", "pip_audit", *words], capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        packages = []
    skipped = [f"{each['name']}: not checked, {each['skip_reason']}" for each in packages if "skip_reason" in each]
    if len(skipped) == len(packages):
        why = (skipped or done.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"The advisories could not be read ({why[:150]}). To be checked elsewhere:", lock.read_text(), sep="\n")
        return 0
    known = [
        f"{each['name']} {each['version']}: {fault['id']}, mended in {', '.join(fault['fix_versions']) or 'no version'}"
        for each in packages
        for fault in each.get("vulns", [])
    ]
    print(f"{len(packages) - len(skipped)} packages, {len(known)} known vulnerabilities", *known, *skipped, sep="\n")
    return int(bool(known))


if __name__ == "__main__":
    sys.exit({"write": write, "audit": audit}[sys.argv[1]]())
