"""The exact path: dense re-solves at random λ, and a quadratic program on both sides of every break point."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.contracts import Cuts
from workbench.errors import BackendFailed, BadInput, MissingCapability
from workbench.proofs.stretches import Stretch
from workbench.registries import registry
from workbench.solving import active_set, break_points
from workbench.solving.active_set import ActiveSet
from workbench.solving.break_points import Follower

CASES = [("multiclass", wb.SoftMargin()), ("matching", wb.SoftMargin()), ("linear", wb.WeightedRisk(loss="hinge"))]
CASES += [("multiclass", wb.SoftMargin(rescaling="slack")), ("flow", wb.SoftMargin()), ("chain", wb.SoftMargin())]


def tiny(output):
    return registry("output").get(output).tiny(np.random.default_rng(5))


@pytest.fixture(scope="module")
def toy():
    return wb.break_points(wb.SoftMargin(), wb.load_problem("toy")(), 1.0, 0.05)


def dense(form, problem, lam):
    """Another route: θ and the prices of all cuts, by Clarabel on every cut at once."""
    import cvxpy as cp

    oracle = form.oracle(problem)
    listed = [(i, output) for i in range(problem.n_samples) for output in problem.outputs(i)]
    samples, outputs = np.array([i for i, _ in listed]), np.array([output for _, output in listed])
    slopes, offsets = oracle.rows(samples, outputs)
    w, xi = cp.Variable(slopes.shape[1]), cp.Variable(problem.n_samples)
    above = xi[samples] >= slopes @ w + offsets
    value = lam / 2 * cp.sum_squares(w) + form.prices(problem).floats() @ xi
    accuracy = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-13)
    cp.Problem(cp.Minimize(value), [above]).solve("CLARABEL", **accuracy)
    return w.value, {(i, tuple(output)): price for (i, output), price in zip(listed, above.dual_value, strict=True)}


@pytest.mark.parametrize(("output", "form"), CASES, ids=lambda each: str(each)[:40])
def test_every_segment_is_proven_and_solves_anew_lie_inside(output, form):
    """By the full bounds at the ends and in the middle of each segment, and by solves that know nothing of the path."""
    problem = tiny(output)
    found = wb.break_points(form, problem, 30.0, 1e-3)
    assert found.exact
    assert len(found.breaks) >= 3
    lams = [each.lam for each in found.knots]
    for lam in [*lams, *np.sqrt(np.array(lams[1:]) * lams[:-1]).tolist()]:
        point, bounds = found.at(lam), wb.Bounds(replace(form, lam=lam), problem)
        value = bounds.upper(point.theta)
        assert point.lower <= value <= point.upper * (1 + 1e-12)
        assert bounds.relative(value, point.lower) <= break_points.EXACT
    for lam in np.exp(np.random.default_rng(3).uniform(np.log(1e-3), np.log(30.0), 3)).tolist():
        point, alone = found.at(lam), wb.solve(replace(form, lam=lam), problem, gap=1e-9)
        assert max(point.lower, alone.lower) <= min(point.upper, alone.upper) + 1e-12


def test_active_sets_differ_on_both_sides_of_a_break_point_and_nowhere_else(toy):
    """Cuts with a price in the dense program: those of the path's segments, which change as the break points say."""
    problem = toy.problem
    named = [(int(i), tuple(z)) for i, z in zip(toy.cuts.samples, toy.cuts.witnesses, strict=True)]
    lams = [1.0, *(each.lam for each in toy.breaks), 0.05]
    inside = np.sqrt(np.array(lams[1:]) * lams[:-1])
    wide = np.flatnonzero(np.diff(np.log(lams)) < -0.03)
    wide = [k for k in wide if k + 1 in wide][:6]
    assert len(wide) >= 4
    for k in wide:
        above, below = (
            {cut for cut, price in dense(toy.formulation, problem, lam)[1].items() if price > 1e-7}
            for lam in inside[k : k + 2]
        )
        event = toy.breaks[k]
        assert above != below
        assert below - above == {named[cut] for cut in event.enters}
        assert above - below == {named[cut] for cut in event.leaves}
        assert len(below) == event.active


def test_the_optimum_bends_at_break_points_and_is_straight_between_them(toy):
    """λθ is affine in λ between break points: second differences of the dense optimum vanish there alone."""
    lams = np.array([1.0, *(each.lam for each in toy.breaks), 0.05])
    k = int(np.diff(np.log(lams)).argmin())
    low, high = lams[k + 1], lams[k]
    three = np.linspace(low, high, 3)
    first, middle, last = (lam * dense(toy.formulation, toy.problem, lam)[0] for lam in three)
    assert np.abs(first - 2 * middle + last).max() <= 1e-6
    around = [low - (high - low) / 2, low, low + (high - low) / 2]
    first, middle, last = (lam * toy.at(lam).theta for lam in around)
    assert np.abs(first - 2 * middle + last).max() >= 1e-4


def test_a_stretch_across_a_break_point_is_proven_no_more_than_it_is_true(toy):
    """The closed form is as wide as the largest gap of its mixtures, and the width of a bent stretch is not 0."""
    first, last = toy.knots[3], toy.knots[12]
    stretch = Stretch(first, last, toy.stretches[0].floor)
    lams = np.geomspace(first.lam, last.lam, 301)[1:-1]
    t = (lams - first.lam) / (last.lam - first.lam)
    widths, lower = stretch.widths(lams, t * last.lam / lams, t)
    assert stretch.straight > 1e-6
    assert (widths / lower).max() <= stretch.straight
    assert widths.max() >= 0.5 * stretch.straight * lower[0]


def test_dependent_cuts_are_exchanged_and_ties_are_settled():
    """Each sample thrice, so that events come in threes, and cuts of copies depend on one another."""
    toy = wb.load_problem("toy")()
    X, labels = toy.X.toarray()[:30:2], toy.labels[:30:2]
    once, found = (
        wb.break_points(wb.SoftMargin(), wb.Multiclass(np.repeat(X, k, axis=0), np.repeat(labels, k)), 10.0, 0.01)
        for k in (1, 3)
    )
    assert found.exact
    for lam in np.geomspace(0.011, 9.0, 9).tolist():
        assert found.at(lam).upper == pytest.approx(once.at(lam).upper, rel=1e-9)
    known = {round(each.lam, 9) for each in found.breaks}
    assert {round(each.lam, 9) for each in once.breaks} <= known


def test_a_line_followed_too_far_is_not_called_exact(monkeypatch, toy):
    """A planted fault: each line ends 3 % below the true break point. The segments' proof tells."""
    true = Follower.end

    def lying(self, line, lam, least):
        return max(0.97 * true(self, line, lam, least), least)

    monkeypatch.setattr(Follower, "end", lying)
    assert not wb.break_points(wb.SoftMargin(), toy.problem, 1.0, 0.7).exact


def test_an_active_set_that_does_not_settle_begins_anew(monkeypatch, toy):
    true, calls = ActiveSet.settled, []

    def unsettled(self, *given):
        calls.append(given)
        return None if len(calls) == 5 else true(self, *given)

    monkeypatch.setattr(ActiveSet, "settled", unsettled)
    found = wb.break_points(wb.SoftMargin(), toy.problem, 1.0, 0.5)
    assert found.exact
    known = [each.lam for each in toy.breaks if each.lam >= 0.5]
    assert [each.lam for each in found.breaks] == pytest.approx(known, rel=1e-9)
    monkeypatch.setattr(active_set, "STEPS", 0)
    with pytest.raises(BackendFailed, match="leave break points out"):
        wb.break_points(wb.SoftMargin(), toy.problem, 1.0, 0.5)


def test_a_settled_set_is_the_optimum_over_its_cuts():
    """min over θ of ½θ² + max(0, 1 − θ, 3 − 5θ) of one sample: θ = 3/5 by the last and the first cut."""
    cuts = Cuts(1, 1)
    from scipy import sparse

    slopes, offsets = sparse.csr_array(np.array([[0.0], [-1.0], [-5.0]])), np.array([0.0, 1.0, 3.0])
    cuts.add(np.zeros(3, int), np.arange(3)[:, None], lambda _, z: (slopes[z[:, 0]], offsets[z[:, 0]]))
    line = ActiveSet(cuts, np.ones(1)).settled(np.array([0]), np.ones(1), 1.0)
    assert line is not None
    theta = active_set.at(line.push, 1.0)[0]
    grid = np.linspace(0, 2, 200_001)
    values = grid**2 / 2 + np.maximum(0, np.maximum(1 - grid, 3 - 5 * grid))
    assert theta == pytest.approx(grid[values.argmin()], abs=1e-5)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: wb.break_points(wb.CRF(), tiny("chain")), MissingCapability),
        (lambda: wb.break_points(wb.HardMargin(), tiny("multiclass")), MissingCapability),
        (lambda: wb.break_points(wb.SoftMargin(), wb.load_problem("digits")(n=400)), MissingCapability),
        (lambda: wb.break_points(wb.SoftMargin(), tiny("multiclass"), 1.0, 2.0), BadInput),
        (lambda: wb.break_points(wb.SoftMargin(), tiny("multiclass"), 1.0, 0.5).at(3.0), BadInput),
    ],
)
def test_what_has_no_break_points_is_refused_in_a_sentence(make, error):
    with pytest.raises(error) as raised:
        make()
    assert str(raised.value).endswith(".")


def test_the_verb_lists_break_points_or_says_why_there_are_none():
    words = ["path", "toy", "soft-margin", "--break-points", "--points", "3", "--between", "1", "0.8"]
    text = CliRunner().invoke(cli, words)
    assert text.exit_code == 0, text.output
    record = json.loads(CliRunner().invoke(cli, [*words, "--json"]).stdout)
    assert record["exact"]
    assert record["gap"] <= break_points.EXACT
    assert f"{len(record['break_points'])} break points, exact between them" in text.stdout
    for row in record["break_points"]:
        assert f"{row['lam']:.10g}" in text.stdout
        assert row["enters"] or row["leaves"]
    refused = CliRunner().invoke(
        cli, ["path", "toy", "crf", "--break-points", "--points", "2", "--between", "1", "0.5"]
    )
    assert refused.exit_code == 0
    assert "No break points" in refused.stdout
