"""What holds an optimum: the samples and cuts with dual weight, and proven bounds on what changes if a sample leaves.

Let θ, μ be the point and the cuts' weights of a certificate, μ_k = p_i α_i(z). Sample j leaves when its weight becomes
0. The formulation then has other prices p′ (of a mean: p′_i = p_i/(1 − p_j)) and perhaps another r′, and

    Σ_{i≠j} p′_i Σ_z α_i(z) o_i(z) − r′*(−Σ_{i≠j} p′_i Σ_z α_i(z) a_i(z))  ≤  min F_{−j}  ≤  r′(θ) + Σ_{i≠j} p′_i h_i(θ)

since the α_i are still weights on the simplex, and θ is still a point (docs/mathematics.md §1, §8). Both ends come from
the one place that computes bounds, with the certificate's θ and α; nothing is solved. At an exact optimum with
r = λ/2‖θ‖² and c = 1/(1 − p_j) the two ends are c²p_j²‖λθ + Σ_z α_j(z) a_j(z)‖²/(2λ) apart: of second order in p_j,
while the change itself is of first order. With few samples and a small λ the lower end is better if a share of all
weights goes to the truths (`shrunk`); the better one counts. By strong convexity the optimum without the sample is at
most √(2·(that width)/λ) away from θ.

For smooth terms the cut of a sample is the tangent at θ, and both ends are those of `SmoothBounds` at θ.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from workbench.arithmetic.intervals import down, up
from workbench.contracts import Cuts, Floats, Ints, Prices
from workbench.errors import BadInput, MissingCapability, checked_whole, printed
from workbench.proofs.any_bounds import AnyBounds, bounds_for
from workbench.proofs.bounds import Bounds, Evidence
from workbench.proofs.certificate import Certificate, check_outputs
from workbench.proofs.smooth import SmoothBounds

NEGLIGIBLE = 1e-6  # share of a sample's weight up to which a cut holds nothing: backends leave such traces everywhere
FULL = 1 - NEGLIGIBLE  # share on outputs other than the truth from which on all of a sample's weight is there


@dataclass(frozen=True)
class HeldCut:
    """A cut with weight: an output in the problem's words, its share α of the sample, weight μ, loss, and height at θ.

    height : ⟨a, θ⟩ + o, the value of the term that the sample's maximum is over;  witness : the output as numbers
    """

    output: str
    share: float
    weight: float
    loss: float
    height: float
    witness: tuple[int, ...]


@dataclass(frozen=True)
class Left:
    """What is proven of the optimum without a sample: its interval, the change, and how far the weights move at most.

    change : (least, greatest) of min F_{−j} − min F
    moved : a bound on the distance from the certificate's θ to the optimum without the sample; None where r gives none
    """

    lower: float
    upper: float
    change: tuple[float, float]
    moved: float | None


@dataclass(frozen=True)
class Holder:
    """A sample that holds the optimum.

    share : of its dual weight on outputs other than the truth, 0 to 1;  pull : ‖Σ_k μ_k a_k‖ over its cuts
    hinge : h_i(θ), in floats;  left : what is proven if the sample leaves; None where no problem would be left
    """

    sample: int
    truth: str
    share: float
    pull: float
    hinge: float
    cuts: tuple[HeldCut, ...]
    left: Left | None


@dataclass(frozen=True)
class Explanation:
    """What holds the optimum of a certificate.

    lower, upper : both bounds, recomputed
    support, full : how many samples have weight on outputs other than the truth, and how many have all of theirs there
    cuts : how many cuts that are;  samples : those with the greatest pull, first
    """

    lower: float
    upper: float
    n_samples: int
    support: int
    full: int
    cuts: int
    samples: tuple[Holder, ...]


def explain(certificate: Certificate, most: int = 10) -> Explanation:
    """The samples that hold the optimum of a certificate, by falling pull, at most `most`.

    Raises
    ------
    MissingCapability : the proof is a search tree or rests on slopes, neither of which has dual weights
    BadInput : no certificate; `most` is no whole number from 1 on; a witness of it is no output of its sample
    """
    checked_whole(1, most=most)
    if not isinstance(certificate, Certificate):
        kind = type(certificate).__name__
        raise BadInput(f"A {kind} is no certificate; give the `certificate` of a solution, or what `load` returned.")
    if certificate.tree is not None:
        raise MissingCapability("This proof is a search tree, which has no dual weights; explain one of cuts.")
    if certificate.slopes is not None:
        raise MissingCapability("This proof rests on slopes of pairs, not on dual weights; explain one of cuts.")
    bounds = bounds_for(certificate.formulation, certificate.problem)
    if isinstance(bounds, SmoothBounds):
        return Tangents(certificate, bounds).explanation(most)
    check_outputs(certificate.problem, certificate)
    assert isinstance(bounds, Bounds)  # the proof rests on no slopes
    return Weighted(certificate, bounds).explanation(most)


class Weighted:
    """A certificate with cuts: what holds it, and its bounds without a sample."""

    def __init__(self, certificate: Certificate, bounds: Bounds):
        self.certificate, self.bounds, self.problem = certificate, bounds, certificate.problem
        self.theta = bounds.regularizer.feasible(certificate.theta)
        self.pool = Cuts(bounds.oracle.dim, bounds.oracle.width)
        ids = self.pool.add(certificate.samples, certificate.witnesses, bounds.oracle.rows)
        priced = bounds.samples[: 0 if bounds.prices.hard else None]
        self.truths = self.pool.add(priced, bounds.truth[priced], bounds.oracle.rows)
        self.weights = np.bincount(ids, certificate.weights, len(self.pool)).astype(float)
        self.weights[bounds.prices.weights[self.pool.samples] == 0] = 0.0
        self.upper = bounds.upper(certificate.theta)
        self.lower = bounds.lower(self.pool, self.weights, self.upper)
        self.mass = np.bincount(self.pool.samples, self.weights, bounds.oracle.n_samples)
        self.scale = self.mass if not bounds.prices.hard else np.full(len(self.mass), self.weights.max(initial=0.0))
        self.moving = np.diff(self.pool.slopes.indptr).astype(bool) | (self.pool.offsets != 0)

    def explanation(self, most: int) -> Explanation:
        samples = self.pool.samples
        active = np.flatnonzero((self.weights > NEGLIGIBLE * self.scale[samples]) & self.moving)
        used = np.bincount(samples[active], self.weights[active], len(self.mass)).astype(float)  # integers if none
        shares = np.divide(used, self.mass, out=np.zeros_like(used), where=self.mass > 0)
        pulls = np.zeros(len(self.mass))
        for i in np.unique(samples[active]).tolist():
            own = active[samples[active] == i]
            pulls[i] = float(np.linalg.norm(self.pool.slopes[own].T @ self.weights[own]))
        order = [int(i) for i in np.lexsort((np.arange(len(pulls)), -used, -pulls))[:most] if used[i] > 0]
        found = tuple(self.holder(i, active[samples[active] == i], shares[i], pulls[i]) for i in order)
        full = int((shares[used > 0] >= FULL).sum())
        sizes = self.problem.n_samples, int((used > 0).sum()), full, len(active)
        return Explanation(self.lower, self.upper, *sizes, found)

    def holder(self, i: int, own: Ints, share: float, pull: float) -> Holder:
        truth = printed(self.problem.describe(i, self.problem.truth[i]))
        heights = self.pool.slopes[own] @ self.theta + self.pool.offsets[own]
        return Holder(i, truth, float(share), pull, self.hinge(i), tuple(self.held(i, own, heights)), self.left(i))

    def held(self, i: int, own: Ints, heights: Floats) -> Iterator[HeldCut]:
        """The cuts of a sample, by falling weight."""
        witnesses = self.pool.witnesses[own]
        losses = self.problem.loss(np.full(len(own), i), witnesses)
        for k in np.argsort(-self.weights[own], kind="stable").tolist():
            weight = float(self.weights[own[k]])
            words = printed(self.problem.describe(i, witnesses[k]))
            numbers = float(losses[k]), float(heights[k]), tuple(witnesses[k].tolist())
            yield HeldCut(words, weight / self.mass[i], weight, *numbers)

    def hinge(self, i: int) -> float:
        alone = np.array([i])
        slopes, offsets = self.bounds.oracle.rows(alone, self.bounds.oracle.argmax(self.theta, alone))
        return float((slopes @ self.theta + offsets)[0])

    def left(self, j: int) -> Left | None:
        """What is proven of the optimum without sample j."""
        if (bounds := without(self.certificate, j)) is None:
            return None
        assert isinstance(bounds, Bounds)  # of the same kind as those with sample j
        weights = self.weights.copy()
        weights[self.pool.samples == j] = 0.0
        upper = bounds.upper(self.certificate.theta)
        tried = [
            weights,
            bounds.balanced(self.pool, weights),
            self.scaled(weights),
            self.shrunk(weights, bounds.prices),
        ]
        lower = max(bounds.lower(self.pool, each, upper) for each in tried)
        return changed((lower, upper), (self.lower, self.upper), bounds.regularizer.curvature)

    def scaled(self, weights: Floats) -> Floats:
        """t·μ with the t ≥ 0 that maximises the dual of hard constraints, t⟨o, μ⟩ − t²‖Σ μ a‖²/(2λ); else μ."""
        lam, push = self.bounds.regularizer.curvature, self.pool.slopes.T @ weights
        if not self.bounds.prices.hard or lam is None or not push.any():
            return weights
        return weights * max(lam * float(self.pool.offsets @ weights) / float(push @ push), 0.0)

    def shrunk(self, weights: Floats, prices: Prices) -> Floats:
        """t·μ and (1 − t)·p_i on each truth, whose cut is 0, with the best t in [0, 1], μ brought to finite prices p.

        So no lower end is below that of all weight on the truths, which of a soft margin is 0.
        """
        if prices.hard:
            return weights
        price = prices.floats()
        rise = np.divide(price, self.mass, out=np.zeros(len(price)), where=self.mass > 0)
        weights = weights * rise[self.pool.samples]
        lam, push = self.bounds.regularizer.curvature, self.pool.slopes.T @ weights
        value, square = float(self.pool.offsets @ weights), float(push @ push)
        share = 0.0 if lam is None else min(max(lam * value, 0.0) / square, 1.0) if square else 1.0
        weights *= share
        weights[self.truths] += (1 - share) * price[self.pool.samples[self.truths]]
        return weights


class Tangents:
    """A certificate of smooth terms: each sample's one cut is its tangent at θ."""

    def __init__(self, certificate: Certificate, bounds: SmoothBounds):
        self.certificate, self.bounds, self.problem = certificate, bounds, certificate.problem
        self.lower, self.upper = bounds.recheck(Evidence(certificate.theta))

    def explanation(self, most: int) -> Explanation:
        prices, terms, theta = self.bounds.prices, self.bounds.oracle, self.certificate.theta
        single = [terms.evaluate(theta, np.array([i]), np.ones(1)) for i in self.bounds.samples.tolist()]
        pulls = np.array([float(np.linalg.norm(gradient)) for _, gradient in single])
        pulls *= prices.floats()[self.bounds.samples]
        order = np.argsort(-pulls, kind="stable")[:most].tolist()
        found = tuple(self.holder(int(self.bounds.samples[k]), float(pulls[k]), float(single[k][0][0])) for k in order)
        n = len(pulls)
        return Explanation(self.lower, self.upper, self.problem.n_samples, n, n, n, found)

    def holder(self, i: int, pull: float, hinge: float) -> Holder:
        predicted = self.bounds.oracle.decode(self.certificate.theta, np.array([i]))
        loss, weight = float(self.problem.loss(np.array([i]), predicted)[0]), float(self.bounds.prices.floats()[i])
        words = f"the model's distribution, likeliest {printed(self.problem.describe(i, predicted[0]))}"
        truth = printed(self.problem.describe(i, self.problem.truth[i]))
        cut = HeldCut(words, 1.0, weight, loss, hinge, tuple(predicted[0].tolist()))
        return Holder(i, truth, 1.0, float(pull), hinge, (cut,), self.left(i))

    def left(self, j: int) -> Left | None:
        if (bounds := without(self.certificate, j)) is None:
            return None
        assert isinstance(bounds, SmoothBounds)  # of the same kind as those with sample j
        ends = bounds.recheck(Evidence(self.certificate.theta))
        return changed(ends, (self.lower, self.upper), bounds.regularizer.curvature)


# ── without a sample ──────────────────────────────────────────────────────────────────────────────


def without(certificate: Certificate, j: int) -> AnyBounds | None:
    """The bounds of the pair in which sample j has weight 0; None if the formulation takes no such problem."""
    problem = copy.copy(certificate.problem)
    problem.weights = np.where(np.arange(problem.n_samples) == j, 0.0, problem.weights)
    if not problem.weights.any():
        return None
    try:
        return bounds_for(certificate.formulation, problem)
    except BadInput:  # costs are learned from two labels at least, and these samples have one
        return None


def changed(new: tuple[float, float], old: tuple[float, float], curvature: float | None) -> Left:
    """What the ends (lower, upper) of the optimum without a sample, and of that with it, prove of the change."""
    lower, upper = new
    if lower > upper:
        raise BadInput("The bounds without a sample contradict each other; check the argmax with check-oracle.")
    moved = None if curvature is None else float(up(math.sqrt(up(2 * up(upper - lower) / float(curvature)))))
    return Left(lower, upper, (float(down(lower - old[1])), float(up(upper - old[0]))), moved)
