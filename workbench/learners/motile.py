"""motile's own fitting of weights: the tracking problem as an integer program, structsvm's bundle method, SCIP.

    theirs   min ρ/2 ‖c‖² + max_y [Δ(y′, y) + ⟨c, φ(x, y′)⟩ − ⟨c, φ(x, y)⟩]      one graph, c are costs
    ours     min λ/2 ‖w‖² + Σ_i p_i h_i(w)                                     c = −w, all samples as one graph

so Σ_i h_i is their one maximum and ρ = λ/p for equal prices p. Their Δ counts detections and links, as ours does with
c⁺ = c⁻ = 1. Entries and exits are variables of their program (NodeAppear, NodeDisappear), but motile 1.0 leaves them
out of the true output y′: `fit_weights` marks the truth of nodes and edges only. So with features of entries and exits
its objective is another one, in which φ(x, y′) lacks these, and so is its optimum; with b = c = 0 it is ours.

    motile          as published
    motile-mended   motile's program and structsvm's bundle method, the true entries and exits marked, too

`budget` is the number of rounds. Features travel in single precision, SCIP believes rows violated by less than 1e-6.
"""

# Where the package is absent, pyright takes this file, which has its name, for it:
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np

from workbench.errors import MissingCapability
from workbench.learners._peers import hinge, needs
from workbench.outputs._flow.layout import ENTRY, EXIT, LINKS, NODE
from workbench.outputs.flow import Flow

EPSILON = 1e-6


@needs("motile", "motile")
def fit(problem, formulation, budget, rng):
    """motile's structured SVM for tracking, an integer program a round."""
    return fitted(problem, formulation, budget, (NODE, LINKS))


@needs("motile", "motile")
def mended(problem, formulation, budget, rng):
    """motile's structured SVM, with the truth of entries and exits that it leaves out."""
    return fitted(problem, formulation, budget, (NODE, LINKS, ENTRY, EXIT))


def fitted(problem, formulation, budget, marked):
    """What `motile.Solver.fit_weights` does, but that SCIP is silent; `marked` are the kinds of arcs in the truth."""
    from structsvm import BundleMethod, HammingCosts, SoftMarginLoss

    if not isinstance(problem, Flow):
        raise MissingCapability(f"motile tracks objects and {type(problem).__name__} holds none; use a flow.")
    risk = hinge(formulation, problem, "motile")
    prices = np.unique(risk.prices[risk.samples])
    if len(prices) > 1 or len(risk.samples) < problem.n_samples:
        raise MissingCapability("motile knows no sample weights; leave out the problem's weights.")
    if problem.false_positive != 1 or problem.false_negative != 1:
        raise MissingCapability("motile's loss counts mistakes; use false_positive=1 and false_negative=1.")
    solver, index = stated(problem)
    kinds = np.minimum(problem.layout.offsets(), LINKS)
    truth, mask = (np.zeros(solver.num_variables, np.float32) for _ in range(2))
    truth[index] = problem.gold & np.isin(kinds, marked)
    mask[index] = problem.priced
    loss = SoftMarginLoss(solver.constraints, solver.features.to_ndarray().T, truth, HammingCosts(truth, mask))
    method = BundleMethod(loss.value_and_gradient, problem.n_features, risk.mu / float(prices[0]), EPSILON)
    method._solver.set_verbose(False)  # it prints SCIP's log, and has no public switch
    return -np.array(method.optimize(budget))


def stated(problem):
    """The problem as motile has it (graph, constraints, d costs), and the number of each arc's variable (R,)."""
    from motile import Solver, TrackGraph
    from motile.constraints import MaxChildren, MaxParents
    from motile.variables import EdgeSelected, NodeAppear, NodeDisappear, NodeSelected

    where, graph = problem.layout, TrackGraph()
    node, place, sample = where.node_of(), where.offsets(), where.sample_of()
    for v, row in enumerate(where.first[:-1].tolist()):
        within = v - int(where.starts[sample[v]])
        graph.add_node(v, {"t": within, "gt": int(problem.gold[row + NODE])})
    tails = [(int(v), int(where.starts[sample[v]] + head)) for v, head in zip(node, where.heads, strict=True)]
    for row in np.flatnonzero(place >= LINKS).tolist():
        graph.add_edge(tails[row], {"gt": int(problem.gold[row])})
    solver = Solver(graph)
    variables = {ENTRY: NodeAppear, EXIT: NodeDisappear, NODE: NodeSelected}
    found = {kind: solver.get_variables(kind) for kind in (*variables.values(), EdgeSelected)}
    index = [
        int(found[variables[p]][int(v)]) if p < LINKS else int(found[EdgeSelected][ends])
        for p, v, ends in zip(place.tolist(), node, tails, strict=True)
    ]
    solver.add_cost(costs(problem, index))
    solver.add_constraint(MaxParents(1))
    solver.add_constraint(MaxChildren(1))
    return solver, np.array(index)


def costs(problem, index):
    """motile's Cost with one weight a feature."""
    from motile.costs import Cost, Weight

    class Features(Cost):
        def __init__(self):
            for j in range(problem.n_features):
                setattr(self, f"w{j}", Weight(0.0))

        def apply(self, solver):
            X = problem.arcs
            for row, variable in enumerate(index):
                for e in range(X.indptr[row], X.indptr[row + 1]):
                    solver.add_variable_cost(variable, float(X.data[e]), getattr(self, f"w{X.indices[e]}"))

    return Features()


NAMES = {"motile": fit, "motile-mended": mended}
