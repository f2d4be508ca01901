"""A largest flow over whole numbers: shortest augmenting paths, a blocking flow a phase (Dinic 1970).

Nodes of positive excess are sources, of negative ones sinks. Returned is what the flow leaves of the excesses; `sent`
never exceeds a capacity, so whatever was found is a flow.
"""

from __future__ import annotations


def excesses(excess: list[int], edges: list[list[int]], theta: list[int]) -> list[int]:
    """The excesses after a largest flow along edges (u, v) of capacity θ ≥ 0 either way."""
    size, left = len(excess), list(excess)
    near: list[list[int]] = [[] for _ in range(size)]  # arcs 2e from u to v, 2e + 1 back
    head, room = [], []
    for e, ((u, v), capacity) in enumerate(zip(edges, theta, strict=True)):
        near[u].append(2 * e)
        near[v].append(2 * e + 1)
        head += [v, u]
        room += [capacity, capacity]
    while (level := levels(left, near, head, room)) is not None:
        turn = [0] * size
        for source in range(size):
            path, here = [], source
            while left[source] > 0:
                if left[here] < 0:
                    amount = min([left[source], -left[here], *(room[a] for a in path)])
                    for a in path:
                        room[a] -= amount
                        room[a ^ 1] += amount
                    left[source] -= amount
                    left[here] += amount
                    path, here = [], source
                    continue
                arcs = near[here]
                while turn[here] < len(arcs):
                    a = arcs[turn[here]]
                    if room[a] > 0 and level[head[a]] == level[here] + 1:
                        break
                    turn[here] += 1
                if turn[here] < len(arcs):
                    path.append(arcs[turn[here]])
                    here = head[path[-1]]
                elif path:
                    here = head[path.pop() ^ 1]
                    turn[here] += 1
                else:
                    break
    return left


def levels(left: list[int], near: list[list[int]], head: list[int], room: list[int]) -> list[int] | None:
    """Distances from the sources, −1 out of reach; None if no sink is within it."""
    level = [0 if each > 0 else -1 for each in left]
    queue, found = [v for v, each in enumerate(left) if each > 0], False
    for v in queue:
        for a in near[v]:
            if room[a] > 0 and level[head[a]] < 0:
                level[head[a]] = level[v] + 1
                found = found or left[head[a]] < 0
                queue.append(head[a])
    return level if found else None
