"""The compact form of a chain's hinge (M³N; Taskar, Guestrin, Koller 2003; docs/mathematics.md §3).

One message per position and label instead of one constraint per labelling. With
θ_t(a) = ⟨W_a, x_t⟩ + the loss of label a at t,

    m_T(a) ≥ θ_T(a),    m_t(a) ≥ θ_t(a) + A_ab + m_{t+1}(b),    ν_i ≥ m_1(a),    h_i = ν_i − ⟨w, φ(x_i, y_i)⟩

in four stacked constraints: θ is a variable of its own, so that no letter is written K times. The
dual values of the three inequalities are marginals (last label, neighbouring pair, first label) of a
distribution over labellings, which `peeled` turns into labellings with weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from workbench.contracts import CompactHinge, Floats, Ints, multipliers


def compact(chain: Any, w: Any) -> CompactHinge:
    """The hinges of a `Chain` as a program in the CVXPY variable w (d,)."""
    import cvxpy as cp

    k, p, n, total = chain.n_classes, chain.n_inputs, chain.n_samples, len(chain.labels)
    first, last = chain.offsets[:-1], chain.offsets[1:] - 1
    inner = np.setdiff1d(np.arange(total), last)
    theta, message, nu = cp.Variable((total, k)), cp.Variable((total, k)), cp.Variable(n)
    unary, transitions = cp.reshape(w[: k * p], (k, p), order="C"), w[k * p :]
    rows = len(inner) * k * k
    t, a, b = (g.ravel() for g in np.meshgrid(inner, np.arange(k), np.arange(k), indexing="ij"))

    def pick(columns: Ints, size: int) -> sparse.csr_array:
        return sparse.csr_array((np.ones(rows), (np.arange(rows), columns)), shape=(rows, size))

    flat_theta, flat_message = cp.vec(theta, order="C"), cp.vec(message, order="C")
    here, there = pick(t * k + a, total * k), pick((t + 1) * k + b, total * k)
    define = theta == chain.letters @ unary.T + chain.augmentation
    end = message[last] >= theta[last]
    start = cp.reshape(nu, (n, 1), order="C") @ np.ones((1, k)) >= message[first]
    constraints = [define, end, start]
    if rows:
        step = here @ (flat_message - flat_theta) >= pick(a * k + b, k * k) @ transitions + there @ flat_message
        constraints.append(step)

    def atoms() -> tuple[Ints, Ints, Floats]:
        pairs = np.zeros((total, k, k))
        if rows:
            pairs[inner] = multipliers(step).reshape(-1, k, k)
        heads, tails = multipliers(start), multipliers(end)
        samples, witnesses, weights = [], [], []
        for i in range(n):
            for path, weight in peeled(heads[i], pairs[first[i] : last[i]], tails[i]):
                samples.append(i)
                witnesses.append(np.concatenate([path, np.full(chain.width - len(path), -1)]))
                weights.append(weight)
        return np.array(samples), np.array(witnesses, np.int64), np.array(weights)

    return CompactHinge(nu - chain.truth_features @ w, constraints, atoms)


def peeled(heads: Floats, pairs: Floats, tails: Floats, tolerance: float = 1e-12) -> list[tuple[Ints, float]]:
    """Paths with weights whose sums are the marginals of a chain, nearly: widest path first.

    heads (K,), pairs (T − 1, K, K), tails (K,): mass of the first label, of each neighbouring pair and
    of the last label. Each round takes the path whose least mass is greatest and subtracts that mass,
    so some entry becomes zero; it ends when no path holds more than `tolerance` of the whole.
    Marginals that do not quite agree (a backend's duals) leave a remainder, which is dropped.
    """
    heads, pairs, tails = heads.copy(), pairs.copy(), tails.copy()
    floor, paths, length = tolerance * heads.sum(), [], len(pairs) + 1
    while True:
        width, back = heads, np.zeros((length, len(heads)), np.int64)
        for t, pair in enumerate(pairs):
            through = np.minimum(width[:, None], pair)
            back[t + 1] = through.argmax(axis=0)
            width = through.max(axis=0)
        width = np.minimum(width, tails)
        path = np.empty(length, np.int64)
        path[-1] = width.argmax()
        weight = float(width.max())
        if not weight > floor:
            return paths
        for t in range(length - 1, 0, -1):
            path[t - 1] = back[t, path[t]]
        paths.append((path, weight))
        heads[path[0]] -= weight
        tails[path[-1]] -= weight
        pairs[np.arange(length - 1), path[:-1], path[1:]] -= weight
