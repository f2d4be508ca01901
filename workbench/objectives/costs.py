"""Learned costs: factorings of errors into classes, and the oracle of a cost that is linear in v.

An error at a place (a label y taken for y′ ≠ y at input x) belongs to one class S of a factoring, so an
output ŷ of sample i has class counts c_i(ŷ) ∈ ℕ^m, and costs K⟨v, c_i(ŷ)⟩. With θ = (w, b, v)

    h_i(θ) = max_ŷ ⟨w, φ(ŷ) − φ(y_i)⟩ + ⟨b, l(ŷ) − l(y_i)⟩ + K⟨v, c_i(ŷ)⟩

l(ŷ) ∈ ℕ^k counts labels. The cuts have offset 0. For every `Labelled` problem the maximum is the
problem's own argmax with the table  K v_{S(x_t, y_t, y′)} + b_{y′} − b_{y_t}  at its places t
(docs/mathematics.md §5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.arithmetic.intervals import U, gamma
from workbench.arithmetic.rationals import Entries, ExactOutputs, Ratios, ratios
from workbench.contracts import Floats, Ints, Kernel, Kernelled, Labelled
from workbench.errors import BadInput, MissingCapability
from workbench.objectives.oracles import MarginRescaling, called_kernel

# ── factorings ────────────────────────────────────────────────────────────────────────────────────


class Classes(NamedTuple):
    """The error classes of a factoring: table[g, y, y′] is the class of y taken for y′.

    names : (m,) one word for each class
    table : (groups, k, k) classes from 0 to m − 1; −1 where y = y′, and for an error that costs nothing
    group : (N,) the g of each place: which table holds there
    """

    names: list[str]
    table: Ints  # (groups, k, k)
    group: Ints

    def at(self, places: Ints, truth: Ints) -> Ints:
        """(P, k) the class of every label at places with these true labels."""
        return self.table[self.group[places], truth]


def ordered(problem: Any) -> Classes:
    """One class for each pair y → y′."""
    k = len(problem.classes)
    table = np.full((k, k), -1)
    table[~np.eye(k, dtype=bool)] = np.arange(k * (k - 1))
    pairs = [f"{y}→{z}" for y in problem.classes for z in problem.classes if y != z]
    return everywhere(problem, pairs, table)


def unordered(problem: Any) -> Classes:
    """One class for each pair {y, y′}."""
    k = len(problem.classes)
    table, (low, high) = np.full((k, k), -1), np.triu_indices(k, 1)
    table[low, high] = table[high, low] = np.arange(len(low))
    return everywhere(
        problem, [f"{problem.classes[a]}–{problem.classes[b]}" for a, b in zip(low, high, strict=True)], table
    )


def true_label(problem: Any) -> Classes:
    """One class for each label that was right."""
    k = len(problem.classes)
    table = np.repeat(np.arange(k)[:, None], k, axis=1)
    return everywhere(problem, [f"{y}→·" for y in problem.classes], table)


def predicted_label(problem: Any) -> Classes:
    """One class for each label that was wrong."""
    k = len(problem.classes)
    return everywhere(problem, [f"·→{y}" for y in problem.classes], np.repeat(np.arange(k)[None, :], k, axis=0))


def constant(problem: Any) -> Classes:
    """One class for all errors."""
    k = len(problem.classes)
    return everywhere(problem, ["errors"], np.zeros((k, k), np.int64))


def by_input(problem: Any) -> Classes:
    """One class for each input feature: an error counts where that feature is the largest at the place."""
    k, p = len(problem.classes), problem.inputs.shape[1]
    rows = problem.inputs.tocsr()
    largest = np.asarray(rows.argmax(axis=1), np.int64).ravel()  # entries that are not stored are zeros, too
    table = np.repeat(np.arange(p)[:, None, None], k, axis=1).repeat(k, axis=2)
    return Classes([f"feature {j}" for j in range(p)], without_diagonal(table), largest)


def everywhere(problem: Any, names: list[str], table: Ints) -> Classes:
    """The same classes at every place."""
    return Classes(names, without_diagonal(table[None]), np.zeros(len(problem.labels), np.int64))


def without_diagonal(table: Ints) -> Ints:
    same = np.arange(table.shape[1])
    table[:, same, same] = -1
    return table


Factors = Callable[[Any], Classes]
FACTORINGS: dict[str, Factors] = {
    "unordered": unordered,
    "ordered": ordered,
    "true": true_label,
    "predicted": predicted_label,
    "constant": constant,
    "input": by_input,
}


def classes_of(problem: Any, factoring: str | Factors) -> Classes:
    """The error classes of a problem, by the name of a factoring or by a function from a problem to its classes.

    Raises
    ------
    MissingCapability : the outputs of the problem are no labels at places
    BadInput : no factoring has this name, or the function returns no classes of this problem
    """
    if not isinstance(problem, Labelled):
        name = type(problem).__name__
        raise MissingCapability(f"cost learning counts errors in labels and {name} has none; use soft-margin.")
    factors = checked_factoring(factoring)
    return checked_classes(problem, factors(problem), factors)


def checked_factoring(factoring: str | Factors) -> Factors:
    """The function behind a factoring, which is a name or such a function."""
    if callable(factoring):
        return factoring
    if factoring not in FACTORINGS:
        raise BadInput(f"factoring is {factoring!r}; choose {', '.join(FACTORINGS)}, or give a function in Python.")
    return FACTORINGS[factoring]


def checked_classes(problem: Any, classes: Any, factors: Factors) -> Classes:
    """The classes if they are of the shapes and values that `Classes` states; else `BadInput`."""
    k, places, word = len(problem.classes), len(problem.labels), getattr(factors, "__name__", "the function")
    if not isinstance(classes, Classes):
        raise BadInput(
            f"The factoring {word} returns {type(classes).__name__}; return wb.Classes(names, table, group)."
        )
    names, table, group = list(classes.names), np.asarray(classes.table), np.asarray(classes.group)
    if table.ndim == 4:
        raise BadInput(
            f"The factoring {word} puts an error into several classes; error classes may not overlap, so make each "
            "intersection a class of its own."
        )
    if table.shape[1:] != (k, k) or group.shape != (places,):
        raise BadInput(
            f"The factoring {word} has a table of shape {table.shape} and groups of shape {group.shape}; give "
            f"(groups, {k}, {k}) and ({places},)."
        )
    whole = table.dtype.kind in "iu" and group.dtype.kind in "iu"
    if not whole or (table < -1).any() or (table >= len(names)).any() or not names:
        raise BadInput(f"The factoring {word} has classes outside 0 … {len(names) - 1}; write -1 for no class.")
    if (table[:, np.arange(k), np.arange(k)] != -1).any():
        raise BadInput(f"The factoring {word} has a class for a label that is right; write -1 on the diagonal.")
    if (group < 0).any() or (group >= len(table)).any():
        raise BadInput(f"The factoring {word} has groups outside 0 … {len(table) - 1}; give one of them to each place.")
    return Classes(names, table.astype(np.int64), group.astype(np.int64))


# ── the oracle ────────────────────────────────────────────────────────────────────────────────────


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

    least_loss: ClassVar[float] = np.inf  # no offset is positive
    free_outputs: ClassVar[bool] = True

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
        return np.bincount(number, minlength=len(samples)) + 0.0

    def rounding(self, theta: Floats) -> Floats:
        """Two scores, each a sum of ≤ terms + 3T numbers of this total size: 2 γ of that."""
        w, b, v = (float(np.abs(part).max(initial=0.0)) for part in self.split(theta))
        lengths = self.lengths(np.arange(self.n_samples))
        size = w * self.problem.magnitude + (2 * b + self.K * v) * lengths
        return 2 * gamma(2 * self.problem.terms + 8 + 4 * int(lengths.max())) * size

    def reach(self, samples: Ints) -> Floats:
        return super().reach(samples) + (2 + self.K) * self.lengths(samples)

    def exact(self) -> ExactLearnedCost | None:
        return ExactLearnedCost(self, self.problem.exact()) if hasattr(self.problem, "exact") else None

    def kernel(self) -> Kernel:
        """The problem's own kernel at the table of costs and biases of the sample's group."""
        everyone = np.arange(self.n_samples)
        number, places = self.problem.places(everyone)
        starts = np.searchsorted(number, np.append(everyone, self.n_samples))
        groups = self.classes.group[places]
        if not isinstance(self.problem, Kernelled) or (groups != groups[starts[number]]).any():
            return called_kernel(self)
        table, (d, k, _) = np.zeros((len(self.problem.classes),) * 2), self.sizes
        learned = self.dim - d - k
        inner, size = self.problem.kernel(augment=table), (d, k, learned, self.K)
        truth, group = self.problem.labels[places], groups[starts[:-1]]
        data = inner, table, *self.costs(), group, starts, truth, *size
        most = inner.most + 3 * int(np.diff(starts).max())
        return Kernel(data, argmax_into, add_slope, slope_into, most, reads_into, inner.widest + k + learned)

    def costs(self) -> tuple[Ints, Floats]:
        """Classes S (groups, k, k), and the costs K v_S that are not learned (groups, k, k), none if all are."""
        return np.ascontiguousarray(self.classes.table), np.zeros((0, 0, 0))


@dataclass(frozen=True)
class FixedCost(LearnedCost):
    """The same hinge at a given v; θ = (w, b), and K⟨v, c_i(y)⟩ is the offset of a cut."""

    v: Floats

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
        return ExactFixedCost(self, self.problem.exact()) if hasattr(self.problem, "exact") else None


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


# ── how often an error of a class is to be expected ───────────────────────────────────────────────


def reachable(problem: Any, classes: Classes) -> NDArray[np.bool_]:
    """(m,) whether an error of the class takes one label that occurs for another that occurs.

    A label that no sample holds would never be predicted, and a cost put on it never be paid.
    """
    _, places = problem.places(np.flatnonzero(problem.weights > 0))
    table = classes.at(places, problem.labels[places])[:, label_counts(problem) > 0]
    return np.isin(np.arange(len(classes.names)), table)


def place_masses(problem: Any, group: Ints, groups: int) -> NDArray:
    """(groups, k) places of each group and true label by sample weight, as fractions."""
    number, places = problem.places(np.arange(problem.n_samples))
    weights = ratios(problem.weights)
    found = np.zeros((groups, len(problem.classes)), object)
    np.add.at(found, (group[places], problem.labels[places]), weights.whole[number])
    return found * Fraction(1, weights.unit)


def exact_counts(problem: Any) -> NDArray:
    """c (k,): places of each true label by sample weight, as fractions."""
    return place_masses(problem, np.zeros(len(problem.labels), np.int64), 1)[0]


def label_counts(problem: Any) -> Floats:
    """c (k,): places of each true label, by sample weight; each rounded once."""
    return exact_counts(problem).astype(float)


def logical(problem: Any, classes: Classes) -> Floats:
    """At most so many errors: c_y for each true label y that the class touches, added up."""
    return touched(problem, classes, sum)


def logical_max(problem: Any, classes: Classes) -> Floats:
    """The greatest c_y of a label that the class touches, the source's reading."""
    return touched(problem, classes, max)


def touched(problem: Any, classes: Classes, combine: Callable[[list[Fraction]], Any]) -> Floats:
    """For each class the counts c_y > 0 of the true labels y of which some place has such an error, combined."""
    counts, touching = exact_counts(problem), [[] for _ in classes.names]
    _, places = problem.places(np.arange(problem.n_samples))
    seen = np.unique(np.stack([classes.group[places], problem.labels[places]], axis=1), axis=0)
    for label in range(len(problem.classes)):
        reach = classes.table[seen[seen[:, 1] == label, 0], label]
        for each in np.unique(reach[reach >= 0]).tolist():
            touching[each] += [counts[label]] * bool(counts[label])
    return np.array([float(combine(each)) if each else 0.0 for each in touching])


def expected(problem: Any, classes: Classes) -> Floats:
    """Errors of one who guesses labels by their shares: Σ over places and y′ of class S of c_y′/N, rounded once."""
    counts, found = exact_counts(problem), np.zeros(len(classes.names), object)
    masses = place_masses(problem, classes.group, len(classes.table))
    held = classes.table >= 0
    np.add.at(found, classes.table[held], (masses[:, :, None] * (counts / counts.sum()))[held])
    return found.astype(float)


def one(problem: Any, classes: Classes) -> Floats:
    return np.ones(len(classes.names))


def total(problem: Any, classes: Classes) -> Floats:
    """N, the number of places, for every class."""
    return np.full(len(classes.names), float(exact_counts(problem).sum()))


COUNTS: dict[str, Callable[[Any, Classes], Floats]] = {
    "expected": expected,
    "logical": logical,
    "logical-max": logical_max,
    "none": one,
    "total": total,
}


def folds_of(problem: Any, count: int) -> Ints:
    """(n,) the fold of each sample: equal sizes, one fixed shuffle."""
    return np.random.default_rng(count).permutation(np.arange(problem.n_samples) % count)


def error_counts(problem: Any, classes: Classes, outputs: Ints) -> Floats:
    """(m,) how often the outputs (n, width) err in each class, by sample weight."""
    everyone = np.arange(problem.n_samples)
    number, places = problem.places(everyone)
    truth, labels = problem.labels[places], outputs[outputs >= 0]
    error = classes.at(places, truth)[np.arange(len(places)), labels]
    wrong = error >= 0
    return np.bincount(error[wrong], problem.weights[number[wrong]], len(classes.names))


def baseline_counts(problem: Any, factoring: str | Factors, outputs: Ints) -> tuple[float, ...]:
    """n_S for counts="baseline": errors of each class that a model over which one would like to improve makes.

    outputs (n, width) : what it predicts on the problem, e.g. `oracle.decode(theta, samples)`
    """
    return tuple(error_counts(problem, classes_of(problem, factoring), outputs).tolist())
