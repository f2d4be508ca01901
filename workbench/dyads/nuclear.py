"""A lower bound on the regularised risk of dyadic models, by a semidefinite program and its dual.

    R(A, B, w) = λ/2 (‖A‖² + ‖B‖² + ‖w‖²) + Σ π_i ℓ(p_i, y_i),      π_i = h_i/n,  k dimensions,
    p_i = l_iᵀABᵀr_i + l_iᵀA1 + 1ᵀBᵀr_i + ⟨w, x_i⟩

is not convex. All of it but the rank depends on the Gram matrix G of the rows of A, of B, and of 1ᵀ only:

    min over G ⪰ 0, G_cc = k, w     λ/2 (tr G_aa + tr G_bb + ‖w‖²) + Σ π_i ℓ(p_i, y_i)
                                    p_i = ⟨l_i r_iᵀ, G_ab⟩ + ⟨l_i, G_ac⟩ + ⟨r_i, G_bc⟩ + ⟨w, x_i⟩

is convex and no higher, and no lower either if its G has rank at most k. The nuclear norm of M = ABᵀ is the least
½(‖A‖² + ‖B‖²) (Fazel, Hindi & Boyd 2001; Srebro, Rennie & Jaakkola 2005); here the shift by 1 brings linear terms
along. Its dual takes any slopes g with ℓ*(g_i) finite. With S = Σ π_i g_i l_i r_iᵀ, c = ½ Σ π_i g_i (l_i, r_i),
Q = ½ [[λI, S], [Sᵀ, λI]] and ‖S‖₂ < λ,

    lower(g) = −Σ π_i ℓ*(g_i) − k cᵀQ⁻¹c − ‖Σ π_i g_i x_i‖²/(2λ),

since −k cᵀQ⁻¹c is the least ⟨C, G⟩ of C = [[Q, c], [cᵀ, 0]]. dyads/dual.py proves this number, and finds slopes for
pairs in any number. `nuclear_bound` solves the semidefinite program of small ones, an independent way to slopes: they
need not be feasible, and are scaled by the τ ≤ 1 that gives the highest bound (docs/mathematics.md §7). Neither the
backend's value nor its status enters. `given_left` and `alternate` improve factors by convex programs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.backends import solve_cvxpy
from workbench.contracts import Floats, multipliers
from workbench.dyads.dual import Parts, lower_at, lower_beside, norm_of, parts_of, product
from workbench.dyads.pairs import Dyads, Factors
from workbench.errors import BackendFailed, BadInput

MARGIN = 1e-9  # of ‖S‖₂ below λ
LARGEST = 200  # rows of G


class Lower(NamedTuple):
    """`lower` is proven; `value` is what the backend says of the convex program; slopes (n,) prove the first."""

    lower: float
    value: float
    slopes: Floats


def nuclear_bound(dyads: Dyads, lam: float, k: int, loss: str = "hinge", backend: str = "CLARABEL") -> Lower:
    """The bound for k dimensions, λ = `lam` > 0 and two classes; loss hinge or squared.

    Raises `BadInput` for more than 200 features on both sides, `BackendFailed` if the backend returns no point.
    """
    import cvxpy as cp

    check(dyads, lam, loss)
    parts = parts_of(dyads)
    y, prices = parts.y, parts.prices
    f, size = parts.left.shape[1], parts.left.shape[1] + parts.right.shape[1] + 1
    if size > LARGEST:
        raise BadInput(f"The semidefinite program has {size} rows; take a part with at most {LARGEST}.")
    L, R, X = (part.toarray() for part in parts[:3])
    G, w = cp.Variable((size, size), PSD=True), cp.Variable(X.shape[1])
    p = cp.sum(cp.multiply(L @ G[:f, f:-1], R), axis=1) + L @ G[:f, -1] + R @ G[f:-1, -1] + X @ w
    penalty = lam / 2 * (cp.trace(G) - k + cp.sum_squares(w))
    value, slopes = solved(penalty, p, y, prices, [G[-1, -1] == k], loss, backend)
    slopes = best_scaled(parts, lam, k, loss, slopes)
    return Lower(lower_at(parts, lam, k, loss, slopes), value, slopes)


def best_scaled(parts: Parts, lam: float, k: int, loss: str, slopes: Floats) -> Floats:
    """τg for the τ ≤ 1 with the highest bound."""
    from scipy.optimize import minimize_scalar

    def scaled(tau: float) -> float:
        return lower_at(parts, lam, k, loss, tau * slopes)

    S = product(parts.left, parts.right, parts.prices * slopes)
    most = min(1.0, (1 - MARGIN) * lam / max(norm_of(S), 1e-300))
    options: dict[str, Any] = {"bounds": (0, most), "method": "bounded", "options": {"xatol": 1e-10}}
    found: Any = minimize_scalar(lambda tau: -scaled(tau), **options)  # SciPy has no types
    return max((most, float(found.x), 0.0), key=scaled) * slopes


def given_left(
    dyads: Dyads, A: Floats, lam: float, loss: str = "hinge", backend: str = "CLARABEL"
) -> tuple[Factors, Lower]:
    """The best B and w for a fixed A (f_left, k), a convex program, and a proven bound on its optimum.

    p_i = ⟨B, r_i ãᵢᵀ⟩ + ⟨a_i, 1⟩ + ⟨w, x_i⟩ with ã = a + 1; its dual is `lower_beside`.
    """
    import cvxpy as cp

    check(dyads, lam, loss)
    L, R, X, y, prices = parts_of(dyads)
    a = L @ A
    Z = sparse.csr_array(sparse.hstack([*(R.multiply((each + 1)[:, None]) for each in a.T), X]))
    theta = cp.Variable(Z.shape[1])
    penalty = lam / 2 * (cp.sum_squares(theta) + float((A**2).sum()))
    value, g = solved(penalty, Z @ theta + a.sum(axis=1), y, prices, [], loss, backend)
    cut = R.shape[1] * A.shape[1]
    factors = Factors(A[:, None, :], theta.value[:cut].reshape(A.shape[1], -1).T[:, None, :], theta.value[cut:, None])
    return factors, Lower(lower_beside(parts_of(dyads), A, lam, loss, g), value, g)


def swapped(dyads: Dyads) -> Dyads:
    """The same pairs with sides exchanged, for the best A given B."""
    part = dyads.take(slice(None))
    part.left, part.right = dyads.right, dyads.left
    part.left_names, part.right_names = dyads.right_names, dyads.left_names
    return part


def alternate(dyads: Dyads, factors: Factors, lam: float, rounds: int = 5, loss: str = "hinge") -> list[Factors]:
    """Best B and w given A, then best A and w given B, `rounds` times; the risks do not rise."""
    found = []
    for _ in range(rounds):
        factors, _ = given_left(dyads, factors.A[:, 0], lam, loss)
        turned, _ = given_left(swapped(dyads), factors.B[:, 0], lam, loss)
        factors = Factors(turned.B, turned.A, turned.W)
        found.append(factors)
    return found


def solved(
    penalty: Any, p: Any, y: Floats, prices: Floats, constraints: list[Any], loss: str, backend: str
) -> tuple[float, Floats]:
    """The program's value and the slopes g at its solution: multipliers of the hinge, derivatives of the square."""
    import cvxpy as cp

    above = None
    if loss == "squared":
        program = cp.Problem(cp.Minimize(penalty + prices @ cp.square(p - y) / 2), constraints)
    else:
        xi = cp.Variable(len(y), nonneg=True)
        above = xi >= 1 - cp.multiply(y, p)
        program = cp.Problem(cp.Minimize(penalty + prices @ xi), [*constraints, above])
    status = solve_cvxpy(program, backend)
    if program.value is None or p.value is None or (above is not None and above.dual_value is None):
        raise BackendFailed(f"{backend} ended the program with {status!r}; try another backend.")
    value = float(np.asarray(program.value, float))
    if above is None:
        return value, p.value - y
    held = np.where(prices > 0, prices, 1.0)
    return value, -y * np.minimum(multipliers(above) / held, 1)


def check(dyads: Dyads, lam: float, loss: str) -> None:
    if not 0 < lam < np.inf:
        raise BadInput(f"lam is {lam}; the bound needs a positive number, e.g. lam=0.1.")
    if loss not in ("hinge", "squared"):
        raise BadInput(f"loss is {loss!r}; choose hinge or squared.")
    dyads.targets  # noqa: B018  refuses more than two classes
