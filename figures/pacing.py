"""Who is learned from when: self-paced learning of a planted motif by each criterion, from one start.

Rasters: a row is a sequence, sorted by the round in which it enters for good, a column a round of the alternation; the
first two rounds learn from everybody, the last ones again. Lines: the full latent objective F/C after every round.
"""

import sys

import numpy as np

import workbench as wb

CRITERIA = ("slack", "uncertainty", "novelty")


def measure(n: int = 40, C: float = 30.0, gap: float = 1e-4, draw: int = 4, start: int = 0) -> dict[str, np.ndarray]:
    """One row a round: criterion (plain for all samples at once), F/C, who is kept (n); and who is positive (n,)."""
    problem = wb.load_problem("motif")(n=n, draw=draw)
    forms = {"plain": wb.LatentSSVM(C, starts=1, start_seed=start)}
    for name in CRITERIA:
        forms[name] = wb.SelfPacedLatent(
            C, **{each: float(each == name) for each in CRITERIA}, starts=1, start_seed=start
        )
    names, values, kept = [], [], []
    for name, form in forms.items():
        for entry in wb.solve(form, problem, gap=gap).history:
            names.append(name)
            values.append(entry["value"] / C)
            kept.append(entry.get("kept", np.ones(n, int)))
    return {
        "criterion": np.array(names),
        "objective": np.array(values),
        "kept": np.array(kept, int),
        "positive": problem.labels == 1,
    }


@wb.pictures.styled
def draw(arrays):
    ends = {name: arrays["objective"][arrays["criterion"] == name][-1] for name in ("plain", *CRITERIA)}
    best = min(ends, key=lambda name: ends[name])
    figure, axes = wb.pictures.canvas(
        2,
        2,
        (7.2, 4.8),
        f"From one start, four ways end at F/C from {ends[best]:.2f} ({best}) to {max(ends.values()):.2f}",
        "Rasters: sequences by the round in which they enter for good; dark are positive, pale negative, white is left "
        "out. Lower right: the full objective after every round, all sequences counted.",
    )
    for axis, name in zip(axes.ravel(), CRITERIA, strict=False):
        raster(axis, name, arrays)
    last = axes[1, 1]
    for style, name in zip(wb.pictures.STYLES, ("plain", *CRITERIA), strict=False):
        values = arrays["objective"][arrays["criterion"] == name]
        last.plot(np.arange(1, len(values) + 1), values, label=name, **style.line())
    last.set(title="Objective F/C", xlabel="round", ylim=(0, None))
    last.locator_params(axis="x", integer=True)
    last.legend()
    return figure


def raster(axis, name, arrays):
    from matplotlib.colors import ListedColormap

    kept = arrays["kept"][arrays["criterion"] == name]
    absent = kept == 0
    entry = np.where(absent.any(axis=0), len(kept) - absent[::-1].argmax(axis=0), 0)
    order = np.lexsort((~arrays["positive"], entry))
    cells = (kept * np.where(arrays["positive"], 2, 1))[:, order].T
    colours = ListedColormap(["white", "#c9d6e2", wb.pictures.STYLES[0].color])
    edges = np.arange(cells.shape[1] + 1) + 0.5, np.arange(len(cells) + 1)
    axis.pcolormesh(*edges, cells, cmap=colours, vmin=0, vmax=2, edgecolors="white", linewidth=0.3)
    axis.set(title=f"By {name}: {len(kept)} rounds", xlabel="round", ylabel="sequences", yticks=[])
    axis.locator_params(axis="x", integer=True)


NAMES = {"pacing": sys.modules[__name__]}
