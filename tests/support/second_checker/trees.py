"""The kind of proof `tree` (§7): branch and bound over the samples of `self-paced`, replayed node by node.

A sample's *terms* are those of its states, c_i(max over cuts of ⟨a, w⟩ + o)₊, and with several states that of their
mean state. Where nothing is hidden there is one state a sample, and the cuts of its term are those of all outputs.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .enclosures import roots
from .files import exact, need
from .formulations import INF, square
from .proofs import Ends, read, take
from .structures import dot, minus


@dataclass
class Cut:
    """A cut of a term: the term's number, slope, offset, ‖slope‖ rounded up."""

    term: int
    slope: dict
    offset: Fraction
    norm: Fraction


@dataclass
class Node:
    """low ≤ τ ≤ high for each term; for each sample the reach R and the term that stands for it; the bound."""

    low: list
    high: list
    reach: list
    stands: list
    bound: Fraction | float = -INF

    def child(self):
        return Node(list(self.low), list(self.high), list(self.reach), list(self.stands))


def norm(slope):
    return roots(square(slope.values()))[1]


class Search:
    """The terms and cuts of a problem; samples are counted among those of positive weight."""

    def __init__(self, problem):
        self.data, self.size = problem.data, problem.size
        C, K, weights = problem.settings["C"], problem.settings["K"], self.data.weights
        self.priced, total = [i for i, w in enumerate(weights) if w], sum(weights)
        self.c, self.kappa = [C * weights[i] / total for i in self.priced], [weights[i] / K for i in self.priced]
        self.hidden = getattr(self.data, "hidden", False)
        self.cuts, self.owners = [], []  # owners: the sample of each term
        self.states, self.means, self.spread = [], {}, {}  # of each sample: its states; of those with several
        if not self.hidden:
            for j, i in enumerate(self.priced):
                self.states.append([len(self.owners)])
                self.grow(j, [(self.data.delta(i, z), self.data.loss(i, z)) for z in self.data.listed(i)])
            return
        rivals, truths = [], []
        for i in self.priced:
            listed = [(self.data.features(i, z), self.data.loss(i, z)) for z in self.data.listed(i)]
            truths.append([phi for phi, loss in listed if not loss])
            rivals.append([each for each in listed if each[1] > 0])
        for j, own in enumerate(truths):
            first = len(self.owners)
            self.states.append(list(range(first, first + len(own))))
            for true in own:
                self.grow(j, [(minus(phi, true), loss) for phi, loss in rivals[j]])
        for j, own in enumerate(truths):
            if len(own) > 1:
                mean = {}
                for place, number in itertools.chain(*(phi.items() for phi in own)):
                    mean[place] = mean.get(place, 0) + number / len(own)
                self.means[j] = len(self.owners)
                self.grow(j, [(minus(phi, mean), loss) for phi, loss in rivals[j]])
                away = [minus(phi, mean) for phi in own]
                self.spread[j] = [(slope, norm(slope)) for slope in away]

    def grow(self, j, cuts):
        """One more term, of sample j."""
        self.cuts += [Cut(len(self.owners), slope, offset, norm(slope)) for slope, offset in cuts]
        self.owners.append(j)

    def objective(self, point):
        """½‖w‖² + Σ min(t_i(w), κ_i), t_i the least term of a state."""
        heights = [Fraction(0)] * len(self.owners)
        for cut in self.cuts:
            heights[cut.term] = max(heights[cut.term], dot(point, cut.slope) + cut.offset)
        least = (min(self.c[j] * min(heights[s] for s in own), self.kappa[j]) for j, own in enumerate(self.states))
        return square(point) / 2 + sum(least, Fraction(0))

    def root(self):
        terms = len(self.owners)
        reach = [INF if j in self.means else Fraction(0) for j in range(len(self.states))]
        stands = [self.means.get(j, own[0]) for j, own in enumerate(self.states)]
        return Node([Fraction(0)] * terms, [INF] * terms, reach, stands)

    def choose(self, node, branch):
        """Step 1: state branch/2 is its sample's best and kept, or the sample of that state is left out."""
        s = branch // 2
        j = self.owners[s]
        own, kappa = self.states[j], self.kappa[j]
        if branch % 2:
            for t in own:
                node.low[t] = max(node.low[t], kappa)
        else:
            node.high[s] = min(kappa, *(node.high[t] for t in own))
        node.stands[j] = s

    def bound(self, node, multipliers):
        """q and D of step 2."""
        point, mass, D = [Fraction(0)] * self.size, [Fraction(0)] * len(self.states), Fraction(0)
        for z, x in multipliers.items():
            cut = self.cuts[z]
            j = self.owners[cut.term]
            if node.stands[j] != cut.term:
                continue
            mass[j] += x
            D += x * cut.offset
            for place, number in cut.slope.items():
                point[place] -= x * number
        D -= square(point) / 2
        for j, Lambda in enumerate(mass):
            found = self.least(node, j, Lambda)
            if found == -INF:
                return point, -INF
            D += found
        return point, D

    def least(self, node, j, Lambda):
        """The least of min(t, κ) − Λt/c over the box of the term that stands for sample j, less ΛR for a mean state."""
        term, away = node.stands[j], 0
        ends = node.low[term], node.high[term]
        if term == self.means.get(j):
            if node.reach[j] == INF:
                return -INF if Lambda else Fraction(0)
            away = self.c[j] * node.reach[j]
            ends = [max(t - away, Fraction(0)) for t in ends]
        if ends[1] == INF and Lambda:
            return -INF
        values = [self.kappa[j] if t == INF else min(t, self.kappa[j]) - Lambda * t / self.c[j] for t in ends]
        return min(values) - Lambda * away / self.c[j]

    def shrink(self, node, point, radius_squared):
        """Step 3: low rounded down, high and reach rounded up; nothing for an infinite radius."""
        if radius_squared == INF:
            return
        radius, terms = roots(radius_squared)[1], len(self.owners)
        least, most = [Fraction(0)] * terms, [Fraction(0)] * terms
        for cut in self.cuts:
            score, reach = dot(point, cut.slope) + cut.offset, radius * cut.norm
            least[cut.term] = max(least[cut.term], score - reach)
            most[cut.term] = max(most[cut.term], score + reach)
        for t, j in enumerate(self.owners):
            node.low[t] = max(node.low[t], self.c[j] * least[t])
            node.high[t] = min(node.high[t], self.c[j] * most[t])
        for j, away in self.spread.items():
            farthest = max(dot(point, slope) + radius * length for slope, length in away)
            node.reach[j] = min(node.reach[j], max(farthest, Fraction(0)))

    def covered(self, branches):
        """Whether children of these branches cover their parent."""
        return -1 in branches or any(branches >= {2 * own[0] + 1, *(2 * s for s in own)} for own in self.states)


def tree(problem, arrays):
    theta, _ = read(problem, arrays, "tree")
    search = Search(problem)
    nodes, multipliers = read_tree(arrays, search)
    U = search.objective(theta)
    return Ends(least_bound(search, nodes, multipliers, U), U, U, search.objective(problem.start()))


def read_tree(arrays, search):
    """The nodes (parent, branch, cutoff), and λ of each as a dict cut → number."""
    cuts, states = len(search.cuts), sum(map(len, search.states))
    R = int(take(arrays, "tree_cuts", "<i8", ()))
    need(cuts == R, f"tree_cuts is {R}, and there are {cuts}")
    parents = take(arrays, "tree_parents", "<i8", (None,)).tolist()
    m = len(parents)
    branches = take(arrays, "tree_branches", "<i8", (m,)).tolist()
    cutoffs = take(arrays, "tree_cutoffs", "<f8", (m,))
    need(not np.isnan(cutoffs).any(), "a cutoff is NaN")
    indptr = take(arrays, "tree_indptr", "<i8", (m + 1,)).tolist()
    data = exact(take(arrays, "tree_data", "<f8", (None,)))
    indices = take(arrays, "tree_indices", "<i8", (None,)).tolist()
    need(all(x >= 0 for x in data), "a λ is negative")
    need(all(0 <= z < R for z in indices), "a λ stands on no cut")
    need(indptr[0] == 0 and indptr[-1] == len(data) == len(indices), "tree_indptr has wrong ends")
    need(all(a <= b for a, b in itertools.pairwise(indptr)), "tree_indptr falls")
    need(m >= 1 and parents[0] == 0 and branches[0] == -1, "the root is wrong")
    need(all(0 <= parents[v] < v for v in range(1, m)), "a parent does not stand before its child")
    need(all(-1 <= branch < 2 * states for branch in branches), "a branch is on no state")
    firsts = {own[0] for own in search.states}
    odd = (branch // 2 for branch in branches if branch >= 0 and branch % 2)
    need(all(state in firsts for state in odd), "a branch leaves a sample out by a state that is not its first")
    multipliers = []
    for first, last in itertools.pairwise(indptr):
        node = {}
        for z, x in zip(indices[first:last], data[first:last], strict=True):
            node[z] = node.get(z, 0) + x
        multipliers.append(node)
    ends = [x if math.isinf(x) else Fraction(x) for x in cutoffs.tolist()]
    return list(zip(parents, branches, ends, strict=True)), multipliers


def least_bound(search, rows, multipliers, U):
    """L: the least bound over the nodes that are not covered."""
    nodes, below = [], [set() for _ in rows]
    for v, (parent, branch, cutoff) in enumerate(rows):
        if v:
            node = nodes[parent].child()
            below[parent].add(branch)
            if branch >= 0:
                search.choose(node, branch)
        else:
            node = search.root()
            search.shrink(node, [Fraction(0)] * search.size, 2 * max(cutoff, U))
        point, D = search.bound(node, multipliers[v])
        if D > -INF:
            search.shrink(node, point, 2 * max(max(cutoff, U) - D, 0))
        own = INF if any(a > b for a, b in zip(node.low, node.high, strict=True)) else D
        node.bound = max(own, nodes[parent].bound) if v else own
        nodes.append(node)
    return min(node.bound for node, branches in zip(nodes, below, strict=True) if not search.covered(branches))
