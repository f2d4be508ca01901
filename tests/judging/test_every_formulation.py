"""Judges and races know every formulation: whoever lends every step and claims every number gets a verdict."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import workbench as wb
from workbench.contracts import Majorized
from workbench.judging.racing import one_pass
from workbench.judging.words import FAILED, VERDICTS
from workbench.registries import misfit, registry


class Text:
    """A program in CVXPY's words and nothing more: its regularizer has no formula of ours."""

    def program(self, problem, cuts):
        w, xi = cp.Variable(problem.n_features), cp.Variable(cuts.groups)
        return cp.Problem(cp.Minimize(0.05 * cp.sum_squares(w) + cuts.prices @ xi), [w <= 3, *cuts([w], xi)])


class HardText(Text):
    """The same with prices ∞."""

    def program(self, problem, cuts):
        w = cp.Variable(problem.n_features)
        return cp.Problem(cp.Minimize(cp.sum_squares(w)), [w <= 30, *cuts([w], None)])


class Outspoken:
    """Returns twice the optimal weights, claims every number of them, and lends every step."""

    def __init__(self, best):
        m = len(best.formulation.classes(best.problem).names) if isinstance(best.formulation, wb.KappaDifficulty) else 0
        self.theta = np.append(2 * best.theta_flat, np.full(m, 1 / max(m, 1)))  # costs are weights of their own there
        self.dual = best.certificate.samples, best.certificate.witnesses, best.certificate.weights

    def fit(self, problem, formulation, budget, rng):
        return self.theta, {"objective": 1.0, "lower": 0.5, "gap": 0.5, "dual": self.dual}

    def prox(self, problem, formulation, u, metric, step):
        return u

    def subgradient(self, problem, formulation, theta, i):
        return np.zeros(len(theta))

    def flow(self, problem, formulation, theta, i, importance):
        return theta


def problem_of(form):
    """The first structure that fits a registered formulation, tiny and separable where prices are ∞."""
    rng = np.random.default_rng(3)
    if isinstance(form, Text | wb.HardMargin | wb.Perceptron):
        return wb.Multiclass(np.vstack([np.eye(3)] * 2) + rng.normal(0, 0.01, (6, 3)), np.arange(6) % 3)
    return next(
        structure.tiny(rng) for _, structure in registry("output").items() if not misfit(form, structure.tiny(rng))
    )


FORMS = [*(pytest.param(kind, id=name) for name, kind in registry("formulation").items()), Text, HardText]


@pytest.mark.parametrize("kind", FORMS)
def test_whoever_claims_and_lends_everything_is_judged(kind):
    form = kind()
    best = wb.solve(form, problem_of(form), gap=1e-3, time_limit=20)
    told = wb.judge(Outspoken(best), best, passes=4, audit=True, patience=0.0)
    assert told.verdict in set(VERDICTS) - {FAILED}, told.reason


@pytest.mark.parametrize("kind", FORMS)
def test_a_race_knows_the_time_of_a_pass(kind):
    form = kind()
    problem = problem_of(form)
    if isinstance(form, Majorized):
        form = form.surrogate(problem, form.start(problem))
    bounds = wb.Bounds(form, problem)
    one_pass(bounds, np.zeros(bounds.oracle.dim))
