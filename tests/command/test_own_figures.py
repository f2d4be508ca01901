"""Figures and tables of a user's own runs: the numbers are those of the records, and what does not fit is refused."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli

pytest.importorskip("matplotlib")


def run(*words, codes=(0,)):
    result = CliRunner().invoke(cli, [str(word) for word in words])
    assert result.exit_code in codes, result.output
    return result


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    run("solve", "toy", "soft-margin", "--gap", "1e-6", "--out", folder / "solved")
    words = ("crosscheck", "toy", "soft-margin", "--learners", "bcfw", "--passes", "20", "--out", folder / "judged")
    run(*words, codes=(0, 1, 3))
    run("path", "toy", "soft-margin", "--points", 3, "--epsilon", 0.1, "--out", folder / "path")
    return folder


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_what_fits_is_drawn_and_every_table_is_written(runs, tmp_path):
    words = [part for name in ("solved", "judged", "path") for part in ("--run", runs / name)]
    told = run("figures", *words, "--out", tmp_path).stdout
    for name in ("judged", "cuts-per-round", "path"):
        assert all((tmp_path / f"{name}.{suffix}").is_file() for suffix in ("png", "svg", "csv"))
        assert f"{name}.png" in told
    history = json.loads((runs / "solved" / "solve.json").read_text())["history"]
    drawn = rows(tmp_path / "judged.csv")
    assert [float(row["gap"]) for row in drawn if row["gap"]] == [each["gap"] for each in history]
    written = rows(tmp_path / "1-toy-soft-margin-history.csv")
    assert [int(row["round"]) for row in written] == [each["round"] for each in history]
    judged = json.loads((runs / "judged" / "crosscheck.json").read_text())["learners"][0]
    checkpoints = rows(tmp_path / "2-toy-soft-margin-checkpoints.csv")
    assert [[float(row["passes"]), float(row["excess"])] for row in checkpoints] == judged["history"]
    assert len(rows(tmp_path / "3-toy-soft-margin-points.csv")) == 3


def test_what_does_not_fit_is_refused_in_a_sentence(runs, tmp_path):
    assert "with --run name" in run("figures", "closing", "--run", runs / "solved", codes=(2,)).stderr
    told = run("figures", "cuts-per-round", "--run", runs / "judged", "--out", tmp_path / "new", codes=(2,)).stderr
    assert "cuts-per-round draws" in told
    assert "path draws" in run("figures", "path", "--run", runs / "solved", codes=(2,)).stderr
    assert not (tmp_path / "new").exists()


def test_tables_are_data_frames(runs):
    pytest.importorskip("pandas")
    found = wb.tables(runs / "judged")
    assert set(found) == {"learners", "checkpoints"}
    assert found["learners"]["verdict"].tolist()
    assert found["checkpoints"]["excess"].iloc[-1] > 0


def test_a_model_no_better_than_the_most_frequent_label_gets_a_hint(tmp_path):
    """Three groups on a line: without an intercept the middle one cannot win."""
    lines = ["x,kind", *(f"{5 + k % 3 + (k % 5) / 20},{'abc'[k % 3]}" for k in range(30))]
    (tmp_path / "line.csv").write_text("\n".join(lines) + "\n")
    words = (
        "solve",
        tmp_path / "line.csv",
        "soft-margin",
        "--set",
        "lam=0.001",
        "--overwrite",
        "--out",
        tmp_path / "run",
    )
    assert "--set intercept=true" in run(*words).stderr
    stopped = CliRunner().invoke(cli, [*map(str, words), "--max-rounds", "1"])
    assert stopped.exit_code == 3
    assert "train error is about" not in stopped.stderr  # it is not at its optimum
    assert "intercept=true" not in run(*words, "--set", "intercept=true").stderr
