"""A regularisation path: its bounds hold at every λ, by full bounds and by solves that know nothing of the path."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.arithmetic.compiled import available
from workbench.arithmetic.intervals import Interval
from workbench.command.cli import cli
from workbench.contracts import Cuts
from workbench.errors import BackendFailed, BadInput, CutbenchError, MissingCapability
from workbench.proofs.bounds import Bounds
from workbench.proofs.stretches import Stretch, stop
from workbench.registries import registry
from workbench.solving.masters import choice
from workbench.solving.masters.passes import pass_method
from workbench.solving.path import COARSE, Walk, held_out, path, validated

CASES = [
    ("multiclass", wb.SoftMargin()),
    ("multiclass", wb.SoftMargin(rescaling="slack")),
    ("chain", wb.SoftMargin()),
    ("chain", wb.CRF()),
    ("matching", wb.SoftMargin()),
    ("linear", wb.WeightedRisk(loss="hinge")),
    ("linear", wb.WeightedRisk(loss="logistic")),
    ("tree", wb.CRF()),
]


def tiny(output):
    return registry("output").get(output).tiny(np.random.default_rng(5))


@pytest.mark.parametrize(("output", "form"), CASES, ids=lambda each: str(each)[:40])
def test_the_gap_holds_at_random_lambdas(output, form):
    """125 λ in each of eight cases: F(θ) by the full bounds, the lower end below it, and the promised gap."""
    problem, epsilon = tiny(output), 3e-3
    found = path(form, problem, greatest=30.0, least=1e-3, epsilon=epsilon)
    check_at_random(found, form, problem, epsilon, 125)


def check_at_random(found, form, problem, epsilon, tried):
    assert found.gap <= epsilon
    rng, least = np.random.default_rng(1), found.knots[0].lam
    for lam in np.exp(rng.uniform(np.log(least), np.log(30.0), tried)).tolist():
        point, bounds = found.at(lam), wb.Bounds(replace(form, lam=lam), problem)
        value = bounds.upper(point.theta)
        assert value <= point.upper + 1e-12 * abs(value)
        assert point.lower <= value
        assert bounds.relative(value, point.lower) <= epsilon * (1 + 1e-9)
        assert bounds.relative(value, point.lower) <= point.gap * (1 + 1e-9)


@pytest.mark.skipif(not available(), reason="passes need numba")
@pytest.mark.parametrize("output", ["multiclass", "chain"])
def test_passes_take_the_place_of_rounds_where_problems_are_long(output, monkeypatch):
    """The same, on the route of large problems: every knot by passes, none by rounds."""
    problem, form, epsilon = tiny(output), wb.SoftMargin(), 1e-2
    monkeypatch.setattr(choice, "TINY", 0)
    monkeypatch.setattr(choice, "LONG", 1)
    monkeypatch.setattr(Walk, "by_rounds", None)
    found = path(form, problem, greatest=30.0, least=0.1, epsilon=epsilon)
    check_at_random(found, form, problem, epsilon, 30)


@pytest.mark.skipif(not available(), reason="passes need numba")
def test_rounds_follow_passes_that_do_not_reach_the_gap(monkeypatch):
    problem = tiny("chain")
    monkeypatch.setattr(choice, "TINY", 0)
    monkeypatch.setattr(choice, "LONG", 1)
    monkeypatch.setattr("workbench.solving.path.standing", lambda estimates, passes, *_: passes > 0)
    found = path(wb.SoftMargin(), problem, greatest=1.0, least=1e-2, epsilon=1e-6)
    assert found.gap <= 1e-6


@pytest.mark.parametrize(("output", "form"), CASES, ids=lambda each: str(each)[:40])
def test_solves_that_know_nothing_of_the_path_lie_inside(output, form):
    problem = tiny(output)
    found = path(form, problem, greatest=10.0, least=1e-2, epsilon=1e-2)
    for lam in (0.01, 0.0123, 0.07, 0.3, 1.1, 7.7, 10.0):
        point, alone = found.at(lam), wb.solve(replace(form, lam=lam), problem, gap=1e-8)
        assert point.lower <= alone.upper + 1e-12
        assert alone.lower <= point.upper + 1e-12


def test_ends_of_a_knot_are_the_bounds_of_its_solve():
    problem = tiny("multiclass")
    for each in path(wb.SoftMargin(), problem, epsilon=1e-3).knots:
        alone = wb.solve(wb.SoftMargin(lam=each.lam), problem, gap=1e-9)
        lower, upper = each.ends
        assert lower <= alone.upper
        assert alone.lower <= upper
        assert (upper - lower) / upper <= 1e-3


def test_a_cell_is_as_wide_as_its_worst_lambda():
    """On a cell no λ has a larger gap than the cell claims: the difference of the ends is convex there."""
    found = path(wb.SoftMargin(), tiny("chain"), epsilon=2e-2)
    for stretch, cells in zip(found.stretches, found.cells, strict=True):
        for low, high, s, t, gap in zip(*vars(cells).values(), strict=True):
            lam = np.geomspace(low, high, 17)
            upper, lower = stretch.upper(lam, np.full(17, s)).hi, stretch.lower(lam, np.full(17, t)).lo
            assert ((upper - lower) / np.maximum(lower, stretch.floor) <= gap * (1 + 1e-9)).all()


def test_a_knot_that_lies_is_found_by_the_full_bounds():
    """A planted fault: half the risk at one knot. The claimed upper end then falls below F(θ)."""
    problem = tiny("multiclass")
    found = path(wb.SoftMargin(), problem, greatest=1.0, least=0.1, epsilon=1e-2)
    first = replace(found.knots[0], risk=found.knots[0].risk * Interval(0.5))
    lying = Stretch(first, found.knots[1], found.stretches[0].floor)
    point = lying.upper(np.array([first.lam]), np.array([0.0])).hi[0]
    assert point < wb.Bounds(wb.SoftMargin(lam=first.lam), problem).upper(first.theta) * (1 - 1e-3)


@pytest.mark.parametrize("output", ["multiclass", "chain"])
def test_stops_bound_the_optimum_and_lower_the_upper_end(output):
    """At every λ and s the end U lies above F(θ_s) by the full bounds; at the best s a stop makes it lower."""
    problem = tiny(output)
    found = path(wb.SoftMargin(), problem, greatest=10.0, least=1.0, epsilon=0.2)
    first, last, floor = found.knots[0], found.knots[-1], found.stretches[0].floor
    plain, bounds = Stretch(first, last, floor), wb.Bounds(wb.SoftMargin(), problem)
    assert isinstance(bounds, Bounds)
    halved = Stretch(first, last, floor, [stop(bounds, plain.best())])
    lams, places = np.geomspace(first.lam, last.lam, 9)[1:-1], np.linspace(0.0, 2.0, 9)
    for lam in lams:
        for s in places:
            own = wb.Bounds(wb.SoftMargin(lam=float(lam)), problem).upper(halved.theta(float(s)))
            assert halved.upper(np.array([lam]), np.array([s])).hi[0] >= own * (1 - 1e-14)
    uppers = [each.upper(lams, each.mixtures(lams)[0]).hi for each in (plain, halved)]
    assert (uppers[1] <= uppers[0] * (1 + 1e-12)).all()
    assert (uppers[1] < uppers[0] * (1 - 1e-4)).any()
    assert halved.middle() < plain.middle()


def test_a_stop_that_lies_is_found_by_the_full_bounds():
    """A planted fault: half the risk at a stop. The claimed upper end then falls below F there."""
    problem = tiny("multiclass")
    found = path(wb.SoftMargin(), problem, greatest=1.0, least=0.1, epsilon=0.2)
    first, last, bounds = found.knots[0], found.knots[-1], wb.Bounds(wb.SoftMargin(lam=0.3), problem)
    assert isinstance(bounds, Bounds)
    true = stop(bounds, Stretch(first, last, 0.0).best())
    for risk, lies in ((true.risk, False), (true.risk * Interval(0.5), True)):
        end = Stretch(first, last, 0.0, [replace(true, risk=risk)]).upper(np.array([0.3]), np.array([1.0])).hi[0]
        assert (end < bounds.upper(true.theta) * (1 - 1e-3)) == lies


def test_mixtures_are_best_where_the_vertex_is():
    found = path(wb.SoftMargin(), tiny("multiclass"), epsilon=5e-2)
    grid = np.linspace(0, 1, 201)
    assert max(len(stretch.points) for stretch in found.stretches) > 2
    for stretch in found.stretches:
        lam = np.sqrt(np.array([stretch.first.lam * stretch.last.lam]))
        s, t = stretch.mixtures(lam)
        uppers = [stretch.upper(lam, np.array([each])).hi[0] for each in grid * (len(stretch.points) - 1)]
        lowers = [stretch.lower(lam, np.array([each])).lo[0] for each in grid]
        assert stretch.upper(lam, s).hi[0] <= min(uppers) + 1e-9
        assert stretch.lower(lam, t).lo[0] >= max(lowers) - 1e-9


def test_a_fold_is_held_out_as_if_it_were_not_there():
    problem, lams = wb.load_problem("toy")(), [1.0, 0.1]
    fold = np.arange(0, 60, 5)
    losses = held_out(wb.SoftMargin(), problem, fold, lams, 1e-4)
    others = np.setdiff1d(np.arange(60), fold)
    alone = wb.Multiclass(problem.X[others], problem.classes[problem.labels[others]])
    for lam, loss in zip(lams, losses, strict=True):
        theta = wb.solve(wb.SoftMargin(lam=lam), alone, gap=1e-10).theta_flat
        outputs = problem.argmax(theta, fold, augment=False)
        assert loss == pytest.approx(problem.loss(fold, outputs).mean(), abs=1 / len(fold) + 1e-12)
    rows = validated(wb.SoftMargin(), problem, lams, folds=3, rng=1)
    assert [row["lam"] for row in rows] == lams
    assert all(row["low"] <= row["loss"] <= row["high"] for row in rows)
    assert rows == validated(wb.SoftMargin(), problem, lams, folds=3, rng=1)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda p: path(wb.HardMargin(), p), MissingCapability),
        (lambda p: path(wb.SelfPaced(), p), MissingCapability),
        (lambda p: path(wb.NormalizedCostLearning(), p), MissingCapability),
        (lambda p: path(wb.SoftMargin(), p, greatest=1.0, least=1.0), BadInput),
        (lambda p: path(wb.SoftMargin(), p, epsilon=0.0), BadInput),
        (lambda p: path(wb.SoftMargin(), p, epsilon=1e-17), BackendFailed),
        (lambda p: path(wb.SoftMargin(), p).at(11.0), BadInput),
        (lambda p: validated(wb.SoftMargin(), p, [1.0, 0.1], folds=1000), BadInput),
    ],
)
def test_what_has_no_path_is_refused_in_a_sentence(make, error):
    with pytest.raises(error) as raised:
        make(tiny("multiclass"))
    assert isinstance(raised.value, CutbenchError)
    assert str(raised.value).endswith(".")


def test_the_verb_prints_a_table_and_keeps_it(tmp_path):
    words = ["path", "toy", "soft-margin", "--points", "5", "--folds", "3", "--out", str(tmp_path)]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    assert "every λ from 0.001 to 10" in result.stdout
    assert "least held-out loss" in result.stdout
    record = json.loads((tmp_path / "path.json").read_text())
    assert record["gap"] <= record["epsilon"] == 0.01
    assert [row["lam"] for row in record["points"]] == pytest.approx(np.geomspace(10, 1e-3, 5))
    with np.load(tmp_path / "path.npz") as arrays:
        for row, theta in zip(record["points"], arrays["theta"], strict=True):
            bounds = wb.Bounds(wb.SoftMargin(lam=row["lam"]), wb.load_problem("toy")())
            assert row["lower"] <= bounds.upper(theta) <= row["upper"] * (1 + 1e-12)
    refused = CliRunner().invoke(cli, ["path", "toy", "soft-margin", "--set", "lam=1"])
    assert refused.exit_code == 2
    assert "--between" in refused.stderr


@pytest.mark.skipif(not available(), reason="passes need numba")
def test_one_ascent_serves_every_lambda_of_a_machine_of_single_labels(monkeypatch):
    """Of few samples, too, where a single solve takes rounds; fine gaps are left to rounds."""
    made, problem = [], wb.load_problem("digits")(n=60)
    monkeypatch.setattr("workbench.solving.path.pass_method", lambda bounds: made.append(bounds) or pass_method(bounds))
    found = path(wb.SoftMargin(), problem, greatest=30.0, least=1e-2, epsilon=1e-2)
    assert (len(made), len(found.knots) > 5) == (1, True)
    check_at_random(found, wb.SoftMargin(), problem, 1e-2, 30)
    assert path(wb.SoftMargin(), problem, greatest=1.0, least=0.5, epsilon=COARSE).gap <= COARSE
    assert len(made) == 1


@pytest.mark.skipif(not available(), reason="passes need numba")
def test_no_cut_of_single_labels_is_written_down(monkeypatch):
    """Tables hold what bounds and warm starts ask of the cuts."""
    monkeypatch.setattr(Cuts, "_write", None)
    assert path(wb.SoftMargin(), wb.load_problem("digits")(n=60), greatest=3.0, least=0.1).gap <= 1e-2
