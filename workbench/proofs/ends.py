"""The ends of proven intervals: fractions as floats rounded outward, and as text."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from fractions import Fraction

from workbench.arithmetic.intervals import down, up
from workbench.errors import BadInput
from workbench.proofs.checker.check import MOST_DIGITS

INFINITE = float("inf")


def below(x: Fraction | float) -> float:
    """The greatest float ≤ x."""
    near = nearest(x)
    return near if near <= x else float(down(near))


def above(x: Fraction | float) -> float:
    """The least float ≥ x."""
    near = nearest(x)
    return near if near >= x else float(up(near))


def nearest(x: Fraction | float) -> float:
    try:
        return float(x)
    except OverflowError:
        return INFINITE if x > 0 else -INFINITE


def text(x: Fraction | float) -> str:
    """x as "p/q", in full."""
    with long_integers():
        return str(x)


def parsed(words: object) -> Fraction:
    """The fraction that "p/q" or "p" writes; `BadInput` for anything else."""
    if not isinstance(words, str) or len(words) > MOST_DIGITS or not re.fullmatch(r"-?[0-9]+(/0*[1-9][0-9]*)?", words):
        raise BadInput(f"the optimum {str(words)[:30]!r} is no fraction p/q")
    with long_integers():
        return Fraction(words)


@contextlib.contextmanager
def long_integers() -> Iterator[None]:
    """Lets Python write and read integers of more than 4,300 digits."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(limit)
