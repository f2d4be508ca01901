"""Multiclass: one label of k per sample, φ(x, y) = e_y ⊗ x.

w stacks one weight row per label, W (k, p); score ⟨w, φ(x, y)⟩ = ⟨W_y, x⟩; the loss is 0/1 or any
cost matrix with zero diagonal; the argmax is a scan over k labels, so everything is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.arrays import (
    by_name,
    checked_cost,
    checked_inputs,
    checked_learned,
    checked_weights,
    class_weights,
    column_names,
    compiled_rows,
    kept_rows,
    missing_labels,
    named_labels,
    numbered,
    saved_rows,
    size_of,
    taken,
)
from workbench.arithmetic.products import squares_of
from workbench.contracts import CompactHinge, Floats, Ints, Kernel, Listing, Sourced, multipliers
from workbench.errors import BadInput
from workbench.outputs._exact_multiclass import ExactMulticlass
from workbench.outputs._marginals import Softmax
from workbench.outputs._rows_and_labels import refuse_amounts, refuse_mixtures, refuse_shapes


def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """max_y ℓ(y_i, y) + ⟨W_y − W_{y_i}, x_i⟩; ties go to the lowest label."""
    indptr, indices, values, truth, cost, p = data
    best, best_label, own = -np.inf, 0, 0.0
    for label in range(cost.shape[1]):
        score = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            score += theta[label * p + indices[j]] * values[j]
        if label == truth[i]:
            own = score
        score += cost[truth[i], label]
        if score > best:
            best, best_label = score, label
    out[0] = best_label
    return best - own


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · (φ(x_i, out) − φ(x_i, y_i))."""
    indptr, indices, values, truth, _, p = data
    if out[0] != truth[i]:
        for j in range(indptr[i], indptr[i + 1]):
            theta[out[0] * p + indices[j]] += scale * values[j]
            theta[truth[i] * p + indices[j]] -= scale * values[j]


def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """The entries of φ(x_i, out) − φ(x_i, y_i) into (indices, values); their number."""
    indptr, columns, entries, truth, _, p = data
    count = 0
    if out[0] != truth[i]:
        for j in range(indptr[i], indptr[i + 1]):
            indices[count], values[count] = out[0] * p + columns[j], entries[j]
            indices[count + 1], values[count + 1] = truth[i] * p + columns[j], -entries[j]
            count += 2
    return count


def reads_into(data: Any, i: int, indices: Ints) -> int:
    """The weights that sample i's features meet, of every label; their number."""
    indptr, columns, _, _, cost, p = data
    count = 0
    for label in range(cost.shape[1]):
        for j in range(indptr[i], indptr[i + 1]):
            indices[count] = label * p + columns[j]
            count += 1
    return count


def slack_argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """max_y ℓ(y_i, y) (1 + ⟨W_y − W_{y_i}, x_i⟩); ties go to the lowest label."""
    indptr, indices, values, truth, cost, p = data
    best, best_label, own = -np.inf, 0, 0.0
    for j in range(indptr[i], indptr[i + 1]):
        own += theta[truth[i] * p + indices[j]] * values[j]
    for label in range(cost.shape[1]):
        score = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            score += theta[label * p + indices[j]] * values[j]
        value = cost[truth[i], label] * (1.0 - (own - score))
        if value > best:
            best, best_label = value, label
    out[0] = best_label
    return best


def slack_add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · ℓ(y_i, out) (φ(x_i, out) − φ(x_i, y_i))."""
    indptr, indices, values, truth, cost, p = data
    scale = scale * cost[truth[i], out[0]]
    for j in range(indptr[i], indptr[i + 1]):
        theta[out[0] * p + indices[j]] += scale * values[j]
        theta[truth[i] * p + indices[j]] -= scale * values[j]


def slack_slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """The entries of the same slope into (indices, values); their number."""
    indptr, columns, entries, truth, cost, p = data
    count, loss = 0, cost[truth[i], out[0]]
    if out[0] != truth[i]:
        for j in range(indptr[i], indptr[i + 1]):
            indices[count], values[count] = out[0] * p + columns[j], loss * entries[j]
            indices[count + 1], values[count + 1] = truth[i] * p + columns[j], -loss * entries[j]
            count += 2
    return count


class Multiclass(Sourced):
    """Samples X with labels y.

    Parameters
    ----------
    X : (n, p) array or scipy.sparse matrix, finite
    y : (n,) labels of any sortable kind, all texts or all numbers; `classes` holds the distinct ones in order
    cost : (k, k) with cost[true, predicted] ≥ 0 and a zero diagonal; default 0/1
    weights : (n,) sample weights ≥ 0, not all zero; default 1
    classes : labels to admit besides those seen in y
    class_weight : None, "balanced", or {class: factor}; the factors multiply the weights of the samples of a class

    Raises
    ------
    BadInput : empty data, lengths that differ, NaN or inf, fewer than two classes, a bad cost matrix, labels that are
        amounts (`refuse_amounts`)
    """

    name = "multiclass"
    concurrent = True
    oracle_kind = "exact"
    exact_features = exact_loss = True
    width = 1

    def __init__(
        self,
        X: ArrayLike | Any,
        y: ArrayLike,
        cost: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
    ):
        refuse_shapes("Multiclass", X, y)
        refuse_mixtures(y)
        self.X, self.columns = checked_inputs(X), column_names(X)
        labels = named_labels(y)
        if labels.ndim != 1 or len(labels) != self.X.shape[0]:
            raise BadInput(f"X has {self.X.shape[0]} rows but y has shape {labels.shape}; give one label per row.")
        if (missing := missing_labels(labels)).size:
            bad = missing[0]
            raise BadInput(f"The label of sample {bad} is missing; remove the sample or repair its label.")
        self.classes, self.labels = numbered(labels, classes)
        if classes is None:
            refuse_amounts(labels, self.classes)
        self.cost = checked_cost(cost, len(self.classes))
        factors = class_weights(class_weight, self.labels, self.classes)
        self.weights = checked_weights(factors * checked_weights(weights, len(labels)), len(labels))
        self.n_samples, self.n_inputs = size_of(self.X)
        self.n_features = len(self.classes) * self.n_inputs
        self.truth, self.divisors = self.labels[:, None], np.ones(len(labels))
        self.terms = int(np.diff(self.X.indptr).max()) + 2
        self.magnitude: Floats = np.asarray(abs(self.X).sum(axis=1)).ravel()
        self.max_loss: Floats = self.cost[self.labels].max(axis=1)
        used = self.cost[np.unique(self.labels)]
        self.least_loss = float(used[used > 0].min(initial=np.inf))
        self.free_outputs = bool((used == 0).sum() > len(used))

    def features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        rows = taken(self.X, samples)
        shift = np.repeat(outputs[:, 0] * self.n_inputs, np.diff(rows.indptr))
        return sparse.csr_array((rows.data, rows.indices + shift, rows.indptr), shape=(len(samples), self.n_features))

    def loss(self, samples: Ints, outputs: Ints) -> Floats:
        return self.cost[self.labels[samples], outputs[:, 0]]

    def scores(self, w: Floats, X: Any) -> Floats:
        """⟨w, φ(x, y)⟩ for every label, (m, k)."""
        return X @ w.reshape(-1, self.n_inputs).T

    def argmax(self, w: Floats, samples: Ints, augment: bool | Floats = True) -> Ints:
        scores = self.scores(w, taken(self.X, samples))
        if augment is not False:
            scores += self.cost[self.labels[samples]] if augment is True else augment
        return scores.argmax(axis=1)[:, None]

    @property
    def inputs(self) -> sparse.csr_array:
        return self.X

    def places(self, samples: Ints) -> tuple[Ints, Ints]:
        return np.arange(len(samples)), samples

    def slack_argmax(self, w: Floats, samples: Ints) -> Ints:
        scores = self.scores(w, taken(self.X, samples))
        margins = scores[np.arange(len(samples)), self.labels[samples]][:, None] - scores
        return (self.cost[self.labels[samples]] * (1 - margins)).argmax(axis=1)[:, None]

    def runner_up(self, w: Floats, samples: Ints) -> Ints:
        scores = self.scores(w, taken(self.X, samples))
        scores[np.arange(len(samples)), self.labels[samples]] = -np.inf
        return scores.argmax(axis=1)[:, None]

    def outputs(self, sample: int) -> Ints:
        return np.arange(len(self.classes), dtype=np.int64)[:, None]

    def predict(self, w: Floats, inputs: ArrayLike | Any, bias: Floats | None = None) -> NDArray:
        """The label of the highest score for each row of `inputs` (m, p); `bias` (k,) adds to each label's."""
        X = checked_inputs(by_name(inputs, self.names))
        if X.shape[1] != self.n_inputs:
            raise BadInput(
                f"The data have {X.shape[1]} columns but the weights were learned on {self.n_inputs}; give those."
            )
        w = checked_learned(w, self.n_features)
        return self.classes[(self.scores(w, X) + (0.0 if bias is None else bias)).argmax(axis=1)]

    def describe(self, sample: int, output: Ints) -> str:
        return f"label {self.classes[output[0]]}"

    def weight_names(self) -> list[str]:
        """LABEL: COLUMN, by the names of the columns where the file had any."""
        given = self.names or []
        inputs = given if len(given) == self.n_inputs else [f"x[{j}]" for j in range(self.n_inputs)]
        return [f"{label}: {column}" for label in self.classes for column in inputs]

    def exact(self) -> ExactMulticlass:
        """This problem in rational arithmetic."""
        return ExactMulticlass(self)

    def kernel(self, augment: bool | Floats = True) -> Kernel:
        X, longest = self.X, int(np.diff(self.X.indptr).max())
        data = (
            *compiled_rows(X),
            self.labels,
            self.cost if augment is True else np.zeros_like(self.cost) if augment is False else augment,
            self.n_inputs,
        )
        functions = argmax_into, add_slope, slope_into
        return Kernel(data, *functions, 2 * longest, reads_into, len(self.classes) * longest)

    def slack_kernel(self) -> Kernel:
        """The kernel of slack rescaling."""
        kernel = self.kernel()
        return kernel._replace(argmax_into=slack_argmax_into, add_slope=slack_add_slope, slope_into=slack_slope_into)

    def listing(self, scale: Floats, offset: Floats) -> Listing:
        """All cuts s_ty (e_y − e_t) ⊗ x_i with offsets o_ty, from tables (k, k) by true label t and label y."""
        X, k = self.X, len(self.classes)
        rows, nothing = (*compiled_rows(X), squares_of(X)), np.full((k, k), -1)
        tables = np.ascontiguousarray(scale, float), np.ascontiguousarray(offset, float)
        return Listing(*rows, self.labels, np.arange(k), *tables, 0, nothing, 0.0, self.n_inputs)

    def marginals(self) -> Softmax:
        """The likelihood of its labels."""
        return Softmax(self)

    def compact(self, w: Any) -> CompactHinge:
        """All outputs in one stacked constraint: ξ_i ≥ ℓ_i(y) + ⟨W_y − W_{y_i}, x_i⟩ for every y."""
        import cvxpy as cp

        n, k = self.n_samples, len(self.classes)
        xi, every = cp.Variable(n), np.arange(n)
        samples, outputs = np.repeat(every, k), np.tile(np.arange(k), n)[:, None]
        slopes = self.features(samples, outputs) - self.features(samples, self.truth[samples])
        cover = sparse.csr_array((np.ones(n * k), (np.arange(n * k), samples)), shape=(n * k, n))
        stacked = cover @ xi >= slopes @ w + self.loss(samples, outputs)
        return CompactHinge(xi, [stacked], lambda: (samples, outputs, multipliers(stacked)))

    def arrays(self) -> dict[str, NDArray]:
        return {
            **kept_rows(self.X),
            "n_inputs": np.array(self.n_inputs),
            "labels": self.labels,
            "classes": self.classes,
            "cost": self.cost,
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Multiclass:
        shape = (len(arrays["labels"]), int(arrays["n_inputs"]))
        X = saved_rows(arrays, shape)
        y = arrays["classes"][arrays["labels"]]
        return cls(X, y, arrays["cost"], arrays["weights"], arrays["classes"])

    @classmethod
    def random(cls, rng: np.random.Generator, n: int, d: int, labels: int) -> Multiclass:
        """n ≥ 2 samples of d features and k = `labels` classes, two of which occur (benchmarks/instances.py)."""
        cost = rng.uniform(0.5, 2, (labels, labels)) * (1 - np.eye(labels)) if rng.random() < 0.5 else None
        weights = np.append([1, 1], rng.integers(0, 4, n - 2)) if rng.random() < 0.3 else None
        X, y = rng.normal(size=(n, d)), rng.integers(0, labels, n)
        y[1] = y[1] if y[1] != y[0] else (y[0] + 1) % labels
        return cls(X, y, cost, weights, np.arange(labels))

    @classmethod
    def tiny(cls, rng: np.random.Generator) -> Multiclass:
        """A random instance small enough to enumerate, for the conformance tests."""
        n, p, k = rng.integers(2, 8), rng.integers(1, 5), int(rng.integers(2, 5))
        cost = rng.uniform(0.5, 2, (k, k)) * (1 - np.eye(k))
        y = np.concatenate([np.arange(k), rng.integers(0, k, n)])
        return cls(rng.normal(size=(n + k, p)), y, cost)


NAMES = {"multiclass": Multiclass}
