"""Multilabel: any subset of k labels per sample, φ(x, y) = Σ_j y_j (e_j ⊗ x) with y ∈ {0, 1}^k.

w stacks one row per label, W (k, p). The loss counts wrong labels, so with the gain g_j = (1 − 2y_ij)⟨W_j, x_i⟩ of
changing label j the maxima split, and everything is exact:

    margin   Σ_j (1 + g_j)₊                                      slack   max_m m (1 + the sum of the m greatest g_j)
    rival    Σ_j (g_j)₊, or the greatest g_j if that is none     truth   g = 0
"""

from __future__ import annotations

from collections.abc import Collection
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.arrays import (
    checked_inputs,
    checked_learned,
    checked_weights,
    compiled_rows,
    kept_rows,
    saved_rows,
    size_of,
    taken,
)
from workbench.contracts import Floats, Ints, Kernel, Shown
from workbench.errors import BadInput, MissingCapability
from workbench.outputs._exact_multilabel import ExactMultilabel
from workbench.outputs._parts import MOST_OUTPUTS


def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """Σ_j (ℓ + g_j)₊ with ℓ the loss of a wrong label; a tie leaves the label as it is."""
    indptr, indices, values, truth, loss, p = data
    total = 0.0
    for label in range(truth.shape[1]):
        score = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            score += theta[label * p + indices[j]] * values[j]
        gain = loss + (1 - 2 * truth[i, label]) * score
        out[label] = 1 - truth[i, label] if gain > 0 else truth[i, label]
        total += max(gain, 0.0)
    return total


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · (φ(x_i, out) − φ(x_i, y_i))."""
    indptr, indices, values, truth, _, p = data
    for label in range(truth.shape[1]):
        if out[label] != truth[i, label]:
            for j in range(indptr[i], indptr[i + 1]):
                theta[label * p + indices[j]] += scale * (out[label] - truth[i, label]) * values[j]


def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """The entries of φ(x_i, out) − φ(x_i, y_i) into (indices, values); their number."""
    indptr, columns, entries, truth, _, p = data
    count = 0
    for label in range(truth.shape[1]):
        if out[label] != truth[i, label]:
            for j in range(indptr[i], indptr[i + 1]):
                indices[count] = label * p + columns[j]
                values[count] = (out[label] - truth[i, label]) * entries[j]
                count += 1
    return count


def reads_into(data: Any, i: int, indices: Ints) -> int:
    """The weights that sample i's features meet, of every label; their number."""
    indptr, columns, _, truth, _, p = data
    count = 0
    for label in range(truth.shape[1]):
        for j in range(indptr[i], indptr[i + 1]):
            indices[count] = label * p + columns[j]
            count += 1
    return count


class Multilabel(Shown):
    """Samples X, each with a set of labels.

    Parameters
    ----------
    X : (n, p) array or scipy.sparse matrix, finite
    Y : (n, k) zeros and ones, or a list of n collections of labels;  `classes` names the columns in order
    weights : (n,) sample weights ≥ 0, not all zero; default 1
    classes : the names of the columns, or labels to admit besides those seen

    Raises
    ------
    BadInput : empty data, lengths that differ, NaN or inf, fewer than two labels, a label that is none of `classes`
    """

    name = "multilabel"
    oracle_kind = "exact"
    exact_features = exact_loss = True
    least_loss, free_outputs = 1.0, False

    def __init__(
        self, X: ArrayLike | Any, Y: Any, weights: ArrayLike | None = None, classes: ArrayLike | None = None
    ):  # fmt: skip
        self.X = checked_inputs(X)
        self.classes, self.truth = checked_sets(Y, self.X.shape[0], classes)
        self.weights = checked_weights(weights, len(self.truth))
        (self.n_samples, self.n_inputs), self.width = size_of(self.X), len(self.classes)
        self.n_features = self.width * self.n_inputs
        self.terms = self.width * (int(np.diff(self.X.indptr).max()) + 2)
        self.magnitude: Floats = self.width * np.asarray(abs(self.X).sum(axis=1)).ravel()
        self.max_loss = np.full(self.n_samples, float(self.width))

    def features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        number, label = np.nonzero(outputs)
        rows = taken(self.X, samples[number])
        columns = rows.indices + np.repeat(label * self.n_inputs, np.diff(rows.indptr))
        held = np.append(0, np.cumsum(np.count_nonzero(outputs, axis=1)))
        return sparse.csr_array((rows.data, columns, rows.indptr[held]), shape=(len(samples), self.n_features))

    def loss(self, samples: Ints, outputs: Ints) -> Floats:
        return (outputs != self.truth[samples]).sum(axis=1).astype(float)

    def gains(self, w: Floats, samples: Ints) -> Floats:
        """g (m, k): what changing each label adds to the score."""
        scores = taken(self.X, samples) @ w.reshape(self.width, -1).T
        return np.where(self.truth[samples] == 1, -scores, scores)

    def changed(self, samples: Ints, change: NDArray[np.bool_]) -> Ints:
        """The true outputs but for the labels of the mask (m, k)."""
        return np.where(change, 1 - self.truth[samples], self.truth[samples])

    def argmax(self, w: Floats, samples: Ints, augment: bool = True) -> Ints:
        return self.changed(samples, self.gains(w, samples) + float(augment) > 0)

    def slack_argmax(self, w: Floats, samples: Ints) -> Ints:
        """The m labels of greatest gain, m the number with the greatest m (1 + Σ g); 0 where none is above 0."""
        gains = self.gains(w, samples)
        order = np.argsort(-gains, axis=1, kind="stable")
        counts = np.arange(1, self.width + 1)
        values = counts * (1 + np.take_along_axis(gains, order, 1).cumsum(axis=1))
        best = np.where(values.max(axis=1) > 0, values.argmax(axis=1) + 1, 0)
        change = np.zeros(gains.shape, bool)
        np.put_along_axis(change, order, counts <= best[:, None], 1)
        return self.changed(samples, change)

    def runner_up(self, w: Floats, samples: Ints) -> Ints:
        gains = self.gains(w, samples)
        nearest = np.arange(self.width) == gains.argmax(axis=1)[:, None]
        return self.changed(samples, (gains > 0) | nearest)

    def outputs(self, sample: int) -> Ints:
        """All 2^k sets; `MissingCapability` above 100,000."""
        if 2**self.width > MOST_OUTPUTS:
            raise MissingCapability(
                f"There are 2^{self.width} sets of {self.width} labels, too many to list; leave out rare labels."
            )
        return np.indices((2,) * self.width).reshape(self.width, -1).T.astype(np.int64)

    def predict(self, w: Floats, inputs: ArrayLike | Any) -> Ints:
        """(m, k): 1 for each label whose score ⟨W_j, x⟩ is positive, for each row of `inputs`."""
        X = checked_inputs(inputs)
        if X.shape[1] != self.n_inputs:
            raise BadInput(f"The data have {X.shape[1]} columns but the weights were learned on {self.n_inputs}.")
        W = checked_learned(w, self.n_features).reshape(self.width, -1)
        return (X @ W.T > 0).astype(np.int64)

    def describe(self, sample: int, output: Ints) -> str:
        return f"labels {', '.join(map(str, self.classes[output == 1])) or 'none'}"

    def weight_names(self) -> list[str]:
        return [f"{label}: x[{j}]" for label in self.classes for j in range(self.n_inputs)]

    def exact(self) -> ExactMultilabel:
        """This problem in rational arithmetic."""
        return ExactMultilabel(self)

    def kernel(self, augment: bool = True) -> Kernel:
        most = self.width * int(np.diff(self.X.indptr).max())
        data = (*compiled_rows(self.X), self.truth, float(augment), self.n_inputs)
        return Kernel(data, argmax_into, add_slope, slope_into, most, reads_into, most)

    def arrays(self) -> dict[str, NDArray]:
        return {
            **kept_rows(self.X),
            "n_inputs": np.array(self.n_inputs),
            "truth": self.truth,
            "classes": self.classes,
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Multilabel:
        X = saved_rows(arrays, (len(arrays["truth"]), int(arrays["n_inputs"])))
        return cls(X, arrays["truth"], arrays["weights"], arrays["classes"])

    @classmethod
    def random(cls, rng: np.random.Generator, n: int, d: int, labels: int) -> Multilabel:
        """n samples of d features and sets of k = max(2, labels) labels (benchmarks/instances.py)."""
        weights = np.append(1, rng.integers(0, 4, n - 1)) if rng.random() < 0.3 else None
        return cls(rng.normal(size=(n, d)), rng.integers(0, 2, (n, max(2, labels))), weights)

    @classmethod
    def tiny(cls, rng: np.random.Generator) -> Multilabel:
        """A random instance small enough to enumerate, for the conformance tests."""
        n, p, k = rng.integers(2, 6), rng.integers(1, 4), rng.integers(2, 5)
        X = rng.normal(size=(n, p))
        return cls(np.round(2 * X) if rng.random() < 0.5 else X, rng.integers(0, 2, (n, k)))


def checked_sets(Y: Any, n: int, classes: ArrayLike | None) -> tuple[NDArray, Ints]:
    """The labels in order, and which of them each sample has (n, k); or `BadInput`."""
    rows = Y.toarray() if sparse.issparse(Y) else Y
    if not hasattr(rows, "__len__") or len(rows) != n:
        count = f"{len(rows)} sets of labels" if hasattr(rows, "__len__") else "no list of sets of labels"
        raise BadInput(f"X has {n} rows but there are {count}; give one set a row.")
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        known, truth = np.arange(rows.shape[1]) if classes is None else np.asarray(classes), rows
        if known.shape != rows.shape[1:]:
            raise BadInput(f"Y has {rows.shape[1]} columns but `classes` has shape {known.shape}; name each column.")
        if not np.isin(rows, (0, 1)).all():
            bad = int((~np.isin(rows, (0, 1))).any(axis=1).argmax())
            raise BadInput(f"The labels of sample {bad} are not zeros and ones; write 1 for each label that it has.")
    else:
        known, truth = of_collections(list(rows), classes)
    if len(known) < 2 or len(set(known.tolist())) < len(known):
        raise BadInput(f"The labels are {known.tolist()}; give two different ones at least.")
    return known, np.ascontiguousarray(truth, np.int64)


def of_collections(rows: list[Any], classes: ArrayLike | None) -> tuple[NDArray, Ints]:
    """The same of collections of labels, one a sample."""
    for i, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Collection):
            raise BadInput(
                f"The labels of sample {i} are {row!r}; give a list or set of labels, an empty one for none."
            )
    known = labels_of(rows) if classes is None else np.asarray(classes)
    column = {label: j for j, label in enumerate(known.tolist())}
    truth = np.zeros((len(rows), len(known)), np.int64)
    for i, row in enumerate(rows):
        for label in row:
            if label not in column:
                raise BadInput(f"Label {label!r} of sample {i} is not among the given classes; add it to `classes`.")
            truth[i, column[label]] = 1
    return known, truth


def labels_of(rows: list[Any]) -> NDArray:
    """The labels that samples have, in order; texts and numbers side by side have no order, and are `BadInput`."""
    kinds = set()
    for i, row in enumerate(rows):
        for label in row:
            if not isinstance(label, str | Number | np.generic):
                raise BadInput(f"Label {label!r} of sample {i} is neither a text nor a number; give one of these.")
            kinds.add(isinstance(label, str))
            if len(kinds) > 1:
                raise BadInput(f"Label {label!r} of sample {i} mixes texts and numbers; give one kind of labels.")
    return np.unique([label for row in rows for label in row])


NAMES = {"multilabel": Multilabel}
