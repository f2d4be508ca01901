"""The regularisation path of digits: the optimum at every λ, what the proof leaves open, and held-out errors.

Dots are the values of λ that were solved; between them mixtures of points and duals prove the optimum to ε.
"""

import sys

import numpy as np

import workbench as wb


def measure(n: int = 300, gap: float = 1e-2, folds: int = 5, seed: int = 0) -> dict[str, np.ndarray]:
    """lam, lower, upper, gap, epsilon (60,); solved: the solved λ; at, error, low, high (13,): held out, intervals."""
    problem, form = wb.load_problem("digits")(n=n), wb.SoftMargin()
    found = wb.path(form, problem, epsilon=gap)
    lam = np.clip(np.geomspace(1e-3, 10.0, 60), 1e-3, 10.0)
    points = [found.at(float(each)) for each in lam]
    rows = wb.validated(form, problem, np.clip(np.geomspace(1e-3, 10.0, 13), 1e-3, 10.0).tolist(), folds, gap, seed)
    arrays = {key: np.array([getattr(each, key) for each in points]) for key in ("lam", "lower", "upper", "gap")}
    arrays |= {"epsilon": np.full(len(lam), gap), "solved": np.array([each.lam for each in found.knots])}
    names = {"at": "lam", "error": "loss", "low": "low", "high": "high"}
    return arrays | {name: np.array([row[key] for row in rows]) for name, key in names.items()}


@wb.pictures.styled
def draw(arrays):
    best = int(np.argmin(arrays["error"]))
    figure, axes = wb.pictures.canvas(
        1,
        3,
        (7.2, 2.9),
        f"{len(arrays['solved'])} solves prove the optimum at every λ to {wb.pictures.power(arrays['gap'].max())}; "
        f"held out {100 * arrays['error'][best]:.1f} % wrong at λ = {arrays['at'][best]:.2g}",
        "Digits, soft margin. Left: both ends of the optimum; dots are solved. Middle: the proven relative gap, the "
        "dotted line is ε. Right: cross-validation with 95 % intervals.",
    )
    left, middle, right = axes[0]
    ink, second, third = wb.pictures.STYLES[:3]
    left.fill_between(arrays["lam"], arrays["lower"], arrays["upper"], color=wb.pictures.PALE)
    left.plot(arrays["lam"], arrays["upper"], **ink.line(marker=""))
    inside = np.interp(np.log(arrays["solved"]), np.log(arrays["lam"]), arrays["upper"])
    left.plot(arrays["solved"], inside, **ink.line(linestyle=""))
    middle.plot(arrays["lam"], arrays["gap"], **second.line(markevery=6))
    middle.plot(arrays["lam"], arrays["epsilon"], color=wb.pictures.SOFT, linestyle=":", linewidth=0.8)
    spread = np.clip(np.array([arrays["error"] - arrays["low"], arrays["high"] - arrays["error"]]), 0.0, None)
    right.errorbar(arrays["at"], arrays["error"], yerr=spread, capsize=2, **third.line())
    left.set(xscale="log", ylabel="optimum F*", ylim=(0, None))
    middle.set(xscale="log", ylabel="proven relative gap", ylim=(0, None))
    right.set(xscale="log", ylabel="held-out error", ylim=(min(0.0, float(arrays["low"].min())), None))
    for axis in axes[0]:
        axis.set_xlabel("λ")
        axis.grid(True)
        wb.pictures.decades(axis.xaxis)
    return figure


NAMES = {"path": sys.modules[__name__]}
