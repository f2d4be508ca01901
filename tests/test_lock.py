"""The lock file for development holds what pyproject.toml asks for; the audit says what it could not learn."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "nightly"))

import lock  # noqa: E402  found by the line above


def locked() -> dict[str, str]:
    lines = lock.LOCK.read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_the_lock_file_holds_every_declared_package_at_a_version_that_is_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras, asked = project["optional-dependencies"], [*project["dependencies"]]
    names = lock.EXTRAS.split(",")
    while names:
        for text in extras[names.pop()]:
            wanted = Requirement(text)
            names += wanted.extras if wanted.name == "cutbench" else []
            asked += [] if wanted.name == "cutbench" else [text]
    held = locked()
    for wanted in map(Requirement, asked):
        if wanted.marker is None or wanted.marker.evaluate({"python_version": "3.11"}):
            assert held[canonicalize_name(wanted.name)] in wanted.specifier, f"{wanted}: run `make lock`"
    assert list(held) == sorted(held)
    assert "cutbench" not in held


def test_a_report_of_pip_becomes_names_and_versions():
    told = [("Some_Name", "1.2+cpu"), ("b", "2"), ("cutbench", "0.1.0")]
    report = {"install": [{"metadata": {"name": name, "version": version}} for name, version in told]}
    assert lock.pinned(report) == ["b==2", "some-name==1.2"]


@pytest.mark.parametrize(
    ("packages", "code", "says"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], 0, "1 packages, 0 known"),
        ([{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}], 1, "a 1: X-1, mended in 2"),
        ([{"name": "a", "skip_reason": "not found"}], 0, "could not be read (a: not checked, not found)"),
        (None, 0, "could not be read (no way there)"),
    ],
)
def test_the_audit_tells_faults_from_no_answer(packages, code, says, tmp_path, monkeypatch, capsys):
    (tmp_path / "some.lock").write_text("a==1\n")
    answer = "" if packages is None else json.dumps({"dependencies": packages})
    done = subprocess.CompletedProcess([], code, answer, "first line\nno way there\n")
    monkeypatch.setattr(subprocess, "run", lambda *words, **options: done)
    assert lock.audit(tmp_path / "some.lock") == code
    out = capsys.readouterr().out
    assert says in out
    assert ("a==1" in out) == ("could not be read" in says)
