"""The sizes of an expression's terms: nothing is subtracted, and numbers in front stay in front."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from workbench.judging.terms import sizes

A, B = np.array([[1.0, -1.0, 0.0], [2.0, 0.0, -3.0]]), np.array([1.0, -5.0])
Q = np.array([[1.0, -0.5, 0.0], [-0.5, 2.0, 0.0], [0.0, 0.0, 3.0]])
CASES = [  # of x with the sizes 1, 2, 3
    (lambda x: A @ x - B, [4, 16]),
    (lambda x: sparse.csr_array(A) @ x - B, [4, 16]),
    (lambda x: x[0] - x[1] - x[0], 4),
    (lambda x: -2 * x / -4, [0.5, 1, 1.5]),
    (lambda x: cp.sum_squares(A @ x - B), 272),
    (lambda x: cp.sum_squares(x) - 2 * x[0] + 3, 19),
    (lambda x: cp.norm(x, 1) - cp.norm_inf(x), 9),
    (lambda x: cp.norm(cp.multiply(x[1:], [2.0, -1.0])), 5),
    (lambda x: cp.pos(x - 1), [2, 3, 4]),
    (lambda x: cp.square(x), [1, 4, 9]),
    (lambda x: cp.quad_form(x, Q), 38),
    (lambda x: cp.huber(x), [1, 3, 5]),
    (lambda x: cp.Parameter(3, value=[-1.0, -1.0, 2.0]) @ x, 9),
    (lambda x: cp.Constant(np.array([[-1.0], [2.0]])), [[1], [2]]),
    (lambda x: -3 * cp.exp(x[0]), 3 + 3 / np.e),
    (lambda x: cp.inv_pos(x[1]), 1.5),
    (lambda x: cp.log(x[1]), 1 + np.log(2)),
    (lambda x: cp.entr(x[0]), 1),
]


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(("expression", "wanted"), CASES)
def test_sizes_of_terms(expression, wanted):
    x = cp.Variable(3)
    x.value = np.array([-1.0, 2.0, -3.0])
    found = sizes(expression(x), {x.id: np.array([-1.0, 2.0, -3.0])})
    np.testing.assert_allclose(found, wanted)
    assert np.shape(found) == expression(x).shape


def test_one_number_is_the_size_of_all_entries():
    x = cp.Variable((2, 2))
    np.testing.assert_array_equal(sizes(x - 1, {x.id: 3.0}), [[4, 4], [4, 4]])


def test_what_has_no_value_has_no_size_of_its_own():
    x, y = cp.Variable(), cp.Variable()
    assert sizes(x + y, {x.id: 3.0}) == 3.0
    assert sizes(cp.exp(y), {}) == 1.0
