"""A pool of cached cuts: what it holds, how a cut enters it, and what a visit of the oracle adds.

The cuts of one sample resemble one another: labellings of a word differ in a letter or two. So a cut
stores only the difference between its slope and the slope of a **parent**, the nearest earlier cut of its
sample (or the truth, whose slope is zero, if that is nearer):

    a_r = a_parent(r) + δ_r,     ⟨a_r, θ⟩ = ⟨a_parent(r), θ⟩ + ⟨δ_r, θ⟩

One pass over the cuts of a sample, parents first, gives all their scores; one pass backwards, each cut
handing its change of weight on to its parent, moves θ = −Σ β_r a_r/μ. Inner products ⟨a_r, a_s⟩ of cuts
of one sample are stored as a triangle; row r is computed by the same recursion when cut r arrives.

**Parts.** Where parts of an output can be chosen one by one, as labels of a chain that lie apart, a visit keeps the
parts in which the oracle's witness differs from that of the sample's heaviest cut, each as a cut of its own. Where
heights of parts add up, one of them is higher than that cut if the witness is, and the witness itself is not kept. The
weights of k parts do what those of 2^k whole outputs would, which come one a visit.

Plain loops within numba's subset, which share nothing but their arguments, so that threads may call them side by side.
A function that calls another takes it as an argument.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.contracts import Floats, Ints


class Pool(NamedTuple):
    """Cached cuts. Sample i has the cuts member[i, :count[i]], parents before children.

    used : (3,) how many cuts, entries of δ and inner products there are
    parent : (K,) place of the parent among its sample's cuts, −1 if δ is the whole slope
    first, last : (K,) where δ stands in (index, value);  row : (K,) where its inner products start
    idle : (K,) oracle visits to its sample since the cut last had weight
    weight : (K,) β, Σ_{r∈i} β_r = p_i;  before, step, trial : (K,) for `plane`
    """

    used: Ints
    count: Ints
    member: Ints
    witness: Ints
    offset: Floats
    parent: Ints
    first: Ints
    last: Ints
    index: Any
    value: Floats
    row: Ints
    product: Floats
    idle: Ints
    weight: Floats
    before: Floats
    step: Floats
    trial: Floats


class Point(NamedTuple):
    """θ (p,) of the weights β; `before`, `step`, `trial` are the θ of the pool's arrays of these names.

    Where θ has extra entries, these three hold their push d in place of θ.
    total : (p,) the sum of θ at moments of the last pass and its cached sweeps
    """

    theta: Floats
    total: Floats
    before: Floats
    step: Floats
    trial: Floats


class Desk(NamedTuple):
    """Working space: dense (p,) zeros, two slopes' entries, and four numbers a cut of one sample.

    met : (4,) over visits, Σ_i p_i max_r ∇_r − Σ_r β_r ∇_r; of visits that asked Σ_i p_i max_r ∇_r and max_ir ∇_r; and
        by how much D rose
    ratio : (q,) μ/h of the extra entries, the last q of θ, which weigh in inner products
    """

    dense: Floats
    indices: Ints
    values: Floats
    score: Floats
    height: Floats
    start: Floats
    change: Floats
    answer: Ints
    met: Floats
    ratio: Floats
    parts: Ints
    offsets: Floats


def empty_pool(n: int, width: int, slots: int, cuts: int, entries: int, products: int) -> Pool:
    """Room for so many cuts a sample and in all, entries of their δ, and inner products."""
    ints = [np.zeros(cuts, np.int64) for _ in range(5)]
    floats = [np.zeros(cuts) for _ in range(5)]
    return Pool(
        used=np.zeros(3, np.int64),
        count=np.zeros(n, np.int64),
        member=np.zeros((n, slots), np.int64),
        witness=np.zeros((cuts, width), np.int64),
        index=np.zeros(entries, np.uint32),
        value=np.zeros(entries),
        product=np.zeros(products),
        **dict(zip(("parent", "first", "last", "row", "idle"), ints, strict=True)),
        **dict(zip(("offset", "weight", "before", "step", "trial"), floats, strict=True)),
    )


def emptied(pool: Pool, slots: int, cuts: int, entries: int, products: int) -> Pool | None:
    """This pool without its cuts if it has that much room: its memory is at hand, and new memory takes long to come."""
    roomy = pool.member.shape[1] >= slots and len(pool.row) >= cuts
    if not (roomy and len(pool.index) >= entries and len(pool.product) >= products):
        return None
    for each in (pool.used, pool.count, pool.weight, pool.before, pool.step, pool.trial):
        each[:] = 0
    return pool


def desk(dim: int, width: int, most: int, slots: int, ratio: Floats, parts: int) -> Desk:
    return Desk(
        dense=np.zeros(dim),
        indices=np.zeros(2 * most, np.int64),
        values=np.zeros(2 * most),
        score=np.zeros(slots),
        height=np.zeros(slots),
        start=np.zeros(slots),
        change=np.zeros(slots),
        answer=np.zeros(width, np.int64),
        met=np.zeros(4),
        ratio=ratio,
        parts=np.zeros((parts, width), np.int64),
        offsets=np.zeros(parts),
    )


def whole(data, i, base, out, parts, offsets):
    """`parts_into` of kernels without: every witness is one part."""
    return 0


def insert(slope_into, data, i, witness, pool, desk, known):
    """Append the cut of `witness` to sample i; its place among the sample's cuts, or −1 if there is no room.

    known : (m + 1,) inner products with the sample's m cuts and with itself; of length 0 if they are to be computed
    """
    used, count, member, witnesses = pool.used, pool.count, pool.member, pool.witness
    parent, first, last, index, value = pool.parent, pool.first, pool.last, pool.index, pool.value
    row, product = pool.row, pool.product
    dense, indices, values, ratio = desk.dense, desk.indices, desk.values, desk.ratio
    plain = len(dense) - len(ratio)
    m, r, start, base = count[i], used[0], used[1], used[2]
    if m == member.shape[1] or r == len(row) or start + len(indices) > len(index) or base + m + 1 > len(product):
        return -1
    entries = slope_into(data, i, witness, indices, values)
    for k in range(entries):
        dense[indices[k]] += values[k]
    square, news = 0.0, len(known) == 0
    if news:
        for k in range(entries):
            j = indices[k]
            square += values[k] * dense[j] * (1.0 if j < plain else ratio[j - plain])
    else:
        square = known[m]
    nearest, distance = -1, square
    for a in range(m):
        s, dot = member[i, a], 0.0
        if news:
            if parent[s] >= 0:
                dot = product[base + parent[s]]
            for k in range(first[s], last[s]):
                j = index[k]
                dot += value[k] * dense[j] * (1.0 if j < plain else ratio[j - plain])
        else:
            dot = known[a]
        product[base + a] = dot
        apart = square - 2.0 * dot + product[row[s] + a]
        if apart < distance:
            nearest, distance = a, apart
    product[base + m] = square
    if nearest >= 0:
        more = slope_into(data, i, witnesses[member[i, nearest]], indices[entries:], values[entries:])
        for k in range(entries, entries + more):
            dense[indices[k]] -= values[k]
        entries += more
    end = start
    for k in range(entries):
        if dense[indices[k]] != 0.0:
            index[end], value[end] = indices[k], dense[indices[k]]
            dense[indices[k]] = 0.0
            end += 1
    for t in range(len(witness)):
        witnesses[r, t] = witness[t]
    parent[r], first[r], last[r], row[r] = nearest, start, end, base
    pool.idle[r], pool.weight[r] = 0, 0.0
    used[0], used[1], used[2] = r + 1, end, base + m + 1
    member[i, m], count[i] = r, m + 1
    return m


def moved_in(old, r, above, i, pool, known):
    """Append cut r of the pool `old`, whose parent is sample i's cut `above` by now, as `insert` does, but as it is.

    known : (m + 1,) inner products with the sample's m cuts and with itself
    """
    used, first, last = pool.used, old.first[r], old.last[r]
    m, s, start, base = pool.count[i], used[0], used[1], used[2]
    end = start + last - first
    if m == pool.member.shape[1] or s == len(pool.row) or end > len(pool.index) or base + m + 1 > len(pool.product):
        return -1
    for k in range(first, last):
        pool.index[start + k - first], pool.value[start + k - first] = old.index[k], old.value[k]
    for a in range(m + 1):
        pool.product[base + a] = known[a]
    for t in range(old.witness.shape[1]):
        pool.witness[s, t] = old.witness[r, t]
    pool.parent[s], pool.first[s], pool.last[s], pool.row[s] = above, start, end, base
    used[0], used[1], used[2] = s + 1, end, base + m + 1
    pool.member[i, m], pool.count[i] = s, m + 1
    return m


def place_of(witness, i, pool):
    """Where sample i's cut of `witness` stands among its cuts, −1 if it has none."""
    for a in range(pool.count[i]):
        kept, same = pool.witness[pool.member[i, a]], True
        for t in range(len(witness)):
            if kept[t] != witness[t]:
                same = False
                break
        if same:
            return a
    return -1


def asked(argmax_into, slope_into, parts_into, insert, place_of, data, i, theta, pool, desk):
    """Asks the oracle and keeps new cuts; the height of the oracle's cut, −∞ if there is no room.

    These are the parts in which its witness differs from that of the sample's heaviest cut, or the witness as a whole.
    """
    top = argmax_into(data, theta, i, desk.answer)
    m, used, heavy = pool.count[i], pool.used, pool.member[i, 0]
    for a in range(m):
        r = pool.member[i, a]
        if pool.weight[r] > pool.weight[heavy]:
            heavy = r
    pieces = parts_into(data, i, pool.witness[heavy], desk.answer, desk.parts, desk.offsets)
    if (
        m + 1 + pieces > pool.member.shape[1]
        or used[0] + 1 + pieces > len(pool.row)
        or used[1] + (1 + pieces) * len(desk.indices) > len(pool.index)
        or used[2] + (1 + pieces) * (m + 1 + pieces) > len(pool.product)
    ):
        return -np.inf
    for k in range(pieces):
        part = desk.parts[k]
        if place_of(part, i, pool) < 0:
            a = insert(slope_into, data, i, part, pool, desk, desk.height[:0])
            pool.offset[pool.member[i, a]] = desk.offsets[k]
    if pieces == 0 and place_of(desk.answer, i, pool) < 0:
        a = insert(slope_into, data, i, desk.answer, pool, desk, desk.height[:0])
        r, s = pool.member[i, a], 0.0
        while True:
            for k in range(pool.first[r], pool.last[r]):
                s += pool.value[k] * theta[pool.index[k]]
            if pool.parent[r] < 0:
                break
            r = pool.member[i, pool.parent[r]]
        pool.offset[pool.member[i, a]] = top - s
    return top
