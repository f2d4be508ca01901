"""Base classes of the checker's definitions, which are found by name and version (docs/certificate-format.md §10).

    Structure      an output structure over its data: outputs, features, losses, exact maxima
    Formulation    settings, prices, regularizer, and its cuts or smooth terms, for one structure
    Proof          from header and arrays to both ends

A definition is a class that derives from one of these and sets `name` and `version`; that puts it into the registry.
Other kinds of proof than those about F of docs/certificate-format.md §2 bring their own statement.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from workbench.proofs.checker.archive import Fields, Header
from workbench.proofs.checker.faults import Malformed, Unknown, demand
from workbench.proofs.checker.whole import Array, Rows, Whole, exact, grouped, zeros

NONE = np.array([], np.int64)
MOST_LISTED = 20_000_000  # entries of outputs, listed

Test = Callable[[Any], bool]  # of a value out of the JSON


class Registered:
    """A class that is found by its name and version among those of its kind."""

    what: ClassVar[str]
    known: ClassVar[dict[tuple[str, int], Any]]  # classes of the kind
    name: ClassVar[str] = ""
    version: ClassVar[int] = 1

    def __init_subclass__(cls, **words: object) -> None:
        super().__init_subclass__(**words)
        if "what" in cls.__dict__:
            cls.known = {}
        elif "name" in cls.__dict__:
            cls.known[cls.name, cls.version] = cls

    @classmethod
    def find(cls, name: object, version: object) -> Any:  # a class of the kind
        if not (isinstance(name, str) and type(version) is int and (name, version) in cls.known):
            raise Unknown(cls.what, name, version, sorted({name for name, _ in cls.known}))
        return cls.known[name, version]


class Sums(NamedTuple):
    """Smooth terms: lo ≤ h_i ≤ hi (m,), Σ mass_i ∇h_i (d,) but for an error of 1-norm ≤ `radius`."""

    lo: Whole
    hi: Whole
    gradient: Whole
    radius: Fraction


class Structure(Registered):
    """An output structure over its data.

    φ(x_i, y) is Σ of rows of `X`, each into a block of p places, plus whole counts at single places. `parts` and
    `units` say which; everything about features follows from them.

    n, width, dim : samples, entries of an output, features
    weights (n,) floats ≥ 0;  truth (n, width) the true outputs
    X, blocks : the rows, and how many blocks of p places there are; X is None if there are none
    signed (d,) : the weights that must be ≥ 0, if any must
    oracle : "exact", or the word for what its own maxima may miss
    """

    what = "output structure"
    oracle: ClassVar[str] = "exact"
    n: int
    width: int
    dim: int
    weights: Array
    truth: Array
    X: Rows | None = None
    blocks: int
    count_unit: int = 1
    signed: Array | None = None

    def __init__(self, fields: Fields):
        """Read and check every data array."""
        raise NotImplementedError

    def words(self) -> str:
        """The outputs in words, with their sizes."""
        raise NotImplementedError

    def is_output(self, samples: Array, outputs: Array) -> Array:
        """(m,) whether each row is an output of its sample."""
        raise NotImplementedError

    def parts(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        """(number in the batch, row of X, block) of every row that enters φ."""
        return NONE, NONE, NONE

    def units(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        """(number in the batch, place, whole number over `count_unit`) of every single entry of φ."""
        return NONE, NONE, NONE

    def loss(self, samples: Array, outputs: Array) -> Whole:
        """ℓ_i(y) (m,)."""
        raise NotImplementedError

    def least_loss(self, samples: Array) -> Fraction | None:
        """The least positive loss of an output of these samples; None if there is none."""
        raise NotImplementedError

    def margin(self, w: Whole, samples: Array) -> Whole:
        """max_y ℓ_i(y) + ⟨w, Δ_i(y)⟩ (m,)."""
        raise NotImplementedError

    def slack(self, w: Whole, samples: Array) -> Whole:
        """max_y ℓ_i(y) (1 + ⟨w, Δ_i(y)⟩) (m,)."""
        raise Malformed(f"slack rescaling is not defined for {self.name}")

    def rival(self, w: Whole, samples: Array) -> Whole:
        """max of ⟨w, Δ_i(y)⟩ over y ≠ y_i (m,)."""
        raise Malformed(f"the best output besides the true one is not defined for {self.name}")

    def outputs(self, sample: int) -> Array:
        """All outputs of a sample in their listed order."""
        raise NotImplementedError

    # ── what follows ──

    def read_hints(self, fields: Fields) -> None:
        """Read the arrays, besides the data, by which a maximum is proven rather than searched; most need none."""

    def usable(self) -> None:
        """`Malformed` unless every true output is known."""

    def completed(self, states: Array) -> Structure:
        """The same with these hidden states (n,) as the true ones; `Malformed` where a structure has none."""
        raise Malformed(f"completed-ssvm has no states for {self.name}")

    def revealed(self) -> Structure | None:
        """The same with a candidate for the truth, an output of zero loss, where that is hidden; None if it is not."""

    def listed(self, samples: Array) -> tuple[Array, Array]:
        """All outputs of the samples, sample by sample, and whose they are."""
        found, count = [], 0
        for i in samples.tolist():
            found.append(self.outputs(i))
            count += found[-1].size
            demand(count <= MOST_LISTED, f"its outputs have more than {MOST_LISTED} entries, too many to list")
        return np.repeat(samples, [len(each) for each in found]), np.concatenate(found)

    @property
    def unit(self) -> int:
        return math.lcm(1 if self.X is None else self.X.unit, self.count_unit)

    def scaled(self, counts: Array) -> Array:
        """Counts over `count_unit` as whole numbers over `unit`."""
        return counts.astype(object) * (self.unit // self.count_unit)

    def changes(self, samples: Array, outputs: Array) -> tuple[list[Array], list[Array]]:
        """Parts and units of Δ_i(y) = φ(x_i, y) − φ(x_i, y_i), each with a sign at its end."""
        sides = ((1, outputs), (-1, self.truth[samples]))
        parts = [(*self.parts(samples, each), sign) for sign, each in sides]
        units = [(*self.units(samples, each), sign) for sign, each in sides]
        signed = [(number, row, block, np.full(len(number), sign)) for number, row, block, sign in parts]
        counts = [(number, place, sign * count) for number, place, count, sign in units]
        return ([np.concatenate(each) for each in zip(*group, strict=True)] for group in (signed, counts))

    def combined(self, samples: Array, outputs: Array, masses: Whole) -> Whole:
        """Σ_k mass_k Δ(k) (d,)."""
        (number, row, block, sign), (owner, place, count) = self.changes(samples, outputs)
        total = zeros(self.dim)
        if self.X is not None:
            cell, target = np.unique(row * self.blocks + block, return_inverse=True)
            factors = grouped(masses.values[number] * sign.astype(object), target, len(cell))
            used = np.flatnonzero(factors)
            rows, blocks = np.divmod(cell[used], self.blocks)
            spread = self.X.spread(rows, blocks, factors[used], self.blocks)
            total[: self.blocks * self.X.columns] = spread * (self.unit // self.X.unit)
        if len(owner):
            total += grouped(masses.values[owner] * self.scaled(count), place, self.dim)
        return Whole(total, self.unit * masses.unit)

    def gains(self, w: Whole, samples: Array, outputs: Array) -> Whole:
        """⟨w, Δ_i(y)⟩ (m,)."""
        (number, row, block, sign), (owner, place, count) = self.changes(samples, outputs)
        total = zeros(len(samples))
        if self.X is not None:
            rows, at = np.unique(row, return_inverse=True)
            table = self.X.scores(rows, w.values[: self.blocks * self.X.columns].reshape(self.blocks, self.X.columns))
            found = grouped(table[at, block] * sign.astype(object), number, len(samples))
            total += found * (self.unit // self.X.unit)
        if len(owner):
            total += grouped(w.values[place] * self.scaled(count), owner, len(samples))
        return Whole(total, self.unit * w.unit)

    def dense(self, samples: Array, outputs: Array) -> Whole:
        """Δ_i(y), one row each (m, d)."""
        (number, row, block, sign), (owner, place, count) = self.changes(samples, outputs)
        total = zeros(len(samples) * self.dim)
        if self.X is not None:
            which, at = self.X.entries(row)
            target = number[which] * self.dim + block[which] * self.X.columns + self.X.indices[at]
            total += grouped(self.X.values[at] * sign[which].astype(object), target, len(total))
            total *= self.unit // self.X.unit
        total += grouped(self.scaled(count), owner * self.dim + place, len(total))
        return Whole(total.reshape(len(samples), self.dim), self.unit)

    def magnitudes(self) -> Array:
        """(n,) whole bounds over `unit` on Σ|entries of φ(x_i, y)| of any output."""
        raise NotImplementedError

    def log_sums(self, w: Whole, samples: Array, masses: Array | None, P: int) -> Sums | None:
        """h_i = log Σ_y exp⟨w, Δ_i(y)⟩ by a recursion of its own; None: all outputs are to be listed.

        masses : whole numbers for the gradient, or None if there should be none
        """
        return None


class Labelled(Structure):
    """A structure whose outputs put one of k labels at each place; place t belongs to row t of X.

    k;  labels (N,) the true one of each place;  owner (N,) its sample
    place_losses(samples) : (P, k) what each label at each place of the samples, in order, adds to ℓ_i
    """

    k: int
    labels: Array
    owner: Array
    place_losses: Callable[[Array], Whole]

    def labels_of(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        """(number in the batch, place, label) at every place of the outputs."""
        raise NotImplementedError

    def augmented(self, w: Whole, samples: Array, table: Whole) -> Whole:
        """max_y Σ_t table[t, y_t] + ⟨w, Δ_i(y)⟩ (m,), t the places of the samples, in order."""
        raise NotImplementedError


class Setting(NamedTuple):
    """What a setting may be, by a test; and its default in format 1."""

    test: Test
    default: object


class Formulation(Registered):
    """A formulation of one structure; F = r + Σ p_i h_i.

    settings : what each setting may be
    formula : in words;  open : sentences about what is *not* proven
    weights Whole (n,), total : p_i = weights_i/total;  hard : p_i = ∞ where weights_i > 0
    dim : entries of θ;  regularizer : r (regularizers.py)
    rounded_claims : whether claims of format 1 may be off by rounding (`ALLOWANCE` in check.py)
    """

    what = "formulation"
    settings: ClassVar[dict[str, Setting]] = {}
    formula: ClassVar[str] = ""
    proof: ClassVar[str] = "cuts"
    open: ClassVar[tuple[str, ...]] = ()
    rounded_claims: ClassVar[bool] = False
    hard: bool = False
    weights: Whole
    total: Fraction
    dim: int
    regularizer: Any  # of regularizers.py, each kind with members of its own

    def __init__(self, structure: Structure, given: Header):
        self.structure, self.given = structure, given
        structure.usable()
        self.weights, self.dim = exact(structure.weights), structure.dim
        self.total = self.weights.sum()

    @classmethod
    def chosen(cls, given: Header) -> type[Formulation]:
        """The class that the settings mean, where one name stands for several."""
        return cls

    @property
    def samples(self) -> Array:
        """Those with a price."""
        return np.flatnonzero(self.weights.values > 0)

    def push(self, samples: Array, witnesses: Array, beta: Whole) -> tuple[Whole, Fraction]:
        """Σ β_k a_k (p,) and Σ β_k o_k."""
        raise NotImplementedError

    def highest(self, theta: Whole, samples: Array) -> Whole:
        """h_i(θ) (m,)."""
        raise NotImplementedError

    def least_offset(self, samples: Array) -> Fraction | None:
        """The least positive offset of a cut of these samples; for hard constraints."""
        raise NotImplementedError

    def risk(self, values: Whole) -> Fraction:
        """Σ p_i h_i of values (m,) of `samples`."""
        return (values * Whole(self.weights.values[self.samples], self.weights.unit)).sum() / self.total


class Ends(NamedTuple):
    """What a proof found: lower ≤ min F ≤ upper; F(θ) ≤ reached at the saved θ; F at r's minimiser; in which
    arithmetic.
    """

    lower: Fraction | float
    upper: Fraction | float
    reached: Fraction | float
    start: Fraction | float
    arithmetic: str


class Statement(NamedTuple):
    """What is proven: the name, settings and formula of the program; of which sizes; and what is not proven."""

    formulation: str
    settings: Header
    formula: str
    structure: str
    n: int
    dim: int
    oracle: str
    rounded_claims: bool
    open: tuple[str, ...]


class Proof(Registered):
    """A kind of proof."""

    what = "kind of proof"

    @classmethod
    def attains(cls, header: Header, arrays: dict[str, Array]) -> bool:
        """Whether the proof may end in the optimum as one fraction."""
        return "fractions" in arrays

    @classmethod
    def prepare(cls, header: Header, arrays: dict[str, Array]) -> tuple[Statement, Any]:  # each kind its own
        """The statement, and whatever `ends` needs; everything is read and checked."""
        raise NotImplementedError

    @classmethod
    def faults(cls, prepared: Any) -> list[str]:  # each kind its own
        """What of the statement, besides the ends, is not so."""
        return []

    @classmethod
    def ends(cls, prepared: Any, claim: Callable[[Ends], bool]) -> Ends:  # prepared: each kind its own
        raise NotImplementedError


def is_number(least: float, most: float) -> Test:
    """A test for numbers, no booleans, between two ends."""
    return lambda value: type(value) in (int, float) and least <= value <= most


def is_positive(value: Any) -> bool:  # out of the JSON
    return type(value) in (int, float) and 1e-100 <= value <= 1e100


def is_whole(least: int) -> Test:
    return lambda value: type(value) is int and least <= value < 1 << 53


def one_of(*words: str) -> Test:
    return lambda value: isinstance(value, str) and value in words


def one_of_numbers(*numbers: int) -> Test:
    return lambda value: type(value) in (int, float) and value in numbers


def or_none(test: Test) -> Test:
    return lambda value: value is None or test(value)


def list_of(test: Test) -> Test:
    return lambda value: isinstance(value, list) and all(test(each) for each in value)


def settled(kind: type[Formulation], given: Header) -> Header:
    """The settings, each as its test demands, none missing."""
    demand(isinstance(given, dict), "its settings are no object")
    for key, value in given.items():
        demand(key in kind.settings, f"{kind.name} has no setting {key[:60]!r}")
        if not kind.settings[key].test(value):
            raise Malformed(f"{key} is {str(value)[:60]}, which {kind.name} does not take")
    missing = sorted(set(kind.settings) - set(given))
    demand(not missing, f"the setting {missing[0] if missing else ''} is missing")
    return {key: given[key] for key in kind.settings}
