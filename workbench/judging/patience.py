"""Patience: the judge goes on instead of the user, before it accuses anybody by a history alone.

A history that ends above the optimum may be slow or wrong, and more of it tells. So where a verdict rests on the
history, and where its own trend leads a learner nowhere near the tolerance within ENOUGH times its passes, the learner
is asked for FURTHER times the passes, within a limit of time. Then

    disagrees       by history: it has ended or settled with the further passes, too, and these have not made its
                    excess FALL times smaller
    not converged   otherwise: it still falls, or the further passes bring it within the tolerance

The excess, the numbers and the passes of a verdict are always those of the budget that was asked for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.judging.settling import FALL, MOST
from workbench.judging.words import AGREES, DISAGREES, NOT_CONVERGED, Verdict

FURTHER = 4  # times the passes: two doublings more, the least in which a fall like t^−0.3 shows as FALL
ENOUGH = 4.0  # times the passes that a trend may need: then it is believed without being tried
PATIENCE, LEAST = 12.0, 2.0  # times the learner's own seconds, and seconds, that the further passes may take
BY_HISTORY = ("ended", "settled")  # rules that rest on a history
OPEN = ("history", "settled")  # rules of verdicts that a longer history may change


def allowed(patience: float | None, took: float) -> float:
    """Seconds that the further passes may take: as asked for, else a few times the learner's own."""
    return PATIENCE * took + LEAST if patience is None else patience


def waits(verdict: Verdict) -> bool:
    """Whether further passes are asked for."""
    if verdict.verdict == DISAGREES:
        return verdict.rule in BY_HISTORY
    if verdict.verdict != NOT_CONVERGED or verdict.rule not in OPEN or not np.isfinite(verdict.absolute):
        return False
    return not verdict.needed <= ENOUGH * verdict.evidence["passes"]


def heard(first: Verdict, further: Verdict) -> Verdict:
    """The verdict on the first history, now that the further one is known."""
    passes, longer = first.evidence["passes"], further.evidence.get("passes", np.nan)
    evidence = first.evidence | {"further_passes": longer, "further_excess": further.excess}
    told = first.reason.split(";")[0].rstrip(".") if first.verdict == NOT_CONVERGED else first.reason.rstrip(".")
    if further.verdict == AGREES:
        said = f"{told}; {longer:g} passes bring it within {further.evidence['threshold']:.1e}, so run it longer."
        return replace(first, verdict=NOT_CONVERGED, reason=said, evidence=evidence, rule="history", needed=longer)
    if further.verdict == DISAGREES and further.rule in BY_HISTORY and first.absolute < FALL * further.absolute:
        said = f"{told}; after {longer:g} passes it is {further.excess:.1e} above."
        if first.verdict == DISAGREES:
            return replace(first, reason=said, evidence=evidence)
        said = f"{further.reason.rstrip('.')}; after {passes:g} passes it was {first.excess:.1e} above."
        return replace(first, verdict=DISAGREES, reason=said, evidence=evidence, rule=further.rule, needed=np.inf)
    if further.verdict == DISAGREES and further.rule not in BY_HISTORY:
        return further
    said = f"{told}; {longer:g} passes bring it to {further.excess:.1e}, so it is not at its end: run it longer"
    said += f", at that rate about {further.needed:.2g} passes." if further.needed < MOST * longer else "."
    return replace(first, verdict=NOT_CONVERGED, reason=said, evidence=evidence, rule="history", needed=further.needed)


def exhausted(first: Verdict, seconds: float) -> Verdict:
    """The verdict where the further passes did not come in time: nobody is accused of what was not waited for."""
    told = first.reason.rstrip(".")
    said = f"{told}; {FURTHER} times the passes took more than the {seconds:.2g} s of patience, so nothing is decided."
    return replace(first, verdict=NOT_CONVERGED, reason=said, rule="history")
