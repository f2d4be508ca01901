"""Dyads: pairs of two kinds of things with a label for each pair, as raters and tasks.

Sample i pairs a left and a right side, both given by sparse features, in the simplest case one identity each:

    l_i (f_left,), r_i (f_right,) ≥ one non-zero each,     x_i linear features,     y_i its label

The dyadic model scores label c with k latent dimensions, A_c (f_left, k), B_c (f_right, k), w_c:

    p_c(i) = ⟨a, b⟩ + ⟨a, 1⟩ + ⟨1, b⟩ + ⟨w_c, x_i⟩ = ⟨a + 1, b + 1⟩ − k + ⟨w_c, x_i⟩,     a = A_cᵀ l_i,  b = B_cᵀ r_i

k = 0 is the linear model (docs/mathematics.md §7). Two classes need one score, which is positive for the second class.
The score is not linear in the parameters, so no cut bounds the risk; dyads/dual.py does, dyads/dyadic.py learns the
model. outputs/dyads.py makes pairs a problem for `solve`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.arrays import checked_inputs, checked_weights, size_of
from workbench.contracts import Floats, Ints
from workbench.dyads import vowpal
from workbench.errors import BadInput

ONE = "constant"


class Factors(NamedTuple):
    """Parameters: A (f_left, L, k), B (f_right, L, k), W (f_linear, L); L scores a pair, one or one a class."""

    A: Floats
    B: Floats
    W: Floats


class Columns(NamedTuple):
    """`count` columns of features, and their names where they have some."""

    count: int
    names: NDArray | None = None


class Names(NamedTuple):
    """The columns and classes that parameters belong to. linear None: those of both sides and a constant."""

    left: Columns
    right: Columns
    linear: Columns | None
    classes: NDArray


class Dyads:
    """Pairs with labels.

    Parameters
    ----------
    left, right : (n,) identities of any sortable kind, or (n, f) features, dense or sparse
    labels : (n,) of any sortable kind; `classes` holds the distinct ones in order
    linear : (n, f) features of the linear part; default: those of both sides and a constant 1
    importance : (n,) h_i ≥ 0, not all zero; default 1
    classes : labels to admit besides those seen; likewise `left_names`, `right_names` for identities
    left_names, right_names, linear_names : with a matrix of features, the names of its columns

    Other pairs, built apart, number their identities anew: `placed` finds each by its name.

    Raises
    ------
    BadInput : lengths that differ, a pair without features on a side, fewer than two classes, NaN
    """

    def __init__(
        self,
        left: ArrayLike | Any,
        right: ArrayLike | Any,
        labels: ArrayLike,
        linear: ArrayLike | Any | None = None,
        importance: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        left_names: ArrayLike | None = None,
        right_names: ArrayLike | None = None,
        linear_names: ArrayLike | None = None,
    ):
        given = np.asarray(labels)
        self.classes = np.unique(given if classes is None else np.asarray(classes))
        if given.ndim != 1 or len(self.classes) < 2:
            raise BadInput(f"The labels have shape {given.shape} and {len(self.classes)} classes; give (n,) and two.")
        if len(unknown := np.setdiff1d(given, self.classes)):
            raise BadInput(f"Label {unknown[0].item()!r} is not among the given classes; add it to `classes`.")
        self.n_samples = len(given)
        self.labels: Ints = np.searchsorted(self.classes, given).astype(np.int64)
        self.importance = checked_weights(importance, self.n_samples)
        self.left, self.left_names = self.side("left", left, left_names)
        self.right, self.right_names = self.side("right", right, right_names)
        self.of_both = linear is None
        self.linear = narrow(both_and_one(self.left, self.right) if linear is None else checked_inputs(linear))
        self.linear_names = None if self.of_both else checked_names("linear", linear_names, self.linear.shape[1])
        if self.linear.shape[0] != self.n_samples:
            raise BadInput(f"There are {self.n_samples} labels but {self.linear.shape[0]} rows of linear features.")

    @classmethod
    def of_examples(
        cls,
        examples: Sequence[vowpal.Example],
        left: str,
        right: str,
        linear: Sequence[str] | None = None,
        classes: Sequence[str] = (),
    ) -> Dyads:
        """Lines of the Vowpal Wabbit format with the namespaces `left` and `right` as sides.

        Columns come in order of first appearance. linear : namespaces of the linear part, a constant 1 is added; by
        default both sides and the constant, so nothing is to be written twice. classes : labels to admit besides.

        Raises `BadInput` for an example without a label or one of the sides, or with a base.
        """
        for at, example in enumerate(examples, 1):
            missing = [name for name in (left, right) if not example.namespaces.get(name)]
            if missing:
                raise BadInput(
                    f"Example {at} has no features in the namespace {missing[0]!r}; every pair needs two sides."
                )
            vowpal.taught(example, f"Example {at}")
        sides = [vowpal.columns([each.namespaces[name] for each in examples]) for name in (left, right)]
        extra = names = None
        if linear is not None:
            spaces = [(name, *vowpal.columns([each.namespaces.get(name, {}) for each in examples])) for name in linear]
            ones = sparse.csr_array(np.ones((len(examples), 1)))
            extra = sparse.hstack([*(part for _, part, _ in spaces), ones]).tocsr()
            names = [*(f"{space} {name}" for space, _, found in spaces for name in found or [""]), ONE]
        labels, weights = np.array([each.label for each in examples]), np.array([each.importance for each in examples])
        (left_side, left_names), (right_side, right_names) = sides
        known = np.unique(np.array([*labels, *classes]))
        given = {"classes": known, "left_names": left_names, "right_names": right_names, "linear_names": names}
        return cls(left_side, right_side, labels, extra, weights, **given)

    def examples(self, left: str = "left", right: str = "right") -> list[vowpal.Example]:
        """The pairs as lines of that format: identities by name, other features by number."""
        sides = ((left, self.left, self.left_names), (right, self.right, self.right_names))
        found = []
        for i in range(self.n_samples):
            spaces = {}
            for name, matrix, names in sides:
                held = slice(matrix.indptr[i], matrix.indptr[i + 1])
                pairs = zip(matrix.indices[held], matrix.data[held], strict=True)
                spaces[name] = {str(at if names is None else names[at]): float(value) for at, value in pairs}
            found.append(vowpal.Example(str(self.classes[self.labels[i]]), spaces, float(self.importance[i])))
        return found

    def side(self, name: str, given: Any, names: ArrayLike | None) -> tuple[sparse.csr_array, NDArray | None]:
        """A side's features, and the identities they stand for if it was given as such."""
        if sparse.issparse(given) or np.ndim(given) == 2:
            features = checked_inputs(given)
            known = checked_names(name, names, features.shape[1])
        else:
            identities = np.asarray(given)
            known = np.unique(identities if names is None else np.asarray(names))
            if len(unknown := np.setdiff1d(identities, known)):
                raise BadInput(f"{unknown[0].item()!r} is not among the given {name}_names; add it.")
            where = (np.arange(len(identities)), np.searchsorted(known, identities))
            features = sparse.csr_array((np.ones(len(identities)), where), shape=(len(identities), len(known)))
        if features.shape[0] != self.n_samples:
            raise BadInput(f"There are {self.n_samples} labels but {features.shape[0]} pairs on the {name}.")
        empty = np.flatnonzero(features.multiply(features).sum(axis=1) == 0)
        if len(empty):
            raise BadInput(f"Pair {empty[0]} has no {name} features; give it at least one, such as an identity.")
        return features, known

    @property
    def targets(self) -> Floats:
        """(n,) −1 for the first of two classes, +1 for the second."""
        if len(self.classes) != 2:
            raise BadInput(f"{len(self.classes)} classes have no ±1 targets; use a reduction to binary problems.")
        return (2 * self.labels - 1).astype(float)

    @property
    def scores_per_pair(self) -> int:
        """L: one for two classes, else one per class."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def placed(self, known: Names) -> Dyads:
        """These pairs with the columns of others, whose names are `known`: every identity and feature by its name.

        Raises `BadInput` for a name that is not known, for nameless features of another number, and other classes.
        """
        if not np.array_equal(self.classes, known.classes):
            raise BadInput(
                f"The pairs have the classes {self.classes.tolist()}, those learned {known.classes.tolist()}; give "
                "both the same `classes`."
            )
        part = self.take(slice(None))
        mine = self.names
        part.left = placed("left", self.left, mine.left, known.left)
        part.right = placed("right", self.right, mine.right, known.right)
        if known.linear is None:
            part.linear = both_and_one(part.left, part.right)
        else:
            part.linear = placed("linear", self.linear, mine.linear or Columns(self.linear.shape[1]), known.linear)
        part.left_names, part.right_names = known.left.names, known.right.names
        return part

    @property
    def names(self) -> Names:
        """What the columns of the sides and of the linear part are called; None: the linear part is that of both."""
        linear = None if self.of_both else Columns(self.linear.shape[1], self.linear_names)
        left, right = Columns(self.left.shape[1], self.left_names), Columns(self.right.shape[1], self.right_names)
        return Names(left, right, linear, self.classes)

    def linear_columns(self) -> list[str]:
        """A name for each linear feature."""
        if not self.of_both:
            names, count = self.linear_names, self.linear.shape[1]
            return [f"x[{j}]" for j in range(count)] if names is None else list(map(str, names))
        return [*self.side_columns("left"), *self.side_columns("right"), ONE]

    def side_columns(self, side: str) -> list[str]:
        """A name for each feature of the side `left` or `right`."""
        names, count = getattr(self, f"{side}_names"), getattr(self, side).shape[1]
        return [f"{side} {each}" for each in (range(count) if names is None else names)]

    def take(self, index: Any) -> Dyads:
        """Some of the pairs, in the order of `index`; names, classes and features stay what they are."""
        part = object.__new__(Dyads)
        part.__dict__ |= self.__dict__
        for name in ("labels", "importance", "left", "right", "linear"):
            setattr(part, name, getattr(self, name)[index])
        part.n_samples = len(part.labels)
        return part

    def against(self, label: int) -> Dyads:
        """The same pairs in two classes: 0, all others, and 1, the class of index `label`."""
        part = self.take(slice(None))
        part.labels, part.classes = (self.labels == label).astype(np.int64), np.arange(2)
        return part

    def scores(self, factors: Factors) -> Floats:
        """p_c(i) for every pair and score, (n, L)."""
        f_left, count, k = factors.A.shape
        a = (self.left @ factors.A.reshape(f_left, count * k)).reshape(self.n_samples, count, k) + 1
        b = (self.right @ factors.B.reshape(len(factors.B), count * k)).reshape(self.n_samples, count, k) + 1
        return (a * b).sum(axis=2) - k + self.linear @ factors.W

    def decide(self, scores: Floats) -> Ints:
        """The index of the class with the highest score (n,)."""
        return (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)

    def error(self, decided: Ints) -> float:
        """0/1 loss, weighted by importance."""
        return float(self.importance @ (decided != self.labels) / self.importance.sum())


def narrow(matrix: sparse.csr_array) -> sparse.csr_array:
    """The matrix with indices of 32 bits where these suffice: scikit-learn takes no others."""
    if max(matrix.nnz, *size_of(matrix)) > np.iinfo(np.int32).max:
        return matrix
    index = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return sparse.csr_array((matrix.data, *index), shape=matrix.shape)


def both_and_one(left: sparse.csr_array, right: sparse.csr_array) -> sparse.csr_array:
    """(n, f_left + f_right + 1) the features of both sides and a constant 1."""
    return sparse.csr_array(sparse.hstack([left, right, sparse.csr_array(np.ones((left.shape[0], 1)))]))


def checked_names(side: str, names: ArrayLike | None, columns: int) -> NDArray | None:
    """The names of a matrix's columns, one each and no two alike, or `BadInput`."""
    if names is None:
        return None
    found = np.asarray(names)
    if found.shape != (columns,) or len(np.unique(found)) != columns:
        raise BadInput(f"{side}_names has shape {found.shape} for {columns} columns; give each column its own name.")
    return found


def placed(side: str, features: sparse.csr_array, mine: Columns, known: Columns) -> sparse.csr_array:
    """`features` with its columns where `known` has those names; without names on both, the same columns."""
    if mine.names is None or known.names is None:
        if mine.names is not known.names or mine.count != known.count:
            told = ["no names" if each.names is None else "names" for each in (mine, known)]
            raise BadInput(
                f"The {side} features are {mine.count} columns with {told[0]}, those learned {known.count} with "
                f"{told[1]}; build both with the same columns, or give both {side}_names."
            )
        return features
    at = {name: column for column, name in enumerate(known.names.tolist())}
    entries = features.tocoo()
    used = mine.names[entries.coords[1]].tolist()
    unknown = [name for name in used if name not in at]
    if unknown:
        raise BadInput(
            f"The {side} name {unknown[0]!r} was not among those learned; leave its pairs out, or name all as "
            f"{side}_names before learning."
        )
    columns = np.array([at[name] for name in used], np.int64)
    return sparse.csr_array((entries.data, (entries.coords[0], columns)), shape=(features.shape[0], known.count))


def split(n: int, share: float, rng: int | np.random.Generator) -> tuple[Ints, Ints]:
    """A random split of n samples: (training, test), the latter a `share` of them."""
    order = np.random.default_rng(rng).permutation(n)
    held = round(share * n)
    return np.sort(order[held:]), np.sort(order[:held])


def simulated(
    tasks: int = 10_000, per_task: int = 5, raters: int = 300, classes: int = 4, rank: int = 1, seed: int = 0
) -> Dyads:
    """Raters who each label some tasks, each pair at most once.

    Rater u sees task t as class argmax_c [v_tc + ⟨s_u, q_t⟩ γ_c + noise]: v normal of size 1.5 around normal
    class means of size 0.5, s_u and q_t in ℝ^rank standard normal, γ_c spread over [−1, 1], Gumbel noise of size
    0.3. Tasks have a true class, and raters weigh hidden sides of a task differently, which no sum of rater and
    task terms can say.
    """
    return simulated_chances(tasks, per_task, raters, classes, rank, seed)[0]


def simulated_chances(
    tasks: int = 10_000, per_task: int = 5, raters: int = 300, classes: int = 4, rank: int = 1, seed: int = 0
) -> tuple[Dyads, Floats]:
    """The pairs of `simulated`, and the chances (n, classes) of their labels: the softmax of utility/0.3."""
    if not 1 <= per_task <= raters or tasks < 1 or classes < 2 or rank < 0:
        raise BadInput(f"{per_task} of {raters} raters for each of {tasks} tasks in {classes} classes cannot be.")
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(tasks), per_task)
    rater = rng.random((tasks, raters)).argpartition(per_task - 1, axis=1)[:, :per_task].ravel()
    seen = 1.5 * rng.normal(size=(tasks, classes)) + 0.5 * rng.normal(size=classes)
    hidden, weight = rng.normal(size=(tasks, rank)), rng.normal(size=(raters, rank))
    swing = (hidden[task] * weight[rater]).sum(axis=1)[:, None] * np.linspace(-1, 1, classes)
    mean = seen[task] + swing
    utility = mean + 0.3 * rng.gumbel(size=(len(task), classes))
    names = {"classes": np.arange(classes), "left_names": np.arange(raters), "right_names": np.arange(tasks)}
    chances = np.exp((mean - mean.max(axis=1, keepdims=True)) / 0.3)
    return Dyads(rater, task, utility.argmax(axis=1), **names), chances / chances.sum(axis=1, keepdims=True)
