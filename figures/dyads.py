"""Dyads learned by importance-aware updates: over steps of four orders of magnitude, and from chosen labels.

Left, 0/1 test error of the model with one latent dimension against the step η, simulated raters and tasks in four
classes. Right, error against the number of labels asked for: where the least importance that would turn the
prediction (h_min) is smallest, or at random; pairs in two classes with one hidden side.
"""

import sys

import numpy as np

import workbench as wb

LOSSES = ("hinge", "squared", "logistic")
PLACES = {
    "hinge": (1, (8, -8)),
    "squared": (1, (-30, -14)),
    "logistic": (2, (8, 2)),
    "h_min": (2, (-20, -20)),
}  # of labels
PLACES["random"] = 3, (2, 8)


def divided(pairs, share):
    train, test = wb.dyads.split(pairs.n_samples, share, 0)
    return pairs.take(train), pairs.take(test)


def measure(n: int = 2000, passes: int = 12, rounds: int = 10) -> dict[str, np.ndarray]:
    """One row per point: panel, line (loss or rule), x (step or number of labels), error, constant (the best one's)."""
    columns = {name: [] for name in ("panel", "line", "x", "error", "constant")}

    def put(*row):
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)

    train, test = divided(wb.dyads.simulated(n, raters=max(n // 30, 6)), 1 / 8)
    constant = test.error(np.full(test.n_samples, np.bincount(train.labels).argmax()))
    for loss in LOSSES:
        for step in 10.0 ** np.arange(-3, 1.1, 0.5):
            learner = wb.Dyadic(1, loss, step=float(step)).fit(train, passes)
            put("steps", loss, float(step), test.error(learner.predict(test)), constant)
    train, test = divided(wb.dyads.simulated(max(n // 7, 6), min(40, n), 60, classes=2), 1 / 4)
    constant = test.error(np.full(test.n_samples, np.bincount(train.labels).argmax()))
    size = train.n_samples // (3 * rounds)
    for rule in ("h_min", "random"):
        order = np.random.default_rng(1).permutation(train.n_samples)
        known, pool = order[:size], order[size:]
        for _ in range(rounds):
            learner = wb.Dyadic(1, step=0.2).fit(train.take(known), passes)
            put("labels", rule, float(len(known)), test.error(learner.predict(test)), constant)
            if rule == "h_min":
                pool = pool[np.argsort(learner.least_importances(train.take(pool)), kind="stable")]
            known, pool = np.concatenate([known, pool[:size]]), pool[size:]
    return {name: np.array(values) for name, values in columns.items()}


@wb.pictures.styled
def draw(arrays):
    def part(panel, line):
        own = (arrays["panel"] == panel) & (arrays["line"] == line)
        return arrays["x"][own], arrays["error"][own]

    below = [(part("steps", loss)[1] < arrays["constant"][0] - 0.1).mean() for loss in LOSSES]
    middle = len(part("labels", "random")[0]) // 2
    chosen, random = (part("labels", rule)[1][middle] for rule in ("h_min", "random"))
    figure, axes = wb.pictures.canvas(
        1,
        2,
        (7.2, 3.1),
        f"Steps over four orders of magnitude break no loss; {part('labels', 'random')[0][middle]:.0f} chosen labels "
        f"leave {chosen:.1%} wrong, as many random ones {random:.1%}",
        "Left: four classes, scoring filter tree, one latent dimension; per loss, at least "
        f"{min(below):.0%} of the steps are 0.1 below the best constant (dotted). "
        "Right: two classes, labels asked where h_min is least, or at random.",
    )
    for panel, name, lines in zip(axes[0], ("steps", "labels"), (LOSSES, ("h_min", "random")), strict=True):
        for line, style in zip(lines, wb.pictures.STYLES, strict=False):
            x, error = part(name, line)
            panel.plot(x, error, **style.line())
            at, shift = PLACES[line]
            wb.pictures.label(panel, x[at], error[at], line, style, shift, ha="left")
        panel.axhline(arrays["constant"][arrays["panel"] == name][0], linestyle=":", linewidth=0.9, color="#444444")
        panel.set_ylim(0)
        panel.grid(True)
    axes[0, 0].set(xscale="log", xlabel="step η", ylabel="0/1 test error")
    axes[0, 1].set(xlabel="labels asked for")
    return figure


NAMES = {"dyads": sys.modules[__name__]}
