"""How large the terms of a CVXPY expression are: Σ_j |a_ij| |x_j| + |b_i| for each entry i of an affine one.

`sizes(e, s)` is what e comes to if every variable x has sizes s ≥ 0 in place of values, every constant c its |c|, and
nothing is subtracted. It is computed atom by atom:

    constant          |c|                     variable       s
    affine atom       the atom at the sizes of its arguments, signs dropped: |a| s for a x, s + t for x − y
    norms and powers  the atom at the sizes of its arguments: (|A| s + |b|)² for (A x − b)²
    other atoms       1 + |value|: logarithms, exponentials, whose arguments have no unit

So a number times e has that number's size times as large sizes, and x in other units, with its coefficients, has the
same. What is divided by sizes does not depend on the unit in which a user states a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from workbench.contracts import Floats

GROWING = {  # atoms of sizes, by CVXPY's names in small letters: |f(x)| ≤ f(|x|), and f(c|x|) has the unit of f
    *("abs", "norm1", "norm_inf", "pnorm", "pnormapprox", "max", "maximum", "sum_largest", "quad_over_lin", "quadform"),
    *("symbolicquadform", "huber", "geomean", "geomeanapprox", "geo_mean", "normnuc", "sigma_max", "dotsort"),
}
POWERS = {"power", "powerapprox"}
FAR = 1e100  # a size at which terms of a variable are all that counts
FINE = 1e-6  # of the logarithm of a size that is searched for
ROUNDING = 1e-15  # of the largest: a size that comes from a constant that is 0 but for rounding


def sizes(expression: Any, given: Mapping[int, Any]) -> Floats:  # CVXPY's expressions have no types
    """The sizes of an expression's entries; `given` the sizes of variables by their ids, numbers or arrays."""
    if not expression.args and expression.variables() and expression.id in given:
        return np.broadcast_to(np.abs(np.asarray(given[expression.id], float)), expression.shape)
    if not expression.args or expression.is_constant():
        return np.asarray(written_out(magnitude(expression)), float)
    name = type(expression).__name__.lower()
    adds = expression.is_atom_convex() and expression.is_atom_concave()
    if adds or name in GROWING or (name in POWERS and exponent(expression) > 0):
        products = name == "mulexpression"  # whose matrices stay sparse
        parts = [magnitude(each) if products and each.is_constant() else sizes(each, given) for each in expression.args]
        found = np.asarray(written_out(expression.numeric(parts)), float)
        return np.abs(found).reshape(expression.shape)
    return 1.0 + np.asarray(written_out(magnitude(expression)), float)


def terms_in(constraint: Any, given: Mapping[int, Any]) -> Floats:  # CVXPY has no types
    """The sizes of a constraint's rows for these sizes of the variables; the sum of all in one cone."""
    if not hasattr(constraint, "cone_sizes"):  # as all cones of CVXPY, which have no types in common
        return sizes(constraint.expr, given)
    first, *others = (sizes(each, given) for each in constraint.args)
    if hasattr(constraint, "axis") and np.size(first) > 1:  # arrays of cones, a column or row each
        return first + others[0].sum(axis=constraint.axis)
    return np.array(np.sum(first) + sum(float(np.sum(each)) for each in others))


def reach(constraints: Sequence[Any], variable: Any, known: Mapping[int, float]) -> float | None:  # CVXPY has no types
    """The least size t of a variable at which its terms in a row are as large as the row's others; None if none is.

    constraints : those with the variable
    known : sizes of all variables, 0 for those that do not count. A finite bound of the variable's own counts, too.
    """
    known = {**known, variable.id: 0.0}
    bounds = variable.attributes.get("bounds") or ()
    ends = [np.abs(np.ravel(np.asarray(each, float))) for each in bounds if each is not None]
    found = [each for end in ends for each in end if 0 < each < np.inf]
    for constraint in constraints:
        with np.errstate(all="ignore"):  # sizes far off overflow
            rest = terms_in(constraint, known)
            if all(each.is_affine() for each in constraint.args):
                slopes = (terms_in(constraint, {**known, variable.id: FAR}) - rest) / FAR
                times = np.divide(rest, slopes, out=np.zeros_like(rest), where=slopes > 0)
                found += [each for each in np.ravel(times).tolist() if 0 < each < FAR]
            elif (rest > 0).any():
                found.append(crossing(lambda t, c=constraint, r=rest: terms_in(c, {**known, variable.id: t}) - r, rest))
    usable = [each for each in found if each > ROUNDING * max(found) and np.isfinite(each)]
    return min(usable, default=None)


def crossing(grown: Callable[[float], Floats], rest: Floats) -> float:
    """The t at which the first of the growing numbers reaches its `rest` > 0, by halving; 0 if none does."""
    low, high = -np.log(FAR), np.log(FAR)
    if not reached(grown(float(np.exp(high))), rest):
        return 0.0
    while high - low > FINE:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(grown(float(np.exp(middle))), rest) else (middle, high)
    return float(np.exp(high))


def reached(grown: Floats, rest: Floats) -> bool:
    return bool((~(grown < rest) & (rest > 0)).any())


def exponent(expression: Any) -> float:  # CVXPY's expressions have no types
    """The p of a power."""
    return float(getattr(expression.p, "value", expression.p))  # numbers or constants, which have no types


def magnitude(expression: Any) -> Any:  # CVXPY's expressions have no types
    """|value|, 0 where there is none or where it is no finite number."""
    value = expression.value
    if value is None:
        return np.zeros(expression.shape)
    return abs(value) if sparse.issparse(value) else np.nan_to_num(np.abs(np.asarray(value, float)), posinf=0.0)


def written_out(value: Any) -> Any:  # a user's values
    return value.toarray() if sparse.issparse(value) else value
