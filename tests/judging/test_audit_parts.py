"""Audits against their formulas, with oracles, regularizers and solvers that are made up."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import workbench as wb
from workbench.judging import audits
from workbench.judging.audits import (
    Hooks,
    audit_fixed_point,
    audit_oracle,
    audit_prox,
    audit_reports,
    audit_stationarity,
    audit_subgradient,
    bilinear,
    chosen,
    points,
    relative,
    replayed,
)
from workbench.judging.reports import Report
from workbench.judging.share import Allowance
from workbench.system.processes import OutOfTime

SLACK, SAMPLES, VISITS, POINTS, SINGLE = 1e-6, 10, 60, 4, 2.0**29  # written out, not imported
THETA = np.array([3.0, -4.0])


def only(findings):
    (one,) = list(findings)
    return one


def test_the_numbers_of_points_samples_and_visits():
    assert (audits.SLACK, audits.SAMPLES, audits.VISITS, audits.POINTS) == (SLACK, SAMPLES, VISITS, POINTS)
    assert audits.SINGLE == SINGLE


def test_points_are_the_optimum_0_and_others_as_far():
    bounds = SimpleNamespace(regularizer=SimpleNamespace(feasible=lambda theta: theta + 1.0))
    found = np.array(points(SimpleNamespace(theta=np.full(400, 2.0)), bounds)) - 1.0
    assert found.shape == (5, 400)
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(found[2:], 2.0 + 2.0 * rng.normal(size=(3, 400)), rtol=1e-12)
    np.testing.assert_array_equal(found[:2], [np.full(400, 2.0), np.zeros(400)])
    assert np.linalg.norm(found[2:] - 2.0, axis=1) == pytest.approx([40.0] * 3, rel=0.15)
    near = np.array(points(SimpleNamespace(theta=np.zeros(400)), bounds)) - 1.0
    assert np.linalg.norm(near[2:], axis=1) == pytest.approx([1e-3] * 3, rel=0.15)


def test_ten_samples_are_the_same_ten_each_time():
    samples = np.arange(5, 40)
    assert chosen(samples) == np.random.default_rng(1).permutation(samples)[:SAMPLES].tolist()
    assert len(set(chosen(samples))) == SAMPLES
    assert set(chosen(samples)) <= set(samples.tolist())
    assert sorted(chosen(np.arange(3))) == [0, 1, 2]


def test_audits_without_time_are_named(monkeypatch):
    def spent(hooks, reference):
        raise OutOfTime

    found = audits.Finding("fine", 0.0, 1.0, "")
    monkeypatch.setattr(audits, "AUDITS", {"long": spent, "fine": lambda *those: [found], "longer": spent})
    hooks = Hooks()
    assert audits.audit(hooks, SimpleNamespace(formulation=None)) == [found]
    assert hooks.allowance.skipped == ["long", "longer"]


# ── argmax ────────────────────────────────────────────────────────────────────────────────────────


class Scores:
    """Cuts of two numbers: output z has the height z · `step` at every point, and the size 2."""

    width = 1

    def __init__(self, step, error=0.0, size=2.0):
        self.step, self.error, self.size = step, error, size

    def argmax(self, theta, samples):
        return np.array([[1]])

    def rounding(self, theta):
        return np.full(3, self.error)

    def slope_error(self, samples):
        return np.zeros(1)

    def offset_error(self, samples):
        return np.full(1, self.error)


def lent(oracle, answer, samples=(2,), seconds=None):
    """What is found about a learner's argmax that says `answer`."""
    bounds = SimpleNamespace(
        oracle=oracle, samples=np.array(samples), regularizer=SimpleNamespace(feasible=lambda theta: theta)
    )
    problem = SimpleNamespace(describe=lambda i, output: f"output {output.tolist()} of {i}")
    reference = SimpleNamespace(bounds=bounds, theta=THETA, problem=problem)
    hooks = Hooks(oracle=lambda theta, i: np.array(answer), allowance=seconds or Allowance())
    return audit_oracle(hooks, reference)


def test_the_height_of_a_cut_and_the_numbers_in_it():
    cuts = sparse.csr_array([[1.0, -2.0], [9.0, 9.0]]), np.array([-3.0, 9.0])
    oracle = SimpleNamespace(rows=lambda samples, witnesses: cuts)
    assert audits.score(oracle, np.array([-1.0, 2.0]), None, None) == (-8.0, 8.0)
    errors = SimpleNamespace(
        rounding=lambda theta: np.array([9.0, 0.5 / SINGLE]),
        offset_error=lambda samples: np.array([0.25, 9.0]),
        slope_error=lambda samples: np.array([0.125, 9.0]),
    )
    assert audits.rounding(errors, THETA, 1) == (0.75, 0.125)


@pytest.fixture
def heights(monkeypatch):
    def score(oracle, theta, sample, witness):
        return float(witness[0, 0]) * oracle.step, oracle.size

    monkeypatch.setattr(audits, "score", score)


@pytest.mark.parametrize(
    ("step", "error", "size", "worst"),
    [
        (1.0, 0.0, 2.0, 0.5),
        (1.0, 0.25 / SINGLE, 2.0, 0.375),  # of numbers in float32
        (2e-6, 0.0, 2.0, 1e-6),
        (2.2e-6, 0.0, 2.0, 1.1e-6),
        (0.0, 0.0, 2.0, 0.0),
        (1.5e-306, 0.0, 0.0, 1.5e-6),
    ],
)
def test_a_maximum_that_is_missed(step, error, size, worst, heights):
    found = only(lent(Scores(step, error, size), [0]))
    assert (found.name, found.worst, found.allowed) == ("oracle", pytest.approx(worst, rel=1e-9), SLACK)
    told = f"Its oracle misses the maximum of sample 2 by {step:.3g}, with output [0] of 2."
    assert found.sentence == (told if worst > SLACK else "")


def test_the_numbers_of_a_missed_maximum_are_those_of_either_cut(monkeypatch):
    """At a tie the maximum may be the truth, whose cut has no numbers."""
    monkeypatch.setattr(audits, "score", lambda *cut: (1e-8, 0.0) if cut[3][0, 0] == 1 else (0.0, 2.0))
    assert only(lent(Scores(1.0), [0])).worst == pytest.approx(5e-9)


def test_of_maxima_that_are_missed_by_as_much_the_first_is_told(heights):
    found = only(lent(Scores(1.0), [0], samples=(1, 2)))
    assert found.sentence.endswith(f"with output [0] of {chosen(np.array([1, 2]))[0]}.")


def test_an_answer_of_another_width_and_a_search_without_time(heights):
    found = only(lent(Scores(1.0), [0, 1]))
    assert (found.worst, found.sentence) == (
        np.inf,
        "Its oracle answers sample 2 with 2 numbers, an output has 1.",
    )
    with pytest.raises(OutOfTime):
        list(lent(Scores(1.0), [0], seconds=Allowance(0.0)))


# ── subgradients ──────────────────────────────────────────────────────────────────────────────────


def inequality(slope, here, there, errors=(0.0, 0.0), seconds=None, monkeypatch=None):
    """What is found about g = `slope` at two points of the line, 0 and 1, with heights `here` and `there`."""
    bounds = SimpleNamespace(oracle="oracle", samples=np.array([2]))
    monkeypatch.setattr(audits, "points", lambda reference, bounds: [np.zeros(1), np.ones(1)])
    monkeypatch.setattr(audits, "height", lambda oracle, theta, i: here if theta[0] == 0 else there)
    monkeypatch.setattr(audits, "rounding", lambda oracle, theta, i: errors)
    hooks = Hooks(subgradient=lambda theta, i: np.array(slope), allowance=seconds or Allowance())
    return audit_subgradient(hooks, SimpleNamespace(bounds=bounds, theta=np.zeros(1)))


@pytest.mark.parametrize(
    ("slope", "here", "there", "errors", "worst"),
    [
        (3.0, 1.0, 2.0, (0.0, 0.0), 2.0 / 6.0),  # 1 + 3 − 2 of 1 + 2 + 3
        (3.0, -1.0, 1.0, (0.0, 0.0), 1.0 / 5.0),
        (0.0, 1e-301, 0.0, (0.0, 0.0), 0.1),
        (3.0, 1.0, -1.0, (0.0, 0.0), 5.0 / 5.0),
        (-3.0, 1.0, -1.0, (0.0, 0.0), 1.0 / 5.0),  # from 1 to 0: −1 + 3 − 1
        (3.0, 1.0, 2.0, (0.5, 0.25), 0.75 / 6.0),  # both heights and the slope are unsure
        (1.0, 1.0, 2.0, (0.0, 0.0), 0.0),
        (2.0, 1.0, 2.0, (0.5, 0.0), 0.0),
        (np.nan, 1.0, 2.0, (0.0, 0.0), np.inf),
        (np.inf, 1.0, 2.0, (0.0, 0.0), np.inf),
    ],
)
def test_the_inequality_of_subgradients(slope, here, there, errors, worst, monkeypatch):
    with np.errstate(invalid="ignore"):
        found = only(inequality([slope], here, there, errors, monkeypatch=monkeypatch))
    assert (found.name, found.worst) == ("subgradient", pytest.approx(worst))
    assert bool(found.sentence) == (worst > 0)


def test_the_inequality_sums_sizes_over_all_weights(monkeypatch):
    """From (1, 2) to (2, 0) with g = (3, 1/2): 1 + 2 − 2, of 1 + 2 + 4, less 0.2 and 0.1 for each of three steps."""
    bounds = SimpleNamespace(oracle="oracle", samples=np.array([2, 3]))
    monkeypatch.setattr(audits, "points", lambda reference, bounds: [np.array([1.0, 2.0]), np.array([2.0, 0.0])])
    monkeypatch.setattr(audits, "height", lambda oracle, theta, i: float(theta[0]))
    monkeypatch.setattr(audits, "rounding", lambda oracle, theta, i: (0.1, 0.1))
    hooks = Hooks(subgradient=lambda theta, i: np.array([3.0, 0.5]))
    found = only(audit_subgradient(hooks, SimpleNamespace(bounds=bounds, theta=np.zeros(2))))
    assert found.worst == pytest.approx(0.5 / 7)
    assert f"at sample {chosen(bounds.samples)[0]} is" in found.sentence  # of those that are as bad, the first


def test_what_is_no_subgradient_in_words(monkeypatch):
    assert only(inequality([3.0], 1.0, 2.0, monkeypatch=monkeypatch)).sentence == (
        "What it follows at sample 2 is no subgradient: the inequality fails by 0.33."
    )
    found = only(inequality([1.0, 2.0], 1.0, 2.0, monkeypatch=monkeypatch))
    assert found.sentence == "Its subgradient of sample 2 has shape (2,), the weights have (1,)."
    assert found.worst == np.inf
    with pytest.raises(OutOfTime):
        list(inequality([3.0], 1.0, 2.0, seconds=Allowance(0.0), monkeypatch=monkeypatch))


# ── stationarity ──────────────────────────────────────────────────────────────────────────────────


def mean(directions, monkeypatch, mu=0.5, ends=(2.0, 2.0), hard=False, seconds=None, asked="oracle"):
    """What is found about directions at two cuts of weights 0.25 and 0.75, of samples 1 and 0."""
    monkeypatch.setattr(audits, "slope_norms", lambda bounds: np.array([8.0, 16.0]))
    certificate = SimpleNamespace(
        theta=THETA, samples=np.array([1, 0]), witnesses=np.array([[5], [6]]), weights=np.array([0.25, 0.75])
    )
    bounds = SimpleNamespace(
        regularizer=SimpleNamespace(curvature=mu), oracle="oracle", prices=SimpleNamespace(hard=hard)
    )
    reference = SimpleNamespace(bounds=bounds, certificate=certificate, upper=ends[0], lower=ends[1])

    def push(i, witness, weight, into):
        assert (i, witness.tolist()) in ((1, [5]), (0, [6]))
        into += weight * np.array(directions[i])

    hooks = Hooks(push=push, asked=asked, allowance=seconds or Allowance())
    return list(audit_stationarity(hooks, reference))


@pytest.mark.parametrize(("mu", "ends"), [(0.5, (2.0, 2.0)), (0.5, (2.25, 2.0)), (2.0, (2.0, 2.25))])
def test_the_mean_of_directions_at_the_optimum(mu, ends, monkeypatch):
    gap = max(ends[0] - ends[1], 0.0)
    allowed = 2 * np.sqrt(mu * gap) + SLACK * (0.25 * 16 + 0.75 * 8 + mu * 5)
    for away, fault in ((0.999 * allowed, False), (1.001 * allowed, True)):
        target = -mu * THETA + away * np.array([0.6, 0.8])
        (found,) = mean([target, target], monkeypatch, mu, ends)
        assert (found.worst, found.allowed) == (pytest.approx(away, rel=1e-6), pytest.approx(allowed, rel=1e-12))
        assert bool(found.sentence) == fault
    (found,) = mean([[4.0, 0.0], [0.0, 8.0]], monkeypatch, mu, ends)
    assert found.worst == pytest.approx(np.linalg.norm(mu * THETA + [3.0, 2.0]))


def test_where_no_stationarity_is_to_be_seen(monkeypatch):
    right = [-0.5 * THETA] * 2
    assert mean(right, monkeypatch)
    assert not mean(right, monkeypatch, hard=True)
    assert not mean(right, monkeypatch, mu=None)
    assert not mean(right, monkeypatch, asked=3)
    with pytest.raises(OutOfTime):
        mean(right, monkeypatch, seconds=Allowance(0.0))


# ── proximal steps ────────────────────────────────────────────────────────────────────────────────


class Cone:
    """r(θ) = offset + ‖θ‖² on θ₂ ≤ 0."""

    def __init__(self, offset=0.0):
        self.offset = offset

    def value(self, theta):
        return self.offset + float(theta @ theta)

    def prox(self, u, metric, step):
        return self.feasible(metric * u / (metric + 2 * step))

    def feasible(self, theta):
        return np.array([theta[0], min(theta[1], 0.0)])


def draws():
    """(u, H, η) at distances of a tenth, one and ten from the optimum."""
    rng = np.random.default_rng(0)
    for scale in (0.1, 1.0, 10.0):
        u, step = THETA + scale * rng.normal(size=2), float(rng.uniform(0.1, 2))
        yield u, rng.uniform(0.2, 5, 2), step


@pytest.mark.parametrize("offset", [0.0, -50.0, 2.0])
@pytest.mark.parametrize("change", [[0.5, -0.25], [1e-7, 0.0], [0.0, 9.0], [40.0, 40.0], [0.0, 0.0]])
def test_proximal_steps_by_their_definition(offset, change, monkeypatch):
    r, asked = Cone(offset), []

    def prox(u, metric, step):
        asked.append((u, metric, step))
        return r.prox(u, metric, step) + np.array(change)

    form = SimpleNamespace(regularizer=lambda problem: r)
    found = only(audit_prox(Hooks(prox=prox), SimpleNamespace(formulation=form, problem=None, theta=THETA)))
    worst, told = 0.0, ""
    for (u, metric, step), mine in zip(draws(), asked, strict=True):
        np.testing.assert_array_equal(np.concatenate([u, metric, [step]]), np.concatenate([*mine[:2], [mine[2]]]))
        best = r.prox(u, metric, step)
        x = best + np.array(change)
        value, least = (metric @ (each - u) ** 2 / 2 + step * r.value(each) for each in (x, best))
        outside = max(x[1], 0.0)
        over = max(outside / max(np.linalg.norm(x), 1.0), (value - least) / max(abs(least), abs(value)))
        if over > worst:
            worst, told = over, f"Its proximal step is {value - least:.2g} above the least value"
            told += f" and {outside:.2g} outside of the domain." if outside > SLACK else "."
    assert (found.name, found.worst, found.allowed) == ("prox", pytest.approx(worst, rel=1e-9), SLACK)
    assert found.sentence == (told if worst > SLACK else "")


@pytest.mark.parametrize(
    ("x", "words"), [([1.0], "returns shape (1,), the weights have (2,)"), ([np.nan] * 2, "step is")]
)
def test_proximal_steps_that_are_none(x, words):
    form = SimpleNamespace(regularizer=lambda problem: Cone())
    reference = SimpleNamespace(formulation=form, problem=None, theta=THETA)
    found = only(audit_prox(Hooks(prox=lambda *asked: np.array(x)), reference))
    assert found.worst == np.inf
    assert words in found.sentence


def test_a_step_outside_is_measured_by_its_length_or_by_1():
    """Of values so large that they hardly differ."""
    form = SimpleNamespace(regularizer=lambda problem: Cone(-1e12))
    for x, outside in (([0.0, 0.5], 0.5), ([0.0, 1.5], 1.0), ([3.0, 4.0], 0.8)):
        reference = SimpleNamespace(formulation=form, problem=None, theta=THETA)
        found = only(audit_prox(Hooks(prox=lambda *asked, x=x: np.array(x)), reference))
        assert found.worst == pytest.approx(outside, rel=1e-6)


# ── averages ──────────────────────────────────────────────────────────────────────────────────────


def test_averages_are_replayed():
    good = [(np.array([1.0]), [1.0], 2.0), (np.array([3.0]), [5.0], 2.0), (np.array([4.0]), [5.0], 4.0)]
    found = replayed(good)
    assert (found.name, found.worst, found.sentence) == ("averaging", 0.0, "")
    found = replayed([good[0], (np.array([4.0]), [5.0], 2.0), (np.array([4.5]), [5.0], 4.0)], "visits")
    assert found.worst == pytest.approx(relative(np.array([4.0]), np.array([3.0])))
    assert found.sentence.startswith("Its weights after 2 visits are ")
    found = replayed([good[0], (np.array([np.nan]), [5.0], 2.0)])
    assert np.isnan(found.worst)
    assert "after 2 checkpoints" in found.sentence


def test_an_average_at_the_boundary_and_the_first_of_those_as_far_off():
    assert replayed([(np.array([1e6 + 1.0]), [1e6], 1.0)]).sentence == ""
    assert replayed([(np.array([1e6 + 1.001]), [1e6], 1.0)]).sentence
    found = replayed([(np.array([2.0]), [1.0], 1.0), (np.array([2.0]), [1.0], 1.0)])
    assert (found.worst, "after 1 checkpoints" in found.sentence) == (1.0, True)


def test_reports_of_iterates_are_replayed():
    def told(claims):
        return Report(1.0, np.ones(1), claims)

    one = {"iterate": np.ones(1)}
    assert audit_reports([told(one)]) == audit_reports([told(one), told({})]) == []
    assert only(audit_reports([told(one), told(one)])).sentence == ""
    half = Report(1.0, np.ones(1), one | {"share": 0.5})
    whole = Report(2.0, np.full(1, 3.5 / 1.5), {"iterate": np.full(1, 3.0)})  # its share is 1
    assert only(audit_reports([half, whole])).sentence == ""
    far = {"iterate": np.full(1, 3.0), "share": 0.5}
    assert only(audit_reports([told(one), told(far)])).sentence


@dataclass(frozen=True)
class Averaging:
    average: str = "uniform"


@pytest.mark.parametrize(("n", "end", "within"), [(100, 59, True), (100, 58, False), (100, 0, False), (20, 59, False)])
def test_before_a_pass_is_over_the_last_iterate_is_an_average(n, end, within, monkeypatch):
    """Sixty visits of n samples; after full passes, the iterates at their ends are averaged."""
    twin = np.random.default_rng(1).normal(size=(VISITS, 3))
    told = {"last": twin, "uniform": np.array([twin[end]])}
    monkeypatch.setattr(audits, "iterates", lambda solver, *others: told[solver.average])
    monkeypatch.setattr(audits, "bounds_for", lambda form, problem: SimpleNamespace(samples=np.arange(n)))
    prices = SimpleNamespace(weights=np.append(np.ones(n), 0.0))
    reference = SimpleNamespace(formulation=SimpleNamespace(prices=lambda problem: prices), problem=None)
    found = only(audits.audit_average(Hooks(solver=Averaging()), reference))
    assert (found.sentence == "") == within
    assert not within or found.worst == 0.0
    assert not list(audits.audit_average(Hooks(solver=Averaging("last")), reference))
    for shares, rows in ((np.ones(60), twin), (np.arange(1.0, 61.0), twin), (np.arange(2.0, 62.0), twin)):
        told["uniform"] = np.array([shares @ rows / shares.sum()])
        assert only(audits.audit_average(Hooks(solver=Averaging()), reference)).sentence == ""
    if n == 20:
        told["uniform"] = np.array([np.array([1.0, 2.0, 3.0]) @ twin[[19, 39, 59]] / 6.0])
        assert only(audits.audit_average(Hooks(solver=Averaging()), reference)).sentence == ""


# ── fixed points ──────────────────────────────────────────────────────────────────────────────────


def started(monkeypatch, end, ends=(2.0, 2.0), mu=0.5, samples=70, seconds=None):
    """What is found about a solver that after a pass from the optimum is where F = `end`."""
    orders = []
    bounds = SimpleNamespace(
        oracle=SimpleNamespace(kernel=lambda: None, width=1),
        prices=SimpleNamespace(floats=lambda: np.array([0.25, 0.75])),
        samples=np.arange(samples),
        regularizer=SimpleNamespace(curvature=mu),
        upper=lambda theta: end,
    )
    monkeypatch.setattr(audits, "bounds_for", lambda form, problem: bounds)
    monkeypatch.setattr(audits, "slope_norms", lambda bounds: np.array([8.0, 16.0]))

    def visit(order, witnesses, steps):
        assert (witnesses.shape, steps.shape) == ((len(order), 1), (len(order), 2))
        orders.append(order)

    monkeypatch.setattr(audits, "visitor", lambda *asked: visit)
    certificate = SimpleNamespace(samples=None, witnesses=None, weights=None)
    reference = SimpleNamespace(formulation=None, problem=None, certificate=certificate, upper=ends[0], lower=ends[1])

    class Starting:
        def start(self, *asked):
            return "a state"

        def report(self, state):
            return state

    hooks = Hooks(solver=Starting(), allowance=seconds or Allowance())
    return only(audit_fixed_point(hooks, reference)), orders


@pytest.mark.parametrize(
    ("mu", "ends"), [(0.5, (2.0, 2.0)), (0.5, (2.25, 2.0)), (2.0, (-2.0, -2.25)), (2.0, (2.0, 2.25))]
)
def test_who_starts_at_the_optimum_stays_within_what_the_gap_explains(mu, ends, monkeypatch):
    gap = max(ends[0] - ends[1], 0.0)
    allowed = 2 * (0.25 * 8 + 0.75 * 16) * np.sqrt(2 * gap / mu) + gap + SLACK * abs(ends[0])
    for away, fault in ((0.999 * allowed, False), (1.001 * allowed, True)):
        found, _ = started(monkeypatch, ends[1] + away, ends, mu)
        assert (found.name, found.allowed) == ("fixed point", pytest.approx(allowed, rel=1e-12))
        assert found.worst == pytest.approx(away, rel=1e-6)
        assert bool(found.sentence) == fault


def test_what_the_gap_just_explains_is_no_move(monkeypatch):
    assert started(monkeypatch, 1e6 + 1.0, (1e6, 1e6))[0].sentence == ""
    assert started(monkeypatch, 1e6 + 1.001, (1e6, 1e6))[0].sentence


def test_a_pass_is_of_sixty_visits_in_one_order(monkeypatch):
    _, (order,) = started(monkeypatch, 2.0)
    np.testing.assert_array_equal(order, np.random.default_rng(0).permutation(70)[:VISITS])
    _, (order,) = started(monkeypatch, 2.0, samples=5)
    assert sorted(order) == [0, 1, 2, 3, 4]
    with pytest.raises(OutOfTime):
        started(monkeypatch, 2.0, seconds=Allowance(0.0))


# ── flows ─────────────────────────────────────────────────────────────────────────────────────────


def flowing(monkeypatch, off, seconds=None):
    """What is found about updates that are off by `off` of the way, and where they are asked for."""
    asked, reference = (
        [],
        SimpleNamespace(formulation=wb.NuclearDyadic(), problem=SimpleNamespace(n_samples=12), theta=np.arange(4.0)),
    )
    monkeypatch.setattr(audits, "integrated", lambda form, problem, theta, i, h: theta + h)
    hooks = Hooks(
        flow=lambda theta, i, h: asked.append((i, h, theta)) or theta + h * (1 + off), allowance=seconds or Allowance()
    )
    return only(audits.audit_flow(hooks, reference)), asked


def test_flows_of_ten_pairs_and_three_importances(monkeypatch):
    found, asked = flowing(monkeypatch, 0.0)
    assert (found.name, found.sentence) == ("flow", "")
    rng, wanted = np.random.default_rng(0), []
    for i in chosen(np.arange(12)):
        theta = np.arange(4.0) + 0.3 * rng.normal(size=4)
        wanted += [(i, h, theta) for h in (0.03, 0.3, 3.0)]
    assert [each[:2] for each in asked] == [each[:2] for each in wanted]
    np.testing.assert_array_equal([each[2] for each in asked], [each[2] for each in wanted])
    found, asked = flowing(monkeypatch, 0.5)
    assert found.worst == pytest.approx(0.5)
    assert found.sentence.endswith("5.0e-01 (relative) away from the flow.")
    assert flowing(monkeypatch, np.nan)[0].worst == np.inf
    with pytest.raises(OutOfTime):
        flowing(monkeypatch, 0.0, Allowance(0.0))


@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_bilinear_scores_move_along_their_slope(loss):
    rng = np.random.default_rng(2)
    left, right, linear = rng.normal(size=2), rng.normal(size=3), rng.normal(size=1)
    score, motion = bilinear(left, right, linear, -1.0, loss, (2, 2), (3, 2))
    theta = rng.normal(size=4 + 6 + 1)
    A, B, w = theta[:4].reshape(2, 2), theta[4:10].reshape(3, 2), theta[10:]
    p = float((A.T @ left + 1) @ (B.T @ right + 1) - 2 + w @ linear)
    assert score(theta) == pytest.approx(p)
    slope = 1.0 if loss == "hinge" else p + 1.0
    for k in range(11):
        step = 1e-6 * (np.arange(11) == k)
        change = (score(theta + step) - score(theta - step)) / 2e-6
        assert motion(0.0, theta)[k] == pytest.approx(-slope * change, rel=1e-5, abs=1e-8)
