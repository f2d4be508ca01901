"""Detections in the order of time and the links between them, which a `flow` walks through.

Rows of a detection: its entry, its exit, itself, then one for each link.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.whole import Array

ENTRY, EXIT, NODE, LINKS = 0, 1, 2, 3


class Detections:
    n: int
    dim: int

    def read_links(self, fields: Fields) -> None:
        heads, widths = fields.ints("heads", None), fields.ints("blocks", 4, within=(0, 1 << 30))
        counts = fields.ints("counts", None, within=(0, len(heads)))
        self.sizes = fields.ints("sizes", None, within=(1, len(counts)))
        fits = self.sizes.sum() == len(counts) and counts.sum() == len(heads)
        demand(fits, f"{fields.of}sizes, counts and heads do not fit together")
        self.n, self.dim = len(self.sizes), int(widths.sum())
        demand(self.n and self.dim, f"{fields.of}sizes or blocks are empty")
        self.starts, self.first = (np.concatenate([[0], np.cumsum(each)]) for each in (self.sizes, counts + LINKS))
        self.node = np.repeat(np.arange(len(counts)), counts + LINKS)
        self.place = np.arange(len(self.node)) - self.first[self.node]
        owner = np.repeat(np.arange(self.n), self.sizes)
        self.own, self.size_at = np.arange(len(counts)) - self.starts[owner], self.sizes[owner]
        self.heads = np.zeros(len(self.node), np.int64)
        self.heads[self.place >= LINKS] = heads
        links = np.flatnonzero(self.place >= LINKS)
        ahead = (self.heads > self.own[self.node]) & (self.heads < self.size_at[self.node])
        again = np.flatnonzero((np.diff(self.node) == 0) & (self.place[:-1] >= LINKS))
        rising = (self.heads[again] < self.heads[again + 1]).all()
        demand(ahead[links].all() and rising, f"{fields.of}heads: a link leads backwards, outside, or comes twice")

    @cached_property
    def link_keys(self) -> tuple[Array, Array]:
        """The rows of all links, and (node, head) of each as one number, which rises."""
        rows = np.flatnonzero(self.place >= LINKS)
        return rows, self.node[rows] * self.width + self.heads[rows]

    def followed(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array, Array]:
        """(number in the batch, j, row of the link j → k, whether there is one) of every j that goes on to a k."""
        number, j = np.nonzero((outputs >= 0) & (outputs != np.arange(self.width)))
        rows, keys = self.link_keys
        wanted = (self.starts[samples[number]] + j) * self.width + outputs[number, j]
        at = np.searchsorted(keys, wanted)
        return number, j, np.append(rows, 0)[at], np.isin(wanted, keys)
