"""Clouds of points in the plane, for pictures: features (x₁, x₂, 1), one Gaussian cloud per class.

Centres lie on the unit circle. `separable` clips every point to a disc around its own centre that
leaves a clear band to the next class, so linear weights without errors exist; otherwise the clouds
overlap.
"""

from __future__ import annotations

import numpy as np

import workbench as wb


def toy(n: int = 60, classes: int = 3, separable: bool = False, rng: int = 0) -> wb.Multiclass:
    """n seeded points in the plane in a few classes, with a constant bias feature."""
    if not 2 <= classes <= 12:
        raise wb.BadInput(f"classes is {classes}; choose between 2 and 12.")
    if not classes <= n <= 100_000:
        raise wb.BadInput(f"n is {n}; choose between classes={classes} and 100000.")
    if rng < 0:
        raise wb.BadInput(f"rng is {rng}; a seed is a whole number from 0 on.")
    random = np.random.default_rng(rng)
    y = np.arange(n) % classes
    angle = 2 * np.pi * np.arange(classes) / classes + np.pi / 2
    centres = np.column_stack([np.cos(angle), np.sin(angle)])
    offsets = 0.6 * random.normal(size=(n, 2))
    if separable:
        radius = 0.75 * np.sin(np.pi / classes)  # half the distance between neighbours is sin(π/k)
        offsets *= np.minimum(1, radius / np.linalg.norm(offsets, axis=1))[:, None]
    return wb.Multiclass(np.column_stack([centres[y] + offsets, np.ones(n)]), y)


NAMES = {"toy": toy}
