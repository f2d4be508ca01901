"""What every proof assumes of the machine's floats, tried out: 64 bits, rounding to nearest, no fast-math.

    binary64          53 binary digits, exponents to 1023; 1/3 has the bits that IEEE 754 gives it
    nearest, even     1 + 2⁻⁵³ = 1,  1 + 3·2⁻⁵³ = 1 + 2⁻⁵¹,  and the same below 0
    subnormal         2⁻¹⁰⁷⁴ is a number, and 2⁻¹⁰²² / 2 is none that is flushed to 0
    no contraction    x·x − (x·x rounded) = 0: no product is kept longer than a float
    no reordering     (2⁵³ + 1) − 2⁵³ = 0, term by term, also compiled
    NaN and ∞         NaN ≠ NaN, ∞ − ∞ is NaN, 1/0 = ∞

Each line holds in Python, in NumPy's arrays and, where numba is installed, in compiled code. A library that sets its
own rounding or flushes subnormals when it is loaded (as code built with -ffast-math may) is found here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.arithmetic.compiled import available, compiled_function

ULP = 2.0**-53
CLAIMS = ("nearest, even", "subnormal", "no contraction", "no reordering", "NaN and ∞")


def measured(a: Any, out: Any) -> int:
    """Write the sums, products and quotients that the claims are about; `a` holds 1, 2⁻⁵³, 2⁻¹⁰²², 1 + 2⁻³⁰, 2⁵³, ∞."""
    one, ulp, least, near, big, infinite = a[0], a[1], a[2], a[3], a[4], a[5]
    out[0], out[1] = one + ulp, one + 3.0 * ulp
    out[2], out[3] = -one - ulp, -one - 3.0 * ulp
    out[4] = least / 2.0
    square = near * near
    out[5] = near * near - square
    total = big + one
    out[6] = total - big
    out[7] = infinite - infinite
    return 0


def expected(found: Any) -> dict[str, bool]:
    """Which claims the numbers of `measured` keep."""
    sums = [1.0, 1.0 + 2.0**-51, -1.0, -1.0 - 2.0**-51]
    kept = all(float(x) == y for x, y in zip(found[:4], sums, strict=True)), float(found[4]) == 2.0**-1023
    return dict(zip(CLAIMS, (*kept, found[5] == 0.0, found[6] == 0.0, bool(found[7] != found[7])), strict=True))


def arithmetic() -> dict[str, list[str]]:
    """For Python, NumPy and numba: the claims that do not hold; `binary64` is judged for Python and NumPy."""
    values = [1.0, ULP, 2.0**-1022, 1.0 + 2.0**-30, 2.0**53, np.inf]
    array = np.array(values)
    info, third = sys.float_info, np.float64(1) / 3
    wide = info.mant_dig == 53 and info.max_exp == 1024 and (1 / 3).hex() == "0x1.5555555555555p-2"
    broken = {
        "Python": failing(measured, values, [0.0] * 8) + ["binary64"] * (not wide),
        "NumPy": failing(measured, array, np.zeros(8)) + ["binary64"] * (float(third).hex() != (1 / 3).hex()),
    }
    if available():
        out = np.zeros(8)
        broken["numba"] = failing(compiled_function(measured, (array, out)), array, out)
    return broken


def failing(measure: Callable[[Any, Any], int], values: Any, out: Any) -> list[str]:
    with np.errstate(all="ignore"):
        measure(values, out)
    return [claim for claim, holds in expected(out).items() if not holds]
