"""What CVXPY rounds or approximates on its way from a problem to the compiled program, in sentences.

*Numbers.* CVXPY first writes each atom as affine expressions of new variables in cones, and then computes the numbers
of these expressions in floats. At a random point of large whole numbers, the exact value of each such expression
(values.py) is compared with the values of the compiled rows and of the compiled objective: two that differ anywhere
differ there, but for a chance below 2⁻⁵⁰ (Schwartz, 1980). Where a value is missed, the smallest expressions of the
user's that CVXPY rounds are named.

*Atoms.* How CVXPY writes an atom has been read, atom by atom: those of `EXACT` mean what they say. Powers, norms and
geometric means say by how much they are approximated; quadratic forms outside of an objective are factored in floats;
some functions (`loggamma`) stand for fits of other functions. Any other atom is named as not looked into.

A problem without a sentence is compiled as it is written, in the reading of its numbers that was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from workbench.arithmetic.rationals import Ratios
from workbench.programs.program import Exact, Program, decimals, exact, matrix_of, stored
from workbench.programs.values import ENDLESS, LINEAR, PRODUCTS, Point, Read, Unknown, dense, numbers, value_at
from workbench.programs.words import worded

BITS = 60  # of a random whole number
WIDE = 2.0**53  # whole numbers beyond are not all floats
DIGITS = 15  # significant ones, beyond which a large whole number looks rounded
AFFINE = LINEAR.keys() | PRODUCTS.keys() | {"DivExpression"}
EXACT = {
    *("abs", "max", "maximum", "min", "minimum", "cummax", "cumsum", "norm1", "norm_inf", "sum_largest", "dotsort"),
    *("exp", "log", "log1p", "log_sum_exp", "logistic", "entr", "kl_div", "rel_entr", "xexp", "huber", "indicator"),
    *("Power", "PowerApprox", "GeoMean", "GeoMeanApprox", "Pnorm", "PnormApprox", "quad_over_lin", "QuadForm"),
}

ROUNDED = "sums or products of its numbers are rounded when it is compiled"
COMPUTED = "this function of constants is rounded when it is compiled"
FACTORED = "CVXPY factors the matrix of this quadratic form in floats and drops eigenvalues that are relatively small"
UNREAD = "what CVXPY rounds or approximates inside of this expression is not looked into"
POWER = "CVXPY approximates the power by a rational one"
FITTED = "CVXPY replaces {} by an approximation of its own"
LONG = "CVXPY stores floats, so a whole number of this size may have been rounded before it was compiled"


class Canonical(NamedTuple):
    """A problem whose expressions are affine (the objective also quadratic), with the column of each variable."""

    problem: Any
    columns: dict[int, int]


def roundings(problem: Any, canonical: Canonical | None, program: Program, reading: str) -> tuple[str, ...]:
    """The sentences about a cp.Problem, each once."""
    found: dict[str, None] = {}
    objective, read = problem.objective.args[0], decimals if reading == "decimal" else stored
    copied = {id(form) for form in summands(objective)}
    for root in roots(problem):
        for atom in atoms(root):
            for why in reasons(atom, copied, read):
                found[f"{worded(atom)}: {why}"] = None
    if canonical is None:
        return (*found, f"the problem: {UNREAD}")
    computed, sound = compare(canonical, exact(program, reading), read)
    for atom in computed:
        found[f"{worded(atom)}: {COMPUTED}"] = None
    if sound is not True:
        named = list(dict.fromkeys(culprits(problem, read))) if sound is False else []
        found |= dict.fromkeys(named or [f"{worded(objective if sound is False else sound)}: {default(sound)}"])
    return tuple(found)


def default(sound: Any) -> str:
    return ROUNDED if sound is False else UNREAD


def roots(problem: Any) -> Iterator[Any]:
    """The objective and the expressions that constraints compile: of lhs ≤ rhs and lhs = rhs their difference."""
    yield problem.objective.args[0]
    for constraint in problem.constraints:
        yield from parts(constraint)


def parts(constraint: Any) -> list[Any]:
    return [constraint.expr] if type(constraint).__name__ in ("Inequality", "Equality") else list(constraint.args)


def atoms(expression: Any) -> list[Any]:
    """An expression and all below it; of a partial minimisation not the problem inside."""
    below = [arg for arg in expression.args if hasattr(arg, "is_constant")]
    return [expression, *(each for arg in below for each in atoms(arg))]


def summands(expression: Any) -> list[Any]:
    """The terms of an affine expression: an objective's forms there are copied."""
    if type(expression).__name__ in AFFINE:
        return [each for arg in expression.args for each in summands(arg)]
    return [expression]


# ── atoms ─────────────────────────────────────────────────────────────────────────────────────────────


def reasons(atom: Any, copied: set[int], read: Read) -> Iterator[str]:
    """Why an atom of the user's may be compiled to something else than what it says."""
    kind = type(atom).__name__
    if not atom.args:
        if atom.is_constant() and atom.value is not None and long(np.asarray(dense(atom.value)).ravel()):
            yield LONG
        return
    if fitted := fit(atom, kind):
        yield FITTED.format(fitted)
    if atom.is_constant():
        return
    if kind not in AFFINE and kind not in EXACT:
        yield UNREAD
    if kind in ("PowerApprox", "PnormApprox", "GeoMeanApprox") and exponents(atom, read):
        yield POWER
    if kind == "QuadForm" and id(atom) not in copied:
        yield FACTORED
    if kind == "quad_over_lin" and atom.args[1].is_constant() and not inverted(atom.args[1], read):
        yield ROUNDED


def long(values: np.ndarray) -> bool:
    """Whether a whole number stands there that is too large for floats to hold each, and no round one."""
    if values.dtype.kind != "f":
        return False
    large = values[np.isfinite(values) & (np.abs(values) >= WIDE)]
    return any(
        len(repr(abs(value)).partition("e")[0].replace(".", "").rstrip("0")) > DIGITS for value in large.tolist()
    )


def exponents(atom: Any, read: Read) -> bool:
    """Whether the rational exponent or weights that CVXPY takes differ from those that are written."""
    if hasattr(atom, "w") and not hasattr(atom, "p_used"):
        written, used = [Fraction(w) for w in fractions(read(np.asarray(atom.p, float)[atom._keep]))], list(atom.w)
        return [each / sum(written) for each in written] != used
    pair = (atom._p_orig, atom.p_used) if hasattr(atom, "p_used") else (atom.original_p, atom.p)
    return fractions(read(np.array([float(pair[0])])))[0] != pair[1]


def fractions(values: Ratios) -> list[Fraction]:
    return [Fraction(int(each), values.unit) for each in values.whole.tolist()]


def inverted(constant: Any, read: Read) -> bool:
    """Whether a float holds 1 / c."""
    try:
        c = value_at(constant, Point({}, read, []))
    except Unknown:
        return False
    value = Fraction(int(c.whole.ravel()[0]), c.unit)
    return bool(value) and fractions(read(np.array([float(1 / value)])))[0] == 1 / value


def fit(atom: Any, kind: str) -> str | None:
    """The function whose approximation by CVXPY this expression is, if any: equal trees but for the argument."""
    if kind not in ("maximum", "reshape"):
        return None
    import cvxpy as cp

    for function in (cp.loggamma, cp.log_normcdf):
        pattern = function(cp.Variable(atom.shape))
        if alike(pattern, atom):
            return function.__name__
    return None


def alike(pattern: Any, atom: Any) -> bool:
    """Whether the atom is the pattern with some expression in the place of its variable."""
    if not pattern.args:
        if not pattern.is_constant():
            return pattern.shape == atom.shape
        return not atom.args and atom.is_constant() and np.array_equal(dense(pattern.value), dense(atom.value))
    same = type(pattern) is type(atom) and len(pattern.args) == len(atom.args)
    return same and all(alike(*pair) for pair in zip(pattern.args, atom.args, strict=True))


# ── numbers ───────────────────────────────────────────────────────────────────────────────────────────


def compare(canonical: Canonical, e: Exact, read: Read) -> tuple[list[Any], Any]:
    """Constants that floats computed, and True, False, or the expression that has no exact value here."""
    columns, rng = canonical.columns, np.random.default_rng(len(canonical.columns))
    x = np.zeros(e.shape[1], object)
    x[:] = drawn(rng, e.shape[1]).tolist()
    variables = {v.id: v for v in canonical.problem.variables()}
    values = {key: x[start : start + variables[key].size] for key, start in columns.items()}
    values = {key: np.reshape(value, variables[key].shape, order="F") for key, value in values.items()}
    at = Point(values, read, [])
    point = Ratios(x, 1)
    s = e.b - e.A @ point
    square = Fraction(int(sum(x[e.P.rows] * e.P.whole * x[e.P.columns])), 2 * e.P.unit)
    value = square + fraction((e.q.whole * x).sum(), e.q.unit) + e.constant
    try:
        objective = value_at(canonical.problem.objective.args[0], at)
        sound = fraction(objective.whole.ravel()[0], objective.unit) == value
        rows = [value_at(each, at) for constraint in canonical.problem.constraints for each in parts(constraint)]
    except Unknown as unknown:
        return at.computed, unknown.atom
    unit = math.lcm(s.unit, *(each.unit for each in rows))
    seen = {abs(each) * (unit // s.unit) for each in s.whole.tolist()}
    wanted = (abs(each) * (unit // row.unit) for row in rows for each in row.whole.ravel().tolist())
    return at.computed, sound and all(each in seen or each > unit * math.isqrt(ENDLESS) for each in wanted)


def drawn(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.integers(1 << (BITS - 1), 1 << BITS, size) * rng.choice([-1, 1], size)


def fraction(whole: Any, unit: int) -> Fraction:
    return Fraction(int(whole), unit)


def culprits(problem: Any, read: Read) -> Iterator[str]:
    """The smallest expressions of the user's whose numbers CVXPY rounds."""
    for root in roots(problem):
        heads = [root, *(arg for atom in atoms(root) if curved(atom) for arg in atom.args)]
        for head in heads:
            yield from (f"{worded(each)}: {ROUNDED}" for each in smallest(head, read))


def curved(atom: Any) -> bool:
    return bool(atom.args) and type(atom).__name__ not in AFFINE and not atom.is_constant()


def smallest(expression: Any, read: Read) -> list[Any]:
    """Among an expression and the affine ones below, those that are rounded while nothing below them is."""
    if not expression.args or curved(expression) or copies(expression, read):
        return []
    below = [each for arg in expression.args for each in smallest(arg, read)]
    return below or [expression]


def copies(expression: Any, read: Read) -> bool:
    """Whether CVXPY compiles the affine expression over its variables and curved atoms without rounding."""
    import cvxpy as cp

    skeleton, rng = bare(expression, cp), np.random.default_rng(0)
    variables = skeleton.variables()
    values = {v.id: np.reshape(drawn(rng, v.size).astype(object), v.shape, order="F") for v in variables}
    try:
        if not variables:
            wanted, found = value_at(skeleton, Point({}, read, [])), numbers(np.asarray(dense(skeleton.value)), read)
            return same(wanted.whole.ravel(order="F"), wanted.unit, found.whole.ravel(order="F"), found.unit)
        wanted = value_at(skeleton, Point(values, read, []))
    except Unknown:
        return True
    data, *_ = cp.Problem(cp.Minimize(0), [skeleton == 0]).get_problem_data(cp.CLARABEL, solver_opts={})
    places, x = data["param_prob"].var_id_to_col, np.zeros(data["A"].shape[1], object)
    for key, value in values.items():
        x[places[key] : places[key] + value.size] = value.ravel(order="F")
    found = read(np.asarray(data["b"], float)) - matrix_of(data["A"], read) @ Ratios(x, 1)
    return same(abs(wanted.whole.ravel(order="F")), wanted.unit, abs(found.whole), found.unit)


def same(a: np.ndarray, a_unit: int, b: np.ndarray, b_unit: int) -> bool:
    return a.shape == b.shape and not (a * b_unit - b * a_unit).any()


def bare(expression: Any, cp: Any) -> Any:
    """The expression with new variables in the place of the user's and of curved atoms."""
    kept: dict[int, Any] = {}

    def again(each: Any) -> Any:
        if each.is_constant():
            return each
        if not each.args or curved(each):
            key = each.id if not each.args else id(each)
            return kept.setdefault(key, cp.Variable(each.shape))
        return each.copy([again(arg) for arg in each.args])

    return again(expression)
