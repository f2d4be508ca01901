"""The rows ⟨a, x⟩ + b ≤ 0 that the oracles of a `LazyProblem` generate, kept without duplicates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from workbench.contracts import Floats, Ints, Rows


class LazyRow(NamedTuple):
    """⟨a, x⟩ + b ≤ 0: the columns where a is not 0, its values there, and b."""

    columns: Ints
    values: Floats
    offset: float

    def at(self, x: Floats) -> float:
        """⟨a, x⟩ + b."""
        return float(self.values @ x[self.columns]) + self.offset


class LazyRows:
    """The rows generated so far, without duplicates; a handle is an array holding a row's number."""

    def __init__(self, dim: int):
        self.dim, self.rows = dim, list[LazyRow]()
        self.index: dict[tuple[bytes, bytes, float], int] = {}

    def handles(self) -> list[Ints]:
        return [np.array([k]) for k in range(len(self.rows))]

    def add(self, row: LazyRow) -> Ints:
        key = (row.columns.tobytes(), row.values.tobytes(), row.offset)
        number = self.index.setdefault(key, len(self.rows))
        if number == len(self.rows):
            self.rows.append(row)
        return np.array([number])

    def take(self, handles: list[Ints]) -> Rows:
        """The rows of these handles in the form that masters take."""
        taken = [self.rows[handle[0]] for handle in handles]
        if not taken:
            return Rows(sparse.csr_array((0, self.dim)), np.empty(0), np.empty(0, np.int64))
        ends = np.cumsum([0, *(len(row.columns) for row in taken)])
        data = (np.concatenate([row.values for row in taken]), np.concatenate([row.columns for row in taken]), ends)
        slopes = sparse.csr_array(data, shape=(len(taken), self.dim))
        return Rows(slopes, np.array([row.offset for row in taken]), np.full(len(taken), -1))
