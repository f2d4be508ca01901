"""From modelling to discriminating: the same features and data, four objectives, from few samples to many.

    generative    joint likelihood by counts (learners/generative.py), prior a
    crf           conditional likelihood, certified, λ = c/n
    margin        soft margin, certified, λ = c/n
    perceptron    mistakes, averaged weights, so many passes

Data (_binary_sets.py), all with features 0 or 1 and a constant: `words` (OCR, chains), `letters` (the same letters one
by one), `digits` (16 grey levels cut in the middle), `stories` (R8: which of the `vocabulary` most frequent words
occur). `continuum-grid` has a part of each for itself.

Of the samples learned from, each quarter in turn judges a, c and passes, learned on the others to the gap `inner`;
then all are learned from, to the gap `gap`. Runs begin at the optimum last found for the same c (_warm.py). Errors are
shares of wrong labels (letters, digits, stories) on the test part; intervals are Student's at 95 % over folds, and
methods are compared by the intervals of their differences fold by fold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.contracts import Floats, Ints
from workbench.errors import BadInput, checked_whole
from workbench.formulations.crf import CRF
from workbench.formulations.perceptron import Separation
from workbench.formulations.soft_margin import SoftMargin
from workbench.learners.generative import counted
from workbench.outputs.chain import Chain
from workbench.registries import load_file, registry
from workbench.solvers.perceptron import Perceptron
from workbench.solving.path import student
from workbench.solving.stochastic import run
from workbench.system.journal import LINES, Journal

settings, warm, sets = (
    load_file(Path(__file__).with_name(f"{name}.py"), "benchmark") for name in ("_settings", "_warm", "_binary_sets")
)

SETS = ("words", "letters", "digits", "stories")
SIZES = {
    "words": (10, 20, 50, 100, 250, 600),
    "letters": (80, 160, 400, 800, 2000, 4300),
    "digits": (20, 50, 100, 200, 500, 1100),
    "stories": (30, 100, 300, 800, 1800, 3600),
}
QUARTERS = 4


def continuum(
    folds: int = sets.FOLDS,
    gap: float = 1e-4,
    inner: float = 1e-2,
    vocabulary: int = 1000,
    only: str = ",".join(SETS),
    most: int = 10**6,
    out: str = "",
    data: str | None = None,
) -> Iterator[dict[str, Any]]:
    """rows: one a method, problem, size and fold: error; what was chosen, and λ; lower, upper and gap, null where
    nothing is certified; CPU seconds with the validation. `words_error`, of chains: the share of words with an error.
    `generated` says that made-up data stand in, the real ones not being at hand.

    table      one a problem and size: mean error of each method, half its interval; who wins, and whether beyond
               doubt: ahead of every other by more than the interval of the difference
    crossings  one a problem: the sizes between which generative stops, and discriminating begins, to win
    claims     what the data say of the lecture's claims
    failed     rows whose certified gap missed `gap`;  most : the largest size
    out        a folder that keeps finished rows, so that a run goes on where it stopped, and gets the picture
    """
    checked_whole(2, folds=folds)
    checked_whole(1, vocabulary=vocabulary)
    if folds > sets.FOLDS:
        raise BadInput(f"folds is {folds}; choose 2 to {sets.FOLDS}, since one more part of the data is for tuning.")
    chosen = chosen_sets(only, most)
    rows: list[dict[str, Any]] = []
    with ExitStack() as open_files:
        words = {"benchmark": "continuum", "gap": gap, "inner": inner, "vocabulary": vocabulary, "data": data}
        journal = open_files.enter_context(kept(out, words)) if out else None
        done = {tuple(e.numbers["key"]): e.numbers["rows"] for e in journal.of("rows")} if journal else {}
        for fold in range(folds):
            for name in chosen:
                found, memory = sets.loaded(name, fold, vocabulary, data), {method: {} for method in METHODS}
                for size in (s for s in SIZES[name] if s <= min(most, len(found.pool))):
                    key = (fold, name, size)
                    if key not in done or done[key][0]["generated"] != found.made:
                        about = {"problem": name, "generated": found.made, "size": size, "fold": fold}
                        done[key] = [about | row for row in compared(found, size, inner, gap, memory)]
                        if journal:
                            journal.append("rows", {"key": list(key), "rows": done[key]})
                    rows += done[key]
                    yield summed(rows, folds, gap) | {"finished": f"fold {fold}: {name}, {size} samples"}
    record = summed(rows, folds, gap)
    if out:
        from workbench.command import pictures

        arrays = arrays_of(record["table"])
        pictures.save("continuum", arrays, registry("figure").get("continuum").draw(arrays), out)
    yield record


def chosen_sets(only: str, most: int) -> list[str]:
    """The data sets of which a size is at most `most`; `BadInput` if there are none."""
    found = [name for name in settings.chosen(only, SETS, "data set") if SIZES[name][0] <= most]
    if not found:
        raise BadInput(f"most is {most}, below every size; choose {min(SIZES[name][0] for name in SETS)} or more.")
    return found


def kept(folder: str, words: dict[str, Any]) -> Journal:
    """The journal of the rows in a folder; `BadInput` where the rows there have other settings."""
    if not (Path(folder) / "journal" / LINES).is_file():
        return Journal.create(folder, words)
    journal = Journal.resume(folder)
    if any(journal.settings.get(key) != value for key, value in words.items()):
        journal.close()
        raise BadInput(f"The rows in {folder} come from other settings; name another folder as out.")
    return journal


def grid(
    inner: float = 1e-2, vocabulary: int = 1000, only: str = ",".join(SETS), most: int = 400, data: str | None = None
) -> Iterator[dict[str, Any]]:
    """Which priors, λ and passes are worth trying: the errors of validation over wide ranges, on data for tuning only.

    rows    one a method, problem, size and choice: error over the quarters, CPU seconds
    wins    one a method and choice: on how many problems and sizes it has the least error; of equals the first wins
    """
    checked_whole(1, vocabulary=vocabulary)
    rows: list[dict[str, Any]] = []
    for name in chosen_sets(only, most):
        found = sets.loaded(name, sets.TUNING, vocabulary, data)
        memory = {method: {} for method in METHODS}
        for size in (s for s in SIZES[name] if s <= min(most, len(found.pool))):
            for method, choices in WIDE.items():
                errors, seconds = validated(found, size, METHODS[method][1], choices, inner, memory[method])
                rows += [
                    {"method": method, "problem": name, "size": size, "choice": c, "error": e, "cpu_seconds": s}
                    for c, e, s in zip(choices, errors, seconds, strict=True)
                ]
            yield {"wins": wins(rows), "rows": rows, "finished": f"{name}, {size} samples"}


def wins(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How often each choice has the least error."""
    best: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = row["method"], row["problem"], row["size"]
        if key not in best or row["error"] < best[key]["error"]:
            best[key] = row
    return [
        {
            "method": method,
            "choice": choice,
            "wins": sum((row["method"], row["choice"]) == (method, choice) for row in best.values()),
            "of": sum(row["method"] == method for row in best.values()),
        }
        for method, choices in WIDE.items()
        for choice in choices
    ]


# ── methods ───────────────────────────────────────────────────────────────────────────────────────


class Learned(NamedTuple):
    """Weights and what is proven of them: `Found` of _warm.py, or None."""

    w: Floats
    found: Any = None


Memory = dict[float, Any]  # the optimum last found, by c
Learner = Callable[[Any, float, float, Memory], Learned]


def compared(data: Any, size: int, inner: float, gap: float, memory: dict[str, Memory]) -> list[dict[str, Any]]:
    """One row a method: learned from the first `size` samples of the pool."""
    every, rows = data.pool[:size], []
    for method, (choices, learn) in METHODS.items():
        began = time.process_time()
        errors, _ = validated(data, size, learn, choices, inner, memory[method])
        choice = choices[int(np.argmin(errors))]
        given(data.problem, every)
        w, found = learn(data.problem, choice, gap, memory[method])
        rows.append(
            {
                "method": method,
                "error": error(data.problem, w, data.test),
                "words_error": words_error(data.problem, w, data.test),
                "chosen": choice,
                "lam": choice / size if found else None,
                "lower": found and found.lower,
                "upper": found and found.upper,
                "gap": found and found.gap,
                "cpu_seconds": time.process_time() - began,
            }
        )
    return rows


def validated(
    data: Any, size: int, learn: Learner, choices: tuple[float, ...], inner: float, memory: Memory
) -> tuple[Floats, Floats]:
    """For each choice the share of labels predicted wrong, each quarter judged by what the others taught; seconds."""
    every = data.pool[:size]
    wrong, seconds = np.zeros((2, len(choices)))
    for quarter in range(QUARTERS):
        judge = every[quarter::QUARTERS]
        given(data.problem, np.setdiff1d(every, judge))
        for k, choice in enumerate(choices):
            began = time.process_time()
            w = learn(data.problem, choice, inner, memory).w
            wrong[k] += error(data.problem, w, judge) * judge.size
            seconds[k] += time.process_time() - began
    return wrong / size, seconds


def given(problem: Any, samples: Ints) -> None:
    """Only these samples have weight."""
    problem.weights = np.zeros(problem.n_samples)
    problem.weights[samples] = 1.0


def error(problem: Any, w: Floats, samples: Ints) -> float:
    """The share of labels predicted wrong."""
    found, truth = problem.argmax(w, samples, augment=False), problem.truth[samples]
    return float((found != truth)[truth >= 0].mean())


def words_error(problem: Any, w: Floats, samples: Ints) -> float | None:
    """The share of words with a wrong letter; None where every label stands alone."""
    if not isinstance(problem, Chain):
        return None
    return float((problem.argmax(w, samples, augment=False) != problem.truth[samples]).any(axis=1).mean())


def generative(problem: Any, prior: float, gap: float, memory: Memory) -> Learned:
    return Learned(counted(problem, prior))


def conditional(problem: Any, c: float, gap: float, memory: Memory) -> Learned:
    return optimum(CRF, problem, c, gap, memory)


def margin(problem: Any, c: float, gap: float, memory: Memory) -> Learned:
    return optimum(SoftMargin, problem, c, gap, memory)


def optimum(formulation: Any, problem: Any, c: float, gap: float, memory: Memory) -> Learned:
    """The optimum at λ = c/n, from the one last found at this c, or else at any."""
    start = memory.get(c, next(reversed(memory.values()), None))
    found = memory[c] = warm.solved(formulation(lam=c / problem.weights.sum()), problem, gap, start)
    return Learned(found.theta, found)


def mistakes(problem: Any, passes: float, gap: float, memory: Memory) -> Learned:
    """The averaged perceptron; nothing is certified of it."""
    return Learned(run(Perceptron(), Separation(), problem, passes=int(passes), rng=0).thetas[-1])


METHODS: dict[str, tuple[tuple[float, ...], Learner]] = {
    "generative": ((1.0, 0.1, 0.01, 0.001), generative),
    "crf": ((10.0, 3.0, 1.0, 0.3, 0.1, 0.01), conditional),
    "margin": ((100.0, 30.0, 10.0, 3.0, 1.0), margin),
    "perceptron": ((3, 10, 30), mistakes),
}
WIDE: dict[str, tuple[float, ...]] = {
    "generative": (10.0, 1.0, 0.1, 0.01, 0.001),
    "crf": (100.0, 10.0, 1.0, 0.1, 0.01),
    "margin": (10000.0, 1000.0, 100.0, 10.0, 1.0, 0.1, 0.01),
    "perceptron": (1, 3, 10, 30),
}


# ── tables ────────────────────────────────────────────────────────────────────────────────────────


def summed(rows: list[dict[str, Any]], folds: int, gap: float) -> dict[str, Any]:
    """The record of these rows."""
    table = []
    for name, size in dict.fromkeys((row["problem"], row["size"]) for row in rows):
        mine = [row for row in rows if (row["problem"], row["size"]) == (name, size)]
        line: dict[str, Any] = {"problem": name, "generated": int(any(row["generated"] for row in mine)), "size": size}
        for method in METHODS:
            errors = errors_of(mine, method)
            line |= {method: float(errors.mean()), f"{method}_interval": half_interval(errors)}
        winner = min(METHODS, key=lambda method, line=line: line[method])
        clear = all(ahead(mine, winner, other) == 1 for other in METHODS if other != winner)
        table.append(line | {"winner": winner, "beyond_doubt": int(clear)})
    return {
        "folds": folds,
        "failed": sum((row["gap"] or 0.0) > gap for row in rows),
        "cpu_seconds": sum(row["cpu_seconds"] for row in rows),
        "crossings": crossings(table),
        "claims": claims(rows),
        "table": table,
        "rows": rows,
    }


def errors_of(rows: list[dict[str, Any]], method: str, key: str = "error") -> Floats:
    """One error a fold."""
    return np.array([row[key] for row in rows if row["method"] == method])


def half_interval(values: Floats) -> float:
    """Half of Student's interval for the mean, 0 of a single value."""
    n = len(values)
    return float(student(n - 1) * values.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0


def ahead(rows: list[dict[str, Any]], one: str, other: str, key: str = "error") -> int:
    """1 where `one` errs less by more than the interval of the difference fold by fold, −1 where more, else 0."""
    less = errors_of(rows, other, key) - errors_of(rows, one, key)
    return int(np.sign(less.mean())) if len(less) > 1 and abs(less.mean()) > half_interval(less) else 0


def crossings(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each problem the largest size at which generative is ahead of both crf and margin, and the next one."""
    found = []
    for name in dict.fromkeys(line["problem"] for line in table):
        lines = [line for line in table if line["problem"] == name]
        first = [line["generative"] <= min(line["crf"], line["margin"]) for line in lines]
        last = max((m for m, each in enumerate(first) if each), default=-1)
        beyond = lines[last + 1]["size"] if last + 1 < len(lines) else 0
        found.append(
            {"problem": name, "generative_until": lines[last]["size"] if last >= 0 else 0, "crossed_by": beyond}
        )
    return found


def claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lecture's claims, problem by problem: at how many sizes one is ahead of the other beyond doubt (`ahead`).

    more assumptions   with few samples the generative model is ahead, with many behind conditional likelihood
    loss               the margin, which knows the loss, is ahead of conditional likelihood in that loss
    loss robust        judged by another loss, whole words (`other_…`), conditional likelihood keeps or gains ground
    """
    words, found = {1: "yes", 0: "not told apart", -1: "no"}, []
    for name in dict.fromkeys(row["problem"] for row in rows):
        mine = [row for row in rows if row["problem"] == name]
        sizes = [[row for row in mine if row["size"] == size] for size in sorted({row["size"] for row in mine})]
        better = [ahead(each, "margin", "crf") for each in sizes]
        line = {
            "problem": name,
            "generative ahead with few": words[ahead(sizes[0], "generative", "crf")],
            "generative behind with many": words[ahead(sizes[-1], "crf", "generative")],
            "margin ahead of crf": better.count(1),
            "crf ahead of margin": better.count(-1),
            "sizes": len(sizes),
        }
        if mine[0]["words_error"] is not None:
            other = [ahead(each, "margin", "crf", "words_error") for each in sizes]
            line |= {"other_margin_ahead": other.count(1), "other_crf_ahead": other.count(-1)}
        found.append(line)
    return found


def arrays_of(table: list[dict[str, Any]]) -> dict[str, Any]:
    """The table as the figure draws it."""
    return {key: np.array([line[key] for line in table]) for key in table[0] if key not in ("winner", "beyond_doubt")}


NAMES = {"continuum": continuum, "continuum-grid": grid}
