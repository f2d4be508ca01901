"""The one cut-generation loop.

    repeat   θ, β ← master over the rows so far          (solving/masters/master.py)
             upper ← F(θ),  lower ← dual value of β       (proofs/bounds.py: data only)
             ask the oracle for the highest cuts at θ; append those the master does not know
    until    (upper − lower) relative to their size ≤ gap

Samples are split into groups, one row per group and round: a row is the price-weighted mean of one
atom per sample. n groups are the n-slack form, one group the one-slack form (Joachims, Finley & Yu
2009); all have the same optimum. Prices of ∞ make every atom a hard row of its own.

Pruning: a row leaves after two consecutive rounds without weight, only when the lower bound rose, and
only once; dropping at once can cycle, and near the limits of floating point so can dropping twice.

Stopping: `optimal` on the certified gap and on nothing else. When the oracle finds no row that the
master lacks, the backend's accuracy is what is missing: its tolerance is tightened, and if that
brings nothing new the run ends `stalled`. `limit` is a limit of rounds or time.

With a journal (system/journal.py) each finished round is a line of kind `round`: its numbers as in
`Progress.history`, `state` (tolerance, polished, masters, cpu_seconds), and the arrays

    samples, witnesses    the atoms generated since the line before; atoms are numbered as they come
    recorded_…            what these witnesses are, where outputs are objects of the user's
    atoms, lengths        the rows generated since then: their atoms, one row after the other
    rows, multipliers, idle    the rows held, by number; β; rounds without weight
    theta                 the master's θ;  best : the θ that attains `upper`, if it is another than before
    support, weights      the atom weights that attain `lower`, where they are positive, if it rose

`Run.restore` makes of them a run that goes on after that round. Slopes and offsets are no part of a
line: they are rebuilt from the witnesses and the data, and both bounds are computed anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.arithmetic.arrays import taken
from workbench.contracts import Cuts, Floats, Ints, Rows, enumerated
from workbench.errors import BackendFailed, NotSeparable
from workbench.proofs.bounds import Bounds
from workbench.solving.masters.master import MasterAnswer
from workbench.solving.masters.polish import farkas_ray, polished
from workbench.system.journal import Journal

TIGHTEST = 1e-13
SHARE = 0.1  # of the gap: how well a master that can stop early is solved
Observe = Callable[[dict[str, Any]], None]


@dataclass
class Progress:
    """Where a cut-generation run stands: the best bounds, who attains them, and how it went.

    theta attains `upper`, the atom weights `weights` attain `lower`; latest is the master's last θ
    """

    theta: Floats
    latest: Floats
    weights: Floats = field(default_factory=lambda: np.empty(0))
    upper: float = np.inf
    lower: float = -np.inf
    status: str = "limit"
    history: list[dict[str, Any]] = field(default_factory=list)
    masters: list[str] = field(default_factory=list)  # those that took part, in order
    said: str = ""  # by the last master's solver, of itself
    before: tuple[float, float] = (0.0, 0.0)  # seconds and CPU seconds of the sessions that the journal tells of


class Family:
    """The constraint family of a formulation: atoms, their grouping into rows, and both bounds.

    proven : its bounds are, so a lower one above an upper one is a contradiction, not rounding
    caution : what hard rows of zero offset are raised by in the master, so that its θ keeps them
        strictly and scaling can make θ feasible; the bounds use the true offsets
    """

    proven = True

    def __init__(self, bounds: Bounds, groups: int, caution: float = 0.0):
        self.caution = caution
        self.bounds, self.cuts = bounds, Cuts(bounds.oracle.dim, bounds.oracle.width)
        self.samples, self.hard = bounds.samples, bounds.prices.hard
        self.least = np.inf  # of the upper bounds so far
        self.suspicious = 1e4  # a ‖θ‖ at which hard rows are tested for a contradiction
        n = len(self.samples)
        self.group_of: Ints = np.arange(n) * min(groups, n) // n
        weights = bounds.prices.weights[self.samples]
        mass = np.bincount(self.group_of, weights)
        self.share: Floats = np.ones(n) if self.hard else weights / mass[self.group_of]
        self.prices: Floats = np.empty(0) if self.hard else mass / bounds.prices.total
        self.n_groups = len(mass)
        self.members = np.split(np.arange(n), np.flatnonzero(np.diff(self.group_of)) + 1)
        if self.hard:
            self.members = [np.array([j]) for j in range(n)]
        self.position: Ints = np.full(bounds.oracle.n_samples, -1)  # where each sample stands in `samples`
        self.position[self.samples] = np.arange(n)

    @property
    def start(self) -> Floats:
        return self.bounds.start

    @property
    def negligible(self) -> float:
        """A hard row violated by less than this, relative to the gap asked for, is no violation."""
        return self.bounds.oracle.least_loss

    def gap(self, upper: float, lower: float) -> float:
        return self.bounds.gap(upper, lower)

    def lower(self, weights: Floats, answer: Any) -> float:
        """The certified dual value of atom weights μ; the master's answer plays no part."""
        return self.bounds.lower(self.cuts, weights, self.least)

    def feasible(self, theta: Floats) -> Floats:
        """θ in r's domain, which a backend's answer misses by its tolerance."""
        return self.bounds.regularizer.feasible(theta)

    def separate(self, theta: Floats) -> tuple[float, list[Ints]]:
        """F(θ) rounded up, and for each group the atoms of its highest row at θ."""
        witnesses = self.bounds.oracle.argmax(theta, self.samples)
        slopes, offsets = self.bounds.oracle.rows(self.samples, witnesses)
        upper = self.bounds.upper(theta, witnesses, (slopes, offsets))
        self.least = min(self.least, upper)

        def known(samples: Ints, _: Ints) -> tuple[sparse.csr_array, Floats]:
            at = self.position[samples]
            return taken(slopes, at), offsets[at]

        ids = self.cuts.add(self.samples, witnesses, known)
        atoms = [ids[members] for members in self.members]
        if self.hard:  # the truth's own row says 0 ≤ 0
            truth = (witnesses == self.bounds.problem.truth[self.samples]).all(axis=1)
            atoms = [a for a, trivial in zip(atoms, truth, strict=True) if not trivial]
        return upper, atoms

    def truths(self) -> list[Ints]:
        """The rows h_i ≥ 0 of the true outputs: without them a master is unbounded where r leaves θ free."""
        truth = self.bounds.problem.truth[self.samples]
        ids = self.cuts.add(self.samples, truth, self.bounds.oracle.rows)
        return [ids[members] for members in self.members]

    def everything(self) -> list[Ints]:
        """The rows of all outputs, where a sample's output is a single label."""
        samples, witnesses = enumerated(self.bounds.problem, self.samples)
        ids = self.cuts.add(samples, witnesses, self.bounds.oracle.rows)
        return list(ids[:, None])

    def value(self, theta: Floats) -> float:
        """F(θ), rounded up."""
        return self.bounds.upper(theta)

    def atoms_since(self, since: int) -> dict[str, NDArray]:
        """What `rebuild` needs of the atoms from number `since` on; outputs that are objects are recorded in full."""
        samples, witnesses = self.cuts.samples[since:], self.cuts.witnesses[since:]
        more = self.bounds.problem.recorded(witnesses[:, 0]) if hasattr(self.bounds.problem, "recorded") else {}
        return {"samples": samples, "witnesses": witnesses, **more}

    def rebuild(self, arrays: dict[str, NDArray]) -> None:
        """Generate the atoms of `atoms_since` again, from the data."""
        witnesses = arrays["witnesses"]
        if hasattr(self.bounds.problem, "admitted"):
            witnesses = self.bounds.problem.admitted(arrays)[:, None]
        self.cuts.add(arrays["samples"], witnesses, self.bounds.oracle.rows)

    def rows(self, atoms: list[Ints]) -> Rows:
        """Rows made of the given atoms, one atom per member of a group."""
        if not atoms:
            return Rows.none(self.cuts.dim)
        flat = np.concatenate(atoms)
        lengths = np.array([len(a) for a in atoms])
        starts = np.concatenate([[0], np.cumsum(lengths)])
        where = self.position[self.cuts.samples[flat]]
        groups = np.full(len(atoms), -1) if self.hard else self.group_of[where[starts[:-1]]]
        if len(flat) == len(atoms):
            offsets = self.cuts.offsets[flat]
            offsets = np.where(offsets == 0, self.caution, offsets) if self.hard else offsets
            return Rows(sparse.csr_array(self.cuts.slopes[flat]), offsets, groups)
        mix = sparse.csr_array((self.share[where], flat, starts), shape=(len(atoms), len(self.cuts)))
        return Rows(sparse.csr_array(mix @ self.cuts.slopes), mix @ self.cuts.offsets, groups)

    def weights(self, atoms: list[Ints], multipliers: Floats) -> Floats:
        """Atom weights μ (K,) of row multipliers β: μ_k = Σ_r β_r · share of atom k in row r."""
        if not atoms:
            return np.zeros(len(self.cuts))
        flat = np.concatenate(atoms)
        spread = np.repeat(multipliers, [len(a) for a in atoms])
        share = self.share[self.position[self.cuts.samples[flat]]]
        return self.bounds.balanced(self.cuts, np.bincount(flat, spread * share, len(self.cuts)))

    def polish(self, atoms: list[Ints], multipliers: Floats) -> MasterAnswer | None:
        """θ and β from the active-set finish, where r is a squared norm."""
        curvature = getattr(self.bounds.regularizer, "curvature", None)
        if curvature is None:
            return None
        rows = self.rows(atoms)
        beta = polished(rows, multipliers, self.prices, curvature)
        return None if beta is None else MasterAnswer(-(rows.slopes.T @ beta) / curvature, beta, "active set")

    def check(self, atoms: list[Ints], answer: Any) -> None:
        """Raise `NotSeparable` with a Farkas ray if hard rows contradict one another."""
        if not self.hard or (not answer.ray and np.linalg.norm(answer.theta) < self.suspicious):
            return
        found = farkas_ray(self.rows(atoms))
        if found is None:
            self.suspicious *= 100
            return
        ray, norm = found
        ids = np.concatenate(atoms)[ray > 0]
        samples, witnesses = self.cuts.samples[ids], self.cuts.witnesses[ids]
        problem = self.bounds.problem
        pairs = [
            f"sample {i} ({problem.describe(i, problem.truth[i])} against {problem.describe(i, z)})"
            for i, z in zip(samples, witnesses, strict=True)
        ]
        shown = ", ".join(pairs[:5]) + (f" and {len(pairs) - 5} more" if len(pairs) > 5 else "")
        raise NotSeparable(
            f"No weights reach every margin: a Farkas ray combines {len(pairs)} contradictory "
            f"cut{'s' if len(pairs) > 1 else ''}, {shown}; "
            f"use soft-margin or correct these labels.",
            samples,
            witnesses,
            ray[ray > 0],
            norm,
            self.bounds.formulation,
            problem,
        )


def generate(
    family: Any,
    master: Any,
    gap: float,
    max_rounds: int | None = None,
    time_limit: float | None = None,
    observe: Observe | None = None,
    held: Sequence[Ints] = (),
    journal: Journal | None = None,
    warm: tuple[Floats, Floats] | None = None,
) -> Progress:
    """Run the loop on a family of cuts with a master; see the module's docstring.

    family : a `Family` (cuts of a formulation) or a `LazyFamily` (rows of any CVXPY program)
    max_rounds, time_limit : from here on; one round is begun in any case
    held : rows known from before, as the family's handles
    warm : multipliers of the rows in `held`, and the θ to ask the oracle at first
    journal : takes each finished round; the rounds that it holds are not run again
    """
    run = Run(family, master, gap, observe, journal)
    run.restore()
    if not run.rounds:
        run.append(list(held))
        if warm is not None:
            run.master.warm(warm[0])
            run.theta = warm[1]
    query, last_round = run.theta, run.rounds + (max_rounds or np.inf)
    run.deadline = run.seconds + (time_limit or np.inf)
    while True:
        fresh = run.separate(query)
        if run.relative_gap <= gap:
            break
        if fresh or not run.rounds:
            run.solve()
        elif not run.refine():
            run.state.status = "stalled"
            break
        if run.relative_gap <= gap:
            break
        run.prune()
        query = run.theta
        if run.rounds >= last_round or run.left <= 0:
            break
    if run.relative_gap <= gap:
        run.state.status = "optimal"
    return run.finish()


class Run:
    """The state of one cut-generation run and the steps of its loop."""

    def __init__(
        self, family: Any, master: Any, gap: float, observe: Observe | None = None, journal: Journal | None = None
    ):
        self.family, self.master, self.observe, self.journal, self.gap = family, master, observe, journal, gap
        self.started, self.oracle_seconds, self.master_seconds = time.perf_counter(), 0.0, 0.0
        self.cpu_started, self.deadline = time.process_time(), np.inf
        self.state = Progress(family.start, family.start, masters=[master.name])
        self.theta = family.start
        self.held: list[Ints] = []  # the atoms of each row that the master holds
        self.idle: Ints = np.empty(0, np.int64)
        self.dropped: set[bytes] = set()
        self.numbers: Ints = np.empty(0, np.int64)  # of the rows held, counted as they came
        self.appended, self.fresh = 0, list[Ints]()  # how many rows there were, and those no journal has yet
        self.journalled, self.best = 0, None  # how many atoms the journal has, and which θ
        self.tolerance, self.rose, self.rounds, self.polished = max(0.1 * gap, TIGHTEST), False, 0, False

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    @property
    def left(self) -> float:
        """Seconds until the time limit."""
        return self.deadline - self.seconds

    @property
    def relative_gap(self) -> float:
        return self.family.gap(self.state.upper, self.state.lower)

    def separate(self, query: Floats) -> bool:
        """Ask the oracle at `query`, update the upper bound, append new rows; whether there were any."""
        clock = time.perf_counter()
        query = self.family.feasible(query)
        upper, atoms = self.family.separate(query)
        self.oracle_seconds += time.perf_counter() - clock
        if upper < self.state.upper:
            self.state.upper, self.state.theta = upper, query
        known = {a.tobytes() for a in self.held}
        new = [a for a in atoms if a.tobytes() not in known]
        if new:
            missing = self.violations(self.family.rows(new), query) > self.negligible
            new = [a for a, lacking in zip(new, missing, strict=True) if lacking]
        self.append(new)
        return bool(new)

    def append(self, atoms: list[Ints]) -> None:
        """Give rows to the master."""
        if atoms:
            self.master.append(self.family.rows(atoms))
            self.held += atoms
            self.fresh += atoms
            self.numbers = np.concatenate([self.numbers, self.appended + np.arange(len(atoms))])
            self.appended += len(atoms)
            self.idle = np.concatenate([self.idle, np.zeros(len(atoms), np.int64)])
            self.polished = False

    def violations(self, rows: Rows, theta: Floats) -> Floats:
        """How far each row rises above what the master knows of its group at θ."""
        known = np.full(self.family.n_groups + 1, -np.inf)  # the last place is that of group −1
        known[-1] = 0.0
        held = self.master.rows
        np.maximum.at(known, held.groups, held.slopes @ theta + held.offsets)
        if self.family.hard:
            known[-1] = 0.0
        return rows.slopes @ theta + rows.offsets - known[rows.groups]

    @property
    def negligible(self) -> float:
        """A violation that no longer matters: all of them together move the gap by a thousandth."""
        if self.family.hard:
            return 1e-3 * self.gap * self.family.negligible
        left = self.state.upper - self.state.lower
        return 1e-3 * left / self.family.prices.sum() if np.isfinite(left) else 0.0

    def solve(self) -> None:
        """Solve the master and update the lower bound."""
        clock = time.perf_counter()
        left = self.state.upper - self.state.lower
        limit = max(self.left, 1e-3) if np.isfinite(self.deadline) else None
        answer = self.master.solve(self.tolerance, SHARE * left if np.isfinite(left) else SHARE, limit)
        self.master_seconds += time.perf_counter() - clock
        self.state.said = answer.status
        if answer.stopped:  # what is proven so far stays
            self.deadline = self.seconds
            return
        self.family.check(self.held, answer)
        if np.isfinite(answer.theta).all():
            self.accept(answer)
        elif self.succeed():
            self.solve()
        else:
            raise BackendFailed(
                f"{self.master.name} returned no weights in round {self.rounds + 1} "
                f"({answer.status}); try another backend."
            )

    def succeed(self) -> bool:
        """Give the rows to the next master in line, if there is one."""
        if (stronger := self.master.stronger()) is None:
            return False
        self.master, self.tolerance = stronger, max(0.1 * self.gap, TIGHTEST)
        self.state.masters.append(stronger.name)
        return True

    def accept(self, answer: MasterAnswer) -> None:
        """Take θ and row multipliers, from whatever source, through the bounds and into the record."""
        multipliers = answer.multipliers
        self.rounds, self.multipliers = self.rounds + 1, multipliers
        self.theta = self.state.latest = answer.theta
        weights = self.family.weights(self.held, multipliers)
        lower = self.family.lower(weights, answer)
        self.rose = lower > self.state.lower
        if self.rose:
            self.state.lower, self.state.weights = lower, weights
        if self.state.lower > self.state.upper and not self.family.proven:
            self.state.lower = self.state.upper
        self.family.gap(self.state.upper, self.state.lower)  # raises `Contradiction` before the round is on record
        active = multipliers > 1e-7 * multipliers.max(initial=0.0)
        self.idle = np.where(active, 0, self.idle + 1)
        self.record(int(active.sum()))

    def refine(self) -> bool:
        """No row is missing: get more accuracy from the active-set finish, a tighter or a stronger master."""
        if not self.polished:
            self.polished = True
            if proposal := self.family.polish(self.held, self.multipliers) or self.master.finish():
                self.accept(proposal)
                return True
        if self.tolerance <= TIGHTEST and not self.succeed():
            return False
        self.tolerance, self.polished = max(self.tolerance * 1e-2, TIGHTEST), False
        self.solve()
        return True

    def prune(self) -> None:
        """Drop rows idle for two rounds, if the lower bound rose; a row that came back stays for good."""
        idle = (self.idle >= 2) & np.array([a.tobytes() not in self.dropped for a in self.held], bool)
        if self.rose and idle.any():
            stay = np.flatnonzero(~idle)
            self.dropped |= {self.held[j].tobytes() for j in np.flatnonzero(idle)}
            self.master.keep(stay)
            self.held, self.idle = [self.held[j] for j in stay], self.idle[stay]
            self.multipliers, self.numbers = self.multipliers[stay], self.numbers[stay]

    def finish(self) -> Progress:
        """The state, its last round brought up to date with the oracle's last answer."""
        if not self.state.history:  # a limit came before the first round's end
            self.state.history.append(self.entry(0))
        last = self.state.history[-1]
        last |= {"upper": self.state.upper, "gap": self.relative_gap, "seconds": self.seconds}
        if self.journal and self.state.status != "limit" and not self.journal.finished:
            self.journal.append("end", {"status": self.state.status} | last)
        return self.state

    def record(self, active: int) -> None:
        entry = self.entry(active)
        self.state.history.append(entry)
        if self.journal:
            self.checkpoint(entry)
        if self.observe:
            self.observe(entry)

    def entry(self, active: int) -> dict[str, Any]:
        return {
            "round": self.rounds,
            "upper": self.state.upper,
            "lower": self.state.lower,
            "gap": self.relative_gap,
            "cuts": len(self.held),
            "active": active,
            "seconds": self.seconds,
            "oracle_seconds": self.oracle_seconds,
            "master_seconds": self.master_seconds,
        }

    def checkpoint(self, entry: dict[str, Any]) -> None:
        """The round as a line of the journal; see the module's docstring."""
        state = {"tolerance": self.tolerance, "polished": self.polished, "masters": self.state.masters}
        state["cpu_seconds"] = time.process_time() - self.cpu_started
        arrays = self.family.atoms_since(self.journalled)
        arrays |= {"atoms": joined(self.fresh), "lengths": np.array([len(a) for a in self.fresh], np.int64)}
        arrays |= {"rows": self.numbers, "multipliers": self.multipliers, "idle": self.idle, "theta": self.theta}
        if self.state.theta is not self.best:
            arrays["best"] = self.best = self.state.theta
        if self.rose:
            arrays["support"] = np.flatnonzero(self.state.weights)
            arrays["weights"] = self.state.weights[arrays["support"]]
        self.journal.append("round", entry | {"state": state}, **arrays)
        self.fresh, self.journalled = [], self.journalled + len(arrays["samples"])

    def restore(self) -> None:
        """Stand where the journal's last round ended."""
        lines = self.journal.of("round") if self.journal else []
        if not lines:
            return
        rows: list[Ints] = []
        last: dict[str, Any] = {}  # of each array the last one written
        for line in lines:
            arrays = line.arrays()
            self.family.rebuild(arrays)
            rows += np.split(arrays["atoms"], np.cumsum(arrays["lengths"]))[:-1]
            last |= arrays
        history = [dict(line.numbers) for line in lines]
        state = [entry.pop("state") for entry in history][-1]
        for _ in state["masters"][1:]:
            self.master = self.master.stronger() or self.master
        self.append([rows[k] for k in last["rows"]])
        self.dropped = {rows[k].tobytes() for k in np.setdiff1d(np.arange(len(rows)), last["rows"])}
        self.numbers, self.appended, self.fresh, self.journalled = last["rows"], len(rows), [], len(self.family.cuts)
        self.idle, self.multipliers, self.rose = last["idle"], last["multipliers"], "support" in arrays
        self.master.warm(self.multipliers)
        self.tolerance, self.polished, self.rounds = state["tolerance"], state["polished"], history[-1]["round"]
        self.theta, self.best = last["theta"], last["best"]
        self.state = Progress(self.best, self.theta, history=history, masters=state["masters"])
        self.state.upper = self.family.value(self.best)
        if "support" in last:
            self.state.weights = np.bincount(last["support"], last["weights"], len(self.family.cuts))
            self.state.lower = self.family.lower(self.state.weights, None)
        self.state.before = history[-1]["seconds"], state["cpu_seconds"]
        self.started, self.cpu_started = self.started - history[-1]["seconds"], self.cpu_started - state["cpu_seconds"]
        self.oracle_seconds, self.master_seconds = history[-1]["oracle_seconds"], history[-1]["master_seconds"]
        self.prune()


def joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
