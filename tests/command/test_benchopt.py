"""The benchmark in benchopt's format, run by benchopt's command; the gaps in its table are proven ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("benchopt", reason="benchopt is not installed")
pandas = pytest.importorskip("pandas", reason="pandas is not installed")

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks" / "benchopt"
METHODS = ("bcfw", "adagrad", "dlib", "perceptron")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The rows that `benchopt run` writes; caches and outputs stay out of the checkout."""
    if not FOLDER.is_dir():
        pytest.skip("the benchmark is part of the checkout")
    home = tmp_path_factory.mktemp("benchopt")
    for path in FOLDER.rglob("*.py"):
        copy = home / "benchmark" / path.relative_to(FOLDER)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (home / "none.ini").touch()
    solvers = ["-s", "solve", *(word for name in METHODS for word in ("-s", f"registered[method={name}]"))]
    run = ["run", str(home / "benchmark"), "-d", "problem[problem=toy,n=12]", *solvers, "-n", "6", "-r", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "benchopt", *run, "--no-plot", "--no-display", "--output", "rows"],
        env=os.environ | {"PYTHONPATH": str(ROOT), "BENCHOPT_CONFIG": str(home / "none.ini")},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (found,) = (home / "benchmark" / "outputs").glob("rows*.parquet")
    return pandas.read_parquet(found), done.stdout


def test_gaps_are_above_a_proven_lower_end_and_fall_to_nothing(table):
    rows, _ = table
    gaps, upper, lower = (rows[f"objective_{name}"].to_numpy() for name in ("value", "upper", "lower"))
    assert (gaps >= 0).all()
    assert (upper >= lower).all()
    assert len(np.unique(lower)) == 1
    ends = rows.groupby("solver_name")["objective_value"].min()
    assert ends["solve"] <= 1e-9
    assert ends["registered[method=bcfw]"] < rows[rows.stop_val == 0]["objective_value"].max()


def test_methods_of_other_objectives_or_absent_packages_are_skipped_with_their_reason(table):
    rows, said = table
    assert "registered[method=perceptron]" not in set(rows["solver_name"])
    assert "its own reference is the formulation perceptron" in " ".join(said.split())
