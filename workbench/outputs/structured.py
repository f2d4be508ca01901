"""Any structure, by three functions of its owner: features φ(x, y), loss ℓ(y, ŷ), and the argmax.

    h_i(w) = max over ŷ of ℓ(y_i, ŷ) − ⟨w, φ(x_i, y_i) − φ(x_i, ŷ)⟩

Inputs and outputs are Python objects. Every output that the argmax returns is kept once: its features and
its loss are a row of a table (`_structured/table.py`), and the number of the row is the output row of the
contract `Problem`, of width 1; rows 0 … n − 1 are the true outputs. Features and losses are the floats that the
functions return, so they are exact; the argmax is asked anew at every θ, one sample at a time.

**What the bounds need** of outputs that nobody has seen is taken from those seen: ‖φ‖₁ and ℓ at most twice the
greatest so far of any sample, a score computed with at most 2k + 8 roundings, k the most features of an output so far.
These sizes enter the upper bound only as allowances for rounding in the argmax.

**What is proven.** With `candidates`, if they are at most 50,000 in all, the problem is its list of outputs: maxima are
found by enumeration, the list is part of every certificate, and proofs are as those of any other structure. Without,
the upper bound rests on the user's argmax: every certificate holds the features and losses of its cuts and of
the argmax's answers, and is proven relative to the argmax in FILE with that sha256 (`conditions`). An output's number
means nothing to another process; so files hold the outputs themselves, as texts (`_structured/texts.py`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.arrays import checked_learned, checked_weights, kept_rows
from workbench.contracts import CutForm, Floats, Ints, Kernel, Search
from workbench.errors import BadInput, MissingCapability
from workbench.objectives.trials import Trial
from workbench.outputs._structured.examined import examined
from workbench.outputs._structured.functions import Function, Functions, NamedWeights, entries_of, plain, shown
from workbench.outputs._structured.kernels import asked_kernel, listed_kernel
from workbench.outputs._structured.likelihood import Supplied
from workbench.outputs._structured.rowed import (
    MOST_LISTED,
    UNKNOWN,
    Recorded,
    Rowed,
    Told,
    lines_of,
    place,
    text_of,
    texts_of,
    told,
)
from workbench.outputs._structured.table import Listing, Table
from workbench.outputs._structured.texts import key_of, read

ROOM = 1000  # names of features that may come up besides four times those of the true outputs
LIMITLESS = 1 << 62
VETTING = 0.5  # seconds


class Structured(Rowed):
    """A structured problem by functions of yours.

    Parameters
    ----------
    inputs, outputs : n Python objects each; outputs may be hashable, arrays, lists, dicts, sets or graphs
    features : features(x, y) -> a vector (d,), a sparse row, or a dict {name: number}
    loss : loss(y_true, y) -> a number ≥ 0, and 0 for y = y_true
    argmax : argmax(w, x, y=None) -> the output ŷ of highest ⟨w, φ(x, ŷ)⟩, plus loss(y, ŷ) if y is given; w is a
        vector, or, if features are dicts, a dict of weights by name, with w.score(features) = ⟨w, φ⟩
    candidates : candidates(x) -> all outputs of x; in place of argmax, or for proofs that need no argmax
    slack_argmax : slack_argmax(w, x, y) -> the ŷ of highest loss(y, ŷ) · (1 − ⟨w, φ(x, y) − φ(x, ŷ)⟩)
    marginals : marginals(w, x) -> (log Σ_ŷ exp⟨w, φ(x, ŷ)⟩, the expected features), for crf
    weights : (n,) sample weights ≥ 0, not all zero; default 1
    names : all names of features, if they are dicts; room : how many names there may be, if you cannot list them
    exact : whether argmax always finds the maximum; if False, only lower bounds are proven

    Raises
    ------
    BadInput : no samples, lengths that differ, functions that raise or return what is no number, a truth of positive
        loss, an output, such as the true one, that `candidates` lacks; the sentence names the function and the sample
    """

    def __init__(
        self,
        inputs: Iterable[Any],
        outputs: Iterable[Any],
        features: Function,
        loss: Function,
        argmax: Function | None = None,
        candidates: Function | None = None,
        slack_argmax: Function | None = None,
        marginals: Function | None = None,
        weights: ArrayLike | None = None,
        names: Iterable[Any] | None = None,
        room: int | None = None,
        exact: bool = True,
    ):
        self.functions = Functions(features, loss, argmax, candidates, slack_argmax, marginals)
        self.xs, truths = list(inputs), list(outputs)
        if not self.xs or len(self.xs) != len(truths):
            raise BadInput(f"There are {len(self.xs)} inputs and {len(truths)} outputs; give one output an input.")
        self.weights = checked_weights(weights, len(truths))
        self.oracle_kind = "exact" if exact else "under"
        self.file, self.digest = self.functions.source()
        self.origin: tuple[str, dict[str, Any]] | None = None  # the problem file and its settings, for other processes
        self.objects: list[Any] = []
        self.numbers: dict[Any, int] = {}  # rows by (sample, key of the output)
        self.contents: dict[Any, int] = {}  # rows by (sample, features and loss), of outputs without a key or a text
        self.alleged: set[int] = set()  # rows of which only a file or another process says that they are outputs,
        self.textless: set[int] = set()  # and rows whose features and losses nobody computed here
        self.vocabulary, self.dim = self.layout(truths[0], names)
        rows = [self.described(i, y, y) for i, y in enumerate(truths)]
        lists = self.lists(truths)
        if self.vocabulary is not None and names is None:
            self.dim = len(self.vocabulary) if lists is not None else room or 4 * len(self.vocabulary) + ROOM
        self.vetted = False
        self.named = len(self.vocabulary or ())  # names known from the start
        self.table, self.listing = Table(self.dim), None
        for i, (y, (at, values, loss_value)) in enumerate(zip(truths, rows, strict=True)):
            if loss_value != 0:
                raise BadInput(f"The loss at sample {i} of its own true output is {loss_value}; it must be 0.")
            self.append(i, y, key_of(y), at, values, 0.0)
        if lists is not None:
            self.list_all(lists, truths)
        elif self.functions.argmax is None:
            raise BadInput(f"There are more than {MOST_LISTED} candidates in all; give argmax(w, x, y=None).")
        self.enable()

    def layout(self, truth: Any, names: Iterable[Any] | None) -> tuple[dict[Any, int] | None, int]:
        """Columns by name, if features are dicts, and the number of columns, as far as they are known."""
        first = plain(self.functions.call("features", 0, self.xs[0], truth))
        if not isinstance(first, Mapping):
            return None, int(np.prod(first.shape)) if sparse.issparse(first) else int(np.size(first))
        columns = {name: k for k, name in enumerate(names or ())}
        return columns, LIMITLESS if names is None else len(columns)

    def lists(self, truths: list[Any]) -> list[list[Any]] | None:
        """For each sample its outputs but the truth, with keys, features and losses; None if they are too many."""
        if self.functions.candidates is None:
            return None
        found, left = [], MOST_LISTED
        for i, x in enumerate(self.xs):
            given = self.functions.call("candidates", i, x, then=lambda all_, k=left: list(islice(all_, k + 1)))
            left -= len(given)
            if left < 0:
                return None
            found.append([(z, key_of(z)) for z in given])
        return [[(z, key, *self.described(i, truths[i], z)) for z, key in each] for i, each in enumerate(found)]

    def list_all(self, lists: list[list[Any]], truths: list[Any]) -> None:
        """Make the listed outputs rows, the truth first."""
        rows = []
        for i, each in enumerate(lists):
            numbers = [self.number(i, z, key, (at, values, loss)) for z, key, at, values, loss in each]
            if not any(self.table.holds(row, *self.table.row(i), 0.0) for row in numbers):
                raise BadInput(f"The candidates of sample {i} lack its true output {shown(truths[i])}; add it there.")
            rows.append(np.array(list(dict.fromkeys([i, *numbers]))))
        self.listing = Listing(self.table, rows, np.arange(self.n_samples))

    def enable(self) -> None:
        """The further capabilities that these functions give."""
        if self.listing is not None:
            self.slack_argmax, self.runner_up = self.listing.slack_argmax, self.listing.runner_up
        elif self.functions.slack_argmax is not None:
            self.slack_argmax = self.asked_slack
        if self.functions.marginals is not None and self.listing is None:
            self.marginals = self.supplied

    # ── outputs and their rows ────────────────────────────────────────────────────────────────────

    def described(self, sample: int, truth: Any, output: Any) -> tuple[Ints, Floats, float]:
        """Columns and values of φ(x_i, y), sorted, and ℓ_i(y)."""
        found = self.functions.call("features", sample, self.xs[sample], output)
        at, values = entries_of(found, self.vocabulary, self.dim, f"of sample {sample} with {shown(output)}")
        return at, values, self.functions.loss_of(sample, truth, output)

    def append(self, sample: int, output: Any, key: Any, at: Ints, values: Floats, loss: float) -> int:
        """The row of an output that has none under its key; without a key, the row with its features and loss."""
        content = sample, loss, at.tobytes(), values.tobytes()
        row = None if output is UNKNOWN else self.contents.get(content)
        if row is None:
            row = self.table.append(sample, at, values, loss)
            self.objects.append(UNKNOWN)
            if key is None:
                self.contents.setdefault(content, row)
        if self.objects[row] is UNKNOWN and output is not UNKNOWN:
            self.objects[row] = copy.deepcopy(output)
        if key is not None:
            self.numbers[sample, key] = row
        return row

    def number(self, sample: int, output: Any, key: Any, found: tuple[Ints, Floats, float] | None = None) -> int:
        """The row of an output; `found` is what `described` says of it, if that is known."""
        row = None if key is None else self.numbers.get((sample, key))
        if row is not None:
            return row
        found = found or self.described(sample, self.objects[sample], output)
        if self.listing is not None and key is not None:
            row = self.listing.like(sample, *found)  # a list where the candidate is a tuple, say
            if row is None:
                raise BadInput(f"{shown(output)} at sample {sample} is not among its candidates; add it there.")
            return row
        return self.append(sample, output, key, *found)

    def asked(self, samples: Ints, answers: Iterable[Any]) -> Ints:
        """The rows (m, 1) of answers of an oracle."""
        rows = [self.number(i, y, key_of(y)) for i, y in zip(samples.tolist(), answers, strict=True)]
        self.alleged.difference_update(rows)
        return np.array(rows, np.int64).reshape(-1, 1)

    def lent(self, w: Floats) -> Any:
        """A copy of the weights as the functions want them."""
        if self.vocabulary is not None:
            return NamedWeights(zip(self.vocabulary, w[: len(self.vocabulary)].tolist(), strict=True))
        return np.array(w, float)

    @property
    def oracles(self) -> tuple[str, ...]:
        """The names of the oracles among the functions."""
        return tuple(name for name in ("argmax", "slack_argmax") if name in self.functions.given)

    @property
    def known(self) -> int:
        """How many columns of features are in use: all of a vector, those with a name of dicts."""
        return self.n_features if self.vocabulary is None else len(self.vocabulary)

    def ask(self, name: str, w: Floats, samples: Ints, truths: bool) -> Ints:
        """The rows (m, 1) of what an oracle answers for each of a batch, with the truth or without."""
        weights, told = self.lent(w), samples.tolist()
        words = ((i, weights, self.xs[i], *([self.objects[i]] if truths else [])) for i in told)
        rows = self.asked(samples, (self.functions.call(name, *each) for each in words))
        if self.vocabulary is None and not np.array_equal(weights, w):
            raise BadInput(f"{name} changes the weights it is given; let it work on a copy of them.")
        return rows

    # ── oracles ───────────────────────────────────────────────────────────────────────────────────

    def argmax(self, w: Floats, samples: Ints, augment: bool | Floats = True) -> Ints:
        if not isinstance(augment, bool | np.bool_):
            raise MissingCapability("Outputs of your own have no places with labels; leave out costs of labels.")
        if self.listing is not None:
            return self.listing.argmax(w, samples, bool(augment))
        return self.ask("argmax", w, samples, bool(augment))

    def asked_slack(self, w: Floats, samples: Ints) -> Ints:
        """The answers of the user's `slack_argmax` for a batch, (m, 1)."""
        return self.ask("slack_argmax", w, samples, True)

    def supplied(self) -> Supplied:
        """The likelihood by the user's marginals."""
        return Supplied(self)

    def kernel(self, augment: bool = True) -> Kernel:
        return asked_kernel(self, augment) if self.listing is None else listed_kernel(self.listing, augment)

    def predict(self, w: Floats, inputs: Iterable[Any]) -> list[Any]:
        """The output of highest score for each of `inputs`."""
        weights = self.lent(checked_learned(w, self.n_features))
        if self.functions.argmax is not None:
            return [self.functions.call("argmax", i, weights, x) for i, x in enumerate(inputs)]
        return [self.best(w, i, x) for i, x in enumerate(inputs)]

    def best(self, w: Floats, number: int, x: Any) -> Any:
        """The candidate of highest score; features that were never seen do not count."""
        candidates = self.functions.call("candidates", number, x, then=list)
        known = dict(self.vocabulary) if self.vocabulary is not None else None
        scores = []
        for y in candidates:
            found = self.functions.call("features", number, x, y)
            at, values = entries_of(found, known, LIMITLESS if known else self.dim, f"of input {number}")
            inside = at < len(w)
            scores.append(float(values[inside] @ w[at[inside]]))
        return candidates[int(np.argmax(scores))]

    def describe(self, sample: int, output: Ints) -> str:
        found = self.objects[self.checked(np.array([sample]), np.asarray(output)[None, :])[0]]
        return "an output of which no text is kept" if found is UNKNOWN else shown(found)

    def copied(self) -> Structured:
        """A problem of its own by the same functions, which may be spoiled."""
        return copy.deepcopy(self)

    def examined(self, sample: int, rng: np.random.Generator) -> tuple[str, int, str] | None:
        """A fault of the functions that can be seen without a maximum (objectives/trials.py)."""
        return examined(self, sample, rng)

    def vouched(self, sample: int, most: int) -> Ints:
        """Outputs (m, 1) of which `candidates` says that they are some, at most so many."""
        if self.functions.candidates is None:
            raise MissingCapability("There are no candidates.")
        given = self.functions.call("candidates", sample, self.xs[sample], then=lambda each: list(islice(each, most)))
        return self.asked(np.full(len(given), sample), given)

    def vet(self) -> None:
        """Try the functions for half a second, once, before anything is proven by them; a fault is `BadInput`.

        What the trials saw is forgotten, so that nothing depends on how far they came.
        """
        if self.vetted or self.listing is not None:
            return
        self.vetted = True
        names = ("table", "objects", "numbers", "contents", "vocabulary")
        before = {name: copy.copy(getattr(self, name)) for name in names} | {"table": copy.deepcopy(self.table)}
        found = Trial(self).faults(VETTING)
        vars(self).update(before)
        if found:
            raise BadInput(f"{found[0].sentence.rstrip('.')} (cutbench check-oracle, or wb.check, looks further).")

    # ── files ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def conditions(self) -> list[str]:
        """What proofs about this problem take for granted."""
        if self.listing is not None:
            return []
        home = place(self.file, self.digest)
        found = [f"the argmax of {home} finds the maximum"]
        if self.alleged:
            found.append(
                f"{len(self.alleged)} recorded outputs that this argmax did not return again are valid outputs"
            )
        if self.textless:
            found.append(
                f"features and losses of {len(self.textless)} recorded outputs without a text are those of {home}"
            )
        return found

    def recorded(self, rows: Ints) -> dict[str, NDArray]:
        """What a file keeps of outputs: their features, losses and texts; `admitted` reads it."""
        found = self.table.take(rows)
        parts = kept_rows(found)
        parts |= {"owners": self.table.owners[rows], "losses": self.table.losses[rows], "true": rows < self.n_samples}
        parts["texts"] = lines_of([text_of(self.objects[row]) for row in rows])
        parts["names"] = self.names(self.named, len(self.vocabulary or ()))
        return {f"recorded_{name}": part for name, part in parts.items()}

    def names(self, start: int, stop: int) -> NDArray:
        """Texts of names of features, or their repr, by column."""
        return lines_of([text_of(name) or repr(name) for name in list(self.vocabulary or ())[start:stop]])

    def admitted(self, arrays: dict[str, NDArray], believe: bool = True) -> Ints:
        """The rows of recorded outputs; `BadInput` if these functions give other features or losses than recorded."""
        try:
            outputs, names = told(arrays, self.n_samples, self.n_features)
        except BadInput as fault:
            raise BadInput(f"The recorded outputs cannot be read: {fault}; write them again.") from None
        if not believe and any(each.output is UNKNOWN for each in outputs):
            raise BadInput("An output has no text from which Python could build it; use words, numbers and tuples.")
        for number, name in enumerate(names, self.named):
            if self.vocabulary is None or self.vocabulary.setdefault(name, number) != number:
                raise BadInput(f"The feature {shown(name)} has another column than recorded; build the problem anew.")
        return np.array([self.admit(each) for each in outputs], np.int64)

    def admit(self, told: Told) -> int:
        """The row of one recorded output."""
        i, before, output = told.sample, len(self.table), told.output
        if output is UNKNOWN:
            own = self.append(i, UNKNOWN, None, told.columns, told.values, told.loss)
            self.textless.add(own)
        else:
            own = self.number(i, output, key_of(output))
        self.alleged.update(range(before, len(self.table)))
        own = i if told.true else own
        columns, kept = self.table.row(own)
        same = np.array_equal(told.columns, columns) and np.array_equal(told.values, kept)
        if not (same and told.loss == self.table.losses[own]):
            raise BadInput(
                f"Features or loss of {shown(output)} at sample {i} are not those recorded; use the same file."
            )
        return own

    def recalled(self, file: Recorded, witnesses: Ints) -> Ints:
        """The witnesses (K, 1) of a certificate by their rows here, features and losses computed anew."""
        if file.complete:
            return witnesses
        rows = np.concatenate([np.arange(self.n_samples), self.admitted(file.recorded)])
        if ((witnesses < 0) | (witnesses >= len(rows))).any():
            raise BadInput("A witness names an output that the file does not hold; write the certificate again.")
        return rows[witnesses]

    def renamed(self, file: Recorded, theta: Floats) -> Floats:
        """θ (d,) of a certificate as weights of this problem: by the names of features, where these are dicts."""
        if self.vocabulary is None:
            if len(theta) != self.n_features:
                raise BadInput(f"There are {len(theta)} weights for {self.n_features} features; use the same file.")
            return theta
        names = [*texts_of(file.held["names"]), *texts_of(file.recorded.get("recorded_names"))]
        known = {text_of(name) or repr(name): column for name, column in self.vocabulary.items()}
        w = np.zeros(self.n_features)
        for name, weight in zip(names, theta.tolist(), strict=False):
            column = known.get(name)
            if column is None and weight and len(self.vocabulary) < self.n_features:
                column = self.vocabulary.setdefault(read(name), len(self.vocabulary))
            if column is not None:
                w[column] = weight
        return w

    def packed(self, formulation: Any, theta: Floats, witnesses: Ints) -> tuple[dict[str, NDArray], Ints]:
        """All that a certificate needs of this problem, and its witnesses (K, 1) by their numbers there.

        Besides the cuts the oracle's answers at θ are kept, which attain the upper bound.
        """
        if self.listing is not None or not isinstance(formulation, CutForm | Search):
            return self.arrays(), witnesses
        answers = formulation.oracle(self).argmax(theta, np.arange(self.n_samples))
        rows = np.unique(np.concatenate([witnesses[:, 0], answers[:, 0]]))
        rows = rows[rows >= self.n_samples]
        numbers = np.arange(len(self.table))
        numbers[rows] = self.n_samples + np.arange(len(rows))
        return self.arrays() | self.recorded(rows), numbers[witnesses]

    def arrays(self) -> dict[str, NDArray]:
        return super().arrays() | {"names": self.names(0, self.named)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Recorded:
        return Recorded(arrays)

    @classmethod
    def tiny(cls, rng: np.random.Generator) -> Structured:
        """A random instance small enough to enumerate, for the conformance tests: subsets of k items, as tuples."""
        n, p, k = int(rng.integers(2, 4)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
        inputs = rng.normal(size=(n, p)) if rng.random() < 0.5 else rng.integers(-2, 3, (n, p)).astype(float)
        truths = [tuple(rng.integers(0, 2, k).tolist()) for _ in range(n)]
        return Structured(inputs, truths, blocks, wrong_bits, candidates=Cube(k))


class Cube:
    """All k-tuples of zeros and ones, whatever the input."""

    def __init__(self, k: int):
        self.k = k

    def __call__(self, x: Any) -> Iterable[tuple[int, ...]]:
        return product((0, 1), repeat=self.k)


def blocks(x: Floats, y: Sequence[int]) -> Floats:
    """x in the place of each item that is in the set."""
    return np.asarray(np.kron(y, x), float)


def wrong_bits(truth: Sequence[int], y: Sequence[int]) -> int:
    return sum(a != b for a, b in zip(truth, y, strict=True))


NAMES = {"structured": Structured}
