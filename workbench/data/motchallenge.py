"""Boxes on video frames in the text format of MOTChallenge (Leal-Taixé et al. 2015), and the field's measures.

    frame, id, left, top, width, height, confidence [, …]       one box a line; pixels; frames count from 1

A detector's file (`det.txt`) has the id −1, an annotator's file (`gt.txt`) the number of the object; its boxes of
confidence 0 do not count. Further columns (class, visibility, positions in the world) are not read.

    overlap(a, b)      |a ∩ b| / |a ∪ b| of boxes, in [0, 1]
    identified(…)      which object each detection shows: the matching of a frame with the greatest overlaps
    measures(…)        MOTA, IDF1 and identity switches, computed by py-motmetrics

MOTA = 1 − (misses + false positives + switches)/objects (Bernardin & Stiefelhagen 2008); IDF1 = 2·IDTP/(objects +
boxes) under the best one-to-one assignment of tracks to objects (Ristani et al. 2016).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Floats, Ints
from workbench.errors import BadInput, MissingCapability, counted

NOBODY = -1
ONCE = "give an object one box a frame"


class Boxes(NamedTuple):
    """V boxes in the order of frames: frames (V,), ids (V,), −1 for no object, boxes (V, 4), confidences (V,)."""

    frames: Ints
    ids: Ints
    boxes: Floats  # left, top, width, height
    confidences: Floats

    def take(self, which: NDArray) -> Boxes:
        """The boxes of these numbers, or of this mask."""
        return Boxes(self.frames[which], self.ids[which], self.boxes[which], self.confidences[which])


def read(path: str | Path) -> Boxes:
    """The boxes of a file, ordered by frame, within a frame by line.

    Raises
    ------
    BadInput : the file is missing, a line is no box, or an object has two boxes on a frame; the sentence names file
        and line
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read ({error.strerror}); give a file in the format of MOTChallenge."
        ) from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is no text; give a file in the format of MOTChallenge.") from None
    rows = [parsed(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise BadInput(f"{path} holds no boxes; give at least one line frame,id,left,top,width,height,confidence.")
    table = np.array(rows)
    if (twice := repeated(table[:, 0], table[:, 1])) is not None:
        line = [number for number, text in enumerate(lines, 1) if text.strip()][twice]
        raise BadInput(f"{path}, line {line} has id {rows[twice][1]:g} again on frame {rows[twice][0]:g}; {ONCE}.")
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Boxes(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2:6].copy(), table[:, 6].copy())


def repeated(frames: NDArray, ids: NDArray) -> int | None:
    """The number of the first box whose id, not −1, an earlier box of its frame has; None if there is none."""
    known = np.flatnonzero(ids != NOBODY)
    first = np.unique(np.stack([frames[known], ids[known]], axis=1), axis=0, return_index=True)[1]
    again = np.setdiff1d(np.arange(len(known)), first)
    return int(known[again[0]]) if len(again) else None


def parsed(line: str, place: str) -> list[float]:
    """The seven numbers of a line, or `BadInput`."""
    cells = line.split(",")
    if len(cells) < 7:
        raise BadInput(f"{place} has {counted(len(cells), 'number')}; write frame,id,left,top,width,height,confidence.")
    try:
        numbers = [float(cell) for cell in cells[:7]]
    except ValueError as error:
        raise BadInput(f"{place} is no box ({error}); write seven numbers separated by commas.") from None
    frame, identity, _, _, width, height, _ = numbers
    if not np.isfinite(numbers).all() or max(map(abs, numbers)) > 1e9:
        raise BadInput(f"{place} holds a number that is infinite, missing or beyond 1e9; correct it.")
    if frame < 1 or frame % 1 or identity % 1 or identity < -1:
        raise BadInput(f"{place} names frame {frame:g} and id {identity:g}; frames count from 1, ids from 0, or −1.")
    if width <= 0 or height <= 0:
        raise BadInput(f"{place} has a box of {width:g} × {height:g}; make both positive.")
    return numbers


def write(path: str | Path, boxes: Boxes) -> None:
    """Write the boxes to a file, from which `read` gives the same numbers."""
    rows = zip(boxes.frames, boxes.ids, boxes.boxes.tolist(), boxes.confidences.tolist(), strict=True)
    lines = (f"{f},{i},{','.join(map(repr, box))},{c!r},-1,-1,-1\n" for f, i, box, c in rows)
    Path(path).write_text("".join(lines), encoding="utf-8")


def overlap(a: Floats, b: Floats) -> Floats:
    """Intersection over union (…, ) of boxes (…, 4), broadcast."""
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., :2] + a[..., 2:], b[..., :2] + b[..., 2:])
    common = np.maximum(high - low, 0).prod(axis=-1)
    return common / (a[..., 2:].prod(axis=-1) + b[..., 2:].prod(axis=-1) - common)


def objects_of(truth: Boxes) -> Boxes:
    """The annotated boxes that count: those of an object, of confidence other than 0."""
    return truth.take((truth.confidences != 0) & (truth.ids != NOBODY))


def identified(detections: Boxes, truth: Boxes, least: float = 0.5) -> Ints:
    """(V,) the id of the object that each detection shows, −1 for none.

    Frame by frame, the one-to-one assignment of greatest total overlap among pairs that overlap by `least` or more.
    """
    from scipy.optimize import linear_sum_assignment  # a quarter of a second, which most runs do without

    found = np.full(len(detections.frames), NOBODY, np.int64)
    truth = objects_of(truth)
    for frame in np.intersect1d(detections.frames, truth.frames):
        mine, objects = np.flatnonzero(detections.frames == frame), np.flatnonzero(truth.frames == frame)
        shares = overlap(detections.boxes[mine][:, None], truth.boxes[objects][None])
        rows, columns = linear_sum_assignment(np.where(shares >= least, 1 + shares, 0), maximize=True)
        kept = shares[rows, columns] >= least
        found[mine[rows[kept]]] = truth.ids[objects[columns[kept]]]
    return found


def measures(truth: list[Boxes], tracked: list[Boxes], least: float = 0.5) -> dict[str, float]:
    """MOTA, IDF1 and switches over all sequences; `tracked` holds the boxes on tracks, with the tracks as ids.

    Raises
    ------
    BadInput : not as many sequences in both, no object in any, or an id that two boxes of a frame share
    MissingCapability : py-motmetrics is not installed
    """
    if len(truth) != len(tracked):
        raise BadInput(f"There are {len(truth)} true sequences but {len(tracked)} tracked ones; give pairs of them.")
    truth = [objects_of(each) for each in truth]
    if not sum(len(each.frames) for each in truth):
        raise BadInput("The sequences show no object, by whose number MOTA divides; give one that does.")
    for side, sequences in (("true", truth), ("tracked", tracked)):
        for number, each in enumerate(sequences):
            if (twice := repeated(each.frames, each.ids)) is not None:
                where = f"{side} sequence {number} has id {each.ids[twice]} twice on frame {each.frames[twice]}"
                raise BadInput(f"The {where}; {ONCE}.")
    try:
        import motmetrics
    except ImportError:
        raise MissingCapability("measures of tracking need motmetrics; pip install 'cutbench[tracking]'.") from None
    played = [accumulated(motmetrics, *pair, least) for pair in zip(truth, tracked, strict=True)]
    names = ["mota", "idf1", "num_switches"]
    table = motmetrics.metrics.create().compute_many(played, metrics=names, generate_overall=True)
    overall = table.loc["OVERALL"]
    return {"mota": float(overall["mota"]), "idf1": float(overall["idf1"]), "switches": int(overall["num_switches"])}


def accumulated(motmetrics: Any, truth: Boxes, tracked: Boxes, least: float) -> Any:  # py-motmetrics has no types
    """The accumulator of py-motmetrics for one sequence: distances 1 − overlap, NaN for an overlap below `least`."""
    accumulator = motmetrics.MOTAccumulator(auto_id=False)
    for frame in np.union1d(truth.frames, tracked.frames).tolist():
        objects, mine = truth.take(truth.frames == frame), tracked.take(tracked.frames == frame)
        shares: NDArray = overlap(objects.boxes[:, None], mine.boxes[None])
        distances = np.where(shares >= least, 1 - shares, np.nan)
        accumulator.update(objects.ids.tolist(), mine.ids.tolist(), distances, frameid=int(frame))
    return accumulator
