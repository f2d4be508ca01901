"""Where commands write: one rule for every file that a command makes.

    the file does not exist                   it is written
    it is read by this very command           refused, with --overwrite, too
    it is one of the command's other files    refused, with --overwrite, too
    it is of another format than its name     refused: pages end in .html
    it exists, where the user told            refused, unless --overwrite
    it exists, in a command's default place   replaced if cutbench wrote it, and a line on stderr says so; else refused

Files are looked at before the work begins. What a command reads are the files that its words name, those in a folder
that they name, and what the command itself adds as `reading`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.errors import BadInput
from workbench.registries import is_path

OUTPUTS = ("out", "report")  # the parameters of verbs that name what is written
RESULTS = ("run", "other", "runs", "result", "certificate")  # and those that name a folder or a file of ours
PAGES = (".html", ".htm")  # how the names of pages end
KNOWN = (".json", ".npz", ".html")  # suffixes of files of which we can tell whether cutbench wrote them
FOLDERS = ("data", "settings")  # and those that name a folder of a user's, all of whose files are read
LEARNED = "learned.npz"
NUMBERED = "cutbench-"  # how every format of ours begins
WRITTEN = "Written by cutbench"  # in the foot of every page


def spare_folder(
    path: str | Path, overwrite: bool, *names: str, default: bool = False, certificates: Iterable[str] = ()
) -> Path:
    """The folder, if files of these names may be written in it; else `BadInput`.

    A run that `cutbench resume` could continue is not replaced, either, and a certificate only by a certificate.

    default : whether the user named no folder;  certificates : the stems of certificates that are written
    """
    from workbench.proofs.files import files_of, spare_files

    folder = terminal.usable_folder(path)
    kept_from(folder, overwrite)
    pairs = [each for stem in certificates for each in files_of(folder / stem)]
    told = f"this run replaces the one in {terminal.shown_path(folder)}; --out keeps both"
    written = list(dict.fromkeys([*map(folder.joinpath, names), *pairs]))
    check_unread(written, "--out", what="folder")
    for stem in certificates:
        spare_files(folder / stem, "choose another folder with --out")
    spare(written, "--out", overwrite, told if default else "", what="folder", goods="the run")
    return folder


def kept_from(folder: Path, overwrite: bool) -> None:
    """`BadInput` if the folder holds an unfinished run and the user did not say --overwrite."""
    from workbench.system.journal import unfinished

    if not overwrite and unfinished(folder):
        shown = terminal.shown_path(folder)
        raise BadInput(
            f"{shown} holds an unfinished run; continue it by `cutbench resume {shown}`, or replace it by --overwrite."
        )


def spare_file(path: str | Path, option: str, overwrite: bool, reading: Iterable[Path] = (), default: str = "") -> Path:
    """The file, if it may be written; else `BadInput`. `option` names the file.

    default : the line to say where the file is replaced that the user did not name; "" if the user did
    """
    file = terminal.usable_file(path, option)
    spare([file], option, overwrite, default, reading)
    return file


def spare_page(
    path: str | Path,
    option: str,
    overwrite: bool,
    reading: Iterable[Path] = (),
    default: str = "",
    writing: Iterable[Path] = (),
) -> Path:
    """`spare_file` for a page, which is HTML by its name, too.

    writing : other files that the command writes, and folders that it fills
    """
    file = terminal.usable_file(path, option)
    shown = terminal.shown_path(file)
    check_unread([file], option, reading)
    if any(below(file, each) for each in writing):
        raise BadInput(f"{shown} is written by this very command as its record; name another file with {option}.")
    if file.suffix.lower() not in PAGES:
        better = terminal.shown_path(file.with_suffix(".html"))
        raise BadInput(f"{shown} does not end in .html, and the page is HTML; write {option} {better}.")
    return spare_file(path, option, overwrite, reading, default)


def spare(
    files: Iterable[Path],
    option: str,
    overwrite: bool,
    default: str = "",
    reading: Iterable[Path] = (),
    what: str = "file",
    goods: str = "it",
    ours: Callable[[Path], bool] | None = None,
) -> None:
    """`BadInput` unless all these files may be written, by the rule of this module; `default` is said if one is there.

    option : that names another place;  what, goods : what the option names, and what --overwrite replaces, in words
    """
    held = check_unread(files, option, reading, what)
    for path in () if overwrite else held:
        shown, other = terminal.shown_path(path), f"choose another {what} with {option}, or replace"
        if (default or path.suffix in KNOWN) and not (ours or is_ours)(path):
            raise BadInput(f"{shown} exists and was not written by cutbench; {other} that file by --overwrite.")
        if not default:
            raise BadInput(f"{shown} exists; {other} {goods} by --overwrite.")
    if held and default and not overwrite:
        click.echo(f"cutbench: {default}.", err=True)


def check_unread(files: Iterable[Path], option: str, reading: Iterable[Path] = (), what: str = "file") -> list[Path]:
    """Those of the files that exist; `BadInput` if one is no file, or is read by the command that is running."""
    held = [path for path in files if path.exists()]
    for path in held:
        shown = terminal.shown_path(path)
        if not path.is_file():
            raise BadInput(f"{shown} is in the way and no file; name another {what} with {option}.")
        if is_read(path, reading):
            raise BadInput(f"{shown} is read by this very command; name another {what} with {option}.")
    return held


# ── what a command reads ──────────────────────────────────────────────────────────────────────────


def is_read(path: Path, reading: Iterable[Path] = ()) -> bool:
    """Whether the command that is running reads the file at `path`."""
    return any(same(path, each) for each in reading) or any(path_is(path) for path_is in readings())


def readings() -> Iterator[Callable[[Path], bool]]:
    """For each word of the command that names a file or a folder, whether a path is that file or one in the folder."""
    context = click.get_current_context(silent=True)
    for name, value in ({} if context is None else context.params).items():
        for word in () if name in OUTPUTS else words_in(value):
            at = Path(word)
            if name in RESULTS:
                yield lambda path, at=at: part_of_result(path, at)
            elif name in FOLDERS:
                yield lambda path, at=at: same(path, at) or (at.is_dir() and below(path, at))
            elif is_path(word):
                yield lambda path, at=at: same(path, at)


def words_in(value: Any) -> list[str]:
    """The words of a parameter that could name files: each, what stands behind =, and the parts between commas."""
    if isinstance(value, tuple | list):
        return [word for each in value for word in words_in(each)]
    if not isinstance(value, str):
        return []
    told = value.partition("=")[2].strip()
    return list(filter(None, [value, told, *(part.strip() for part in value.split(",") if "," in value)]))


def part_of_result(path: Path, at: Path) -> bool:
    """Whether `path` is the record or certificate that `at` names: its folder, one of its files, or their stem."""
    from workbench.proofs.checker.archive import files_of

    if at.is_dir():
        kinds = (".json", ".npz")
        return path.suffix in kinds and same(path.parent, at)
    return same(path, at) or (bool(at.name) and any(same(path, each) for each in files_of(at)))


def same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except (OSError, ValueError):  # one does not exist, or is no name that a file can have
        return False


def below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


# ── what we wrote ─────────────────────────────────────────────────────────────────────────────────


def is_ours(path: Path) -> bool:
    """Whether a file is one that commands write: a record, a certificate, what was learned, a page."""
    from workbench.proofs.files import holds_certificate

    if path.suffix == ".json":
        return is_record(path)
    if path.suffix == ".npz":
        if path.name == LEARNED:
            return holds_learned(path)
        beside = path.with_suffix(".json")
        return holds_certificate(path) or (beside.is_file() and is_record(beside))
    return path.suffix == ".html" and is_page(path)


def is_record(path: Path) -> bool:
    """Whether a JSON file names a format of ours, as records and certificates do."""
    from workbench.command.records import content_of

    try:
        content = content_of(path)
    except (BadInput, OSError):
        return False
    about = content.get("about")
    told = about.get("format") if isinstance(about, dict) else content.get("format")
    return isinstance(told, str) and told.startswith(NUMBERED)


def holds_learned(path: Path) -> bool:
    """Whether an npz file has arrays of names, as `solve` writes them for what it learned."""
    try:
        with zipfile.ZipFile(path) as packed:
            return any(name.startswith("names_") for name in packed.namelist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def is_page(path: Path) -> bool:
    """Whether a file is a page that `cutbench report` wrote."""
    try:
        return WRITTEN.encode() in path.read_bytes()
    except OSError:
        return False


def is_figure(path: Path) -> bool:
    """Whether a picture or table is one of the three files of a figure."""
    from workbench.command.pictures import SUFFIXES

    return all(path.with_suffix(f".{suffix}").is_file() for suffix in SUFFIXES)
