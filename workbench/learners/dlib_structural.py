"""dlib's solve_structural_svm_problem: King's one-slack cutting planes with a cache of each sample's cuts.

    theirs   min ½‖w‖² + C/n Σ_i max_y (loss_i(y) + ⟨w, ψ_i(y)⟩ − ⟨w, ψ_i⟩)
    ours     min μ/2 ‖w‖² + Σ_i p_i max_z (⟨a_i(z), w⟩ + o_i(z)),
             C = 1/μ, ψ_i = 0, ψ_i(z) = n p_i a_i(z), loss_i(z) = n p_i o_i(z)

n counts the samples with p_i > 0. A hinge is positively homogeneous, so weights p_i may stand inside. The separation
oracle is our compiled kernel, so any formulation by cuts with r = μ/2 ‖w‖² goes through: labels, chains, matchings.
Slopes are handed over dense or sparse, whichever is shorter.

`budget` counts passes: after `budget`·n questions to the oracle the run is stopped and returns the w of the
last question. Without a limit dlib ends at `epsilon`, an absolute gap of the mean hinge. dlib has no seed.
"""

from __future__ import annotations

import time

import numpy as np

from workbench.arithmetic.compiled import available, entirely
from workbench.contracts import CutForm
from workbench.errors import MissingCapability
from workbench.learners._peers import needs, ridge

EPSILON = 1e-9
CACHE = 10  # cuts kept a sample
SPARSE = 2  # dense vectors pay if a slope may have more than one entry in so many


class Spent(Exception):
    """The budget is spent: the run ends here."""


class Separation:
    """What dlib asks: sizes, C, and for one sample and w the loss and slope of its highest cut.

    questions : asked so far;  rounds : how often the w of the questions has changed;  w : the present one
    aside : called with the CPU seconds that a question spent in Python, between dlib's code and our compiled code
    """

    learns_nonnegative_weights = False

    def __init__(self, problem, formulation, budget, observe=None, epsilon=EPSILON, cache=CACHE, aside=None):
        risk = ridge(formulation, problem, "dlib")
        oracle = formulation.oracle(problem) if isinstance(formulation, CutForm) else None
        kernel = oracle.kernel() if oracle else None
        if oracle is None or kernel is None or kernel.slope_into is None:
            raise MissingCapability("dlib needs cuts with slopes in entries; use soft-margin.")
        self.samples, self.C, self.epsilon, self.max_cache_size = risk.samples, 1 / risk.mu, epsilon, cache
        self.num_samples, self.num_dimensions = len(self.samples), oracle.dim
        self.use_sparse_feature_vectors = SPARSE * kernel.most < oracle.dim
        self.scales = len(self.samples) * risk.prices
        if available() and kernel.data:
            kernel = entirely(kernel)
        self.argmax_into, self.slope_into, self.data = kernel.argmax_into, kernel.slope_into, kernel.data
        self.answer = np.zeros(oracle.width, np.int64)
        self.indices, self.values = np.zeros(kernel.most, np.int64), np.zeros(kernel.most)
        self.w, self.last, self.questions, self.rounds = np.zeros(oracle.dim), -1, 0, 0
        self.most, self.observe, self.aside = budget * len(self.samples), observe, aside

    def get_truth_joint_feature_vector(self, k):
        return self.vector(0)

    def separation_oracle(self, k, w):
        """(n p_i o, n p_i a) of sample k's highest cut at w; dlib asks the samples in order, all at the same w."""
        began, copied = time.process_time(), 0.0
        if k <= self.last or not self.questions:
            self.w = np.array(list(w))
            copied = time.process_time() - began
            self.rounds += 1
            if self.observe:
                self.observe(self.w)
        if self.questions >= self.most:
            raise Spent
        self.last, self.questions = k, self.questions + 1
        i = self.samples[k]
        highest = self.argmax_into(self.data, self.w, i, self.answer)
        assert self.slope_into is not None  # as at the start
        count = self.slope_into(self.data, i, self.answer, self.indices, self.values)
        found = time.process_time()
        offset = highest - self.values[:count] @ self.w[self.indices[:count]]
        self.values[:count] *= self.scales[i]
        answer = float(self.scales[i] * offset), self.vector(count)
        if self.aside:
            self.aside(copied + time.process_time() - found)
        return answer

    def vector(self, count):
        """dlib's vector of the first entries of (indices, values)."""
        import dlib

        if self.use_sparse_feature_vectors:
            sparse = dlib.sparse_vector()
            sparse.extend(list(map(dlib.pair, self.indices[:count].tolist(), self.values[:count].tolist())))
            dlib.make_sparse_vector(sparse)  # sorted, repeated entries summed
            return sparse
        dense = np.zeros(self.num_dimensions)
        np.add.at(dense, self.indices[:count], self.values[:count])
        return dlib.vector(dense.tolist())


def observed(problem, formulation, budget, observe=None, epsilon=EPSILON, aside=None):
    """The weights; before that `observe(w)` is called whenever the oracle is asked at a new w, `aside` as above."""
    import dlib

    separation = Separation(problem, formulation, budget, observe, epsilon, aside=aside)
    try:
        return np.array(list(dlib.solve_structural_svm_problem(separation)))
    except Spent:
        return separation.w


@needs("dlib", "dlib-bin")
def fit(problem, formulation, budget, rng):
    """solve_structural_svm_problem, one-slack cutting planes with cached cuts."""
    return observed(problem, formulation, budget)


fit.observed = observed

NAMES = {"dlib": fit}
