"""Pairs of a rater and a task with the label that the rater gave: bilinear scores, `nuclear-dyadic`.

    p_c(rater, task) = ⟨a + 1, b + 1⟩ − k + α_{rater, c} + β_{task, c} + γ_c

face-sentiment (4 classes) and bluebird (2) are real; simulated-dyads draws raters who weigh a hidden side of a task
differently (workbench/dyads/pairs.py). `pairs` reads a file: a CSV with a header and the columns `left`, `right`,
`label`, or Vowpal Wabbit's text with two namespaces.
"""

from __future__ import annotations

import numpy as np

import workbench as wb


def face_sentiment(n: int | None = None, draw: int = 0, data: str | None = None) -> wb.DyadicPairs:
    """n of the 5,242 ratings of faces by the seed `draw`, or all."""
    return rated("face-sentiment", n, draw, data)


def bluebird(n: int | None = None, draw: int = 0, data: str | None = None) -> wb.DyadicPairs:
    """n of the 4,212 answers whether a bird is an Indigo Bunting by the seed `draw`, or all."""
    return rated("bluebird", n, draw, data)


def simulated_dyads(
    tasks: int = 30, per_task: int = 6, raters: int = 12, classes: int = 2, rank: int = 1, seed: int = 0
) -> wb.DyadicPairs:
    """`per_task` of `raters` raters label each of `tasks` tasks, with `rank` hidden sides."""
    return wb.DyadicPairs(wb.dyads.simulated(tasks, per_task, raters, classes, rank, seed))


def pairs(
    path: str, left: str = "left", right: str = "right", label: str = "label", classes: str | None = None
) -> wb.DyadicPairs:
    """The pairs of a CSV file with a header (columns `left`, `right`, `label`) or a .vw file (namespaces).

    classes : labels to admit besides those in the file, separated by commas
    """
    return wb.DyadicPairs(wb.read_pairs(path, left, right, label, classes.split(",") if classes else ()))


def rated(name: str, n: int | None, draw: int, data: str | None) -> wb.DyadicPairs:
    found = wb.datasets.ratings(name, data)
    known = wb.Dyads(found.rater, found.item, found.label)
    if n is None:
        return wb.DyadicPairs(known)
    if not 2 <= n <= known.n_samples:
        raise wb.BadInput(f"n is {n} but there are {known.n_samples} ratings; choose n between 2 and that.")
    return wb.DyadicPairs(known.take(np.sort(np.random.default_rng(draw).permutation(known.n_samples)[:n])))


NAMES = {
    "face-sentiment": face_sentiment,
    "bluebird": bluebird,
    "simulated-dyads": simulated_dyads,
    "pairs": pairs,
}
