"""Features of neighbouring positions of sequences: checked, as scores, and as the edges of paths.

    A_ab(t) = ⟨A_ab, f_t⟩,   f_t (q,) the features of the pair that ends at position t;   edges (t − 1, t) of a `Tree`

docs/mathematics.md §3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.arithmetic.arrays import LARGEST, numbers
from workbench.contracts import Floats, Ints
from workbench.errors import BadInput
from workbench.outputs.tree import Tree


def checked_gaps(pairs: Any, offsets: Ints) -> Floats:
    """The features of the pair that ends at each position (N, q), 0 for first positions, or `BadInput`.

    pairs : one (T_i − 1, q) table a sequence, one q ≥ 1; None for one constant 1 each.
    """
    total, lengths = int(offsets[-1]), np.diff(offsets)
    if pairs is None:
        return np.ones((total, 1))
    if not hasattr(pairs, "__len__") or len(pairs) != len(lengths):
        raise BadInput(f"There are {len(lengths)} sequences; give one table of features of pairs for each.")
    tables = [numbers(table, f"The features of pairs of sequence {i}", "repair them") for i, table in enumerate(pairs)]
    width = max((table.shape[1] for table in tables if table.ndim == 2), default=0)
    found = np.zeros((total, width))
    for i, (table, first, length) in enumerate(zip(tables, offsets, lengths, strict=False)):
        if width == 0 or (table.shape != (length - 1, width) and not (length == 1 and table.size == 0)):
            raise BadInput(
                f"The features of pairs of sequence {i} have shape {table.shape}; give ({length - 1}, {max(width, 1)})."
            )
        if not (np.abs(table) <= LARGEST).all():
            raise BadInput(
                f"A feature of a pair of sequence {i} is infinite, missing or beyond {LARGEST:g}; repair it."
            )
        found[first + 1 : first + length] = table.reshape(length - 1, width)
    return found


def asked_gaps(chain: Any, pairs: Any, offsets: Ints) -> Floats:
    """The same for sequences whose labels are asked of a `Chain`; `BadInput` unless they are like those learned."""
    gaps, given = checked_gaps(pairs, offsets), pairs is not None
    if chain.paired != given or gaps.shape[1] != chain.n_pairs:
        raise BadInput(
            f"The weights were learned with {chain.n_pairs * chain.paired} features of each pair of neighbours and "
            f"there are {gaps.shape[1] * given}; give `pairs` as in training."
        )
    return gaps


def later(offsets: Ints) -> Ints:
    """(N − n,) the positions that end a pair."""
    return np.setdiff1d(np.arange(offsets[-1]), offsets)


def path(offsets: Ints, gaps: Floats, arrays: dict[str, Any]) -> Tree:
    """The `Tree` of a chain's other arrays: each position is the parent of the next, edges follow the sequences."""
    ends, first = later(offsets), np.repeat(offsets[:-1], np.diff(offsets) - 1)
    edges = {"edges": np.column_stack([ends - 1 - first, ends - first]), "ends": offsets - np.arange(len(offsets))}
    return Tree.from_arrays({**arrays, **edges, "pairs": gaps[ends]})


def drawn_gaps(rng: np.random.Generator, lengths: Ints) -> list[Floats] | None:
    """Features of 1 or 2 columns for the gaps of sequences of these lengths, in a third of the draws; else None."""
    if rng.random() > 1 / 3:
        return None
    q, whole = int(rng.integers(1, 3)), rng.random() < 0.5
    gaps = [rng.normal(size=(length - 1, q)) for length in lengths.tolist()]
    return [np.round(2 * each) for each in gaps] if whole else gaps
