"""References: what they are made of, what an excess is relative to, and bounds that contradict each other."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench.errors import Contradiction
from workbench.judging.reference import CROSSED, reference_of


@cache
def solution():
    X = np.random.default_rng(5).normal(size=(20, 3))
    return wb.solve(wb.SoftMargin(0.1), wb.Multiclass(X, X.argmax(axis=1)), gap=1e-9)


def with_ends(upper, lower):
    found = solution()
    told = {"formulation": found.formulation, "problem": found.problem, "theta_flat": found.theta_flat}
    return SimpleNamespace(**told, upper=upper, lower=lower, gap=1e-9)


def test_an_excess_is_relative_to_the_optimum_and_knows_no_bound():
    reference = reference_of(solution())
    assert reference.excess(reference.lower + 20 * reference.upper) == pytest.approx(20)
    found = wb.crosscheck(100 * reference.theta, solution())
    assert found.excess > 100
    assert found.excess == pytest.approx(found.absolute / reference.upper, rel=1e-6)


def test_an_optimum_near_zero_is_measured_by_the_start():
    reference = reference_of(with_ends(1e-12, -1e-12))
    assert reference.size == 1e-6 * reference.bounds.scale
    larger = 1.01 * 1e-6 * reference.bounds.scale
    assert reference_of(with_ends(larger, 0.0)).size == larger


@pytest.mark.parametrize(("share", "raises"), [(0.9, False), (1.1, True)])
def test_bounds_that_cross_by_more_than_rounding_judge_nobody(share, raises):
    upper = solution().upper
    crossed = with_ends(upper, upper * (1 + share * CROSSED))
    if not raises:
        assert reference_of(crossed).upper == upper
        return
    for judged in (wb.crosscheck, lambda learned, reference: wb.judge("bcfw", reference)):
        with pytest.raises(Contradiction, match="argmax, loss and features of Multiclass contradict one another"):
            judged(solution().theta_flat, crossed)


def test_a_reference_is_made_once():
    reference = reference_of(solution())
    assert reference_of(reference) is reference
    assert reference.certified
    assert not reference_of(with_ends(solution().upper, solution().lower)).certified


def test_why_there_is_no_optimum():
    missing = reference_of(SimpleNamespace(**vars(with_ends(1.0, 0.0)) | {"gap": None})).missing
    assert "no proven gap" in missing
    unproven = SimpleNamespace(**vars(with_ends(1.0, 0.0)) | {"gap": None})
    assert wb.crosscheck(solution().theta_flat, unproven).reason == missing


def test_weights_that_cannot_be_judged_are_infinitely_far():
    reference = reference_of(solution())
    assert reference.value(np.zeros(2)) == np.inf
    assert reference.value(np.full(9, 1e300)) == np.inf
    assert reference.excess(np.inf) == np.inf
