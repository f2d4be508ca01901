"""Runs under fire: killed, interrupted, cut off in the middle of a write, on full and read-only disks, and continued.

    python fire.py COUNT SEED [RUN,RUN,…]      a JSON line for each trial

The process solves each run of `runs.RUNS` once, so that compiled code is at hand; then a forked child for each attempt
begins the run or goes on with it, one fault happens, and another child brings the run to its end. A trial survives if

    the faulty session ends by the fault, or in one sentence of ours, and by no other exception
    the journal holds every round that the session had told of
    the final ends are those of an undisturbed run (relative 1e-10, unless `runs.LOOSE` says otherwise)
    a session that lived long enough leaves a round or a checkpoint, unless the run is one of `runs.ONCE`
"""

from __future__ import annotations

import io
import itertools
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from reliability import Trial
from reliability.runs import LOOSE, ONCE, RUNS
from workbench.errors import CutbenchError
from workbench.solving import recording
from workbench.system import journal as journals
from workbench.system.alarm import interruption
from workbench.system.journal import ARRAYS, CHECKPOINT, LINES, PROGRAMS, Journal, read

OFTEN = 0.005  # seconds between checkpoints in these small runs
LONG = 5.0  # seconds of work that may be lost
LONGEST = 300.0  # seconds of a session, after which it has no end
Fault = Callable[[np.random.Generator, float], None]  # set up in the child; the seconds of an undisturbed run


# ── faults in the child ───────────────────────────────────────────────────────────────────────────


def as_commands_do(rng: np.random.Generator, seconds: float) -> None:
    """SIGTERM ends a run as Ctrl-C does; `session` sends the signal."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def in_a_write(rng: np.random.Generator, seconds: float) -> None:
    """The process dies half way through one of its first writes."""
    left = itertools.count(int(rng.integers(1, 40)), -1)

    class Dying(io.FileIO):
        def write(self, content: Any) -> int:
            if next(left) > 0:
                return super().write(content)
            super().write(memoryview(content).cast("B")[: int(rng.integers(0, len(content) + 1))])
            os.kill(os.getpid(), signal.SIGKILL)
            return 0

    journals.open = lambda path, mode, **_: Dying(path, mode)  # pyright: ignore[reportAttributeAccessIssue]


def full_disk(rng: np.random.Generator, seconds: float) -> None:
    """No file grows beyond some bytes: the system's own limit, so that writes fail as on a full disk."""
    size = int(2 ** rng.uniform(8, 16))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def broken_disk(rng: np.random.Generator, seconds: float) -> None:
    """One of the first syncs fails."""
    left, sync = itertools.count(int(rng.integers(1, 20)), -1), os.fsync

    def failing(handle: int) -> None:
        if next(left) <= 0:
            raise OSError(5, "Input/output error")
        sync(handle)

    os.fsync = failing


def jumping_clock(rng: np.random.Generator, seconds: float) -> None:
    """The clocks jump by days, forwards and backwards, and the process is killed."""
    wall, steady, ahead = time.time, time.perf_counter, iter(np.sort(rng.uniform(0, 1e5, 10**6)))
    time.time = lambda: wall() + float(rng.uniform(-1e6, 1e6))
    time.perf_counter = lambda: steady() + float(next(ahead))


FAULTS: dict[str, Fault] = {
    "SIGKILL": as_commands_do,
    "SIGINT": as_commands_do,
    "SIGTERM": as_commands_do,
    "killed in a write": in_a_write,
    "full disk": full_disk,
    "broken disk": broken_disk,
    "clock jumps": jumping_clock,
}
AFTER = ("torn lines", "bytes behind the lines", "read-only folder", "two processes")  # done after a kill
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM}
UNKILLED = ("killed in a write", "full disk", "broken disk")  # other sessions end by a signal, else SIGKILL
ROUNDS = ("cuts", "cuts, all groups", "cuts, compiled master", "hard margins", "alternation")  # written, then told
SLOW = ("crosscheck", "bench")
WEIGHTS = {"SIGKILL": 5, "killed in a write": 3}


# ── one session ───────────────────────────────────────────────────────────────────────────────────


def session(
    run: str, folder: Path, fault: Fault | None, rng: np.random.Generator, seconds: float = 0.0, number: int = 0
) -> dict[str, Any]:
    """What a forked child told: `rounds` it had told of, `ends` or `error`, `code`, `seconds`.

    number : the signal that the child gets at a random moment, 0 for none
    """
    heard, told = os.pipe()
    began = time.monotonic()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # until the child knows what to do with the signal
    child = os.fork()
    if child == 0:
        os.close(heard)
        code = 0
        try:
            recording.EVERY = OFTEN
            if fault:
                fault(rng, seconds)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
            with interruption():  # as every verb does
                ends = RUNS[run](folder, lambda entry: os.write(told, b"\n"))
            os.write(told, json.dumps({"ends": ends}).encode())
        except CutbenchError as error:
            os.write(told, json.dumps({"error": str(error), "sentence": "\n" not in str(error)}).encode())
        except KeyboardInterrupt:
            os.write(told, json.dumps({"error": "interrupted", "sentence": True}).encode())
        except BaseException as error:
            os.write(told, json.dumps({"error": repr(error), "sentence": False}).encode())
            code = 1
        finally:
            os._exit(code)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    os.close(told)
    moment, text = began + float(rng.uniform(0, 1.1 * seconds)), b""
    end, endless = began + LONGEST, False
    with os.fdopen(heard, "rb", buffering=0) as pipe:
        while True:
            left = (moment if number else end) - time.monotonic()
            if not select.select([pipe], [], [], max(left, 0.0))[0]:
                endless = not number
                os.kill(child, number or signal.SIGKILL)  # not waited for yet, so the number is still the child's
                number = 0
            elif more := pipe.read(2**16):
                text += more
            else:
                break
    _, status = os.waitpid(child, 0)
    words = text.lstrip(b"\n")
    found = json.loads(words) if words else {}
    found |= {"error": f"no end within {LONGEST:g} seconds", "sentence": False} if endless else {}
    lived = time.monotonic() - began
    return {"rounds": len(text) - len(words), "code": os.waitstatus_to_exitcode(status), "seconds": lived} | found


def kept(folder: Path) -> tuple[int, int]:
    """The rounds in a journal, and whether it holds a checkpoint, or a program inside a round."""
    try:
        _, entries = read(folder)
    except CutbenchError:
        return 0, 0
    return sum(each.kind in ("round", "row", "end") for each in entries), any(
        (folder / "journal" / name).exists() for name in (CHECKPOINT, PROGRAMS)
    )


def damaged(how: str, folder: Path, run: str, rng: np.random.Generator) -> str:
    """Do something to the folder of a killed run; what was wrong about the answer, if anything."""
    lines, arrays = folder / "journal" / LINES, folder / "journal" / ARRAYS
    if not lines.is_file():
        return ""
    content = lines.read_bytes()
    if how == "torn lines":
        last = content.rstrip(b"\n").rfind(b"\n") + 1
        lines.write_bytes(content[: int(rng.integers(last, len(content) + 1))])
    elif how == "bytes behind the lines":
        lines.write_bytes(content + b'{"kind": "rou')
        with arrays.open("ab") as file:  # which a kill may have come before
            file.write(rng.bytes(50))
        (folder / "journal" / f"{CHECKPOINT}.part").write_bytes(rng.bytes(20))
    elif how == "read-only folder":
        return refused_read_only(folder, run, rng)
    elif b"\n" in content:
        with Journal.resume(folder):
            second = session(run, folder, None, rng)
        if "Another process is working" not in second.get("error", "") and "ends" not in second:
            return f"a second process was not refused: {second}"
        if "ends" in second:
            return "a second process worked on the run"
    return ""


def refused_read_only(folder: Path, run: str, rng: np.random.Generator) -> str:
    """A session of a user who may not write there ends in one sentence."""
    paths = [folder, *folder.rglob("*")]
    modes = [path.stat().st_mode for path in paths]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        found = session(run, folder, lambda *_: None if os.geteuid() else os.seteuid(65534), rng)
    finally:
        for path, mode in zip(paths, modes, strict=True):
            path.chmod(mode)
    return "" if found.get("sentence") else f"a read-only folder: {found}"


# ── trials ────────────────────────────────────────────────────────────────────────────────────────


def trial(run: str, kind: str, straight: tuple[float, float], seconds: float, seed: list[int], place: Path) -> Trial:
    """One to three sessions with a fault, then one to the end."""
    rng, folder = np.random.default_rng(seed), place / "run"
    said = []
    for _ in range(int(rng.integers(1, 3))):
        number = 0 if kind in UNKILLED else SIGNALS.get(kind, signal.SIGKILL)
        found = session(run, folder, FAULTS.get(kind, as_commands_do), rng, seconds, number)
        if found["code"] not in (0, -signal.SIGKILL) or not found.get("sentence", True):
            said.append(f"the session ended badly: {found}")
        rounds, checkpoint = kept(folder)
        if run in ROUNDS and rounds < found["rounds"]:
            said.append(f"told of {found['rounds']} rounds, {rounds} are kept")
        quiet = not (rounds or checkpoint) and kind in ("SIGKILL", "SIGINT", "SIGTERM") and run not in ONCE
        if quiet and "ends" not in found and found["seconds"] > LONG + seconds and run != "crosscheck":
            said.append(f"nothing is kept of {found['seconds']:.2f} s")
        if kind in AFTER and (fault := damaged(kind, folder, run, rng)):
            said.append(fault)
    last = session(run, folder, None, rng)
    ends, size = last.get("ends"), LOOSE.get(run, 1e-10)
    if ends is None:
        said.append(f"the last session: {last.get('error', last)}")
    elif not all(abs(new - old) <= size * abs(old) for new, old in zip(ends, straight, strict=True)):
        said.append(f"ends {ends} in place of {straight}")
    return Trial("kills", f"{kind}: {run}", not said, "; ".join(said))


def campaign(count: int, seed: int, names: list[str]) -> Iterator[Trial]:
    """`count` trials, spread over runs and faults."""
    kinds = [kind for kind in (*FAULTS, *AFTER) for _ in range(WEIGHTS.get(kind, 1))]
    plan = [(kind, name) for kind in kinds for name in names for _ in range(1 if name in SLOW else 8)]
    order = np.random.default_rng(seed).permutation(len(plan))
    straight: dict[str, tuple[tuple[float, float], float]] = {}
    for k in range(count):
        kind, run = plan[order[k % len(plan)]]
        place = Path(tempfile.mkdtemp(prefix="fire-"))
        place.chmod(0o755)
        try:
            if run not in straight:
                RUNS[run](place / "warm", lambda entry: None)
                began = time.monotonic()
                ends = RUNS[run](place / "straight", lambda entry: None)
                straight[run] = ends, time.monotonic() - began
            yield trial(run, kind, *straight[run], [seed, k], place)
        finally:
            shutil.rmtree(place, ignore_errors=True)


def main(count: str, seed: str, names: str = "") -> None:
    for found in campaign(int(count), int(seed), names.split(",") if names else list(RUNS)):
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
