"""Structures that keep the features of their true outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import taken
from workbench.contracts import Ints


class Featured(ABC):
    """Data of n samples; subclasses define `_features`, φ(x_i, y) of any samples and outputs."""

    n_samples: int
    truth: Ints

    @abstractmethod
    def _features(self, samples: Ints, outputs: Ints) -> sparse.csr_array: ...

    def features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        """φ(x_i, y) of these samples and outputs, (m, d)."""
        if np.array_equal(outputs, self.truth[samples]):
            return taken(self.truth_features, samples)
        return self._features(samples, outputs)

    @cached_property
    def truth_features(self) -> sparse.csr_array:
        """φ(x_i, y_i) of every sample, (n, d)."""
        return self._features(np.arange(self.n_samples), self.truth)
