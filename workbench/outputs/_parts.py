"""Outputs that are sets of parts: the links of a `Matching`, the arcs of the paths of a `Flow`.

    φ(x, y) = Σ of the features of the parts in y            ℓ(y_i, y) = c⁺ |y ∖ y_i| + c⁻ |y_i ∖ y|

Both classes derive from `Parts`, which computes features and loss of a batch from the parts that its outputs use.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.arithmetic.arrays import sparse_product
from workbench.contracts import Floats, Ints, Shown
from workbench.outputs._featured import Featured

MOST_OUTPUTS = 100_000  # of a sample, up to which a structure lists them


class Parts(Featured, Shown):
    """Data of n samples whose outputs are sets of parts; subclasses define `used` and `mistakes`.

    parts : (N, d) CSR, the features of every part of every sample
    false_positive, false_negative : c⁺ and c⁻
    """

    n_samples: int
    truth: Ints
    magnitude: Floats
    max_loss: Floats
    false_positive: float
    false_negative: float

    @property
    @abstractmethod
    def parts(self) -> sparse.csr_array: ...

    @abstractmethod
    def used(self, samples: Ints, outputs: Ints) -> tuple[Ints, Ints]:
        """(number in the batch, row of `parts`) of every part of the outputs, by number and row."""

    @abstractmethod
    def mistakes(self, samples: Ints, outputs: Ints) -> tuple[Ints, Ints]:
        """|y ∖ y_i| and |y_i ∖ y| for a batch, (m,) each."""

    def _features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        """Σ of the outputs' parts, (m, d)."""
        number, rows = self.used(samples, outputs)
        ends = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=len(samples)))])
        pick = sparse.csr_array((np.ones(len(rows)), rows, ends), shape=(len(samples), self.parts.shape[0]))
        sums = sparse_product(pick, self.parts)
        sums.sort_indices()
        return sums

    @cached_property
    def exact_features(self) -> bool:
        """Whether every sum of features is exact."""
        return summed_exactly(self.parts.data, float(self.magnitude.max()))

    @cached_property
    def exact_loss(self) -> bool:
        """Whether every sum of costs is exact."""
        return summed_exactly(np.array([self.false_positive, self.false_negative]), float(self.max_loss.max()))

    def loss(self, samples: Ints, outputs: Ints) -> Floats:
        wrong, missed = self.mistakes(samples, outputs)
        return self.false_positive * wrong + self.false_negative * missed


def summed_exactly(values: NDArray, largest: float) -> bool:
    """Whether sums up to `largest` are exact: all values multiples of one 2⁻ˢ, sums below 2⁵³ of it."""
    scales = (2.0**s for s in range(0, 53, 4))
    return any(2 * largest * s < 2.0**53 and not (values * s % 1).any() for s in scales)


def unweighted(arrays: dict[str, NDArray], rng: np.random.Generator) -> dict[str, NDArray]:
    """A problem's arrays without sample weights, half of the time with whole numbers for features."""
    arrays = arrays | {"weights": np.ones(len(arrays["weights"]))}
    return arrays | ({"data": np.round(2 * arrays["data"])} if rng.random() < 0.5 else {})
