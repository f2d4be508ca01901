"""Slack and uncertainty: against decimals, enumeration and closed forms."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.objectives.criteria import slack
from workbench.proofs.capped import CappedBounds
from workbench.registries import misfit, registry

scores = st.lists(st.floats(-600, 600), min_size=1, max_size=8)


def in_decimals(z, k):
    """−Σ p log p with p ∝ 1/(1 + e^(−kz)), in 700 digits, enough for sigmoids beside 1e-600."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 700, -(10**9), 10**9
        sigmoids = [1 / (1 + (-Decimal(k) * Decimal(each)).exp()) for each in z]
        total = sum(sigmoids)
        return float(-sum(each / total * (each / total).ln() for each in sigmoids))


@settings(max_examples=20)
@given(z=scores, k=st.sampled_from([0.1, 1.0, 2.0]))
def test_uncertainty_is_the_entropy(z, k):
    found = wb.uncertainty([z], k)[0]
    assert found == pytest.approx(in_decimals(z, k), rel=1e-10, abs=1e-14)
    assert 0 <= found <= np.log(len(z))


def test_uncertainty_at_its_ends():
    assert wb.uncertainty([[3.0]])[0] == 0
    np.testing.assert_allclose(
        wb.uncertainty([[2.0] * 5, [-1e308] * 3, [1e308, 1e307, 0.0]], k=1.0)[:2], np.log([5, 3])
    )
    assert wb.uncertainty([[0.0, -800.0]])[0] == pytest.approx(0, abs=1e-300)
    assert wb.uncertainty([[1e200, -1e200]], k=1e200)[0] == 0


def test_uncertainty_falls_as_one_state_stands_out():
    values = wb.uncertainty([[top, -1.0, -1.0] for top in (-1.0, 0.0, 1.0, 3.0)])
    assert (np.diff(values) < 0).all()


@pytest.mark.parametrize(("z", "k"), [([], 1.0), ([np.nan], 1.0), ([1.0], 0.0), ([1.0], -2.0), ([np.inf], 1.0)])
def test_faulty_scores(z, k):
    with pytest.raises(wb.BadInput):
        wb.uncertainty([z], k)


@pytest.mark.parametrize("output", dict(registry("output").items()))
def test_slack_is_what_the_objective_caps(output):
    rng = np.random.default_rng(0)
    problem = registry("output").get(output).tiny(rng)
    form, w = wb.SelfPaced(C=4.0, K=2.0), rng.normal(size=problem.n_features)
    if misfit(form, problem) is not None:
        with pytest.raises(wb.MissingCapability):
            slack(form, problem, w, np.arange(problem.n_samples))
        return
    bounds = CappedBounds(form, problem)
    f = slack(form, problem, w, bounds.samples)
    total = w @ w / 2 + np.minimum(f, bounds.caps.hi).sum()
    assert total == pytest.approx(bounds.upper(w), rel=1e-12)
