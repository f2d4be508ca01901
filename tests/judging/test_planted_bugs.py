"""Planted bugs: the plain learners read the data as the workbench does, and a subset of the bugs is found."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from workbench.command.cli import cli
from workbench.judging.faults import learners as plain
from workbench.judging.faults.first import FAULTS
from workbench.judging.faults.lending import Lender
from workbench.judging.faults.problems import HARD, HOSTS, LENIENT, LIKELIHOOD, MANY, drawn, formulated, hard_cases
from workbench.judging.faults.second import CAUSES
from workbench.judging.faults.strangers import NAMES
from workbench.judging.faults.trials import AUDITED, HARM, Bench
from workbench.registries import registry

module = registry("benchmark").modules["planted-bugs"]
BUGS = {each.name: each for each in FAULTS}
EVERY = [(method, family) for family, methods in HOSTS.items() for method in methods]
benches: dict[str, object] = {}


def bench(family):
    """The first problem of a family, its references solved once."""
    return benches.setdefault(family, Bench(family, 0))


def read(method, family, bug=None):
    """A learner that has read the data and learned nothing yet, and what it is to minimise."""
    here = bench(family)
    form = formulated(method, family)
    learner = plain.learner(method, family, bug.methods if bug else None)
    list(learner.fit(here.problem, form, 0, 0))
    return learner, form, here.problem


@pytest.mark.parametrize("family", [name for name in HOSTS if name not in ("costs", "shares")])
def test_tables_hold_the_features_and_losses_of_the_problem(family):
    """Written anew by the plain views, with nothing from the workbench but the data."""
    learner, _, problem = read(HOSTS[family][0], family)
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
        if method in LIKELIHOOD:
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
            assert method in HOSTS[family], each.name
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
    conventions = {name for _, name, _ in registry("benchmark").modules["detective"].plans()}
    conventions |= {"mean for sum", "features half as large"}
    for each in FAULTS:
        assert {*each.right} <= conventions | {*AUDITED}, each.name
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
        lender = Lender(here.maker(method, fault), method)
        with np.errstate(all="ignore"):
            theta = [np.array(w, float) for _, w in lender.fit(here.problem, best.formulation, 4, 0)][-1]
        against, lent = here.contradicted(method, lender, theta, best)
        assert {*against} == expected
        assert audits <= lent


def test_a_confident_claim_that_is_wrong_is_no_detection():
    """The same accusation, with what is said of it."""
    run = bench("multiclass").run("lbfgs", BUGS["weights of samples ignored"])
    assert run.found
    assert run.harmful
    assert (run.named, run.wrong, run.right) == (True, False, ("no sample weights",))
    other = replace(run, convention="squared hinge", confident=True)
    assert (other.found, other.wrong, other.named) == (False, True, False)
    unsure = replace(other, confident=False)
    assert (unsure.found, unsure.wrong, unsure.guessed) == (True, False, True)
    contradicted = replace(unsure, against=("oracle",))
    assert (contradicted.found, contradicted.wrong) == (False, True)
    told = module.summary([replace(run, fault=""), other, run])
    assert (told["detection"], told["wrong"], told["with_cause"], told["named"]) == (0.5, 1, 2, 0.5)


@pytest.mark.parametrize(("times", "harmful"), [(0.99, False), (1.01, True)])
def test_harm_is_ten_times_the_tolerance_at_the_end_and_four_times_later(times, harmful):
    """The words of judging/faults/trials.py, one by one."""
    run = bench("multiclass").run("lbfgs", BUGS["weights of samples ignored"])
    at = times * HARM * run.tolerance
    assert replace(run, excess=at, longer=1.0).harmful == harmful
    assert replace(run, excess=1.0, longer=at).harmful == harmful
    assert not replace(run, fault="", excess=1.0, longer=1.0).harmful
    accused = replace(run, verdict="disagrees", accused=run.excess, convention="", confident=False, against=())
    assert (accused.found_by_weights, accused.found) == (True, True)
    assert not replace(accused, accused=2 * run.excess).found_by_weights
    lends = replace(accused, verdict="not converged", against=("oracle",), right=("oracle",))
    assert (lends.found_by_weights, lends.found) == (False, True)
    sound = replace(run, fault="", verdict="agrees", against=())
    assert not sound.alarm
    assert replace(sound, verdict="disagrees").alarm
    assert replace(sound, verdict="failed").alarm
    assert replace(sound, against=("oracle",)).alarm
    assert not replace(sound, verdict="not converged").alarm


def test_the_intervals_are_exact():
    """Clopper and Pearson's, by the binomial distribution itself."""
    from scipy.stats import binom

    assert module.exact(0, 0) == [0.0, 1.0]
    low, high = module.exact(3, 40)
    assert binom.cdf(3, 40, high) == pytest.approx(0.025)
    assert binom.sf(2, 40, low) == pytest.approx(0.025)
    assert module.exact(0, 5000)[0] == 0.0
    assert module.exact(0, 5000)[1] == pytest.approx(1 - 0.025 ** (1 / 5000))


def test_no_problem_is_used_twice():
    tasks = list(module.work(0, 3, 3, HOSTS)) + list(module.work(3, 2, 2, HOSTS))
    assert len({(family, seed) for family, seed, _ in tasks}) == len(tasks)
    assert {case for _, _, case in tasks} == {"", *HARD}
    assert set(hard_cases("uncentred")) == {*LENIENT["uncentred"]}
    assert "many classes" not in hard_cases("linear")


@pytest.mark.parametrize("family", ["multiclass", "costs"])
@pytest.mark.parametrize("case", ["tiny", "duplicates", "many classes"])
def test_every_label_occurs(family, case):
    """A learner that takes every label to occur is no sound one where one does not."""
    for seed in range(20):
        problem = drawn(family, seed, case)[0]
        assert set(problem.labels.tolist()) == set(range(len(problem.classes)))


@pytest.mark.parametrize("case", HARD)
def test_hard_cases_are_what_their_names_say(case):
    usual, (hard, lam, passes) = drawn("multiclass", 0)[0], drawn("multiclass", 0, case)
    assert (lam is not None) == case.startswith("λ")
    assert (passes is not None) == case.startswith("passes")
    X = hard.X.toarray()
    if case == "scaled":
        ratios = np.median(np.abs(X) / np.abs(usual.X.toarray()), axis=0)
        assert ((ratios >= 1e-2) & (ratios <= 1e2)).all()
        assert np.ptp(np.log(ratios)) > 1
    if case == "tiny":
        assert 3 <= hard.n_samples <= 5
        assert drawn("costs", 801000, "tiny")[0].n_samples <= 5
    if case == "many classes":
        assert len(hard.classes) == MANY["multiclass"]
    if case == "duplicates":
        assert 3 * len(np.unique(X[:-1], axis=0)) == len(X) - 1
    if case == "collinear":
        assert 0 < np.abs(X[:, 0] - X[:, 1]).max() < 1e-2


def test_the_second_catalogues_causes_have_names_that_a_judge_knows():
    conventions = {name for _, name, _ in registry("benchmark").modules["detective"].plans()}
    conventions |= {"mean for sum", "features half as large"}
    ours = ("one-vs-rest", "standardised", "scaled features", "normalised rows", "stops early", "ends added")
    ours += ("padding counted", "terms by length", "all rivals", "centred features", "features ")
    assert set(NAMES) == set(CAUSES)
    for name in {each for names in NAMES.values() for each in names}:
        assert name in conventions or name.startswith(ours) or name == "transitions not penalised", name


HARDEST = [
    ("multiclass", "bcfw", "scaled"),
    ("multiclass", "bcfw", "passes 8"),
    ("linear", "gradient", "λ 1e-4"),
    ("chain", "lbfgs", "scaled"),
    ("matching", "dual-ascent", "λ 1e2"),
]


@pytest.mark.parametrize(("family", "method", "case"), HARDEST)
def test_hard_problems_raise_no_alarm(family, method, case):
    run = Bench(family, 1, case).run(method)
    assert run.verdict not in ("disagrees", "failed"), (run.excess, run.reason)


# Sound runs that were accused once, by their history up to their budget: slow on badly scaled columns, not wrong.
SLOW = [("linear", 5, "saga"), ("chain", 4, "saga"), ("chain", 11, "saga")]
SLOW += [("costs", 4, "adagrad"), ("costs", 5, "adagrad"), ("shares", 16, "adagrad")]


@pytest.mark.parametrize(("family", "seed", "method"), SLOW)
def test_slow_sound_runs_have_not_converged(family, seed, method):
    run = Bench(family, seed, "scaled").run(method)
    assert run.verdict == "not converged", run.reason
    assert "run it longer" in run.reason


def asked(*options):
    words = [word for option in options for word in ("--set", option)]
    done = CliRunner().invoke(cli, ["bench", "planted-bugs", *words, "--json"])
    return done.exit_code, done.stderr, json.loads(done.stdout or "{}")


def test_a_campaign_in_pieces_counts_what_one_run_does(tmp_path):
    """Sound learners alone; what a file holds is not run again, and `seeds=0` only sums up."""
    cheap = ("only=linear", "bugs=none", "processes=1", "cases=passes 8", "first_seed=7")
    whole = asked(*cheap, "seeds=1", "hard=1")[2]
    first, second = f"kept={tmp_path / 'first.jsonl'}", f"kept={tmp_path / 'second.jsonl'}"
    assert asked(*cheap, "seeds=1", "hard=0", first)[2]["sound_runs"] == len(HOSTS["linear"])
    again = asked(*cheap, "seeds=1", "hard=1", first)[2]
    assert (again["datasets"], again["sound_runs"], again["runs"]) == (2, 2 * len(HOSTS["linear"]), 0)
    assert len((tmp_path / "first.jsonl").read_text().splitlines()) == 2
    asked(*cheap, "seeds=0", "hard=1", second)
    summed = asked("seeds=0", "hard=0", f"{second},{tmp_path / 'first.jsonl'}")[2]
    for key in ("datasets", "sound_runs", "sound_agree", "false_alarm_interval", "catalogues"):
        assert summed[key] == again[key] == whole[key]
    code, said, _ = asked("seeds=0", "hard=0", f"{second},{tmp_path / 'nowhere.jsonl'}")
    assert (code, "There is no file" in said) == (2, True)
    (tmp_path / "second.jsonl").write_text(json.dumps({"task": ["linear", 7, ""], "runs": [{"fault": ""}]}))
    assert "holds runs of another version" in asked("seeds=0", "hard=0", second)[1]


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
    assert (record["harmful"], record["datasets"], record["detection_by_weights"]) == (1, 1, 1)
    assert [row["catalogue"] for row in record["catalogues"]] == ["first"]
    assert [row["above"] for row in record["roc"]] == sorted(row["above"] for row in record["roc"])
    assert (record["with_cause"], record["named"], record["told"], record["wrong"]) == (1, 1, 1, 0)
    (row,) = record["rows"]
    assert row["said"] == "1 loss half"
    assert row["longer"] == pytest.approx(row["least_excess"], rel=1e-3)
