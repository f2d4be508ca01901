"""The command `cutbench`: each verb parses the user's words, calls the Python API, and prints.

    stdout   the answer: readable text, or with --json one object and nothing else
    stderr   progress (on a terminal), remedies, and errors: one line that starts with `cutbench:`

A verb is a file of `verbs/` (the convention stands in `group.py`), the meaning of the exit codes stands in
`exits.py`. Verbs import numerical packages inside their functions, so that `--help` is instant.
"""

from __future__ import annotations

import io
import os
import signal
import sys

import click

from workbench.command.group import Commands
from workbench.system.release import VERSION

CODES = """Exit codes: 0 solved, agrees, proven · 1 disagrees, failed, not proven · 2 bad input · 3 not converged,
a limit, stalled · 70 a bug · 130 interrupted · 141 the reader of a pipe left. CUTBENCH_DEBUG=1 shows the traceback
of any error."""


@click.group(cls=Commands, epilog=CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="cutbench")
def cli() -> None:
    """Structured prediction solved to a proven optimum, and learners checked against it.

    PROBLEM is a name that `cutbench list` shows, a data file (.csv, .tsv, .svm, .npz, .conll, .vw), or a
    Python file that defines a problem; a Python file runs with your rights.
    """


def usable_streams() -> None:
    """Standard streams that can be written to: a closed one is the null device, not the next file that is opened, and
    a character that the terminal's encoding lacks is shown as an escape.
    """
    for handle in range(3):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    for name, handle in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(handle, "w", encoding="utf-8", closefd=False))  # noqa: SIM115  (to the end)
        elif isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main() -> None:
    """The entry point `cutbench`; SIGTERM, by which machines are shut down, ends a run as Ctrl-C does."""
    usable_streams()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    cli(prog_name="cutbench")


if __name__ == "__main__":
    main()
