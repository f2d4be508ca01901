"""The exact value of a CVXPY expression at a point, without a rounding: what its tree means, whatever CVXPY compiles.

A node's value is an array of whole numbers over one unit. Atoms fall into three kinds:

    jointly linear   + − Σ, entries, shapes, stacks: on arguments over their common unit, by the atom itself
    products         a·b, A @ B, kron, convolutions: units multiply
    quotients        a / c for constants c

Floats are dyadic, so products cost one multiplication of whole numbers an entry. Other functions of constants, such as
exp(1), are taken as the floats that CVXPY computes and listed in `computed`. Any other atom raises `Unknown`: the
caller names the atom and claims nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.arithmetic.matrices import Matrix
from workbench.arithmetic.rationals import Ratios, objects
from workbench.programs.program import matrix_of

ENDLESS = 1 << 20000  # stands for ∞ in the data: beyond any number that floats and their products can reach
LARGEST = 10**6  # entries of a sparse constant that may be written out

Read = Callable[[np.ndarray], Ratios]


class Point(NamedTuple):
    """Whole numbers for each variable (by id, in its shape), what a float means, and constants that floats computed."""

    values: dict[int, np.ndarray]
    read: Read
    computed: list[Any]


class Unknown(Exception):
    """An atom without an exact value here."""

    def __init__(self, atom: Any):
        super().__init__(type(atom).__name__)
        self.atom = atom


def value_at(expression: Any, at: Point) -> Ratios:  # of a CVXPY expression
    """The value, of the expression's shape."""
    if not expression.args:
        return leaf(expression, at)
    kind = type(expression).__name__
    if kind == "MulExpression" and (found := thin_product(expression, at)):
        return found
    if kind == "SymbolicQuadForm":
        return form(expression, at)
    if kind in PRODUCTS:
        a, b = (value_at(arg, at) for arg in expression.args)
        return Ratios(shaped(PRODUCTS[kind](a.whole, b.whole), expression), a.unit * b.unit)
    if kind == "DivExpression":
        a, b = (value_at(arg, at) for arg in expression.args)
        return quotient(a, b, expression)
    if kind not in LINEAR and not (kind in STEADY and expression.is_constant()):
        return guessed(expression, at)
    values = [value_at(arg, at) for arg in expression.args]
    unit = math.lcm(*(each.unit for each in values))
    wholes = [np.asarray(each.whole * (unit // each.unit), object) for each in values]
    return Ratios(shaped((LINEAR | STEADY)[kind](expression, wholes), expression), unit)


def guessed(expression: Any, at: Point) -> Ratios:
    """A function of constants as floats compute it."""
    if not expression.is_constant() or expression.value is None or np.iscomplexobj(expression.value):
        raise Unknown(expression)
    at.computed.append(expression)
    return shaped_ratios(numbers(np.asarray(dense(expression.value)), at.read), expression)


def dense(value: Any) -> Any:
    return value.toarray() if sparse.issparse(value) else value


def leaf(expression: Any, at: Point) -> Ratios:
    key = getattr(expression, "id", None)
    if key is not None and (found := at.values.get(key)) is not None:
        return Ratios(found, 1)
    value = expression.value
    if value is None:
        raise Unknown(expression)
    if (sparse.issparse(value) and np.prod(value.shape) > LARGEST) or np.iscomplexobj(dense(value)):
        raise Unknown(expression)
    return shaped_ratios(numbers(np.asarray(dense(value)), at.read), expression)


def numbers(values: np.ndarray, read: Read) -> Ratios:
    """The numbers of an array by `read`, whole ones as they are."""
    if values.dtype.kind in "bui":
        return Ratios(objects(map(int, values.ravel().tolist())).reshape(values.shape), 1)
    flat = values.astype(float).ravel()
    endless = np.isinf(flat)
    found = read(np.where(endless, 0.0, flat))
    whole = found.whole
    for k in np.flatnonzero(endless).tolist():
        whole[k] = (ENDLESS if flat[k] > 0 else -ENDLESS) * found.unit
    return Ratios(whole.reshape(values.shape), found.unit)


def shaped(whole: Any, expression: Any) -> np.ndarray:
    """An object array of the expression's shape."""
    whole, found = np.asarray(whole, object), np.empty(expression.shape, object)
    found[...] = whole if np.shape(whole) == expression.shape else np.reshape(whole, expression.shape, order="F")
    return found


def shaped_ratios(values: Ratios, expression: Any) -> Ratios:
    return Ratios(shaped(values.whole, expression), values.unit)


# ── products ──────────────────────────────────────────────────────────────────────────────────────────


def product(a: np.ndarray, b: np.ndarray) -> Any:
    return a * b if () in (a.shape, b.shape) else a @ b


def kron(a: np.ndarray, b: np.ndarray) -> Any:
    return np.kron(np.atleast_2d(a), np.atleast_2d(b))


def convolution(a: np.ndarray, b: np.ndarray) -> Any:
    a, b, size = a.ravel(), b.ravel(), a.size + b.size - 1
    found = np.full(size, 0, object)
    for k, factor in enumerate(a.tolist()):
        found[k : k + b.size] += factor * b
    return found


PRODUCTS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "MulExpression": product,
    "multiply": lambda a, b: a * b,
    "kron": kron,
    "conv": convolution,
    "convolve": convolution,
}


def thin_product(expression: Any, at: Point) -> Ratios | None:
    """A sparse constant times an expression, by its entries alone."""
    left, right = expression.args
    if left.args or getattr(left, "id", None) in at.values or not sparse.issparse(left.value):
        return None
    matrix, x = matrix_of(sparse.csc_array(left.value), lambda data: numbers(np.asarray(data), at.read)), None
    x = value_at(right, at)
    if x.whole.ndim != 1:
        columns = [matrix @ Ratios(x.whole[:, k], x.unit) for k in range(x.whole.shape[1])] if x.whole.ndim == 2 else []
        if not columns:
            return None
        return Ratios(shaped(np.stack([each.whole for each in columns], axis=1), expression), columns[0].unit)
    return shaped_ratios(matrix @ x, expression)


def quotient(a: Ratios, b: Ratios, expression: Any) -> Ratios:
    """a / b, entry by entry."""
    if not all(b.whole.ravel().tolist()):
        raise Unknown(expression)
    divisors = [abs(each) for each in b.whole.ravel().tolist()]
    common = math.lcm(*divisors)
    return Ratios(shaped(a.whole * b.unit * (common // b.whole), expression), a.unit * common)


def form(expression: Any, at: Point) -> Ratios:
    """xᵀPx, of an elementwise square or of blocks an entry each (cvxpy's SymbolicQuadForm)."""
    x = value_at(expression.args[0], at)
    flat, Q = Ratios(x.whole.ravel(order="F"), x.unit), matrix_at(expression.args[1], at)
    each = flat.whole[Q.rows] * Q.whole * flat.whole[Q.columns]
    unit = flat.unit**2 * Q.unit
    if expression.size == 1:
        return Ratios(shaped(each.sum() if len(each) else 0, expression), unit)
    blocks = expression.block_indices or [np.array([k]) for k in range(expression.size)]
    sums = [each[np.isin(Q.rows, block) & np.isin(Q.columns, block)].sum() for block in blocks]
    return Ratios(shaped(objects(sums), expression), unit)


def matrix_at(constant: Any, at: Point) -> Matrix:
    """A constant square matrix by its entries."""
    if not constant.args and constant.value is not None:
        return matrix_of(sparse.csc_array(constant.value), lambda data: numbers(np.asarray(data), at.read))
    dense = value_at(constant, at)
    rows, columns = np.nonzero(dense.whole)
    return Matrix(rows, columns, dense.whole[rows, columns], dense.unit, dense.whole.shape)


# ── jointly linear atoms ──────────────────────────────────────────────────────────────────────────────


def spread(expression: Any, values: list[np.ndarray]) -> Any:
    return np.broadcast_to(values[0], expression.shape)


def total(expression: Any, values: list[np.ndarray]) -> Any:
    return np.sum(values[0], axis=expression.axis, keepdims=expression.keepdims)


WRAPPED = ("nonneg", "nonpos", "psd", "nsd", "symmetric", "hermitian", "skew_symmetric")
LINEAR: dict[str, Callable[[Any, list[np.ndarray]], Any]] = {
    "AddExpression": lambda _, values: reduce(np.add, values),
    "NegExpression": lambda _, values: -values[0],
    "Promote": spread,
    "broadcast_to": spread,
    "Sum": total,
    "reshape": lambda expression, values: np.reshape(values[0], expression.shape, order=expression.order),
    "real": lambda _, values: values[0],
    "conj": lambda _, values: values[0],
    "imag": lambda _, values: values[0] * 0,
    "index": lambda expression, values: values[0][expression._orig_key],
    "special_index": lambda expression, values: values[0][expression.key],
    "transpose": lambda expression, values: np.transpose(values[0], axes=expression.axes),
    "Hstack": lambda _, values: np.hstack(values),
    "Vstack": lambda _, values: np.vstack(values),
    "Concatenate": lambda expression, values: np.concatenate(values, axis=expression.axis),
    "diag_vec": lambda expression, values: np.diag(values[0], k=expression.k),
    "diag_mat": lambda expression, values: np.diag(values[0], k=expression.k),
    "Trace": lambda _, values: np.trace(values[0], axis1=-2, axis2=-1),
    "upper_tri": lambda _, values: values[0][..., *np.triu_indices(values[0].shape[-1], k=1)],
    "cumsum": lambda expression, values: np.cumsum(values[0], axis=expression.axis),
    **{f"{kind}_wrap": lambda _, values: values[0] for kind in WRAPPED},
}
STEADY: dict[str, Callable[[Any, list[np.ndarray]], Any]] = {  # of constants: on one unit, no rounding
    "abs": lambda _, values: np.abs(values[0]),
    "maximum": lambda _, values: reduce(np.maximum, values),
    "minimum": lambda _, values: reduce(np.minimum, values),
    "max": lambda expression, values: np.max(values[0], axis=expression.axis, keepdims=expression.keepdims),
    "min": lambda expression, values: np.min(values[0], axis=expression.axis, keepdims=expression.keepdims),
}
