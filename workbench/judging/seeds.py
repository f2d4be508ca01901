"""Several seeds, one verdict: the rule of judging/judge.py's docstring."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from workbench.judging.words import AGREES, DISAGREES, FAILED, NOT_COMPARABLE, NOT_CONVERGED, Verdict

CHANCE = ("rate", "settled", "ended")  # rules whose evidence a clean learner might meet by bad luck


@dataclass(frozen=True)
class Run:
    """One seed's verdict, the rule behind it, the relative excess, and the seconds of the fit."""

    seed: int
    verdict: str
    excess: float
    rule: str
    seconds: float


def together(verdicts: list[Verdict]) -> Verdict:
    """The verdict on all runs, by the rule in the docstring of judging/judge.py.

    If several runs fail, are accused or cannot be compared, the verdict is that of the first of these; else that of the
    run with the largest excess.
    """
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
