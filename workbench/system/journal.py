"""The journal of a run: finished work, written to disk round by round, so that a killed run can be continued.

    RUN/journal/lines.jsonl    one JSON object a line, appended and never changed
    RUN/journal/arrays.npy     the lines' arrays, each line's as one piece of npy arrays, appended likewise
    RUN/journal/checkpoint     a line and its arrays: where a loop stands between two lines; replaced as a whole
    RUN/journal/programs       runs inside the round at work, each with a journal of its own (`Journal.inner`)

The first line holds the settings of the run and the schema; each further line holds one step, in order:

    {"kind": "settings", "format": "cutbench-journal-1", …, "check": "…"}
    {"kind": KIND, NUMBERS…, "arrays": {"names": […], "at": BYTE, "bytes": COUNT, "sha256": "…"}, "check": "…"}

`check` is the head of the sha256 over the check of the line before and the line without its own: a line
that was changed, left out or moved is found. `sha256` is that of the piece's bytes. Numbers are written
as Python's `json` writes them: all digits, and `Infinity` where one is infinite. The kinds:

    settings   of `solve`: command, source (the problem's name, settings and folder), formulation, options,
               data_sha256, versions
    round      a finished round of the loop in solving/cutting_planes.py, or of that in solving/majorize.py,
               which say what it holds
    end        the run is finished: `status`, and the numbers of its last round

Other loops append kinds of their own, which this file does not interpret. A reader takes numbers and arrays as a
start, never as a proof: bounds are recomputed from the data.

**Order of writing.** A piece is written and synced before the line that names it is written and synced.
A process that dies leaves at most a torn last line and bytes that no line names; both are dropped. Any
other damage is an error that names the line, and says which lines to delete to go on from the line
before: every head of a journal is a journal.

**The checkpoint** is written beside the file of that name, synced, and renamed, so a process that dies leaves the old
checkpoint or the new one. Its line follows, by its check, the first line of the journal: the checkpoint of another run
is found. solving/recording.py says which loops keep one.

**Runs inside a run.** A round that solves whole programs, as one of an alternation does, keeps a journal for each of
them until its own line is written. The first line of such a journal names the check of the line that it follows: a
program of another round, or of another run, is found, and begun anew.

**One writer.** The writer holds a lock on `lines.jsonl` (flock, where the system has it), which dies with
its process. A second writer is refused; readers are not.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import read_array, write_array
from numpy.typing import NDArray

from workbench.errors import BadInput

try:
    import fcntl
except ImportError:  # Windows: nobody is refused there
    fcntl = None

FORMAT = "cutbench-journal-1"
LINES, ARRAYS, CHECKPOINT, PROGRAMS = "lines.jsonl", "arrays.npy", "checkpoint", "programs"
CHECK = ', "check": "'


@dataclass(frozen=True)
class Entry:
    """One line: its kind, its numbers, and where its arrays are, if it has any."""

    kind: str
    numbers: dict[str, Any]
    line: int
    folder: Path
    piece: dict[str, Any] | None = None
    file: str = ARRAYS

    @property
    def end(self) -> int:
        """Where its piece ends."""
        return self.piece["at"] + self.piece["bytes"] if self.piece else 0

    def arrays(self) -> dict[str, NDArray]:
        """Its arrays by name; `BadInput` if they are not those that were written."""
        if self.piece is None:
            return {}
        try:
            with open(self.folder / self.file, "rb") as file:
                file.seek(self.piece["at"])
                content = file.read(self.piece["bytes"])
        except OSError as error:
            raise self.damaged(f"{self.file}: {error.strerror}") from None
        if hashlib.sha256(content).hexdigest() != self.piece["sha256"]:
            raise self.damaged(f"its part of {self.file} is not as it was written")
        stream = io.BytesIO(content)
        return {name: read_array(stream, allow_pickle=False) for name in self.piece["names"]}

    def damaged(self, why: str) -> BadInput:
        return damaged(self.folder, self.line, why) if self.file == ARRAYS else lost(self.folder, why)


class Journal:
    """A journal open for writing, and locked; `create` begins one, `resume` continues one.

    run : the folder of the run;  settings : the first line;  entries : the lines after it
    """

    def __init__(self, run: str | Path):
        self.run, self.folder = Path(run), Path(run) / "journal"
        self.settings: dict[str, Any] = {}
        self.entries: list[Entry] = []
        self.made: list[Path] = []  # folders, innermost first
        self.first = FORMAT  # the check of the first line
        self.check, self.end = FORMAT, 0  # of the last line, and where the last piece ends
        if self.folder.is_symlink():
            raise BadInput(f"{self.folder} is a link, and a run writes only into its own folder; remove the link.")
        with one_sentence(self.folder), ExitStack() as opening:
            self.lines = locked(opening.enter_context(opened(self.folder / LINES)), self.run)
            self.pieces = opening.enter_context(opened(self.folder / ARRAYS))
            self.files = opening.pop_all()

    @classmethod
    def create(cls, run: str | Path, settings: dict[str, Any]) -> Journal:
        """A new journal in the folder `run`, which is made; one that is there is replaced, unless in use."""
        folder = Path(run) / "journal"
        made = [each for each in (folder, *folder.parents) if not each.exists()]
        with one_sentence(folder):
            folder.mkdir(parents=True, exist_ok=True)
        journal = cls(run)
        with journal.closed_on_error(), one_sentence(folder):
            journal.cut(0, 0)
            (folder / CHECKPOINT).unlink(missing_ok=True)
            journal.drop_inner()
            sync_folder(folder)
            journal.settings, journal.made = settings, made
            journal.write({"kind": "settings", "format": FORMAT, **settings})
            journal.first = journal.check
        return journal

    @classmethod
    def resume(cls, run: str | Path) -> Journal:
        """The journal in the folder `run`, to be continued; what a dying process left unfinished is dropped."""
        path = Path(run) / "journal" / LINES
        existing(path)
        journal = cls(run)
        with journal.closed_on_error(), one_sentence(path.parent):
            journal.settings, journal.entries, journal.first, journal.check, size = parsed(path)
            journal.cut(size, max((entry.end for entry in journal.entries), default=0))
        return journal

    def cut(self, size: int, end: int) -> None:
        """Leave so many bytes of the lines and of the pieces."""
        self.lines.truncate(size)
        os.fsync(self.lines.fileno())
        if os.fstat(self.pieces.fileno()).st_size > end:  # it may be shorter: then it is damaged, not to be filled
            self.pieces.truncate(end)
        self.end = end

    def append(self, kind: str, numbers: dict[str, Any], **arrays: NDArray) -> Entry:
        """Write a line, its arrays first; when this returns, both are on the disk."""
        piece = None
        if arrays:
            content, piece = packed(arrays, self.end)
            self.put(self.pieces, content, self.end)
            self.end += len(content)
        self.write({"kind": kind, **numbers} | ({"arrays": piece} if piece else {}))
        self.entries.append(Entry(kind, numbers, len(self.entries) + 1, self.folder, piece))
        return self.entries[-1]

    def checkpoint(self, loop: str, numbers: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Replace the checkpoint by that of `loop`; when this returns, the new one is on the disk."""
        content, piece = packed(arrays, 0)
        line, _ = sealed({"kind": loop, **numbers, "arrays": piece}, self.first)
        path = self.folder / CHECKPOINT
        beside = path.with_suffix(".part")
        with one_sentence(self.folder):
            try:
                beside.unlink(missing_ok=True)
                with open(beside, "xb") as file:  # a new file, never one that a link leads to
                    file.write(line)
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(beside, path)
            except OSError:
                beside.unlink(missing_ok=True)
                raise
            sync_folder(self.folder)

    def standing(self, loop: str) -> Entry | None:
        """The checkpoint of `loop`; None if there is none, or if another loop wrote the checkpoint."""
        try:
            with open(self.folder / CHECKPOINT, "rb") as file:
                line = file.readline()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise lost(self.folder, error.strerror or str(error)) from None
        found = unsealed(line[:-1], self.first)
        if found is None:
            raise lost(self.folder, "it is not as it was written, or of another run")
        numbers = found[0]
        kind, piece = numbers.pop("kind"), numbers.pop("arrays")
        piece["at"] += len(line)
        return Entry(kind, numbers, 0, self.folder, piece, CHECKPOINT) if kind == loop else None

    def inner(self, number: int) -> Journal:
        """The journal of a run inside the round at work, continued if that run was begun after the same line."""
        run, settings = self.folder / PROGRAMS / str(number), {"command": PROGRAMS, "follows": self.check}
        if run.parent.is_symlink():
            raise BadInput(f"{run.parent} is a link, and a run writes only into its own folder; remove the link.")
        try:
            journal = Journal.resume(run)
        except BadInput:  # nothing was begun there, or what was begun is damaged
            return Journal.create(run, settings)
        if journal.settings == settings and journal.whole:
            return journal
        journal.close()
        return Journal.create(run, settings)

    @property
    def whole(self) -> bool:
        """Whether the arrays of all lines are as they were written; a kill may have come while they were deleted."""
        with suppress(BadInput):
            return all(entry.arrays() is not None for entry in self.entries)
        return False

    def drop_inner(self) -> None:
        """Delete the journals of the runs inside; a link is left alone, for `inner` refuses it."""
        if not (self.folder / PROGRAMS).is_symlink():
            shutil.rmtree(self.folder / PROGRAMS, ignore_errors=True)

    def write(self, record: dict[str, Any]) -> None:
        line, check = sealed(record, self.check)
        self.put(self.lines, line, os.fstat(self.lines.fileno()).st_size)
        self.check = check

    def put(self, file: io.FileIO, content: bytes | memoryview, at: int) -> None:
        """Write behind the first `at` bytes, whole or not at all, and wait until it is on the disk."""
        with one_sentence(self.folder):
            try:
                file.seek(at)
                rest = memoryview(content)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError:
                file.truncate(at)
                raise

    def of(self, kind: str) -> list[Entry]:
        """The lines of a kind."""
        return [entry for entry in self.entries if entry.kind == kind]

    @property
    def finished(self) -> bool:
        return bool(self.entries) and self.entries[-1].kind == "end"

    @property
    def empty(self) -> bool:
        """Whether it holds no finished line and no run inside."""
        return not self.entries and not (self.folder / PROGRAMS).exists()

    def discard(self) -> None:
        """Close and delete it, and the folders that `create` made if they hold nothing else."""
        self.close()
        for name in (LINES, ARRAYS, CHECKPOINT):
            (self.folder / name).unlink(missing_ok=True)
        self.drop_inner()
        for each in self.made:
            if any(each.iterdir()):
                break
            each.rmdir()

    def close(self) -> None:
        self.files.close()

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def read(run: str | Path) -> tuple[dict[str, Any], list[Entry]]:
    """The settings of the run in a folder and its finished lines; nothing is locked or changed."""
    path = Path(run) / "journal" / LINES
    existing(path)
    settings, entries, *_ = parsed(path)
    return settings, entries


def existing(path: Path) -> None:
    if not path.is_file():
        raise BadInput(f"{path.parents[1]} holds no journal of a run; name the folder that --out named.")


def unfinished(run: str | Path) -> str | None:
    """The verb whose run in this folder has work that `cutbench resume` continues; None if there is none."""
    folder = Path(run) / "journal"
    if not (folder / LINES).is_file():
        return None
    try:
        settings, entries, *_ = parsed(folder / LINES)
    except BadInput:  # nothing that could be continued
        return None
    kept = entries or (folder / CHECKPOINT).exists() or (folder / PROGRAMS).exists()
    over = entries and entries[-1].kind == "end"
    return str(settings.get("command")) if kept and not over else None


def parsed(path: Path) -> tuple[dict[str, Any], list[Entry], str, str, int]:
    """Settings, the other lines, the first check and the last, and how many bytes of the file they take."""
    with one_sentence(path.parent):
        lines = path.read_bytes().split(b"\n")
    records, checks, size = [], [FORMAT], 0
    for number, line in enumerate(lines[:-1]):  # behind the last newline there is nothing, or a torn line
        found = unsealed(line, checks[-1])
        if found is None and number < len(lines) - 2:
            raise damaged(path.parent, number, "it is not as it was written")
        if found is None:
            break
        records.append(found[0])
        checks.append(found[1])
        size += len(line) + 1
    if not records:
        raise begun_never(path)
    first, *others = records
    if first.pop("kind") != "settings" or first.pop("format", None) != FORMAT:
        raise BadInput(f"{path} is no journal of the format {FORMAT}; solve again.")
    entries = []
    for number, record in enumerate(others, 1):
        kind, piece = record.pop("kind"), record.pop("arrays", None)
        entries.append(Entry(kind, record, number, path.parent, piece))
    return first, entries, checks[1], checks[-1], size


def packed(arrays: dict[str, NDArray], at: int) -> tuple[bytes, dict[str, Any]]:
    """The arrays as one piece of npy arrays, and what a line says of a piece that stands at byte `at`."""
    buffer = io.BytesIO()
    for array in arrays.values():
        write_array(buffer, np.asarray(array), allow_pickle=False)
    content = buffer.getvalue()
    digest = hashlib.sha256(content).hexdigest()
    return content, {"names": list(arrays), "at": at, "bytes": len(content), "sha256": digest}


def sealed(record: dict[str, Any], before: str) -> tuple[bytes, str]:
    """The line of a record, and its check."""
    body = json.dumps(record, default=np.generic.item)
    check = hashlib.sha256(f"{before}{body}".encode()).hexdigest()[:16]
    return f'{body[:-1]}{CHECK}{check}"}}\n'.encode(), check


def unsealed(line: bytes, before: str) -> tuple[dict[str, Any], str] | None:
    """The record of a line and its check, None if the line is not one that followed the check before."""
    try:
        record = json.loads(line)
        check = record.pop("check")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None
    return (record, check) if sealed(record, before) == (line + b"\n", check) else None


def damaged(folder: Path, line: int, why: str) -> BadInput:
    """Lines are counted from 1 for people, as editors do."""
    told = f"Line {line + 1} of {folder / LINES} is damaged ({why})"
    if line == 0:
        return BadInput(f"{told}; restore the file, or begin the run anew, for that line says what was asked.")
    return BadInput(f"{told}; restore the file, or delete that line and all after it to go on from the line before.")


def begun_never(path: Path) -> BadInput:
    """That a journal has no whole line; where a record stands beside, the run had begun, and its journal was lost."""
    run = path.parents[1]
    if held := sorted(each.name for each in run.glob("*.json")):
        state = "holds no whole line" if path.stat().st_size else "is empty"
        return BadInput(
            f"{path} {state}, though {' and '.join(held)} beside it came from a run; restore the journal, or begin "
            "the run anew."
        )
    return BadInput(f"The run in {run} was ended before it began; solve again.")


def lost(folder: Path, why: str) -> BadInput:
    return BadInput(
        f"The checkpoint {folder / CHECKPOINT} is damaged ({why}); delete that file to go on from the last finished "
        f"round."
    )


def opened(path: Path) -> io.FileIO:
    """The file for reading and writing anywhere, made if need be; unbuffered, so that a failed write is no more."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise BadInput(f"{path} is no file but a link or a device, which a journal is never written to; remove it.")
    path.touch()
    return open(path, "r+b", buffering=0)


def locked(file: io.FileIO, run: Path) -> io.FileIO:
    """The file, if it is ours alone now."""
    try:
        if fcntl is not None:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BadInput(
            f"Another process is working on the run in {run}; wait for it, or choose another folder."
        ) from None
    return file


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last; Windows cannot open one, and does not need to."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def one_sentence(folder: Path) -> Iterator[None]:
    """What the system refuses (no space, no permission) as `BadInput`; what was written before stays."""
    try:
        yield
    except OSError as error:
        raise BadInput(
            f"Cannot keep the journal in {folder} ({error.strerror or error}); make room there, or choose another "
            f"folder."
        ) from None
