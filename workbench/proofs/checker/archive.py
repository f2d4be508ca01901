"""The two files of a certificate, read with suspicion (docs/certificate-format.md §1).

Nothing is unpickled, nothing is unpacked before its size is known, and every shape must fit its bytes. What comes out
is a header (the JSON object) and arrays; whoever reads them asks for each by name, type and shape through `Fields`.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from workbench.proofs.checker.faults import Malformed, demand
from workbench.proofs.checker.whole import Array

MOST_JSON = 64 << 20  # bytes
MOST_BYTES = 1 << 30  # of all arrays together
MOST_HEADER = MOST_ENTRY = 4096
MOST_DEPTH = 20
MOST_MEMBERS = 64
MOST_SIDE = 1 << 40  # of a shape
LAST_POINT, SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)
TYPES = ("<f8", "<i8", "|u1", "|b1", "<f4", "|i1", "<i2", "<i4", "<u2", "<u4", "<u8")
TEXT = re.compile(r"<U[1-9][0-9]{0,3}|\|S[1-9][0-9]{0,3}")
QUOTED = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)  # a text without end is passed over once
INFINITE_KEYS = ("lower", "upper", "gap")
VERSIONS = (b"\x01\x00", b"\x02\x00", b"\x03\x00")
# ValueError: of a name that is not UTF-8, and of an offset from 2⁶³ on
DAMAGE = (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError, ValueError)
DAMAGED = "its npz file is damaged"
MAGIC = b"\x93NUMPY"

Header = dict[str, Any]  # an object of the JSON, which nothing has checked yet


def files_of(name: str | Path) -> tuple[Path, Path]:
    """STEM.json and STEM.npz, where `name` is STEM or either file."""
    path = Path(name)
    stem = path.stem if path.suffix in (".json", ".npz") else path.name
    demand(path.name, "the certificate has no name")
    return path.with_name(f"{stem}.json"), path.with_name(f"{stem}.npz")


def check_regular(path: Path) -> None:
    """`Malformed` for a folder, and for a pipe, which might never end."""
    demand(not path.exists() or path.is_file(), f"{path.name} is no regular file")


def read(name: str | Path, most_bytes: int | None = None) -> tuple[Header, dict[str, Array]]:
    """Header and arrays of a certificate, of `MOST_BYTES` unless told otherwise."""
    text, archive = files_of(name)
    return read_json(text), read_archive(archive, most_bytes or MOST_BYTES)


# ── JSON ──────────────────────────────────────────────────────────────────────────────────────────


def read_json(path: Path) -> Header:
    check_regular(path)
    with open(path, "rb") as file:
        raw = file.read(MOST_JSON + 1)
    demand(len(raw) <= MOST_JSON, f"its JSON is longer than {MOST_JSON} bytes")
    try:
        text = raw.decode()
        demand(nesting(text) <= MOST_DEPTH, f"its JSON is nested deeper than {MOST_DEPTH}")
        header = json.loads(
            text, object_pairs_hook=once, parse_constant=constant, parse_float=decimal, parse_int=whole_number
        )
    except UnicodeDecodeError:
        raise Malformed("its JSON is no text") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"its text stops making sense in line {error.lineno}") from None
    demand(isinstance(header, dict), "its JSON is no object")
    rest = [value for key, value in header.items() if key not in INFINITE_KEYS or not isinstance(value, float)]
    demand(finite(rest), f"its JSON holds an infinity elsewhere than at {', '.join(INFINITE_KEYS)}")
    return header


def nesting(text: str) -> int:
    """How deep brackets are nested, found without recursion."""
    raw = np.frombuffer(QUOTED.sub("", text).encode(), np.uint8)
    steps = np.isin(raw, np.frombuffer(b"[{", np.uint8)).astype(int) - np.isin(raw, np.frombuffer(b"]}", np.uint8))
    return int(np.cumsum(steps).max(initial=0))


def once(pairs: list[tuple[str, object]]) -> Header:
    found = dict(pairs)
    demand(len(found) == len(pairs), "a key of its JSON stands twice")
    return found


def constant(word: str) -> float:
    demand(word != "NaN", "its JSON holds NaN, which is no number")
    return float(word)


def decimal(word: str) -> float:
    """The nearest float64."""
    found = float(word)
    demand(abs(found) < np.inf, f"its JSON holds {word[:30]}, which is too great a number")
    return found


def whole_number(word: str) -> int:
    """A whole number that is a float64, so that no reading rounds it."""
    fits = abs(float(word)) < np.inf and int(float(word)) == int(word)  # so that int() reads 309 digits at most
    demand(fits, f"its JSON holds {word[:30]}, which is no float64")
    return int(word)


def finite(value: object) -> bool:
    """Whether no infinity stands in a JSON value."""
    if isinstance(value, dict | list):
        return all(map(finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or abs(value) < np.inf


# ── arrays ────────────────────────────────────────────────────────────────────────────────────────


def read_archive(path: Path, most_bytes: int) -> dict[str, Array]:
    """All arrays of an npz file."""
    check_regular(path)
    try:
        archive = zipfile.ZipFile(path)
    except DAMAGE:
        raise Malformed(DAMAGED) from None
    with archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        demand(size <= most_bytes, f"its arrays take {size} bytes, more than {most_bytes}")
        demand(len(members) <= MOST_MEMBERS, f"it holds more than {MOST_MEMBERS} arrays")
        names = [member.filename for member in members]
        demand(len(set(names)) == len(names), "an array stands twice in its npz file")
        demand(all(name.endswith(".npy") for name in names), "its npz file holds something that is no array")
        kinds = {member.compress_type for member in members}
        demand(kinds <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}, "its npz file is packed in a way that is not read")
        demand(not any(member.flag_bits & 1 for member in members), "its npz file is encrypted")
        return {member.filename[:-4]: array_of(unpacked(archive, member), member.filename) for member in members}


def unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The bytes of a member; never more of them than it promises, whatever the packed data would give."""
    try:
        with archive.open(member) as file:
            return file.read(member.file_size)
    except (*DAMAGE, OSError):  # OSError: its offset leads out of the file
        raise Malformed(DAMAGED) from None


def array_of(raw: bytes, name: str) -> Array:
    """The array that the bytes of an npy file describe."""

    def refuse(why: str) -> NoReturn:
        raise Malformed(f"the array {name[:60]} {why}")

    if raw[:6] != MAGIC or raw[6:8] not in VERSIONS:
        refuse("is no npy file")
    start = 10 if raw[6] == 1 else 12
    length = int.from_bytes(raw[8:start], "little")
    end = start + length
    if length > MOST_HEADER or end > len(raw):
        refuse(f"has a header of {length} bytes")
    if b"\\" in raw[start:end]:  # of which Python may warn, and stop or go on
        refuse("has a header that makes no sense")
    try:
        header = ast.literal_eval(raw[start:end].decode("utf-8" if raw[6] == 3 else "latin1").strip())
        kind, shape, turned = header["descr"], header["shape"], header["fortran_order"]
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError, UnicodeDecodeError):
        refuse("has a header that makes no sense")
    if len(header) != 3 or type(turned) is not bool or not isinstance(kind, str):
        refuse("has a header that makes no sense")
    if not (kind in TYPES or TEXT.fullmatch(kind)) or np.dtype(kind).itemsize > MOST_ENTRY:
        refuse(f"is of a type that is not read, {str(kind)[:40]}")
    dtype = np.dtype(kind)
    fits = isinstance(shape, tuple) and all(type(side) is int and 0 <= side <= MOST_SIDE for side in shape)
    if not fits or len(shape) > 2:
        refuse("has no shape of at most two dimensions")
    count = 1
    for side in shape:
        count *= side
    if end + count * dtype.itemsize != len(raw):
        refuse(f"has the shape {shape}, which does not fit its bytes")
    flat = np.frombuffer(raw[end:], dtype) if count else np.empty(0, dtype)
    if dtype.kind == "U":
        points = np.frombuffer(raw[end:], "<u4")
        if ((points > LAST_POINT) | ((points >= SURROGATES[0]) & (points <= SURROGATES[1]))).any():
            refuse("holds text that is none")
    return flat.reshape(shape[::-1]).T if turned else flat.reshape(shape)


def digest(arrays: dict[str, Array]) -> str:
    """sha256 over names, types, shapes and bytes of the arrays, in order of their names."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])  # a scalar becomes an array of one number
        found.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        found.update(array.tobytes())
    return found.hexdigest()


# ── asking for parts ──────────────────────────────────────────────────────────────────────────────


class Fields:
    """Arrays to be asked for one by one; `done` refuses whatever nobody asked for."""

    def __init__(self, arrays: dict[str, Array], of: str = ""):
        self.arrays, self.of, self.asked = arrays, of, set[str]()

    def has(self, name: str) -> bool:
        return name in self.arrays

    def get(self, name: str) -> Array:
        demand(name in self.arrays, f"it has no {self.of}{name}")
        self.asked.add(name)
        return self.arrays[name]

    def typed(self, name: str, kind: str, shape: tuple[int | None, ...]) -> Array:
        array = self.get(name)
        demand(array.dtype.str == kind, f"{self.of}{name} is of type {array.dtype.str}, not {kind}")
        fits = array.ndim == len(shape) and all(s is None or s == t for s, t in zip(shape, array.shape, strict=True))
        wanted = tuple("any" if side is None else side for side in shape)
        demand(fits, f"{self.of}{name} has the shape {array.shape}, not {wanted}")
        return array

    def floats(self, name: str, *shape: int | None, least: float = -np.inf) -> Array:
        """Finite float64 numbers from `least` on."""
        array = self.typed(name, "<f8", shape)
        demand(np.isfinite(array).all(), f"{self.of}{name} holds a number that is not finite")
        demand((array >= least).all(), f"{self.of}{name} holds a number below {least:g}")
        return array

    def ints(self, name: str, *shape: int | None, within: tuple[int, int] | None = None, kind: str = "<i8") -> Array:
        """Whole numbers, from within[0] to within[1] if that is given."""
        array = self.typed(name, kind, shape)
        if within is not None:
            inside = ((array >= within[0]) & (array <= within[1])).all()
            demand(inside, f"{self.of}{name} holds a number that is not in {within[0]} … {within[1]}")
        return array.astype(np.int64)

    def word(self, name: str) -> str:
        """A single text."""
        array = self.get(name)
        demand(array.dtype.kind == "U" and array.ndim == 0, f"{self.of}{name} is no text")
        return str(array[()])

    def number(self, name: str, least: int) -> int:
        """A single whole number from `least` on, below 2⁴⁰."""
        return int(self.ints(name, within=(least, 1 << 40)))

    def done(self) -> None:
        rest = sorted(set(self.arrays) - self.asked)
        demand(not rest, f"it holds an array that it should not, {self.of}{rest[0][:60] if rest else ''}")
