"""Planted bugs: how many faults in learners the cross-check finds, and how often it accuses a sound one.

Learners written from scratch (workbench/judging/faults/) get one fault at a time, are run on small random problems, and
are judged against the proven optimum as `judge` judges, with all the patience it asks for. What harmful, found, sound
and wrong mean stands in workbench/judging/faults/trials.py. Beside the judge,

    plain rule     `excess above t` accuses: for every t the share of harmful runs found, and of sound runs accused
    by_accuracy    a fault shows in the training accuracy: more than 2 points below that of the sound learner
    by_account     it shows in what the learner itself can see: its own duality gap, or the gradient of its own
                   likelihood, or by how much its own objective still changed in the last half of its passes, above T

A second catalogue, of faults written without a look at the judge (workbench/judging/faults/second/), is judged on data
of its own and has a line of its own.

The sound learners are judged on the same problems and on harder ones (λ from 1e-4 to 1e2, features scaled by 1e-2 to
1e2, few passes, three to five samples, many classes, duplicates, collinear columns), each hard case on problems of
its own: no problem is used twice. `bugs=none` judges sound learners only.

A campaign is run in pieces: with `kept=FILE` every problem's runs are appended to the file, and what it holds is not
run again; more files after a comma are read, too. `seeds=0` only sums them up.

**Evidence.** Each fault says what it amounts to: conventions and audits, or nothing beyond its excess. An accused run
is explained by judging/conventions/ from its weights and by judging/audits.py from the steps that it lends. A run has a
cause to name if its fault amounts to a convention, or to an audit of what it lends, and is

    named        one of its own is said;    told  with confidence: audits are certain, conventions may be
    guessed      none of its own is, but another convention, without confidence
    wrong        anything that is none of its own, with confidence: then it is not found, whatever its excess
    unnamed      else
"""

from __future__ import annotations

import json
import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, fields
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import BadInput, checked_positive, checked_whole
from workbench.judging.faults.first import FAULTS
from workbench.judging.faults.problems import HARD, HOSTS, hard_cases
from workbench.judging.faults.strangers import hosts, strangers
from workbench.judging.faults.trials import Bench, Trial
from workbench.registries import load_file, registry

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")

POINTS = 0.02
TARGET = 0.95
SHOWN = 40  # records on the way
SECOND = "second"  # in a family's place: the second catalogue
NONE = "none"  # in a bug's place: sound learners only
STRIDE = 100_000  # between the seeds of one hard case and those of the next
THRESHOLDS = tuple(10.0**k for k in np.arange(-3.0, 1.01, 0.5))  # of the plain rule


Task = tuple[str, int, str]


def work(
    first_seed: int, seeds: int, hard: int, families: Iterable[str], cases: Iterable[str] = HARD
) -> Iterator[Task]:
    """(family, seed, case) of all problems; of the second catalogue (SECOND, seed, host)."""
    for family in families:
        usual = hosts() if family == SECOND else [""]
        yield from ((family, first_seed + seed, name) for seed in range(seeds) for name in usual)
        for place, case in enumerate(hard_cases(family) if family != SECOND else (), 1):
            yield from ((family, first_seed + place * STRIDE + seed, case) for seed in range(hard) if case in cases)


def done(task: Task, tolerance: float, bugs: str) -> list[Trial]:
    """All runs on one problem: the sound learners, and without a hard case the bugs."""
    family, seed, case = task
    if family == SECOND:
        return list(strangers(case, seed, tolerance, lambda name: planted(name, bugs)))
    bench = Bench(family, seed, case, tolerance)
    runs = [bench.run(method) for method in HOSTS[family]]
    if not case:
        chosen = [each for each in FAULTS if planted(each.name, bugs)]
        pairs = ((each, method) for each in chosen for method, host in each.pairs() if host == family)
        runs += [bench.run(method, each) for each, method in pairs]
    return runs


def planted(name: str, bugs: str) -> bool:
    return bugs != NONE and bugs in name


def planted_bugs(
    seeds: int = 1,
    hard: int = 1,
    first_seed: int = 0,
    tolerance: float = 1e-3,
    processes: int = 2,
    only: str = "",
    bugs: str = "",
    cases: str = "",
    kept: str = "",
) -> Iterator[dict[str, Any]]:
    """Detection and false alarms over `seeds` random problems a family and `hard` hard ones a case and family.

    After each problem a record of the runs so far.

    catalogues      one row each: the first, and the second, on one problem a case
    first_seed      of the problems; hard cases count from there in strides of 100,000, so that none is used twice
    only            families, with commas (none: all), `second` for the second catalogue
    bugs            a part of the names of the bugs to plant (none: all); `none` for no bug
    cases           hard cases, with commas (none: all)
    processes       1: no process but this one
    kept            files of runs, with commas: they count, and are not run again; the first gets what is run
    runs            with a bug;  harmful : of them
    detection       share of harmful runs that are found, audits included;  detection_by_weights : without audits;
                    each with its exact 95 % interval; the same by kind and by family
    with_cause      harmful runs accused rightly whose fault amounts to a convention or an audit; shares of them:
                    named, told, guessed
    wrong           runs of which something is claimed with confidence that is not so
    by_accuracy, by_account   share that shows in the accuracy, in the learner's own account
    false_alarms    of sound_runs, on `datasets` problems, with the exact interval of their share;  alarms : which;
                    sound_agree : share of sound runs, hard ones too, that agree
    cases           the same for every hard case;  roc : the plain rule, one row a threshold
    failed          1 if there is a false alarm, or if less than 95 % of the harmful runs are found
    """
    files = [Path(name) for name in settings.listed(kept)]
    checked_whole(0 if files else 1, seeds=seeds)
    checked_whole(1, processes=processes)
    checked_whole(0, hard=hard, first_seed=first_seed)
    checked_positive(tolerance=tolerance)
    if bugs != NONE and not any(bugs in each.name for each in FAULTS):
        raise BadInput(f"No bug's name has {bugs!r} in it; write for example bugs=loss.")
    if max(seeds, hard) > STRIDE:
        raise BadInput(f"There are at most {STRIDE} seeds a case; go on with first_seed={first_seed + 20 * STRIDE}.")
    before = read(files)
    families, among = settings.chosen(only, [*HOSTS, SECOND], "family"), settings.chosen(cases, HARD, "hard case")
    tasks = [task for task in work(first_seed, seeds, hard, families, among) if task not in before]
    runs = [run for some in before.values() for run in some]
    if not tasks:
        yield summary(runs)
    for count, (task, some) in enumerate(zip(tasks, results(tasks, tolerance, bugs, processes), strict=True), 1):
        runs += some
        keep(files, task, some)
        if count * SHOWN // len(tasks) > (count - 1) * SHOWN // len(tasks):
            yield {"finished": f"{count} of {len(tasks)} problems"} | summary(runs)


def keep(files: list[Path], task: Task, runs: list[Trial]) -> None:
    """One line more in the first file."""
    if files:
        with files[0].open("a", encoding="utf-8") as file:
            file.write(json.dumps({"task": task, "runs": [asdict(run) for run in runs]}) + "\n")


def read(files: list[Path]) -> dict[Task, list[Trial]]:
    """What the files hold, by task; the first of them may not be there yet."""
    found: dict[Task, list[Trial]] = {}
    known = {field.name for field in fields(Trial)}
    for place, file in enumerate(files):
        if not file.exists() and place:
            raise BadInput(f"There is no file {file}; write kept=FILE of an earlier run.")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines() if file.exists() else [], 1):
            record = json.loads(line)
            if any(set(run) != known for run in record["runs"]):
                raise BadInput(f"Line {number} of {file} holds runs of another version; start a new file.")
            family, seed, case = record["task"]
            runs = [run | {key: tuple(run[key]) for key in ("right", "against")} for run in record["runs"]]
            found[family, seed, case] = [Trial(**run) for run in runs]
    return found


def results(tasks: list[Task], tolerance: float, bugs: str, processes: int) -> Iterator[list[Trial]]:
    """The runs of one task after the other; whoever stops asking ends the work at once."""
    if processes == 1:
        yield from (done(task, tolerance, bugs) for task in tasks)
        return
    with ProcessPoolExecutor(processes, get_context("spawn"), registry, ("benchmark",)) as pool:
        try:
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # workers inherit it: Ctrl-C is for us
            try:
                futures = [pool.submit(done, task, tolerance, bugs) for task in tasks]
            finally:
                signal.signal(signal.SIGINT, before)
            for future in futures:
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in active_children():
                worker.terminate()
            raise


# ── the record ────────────────────────────────────────────────────────────────────────────────────


def summary(runs: list[Trial]) -> dict[str, Any]:
    """The record of `planted_bugs`."""
    every, runs = runs, [run for run in runs if run.catalogue == "first"]
    sound = {(run.method, run.family, run.case, run.seed): run for run in runs if not run.fault}
    faulty = [run for run in runs if run.fault]
    lost = {id(run): sound[run.method, run.family, run.case, run.seed].accuracy - run.accuracy for run in faulty}
    alarms = [run for run in every if run.alarm]
    harmful = [run for run in faulty if run.harmful]
    return {
        "bugs": len({run.fault for run in faulty}),
        **rates(faulty, lost),
        "datasets": len({(run.family, run.seed, run.case) for run in runs}),
        "sound_runs": len(sound),
        "false_alarms": sum(run.alarm for run in sound.values()),
        "false_alarm_interval": exact(sum(run.alarm for run in sound.values()), len(sound)),
        "sound_agree": share(run.verdict == "agrees" for run in sound.values()),
        "failed": int(bool(alarms) or (bool(harmful) and share(run.found for run in harmful) < TARGET)),
        "catalogues": [{"catalogue": name} | of_catalogue(part) for name, part in grouped(every, by_catalogue).items()],
        "cases": [{"case": case or "usual"} | of_case(part) for case, part in grouped(sound.values(), by_case).items()],
        "roc": [{"above": t} | plain_rule(t, harmful, list(sound.values())) for t in THRESHOLDS],
        "kinds": [{"kind": kind} | rates(part, lost) for kind, part in grouped(faulty, lambda run: run.kind).items()],
        "families": [{"family": each} | rates(part, lost) for each, part in grouped(faulty, by_family).items()],
        "rows": [
            {"bug": name, "learner": method, "family": family} | rates(part, lost) | told_of(part)
            for (name, method, family), part in grouped(faulty, lambda r: (r.fault, r.method, r.family)).items()
        ],
        "alarms": [
            {
                key: asdict(run)[key]
                for key in ("method", "family", "case", "seed", "verdict", "rule", "excess", "reason", "against")
            }
            for run in alarms
        ],
    }


def rates(part: list[Trial], lost: dict[int, float]) -> dict[str, Any]:
    """Counts and shares of runs with a bug; `lost` is their loss of accuracy."""
    harmful = [run for run in part if run.harmful]
    told = [run for run in harmful if run.accused_rightly and run.right]
    found, by_weights = (sum(getattr(r, name) for r in harmful) for name in ("found", "found_by_weights"))
    return {
        "runs": len(part),
        "harmful": len(harmful),
        "detection": share(run.found for run in harmful),
        "detection_interval": exact(found, len(harmful)),
        "detection_by_weights": share(run.found_by_weights for run in harmful),
        "by_weights_interval": exact(by_weights, len(harmful)),
        "with_cause": len(told),
        "named": share(run.named for run in told),
        "told": share(run.told for run in told),
        "guessed": share(run.guessed for run in told),
        "wrong": sum(run.wrong for run in part),
        "by_accuracy": share(lost[id(run)] > POINTS for run in harmful),
        "by_account": share(run.account > run.tolerance for run in harmful),
    }


def told_of(part: list[Trial]) -> dict[str, Any]:
    """What was said of the runs of one bug in one learner."""
    verdicts = Counter(f"{run.verdict} ({run.rule})" for run in part)
    return {
        "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()),
        "least_excess": min(run.excess for run in part),
        "longer": min((run.longer for run in part if run.longer == run.longer), default=-1.0),
        "right": ", ".join(sorted({each for run in part for each in run.right})),
        "said": said(part),
    }


def of_catalogue(part: list[Trial]) -> dict[str, Any]:
    """One line: what was found of the faults, and said of the sound runs."""
    sound, faulty = [run for run in part if not run.fault], [run for run in part if run.fault]
    alarms = sum(run.alarm for run in sound)
    shown = rates(faulty, dict.fromkeys(map(id, faulty), 0.0))
    kept = ("runs", "harmful", "detection", "detection_interval", "detection_by_weights", "by_weights_interval")
    counts = {"bugs": len({run.fault for run in faulty})} | {key: shown[key] for key in (*kept, "with_cause", "named")}
    told = {"told": shown["told"], "wrong": shown["wrong"], "datasets": len({(run.family, run.seed) for run in part})}
    told |= {"sound_runs": len(sound), "false_alarms": alarms}
    return counts | told | {"false_alarm_interval": exact(alarms, len(sound))}


def of_case(part: list[Trial]) -> dict[str, Any]:
    alarms = sum(run.alarm for run in part)
    return {
        "datasets": len({(run.family, run.seed) for run in part}),
        "sound_runs": len(part),
        "false_alarms": alarms,
        "agree": share(run.verdict == "agrees" for run in part),
    }


def plain_rule(above: float, harmful: list[Trial], sound: list[Trial]) -> dict[str, Any]:
    """Whoever is more than `above` from the optimum is accused."""
    return {
        "detection": share(not run.excess <= above for run in harmful),
        "false_alarms": sum(not run.excess <= above for run in sound),
    }


def said(part: list[Trial]) -> str:
    """What was named, how often; in brackets without confidence."""
    every = Counter(
        each if each in run.certain else f"({each})" for run in part for each in {*run.against, run.convention} if each
    )
    return ", ".join(f"{count} {each}" for each, count in sorted(every.items()))


def by_case(run: Trial) -> str:
    return run.case


def by_catalogue(run: Trial) -> str:
    return run.catalogue


def by_family(run: Trial) -> str:
    return run.family


def grouped(runs: Iterable[Trial], key: Callable[[Trial], Hashable]) -> dict[Any, list[Trial]]:
    groups = defaultdict(list)
    for run in runs:
        groups[key(run)].append(run)
    return groups


def exact(count: int, total: int) -> list[float]:
    """The interval of Clopper and Pearson that holds the true share with 95 % at least."""
    if not total:
        return [0.0, 1.0]
    from scipy.stats import beta

    low = beta.ppf(0.025, count, total - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, total - count) if count < total else 1.0
    return [float(low), float(high)]


def share(which: Iterable[bool]) -> float:
    chosen = list(which)
    return float(np.mean(chosen)) if chosen else 0.0


NAMES = {"planted-bugs": planted_bugs}
