"""The sizes of an expression's terms: nothing is subtracted, and numbers in front stay in front."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from workbench.judging import terms as module
from workbench.judging.terms import FAR, reach, reached, sizes, terms_in

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
    (lambda x: cp.power(x[1], -0.5), 1 + 2**-0.5),
    (lambda x: cp.power(x, 0), [1, 1, 1]),
    (lambda x: cp.sqrt(x[1]), 2**0.5),
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


def test_sparse_matrices_are_not_written_out():
    """A matrix of 10¹² entries, 8 TB."""
    x = cp.Variable(1_000_000)
    found = sizes(sparse.eye_array(1_000_000, format="csr") * -2.0 @ x, {x.id: 3.0})
    assert (found.min(), found.max()) == (6.0, 6.0)


def test_one_cone_has_one_size_and_an_array_of_cones_one_each():
    t, x, many, rows = cp.Variable(), cp.Variable(3), cp.Variable(2), cp.Variable((2, 3))
    given = {t.id: 5.0, x.id: np.array([1.0, -2.0, 3.0]), many.id: [1.0, 2.0], rows.id: [[1, 1, 1], [1, 2, 3]]}
    for cone in (cp.SOC(t, x), cp.SOC(t, x[:, None]), cp.SOC(t, x[None], axis=1)):
        assert (terms_in(cone, given).tolist(), terms_in(cone, given).shape) == (11.0, ())
    assert terms_in(cp.SOC(many, rows, axis=1), given).tolist() == [4.0, 8.0]
    assert terms_in(cp.SOC(many, rows.T), given).tolist() == [4.0, 8.0]


def test_the_least_finite_bound_gives_a_size():
    for bounds, least in (([-0.5, 3], 0.5), ([0, 0.25], 0.25), ([0, np.inf], None), ([0, 0], None), ([1e-16, 1], 1.0)):
        x = cp.Variable(bounds=bounds)
        assert reach([], x, {x.id: 0.0}) == least


def test_a_row_gives_a_size_where_its_terms_meet_the_others():
    """Below FAR in an affine row; in another within FINE, by the first of the entries that have others."""
    x = cp.Variable()
    both = cp.Variable(2)
    for other, size in ((-0.5, 0.5), (FAR / 2, FAR / 2), (FAR, None), (0.0, None)):
        assert reach([2 * x + 2 * other <= 0], x, {x.id: 0.0}) == (size and pytest.approx(size))
    assert reach([0 * x + 1 <= 0], x, {x.id: 0.0}) is None
    assert reach([0 * x <= 0], x, {x.id: 0.0}) is None
    for others, size in (
        ([4.0, 9.0], 2.0),
        ([9.0, 4.0], 2.0),
        ([0.0, 9.0], 3.0),
        ([0.0, 1e-4], 0.01),
        ([0.0, 0.0], None),
    ):
        assert reach([cp.square(both) <= others], both, {both.id: 0.0}) == (size and pytest.approx(size, rel=2e-6))


def test_what_is_reached():
    """Of entries with others, by one that is as large, or too large to be a number."""
    others = np.array([1.0, 0.0])
    for grown, told in (([1.0, 5.0], True), ([0.999, 5.0], False), ([np.inf, 0.0], True), ([np.nan, 0.0], True)):
        assert reached(np.array(grown), others) == told
    assert not reached(others, 0 * others)
    assert reached(np.array([2.0, 0.0]), np.array([1.0, 1.0]))


def test_the_constants():
    assert (module.FAR, module.FINE, module.ROUNDING) == (1e100, 1e-6, 1e-15)
