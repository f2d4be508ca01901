"""The output structures `tree`, `graph`, `flow` and `structured` (§3), every maximum by listing all outputs."""

import itertools
from fractions import Fraction

from .files import Unknown, need
from .structures import Sequences, Structure, dot


class Networks(Sequences):
    """`tree` and `graph`: the places of a sample are its nodes; edges[i] are (u, v, row of `pairs`)."""

    signed = ()

    def read_places(self, read):
        self.read_runs(read)
        edges = read.whole("edges", (None, 2), 0)
        pairs = read.floats("pairs", (len(edges), None))
        self.q = read.arrays["pairs"].shape[1]
        need(self.q >= 1, "pairs have no column")
        ends = read.whole("ends", (len(self.places) + 1,), 0)
        need(ends[0] == 0 and ends[-1] == len(edges), "ends have wrong ends")
        need(all(a <= b for a, b in itertools.pairwise(ends)), "ends fall")
        found = [(u, v, row) for (u, v), row in zip(edges, pairs, strict=True)]
        self.edges = [found[a:b] for a, b in itertools.pairwise(ends)]
        for nodes, own in zip(self.places, self.edges, strict=True):
            need(all(u != v and u < len(nodes) and v < len(nodes) for u, v, _ in own), "an edge joins no two nodes")
        self.read_rest(read)

    def scale(self, i):
        return len(self.places[i]) if self.normalised else 1

    def pair_class(self, a, b):
        return self.k * a + b

    def features(self, i, z):
        found = super().features(i, z)
        for u, v, row in self.edges[i]:
            c = self.pair_class(z[u], z[v])
            if c is not None:
                for j, x in enumerate(row, self.k * self.p + c * self.q):
                    found[j] = found.get(j, 0) + x
        return found

    def height(self, i, w, kind):
        return Structure.height(self, i, w, kind)


class Tree(Networks):
    def read_rest(self, read):
        for nodes, own in zip(self.places, self.edges, strict=True):
            parents = {v: u for u, v, _ in own}
            need(len(parents) == len(own), "a node has two parents")
            for node in range(len(nodes)):
                for _ in nodes:
                    node = parents.get(node, node)
                need(node not in parents, "the edges of a tree hold a circle")

    @property
    def dim(self):
        return self.k * self.p + self.k**2 * self.q

    @dim.setter
    def dim(self, _):
        pass


class Graph(Networks):
    def read_rest(self, read):
        need(all(x >= 0 for own in self.edges for _, _, row in own for x in row), "a pair's feature is negative")
        self.oracle = read.array("oracle", None, ()).item()
        self.shares = None
        if self.oracle == "enclosed":
            shares = read.hint("shares", (sum(map(len, self.edges)), self.k))
            need(all(0 <= s <= 1 for row in shares for s in row), "a share is out of range")
            self.shares = shares
        self.signed = range(self.k * self.p, self.k * self.p + self.q)

    @property
    def dim(self):
        return self.k * self.p + self.q

    @dim.setter
    def dim(self, _):
        pass

    def pair_class(self, a, b):
        return 0 if a == b else None

    def height(self, i, w, kind):
        """h_i, or the bound by shares: Σ_v max_a (θ_v(a) + Σ_{e∋v} λ_ev(a)), with the loss."""
        if self.shares is None:
            return super().height(i, w, kind)
        nodes, first = self.scores(i, w)[0], sum(map(len, self.edges[:i]))
        for (_, label), node in zip(self.places[i], nodes, strict=True):
            for a in range(self.k):
                node[a] += self.cost[label][a] / self.scale(i)
        for share, (u, v, row) in zip(self.shares[first:], self.edges[i], strict=False):
            weight = dot(w, dict(enumerate(row, self.k * self.p)))
            for a in range(self.k):
                nodes[u][a] += share[a] * weight
                nodes[v][a] += (1 - share[a]) * weight
        return sum(map(max, nodes)) - dot(w, self.features(i, self.truth(i)))


class Flow(Structure):
    """Detections with links; arcs[i][j] = (entry, exit, detection, {k: link}) as rows of X."""

    def __init__(self, read):
        self.dim = sum(read.whole("blocks", (4,), 0))
        need(self.dim >= 1, "blocks have no column")
        rows = read.rows(None, p=self.dim)[1]
        sizes = read.whole("sizes", (None,), 1)
        self.n, self.width = len(sizes), max(sizes, default=0)
        counts = read.whole("counts", (sum(sizes),), 0)
        heads = read.whole("heads", (sum(counts),), 0)
        need(len(rows) == 3 * len(counts) + len(heads), "X has not a row for each arc")
        row, head, count = iter(rows), iter(heads), iter(counts)
        self.arcs = []
        for size in sizes:
            sample = []
            for j in range(size):
                entry, exit_, detection = next(row), next(row), next(row)
                ends = [next(head) for _ in range(next(count))]
                need(all(j < k < size for k in ends), "a link does not lead on")
                need(all(a < b for a, b in itertools.pairwise(ends)), "the links of a detection do not rise")
                sample.append((entry, exit_, detection, {k: next(row) for k in ends}))
            self.arcs.append(sample)
        self.true = [tuple(z) for z in read.whole("truth", (self.n, self.width))]
        self.extra, self.lost = read.floats("false_positive", (), 0), read.floats("false_negative", (), 0)
        need(self.extra > 0 and self.lost > 0, "a cost is not positive")
        self.weights = read.weights(self.n)
        need(all(self.is_output(i, z) for i, z in enumerate(self.true)), "a row of truth is no output")

    def truth(self, i):
        return self.true[i]

    def is_output(self, i, z):
        size = len(self.arcs[i])
        used = [k for k in z[:size] if k != -1]
        fits = all(k in (-1, j) or k in arcs[3] for j, (k, arcs) in enumerate(zip(z, self.arcs[i], strict=False)))
        return fits and len(set(used)) == len(used) and all(k == -1 for k in z[size:])

    def count(self, i):
        total = 1
        for arcs in self.arcs[i]:
            total *= 2 + len(arcs[3])
        return total

    def outputs(self, i):
        choices = [(-1, j, *arcs[3]) for j, arcs in enumerate(self.arcs[i])]
        padding = (-1,) * (self.width - len(choices))
        return (z + padding for z in itertools.product(*choices) if self.is_output(i, z + padding))

    def parts(self, i, z):
        """Rows of X of the arcs in z, by what they are."""
        found, led = {}, set(z)
        for j, (k, (entry, exit_, detection, links)) in enumerate(zip(z, self.arcs[i], strict=False)):
            if k == j:
                continue
            found["detection", j] = detection
            if j not in led:
                found["entry", j] = entry
            if k == -1:
                found["exit", j] = exit_
            else:
                found["link", j, k] = links[k]
        return found

    def features(self, i, z):
        found = {}
        for row in self.parts(i, z).values():
            for place, x in row.items():
                found[place] = found.get(place, 0) + x
        return found

    def loss(self, i, z):
        arcs, true = ({arc for arc in self.parts(i, y) if arc[0] in ("detection", "link")} for y in (z, self.true[i]))
        return Fraction(self.extra * len(arcs - true) + self.lost * len(true - arcs))


class Structured(Structure):
    """Outputs are rows of X, each with an owner and a loss; rows 0 … n−1 are the true ones."""

    width = 1

    def __init__(self, read):
        if not read.array("listed", "|b1", ()).item():
            raise Unknown("a structure that is not listed")
        self.dim, self.rows = read.rows("n_features")
        self.losses = read.floats("losses", (len(self.rows),), 0)
        self.weights = read.weights(None)
        self.n = len(self.weights)
        owners = read.whole("owners", (len(self.rows),), 0, self.n - 1)
        need(owners[: self.n] == list(range(self.n)), "the first rows are not the true outputs")
        need(not any(self.losses[: self.n]), "a true output has a loss")
        for name in ("source", "names"):
            read.array(name, "|u1", (None,))
        self.own = [[] for _ in range(self.n)]
        for row, owner in enumerate(owners):
            self.own[owner].append((row,))

    def truth(self, i):
        return (i,)

    def is_output(self, i, z):
        return z in self.own[i]

    def count(self, i):
        return len(self.own[i])

    def outputs(self, i):
        return iter(self.own[i])

    def features(self, i, z):
        return self.rows[z[0]]

    def loss(self, i, z):
        return self.losses[z[0]]
