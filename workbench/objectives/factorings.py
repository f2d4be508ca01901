"""Factorings of errors into classes, and how often an error of a class is to be expected (docs/mathematics.md §5).

An error at a place takes a label y′ ≠ y for the true label y at an input x. A factoring puts each error into at most
one class S of m classes; the cost of an error in S is K v_S (objectives/costs.py). The counts n_S of objective (10)
are functions of the true labels alone, or the errors of a given model.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.arrays import summed
from workbench.arithmetic.rationals import ratios
from workbench.contracts import Floats, Ints, Labelled
from workbench.errors import BadInput, MissingCapability

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
    """One class for each true label."""
    k = len(problem.classes)
    table = np.repeat(np.arange(k)[:, None], k, axis=1)
    return everywhere(problem, [f"{y}→·" for y in problem.classes], table)


def predicted_label(problem: Any) -> Classes:
    """One class for each predicted label."""
    k = len(problem.classes)
    return everywhere(problem, [f"·→{y}" for y in problem.classes], np.repeat(np.arange(k)[None, :], k, axis=0))


def constant(problem: Any) -> Classes:
    """One class for all errors."""
    k = len(problem.classes)
    return everywhere(problem, ["errors"], np.zeros((k, k), np.int64))


def by_input(problem: Any) -> Classes:
    """One class for each input feature: an error counts where that feature is the largest at the place."""
    return grouped(problem, largest(problem), [f"largest x[{j}]" for j in range(problem.inputs.shape[1])])


def by_smallest(problem: Any) -> Classes:
    """One class for each input feature: an error counts where that feature is the smallest at the place."""
    group = np.asarray(problem.inputs.tocsr().argmin(axis=1), np.int64).ravel()
    return grouped(problem, group, [f"smallest x[{j}]" for j in range(problem.inputs.shape[1])])


def by_count(problem: Any) -> Classes:
    """Class c holds the errors at places with 2^(c−1) to 2^c − 1 features that are not 0, class 0 those without any."""
    rows = problem.inputs.tocsr()
    number = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    counts = np.bincount(number[rows.data != 0], minlength=rows.shape[0])
    group = np.array([int(count).bit_length() for count in counts], np.int64)
    sizes = [f"{1 << c >> 1} to {(1 << c) - 1} features" for c in range(2, rows.shape[1].bit_length() + 1)]
    return grouped(problem, group, ["no features", "1 feature", *sizes])


def by_input_and_label(problem: Any) -> Classes:
    """One class for each pair of a true label and the input feature that is the largest at the place."""
    k, p = len(problem.classes), problem.inputs.shape[1]
    table = (np.arange(p)[:, None] * k + np.arange(k))[:, :, None].repeat(k, axis=2)
    names = [f"{y}→·, largest x[{j}]" for j in range(p) for y in problem.classes]
    return Classes(names, without_diagonal(table), largest(problem))


def largest(problem: Any) -> Ints:
    """(N,) the first of the largest features at each place; entries that are not stored are zeros, too."""
    return np.asarray(problem.inputs.tocsr().argmax(axis=1), np.int64).ravel()


def grouped(problem: Any, group: Ints, names: list[str]) -> Classes:
    """All errors of a group of places as one class."""
    k = len(problem.classes)
    table = np.repeat(np.arange(len(names))[:, None, None], k, axis=1).repeat(k, axis=2)
    return Classes(names, without_diagonal(table), group)


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
    "input-smallest": by_smallest,
    "input-count": by_count,
    "input-true": by_input_and_label,
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


# ── how often an error of a class is to be expected ───────────────────────────────────────────────


def reachable(problem: Any, classes: Classes) -> NDArray[np.bool_]:
    """(m,) whether an error of the class takes one label that occurs for another that occurs.

    An optimal model never predicts a label that no sample holds, so a cost of that label would never be paid.
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
    """A bound on the errors of a class: Σ c_y over the true labels y of its errors."""
    return touched(problem, classes, sum)


def logical_max(problem: Any, classes: Classes) -> Floats:
    """The greatest c_y among the true labels y of the errors of a class, as the source prints n_S."""
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
    """Expected errors of a guess that draws labels by their shares: Σ over places and y′ of class S of c_y′/N,
    rounded once.
    """
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
    return summed(error[wrong], problem.weights[number[wrong]], len(classes.names))


def baseline_counts(problem: Any, factoring: str | Factors, outputs: Ints) -> tuple[float, ...]:
    """n_S for counts="baseline": the errors of each class that a baseline model makes.

    outputs (n, width) : the baseline's predictions on the problem, e.g. `oracle.decode(theta, samples)`
    """
    return tuple(error_counts(problem, classes_of(problem, factoring), outputs).tolist())
