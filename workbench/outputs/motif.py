"""Motif: does a sequence of DNA or protein hold the motif, and where (Yu & Joachims 2009; docs/mathematics.md §6).

An output is a label with a position: (−1, none), or (+1, h) with the window x_h … x_{h+m−1} taken as the motif,
h = 0 … T_i − m. Over an alphabet of q letters, with A (m, q) for letters at places of the window and b (q) for letters
outside of it,

    ⟨w, φ(x, −1)⟩ = Σ_t b[x_t],      ⟨w, φ(x, +1, h)⟩ = Σ_j A[j, x_{h+j}] + Σ_{t outside} b[x_t],      d = q(m + 1),

so φ counts letters and every feature is a whole number. All scores of a sample contain the background of the whole
sequence; only the gain of a window, Σ_j A[j, x_{h+j}] − b[x_{h+j}], is computed. The loss is 0/1 in the label and
ignores the position, which is usually hidden: the problem is `Latent`. While positions are hidden, formulations that
need positions are refused. In a `completed` problem positions are known, and a positive sample has no window but the
given one: with its own label it has one output, so that the rivals are the outputs of the other label.

The argmax looks at every window, O(T m) a sample. Ties go to (−1, none), then to the first window.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.compiled import available, compiled_function
from workbench.contracts import Floats, Ints, Kernel, Shown
from workbench.errors import BadInput, MissingCapability
from workbench.outputs._exact_motif import ExactMotif
from workbench.outputs.multiclass import checked_weights

Alphabet = Literal["dna", "protein"]
ALPHABETS: dict[Alphabet, str] = {"dna": "ACGT", "protein": "ACDEFGHIKLMNPQRSTVWY"}
AMBIGUOUS = {  # the other codes of IUPAC, and what they stand for
    "dna": {"U": "T in RNA", "R": "A or G", "Y": "C or T", "S": "C or G", "W": "A or T", "K": "G or T", "M": "A or C",
            "B": "C, G or T", "D": "A, G or T", "H": "A, C or T", "V": "A, C or G", "N": "any base", "-": "a gap"},
    "protein": {"B": "D or N", "Z": "E or Q", "J": "I or L", "X": "any amino acid", "U": "selenocysteine",
                "O": "pyrrolysine", "*": "a stop", "-": "a gap"},
}  # fmt: skip
NONE = -1  # the position of a negative sample, and of a positive one while it is hidden


FEW = 200  # letters that are looked at before numba is worth loading


def best_windows(letters, offsets, spans, samples, m, q, theta, current, best, scores):
    """The window that adds most, and what it adds, for each of `samples`; of equal ones `current`, else the first."""
    for k in range(len(samples)):
        i = samples[k]
        scores[k] = -np.inf
        for h in range(spans[i, 0], spans[i, 1] + 1):
            score = 0.0
            for j in range(m):
                x = letters[offsets[i] + h + j]
                score += theta[q * j + x] - theta[q * m + x]
            if score > scores[k] or (score == scores[k] and h == current[k]):
                scores[k], best[k] = score, h
    return 0.0


def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """max over (y, h) of ℓ(y_i, y) + what it adds, less what the truth adds."""
    letters, offsets, spans, labels, positions, m, q, loss = data
    highest, own = -np.inf, 0.0
    for h in range(spans[i, 0], spans[i, 1] + 1):
        score = 0.0
        for j in range(m):
            x = letters[offsets[i] + h + j]
            score += theta[q * j + x] - theta[q * m + x]
        if labels[i] == 1 and h == positions[i]:
            own = score
        if score > highest:
            highest = score
            out[1] = h
    absent, present = loss * labels[i], loss * (1 - labels[i]) + highest
    if present > absent:
        out[0] = 1
        return present - own
    out[0], out[1] = 0, -1
    return absent - own


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · (φ(x_i, out) − φ(x_i, y_i, h_i))."""
    letters, offsets, _, labels, positions, m, q, _ = data
    for sign, label, position in ((scale, out[0], out[1]), (-scale, labels[i], positions[i])):
        if label == 1:
            for j in range(m):
                x = letters[offsets[i] + position + j]
                theta[q * j + x] += sign
                theta[q * m + x] -= sign


def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """The entries of φ(x_i, out) − φ(x_i, y_i, h_i) into (indices, values); their number."""
    letters, offsets, _, labels, positions, m, q, _ = data
    count = 0
    for sign, label, position in ((1.0, out[0], out[1]), (-1.0, labels[i], positions[i])):
        if label == 1:
            for j in range(m):
                x = letters[offsets[i] + position + j]
                indices[count], values[count] = q * j + x, sign
                indices[count + 1], values[count + 1] = q * m + x, -sign
                count += 2
    return count


class Motif(Shown):
    """Sequences, of which the positive ones hold a motif of `length` letters somewhere.

    Parameters
    ----------
    sequences : texts over the alphabet, in either case, each at least `length` long
    labels : (n,) ±1, or 0 and 1
    length : m ≥ 1
    positions : (n,) where each positive sample's motif starts, counted from 0, if that is known; −1 for negative ones
    weights : (n,) sample weights ≥ 0, not all zero; default 1
    alphabet : dna, the 4 bases A, C, G, T, or protein, the 20 amino acids in alphabetical order of their letters

    Attributes
    ----------
    letters : (N,) 0 … q − 1, all sequences one after the other;  offsets : (n + 1,) where each starts
    truth : (n, 2) label (1 positive, 0 negative) and position, −1 where there is none or it is hidden
    spans : (n, 2) the first and the last position that a window may have

    Raises
    ------
    BadInput : no sequences, short ones, other letters, labels or positions, lengths that differ
    """

    name = "motif"
    alphabets = ALPHABETS
    oracle_kind = "exact"
    exact_features = exact_loss = True
    width = 2
    least_loss = 1.0

    def __init__(
        self,
        sequences: Sequence[str],
        labels: ArrayLike,
        length: int,
        positions: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        alphabet: Alphabet = "dna",
    ):
        self.length, self.alphabet = checked_length(length), checked_alphabet(alphabet)
        self.letters, self.offsets = checked_texts(sequences, self.length, alphabet)
        self.lengths: Ints = np.diff(self.offsets)
        self.n_samples, self.n_features = len(self.lengths), self.size * (self.length + 1)
        self.classes = np.array([-1, 1])
        self.labels: Ints = checked_signs(labels, self.n_samples)
        self.spans: Ints = np.stack([np.zeros(self.n_samples, np.int64), self.lengths - self.length], axis=1)
        self.truth: Ints = np.stack([self.labels, np.full(self.n_samples, NONE)], axis=1)
        if positions is not None:
            self.truth[:, 1] = self.checked_positions(positions)
        self.weights = checked_weights(weights, self.n_samples)
        self.terms = int(self.lengths.max()) + 3 * self.length  # a score is a sum of differences
        self.magnitude: Floats = self.lengths.astype(float)
        self.max_loss = np.ones(self.n_samples)

    @property
    def symbols(self) -> str:
        """The letters of the alphabet, in order."""
        return ALPHABETS[self.alphabet]

    @property
    def size(self) -> int:
        """q, the number of letters of the alphabet."""
        return len(self.symbols)

    @property
    def n_windows(self) -> Ints:
        """The numbers of windows in which a motif may lie, (n,)."""
        return self.spans[:, 1] - self.spans[:, 0] + 1

    @property
    def free_outputs(self) -> bool:
        return bool(((self.labels == 1) & (self.n_windows > 1)).any())

    def checked_positions(self, positions: ArrayLike) -> Ints:
        """Positions (n,) as whole numbers within the spans, or `BadInput`."""
        found = np.array(positions)
        if found.shape != (self.n_samples,) or found.dtype.kind not in "iu":
            raise BadInput(f"There are {self.n_samples} samples; give one whole number each as its position.")
        inside = (self.spans[:, 0] <= found) & (found <= self.spans[:, 1])
        known = np.where(self.labels == 1, inside, found == NONE)
        if not known.all():
            i = int(np.flatnonzero(~known)[0])
            first, last = self.spans[i]
            most = f"from {first} to {last}" if self.labels[i] else f"{NONE}, since it is negative"
            raise BadInput(f"The position of sample {i} is {found[i]}; it must be {most}.")
        return found.astype(np.int64)

    # ── features and loss ─────────────────────────────────────────────────────────────────────────

    def features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        self.check_known(samples, outputs)
        lengths = self.lengths[samples]
        number = np.repeat(np.arange(len(samples)), lengths)
        place = np.arange(len(number)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        letters = self.letters[place + self.offsets[samples][number]]
        j = place - outputs[number, 1]
        inside = (outputs[number, 0] == 1) & (j >= 0) & (j < self.length)
        columns = self.size * np.where(inside, j, self.length) + letters
        shape = len(samples), self.n_features
        counts = np.bincount(number * self.n_features + columns, minlength=shape[0] * shape[1])
        return sparse.csr_array(counts.reshape(shape) * 1.0)

    def check_known(self, samples: Ints, outputs: Ints) -> None:
        """Raise `MissingCapability` for an output whose position is hidden."""
        hidden = (outputs[:, 0] == 1) & (outputs[:, 1] == NONE)
        if hidden.any():
            raise MissingCapability(
                f"The position of sample {samples[int(hidden.argmax())]} is hidden; use latent-ssvm, or give positions."
            )

    def loss(self, samples: Ints, outputs: Ints) -> Floats:
        return (outputs[:, 0] != self.labels[samples]).astype(float)

    # ── argmax ────────────────────────────────────────────────────────────────────────────────────

    def search(self, w: Floats, samples: Ints, current: Ints) -> tuple[Ints, Floats]:
        """The best window of each sample (m,), `current` among equals, and what it adds to the score (m,)."""
        best, scores = np.zeros(len(samples), np.int64), np.empty(len(samples))
        samples, w = np.asarray(samples, np.int64), np.ascontiguousarray(w, float)
        arguments = (self.letters, self.offsets, self.spans, samples, self.length, self.size, w, current, best, scores)
        few = self.n_windows[samples].sum() * self.length <= FEW
        (best_windows if few or not available() else compiled_function(best_windows, arguments))(*arguments)
        return best, scores

    def argmax(self, w: Floats, samples: Ints, augment: bool = True) -> Ints:
        best, scores = self.search(w, samples, np.full(len(samples), NONE))
        labels = self.labels[samples]
        present = scores + augment * (1 - labels) > augment * labels
        return np.stack([present.astype(np.int64), np.where(present, best, NONE)], axis=1)

    def windows(self, w: Floats, samples: Ints) -> list[Floats]:
        """What every window of each sample adds to its score; whole numbers stay whole."""
        inside = self.size * self.length
        table, found = w[:inside].reshape(-1, self.size) - w[inside:], []
        for i in samples:
            first, count = self.offsets[i] + self.spans[i, 0], self.n_windows[i]
            found.append(sum(row[self.letters[first + j : first + j + count]] for j, row in enumerate(table)))
        return found

    def runner_up(self, w: Floats, samples: Ints) -> Ints:
        found = np.full((len(samples), 2), NONE)
        for row, i, scores in zip(found, samples, self.windows(w, samples), strict=True):
            label, position = self.truth[i]
            if label:
                scores[position - self.spans[i, 0]] = -np.inf
            best = int(scores.argmax())
            row[:] = (1, best + self.spans[i, 0]) if not label or scores[best] > 0 else (0, NONE)
        return found

    def outputs(self, sample: int) -> Ints:
        listed = np.ones((self.n_windows[sample] + 1, 2), np.int64)
        listed[1:, 1] = np.arange(self.spans[sample, 0], self.spans[sample, 1] + 1)
        listed[0] = 0, NONE
        return listed

    def predict(self, w: Floats, sequences: Sequence[str]) -> Ints:
        """The label ±1 of the highest score for each of `sequences`."""
        asked = Motif(sequences, np.ones(len(sequences)), self.length, alphabet=self.alphabet)
        return 2 * asked.argmax(w, np.arange(len(sequences)), augment=False)[:, 0] - 1

    def describe(self, sample: int, output: Ints) -> str:
        if output[0] == 0:
            return "label −1"
        if output[1] == NONE:
            return "label +1, position hidden"
        start = self.offsets[sample] + output[1]
        window = "".join(self.symbols[x] for x in self.letters[start : start + self.length])
        return f"label +1 at {output[1]} ({window})"

    def weight_names(self) -> list[str]:
        """LETTER at PLACE of the window, counted from 0, and LETTER outside."""
        inside = [f"{x} at {j}" for j in range(self.length) for x in self.symbols]
        return inside + [f"{x} outside" for x in self.symbols]

    def exact(self) -> ExactMotif:
        """This problem in rational arithmetic."""
        return ExactMotif(self)

    def kernel(self, augment: bool = True) -> Kernel:
        self.check_known(np.arange(self.n_samples), self.truth)
        positions = np.ascontiguousarray(self.truth[:, 1])
        data = (self.letters, self.offsets, self.spans, self.labels, positions, self.length, self.size, float(augment))
        return Kernel(data, argmax_into, add_slope, slope_into, 4 * self.length)

    # ── hidden positions ──────────────────────────────────────────────────────────────────────────

    @property
    def hides(self) -> bool:
        return bool(((self.labels == 1) & (self.truth[:, 1] == NONE)).any())

    @property
    def n_hidden(self) -> Ints:
        return np.where(self.labels == 1, self.n_windows, 1)

    def hidden(self, sample: int) -> Ints:
        return self.outputs(sample)[1:, 1] if self.labels[sample] else np.array([NONE])

    def impute(self, w: Floats, states: Ints | None = None) -> Ints:
        current = np.full(self.n_samples, NONE) if states is None else np.asarray(states, np.int64)
        best, _ = self.search(w, np.arange(self.n_samples), current)
        return np.where(self.labels == 1, best, NONE)

    def hidden_scores(self, w: Floats, samples: Ints) -> list[Floats]:
        background = self.features(samples, np.tile([0, NONE], (len(samples), 1))) @ w
        added = self.windows(w, samples)
        return [b + (s if self.labels[i] else np.zeros(1)) for i, b, s in zip(samples, background, added, strict=True)]

    def completed(self, states: ArrayLike, weights: Floats | None = None) -> Motif:
        known = copy(self)
        known.truth = np.stack([self.labels, self.checked_positions(states)], axis=1)
        known.spans = np.where(self.labels[:, None] == 1, known.truth[:, 1:], self.spans)
        known.weights = self.weights if weights is None else weights
        return known

    # ── files and instances ───────────────────────────────────────────────────────────────────────

    def take(self, samples: Ints) -> Motif:
        """The problem of some samples."""
        positions = self.truth[samples, 1]
        known = not ((self.labels[samples] == 1) & (positions == NONE)).any()
        labels, weights = self.labels[samples], self.weights[samples]
        texts = [self.text(i) for i in samples]
        return Motif(texts, labels, self.length, positions if known else None, weights, self.alphabet)

    def text(self, sample: int) -> str:
        """The letters of a sample."""
        return "".join(self.symbols[x] for x in self.letters[self.offsets[sample] : self.offsets[sample + 1]])

    def arrays(self) -> dict[str, NDArray]:
        other = {} if self.alphabet == "dna" else {"alphabet": np.frombuffer(self.symbols.encode(), np.uint8)}
        return other | {
            "letters": self.letters.astype(np.uint8),
            "lengths": self.lengths,
            "labels": self.labels,
            "positions": np.ascontiguousarray(self.truth[:, 1]),
            "spans": self.spans,
            "length": np.array(self.length),
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Motif:
        symbols = bytes(arrays["alphabet"]).decode("latin-1") if "alphabet" in arrays else ALPHABETS["dna"]
        named: dict[str, Alphabet] = {letters: name for name, letters in ALPHABETS.items()}
        alphabet = named.get(symbols)
        if alphabet is None:
            raise BadInput("its alphabet is neither dna nor protein")
        if arrays["letters"].max(initial=0) >= len(symbols) or arrays["lengths"].min(initial=1) < 0:
            raise BadInput("a letter or a length is none")
        text, ends = "".join(symbols[x] for x in arrays["letters"]), np.cumsum(arrays["lengths"])
        texts = [text[end - size : end] for end, size in zip(ends, arrays["lengths"], strict=True)]
        hidden = ((arrays["labels"] == 1) & (arrays["positions"] == NONE)).any()
        positions = None if hidden else arrays["positions"]
        found = cls(texts, arrays["labels"], int(arrays["length"]), positions, arrays["weights"], alphabet)
        first, last = arrays["spans"].astype(np.int64).reshape(-1, 2).T
        if len(first) != len(texts) or (first < 0).any() or (first > last).any() or (last > found.spans[:, 1]).any():
            raise BadInput("a span of positions is none")
        found.spans = np.stack([first, last], axis=1)
        if positions is not None:
            found.checked_positions(positions)
        return found

    @classmethod
    def random(cls, rng: np.random.Generator, n: int, d: int, labels: int) -> Motif:
        """n ≥ 2 completed sequences, 4m + 4 ≤ max(d, 8) features (benchmarks/instances.py)."""
        m = max((d - 4) // 4, 1)
        texts = ["".join(rng.choice(list(ALPHABETS["dna"]), m + rng.integers(0, 12))) for _ in range(n)]
        signs = np.append([0, 1], rng.integers(0, 2, n - 2))
        places = (rng.integers(len(text) - m + 1) if sign else NONE for text, sign in zip(texts, signs, strict=True))
        positions = np.array(list(places), np.int64)
        weights = np.append([1, 1], rng.integers(0, 4, n - 2)) if rng.random() < 0.3 else None
        return cls(texts, signs, m, positions, weights).completed(positions)

    @classmethod
    def tiny(cls, rng: np.random.Generator) -> Motif:
        """A random instance small enough to enumerate, for the conformance tests."""
        return cls.random(rng, int(rng.integers(2, 6)), int(rng.choice([8, 12, 16])), 2)


def checked_length(length: int) -> int:
    if isinstance(length, bool) or not isinstance(length, int | np.integer) or length < 1:
        raise BadInput(f"The motif's length is {length!r}; give a whole number from 1 on.")
    return int(length)


def checked_alphabet(alphabet: Any) -> Any:
    if alphabet not in ALPHABETS:
        raise BadInput(f"The alphabet is {alphabet!r}; choose {' or '.join(ALPHABETS)}.")
    return alphabet


def checked_texts(sequences: Sequence[str], length: int, alphabet: Alphabet = "dna") -> tuple[Ints, Ints]:
    """Letters (N,) as 0 … q − 1 and offsets (n + 1,)."""
    symbols = ALPHABETS[alphabet]
    known = ", ".join(symbols)
    if isinstance(sequences, str) or not len(sequences):
        raise BadInput(f"There are no sequences; give a list of texts over {known}.")
    for i, text in enumerate(sequences):
        if not isinstance(text, str):
            raise BadInput(f"Sequence {i} is a {type(text).__name__}; give a text over {known}.")
        if len(text) < length:
            raise BadInput(
                f"Sequence {i} has {len(text)} letters, fewer than the motif's {length}; choose a shorter one."
            )
    whole = "".join(sequences).upper()
    letters = np.array([symbols.find(x) for x in whole], np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in sequences])]).astype(np.int64)
    if (letters < 0).any():
        at = int((letters < 0).argmax())
        i = int(np.searchsorted(offsets, at, side="right") - 1)
        raise BadInput(f"Letter {at - offsets[i]} of sequence {i} is {unread(whole[at], alphabet)}")
    return letters, offsets


def unread(letter: str, alphabet: Alphabet) -> str:
    """The end of a sentence about a letter outside the alphabet, which says what an ambiguity code stands for."""
    if meaning := AMBIGUOUS[alphabet].get(letter):
        return f"{letter!r}, which stands for {meaning}; write a letter of {alphabet}, or leave the sequence out."
    hint = "" if alphabet == "protein" or letter not in ALPHABETS["protein"] else ", or alphabet=protein"
    return f"{letter!r}; it must be one of {', '.join(ALPHABETS[alphabet])}{hint}."


def checked_signs(labels: ArrayLike, n: int) -> Ints:
    """1 for positive samples and 0 for negative ones, from ±1 or 0 and 1."""
    found = np.asarray(labels)
    if found.shape != (n,):
        raise BadInput(f"There are {n} sequences but labels of shape {found.shape}; give one label each.")
    kinds = set(found.tolist())
    if not (kinds <= {-1, 1} or kinds <= {0, 1}):
        raise BadInput(f"The labels are {sorted(map(str, kinds))[:5]}; use 1 and −1, or 1 and 0.")
    return (found == 1).astype(np.int64)


NAMES = {"motif": Motif}
