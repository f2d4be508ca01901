"""The one rounding that formulations define: T of completed-ssvm and n_S of counted costs, each once, to float64."""

from __future__ import annotations

from fractions import Fraction

from workbench.proofs.checker.faults import Malformed


def rounded(number: Fraction) -> Fraction:
    """The nearest float64, ties to even."""
    try:
        return Fraction(float(number))
    except OverflowError:
        raise Malformed("a number that its formulation rounds is too great for a float64") from None
