"""What was learned about a planted motif, and which sequences are hard in which sense.

Logos: letters by their shares among the windows of positive sequences, the stack as high as what it tells, 2 − entropy
bits; where the learner puts the motif, and where it was planted. Points: slack against novelty of every sequence at the
weights after two rounds, when self-paced learning first chooses.
"""

import sys

import numpy as np

import workbench as wb

COLOURS = (
    wb.pictures.STYLES[2].color,
    wb.pictures.STYLES[0].color,
    wb.pictures.STYLES[4].color,
    wb.pictures.STYLES[1].color,
)
NAMED = 4


def measure(n: int = 60, C: float = 30.0, gap: float = 1e-4, draw: int = 0, starts: int = 8) -> dict[str, np.ndarray]:
    """learned, planted : (m, 4) shares of A, C, G, T;  slack ξ, novelty, positive : (n,)"""
    problem = wb.load_problem("motif")(n=n, draw=draw)
    best = wb.solve(wb.LatentSSVM(C, starts=starts), problem, gap=gap).theta["w"]
    early = wb.solve(wb.LatentSSVM(C, starts=1), problem, gap=gap, max_rounds=2).theta["w"]
    slack, _, novelty = wb.SelfPacedLatent(C).difficulties(problem, early)
    return {
        "learned": shares(problem, problem.impute(best)),
        "planted": shares(problem, problem.truth[:, 1]),
        "slack": slack * n / C,
        "novelty": novelty,
        "positive": problem.labels == 1,
    }


def shares(problem, positions):
    """(m, 4) of the letters in the windows of the positive sequences."""
    starts = (problem.offsets[:-1] + positions)[problem.labels == 1]
    windows = problem.letters[starts[:, None] + np.arange(problem.length)]
    return (windows[:, :, None] == np.arange(4)).mean(axis=0)


@wb.pictures.styled
def draw(arrays):
    agree = correlation(arrays["learned"], arrays["planted"])
    figure, axes = wb.pictures.canvas(
        1,
        3,
        (7.4, 2.7),
        f"Learned and planted shares of letters agree with correlation {agree:.2f}",
        "Left: the windows that the learner takes, and those that were planted. Right: slack and novelty of every "
        "sequence after two rounds, with their rank correlation; named are those furthest from the best parabola.",
    )
    for axis, key in zip(axes[0], ("learned", "planted"), strict=False):
        logo(axis, arrays[key])
        axis.set_title(key.capitalize())
    scattered(axes[0, 2], arrays)
    return figure


def correlation(one, other):
    """The best correlation over shifts of up to half the motif."""
    m, found = len(one), []
    for shift in range(-(m // 2), m // 2 + 1):
        a, b = one[max(shift, 0) : m + min(shift, 0)], other[max(-shift, 0) : m + min(-shift, 0)]
        if a.std() > 0 and b.std() > 0:
            found.append(np.corrcoef(a.ravel(), b.ravel())[0, 1] * len(a) / m)
    return max(found, default=0.0)


def logo(axis, table):
    from matplotlib.patches import PathPatch
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    for place, row in enumerate(table):
        known = row[row > 0]
        height, top = 2 + (known * np.log2(known)).sum(), 0.0
        for letter in np.argsort(row, kind="stable"):
            if row[letter] * height < 0.01:
                continue
            glyph = TextPath((0, 0), "ACGT"[letter], size=1)
            box = glyph.get_extents()
            fit = Affine2D().translate(-box.x0, -box.y0).scale(0.9 / box.width, row[letter] * height / box.height)
            moved = fit.translate(place + 0.55, top)
            axis.add_patch(PathPatch(moved.transform_path(glyph), facecolor=COLOURS[letter], linewidth=0))
            top += row[letter] * height
    axis.set(xlim=(0.4, len(table) + 0.6), ylim=(0, 2), xlabel="place in the window", ylabel="bits")
    axis.set_xticks(np.arange(1, len(table) + 1))


def scattered(axis, arrays):
    finite = np.isfinite(arrays["novelty"])
    x, y = arrays["slack"], np.where(finite, arrays["novelty"], 0.0)
    for side, style, name in ((True, wb.pictures.STYLES[0], "positive"), (False, wb.pictures.STYLES[3], "negative")):
        own = (arrays["positive"] == side) & finite
        axis.scatter(x[own], y[own], s=14, color=style.color, marker=style.marker, alpha=0.6, linewidths=0, label=name)
    square = x**2
    far = np.argsort(-np.abs(y - square * (square @ y / max(square @ square, 1e-300))), kind="stable")[:NAMED]
    for i in far:  # beside its point, on the side away from the others that are named
        left = any(abs(x[i] - x[j]) < 0.15 * np.ptp(x) and x[i] < x[j] for j in far)
        shift, side = ((-4, 2), "right") if left else ((4, 2), "left")
        axis.annotate(f"{i}", (x[i], y[i]), shift, textcoords="offset points", ha=side, size=7)
    ranks = [np.unique(each, return_inverse=True)[1] for each in (x, y)]
    alike = np.atleast_2d(np.corrcoef(ranks))[0, 1] if min(map(np.ptp, ranks)) > 0 else 0.0
    axis.set(title=f"Rank correlation {alike:.2f}", xlabel="slack ξ", ylabel="novelty ½‖δ‖²")
    axis.legend(loc="upper left")


NAMES = {"motif-logo": sys.modules[__name__]}
