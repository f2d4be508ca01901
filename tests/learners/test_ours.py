"""Learners of ours that are offered by default where no solver fits: hard margins, hidden states, selections."""

from __future__ import annotations

import itertools

import pytest

import workbench as wb
from workbench.formulations.hard_margin import HardMargin
from workbench.formulations.kappa_difficulty import KappaDifficulty
from workbench.formulations.latent_ssvm import CompletedSSVM, LatentSSVM
from workbench.formulations.self_paced import SelfPaced
from workbench.formulations.self_paced_latent import SelfPacedLatent
from workbench.formulations.soft_margin import SoftMargin
from workbench.judging.judge import judge
from workbench.judging.learners import fitting
from workbench.judging.words import AGREES, DISAGREES
from workbench.learners.alternation import Alternation
from workbench.learners.hildreth import Hildreth

TOY = wb.load_problem("toy")
MOTIF = wb.load_problem("motif")(n=4, length=3, span=6)


@pytest.mark.parametrize(
    ("formulation", "problem", "expected"),
    [
        (HardMargin(), TOY(n=9), "hildreth"),
        (SelfPaced(), TOY(n=9), "alternation"),
        (LatentSSVM(), MOTIF, "alternation"),
        (SelfPacedLatent(), MOTIF, "alternation"),
        (KappaDifficulty(), TOY(n=9), "adagrad-alternating"),
    ],
)
def test_who_is_offered_where_no_solver_fits(formulation, problem, expected):
    assert [each.name for each in fitting(formulation, problem)] == [expected]
    assert expected not in [each.name for each in fitting(SoftMargin(), TOY(n=9))]


def test_hildreth_reaches_the_hard_margin_optimum():
    reference = wb.solve(HardMargin(lam=2.0), TOY(n=12, separable=True))
    assert judge("hildreth", reference, tolerance=1e-6, audit=False).verdict == AGREES


def test_one_passive_aggressive_pass_is_feasible_at_best():
    """Without going back to older cuts the weights separate, and are longer than the shortest."""
    problem = TOY(n=12, separable=True)
    reference = wb.solve(HardMargin(), problem)
    reports = dict(Hildreth().fit(problem, HardMargin(), 64, 0))
    assert sorted(reports) == [1, 2, 4, 8, 16, 32, 64]
    excess = [wb.Bounds(HardMargin(), problem).upper(theta) - reference.lower for theta in reports.values()]
    assert min(excess) >= 0
    assert excess[-1] < 1e-6 < excess[0]


@pytest.mark.parametrize("seed", range(3))
def test_alternation_never_rises_and_never_passes_the_proven_bound(seed):
    problem, form = TOY(n=9, rng=seed), SelfPaced(C=5.0, K=2.0)
    reference, bounds = wb.solve(form, problem, gap=1e-3), wb.Bounds(form, problem)
    values = [bounds.upper(theta) for _, theta in Alternation().fit(problem, form, 60, 0)]
    assert all(now <= before * (1 + 1e-12) for before, now in itertools.pairwise(values))
    assert values[-1] >= reference.lower


@pytest.mark.parametrize("form", [LatentSSVM(starts=1), SelfPacedLatent(starts=1)])
def test_alternation_ends_at_a_stationary_point(form):
    found = judge("alternation", wb.solve(form, MOTIF, gap=1e-6), passes=200, tolerance=1e-3)
    assert found.verdict == AGREES, found.reason
    assert found.evidence["beyond_optimum"] >= -1e-9  # 16 completions were enumerated


def test_weights_of_other_states_are_no_stationary_point():
    """A learner that never looks for better states ends at the optimum of the wrong convex program."""
    form = LatentSSVM(C=100.0, starts=1)
    reference = wb.solve(form, MOTIF, gap=1e-6)
    everywhere = itertools.product(*(MOTIF.hidden(i).tolist() for i in range(4)))
    ends = [(states, wb.solve(CompletedSSVM(100.0, states), MOTIF, gap=1e-6)) for states in everywhere]
    states, solution = max(ends, key=lambda end: end[1].upper)
    wrong = solution.theta_flat
    assert (MOTIF.impute(wrong) != states).any()

    def stuck(problem, formulation, budget, rng):
        return [(budget // 4, wrong), (budget // 2, wrong), (budget, wrong)]

    found = judge(stuck, reference)
    assert found.verdict == DISAGREES, found.reason
    assert "nothing is stationary" in found.reason
