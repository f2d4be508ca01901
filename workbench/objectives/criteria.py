"""How hard a sample is: slack and uncertainty, criteria of self-paced learning (docs/mathematics.md §6).

    slack         f_i = (C/n) ξ_i(w),  the cost of the sample, compared with 1/K, the charge for leaving the sample out
    uncertainty   u_i = −Σ_h p(h) log p(h),   p(h) ∝ σ(k⟨w, Φ(x_i, y_i, h)⟩),   σ(z) = 1/(1 + e^{−z})

σ increases and u ≥ 0; the source prints both signs the other way round. With z_h the scores, log p is the log-softmax
of log σ(k z_h) = −log(1 + e^{−k z_h}), which no score overflows, and 0 ≤ u_i ≤ log |H_i|.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from workbench.contracts import Floats, Ints, Search
from workbench.errors import BadInput


def slack(formulation: Search, problem: Any, theta: Floats, samples: Ints) -> Floats:
    """f (m,): c_i h_i(θ) of a formulation with capped terms, to be compared with its κ_i."""
    oracle = formulation.oracle(problem)
    slopes, offsets = oracle.rows(samples, oracle.argmax(theta, samples))
    costs = np.array([float(each) for each in formulation.charges(problem)[0]])
    return costs[samples] * np.maximum(slopes @ theta + offsets, 0.0)


def uncertainty(scores: Sequence[ArrayLike], k: float = 1.0) -> Floats:
    """u (m,) from the scores z (|H_i|,) of each sample's hidden states at the true output.

    Raises `BadInput` for a sample without states, for scores that are no numbers, and for k that is not positive.
    """
    if not 0 < k < np.inf:
        raise BadInput(f"k is {k!r}; the steepness must be positive, e.g. k=1.")
    return np.array([entropy(i, np.asarray(each, float).ravel(), k) for i, each in enumerate(scores)])


def entropy(i: int, z: Floats, k: float) -> float:
    """H = log Σq − Σ q log q / Σq with q = p/max p; both terms are ≥ 0, since all log q ≤ 0 and one is 0."""
    if not len(z) or not np.isfinite(z).all():
        raise BadInput(f"Sample {i} has the scores {z}; give at least one, all of them finite.")
    with np.errstate(over="ignore"):  # beyond floats σ is 0 or 1
        logs = -np.logaddexp(0.0, -np.clip(k * z, -1e300, 1e300))
    logs = logs - logs.max()
    q = np.exp(logs)
    return float(min(np.log(q.sum()) - (q * logs).sum() / q.sum(), np.log(len(z))))
