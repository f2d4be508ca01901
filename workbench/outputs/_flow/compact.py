"""The compact form of a flow's hinge: linear-programming duality on circulations (docs/mathematics.md §3).

With c_e(w) = ⟨w, ψ_e⟩ + what using arc e adds to the loss, N the node–arc incidence matrix (totally unimodular)
and one potential π a node,

    max {⟨c, y⟩ : N y = 0, 0 ≤ y ≤ 1} = min {Σ_e u_e : u ≥ 0, u_e ≥ c_e − (Nᵀπ)_e}
    h_i(w) = Σ_e u_e + c⁻ |y_i| − ⟨w, φ(x_i, y_i)⟩

Only the arcs of detections need their bound 1: through every other arc flows no more than through a detection. The
multipliers of the constraints are p_i times a circulation y, which is a mean of sets of paths (`mixture` of the
matching that it is, outputs/_matching_compact.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from workbench.contracts import CompactHinge, Floats, Ints, multipliers
from workbench.outputs._flow.layout import ENTRY, EXIT, NODE
from workbench.outputs._matching_compact import mixture


def incidence(where: Any) -> sparse.csr_array:
    """Nᵀ (R, 2N): +1 where an arc leaves, −1 where it enters; in_ν is number 2ν, out_ν 2ν + 1; source = sink has 0."""
    node, place, arcs = where.node_of(), where.offsets(), np.arange(len(where.heads))
    head = where.starts[where.sample_of()[node]] + where.heads
    leaves = np.where(place == NODE, 2 * node, 2 * node + 1)
    enters = np.where(place == NODE, 2 * node + 1, np.where(place == ENTRY, 2 * node, 2 * head))
    out, into = arcs[place != ENTRY], arcs[place != EXIT]
    values = np.concatenate([np.ones(len(out)), -np.ones(len(into))])
    columns = np.concatenate([leaves[out], enters[into]])
    shape = len(arcs), 2 * (len(where.first) - 1)
    return sparse.csr_array((values, (np.concatenate([out, into]), columns)), shape=shape)


def compact(problem: Any, w: Any) -> CompactHinge:
    """The hinges of a `Flow` as a program in the CVXPY variable w (d,)."""
    import cvxpy as cp

    where = problem.layout
    node, nodes = where.node_of(), len(where.first) - 1
    detection = where.offsets() == NODE
    pick = sparse.csr_array((np.ones(nodes), (np.flatnonzero(detection), np.arange(nodes))), (len(node), nodes))
    potential, u = cp.Variable(2 * nodes), cp.Variable(nodes)
    bounded = u >= 0
    covered = pick @ u + incidence(where) @ potential >= problem.arcs @ w + problem.augmentation
    sums = sparse.csr_array((np.ones(nodes), (where.sample_of(), np.arange(nodes))), (problem.n_samples, nodes))
    hinge = sums @ u + problem.false_negative * problem.true_arcs - problem.truth_features @ w

    def atoms() -> tuple[Ints, Ints, Floats]:
        flow, idle = multipliers(covered), multipliers(bounded)
        samples, witnesses, weights = [], [], []
        for i in range(problem.n_samples):
            for mates, weight in mixture(*matching(where, i, flow, idle)):
                samples.append(i)
                witnesses.append(np.concatenate([mates, np.full(problem.width - len(mates), -1)]))
                weights.append(weight)
        return np.array(samples), np.array(witnesses, np.int64), np.array(weights)

    return CompactHinge(hinge, [covered, bounded], atoms)


def matching(where: Any, i: int, flow: Floats, idle: Floats) -> tuple[Floats, Floats, Floats]:
    """A circulation as a fractional matching of `out` with `in`: its table, exits by row, entries by column."""
    begin, end = where.starts[i], where.starts[i + 1]
    mass = np.zeros((end - begin, end - begin))
    for j in range(end - begin):
        rows = np.arange(where.first[begin + j] + 3, where.first[begin + j + 1])
        mass[j, where.heads[rows]] = flow[rows]
        mass[j, j] = idle[begin + j]
    first = where.first[begin:end]
    return mass, flow[first + EXIT], flow[first + ENTRY]
