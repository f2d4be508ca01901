"""Arrays of users and files, checked: every fault is one sentence that names its place; and rows of sparse ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.contracts import Floats, Ints
from workbench.errors import BadInput

LARGEST = 1e100  # numbers whose squares and sums stay far from overflow
MANY = 1000  # rows, of which a view takes less time than a copy


def numbers(values: Any, what: str, remedy: str) -> Floats:
    """`values` as a real float array, or `BadInput`: "`what` are …; `remedy`."."""
    try:
        if np.iscomplexobj(values):
            raise BadInput(f"{what} are complex; give real ones, such as their real and imaginary parts.")
        if np.ma.is_masked(values):
            raise BadInput(f"{what} have masked entries; fill them in or drop their samples.")
        if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
            raise BadInput(f"{what} are dates or times; {remedy}, for example in days.")
        with np.errstate(over="ignore"):  # what becomes infinite is refused as such
            return np.asarray(values, float)
    except (TypeError, ValueError) as error:
        fault = str(error).splitlines()[0].rstrip(".")
        raise BadInput(f"{what} are ragged or not numbers ({fault}); {remedy}.") from None


def generator(rng: Any) -> np.random.Generator:
    """The generator of a user's seed, or the user's generator itself."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise BadInput(f"rng is {rng!r}, no seed; give a whole number from 0 on, or a numpy Generator.") from None


def as_number(text: str) -> float | None:
    """The number that a text writes in ASCII without underscores, perhaps nan or infinite; None if there is none."""
    if "_" in text or not text.isascii():  # Python reads 1_0 as 10, and digits of other scripts
        return None
    try:
        return float(text)
    except ValueError:
        return None


def checked_entries(matrix: sparse.csr_array, place: Callable[[int], str]) -> None:
    """`BadInput` unless all entries are numbers of sane size; `place` names a row."""
    data = matrix.data
    wrong = ~(np.abs(data) <= LARGEST)
    if not wrong.any():
        return
    entry = int(np.argmax(wrong))
    row = int(np.searchsorted(matrix.indptr, entry, side="right") - 1)
    remedy = "sums of such squares overflow; rescale the data" if np.isfinite(data[entry]) else "replace or remove it"
    separator = ", " if np.isfinite(data[entry]) else "; "
    raise BadInput(f"Feature {matrix.indices[entry]} {place(row)} is {data[entry]:.3g}{separator}{remedy}.")


def named_labels(labels: ArrayLike) -> NDArray:
    """Labels as an array; what is ragged has no shape, objects are named by their text."""
    if np.ma.is_masked(labels):
        raise BadInput("The labels have masked entries; drop their samples.")
    try:
        found = np.asarray(labels)
    except ValueError:
        return np.array(None)
    if found.dtype.kind == "O" and any(isinstance(each, Sized) and not isinstance(each, str) for each in found.flat):
        return np.array(None)
    if found.dtype.kind == "O" and not missing_labels(found).size:
        found = found.astype(str)
    return found


def missing_labels(labels: NDArray) -> Ints:
    """Where labels are None, not a number, no time, or infinite."""
    if labels.dtype.kind in "fcmM":
        return np.flatnonzero(~np.isfinite(labels))
    if labels.dtype.kind == "O":
        return np.flatnonzero([each is None or each != each for each in labels.flat])
    return np.empty(0, np.int64)


def numbered(labels: NDArray, classes: ArrayLike | None = None) -> tuple[NDArray, Ints]:
    """The classes, sorted, or `classes` where they are given, and each label as a number of its class, (n,)."""
    known = np.unique(labels if classes is None else np.asarray(classes))
    if len(known) < 2:
        raise BadInput(f"All labels are {known[0]}; a learning problem needs at least two classes.")
    if unknown := set(labels.tolist()) - set(known.tolist()):
        raise BadInput(f"Label {min(unknown)!r} is not among the given classes; add it to `classes`.")
    return known, np.searchsorted(known, labels).astype(np.int64)


def column_names(X: object) -> list[str] | None:
    """The names of a DataFrame's columns; None where they are no texts, and for other tables."""
    names: list[Any] = list(getattr(X, "columns", ()))  # of pandas or another library, without importing any
    return names if names and all(isinstance(each, str) for each in names) else None


def by_name(X: Any, names: list[str] | None) -> Any:
    """A DataFrame's columns in the order of these names; `BadInput` if one is missing. Other tables as they are."""
    given = column_names(X)
    if names is None or given is None or given == names:
        return X
    if missing := [name for name in names if name not in given]:
        raise BadInput(
            f"The data have no column {missing[0]}, which the weights were learned on; name columns as there."
        )
    return X[names]


def checked_inputs(X: ArrayLike | Any) -> sparse.csr_array:
    """X as CSR with sorted unique indices and float64 entries, or `BadInput`."""
    if sparse.issparse(X) and np.iscomplexobj(X):
        raise BadInput("The inputs are complex; give real ones, such as their real and imaginary parts.")
    if not sparse.issparse(X):
        X = np.atleast_2d(numbers(X, "The inputs", "give an (n, p) array"))
        if X.ndim != 2:
            raise BadInput(f"The inputs have shape {X.shape}; give an (n, p) array, one row a sample.")
    try:
        found: sparse.csr_array = sparse.csr_array(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise BadInput(f"The inputs are not a numeric matrix ({error}); give an (n, p) array.") from None
    if not found.has_canonical_format:
        found = found.copy()  # SciPy puts entries in order where they stand, which may be in the user's own arrays
        found.sum_duplicates()
    if 0 in size_of(found):
        raise BadInput(f"The inputs are empty, shape {found.shape}; give at least one sample and one feature.")
    checked_entries(found, "of sample {}".format)
    return found


def size_of(matrix: sparse.csr_array) -> tuple[int, int]:
    """The numbers of rows and columns; SciPy's own code types a shape as possibly None."""
    rows, columns = matrix.shape[0], matrix.shape[1]
    return rows, columns


def sparse_product(left: sparse.csr_array, right: sparse.csr_array) -> sparse.csr_array:
    """left @ right; SciPy's own code leaves open what kind of matrix a product is."""
    product: Any = left @ right  # SciPy has no types
    return product


def compiled_rows(matrix: sparse.csr_array) -> tuple[Ints, Ints, Floats]:
    """Where the rows of a CSR matrix start, the columns and the values of its entries, as kernels take them.

    Those of the matrix itself where they have that type; kernels write to none of them.
    """
    starts, columns = (np.require(each, np.int64, "W") for each in (matrix.indptr, matrix.indices))
    return starts, columns, np.asarray(matrix.data, float)


def kept_rows(matrix: sparse.csr_array) -> dict[str, NDArray]:
    """The arrays from which `saved_rows` rebuilds a CSR matrix, for files."""
    starts, columns, values = compiled_rows(matrix)
    return {"data": values, "indices": columns, "indptr": starts}


def saved_rows(arrays: dict[str, NDArray], shape: tuple[int, int]) -> sparse.csr_array:
    """The CSR matrix that a file holds as `data`, `indices` and `indptr`, or `BadInput`.

    SciPy's loops trust these arrays with the memory of the process, so they are looked at before SciPy sees them.
    """
    data, indices, ends = (arrays[name] for name in ("data", "indices", "indptr"))
    kinds = data.dtype.kind in "biuf" and indices.dtype.kind in "iu" and ends.dtype.kind in "iu"
    if not kinds or not data.ndim == indices.ndim == ends.ndim == 1:
        raise BadInput("data, indices and indptr are not one row of numbers and two of whole ones")
    if len(ends) != shape[0] + 1 or ends[0] != 0 or (ends[1:] < ends[:-1]).any():
        raise BadInput(f"indptr does not say where the {shape[0]} rows end")
    if not int(ends[-1]) == len(data) == len(indices):
        raise BadInput(f"indptr ends at {ends[-1]} but there are {len(data)} data and {len(indices)} indices")
    if ((indices < 0) | (indices >= shape[1])).any():
        raise BadInput(f"an index names a column that the matrix lacks, it has {shape[1]}")
    return sparse.csr_array((data, indices, ends), shape=shape)


def taken(matrix: sparse.csr_array, rows: Ints) -> sparse.csr_array:
    """matrix[rows], to be read only: where these are all rows in order, the matrix itself; a view of many in order.

    SciPy takes 0.1 ms to pick rows, which is most of what an oracle costs on a small problem, and what is written here
    half of that.
    """
    if len(rows) and len(rows) == rows[-1] - rows[0] + 1 and (rows[1:] > rows[:-1]).all():
        if len(rows) == matrix.shape[0]:
            return matrix
        if len(rows) >= MANY and rows[0] >= 0:
            first, stop = int(rows[0]), int(rows[-1]) + 1
            start, end = matrix.indptr[first], matrix.indptr[stop]
            parts = matrix.data[start:end], matrix.indices[start:end], matrix.indptr[first : stop + 1] - start
            return sparse.csr_array(parts, shape=(stop - first, matrix.shape[1]))
    starts = matrix.indptr[:-1][rows]
    lengths = matrix.indptr[1:][rows] - starts
    ends = np.zeros(len(rows) + 1, matrix.indptr.dtype)
    np.cumsum(lengths, out=ends[1:])
    at = np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])
    return sparse.csr_array((matrix.data[at], matrix.indices[at], ends), shape=(len(rows), matrix.shape[1]))


def checked_cost(cost: ArrayLike | None, k: int) -> Floats:
    if cost is None:
        return 1.0 - np.eye(k)
    matrix = numbers(cost, "The entries of the cost matrix", f"make it ({k}, {k})")
    if matrix.shape != (k, k):
        raise BadInput(f"The cost matrix has shape {matrix.shape} but there are {k} classes; make it ({k}, {k}).")
    if not np.isfinite(matrix).all() or (matrix < 0).any() or np.diag(matrix).any():
        raise BadInput("The cost matrix must be finite and non-negative with a zero diagonal; correct its entries.")
    if matrix.max() > LARGEST:
        raise BadInput(f"A cost is as large as {matrix.max():.1e}, which overflows in sums; rescale the cost matrix.")
    return matrix


def checked_weights(weights: ArrayLike | None, n: int) -> Floats:
    if weights is None:
        return np.ones(n)
    checked = numbers(weights, "The sample weights", "give one number each")
    if checked.shape != (n,):
        raise BadInput(f"There are {n} samples but the weights have shape {checked.shape}; give one weight each.")
    if not np.isfinite(checked).all() or (checked < 0).any() or not checked.any():
        raise BadInput("Sample weights must be finite, non-negative and not all zero; correct them.")
    if checked.max() > LARGEST:
        raise BadInput(f"A sample weight is as large as {checked.max():.1e}; only ratios matter, divide them all.")
    return checked


def class_weights(given: Any, labels: Ints, classes: NDArray) -> Floats:
    """(n,) what each sample's class adds to its weight as a factor; labels (n,) are indices into `classes`.

    given : None, 1 for all; "balanced", n/(k n_y) for a class of n_y of the n samples, of k that occur; or
        {class: factor ≥ 0}, 1 for the classes that it lacks
    """
    if given is None:
        return np.ones(len(labels))
    counts = np.bincount(labels, minlength=len(classes))
    if isinstance(given, str) and given == "balanced":
        return len(labels) / (np.count_nonzero(counts) * counts[labels])
    if not isinstance(given, Mapping):
        raise BadInput(f"class_weight is {given!r}; give balanced, or in Python a dict of one factor for each class.")
    known = {name: k for k, name in enumerate(classes.tolist())}
    factors = np.ones(len(classes))
    for name, factor in given.items():
        if name not in known:
            raise BadInput(f"The class {name!r} in class_weight is none of the data; leave it out.")
        if isinstance(factor, bool) or not isinstance(factor, Real) or not 0 <= float(factor) < np.inf:
            raise BadInput(f"The weight of class {name!r} is {factor!r}; give a finite number from 0 on.")
        factors[known[name]] = factor
    return factors[labels]


def checked_learned(w: ArrayLike, d: int) -> Floats:
    """Learned weights to predict by, (d,) finite numbers, or `BadInput`."""
    checked = numbers(w, "The learned weights", f"give {d} of them")
    if checked.shape != (d,) or not np.isfinite(checked).all():
        more = (
            f" (the last {checked.size - d} may be intercepts: use the solution's predict)" if checked.size > d else ""
        )
        raise BadInput(f"The learned weights have shape {checked.shape}, or are not finite; give {d} numbers{more}.")
    return checked


def summed(index: Ints, values: Floats | None, size: int) -> Floats:
    """The sums (size,) of the values with the same index."""
    return np.bincount(index, values, size).astype(float, copy=False)
