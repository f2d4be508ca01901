"""Threads that share calls: what they return stands in order, errors come out, and nobody waits for ever."""

from __future__ import annotations

import time
from functools import partial
from threading import Event, get_ident

import numpy as np
import pytest

from workbench.system.threads import FINE, RUNS, Threads

WAIT = 20  # seconds, after which a test that would hang fails


@pytest.fixture(params=[1, 2, 3, 4])
def threads(request):
    found = Threads(request.param)
    yield found
    found.end()


@pytest.fixture
def two():
    found = Threads(2)
    yield found
    found.end()


def test_calls_are_made_once_each_and_answered_in_order(threads):
    made = []

    def call(k):
        made.append(k)
        return k * k

    assert threads.share([partial(call, k) for k in range(100)]) == [k * k for k in range(100)]
    assert sorted(made) == list(range(100))
    assert threads.share([]) == []


def test_a_call_goes_to_the_thread_that_is_free(two):
    """One call waits until another thread has made all others."""
    over, where = Event(), []

    def slow():
        assert over.wait(WAIT)

    def quick(last):
        where.append(get_ident())
        if last:
            over.set()

    two.share([slow, *(partial(quick, k == 5) for k in range(6))])
    assert len(where) == 6
    assert len(set(where)) == 1


def test_an_error_ends_the_calls(threads):
    made = []

    def call(k):
        made.append(k)
        if k == 0:
            raise ValueError("no such number")
        time.sleep(1e-4)

    with pytest.raises(ValueError, match="no such number"):
        threads.share([partial(call, k) for k in range(10_000)])
    assert len(made) < 1000
    assert threads.share([partial(int, k) for k in range(4)]) == [0, 1, 2, 3], "threads serve on"


def test_no_more_threads_than_calls(threads, monkeypatch):
    """This thread is one of them."""
    asked, submit = [], threads.pool.submit
    monkeypatch.setattr(threads.pool, "submit", lambda *call: asked.append(call) or submit(*call))
    for many in (0, 1, 2, 3, 9):
        asked.clear()
        threads.share([int] * many)
        assert len(asked) == max(min(threads.count, many) - 1, 0)
    assert threads.pool._max_workers == max(threads.count - 1, 1)


@pytest.mark.parametrize("way", ["share", "together"])
def test_an_error_waits_for_calls_that_have_begun(two, way):
    """What they work with is theirs until then."""
    begun, done, own = Event(), [], get_ident()

    def call():
        if get_ident() == own:
            assert begun.wait(WAIT)
            raise ValueError("no such number")
        begun.set()
        time.sleep(0.05)
        done.append("all of it")

    with pytest.raises(ValueError, match="no such number"):
        two.share([call, call]) if way == "share" else two.together(call, call)
    assert done == ["all of it"]


def test_threads_that_were_let_go_do_not_come_back(two):
    two.end()
    with pytest.raises(RuntimeError, match="after shutdown"):
        two.share([int, int])


def test_an_error_of_another_thread_comes_out(two):
    own, there = get_ident(), Event()

    def call():
        if get_ident() != own:
            there.set()
            raise MemoryError("no room")
        assert there.wait(WAIT)

    with pytest.raises(MemoryError, match="no room"):
        two.share([call, call])


def test_runs_of_arrays(threads):
    x, y = np.arange(10), np.arange(10) * 2.0
    runs = threads.spread(lambda a, b: (a.tolist(), b.tolist()), x, y)
    assert len(runs) == threads.count
    assert [each for a, _ in runs for each in a] == x.tolist()
    assert [each for _, b in runs for each in b] == y.tolist()
    assert len(threads.spread(len, x[:2])) == min(threads.count, 2)
    assert threads.spread(len, x[:0]) == [0]


def test_two_functions_work_side_by_side(threads):
    """Each waits for the other to have begun."""
    first, second = Event(), Event()

    def one():
        first.set()
        assert second.wait(WAIT)
        return len(threads.spread(len, np.arange(1000)))

    def other():
        second.set()
        assert first.wait(WAIT)
        return len(threads.spread(len, np.arange(1000)))

    half = max(1, threads.count // 2)
    assert threads.together(one, other) == (FINE * half, half)
    assert RUNS.get() == 0
    assert len(threads.spread(len, np.arange(1000))) == threads.count


def test_who_is_through_with_one_function_helps_with_the_other(two):
    own, where, done = get_ident(), set(), Event()

    def run(some):
        where.add(get_ident())
        if get_ident() == own:
            assert done.wait(WAIT)  # until the other thread has made the rest
        elif some[-1] == 799:
            done.set()
        return len(some)

    counts, _ = two.together(lambda: two.spread(run, np.arange(800)), lambda: None)
    assert counts == [100] * FINE
    assert len(where) == 2


@pytest.mark.parametrize("place", [0, 1])
def test_an_error_of_either_function_comes_out(threads, place):
    def broken():
        raise OSError("gone")

    both = [lambda: 1, lambda: 2]
    both[place] = broken
    with pytest.raises(OSError, match="gone"):
        threads.together(*both)
    assert RUNS.get() == 0
    assert threads.together(lambda: 1, lambda: 2) == (1, 2)


def test_numpys_error_state_holds_in_all_threads(two):
    own, there = get_ident(), Event()

    def call():
        if get_ident() != own:
            there.set()
        assert there.wait(WAIT)
        return np.geterr()["over"]

    with np.errstate(over="ignore"):
        assert two.share([call, call]) == ["ignore", "ignore"]
        assert two.together(lambda: np.geterr()["over"], lambda: np.geterr()["over"]) == ("ignore", "ignore")
