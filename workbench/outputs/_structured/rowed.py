"""Problems whose outputs are rows of a table, and one that is nothing but such rows, as a file holds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.arithmetic.arrays import checked_weights, kept_rows, saved_rows
from workbench.arithmetic.intervals import gamma
from workbench.contracts import Floats, Ints, Kernel, Shown
from workbench.errors import BadInput, MissingCapability
from workbench.outputs._structured.functions import shown
from workbench.outputs._structured.kernels import listed_kernel
from workbench.outputs._structured.table import Exactly, Listing, Table, misplaced
from workbench.outputs._structured.texts import NoText, read, written

MOST_LISTED = 50_000  # outputs of all samples together that are listed
CSR = ("data", "indices", "indptr")
RECORDED = (*CSR, "owners", "losses", "true", "texts", "names")


class UNKNOWN:
    """Stands in the place of an output of which a file holds no text."""


class Rowed(Shown):
    """A problem whose outputs are rows of a table; `listing` is all of them, or None."""

    name = "structured"
    oracle_kind = "exact"
    exact_loss = True
    width = 1
    table: Table
    listing: Listing | None
    weights: Floats
    file: str
    digest: str

    @property
    def n_samples(self) -> int:
        return len(self.weights)

    @property
    def n_features(self) -> int:
        return self.table.dim

    @property
    def truth(self) -> Ints:
        return np.arange(self.n_samples)[:, None]

    # ── sizes ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def magnitude(self) -> Floats:
        """The largest ‖φ‖₁ of the list; without a list, twice the largest seen so far."""
        return np.full(self.n_samples, (1 if self.listing else 2) * self.table.sizes.max())

    @property
    def max_loss(self) -> Floats:
        return np.full(self.n_samples, (1 if self.listing else 2) * self.table.losses.max())

    @property
    def least_loss(self) -> float:
        """Without a list the least is unknown; with 0, no point is scaled until it meets hard constraints."""
        return float(self.table.losses[self.table.losses > 0].min(initial=np.inf)) if self.listing else 0.0

    @property
    def free_outputs(self) -> bool:
        return self.listing is None or bool((self.table.losses[self.n_samples :] == 0).any())

    @property
    def terms(self) -> int:
        return 2 * self.table.longest + 8  # of a difference of two rows, and its sums with the loss

    @property
    def exact_features(self) -> bool:
        return self.table.exact_differences

    @property
    def feature_error(self) -> Floats:
        """(n,) bound on the rounding error in an entry of φ(x, y) − φ(x, y'): that of one subtraction."""
        return np.full(self.n_samples, 0.0 if self.exact_features else gamma(1) * 2 * self.table.largest)

    # ── rows ──────────────────────────────────────────────────────────────────────────────────────

    def checked(self, samples: Ints, outputs: Ints) -> Ints:
        """The rows of outputs (m, 1), which must be those of their samples."""
        if (wrong := misplaced(self.table.owners, np.asarray(samples), outputs)).any():
            at = int(wrong.argmax())
            raise IndexError(f"{outputs[at].tolist()} is no output of sample {samples[at]}")
        return outputs[:, 0]

    def misplaced(self, samples: Ints, outputs: Ints) -> int | None:
        """The number of the first output (m, 1) that is none of its sample, or None."""
        wrong = misplaced(self.table.owners, samples, outputs)
        return int(wrong.argmax()) if wrong.any() else None

    def features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        return self.table.take(self.checked(samples, outputs))

    def loss(self, samples: Ints, outputs: Ints) -> Floats:
        return self.table.losses[self.checked(samples, outputs)]

    def listed(self) -> Listing:
        """The list of all outputs, or `MissingCapability`."""
        if self.listing is None:
            raise MissingCapability(
                f"The outputs of this problem cannot be listed; give candidates(x), at most {MOST_LISTED} in all."
            )
        return self.listing

    def outputs(self, sample: int) -> Ints:
        return self.listed().of(sample)[:, None]

    def exact(self) -> Exactly:
        """This problem in rational arithmetic."""
        return Exactly(self.listed())

    def arrays(self) -> dict[str, NDArray]:
        rows = self.table.take(np.arange(len(self.table) if self.listing else self.n_samples))
        return {
            **kept_rows(rows),
            "n_features": np.array(self.n_features),
            "owners": self.table.owners[: rows.shape[0]],
            "losses": self.table.losses[: rows.shape[0]],
            "weights": self.weights,
            "listed": np.array(self.listing is not None),
            "source": lines_of([self.file, self.digest]),
        }


class Recorded(Rowed):
    """A `Structured` problem as a file holds it, without its functions: the outputs are those that the file lists."""

    def __init__(self, arrays: dict[str, NDArray]):
        self.held = {name: each for name, each in arrays.items() if not name.startswith("recorded_")}
        self.recorded = {name: each for name, each in arrays.items() if name.startswith("recorded_")}
        self.complete = bool(arrays["listed"])
        self.file, self.digest = source_of(arrays["source"])
        self.weights = checked_weights(arrays["weights"], len(arrays["weights"]))
        self.table, self.texts = Table(int(arrays["n_features"])), texts_of(arrays.get("recorded_texts"))
        self.fill(arrays, "")
        if "recorded_owners" in arrays:
            self.fill(arrays, "recorded_")
        owners, n = self.table.owners, self.n_samples
        if (owners[:n] != np.arange(n)).any() or ((owners < 0) | (owners >= n)).any() or self.table.losses[:n].any():
            raise BadInput("the first outputs are not the true ones of the samples, in order and without loss")
        order = np.argsort(owners, kind="stable")
        self.listing = Listing(self.table, np.split(order, np.flatnonzero(np.diff(owners[order])) + 1), np.arange(n))
        self.argmax, self.slack_argmax = self.listing.argmax, self.listing.slack_argmax
        self.runner_up = self.listing.runner_up

    def fill(self, arrays: dict[str, NDArray], prefix: str) -> None:
        owners, losses = arrays[f"{prefix}owners"].astype(np.int64), arrays[f"{prefix}losses"].astype(float)
        held = saved_rows({k: arrays[prefix + k] for k in CSR}, (len(owners), self.n_features))
        if not np.isfinite(held.data).all():
            raise BadInput("a feature of an output is not finite")
        if losses.shape != owners.shape or not (np.isfinite(losses) & (losses >= 0)).all():
            raise BadInput("the losses are not one number ≥ 0 an output")
        for k, (owner, loss) in enumerate(zip(owners.tolist(), losses.tolist(), strict=True)):
            part = slice(*held.indptr[k : k + 2])
            self.table.append(owner, held.indices[part].astype(np.int64), held.data[part].astype(float), loss)

    @property
    def conditions(self) -> list[str]:
        if self.complete:
            return []
        count, home = len(self.table) - self.n_samples, place(self.file, self.digest)
        return [
            f"features and losses of {self.n_samples} true and {count} other outputs are those of {home}",
            f"no output scores higher at these weights than the argmax of {home} found",
        ]

    def outputs(self, sample: int) -> Ints:
        if not self.complete:
            raise MissingCapability("The file holds the outputs that its proof needs, not all; give --problem FILE.")
        return super().outputs(sample)

    def exact(self) -> Exactly:
        if not self.complete:
            raise MissingCapability(f"the maxima are those of the argmax of {place(self.file, self.digest)}")
        return super().exact()

    def kernel(self, augment: bool = True) -> Kernel:
        return listed_kernel(self.listing, augment)

    def predict(self, w: Floats, inputs: Iterable[Any]) -> list[Any]:
        home = self.file or "the functions that were typed in"
        raise MissingCapability(f"Prediction takes the functions of {home}; give that file with --problem.")

    def describe(self, sample: int, output: Ints) -> str:
        number = int(output[0]) - self.n_samples
        if number < 0:  # a file keeps the texts of the outputs that were found, not of the true ones
            return "the true output"
        text = self.texts[number] if number < len(self.texts) else ""
        return shown(read(text)) if text else f"output {int(output[0])} of the list"

    def arrays(self) -> dict[str, NDArray]:
        return self.held


def source_of(lines: NDArray) -> tuple[str, str]:
    """A file's name and its sha256, or two empty texts; `BadInput` for others, which could pass for words of ours."""
    file, digest = (*texts_of(lines), "", "")[:2]
    if not file.isprintable() or not re.fullmatch("[0-9a-f]{64}" if file else "", digest):
        raise BadInput("its functions are in no file of a printable name and of a sha256")
    return file, digest


class Told(NamedTuple):
    """What a file says of one output: its sample, its loss, the output, `UNKNOWN` if the file has no text of it,
    whether it is the true one, and its features by columns.
    """

    sample: int
    loss: float
    output: Any
    true: bool
    columns: Ints
    values: Floats


def told(arrays: Mapping[str, NDArray], n: int, dim: int) -> tuple[list[Told], list[Any]]:
    """The recorded outputs of a file about n samples and `dim` features, and the names of features that came up with
    them; `BadInput` if the arrays do not fit each other.
    """
    if missing := [name for name in RECORDED if f"recorded_{name}" not in arrays]:
        raise BadInput(f"the recorded outputs have no {missing[0]}")
    parts = {name: arrays[f"recorded_{name}"] for name in RECORDED}
    owners, losses, true = (parts[name] for name in ("owners", "losses", "true"))
    texts, names = texts_of(parts["texts"]), texts_of(parts["names"])
    if not owners.shape == losses.shape == true.shape == (len(texts),):
        raise BadInput("the recorded outputs are not one sample, loss, text and truth value each")
    if owners.dtype.kind not in "iu" or ((owners < 0) | (owners >= n)).any() or true.dtype != bool:
        raise BadInput("a recorded output is of a sample that there is not")
    held = saved_rows({name: parts[name] for name in CSR}, (len(owners), dim))
    outputs = [read(text) if text else UNKNOWN for text in texts]
    columns, values = held.indices.astype(np.int64), held.data.astype(float)
    rows = zip(owners.tolist(), losses.tolist(), outputs, true.tolist(), pairwise(held.indptr), strict=True)
    return [
        Told(sample, loss, output, truth, columns[start:stop], values[start:stop])
        for sample, loss, output, truth, (start, stop) in rows
    ], list(map(read, names))


def lines_of(texts: list[str]) -> NDArray:
    """Texts without line breaks as the bytes of one text, each on a line of its own."""
    return np.frombuffer("".join(f"{text}\n" for text in texts).encode(), np.uint8)


def texts_of(lines: NDArray | None) -> list[str]:
    """The texts of `lines_of`; `BadInput` for bytes that are none."""
    try:
        return [] if lines is None else lines.astype(np.uint8).tobytes().decode().split("\n")[:-1]
    except UnicodeDecodeError:
        raise BadInput("the texts of outputs are not readable") from None


def text_of(output: Any) -> str:
    """The text of an output, empty if it has none."""
    try:
        return "" if output is UNKNOWN else written(output)
    except (NoText, TypeError, ValueError):
        return ""


def place(file: str, digest: str) -> str:
    """A file by its name and its sha256, for a sentence."""
    return f"{file} (sha256 {digest[:16]}…)" if file else "functions that are in no file"
