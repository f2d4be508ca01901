"""BCFW: what a start at given dual weights takes."""

from __future__ import annotations

import tracemalloc

import numpy as np
from scipy import sparse

from workbench.contracts import enumerated
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.multiclass import Multiclass
from workbench.solvers.bcfw import BCFW


def test_a_start_takes_no_more_memory_than_its_blocks():
    """Cuts of sparse data stay sparse: an audit once made all of them dense, 23.8 GiB on 150 documents."""
    n, k, p = 20, 10, 2000
    X = sparse.random_array((n, p), density=0.01, format="csr", rng=np.random.default_rng(0))
    problem, form = Multiclass(X, np.arange(n) % k), SoftMargin(lam=0.1)
    samples, witnesses = enumerated(problem, np.arange(n))
    weights = np.full(len(samples), 1 / n / k)
    BCFW().init(form, problem)
    tracemalloc.start()
    state = BCFW().start(form, problem, samples, witnesses, weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    slopes, offsets = form.oracle(problem).rows(samples, witnesses)
    np.testing.assert_allclose(state.w, -(slopes.T @ weights) / 0.1, atol=1e-12)
    np.testing.assert_allclose(state.offsets.sum(), weights @ offsets)
    assert peak < 2 * state.blocks.nbytes < 8 * np.prod(slopes.shape) / 2
