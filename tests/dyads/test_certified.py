"""Dyads as a problem: the proven interval of `nuclear-dyadic`, its certificate, the learner, and files of pairs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

import workbench as wb
from workbench.command.cli import cli
from workbench.dyads.dual import lower_at, norm_of, parts_of, point, risen, schur
from workbench.dyads.dyadic import regularised_risk
from workbench.dyads.nuclear import nuclear_bound
from workbench.dyads.pairs import Factors, simulated

SMALL = {"tasks": 12, "per_task": 4, "raters": 6}


def problem(seed=0, classes=2, **more):
    return wb.DyadicPairs(simulated(**SMALL | more, classes=classes, seed=seed))


def run(*words):
    return CliRunner().invoke(cli, words)


@pytest.mark.parametrize("loss", ["hinge", "squared"])
@pytest.mark.parametrize(("lam", "k"), [(0.03, 2)])
def test_the_ascent_finds_the_bound_of_the_semidefinite_program(loss, lam, k):
    """Two ways to slopes: the dual ascent of ours, and a backend's multipliers of the primal program."""
    pairs = problem().dyads
    parts = parts_of(pairs)
    ours, theirs = lower_at(parts, lam, k, loss, risen(parts, lam, k, loss)), nuclear_bound(pairs, lam, k, loss)
    assert ours == pytest.approx(theirs.value, rel=5e-3)
    assert ours <= theirs.value + 1e-6


def test_the_gradient_of_the_ascent_is_one():
    pairs, rng = problem(1).dyads, np.random.default_rng(0)
    parts, lam, mu = parts_of(pairs), 0.3, 1e-3
    g, along = -0.3 * parts.y * rng.random(len(parts.y)), rng.normal(size=len(parts.y))
    for loss in ("hinge", "squared"):
        up, down = (point(parts, lam, 2, loss, mu, g + h * along).value for h in (1e-6, -1e-6))
        slope = float((parts.prices * point(parts, lam, 2, loss, mu, g).gradient) @ along)
        assert (up - down) / 2e-6 == pytest.approx(slope, rel=1e-5)


def test_schurs_test_bounds_the_norm_without_a_dense_matrix():
    rng = np.random.default_rng(2)
    for _ in range(20):
        S = sparse.random_array((30, 40), density=0.1, rng=rng, format="csr")
        true = np.linalg.norm(S.toarray(), 2)
        assert true <= norm_of(S) <= 1.001 * true
        assert true <= schur(S) <= (1 + 1e-3) * np.linalg.norm(abs(S).toarray(), 2)


@pytest.mark.parametrize(("classes", "loss"), [(2, "squared"), (3, "hinge")])
def test_the_interval_holds_every_model_and_the_checker_proves_it(classes, loss, tmp_path):
    data, rng = problem(3, classes), np.random.default_rng(3)
    form = wb.NuclearDyadic(lam=0.05, loss=loss)
    best, bounds = wb.solve(form, data, gap=1e-2), wb.Bounds(form, data)
    for size in (0.0, 0.05, 0.5):
        assert best.lower <= bounds.upper(best.theta_flat + size * rng.normal(size=len(best.theta_flat)))
    found = wb.verify(best.certificate.save(tmp_path / "c"), data=data)
    assert found["proven"], found["reason"]
    assert best.lower <= found["lower"] <= found["upper"] <= best.upper
    assert best.certificate.recheck() == (best.lower, best.upper)


def test_the_risk_is_that_of_the_learner_with_weights():
    pairs = simulated(**SMALL, classes=2, seed=5)
    pairs.importance = np.random.default_rng(0).uniform(0.5, 2, pairs.n_samples)
    pairs.importance *= pairs.n_samples / pairs.importance.sum()
    form, data = wb.NuclearDyadic(lam=0.1), wb.DyadicPairs(pairs)
    view = form.oracle(data)
    theta = np.random.default_rng(1).normal(size=view.dim)
    expected = regularised_risk(pairs, view.factors(theta), 0.1)
    assert wb.Bounds(form, data).upper(theta) == pytest.approx(expected, rel=1e-12)
    assert wb.Bounds(form, data).upper(theta) >= expected * (1 - 1e-15)


@pytest.mark.parametrize("fault", ["domain", "norm", "factors", "claim"])
def test_forged_slopes_prove_nothing(fault, tmp_path):
    best = wb.solve(wb.NuclearDyadic(lam=0.2), problem(4), gap=1e-2)
    certificate = best.certificate
    if fault == "domain":
        certificate.slopes = -1.5 * np.sign(certificate.slopes)
    elif fault == "norm":
        certificate.formulation = wb.NuclearDyadic(lam=1e-6)
    elif fault == "factors":
        certificate.theta = certificate.theta + 1.0
    else:
        certificate.lower = np.nextafter(best.upper, -1)
    assert not wb.verify(certificate.save(tmp_path / "c"))["proven"]


def test_a_closed_interval_is_a_global_optimum_in_one_dimension():
    """The learner reaches the proven optimum of a problem that is not convex, and never falls below it."""
    data, form = problem(6), wb.NuclearDyadic(lam=0.1)
    best = wb.solve(form, data, gap=1e-4)
    assert best.status == "optimal"
    judged = wb.judge("dyadic", best, passes=400, seeds=(0, 1), tolerance=1e-2)
    assert judged.verdict == "agrees", judged.reason
    assert judged.excess >= -1e-12
    half = wb.judge(lambda p, f, b, r: 0.5 * best.theta_flat, best, passes=8, tolerance=1e-3)
    assert half.verdict in ("disagrees", "not converged")


def test_names_carry_over_between_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{u},{t},{(i + j) % 2}" for i, u in enumerate(("ann", "bob", "cat")) for j, t in enumerate("xyz")]
    (tmp_path / "a.csv").write_text("\n".join(["left,right,label", *rows]))
    (tmp_path / "b.csv").write_text("left,right,label\ncat,y,1\nann,z,0\n")
    (tmp_path / "c.csv").write_text("left,right,label\ndan,y,1\nann,z,0\n")
    (tmp_path / "d.csv").write_text("left,right,mark\ncat,y,1\n")
    (tmp_path / "a.vw").write_text("\n".join(f"{y} |left {u} |right {t}" for u, t, y in (r.split(",") for r in rows)))
    assert run("solve", "pairs", "nuclear-dyadic", "--set", "path=a.csv", "--out", "r").exit_code in (0, 3)
    told = json.loads(run("predict", "r", "b.csv", "--json").stdout)
    assert told["n_samples"] == 2
    assert set(told["predictions"]) <= {"0", "1"}
    strange = run("predict", "r", "c.csv")
    assert strange.exit_code == 2
    assert "'dan' was not among those learned" in strange.stderr
    missing = run("solve", "pairs", "nuclear-dyadic", "--set", "path=d.csv")
    assert missing.exit_code == 2
    assert "has no column 'label'" in missing.stderr
    csv, text = wb.read_pairs("a.csv"), wb.read_pairs("a.vw")
    assert csv.n_samples == text.n_samples == 9
    assert (csv.left.sum(axis=0) == text.left.sum(axis=0)).all()


def test_predictions_do_not_depend_on_the_order_of_names(tmp_path):
    """The same pairs, numbered anew: identities are matched by name, so predictions stay."""
    first = wb.Dyads(["a", "b", "a", "b"], ["x", "x", "y", "y"], [0, 1, 1, 0])
    best = wb.solve(wb.NuclearDyadic(lam=0.05), wb.DyadicPairs(first), gap=1e-2)
    part = wb.DyadicPairs(wb.Dyads(["b", "b"], ["x", "y"], [1, 0])).like(best.problem)
    view = best.formulation.oracle(part)
    whole = best.formulation.oracle(best.problem).decode(best.theta_flat, np.arange(4))
    assert (view.decode(best.theta_flat, np.arange(2)) == whole[[1, 3]]).all()


def test_several_scores_are_one_problem_each():
    data = problem(7, 3)
    form = wb.NuclearDyadic(lam=0.1)
    parts = [wb.solve(form, wb.DyadicPairs(each), gap=1e-2) for each in form.binary(data)]
    whole = wb.solve(form, data, gap=1e-2)
    assert whole.lower == pytest.approx(sum(each.lower for each in parts), rel=1e-9)
    assert isinstance(form.oracle(data).factors(whole.theta_flat), Factors)
