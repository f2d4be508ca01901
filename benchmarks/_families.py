"""The random programs of `program_families.py`, each with an enclosure of its optimum from its construction alone."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, getcontext
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np

getcontext().prec = 60


def numbers(rng: Any, *shape: int, scale: int = 128) -> np.ndarray:
    """Multiples of 1/64, not 0."""
    found = rng.integers(1, scale, shape) / 64
    return found * rng.choice([-1, 1], shape)


def exact(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.ravel(values)]


def real(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def norm(values: Any) -> Decimal:
    return real(sum(each * each for each in exact(values))).sqrt()


def least_norm(rng: Any, n: int) -> tuple[Any, Any]:
    x, a, beta = cp.Variable(n), numbers(rng, n), float(numbers(rng, 1)[0])
    return cp.Problem(cp.Minimize(cp.norm(x)), [a @ x == beta]), abs(real(Fraction(beta))) / norm(a)


def ball(rng: Any, n: int) -> tuple[Any, Any]:
    x, c, z, rho = cp.Variable(n), numbers(rng, n), numbers(rng, n), abs(float(numbers(rng, 1)[0]))
    inner = sum(a * b for a, b in zip(exact(c), exact(z), strict=True))
    return cp.Problem(cp.Maximize(c @ x), [cp.norm(x - z) <= rho]), real(inner) + real(Fraction(rho)) * norm(c)


def lasso(rng: Any, n: int) -> tuple[Any, Any]:
    x, z, mu = cp.Variable(n), numbers(rng, n), Fraction(float(rng.integers(1, 64) / 64))
    shrunk = [max(abs(each) - mu, Fraction(0)) for each in exact(z)]
    value = sum((abs(a) - s) ** 2 / 2 + mu * s for a, s in zip(exact(z), shrunk, strict=True))
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(x - z) + float(mu) * cp.norm1(x))), value


def chebyshev(rng: Any, n: int) -> tuple[Any, Any]:
    x, z = cp.Variable(n), numbers(rng, n)
    return cp.Problem(cp.Minimize(cp.norm_inf(x - z)), [cp.sum(x) == 0]), abs(sum(exact(z))) / n


def entropy(rng: Any, n: int) -> tuple[Any, Any]:
    x = cp.Variable(n)
    return cp.Problem(cp.Maximize(cp.sum(cp.entr(x))), [cp.sum(x) == 1]), Decimal(n).ln()


def log_sum_exp(rng: Any, n: int) -> tuple[Any, Any]:
    x, s = cp.Variable(n), float(numbers(rng, 1)[0])
    return cp.Problem(cp.Minimize(cp.log_sum_exp(x)), [cp.sum(x) == s]), real(Fraction(s) / n) + Decimal(n).ln()


def logistic(rng: Any, n: int) -> tuple[Any, Any]:
    """log(1 + eˣ) − x/2 is least at 0, where it is log 2."""
    x = cp.Variable(n)
    return cp.Problem(cp.Minimize(cp.sum(cp.logistic(x)) - 0.5 * cp.sum(x))), n * Decimal(2).ln()


def geometric(rng: Any, n: int) -> tuple[Any, Any]:
    x, s = cp.Variable(n), float(numbers(rng, 1)[0])
    return cp.Problem(cp.Minimize(cp.sum(cp.exp(x))), [cp.sum(x) == s]), n * real(Fraction(s) / n).exp()


def simplex_lp(rng: Any, n: int) -> tuple[Any, Any]:
    x, c = cp.Variable(n, nonneg=True), numbers(rng, n)
    return cp.Problem(cp.Minimize(c @ x), [cp.sum(x) == 1]), min(exact(c))


def box_qp(rng: Any, n: int) -> tuple[Any, Any]:
    x, z, a, b = cp.Variable(n), numbers(rng, n), numbers(rng, n), numbers(rng, n)
    low, high = np.minimum(a, b), np.maximum(a, b)
    gaps = (min(max(z, lo), hi) - z for z, lo, hi in zip(exact(z), exact(low), exact(high), strict=True))
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(x - z)), [x >= low, x <= high]), sum(g * g for g in gaps) / 2


def no_slater(rng: Any, n: int) -> tuple[Any, Any]:
    x, t = cp.Variable(n), cp.Variable()
    c = numbers(rng, n - 1) if n > 1 else np.zeros(0)
    return cp.Problem(cp.Minimize(c @ x[1:] + t), [cp.norm(x) <= x[0], x[0] <= t, t <= 0]), Fraction(0)


def infeasible(rng: Any, n: int) -> tuple[Any, Any]:
    x, a, beta = cp.Variable(n), numbers(rng, n), float(numbers(rng, 1)[0])
    return cp.Problem(cp.Minimize(cp.norm(x)), [a @ x <= beta, a @ x >= beta + 1 / 64]), "infeasible"


def unbounded(rng: Any, n: int) -> tuple[Any, Any]:
    x, a, beta = cp.Variable(n), numbers(rng, n), float(numbers(rng, 1)[0])
    return cp.Problem(cp.Minimize(a @ x), [a @ x <= beta]), "unbounded"


FAMILIES: dict[str, Callable[..., tuple[Any, Any]]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        *(least_norm, ball, lasso, chebyshev, entropy, log_sum_exp, logistic, geometric, simplex_lp, box_qp),
        *(no_slater, infeasible, unbounded),
    )
}
