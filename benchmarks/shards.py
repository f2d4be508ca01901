"""Workers: how many turns a number of shards takes, what workers save where the oracle is dear, what their loss costs.

turns      passes of dual ascent on K simulated shards to the gap, by λ; and the seconds that messages of a given
           latency and rate would add to them (`sent` bytes a turn: θ and β out, β and witnesses back)
dear       wall seconds with one process and with two where the oracle sleeps for a while at every sample
kills      runs with two processes, one of which is killed at random times: the optimum must stay the same
lies       runs in which a share of the answers is replaced by others: the optimum must stay the same
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from workbench.contracts import Cuts, Ints
from workbench.data.loading import load_problem
from workbench.errors import checked_whole
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.chain import Chain
from workbench.proofs.door import bounds_for
from workbench.registries import load_file
from workbench.solving import shards as many
from workbench.solving.shards import ShardAscent, Shards
from workbench.solving.solve import solve
from workbench.system.crew import packed

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")


class Slow(Chain):
    """Chains whose oracle takes PAUSE seconds a sample, as a search in a program of another language might."""

    PAUSE = 0.005

    def argmax(self, w: Any, samples: Ints, augment: Any = True) -> Ints:  # arguments of `Chain.argmax`
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
    slow: int = 120,
    kills: int = 20,
    lies: int = 10,
) -> dict[str, Any]:
    """`most` turns at most; latency in seconds, rate in bytes a second; `slow` samples of the dear oracle."""
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
        found |= prefixed("dear", dear(load_problem("synthetic-chain")(n=slow)))
    if kills:
        found |= prefixed("kills", killed(kills))
    if lies:
        found |= prefixed("lies", lied(lies))
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


def dear(plain: Chain) -> dict[str, Any]:
    """Wall seconds of both, the same optimum, and their ratio."""
    problem, form = Slow.from_arrays(plain.arrays()), SoftMargin(lam=0.05)
    seconds, solutions = [], []
    for parallel in (None, "local:2"):
        began = time.perf_counter()
        solutions.append(solve(form, problem, gap=1e-4, parallel=parallel))
        seconds.append(time.perf_counter() - began)
    alone, shared = solutions
    same = alone.lower <= shared.upper and shared.lower <= alone.upper
    ratio = seconds[0] / seconds[1]
    return {"serial": seconds[0], "two": seconds[1], "ratio": ratio, "same": same, "workers": shared.parallel}


def killed(count: int) -> dict[str, Any]:
    """How many of `count` runs end at the same optimum though a worker was killed, and how many kills there were."""
    problem, form = load_problem("synthetic-chain")(n=24), SoftMargin(lam=0.05)
    reference, same, kills = solve(form, problem, gap=1e-7), 0, 0
    with without_break_even():
        for seed in range(count):
            hunter = Hunter(seed)
            with hunter:
                found = solve(form, problem, gap=1e-7, parallel="local:2")
            kills += hunter.kills
            same += found.lower <= reference.upper and reference.lower <= found.upper and found.status == "optimal"
    return {"runs": count, "same": same, "kills": kills}


def lied(count: int) -> dict[str, Any]:
    """How many of `count` runs end at the same optimum though half of the answers are the truth, not the maximum."""
    problem, form = load_problem("synthetic-chain")(n=24), SoftMargin(lam=0.05)
    reference, same, true = solve(form, problem, gap=1e-7), 0, many.answer
    with without_break_even():
        for seed in range(count):
            rng = np.random.default_rng(seed)

            def answer(words: dict[str, Any], arrays: Any, rng: np.random.Generator = rng) -> Any:
                reply = true(dict(words), arrays)
                lie = words["do"] == "argmax" and rng.random() < 0.5
                return (reply[0], {"witnesses": problem.truth[arrays["samples"]]}) if lie else reply

            many.answer = answer
            try:
                found = solve(form, problem, gap=1e-7, parallel="here:2")
            finally:
                many.answer = true
            same += found.lower <= reference.upper and reference.lower <= found.upper and found.status == "optimal"
    return {"runs": count, "same": same}


@contextmanager
def without_break_even() -> Iterator[None]:
    """Every oracle counts as dear enough for workers."""
    kept = many.EVEN, many.EACH
    many.EVEN = many.EACH = 0.0
    try:
        yield
    finally:
        many.EVEN, many.EACH = kept


class Hunter:
    """Kills a process of the crew at a random time, as soon as there is one."""

    def __init__(self, seed: int):
        self.rng, self.done, self.kills, self.crews = np.random.default_rng(seed), threading.Event(), 0, list[Any]()

    def __enter__(self) -> None:
        self.true = many.assembled

        def watched(*arguments: Any) -> Any:
            self.crews.append(self.true(*arguments))
            return self.crews[-1]

        many.assembled = watched
        self.thread = threading.Thread(target=self.hunt)
        self.thread.start()

    def __exit__(self, *failure: object) -> None:
        many.assembled = self.true
        self.done.set()
        self.thread.join()

    def hunt(self) -> None:
        while not self.done.wait(float(self.rng.uniform(0.05, 0.5))):
            alive = [each for crew in self.crews for each in crew.members if each and each.alive]
            if alive:
                os.kill(alive[int(self.rng.integers(len(alive)))].process.pid, signal.SIGKILL)
                self.kills += 1
                return


NAMES = {"shards": shards_table}
