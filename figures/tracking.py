"""Tracks before and after learning, in a scene that was held out: who is taken for whom, and where.

Frames to the right, the boxes' horizontal centres upward. A line is a track; its style says which object it mostly
follows. Before: weights set by hand. After: the soft margin's optimum on as many other scenes.
"""

import sys

import numpy as np

import workbench as wb

WRONG = "#c8591a"


def measure(
    instances: int = 6, frames: int = 30, objects: int = 14, lam: float = 1.0, gap: float = 1e-4, seed: int = 3
) -> dict[str, np.ndarray]:
    """One row per detection on a track of the scene shown, and one per object seen.

    panel : 0 before, 1 after;  track, frame, x : its track, frame and centre;  object : whom it shows, −1 nobody
    switched : whether the detection before it on its track shows another object
    path_object, path_frame, path_x : all objects' true places
    switches, false (2,) : switches and detections of nobody on tracks, over all held-out scenes, before and after
    """
    scenery = sys.modules[wb.load_problem("tracking").__module__]
    scenes = scenery.made_scenes(2 * instances, frames, objects, seed=seed)
    problem = scenery.as_flow(scenes, 3, 0.6, 1.0, 1.0)
    problem.weights = np.where(np.arange(2 * instances) < instances, 1.0, 0.0)
    learned = wb.solve(wb.SoftMargin(lam=lam), problem, gap=gap).theta["w"]
    held, rows = np.arange(instances, 2 * instances), []
    found = [problem.argmax(w, held, augment=False) for w in (scenery.plain_weights(), learned)]
    marks = [[marked(scenes[i], row[: problem.sizes[i]]) for i, row in zip(held, each, strict=True)] for each in found]
    totals = np.array([[(m[:, 4].sum(), (m[:, 3] < 0).sum()) for m in each] for each in marks])
    shown = int((totals[0] - totals[1])[:, 0].argmax())
    for panel, each in enumerate(marks):
        rows += [(panel, *row) for row in each[shown]]
    names = ("panel", "track", "frame", "x", "object", "switched")
    arrays = dict(zip(names, np.array(rows, float).reshape(-1, 6).T, strict=True))
    truth = scenes[held[shown]].truth
    arrays |= {
        "path_object": truth.ids,
        "path_frame": truth.frames,
        "path_x": truth.boxes[:, 0] + truth.boxes[:, 2] / 2,
    }
    return arrays | {"switches": totals[:, :, 0].sum(axis=1), "false": totals[:, :, 1].sum(axis=1)}


def marked(scene, follows):
    """(m, 5) of each detection on a track: track, frame, x, object, switched."""
    rows = []
    heads = {k for j, k in enumerate(follows) if k not in (-1, j)}
    for track, start in enumerate(j for j, k in enumerate(follows) if k != j and j not in heads):
        at, before = start, None
        while at >= 0:
            box, who = scene.seen.boxes[at], scene.seen.ids[at]
            rows.append((track, scene.seen.frames[at], box[0] + box[2] / 2, who, before is not None and who != before))
            at, before = follows[at], who
    return np.array(rows, float).reshape(-1, 5)


@wb.pictures.styled
def draw(arrays):
    (before, after), (lost, kept) = arrays["switches"].astype(int), arrays["false"].astype(int)
    figure, axes = wb.pictures.canvas(
        1,
        2,
        (7.2, 3.3),
        f"Learned costs: {before} → {after} wrong links, {lost} → {kept} false detections on tracks",
        "Pale: where each object was. Lines: tracks, one style an object. Crosses: the link before leads from one "
        "object to another, or to nobody. Counted over all scenes held out, shown is the one that learning mends most.",
        sharey=True,
    )
    for panel, (axis, name) in enumerate(zip(axes[0], ("costs set by hand", "learned costs"), strict=True)):
        for who in np.unique(arrays["path_object"]):
            path = arrays["path_object"] == who
            axis.plot(arrays["path_frame"][path], arrays["path_x"][path], color=wb.pictures.PALE, linewidth=4, zorder=1)
        mine = {key: arrays[key][arrays["panel"] == panel] for key in ("track", "frame", "x", "object", "switched")}
        for track in np.unique(mine["track"]):
            on = mine["track"] == track
            ids, counts = np.unique(mine["object"][on], return_counts=True)
            style = wb.pictures.STYLES[int(ids[counts.argmax()]) % len(wb.pictures.STYLES)]
            look = style.line(marker=".", markersize=2.5, linewidth=1.0)
            axis.plot(mine["frame"][on], mine["x"][on], zorder=2, **look)
        wrong = mine["switched"] > 0
        axis.scatter(mine["frame"][wrong], mine["x"][wrong], s=34, color=WRONG, marker="x", linewidths=1.6, zorder=3)
        axis.set_title(f"{name}: {int(wrong.sum()) or 'no'} crosses")
        axis.set_xlabel("frame")
    axes[0, 0].set_ylabel("horizontal place [pixels]")
    return figure


NAMES = {"tracking": sys.modules[__name__]}
