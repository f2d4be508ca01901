"""Entries of the detective's table against their formulas, and their constants on both sides of the boundary."""

from __future__ import annotations

import numpy as np

from workbench.judging.conventions.layouts import nearest_order


def test_the_nearest_order_is_the_one_of_least_distance():
    rows = np.random.default_rng(0).normal(size=(4, 3))
    order = np.array([2, 0, 3, 1])
    best = rows[order] + 0.01
    np.testing.assert_array_equal(nearest_order(rows, best), order)
