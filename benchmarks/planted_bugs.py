"""Planted bugs: how many faults in plain learners the cross-check finds, and how often it accuses a sound one.

Learners written from scratch (`_plain_learners.py`) get one fault at a time (`_faults.py`), are run on small random
problems, and their weights are judged against the proven optimum by `crosscheck`. A bug counts as

    by weights   `disagrees`, and the excess it is accused of is that of its weights, recomputed here from the tables,
                 and nothing is said of it with confidence that is not so
    found        so, or by an audit of a step that it lends: one that the fault amounts to, for `judge` audits always
    accuracy     it shows in the training accuracy: more than 2 points below that of the sound learner
    own account  it shows in what the learner itself can see: its own duality gap, or the gradient of its own
                 likelihood, or by how much its own objective still changed in the last half of its passes, above 1 %

A fault is a bug if it does harm: `excess` is relative, of the weights at the end of the budget, `longer` of those of
a run four times as long, and both are worth telling only above ten times the gap of the reference. The sound
learners are judged on the same problems and on harder ones (λ from 1e-4 to 1e2, features scaled by 1e-2 to 1e2, few
passes); `disagrees` or `failed` on one of them is a false alarm.

**Evidence.** Each fault says what it amounts to (`_faults.py`): conventions and audits, or nothing beyond its excess. A
run is explained by judging/conventions.py from its weights and by judging/audits.py from the steps that it lends
(`_lending.py`). It has a cause to name if its fault amounts to a convention, or to an audit of what it lends, and is

    named        one of its own is said;    told  with confidence: audits are certain, conventions may be
    guessed      none of its own is, but another convention, without confidence
    wrong        anything that is none of its own, with confidence: then it is not found, whatever its excess
    unnamed      else

Audits that contradict a sound learner are false alarms.

    multiclass uncentred chain matching linear    soft margin, or conditional likelihood for gradient, lbfgs, saga
    costs shares                                  normalised and simplex cost learning
"""

from __future__ import annotations

import signal
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from workbench.contracts import Floats
from workbench.errors import BadInput, checked_positive, checked_whole
from workbench.formulations.cost_learning import NormalizedCostLearning, SimplexCostLearning
from workbench.formulations.crf import CRF
from workbench.formulations.soft_margin import SoftMargin
from workbench.judging.audits import audit, hooks_of
from workbench.judging.conventions import Detective
from workbench.judging.verdicts import Report, crosscheck
from workbench.outputs.chain import Chain
from workbench.outputs.linear import Linear
from workbench.outputs.matching import Matching
from workbench.outputs.multiclass import Multiclass
from workbench.registries import load_file, registry
from workbench.solving.solve import solve

HERE = Path(__file__)
plain, lending, settings = (
    load_file(HERE.with_name(f"_{name}.py"), "benchmark") for name in ("plain_learners", "lending", "settings")
)
FAULTS = load_file(HERE.with_name("_faults.py"), "benchmark").FAULTS

AUDITED = ("oracle", "subgradient", "prox", "averaging", "dual")
GAP = 1e-9
POINTS = 0.02
TARGET = 0.95
LONGER = 4
SHOWN = 40  # records on the way
BUDGETS = {"subgradient": 768, "projected": 768, "bcfw": 256, "dual-ascent": 128, "gradient": 128, "lbfgs": 128}
BUDGETS |= {"saga": 256, "adagrad": 1024}
LAMS = {
    "multiclass": 0.7,
    "uncentred": 0.7,
    "chain": 2.0,
    "matching": 0.3,
    "linear": 0.6,
    "costs": 30.0,
    "shares": 30.0,
}
LIKELIHOOD = ("gradient", "lbfgs", "saga")
HOSTS = {
    "multiclass": ("subgradient", "projected", "bcfw", "dual-ascent", *LIKELIHOOD),
    "uncentred": ("lbfgs",),
    "chain": ("subgradient", "projected", "bcfw", "dual-ascent", *LIKELIHOOD),
    "matching": ("subgradient", "projected", "bcfw", "dual-ascent"),
    "linear": ("subgradient", "projected", "bcfw", "dual-ascent", *LIKELIHOOD),
    "costs": ("adagrad",),
    "shares": ("adagrad",),
}


# ── problems ──────────────────────────────────────────────────────────────────────────────────────


def uneven(rng: np.random.Generator, n: int) -> Floats:
    """Sample weights 1 to 3; the last sample, whose label is wrong in all problems, weighs 6."""
    return np.append(rng.integers(1, 4, n - 1), 6).astype(float)


def uneven_costs(rng: np.random.Generator, k: int) -> Floats:
    return rng.uniform(0.5, 2, (k, k)) * (1 - np.eye(k))


def clouds(rng: np.random.Generator, n: int, k: int, p: int) -> tuple[Floats, Any]:
    """Normal clouds with an intercept, (n, p), and their labels."""
    y = np.append(np.arange(k), rng.integers(k, size=n - k))
    X = np.hstack([rng.normal(size=(n, p - 1)) + 1.5 * rng.normal(size=(k, p - 1))[y], np.ones((n, 1))])
    y[-1] = (y[-1] + 1) % k
    return X, y


def multiclass(rng: np.random.Generator) -> Multiclass:
    X, y = clouds(rng, 24, 4, 5)
    return Multiclass(X, y, uneven_costs(rng, 4), uneven(rng, 24))


def uncentred(rng: np.random.Generator) -> Multiclass:
    """One column is counted from far away, like a year."""
    X, y = clouds(rng, 24, 4, 5)
    return Multiclass(X + np.array([2000.0, 0, 0, 0, 0]), y, None, uneven(rng, 24))


def linear(rng: np.random.Generator) -> Linear:
    X, y = clouds(rng, 30, 2, 5)
    return Linear(X, 2.0 * y - 1, uneven(rng, 30))


def chain(rng: np.random.Generator) -> Chain:
    """10 words of 2 to 4 letters, labels by a Markov chain."""
    k, moves, means, words, labels = 3, 1.5 * rng.normal(size=(3, 3)), 1.2 * rng.normal(size=(3, 3)), [], []
    for _ in range(10):
        y = [int(rng.integers(k))]
        for _ in range(int(rng.integers(1, 4))):
            y.append(int((moves[y[-1]] + rng.gumbel(size=k)).argmax()))
        words.append(0.6 * np.hstack([means[y] + rng.normal(size=(len(y), 3)), np.ones((len(y), 1))]))
        labels.append(np.array(y))
    labels[-1] = (labels[-1] + 1) % k
    return Chain(words, labels, cost=uneven_costs(rng, k), weights=uneven(rng, 10), classes=np.arange(k))


def matching(rng: np.random.Generator) -> Matching:
    """12 samples of 2 or 3 rows and 3 columns; the truth is the heaviest matching of noisy scores."""
    w, edges, gold = np.append(1.5 * rng.normal(size=3), 0.5), [], []
    for _ in range(12):
        features = rng.normal(size=(int(rng.integers(2, 4)), 3, 4))
        features[..., -1] = 1
        gains = features @ w + 0.5 * rng.normal(size=features.shape[:2])
        links = zip(*linear_sum_assignment(np.maximum(gains, 0), maximize=True), strict=True)
        edges.append(features)
        gold.append([(j, k) for j, k in links if gains[j, k] > 0])
    gold[-1] = [(0, 0), (1, 2)]
    return Matching(edges, gold, false_positive=1.0, false_negative=2.0, weights=uneven(rng, 12))


def table(rng: np.random.Generator) -> Multiclass:
    X, y = clouds(rng, 20, 3, 4)
    return Multiclass(X, y, None, uneven(rng, 20))


PROBLEMS = {
    "multiclass": multiclass,
    "uncentred": uncentred,
    "chain": chain,
    "matching": matching,
    "linear": linear,
    "costs": table,
    "shares": table,
}


def scaled(problem: Any, rng: np.random.Generator) -> Any:
    """The same problem with every column multiplied by 10^−2 to 10^2."""
    arrays = dict(problem.arrays())
    columns = next(
        each for each in (getattr(problem, name, None) for name in ("X", "letters", "edges")) if each is not None
    )
    factors = 10 ** rng.uniform(-2, 2, columns.shape[1])
    return type(problem).from_arrays(arrays | {"data": columns.data * factors[columns.indices]})


def formulated(method: str, family: str, lam: float | None = None) -> Any:
    """What a method minimises on a family; `lam` in place of the usual λ (λ₂ of cost learning)."""
    lam = LAMS[family] if lam is None else lam
    if family == "costs":
        return NormalizedCostLearning(lam2=lam, lam1=0.5, K=2.0, counts="logical")
    if family == "shares":
        return SimplexCostLearning(lam2=lam, lam1=0.5, K=4.0)
    return CRF(lam) if method in LIKELIHOOD else SoftMargin(lam)


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Run:
    """One judged run. `fault` is "" for a sound learner, `case` says which problem it was."""

    fault: str
    kind: str
    method: str
    family: str
    case: str
    seed: int
    verdict: str
    excess: float
    accused: float
    longer: float
    gap: float
    accuracy: float
    account: float
    reason: str
    right: tuple[str, ...] = ()
    convention: str = ""
    confident: bool = False
    against: tuple[str, ...] = ()

    @property
    def accused_rightly(self) -> bool:
        """Accused, of the excess that its weights have."""
        return self.verdict == "disagrees" and bool(np.isclose(self.accused, self.excess, rtol=1e-3, atol=self.gap))

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
    def audited_rightly(self) -> bool:
        """Contradicted by an audit that the fault amounts to, whatever its weights."""
        return bool({*self.against} & {*self.right})

    @property
    def found_by_weights(self) -> bool:
        return self.accused_rightly and not self.wrong

    @property
    def found(self) -> bool:
        return (self.accused_rightly or self.audited_rightly) and not self.wrong


class Bench:
    """One problem of a family with its certified references; runs learners on it and has them judged."""

    def __init__(self, family: str, seed: int, case: str = "", tolerance: float = 1e-3):
        rng = np.random.default_rng([seed, *map(ord, family)])
        self.family, self.seed, self.case, self.tolerance = family, seed, case, tolerance
        self.problem, self.lam, self.passes = PROBLEMS[family](rng), None, None
        if case == "scaled":
            self.problem = scaled(self.problem, rng)
        elif case.startswith("passes "):
            self.passes = int(case.split()[1])
        elif case:
            self.lam = float(case.removeprefix("λ "))
        self.detectives: dict[Any, Detective] = {}

    def detective(self, method: str) -> Detective:
        """With the certified reference of what the method minimises."""
        form = formulated(method, self.family, self.lam)
        if form not in self.detectives:
            self.detectives[form] = Detective(solve(form, self.problem, gap=GAP))
        return self.detectives[form]

    def run(self, method: str, fault: Any = None, longer: bool = False) -> Run:
        detective, budget = self.detective(method), self.passes or BUDGETS[method]
        best = detective.reference
        host = plain.learner(method, self.family, fault.methods if fault else None)
        sound = plain.learner(method, self.family)
        list(sound.fit(self.problem, best.formulation, 0, 0))
        history = walked(host, self.problem, best.formulation, budget, self.seed)
        verdict = crosscheck(history, best, self.tolerance)
        far = np.nan
        if longer:
            again = plain.learner(method, self.family, fault.methods if fault else None)
            far = excess(sound, walked(again, self.problem, best.formulation, LONGER * budget, self.seed)[-1][1], best)
        theta = history[-1][1]
        against, lent = self.contradicted(method, fault, host, theta, best)
        known = detective.explain(theta, history) if fault and verdict.verdict == "disagrees" else None
        decoded = (best.formulation.terms if method in LIKELIHOOD else best.formulation.oracle)(self.problem).decode(
            theta, np.arange(self.problem.n_samples)
        )
        places = (self.problem.truth >= 0) | (decoded >= 0)
        return Run(
            fault=fault.name if fault else "",
            kind=fault.kind if fault else "",
            method=method,
            family=self.family,
            case=self.case,
            seed=self.seed,
            verdict=verdict.verdict,
            excess=excess(sound, theta, best),
            accused=float(verdict.excess),
            longer=far,
            gap=best.gap,
            accuracy=float((decoded == self.problem.truth)[places].mean()),
            account=account(host, history),
            reason=verdict.reason,
            right=tuple(each for each in fault.right if each in lent or each not in AUDITED) if fault else (),
            convention=known.name if known else "",
            confident=bool(known and known.confident),
            against=against,
        )

    def contradicted(self, method: str, fault: Any, host: Any, theta: Floats, best: Any) -> tuple[Any, set[str]]:
        """The audits that contradict what the learner lends, and all that were made."""
        form, problem = best.formulation, self.problem

        def make() -> Any:
            return plain.learner(method, self.family, fault.methods if fault else None)

        with np.errstate(all="ignore"):
            findings = audit(hooks_of(lending.Lender(make, method), form, problem), best)
        names = {each.name for each in findings if each.sentence}
        lent = {each.name for each in findings}
        if method == "dual-ascent":
            report = Report(1.0, theta, {"dual": lending.dual(host, problem.width)})
            lent.add("dual")
            names |= {"dual"} if crosscheck([report], best, self.tolerance).rule in ("drift", "reported") else set()
        return tuple(sorted(names)), lent


def walked(host: Any, problem: Any, form: Any, budget: int, seed: int) -> list[tuple[int, Floats]]:
    """What a learner yields, copied; faults may overflow."""
    with np.errstate(all="ignore"):
        return [(passes, np.array(theta, float)) for passes, theta in host.fit(problem, form, budget, seed)]


def excess(sound: Any, theta: Floats, best: Any) -> float:
    """(F(θ) − lower)/max(F(θ), lower), F by the tables of a sound learner."""
    with np.errstate(all="ignore"):
        value = float(sound.objective(theta))
    return (value - best.lower) / max(abs(value), abs(best.lower))


def account(host: Any, history: list[tuple[int, Floats]]) -> float:
    """What the learner itself sees of its distance, relative to its own objective."""
    with np.errstate(all="ignore"):
        claim = float(host.claim())
        if np.isnan(claim):
            late, end = (host.objective(theta) for _, theta in history[-2:]) if len(history) > 1 else (np.inf, 0.0)
            claim = abs(late - end) / max(abs(end), 1e-300)
    return abs(claim) if np.isfinite(claim) else np.inf


# ── the whole ─────────────────────────────────────────────────────────────────────────────────────

HARD = ("λ 1e-4", "λ 1e-2", "λ 1", "λ 1e2", "scaled", "passes 8", "passes 32")
LENIENT = {"uncentred": ("λ 1e-2", "λ 1", "passes 8")}


def work(seeds: int, hard: int, families: Iterable[str]) -> Iterator[tuple[str, int, str]]:
    """(family, seed, case) of all problems."""
    for family in families:
        yield from ((family, seed, "") for seed in range(seeds))
        yield from ((family, seed, case) for case in LENIENT.get(family, HARD) for seed in range(hard))


def done(task: tuple[str, int, str], tolerance: float, bugs: str) -> list[Run]:
    """All runs on one problem: the sound learners, and without a hard case the bugs."""
    family, seed, case = task
    bench = Bench(family, seed, case, tolerance)
    runs = [bench.run(method) for method in HOSTS[family]]
    if not case:
        chosen = [each for each in FAULTS if bugs in each.name]
        pairs = ((each, method) for each in chosen for method, host in each.pairs() if host == family)
        runs += [bench.run(method, each, longer=seed == 0) for each, method in pairs]
    return runs


def planted_bugs(
    seeds: int = 10,
    hard: int = 3,
    tolerance: float = 1e-3,
    processes: int = 2,
    only: str = "",
    bugs: str = "",
) -> Iterator[dict[str, Any]]:
    """Detection and false alarms over `seeds` random problems a family and `hard` hard ones a case and family.

    After each problem a record of the runs so far.

    only            families, with commas (none: all);  bugs : a part of the names of the bugs to plant (none: all)
    processes       1: no process but this one
    detection       share of runs with a bug that are found, runs with a bug; the same by kind and by family
    with_cause      runs with an excess accused rightly whose fault amounts to a convention or an audit; shares of them:
                    named, told, guessed
    by_weights      share of all runs that are found without their steps
    wrong           runs of which something is claimed with confidence that is not so
    by_accuracy, by_account   share that shows in the accuracy, in the learner's own account
    false_alarms    of sound_runs;  alarms : which;  sound_agree : share of sound runs, hard ones too, that agree
    failed          1 if there is a false alarm, or if less than 95 % of the runs with a bug are found
    least_harm      the least excess of a run with a bug, in gaps of its reference
    """
    checked_whole(1, seeds=seeds, processes=processes)
    checked_whole(0, hard=hard)
    checked_positive(tolerance=tolerance)
    if not any(bugs in each.name for each in FAULTS):
        raise BadInput(f"No bug's name has {bugs!r} in it; write for example bugs=loss.")
    tasks = list(work(seeds, hard, settings.chosen(only, HOSTS, "family")))
    runs: list[Run] = []
    for count, some in enumerate(results(tasks, tolerance, bugs, processes), 1):
        runs += some
        if count * SHOWN // len(tasks) > (count - 1) * SHOWN // len(tasks):
            yield {"finished": f"{count} of {len(tasks)} problems"} | summary(runs)


def results(tasks: list[Any], tolerance: float, bugs: str, processes: int) -> Iterator[list[Run]]:
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


def summary(runs: list[Run]) -> dict[str, Any]:
    """The record of `planted_bugs`."""
    sound = {(run.method, run.family, run.case, run.seed): run for run in runs if not run.fault}
    planted = [run for run in runs if run.fault]
    lost = {id(run): accuracy_lost(run, sound) for run in planted}
    alarms = [run for run in sound.values() if run.verdict in ("disagrees", "failed") or run.against]

    def rates(part: list[Run]) -> dict[str, Any]:
        told = [run for run in part if run.accused_rightly and run.right]
        return {
            "runs": len(part),
            "detection": share(run.found for run in part),
            "by_weights": share(run.found_by_weights for run in part),
            "with_cause": len(told),
            "named": share(run.named for run in told),
            "told": share(run.told for run in told),
            "guessed": share(run.guessed for run in told),
            "wrong": sum(run.accused_rightly and run.wrong for run in part),
            "by_accuracy": share(lost[id(run)] > POINTS for run in part),
            "by_account": share(run.account > 1e-2 for run in part),
        }

    def grouped(key: Any) -> dict[Any, list[Run]]:
        groups = defaultdict(list)
        for run in planted:
            groups[key(run)].append(run)
        return groups

    return {
        "bugs": len({run.fault for run in planted}),
        **rates(planted),
        "least_harm": min((run.excess / run.gap for run in planted), default=np.inf),
        "sound_runs": len(sound),
        "false_alarms": len(alarms),
        "sound_agree": share(run.verdict == "agrees" for run in sound.values()),
        "failed": int(bool(alarms) or (bool(planted) and share(run.found for run in planted) < TARGET)),
        "kinds": [{"kind": kind} | rates(part) for kind, part in grouped(lambda run: run.kind).items()],
        "families": [{"family": family} | rates(part) for family, part in grouped(lambda run: run.family).items()],
        "rows": [
            {"bug": name, "learner": method, "family": family}
            | rates(part)
            | {
                "verdicts": " ".join(
                    f"{count} {verdict}," for verdict, count in Counter(r.verdict for r in part).items()
                ),
                "least_excess": min(run.excess for run in part),
                "longer": min((run.longer for run in part if run.longer == run.longer), default=-1.0),
                "right": ", ".join(sorted({each for run in part for each in run.right})),
                "said": said(part),
            }
            for (name, method, family), part in grouped(lambda run: (run.fault, run.method, run.family)).items()
        ],
        "alarms": [
            {
                key: asdict(run)[key]
                for key in ("method", "family", "case", "seed", "verdict", "excess", "reason", "against")
            }
            for run in alarms
        ],
    }


def said(part: list[Run]) -> str:
    """What was named, how often; in brackets without confidence."""
    every = Counter(
        each if each in run.certain else f"({each})" for run in part for each in {*run.against, run.convention} if each
    )
    return ", ".join(f"{count} {each}" for each, count in sorted(every.items()))


def accuracy_lost(run: Run, sound: dict[Any, Run]) -> float:
    return sound[run.method, run.family, run.case, run.seed].accuracy - run.accuracy


def share(which: Any) -> float:
    chosen = list(which)
    return float(np.mean(chosen)) if chosen else 0.0


NAMES = {"planted-bugs": planted_bugs}
