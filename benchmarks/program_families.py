"""Random CVXPY programs whose optimum is known by construction: is it ever outside of what is proven?

A family draws an instance and says its optimum as an enclosure of the true real number, from its construction alone:

    least-norm      min ‖x‖ s.t. aᵀx = β: |β|/‖a‖                     ball            max cᵀx, ‖x − z‖ ≤ ρ: cᵀz + ρ‖c‖
    lasso           min ½‖x − z‖² + μ‖x‖₁: by shrinkage                chebyshev       min ‖x − z‖∞, Σx = 0: |Σz|/n
    entropy         max Σ entr(x), Σx = 1: log n                       log-sum-exp     min lse(x), Σx = s: s/n + log n
    logistic        min Σ logistic(x_i) + ½x_i: n log(√e…) at x = 0    geometric       min Σ e^{x_i}, Σx = s: n e^{s/n}
    simplex-lp      min cᵀx, x ≥ 0, Σx = 1: min c                      box-qp          min ½‖x − z‖², l ≤ x ≤ u: clipped
    no-slater       min x₁, ‖(x₁, x₂)‖ ≤ x₂ (so x₁ = 0): 0             infeasible      two half-spaces apart
    unbounded       min cᵀx over a half-space that c leaves

Numbers are multiples of 1/64, so that CVXPY rounds nothing that matters; enclosures are computed with 60 digits and
widened by 1e-40.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from decimal import Decimal, getcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np

from workbench.programs.prove import prove
from workbench.registries import load_file

chosen = load_file(Path(__file__).with_name("_settings.py"), "benchmark").chosen

getcontext().prec = 60
SLACK = Fraction(1, 10**40)


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
DEGENERATE = ("no-slater",)
WORDS = ("infeasible", "unbounded")


def program_families(
    instances: int = 25, only: str = "", largest: int = 8, seed: int = 0, width: float = 1e-7
) -> Iterator[dict[str, Any]]:
    """One row a family: instances, exact ones, the widest interval, false proofs, honest ends, median CPU seconds.

    failed : false proofs, and instances with interior points that end wider than `width`
    """
    rows: list[dict[str, Any]] = []
    for name in chosen(only, FAMILIES, "family"):
        rng, found = np.random.default_rng([seed, list(FAMILIES).index(name)]), []
        for _ in range(instances):
            problem, truth = FAMILIES[name](rng, int(rng.integers(2, largest + 1)))
            began = time.process_time()
            proof = prove(problem)
            found.append((proof, false(proof, truth), time.process_time() - began))
        rows.append(row_of(name, found, width))
        totals = {key: sum(row[key] for row in rows) for key in ("instances", "exact", "false", "wide")}
        yield totals | {"failed": totals["false"] + totals["wide"], "rows": list(rows), "finished": name}


def false(proof: Any, truth: Any) -> bool:
    """Whether the proof contradicts the construction."""
    if proof.kind == "bounded" and truth in WORDS:
        return not honest(proof, truth)
    if truth in WORDS or proof.kind in (*WORDS, "nonconvex"):
        return proof.kind not in (truth, "unknown")
    low, high = enclosed(truth)
    return (proof.lower is not None and proof.lower > high) or (proof.upper is not None and proof.upper < low)


def honest(proof: Any, truth: str) -> bool:
    """A lower end of an infeasible program, or an upper one of an unbounded minimum, is true."""
    return (proof.upper if truth == "infeasible" else proof.lower) is None


def enclosed(truth: Any) -> tuple[Fraction, Fraction]:
    value = truth if isinstance(truth, Fraction) else Fraction(truth)
    slack = Fraction(0) if isinstance(truth, Fraction) else SLACK * (1 + abs(value))
    return value - slack, value + slack


def row_of(name: str, found: list[tuple[Any, bool, float]], width: float) -> dict[str, Any]:
    proofs = [proof for proof, _, _ in found]
    widest = max(0.0 if proof.kind in WORDS else proof.width for proof in proofs)
    return {
        "family": name,
        "instances": len(proofs),
        "exact": sum(proof.optimum is not None or proof.kind in WORDS for proof in proofs),
        "false": sum(wrong for _, wrong, _ in found),
        "wide": 0 if name in DEGENERATE else sum(proof.kind not in WORDS and proof.width > width for proof in proofs),
        "widest": widest,
        "unknown": sum(proof.kind == "unknown" for proof in proofs),
        "seconds": float(np.median([seconds for *_, seconds in found])),
    }


NAMES = {"program-families": program_families}
