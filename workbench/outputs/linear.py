"""Linear scores: p = ⟨w, x⟩ with a label ±1 or a real target, and an importance per sample.

As an output structure a sample has two outputs with φ(x, −1) = 0, φ(x, +1) = x and 0/1 loss, so that

    ⟨w, ψ_i(y)⟩ = y_i p  for y ≠ y_i,      hinge (1 − y_i p)₊,      conditional likelihood log(1 + e^{−y_i p}).

A real target counts by its sign (0 as positive), except in the squared loss, which uses the target itself. So numbers
of classes are no targets: of 0 and 1, or 0, 1 and 2, all count as positive. Two classes are given as −1 and 1, such as
2 * y - 1 of y in {0, 1}; more than two are for `Multiclass`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.arrays import (
    LARGEST,
    by_name,
    checked_inputs,
    checked_learned,
    checked_weights,
    column_names,
    compiled_rows,
    kept_rows,
    numbers,
    saved_rows,
    size_of,
    taken,
)
from workbench.contracts import CompactHinge, Floats, Ints, Kernel, Sourced, multipliers
from workbench.errors import BadInput
from workbench.outputs._exact_linear import ExactLinear
from workbench.outputs._rows_and_labels import refuse_shapes


def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """max(ℓ − y_i p, 0) with ℓ the loss of the other label."""
    indptr, indices, values, labels, loss = data
    score = 0.0
    for j in range(indptr[i], indptr[i + 1]):
        score += theta[indices[j]] * values[j]
    gain = loss - (2 * labels[i] - 1) * score
    out[0] = 1 - labels[i] if gain > 0 else labels[i]
    return max(gain, 0.0)


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · (φ(x_i, out) − φ(x_i, y_i))."""
    indptr, indices, values, labels, _ = data
    for j in range(indptr[i], indptr[i + 1]):
        theta[indices[j]] += scale * (out[0] - labels[i]) * values[j]


def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """The entries of φ(x_i, out) − φ(x_i, y_i) into (indices, values); their number."""
    indptr, columns, entries, labels, _ = data
    count = 0
    if out[0] != labels[i]:
        for j in range(indptr[i], indptr[i + 1]):
            indices[count], values[count] = columns[j], (out[0] - labels[i]) * entries[j]
            count += 1
    return count


class Linear(Sourced):
    """Samples X with targets y.

    Parameters
    ----------
    X : (n, d) array or scipy.sparse matrix, finite
    y : (n,) labels ±1, or any finite numbers, of which all from 0 on are positive
    importance : (n,) weights ≥ 0, not all zero; default 1

    Raises
    ------
    BadInput : empty data, lengths that differ, NaN or inf
    """

    name = "linear"
    oracle_kind = "exact"
    exact_features = exact_loss = True
    width = 1
    least_loss = 1.0
    free_outputs = False

    def __init__(self, X: ArrayLike | Any, y: ArrayLike, importance: ArrayLike | None = None):
        refuse_shapes("Linear", X, y)
        self.X, self.columns = checked_inputs(X), column_names(X)
        self.targets: Floats = numbers(y, "The targets", "write the two labels as −1 and 1").copy()
        if self.targets.shape != (self.X.shape[0],):
            raise BadInput(f"X has {self.X.shape[0]} rows but y has shape {self.targets.shape}; give one target a row.")
        if not (np.abs(self.targets) <= LARGEST).all():
            bad = int(np.flatnonzero(~(np.abs(self.targets) <= LARGEST))[0])
            raise BadInput(f"The target of sample {bad} is {self.targets[bad]}; remove the sample or repair it.")
        self.weights = checked_weights(importance, len(self.targets))
        self.n_samples, self.n_features = size_of(self.X)
        self.labels: Ints = (self.targets >= 0).astype(np.int64)
        self.signs: Floats = (2 * self.labels - 1).astype(float)
        self.truth = self.labels[:, None]
        self.terms = int(np.diff(self.X.indptr).max()) + 2
        self.magnitude: Floats = np.asarray(abs(self.X).sum(axis=1)).ravel()
        self.max_loss = np.ones(self.n_samples)

    def features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        return sparse.csr_array(taken(self.X, samples).multiply(outputs))

    def loss(self, samples: Ints, outputs: Ints) -> Floats:
        return (outputs[:, 0] != self.labels[samples]).astype(float)

    def argmax(self, w: Floats, samples: Ints, augment: bool = True) -> Ints:
        gain = augment - self.signs[samples] * (taken(self.X, samples) @ w)
        return np.where(gain > 0, 1 - self.labels[samples], self.labels[samples])[:, None]

    def slack_argmax(self, w: Floats, samples: Ints) -> Ints:
        """ℓ(1 − yp) is margin rescaling here: there is one loss."""
        return self.argmax(w, samples)

    def runner_up(self, w: Floats, samples: Ints) -> Ints:
        return 1 - self.truth[samples]

    def outputs(self, sample: int) -> Ints:
        return np.array([[0], [1]])

    def predict(self, w: Floats, inputs: ArrayLike | Any) -> NDArray:
        """The sign of ⟨w, x⟩ for each row of `inputs`, 1 at 0."""
        X = checked_inputs(by_name(inputs, self.names))
        if X.shape[1] != self.n_features:
            raise BadInput(
                f"The data have {X.shape[1]} columns but the weights were learned on {self.n_features}; give those."
            )
        return np.where(X @ checked_learned(w, self.n_features) >= 0, 1, -1)

    def weight_names(self) -> list[str]:
        """The names of the inputs, where the file had any."""
        known = self.names is not None and len(self.names) == self.n_features
        return self.names if known and self.names else [f"w[{j}]" for j in range(self.n_features)]

    def describe(self, sample: int, output: Ints) -> str:
        return f"label {2 * output[0] - 1}"

    def kernel(self, augment: bool = True) -> Kernel:
        data = (*compiled_rows(self.X), self.labels, float(augment))
        longest = int(np.diff(self.X.indptr).max())
        return Kernel(data, argmax_into, add_slope, slope_into, longest)

    def exact(self) -> ExactLinear:
        """This problem in rational arithmetic."""
        return ExactLinear(self)

    def compact(self, w: Any) -> CompactHinge:
        """ξ_i ≥ 0 and ξ_i ≥ 1 − y_i ⟨w, x_i⟩."""
        import cvxpy as cp

        xi, every = cp.Variable(self.n_samples), np.arange(self.n_samples)
        floor = xi >= 0
        margin = xi >= 1 - sparse.csr_array(self.X.multiply(self.signs[:, None])) @ w

        def atoms() -> tuple[Ints, Ints, Floats]:
            weights = np.concatenate([multipliers(floor), multipliers(margin)])
            return np.tile(every, 2), np.concatenate([self.truth, 1 - self.truth]), weights

        return CompactHinge(xi, [floor, margin], atoms)

    def arrays(self) -> dict[str, NDArray]:
        return {
            **kept_rows(self.X),
            "n_features": np.array(self.n_features),
            "targets": self.targets,
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Linear:
        shape = (len(arrays["targets"]), int(arrays["n_features"]))
        X = saved_rows(arrays, shape)
        return cls(X, arrays["targets"], arrays["weights"])

    @classmethod
    def random(cls, rng: np.random.Generator, n: int, d: int, labels: int) -> Linear:
        """n samples of d features; there are always two labels (benchmarks/instances.py)."""
        weights = np.append(1, rng.integers(0, 4, n - 1)) if rng.random() < 0.3 else None
        return cls(rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n), weights)

    @classmethod
    def tiny(cls, rng: np.random.Generator) -> Linear:
        """A random instance small enough to enumerate, for the conformance tests."""
        n, d = rng.integers(3, 10), rng.integers(1, 5)
        return cls(rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n), rng.uniform(0.2, 3, n))


NAMES = {"linear": Linear}
