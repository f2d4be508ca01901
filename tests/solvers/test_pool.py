"""Parts of a witness as cuts of their own, and kernels over weights in another order."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.arithmetic import compiled as machine
from workbench.data.loading import load_problem
from workbench.formulations.perceptron import Separation
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.chain import Chain
from workbench.proofs.bounds import Bounds
from workbench.solvers.dual_block import CachedBlocks
from workbench.solving.masters.passes import pass_method
from workbench.solving.solve import solve

FORMS = {
    "margin": SoftMargin(0.1),
    "slack": SoftMargin(0.1, rescaling="slack"),
    "intercepts": SoftMargin(0.1, intercept=True),
    "unit": Separation(),
}
WHOLE = ("slack", "unit")  # whose heights do not add up


def chain(n=8, k=3, seed=0):
    """Chains with dear and cheap mistakes."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 8, n)
    cost = rng.integers(1, 4, (k, k)) * (1 - np.eye(k))
    labels = [rng.integers(0, k, t) for t in lengths]
    return Chain([rng.integers(-2, 3, (t, 4)) for t in lengths], labels, "hamming", cost, classes=np.arange(k))


def drawn(problem, rng, i):
    out = np.full(problem.width, -1)
    out[: problem.lengths[i]] = rng.integers(0, problem.n_classes, problem.lengths[i])
    return out


def split(kernel, problem, i, base, out):
    parts, offsets = np.full((kernel.parts, problem.width), -7), np.full(kernel.parts, np.nan)
    count = kernel.parts_into(kernel.data, i, base, out, parts, offsets)
    return parts[:count], offsets[:count]


@pytest.mark.parametrize("name", FORMS)
def test_parts_are_cuts_of_the_oracle_that_add_up(name):
    """Offsets are those of the data's rows; a part takes a run of `out`, and all runs together are `out`."""
    problem, rng = chain(), np.random.default_rng(1)
    oracle = Bounds(FORMS[name], problem).oracle
    kernel, seen = oracle.kernel(), 0
    for i in np.repeat(np.arange(problem.n_samples), 12):
        base, out = drawn(problem, rng, i), drawn(problem, rng, i)
        parts, offsets = split(kernel, problem, i, base, out)
        changed = np.flatnonzero(base != out)
        runs = 1 + int((np.diff(changed) > 1).sum()) if len(changed) else 0
        assert len(parts) == (runs + (name in WHOLE) if runs > 1 else 0)
        if not len(parts):
            continue
        if name in WHOLE:  # the whole comes last
            assert (parts[-1] == out).all()
            np.testing.assert_allclose(offsets[-1], oracle.rows(np.array([i]), out[None])[1][0])
            parts, offsets = parts[:-1], offsets[:-1]
        seen += 1
        assert ((parts != base).sum(axis=0) == (out != base)).all()
        assert all((part[part != base] == out[part != base]).all() for part in parts)
        np.testing.assert_allclose(offsets, oracle.rows(np.full(len(parts), i), parts)[1], atol=1e-12)
        features = problem.features(np.full(len(parts) + 2, i), np.vstack([parts, base, out])).toarray()
        np.testing.assert_allclose((features[:-2] - features[-2]).sum(axis=0), features[-1] - features[-2])
    assert seen > 20


@pytest.mark.parametrize("name", FORMS)
def test_arranged_kernels_are_the_kernels_at_weights_in_another_order(name):
    problem, rng = chain(seed=2), np.random.default_rng(3)
    oracle = Bounds(FORMS[name], problem).oracle
    plain, other = oracle.kernel(), oracle.kernel(arranged=True)
    assert sorted(other.place) == list(range(oracle.dim))
    assert (other.place != np.arange(oracle.dim)).any()
    for i in range(problem.n_samples):
        theta = rng.integers(-3, 4, oracle.dim) * 0.5
        told = []
        for kernel, place in ((plain, np.arange(oracle.dim)), (other, other.place)):
            moved, out, slope = np.empty(oracle.dim), np.full(problem.width, -1), np.zeros(oracle.dim)
            moved[place] = theta
            value = kernel.argmax_into(kernel.data, moved, i, out)
            kernel.add_slope(kernel.data, i, out, 2.0, slope)
            indices, values, dense = np.zeros(kernel.most, np.int64), np.zeros(kernel.most), np.zeros(oracle.dim)
            count = kernel.slope_into(kernel.data, i, out, indices, values)
            np.add.at(dense, indices[:count], values[:count])
            reads = np.zeros(kernel.widest, np.int64)
            reads = reads[: kernel.reads_into(kernel.data, i, reads)]
            back = np.argsort(place)
            told.append((value, out.tolist(), slope[place].tolist(), dense[place].tolist(), sorted(set(back[reads]))))
        assert told[0] == told[1]


@pytest.mark.skipif(not machine.available(), reason="numba is an optional dependency")
@pytest.mark.parametrize("name", FORMS)
def test_parts_compiled_and_interpreted_are_the_same(name):
    problem, rng = chain(seed=4), np.random.default_rng(5)
    kernel = Bounds(FORMS[name], problem).oracle.kernel(arranged=True)
    fast = machine.sealed(kernel, "parts_into")
    for i in range(problem.n_samples):
        base, out = drawn(problem, rng, i), drawn(problem, rng, i)
        for ours, theirs in zip(split(fast, problem, i, base, out), split(kernel, problem, i, base, out), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def tags(n=60):
    return load_problem("synthetic-tags")(n=n, labels=10, length=30, words=400, endings=60)


def passes(problem, form, parts, gap=3e-2, most=100):
    """Passes to this gap, with and without the cuts of parts."""
    bounds = Bounds(form, problem)

    class Whole(type(bounds.oracle)):
        def kernel(self, arranged=False):
            return super().kernel(arranged)._replace(parts_into=None, parts=0)

    if parts:
        run = pass_method(bounds)
    else:
        shape = bounds.regularizer.shape(bounds.oracle.dim)
        oracle = Whole(problem)
        run = CachedBlocks(oracle, problem.truth, shape, bounds.prices.floats(), bounds.start, None, problem.n_features)
    while run.passes < most:
        run.advance()
        theta = run.theta
        samples, witnesses, weights = run.duals()
        slopes, offsets = bounds.oracle.rows(samples, witnesses)
        lower = weights @ offsets - bounds.regularizer.curvature / 2 * theta @ theta
        np.testing.assert_allclose(-(slopes.T @ weights) / bounds.regularizer.curvature, theta, atol=1e-9)
        if 1 - lower / bounds.upper(theta) < gap:
            return run.passes
    return most


def test_parts_save_passes():
    form = SoftMargin(1 / 60)
    assert 3 * passes(tags(), form, True) <= 2 * passes(tags(), form, False)


def test_where_parts_do_not_add_up_the_whole_is_kept():
    """Under slack rescaling the parts of the highest cut may be low ones."""
    assert passes(tags(), SoftMargin(1 / 60, rescaling="slack"), True) < 60


def test_the_optimum_is_that_of_other_masters():
    problem, form = tags(12), SoftMargin(1 / 12)
    found, other = solve(form, problem, gap=1e-6, master="dual-block"), solve(form, problem, gap=1e-6, master="ascent")
    assert found.status == other.status == "optimal"
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)
