"""Certificates by chance with one number, shape, type or key at and beyond the edge of what it may be.

All claim nothing (−∞ … ∞) and hash rightly, so that only the rule that was hit decides; the second checker says how.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from chance.certificates import WIDE, Case, certificates

FLOATS = (0.0, 1.0, -5e-324, 1.0000001, np.nan, np.inf)
NUMBERS = (0, 1, -1, 1e-100, 1e100, 9e-101, 1.1e100, 0.5, True, None, "1", [], [1], 1e-320, 2, 3, 10**15)
LISTS = (
    [],
    [0],
    [1, 1, 1, 1],
    [0, 0, 0, 0],
    [1, 0, 1, 1],
    [-1, 0, 1, 1],
    ["1"] * 4,
    [None] * 4,
    [0.5, 1, 1, 1],
    [2] * 4,
)
WORDS = ("exact", "margin", "hamming", "none", "", None, 3)
KEYS = (
    "format",
    "proof",
    "formulation",
    "problem",
    "program",
    "oracle",
    "status",
    "backend",
    "versions",
    "alternation",
)


def whole(array: np.ndarray) -> list[int]:
    """Whole numbers around the ends of those that are there, around their count, and far out."""
    there = {int(array.min(initial=0)), int(array.max(initial=0)), array.size}
    return sorted({each + step for each in there for step in (-1, 0, 1)} | {-2, 1 << 41})


def entries(rng: Any, case: Case, name: str) -> Iterator[Case]:
    """One entry of an array, everything that it might become."""
    array = case.arrays[name]
    choices = FLOATS if array.dtype.kind == "f" else whole(array) if array.dtype.kind == "i" else ()
    for value in choices if array.size else ():
        new = case.copy(f"{name} has {value}")
        new.arrays[name].reshape(-1)[int(rng.integers(array.size))] = value
        yield new


def shapes(rng: Any, case: Case, name: str) -> Iterator[Case]:
    """An array of another shape or type, or none."""
    array = case.arrays[name]
    array = np.clip(array, -9.0, 9.0) if array.dtype.kind == "f" else array
    others = {"twice": np.concatenate([np.atleast_1d(array)] * 2), "flat": array.reshape(-1)}
    others |= {"in one row": array.reshape(1, -1), "as bytes": array.astype("S8"), "as bool": array.astype(bool)}
    others |= {"shorter": np.atleast_1d(array)[:-1], "empty": np.atleast_1d(array)[:0], "none": None}
    others |= {"at the start": np.concatenate([np.atleast_1d(array)[:1], np.atleast_1d(array)])}
    if array.dtype.kind in "if":
        others |= {"other": array.astype("<i8" if array.dtype.kind == "f" else "<f8"), "small": array.astype("<i4")}
    for word, other in others.items():
        new = case.copy(f"{name} {word}")
        if other is None:
            del new.arrays[name]
        elif other.dtype == array.dtype and other.shape == array.shape:
            continue
        else:
            new.arrays[name] = other
        yield new


def settings(case: Case) -> Iterator[Case]:
    """A setting at and beyond the edge; one that is missing, one that is not known."""
    given = case.header["formulation"]["settings"]
    for key, value in given.items():
        listed = LISTS if key in ("states", "kept", "v", "baseline") else ()
        for other in (*listed, *(NUMBERS if not isinstance(value, str) else WORDS)):
            new = case.copy(f"{key} is {other}")
            new.header["formulation"]["settings"][key] = other
            yield new
        new = case.copy(f"no {key}")
        del new.header["formulation"]["settings"][key]
        yield new
    new = case.copy("another setting")
    new.header["formulation"]["settings"]["more"] = 1
    yield new


def headers(case: Case) -> Iterator[Case]:
    """A key that is missing or of another type, in the header and in its parts."""
    parts = {"": KEYS, "proof": ("kind", "version"), "formulation": ("name", "version", "settings")}
    parts |= {"problem": ("output", "version", "data_sha256"), "alternation": ("formulation", "status")}
    for part, keys in parts.items():
        for key in keys:
            for value in ("none", "", "x", 1, 2, 0, 1.0, True, None, [], {}, {"a": 1}, {"a": "b"}, "whole", "A" * 64):
                new = case.copy(f"{part} {key} is {value}")
                new.header |= {"alternation": {"formulation": "a", "status": "b"}, "program": "last of an alternation"}
                inside = new.header[part] if part else new.header
                inside[key] = value
                if value == "none":
                    del inside[key]
                yield new
        new = case.copy(f"{part} has one more")
        new.header.get(part, new.header)["more"] = "x"
        yield new


def judged(case: Case, sign: bool) -> Case:
    case.header |= WIDE
    if sign:
        case.sign()
    case.verdict = case.judged()
    case.header = json.loads(json.dumps(case.header))
    return case


@cache
def damaged(seed: int = 0) -> tuple[Case, ...]:
    """Every array of one certificate of each structure and kind of proof, and every setting of each formulation."""
    rng, found, seen = np.random.default_rng(seed), [], set()
    for case in certificates(seed):
        part, output = case.header["formulation"], case.header["problem"]["output"]
        for name in case.arrays:
            kind = output if name.startswith(("data_", "witnesses", "hint")) else case.header["proof"]["kind"]
            if (kind, name) not in seen:
                seen.add((kind, name))
                new = [*entries(rng, case, name), *shapes(rng, case, name)]
                found += [judged(each, True) for each in new]
        if tuple(part["settings"]) not in seen:
            found += [judged(each, False) for each in settings(case)]
            seen.add(tuple(part["settings"]))
    found += [judged(each, False) for each in headers(certificates(seed)[0])]
    return tuple(found)
