"""What CVXPY rounds while it compiles is named, and what is not named is exact."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.transforms.partial_optimize import partial_optimize

import workbench as wb
from workbench.errors import MissingCapability
from workbench.programs.compiled import affine_form, by_cvxpy, compiled
from workbench.programs.program import exact, stored
from workbench.programs.roundings import compare

x, y, z = cp.Variable(2, name="x"), cp.Variable(name="y"), cp.Variable(3, name="z")
Q, A = np.array([[1.1, 0.3], [0.3, 0.7]]), np.array([[0.1, 0.2], [0.3, 0.6]])


def least(objective, *constraints):
    return cp.Problem(cp.Minimize(objective), list(constraints))


C, wide = cp.Constant(np.array([[0.1, 0.7], [1.3, 0.9]])), cp.Variable((2, 2), name="wide")
share = cp.Parameter(value=0.1, name="share")
COMPILED, FITTED, LONG = "rounded when it is compiled", "an approximation of its own", "a whole number of this size"

NAMED = {
    "coefficients": least(0.3 * x[0] + 0.6 * x[0]),
    "both sides": least(x[0], 0.3 * x <= -0.6 * x),
    "constants": least(x[0], x[0] + 0.1 <= -0.7),
    "entries": least(cp.sum(A @ x)),
    "an entry and a sum": least(0.3 * x[0] + 0.6 * cp.sum(x)),
    "a product with a variable twice": least(y, np.array([0.1, 0.7]) @ (z[:2] + z[1:]) <= y),
    "stacked twice": least(y, np.array([0.1, 0.7]) @ cp.hstack([z[0], z[0]]) <= y),
    "squares": least(0.1 * cp.sum_squares(x) + 0.2 * cp.sum_squares(x)),
    "squares of both kinds": least(0.1 * cp.sum(cp.square(x)) + 0.2 * cp.sum_squares(x)),
    "twice": least(x[0], 0.3 * (0.1 * x[0]) >= 1),
    "a quadratic form": least(0.1 * cp.quad_form(x, Q)),
    "over a number": least(cp.quad_over_lin(x, 0.3)),
    "divided": least(x[0] / 3),
    "a mean": least(cp.mean(cp.hstack([x, y]))),
    "kron": least(y, cp.kron(C, 0.3 * wide) <= y),
    "kron of a sum": least(y, cp.kron(C, wide + wide.T) <= y, 0.3 * wide + 0.6 * wide.T >= 1),
    "convolve": least(y, cp.convolve([0.1, 0.7], cp.hstack([x[0], x[0]])) <= y),
    "exp of a constant": least(y, y >= cp.exp(cp.Constant(1.0))),
    "sqrt of a constant": least(y, y >= 2 * cp.sqrt(cp.Constant(2.0))),
    "norm of a constant": least(y, y >= cp.norm(cp.Constant([1.0, 2.0]))),
    "one atom twice": least(0.1 * cp.exp(y) + 0.2 * cp.exp(y)),
    "below an atom": least(cp.norm(0.3 * x + 0.6 * x)),
    "parameters": least(y, y >= 0.3 * (share * x[0]), x >= 1),
    "a form of constants": least(cp.quad_form(x, 0.1 * cp.Constant(Q)) + y),
}
OTHERS = {
    FITTED: {
        "loggamma": least(cp.loggamma(y)),
        "a constraint": least(y, cp.sum(cp.loggamma(2 * x + 1)) <= y),
        "log_normcdf": cp.Problem(cp.Maximize(cp.log_normcdf(y) - y)),
    },
    LONG: {"whole numbers": least(y, y >= 2**53 + 1), "in arrays": least(y, np.array([1, 2**60 + 1]) @ x <= y)},
    "by a rational one": {
        "power": least(cp.power(y, 1 / 3) * -1),
        "pi": least(cp.power(y, np.pi)),
        "norm": least(cp.pnorm(x, 2.7)),
        "weights": cp.Problem(cp.Maximize(cp.geo_mean(x, [0.3, 0.7])), [x <= 1]),
    },
    "not looked into": {"a partial minimum": least(partial_optimize(least(y, y >= x[0]), [y]), x >= 1)},
}
CASES = [(COMPILED, name, problem) for name, problem in NAMED.items()]
CASES += [(word, name, problem) for word, group in OTHERS.items() for name, problem in group.items()]


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
    "powers": least(cp.power(y, 1.5) + cp.pnorm(x, 3) + cp.inv_pos(z[0]) - cp.geo_mean(z, [1, 2, 5])),
    "one square": least(0.05 * cp.sum_squares(x) + cp.sum(0.1 * x[0] + x[1])),
    "whole numbers and constants": least(y, y >= 10**20, y >= cp.abs(cp.Constant(-0.3)), 1e20 * x >= 1e16),
    "a parameter": least(y, share * y >= 1),
    "kron": least(y, cp.kron(C, wide) <= y, cp.convolve([0.1, 0.7], x) <= y, cp.trace(C @ wide) <= 1),
    "shapes": least(y, cp.vstack([x, z[:2]]).T[0] >= cp.hstack([y, y]), cp.diag(x)[1, 1] <= 3, cp.cumsum(z)[:1] <= 0.1),
    "happens to be exact": least(y, y + 0.1 <= 0.3),  # the float 0.3 − 0.1 is the difference of both
}


@pytest.mark.parametrize("name", EXACT)
def test_what_is_copied_is_not_named(name):
    assert compiled(EXACT[name]).program.rounded == ()


short = np.array([[1.0, 0.5], [0.25, 2.0]])
m = cp.Variable((2, 2), name="m")
EVERY_ATOM = {  # of short numbers, so that only the atom itself can round; None: refused
    False: [
        *(
            cp.abs(y),
            cp.max(x),
            cp.maximum(y, 1),
            -cp.min(x),
            -cp.minimum(y, 1),
            cp.norm1(x),
            cp.norm_inf(x),
            cp.cummax(x)[0],
        ),
        *(
            cp.sum_largest(z, 2),
            -cp.sum_smallest(z, 2),
            cp.dotsort(x, [0.5, 2]),
            cp.tv(z),
            cp.ptp(x),
            cp.pos(y),
            cp.neg(y),
        ),
        *(
            cp.scalene(y, 2, 3),
            cp.cumsum(z)[1],
            cp.trace(short @ m),
            cp.diff(z)[0],
            cp.sum_squares(short @ x),
            cp.square(y),
        ),
        *(
            cp.quad_form(x, short.T @ short),
            cp.huber(y, 2),
            cp.var(x),
            cp.norm2(x),
            cp.mixed_norm(m, 2, 1),
            cp.norm(m, "fro"),
        ),
        *(
            cp.quad_over_lin(x, y),
            cp.inv_pos(y),
            -cp.sqrt(y),
            cp.power(y, 3),
            cp.pnorm(x, 3),
            -cp.geo_mean(z),
            cp.inv_prod(x),
        ),
        *(
            -cp.harmonic_mean(x),
            cp.exp(y),
            -cp.log(y),
            -cp.log1p(y),
            -cp.entr(y),
            cp.kl_div(y, x[0]),
            cp.rel_entr(y, x[0]),
        ),
        *(
            cp.xexp(cp.Variable(nonneg=True)),
            cp.logistic(y),
            cp.log_sum_exp(x),
            cp.cvar(x, 0.5),
            cp.mean(x),
            cp.vdot(x, [1, 2]),
        ),
        *(
            cp.norm(short @ x - 1),
            cp.sum(cp.kron(short, m)),
            cp.sum(cp.convolve([1, 2], z)),
            cp.sum(cp.outer(x, [1, 2])),
        ),
    ],
    True: [
        *(
            cp.loggamma(y),
            -cp.log_normcdf(y),
            cp.norm(cp.hstack([cp.quad_form(x, short.T @ short), 1])),
            cp.std(x),
            cp.power(y, 0.1) * -1,
        ),
        *(
            cp.pnorm(x, np.pi),
            -cp.geo_mean(x, [0.1, 0.7]),
            y * cp.exp(cp.Constant(1)),
            y * cp.norm(cp.Constant([1, 1])),
        ),
        *(
            cp.perspective(cp.square(y), cp.Variable(nonneg=True)),
            cp.suppfunc((k := cp.Variable(2)), [cp.norm(k) <= 1])(x),
            cp.mean(z),
        ),
    ],
    None: [cp.lambda_max(m), -cp.log_det(m), cp.normNuc(m), cp.sigma_max(m), cp.lambda_sum_largest(m, 1), cp.tr_inv(m)],
}


@pytest.mark.parametrize(("named", "atom"), [(named, atom) for named, group in EVERY_ATOM.items() for atom in group])
def test_every_atom_is_copied_named_or_refused(named, atom):
    problem = least(cp.sum(atom), y >= 1, x >= 1, z >= 1)
    if named is None:
        with pytest.raises(MissingCapability):
            compiled(problem)
    else:
        assert bool(compiled(problem).program.rounded) == named


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
    for _ in range(160):
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
    assert "rounded when it is compiled" in told.statement
    assert x.value.tolist() == [3.0, 4.0]
    assert "rounded" not in wb.prove(least(y, y >= x[0], x >= 1)).statement


def test_each_reading_has_its_own_roundings():
    """The float 0.3 − 0.1 is the difference of both floats, and no decimal 0.2."""
    problem = least(y, y + 0.1 >= 0.3)
    assert wb.prove(problem).program.rounded == ()
    [told] = wb.prove(problem, reading="decimal").program.rounded
    assert COMPILED in told


def test_weights_may_be_exact_as_decimals():
    problem = cp.Problem(cp.Maximize(cp.geo_mean(x, [0.3, 0.7])), [x <= 1])
    assert compiled(problem, "decimal").program.rounded == ()


def test_a_planted_error_of_one_unit_in_the_last_place_is_seen():
    """Whatever number of the compiled program is moved to the next float, the comparison misses a value."""
    rows = [A @ x + y <= 0.7, cp.norm(x - 0.1) <= z[0], 0.3 * z == 0.9, cp.exp(y) <= z[1]]
    problem = least(cp.quad_form(x, Q) + 0.7 * y + 0.1, *rows)
    data, chain, _ = by_cvxpy(problem, cp)
    canonical, program = affine_form(problem, chain, data["param_prob"]), compiled(problem).program
    assert compare(canonical, exact(program, "float"), stored) == ([], True)
    for part in ("P", "A", "q", "b"):
        values = getattr(program.cone, part)
        numbers = values if part in "qb" else values.data
        for k in np.flatnonzero(numbers):
            kept, numbers[k] = numbers[k], np.nextafter(numbers[k], np.inf)
            assert compare(canonical, exact(program, "float"), stored) == ([], False), (part, k)
            numbers[k] = kept
    assert compare(canonical, exact(replace(program, constant=0.2), "float"), stored) == ([], False)
