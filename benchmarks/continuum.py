"""From modelling to discriminating: the same features and data, four objectives, from few samples to many.

    generative    joint likelihood by counts (learners/generative.py); prior a by inner validation
    crf           conditional likelihood, certified; λ likewise
    margin        soft margin, certified; λ likewise
    perceptron    mistakes, averaged weights; passes likewise

Data, all with features 0 or 1 and a constant: `words` (OCR, chains), `letters` (the same letters one by one), `digits`
(16 grey levels cut in the middle), `stories` (R8: which of the `vocabulary` most frequent words occur). Fold k of the
OCR data is learned from, the next one tested on; digits and stories are cut in `folds` parts.

Of the s samples learned from, the last quarter judges λ, a and passes, learned on the rest to the gap `inner`; then all
s are learned from, to the gap `gap`. Errors are shares of wrong labels (letters, digits, stories) on the test part,
intervals two standard errors over folds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.contracts import Floats, Ints
from workbench.data.datasets import MissingData
from workbench.data.loading import load_problem
from workbench.errors import checked_whole
from workbench.formulations.crf import CRF
from workbench.formulations.perceptron import Separation
from workbench.formulations.soft_margin import SoftMargin
from workbench.learners.generative import counted
from workbench.outputs.chain import Chain
from workbench.outputs.multiclass import Multiclass
from workbench.registries import load_file, registry
from workbench.solvers.perceptron import Perceptron
from workbench.solving.solve import solve
from workbench.solving.stochastic import run

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")

LAMS, PRIORS, PASSES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0), (0.01, 0.1, 1.0), (1, 3, 10)
SETS = ("words", "letters", "digits", "stories")
SIZES = {
    "words": (10, 20, 50, 100, 200, 400),
    "letters": (80, 160, 400, 800, 1600, 2500),
    "digits": (20, 50, 100, 200, 500, 800),
    "stories": (30, 100, 300, 800, 1500, 2500),
}
TESTED = 250  # words


class Data(NamedTuple):
    """One problem of everything; which samples may be learned from, in random order, and are tested on; if made up."""

    problem: Any
    pool: Ints
    test: Ints
    made: bool


def continuum(
    folds: int = 5,
    gap: float = 1e-4,
    inner: float = 1e-2,
    vocabulary: int = 1000,
    only: str = ",".join(SETS),
    most: int = 10**6,
    out: str = "",
    data: str | None = None,
) -> Iterator[dict[str, Any]]:
    """rows: one a method, problem, size and fold: error, what was chosen, certified gap, CPU seconds; `table`: means.
    `generated` says that made-up data stand in, the real ones not being at hand.

    table      one a problem and size: mean error of each method and two standard errors; who wins
    crossings  one a problem: the sizes between which generative stops, and discriminating begins, to win
    claims     what the data say of the lecture's two claims
    failed     rows whose certified gap missed `gap`;  most : the largest size;  out : a folder for the picture
    """
    checked_whole(2, folds=folds)
    checked_whole(1, vocabulary=vocabulary, most=most)
    chosen = settings.chosen(only, SETS, "data set")
    rows: list[dict[str, Any]] = []
    for fold in range(folds):
        for name in chosen:
            found = loaded(name, fold, folds, vocabulary, data)
            for size in (s for s in SIZES[name] if s <= min(most, len(found.pool))):
                about = {"problem": name, "generated": found.made, "size": size, "fold": fold}
                rows += [about | row for row in compared(found, size, inner, gap)]
                yield summed(rows, folds, gap) | {"finished": f"fold {fold}: {name}, {size} samples"}
    record = summed(rows, folds, gap)
    if out:
        from workbench.command import pictures

        arrays = arrays_of(record["table"])
        pictures.save("continuum", arrays, registry("figure").get("continuum").draw(arrays), out)
    yield record


# ── data ──────────────────────────────────────────────────────────────────────────────────────────


def loaded(name: str, fold: int, folds: int, vocabulary: int, data: str | None) -> Data:
    """One data set with its parts of this fold; generated where the real one is not at hand."""
    rng = np.random.default_rng(fold)
    if name in ("words", "letters"):
        (sequences, labels, cut), made = handwriting(fold, data)
        if name == "words":
            problem = Chain(sequences, labels)
        else:
            cut = sum(map(len, labels[:cut]))
            problem = Multiclass(sparse.csr_array(np.vstack(sequences)[:, :-2]), np.concatenate(labels))
        return Data(problem, rng.permutation(cut), np.arange(cut, problem.n_samples), made)
    problem, made = binary_digits() if name == "digits" else stories(vocabulary, data)
    part = np.random.default_rng(0).permutation(problem.n_samples) % max(folds, 2)
    return Data(problem, rng.permutation(np.flatnonzero(part != fold)), np.flatnonzero(part == fold), made)


def handwriting(fold: int, data: str | None) -> tuple[tuple[list[Floats], list[Any], int], bool]:
    """Letters (T, 131) and labels of the words of a fold, then of the next, and how many words the first has."""
    parts, made = [], False
    for k, n in ((fold % 10, 400), ((fold + 1) % 10, TESTED)):
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


# ── methods ───────────────────────────────────────────────────────────────────────────────────────


def compared(data: Data, size: int, inner: float, gap: float) -> list[dict[str, Any]]:
    """One row a method: learned from the first `size` samples of the pool."""
    every, rows = data.pool[:size], []
    judge = every[size - max(size // 4, 1) :]
    for method, (choices, learn) in METHODS.items():
        began = time.process_time()
        given(data.problem, every[: size - len(judge)])
        errors = [error(data.problem, learn(data.problem, choice, inner)[0], judge) for choice in choices]
        choice = choices[int(np.argmin(errors))]
        given(data.problem, every)
        w, certified = learn(data.problem, choice, gap)
        rows.append(
            {
                "method": method,
                "error": error(data.problem, w, data.test),
                "chosen": choice,
                "gap": certified,
                "seconds": time.process_time() - began,
            }
        )
    return rows


def given(problem: Any, samples: Ints) -> None:
    """Only these samples have weight."""
    problem.weights = np.zeros(problem.n_samples)
    problem.weights[samples] = 1.0


def error(problem: Any, w: Floats, samples: Ints) -> float:
    """The share of labels predicted wrong."""
    found, truth = problem.argmax(w, samples, augment=False), problem.truth[samples]
    return float((found != truth)[truth >= 0].mean())


def generative(problem: Any, prior: float, gap: float) -> tuple[Floats, float]:
    return counted(problem, prior), 0.0


def conditional(problem: Any, lam: float, gap: float) -> tuple[Floats, float]:
    solution = solve(CRF(lam=lam), problem, gap=gap)
    return solution.theta_flat, solution.gap


def margin(problem: Any, lam: float, gap: float) -> tuple[Floats, float]:
    solution = solve(SoftMargin(lam=lam), problem, gap=gap)
    return solution.theta_flat, solution.gap


def mistakes(problem: Any, passes: int, gap: float) -> tuple[Floats, float]:
    """The averaged perceptron; nothing is certified of it."""
    return run(Perceptron(), Separation(), problem, passes=passes, rng=0).thetas[-1], 0.0


Method = tuple[tuple[float, ...], Callable[[Any, Any, float], tuple[Floats, float]]]
METHODS: dict[str, Method] = {
    "generative": (PRIORS, generative),
    "crf": (LAMS, conditional),
    "margin": (LAMS, margin),
    "perceptron": (PASSES, mistakes),
}


# ── tables ────────────────────────────────────────────────────────────────────────────────────────


def summed(rows: list[dict[str, Any]], folds: int, gap: float) -> dict[str, Any]:
    """The record of these rows."""
    table = []
    for name, size in dict.fromkeys((row["problem"], row["size"]) for row in rows):
        made = any(row["generated"] for row in rows if row["problem"] == name)
        line: dict[str, Any] = {"problem": name, "generated": int(made), "size": size}
        for method in METHODS:
            errors = np.array(
                [r["error"] for r in rows if (r["problem"], r["size"], r["method"]) == (name, size, method)]
            )
            spread = 2 * errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else 0.0
            line |= {method: float(errors.mean()), f"{method}_interval": float(spread)}
        table.append(line | {"winner": min(METHODS, key=lambda method, line=line: line[method])})
    return {
        "folds": folds,
        "failed": sum(row["gap"] > gap for row in rows),
        "crossings": crossings(table),
        "claims": claims(table),
        "table": table,
        "rows": rows,
    }


def crossings(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each problem the largest size at which generative is ahead of both crf and margin, and the next one."""
    found = []
    for name in dict.fromkeys(line["problem"] for line in table):
        lines = [line for line in table if line["problem"] == name]
        ahead = [line["generative"] <= min(line["crf"], line["margin"]) for line in lines]
        last = max((m for m, first in enumerate(ahead) if first), default=-1)
        beyond = lines[last + 1]["size"] if last + 1 < len(lines) else 0
        found.append(
            {"problem": name, "generative_until": lines[last]["size"] if last >= 0 else 0, "crossed_by": beyond}
        )
    return found


def claims(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lecture's two claims, problem by problem, where intervals of two standard errors do not meet.

    more assumptions   with few samples the generative model is ahead, with many behind
    loss robust        the margin, which knows the loss, is ahead of conditional likelihood
    """

    def apart(line: dict[str, Any], one: str, other: str) -> int:
        distance, room = line[other] - line[one], line[f"{one}_interval"] + line[f"{other}_interval"]
        return int(np.sign(distance)) if abs(distance) > room else 0

    words, found = {1: "yes", 0: "not told apart", -1: "no"}, []
    for name in dict.fromkeys(line["problem"] for line in table):
        lines = [line for line in table if line["problem"] == name]
        small, large = apart(lines[0], "generative", "crf"), apart(lines[-1], "crf", "generative")
        better = [apart(line, "margin", "crf") for line in lines]
        found.append(
            {
                "problem": name,
                "generative ahead with few": words[small],
                "generative behind with many": words[large],
                "margin ahead of crf": better.count(1),
                "crf ahead of margin": better.count(-1),
                "sizes": len(lines),
            }
        )
    return found


def arrays_of(table: list[dict[str, Any]]) -> dict[str, Any]:
    """The table as the figure draws it."""
    return {key: np.array([line[key] for line in table]) for key in table[0] if key != "winner"}


NAMES = {"continuum": continuum}
