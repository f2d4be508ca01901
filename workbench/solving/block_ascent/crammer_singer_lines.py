"""Rows of labels in the ascent for single labels (crammer_singer.py), a line of the cache at a time.

What belongs to labels has room for w, the least multiple of eight from k on, with zeros behind the last label. Scores
and steps are made for eight labels at a time, a line of the cache, in eight variables: the compiler computes them side
by side (`packing` in arithmetic/compiled.py), sums in the same order. A call takes as long as a few entries, so one
serves several samples: those at the places of `order` from `place` on, of whose entries those of the lanes from `lane`
to before `until` count; `parts` (n, L + 1) says which these are.

Plain loops within numba's subset.
"""


def scored(indices, values, parts, order, place, count, lane, until, W, found):
    """found[g] (blocks, LINE) = Σ_j values_j W[indices_j] over the entries of sample order[place + g], g < count.

    Two lines at a time, so that the processor need not wait for one sum before it adds to the next.
    """
    blocks = W.shape[1]
    for g in range(count):
        i = order[place + g]
        low, high = parts[i, lane], parts[i, until]
        for b in range(0, blocks - 1, 2):
            a0, a1, a2, a3, a4, a5, a6, a7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            b0, b1, b2, b3, b4, b5, b6, b7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(low, high):
                value, row, other = values[j], W[indices[j], b], W[indices[j], b + 1]
                a0 += value * row[0]
                a1 += value * row[1]
                a2 += value * row[2]
                a3 += value * row[3]
                a4 += value * row[4]
                a5 += value * row[5]
                a6 += value * row[6]
                a7 += value * row[7]
                b0 += value * other[0]
                b1 += value * other[1]
                b2 += value * other[2]
                b3 += value * other[3]
                b4 += value * other[4]
                b5 += value * other[5]
                b6 += value * other[6]
                b7 += value * other[7]
            row = found[g, b]
            row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7] = a0, a1, a2, a3, a4, a5, a6, a7
            row = found[g, b + 1]
            row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7] = b0, b1, b2, b3, b4, b5, b6, b7
        if blocks % 2 == 1:
            b = blocks - 1
            a0, a1, a2, a3, a4, a5, a6, a7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(low, high):
                value, row = values[j], W[indices[j], b]
                a0 += value * row[0]
                a1 += value * row[1]
                a2 += value * row[2]
                a3 += value * row[3]
                a4 += value * row[4]
                a5 += value * row[5]
                a6 += value * row[6]
                a7 += value * row[7]
            row = found[g, b]
            row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7] = a0, a1, a2, a3, a4, a5, a6, a7


def pushed(indices, values, parts, order, place, first, count, step, lane, until, lines, W):
    """W[indices_j] −= values_j lines[g] (blocks, LINE) over the entries of sample order[place + g].

    g = first, first + step, … < count
    """
    for g in range(first, count, step):
        i = order[place + g]
        low, high = parts[i, lane], parts[i, until]
        for b in range(W.shape[1]):
            line = lines[g, b]
            a0, a1, a2, a3, a4, a5, a6, a7 = line[0], line[1], line[2], line[3], line[4], line[5], line[6], line[7]
            if abs(a0) + abs(a1) + abs(a2) + abs(a3) + abs(a4) + abs(a5) + abs(a6) + abs(a7) > 0.0:
                for j in range(low, high):
                    value, row = values[j], W[indices[j], b]
                    row[0] -= value * a0
                    row[1] -= value * a1
                    row[2] -= value * a2
                    row[3] -= value * a3
                    row[4] -= value * a4
                    row[5] -= value * a5
                    row[6] -= value * a6
                    row[7] -= value * a7
