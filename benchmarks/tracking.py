"""Tracking before and after learning: MOTA and IDF1 of scenes held out, and how large a problem is solved how fast.

For each seed, `train` generated scenes to learn from and as many to be judged on (problems/tracking.py). Without
learning: weights set by hand (`plain_weights`), the same for all seeds. With: the soft margin's optimum, λ fixed.
MOTA, IDF1 and switches are py-motmetrics', against all objects, hidden and missed ones, too: `limit` is what the true
identities of all detections would reach, cut nowhere. Differences are given with their standard errors over seeds.

The large problem is one scene of 100 frames with 50 objects; CPU seconds of `solve` to the gap 10⁻³, after compiling.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from workbench.contracts import Floats
from workbench.data.loading import load_problem
from workbench.data.motchallenge import measures
from workbench.errors import checked_whole
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.flow import tracks_of
from workbench.solving.solve import solve

SKIP, GATE = 3, 0.6
METHODS = ("plain", "learned", "limit")


def tracking(
    seeds: int = 10,
    frames: int = 30,
    objects: int = 20,
    train: int = 4,
    lam: float = 1.0,
    gap: float = 1e-4,
    large_frames: int = 100,
    large_objects: int = 50,
) -> dict[str, Any]:
    """rows: one a seed, METHOD_mota, METHOD_idf1, METHOD_switches; then means, gains, the large scene.

    gain_mota, gain_idf1        mean of learned − plain;  gain_mota_error, gain_idf1_error : their standard errors
    large_seconds, large_gap    CPU seconds and certified gap;  large_detections, large_arcs : its size
    """
    checked_whole(2, seeds=seeds)
    generator = sys.modules[load_problem("tracking").__module__]
    rows = [{"seed": seed} | judged(generator, seed, frames, objects, train, lam, gap) for seed in range(seeds)]
    record: dict[str, Any] = {"seeds": seeds, "frames": frames, "objects": objects, "lam": lam, "gap": gap}
    for name in (f"{method}_{key}" for method in METHODS for key in ("mota", "idf1", "switches")):
        record[name] = float(np.mean([row[name] for row in rows]))
    for key in ("mota", "idf1"):
        gains = np.array([row[f"learned_{key}"] - row[f"plain_{key}"] for row in rows])
        record |= {f"gain_{key}": gains.mean(), f"gain_{key}_error": gains.std(ddof=1) / np.sqrt(seeds)}
    return record | largest(generator, large_frames, large_objects, lam) | {"rows": rows}


def judged(
    generator: Any, seed: int, frames: int, objects: int, train: int, lam: float, gap: float
) -> dict[str, float]:
    """MOTA, IDF1 and switches of each method on the scenes of one seed that are held out."""
    scenes = generator.made_scenes(2 * train, frames, objects, seed=seed)
    problem = generator.as_flow(scenes, SKIP, GATE, 1.0, 1.0)
    held = np.arange(train, 2 * train)
    problem.weights = np.where(np.arange(2 * train) < train, 1.0, 0.0)
    learned = solve(SoftMargin(lam=lam), problem, gap=gap).theta_flat

    def tracks(w: Floats) -> list[Any]:
        found = problem.argmax(w, held, augment=False)
        return [tracks_of(row[: problem.sizes[i]]) for row, i in zip(found, held, strict=True)]

    ids = [scenes[i].seen.ids for i in held]
    true = [[np.flatnonzero(each == one) for one in np.unique(each[each >= 0])] for each in ids]
    methods = dict(zip(METHODS, (tracks(generator.plain_weights(SKIP)), tracks(learned), true), strict=True))
    row = {}
    for name, found in methods.items():
        boxes = [generator.tracked(scenes[i], each) for i, each in zip(held, found, strict=True)]
        row |= {f"{name}_{key}": value for key, value in measures([scenes[i].truth for i in held], boxes).items()}
    return row


def largest(generator: Any, frames: int, objects: int, lam: float) -> dict[str, Any]:
    """One large scene, solved to 10⁻³."""
    problem = generator.as_flow(generator.made_scenes(1, frames, objects, seed=0), SKIP, GATE, 1.0, 1.0)
    problem.argmax(np.zeros(problem.n_features), np.array([0]))  # compiles
    began = time.process_time()
    solution = solve(SoftMargin(lam=lam), problem, gap=1e-3)
    return {
        "large_seconds": time.process_time() - began - solution.compile_seconds,
        "large_gap": solution.gap,
        "large_detections": int(problem.sizes[0]),
        "large_arcs": problem.arcs.shape[0],
    }


NAMES = {"tracking": tracking}
