"""Tracking graphs, checked and laid end to end; every fault names its place.

The arcs of all samples are the rows of one matrix. Node by node, in order:

    entry, exit, detection, and a link to each later node k that may follow, k ascending

so the rows of node ν are first[ν] : first[ν + 1], and row first[ν] + 2 + m for m ≥ 1 is its m-th link.
`heads` says where a row leads: to k for a link, to the node itself for its detection, nowhere (−1) for
entry and exit. Columns: features of detections, entries, exits, links, one block after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from workbench.arithmetic.arrays import checked_entries, numbers
from workbench.contracts import Ints
from workbench.errors import BadInput

ENTRY, EXIT, NODE, LINKS = 0, 1, 2, 3
BLOCKS = ("detections", "entries", "exits", "link_features")


class Detections(NamedTuple):
    """One sample: V detections in the order of time, and the links between them that a track may take.

    detections (V, a), entries (V, b), exits (V, c) : features of using a detection, of a track's begin and end there
    links (L, 2) : pairs j < k of detections;  link_features (L, e)
    """

    detections: ArrayLike
    entries: ArrayLike
    exits: ArrayLike
    links: ArrayLike
    link_features: ArrayLike


class Layout(NamedTuple):
    """Where everything stands: starts (n + 1,) of samples' nodes, first (N + 1,) of nodes' rows, heads (R,) of rows."""

    starts: Ints
    first: Ints
    heads: Ints

    def node_of(self) -> Ints:
        """(R,) the node that each row belongs to, counted over all samples."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def sample_of(self) -> Ints:
        """(N,) the sample of each node."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def offsets(self) -> Ints:
        """(R,) each row's place in its node's rows: 0 entry, 1 exit, 2 detection, then links."""
        return np.arange(len(self.heads)) - np.repeat(self.first[:-1], np.diff(self.first))


def layout(nodes: Ints, counts: Ints, heads: Ints) -> Layout:
    """Of samples with nodes (n,) detections, of which each has counts (N,) links to `heads` (L,); or `BadInput`."""
    if (nodes < 1).any() or (counts < 0).any() or counts.sum() != len(heads) or nodes.sum() != len(counts):
        raise BadInput("the numbers of detections and of links do not fit together")
    starts, first = (np.concatenate([[0], np.cumsum(each)]).astype(np.int64) for each in (nodes, counts + LINKS))
    found = Layout(starts, first, np.full(first[-1], -1, np.int64))
    place, node = found.offsets(), found.node_of()
    within = node - starts[found.sample_of()][node]
    found.heads[place == NODE] = within[place == NODE]
    found.heads[place >= LINKS] = heads
    later = np.append(found.heads[1:] <= found.heads[:-1], True) & np.append(place[1:] > place[:-1], False)
    wrong = (place >= LINKS) & ((found.heads <= within) | (found.heads >= nodes[found.sample_of()][node]))
    wrong |= later & (place >= LINKS)
    if wrong.any():
        at = int(wrong.argmax())
        i, j, k = found.sample_of()[node[at]], within[at], found.heads[at]
        raise BadInput(
            f"Link ({j}, {k}) of sample {i} leads backwards, outside or comes twice; lead to later detections."
        )
    return found


def laid_out(graphs: Sequence[Detections]) -> tuple[sparse.csr_array, Layout, tuple[int, ...]]:
    """All arcs (R, d) of all samples, where they stand, and the widths of the four blocks; or `BadInput`."""
    if not hasattr(graphs, "__len__") or len(graphs) == 0:
        raise BadInput("There are no samples; give a list of graphs of detections, at least one.")
    pieces = [checked_graph(i, graph) for i, graph in enumerate(graphs)]
    widths = [tuple(table.shape[1] for table in tables) for _, tables in pieces]
    for i, width in enumerate(widths):
        if width != widths[0]:
            raise BadInput(f"Sample {i} has {width} features (per {', '.join(BLOCKS)}), sample 0 {widths[0]}; use one.")
    nodes = np.array([len(tables[0]) for _, tables in pieces])
    counts = np.concatenate(
        [np.bincount(links[:, 0], minlength=v) for (links, _), v in zip(pieces, nodes, strict=True)]
    )
    where = layout(nodes, counts, np.concatenate([links[:, 1] for links, _ in pieces]))
    place = where.offsets()
    stacked = [np.concatenate([tables[block] for _, tables in pieces]) for block in range(len(BLOCKS))]
    whole = sparse.csr_array(sparse.block_diag(stacked, format="csr"))
    order = np.empty(len(place), np.int64)  # which stacked row stands at each place
    total = int(nodes.sum())
    for block, kind in enumerate((NODE, ENTRY, EXIT)):
        order[place == kind] = block * total + np.arange(total)
    order[place >= LINKS] = 3 * total + np.arange(int(counts.sum()))
    arcs = sparse.csr_array(whole[order])
    arcs.eliminate_zeros()
    arcs.sort_indices()
    node = where.node_of()
    sample = where.sample_of()[node]

    def named(row: int) -> str:
        kind = ("the entry", "the exit", "the detection")[place[row]] if place[row] < LINKS else "a link"
        return f"of {kind} of detection {node[row] - where.starts[sample[row]]} of sample {sample[row]}"

    checked_entries(arcs, named)
    return arcs, where, widths[0]


def checked_graph(i: int, graph: Any) -> tuple[Ints, list[Any]]:
    """The links (L, 2) of one sample in order, and its four tables; or `BadInput`."""
    if not hasattr(graph, "__len__") or len(graph) != len(Detections._fields):
        raise BadInput(f"Sample {i} is no graph; give (detections, entries, exits, links, link_features).")
    graph = Detections(*graph)
    tables = [numbers(getattr(graph, name), f"The {name} of sample {i}", "repair them") for name in BLOCKS]
    links = np.asarray(graph.links)
    if links.size == 0:
        links = np.empty((0, 2), np.int64)
    if links.ndim != 2 or links.shape[1] != 2 or links.dtype.kind not in "ui":
        raise BadInput(f"The links of sample {i} are {links.dtype} {links.shape}; give pairs (j, k) of whole numbers.")
    if any(table.ndim != 2 for table in tables) or len(tables[0]) == 0:
        raise BadInput(f"The features of sample {i} are no tables, or hold no detection; give (V, a), … with V ≥ 1.")
    sizes = [len(table) for table in tables]
    if sizes != [sizes[0]] * 3 + [len(links)]:
        raise BadInput(
            f"Sample {i} has {sizes[:3]} rows of detections, entries, exits, and {sizes[3]} of link features "
            f"for {len(links)} links; make them equal."
        )
    links = links.astype(np.int64)
    if len(links) and (links.min() < 0 or links.max() >= sizes[0]):
        raise BadInput(
            f"A link of sample {i} names detection {links.max()}; they are counted from 0 to {sizes[0] - 1}."
        )
    order = np.lexsort((links[:, 1], links[:, 0]))
    return links[order], [*tables[:3], tables[3][order]]


def checked_tracks(where: Layout, tracks: Any, width: int) -> Ints:
    """Tracks as rows (n, width): what follows each detection j, −1 if nothing does, j if j is on no track."""
    n = len(where.starts) - 1
    if not hasattr(tracks, "__len__") or len(tracks) != n:
        raise BadInput(f"There are {n} samples; give one list of tracks each, a track being a list of detections.")
    truth = np.full((n, width), -1, np.int64)
    for i, paths in enumerate(tracks):
        size = int(where.starts[i + 1] - where.starts[i])
        truth[i, :size] = np.arange(size)
        seen = np.zeros(size, bool)
        for path in paths:
            path = np.asarray(path)
            if path.ndim != 1 or not len(path) or path.dtype.kind not in "ui" or path.min() < 0 or path.max() >= size:
                raise BadInput(f"A track of sample {i} is no list of detections from 0 to {size - 1}; correct it.")
            if seen[path].any() or len(np.unique(path)) < len(path):
                raise BadInput(f"The tracks of sample {i} share a detection; each belongs to one track at most.")
            seen[path] = True
            truth[i, path] = np.append(path[1:], -1)
            for j, k in pairwise(path):
                node = where.starts[i] + j
                if k not in where.heads[where.first[node] + LINKS : where.first[node + 1]]:
                    raise BadInput(f"A track of sample {i} goes from {j} to {k}, which is no link; use split_tracks.")
    return truth
