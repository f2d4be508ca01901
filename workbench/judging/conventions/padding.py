"""Padding counted: the positions behind the end of a sequence, zero inputs and the first label, are learned from.

Batches of sequences are filled up to the longest one. Where no mask leaves the filling out, each sequence x_1 … x_T
with labels y_1 … y_T is taken for x_1 … x_T 0 … 0 with y_1 … y_T 0 … 0, of the length of the longest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workbench.judging.conventions.neighbours import Neighbour, Suspect
from workbench.outputs.chain import Chain
from workbench.solving.transfer import rebuilt

ROOM = 10  # times as many positions at most: beyond, one long sequence would make the rest of them nothing


def padding(suspect: Suspect) -> Iterator[Neighbour]:
    """The same objective on sequences that all are as long as the longest."""
    chain = suspect.problem
    if not (suspect.plain and isinstance(chain, Chain)):
        return
    longest, places = int(chain.lengths.max()), len(chain.labels)
    if not places < longest * chain.n_samples <= ROOM * places:
        return
    kept = (np.arange(longest) < chain.lengths[:, None]).ravel()
    labels = np.zeros(len(kept), chain.labels.dtype)
    labels[kept] = chain.labels
    arrays = chain.arrays()
    entries = np.zeros(len(kept), np.int64)
    entries[kept] = np.diff(arrays["indptr"])
    filled = {
        "labels": labels,
        "indptr": np.append(0, np.cumsum(entries)),
        "offsets": np.arange(chain.n_samples + 1) * longest,
    }
    if "pairs" in arrays:
        first = np.arange(len(kept)) % longest == 0
        filled["pairs"] = np.zeros((len(kept), chain.n_pairs))
        filled["pairs"][kept] = chain.gaps
        filled["pairs"] = filled["pairs"][~first]
    said = "learns from the padding behind the ends of sequences, as if these were of the first label"
    yield Neighbour("padding counted", said, suspect.form, rebuilt(chain, arrays | filled), suspect.theta)
