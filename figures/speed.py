"""How long each method takes to a certified gap: methods of ours and of other people, side by side.

    gap   (F(w) − L)/F*: the objective recomputed from the weights that the method shows, less the best lower bound
          proven beforehand
    CPU   seconds of the process, compilation excluded; our grading is on nobody's clock

The races and how each method is timed: `wb.race`, `wb.RACES`. Learners that cannot show weights on the way are
fitted from scratch with growing budgets, `solve` and one-slack to growing precision. Data that are not at hand are
replaced by generated ones.
"""

import sys

import numpy as np

import workbench as wb

PANELS = ("few-digits", "digits", "text", "words", "bitext", "word-crf")
STYLE, PICTURES = wb.pictures.STYLES, wb.pictures
LOOKS = {  # method: (name in the legend, style)
    "dual-block": ("dual-block", STYLE[0]),
    "bcfw": ("BCFW", STYLE[1]),
    "one-slack": ("one-slack", STYLE[2]),
    "solve": ("solve", PICTURES.Style(PICTURES.SOFT, (0, (1, 2)), "x")),
    "crf-lbfgs": ("L-BFGS", STYLE[1]),
    "crf-stochastic": ("SAGA", STYLE[2]),
    "dlib": ("dlib", STYLE[3]),
    "sklearn-crammer-singer": ("liblinear", STYLE[4]),
    "liblinear-crammer-singer": ("liblinear's own package", PICTURES.Style(PICTURES.SOFT, (0, (3, 1, 1, 1)), "v")),
    "structsvm": ("structsvm", PICTURES.Style(PICTURES.SOFT, (0, (4, 2)), "P")),
    "python-crfsuite-full": ("CRFsuite", STYLE[4]),
    "cvxpy": ("CVXPY, written out", PICTURES.Style(PICTURES.INK, "none", "*")),
}


def measure(n: int = 0, gap: float = 1e-4, patience: float = 0.02) -> dict[str, np.ndarray]:
    """One row per race, method and showing: race, method, seconds, gap; n samples, 0 for each race's own number.

    patience : CPU seconds that a method may take for each sample. The lower bound is proven to a tenth of `gap`,
    so what is nearer to it counts as a tenth.
    """
    rows = []
    for name in PANELS:
        case = wb.RACES[name]
        _, form, problem = case.built(n or None)
        for method, track in wb.race(form, problem, case.methods, gap, patience * problem.n_samples).items():
            rows += [(name, method, spent, max(missed, gap / 10)) for spent, missed in track.laps]
    race, method, spent, missed = zip(*rows, strict=True)
    return {"race": np.array(race), "method": np.array(method), "seconds": np.array(spent), "gap": np.array(missed)}


@wb.pictures.styled
def draw(arrays):
    race, method, seconds, gap = (arrays[name] for name in ("race", "method", "seconds", "gap"))
    figure, axes = wb.pictures.canvas(
        2,
        3,
        (7.2, 5.0),
        headline(arrays),
        "Gap: the objective of the weights that a method shows, less the best proven lower bound, relative. CPU: one "
        "run on one machine, compilation excluded. Crosses: solve, which certifies by itself, from scratch to each "
        "decade.",
        sharey=True,
    )
    held = {}
    for panel, name in zip(axes.flat, PANELS, strict=True):
        for each in dict.fromkeys(method[race == name].tolist()):
            own = (race == name) & (method == each)
            label, style = LOOKS[each]
            marked = np.unique(np.linspace(0, own.sum() - 1, 7).astype(int)).tolist()
            (line,) = panel.plot(seconds[own], gap[own], **style.line(markevery=marked, label=label))
            if wb.RACES[name].formulation == "crf":
                panel.legend()  # another field, hence another legend
            else:
                held.setdefault(label, line)
        panel.set(xscale="log", yscale="log", ylim=(gap.min() / 2, 3 * gap.max()))
        panel.set_title(told(name))
        wb.pictures.decades(panel.xaxis, 6)
        wb.pictures.decades(panel.yaxis)
        panel.grid(True)
    for panel in axes[:, 0]:
        panel.set_ylabel("gap")
    for panel in axes[1]:
        panel.set_xlabel("CPU seconds")
    figure.legend(held.values(), held.keys(), loc="outside lower center", ncols=5)
    return figure


def told(name):
    """A race in words."""
    case = wb.RACES[name]
    kind = {"crf": "likelihood"}.get(case.formulation, "hinge")
    return f"{name.removeprefix('few-').replace('-crf', 's')}, {kind}, λ = {case.lam or '1/n'}"


def headline(arrays, level=1e-2):
    """How dual-block compares with each of the others, where both come to the level."""

    def first(name, method):
        own = (arrays["race"] == name) & (arrays["method"] == method) & (arrays["gap"] <= level)
        return arrays["seconds"][own].min(initial=np.inf)

    ratios = {}
    for other in ("dlib", "one-slack", "bcfw"):
        pairs = np.array([(first(name, other), first(name, "dual-block")) for name in PANELS])
        pairs = pairs[np.isfinite(pairs).all(axis=1)]
        if len(pairs):
            low, high = (pairs[:, 0] / pairs[:, 1]).min(), (pairs[:, 0] / pairs[:, 1]).max()
            ratios[other] = f"{LOOKS[other][0]} {low:.2g} to {high:.2g}"
    if not ratios:
        return f"Nobody comes to a gap of {wb.pictures.power(level)} in the time given"
    return f"CPU to a gap of {wb.pictures.power(level)}, in multiples of dual-block's: {', '.join(ratios.values())}"


NAMES = {"speed": sys.modules[__name__]}
