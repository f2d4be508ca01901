"""The optimum of two problems that are not convex, by convex programs of CVXPY and by descent alone.

    by_states(problem, C, K)            self-paced over hidden positions: every selection and every choice of states
    by_semidefinite(problem, form)      nuclear-dyadic: the semidefinite program below, descent from many starts above

Only the data of the problem and its features are used; no bound of ours, and no code of the checkers.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

MOST_CHOICES, STARTS = 600, 6
ACCURATE, LEAST = 1e-5, 1e-6  # of a solver's value: relative, and absolute
Ends = tuple[float, float]


class NoValue(Exception):
    """A solver ends without a value, or there is too much to try."""


def solved(program: Any) -> float:
    import cvxpy as cp

    try:
        program.solve(solver=cp.CLARABEL)
    except (cp.error.SolverError, ValueError) as error:
        raise NoValue(str(error)) from error
    if program.status != "optimal" or not np.isfinite(program.value):
        raise NoValue(f"Clarabel ends with {program.status}")
    return float(program.value)


def around(least: float, most: float) -> Ends:
    return least - ACCURATE * abs(least) - LEAST, most + ACCURATE * abs(most) + LEAST


# ── hidden states ─────────────────────────────────────────────────────────────────────────────────


def by_states(problem: Any, C: float, K: float) -> Ends:
    """min over states t of kept samples of ½‖w‖² + Σ c_i (max_z ⟨w, φ_z − φ_t⟩ + 1)₊, plus κ_i of the others."""
    import cvxpy as cp

    priced = np.flatnonzero(problem.weights > 0)
    c, kappa = C * problem.weights[priced] / problem.weights.sum(), problem.weights[priced] / K
    tables, rivals = [], []  # of each sample: its choices (None: left out), the features of its rivals
    for i in priced:
        outputs = problem.outputs(i)
        phi = problem.features(np.full(len(outputs), i), outputs).toarray()
        right = outputs[:, 0] == problem.labels[i]
        tables.append([None, *phi[right]])
        rivals.append(phi[~right])
    if np.prod([float(len(table)) for table in tables]) > MOST_CHOICES:
        raise NoValue(f"more than {MOST_CHOICES} choices of states")
    w = cp.Variable(problem.n_features)
    slopes = [cp.Parameter(each.shape) for each in rivals]
    offsets = [cp.Parameter() for _ in rivals]  # 1, or 0 where the sample is left out
    terms = [cost * cp.pos(cp.max(A @ w + o)) for cost, A, o in zip(c, slopes, offsets, strict=True)]
    program = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + sum(terms)))
    best = float(kappa.sum())
    for choice in itertools.product(*tables):
        paid = sum(k for k, phi in zip(kappa, choice, strict=True) if phi is None)
        if paid >= best:
            continue
        for A, o, rows, phi in zip(slopes, offsets, rivals, choice, strict=True):
            A.value, o.value = (0 * rows, 0.0) if phi is None else (rows - phi, 1.0)
        best = min(best, paid + solved(program))
    return around(best, best)


# ── pairs ─────────────────────────────────────────────────────────────────────────────────────────


def by_semidefinite(problem: Any, form: Any) -> Ends:
    """The sum over the classes of both ends of `of_class`."""
    sides = problem.dyads
    L, R, X = (each.toarray() for each in (sides.left, sides.right, sides.linear))
    labels, k = problem.labels, len(problem.classes)
    targets = [labels == 1] if k == 2 else [labels == each for each in range(k)]
    prices = problem.weights / problem.weights.sum()
    ends = [of_class(L, R, X, np.where(each, 1.0, -1.0), prices, form) for each in targets]
    return around(sum(low for low, _ in ends), sum(high for _, high in ends))


def of_class(L: Any, R: Any, X: Any, y: Any, prices: Any, form: Any) -> Ends:
    """(value of the semidefinite program, least risk found): one number where k is at least the rank of any G."""
    import cvxpy as cp

    a, k, size = L.shape[1], form.dimensions, L.shape[1] + R.shape[1] + 1
    G, w = cp.Variable((size, size), PSD=True), cp.Variable(X.shape[1])
    p = cp.sum(cp.multiply(L @ G[:a, a:-1], R), axis=1) + L @ G[:a, -1] + R @ G[a:-1, -1] + X @ w
    loss = cp.square(p - y) / 2 if form.loss == "squared" else cp.pos(1 - cp.multiply(y, p))
    value = form.lam / 2 * (cp.trace(G) - k + cp.sum_squares(w)) + prices @ loss
    low = solved(cp.Problem(cp.Minimize(value), [G[-1, -1] == k]))
    if k >= size:
        return low, low
    found = descended(L, R, X, y, prices, form)
    if low > found * (1 + ACCURATE) + LEAST:
        raise NoValue(f"the semidefinite program has the value {low!r}, and descent finds {found!r}")
    return low, found


def descended(L: Any, R: Any, X: Any, y: Any, prices: Any, form: Any) -> float:
    """The least risk that L-BFGS finds from a few starts; its slopes are those of the hinge where that has none."""
    from scipy.optimize import minimize

    a, b, k = L.shape[1], R.shape[1], form.dimensions

    def risk(theta: Any) -> tuple[float, Any]:
        A, B = theta[: a * k].reshape(a, k), theta[a * k : (a + b) * k].reshape(b, k)
        left, right = L @ A + 1, R @ B + 1
        p = (left * right).sum(axis=1) - k + X @ theta[(a + b) * k :]
        squared = form.loss == "squared"
        slope = prices * (p - y if squared else np.where(y * p < 1, -y, 0.0))
        value = prices @ ((p - y) ** 2 / 2 if squared else np.maximum(0, 1 - y * p))
        pulled = [L.T @ (slope[:, None] * right), R.T @ (slope[:, None] * left), X.T @ slope]
        gradient = np.concatenate([each.ravel() for each in pulled]) + form.lam * theta
        return form.lam / 2 * float(theta @ theta) + float(value), gradient

    rng, size = np.random.default_rng(0), (a + b) * k + X.shape[1]
    starts = [np.zeros(size), *(rng.normal(size=size) for _ in range(STARTS))]
    with np.errstate(all="ignore"):
        found = [risk(start)[0] for start in starts[:1]] + [minimize(risk, x, jac=True).fun for x in starts]
    return float(min(each for each in found if np.isfinite(each)))
