"""docs/sources.md, row by row: every name exists, every command runs; slow ones only if CUTBENCH_NIGHTLY is set.

A nightly run keeps a line a slow command in sources_runs.csv: the command, its exit code and CPU seconds.
"""

from __future__ import annotations

import csv
import os
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from workbench.command.cli import cli
from workbench.registries import registry

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests/sources_runs.csv"
NIGHTLY = bool(os.environ.get("CUTBENCH_NIGHTLY"))


class Row(NamedTuple):
    """The cells of a row."""

    item: str
    where: str
    exact: str
    fast: str
    verdict: str
    picture: str
    data: str
    test: str
    command: str


def rows() -> list[Row]:
    lines = (ROOT / "docs/sources.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [Row(*each) for each in cells if each[0] != "item" and not set(each[0]) <= {"-"}]


def commands(slow: bool) -> list[str]:
    """The slow commands, or the others, each once."""
    found = [re.fullmatch(r"`cutbench (.+)`( \(nightly\))?", row.command) for row in rows()]
    return list(dict.fromkeys(each[1] for each in found if bool(each[2]) == slow))


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.item)
def test_every_name_of_a_row_exists(row):
    assert all(row), "an empty cell"
    for name in quoted(row.picture):
        assert name in registry("figure").objects
    for name in quoted(row.data):
        assert name in registry("problem").objects
    for name in quoted(row.fast):
        assert name in registry("solver").objects | registry("learner").objects or name == "Dyadic"
    for path in quoted(row.test):
        assert (ROOT / path).is_file()
    assert quoted(row.test), "a row needs a test"
    verb, name, *_ = shlex.split(quoted(row.command)[0])[1:]
    if verb in ("figures", "bench"):
        assert name in registry({"figures": "figure", "bench": "benchmark"}[verb]).objects


def test_nothing_is_left_open():
    assert not [row.item for row in rows() if "not there yet" in " ".join(row)]
    assert len(rows()) == len({row.item for row in rows()}) >= 38


def test_all_four_sources_are_there():
    text = (ROOT / "docs/sources.md").read_text()
    assert re.findall(r"^## (00\d)", text, re.MULTILINE) == ["000", "001", "002", "003"]


@pytest.mark.parametrize("command", commands(slow=False))
def test_the_command_of_a_row_runs(command, tmp_path, monkeypatch):
    """Solved, or without a verdict yet (3); never bad input, an accusation or a bug."""
    monkeypatch.chdir(tmp_path)
    assert ended(command) in (0, 3)


@pytest.mark.skipif(not NIGHTLY, reason="takes hours in all: set CUTBENCH_NIGHTLY")
@pytest.mark.parametrize("command", commands(slow=True))
def test_the_slow_command_of_a_row_runs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = cpu_seconds()
    code = ended(command)
    kept = recorded() | {command: (code, f"{cpu_seconds() - start:.0f}")}
    with RECORD.open("w", newline="") as file:
        lines = ((each, *kept[each]) for each in commands(slow=True) if each in kept)
        csv.writer(file, lineterminator="\n").writerows([("command", "exit code", "CPU seconds"), *lines])
    assert code in (0, 3)


def test_the_record_is_of_these_commands_and_none_failed():
    kept = recorded()
    assert set(kept) <= set(commands(slow=True)), "run the nightly tests again, or take the line out"
    assert {code for code, _ in kept.values()} <= {"0", "3"}


def ended(command: str) -> int:
    """The exit code of a command, which prints something."""
    result = CliRunner().invoke(cli, shlex.split(command))
    assert result.stdout, result.output
    if result.exit_code not in (0, 3):
        print(result.output)
    return result.exit_code


def cpu_seconds() -> float:
    """CPU seconds of this process and of the processes that it started and that have ended."""
    return sum(os.times()[:4])


def recorded() -> dict[str, tuple[str, str]]:
    """Exit code and CPU seconds of each slow command that a nightly run kept."""
    with RECORD.open(newline="") as file:
        _, *lines = csv.reader(file)
    return {command: (code, seconds) for command, code, seconds in lines}
