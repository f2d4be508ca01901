"""How far alternations end from the proven optimum over all hidden states, and from learning at the planted ones.

Small planted motifs, so few windows that min F(w) = min over states h of min F(w; h) can be proven. CCCP and self-paced
learning by each criterion go from the same random weights; each end is compared with two numbers,

    optimum   F* = min F, by branch and bound over the states: with those of some samples S fixed,
              min over w of ½‖w‖² + Σ_{i∈S} c_i ξ_i(w; h_i) ≤ F for every way to go on, since no ξ_i is negative.
              Each such program is certified, and a branch is left where its proven lower bound reaches the best F
              seen but for a share of ACCURACY. So the F* reported is attained, and proven to that share
    planted   min F(w; h) at the true h, what somebody learns who is told where the motifs are
"""

import heapq
import itertools
import sys

import numpy as np

import workbench as wb

METHODS = ("CCCP", "slack", "uncertainty", "novelty")
ACCURACY = 1e-6


def measure(instances: int = 7, starts: int = 5, C: float = 10.0, span: int = 9) -> dict[str, np.ndarray]:
    """One row an instance: optimum, planted (instances,), and where each method ends, (instances, starts): F."""
    rows = []
    for seed in range(instances):
        problem = wb.load_problem("motif")(n=8, length=4, span=span, draw=seed)
        planted = wb.solve(wb.CompletedSSVM(C, problem.truth[:, 1]), problem).upper
        rows.append((least(problem, C), planted, *(ends(problem, method, C, starts) for method in METHODS)))
    return dict(zip(("optimum", "planted", *METHODS), map(np.array, zip(*rows, strict=True)), strict=True))


def least(problem, C):
    """F*, attained and proven to ACCURACY; a node fixes states of some samples, and with all fixed it has no branches:
    its program is certified to far less.
    """
    form, paced, n, number = wb.LatentSSVM(C), wb.SelfPacedLatent(C), problem.n_samples, itertools.count()
    best, nodes = np.inf, [(0.0, next(number), {i: problem.hidden(i)[0] for i in range(n) if problem.n_hidden[i] == 1})]
    while nodes and nodes[0][0] < (1 - ACCURACY) * best:
        _, _, fixed = heapq.heappop(nodes)
        states, kept = [fixed.get(i, problem.hidden(i)[0]) for i in range(n)], [i in fixed for i in range(n)]
        found = wb.solve(wb.CompletedSSVM(C, states, kept), problem)
        best = min(best, form.value(problem, found.theta_flat))
        if found.lower < (1 - ACCURACY) * best:
            slack = paced.difficulties(problem, found.theta_flat)[0]
            hardest = max(set(range(n)) - set(fixed), key=lambda i: slack[i])
            for h in problem.hidden(hardest):
                heapq.heappush(nodes, (found.lower, next(number), fixed | {hardest: h}))
    return best


def ends(problem, method, C, starts):
    """F (starts,) at the end of each start."""
    shares = {name: float(name == method) for name in METHODS[1:]}
    form = wb.SelfPacedLatent(C, **shares, starts=starts) if method in shares else wb.LatentSSVM(C, starts=starts)
    history = wb.solve(form, problem).history
    return np.array([[each["value"] for each in history if each["start"] == start][-1] for start in range(starts)])


@wb.pictures.styled
def draw(arrays):
    optimum, planted = arrays["optimum"], arrays["planted"]
    count, starts = arrays["CCCP"].shape
    hits = {name: arrays[name] <= (1 + ACCURACY) * optimum[:, None] for name in METHODS}
    single = [int(each.sum()) for each in hits.values()]
    figure, axes = wb.pictures.canvas(
        1,
        2,
        (7.2, 3.3),
        f"Of {count * starts} starts, {single[0]} reach the proven optimum over hidden states by CCCP, "
        f"{min(single[1:])} to {max(single[1:])} by self-paced learning",
        f"{count} planted motifs, {starts} starts each, the same for all. Left: where they end; a stem is an instance, "
        f"its large mark the best of {starts}; above, how many starts and how many instances reach the optimum. Right: "
        "the best ends again, beside the optimum at the planted positions, which is 1: fitting other positions pays.",
    )
    left, right = axes[0]
    order, places = np.argsort(planted / optimum, kind="stable"), np.arange(count)
    bars = (optimum / planted)[order]
    right.hlines(bars, places - 0.4, places + 0.4, color="#b4b4b4", linewidth=3, label="global optimum")
    for j, (name, style) in enumerate(zip(METHODS, wb.pictures.STYLES, strict=False)):
        stems(left, j, (arrays[name] / optimum[:, None])[order], style)
        told = f"{hits[name].sum()} of {count * starts}\n{hits[name].any(axis=1).sum()} of {count}"
        left.text(j, 1.02, told, transform=left.get_xaxis_transform(), ha="center", va="bottom", size=7)
        best = (arrays[name].min(axis=1) / planted)[order]
        right.scatter(places + 0.18 * (j - 1.5), best, label=name, **mark(style))
    left.set_xticks(range(len(METHODS)), METHODS)
    left.set(xlabel="CCCP, or self-paced by a criterion", ylabel="F over the global optimum")
    right.set_xticks(places, places + 1)
    right.set(xlabel="instance, in the order of the stems", ylabel="F over the optimum at planted positions")
    right.legend(loc="lower left")
    for axis in (left, right):
        axis.axhline(1.0, color=wb.pictures.SOFT, linewidth=0.8, zorder=1)
        ratios(axis)
    return figure


def stems(axis, place, ends, style):
    """The ends (instances, starts) side by side around a place; the best stand out."""
    x = place + np.linspace(-0.33, 0.33, len(ends))
    axis.vlines(x, ends.min(axis=1), ends.max(axis=1), color=style.color, linewidth=0.7, alpha=0.35)
    axis.scatter(np.repeat(x, ends.shape[1]), ends, s=6, linewidths=0, alpha=0.5, color=style.color)
    axis.scatter(x, ends.min(axis=1), **mark(style))


def mark(style):
    return {"s": 15, "marker": style.marker, "color": style.color, "linewidths": 0, "zorder": 3}


def ratios(axis):
    """A logarithmic axis of plain numbers."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axis.set_yscale("log")
    axis.yaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10]))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter("{x:g}")
    axis.grid(True, axis="y")


NAMES = {"hidden-states": sys.modules[__name__]}
