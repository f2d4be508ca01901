"""Error classes of labels at places, and the cuts of costs that are linear in them (docs/certificate-format.md §4).

a_i(z) = (Δ_i(z), l(z) − l(y_i), K c_i(z))
h_i(w, b, v) = max_y Σ_t [K v_S(t, y_t) + b_{y_t} − b_{y_it}] + ⟨w, Δ_i(y)⟩
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np

from workbench.proofs.checker.contracts import Labelled, Structure
from workbench.proofs.checker.faults import Malformed
from workbench.proofs.checker.whole import Array, Whole, grouped, joined

INPUTS = ("input", "input-smallest", "input-count", "input-true")  # classes that depend on the place's row of X
FACTORINGS = ("unordered", "ordered", "true", "predicted", "constant", *INPUTS)


class Errors:
    """The classes of a factoring: `table` (groups, k, k) says which, −1 on the diagonal; `group` (N,) which holds at
    a place.

    For `input…` there is one table and the class is the group itself, of `input-true` a pair of group and true label.
    """

    def __init__(self, structure: Structure, factoring: str):
        k, self.structure, self.factoring = structure.k, structure, factoring
        label, other = np.indices((k, k))
        low, high = np.minimum(label, other), np.maximum(label, other)
        self.table, self.m = {
            "ordered": (label * (k - 1) + other - (other > label), k * (k - 1)),
            "unordered": (low * (2 * k - low - 1) // 2 + high - low - 1, k * (k - 1) // 2),
            "true": (label, k),
            "predicted": (other, k),
            "constant": (label * 0, 1),
            "input": (label, structure.p),  # tables of inputs are not asked
            "input-smallest": (label, structure.p),
            "input-count": (label, structure.p.bit_length() + 1),
            "input-true": (label, structure.p * k),
        }[factoring]

    @cached_property
    def group(self) -> Array:
        """(N,) the least column at which the row is greatest, or smallest; or the bits of its number of nonzeros."""
        X, found = self.structure.X, np.zeros(len(self.structure.labels), np.int64)
        if self.factoring not in INPUTS:
            return found
        sign = 1 if self.factoring == "input-smallest" else -1
        for t in range(len(found)):
            row = slice(X.indptr[t], X.indptr[t + 1])
            columns, values = X.indices[row].tolist(), X.values[row]
            first = next((j for j, column in enumerate(columns) if j != column), len(columns))  # not stored
            zero = [(0, first)] if first < X.columns else []
            count = int((values != 0).sum()).bit_length()
            by_count = self.factoring == "input-count"
            found[t] = count if by_count else min([*zip(sign * values, columns, strict=True), *zero])[1]
        return found

    def at(self, places: Array) -> Array:
        """(P, k) the class of every label at these places, −1 for the true one."""
        truth = self.structure.labels[places]
        classes = self.table[truth]
        if self.factoring in INPUTS:
            own = self.group[places]
            own = own * self.structure.k + truth if self.factoring == "input-true" else own
            classes = np.repeat(own[:, None], self.structure.k, axis=1)
        return np.where(np.arange(self.structure.k) == truth[:, None], -1, classes)

    def counted(self, samples: Array, witnesses: Array) -> tuple[Array, Array, Array, Array]:
        """(number, true label, label, class) of every error of a batch."""
        number, place, label = self.structure.labels_of(samples, witnesses)
        wrong = label != self.structure.labels[place]
        number, place, label = number[wrong], place[wrong], label[wrong]
        return number, self.structure.labels[place], label, self.at(place)[np.arange(len(place)), label]

    def pushed(self, samples: Array, witnesses: Array, beta: Whole) -> tuple[Whole, Whole, Whole]:
        """Σ β Δ (d,), Σ β (l − l(y_i)) (k,) and Σ β c (m,)."""
        number, truth, label, classes = self.counted(samples, witnesses)
        mass, k = beta.values[number], self.structure.k
        labels = grouped(mass, label, k) - grouped(mass, truth, k)
        features = self.structure.combined(samples, witnesses, beta)
        return features, Whole(labels, beta.unit), Whole(grouped(mass, classes, self.m), beta.unit)

    def highest(self, w: Whole, b: Whole, v: Whole, K: Fraction, samples: Array) -> Whole:
        """h_i (m,); the three parts have one unit."""
        places = np.flatnonzero(np.isin(self.structure.owner, samples))
        costs = np.append((v * K).values, 0)[self.at(places)]
        biases = b.values * K.denominator
        table = costs + biases - biases[self.structure.labels[places]][:, None]
        return self.structure.augmented(w, samples, Whole(table, w.unit * K.denominator))

    # ── how often ──

    @cached_property
    def counts(self) -> list[Fraction]:
        """c_y (k,): places of each true label, by sample weight."""
        weights = [Fraction(each) for each in self.structure.weights.tolist()]
        found = [Fraction(0)] * self.structure.k
        for label, owner in zip(self.structure.labels.tolist(), self.structure.owner.tolist(), strict=True):
            found[label] += weights[owner]
        return found

    def reachable(self) -> Array:
        """(m,) whether a priced place has an error of the class that takes one label that occurs for another."""
        priced, occurs = self.structure.weights[self.structure.owner] > 0, np.array(self.counts, object) > 0
        classes = self.at(np.flatnonzero(priced))[:, occurs.astype(bool)]
        return np.isin(np.arange(self.m), classes)

    def expected(self, rule: str) -> list[Fraction]:
        """n_S by the rule, before it is rounded once; classes that cannot be reached not yet set to 0."""
        counts, (places, labels) = self.counts, (np.arange(len(self.structure.labels)), self.structure.labels)
        total = sum(counts, Fraction(0))
        if rule in ("none", "total"):
            return [Fraction(1) if rule == "none" else total] * self.m
        classes, found = self.at(places), [Fraction(0)] * self.m
        if rule == "expected":
            shares = [each / total for each in counts]
            weights = [Fraction(each) for each in self.structure.weights[self.structure.owner].tolist()]
            for weight, row in zip(weights, classes.tolist(), strict=True):
                for other, each in enumerate(row):
                    if each >= 0:
                        found[each] += weight * shares[other]
            return found
        touching = np.unique(np.stack([np.repeat(labels, self.structure.k), classes.ravel()], axis=1), axis=0).tolist()
        for label, each in touching:
            if each >= 0:
                found[each] = found[each] + counts[label] if rule == "logical" else max(found[each], counts[label])
        return found


def one_unit(*parts: Whole) -> list[Whole]:
    """The parts over one unit."""
    whole, ends = joined(*parts), np.cumsum([len(part) for part in parts]).tolist()
    return [whole[end - len(part) : end] for part, end in zip(parts, ends, strict=True)]


def labelled(structure: Structure) -> Labelled:
    if not isinstance(structure, Labelled):
        raise Malformed(f"costs are not defined for {structure.name}")
    return structure
