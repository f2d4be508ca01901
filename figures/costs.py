"""What learned costs look like: objective (10) on handwritten digits, one cost for each unordered pair of labels.

Heat map: v of every pair. Tree: labels whose confusion is cheap join low (average linkage at height v). Points:
the κ-difficulty of each pair against v, hollow where the training data hold no error of that pair, so that κ is its
labels' frequency and nothing else; and q/n, its errors by the dual weights as a share of those expected by
chance, against v: at the optimum every point lies on v = (1 − q/n)₊ (docs/mathematics.md §5).
"""

import sys

import numpy as np

import workbench as wb


def measure(n: int = 300, lam2: float = 40.0, gap: float = 1e-6) -> dict[str, np.ndarray]:
    """One row a pair: labels `first` and `second`, cost v, `share` q/n, `kappa` difficulty, training `errors`."""
    problem = wb.load_problem("digits")(n=n)
    form = wb.NormalizedCostLearning(lam2=lam2, counts="expected")
    best = wb.solve(form, problem, gap=gap)
    expected, m = form.expected(problem), len(best.theta["v"])
    proof, oracle = best.certificate, form.oracle(problem)
    slopes, _ = oracle.rows(proof.samples, proof.witnesses)
    mass = np.bincount(proof.samples, proof.weights, problem.n_samples)[proof.samples]
    q = (slopes.T @ (proof.weights / mass))[-m:] / oracle.K
    weights = best.theta_flat[: oracle.dim - m]
    _, told = wb.KappaDifficulty(lam2=lam2).step(problem, weights, np.ones(m), wb.solve)
    first, second = np.triu_indices(len(problem.classes), 1)
    labels = {"first": problem.classes[first], "second": problem.classes[second]}
    said = oracle.decode(best.theta_flat, np.arange(problem.n_samples))[:, 0]
    counts = np.zeros((len(problem.classes),) * 2, int)
    np.add.at(counts, (problem.labels, said), 1)
    errors = (counts + counts.T)[first, second]
    learned = {"v": best.theta["v"], "share": q / expected, "kappa": np.array(told["difficulty"])}
    return labels | learned | {"errors": errors}


@wb.pictures.styled
def draw(arrays):
    v, (cheapest, dearest) = arrays["v"], (arrays["v"].argmin(), arrays["v"].argmax())
    off = wb.pictures.power(max(np.abs(v - np.maximum(1 - arrays["share"], 0)).max(), 1e-16))
    pair = f"{arrays['first'][cheapest]} and {arrays['second'][cheapest]}"
    free = int((v <= 0).sum())
    title = f"Confusing {pair} costs least, {v[cheapest]:.2f}; every cost is (1 − its share of errors)₊, to {off}"
    note = (
        f"Objective (10) on digits, n expected by chance; costs reach {v[dearest]:.2f}, {free or 'none'} clipped "
        "to 0. Errors q are those of the dual. Hollow: pairs without a training error, whose κ tells the frequency of "
        "their labels only."
    )
    figure, axes = wb.pictures.canvas(2, 2, (6.4, 5.2), title, note)
    heat(axes[0, 0], arrays)
    tree(axes[0, 1], arrays)
    scattered(axes[1, 0], arrays)
    lined(axes[1, 1], arrays)
    return figure


def square(arrays):
    """The labels in order, and v as a symmetric matrix over them, NaN on the diagonal."""
    labels = np.unique(np.concatenate([arrays["first"], arrays["second"]]))
    table = np.full((len(labels), len(labels)), np.nan)
    a, b = (np.searchsorted(labels, arrays[name]) for name in ("first", "second"))
    table[a, b] = table[b, a] = arrays["v"]
    return labels, table


def heat(axes, arrays):
    labels, table = square(arrays)
    ticks = np.arange(len(labels))
    axes.pcolormesh(ticks, ticks, table, cmap="viridis", edgecolors="white", linewidth=0.6)
    axes.set(title="Cost of confusing two labels", xlabel="label", ylabel="label", aspect="equal")
    axes.set_xticks(ticks, labels)
    axes.set_yticks(ticks, labels)
    axes.invert_yaxis()
    middle = np.nanmean([np.nanmin(table), np.nanmax(table)])
    for (row, column), cost in np.ndenumerate(table):
        if row != column:
            tone = "white" if cost < middle else wb.pictures.INK
            axes.text(column, row, f"{cost:.2f}".lstrip("0"), color=tone, size=5.2, ha="center", va="center")


def tree(axes, arrays):
    from scipy.cluster.hierarchy import dendrogram, linkage

    labels, table = square(arrays)
    joined = linkage(np.nan_to_num(table[np.triu_indices(len(labels), 1)]), "average")
    ink = wb.pictures.STYLES[0].color
    dendrogram(joined, labels=labels.tolist(), ax=axes, link_color_func=lambda _: ink, leaf_font_size=7.5)
    axes.set(
        title="Labels joined by cheap confusion", xlabel="label", ylabel="mean v", ylim=(0, 1.05 * joined[:, 2].max())
    )


def scattered(axes, arrays):
    made, style = arrays["errors"] > 0, wb.pictures.STYLES[1]
    for which, face in ((~made, "white"), (made, style.color)):
        axes.plot(arrays["kappa"][which], arrays["v"][which], **style.line(linestyle="none", markerfacecolor=face))
    title = f"{int(made.sum())} of {len(made)} pairs have training errors"
    axes.set(title=title, xlabel="κ-difficulty of the pair", ylabel="v")


def lined(axes, arrays):
    along = np.linspace(0, 1.05 * arrays["share"].max(), 200)
    axes.plot(along, np.maximum(1 - along, 0), color=wb.pictures.SOFT, label="v = (1 − q/n)₊")
    axes.plot(arrays["share"], arrays["v"], **wb.pictures.STYLES[2].line(linestyle="none"))
    axes.set(title="Every point is on the line", xlabel="q/n, errors as a share of those expected", ylabel="v")
    axes.legend()


NAMES = {"costs": sys.modules[__name__]}
