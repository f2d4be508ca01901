"""Views: one label of k per sample, seen in one of several views, such as an image under K rotations (docs/latent.md).

Sample i has K_i rows x_{i,0}, x_{i,1}, … in R^p, its views. An output is a label with a view, (y, h), and

    φ(x_i, y, h) = e_y ⊗ x_{i,h},      ⟨w, φ⟩ = ⟨W_y, x_{i,h}⟩,      d = k p,

with one weight row per label, W (k, p). The loss is 0/1 in the label and ignores the view, which is usually hidden: the
problem is `Latent`, and its states are views. Other labels may take every view. The true label may, too, while its view
is hidden; where the view is known, as in a `completed` problem, the true label has no other one, so the rivals of the
truth are the outputs of other labels.

The argmax looks at every label and view. Ties go to the lowest label, then to the first view.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
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
    named_labels,
    numbered,
    saved_rows,
    taken,
)
from workbench.contracts import Floats, Ints, Kernel, Shown
from workbench.errors import BadInput, MissingCapability
from workbench.outputs._exact_views import ExactViews
from workbench.outputs._parts import summed_exactly

HIDDEN = -1


def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """max over (y, h) of 1[y ≠ y_i] + ⟨W_y, x_{i,h}⟩, less ⟨W_{y_i}, x_{i,h_i}⟩."""
    indptr, indices, values, offsets, labels, states, k, p, loss = data
    highest, own = -np.inf, 0.0
    for y in range(k):
        for h in range(offsets[i + 1] - offsets[i]):
            if y == labels[i] and h != states[i]:
                continue
            score, row = 0.0, offsets[i] + h
            for j in range(indptr[row], indptr[row + 1]):
                score += theta[y * p + indices[j]] * values[j]
            if y == labels[i]:
                own = score
            else:
                score += loss
            if score > highest:
                highest, out[0], out[1] = score, y, h
    return highest - own


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · (φ(x_i, out) − φ(x_i, y_i, h_i))."""
    indptr, indices, values, offsets, labels, states, _, p, _ = data
    for sign, y, h in ((scale, out[0], out[1]), (-scale, labels[i], states[i])):
        for j in range(indptr[offsets[i] + h], indptr[offsets[i] + h + 1]):
            theta[y * p + indices[j]] += sign * values[j]


def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """The entries of φ(x_i, out) − φ(x_i, y_i, h_i) into (indices, values); their number."""
    indptr, columns, entries, offsets, labels, states, _, p, _ = data
    count = 0
    if out[0] == labels[i]:
        return 0  # the truth itself: its view is known
    for sign, y, h in ((1.0, out[0], out[1]), (-1.0, labels[i], states[i])):
        for j in range(indptr[offsets[i] + h], indptr[offsets[i] + h + 1]):
            indices[count], values[count] = y * p + columns[j], sign * entries[j]
            count += 1
    return count


class Views(Shown):
    """Samples of several views each, with labels y.

    Parameters
    ----------
    X : (N, p) array or scipy.sparse matrix, finite: the views of all samples, one sample after the other
    y : (n,) labels of any sortable kind; `classes` holds the distinct ones in order
    offsets : (n + 1,) where the views of each sample start, rising from 0 to N
    states : (n,) the view in which each label holds, counted from 0; −1, and the default, where it is hidden
    weights : (n,) sample weights ≥ 0, not all zero; default 1
    classes : labels to admit besides those seen in y

    Attributes
    ----------
    truth : (n, 2) label and view, −1 where it is hidden; the only view of a sample is never hidden

    Raises
    ------
    BadInput : lengths that differ, no views, states that are none, NaN or inf, fewer than two classes
    """

    name = "views"
    oracle_kind = "exact"
    exact_loss = True
    width = 2
    least_loss = 1.0

    def __init__(
        self,
        X: ArrayLike | Any,
        y: ArrayLike,
        offsets: ArrayLike,
        states: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ):
        self.X, labels = checked_inputs(X), named_labels(y)
        self.n_samples, self.offsets = len(labels), checked_offsets(offsets, labels, self.X.shape[0])
        self.classes, self.labels = numbered(labels, classes)
        self.n_views: Ints = np.diff(self.offsets)
        self.n_inputs = self.X.shape[1]
        self.n_features = len(self.classes) * self.n_inputs
        hidden = np.full(self.n_samples, HIDDEN) if states is None else checked_states(states, self.n_views, HIDDEN)
        self.truth: Ints = np.stack([self.labels, np.where(self.n_views == 1, 0, hidden)], axis=1)
        self.weights = checked_weights(weights, self.n_samples)
        self.terms = int(np.diff(self.X.indptr).max(initial=0)) + 2
        sizes = np.asarray(abs(self.X).sum(axis=1)).ravel()
        self.magnitude: Floats = np.maximum.reduceat(sizes, self.offsets[:-1])
        self.max_loss = np.ones(self.n_samples)

    @property
    def free_outputs(self) -> bool:
        return self.hides

    @cached_property
    def exact_features(self) -> bool:
        """Whether the difference of any two views is exact."""
        return summed_exactly(self.X.data, float(self.magnitude.max()))

    # ── features and loss ─────────────────────────────────────────────────────────────────────────

    def features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        self.check_known(samples, outputs)
        rows = taken(self.X, self.offsets[samples] + outputs[:, 1])
        shift = np.repeat(outputs[:, 0] * self.n_inputs, np.diff(rows.indptr))
        return sparse.csr_array((rows.data, rows.indices + shift, rows.indptr), shape=(len(samples), self.n_features))

    def check_known(self, samples: Ints, outputs: Ints) -> None:
        """Raise `MissingCapability` for an output whose view is hidden."""
        hidden = outputs[:, 1] == HIDDEN
        if hidden.any():
            raise MissingCapability(
                f"The view of sample {samples[int(hidden.argmax())]} is hidden; use latent-ssvm, or give states."
            )

    def loss(self, samples: Ints, outputs: Ints) -> Floats:
        return (outputs[:, 0] != self.labels[samples]).astype(float)

    # ── argmax ────────────────────────────────────────────────────────────────────────────────────

    def scores(self, w: Floats, samples: Ints) -> Floats:
        """⟨W_y, x_{i,h}⟩ for each of a batch, (m, k, most views); −∞ where (y, h) is no output of the sample."""
        views, k = np.arange(self.n_views[samples].max(initial=1)), len(self.classes)
        number, view = np.nonzero(views < self.n_views[samples][:, None])
        found = np.full((len(samples), k, len(views)), -np.inf)
        rows = taken(self.X, self.offsets[samples][number] + view)
        found[number, :, view] = rows @ w.reshape(k, self.n_inputs).T
        states = self.truth[samples, 1]
        known = np.flatnonzero(states != HIDDEN)
        own = found[known, self.labels[samples[known]], states[known]]
        found[known, self.labels[samples[known]]] = -np.inf
        found[known, self.labels[samples[known]], states[known]] = own
        return found

    def highest(self, scores: Floats) -> Ints:
        """Label and view of the highest of scores (m, k, views)."""
        best = scores.reshape(len(scores), -1).argmax(axis=1)
        return np.stack(np.divmod(best, scores.shape[2]), axis=1).astype(np.int64)

    def argmax(self, w: Floats, samples: Ints, augment: bool = True) -> Ints:
        scores = self.scores(w, samples)
        if augment:
            scores += (np.arange(len(self.classes)) != self.labels[samples][:, None])[:, :, None]
        return self.highest(scores)

    def runner_up(self, w: Floats, samples: Ints) -> Ints:
        scores, (labels, states) = self.scores(w, samples), self.truth[samples].T
        scores[np.arange(len(samples)), labels, states] = -np.inf
        return self.highest(scores)

    def outputs(self, sample: int) -> Ints:
        label, state = self.truth[sample]
        every = np.stack(np.divmod(np.arange(len(self.classes) * self.n_views[sample]), self.n_views[sample]), axis=1)
        return every[(every[:, 0] != label) | (state == HIDDEN) | (every[:, 1] == state)]

    def predict(self, w: Floats, inputs: Sequence[ArrayLike]) -> NDArray:
        """The label of the highest score for each sample, given as an array (views, p)."""
        parts = [checked_inputs(each) for each in inputs]
        for i, part in enumerate(parts):
            if part.shape[1] != self.n_inputs:
                raise BadInput(
                    f"Sample {i} has {part.shape[1]} columns but the weights were learned on {self.n_inputs}."
                )
        W = checked_learned(w, self.n_features).reshape(len(self.classes), self.n_inputs)
        return self.classes[[int((part @ W.T).max(axis=0).argmax()) for part in parts]]

    def describe(self, sample: int, output: Ints) -> str:
        view = "view hidden" if output[1] == HIDDEN else f"view {output[1]}"
        return f"label {self.classes[output[0]]}, {view}"

    def weight_names(self) -> list[str]:
        """LABEL: x[COLUMN]."""
        return [f"{label}: x[{j}]" for label in self.classes for j in range(self.n_inputs)]

    def exact(self) -> ExactViews:
        """This problem in rational arithmetic."""
        return ExactViews(self)

    def kernel(self, augment: bool = True) -> Kernel:
        self.check_known(np.arange(self.n_samples), self.truth)
        states, k, p = np.ascontiguousarray(self.truth[:, 1]), len(self.classes), self.n_inputs
        data = (*compiled_rows(self.X), self.offsets, self.labels, states, k, p, float(augment))
        return Kernel(data, argmax_into, add_slope, slope_into, 2 * self.terms)

    # ── hidden views ──────────────────────────────────────────────────────────────────────────────

    @property
    def hides(self) -> bool:
        return bool((self.truth[:, 1] == HIDDEN).any())

    @property
    def n_hidden(self) -> Ints:
        return np.where(self.truth[:, 1] == HIDDEN, self.n_views, 1)

    def hidden(self, sample: int) -> Ints:
        state = self.truth[sample, 1]
        return np.arange(self.n_views[sample]) if state == HIDDEN else np.array([state])

    def impute(self, w: Floats, states: Ints | None = None) -> Ints:
        every = np.arange(self.n_samples)
        own = self.scores(w, every)[every, self.labels]
        best = own.argmax(axis=1)
        if states is None:
            return best
        held = np.clip(states, 0, own.shape[1] - 1)
        return np.where((held == states) & (own[every, held] == own[every, best]), held, best)

    def hidden_scores(self, w: Floats, samples: Ints) -> list[Floats]:
        own = self.scores(w, samples)[np.arange(len(samples)), self.labels[samples]]
        return [row[np.isfinite(row)] for row in own]

    def completed(self, states: ArrayLike, weights: Floats | None = None) -> Views:
        known, found = copy(self), checked_states(states, self.n_views, 0)
        given = self.truth[:, 1]
        if (wrong := np.flatnonzero((given != HIDDEN) & (found != given))).size:
            raise BadInput(
                f"The view of sample {wrong[0]} is {found[wrong[0]]}, but {given[wrong[0]]} is known; give that."
            )
        known.truth = np.stack([self.labels, found], axis=1)
        known.weights = self.weights if weights is None else weights
        return known

    # ── files and instances ───────────────────────────────────────────────────────────────────────

    def arrays(self) -> dict[str, NDArray]:
        return {
            **kept_rows(self.X),
            "n_inputs": np.array(self.n_inputs),
            "offsets": self.offsets,
            "labels": self.labels,
            "classes": self.classes,
            "states": np.ascontiguousarray(self.truth[:, 1]),
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Views:
        X = saved_rows(arrays, (len(arrays["indptr"]) - 1, int(arrays["n_inputs"])))
        y = arrays["classes"][arrays["labels"]]
        return cls(X, y, arrays["offsets"], arrays["states"], arrays["weights"], arrays["classes"])

    @classmethod
    def random(cls, rng: np.random.Generator, n: int, d: int, labels: int) -> Views:
        """n ≥ 2 completed samples of up to three views with d features each, k = `labels` (benchmarks/instances.py)."""
        views = rng.integers(1, 4, n)
        y = np.append([0, 1], rng.integers(0, labels, n - 2))
        weights = np.append([1, 1], rng.integers(0, 4, n - 2)) if rng.random() < 0.3 else None
        offsets = np.concatenate([[0], np.cumsum(views)])
        return cls(rng.normal(size=(offsets[-1], d)), y, offsets, rng.integers(0, views), weights, np.arange(labels))

    @classmethod
    def tiny(cls, rng: np.random.Generator) -> Views:
        """A random instance small enough to enumerate, for the conformance tests."""
        return cls.random(rng, int(rng.integers(2, 6)), int(rng.integers(1, 4)), int(rng.integers(2, 4)))


def checked_offsets(offsets: ArrayLike, labels: NDArray, rows: int) -> Ints:
    """Where each sample's views start, (n + 1,), or `BadInput`."""
    found = np.asarray(offsets)
    whole = labels.ndim == 1 and found.shape == (len(labels) + 1,) and found.dtype.kind in "iu"
    if not (whole and len(labels) and found[0] == 0 and found[-1] == rows and (np.diff(found.astype(int)) > 0).all()):
        raise BadInput(
            f"The offsets do not say where the views of {labels.size} samples start; let n + 1 of them rise from 0 to "
            f"{rows}, the rows of X."
        )
    return found.astype(np.int64)


def checked_states(states: ArrayLike, n_views: Ints, least: int) -> Ints:
    """Views (n,) as whole numbers from `least` on, or `BadInput`."""
    found = np.asarray(states)
    if found.shape != n_views.shape or found.dtype.kind not in "iu":
        raise BadInput(f"There are {len(n_views)} samples; give one whole number each as its view.")
    if (wrong := np.flatnonzero((found < least) | (found >= n_views))).size:
        i = wrong[0]
        raise BadInput(f"The view of sample {i} is {found[i]}; it must be from {least} to {n_views[i] - 1}.")
    return found.astype(np.int64)


NAMES = {"views": Views}
