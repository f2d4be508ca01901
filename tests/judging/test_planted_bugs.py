"""Planted bugs: the plain learners read the data as the workbench does, and a subset of the bugs is found."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from workbench.command.cli import cli
from workbench.registries import registry

module = registry("benchmark").modules["planted-bugs"]
plain, FAULTS = module.plain, module.FAULTS
BUGS = {each.name: each for each in FAULTS}
EVERY = [(method, family) for family, methods in module.HOSTS.items() for method in methods]
benches: dict[str, object] = {}


def bench(family):
    """The first problem of a family, its references solved once."""
    return benches.setdefault(family, module.Bench(family, 0))


def read(method, family, bug=None):
    """A learner that has read the data and learned nothing yet, and what it is to minimise."""
    here = bench(family)
    form = module.formulated(method, family)
    learner = plain.learner(method, family, bug.methods if bug else None)
    list(learner.fit(here.problem, form, 0, 0))
    return learner, form, here.problem


@pytest.mark.parametrize("family", [name for name in module.HOSTS if name not in ("costs", "shares")])
def test_tables_hold_the_features_and_losses_of_the_problem(family):
    """Written anew by the plain views, with nothing from the workbench but the data."""
    learner, _, problem = read(module.HOSTS[family][0], family)
    for i in range(problem.n_samples):
        outputs = problem.outputs(i)
        samples = np.full(len(outputs), i)
        slopes = (problem.features(samples, outputs) - problem.features(samples, problem.truth[samples])).toarray()
        ours = np.column_stack([learner.slopes[i], learner.losses[i]])
        theirs = np.column_stack([slopes, problem.loss(samples, outputs)])
        np.testing.assert_allclose(ours[np.lexsort(ours.T.round(9))], theirs[np.lexsort(theirs.T.round(9))], atol=1e-12)


@pytest.mark.parametrize(("method", "family"), EVERY)
def test_the_objective_is_the_formulations(method, family):
    learner, form, problem = read(method, family)
    rng, every = np.random.default_rng(0), np.arange(problem.n_samples)
    for size in (0.1, 1.0, 10.0):
        theta = size * rng.normal(size=learner.d)
        if method == "adagrad":
            costs = np.abs(theta[learner.ends[1] :])
            theta[learner.ends[1] :] = costs / costs.sum()
        prices = form.prices(problem).floats()
        if method in module.LIKELIHOOD:
            risk = prices @ form.terms(problem).evaluate(theta, every, prices)[0]
        else:
            oracle = form.oracle(problem)
            slopes, offsets = oracle.rows(every, oracle.argmax(theta, every))
            risk = prices @ (slopes @ theta + offsets)
        assert learner.objective(theta) == pytest.approx(form.regularizer(problem).value(theta) + risk, rel=1e-9)


def test_viterbi_finds_what_the_table_holds():
    learner, _, problem = read("bcfw", "chain")
    rng = np.random.default_rng(1)
    for _ in range(20):
        w = rng.normal(size=learner.d)
        for i in range(problem.n_samples):
            assert learner.argmax(i, w) == learner.scores(i, w).argmax()


def test_the_projections_are_nearest_points():
    """No point of the set is nearer, and projecting twice changes nothing."""
    learner, _, _ = read("adagrad", "shares")
    rng = np.random.default_rng(2)
    for _ in range(50):
        u, H = rng.normal(size=3), rng.uniform(0.1, 10, 3)
        v, others = learner.onto_simplex(u, H), rng.dirichlet(np.ones(3), 100)
        assert v.min() >= 0
        assert v.sum() == pytest.approx(1)
        assert H @ (v - u) ** 2 <= ((others - u) ** 2 @ H).min() + 1e-12
        np.testing.assert_allclose(learner.onto_simplex(v, H), v, atol=1e-12)


def test_faults_replace_methods_that_there_are():
    """One name a fault, no fault on a method its learner has not, no host that is none."""
    assert len(BUGS) == len(FAULTS) >= 50
    assert len({family for each in FAULTS for _, family in each.pairs()}) >= 3
    for each in FAULTS:
        for method, family in each.pairs():
            assert method in module.HOSTS[family], each.name
            whole = plain.learner(method, family)
            assert all(hasattr(type(whole), name) for name in each.methods), (each.name, method, family)


SOUND = [("subgradient", "multiclass"), ("bcfw", "matching"), ("dual-ascent", "chain"), ("lbfgs", "linear")]


@pytest.mark.parametrize(("method", "family"), SOUND)
def test_sound_learners_agree(method, family):
    run = bench(family).run(method)
    assert run.verdict == "agrees", run.reason
    assert run.excess == pytest.approx(run.accused, abs=1e-8)


FOUND = [
    ("loss halved", "dual-ascent", "matching"),
    ("transitions transposed", "dual-ascent", "chain"),
    ("temperature 2", "lbfgs", "multiclass"),
    ("half of λ", "gradient", "linear"),
    ("last block left out", "bcfw", "multiclass"),
]


@pytest.mark.parametrize(("name", "method", "family"), FOUND)
def test_bugs_are_found(name, method, family):
    run = bench(family).run(method, BUGS[name])
    assert run.excess > 10 * run.gap
    assert run.found, (run.verdict, run.excess, run.accused, run.reason)


def test_evidence_has_names_that_a_judge_knows():
    conventions = {name for _, name, _ in registry("benchmark").modules["detective"].plans()} | {"mean for sum"}
    for each in FAULTS:
        assert {*each.right} <= conventions | {*module.AUDITED}, each.name
    assert sum(bool(each.right) for each in FAULTS) >= len(FAULTS) / 2


NAMED = [
    ("loss halved", "dual-ascent", "matching", "loss half"),
    ("rows of W in reverse", "lbfgs", "multiclass", "labels permuted"),
    ("Gram matrix without λ", "dual-ascent", "linear", "Gram matrix without λ"),
]


@pytest.mark.parametrize(("name", "method", "family", "convention"), NAMED)
def test_conventions_are_named(name, method, family, convention):
    run = bench(family).run(method, BUGS[name])
    assert run.found
    assert run.told, (run.convention, run.against)
    assert run.convention == convention


LENT = [
    ("own output excluded", "subgradient", "linear", {"oracle", "subgradient"}),
    ("last block left out", "bcfw", "multiclass", {"averaging"}),
    ("first transition skipped", "lbfgs", "chain", {"subgradient"}),
    ("weights without 1/λ", "dual-ascent", "matching", {"dual"}),
    ("Euclidean, not in the metric", "adagrad", "shares", {"prox"}),
]


@pytest.mark.parametrize(("name", "method", "family", "audits"), LENT)
def test_steps_that_are_lent_are_contradicted(name, method, family, audits):
    here, bug = bench(family), BUGS[name]
    best = here.detective(method).reference
    for fault, expected in ((bug, audits), (None, set())):
        host = plain.learner(method, family, fault.methods if fault else None)
        theta = module.walked(host, here.problem, best.formulation, 4, 0)[-1][1]
        against, lent = here.contradicted(method, fault, host, theta, best)
        assert {*against} == expected
        assert audits <= lent


def test_a_confident_claim_that_is_wrong_is_no_detection():
    """The same accusation, with what is said of it."""
    run = bench("multiclass").run("lbfgs", BUGS["weights of samples ignored"])
    assert run.found
    assert (run.named, run.wrong, run.right) == (True, False, ("no sample weights",))
    other = replace(run, convention="squared hinge", confident=True)
    assert (other.found, other.wrong, other.named) == (False, True, False)
    unsure = replace(other, confident=False)
    assert (unsure.found, unsure.wrong, unsure.guessed) == (True, False, True)
    contradicted = replace(unsure, against=("oracle",))
    assert (contradicted.found, contradicted.wrong) == (False, True)
    told = module.summary([replace(run, fault=""), other, run])
    assert (told["detection"], told["wrong"], told["with_cause"], told["named"]) == (0.5, 1, 2, 0.5)


HARD = [
    ("multiclass", "bcfw", "scaled"),
    ("multiclass", "bcfw", "passes 8"),
    ("linear", "gradient", "λ 1e-4"),
    ("chain", "lbfgs", "scaled"),
    ("matching", "dual-ascent", "λ 1e2"),
]


@pytest.mark.parametrize(("family", "method", "case"), HARD)
def test_hard_problems_raise_no_alarm(family, method, case):
    run = module.Bench(family, 1, case).run(method)
    assert run.verdict not in ("disagrees", "failed"), (run.excess, run.reason)


def test_the_command_counts():
    """All of one small family, one bug: what is printed is what the runs say."""
    options = ["seeds=1", "hard=0", "only=matching", "bugs=loss halved", "processes=1"]
    words = [word for option in options for word in ("--set", option)]
    done = CliRunner().invoke(cli, ["bench", "planted-bugs", *words, "--json"])
    assert done.exit_code == 0, done.stderr or done.exception
    record = json.loads(done.stdout)
    assert (record["bugs"], record["runs"], record["sound_runs"]) == (1, 1, 4)
    assert record["detection"] == 1
    assert record["false_alarms"] == 0
    assert record["least_harm"] > 10
    assert (record["with_cause"], record["named"], record["told"], record["wrong"]) == (1, 1, 1, 0)
    (row,) = record["rows"]
    assert row["said"] == "1 loss half"
    assert row["longer"] == pytest.approx(row["least_excess"], rel=1e-3)
