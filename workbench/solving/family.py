"""The constraint family of a formulation: cuts of an oracle, grouped into rows, with both bounds.

Samples are split into groups, one row for each group and round: a row is the price-weighted mean of one cut for each
sample. n groups are the n-slack form, one group is the one-slack form (Joachims, Finley & Yu 2009); all have the same
optimum. Prices of ∞ make every cut a hard row of its own.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.arithmetic.arrays import summed, taken
from workbench.contracts import Cuts, Enumerable, Floats, Ints, Rows, enumerated
from workbench.errors import NotSeparable, shortened
from workbench.proofs.bounds import Bounds
from workbench.solving.masters.face import FAINT, settled
from workbench.solving.masters.master import MasterAnswer
from workbench.solving.masters.polish import farkas_ray
from workbench.solving.progress import Clock
from workbench.solving.shards import Shards, packed, unpacked

PIECE = 0.25  # seconds
SHOWN = 120  # characters of an output in a message
HEAVY, ENTRIES = 5000, 100_000  # cuts among which passes look for a contradiction, and their entries at most


class CutFamily(Protocol):
    """The contract between cut generation and a family of constraints, kept by `Family` and `LazyFamily`.

    A handle is an array of whole numbers that names one row.

    hard : rows have no ξ;  proven : both bounds are proven, so a lower bound above an upper bound is a bug
    n_groups, prices : the groups that share a ξ, and p (groups,)
    start : the first θ;  negligible : the unit in which a violation of a hard row is measured
    """

    hard: bool
    proven: bool
    n_groups: int
    prices: Floats

    @property
    def start(self) -> Floats: ...

    @property
    def negligible(self) -> float: ...

    def feasible(self, theta: Floats, /) -> Floats:
        """A point near θ, or θ itself, where the oracle may be asked."""
        ...

    def separate(self, theta: Floats, clock: Clock, /) -> tuple[float, list[Ints]]:
        """An upper bound at θ, and handles of the highest rows there; raises `Deadline` at the clock's deadline."""
        ...

    def rows(self, handles: list[Ints], /) -> Rows: ...

    def weights(self, handles: list[Ints], multipliers: Floats, /) -> Floats:
        """Dual weights of cuts, from multipliers of rows."""
        ...

    def lower(self, weights: Floats, answer: MasterAnswer | None) -> float:
        """A lower bound by dual weights; `answer` is the master's, None after a resume."""
        ...

    def gap(self, upper: float, lower: float) -> float: ...

    def polish(self, handles: list[Ints], multipliers: Floats, /) -> MasterAnswer | None:
        """A sharper θ and β from the rows that hold with equality, or None."""
        ...

    def check(self, handles: list[Ints], answer: MasterAnswer, seconds: float, /) -> None:
        """Raise if the rows contradict one another, as far as a search of these seconds finds."""
        ...

    def confirmed(self, theta: Floats, upper: float, /) -> float:
        """The upper bound at θ that rests on no other machine; `upper` is the one that `separate` gave."""
        ...

    def doubt(self, theta: Floats, wholly: bool, /) -> bool:
        """Whether a worker may have missed a new row at θ; if so, the oracle is evaluated in this process from now on.

        This process checks a few samples with its own oracle. With `wholly` the answer is yes if there are workers, so
        that the caller then evaluates all samples here.
        """
        ...

    def trust(self) -> None:
        """Ask the machines in doubt again."""
        ...


class RebuiltFamily(CutFamily, Protocol):
    """A family whose cuts can be rebuilt from their witnesses and the data, for a run with a journal."""

    def value(self, theta: Floats) -> float:
        """An upper bound at θ."""
        ...

    def atoms_since(self, since: int) -> dict[str, NDArray]:
        """The arrays from which `rebuild` makes the cuts from number `since` on, for a journal."""
        ...

    def rebuild(self, arrays: dict[str, NDArray]) -> None:
        """Generate cuts that a journal kept again, from the data."""
        ...

    @property
    def count(self) -> int:
        """The number of cuts."""
        ...


class Family:
    """The constraint family of a formulation: atoms, their grouping into rows, and both bounds.

    proven : both bounds are proven, so a lower bound above an upper bound is a contradiction, not rounding
    caution : the offset of hard rows of zero offset in the master, so that its θ satisfies these rows strictly and
        scaling can make θ feasible; the bounds use the true offsets
    cuts : the pool to begin with, such as that of the same problem at another λ
    """

    proven = True

    def __init__(
        self,
        bounds: Bounds,
        groups: int,
        caution: float = 0.0,
        shards: Shards | None = None,
        cuts: Cuts | None = None,
    ):
        self.caution, self.shards = caution, shards
        self.suspended: Shards | None = None  # `shards`, while their answers are doubted
        self.remote_possible = shards is not None  # whether an upper bound may rest on another machine
        self.checked_uppers: dict[bytes, float] = {}  # the last upper bound of this machine alone, by its θ
        self.bounds, self.cuts = bounds, Cuts(bounds.oracle.dim, bounds.oracle.width) if cuts is None else cuts
        self.samples, self.hard = bounds.samples, bounds.prices.hard
        self.least = np.inf  # of the upper bounds so far
        self.piece = 64  # samples that the oracle is asked for at a time, under a time limit
        self.suspicious = 1e4  # a ‖θ‖ at which hard rows are tested for a contradiction
        n = len(self.samples)
        self.group_of: Ints = np.arange(n) * min(groups, n) // n
        weights = bounds.prices.weights[self.samples]
        mass = np.bincount(self.group_of, weights)
        self.share: Floats = np.ones(n) if self.hard else weights / mass[self.group_of]
        self.prices: Floats = np.empty(0) if self.hard else mass / bounds.prices.total
        self.n_groups = len(mass)
        self.position: Ints = np.full(bounds.oracle.n_samples, -1)  # where each sample stands in `samples`
        self.position[self.samples] = np.arange(n)

    @cached_property
    def members(self) -> list[Ints]:
        """The places in `samples` of each group's samples; of each sample where rows are hard."""
        n = len(self.samples)
        ends = np.arange(1, n) if self.hard else np.flatnonzero(np.diff(self.group_of)) + 1
        return np.split(np.arange(n), ends)

    @property
    def start(self) -> Floats:
        return self.bounds.start

    @property
    def negligible(self) -> float:
        """A hard row violated by less than this, relative to the gap asked for, is no violation."""
        return self.bounds.oracle.least_loss

    def gap(self, upper: float, lower: float) -> float:
        return self.bounds.gap(upper, lower)

    @property
    def count(self) -> int:
        return len(self.cuts)

    def lower(self, weights: Floats, answer: MasterAnswer | None) -> float:
        """The certified dual value of atom weights μ; the master's answer plays no part."""
        return self.bounds.lower(self.cuts, weights, self.least)

    def feasible(self, theta: Floats) -> Floats:
        """θ in r's domain, which a backend's answer misses by its tolerance."""
        return self.bounds.regularizer.feasible(theta)

    def separate(self, theta: Floats, clock: Clock) -> tuple[float, list[Ints]]:
        """F(θ) rounded up, and for each group the atoms of its highest row at θ."""
        witnesses = self.answers(theta, clock)
        slopes, offsets = self.bounds.oracle.rows(self.samples, witnesses)
        upper = self.bounds.upper(theta, witnesses, (slopes, offsets))
        if self.shards is None:
            self.least = min(self.least, upper)
            if self.remote_possible:
                self.checked_uppers = {theta.tobytes(): upper}

        def known(samples: Ints, _: Ints) -> tuple[sparse.csr_array, Floats]:
            at = self.position[samples]
            return taken(slopes, at), offsets[at]

        ids = self.cuts.add(self.samples, witnesses, known)
        atoms = [ids[members] for members in self.members]
        if self.hard:  # the truth's own row says 0 ≤ 0
            truth = (witnesses == self.bounds.truth[self.samples]).all(axis=1)
            atoms = [a for a, trivial in zip(atoms, truth, strict=True) if not trivial]
        return upper, atoms

    def confirmed(self, theta: Floats, upper: float) -> float:
        if not self.remote_possible or not np.isfinite(upper):
            return upper
        key = theta.tobytes()
        if key not in self.checked_uppers:
            with nullcontext() if self.shards is None else self.shards.predicting(theta):
                self.checked_uppers = {key: self.bounds.upper(theta)}
            self.least = min(self.least, self.checked_uppers[key])
        return self.checked_uppers[key]

    def doubt(self, theta: Floats, wholly: bool) -> bool:
        sound = self.shards is None or not (wholly or self.shards.missed(theta))
        self.suspended, self.shards = (None, self.shards) if sound else (self.shards, None)
        return not sound

    def trust(self) -> None:
        if self.suspended is not None:
            self.shards, self.suspended = self.suspended, None

    def answers(self, theta: Floats, clock: Clock) -> Ints:
        """The oracle's answers at θ for all samples; under a time limit piece by piece, each of about PIECE seconds."""
        if (self.shards is not None or not self.remote_possible) and np.array_equal(theta, self.start):
            return self.bounds.opening
        if self.shards is not None:
            return self.shards.argmax(theta, self.samples)
        if np.isinf(clock.deadline):
            return self.bounds.highest(theta, self.samples)
        found, done, size = [], 0, self.piece
        while done < len(self.samples):
            clock.check()
            began = clock.seconds
            found.append(self.bounds.highest(theta, self.samples[done : done + size]))
            done += size
            spent = max(clock.seconds - began, 1e-6)
            size = int(np.clip(size * PIECE / spent, 1, 4 * size))
        self.piece = size
        return np.concatenate(found)

    def truths(self) -> list[Ints]:
        """The rows h_i ≥ 0 of the true outputs: without them a master is unbounded where r leaves θ free."""
        truth = self.bounds.truth[self.samples]
        ids = self.cuts.add(self.samples, truth, self.bounds.oracle.rows)
        return [ids[members] for members in self.members]

    def everything(self) -> list[Ints]:
        """The rows of all outputs, where a sample's output is a single label."""
        assert isinstance(self.bounds.problem, Enumerable)  # `labels_of` asked
        samples, witnesses = enumerated(self.bounds.problem, self.samples)
        ids = self.cuts.add(samples, witnesses, self.bounds.oracle.rows)
        return list(ids[:, None])

    def value(self, theta: Floats) -> float:
        """F(θ), rounded up."""
        return self.bounds.upper(theta)

    def atoms_since(self, since: int) -> dict[str, NDArray]:
        """The arrays of the atoms from number `since` on, for `rebuild`; outputs that are objects in full."""
        return self.packed(self.cuts.samples[since:], self.cuts.witnesses[since:])

    def packed(self, samples: Ints, witnesses: Ints) -> dict[str, NDArray]:
        """Samples and witnesses as arrays for a journal; outputs that are objects in full."""
        return {"samples": samples, **packed(self.bounds.problem, witnesses)}

    def unpacked(self, arrays: dict[str, NDArray]) -> tuple[Ints, Ints]:
        """The samples and witnesses that `packed` packed."""
        return arrays["samples"], unpacked(self.bounds.problem, arrays)

    def rebuild(self, arrays: dict[str, NDArray]) -> None:
        """Generate the atoms of `atoms_since` again, from the data."""
        self.cuts.add(*self.unpacked(arrays), self.bounds.oracle.rows)

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
            return Rows(taken(self.cuts.slopes, flat), offsets, groups)
        mix = sparse.csr_array((self.share[where], flat, starts), shape=(len(atoms), len(self.cuts)))
        return Rows(sparse.csr_array(mix @ self.cuts.slopes), mix @ self.cuts.offsets, groups)

    def weights(self, atoms: list[Ints], multipliers: Floats) -> Floats:
        """Atom weights μ (K,) of row multipliers β: μ_k = Σ_r β_r · share of atom k in row r."""
        if not atoms:
            return np.zeros(len(self.cuts))
        flat = np.concatenate(atoms)
        spread = np.repeat(multipliers, [len(a) for a in atoms])
        share = self.share[self.position[self.cuts.samples[flat]]]
        return self.bounds.balanced(self.cuts, summed(flat, spread * share, len(self.cuts)))

    def polish(self, atoms: list[Ints], multipliers: Floats) -> MasterAnswer | None:
        """θ and β from the active-set finish, where r is a squared norm."""
        curvature = self.bounds.regularizer.curvature
        if curvature is None:
            return None
        rows = self.rows(atoms)
        beta = settled(rows, multipliers, self.prices, curvature, FAINT)
        return None if beta is None else MasterAnswer(-(rows.slopes.T @ beta) / curvature, beta, "active set")

    def check(self, atoms: list[Ints], answer: MasterAnswer, seconds: float = np.inf) -> None:
        """Raise `NotSeparable` with a Farkas ray if hard rows contradict one another; the search has these seconds."""
        if not self.hard or (not answer.ray and np.linalg.norm(answer.theta) < self.suspicious):
            return
        found = farkas_ray(self.rows(atoms), seconds=seconds)
        if found is None:
            self.suspicious *= 100
            return
        ids = np.concatenate(atoms)
        self.refuse(self.cuts.samples[ids], self.cuts.witnesses[ids], *found)

    def examine(self, samples: Ints, witnesses: Ints, weights: Floats, seconds: float = np.inf) -> None:
        """Raise `NotSeparable` if the cuts of the greatest weights, as hard rows, contradict one another.

        The search for their ray has these seconds.
        """
        wrong = np.flatnonzero((witnesses != self.bounds.truth[samples]).any(axis=1))
        heavy = wrong[np.argsort(-weights[wrong], kind="stable")[:HEAVY]]
        slopes, offsets = self.bounds.oracle.rows(samples[heavy], witnesses[heavy])
        if found := farkas_ray(Rows(slopes, offsets, np.full(len(heavy), -1)), ENTRIES, seconds):
            self.refuse(samples[heavy], witnesses[heavy], *found)

    def refuse(self, samples: Ints, witnesses: Ints, ray: Floats, norm: float) -> None:
        """Raise `NotSeparable` by a Farkas ray (K,) of these cuts."""
        samples, witnesses, problem = samples[ray > 0], witnesses[ray > 0], self.bounds.problem
        pairs = [
            f"sample {i} ({shortened(problem.describe(i, problem.truth[i]), SHOWN)} against "
            f"{shortened(problem.describe(i, z), SHOWN)})"
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
