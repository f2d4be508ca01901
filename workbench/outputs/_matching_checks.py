"""Edge features and links of word pairs, checked and laid end to end; every fault names its place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.arithmetic.arrays import checked_entries, numbers
from workbench.contracts import Ints
from workbench.errors import BadInput


def checked_edges(edge_features: Any, shapes: Any) -> tuple[sparse.csr_array, Ints, Ints]:
    """All edges as one CSR matrix (N, d), row by row of each sample, and J (n,), K (n,); or `BadInput`."""
    if sparse.issparse(edge_features) or not hasattr(edge_features, "__len__"):
        raise BadInput("The edge features are not a list; give a list of (J_i, K_i, d) arrays, one per sample.")
    if len(edge_features) == 0:
        raise BadInput("There are no samples; give the edge features of at least one.")
    if shapes is not None:
        shapes = checked_shapes(shapes, len(edge_features))
    pieces = [checked_piece(i, x, None if shapes is None else shapes[i]) for i, x in enumerate(edge_features)]
    d = pieces[0][0].shape[1]
    for i, (piece, _, _) in enumerate(pieces):
        if piece.shape[1] != d:
            raise BadInput(f"Sample {i} has {piece.shape[1]} features per edge but sample 0 has {d}; make them equal.")
    edges = sparse.csr_array(sparse.vstack([piece for piece, _, _ in pieces], format="csr"), dtype=float)
    edges.sum_duplicates()
    edges.eliminate_zeros()
    heights, widths = (np.array([piece[axis] for piece in pieces], np.int64) for axis in (1, 2))
    ends = np.cumsum(heights * widths)

    def place(edge: int) -> str:
        i = int(np.searchsorted(ends, edge, side="right"))
        j, k = divmod(edge - int(ends[i] - heights[i] * widths[i]), int(widths[i]))
        return f"of edge ({j}, {k}) of sample {i}"

    checked_entries(edges, place)
    return edges, heights, widths


def checked_shapes(shapes: Any, n: int) -> list[tuple[int, int]]:
    """(J_i, K_i) of every sample as given, each at least 1, or `BadInput`."""
    table = np.asarray(shapes)
    if table.shape != (n, 2) or table.dtype.kind not in "ui" or table.min() < 1:
        raise BadInput(f"The shapes are not {n} pairs (J_i, K_i) of whole numbers ≥ 1; give one pair per sample.")
    return [(int(j), int(k)) for j, k in table]


def checked_piece(i: int, features: Any, shape: tuple[int, int] | None) -> tuple[sparse.csr_array, int, int]:
    """The edges of one sample (J·K, d) with J and K, or `BadInput`."""
    what = f"The edge features of sample {i}"
    if sparse.issparse(features) and features.dtype.kind == "c":
        raise BadInput(f"{what} are complex; give real ones.")
    if shape is not None:
        piece = (
            features
            if sparse.issparse(features)
            else numbers(features, f"The edge features of sample {i}", "repair them")
        )
        if len(piece.shape) != 2 or piece.shape[0] != shape[0] * shape[1] or piece.shape[1] == 0:
            raise BadInput(
                f"{what} have shape {piece.shape} but its shape is {shape}; give ({shape[0] * shape[1]}, d)."
            )
        return sparse.csr_array(piece, dtype=float), *shape
    if sparse.issparse(features):
        raise BadInput(f"{what} are sparse; give `shapes`, its numbers of rows and columns.")
    cube = numbers(features, what, "repair them")
    if cube.ndim != 3 or 0 in cube.shape:
        raise BadInput(f"{what} have shape {cube.shape}; give (J, K, d), each at least 1.")
    return sparse.csr_array(cube.reshape(-1, cube.shape[2])), cube.shape[0], cube.shape[1]


def checked_links(where: str, links: Any, shape: tuple[int, int]) -> NDArray[np.int64]:  # links: a user's iterable
    """Links (m, 2) of pairs (j, k), each inside `shape` and there once, in order; or `BadInput`."""
    try:
        table = np.asarray(links if hasattr(links, "__len__") else list(links))
    except (TypeError, ValueError):
        raise BadInput(f"The links of {where} are ragged; give pairs (j, k).") from None
    if table.size == 0:
        return np.empty((0, 2), np.int64)
    if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "ui":
        raise BadInput(f"The links of {where} are {table.dtype} {table.shape}; give pairs (j, k) of whole numbers.")
    table = table.astype(np.int64)
    outside = ((table < 0) | (table >= shape)).any(axis=1)
    if outside.any():
        j, k = table[outside][0]
        raise BadInput(
            f"Link ({j}, {k}) of {where} lies outside its {shape[0]} × {shape[1]} edges; links are counted from 0."
        )
    ordered, counts = np.unique(table, axis=0, return_counts=True)
    if counts.max() > 1:
        j, k = ordered[counts.argmax()]
        raise BadInput(f"Link ({j}, {k}) of {where} is given twice; give it once.")
    return ordered


def checked_price(name: str, value: Any) -> float:
    """A cost of the loss: a positive finite number, or `BadInput`."""
    try:
        price = float(value)
    except (TypeError, ValueError):
        price = float("nan")
    if not 0 < price < 1e100:
        raise BadInput(f"{name} is {value!r}; it must be positive and finite, e.g. {name}=1.")
    return price
