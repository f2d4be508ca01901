"""`cutbench new` writes files that work; predictions for every structure; learners' settings; the public names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.judging.learners import learners_named
from workbench.registries import CHECKOUT, load_file


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
    assert "exists already" in cutbench("new", "problem", "my-words", code=2).stderr


def test_a_new_learner_is_judged_with_its_settings(cutbench):
    cutbench("new", "learner", "my-sgd")
    words = ("crosscheck", "iris", "soft-margin", "--set", "lam=1", "--learners", "./my_sgd.py", "--tolerance", "0.05")
    for extra in ((), ("--learner-set", "my-sgd.shift=5")):
        rows = json.loads(cutbench(*words, *extra, "--json").stdout)["learners"]
        assert [(row["name"], row["verdict"]) for row in rows] == [("my-sgd", "agrees")]
    assert "did you mean 'shift'" in cutbench(*words, "--learner-set", "my-sgd.shft=5", code=2).stderr


@pytest.mark.skipif(CHECKOUT is None, reason="recipes stand in a checkout")
@pytest.mark.parametrize("kind", ["output", "formulation", "solver", "figure"])
def test_other_kinds_are_their_recipe_under_another_name(kind, cutbench):
    cutbench("new", kind, "my-thing", "--out", "here")
    module = load_file(Path("here", "my_thing.py"))
    assert list(module.NAMES) == ["my-thing"]
    assert getattr(module.NAMES["my-thing"], "__name__", "").endswith(("MyThing", "my_thing"))


def test_other_kinds_and_names_are_one_sentence(cutbench):
    assert "no kind called 'thing'; choose one of problem, learner" in cutbench("new", "thing", "x", code=2).stderr
    assert "is no name; write lower-case words" in cutbench("new", "problem", "My/Words", code=2).stderr


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
