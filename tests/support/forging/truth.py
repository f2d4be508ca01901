"""The optimum of the problem that a certificate states, without a look at the certificate's proof.

`truth(header, arrays)` solves the problem from scratch: as a fraction where the exact finish gives one, else within a
certified gap. A program of every output at once, written in CVXPY (cuts), SciPy's BFGS on
log-sums over all outputs (smooth), or all subsets of samples (searches) has to agree to 10⁻⁴. Hidden states and pairs
have a file of their own (forging/nonconvex.py).
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

import workbench as wb
from forging import nonconvex
from workbench.contracts import CutForm, SmoothForm
from workbench.errors import BackendFailed, CutbenchError, NotSeparable
from workbench.proofs.certificate import checked_formulation
from workbench.registries import registry

Ends = tuple[Fraction | float, Fraction | float]
AGREED, INFINITE = 1e-4, float("inf")


class Unknown(Exception):
    """No second route gives this optimum."""


def truth(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Ends:
    """lower ≤ min F ≤ upper of the statement."""
    name, settings = header["formulation"]["name"], header["formulation"]["settings"]
    data = {key[5:]: array for key, array in arrays.items() if key.startswith("data_")}
    try:
        problem = registry("output").get(header["problem"]["output"]).from_arrays(data)
        form = checked_formulation(name, settings)
        if name == "nuclear-dyadic":
            return nonconvex.by_semidefinite(problem, form)
        if name == "self-paced" and "positions" in data and (data["positions"][data["labels"] == 1] < 0).any():
            return nonconvex.by_states(problem, form.C, form.K)
        if name == "self-paced":
            return by_subsets(problem, form.C, form.K)
        form = checked_formulation(name, settings | ({"declare": "cuts"} if "declare" in settings else {}))
        return certified(form, problem)
    except (CutbenchError, ArithmeticError, nonconvex.NoValue) as error:  # numbers beyond what solvers take
        raise Unknown(str(error)) from error


def certified(form: Any, problem: Any) -> Ends:
    """The optimum by `solve`, and the agreement of a program that has nothing in common with its loop."""
    try:
        solution = wb.solve(form, problem, gap=1e-10)
    except NotSeparable:
        return INFINITE, INFINITE
    ends = (exact(solution.lower), exact(solution.upper))
    if isinstance(form, CutForm):
        try:
            solution = wb.solve(form, problem, gap=1e-10, polish=True)
            if (optimum := getattr(solution.certificate, "optimum", None)) is not None:
                ends = (Fraction(optimum), Fraction(optimum))
        except CutbenchError:
            pass  # the interval stands
    value = written_out(form, problem) if isinstance(form, CutForm) else summed(form, problem)
    room = AGREED * max(abs(value), 1e-3)
    if not ends[0] - room <= value <= ends[1] + room:
        raise Unknown(f"solve says {float(ends[0])!r} to {float(ends[1])!r}, the written program {value!r}")
    return ends


def exact(end: float) -> Fraction | float:
    return end if abs(end) == INFINITE else Fraction(end)


def written_out(form: Any, problem: Any) -> float:
    """min F by the first backend that finds a value, every cut of every output a constraint."""
    from workbench.backends import solve_cvxpy
    from workbench.solving.masters.declared import written

    program, _ = written(form, problem)
    for backend in ("CLARABEL", "PIQP", "ECOS", "SCS"):
        try:
            solve_cvxpy(program, backend)
        except BackendFailed:
            continue
        if program.value is not None and np.isfinite(program.value):
            return float(program.value)
    raise Unknown("no backend finds a value of the written program")


def summed(form: Any, problem: Any) -> float:
    """min F of a smooth F by BFGS, log Σ exp over every output in turn."""
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    if not isinstance(form, SmoothForm):
        raise Unknown("the formulation is neither of cuts nor smooth")
    weights = problem.weights / problem.weights.sum()
    loss = getattr(form, "loss", "crf")
    tables = []
    for i in range(problem.n_samples):
        outputs = problem.outputs(i)
        at = np.full(len(outputs), i)
        true = problem.features(np.array([i]), problem.truth[i : i + 1]).toarray()
        tables.append((problem.features(at, outputs).toarray() - true, problem.features(at, outputs).toarray()))

    def F(w: np.ndarray) -> tuple[float, np.ndarray]:
        total, slope = form.lam / 2 * w @ w, form.lam * w
        for i, (delta, phi) in enumerate(tables):
            if loss == "squared":
                missed = phi[1] @ w - problem.targets[i]
                total, slope = total + weights[i] * missed**2 / 2, slope + weights[i] * missed * phi[1]
            else:
                peak = logsumexp(delta @ w)
                total, slope = total + weights[i] * peak, slope + weights[i] * np.exp(delta @ w - peak) @ delta
        return float(total), slope

    start = np.zeros(problem.n_features)
    return min(float(minimize(F, start, jac=True, tol=1e-10).fun), F(start)[0])


def by_subsets(problem: Any, C: float, K: float) -> Ends:
    """min over kept samples S of ½‖w‖² + Σ_S c_i h_i(w) + Σ_{not S} w_i/K, each subset a convex program."""
    priced = np.flatnonzero(problem.weights > 0)
    if len(priced) > 6:
        raise Unknown(f"{len(priced)} samples have too many subsets")
    ends: list[Ends] = []
    for kept in itertools.product((0, 1), repeat=len(priced)):
        left = sum(
            (Fraction(w) / Fraction(K) for w, k in zip(problem.weights[priced], kept, strict=True) if not k),
            Fraction(0),
        )
        if not any(kept):
            ends.append((left, left))
            continue
        chosen = np.zeros(problem.n_samples, int)
        chosen[priced] = kept
        solution = wb.solve(
            checked_formulation("completed-ssvm", {"C": C, "states": None, "kept": chosen.tolist()}), problem, gap=1e-10
        )
        ends.append((Fraction(solution.lower) + left, Fraction(solution.upper) + left))
    room = Fraction(1, 10**12)  # completed-ssvm rounds Σw/C
    return min(low for low, _ in ends) * (1 - room), min(high for _, high in ends) * (1 + room)
