"""The five output structures (§3): what the arrays mean, which outputs there are, and the exact maximum over them.

    Δ_i(z) = φ(x_i, z) − φ(x_i, y_i),    ℓ_i(z) ≥ 0,    differs_i(z) = 1 if z ≠ y_i

`height(i, w, kind)` is h_i(w), the greatest over all outputs z of sample i of

    margin  ⟨w, Δ⟩ + ℓ        slack  ℓ·(⟨w, Δ⟩ + 1)        zero-one  ⟨w, Δ⟩ + 1 if z ≠ y_i, else 0
"""

import itertools
import math
from fractions import Fraction

from .files import need

ENUMERABLE = 200_000


class TooGreat(Exception):
    """There are more outputs than this checker lists."""


def value(kind, score, loss, differs):
    """The cut of an output of `score` ⟨w, Δ⟩."""
    if kind == "margin":
        return score + loss
    if kind == "slack":
        return loss * (score + 1)
    return score + 1 if differs else Fraction(0)


def dot(w, sparse):
    """⟨w, sparse⟩ of a list and a dict place → number."""
    return sum((w[place] * number for place, number in sparse.items()), Fraction(0))


def minus(left, right):
    """left − right of dicts place → number, zeros left out."""
    found = dict(left)
    for place, number in right.items():
        found[place] = found.get(place, 0) - number
    return {place: number for place, number in found.items() if number}


class Structure:
    """Sample weights `weights`, `n` samples, outputs of `width` whole numbers, features of `dim` places."""

    def delta(self, i, z):
        return minus(self.features(i, z), self.features(i, self.truth(i)))

    def listed(self, i):
        """All outputs of sample i in the order of §3."""
        if self.count(i) > ENUMERABLE:
            raise TooGreat(f"sample {i} has more than {ENUMERABLE} outputs")
        return self.outputs(i)

    def height(self, i, w, kind):
        return max(value(kind, dot(w, self.delta(i, z)), self.loss(i, z), z != self.truth(i)) for z in self.listed(i))

    def least_loss(self, i):
        """The least positive loss of an output of sample i, or None."""
        return min((loss for z in self.listed(i) if (loss := self.loss(i, z)) > 0), default=None)


class Sequences(Structure):
    """`multiclass` and `chain`: sample i is a list of places, each a row of X and a true label."""

    chain = False

    def __init__(self, read):
        self.k = read.classes()
        self.cost = read.costs(self.k)
        self.read_places(read)
        self.n = len(self.places)
        self.weights = read.weights(self.n)
        self.width = max(map(len, self.places))
        self.read_gaps(read)
        self.dim = self.k * self.p + (self.k**2 * self.gap_size if self.chain else 0)

    def read_runs(self, read):
        """The places of samples that have several, and whether the loss is divided by their number."""
        self.p, rows = read.rows("n_inputs")
        offsets = read.whole("offsets", (None,), 0)
        need(len(offsets) >= 2 and offsets[0] == 0 and offsets[-1] == len(rows), "offsets have wrong ends")
        need(all(a < b for a, b in itertools.pairwise(offsets)), "offsets do not rise")
        labels = read.whole("labels", (len(rows),), 0, self.k - 1)
        places = list(zip(rows, labels, strict=True))
        self.places = [places[a:b] for a, b in itertools.pairwise(offsets)]
        loss = read.array("loss", None, ()).item()
        need(loss in ("hamming-normalised", "hamming"), "loss is an unknown word")
        self.normalised = loss == "hamming-normalised"

    def read_gaps(self, read):
        """The features of each pair of neighbours, by sample: a single 1 if none are given, nothing beside chains."""
        counts = [len(places) - 1 for places in self.places]
        given = self.chain and "pairs" in read.arrays
        pairs = read.floats("pairs", (sum(counts), None)) if given else [[1] * self.chain] * sum(counts)
        self.gap_size = read.arrays["pairs"].shape[1] if given else 1
        need(self.gap_size >= 1, "pairs have no features")
        ends = itertools.accumulate(counts, initial=0)
        self.gaps = [pairs[a:b] for a, b in itertools.pairwise(ends)]

    def truth(self, i):
        return self.padded(label for _, label in self.places[i])

    def padded(self, labels):
        labels = tuple(labels)
        return labels + (-1,) * (self.width - len(labels))

    def is_output(self, i, z):
        length = len(self.places[i])
        return all(0 <= y < self.k for y in z[:length]) and all(y == -1 for y in z[length:])

    def count(self, i):
        return self.k ** len(self.places[i])

    def outputs(self, i):
        return map(self.padded, itertools.product(range(self.k), repeat=len(self.places[i])))

    def features(self, i, z):
        found = {}
        for (row, _), y in zip(self.places[i], z, strict=False):
            for j, x in row.items():
                found[y * self.p + j] = found.get(y * self.p + j, 0) + x
        if self.chain:
            for (y, y_next), gap in zip(itertools.pairwise(z[: len(self.places[i])]), self.gaps[i], strict=True):
                for j, x in enumerate(gap):
                    place = self.pair_place(y, y_next) + j
                    found[place] = found.get(place, 0) + x
        return found

    def pair_place(self, y, y_next):
        return self.k * self.p + (y * self.k + y_next) * self.gap_size

    def scale(self, i):
        return 1

    def loss(self, i, z):
        return sum(
            (self.cost[label][y] for (_, label), y in zip(self.places[i], z, strict=False)), Fraction(0)
        ) / self.scale(i)

    def least_loss(self, i):
        found = [c for _, label in self.places[i] for c in self.cost[label] if c > 0]
        return min(found) / self.scale(i) if found else None

    def scores(self, i, w):
        """⟨w, ·⟩ by place and label, and by gap and pair of neighbouring labels."""
        k, p = self.k, self.p
        nodes = [
            [sum((w[y * p + j] * x for j, x in row.items()), Fraction(0)) for y in range(k)]
            for row, _ in self.places[i]
        ]
        edges = [[[self.pair_score(w, gap, y, z) for z in range(k)] for y in range(k)] for gap in self.gaps[i]]
        return nodes, edges

    def pair_score(self, w, gap, y, y_next):
        start = self.pair_place(y, y_next)
        return sum((w[start + j] * x for j, x in enumerate(gap)), Fraction(0))

    def peaks(self, i, w, extra=None, tag=None):
        """{g: max of ⟨w, Δ_i(z)⟩ + Σ_t extra(t, z_t) over the outputs z of Σ_t tag(t, z_t) = g} (Viterbi)."""
        nodes, edges = self.scores(i, w)
        tables = None
        for t, node in enumerate(nodes):
            grown = {}
            for y in range(self.k):
                gain, step = node[y] + (extra(t, y) if extra else 0), tag(t, y) if tag else 0
                if tables is None:
                    grown[y, step] = gain
                    continue
                for (before, g), score in tables.items():
                    new = score + gain + edges[t - 1][before][y]
                    if (y, g + step) not in grown or grown[y, g + step] < new:
                        grown[y, g + step] = new
            tables = grown
        true = dot(w, self.features(i, self.truth(i)))
        found = {}
        for (_, g), score in tables.items():
            found[g] = max(found.get(g, score - true), score - true)
        return found

    def height(self, i, w, kind):
        labels, scale = [label for _, label in self.places[i]], self.scale(i)
        if kind == "margin":
            return self.peaks(i, w, lambda t, y: self.cost[labels[t]][y] / scale)[0]
        if kind == "slack":
            found = self.peaks(i, w, tag=lambda t, y: self.cost[labels[t]][y])
            return max(value(kind, score, cost / scale, True) for cost, score in found.items())
        found = self.peaks(i, w, tag=lambda t, y: int(y != labels[t]))
        return max(value(kind, score, None, errors > 0) for errors, score in found.items())


class Multiclass(Sequences):
    def read_places(self, read):
        self.p, rows = read.rows("n_inputs")
        labels = read.whole("labels", (len(rows),), 0, self.k - 1)
        self.places = [[place] for place in zip(rows, labels, strict=True)]


class Chain(Sequences):
    chain = True

    def read_places(self, read):
        self.read_runs(read)

    def scale(self, i):
        return len(self.places[i]) if self.normalised else 1


class Linear(Structure):
    width = 1

    def __init__(self, read):
        self.dim, self.rows = read.rows("n_features")
        self.n = len(self.rows)
        self.targets = read.floats("targets", (self.n,))
        self.weights = read.weights(self.n)

    def truth(self, i):
        return (int(self.targets[i] >= 0),)

    def is_output(self, i, z):
        return z[0] in (0, 1)

    def count(self, i):
        return 2

    def outputs(self, i):
        return iter([(0,), (1,)])

    def features(self, i, z):
        return self.rows[i] if z[0] else {}

    def loss(self, i, z):
        return Fraction(z != self.truth(i))


class Multilabel(Structure):
    """Sets of labels: label j is right or wrong on its own."""

    def __init__(self, read):
        self.width = read.classes()
        self.p, self.rows = read.rows("n_inputs")
        self.n, self.dim = len(self.rows), self.width * self.p
        self.true = [tuple(row) for row in read.whole("truth", (self.n, self.width), 0, 1)]
        self.weights = read.weights(self.n)

    def truth(self, i):
        return self.true[i]

    def is_output(self, i, z):
        return all(y in (0, 1) for y in z)

    def count(self, i):
        return 2**self.width

    def outputs(self, i):
        return itertools.product((0, 1), repeat=self.width)

    def features(self, i, z):
        return {j * self.p + place: x for j, y in enumerate(z) if y for place, x in self.rows[i].items()}

    def loss(self, i, z):
        return Fraction(sum(y != true for y, true in zip(z, self.true[i], strict=True)))

    def least_loss(self, i):
        return Fraction(1)

    def height(self, i, w, kind):
        """By the number m of wrong labels: the best are those whose change gains most."""
        blocks = [w[j * self.p : (j + 1) * self.p] for j in range(self.width)]
        gains = [dot(own, self.rows[i]) * (-1 if y else 1) for own, y in zip(blocks, self.true[i], strict=True)]
        best = list(itertools.accumulate(sorted(gains, reverse=True), initial=Fraction(0)))
        return max(value(kind, score, Fraction(m), m > 0) for m, score in enumerate(best))


class Matching(Structure):
    def __init__(self, read):
        self.dim, rows = read.rows("n_inputs")
        self.shapes = read.whole("shapes", (None, 2), 1, 1 << 15)
        self.n = len(self.shapes)
        need(self.n >= 1 and sum(J * K for J, K in self.shapes) == len(rows), "shapes do not fit the rows of X")
        self.width = max(J for J, _ in self.shapes)
        self.true = [tuple(row) for row in read.whole("truth", (self.n, self.width))]
        self.read_annotated(read)
        self.extra, self.lost = read.floats("false_positive", (), 0), read.floats("false_negative", (), 0)
        need(self.extra > 0 and self.lost > 0, "a cost is not positive")
        self.weights = read.weights(self.n)
        starts = itertools.accumulate((J * K for J, K in self.shapes), initial=0)
        self.edges = [
            [rows[start + j * K : start + (j + 1) * K] for j in range(J)]
            for start, (J, K) in zip(starts, self.shapes, strict=False)
        ]
        fits = (self.is_output(i, z) and (z[0] == -2) == (i in self.annotated) for i, z in enumerate(self.true))
        need(all(fits), "a row of truth is no matching")

    def read_annotated(self, read):
        """The annotations that are no matchings, sample → links."""
        self.annotated = {}
        if "annotated" not in read.arrays:
            return
        links = read.whole("annotated", (None, 3), 0)
        need(len(links) > 0 and all(a < b for a, b in itertools.pairwise(links)), "annotated links do not rise")
        for i, j, k in links:
            need(i < self.n and j < self.shapes[i][0] and k < self.shapes[i][1], "an annotated link lies outside")
            self.annotated.setdefault(i, set()).add((j, k))
        for own in self.annotated.values():
            shared = any(len({link[side] for link in own}) < len(own) for side in (0, 1))
            need(shared, "annotated links are a matching")

    def truth(self, i):
        return self.true[i]

    def links(self, i, z):
        """The links of an output."""
        return self.annotated[i] if z[0] == -2 else {(j, k) for j, k in enumerate(z) if k >= 0}

    def is_output(self, i, z):
        J, K = self.shapes[i]
        if i in self.annotated and z == (-2,) * J + (-1,) * (self.width - J):
            return True
        used = [k for k in z[:J] if k != -1]
        return all(0 <= k < K for k in used) and len(set(used)) == len(used) and all(k == -1 for k in z[J:])

    def count(self, i):
        J, K = self.shapes[i]
        return sum(math.comb(J, m) * math.perm(K, m) for m in range(min(J, K) + 1)) + (i in self.annotated)

    def outputs(self, i):
        J, K = self.shapes[i]

        def grow(start):
            if len(start) == J:
                yield start + (-1,) * (self.width - J)
                return
            for k in range(-1, K):
                if k == -1 or k not in start:
                    yield from grow((*start, k))

        return itertools.chain(grow(()), [self.true[i]] if i in self.annotated else [])

    def features(self, i, z):
        found = {}
        for j, k in self.links(i, z):
            for place, x in self.edges[i][j][k].items():
                found[place] = found.get(place, 0) + x
        return found

    def loss(self, i, z):
        pairs, true = (self.links(i, y) for y in (z, self.true[i]))
        return self.extra * len(pairs - true) + self.lost * len(true - pairs)

    def least_loss(self, i):
        J, K = self.shapes[i]
        if i in self.annotated:
            inside = [[Fraction(int((j, k) in self.annotated[i])) for k in range(K)] for j in range(J)]
            return self.lost * (len(self.annotated[i]) - assignment(inside))
        matched = sum(k >= 0 for k in self.true[i])
        found = ([self.lost] if matched else []) + ([self.extra] if matched < min(J, K) else [])
        return min(found, default=None)

    def height(self, i, w, kind):
        true, (J, K) = self.true[i], self.shapes[i]
        score = [[dot(w, x) for x in row] for row in self.edges[i]]
        base, gold = dot(w, self.features(i, true)), self.links(i, true)
        if kind == "margin":
            for j, k in itertools.product(range(J), range(K)):
                score[j][k] += -self.lost if (j, k) in gold else self.extra
            best = assignment(score) - base + self.lost * len(gold)
            return max(best, 0) if i in self.annotated else best
        if i in self.annotated:
            return max(0, assignment(score) - base + 1)
        others = [assignment(score, (j, true[j])) for j in range(J)]  # z ≠ y_i: some z_j is not y_ij
        return max(0, *(best - base + 1 for best in others if best is not None))


def assignment(score, without=None):
    """The greatest total of `score` over matchings of rows and columns; `without` = (row, column or −1 for none) is
    left out, None if nothing is left. Hungarian method by shortest augmenting paths, with a column "none" for each row.
    """
    J, K = len(score), len(score[0])
    ban = 1 + 2 * sum(abs(number) for row in score for number in row)
    cost = [[-number for number in row] + [Fraction(0)] * J for row in score]
    if without:
        j, k = without
        for column in range(K, K + J) if k < 0 else [k]:
            cost[j][column] = ban
    u, v, owner = [Fraction(0)] * J, [Fraction(0)] * (K + J), [-1] * (K + J)
    for j in range(J):
        best, came, done, row, last = [None] * (K + J), [-1] * (K + J), [False] * (K + J), j, -1
        while True:
            for column in range(K + J):
                if not done[column]:
                    reach = cost[row][column] - u[row] - v[column]
                    if best[column] is None or reach < best[column]:
                        best[column], came[column] = reach, last
            column = min((c for c in range(K + J) if not done[c]), key=lambda c: best[c])
            step = best[column]
            u[j] += step
            for c in range(K + J):
                if done[c]:
                    u[owner[c]] += step
                    v[c] -= step
                else:
                    best[c] -= step
            done[column], last = True, column
            if owner[column] < 0:
                break
            row = owner[column]
        while column >= 0:
            before = came[column]
            owner[column] = owner[before] if before >= 0 else j
            column = before
    total = sum((cost[row][column] for column, row in enumerate(owner) if row >= 0), Fraction(0))
    return None if total >= ban / 2 and without else -total


class Motif(Structure):
    width = 2

    def __init__(self, read, states=None, hideable=False):
        self.m = read.whole("length", (), 1)
        lengths = read.whole("lengths", (None,), self.m)
        self.n, m = len(lengths), self.m
        codes = read.whole("alphabet", (None,), 0, 255, "|u1") if "alphabet" in read.arrays else [0, 1, 2, 3]
        need(len(set(codes)) == len(codes) >= 2, "the alphabet has a letter twice")
        self.q = len(codes)
        letters = read.whole("letters", (sum(lengths),), 0, self.q - 1, "|u1")
        ends = list(itertools.accumulate(lengths, initial=0))
        self.letters = [letters[a:b] for a, b in itertools.pairwise(ends)]
        labels = read.whole("labels", (self.n,), 0, 1)
        positions = read.whole("positions", (self.n,), -1)
        spans = read.whole("spans", (self.n, 2), 0)
        for i, (first, last) in enumerate(spans):
            need(first <= last <= lengths[i] - m, f"the span of sample {i} is wrong")
            inside = positions[i] == -1 or (labels[i] == 1 and first <= positions[i] <= last)
            need(inside, f"the position of sample {i} is out of its span")
        self.windows = [range(first, last + 1) for first, last in spans]
        if states is not None:
            need(len(states) == self.n, "there are not as many states as samples")
            for i, state in enumerate(states):
                need(state in self.windows[i] if labels[i] else state == -1, f"the state of sample {i} is wrong")
            positions = states
            self.windows = [[h] if y else windows for h, y, windows in zip(states, labels, self.windows, strict=True)]
        self.hidden = any(y and h < 0 for h, y in zip(positions, labels, strict=True))
        need(hideable or not self.hidden, "a position is hidden")
        self.true = list(zip(labels, positions, strict=True))
        self.weights = read.weights(self.n)
        self.dim = self.q * (m + 1)

    def truth(self, i):
        return self.true[i]

    def is_output(self, i, z):
        return z == (0, -1) or (z[0] == 1 and z[1] in self.windows[i])

    def count(self, i):
        return 1 + len(self.windows[i])

    def outputs(self, i):
        return itertools.chain([(0, -1)], ((1, h) for h in self.windows[i]))

    def features(self, i, z):
        found, (y, h) = {}, z
        for t, letter in enumerate(self.letters[i]):
            place = self.q * (t - h if y and h <= t < h + self.m else self.m) + letter
            found[place] = found.get(place, 0) + Fraction(1)
        return found

    def loss(self, i, z):
        return Fraction(z[0] != self.true[i][0])


class Views(Structure):
    width = 2

    def __init__(self, read, states=None, hideable=False):
        self.k = read.classes()
        offsets = read.whole("offsets", (None,), 0)
        need(len(offsets) >= 2 and offsets[0] == 0, "offsets have wrong ends")
        need(all(a < b for a, b in itertools.pairwise(offsets)), "offsets do not rise")
        self.p, rows = read.rows("n_inputs", offsets[-1])
        self.n, self.dim = len(offsets) - 1, self.k * self.p
        self.views = [rows[a:b] for a, b in itertools.pairwise(offsets)]
        labels = read.whole("labels", (self.n,), 0, self.k - 1)
        given = read.whole("states", (self.n,), -1)
        for i, (views, state) in enumerate(zip(self.views, given, strict=True)):
            need(state < len(views) and (state >= 0 or len(views) > 1), f"the state of sample {i} is wrong")
        if states is not None:
            need(len(states) == self.n, "there are not as many states as samples")
            for i, (state, known) in enumerate(zip(states, given, strict=True)):
                fits = 0 <= state < len(self.views[i]) and known in (-1, state)
                need(fits, f"the state of sample {i} is wrong")
            given = states
        self.only, self.hidden = list(given), -1 in given
        need(hideable or not self.hidden, "a view is hidden")
        self.true = list(zip(labels, given, strict=True))
        self.weights = read.weights(self.n)

    def truth(self, i):
        return self.true[i]

    def is_output(self, i, z):
        inside = 0 <= z[0] < self.k and 0 <= z[1] < len(self.views[i])
        return inside and (z[0] != self.true[i][0] or self.only[i] in (-1, z[1]))

    def count(self, i):
        return self.k * len(self.views[i])

    def outputs(self, i):
        every = itertools.product(range(self.k), range(len(self.views[i])))
        return (z for z in every if self.is_output(i, z))

    def features(self, i, z):
        return {z[0] * self.p + j: x for j, x in self.views[i][z[1]].items()}

    def loss(self, i, z):
        return Fraction(z[0] != self.true[i][0])
