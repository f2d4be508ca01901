"""npz: arrays X (n, p) and y (n,) by np.savez; or a sparse X as scipy.sparse.save_npz writes X, with labels beside X.

A sparse X is the arrays `data`, `indices`, `indptr`, `shape` (CSR; CSC if `format` says csc), or `data`, `row`, `col`,
`shape` (COO). Labels are the array y, labels or label, or the array that the user names. Since save_npz takes no more
than one matrix, the labels of NAME.npz may also stand in NAME.labels.npy, written by np.save. Pickled objects are
refused.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.arithmetic.arrays import saved_rows
from workbench.data.tables.table import LARGEST_INDEX, Asked, Table
from workbench.errors import BadInput, UnknownName
from workbench.system.archive import array_in, arrays_in, names_in

INPUTS = ("X", "data", "indices", "indptr", "row", "col", "shape", "format")
LABELS = ("y", "labels", "label")


def read(path: Path, asked: Asked) -> Table:
    """The samples and labels of an archive; a sparse matrix is checked before SciPy sees its indices."""
    try:
        arrays = arrays_in(path, {*INPUTS, *LABELS, *filter(None, [asked.label])})
        names = names_in(path)
    except ValueError as error:
        raise BadInput(f"{path} is not an npz file of plain arrays ({error}); write it with np.savez.") from None
    if "X" in arrays:
        X = arrays["X"]
        if X.dtype.kind not in "biufc":  # complex numbers are refused where all arrays are
            raise BadInput(f"{path}: X is of type {X.dtype}, not numbers; write floats.")
    elif {"data", "shape"} <= arrays.keys():
        try:
            X = sparse_rows(arrays)
        except BadInput as error:
            raise BadInput(f"{path} holds no sparse matrix ({error}); write it with scipy.sparse.save_npz.") from None
    else:
        held = ", ".join(names) or "none"
        raise BadInput(f"{path} holds the arrays {held}, but X is missing; write it with np.savez.")
    place, y = labels_of(path, arrays, names, asked)
    return Table(X, y, None, place)


def labels_of(path: Path, arrays: dict[str, NDArray], names: list[str], asked: Asked) -> tuple[str, NDArray | None]:
    """Where the labels stand, and the labels; None if the file has none and no file of labels lies beside it."""
    if asked.label is not None:
        if asked.label not in arrays:
            raise UnknownName(f"array in {path}", asked.label, names)
        return f"the array {asked.label}", arrays[asked.label]
    there = [name for name in LABELS if name in arrays]
    if len(there) > 1:
        raise BadInput(f"{path} holds labels twice, as {there[0]} and {there[1]}; choose with --set label={there[0]}.")
    if there:
        return f"the array {there[0]}", arrays[there[0]]
    beside = path.with_name(f"{path.stem}.labels.npy")
    if not beside.is_file():
        return "", None
    try:
        return str(beside), array_in(beside)
    except ValueError as error:
        raise BadInput(f"{beside} is not an array of labels ({error}); write it with np.save.") from None


def sparse_rows(arrays: dict[str, NDArray]) -> sparse.csr_array:
    """The matrix as CSR, or `BadInput` that says what is wrong without naming the file."""
    told, shape = arrays.get("format", np.array(b"csr")), arrays["shape"]
    if shape.shape != (2,) or shape.dtype.kind not in "ui":
        raise BadInput("shape is not two whole numbers")
    n, p = (int(size) for size in shape)
    if not (0 < n <= LARGEST_INDEX and 0 < p <= LARGEST_INDEX):
        raise BadInput(f"the shape is {n} × {p}")
    kind = bytes(told.reshape(-1)[0]).decode("ascii", "replace") if told.dtype.kind == "S" and told.size else str(told)
    if kind == "csr":
        return saved_rows(complete(arrays, "indices", "indptr"), (n, p))
    if kind == "csc":
        return sparse.csr_array(saved_rows(complete(arrays, "indices", "indptr"), (p, n)).T)
    if kind == "coo":
        return triplets(complete(arrays, "row", "col"), (n, p))
    raise BadInput(f"its format is {kind}, and csr, csc and coo are read")


def complete(arrays: dict[str, NDArray], *names: str) -> dict[str, NDArray]:
    """The arrays, if all of these are there."""
    if missing := [name for name in names if name not in arrays]:
        raise BadInput(f"{missing[0]} is missing")
    return arrays


def triplets(arrays: dict[str, NDArray], shape: tuple[int, int]) -> sparse.csr_array:
    """CSR from entries, rows and columns; entries at one place add up."""
    data, places = arrays["data"], (arrays["row"], arrays["col"])
    if data.dtype.kind not in "biuf" or any(each.dtype.kind not in "ui" for each in places):
        raise BadInput("data, row and col are not one row of numbers and two of whole ones")
    if data.ndim != 1 or any(each.shape != data.shape for each in places):
        raise BadInput("data, row and col differ in length")
    if any(((each < 0) | (each >= size)).any() for each, size in zip(places, shape, strict=True)):
        raise BadInput(f"an entry lies outside of the shape {shape[0]} × {shape[1]}")
    return sparse.csr_array((data.astype(float), places), shape=shape)
