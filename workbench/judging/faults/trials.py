"""One learner, with a fault or without, judged on one random problem, by words that a stranger would accept.

**Words.** T is the tolerance, by default 1e-3 relative to the optimum.

    harmful            a faulty run whose excess is above HARM·T at the end of its budget and at four times that
    found by weights   `disagrees`, by the weights and answers alone, with the excess recomputed here from the tables;
                       no cause that is claimed with confidence is wrong
    found with audits  the same, or an audit contradicts a step that the learner lends, and the fault is in that step
    sound              the right objective, and an own tolerance no looser than T; to stop early by a loose tolerance
                       of its own is a fault, and is named so
    wrong name         a cause claimed with confidence that the catalogue does not list for the fault
    false alarm        `disagrees` or `failed` on a sound run, or an audit that contradicts one

The learner is judged as `judge` judges it (judging/stand.py), with all the patience it asks for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.contracts import Floats, Formulation
from workbench.judging.audits import audit
from workbench.judging.conventions.detective import Detective
from workbench.judging.faults import learners as plain
from workbench.judging.faults.lending import Lender, begun, dual
from workbench.judging.faults.planting import Fault
from workbench.judging.faults.problems import LIKELIHOOD, drawn, formulated
from workbench.judging.hooks import hooks_of
from workbench.judging.learners import Learner
from workbench.judging.patience import FURTHER
from workbench.judging.reference import Reference, reference_of
from workbench.judging.reports import Report
from workbench.judging.stand import Stand
from workbench.judging.verdicts import crosscheck
from workbench.judging.words import DISAGREES, FAILED, NOT_CONVERGED
from workbench.solving.solve import solve

AUDITED = ("oracle", "subgradient", "prox", "averaging", "dual")
GAP = 1e-9
HARM = 10.0  # times the tolerance
FOREVER = 1e9  # seconds of patience: what a judge finds must not depend on the machine
BUDGETS = {"subgradient": 768, "projected": 768, "bcfw": 256, "dual-ascent": 128, "gradient": 128, "lbfgs": 128}
BUDGETS |= {"saga": 256, "adagrad": 1024}


@dataclass(frozen=True)
class Trial:
    """One judged run. `fault` is "" for a sound learner, `case` says which problem it was.

    excess, longer : at the end and at four times the budget (NaN if not run), both relative to the optimum
    account : by how much the learner believes to be above its own optimum;  accuracy : of its predictions
    right : evidence that its fault amounts to;  convention, confident, against : what is said of it
    """

    fault: str
    kind: str
    method: str
    family: str
    case: str
    seed: int
    verdict: str
    rule: str
    excess: float
    accused: float
    longer: float
    tolerance: float
    gap: float
    accuracy: float
    account: float
    reason: str
    right: tuple[str, ...] = ()
    convention: str = ""
    confident: bool = False
    against: tuple[str, ...] = ()
    catalogue: str = "first"

    @property
    def harmful(self) -> bool:
        return bool(self.fault) and min(self.excess, self.longer) > HARM * self.tolerance

    @property
    def accused_rightly(self) -> bool:
        """Accused, of the excess that its weights have."""
        return self.verdict == DISAGREES and bool(np.isclose(self.accused, self.excess, rtol=1e-3, atol=self.gap))

    @property
    def certain(self) -> set[str]:
        """What is said with confidence."""
        return {*self.against, *([self.convention] if self.confident else [])}

    @property
    def named(self) -> bool:
        return bool({*self.against, self.convention} & {*self.right})

    @property
    def told(self) -> bool:
        return bool(self.certain & {*self.right})

    @property
    def wrong(self) -> bool:
        return not self.certain <= {*self.right}

    @property
    def guessed(self) -> bool:
        return bool(self.convention) and not self.named and not self.wrong

    @property
    def found_by_weights(self) -> bool:
        return self.accused_rightly and not self.wrong

    @property
    def found(self) -> bool:
        """Also by an audit that the fault amounts to, whatever its weights."""
        return (self.accused_rightly or bool({*self.against} & {*self.right})) and not self.wrong

    @property
    def alarm(self) -> bool:
        return not self.fault and (self.verdict in (DISAGREES, FAILED) or bool(self.against))


class Bench:
    """One problem of a family with its certified references; has learners judged on it."""

    def __init__(self, family: str, seed: int, case: str = "", tolerance: float = 1e-3):
        self.family, self.seed, self.case, self.tolerance = family, seed, case, tolerance
        self.problem, self.lam, self.passes = drawn(family, seed, case)
        self.detectives: dict[Formulation, Detective] = {}  # by formulation

    def detective(self, method: str) -> Detective:
        """With the certified reference of what the method minimises."""
        form = formulated(method, self.family, self.lam)
        if form not in self.detectives:
            self.detectives[form] = Detective(reference_of(solve(form, self.problem, gap=GAP)))
        return self.detectives[form]

    def run(self, method: str, fault: Fault | None = None) -> Trial:
        detective, budget = self.detective(method), self.passes or BUDGETS[method]
        best = detective.reference
        sound = begun(self.maker(method), self.problem, best.formulation)
        lender = Lender(self.maker(method, fault), method)
        stand = Stand(Learner(method, lender), best, patience=FOREVER)
        with np.errstate(all="ignore"):
            verdict, _ = stand.tried(budget, self.seed, self.tolerance)
            history = [(each.passes, each.theta) for each in stand.longer or stand.reports]
            theta = stand.reports[-1].theta if stand.reports else np.full(sound.d, np.nan)
            known = None
            if verdict.verdict == DISAGREES and fault:
                known = detective.explain(history[-1][1], history)
            elif verdict.verdict == NOT_CONVERGED and verdict.rule != "feasibility" and len(history) > 1:
                known = detective.identity(history)
            told = DISAGREES if known else verdict.verdict
            longer = self.longer(stand, lender, budget) if fault else None
            against, lent = self.contradicted(method, lender, theta, best)
        decode = best.formulation.terms if method in LIKELIHOOD else best.formulation.oracle
        decoded = decode(self.problem).decode(np.nan_to_num(theta), np.arange(self.problem.n_samples))
        places = (self.problem.truth >= 0) | (decoded >= 0)
        return Trial(
            fault=fault.name if fault else "",
            kind=fault.kind if fault else "",
            method=method,
            family=self.family,
            case=self.case,
            seed=self.seed,
            verdict=told,
            rule="identity" if told != verdict.verdict else verdict.rule,
            excess=excess(sound, theta, best),
            accused=float(verdict.excess),
            longer=np.nan if longer is None else excess(sound, longer, best),
            tolerance=self.tolerance,
            gap=best.gap,
            accuracy=float((decoded == self.problem.truth)[places].mean()),
            account=account(lender.first or sound, [(each.passes, each.theta) for each in stand.reports]),
            reason=verdict.reason,
            right=tuple(each for each in fault.right if each in lent or each not in AUDITED) if fault else (),
            convention=known.name if known else "",
            confident=bool(known and known.confident),
            against=against,
        )

    def maker(self, method: str, fault: Fault | None = None):
        """Makes the learner anew: a fault may remember what it has seen."""
        return lambda: plain.learner(method, self.family, fault.methods if fault else None)

    def longer(self, stand: Stand, lender: Lender, budget: int) -> Floats:
        """The weights at four times the budget, of a fit of their own: its schedules end there."""
        form, host = stand.reference.formulation, lender.make()
        return [np.array(theta, float) for _, theta in host.fit(self.problem, form, FURTHER * budget, self.seed)][-1]

    def contradicted(
        self, method: str, lender: Lender, theta: Floats, best: Reference
    ) -> tuple[tuple[str, ...], set[str]]:
        """The audits that contradict what the learner lends, and all that were made."""
        with np.errstate(all="ignore"):
            findings = audit(hooks_of(lender, best.formulation, self.problem), best)
        names = {each.name for each in findings if each.sentence}
        lent = {each.name for each in findings}
        if method == "dual-ascent" and lender.first is not None:
            report = Report(1.0, theta, {"dual": dual(lender.first, self.problem.width)})
            lent.add("dual")
            names |= {"dual"} if crosscheck([report], best, self.tolerance).rule in ("drift", "reported") else set()
        return tuple(sorted(names)), lent


def excess(sound: plain.Learner, theta: Floats, best: Reference) -> float:
    """(F(θ) − lower)/size, F by the tables of a sound learner."""
    with np.errstate(all="ignore"):
        value = float(sound.objective(theta))
    return best.excess(value)


def account(host: plain.Learner, history: list[tuple[float, Floats]]) -> float:  # after its first run
    """What the learner itself sees of its distance, relative to its own objective."""
    with np.errstate(all="ignore"):
        claim = float(host.claim())
        if np.isnan(claim):
            late, end = (host.objective(theta) for _, theta in history[-2:]) if len(history) > 1 else (np.inf, 0.0)
            claim = abs(late - end) / max(abs(end), 1e-300)
    return abs(claim) if np.isfinite(claim) else np.inf
