"""Latent SSVM: a majorant that is one, descent, starts, and the distance to enumeration and to the mixed program."""

from __future__ import annotations

import itertools
import json
from functools import partial
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from motif_helpers import completions, small, tiny

import workbench as wb
from workbench.command.cli import cli
from workbench.contracts import Majorized
from workbench.formulations.latent_ssvm import drawn
from workbench.objectives.pacing import CRITERIA, costs, hinges, rivals
from workbench.proofs.bounds import Bounds
from workbench.registries import registry

ENUMERATION = registry("benchmark").modules["hidden-states"]
FIGURE = registry("figure").modules["hidden-states"]
seeds = st.integers(0, 2**32 - 1)


def least(problem, C):
    """min F over all completions."""
    return min(wb.solve(wb.CompletedSSVM(C, states), problem).upper for states in completions(problem))


def enumerated_slack(problem, w, i):
    """ξ_i(w) by listing all outputs: loss-augmented maximum over (ŷ, ĥ) less the maximum over h."""
    outputs = problem.outputs(i)
    scores = problem.features(np.full(len(outputs), i), outputs) @ w
    loss = problem.loss(np.full(len(outputs), i), outputs)
    return (scores + loss).max() - scores[loss == 0].max()


# ── the objective and its majorant ────────────────────────────────────────────────────────────────


@given(seed=seeds)
@settings(max_examples=25)
def test_the_value_is_the_definition(seed):
    problem, rng = tiny(seed)
    w, C = rng.normal(size=problem.n_features), 7.0
    xi = [enumerated_slack(problem, w, i) for i in range(problem.n_samples)]
    shares = problem.weights / problem.weights.sum()
    assert wb.LatentSSVM(C).value(problem, w) == pytest.approx(w @ w / 2 + C * shares @ xi, rel=1e-12)


@given(seed=seeds)
@settings(max_examples=25)
def test_any_completion_lies_above_and_the_best_one_touches(seed):
    problem, rng = tiny(seed)
    form, w = wb.LatentSSVM(5.0), rng.normal(size=problem.n_features)
    value = form.value(problem, w)
    some = np.array([rng.choice(problem.hidden(i)) for i in range(problem.n_samples)])
    for states in (some, problem.impute(w)):
        upper = Bounds(form.surrogate(problem, states + 0.0), problem).upper(w)
        assert upper >= value * (1 - 1e-12)
    assert upper == pytest.approx(value, rel=1e-12)
    np.testing.assert_array_equal(hinges(problem, w, some) >= hinges(problem, w, problem.impute(w)) - 1e-12, True)


def test_the_inner_program_is_its_declaration():
    problem = wb.load_problem("motif")(n=10, span=12, length=4)
    states, kept = drawn(problem, 0, 0), (1, 0, 1, 1, 1, 1, 0, 1, 1, 1)
    w, cost = cp.Variable(problem.n_features), 0
    for i in np.flatnonzero(kept):
        outputs = problem.outputs(i)
        rivals = outputs[outputs[:, 0] != problem.labels[i]]
        true = problem.features(np.array([i]), np.array([[problem.labels[i], states[i]]])).toarray()
        rows = problem.features(np.full(len(rivals), i), rivals).toarray() - true
        cost += 8.0 / 10 * cp.pos(1 + cp.max(rows @ w))
    program = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cost))
    program.solve(solver=cp.CLARABEL)
    solution = wb.solve(wb.CompletedSSVM(8.0, tuple(states), kept), problem)
    assert solution.status == "optimal"
    assert solution.upper == pytest.approx(program.value, rel=1e-7)


# ── the loop ──────────────────────────────────────────────────────────────────────────────────────


@given(seed=seeds)
@settings(max_examples=12)
def test_the_objective_never_rises_and_every_round_is_certified(seed):
    problem, rng = tiny(seed)
    form = wb.LatentSSVM(float(10 ** rng.uniform(-1, 3)), starts=2, start_seed=seed % 1000)
    solution = wb.solve(form, problem)
    assert solution.status == "stationary"
    for start in range(2):
        rounds = [entry for entry in solution.history if entry["start"] == start]
        for before, after in pairwise(rounds):
            assert after["value"] <= before["value"] * (1 + 1e-8) + 1e-12
        assert all(entry["lower"] <= entry["upper"] and entry["gap"] <= 1e-9 for entry in rounds)
        assert all(entry["value"] <= entry["upper"] * (1 + 1e-12) for entry in rounds)
    assert solution.upper == min(
        [entry for entry in solution.history if entry["start"] == start][-1]["value"] for start in range(2)
    )


def test_the_end_is_stationary_and_says_what_is_proven(tmp_path):
    problem = small(1, n=12, span=9)
    solution = wb.solve(wb.LatentSSVM(10.0), problem)
    assert isinstance(solution.formulation, Majorized)
    assert np.isnan(solution.gap)
    assert solution.lower_kind == "none"
    h = np.array(solution.certificate.formulation.states)
    again = wb.solve(wb.CompletedSSVM(10.0, tuple(h)), problem)
    assert again.upper == pytest.approx(solution.upper, rel=1e-8)
    proof = wb.verify(solution.certificate.save(tmp_path / "c"))
    assert proof["proven"]
    assert proof["arithmetic"] == "rational"
    assert proof["upper"] == pytest.approx(solution.upper, rel=1e-8)


def test_starts_are_seeded_and_the_best_is_told():
    problem = wb.load_problem("motif")(n=20, span=15)
    several = wb.solve(wb.LatentSSVM(30.0, starts=4), problem, gap=1e-6)
    alone = [wb.solve(wb.LatentSSVM(30.0, starts=1, start_seed=seed), problem, gap=1e-6).upper for seed in (0, 0, 1)]
    assert alone[0] == alone[1] != alone[2]
    assert several.upper <= alone[0]
    assert {entry["start"] for entry in several.history} == {0, 1, 2, 3}
    assert several.rounds == len(several.history)


def test_limits_are_kept():
    problem = wb.load_problem("motif")(n=20, span=15)
    short = wb.solve(wb.LatentSSVM(30.0, starts=3), problem, gap=1e-6, max_rounds=1)
    assert [entry["start"] for entry in short.history] == [0, 1, 2]
    hurried = wb.solve(wb.LatentSSVM(30.0, starts=50), problem, gap=1e-6, time_limit=1e-3)
    assert hurried.rounds == 1
    assert {each.status for each in (short, hurried)} == {"limit"}


# ── global optima ─────────────────────────────────────────────────────────────────────────────────


def random_instance(seed, n=4, windows=3):
    """A planted motif of random settings, half of its letters redrawn, and C."""
    rng = np.random.default_rng(seed)
    length = int(rng.integers(2, 4))
    problem = wb.load_problem("motif")(n=n, draw=seed, length=length, span=length + windows - 1, mutation=0.5)
    return problem, float(rng.choice([3.0, 10.0, 40.0]))


@pytest.mark.parametrize("seed", range(3))
def test_enough_starts_reach_the_enumerated_optimum_and_none_goes_below(seed):
    problem = small(seed, n=4, span=5)
    best = least(problem, 10.0)
    found = wb.solve(wb.LatentSSVM(10.0, starts=15), problem)
    assert found.upper == pytest.approx(best, rel=1e-8)
    few = [wb.solve(wb.LatentSSVM(10.0, starts=1, start_seed=s), problem).upper for s in range(5)]
    assert min(few) >= best * (1 - 1e-8)


@given(seed=seeds)
@settings(max_examples=8)
def test_written_out_programs_are_the_completed_ones(seed):
    """The enumeration's own certificates, by another solver than the house's, some samples left out."""
    problem, rng = tiny(seed)
    states = np.array([rng.integers(k) for k in problem.n_hidden])
    kept = np.flatnonzero((rng.random(problem.n_samples) < 0.8) & (problem.weights > 0))
    C, moves = float(10 ** rng.uniform(-1, 2)), rivals(problem)
    slopes, losses = [moves[i][0][states[i]] for i in kept], [moves[i][1] for i in kept]
    lower, upper = ENUMERATION.between(slopes, losses, costs(problem, C)[kept])
    assert lower <= upper <= lower * (1 + 1e-8) + 1e-12
    chosen = [int(problem.hidden(i)[h]) for i, h in enumerate(states)]
    mask = np.isin(np.arange(problem.n_samples), kept)
    assert wb.solve(wb.CompletedSSVM(C, chosen, mask), problem).upper == pytest.approx(upper, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_mixed_program_is_enumeration(seed):
    """Over all h, every other time over all selections too; the answer's own h and v give the same value."""
    pytest.importorskip("pyscipopt")
    problem, C = random_instance(seed)
    whole = ENUMERATION.enumeration(problem, C)[1]
    K = 1 / (0.3 * whole) if seed % 2 else None
    lower, upper = ENUMERATION.enumeration(problem, C, K)
    assert lower <= upper <= lower * (1 + 1e-8)
    mixed = wb.LatentSSVM(C).mixed_program(problem, K)
    mixed.program.solve(solver="SCIP")
    states, kept = mixed.chosen()
    assert not K or 0 < kept.sum() < 4, "some samples are worth their charge"
    own = wb.solve(wb.CompletedSSVM(C, tuple(states), tuple(kept)), problem).upper
    assert mixed.program.value == pytest.approx(upper, rel=1e-4), "a claim, to tolerances that are absolute"
    assert own + (4 - kept.sum()) / (K or 1.0) == pytest.approx(upper, rel=1e-6)


class Mild(wb.Motif):
    """A wrong label costs 0.03."""

    def loss(self, samples, outputs):
        return 0.03 * super().loss(samples, outputs)


MILD = [(["TAATC", "TGATA", "AATCC"], [-1, 1, -1], 3, 2.2, 1300.0), (["CCC", "TGT", "CGG"], [1, -1, 1], 1, 6.3, 490.0)]


@pytest.mark.parametrize(("texts", "labels", "length", "C", "K"), MILD)
def test_the_mixed_program_contains_the_optimum_where_losses_are_small(texts, labels, length, C, K):
    """The best over all states and selections, by CVXPY, satisfies the mixed program and has its value there."""
    problem = Mild(texts, labels, length)
    c, moves, best = costs(problem, C), rivals(problem), (np.inf,)
    for choice in itertools.product(*(range(-1, len(states)) for states, _ in moves)):
        w = cp.Variable(problem.n_features)
        own = [(i, moves[i][0][k], moves[i][1]) for i, k in enumerate(choice) if k >= 0]
        cost = cp.sum_squares(w) / 2 + sum(c[i] * cp.pos(cp.max(loss - rows @ w)) for i, rows, loss in own)
        program = cp.Problem(cp.Minimize(cost))
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-10, tol_feas=1e-12)
        best = min(best, (program.value + choice.count(-1) / K, choice, w.value), key=lambda each: each[0])
    value, choice, weights = best
    assert min(choice) >= 0, "all are worth their charge"
    mixed = wb.LatentSSVM(C).mixed_program(problem, K)
    hinge = [c[i] * max((moves[i][1] - moves[i][0][k] @ weights).max(), 0) for i, k in enumerate(choice)]
    (t,) = [each for each in mixed.program.variables() if each.id not in (mixed.w.id, mixed.u.id)]
    chosen = [problem.hidden(i)[k] for i, k in enumerate(choice)]
    mixed.w.value, t.value = weights, np.array(hinge)
    mixed.u.value = np.array([float(s == chosen[i]) for i, s in zip(mixed.samples, mixed.states, strict=True)])
    assert mixed.program.objective.value == pytest.approx(value, rel=1e-6)
    assert max(constraint.violation().max() for constraint in mixed.program.constraints) < 1e-12


WAYS = [wb.LatentSSVM, *(partial(wb.SelfPacedLatent, **{"slack": 0.0, name: 1.0}) for name in CRITERIA)]


@pytest.mark.parametrize("way", WAYS, ids=["plain", *CRITERIA])
def test_no_alternation_ends_below_the_enumerated_optimum(way):
    for seed in range(2):
        problem, C = random_instance(seed, n=6, windows=4)
        assert wb.solve(way(C, starts=1), problem).upper >= ENUMERATION.enumeration(problem, C)[0]


# ── the figure of these distances ─────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def distances():
    return FIGURE.measure(instances=2, starts=1, C=10.0, span=6)


def test_the_figures_optimum_is_enumeration(distances):
    for seed, (optimum, planted) in enumerate(zip(distances["optimum"], distances["planted"], strict=True)):
        problem = wb.load_problem("motif")(n=8, length=4, span=6, draw=seed)
        lower, upper = ENUMERATION.enumeration(problem, 10.0)
        assert lower <= optimum <= upper * (1 + 1e-6)
        truth = wb.CompletedSSVM(10.0, problem.truth[:, 1])
        assert planted == pytest.approx(wb.solve(truth, problem).upper, rel=1e-9)
        plain = [wb.solve(wb.LatentSSVM(10.0, starts=1, start_seed=0), problem).upper]
        assert distances["CCCP"][seed] == pytest.approx(plain, rel=1e-9)
        for name in FIGURE.METHODS:
            assert distances[name].shape == (2, 1)
            assert (distances[name][seed] >= lower).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_branch_is_left_only_where_nothing_better_is_in_it(seed):
    problem, C = random_instance(seed)
    lower, upper = ENUMERATION.enumeration(problem, C)
    assert lower <= FIGURE.least(problem, C) <= upper * (1 + 1e-6)


def test_the_title_counts_the_starts_that_reach_the_optimum():
    pytest.importorskip("matplotlib")
    ends = {"CCCP": [[1.0, 1.2], [2.5, 2.6]], "slack": [[1.0, 1.0], [2.0, 3.0]]}
    ends |= {"uncertainty": [[1.1, 1.2], [2.2, 2.0]], "novelty": [[1.1, 1.2], [2.1, 3.0]]}
    arrays = {"optimum": np.array([1.0, 2.0]), "planted": np.array([1.1, 2.0])}
    title = FIGURE.draw(arrays | {name: np.array(each) for name, each in ends.items()}).texts[0].get_text()
    assert "Of 4 starts, 1 reach" in title.replace("\n", " ")
    assert "by CCCP, 0 to 3 by self-paced" in title.replace("\n", " ")


# ── command, refusals ─────────────────────────────────────────────────────────────────────────────


def test_the_command_solves_and_verifies(tmp_path):
    words = ["solve", "motif", "latent-ssvm", "--set", "n=12", "--set", "span=12", "--set", "starts=2"]
    done = CliRunner().invoke(cli, [*words, "--json", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert (record["status"], record["gap"], record["lower_kind"]) == ("stationary", None, "none")
    shown = CliRunner().invoke(cli, [*words, "--overwrite", "--out", str(tmp_path)])
    assert "not proven as a whole" in shown.output
    assert json.loads(CliRunner().invoke(cli, ["verify", str(tmp_path), "--json"]).stdout)["proven"]


@pytest.mark.parametrize("form", [wb.LatentSSVM(), wb.SelfPacedLatent(), wb.CompletedSSVM(states=(0, 0, 0))])
def test_problems_without_hidden_variables_are_refused(form):
    problem = wb.Multiclass([[0.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.raises(wb.MissingCapability, match="hides no variables"):
        wb.solve(form, problem)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: wb.LatentSSVM(C=0.0), "C is 0.0"),
        (lambda: wb.LatentSSVM(starts=0), "starts is 0"),
        (lambda: wb.LatentSSVM(starts=0.3), "starts is 0.3; give a whole number from 1 on"),
        (lambda: wb.LatentSSVM(starts=True), "starts is True"),
        (lambda: wb.LatentSSVM(start_seed=-1), "start_seed is -1; give a whole number from 0 on"),
        (lambda: wb.SelfPacedLatent(start_seed=1.5), "start_seed is 1.5"),
        (lambda: wb.CompletedSSVM(C=True), "C is True"),
        (lambda: wb.CompletedSSVM(kept=(0, 2)), "a 1 for each sample"),
        (lambda: wb.CompletedSSVM(kept="ab"), "kept is 'ab'; give a 1 for each sample"),
        (lambda: wb.CompletedSSVM(kept=[[1], [1, 0]]), "a 1 for each sample"),
        (lambda: wb.CompletedSSVM(states=(0.7, 1, 2)), "a whole number for each sample"),
        (lambda: wb.CompletedSSVM(states=(np.inf, 1)), "a whole number for each sample"),
        (lambda: wb.CompletedSSVM(states=(10**30, 1)), "a whole number for each sample"),
        (lambda: wb.solve(wb.CompletedSSVM(kept=np.zeros(4, bool)), small(0)), "no sample with weight"),
        (lambda: wb.solve(wb.CompletedSSVM(kept=(1, 1)), small(0)), "2 entries for 4 samples"),
        (lambda: wb.solve(wb.CompletedSSVM(states=(-1, -1, 9, 0)), small(0)), "position of sample 2 is 9"),
    ],
)
def test_bad_settings_are_one_sentence(make, message):
    with pytest.raises(wb.BadInput, match=message):
        make()
