"""Patience: further passes, before the judge accuses a learner by a history alone.

A learner whose history ends above the optimum may be slow or wrong, and a longer history tells which. Where a verdict
rests on the history, and the fitted trend does not reach the tolerance within ENOUGH times the passes, the judge asks
the learner for FURTHER times the passes, within a limit of time. A single history accuses nobody:

    disagrees       two histories, the second FURTHER times as long, say that the learner has ended or settled, and the
                    longer one leads less than LITTLE times lower, and less than FALL times higher. A learner that
                    settles with the further passes only, or that jumps, or that settles lower each time, is asked for
                    FURTHER times as many once more. Or neither of the two longer
                    ones is FALL times better, and the learner stands (judging/verdicts.py, `standing`). Or the first
                    was too short to tell, and the two longer ones, of which the second says so, differ by less than
                    a factor of LITTLE, while the weights stay within NEAR of their distance from the optimum: whoever
                    falls, but no longer in the last doubling of the passes, is asked once more as well, and so is a
                    learner whose weights are the same while its time grows with the passes: one that returns the
                    best weights it has seen may still be at work. What 4 and 16 times the passes leave open, 16
                    and 64 times decide in the same way: noise that falls like 1/t hides a limit of its size.
                    Or the steps go down F, and their gains with 4 and 16 times the passes, or with 16 and 64,
                    shrink so fast that they stop short (judging/settling.py, `frozen`). Where 16 times the passes
                    take at most LEAST seconds, they are made before two histories accuse, and must not lead FALL
                    times lower
    not converged   otherwise: it still falls, or the further passes bring it within the tolerance, or it had ended by
                    one history and moved on from there in a longer one: it may do so again

The excess, the numbers and the passes of a verdict are always those of the budget that was asked for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.judging.settling import FALL, LITTLE, MOST
from workbench.judging.words import AGREES, DISAGREES, NOT_CONVERGED, Verdict

FURTHER = 4  # times the passes: two doublings more, the least in which a fall like t^−0.3 shows as FALL
ENOUGH = 4.0  # times the passes that a trend may need: then it is believed without being tried
NEAR = 0.1  # of the way to the optimum: thrown about by chance, weights are a third of it and more from each other
WORKING = 2.0  # times the seconds, from which a learner counts as at work for FURTHER times the passes
PATIENCE, LEAST = 30.0, 2.0  # times the learner's own seconds, and seconds, that the further passes may take
SAME = 1.01  # times an excess, within which another one reads the same
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


def by_history(verdict: Verdict) -> bool:
    """Whether the verdict accuses by a history alone."""
    return verdict.verdict == DISAGREES and verdict.rule in BY_HISTORY


def heard(first: Verdict, further: Verdict) -> Verdict:
    """The verdict on the first history, given the further one."""
    longer = further.evidence.get("passes", np.nan)
    evidence = first.evidence | {"further_passes": longer, "further_excess": further.excess}
    told = first.reason.split(";")[0].rstrip(".")
    if further.verdict == DISAGREES and not by_history(further):
        return further
    if further.verdict != DISAGREES:
        told = told.replace("it stops by itself there", "its weights pause there")
    if by_history(first) and by_history(further) and alike(first, further):
        said = f"{told}; after {longer:g} passes it is {further.excess:.1e} above."
        return replace(first, reason=said, evidence=evidence)
    said, need = f"{told}; {longer:g} passes ", further.needed
    if further.verdict == AGREES:
        said, need = f"{said}bring it within {further.evidence['threshold']:.1e}, so run it longer.", longer
    elif further.absolute > first.absolute / SAME:
        rises = further.absolute > SAME * first.absolute
        said += f"{'end' if rises else 'leave it'} {further.excess:.1e} above: "
        said += "it may be on its way all the same; run it longer, or change its steps."
    else:
        said += f"bring it to {further.excess:.1e}, so it is not at its end: run it longer"
        said += f", at that rate about {need:.2g} passes." if need < MOST * longer else "."
    return replace(first, verdict=NOT_CONVERGED, reason=said, evidence=evidence, rule="history", needed=need)


def alike(first: Verdict, further: Verdict) -> bool:
    """Whether the further passes left the excess where it was: what falls by less than LITTLE may also jump by FALL."""
    return first.absolute < LITTLE * further.absolute and further.absolute < FALL * first.absolute


def enough(first: Verdict, further: Verdict) -> bool:
    """Whether the further passes decide: both histories accuse alike, or the learner arrives, or falls to the end."""
    if further.verdict == AGREES or (further.verdict == DISAGREES and not by_history(further)):
        return True
    if by_history(first) and by_history(further) and alike(first, further):
        return True
    return further.absolute * FALL <= first.absolute and not by_history(further) and not slackens(further)


def cheap(took: float) -> bool:
    """Whether FURTHER times the passes that took so many seconds are made before anybody is accused."""
    return FURTHER * took <= LEAST


def leaves(second: Verdict, last: Verdict) -> bool:
    """Whether a learner that two histories accuse has left that place with FURTHER times as many passes."""
    return last.verdict == AGREES or last.absolute * FALL <= second.absolute


def stops_short(first: Verdict, last: Verdict) -> Verdict:
    """The verdict on a learner whose steps go down F and freeze (judging/settling.py, `frozen`)."""
    passes, after = last.evidence["passes"], last.reason.split(";")[0].rstrip(".")
    said = (
        f"After {passes:g} passes {after[:1].lower()}{after[1:]}; four times the passes bring less of the way than the "
    )
    said += f"four times before, so it stops short of the optimum; the {first.evidence['passes']:g} asked for end "
    said += f"{first.excess:.1e} above."
    evidence = first.evidence | {"further_passes": passes, "further_excess": last.excess}
    return replace(first, verdict=DISAGREES, reason=said, evidence=evidence, rule="settled", needed=np.inf)


def works_on(first: Verdict, further: Verdict, spent: float, more: float) -> bool:
    """Whether weights that stayed the same cost `more` seconds than the `spent` ones of fewer passes."""
    return first.rule == further.rule == "ended" and more >= WORKING * spent


def slackens(verdict: Verdict) -> bool:
    """Whether the last doubling of the passes brought next to nothing, on a way that is long yet."""
    return waits(verdict) and not by_history(verdict) and verdict.evidence.get("doubling", np.inf) < LITTLE


def calm(second: Verdict, last: Verdict) -> bool:
    """Whether all of the second's four times as many passes left the excess where it was, and the weights, too."""
    steady = max(second.absolute / last.absolute, last.absolute / second.absolute) < LITTLE
    return by_history(last) and steady and last.evidence.get("roaming", np.inf) < NEAR


def opened(further: Verdict) -> Verdict:
    """The verdict on a longer history of a learner that had ended and moved again: no rest of its accuses."""
    return replace(further, verdict=NOT_CONVERGED) if by_history(further) else further


def resumed(first: Verdict, second: Verdict, last: Verdict) -> bool:
    """Whether weights that had ended, by two histories, moved again."""
    return first.rule == second.rule == "ended" != last.rule


def unmoved(first: Verdict, second: Verdict, last: Verdict) -> bool:
    """Whether neither four nor sixteen times the passes divided the excess by FALL, though no curve has settled."""
    settled = by_history(second) and by_history(last) and alike(second, last)
    return (
        not (settled or resumed(first, second, last))
        and last.verdict != AGREES
        and min(second.absolute, last.absolute) * FALL > first.absolute
    )


def late(first: Verdict, second: Verdict, last: Verdict) -> Verdict:
    """The verdict on a history that two longer ones follow."""
    told, passes = first.reason.split(";")[0].rstrip("."), last.evidence.get("passes", np.nan)
    settled = (by_history(second) and by_history(last) and alike(second, last)) or calm(second, last)
    if resumed(first, second, last):
        return heard(first, opened(last))
    if not (settled or (by_history(last) and unmoved(first, second, last))):
        return heard(first, opened(last))
    evidence = first.evidence | {"further_passes": passes, "further_excess": last.excess}
    after = last.reason.split(";")[0].rstrip(".")
    said = f"After {passes:g} passes {after[:1].lower()}{after[1:]}; "
    said += f"the {first.evidence['passes']:g} asked for end {first.excess:.1e} above."
    if by_history(first):
        said = f"{told}; after {passes:g} passes it is {last.excess:.1e} above."
    return replace(first, verdict=DISAGREES, reason=said, evidence=evidence, rule=last.rule, needed=np.inf)


def exhausted(first: Verdict, seconds: float) -> Verdict:
    """`not converged`: the further passes did not come in time, so the history decides nothing."""
    told = first.reason.rstrip(".")
    said = f"{told}; further passes took more than the {seconds:.2g} s of patience, so nothing is decided."
    return replace(first, verdict=NOT_CONVERGED, reason=said, rule="history")
