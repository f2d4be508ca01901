"""A certificate as a forger sees it, the contents of its two files, and the list of edits.

    EDITS[kind](rng, forgery)      changes the forgery in place; `Unfit` if there is nothing to change

The name of an edit's function is its kind in the benchmark's table.
"""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from workbench.proofs.certificate import data_sha256

EDITS: dict[str, Callable[[Any, Forgery], None]] = {}
ODD_NUMBERS = (0.0, -0.0, -1.0, 5e-324, 1e-300, 1e300, 1.7e308, float("inf"), float("-inf"), float("nan"))
ODD_VALUES = (None, True, False, "0.5", "", [], {}, [1.0], "NaN", 10**30, 2**53 + 1, -1, 0, 1e308, "1e9", 1e-320)


class Unfit(Exception):
    """The edit finds nothing to change in this certificate."""


@dataclass
class Forgery:
    """STEM.json and STEM.npz as `header` and `arrays`; `text` and `archive` replace them by raw bytes."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]
    others: list[Forgery] = field(default_factory=list)
    text: bytes | None = None
    archive: bytes | None = None

    def copy(self) -> Forgery:
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        return Forgery(copy.deepcopy(self.header), arrays, self.others, self.text, self.archive)

    def json(self) -> bytes:
        return json.dumps(self.header).encode() if self.text is None else self.text

    def npz(self) -> bytes:
        return packed(self.arrays) if self.archive is None else self.archive

    def write(self, stem: Path) -> None:
        for ending, content in ((".json", self.json()), (".npz", self.npz())):
            stem.with_name(stem.name + ending).write_bytes(content)

    def data(self) -> dict[str, np.ndarray]:
        return {name[5:]: array for name, array in self.arrays.items() if name.startswith("data_")}

    def sign(self) -> None:
        """A digest that fits the data."""
        self.header["problem"]["data_sha256"] = data_sha256(self.data())


def packed(arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            archive.writestr(name + ".npy", member(array))
    return buffer.getvalue()


def member(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def edit(function: Callable[[Any, Forgery], None]) -> Callable[[Any, Forgery], None]:
    EDITS[function.__name__.replace("_", " ")] = function
    return function


def pick(rng: Any, items: Any) -> Any:
    items = list(items)
    if not items:
        raise Unfit
    return items[int(rng.integers(len(items)))]


def place(rng: Any, forgery: Forgery, name: str) -> tuple[np.ndarray, Any]:
    """An array of the forgery and one index of it."""
    array = forgery.arrays.get(name)
    if array is None or not array.size:
        raise Unfit
    return array, np.unravel_index(int(rng.integers(array.size)), array.shape)


def sign(rng: Any, forgery: Forgery) -> None:
    """A digest that fits the data, nine times in ten, so that the digest is not what refuses them."""
    if rng.random() < 0.9:
        forgery.sign()
