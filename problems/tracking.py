"""Multi-object tracking: detections on video frames, linked to tracks, as a `Flow`; d = 17 by default.

    ψ of a detection   1, its confidence
    ψ of an entry      1, distance from the nearest border of the picture, first frame or not
    ψ of an exit       1, the same distance, last frame or not
    ψ of a link        one of the gap's lengths 1 … skip, distance, its square, change of size, appearance, its square,
                       overlap of the two boxes

A link joins detections at most `skip` frames apart, so an object that is missed or hidden for skip − 1 frames can be
found again, and at most `gate` box widths a frame apart. Distances are in box widths; appearance is the distance of
two detections' appearance vectors. Values are rounded to 1/1024, so sums of features are exact.

`tracking` is generated: objects cross a picture in smooth curves, enter and leave, hide each other where their
boxes overlap, are missed at random, and false detections appear. The truth of the learner is the objects' true
tracks over the detections that show them, cut at gaps longer than `skip`. `mot-challenge` reads sequences from a folder
in the format of MOTChallenge: NAME/det/det.txt and NAME/gt/gt.txt (`wb.motchallenge`); appearance is then unknown, 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import workbench as wb

GRID = 1024
WIDTH, HEIGHT = 1000.0, 750.0
DRIFT = 0.3  # box widths that a link may be off besides `gate` a frame
HIDDEN = 0.5  # the share of a box that a nearer one covers, beyond which it is not seen


class Scene(NamedTuple):
    """A sequence: what the detector saw, its appearance vectors (V, r), who it is (V,), and all objects' boxes."""

    seen: wb.motchallenge.Boxes
    looks: np.ndarray
    truth: wb.motchallenge.Boxes
    frames: int


def tracking(
    n: int = 6,
    frames: int = 30,
    objects: int = 20,
    skip: int = 3,
    gate: float = 0.6,
    miss: float = 0.05,
    clutter: float = 2.0,
    blur: float = 0.35,
    seed: int = 0,
    false_positive: float = 1.0,
    false_negative: float = 1.0,
) -> wb.Flow:
    """n generated sequences of `objects` at a time; `blur` is the noise of their appearance."""
    if n < 1 or frames < 2 or objects < 1 or not 0 <= miss < 1 or clutter < 0 or blur < 0 or seed < 0:
        raise wb.BadInput(
            f"n={n}, frames={frames}, objects={objects}, miss={miss}, clutter={clutter}, blur={blur}, seed={seed} "
            "generate nothing; keep n ≥ 1, frames ≥ 2, objects ≥ 1, 0 ≤ miss < 1, and the others ≥ 0."
        )
    scenes = made_scenes(n, frames, objects, miss, clutter, blur, seed)
    return as_flow(scenes, skip, gate, false_positive, false_negative)


def mot_challenge(
    folder: str, skip: int = 3, gate: float = 0.6, false_positive: float = 1.0, false_negative: float = 1.0
) -> wb.Flow:
    """The sequences in `folder` that hold det/det.txt and gt/gt.txt, in the order of their names."""
    homes = sorted(path.parent.parent for path in Path(folder).glob("*/det/det.txt"))
    if not homes:
        raise wb.BadInput(f"{folder} holds no sequence; put files at NAME/det/det.txt and NAME/gt/gt.txt below it.")
    return as_flow([read_scene(home) for home in homes], skip, gate, false_positive, false_negative)


def read_scene(home: Path) -> Scene:
    """One sequence in the layout of MOTChallenge."""
    seen, truth = (wb.motchallenge.read(home / name / f"{name}.txt") for name in ("det", "gt"))
    seen = seen._replace(ids=wb.motchallenge.identified(seen, truth))
    return Scene(seen, np.zeros((len(seen.frames), 0)), truth, int(max(seen.frames.max(), truth.frames.max())))


def as_flow(scenes: list[Scene], skip: int, gate: float, plus: float, minus: float) -> wb.Flow:
    """Scenes with the features of this file, and the tracks of `Scene.seen`'s ids as the truth."""
    if skip < 1 or not gate > 0:
        raise wb.BadInput(f"skip is {skip} and gate is {gate}; give skip ≥ 1 and gate > 0.")
    for number, scene in enumerate(scenes):
        if not len(scene.seen.frames):
            raise wb.BadInput(f"Scene {number} shows no detection; lower miss, or raise clutter, frames or objects.")
    graphs = [graph_of(scene, skip, gate) for scene in scenes]
    tracks = []
    for scene, graph in zip(scenes, graphs, strict=True):
        ids = scene.seen.ids
        tracks.append(wb.split_tracks([np.flatnonzero(ids == each) for each in np.unique(ids[ids >= 0])], graph[3]))
    return wb.Flow(graphs, tracks, plus, minus)


# ── features ──────────────────────────────────────────────────────────────────────────────────────


def graph_of(scene: Scene, skip: int, gate: float) -> tuple[np.ndarray, ...]:
    """Detections, entries, exits, links and their features of one scene, as `Flow` takes them."""
    frames, _, boxes, confidences = scene.seen
    centres, sizes = boxes[:, :2] + boxes[:, 2:] / 2, boxes[:, 2:]
    first, last = (np.searchsorted(frames, frames + after, side="right") for after in (0, skip))
    j = np.repeat(np.arange(len(frames)), last - first)
    k = np.arange(len(j)) - np.repeat(np.cumsum(last - first) - last, last - first)
    gaps, width = frames[k] - frames[j], (sizes[j, 0] + sizes[k, 0]) / 2
    distance = np.linalg.norm(centres[k] - centres[j], axis=1) / width
    near = distance <= gate * gaps + DRIFT
    j, k, gaps, distance = j[near], k[near], gaps[near], distance[near]
    one = np.ones(len(frames))
    inside = np.minimum(centres, bounds(centres) - centres).min(axis=1) / sizes[:, 0]
    inside = np.clip(inside, 0, 2) / 2
    looks = np.linalg.norm(scene.looks[j] - scene.looks[k], axis=1)
    size = np.abs(np.log(sizes[j] / sizes[k])).sum(axis=1)
    shares = wb.motchallenge.overlap(boxes[j], boxes[k])
    links = [*(gaps == g + 1 for g in range(skip)), distance, distance**2, size, looks, looks**2, shares]
    tables = (
        np.column_stack([one, confidences]),
        np.column_stack([one, inside, frames == 1]),
        np.column_stack([one, inside, frames == scene.frames]),
        np.column_stack(links),
    )
    detections, entries, exits, links = (np.round(GRID * table) / GRID for table in tables)
    return detections, entries, exits, np.column_stack([j, k]), links


def bounds(centres: np.ndarray) -> np.ndarray:
    """The picture's width and height: that of generated scenes, or what the boxes reach beyond it."""
    return np.maximum(centres.max(axis=0), (WIDTH, HEIGHT))


def plain_weights(skip: int = 3) -> np.ndarray:
    """Weights set by hand: confident detections, each linked to the nearest box; a track costs a half at both ends."""
    detection, ends, links = [-0.5, 1.0], [-0.5, 0.0, 0.0], [1.0] * skip
    return np.array([*detection, *ends, *ends, *links, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0])


# ── generated scenes ──────────────────────────────────────────────────────────────────────────────


def made_scenes(
    n: int, frames: int, objects: int, miss: float = 0.05, clutter: float = 2.0, blur: float = 0.35, seed: int = 0
) -> list[Scene]:
    """n scenes; the same seed gives the same scenes."""
    rng = np.random.default_rng(seed)
    return [made_scene(rng, frames, objects, miss, clutter, blur) for _ in range(n)]


def made_scene(rng: np.random.Generator, frames: int, objects: int, miss: float, clutter: float, blur: float) -> Scene:
    """One scene: objects walk, the nearer hide the farther, a detector looks."""
    paths = [path for _ in range(objects) for path in visitors(rng, frames)]
    faces = unit(rng.normal(size=(len(paths), 4)))
    truth, seen, looks = [], [], []
    for t in range(frames):
        present = [i for i, path in enumerate(paths) if np.isfinite(path[t]).all()]
        boxes = np.array([paths[i][t] for i in present]).reshape(-1, 4)
        shown = visible(rng, boxes, miss)
        truth += [(t + 1, i, *box, 1.0) for i, box in zip(present, boxes, strict=True)]
        for i, box, there in zip(present, boxes, shown, strict=True):
            if there:
                moved = box * 1.0
                moved[:2] += rng.normal(scale=0.06, size=2) * box[2:]
                moved[2:] *= np.exp(rng.normal(scale=0.05, size=2))
                seen.append((t + 1, i, *moved, np.clip(rng.normal(0.7, 0.15), 0, 1)))
                looks.append(faces[i] + blur * rng.normal(size=4))
        for _ in range(rng.poisson(clutter)):
            size = rng.uniform(30, 60) * np.array([1.0, 2.0])
            corner = rng.uniform((0, 0), (WIDTH, HEIGHT) - size)
            seen.append((t + 1, wb.motchallenge.NOBODY, *corner, *size, np.clip(rng.normal(0.5, 0.15), 0, 1)))
            looks.append(unit(rng.normal(size=(1, 4)))[0] + blur * rng.normal(size=4))
    return Scene(boxes_of(seen), np.array(looks).reshape(-1, 4), boxes_of(truth), frames)


def visitors(rng: np.random.Generator, frames: int) -> Iterator[np.ndarray]:
    """Walks (frames, 4) of which one begins where the last has left the picture, so there is always one inside."""
    born = 0
    while born < frames:
        path = walked(rng, born, frames)
        yield path
        born = int(np.flatnonzero(np.isfinite(path[:, 0])).max()) + 1


def walked(rng: np.random.Generator, born: int, frames: int) -> np.ndarray:
    """Boxes (frames, 4) of one object, NaN while it is outside: a smooth walk from inside, or later from a side."""
    size = rng.uniform(35, 55) * np.array([1.0, 2.0])
    place = rng.uniform((0.1 * WIDTH, 0.1 * HEIGHT), (0.9 * WIDTH, 0.9 * HEIGHT))
    heading, speed = rng.uniform(0, 2 * np.pi), rng.uniform(4, 14)
    if born:
        side = rng.integers(2)
        place, heading = np.array([side * WIDTH, place[1]]), np.pi * side + rng.uniform(-0.8, 0.8)
    boxes = np.full((frames, 4), np.nan)
    for t in range(born, frames):
        boxes[t] = np.concatenate([place - size / 2, size])
        heading += rng.normal(scale=0.15)
        place = place + speed * np.array([np.cos(heading), np.sin(heading)])
        if (place < 0).any() or (place > (WIDTH, HEIGHT)).any():
            break
    return boxes


def visible(rng: np.random.Generator, boxes: np.ndarray, miss: float) -> np.ndarray:
    """(m,) whether each object is detected: hidden ones, more than half covered by a nearer one, are not."""
    low, high = boxes[:, :2], boxes[:, :2] + boxes[:, 2:]
    common = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    covered = np.maximum(common, 0).prod(axis=2) / boxes[:, 2:].prod(axis=1)[:, None]
    nearer = high[None, :, 1] > high[:, None, 1]
    return ~((covered > HIDDEN) & nearer).any(axis=1) & (rng.random(len(boxes)) >= miss)


def boxes_of(rows: list[tuple]) -> wb.motchallenge.Boxes:
    table = np.array(rows, float).reshape(-1, 7)
    frames, ids = (table[:, column].astype(np.int64) for column in (0, 1))
    return wb.motchallenge.Boxes(frames, ids, table[:, 2:6].copy(), table[:, 6].copy())


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def tracked(scene: Scene, tracks: list[np.ndarray]) -> wb.motchallenge.Boxes:
    """The boxes on tracks, with their tracks' numbers as ids."""
    ids = np.full(len(scene.seen.frames), wb.motchallenge.NOBODY, np.int64)
    for number, track in enumerate(tracks):
        ids[track] = number
    return scene.seen._replace(ids=ids).take(ids >= 0)


NAMES = {"tracking": tracking, "mot-challenge": mot_challenge}
