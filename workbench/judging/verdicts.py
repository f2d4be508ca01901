"""Verdicts: does a learner reach the proven optimum, and if not, is it on its way?

Every objective is computed here, on the reference's problem, from the weights alone: e = F(θ) − L with the reference's
proven lower bound L, and the relative excess e/size (judging/reference.py). In order, the first that holds:

    failed          crashed
    not comparable  the reference has no proven gap
    failed          weights not finite, or too large for F, or of another size
    not comparable  another objective by its own declaration
    disagrees       (drift) the θ it reports is not the θ of its own dual weights, replayed by `run` or handed over
                    (feasibility) θ lies outside of r's domain, so that F(θ) = ∞
                    (reported) what it reports of itself is false (judging/claims.py)
    agrees          relative excess ≤ max(tolerance, 3 × the reference's gap)
    disagrees       (rate) e > 100 × the solver's published bound on E e: by Markov's inequality a
                    clean run gets there with probability below 1 %
    not converged   F(θ) = ∞: a constraint is missed, which further passes may mend
                    or it is one answer, without a history
    disagrees       (ended) its weights are the same from half of its passes on: the learner has stopped, above
                    the proven optimum; `not converged` if such a rest was followed by motion before
                    (settled) its excess has converged to a positive limit or stopped falling (judging/settling.py), its
                    weights do not move towards θ*, nor at all within NOISE thresholds, its last steps do not go
                    straight down F, and no fault-free run looks the same (judging/controls.py)
    not converged   otherwise

One history that a user gives accuses nobody whose weights move by a tenth of their way to the optimum. A training loop
that was watched is `not converged` where (ended) or (settled) would accuse: rates that fall to 0 end anywhere, and
nobody can ask a loop for more.

For the last two, `judge` can do more: run further passes (judging/patience.py), and test whether the weights are
optimal for another known objective (judging/conventions/).

A flat history alone does not accuse, because correct methods can be flat on ill-conditioned problems, too: on badly
scaled data the excess of block-coordinate Frank–Wolfe can fall slower than t^−0.05 over a hundred passes. On such
problems the weights still move, and clean runs are as flat as the learner. The price is delay: a learner on its way to
a wrong limit is `not converged` until its weights are close to that limit.

A solver that learns from its mistakes, a learner of a state beside its weights, and a learner of hidden states have no
optimum to reach: see judging/mistakes.py, judging/alternations.py (`Stateful` formulations) and judging/stationary.py
(`Completing` ones). A single θ has no history, so a θ above the tolerance is `not converged` whatever its excess is. To
get another verdict, pass the answers under growing budgets, [(passes, θ), …]: two to four that are the same have ended
(`budgets`). A history that a user gives accuses nobody else, for nobody can go on with it. Of the judge's own two to
four answers, settled means that e changed by less than 1 % while the budget at least doubled, and the weights rest,
too: a slow learner's first passes change e by as little. Of a long history
at most GRADED checkpoints are used (judging/settling.py, `chosen`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from workbench.arithmetic.arrays import LARGEST
from workbench.contracts import Blocks, Completing, CutForm, Floats, Labelled, SmoothForm, Stateful, Trace, text_alone
from workbench.errors import BadInput, NotSeparable
from workbench.judging.alternations import alternated
from workbench.judging.claims import DRIFT, contradicted
from workbench.judging.controls import Asked, control
from workbench.judging.mistakes import mistaken
from workbench.judging.reference import Certified, Formulation, Reference, reference_of
from workbench.judging.reports import Report, blocks_of, counted, flat
from workbench.judging.settling import (
    MOST,
    chosen,
    doubling,
    downhill,
    ended,
    least,
    moving,
    needed,
    on_its_way,
    pauses,
    roaming,
    settling,
    stands,
    went_straight,
)
from workbench.judging.stationary import stationary
from workbench.judging.words import (
    AGREES,
    DISAGREES,
    FAILED,
    NOT_COMPARABLE,
    NOT_CONVERGED,
    VERDICTS,
    Verdict,
    far,
)
from workbench.outputs.multiclass import Multiclass

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["AGREES", "DISAGREES", "FAILED", "NOT_COMPARABLE", "NOT_CONVERGED", "VERDICTS", "Verdict", "crosscheck"]

NOISE = 10.0  # times the threshold, up to which weights that move are not told from noise that falls slowly
DIVERGES = 10.0  # times the least excess of late: two such numbers in one sentence would contradict each other
FITTED = 5  # answers that a curve can be fitted to, with two to spare
MARKOV = 100.0  # times the published bound: P ≤ 1/100 for a clean run

AT_WORK = "`judge` the learner, whose seconds tell whether it has stopped or looks for better weights"
RATES = (
    "learning rates that fall to 0 bring any loop to rest, so run four times the steps, the schedule stretched as far"
)

Answers = Trace | Certified | Floats | Sequence[Any]  # the sequence: a user's (passes, weights) or reports
Learned = Answers | Exception


def crosscheck(
    learned: Learned,
    solution: Certified | Reference | NotSeparable | cp.Problem,
    tolerance: float = 1e-4,
    alone: bool = False,
) -> Verdict:
    """Judges a trace, weights, a list of (passes, weights) or of `Report`s, a solution, or what a learner raised.

    `solution` is a certified reference: upper, lower, gap, theta_flat, formulation, problem. Raises `Contradiction`
    where its lower bound lies above its upper one, `BadInput` for a tolerance below 0 or not finite. For a cp.Problem
    in its place, a user's own convex program, the values of its variables are judged (judging/programs.py).
    alone : whether nobody can ask the learner for more passes, as a training loop: then no rest of its accuses, for
        rates that fall to 0 end anywhere
    """
    checked_tolerance(tolerance)
    if hasattr(solution, "is_dcp"):  # a user's program in CVXPY, whose import takes a second
        from workbench.judging.programs import crosscheck_program

        return crosscheck_program(learned, cast("cp.Problem", solution), tolerance)
    reference = reference_of(cast("Certified | Reference | NotSeparable", solution))
    if isinstance(learned, Trace) and learned.mistakes is not None:
        return mistaken(learned, reference)
    if isinstance(learned, Exception):
        notes = getattr(learned, "__notes__", [])  # a user's own, and where it was raised (judging/stand.py)
        said = [": ".join(filter(None, [type(learned).__name__, str(learned)])), *notes]
        told = " ".join(", ".join(said).split())
        return Verdict(FAILED, np.inf, f"The learner crashed: {told}", rule="crash")
    trace = learned if isinstance(learned, Trace) else None
    reports = history(learned, blocks_of(reference.formulation, reference.problem))
    if isinstance(form := reference.formulation, Stateful):
        return alternated(reports[-1].theta, form, reference.problem, tolerance)
    if isinstance(form, Completing):
        return stationary(reports, form, reference, tolerance)
    if refusal := unusable(reports, own_objective(learned), reference):
        return refusal
    if text_alone(reference.formulation):
        from workbench.judging.programs import crosscheck_text

        return crosscheck_text(reports, reference, tolerance)
    bare = isinstance(learned, Sequence) and not isinstance(learned[0], Report)
    hearing = Hearing(chosen(reports), trace, reference, tolerance, alone, bare)
    for rule in hearing.rules:
        if verdict := rule():
            return verdict
    return hearing.stays()


def checked_tolerance(tolerance: float) -> None:
    """Raise `BadInput` for a tolerance that is not a finite number from 0 on."""
    if not (isinstance(tolerance, Real) and 0 <= tolerance < np.inf):
        raise BadInput(f"The tolerance is {tolerance!r}; give a number of at least 0, such as 1e-4.")


def standing(learned: Answers, solution: Certified | Reference, tolerance: float) -> Verdict:
    """The verdict on a learner whom many more passes did not bring closer, whatever curve fits its history.

    The weights must not be on their way, and no clean run may excuse; the limit is the least excess since a quarter
    of the passes.
    """
    reference = reference_of(solution)
    hearing = Hearing(chosen(history(learned)), None, reference, tolerance)
    late = hearing.excesses[hearing.passes >= hearing.passes[-1] / 4]
    hearing.evidence["limit"] = least(hearing.passes, hearing.excesses)
    if not np.isfinite(late).all() or hearing.goes_on:
        return hearing.verdict(NOT_CONVERGED, "history", f"{hearing.far} and has not settled", "run it longer")
    paused = hearing.ended()
    return paused if paused and paused.verdict == NOT_CONVERGED else hearing.stays()


def own_objective(learned: Answers) -> Formulation | None:
    """The objective that whatever was learned declares for itself, if any."""
    return learned.formulation if isinstance(learned, Trace | Certified) else None


def unusable(reports: list[Report], own: Formulation | None, reference: Reference) -> Verdict | None:
    """`failed` for weights of a wrong shape, not finite or too large; `not comparable` for another objective."""
    if reference.missing:
        return Verdict(NOT_COMPARABLE, np.nan, reference.missing, rule="reference")
    thetas, dim = [each.theta for each in reports], reference.bounds.oracle.dim
    if sentence := next(filter(None, (misshapen(each, reference) for each in reversed(reports))), ""):
        return Verdict(FAILED, np.inf, sentence, rule="weights")
    if not np.isfinite(thetas[-1]).all():
        bad = int(np.count_nonzero(~np.isfinite(thetas[-1])))
        return Verdict(FAILED, np.inf, f"{bad} of the {dim} weights are not finite numbers.", rule="weights")
    sizes = np.abs(thetas[-1])
    if (sizes > LARGEST).any():
        sentence = f"The weights reach {sizes.max():.1e}, too large for their objective to be computed."
        return Verdict(FAILED, np.inf, sentence, rule="weights")
    if own is not None and objective(own) != objective(reference.formulation):
        sentence = f"The learner minimises {own}, the reference {reference.formulation}."
        return Verdict(NOT_COMPARABLE, np.nan, sentence, rule="objective")
    return None


def misshapen(report: Report, reference: Reference) -> str:
    """Why the weights' shape is not that of θ, in a sentence; "" if it is.

    A matrix stands for its rows, one behind the other. Of a matrix the sentence says so where it is the transpose of
    what `Multiclass` wants, or where the rows would mix w and the biases b.
    """
    problem, dim, size = reference.problem, reference.bounds.oracle.dim, report.theta.size
    if size != dim:
        sentence = f"The weights have shape {report.theta.shape}, not ({dim},), {layout(reference)}."
        if 2 * size == dim:
            sentence += " If they are one vector c for two labels, give −c/2 and c/2, one behind the other; where the "
            sentence += "package has C, C = 2/(λn)."
        return sentence
    if not isinstance(problem, Multiclass) or len(report.shape) != 2 or 1 in report.shape:
        return ""
    wanted = len(problem.classes), problem.n_inputs
    if report.shape == wanted:
        return ""
    if report.shape == wanted[::-1]:
        return f"The weights have shape {report.shape}, inputs by classes; give the transpose, a row for each class."
    return f"The weights have shape {report.shape}; give a flat array ({dim},), {layout(reference)}."


def layout(reference: Reference) -> str:
    """How θ is laid out, for a sentence."""
    form = reference.formulation
    blocks = form.blocks(reference.problem) if isinstance(form, CutForm | SmoothForm) else {}
    if len(blocks) < 2 and isinstance(problem := reference.problem, Labelled):
        k, p = len(problem.classes), problem.inputs.shape[1]
        further = problem.n_features - k * p
        rows = f"{k} rows of {p} weights, a row for each label"
        return f"{rows}, then {further} for pairs of labels" if further else rows
    if len(blocks) < 2:
        return "one for each entry of the features φ(x, y)"
    return ", then ".join(f"{int(np.prod(shape))} of {name}" for name, shape in blocks.items())


class Hearing:
    """A hearing: one run's weights, their numbers, and the rules of the module's docstring, one method each."""

    def __init__(
        self,
        reports: list[Report],
        trace: Trace | None,
        reference: Reference,
        tolerance: float,
        alone: bool = False,
        bare: bool = False,  # whether a user gave one history, which nobody can go on with
    ):
        self.reports, self.trace, self.reference, self.tolerance = reports, trace, reference, tolerance
        self.alone, self.bare = alone, bare
        self.passes = np.array([each.passes for each in reports])
        self.uppers = np.array([reference.value(each.theta) for each in reports])
        self.excesses = self.uppers - reference.lower
        self.excess = reference.excess(self.uppers[-1])
        self.threshold = max(tolerance, 3 * reference.gap)
        self.needed = np.nan  # passes
        self.settled = False  # whether a curve with a positive limit was fitted (else the excess just stopped falling)
        self.far = far(self.excess, self.excesses[-1])
        self.evidence = {
            "upper": float(self.uppers[-1]),
            "reference_lower": float(reference.lower),
            "reference_gap": float(reference.gap),
            "threshold": self.threshold,
            "passes": float(self.passes[-1]),
            "distance": float(np.linalg.norm(reports[-1].theta - reference.theta)),
        }
        if trace:
            told = {"drift": float(trace.drift[-1]), "bound": float(trace.bound[-1])}
            self.evidence |= {key: number for key, number in told.items() if np.isfinite(number)}

    @property
    def rules(self) -> tuple[Callable[[], Verdict | None], ...]:
        """In order; each has a verdict where it applies and None where it does not. If none applies, `stays` does."""
        ends = self.contradicted, self.near, self.too_slow, self.infeasible
        return *ends, self.ended, self.single, self.unsettled

    @property
    def goes_on(self) -> bool:
        """Whether the weights are on their way to the optimum, or went straight on from T/16 and T/4 of T passes."""
        thetas = [each.theta for each in self.reports]
        return on_its_way(self.passes, thetas, self.reference.theta) or went_straight(
            self.passes, thetas, self.excesses
        )

    def verdict(self, name: str, rule: str, fact: str, rest: str = "") -> Verdict:
        """The verdict with the reason `fact`, or `fact; rest` where something is open or asked for."""
        reason = f"{fact}; {rest}." if rest else f"{fact}."
        ends = float(self.excess), float(self.excesses[-1])
        return Verdict(name, ends[0], reason, self.evidence, rule, ends[1], float(self.needed), fact)

    def contradicted(self) -> Verdict | None:
        """`disagrees` if the reported weights contradict the learner's own dual weights, r's domain, or its claims."""
        false, found = contradicted(self.reports, self.uppers, self.reference)
        self.evidence |= found
        if (drift := self.evidence.get("drift", 0.0)) > DRIFT:
            told = f"The weights it reports are {drift:.1e} (relative) away from its own dual's weights"
            return self.verdict(DISAGREES, "drift", told)
        if (outside := self.evidence.get("outside", 0.0)) > DRIFT:
            return self.verdict(DISAGREES, "feasibility", f"Its weights lie {outside:.1e} outside of the domain")
        return self.verdict(DISAGREES, "reported", f"{false[0].upper()}{false[1:]}") if false else None

    def near(self) -> Verdict | None:
        if self.excess <= self.threshold:
            return self.verdict(AGREES, "optimum", f"{self.far}, within {self.threshold:.1e}")
        return None

    def too_slow(self) -> Verdict | None:
        if self.excesses[-1] > MARKOV * self.evidence.get("bound", np.inf):
            return self.verdict(DISAGREES, "rate", f"{self.far}, and over {MARKOV:.0f} times its published rate")
        return None

    def ended(self) -> Verdict | None:
        """`disagrees` if the learner has stopped by itself above the optimum; `not converged` if it only pauses."""
        if np.isnan(since := ended(self.reports)):
            return None
        told = f"its weights are the same from pass {since:g} to pass {self.passes[-1]:g}"
        if pauses(self.reports):
            told += ", but so they were for as long before, and went on"
            return self.verdict(NOT_CONVERGED, "history", self.far, f"{told}: run it longer")
        self.evidence |= {"ended": float(since), "limit": float(self.excesses[-1])}
        if self.alone or (self.bare and not budgets(self.passes)):  # of a learner at work, the best so far stay, too
            return self.verdict(NOT_CONVERGED, "settled", f"{self.far}, and {told}", RATES if self.alone else AT_WORK)
        self.needed = np.inf
        return self.verdict(DISAGREES, "ended", f"{self.far}, and it stops by itself there: {told}")

    def infeasible(self) -> Verdict | None:
        """`not converged` where F(θ) = ∞ though no rule accuses: a constraint may yet be met."""
        if np.isfinite(self.uppers[-1]):
            return None
        missed = self.evidence.get("violation")
        told = "" if missed is None else f", a constraint is missed by {missed:.1e}"
        return self.verdict(NOT_CONVERGED, "feasibility", f"Its weights are not feasible{told}")

    def single(self) -> Verdict | None:
        """`not converged` for one answer, which has no history."""
        if len(self.passes) > 1:
            return None
        told = "one answer tells neither whether it moves nor why: give [(passes, weights), …], or `judge` the learner"
        return self.verdict(NOT_CONVERGED, "history", self.far, told)

    def unsettled(self) -> Verdict | None:
        """`not converged` for a history whose excess falls, or whose weights are on their way."""
        curve = settling(self.passes, self.excesses, self.threshold * self.reference.size)
        self.evidence |= {"limit": curve.limit, "misfit": curve.misfit, "power": curve.power}
        self.evidence["doubling"] = doubling(self.passes, self.excesses)
        self.evidence["roaming"] = roaming(self.reports, self.reference.theta)
        self.needed = needed(self.passes[-1], self.excess, self.threshold, curve)
        still = curve.settled or stands(self.passes, self.excesses)
        still &= len(self.passes) >= FITTED or not moving(self.reports)
        if still and not self.goes_on:
            self.settled = curve.settled
            self.evidence["limit"] = curve.limit if curve.settled else least(self.passes, self.excesses)
            return None
        falls, advice = self.trend(curve.power)
        return self.verdict(NOT_CONVERGED, "history", f"{self.far} and has not settled: it {falls}", advice)

    def trend(self, power: float) -> tuple[str, str]:
        """How the excess falls, and how many passes are left at that rate, as the two parts of a reason."""
        if not power > 0:
            return "is not falling yet", "run it longer"
        falls, need = f"falls like passes^-{power:.2g}", f"{self.needed:.2g} passes reach {self.threshold:.1e}"
        if self.needed < MOST * self.passes[-1]:
            return falls, f"run it longer, at that rate about {need}"
        advice = "so look at its steps and at what it minimises"
        return falls, f"at that rate over a million times as many passes reach {self.threshold:.1e}, {advice}"

    def stays(self) -> Verdict:
        """The verdict on a settled history: `disagrees`, or `not converged` if its steps or clean runs excuse it."""
        limit, size, bounds = self.evidence["limit"], self.reference.size, self.reference.bounds
        settled = f"{self.far} and has settled for now"
        if self.alone:
            return self.verdict(NOT_CONVERGED, "settled", f"{settled}, about {limit / size:.1e} above it", RATES)
        if downhill(self.reports, bounds):  # the optimum lies ahead, however short the steps become
            self.evidence["excused"] = 1.0
            told = f"{settled}, but its last steps go down this objective"
            return self.verdict(NOT_CONVERGED, "settled", told, "run it longer")
        moves = moving(self.reports)
        if moves and limit <= NOISE * self.threshold * size:
            told = f"{settled}, about {limit / size:.1e} above it, but its weights still move: noise may fall as slowly"
            return self.verdict(NOT_CONVERGED, "settled", told, "run it longer")
        if self.bare:
            told = f"{settled}, about {limit / size:.1e} above it, but one history does not tell whether it goes on"
            return self.verdict(NOT_CONVERGED, "settled", told, "give four times the passes, or `judge` the learner")
        asked = Asked(self.passes[-1], limit, not self.settled, moves, self.threshold)
        found = control(self.trace, self.reference, asked)
        self.evidence["control"], self.needed = found.end, np.inf
        about = f"about {limit / size:.1e} above it"
        if self.excesses[-1] > DIVERGES * limit:  # the limit is the least of late
            about = f"no nearer than {limit / size:.1e} since a quarter of its passes"
        if not found.excuses:
            ends = f"{found.end / size:.1e} above it"
            clean = f"where clean runs with its budget end {ends}"
            if found.end > limit:
                clean = f"where clean runs with its budget go on: the slowest ends {ends}"
            return self.verdict(DISAGREES, "settled", f"{self.far} and stays, {about}, {clean}")
        if not np.isfinite(found.end):
            told = f"{settled}, {about}, but no solver of ours fits to be compared with"
        else:
            told = f"{settled}, {about}, but clean runs of ours settle {found.end / size:.1e} above it, too"
        return self.verdict(NOT_CONVERGED, "settled", told, "run it longer")


def budgets(passes: Floats) -> bool:
    """Whether a user's passes are those of two to four fits, each with twice the passes or more, and not of one run."""
    return len(passes) < FITTED and passes[0] > 1 and bool((passes[1:] >= 2 * passes[:-1]).all())


def history(learned: Answers, blocks: Blocks | None = None) -> list[Report]:
    """Whatever was learned, in increasing order of passes; weights may be a dict of the blocks of θ."""
    if isinstance(learned, Trace):
        return [Report(p, theta) for p, theta in zip(learned.passes, learned.thetas, strict=True)]
    if isinstance(learned, Certified):
        return [Report(np.nan, learned.theta_flat)]
    if isinstance(learned, Sequence) and learned and all(map(is_step, learned)):
        every = [step if isinstance(step, Report) else handed_over(blocks, *step) for step in learned]
        return sorted(every, key=lambda each: each.passes)
    return [Report(np.nan, flat(learned, blocks), shape=np.shape(learned))]


def is_step(thing: Any) -> bool:  # a user's
    """Whether a thing is a report, or passes, weights and perhaps claims."""
    if isinstance(thing, Report):
        return True
    if not (isinstance(thing, tuple | list) and len(thing) > 1):
        return False
    passes, weights, *_ = thing
    return np.ndim(passes) == 0 and (isinstance(weights, Mapping) or np.ndim(weights) > 0)


def handed_over(blocks: Blocks | None, passes: Any, weights: Any, *claims: Any) -> Report:  # a user's
    """A report of passes, weights, and perhaps claims about them."""
    return Report(counted(passes), flat(weights, blocks), *claims[:1], shape=np.shape(weights))


def objective(formulation: Formulation) -> tuple[object, ...]:
    """What a formulation minimises: its kind and settings, but not how it is declared to CVXPY."""
    form: Any = formulation  # formulations are dataclasses, whatever kind they are of
    settings = {f.name: getattr(form, f.name) for f in fields(form)}  # fields by name
    settings.pop("declare", None)
    return type(formulation).__qualname__, *settings.items()
