"""The regularisation path: the optimum at every λ, what the proof leaves open, and held-out errors.

Dots are the values of λ that were solved; between them mixtures of points and duals prove the optimum to ε. Strokes on
the axis are break points of an exact path. `cutbench figures path --run RUN` draws a `cutbench path` of one's own, else
the path of digits.
"""

import sys

import numpy as np

import workbench as wb


def measure(n: int = 300, gap: float = 1e-2, folds: int = 5, seed: int = 0) -> dict[str, np.ndarray]:
    """lam, lower, upper, gap, epsilon (60,); every (1,): the gap that holds at every λ; solved: the solved λ.

    at, error, low, high (13,): held-out errors and their intervals.
    """
    problem, form = wb.load_problem("digits")(n=n), wb.SoftMargin()
    found = wb.path(form, problem, epsilon=gap)
    lam = np.clip(np.geomspace(1e-3, 10.0, 60), 1e-3, 10.0)
    points = [found.at(float(each)) for each in lam]
    rows = wb.validated(form, problem, np.clip(np.geomspace(1e-3, 10.0, 13), 1e-3, 10.0).tolist(), folds, gap, seed)
    arrays = {key: np.array([getattr(each, key) for each in points]) for key in ("lam", "lower", "upper", "gap")}
    arrays |= {"epsilon": np.full(len(lam), gap), "every": np.array([found.gap])}
    arrays["solved"] = np.array([each.lam for each in found.knots])
    names = {"at": "lam", "error": "loss", "low": "low", "high": "high"}
    arrays["about"] = np.array(["Digits, soft margin"])
    return arrays | {name: np.array([row[key] for row in rows]) for name, key in names.items()}


def of_runs(records):
    """The same arrays from the first `cutbench path`: `breaks` (m,) for `solved`, and errors if it has folds."""
    found = next((each for each in records if "points" in each and "epsilon" in each), None)
    if found is None:
        return None
    rows = found["points"]
    arrays = {key: np.array([row[key] for row in rows], float) for key in ("lam", "lower", "upper", "gap")}
    arrays |= {
        "epsilon": np.full(len(rows), found["epsilon"]),
        "every": np.array([found["gap"]]),
        "about": np.array([f"{found['problem']} {found['formulation']}"]),
    }
    if found.get("break_points"):
        arrays["breaks"] = np.array([each["lam"] for each in found["break_points"]])
    names = {"at": "lam", "error": "loss", "low": "low", "high": "high"} if "loss" in rows[0] else {}
    return arrays | {name: np.array([row[key] for row in rows], float) for name, key in names.items()}


@wb.pictures.styled
def draw(arrays):
    solved, breaks = (arrays.get(key, np.array([])) for key in ("solved", "breaks"))
    work = f"{len(breaks)} break points give the" if len(breaks) else f"{len(solved)} solves prove the"
    work = work if len(breaks) + len(solved) else "The"
    told, panels = f"{work} optimum at every λ to {wb.pictures.power(arrays['every'][0])}", 2 + ("error" in arrays)
    marks = ", strokes are break points" if len(breaks) else ", dots are solved" if len(solved) else ""
    line = "" if len(breaks) else ", the dotted line is ε"
    held = " Right: cross-validation with 95 % intervals." if "error" in arrays else ""
    if "error" in arrays:
        best = int(np.argmin(arrays["error"]))
        told += f"; held out {100 * arrays['error'][best]:.1f} % wrong at λ = {arrays['at'][best]:.2g}"
    second = "Middle" if "error" in arrays else "Right"
    figure, axes = wb.pictures.canvas(
        1,
        panels,
        (2.4 * panels, 2.9),
        told,
        f"{arrays['about'][0]}. Left: both ends of the optimum{marks}. {second}: the proven relative gap{line}.{held}",
    )
    optimum(axes[0][0], arrays, solved, breaks)
    gaps, third = wb.pictures.STYLES[1:3]
    middle = axes[0][1]
    middle.plot(arrays["lam"], arrays["gap"], **gaps.line(markevery=6))
    if not len(breaks):
        middle.plot(arrays["lam"], arrays["epsilon"], color=wb.pictures.SOFT, linestyle=":", linewidth=0.8)
    middle.set(xscale="log", ylabel="proven relative gap", ylim=(0, None))
    if "error" in arrays:
        right = axes[0][2]
        spread = np.clip(np.array([arrays["error"] - arrays["low"], arrays["high"] - arrays["error"]]), 0.0, None)
        right.errorbar(arrays["at"], arrays["error"], yerr=spread, capsize=2, **third.line())
        right.set(xscale="log", ylabel="held-out error", ylim=(min(0.0, float(arrays["low"].min())), None))
    for axis in axes[0]:
        axis.set_xlabel("λ")
        axis.grid(True)
        wb.pictures.decades(axis.xaxis)
    return figure


def optimum(axis, arrays, solved, breaks):
    """Both ends of the optimum, with the solved λ or the break points."""
    ink = wb.pictures.STYLES[0]
    axis.fill_between(arrays["lam"], arrays["lower"], arrays["upper"], color=wb.pictures.PALE)
    axis.plot(arrays["lam"], arrays["upper"], **ink.line(marker=""))
    inside = np.interp(np.log(solved), np.log(arrays["lam"]), arrays["upper"])
    axis.plot(solved, inside, **ink.line(linestyle=""))
    axis.plot(breaks, np.zeros(len(breaks)), "|", color=wb.pictures.SOFT, markersize=8, markeredgewidth=0.3)
    axis.set(xscale="log", ylabel="optimum F*", ylim=(0, None))


NAMES = {"path": sys.modules[__name__]}
