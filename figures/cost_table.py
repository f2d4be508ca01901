"""The cost table as a picture: what learned costs change in accuracy, and how far apart they are.

Digits, ten labels; every row is a certified optimum. Rows are the plain SVM, objective (1), objective (10) with each
n_S, for unordered pairs of labels, and (10) with costs that depend on the input: by the largest pixel, the smallest,
how many are not white, and the largest pixel with the true label (`cutbench bench cost-table` has rows for other data).
"""

import sys

import numpy as np

import workbench as wb

COUNTS = ("none", "total", "logical", "expected")
INPUTS = ("input", "input-smallest", "input-count", "input-true")
Costing = wb.FixedCostLearning | wb.SimplexCostLearning | wb.NormalizedCostLearning
NAMES_OF = {"none": "n_S = 1", "total": "n_S = N"}


def forms(lam2: float) -> dict[str, Costing]:
    """The rows' formulations by their names."""
    found: dict[str, Costing] = {
        "SVM": wb.FixedCostLearning(lam2=lam2),
        "(1), pairs": wb.SimplexCostLearning(lam2, 0.0, 45.0),
    }
    for counts in COUNTS:
        found[f"(10), pairs, {NAMES_OF.get(counts, counts)}"] = wb.NormalizedCostLearning(lam2, counts=counts)
    for factoring in INPUTS:
        found[f"(10), {factoring}"] = wb.NormalizedCostLearning(lam2, factoring=factoring)
    return found


def measure(n: int = 300, lam2: float = 0.1, accuracy: float = 1e-3) -> dict[str, np.ndarray]:
    """method, right, total (on the test set); least, low, median, high, greatest: the 0, 10, 50, 90, 100 % quantiles
    of the costs Kv above 0; gap, the largest.
    """
    whole = wb.load_problem("digits")(n=1797)
    problem, test = (
        wb.Multiclass(whole.X[part], whole.labels[part], classes=np.arange(10))
        for part in (slice(n), slice(1000, None))
    )
    rows, costs = [], []
    for name, form in forms(lam2).items():
        found = wb.solve(form, problem, gap=accuracy)
        v = form.K * np.atleast_1d(found.theta.get("v", 1.0))
        told = problem.predict(found.theta["w"], test.X, found.theta["b"])
        rows.append((name, (told == test.labels).sum(), test.n_samples, found.gap))
        costs.append(np.quantile(v[v > 0] if (v > 0).any() else v, (0, 0.1, 0.5, 0.9, 1)))
    names, right, total, gaps = zip(*rows, strict=True)
    quantiles = dict(zip(("least", "low", "median", "high", "greatest"), np.array(costs).T, strict=True))
    return (
        {
            "method": np.array(names),
            "right": np.array(right),
            "total": np.array(total),
        }
        | quantiles
        | {"gap": np.array([max(gaps)])}
    )


@wb.pictures.styled
def draw(arrays):
    from scipy import stats

    share = arrays["right"] / arrays["total"]
    ends = np.array(
        [
            stats.binomtest(int(right), int(total)).proportion_ci(0.95)
            for right, total in zip(arrays["right"], arrays["total"], strict=True)
        ]
    )
    outside = int(((share < ends[0, 0]) | (share > ends[0, 1])).sum())
    figure, axes = wb.pictures.canvas(
        1,
        2,
        (7.2, 3.4),
        f"Learned costs: {outside} of {len(share) - 1} accuracies leave the SVM's interval",
        f"Digits, {arrays['total'][0]} to test on, every row proven to {arrays['gap'].max():.0e} or better. Left: "
        "accuracy with exact 95 % intervals. Right: costs that are not 0, from least to greatest; thick: the middle "
        "80 %, dots: medians.",
    )
    place, one = -np.arange(len(share)), wb.pictures.STYLES[0]
    axes[0, 0].axvspan(*(100 * ends[0]), color=wb.pictures.SOFT, alpha=0.15, linewidth=0)
    axes[0, 0].hlines(place, 100 * ends[:, 0], 100 * ends[:, 1], color=one.color, linewidth=1.2)
    axes[0, 0].plot(100 * share, place, linestyle="", marker="o", markersize=4, color=one.color)
    axes[0, 1].hlines(place, arrays["least"], arrays["greatest"], color=one.color, linewidth=1)
    axes[0, 1].hlines(place, arrays["low"], arrays["high"], color=one.color, linewidth=3)
    axes[0, 1].plot(arrays["median"], place, linestyle="", marker="o", markersize=4, color=wb.pictures.STYLES[3].color)
    axes[0, 0].set_yticks(place, arrays["method"])
    axes[0, 0].set_ylabel("objective and classes of errors")
    axes[0, 1].set_yticks(place, [""] * len(place))
    for axis, words in zip(axes[0], ("accuracy in per cent", "learned cost Kv"), strict=True):
        axis.set_xlabel(words)
        axis.grid(True, axis="x")
    axes[0, 1].set_xlim(0, None)
    return figure


NAMES = {"cost-table": sys.modules[__name__]}
