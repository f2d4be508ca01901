"""Verdicts: does a learner reach the proven optimum, and if not, is it on its way?

Every objective is computed here, on the reference's problem, from the weights alone. With the
reference's proven lower bound L ≤ min F, the absolute excess of weights θ is e = F(θ) − L, the
relative one e / max(|F|, |L|, 1e-6·F(0)). In order, the first that holds:

    failed          crashed, weights not finite, or too large for F, or of another size
    not comparable  another objective by its own declaration, or a reference without a proven gap
    disagrees       (drift) the θ it reports is not the θ of its own dual weights, replayed by `run` or handed over
                    (feasibility) θ lies outside of r's domain, so that F(θ) = ∞
                    (reported) what it reports of itself is false, see below
    agrees          relative excess ≤ max(tolerance, 3 × the reference's gap)
    disagrees       (rate) e > 100 × the solver's published bound on E e: by Markov's inequality a
                    clean run gets there with probability below 1 %
    disagrees       (settled) both of
                      1. its history has settled above the optimum: of the curves
                         e∞ + c·t^−p fitted to its last checkpoints, the best has e∞ ≥ e/2, and
                         those that end within the tolerance fit significantly worse; of six
                         checkpoints on, so it must be without any one of them, too. Or it stands:
                         eight times the passes brought no factor of 1.5, if they did not raise e;
                      2. the problem is no excuse: clean runs of ours with the same budget, eight of
                         the same solver if it is one of ours, else two of every solver that fits,
                         all end below e∞/2; if it stands, two of every solver, below e/10. Where no
                         solver of ours fits there are none, and nobody is accused.
    not converged   otherwise

A solver that learns from its mistakes has no optimum to reach. It is judged by what its log allows: the
weights it reports are the log's, their norm has not outgrown ‖Σψ‖² ≤ Σ‖ψ‖², and it made no more mistakes
than a comparator's bound admits (solvers/perceptron.py); else it `disagrees`. Where no
weights separate the data (`NotSeparable` in the reference's place) certified soft-margin weights compare.

A learner of costs set by difficulty, (w, b, v), follows no objective and has two residuals: F(w, b, v) less the
certified minimum over (w, b) at its own v, relative, and ‖v − step(D(w, b), v)‖. It `agrees` if both are within the
tolerance, `disagrees` if v is no point of the simplex, and is `not converged` otherwise: cosine and dot steps
jump, so that a clean run may circle for ever (docs/mathematics.md §5).

Why two conditions. On ill-conditioned problems clean methods stand still, too: block-coordinate
Frank–Wolfe on badly scaled data can fall slower than t^−0.05 over a hundred passes, so a flat history
alone proves nothing; there the clean runs stand still with it and nobody is accused. A clean run
alone proves nothing either: luck makes one run ten times better than another near the optimum, and
a slow method is not a wrong one; but it keeps falling. The price is lateness: a learner still
on its way to a wrong limit is `not converged` until it is nearly there.

**A learner's own report** may come with its weights: `objective`, `lower`, `gap`, `dual`. Each is recomputed, and
contradicted if it is false beyond rounding (relative CLAIM): an objective that is not F(θ); a lower bound above the
proven upper bound; a gap that is negative or, read as absolute and as relative, less than what is proven to be
missing, F(θ) − upper; dual weights (samples, outputs, μ ≥ 0 with Σ_z μ_i(z) = p_i) that are no such weights, or whose
θ = argmin r + ⟨Σ μ a, ·⟩ is not the θ reported. Under hard constraints an objective is r(θ), of θ as it is. An
objective is a number, so NaN is a false one; a gap of NaN or ∞ and a lower bound of NaN or −∞ say nothing.

A bare θ has no history, so above the tolerance it is `not converged` whatever its excess. Pass the
answers under growing budgets, [(passes, θ), …]: with two to four of them, settled means that e
changed by less than 1 % while the budget at least doubled. Of a long history GRADED are looked at (`chosen`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from workbench.arithmetic.arrays import LARGEST
from workbench.contracts import Cuts, Enumerable, Floats, Ints, Majorized, Trace, enumerated
from workbench.errors import NotSeparable
from workbench.proofs.bounds import Bounds, SmoothBounds
from workbench.proofs.door import bounds_for
from workbench.registries import registry
from workbench.solving.solve import solve
from workbench.solving.stochastic import Checkpoint, graded, run

AGREES, NOT_CONVERGED, DISAGREES = "agrees", "not converged", "disagrees"
NOT_COMPARABLE, FAILED = "not comparable", "failed"
VERDICTS = (AGREES, NOT_CONVERGED, DISAGREES, NOT_COMPARABLE, FAILED)

CLAIM = 1e-6  # relative; a sum of floats in another order is nearer, a sum of float32 is not
DRIFT = 1e-6  # relative distance of reported and replayed weights; clean runs stay below 1e-12
MARKOV = 100.0
WINDOW = 16  # the fit uses the checkpoints in the last factor of this many passes
POWERS = np.concatenate([np.arange(0.1, 1.0, 0.1), np.arange(1.0, 3.1, 0.25)])
NOISE = 0.01  # checkpoints are never believed to be more regular than this
LEAST = 1e-100  # excess; its inverse can still be squared
GRADED = 120  # checkpoints of a history; an objective costs an argmax for each sample
SIGNIFICANT = 10.0
FALL = 1.5
SETTLED, STANDING = 2.0, 10.0  # how many times lower clean runs must end
SEEDS = tuple(range(101, 109))  # of clean runs of the same solver; of others the first FEW
FEW = 2
STOP = 1e-6  # relative excess at which a clean run has told enough
COMPARED = (1e-1, 1e-2, 1e-3)  # λ of soft-margin comparators
BUDGET = 500  # passes of a clean run at most; a smaller budget only makes the judge more lenient


@dataclass(frozen=True)
class Verdict:
    """A verdict, the relative excess, one sentence, the numbers behind it, and the rule that decided.

    rule : one of `crash`, `weights`, `objective`, `reference`, `drift`, `feasibility`, `reported`, `optimum`,
        `rate`, `settled`, `history`, `mistakes`, `residuals`
    """

    verdict: str
    excess: float
    reason: str
    evidence: dict[str, float] = field(default_factory=dict)
    rule: str = ""


class Report(NamedTuple):
    """Weights after `passes`, and what the learner says of them (`claims`: objective, lower, gap, dual, …).

    remarks : what is to be told of the report itself, in sentences
    """

    passes: float
    theta: Floats
    claims: Mapping[str, Any] = {}
    remarks: tuple[str, ...] = ()


class Settling(NamedTuple):
    """What a history says about its limit."""

    limit: float  # e∞ of the best curve
    misfit: float  # how much worse curves that end within the tolerance fit (F ratio)
    power: float  # least-squares slope of −log e against log t
    settled: bool


def crosscheck(learned: Trace | Floats | Sequence[Any] | Exception, solution: Any, tolerance: float = 1e-4) -> Verdict:
    """Judges a trace, weights, a list of (passes, weights) or of `Report`s, or the exception a learner died of.

    `solution` is a certified reference: upper, lower, gap, theta_flat, formulation, problem.
    """
    if isinstance(learned, Trace) and learned.mistakes is not None:
        return mistaken(learned, solution)
    if isinstance(learned, Exception):
        told = " ".join(f"{type(learned).__name__}: {learned}".split())
        return Verdict(FAILED, np.inf, f"The learner crashed: {told}", rule="crash")
    trace = learned if isinstance(learned, Trace) else None
    reports = history(learned)
    if isinstance(solution.formulation, Majorized) and hasattr(solution.formulation, "step_rule"):
        return alternated(reports[-1].theta, solution.formulation, solution.problem, tolerance)
    if isinstance(solution.formulation, Majorized):
        sentence = (
            "The reference is an alternation, which proves no optimum; take the formulation of its inner programs."
        )
        return Verdict(NOT_COMPARABLE, np.nan, sentence, rule="reference")
    bounds = bounds_for(solution.formulation, solution.problem)
    if refusal := unusable([each.theta for each in reports], trace and trace.formulation, solution, bounds.oracle.dim):
        return refusal
    case = Case(chosen(reports), trace, solution, bounds, tolerance)
    return case.contradicted() or case.near() or case.too_slow() or case.unsettled() or case.stays()


def unusable(thetas: list[Floats], own: Any, solution: Any, dim: int) -> Verdict | None:
    """`failed` for weights that are none, `not comparable` for objectives that differ or an unproven reference."""
    if any(theta.shape != (dim,) for theta in thetas):
        return Verdict(FAILED, np.inf, f"The weights have shape {thetas[-1].shape}, not ({dim},).", rule="weights")
    if not np.isfinite(thetas[-1]).all():
        bad = int(np.count_nonzero(~np.isfinite(thetas[-1])))
        return Verdict(FAILED, np.inf, f"{bad} of the {dim} weights are not finite numbers.", rule="weights")
    if (size := float(np.abs(thetas[-1]).max(initial=0.0))) > LARGEST:
        sentence = f"The weights reach {size:.1e}, too large for their objective to be computed."
        return Verdict(FAILED, np.inf, sentence, rule="weights")
    if own is not None and objective(own) != objective(solution.formulation):
        sentence = f"The learner minimises {own}, the reference {solution.formulation}."
        return Verdict(NOT_COMPARABLE, np.nan, sentence, rule="objective")
    if solution.gap is None or not np.isfinite(solution.gap):
        sentence = "The reference has no proven gap; solve it with an exact oracle first."
        return Verdict(NOT_COMPARABLE, np.nan, sentence, rule="reference")
    return None


class Case:
    """Weights that can be judged: their numbers, and the rules of the module's docstring, one method each."""

    def __init__(
        self, reports: list[Report], trace: Trace | None, solution: Any, bounds: Bounds | SmoothBounds, tolerance: float
    ):
        self.reports, self.trace, self.solution, self.bounds = reports, trace, solution, bounds
        self.passes = np.array([each.passes for each in reports])
        sane = [bool((np.abs(each.theta) <= LARGEST).all()) for each in reports]
        self.uppers = np.array([bounds.upper(r.theta) if ok else np.inf for r, ok in zip(reports, sane, strict=True)])
        self.excesses = self.uppers - solution.lower
        self.excess = bounds.gap(self.uppers[-1], solution.lower)
        self.threshold = max(tolerance, 3 * solution.gap)
        self.margin = np.inf  # by which clean runs must end below where it stays
        self.far = f"its objective is {self.excess:.1e} (relative) above the proven optimum"
        self.evidence = {
            "upper": float(self.uppers[-1]),
            "reference_lower": float(solution.lower),
            "reference_gap": float(solution.gap),
            "threshold": self.threshold,
            "passes": float(self.passes[-1]),
            "distance": float(np.linalg.norm(reports[-1].theta - solution.theta_flat)),
        }
        if trace:
            told = {"drift": float(trace.drift[-1]), "bound": float(trace.bound[-1])}
            self.evidence |= {key: number for key, number in told.items() if np.isfinite(number)}

    def verdict(self, name: str, rule: str, reason: str) -> Verdict:
        return Verdict(name, self.excess, f"{reason[0].upper()}{reason[1:]}.", self.evidence, rule)

    def contradicted(self) -> Verdict | None:
        """What it hands over is false in itself."""
        false, found = contradicted(self.reports, self.uppers, self.bounds, self.solution)
        self.evidence |= found
        if (drift := self.evidence.get("drift", 0.0)) > DRIFT:
            told = f"the weights it reports are {drift:.1e} (relative) away from its own dual's weights"
            return self.verdict(DISAGREES, "drift", told)
        if (outside := self.evidence.get("outside", 0.0)) > DRIFT:
            return self.verdict(DISAGREES, "feasibility", f"its weights lie {outside:.1e} outside of the domain")
        return self.verdict(DISAGREES, "reported", false) if false else None

    def near(self) -> Verdict | None:
        if self.excess <= self.threshold:
            return self.verdict(AGREES, "optimum", f"{self.far}, within {self.threshold:.1e}")
        return None

    def too_slow(self) -> Verdict | None:
        if self.excesses[-1] > MARKOV * self.evidence.get("bound", np.inf):
            return self.verdict(DISAGREES, "rate", f"{self.far}, and over {MARKOV:.0f} times its published rate")
        return None

    def unsettled(self) -> Verdict | None:
        """Nothing can be said of its limit yet."""
        if not np.isfinite(self.uppers[-1]):
            missed = self.evidence.get("violation")
            told = "" if missed is None else f", a constraint is missed by {missed:.1e}"
            return self.verdict(NOT_CONVERGED, "feasibility", f"its weights are not feasible{told}")
        if len(self.passes) < 2:
            told = f"{self.far}; one answer has no history, give those of growing budgets"
            return self.verdict(NOT_CONVERGED, "history", told)
        curve = settling(self.passes, self.excesses, self.threshold * self.excesses[-1] / self.excess)
        self.evidence |= {"limit": curve.limit, "misfit": curve.misfit, "power": curve.power}
        if curve.settled:
            self.margin = SETTLED
            return None
        if stands(self.passes, self.excesses):
            self.evidence["limit"], self.margin = float(self.excesses[-1]), STANDING
            return None
        trend = f"falls like passes^-{curve.power:.2g}" if curve.power > 0 else "is not falling yet"
        return self.verdict(NOT_CONVERGED, "history", f"{self.far} and has not settled ({trend}); run it longer")

    def stays(self) -> Verdict:
        """It has settled: whether clean runs have, too."""
        budget, limit = int(min(self.passes[-1], BUDGET)), self.evidence["limit"]
        alike = self.trace if self.margin < STANDING else None  # dual methods rise and fall: there all are asked
        self.evidence["control"] = control = clean_excess(alike, self.solution, self.bounds, budget)
        relative = self.excess / self.excesses[-1]
        ends = (
            f"{limit * relative:.1e} above it, where clean runs with its budget end {control * relative:.1e} above it"
        )
        if control < limit / self.margin:
            return self.verdict(DISAGREES, "settled", f"{self.far} and stays, about {ends}")
        if not np.isfinite(control):
            told = f"{self.far} and has settled for now, but no solver of ours fits to be compared with; run it longer"
        elif control >= limit:
            told = f"{self.far} and has settled for now, but clean runs with its budget do no better; run it longer"
        else:
            fewer = f"less than {self.margin:.0f} times better, too little to accuse it"
            told = f"{self.far} and has settled for now, about {ends}: {fewer}; run it longer"
        return self.verdict(NOT_CONVERGED, "settled", told)


def chosen(reports: list[Report]) -> list[Report]:
    """At most GRADED of a history, with the last: half evenly spaced, half evenly in the logarithm of passes."""
    if len(reports) <= GRADED:
        return reports
    passes = np.maximum([each.passes for each in reports], 1e-9)
    even = np.linspace(0, len(reports) - 1, GRADED // 2).astype(int)
    late = np.searchsorted(passes, np.geomspace(passes[0], passes[-1], GRADED // 2))
    return [reports[k] for k in np.unique(np.minimum(np.concatenate([even, late]), len(reports) - 1))]


def contradicted(
    reports: Sequence[Report], uppers: Floats, bounds: Bounds | SmoothBounds, solution: Any
) -> tuple[str, dict[str, float]]:
    """What is false about the reports, as a sentence or "", and the numbers that say so."""
    theta, sentence = reports[-1].theta, ""
    away = float(np.linalg.norm(theta - bounds.regularizer.feasible(theta)) / max(np.linalg.norm(theta), 1.0))
    evidence = {"outside": away} if away > 0 else {}
    if bounds.prices.hard and not np.isfinite(uppers[-1]):
        witnesses = bounds.oracle.argmax(theta, bounds.samples)
        slopes, offsets = bounds.oracle.rows(bounds.samples, witnesses)
        evidence["violation"] = float((slopes @ theta + offsets).max())
    for report, upper in zip(reports, uppers, strict=True):
        claims = {key: float(report.claims[key]) for key in ("objective", "lower", "gap") if key in report.claims}
        if claims and not sentence:
            value = float(bounds.regularizer.value(report.theta)) if bounds.prices.hard else float(upper)
            sentence = false_claim(claims, value, solution, max(abs(value), abs(solution.upper), bounds.scale * 1e-6))
        evidence |= {f"reported_{key}": number for key, number in claims.items() if np.isfinite(number)}
    if reports[-1].claims.get("dual") is not None:
        fault, found = dual_fault(reports[-1], bounds)
        claimed = evidence.get("reported_lower", -np.inf)
        if claimed - found.get("dual", np.inf) > CLAIM * max(abs(claimed), abs(solution.upper)):
            fault = fault or f"it reports the lower bound {claimed:.9g}, its dual weights prove {found['dual']:.9g}"
        sentence, evidence = sentence or fault, evidence | found
    return sentence, evidence


def false_claim(claims: Mapping[str, float], value: float, solution: Any, size: float) -> str:
    """Which of the numbers `objective`, `lower`, `gap` cannot be true of weights with F = `value`, or ""."""
    objective, lower, gap = (claims.get(key, np.nan) for key in ("objective", "lower", "gap"))
    missing = value - solution.upper
    if "objective" in claims and objective != value and not abs(objective - value) <= CLAIM * size:
        return f"it reports the objective {objective:.9g}, its weights have {value:.9g}"
    if lower - solution.upper > CLAIM * size:
        return f"it reports the lower bound {lower:.9g}, but weights with {solution.upper:.9g} are known"
    if gap < -CLAIM * size:
        return f"it reports the gap {gap:.3g}, and no gap is negative"
    if missing - gap * max(1.0, size) > CLAIM * size:
        return f"it reports the gap {gap:.3g}, but {missing:.3g} is proven to be missing"
    return ""


def dual_fault(report: Report, bounds: Bounds | SmoothBounds) -> tuple[str, dict[str, float]]:
    """What is wrong with dual weights handed over, or ""; their `drift`, as `run` measures it, and their `dual` value.

    They are (samples (K,), outputs (K, width), μ (K,)), or an array (n, k) over all outputs of a small problem.
    """
    if isinstance(bounds, SmoothBounds):
        return "", {"dual": bounds.lower_at(report.theta)}
    dual, problem, prices = report.claims["dual"], bounds.problem, bounds.prices.floats()
    if isinstance(dual, np.ndarray) and isinstance(problem, Enumerable):
        samples, outputs = enumerated(problem, np.arange(problem.n_samples))
        weights = dual.ravel()
    else:
        samples, outputs, weights = (np.asarray(part) for part in dual)
    if (shapes := (samples.shape, weights.shape)) != ((len(weights),),) * 2 or len(outputs) != len(weights):
        return f"its dual weights have shape {shapes[1]}, for samples {shapes[0]} and outputs {outputs.shape}", {}
    samples, outputs = samples.astype(np.int64), outputs.reshape(len(samples), -1).astype(np.int64)
    if outputs.shape != (len(weights), bounds.oracle.width):
        return f"its {len(weights)} dual weights have outputs of shape {outputs.shape}", {}
    if not np.isfinite(weights).all():
        return f"{np.count_nonzero(~np.isfinite(weights))} of its dual weights are not finite numbers", {}
    if len(strange := samples[(samples < 0) | (samples >= problem.n_samples)]):
        return f"its dual weights are about sample {strange[0]}, and there are {problem.n_samples}", {}
    mass = np.bincount(samples, weights, problem.n_samples)
    worst = int(np.argmax(np.abs(mass - prices))) if not bounds.prices.hard else 0
    if weights.min(initial=0.0) < -DRIFT * np.abs(weights).max(initial=0.0):
        return f"a dual weight it reports is {weights.min():.3g}, and none may be negative", {}
    if not bounds.prices.hard and abs(mass[worst] - prices[worst]) > DRIFT * max(prices[worst], 1e-300):
        return f"its dual weights of sample {worst} sum to {mass[worst]:.6g}, not to {prices[worst]:.6g}", {}
    cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
    try:
        ids = cuts.add(samples, outputs, bounds.oracle.rows)
    except (IndexError, ValueError) as error:
        return f"its dual weights are about outputs that there are not ({error})", {}
    value, drift = graded(bounds, cuts, np.bincount(ids, np.maximum(weights, 0.0), len(cuts)), report.theta)
    return "", {"dual": value} | ({"drift": drift} if bounds.regularizer.curvature is not None else {})


def mistaken(trace: Trace, reference: Any) -> Verdict:
    """The verdict on a solver that learns from its mistakes; `reference` may be a `NotSeparable`."""
    if type(trace.formulation) is not type(reference.formulation):
        sentence = f"The learner follows {trace.formulation}, not {reference.formulation}."
        return Verdict(NOT_COMPARABLE, np.nan, sentence, rule="objective")
    samples, witnesses, counts = trace.mistakes
    slopes, _ = reference.formulation.oracle(reference.problem).rows(samples, witnesses)
    made, squares = int(counts.sum()), float(slopes.multiply(slopes).sum(axis=1) @ counts)
    growth = float(np.linalg.norm(slopes.T @ counts) ** 2 / max(squares, np.finfo(float).tiny))
    bound = min(mistake_bound(u, slopes, counts, squares) for u in comparators(reference))
    evidence = {"mistakes": made, "bound": bound, "growth": growth, "drift": float(trace.drift[-1])}
    faults = [
        (evidence["drift"] > DRIFT, f"The weights it reports are {evidence['drift']:.1e} away from its own updates'."),
        (growth > 1 + DRIFT, f"Its updates were no mistakes: the squared norm grew {growth:.2g} times their squares."),
        (made > bound * (1 + DRIFT), f"It made {made} mistakes where at most {bound:.1f} are possible."),
    ]
    for fault, sentence in faults:
        if fault:
            return Verdict(DISAGREES, np.nan, sentence, evidence, "mistakes")
    sentence = f"It made {made} mistakes; comparison with certified weights allows {bound:.1f}."
    return Verdict(AGREES, np.nan, sentence, evidence, "mistakes")


def alternated(theta: Floats, form: Any, problem: Any, tolerance: float) -> Verdict:
    """The verdict on (w, b, v) of a learner whose costs follow difficulty."""
    m = len(form.classes(problem).names)
    weights, v = np.split(theta, [-m])
    inner = form.surrogate(problem, np.maximum(np.nan_to_num(v), 0))
    bounds = bounds_for(inner, problem)
    if weights.shape != (bounds.oracle.dim,) or not np.isfinite(theta).all():
        sentence = f"The weights must be {bounds.oracle.dim + m} finite numbers: w, b and v."
        return Verdict(FAILED, np.inf, sentence, rule="weights")
    if v.min() < -DRIFT or abs(v.sum() - 1) > DRIFT:
        sentence = f"Its costs are not on the simplex: least {v.min():.1e}, sum {v.sum():.6g}."
        return Verdict(DISAGREES, np.inf, sentence, rule="feasibility")
    best = solve(inner, problem, gap=tolerance / 3)
    excess = bounds.gap(bounds.upper(weights), best.lower)
    moved, _ = form.step(problem, weights, v, lambda other: solve(other, problem, gap=tolerance / 3))
    evidence = {"excess": excess, "moved": float(np.linalg.norm(moved - v)), "reference_gap": best.gap}
    near = excess <= tolerance and evidence["moved"] <= tolerance
    sentence = f"At its own costs it is {excess:.1e} (relative) above the proven optimum; the next costs are {{}} away."
    sentence = sentence.format(f"{evidence['moved']:.1e}")
    return Verdict(AGREES if near else NOT_CONVERGED, excess, sentence, evidence, "residuals")


def mistake_bound(u: Floats, slopes: Any, counts: Ints, squares: float) -> float:
    """Σ_k counts_k (1 − ⟨u, ψ_k⟩)₊ + ‖u‖ √(Σ ‖ψ‖²); the slopes are −ψ."""
    return float(np.maximum(1 + slopes @ u, 0) @ counts + np.linalg.norm(u) * np.sqrt(squares))


def comparators(reference: Any) -> list[Floats]:
    """Weights to compare mistakes with: the certified separating ones, or certified soft-margin ones."""
    if not isinstance(reference, NotSeparable):
        return [reference.theta_flat]
    soft = registry("formulation").get("soft-margin")
    return [solve(soft(lam=lam), reference.problem, gap=1e-3).theta_flat for lam in COMPARED]


def history(learned: Any) -> list[Report]:
    """Whatever was learned, in increasing order of passes."""
    if isinstance(learned, Trace):
        return [Report(p, theta) for p, theta in zip(learned.passes, learned.thetas, strict=True)]
    if isinstance(learned, Sequence) and learned and not np.isscalar(learned[0]):
        parts = [(*each, {})[:3] for each in learned]
        flat = [Report(float(p), np.asarray(theta, float).ravel(), claims) for p, theta, claims in parts]
        return sorted(flat, key=lambda each: each.passes)
    return [Report(np.nan, np.asarray(learned, float).ravel())]


def objective(formulation: Any) -> tuple[Any, ...]:
    """What a formulation minimises: its kind and settings, but not how it is declared to CVXPY."""
    settings = [(f.name, getattr(formulation, f.name)) for f in fields(formulation) if f.name != "declare"]
    return type(formulation).__qualname__, *settings


def settling(passes: Floats, excesses: Floats, threshold: float) -> Settling:
    """Fits e(t) = e∞ + c t^−p to the recent checkpoints; from six on, it must be half as clear without any one."""
    recent = np.isfinite(excesses) & (passes >= passes[-1] / WINDOW)
    t, e = passes[recent] / passes[-1], np.maximum(excesses[recent], LEAST)
    if len(np.unique(t)) < 2:
        return Settling(0.0, 0.0, np.nan, False)
    power = float(-np.polyfit(np.log(t), np.log(e), 1)[0])
    if len(e) < 5:
        still = t[0] <= 0.5 and bool(np.abs(e / e[-1] - 1).max() < NOISE)
        return Settling(float(e[-1]) if still else 0.0, np.nan, power, still)
    limit, misfit = fitted(t, e, threshold)
    fits = [(limit, misfit / 2)]
    if len(e) > 5:
        fits += [fitted(np.delete(t, k), np.delete(e, k), threshold) for k in range(len(e))]
    settled = all(end >= e[-1] / 2 and worse > SIGNIFICANT / 2 for end, worse in fits)
    return Settling(limit, misfit, power, settled)


def stands(passes: Floats, excesses: Floats) -> bool:
    """Whether the last three doublings of the passes have not made the excess FALL times smaller."""
    before = np.flatnonzero(passes <= passes[-1] / 8)
    return bool(before.size and excesses[-1] * FALL > excesses[before[-1]])


def fitted(t: Floats, e: Floats, threshold: float) -> tuple[float, float]:
    """(limit, misfit) of the curves e∞ + c t^−p, residuals relative to e, over p in POWERS.

    Null curves have 0 ≤ e∞ ≤ threshold and c ≥ 0; p ≥ 0.1, for what is slower needs a thousand
    times its budget to halve and counts as standing still. The general curve has any e∞ ≥ 0 and c.
    """
    null, best, limit = np.inf, np.inf, 0.0
    for shape in (t**-p / e for p in POWERS):
        for end in (0.0, threshold / 2, threshold):
            rest = 1 - end / e
            null = min(null, float(np.sum((rest - max(shape @ rest / (shape @ shape), 0) * shape) ** 2)))
        curve = np.stack([1 / e, shape], axis=1)
        end, scale = np.linalg.lstsq(curve, np.ones(len(e)))[0]
        if end < 0:
            end, scale = 0.0, shape.sum() / (shape @ shape)
        residual = float(np.sum((1 - end / e - scale * shape) ** 2))
        if residual < best:
            best, limit = residual, float(min(end, e[-1]))
    return limit, max(null - best, 0) / (best / (len(e) - 3) + NOISE**2)


def clean_excess(trace: Trace | None, solution: Any, bounds: Bounds | SmoothBounds, passes: int) -> float:
    """Where clean runs of ours end with this budget: the worst of them, ∞ if no solver fits.

    Of a learner that is not ours nobody knows how slow its method may be: that of the slowest solver excuses it.
    """
    ours = registry("solver").objects
    used = trace.method if trace else None
    solvers: list[Any] = [solver() for solver in ours.values()]
    if used is not None and type(used) in ours.values():
        solvers = [used]
    elif trace and trace.solver in ours:
        solvers = [ours[trace.solver]()]
    fitting = [each for each in solvers if each.misfit(solution.formulation, solution.problem) is None]
    seeds = SEEDS if len(solvers) == 1 else SEEDS[:FEW]
    ends = [clean_end(each, solution, bounds, passes, seed) for each in fitting for seed in seeds]
    return max(ends, default=np.inf)


def clean_end(solver: Any, solution: Any, bounds: Bounds | SmoothBounds, passes: int, seed: int) -> float:
    """F − L where a clean run ends, at the latest below STOP; remembered with the solution, that many share."""
    known = vars(solution).setdefault("clean_ends", {})
    key = repr(solver), passes, seed
    if key not in known:

        def near(row: Checkpoint) -> bool:
            return bounds.gap(row.upper, solution.lower) <= STOP

        trace = run(solver, solution.formulation, solution.problem, passes, seed, observe=near)
        known[key] = float(bounds.upper(trace.thetas[-1]) - solution.lower)
    return known[key]
