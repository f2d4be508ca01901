"""Many machines: oracle sweeps and dual ascent on shards of the samples (docs/mathematics.md §11).

    driver                                      worker, a process with the whole problem
    θ                                         → the highest cuts of some samples at θ
    witnesses, checked                        ←
    θ, β_[k], Σ_{r∈k} β_r a_r                 → a pass of dual-block over the shard S_k, with curvature μ/K
    β'_[k], checked and rebuilt from the data ←

**Rounds of cuts** ask the workers in place of the oracle. **Dual ascent on shards** (master "shards"; CoCoA⁺: Smith
et al. 2018, with σ' = K) is for problems whose cuts no master could hold. With D(β) = Σ β_r o_r − μ/2 ‖θ‖², θ = −Σ
β_r a_r/μ, worker k raises

    G_k(Δ) = Σ_r Δ_r o_r − (μ/K)/2 (‖θ + K m‖² − ‖θ‖²),      m = −Σ_r Δ_r a_r/μ,

which is the ascent of one machine with μ/K in place of μ, and D(β + Σ_k Δ_k) − D(β) ≥ Σ_k G_k(Δ_k). The driver goes
further than c = 1 in β + Σ_k c_k Δ_k: to the best c ≥ 0 that keeps β ≥ 0, or, if that is better, to the best point in
the span of these moves and its own last steps, with negative weights cut off. D never falls.

**Trust.** The driver checks that a witness is an output of its sample, that weights are ≥ 0 and sum to p_i, and
computes D and θ from the data. An answer that fails is as good as none. No bound rests on a worker: an upper bound is
computed anew by the driver's own sweep before a run ends by it. Where workers find no further cut, the driver asks its
own oracle for AUDITED samples, and for all before the run gives up; if it finds one, the workers are asked no more.

**Sweeps.** A serial run makes S of them, the last for the predictions. With K workers the driver makes one alone, which
proves the upper bound; meanwhile the workers predict. So K workers make a run at most S/((S − 1)/K + 1) times faster.
No proof holds the predictions, so two workers make each of them, and where they differ the driver does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from workbench.arithmetic.arrays import summed
from workbench.contracts import Cuts, Floats, Ints
from workbench.errors import BadInput, CutbenchError, MissingCapability, shortened
from workbench.objectives.sweeps import unfit
from workbench.proofs.any_bounds import AnyBounds
from workbench.proofs.bounds import Bounds
from workbench.proofs.certificate import finder
from workbench.solvers._common import Late, never
from workbench.solving import transfer
from workbench.solving.block_ascent.lanes import misfit
from workbench.solving.progress import Predicted
from workbench.solving.request import Request
from workbench.solving.solution import release
from workbench.solving.worker import Arrays, answer, packed, unpacked
from workbench.system.processes import Message
from workbench.system.workers import OPENING, Workers, assembled

EVEN = 0.02  # seconds of a sweep, below which workers cost more than they save (docs/many_machines.md)
TRIED = 16  # samples, about, by which the oracle is timed
ENOUGH = 0.02  # seconds of the oracle, after which timing ends
TWICE = 2  # times that the oracle is timed at least, since another program may have had the processor meanwhile
EACH = 3e-4  # seconds of a sample, below which workers cost more than they save (docs/many_machines.md)
SLOWEST = 10.0  # times the slowest answer so far, plus LEAST seconds: what a worker may take
LEAST = 30.0
MEMORY = 2  # steps of earlier turns in the span
FARTHEST = 1e3  # lengths of a move; a longer step would magnify rounding errors
EXACT = 1e-9  # relative error of Σ_r β_r = p_i that is rounding
AUDITED = 16  # samples of a sweep that the driver asks for itself where workers find no new row
SHOWN = 200  # characters of what became of a worker
PIECE = 0.1  # seconds for which the driver sweeps at a time while the workers start


# ── the driver ────────────────────────────────────────────────────────────────────────────────────


class Shards:
    """The workers of one run, and the samples of each."""

    def __init__(self, bounds: Bounds, spec: str):
        found = finder(bounds.problem)
        if found is None:
            raise MissingCapability(
                f"Nobody can tell outputs of {type(bounds.problem).__name__} from other numbers, so the answers of "
                "workers cannot be checked; leave out parallel, or give the class a method misplaced or exact."
            )
        self.misplaced = found
        words, arrays = transfer.sent(bounds.formulation, bounds.problem)
        self.bounds, self.run, self.slowest, self.rejected = bounds, uuid4().hex, 0.0, 0
        opening = words | {"do": "open", "run": self.run, "version": release()}, arrays
        self.spec, self.side = spec, ThreadPoolExecutor(1)
        self.workers: Workers = assembled(spec, answer, opening)
        self.rng, self.last = np.random.default_rng(0), (bounds.start, bounds.truth[bounds.samples])
        self.predicted: Predicted | None = None
        count = min(self.workers.size, len(bounds.samples))
        self.parts = [bounds.samples[k::count] for k in range(count)]
        self.owner = np.full(bounds.oracle.n_samples, -1)
        for k, part in enumerate(self.parts):
            self.owner[part] = k

    def __enter__(self) -> Shards:
        return self

    def __exit__(self, *failure: object) -> None:
        self.workers.end()
        self.side.shutdown()

    def greet(self) -> None:
        """Start the workers; raises `BadInput` if none of them answers."""
        one = {"theta": self.bounds.start, "samples": self.bounds.samples[:1]}
        hello = {"do": "hello", "run": self.run}, one
        for _ in range(2):  # who dies once is replaced
            if any(each is not None for each in self.workers.ask([hello] * len(self.parts), OPENING)):
                return
        why = shortened(self.workers.why, SHOWN)
        raise BadInput(f"No worker of {self.spec} answers ({why}); mend that, or leave out parallel.")

    def open(self, seconds: float) -> None:
        """The sweep at the start, of so many seconds: by the driver until the workers have started, then by them."""
        started, samples, done, parts = self.side.submit(self.greet), self.bounds.samples, 0, []
        size = max(1, int(len(samples) * PIECE / max(seconds, PIECE)))
        self.slowest = seconds
        while done < len(samples) and not started.done():
            parts.append(self.bounds.oracle.argmax(self.bounds.start, samples[done : done + size]))
            done += size
        started.result()
        rest = samples[done:]
        self.bounds.open_with(np.concatenate([*parts, *([self.argmax(self.bounds.start, rest)] if len(rest) else [])]))
        self.last = self.bounds.start, self.bounds.opening

    def ask(self, questions: list[Message]) -> list[Message | None]:
        """The answers of the workers; `slowest` grows with the slowest of them."""
        began = time.perf_counter()
        limit = LEAST + SLOWEST * self.slowest
        sent = [(numbers | {"run": self.run}, arrays) for numbers, arrays in questions]
        answers = self.workers.ask(sent, limit)
        if any(each is not None for each in answers):
            self.slowest = max(self.slowest, min(time.perf_counter() - began, limit))
        return answers

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        """Witnesses (m, width) of `samples`: the workers' answers, those that do not come by the driver's own oracle.

        They are outputs of their samples. Whether they are the highest ones, only the driver's own sweep can tell.
        """
        parts = [np.arange(k, len(samples), len(self.parts)) for k in range(len(self.parts))]
        asked = [({"do": "argmax"}, {"theta": theta, "samples": samples[part]}) for part in parts]
        found = np.empty((len(samples), self.bounds.oracle.width), np.int64)
        for part, reply in zip(parts, self.ask(asked), strict=True):
            witnesses = None if reply is None else self.placed(samples[part], reply[1])
            found[part] = self.bounds.oracle.argmax(theta, samples[part]) if witnesses is None else witnesses
        self.last = theta, found
        return found

    @contextmanager
    def predicting(self, theta: Floats) -> Iterator[None]:
        """While the block sweeps at θ, the workers predict at θ; `predicted` has the outputs of all samples.

        Two workers predict each sample, so one that lies changes nothing: where they differ, the driver predicts. With
        one worker, and where θ has yet to be scaled (hard constraints), nobody predicts.
        """
        count, everyone = len(self.parts), np.arange(self.bounds.oracle.n_samples)
        if count < 2 or self.bounds.prices.hard:
            yield
            return
        theta = self.bounds.repaired(theta)
        dealt = [everyone[k::count] for k in range(count)]
        pairs = [np.concatenate([dealt[k], dealt[(k + 1) % count]]) for k in range(count)]
        asked = self.side.submit(self.ask, [({"do": "decode"}, {"theta": theta, "samples": each}) for each in pairs])
        yield
        width = self.bounds.problem.truth.shape[-1]
        found, known = np.zeros((2, len(everyone), width), np.int64), np.zeros((2, len(everyone)), bool)
        for samples, part, reply in zip(pairs, dealt, asked.result(), strict=True):
            if reply is not None and (outputs := self.placed(samples, reply[1], width)) is not None:
                for turn, some in enumerate((slice(None, len(part)), slice(len(part), None))):
                    found[turn, samples[some]], known[turn, samples[some]] = outputs[some], True
        doubtful = np.flatnonzero(~known.all(axis=0) | (found[0] != found[1]).any(axis=1))
        if len(doubtful):
            found[0, doubtful] = self.bounds.oracle.decode(theta, doubtful)
        self.predicted = Predicted(theta, found[0])

    def missed(self, theta: Floats) -> bool:
        """Whether the driver's oracle finds more at θ than the last sweep over all samples, for some of them."""
        samples, (at, found) = self.bounds.samples, self.last
        if len(found) != len(samples) or not np.array_equal(at, theta):
            return True
        some = self.rng.choice(len(samples), min(AUDITED, len(samples)), replace=False)
        mine = self.bounds.oracle.argmax(theta, samples[some])
        (slopes, offsets), (higher, more) = (self.bounds.oracle.rows(samples[some], z) for z in (found[some], mine))
        gain = higher @ theta + more - slopes @ theta - offsets
        return bool((gain > EXACT * (1 + np.abs(more))).any())

    def placed(self, samples: Ints, arrays: Arrays, width: int | None = None) -> Ints | None:
        """The witnesses of an answer, if they are one output for each of `samples`; else None.

        width : of an output; None is the width of the oracle's witnesses
        """
        problem, width = self.bounds.problem, width or self.bounds.oracle.width
        try:
            witnesses = unpacked(problem, arrays, believe=False)
            if witnesses.shape != (len(samples), width) or witnesses.dtype != np.int64:
                raise BadInput("The answer has another shape than the question; ask again.")
            if self.misplaced(samples, witnesses) is not None:
                raise BadInput("A witness is no output of its sample; ask again.")
        except (CutbenchError, LookupError, ValueError, TypeError, AttributeError):  # whatever stands in an answer
            self.rejected += 1
            return None
        return witnesses

    def told(self) -> str:
        """What became of the workers, in words."""
        losses = (
            f", {self.workers.lost} answers lost ({shortened(self.workers.why, SHOWN)})" if self.workers.lost else ""
        )
        return f"{len(self.parts)} workers{losses}" + (f", {self.rejected} answers refused" if self.rejected else "")


class Move(NamedTuple):
    """A change of β (K,), and m = −Σ Δ_r a_r/μ (p,) and Σ Δ_r o_r of it."""

    change: Floats
    step: Floats
    gain: float


class ShardAscent:
    """β and θ of the dual ascent over a family's cuts, as the driver knows them; in a pass every worker has a turn."""

    def __init__(self, shards: Shards, cuts: Cuts):
        self.shards, self.cuts, self.bounds = shards, cuts, shards.bounds
        self.prices = self.bounds.prices.floats()
        curvature = self.bounds.regularizer.curvature
        assert curvature is not None  # the route asks for r = μ/2‖θ‖² only
        self.curvature, self.passes = float(curvature), 0
        self.gap = self.risk = self.peak = np.inf  # as the workers say, which decides when to look and nothing else
        self.known = np.inf
        self.earlier: list[Move] = []  # the steps of the last turns
        truth = self.bounds.truth[self.bounds.samples]
        self.begin(self.bounds.samples, truth, self.prices[self.bounds.samples])

    def begin(
        self, samples: Ints, witnesses: Ints, weights: Floats, push: Floats | None = None, offsets: Floats | None = None
    ) -> None:
        """Go on from dual weights of cuts."""
        ids = self.cuts.add(samples, witnesses, self.bounds.oracle.rows)
        self.weights = summed(ids, weights, len(self.cuts))
        self.theta = self.at(self.weights)

    def raised(self, factor: float) -> None:
        """Finite prices stay what they are."""

    @property
    def saturated(self) -> bool:
        """No price has to be raised."""
        return False

    @property
    def mean(self) -> Floats:
        """θ of now."""
        return self.theta

    def at(self, weights: Floats) -> Floats:
        """θ = −Σ β_r a_r/μ."""
        return -(self.cuts.slopes.T @ weights) / self.curvature

    def advance(self, late: Late = never) -> None:
        """One pass of every worker over its shard, and the driver's step in the span of their moves and its own."""
        replies = self.shards.ask([self.question(k) for k in range(len(self.shards.parts))])
        taken = [self.accepted(k, reply) for k, reply in enumerate(replies)]
        self.weights = np.append(self.weights, np.zeros(len(self.cuts) - len(self.weights)))
        moves = [self.move(self.replaced(k, each)) for k, each in enumerate(taken) if each is not None]
        self.passes += 1
        self.met(replies)
        if not moves:
            return
        earlier = [each._replace(change=np.append(each.change, np.zeros(len(self.weights) - len(each.change))))
                   for each in self.earlier]  # fmt: skip
        worth = [(self.value(each), each) for each in self.candidates(moves, earlier)]
        highest, best = max(worth, key=lambda pair: pair[0])
        if highest > self.value(self.weights):
            self.earlier = [self.move(best), *earlier][:MEMORY]
            self.weights, self.theta = best, self.at(best)

    def met(self, replies: list[Message | None]) -> None:
        """gap, risk and peak of the pass, ∞ where a worker does not say."""
        told = [{} if each is None else each[0] for each in replies]
        each = {key: [said(one.get(key)) for one in told] for key in ("gap", "risk", "peak")}
        self.gap, self.risk, self.peak = sum(each["gap"]), sum(each["risk"]), max(each["peak"])

    def candidates(self, moves: list[Move], earlier: list[Move]) -> list[Floats]:
        """β at the best step along the moves that keeps β ≥ 0, and at the best in the span, cut off at 0."""
        gains, curves = self.quadratic(moves)
        c = boxed(gains, curves, np.array([self.room(each) for each in moves]))
        safe = self.weights + sum(x * each.change for x, each in zip(c, moves, strict=True))
        gains, curves = self.quadratic(span := [*moves, *earlier])
        c = np.clip(np.linalg.lstsq(curves, gains, rcond=1e-10)[0], -FARTHEST, FARTHEST)
        bold = self.weights + sum(x * each.change for x, each in zip(c, span, strict=True))
        return [self.priced(safe), self.priced(bold)]

    def quadratic(self, moves: list[Move]) -> tuple[Floats, Floats]:
        """g and Q of D(β + Σ c_j Δ_j) − D(β) = ⟨g, c⟩ − ½ cᵀQc."""
        M = np.array([each.step for each in moves])
        gains = np.array([each.gain for each in moves]) - self.curvature * (M @ self.theta)
        return gains, self.curvature * (M @ M.T)

    def priced(self, weights: Floats) -> Floats:
        """The weights without negative ones, scaled so that those of a sample sum to p_i."""
        held, samples = np.maximum(weights, 0.0), self.cuts.samples
        mass = np.bincount(samples, held, len(self.prices))
        return held * (self.prices / np.where(mass > 0, mass, 1.0))[samples]

    def value(self, weights: Floats) -> float:
        """D(β)."""
        theta = self.at(weights)
        return float(weights @ self.cuts.offsets - self.curvature / 2 * (theta @ theta))

    def move(self, weights: Floats) -> Move:
        """The change from β to these weights."""
        change = weights - self.weights
        return Move(change, self.at(change), float(change @ self.cuts.offsets))

    def room(self, move: Move) -> float:
        """The largest c with β + cΔ ≥ 0."""
        falls = np.flatnonzero(move.change < 0)
        return float(np.min(self.weights[falls] / -move.change[falls], initial=FARTHEST))

    def mine(self, k: int) -> Ints:
        """The cuts of shard k."""
        return np.flatnonzero(self.shards.owner[self.cuts.samples[: len(self.weights)]] == k)

    def question(self, k: int) -> Message:
        """The turn of worker k: θ, its β, and Σ β_r a_r of its cuts."""
        ids = self.mine(k)
        ids = ids[self.weights[ids] > 0]
        weights = self.weights[ids]
        arrays: Arrays = {"theta": self.theta, "pull": self.cuts.slopes[ids].T @ weights, "of": self.cuts.samples[ids]}
        arrays |= {"samples": self.shards.parts[k], "weights": weights}
        arrays |= packed(self.bounds.problem, self.cuts.witnesses[ids])
        curvature = self.curvature / len(self.shards.parts)
        return {"do": "ascend", "shard": k, "curvature": curvature}, arrays

    def accepted(self, k: int, reply: Message | None) -> tuple[Ints, Floats] | None:
        """Cuts and weights of an answer, if it passes the checks of the module's docstring; else None."""
        if reply is None:
            return None
        samples, weights = reply[1].get("of"), reply[1].get("weights")
        if samples is None or weights is None or not proper(samples, weights, self.shards.parts[k], self.prices):
            self.shards.rejected += 1
            return None
        witnesses = self.shards.placed(samples, reply[1])
        return None if witnesses is None else (self.cuts.add(samples, witnesses, self.bounds.oracle.rows), weights)

    def replaced(self, k: int, taken: tuple[Ints, Floats]) -> Floats:
        """β with the weights of shard k replaced by those of an answer."""
        proposed = self.weights.copy()
        proposed[self.mine(k)] = 0.0
        np.add.at(proposed, *taken)
        return self.priced(proposed)

    def duals(self) -> tuple[Ints, Ints, Floats]:
        """Samples, witnesses and weights of the cuts with weight."""
        ids = np.flatnonzero(self.weights)
        return self.cuts.samples[ids], self.cuts.witnesses[ids], self.weights[ids]


def said(number: object) -> float:
    """A finite number out of a worker's message, ∞ for anything else."""
    return float(number) if isinstance(number, float | int) and np.isfinite(number) else np.inf


def proper(samples: Any, weights: Any, part: Ints, prices: Floats) -> bool:  # out of a message of a worker
    """Whether weights ≥ 0 of samples of this part sum to p_i for each of them."""
    if not isinstance(samples, np.ndarray) or not isinstance(weights, np.ndarray):
        return False
    if samples.dtype != np.int64 or weights.dtype != np.float64 or samples.ndim != 1 or samples.shape != weights.shape:
        return False
    if not np.isin(samples, part).all() or not np.isfinite(weights).all() or (weights < 0).any():
        return False
    mass = np.bincount(samples, weights, len(prices))[part]
    return bool((np.abs(mass - prices[part]) <= EXACT * prices[part]).all())


def boxed(gains: Floats, curves: Floats, most: Floats) -> Floats:
    """c with 0 ≤ c_k ≤ most_k that raises ⟨g, c⟩ − ½ cᵀQc, coordinate by coordinate from c = 0."""
    c = np.zeros(len(gains))
    for _ in range(20):
        for k in np.flatnonzero(np.diag(curves) > 0):
            c[k] = min(max(c[k] + (gains[k] - curves[k] @ c) / curves[k, k], 0.0), most[k])
    return c


@contextmanager
def engaged(bounds: Bounds, request: Request) -> Iterator[tuple[Shards | None, str]]:
    """The workers of a request, or None and why there are none; they go when the block ends."""
    if request.parallel is None:
        yield None, ""
        return
    seconds, told = swept(bounds)
    dear = seconds >= EVEN and seconds >= EACH * len(bounds.samples)
    if not dear and request.master != "shards":
        yield None, f"serial, because {told}; workers save time from {EVEN} s a sweep and {1e3 * EACH:g} ms a sample on"
        return
    with Shards(bounds, request.parallel) as shards:
        shards.open(seconds)
        yield shards, told


@contextmanager
def threaded(bounds: AnyBounds, threads: int | None) -> Iterator[None]:
    """Sweeps of the bounds' oracle in threads until the block ends, where there are sweeps and threads help."""
    if threads is None or not isinstance(bounds, Bounds) or unfit(bounds.oracle, bounds.listing):
        yield
        return
    with bounds.sweeping(threads):
        yield


def told_of_threads(bounds: Bounds, threads: int | None) -> str:
    """How many threads share sweeps and passes, or why there is but one; "" if no number was asked for."""
    if threads is None or bounds.sweeps is None:
        return "" if threads is None else unfit(bounds.oracle, bounds.listing)
    if threads == 1:
        return "1 thread"
    alone = misfit(len(bounds.samples), bounds.oracle.dim) if bounds.sweeps.listing is None else ""
    return f"{threads} threads" + (f", {alone}" if alone else "")


def swept(bounds: Bounds) -> tuple[float, str]:
    """The seconds that the oracle takes for all samples, by a few of them, and a sentence about it."""
    n, each, end = len(bounds.samples), [], 1
    few = bounds.samples[:: max(1, n // TRIED)]
    bounds.oracle.argmax(bounds.start, few[:1])  # compiles
    while end // 2 < len(few) and (len(each) < TWICE or each[-1] * end < ENOUGH):
        began, some = time.perf_counter(), few[end // 2 : end]
        bounds.oracle.argmax(bounds.start, some)
        each.append((time.perf_counter() - began) / len(some))
        end = 2 * end + 1
    spent = min(each) * n
    return spent, f"a sweep of the oracle over {len(bounds.samples)} samples takes {1e3 * spent:.2g} ms"
