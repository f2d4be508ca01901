"""Self-paced learning: thresholds, criteria and their mixes, descent within a stage, and an end on any input."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from motif_helpers import tiny

import workbench as wb
from workbench.command.cli import cli
from workbench.formulations import self_paced_latent
from workbench.formulations.self_paced_latent import LAST, WARM, Pace
from workbench.objectives import pacing
from workbench.objectives.novelty_program import least_change_program
from workbench.objectives.pacing import (
    admitted,
    checked_shares,
    difficulties,
    first_thresholds,
    novelty_of,
    rivals,
    unit_cost,
)
from workbench.solving.majorize import check_descent

seeds = st.integers(0, 2**32 - 1)
MIXES = [
    {"slack": 1.0},
    {"slack": 0.0, "uncertainty": 1.0},
    {"slack": 0.0, "novelty": 1.0},
    {"slack": 1.0, "uncertainty": 2.0, "novelty": 1.0},
    {"slack": 1.0, "novelty": 1.0, "combine": "all"},
]


# ── criteria ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(4))
def test_novelty_is_the_declared_program_at_its_best_state(seed):
    problem, rng = tiny(seed)
    w = 0.5 * rng.normal(size=problem.n_features)
    found = novelty_of(problem, w)
    for i, (slopes, loss) in enumerate(rivals(problem)):
        values = []
        for rows in slopes:
            program, _ = least_change_program(rows, loss - rows @ w)
            program.solve(solver="CLARABEL")
            values.append(program.value if program.status == "optimal" else np.inf)
        assert found[i] == pytest.approx(min(values), rel=1e-5, abs=1e-8)


@given(seed=seeds)
@settings(max_examples=25)
def test_no_novelty_is_no_slack(seed):
    problem, rng = tiny(seed)
    w = 3 * rng.normal(size=problem.n_features)
    xi = pacing.hinges(problem, w, problem.impute(w))
    np.testing.assert_array_equal(novelty_of(problem, w) == 0, xi == 0)


def test_uncertainty_of_one_state_is_none_and_of_none_known_is_all():
    problem = wb.load_problem("motif")(n=6, span=10, length=4)
    f = difficulties(problem, np.zeros(20), problem.impute(np.zeros(20)), unit_cost(problem, 6.0), np.ones(3) / 3, 1.0)
    np.testing.assert_allclose(f[1], np.where(problem.labels == 1, np.log(7), 0), atol=1e-12)
    np.testing.assert_allclose(f[0], 1.0)


def test_rivals_are_the_outputs_of_the_other_label():
    problem = wb.Motif(["AAAA", "ACAA"], [1, 0], 2)
    for (slopes, loss), shape in zip(rivals(problem), [(3, 1, 12), (1, 3, 12)], strict=True):
        assert slopes.shape == shape
        assert loss.tolist() == [1.0] * shape[1]


# ── thresholds and who enters ─────────────────────────────────────────────────────────────────────


@given(seed=seeds)
@settings(max_examples=60)
def test_first_thresholds_admit_half_and_a_tenth_of_the_positives(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    f = np.stack([rng.exponential(size=n), rng.integers(0, 3, n) + 0.0, np.where(rng.random(n) < 0.3, np.inf, 1.0)])
    hidden = rng.random(n) < 0.5
    f[1, ~hidden] = 0.0
    kappa = first_thresholds(f, hidden, np.ones(n))
    assert (kappa > 0).all()
    assert np.isfinite(kappa).all()
    below = f < kappa[:, None]
    finite = np.isfinite(f)
    assert (below.sum(axis=1) >= np.minimum(n / 2, finite.sum(axis=1))).all()
    assert (below[:, hidden].sum(axis=1) >= np.minimum(0.1 * hidden.sum(), finite[:, hidden].sum(axis=1))).all()


def test_thresholds_do_not_fall_between_rounding_errors():
    """Six of ten samples are as good as right; the threshold halves the way to the first that is not."""
    f = np.array([0.0, 1e-17, 3e-16, 2e-9, 0.0, 1e-12, 0.4, 0.6, 1.0, np.inf])
    assert first_thresholds(f[None], np.ones(10, bool), np.ones(10)) == pytest.approx([0.2])
    assert first_thresholds(1e-7 * f[None], np.ones(10, bool), np.ones(10)) == pytest.approx([0.2e-7])


@given(seed=seeds)
@settings(max_examples=60)
def test_first_thresholds_count_weights_as_copies(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    times, hidden = rng.integers(0, 4, n), rng.random(n) < 0.5
    times[0] += not times.any()
    f = np.stack([rng.exponential(size=n), rng.integers(0, 3, n) + 0.0, np.where(rng.random(n) < 0.3, np.inf, 1.0)])
    copies = np.repeat(np.arange(n), times)
    expected = first_thresholds(f[:, copies], hidden[copies], np.ones(len(copies)))
    np.testing.assert_array_equal(first_thresholds(f, hidden, times / 8), expected)


def test_thresholds_fall_between_difficulties_and_not_between_their_digits():
    f = np.array([0.3, 0.3 + 1e-16, 0.3 - 1e-12, 0.3, 0.5])
    assert first_thresholds(f[None], np.zeros(5, bool), np.ones(5)) == pytest.approx([0.4])


def test_half_of_ten_tenths_is_five():
    """Weights of 0.1 are added as fractions: in floats, five of them and half of ten differ."""
    f = np.arange(10.0)
    assert first_thresholds(f[None], np.zeros(10, bool), np.full(10, 0.1)) == pytest.approx([4.5])


def test_mixes_and_intersections():
    f = np.array([[0.5, 0.5, 2.0, 0.0], [0.0, 3.0, 0.0, np.inf], [9.0, 9.0, 9.0, 9.0]])
    kappa, shares = np.ones(3), checked_shares(slack=1, uncertainty=1, novelty=0)
    assert admitted(f, kappa, shares, "mix").tolist() == [True, False, False, False]
    assert admitted(f, kappa, shares, "all").tolist() == [True, False, False, False]
    assert admitted(f, 2.01 * kappa, shares, "mix").tolist() == [True, True, True, False]
    assert admitted(f, 2.01 * kappa, shares, "all").tolist() == [True, False, True, False]
    alone = checked_shares(slack=5, uncertainty=0, novelty=0)
    assert (
        admitted(f, kappa, alone, "mix").tolist()
        == admitted(f, kappa, alone, "all").tolist()
        == [True, True, False, True]
    )


# ── the loop ──────────────────────────────────────────────────────────────────────────────────────


@given(seed=seeds)
@settings(max_examples=10)
def test_slack_never_raises_the_mixed_objective_within_a_stage(seed):
    problem, rng = tiny(seed)
    form = wb.SelfPacedLatent(float(10 ** rng.uniform(0, 2.5)), starts=1, start_seed=seed % 1000)
    solution = wb.solve(form, problem)
    assert solution.status == "stationary"
    for before, after in pairwise(solution.history):
        if before["stage"] == after["stage"] and 0 <= before["stage"] < LAST:
            assert after["objective"] <= before["objective"] * (1 + 1e-8)
    assert all(entry["gap"] <= 1e-9 for entry in solution.history)
    np.testing.assert_array_equal(solution.history[-1]["kept"], 1)


@pytest.mark.parametrize("mix", MIXES, ids=str)
def test_every_criterion_ends_at_a_stationary_point_of_the_whole(mix):
    problem = wb.load_problem("motif")(n=14, span=14, length=5)
    form = wb.SelfPacedLatent(20.0, **mix, starts=1)
    solution = wb.solve(form, problem, gap=1e-7)
    assert solution.status == "stationary"
    stages = [entry["stage"] for entry in solution.history]
    assert stages[:2] == [WARM, WARM + 1]
    assert stages == sorted(stages)
    assert stages[-1] == LAST
    paced = [entry for entry in solution.history if 0 <= entry["stage"] < LAST]
    assert sum(paced[0]["kept"]) < 14
    for before, after in pairwise(paced):
        assert all(k <= old for k, old in zip(after["K"], before["K"], strict=True)), "K falls"
    h = np.array(solution.certificate.formulation.states)
    assert solution.upper == pytest.approx(wb.LatentSSVM(20.0).value(problem, solution.theta_flat), rel=1e-12)
    assert wb.solve(wb.CompletedSSVM(20.0, tuple(h)), problem).upper == pytest.approx(solution.upper, rel=1e-6)


class Decided(wb.Motif):
    """Of windows that tie up to rounding the first is best, so that last digits decide nothing."""

    def impute(self, w, states=None):
        best = [int(np.argmax(np.round(scores, 6))) for scores in self.windows(w, np.arange(self.n_samples))]
        return np.where(self.labels == 1, best, -1)


def weighted_and_copied(times, draw):
    """A planted motif with sample weights `times`, the same one with that many copies of each sample, and whose."""
    plain = wb.load_problem("motif")(n=len(times), span=9, length=3, mutation=0.3, draw=draw)
    texts, copies = np.array([plain.text(i) for i in range(len(times))]), np.repeat(np.arange(len(times)), times)
    weighted = Decided(list(texts), plain.labels, 3, weights=np.array(times, float))
    return weighted, Decided(list(texts[copies]), plain.labels[copies], 3), copies


@pytest.mark.parametrize("draw", [0, 5])
@pytest.mark.parametrize("mix", [*MIXES, None], ids=str)
def test_weight_three_is_three_samples_and_weight_zero_is_none(mix, draw):
    """The same selection, thresholds, states and F in every round; `None` is plain CCCP."""
    weighted, copied, copies = weighted_and_copied([3, 0, 1, 2, 0, 1, 1, 3, 1, 1, 0, 2, 2, 1], draw)
    form = wb.LatentSSVM(4.0, starts=1) if mix is None else wb.SelfPacedLatent(4.0, **mix, mu=1.5, starts=1)
    one, other = (wb.solve(form, problem, gap=1e-9) for problem in (weighted, copied))
    assert len(one.history) == len(other.history)
    for left, right in zip(one.history, other.history, strict=True):
        assert left["value"] == pytest.approx(right["value"], rel=1e-6)
        if mix is not None:
            assert left["stage"] == right["stage"]
            same = pytest.approx(right["objective"], rel=1e-6, nan_ok=True) if left["objective"] is not None else None
            assert left["objective"] == same
            np.testing.assert_array_equal(np.array(left["kept"])[copies], right["kept"])
            np.testing.assert_allclose(left["K"] or [], right["K"] or [], rtol=1e-3)
    states = np.array(one.certificate.formulation.states)
    np.testing.assert_array_equal(states[copies], other.certificate.formulation.states)


def test_the_first_rounds_are_those_of_cccp():
    problem = wb.load_problem("motif")(n=14, span=14, length=5)
    paced = wb.solve(wb.SelfPacedLatent(20.0, starts=1), problem).history
    plain = wb.solve(wb.LatentSSVM(20.0, starts=1), problem).history
    assert [entry["upper"] for entry in paced[:2]] == pytest.approx([entry["upper"] for entry in plain[:2]], rel=1e-8)


ONE = wb.Motif(["ACGTA"], [1], 2)
NO_POSITIVES = wb.Motif(["ACGTA", "CCGTA", "TTTTT"], [-1, -1, -1], 2)
NO_NEGATIVES = wb.Motif(["ACGTA", "CCGTA"], [1, 1], 2)
TWINS = wb.Motif(["AAAA", "AAAA", "ACGT", "ACGT"], [1, -1, 1, -1], 2)
WEIGHTLESS = wb.Motif(["ACGTA", "CCGTA", "TTTTT"], [1, -1, -1], 2, weights=[0.0, 0.0, 1.0])


@pytest.mark.parametrize("mix", MIXES, ids=str)
@pytest.mark.parametrize(
    "problem", [ONE, NO_POSITIVES, NO_NEGATIVES, TWINS, WEIGHTLESS], ids=["one", "neg", "pos", "twins", "weightless"]
)
def test_adversarial_problems_end(problem, mix):
    for form in (wb.SelfPacedLatent(10.0, **mix, starts=1), wb.LatentSSVM(10.0, starts=1)):
        assert wb.solve(form, problem, gap=1e-6).status == "stationary"


@pytest.mark.parametrize("value", [np.inf, 0.0, 1e300, "some"])
def test_adversarial_criteria_end(value, monkeypatch):
    """All novelties infinite, all zero, all huge, all but one infinite."""
    problem = wb.load_problem("motif")(n=8, span=10, length=4)

    def stubborn(problem, w):
        found = np.full(problem.n_samples, np.inf if value == "some" else value)
        found[0] = 1.0 if value == "some" else found[0]
        return found

    monkeypatch.setattr(pacing, "novelty_of", stubborn)
    solution = wb.solve(wb.SelfPacedLatent(10.0, slack=0.0, novelty=1.0, starts=1), problem, gap=1e-6)
    assert solution.status == "stationary"
    assert solution.rounds < 30


def test_a_criterion_that_grows_with_its_threshold_ends(monkeypatch):
    """Nobody new ever enters: after MOST_STAGES all do."""
    problem = wb.load_problem("motif")(n=8, span=10, length=4)
    easy = np.where(np.arange(8) < 4, 0.0, 1e250)
    monkeypatch.setattr(pacing, "novelty_of", lambda problem, w: easy)
    monkeypatch.setattr(self_paced_latent, "MOST_STAGES", 20)
    solution = wb.solve(wb.SelfPacedLatent(10.0, slack=0.0, novelty=1.0, starts=1), problem, gap=1e-6)
    assert solution.status == "stationary"
    assert max(entry["stage"] for entry in solution.history if entry["stage"] < LAST) < 20


def test_samples_that_take_turns_end(monkeypatch):
    """Every stage another sample is the only hard one: after MOST_STAGES all enter."""
    problem, calls = wb.load_problem("motif")(n=8, span=10, length=4), []

    def turning(problem, w):
        calls.append(w)
        return np.where(np.arange(8) == len(calls) % 8, 10.0 ** len(calls), 0.0)

    monkeypatch.setattr(pacing, "novelty_of", turning)
    monkeypatch.setattr(self_paced_latent, "MOST_STAGES", 9)
    solution = wb.solve(wb.SelfPacedLatent(10.0, slack=0.0, novelty=1.0, starts=1), problem, gap=1e-6)
    assert solution.status == "stationary"
    assert [entry["stage"] for entry in solution.history if 0 <= entry["stage"] < LAST] == list(range(9))
    assert all(sum(entry["kept"]) == 7 for entry in solution.history if 0 <= entry["stage"] < LAST)


@pytest.mark.parametrize("mu", [1.001, 1.01, 1.3])
def test_however_slowly_thresholds_grow_they_reach_everybody(mu, monkeypatch):
    """Difficulties 0, 0, 0, 0, 1, 10, 100, 1000, positives last: they enter one after the other."""
    problem = wb.load_problem("motif")(n=8, span=10, length=4)
    easy = np.where(np.arange(8) < 4, 0.0, 10.0 ** (np.arange(8) - 4.0))
    monkeypatch.setattr(pacing, "novelty_of", lambda problem, w: easy)
    history = wb.solve(wb.SelfPacedLatent(10.0, slack=0.0, novelty=1.0, mu=mu, starts=1), problem, gap=1e-6).history
    kept = [sum(entry["kept"]) for entry in history if 0 <= entry["stage"] < LAST]
    assert list(dict.fromkeys(kept)) == [5, 6, 7]


def test_states_are_packed_and_unpacked():
    pace = Pace(3, np.array([0.5, 1.0, 2.0]), np.array([4, -1]), np.array([1, 0]))
    again = Pace.of(pace.packed())
    assert again.stage == 3
    for one, other in zip(pace[1:], again[1:], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_rise_within_a_stage_is_an_error():
    form, entry = wb.SelfPacedLatent(), {"stage": 2, "objective": 2.0, "upper": 1.0, "lower": 1.0, "round": 5}
    check_descent(form, [entry | {"objective": 1.0, "stage": 1}], entry)
    with pytest.raises(wb.CutbenchError, match=r"rose from 1\.0 to 2\.0 in round 5"):
        check_descent(form, [entry | {"objective": 1.0}], entry)


def test_a_criterion_is_a_setting_of_its_own():
    done = CliRunner().invoke(cli, ["solve", "motif", "self-paced-latent", "--set", "criterion=novelty"])
    assert "no setting called 'criterion'; did you mean 'novelty'?" in done.stderr


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"slack": 0.0}, "are all 0"),
        ({"novelty": -1.0}, "novelty is -1.0; a criterion's share is 0 or from"),
        ({"slack": 1e308, "novelty": 1e308}, "slack is 1e[+]308"),
        ({"slack": "a"}, "slack is 'a'"),
        ({"mu": 1.0}, "mu is 1.0; thresholds grow by it"),
        ({"mu": 1.0000001}, "give 1.001 to 1e100"),
        ({"mu": "2"}, "mu is '2'"),
        ({"mu": np.nan}, "mu is nan"),
        ({"combine": "any"}, "choose mix or all"),
        ({"steepness": 0.0}, "steepness is 0.0"),
    ],
)
def test_bad_settings_are_one_sentence(setting, message):
    with pytest.raises(wb.BadInput, match=message):
        wb.SelfPacedLatent(**setting)


def test_programs_of_a_sample_are_those_that_novelty_solves():
    """The least of their optima, over hidden states; without hidden states there is one."""
    problem, rng = tiny(3)
    w = 0.5 * rng.normal(size=problem.n_features)
    found = wb.novelty(problem, w)
    for i in range(problem.n_samples):
        programs = wb.novelty_programs(problem, w, i)
        values = [each.solve(solver="CLARABEL") for each, _ in programs]
        assert len(programs) == problem.n_hidden[i]
        assert found.values[i] == pytest.approx(min(values), rel=1e-5, abs=1e-8)
    plain = dict(wb.registry("output").items())["multiclass"].tiny(rng)
    zeros = np.zeros(plain.n_features)
    ((program, delta),) = wb.novelty_programs(plain, zeros, 2)
    assert program.solve(solver="CLARABEL") == pytest.approx(wb.novelty(plain, zeros, [2]).values[0])
    assert delta.shape == (plain.n_features,)
    with pytest.raises(wb.BadInput, match="There is no sample 99"):
        wb.novelty_programs(plain, zeros, 99)
