"""The data of small problems as tables, written anew: nothing is taken from the workbench but the data.

slopes A_i (Y_i, d)   a_i(z) = φ(x_i, z) − φ(x_i, y_i) of all outputs z        losses L_i (Y_i,)   ℓ_i(z)
"""

from __future__ import annotations

from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from workbench.contracts import Floats, Ints

if TYPE_CHECKING:
    from workbench.contracts import Formulation, Problem
    from workbench.formulations.cost_learning import NormalizedCostLearning, SimplexCostLearning
    from workbench.outputs.chain import Chain
    from workbench.outputs.linear import Linear
    from workbench.outputs.matching import Matching
    from workbench.outputs.multiclass import Multiclass

Output = int | tuple[int, ...]  # as the views write it: a label, or the labels or links in order


class View:
    """The data as tables: slopes[i] (Y_i, d), losses[i] (Y_i,), p (n,). `own[i]` is the row of the truth."""

    def read(self, problem: Problem, formulation: Formulation) -> None:
        self.load(problem, formulation)
        self.n = problem.n_samples
        self.p = self.prices(problem.weights)
        listed = [self.outputs(i) for i in range(self.n)]
        self.own = [outputs.index(self.truth(i)) for i, outputs in enumerate(listed)]
        self.slopes = [self.differences(i, outputs) for i, outputs in enumerate(listed)]
        self.losses = [np.array([self.loss(i, y) for y in outputs]) for i, outputs in enumerate(listed)]
        self.d = self.slopes[0].shape[1]

    def prices(self, weights: Floats) -> Floats:
        return weights / weights.sum()

    def differences(self, i: int, outputs: list[Output]) -> Floats:
        """A_i, (Y_i, d)."""
        return np.array([self.features(i, y) for y in outputs]) - self.features(i, self.truth(i))

    def scores(self, i: int, w: Floats) -> Floats:
        """⟨a_i(z), w⟩ + ℓ_i(z) of all outputs, (Y_i,)."""
        return self.slopes[i] @ w + self.losses[i]

    def argmax(self, i: int, w: Floats) -> int:
        return int(self.scores(i, w).argmax())


class Labels(View):
    """Multiclass: φ(x, y) = e_y ⊗ x."""

    def load(self, problem: Multiclass, formulation: Formulation) -> None:
        self.X, self.labels, self.cost = problem.X.toarray(), problem.labels, problem.cost
        self.k = len(self.cost)

    def outputs(self, i: int) -> list[int]:
        return list(range(self.k))

    def truth(self, i: int) -> int:
        return int(self.labels[i])

    def features(self, i: int, y: int) -> Floats:
        return np.outer(np.arange(self.k) == y, self.X[i]).ravel()

    def loss(self, i: int, y: int) -> float:
        return self.cost[self.truth(i), y]


class Signs(View):
    """Two labels: φ(x, 0) = 0, φ(x, 1) = x, and 0/1 loss."""

    def load(self, problem: Linear, formulation: Formulation) -> None:
        self.X, self.labels = problem.X.toarray(), problem.labels

    def outputs(self, i: int) -> list[int]:
        return [0, 1]

    def truth(self, i: int) -> int:
        return int(self.labels[i])

    def features(self, i: int, y: int) -> Floats:
        return y * self.X[i]

    def loss(self, i: int, y: int) -> float:
        return float(y != self.truth(i))


class Words(View):
    """Chains: letters by label and pairs of neighbours, Σ_t cost / T, found by Viterbi."""

    def load(self, problem: Chain, formulation: Formulation) -> None:
        cuts, self.k = problem.offsets[1:-1], problem.n_classes
        self.words = np.split(problem.letters.toarray(), cuts)
        self.labels, self.cost = np.split(problem.labels, cuts), problem.cost

    def outputs(self, i: int) -> list[tuple[int, ...]]:
        return list(product(range(self.k), repeat=len(self.words[i])))

    def truth(self, i: int) -> tuple[int, ...]:
        return tuple(self.labels[i].tolist())

    def features(self, i: int, y: tuple[int, ...]) -> Floats:
        unary, pairs = np.zeros((self.k, self.words[i].shape[1])), np.zeros((self.k, self.k))
        for letter, label in zip(self.words[i], y, strict=True):
            unary[label] += letter
        for before, after in self.neighbours(y):
            pairs[before, after] += 1
        return np.concatenate([unary.ravel(), pairs.ravel()])

    def neighbours(self, y: tuple[int, ...]) -> list[tuple[int, int]]:
        return list(pairwise(y))

    def loss(self, i: int, y: tuple[int, ...]) -> float:
        return self.cost[list(self.truth(i)), list(y)].sum() / len(y)

    def argmax(self, i: int, w: Floats) -> int:
        """The number of the best sequence, found by dynamic programming: its labels are the digits of the number."""
        word, truth = self.words[i], self.labels[i]
        unary, pairs = np.split(w, [self.k * word.shape[1]])
        local = word @ unary.reshape(self.k, -1).T + self.augmented(i, truth)
        best, back = local[0], []
        for scores in local[1:]:
            best, origin = self.forward(best, pairs.reshape(self.k, self.k), scores)
            back.append(origin)
        labels = [int(best.argmax())]
        for origin in self.backwards(back):
            labels.append(int(origin[labels[-1]]))
        return int(np.polyval(labels[::-1], self.k))

    def augmented(self, i: int, truth: Ints) -> Floats:
        """What each label at each position adds to the loss, (T, k)."""
        return self.cost[truth] / len(truth)

    def forward(self, best: Floats, pairs: Floats, scores: Floats) -> tuple[Floats, Ints]:
        """The best scores of all prefixes one longer, by last label (k,), and the labels before (k,)."""
        reach = best[:, None] + pairs
        return reach.max(axis=0) + scores, reach.argmax(axis=0)

    def backwards(self, back: list[Ints]) -> list[Ints]:
        return back[::-1]


class Links(View):
    """Matchings: the sum of the features of links; each false link costs c⁺, each missed one c⁻."""

    def load(self, problem: Matching, formulation: Formulation) -> None:
        self.edges = [
            problem.edges[a:b].toarray().reshape(j, k, -1)
            for a, b, j, k in zip(problem.starts, problem.starts[1:], problem.heights, problem.widths, strict=False)
        ]
        self.gold = [tuple(row[:j].tolist()) for row, j in zip(problem.truth, problem.heights, strict=True)]
        self.false_positive, self.false_negative = problem.false_positive, problem.false_negative

    def outputs(self, i: int) -> list[tuple[int, ...]]:
        """For every row its column, or −1."""
        rows, columns, _ = self.edges[i].shape
        every = product(range(-1, columns), repeat=rows)
        return [y for y in every if len(set(linked := [k for k in y if k >= 0])) == len(linked)]

    def truth(self, i: int) -> tuple[int, ...]:
        return self.gold[i]

    def features(self, i: int, y: tuple[int, ...]) -> Floats:
        return sum((self.edges[i][j, k] for j, k in enumerate(y) if k >= 0), np.zeros(self.edges[i].shape[2]))

    def loss(self, i: int, y: tuple[int, ...]) -> float:
        false = sum(k >= 0 and k != gold for k, gold in zip(y, self.gold[i], strict=True))
        missed = sum(gold >= 0 and k != gold for k, gold in zip(y, self.gold[i], strict=True))
        return self.false_positive * false + self.false_negative * missed


class Costs(Labels):
    """Cost learning: slopes in θ = (w, b, v), costs by unordered pairs of labels; sums, not means."""

    def load(self, problem: Multiclass, formulation: NormalizedCostLearning | SimplexCostLearning) -> None:
        super().load(problem, formulation)
        self.formulation, self.K, self.pairs = formulation, formulation.K, list(combinations(range(self.k), 2))
        counts = np.bincount(self.labels, problem.weights, self.k)
        self.expected = np.array([counts[y] + counts[z] for y, z in self.pairs])

    def prices(self, weights: Floats) -> Floats:
        return weights

    def features(self, i: int, y: int) -> Floats:
        return np.concatenate([super().features(i, y), self.label(y), self.charge(i, y)])

    def label(self, y: int) -> Floats:
        return np.arange(self.k) == y

    def charge(self, i: int, y: int) -> Floats:
        """K c_i(y), (m,)."""
        return self.K * np.array([{y, self.truth(i)} == {*pair} for pair in self.pairs])

    def loss(self, i: int, y: int) -> float:
        return 0.0


VIEWS = {
    "multiclass": Labels,
    "uncentred": Labels,
    "chain": Words,
    "matching": Links,
    "linear": Signs,
    "costs": Costs,
    "shares": Costs,
}
