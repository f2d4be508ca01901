"""Multiples of λ against their definitions: which are out of the question, which have a reason, how the best is found.

With optima that are made up: ‖w(κ)‖ is a given function of κ, and nothing is solved.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench.judging.conventions import scaling
from workbench.judging.conventions.detective import explain
from workbench.judging.conventions.neighbours import Suspect
from workbench.judging.conventions.scaling import best_multiple, multiples, open_ones, ratios, with_intercepts
from workbench.judging.reference import Reference, reference_of

LONGEST, STEPS, GRID, FAR, ALIKE, FLAT, NEAR = 15.0, 10, 0.05, 0.03, 3e-3, -0.05, 30.0  # written out, not imported
LAM, ANYWHERE = 0.5, (-np.inf, np.inf)


def suspected(problem, form, theta=None, reference=None):
    theta = np.ones(problem.n_features) if theta is None else np.asarray(theta, float)
    best = theta if reference is None else np.asarray(reference, float)
    return Suspect(theta, Reference(form, problem, best, 1.0, 0.0, 1.0))


def multiclass(weights=None, n=6):
    return wb.Multiclass(np.eye(n, 2), np.arange(n) % 3, weights=weights)


# ── the best multiple ─────────────────────────────────────────────────────────────────────────────


def searched(monkeypatch, length, within=ANYWHERE, wanted=1.0):
    """(κ, the κ that were solved for), where ‖w(κ)‖ is length(κ) and the learner's weights have the length wanted."""
    problem, asked = multiclass(), []

    def solve(form, problem, gap, time_limit):
        assert (gap, time_limit) == (1e-4, 60.0)
        asked.append(form.lam / LAM)
        return SimpleNamespace(theta_flat=length(asked[-1]) * np.eye(problem.n_features)[0])

    monkeypatch.setattr(scaling, "solve", solve)
    one = np.eye(problem.n_features)[1]
    return best_multiple(suspected(problem, wb.SoftMargin(LAM), wanted * one, length(1.0) * one), "lam", within), asked


@pytest.mark.parametrize("power", [1.0, 0.5, 0.2])
@pytest.mark.parametrize("first", [4.0, 0.25])
def test_the_search_follows_the_slope_of_the_last_two(power, first, monkeypatch):
    """‖w(κ)‖ = first κ^−power: the first step has the slope −1, the second finds first^(1/power)."""
    kappa, asked = searched(monkeypatch, lambda each: first * each**-power)
    assert asked == pytest.approx([first] if power == 1.0 else [first, first ** (1 / power)])
    assert kappa == pytest.approx(first ** (1 / power))
    kappa, asked = searched(monkeypatch, lambda each: 6.0 * first * each**-power, wanted=6.0)
    assert kappa == pytest.approx(first ** (1 / power))


def test_slopes_are_between_those_that_can_be(monkeypatch):
    """No step is shorter than by the slope −1, none longer than by FLAT."""
    steep = {1.0: 2.0, 2.0: 2.0**-2}  # a slope of −3 in log κ
    _, asked = searched(monkeypatch, lambda each: steep.get(round(each, 6), 1.0))
    assert asked == pytest.approx([2.0, 0.5])
    level = {1.0: np.exp(0.1), round(np.exp(0.1), 6): np.exp(0.1)}  # a slope of 0
    _, asked = searched(monkeypatch, lambda each: level.get(round(each, 6), 1.0))
    assert np.log(asked) == pytest.approx([0.1, 0.1 - 0.1 / FLAT])


def test_the_slope_is_that_of_the_last_two_places(monkeypatch):
    """log ‖w‖ is 1 at log κ = 0, 0.6 at 1, 0.3 at 2.5: slopes −1, −0.4, −0.2."""
    logs = {0.0: 1.0, 1.0: 0.6, 2.5: 0.3}
    _, asked = searched(monkeypatch, lambda each: np.exp(logs.get(round(float(np.log(each)), 6), 0.0)))
    assert np.log(asked) == pytest.approx([1.0, 2.5, 4.0])


def test_lengths_that_are_alike_end_the_search(monkeypatch):
    for off, solves in ((0.99 * ALIKE, 0), (1.01 * ALIKE, 1), (-0.99 * ALIKE, 0), (-1.01 * ALIKE, 1)):
        _, asked = searched(monkeypatch, lambda each, off=off: np.exp(off) if each == 1.0 else 1.0)
        assert len(asked) == solves
    monkeypatch.setattr(scaling, "ALIKE", float(np.log(2.0)))
    _, asked = searched(monkeypatch, lambda each: 2.0)  # just as unlike as that
    assert len(asked) >= 1


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_search_ends_far_away_or_after_ten_steps(sign, monkeypatch):
    """Steps of at most LONGEST/2; at LONGEST it still goes on, beyond it ends."""
    _, asked = searched(monkeypatch, lambda each: np.exp(10.0 * sign))
    assert np.log(asked) == pytest.approx([7.5 * sign, 15.0 * sign, 22.5 * sign])
    _, asked = searched(monkeypatch, lambda each: np.exp(0.004 * sign))  # steps of 0.08 after the first
    assert np.log(asked) == pytest.approx(sign * (0.004 + 0.08 * np.arange(STEPS)))
    _, asked = searched(monkeypatch, lambda each: 0.0 if sign > 0 else 1e100)
    assert np.log(asked[0]) == pytest.approx(-7.5 * sign)


def test_the_search_stays_within_its_ends_and_gives_up_at_one(monkeypatch):
    assert searched(monkeypatch, lambda each: 8.0 / each, (-1.0, 1.0)) == (None, pytest.approx([np.e]))
    assert searched(monkeypatch, lambda each: 0.1 / each, (-1.0, 1.0)) == (None, pytest.approx([1 / np.e]))
    kappa, asked = searched(monkeypatch, lambda each: 2.0 if each == 1.0 else 1.0, (-1.0, 0.5))
    assert (kappa, asked) == (pytest.approx(np.exp(0.5)), pytest.approx([np.exp(0.5)]))
    back = {1.0: 2.0, round(np.exp(0.5), 6): 0.9}  # at its end it may turn back
    kappa, asked = searched(monkeypatch, lambda each: back.get(round(each, 6), 1.0), (-1.0, 0.5))
    assert len(asked) == 2
    assert kappa < np.exp(0.5)
    back = {1.0: 0.5, round(np.exp(-0.5), 6): 1.1}
    kappa, asked = searched(monkeypatch, lambda each: back.get(round(each, 6), 1.0), (-0.5, 1.0))
    assert len(asked) == 2
    assert kappa > np.exp(-0.5)
    assert searched(monkeypatch, lambda each: 2.0, (-1.0, 0.0)) == (None, [])  # 0 is an end
    assert searched(monkeypatch, lambda each: 0.5, (0.0, 1.0)) == (None, [])


# ── which are out of the question ─────────────────────────────────────────────────────────────────


def opened(theta, best, risk, cost=lambda v: float(v @ v) / 2, plain=True):
    theta, best = np.asarray(theta, float), np.asarray(best, float)
    bounds = SimpleNamespace(upper=lambda v: cost(v) + risk(v), regularizer=SimpleNamespace(value=cost))
    reference = SimpleNamespace(bounds=bounds, theta=best)
    suspect = SimpleNamespace(plain=plain, reference=reference, theta=theta, length=float(np.linalg.norm(theta)))
    return open_ones(suspect)


def defined(theta, best, risk, cost=lambda v: float(v @ v) / 2):
    """By the definition, κ by κ: open unless a multiple of θ or of the best is better by FAR of κ r(θ) + R(θ)."""
    theta, best = np.asarray(theta, float), np.asarray(best, float)
    times = [2.0**k for k in (-6, -5.5, -5, -4.5, -4, -3.5, -3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1)]
    unit = best / np.linalg.norm(best) * np.linalg.norm(theta)
    points = [t * v for v in (unit, theta) for t in times]
    logs, is_open = -LONGEST + GRID * np.arange(600), []
    for log in logs:
        kappa = np.exp(log)
        here = kappa * cost(theta) + risk(theta)
        is_open.append(all(here - (kappa * cost(v) + risk(v)) <= FAR * here for v in points))
    where = np.flatnonzero(is_open)
    if not len(where):
        return None
    low, high = where[0] - 1, where[-1] + 1
    return (-np.inf if low <= 0 else logs[low], np.inf if high >= 599 else logs[high])


RISKS = {
    "a hinge": lambda v: max(0.0, 1.0 - v[0]) + max(0.0, 0.5 - v[1]),
    "steep": lambda v: 40.0 * max(0.0, 1.0 - v[0]),
    "light": lambda v: 1e-4 * max(0.0, 1.0 - v[0]),
    "squares": lambda v: float((v[0] - 1.0) ** 2 + (v[1] - 2.0) ** 2) + 0.1,
    "tiny": lambda v: 1e-7 * (1.0 - min(v[0], 1.0)) + 1e-9,
    "huge": lambda v: 1e7 * max(0.0, 1.0 - v[0]),
}


@pytest.mark.parametrize("risk", RISKS.values(), ids=RISKS)
@pytest.mark.parametrize("theta", [(1.0, 0.5), (0.3, 0.1), (3.0, 1.0), (0.9, 0.45), (2.0, -1.0), (0.02, 0.0)])
@pytest.mark.parametrize("best", [(1.0, 0.5), (0.2, 0.3)])
def test_multiples_are_open_by_the_definition(theta, best, risk):
    found, wanted = opened(theta, best, risk), defined(theta, best, risk)
    assert (found is None) == (wanted is None)
    assert wanted is None or found == pytest.approx(wanted, abs=1e-9)


def test_an_advantage_of_just_what_is_far_leaves_a_multiple_open(monkeypatch):
    """R falls from 1 to a half or just below on the way to other points, and r is 0; a half is called far."""
    monkeypatch.setattr(scaling, "FAR", 0.5)
    for left, wanted in ((0.5, ANYWHERE), (0.4999, None)):
        risk = lambda v, left=left: 1.0 if abs(v[0] - 1.0) < 1e-9 and v[1] == 0 else left  # noqa: E731
        assert opened((1.0, 0.0), (0.0, 1.0), risk, cost=lambda v: 0.0) == wanted


def test_where_nothing_is_known_all_are_open():
    assert opened((1.0, 0.0), (0.0, 0.0), RISKS["steep"]) == ANYWHERE
    assert opened((-1.0, 0.0), (1.0, 0.0), RISKS["steep"], plain=False) == ANYWHERE
    assert opened((-1.0, 0.0), (1.0, 0.0), RISKS["steep"]) is None


# ── multiples with a reason ───────────────────────────────────────────────────────────────────────


def told(problem, form):
    return sorted((name, round(ratio, 9)) for ratio, name, _ in ratios(suspected(problem, form)))


def test_the_ratios_of_a_mean():
    """n = 5 of six samples have weights, which sum to 10; C Σ h with C = λ means 1/(λ²n)."""
    problem = multiclass(np.array([1.0, 2.0, 3.0, 3.0, 1.0, 0.0]))
    wanted = {"λ twice": [2.0], "λ half": [0.5], "weights not normalised": [0.5], "sum for mean": [0.1, 0.2]}
    wanted |= {"mean twice": [10.0, 5.0], "λ read as C": [1 / 0.9, 1 / 0.45], "λ read as C/n": [1 / 0.09]}
    wanted |= {"C = 1": [1 / 3.0]}
    assert told(problem, wb.SoftMargin(0.3)) == sorted(
        (name, round(each, 9)) for name, every in wanted.items() for each in every
    )
    sentences = {saying for _, _, saying in ratios(suspected(problem, wb.SoftMargin(0.3)))}
    assert "with λ 0.5 times as large (weights divided by n, not Σ s)" in sentences
    assert "with λ 10 times smaller (the losses' sum, not their mean)" in sentences
    equal = multiclass()
    names = [name for name, _ in told(equal, wb.SoftMargin(0.3))]
    assert (names.count("sum for mean"), names.count("mean twice"), names.count("λ read as C")) == (1, 1, 1)
    assert "weights not normalised" not in names  # which is 1


@pytest.mark.parametrize(("lam", "named"), [(1.0, False), (1.019, False), (1.021, True), (2 / 6, False), (0.3, True)])
def test_the_default_of_packages_is_named_where_no_other_ratio_is_the_same(lam, named):
    """C = 1 is λ = 1/n for six samples: the sum in place of the mean if λ = 1, and half of λ if λ = 2/n."""
    assert ("C = 1" in [name for name, _ in told(multiclass(), wb.SoftMargin(lam))]) == named


def test_the_default_of_packages_with_one_vector_for_two_labels():
    """½‖c‖² + C Σ h of c = w₁ − w₀ is λ = 2/(Cn) of both rows."""
    rng = np.random.default_rng(0)
    suspect = suspected(wb.Multiclass(rng.normal(size=(6, 2)), np.arange(6) % 2), wb.SoftMargin(0.4))
    usual = [saying for _, name, saying in ratios(suspect) if name == "C = 1"]
    assert len(usual) == 2
    assert "with λ 0.417 times" in usual[0]
    assert "with λ 0.833 times as large (C = 1, the default of many packages, in ½‖c‖² + C Σ h, c = w₁ − w₀" in usual[1]


@pytest.mark.parametrize("kind", ["penalised", "free"])
@pytest.mark.parametrize(("ratio", "name"), [(1 / (0.04 * 40), "C = 1"), (3.3, "λ")])
def test_another_lambda_with_an_intercept_of_its_own_is_found(kind, ratio, name):
    """Optima of data with one more column, of which that column's weights are left out."""
    rng = np.random.default_rng(8)
    X, lam = rng.normal(size=(40, 3)) + 0.5, 0.04
    y = (X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(40, 3))).argmax(axis=1)
    asked, value = wb.solve(wb.SoftMargin(lam), wb.Multiclass(X, y)), 1.0 if kind == "penalised" else 64.0
    wide = wb.Multiclass(np.column_stack([X, np.full(40, value)]), y)
    theta = wb.solve(wb.SoftMargin(ratio * lam), wide, gap=1e-9).theta_flat.reshape(3, 4)[:, :3].ravel()
    found = {each.name: each for each in with_intercepts(Suspect(theta, reference_of(asked)))}
    said = f"{name}, {'free intercept' if kind == 'free' else 'intercept'} added"
    assert said in found
    assert found[said].evidence["multiple"] == pytest.approx(ratio, rel=0.03)
    assert found[said].formulation.lam == pytest.approx(ratio * lam, rel=0.03)
    assert found[said].evidence["several"] == 2.0
    told = explain(theta, asked)
    if name == "C = 1":
        assert (told.name, told.confident) == (said, False)


def test_an_intercept_alone_is_no_pair(monkeypatch):
    for kappa, count in ((1.49, 0), (1.51, 2), (1 / 1.49, 0), (1 / 1.51, 2), (None, 0)):
        monkeypatch.setattr(scaling, "best_multiple", lambda *asked, kappa=kappa: kappa)
        assert len(list(with_intercepts(suspected(multiclass(), wb.SoftMargin(0.3))))) == count


def test_ratios_of_two_per_cent_are_none(monkeypatch):
    for away, count in ((0.019, 0), (0.021, 1), (-0.019, 0), (-0.021, 1)):
        lam = np.exp(-away / 2)  # 1/λ² = e^away
        names = [name for name, _ in told(multiclass(), wb.SoftMargin(float(lam)))]
        assert names.count("λ read as C/n") == count


def test_the_ratios_of_sequences_and_of_sums():
    chain = wb.Chain([np.ones((3, 1)), np.ones((1, 1))], [np.array([0, 1, 0]), np.array([1])])
    assert ("mean over positions", 2.0) in told(chain, wb.SoftMargin(0.3))
    singles = wb.Chain([np.ones((1, 1))] * 3, [np.array([0]), np.array([1]), np.array([1])])
    assert "mean over positions" not in [name for name, _ in told(singles, wb.SoftMargin(0.3))]
    form = SimpleNamespace(lam=0.3, prices=lambda problem: SimpleNamespace(mean=False))
    summed = multiclass(np.array([1.0, 2.0, 3.0, 3.0, 1.0, 0.0]))
    assert told(summed, form) == [
        ("mean for sum", 10.0),
        ("weights not normalised", 0.5),
        ("λ half", 0.5),
        ("λ twice", 2.0),
    ]
    without = SimpleNamespace(prices=lambda problem: SimpleNamespace(mean=True))
    assert "λ read as C" not in [name for name, _ in told(multiclass(), without)]


def tried(monkeypatch, kappa, named, form=wb.SoftMargin(0.5), theta=None, within=ANYWHERE):  # noqa: B008
    """What is tried where κ is the best multiple and `named` are the ratios with a reason."""
    monkeypatch.setattr(scaling, "open_ones", lambda suspect: within)
    monkeypatch.setattr(scaling, "best_multiple", lambda suspect, key, ends: kappa if ends == within else None)
    monkeypatch.setattr(scaling, "ratios", lambda suspect: [(each, f"{each:g}", "so") for each in named])
    return list(multiples(suspected(multiclass(), form, theta)))


def test_ratios_near_the_best_multiple_are_tried(monkeypatch):
    found = tried(monkeypatch, 1.0, [30.0, 29.9, 1 / 29.9, 1 / 30.1, 1.0])
    assert [each.name for each in found] == ["29.9", "0.0334448", "1"]
    assert found[0].formulation.lam == pytest.approx(14.95)
    assert found[0].sentence == "minimises the same objective so"
    assert (found[0].evidence, found[0].objective, found[0].size) == (
        {"multiple": 1.0, "ratio": 29.9},
        ("λ", 29.9),
        0.0,
    )
    assert [each.name for each in tried(monkeypatch, 60.0, [2.1, 1.9])] == ["2.1", "λ"]


@pytest.mark.parametrize(("kappa", "another"), [(1.5, False), (1.501, True), (1 / 1.499, False), (1 / 1.501, True)])
def test_the_best_multiple_itself_is_tried_if_it_is_another(kappa, another, monkeypatch):
    found = tried(monkeypatch, kappa, [])
    assert [each.name for each in found] == (["λ"] if another else [])
    assert not another or found[0].formulation.lam == pytest.approx(0.5 * kappa)


def test_where_no_multiple_is_looked_for(monkeypatch):
    assert tried(monkeypatch, 2.0, [2.0])
    assert not tried(monkeypatch, None, [2.0])
    assert not tried(monkeypatch, 2.0, [2.0], theta=np.zeros(6))
    assert tried(monkeypatch, 2.0, [2.0], theta=1e-9 * np.ones(6))
    assert not tried(monkeypatch, 2.0, [2.0], within=None)
    without = SimpleNamespace(blocks=wb.SoftMargin(0.5).blocks)
    assert not tried(monkeypatch, 2.0, [2.0], form=without)


def test_the_numbers_of_the_search():
    assert (scaling.LONGEST, scaling.STEPS, scaling.GRID, scaling.FAR) == (LONGEST, STEPS, GRID, FAR)
    assert (scaling.ALIKE, scaling.FLAT, scaling.NEAR, scaling.ELSEWHERE) == (ALIKE, FLAT, NEAR, 1.5)
    assert (scaling.ROUGH, scaling.SECONDS) == (1e-4, 60.0)
    np.testing.assert_allclose(np.log2(scaling.ALONG), np.arange(-12, 3) / 2)
