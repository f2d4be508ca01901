"""The one stochastic loop: draws samples, lets a solver sweep over them, and grades the iterates.

A solver is a frozen dataclass of hyper-parameters that derives from `Solver` (contracts/solvers.py). Its `sweep` is a
module-level function in numba's subset: loops over numbers, and no calls but those of its arguments. Interpreted and
compiled runs do the same arithmetic in the same order, so both are equal to the last bit. `sweep` writes the witness of
visit k into witnesses[k]; a dual solver also writes steps[k] = (γ, ρ), which mean

    α_i ← (1 − γ) α_i + γ e_witness,      ᾱ ← (1 − ρ) ᾱ + ρ α,      θ = θ(ᾱ)

No number that a solver computes is believed. A `Ledger` rebuilds its dual weights, or its θ, from the data:

    Replay          α and ᾱ of a dual solver, from its log
    Handed          the cuts and the dual weights that a solver with `duals` hands over
    MistakeReplay   θ of a solver that learns from mistakes, from its log

Smooth terms need no ledger: any θ proves a lower bound by itself (proofs/bounds.py). The clock stands still during
replay and grading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count, pairwise
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np

from workbench.arithmetic import compiled as machine
from workbench.arithmetic.arrays import generator, summed
from workbench.contracts import (
    Cuts,
    Floats,
    Formulation,
    Ints,
    Kernel,
    Mistakes,
    Oracle,
    Problem,
    Solver,
    State,
    Terms,
    Trace,
)
from workbench.errors import BadInput, MissingCapability, shortened
from workbench.proofs.any_bounds import AnyBounds, bounds_for
from workbench.proofs.bounds import Bounds
from workbench.proofs.dyadic import DyadicBounds
from workbench.proofs.smooth import SmoothBounds
from workbench.solving.progress import Stopwatch, checked_calls

SHOWN = 60  # characters of a setting in a message
LOGGED = 1 << 22  # numbers in the part of the log that is in memory, 32 MiB


class Checkpoint(NamedTuple):
    """One row of a trace."""

    passes: int
    oracle_calls: int
    seconds: float
    theta: Floats
    upper: float
    lower: float  # NaN for a solver without a dual, unless the terms are smooth
    bound: float  # published bound on E F(θ) − F*, ∞ if there is none
    drift: float  # ‖θ − θ(ᾱ)‖/‖θ(ᾱ)‖ by the replay, NaN for a solver without a dual


def run(
    solver: Solver,
    formulation: Formulation,
    problem: Problem,
    passes: int = 50,
    rng: int | np.random.Generator = 0,
    checkpoints: Iterable[int] | None = None,
    compiled: bool | None = None,
    order: Literal["uniform", "permutation"] = "uniform",
    observe: Callable[[Checkpoint], object] | None = None,
) -> Trace:
    """`passes` × n visits of `solver`, graded at `checkpoints`.

    Parameters
    ----------
    passes : the length of the run; one pass is as many visits as there are samples of positive weight
    rng : a seed or a generator; the sample order depends on nothing else
    checkpoints : whole numbers of passes; default 1, 2, 3, 5, 8, 13, … and the last
    compiled : True (raise if impossible), False, or None: compiled where numba and a kernel exist
    order : "uniform" draws every visit independently, as published rates assume; "permutation" visits
        each sample once a pass
    observe : called at each checkpoint with the clock stopped; a true return value ends the run

    Raises
    ------
    MissingCapability : the solver does not fit the pair, or compiled=True and nothing to compile
    BadInput : `solver` is no solver, passes, checkpoints or order are out of range, or `observe` cannot be called
    """
    checked_calls(observe=observe)
    refuse_misfits(solver, formulation, problem)
    bounds, state = bounds_for(formulation, problem), solver.init(formulation, problem)
    marks = checked_marks(checkpoints, passes)
    orders = drawn(bounds.samples, generator(rng), order)
    asked = solver.oracle(problem) or oracle_of(bounds)
    prices, width, kernel = bounds.prices.floats(), asked.width, asked.kernel()
    use_machine = compilable(kernel, compiled)
    compiling, sweeping = Stopwatch(), Stopwatch()
    with compiling:
        visit = visitor(solver, kernel, width, prices, state, use_machine)
        replay = ledger(solver, bounds, asked, state, use_machine)

    rows: list[Checkpoint] = []
    visits = 0
    for before, mark in pairwise([0, *marks]):
        for chunk in chunks(orders, mark - before, LOGGED // (len(bounds.samples) * (width + 3))):
            witnesses, steps = np.zeros((len(chunk), width), np.int64), np.zeros((len(chunk), 2))
            with sweeping:
                visit(chunk, witnesses, steps)
            visits += len(chunk)
            if replay:
                replay.advance(chunk, witnesses, steps)
        theta = solver.report(state)
        uniform = order == "uniform"  # as published rates assume
        bound = solver.rate(slope_norms(bounds), prices, bounds.scale, state) if uniform else np.inf
        lower, drift = replay.grade(theta) if replay else (bounds.lower_at(theta), np.nan)
        rows.append(Checkpoint(mark, visits, sweeping.seconds, theta, bounds.upper(theta), lower, bound, drift))
        if observe and observe(rows[-1]):
            break
    marked, calls, clock, thetas, upper, lower, bound, drift = map(np.array, zip(*rows, strict=True))
    grades = {"upper": upper, "lower": lower, "bound": bound, "drift": drift}
    return Trace(
        solver=solver.name,
        passes=marked + 0.0,
        oracle_calls=calls,
        seconds=clock,
        thetas=thetas,
        **grades,
        compiled=use_machine,
        compile_seconds=compiling.seconds if use_machine else 0.0,
        method=solver,
        formulation=formulation,
        mistakes=replay.mistakes() if replay else None,
    )


def compilable(kernel: Kernel, wanted: bool | None) -> bool:
    """Whether this run is compiled."""
    missing = "a problem with a kernel" if not kernel.data else "" if machine.available() else "numba"
    if wanted and missing:
        raise MissingCapability(f"compiled=True needs {missing}; leave it out to run interpreted.")
    return not missing if wanted is None else wanted


def visitor(
    solver: Solver, kernel: Kernel, width: int, prices: Floats, state: State, compiled: bool
) -> Callable[[Ints, Ints, Floats], object]:
    """visit(order, witnesses, steps): the solver's sweep over a chunk, which writes the log of a solver with a log."""
    if own := solver.visitor(kernel, prices, state, compiled):
        return lambda order, witnesses, steps: own(order)
    sweep, kernel = prepared(solver.sweep, kernel, width, prices, state) if compiled else (solver.sweep, kernel)
    functions = kernel.argmax_into, kernel.add_slope, kernel.data
    return lambda order, witnesses, steps: sweep(*functions, order, prices, witnesses, steps, state)


def prepared(
    sweep: Callable[..., object], kernel: Kernel, width: int, prices: Floats, state: State
) -> tuple[Callable[..., None], Kernel]:
    """The sweep and the kernel, compiled."""
    samples, witnesses, steps = np.empty(1, np.int64), np.empty((1, width), np.int64), np.empty((1, 2))
    arguments = samples, prices, witnesses, steps, state
    kernel = machine.sealed(kernel, "argmax_into", "add_slope")
    return machine.compiled_sweep(sweep, kernel, arguments), kernel


def refuse_misfits(solver: Solver, formulation: Formulation, problem: Problem) -> None:
    """Raise for arguments of another kind, and for a solver that does not fit the pair."""
    others = formulation, problem
    if (
        not isinstance(problem, Problem)
        or isinstance(formulation, Problem)
        or any(isinstance(o, Solver) for o in others)
    ):
        raise BadInput(
            "run takes a solver, a formulation, a problem; write for example run(BCFW(), SoftMargin(), problem)."
        )
    if not isinstance(solver, Solver):
        raise BadInput(f"{solver!r} is no solver; give an object such as BCFW(), whose class derives from Solver.")
    if sentence := solver.misfit(formulation, problem):
        raise MissingCapability(sentence)


def checked_marks(checkpoints: Iterable[int] | None, passes: int) -> list[int]:
    """The checkpoints, increasing, `passes` included."""
    if not isinstance(passes, Real) or passes % 1 or passes < 1:
        raise BadInput(f"passes is {passes!r}; give a whole number of at least 1.")
    if checkpoints is None:
        marks = [1, 2]
        while marks[-1] < passes:
            marks.append(marks[-1] + marks[-2])
    else:
        given = list(checkpoints) if isinstance(checkpoints, Iterable) else []
        if not given or not all(isinstance(mark, Real) and mark >= 1 and mark % 1 == 0 for mark in given):
            shown = shortened(repr(given if given else checkpoints), SHOWN)
            raise BadInput(
                f"checkpoints is {shown}; give a list of whole numbers of passes from 1 on, such as [1, 10]."
            )
        marks = sorted({int(mark) for mark in given})
    return [mark for mark in marks if mark < passes] + [int(passes)]


def drawn(samples: Ints, rng: np.random.Generator, order: str) -> Iterator[Ints]:
    """Sample indices, one pass after the other."""
    n = len(samples)
    if order == "uniform":
        return (samples[rng.integers(n, size=n)] for _ in count())
    if order == "permutation":
        return (rng.permutation(samples) for _ in count())
    raise BadInput(f"order is {order!r}; choose 'uniform' or 'permutation'.")


def chunks(orders: Iterator[Ints], passes: int, most: int) -> Iterator[Ints]:
    """The next `passes` passes in arrays of at most max(`most`, 1) passes, which bounds the memory of the log."""
    while passes > 0:
        take = min(passes, max(most, 1))
        yield np.concatenate([next(orders) for _ in range(take)])
        passes -= take


def slope_norms(bounds: AnyBounds) -> Floats:
    """(n,) bounds on ‖a_i(z)‖ over all z: those of smooth terms, else from ‖φ‖₁, which is not tight."""
    if isinstance(bounds, SmoothBounds):
        return bounds.oracle.norms()
    return 2 * bounds.problem.magnitude * np.maximum(1.0, bounds.problem.max_loss)


class Ledger:
    """The independent account of a run: `advance` reads the log of a chunk, `grade` judges an iterate."""

    def advance(self, order: Ints, witnesses: Ints, steps: Floats) -> None:
        """Read the log of a chunk; without a log there is nothing to read."""

    def grade(self, theta: Floats) -> tuple[float, float]:
        """A proven lower bound, NaN without a dual, and the relative distance of θ from the rebuilt θ."""
        raise NotImplementedError

    def mistakes(self) -> Mistakes | None:
        """The updates of a solver that learns from mistakes, else None."""
        return None


# ── replaying a dual solver's log ─────────────────────────────────────────────────────────────────


def unwind(order: Ints, atoms: Ints, steps: Floats, kept: Floats, gained: Floats, mean: Floats, mean_gained: Floats):
    """The effect of a log on α and ᾱ, read backwards so that every visit costs O(1).

    Fills, for α at the start of the log:     α ← kept[i] α + gained
                                              ᾱ ← share ᾱ + mean[i] α + mean_gained
    and returns share. Let c_k be the weight of α after visit k in the final ᾱ, and T_k = Σ_{l ≥ k} c_l.
    Weight that enters α_i at visit k stays constant until the next visit l of i, which multiplies that weight by
    1 − γ_l: its part in ᾱ is m_k = T_k − T_l + (1 − γ_l) m_l.
    """
    share, total = 1.0, 0.0
    since = np.zeros(len(kept))
    for k in range(len(order) - 1, -1, -1):
        i, atom, gamma, rho = order[k], atoms[k], steps[k, 0], steps[k, 1]
        total += rho * share
        share *= 1.0 - rho
        mass = total - since[i] + mean[i]
        since[i] = total
        gained[atom] += gamma * kept[i]
        kept[i] *= 1.0 - gamma
        mean_gained[atom] += gamma * mass
        mean[i] = (1.0 - gamma) * mass
    for i in range(len(kept)):
        mean[i] += total - since[i]
    return share


class Replay(Ledger):
    """Per-sample weights α and their average ᾱ over a pool of cuts, rebuilt from a solver's log.

    At first all weight is on the truth, whose cut is zero.
    """

    def __init__(self, bounds: Bounds, compiled: bool):
        self.bounds, samples = bounds, np.arange(bounds.oracle.n_samples)
        self.cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
        self.cuts.add(samples, bounds.problem.truth, bounds.oracle.rows)
        self.alpha, self.mean = np.ones((2, len(samples)))
        self.unwind = unwind
        if compiled:
            floats, ints = self.alpha, samples
            self.unwind = machine.compiled_function(unwind, (ints, ints, np.empty((1, 2)), *[floats] * 4))

    def advance(self, order: Ints, witnesses: Ints, steps: Floats) -> None:
        keys, inverse = np.unique(np.column_stack([order, witnesses]), axis=0, return_inverse=True)
        atoms = self.cuts.add(keys[:, 0].copy(), keys[:, 1:].copy(), self.bounds.oracle.rows)[inverse.ravel()]
        fresh = np.zeros(len(self.cuts) - len(self.alpha))
        alpha, average = np.concatenate([self.alpha, fresh]), np.concatenate([self.mean, fresh])
        kept, mean = np.ones(self.bounds.oracle.n_samples), np.zeros(self.bounds.oracle.n_samples)
        gained, mean_gained = np.zeros((2, len(alpha)))
        share = self.unwind(order, atoms, steps, kept, gained, mean, mean_gained)
        self.alpha = kept[self.cuts.samples] * alpha + gained
        self.mean = share * average + mean[self.cuts.samples] * alpha + mean_gained

    def grade(self, theta: Floats) -> tuple[float, float]:
        """The lower bound of ᾱ, and ‖θ − θ(ᾱ)‖ relative to ‖θ(ᾱ)‖."""
        mu = self.bounds.prices.floats()[self.cuts.samples] * np.maximum(self.mean, 0.0)
        return graded(self.bounds, self.cuts, mu, theta)


class Handed(Ledger):
    """The duals that a solver hands over, as cuts rebuilt from the data."""

    def __init__(self, bounds: Bounds, duals: Callable[[], tuple[Ints, Ints, Floats] | None]):
        self.bounds, self.duals = bounds, duals

    def grade(self, theta: Floats) -> tuple[float, float]:
        """As `Replay.grade`, of the duals that the solver has now."""
        handed = self.duals()
        assert handed is not None  # a solver that keeps its cuts always does
        samples, witnesses, weights = handed
        cuts = Cuts(self.bounds.oracle.dim, self.bounds.oracle.width)
        ids = cuts.add(samples, witnesses, self.bounds.oracle.rows)
        return graded(self.bounds, cuts, summed(ids, weights, len(cuts)), theta)


def graded(bounds: Bounds, cuts: Cuts, mu: Floats, theta: Floats) -> tuple[float, float]:
    """The lower bound of atom weights μ, and ‖θ − θ(μ)‖ relative to ‖θ(μ)‖.

    Where cuts cancel, rounding is relative to the size of the cuts: 10⁻⁶ of that size is the least denominator.
    """
    solve, slopes = bounds.regularizer.argmin, cuts.slopes.T
    implied, summed = solve(-(slopes @ mu)), solve(abs(slopes) @ mu)
    size = max(np.linalg.norm(implied), 1e-6 * np.linalg.norm(summed), np.finfo(float).tiny)
    return bounds.lower(cuts, mu), float(np.linalg.norm(theta - implied) / size)


# ── replaying a log of mistakes ───────────────────────────────────────────────────────────────────


class MistakeReplay(Ledger):
    """θ of a solver that adds ψ_i(z) whenever its answer z is not the truth, rebuilt from its log.

    After T visits θ = Σ_t share_t ψ_t over the mistaken visits t, with shares `solver.averaging(t, T)`: for the last
    iterate the step of update t, for the average that step times the share of visits after t.
    """

    def __init__(self, oracle: Oracle, share: Callable[[Ints, int], Floats | None], truth: Ints):
        self.oracle, self.share, self.truth = oracle, share, truth
        self.cuts, self.visits = Cuts(oracle.dim, oracle.width), 0
        self.updates: list[tuple[Ints, Ints]] = []  # (visit, atom) of each chunk's mistakes

    def advance(self, order: Ints, witnesses: Ints, steps: Floats) -> None:
        wrong = np.flatnonzero((witnesses != self.truth[order]).any(axis=1))
        atoms = self.cuts.add(order[wrong], witnesses[wrong], self.oracle.rows)
        self.updates.append((self.visits + 1 + wrong, atoms))
        self.visits += len(order)

    def grade(self, theta: Floats) -> tuple[float, float]:
        """NaN for the lower bound, and the relative distance of θ from the replayed θ."""
        visits, atoms = (np.concatenate(part) for part in zip(*self.updates, strict=True))
        weights = np.bincount(atoms, self.share(visits, self.visits), len(self.cuts))
        implied = -(self.cuts.slopes.T @ weights)
        size = max(np.linalg.norm(implied), 1e-6 * np.linalg.norm(abs(self.cuts.slopes).T @ weights))
        return np.nan, float(np.linalg.norm(theta - implied) / max(size, np.finfo(float).tiny))

    def mistakes(self) -> Mistakes:
        atoms = np.concatenate([part for _, part in self.updates])
        counts = np.bincount(atoms, minlength=len(self.cuts))
        return Mistakes(self.cuts.samples.copy(), self.cuts.witnesses.copy(), counts)


def oracle_of(bounds: AnyBounds) -> Oracle | Terms:
    """What solvers without an oracle of their own ask."""
    assert not isinstance(bounds, DyadicBounds)  # no such solver fits bilinear scores
    return bounds.oracle


def ledger(solver: Solver, bounds: AnyBounds, oracle: Oracle | Terms, state: State, compiled: bool) -> Ledger | None:
    """The ledger that the solver's log or duals allow, or None."""
    if isinstance(bounds, SmoothBounds) or isinstance(oracle, Terms):  # θ alone proves the lower bound
        return None
    if solver.duals(state) is not None and isinstance(bounds, Bounds):
        return Handed(bounds, lambda: solver.duals(state))
    if solver.dual and isinstance(bounds, Bounds):
        return Replay(bounds, compiled)
    if solver.learns_from_mistakes:
        return MistakeReplay(oracle, solver.averaging, bounds.problem.truth)
    return None
