"""What the ascent for single labels keeps (crammer_singer.py), and how its inputs are dealt out to lanes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from workbench.arithmetic.compiled import compiled_function
from workbench.contracts import Floats, Ints, Listing

LINE = 8  # numbers in a line of the cache, which two lanes had better not share
PAIR = 2  # samples that several lanes visit at a time


class Weights(NamedTuple):
    """β (n, w), W (p, w), and the gap that the last visit of each sample met (n,).

    moved (n,) : NOW for samples whose β has moved in this pass, and BEFORE for those with a step in the last one
    parts (n, L + 1) : the entries parts[i, k] : parts[i, k + 1] of sample i are those of lane k
    """

    beta: Floats
    W: Floats
    gap: Floats
    moved: Ints
    parts: Ints


class Memory(NamedTuple):
    """β and W as the pass found them, and their last step; β on trial in the plane, and whether it was clipped (n,)."""

    beta: Floats
    W: Floats
    beta_step: Floats
    W_step: Floats
    beta_trial: Floats
    clipped: Ints


class Lane(NamedTuple):
    """Working space of a lane: the scores and weights β_i of the samples of a visit (2, w), and lines behind them.

    letters : (2, L, …) of all lanes: their parts of these scores
    sums : (N, …) of all threads: their parts of sums
    """

    height: Floats
    start: Floats
    letters: Floats
    sums: Floats


class Desk(NamedTuple):
    """The scores ⟨W_y, x_i⟩ (n, w) at W and at its mean, the mean (p, w), and the best mean before it."""

    scores: Floats
    mean_scores: Floats
    mean: Floats
    best: Floats


def width_of(labels: int) -> int:
    """The room w for so many labels, whole lines."""
    return -(-labels // LINE) * LINE


def lanes_of(labels: int, lanes: int, threads: int) -> list[Lane]:
    """Working space of so many threads for so many labels, where so many of them are lanes.

    A row behind a lane's own keeps what two lanes write out of one line of the cache.
    """
    room = PAIR + 1, width_of(labels)
    shared = np.zeros((2, lanes, *room)), np.zeros((threads, 3 * LINE))
    return [Lane(np.zeros(room), np.zeros(room), *shared) for _ in range(threads)]


def parted(listing: Listing, lanes: int) -> tuple[Listing, Ints]:
    """The listing with inputs in ascending order, and `parts` by runs of inputs that have about as many entries.

    Several lanes need numba.
    """
    if lanes == 1:
        return listing, np.stack([listing.indptr[:-1], listing.indptr[1:]], axis=1)
    shape = len(listing.square), listing.inputs
    rows = sparse.csr_array((listing.values, listing.indices, listing.indptr), shape=shape)
    if not rows.has_sorted_indices:
        rows = rows.sorted_indices()
        listing = listing._replace(indices=rows.indices.astype(np.int64), values=rows.data)
    before = np.bincount(rows.indices, minlength=rows.shape[1]).cumsum()
    ends = np.searchsorted(before, before[-1] * np.arange(1, lanes) / lanes)
    parts = np.empty((len(listing.square), lanes + 1), np.int64)
    place = listing.indptr, listing.indices, ends, parts
    compiled_function(divided, place, "void")(*place)
    return listing, parts


def divided(indptr, indices, ends, parts):
    """Where the entries of each row come to inputs from each of `ends` on, between the row's own ends."""
    last = len(ends) + 1
    for i in range(len(parts)):
        low, high = indptr[i], indptr[i + 1]
        parts[i, 0], parts[i, last] = low, high
        for k in range(1, last):
            low += np.searchsorted(indices[low:high], ends[k - 1])
            parts[i, k] = low
