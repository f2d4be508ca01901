"""Self-paced learning: which samples are easy enough, and when the others enter (docs/mathematics.md §6).

Kumar, Packer & Koller (2010) learn from the samples whose difficulty f_i is below 1/K, and let K fall:

    outer   h ← argmax_h ⟨w, Φ(x_i, y_i, h)⟩,  K ← K/μ                     (their Algorithm 1)
    inner   v_i ← 1[f_i < 1/K],  w ← argmin ½‖w‖² + Σ v_i c_i ξ_i(w; h),  repeated      (their Algorithm 2)

with costs c_i = C s_i/Σs, s_i the sample weights (1 unless given). Three criteria measure the difficulty of a sample at
weights w and states h:

    slack         (C/Σs) ξ_i(w; h)   the unit of the objective: the inner loop then descends on
                                     A(w, v) = ½‖w‖² + Σ v_i c_i ξ_i + Σ (1 − v_i) s_i/K
    uncertainty   the entropy of the hidden variable      (objectives/criteria.py)
    novelty       the least change of w that makes the sample right      (objectives/least_change.py)

Each criterion has its own threshold κ = 1/K, so criteria combine without a common unit: with shares a_k ≥ 0, scaled
to Σ a_k = 1, a sample enters

    by "mix" if Σ_k a_k f_k/κ_k < 1,        by "all" if f_k < κ_k for all k with a_k > 0.

*Sample weights.* Cost and charge both carry s_i: keeping a sample pays if c_i ξ_i < s_i/K, that is (C/Σs) ξ_i < 1/K.
No difficulty depends on s_i but through Σs, so a sample of weight 3 enters exactly when three copies of the sample
would. A sample of weight 0 enters no count: neither A nor a threshold knows the sample.

*First thresholds.* κ_k lies between two values of f_k. The samples below κ_k hold at least half of the total weight,
and at least a tenth of the weight of samples with several states (|H_i| > 1): a sample with one state has uncertainty
0, and would keep the samples with several states out. A difficulty below a millionth of the greatest one counts as 0,
and two difficulties within a millionth of each other count as one: weights w are optimal to a gap, and where many
samples have the same f_k, κ_k must not fall between two rounding errors.
"""

from __future__ import annotations

from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.rationals import ratios
from workbench.contracts import Floats, Ints, enumerated
from workbench.errors import BadInput
from workbench.objectives.criteria import uncertainty
from workbench.objectives.least_change import novelties
from workbench.objectives.oracles import MarginRescaling

CRITERIA = ("slack", "uncertainty", "novelty")
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
NONE = 1e-6  # of the greatest finite difficulty; and the relative distance at which two difficulties are one


def costs(problem: Any, C: float) -> Floats:
    """c_i = C s_i/Σs (n,)."""
    return C * problem.weights / problem.weights.sum()


def unit_cost(problem: Any, C: float) -> float:
    """C/Σs: what a slack of 1 costs at sample weight 1."""
    return float(C / problem.weights.sum())


def hinges(problem: Any, w: Floats, states: Ints) -> Floats:
    """ξ_i(w; h) = max(0, max over rivals (ŷ, ĥ) of Δ + ⟨w, Φ(x_i, ŷ, ĥ) − Φ(x_i, y_i, h_i)⟩) (n,)."""
    oracle, everyone = MarginRescaling(problem.completed(states)), np.arange(problem.n_samples)
    slopes, offsets = oracle.rows(everyone, oracle.argmax(w, everyone))
    return np.maximum(slopes @ w + offsets, 0.0)


def rivals(problem: Any) -> list[tuple[Floats, Floats]]:
    """Of each sample Φ(x_i, y_i, h) − Φ(x_i, ŷ, ĥ) (|H|, r, d) and Δ(y_i, ŷ) (r,), over its r rivals, ŷ ≠ y_i."""
    everyone = np.arange(problem.n_samples)
    samples, outputs = enumerated(problem, everyone)
    features, losses = problem.features(samples, outputs).toarray(), problem.loss(samples, outputs)
    found = []
    for own in np.split(np.arange(len(samples)), np.flatnonzero(np.diff(samples)) + 1):
        loss, phi = losses[own], features[own]
        found.append((phi[loss == 0][:, None] - phi[loss > 0], loss[loss > 0]))
    return found


def novelty_of(problem: Any, w: Floats) -> Floats:
    """Novelty of every sample (n,), hidden variables at their best; ∞ where no change of w is enough.

    With one rival it is the least (Δ − ⟨w, a⟩)₊²/(2‖a‖²) over the states.
    """
    found, several = np.empty(problem.n_samples), {}
    for i, (slopes, loss) in enumerate(rivals(problem)):
        needs = np.maximum(loss - slopes @ w, 0.0)
        if len(loss) == 1:
            with np.errstate(divide="ignore", invalid="ignore"):
                alone = np.where(needs > 0, needs**2 / (2 * (slopes**2).sum(axis=2)), 0.0)
            found[i] = alone.min()
        else:
            several[i] = list(zip(slopes, loss - slopes @ w, strict=True))
    found[list(several)] = novelties(list(several.values())).values
    return found


def difficulties(problem: Any, w: Floats, states: Ints, unit: float, shares: Floats, k: float) -> Floats:
    """f (3, n) of slack, uncertainty and novelty; a criterion with share 0 gets the row 0.

    unit : C/Σs;  k : steepness of the uncertainty's σ
    """
    everyone, found = np.arange(problem.n_samples), np.zeros((len(CRITERIA), problem.n_samples))
    if shares[0] > 0:
        found[0] = unit * hinges(problem, w, states)
    if shares[1] > 0:
        found[1] = uncertainty(problem.hidden_scores(w, everyone), k)
    if shares[2] > 0:
        found[2] = novelty_of(problem, w)
    return found


def first_thresholds(f: Floats, hidden: NDArray[np.bool_], weights: Floats) -> Floats:
    """κ (3,) from f (3, n), see the module's docstring; `hidden` (n,) says |H_i| > 1, `weights` (n,) are the s_i."""
    found, there = [], weights > 0
    hidden, masses = hidden[there], ratios(weights[there]).whole
    for values in f[:, there]:
        each = np.where(values <= NONE * values[np.isfinite(values)].max(initial=0.0), 0.0, values)
        groups = [(each, masses, HALF), (each[hidden], masses[hidden], TENTH)]
        least = max(quantile(*group) for group in groups if len(group[0]))
        finite = each[np.isfinite(each)]
        least = min(least, finite.max(initial=0.0))
        above = finite[finite > least * (1 + NONE)]
        found.append((least + above.min()) / 2 if len(above) else 2 * least or 1.0)
    return np.array(found)


def quantile(values: Floats, masses: NDArray, share: Fraction) -> float:
    """The least of the values (m,) such that those up to it hold this share of the masses (m,), whole numbers."""
    order = np.argsort(values, kind="stable")
    heaped = np.cumsum(masses[order])
    enough = heaped * share.denominator >= share.numerator * heaped[-1]
    return float(values[order][np.flatnonzero(enough)[0]])


def admitted(f: Floats, kappa: Floats, shares: Floats, combine: str) -> NDArray[np.bool_]:
    """(n,) who enters."""
    used = shares > 0
    ratios = f[used] / kappa[used, None]
    return np.asarray(shares[used] @ ratios < 1 if combine == "mix" else (ratios < 1).all(axis=0))


def checked_shares(**values: float) -> Floats:
    """Shares (3,) of the criteria, in order, summing to 1."""
    for name, value in values.items():
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or not (value == 0 or 1e-100 <= value <= 1e100):
            raise BadInput(f"{name} is {value!r}; a criterion's share is 0 or from 1e-100 to 1e100, e.g. {name}=1.")
    shares = np.array([values[name] for name in CRITERIA], float)
    if not shares.any():
        raise BadInput(f"The shares of {', '.join(CRITERIA)} are all 0; give one of them, e.g. slack=1.")
    return shares / shares.sum()
