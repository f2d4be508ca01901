"""What a learner claims of itself, at the boundaries, with bounds and references that are made up."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from workbench.judging import claims
from workbench.judging.claims import contradicted, dual_fault, false_claim
from workbench.judging.reports import Report

SIZE, CLAIM = 1e6, 1.0  # a millionth of the size, which is a whole number here


def made(hard=False, upper=1.0, lower=0.0, scale=1.0):
    """A reference whose weights must be positive, with r(θ) = ‖θ‖² and two constraints."""
    rows = np.eye(2), np.array([0.5, 0.25])
    oracle = SimpleNamespace(argmax=lambda theta, samples: samples, rows=lambda samples, witnesses: rows)
    regularizer = SimpleNamespace(feasible=lambda theta: np.maximum(theta, 0.0), value=lambda theta: theta @ theta)
    prices = SimpleNamespace(hard=hard)
    bounds = SimpleNamespace(regularizer=regularizer, prices=prices, oracle=oracle, samples=np.arange(2))
    bounds.size = lambda *values: max(1e-6 * scale, *map(abs, values))
    return SimpleNamespace(bounds=bounds, upper=upper, lower=lower)


def told(*thetas, **last):
    """A history, whose last report claims something."""
    reports = [Report(float(k), np.array(theta), {}) for k, theta in enumerate(thetas, 1)]
    return [*reports[:-1], reports[-1]._replace(claims=last)]


# ── weights outside of what is allowed ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("theta", "away"), [([3.0, -4.0], 0.8), ([0.3, -0.4], 0.4), ([0.0, -0.25], 0.25)])
def test_how_far_the_last_weights_are_outside(theta, away):
    """Relative to their length, or absolute where that is below 1."""
    _, found = contradicted(told([1.0, 1.0], theta), np.ones(2), made())
    assert found == {"outside": pytest.approx(away, rel=1e-12)}
    assert contradicted(told(theta, [1.0, 1.0]), np.ones(2), made()) == ("", {})


def test_the_violation_of_hard_constraints_is_that_of_the_last_weights():
    history = told([1.0, 1.0], [2.0, 2.0], [3.0, 1.0])
    for uppers in ([1.0, 1.0, np.inf], [np.inf] * 3):
        assert contradicted(history, np.array(uppers), made(hard=True))[1] == {"violation": 3.5}
        assert contradicted(history, np.array(uppers), made())[1] == {}
    assert contradicted(history, np.array([np.inf, np.inf, 1.0]), made(hard=True))[1] == {}


def test_the_objective_of_hard_constraints_is_the_regularizer():
    for objective, fault in ((10.0, False), (10.1, True)):
        said, _ = contradicted(told([3.0, 1.0], objective=objective), np.array([7.0]), made(hard=True, upper=9.0))
        assert bool(said) == fault


# ── by how much a claim must be false ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "ends", "size"),
    [
        (-3.0, {"upper": 1.0}, 3.0),
        (0.5, {"upper": -7.0, "lower": -9.0}, 7.0),
        (0.5, {"upper": 0.25, "lower": -9.0}, 0.5),
        (1e-9, {"upper": 0.0, "scale": 1e4}, 1e-2),
    ],
)
def test_what_a_claim_is_measured_by(value, ends, size):
    """F(θ), the optimum, or a millionth of F(0), whichever is the largest in absolute value."""
    for off, fault in ((0.9e-6, False), (1.1e-6, True)):
        for sign in (1, -1):
            report = told([1.0, 1.0], objective=value + sign * off * size)
            assert bool(contradicted(report, np.array([value]), made(**ends))[0]) == fault


def test_a_millionth_of_the_size_is_rounding():
    """At the boundary itself a claim is believed: rounding may bring as much."""
    at = SimpleNamespace(upper=8.0)
    for sign in (1, -1):
        assert false_claim({"objective": 64.0 + sign * CLAIM}, 64.0, at, SIZE) == ""
        assert "objective" in false_claim({"objective": 64.0 + sign * 1.001}, 64.0, at, SIZE)
    assert false_claim({"lower": 9.0}, 64.0, at, SIZE) == ""
    assert "lower" in false_claim({"lower": 9.001}, 64.0, at, SIZE)
    assert "missing" in false_claim({"gap": -CLAIM}, 64.0, at, SIZE)  # and is not called negative
    assert "negative" in false_claim({"gap": -1.001}, 64.0, at, SIZE)
    assert false_claim({"gap": 0.0}, 9.0, at, SIZE) == ""
    assert "missing" in false_claim({"gap": 0.0}, 9.001, at, SIZE)


def test_a_gap_is_true_if_it_is_so_absolutely_or_relatively():
    at = SimpleNamespace(upper=0.0)
    assert "missing" in false_claim({"gap": 0.5}, 0.75, at, 0.5)  # of a small size the absolute one counts
    assert false_claim({"gap": 0.5}, 0.5, at, 0.5) == ""
    assert false_claim({"gap": 0.5}, 0.75, at, 1.5) == ""
    assert "missing" in false_claim({"gap": 0.5}, 0.76, at, 1.5)


# ── dual weights ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("lower", "proven", "ends", "fault"),
    [
        (3.0, 2.0, {"upper": SIZE, "lower": -1.0}, False),
        (3.0, 1.99, {"upper": SIZE}, True),
        (-SIZE, -SIZE - 0.5, {}, False),
        (-SIZE, -SIZE - 1.5, {}, True),
        (1.0, 0.5, {"upper": -SIZE}, False),
        (None, -5.0, {}, False),
    ],
)
def test_a_lower_bound_beside_what_the_last_dual_weights_prove(lower, proven, ends, fault, monkeypatch):
    monkeypatch.setattr(claims, "dual_fault", lambda report, bounds: ("", {"dual": proven, "of": report.passes}))
    claimed = {} if lower is None else {"lower": lower}
    history = told([1.0, 1.0], [2.0, 2.0], dual=(), **claimed)
    size = made(**({"upper": 1e9} | ends)) if lower is None else made(**ends)
    said, found = contradicted(history, np.zeros(2), size)
    assert ("its dual weights prove" in said) == fault
    assert (found["dual"], found["of"]) == (proven, 2.0)
    assert contradicted([history[-1], history[0]], np.zeros(2), size)[1].keys() <= {"reported_lower"}


def test_a_large_optimum_below_0_counts_by_its_size(monkeypatch):
    """Of weights that are so far from it that the claim itself is no contradiction."""
    monkeypatch.setattr(claims, "dual_fault", lambda report, bounds: ("", {"dual": 0.5}))
    said, _ = contradicted(told([1.0, 1.0], dual=(), lower=1.0), np.array([1e13]), made(upper=-SIZE))
    assert said == ""


def priced(mu, prices, hard=False):
    """The fault of dual weights μ, one a sample, whose samples have such prices; what is sound has no rows here."""

    def rows(samples, outputs):
        raise ValueError("sound so far")

    problem = SimpleNamespace(n_samples=len(prices))
    floats = SimpleNamespace(floats=lambda: np.array(prices), hard=hard)
    oracle = SimpleNamespace(width=1, dim=2, rows=rows)
    count = np.arange(len(mu))
    report = Report(1.0, np.zeros(2), {"dual": (count, np.zeros((len(mu), 1)), np.array(mu))})
    return dual_fault(report, SimpleNamespace(problem=problem, prices=floats, oracle=oracle))[0]


def test_a_millionth_of_a_samples_price_is_rounding():
    assert "sound so far" in priced([1.0, SIZE + 1.0], [1.0, SIZE])
    assert "of sample 1 sum to" in priced([1.0, SIZE + 1.5], [1.0, SIZE])
    assert "of sample 1 sum to" in priced([1.0, SIZE - 1.5], [1.0, SIZE])
    assert "sound so far" in priced([1.0, SIZE + 1.5], [1.0, SIZE], hard=True)


def test_a_sample_without_a_price_has_no_dual_weight():
    assert "sound so far" in priced([0.9e-306, 1.0], [0.0, 1.0])
    assert "of sample 0 sum to" in priced([1.5e-306, 1.0], [0.0, 1.0])


def test_dual_weights_below_0_by_more_than_a_millionth_of_the_largest():
    assert "sound so far" in priced([0.0, 0.0], [0.0, 0.0])
    assert "sound so far" in priced([-1.0, SIZE], [0.0, SIZE], hard=True)
    assert "none may be negative" in priced([-1.001, SIZE], [0.0, SIZE], hard=True)
    assert "is -2, and none" in priced([-2.0, 1.0], [0.0, 1.0])
    assert "is -2, and none" in priced([-1.0, -2.0], [0.0, 1.0])


@pytest.mark.parametrize(
    ("dual", "said"),
    [
        (3.0, "not three arrays of numbers"),
        (([0], [[1]]), "not three arrays of numbers"),
        ((["a"], [[1]], [1.0]), "not three arrays of numbers"),
        (([2**70], [[1]], [1.0]), "not three arrays of numbers"),
        (([0, 1], [[1], [1, 2]], [1.0, 1.0]), "not three arrays of numbers"),
        (([0, 1], [[1]], [1.0, 1.0]), r"shape (2,), for samples (2,) and outputs (1, 1)"),
        (([0], [[1]], 1.0), r"shape (), for samples (1,) and outputs (1, 1)"),
        (([], [], []), "of sample 0 sum to 0"),
        ((np.empty(0), np.empty((0, 1)), np.empty(0)), "of sample 0 sum to 0"),
        ((np.array([np.nan]), [[1]], [1.0]), "and there are 2"),
        (([0, 1], [1, 1], [1.0, np.nan]), "1 of its dual weights are not finite"),
    ],
)
def test_dual_weights_of_any_form_are_told_of_in_words(dual, said):
    prices = SimpleNamespace(floats=lambda: np.ones(2), hard=False)
    bounds = SimpleNamespace(problem=SimpleNamespace(n_samples=2), prices=prices, oracle=SimpleNamespace(width=1))
    assert said in dual_fault(Report(1.0, np.zeros(2), {"dual": dual}), bounds)[0]
