"""Learned costs: the oracle of a cost that is linear in v.

An error at a place (a label y′ ≠ y taken for y at input x) belongs to at most one class S of a factoring
(objectives/factorings.py), so an output ŷ of sample i has class counts c_i(ŷ) ∈ ℕ^m, and costs K⟨v, c_i(ŷ)⟩. With
θ = (w, b, v)

    h_i(θ) = max_ŷ ⟨w, φ(ŷ) − φ(y_i)⟩ + ⟨b, l(ŷ) − l(y_i)⟩ + K⟨v, c_i(ŷ)⟩

l(ŷ) ∈ ℕ^k counts labels. The cuts have offset 0. For every `Labelled` problem the maximum is the
problem's own argmax with the table  K v_{S(x_t, y_t, y′)} + b_{y′} − b_{y_t}  at its places t
(docs/mathematics.md §5).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.arithmetic.arrays import summed
from workbench.arithmetic.intervals import U, gamma
from workbench.arithmetic.rationals import Entries, ExactOutputs, Ratios, ratios
from workbench.contracts import Arranged, Exact, Floats, Ints, Kernel, Kernelled, Listable, Listing
from workbench.objectives.factorings import Classes
from workbench.objectives.oracles import MarginRescaling, called_kernel


def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """h_i(θ), its witness into `out`: the problem's own maximum at the table K v_S + b_{y′} − b_y."""
    inner, table, classes, fixed, group, _, _, d, k, m, K = data
    for y in range(k):
        for other in range(k):
            table[y, other] = theta[d + other] - theta[d + y]
            if classes[group[i], y, other] < 0:
                continue
            if m > 0:
                table[y, other] += K * theta[d + k + classes[group[i], y, other]]
            else:
                table[y, other] += fixed[group[i], y, other]
    return inner[1](inner[0], theta[:d], i, out)


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · (φ(out) − φ(y_i), l(out) − l(y_i), K c_i(out)), the last where costs are learned."""
    inner, _, classes, _, group, starts, truth, d, k, m, K = data
    inner[2](inner[0], i, out, scale, theta[:d])
    for place in range(starts[i], starts[i + 1]):
        label, other = truth[place], out[place - starts[i]]
        if label != other:
            theta[d + other] += scale
            theta[d + label] -= scale
            if m > 0 and classes[group[i], label, other] >= 0:
                theta[d + k + classes[group[i], label, other]] += scale * K


def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """The entries of the same slope into (indices, values); their number."""
    inner, _, classes, _, group, starts, truth, d, k, m, K = data
    count = inner[3](inner[0], i, out, indices, values)
    for place in range(starts[i], starts[i + 1]):
        label, other = truth[place], out[place - starts[i]]
        if label != other:
            indices[count], values[count] = d + other, 1.0
            indices[count + 1], values[count + 1] = d + label, -1.0
            count += 2
            if m > 0 and classes[group[i], label, other] >= 0:
                indices[count], values[count] = d + k + classes[group[i], label, other], K
                count += 1
    return count


def parts_into(data: Any, i: int, base: Ints, out: Ints, parts: Ints, offsets: Floats) -> int:
    """The parts of the problem's own kernel, and what they cost by `fixed`."""
    inner, _, classes, fixed, group, starts, truth = data[:7]
    count = inner[7](inner[0], i, base, out, parts, offsets)
    for part in range(count):
        offsets[part] = 0.0
        for place in range(starts[i], starts[i + 1]):
            label, other = truth[place], parts[part, place - starts[i]]
            if label != other and classes[group[i], label, other] >= 0:
                offsets[part] += fixed[group[i], label, other]
    return count


def reads_into(data: Any, i: int, indices: Ints) -> int:
    """What the problem's kernel reads, all biases, and all costs that are learned; their number."""
    inner, d, k, m = data[0], data[7], data[8], data[9]
    count = inner[5](inner[0], i, indices)
    for j in range(k + m):
        indices[count + j] = d + j
    return count + k + m


@dataclass(frozen=True)
class LearnedCost(MarginRescaling):
    """The hinge with learned costs; θ = (w, b, v), K the scale of costs."""

    classes: Classes
    K: float

    free_outputs: ClassVar[bool] = True
    concurrent: ClassVar[bool] = True
    by_parts: ClassVar[bool] = False  # at large K many light parts slow the first passes down

    @property
    def least_loss(self) -> float:
        """∞: no offset is positive."""
        return np.inf

    @property
    def sizes(self) -> tuple[int, int, int]:
        """d, k, m."""
        return self.problem.n_features, len(self.problem.classes), len(self.classes.names)

    @property
    def dim(self) -> int:
        return sum(self.sizes)

    def split(self, theta: Any) -> tuple[Any, Any, Any]:
        d, k, _ = self.sizes
        return theta[:d], theta[d : d + k], theta[d + k :]

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        w, b, v = self.split(theta)
        _, places = self.problem.places(samples)
        truth = self.problem.labels[places]
        table = self.K * np.append(v, 0.0)[self.classes.at(places, truth)] + (b - b[truth][:, None])
        return self.problem.argmax(w, samples, augment=table)

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        w, b, _ = self.split(theta)
        number, _ = self.problem.places(samples)
        return self.problem.argmax(w, samples, augment=np.tile(b, (len(number), 1)))

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        w, _ = super().rows(samples, witnesses)
        number, label, other, error = self.errors(samples, witnesses)
        _, k, m = self.sizes
        wrong, ones = error >= 0, np.ones(len(number))
        b = sparse.csr_array((ones, (number, other)), shape=(len(samples), k))
        b = b - sparse.csr_array((ones, (number, label)), shape=(len(samples), k))
        v = sparse.csr_array((ones[wrong], (number[wrong], error[wrong])), shape=(len(samples), m)) * self.K
        stacked = sparse.csr_array(sparse.hstack([w, b, v], format="csr"))
        stacked.eliminate_zeros()
        return stacked, np.zeros(len(samples))

    def errors(self, samples: Ints, witnesses: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """(number in the batch, true label, label, class or −1) at every place of a batch."""
        number, places = self.problem.places(samples)
        truth, labels = self.problem.labels[places], witnesses[witnesses >= 0]
        return number, truth, labels, self.classes.at(places, truth)[np.arange(len(places)), labels]

    def slope_error(self, samples: Ints) -> Floats:
        return super().slope_error(samples) + U * self.K * self.lengths(samples)

    def offset_error(self, samples: Ints) -> Floats:
        return np.zeros(len(samples))

    def lengths(self, samples: Ints) -> Floats:
        """(m,) the number of places of each sample."""
        number, _ = self.problem.places(samples)
        return summed(number, None, len(samples))

    def rounding(self, theta: Floats) -> Floats:
        """What the argmax may miss: two scores, each the sum of ≤ terms products and 3T biases and costs, T places.

        A product and its sum round twice, so each score errs by γ of 2 · terms + 4T + 8, a few to spare, of its size.
        """
        w, b, v = (float(np.abs(part).max(initial=0.0)) for part in self.split(theta))
        lengths = self.lengths(np.arange(self.n_samples))
        size = w * self.problem.magnitude + (2 * b + self.K * v) * lengths
        return 2 * gamma(2 * self.problem.terms + 8 + 4 * int(lengths.max())) * size

    def reach(self, samples: Ints) -> Floats:
        return super().reach(samples) + (2 + self.K) * self.lengths(samples)

    def exact(self) -> ExactLearnedCost | None:
        return ExactLearnedCost(self, self.problem.exact()) if isinstance(self.problem, Exact) else None

    def kernel(self, arranged: bool = False) -> Kernel:
        """The problem's own kernel at the table of costs and biases of the sample's group."""
        everyone = np.arange(self.n_samples)
        number, places = self.problem.places(everyone)
        starts = np.searchsorted(number, np.append(everyone, self.n_samples))
        groups, truth, k = self.classes.group[places], self.problem.labels[places], len(self.problem.classes)
        if not isinstance(self.problem, Kernelled) or (groups != groups[starts[number]]).any():
            return called_kernel(self)
        table, d = np.zeros((k, k)), self.sizes[0]
        learned = self.dim - d - k
        size = d, k, learned, self.K
        moved = self.problem if arranged and isinstance(self.problem, Arranged) else None
        inner = moved.arranged(table) if moved else self.problem.kernel(augment=table)
        place = None if inner.place is None else np.append(inner.place, np.arange(d, self.dim))
        data = inner, table, *self.costs(), groups[starts[:-1]], starts, truth, *size
        most = inner.most + 3 * int(np.diff(starts).max())
        reads = reads_into if inner.reads_into else None  # pair scores may read every weight
        parts = (parts_into, inner.parts) if self.by_parts and inner.parts_into else (None, 0)
        return Kernel(data, argmax_into, add_slope, slope_into, most, reads, inner.widest + k + learned, *parts, place)

    def listing(self) -> Listing | None:
        """All cuts as tables; a kind is a group of inputs and a true label."""
        labels = self.problem.labels
        if not isinstance(self.problem, Listable):
            return None
        (d, k, _), (table, fixed) = self.sizes, self.costs()
        groups, learned = len(table), self.dim - d - k
        scale = np.tile(1 - np.eye(k), (groups, 1))
        classes = table.reshape(groups * k, k) if learned else np.full((groups * k, k), -1)
        offset = np.zeros((groups * k, k)) if learned else fixed.reshape(groups * k, k)
        return self.problem.listing(scale, offset)._replace(
            kind=self.classes.group * k + labels,
            truth=np.tile(np.arange(k), groups),
            biased=1,
            classes=classes,
            K=float(self.K),
        )

    def costs(self) -> tuple[Ints, Floats]:
        """Classes S (groups, k, k), and the costs K v_S that are not learned (groups, k, k), none if all are."""
        return np.ascontiguousarray(self.classes.table), np.zeros((0, 0, 0))


@dataclass(frozen=True)
class FixedCost(LearnedCost):
    """The same hinge at a given v; θ = (w, b), and K⟨v, c_i(y)⟩ is the offset of a cut."""

    v: Floats

    concurrent: ClassVar[bool] = True

    @property
    def least_loss(self) -> float:
        """K times the least positive cost: an offset is K times a sum of costs."""
        return self.K * float(self.v[self.v > 0].min(initial=np.inf))

    @property
    def dim(self) -> int:
        return sum(self.sizes[:2])

    def split(self, theta: Any) -> tuple[Any, Any, Any]:
        d, _, _ = self.sizes
        return theta[:d], theta[d:], self.v

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        slopes, _ = super().rows(samples, witnesses)
        return sparse.csr_array(slopes[:, : self.dim]), slopes[:, self.dim :] @ self.v

    def offset_error(self, samples: Ints) -> Floats:
        return gamma(len(self.v) + 1) * self.K * float(np.abs(self.v).max(initial=0.0)) * self.lengths(samples)

    def costs(self) -> tuple[Ints, Floats]:
        table, _ = super().costs()
        return table, self.K * np.append(self.v, 0.0)[table]

    def recost(self, kernel: Kernel) -> bool:
        """Put these costs into a kernel of the same hinge at others; False if it holds none."""
        if kernel.data:
            kernel.data[3][:] = self.costs()[1]
        return bool(kernel.data)

    def exact(self) -> ExactFixedCost | None:
        return ExactFixedCost(self, self.problem.exact()) if isinstance(self.problem, Exact) else None


@dataclass(frozen=True)
class ExactLearnedCost:
    """`LearnedCost` in rational arithmetic (contract: rationals.ExactOracle)."""

    floats: LearnedCost
    outputs: ExactOutputs

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[Entries, Ratios]:
        number, label, other, error = self.floats.errors(samples, witnesses)
        slopes, K = self.outputs.slopes(samples, witnesses), Fraction(self.floats.K)
        d, k, _ = self.floats.sizes
        unit, wrong, paid = slopes.unit * K.denominator, label != other, error >= 0
        one, cost = np.full(int(wrong.sum()), unit, object), np.full(int(paid.sum()), slopes.unit * K.numerator, object)
        entries = Entries(
            np.concatenate([slopes.rows, number[wrong], number[wrong], number[paid]]),
            np.concatenate([slopes.columns, d + other[wrong], d + label[wrong], d + k + error[paid]]),
            np.concatenate([slopes.values * K.denominator, one, -one, cost]),
            unit,
        )
        return entries, Ratios(np.zeros(len(samples), object), 1)

    def highest(self, theta: Ratios, samples: Ints) -> Ratios:
        return self.greatest(*self.floats.split(theta.whole), theta.unit, samples)

    def greatest(self, w: NDArray, b: NDArray, v: NDArray, unit: int, samples: Ints) -> Ratios:
        """h_i at (w, b, v), whole numbers over `unit`."""
        _, places = self.floats.problem.places(samples)
        truth, K = self.floats.problem.labels[places], Fraction(self.floats.K)
        costs = np.append(v, 0)[self.floats.classes.at(places, truth)] * K.numerator
        table = costs + (b - b[truth][:, None]) * K.denominator
        return self.outputs.augmented(Ratios(w, unit), samples, Ratios(table, unit * K.denominator))


@dataclass(frozen=True)
class ExactFixedCost(ExactLearnedCost):
    """`FixedCost` in rational arithmetic."""

    floats: FixedCost

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[Entries, Ratios]:
        entries, _ = super().rows(samples, witnesses)
        kept, v = entries.columns < self.floats.dim, ratios(self.floats.v)
        offsets, paid = np.zeros(len(samples), object), ~kept
        np.add.at(offsets, entries.rows[paid], entries.values[paid] * v.whole[entries.columns[paid] - self.floats.dim])
        slopes = Entries(entries.rows[kept], entries.columns[kept], entries.values[kept], entries.unit)
        return slopes, Ratios(offsets, entries.unit * v.unit)

    def highest(self, theta: Ratios, samples: Ints) -> Ratios:
        v, (d, _, _) = ratios(self.floats.v), self.floats.sizes
        whole = theta.whole * v.unit
        return self.greatest(whole[:d], whole[d:], v.whole * theta.unit, theta.unit * v.unit, samples)
