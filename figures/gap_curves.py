"""How fast each method finds, and proves, the optimum of digits with soft margins.

    excess   (F(w) − L)/F*  with the best proven lower bound L ≤ F*: what w still misses, at most
    own gap  (F(w) − l)/F*  with the method's own lower bound l: what it can prove by itself

Cutting planes in three groupings (a round is one pass over the data) against subgradient and
block-coordinate Frank–Wolfe. Everything inside the proven interval looks alike: it is shaded.
"""

import sys

import numpy as np

import workbench as wb


def measure(
    n: int = 300, lam: float = 0.1, gap: float = 1e-9, passes: int = 2000, seed: int = 0
) -> dict[str, np.ndarray]:
    """One row per method and checkpoint: method, passes, seconds (compilation excluded), upper, lower."""
    problem, form = wb.load_problem("digits")(n=n), wb.SoftMargin(lam=lam)
    wb.solve(form, problem, max_rounds=1)  # imports and caches are nobody's method
    groupings = {"n-slack": "all", f"{max(1, n // 10)} groups": max(1, n // 10), "one-slack": "one"}
    columns = {name: [] for name in ("method", "passes", "seconds", "upper", "lower")}

    def put(method, *values):
        for name, value in zip(columns, [[method] * len(values[0]), *values], strict=True):
            columns[name].extend(value)

    for method, groups in groupings.items():
        solution = wb.solve(form, problem, gap=gap, groups=groups)
        end = {"round": solution.rounds + 1} | {key: getattr(solution, key) for key in ("seconds", "upper", "lower")}
        rounds = [*solution.history, end]  # the last oracle call closes the gap
        put(method, *([each[key] for each in rounds] for key in end))
    for solver in (wb.BCFW(), wb.Subgradient()):
        trace = wb.run(solver, form, problem, passes=passes, rng=seed)
        put(solver.name, trace.passes, trace.seconds, trace.upper, trace.lower)
    return {name: np.array(values) for name, values in columns.items()}


@wb.pictures.styled
def draw(arrays):
    method, upper, lower = arrays["method"], arrays["upper"], arrays["lower"]
    methods = list(dict.fromkeys(method.tolist()))
    best, floor = np.nanmax(lower), (upper.min() - np.nanmax(lower)) / abs(upper.min())
    missed = {"excess": (upper - best) / abs(upper.min()), "own gap": (upper - lower) / abs(upper.min())}
    ylabels = {"excess": "excess, at most: (F(w) − L) / F*", "own gap": "own gap: (F(w) − l) / F*"}
    last = {name: missed["excess"][method == name][-1] for name in methods}
    learners = " and ".join(f"{name} within {wb.pictures.power(last[name])}" for name in methods[3:])
    figure, axes = wb.pictures.canvas(
        2,
        2,
        (7.2, 5.2),
        f"Cutting planes close the gap to {wb.pictures.power(floor)}; "
        f"{arrays['passes'].max():.0f} passes bring {learners} of the optimum",
        "Digits, soft margin. Top: how far the weights are from the optimum F*, measured from the best proven lower "
        "bound L. Bottom: what each method proves with its own bound l; subgradient has none. "
        "Seconds: one run on one machine, compilation excluded.",
        sharex="col",
        sharey=True,
    )
    for row, (what, values) in enumerate(missed.items()):
        for column, clock in enumerate(("passes", "seconds")):
            panel = axes[row, column]
            panel.axhspan(floor / 30, floor, color=wb.pictures.PALE, linewidth=0)
            for name, style in zip(methods, wb.pictures.STYLES, strict=True):
                own = (method == name) & np.isfinite(values)
                marked = np.linspace(0, own.sum() - 1, 13).astype(int).tolist()
                panel.plot(arrays[clock][own], values[own], **style.line(markevery=marked))
            panel.set(xscale="log", yscale="log", ylim=(floor / 30, 3))
            wb.pictures.decades(panel.xaxis)
            wb.pictures.decades(panel.yaxis)
            panel.grid(True)
        axes[row, 0].set_ylabel(ylabels[what])
        name_lines(axes[row, 0], arrays, values, methods)
    axes[1, 0].set_xlabel("passes over the data (cutting planes: rounds)")
    axes[1, 1].set_xlabel("seconds")
    axes[0, 1].text(0.02, 0.02, "inside the proven interval", transform=axes[0, 1].transAxes, size=7, va="bottom")
    return figure


def name_lines(panel, arrays, values, methods):
    """Direct labels: beside the ends of the cutting planes' lines, above the slopes of the learners'."""
    for name, style in zip(methods, wb.pictures.STYLES, strict=True):
        own = np.flatnonzero((arrays["method"] == name) & np.isfinite(values))
        if len(own):
            rank = methods.index(name)
            at = own[-1] if rank < 3 else own[2 * len(own) // 3]
            shift, side = ((-6, 4), "right") if rank == 0 else ((6, 4), "left") if rank < 3 else ((1, 7), "left")
            wb.pictures.label(panel, arrays["passes"][at], values[at], name.replace(" ", "\n"), style, shift, ha=side)


NAMES = {"gap-curves": sys.modules[__name__]}
