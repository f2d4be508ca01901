"""Sequences as sklearn-crfsuite takes them: lists of dicts, one a position; or arrays (T, p)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from scipy import sparse

from workbench.errors import BadInput


class Names:
    """Names of features by column, as a list of sequences of dicts uses them."""

    def __init__(self, names: Sequence[str]):
        self.names, self.columns = list(names), {name: k for k, name in enumerate(names)}

    @classmethod
    def of(cls, sequences: Sequence[Sequence[Mapping[str, Any]]]) -> Names:
        """The names that sequences use, in order."""
        found = {name for sequence in sequences for position in sequence for name, _ in entries(position)}
        if not found:
            raise BadInput("No position of the sequences has a feature; give dicts that are not empty.")
        return cls(sorted(found, key=str))

    def rows(self, sequence: Sequence[Mapping[str, Any]]) -> sparse.csr_array:
        """(T, p); names that were not there when learning do not count."""
        at, columns, values = [], [], []
        for t, position in enumerate(sequence):
            for name, value in entries(position):
                if name in self.columns:
                    at.append(t)
                    columns.append(self.columns[name])
                    values.append(value)
        return sparse.csr_array((values, (at, columns)), shape=(len(sequence), len(self.names)), dtype=float)


def entries(position: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    """(name, number) of a position's features; a text is a name of its own, name:text, and so are those of lists."""
    if not isinstance(position, Mapping):
        raise BadInput(f"A position is a {type(position).__name__}, no dict; give one kind of sequences throughout.")
    for name, value in position.items():
        whole = f"{prefix}{name}"
        if isinstance(value, str):
            yield f"{whole}:{value}", 1.0
        elif isinstance(value, Real | np.bool_):
            yield whole, number(value, whole)
        elif isinstance(value, Mapping):
            yield from entries(value, f"{whole}:")
        elif isinstance(value, Iterable) and not isinstance(value, bytes):
            yield from ((f"{whole}:{each}", 1.0) for each in value)
        else:
            raise BadInput(f"The feature {whole} is {value!r}; give a number, a text, or a list or dict of these.")


def number(value: Any, name: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise BadInput(f"The feature {name} is a whole number beyond floats; divide it.") from None


def of_dicts(sequences: Any) -> TypeGuard[Sequence[Sequence[Mapping[str, Any]]]]:
    """Whether sequences are lists of dicts."""
    if sparse.issparse(sequences) or not hasattr(sequences, "__len__"):
        return False
    lists = [each for each in sequences if isinstance(each, list | tuple) and each]
    return bool(lists) and isinstance(lists[0][0], Mapping)
