"""The errors that a user can cause; the message is one sentence: what is wrong, where, and one fix.

All derive from `CutbenchError`, a `ValueError`, so a caller catches one class, and the command line prints one line and
exits with `exit_code`. `checked_positive` checks settings such as λ, `checked_whole` counts and seeds,
`checked_choice` words, `checked_switch` what is true or false.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

MOST = 4
LONGEST = 2000  # characters of a message; a cell of a user's file, which a message quotes, can have millions


def counted(number: int, noun: str) -> str:
    """`1 round`, `2 rounds`, `2 entries`."""
    ending = noun.removesuffix("y") + "ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else ending}"


def printable(message: str) -> str:
    """The message without control characters, which could steer a terminal, cut to LONGEST characters."""
    text = "".join(c if c.isprintable() or c == "\n" else " " if c.isspace() else repr(c)[1:-1] for c in message)
    return shortened(text, LONGEST)


def printed(name: str) -> str:
    """A name from a file or a user on one line, a mark in the place of each character that would steer a terminal."""
    return name if name.isprintable() else "".join(c if c.isprintable() else "�" for c in name)


def shortened(text: str, most: int) -> str:
    """The text, or both its ends of `most` characters together, `…` between them."""
    return text if len(text) <= most else f"{text[: most // 2].rstrip()} … {text[-(most // 2) :].lstrip()}"


class CutbenchError(ValueError):
    """The base class of all errors that a user can cause."""

    exit_code = 2

    def __init__(self, message: str = ""):
        super().__init__(printable(message))


class BadInput(CutbenchError):
    """Data or a setting that no method could use."""


class Undecided(BadInput):
    """Input that is read as it should be, about which neither of two answers could be proven."""

    exit_code = 3


class UnknownName(CutbenchError):
    """A name that no registry holds; the message offers the nearest known one.

    told : descriptions of known names: where no name is near, up to MOST are offered that mention this one
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], told: Mapping[str, str] | None = None):
        known, told = sorted(known), told or {}
        near = difflib.get_close_matches(name.lower().replace("_", "-"), [k.lower() for k in known], n=1, cutoff=0.6)
        near = [k for k in known if near and k.lower() == near[0]]
        word = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
        near = near or [k for k in known if name and word.search(told.get(k, ""))][:MOST]
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(known) or 'none'}."
        super().__init__(f"There is no {kind} called {name!r}; {hint}")


class MissingCapability(CutbenchError):
    """A combination that does not fit, e.g. a formulation that needs a capability which the outputs lack."""


class BackendFailed(CutbenchError):
    """A convex solver crashed or returned nothing that can be used."""

    exit_code = 3


class OutOfMemory(CutbenchError):
    """Work that would take more memory than there is, or than --memory-limit allows."""

    exit_code = 3


class OutOfTime(CutbenchError):
    """The time limit came before there was an answer."""

    exit_code = 3


class Contradiction(CutbenchError):
    """A proven lower bound above a proven upper bound, by a bug in an oracle, features, losses or our bounds."""

    exit_code = 70


class NotSeparable(CutbenchError):
    """Hard margins on data that no weights separate; holds the Farkas ray.

    Attributes
    ----------
    samples, outputs : the cuts with positive weight (arrays (K,), (K, width))
    weights : (K,) their weights α ≥ 0, scaled so that Σ α ℓ = 1
    norm : ‖Σ α ψ‖, numerically zero: any separating w has ‖w‖ ≥ 1/norm
    formulation, problem : the pair without a solution
    """

    def __init__(
        self,
        message: str,
        samples: Any,  # arrays; this module imports no NumPy
        outputs: Any,
        weights: Any,
        norm: float,
        formulation: Any,  # of the user's class, perhaps
        problem: Any,
    ):
        super().__init__(message)
        self.samples, self.outputs, self.weights, self.norm = samples, outputs, weights, norm
        self.formulation, self.problem = formulation, problem


def plain(value: Any) -> Any:
    """A number as Python's own, which compares with any other; NumPy's short ones overflow at 1e100."""
    return value.item() if hasattr(value, "item") else value


def checked_limits(**numbers: Any) -> None:
    """Raise `BadInput` for a `gap`, `time_limit` or `max_rounds` that is not positive; the limits may be None."""
    examples = {"gap": "1e-9", "time_limit": "60", "max_rounds": "100"}
    for name, value in numbers.items():
        if value is None and name != "gap":
            continue
        kind, what = (Integral, "whole number") if name == "max_rounds" else (Real, "number")
        if isinstance(value, bool) or not isinstance(value, kind) or not 0 < plain(value) < 1e300:
            raise BadInput(f"{name} is {value!r}; give a positive {what} such as {examples[name]}.")


def checked_positive(**settings: Any) -> None:
    """Raise `BadInput` for the first setting that is not a positive number from 1e-100 to 1e100."""
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not 1e-100 <= plain(value) <= 1e100:
            raise BadInput(f"{name} is {value!r}; it must be positive, from 1e-100 to 1e100, e.g. {name}=1.")


def checked_choice(*known: str, **settings: Any) -> None:
    """Raise `BadInput` for the first setting that is none of the known words."""
    for name, value in settings.items():
        if not isinstance(value, str) or value not in known:
            raise BadInput(f"{name} is {value!r}; choose {', '.join(known[:-1])} or {known[-1]}.")


def checked_switch(**settings: Any) -> None:
    """Raise `BadInput` for the first setting that is neither True nor False."""
    for name, value in settings.items():
        if not isinstance(plain(value), bool):
            raise BadInput(f"{name} is {value!r}; give True or False.")


def checked_whole(least: int, **settings: Any) -> None:
    """Raise `BadInput` for the first setting that is not a whole number from `least` on."""
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise BadInput(f"{name} is {value!r}; give a whole number from {least} on, e.g. {name}={least}.")
