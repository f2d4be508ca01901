"""Sealed kernels: the same bits as the kernels in them, one type for all, and arrays that stay where they are."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from workbench.arithmetic import compiled as machine
from workbench.contracts import Kernel
from workbench.formulations.soft_margin import SoftMargin
from workbench.proofs.bounds import Bounds
from workbench.registries import registry
from workbench.solvers.dual_block import DualBlock, prepared

pytestmark = pytest.mark.skipif(not machine.available(), reason="numba is not installed")
OUTPUTS = dict(registry("output").items())
FITTING = [
    n for n, each in OUTPUTS.items() if DualBlock().misfit(SoftMargin(), each.tiny(np.random.default_rng(0))) is None
]


def tiny(name):
    """(bounds, kernel) of a tiny problem."""
    bounds = Bounds(SoftMargin(0.1), OUTPUTS[name].tiny(np.random.default_rng(5)))
    return bounds, bounds.oracle.kernel()


@pytest.mark.parametrize("name", FITTING)
def test_a_sealed_kernel_gives_the_bits_of_the_interpreted_one(name):
    bounds, kernel = tiny(name)
    fast, theta = (
        machine.sealed(kernel, "argmax_into", "slope_into"),
        np.random.default_rng(6).normal(size=bounds.oracle.dim),
    )
    for i in range(bounds.problem.n_samples):
        told = []
        for each in (kernel, fast):
            out, indices, values = (
                np.full(bounds.oracle.width, -1),
                np.zeros(kernel.most, np.int64),
                np.zeros(kernel.most),
            )
            value = each.argmax_into(each.data, theta, i, out)
            count = each.slope_into(each.data, i, out, indices, values)
            told.append((value, out.tolist(), indices[:count].tolist(), values[:count].tolist()))
        assert told[0] == told[1]


def test_loops_are_compiled_once_for_all_structures():
    """The compiled loops of two structures are the same objects."""
    tools = []
    for name in ("chain", "multilabel"):
        bounds, kernel = tiny(name)
        state = DualBlock().init(bounds.formulation, bounds.problem)
        tools.append(prepared(kernel, bounds.prices.floats(), state, True))
    chain, multilabel = tools
    for loop in ("insert", "sweep", "repack", "turn"):
        assert getattr(chain, loop) is getattr(multilabel, loop)
    assert machine.kind(chain.data) == machine.kind(multilabel.data)
    assert chain.argmax_into is not multilabel.argmax_into
    again = machine.sealed(tiny("chain")[1], "argmax_into", "slope_into")
    assert (again.argmax_into, again.slope_into) == (chain.argmax_into, chain.slope_into)


def total(data, theta, i, out):
    """A sum over data of every kind that a kernel may hold."""
    whole, table, half, number, flag, (inner, function) = data
    found = function(inner, theta, i, out) + number * half
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            found += table[row, column] * whole[column]
    out[0] = 1 if flag else 0
    whole[0] += 1
    return found


def entry(data, theta, i, out):
    return data[0][i]


def test_data_of_every_kind_are_read_where_they_are_and_kept_alive():
    inner = machine.compiled(entry, machine.signature(Kernel((np.arange(3.0),), entry, entry), "argmax_into"))
    whole, theta, out = np.arange(4), np.zeros(1), np.zeros(1, np.int64)
    data = whole, np.arange(8.0).reshape(2, 4)[:, ::1], 0.5, 3, True, ((np.arange(3.0) + 10,), inner)
    plain = Kernel(data, total, total)
    fast = machine.sealed(plain, "argmax_into")
    expected = total((np.arange(4), *data[1:5], ((np.arange(3.0) + 10,), entry)), theta, 2, out)
    del data, plain
    gc.collect()
    rubbish = [np.full(8, 1e300) for _ in range(1000)]  # on memory that may have become free
    out[0] = 0
    assert fast.argmax_into(fast.data, theta, 2, out) == expected
    assert out[0] == 1
    assert whole[0] == 1, "nothing was copied"
    assert len(rubbish) == 1000


def test_other_data_are_refused():
    with pytest.raises(TypeError, match="a kernel's data hold arrays, numbers, tuples and functions"):
        machine.sealed(Kernel(("text",), lambda data, theta, i, out: 0.0, entry), "argmax_into")
