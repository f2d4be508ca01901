"""Four data sets with features 0 or 1 and a constant: handwritten words and their letters, digits, newswire stories.

Fold k of the OCR data is learned from, the next one tested on; folds 0 to FOLDS − 1, so folds FOLDS + 1 and after stay
unseen. Digits and stories are cut in FOLDS + 1 parts: part k is tested on, the others are learned from, and part
TUNING is neither. `loaded` with fold TUNING gives these unseen data to learn from. Where real data are not at hand,
made-up ones stand in and say so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.contracts import Floats, Ints
from workbench.data.datasets import MissingData
from workbench.data.loading import load_problem
from workbench.outputs.chain import Chain
from workbench.outputs.multiclass import Multiclass

FOLDS, TUNING = 5, 5
WORDS, TESTED = 600, 600  # the smallest fold has 626 words


class Data(NamedTuple):
    """One problem of everything; which samples may be learned from, in random order, and are tested on; if made up."""

    problem: Any
    pool: Ints
    test: Ints
    made: bool


def loaded(name: str, fold: int, vocabulary: int, data: str | None) -> Data:
    """One data set with its parts of this fold; generated where the real one is not at hand."""
    rng = np.random.default_rng(fold)
    if name in ("words", "letters"):
        (sequences, labels, cut), made = handwriting(fold + (fold == TUNING), data)
        if name == "words":
            problem = Chain(sequences, labels)
        else:
            cut = sum(map(len, labels[:cut]))
            problem = Multiclass(sparse.csr_array(np.vstack(sequences)[:, :-2]), np.concatenate(labels))
        return Data(problem, rng.permutation(cut), np.arange(cut, problem.n_samples), made)
    problem, made = binary_digits() if name == "digits" else stories(vocabulary, data)
    part = np.random.default_rng(0).permutation(problem.n_samples) % (FOLDS + 1)
    learned = part == TUNING if fold == TUNING else (part != TUNING) & (part != fold)
    return Data(problem, rng.permutation(np.flatnonzero(learned)), np.flatnonzero(part == fold), made)


def handwriting(fold: int, data: str | None) -> tuple[tuple[list[Floats], list[Any], int], bool]:
    """Letters (T, 131) and labels of the words of a fold, then of the next, and how many words the first has."""
    parts, made = [], False
    for k, n in ((fold, WORDS), (fold + 1, TESTED)):
        try:
            parts.append(load_problem("ocr")(n=n, fold=k, data=data))
        except MissingData:
            made = True
            parts.append(binary_chain(load_problem("synthetic-chain")(n=n, labels=8, seed=k)))
    sequences = [p.letters[a:b].toarray() for p in parts for a, b in zip(p.offsets[:-1], p.offsets[1:], strict=True)]
    labels = [p.classes[p.labels[a:b]] for p in parts for a, b in zip(p.offsets[:-1], p.offsets[1:], strict=True)]
    return (sequences, labels, parts[0].n_samples), made


def binary_chain(chain: Chain) -> Chain:
    """Generated letters cut at a half, with the marks of first and last ones."""
    rows = []
    for a, b in zip(chain.offsets[:-1], chain.offsets[1:], strict=True):
        place = np.zeros((b - a, 2))
        place[0, 0] = place[-1, 1] = 1
        rows.append(np.hstack([(chain.letters[a:b].toarray() > 0.5) * 1.0, place]))
    labels = [chain.classes[chain.labels[a:b]] for a, b in zip(chain.offsets[:-1], chain.offsets[1:], strict=True)]
    return Chain(rows, labels, classes=chain.classes)


def binary_digits() -> tuple[Multiclass, bool]:
    digits = load_problem("digits")(n=1797)
    X = np.hstack([(digits.X.toarray() >= 0.5) * 1.0, np.ones((1797, 1))])
    return Multiclass(X, digits.labels), False


def stories(vocabulary: int, data: str | None) -> tuple[Multiclass, bool]:
    """R8's stories to learn from, by which of the most frequent words occur in each."""
    try:
        problem, made = load_problem("reuters")(min_count=5, data=data), False
    except MissingData:
        problem, made = load_problem("synthetic-text")(n=600), True
    X = problem.X.copy()
    X.data[:] = 1.0
    frequent = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")[:vocabulary]
    X = sparse.hstack([X[:, np.sort(frequent)], np.ones((X.shape[0], 1))])
    return Multiclass(sparse.csr_array(X), problem.labels), made
