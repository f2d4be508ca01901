"""Costs by difficulty: measures and steps against their definitions; the one alternating loop and its journal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import cvxpy as cp
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.command.cli import cli
from workbench.data.loading import load_problem
from workbench.errors import CutbenchError
from workbench.objectives.difficulty import FOLDS, MEASURES, STEPS, Model, base_rates, kappa, perceptron_loss, shares
from workbench.objectives.factorings import classes_of
from workbench.solving import routes
from workbench.solving.alternation import alternating
from workbench.solving.majorize import alternate
from workbench.solving.request import Request
from workbench.system.journal import LINES, Journal, read

ROOT = Path(__file__).resolve().parents[2]
seeds = st.integers(0, 2**32 - 1)
ALL = np.ones(5, bool)


def clouds(seed=0, n=30, k=3, spread=1.0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.choice(k, n - k, p=np.arange(k, 0, -1) / (k * (k + 1) / 2))])
    return wb.Multiclass(spread * rng.normal(size=(n, 4)) + np.eye(k, 4)[y], y)


def predictions(problem, seed=0):
    rng = np.random.default_rng(seed)
    guess = np.where(rng.random(problem.n_samples) < 0.6, problem.labels, rng.integers(0, 3, problem.n_samples))
    return guess[:, None]


def model(problem, factoring, seed=0):
    rng = np.random.default_rng(seed)
    return Model(problem, classes_of(problem, factoring), rng.normal(size=12), rng.normal(size=3), predictions(problem))


# ── cost steps against their declarations ─────────────────────────────────────────────────────────


@given(seed=seeds)
@settings(max_examples=25)
def test_the_dot_step_is_the_linear_program(seed):
    D = np.random.default_rng(seed).normal(size=5)
    v = cp.Variable(5)
    program = cp.Problem(cp.Minimize(D @ v), [v >= 0, cp.sum(v) == 1])
    program.solve(solver=cp.CLARABEL)
    found = STEPS["dot"](D, np.full(5, 0.2), ALL)
    assert D @ found == pytest.approx(program.value, abs=1e-7)
    np.testing.assert_allclose(found, v.value, atol=1e-6)


@given(seed=seeds)
@settings(max_examples=25)
def test_the_cosine_step_is_the_declared_projection(seed):
    """Some D < 0: min ‖v‖ s.t. ⟨−D, v⟩ = 1, v ≥ 0, rescaled to the simplex."""
    D = np.random.default_rng(seed).normal(size=5)
    D[0] = -abs(D[0])
    v = cp.Variable(5)
    cp.Problem(cp.Minimize(cp.sum_squares(v)), [v >= 0, -D @ v == 1]).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )
    np.testing.assert_allclose(STEPS["cosine"](D, np.full(5, 0.2), ALL), v.value / v.value.sum(), atol=1e-8)


@given(seed=seeds)
@settings(max_examples=50)
def test_no_point_of_the_simplex_has_a_smaller_cosine(seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=5) if seed % 3 else rng.integers(0, 3, 5).astype(float)
    if not D.any():
        D[0] = 1.0
    best = STEPS["cosine"](D, np.full(5, 0.2), ALL)
    cosine = D @ best / np.linalg.norm(best)
    for v in np.concatenate([rng.dirichlet(np.full(5, 0.3), 200), np.eye(5)]):
        assert cosine <= D @ v / np.linalg.norm(v) + 1e-12


def test_the_special_cases_of_steps():
    kept = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    np.testing.assert_array_equal(STEPS["cosine"](np.zeros(5), kept, ALL), kept)
    np.testing.assert_allclose(STEPS["cosine"](np.array([0, 1.0, 0, 2, 3]), kept, ALL), [0.5, 0, 0.5, 0, 0])
    np.testing.assert_array_equal(STEPS["cosine"](np.array([2, 1.0, 4, 2, 3]), kept, ALL), [0, 1, 0, 0, 0])
    np.testing.assert_allclose(
        STEPS["inverted"](np.array([0.5, 0, 0, 0.5, 1]), kept, ALL), [1 / 6, 1 / 3, 1 / 3, 1 / 6, 0]
    )
    np.testing.assert_array_equal(STEPS["inverted"](np.ones(5), kept, ALL), kept)
    np.testing.assert_allclose(STEPS["inverted"](np.array([4, 2, 0, 4, 4.0]), kept, ALL), [0, 1 / 3, 2 / 3, 0, 0])
    some = np.array([True, False, True, True, True])
    for step in STEPS.values():
        v = step(np.array([0.3, -9.0, 0.2, 0.1, 0.4]), kept, some)
        assert v[1] == 0
        assert v.sum() == pytest.approx(1)


# ── measures against their definitions ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("factoring", ["ordered", "unordered", "true", "predicted", "constant"])
def test_kappa_is_the_formula(factoring):
    """P(B) of docs/mathematics.md §5, spelled out for each factoring."""
    problem = clouds()
    asked = model(problem, factoring)
    y, guess, n = problem.labels, asked.predictions[:, 0], problem.n_samples
    true, said = np.bincount(y, minlength=3) / n, np.bincount(guess, minlength=3) / n
    base = {
        "ordered": [true[a] * said[b] for a in range(3) for b in range(3) if a != b],
        "unordered": [true[a] * said[b] + true[b] * said[a] for a, b in [(0, 1), (0, 2), (1, 2)]],
        "true": [true[a] * (1 - said[a]) for a in range(3)],
        "predicted": [said[a] * (1 - true[a]) for a in range(3)],
        "constant": [1 - true @ said],
    }[factoring]
    np.testing.assert_allclose(base_rates(asked), base, atol=1e-12)
    table = asked.classes.table[0]
    share = np.array([np.mean(table[y, guess] == s) for s in range(len(base))])
    np.testing.assert_allclose(shares(asked), share, atol=1e-12)
    np.testing.assert_allclose(kappa(asked), (share - base) / (1 - np.array(base)), atol=1e-12)


def test_perceptron_loss_is_the_mean_score_lost():
    problem = clouds()
    asked = model(problem, "unordered")
    scores, table = problem.X @ asked.w.reshape(3, 4).T, asked.classes.table[0]
    lost, count = np.zeros(3), np.zeros(3)
    for i, (y, guess) in enumerate(zip(problem.labels, asked.predictions[:, 0], strict=True)):
        if y != guess:
            lost[table[y, guess]] += scores[i, guess] - scores[i, y]
            count[table[y, guess]] += 1
    np.testing.assert_allclose(perceptron_loss(asked), lost / count, atol=1e-12)
    right = asked._replace(predictions=problem.truth)
    assert not perceptron_loss(right).any()


def test_kappa_of_one_label_everywhere_is_zero_where_the_denominator_is():
    problem = wb.Multiclass(np.arange(4.0)[:, None], [0, 0, 0, 0], classes=[0, 1])
    asked = Model(problem, classes_of(problem, "ordered"), np.zeros(2), np.zeros(2), np.ones((4, 1), np.int64))
    np.testing.assert_array_equal(kappa(asked), [0, 0])


# ── the loop ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("measure", MEASURES)
def test_every_variant_ends_with_certified_inner_programs(measure, step):
    problem = clouds(2, n=18, spread=1.3)
    solution = wb.solve(
        wb.KappaDifficulty(lam2=0.5, difficulty=measure, step_rule=step), problem, gap=1e-6, max_rounds=8
    )
    assert solution.status in {"stationary", "cycle", "limit"}
    assert np.isnan(solution.gap)
    assert solution.lower_kind == "none"
    assert all(entry["gap"] <= 1e-6 for entry in solution.history)
    assert all(sum(entry["v"]) == pytest.approx(1) for entry in solution.history)
    if solution.status == "stationary":
        again = wb.KappaDifficulty(lam2=0.5, difficulty=measure, step_rule=step)
        v = np.array(solution.history[-1]["v"])
        moved, _ = again.step(problem, solution.theta_flat, v, lambda form: wb.solve(form, problem, gap=1e-6))
        np.testing.assert_allclose(moved, v, atol=1e-5)


def test_inner_certificates_are_proven_exactly(tmp_path):
    solution = wb.solve(wb.KappaDifficulty(lam2=0.5), clouds(2, n=18, spread=1.3), gap=1e-7, max_rounds=3)
    assert wb.verify(solution.certificate.save(tmp_path / "c"))["proven"]


def test_fixed_costs_of_one_are_the_svm_with_biases():
    problem = clouds()
    solution = wb.solve(wb.FixedCostLearning(lam2=0.4, lam1=0.1, K=2.0), problem, gap=1e-9)
    W, b = cp.Variable((3, 4)), cp.Variable(3)
    X, own = problem.X.toarray(), np.eye(3)[problem.labels]
    scores = X @ W.T + np.ones((problem.n_samples, 1)) @ cp.reshape(b, (1, 3), order="C")
    true = cp.reshape(cp.sum(cp.multiply(scores, own), axis=1), (problem.n_samples, 1), order="C")
    risk = cp.sum(cp.max(scores - true @ np.ones((1, 3)) + 2 * (1 - own), axis=1))
    program = cp.Problem(cp.Minimize(0.4 * cp.sum_squares(W) + 0.1 * cp.sum(cp.abs(W)) + risk), [cp.sum(b) == 0])
    program.solve(solver=cp.CLARABEL)
    assert solution.upper == pytest.approx(program.value, rel=1e-7)


@dataclass(frozen=True)
class Turning:
    """States 0 → 1 → 2 → 0 around the same inner program."""

    monotone: ClassVar[bool] = False
    period: int = 3

    def start(self, problem):
        return np.zeros(1)

    def surrogate(self, problem, state):
        return wb.SoftMargin(lam=1.0 + state[0])

    def step(self, problem, theta, state, solve):
        return (state + 1) % self.period, {}

    def value(self, problem, theta):
        return float(theta @ theta)


def inner(form, problem):
    return wb.solve(form, problem, gap=1e-6)


def test_cycles_are_found_and_measured():
    found = alternate(Turning(), clouds(), inner)
    assert (found.status, found.cycle, len(found.history)) == ("cycle", 3, 3)
    assert alternate(Turning(period=1), clouds(), inner).status == "stationary"
    assert alternate(Turning(period=9), clouds(), inner, Request(max_rounds=4)).status == "limit"


def test_a_rise_of_what_claims_to_be_monotone_is_an_error():
    @dataclass(frozen=True)
    class Rising(Turning):
        monotone: ClassVar[bool] = True

        def value(self, problem, theta):
            return -float(theta @ theta)  # shrinks as λ grows, so this rises

    with pytest.raises(CutbenchError, match="Rising rose from"):
        alternate(Rising(), clouds(), inner)


# ── programs that miss their gap, and limits ──────────────────────────────────────────────────────


def missing(rounds):
    """A solve whose answers in these rounds, from 1, are called stalled."""
    asked = []

    def solve(form, problem):
        asked.append(form)
        found = inner(form, problem)
        return replace(found, status="stalled", gap=0.25) if len(asked) in rounds else found

    return solve


@pytest.mark.parametrize(
    ("period", "rounds", "status", "cycle"),
    [
        (1, {1}, "stalled", 0),
        (3, {1}, "stalled", 0),
        (3, {3}, "stalled", 0),
        (3, set(), "cycle", 3),
        (9, {1}, "limit", 0),
    ],
)
def test_an_end_that_rests_on_an_unsolved_program_is_stalled(period, rounds, status, cycle):
    found = alternate(Turning(period=period), clouds(), missing(rounds), Request(max_rounds=5))
    assert (found.status, found.cycle) == (status, cycle)
    assert [entry["unsolved"] for entry in found.history] == [int(e["round"] in rounds) for e in found.history]
    assert all(entry["inner_gap"] == (0.25 if entry["unsolved"] else entry["gap"]) for entry in found.history)


def test_an_unsolved_program_long_ago_does_not_matter():
    problem = wb.load_problem("motif")(n=20, span=15)
    form = wb.LatentSSVM(30.0, starts=1)
    rounds = len(alternate(form, problem, inner).history)
    assert rounds > 2
    assert alternate(form, problem, missing({1})).status == "stationary"
    assert alternate(form, problem, missing({rounds})).status == "stalled"


def test_a_start_that_stalled_shows_though_another_was_better():
    problem = wb.load_problem("motif")(n=20, span=15)
    ends = [alternate(wb.LatentSSVM(30.0, starts=k), problem, inner) for k in (1, 2)]
    rounds = len(ends[0].history)
    for missed in (rounds, len(ends[1].history)):
        found = alternate(wb.LatentSSVM(30.0, starts=2), problem, missing({missed}))
        assert (found.status, found.value) == ("stalled", ends[1].value)


def test_programs_that_a_step_asks_for_count_too():
    problem = clouds(2, n=18, spread=1.3)
    form = wb.KappaDifficulty(lam2=0.5, difficulty="stability")
    found = alternate(form, problem, missing({2}), Request(max_rounds=2))
    assert [entry["programs"] for entry in found.history] == [1 + FOLDS, 1 + FOLDS]
    assert [entry["unsolved"] for entry in found.history] == [1, 0]


WORDS = ("solve", "motif", "latent-ssvm", "--set", "n=12", "--set", "span=12", "--set", "length=4")
STOPPED = (*WORDS, "--set", "C=30", "--out")


def test_programs_beyond_floats_are_not_sold_as_solved(tmp_path):
    """C = 1e100: no weights come near the optimum of the first convex program."""
    words = [*WORDS, "--set", "starts=1", "--set", "C=1e100", "--out", str(tmp_path)]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 3
    assert "stalled: the backend gains no more digits" in done.stderr
    assert "1 of 1 convex programs missed the gap asked for, the worst has" in done.stdout
    shown = CliRunner().invoke(cli, ["verify", str(tmp_path)])
    assert (
        "the last convex program (completed-ssvm) of LatentSSVM, which ended stalled; nothing is proven" in shown.stdout
    )


def test_what_is_shown_of_an_alternation(tmp_path):
    done = CliRunner().invoke(cli, [*WORDS, "--out", str(tmp_path), "--json"])
    record = json.loads(done.stdout)
    assert record["unsolved"] == 0
    assert record["programs"] == record["rounds"]
    assert 0 <= record["inner_gap"] <= 1e-9
    text = CliRunner().invoke(cli, [*WORDS, "--out", str(tmp_path), "--overwrite", "--polish"])
    assert f"objective    {record['upper']:.12g}, where it ended" in text.stdout
    assert f"all {record['programs']} convex programs solved, to {record['inner_gap']:.1e}" in text.stdout
    assert "an alternation proves no optimum" in text.stderr
    assert wb.verify(tmp_path / "certificate")["about"].endswith("about the optimum of LatentSSVM itself")


def test_starts_that_a_limit_cuts_off_show():
    problem = wb.load_problem("motif")(n=20, span=15)
    hurried = wb.solve(wb.LatentSSVM(30.0, starts=50), problem, gap=1e-6, time_limit=1e-9)
    assert (hurried.status, hurried.rounds) == ("limit", 1)
    short = wb.solve(wb.LatentSSVM(30.0, starts=3), problem, gap=1e-6, max_rounds=1)
    assert (short.status, short.rounds) == ("limit", 3)


# ── the journal ───────────────────────────────────────────────────────────────────────────────────


def planted():
    return wb.load_problem("motif")(n=10, span=12, length=4)


JOURNALLED = {
    "latent": (wb.LatentSSVM(20.0, starts=2), planted),
    "paced": (wb.SelfPacedLatent(20.0, starts=2), planted),
    "novelty": (wb.SelfPacedLatent(20.0, slack=0.0, novelty=1.0, starts=1), planted),
    "kappa": (wb.KappaDifficulty(lam2=0.5), lambda: clouds(2, n=18, spread=1.3)),
    "folds": (wb.KappaDifficulty(lam2=0.5, difficulty="stability", step_rule="dot"), lambda: clouds(2, 18)),
}


def told(solution):
    """All that two runs can have in common: JSON knows that NaN is NaN."""
    rounds = [{key: value for key, value in entry.items() if key != "seconds"} for entry in solution.history]
    arrays = {name: array.tolist() for name, array in solution.certificate.parts().items()}
    names = ("status", "own_status", "upper", "train_error", "rounds", "cuts", "backend", "master")
    return json.dumps([rounds, arrays, solution.theta_flat.tolist(), [getattr(solution, name) for name in names]])


@pytest.mark.parametrize("name", JOURNALLED)
def test_a_limit_after_every_round_changes_nothing(name, tmp_path):
    form, make = JOURNALLED[name]
    straight, run = wb.solve(form, make(), gap=1e-6), tmp_path / "run"
    assert straight.status in {"stationary", "cycle"}
    part = wb.solve(form, make(), gap=1e-6, max_rounds=1, journal=run)
    while part.status == "limit":
        before = part.rounds
        part = wb.solve(form, make(), gap=1e-6, time_limit=1e-9, journal=Journal.resume(run))
        assert part.rounds == before + 1
    assert told(part) == told(straight)
    assert read(run)[1][-1].kind == "end"


def test_no_finished_round_is_run_again(tmp_path, monkeypatch):
    form, make = JOURNALLED["latent"]
    first = wb.solve(form, make(), journal=tmp_path)
    assert [line.kind for line in read(tmp_path)[1]] == ["round"] * first.rounds + ["end"]
    monkeypatch.setattr(routes, "by_cuts", None)  # nothing is left to solve
    again = wb.solve(form, make(), journal=Journal.resume(tmp_path))
    assert told(again) == told(first)
    assert again.seconds >= first.seconds
    assert wb.verify(again.certificate.save(tmp_path / "c"))["proven"]


def test_every_head_of_a_journal_ends_alike(tmp_path):
    """Whichever round the run was killed after, in whichever start, and the last line perhaps torn."""
    form, make = JOURNALLED["latent"]
    straight = told(wb.solve(form, make(), journal=tmp_path))
    lines = (tmp_path / "journal" / LINES).read_bytes().splitlines(keepends=True)
    for count in range(1, len(lines), 3):
        torn = lines[count][: len(lines[count]) // 2]
        (tmp_path / "journal" / LINES).write_bytes(b"".join(lines[:count]) + torn)
        assert told(wb.solve(form, make(), journal=Journal.resume(tmp_path))) == straight


def test_certificates_sharpened_by_fractions_are_so_again(tmp_path):
    """Floats cannot reach a gap of 1e-15, rational bounds may."""
    form, make = wb.LatentSSVM(20.0, starts=1), planted
    first = wb.solve(form, make(), gap=1e-15, journal=tmp_path)
    again = wb.solve(form, make(), gap=1e-15, journal=Journal.resume(tmp_path))
    assert again.certificate.gap <= first.certificate.gap
    assert told(again) == told(first)


def test_a_smaller_gap_is_another_run(tmp_path):
    form, make = JOURNALLED["latent"]
    wb.solve(form, make(), gap=1e-6, max_rounds=1, journal=tmp_path)
    with pytest.raises(wb.BadInput, match="were solved to a gap of 1e-06; for a smaller gap"):
        wb.solve(form, make(), gap=1e-8, journal=Journal.resume(tmp_path))
    assert wb.solve(form, make(), gap=1e-5, journal=Journal.resume(tmp_path)).status == "stationary"


def test_another_start_seed_is_another_run(tmp_path):
    form, make = JOURNALLED["latent"]
    wb.solve(form, make(), max_rounds=1, journal=tmp_path)
    with pytest.raises(wb.BadInput, match="has the formulation"):
        wb.solve(replace(form, start_seed=1), make(), journal=Journal.resume(tmp_path))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What the command below says if nobody stops it."""
    done = CliRunner().invoke(cli, [*STOPPED, str(tmp_path_factory.mktemp("all")), "--json"])
    return lasting(json.loads(done.stdout))


def lasting(record):
    """What does not depend on the clock or the folder."""
    if isinstance(record, list):
        return [lasting(each) for each in record]
    if not isinstance(record, dict):
        return record
    return {key: lasting(value) for key, value in record.items() if not key.endswith(("seconds", "certificate"))}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["SIGINT", "SIGKILL"])
def test_an_alternation_is_stopped_and_continued(tmp_path, monkeypatch, undisturbed, how):
    """A real process, stopped in the middle of its starts; it ends where the undisturbed one does."""
    monkeypatch.chdir(tmp_path)
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{listen}; from workbench.command.cli import main; main()"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    process = subprocess.Popen([sys.executable, "-c", code, *STOPPED, "run"], **pipes)
    lines, deadline = Path("run/journal") / LINES, time.monotonic() + 60
    while not (lines.exists() and lines.read_bytes().count(b"\n") > 4):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(how)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    if how == signal.SIGINT:
        assert stderr == "cutbench: interrupted; `cutbench resume run` continues.\n"
    before = [line.numbers for line in read("run")[1]]
    resumed = CliRunner().invoke(cli, ["resume", "run", "--json"])
    assert lasting(json.loads(resumed.stdout)) == undisturbed
    assert [line.numbers for line in read("run")[1]][: len(before)] == before


@pytest.mark.parametrize(("setting", "sentence"), [({"v": (1.0, -1.0)}, "costs"), ({"parts": 1}, "part 0 of 1")])
def test_bad_costs_are_refused(setting, sentence):
    with pytest.raises(wb.BadInput, match=sentence):
        wb.FixedCostLearning(**setting)


def test_a_wrong_number_of_costs_is_refused():
    with pytest.raises(wb.BadInput, match="2 costs for 3 error classes"):
        wb.solve(wb.FixedCostLearning(v=(1.0, 1.0)), clouds())


def test_the_first_round_keeps_the_time_limit():
    """Its convex program is asked within the limit, and so are all others."""
    asked = []

    def noted(formulation, problem, **options):
        asked.append(options.get("time_limit"))
        return wb.solve(formulation, problem, **options)

    problem = load_problem("toy")()
    request = Request(gap=1e-9, time_limit=0.5)
    alternating(wb.KappaDifficulty(), problem, request, None, noted)
    assert asked[0] is not None
    assert 0 < asked[0] <= 0.5
    assert all(each is not None and each <= 0.5 for each in asked)
