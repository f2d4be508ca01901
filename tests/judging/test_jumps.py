"""Sound learners whose excess jumps: one checkpoint, good or bad, is no rest."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_iris

import workbench as wb
from workbench.judging.settling import least, stands
from workbench.judging.verdicts import DISAGREES, NOT_CONVERGED, crosscheck
from workbench.solvers.dual_block import DualBlock
from workbench.solving.stochastic import run

FALL, LITTLE = 1.5, 1.15  # written out, not imported
T = np.array([2.0**k for k in range(9)])


@cache
def iris():
    X, y = load_iris(return_X_y=True)
    return wb.solve(wb.SoftMargin(0.01), wb.Multiclass(X, y), gap=1e-9)


@pytest.mark.parametrize(("passes", "seed"), [(10, 13), (55, 23)])
def test_a_sound_run_that_ends_on_a_jump_is_not_accused(passes, seed):
    """Both were accused: their last excess is four and fifty times the least before it."""
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
    answers = [(float(t), far + 0.01 * rng.normal(size=far.size)) for t in (1, 2, 4, 8, 16, 32, 64)]
    judged = crosscheck(answers, solution)
    assert judged.verdict == DISAGREES, judged
    assert judged.evidence["limit"] <= judged.absolute
