"""Workers: how many turns a number of shards takes, what workers save where the oracle is dear, what their loss costs.

turns      passes of dual ascent on K simulated shards to the gap, by λ; and the seconds that messages of a given
           latency and rate would add to them (`sent` bytes a turn: θ and β out, β and witnesses back)
dear       wall seconds with one process and with two where the oracle sleeps for a while at every sample, for each gap;
           the sweeps over all samples that the driver makes, and those for which it waits; `ratio_of_paths`: of the
           critical paths, CPU and sleep of the driver and of the worker asked most, without the start of processes
kills      runs with two workers, of dask or processes, one of which is killed: the optimum must stay the same
lies       runs in which half of the answers of one of two workers are replaced by others: likewise
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from workbench.contracts import Cuts, Ints
from workbench.data.loading import load_problem
from workbench.errors import BadInput, MissingCapability, checked_whole
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.chain import Chain
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.verify import verify
from workbench.registries import load_file
from workbench.solving import shards as many
from workbench.solving.shards import ShardAscent, Shards
from workbench.solving.solve import solve
from workbench.system.workers import DaskWorkers, packed

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")


class Slow(Chain):
    """Chains whose oracle takes PAUSE seconds a sample, as a search in a program of another language might."""

    PAUSE = 0.005
    asked = 0  # samples, in this process

    def argmax(self, w: Any, samples: Ints, augment: Any = True) -> Ints:  # arguments of `Chain.argmax`
        Slow.asked += len(samples)
        time.sleep(self.PAUSE * len(samples))
        return super().argmax(w, samples, augment)

    def kernel(self, augment: Any = True) -> Any:  # none: `solve` is to ask `argmax`
        return super().kernel(augment)._replace(data=())


def shards_table(
    n: int = 200,
    lams: str = "0.1,0.01",
    counts: str = "1,2,4,8",
    gap: float = 1e-3,
    most: int = 400,
    latency: float = 1e-3,
    rate: float = 1e8,
    slow: int = 400,
    gaps: str = "1e-4,1e-6",
    kills: int = 20,
    lies: int = 10,
    workers: str = "local",
    crew: str | None = None,
) -> dict[str, Any]:
    """`most` turns at most; latency in seconds, rate in bytes a second; `slow` samples of the dear oracle, to `gaps`.

    `workers` is dask or local: whose workers are killed, and lie. `crew` is the old name of `workers`.
    """
    checked_whole(1, n=n, most=most)
    checked_whole(0, slow=slow, kills=kills, lies=lies)
    problem = load_problem("synthetic-chain")(n=n)
    rows = [
        turns(problem, lam, int(count), gap, most, latency, rate)
        for lam in settings.numbers(lams, "lams")
        for count in settings.listed(counts)
    ]
    found: dict[str, Any] = {"rows": rows}
    if slow:
        plain = load_problem("synthetic-chain")(n=slow)
        found["dear"] = [dear(plain, each) for each in settings.numbers(gaps, "gaps")]
    if kills:
        found |= prefixed("kills", troubled(kills, crew or workers, Killed))
    if lies:
        found |= prefixed("lies", troubled(lies, crew or workers, Lying))
    return found


def prefixed(name: str, numbers: dict[str, Any]) -> dict[str, Any]:
    """The same numbers under longer names."""
    return {f"{name}_{key}": value for key, value in numbers.items()}


def turns(problem: Any, lam: float, count: int, gap: float, most: int, latency: float, rate: float) -> dict[str, Any]:
    """Passes on `count` shards until the bounds at β and θ are within the gap; looked at after each of them."""
    bounds, upper, lower, sent = bounds_for(SoftMargin(lam=lam), problem), np.inf, -np.inf, 0
    with Shards(bounds, f"here:{count}") as shards:
        cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
        ascent = ShardAscent(shards, cuts)
        while ascent.passes < most and (not np.isfinite(upper) or bounds.gap(upper, lower) > gap):
            sent += sum(len(packed(ascent.question(k))) for k in range(count))
            ascent.advance()
            sent += sum(each.nbytes for each in ascent.duals())
            upper, lower = min(upper, bounds.upper(ascent.theta)), max(lower, bounds.lower(cuts, ascent.weights))
    passes = ascent.passes
    return {
        "lam": lam, "shards": count, "turns": passes, "gap": bounds.gap(upper, lower), "reached": passes < most,
        "cuts": len(cuts), "bytes_a_turn": sent / passes,
        "seconds_of_messages": passes * 2 * latency + sent / rate,
    }  # fmt: skip


def dear(plain: Chain, gap: float) -> dict[str, Any]:
    """Wall seconds, sweeps and critical paths of both, their ratios, and whether the optimum is the same."""
    problem, form, count = Slow.from_arrays(plain.arrays()), SoftMargin(lam=0.05), plain.n_samples
    solve(form, problem, gap=1.0)  # compiles
    solutions, seconds, paths, sweeps = [], [], [], []
    for parallel in (None, "local:2"):
        Slow.asked, began, spent = 0, time.perf_counter(), time.process_time()
        with Counted(0, 1) as workers:
            solutions.append(solve(form, problem, gap=gap, parallel=parallel))
        seconds.append(time.perf_counter() - began)
        paths.append(time.process_time() - spent + Slow.PAUSE * (Slow.asked + workers.longest))
        sweeps.append((Slow.asked / count, workers.longest / count))
    alone, shared = solutions
    same = alone.lower <= shared.upper and shared.lower <= alone.upper
    return {
        "gap": gap, "serial": seconds[0], "two": seconds[1], "ratio": seconds[0] / seconds[1],
        "ratio_of_paths": paths[0] / paths[1], "sweeps": sweeps[0][0], "of_driver": sweeps[1][0],
        "waited_for": sweeps[1][1], "same": same, "workers": shared.parallel,
    }  # fmt: skip


def troubled(count: int, workers: str, trouble: type[Trouble]) -> dict[str, Any]:
    """How many of `count` runs with two workers in trouble end at the same, proven optimum; how often there was any."""
    problem, form = load_problem("synthetic-chain")(n=24), SoftMargin(lam=0.05)
    reference, same, times = solve(form, problem, gap=1e-7), 0, 0
    with without_break_even(), hired(workers) as spec, TemporaryDirectory() as folder:
        for seed in range(count):
            with trouble(seed, reference.rounds) as each:
                found = solve(form, problem, gap=1e-7, parallel=spec)
            meet = found.lower <= reference.upper and reference.lower <= found.upper
            path = found.certificate.save(Path(folder) / str(seed))
            same += meet and found.status == "optimal" and verify(path, data=problem)["proven"]
            times += each.times
    return {"runs": count, "same": same, "times": times}


@contextmanager
def hired(workers: str) -> Iterator[str]:
    """Where two workers are found: `local` processes, or those of a `dask` cluster that begins and ends here."""
    if workers not in ("dask", "local"):
        raise BadInput(f"workers is {workers!r}; write dask or local.")
    if workers == "local":
        yield "local:2"
        return
    if find_spec("distributed") is None:
        raise MissingCapability(
            "workers=dask needs distributed; pip install 'cutbench[cluster]', or set workers=local."
        )
    import dask
    from distributed import LocalCluster

    # a cluster gives up a worker that is dead at a look this long after an earlier death, whoever starts it again
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"})
    with patient, LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", protocol="tcp://",
        dashboard_address=None, silence_logs=logging.CRITICAL + 1,
    ) as cluster:  # fmt: skip
        yield cluster.scheduler_address.replace("tcp://", "dask://")


@contextmanager
def without_break_even() -> Iterator[None]:
    """Every oracle counts as dear enough for workers."""
    kept = many.EVEN, many.EACH
    many.EVEN = many.EACH = 0.0
    try:
        yield
    finally:
        many.EVEN, many.EACH = kept


class Trouble:
    """Stands between the driver and its workers, and makes trouble from a random question on."""

    def __init__(self, seed: int, rounds: int):
        self.rng, self.times, self.asked = np.random.default_rng(seed), 0, 0
        self.victim, self.when = int(self.rng.integers(2)), int(self.rng.integers(1, max(2, rounds // 2)))

    def __enter__(self) -> Trouble:
        self.true = many.assembled
        many.assembled = self.assembled
        return self

    def __exit__(self, *failure: object) -> None:
        many.assembled = self.true

    def assembled(self, *arguments: Any) -> Any:
        """Workers whose questions and answers pass through `between`."""
        workers = self.true(*arguments)
        ask = workers.ask
        self.prepare(workers)

        def between(questions: Any, limit: float | None = None) -> Any:
            self.asked += 1
            return self.between(workers, lambda: ask(questions, limit), questions)

        workers.ask = between
        return workers

    def prepare(self, workers: Any) -> None:
        """Wait for what the trouble needs."""


class Counted(Trouble):
    """No trouble: `longest` adds up the samples that the worker with the most of them is asked for.

    Predictions do not count: they are made while the driver sweeps.
    """

    longest = 0

    def between(self, workers: Any, ask: Any, questions: Any) -> Any:
        swept = [len(arrays["samples"]) for words, arrays in questions if words["do"] == "argmax"]
        self.longest += max(swept, default=0)
        return ask()


class Killed(Trouble):
    """One of two workers is killed by SIGKILL within 20 ms after a question."""

    def prepare(self, workers: Any) -> None:
        if isinstance(workers, DaskWorkers):  # the one of the run before must be back
            workers.client.wait_for_workers(2)
            self.pids = list(workers.client.run(os.getpid).values())
            workers.size = 2

    def between(self, workers: Any, ask: Any, questions: Any) -> Any:
        if self.asked != self.when + 1:  # processes of this machine begin at the first question
            return ask()
        pids = self.pids if isinstance(workers, DaskWorkers) else [each.process.pid for each in workers.members]
        timer = threading.Timer(float(self.rng.uniform(0, 0.02)), os.kill, (pids[self.victim], signal.SIGKILL))
        timer.start()
        answers = ask()
        timer.join()
        self.times += 1
        return answers


class Lying(Trouble):
    """One of two workers answers the truth in place of the highest output, in half of its answers."""

    def between(self, workers: Any, ask: Any, questions: Any) -> Any:
        answers = ask()
        words, arrays = questions[self.victim]
        if words["do"] == "argmax" and answers[self.victim] is not None and self.rng.random() < 0.5:
            answers[self.victim] = answers[self.victim][0], {"witnesses": self.truth[arrays["samples"]]}
            self.times += 1
        return answers

    truth = property(lambda self: load_problem("synthetic-chain")(n=24).truth)


NAMES = {"shards": shards_table}
