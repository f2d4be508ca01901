"""`cutbench doctor`: which packages are installed, which backends work, and remedies for the rest."""

from __future__ import annotations

import os
import platform
import re
import tempfile
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from workbench.registries import CHECKOUT, PACKAGE
from workbench.system.versions import installed_version

REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)")
EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


def examine() -> dict[str, Any]:
    """The record of `doctor`; `ok` says whether the core works and floats are what the proofs assume."""
    from workbench.arithmetic.machine import arithmetic

    found = packages()
    trials = backends()  # before the arithmetic, so that libraries that change it are loaded
    core = all(each["version"] for each in found if not each["extra"] and not each["elsewhere"])
    floats = arithmetic()
    return {
        "ok": core and any(each["status"] == "optimal" for each in trials) and not any(floats.values()),
        "cutbench": installed_version("cutbench"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": found,
        "arithmetic": floats,
        "numba_cache": numba_cache(),
        "backends": trials,
        "data": data_folder(),
    }


def packages() -> list[dict[str, Any]]:
    """Each declared package once: its version or None, and the extra that installs it, None for the core.

    `elsewhere` marks a core package that some Python versions do without, by the package's marker.
    """
    rows: dict[str, dict[str, Any]] = {}
    for line, extra in requirements():
        match = REQUIREMENT.match(line)
        name = match.group(1) if match else line
        if name != "cutbench" and (name not in rows or not extra):
            conditional = ";" in line and "python_version" in line
            rows[name] = {"name": name, "version": installed_version(name), "extra": extra, "elsewhere": conditional}
    return sorted(rows.values(), key=lambda row: (row["extra"] or "", row["name"]))


def requirements() -> list[tuple[str, str | None]]:
    """The declared requirements with their extras: from the checkout, else from the installation."""
    if CHECKOUT:
        project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        groups = {None: project["dependencies"]} | project["optional-dependencies"]
        return [(line, extra) for extra, lines in groups.items() for line in lines]
    lines = metadata.requires("cutbench") if installed_version("cutbench") else None
    found = [(line, EXTRA.search(line)) for line in lines or []]
    return [(line, match.group(1) if match else None) for line, match in found]


def numba_cache() -> dict[str, Any]:
    """The folder of compiled code; if it is not writable, every process compiles again."""
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or PACKAGE / "__pycache__")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return {"folder": str(folder), "writable": True}
    except OSError:
        return {"folder": str(folder), "writable": False}


def backends() -> list[dict[str, Any]]:
    """Two samples solved through each backend: its version, certified gap and seconds."""
    from workbench.backends import BACKENDS
    from workbench.errors import CutbenchError
    from workbench.formulations.soft_margin import SoftMargin
    from workbench.outputs.multiclass import Multiclass
    from workbench.solving.solve import solve

    rows = []
    for name, backend in BACKENDS.items():
        row: dict[str, Any] = {"name": name, "version": installed_version(backend.package), "status": "not installed"}
        row |= {"gap": None, "seconds": None, "package": backend.package}
        if backend.installed:
            try:
                solution = solve(SoftMargin(lam=1.0), Multiclass([[1.0], [-1.0]], [0, 1]), gap=1e-6, backend=name)
                row |= {"status": solution.status, "gap": solution.gap, "seconds": solution.seconds}
            except CutbenchError as error:
                row["status"] = f"failed: {error}"
        rows.append(row)
    return rows


def data_folder() -> dict[str, Any]:
    """The folder that CUTBENCH_DATA names, and whether this folder exists."""
    folder = os.environ.get("CUTBENCH_DATA")
    return {"folder": folder, "found": bool(folder) and Path(folder or "").is_dir()}


def remedies(report: dict[str, Any]) -> list[str]:
    """One sentence with a remedy for everything that does not work."""
    missing = [each for each in report["packages"] if not each["version"]]
    lines = [
        f"{each['name']} is missing; pip install {each['name']}."
        for each in missing
        if not each["extra"] and not each["elsewhere"]
    ]
    if not report["numba_cache"]["writable"]:
        lines.append(f"{report['numba_cache']['folder']} is not writable; set NUMBA_CACHE_DIR to a writable folder.")
    if report["data"]["folder"] and not report["data"]["found"]:
        lines.append(f"CUTBENCH_DATA names {report['data']['folder']}, which is no folder; correct CUTBENCH_DATA.")
    lines += [
        f"The floats of {where} do not keep: {', '.join(broken)}; no proof holds here, unload what sets fast-math."
        for where, broken in report["arithmetic"].items()
        if broken
    ]
    if not any(each["status"] == "optimal" for each in report["backends"]):
        lines.append("No backend solved two samples; pip install clarabel.")
    return lines
