"""Verdicts where no optimum is to be reached: mistakes, costs that follow difficulty, hidden states.

Each on both sides of its boundaries, with bounds, programs and formulations that are made up.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import workbench as wb
from workbench.judging import alternations, mistakes, stationary
from workbench.judging.reports import Report
from workbench.judging.words import AGREES, DISAGREES, FAILED, NOT_COMPARABLE, NOT_CONVERGED

DRIFT = 1e-6  # written out, not imported
FORM = wb.Separation()


# ── mistakes ──────────────────────────────────────────────────────────────────────────────────────


def counted(slopes, counts, theta=(1.0, 0.0), drift=(0.0,), ray=None):
    """The verdict on updates −ψ with these counts, compared with θ."""
    rows = sparse.csr_array(np.array(slopes, float))
    oracle = SimpleNamespace(rows=lambda samples, witnesses: (rows, None))
    form = SimpleNamespace(oracle=lambda problem: oracle)
    told = SimpleNamespace(samples=None, witnesses=None, counts=np.array(counts))
    trace = SimpleNamespace(
        formulation=form, mistakes=(told.samples, told.witnesses, told.counts), drift=np.array(drift)
    )
    reference = SimpleNamespace(formulation=form, problem=None, theta=np.array(theta), ray=ray)
    return mistakes.mistaken(trace, reference)


def test_the_bound_on_mistakes_is_its_formula():
    """Σ counts (1 − ⟨u, ψ⟩)₊ + ‖u‖ √(Σ ‖ψ‖²), with ψ = (3, 0) and (−1, 1), once and twice."""
    found = counted([[-3.0, 0.0], [1.0, -1.0]], [1, 2], theta=[0.5, 0.0])
    assert found.evidence["bound"] == pytest.approx(0.0 + 2 * 1.5 + 0.5 * np.sqrt(9 + 2 * 2))
    assert found.evidence["mistakes"] == 3
    assert found.evidence["growth"] == pytest.approx((1 + 4) / 13)
    assert (found.verdict, found.rule) == (AGREES, "mistakes")
    assert found.reason == "It made 3 mistakes; comparison with certified weights allows 4.8."


@pytest.mark.parametrize(("times", "verdict"), [(0.99, AGREES), (1.01, DISAGREES)])
def test_updates_that_were_mistakes_do_not_grow_together(times, verdict):
    """Two updates with ⟨ψ, ψ′⟩ = c/2 grow by 1 + c/Σ‖ψ‖²."""
    angle = times * DRIFT
    found = counted([[-1.0, 0.0], [-angle, -np.sqrt(1 - angle**2)]], [1, 1])
    assert found.evidence["growth"] == pytest.approx(1 + angle, abs=1e-12)
    assert found.verdict == verdict
    assert verdict == AGREES or found.reason.startswith("Its updates were no mistakes: the squared norm grew 1 times")


def test_growth_by_just_what_is_allowed(monkeypatch):
    """Two equal updates grow twice as much as their squares; with a drift of 1 that is allowed, and no more."""
    for drift, verdict in ((1.0, AGREES), (0.999, DISAGREES)):
        monkeypatch.setattr(mistakes, "DRIFT", drift)
        found = counted([[-1.0, 0.0]], [2])
        assert (found.evidence["growth"], found.verdict) == (2.0, verdict)


def test_no_mistakes_at_all():
    found = counted(np.zeros((0, 2)), [])
    assert (found.verdict, found.evidence["growth"], found.evidence["mistakes"]) == (AGREES, 0.0, 0)
    assert np.isnan(found.excess)


@pytest.mark.parametrize(("last", "verdict"), [(DRIFT, AGREES), (1.01 * DRIFT, DISAGREES)])
def test_the_last_weights_are_those_of_the_updates(last, verdict):
    for before in (0.0, 1.0):
        found = counted([[-1.0, 0.0]], [1], drift=(before, last))
        assert found.verdict == verdict
        assert found.evidence["drift"] == last
    assert verdict == AGREES or found.reason == "The weights it reports are 1.0e-06 away from its own updates'."


def test_without_separating_weights_the_least_of_three_soft_margins_bounds_the_mistakes(monkeypatch):
    asked = []

    def solved(form, problem, gap):
        asked.append((type(form), form.lam, gap))
        return SimpleNamespace(theta_flat=np.array([10 * form.lam, 0.0]))

    monkeypatch.setattr(mistakes, "solve", solved)
    found = counted([[-1.0, 0.0]], [4], ray="a ray")
    assert asked == [(wb.SoftMargin, lam, 1e-3) for lam in (1e-1, 1e-2, 1e-3)]
    assert found.evidence["bound"] == pytest.approx(min(4 * (1 - u) + 2 * u for u in (1.0, 0.1, 0.01)))


def test_mistakes_of_another_formulation_are_not_compared():
    trace = SimpleNamespace(formulation=wb.SoftMargin(), mistakes=None)
    found = mistakes.mistaken(trace, SimpleNamespace(formulation=FORM))
    assert (found.verdict, found.rule) == (NOT_COMPARABLE, "objective")
    assert str(FORM) in found.reason


def test_who_makes_no_false_update_keeps_the_bound():
    """So that the bound on the count need not be checked: it follows from the growth (module docstring)."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        slopes, counts = rng.normal(size=(4, 3)), rng.integers(1, 5, 4)
        found = counted(slopes, counts, theta=rng.normal(size=3) * 10.0 ** rng.integers(-3, 3))
        if found.evidence["growth"] <= 1 + DRIFT:
            assert found.evidence["mistakes"] <= found.evidence["bound"] * (1 + DRIFT)


# ── costs that follow difficulty ──────────────────────────────────────────────────────────────────


def followed(theta, monkeypatch, excess=0.0, moved=(0.0, 0.0), tolerance=1e-3):
    """The verdict on (w, b) of three numbers and two costs, whose next costs are `moved` away."""
    solves = []
    bounds = SimpleNamespace(
        oracle=SimpleNamespace(dim=3), upper=lambda weights: float(weights.sum()), relative=lambda upper, lower: excess
    )
    monkeypatch.setattr(alternations, "bounds_for", lambda inner, problem: bounds)

    def solved(inner, problem, gap):
        solves.append((inner, gap))
        return SimpleNamespace(lower=1.0, gap=1e-9)

    def step(problem, weights, v, solve):
        solve("the next program")
        return v + np.array(moved), {}

    monkeypatch.setattr(alternations, "solve", solved)
    form = SimpleNamespace(
        start=lambda problem: np.zeros(2),
        parted=lambda problem, theta: np.split(theta, [-2]),
        outside=wb.KappaDifficulty().outside,
        surrogate=lambda problem, v: v.tolist(),
        step=step,
    )
    return alternations.alternated(np.array(theta), form, None, tolerance), solves


def test_costs_that_stay_where_they_are(monkeypatch):
    found, solves = followed([1.0, 2.0, 3.0, 0.25, 0.75], monkeypatch, 4e-4, (3e-4, 4e-4))
    assert (found.verdict, found.rule, found.excess) == (AGREES, "residuals", 4e-4)
    assert found.evidence == {"excess": 4e-4, "moved": pytest.approx(5e-4), "reference_gap": 1e-9}
    assert solves == [([0.25, 0.75], 1e-3 / 3), ("the next program", 1e-3 / 3)]
    assert found.reason.endswith("4.0e-04 (relative) above the proven optimum; the next state is 5.0e-04 away.")


@pytest.mark.parametrize(
    ("excess", "moved", "agrees"),
    [(1.0, 0.0, True), (1.01, 0.0, False), (0.0, 1.0, True), (0.0, 1.01, False), (1.01, 1.01, False)],
)
def test_both_residuals_must_be_within_the_tolerance(excess, moved, agrees, monkeypatch):
    found, _ = followed([0.0, 0.0, 0.0, 0.0, 1.0], monkeypatch, excess * 0.5, (moved * 0.5, 0.0), tolerance=0.5)
    assert found.verdict == (AGREES if agrees else NOT_CONVERGED)


@pytest.mark.parametrize(
    ("costs", "verdict"),
    [
        ([-0.99e-6, 1.0], AGREES),
        ([-1e-6, 1.0 + 1e-6], AGREES),
        ([-1.01e-6, 1.0 + 1.01e-6], DISAGREES),
        ([0.5, 0.5 + 0.99e-6], AGREES),
        ([0.5, 0.5 + 1.01e-6], DISAGREES),
        ([0.5, 0.5 - 1.01e-6], DISAGREES),
    ],
)
def test_costs_on_the_simplex(costs, verdict, monkeypatch):
    found, solves = followed([1.0, 2.0, 3.0, *costs], monkeypatch)
    assert found.verdict == verdict
    if verdict == DISAGREES:
        assert (found.rule, found.excess, solves) == ("feasibility", np.inf, [])
        assert f"least {min(costs):.1e}, sum {sum(costs):.6g}" in found.reason
    else:
        assert solves[0][0] == [max(each, 0.0) for each in costs]


@pytest.mark.parametrize(
    "theta", [[1.0], [1.0, 2.0, 0.5, 0.5], [1.0, 2.0, np.nan, 0.5, 0.5], [1.0, 2.0, 3.0, np.nan, 1.0]]
)
def test_weights_and_costs_that_are_none(theta, monkeypatch):
    found, _ = followed(theta, monkeypatch)
    assert (found.verdict, found.rule, found.excess) == (FAILED, "weights", np.inf)
    assert found.reason == "The weights must be 5 finite numbers, the last 2 of them the state."


# ── hidden states ─────────────────────────────────────────────────────────────────────────────────


def hidden(monkeypatch, thetas, value=2.0, lower=2.0, gap=1e-9, tolerance=0.25, weights=(1.0, 1.0), counts=(2, 3)):
    """The verdict on weights after 1, 2, 4, … passes, where F(θ) = Σθ (or `value` at the end), sizes are 2.

    The optimum over all states is the least of the sums of (1, 2), and of (1, 2, 3).
    """
    solves = []

    def solved(form, problem, gap):
        solves.append((form.states, gap))
        return SimpleNamespace(lower=lower if form.states == (7, 7) else float(sum(form.states)), gap=gap_of(form))

    def gap_of(form):
        return gap

    bounds = SimpleNamespace(upper=lambda theta: value, relative=lambda upper, lower: (upper - lower) / 2)
    monkeypatch.setattr(stationary, "bounds_for", lambda form, problem: bounds)
    monkeypatch.setattr(stationary, "solve", solved)
    problem = SimpleNamespace(
        n_features=2,
        n_samples=2,
        n_hidden=np.array(counts),
        weights=np.array(weights),
        impute=lambda theta: np.array([7, 7]),
        hidden=lambda i: np.arange(1, 1 + counts[i]),
    )
    form = SimpleNamespace(
        completed=lambda states: SimpleNamespace(states=tuple(states.tolist())),
        value=lambda problem, theta: float(np.sum(theta)),
    )
    reference = SimpleNamespace(formulation=form, problem=problem, upper=1.0, known={})
    reports = [Report(2.0**k, np.array(theta, float)) for k, theta in enumerate(thetas)]
    return stationary.stationary(reports, form, reference, tolerance), solves, reference


AWAY = [[1.0, 1.0], [1.0, 0.9], [1.0, 0.8]]


@pytest.mark.parametrize(
    ("value", "tolerance", "gap", "verdict"),
    [(2.5, 0.25, 1e-9, AGREES), (2.51, 0.25, 1e-9, NOT_CONVERGED), (2.5, 0.1, 0.25 / 3, AGREES)],
)
def test_stationary_within_the_tolerance_or_three_gaps(value, tolerance, gap, verdict, monkeypatch):
    found, solves, _ = hidden(monkeypatch, AWAY, value, gap=gap, tolerance=tolerance)
    assert found.verdict == verdict
    assert found.excess == pytest.approx((value - 2) / 2)
    assert found.absolute == pytest.approx(value - 2)
    assert solves[0] == ((7, 7), tolerance / 3)
    assert found.evidence["threshold"] == pytest.approx(max(tolerance, 3 * gap))
    assert (found.evidence["passes"], found.evidence["upper"]) == (4.0, value)
    assert found.evidence["beyond_reference"] == pytest.approx((value - 1) / 2)
    assert found.evidence["beyond_optimum"] == pytest.approx((value - 2) / 2)
    start = "Stationary: at its own best states" if verdict == AGREES else "Not stationary yet: at its own"
    assert found.reason.startswith(start)


def test_who_stops_where_nothing_is_stationary(monkeypatch):
    found, _, _ = hidden(monkeypatch, [[9.0, 1.0], [1.0, 1.0], [1.0, 1.0]], 9.0)
    assert (found.verdict, found.rule) == (DISAGREES, "ended")
    found, _, _ = hidden(monkeypatch, [[9.0, 1.0], [1.0, 2.0], [1.0, 1.0]], 9.0)
    assert (found.verdict, found.rule) == (NOT_CONVERGED, "history")


@pytest.mark.parametrize(("rise", "told"), [(0.99, False), (1.0, False), (1.01, True), (-5.0, False)])
def test_an_objective_that_rose_by_more_than_the_tolerance(rise, told, monkeypatch):
    """From the first checkpoint to the last, relative to F at the end, which is 8 here."""
    first = [1.0, 1.0]
    last = [1.0, 1.0 + rise * 0.25 * 8]
    for value in (8.0, -8.0):
        lower = value - 5
        found, _, _ = hidden(monkeypatch, [first, [5.0, 5.0], last], value, lower)
        assert found.reason.startswith("Its objective rose by") == told
        assert found.verdict == NOT_CONVERGED
    alone, _, _ = hidden(monkeypatch, [last], 8.0, 3.0)
    assert alone.reason.startswith("Not stationary yet")


def test_weights_that_hide_nothing(monkeypatch):
    for theta in ([1.0], [1.0, np.nan], [1.0, 2.0, 3.0]):
        found, _, _ = hidden(monkeypatch, [[1.0, 1.0], theta])
        assert (found.verdict, found.rule, found.excess) == (FAILED, "weights", np.inf)
        assert found.reason == "The weights must be 2 finite numbers."


def test_the_optimum_over_all_states_is_found_once_and_for_samples_that_count(monkeypatch):
    found, solves, reference = hidden(monkeypatch, AWAY)
    every = [states for states, gap in solves[1:]]
    assert every == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert {gap for _, gap in solves} == {0.25 / 3}
    assert reference.known["over completions"] == 2.0
    reference.known["over completions"] = 1.0
    assert stationary.over_completions(reference.formulation, reference, 0.25) == 1.0
    found, solves, _ = hidden(monkeypatch, AWAY, weights=(0.0, 1.0))
    assert [states for states, gap in solves[1:]] == [(1, 1), (1, 2), (1, 3)]
    assert "above the optimum over all states" in found.reason


@pytest.mark.parametrize(("counts", "weights", "asked"), [((10, 10), (1, 1), True), ((101, 1), (1, 1), False)])
def test_a_hundred_completions_are_enumerated(counts, weights, asked, monkeypatch):
    found, solves, _ = hidden(monkeypatch, AWAY, counts=counts, weights=weights)
    assert len(solves) == (101 if asked else 1)
    assert ("beyond_optimum" in found.evidence) == asked
    found, solves, _ = hidden(monkeypatch, AWAY, counts=counts[::-1], weights=(1.0, 0.0))
    assert "beyond_optimum" in found.evidence  # the states of a sample that does not count do not
    for count in (100, 101):
        found, _, _ = hidden(monkeypatch, AWAY, counts=(count, 2), weights=(1.0, 0.0))
        assert ("beyond_optimum" in found.evidence) == (count == 100)


def test_above_and_below():
    assert stationary.apart(0.5) == "5.0e-01 above"
    assert stationary.apart(-0.5) == "5.0e-01 below"
    assert stationary.apart(0.0) == "0.0e+00 below"
