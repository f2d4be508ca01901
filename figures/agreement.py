"""Which learner agrees with the proven optimum on which problem: the matrix of differences.

A cell holds log₁₀ of (F(θ) − L)/F*, how far a learner's answer may be from the optimum of the objective asked for,
measured from the proven lower bound L and recomputed from the weights alone; and the verdict. A learner that does
not fit, or minimises another objective by its own declaration, is not comparable: grey. The last column is a
planted mistake: the subgradient method with λ twice as large, its answers handed over as bare weights.
"""

import sys

import numpy as np

import workbench as wb

ROWS = (
    ("digits", "soft-margin", "digits, margins"),
    ("toy", "soft-margin", "toy, margins"),
    ("synthetic-chain", "soft-margin", "chains, margins"),
    ("digits", "crf", "digits, likelihood"),
    ("synthetic-chain", "crf", "chains, likelihood"),
)
OURS = ("subgradient", "bcfw", "dual-block", "adagrad", "crf-stochastic")
OTHERS = ("crf-lbfgs",)
PLANTED = "subgradient, λ twice"
MARKS = {"agrees": "✓", "not converged": "…", "disagrees": "✗", "failed": "!", "not comparable": ""}
GREY = "#d2d2d2"


def history(trace):
    """What a learner that says nothing about itself hands over."""
    return list(zip(trace.passes.tolist(), trace.thetas, strict=True))


def answer(learner, problem, form, passes):
    """Its trace or weights, or None where it does not fit."""
    if learner == PLANTED:
        other = type(form)(lam=2 * form.lam)
        solver = wb.registry("solver").get("subgradient")()
        return history(wb.run(solver, other, problem, passes=passes, rng=0))
    try:
        if learner in OURS:
            return wb.run(wb.registry("solver").get(learner)(), form, problem, passes=passes, rng=0)
        return wb.registry("learner").get(learner)(problem, form, passes, np.random.default_rng(0))
    except wb.MissingCapability:
        return None


def measure(n: int = 60, lam: float = 0.1, passes: int = 1000, gap: float = 1e-7) -> dict[str, np.ndarray]:
    """One row per cell: problem, learner, excess (NaN where not comparable), verdict, optimum of the problem."""
    cells = {name: [] for name in ("problem", "learner", "excess", "verdict", "optimum")}
    for name, kind, told in ROWS:
        problem, form = wb.load_problem(name)(n=n), wb.registry("formulation").get(kind)(lam=lam)
        best = wb.solve(form, problem, gap=gap)
        for learner in (*OURS, *OTHERS, PLANTED):
            found = answer(learner, problem, form, passes)
            judged = wb.crosscheck(found, best) if found is not None else None
            verdict = (judged.excess, judged.verdict) if judged else (np.nan, "not comparable")
            for column, value in zip(cells.values(), (told, learner, *verdict, best.upper), strict=True):
                column.append(value)
    return {name: np.array(values) for name, values in cells.items()}


@wb.pictures.styled
def draw(arrays):
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    problems, learners = (list(dict.fromkeys(arrays[key].tolist())) for key in ("problem", "learner"))
    verdict, excess = arrays["verdict"], arrays["excess"]
    count = {name: int((verdict == name).sum()) for name in MARKS}
    judged = len(verdict) - count["not comparable"]
    figure, axes = wb.pictures.canvas(
        1,
        1,
        (7.2, 0.42 * len(problems) + 1.0),
        f"{count['agrees']} of {judged} answers agree with the proven optimum, {count['disagrees']} disagree, "
        f"{count['not converged']} have not converged",
        "log₁₀ of the relative difference between a learner's objective and the proven optimum F*, and the verdict: "
        "✓ agrees, … not converged, ✗ disagrees. Grey: not comparable, the method does not fit. Last column: a mistake "
        "planted on purpose, λ twice as large.",
    )
    panel = axes[0, 0]
    panel.set_facecolor(GREY)
    shades = LinearSegmentedColormap.from_list("shades", ["#eef4f5", "#bcd3d8", "#4b8f9b", "#173d57"])
    scale = Normalize(-7, 0)
    table = np.full((len(problems), len(learners)), np.nan)
    for problem, learner, e, said in zip(arrays["problem"], arrays["learner"], excess, verdict, strict=True):
        i, j = problems.index(problem), learners.index(learner)
        if np.isfinite(e) and said != "not comparable":
            table[i, j] = np.log10(max(e, 1e-16))
            ink = "white" if scale(table[i, j]) > 0.55 else wb.pictures.INK
            panel.text(j, i - 0.14, f"{table[i, j]:.1f}".replace("-", "−"), ha="center", va="center", color=ink)
            panel.text(j, i + 0.23, MARKS[said], ha="center", va="center", color=ink, weight="bold", size=9)
    edges = (np.arange(len(learners) + 1) - 0.5, np.arange(len(problems) + 1) - 0.5)
    panel.pcolormesh(*edges, np.ma.masked_invalid(table), cmap=shades, norm=scale)
    for draw_line, at in ((panel.axvline, edges[0]), (panel.axhline, edges[1])):
        for each in at:
            draw_line(each, color="white", linewidth=2.5)
    panel.set(xlim=edges[0][[0, -1]], ylim=edges[1][[-1, 0]])
    panel.set_xticks(range(len(learners)), [name.replace(", ", ",\n") for name in learners])
    optima = dict(zip(arrays["problem"].tolist(), arrays["optimum"].tolist(), strict=True))
    labels = [f"{name}\nF* = {optima[name]:.4f}" for name in problems]
    panel.set_yticks(range(len(problems)), labels)
    panel.set(xlabel="learner", ylabel="problem and objective")
    panel.xaxis.tick_top()
    panel.tick_params(length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)
    return figure


NAMES = {"agreement": sys.modules[__name__]}
