"""`judge`: runs a learner on the reference's problem, for several seeds, and says what is proven about it.

**The contract.** A learner is a function, or an object with a method,

    fit(problem, formulation, budget, rng)          budget: a number of passes; rng: a seed

that returns weights θ (p,), in the order of `formulation.blocks(problem)`, alone, with a report, or as checkpoints on
the way (judging/reports.py). What it reports is recomputed, and contradicted if false. Bare weights get a history:
those of a half, a quarter, … of the budget. What it gets are copies of the data, so that it can spoil its own only;
`fit` raises `MissingCapability` for problems that it is not made for.
A learner may also have, and is then audited by (judging/audits.py),

    oracle(problem, formulation, theta, i)          the output that it takes for the argmax of sample i
    subgradient(problem, formulation, theta, i)     of h_i at θ
    prox(problem, formulation, u, metric, step)     argmin over x of ½ Σ_j H_j (x_j − u_j)² + η r(x)
    iterates(problem, formulation)                  (average, iterate, share) after each visit, for as long as asked

A `fit` that takes `start`, {"weights": θ, "dual": (samples, outputs, μ)}, promises to stay at an optimum.
Solvers of ours are learners by `run`, and have all this without being asked.

**Where it runs.** Files of users always, and everybody else's learners under a limit of seconds, run in a process
of their own (system/processes.py): whatever they raise, however they end or hang, is the verdict `failed`.
Our solvers, and learners that yield checkpoints with their passes, stop at the first one after the limit and are judged
by what they have; who yields nothing until GRACE later hangs.

**Several seeds.** Each run has a verdict. Some evidence is certain: drift, infeasible weights, false reports, audits,
moves away from an optimum, too many mistakes. The published rate and the settled history only make a clean learner
improbable: by Markov's inequality a clean run exceeds 100 times its rate with probability below 1 %, and in the
clean runs of tests/judging/test_crosscheck.py none had settled above the optimum. Hence, in this order,

    failed          a run has failed
    disagrees       certain evidence in a run, or improbable runs are more than half of all
    not comparable  a run is
    agrees          every run does: each is proven, so there is no error to speak of
    not converged   otherwise

A clean learner with independent runs, each accused with probability ε, is accused with probability
Σ_{k>S/2} C(S, k) ε^k (1−ε)^{S−k}: at ε = 1 %, below 1 % for one seed, 3·10⁻⁴ for three, 10⁻⁵ for five.

**Causes.** Who is accused of its excess by a history alone, or lends what is wrong, is told why where that can be
known: by the audits that contradict single steps, which are certain, and by the convention of
judging/conventions.py under which its weights are optimal, which may be confident.

**Relations** (judging/relations.py) turn the certified reference into others, without solving: the learner is
judged there as well, by two seeds before chance accuses it. Always with `audit=True`; else if it agrees, is not ours
and takes less than CHEAP seconds. A relation may bring what the problem does not have, losses other than 0/1 or sample
weights. A learner that fails there, or is right there as long as that is taken out again, is not accused: it may not be
made for it, and a remark says how it can declare that. One that reads it wrongly is.

**Remarks** are what a user should know though it decides nothing; they follow the reason.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Floats, Recording
from workbench.data.loading import load_problem
from workbench.errors import BadInput, MissingCapability, UnknownName
from workbench.judging.audits import Finding, audit, audit_reports, hooks_of
from workbench.judging.relations import rebuilt, related
from workbench.judging.reports import NUMBERS, BadAnswer, reports_of
from workbench.judging.verdicts import (
    AGREES,
    DISAGREES,
    FAILED,
    NOT_COMPARABLE,
    NOT_CONVERGED,
    Report,
    Verdict,
    crosscheck,
)
from workbench.proofs.door import bounds_for
from workbench.registries import build, dashed, is_path, load_file, load_user_file, registry
from workbench.solving.solve import solve
from workbench.solving.stochastic import run
from workbench.system.processes import OutOfTime, Process, Raised

CHANCE = ("rate", "settled")  # rules whose evidence a clean learner might meet by bad luck
BUDGETS = 5  # a history's budgets: all, a half, a quarter, …
CHEAP = 0.1  # seconds
SLOW = 5.0  # seconds; a first fit imports packages, too, so that another one below this tells whether it is cheap
GRACE = 1.0  # seconds
RELAXED = 10.0  # times the tolerance, for related problems: a rule for stopping may suit them less


@dataclass(frozen=True)
class Learner:
    """A learner by name: a solver of ours, a function `fit`, or an object with a method of that name.

    file : the user's Python file that defines it under this name, if one does
    """

    name: str
    thing: Any
    file: str = ""

    @property
    def ours(self) -> bool:
        return hasattr(self.thing, "sweep")

    @property
    def fit(self) -> Callable[..., Any]:
        return getattr(self.thing, "fit", self.thing)


@dataclass(frozen=True)
class Run:
    """One seed's verdict, the rule behind it, the relative excess, and the seconds of the fit."""

    seed: int
    verdict: str
    excess: float
    rule: str
    seconds: float


@dataclass(frozen=True)
class Cause:
    """What is wrong: the name of an audit that contradicts a step, certainly, or of a convention followed instead."""

    kind: Literal["audit", "convention"]
    name: str
    sentence: str
    confident: bool


@dataclass(frozen=True)
class Judgement:
    """The verdict on a learner, of the run that decided it; all `runs` behind it, the known `causes`, and `remarks`."""

    name: str
    verdict: str
    excess: float
    passes: int
    seconds: float
    reason: str
    evidence: dict[str, float]
    rule: str
    runs: list[Run] = field(default_factory=list)
    causes: list[Cause] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def judge(
    learner: Any,
    reference: Any,
    passes: int = 50,
    seeds: int | Sequence[int] = (0,),
    tolerance: float = 1e-4,
    seconds: float | None = None,
    audit: bool | None = None,
) -> Judgement:
    """Runs a learner and judges it.

    Parameters
    ----------
    learner : a name, the path of a file with one learner, a solver, a function `fit` or an object with one
    reference : what `solve` returned, or the `NotSeparable` it raised
    passes : the budget
    seeds : one run each; a number stands for that one seed
    tolerance : relative excess that counts as agreement
    seconds : limit of each fit
    audit : also check relations and steps; None: steps always, relations where that is cheap
    """
    candidate = learner if isinstance(learner, Learner) else one_learner(learner)
    seeds = [seeds] if isinstance(seeds, int) else list(seeds)
    if not seeds:
        raise BadInput("seeds is empty; give at least one whole number.")
    with bench(candidate, reference, seconds) as stand:
        trials = [stand.tried(passes, seed, tolerance) for seed in seeds]
        runs = [Run(seed, v.verdict, v.excess, v.rule, took) for seed, (v, took) in zip(seeds, trials, strict=True)]
        decided, causes = together([verdict for verdict, _ in trials]), []
        settled = decided.verdict == DISAGREES and decided.rule in CHANCE
        if settled or decided.verdict in (AGREES, NOT_CONVERGED):
            decided, causes = stand.audited(decided, tolerance)
        unaccused = decided.verdict in (AGREES, NOT_CONVERGED)
        if unaccused and (audit or (audit is None and stand.cheap(decided, passes, runs))):
            decided = stand.related(decided, passes, seeds[0], tolerance)
    if settled or (decided.verdict == DISAGREES and decided.rule == "feasibility"):
        decided, found = explained(decided, stand.history, reference)
        causes = causes + found
    mean, remarks = float(np.mean([each.seconds for each in runs])), list(dict.fromkeys(stand.remarks))
    reason = " ".join([f"{decided.reason.rstrip('.')}.", *remarks]) if remarks else decided.reason
    told = decided.verdict, decided.excess, passes, mean, reason, decided.evidence, decided.rule
    return Judgement(candidate.name, *told, runs, causes, remarks)


def together(verdicts: list[Verdict]) -> Verdict:
    """The verdict on all runs, by the rule of the module's docstring: that of the worst run that shows it."""
    count = len(verdicts)
    failed = [each for each in verdicts if each.verdict == FAILED]
    against = [each for each in verdicts if each.verdict == DISAGREES]
    certain = [each for each in against if each.rule not in CHANCE]
    strange = [each for each in verdicts if each.verdict == NOT_COMPARABLE]
    worst = max(verdicts, key=lambda each: np.nan_to_num(each.excess, nan=-1.0))
    if failed or certain or 2 * len(against) > count or strange:
        chosen = (failed or certain or (against if 2 * len(against) > count else strange))[0]
        return chosen if count == 1 else counted(chosen, verdicts)
    agreeing = sum(each.verdict == AGREES for each in verdicts)
    if agreeing == count or count == 1:
        return worst if count == 1 else counted(worst, verdicts)
    unsettled = max((each for each in verdicts if each.verdict != AGREES), key=lambda each: each.excess)
    return counted(replace(unsettled, verdict=NOT_CONVERGED), verdicts)


def counted(chosen: Verdict, verdicts: list[Verdict]) -> Verdict:
    """The chosen verdict, with how many runs it rests on."""
    told = {name: sum(each.verdict == name for each in verdicts) for name in {each.verdict for each in verdicts}}
    evidence = chosen.evidence | {"seeds": len(verdicts)}
    evidence |= {f"seeds_{name.replace(' ', '_')}": number for name, number in told.items()}
    if len(told) == 1:
        return replace(chosen, evidence=evidence)
    split = ", ".join(f"{n} {name}" for name, n in sorted(told.items()))
    return replace(chosen, reason=f"{chosen.reason.rstrip('.')} ({split}).", evidence=evidence)


def explained(verdict: Verdict, history: list[tuple[float, Floats]], reference: Any) -> tuple[Verdict, list[Cause]]:
    """The verdict with the name of the convention under which the weights are optimal, if one is found."""
    from workbench.judging.conventions import explain

    found = explain(history[-1][1], reference, history)
    if found is None:
        return verdict, []
    told = replace(verdict, reason=f"{verdict.reason} {found.sentence}", evidence=verdict.evidence | found.evidence)
    return told, [Cause("convention", found.name, found.sentence, found.confident)]


def contradicting(findings: Sequence[Finding]) -> list[Cause]:
    """The audits that found a fault."""
    return [Cause("audit", each.name, each.sentence, True) for each in findings if each.sentence]


# ── which learner ─────────────────────────────────────────────────────────────────────────────────


def learners_named(words: Sequence[str]) -> list[Learner]:
    """The learners of these names and paths of Python files; a file may hold several."""
    solvers, learners, found = registry("solver"), registry("learner"), {}
    for word in words:
        if is_path(word):
            file = str(Path(word).resolve())
            found |= {name: Learner(name, able(made(each), word), file) for name, each in user_learners(word).items()}
            continue
        name = dashed(word)
        if name not in solvers.objects and name not in learners.objects:
            raise UnknownName("learner", word, [*solvers.names(), *learners.names()])
        found[name] = Learner(name, made((solvers if name in solvers.objects else learners).get(name)))
    return list(found.values())


def fitting(formulation: Any, problem: Any) -> list[Learner]:
    """All solvers of ours that take the pair."""
    found = [Learner(name, solver()) for name, solver in registry("solver").items()]
    found = [each for each in found if each.thing.misfit(formulation, problem) is None]
    if not found:
        raise MissingCapability("No solver of ours fits this pair; name others with --learners.")
    return found


def user_learners(path: str) -> dict[str, Any]:
    return load_user_file(path, "learner", "fit")


def made(thing: Any) -> Any:
    return build(thing, {}) if inspect.isclass(thing) else thing


def able(thing: Any, place: str = "What was given") -> Any:
    """The thing, if it can be a learner; `place` is where it is from."""
    if not hasattr(thing, "sweep") and not callable(getattr(thing, "fit", thing)):
        told = f"{place}: {type(thing).__name__} is no learner"
        raise BadInput(f"{told}; give a function fit(problem, formulation, budget, rng) -> weights.")
    return thing


def one_learner(thing: Any) -> Learner:
    """The learner that a caller of `judge` means."""
    if isinstance(thing, str | Path):
        found = learners_named([str(thing)])
        if len(found) > 1:
            raise BadInput(f"{thing} holds {len(found)} learners; judge them one by one, or leave one in NAMES.")
        return found[0]
    thing = able(made(thing))
    return Learner(getattr(thing, "name", getattr(thing, "__name__", type(thing).__name__)), thing)


# ── one learner at work ───────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def bench(learner: Learner, reference: Any, limit: float | None) -> Iterator[Stand]:
    """Where the learner works: here, or in a process of its own."""
    if learner.ours or not (learner.file or limit):
        yield (OwnStand if learner.ours else Stand)(learner, reference, limit)
        return
    with RemoteStand(learner, reference, limit) as stand:
        yield stand


class Stand:
    """A learner at work in this process, on the reference's problem."""

    def __init__(self, learner: Learner, reference: Any, limit: float | None):
        self.learner, self.reference, self.limit = learner, reference, limit
        self.reports: list[Report] = []  # of the last run
        self.yielded: list[Report] = []  # by one fit
        self.remarks: list[str] = []
        self.copy: Any = None  # of the problem, for the learner

    @property
    def history(self) -> list[tuple[float, Floats]]:
        return [(each.passes, each.theta) for each in self.reports]

    @property
    def certified(self) -> bool:
        """Whether the reference is an optimum with a proven gap, and tells how it was proven."""
        return hasattr(self.reference, "certificate") and bool(np.isfinite(self.reference.gap))

    @contextlib.contextmanager
    def beside(self, reference: Any) -> Iterator[Stand]:
        """The learner at work on another reference."""
        yield type(self)(self.learner, reference, self.limit)

    # what a learner does

    def fitted(
        self, budget: int, seed: int, start: bool = False, within: float | None = None
    ) -> tuple[list[Report], float]:
        """What `fit` returns, and its seconds; `start` hands it the optimum; read for `within` seconds."""
        form = self.reference.formulation
        extra = {"start": started(self.reference.certificate)} if start else {}
        with self.lent() as data, contextlib.redirect_stdout(sys.stderr):
            began = time.perf_counter()
            returned = self.learner.fit(data, form, budget, seed, **extra)
            reports = reports_of(returned, budget, began + within if within else np.inf)
            took = time.perf_counter() - began
        if within and took > within and len(reports) == 1 and not reports[0].remarks:
            raise OutOfTime
        return reports, took

    @contextlib.contextmanager
    def lent(self) -> Iterator[Any]:
        """A copy of the problem, which the learner may spoil; then the next gets another."""
        own = self.reference.problem
        if self.copy is None:
            arrays = {key: np.array(each) for key, each in own.arrays().items()}
            self.copy = own.copied() if hasattr(own, "copied") else rebuilt(own, arrays)
        try:
            yield self.copy
        finally:
            now = self.copy.arrays()
            if spoiled := [key for key, each in own.arrays().items() if not np.array_equal(each, now[key])]:
                self.remarks.append(f"It changes the data it is given ({', '.join(spoiled)}); each fit had a copy.")
                self.copy = None

    def findings(self) -> list[Finding]:
        """What the audits of single steps find."""
        reference = self.reference
        with self.lent() as data, contextlib.redirect_stdout(sys.stderr):
            return audit(hooks_of(self.learner.thing, reference.formulation, data), reference)

    def takes_start(self) -> bool:
        return "start" in inspect.signature(self.learner.fit).parameters

    # how it is judged

    def judged(self, passes: int, seed: int, tolerance: float, history: bool = True) -> tuple[Verdict, float]:
        """The verdict on one fit, with the history that other budgets give where it is needed; and its seconds.

        history : False for the verdict on where it ends, alone
        """
        self.yielded, took = reports, _ = self.fitted(passes, seed)
        reports = reports if history else reports[-1:]
        verdict = crosscheck(reports, self.reference, tolerance)
        if history and verdict.verdict == NOT_CONVERGED and len(reports) == 1:
            budgets = sorted({passes >> k for k in range(1, BUDGETS)} - {0, passes}, reverse=True)
            reports = sorted(reports + [self.fitted(budget, seed)[0][-1] for budget in budgets], key=lambda r: r.passes)
            verdict = crosscheck(reports, self.reference, tolerance)
        self.reports = reports
        self.remarks += [sentence for each in reports for sentence in each.remarks]
        return verdict, took

    def tried(self, passes: int, seed: int, tolerance: float, history: bool = True) -> tuple[Verdict, float]:
        """`judged`, but whatever is raised is `failed`, and a refusal `not comparable`."""
        began = time.perf_counter()
        try:
            return self.judged(passes, seed, tolerance, history)
        except MissingCapability as refusal:
            return Verdict(NOT_COMPARABLE, np.nan, str(refusal), rule="objective"), 0.0
        except OutOfTime:
            sentence = f"The learner did not return within {self.limit:.3g} s."
            return Verdict(FAILED, np.inf, sentence, rule="crash"), time.perf_counter() - began
        except (Exception, SystemExit) as error:
            return ended(error, self.reference), time.perf_counter() - began

    def audited(self, verdict: Verdict, tolerance: float) -> tuple[Verdict, list[Cause]]:
        """The verdict after the audits of single steps, and of `start`, and those that found a fault."""
        if not self.certified:
            return verdict, []
        try:
            findings = self.findings() + audit_reports(self.yielded)
            if self.takes_start():
                reports, _ = self.fitted(1, 0, start=True)
                findings.append(stayed(reports[-1].theta, self.reference, tolerance))
        except (Exception, SystemExit) as error:
            if isinstance(error, OutOfTime):
                error = RuntimeError(f"an audit did not return within {self.limit:.3g} s")
            return ended(error, self.reference), []
        evidence, causes = verdict.evidence | {each.name: each.worst for each in findings}, contradicting(findings)
        if not causes:
            return replace(verdict, evidence=evidence), []
        first = causes[0]
        reason = f"{verdict.reason} {first.sentence}" if verdict.verdict == DISAGREES else first.sentence
        return Verdict(DISAGREES, verdict.excess, reason, evidence, f"audit: {first.name}"), causes

    def cheap(self, verdict: Verdict, passes: int, runs: Sequence[Run]) -> bool:
        """Whether relations cost next to nothing; a remark if they do not."""
        if self.learner.ours or verdict.verdict != AGREES or not self.certified:
            return False
        took = min(each.seconds for each in runs)
        if CHEAP <= took < SLOW:
            took = self.fitted(passes, runs[0].seed)[1]
        if took >= CHEAP and next(related(self.reference), None):
            self.remarks.append(
                f"It was not judged on related problems, for a fit takes {took:.2g} s; the audit does it."
            )
        return took < CHEAP

    def related(self, verdict: Verdict, passes: int, seed: int, tolerance: float) -> Verdict:
        """The verdict after the learner was judged on each related reference, too."""
        if not self.certified:
            return verdict
        held = 0
        for name, reference in related(self.reference):
            with self.beside(reference) as stand:
                other, excused = stand.beyond(passes, seed, RELAXED * tolerance)
            if excused:
                ends = "failed" if other.verdict == FAILED else f"ignores them ({other.excess:.1e} above the optimum)"
                self.remarks.append(
                    f"It was also judged with {reference.beyond.what} (relation {name}), which this problem has not, "
                    f"and {ends}; if it is not made for them, let `fit` raise MissingCapability there."
                )
            elif other.verdict in (DISAGREES, FAILED):
                reason = f"Under the relation {name}: {other.reason[0].lower()}{other.reason[1:]}"
                evidence = verdict.evidence | other.evidence
                return Verdict(DISAGREES, other.excess, reason, evidence, f"relation: {name}")
            else:
                held += 1
        return replace(verdict, evidence=verdict.evidence | {"relations": held})

    def beyond(self, passes: int, seed: int, tolerance: float) -> tuple[Verdict, bool]:
        """The verdict on a related problem, and its excuse: that all is well without what the original has not."""
        form, beyond = self.reference.formulation, self.reference.beyond
        if beyond is None:
            return self.twice(passes, seed, tolerance), False
        other, _ = self.tried(passes, seed, tolerance, history=False)
        if other.verdict not in (DISAGREES, NOT_CONVERGED):
            return other, other.verdict == FAILED
        without = solve(form, beyond.without, gap=tolerance / 3)
        if crosscheck(self.reports, without, tolerance).verdict == AGREES:
            return other, True
        other = self.twice(passes, seed, tolerance)
        excused = other.verdict == DISAGREES and crosscheck(self.reports, without, tolerance).verdict != DISAGREES
        return other, excused

    def twice(self, passes: int, seed: int, tolerance: float) -> Verdict:
        """The verdict on one fit; where chance may have accused it, on another if that does not."""
        one, _ = self.tried(passes, seed, tolerance)
        if one.verdict == DISAGREES and one.rule in CHANCE:
            two, _ = self.tried(passes, seed + 1, tolerance)
            return one if two.verdict == DISAGREES else two
        return one


class OwnStand(Stand):
    """A solver of ours at work."""

    def judged(self, passes: int, seed: int, tolerance: float, history: bool = True) -> tuple[Verdict, float]:
        form, data, solver = self.reference.formulation, self.reference.problem, self.learner.thing
        if why := solver.misfit(form, data):
            raise MissingCapability(why)
        late = (lambda row: row.seconds > self.limit) if self.limit else None
        trace = run(solver, form, data, passes=passes, rng=seed, observe=late)
        self.reports = [Report(*each) for each in zip(trace.passes.tolist(), trace.thetas, strict=True)]
        return crosscheck(trace, self.reference, tolerance), float(trace.seconds[-1])

    @contextlib.contextmanager
    def lent(self) -> Iterator[Any]:
        yield self.reference.problem  # solvers of ours do not write there

    def takes_start(self) -> bool:
        return False


class RemoteStand(Stand):
    """A learner at work in a process of its own, which holds the problem."""

    def __init__(self, learner: Learner, reference: Any, limit: float | None, process: Process | None = None):
        super().__init__(learner, reference, limit)
        thing = ["file", learner.file, learner.name] if learner.file else address(learner)
        form, data = reference.formulation, reference.problem
        self.words = {"learner": thing, "formulation": [address(type(form)), asdict(form)]}
        self.words["problem"] = origin(data) if isinstance(data, Recording) else address(type(data))
        self.process, self.opened = process, False

    def __enter__(self) -> RemoteStand:
        return self

    def __exit__(self, *failure: object) -> None:
        if self.process:
            self.process.end()

    @contextlib.contextmanager
    def beside(self, reference: Any) -> Iterator[Stand]:
        other = RemoteStand(self.learner, reference, self.limit, self.process)
        yield other
        self.process, self.opened = other.process, False

    def asked(self, numbers: dict[str, Any], arrays: dict[str, NDArray]) -> Any:
        """The answer of a process that holds the learner and the problem; one that has ended is started again."""
        if self.process is None or not self.process.alive:
            self.process, self.opened = Process(answer), False
        if not self.opened:
            self.process.ask({"do": "open", **self.words}, self.reference.problem.arrays())
            self.opened = True
        try:
            return self.process.ask(numbers, arrays, self.limit and self.limit + GRACE)
        except Raised as raised:
            kinds = {each.__name__: each for each in (MissingCapability, BadInput, BadAnswer, OutOfTime)}
            raise kinds[raised.kind](raised.text) if raised.kind in kinds else raised from None

    def fitted(
        self, budget: int, seed: int, start: bool = False, within: float | None = None
    ) -> tuple[list[Report], float]:
        arrays = packed_start(self.reference.certificate) if start else {}
        question = {"do": "fit", "budget": budget, "seed": seed, "start": start, "within": within or self.limit}
        told, arrays = self.asked(question, arrays)
        self.remarks += told["remarks"]
        reports = []
        for k, (passes, claims, remarks) in enumerate(told["reports"]):
            dual = [arrays[key] for j in range(3) if (key := f"dual_{k}_{j}") in arrays and not self.foreign]
            claims |= {"dual": dual[0] if len(dual) == 1 else tuple(dual)} if dual else {}
            claims |= {"iterate": arrays[f"iterate_{k}"]} if f"iterate_{k}" in arrays else {}
            reports.append(Report(passes, arrays[f"theta_{k}"], claims, tuple(remarks)))
        return reports, told["seconds"]

    @property
    def foreign(self) -> bool:
        """Whether the numbers of outputs mean something else in the other process; then none are sent."""
        problem = self.reference.problem
        return isinstance(problem, Recording) and bool(problem.conditions)

    def findings(self) -> list[Finding]:
        reference = self.reference
        if self.foreign:
            return []
        numbers = {"do": "audit", "upper": reference.upper, "lower": reference.lower, "gap": reference.gap}
        told, _ = self.asked(numbers, packed_start(reference.certificate) | {"theta": reference.theta_flat})
        return [Finding(*each) for each in told["findings"]]

    def takes_start(self) -> bool:
        return not self.foreign and self.asked({"do": "takes start"}, {})[0]["takes"]


def ended(error: BaseException, reference: Any) -> Verdict:
    """The verdict on a learner that raised, or whose answer was none."""
    if isinstance(error, BadAnswer):
        return Verdict(FAILED, np.inf, str(error), rule="weights")
    return crosscheck(exception_of(error), reference)


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


def started(certificate: Any) -> dict[str, Any]:
    """The optimum as `start`."""
    return {"weights": certificate.theta, "dual": (certificate.samples, certificate.witnesses, certificate.weights)}


def stayed(theta: Floats, reference: Any, tolerance: float) -> Finding:
    """Whether a learner that was started at the optimum is still there."""
    bounds, threshold = bounds_for(reference.formulation, reference.problem), max(tolerance, 3 * reference.gap)
    excess = bounds.gap(bounds.upper(theta), reference.lower) if theta.shape == (bounds.oracle.dim,) else np.inf
    fault = f"Started at the proven optimum it moves away, to {excess:.1e} (relative) above it."
    return Finding("fixed point", excess, threshold, fault if not excess <= threshold else "")


# ── the other process ─────────────────────────────────────────────────────────────────────────────


def packed_start(certificate: Any) -> dict[str, NDArray]:
    parts = {"weights": certificate.theta, "samples": certificate.samples}
    return parts | {"witnesses": certificate.witnesses, "mu": certificate.weights}


def address(thing: Any) -> list[str]:
    """[how, place, name] by which another process finds a class, a function, or a learner of our registry."""
    if isinstance(thing, Learner):
        if thing.name in registry("learner").objects:
            return ["registry", "learner", thing.name]
        thing = thing.thing
    module, name = getattr(thing, "__module__", "__main__"), getattr(thing, "__qualname__", type(thing).__name__)
    home = sys.modules.get(module)
    found: Any = home
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not thing or module == "__main__":
        raise MissingCapability(
            f"{name} is in no module that another process could import; put it into a file, or set no limit of seconds."
        )
    return ["path", str(home.__file__), name] if module.startswith("_cutbench_") else ["module", module, name]


def origin(problem: Any) -> list[Any]:
    """[how, file, settings] by which another process builds a problem of a user's functions again."""
    if problem.origin is None:
        raise MissingCapability(
            "A problem of your own functions reaches another process by its file only; put it into a problem file and "
            "use cutbench crosscheck, or judge a function, without a limit of seconds."
        )
    return ["build", *problem.origin]


def problem_at(how: str, place: str, name: Any, arrays: dict[str, NDArray]) -> Any:
    """The problem that `origin` or `address` is about."""
    return load_problem(place)(**name) if how == "build" else rebuilt(found_at(how, place, name), arrays)


def found_at(how: str, place: str, name: str) -> Any:
    """What `address` is about."""
    if how == "registry":
        return registry(place).get(name)
    if how == "file":
        return user_learners(place)[name]
    found: Any = load_file(Path(place), "sent") if how == "path" else import_module(place)
    for part in name.split("."):
        found = getattr(found, part)
    return found


OPENED: dict[str, Any] = {}


def answer(numbers: dict[str, Any], arrays: dict[str, NDArray]) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """The work of a `RemoteStand`'s process."""
    do = numbers.pop("do")
    if do == "open":
        kind, settings = numbers["formulation"]
        problem, formulation = problem_at(*numbers["problem"], arrays), found_at(*kind)(**settings)
        learner = Learner(numbers["learner"][2], made(found_at(*numbers["learner"])))
        reference = SimpleNamespace(formulation=formulation, problem=problem)
        OPENED["stand"] = Stand(learner, reference, None)
        return {}, {}
    stand = OPENED["stand"]
    reference = stand.reference
    if "mu" in arrays:
        parts = {"theta": arrays["weights"], "samples": arrays["samples"]}
        reference.certificate = SimpleNamespace(**parts, witnesses=arrays["witnesses"], weights=arrays["mu"])
    if do == "takes start":
        return {"takes": stand.takes_start()}, {}
    if do == "audit":
        vars(reference).update({key: numbers[key] for key in ("upper", "lower", "gap")}, theta_flat=arrays["theta"])
        return {"findings": [list(each) for each in stand.findings()]}, {}
    reports, seconds = stand.fitted(**numbers)
    told, out = [], {}
    for k, (passes, theta, claims, remarks) in enumerate(reports):
        out[f"theta_{k}"] = theta
        dual = claims.get("dual", ())
        out |= {f"dual_{k}_{j}": part for j, part in enumerate([dual] if isinstance(dual, np.ndarray) else dual)}
        out |= {f"iterate_{k}": claims["iterate"]} if "iterate" in claims else {}
        told.append([passes, {key: claims[key] for key in NUMBERS if key in claims}, remarks])
    return {"reports": told, "seconds": seconds, "remarks": stand.remarks}, out
