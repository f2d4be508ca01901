"""The command line's contract: fields, exit codes, and what goes to stdout and what to stderr."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
import workbench.command.terminal as terminal
from workbench.backends import BACKENDS
from workbench.command.cli import cli
from workbench.command.solutions import train_loss
from workbench.command.verbs.crosscheck import advice, still_open
from workbench.data.loading import load_problem
from workbench.formulations.soft_margin import SoftMargin
from workbench.registries import KINDS, present, registry

ROOT = Path(__file__).resolve().parents[2]
SOLVE_FIELDS = [
    *("problem", "formulation", "n_samples", "dim", "upper", "lower", "lower_kind", "gap", "status", "cuts", "rounds"),
    *("seconds", "cpu_seconds", "compile_seconds", "oracle_seconds", "master_seconds", "backend", "oracle"),
    *("train_error", "certificate"),
]
VERIFY_FIELDS = {"proven", "lower", "upper", "gap", "lower_exact", "upper_exact", "gap_exact", "arithmetic"}
IRIS = ("solve", "iris", "soft-margin", "--set", "lam=0.01")


@pytest.fixture
def cutbench(tmp_path, monkeypatch):
    """Runs the command inside an empty folder; returns click's result."""
    monkeypatch.chdir(tmp_path)

    def run(*words, code: int = 0):
        result = CliRunner().invoke(cli, [str(word) for word in words])
        assert result.exit_code == code, result.output
        return result

    return run


def process(*words, prelude: str = "", **options):
    """Runs the command as a process of its own."""
    script = f"{prelude}\nfrom workbench.command.cli import main\nmain()"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, env=environment, timeout=60, **options
    )


# ── solve ─────────────────────────────────────────────────────────────────────────────────────────


def test_solve_digits_as_promised(cutbench):
    result = cutbench("solve", "digits", "soft-margin", "--set", "lam=0.1", "--set", "n=300", "--gap", 1e-9, "--json")
    assert result.stdout.count("\n") == 1
    assert result.stderr == ""
    record = json.loads(result.stdout)
    assert list(record) == [*SOLVE_FIELDS, "learned"]
    assert record["lower"] <= record["upper"]
    assert 0 <= record["gap"] <= 1e-9
    assert record["upper"] == pytest.approx(0.503184388308, abs=1e-9)
    assert (record["n_samples"], record["dim"], record["status"]) == (300, 640, "optimal")
    assert Path(record["certificate"]).exists()


def test_solve_tells_a_reader_what_matters(cutbench):
    text = cutbench(*IRIS, "--out", "mine").stdout
    for part in ("iris soft-margin: 150 samples", "optimum", "gap", "rounds", "train error", "backend", "exact oracle"):
        assert part in text
    assert "cutbench verify mine/certificate.json" in text
    assert sorted(os.listdir("mine")) == ["certificate.json", "certificate.npz", "journal", "learned.npz", "solve.json"]


def test_a_limit_exits_with_3_and_the_remedy(cutbench):
    result = cutbench(*IRIS, "--max-rounds", 2, "--json", code=3)
    assert json.loads(result.stdout)["status"] == "limit"
    assert "raise --time-limit, --max-rounds or --memory-limit" in result.stderr


def test_a_certificate_is_replaced_only_on_purpose(cutbench):
    cutbench(*IRIS, "--out", "mine")
    before = Path("mine/certificate.json").read_bytes()
    refused = cutbench("solve", "toy", "soft-margin", "--out", "mine", code=2)
    assert "mine/certificate.json exists" in refused.stderr
    assert "--overwrite" in refused.stderr
    assert Path("mine/certificate.json").read_bytes() == before
    cutbench("solve", "toy", "soft-margin", "--out", "mine", "--overwrite")
    assert json.loads(Path("mine/certificate.json").read_text())["problem"]["name"] == "toy"


KEPT = {
    "crosscheck toy soft-margin --learners bcfw --passes 300 --tolerance 0.01": "crosscheck.json",
    "path toy soft-margin --points 3": "path.json",
    "bench k-scaling --set scales=0.5 --set lam2s=0.2 --set n=12 --set gap=1e-4": "journal/lines.jsonl",
    "prove small.lp": "prove.json",
}


@pytest.mark.parametrize("words", KEPT)
def test_a_record_in_the_folder_of_out_is_replaced_only_on_purpose(words, cutbench):
    Path("small.lp").write_text("min\n x\nst\n c: x >= 1\nend\n")
    again, file = [*words.split(), "--out", "mine"], Path("mine", KEPT[words])
    cutbench(*again)
    before = file.read_bytes()
    refused = cutbench(*again, code=2)
    assert f"{file} exists; choose another folder with --out, or replace the run by --overwrite." in refused.stderr
    assert file.read_bytes() == before
    cutbench(*again, "--overwrite")


def test_a_run_in_the_default_folder_is_not_replaced_without_a_word(cutbench):
    words = ("solve", "toy", "soft-margin")
    said = "cutbench: this run replaces the one in runs/toy-soft-margin; --out keeps both."
    assert "replaces" not in cutbench(*words).stderr
    assert said in cutbench(*words, "--set", "lam=0.2").stderr.splitlines()
    assert "replaces" not in cutbench(*words, "--overwrite").stderr
    assert "replaces" not in cutbench(*words, "--gap", 0, code=2).stderr


def test_progress_tells_what_is_left():
    rounds = [(float(second), 10.0**-second) for second in range(8)]
    assert terminal.remaining(rounds, 1e-9) == " of 1e-09, about 2 s left"
    assert terminal.remaining(rounds[:2], 1e-9) == " of 1e-09"
    assert terminal.remaining([(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (3.0, 1.0)], 1e-9) == " of 1e-09"
    assert terminal.remaining([(float(k), float("inf")) for k in range(9)], None) == ""


def test_a_long_last_column_is_wrapped_below_its_heading(capsys):
    terminal.table(["learner", "because"], [["mine", "word " * 60], ["other", "short"]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= terminal.WIDE
    assert lines[2].startswith(" " * 11 + "word")
    assert " ".join(" ".join(lines[1:-2]).split()) == "mine " + ("word " * 60).strip()


def test_every_installed_backend_is_a_row(cutbench):
    result = cutbench("solve", "toy", "soft-margin", "--backend", "all", "--gap", 1e-6, "--json")
    record = json.loads(result.stdout)
    rows = record["rows"]
    assert [row["backend"].split()[0] for row in rows] == [name for name, b in BACKENDS.items() if b.installed]
    assert max(row["lower"] for row in rows) <= min(row["upper"] for row in rows)
    assert all(list(row) == [*SOLVE_FIELDS, "own_status"] for row in rows)
    assert all(row["own_status"] and row["seconds"] > 0 for row in rows)
    text = cutbench("solve", "toy", "soft-margin", "--backend", "all", "--gap", 1e-6).stdout
    assert "own status" in text
    assert rows[0]["own_status"] in text


PLANTED = """
import ctypes
import os


def hangs(program, options, warm):
    ctypes.PyDLL(None).sleep(600)


def leaves(program, options, warm):
    os._exit(7)
"""


def test_a_backend_that_hangs_or_crashes_is_a_row_and_the_others_come(cutbench, tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text(PLANTED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "planted", raising=False)
    planted = importlib.import_module("planted")
    chosen = {"HANGS": replace(BACKENDS["PIQP"], name="HANGS", run=planted.hangs)}
    chosen |= {"LEAVES": replace(BACKENDS["PIQP"], name="LEAVES", run=planted.leaves), "PIQP": BACKENDS["PIQP"]}
    for name, each in chosen.items():
        monkeypatch.setitem(BACKENDS, name, each)
    monkeypatch.setattr("workbench.command.solutions.installed_backends", lambda: list(chosen))
    words = ("solve", "toy", "soft-margin", "--gap", 1e-6, "--time-limit", 6)
    hangs, leaves, piqp = json.loads(cutbench(*words, "--backend", "all", "--json").stdout)["rows"]
    assert hangs["status"] == "limit"
    assert re.fullmatch(r"HANGS did not return within [12](\.\d+)? s", hangs["own_status"])
    assert -1e-300 < hangs["lower"] <= 0 < hangs["upper"]  # that of the truths, down by a unit in the last place
    assert leaves["status"] == "failed"
    assert leaves["evidence"].startswith("LEAVES failed on")
    assert "exit code 7" in leaves["evidence"]
    assert (piqp["status"], piqp["own_status"]) == ("optimal", "PIQP_SOLVED")
    assert hangs["seconds"] >= 1.5
    text = cutbench(*words, "--backend", "all", "--overwrite").stdout
    for part in ("HANGS did not return within", "LEAVES failed on", "PIQP_SOLVED"):
        assert part in text
    alone = cutbench(*words, "--backend", "hangs", "--overwrite", code=3)
    assert "gap          1.0e+00 relative, limit" in alone.stdout
    assert "limit (HANGS did not return within" in alone.stderr


@pytest.mark.parametrize("groups", ["one", "all", "7"])
def test_groups_do_not_change_the_optimum(cutbench, groups):
    record = json.loads(cutbench(*IRIS, "--groups", groups, "--json").stdout)
    assert record["upper"] == pytest.approx(json.loads(cutbench(*IRIS, "--json").stdout)["upper"], abs=1e-8)


def test_a_python_file_and_data_files_are_problems(cutbench, tmp_path):
    X, y = np.array([[0.0, 1], [1, 1], [4, 1], [5, 1]]), [0, 0, 1, 1]
    np.savez("four.npz", X=X, y=y)
    Path("four.csv").write_text("".join(f"{a},{b},{label}\n" for (a, b), label in zip(X, y, strict=True)))
    Path("four.svm").write_text("".join(f"{label} 1:{a} 2:{b}\n" for (a, b), label in zip(X, y, strict=True)))
    Path("four.py").write_text(
        f"import workbench as wb\ndef problem(scale: float = 1.0):\n    return wb.Multiclass({X.tolist()}, {y})\n"
    )
    for path in ("four.npz", "four.csv", "four.svm", "four.py", tmp_path / "four.csv"):
        record = json.loads(cutbench("solve", path, "hard-margin", "--json").stdout)
        assert record["problem"] == "four"
        assert record["upper"] == pytest.approx(29 / 36, rel=1e-8)  # rows ±u/2 of w, u = (2/3, −5/3): ½·½‖u‖²


# ── crosscheck ────────────────────────────────────────────────────────────────────────────────────

ROW_FIELDS = ["name", "verdict", "excess", "passes", "seconds", "reason", "evidence", "rule", "runs", "causes"]
ROW_FIELDS += ["remarks", "absolute", "needed", "history", "warned", "calls"]
LEARNERS = """
import numpy as np
import workbench as wb

def exact(problem, formulation, budget, rng):
    return wb.solve(formulation, problem, gap=1e-7).theta_flat

def crashes(problem, formulation, budget, rng):
    print("noise")
    raise RuntimeError("no memory")

def leaves(problem, formulation, budget, rng):
    raise SystemExit(5)

def wrong(problem, formulation, budget, rng):
    return 0.5 * exact(problem, formulation, budget, rng)

def short(problem, formulation, budget, rng):
    return np.zeros(3)

NAMES = {"exact": exact, "crashes": crashes, "leaves": leaves, "wrong": wrong, "short": short}
"""


def test_our_solvers_are_checked_by_default(cutbench):
    words = ("crosscheck", "toy", "soft-margin", "--passes", 300, "--tolerance", 0.01)
    record = json.loads(cutbench(*words, "--json", "--out", "judged").stdout)
    assert "proven in rational arithmetic" in cutbench("verify", "judged").stdout
    assert list(record["reference"]) == SOLVE_FIELDS
    data = load_problem("toy")()
    fitting = {n for n, solver in registry("solver").items() if solver().misfit(SoftMargin(), data) is None}
    assert fitting >= {"adagrad", "bcfw", "dual-block", "subgradient"}
    assert [list(row) for row in record["learners"]] == [ROW_FIELDS] * len(fitting)
    assert {row["name"]: row["verdict"] for row in record["learners"]} == dict.fromkeys(fitting, "agrees")
    text = cutbench(*words).stdout
    assert "toy soft-margin: optimum in [" in text
    assert text.count("agrees") == len(fitting)


def test_a_learners_crash_is_a_row(cutbench):
    Path("mine.py").write_text(LEARNERS)
    result = cutbench("crosscheck", "toy", "soft-margin", "--learners", "./mine.py", "--json", code=1)
    rows = {row["name"]: row for row in json.loads(result.stdout)["learners"]}
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "exact": "agrees",
        "crashes": "failed",
        "leaves": "failed",
        "wrong": "disagrees",
        "short": "failed",
    }
    assert "RuntimeError: no memory" in rows["crashes"]["reason"]
    assert "have shape (3,), not (" in rows["short"]["reason"]
    assert "rows of 3 weights, a row for each label" in rows["short"]["reason"]
    assert rows["wrong"]["excess"] > 1e-2


def test_too_few_passes_exit_with_3_and_the_remedy(cutbench):
    words = ("crosscheck", "iris", "soft-margin", "--learners", "subgradient", "--passes", 1)
    told = cutbench(*words, code=3).stderr
    assert "no verdict yet: subgradient" in told
    assert "; raise --passes, or accept a larger excess by --tolerance." in told


def test_more_passes_are_advised_where_they_help():
    """A learner of two labels among three will never have a verdict."""
    open_ = {"name": "slow", "verdict": "not converged", "needed": None, "passes": 50, "seconds": 1.0}
    other = open_ | {"name": "two", "verdict": "not comparable"}
    more = "no verdict yet: slow; raise --passes, or accept a larger excess by --tolerance"
    never = "no verdict possible: two; the column `because` says why"
    assert advice([open_]) == f"{more}."
    assert advice([other]) == f"{never}."
    assert advice([other, open_]) == f"{more}; {never}."


def test_what_a_slow_learner_needs_is_told_in_passes_and_seconds():
    row = {"name": "mine", "needed": 300.0, "passes": 50, "seconds": 2.5}
    assert still_open(row) == "mine (380 passes, a quarter more than its trend needs, take 19 s)"
    assert still_open(row | {"needed": 1150.0}) == "mine (1,500 passes, a quarter more than its trend needs, take 75 s)"
    assert still_open(row | {"needed": 2.0}) == "mine (3 passes, a quarter more than its trend needs, take 0.15 s)"
    assert (
        still_open(row | {"needed": 4e7})
        == "mine (5.0e+07 passes, a quarter more than its trend needs, take 2.5e+06 s)"
    )
    for unknown in (None, float("nan"), float("inf"), 0.0):
        assert still_open(row | {"needed": unknown}) == "mine"
    assert still_open(row | {"passes": None}) == "mine"


def test_the_seed_decides_the_run(cutbench):
    def excess(seed):
        words = ("crosscheck", "toy", "soft-margin", "--learners", "bcfw", "--passes", 3, "--tolerance", 1, "--json")
        return json.loads(cutbench(*words, "--seed", seed).stdout)["learners"][0]["excess"]

    assert excess(1) == excess(1) != excess(2)


def test_a_learner_that_does_not_fit_is_not_comparable(cutbench):
    words = ("crosscheck", "toy", "hard-margin", "--set", "separable=yes", "--set", "n=9")
    result = cutbench(*words, "--learners", "bcfw", "--json", code=3)
    [row] = json.loads(result.stdout)["learners"]
    assert row["verdict"] == "not comparable"
    assert "finite prices" in row["reason"]
    assert "hildreth" in cutbench(*words, "--passes", 400).stdout


# ── verify and predict ────────────────────────────────────────────────────────────────────────────


def test_verify_proves_what_solve_wrote(cutbench):
    certificate = json.loads(cutbench(*IRIS, "--json").stdout)["certificate"]
    record = json.loads(cutbench("verify", certificate, "--json").stdout)
    assert VERIFY_FIELDS | {"data_sha256"} <= set(record)
    assert record["proven"] is True
    assert 0 <= record["gap"] <= 1e-9
    for word in (certificate, Path(certificate).parent, Path(certificate).with_suffix(".npz")):
        assert cutbench("verify", word).stdout.startswith("proven in rational arithmetic")


def test_verify_refuses_other_data_and_false_claims(cutbench):
    Path("a.csv").write_text("1,x\n2,y\n")
    Path("b.csv").write_text("1,x\n3,y\n")
    certificate = json.loads(cutbench("solve", "a.csv", "soft-margin", "--json").stdout)["certificate"]
    cutbench("verify", certificate, "--data", "a.csv")
    assert json.loads(cutbench("verify", certificate, "--data", "b.csv", "--json", code=1).stdout)["proven"] is False
    claim = json.loads(Path(certificate).read_text())
    Path(certificate).write_text(json.dumps(claim | {"upper": claim["upper"] * 0.999}))
    assert cutbench("verify", certificate, code=1).stdout.startswith("NOT PROVEN")


def test_verify_needs_no_solver(cutbench):
    certificate = json.loads(cutbench(*IRIS, "--json").stdout)["certificate"]
    forbid = "import sys; sys.modules.update(dict.fromkeys(('cvxpy', 'clarabel', 'osqp', 'scs', 'piqp', 'ecos')))"
    done = process("verify", certificate, "--json", prelude=forbid)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["proven"] is True


def test_predict_reads_data_with_and_without_labels(cutbench):
    Path("train.csv").write_text("a,b,label\n0,1,low\n1,1,low\n4,1,high\n5,1,high\n")
    Path("new.csv").write_text("a,b\n0.5,1\n4.5,1\n")
    Path("new.svm").write_text("0 1:0.5 2:1\n0 1:4.5 2:1\n")
    certificate = json.loads(cutbench("solve", "train.csv", "hard-margin", "--json").stdout)["certificate"]
    for data in ("new.csv", "new.svm"):
        result = cutbench("predict", certificate, data)
        assert result.stdout == "low\nhigh\n"
        assert ("taken for the columns learned, a, b" in result.stderr) == (data == "new.svm")
    assert "0.00 % of 4 differ" in cutbench("predict", certificate, "train.csv").stderr
    Path("odd.csv").write_text("a,b,label\n0,1,low\n5,1,huge\n")
    assert "the weights do not know huge" in cutbench("predict", certificate, "odd.csv").stderr
    record = json.loads(cutbench("predict", certificate, "train.csv", "--json").stdout)
    predictions = ["low", "low", "high", "high"]
    assert record == {"n_samples": 4, "predictions": predictions, "error": 0.0, "verified": True}
    cutbench("predict", certificate, "train.csv", "--json", "extra", code=2)


def test_predict_reads_columns_as_they_were_learned(cutbench):
    Path("train.csv").write_text("a,b,label\n0,5,low\n1,5,low\n9,5,high\n8,5,high\n")
    Path("swapped.csv").write_text("b,a,label\n5,0,low\n5,9,high\n")
    Path("train.svm").write_text("1 0:1\n2 1:1\n3 2:1\n")
    Path("new.svm").write_text("2 1:1\n3 2:1\n")
    for train, new in ("train.csv", "swapped.csv"), ("train.svm", "new.svm"):
        certificate = json.loads(cutbench("solve", train, "hard-margin", "--json").stdout)["certificate"]
        assert json.loads(cutbench("predict", certificate, new, "--json").stdout)["error"] == 0
        assert json.loads(cutbench("verify", certificate, "--data", train, "--json").stdout)["proven"]
    Path("renamed.csv").write_text("b,c,label\n5,0,low\n")
    certificate = "runs/train-hard-margin/certificate.json"
    assert json.loads(Path(certificate).read_text())["problem"]["columns"] == 0
    cutbench("solve", "train.csv", "hard-margin")
    assert "renamed.csv has no column a" in cutbench("predict", certificate, "renamed.csv", code=2).stderr


# ── list, doctor, bench ───────────────────────────────────────────────────────────────────────────


def test_list_shows_every_name_and_the_matrix(cutbench):
    text = cutbench("list").stdout
    record = json.loads(cutbench("list", "--json").stdout)
    assert len(text.splitlines()) < 80
    matrix = cutbench("list", "fits").stdout
    assert all(row["output"] in matrix and row["formulation"] in matrix for row in record["compatibility"])
    for kind in filter(present, KINDS):
        of_kind = cutbench("list", kind).stdout
        found = json.loads(cutbench("list", kind, "--json").stdout)["entries"]
        assert found == [each for each in record["entries"] if each["kind"] == kind]
        for name in registry(kind).names():
            assert name in text
            assert name in of_kind
            assert any(e["name"] == name and e["kind"] == kind for e in record["entries"])
    assert {(row["output"], row["formulation"]) for row in record["compatibility"]} >= {("multiclass", "soft-margin")}


def test_list_of_a_name_shows_settings_and_formula(cutbench):
    text = cutbench("list", "soft_margin").stdout
    for part in ("lam", "0.1", "margin|slack", "min over w", "λ/2 ‖w‖²"):
        assert part in text
    [entry] = json.loads(cutbench("list", "digits", "--json").stdout)["entries"]
    assert entry["settings"] == [{"key": "n", "type": "int", "default": 300}]


@pytest.mark.skipif(not present("problem"), reason="problems come with a checkout or a wheel")
def test_list_text_describes_files_settings_and_features(cutbench):
    text = cutbench("list", "text").stdout
    for part in ("label<TAB>text", "x_ij = t · (1 + log((1 + N)/(1 + N_j)))", "split=test", "cutbench predict"):
        assert part in text
    [entry] = json.loads(cutbench("list", "text", "--json").stdout)["entries"]
    kinds = {each["key"]: (each["type"], each["default"]) for each in entry["settings"]}
    assert kinds["path"] == ("str", None)
    assert kinds["split"] == ("train|test|all", "train")


def test_names_of_one_file_have_lines_of_their_own(cutbench):
    entries = json.loads(cutbench("list", "--json").stdout)["entries"]
    for kind in filter(present, KINDS):
        told = [each["summary"] for each in entries if each["kind"] == kind]
        assert len(set(told)) == len(told)


def test_doctor_solves_through_each_backend(cutbench):
    record = json.loads(cutbench("doctor", "--json").stdout)
    assert record["ok"] is True
    assert {row["name"] for row in record["packages"]} >= {"numpy", "scipy", "cvxpy", "click"}
    assert all(row["gap"] <= 1e-6 for row in record["backends"] if row["version"])
    assert "The core works." in cutbench("doctor").stdout


def test_bench_prints_one_flat_object(cutbench, monkeypatch, tmp_path):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "some.py").write_text(
        "def count(n: int = 3):\n    print('noise')\n    return {'n': n, 'rows': [{'a': 1}]}\n"
        "NAMES = {'count': count, 'other': lambda: {'x': 0.5}}\n"
    )
    monkeypatch.setattr("workbench.registries.CHECKOUT", tmp_path)
    registry.cache_clear()
    try:
        result = cutbench("bench", "count", "--set", "n=4", "--json")
        assert json.loads(result.stdout) == {"n": 4, "rows": [{"a": 1}]}
        assert list(json.loads(cutbench("bench", "--json").stdout)) == ["count", "other"]
        assert "n  4" in cutbench("bench", "count", "--set", "n=4").stdout
        assert re.search(r"Benchmarks:\n  count *\n  other", cutbench("bench", "--help").stdout)
        assert {e["name"] for e in json.loads(cutbench("list", "--json").stdout)["entries"]} >= {"count", "other"}
    finally:
        registry.cache_clear()


# ── the process ───────────────────────────────────────────────────────────────────────────────────


def test_help_imports_nothing_heavy():
    watch = """
        import atexit, sys
        heavy = {"numpy", "scipy", "numba", "cvxpy", "sklearn", "matplotlib", "rich"}
        atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))
    """
    done = process("--help", prelude=textwrap.dedent(watch))
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"
    for command in cli.commands:
        assert command in done.stdout


def test_a_small_solve_imports_no_more_than_it_uses(tmp_path):
    watch = """
        import atexit, sys
        heavy = {"numba", "cvxpy", "sklearn", "matplotlib", "scipy.linalg", "scipy.optimize", "scipy.special"}
        atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))
    """
    done = process("solve", "iris", "soft-margin", "--out", str(tmp_path / "run"), prelude=textwrap.dedent(watch))
    assert done.returncode == 0
    assert done.stderr.strip().endswith("[]")


def test_every_command_explains_itself(cutbench):
    for command in cli.commands:
        assert "Usage:" in cutbench(command, "--help").stdout


def test_without_words_it_explains_itself(cutbench):
    assert cutbench().stdout == cutbench("--help").stdout


def test_a_bug_is_one_line_and_a_traceback_on_demand(cutbench, monkeypatch):
    monkeypatch.setattr("workbench.command.words.load_problem", lambda name: 1 / 0)
    result = cutbench("solve", "digits", "soft-margin", code=70)
    assert result.stderr.count("\n") == 1
    assert "this is a bug of ours (ZeroDivisionError: division by zero)" in result.stderr
    monkeypatch.setenv("CUTBENCH_DEBUG", "1")
    assert isinstance(CliRunner().invoke(cli, ["solve", "digits", "soft-margin"]).exception, ZeroDivisionError)


OWN_CLASS = """
import numpy as np
import workbench as wb

class Mine(wb.Multiclass):
    def argmax(self, *told, **given):
        {line}

def problem(n: int = 6):
    return Mine(np.eye(n), [0, 1] * (n // 2))
"""


def test_a_fault_in_a_users_class_is_told_by_file_and_line(cutbench):
    for line, fault in (
        ("raise RuntimeError('never')", "RuntimeError: never"),
        ("return np.ones(2) @ np.ones(3)", "ValueError: matmul: "),
    ):
        Path("mine.py").write_text(OWN_CLASS.format(line=line))
        told = cutbench("solve", "./mine.py", "soft-margin", code=2).stderr
        assert told.startswith(f"cutbench: mine.py line 7 stops with {fault}")
        assert told.endswith("; repair the file.\n")
    Path("mine.py").write_text(OWN_CLASS.format(line="return super().argmax(*told, wrong=1)"))
    assert "mine.py line 7 stops with TypeError" in cutbench("solve", "./mine.py", "soft-margin", code=2).stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("solve", "digit", "soft-margin", "--json"), 2, "did you mean 'digits'?"),
        (("solve", "iris", "--json"), 2, "Missing argument 'FORMULATION'"),
        (("solve", "iris", "hard-margin", "--json"), 2, "a Farkas ray"),
        (("verify", "nothing.json", "--json"), 2, "nothing.json"),
    ],
)
def test_a_failure_is_an_object_too(cutbench, words, code, says):
    result = cutbench(*words, code=code)
    record = json.loads(result.stdout)
    assert list(record) == ["error", "exit_code"]
    assert record["exit_code"] == code
    assert says in record["error"]
    assert result.stderr == f"cutbench: {record['error']}\n"


def test_control_c_is_one_line_and_130(tmp_path):
    # A process started in the background may have inherited a deaf ear for SIGINT.
    lines = "import os, signal, time", "signal.signal(signal.SIGINT, signal.default_int_handler)"
    lines += "os.kill(os.getpid(), signal.SIGINT)", "time.sleep(9)"
    (tmp_path / "slow.py").write_text("\n".join(lines))
    done = process("solve", "slow.py", "soft-margin", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() == "cutbench: interrupted."
    assert set(os.listdir(tmp_path)) - {"__pycache__"} == {"slow.py"}


def test_what_libraries_print_never_reaches_stdout(tmp_path):
    script = """
        import os, sys, ctypes
        import workbench.command.terminal as terminal
        with terminal.stdout_kept():
            print("python")
            os.write(1, b"descriptor\\n")
            ctypes.CDLL(None).puts(b"libc")
        terminal.emit({"x": float("nan")})
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout == '{"x": null}\n'
    assert sorted(done.stderr.split()) == ["descriptor", "libc", "python"]


def test_json_is_strict_and_knows_arrays():
    value = {"a": np.float64(np.inf), "b": np.arange(2), "c": (np.int64(1), None, True), 3: Path("x")}
    assert terminal.plain(value) == {"a": None, "b": [0, 1], "c": [1, None, True], "3": "x"}


def test_printed_intervals_are_rounded_outward():
    assert terminal.interval({"lower": 1 / 3, "upper": 2 / 3}) == "[0.333333333333, 0.666666666667]"
    assert terminal.interval({"lower": -2 / 3, "upper": 1 / 3}) == "[-0.666666666667, 0.333333333334]"
    assert terminal.interval({"lower": None, "upper": 0.25}) == "[unknown, 0.25]"


def test_a_benchmark_that_cannot_run_leaves_the_others(cutbench, monkeypatch):
    def broken():
        raise wb.BadInput("The weather is bad; wait.")

    objects = registry("benchmark").objects
    monkeypatch.setitem(objects, "broken", broken)
    monkeypatch.setitem(objects, "whole", lambda: {"ratio": 2.0})
    found = json.loads(cutbench("bench", "broken", "whole", "--json", code=1).stdout)
    assert found == {"broken": {"failed": 1, "error": "The weather is bad; wait."}, "whole": {"ratio": 2.0}}
    assert "The weather is bad" in cutbench("bench", "broken", code=2).stderr


def test_a_farkas_ray_is_a_reference_for_learners_from_mistakes_only(cutbench):
    """No weights separate the three irises: the perceptron is judged by its mistakes, other learners are refused."""
    shown = cutbench("crosscheck", "iris", "perceptron", "--learners", "perceptron", "--passes", 5, "--json")
    record = json.loads(shown.stdout)
    assert record["reference"]["status"] == "not separable"
    assert record["learners"][0]["verdict"] == "agrees"
    cutbench("crosscheck", "iris", "perceptron", "--learners", "subgradient", "--passes", 5, code=2)


def test_a_mean_loss_is_a_share_only_where_no_loss_exceeds_one():
    assert train_loss(0.0133, 1.0) == {"train error": "1.33 %"}
    assert train_loss(1.0, 4.0) == {"train loss": "1 a sample"}


def test_a_status_line_shows_the_seconds_since(monkeypatch):
    """The seconds come first, so that a long text is cut and they are not."""
    import workbench.command.terminal as terminal

    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    shown = terminal.Timed("reference …")
    now[0] = 112.4
    assert shown.__rich__().plain == "12 s  reference …"
    shown.say("learner …")
    assert shown.__rich__().plain == "12 s  learner …"
    with terminal.status("piped") as tell:
        assert tell is None
