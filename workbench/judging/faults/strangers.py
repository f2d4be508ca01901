"""Judges the second catalogue: learners of other authors ("hosts") with faults planted without a look at the judge.

A run is a `Trial` of the words of judging/faults/trials.py. Each fault and each clean host is judged on the cases that
it applies to, with a share of the passes that the host needs: the judge's patience has to do the rest. The catalogue
says in its own words what a fault amounts to; NAMES lists, for each such effect, the explanations of the
detective that count as right. An empty list means that the detective does not know the effect, so that any confident
one is wrong. Hosts that are written by hand lend single steps; STEPS lists the audits that may contradict these where
a fault has the effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from workbench.judging.audits import audit
from workbench.judging.conventions.detective import Detective
from workbench.judging.faults.second import FAULTS, HOSTS
from workbench.judging.faults.second.contract import Case, Fault, Host
from workbench.judging.faults.second.examples import example
from workbench.judging.faults.second.measure import SHARE, installed
from workbench.judging.faults.trials import FOREVER, GAP, Trial
from workbench.judging.hooks import hooks_of
from workbench.judging.learners import Learner
from workbench.judging.patience import FURTHER
from workbench.judging.reference import Reference, reference_of
from workbench.judging.stand import Stand
from workbench.judging.words import DISAGREES, NOT_CONVERGED
from workbench.solving.solve import solve

LAMBDAS = ("λ twice", "λ half", "sum for mean", "mean twice", "weights not normalised", "mean over positions")
LAMBDAS += ("λ read as C", "λ read as C/n", "mean for sum", "λ")
LOSSES = ("likelihood loss", "hinge loss", "squared hinge", "slack rescaling", "unit loss", "loss half", "loss twice")
LOSSES += ("all rivals",)
SPLIT = ("one-vs-rest, hinge", "one-vs-rest, squared hinge", "one-vs-rest, likelihood")
CHANGED = ("standardised features", "scaled features", "normalised rows")
UNITS = ("centred features", "features divided by the largest value")
UNITS += ("features twice as large", "features half as large")
CHANGED += tuple(f"{name}, undone" for name in CHANGED[:2])
MIXED = tuple(f"{split}, {changed}" for split in SPLIT for changed in (*CHANGED, "balanced classes"))
ADDED = ("intercept added", "free intercept added", "intercept not penalised", "no intercept")
NAMES: dict[str, tuple[str, ...]] = {
    "regularisation constant": (*LAMBDAS, "loss half", "loss twice", "Gram matrix without λ"),
    "penalty": ("absolute penalty", "intercept not penalised", "transitions not penalised", "λ"),
    "loss function": (*LOSSES, *SPLIT, *MIXED),
    "one-vs-rest": (*SPLIT, *MIXED),
    "squared hinge": ("squared hinge", "one-vs-rest, squared hinge", *MIXED),
    "loss augmentation": ("no loss augmentation", "loss half", "loss twice", "length", "unit loss", "no cost matrix"),
    "length normalisation": ("length", "weight by length", "mean over positions", "terms by length"),
    "data used": (),
    "labels": (),
    "class weights": ("balanced classes", *MIXED),
    "sample weights": ("no sample weights", "weights not normalised", "weight by length"),
    "features": (*CHANGED, *UNITS, *MIXED, "zero weights", "unseen features", "no intercept"),
    "noise in the inputs": (),
    "intercept": ADDED,
    "transitions": ("no transitions", "transposed transitions", "zero weights", "ends added"),
    "padding": ("padding counted",),
    "constraint on the weights": ("zero weights", "λ"),
    "gradient": (),
    "argmax": ("no loss augmentation",),
    "dual feasibility": LAMBDAS,
    "step size": (),
    "early stopping": ("stops early",),
    "averaging": ("average from the start", "last iterate"),
    "arithmetic": (),
    "weights returned": ("feature-major layout", "labels permuted", "transposed transitions", "no transitions"),
}
STEPS: Mapping[str, tuple[str, ...]] = {"averaging": ("averaging",)} | dict.fromkeys(
    (
        *("loss function", "squared hinge", "loss augmentation", "length normalisation", "data used", "labels"),
        *("class weights", "sample weights", "features", "noise in the inputs", "transitions", "padding"),
        *("gradient", "argmax", "arithmetic"),
    ),
    ("oracle", "subgradient"),
)


class Strangers:
    """One case on the data of one seed: clean hosts and faults, judged on it."""

    def __init__(self, case: Case, seed: int, weighted: bool = False, tolerance: float = 1e-3):
        problem, formulation = example(case, seed, weighted=weighted)
        self.case, self.seed, self.tolerance = case, seed, tolerance
        self.detective = Detective(reference_of(solve(formulation, problem, gap=GAP)))

    def run(self, host: Host, fault: Fault | None = None) -> Trial:
        best, budget = self.detective.reference, max(1, host.passes // SHARE)
        fit = fault.fit if fault else host.fit
        stand = Stand(Learner(fault.name if fault else host.name, fit), best, patience=FOREVER)
        with np.errstate(all="ignore"):
            verdict, _ = stand.tried(budget, self.seed, self.tolerance)
            history = [(each.passes, each.theta) for each in stand.longer or stand.reports]
            known = None
            if verdict.verdict == DISAGREES and fault and history:
                known = self.detective.explain(history[-1][1], history)
            elif verdict.verdict == NOT_CONVERGED and verdict.rule != "feasibility" and len(history) > 1:
                known = self.detective.identity(history)
            longer = self.longer(stand, budget) if fault else np.nan
            findings = audit(hooks_of(fit, best.formulation, best.problem), best)
        told = DISAGREES if known else verdict.verdict
        end = best.excess(best.value(stand.reports[-1].theta)) if stand.reports else np.inf
        return Trial(
            fault=fault.name if fault else "",
            kind=", ".join(fault.amounts_to) if fault else "",
            method=host.name,
            family="-".join(filter(None, self.case)),
            case="",
            seed=self.seed,
            verdict=told,
            rule="identity" if told != verdict.verdict else verdict.rule,
            excess=end,
            accused=float(verdict.excess),
            longer=longer,
            tolerance=self.tolerance,
            gap=best.gap,
            accuracy=np.nan,
            account=np.nan,
            reason=verdict.reason,
            right=right(fault, {each.name for each in findings}) if fault else (),
            convention=known.name if known else "",
            confident=bool(known and known.confident),
            against=tuple(sorted(each.name for each in findings if each.sentence)),
            catalogue="second",
        )

    def longer(self, stand: Stand, budget: int) -> float:
        """The excess at four times the budget, of a fit of its own; ∞ where the learner returns no weights."""
        best: Reference = stand.reference
        try:
            reports, _ = stand.fitted(FURTHER * budget, self.seed)
        except (ArithmeticError, ValueError, TypeError):
            return np.inf  # a crash is harm, and its verdict `failed`
        return best.excess(best.value(reports[-1].theta))


def right(fault: Fault, lent: set[str]) -> tuple[str, ...]:
    """The explanations that are right about a fault, and the audits of what is `lent` that may contradict its steps."""
    told = [name for each in fault.amounts_to for name in NAMES[each]]
    told += [name for each in fault.amounts_to for name in STEPS.get(each, ()) if name in lent]
    return tuple(dict.fromkeys(told))


def hosts() -> list[str]:
    """The names of the clean hosts whose packages are here."""
    return [host.name for host in filter(installed, HOSTS)]


def strangers(
    name: str, seed: int, tolerance: float, planted: Callable[[str], bool], cases: int = 1
) -> Iterator[Trial]:
    """The runs of one clean host on all its cases, and of its `planted` faults, on the first `cases` of theirs."""
    here: dict[tuple[Case, bool], Strangers] = {}

    def judged(case: Case, host: Host, fault: Fault | None) -> Trial:
        weighted = fault is not None and "sample weights" in fault.amounts_to
        if (case, weighted) not in here:
            here[case, weighted] = Strangers(case, seed, weighted, tolerance)
        return here[case, weighted].run(host, fault)

    host = next(host for host in HOSTS if host.name == name)
    yield from (judged(case, host, None) for case in host.applies)
    for fault in FAULTS:
        if fault.host is host and planted(fault.name):
            yield from (judged(case, host, fault) for case in fault.applies[:cases])
