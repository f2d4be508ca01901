"""A recorder of training loops: any library's arrays, verdicts, and the PyTorch loops of the docs as they stand."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.judging.conventions import detective
from workbench.judging.judge import explained
from workbench.judging.reference import reference_of
from workbench.judging.reports import Report
from workbench.judging.watching import KEPT
from workbench.judging.words import Verdict
from workbench.registries import load_file

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pytorch.md"
FILES = dict(re.findall(r"^`(\w+\.py)`:\n\n```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S))


class Tensor:
    """What a tensor of another library looks like from here."""

    def __init__(self, values, dtype="float32"):
        self.values, self.dtype, self.attached = np.asarray(values), f"library.{dtype}", True

    def detach(self):
        other = Tensor(self.values)
        other.attached = False
        return other

    def cpu(self):
        return self

    def __array__(self, dtype=None, copy=None):
        assert not self.attached
        return self.values.astype(np.float32)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    return wb.Multiclass(rng.normal(size=(30, 3)), np.arange(30) % 3)


def descend(problem, watch, steps=200, lam=0.5, kind=np.array):
    """Steps 1/(λt) along subgradients, averaged."""
    w, mean, every = np.zeros(9), np.zeros(9), np.arange(30)
    for t in range(1, steps + 1):
        wrong = problem.features(every, problem.argmax(w, every)) - problem.features(every, problem.truth)
        w = w - (lam * w + wrong.mean(axis=0)) / (lam * (t + 1))
        mean += (w - mean) * 2 / (t + 1)
        watch.step(kind(mean))
    return watch


def test_classes_in_columns_are_refused():
    """As in X @ W, and in the kernels of JAX; the numbers would fit, and every verdict would be wrong."""
    rng = np.random.default_rng(0)
    problem = wb.Multiclass(rng.normal(size=(30, 4)), np.arange(30) % 3)
    watch = wb.watch(problem, wb.SoftMargin(lam=0.5))
    with pytest.raises(wb.BadInput, match=r"shape \(4, 3\), a class in each column; give a class in each row"):
        watch.step(np.zeros((4, 3)))
    watch.step(np.zeros((3, 4)))
    watch.step({"w": np.zeros(12)})


def test_a_loop_of_numpy_agrees_and_its_curve_falls(problem):
    watch = descend(problem, wb.watch(problem, wb.SoftMargin(lam=0.5)))
    verdict = watch.verdict(tolerance=1e-2)
    assert (verdict.name, verdict.verdict, verdict.passes) == ("watched", "agrees", 200)
    curve = watch.curve()
    assert [each for each, _ in verdict.history] == list(range(1, 201))
    upper, lower = watch.bounds.upper(watch.reports()[-1].theta), watch.reference.lower
    assert verdict.absolute == verdict.history[-1][1] == upper - lower
    assert curve["passes"].tolist() == list(range(1, 201))
    assert (curve["excess"] >= 0).all()
    assert curve["excess"][-1] == watch.verdict().excess
    assert curve["excess"][-1] < curve["excess"][0] / 10
    assert curve["upper"][-1] == pytest.approx(
        wb.Bounds(wb.SoftMargin(lam=0.5), problem).upper(watch.reports()[-1].theta)
    )


def test_tensors_blocks_and_dicts_are_the_same_weights(problem):
    form = wb.NormalizedCostLearning()
    blocks = form.blocks(problem)
    parts = {name: np.random.default_rng(1).normal(size=shape).astype(np.float32) for name, shape in blocks.items()}
    watch = wb.watch(problem, form)
    whole = np.concatenate([each.ravel() for each in parts.values()])
    for given in ([Tensor(whole)], list(map(Tensor, parts.values())), [parts]):
        watch.step(*given)
    first = watch.reports()[0].theta
    assert first.dtype == np.float64
    for each in watch.reports():
        np.testing.assert_array_equal(each.theta, whole.astype(float))
    assert watch.record[0][1].dtype == np.float32


def test_what_is_given_is_copied(problem):
    w, watch = np.zeros(9), wb.watch(problem, wb.SoftMargin(lam=0.5))
    watch.step(w)
    w += 1
    watch.step(w)
    assert [each.theta.tolist() for each in watch.reports()] == [[0.0] * 9, [1.0] * 9]


def test_long_records_are_thinned_and_keep_what_is_recent(problem):
    watch = wb.watch(problem, wb.SoftMargin(lam=0.5), per_pass=10)
    for k in range(3000):
        watch.step(np.full(9, k / 3000))
    passes = [each.passes for each in watch.reports()]
    assert len(passes) <= 2 * KEPT
    assert passes == sorted(set(passes))
    assert passes[0] == 0.1
    assert passes[-100:] == pytest.approx([k / 10 for k in range(2901, 3001)])
    assert np.diff(passes).max() < 300 / 80, "the whole way is there"


def test_live_records_are_graded_as_they_come(problem):
    rows = []
    reference = wb.solve(wb.SoftMargin(lam=0.5), problem)
    watch = wb.watch(problem, wb.SoftMargin(lam=0.5), reference=reference, live=rows.append)
    watch.step(np.ones(9))
    watch.step(reference.theta_flat)
    assert [row["passes"] for row in rows] == [1.0, 2.0]
    assert rows[0]["excess"] > 0.1 > 1e-8 > rows[1]["excess"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ((np.zeros(8),), r"Step 1 has 8 weights; give 9: w \(9,\)"),
        (({"v": np.zeros(9)},), "The weights lack w; give w"),
        ((["a"] * 9,), "The weights are no numbers"),
        ((), "has 0 weights"),
    ],
)
def test_other_weights_are_one_sentence(problem, given, sentence):
    with pytest.raises(wb.BadInput, match=sentence):
        wb.watch(problem, wb.SoftMargin(lam=0.5)).step(*given)


def test_passes_count_upwards_and_empty_records_say_so(problem):
    watch = wb.watch(problem, wb.SoftMargin(lam=0.5))
    with pytest.raises(wb.BadInput, match="Nothing was recorded"):
        watch.verdict()
    watch.step(np.zeros(9), passes=2)
    with pytest.raises(wb.BadInput, match="is at 2 passes after 2; count upwards"):
        watch.step(np.zeros(9), passes=2)


def test_the_recorder_imports_no_torch():
    source = Path(sys.modules["workbench.judging.watching"].__file__).read_text()
    assert "import torch" not in source


# ── PyTorch, where it is installed ────────────────────────────────────────────────────────────────


@pytest.fixture(params=FILES)
def loop(request, tmp_path):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    path = tmp_path / request.param
    path.write_text(FILES[request.param])
    return load_file(path, "page")


def test_the_loops_of_the_page_agree(loop):
    assert loop.trained().verdict().verdict == "agrees"


@pytest.mark.parametrize(("fault", "name"), [({"decay": 2}, "λ twice"), ({"margin": 0.0}, "no loss augmentation")])
def test_planted_faults_get_their_names(fault, name, tmp_path):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    path = tmp_path / "loop.py"
    path.write_text(FILES["hinge_loop.py"].replace("n=150", "n=40").replace("epochs=600", "epochs=400"))
    loop = load_file(path, "page")
    settings = {key: value * loop.lam if key == "decay" else value for key, value in fault.items()}
    found = loop.trained(**settings).verdict()
    assert found.verdict == "disagrees"
    assert found.causes[0].name == name


# ── schedules of learning rates ───────────────────────────────────────────────────────────────────


def scheduled(rate, epochs, lam=0.01, theirs=None, momentum=0.0, scales=1.0):
    """A watched loop on iris' likelihood: steps of 0.05 `rate`(share of the epochs) `scales`, of λ `theirs`."""
    problem = wb.load_problem("iris")()
    X, y, W, V = problem.X.toarray(), np.eye(3)[problem.labels], np.zeros((3, 4)), np.zeros((3, 4))
    watch = wb.watch(problem, wb.CRF(lam=lam))
    for epoch in range(epochs):
        scores = np.exp(X @ W.T - (X @ W.T).max(axis=1, keepdims=True))
        slope = (scores / scores.sum(axis=1, keepdims=True) - y).T @ X / len(y) + (theirs or lam) * W
        V = momentum * V + slope
        W = W - 0.05 * rate(epoch / epochs) * scales * V
        watch.step(W)
    return watch.verdict()


UNEVEN = np.array([1.0, 0.1, 0.2, 0.02])


@pytest.mark.parametrize(
    ("rate", "momentum", "scales"),
    [
        (lambda t: (1 + np.cos(np.pi * t)) / 2, 0.0, 1.0),
        (lambda t: 0.01**t, 0.0, 1.0),
        (lambda t: 0.1 * (1 + np.cos(np.pi * t)) / 2, 0.9, 1.0),
        (lambda t: (1 + np.cos(np.pi * t)) / 2, 0.0, UNEVEN),
        (lambda t: (1 - t) ** 2, 0.0, UNEVEN),
        (lambda t: 0.01**t, 0.0, UNEVEN),
        (lambda t: 1 - t, 0.0, UNEVEN),
        (lambda t: 1e-9**t, 0.0, 1.0),  # at rest from the first third on
        (lambda t: float(t < 0.25), 0.0, 1.0),
    ],
)
def test_a_sound_loop_whose_rates_fall_to_0_is_not_accused(rate, momentum, scales):
    found = scheduled(rate, 150, momentum=momentum, scales=scales)
    assert found.verdict == "not converged", found.reason
    assert not any(each.confident for each in found.causes)


@pytest.mark.parametrize(("epochs", "factor"), [(60, 0.858), (120, 0.926), (240, 0.962)])
def test_adam_whose_rate_falls_by_a_factor_is_not_accused(epochs, factor):
    """The recipe of docs/pytorch.md with fewer epochs: all steps shrink by the same factor."""
    problem, W, m, v = wb.load_problem("wine")(), *np.zeros((3, 3, 13))
    X, y, every, rate = problem.X.toarray(), problem.labels, np.arange(178), 0.1
    watch = wb.watch(problem, wb.SoftMargin(lam=0.01))
    for t in range(1, epochs + 1):
        scores, slope = X @ W.T + 1, 0.01 * W
        scores[every, y] -= 1
        np.add.at(slope, scores.argmax(axis=1), X / 178)
        np.add.at(slope, y, -X / 178)
        m, v, rate = 0.9 * m + 0.1 * slope, 0.999 * v + 0.001 * slope**2, rate * factor
        W = W - rate * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        watch.step(W)
    found = watch.verdict()
    assert found.verdict == "not converged", found.reason


@pytest.mark.parametrize("scales", [1.0, UNEVEN**0.2])
@pytest.mark.parametrize("rate", [lambda t: (1 + np.cos(np.pi * t)) / 2, lambda t: 0.1**t, lambda t: 1.0])
def test_a_loop_at_another_optimum_is_accused_whatever_its_rates(rate, scales):
    found = scheduled(rate, 600, lam=1.0, theirs=2.0, scales=scales)
    assert found.verdict == "disagrees", found.reason
    assert [(each.name, each.confident) for each in found.causes] == [("λ twice", True)]


@pytest.mark.parametrize(("power", "epochs"), [(1, 200), (2, 60)])
def test_a_sound_loop_on_a_hinge_whose_rates_fall_to_0_is_not_accused(power, epochs):
    problem, W = wb.load_problem("iris")(), np.zeros((3, 4))
    X, y, every = problem.X.toarray(), problem.labels, np.arange(150)
    watch = wb.watch(problem, wb.SoftMargin(lam=0.01))
    for epoch in range(epochs):
        scores, slope = X @ W.T + 1, np.zeros((3, 4))
        scores[every, y] -= 1
        np.add.at(slope, scores.argmax(axis=1), X)
        np.add.at(slope, y, -X)
        W = W - 0.01 * (1 - epoch / epochs) ** power * (slope / 150 + 0.01 * W)
        watch.step(W)
    found = watch.verdict()
    assert found.verdict == "not converged", found.reason


@pytest.mark.parametrize("still", [30, 300])
def test_a_watched_loop_at_rest_is_asked_for_a_longer_schedule(still):
    """Whether its weights are the same or come ever nearer to a point: nobody can ask the loop for more."""
    problem = wb.load_problem("iris")()
    for size in (0.0, 1e-6):
        watch = wb.watch(problem, wb.SoftMargin(lam=0.1))
        away = watch.reference.theta_flat + 0.2
        for k in range(still):
            watch.step(away + 0.1 * 0.3**k + size * np.random.default_rng(k).normal(size=away.size))
        found = watch.verdict()
        assert (found.verdict, found.rule) == ("not converged", "settled"), found.reason
        assert "run four times the steps, the schedule stretched as far." in found.reason


def test_a_guess_about_a_loop_at_rest_is_told_as_one(monkeypatch):
    """Where the certain identity is out of reach."""
    monkeypatch.setattr(detective.Detective, "identity", lambda self, history: None)
    problem = wb.load_problem("iris")()
    best = wb.solve(wb.SoftMargin(lam=0.2), problem).theta_flat
    watch = wb.watch(problem, wb.SoftMargin(lam=0.1))
    for _ in range(40):
        watch.step(best)
    found = watch.verdict()
    assert found.verdict == "not converged"
    assert [(each.name, each.confident) for each in found.causes] == [("λ twice", False)]
    assert found.causes[0].sentence.startswith("Perhaps the learner minimises")


def test_guesses_are_made_where_they_are_asked_for(problem, monkeypatch):
    """Of a learner that can be asked for more passes, none: the search takes longer than its fits."""
    asked = []
    monkeypatch.setattr(detective.Detective, "identity", lambda self, history: None)
    monkeypatch.setattr(detective.Detective, "explain", lambda self, *told, **how: asked.append(told))
    reference = reference_of(wb.solve(wb.SoftMargin(lam=0.5), problem))
    verdict = Verdict("not converged", 1.0, "It moves.", {}, "history", 1.0)
    for guesses in (False, True):
        assert explained(verdict, [Report(1.0, np.zeros(9))], reference, guesses=guesses) == (verdict, [])
        assert len(asked) == guesses
