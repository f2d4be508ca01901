"""`cutbench new` writes files that work; predictions for every structure; learners' settings; the public names."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.judging.learners import learners_named
from workbench.registries import CHECKOUT, load_file

needs_checkout = pytest.mark.skipif(CHECKOUT is None, reason="recipes stand in a checkout")


@pytest.fixture
def cutbench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words, code=0):
        result = CliRunner().invoke(cli, [*map(str, words)])
        assert result.exit_code == code, result.output + result.stderr
        return result

    return run


def test_a_new_problem_is_sound_solved_and_predicts(cutbench):
    record = json.loads(cutbench("new", "problem", "my-words", "--json").stdout)
    assert record["path"] == "my_words.py"
    cutbench("check-oracle", "my_words.py", "--seconds", "0.3")
    cutbench("solve", "./my_words.py", "soft-margin", "--set", "lam=0.1", "--gap", "1e-6", "--out", "run")
    told = json.loads(cutbench("predict", "run", "./my_words.py", "--set", "seed=1", "--json").stdout)
    assert told["n_samples"] == len(told["predictions"]) == 20
    assert told["loss"] < 1.5
    problem = wb.load_problem("./my_words.py")()
    solved = wb.solve(wb.SoftMargin(lam=0.1), problem, gap=1e-6)
    seen = json.loads(cutbench("predict", "run", "./my_words.py", "--json").stdout)
    assert seen["loss"] == pytest.approx(solved.train_error)
    assert seen["predictions"] == [repr(each) for each in solved.predict(problem.xs)]
    assert "my_words.py exists; " in cutbench("new", "problem", "my-words", code=2).stderr


def test_a_new_program_is_proven_by_the_commands_told(cutbench):
    record = json.loads(cutbench("new", "program", "my-lp", "--json").stdout)
    assert record["path"] == "my_lp.py"
    told = json.loads(cutbench(*shlex.split(record["next"][0])[1:], "--json").stdout)
    assert told["optimum"] == "142"
    assert told["prices"] == {"hours": 14.0, "material": 2.0}
    for command in record["next"][1:]:
        cutbench(*shlex.split(command)[1:])
    assert Path("runs/my-lp/report.html").is_file()


def test_a_new_learner_is_judged_with_its_settings(cutbench):
    cutbench("new", "learner", "my-sgd")
    words = (
        "crosscheck",
        "iris",
        "soft-margin",
        "--set",
        "lam=1",
        "--learners",
        "./my_sgd.py",
        "--tolerance",
        "0.05",
        "--passes",
        "20",
    )
    for extra in ((), ("--learner-set", "my-sgd.shift=5")):
        rows = json.loads(cutbench(*words, *extra, "--json").stdout)["learners"]
        assert [(row["name"], row["verdict"]) for row in rows] == [("my-sgd", "agrees")]
    assert "did you mean 'shift'" in cutbench(*words, "--learner-set", "my-sgd.shft=5", code=2).stderr


@pytest.fixture
def made(cutbench):
    """The only thing that a new file of that kind registers."""

    def load(kind):
        cutbench("new", kind, "my-thing", "--out", "here")
        names = load_file(Path("here", "my_thing.py")).NAMES
        assert list(names) == ["my-thing"]
        assert getattr(names["my-thing"], "__name__", "").endswith(("MyThing", "my_thing"))
        return names["my-thing"]

    return load


@needs_checkout
def test_a_new_output_reaches_the_optimum_of_the_built_in_one(made):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(8, 3)), rng.integers(0, 2, (8, 3))
    kinds = wb.Multilabel, made("output")
    ours, theirs = (wb.solve(wb.SoftMargin(lam=0.1), kind(X, Y), gap=1e-10) for kind in kinds)
    assert theirs.status == "optimal"
    assert theirs.upper == pytest.approx(ours.upper, rel=1e-9)


@needs_checkout
def test_a_new_formulation_is_solved_and_without_its_penalty_is_the_soft_margin(made):
    elastic, problem = made("formulation"), wb.load_problem("iris")()
    plain, same, more = (
        wb.solve(each, problem, gap=1e-9) for each in (wb.SoftMargin(0.1), elastic(0.1, 0.0), elastic(0.1, 0.5))
    )
    assert same.upper == pytest.approx(plain.upper, rel=1e-8)
    assert more.lower > plain.upper


@needs_checkout
def test_a_new_solver_comes_near_the_optimum(made):
    problem, form = wb.load_problem("iris")(), wb.SoftMargin(1.0)
    trace, best = wb.run(made("solver")(), form, problem, passes=300), wb.solve(form, problem)
    assert trace.solver == "my-thing"
    assert best.lower <= trace.upper[-1] <= 1.02 * best.upper


@needs_checkout
def test_a_new_figure_is_measured_and_drawn(made):
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    figure = made("figure")
    arrays = figure.measure(n=20, gap=1e-3)
    assert (np.diff(arrays["optimum"]) > 0).all()
    [axes] = [each for each in figure.draw(arrays).axes if each.lines]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), arrays["optimum"])


def test_other_kinds_and_names_are_one_sentence(cutbench):
    assert (
        "no kind called 'thing'; choose one of problem, program, learner"
        in cutbench("new", "thing", "x", code=2).stderr
    )
    assert "is no name; write lower-case words" in cutbench("new", "problem", "My/Words", code=2).stderr


@pytest.mark.parametrize("name", ["numpy", "cvxpy", "json", "workbench", "class", "sys"])
def test_a_name_that_hides_a_module_is_refused(cutbench, name):
    for kind in ("program", "problem", "learner"):
        told = cutbench("new", kind, name, code=2).stderr
        part = "is a word of Python's" if name == "class" else f"{name}.py would hide the Python module {name}"
        assert part in told
        assert "choose another NAME." in told
    assert not list(Path().iterdir())


def test_a_file_in_the_place_of_the_folder_is_told_with_the_option(cutbench):
    Path("f.txt").write_text("mine")
    for place in ("f.txt", "f.txt/inside"):
        told = cutbench("new", "program", "my2", "--out", place, code=2).stderr
        assert f"Cannot write to {place} (" in told
        assert "choose another folder with --out." in told
    cutbench("new", "program", "my2", "--out", "made/here")
    assert "exists; choose another folder" in cutbench("new", "program", "my2", "--out", "made/here", code=2).stderr


def test_settings_of_learners():
    assert learners_named(["adagrad"], ["adagrad.step=0.5"])[0].thing.step == 0.5
    for texts, sentence in (
        (["adagrad.steps=1"], "did you mean 'step'"),
        (["step=1"], "not of the form NAME.key=value"),
        (["bcfw.step=1"], "no learner among those to check called 'bcfw'"),
    ):
        with pytest.raises(wb.CutbenchError, match=sentence):
            learners_named(["adagrad"], texts)


def test_the_public_names_are_shown():
    assert {"solve", "Structured", "SoftMargin", "check", "watch", "estimators"} <= set(dir(wb))
    assert set(wb.__all__) <= set(dir(wb))
    for name in wb.__all__:
        assert getattr(wb, name) is not None


def test_solutions_predict():
    problem = wb.load_problem("iris")()
    solution = wb.solve(wb.SoftMargin(lam=0.1), problem, gap=1e-6)
    assert (solution.predict(problem.X) == problem.classes[problem.labels]).mean() > 0.9
