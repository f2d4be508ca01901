"""The tables that ship with scikit-learn: read from its files, equal to what its loaders give."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.registries import registry


@pytest.mark.parametrize("name", ["digits", "iris", "wine", "breast-cancer"])
def test_our_arrays_equal_scikit_learns(name):
    datasets = pytest.importorskip("sklearn.datasets")
    theirs, labels = getattr(datasets, f"load_{name.replace('-', '_')}")(return_X_y=True)
    X, y = registry("problem").modules[name].source(name)
    np.testing.assert_array_equal(X, theirs)
    np.testing.assert_array_equal(y, labels)
    assert (X.dtype, y.dtype) == (theirs.dtype, np.int64)
