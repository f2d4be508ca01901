"""Users' functions, called with care: what they raise and what they return is one sentence that names the sample.

features(x, y)             φ(x, y): a vector (d,), a sparse row, or a dict {name: number}
loss(y_true, y)            ℓ ≥ 0, 0 at y = y_true
argmax(w, x, y=None)       argmax over ŷ of ⟨w, φ(x, ŷ)⟩, plus ℓ(y, ŷ) if the truth y is given
candidates(x)              all outputs of x
slack_argmax(w, x, y)      argmax over ŷ of ℓ(y, ŷ) (1 − ⟨w, φ(x, y) − φ(x, ŷ)⟩)
marginals(w, x)            log Σ_ŷ exp⟨w, φ(x, ŷ)⟩ and E φ(x, ŷ) under the distribution ∝ exp⟨w, φ(x, ŷ)⟩
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import LARGEST
from workbench.contracts import Floats, Ints
from workbench.errors import BadInput, CutbenchError

Function = Callable[..., Any]
READ_ONLY = "the weights are to be read only"


class Weights(dict):
    """Weights by the names of their features; a feature that was never seen has weight 0."""

    def __missing__(self, name: Any) -> float:
        return 0.0

    def score(self, features: Mapping[Any, float]) -> float:
        """⟨w, φ⟩ of a dict of features."""
        return sum(self[name] * value for name, value in features.items())


class NamedWeights(Weights):
    """The weights that functions are lent, to be read only; every kind of copy may be changed."""

    def unchanged(self: Any, *words: Any, **more: Any) -> Any:
        raise ValueError(READ_ONLY)

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = unchanged

    def copy(self) -> Weights:
        return Weights(self)

    def __reduce__(self) -> tuple[type[Weights], tuple[dict[Any, float]]]:
        return Weights, (dict(self),)


@dataclass(frozen=True)
class Functions:
    """The functions that a user gave; those left out are None."""

    features: Function
    loss: Function
    argmax: Function | None = None
    candidates: Function | None = None
    slack_argmax: Function | None = None
    marginals: Function | None = None

    def __post_init__(self) -> None:
        for name, each in self.given.items():
            if not callable(each):
                raise BadInput(f"{name} is {shown(each)}, no function; give a function, see help(wb.Structured).")
        if self.argmax is None and self.candidates is None:
            raise BadInput("There is neither argmax nor candidates; give argmax(w, x, y=None), or candidates(x).")

    @property
    def given(self) -> dict[str, Function]:
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}

    def call(self, name: str, sample: int, *words: Any, then: Function | None = None) -> Any:
        """The function's answer about a sample, after `then`; whatever is raised becomes `BadInput`."""
        try:
            answer = getattr(self, name)(*words)
            return answer if then is None else then(answer)
        except CutbenchError:
            raise
        except (Exception, SystemExit) as error:
            if str(error) == READ_ONLY:
                raise BadInput(f"{name} changes the weights it is given; let it work on a copy of them.") from error
            fault = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
            of = f" for the output {shown(words[-1])}" if name in ("features", "loss") else ""
            raise BadInput(f"{name} stops at sample {sample}{of} with {fault}; repair it{line_of(error)}.") from error

    def loss_of(self, sample: int, truth: Any, output: Any) -> float:
        """ℓ as a float, or `BadInput`."""
        value = plain(self.call("loss", sample, truth, output))
        value = value.item() if isinstance(value, np.ndarray | np.generic) and np.size(value) == 1 else value
        if not isinstance(value, Real) or not isfinite(value) or not 0 <= float(value) <= LARGEST:
            raise BadInput(
                f"The loss at sample {sample} of {shown(output)} is {shown(value)}; "
                f"return a finite number that is not negative."
            )
        return float(value)

    def source(self) -> tuple[str, str]:
        """The file of the oracle and the sha256 over all files of these functions; empty without files."""
        files = {name: file_of(each) for name, each in self.given.items()}
        known = sorted({file for file in files.values() if file})
        if not known or None in files.values():
            return "", ""
        digest = hashlib.sha256(b"".join(Path(file).read_bytes() for file in known)).hexdigest()
        main = files.get("argmax") or files.get("candidates") or known[0]
        return Path(main).name, digest


def file_of(function: Function) -> str | None:
    """The file in which a function, or the class of a callable object, is written; None for one typed in."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(getattr(function, "__func__", function))
    if not inspect.isroutine(function) and not inspect.isclass(function):
        function = type(function)
    try:
        file = inspect.getsourcefile(function)
    except TypeError:
        return None
    return file if file and Path(file).is_file() else None


def line_of(error: BaseException) -> str:
    """` (line N of FILE)` of the place in a file outside this package that was called, as far as known."""
    frame, place = error.__traceback__, ""
    home = str(Path(__file__).parents[2])
    while frame:
        file = frame.tb_frame.f_code.co_filename
        if not file.startswith(home):
            place = f" (line {frame.tb_lineno} of {Path(file).name})"
            break
        frame = frame.tb_next
    return place


def shown(thing: Any, most: int = 60) -> str:
    """An object in at most `most` characters."""
    text = " ".join(repr(thing).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def plain(thing: Any) -> Any:
    """The array of a tensor, without an import of its library; anything else as it is."""
    return thing.detach().cpu().numpy() if hasattr(thing, "detach") else thing


def entries_of(features: Any, columns: dict[Any, int] | None, dim: int, place: str) -> tuple[Ints, Floats]:
    """Columns and values of the non-zero features, or `BadInput`; `columns` maps names, up to `dim` of them."""
    features = plain(features)
    if isinstance(features, Mapping):
        at, values = named_entries(features, columns, dim, place)
    elif sparse.issparse(features):
        row = sparse.coo_array(features.reshape(1, -1))
        row.sum_duplicates()
        at, values, size = row.coords[1].astype(np.int64), numeric(row.data, place), row.shape[1]
        checked_size(size, dim, place)
    else:
        values = numeric(features, place).ravel()
        checked_size(len(values), dim, place)
        at = np.flatnonzero(values)
        values = values[at]
    if not (np.abs(values) <= LARGEST).all():
        wrong = int(np.flatnonzero(~(np.abs(values) <= LARGEST))[0])
        raise BadInput(f"Feature {at[wrong]} {place} is {values[wrong]:.3g}; return finite numbers of sane size.")
    return at, values


def named_entries(
    features: Mapping[Any, Any], columns: dict[Any, int] | None, dim: int, place: str
) -> tuple[Ints, Floats]:
    if columns is None:
        raise BadInput(f"The features {place} are a dict and earlier ones were not; return one kind throughout.")
    at = np.empty(len(features), np.int64)
    for k, name in enumerate(features):
        at[k] = columns.setdefault(name, len(columns))
        if at[k] >= dim:
            del columns[name]
            raise BadInput(
                f"Feature {shown(name)} {place} is one more than the {dim} there is room for; "
                f"give all names as names=[…], or a larger room."
            )
    values = numeric(list(features.values()), place)
    order = np.argsort(at)
    order = order[values[order] != 0]
    return at[order], values[order]


def numeric(values: Any, place: str) -> Floats:
    """A float copy of numbers, or `BadInput`."""
    try:
        found = np.asarray(values)
        if found.dtype.kind in "cUS" or values is None:
            raise TypeError("they are complex" if found.dtype.kind == "c" else f"they are {shown(values)}")
        return found.astype(float)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"The features {place} are no numbers ({error}); return a vector, a sparse row, or a dict of numbers."
        ) from None


def checked_size(size: int, dim: int, place: str) -> None:
    if size != dim:
        raise BadInput(f"There are {size} features {place} and {dim} elsewhere; return vectors of one length.")
