"""Which label a rater gives to a task, by identities alone: the linear model of crowd-sourced labels.

    x = [e_rater, e_task, 1],      score of label c = α_{rater, c} + β_{task, c} + γ_c

face-sentiment (4 classes) and bluebird (2) are real; simulated ratings are drawn as workbench/dyads/pairs.py says.
`cutbench bench dyadic-table` compares the risk of the linear learner on bluebird with the certified optimum of this
problem.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

import workbench as wb


def crowd(
    source: Literal["bluebird", "face-sentiment", "simulated"] = "bluebird",
    n: int | None = None,
    draw: int = 0,
    data: str | None = None,
) -> wb.Multiclass:
    """Raters, tasks and their labels as a `Multiclass`: n of them at random by the seed `draw`, or all."""
    if source == "simulated":
        pairs = wb.dyads.simulated(tasks=400, raters=60, seed=draw)
    else:
        found = wb.datasets.ratings(source, data)
        pairs = wb.dyads.Dyads(found.rater, found.item, found.label)
    if n is not None:
        if not 2 <= n <= pairs.n_samples:
            raise wb.BadInput(f"n is {n} but there are {pairs.n_samples} labels; choose n between 2 and that.")
        pairs = pairs.take(np.sort(np.random.default_rng(draw).permutation(pairs.n_samples)[:n]))
    return wb.Multiclass(pairs.linear, pairs.classes[pairs.labels], classes=pairs.classes)


NAMES = {"crowd": crowd}
