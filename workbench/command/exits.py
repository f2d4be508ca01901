"""How a run of `cutbench` ends: its exit code, and the one sentence on stderr that goes with a failure.

    0    solved, stationary, agrees, proven          1    disagrees, failed, not proven
    2    bad input or usage                          3    not converged, limit, stalled, cycle
    70   a bug of ours                               130  interrupted
    141  the reader of a pipe left                   (128 + SIGPIPE, as a shell reports of `yes | head -1`)

Nothing heavy is imported.
"""

from __future__ import annotations

import errno
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches

import click

from workbench.errors import CutbenchError
from workbench.registries import place_of_a_user

BUG = 70
INTERRUPTED = 130
READER_LEFT = 141
ALIKE = 0.75  # from which on an option counts as a misspelled one; `--lam` and `--gap` have 0.6


class ReaderLeft(Exception):
    """The reader of our standard output has left, as in `cutbench list | head -1`."""


class Interrupted(CutbenchError):
    """A run that was interrupted and can be continued."""

    exit_code = INTERRUPTED


def explained(error: Exception | SystemExit) -> tuple[str, int]:
    """An error as one sentence, and the exit code."""
    if isinstance(error, click.Abort):
        return "interrupted.", INTERRUPTED
    if isinstance(error, click.UsageError):
        where = f" ({error.ctx.command_path} --help explains)" if error.ctx else ""
        if isinstance(error, click.NoSuchOption) and error.ctx and may_be_setting(error.ctx, error.option_name):
            name = error.option_name.lstrip("-").replace("-", "_")
            other = verb_with(error.ctx, error.option_name)
            way = f"`cutbench {other}` has it" if other else f"if it is a setting, write --set {name}=VALUE"
            return f"No such option {error.option_name}; {way}{where}.", 2
        return error.format_message().rstrip(".") + f"{where}.", 2
    if isinstance(error, click.ClickException):
        return error.format_message(), 2
    if isinstance(error, CutbenchError):
        return str(error), error.exit_code
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC:
            return f"{error.strerror}: {error.filename or 'standard output'}; free some, or write elsewhere.", 2
        return f"{error.strerror or error}: {error.filename or 'a file'}; check the path.", 2
    if isinstance(error, SystemExit):
        where = place_of_a_user(error, through=True) or "A Python file"
        return f"{where} called exit({error}) in place of an answer; remove the call from your file.", 2
    if isinstance(error, MemoryError):
        told = error or "no size is known"
        return f"The memory does not suffice ({told}); take fewer features or samples, or raise --memory-limit.", 3
    if isinstance(error, ModuleNotFoundError):
        if (error.name or "workbench").split(".")[0] != "workbench":
            return f"The package {error.name} is missing; `cutbench doctor` names the extra that installs it.", 2
        return f"This installation has no {error.name}; install cutbench again.", BUG
    fault = f"{type(error).__name__}: {error}".splitlines()[0]
    if place := place_of_a_user(error):
        return f"{place} stops with {fault}; repair the file.", 2
    return f"this is a bug of ours ({fault}); CUTBENCH_DEBUG=1 shows where, please report it.", BUG


def may_be_setting(context: click.Context, option: str) -> bool:
    """Whether a command has --set, and no option that is written almost like this one."""
    known = [option for each in context.command.params for option in each.opts]
    return "--set" in known and not get_close_matches(option, known, 1, ALIKE)


def verb_with(context: click.Context, option: str) -> str | None:
    """The first other verb that has this option; every verb is imported."""
    group = context.parent.command if context.parent else None
    verbs = group.commands if isinstance(group, click.Group) else {}
    return next((name for name in verbs if has_option(verbs[name], option)), None)


def has_option(command: click.Command, option: str) -> bool:
    return any(option in each.opts for each in command.params)


def debugging() -> bool:
    return os.environ.get("CUTBENCH_DEBUG") == "1"


def complain(sentence: str, code: int) -> int:
    """Print the sentence as one line on stderr, and return the exit code."""
    click.echo(f"cutbench: {' '.join(sentence.split())}", err=True)
    return code


@contextmanager
def reader_watched() -> Iterator[None]:
    """Raise `ReaderLeft` for a broken pipe if the pipe is our standard output, and not a pipe to a worker.

    click would turn the broken pipe into exit(1), which looks like an exit of the user's code.
    """
    try:
        yield
    except BrokenPipeError as error:
        output = select.poll()
        output.register(1, 0)  # poll always reports a closed pipe
        if any(event & (select.POLLERR | select.POLLHUP) for _, event in output.poll(0)):
            raise ReaderLeft from error
        raise


def leave_quietly() -> int:
    """The exit code after the reader has left; text that Python has yet to flush is discarded."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (stays open until the process ends)
    return READER_LEFT
