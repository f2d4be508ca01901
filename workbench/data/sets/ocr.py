"""Handwritten words: R. Kassel's data as prepared by B. Taskar, http://ai.stanford.edu/~btaskar/ocr/.

52,152 letters of 16 × 8 pixels in 6,877 words, with ten folds.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.data import store
from workbench.system.archive import arrays_in

PIXELS = 16 * 8


class Letters(NamedTuple):
    """Handwritten words, as their letters one after the other.

    pixels : (N, 128) of 0 and 1, 16 rows of 8;  labels : (N,) 0–25 for a–z;
    lengths : (n,) letters of each word, N in all;  folds : (n,) the fold 0–9 of each word
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    lengths: NDArray[np.int64]
    folds: NDArray[np.int64]


def ocr_letters(folder: str | Path | None = None) -> Letters:
    """The OCR words from `ocr_letters.npz` or the public `letter.data.gz`; errors as `store.load`."""
    return Letters(**store.load(OCR, folder))


def read_ocr_npz(path: Path) -> dict[str, NDArray]:
    """pixels (N, 16) bytes of packed bits, labels (N,), lengths (n,), folds (n,)."""
    file = arrays_in(path, Letters._fields)
    packed = file["pixels"]
    if packed.dtype != np.uint8 or packed.ndim != 2:
        raise ValueError(f"pixels are {packed.dtype} {packed.shape}, not packed bytes (N, {PIXELS // 8})")
    rest = {name: whole(name, file[name]) for name in ("labels", "lengths", "folds")}
    return checked_letters({"pixels": np.unpackbits(packed, axis=1), **rest})


def read_ocr_text(path: Path) -> dict[str, NDArray]:
    """Taskar's table: per letter `id letter next_id word_id position fold p_0_0 … p_15_7`, tab separated.

    A word is a chain of next_id that ends with −1; words come in the order of their first letters.
    word_id and position are not used, as the source's own page advises.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="ascii") as file:
        lines = [line.split() for line in file if line.strip()]
    for number, fields in enumerate(lines, 1):
        if len(fields) != 6 + PIXELS or len(fields[1]) != 1:
            raise ValueError(f"line {number} has {len(fields)} fields, not a letter and {6 + PIXELS}")
    if not lines:
        raise ValueError("no letters")
    heads = np.array([[f[0], f[2], f[5]] for f in lines], dtype=np.int64)
    row_of = {int(name): row for row, name in enumerate(heads[:, 0])}
    if len(row_of) != len(lines):
        raise ValueError("a letter's id occurs twice")
    if lost := set(heads[:, 1].tolist()) - set(row_of) - {-1}:
        raise ValueError(f"no letter has the next_id {min(lost)}")
    following = [row_of.get(int(after), -1) for after in heads[:, 1]]
    order, lengths, firsts = [], [], sorted(set(range(len(lines))) - set(following))
    for first in firsts:
        row, before = first, len(order)
        while row >= 0:
            order.append(row)
            row = following[row]
            if len(order) > len(lines):
                raise ValueError("the letters of two words run into one another")
        lengths.append(len(order) - before)
    if len(order) != len(lines):
        raise ValueError("the letters of a word run in a circle or into another word")
    labels = np.frombuffer("".join(lines[row][1] for row in order).encode("ascii"), np.uint8).astype(np.int64)
    pixels = np.array([lines[row][6:] for row in order]).astype(np.int64)
    if not np.isin(pixels, (0, 1)).all():
        raise ValueError("pixels other than 0 and 1")
    arrays = {"pixels": pixels.astype(np.uint8), "labels": labels - ord("a")}
    return checked_letters({**arrays, "lengths": np.array(lengths), "folds": heads[firsts, 2]})


def whole(name: str, array: NDArray) -> NDArray[np.int64]:
    if array.dtype.kind not in "ui" or array.ndim != 1:
        raise ValueError(f"{name} are {array.dtype} {array.shape}, not a row of whole numbers")
    return array.astype(np.int64)


def checked_letters(arrays: dict[str, NDArray]) -> dict[str, NDArray]:
    """The arrays if their shapes fit together, else ValueError (`read` names the file)."""
    pixels, labels, lengths, folds = (arrays[name] for name in Letters._fields)
    if pixels.shape != (len(labels), PIXELS) or lengths.sum() != len(labels) or len(folds) != len(lengths):
        sizes = f"{pixels.shape} pixels, {len(labels)} labels, {lengths.sum()} letters in {len(lengths)} words"
        raise ValueError(f"its parts do not fit: {sizes}, {len(folds)} folds")
    if not len(labels) or lengths.min() < 1 or labels.min() < 0 or labels.max() > 25 or folds.min() < 0:
        raise ValueError("labels outside a–z, an empty word, or a negative fold")
    return arrays


def pack_letters(arrays: dict[str, NDArray]) -> dict[str, NDArray]:
    """The arrays in the form of `ocr_letters.npz`: packed bits and one byte a number."""
    small = {name: arrays[name].astype(np.uint8) for name in ("labels", "lengths", "folds")}
    return {"pixels": np.packbits(arrays["pixels"], axis=1), **small}


OCR = store.Source(
    readers={"ocr_letters.npz": read_ocr_npz, "letter.data.gz": read_ocr_text, "letter.data": read_ocr_text},
    url="http://ai.stanford.edu/~btaskar/ocr/letter.data.gz",
    digest="3f3b7c817af0fbe402d1bdf21343aedfd525b8ccb78c6ec8786afcef19b09551",
    pack=pack_letters,
)
