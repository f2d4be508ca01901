"""motile's structured SVM on the same tracks: where its objective is ours it reaches our optimum, else why not."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

import workbench as wb
from workbench.outputs.flow import Flow, tracks_of
from workbench.registries import registry

pytestmark = pytest.mark.skipif(find_spec("motile") is None, reason="peer absent: motile learns nothing here")


@pytest.fixture(scope="module")
def bare():
    """Tracks scored by detections and links alone."""
    problem = wb.load_problem("tracking")(n=2, frames=5, objects=3, clutter=1.0)
    X, (a, b, c, _) = problem.arcs.toarray(), problem.blocks
    place, node, sample = problem.layout.offsets(), problem.layout.node_of(), problem.layout.sample_of()
    graphs, tracks = [], []
    for i in range(2):
        mine = sample[node] == i
        links = mine & (place >= 3)
        pairs = np.column_stack([node[links] - problem.layout.starts[i], problem.layout.heads[links]])
        empty = np.zeros((problem.sizes[i], 0))
        graphs.append((X[mine & (place == 2)][:, :a], empty, empty, pairs, X[links][:, a + b + c :]))
        tracks.append(tracks_of(problem.truth[i, : problem.sizes[i]]))
    return Flow(graphs, tracks)


def excess(name, problem):
    formulation = wb.SoftMargin(lam=0.5)
    best = wb.solve(formulation, problem, gap=1e-9)
    w = registry("learner").get(name)(problem, formulation, 200, 0)
    return (wb.Bounds(formulation, problem).upper(w) - best.upper) / best.upper


def test_without_entries_and_exits_motile_reaches_the_certified_optimum(bare):
    assert 0 <= excess("motile", bare) < 1e-6


def test_its_truth_lacks_entries_and_exits():
    """With features of these, what it minimises is another objective; marked in the truth, it is ours."""
    problem = wb.load_problem("tracking")(n=1, frames=5, objects=3, clutter=1.0)
    assert excess("motile", problem) > 0.01
    assert 0 <= excess("motile-mended", problem) < 1e-6


def test_what_it_does_not_take_is_refused(bare):
    fit, form = registry("learner").get("motile"), wb.SoftMargin()
    with pytest.raises(wb.MissingCapability, match="holds none"):
        fit(wb.load_problem("toy")(n=6), form, 5, 0)
    arrays = bare.arrays()
    with pytest.raises(wb.MissingCapability, match="false_positive=1"):
        fit(Flow.from_arrays(arrays | {"false_positive": np.array(2.0)}), form, 5, 0)
    with pytest.raises(wb.MissingCapability, match="sample weights"):
        fit(Flow.from_arrays(arrays | {"weights": np.array([1.0, 2.0])}), form, 5, 0)
