"""A stand, as for an engine under test: one learner on one problem, fits, audits, further passes, and the verdict.

    Stand        other people's learners: each fit gets a copy of the data, its answers become reports
    OwnStand     solvers of ours, by `run`
    RemoteStand  a learner in a process of its own (judging/remote.py)

Solvers of ours, and learners that yield checkpoints with their passes, stop at the first one after the limit of
seconds and are judged by what they have; a learner that yields nothing within GRACE seconds after the limit counts
as hung.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from workbench.contracts import Factored, Floats, Problem, Recording, Trace
from workbench.errors import MissingCapability, OutOfMemory
from workbench.judging.audits import Finding, audit, audit_reports
from workbench.judging.hooks import hooks_of
from workbench.judging.learners import Learner
from workbench.judging.patience import FURTHER, LONGEST, Ruling, Try, allowed, exhausted, ruling, waits
from workbench.judging.reference import Reference
from workbench.judging.reports import BadAnswer, Report, blocks_of, reports_of
from workbench.judging.share import LARGE, Allowance, skipping
from workbench.judging.verdicts import crosscheck, history
from workbench.judging.warned import Tally
from workbench.judging.words import DISAGREES, FAILED, NOT_COMPARABLE, NOT_CONVERGED, Verdict
from workbench.solving.stochastic import run
from workbench.solving.transfer import rebuilt
from workbench.system.blas import threads_of_before
from workbench.system.processes import Died, OutOfTime, Raised, lines_of

BUDGETS = 5  # a history's budgets: all, a half, a quarter, …
GRACE = 1.0  # seconds
LATE = "give it more by --seconds (`seconds` of `judge`)"
FEW = 5  # if a fit gives fewer reports, those of other budgets count, too


class Stand:
    """A learner at work in this process, on the reference's problem.

    clock : of the seconds of its fits
    limit : seconds of each fit;  patience : seconds of further passes, None for a few times the learner's own
    """

    clock = staticmethod(time.process_time)

    def __init__(
        self, learner: Learner, reference: Reference, limit: float | None = None, patience: float | None = None
    ):
        self.learner, self.reference, self.limit, self.patience = learner, reference, limit, patience
        self.reports: list[Report] = []  # of the last run
        self.longer: list[Report] = []  # of the last run's further passes
        self.yielded: list[Report] = []  # by one fit
        self.took = 0.0  # seconds of the last run
        self.remarks: list[str] = []
        self.tally = Tally()  # of the learner's warnings
        self.copy: Problem | None = None  # for the learner

    @contextlib.contextmanager
    def beside(self, reference: Reference) -> Iterator[Stand]:
        """The learner at work on another reference."""
        there = type(self)(self.learner, reference, self.limit, self.patience)
        there.tally = self.tally
        yield there

    # what a learner does

    def fitted(
        self, budget: int, seed: int, start: bool = False, within: float | None = None
    ) -> tuple[list[Report], float]:
        """What `fit` returns, and its seconds; `start` hands it the optimum; read for `within` seconds."""
        form, within = self.reference.formulation, within or self.limit
        extra = {"start": started(self.reference)} if start else {}
        with self.lent() as data, contextlib.redirect_stdout(sys.stderr), self.tally.listening():
            began = time.perf_counter()
            with threads_of_before():
                returned = self.learner.fit(data, form, budget, seed, **extra)
                reports = reports_of(returned, budget, began + within if within else np.inf, blocks_of(form, data))
            took = time.perf_counter() - began
        return reports, took

    @contextlib.contextmanager
    def lent(self) -> Iterator[Problem]:
        """A copy of the problem for the learner; a copy that a learner has changed is replaced before the next fit."""
        own = self.reference.problem
        if self.copy is None:
            arrays = {key: np.array(each) for key, each in own.arrays().items()}
            self.copy = own.copied() if isinstance(own, Recording) else rebuilt(own, arrays)
        try:
            yield self.copy
        finally:
            now = self.copy.arrays()
            if spoiled := [key for key, each in own.arrays().items() if not np.array_equal(each, now[key])]:
                self.remarks.append(f"It changes the data it is given ({', '.join(spoiled)}); each fit had a copy.")
                self.copy = None

    def findings(self, within: float = np.inf) -> list[Finding]:
        """What the audits of single steps find within so many seconds; a remark names those that do not fit."""
        reference = self.reference
        with self.lent() as data, contextlib.redirect_stdout(sys.stderr), self.tally.listening(audit=True):
            lent = replace(hooks_of(self.learner.thing, reference.formulation, data), allowance=Allowance(within))
            found = audit(lent, reference)
        if lent.allowance.skipped:
            self.remarks.append(skipping(lent.allowance.skipped, within))
        return found

    def takes_start(self) -> bool:
        return self.learner.takes_start

    # how it is judged

    def judged(self, passes: int, seed: int, tolerance: float, ways: bool = True) -> tuple[Verdict, float]:
        """The verdict on one fit, with the history that other budgets give where it is needed; and its seconds.

        ways : False for the verdict on where it ends, alone
        """
        self.yielded, took = reports, spent = self.fitted(passes, seed)
        self.took = took
        reports = reports if ways else reports[-1:]
        verdict = crosscheck(reports, self.reference, tolerance)
        if ways and verdict.verdict == NOT_CONVERGED and len(reports) == 1:
            for budget in sorted({passes >> k for k in range(1, BUDGETS)} - {0, passes}, reverse=True):
                answers, more = self.fitted(budget, seed)
                reports, spent = [answers[-1], *reports], spent + more
            verdict = crosscheck(reports, self.reference, tolerance)
        self.reports, self.longer = reports, []
        self.remarks += [sentence for each in reports for sentence in each.remarks]
        if ways and self.insists(verdict):
            verdict = self.waited(verdict, reports, passes, seed, tolerance, allowed(self.patience, spent))
        return verdict, took

    def insists(self, verdict: Verdict) -> bool:
        """Whether further passes are made; on large problems, without a patience, for an accused learner only."""
        large = self.reference.problem.n_samples * len(self.reference.theta) >= LARGE
        return waits(verdict, self.took) and (self.patience is not None or not large or verdict.verdict == DISAGREES)

    def waited(
        self, first: Verdict, reports: list[Report], passes: int, seed: int, tolerance: float, patience: float
    ) -> Verdict:
        """The verdict after further passes, as far as the patience lasts; the same verdict if there are none.

        The judge's own seconds, as those of clean runs that it compares with, do not count.
        """
        if patience <= 0:
            return first
        spent, tries, ruled = 0.0, [Try(reports, first, self.took)], Ruling(None)
        told = exhausted(first, patience)
        while True:
            left, began = patience - spent, time.perf_counter()
            if len(tries) == LONGEST - 1 and left < FURTHER * self.took / 2:  # half of the passes would come too late
                return told
            try:
                learned = self.further(tries[-1].reports, FURTHER ** len(tries) * passes, seed, left)
            except OutOfTime:
                return told
            spent += time.perf_counter() - began
            self.longer = history(learned)
            tries.append(Try(self.longer, crosscheck(learned, self.reference, tolerance), self.took))
            ruled = ruling(tries, self.reference, tolerance, ruled.verdict)
            told = ruled.verdict or told
            if not ruled.asks:
                return told

    def further(self, reports: list[Report], budget: int, seed: int, within: float) -> list[Report] | Trace:
        """The history with this budget; a fit with few checkpoints is joined to the earlier histories.

        Raises `OutOfTime` if no time is left, or if the learner was cut short before half of the budget.
        """
        if within <= 0:
            raise OutOfTime
        answers, self.took = self.fitted(budget, seed, within=within)
        if len(answers) > 1 and answers[-1].remarks and answers[-1].passes < budget / 2:
            raise OutOfTime
        if len(answers) >= FEW:
            return answers
        between = self.fitted(budget // 2, seed)[0] if self.took < within / 2 else []
        return [*reports, *(each for each in (*between, *answers) if each.passes > reports[-1].passes)]

    def tried(self, passes: int, seed: int, tolerance: float, ways: bool = True) -> tuple[Verdict, float]:
        """`judged`, but whatever is raised is `failed`, and a refusal `not comparable`."""
        began = time.perf_counter()
        try:
            return self.judged(passes, seed, tolerance, ways)
        except MissingCapability as refusal:
            return Verdict(NOT_COMPARABLE, np.nan, str(refusal), rule="objective"), 0.0
        except (MemoryError, OutOfMemory) as lacking:
            if not self.learner.ours:
                return crashed(lacking, self.learner, self.reference), time.perf_counter() - began
            told = f"The memory does not suffice for {self.learner.name} ({lacking}); take fewer samples or features."
            return Verdict(NOT_COMPARABLE, np.nan, told, rule="memory"), time.perf_counter() - began
        except OutOfTime:
            sentence = f"The learner did not return within {self.limit:.3g} s; {LATE}."
            return Verdict(FAILED, np.inf, sentence, rule="crash"), time.perf_counter() - began
        except (Exception, SystemExit) as error:
            return crashed(error, self.learner, self.reference), time.perf_counter() - began

    def audited(self, verdict: Verdict, tolerance: float, within: float = np.inf) -> tuple[Verdict, list[Finding]]:
        """The verdict after the audits of single steps, and of `start`, and the findings that contradict.

        within : seconds of the processor that the audits may take
        """
        bilinear = isinstance(self.reference.formulation, Factored)  # proven by slopes; flows need no certificate
        if not self.reference.certified and not bilinear:
            return verdict, []
        try:
            findings = self.findings(within) + audit_reports(self.yielded)
            if self.reference.certified and self.takes_start():
                reports, _ = self.fitted(1, 0, start=True)
                findings.append(stayed(reports[-1].theta, self.reference, tolerance))
        except (Exception, SystemExit) as error:
            if ours(error, self.learner):
                told = " ".join(f"{type(error).__name__}: {error}".split())
                self.remarks.append(f"An audit of ours could not be made ({told}); that says nothing about it.")
                return verdict, []
            if isinstance(error, OutOfTime):
                error = RuntimeError(f"an audit did not return within {self.limit:.3g} s; {LATE}")
            return crashed(error, self.learner, self.reference), []
        evidence = verdict.evidence | {each.name: each.worst for each in findings}
        against = [each for each in findings if each.sentence]
        if not against:
            return replace(verdict, evidence=evidence), []
        first = against[0]
        reason = f"{verdict.reason} {first.sentence}" if verdict.verdict == DISAGREES else first.sentence
        told = {"reason": reason, "evidence": evidence, "rule": f"audit: {first.name}"}
        return replace(verdict, verdict=DISAGREES, **told), against


class OwnStand(Stand):
    """A solver of ours at work."""

    def judged(self, passes: int, seed: int, tolerance: float, ways: bool = True) -> tuple[Verdict, float]:
        form, data, solver = self.reference.formulation, self.reference.problem, self.learner.thing
        late = (lambda row: row.seconds > self.limit) if self.limit else None
        with self.tally.listening():
            trace = run(solver, form, data, passes=passes, rng=seed, observe=late)
        took = self.took = float(trace.seconds[-1])
        self.reports, self.longer = history(trace), []
        self.reference.graded(trace.thetas, trace.upper)
        verdict = crosscheck(trace, self.reference, tolerance)
        if ways and self.insists(verdict) and verdict.evidence["passes"] >= passes:
            patience = allowed(self.patience, took)
            verdict = self.waited(verdict, self.reports, passes, seed, tolerance, patience)
        return verdict, took

    def further(self, reports: list[Report], budget: int, seed: int, within: float) -> Trace:
        form, data = self.reference.formulation, self.reference.problem
        with self.tally.listening():
            trace = run(self.learner.thing, form, data, budget, seed, observe=lambda row: row.seconds > within)
        if trace.passes[-1] < budget:
            raise OutOfTime
        self.took = float(trace.seconds[-1])
        return trace

    @contextlib.contextmanager
    def lent(self) -> Iterator[Problem]:
        yield self.reference.problem  # solvers of ours do not write there


def ours(error: BaseException, learner: Learner) -> bool:
    """Whether what was raised in an audit is our failure: the memory, or a step of a solver of ours."""
    kind = error.kind if isinstance(error, Raised) else type(error).__name__
    return kind in ("MemoryError", "_ArrayMemoryError", "OutOfMemory") or (
        learner.ours and isinstance(error, Exception)
    )


def crashed(error: BaseException, learner: Learner, reference: Reference) -> Verdict:
    """The verdict on a learner that raised, or whose answer was none."""
    if isinstance(error, BadAnswer):
        return Verdict(FAILED, np.inf, str(error), rule="weights")
    told = exception_of(error)
    if isinstance(error, Died):
        told.add_note(f"so run the `fit` of {Path(learner.file).name or learner.name} by itself to see where")
    elif where := line_in(learner, error):
        told.add_note(where)
    elif type(told).__name__ == "TypeError" and "argument" in str(told):  # raised at the call, by its signature
        told.add_note("define fit(problem, formulation, budget, rng)")
    return crosscheck(told, reference)


def line_in(learner: Learner, error: BaseException) -> str:
    """`mine.py line 7`, the innermost line of the learner's own file in which the error was raised; "" if none was."""
    file = learner.file
    if not (file or learner.ours):
        file = learner.fit.__code__.co_filename if inspect.isfunction(learner.fit) else ""
    lines = error.lines if isinstance(error, Raised) else lines_of(error)
    own = [line for name, line in lines if file and name == file]
    return f"{Path(file).name} line {own[-1]}" if own else ""


def exception_of(error: BaseException) -> Exception:
    """What a learner died of, as the sentence of a verdict wants it."""
    if isinstance(error, Raised):  # the other process tells whose error it was
        if error.kind == "SystemExit":
            return RuntimeError(f"it left with exit code {error.text}")
        return type(error.kind, (Exception,), {})(error.text)
    if isinstance(error, SystemExit):
        return RuntimeError(f"it left with exit code {error}")
    return error if isinstance(error, Exception) else RuntimeError(repr(error))


# ── started at the optimum ────────────────────────────────────────────────────────────────────────


def started(reference: Reference) -> dict[str, object]:
    """The optimum as `start`."""
    certificate = reference.certificate
    assert certificate is not None  # who starts at an optimum has one
    return {"weights": certificate.theta, "dual": (certificate.samples, certificate.witnesses, certificate.weights)}


def stayed(theta: Floats, reference: Reference, tolerance: float) -> Finding:
    """Whether a learner that was started at the optimum is still there."""
    excess, threshold = reference.excess(reference.value(theta)), max(tolerance, 3 * reference.gap)
    fault = f"Started at the proven optimum it moves away, to {excess:.1e} (relative) above it."
    return Finding("fixed point", excess, threshold, fault if not excess <= threshold else "")
