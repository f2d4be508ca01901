"""How fast methods converge, against what theory promises.

Left: methods that promise 1/t on soft margins, the excess (F(w) − L)/F* over passes on two logarithmic axes, where
a power t^−p is a straight line of slope −p; dotted, the method's published bound on E F(w) − F*, and thin, slopes
−½ and −1. Right: methods that promise a factor a pass, on one logarithmic axis, where c·q^t is a straight line. Rates
are fitted to the last two thirds of what lies above the resolution, the proven gap of the reference.
"""

import sys

import numpy as np

import workbench as wb

POWERS = (("subgradient", "subgradient"), ("BCFW", "bcfw"), ("AdaGrad", "adagrad"))
FACTORS = (("dual-block, margins", "dual-block", "soft-margin"), ("SAGA, likelihood", "crf-stochastic", "crf"))


def measure(n: int = 200, lam: float = 0.1, passes: int = 1000, gap: float = 1e-9) -> dict[str, np.ndarray]:
    """One row per method and checkpoint: panel, method, passes, excess and bound (relative to F*), resolution."""
    problem = wb.load_problem("digits")(n=n)
    columns = {name: [] for name in ("panel", "method", "passes", "excess", "bound", "resolution")}
    best = {}
    for name in ("soft-margin", "crf"):
        best[name] = wb.solve(wb.registry("formulation").get(name)(lam=lam), problem, gap=gap)
    runs = [("powers", *each, "soft-margin", passes) for each in POWERS]
    runs += [("factors", *each, max(passes // 10, 10)) for each in FACTORS]
    for panel, told, solver, name, budget in runs:
        reference, checkpoints = best[name], None
        if panel == "factors":
            checkpoints = list(range(1, budget + 1, max(1, budget // 50)))
        method = wb.registry("solver").get(solver)()
        trace = wb.run(method, reference.formulation, problem, passes=budget, rng=0, checkpoints=checkpoints)
        for at, upper, bound in zip(trace.passes, trace.upper, trace.bound, strict=True):
            values = (upper - reference.lower) / reference.upper, bound / reference.upper, reference.gap
            for column, value in zip(columns.values(), (panel, told, float(at), *values), strict=True):
                column.append(value)
    return {name: np.array(values) for name, values in columns.items()}


def rate(x, excess, resolution):
    """Least-squares slope of log e over x, where e is well above what can be resolved; NaN without three points."""
    clear = np.flatnonzero(excess > 3 * resolution)
    clear = clear[len(clear) // 3 :]
    return np.polyfit(x[clear], np.log(excess[clear]), 1)[0] if len(clear) > 2 else np.nan


@wb.pictures.styled
def draw(arrays):
    methods = {
        name: list(dict.fromkeys(arrays["method"][arrays["panel"] == name].tolist())) for name in ("powers", "factors")
    }
    parts = {
        name: {key: arrays[key][arrays["method"] == name] for key in arrays}
        for each in methods.values()
        for name in each
    }

    def fitted(name, transform):
        part = parts[name]
        return rate(transform(part["passes"]), part["excess"], part["resolution"])

    slopes = {name: fitted(name, np.log) for name in methods["powers"]}
    factors = {name: np.exp(fitted(name, np.asarray)) for name in methods["factors"]}
    told = ", ".join(f"{name} {slope:.2f}".replace("-", "−") for name, slope in slopes.items())
    left_over = ", ".join(f"{name.split(',')[0]} {q:.0%}" for name, q in factors.items())
    figure, axes = wb.pictures.canvas(
        1,
        2,
        (7.2, 3.3),
        f"Slopes, in theory −1: {told}; a pass leaves so much of the excess: {left_over}",
        "Digits. Left: powers of t are straight on two logarithmic axes; thin: slopes −½ and −1; dotted: published "
        "bounds on the expectation, where there are any. Right: geometric rates are straight on one. Lines end where "
        "the excess falls below the proven gap of their reference (shaded, a band for each objective).",
    )
    left, right = axes[0]
    bottom = float(arrays["resolution"].min()) / 10
    for panel, name in ((left, "powers"), (right, "factors")):
        styles = wb.pictures.STYLES if name == "powers" else wb.pictures.STYLES[3:]
        for method, style in zip(methods[name], styles, strict=False):
            part = {
                key: value[parts[method]["excess"] > parts[method]["resolution"]]
                for key, value in parts[method].items()
            }
            marked = np.linspace(0, max(len(part["passes"]) - 1, 0), 9).astype(int).tolist()
            panel.plot(part["passes"], part["excess"], label=method, **style.line(markevery=marked))
            if np.isfinite(part["bound"]).any():
                panel.plot(part["passes"], part["bound"], color=style.color, linestyle=":", linewidth=1.1)
        panel.set_yscale("log")
        panel.set_xlabel("passes t")
        panel.grid(True)
        panel.legend(loc="lower left" if panel is left else "upper right")
        wb.pictures.decades(panel.yaxis)
    left.set_xscale("log")
    wb.pictures.decades(left.xaxis)
    guides(left, arrays)
    for method in methods["factors"]:
        part = parts[method]
        right.fill_between(part["passes"], bottom, part["resolution"], color=wb.pictures.PALE, linewidth=0, zorder=0)
    right.set_ylim(bottom)
    left.set_ylabel("excess, at most: (F(w) − L) / F*")
    return figure


def guides(panel, arrays):
    """Thin lines of slopes −½ and −1 through the highest excess."""
    own = arrays["panel"] == "powers"
    passes, top = np.unique(arrays["passes"][own]), arrays["excess"][own].max()
    for slope, text in ((-0.5, "−½"), (-1.0, "−1")):
        line = top * (passes / passes[0]) ** slope
        panel.plot(passes, line, color=wb.pictures.SOFT, linewidth=0.7, zorder=1)
        panel.annotate(text, (passes[-1], line[-1]), (3, 0), textcoords="offset points", size=7, va="center")


NAMES = {"rates": sys.modules[__name__]}
