"""Certificates of convex programs by which a stranger would have something false proven: both checkers refuse each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both_checkers import both
from chance.programs import case_of
from forging.forgery import Forgery

E_BELOW, E_ABOVE = 2.718281828459045, 2.7182818284590455  # the floats on both sides of e
ONE, NONE = (0, 1, (), 0), (0, 0, (), 0)
BALL, TRIPLE = (0, 0, (3,), 0), (0, 0, (), 1)
EMPTY = np.zeros((0, 2), int)
BENT = [[0, 1], [1, 0]]
FLOOR = ([[0]], [1], [[-1]], [-1], ONE)  # minimise x over x ≥ 1
HUGE = 10**30


def at(point: list[Any]) -> tuple[Any, ...]:
    """Minimise 0 over those x = 0 for which the point lies in the cone."""
    sizes = TRIPLE if isinstance(point[-1], float) else BALL
    return [[0]], [0], np.zeros((3, 1), int), point, sizes


SOUND: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "the minimum": ("optimal", FLOOR, {"x": [1], "y": [1]}),
    "both ends": ("bounded", FLOOR, {"x": [2], "y": [1]}),
    "on the border of a ball": ("bounded", at([5, 3, 4]), {"x": [0]}),
    "above e": ("bounded", at([1, 1, E_ABOVE]), {"x": [0]}),
    "no solution": ("infeasible", ([[0]], [0], [[1], [-1]], [0, -1], (0, 2, (), 0)), {"y": [1, 1]}),
    "without end": ("unbounded", ([[0]], [-1], [[-1]], [-1], ONE), {"x": [1], "d": [1]}),
    "bent": ("nonconvex", (BENT, [0, 0], EMPTY, [], NONE), {"d": [1, -1]}),
}
UNSOUND: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "a point outside": ("bounded", FLOOR, {"x": [0]}),
    "a point outside by 10⁻³⁰": ("bounded", FLOOR, {"x": [HUGE - 1], "unit": HUGE}),
    "ends that do not meet by 10⁻³⁰": ("optimal", FLOOR, {"x": [HUGE + 1], "y": [HUGE], "unit": HUGE}),
    "a multiplier below 0": ("bounded", ([[0]], [1], [[1]], [5], ONE), {"y": [-1]}),
    "multipliers that leave a rest": ("bounded", FLOOR, {"y": [2]}),
    "no vector": ("bounded", FLOOR, {}),
    "a point alone, called optimal": ("optimal", FLOOR, {"x": [1]}),
    "multipliers alone, called optimal": ("optimal", FLOOR, {"y": [1]}),
    "a lower end of a bent form": ("bounded", (BENT, [0, 0], EMPTY, [], NONE), {"w": [0, 0], "y": []}),
    "outside of a ball": ("bounded", at([4, 3, 4]), {"x": [0]}),
    "behind a ball": ("bounded", at([-5, 3, 4]), {"x": [0]}),
    "below e": ("bounded", at([1, 1, E_BELOW]), {"x": [0]}),
    "a triple without its middle": ("bounded", at([1, 0, 9.0]), {"x": [0]}),
    "rows that meet": ("infeasible", ([[0]], [0], [[1], [-1]], [0, 0], (0, 2, (), 0)), {"y": [1, 1]}),
    "no rows at all": ("infeasible", ([[0]], [0], [[1], [-1]], [0, -1], (0, 2, (), 0)), {"y": [0, 0]}),
    "rows that leave a rest": ("infeasible", ([[0]], [0], [[1], [-1]], [0, -1], (0, 2, (), 0)), {"y": [1, 2]}),
    "rows of the wrong sign": ("infeasible", ([[0]], [0], [[1], [-1]], [0, 1], (0, 2, (), 0)), {"y": [-1, -1]}),
    "a direction of no descent": ("unbounded", ([[0]], [0], [[-1]], [-1], ONE), {"x": [1], "d": [1]}),
    "a direction that leaves": ("unbounded", ([[0]], [1], [[-1]], [-1], ONE), {"x": [1], "d": [-1]}),
    "a direction from nowhere": ("unbounded", ([[0]], [-1], [[-1]], [-1], ONE), {"x": [0], "d": [1]}),
    "a direction without a point": ("unbounded", ([[0]], [-1], [[-1]], [-1], ONE), {"d": [1]}),
    "a direction that bends": ("unbounded", ([[1]], [-1], [[-1]], [-1], ONE), {"x": [1], "d": [1]}),
    "a direction of no curvature": ("unbounded", (BENT, [-1, 0], EMPTY, [], NONE), {"x": [0, 0], "d": [1, 0]}),
    "a direction that is flat": ("nonconvex", (BENT, [0, 0], EMPTY, [], NONE), {"d": [1, 0]}),
    "a direction that bends upward": ("nonconvex", (BENT, [0, 0], EMPTY, [], NONE), {"d": [1, 1]}),
}  # fmt: skip
LINES = ("0\n1", "-1\n-1", "1", "1\n1\n1", "1\n1\n", "\n1\n1", "1\n+1", "1\n0x1", "1\nA", "1\n", "1\n-", "1\n--1",
         "1 \n1", "1\r\n1", "1\n1_0", "1\n١", "1\n1.0", "1\nnan", "1\n1/2", "")  # fmt: skip


def words_of(header: dict[str, Any], arrays: dict[str, Any], folder: Any) -> tuple[str, str]:
    Forgery(header, arrays).write(folder / "c")
    found = both(str(folder / "c"))
    return found["first"], found["second"]


@pytest.mark.parametrize("name", SOUND)
def test_what_is_true_is_proven(name, tmp_path):
    conclusion, program, vectors = SOUND[name]
    case = case_of(conclusion, *program, **vectors)
    assert words_of(case.header, case.arrays, tmp_path) == ("proven", "proven")


@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_false_is_not(name, tmp_path):
    conclusion, program, vectors = UNSOUND[name]
    case = case_of(conclusion, *program, **vectors)
    for claim in ({}, {"lower": -np.inf, "upper": np.inf, "gap": np.inf}, {"lower": 1, "upper": 1, "gap": 0}):
        assert words_of(case.header | claim, case.arrays, tmp_path) == ("not proven", "not proven")


@pytest.mark.parametrize("line", LINES)
def test_vectors_that_are_refused(line, tmp_path):
    case = case_of("optimal", *FLOOR, x=[1], y=[1])
    arrays = case.arrays | {"x": np.frombuffer(line.encode(), np.uint8)}
    assert words_of(case.header, arrays, tmp_path) == ("malformed", "malformed")
