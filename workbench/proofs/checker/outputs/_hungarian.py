"""Heaviest matchings over whole numbers, by a cover.

What is returned for the heaviest matching is the weight Σ_j u_j + Σ_k v_k of a *cover*: u, v ≥ 0 with u_j + v_k ≥
g_jk for all j, k. No matching outweighs a cover, whatever the steps that led to it; it is the maximum because the
Hungarian method ends with equality.
"""

from __future__ import annotations

import numpy as np

from workbench.proofs.checker.whole import Array, zeros

FREE = -1  # without a mate
FAR = float("inf")


def worth(gains: Array, mates: Array) -> int:
    """The weight of the matching with these k of each j (J,)."""
    j = np.flatnonzero(mates >= 0)
    return int(gains[j, mates[j]].sum())


def heaviest_rival(gains: Array, mates: Array) -> int:
    """The weight of a heaviest matching other than the given one.

    Any other lacks a link of the given one, or has all of them and more.
    """
    weights = []
    for j in np.flatnonzero(mates >= 0):
        without = gains.copy()
        without[j, mates[j]] = -1  # which is in no heaviest matching
        weights.append(heaviest(without))
    room = np.delete(gains[mates < 0], mates[mates >= 0], axis=1)
    if room.size:
        weights.append(worth(gains, mates) + (heaviest(room) or int(room.max())))
    return max(weights)


def heaviest(gains: Array) -> int:
    """The weight of a heaviest matching for whole gains (J, K) of any sign: that of a cover, rows entering one by
    one.
    """
    rows, columns = gains.shape
    u, v, mate, mates = zeros(rows), zeros(columns), np.full(columns, FREE), np.full(rows, FREE)
    for new in range(rows):
        entered, reached = {new: 0}, np.full(columns, FAR, object)
        parent, settled = np.full(columns, FREE), np.zeros(columns, bool)
        row, here, leaver, length = new, 0, new, u[new]
        while True:
            distance = here + u[row] + v - gains[row]
            closer = (distance < reached) & ~settled
            reached[closer], parent[closer] = distance[closer], row
            column = int(np.where(settled, FAR, reached).argmin())
            nearest = reached[column]
            if settled[column] or nearest >= length:
                column, mates[leaver] = mates[leaver], FREE
                break
            if mate[column] < 0:
                length = nearest
                break
            settled[column] = True
            row, here = int(mate[column]), nearest
            entered[row] = here
            if here + u[row] < length:
                leaver, length = row, here + u[row]
        for j, at in entered.items():
            u[j] -= length - at
        v[settled] += length - reached[settled]
        while column >= 0:
            row = parent[column]
            former = mates[row]
            mates[row], mate[column] = column, row
            column = former
    v = np.maximum((gains - u[:, None]).max(axis=0), 0)  # the lightest v that covers with this u
    return int(np.maximum(u, 0).sum() + v.sum())
