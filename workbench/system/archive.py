"""Readers of npz archives that check sizes before they take memory, and never unpickle.

An npz file is a zip archive of npy members, each a short header (type, order, shape) and the entries. A header may
promise more entries than the member holds, an archive of a few kilobytes may unpack to terabytes, and a member may hold
pickled objects, which run code when they are read: all three are refused from the headers alone. The names of members
are compared, never used as paths.
"""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO

from numpy.lib import format as npy
from numpy.typing import NDArray

from workbench.system.memory import largest_file


def arrays_in(path: Path, wanted: Collection[str]) -> dict[str, NDArray]:
    """Those of the wanted arrays that the archive has.

    Raises ValueError; the message describes the fault without the name of the file.
    """
    with faults(), zipfile.ZipFile(path) as archive:
        members = [each for each in archive.infolist() if name_of(each) in wanted]
        names = [name_of(each) for each in members]
        if doubles := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"the array {doubles[0]} is there twice")
        checked_size(sum(each.file_size for each in members))
        return {name_of(each): member(archive, each) for each in members}


def names_in(path: Path) -> list[str]:
    """The names of all arrays of an archive; errors as `arrays_in`."""
    with faults(), zipfile.ZipFile(path) as archive:
        return [name_of(each) for each in archive.infolist()]


def array_in(path: Path) -> NDArray:
    """The array of an npy file; errors as `arrays_in`."""
    with faults(), path.open("rb") as file:
        checked_size(path.stat().st_size)
        checked_header(file, path.name, path.stat().st_size)
        file.seek(0)
        return npy.read_array(file, allow_pickle=False)


@contextmanager
def faults() -> Iterator[None]:
    """Turn every error of zipfile, its decompressors and NumPy on damaged bytes into a ValueError of one line."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:  # the file cannot be opened
            raise
        raise ValueError(str(error) or "truncated") from None
    except Exception as error:  # among them BadZipFile, zlib.error, TokenError, RuntimeError, …
        text = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(text or ("truncated" if isinstance(error, EOFError) else type(error).__name__)) from None


def checked_size(size: int) -> None:
    """ValueError for an archive that unpacks to more than a quarter of the memory."""
    if size > largest_file():
        raise ValueError(f"it unpacks to {size / 2**30:.3g} GiB, more than a quarter of this machine's memory")


def name_of(entry: zipfile.ZipInfo) -> str:
    return entry.filename.removesuffix(".npy")


def member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray:
    """One array, read only if the header is harmless and promises as many entries as there are."""
    with archive.open(entry) as file:
        checked_header(file, name_of(entry), entry.file_size)
    with archive.open(entry) as file:
        return npy.read_array(file, allow_pickle=False)


def checked_header(file: IO[bytes], name: str, size: int) -> None:
    """ValueError unless the npy header promises plain entries, as many as `size` bytes hold."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"the array {name} is of npy format {version[0]}.{version[1]}, of records")
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read_header(file)
    if dtype.hasobject:
        raise ValueError(f"the array {name} holds pickled objects, which are never read")
    needed, there = prod(shape) * dtype.itemsize, size - file.tell()
    if needed != there or min(shape, default=0) < 0 or (dtype.itemsize == 0 and prod(shape)):
        raise ValueError(f"the array {name} has {there} bytes of entries where its header promises {needed}")
