"""The checker's definitions of flows, trees and graphs: their maxima, losses and rows against the package's own."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import workbench as wb
from workbench.arithmetic.rationals import ratios
from workbench.outputs.flow import Flow
from workbench.outputs.graph import Graph
from workbench.outputs.tree import Tree
from workbench.proofs.checker import Structure
from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.faults import Malformed
from workbench.proofs.checker.formulations.smooth import listed_sums
from workbench.proofs.checker.whole import Whole, objects

KINDS = {"flow": Flow, "graph": Graph, "tree": Tree}


def twin(name, arrays):
    """The checker's structure over these data arrays."""
    return Structure.find(name, 1)(Fields(dict(arrays), "data_"))


@pytest.mark.parametrize("name", KINDS)
def test_definitions_equal_a_list_of_all_outputs(name):
    """Maxima by `margin`, and losses and features by `loss`, `gains` and `dense`, against floats over every output."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        problem = KINDS[name].tiny(rng)
        other = twin(name, problem.arrays())
        w = rng.normal(size=problem.n_features)
        if name == "graph":
            w = np.where(problem.signed, np.abs(w), w)
        whole = Whole(*ratios(w))
        for i in range(problem.n_samples):
            outputs = problem.outputs(i)
            batch = np.full(len(outputs), i)
            assert other.is_output(batch, outputs).all()
            assert sorted(map(tuple, other.outputs(i).tolist())) == sorted(map(tuple, outputs.tolist()))
            change = problem.features(batch, outputs) - problem.features(batch, problem.truth[batch])
            loss = problem.loss(batch, outputs)
            np.testing.assert_allclose([float(x) for x in other.loss(batch, outputs).fractions()], loss, atol=1e-12)
            np.testing.assert_allclose(
                [float(x) for x in other.gains(whole, batch, outputs).fractions()], change @ w, atol=1e-9
            )
            dense = other.dense(batch, outputs)
            np.testing.assert_allclose((dense.values / dense.unit).astype(float), change.toarray(), atol=1e-12)
            masses = rng.integers(0, 5, len(outputs))
            mixed = other.combined(batch, outputs, Whole(objects(masses.tolist())))
            np.testing.assert_allclose([float(x) for x in mixed.fractions()], change.T @ masses, atol=1e-9)
            best = float(other.margin(whole, np.array([i])).fractions()[0])
            assert best == pytest.approx((change @ w + loss).max(), abs=1e-9)
            assert abs(problem.features(batch, outputs)).sum(axis=1).max() <= other.magnitudes()[i] / other.unit + 1e-9
        assert float(other.least_loss(np.arange(problem.n_samples))) == pytest.approx(problem.least_loss, rel=1e-14)


def test_sums_over_forests_enclose_a_list_of_all_labellings():
    """log Z and the gradient by recursion against the same by listing, both enclosed; and against floats."""
    rng = np.random.default_rng(6)
    for _ in range(12):
        problem = Tree.tiny(rng)
        other, w = twin("tree", problem.arrays()), rng.normal(size=problem.n_features) * 3
        samples, masses, P = np.arange(problem.n_samples), objects([1, 3, 2, 5][: problem.n_samples]), 90
        whole = Whole(*ratios(w))
        fast, slow = other.log_sums(whole, samples, masses, P), listed_sums(other, whole, samples, masses, P)
        values, gradient = problem.marginals().evaluate(w, samples, masses.astype(float))
        for a, b, c, d, e in zip(*(x.fractions() for x in (fast.lo, fast.hi, slow.lo, slow.hi)), values, strict=True):
            assert a <= b
            assert max(a, c) <= min(b, d)
            assert b - a < Fraction(1, 1 << 40)
            assert float(a) == pytest.approx(e, abs=1e-9)
        apart = sum(abs(a - b) for a, b in zip(fast.gradient.fractions(), slow.gradient.fractions(), strict=True))
        assert apart <= fast.radius + slow.radius
        assert fast.radius < Fraction(1, 1 << 40)
        np.testing.assert_allclose([float(x) for x in fast.gradient.fractions()], gradient, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("flow", {"heads": [1, 1], "counts": [2, 0, 0]}),
        ("flow", {"truth": [[2, 1, -1]]}),
        ("flow", {"truth": [[1, 1, -1]]}),
        ("flow", {"false_positive": 0.0}),
        ("flow", {"blocks": [0, 0, 0, 0]}),
        ("tree", {"edges": [[0, 1], [2, 1]]}),
        ("tree", {"edges": [[0, 1], [1, 0]]}),
        ("tree", {"edges": [[0, 1], [1, 9]]}),
        ("tree", {"ends": [1, 2]}),
        ("graph", {"pairs": [[-1.0], [1.0]]}),
        ("graph", {"loss": "zero-one"}),
        ("graph", {"offsets": [0, 2]}),
    ],
)
def test_hostile_data_are_malformed(name, changes):
    one = np.ones((3, 1))
    edges = np.array([(0, 1), (1, 2)])
    problem = (
        Flow([(one, one, one, edges, one[:2])], [[[0, 1]]])
        if name == "flow"
        else KINDS[name]([one], [edges], [[0, 1, 0]])
    )
    arrays = problem.arrays()
    twin(name, arrays)
    broken = {
        key: np.array(value).astype(arrays[key].dtype if key != "loss" else "<U8") for key, value in changes.items()
    }
    with pytest.raises(Malformed):
        twin(name, arrays | broken)


def test_formulations_without_the_cone_are_refused(tmp_path):
    """A header that calls a soft margin over associative pairs a hard one has no such definition."""
    problem = wb.load_problem("grid")(n=2, size=3)
    path = wb.solve(wb.SoftMargin(lam=1.0), problem).certificate.save(tmp_path / "c")
    header = json.loads(path.read_text())
    header["formulation"] = {"name": "hard-margin", "version": 1, "settings": {"lam": 1.0}}
    path.write_text(json.dumps(header))
    with pytest.raises(wb.BadInput, match="hard-margin is not defined for graph"):
        wb.verify(path)


@pytest.mark.parametrize("name", ["tracking", "tree", "grid"])
def test_forged_ends_are_found(name, tmp_path):
    small = {"tracking": {"n": 2, "frames": 4, "objects": 3}, "tree": {"n": 4, "size": 5}, "grid": {"n": 2, "size": 4}}[
        name
    ]
    path = wb.solve(wb.SoftMargin(lam=1.0), wb.load_problem(name)(**small), gap=1e-6).certificate.save(tmp_path / "c")
    assert wb.verify(path)["proven"]
    header = json.loads(path.read_text())
    for end, factor in (("lower", 1.01), ("upper", 0.99)):
        path.write_text(json.dumps(header | {end: header[end] * factor}))
        assert not wb.verify(path)["proven"]
