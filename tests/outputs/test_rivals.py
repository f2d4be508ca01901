"""The best output but the truth, of flows, graphs and trees: floats, fractions, both checkers against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from second_checker.networks import Flow as SecondFlow
from second_checker.networks import Tree as SecondTree
from second_checker.reader import Reader

from workbench.arithmetic.rationals import ratios
from workbench.contracts import RunnerUp
from workbench.outputs.flow import Flow
from workbench.outputs.graph import Graph
from workbench.outputs.tree import Tree
from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.whole import exact

CASES = 200
SECOND = {Flow: SecondFlow, Tree: SecondTree}


def drawn(kind, rng):
    """A problem of a few outputs a sample and weights, of which the true outputs are often the best."""
    problem = kind.tiny(rng)
    w = rng.integers(-2, 3, problem.n_features) * 1.0 if rng.random() < 0.3 else rng.normal(size=problem.n_features)
    if kind is Graph:
        w = np.where(problem.signed, np.abs(w), w)
    if rng.random() < 0.7:
        best = problem.argmax(w, np.arange(problem.n_samples), augment=False)
        changed = problem.arrays()
        if kind is Flow:
            changed["truth"] = best
        else:
            changed["labels"] = best[best >= 0]
        problem = kind.from_arrays(changed)
    return problem, w


@pytest.mark.parametrize("kind", [Flow, Graph, Tree])
def test_rivals_equal_enumeration(kind):
    rng, won = np.random.default_rng(18), 0
    for _ in range(CASES):
        problem, w = drawn(kind, rng)
        assert isinstance(problem, RunnerUp)
        everyone = np.arange(problem.n_samples)
        found, margins = problem.runner_up(w, everyone), problem.exact().rival(ratios(w), everyone).fractions()
        fields = Fields(problem.arrays())
        checked = Structure.find(problem.name, 1)(fields).rival(exact(w), everyone).fractions()
        assert list(checked) == list(margins)
        second = None
        if kind in SECOND:
            second = SECOND[kind](Reader({f"data_{name}": array for name, array in problem.arrays().items()}))
        for i in everyone:
            outputs = problem.outputs(i)
            scores = problem.features(np.full(len(outputs), i), outputs) @ w
            same = (outputs == problem.truth[i]).all(axis=1)
            best, own = scores[~same].max(), scores[same][0]
            at = np.flatnonzero((outputs == found[i]).all(axis=1))
            assert len(at) == 1
            assert not same[at[0]]
            assert scores[at[0]] == pytest.approx(best, abs=1e-9)
            assert float(margins[i]) == pytest.approx(best - own, abs=1e-9)
            won += own > best
            if second is not None:
                height = second.height(i, [x.limit_denominator(10**30) for x in ratios(w).fractions()], "zero-one")
                assert height == max(margins[i] + 1, 0)
    assert won > CASES / 2


def test_labels_beyond_two_are_listed_and_searches_that_may_miss_have_no_rival():
    rng = np.random.default_rng(3)
    nodes, edges = [rng.normal(size=(3, 2))], [np.array([(0, 1), (1, 2)])]
    problem = Graph(nodes, edges, [[0, 1, 2]])
    w = np.abs(rng.normal(size=problem.n_features))
    best = problem.argmax(w, np.array([0]), augment=False)[0]
    problem = Graph(nodes, edges, [best], classes=[0, 1, 2])
    outputs = problem.outputs(0)
    scores = problem.features(np.zeros(len(outputs), int), outputs) @ w
    rival = problem.runner_up(w, np.array([0]))[0]
    assert (rival != best).any()
    assert scores[(outputs == rival).all(axis=1)] == pytest.approx(np.sort(scores)[-2])
    for oracle in ("under", "enclosed", "relaxed"):
        assert not isinstance(Graph(nodes, edges, [[0, 1, 2]], oracle=oracle), RunnerUp)
