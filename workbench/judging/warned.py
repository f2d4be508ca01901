"""What a learner's code warns of while the judge calls it: gathered and counted, then told in one sentence.

The filters of Python, of the user and of the learner stay as they are: what they ignore is not counted, and what they
turn into an error is one. Texts that differ in their numbers only are the same warning.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from workbench.errors import counted, printable, shortened

MOST = 50  # different warnings that are counted; the first ones
TOLD = 3  # of these in the sentence
LONG = 200  # characters of a message
NUMBERS = re.compile(r"\d[\d.]*(e[+-]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Warned:
    """A warning of a learner: its category, its message (the first paragraph), and in how many calls it came."""

    category: str
    message: str
    calls: int


class Tally:
    """The warnings of a learner, and how often the learner was called."""

    def __init__(self) -> None:
        self.calls = 0
        self.seen: dict[tuple[str, str], Warned] = {}  # by category and message, numbers left out

    @contextmanager
    def listening(self, audit: bool = False) -> Iterator[None]:
        """Count what one call of the learner warns of, instead of printing it; a silent audit is no call."""
        heard: dict[tuple[str, str], Warned] = {}

        def note(message: Warning | str, category: type[Warning], *place: object) -> None:  # as `showwarning` is called
            said = Warned(category.__name__, first_paragraph(str(message)), 1)
            heard.setdefault((said.category, NUMBERS.sub("#", said.message)), said)

        try:
            with warnings.catch_warnings():
                warnings.showwarning = note
                yield
        finally:
            self.add(heard.values(), int(bool(heard) or not audit))

    def add(self, heard: Iterable[Warned], calls: int) -> None:
        """Count these warnings, which came in so many further calls."""
        self.calls += calls
        for each in heard:
            key = each.category, NUMBERS.sub("#", each.message)
            if key in self.seen:
                self.seen[key] = replace(self.seen[key], calls=self.seen[key].calls + each.calls)
            elif len(self.seen) < MOST:
                self.seen[key] = each

    @property
    def warned(self) -> list[Warned]:
        """The warnings, the most frequent first."""
        return sorted(self.seen.values(), key=lambda each: -each.calls)

    @property
    def sentence(self) -> str:
        """What the learner warned of and how often; "" where it did not."""
        if not self.seen:
            return ""
        told = [f"“{each.message.rstrip('.')}” ({each.category}, in {self.often(each)})" for each in self.warned]
        if len(told) > TOLD:
            told = [*told[:TOLD], f"and {counted(len(told) - TOLD, 'other warning')}"]
        return f"The learner warns: {', '.join(told)}."

    def often(self, warned: Warned) -> str:
        calls = counted(self.calls, "call")
        return (
            f"{warned.calls} of {calls}" if warned.calls < self.calls else f"all {calls}" if self.calls > 1 else calls
        )


def first_paragraph(message: str) -> str:
    """The first paragraph of a message on one line, cut to LONG characters."""
    paragraph = message.strip().partition("\n\n")[0]
    return shortened(printable(" ".join(paragraph.split())), LONG)
