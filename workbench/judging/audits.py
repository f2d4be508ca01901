"""Audits of single steps: a learner lends a function, and one answer of the function is compared with what must hold.

    oracle        ⟨a_i(z), θ⟩ + o_i(z) = h_i(θ) for the learner's answer z; scores are compared, so ties are no fault
    subgradient   h_i(θ′) ≥ h_i(θ) + ⟨g, θ′ − θ⟩ for the learner's g at θ, at the optimum and at random points
    stationarity  ‖∇r(θ*) + Σ_k μ_k g_k‖ ≤ 2 √(λ · gap) for the learner's g_k at the certified cuts with weights μ
    prox          the learner's x lies in r's domain and minimises ½ Σ_j H_j (x_j − u_j)² + η r(x)
    averaging     the reported weights are Σ_t s_t θ_t / Σ_t s_t of the reported iterates θ_t and shares s_t
    fixed point   a dual method that starts from the certified dual weights has no larger gap after one pass
    flow          θ after one pair's update of importance h is θ(h) of the ordinary differential equation θ′ = −∇ℓ_i(θ),
                  integrated step by step (docs/mathematics.md §7)

All seven statements are deterministic, so a violation proves a fault; rounding is allowed for by SLACK times the size
of the numbers involved. Audits find faults that a history of objectives hides, also in stochastic methods, which leave
an optimum again (docs/mathematics.md §9): each direction at an optimum is a subgradient, and some mean of them is 0.

*Stationarity.* For r = λ/2‖θ‖² the dual's θ(μ) = −Σ μ_k a_k/λ and the reference's θ* lie within √(2ε/λ) and √(2δ/λ)
of the optimum, ε + δ ≤ gap, so that λ‖θ* − θ(μ)‖ ≤ 2 √(λ gap).

*Fixed point.* D never falls from D ≥ F* − ε, also at means of its points, so ‖θ − θ_opt‖ ≤ √(2ε/λ) for θ = θ(α). With
G = Σ p_i max ‖a_i‖ every subgradient of F there is at most G + λ‖θ‖ ≤ 2G, hence F(θ) − F* ≤ 2G √(2ε/λ).

A solver of ours lends its kernel, and two copies of itself: one with `average=last` shows the iterates that the other
averages, visit by visit. A solver with a method `start(formulation, problem, samples, witnesses, weights) -> state`
promises to stay at an optimum (contracts/solvers.py): bcfw and dual-block do, subgradient methods do not. `AUDITS`
holds the audits by name; each takes hooks and a reference and returns findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from workbench.contracts import (
    CutForm,
    Factored,
    Floats,
    Ints,
    Oracle,
    Problem,
    Search,
    SmoothForm,
    Solver,
    Terms,
    text_alone,
)
from workbench.judging.hooks import Hooks
from workbench.judging.reference import Reference
from workbench.judging.reports import Report
from workbench.judging.share import Allowance
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.bounds import Bounds
from workbench.proofs.dyadic import DyadicBounds
from workbench.proofs.smooth import SmoothBounds
from workbench.solving.stochastic import oracle_of, slope_norms, visitor
from workbench.system.processes import OutOfTime

SLACK = 1e-6  # of the numbers that enter; float32 passes, a wrong sign does not
SINGLE = 2.0**29  # times what float64 rounds off is what float32 does: where two cuts tie, it may take the other one
SAMPLES = 10  # of each audit
VISITS = 60  # of two copies of a solver
POINTS = 4  # besides the optimum


class Finding(NamedTuple):
    """The worst relative violation of one audit, the allowed violation, and a sentence if the worst exceeds it."""

    name: str
    worst: float
    allowed: float
    sentence: str


@runtime_checkable
class Averaging(Protocol):
    """A solver that reports an average of its iterates, unless its `average` is "last"."""

    average: str


def audit(hooks: Hooks, reference: Reference) -> list[Finding]:
    """The findings of all audits of the lent functions; of bilinear scores the flow's alone, none for searches.

    An audit that does not fit into the allowance of the hooks is named there as skipped.
    """
    found: list[Finding] = []
    form = reference.formulation
    fitting = {"flow": audit_flow} if isinstance(form, Factored) else {} if isinstance(form, Search) else AUDITS
    for name, each in fitting.items():
        try:
            with hooks.allowance.held():
                found += each(hooks, reference)
        except OutOfTime:
            hooks.allowance.skipped.append(name)
    return found


# ── the audits ────────────────────────────────────────────────────────────────────────────────────


def audit_oracle(hooks: Hooks, reference: Reference) -> Iterator[Finding]:
    """The scores of the learner's answers against the maxima."""
    bounds = reference.bounds
    if hooks.oracle is None or isinstance(bounds, SmoothBounds | DyadicBounds):
        return
    oracle = hooks.asked or bounds.oracle
    worst, where = 0.0, ""
    for theta in points(reference, bounds):
        for i in chosen(bounds.samples):
            hooks.allowance.spend()
            sample, answer = np.array([i]), np.asarray(hooks.oracle(theta, i), np.int64).reshape(1, -1)
            if answer.shape[1] != oracle.width:
                told = f"Its oracle answers sample {i} with {answer.shape[1]} numbers, an output has {oracle.width}."
                yield Finding("oracle", np.inf, SLACK, told)
                return
            best, size = score(oracle, theta, sample, oracle.argmax(theta, sample))
            value, other = score(oracle, theta, sample, answer)
            short = (best - value - SINGLE * oracle.rounding(theta)[i]) / max(size, other, 1e-300)
            if short > worst:
                worst = short
                found = reference.problem.describe(int(i), answer[0]) if short > SLACK else ""
                where = f"Its oracle misses the maximum of sample {i} by {best - value:.3g}, with {found}."
    yield Finding("oracle", worst, SLACK, where if worst > SLACK else "")


def audit_subgradient(hooks: Hooks, reference: Reference) -> Iterator[Finding]:
    """The subgradient inequality between the optimum and random points, for single terms h_i."""
    bounds = reference.bounds
    if hooks.subgradient is None or isinstance(bounds, DyadicBounds):
        return
    places, worst, where = points(reference, bounds), 0.0, ""
    for i in chosen(bounds.samples):
        oracle = hooks.asked or bounds.oracle
        heights = [height(oracle, theta, i) for theta in places]
        for theta, here in zip(places, heights, strict=True):
            hooks.allowance.spend()
            unsure, slant = rounding(oracle, theta, i)
            g = np.asarray(hooks.subgradient(theta, i), float)
            if g.shape != theta.shape:
                told = f"Its subgradient of sample {i} has shape {g.shape}, the weights have {theta.shape}."
                yield Finding("subgradient", np.inf, SLACK, told)
                return
            for other, there in zip(places, heights, strict=True):
                change = g * (other - theta)
                size = abs(here) + abs(there) + float(np.abs(change).sum())
                lost = unsure + rounding(oracle, other, i)[0] + slant * float(np.abs(other - theta).sum())
                over = max(here + float(change.sum()) - there - lost, 0.0) / max(size, 1e-300)
                if not over <= worst:
                    worst = over if np.isfinite(over) else np.inf
                    where = f"What it follows at sample {i} is no subgradient: the inequality fails by {over:.2g}."
    yield Finding("subgradient", worst, SLACK, where if worst > SLACK else "")


def audit_stationarity(hooks: Hooks, reference: Reference) -> Iterator[Finding]:
    """∇r + Σ μ_k g_k at the optimum, for the learner's directions g_k at the certified cuts."""
    bounds = reference.bounds
    mu = bounds.regularizer.curvature
    certificate = reference.certificate
    if hooks.push is None or mu is None or certificate is None or type(hooks.asked) is not type(bounds.oracle):
        return
    if bounds.prices.hard:
        return
    theta = certificate.theta
    mean, size = np.zeros(len(theta)), float(certificate.weights @ slope_norms(bounds)[certificate.samples])
    for i, witness, weight in zip(certificate.samples, certificate.witnesses, certificate.weights, strict=True):
        hooks.allowance.spend()
        hooks.push(int(i), witness, float(weight), mean)
    gap = max(reference.upper - reference.lower, 0.0)
    worst = float(np.linalg.norm(mu * theta + mean))
    allowed = 2 * float(np.sqrt(mu * gap)) + SLACK * (size + mu * float(np.linalg.norm(theta)))
    told = f"The mean of its directions at the optimum is {worst:.2g} instead of 0 (at most {allowed:.1g})."
    yield Finding("stationarity", worst, allowed, told if worst > allowed else "")


def audit_prox(hooks: Hooks, reference: Reference) -> Iterator[Finding]:
    """The values at the learner's proximal steps against those at the steps of r, in metrics of several sizes.

    Nothing is known of the r of a text or of bilinear scores, and their steps are not audited.
    """
    form = reference.formulation
    if hooks.prox is None or isinstance(form, Factored) or text_alone(form):
        return
    r = cast("CutForm | SmoothForm", form).regularizer(reference.problem)
    rng, theta, worst, where = np.random.default_rng(0), reference.theta, 0.0, ""
    for scale in (0.1, 1.0, 10.0):
        u, step = theta + scale * rng.normal(size=len(theta)), float(rng.uniform(0.1, 2))
        metric = rng.uniform(0.2, 5, len(theta))
        x, best = np.asarray(hooks.prox(u, metric, step), float), r.prox(u, metric, step)
        if x.shape != u.shape:
            yield Finding("prox", np.inf, SLACK, f"Its prox returns shape {x.shape}, the weights have {u.shape}.")
            return
        value, least = (float(metric @ (each - u) ** 2 / 2 + step * r.value(each)) for each in (x, best))
        outside = float(np.linalg.norm(x - r.feasible(x)))
        over = max(outside / max(float(np.linalg.norm(x)), 1.0), (value - least) / max(abs(least), abs(value), 1e-300))
        if not over <= worst:
            worst = over if np.isfinite(over) else np.inf
            where = f"Its proximal step is {value - least:.2g} above the least value"
            where += f" and {outside:.2g} outside of the domain." if outside > SLACK else "."
    yield Finding("prox", worst, SLACK, where if worst > SLACK else "")


def audit_average(hooks: Hooks, reference: Reference) -> Iterator[Finding]:
    """The average that a solver of ours reports against averages of the iterates of its twin; or those it lends."""
    solver = hooks.solver
    if hooks.iterates is not None:
        yield replayed(islice(hooks.iterates(), VISITS), "visits")
    if not isinstance(solver, Averaging) or solver.average == "last":
        return
    form, problem = cast("CutForm | SmoothForm", reference.formulation), reference.problem
    order = np.random.default_rng(0).choice(bounds_for(form, problem).samples, VISITS)
    settings: Any = solver  # its settings are fields, of which the base class has none
    twin = iterates(replace(settings, average="last"), form, problem, order, hooks.allowance)
    reported = iterates(solver, form, problem, order, hooks.allowance)[-1]
    n = int(np.count_nonzero(form.prices(problem).weights))
    ends, at = np.arange(n - 1, VISITS, n), np.arange(1, VISITS + 1)
    schemes = [(twin, np.ones(VISITS)), (twin, at + 0.0), (twin, at + 1.0)]
    schemes += [(twin[ends], np.arange(1, len(ends) + 1.0))] if len(ends) else [(twin[-1:], np.ones(1))]
    away = min(relative(reported, share @ some / share.sum()) for some, share in schemes)
    told = f"The average it reports is {away:.1e} (relative) away from any average of its iterates."
    yield Finding("averaging", away, SLACK, told if away > SLACK else "")


def audit_fixed_point(hooks: Hooks, reference: Reference) -> Iterator[Finding]:
    """A pass from the certified dual weights; there are none of smooth terms, whose solvers have no `start`."""
    form, problem, certificate = reference.formulation, reference.problem, reference.certificate
    if hooks.solver is None or type(hooks.solver).start is Solver.start or certificate is None:
        return
    bounds = bounds_for(form, problem)
    if isinstance(bounds, DyadicBounds) or (mu := bounds.regularizer.curvature) is None:
        return
    state = hooks.solver.start(form, problem, certificate.samples, certificate.witnesses, certificate.weights)
    visit = visitor(hooks.solver, bounds.oracle.kernel(), bounds.oracle.width, bounds.prices.floats(), state, False)
    order = np.random.default_rng(0).permutation(bounds.samples)[:VISITS]
    hooks.allowance.spend()
    visit(order, np.zeros((len(order), bounds.oracle.width), np.int64), np.zeros((len(order), 2)))
    epsilon = max(reference.upper - reference.lower, 0.0)
    steepest = float(bounds.prices.floats() @ slope_norms(bounds))
    allowed = 2 * steepest * float(np.sqrt(2 * epsilon / mu)) + epsilon + SLACK * abs(reference.upper)
    away = bounds.upper(hooks.solver.report(state)) - reference.lower
    told = f"Started at the proven optimum it moves away, to {away:.1e} above it (at most {allowed:.1e})."
    yield Finding("fixed point", away, allowed, told if away > allowed else "")


def audit_flow(hooks: Hooks, reference: Reference) -> Iterator[Finding]:
    """The learner's update by single pairs, of three importances, against the differential equation."""
    form, problem = reference.formulation, reference.problem
    if hooks.flow is None or not isinstance(form, Factored):
        return
    rng, worst, where = np.random.default_rng(0), 0.0, ""
    for i in chosen(np.arange(problem.n_samples)):
        theta = reference.theta + 0.3 * rng.normal(size=len(reference.theta))
        for h in (0.03, 0.3, 3.0):
            hooks.allowance.spend()
            found, wanted = np.asarray(hooks.flow(theta, i, h), float), integrated(form, problem, theta, i, h)
            away = relative(found - theta, wanted - theta) if found.shape == theta.shape else np.inf
            if not away <= worst:
                worst = away if np.isfinite(away) else np.inf
                where = f"Its update by pair {i} with importance {h:g} is {away:.1e} (relative) away from the flow."
    yield Finding("flow", worst, SLACK, where if worst > SLACK else "")


def integrated(form: Factored, problem: Problem, theta: Floats, i: int, h: float) -> Floats:
    """θ(h) of θ′ = −∇ Σ_c ℓ(p_c, y_c) for pair i from θ, by a method of order 8; a hinge ends at p_c y_c = 1."""
    from scipy.integrate import solve_ivp  # a quarter of a second for each process of a learner

    blocks = form.blocks(problem)
    start = {name: np.array(part) for name, part in blocks.split(theta).items()}
    for c, part in enumerate(form.binary(problem)):
        left, right, linear = (side[[i]].toarray()[0] for side in (part.left, part.right, part.linear))
        A, B, w, y = start["A"][:, c], start["B"][:, c], start["W"][:, c], float(part.targets[i])
        ends = np.cumsum([A.size, B.size])
        score, motion = bilinear(left, right, linear, y, form.loss, A.shape, B.shape)
        if form.loss == "hinge" and y * score(np.concatenate([A.ravel(), B.ravel(), w])) >= 1:
            continue  # a hinge without loss stays
        margin = margin_of(score, y) if form.loss == "hinge" else None
        first = np.concatenate([A.ravel(), B.ravel(), w])
        told = solve_ivp(motion, (0, h), first, "DOP853", events=margin, rtol=1e-10, atol=1e-12)
        a, b, start["W"][:, c] = np.split(told.y[:, -1], ends)
        start["A"][:, c], start["B"][:, c] = a.reshape(A.shape), b.reshape(B.shape)
    return blocks.join(start)


def bilinear(
    left: Floats, right: Floats, linear: Floats, y: float, loss: str, *shapes: tuple[int, ...]
) -> tuple[Callable[[Floats], float], Callable[[float, Floats], Floats]]:
    """p(θ) = ⟨Aᵀl + 1, Bᵀr + 1⟩ − k + ⟨w, x⟩ and −∇ℓ(p(θ), y), of θ = (A, B, w) stacked."""
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])

    def sides(theta: Floats) -> tuple[Floats, Floats, float]:
        a, b, w = np.split(theta, ends)
        a, b = a.reshape(shapes[0]).T @ left + 1, b.reshape(shapes[1]).T @ right + 1
        return a, b, float(a @ b - len(a) + w @ linear)

    def motion(_: float, theta: Floats) -> Floats:
        a, b, p = sides(theta)
        slope = -y if loss == "hinge" else p - y
        return -slope * np.concatenate([np.outer(left, b).ravel(), np.outer(right, a).ravel(), linear])

    return (lambda theta: sides(theta)[2]), motion


def margin_of(score: Callable[[Floats], float], y: float) -> Callable[[float, Floats], float]:
    """An event that ends an integration: p y = 1."""

    def event(_: float, theta: Floats) -> float:
        return y * score(theta) - 1

    event.terminal = True  # type: ignore[attr-defined] # scipy's convention
    return event


AUDITS: dict[str, Callable[[Hooks, Reference], Iterator[Finding]]] = {
    "oracle": audit_oracle,
    "subgradient": audit_subgradient,
    "stationarity": audit_stationarity,
    "prox": audit_prox,
    "averaging": audit_average,
    "fixed point": audit_fixed_point,
    "flow": audit_flow,
}


def audit_reports(reports: list[Report]) -> list[Finding]:
    """The averaging audit of learners that report an `iterate`, and perhaps its `share`, with each checkpoint."""
    if len(reports) < 2 or not all("iterate" in each.claims for each in reports):
        return []
    return [replayed((each.theta, each.claims["iterate"], each.claims.get("share", 1.0)) for each in reports)]


def replayed(steps: Iterable[tuple[Floats, Floats, float]], unit: str = "checkpoints") -> Finding:
    """(θ̄_t, θ_t, s_t), t = 1, 2, …: how far θ̄_t is from Σ s θ/Σ s."""
    total, sum_, worst, when = 0.0, 0.0, 0.0, 0
    for t, (average, iterate, share) in enumerate(steps, 1):
        total, sum_ = total + share, sum_ + share * np.asarray(iterate, float)
        away = relative(average, sum_ / total)
        worst, when = (away, t) if not away <= worst else (worst, when)
    told = f"Its weights after {when} {unit} are {worst:.1e} (relative) away from the average of its iterates."
    return Finding("averaging", worst, SLACK, told if not worst <= SLACK else "")


# ── where and by what ─────────────────────────────────────────────────────────────────────────────


def points(reference: Reference, bounds: Bounds | SmoothBounds) -> list[Floats]:
    """The optimum, 0, and random points as far from the optimum as it is from 0; all in r's domain."""
    rng, theta = np.random.default_rng(0), reference.theta
    far = max(float(np.linalg.norm(theta)), 1e-3) / np.sqrt(len(theta))
    places = [theta, 0 * theta, *(theta + far * rng.normal(size=len(theta)) for _ in range(POINTS - 1))]
    return [bounds.regularizer.feasible(each) for each in places]


def chosen(samples: Ints) -> list[int]:
    """At most SAMPLES of the samples, the same ones in each call."""
    return np.random.default_rng(1).permutation(samples)[:SAMPLES].tolist()


def score(oracle: Oracle, theta: Floats, sample: Ints, witness: Ints) -> tuple[float, float]:
    """The height of one cut at θ, and the size of the numbers in it."""
    slopes, offsets = oracle.rows(sample, witness)
    return float((slopes @ theta + offsets)[0]), float((abs(slopes) @ np.abs(theta) + np.abs(offsets))[0])


def height(oracle: Oracle | Terms, theta: Floats, i: int) -> float:
    """h_i(θ)."""
    sample = np.array([i])
    if isinstance(oracle, Terms):
        values, _ = oracle.evaluate(theta, sample, np.zeros(1))
        return float(values.item())
    return score(oracle, theta, sample, oracle.argmax(theta, sample))[0]


def rounding(oracle: Oracle | Terms, theta: Floats, i: int) -> tuple[float, float]:
    """How far h_i(θ) may be off in float32, and each entry of a slope of it by the errors of the data."""
    sample = np.array([i])
    if isinstance(oracle, Terms):
        values, slope = oracle.errors(theta, sample, np.ones(1))
        return SINGLE * float(values.item()), float(slope)
    unsure = SINGLE * oracle.rounding(theta)[i] + oracle.offset_error(sample)[0]
    return float(unsure), float(oracle.slope_error(sample)[0])


def iterates(
    solver: Solver, formulation: CutForm | SmoothForm, problem: Problem, order: Ints, allowance: Allowance
) -> Floats:
    """(visits, p): what the solver reports after each visit."""
    bounds, state = bounds_for(formulation, problem), solver.init(formulation, problem)
    asked = solver.oracle(problem) or oracle_of(bounds)
    visit = visitor(solver, asked.kernel(), asked.width, bounds.prices.floats(), state, False)
    found = []
    for one in order[:, None]:
        allowance.spend()
        visit(one, np.zeros((1, asked.width), np.int64), np.zeros((1, 2)))
        found.append(solver.report(state))
    return np.array(found)


def relative(theta: Floats, expected: Floats) -> float:
    return float(np.linalg.norm(theta - expected) / max(np.linalg.norm(expected), 1e-300))
