"""Sequences as paths, for chains whose neighbouring pairs have features, and the scores of any chain's sequences.

A_ab(t) = ⟨A_ab, f_t⟩, f_t the row of `pairs` of the gap before letter t; A_ab without `pairs`
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.outputs._viterbi import Chained
from workbench.proofs.checker.outputs.tree import Tree
from workbench.proofs.checker.whole import Array, Rows, Whole, zeros


class Letters(Protocol):
    """What scores read of a chain: its letters X (N, p), whose sequence is `owner` (N,), and their k labels (N,)."""

    k: int
    p: int
    X: Rows
    labels: Array
    owner: Array
    offsets: Array
    lengths: Array
    path: Tree | None
    count_unit: int

    @property
    def unit(self) -> int: ...


def path_of(fields: Fields, offsets: Array) -> Tree:
    """The `tree` whose edges lead from each letter to the next of its sequence; `pairs` are their features."""
    ends = offsets - np.arange(len(offsets))
    at = np.arange(ends[-1]) - np.repeat(ends[:-1], np.diff(ends))
    edges = {"edges": np.column_stack([at, at + 1]), "ends": ends}
    fields.get("pairs")
    return Tree(Fields({**fields.arrays, **edges}, fields.of))


def chained(chain: Letters, w: Whole, samples: Array) -> Chained:
    """Of the samples' letters θ (N, K), A, and each truth's score (m,), all over the chain's unit times w's."""
    at = np.concatenate([np.arange(*chain.offsets[i : i + 2]) for i in samples.tolist()])
    ends, labels, k = np.cumsum(chain.lengths[samples]), chain.labels[at], chain.k
    unary = chain.X.scores(at, w.values[: k * chain.p].reshape(k, chain.p)) * (chain.unit // chain.X.unit)
    own, later = unary[np.arange(len(at)), labels], np.setdiff1d(np.arange(1, len(at)), ends)
    pairs = pair_scores(chain, w.values[k * chain.p :], at, later)
    own[later] += np.broadcast_to(pairs, (len(at), k, k))[later, labels[later - 1], labels[later]]
    starts = np.concatenate([[0], ends])
    return Chained(unary, pairs, np.add.reduceat(own, starts[:-1]), at, labels, starts, chain.unit * w.unit)


def pair_scores(chain: Letters, A: Array, at: Array, later: Array) -> Array:
    """A (1, K, K), or with `pairs` ⟨A_ab, f_t⟩ (N, K, K) of the letters `at`, 0 for those that are not `later`."""
    if chain.path is None:
        return A.reshape(1, chain.k, chain.k) * chain.unit
    found = zeros(len(at), chain.k, chain.k)
    features = chain.path.pairs[at[later] - 1 - chain.owner[at[later]]] * (chain.unit // chain.count_unit)
    found[later] = (features @ A.reshape(-1, chain.path.q).T).reshape(-1, chain.k, chain.k)
    return found
