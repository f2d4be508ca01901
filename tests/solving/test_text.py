"""Formulations that are their CVXPY text alone: solved, proven and judged, against independent optima."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.contracts import Rows, enumerated, text_alone
from workbench.errors import BadInput, CutbenchError, MissingCapability
from workbench.objectives.oracles import MarginRescaling, SlackRescaling
from workbench.registries import registry
from workbench.solving.masters.declared import WrittenCuts


class Plain:
    """λ/2 ‖w‖² + mean hinge, λ = 0.1."""

    def penalty(self, w):
        return 0.05 * cp.sum_squares(w)

    def program(self, problem, cuts):
        w, xi = cp.Variable(problem.n_features, name="w"), cp.Variable(cuts.groups)
        return cp.Problem(cp.Minimize(self.penalty(w) + cuts.prices @ xi), cuts([w], xi))


class Sparse(Plain):
    def penalty(self, w):
        return 0.05 * cp.norm1(w)


class Grouped(Plain):
    def penalty(self, w):
        return 0.05 * cp.sum(cp.norm(cp.reshape(w, (3, w.size // 3), order="C"), axis=0))


class Slack(Plain):
    def oracle(self, problem):
        return SlackRescaling(problem)


class Hard:
    def program(self, problem, cuts):
        w = cp.Variable(problem.n_features)
        return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w)), cuts([w]))


class Others:
    """A radius of its own, and w in two parts."""

    def program(self, problem, cuts):
        a, b, xi = cp.Variable(2), cp.Variable(problem.n_features - 2), cp.Variable(cuts.groups)
        t = cp.Variable()
        value = 0.05 * cp.square(t) + 0.01 * t + cp.max(xi) / 5 + cuts.prices @ xi
        return cp.Problem(cp.Minimize(value), [cp.norm(cp.hstack([a, b])) <= t, a >= -1, *cuts([a, b], xi)])


def table(n=12, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 2)
    return wb.Multiclass(X, (X @ rng.normal(size=(3, classes)) + 0.3 * rng.normal(size=(n, classes))).argmax(axis=1))


def chain():
    rng = np.random.default_rng(2)
    return wb.Chain([rng.normal(size=(t, 2)) for t in (1, 2, 3, 2)], [rng.integers(0, 2, t) for t in (1, 2, 3, 2)])


def whole(form, problem):
    """The text with every cut of every output written out."""
    samples, outputs = enumerated(problem, np.arange(problem.n_samples))
    oracle = form.oracle(problem) if hasattr(form, "oracle") else MarginRescaling(problem)
    slopes, offsets = oracle.rows(samples, outputs)
    hard = isinstance(form, Hard)
    prices = np.empty(0) if hard else np.full(problem.n_samples, 1 / problem.n_samples)
    groups = np.full(len(samples), -1) if hard else samples
    return form.program(problem, WrittenCuts(prices, Rows(slopes, offsets, groups)))


@pytest.mark.parametrize("kind", [Plain, Sparse, Grouped, Slack, Others, Hard])
@pytest.mark.parametrize("make", [table, chain])
def test_both_ends_enclose_the_optimum_of_the_program_with_all_cuts(kind, make, tmp_path):
    form, problem = kind(), make(n=6, seed=3) if make is table else make()
    if kind is Grouped and make is chain:
        problem = table(seed=5)
    if kind is Hard and make is chain:
        problem = wb.Chain([np.eye(4)[:2], np.eye(4)[2:]], [np.array([0, 1]), np.array([1, 1])])
    s, proof = wb.solve(form, problem), wb.prove(whole(form, problem))
    assert text_alone(form)
    assert (s.status, s.lower_kind) == ("optimal", "proven")
    size = max(abs(s.upper), 1.0)
    assert s.lower <= float(proof.upper) + 1e-15 * size  # prices of both are rounded
    assert s.upper >= float(proof.lower) - 1e-15 * size
    assert s.gap <= 1e-9
    said = wb.verify(s.certificate.save(tmp_path / "text"))
    assert said["proven"]
    assert (said["lower"], said["upper"]) == (s.lower, s.upper)
    assert sum("whole program" in sentence for sentence in said["not_proven"]) == 2
    assert s.theta_flat.shape == (problem.n_features,)
    assert sum(part.size for part in s.theta.values()) == problem.n_features


def test_a_plain_soft_margin_has_the_optimum_of_ours_to_1e_8():
    for seed in range(3):
        problem = table(n=30, seed=seed)
        mine, ours = wb.solve(Plain(), problem), wb.solve(wb.SoftMargin(lam=0.1), problem)
        assert mine.upper == pytest.approx(ours.upper, rel=1e-8)
        assert max(mine.lower, ours.lower) <= min(mine.upper, ours.upper)
        assert mine.train_error == ours.train_error


@pytest.mark.parametrize("output", ["flow", "linear", "matching", "structured", "tree"])
def test_features_that_are_rounded_leave_both_ends_where_ours_are(output):
    """Rows of rounded sums may lie above the maximum in fractions by a unit of the last digit."""
    problem = registry("output").get(output).tiny(np.random.default_rng(1))
    mine, ours = wb.solve(Plain(), problem), wb.solve(wb.SoftMargin(lam=0.1), problem)
    assert mine.status == "optimal"
    assert max(mine.lower, ours.lower) <= min(mine.upper, ours.upper)


def test_hard_margins_of_a_text_are_those_of_ours_and_contradictions_are_named():
    problem = table(n=6, seed=3)
    assert wb.solve(Hard(), problem).upper == pytest.approx(wb.solve(wb.HardMargin(lam=1.0), problem).upper, rel=1e-8)
    same = wb.Multiclass(np.ones((2, 2)), np.array([0, 1]))
    with pytest.raises(BadInput, match="no feasible point"):
        wb.solve(Hard(), same)


def test_an_argmax_that_misses_makes_the_gap_wide_or_is_named_as_a_condition(monkeypatch):
    problem = table(n=10, seed=1)
    right, truths = wb.solve(Plain(), problem), problem.truth
    problem.argmax = lambda w, samples, augment=True: truths[samples]
    wrong = wb.solve(Plain(), problem)  # the decoder in fractions is not fooled
    assert wrong.lower < right.lower <= right.upper < wrong.upper
    assert wrong.status == "stalled"
    assert "in fractions" in wrong.certificate.conditions[0]
    monkeypatch.setattr(MarginRescaling, "exact", lambda self: None)
    wrong = wb.solve(Plain(), problem)
    assert wrong.upper < right.lower  # nobody can know without an argmax that is right, and that is said
    assert "the argmax of Multiclass, whose values at θ count" in wrong.certificate.conditions[0]


def test_the_point_of_the_certificate_satisfies_every_cut(tmp_path):
    """As fractions, by enumeration: ξ_i ≥ ⟨a, θ⟩ + o for every output."""
    problem = table(n=8, seed=4)
    s = wb.solve(Sparse(), problem)
    claim, columns = s.certificate.proof.claim.x, problem.n_features
    samples, outputs = enumerated(problem, np.arange(8))
    slopes, offsets = MarginRescaling(problem).rows(samples, outputs)
    x = [Fraction(value, claim[1]) for value in claim[0]]
    theta = [Fraction(value) for value in s.theta_flat.tolist()]
    at = next(k for k in range(len(x)) if x[k : k + columns] == theta)
    rows = zip(samples, slopes.toarray().tolist(), offsets.tolist(), strict=True)
    highest = [Fraction(-10)] * 8
    for i, a, o in rows:
        value = sum((Fraction(c) * t for c, t in zip(a, theta, strict=True)), Fraction(o))
        highest[i] = max(highest[i], value)
    rest = [value for k, value in enumerate(x) if not at <= k < at + columns]
    assert all(any(0 <= value - top < Fraction(1, 10**12) for value in rest) for top in highest)


# ── judged ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_learner_of_a_text_is_judged_by_the_proven_optimum():
    problem = table(n=20, seed=2)
    s, d = wb.solve(Others(), problem), problem.n_features
    assert wb.crosscheck(s.theta_flat, s).verdict == "agrees"
    assert wb.crosscheck(np.zeros(d), s).verdict == "not converged"
    assert wb.crosscheck([(1, np.zeros(d)), (9, s.theta_flat)], s).verdict == "agrees"
    assert wb.crosscheck(np.zeros(d + 1), s).verdict == "failed"
    assert wb.crosscheck(np.full(d, np.nan), s).verdict == "failed"
    outside = wb.crosscheck(np.full(d, -2.0), s)
    assert (outside.verdict, outside.rule) == ("not converged", "feasibility")
    told = wb.judge(lambda problem, formulation, budget, rng: s.theta_flat, s, passes=2)
    assert told.verdict == "agrees"
    far = wb.judge(lambda problem, formulation, budget, rng: 0 * s.theta_flat, s, passes=4)
    assert far.verdict == "not converged"
    assert wb.Bounds(Others(), problem).upper(s.theta_flat) == pytest.approx(s.upper, rel=1e-8)


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────────


def text(change):
    """A plain text with one change."""

    class Odd:
        def program(self, problem, cuts):
            return change(problem, cuts, cp.Variable(problem.n_features), cp.Variable(cuts.groups))

    return Odd()


def least(w, xi, *constraints):
    return cp.Problem(cp.Minimize(cp.sum_squares(w) + cp.sum(xi)), [each for part in constraints for each in part])


ODD = {
    "calls cuts twice": lambda p, cuts, w, xi: least(w, xi, cuts([w], xi), cuts([w], xi)),
    "never calls cuts": lambda p, cuts, w, xi: least(w, xi),
    "list of cp.Variables of one dimension": lambda p, cuts, w, xi: least(w, xi, cuts([2 * w], xi)),
    "cp.Variable of 12 entries": lambda p, cuts, w, xi: least(w, xi, cuts([w], cp.Variable(3))),
    "cuts 4 weights, but a cut of Multiclass has 9": lambda p, cuts, w, xi: least(w, xi, cuts([cp.Variable(4)], xi)),
    "returns a int; return a cp.Problem": lambda p, cuts, w, xi: len(cuts([w], xi)),
    "maximises": lambda p, cuts, w, xi: cp.Problem(cp.Maximize(-cp.sum(xi)), cuts([w], xi)),
    "not convex by CVXPY's rules": lambda p, cuts, w, xi: cp.Problem(cp.Minimize(-cp.norm(w)), cuts([w], xi)),
    "attribute nonneg": lambda p, cuts, w, xi: least(w, x := cp.Variable(12, nonneg=True), cuts([w], x)),
}


@pytest.mark.parametrize(("words", "change"), ODD.items(), ids=list(ODD))
def test_a_text_that_is_none_is_refused_in_a_sentence(words, change):
    with pytest.raises(CutbenchError, match=re.escape(words)):
        wb.solve(text(change), table())


def test_options_without_use_are_refused():
    for options in ({"groups": "one"}, {"master": "gram"}, {"polish": True}, {"journal": "run"}):
        with pytest.raises(MissingCapability, match="leave it out"):
            wb.solve(Plain(), table(), **options)

    class Old:
        def program(self, problem):
            return None

    with pytest.raises(BadInput, match=r"write def program\(self, problem, cuts\)"):
        wb.solve(Old(), table())


def test_a_limit_leaves_what_is_proven():
    s = wb.solve(Plain(), table(n=30, seed=7), max_rounds=2)
    full = wb.solve(Plain(), table(n=30, seed=7))
    assert s.status == "limit"
    assert s.lower <= full.upper
    assert full.lower <= s.upper


# ── the recipe, from the command line ─────────────────────────────────────────────────────────────────


LEARNER = """
def fit(problem, formulation, budget, rng):
    import cvxpy as cp, numpy as np
    from workbench.contracts import Rows, enumerated
    from workbench.objectives.oracles import MarginRescaling
    from workbench.solving.masters.declared import WrittenCuts
    samples, outputs = enumerated(problem, np.arange(problem.n_samples))
    cuts = WrittenCuts(np.full(150, 1 / 150), Rows(*MarginRescaling(problem).rows(samples, outputs), samples))
    formulation.program(problem, cuts).solve(solver="CLARABEL")
    return cuts.theta[0].value
"""


def test_the_recipe_runs_from_its_file(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "recipes" / "text.md").read_text()
    (code,) = re.findall(r"^`group_margin.py`:\n\n```python\n(.*?)^```$", page, re.M | re.S)
    (tmp_path / "group_margin.py").write_text(code)
    (tmp_path / "whole.py").write_text(LEARNER)
    monkeypatch.chdir(tmp_path)

    def told(*words):
        found = CliRunner().invoke(cli, [*words, "--json"])
        assert found.exit_code == 0, found.output
        return json.loads(found.stdout)

    record = told("solve", "iris", "./group_margin.py", "--set", "lam=0.1", "--out", "one")
    assert record["status"] == "optimal"
    assert len(record["conditional_on"]) == 2
    assert told("verify", "one")["proven"]
    rows = told("crosscheck", "iris", "./group_margin.py", "--learners", "./whole.py")["learners"]
    assert [row["verdict"] for row in rows] == ["agrees"]
    shown = CliRunner().invoke(cli, ["solve", "iris", "./group_margin.py", "--out", "two"])
    assert "no closed forms" in shown.stdout
    backends = CliRunner().invoke(cli, ["solve", "iris", "./group_margin.py", "--backend", "all", "--out", "three"])
    assert backends.exit_code == 0
    assert "CLARABEL" in backends.stdout
    again = CliRunner().invoke(cli, ["predict", "one", "iris.csv"])
    assert again.exit_code == 2
    assert "holds no learning problem" in again.stderr
