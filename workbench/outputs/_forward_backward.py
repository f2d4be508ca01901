"""Sums over all labellings of a batch of sequences, forward and backward: in products, else in logarithms.

    s_t(b) = ⟨W_b, x_t⟩,   m_t = max_b s_t(b),   M = max_ab A_ab,   e_t(b) = exp(s_t(b) − m_t),   E_ab = exp(A_ab − M)

*In products* (Rabiner 1989, §V.A): one exponential per score and per transition, then multiplications only.

    x_1(b) = e_1(b),   x_t(b) = e_t(b) Σ_a α_{t−1}(a) E_ab,   c_t = Σ_b x_t(b),   α_t(b) = x_t(b)/c_t
    β_T(b) = 1,   u_t(b) = e_t(b) β_t(b)/c_t,   β_{t−1}(a) = Σ_b E_ab u_t(b)
    log Z = Σ_t (log c_t + m_t) + (T − 1) M,   q_t(b) = α_t(b) β_t(b),   q_t(a, b) = α_{t−1}(a) E_ab u_t(b)

h = log Z − ⟨w, φ(x, y)⟩ is summed as Σ_t log c_t + (m_t − s_t(y_t)) + (M − A_{y_{t−1} y_t}), terms of which the last
two are non-negative, so nothing large cancels. The sum of the q_t(a, b) over t and over the batch is E times, entry
by entry, a product of two matrices. O(T K²) in either form; here the constant is that of matrix products.

*Range.* With R = max_t (m_t − min_b s_t(b)) and D = M − min A: e_t ∈ [e^−R, 1], E ∈ [e^−D, 1], hence c_t ∈ [e^−D, K]
and α_t(b) ≥ e^−(R+D)/K. All β_t(b) of one t are within a factor e^D of each other and Σ_b α_t(b) β_t(b) = 1, so
β_t(b) ∈ [e^−D, e^D] and u_t(b) ∈ [e^−(R+D)/K, e^2D]. As long as R + 2D ≤ RANGE = 300, no number of this recursion
underflows, and with prices up to 1e100 none overflows; α_{t−1}(a) u_t(b), at least q_t(a, b), may underflow, to an
absolute error of 2⁻¹⁰²² at most.

*Rounding*, in the words of objectives/likelihoods.py: u = 2⁻⁵³, and M there, here N to tell them apart, is at least
Σ_t max_b |s_t(b)| + T (max |A| + log K). A position multiplies the weight of every labelling by e_t(b) E_ab: the
arguments are rounded by u R_t and u D, the exponentials by κu each, the K products and their sum by γ_K, two more
operations by 2u; c_t as computed is the divisor everywhere, so its own rounding cancels. The products thus have a
relative error below e^x − 1 with x = 2uN + (T + 1) γ_{K+2+2κ}, since Σ_t (R_t + D) ≤ 2N, and so has
Π_t c_t, as Σ_b α_T(b) = 1 up to γ_K. The logarithms add κu Σ_t |log c_t| ≤ 2κuN, the two differences per position 2uN,
and the sum of T terms of 4N in all 4(T + 2) uN: with κ = 8,

    |ĥ − h| ≤ 2S + (T + 1)(γ₁₆ N + γ_{K+2+2κ}).

α_t(b) β_t(b) is the sum of the weights of all labellings with y_t = b, over Π c_t: numerator and denominator have
relative errors of this size each, and E_ab, u_t bring two more operations: within the bound of likelihoods.py.

*In logarithms*, for scores of a wider range, with ℓ_t(b) = log Σ_a exp(α_{t−1}(a) + A_ab):

    α_t(b) = s_t(b) + ℓ_t(b),   q_t(a, b) = exp(α_{t−1}(a) + A_ab − ℓ_t(b)) q_t(b),   q_{t−1}(a) = Σ_b q_t(a, b)

No score overflows, and underflow loses only negligible terms. K exponentials for one of the other form, twice. The
rounding is that of likelihoods.py with a = 16: the logarithm of exp(…) has at most twice the error of ℓ_t, and the
numbers s_t − m_t and A − M that this module is given are rounded by 4uN in all and sum up to 2N at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.contracts import Floats, Ints

RANGE = 300.0  # R + 2D, up to which products are used


class Steps(NamedTuple):
    """A batch of sequences laid out step by step: all first positions, all second ones, …, the longest sequence first.

    The sequences that have a position t come first in the order of lengths, so step t has the first rows of step t − 1.

    Attributes
    ----------
    order : (N,) the row of each position in the batch laid out one sequence after the other
    owners : (N,) the sequence of the batch that each position belongs to
    ends : (T + 1,) where the rows of each step start, T the greatest length
    """

    order: Ints
    owners: Ints
    ends: Ints

    @classmethod
    def of(cls, offsets: Ints) -> Steps:
        """The steps of sequences that start at `offsets` (m + 1,)."""
        lengths = np.diff(offsets)
        longest = np.argsort(-lengths, kind="stable")
        live = np.searchsorted(-lengths[longest], -np.arange(int(lengths.max())), side="left")
        ends = np.concatenate([[0], np.cumsum(live)])
        owners = longest[np.arange(ends[-1]) - np.repeat(ends[:-1], live)]
        return cls(offsets[owners] + np.repeat(np.arange(len(live)), live), owners, ends)

    def later(self, t: int) -> tuple[slice, slice]:
        """The rows of step t ≥ 1, and of the same sequences one step before."""
        start, stop = self.ends[t], self.ends[t + 1]
        before = self.ends[t - 1]
        return slice(start, stop), slice(before, before + stop - start)

    @property
    def before(self) -> Ints:
        """(N − m,) for each position after a first one, the row of the position before."""
        sizes = np.diff(self.ends)
        return np.arange(sizes[0], self.ends[-1]) - np.repeat(sizes[:-1], sizes[1:])


class Sums(NamedTuple):
    """What a recursion finds about positions, in the order of `Steps`.

    norms : (N,) whose sum over a sequence is log Z − Σ_t m_t − (T − 1) M
    singles : (N, K) q_t(b);  pairs : (K, K) Σ_t w_t q_t(a, b), w_t the weights given
    """

    norms: Floats
    singles: Floats
    pairs: Floats


def summed(scores: Floats, A: Floats, steps: Steps, weights: Floats) -> Sums:
    """The sums of scores s_t(b) − m_t ≤ 0 (N, K) and A − M ≤ 0 (K, K) with weights (N,), in products where they may."""
    narrow = -scores.min() - 2 * A.min() <= RANGE
    return (in_products if narrow else in_logarithms)(scores, A, steps, weights)


def in_products(scores: Floats, A: Floats, steps: Steps, weights: Floats) -> Sums:
    """One exponential per score, then matrix products."""
    e, E = np.exp(scores), np.exp(A)
    alpha, sums = np.empty_like(e), np.empty(len(e))
    for t in range(len(steps.ends) - 1):
        now = slice(steps.ends[t], steps.ends[t + 1])
        if t == 0:
            alpha[now] = e[now]
        else:
            now, last = steps.later(t)
            np.matmul(alpha[last], E, out=alpha[now])
            alpha[now] *= e[now]
        sums[now] = alpha[now].sum(axis=1)
        alpha[now] /= sums[now, None]
    e /= sums[:, None]
    beta, inward, pairs = np.ones_like(e), np.ascontiguousarray(E.T), np.zeros_like(E)
    for t in range(len(steps.ends) - 2, 0, -1):
        now, last = steps.later(t)
        e[now] *= beta[now]  # u_t
        np.matmul(e[now], inward, out=beta[last])
        pairs += alpha[last].T @ (e[now] * weights[now, None])
    alpha *= beta
    return Sums(np.log(sums), alpha, pairs * E)


def in_logarithms(scores: Floats, A: Floats, steps: Steps, weights: Floats) -> Sums:
    """K times as many exponentials, for any range; a label of arrival at a time."""
    alpha, arrivals, labels = scores.copy(), np.zeros_like(scores), range(len(A))
    for t in range(1, len(steps.ends) - 1):
        now, last = steps.later(t)
        for b in labels:
            arrivals[now, b] = log_sum_exp(alpha[last] + A[:, b])
        alpha[now] += arrivals[now]
    ends = np.ones(len(alpha), bool)
    ends[steps.before] = False
    norms, q, pairs = np.zeros(len(alpha)), np.zeros_like(alpha), np.zeros_like(A)
    norms[ends] = log_sum_exp(alpha[ends])
    q[ends] = np.exp(np.minimum(alpha[ends] - norms[ends, None], 0.0))
    for t in range(len(steps.ends) - 2, 0, -1):
        now, last = steps.later(t)
        for b in labels:
            joint = np.exp(np.minimum(alpha[last] + A[:, b] - arrivals[now, b, None], 0.0)) * q[now, b, None]
            q[last] += joint
            pairs[:, b] += weights[now] @ joint
    return Sums(norms, q, pairs)


def log_sum_exp(rows: Floats) -> Floats:
    """(m,) of (m, K)."""
    greatest = rows.max(axis=1)
    return greatest + np.log(np.exp(rows - greatest[:, None]).sum(axis=1))
