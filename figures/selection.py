"""How far self-paced alternation ends from the proven optimum of its own objective.

Two clouds in the plane, some labels flipped; ½‖w‖² + Σ min((C/n) ξ_i, 1/K). Alternation starts from the soft margin
on all samples, as the source's Algorithm 1 does, and the search proves the optimum. The harder it is to be
let in (small 1/K), the more ends there are to get stuck in.
"""

import sys

import numpy as np

import workbench as wb

CHARGES = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


def measure(n: int = 24, draws: int = 6, C: float = 10.0, flipped: float = 0.25) -> dict[str, np.ndarray]:
    """One row per charge and draw of the data.

    charge : 1/K in units of C/n;  excess : F where alternation ends over the proven optimum, minus 1
    kept, kept_alternating : the share of samples that the optimum and the alternation keep
    """
    rows = []
    for charge in CHARGES:
        for seed in range(draws):
            problem = clouds(n, flipped, seed)
            form = wb.SelfPaced(C=C, K=n / (charge * C))
            best = wb.solve(form, problem)
            start = wb.solve(wb.SoftMargin(lam=1 / C), problem).theta["w"]
            w, history = wb.alternation(form, problem, start)
            shares = [kept(problem, each, charge) for each in (best.theta["w"], w)]
            rows.append((charge, max(history[-1] / best.upper - 1, 0.0), *shares))
    return dict(zip(("charge", "excess", "kept", "kept_alternating"), np.array(rows).T, strict=True))


def clouds(n, flipped, seed):
    """Two clouds at ±1 with a constant feature; each label flipped with some probability."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    points = np.column_stack([2.0 * y - 1, np.zeros(n)]) + 0.8 * rng.normal(size=(n, 2))
    return wb.Multiclass(np.column_stack([points, np.ones(n)]), y ^ (rng.random(n) < flipped), classes=[0, 1])


def kept(problem, w, charge):
    """The share of samples whose hinge is below the charge."""
    scores = problem.X @ w.reshape(2, -1).T
    own, other = (scores[np.arange(len(scores)), side] for side in (problem.labels, 1 - problem.labels))
    return float((np.maximum(1 + other - own, 0) < charge).mean())


@wb.pictures.styled
def draw(arrays):
    charges = np.unique(arrays["charge"])
    own = [arrays["charge"] == charge for charge in charges]
    worse = int((arrays["excess"] > 1e-6).sum())
    figure, axes = wb.pictures.canvas(
        1,
        2,
        (7.2, 3.0),
        f"Alternation misses the proven optimum in {worse} of {len(arrays['excess'])} runs, "
        f"by up to {100 * arrays['excess'].max():.0f} %",
        "Self-paced selection, two clouds with flipped labels; a dot is one draw of the data, lines join the means. "
        "Left: how far above the optimum alternation from the soft margin ends. Right: the share of samples kept.",
    )
    left, right = axes[0]
    places = np.searchsorted(charges, arrays["charge"])
    shift = np.zeros(len(places))
    for part in own:
        shift[part] = np.linspace(-0.2, 0.2, part.sum())
    series = (
        (left, "excess", wb.pictures.STYLES[3], 0.0, "alternation"),
        (right, "kept", wb.pictures.STYLES[0], -0.12, "proven optimum"),
        (right, "kept_alternating", wb.pictures.STYLES[3], 0.12, "alternation"),
    )
    for axis, key, style, aside, name in series:
        means = [100 * arrays[key][part].mean() for part in own]
        spread = shift if axis is left else shift / 2
        look = {"color": style.color, "marker": style.marker}
        axis.scatter(places + spread + aside, 100 * arrays[key], s=9, alpha=0.45, linewidths=0, **look)
        axis.plot(np.arange(len(charges)) + aside, means, linestyle=style.dash, linewidth=1.4, label=name, **look)
    for axis in (left, right):
        axis.set_xticks(np.arange(len(charges)), [f"{charge:g}" for charge in charges])
        axis.set_xlabel("charge 1/K for leaving a sample out, in units of C/n")
        axis.grid(True, axis="y")
    left.set(ylabel="% above the optimum", ylim=(-0.04 * left.get_ylim()[1], None))
    right.set(ylabel="% of samples kept", ylim=(0, 103))
    right.legend(loc="lower right", frameon=False)
    return figure


NAMES = {"selection": sys.modules[__name__]}
