"""Patience: further passes, before the judge accuses a learner by a history alone.

A learner whose history ends above the optimum may be slow or wrong, and a longer history tells which. Where a verdict
rests on the history, the judge asks the learner for FURTHER times the passes, within a limit of time; where these
would take long, only if the fitted trend does not reach the tolerance within ENOUGH times the passes. A single history
accuses nobody:

    disagrees       two histories, the second FURTHER times as long, say that the learner has ended or settled, and the
                    longer one ends with an excess between 1/LITTLE and FALL times that of the first (`alike`)
    not converged   it still falls, or the further passes bring it within the tolerance

`ruling` says after each longer history, of 4, 16, 64 times the passes, what stands and whether the next one is made:

    the learner had ended, and moved on (`moved_on`)        no accusation; no more passes
    each ends lower and moves farther than the one before   no accusation; the next is made
        (`under_way`), or the last three go straight on
        (`goes_on`)
    two histories that do not decide (`decides`)            nothing stands; the third is made
    two that do                                             their verdict
    three or more, the shorter ones accused                 the same verdict, unless the learner has left its place
                                                            (`leaves`)
    else three or more                                      what they say together (`given_two_longer`); the next is
                                                            made if they do not decide

Where passes cost little (`cheap`), a fall does not decide, and an accusation is confirmed by the next history, up to
FARTHEST of a learner that still moves, or is at work (`works_on`): rates that fall late, as those of AdaGrad where the
first gradients are huge, show in thousands of times the passes only. Up to LONGEST, the next one is made for a learner
at work in any case. Nobody is accused whose last two histories end ONGOING times lower each (`falls`).

Longer histories are made for a learner

    that settles with the further passes only, that jumps, or that settles lower each time: noise that falls like 1/t
        hides a limit of its size until there are more passes
    that falls, but no longer in the last doubling of the passes (`slackens`)
    whose weights stay the same while its seconds grow with the passes (`works_on`): one that returns the best weights
        it has seen may still be at work

and these histories accuse as well

    where neither of the two longest is FALL times better than the first (`unmoved`), 64 times the passes end higher
        than those asked for (`risen`), or the longest has ended where the one before did (`stopped`); and the learner
        stands (judging/verdicts.py, `standing`)
    where the two longest differ by less than a factor of LITTLE, and the weights stay within NEAR of their distance
        from the optimum (`calm`)
    where the steps go down F, but what they gain with each FURTHER times the passes shrinks so fast that they stop
        short of the optimum (judging/settling.py, `frozen`)

A learner that had ended by one history and moves on from there in a longer one may do so again: no rest of such a
learner accuses (`moved_on`, `resumed`).

The excess, the numbers and the passes of a verdict are always those of the budget that was asked for.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from workbench.judging.reference import Reference
from workbench.judging.reports import Report
from workbench.judging.settling import FALL, LITTLE, MOST, frozen, straight, went_on
from workbench.judging.verdicts import standing
from workbench.judging.words import AGREES, DISAGREES, NOT_CONVERGED, Verdict, far

FURTHER = 4  # times the passes: two doublings more, the least in which a fall like t^−0.3 shows as FALL
ENOUGH = 4.0  # times the passes that a trend may need: then it is believed without being tried
NEAR = 0.1  # of the way to the optimum: thrown about by chance, weights are a third of it and more from each other
STRIDE = 1.25  # times the way of the weights: small steps c/t^0.75 go 1.41 times as far in FURTHER times the passes
ONGOING = 1.03  # times lower: an excess like t^−0.02 falls as much in FURTHER times the passes
WORKING = 2.0  # times the seconds, from which a learner counts as at work for FURTHER times the passes
PATIENCE, LEAST = 30.0, 2.0  # times the learner's own seconds, and seconds, that the further passes may take
SAME = 1.01  # times an excess, within which another one reads the same
OUTRUN = 1.5  # times lower than a rate has it, from which further passes contradict the rate
BY_HISTORY = ("ended", "settled")  # rules that rest on a history
OPEN = ("history", "settled")  # rules of verdicts that a longer history may change
LONGEST = 4  # histories: of 1, 4, 16 and 64 times the passes
FARTHEST = 8  # histories, up to 16,384 times the passes, where an accusation is to be confirmed


class Try(NamedTuple):
    """One history: its reports, the verdict on them alone, and the seconds of its fit."""

    reports: list[Report]
    verdict: Verdict
    took: float


class Ruling(NamedTuple):
    """The verdict on all histories so far, None if they decide nothing; and whether a longer one is to be made.

    A verdict for which a longer history is made stands if that history does not come in time.
    """

    verdict: Verdict | None
    asks: bool = False


def ruling(tries: list[Try], reference: Reference, tolerance: float, shorter: Verdict | None = None) -> Ruling:
    """What two histories or more say together, each with FURTHER times the passes of the one before.

    shorter : what they said together without the last one
    """
    found = said_together(tries, reference, tolerance, shorter)
    if found.verdict and by_history(found.verdict) and falls(tries[-3:], ONGOING):
        told = given_longer(tries[0].verdict, not_accused(tries[-1].verdict))
        return Ruling(told, len(tries) < LONGEST or confirmable(tries))
    return found


def said_together(tries: list[Try], reference: Reference, tolerance: float, shorter: Verdict | None) -> Ruling:
    """`ruling`, but for who still falls."""
    first, before, last = (each.verdict for each in (tries[0], *tries[-2:]))
    if moved_on(*tries[-2:]):
        return Ruling(given_longer(first, not_accused(last)))
    if under_way(tries[-LONGEST:]) or goes_on(tries[-3:]):
        return Ruling(given_longer(first, not_accused(last)), len(tries) < LONGEST or confirmable(tries))
    if len(tries) == 2:
        if not decides(first, last, tries[1].took):
            return Ruling(None, asks=True)
        told = given_longer(first, last)
        return Ruling(told, works_on(*tries) or (by_history(told) and confirmable(tries)))
    open_yet = "excused" in last.evidence or any(map(works_on, tries[-3:], tries[-2:]))
    if shorter and by_history(shorter) and not open_yet:
        told = given_longer(first, not_accused(last)) if leaves(first, before, last) else confirmed(shorter, last)
        return Ruling(told, by_history(told) and confirmable(tries))
    stuck = unmoved(first, before, last) or stopped(*tries[-2:])
    stuck |= len(tries) >= LONGEST and risen(first, last)
    judged = standing(tries[-1].reports, reference, tolerance) if stuck else last
    told = given_two_longer(first, before, judged, stuck)
    if "excused" in judged.evidence and frozen([each.reports[-1].theta for each in tries[-3:]], reference.theta):
        told = stops_short(first, judged)
    if by_history(told) and confirmable(tries):
        return Ruling(told, asks=True)
    decided = by_history(told) or decides(before, last, tries[-1].took) or resumed(first, before, last)
    return Ruling(told, len(tries) < LONGEST and (not decided or works_on(*tries[-2:])))


def allowed(patience: float | None, took: float) -> float:
    """Seconds that the further passes may take: as asked for, else a few times the learner's own."""
    return PATIENCE * took + LEAST if patience is None else patience


def waits(verdict: Verdict, took: float = np.inf) -> bool:
    """Whether further passes are asked for; a trend that reaches the tolerance soon is tried where a fit costs little.

    took : seconds of the fit
    """
    if verdict.verdict == DISAGREES:
        return verdict.rule in BY_HISTORY
    if verdict.verdict != NOT_CONVERGED or verdict.rule not in OPEN or not np.isfinite(verdict.absolute):
        return False
    passes = verdict.evidence.get("passes")  # none over a text, whose histories accuse nobody (judging/programs.py)
    return passes is not None and (cheap(took) or not verdict.needed <= ENOUGH * passes)


def by_history(verdict: Verdict) -> bool:
    """Whether the verdict accuses by a history alone."""
    return verdict.verdict == DISAGREES and verdict.rule in BY_HISTORY


def given_longer(first: Verdict, further: Verdict) -> Verdict:
    """The verdict on the first history, given the further one."""
    longer = further.evidence.get("passes", np.nan)
    evidence = first.evidence | {"further_passes": longer, "further_excess": further.excess}
    if further.verdict == DISAGREES and not by_history(further):
        return further
    if by_history(first) and by_history(further) and alike(first, further):
        said = f"{first.fact}; after {longer:g} passes it is {further.excess:.1e} above."
        return replace(first, reason=said, evidence=evidence)
    told = first.fact
    if by_history(first) or first.rule == "settled":
        told = paused(first) if "ended" in first.evidence and further.verdict != DISAGREES else seemed(first)
    elif outrun(first, further):
        told = f"{far(first.excess, first.absolute)} after {first.evidence['passes']:g} passes"
    said, need = f"{told}; {longer:g} passes ", further.needed
    if further.verdict == AGREES:
        said, need = f"{said}bring it within {further.evidence['threshold']:.1e}, so run it longer.", longer
    elif further.absolute > SAME * first.absolute:
        said += f"end higher, {further.excess:.1e} above; this decides nothing: run it longer, or change its steps."
    elif further.absolute * LITTLE > first.absolute:
        said += f"leave it {further.excess:.1e} above; this decides nothing: run it longer, or change its steps."
    else:
        said += f"bring it to {further.excess:.1e}, so it is not at its end: run it longer"
        said += f", at its latest rate about {need:.2g} passes." if need < MOST * longer else "."
    return replace(first, verdict=NOT_CONVERGED, reason=said, evidence=evidence, rule="history", needed=need, fact=told)


def outrun(first: Verdict, further: Verdict) -> bool:
    """Whether the further passes lead OUTRUN times lower than the rate at which the first history falls."""
    power = first.evidence.get("power", 0.0)
    ratio = further.evidence.get("passes", np.nan) / first.evidence.get("passes", np.nan)
    return bool(power > 0 and further.absolute * OUTRUN < first.absolute * ratio**-power)


def paused(verdict: Verdict) -> str:
    """The fact of a verdict on a learner that seemed to have ended, and moved on in a longer history."""
    since, passes = verdict.evidence["ended"], verdict.evidence["passes"]
    here = f"its weights are the same from pass {since:g} to pass {passes:g}"
    return f"{far(verdict.excess, verdict.absolute)}, and its weights pause there: {here}"


def seemed(verdict: Verdict) -> str:
    """The fact of a verdict on a learner that had settled by one history, and not by a longer one."""
    return f"{far(verdict.excess, verdict.absolute)} and seemed settled after {verdict.evidence['passes']:g} passes"


def alike(first: Verdict, further: Verdict) -> bool:
    """Whether the further passes left the excess where it was: what falls by less than LITTLE may also jump by FALL."""
    return first.absolute < LITTLE * further.absolute and further.absolute < FALL * first.absolute


def decides(first: Verdict, further: Verdict, took: float = np.inf) -> bool:
    """Whether the further passes decide: both histories accuse alike, or the learner arrives, or falls to the end.

    Where many more passes cost little, a fall decides nothing: what falls may yet settle.
    took : seconds of the further passes
    """
    if further.verdict == AGREES or (further.verdict == DISAGREES and not by_history(further)):
        return True
    if by_history(first) and by_history(further) and alike(first, further):
        return True
    falls = further.absolute * FALL <= first.absolute and not by_history(further) and not slackens(further)
    return falls and not cheap(took)


def cheap(took: float) -> bool:
    """Whether FURTHER times the passes that took so many seconds are made before anybody is accused."""
    return FURTHER * took <= LEAST


def confirmable(tries: list[Try]) -> bool:
    """Whether an accusation is to be confirmed by the next history: passes cost little, and the learner goes on."""
    rests = tries[-1].verdict.rule == "ended" and not works_on(*tries[-2:])
    most = LONGEST if rests else FARTHEST
    return cheap(tries[-1].took) and len(tries) < most


def leaves(first: Verdict, before: Verdict, last: Verdict) -> bool:
    """Whether a learner that is accused has left its place with more passes: below the first history's end, too."""
    return last.verdict == AGREES or last.absolute * FALL <= min(first.absolute, before.absolute)


def confirmed(accused: Verdict, last: Verdict) -> Verdict:
    """The accusation, with what the last history left."""
    passes = last.evidence["passes"]
    evidence = accused.evidence | {"further_passes": passes, "further_excess": last.excess}
    said = f"{accused.fact}; after {passes:g} passes it is {last.excess:.1e} above."
    return replace(accused, reason=said, evidence=evidence)


def stops_short(first: Verdict, last: Verdict) -> Verdict:
    """The verdict on a learner whose steps go down F and freeze (judging/settling.py, `frozen`)."""
    told = fact_of_longer(last)
    said = f"{told}; four times the passes bring less of the way than the four times before, so it stops short of the "
    said += f"optimum; the {first.evidence['passes']:g} asked for end {first.excess:.1e} above."
    evidence = first.evidence | {"further_passes": last.evidence["passes"], "further_excess": last.excess}
    return replace(first, verdict=DISAGREES, reason=said, evidence=evidence, rule="settled", needed=np.inf, fact=told)


def fact_of_longer(verdict: Verdict) -> str:
    """The fact of a verdict on a longer history, as the beginning of a sentence."""
    return f"After {verdict.evidence['passes']:g} passes {verdict.fact[:1].lower()}{verdict.fact[1:]}"


def works_on(shorter: Try, longer: Try) -> bool:
    """Whether weights that stayed the same cost more seconds with more passes."""
    resting = shorter.verdict.rule == longer.verdict.rule == "ended"
    return resting and longer.took >= WORKING * shorter.took


def moved_on(shorter: Try, longer: Try) -> bool:
    """Whether a learner that had ended by the shorter history was there in the longer one, too, and went on."""
    return shorter.verdict.rule == "ended" and went_on(shorter.reports, longer.reports)


def under_way(tries: list[Try]) -> bool:
    """Whether each history ends lower than the one before, and its weights move STRIDE times as far, or more.

    Small steps that add up do so: with rates c/√t the weights go twice as far in four times the passes. What
    settles moves less, and what chance throws about as far as before.
    """
    ends = [(each.verdict.absolute, each.verdict.evidence.get("roaming", np.nan)) for each in tries]
    return all(low < high and far >= STRIDE * near for (high, near), (low, far) in itertools.pairwise(ends))


def goes_on(tries: list[Try]) -> bool:
    """Whether three histories end lower and lower, and the weights go straight on between their ends."""
    return falls(tries) and straight(*(each.reports[-1].theta for each in tries))


def falls(tries: list[Try], times: float = 1.0) -> bool:
    """Whether each of the last two of three histories ends lower, and so many times or more, than the one before."""
    ends = [each.verdict.absolute for each in tries]
    return len(ends) == 3 and ends[0] > ends[1] > ends[2] and min(ends[0] / ends[1], ends[1] / ends[2]) >= times


def slackens(verdict: Verdict) -> bool:
    """Whether the last doubling of the passes brought next to nothing, on a way that is long yet."""
    return waits(verdict) and not by_history(verdict) and verdict.evidence.get("doubling", np.inf) < LITTLE


def calm(second: Verdict, last: Verdict) -> bool:
    """Whether all of the second's four times as many passes left the excess where it was, and the weights, too."""
    steady = max(second.absolute / last.absolute, last.absolute / second.absolute) < LITTLE
    return by_history(last) and steady and last.evidence.get("roaming", np.inf) < NEAR


def not_accused(further: Verdict) -> Verdict:
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


def risen(first: Verdict, last: Verdict) -> bool:
    """Whether 64 times the passes end higher than those asked for: sound methods that jump fall on the whole."""
    return last.verdict != AGREES and last.absolute > first.absolute


def stopped(shorter: Try, longer: Try) -> bool:
    """Whether the longer history, and no shorter one, tells that the learner has ended, and cost no more seconds."""
    ends = shorter.verdict.absolute, longer.verdict.absolute
    new = longer.verdict.rule == "ended" != shorter.verdict.rule
    return new and max(ends) <= SAME * min(ends) and longer.took < WORKING * shorter.took


def given_two_longer(first: Verdict, second: Verdict, last: Verdict, stuck: bool = False) -> Verdict:
    """The verdict on a history that two longer ones follow; `stuck` if these are no better than one before."""
    settled = (by_history(second) and by_history(last) and alike(second, last)) or calm(second, last)
    accused = settled or (by_history(last) and stuck)
    if resumed(first, second, last) or not accused:
        return given_longer(first, not_accused(last))
    evidence = first.evidence | {"further_passes": last.evidence["passes"], "further_excess": last.excess}
    if by_history(first):
        fact, rest = first.fact, f"after {last.evidence['passes']:g} passes it is {last.excess:.1e} above"
    else:
        fact, rest = fact_of_longer(last), f"the {first.evidence['passes']:g} asked for end {first.excess:.1e} above"
    told = {"reason": f"{fact}; {rest}.", "fact": fact, "evidence": evidence}
    return replace(first, verdict=DISAGREES, rule=last.rule, needed=np.inf, **told)


def exhausted(first: Verdict, seconds: float) -> Verdict:
    """`not converged`: the further passes did not come in time, so the history decides nothing."""
    told = first.reason.rstrip(".")
    said = f"{told}; further passes took more than the {seconds:.2g} s of patience, so nothing is decided."
    return replace(first, verdict=NOT_CONVERGED, reason=said, rule="history")
