"""The nouns of the house and the contracts between its rooms.

Almost everything here has one shape (θ stacks blocks w, b, v, …; r convex):

    minimise   F(θ) = r(θ) + Σ_i p_i h_i(θ),      h_i(θ) = max over z of ⟨a_i(z), θ⟩ + o_i(z)

One **cut** (sample i, slope a, offset o, witness z) is at once a constraint ξ_i ≥ ⟨a, θ⟩ + o of a
cutting-plane master, a subgradient of h_i, a Frank–Wolfe vertex and a term of a dual bound.

    Problem      data and an output structure: φ, loss, argmax           (workbench/outputs)
    Oracle       a formulation's view of a problem: θ -> cuts            (workbench/oracles.py)
    Cuts         a pool of cuts, one "atom" per (sample, witness)
    Rows         what a master receives: non-negative combinations of atoms
    Formulation  one of four kinds: CutForm, SmoothForm, Majorized, Search (workbench/formulations)
    Solver       a stochastic method of ours                             (workbench/solvers)
    Trace        what a solver's run left behind

Letters: n samples, d features, K cuts, m rows of a batch, p = dim θ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Blocks(dict[str, tuple[int, ...]]):
    """Names and shapes of the blocks of θ, in order; θ itself is one flat array (p,)."""

    @property
    def dim(self) -> int:
        return sum(int(np.prod(shape)) for shape in self.values())

    def split(self, theta: Floats) -> dict[str, Floats]:
        """Views of θ by block name, each in its own shape."""
        parts, start = {}, 0
        for name, shape in self.items():
            stop = start + int(np.prod(shape))
            parts[name] = theta[start:stop].reshape(shape)
            start = stop
        return parts

    def join(self, parts: Mapping[str, Floats]) -> Floats:
        """The flat θ of named blocks; inverse of `split`."""
        return np.concatenate([np.asarray(parts[name], float).ravel() for name in self])


@dataclass(frozen=True)
class Prices:
    """Prices p_i = weights_i / total of the terms h_i, kept as a ratio so that 1/n stays exact.

    `total` = 0 stands for p_i = ∞: h_i(θ) ≤ 0 is then a hard constraint. `mean` says that `total`
    stands for Σ weights, of which it may be a rounding (`rational_total` is exact).
    """

    weights: Floats
    total: float
    mean: bool = False

    @classmethod
    def of_mean(cls, weights: Floats) -> Prices:
        """p_i = weights_i / Σ weights."""
        return cls(weights, math.fsum(weights), mean=True)

    @property
    def rational_total(self) -> Fraction:
        return sum(map(Fraction, self.weights.tolist()), Fraction(0)) if self.mean else Fraction(self.total)

    @property
    def rounded(self) -> bool:
        """Whether `total` may differ from what it stands for (by less than one unit in the last place)."""
        return self.mean and not (self.total < 2.0**53 and (self.weights % 1 == 0).all())

    @property
    def hard(self) -> bool:
        return self.total == 0

    def floats(self) -> Floats:
        """p, shape (n,), each correctly rounded; ∞ for hard constraints."""
        return np.full(len(self.weights), np.inf) if self.hard else self.weights / self.total


class Rows(NamedTuple):
    """Constraints ξ_g ≥ ⟨slope, θ⟩ + offset of a master; g = −1 stands for 0 in ξ_g's place."""

    slopes: sparse.csr_array
    offsets: Floats
    groups: Ints

    def take(self, index: Any) -> Rows:
        return Rows(sparse.csr_array(self.slopes[index]), self.offsets[index], self.groups[index])

    def membership(self, n_groups: int) -> sparse.csr_array:
        """S (rows, groups) with (Sξ)_r = ξ_{g_r}; rows of group −1 are empty."""
        held = np.flatnonzero(self.groups >= 0)
        where = (held, self.groups[held])
        return sparse.csr_array((np.ones(len(held)), where), shape=(len(self.groups), n_groups))

    @classmethod
    def none(cls, dim: int) -> Rows:
        return cls(sparse.csr_array((0, dim)), np.empty(0), np.empty(0, np.int64))


class Kernel(NamedTuple):
    """A problem's argmax and feature map as plain functions over arrays.

    argmax_into(data, theta, i, out) -> value of h_i(θ), writes the witness into `out` (width,);
    add_slope(data, i, out, scale, theta) adds scale · a_i(out) to θ in place;
    slope_into(data, i, out, indices, values) -> count, optional, writes the entries of a_i(out), at most
    `most` of them; entries with the same index add up;
    reads_into(data, i, indices) -> count, optional, writes the entries of θ on which h_i may depend, at most
    `widest` of them, some perhaps twice; without it these are all.
    `data` may hold other kernels, whose functions these call. All stay within what numba compiles, so `run` may
    compile them or call them as they are: the arithmetic, hence the run, is the same to the last bit.
    """

    data: tuple[Any, ...]
    argmax_into: Callable[..., float]
    add_slope: Callable[..., None]
    slope_into: Callable[..., int] | None = None
    most: int = 0
    reads_into: Callable[..., int] | None = None
    widest: int = 0


# ── problems ──────────────────────────────────────────────────────────────────────────────────────


@runtime_checkable
class Problem(Protocol):
    """Data with an output structure. Outputs are int64 rows of fixed width (padded with −1).

    n_samples, n_features, width : n, d and the width of an output row
    truth : (n, width) the true outputs;  weights : (n,) sample weights, 1 unless given
    magnitude : (n,) bound on max_y ‖φ(x_i, y)‖₁;  max_loss : (n,) bound on max_y ℓ_i(y)
    least_loss : the least positive loss of any output of any sample
    free_outputs : whether an output other than the truth can have zero loss
    terms : most multiply-adds in one score ⟨w, φ(x_i, y)⟩ [+ ℓ], for rounding bounds
    exact_features : whether the entries of φ(x,y) − φ(x,y') are free of rounding
    exact_loss : whether ℓ is (optional; without it losses are taken to be rounded)
    feature_error : (n,) bound on the rounding error of an entry of φ(x,y) − φ(x,y') (optional, where it is known better
        than by `terms`; its losses are exact)
    conditions : sentences that proofs about the problem take for granted (optional)
    oracle_kind : "exact", "under" or "relaxed", what `argmax` finds
    """

    n_samples: int
    n_features: int
    width: int
    truth: Ints
    weights: Floats
    magnitude: Floats
    max_loss: Floats
    least_loss: float
    free_outputs: bool
    terms: int
    exact_features: bool
    oracle_kind: str

    def features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        """φ(x_i, y) for a batch, (m, d)."""
        ...

    def loss(self, samples: Ints, outputs: Ints) -> Floats:
        """ℓ_i(y) ≥ 0 for a batch, (m,); zero at the truth."""
        ...

    def argmax(self, w: Floats, samples: Ints, augment: bool | Floats = True) -> Ints:
        """argmax_y ⟨w, φ(x_i, y)⟩ [+ ℓ_i(y) if augment] for a batch, (m, width).

        A `Labelled` problem also takes a table in place of the loss, see there.
        """
        ...

    def describe(self, sample: int, output: Ints) -> str:
        """An output in the user's words, for messages."""
        ...

    def arrays(self) -> dict[str, NDArray]:
        """All that rebuilds the problem (`from_arrays`), for certificates; no object arrays."""
        ...


@runtime_checkable
class Enumerable(Protocol):
    """A problem whose outputs can be listed."""

    def outputs(self, sample: int) -> Ints:
        """All of 𝒴_i, (|𝒴_i|, width)."""
        ...


def enumerated(problem: Enumerable, samples: Ints) -> tuple[Ints, Ints]:
    """All (sample, output) pairs, sample by sample: (m,) and (m, width)."""
    outputs = [problem.outputs(i) for i in samples]
    return np.repeat(samples, [len(each) for each in outputs]), np.concatenate(outputs)


@runtime_checkable
class SlackArgmax(Protocol):
    """A problem with an oracle for slack rescaling."""

    def slack_argmax(self, w: Floats, samples: Ints) -> Ints:
        """argmax_y ℓ_i(y)(1 − ⟨w, ψ_i(y)⟩) for a batch, (m, width)."""
        ...


@runtime_checkable
class Labelled(Protocol):
    """A problem whose outputs are labels at places: one place a sample, or one a position of a sequence.

    Row r of `inputs` (N, p) is the input at place r, labels[r] its true label as an index into `classes`.
    An output row holds the labels of its sample's places in order, then padding. `argmax` takes for
    `augment` also a table (P, k): what each label at each place of the batch adds to the score; `kernel` takes
    one (k, k) for all places, by true label, which it reads anew at every visit.
    """

    classes: NDArray
    labels: Ints
    inputs: sparse.csr_array

    def places(self, samples: Ints) -> tuple[Ints, Ints]:
        """(number in the batch, place) of all P places of a batch, in order."""
        ...


@runtime_checkable
class RunnerUp(Protocol):
    """A problem that finds the best output other than the truth (every sample has another output)."""

    def runner_up(self, w: Floats, samples: Ints) -> Ints:
        """argmax over y ≠ y_i of ⟨w, φ(x_i, y)⟩ for a batch, (m, width)."""
        ...


@runtime_checkable
class Compact(Protocol):
    """A problem that can state its loss-augmented maximum as a convex program of polynomial size."""

    def compact(self, w: Any) -> CompactHinge:
        """The hinge terms h_i as a CVXPY program in the variable w (d,)."""
        ...


@runtime_checkable
class Marginals(Protocol):
    """A problem that sums over all its outputs without listing them.

    One that cannot may say why in a few words, as a class attribute `no_marginals`.
    """

    def marginals(self) -> Terms:
        """The terms log Σ_y exp⟨w, φ(x_i, y)⟩ − ⟨w, φ(x_i, y_i)⟩ (workbench/likelihoods.py)."""
        ...


@runtime_checkable
class LinearScores(Protocol):
    """A problem with one score ⟨w, x⟩ a sample: rows of X (n, d), real `targets` (n,) and their `signs` ±1 (n,)."""

    X: sparse.csr_array
    targets: Floats
    signs: Floats


@runtime_checkable
class Latent(Protocol):
    """A problem whose samples hide a variable h_i, so that φ is φ(x, y, h); a state is one whole number a sample.

    n_hidden : (n,) the numbers |H_i| of states
    An output names a label and a state; outputs of zero loss are the truth in its different states.
    """

    n_hidden: Ints

    def hidden(self, sample: int) -> Ints:
        """H_i, (|H_i|,)."""
        ...

    def impute(self, w: Floats, states: Ints | None = None) -> Ints:
        """argmax_h ⟨w, φ(x_i, y_i, h)⟩ (n,); of equal ones the one in `states`, else the first."""
        ...

    def hidden_scores(self, w: Floats, samples: Ints) -> list[Floats]:
        """⟨w, φ(x_i, y_i, h)⟩ over H_i for each of a batch."""
        ...

    def completed(self, states: Ints, weights: Floats | None = None) -> Problem:
        """The problem whose truth has these states, and perhaps other sample weights, which may all be 0."""
        ...


class LogPartition(NamedTuple):
    """log Σ_y exp⟨w, φ(x_i, y)⟩ (n,) written out: minimising over `constraints` makes `values` equal to it."""

    values: Any
    constraints: list[Any]


class CompactHinge(NamedTuple):
    """max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩ written out: minimising over `constraints` makes `hinge` equal to it.

    `atoms()` reads, after the solve, dual weights over outputs: (samples, witnesses, weights ≥ 0).
    """

    hinge: Any
    constraints: list[Any]
    atoms: Callable[[], tuple[Ints, Ints, Floats]]


@runtime_checkable
class Kernelled(Protocol):
    """A problem that brings its argmax, loss-augmented or not, as a `Kernel`."""

    def kernel(self, augment: bool = True) -> Kernel: ...


class Oracle(Protocol):
    """A formulation's view of a problem: finds, for θ, the cut that is highest for each sample.

    `kind` is what the search guarantees: exact, under (may miss the maximum: only lower bounds
    hold) or relaxed (maximises over more: only upper bounds of the true problem hold).
    `least_loss` and `free_outputs` speak of its offsets as the problem's do of its losses; hard
    constraints ask for them.
    """

    kind: str
    n_samples: int
    dim: int
    width: int
    least_loss: float
    free_outputs: bool

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        """Witnesses (m, width) maximising ⟨a_i(z), θ⟩ + o_i(z)."""
        ...

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        """Slopes (m, p) and offsets (m,) of the cuts with these witnesses, from the data."""
        ...

    def slope_error(self, samples: Ints) -> Floats:
        """(m,) bound on the rounding error in each entry of a slope that `rows` returned."""
        ...

    def offset_error(self, samples: Ints) -> Floats:
        """(m,) bound on the rounding error in the offsets that `rows` returned."""
        ...

    def exact(self) -> Any:
        """The same cuts and maxima in rational arithmetic (`rationals.ExactOracle`), or None."""
        ...

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        """What θ predicts, (m, width)."""
        ...

    def rounding(self, theta: Floats) -> Floats:
        """(n,) by how much rounding may have let `argmax` miss h_i(θ)."""
        ...

    def reach(self, samples: Ints) -> Floats:
        """(m,) bound on ‖a_i(z)‖₁ over all z."""
        ...

    def kernel(self) -> Kernel: ...


# ── cuts ──────────────────────────────────────────────────────────────────────────────────────────


class Grown:
    """An array that grows at its end in amortised constant time; `view` is the filled part."""

    def __init__(self, empty: NDArray):
        self._store, self._size = empty, len(empty)

    @property
    def view(self) -> NDArray:
        return self._store[: self._size]

    def extend(self, more: NDArray) -> None:
        size = self._size + len(more)
        if size > len(self._store):
            store = np.empty((2 * size, *self._store.shape[1:]), self._store.dtype)
            store[: self._size] = self.view
            self._store = store
        self._store[self._size : size] = more
        self._size = size


class GrownRows:
    """Rows of a sparse matrix (m, dim), appended in amortised constant time; `view` is a csr_array."""

    def __init__(self, dim: int):
        self.dim = dim
        self._ends = Grown(np.zeros(1, np.int64))
        self._columns, self._values = Grown(np.empty(0, np.int64)), Grown(np.empty(0))

    @property
    def view(self) -> sparse.csr_array:
        parts = (self._values.view, self._columns.view, self._ends.view)
        return sparse.csr_array(parts, shape=(len(self._ends.view) - 1, self.dim))

    def extend(self, rows: sparse.csr_array) -> None:
        self._ends.extend(rows.indptr[1:] + self._ends.view[-1])
        self._columns.extend(rows.indices)
        self._values.extend(rows.data)


class Cuts:
    """A growing pool of atoms, each (sample, slope row, offset, witness), without duplicates."""

    def __init__(self, dim: int, width: int):
        self.dim = dim
        self._samples, self._offsets = Grown(np.empty(0, np.int64)), Grown(np.empty(0))
        self._witnesses, self._slopes = Grown(np.empty((0, width), np.int64)), GrownRows(dim)
        self._index: dict[tuple[int, bytes], int] = {}

    def __len__(self) -> int:
        return len(self._index)

    @property
    def samples(self) -> Ints:
        """(K,) the sample of each atom."""
        return self._samples.view

    @property
    def witnesses(self) -> Ints:
        """(K, width) the witness of each atom."""
        return self._witnesses.view

    @property
    def offsets(self) -> Floats:
        """(K,) o."""
        return self._offsets.view

    @property
    def slopes(self) -> sparse.csr_array:
        """(K, p) the rows a."""
        return self._slopes.view

    def add(self, samples: Ints, witnesses: Ints, rows: Callable[[Ints, Ints], Any]) -> Ints:
        """Ids (m,) of the atoms (samples, witnesses); `rows` computes slopes and offsets of new ones."""
        ids, fresh, size = np.empty(len(samples), np.int64), [], len(self)
        for j, (sample, witness) in enumerate(zip(samples.tolist(), witnesses, strict=True)):
            ids[j] = self._index.setdefault((sample, witness.tobytes()), len(self._index))
            if ids[j] == size + len(fresh):
                fresh.append(j)
        if fresh:
            slopes, offsets = rows(samples[fresh], witnesses[fresh])
            self._samples.extend(samples[fresh])
            self._witnesses.extend(witnesses[fresh])
            self._offsets.extend(offsets)
            self._slopes.extend(slopes)
        return ids


# ── formulations: four kinds, `solve` dispatches on the kind and never on a name ──────────────────


@runtime_checkable
class CutForm(Protocol):
    """min r(θ) + Σ p_i h_i(θ), said twice: closed forms, and a CVXPY declaration with lazy cuts."""

    def blocks(self, problem: Any) -> Blocks: ...

    def regularizer(self, problem: Any) -> Any:
        """r with its conjugate (workbench/regularizers.py)."""
        ...

    def prices(self, problem: Any) -> Prices: ...

    def oracle(self, problem: Any) -> Oracle: ...

    def program(self, problem: Any, cuts: Any) -> Any:
        """The cp.Problem; `cuts(θ-variables, ξ)` stands for its constraint family (workbench/declared.py)."""
        ...


class Terms(Protocol):
    """What a smooth formulation asks of a problem: its terms h_i, convex and differentiable, and their gradients.

    kind : "exact"; what `evaluate` computes is h_i up to rounding
    width : 0; a term needs no witness, its gradient belongs to θ itself
    assumption : what the bounds on rounding take for granted of the machine, in words
    """

    kind: str
    n_samples: int
    dim: int
    width: int
    assumption: str

    def evaluate(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, Floats]:
        """h_i(θ) for a batch (m,), and Σ_k weights_k ∇h_k(θ) (p,)."""
        ...

    def errors(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, float]:
        """Bounds on the rounding errors of `evaluate`: in each value (m,), in the gradient's Euclidean norm."""
        ...

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        """What θ predicts, (m, width of the problem)."""
        ...

    def norms(self) -> Floats:
        """(n,) bounds on ‖∇h_i(θ)‖ over all θ."""
        ...

    def kernel(self) -> Kernel:
        """`argmax_into` returns h_i(θ) and leaves in `data` what `add_slope` adds the gradient from.

        A gradient is a slope: ⟨∇h_i(θ), ·⟩ is the highest cut at θ, so solvers need not know the difference.
        """
        ...

    def hinges(self, theta: Any) -> tuple[Any, list[Any]]:
        """h (n,) as a convex CVXPY expression in the variable θ (p,), and the constraints that it needs."""
        ...


@runtime_checkable
class SmoothForm(Protocol):
    """min r(θ) + Σ p_i h_i(θ) with smooth h_i and r = μ/2 ‖θ‖² (`curvature` μ), said in both ways, too."""

    def blocks(self, problem: Any) -> Blocks: ...

    def regularizer(self, problem: Any) -> Any: ...

    def prices(self, problem: Any) -> Prices: ...

    def terms(self, problem: Any) -> Terms: ...

    def program(self, problem: Any) -> tuple[Any, Any]:
        """The cp.Problem and its variable θ (p,)."""
        ...


@runtime_checkable
class Majorized(Protocol):
    """Alternates between a convex program at fixed state and a step of the state (workbench/majorize.py).

    The state is one float array: completed latent variables, selected samples, costs. If the convex
    programs majorise one objective, `monotone` says so and the loop holds it to that.
    """

    monotone: bool

    def start(self, problem: Any) -> Floats:
        """The first state."""
        ...

    def surrogate(self, problem: Any, state: Floats) -> CutForm:
        """The convex program in θ at this state."""
        ...

    def step(
        self, problem: Any, theta: Floats, state: Floats, solve: Callable[[CutForm], Any]
    ) -> tuple[Floats, dict[str, Any]]:
        """The next state, and what to put on record about it; `solve` answers further convex programs."""
        ...

    def value(self, problem: Any, theta: Floats) -> float:
        """The objective at θ, NaN if the alternation has none."""
        ...


@runtime_checkable
class Search(Protocol):
    """min ½‖θ‖² + Σ_i min(c_i h_i(θ), κ_i): terms that may be given up at a charge, found by exhaustive search."""

    def blocks(self, problem: Any) -> Blocks: ...

    def regularizer(self, problem: Any) -> Any:
        """½‖θ‖²."""
        ...

    def prices(self, problem: Any) -> Prices:
        """The samples' shares p_i; c_i and κ_i are proportional to them."""
        ...

    def oracle(self, problem: Any) -> Oracle: ...

    def every(self, problem: Any, samples: Ints) -> tuple[Ints, Ints]:
        """All witnesses of all terms of `samples`, sample by sample: samples (R,) and witnesses (R, width)."""
        ...

    def charges(self, problem: Any) -> tuple[list[Fraction], list[Fraction]]:
        """c (n,) and κ (n,), exactly."""
        ...

    def mixed_program(self, problem: Any) -> tuple[Any, Any, Any]:
        """The mixed-integer cp.Problem, its variable θ (p,) and its binary selection v (n,)."""
        ...


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────


class Solver(Protocol):
    """A stochastic method: frozen hyper-parameters, explicit state, one function that sweeps.

    name, dual : its command name; whether it works on dual weights (then its log is replayed)
    sweep(argmax_into, add_slope, data, order, prices, witnesses, steps, state) : a module-level
        function in numba's subset (workbench/stochastic.py); visits the samples in `order`, logs
        witnesses[k] and, if dual, steps[k] = (γ, ρ)
    A solver never grades itself; `rate(norms, prices, scale, state)`, its published bound, is optional,
    and so is `oracle(problem)`, the oracle it asks if that is not the formulation's. One that keeps its
    cuts brings `visitor` and `duals` in place of the log (workbench/stochastic.py). A dual method whose D never
    falls promises to stay at an optimum by `start(formulation, problem, samples, witnesses, weights)`, the state at
    dual weights μ (K,) of the cuts of these outputs; the fixed-point audit holds it to that (workbench/audits.py).
    """

    name: str
    dual: bool
    sweep: Callable[..., None]

    def misfit(self, formulation: Any, problem: Any) -> str | None:
        """Why this solver cannot work on the pair, or None."""
        ...

    def init(self, formulation: Any, problem: Any) -> Any:
        """The state: a NamedTuple of arrays and numbers."""
        ...

    def report(self, state: Any) -> Floats:
        """The θ it claims."""
        ...


class Mistakes(NamedTuple):
    """Updates w += ψ_i(y) at mistaken outputs, by the log: samples (K,), witnesses (K, width), counts (K,)."""

    samples: Ints
    witnesses: Ints
    counts: Ints


@dataclass
class Trace:
    """What a run left behind: iterates at m checkpoints, and their grades, computed by us afterwards.

    passes, oracle_calls, seconds : (m,);  thetas : (m, p);  upper : (m,)
    lower : (m,), NaN without a dual, unless the terms are smooth: then θ proves it
    bound : (m,) published bound on E F(θ) − F*, ∞ if there is none
    drift : (m,) ‖θ − θ(ᾱ)‖/‖θ(ᾱ)‖ by replay of the log, NaN without a dual
    method, formulation : the solver with its hyper-parameters, and what it says it minimises
    mistakes : the updates of a solver that learns from its mistakes, else None
    """

    solver: str
    passes: Floats
    oracle_calls: Ints
    seconds: Floats
    thetas: Floats
    upper: Floats
    lower: Floats
    bound: Floats
    drift: Floats
    compiled: bool
    compile_seconds: float
    method: Any
    formulation: Any
    mistakes: Mistakes | None = None
