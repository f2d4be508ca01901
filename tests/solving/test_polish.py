"""The active-set finish of compiled programs: from rough answers to machine accuracy, or an honest None."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from workbench.backends import BACKENDS, ConeProgram
from workbench.contracts import Rows
from workbench.solving.masters.polish import farkas_ray, finished, opposed


def random_program(seed):
    """A strictly convex QP with an equality and more inequalities than can be active."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 8)), int(rng.integers(6, 15))
    root, A, inside = rng.normal(size=(n, n)), rng.normal(size=(m + 1, n)), rng.normal(size=n)
    b = A @ inside + np.concatenate([[0.0], rng.uniform(0, 1, m)])
    P = root @ root.T + 0.1 * np.eye(n)
    return ConeProgram(sparse.csc_array(P), 5 * rng.normal(size=n), sparse.csc_array(A), b, zero=1, nonneg=m)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_a_rough_answer_becomes_a_kkt_point(seed):
    program = random_program(seed)
    rough = BACKENDS["CLARABEL"].solve(program, 1e-6)
    found = finished(program, rough.x, rough.z, 1.0)
    assert found is not None
    x, z = found
    slack = program.b - program.A @ x
    assert np.abs(program.P @ x + program.q + program.A.T @ z).max() < 1e-10
    assert abs(slack[0]) < 1e-10
    assert slack[1:].min() > -1e-8
    assert z[1:].min() >= 0
    assert np.abs(slack * z).max() < 1e-8


def test_cones_and_missing_numbers_are_left_alone():
    program, none = random_program(0), np.full(20, np.nan)
    n, m = program.A.shape[1], program.A.shape[0]
    assert finished(program, none[:n], np.zeros(m), 1.0) is None
    cone = ConeProgram(program.P, program.q, program.A, program.b, zero=0, nonneg=m - 3, soc=(3,))
    assert finished(cone, np.zeros(n), np.zeros(m), 1.0) is None


def test_contradictory_rows_settle_nowhere():
    A = sparse.csc_array(np.array([[1.0], [-1.0]]))
    program = ConeProgram(sparse.csc_array(np.eye(1)), np.zeros(1), A, np.array([-1.0, -1.0]), zero=0, nonneg=2)
    assert finished(program, np.zeros(1), np.ones(2), 1.0) is None


def test_a_ray_is_sought_among_rows_that_others_oppose():
    """Rows 3, 1 and 4 add up to nothing; each other row has a column of its own, or one that such a row had."""
    ring = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]])
    table = np.zeros((6, 8))
    table[[3, 1, 4], :3] = ring
    table[[0, 2, 5], 3:6] = [[1, 1, 0], [0, -1, 1], [0, 0, -1]]
    table[0, 6], table[2, 7] = 2.0, 1e-16
    rows = Rows(sparse.csr_array(table), np.ones(6), np.full(6, -1))
    assert opposed(rows.slopes).tolist() == [1, 3, 4]
    ray, norm = farkas_ray(rows)
    np.testing.assert_allclose(ray, [0, 1 / 3, 0, 1 / 3, 1 / 3, 0], atol=1e-12)
    assert norm < 1e-12
    assert farkas_ray(rows, most=5) is None
    assert farkas_ray(rows.take([0, 1, 2, 3])) is None
