"""Tables whose columns have names: weights and columns are matched by name, whatever the order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.errors import BadInput


@pytest.mark.parametrize("kind", [wb.Multiclass, wb.Linear])
def test_columns_of_a_data_frame_are_matched_by_name(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["p", "q", "r"])
    y = np.where(X["p"] - 2 * X["r"] > 0, 1, -1)
    formulation = wb.SoftMargin() if kind is wb.Multiclass else wb.WeightedRisk()
    solution = wb.solve(formulation, kind(X, y))
    told = solution.predict(X)
    np.testing.assert_array_equal(solution.predict(X[["r", "p", "q"]].assign(more=1.0)), told)
    np.testing.assert_array_equal(solution.predict(X.to_numpy()), told)
    with pytest.raises(BadInput, match="no column q, which the weights were learned on"):
        solution.predict(X.rename(columns={"q": "s"}))
    assert solution.problem.weight_names()[-1].endswith("r")


def test_columns_that_are_numbered_have_no_names():
    problem = wb.Multiclass(pd.DataFrame(np.eye(3)), [0, 1, 0])
    assert problem.names is None
    assert problem.weight_names()[0] == "0: x[0]"
