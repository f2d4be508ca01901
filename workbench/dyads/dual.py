"""The dual bound of dyadic models at any slopes, proven, and an ascent that finds slopes; for pairs in any number.

With slopes g_i, weights ω_i = π_i g_i, S = Σ ω_i l_i r_iᵀ, c = ½ Σ ω_i (l_i, r_i), Q = ½ [[λI, S], [Sᵀ, λI]] and
‖S‖₂ < λ, every model in k dimensions has a regularised risk (dyads/nuclear.py) of at least

    lower(g) = Σ π_i (−ℓ*(g_i)) − k cᵀQ⁻¹c − ‖Σ ω_i x_i‖²/(2λ).

**What is proven.** Intervals enclose each part: ‖S‖₂ by `spectral` or, where both sides have more than DENSE features,
by `schur`, and γ_n for the rounding of S; cᵀQ⁻¹c by cᵀz + ‖c‖ ‖c − Qz‖/σ with σ = ½(λ − ‖S‖₂) ≤ λ_min(Q), for the z
of a linear solver. S stays sparse; only a matrix of the side with fewer features is dense.

**Ascent.** lower is concave. With Qz = c, z = (z_l, z_r), a_i = ⟨l_i, z_l⟩ and b_i = ⟨r_i, z_r⟩,

    ∂lower/∂g_i = π_i (p_i − ℓ*′(g_i)),      p_i = k (a_i b_i − a_i − b_i) − ⟨Σ ω_j x_j, x_i⟩/λ.

p are the scores of the model A = −z_l 1ᵀ, B = −z_r 1ᵀ, w = −Σ ω_j x_j/λ; so where the ascent ends inside ‖S‖₂ < λ this
model attains the bound, in any number of dimensions. Accelerated projected steps (Nesterov 1983, restarted where they
fall; O'Donoghue & Candès 2015) climb lower(g) + μ log det(I − SᵀS/λ²), for falling μ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import size_of, sparse_product
from workbench.arithmetic.intervals import Interval, gamma, length, matvec
from workbench.contracts import Floats, Ints
from workbench.dyads.pairs import Dyads, Factors

POWERS = 16  # squarings of SᵀS
DENSE = 2000  # features of the smaller side, up to which a dense matrix of its size is made
BARRIERS = (1e-4, 1e-5, 1e-6, 1e-7)  # μ
STEPS = 400  # for each μ
STILL = 1e-9  # gain of a step that ends a μ
SPARE = 16  # roundings beside those of sums: prices, products, square roots


class Parts(NamedTuple):
    """Sides and linear features (n, ·), sparse, targets ±1 (n,), prices π (n,) of dyads with one score."""

    left: sparse.csr_array
    right: sparse.csr_array
    linear: sparse.csr_array
    y: Floats
    prices: Floats


class Point(NamedTuple):
    """`value` of the concave function, −∞ outside of ‖S‖₂ < λ; its gradient over π; z; Σ ω_i x_i; S."""

    value: float
    gradient: Floats
    z: tuple[Floats, Floats]
    push: Floats
    S: Floats


def parts_of(dyads: Dyads) -> Parts:
    """The parts of dyads in two classes."""
    return Parts(dyads.left, dyads.right, dyads.linear, dyads.targets, dyads.importance / dyads.n_samples)


def negative_conjugate(g: Any, y: Floats, loss: str) -> Any:
    """−ℓ*(g) where that is finite: −yg for the hinge, −gy − g²/2 for the square; of floats or an interval."""
    return -g * y - g * g / 2 if loss == "squared" else -g * y


def admitted(g: Floats, y: Floats, loss: str) -> bool:
    """Whether every ℓ*(g_i) is finite: 0 ≤ −y_i g_i ≤ 1 for the hinge, any g_i for the square."""
    gains = -g * y
    return bool((np.isfinite(g) if loss == "squared" else (gains >= 0) & (gains <= 1)).all())


# ── the proven value ──────────────────────────────────────────────────────────────────────────────


def lower_at(parts: Parts, lam: float, k: int, loss: str, g: Floats) -> float:
    """lower(g), rounded down; −∞ where ‖S‖₂ < λ is not certain, or a slope has ℓ*(g_i) = ∞."""
    L, R, X, y, prices = parts
    if not admitted(g, y, loss):
        return -np.inf
    shares = Interval(prices) + 0.0  # prices are rounded, which one step outward encloses
    gains, weights = (negative_conjugate(Interval(g), y, loss) * shares).sum(), shares * g
    S, around = product(L, R, prices * g), product(abs(L), abs(R), prices * np.abs(g))
    error = Interval(gamma(len(y) + SPARE)) * length(Interval(around.data))
    sigma = (lam - error - norm_of(S)) * 0.5
    if not sigma.lo > 0:
        return -np.inf
    c_left, c_right = matvec(L.T, weights) * 0.5, matvec(R.T, weights) * 0.5
    z_left, z_right = np.split(solution(S, lam, np.concatenate([c_left.lo, c_right.lo])), S.shape[:1])
    off_left = c_left - (Interval(z_left) * lam + matvec(L.T, weights * matvec(R, Interval(z_right)))) * 0.5
    off_right = c_right - (Interval(z_right) * lam + matvec(R.T, weights * matvec(L, Interval(z_left)))) * 0.5
    missed = length(c_left, c_right) * length(off_left, off_right) / sigma
    bent = ((c_left * z_left).sum() + (c_right * z_right).sum() + missed).positive()
    lower = float((gains - bent * k - matvec(X.T, weights).squared() / (2 * Interval(lam))).lo)
    return lower if np.isfinite(lower) else -np.inf


def lower_beside(parts: Parts, A: Floats, lam: float, loss: str, g: Floats) -> float:
    """A lower bound for all B and w beside a fixed A (f_left, k), rounded down; −∞ if a slope has ℓ*(g_i) = ∞.

    With a_i = Aᵀl_i, ã = a + 1, features z_i = (ã_i ⊗ r_i, x_i) and offsets e_i = ⟨a_i, 1⟩, the dual value is
    λ/2‖A‖² + Σ π_i (g_i e_i − ℓ*(g_i)) − ‖Σ π_i g_i z_i‖²/(2λ).
    """
    L, R, X, y, prices = parts
    if not admitted(g, y, loss):
        return -np.inf
    shares = Interval(prices) + 0.0  # prices are rounded, which one step outward encloses
    weights, own = shares * g, [matvec(L, Interval(each)) for each in A.T]
    square = sum((matvec(R.T, weights * (a + 1)).squared() for a in own), start=matvec(X.T, weights).squared())
    value = (negative_conjugate(Interval(g), y, loss) * shares).sum() + Interval(A).squared() * lam / 2
    value = sum(((weights * a).sum() for a in own), start=value) - square / (2 * Interval(lam))
    return float(value.lo) if np.isfinite(value.lo) else -np.inf


def product(L: sparse.csr_array, R: sparse.csr_array, weights: Floats) -> sparse.csr_array:
    """Σ weights_i l_i r_iᵀ."""
    scaled = sparse.csr_array((L.data * np.repeat(weights, np.diff(L.indptr)), L.indices, L.indptr), shape=L.shape)
    return sparse.csr_array(scaled.T @ R)


def solution(S: sparse.csr_array, lam: float, c: Floats) -> Floats:
    """z with Qz ≈ c: by a dense matrix of the smaller side, or by conjugate gradients."""
    cut, others = size_of(S)
    if min(cut, others) > DENSE:
        Q = sparse.block_array(
            [[lam / 2 * sparse.eye_array(cut), S / 2], [S.T / 2, lam / 2 * sparse.eye_array(others)]]
        )
        from scipy.sparse.linalg import cg  # loads much that most runs do without

        return cg(Q, c, rtol=1e-12)[0]
    few, many = (S, slice(cut, None)), slice(None, cut)
    if cut < S.shape[1]:
        few, many = (sparse.csr_array(S.T), slice(None, cut)), slice(cut, None)
    T, own = few
    gram = lam**2 * np.eye(T.shape[1]) - (T.T @ T).toarray()
    z = np.empty(len(c))
    z[own] = np.linalg.solve(gram, 2 * (lam * c[own] - T.T @ c[many]))
    z[many] = (2 * c[many] - T @ z[own]) / lam
    return z


def norm_of(S: sparse.csr_array) -> float:
    """An upper bound on ‖S‖₂."""
    return spectral(S) if min(size_of(S)) <= DENSE else schur(S)


def spectral(S: sparse.csr_array | Floats) -> float:
    """An upper bound on ‖S‖₂: with T₀ = SᵀS, T_{j+1} = T_j², ‖T_j‖₂ = ‖T_{j+1}‖₂^½, and at last ‖T‖₂ ≤ ‖T‖_F.

    Matrices are scaled to norm 1, and a product's rounding is at most γ_n ‖·‖_F ‖·‖_F.
    """
    S = sparse.csr_array(S)
    first = float(np.linalg.norm(S.data))
    if first == 0:
        return 0.0
    rows, columns = size_of(S)
    unit = sparse.csr_array((S if columns <= rows else S.T) / first)
    rounding = gamma(max(rows, columns) + SPARE)
    T = sparse_product(unit.T, unit).toarray()
    scales = [float(np.linalg.norm(T))]
    for _ in range(POWERS):
        T = T / scales[-1]
        T = T @ T
        scales.append(float(np.linalg.norm(T)))
    bound = scales[-1] * (1 + rounding)
    for scale in reversed(scales[:-1]):
        bound = scale * np.sqrt(bound + rounding) * (1 + rounding)
    return float(first * np.sqrt(bound + rounding) * (1 + rounding))


def schur(S: sparse.csr_array, rounds: int = 30) -> float:
    """An upper bound on ‖S‖₂ without a dense matrix: ‖S‖₂² ≤ max_i (|S||S|ᵀu)_i/u_i for every u > 0 (Schur's test)."""
    size = abs(S)
    u = np.ones(S.shape[0])
    for _ in range(rounds):
        u = size @ (size.T @ u)
        u = u / max(u.max(), 1e-300) + 1e-6
    rounding = gamma(2 * max(size_of(S)) + SPARE)
    return float(np.sqrt(((size @ (size.T @ u)) / u).max() * (1 + rounding)) * (1 + rounding))


# ── the ascent ────────────────────────────────────────────────────────────────────────────────────


def risen(parts: Parts, lam: float, k: int, loss: str) -> Floats:
    """Slopes g (n,) near the highest bound; the smaller side has at most DENSE features."""
    y = parts.y
    free = np.full(len(y), np.inf)
    ends = (-free, free) if loss == "squared" else (np.minimum(-y, 0.0), np.maximum(-y, 0.0))
    g, step = np.zeros(len(y)), lam
    for mu in BARRIERS:
        g, step = climbed(parts, lam, k, loss, mu, g, step, ends)
    return g


def climbed(
    parts: Parts, lam: float, k: int, loss: str, mu: float, g: Floats, step: float, ends: tuple[Floats, Floats]
) -> tuple[Floats, float]:
    """(slopes, step) after at most STEPS accelerated steps with the barrier μ."""
    sides, prices = sides_of(parts), parts.prices
    best, ahead, pace = point(parts, lam, k, loss, mu, g, sides).value, g, 1.0
    for number in range(STEPS):
        at = point(parts, lam, k, loss, mu, ahead, sides)
        if not np.isfinite(at.value):
            ahead, pace = g, 1.0
            continue
        while True:
            new = np.clip(ahead + step * at.gradient, ends[0], ends[1])
            moved = new - ahead
            model = moved * at.gradient - moved**2 / (2 * step)
            value = point(parts, lam, k, loss, mu, new, sides).value
            if value >= at.value + prices @ model - 1e-15:
                break
            step /= 2
        faster = 0.5 * (1 + np.sqrt(1 + 4 * pace**2))
        ahead, pace = np.clip(new + (pace - 1) / faster * (new - g), ends[0], ends[1]), faster
        gain, g, best, step = value - best, new, value, 1.05 * step
        if gain < 0:
            ahead, pace = g, 1.0
        if number > 20 and abs(gain) < STILL:
            break
    return g, step


class Sides(NamedTuple):
    """`few` (n, ·) has fewer features than `many`; `rows` is the row of each of its entries, `across` is manyᵀ."""

    few: sparse.csr_array
    many: sparse.csr_array
    across: sparse.csr_array
    rows: Ints


def sides_of(parts: Parts) -> Sides:
    """What all points of an ascent share."""
    L, R = parts.left, parts.right
    few, many = (L, R) if L.shape[1] < R.shape[1] else (R, L)
    return Sides(few, many, many.T.tocsr(), np.repeat(np.arange(len(parts.y)), np.diff(few.indptr)))


def point(parts: Parts, lam: float, k: int, loss: str, mu: float, g: Floats, sides: Sides | None = None) -> Point:
    """lower(g) + μ log det(I − SᵀS/λ²) in floats, and what a step needs."""
    from scipy.linalg import cho_solve

    _, R, X, y, prices = parts
    few, many, across, rows = sides or sides_of(parts)
    weights = prices * g
    entries = across.data * weights[across.indices]
    weighed = sparse.csr_array((entries, across.indices, across.indptr), shape=across.shape)
    S = sparse_product(weighed, few).toarray()
    try:
        root = np.linalg.cholesky(np.eye(S.shape[1]) - S.T @ S / lam**2)
    except np.linalg.LinAlgError:
        return Point(-np.inf, g, (g, g), g, S)
    inverse = cho_solve((root, True), np.eye(S.shape[1])) / lam**2
    c_many, c_few = 0.5 * (across @ weights), 0.5 * (few.T @ weights)
    z_few = inverse @ (2 * (lam * c_few - S.T @ c_many))
    z_many = (2 * c_many - S @ z_few) / lam
    push = X.T @ weights
    a, b, bent = many @ z_many, few @ z_few, S @ inverse
    value = prices @ negative_conjugate(g, y, loss) - k * (c_many @ z_many + c_few @ z_few) - push @ push / (2 * lam)
    near = np.bincount(rows, few.data * (many @ bent)[rows, few.indices], len(y))
    gradient = k * (a * b - a - b) - X @ push / lam - (y if loss == "hinge" else y + g) - 2 * mu * near
    z = (z_many, z_few) if few is R else (z_few, z_many)
    return Point(float(value + 2 * mu * np.log(np.diag(root)).sum()), gradient, z, push, S)


def attaining(parts: Parts, lam: float, k: int, loss: str, g: Floats, turn: float = 0.3) -> Factors:
    """The model of one score that the slopes g speak for: A = −z_l 1ᵀ, B = −z_r 1ᵀ, w = −Σ ω_i x_i/λ.

    Where ‖S‖₂ = λ more is free: `turn` times the singular vectors (u, −v) of ‖S‖₂ along a direction across 1.
    """
    at = point(parts, lam, k, loss, 0.0, g)
    if not np.isfinite(at.value):
        at = point(parts, lam, k, loss, 0.0, 0.999 * g)
    z_left, z_right = at.z
    A, B = -np.outer(z_left, np.ones(k)), -np.outer(z_right, np.ones(k))
    if k > 1:
        S = product(parts.left, parts.right, parts.prices * g).toarray()
        u, _, v = np.linalg.svd(S, full_matrices=False)
        across = np.where(np.arange(k) % 2 == 0, 1.0, -1.0)
        across[-1] = across[-1] if k % 2 == 0 else 0.0
        A, B = A + turn * np.outer(u[:, 0], across), B - turn * np.outer(v[0], across)
    return Factors(A[:, None, :], B[:, None, :], -at.push[:, None] / lam)
