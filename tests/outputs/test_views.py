"""Views: labels with hidden views against enumeration, both checkers, digits that are turned, refusals."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from both_checkers import both
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.command.cli import cli
from workbench.contracts import Latent
from workbench.objectives.oracles import MarginRescaling

seeds = st.integers(0, 2**32 - 1)


def hidden(seed):
    """A tiny problem, its views withheld; and a generator."""
    rng = np.random.default_rng(seed)
    known = wb.Views.tiny(rng)
    return wb.Views(known.X, known.classes[known.labels], known.offsets, None, known.weights, known.classes), rng


@given(seed=seeds)
@settings(max_examples=25)
def test_a_score_is_that_of_its_view_and_label(seed):
    problem, rng = hidden(seed)
    w = rng.normal(size=problem.n_features)
    for i in range(problem.n_samples):
        outputs = problem.outputs(i)
        assert len(outputs) == len(problem.classes) * problem.n_views[i]
        found = problem.features(np.full(len(outputs), i), outputs) @ w
        rows = problem.X[[problem.offsets[i] + h for _, h in outputs]].toarray()
        wanted = [w.reshape(-1, problem.n_inputs)[y] @ row for (y, _), row in zip(outputs, rows, strict=True)]
        np.testing.assert_allclose(found, wanted, atol=1e-12)
        best = problem.argmax(w, np.array([i]), augment=False)[0]
        assert tuple(best) == tuple(outputs[int(np.argmax(wanted))])


@given(seed=seeds)
@settings(max_examples=25)
def test_imputed_views_have_the_highest_score(seed):
    problem, rng = hidden(seed)
    assert isinstance(problem, Latent)
    w, everyone = rng.normal(size=problem.n_features), np.arange(problem.n_samples)
    states = problem.impute(w)
    for i, scores in zip(everyone, problem.hidden_scores(w, everyone), strict=True):
        assert len(scores) == problem.n_hidden[i] == len(problem.hidden(i))
        assert states[i] == np.argmax(scores)
    last = problem.n_views - 1
    assert problem.impute(0 * w, last).tolist() == last.tolist()  # of equal ones the old state stays
    assert not problem.impute(0 * w).any()  # else the first


@given(seed=seeds)
@settings(max_examples=25)
def test_a_completed_problem_has_one_output_of_the_true_label(seed):
    problem, rng = hidden(seed)
    states = rng.integers(0, problem.n_views)
    completed = problem.completed(states)
    w, oracle = rng.integers(-2, 3, problem.n_features) + 0.0, MarginRescaling(completed)
    everyone = np.arange(problem.n_samples)
    slopes, offsets = oracle.rows(everyone, oracle.argmax(w, everyone))
    highest = slopes @ w + offsets
    for i in everyone:
        outputs = completed.outputs(i)
        assert (outputs[:, 0] == completed.labels[i]).sum() == 1
        listed = completed.features(np.full(len(outputs), i), outputs) @ w
        own = listed[outputs[:, 0] == completed.labels[i]][0]
        assert highest[i] == pytest.approx(max(listed + (outputs[:, 0] != completed.labels[i])) - own)


def test_the_best_of_all_completions_is_the_search_and_both_checkers_prove_it(tmp_path):
    """Equation (2) with charges at which nobody is left out is min F, by enumeration of the views."""
    problem = wb.load_problem("rotated-digits")(n=4, angles=2)
    every = np.stack(np.meshgrid(*[[0, 1]] * 4), axis=-1).reshape(-1, 4)
    least = min(wb.solve(wb.CompletedSSVM(10.0, tuple(map(int, s))), problem, gap=1e-8).upper for s in every)
    found = wb.solve(wb.SelfPaced(C=10.0, K=1e-6), problem, gap=1e-6)
    assert found.lower <= least * (1 + 1e-6)
    assert found.upper == pytest.approx(least, rel=1e-5)
    found.certificate.save(tmp_path / "search")
    said = both(str(tmp_path / "search"))
    assert (said["first"], said["second"]) == ("proven", "proven")
    form = wb.LatentSSVM(C=10.0)
    assert form.value(problem, wb.solve(form, problem, gap=1e-6).theta["w"]) >= least * (1 - 1e-6)


def test_turned_digits_hold_an_upright_view():
    straight = wb.load_problem("digits")(n=1797)
    problem = wb.load_problem("rotated-digits")(n=10, angles=3, widest=40)
    chosen = straight.X[np.flatnonzero(np.isin(straight.labels, [2, 7]))[:10]].toarray()
    views = problem.X.toarray()[:, :64].reshape(10, 3, 64)
    away = np.abs(views - chosen[:, None]).sum(axis=2)
    assert (away.argmin(axis=1) == problem.planted).mean() >= 0.9  # the turn back loses little
    assert problem.hides
    assert set(problem.planted) == {0, 1, 2}


def test_from_the_command_line(tmp_path, monkeypatch):
    """Solved, verified, predicted on others, judged."""
    monkeypatch.chdir(tmp_path)
    run = lambda *words: CliRunner().invoke(cli, words)  # noqa: E731
    small = ("--set", "n=12", "--set", "angles=3")
    solved = run("solve", "rotated-digits", "latent-ssvm", *small, "--set", "starts=2", "--out", "a")
    assert solved.exit_code == 0, solved.output
    assert json.loads(run("verify", "a", "--json").stdout)["proven"]
    others = run("predict", "a", "rotated-digits", "--set", "split=test", "--set", "angles=3", "--json")
    told = json.loads(others.stdout)
    assert len(told["predictions"]) == 100
    assert told["loss"] < 0.35  # guessing errs in a half
    paced = run("crosscheck", "rotated-digits", "self-paced-latent", *small, "--set", "starts=1", "--passes", "60")
    assert paced.exit_code in (0, 3), paced.output
    assert "alternation" in paced.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (([[1.0]], ["a"], [0, 1]), "All labels are a; a learning problem needs at least two classes."),
        (([[1.0], [2.0]], [0, 1], [0, 2]), "The offsets do not say where the views of 2 samples start"),
        (([[1.0], [2.0]], [0, 1], [0, 2, 2]), "The offsets do not say where the views of 2 samples start"),
        (([[1.0], [2.0]], [0, 1], [0, 1, 2], [0, 1]), "The view of sample 1 is 1; it must be from -1 to 0."),
        (([[1.0], [2.0]], [0, 1], [0, 1, 2], [0.0, 0.0]), "There are 2 samples; give one whole number each"),
        (([[1.0], [2.0]], [0, 3], [0, 1, 2], None, None, [0, 1]), "Label 3 is not among the given classes"),
    ],
)
def test_bad_views_are_one_sentence(arguments, told):
    with pytest.raises(wb.BadInput, match=re.escape(told)):
        wb.Views(*arguments)


def test_hidden_views_are_refused_where_they_are_needed():
    problem = wb.load_problem("rotated-digits")(n=4, angles=2)
    with pytest.raises(wb.MissingCapability, match="The view of sample 0 is hidden; use latent-ssvm, or give states"):
        wb.solve(wb.SoftMargin(), problem)
    with pytest.raises(wb.BadInput, match="turn nothing"):
        wb.load_problem("rotated-digits")(digits="3,3")
    with pytest.raises(wb.BadInput, match="must be from 0 to 1"):
        problem.completed([0, 0, 2, 0])
