"""The other side of shards.py: what a worker keeps of a run, and how it answers.

    do        arrays in → arrays out
    open      the problem                                   → nothing; the words are the formulation and the versions
    hello     θ, a sample                                   → nothing; whoever answers has loaded what a sweep needs
    argmax    θ, samples                                    → their highest cuts at θ
    decode    θ, samples                                    → what θ predicts for them
    ascend    θ, samples, cuts with β, Σ β_r a_r of them     → cuts with β after a pass over the shard

A worker of another version of cutbench refuses to open.
"""

from __future__ import annotations

import numpy as np

from workbench.arithmetic.compiled import available
from workbench.contracts import CutForm, Floats, Formulation, Ints, Numbers, Problem, Recording
from workbench.errors import BadInput
from workbench.solvers.dual_block import DualBlock, begun, prepared, seated
from workbench.solving import transfer
from workbench.solving.solution import release
from workbench.solving.transfer import Arrays
from workbench.system.processes import Message
from workbench.system.workers import Unopened


class Desk:
    """What a worker keeps of a run: the pair, and the ascents of the shards that it was asked about."""

    def __init__(self, formulation: Formulation, problem: Problem):
        assert isinstance(formulation, CutForm)
        self.formulation, self.problem = formulation, problem
        self.oracle, self.prices = formulation.oracle(problem), formulation.prices(problem).floats()
        self.local: dict[int, Local] = {}


class Local:
    """One shard's ascent at a worker: dual-block with curvature μ' = μ/K, from the driver's θ and β.

    θ is base + own here, own = −Σ_r β_r a_r/μ' over the cuts of the shard; base stays the same during a turn. The
    pool of cuts remains between the turns.
    """

    def __init__(self, desk: Desk, part: Ints, curvature: float, seed: int):
        self.desk, self.part, self.solver = desk, part, DualBlock(seed=seed)
        self.prices, self.rng = np.zeros(len(desk.prices)), np.random.default_rng(seed)
        self.prices[part] = desk.prices[part]
        self.state = begun(desk.oracle, desk.problem.truth, self.prices, curvature, seed)
        kernel = desk.oracle.kernel()
        self.tools = prepared(kernel, self.prices, self.state, available() and bool(kernel.data))

    def ascend(self, theta: Floats, pull: Floats, samples: Ints, witnesses: Ints, weights: Floats) -> None:
        """One pass over the oracle and its cached sweeps."""
        self.hold(samples, witnesses, weights)
        own = -pull / self.state.curvature
        self.state.base = theta - own
        self.state.point.theta[:] = theta
        self.solver.advance(self.tools, self.prices, self.state, self.rng.permutation(self.part))

    def hold(self, samples: Ints, witnesses: Ints, weights: Floats) -> None:
        """Give the cuts of the driver its weights, all others 0."""
        pool = self.state.pool
        everyone = np.repeat(np.arange(len(pool.count)), pool.count)
        cuts = pool.member[np.arange(pool.member.shape[1]) < pool.count[:, None]]
        pool.weight[:] = 0.0
        known = {(i, pool.witness[r].tobytes()): r for i, r in zip(everyone.tolist(), cuts.tolist(), strict=True)}
        keys = [(i, witness.tobytes()) for i, witness in zip(samples.tolist(), witnesses, strict=True)]
        fresh = [j for j, key in enumerate(keys) if key not in known]
        old = [j for j, key in enumerate(keys) if key in known]
        pool.weight[[known[keys[j]] for j in old]] = weights[old]
        offsets = self.desk.oracle.rows(samples[fresh], witnesses[fresh])[1] if fresh else np.empty(0)
        for j, offset in zip(fresh, offsets, strict=True):
            cut = seated(self.tools, self.state, int(samples[j]), witnesses[j].copy())
            self.state.pool.weight[cut], self.state.pool.offset[cut] = weights[j], offset


DESKS: dict[str, Desk] = {}
KEPT = 4  # runs of which a worker keeps the problem


def answer(numbers: Numbers, arrays: Arrays) -> Message:
    """The work of a worker."""
    if numbers["do"] == "open":
        if numbers.get("version") != release():
            raise BadInput(
                f"A worker has cutbench {release()} and the driver {numbers.get('version')}; install the same on both."
            )
        while len(DESKS) >= KEPT:
            DESKS.pop(next(iter(DESKS)))
        DESKS[numbers["run"]] = Desk(*transfer.received(numbers, arrays))
        return {}, {}
    if numbers["run"] not in DESKS:
        raise Unopened(numbers["run"])
    desk, part = DESKS[numbers["run"]], arrays["samples"]
    if numbers["do"] == "hello":
        desk.oracle.argmax(arrays["theta"], part)
        return {}, {}
    if numbers["do"] in ("argmax", "decode"):
        asked = desk.oracle.argmax if numbers["do"] == "argmax" else desk.oracle.decode
        return {}, packed(desk.problem, asked(arrays["theta"], part))
    shard, held = numbers["shard"], unpacked(desk.problem, arrays)
    if shard not in desk.local:
        desk.local[shard] = Local(desk, part, numbers["curvature"], shard)
    local = desk.local[shard]
    local.ascend(arrays["theta"], arrays["pull"], arrays["of"], held, arrays["weights"])
    samples, witnesses, weights = local.solver.duals(local.state)
    met = {"gap": local.state.gap, "risk": float(local.state.desk.met[1]), "peak": float(local.state.desk.met[2])}
    return met, {"of": samples, "weights": weights, **packed(desk.problem, witnesses)}


def packed(problem: Problem, witnesses: Ints) -> Arrays:
    """Witnesses as arrays for a file or another process; outputs that are objects of the user in full."""
    more = problem.recorded(witnesses[:, 0]) if isinstance(problem, Recording) else {}
    return {"witnesses": witnesses, **more}


def unpacked(problem: Problem, arrays: Arrays, believe: bool = True) -> Ints:
    """The witnesses that `packed` packed, in this process's own numbering."""
    return problem.admitted(arrays, believe)[:, None] if isinstance(problem, Recording) else arrays["witnesses"]
