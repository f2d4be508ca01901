"""The outputs seen so far: row r is φ(x_i, y) and ℓ_i(y) of one output y of the sample i = owners[r].

Rows are appended and never changed, so the number of a row names its output for good. Appending and
reading take time in proportion to what is appended and read, never to what has been seen.

    Listing      all outputs of all samples, where they are few: maxima by enumeration
    Exactly      the same rows as fractions (contract: rationals.ExactOutputs)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from workbench.arithmetic.intervals import U
from workbench.arithmetic.rationals import Entries, Ratios, Rows, ratios
from workbench.contracts import Floats, Grown, Ints

FINEST = 48  # bits behind the point up to which entries are tried as whole multiples


class Table:
    """Rows of features with losses and owners; `sizes` holds ‖φ‖₁ of each row, rounded up."""

    def __init__(self, dim: int):
        self.dim, self.longest, self.largest, self.bits = dim, 0, 0.0, 0
        self._ends, self._columns, self._values = (Grown(np.zeros(k, t)) for k, t in ((1, "i8"), (0, "i8"), (0, "f8")))
        self._owners, self._losses, self._sizes = (Grown(np.zeros(0, t)) for t in ("i8", "f8", "f8"))

    def __len__(self) -> int:
        return len(self._owners.view)

    @property
    def owners(self) -> Ints:
        return self._owners.view

    @property
    def losses(self) -> Floats:
        return self._losses.view

    @property
    def sizes(self) -> Floats:
        return self._sizes.view

    def append(self, owner: int, columns: Ints, values: Floats, loss: float) -> int:
        """Add a row; returns its number."""
        self._ends.extend(self._ends.view[-1:] + len(columns))
        self._columns.extend(columns)
        self._values.extend(values)
        self._owners.extend(np.array([owner]))
        self._losses.extend(np.array([loss]))
        absolute = np.abs(values)
        self._sizes.extend(absolute.sum(keepdims=True) * (1 + 2 * len(values) * U))
        self.longest, self.largest = max(self.longest, len(values)), max(self.largest, absolute.max(initial=0.0))
        while self.bits <= FINEST and (values * 2.0**self.bits % 1).any():
            self.bits += 4
        return len(self) - 1

    @property
    def exact_differences(self) -> bool:
        """Whether the difference of any two rows is free of rounding: whole multiples of one 2⁻ˢ below 2⁵³ of it."""
        return self.bits <= FINEST and 2 * self.largest * 2.0**self.bits < 2.0**53

    def row(self, number: int) -> tuple[Ints, Floats]:
        """Columns and values of one row, to be read only."""
        start, stop = self._ends.view[number : number + 2]
        return self._columns.view[start:stop], self._values.view[start:stop]

    def holds(self, number: int, columns: Ints, values: Floats, loss: float) -> bool:
        """Whether a row has these features and that loss."""
        at, kept = self.row(number)
        return bool(loss == self.losses[number] and np.array_equal(at, columns) and np.array_equal(kept, values))

    def take(self, rows: Ints) -> sparse.csr_array:
        """These rows of features, (m, dim)."""
        ends = self._ends.view
        counts = ends[rows + 1] - ends[rows]
        stops = np.cumsum(counts)
        at = np.arange(stops[-1] if len(stops) else 0) + np.repeat(ends[rows] - (stops - counts), counts)
        parts = self._values.view[at], self._columns.view[at], np.concatenate([[0], stops])
        return sparse.csr_array(parts, shape=(len(rows), self.dim))


class Listing:
    """All outputs of all samples: `rows` of a table, sample by sample, from `starts` (n + 1,) on; the truth among them.

    Ties go to the output listed first.
    """

    def __init__(self, table: Table, rows: list[Ints], truth: Ints):
        self.table, self.rows, self.truth = table, np.concatenate(rows), truth
        self.starts: Ints = np.concatenate([[0], np.cumsum([len(each) for each in rows])])
        self.matrix, self.losses = table.take(self.rows), table.losses[self.rows]
        self.true: Ints = np.flatnonzero(self.rows == np.repeat(truth, np.diff(self.starts)))  # in this listing

    def of(self, sample: int) -> Ints:
        """The rows of one sample's outputs."""
        return self.rows[self.starts[sample] : self.starts[sample + 1]]

    def like(self, sample: int, columns: Ints, values: Floats, loss: float) -> int | None:
        """The row of the sample's first output with these features and that loss."""
        return next((row for row in self.of(sample).tolist() if self.table.holds(row, columns, values, loss)), None)

    def chosen(self, samples: Ints) -> tuple[Ints, Ints]:
        """Where the outputs of a batch stand in this listing, and where each sample's begin among them."""
        counts = self.starts[samples + 1] - self.starts[samples]
        first = np.cumsum(counts) - counts
        return np.arange(counts.sum()) + np.repeat(self.starts[samples] - first, counts), first

    def highest(self, values: Floats, at: Ints, first: Ints) -> Ints:
        """The output (m, 1) of the greatest value within each sample."""
        counts = lengths(first, at)
        top = values == np.repeat(np.maximum.reduceat(values, first), counts)
        order = np.where(top, np.arange(len(at)), len(at))
        return self.rows[at[np.minimum.reduceat(order, first)]][:, None]

    def argmax(self, w: Floats, samples: Ints, augment: bool = True) -> Ints:
        at, first = self.chosen(samples)
        return self.highest(self.matrix[at] @ w + (self.losses[at] if augment else 0.0), at, first)

    def slack_argmax(self, w: Floats, samples: Ints) -> Ints:
        """argmax_y ℓ_i(y) (1 − ⟨w, ψ_i(y)⟩)."""
        at, first = self.chosen(samples)
        own = np.repeat(self.matrix[self.true[samples]] @ w, lengths(first, at))
        return self.highest(self.losses[at] * (1 + (self.matrix[at] @ w - own)), at, first)

    def runner_up(self, w: Floats, samples: Ints) -> Ints:
        at, first = self.chosen(samples)
        scores = self.matrix[at] @ w
        scores[np.isin(at, self.true[samples])] = -np.inf
        return self.highest(scores, at, first)


class Exactly:
    """A `Listing` in rational arithmetic: features and losses are the floats that they are."""

    def __init__(self, listing: Listing):
        table = listing.table
        self.listing, self.owners, self.truth = listing, table.owners, listing.truth
        self.features, self.losses = Rows(table.take(np.arange(len(table)))), ratios(table.losses)
        positive = listing.losses[listing.losses > 0]
        self.least_loss = Fraction(float(positive.min())) if len(positive) else Fraction(1)

    def fault(self, samples: Ints, outputs: Ints) -> int | None:
        wrong = misplaced(self.owners, samples, outputs)
        return int(wrong.argmax()) if wrong.any() else None

    def slopes(self, samples: Ints, outputs: Ints) -> Entries:
        to, fro = self.features.entries(outputs[:, 0]), self.features.entries(self.truth[samples])
        number, columns = (np.concatenate(pair) for pair in zip(to[:2], fro[:2], strict=True))
        return Entries(number, columns, np.concatenate([to[2], -fro[2]]), self.features.unit)

    def loss(self, samples: Ints, outputs: Ints) -> Ratios:
        return self.losses[outputs[:, 0]]

    def gains(self, w: Ratios, samples: Ints) -> tuple[Any, Ints, Ints, int]:
        """−⟨w, ψ_i(y)⟩ of all outputs of a batch over a unit; their rows; where each sample's begin; and that unit."""
        at, first = self.listing.chosen(samples)
        rows = self.listing.rows[at]
        own = self.features.scores(self.truth[samples], w.whole[None, :])[:, 0]
        scores = self.features.scores(rows, w.whole[None, :])[:, 0]
        return scores - np.repeat(own, lengths(first, at)), rows, first, w.unit * self.features.unit

    def margin(self, w: Ratios, samples: Ints) -> Ratios:
        gains, rows, first, unit = self.gains(w, samples)
        values = gains * self.losses.unit + self.losses.whole[rows] * unit
        return Ratios(np.maximum.reduceat(values, first), unit * self.losses.unit)

    def slack(self, w: Ratios, samples: Ints) -> Ratios:
        gains, rows, first, unit = self.gains(w, samples)
        return Ratios(np.maximum.reduceat(self.losses.whole[rows] * (unit + gains), first), unit * self.losses.unit)

    def free(self, w: Ratios, samples: Ints) -> Ratios:
        gains, rows, first, unit = self.gains(w, samples)
        return Ratios(np.maximum.reduceat(np.where(self.losses.whole[rows] == 0, gains, 0), first), unit)

    def rival(self, w: Ratios, samples: Ints) -> Ratios:
        gains, rows, first, unit = self.gains(w, samples)
        lowest = -1 - max(map(abs, gains), default=0)
        other = rows != np.repeat(self.truth[samples], lengths(first, rows))
        return Ratios(np.maximum.reduceat(np.where(other, gains, lowest), first), unit)


def lengths(first: Ints, at: Ints) -> Ints:
    """How many entries of `at` each segment has that begins at `first`."""
    return np.diff(np.append(first, len(at)))


def misplaced(owners: Ints, samples: Ints, outputs: Ints) -> Any:
    """Which outputs (m, 1) are no rows, or rows of another sample."""
    rows = outputs[:, 0]
    inside = (rows >= 0) & (rows < len(owners))
    return ~inside | (owners[np.where(inside, rows, 0)] != samples)
