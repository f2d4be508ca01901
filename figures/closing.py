"""How the proven interval around a global optimum closes: equation (2) over hidden states, by branch and bound.

Promoters of E. coli, whose motif nobody has located; self-paced learning with the selection and all positions free.
After each number of splits the search is stopped, and what its tree proves by then is read off: no value is believed.
"""

import sys

import numpy as np

import workbench as wb

SEQUENCES = (6, 8, 10)


def measure(splits: int = 1024, starts: int = 10) -> dict[str, np.ndarray]:
    """One row per number of sequences and of splits 1, 2, 4, …, `splits`: the proven lower and upper end.

    alternation (sequences, starts) : F where alternation ends from random weights
    """
    rows, ends = [], []
    for n in SEQUENCES:
        problem, form = wb.load_problem("promoters")(n=n), wb.SelfPaced()
        for count in 2 ** np.arange(int(np.log2(splits)) + 1):
            found = wb.solve(form, problem, max_rounds=int(count), gap=1e-4)
            rows.append((n, int(count), found.lower, found.upper))
        draws = (np.random.default_rng([7, k]).normal(size=problem.n_features) for k in range(starts))
        ends.append([wb.alternation(form, problem, w)[1][-1] for w in draws])
    names = ("sequences", "splits", "lower", "upper")
    return dict(zip(names, np.array(rows).T, strict=True)) | {"alternation": np.array(ends)}


@wb.pictures.styled
def draw(arrays):
    chosen = np.unique(arrays["sequences"])
    parts = [arrays["sequences"] == n for n in chosen]
    last = [int(np.flatnonzero(part)[np.argmax(arrays["splits"][part])]) for part in parts]
    left = [100 * (1 - arrays["lower"][i] / arrays["upper"][i]) for i in last]
    told = ", ".join(f"{max(share, 0):.0f} % at {n:g}" for share, n in zip(left, chosen, strict=True))
    missed = [100 * (ends.min() / arrays["upper"][i] - 1) for i, ends in zip(last, arrays["alternation"], strict=True)]
    figure, axes = wb.pictures.canvas(
        1,
        len(chosen),
        (7.2, 2.9),
        f"{arrays['splits'].max():g} splits leave open {told} sequences; alternation ends {min(missed):.0f} to "
        f"{max(missed):.0f} % above the best F",
        "Promoters, selection and hidden positions both free (C = 10, K = 1). The band is the interval that the search "
        "tree proves for the global optimum; crosses are ends of alternations from random weights.",
    )
    for axis, n, part, ends in zip(axes[0], chosen, parts, arrays["alternation"], strict=True):
        splits, lower, upper = (arrays[name][part] for name in ("splits", "lower", "upper"))
        one, other = wb.pictures.STYLES[0], wb.pictures.STYLES[3]
        axis.fill_between(splits, lower, upper, color=one.color, alpha=0.18, linewidth=0, step="post")
        axis.step(splits, upper, where="post", color=one.color, linewidth=1.4, linestyle=one.dash, label="best F found")
        axis.step(
            splits, lower, where="post", color=one.color, linewidth=1.4, linestyle=":", label="proven lower bound"
        )
        places = splits.max() * 1.6 ** np.linspace(0.4, 1.6, len(ends))
        axis.scatter(places, ends, marker="x", s=16, linewidths=0.9, color=other.color, label="alternation")
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter("{x:g}")
        axis.set(title=f"{n:g} sequences", xlabel="splits", ylim=(0, None))
        axis.grid(True, axis="y")
    axes[0][0].set_ylabel("F")
    axes[0][0].legend(loc=(0.02, 0.3), frameon=False)
    return figure


NAMES = {"closing": sys.modules[__name__]}
