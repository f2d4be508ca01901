"""Sound learners whose excess jumps: one checkpoint, good or bad, is no rest."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_iris

import workbench as wb
from workbench.judging.reports import Report
from workbench.judging.settling import least, pauses, stands
from workbench.judging.verdicts import DISAGREES, NOT_CONVERGED, crosscheck
from workbench.solvers.dual_block import DualBlock
from workbench.solving.stochastic import run

FALL, LITTLE = 1.5, 1.15  # written out, not imported
T = np.array([2.0**k for k in range(9)])


@cache
def iris():
    X, y = load_iris(return_X_y=True)
    return wb.solve(wb.SoftMargin(0.01), wb.Multiclass(X, y), gap=1e-9)


@pytest.mark.parametrize(("passes", "seed"), [(10, 25), (55, 3)])
def test_a_sound_run_that_ends_on_a_jump_is_not_accused(passes, seed):
    """Their last excess is 270 and 14 times the least before it; runs like these were accused."""
    solution = iris()
    trace = run(DualBlock(), solution.formulation, solution.problem, passes, rng=seed)
    judged = crosscheck(trace, solution)
    assert judged.verdict == NOT_CONVERGED, judged
    excesses = trace.upper - solution.lower
    assert excesses[-1] > 3 * excesses[:-1].min()


@pytest.mark.parametrize(("times", "fall"), [(8, FALL), (4, LITTLE)])
@pytest.mark.parametrize("place", [-2, -1])
def test_one_better_checkpoint_on_the_way_is_no_rest(times, fall, place):
    """The other window is made to fall by much, so that the one in question decides."""
    for factor, expected in ((0.99 * fall, True), (1.01 * fall, False)):
        e = np.full(9, 100.0 * fall)
        e[-4 if times == 8 else -3] = fall
        e[-2:] = 5 * fall
        e[place] = fall / factor
        assert stands(T, e) == expected


def test_the_checkpoint_from_which_it_is_counted_is_not_its_own_improvement():
    e = np.ones(9)
    e[:5] = 0.01  # lucky earlier on
    assert stands(T, e)


@pytest.mark.parametrize(("at", "lowest"), [(63.9, 2.0), (64.0, 1.0)])
def test_the_limit_of_who_stands_is_the_least_since_a_quarter_of_the_passes(at, lowest):
    assert least(np.array([1.0, at, 128.0, 256.0]), np.array([0.1, 1.0, 2.0, 3.0])) == lowest


def test_who_stands_throughout_is_still_accused():
    """Weights that turn about a point far from the optimum, and never come nearer."""
    solution = iris()
    rng, far = np.random.default_rng(0), solution.theta_flat + 3.0
    answers = [Report(float(t), far + 0.01 * rng.normal(size=far.size)) for t in (1, 2, 4, 8, 16, 32, 64)]
    judged = crosscheck(answers, solution)
    assert judged.verdict == DISAGREES, judged
    assert judged.evidence["limit"] <= judged.absolute


@pytest.mark.parametrize("thrown", [1.5, 0.01])
def test_one_history_that_a_user_gives_accuses_nobody(thrown):
    """Weights that are thrown about a point far from the optimum; who can be asked for more is accused."""
    solution = iris()
    rng, far = np.random.default_rng(0), solution.theta_flat + 3.0
    answers = [(float(t), far + thrown * rng.choice([-1.0, 1.0], size=far.size)) for t in 2.0 ** np.arange(9)]
    judged = crosscheck(answers, solution)
    assert (judged.verdict, judged.rule) == (NOT_CONVERGED, "settled"), judged
    told = "one history does not tell whether it goes on; give four times the passes, or `judge` the learner."
    assert judged.reason.endswith(told)
    assert crosscheck([Report(*each) for each in answers], solution).verdict == DISAGREES


# ── learners that pause ───────────────────────────────────────────────────────────────────────────


def told(places, passes):
    return [Report(float(p), np.array([float(x), 1.0])) for p, x in zip(passes, places, strict=True)]


@pytest.mark.parametrize(("until", "paused"), [(3.9, False), (4.0, True)])
def test_a_pause_is_a_rest_while_the_passes_doubled_and_a_motion_after_it(until, paused):
    assert pauses(told([0, 1, 1, 2, 2], [1, 2, until, 5, 50])) == paused
    assert not pauses(told([0, 1, 1], [1, 2, until]))


@pytest.mark.parametrize(("change", "paused"), [(0.9e-10, False), (1.5e-10, True)])
def test_rounding_is_no_motion_after_a_pause(change, paused):
    assert pauses(told([1, 1, 1 + np.sqrt(2) * change], [1, 2, 4])) == paused


def holding(times):
    """Answers that hold their best place for so long; weights at a share of the way to the optimum, from far away."""
    best = iris().theta_flat
    return [Report(float(t), best * share) for t, share in times]


def test_who_holds_the_best_so_far_and_found_better_before_has_not_ended():
    """It was accused: the weights are the same from half of the passes on, as they were before, too."""
    judged = crosscheck(holding([(1, 0.0), (2, 0.2), (4, 0.2), (8, 0.2), (12, 0.5), (24, 0.5), (50, 0.5)]), iris())
    assert (judged.verdict, judged.rule) == (NOT_CONVERGED, "history"), judged
    assert "went on" in judged.reason
    judged = crosscheck(holding([(1, 0.0), (2, 0.2), (3, 0.2), (8, 0.3), (12, 0.5), (24, 0.5), (50, 0.5)]), iris())
    assert (judged.verdict, judged.rule) == (DISAGREES, "ended"), judged


def best_of(passes: int, seed: int, problem, lam: float):
    """Pegasos on a problem of labels, in float64, the best iterate after each pass returned."""
    X, y = problem.X.toarray(), np.asarray(problem.arrays()["labels"])
    n, W, t = len(y), np.zeros((len(problem.classes), X.shape[1])), 0
    rng, best = np.random.default_rng(seed), (np.inf, W)
    for _ in range(passes):
        for i in rng.choice(n, n, p=np.full(n, 1 / n)):
            t += 1
            scores = W @ X[i] + 1.0
            scores[y[i]] -= 1.0
            W *= 1 - 1 / t
            top = scores.argmax()
            W[top] -= X[i] / (lam * t)
            W[y[i]] += X[i] / (lam * t)
        scores = X @ W.T + 1.0
        scores[np.arange(n), y] -= 1.0
        value = lam / 2 * (W**2).sum() + (scores.max(1) - scores[np.arange(n), y]).mean()
        best = min(best, (value, W.copy()), key=lambda each: each[0])
    return best[1].ravel()


def test_the_best_iterate_of_pegasos_with_huge_first_steps_is_not_accused():
    """It was, on few samples with λ = 1e-3: 12.9, .85, .85, .016 above from 8 to 128 passes, and 0 after 256."""
    rng = np.random.default_rng(910010)
    n, p, _ = int(rng.integers(2, 6)), int(rng.integers(1, 5)), rng.choice(6)
    X, y = rng.normal(size=(n, p)), rng.integers(0, 2, n)
    y[:2] = [0, 1]
    solution = wb.solve(wb.SoftMargin(1e-3), wb.Multiclass(X, y), gap=1e-7)

    def fit(problem, formulation, budget, rng):
        return best_of(budget, rng, problem, formulation.lam)

    judged = wb.judge(fit, solution, passes=4, seeds=[910010], patience=60.0)
    assert judged.verdict == NOT_CONVERGED, judged.reason


@pytest.mark.parametrize(("change", "verdict"), [(0.9e-3, DISAGREES), (1.1e-3, NOT_CONVERGED)])
def test_few_answers_accuse_only_whose_weights_rest(change, verdict):
    """Adam with steps of 0.01 was accused after four passes: its first passes change the excess by less than 1 %."""
    far = iris().theta_flat + 100.0 * np.arange(iris().theta_flat.size)
    answers = [Report(1.0, far), Report(2.0, far * (1 + change)), Report(4.0, far)]
    judged = crosscheck(answers, iris())
    assert judged.verdict == verdict, judged
