"""Cuts, and the arrays that carry them.

A **cut** (sample i, slope a, offset o, witness z) is one term of the maximum in

    F(θ) = r(θ) + Σ_i p_i h_i(θ),      h_i(θ) = max over z of ⟨a_i(z), θ⟩ + o_i(z).

The same cut is a constraint ξ_i ≥ ⟨a, θ⟩ + o of a cutting-plane master, a subgradient of h_i, a vertex for
Frank–Wolfe and a term of a dual bound. `Blocks` names the parts of θ, `Prices` are the p_i, `Cuts` is a pool of
cuts without duplicates ("atoms"), and `Rows` is what a master receives: non-negative combinations of atoms.

Letters: n samples, K cuts, m rows of a batch, p = dim θ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Numbers = dict[str, Any]  # numbers, words and lists by key, as JSON has them
SlopesAndOffsets = Callable[[Ints, Ints], tuple[sparse.csr_array, Floats]]  # samples (m,), witnesses → (m, p) and (m,)


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

    `total` = 0 stands for p_i = ∞: h_i(θ) ≤ 0 is then a hard constraint. `mean` says that `total` is Σ weights,
    perhaps rounded; `rational_total` is that sum without rounding.
    """

    weights: Floats
    total: float
    mean: bool = False

    @classmethod
    def of_mean(cls, weights: Floats) -> Prices:
        """p_i = weights_i / Σ weights."""
        return cls(weights, math.fsum(weights.tolist()), mean=True)

    @property
    def rational_total(self) -> Fraction:
        return sum(map(Fraction, self.weights.tolist()), Fraction(0)) if self.mean else Fraction(self.total)

    @property
    def rounded(self) -> bool:
        """Whether `total` may differ from Σ weights (by less than one unit in the last place)."""
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

    def take(self, index: Ints | NDArray[np.bool_] | slice) -> Rows:
        return Rows(self.slopes[index], self.offsets[index], self.groups[index])

    def membership(self, n_groups: int) -> sparse.csr_array:
        """S (rows, groups) with (Sξ)_r = ξ_{g_r}; rows of group −1 are empty."""
        held = self.groups >= 0
        columns, ends = self.groups[held], np.append(0, np.cumsum(held))
        return sparse.csr_array((np.ones(len(columns)), columns, ends), shape=(len(self.groups), n_groups))

    @classmethod
    def none(cls, dim: int) -> Rows:
        return cls(sparse.csr_array((0, dim)), np.empty(0), np.empty(0, np.int64))


class Grown:
    """An array that grows at its end in amortised constant time; `view` is the filled part.

    The first array is kept as it is, and never written to.
    """

    def __init__(self, first: NDArray):
        self._store, self._size = first, len(first)

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
        self._view: sparse.csr_array | None = None  # None: not yet made since the last rows came

    @classmethod
    def of(cls, rows: sparse.csr_array) -> GrownRows:
        """These rows, whose values are not copied."""
        dim = rows.shape[1]  # pyright: ignore[reportOptionalSubscript] (SciPy's own code types shape as possibly None)
        grown = cls(dim)
        grown._ends, grown._columns = (Grown(each.astype(np.int64)) for each in (rows.indptr, rows.indices))
        grown._values = Grown(np.asarray(rows.data, float))
        return grown

    @property
    def view(self) -> sparse.csr_array:
        if self._view is None:  # SciPy copies the indices each time
            parts = (self._values.view, self._columns.view, self._ends.view)
            self._view = sparse.csr_array(parts, shape=(len(self._ends.view) - 1, self.dim))
        return self._view

    def extend(self, rows: sparse.csr_array) -> None:
        self._view = None
        self._ends.extend(rows.indptr[1:] + self._ends.view[-1])
        self._columns.extend(rows.indices)
        self._values.extend(rows.data)


class Cuts:
    """A growing pool of atoms, each (sample, slope row, offset, witness), without duplicates."""

    def __init__(self, dim: int, width: int):
        self.dim = dim
        self._samples, self._offsets = Grown(np.empty(0, np.int64)), Grown(np.empty(0))
        self._witnesses, self._slopes = Grown(np.empty((0, width), np.int64)), GrownRows(dim)
        self._index: dict[tuple[int, bytes], int] | None = {}  # None: not yet made
        self._rows: SlopesAndOffsets | None = None  # what still has to compute slopes and offsets

    @classmethod
    def distinct(cls, samples: Ints, witnesses: Ints, slopes: sparse.csr_array, offsets: Floats) -> Cuts:
        """A pool of these atoms, no two of which are alike; they are not compared until one is added."""
        dim = slopes.shape[1]  # pyright: ignore[reportOptionalSubscript] (SciPy's own code types shape as possibly None)
        cuts = cls(dim, witnesses.shape[1])
        cuts._index = None
        cuts._samples, cuts._witnesses = Grown(np.asarray(samples, np.int64)), Grown(np.asarray(witnesses, np.int64))
        cuts._offsets, cuts._slopes = Grown(np.asarray(offsets, float)), GrownRows.of(slopes)
        return cuts

    @classmethod
    def later(cls, dim: int, samples: Ints, witnesses: Ints, rows: SlopesAndOffsets) -> Cuts:
        """The same of atoms whose slopes and offsets `rows` computes when they are asked for."""
        cuts = cls(dim, witnesses.shape[1])
        cuts._index, cuts._rows = None, rows
        cuts._samples, cuts._witnesses = Grown(np.asarray(samples, np.int64)), Grown(np.asarray(witnesses, np.int64))
        return cuts

    def _write(self) -> None:
        """Compute slopes and offsets, if they are not at hand."""
        if self._rows is not None:
            slopes, offsets = self._rows(self.samples, self.witnesses)
            self._offsets, self._slopes, self._rows = Grown(np.asarray(offsets, float)), GrownRows.of(slopes), None

    def __len__(self) -> int:
        return len(self._samples.view)

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
        self._write()
        return self._offsets.view

    @property
    def slopes(self) -> sparse.csr_array:
        """(K, p) the rows a."""
        self._write()
        return self._slopes.view

    def add(self, samples: Ints, witnesses: Ints, rows: SlopesAndOffsets) -> Ints:
        """Ids (m,) of the atoms (samples, witnesses); `rows` computes slopes and offsets of the new atoms."""
        self._write()
        if self._index is None:
            known = zip(self.samples.tolist(), self.witnesses, strict=True)
            self._index = {(sample, witness.tobytes()): k for k, (sample, witness) in enumerate(known)}
        ids, fresh, size, index = np.empty(len(samples), np.int64), [], len(self), self._index
        for j, (sample, witness) in enumerate(zip(samples.tolist(), witnesses, strict=True)):
            ids[j] = index.setdefault((sample, witness.tobytes()), len(index))
            if ids[j] == size + len(fresh):
                fresh.append(j)
        if fresh:
            slopes, offsets = rows(samples[fresh], witnesses[fresh])
            self._samples.extend(samples[fresh])
            self._witnesses.extend(witnesses[fresh])
            self._offsets.extend(offsets)
            self._slopes.extend(slopes)
        return ids
