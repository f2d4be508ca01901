"""The table of conventions, in the order in which they are tried; a new one is an entry here.

What needs no solving comes first: the better an entry fits, the sooner others are discarded.
"""

from __future__ import annotations

import numpy as np

from workbench.judging.conventions.all_rivals import all_rivals
from workbench.judging.conventions.features import free_transitions, intercepts, own_ends, own_intercepts, subspaces
from workbench.judging.conventions.layouts import averages, balanced, by_length, layouts, projection
from workbench.judging.conventions.losses import likelihood, other_loss, rescaling, sizes, squares, unaugmented, units
from workbench.judging.conventions.neighbours import Entry, data, viewed
from workbench.judging.conventions.one_vs_rest import one_vs_rest
from workbench.judging.conventions.padding import padding
from workbench.judging.conventions.scaling import likelihoods, multiples, with_intercepts
from workbench.judging.conventions.standardised import changed_features
from workbench.judging.conventions.transposed import swapped_oracle
from workbench.outputs.chain import Chain
from workbench.outputs.motif import Motif

CONVENTIONS: tuple[Entry, ...] = (
    one_vs_rest,
    all_rivals,
    multiples,
    rescaling,
    unaugmented,
    squares,
    viewed("absolute penalty", "penalises λ‖w‖₁ in place of λ/2 ‖w‖²", lambda inner: inner, absolute=True),
    units,
    data(
        "no cost matrix", "has every error cost 1, whatever the cost matrix", "cost", lambda c, _: 1.0 - np.eye(len(c))
    ),
    data("transposed costs", "reads the cost matrix with true and predicted labels swapped", "cost", lambda c, _: c.T),
    sizes,
    data(
        "length",
        "does not divide the loss by the length, or does where it should not",
        "loss",
        lambda each, _: other_loss(each),
    ),
    data("no sample weights", "ignores the sample weights", "weights", lambda s, _: np.ones_like(s)),
    data("balanced classes", "weights its samples so that classes count alike", "weights", lambda s, p: balanced(s, p)),
    data(
        "weight by length",
        "counts a sequence as often as it is long",
        "weights",
        lambda s, p: s * (p.lengths if isinstance(p, Chain | Motif) else 1),
    ),
    by_length,
    changed_features,
    intercepts,
    own_intercepts,
    free_transitions,
    own_ends,
    padding,
    swapped_oracle,
    subspaces,
    layouts,
    likelihood,
    projection,
    averages,
)

SEVERAL: tuple[Entry, ...] = (with_intercepts,)  # changes at once, tried where no single one explains the weights
LIKELY: tuple[Entry, ...] = (likelihoods,)  # those of likelihoods, tried where none is certain or fine
