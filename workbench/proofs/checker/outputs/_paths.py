"""Heaviest matchings of few pairs over whole numbers: shortest augmenting paths, one row after the other.

Returned is u ≥ 0 (size,), the rows' half of a cover u_j + v_k ≥ e_jk; callers find the lightest v themselves. At the
end u and that v add up to the weight of a heaviest matching (the Hungarian method on lists of pairs).
"""

from __future__ import annotations

FAR = float("inf")


def heaviest(size: int, tails: list[int], heads: list[int], edges: list[int]) -> list[int]:
    """u of rows 0 … size − 1 for pairs tails – heads of whole gains `edges`; those ≤ 0 are never taken."""
    near: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    for j, k, gain in zip(tails, heads, edges, strict=True):
        if gain > 0:
            near[j].append((k, gain))
    u, v, mate, mates = [0] * size, [0] * size, [-1] * size, [-1] * size
    for new in range(size):
        u[new] = max((gain - v[k] for k, gain in near[new]), default=0)
        u[new] = max(u[new], 0)
        row, here, leaver, length = new, 0, new, u[new]
        entered, reached, parent, settled = {}, {}, {}, set()
        column = -1
        while length > here:
            entered[row] = here
            if here + u[row] < length:
                leaver, length = row, here + u[row]
            for k, gain in near[row]:
                distance = here + u[row] + v[k] - gain
                if k not in settled and distance < reached.get(k, FAR):
                    reached[k], parent[k] = distance, row
            column, nearest = -1, length
            for k, distance in reached.items():
                if k not in settled and distance < nearest:
                    column, nearest = k, distance
            if column < 0:
                break
            if mate[column] < 0:
                length = nearest
                break
            settled.add(column)
            row, here = mate[column], nearest
        for j, at in entered.items():
            u[j] -= length - at
        for k in settled:
            v[k] += length - reached[k]
        if column < 0:
            column, mates[leaver] = mates[leaver], -1
        while column >= 0:
            row = parent[column]
            former, mates[row] = mates[row], column
            mate[column] = row
            column = former
    return u
