"""Kin: problems related to the reference, with known optima (judging/relations.py). A learner is judged on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.judging.reference import Reference
from workbench.judging.relations import changed_settings, described, related
from workbench.judging.seeds import CHANCE, Run
from workbench.judging.share import Allowance
from workbench.judging.stand import Stand
from workbench.judging.verdicts import crosscheck
from workbench.judging.words import AGREES, DISAGREES, FAILED, NOT_CONVERGED, Verdict
from workbench.solving.solve import solve

CHEAP = 0.1  # seconds
SLOW = 5.0  # seconds; a first fit imports packages, too, so that another one below this tells whether it is cheap
READ = {"duplicate": "`problem.n_samples`", "split": "`problem.weights`", "loss": "the losses of `problem`"}
RELAXED = 10.0  # times the tolerance, for related problems: a rule for stopping may suit them less


def judged_on_relations(
    stand: Stand,
    verdict: Verdict,
    audit: bool | None,
    passes: int,
    runs: Sequence[Run],
    tolerance: float,
    rest: Allowance,
) -> Verdict:
    """The verdict after the relations, where they are asked for or cost next to nothing."""
    if audit or (audit is None and cheap(stand, verdict, passes, runs)):
        return judged_on_relatives(stand, verdict, passes, runs[0].seed, tolerance, rest)
    return verdict


def cheap(stand: Stand, verdict: Verdict, passes: int, runs: Sequence[Run]) -> bool:
    """Whether relations cost next to nothing; a remark if they do not."""
    if stand.learner.ours or verdict.verdict != AGREES or not stand.reference.certified:
        return False
    took = min(each.seconds for each in runs)
    if CHEAP <= took < SLOW:
        took = stand.fitted(passes, runs[0].seed)[1]
    if took >= CHEAP and next(related(stand.reference), None):
        told = f"It was not judged on related problems, since a fit takes {took:.2g} s"
        stand.remarks.append(f"{told}; --audit judges it on them, too.")
    return took < CHEAP


def judged_on_relatives(
    stand: Stand, verdict: Verdict, passes: int, seed: int, tolerance: float, rest: Allowance
) -> Verdict:
    """The verdict after the learner was judged on each related reference, too, until `rest` is spent."""
    if not stand.reference.certified:
        return verdict
    held = 0
    for name, reference in related(stand.reference):
        if rest.left <= 0:
            stand.remarks.append(f"It was not judged under the relation {name} and what follows: --seconds is spent.")
            break
        with stand.beside(reference) as there:
            other, excused = on_relative(there, passes, seed, RELAXED * tolerance)
        if excused:
            assert reference.beyond is not None  # else nobody is excused
            what = reference.beyond.what
            ends = "failed there" if other.verdict == FAILED else f"ignored them ({other.excess:.1e} above the optimum)"
            stand.remarks.append(
                f"The judge also ran the learner on a copy of this problem with {what} (relation {name}), and the "
                f"learner {ends}; the verdict does not count this run. If `fit` does not support {what}, let `fit` "
                "raise workbench.MissingCapability."
            )
        elif other.verdict in (DISAGREES, FAILED):
            on = f"On {described(name, stand.reference, reference)} (relation {name})"
            reason = f"{on}: {other.reason[0].lower()}{other.reason[1:]}"
            if verdict.verdict == AGREES:
                reason += agreeing(verdict.excess, read_by(name, stand.reference, reference))
            evidence = verdict.evidence | other.evidence
            return Verdict(DISAGREES, other.excess, reason, evidence, f"relation: {name}")
        else:
            held += 1
    return replace(verdict, evidence=verdict.evidence | {"relations": held})


def agreeing(excess: float, reads: str) -> str:
    """That a learner is right on the problem itself, and what its `fit` must read to be right on the changed one."""
    fix = f"let `fit` read {reads}, or judge it on this problem alone by audit=False of `judge`"
    return f" It agrees on the problem itself (excess {excess:.1e}); {fix}."


def read_by(relation: str, reference: Reference, changed: Reference) -> str:
    """What a right `fit` reads of its arguments that the relation changes."""
    settings = [f"`formulation.{key}`" for key in changed_settings(reference, changed)]
    return " and ".join([*settings, READ.get(relation, "all of the `problem` that it is given")])


def on_relative(stand: Stand, passes: int, seed: int, tolerance: float) -> tuple[Verdict, bool]:
    """The verdict on a related problem, and an excuse: the answer is right for the problem without the new feature."""
    form, beyond = stand.reference.formulation, stand.reference.beyond
    if beyond is None:
        return twice(stand, passes, seed, tolerance), False
    other, _ = stand.tried(passes, seed, tolerance, ways=False)
    if other.verdict not in (DISAGREES, NOT_CONVERGED):
        return other, other.verdict == FAILED
    without = solve(form, beyond.without, gap=tolerance / 3)
    if crosscheck(stand.reports, without, tolerance).verdict == AGREES:
        return other, True
    other = twice(stand, passes, seed, tolerance)
    excused = other.verdict == DISAGREES and crosscheck(stand.reports, without, tolerance).verdict != DISAGREES
    return other, excused


def twice(stand: Stand, passes: int, seed: int, tolerance: float) -> Verdict:
    """The verdict on one fit; if chance may have accused it, the verdict on a second fit that does not accuse."""
    one, _ = stand.tried(passes, seed, tolerance)
    if one.verdict == DISAGREES and one.rule in CHANCE:
        two, _ = stand.tried(passes, seed + 1, tolerance)
        return one if two.verdict == DISAGREES else two
    return one
