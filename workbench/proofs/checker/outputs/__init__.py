"""The output structures that the checker knows; importing a file registers its definition."""

from workbench.proofs.checker.outputs import (
    chain,
    dyads,
    flow,
    graph,
    linear,
    matching,
    motif,
    multiclass,
    multilabel,
    structured,
    tree,
    views,
)

DEFINITIONS = (chain, dyads, flow, graph, linear, matching, motif, multiclass, multilabel, structured, tree, views)
