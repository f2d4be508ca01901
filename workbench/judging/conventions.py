"""The convention detective: weights that are not the optimum asked for, whose optimum are they?

A learner that settles elsewhere often minimises a neighbour of the objective: λ where another package has C, a sum
for a mean, an intercept that is penalised. `explain` holds its weights θ against a table of such neighbours: each entry
of CONVENTIONS turns (formulation, problem, θ) into another (formulation′, problem′, θ′) that our own bounds can judge.

**The residual.** With L the certified lower bound of the neighbour's minimum and U of a known point's value

    e = (F′(θ′) − L)/size        how far θ′ is from stationary, at most;        e₋ = (F′(θ′) − U)/size, at least

For g = Σ μ a of the dual weights behind L it is a residual: F′(θ′) − L = ‖λθ′ + g‖²/(2λ) + ε, where g is an
ε-subgradient of the risk at θ′ (docs/mathematics.md §10). `size` is |F′(θ′)|, or SHARE · λ/2 ‖w‖² where that is
less, for F′ hardly depends on weights that cost next to nothing.

**The rule.** Candidates are entries with e ≤ CLOSE; the least e is named if the given objective has e₋ ≥ WORSE · e.
It is `confident` if so has every entry of another name, and if the given one has e₋ ≥ CLOSE, too; a multiple of λ
without a reason never is, nor are zero weights. Without a candidate, None: a learner that has not converged is
stationary under nothing. An entry is discarded as soon as a point is known that is better than θ′ by WORSE · CLOSE,
proof enough. Features are left out only by weights that are 0 there. Weights that a learner has and does not report, as
those of an intercept of its own, are taken to be what they are at the optimum: any others would only raise e.

**Intercepts.** Where the data have a constant column, r penalises it like any other; a learner may not. Where they have
none, the objective asked for has no intercept, and a learner that adds one minimises another: with a penalty (as
liblinear), or without (as L-BFGS does for likelihoods). Both are tried on data with a constant column, too.

**The multiple of λ.** E(κ) = κ r(θ) + R(θ) − min over w of κ r(w) + R(w), r = λ/2 ‖·‖², is convex in κ, for the minimum
of functions linear in κ is concave; its slope is r(θ) − r(w(κ)), so the best κ is the one at which the optimum w(κ) is
as long as θ. For given dual weights the gap κλ/2 ‖θ‖² + ‖g‖²/(2κλ) + … is least at κ = ‖g‖/(λ‖θ‖): as w(κ) = −g/(κλ),
that is κ ← κ ‖w(κ)‖/‖θ‖. It cannot overshoot, for κ‖w(κ)‖ rises and ‖w(κ)‖ falls with κ; the step is lengthened by
the slope that the last two show. Then ratios with a name near it are tried: 2, ½, n, 1/n, 1/(λ²n), …; κ itself is
named where it fits twice as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from workbench.contracts import CutForm, Floats, Ints, Labelled, SmoothForm
from workbench.errors import MissingCapability
from workbench.objectives.oracles import Decoding, UnitMargin
from workbench.objectives.regularizers import SquaredNorm
from workbench.objectives.variants import Rescaled, RescaledTerms, SmoothVariant, SquaredHinge, Variant
from workbench.proofs.door import bounds_for
from workbench.solving.solve import solve

CLOSE = 3e-3  # excess of a learner that has converged
WORSE = 10.0
SHARE = 30.0
FINE, ROUGH = 3e-5, 1e-4  # gaps of the neighbours' optima, and of those on the way to κ
SECONDS, ROUNDS = 60.0, 300  # for each of them
ZERO = 1e-6  # weights that are none, relative to the largest
LIGHT = 2.0**6  # a feature as many times larger costs 2⁻¹² as much
NEAR = 30.0  # of κ, within which named ratios are tried
ELSEWHERE, UNNAMED = 1.5, "λ"  # κ that differs from 1; its name where no ratio with a name fits
STEPS, LONGEST = 10, 15.0  # towards κ, and |log κ| beyond which the search ends
ALIKE, FLAT = 3e-3, -0.05  # log ‖w(κ)‖/‖w‖ that is none, and its least slope in log κ: small λ hardly matter
LEAST = 1e-200  # a size by which values can be divided
ALONG = (0.7, 1.4)  # multiples of θ that may be better than θ


@dataclass(frozen=True)
class Explanation:
    """What a learner does instead: the entry's `name`, one sentence, numbers, and whether nothing else fits.

    evidence : `excess` e under the named objective, `given` e₋ under the one asked for, `next` the least e₋ of the
        others, `multiple` κ where λ is meant
    """

    name: str
    sentence: str
    evidence: dict[str, float] = field(default_factory=dict)
    confident: bool = False


class Neighbour(NamedTuple):
    """Another reading of the weights: θ′ under formulation′ and problem′.

    size : in place of |F′(θ′)| where the minimum is 0;  evidence : what the entry found out on its way;
    objective : what tells F′ from others of this reference, the name if nothing else;
    hidden : the entries of θ′ that are not reported
    """

    name: str
    sentence: str
    formulation: Any
    problem: Any
    theta: Floats
    size: float = 0.0
    evidence: dict[str, float] = {}  # noqa: RUF012 never written to
    objective: Hashable = ()
    hidden: NDArray = np.zeros(0, bool)


class Finding(NamedTuple):
    """e and e₋ of a neighbour."""

    neighbour: Neighbour
    most: float
    least: float


@dataclass(frozen=True)
class Case:
    """Weights to be explained, and what they should have been; history [(passes, θ), …]."""

    theta: Floats
    reference: Any
    history: Sequence[tuple[float, Floats]] = ()

    @property
    def form(self) -> Any:
        return self.reference.formulation

    @property
    def problem(self) -> Any:
        return self.reference.problem

    @cached_property
    def values(self) -> tuple[float, float]:
        """F(θ) and F at the reference, as asked for."""
        bounds = bounds_for(self.form, self.problem)
        return bounds.upper(self.theta), bounds.upper(self.reference.theta_flat)

    @cached_property
    def n(self) -> int:
        return int(np.count_nonzero(self.problem.weights))

    @cached_property
    def plain(self) -> bool:
        """Whether θ is one vector w with r = λ/2 ‖w‖²."""
        return isinstance(self.form.regularizer(self.problem), SquaredNorm)

    @cached_property
    def intercepts(self) -> Floats:
        """(p,) whether an entry of w multiplies a feature that never varies."""
        inputs = getattr(self.problem, "inputs", getattr(self.problem, "X", None))
        if inputs is None:
            return np.zeros(len(self.theta), bool)
        lowest, highest = (getattr(inputs, end)(axis=0).toarray().ravel() for end in ("min", "max"))
        constant = (lowest == highest) & (highest != 0)
        copies = np.tile(constant, len(self.problem.classes)) if isinstance(self.problem, Labelled) else constant
        return np.concatenate([copies, np.zeros(len(self.theta) - len(copies), bool)])

    @property
    def edges(self) -> int:
        """Entries of w that weigh inputs; transitions follow."""
        return len(self.problem.classes) * self.problem.inputs.shape[1]

    def same(self, name: str, sentence: str, theta: Floats, **evidence: float) -> Neighbour:
        """Other weights under the objective that was asked for."""
        return Neighbour(name, sentence, self.form, self.problem, theta, 0.0, evidence, "as asked for")

    def seen(self, name: str, sentence: str, scales: Floats) -> Neighbour:
        """The same objective with φ multiplied by D: w = D w′."""
        kind, view = (SmoothVariant, RescaledTerms) if isinstance(self.form, SmoothForm) else (Variant, Rescaled)
        theta = self.theta / np.where(scales > 0, scales, 1.0) * (scales > 0)
        form = kind(self.form, lambda inner: view(inner, scales))
        return Neighbour(name, sentence, form, self.problem, theta, objective=("features", scales.tobytes()))


# ── the table ─────────────────────────────────────────────────────────────────────────────────────

Entry = Callable[[Case], Iterable[Neighbour]]


def data(name: str, sentence: str, key: str, change: Callable[[Any, Any], Any]) -> Entry:
    """Another problem: `change(array, problem)` of the array `key` it consists of, where it has that and it differs."""

    def entry(case: Case) -> Iterator[Neighbour]:
        arrays = case.problem.arrays()
        if key in arrays:
            new = np.asarray(change(arrays[key], case.problem))
            if not np.array_equal(new, arrays[key]):
                problem = type(case.problem).from_arrays(arrays | {key: new})
                yield Neighbour(name, sentence, case.form, problem, case.theta)

    return entry


def viewed(name: str, sentence: str, view: Callable[[Any], Any], **extra: Any) -> Entry:
    """Another oracle or regularizer, for cuts with r = λ/2 ‖w‖²."""

    def entry(case: Case) -> Iterator[Neighbour]:
        if case.plain and isinstance(case.form, CutForm):
            yield Neighbour(name, sentence, Variant(case.form, view, **extra), case.problem, case.theta)

    return entry


def squares(case: Case) -> Iterator[Neighbour]:
    """`farthest` is a power of two, so that learners with weights of like size are held against one objective."""
    if case.plain and isinstance(case.form, CutForm):
        far = 2.0 ** math.ceil(math.log2(farthest(case)))
        form = Variant(case.form, lambda inner: SquaredHinge(inner, far))
        yield Neighbour(
            "squared hinge", "squares the hinge", form, case.problem, case.theta, objective=("squares", far)
        )


def units(case: Case) -> Iterator[Neighbour]:
    """Where an output has one place, this is the cost matrix's matter."""
    if case.plain and isinstance(case.form, CutForm) and case.problem.width > 1:
        form = Variant(case.form, lambda inner: UnitMargin(inner.problem))
        yield Neighbour("unit loss", "has every wrong output cost 1, however wrong", form, case.problem, case.theta)


def rescaling(case: Case) -> Iterator[Neighbour]:
    other = {"margin": "slack", "slack": "margin"}.get(getattr(case.form, "rescaling", ""))
    if other:
        said = f"rescales {other}s by the loss, not {case.form.rescaling}s"
        yield Neighbour(f"{other} rescaling", said, replace(case.form, rescaling=other), case.problem, case.theta)


def sizes(case: Case) -> Iterator[Neighbour]:
    """Losses cℓ under margin rescaling: h′(w) = c h(w/c), so of u = w/c it is F′ = c (cλ/2 ‖u‖² + R(u)).

    With c = 1/λ, u is the optimum of ½ ‖u‖² + R: it comes from a Gram matrix ⟨a, a′⟩ where ⟨a, a′⟩/λ was meant.
    """
    if not case.plain or getattr(case.form, "rescaling", "") != "margin":
        return
    named = {
        2.0: ("loss twice", "has a loss (and margin) twice as large"),
        0.5: ("loss half", "has a loss (and margin) half as large"),
    }
    without = "divides its weights by λ, but not its Gram matrix (as if losses were ℓ/λ)"
    if case.form.lam != 1:
        named.setdefault(1 / float(case.form.lam), ("Gram matrix without λ", without))
    for c, (name, said) in named.items():
        yield Neighbour(name, said, replace(case.form, lam=c * case.form.lam), case.problem, case.theta / c)


def unaugmented(case: Case) -> Iterator[Neighbour]:
    """Its minimum is 0, at w = 0, so F(0) of the objective asked for is its size."""
    if case.plain and isinstance(case.form, CutForm):
        start = bounds_for(case.form, case.problem).scale
        said = "minimises without loss augmentation, to which zero weights are best (or has not moved from them)"
        form = Variant(case.form, lambda inner: Decoding(inner.problem))
        yield Neighbour("no loss augmentation", said, form, case.problem, case.theta, start)


def intercepts(case: Case) -> Iterator[Neighbour]:
    constant = case.intercepts
    if case.plain and constant.any() and not constant.all():
        said = "leaves the intercept out of the penalty"
        yield case.seen("intercept not penalised", said, np.where(constant, LIGHT, 1.0))


def own_intercepts(case: Case) -> Iterator[Neighbour]:
    """A constant column more, last of each label's, whose weights nobody reports."""
    arrays = case.problem.arrays()
    width = next((key for key in ("n_inputs", "n_features") if key in arrays), "")
    if not (case.plain and width and hasattr(case.problem, "inputs" if isinstance(case.problem, Labelled) else "X")):
        return
    p, edges = int(arrays[width]), case.edges if isinstance(case.problem, Labelled) else len(case.theta)
    hidden = np.concatenate([np.tile(np.arange(p + 1) == p, edges // p), np.zeros(len(case.theta) - edges, bool)])
    theta = np.zeros(len(hidden))
    theta[~hidden] = case.theta
    X = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(len(arrays["indptr"]) - 1, p))
    for name, how, value in (
        ("intercept added", "penalised like the weights", 1.0),
        ("free intercept added", "without penalty", LIGHT),
    ):
        wide = sparse.csr_array(sparse.hstack([X, np.full((X.shape[0], 1), value)]))
        wider = {"data": wide.data, "indices": wide.indices, "indptr": wide.indptr, width: np.array(p + 1)}
        problem = type(case.problem).from_arrays(arrays | wider)
        said = f"has an intercept of its own, {how}, and does not report it"
        yield Neighbour(name, said, case.form, problem, theta, hidden=hidden)


def subspaces(case: Case) -> Iterator[Neighbour]:
    """Features left out, so that their weights are zero: each subspace once, by the first of its descriptions."""
    if not case.plain:
        return
    every = np.arange(case.problem.n_samples)
    positive = case.problem.features(every, case.problem.truth)
    counts, labelled = np.asarray(positive.sum(axis=0)).ravel(), isinstance(case.problem, Labelled)
    seen = np.asarray(abs(positive).sum(axis=0)).ravel() > 0
    pairs = np.arange(len(case.theta)) >= (case.edges if labelled else len(case.theta))
    told, d = {np.ones(len(case.theta), bool).tobytes(), bytes(len(case.theta))}, len(case.theta)
    for name, what, kept in (
        ("no intercept", "has no intercept", ~case.intercepts),
        ("no transitions", "takes positions for independent, its transitions are zero", ~pairs),
        ("unseen features", "leaves out the {} of {} features that no true output has", seen),
        (
            "no positive count",
            "leaves out the {} of {} features whose sum over the true outputs is not positive",
            counts > 0,
        ),
        ("zero weights", "keeps {} of {} weights at zero, and is optimal among such weights", case.theta != 0),
    ):
        left_out = float(np.abs(case.theta[~kept]).max(initial=0.0))
        if kept.tobytes() not in told and left_out <= ZERO * float(np.abs(case.theta).max(initial=0.0)):
            told.add(kept.tobytes())
            yield case.seen(name, what.format(int((~kept).sum()), d), kept * 1.0)


def layouts(case: Case) -> Iterator[Neighbour]:
    """The same weights, laid out otherwise."""
    if not (case.plain and isinstance(case.problem, Labelled)):
        return
    k, edges = len(case.problem.classes), case.edges
    unary, pairs = case.theta[:edges], case.theta[edges:]
    for said, columns in (("lays its weights out", k), ("takes its weights to be laid out", edges // k)):
        other = np.concatenate([unary.reshape(-1, columns).T.ravel(), pairs])
        yield case.same("feature-major layout", f"{said} feature by feature, not label by label", other)
    order = nearest_order(unary.reshape(k, -1), case.reference.theta_flat[:edges].reshape(k, -1))
    if (order != np.arange(k)).any():
        moved = pairs.reshape(k, k)[np.ix_(order, order)].ravel() if len(pairs) else pairs
        other = np.concatenate([unary.reshape(k, -1)[order].ravel(), moved])
        yield case.same("labels permuted", f"reports the weights of labels in another order, {order.tolist()}", other)
    if len(pairs) == k * k:
        other = np.concatenate([unary, pairs.reshape(k, k).T.ravel()])
        yield case.same("transposed transitions", "swaps the two labels of its transitions", other)


def nearest_order(rows: Floats, best: Floats) -> Ints:
    """The order π for which Σ_y ‖rows_π(y) − best_y‖² is least."""
    return linear_sum_assignment(best @ rows.T, maximize=True)[1]


def projection(case: Case) -> Iterator[Neighbour]:
    repaired = case.form.regularizer(case.problem).feasible(case.theta)
    if (away := float(np.abs(repaired - case.theta).max(initial=0.0))) > 1e-9:
        yield case.same("no projection", "misses the projection onto the domain, else it is right", repaired, away=away)


def averages(case: Case) -> Iterator[Neighbour]:
    """The mean of what it reported; and, of a running mean x̄_t since the start, (t x̄_t − s x̄_s)/(t − s), s ≈ t/2."""
    if len(case.history) < 2:
        return
    passes, thetas = np.array([p for p, _ in case.history], float), np.array([theta for _, theta in case.history])
    half = int(np.searchsorted(passes, passes[-1] / 2, side="right")) - 1
    late = thetas[passes >= passes[-1] / 2]
    if len(late) > 1:
        said = "reports its last iterate where their average is right"
        yield case.same("last iterate", said, late.mean(axis=0))
    if half >= 0 and passes[half] < passes[-1]:
        t, s = passes[-1], passes[half]
        said = "averages over all iterates since the start, where those of the second half are right"
        yield case.same("average from the start", said, (t * thetas[-1] - s * thetas[half]) / (t - s))


def likelihood(case: Case) -> Iterator[Neighbour]:
    """The conditional likelihood for the hinge, and the other way round, on outputs that have both."""
    from workbench.registries import registry

    soft, crf = (registry("formulation").get(name) for name in ("soft-margin", "crf"))
    for given, other, name in ((soft, crf, "likelihood"), (crf, soft, "hinge")):
        if type(case.form) is given:
            said = f"minimises the {'conditional likelihood' if name == 'likelihood' else name}, with the same λ"
            yield Neighbour(f"{name} loss", said, other(lam=case.form.lam), case.problem, case.theta)


def ratios(case: Case) -> list[tuple[float, str, str]]:
    """(κ, name, saying) of the multiples of λ that have a reason."""
    n, total, mean = float(case.n), float(case.problem.weights.sum()), case.form.prices(case.problem).mean
    named = [
        (2.0, "λ twice", "with λ twice as large (as λ‖w‖² is, where λ/2 ‖w‖² is meant)"),
        (0.5, "λ half", "with λ half as large (as λ/2 ‖w‖² is, where λ‖w‖² is meant)"),
        (n / total, "weights not normalised", f"with λ {n / total:.3g} times as large (weights divided by n, not Σ s)"),
    ]
    counts = [total] if n == total else [total, n]  # a sum may be one of s_i h_i, or of n s_i h_i/Σ s
    if mean:
        for count in counts:
            summed = f"with λ {count:g} times smaller (the losses' sum, not their mean)"
            named.append((1 / count, "sum for mean", summed))
            named.append((count, "mean twice", f"with λ {count:g} times larger (the losses' mean divided by n again)"))
    else:
        named.append((total, "mean for sum", f"with λ {total:g} times larger (the losses' mean, not their sum)"))
    if isinstance(case.problem, Labelled) and (places := len(case.problem.labels)) > case.problem.n_samples:
        longer = places / case.problem.n_samples
        named.append((longer, "mean over positions", f"with λ {longer:.3g} times larger (a mean over positions)"))
    if mean and hasattr(case.form, "lam"):
        square = float(case.form.lam) ** 2
        for count in counts:
            named.append((1 / (square * count), "λ read as C", "with λ in the place of C in ½‖w‖² + C Σ h"))
        named.append((1 / square, "λ read as C/n", "with λ in the place of C in ½‖w‖² + (C/n) Σ h"))
    return [(ratio, name, saying) for ratio, name, saying in named if abs(np.log(ratio)) > 0.02]


def multiples(case: Case) -> Iterator[Neighbour]:
    """λ times the ratios that have a name and lie near the best κ; else times κ itself."""
    key = next((key for key in ("lam", "lam2") if hasattr(case.form, key)), None)
    if key is None or not np.linalg.norm(case.form.blocks(case.problem).split(case.theta)["w"]) > 0:
        return
    kappa = best_multiple(case, key)
    near = [each for each in ratios(case) if abs(np.log(each[0] / kappa)) < np.log(NEAR)]
    if abs(np.log(kappa)) > np.log(ELSEWHERE):
        near.append((kappa, UNNAMED, f"with λ {kappa:.3g} times as large"))
    for ratio, name, saying in near:
        form = replace(case.form, **{key: ratio * getattr(case.form, key)})
        said = f"minimises the same objective {saying}"
        yield Neighbour(name, said, form, case.problem, case.theta, 0.0, {"multiple": kappa}, ("λ", ratio))


def best_multiple(case: Case, key: str) -> float:
    """κ with ‖w(κ)‖ = ‖w‖, by the steps of the module's docstring; the block w is what λ penalises."""
    blocks, lam = case.form.blocks(case.problem), float(getattr(case.form, key))
    length = float(np.linalg.norm(blocks.split(case.theta)["w"]))
    reached, at, last = case.reference.theta_flat, 0.0, None  # w(κ), log κ, and (log κ, log ‖w(κ)‖/‖w‖) before
    for _ in range(STEPS):
        off = float(np.log(np.linalg.norm(blocks.split(reached)["w"]) / length + 1e-300))
        if abs(off) < ALIKE or abs(at) > LONGEST:
            break
        slope = -1.0 if last is None else float(np.clip((off - last[1]) / (at - last[0]), -1.0, FLAT))
        at, last = at - float(np.clip(off / slope, -LONGEST / 2, LONGEST / 2)), (at, off)
        form = replace(case.form, **{key: lam * math.exp(at)})
        reached = solve(form, case.problem, ROUGH, time_limit=SECONDS).theta_flat
    return float(np.exp(at))


CONVENTIONS: tuple[Entry, ...] = (
    multiples,
    rescaling,
    unaugmented,
    squares,
    viewed("absolute penalty", "penalises λ‖w‖₁ in place of λ/2 ‖w‖²", lambda inner: inner, absolute=True),
    units,
    data(
        "no cost matrix", "has every error cost 1, whatever the cost matrix", "cost", lambda c, _: 1.0 - np.eye(len(c))
    ),
    data("transposed costs", "reads the cost matrix with true and predicted labels swapped", "cost", lambda c, _: c.T),
    sizes,
    data(
        "length",
        "does not divide the loss by the length, or does where it should not",
        "loss",
        lambda each, _: other_loss(each),
    ),
    data("no sample weights", "ignores the sample weights", "weights", lambda s, _: np.ones_like(s)),
    data("balanced classes", "weights its samples so that classes count alike", "weights", lambda s, p: balanced(s, p)),
    data(
        "weight by length",
        "counts a sequence as often as it is long",
        "weights",
        lambda s, p: s * getattr(p, "lengths", 1),
    ),
    intercepts,
    own_intercepts,
    subspaces,
    layouts,
    likelihood,
    projection,
    averages,
)


def farthest(case: Case) -> float:
    """A bound on ‖w‖ for every w better than 0, λ/2 ‖w‖² ≤ Σ p_i (max ℓ_i)², and on θ and its multiples."""
    start = float(case.form.prices(case.problem).floats() @ case.problem.max_loss**2)
    best = np.sqrt(2 * start / case.form.regularizer(case.problem).lam)
    return 2 * max(float(best), max(ALONG) * float(np.abs(case.theta).max(initial=0.0)))


def other_loss(name: Any) -> str:
    return {"hamming": "hamming-normalised"}.get(str(name), "hamming")


def balanced(weights: Floats, problem: Any) -> Floats:
    """Weights times n/(k n_y), where a sample has one label."""
    if problem.width > 1 or not isinstance(problem, Labelled):
        return weights
    counts = np.bincount(problem.labels, minlength=len(problem.classes))
    return weights * problem.n_samples / (np.count_nonzero(counts) * counts[problem.labels])


# ── the judgement ─────────────────────────────────────────────────────────────────────────────────


def explain(theta: Floats, reference: Any, history: Sequence[tuple[float, Floats]] = ()) -> Explanation | None:
    """The neighbour of the objective at whose optimum the weights are, or None if at none of the table's.

    theta : (p,) weights;  reference : a certified optimum (formulation, problem, theta_flat, upper, lower, gap);
    history : what the learner reported on its way, [(passes, θ), …], for the entries about averages
    """
    return Detective(reference).explain(theta, history)


class Optimum:
    """What is known of min F′: `upper`, of the points seen so far, and `lower`, −∞ until it is solved for."""

    def __init__(self, neighbour: Neighbour, reference: Floats):
        self.form, self.problem = neighbour.formulation, neighbour.problem
        self.bounds = bounds_for(self.form, self.problem)
        start = 0 * neighbour.theta if len(neighbour.hidden) else reference
        self.at_reference = self.upper = self.bounds.upper(start)
        self.lower = -np.inf
        self.theta = start

    def solve(self, seen: Callable[[float], None]) -> None:
        """`seen` is told the values on the way, and may end it."""
        limits = {"time_limit": SECONDS, "max_rounds": ROUNDS, "observe": lambda record: seen(record["upper"])}
        best = solve(self.form, self.problem, FINE, **limits)
        self.lower, self.theta, self.upper = best.lower, best.theta_flat, min(self.upper, best.upper)


class Detective:
    """Explains any number of learners' weights against one reference; what it learns of a neighbour serves the next."""

    def __init__(self, reference: Any):
        self.reference = reference
        self.optima: dict[Hashable, Optimum] = {}

    def explain(self, theta: Floats, history: Sequence[tuple[float, Floats]] = ()) -> Explanation | None:
        """As the function of this name."""
        theta = np.asarray(theta, float).ravel()
        form, problem = self.reference.formulation, self.reference.problem
        if (
            not isinstance(form, CutForm | SmoothForm)
            or form.prices(problem).hard
            or not np.isfinite(self.reference.gap)
        ):
            return None
        if theta.shape != (form.blocks(problem).dim,) or not np.isfinite(theta).all():
            return None
        case = Case(theta, self.reference, history)
        return verdict(as_given(case), sorted(self.tried(case), key=lambda finding: finding.most))

    def tried(self, case: Case) -> Iterator[Finding]:
        """Every neighbour that exists for this case; what the outputs cannot do, no learner does."""
        for entry in CONVENTIONS:
            try:
                for neighbour in entry(case):
                    yield self.examined(neighbour, case)
            except MissingCapability:
                continue

    def examined(self, neighbour: Neighbour, case: Case) -> Finding:
        """e and e₋; the search for the minimum ends as soon as a point is known that is better by far."""
        key = neighbour.objective or neighbour.name
        if key not in self.optima:
            self.optima[key] = Optimum(neighbour, case.reference.theta_flat)
        known, theta = self.optima[key], neighbour.theta
        if neighbour.hidden.any():
            if known.lower == -np.inf:
                known.solve(lambda value: None)
            theta = np.where(neighbour.hidden, known.theta, theta)
        upper = known.bounds.upper(theta)
        if not np.isfinite(upper):
            return Finding(neighbour, np.inf, np.inf)
        if theta is case.theta and (upper, known.at_reference) == case.values:
            return Finding(neighbour, np.inf, np.inf)  # no other objective, on these data
        size = neighbour.size or abs(upper)
        if isinstance(known.bounds.regularizer, SquaredNorm) and not neighbour.size:
            size = min(size, SHARE * float(known.bounds.regularizer.value(theta)))
        size = max(size, LEAST)

        def seen(value: float) -> None:
            known.upper = min(known.upper, value)
            if upper - known.upper > WORSE * CLOSE * size:
                raise BetterByFar

        try:
            seen(known.upper)
            if known.lower == -np.inf:
                for c in ALONG:
                    seen(known.bounds.upper(c * theta))
                known.solve(seen)
                seen(known.upper)
        except BetterByFar:
            return Finding(neighbour, np.inf, (upper - known.upper) / size)
        return Finding(neighbour, (upper - known.lower) / size, (upper - known.upper) / size)


class BetterByFar(Exception):
    """θ′ is no candidate: a point is known that is better by WORSE · CLOSE."""


def as_given(case: Case) -> float:
    """e₋ under the objective that was asked for; ∞ off its domain."""
    if any(projection(case)):
        return np.inf
    bounds = bounds_for(case.form, case.problem)
    return bounds.relative(bounds.upper(case.theta), case.reference.upper)


def verdict(given: float, findings: list[Finding]) -> Explanation | None:
    """The rule of the module's docstring, for findings in order of e."""
    free = min((each.most for each in findings if not named(each)), default=np.inf)
    if any(
        "multiple" in each.neighbour.evidence and each.most <= min(CLOSE, 2 * free) for each in findings if named(each)
    ):
        findings = [each for each in findings if named(each)]
    if not findings or findings[0].most > CLOSE or given < WORSE * findings[0].most:
        return None
    best = findings[0]
    others = [finding for finding in findings[1:] if finding.neighbour.name != best.neighbour.name]
    rival = min((finding.least for finding in others), default=np.inf)
    found = best.neighbour
    return Explanation(
        found.name,
        f"The learner {found.sentence}: its weights are within {best.most:.1e} of that optimum, "
        f"{given:.1e} from the one asked for.",
        {"excess": best.most, "given": given, "next": rival} | found.evidence,
        bool(named(best) and not found.size and min(rival, given) >= WORSE * best.most and given >= CLOSE),
    )


def named(finding: Finding) -> bool:
    return finding.neighbour.name != UNNAMED
