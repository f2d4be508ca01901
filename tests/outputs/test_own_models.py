"""docs/own_models.md: each file has at most 25 lines, is sound, solved, crosschecked and verified, as the page says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from workbench.command.cli import cli

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_models.md"
FILES = dict(re.findall(r"^`(\w+\.py)`:\n\n```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S))
COMMANDS = re.findall(r"^    cutbench (.*)$", PAGE.read_text(), re.M)


def test_the_page_shows_three_files_and_four_commands():
    assert sorted(FILES) == ["rankings.py", "segments.py", "trees.py"]
    assert [line.split()[0] for line in COMMANDS] == ["check-oracle", "solve", "crosscheck", "verify"]


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_at_most_25_lines_is_solved_crosschecked_and_verified(name, tmp_path, monkeypatch):
    if "networkx" in FILES[name]:
        pytest.importorskip("networkx")
    assert len([line for line in FILES[name].splitlines() if line]) <= 25
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(FILES[name])
    found = {}
    for line in COMMANDS:
        words = [*shlex.split(line.replace("trees", Path(name).stem)), "--json"]
        words += ["--seconds", "0.5"] if words[0] == "check-oracle" else []
        result = CliRunner().invoke(cli, words)
        found[words[0]] = json.loads(result.stdout.splitlines()[-1])
    assert found["check-oracle"]["ok"]
    assert found["solve"]["status"] == "optimal"
    assert found["solve"]["gap"] <= 1e-6
    assert [row["verdict"] for row in found["crosscheck"]["learners"]] == ["agrees"]
    proof = found["verify"]
    assert not proof["refuted"]
    assert proof["conditional_on"][0].startswith(f"the argmax of {name} (sha256 ")
    assert found["solve"]["lower"] - 1e-9 <= proof["lower"] <= proof["upper"] <= found["solve"]["upper"] + 1e-9
