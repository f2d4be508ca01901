"""Work in a process of its own: code that may hang or crash answers from there, or is killed.

    with Process(work) as process:
        numbers, arrays = process.ask({"size": 3}, {"x": x}, limit=5.0)

`work(numbers, arrays) -> (numbers, arrays)` is a function of a module; it is imported there by its name, and
called once for each question. Questions and answers go through a pipe as npz files, each behind its length;
`numbers` is whatever JSON can say. The limit is an alarm of the operating system, which kills native code too, and
goes off even after the asking process has ended. The output of the work goes to stderr; its stdin is empty.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import signal
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from workbench.system.alarm import LONGEST

Line = tuple[str, int]  # a file and a line in it
Message = tuple[dict[str, Any], dict[str, NDArray]]
Work = Callable[[dict[str, Any], dict[str, NDArray]], Message]

_SERVE = "from workbench.system.processes import serve; serve()"


class OutOfTime(Exception):
    """The limit came before the answer; the process is gone."""


class Died(RuntimeError):
    """The process ended instead of answering, by a signal or an exit code."""


class Raised(RuntimeError):
    """The work raised; the process lives. `kind` is the name of the exception, `text` what it says.

    lines : (file, line) of the calls in which it was raised, the innermost last
    """

    def __init__(self, kind: str, text: str, lines: Sequence[Line] = ()):
        super().__init__(f"{kind}: {text}")
        self.kind, self.text, self.lines = kind, text, lines


class Process:
    """Answers one question after another until it is ended, at the latest with our own process.

    A process that is forked from ours shares the pipes, and would read our answers: there it counts as ended.
    """

    def __init__(self, work: Work):
        path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            [sys.executable, "-c", _SERVE, work.__module__, work.__qualname__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for us
        )
        assert self.process.stdin is not None  # both are pipes,
        assert self.process.stdout is not None  # as asked
        self.questions, self.answers = self.process.stdin, self.process.stdout
        self.owner = os.getpid()
        atexit.register(self.end)

    def ask(self, numbers: dict[str, Any], arrays: dict[str, NDArray], limit: float | None = None) -> Message:
        """The work's answer. Raises `OutOfTime` after `limit` seconds, `Died`, or `Raised`."""
        try:
            sent(self.questions, numbers | {"limit": limit or 0.0}, arrays)
            reply = received(self.answers)
        except BrokenPipeError:
            reply = None
        except BaseException:
            self.end()
            raise
        if reply is None:
            code = self.end()
            if code == -signal.SIGALRM:
                raise OutOfTime
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            raise Died(f"its process ended with {how}")
        if "raised" in reply[0]:
            raise Raised(reply[0]["raised"], reply[0]["text"], reply[0]["lines"])
        return reply

    @property
    def alive(self) -> bool:
        return self.owner == os.getpid() and self.process.poll() is None

    def end(self) -> int:
        """End the process and what it started, at once; its exit code, negative for a signal."""
        atexit.unregister(self.end)
        with suppress(BrokenPipeError):
            self.questions.close()
        self.answers.close()
        if self.owner != os.getpid():
            return 0
        with suppress(subprocess.TimeoutExpired):  # what is ending by itself may say why
            self.process.wait(1.0)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.wait()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *failure: object) -> None:
        self.end()


def serve() -> None:
    """The other side of `Process`."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    module, name = sys.argv[1:]
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    while (question := received(questions)) is not None:
        numbers, arrays = question
        signal.setitimer(signal.ITIMER_REAL, min(numbers.pop("limit"), LONGEST))
        try:
            reply: Message = vars(import_module(module))[name](numbers, arrays)
        except BaseException as error:
            reply = {"raised": type(error).__name__, "text": str(error), "lines": lines_of(error)}, {}
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            sent(answers, *reply)
        except BrokenPipeError:  # whoever asked has left, and nobody is to be told
            os._exit(0)


def lines_of(error: BaseException) -> list[Line]:
    """(file, line) of the calls in which it was raised, the innermost last."""
    return [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]


def sent(pipe: IO[bytes], numbers: dict[str, Any], arrays: dict[str, NDArray]) -> None:
    buffer = io.BytesIO()
    words = np.frombuffer(json.dumps(numbers, default=float).encode(), np.uint8)
    np.savez(buffer, numbers=words, **arrays)  # pyright: ignore[reportArgumentType] (no array is called allow_pickle)
    pipe.write(struct.pack("q", buffer.tell()))
    pipe.write(buffer.getbuffer())
    pipe.flush()


def received(pipe: IO[bytes]) -> Message | None:
    """What `sent` sent; None if the other side is gone."""
    head = pipe.read(8)
    content = pipe.read(*struct.unpack("q", head)) if len(head) == 8 else b""
    if len(head) < 8 or len(content) < struct.unpack("q", head)[0]:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(arrays.pop("numbers").tobytes()), arrays
