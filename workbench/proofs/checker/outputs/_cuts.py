"""Heaviest labellings of two labels over whole numbers, by a flow.

With gains c_v of the label 1 and θ_e ≥ 0 for neighbours that are alike, any flow f with |f_e| ≤ θ_e bounds every
labelling:

    Σ_v c_v y_v + Σ_e θ_e [y_u = y_v]  ≤  Σ_e θ_e + Σ_v (c_v − Σ_e f_ve)₊          f_ve leaves v

since Σ_v y_v (c_v − Σ_e f_ve) + Σ_e f_e (y_u − y_v) − θ_e |y_u − y_v| ≤ Σ_v (c_v − Σ_e f_ve)₊. So the flow need not
be trusted; it is the maximum because a largest flow leaves no path from a positive rest to a negative one (Dinic's
blocking flows find it).
"""

from __future__ import annotations

import numpy as np

from workbench.proofs.checker.faults import Malformed
from workbench.proofs.checker.whole import Array

Lists = list[list[int]]


def heaviest_cut(gains: Array, theta: Array, edges: Array) -> int:
    """max over y ∈ {0, 1}^V of Σ c_v y_v + Σ θ_e [y_u = y_v]."""
    flow, rest = largest_flow(gains.tolist(), theta.tolist(), edges.tolist()), gains.copy()
    if any(abs(f) > t for f, t in zip(flow, theta.tolist(), strict=True)):
        raise Malformed("a flow exceeds its capacities, which is a bug of the checker")
    for f, (u, v) in zip(flow, edges.tolist(), strict=True):
        rest[u] -= f
        rest[v] += f
    return int(theta.sum()) + int(np.maximum(rest, 0).sum())


def largest_flow(rest: list[int], theta: list[int], edges: list[list[int]]) -> list[int]:
    """The flow (E,) from first to second ends that takes most from positive to negative rests (V,)."""
    room = [each for t in theta for each in (t, t)]  # of arc 2e, u → v, and of arc 2e + 1, v → u
    heads = [node for u, v in edges for node in (v, u)]
    arcs: list[list[int]] = [[] for _ in rest]
    for e, (u, v) in enumerate(edges):
        arcs[u].append(2 * e)
        arcs[v].append(2 * e + 1)
    while True:
        level = levels(rest, room, heads, arcs)
        if not any(r < 0 and at >= 0 for r, at in zip(rest, level, strict=True)):
            return [t - room[2 * e] for e, t in enumerate(theta)]
        tried = [0] * len(rest)
        for source in range(len(rest)):
            while rest[source] > 0 and level[source] == 0 and pushed(source, rest, room, heads, arcs, level, tried):
                pass


def levels(rest: list[int], room: list[int], heads: list[int], arcs: list[list[int]]) -> list[int]:
    """The number of arcs from the nearest positive rest, −1 where none leads."""
    level = [0 if r > 0 else -1 for r in rest]
    queue = [v for v, at in enumerate(level) if at == 0]
    for v in queue:
        for arc in arcs[v]:
            if room[arc] > 0 and level[heads[arc]] < 0:
                level[heads[arc]] = level[v] + 1
                queue.append(heads[arc])
    return level


def pushed(
    source: int, rest: list[int], room: list[int], heads: list[int], arcs: Lists, level: list[int], tried: list[int]
) -> bool:
    """Push along one path of rising levels from the source to a negative rest; False if there is none left."""
    path, v = [], source
    while rest[v] >= 0 or v == source:
        if tried[v] == len(arcs[v]):
            if v == source:
                return False
            v = heads[path.pop() ^ 1]
            tried[v] += 1
            continue
        arc = arcs[v][tried[v]]
        if room[arc] > 0 and level[heads[arc]] == level[v] + 1:
            path.append(arc)
            v = heads[arc]
        else:
            tried[v] += 1
    amount = min([rest[source], -rest[v], *(room[arc] for arc in path)])
    for arc in path:
        room[arc] -= amount
        room[arc ^ 1] += amount
    rest[source] -= amount
    rest[v] += amount
    return True
