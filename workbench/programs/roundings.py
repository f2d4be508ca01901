"""What CVXPY rounds or approximates on its way from a problem to the compiled program, in sentences.

CVXPY copies a constant times a variable, norms, sums of squares and exponential atoms. It computes in floats

    products, quotients     c₁ · (c₂ x), x / 3, c · (xᵀQx): not exact unless one of both is a power of two
    sums                    0.3 x + 0.6 x, x + 0.1 ≤ 0.3 (c₁ + c₂): checked, a sum is named if it is not exact
    sums of entries         sum(A x): the columns of A are added: checked likewise
    squares of one variable 0.1 ‖x‖² + 0.2 ‖x‖² in an objective: added in P

and it approximates some powers by rational ones, and factors the matrix of a quadratic form that is no term of the
objective. A sentence says that numbers can have been rounded there; a problem
without a sentence is compiled as it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from workbench.contracts import Floats

SHORT = 2.0**20  # multiples of 1/SHORT up to SHORT: sums of a thousand of them are exact
MANY = 1000  # terms, beyond which sums are named without a check
LENGTH = 60  # characters of an expression in a sentence

MULTIPLIES = ("MulExpression", "conv", "convolve", "kron")

ADDED = "numbers are added when it is compiled, and the sum is rounded"
MULTIPLIED = "a product or quotient of constants is rounded when it is compiled"
FACTORED = "CVXPY factors the matrix of this quadratic form in floats and drops eigenvalues that are relatively small"
PARTIAL = "what CVXPY rounds inside of a partial minimisation is not looked into"
POWER = "CVXPY approximates the power by a rational one"


def roundings(problem: Any) -> tuple[str, ...]:  # a cp.Problem
    """The sentences about a cp.Problem, each once."""
    found: dict[str, None] = {}
    with at_zero(problem.variables()):
        objective = problem.objective.args[0]
        copied = {id(form) for form in summands(objective)}
        for expression in [objective, *(part for c in problem.constraints for part in parts(c))]:
            for atom in atoms(expression):
                words = shortened(str(atom))
                if getattr(atom, "approx_error", 0):
                    found[f"{words}: {POWER}"] = None
                if type(atom).__name__ in ("QuadForm", "SymbolicQuadForm") and id(atom) not in copied:
                    found[f"{words}: {FACTORED}"] = None
                if type(atom).__name__ == "PartialProblem":
                    found[f"{words}: {PARTIAL}"] = None
                if rounds(atom):
                    found[f"{words}: {MULTIPLIED}"] = None
                elif adds(atom):
                    found[f"{words}: {ADDED}"] = None
        if squares_meet(objective):
            found[f"{shortened(str(objective))}: {ADDED}"] = None
    if any(parameter.value is not None for parameter in problem.parameters()):
        found["parameters: what multiplies or adds to them is rounded when it is compiled"] = None
    return tuple(found)


def summands(expression: Any) -> list[Any]:
    """The terms of a sum, those below a sign or a constant factor among them: an objective's forms there are copied."""
    if type(expression).__name__ in ("AddExpression", "NegExpression", "multiply", "MulExpression", "DivExpression"):
        return [each for arg in expression.args for each in summands(arg)]
    return [expression]


def shortened(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= LENGTH else f"{words[: LENGTH - 3]}…"


def parts(constraint: Any) -> list[Any]:
    """The expressions that a constraint compiles: of lhs ≤ rhs and lhs = rhs their difference."""
    return [constraint.expr] if type(constraint).__name__ in ("Inequality", "Equality") else list(constraint.args)


def atoms(expression: Any) -> list[Any]:
    """An expression and all below it."""
    return [expression, *(each for arg in expression.args if hasattr(arg, "args") for each in atoms(arg))]


@contextmanager
def at_zero(variables: list[Any]) -> Iterator[None]:
    """The variables at 0, where affine expressions show their constants; then as they were."""
    kept = [(variable, variable.value) for variable in variables]
    try:
        for variable in variables:
            variable.save_value(np.zeros(variable.shape))
        yield
    finally:
        for variable, value in kept:
            variable.save_value(value)


# ── products and quotients ────────────────────────────────────────────────────────────────────────────


def rounds(atom: Any) -> bool:
    """Whether constants meet in this product or quotient and floats may not hold the result.

    A constant times a variable is copied, also an entry or a sum of variables; a quotient is the product with 1 / c. A
    product with powers of two is exact.
    """
    kind = type(atom).__name__
    if kind in ("quad_over_lin", "DivExpression") and atom.args[1].is_constant():
        return not binary(atom.args[1])
    if kind not in ("multiply", "MulExpression"):
        return False
    fixed = [arg for arg in atom.args if arg.is_constant()]
    others = [arg for arg in atom.args if not arg.is_constant()]
    if not fixed or (kind == "multiply" and any(map(binary, fixed))):
        return False
    forms = [each for arg in others for each in atoms(arg) if type(each).__name__ in ("QuadForm", "SymbolicQuadForm")]
    return not others or any(map(numbered, others)) or any(not binary(form.args[1]) for form in forms)


def binary(constant: Any) -> bool:
    """Whether all entries are powers of two, their negatives, or 0."""
    if not constant.is_constant() or constant.value is None:
        return False
    return bool(np.isin(np.frexp(np.abs(entries(constant)))[0], (0.0, 0.5)).all())


def entries(constant: Any) -> Floats:
    """The numbers of a constant, those of a sparse one that are not 0."""
    value = constant.value
    return np.asarray(value.data if sparse.issparse(value) else value, float).ravel()


def numbered(expression: Any) -> bool:
    """Whether numbers stand in the affine part of an expression; a curved atom becomes a variable of its own."""
    if not expression.args:
        return expression.is_constant()
    affine = getattr(expression, "is_atom_convex", bool)() and getattr(expression, "is_atom_concave", bool)()
    return affine and any(map(numbered, expression.args))


# ── sums ──────────────────────────────────────────────────────────────────────────────────────────────


def adds(atom: Any) -> bool:
    """Whether this sum of terms, or of entries, adds numbers that floats cannot add exactly."""
    kind = type(atom).__name__
    if kind in MULTIPLIES:
        moved = [arg for arg in atom.args if arg.args and arg.is_affine() and not arg.is_constant()]
        return bool(moved) and not short(atom) and any(map(repeats, moved))
    if kind not in ("AddExpression", "Sum", "cumsum", "trace"):
        return False
    terms = [arg for arg in atom.args if arg.is_affine()]
    if len(terms) < (2 if kind == "AddExpression" else 1) or all(map(short, terms)):
        return False
    if len(terms) > MANY or sum(each.size for each in terms) > MANY**2:
        return True
    if kind == "AddExpression":
        return not exactly_added([coefficients(term, atom) for term in terms])
    whole = coefficients(terms[0], terms[0])
    return not exactly_added([whole[[k]] for k in range(whole.shape[0])])


def repeats(term: Any) -> bool:
    """Whether an entry of a variable stands in several entries of an affine term, whose multiples a product adds."""
    if term.size > MANY**2:
        return True
    return bool((coefficients(term, term).astype(bool).sum(axis=0)[:-1] > 1).any())


def exactly_added(terms: list[sparse.csr_array]) -> bool:
    """Whether floats add these matrices without an error, by the error of each sum (Møller 1965; Knuth's TwoSum)."""
    total = terms[0]
    for term in terms[1:]:
        rows, columns = (total.astype(bool).multiply(term.astype(bool))).nonzero()
        a, b = (np.asarray(dense(each[rows, columns]), float).ravel() for each in (total, term))
        a, b = a[finite := np.isfinite(a) & np.isfinite(b)], b[finite]
        s = a + b
        if (((a - (s - (s - a))) + (b - (s - a))) != 0).any():
            return False
        total = sparse.csr_array(total + term)
    return True


def short(term: Any) -> bool:
    """Whether the constants below are multiples of 2⁻²⁰ of moderate size, so that few sums of them are exact."""
    leaves = [leaf for leaf in atoms(term) if not leaf.args and leaf.is_constant() and leaf.value is not None]
    numbers = np.concatenate([[], *map(entries, leaves)])
    numbers = numbers[np.isfinite(numbers)]
    return bool(((np.abs(numbers) <= SHORT) & (np.mod(numbers * SHORT, 1) == 0)).all())


def coefficients(term: Any, whole: Any) -> sparse.csr_array:
    """(size, N + 1) an affine term's coefficients, a block of columns a variable of `whole`, and last its constants."""
    size, blocks = whole.size, []
    gradient = {} if term.is_constant() else term.grad
    for variable in whole.variables():
        J = gradient.get(variable)
        J = sparse.csr_array((variable.size, term.size)) if J is None else sparse.csr_array(np.atleast_2d(dense(J)))
        J = sparse.csr_array(J.reshape(variable.size, term.size).T)
        blocks.append(J if term.size == size else J[np.zeros(size, int)])
    constants = np.broadcast_to(np.ravel(np.asarray(dense(term.value), float), order="F"), (size,))
    return sparse.csr_array(sparse.hstack([*blocks, sparse.csr_array(constants[:, None])]))


def dense(value: Any) -> Any:
    return value.toarray() if sparse.issparse(value) else value


def squares_meet(objective: Any) -> bool:
    """Whether two squares of one variable stand in an objective with numbers whose sum floats may not hold.

    A square of an expression becomes the square of a new variable; those of a variable itself are added in P.
    """
    kinds = ("quad_over_lin", "QuadForm", "Power", "PowerApprox", "power")
    forms = [each for each in atoms(objective) if type(each).__name__ in kinds and not each.args[0].args]
    seen = [form.args[0].id for form in forms if not form.args[0].is_constant()]
    return len(set(seen)) < len(seen) and not short(objective)
