"""Warnings of a learner's own code are one sentence of its row, and print nothing."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.judging.warned import LONG, MOST, Tally, Warned

SAID = "Liblinear failed to converge, increase the number of iterations"
FEW = """
from sklearn.svm import LinearSVC

def fit(problem, formulation, budget, rng):
    C = 1 / (formulation.lam * problem.n_samples)
    svm = LinearSVC(C=C, multi_class="crammer_singer", fit_intercept=False, max_iter=5, random_state=rng)
    return svm.fit(problem.X, problem.labels).coef_
"""
CRASHES = """
import warnings

def fit(problem, formulation, budget, rng):
    warnings.warn("all is lost")
    raise RuntimeError("lost")
"""


@cache
def reference():
    y = np.arange(30) % 3
    X = np.eye(3)[y] + np.random.default_rng(0).normal(size=(30, 3))
    return wb.solve(wb.SoftMargin(lam=0.1), wb.Multiclass(X, y), gap=1e-9)


def best() -> np.ndarray:
    return reference().theta_flat


# ── the tally ─────────────────────────────────────────────────────────────────────────────────────


def called(tally: Tally, *messages: str, audit: bool = False, category: type[Warning] = UserWarning) -> None:
    with tally.listening(audit):
        for message in messages:
            warnings.warn(message, category, stacklevel=1)


@pytest.mark.filterwarnings("default")
def test_a_warning_is_counted_once_a_call_and_by_its_text_without_numbers(capfd):
    tally = Tally()
    called(tally, "gap 0.25 after 7 passes.\nMore of it.\n\nAdvice.", "gap 1e-3 after 8 passes.\nMore of it.")
    called(tally, "gap 17 after 9 passes.\nMore of it.")
    called(tally)
    called(tally, audit=True)
    assert (tally.calls, tally.warned) == (3, [Warned("UserWarning", "gap 0.25 after 7 passes. More of it.", 2)])
    assert tally.sentence == "The learner warns: “gap 0.25 after 7 passes. More of it” (UserWarning, in 2 of 3 calls)."
    called(tally, "another", audit=True, category=RuntimeWarning)
    assert (tally.calls, tally.warned[1]) == (4, Warned("RuntimeWarning", "another", 1))
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("default")
def test_how_often_in_words_and_what_is_left_out():
    tally = Tally()
    assert tally.sentence == ""
    called(tally, "one")
    assert tally.sentence == "The learner warns: “one” (UserWarning, in 1 call)."
    called(tally, "one", "two")
    assert tally.sentence.endswith("“one” (UserWarning, in all 2 calls), “two” (UserWarning, in 1 of 2 calls).")
    called(tally, "three", "four", "one")
    assert tally.sentence.endswith("“three” (UserWarning, in 1 of 3 calls), and 1 other warning.")
    called(tally, *("x" * k for k in range(1, MOST + 9)), "\x1b[2J" + "long " * LONG)
    assert len(tally.warned) == MOST
    many = Tally()
    called(many, "\x1b[2J" + "long " * LONG)
    assert len(many.warned[0].message) <= LONG + 3
    assert many.sentence.isprintable()


def test_filters_stay_as_they_are():
    tally = Tally()
    with pytest.raises(UserWarning, match="an error"):
        called(tally, "an error")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        called(tally, "nobody hears this")
    assert (tally.calls, tally.warned) == (2, [])


# ── in a judgement ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.filterwarnings("default")
def test_a_function_that_warns(capfd):
    def fit(problem, formulation, budget, rng):
        if budget < 8:
            warnings.warn(f"{budget} passes are few", stacklevel=1)
        yield budget, best() * (1 + 5 / budget)

    found = wb.judge(fit, reference(), passes=8, patience=0)
    assert found.warned == [Warned("UserWarning", "4 passes are few", 3)]
    assert found.remarks[-1] == f"The learner warns: “4 passes are few” (UserWarning, in 3 of {found.calls} calls)."
    assert found.reason.endswith(found.remarks[-1])
    assert capfd.readouterr() == ("", "")


def test_a_file_that_warns_and_crashes(tmp_path, capfd):
    (tmp_path / "crashes.py").write_text(CRASHES)
    found = wb.judge(tmp_path / "crashes.py", reference(), passes=8)
    assert (found.verdict, found.calls, found.warned) == ("failed", 1, [Warned("UserWarning", "all is lost", 1)])
    assert found.reason.endswith("The learner warns: “all is lost” (UserWarning, in 1 call).")
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("default")
def test_a_step_that_warns_in_an_audit_and_a_solver_of_ours():
    class Lends:
        def fit(self, problem, formulation, budget, rng):
            return best()

        def oracle(self, problem, formulation, theta, i):
            warnings.warn("a step", stacklevel=1)
            return formulation.oracle(problem).argmax(theta, np.array([i]))[0]

    found = wb.judge(Lends(), reference(), passes=8, audit=False)
    assert Warned("UserWarning", "a step", 1) in found.warned
    ours = wb.judge("bcfw", reference(), passes=8, patience=0)
    assert (ours.calls, ours.warned) == (1, [])


def test_the_command_tells_each_warning_once(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("few.py").write_text(FEW)
    words = "crosscheck iris soft-margin --learners ./few.py --passes 8 --out few --report page.html"
    told = CliRunner().invoke(cli, words.split())
    (row,) = json.loads(Path("few/crosscheck.json").read_text())["learners"]
    assert row["warned"] == [{"category": "ConvergenceWarning", "message": f"{SAID}.", "calls": row["calls"]}]
    assert row["calls"] > 3  # the related problems' with them
    sentence = f"The learner warns: “{SAID}” (ConvergenceWarning, in all {row['calls']} calls)."
    assert row["remarks"][-1] == sentence
    assert " ".join(told.stdout.split()).count(sentence) == 1
    assert sentence in Path("page.html").read_text()
    assert capfd.readouterr().err == told.stderr == ""
