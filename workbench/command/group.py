"""The group of all verbs: each file of the folder `verbs/` is one verb, imported when the verb runs.

The file `verbs/check_oracle.py` alone makes the verb `cutbench check-oracle`. docs/recipes/command.md shows a whole
verb, which a test runs.

The file's first line, up to its end, is what `cutbench --help` says about the verb: the group reads that line and
does not run the file. The function is called `command` in each file and returns the exit code (`exits.py`); an
error is raised as a `CutbenchError`, which the group prints as one line. `words.py` holds the options and arguments
that several verbs share, `terminal.py` tables, progress and JSON. Files that start with an underscore are no verbs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.exits import ReaderLeft, complain, debugging, explained, leave_quietly, reader_watched

VERBS = Path(__file__).with_name("verbs")
COMPLETION = "_CUTBENCH_COMPLETE"  # the variable of click's shell completion
FIRST = (
    "demo",
    "list",
    "solve",
    "crosscheck",
    "verify",
)  # for newcomers; the others follow by alphabet


class Verbs(Mapping[str, click.Command]):
    """The verbs of a folder by name; to look one up imports its file."""

    def __init__(self, folder: Path, package: str):
        self.folder, self.package = folder, package

    def __iter__(self) -> Iterator[str]:
        names = sorted(path.stem.replace("_", "-") for path in self.folder.glob("[!_]*.py"))
        return iter(sorted(names, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> click.Command:
        if name not in list(self):
            raise KeyError(name)
        return import_module(f"{self.package}.{self.stem(name)}").command

    def summary(self, name: str) -> str:
        """The first line of the verb's docstring, read from the file without running it."""
        with (self.folder / f"{self.stem(name)}.py").open(encoding="utf-8") as file:
            return file.readline().strip().strip('"')

    @staticmethod
    def stem(name: str) -> str:
        return name.replace("-", "_")


class Commands(click.Group):
    """A group whose verbs return exit codes and whose errors are one line on stderr."""

    commands: Any  # `Verbs`; click declares a mapping that can be changed

    def __init__(self, *args: Any, **extra: Any):
        super().__init__(*args, **extra)
        self.verbs = self.commands = Verbs(VERBS, "workbench.command.verbs")

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.verbs)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with their summaries; no verb is imported."""
        summaries = {name: self.verbs.summary(name) for name in self.verbs}
        for title, first in {"First steps": True, "More commands": False}.items():
            if rows := [(name, text) for name, text in summaries.items() if (name in FIRST) == first]:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or ["--help"])

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with reader_watched():  # --help prints here
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with reader_watched():
            return super().invoke(ctx)

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        if COMPLETION in os.environ:  # the shell asks, and click answers and exits
            return super().main(*args, standalone_mode=standalone_mode, **extra)
        if not standalone_mode or debugging():
            code = super().main(*args, standalone_mode=False, **extra)
        else:
            code = self.guarded(*args, **extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def guarded(self, *args: Any, **extra: Any) -> int | None:
        """The exit code; an error is printed as one line, and with --json also as the one object."""
        words = args[0] if args else extra.get("args")
        try:
            return super().main(*args, standalone_mode=False, **extra)
        except ReaderLeft:
            return leave_quietly()
        except (Exception, SystemExit) as error:
            return self.refused(error, as_json="--json" in (sys.argv[1:] if words is None else words))

    def refused(self, error: Exception | SystemExit, as_json: bool) -> int:
        """The exit code of an error, after the error has been printed."""
        sentence, code = explained(error)
        try:
            with reader_watched():
                if as_json:
                    terminal.emit({"error": sentence, "exit_code": code})
        except (ReaderLeft, OSError):  # stdout is closed, or full, which the sentence may be about
            leave_quietly()
        return complain(sentence, code)
