"""Inputs divided by their scales s_j = max_i |x_ij|, so that no entry exceeds 1 in size; s_j = 1 for an input of zeros.

Zeros stay zeros, so sparse data stay sparse. Weights learned on such inputs keep the scales, and a file to predict is
divided by the same.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from workbench.contracts import Sourced
from workbench.errors import BadInput


def largest(X: sparse.csr_array) -> list[float]:
    """The scales s (p,) of X (n, p)."""
    found = abs(X).max(axis=0).toarray().ravel()
    return np.where(found > 0, found, 1.0).tolist()


def divided(X: sparse.csr_array, scales: list[float]) -> sparse.csr_array:
    """X (n, p) with entries x_ij / s_j."""
    return sparse.csr_array((X.data / np.array(scales)[X.indices], X.indices, X.indptr), shape=X.shape)


def learned_scales(problem: Sourced, inputs: int) -> list[float]:
    """The scales of the inputs that weights were learned on, 1 without any; `BadInput` if a file has spoilt them."""
    scales = [1.0] * inputs if problem.scales is None else problem.scales
    numbers = isinstance(scales, list) and all(isinstance(each, float | int) and math.isfinite(each) for each in scales)
    if not (numbers and len(scales) == inputs and min(scales) > 0):
        raise BadInput("The weights do not keep one positive scale for each of their inputs; learn them again.")
    return scales
