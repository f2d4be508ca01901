"""Bad input: one sentence on stderr, exit 2, no traceback, nothing on stdout, nothing half-written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import workbench.command.terminal as terminal
from workbench.command.cli import cli
from workbench.errors import BadInput
from workbench.registries import present


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*words, says: str, code: int = 2) -> str:
    """Runs the command and checks everything that every refusal has in common."""
    before = listing()
    result = CliRunner().invoke(cli, [str(word) for word in words])
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("cutbench: ")
    told = [line for line in result.stderr.splitlines() if "; labels from " not in line]  # how a good file was read
    assert len(told) == 1
    assert "Traceback" not in result.stderr
    assert says in result.stderr
    assert listing() == before
    return result.stderr


def listing() -> list[tuple[str, int]]:
    return sorted((str(p), p.stat().st_size) for p in Path().rglob("*") if "__pycache__" not in p.parts)


@pytest.fixture
def certificate() -> Path:
    result = CliRunner().invoke(cli, ["solve", "iris", "soft-margin", "--out", "mine", "--json"])
    return Path(json.loads(result.stdout)["certificate"])


# ── words ─────────────────────────────────────────────────────────────────────────────────────────

SOFT = ("solve", "iris", "soft-margin")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("solve", "digit", "soft-margin"), "did you mean 'digits'?"),
        (("solve", "iris", "soft-margins"), "did you mean 'soft-margin'?"),
        (("solve", "qqqq", "soft-margin"), "known: bluebird, breast-cancer, "),
        (("crosscheck", "iris", "soft-margin", "--learners", "bcwf"), "did you mean 'bcfw'?"),
        (("crosscheck", "iris", "soft-margin", "--learners", ","), "names no learner"),
        (("crosscheck", "iris", "soft-margin", "--learners", "./mine.py"), "There is no file mine.py"),
        (("crosscheck", "iris", "soft-margin", "--passes", "0"), "--passes is 0"),
        (("crosscheck", "iris", "soft-margin", "--seed", "-1"), "--seed is -1"),
        (("list", "soft-margn"), "did you mean 'soft-margin'?"),
        (("list", "nowhere"), "There is no name called 'nowhere'; known: "),
        ((*SOFT, "--set", "lamb=1"), "did you mean 'lam'? known: declare, intercept, lam, n, rescaling"),
        ((*SOFT, "--set", "lam=small"), "lam=small is not a number"),
        ((*SOFT, "--set", "lam"), "not of the form key=value"),
        ((*SOFT, "--set", "lam=-1"), "must be positive"),
        ((*SOFT, "--set", "lam=0"), "must be positive"),
        ((*SOFT, "--set", "lam=inf"), "must be positive"),
        ((*SOFT, "--set", "rescaling=both"), "not one of margin|slack"),
        ((*SOFT, "--set", "n=0"), "choose n between 1 and 150"),
        ((*SOFT, "--set", "n=40"), "at least two classes"),
        ((*SOFT, "--backend", "clarabell"), "did you mean 'CLARABEL'?"),
        ((*SOFT, "--gap", "0"), "--gap is 0"),
        ((*SOFT, "--gap", "nan"), "--gap is nan"),
        ((*SOFT, "--gap", "tiny"), "not a valid float"),
        ((*SOFT, "--groups", "few"), "give one, all or a positive number"),
        ((*SOFT, "--time-limit", "-1"), "--time-limit is -1"),
        ((*SOFT, "--max-rounds", "0"), "--max-rounds is 0"),
        (("solve", "iris"), "Missing argument 'FORMULATION'"),
        ((*SOFT, "--jsn"), "No such option"),
        (("slove", "iris"), "No such command"),
        (("verify", "nothing.json"), "nothing.json"),
        (("verify", "."), "certificate.json"),
        (("predict", "nothing.json", "data.csv"), "nothing.json"),
        (("figures", "no-such-figure"), "figure"),
        (("bench", "no-such-benchmark"), "benchmark"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, tuple) else "",
)
def test_words(words, says):
    refused(*words, says=says)


# ── data ──────────────────────────────────────────────────────────────────────────────────────────

DATA = {
    "not a number": ("data.csv", "1,2,x\n3,?,y\n", "data.csv line 2: column 2 is '?'"),
    "NaN": ("data.csv", "1,nan,x\n3,4,y\n", "data.csv line 1: column 2 is 'nan'"),
    "infinity": ("data.svm", "1 1:inf\n2 1:3\n", "data.svm line 1: feature 1 is inf"),
    "empty": ("data.csv", "", "data.csv holds no samples"),
    "one class": ("data.csv", "1,x\n3,x\n", "data.csv: All labels are x"),
    "a short line": ("data.csv", "1,2,x\n3,y\n", "data.csv line 2 has 2 cells where 3 are expected"),
    "malformed svmlight": ("data.svm", "1 1:2\n2 one:3\n", "data.svm line 2: 'one:3' is not index:value"),
    "malformed npz": ("data.npz", "PK nonsense", "data.npz is not an npz file"),
    "unknown format": ("data.json", "{}", "data.json"),
    "no problem in Python": ("data.py", "x = 1", "defines neither NAMES nor 'problem'"),
    "Python that returns nothing": (
        "data.py",
        "def problem(): pass",
        "gives a NoneType in place of a problem to learn",
    ),
    "Python that crashes": ("data.py", "def problem(): 1 / 0", "data.py line 1 stops with ZeroDivisionError"),
    "broken Python": ("data.py", "def f(:", "data.py stops in line 1 with SyntaxError"),
}


@pytest.mark.parametrize(("name", "text", "says"), DATA.values(), ids=DATA)
def test_data_files(name, text, says):
    Path(name).write_text(text)
    refused("solve", f"./{name}", "soft-margin", says=says)


LEAVES = {
    "at import": "import sys\nsys.exit(0)\n",
    "when called": "import sys\ndef problem():\n    sys.exit(0)\n",
    "in a learner's class": "import sys\nclass fit:\n    def __init__(self):\n        sys.exit(0)\n",
}


@pytest.mark.parametrize("how", LEAVES)
def test_a_users_file_that_leaves(how):
    Path("mine.py").write_text(LEAVES[how])
    if how != "in a learner's class":
        refused("solve", "mine.py", "soft-margin", says="with SystemExit: 0; repair the file.")
    if how != "when called":
        refused("crosscheck", "iris", "soft-margin", "--learners", "./mine.py", says="with SystemExit: 0; repair")


def test_a_problem_that_leaves_while_it_is_solved():
    Path("mine.py").write_text(
        "import sys, numpy as np, workbench as wb\n"
        "class Leaving(wb.Multiclass):\n    def features(self, samples, outputs):\n        sys.exit(0)\n"
        "def problem():\n    return Leaving(np.eye(3), [0, 1, 1])\n"
    )
    refused("solve", "mine.py", "soft-margin", says="called exit(0)")


def test_a_file_without_a_learner():
    Path("mine.py").write_text("fit = 3\n")
    refused("crosscheck", "iris", "soft-margin", "--learners", "./mine.py", says="./mine.py: int is no learner")


def test_too_little_memory(monkeypatch):
    def starved(*words, **options):
        raise MemoryError("Unable to allocate 14.9 GiB")

    monkeypatch.setattr("workbench.solving.solve.solve", starved)
    refused(*SOFT, says="memory does not suffice (θ has 12 entries, 8.9e-08 GiB, several times over)", code=3)
    monkeypatch.setattr("workbench.command.words.load_problem", starved)
    refused(*SOFT, says="memory does not suffice (Unable to allocate 14.9 GiB); take fewer", code=3)


def test_a_missing_data_file():
    refused("solve", "nowhere/data.csv", "soft-margin", says="There is no file nowhere/data.csv")


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"X": np.array([[1, np.nan], [2, 3]]), "y": [0, 1]}, "Feature 1 of sample 0 is nan"),
        ({"X": np.array([[1, 2], [-np.inf, 3]]), "y": [0, 1]}, "Feature 0 of sample 1 is -inf"),
        ({"X": np.ones((2, 2)), "y": [0, 1, 1]}, "2 rows but y has shape (3,)"),
        ({"X": np.ones((0, 2)), "y": []}, "empty"),
        ({"X": np.ones((2, 2)), "y": [0, np.nan]}, "label of sample 1 is missing"),
        ({"X": np.array([["a"], ["b"]]), "y": [0, 1]}, "not numbers"),
        ({"X": np.ones((2, 2))}, "holds no labels"),
        ({"y": [0, 1]}, "X is missing"),
    ],
    ids=["nan", "inf", "lengths", "empty", "label", "words", "no labels", "no samples"],
)
def test_arrays(arrays, says):
    np.savez("data.npz", **arrays)
    assert "data.npz" in refused("solve", "data.npz", "soft-margin", says=says)


def test_overlapping_classes_name_the_samples_in_conflict():
    Path("data.csv").write_text("1,1,x\n1,1,y\n0,1,x\n")
    text = refused("solve", "data.csv", "hard-margin", says="Farkas ray")
    assert "sample 0" in text
    assert "sample 1" in text


# ── folders ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("words", [SOFT, ("figures",), ("demo",)], ids=lambda words: words[0])
def test_an_unwritable_folder_is_found_before_any_work(words, monkeypatch):
    if words == ("figures",) and not present("figure"):
        pytest.skip("this installation has no figures")
    Path("file").write_text("in the way")
    early = lambda *_, **__: pytest.fail("solved before looking at --out")  # noqa: E731
    monkeypatch.setattr("workbench.command.solutions.solved", early)
    refused(*words, "--out", "file/below", says="Cannot write to file/below (Not a directory)")
    refused(*words, "--out", "file", says="Cannot write to file (")


def test_a_folder_without_permission(here):
    locked = here / "locked"
    locked.mkdir(mode=0o555)
    if os.access(locked, os.W_OK):
        pytest.skip("this user may write anywhere")
    refused(*SOFT, "--out", "locked/below", says="Permission denied")


def test_looking_at_a_folder_leaves_nothing(here):
    assert terminal.usable_folder("a/b/c") == Path("a/b/c")
    assert os.listdir(here) == []
    (here / "full").mkdir()
    (here / "full" / "x").touch()
    terminal.usable_folder("full/more")
    assert listing() == [("full", (here / "full").stat().st_size), ("full/x", 0)]
    with pytest.raises(BadInput):
        terminal.usable_folder("full/x/y")


# ── certificates ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "other"}', "\x00"])
@pytest.mark.parametrize("command", [("verify",), ("predict", "data.csv")], ids=["verify", "predict"])
def test_a_corrupt_certificate(certificate, command, text):
    certificate.write_text(text)
    refused(command[0], certificate, *command[1:], says=str(certificate))


@pytest.mark.parametrize("damage", ["missing", "empty", "half", "other arrays"])
def test_a_corrupt_archive(certificate, damage):
    archive = certificate.with_suffix(".npz")
    whole = archive.read_bytes()
    archive.unlink()
    if damage in ("empty", "half"):
        archive.write_bytes(whole[: len(whole) // 2] if damage == "half" else b"")
    elif damage == "other arrays":
        np.savez(archive, theta=np.ones(3))
    refused("verify", certificate, says="certificate")


def test_data_of_another_width(certificate):
    Path("data.csv").write_text("1,2\n")
    refused("predict", certificate, "data.csv", says="has 2 columns but the weights were learned on 4")
    refused("predict", certificate, "nowhere.csv", says="There is no file nowhere.csv")
    refused("verify", certificate, "--data", "nowhere.csv", says="There is no file nowhere.csv")
