"""Products of matrices in one thread while the judge computes, and in those of before while a learner learns."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import workbench as wb
from workbench.judging import judge as judge_module
from workbench.judging.judge import judge
from workbench.system import blas
from workbench.system.blas import libraries, one_thread, threads_of_before


def threads():
    return {each.num_threads for each in libraries()}


@pytest.fixture(autouse=True)
def two():
    """Two threads, however many cores there are."""
    with blas.threads([2] * len(libraries())):
        if threads() != {2}:
            pytest.skip("The BLAS of this machine has no two threads.")
        yield
        assert threads() == {2}


def test_one_thread_until_the_block_ends():
    with one_thread():
        assert threads() == {1}
    assert threads() == {2}
    with contextlib.suppress(ValueError), one_thread():
        raise ValueError
    assert threads() == {2}


def test_those_of_before_within_one_thread_and_nothing_elsewhere():
    with one_thread():
        with threads_of_before():
            assert threads() == {2}
        assert threads() == {1}
    with blas.threads([1] * len(libraries())), threads_of_before():
        assert threads() == {1}


def test_each_library_has_its_own_number():
    numbers = [1, *[2] * (len(libraries()) - 1)]
    with blas.threads(numbers):
        with one_thread():
            assert threads() == {1}
            with threads_of_before():
                assert [each.num_threads for each in libraries()] == numbers
        assert [each.num_threads for each in libraries()] == numbers


def test_one_judge_within_the_fit_of_another():
    with one_thread(), threads_of_before():
        with one_thread():
            assert threads() == {1}
            with threads_of_before():
                assert threads() == {2}
        assert threads() == {2}


def test_a_judge_in_another_thread_leaves_the_number_as_it_is():
    def inside():
        with one_thread(), threads_of_before():
            return threads()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(inside).result() == {2}
        with one_thread():
            assert pool.submit(inside).result() == {1}
            assert threads() == {1}


def test_a_learner_has_its_threads_and_the_judge_one(monkeypatch):
    rng = np.random.default_rng(0)
    problem = wb.Multiclass(rng.normal(size=(20, 3)), np.arange(20) % 3)
    best, seen, together = wb.solve(wb.SoftMargin(0.1), problem), [], judge_module.together

    def fit(problem, formulation, budget, rng):
        seen.append(threads())
        for passes in (1, budget):
            seen.append(threads())
            yield passes, best.theta_flat

    def telling(*told):
        seen.extend(["judge", threads()])
        return together(*told)

    monkeypatch.setattr(judge_module, "together", telling)
    judge(fit, best)
    place = seen.index("judge")
    assert seen[place + 1] == {1}
    assert all(each == {2} for each in seen[:place] + seen[place + 2 :])
