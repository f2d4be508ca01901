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

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from workbench.contracts import Floats

GROWING = {  # atoms of sizes, by CVXPY's names in small letters: |f(x)| ≤ f(|x|), and f(c|x|) has the unit of f
    *("abs", "norm1", "norm_inf", "pnorm", "pnormapprox", "max", "maximum", "sum_largest", "quad_over_lin", "quadform"),
    *("symbolicquadform", "huber", "geomean", "geomeanapprox", "geo_mean", "normnuc", "sigma_max", "dotsort"),
}
POWERS = {"power", "powerapprox"}


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
