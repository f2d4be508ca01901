"""The proof of a novelty, part by part: what any λ and δ prove, whoever proposes them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.arithmetic.intervals import U, down, gamma, up
from workbench.objectives import least_change
from workbench.objectives.least_change import AGAINST, BEYOND, SAME, Answer, best_state, exact_answer, floor, least

ROWS, NEEDS = np.array([[3.0, 4.0], [1.0, -1.0], [0.0, 2.0]]), np.array([5.0, -1.0, 1.0])


def ends_of(rows: Any, needs: Any, weights: Any, delta: Any) -> tuple[float, float]:
    ends = np.full(2, np.nan)
    norms = np.sqrt(np.einsum("rj,rj->r", rows, rows))
    least_change.proven_ends(rows, needs, norms, np.asarray(weights, float), np.asarray(delta, float), ends)
    return float(ends[0]), float(ends[1])


@pytest.mark.parametrize("seed", range(6))
def test_ends_are_proven_for_any_weights_and_any_change(seed):
    rng = np.random.default_rng(seed)
    rows, delta = rng.normal(size=(9, 4)), rng.normal(size=4)
    weights, needs = rng.exponential(size=9) * (rng.random(9) < 0.7), rows @ delta - 0.1
    lower, upper = ends_of(rows, needs, weights, delta)
    push = [sum(Fraction(w) * Fraction(x) for w, x in zip(weights, column, strict=True)) for column in rows.T]
    reward = sum(Fraction(w) * Fraction(b) for w, b in zip(weights, needs, strict=True))
    if reward <= 0:
        assert lower == 0
    else:
        true = reward**2 / (2 * sum(x * x for x in push))
        assert true * (1 - Fraction(1, 10**12)) <= Fraction(lower) <= true
    half = sum(Fraction(x) ** 2 for x in delta) / 2
    assert half <= Fraction(upper) <= half * (1 + Fraction(1, 10**13))
    needs[seed] += 0.2  # a row that δ does not keep
    assert ends_of(rows, needs, weights, delta)[1] == np.inf


@pytest.mark.parametrize("unit", [0.0, 2.0**-10, 2.0**-6])
def test_every_rounding_is_counted(unit, monkeypatch):
    """With a large unit each term of the error can be seen: two rows with weight, one of them of a need below 0."""
    monkeypatch.setattr(least_change, "UNIT", unit)
    wide, terms = 1 + 11 * unit, 2 + 4
    length = np.linalg.norm([6.5, 7.5]) * wide + 2 * terms * unit * (10 + 0.5 * np.sqrt(2)) * wide
    lower, _ = ends_of(ROWS, NEEDS, [2.0, 0.5, 0.0], [3.0, 4.0])
    _, upper = ends_of(ROWS, NEEDS - 4, np.zeros(3), [3.0, 4.0])
    assert lower == pytest.approx(((9.5 - 2 * terms * unit * 10.5) / length) ** 2 / 2 * (1 - 9 * unit), rel=1e-13)
    assert upper == pytest.approx(12.5 * wide**2 * (1 + 9 * unit), rel=1e-13)
    for r, norm in enumerate((5.0, np.sqrt(2), 2.0)):
        edge = ROWS @ [3.0, 4.0] - 2 * 11 * unit * 5 * wide * norm
        for off, kept in ((-1e-9, True), (1e-9, False)):
            needs = np.where(np.arange(3) == r, edge + off, -1e3)
            assert np.isfinite(ends_of(ROWS, needs, np.zeros(3), [3.0, 4.0])[1]) == kept
    assert ends_of(ROWS, -NEEDS, [1.0, 0.0, 0.0], [0.0, 0.0])[0] == 0.0
    assert ends_of(ROWS, NEEDS, [-1.0, 0.0, 0.0], [0.0, 0.0]) == (0.0, np.inf)


def test_a_row_that_is_just_kept_is_kept(monkeypatch):
    monkeypatch.setattr(least_change, "UNIT", 0.0)
    assert ends_of(ROWS, ROWS @ [3.0, 4.0], np.zeros(3), [3.0, 4.0]) == (0.0, 12.5)


def test_the_hardest_row_alone():
    assert floor(ROWS, NEEDS) == 0.5
    assert floor(ROWS, np.array([-9.0, -1, 4])) == 2.0
    assert floor(ROWS, np.array([-9.0, 0, 0])) == 0.0
    none = np.vstack([ROWS, np.zeros(2)])
    assert floor(none, np.array([1.0, 1, 1, 1])) == np.inf
    assert floor(none, np.array([1.0, 1, 1, -1])) == 0.0
    assert floor(none, np.array([1.0, 1, 1, 0])) == 0.0
    assert floor(np.array([[1.0], [1e70]]), np.array([1.0, -1.0])) == 0.0
    one = np.array([1.0])
    for size, need, found in (
        (1e60, 1.0, 5e-121),
        (1e-60, 1.0, 5e119),
        (1.1e60, 1.0, 0.0),
        (0.9e-60, 1.0, 0.0),
        (1.0, 1e60, 5e119),
        (1.0, 1.1e60, 0.0),
        (1e60, 1e-100, 0.0),
        (1.0, 1e-119, 5e-239),
        (1.0, 1e-125, 0.0),
    ):
        assert floor(np.array([[size]]), need * one) == pytest.approx(found, rel=1e-12, abs=0)
    assert floor(np.array([[1.0], [1e-70]]), np.array([1.0, -1.0])) == 0.0
    assert floor(np.array([[1.0], [1.0]]), np.array([1.0, -1e70])) == 0.0


class Steps:
    """A search that proposes what it is told, beside ends that are given; notes what it was asked."""

    def __init__(self, *ends: tuple[float, float], change: Any = (0.6, 0.8)):
        self.ends, self.change, self.asked = list(ends), np.asarray(change), []

    def __iter__(self) -> Any:
        return iter((self.solve, self.prove))

    def solve(self, rows, needs, norms, extra, best, weights, delta):
        self.asked.append((extra, best, norms.tolist()))
        weights[:], delta[:] = [1.0, 0.0, 2.0], self.change

    def prove(self, rows, needs, norms, weights, delta, ends):
        ends[:] = self.ends.pop(0)


def test_an_answer_counts_if_its_ends_are_alike():
    steps = Steps((0.5, 0.5 * (1 + 0.9e-9)))
    answer = least(ROWS, NEEDS, 0.5, np.inf, steps)
    assert (answer.value, answer.lower, answer.upper, answer.active) == (0.5, 0.5, 0.5 * (1 + 0.9e-9), 2)
    assert answer.change.tolist() == [0.6, 0.8]
    assert steps.asked == [(32 * 11 * U * 4, np.inf, [5, np.sqrt(2), 2])]
    within = Steps((0.125 * (1 - 4e-10), 0.125 * (1 + 4e-10)), change=(0.3, 0.4))
    assert least(ROWS, NEEDS, 0.5, np.inf, within).value == pytest.approx(0.125, rel=1e-15)
    assert least(ROWS, NEEDS, 0.5, np.inf, Steps((0.6, 0.6))).value == 0.6
    assert least(ROWS, NEEDS, 0.5, np.inf, Steps((0.4, 0.4))).value == 0.4


def test_floats_are_asked_three_times_and_then_fractions(monkeypatch):
    asked = []
    monkeypatch.setattr(least_change, "exact_answer", lambda *each: asked.append(each) or "exact")
    steps = Steps(*[(0.5, 0.5 * (1 + 1.1e-9))] * 3, change=(0.3, 0.4))
    assert least(ROWS, NEEDS, 2.0, 0.6, steps) == "exact"
    extra = 32 * 11 * U
    assert [each for each, _, _ in steps.asked] == pytest.approx([8 * extra, extra / 2, -extra / 2], rel=1e-14, abs=0)
    assert [best for _, best, _ in steps.asked] == [0.6] * 3
    assert asked[0][2].tolist() == [1, 0, 2]
    steps = Steps()
    assert least(ROWS, NEEDS, 0.0, 0.6, steps) == "exact"
    assert (steps.asked, asked[1][2].tolist()) == ([], [0, 0, 0])


def test_programs_that_are_given_up():
    above = least(ROWS, NEEDS, 0.5, 0.5, Steps((0.5, np.inf)))
    assert (above.value, above.lower, above.upper, above.why, above.active) == (np.inf, 0.5, np.inf, "", 0)
    assert above.change.tolist() == [0, 0]
    for lower, why in ((0.5 * 10.0**28, AGAINST), (0.6 * 10.0**28, AGAINST)):
        given = least(ROWS, NEEDS, 0.5, np.inf, Steps((lower, np.inf)))
        assert (given.value, given.lower, given.why) == (np.inf, lower, why)
    same = least(ROWS, NEEDS, np.inf, np.inf, Steps())
    assert (same.value, same.lower, same.upper, same.why) == (np.inf, np.inf, np.inf, SAME)
    easy = least(ROWS, np.array([0.0, -1, -1]), 0.0, np.inf, Steps())
    assert (easy.value, easy.lower, easy.upper, easy.active, easy.why) == (0, 0, 0, 0, "")
    assert easy.change.tolist() == [0, 0]


def of_states(monkeypatch: Any, floors: list[float], answers: dict[int, Answer]) -> tuple[int, Answer, list[int]]:
    """The best of states whose floors and answers are given, and which of them were solved."""
    solved = []

    def answer(rows: Any, needs: Any, alone: float, best: float, steps: Any) -> Answer:
        solved.append(int(needs[0]))
        assert alone == floors[int(needs[0])]
        return answers[int(needs[0])]

    monkeypatch.setattr(least_change, "floor", lambda rows, needs: floors[int(needs[0])])
    monkeypatch.setattr(least_change, "least", answer)
    return *best_state([(np.zeros((1, 2)), np.array([float(k)])) for k in range(len(floors))], None), solved


def test_the_best_of_several_states(monkeypatch):
    delta, none = np.ones(2), np.zeros(2)
    answers = {
        0: Answer(3.0, 2.75, 3.25, 3 * delta, 3),
        1: Answer(2.0, 1.75, 2.25, delta, 1),
        2: Answer(np.inf, 1.5, np.inf, none, 0, "first"),
        3: Answer(np.inf, 9.0, np.inf, none, 0, "second"),
    }
    state, best, solved = of_states(monkeypatch, [2.5, 1.0, 2.0, 3.0], answers)
    assert (state, best.value, best.upper, best.active, best.why, solved) == (1, 2.0, 2.25, 1, "", [1])
    assert best.lower == 1.75
    state, best, solved = of_states(monkeypatch, [0.5, 1.0, 0.25, 3.0], answers)
    assert (state, best.value, best.lower, solved) == (1, 2.0, 1.5, [2, 0, 1])
    state, best, solved = of_states(monkeypatch, [0.5, 9.0, 0.25], answers)
    assert (state, best.value, best.lower, best.why, solved) == (0, 3.0, 1.5, "", [2, 0])
    answers[1] = Answer(2.0, 2.0, 2.25, delta, 1)
    state, best, solved = of_states(monkeypatch, [2.0, 1.0], answers)
    assert best.lower == 2.0 * (1 - gamma(10))
    state, best, solved = of_states(monkeypatch, [9.0, 9.0, 0.5, 0.25], {**answers, 0: answers[3], 1: answers[3]})
    assert (state, best.value, best.lower, best.upper, solved) == (-1, np.inf, 1.5, np.inf, [3, 2, 0, 1])
    assert best.why == "in every hidden state second or first: ½‖δ‖² ≥ 1.5e+00"
    endless = Answer(np.inf, np.inf, np.inf, none, 0, "none")
    assert of_states(monkeypatch, [1.0], {0: endless})[1].why == "in every hidden state none"


def test_fractions_are_rounded_outward():
    third = exact_answer(np.array([[3.0]]), np.array([1.0]), np.zeros(1))
    assert (third.lower, third.value, third.upper) == (down(1 / 18), 1 / 18, up(1 / 18))
    assert (third.change.tolist(), third.active, third.why) == ([1 / 3], 1, "")
    both = exact_answer(ROWS, NEEDS, np.array([np.inf, np.nan, 1.0]))
    assert (both.value, both.change.tolist(), both.active) == (0.5, [0.6, 0.8], 1)
    little = exact_answer(np.array([[1e200]]), np.array([1.0]), np.zeros(1))
    assert (little.lower, little.value, little.upper) == (0.0, up(0.0), up(0.0))
    huge = exact_answer(np.array([[1e-160]]), np.array([1.0]), np.zeros(1))
    assert (huge.value, huge.lower, huge.why) == (np.inf, down(np.finfo(float).max), BEYOND)
    against = exact_answer(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0]), np.zeros(2))
    assert (against.value, against.lower, against.why) == (np.inf, np.inf, AGAINST)


def test_fractions_of_lengths_that_rounding_may_have_brought_about():
    """(1, 0)·δ ≥ 1 and (−1, ε)·δ ≥ 1 need ½(1 + 4/ε²), of which the hardest row alone needs ½."""
    for small, need, why in (
        (2.0000001e-14, 1.0, ""),
        (1.9999999e-14, 1.0, AGAINST),
        (1.5000001e-14, 0.5, ""),
        (1.4999999e-14, 0.5, AGAINST),
    ):
        answer = exact_answer(np.array([[1.0, 0], [-1, small]]), np.array([1.0, need]), np.zeros(2))
        true = (1 + Fraction(1 + need) ** 2 / Fraction(small) ** 2) / 2
        assert answer.why == why
        assert Fraction(answer.lower) <= true <= Fraction(answer.lower) * (1 + Fraction(1, 10**15))
        assert (answer.value == np.inf) == (why == AGAINST)


@pytest.mark.parametrize(
    ("rows", "needs", "weights", "unit"),
    [
        ([[1]], [1], [-1], 1),  # below 0
        ([[1]], [1], [1], 0),
        ([[1]], [1], [1], -1),
        ([[1]], [1], [2], 1),  # keeps the row and is not the least
        ([[1], [-1]], [0, -1], [0, -1], 1),  # a δ that keeps both rows, and a weight below 0 that says it is the least
        ([[1]], [-1], [1], -1),
        ([[1]], [0], [0], 0),
        ([[1], [2]], [1, 4], [1, 0], 1),  # of a value that is its own dual's, and misses a row
        ([[1], [-1]], [1, -1], [1, 1], 1),  # a ray without reward
        ([[1], [-1]], [1, 1], [1, 2], 1),  # a reward, and no ray
    ],
)
def test_no_search_in_fractions_is_trusted(rows, needs, weights, unit, monkeypatch):
    monkeypatch.setattr(least_change, "exact_change", lambda A, b, start: (np.array(weights, object), unit))
    why = "with weights that prove nothing" if min(*weights, 0) < 0 or unit <= 0 else "where it is not at the optimum"
    with pytest.raises(ArithmeticError, match=why):
        exact_answer(np.array(rows, float), np.array(needs, float), np.zeros(len(needs)))


def test_fractions_begin_where_floats_ended(monkeypatch):
    """λ of the rows A/a and b/β, in their units."""
    seen: list[Any] = []

    def change(A: Any, b: Any, start: Any) -> Any:
        seen.append((A.tolist(), b.tolist(), start))
        return np.array([1], object), 1

    monkeypatch.setattr(least_change, "exact_change", change)
    with pytest.raises(ArithmeticError):
        exact_answer(np.array([[0.25]]), np.array([1.5]), np.array([3.0]))
    assert seen == [([[1]], [3], [Fraction(3 * 2, 16)])]


def test_programs_of_a_problem():
    X = np.array([[1.0, 2.0], [0.5, -1.0]])
    problem, w = wb.Multiclass(X, [0, 2], classes=[0, 1, 2]), np.arange(6) / 8
    for i, truth in enumerate((0, 2)):
        rows, needs = least_change.rivals(problem, w, i)
        others = [z for z in range(3) if z != truth]
        assert rows.shape == (2, 6)
        for row, need, z in zip(rows, needs, others, strict=True):
            told = np.zeros((3, 2))
            told[truth], told[z] = X[i], -X[i]
            assert row.tolist() == told.ravel().tolist()
            assert need == pytest.approx(1 - told.ravel() @ w)
    found = wb.novelty(problem, w)
    assert (found.lower <= found.values).all()
    assert (found.values <= found.upper * (1 + 1e-12)).all()
    assert found.changes.shape == (2, 6)
    oracle = wb.Bounds(wb.SoftMargin(), problem).oracle
    beside = wb.novelty(problem, w, oracle=oracle)
    np.testing.assert_allclose(beside.values, found.values, rtol=1e-9)
    np.testing.assert_allclose(beside.changes, found.changes, atol=1e-9)
    assert np.abs(found.changes).max() > 0.1
    for bad in ([1.0, np.inf], [np.nan, 1.0]):
        with pytest.raises(wb.BadInput, match="not finite"):
            wb.novelties([[(np.eye(2), bad)]])


def test_a_hidden_state_has_a_program_of_its_own():
    problem = wb.Motif(["ACGT", "ACG", "CGA"], [1, 1, -1], 3)
    w = np.zeros(problem.n_features)
    found = wb.novelty(problem, w)
    alone = wb.novelties([least_change.hidden_rivals(problem, w, i) for i in range(3)])
    assert [len(least_change.hidden_rivals(problem, w, i)) for i in range(3)] == [2, 1, 1]
    assert found.values.tolist() == alone.values.tolist()
