"""`judge`: runs a learner on the reference's problem, for several seeds, and says what is proven about it.

What a learner is, and what it may lend, stands in judging/learners.py; what it may return in judging/reports.py; how a
history is judged in judging/verdicts.py; where a learner runs in judging/stand.py and judging/remote.py.

**Several seeds.** Each run has a verdict. Some evidence is certain: drift, infeasible weights, false reports, audits,
moves away from an optimum, too many mistakes. Histories and the published rate only make a clean learner improbable: by
Markov's inequality a clean run exceeds 100 times its rate with probability below 1 %, and how often a clean history
settles is measured (docs/crosscheck.md). Hence, in this order,

    failed          a run has failed
    disagrees       certain evidence in a run, or improbable runs are more than half of all
    not comparable  a run is
    agrees          every run does: each agreement is proven, so no error is possible
    not converged   otherwise

A clean learner with independent runs, each accused with probability ε, is accused with probability
Σ_{k>S/2} C(S, k) ε^k (1−ε)^{S−k}: at ε = 1 %, below 1 % for one seed, 3·10⁻⁴ for three, 10⁻⁵ for five.

**Causes.** A learner that is accused by a history alone, or that lends a faulty step, is told the cause where one can
be found: an audit that contradicts a single step is certain; a convention of judging/conventions/ under which the
learner's weights are optimal may be confident. A learner that has not converged is accused if its weights stay within
a certified distance of the optimum of another objective; that identity needs no clean run.

**Relations** (judging/relations.py) turn the certified reference into others, without solving: the learner is judged
on these, too, by two seeds before a result of chance counts. Relations are checked with `audit=True`, and else for a
learner of somebody else that agrees and takes less than CHEAP seconds (judging/kin.py). A related problem may have
sample weights, or losses other than 0/1, where the original has none. A learner that refuses such a problem, or whose
answer is right for the same problem without them, is not accused: a remark says how the learner declares that it does
not take them. A learner that uses them wrongly is accused.

**Remarks** follow the reason of a verdict and do not decide anything.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from workbench.contracts import Factored, text_alone
from workbench.errors import BadInput, NotSeparable, checked_positive, checked_whole
from workbench.judging.conventions.detective import Detective
from workbench.judging.conventions.neighbours import Explanation
from workbench.judging.kin import judged_on_relations
from workbench.judging.learners import Learner, one_learner
from workbench.judging.reference import Certified, Reference, reference_of
from workbench.judging.remote import RemoteStand
from workbench.judging.reports import Report
from workbench.judging.seeds import CHANCE, Run, together
from workbench.judging.share import LEAST, OPEN_SEARCH, SEARCH, Allowance, allowed
from workbench.judging.stand import OwnStand, Stand
from workbench.judging.verdicts import checked_tolerance
from workbench.judging.warned import Warned
from workbench.judging.words import AGREES, DISAGREES, NOT_CONVERGED, Verdict
from workbench.solving.progress import checked_calls
from workbench.system.blas import one_thread
from workbench.system.processes import OutOfTime


@dataclass(frozen=True)
class Cause:
    """What is wrong: the name of an audit that contradicts a step, certainly, or of a convention followed instead."""

    kind: Literal["audit", "convention"]
    name: str
    sentence: str
    confident: bool


@dataclass(frozen=True)
class Judgement:
    """The verdict on a learner, of the run that decided it; all `runs` behind it, the known `causes`, and `remarks`.

    warned : what the learner's code warned of, and in how many of its `calls` by the judge (judging/warned.py)
    excess : relative to the optimum;  absolute : F(θ) − L;  needed : passes that the trend needs (`Verdict`)
    history : of the last run, [(passes, F(θ) − L), …], with the further passes that the judge asked for
    """

    name: str
    verdict: str
    excess: float
    passes: float
    seconds: float
    reason: str
    evidence: dict[str, float]
    rule: str
    runs: list[Run] = field(default_factory=list)
    causes: list[Cause] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    absolute: float = float("nan")
    needed: float = float("nan")
    history: list[tuple[float, float]] = field(default_factory=list)
    warned: list[Warned] = field(default_factory=list)
    calls: int = 0

    def __repr__(self) -> str:
        return f"Judgement({self.name} {self.verdict}: {self.reason})"


def judge(
    learner: Any,  # a user's object, a name or a path
    reference: Certified | Reference | NotSeparable,
    passes: int = 50,
    seeds: int | Sequence[int] = (0,),
    tolerance: float = 1e-4,
    seconds: float | None = None,
    audit: bool | None = None,
    patience: float | None = None,
    watch: Callable[[str], object] | None = None,
) -> Judgement:
    """Runs a learner and judges it.

    Parameters
    ----------
    learner : a name, the path of a file with one learner, a solver, a function `fit` or an object with one
    reference : what `solve` returned, or the `NotSeparable` it raised
    passes : the budget
    seeds : one run each; a number stands for that one seed
    tolerance : relative excess that counts as agreement
    seconds : limit of each fit, and of a learner's fits and audits together
    audit : also check relations and steps, and take the time for them; None: steps in a share of the learner's time
        (judging/share.py), relations where that is cheap
    patience : seconds that further passes may take before a history accuses; None: a few times the learner's own, on
        large problems only for a learner that its history accuses
    watch : called with what the judge does next, in a few words

    Raises `BadInput` for settings that are no such numbers, and for arguments of another kind.
    """
    if not isinstance(reference, Reference | Certified | NotSeparable):
        told = f"judge takes a learner, then what `solve` returned, not a {type(reference).__name__}"
        raise BadInput(f"{told}; write for example judge(BCFW(), solve(SoftMargin(), problem)).")
    checked_calls(watch=watch)
    reference, candidate = reference_of(reference), one_learner(learner)
    checked_whole(1, passes=passes)
    checked_tolerance(tolerance)
    seeds = [seeds] if isinstance(seeds, int) else list(seeds)
    if not seeds:
        raise BadInput("seeds is empty; give at least one whole number.")
    for seed in seeds:
        checked_whole(0, seed=seed)
    if seconds is not None:
        checked_positive(seconds=seconds)
    if patience is not None and not patience >= 0:
        raise BadInput(f"patience is {patience}; give seconds from 0 on, such as patience=60.")
    watch = watch or str
    with one_thread(), bench(candidate, reference, seconds, patience) as stand:
        began, trials = stand.clock(), []
        for seed in seeds:
            watch(f"its runs, seed {seed}")
            trials.append(stand.tried(passes, seed, tolerance))
        spent, within = stand.clock() - began, None if seconds is None else seconds * len(seeds)
        size = 0 if audit else reference.problem.n_samples * len(reference.theta)
        fits = min(sum(took for _, took in trials), spent)
        share, search, rest = (
            Allowance(allowed(fits, spent, within, size, least), stand.clock) for least in (LEAST, SEARCH, np.inf)
        )
        runs = [Run(seed, v.verdict, v.excess, v.rule, took) for seed, (v, took) in zip(seeds, trials, strict=True)]
        decided, causes = together([verdict for verdict, _ in trials]), []
        unexplained = decided.verdict == DISAGREES and decided.rule in (*CHANCE, "feasibility")
        if (unexplained and decided.rule in CHANCE) or decided.verdict in (AGREES, NOT_CONVERGED):
            watch("its single steps")
            decided, against = stand.audited(decided, tolerance, share.left)
            causes = [Cause("audit", each.name, each.sentence, True) for each in against]
        if unexplained or decided.verdict == NOT_CONVERGED:
            watch("the objective that it minimises")
            decided, found = searched(decided, stand, reference, search if unexplained else share)
            causes += found
        if decided.verdict in (AGREES, NOT_CONVERGED):
            watch("relations between its runs")
            decided = judged_on_relations(stand, decided, audit, passes, runs, tolerance, rest)
    mean = float(np.mean([each.seconds for each in runs]))
    remarks = list(dict.fromkeys(filter(None, [*stand.remarks, stand.tally.sentence])))
    reason = " ".join([f"{decided.reason.rstrip('.')}.", *remarks]) if remarks else decided.reason
    told = decided.verdict, decided.excess, passes, mean, reason, decided.evidence, decided.rule
    ends = {"absolute": decided.absolute, "needed": decided.needed, "history": excesses(whole_run(stand), reference)}
    heard = {"warned": stand.tally.warned, "calls": stand.tally.calls}
    return Judgement(candidate.name, *told, runs, causes, remarks, **ends, **heard)


@contextlib.contextmanager
def bench(learner: Learner, reference: Reference, limit: float | None, patience: float | None) -> Iterator[Stand]:
    """A stand for the learner, in this process or in a process of its own."""
    if learner.ours or not (learner.file or limit):
        yield (OwnStand if learner.ours else Stand)(learner, reference, limit, patience)
        return
    with RemoteStand(learner, reference, limit, patience) as stand:
        yield stand


def searched(verdict: Verdict, stand: Stand, reference: Reference, search: Allowance) -> tuple[Verdict, list[Cause]]:
    """`explained` within the seconds of `search`, and of the clock on the wall; a remark where these do not suffice.

    Backends work in processes of their own, whose seconds no clock of this one's processor sees.
    """
    wall = Allowance(SEARCH if verdict.verdict == DISAGREES else OPEN_SEARCH, time.perf_counter)
    try:
        with search.held(), wall.held():
            return explained(verdict, stand.longer or stand.reports, reference, stand.learner, search)
    except OutOfTime:
        stand.remarks.append("The search for what it minimises instead did not fit into the time of the audits.")
        return verdict, []


def explained(
    verdict: Verdict,
    reports: list[Report],
    reference: Reference,
    learner: Learner | None = None,
    search: Allowance | None = None,
    guesses: bool = False,
) -> tuple[Verdict, list[Cause]]:
    """The verdict with the name of the objective at whose optimum the weights are, if one is found.

    A verdict of `not converged` changes only by a certain identity (`Detective.identity`).
    guesses : whether other names are told with such a verdict, too, never with confidence
    """
    history = [(each.passes, each.theta) for each in reports]
    without_cuts = text_alone(reference.formulation) or isinstance(reference.formulation, Factored)
    if not history or reference.missing or without_cuts:
        return verdict, []
    detective = reference.known.setdefault("detective", Detective(reference))  # what it learns serves the next learner
    detective.allowance = search or Allowance()
    if verdict.verdict == NOT_CONVERGED:
        found = detective.identity(history)
        if found is None:
            other = detective.explain(history[-1][1], history) if guesses else None
            return verdict, [guess(other)] if other else []
        verdict = replace(verdict, verdict=DISAGREES, rule="identity", reason=f"{verdict.fact}.", needed=np.inf)
    else:
        found = detective.explain(history[-1][1], history) or stopped_early(verdict, learner)
    if found is None:
        return verdict, []
    told = replace(verdict, reason=f"{verdict.reason} {found.sentence}", evidence=verdict.evidence | found.evidence)
    return told, [Cause("convention", found.name, found.sentence, found.confident)]


def guess(found: Explanation) -> Cause:
    """An explanation without confidence."""
    told = f"Perhaps {found.sentence[:1].lower()}{found.sentence[1:]}" if found.confident else found.sentence
    return Cause("convention", found.name, told, confident=False)


def stopped_early(verdict: Verdict, learner: Learner | None) -> Explanation | None:
    """The explanation for a learner that has stopped at the optimum of no objective of the table."""
    if verdict.rule != "ended" or learner is None:
        return None
    setting = learner.tolerance
    told = f"tighten its own `{setting}`" if setting else "tighten its own rule for stopping, if it has one"
    sentence = f"None of the other objectives that were tried explains its weights; if it stops too early, {told}."
    return Explanation("stops early", sentence)


def whole_run(stand: Stand) -> list[Report]:
    """The reports of the last run and of its further passes."""
    last = stand.reports[-1].passes if stand.reports else np.inf
    return [*stand.reports, *(each for each in stand.longer if each.passes > last)]


def excesses(reports: Sequence[Report], reference: Reference) -> list[tuple[float, float]]:
    """(passes, F(θ) − L) of each report; none without a proven optimum."""
    if reference.missing:
        return []
    return [(each.passes, reference.value(each.theta) - reference.lower) for each in reports]
