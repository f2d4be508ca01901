"""Files that may be gzipped, unpacked within the memory there is: a few kilobytes may unpack to terabytes."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from workbench.system.memory import largest_file

PIECE = 2**24  # bytes unpacked at once


def content_of(path: Path) -> bytes:
    """The bytes of a file, unpacked if its name ends in .gz; `OSError` if damaged, or more than `largest_file()`."""
    if not path.name.lower().endswith(".gz"):
        return path.read_bytes()
    pieces: list[bytes] = []
    left = largest_file()
    try:
        with gzip.open(path) as file:
            while left >= 0 and (piece := file.read(PIECE)):
                pieces.append(piece)
                left -= len(piece)
    except (EOFError, zlib.error) as error:
        raise OSError(str(error)) from error
    if left < 0:
        raise OSError(f"unpacked, the file has more than the {largest_file()} bytes that a file may have here")
    return b"".join(pieces)
