"""The two files of a certificate: their names, which files they may replace, and writing that leaves no half.

STEM.json    what is claimed of which formulation and problem
STEM.npz     arrays
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from workbench.errors import BadInput, shortened
from workbench.proofs.checker import archive
from workbench.proofs.checker.check import FORMATS
from workbench.proofs.checker.faults import Malformed

SHOWN = 200  # characters of a path in a message


def files_of(name: str | Path) -> tuple[Path, Path]:
    """STEM.json and STEM.npz, where `name` is STEM or either file; `BadInput` for what names no file."""
    if not isinstance(name, str | os.PathLike):
        raise BadInput(f"A certificate's name is {name!r}; give a path such as runs/iris.")
    if not Path(name).name:
        raise BadInput(f"{str(name)!r} names no certificate; give a name such as runs/iris.")
    if "\0" in str(name):
        raise BadInput(f"The name {str(name)!r} has a character that no file can have in its name; remove it.")
    return archive.files_of(name)


def spare_files(name: str | Path, other: str = "choose another name") -> tuple[Path, Path]:
    """`files_of`; `BadInput` if one of them exists and is no part of a certificate of ours, which may be replaced.

    The JSON says so by its format, the npz file by the names of its arrays. `BadInput` also for a name that no file can
    have, because it is too long or leads through a file.

    other : how to choose other files, in words
    """
    path, packed = files_of(name)
    try:
        for held, ours in ((path, calls_itself_certificate), (packed, holds_certificate)):
            if held.exists() and not ours(held):
                raise BadInput(f"{held} exists and is no certificate of ours; {other}, or move that file.")
        if blocked := next((each for each in path.parents if each.exists() and not each.is_dir()), None):
            raise BadInput(f"Cannot write {path}, as {blocked} is a file and no folder; choose another name.")
    except OSError as error:
        raise BadInput(f"Cannot write {shortened(str(path), SHOWN)} ({error.strerror}); choose another name.") from None
    return path, packed


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where there are none yet; `BadInput` where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"Cannot make the folder {folder} ({error.strerror}); choose another one.") from None


def calls_itself_certificate(path: Path) -> bool:
    """Whether a JSON file names a format of our certificates."""
    try:
        return archive.read_json(path).get("format") in FORMATS
    except (Malformed, OSError):
        return False


def writer_of(header: object) -> str:
    """The command that writes certificates of the kind of this header: `prove` of a convex program, else `solve`."""
    told = [header.get("formulation"), header.get("problem")] if isinstance(header, dict) else []
    words = [each.get(key) for each in told if isinstance(each, dict) for key in ("name", "output")]
    return "prove" if "program" in words else "solve"


LOCAL = 30  # bytes of a zip archive before the name of its first member
TELLING = ({"theta", "samples", "witnesses", "weights"}, {"data_cones", "data_q", "data_b", "data_A_indptr"})


def holds_certificate(path: Path) -> bool:
    """Whether an npz file has arrays of all names that TELLING lists, of a learning problem or of a program.

    Of a damaged file, whose list of names is lost, the name of its first array says so; an empty file is nobody's.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            names = {name.removesuffix(".npy") for name in packed.namelist()}
    except (*archive.DAMAGE, OSError):
        return begins_as_certificate(path)
    return any(telling <= names for telling in TELLING)


def begins_as_certificate(path: Path) -> bool:
    """Whether a file is empty, or begins as an archive does whose first array a certificate may have first."""
    try:
        with open(path, "rb") as file:
            start = file.read(LOCAL + 16)
    except OSError:
        return False
    return not start or (start.startswith(b"PK\3\4") and start[LOCAL:].startswith((b"theta.npy", b"data_")))


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
