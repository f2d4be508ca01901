"""Oracles of flows, trees and graphs against two other routes: enumeration, and a library that knows the problem.

    flow    all sets of disjoint paths; networkx' min-cost flow on the network of split detections, whole gains
    tree    all labellings; SciPy's HiGHS on the local polytope, which is integral on trees
    graph   all labellings; networkx' minimum cut, whole gains

Each case is one sample at random weights, the loss in; three of ten have whole weights, hence ties. A case
fails if the value found differs by more than 10⁻⁹ of its size. Where a library is absent its column says so. Rivals are
the best outputs but the truth, without loss, against the same enumeration; the truth is made the best output in half of
the cases, where finding them takes a search of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse

from workbench.contracts import Floats, Ints
from workbench.errors import checked_whole
from workbench.objectives.regularizers import norm_of
from workbench.outputs.flow import Flow
from workbench.outputs.graph import Graph
from workbench.outputs.tree import Tree

ONE = np.array([0])
CLOSE = 1e-9


def oracles(enumerated: int = 2000, compared: int = 500, seed: int = 0) -> dict[str, Any]:
    """rows: one a structure: cases, failures by enumeration, of rivals, by library, CPU seconds; `failed`."""
    checked_whole(1, enumerated=enumerated, compared=compared)
    rows = [tried(name, enumerated, compared, seed) for name in ROUTES]
    ways = "enumeration_failed", "rivals_failed", "library_failed"
    return {"failed": sum(row[way] for row in rows for way in ways), "rows": rows}


def tried(name: str, enumerated: int, compared: int, seed: int) -> dict[str, Any]:
    """The row of one structure."""
    kind, library, package, draw = ROUTES[name]
    began, wrong = time.process_time(), {"enumeration": 0, "rivals": 0, "library": 0}
    present = find_spec(package) is not None
    for case in range(max(enumerated, compared)):
        rng = np.random.default_rng((seed, case))
        if case < enumerated:
            problem = kind.random(rng, 2, 4, 3)
            w = weights(problem, rng)
            i = np.array([case % 2])
            outputs = problem.outputs(int(i[0]))
            best = values(problem, w, np.repeat(i, len(outputs)), outputs).max()
            wrong["enumeration"] += far(values(problem, w, i, problem.argmax(w, i))[0], best)
            wrong["rivals"] += rival_fails(problem if case % 4 < 2 else won(problem, w), w, i)
        if case < compared and present:
            problem = draw(rng)
            w = weights(problem, rng, whole=True)
            wrong["library"] += far(values(problem, w, ONE, problem.argmax(w, ONE))[0], library(problem, w))
    return {
        "structure": name,
        "enumerated": enumerated,
        "enumeration_failed": wrong["enumeration"],
        "rivals_failed": wrong["rivals"],
        "library": package if present else f"{package} is absent",
        "compared": compared if present else 0,
        "library_failed": wrong["library"],
        "cpu_seconds": time.process_time() - began,
    }


def won(problem: Any, w: Floats) -> Any:
    """The problem with its best outputs at w for the truth."""
    best = problem.argmax(w, np.arange(problem.n_samples), augment=False)
    truth = {"truth": best} if isinstance(problem, Flow) else {"labels": best[best >= 0]}
    return type(problem).from_arrays(problem.arrays() | truth)


def rival_fails(problem: Any, w: Floats, i: Ints) -> bool:
    """Whether `runner_up` is the truth, or not the best of the others."""
    outputs, found = problem.outputs(int(i[0])), problem.runner_up(w, i)
    others = outputs[(outputs != problem.truth[i]).any(axis=1)]
    best = (problem.features(np.repeat(i, len(others)), others) @ w).max()
    return bool((found == problem.truth[i]).all()) or far((problem.features(i, found) @ w)[0], best)


def weights(problem: Any, rng: np.random.Generator, whole: bool = False) -> Floats:
    """Weights that the problem admits."""
    drawn = rng.integers(-3, 4, problem.n_features) * 1.0
    if not whole and rng.random() < 0.7:
        drawn = rng.normal(size=problem.n_features)
    return norm_of(problem, 1.0).feasible(drawn)


def values(problem: Any, w: Floats, samples: Any, outputs: Any) -> Floats:
    return problem.features(samples, outputs) @ w + problem.loss(samples, outputs)


def far(value: float, best: float) -> bool:
    return not abs(value - best) <= CLOSE * (1 + abs(best))


# ── libraries ─────────────────────────────────────────────────────────────────────────────────────


def whole_flow(rng: np.random.Generator) -> Flow:
    """Up to 30 detections in 6 frames, whole features."""
    frames = np.sort(rng.integers(0, 6, int(rng.integers(4, 31))))
    j, k = np.nonzero((frames[None] > frames[:, None]) & (rng.random((len(frames),) * 2) < 0.4))
    tables = [rng.integers(-4, 5, (rows, 2)) * 1.0 for rows in (len(frames), len(frames), len(frames), len(j))]
    return Flow([(*tables[:3], np.column_stack([j, k]), tables[3])], [[[v] for v in range(0, len(frames), 3)]])


def network(problem: Flow, w: Floats) -> float:
    """networkx' cheapest circulation, source and sink one node."""
    import networkx

    graph, where = networkx.DiGraph(), problem.layout
    gains, hub = problem.arcs @ w + problem.augmentation, 2 * int(problem.sizes[0])
    for row, (v, place) in enumerate(zip(where.node_of().tolist(), where.offsets().tolist(), strict=True)):
        ends = {0: (hub, 2 * v), 1: (2 * v + 1, hub), 2: (2 * v, 2 * v + 1)}
        tail, head = ends.get(place, (2 * v + 1, 2 * int(where.heads[row])))
        graph.add_edge(tail, head, capacity=1, weight=-round(gains[row]))
    return float(problem.false_negative * problem.true_arcs[0] - networkx.min_cost_flow_cost(graph))


def whole_graph(rng: np.random.Generator) -> Graph:
    """Up to 30 nodes, whole features."""
    size = int(rng.integers(2, 31))
    u, v = np.nonzero(np.triu(rng.random((size, size)) < 4 / size, 1))
    features = rng.integers(-4, 5, (size, 2)) * 1.0
    pairs = [rng.integers(0, 3, (len(u), 1)) * 1.0]
    return Graph([features], [np.column_stack([u, v])], [rng.integers(0, 2, size)], pairs, "hamming", classes=[0, 1])


def cut(problem: Graph, w: Floats) -> float:
    """networkx' minimum cut between a source and a sink."""
    import networkx

    (unary, pairs), graph = problem.scores(w, augment=True), networkx.DiGraph()
    graph.add_nodes_from(("source", "sink"))
    for v, (off, on) in enumerate(unary):
        gain = round(on - off)
        graph.add_edge(*(("source", v) if gain > 0 else (v, "sink")), capacity=abs(gain))
    for (u, v), theta in zip(problem.edges.tolist(), pairs[:, 0], strict=True):
        graph.add_edge(u, v, capacity=round(theta))
        graph.add_edge(v, u, capacity=round(theta))
    won = np.maximum(unary[:, 1] - unary[:, 0], 0).sum() - networkx.minimum_cut_value(graph, "source", "sink")
    return float(unary[:, 0].sum() + pairs.sum() + won)


def whole_tree(rng: np.random.Generator) -> Tree:
    """Up to 12 nodes of up to 4 labels, whole features."""
    size, k = int(rng.integers(2, 13)), int(rng.integers(2, 5))
    above = [int(rng.integers(0, v)) for v in range(1, size)]
    features = [rng.integers(-4, 5, (size, 2)) * 1.0]
    edges = np.column_stack([above, np.arange(1, size)])
    return Tree(features, [edges], [rng.integers(0, k, size)], None, "hamming", classes=np.arange(k))


def marginals(problem: Tree, w: Floats) -> float:
    """HiGHS on the local polytope, which is integral on trees."""
    from scipy.optimize import linprog

    (unary, pairs), k = problem.scores(w, augment=True), problem.n_classes
    V, E = len(unary), len(pairs)
    each, blocks = np.arange(E * k * k), []
    for column, label in ((0, each // k % k), (1, each % k)):
        node = problem.edges[each // (k * k), column] * k + label
        row = each // (k * k) * k + label
        sums = sparse.csr_array((np.ones(len(each)), (row, V * k + each)), shape=(E * k, V * k + E * k * k))
        own = sparse.csr_array((np.full(len(each), 1 / k), (row, node)), shape=sums.shape)  # each share comes k times
        blocks.append(sums - own)
    mass = sparse.csr_array(
        (np.ones(V * k), (np.repeat(np.arange(V), k), np.arange(V * k))), shape=(V, V * k + E * k * k)
    )
    A, b = sparse.vstack([mass, *blocks]), np.concatenate([np.ones(V), np.zeros(2 * E * k)])
    return float(-linprog(-np.concatenate([unary.ravel(), pairs.ravel()]), A_eq=A, b_eq=b, method="highs").fun)


Route = tuple[Any, Callable[[Any, Floats], float], str, Callable[[np.random.Generator], Any]]
ROUTES: dict[str, Route] = {
    "flow": (Flow, network, "networkx", whole_flow),
    "tree": (Tree, marginals, "scipy", whole_tree),
    "graph": (Graph, cut, "networkx", whole_graph),
}

NAMES = {"oracles": oracles}
