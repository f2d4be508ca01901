"""The prediction along an importance-aware update of a dyad, in three forms, and what rounding leaves of them.

    norms      ⟨a, b⟩ cosh 2s − (‖a‖² + ‖b‖²) cosh s sinh s             as printed: two numbers suffice
    vectors    ⟨a cosh s − b sinh s, b cosh s − a sinh s⟩               as printed, vectors first
    rates      ⟨a, b⟩ + ¼ [U expm1(−2s) − V expm1(2s)],  U, V = ‖a ± b‖²    what we use

without linear features. Errors are relative to p(s) in 60 decimal digits.
"""

import sys
from decimal import Decimal, localcontext

import numpy as np

import workbench as wb

PLACES = {"norms": (0.5, (-22, 8)), "vectors": (0.75, (22, -22)), "rates": (0.65, (-6, 14))}  # of labels
HEIGHTS = {-1e8: "−10⁸", -1.0: "−1", 0.0: "0", 1.0: "1", 1e8: "10⁸"}  # marked on the axis of p(s)
CASES = {"vectors at random": 1.0, "near the hyperdiagonal a = b": 1e-7}


def exact(a, b, s):
    """p(s) in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        plus, minus = (
            sum(((Decimal(x) + sign * Decimal(y)) ** 2 for x, y in zip(a, b, strict=True))) for sign in (1, -1)
        )
        return (plus * (-2 * Decimal(s)).exp() - minus * (2 * Decimal(s)).exp()) / 4


def measure(n: int = 240, seed: int = 3) -> dict[str, np.ndarray]:
    """One row per case and s: case, s, p, and the relative errors of the three forms."""
    rng = np.random.default_rng(seed)
    first, other = rng.normal(size=(2, 3))
    columns = {name: [] for name in ("case", "s", "p", "norms", "vectors", "rates")}
    for case, apart in CASES.items():
        a, b = first, other if apart == 1 else first + apart * other
        if a @ b < 0:
            b = -b
        at = wb.flows.curve(a, b, np.zeros(1), np.zeros(1))
        for s in np.linspace(0.01, 10, n).tolist():
            cosh, sinh = np.cosh(s), np.sinh(s)
            forms = {
                "norms": a @ b * np.cosh(2 * s) - (a @ a + b @ b) * cosh * sinh,
                "vectors": (a * cosh - b * sinh) @ (b * cosh - a * sinh),
                "rates": wb.flows.predicted(s, *at),
            }
            true = exact(a.tolist(), b.tolist(), s)
            errors = {name: float(abs(Decimal(float(value)) - true) / abs(true)) for name, value in forms.items()}
            row = {"case": case, "s": s, "p": float(true)} | errors
            for name, column in columns.items():
                column.append(row[name])
    return {name: np.array(values) for name, values in columns.items()}


@wb.pictures.styled
def draw(arrays):
    forms = ("norms", "vectors", "rates")
    near = arrays["case"] == list(CASES)[1]
    worst = {name: arrays[name][near].max() for name in forms}
    figure, axes = wb.pictures.canvas(
        2,
        2,
        (7.2, 4.8),
        f"Near the hyperdiagonal the printed form by norms loses every digit (error {worst['norms']:.0f}); vectors, "
        f"or U and V, lose at most {wb.pictures.power(max(worst['vectors'], worst['rates']))}",
        "Top: the prediction along an update. Bottom: relative errors of three forms of it in double precision, "
        "against 60 decimal digits; errors below 10⁻¹⁸ are drawn there.",
        sharex=True,
    )
    for column, case in enumerate(CASES):
        own = arrays["case"] == case
        top, bottom = axes[:, column]
        top.plot(arrays["s"][own], arrays["p"][own], color=wb.pictures.STYLES[0].color)
        top.set_yscale("symlog", linthresh=1e-8)
        top.set_yticks([*HEIGHTS], HEIGHTS.values())
        top.set_title(case)
        top.grid(True)
        for name, style in zip(forms, wb.pictures.STYLES, strict=False):
            errors = np.maximum(arrays[name][own], 1e-18)
            bottom.plot(arrays["s"][own], errors, **style.line(markevery=len(errors) // 9 + 1))
            if column:
                at, shift = PLACES[name]
                at = int(at * len(errors))
                wb.pictures.label(bottom, arrays["s"][own][at], errors[at], name, style, shift, ha="center")
        bottom.set(yscale="log", ylim=(1e-19, 1e2), xlabel="s")
        wb.pictures.decades(bottom.yaxis)
        bottom.grid(True)
    axes[0, 0].set_ylabel("p(s)")
    axes[1, 0].set_ylabel("relative error")
    return figure


NAMES = {"flow-curves": sys.modules[__name__]}
