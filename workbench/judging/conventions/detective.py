"""The convention detective: which other objective do a learner's weights minimise?

A learner that settles away from the optimum often minimises a similar objective: λ in place of another package's C, a
sum in place of a mean, a penalised intercept. `explain` compares the weights θ with a table of such objectives: each
entry of CONVENTIONS turns (formulation, problem, θ) into another (formulation′, problem′, θ′) that our own bounds can
judge.

**The residual.** With L the certified lower bound of the neighbour's minimum and U of a known point's value

    e = (F′(θ′) − L)/size        how far θ′ is from stationary, at most;        e₋ = (F′(θ′) − U)/size, at least

For g = Σ μ a of the dual weights behind L it is a residual: F′(θ′) − L = ‖λθ′ + g‖²/(2λ) + ε, where g is an
ε-subgradient of the risk at θ′ (docs/mathematics.md §10). `size` is |F′(θ′)|, or SHARE · λ/2 ‖w‖² where that is
less, for F′ hardly depends on weights that cost next to nothing.

**The rule.** Candidates are entries with e ≤ CLOSE; the least e is named if the given objective has e₋ ≥ WORSE · e.
Without a candidate the answer is None: a learner that has not converged is stationary under no objective. An entry is
discarded as soon as a point is known whose value is lower than that of θ′ by WORSE · CLOSE, or by WORSE times the least
e so far. Features count as left out only where the learner's weights are 0. Weights that a learner has and does not
report, such as an intercept of its own, are set to their values at the optimum, since any other values would only
raise e.

**Guesses.** Where no single change comes within CLOSE of θ, several changes at once are tried, too; of likelihoods,
which are solved in no time, also where none is certain and none comes within FINE. The least e is named, and a single
change goes before several that fit as well, up to CHANCE times its e and FINE. If the certified distance D from the
named optimum exceeds FARTHEST of ‖θ′‖, other objectives may fit as well: then nothing is confident, and a guess is made
only if every other name has e₋ ≥ LEAD · e. No cause is better than a wrong one.

**Confidence.** The explanation is `confident` if every entry of another name has e₋ ≥ WORSE · e, too, the given
objective has e₋ ≥ CLOSE, and chance is no rival:

- e ≤ SURE, by which the judge says of a learner that it agrees. Few weights, rounded to a digit, come within CLOSE of
  some objective of the table by chance.
- Weights that still move lie no farther from the named optimum than REST times their way in the last half of the
  passes. A sample left out may change an objective almost as equal weights do, and a learner that comes to rest
  beside an optimum, at a proven distance, was not on the way to it. One that has stopped may have stopped short of it.
- A multiple of λ that has a reason fits as well as the one that fits best, up to CHANCE times its e and FINE, and
  either e ≤ FINE, or the two are no farther apart than NEXT. Weights that are the best of their length, as on a wrong
  sphere, are optimal for some multiple, and that may lie beside one that has a reason.
- Of features that a description by the data leaves out, there are WAYS choices of as many or more.
- Losses of one label against the rest under a multiple of λ without a reason: no other name has e₋ < SURE, or
  e ≤ FINEST. Weights that have hardly left 0 lie near the optima of many losses, each under a large λ of its own.
- Half of a multiple of λ fits worse. With F′ = κr + R ≥ 0, half of κ has e′ ≤ (e + ρ)/(1 + ρ), ρ = R(θ)/F′(θ), for
  κr/2 + R ≥ F′/2. So where ρ ≤ WORSE · e, as where all margins are met, no smaller multiple can be told from κ.
- Of losses that are larger than they should be some h_i is 0: where all are positive, any larger loss fits as well.
- A multiple of λ without a known reason is never confident, nor is that of C = 1, nor are several changes at once, nor
  zero weights, nor is ‖w‖₁: its optima lie at corners, where signs of slopes cancel and other rules end, too, and no
  distance is certified.

**Certain identity.** For a μ-strongly convex F′, ‖θ′ − θ′*‖² ≤ 2 (F′(θ′) − L)/μ = D². Weights that stay within D of
the optimum of F′ for the last half of the passes, with D a small share of ‖θ′‖ and the optimum that was asked for AWAY
times as far, have converged to another objective's optimum; no clean run is needed to say so (`identity`).

A new convention is an entry in `table.py`, in the file of its kind: losses, scaling, features, standardised features,
one label against the rest, padding, layouts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress

import numpy as np

from workbench.contracts import CutForm, Floats, SmoothForm
from workbench.errors import MissingCapability
from workbench.judging.conventions.layouts import projection
from workbench.judging.conventions.neighbours import ALONG, SHARE, UNNAMED, Entry, Explanation, Fit, Neighbour, Suspect
from workbench.judging.conventions.table import CONVENTIONS, LIKELY, SEVERAL
from workbench.judging.reference import Certified, Reference, reference_of
from workbench.judging.share import Allowance
from workbench.objectives.regularizers import SquaredNorm
from workbench.proofs.any_bounds import bounds_for
from workbench.solving.solve import solve
from workbench.system.processes import OutOfTime

CLOSE = 3e-3  # excess of a learner that has converged
WORSE = 10.0  # times e, from which another objective is no candidate
FINE = 3e-5  # gap of the neighbours' optima: a hundredth of CLOSE
FINEST = 3e-7  # the same where weights are hidden, which are taken from the optimum: its gap is a part of e
BLURRED = 1e-4  # e₋ up to which such an objective may fit: by other values of its hidden weights
SECONDS, ROUNDS = 60.0, 300  # for each of them
NEARBY, AWAY = 0.03, 10.0  # of ‖θ‖: the ball of certain identity; times its radius, the least way to the optimum
UNSURE = (UNNAMED, "C = 1", "zero weights", "absolute penalty")  # weights of many kinds fit them
SURE = 1e-3  # e up to which a name is given with confidence: the judge's tolerance
LEFT = 1e-4  # e of who rests, above which something is left to be explained: the judge's default tolerance
STILL = 1e-10  # of the weights' length: rounding
FARTHEST = 0.1  # of ‖θ′‖, up to which a name needs no lead: wrong ones lay at 0.12 and more, right ones mostly below
LEAD = 2.0  # times e, the least e₋ of other names beyond that distance: 2.2 and more of right names, 0 of wrong ones
REST = 10.0  # times the way of the last half of the passes: a way like t^−0.14 is still so long
CHANCE = 1.2  # times e of the best multiple of λ: on the way from it to a named one, e rises at least so
NEXT = 0.01  # of a multiple of λ: one that is drawn at random is so near to one with a reason once in a hundred times
WAYS = 1000  # a tenth of what is allowed of wrong names
LEAST = 1e-200  # a size by which values can be divided


def explain(
    theta: Floats, reference: Certified | Reference, history: Sequence[tuple[float, Floats]] = ()
) -> Explanation | None:
    """The neighbour of the objective at whose optimum the weights are, or None if at none of the table's.

    theta : (p,) weights;  reference : a certified optimum (formulation, problem, theta_flat, upper, lower, gap);
    history : what the learner reported on its way, [(passes, θ), …], for the entries about averages
    """
    return Detective(reference).explain(theta, history)


class Optimum:
    """What is known of min F′: `upper`, of the points seen so far, and `lower`, −∞ until it is solved for.

    theta, found : the point that was found, and its value
    """

    def __init__(self, neighbour: Neighbour, reference: Floats):
        self.form, self.problem = neighbour.formulation, neighbour.problem
        self.bounds = bounds_for(self.form, self.problem)
        self.gap = FINEST if neighbour.hidden.any() else FINE
        start = 0 * neighbour.theta if len(neighbour.hidden) else reference
        self.at_reference = self.upper = self.bounds.upper(start)
        self.lower = -np.inf
        self.theta, self.found = start, self.upper

    def solve(self, seen: Callable[[float], None], allowance: Allowance) -> None:
        """`seen` is told the values on the way, and may end it; an end for want of time leaves no lower bound."""
        allowance.spend()
        within = min(SECONDS, allowance.left)
        limits = {"time_limit": within, "max_rounds": ROUNDS, "observe": lambda record: seen(record["upper"])}
        best = solve(self.form, self.problem, self.gap, **limits)
        if best.status == "limit" and within < SECONDS:
            self.upper = min(self.upper, best.upper)
            raise OutOfTime
        self.lower, self.theta, self.upper = best.lower, best.theta_flat, min(self.upper, best.upper)
        self.found = best.upper

    def apart(self, theta: Floats, curvature: float) -> float:
        """How far weights are from the optimum at least, of their length: D of the point that was found is left off."""
        unsure = float(np.sqrt(2 * max(self.found - self.lower, 0.0) / curvature))
        away = float(np.linalg.norm(theta - self.theta)) - unsure
        return max(away, 0.0) / max(float(np.linalg.norm(theta)), LEAST)


class Detective:
    """Explains any number of learners' weights against one reference; what it learns of a neighbour serves the next."""

    def __init__(self, reference: Certified | Reference):
        self.reference = reference_of(reference)
        self.allowance = Allowance()  # of the search under way; `OutOfTime` ends a search that has spent its seconds
        self.optima: dict[Hashable, Optimum] = {}

    def explain(
        self, theta: Floats, history: Sequence[tuple[float, Floats]] = (), several: bool = True
    ) -> Explanation | None:
        """See the function `explain`;  several : whether changes at once are tried, where no single one explains θ."""
        theta = np.asarray(theta, float).ravel()
        form, problem = self.reference.formulation, self.reference.problem
        if not isinstance(form, CutForm | SmoothForm) or form.prices(problem).hard or self.reference.missing:
            return None
        if theta.shape != (form.blocks(problem).dim,) or not np.isfinite(theta).all():
            return None
        suspect = Suspect(theta, self.reference, history)
        found = list(self.tried(suspect, CONVENTIONS))
        moved = (since_half(history) if history else np.inf) / max(suspect.length, LEAST)
        single = verdict(as_given(suspect), ranked(found), moved)
        if not several:
            return single
        fits = single is not None and (single.confident or single.evidence["excess"] <= FINE)
        close = min((each.most for each in found), default=np.inf) <= CLOSE
        if fits:
            return single
        joint = LIKELY if close and not isinstance(form, SmoothForm) else (*LIKELY, *SEVERAL)
        return verdict(as_given(suspect), ranked([*found, *self.tried(suspect, joint)]), moved)

    def identity(self, history: Sequence[tuple[float, Floats]]) -> Explanation | None:
        """The objective at whose optimum the weights certainly are, and stay, while the one asked for is far.

        Weights within D of the optimum of F′, D² = 2 (F′(θ′) − L)/λ′ ≤ (NEARBY ‖θ‖)², that have moved by less than D
        in the last half of the passes, and are AWAY times as far from the optimum asked for: weights on their
        way to another point do not stay within D.
        """
        last, best = history[-1], self.reference.theta
        length, moved = float(np.linalg.norm(last[1])), since_half(history)
        if not moved <= NEARBY * length:
            return None
        found = self.explain(last[1], history, several=False)
        if found is None or not found.confident:
            return None
        distance = found.evidence.get("distance_bound", np.inf)
        far = float(np.linalg.norm(last[1] - best))
        return found if max(moved, distance) <= NEARBY * length and far >= AWAY * max(moved, distance) else None

    def tried(self, suspect: Suspect, entries: Sequence[Entry]) -> Iterator[Fit]:
        """Every neighbour that exists for this suspect; what the outputs cannot do, no learner does."""
        least = CLOSE
        for entry in entries:
            self.allowance.spend()
            with suppress(MissingCapability):
                for neighbour in entry(suspect):
                    self.allowance.spend()
                    found = neighbour if isinstance(neighbour, Fit) else self.examined(neighbour, suspect, least)
                    least = max(min(least, found.most), FINE)
                    yield found

    def examined(self, neighbour: Neighbour, suspect: Suspect, close: float = CLOSE) -> Fit:
        """e and e₋; the search for the minimum ends as soon as a point is known that is better by WORSE · `close`."""
        key = neighbour.objective or neighbour.name
        if key not in self.optima:
            self.optima[key] = Optimum(neighbour, suspect.reference.theta)
        known, theta = self.optima[key], neighbour.theta
        if neighbour.hidden.any():
            if known.lower == -np.inf:
                known.solve(lambda value: None, self.allowance)
            theta = np.where(neighbour.hidden, known.theta, theta)
        upper = known.bounds.upper(theta)
        if not np.isfinite(upper):
            return Fit(neighbour, np.inf, np.inf)
        if theta is suspect.theta and (upper, known.at_reference) == suspect.values:
            return Fit(neighbour, np.inf, np.inf)  # no other objective, on these data
        size = neighbour.size or abs(upper)
        risk = np.inf
        if isinstance(known.bounds.regularizer, SquaredNorm) and not neighbour.size:
            cost = float(known.bounds.regularizer.value(theta))
            size, risk = min(size, SHARE * cost), upper - cost
        size = max(size, LEAST)

        def seen(value: float) -> None:
            known.upper = min(known.upper, value)
            if upper - known.upper > WORSE * close * size:
                raise BetterByFar

        try:
            seen(known.upper)
            if known.lower == -np.inf:
                for c in ALONG:
                    seen(known.bounds.upper(c * theta))
                known.solve(seen, self.allowance)
                seen(known.upper)
        except BetterByFar:
            return Fit(neighbour, np.inf, (upper - known.upper) / size)
        most, least = (upper - known.lower) / size, (upper - known.upper) / size
        least = 0.0 if neighbour.hidden.any() and least <= BLURRED else least
        curvature = known.bounds.regularizer.curvature
        if curvature is None:
            return Fit(neighbour, most, least)
        distance = float(np.sqrt(2 * max(upper - known.lower, 0.0) / curvature))
        return Fit(neighbour, most, least, distance, known.apart(theta, curvature), risk / size)


def since_half(history: Sequence[tuple[float, Floats]]) -> float:
    """The farthest that weights of the last half of the passes are from the last ones; ∞ if there are none."""
    passes, last = history[-1]
    late = [theta for at, theta in history[:-1] if at >= passes / 2]
    return max((float(np.linalg.norm(theta - last)) for theta in late), default=np.inf)


class BetterByFar(Exception):
    """θ′ is no candidate: a point is known that is better by far."""


def ranked(findings: list[Fit]) -> list[Fit]:
    """In order of e; of several changes at once e counts CHANCE times and FINE more, so that one change goes before."""
    return sorted(findings, key=lambda each: CHANCE * each.most + FINE if joint(each) else each.most)


def joint(finding: Fit) -> bool:
    """Whether the finding changes several things at once."""
    return "several" in finding.neighbour.evidence


def as_given(suspect: Suspect) -> float:
    """e₋ under the objective that was asked for; ∞ off its domain."""
    if any(projection(suspect)):
        return np.inf
    bounds = suspect.reference.bounds
    return bounds.relative(bounds.upper(suspect.theta), suspect.reference.upper)


def verdict(given: float, findings: list[Fit], moved: float = np.inf) -> Explanation | None:
    """The rule of the module's docstring, for findings in order of e.

    moved : in the last half of the passes, relative to the weights' length; ∞ if that is not known
    """
    free = min((each.most for each in findings if not named(each)), default=np.inf)
    if any(
        "multiple" in each.neighbour.evidence and each.most <= min(CLOSE, 2 * free)
        for each in findings
        if named(each) and not joint(each)
    ):
        findings = [each for each in findings if named(each)]
    if not findings or findings[0].most > CLOSE or given < WORSE * findings[0].most:
        return None
    best = findings[0]
    others = [finding for finding in findings if finding.neighbour.name != best.neighbour.name]
    rival = min((finding.least for finding in others), default=np.inf)
    found = best.neighbour
    by_chance = best.most > min(SURE, CHANCE * free + FINE) or (best.most > FINE and off(found) > NEXT)
    by_chance = by_chance or found.evidence.get("ways", WAYS) < WAYS
    beside = moved > STILL and best.apart > REST * moved
    smaller = "multiple" in found.evidence and best.risk <= WORSE * max(best.most, FINE)
    larger = "active" in found.evidence
    by_chance = by_chance or ("free" in found.evidence and best.most > FINEST and rival < SURE)
    open_to_doubt = found.name in UNSURE or joint(best) or found.size or by_chance or beside or smaller or larger
    far = FARTHEST * float(np.linalg.norm(found.theta)) < best.distance < np.inf
    if far and rival < LEAD * best.most:
        return None
    sure = bool(not (open_to_doubt or far) and min(rival, given) >= WORSE * best.most and given >= CLOSE)
    opening = f"The learner {found.sentence}" if sure else f"Perhaps the learner {found.sentence} (a guess)"
    told = f"{opening}: its weights are at most {best.most:.1e} (relative) above that optimum, "
    told += f"{given:.1e} above the one asked for"
    if sure and moved <= STILL and best.most > LEFT:
        told += ", and as they rest short of that optimum, something else may be changed, too"
    return Explanation(
        found.name,
        f"{told}, and {'half of that λ' if smaller else 'any larger loss'} fits as well."
        if smaller or larger
        else f"{told}.",
        {"excess": best.most, "given": given, "next": rival, "distance_bound": best.distance} | found.evidence,
        sure,
    )


def off(neighbour: Neighbour) -> float:
    """|log| of the ratio of a multiple of λ to the one that fits best; 0 for other neighbours."""
    told = neighbour.evidence
    return abs(math.log(told["ratio"] / told["multiple"])) if "multiple" in told else 0.0


def named(finding: Fit) -> bool:
    return finding.neighbour.name != UNNAMED
