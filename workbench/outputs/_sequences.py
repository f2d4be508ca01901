"""Lists of sequences and of label sequences, checked and laid end to end; every fault names its place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.arrays import checked_entries, missing_labels, named_labels
from workbench.contracts import Ints
from workbench.errors import BadInput


def checked_sequences(sequences: Any) -> tuple[sparse.csr_array, Ints]:
    """All positions as one CSR matrix (N, p) and where each sequence starts (n + 1,), or `BadInput`."""
    if sparse.issparse(sequences) or not hasattr(sequences, "__len__"):
        raise BadInput("The sequences are not a list; give a list of (T_i, p) arrays, one per sequence.")
    if len(sequences) == 0:
        raise BadInput("There are no sequences; give at least one.")
    pieces = [checked_sequence(i, sequence) for i, sequence in enumerate(sequences)]
    p = pieces[0].shape[1]
    for i, piece in enumerate(pieces):
        if piece.shape[1] != p:
            raise BadInput(
                f"Sequence {i} has {piece.shape[1]} features per position but sequence 0 has {p}; make them equal."
            )
    if any(sparse.issparse(piece) for piece in pieces):
        letters = sparse.csr_array(sparse.vstack([sparse.csr_array(piece) for piece in pieces]), dtype=float)
    else:
        letters = sparse.csr_array(np.concatenate(pieces))
    letters.sum_duplicates()
    offsets = np.concatenate([[0], np.cumsum([piece.shape[0] for piece in pieces])]).astype(np.int64)

    def place(row: int) -> str:
        i = int(np.searchsorted(offsets, row, side="right") - 1)
        return f"at position {row - offsets[i]} of sequence {i}"

    checked_entries(letters, place)
    return letters, offsets


def checked_sequence(i: int, sequence: Any) -> Any:
    """One sequence as a float array or sparse matrix (T, p), T ≥ 1 and p ≥ 1, or `BadInput`."""
    if hasattr(sequence, "dtype") and sequence.dtype.kind == "c":
        raise BadInput(f"Sequence {i} holds complex numbers; give real features.")
    if not sparse.issparse(sequence):
        try:
            sequence = np.asarray(sequence, float)
        except (TypeError, ValueError) as error:
            widths = sorted({len(row) for row in sequence if hasattr(row, "__len__")}) if np.iterable(sequence) else []
            if len(widths) > 1:
                raise BadInput(
                    f"Sequence {i} is ragged, its rows have {widths[0]} to {widths[-1]} features; make them equal."
                ) from None
            raise BadInput(f"Sequence {i} is not a numeric (T, p) array ({error}); repair it.") from None
    if sequence.shape[:1] == (0,):
        raise BadInput(f"Sequence {i} is empty; remove it.")
    if len(sequence.shape) != 2 or sequence.shape[1] == 0:
        raise BadInput(f"Sequence {i} has shape {sequence.shape}; give one row of features per position, (T, p).")
    return sequence


def checked_labels(labels: Any, lengths: Ints, classes: ArrayLike | None) -> tuple[NDArray, Ints]:
    """The classes in order and all labels as indices into them (N,), or `BadInput`."""
    if not hasattr(labels, "__len__") or len(labels) != len(lengths):
        count = f"{len(labels)} label sequences" if hasattr(labels, "__len__") else "no list of label sequences"
        raise BadInput(f"There are {len(lengths)} sequences but {count}; give one label sequence each.")
    rows = [named_labels(list(row) if isinstance(row, str) else row) for row in labels]
    for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        if row.shape != (length,):
            raise BadInput(
                f"Sequence {i} has {length} positions but its labels have shape {row.shape}; give one per position."
            )
    named = np.concatenate(rows)
    if (missing := missing_labels(named)).size:
        i, t = located(int(missing[0]), lengths)
        raise BadInput(f"The label at position {t} of sequence {i} is missing; repair it.")
    known = np.unique(named if classes is None else np.asarray(classes))
    if len(known) < 2:
        raise BadInput(f"All labels are {known[0]}; a learning problem needs at least two classes.")
    strange = ~np.isin(named, known)
    if strange.any():
        at = int(np.flatnonzero(strange)[0])
        i, t = located(at, lengths)
        raise BadInput(
            f"Label {named[at].item()!r} at position {t} of sequence {i} is not among the given classes; "
            "add it to `classes`."
        )
    return known, np.searchsorted(known, named).astype(np.int64)


def located(at: int, lengths: Ints) -> tuple[int, int]:
    """(sequence, position) of an entry of the concatenation."""
    ends = np.cumsum(lengths)
    i = int(np.searchsorted(ends, at, side="right"))
    return i, int(at - (ends[i] - lengths[i]))
