"""Digits with a hidden rotation, as in the paper on self-paced learning (Kumar, Packer & Koller 2010): which of two?

Every image is turned by one of K angles, drawn by the seed `draw` and withheld. A view of a sample is the image turned
back by one of the same angles, so one view of each is upright. With x_{i,h} the pixels of view h and a constant,

    φ(x_i, y, h) = e_y ⊗ x_{i,h},      p = 65, d = 130,

and the hidden state h is the angle (`Views`). Angles are spread evenly from −`widest` to `widest` degrees. Images are
scikit-learn's digits, 8 × 8 pixels from 0 to 1, turned about their centre with linear interpolation, and rounded to
multiples of 1/256. `planted` (n,) holds the views that are upright; no formulation reads it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

import workbench as wb

UNIT = 256


def rotated_digits(
    n: int = 60,
    digits: str = "2,7",
    angles: int = 5,
    widest: float = 60.0,
    split: Literal["train", "test"] = "train",
    draw: int = 0,
) -> wb.Views:
    """n images of two digits, turned; split=test has the last 100 of these digits' images, split=train the first n."""
    two = digits.split(",")
    known = len(two) == 2 and all(each.isdigit() and len(each) == 1 for each in two) and two[0] != two[1]
    if not known or not 2 <= angles <= 36 or not 0 < widest <= 180 or split not in ("train", "test"):
        raise wb.BadInput(
            f"digits={digits}, angles={angles}, widest={widest:g}, split={split} turn nothing; give two digits such as "
            "2,7, angles from 2 to 36, widest up to 180 degrees, and train or test."
        )
    whole = wb.load_problem("digits")(n=1797)
    chosen = np.flatnonzero(np.isin(whole.labels, [int(each) for each in two]))
    if not 2 <= n <= len(chosen) - 100:
        raise wb.BadInput(f"n is {n} but {len(chosen) - 100} images can be learned from; choose n from 2 to that.")
    chosen = chosen[:n] if split == "train" else chosen[-100:]
    images, turns = whole.X[chosen].toarray().reshape(-1, 8, 8), np.linspace(-widest, widest, angles)
    planted = np.random.default_rng([draw, split == "test"]).integers(0, angles, len(chosen))
    views = np.array([seen(image, float(turns[h]), turns) for image, h in zip(images, planted, strict=True)])
    X = np.concatenate([views.reshape(-1, 64), np.ones((len(chosen) * angles, 1))], axis=1)
    offsets, classes = np.arange(len(chosen) + 1) * angles, np.sort(list(map(int, two)))
    problem = wb.Views(X, whole.labels[chosen], offsets, classes=classes)
    problem.planted = planted
    return problem


def seen(image: np.ndarray, turn: float, turns: np.ndarray) -> np.ndarray:
    """(K, 8, 8) the image after a turn, turned back by each of `turns` degrees."""
    from scipy import ndimage  # which takes longer to import than a small solve

    turned = ndimage.rotate(image, turn, reshape=False, order=1)
    views = np.array([ndimage.rotate(turned, -back, reshape=False, order=1) for back in turns])
    return np.round(views * UNIT) / UNIT


NAMES = {"rotated-digits": rotated_digits}
