"""What definitions of output structures read alike: sparse rows, sample weights, costs, numbers of labels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.whole import Array, Rows


def read_rows(fields: Fields, rows: int, columns: int) -> Rows:
    """`data`, `indices` and `indptr` as a matrix of this many rows and columns."""
    indptr = fields.ints("indptr", rows + 1)
    data = fields.floats("data", None)
    indices = fields.ints("indices", len(data), within=(0, columns - 1))
    ordered = indptr[0] == 0 and indptr[-1] == len(data) and (indptr[1:] >= indptr[:-1]).all()
    demand(ordered, f"{fields.of}indptr does not say where the {rows} rows end")
    starts = np.zeros(len(data) + 1, bool)
    starts[indptr] = True
    rising = (indices[1:] > indices[:-1]) | starts[1:-1]
    demand(rising.all(), f"{fields.of}indices do not rise within a row")
    return Rows(data, indices, indptr, columns)


def read_weights(fields: Fields, n: int) -> Array:
    weights = fields.floats("weights", n, least=0.0)
    demand(weights.any(), "all sample weights are 0")
    return weights


def read_classes(fields: Fields) -> int:
    """The number of classes."""
    classes = fields.get("classes")
    distinct = classes.ndim == 1 and (classes == classes).all() and len(set(classes.tolist())) == len(classes) >= 2
    demand(distinct, f"{fields.of}classes are not two or more different labels")
    return len(classes)


def extended(listed: list[tuple[int, ...]], choices: Iterable[int], most: int, refusal: str) -> list[tuple[int, ...]]:
    """Every listed beginning followed by every choice that is negative or new to it; `refusal` beyond `most`."""
    found = []
    for start in listed:
        found += [(*start, k) for k in choices if k < 0 or k not in start]
        demand(len(found) <= most, refusal)
    return found


def read_cost(fields: Fields, k: int) -> Array:
    cost = fields.floats("cost", k, k, least=0.0)
    demand(not np.diag(cost).any(), f"{fields.of}cost prices a right label")
    return cost
