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
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from workbench.registries import load_file

chosen = load_file(Path(__file__).with_name("_settings.py"), "benchmark").chosen

SLACK = Fraction(1, 10**40)
DEGENERATE = ("no-slater",)
WORDS = ("infeasible", "unbounded")


def program_families(
    instances: int = 25, only: str = "", largest: int = 8, seed: int = 0, width: float = 1e-7
) -> Iterator[dict[str, Any]]:
    """One row a family: instances, exact ones, the widest interval, false proofs, honest ends, median CPU seconds.

    failed : false proofs, and instances with interior points that end wider than `width`
    """
    from workbench.programs.prove import prove

    families = load_file(Path(__file__).with_name("_families.py"), "benchmark").FAMILIES
    rows: list[dict[str, Any]] = []
    for name in chosen(only, families, "family"):
        rng, found = np.random.default_rng([seed, list(families).index(name)]), []
        for _ in range(instances):
            problem, truth = families[name](rng, int(rng.integers(2, largest + 1)))
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
