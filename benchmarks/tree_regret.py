"""The scoring filter tree under a judge: its regret, against the sum of its nodes' regrets.

P(c) are the chances of the labels of one pair, which the simulation knows. A tournament of scores names a winner w; its
regret is max_c P(c) − P(w). A node with entrants u and v errs where the less likely one wins; its regret is then
|P(u) − P(v)|, in the weights of the reduction, where a node is trained only if an entrant is the label. Then

    max_c P(c) − P(w) ≤ Σ over nodes of their regrets

(the filter tree of Beygelzimer, Langford & Ravikumar, Error-Correcting Tournaments, ALT 2009). *Proof*, by induction
over subtrees: let the best label b stand below the child whose winner is u. In P(b) − P(u) + P(u) − P(w) the first
difference is at most the regrets of that child's nodes, the second at most the regret of this node. ∎
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.contracts import Floats
from workbench.dyads.dyadic import Dyadic
from workbench.dyads.pairs import simulated_chances, split
from workbench.errors import checked_whole


def regrets(chances: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """(n,) the tree's regret, and the sum of its nodes' regrets; the tournament of workbench/dyads/dyadic.py."""
    every, total = np.arange(len(scores)), np.zeros(len(scores))
    alive = np.tile(np.arange(scores.shape[1]), (len(scores), 1))
    while alive.shape[1] > 1:
        left, right = alive[:, 0:-1:2], alive[:, 1::2]
        wins = np.take_along_axis(scores, left, 1) >= np.take_along_axis(scores, right, 1)
        lead = np.take_along_axis(chances, left, 1) - np.take_along_axis(chances, right, 1)
        total += np.where(wins, np.maximum(-lead, 0), np.maximum(lead, 0)).sum(axis=1)
        last = alive[:, -1:] if alive.shape[1] % 2 else alive[:, :0]
        alive = np.hstack([np.where(wins, left, right), last])
    return chances.max(axis=1) - chances[every, alive[:, 0]], total


def tree_regret(
    tasks: int = 2000, per_task: int = 10, raters: int = 100, classes: int = 8, passes: int = 15, seed: int = 0
) -> dict[str, Any]:
    """Rows by reduction and passes: mean regret of the tree, and of its nodes; `violations` of the bound."""
    checked_whole(1, tasks=tasks, passes=passes)
    dyads, chances = simulated_chances(tasks, per_task, raters, classes, 1, seed)
    train, test = split(dyads.n_samples, 1 / 4, seed)
    rows, violations = [], 0
    for reduction in ("tree", "one-against-all"):
        learner = Dyadic(1, step=0.1, reduction=reduction, seed=seed)

        def seen(number: int, factors: Any, reduction: str = reduction) -> None:
            nonlocal violations
            whole, nodes = regrets(chances[test], dyads.take(test).scores(factors))
            violations += int((whole > nodes + 1e-12).sum())
            means = {"regret": float(whole.mean()), "nodes": float(nodes.mean())}
            rows.append({"reduction": reduction, "passes": number, **means, "ratio": means["regret"] / means["nodes"]})

        learner.fit(dyads.take(train), passes, seen)
    return {"rows": rows, "violations": violations, "failed": violations}


NAMES = {"tree-regret": tree_regret}
