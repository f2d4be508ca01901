"""What regularisation does to margins, and who holds them, in the plane.

A class owns the region where its score ⟨W_y, x⟩ is highest; beyond the dashed line it wins by at
least 1, the margin that a sample with 0/1 loss asks for. A sample whose cuts have weight μ in the
certificate (a support vector) pulls at the weights: w = −(1/λ) Σ μ_k a_k. It is drawn with an area
proportional to its share of the greatest possible weight, the others as dots.
"""

import sys

import numpy as np

import workbench as wb

MARKS = "os^Dv"


def measure(n: int = 60, strong: float = 1.0, weak: float = 0.005, rng: int = 1) -> dict[str, np.ndarray]:
    """Samples (panel, x, label, pull, missed) and planes (plane_panel, plane): W rows, three to a panel.

    pull : share in [0, 1] of the largest weight a sample can have;  missed : whether it is misclassified
    """
    overlapping = wb.load_problem("toy")(n=n, rng=rng)
    separable = wb.load_problem("toy")(n=n, rng=rng, separable=True)
    cases = {
        f"λ = {strong:g}": (wb.SoftMargin(lam=strong), overlapping),
        f"λ = {weak:g}": (wb.SoftMargin(lam=weak), overlapping),
        "hard margin": (wb.HardMargin(), separable),
    }
    samples = {name: [] for name in ("panel", "x", "label", "pull", "missed")}
    planes = {name: [] for name in ("plane_panel", "plane")}
    for name, (form, problem) in cases.items():
        solution = wb.solve(form, problem)
        proof, W = solution.certificate, solution.theta["w"].reshape(-1, problem.n_inputs)
        active = proof.witnesses[:, 0] != problem.labels[proof.samples]
        pull = np.bincount(proof.samples[active], proof.weights[active], problem.n_samples)
        X = problem.X.toarray()
        parts = ([name] * n, X[:, :2], problem.labels, pull / max(pull.max(), 1e-300))
        parts += ((X @ W.T).argmax(axis=1) != problem.labels,)
        for column, values in zip(samples.values(), parts, strict=True):
            column.append(values)
        planes["plane_panel"].append([name] * len(W))
        planes["plane"].append(W)
    return {name: np.concatenate(values) for name, values in (samples | planes).items()}


@wb.pictures.styled
def draw(arrays):
    panels = list(dict.fromkeys(arrays["panel"].tolist()))
    holders = [int((arrays["pull"][arrays["panel"] == name] > 1e-6).sum()) for name in panels]
    figure, axes = wb.pictures.canvas(
        1,
        len(panels),
        (7.2, 2.62),
        f"The weaker the regularisation, the narrower the margins and the fewer the samples that hold them: "
        f"{holders[0]}, then {holders[1]}; separable classes with hard margins need {holders[2]}",
        "Left and middle: soft margins on overlapping classes. Each shade is the region of a class; dashed: from here "
        "on it wins by 1 or more. Large marks are support vectors, the samples whose cuts have weight in the "
        "certificate (area: dual weight); crossed: misclassified.",
        sharex=True,
        sharey=True,
    )
    low, high = arrays["x"].min(axis=0) - 0.25, arrays["x"].max(axis=0) + 0.25
    out = high - low  # polygons reach beyond the picture, so that only true boundaries are drawn
    frame = np.array([low - out, [high[0] + out[0], low[1] - out[1]], high + out, [low[0] - out[0], high[1] + out[1]]])
    for axis, name, count in zip(axes[0], panels, holders, strict=True):
        regions(axis, arrays["plane"][arrays["plane_panel"] == name], frame)
        scatter(axis, {key: arrays[key][arrays["panel"] == name] for key in ("x", "label", "pull", "missed")})
        axis.set_title(f"{name}: {count} support vectors")
        axis.set(xlabel="x₁", aspect="equal", xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes[0, 0].set_ylabel("x₂")
    return figure


def regions(axis, W, frame):
    """The polygon of each class, and within it the polygon where it wins by 1."""
    for label, own in enumerate(W):
        rivals = np.delete(W, label, axis=0)
        for margin in (0.0, 1.0):
            polygon = frame
            for rival in rivals:
                polygon = clipped(polygon, own - rival, margin)
            if not len(polygon):
                continue
            if margin:
                axis.fill(*polygon.T, facecolor="none", edgecolor=wb.pictures.INK, linestyle=(0, (4, 2)), linewidth=0.8)
            else:
                shade = ("#f6f6f6", "#d5d5d5", "#e7e7e7")[label % 3]
                axis.fill(*polygon.T, facecolor=shade, edgecolor=wb.pictures.INK, linewidth=1.1)


def clipped(polygon, plane, margin):
    """The part of a convex polygon (m, 2) where ⟨plane, (x, 1)⟩ ≥ margin."""
    height = polygon @ plane[:2] + plane[2] - margin
    corners = []
    for j, (point, here) in enumerate(zip(polygon, height, strict=True)):
        before, there = polygon[j - 1], height[j - 1]
        if (here >= 0) != (there >= 0):
            corners.append(before + there / (there - here) * (point - before))
        if here >= 0:
            corners.append(point)
    return np.array(corners)


def scatter(axis, part):
    """Samples, the pulling ones large, the misclassified ones crossed."""
    colors = [wb.pictures.STYLES[k].color for k in (0, 3, 2, 1, 4)]
    for label in np.unique(part["label"]):
        own = part["label"] == label
        x, pull = part["x"][own], part["pull"][own]
        look = {"marker": MARKS[label % 5], "color": colors[label % 5], "linewidths": 0}
        axis.scatter(*x.T, s=5, alpha=1.0, **look)
        axis.scatter(*x[pull > 1e-6].T, s=12 + 34 * pull[pull > 1e-6], edgecolors="white", **look | {"linewidths": 0.5})
    axis.scatter(*part["x"][part["missed"]].T, s=9, marker="x", color="white", linewidths=0.9)


NAMES = {"toy-margins": sys.modules[__name__]}
