"""Inputs as CSR matrices: the user's own arrays stay as they are, whoever shares them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from workbench.arithmetic.arrays import checked_inputs

ORDERS = {
    "in order": ([0, 1, 0, 2], [0, 2, 4]),
    "out of order": ([1, 0, 2, 0], [0, 2, 4]),
    "twice": ([0, 0, 2, 1], [0, 3, 4]),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("writable", [True, False])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_matrices_of_the_user_stay_as_they_are(order, writable, kind):
    """Two matrices that share their arrays are still what they were, and what comes back has each entry once."""
    indices, starts = map(np.array, ORDERS[order])
    values = np.arange(1.0, 5.0)
    for each in (indices, values):
        each.setflags(write=writable)
    given, other = kind((values, indices, starts), (2, 3)), kind((values, indices, np.array([0, 1, 4])), (2, 3))
    before = [each.toarray() for each in (given, other)]
    kept = indices.tolist(), values.tolist(), given.indptr.tolist()
    found = checked_inputs(given)
    assert found.has_canonical_format
    assert (found.toarray() == before[0]).all()
    assert [each.toarray().tolist() for each in (given, other)] == [each.tolist() for each in before]
    assert (given.indices.tolist(), given.data.tolist(), given.indptr.tolist()) == kept
