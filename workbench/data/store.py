"""The store of data sets: a file in a folder of the user, else fetched once from its source and checked by digest.

`load` looks, in this order, in

    1. the folder that the caller names (`--data`), which must then hold the file
    2. the folder in the environment variable CUTBENCH_DATA
    3. the cache: `cutbench/` in the user's cache folder (XDG_CACHE_HOME, ~/Library/Caches, %LOCALAPPDATA%)
    4. the public source, over the network; the download is parsed, its *content* compared with a pinned
       SHA-256, and only then moved into the cache, in one step

Files in the user's own folders are checked for shape and range, so other data in the same format
work; a download must have the pinned content, now and at every later reading. The
digest is that of the arrays, not of the file, since the source may pack its archive in any way.
Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.errors import BadInput
from workbench.system.archive import arrays_in

Reader = Callable[[Path], dict[str, NDArray]]

VARIABLE = "CUTBENCH_DATA"
TIMEOUT = 30.0
BROKEN = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)


class MissingData(BadInput):
    """A data file that is in no folder and could not be fetched; the message says where to put the file."""


@dataclass(frozen=True)
class Source:
    """A data set: file names with their readers (the first is the cache's), origin, and digest of the content.

    pack : arrays → arrays of fixed types in a fixed order, from which the digest is computed
    """

    readers: Mapping[str, Reader]
    url: str
    digest: str
    pack: Callable[[dict[str, NDArray]], dict[str, NDArray]]


def load(source: Source, folder: str | Path | None = None) -> dict[str, NDArray]:
    """The arrays of a data set, from the first of the places in the module's docstring.

    Raises
    ------
    MissingData : the file is nowhere and cannot be fetched
    BadInput : the file is damaged or is not what its name says
    """
    places = [Path(folder)] if folder is not None else []
    if folder is None and os.environ.get(VARIABLE):
        places.append(Path(os.environ[VARIABLE]))
    for place in places:
        for name, reader in source.readers.items():
            if (place / name).is_file():
                return read(place / name, reader)
    names = " or ".join(source.readers)
    if folder is not None:
        raise MissingData(f"There is no {names} in {folder}; put the file there (source: {source.url}).")
    kept = cache_folder() / next(iter(source.readers))
    if kept.is_file():
        return pinned(read(kept, source.readers[kept.name]), source, kept)
    return fetched(source, kept)


def cache_folder() -> Path:
    """`cutbench` in the platform's cache folder."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "cutbench"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "cutbench"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "cutbench"


def read(path: Path, reader: Reader, name: str | None = None) -> dict[str, NDArray]:
    """The arrays that the reader finds in the file; a `BadInput` names the file, by `name` if given."""
    try:
        return reader(path)
    except BadInput:
        raise
    except BROKEN as error:
        fault = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(".")
        raise BadInput(f"{name or path} is truncated or damaged ({fault}); replace it by a fresh copy.") from None


def pinned(arrays: dict[str, NDArray], source: Source, path: Path | str) -> dict[str, NDArray]:
    """The arrays if they have the source's content, else `BadInput`."""
    found = content_digest(source.pack(arrays))
    if found != source.digest:
        raise BadInput(
            f"{path} does not hold the expected data (content SHA-256 {found[:12]}… instead of "
            f"{source.digest[:12]}…); delete the file, or put a trusted copy into the folder of {VARIABLE}."
        )
    return arrays


def fetched(source: Source, kept: Path) -> dict[str, NDArray]:
    """Download, parse, verify, then store: the file `kept` appears complete or not at all."""
    name = source.url.rsplit("/", 1)[-1]
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix="fetching-") as work:
            raw, packed = Path(work) / name, Path(work) / kept.name
            with urllib.request.urlopen(source.url, timeout=TIMEOUT) as answer, raw.open("wb") as file:
                shutil.copyfileobj(answer, file)
            arrays = pinned(read(raw, source.readers[name], source.url), source, source.url)
            with packed.open("wb") as file:
                packed_arrays = source.pack(arrays)  # no array is called allow_pickle
                np.savez_compressed(file, **packed_arrays)  # pyright: ignore[reportArgumentType]
            os.replace(packed, kept)
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise MissingData(
            f"{source.url} could not be fetched ({reason}); put {' or '.join(source.readers)} into a folder and "
            f"name the folder with --data or {VARIABLE}, or into {kept.parent}."
        ) from None
    return arrays


def content_digest(arrays: Mapping[str, NDArray]) -> str:
    """SHA-256 of names, types, shapes and little-endian entries, in the order of the arrays."""
    digest = hashlib.sha256()
    for name, array in arrays.items():
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────


def read_lines(check: Callable[[str], object]) -> Reader:
    """A reader of UTF-8 text that checks each line by `check`, with single spaces between words."""

    def reader(path: Path) -> dict[str, NDArray]:
        lines = [" ".join(line.split()) for line in path.read_text(encoding="utf-8").splitlines()]
        for number, line in enumerate(lines, 1):
            try:
                check(line)
            except ValueError as error:
                raise ValueError(f"line {number} {error}") from None
        if not lines:
            raise ValueError("no lines")
        return {"text": np.frombuffer("\n".join(lines).encode(), np.uint8)}

    return reader


def read_packed_lines(path: Path) -> dict[str, NDArray]:
    """The text of a cached file, one array of bytes."""
    text = arrays_in(path, {"text"})["text"]
    if text.dtype != np.uint8 or text.ndim != 1:
        raise ValueError(f"text is {text.dtype} {text.shape}, not a row of bytes")
    return {"text": text}


def lines_of(arrays: Mapping[str, NDArray]) -> list[str]:
    """The lines in the arrays of `read_lines` or `read_packed_lines`."""
    return arrays["text"].tobytes().decode().split("\n")
