"""The two files of a certificate: their names, which files they may replace, and writing that leaves no half.

STEM.json    what is claimed of which formulation and problem
STEM.npz     arrays
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from workbench.errors import BadInput
from workbench.proofs.checker import archive
from workbench.proofs.checker.check import FORMATS
from workbench.proofs.checker.faults import Malformed


def files_of(name: str | Path) -> tuple[Path, Path]:
    """STEM.json and STEM.npz, where `name` is STEM or either file."""
    if not Path(name).name:
        raise BadInput(f"{str(name)!r} names no certificate; give a name such as runs/iris.")
    return archive.files_of(name)


def spare_files(name: str | Path) -> tuple[Path, Path]:
    """`files_of`; `BadInput` if one of them exists and is no part of a certificate of ours, which may be replaced.

    The JSON says so by its format, of an npz file beside it, too; an npz file alone by the names of its arrays.
    """
    path, packed = files_of(name)
    held, ours = (path, calls_itself_certificate) if path.exists() else (packed, holds_certificate)
    if held.exists() and not ours(held):
        raise BadInput(f"{held} exists and is no certificate of ours; choose another name, or move that file.")
    return path, packed


def calls_itself_certificate(path: Path) -> bool:
    """Whether a JSON file names a format of our certificates."""
    try:
        return archive.read_json(path).get("format") in FORMATS
    except (Malformed, OSError):
        return False


TELLING = ({"theta", "samples", "witnesses", "weights"}, {"data_cones", "data_q", "data_b", "data_A_indptr"})


def holds_certificate(path: Path) -> bool:
    """Whether an npz file has arrays of all names that TELLING lists, of a learning problem or of a program."""
    try:
        with zipfile.ZipFile(path) as packed:
            names = {name.removesuffix(".npy") for name in packed.namelist()}
    except (*archive.DAMAGE, OSError):
        return False
    return any(telling <= names for telling in TELLING)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or nothing."""
    write_wholes({path: content})


def write_wholes(contents: dict[Path, bytes]) -> None:
    """Write files that belong together, each so that a reader sees all of it or nothing.

    All are on the disk before the first takes its name, so that a full disk leaves none.
    """
    partials = {path: path.with_name(f".{path.name}.{os.getpid()}.partial") for path in contents}
    path = next(iter(contents))
    try:
        for path, content in contents.items():
            partials[path].write_bytes(content)
        for path, partial in partials.items():
            os.replace(partial, path)
    except OSError as error:
        for partial in partials.values():
            partial.unlink(missing_ok=True)
        raise BadInput(f"Cannot write {path} ({error.strerror}); choose another folder.") from None
