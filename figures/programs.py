"""What solvers call optimal: how far their answers, at their own default tolerances, are from the proven optimum.

One dot a program and backend: |objective − optimum| / max(1, |optimum|), the optimum proven in fractions by
`wb.prove`; filled where the backend says that the program is solved. Programs are the convex quadratic ones of the
folder $CUTBENCH_DATA/programs (Maros and Mészáros' collection), or without that folder a dozen of our own.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb

LIMIT, LEAST, MOST = 1e-6, 1e-16, 10.0


def measure(instances: int = 100, folder: str = "", seconds: float = 20.0) -> dict[str, np.ndarray]:
    """One row per program with a proven optimum and per backend: program, backend, error, whether it says solved.

    error : NaN where the backend gave no answer;  instances : at most so many programs;  seconds : of a solve
    """
    place = Path(folder or os.environ.get("CUTBENCH_DATA", "nowhere")) / "programs" / "qp"
    files = sorted(place.iterdir()) if place.is_dir() else []
    programs = {path.name.split(".")[0]: path for path in files if path.suffix == ".mat"} or bundled()
    columns = {name: [] for name in ("program", "backend", "error", "solved")}
    for name, source in list(programs.items())[:instances]:
        proof = wb.prove(wb.load_program(source) if isinstance(source, Path) else source)
        for row in wb.accuracy(proof, seconds) if proof.optimum is not None else ():
            error = np.nan if row["error"] is None else float(row["error"])
            for column, value in zip(columns.values(), (name, row["backend"], error, row["solved"]), strict=True):
                column.append(value)
    return {name: np.array(values) for name, values in columns.items()}


def bundled():
    """A dozen small programs, some of them badly scaled or nearly singular."""
    import cvxpy as cp

    found, rng = {}, np.random.default_rng(0)
    for size in (3, 6, 9):
        x = cp.Variable(size)
        hilbert = 1.0 / (np.arange(size)[:, None] + np.arange(size) + 1)
        found[f"hilbert-{size}"] = cp.Problem(cp.Minimize(cp.sum_squares(hilbert @ x - 1)), [x >= 0, x <= 50])
        F, mean = rng.normal(size=(2 * size, size)), rng.uniform(0, 1, size)
        budget: Any = cp.sum(x) == 1
        risk = cp.sum_squares(F @ x) - 0.5 * (mean @ x)
        found[f"portfolio-{size}"] = cp.Problem(cp.Minimize(risk), [budget, x >= 0])
        units = 10.0 ** np.linspace(-4, 4, size)
        scaled = cp.sum_squares(cp.multiply(units, x)) - cp.sum(x)
        found[f"scaled-{size}"] = cp.Problem(cp.Minimize(scaled), [x >= -1, units @ x <= 1e3])
        target = rng.normal(size=3 * size)
        track = cp.sum_squares(rng.normal(size=(3 * size, size)) @ x - target) + 1e-6 * cp.sum(x)
        held: Any = cp.sum(x) <= 1e-3
        found[f"tracking-{size}"] = cp.Problem(cp.Minimize(track), [x >= 0, held])
    return found


@wb.pictures.styled
def draw(arrays):
    solved, error = arrays["solved"], arrays["error"]
    seen = np.isfinite(error)
    off = seen & solved & (error > LIMIT)
    order = ranked(arrays)
    worst = error[seen & solved].max(initial=0.0)
    figure, axes = wb.pictures.canvas(
        1,
        1,
        (7.2, 0.34 * len(order) + 0.75),
        f"Of {int((seen & solved).sum())} answers called optimal, {int(off.sum())} are off by more than 10⁻⁶, "
        f"the worst by {worst:.2g}",
        f"{len(set(arrays['program'].tolist()))} convex quadratic programs, each solved at every backend's own default "
        "tolerance. A dot is one program: its objective's distance from the optimum that is proven in fractions, "
        "relative to max(1, |optimum|). Filled: the backend says solved. Diamonds, the worst named: it says so and is "
        "off by more than 10⁻⁶. Hollow: it says something else.",
    )
    panel = axes[0, 0]
    style = wb.pictures.STYLES[0]
    bad = wb.pictures.STYLES[3]
    panel.axvspan(LIMIT, 3 * MOST, color=wb.pictures.PALE, linewidth=0, zorder=0)
    for row, name in enumerate(order):
        own = (arrays["backend"] == name) & seen
        x = np.clip(error[own], LEAST, MOST)
        y = row + spread(x)
        said, wrong = solved[own], off[own]
        right = said & ~wrong
        panel.scatter(x[right], y[right], s=13, color=style.color, linewidth=0.4, edgecolor="white", zorder=3)
        panel.scatter(
            x[wrong], y[wrong], s=22, color=bad.color, marker=bad.marker, linewidth=0.6, edgecolor="black", zorder=4
        )
        panel.scatter(x[~said], y[~said], s=13, facecolor="white", edgecolor=style.color, linewidth=0.8, zorder=2)
        told = f"{int(said.sum())} of {int((arrays['backend'] == name).sum())} solved, {int(wrong.sum())} off"
        panel.annotate(told, (1.01, row), xycoords=("axes fraction", "data"), va="center", size=7.5)
        if wrong.any():
            at = int(np.argmax(np.where(wrong, error[own], -1.0)))
            worst_one = str(arrays["program"][own][at])
            wb.pictures.label(panel, float(x[at]), float(y[at]), worst_one, style, (0, 8), ha="center", size=6.5)
    panel.set(xscale="log", xlim=(LEAST / 3, 3 * MOST), ylim=(len(order) - 0.4, -0.6), yticks=range(len(order)))
    panel.set_yticklabels(order)
    panel.set_ylabel("backend")
    panel.set_xlabel("error of the objective, relative (10⁻¹⁶: that or less, 10: that or more)")
    ticks = 10.0 ** np.arange(-16, 2, 3)
    panel.set_xticks(ticks, [wb.pictures.power(each) for each in ticks])
    panel.minorticks_off()
    panel.grid(True, axis="x")
    return figure


def ranked(arrays):
    """The backends, fewest wrong answers among those called solved first, then by the median error."""
    wrong = arrays["solved"] & (arrays["error"] > LIMIT)
    names = sorted(set(arrays["backend"].tolist()))
    part = {name: arrays["backend"] == name for name in names}

    def key(name):
        errors = arrays["error"][part[name] & np.isfinite(arrays["error"])]
        return int(wrong[part[name]].sum()), float(np.median(errors)) if len(errors) else np.inf

    return sorted(names, key=key)


def spread(x):
    """Small shifts that keep dots of nearly one error apart: each decade's dots alternate about the line."""
    shifts, seen = np.zeros(len(x)), {}
    for k in np.argsort(x, kind="stable"):
        cell = round(float(np.log10(x[k])) * 2.5)
        number = seen[cell] = seen.get(cell, -1) + 1
        shifts[k] = 0.1 * ((number + 1) // 2) * (1 if number % 2 else -1)
    return np.clip(shifts, -0.4, 0.4)


NAMES = {"programs": sys.modules[__name__]}
