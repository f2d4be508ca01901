"""What CVXPY rounds while it compiles is named, and what is not named is exact."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

import workbench as wb
from workbench.programs.compiled import compiled

x, y, z = cp.Variable(2, name="x"), cp.Variable(name="y"), cp.Variable(3, name="z")
Q, A = np.array([[1.1, 0.3], [0.3, 0.7]]), np.array([[0.1, 0.2], [0.3, 0.6]])


def least(objective, *constraints):
    return cp.Problem(cp.Minimize(objective), list(constraints))


ROUNDED = {
    "added": {
        "coefficients": least(0.3 * x[0] + 0.6 * x[0]),
        "both sides": least(x[0], 0.3 * x <= -0.6 * x),
        "constants": least(x[0], x[0] + 0.1 <= -0.7),
        "entries": least(cp.sum(A @ x)),
        "an entry and a sum": least(0.3 * x[0] + 0.6 * cp.sum(x)),
        "a product with a variable twice": least(y, np.array([0.1, 0.7]) @ (z[:2] + z[1:]) <= y),
        "stacked twice": least(y, np.array([0.1, 0.7]) @ cp.hstack([z[0], z[0]]) <= y),
        "squares": least(0.1 * cp.sum_squares(x) + 0.2 * cp.sum_squares(x)),
        "squares of both kinds": least(0.1 * cp.sum(cp.square(x)) + 0.2 * cp.sum_squares(x)),
    },
    "product or quotient": {
        "twice": least(x[0], 0.3 * (0.1 * x[0]) >= 1),
        "a quadratic form": least(0.1 * cp.quad_form(x, Q)),
        "over a number": least(cp.quad_over_lin(x, 0.3)),
        "divided": least(x[0] / 3),
        "a mean": least(cp.mean(cp.hstack([x, y]))),
    },
}
CASES = [(word, name, problem) for word, group in ROUNDED.items() for name, problem in group.items()]


@pytest.mark.parametrize(("word", "name", "problem"), CASES, ids=[f"{word}: {name}" for word, name, _ in CASES])
def test_what_is_rounded_is_named(word, name, problem):
    assert any(word in sentence for sentence in compiled(problem).program.rounded)


EXACT = {
    "copied": least(x[0], 2 * x[0] + 0.3 * x[1] >= 1, 0.3 * (x[0] + x[1]) <= 9, x / 4 >= -3, A @ x <= 0.7),
    "squares of expressions": least(0.1 * cp.sum_squares(A @ x - 0.3) + 0.7 * cp.norm1(x)),
    "short numbers": least(
        0.25 * x[0] + 0.5 * x[0] + y, 0.5 + x >= 0.25, cp.sum(np.array([[1.0, 2], [3, 4]]) @ x) <= 7
    ),
    "powers of two": least(0.5 * cp.quad_form(x, Q) + cp.quad_over_lin(y, 4)),
    "a product of a sum": least(y, np.array([0.1, 0.7]) @ (z[:2] + x) <= y, np.array([0.1, 0.7]) @ z[1:] >= -1),
    "cones": least(cp.norm(x - 0.1), x[0] + y == 0.3, cp.log_sum_exp(x) <= 0.1),
    "one square": least(0.05 * cp.sum_squares(x) + cp.sum(0.1 * x[0] + x[1])),
    "happens to be exact": least(y, y + 0.1 <= 0.3),  # the float 0.3 − 0.1 is the difference of both
}


@pytest.mark.parametrize("name", EXACT)
def test_what_is_copied_is_not_named(name):
    assert compiled(EXACT[name]).program.rounded == ()


def drawn(rng, depth):
    """A random affine expression in x and y, and its coefficients of x₁, x₂, y and 1 as fractions."""
    kind = rng.integers(0, 7 if depth else 2)
    if kind == 0:
        k = int(rng.integers(3))
        return (x[0], x[1], y)[k], [Fraction(int(j == k)) for j in range(4)]
    number = float(rng.choice([0.1, 0.3, 0.7, 0.5, 2.0, 3.0, 1e-3]))
    if kind == 1:
        return cp.Constant(number), [Fraction(0)] * 3 + [Fraction(number)]
    (a, exact_a), (b, exact_b) = drawn(rng, depth - 1), drawn(rng, depth - 1)
    if kind == 2:
        return number * a, [Fraction(number) * each for each in exact_a]
    if kind == 3:
        return cp.sum(cp.hstack([a, b])), [p + q for p, q in zip(exact_a, exact_b, strict=True)]
    if kind == 6:
        row = rng.choice([0.1, 0.7, 0.5, 2.0], 2)
        pairs = zip(exact_a, exact_b, strict=True)
        return row @ cp.hstack([a, b]), [Fraction(row[0]) * p + Fraction(row[1]) * q for p, q in pairs]
    sign = 1 if kind == 4 else -1
    return a + sign * b, [p + sign * q for p, q in zip(exact_a, exact_b, strict=True)]


def test_an_expression_without_a_sentence_is_compiled_to_its_exact_numbers():
    rng, silent, named = np.random.default_rng(0), 0, 0
    for _ in range(250):
        a, exact = drawn(rng, 3)
        if not any(exact[:3]):
            continue
        program = compiled(least(cp.sum(x) + y, a <= 0)).program
        named += bool(program.rounded)
        if program.rounded:
            continue
        silent += 1
        places = [program.columns.index(name) for name in ("x[0]", "x[1]", "y")]
        row = program.cone.A.toarray()[0, places]
        assert [Fraction(value) for value in row] == exact[:3], str(a)
        assert Fraction(float(program.cone.b[0])) == -exact[3], str(a)
    assert min(silent, named) > 40


def test_the_statement_says_what_was_rounded_and_values_stay():
    x.value = np.array([3.0, 4.0])
    told = wb.prove(least(y, y >= 0.3 * x[0] + 0.6 * x[0], x >= 1))
    assert "0.3 * x[0] + 0.6 * x[0]" in told.statement
    assert "the sum is rounded" in told.statement
    assert x.value.tolist() == [3.0, 4.0]
    assert "rounded" not in wb.prove(least(y, y >= x[0], x >= 1)).statement
