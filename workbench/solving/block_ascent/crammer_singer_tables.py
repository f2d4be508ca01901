"""What the ascent for single labels keeps (crammer_singer.py), and how its inputs are dealt out to lanes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from workbench.arithmetic.compiled import compiled_function
from workbench.arithmetic.lines import LINE, apart, lined
from workbench.arithmetic.products import Spread, serially
from workbench.contracts import Floats, Ints, Listing

SOME = 20_000  # entries that tell where the inputs are dealt out
RUNS = 32  # of samples and of rows of W, which threads take one after another for the scores of all
GROUP, PAIR = 8, 2  # samples that several lanes visit at a time, at first and at least


class Weights(NamedTuple):
    """β (n, w), W (p, w), and the gap that the last visit of each sample met (n,).

    moved (n,) : NOW for samples whose β has moved since the last step in the plane, BEFORE for those with a step then
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
    """Working space of a lane: scores and weights β_i of a sample (w,), and scores of several (GROUP, w).

    told : (L, …, w) of all lanes: their parts of the scores of the samples that they visit
    moves : (GROUP, …) of all lanes: the steps of these samples
    sums : (N, …) of all threads: their parts of sums
    """

    height: Floats
    start: Floats
    scores: Floats
    told: Floats
    moves: Floats
    sums: Floats


class Desk(NamedTuple):
    """The scores ⟨W_y, x_i⟩ (n, w) at the mean of W, the mean (p, w), and the sums of runs of samples (RUNS, 8)."""

    mean_scores: Floats
    mean: Floats
    sums: Floats


def width_of(labels: int) -> int:
    """The room w for so many labels, whole lines."""
    return -(-labels // LINE) * LINE


def memory_of(samples: int, inputs: int, width: int) -> Memory:
    """Of so many samples and inputs; none of it is filled in yet."""
    beta, W, beta_step, W_step, trial = (lined(rows, width) for rows in (samples, inputs, samples, inputs, samples))
    return Memory(beta, W, beta_step, W_step, trial, np.zeros(samples, np.int64))


def lanes_of(labels: int, lanes: int, threads: int) -> list[Lane]:
    """Working space of so many threads for so many labels, where so many of them are lanes.

    A row behind a lane's own keeps what two lanes write out of one line of the cache.
    """
    width = width_of(labels)
    told, moves = lined(lanes * (GROUP + 1), width), lined(GROUP, width + LINE)
    told[:], moves[:] = 0, 0
    shared = told.reshape(lanes, GROUP + 1, width), moves, np.zeros((threads, 3 * LINE))
    return [Lane(apart(width), apart(width), lined(GROUP, width), *shared) for _ in range(threads)]


def parted(listing: Listing, lanes: int, spread: Spread = serially) -> tuple[Listing, Ints]:
    """The listing with inputs in ascending order, and `parts` by runs of inputs that have about as many entries.

    Several lanes need numba. Threads of `spread` share the samples.
    """
    if lanes == 1:
        return listing, np.stack([listing.indptr[:-1], listing.indptr[1:]], axis=1)
    drawn = listing.indices[np.random.default_rng(0).integers(len(listing.indices), size=SOME)]  # also of dense rows
    before = np.append(0, np.bincount(drawn, minlength=listing.inputs).cumsum())
    shares = np.interp(SOME * np.arange(1, lanes) / lanes, before, np.arange(len(before)))
    ends, parts = np.rint(shares).astype(np.int64), np.empty((len(listing.square), lanes + 1), np.int64)

    def some(held: Ints) -> bool:
        rows = slice(held[0], held[-1] + 1)
        place = listing.indptr[held[0] : held[-1] + 2], listing.indices, ends, parts[rows]
        return bool(compiled_function(divided, place, "boolean")(*place))

    everyone = np.arange(len(parts))
    if not all(spread(some, everyone)):
        rows = sparse.csr_array((listing.values, listing.indices, listing.indptr), (len(parts), listing.inputs))
        rows = rows.sorted_indices()
        listing = listing._replace(indices=rows.indices.astype(np.int64), values=rows.data)
        spread(some, everyone)
    return listing, parts


def divided(indptr, indices, ends, parts):
    """Where the entries of each row come to inputs from each of `ends` on; whether each row has its inputs in order."""
    last, falls = len(ends) + 1, 0
    for i in range(len(parts)):
        row = indices[indptr[i] : indptr[i + 1]]
        after = row[1:]
        for j in range(len(after)):
            falls += after[j] < row[j]
        parts[i, 0], parts[i, last] = indptr[i], indptr[i + 1]
        for k in range(1, last):
            end, before = ends[k - 1], 0
            for j in range(len(row)):
                before += row[j] < end
            parts[i, k] = indptr[i] + before
    return falls == 0
