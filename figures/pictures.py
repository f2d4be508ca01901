"""Pictures made out: what is seen, what single pixels say, what a graph of neighbours makes of it before and after.

Rows are pictures held out, with two labels and with three. Unlearned: every label's own feature 1, every pair of
neighbours 1. Learned: the soft margin's optimum on as many other pictures.
"""

import sys

import numpy as np

import workbench as wb

SHOWN = ("seen", "pixels", "unlearned", "learned", "truth")
PANELS = ("seen", "pixel by pixel", "neighbours, unlearned", "neighbours, learned", "truth")


def measure(
    instances: int = 4, size: int = 32, lam: float = 10.0, gap: float = 1e-3, seed: int = 1
) -> dict[str, np.ndarray]:
    """One row per pixel of the pictures shown.

    labels : how many;  row, column : the place;  seen : what is seen there, of three labels Σ_a a x_a
    pixels, unlearned, learned, truth : labels
    error_labels, pixels_error, unlearned_error, learned_error (2,) : shares of wrong pixels in all pictures held out
    """
    parts = []
    errors = {"error_labels": [], "pixels_error": [], "unlearned_error": [], "learned_error": []}
    for labels, noise, count in ((2, 1.5, instances), (3, 0.9, max(instances // 2, 1))):
        side = size if labels == 2 else size // 2
        problem = wb.load_problem("grid")(n=2 * count, size=side, labels=labels, noise=noise, seed=seed)
        every = np.arange(2 * count)
        problem.weights = np.where(every < count, 1.0, 0.0)
        learned = wb.solve(wb.SoftMargin(lam=lam), problem, gap=gap, max_rounds=40).theta["w"]
        weights = plain(problem, 0.0), plain(problem, 1.0), learned
        found = [problem.argmax(w, every[count:], augment=False) for w in weights]
        truth = problem.truth[count:]
        errors["error_labels"].append(labels)
        for name, each in zip(("pixels", "unlearned", "learned"), found, strict=True):
            errors[f"{name}_error"].append(float((each != truth).mean()))
        places, mine = np.divmod(np.arange(side * side), side), problem.nodes[problem.offsets[count] :][: side * side]
        parts.append(
            (np.full(side * side, labels), *places, strength(mine.toarray(), labels), *(y[0] for y in found), truth[0])
        )
    names = ("labels", "row", "column", "seen", "pixels", "unlearned", "learned", "truth")
    arrays = {name: np.concatenate(part) for name, part in zip(names, zip(*parts, strict=True), strict=True)}
    return arrays | {name: np.array(each) for name, each in errors.items()}


def plain(problem, pairs):
    """Weights that read each label off its own feature, and `pairs` for every feature of an edge."""
    k, p = problem.n_classes, problem.n_inputs
    W = np.array([[-1.0, 0.0], [1.0, 0.0]]) if k == 2 else np.eye(k, p)
    return np.concatenate([W.ravel(), np.full(problem.n_pairs, pairs)])


def strength(x, labels):
    """One number per pixel to draw, (V,)."""
    return x[:, 0] if labels == 2 else x[:, :labels] @ np.arange(labels)


@wb.pictures.styled
def draw(arrays):
    kinds = arrays["error_labels"].tolist()
    before, after = arrays["unlearned_error"], arrays["learned_error"]
    figure, axes = wb.pictures.canvas(
        len(kinds),
        len(PANELS),
        (7.2, 3.9),
        f"Wrong pixels: {100 * before[0]:.1f} → {100 * after[0]:.1f} % with two labels, {100 * before[1]:.1f} → "
        f"{100 * after[1]:.1f} % with three, by learning",
        "Pictures held out. Above: shares of wrong pixels over all of them; shown is the first of each kind.",
    )
    for line, labels in zip(axes, kinds, strict=True):
        keys = ("row", "column", *SHOWN)
        mine = {key: arrays[key][arrays["labels"] == labels] for key in keys}
        side = int(max(mine["row"].max(), mine["column"].max())) + 1
        at = kinds.index(labels)
        for axis, panel, key in zip(line, PANELS, SHOWN, strict=True):
            picture = np.zeros((side, side))
            picture[mine["row"].astype(int), mine["column"].astype(int)] = mine[key]
            edge = ((-3, 3) if labels == 2 else (-1, 3)) if key == "seen" else (0, labels - 1)
            axis.pcolormesh(picture, cmap="gray_r", vmin=edge[0], vmax=edge[1], rasterized=True)
            axis.invert_yaxis()
            axis.set_aspect("equal")
            error = arrays.get(f"{key}_error")
            axis.set_title(panel if error is None else f"{panel}\n{100 * error[at]:.1f} % wrong", fontsize=7.0)
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_xlabel(f"{side} pixels", fontsize=6.5)
        line[0].set_ylabel(f"{labels} labels")
    return figure


NAMES = {"pictures": sys.modules[__name__]}
