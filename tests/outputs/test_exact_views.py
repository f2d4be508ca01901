"""The exact view of every output structure against the list of all outputs, in fractions.

Data are quarters, so that features and losses are exact in floats (but for the share of a chain's letters, whose
denominator is small); batches come in any order, and a sample may come twice.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from workbench.arithmetic.rationals import ExactRivals, Ratios, ratios
from workbench.contracts import Exact, SlackArgmax
from workbench.errors import MissingCapability
from workbench.outputs._flow.exact import best_weight
from workbench.outputs.flow import Flow
from workbench.outputs.graph import Graph
from workbench.outputs.matching import Matching
from workbench.outputs.motif import Motif
from workbench.outputs.views import Views
from workbench.registries import registry

STRUCTURES = {name: kind for name, kind in registry("output").items() if hasattr(kind, "exact")}
COSTS = ("false_positive", "false_negative")


def drawn(kind: Any, rng: np.random.Generator) -> Any:
    """A tiny problem of quarters, costs of its mistakes included."""
    arrays = kind.tiny(rng).arrays()
    for name in ("data", "pairs", "gaps"):
        if name in arrays and arrays[name].dtype == np.float64:
            arrays[name] = np.round(arrays[name] * 4) / 4
    for name in COSTS:
        if name in arrays:
            arrays[name] = np.array(float(rng.choice([0.5, 1.0, 2.25])))
    if "cost" in arrays:
        k, costs = len(arrays["cost"]), [[0.0, 1.0, 1.0, 2.0], [0.5, 1.0, 1.5], [0.0, 2.0, 3.0]][rng.integers(3)]
        arrays["cost"] = np.where(np.eye(k, dtype=bool), 0.0, rng.choice(costs, (k, k)))
    return kind.from_arrays(arrays)


def fractions(values: Any, most: int = 10**6) -> Any:
    flat = [Fraction(each).limit_denominator(most) for each in np.ravel(values).tolist()]
    return np.array([*flat, None], object)[:-1].reshape(np.shape(values))


def lists(problem: Any, samples: Any) -> Any:
    """(number in the batch, output) of all outputs of the samples."""
    each = [problem.outputs(int(i)) for i in samples]
    return np.repeat(np.arange(len(samples)), [len(outputs) for outputs in each]), np.concatenate(each)


def maxima(count: int, number: Any, values: Any, of: Any) -> list[Any]:
    return [max(values[(number == k) & of], default=None) for k in range(count)]


def annotated(rng: np.random.Generator) -> Matching:
    """Annotations that are any links, about half of them no matchings, which clip their hinges at 0."""
    shapes = rng.integers(1, 4, (4, 2))
    gold = [np.argwhere(rng.random(tuple(shape)) < 0.5) for shape in shapes]
    return Matching([rng.integers(-8, 9, (*shape, 2)) / 4 for shape in shapes], gold, 0.5, 1.5, clipped=True)


def motifs(rng: np.random.Generator) -> Motif:
    """Up to four windows a sample."""
    lengths = rng.integers(2, 6, 5)
    texts = ["".join(rng.choice(list("ACGT"), length)) for length in lengths]
    labels = np.array([1, -1, *rng.choice([1, -1], 3)])
    pairs = zip(lengths.tolist(), labels.tolist(), strict=True)
    return Motif(texts, labels, 2, [int(rng.integers(length - 1)) if label > 0 else -1 for length, label in pairs])


def of_three_labels(rng: np.random.Generator) -> Graph:
    """Paths of three nodes, one edge of which counts for halves."""
    nodes = [rng.integers(-8, 9, (3, 2)) / 8 for _ in range(3)]
    edges, labels = [np.array([(0, 1), (1, 2)])] * 3, [rng.integers(0, 3, 3) for _ in range(3)]
    return Graph(nodes, edges, labels, [np.array([[0.5], [1.0]])] * 3, classes=[0, 1, 2])


def cases(name: str, dear: bool = False) -> Any:
    """Problems with an exact view, a batch of their samples, all outputs of these, and weights: quarters, or any."""
    for seed in range(3 if dear else 12):
        rng = np.random.default_rng([seed, 31])
        own = {"matching": annotated, "motif": motifs, "graph": of_three_labels}.get(name) if seed % 2 else None
        problem = own(rng) if own else drawn(STRUCTURES[name], rng)
        exact = problem.exact() if isinstance(problem, Exact) else None
        if exact is None:
            continue
        samples = rng.permutation(np.append(np.arange(problem.n_samples), rng.integers(problem.n_samples)))
        w = rng.normal(size=problem.n_features) if seed % 3 == 2 else rng.integers(-6, 7, problem.n_features) / 4
        w = w * 8 if seed % 4 == 1 else w  # so that a truth is above all others by more than the loss
        if name == "tree" and seed % 4 == 3:  # only pairs count, and none is worth anything
            w = np.where(np.arange(len(w)) < problem.n_classes * problem.n_inputs, 0, -np.abs(w))
        w = np.where(getattr(problem, "signed", False), np.abs(w), w)
        yield problem, exact, samples, *lists(problem, samples), w, rng


def gains_of(problem: Any, exact: Any, batch: Any, outputs: Any, w: Any) -> Any:
    slopes = exact.slopes(batch, outputs)
    return fractions(slopes.matrix((len(batch), problem.n_features)) @ ratios(w).whole) / slopes.unit / ratios(w).unit


@pytest.mark.parametrize("name", STRUCTURES)
def test_slopes_and_losses_are_those_of_the_floats(name):
    seen = 0
    for problem, exact, samples, number, outputs, _, _ in cases(name, name in ("flow", "matching")):
        batch = samples[number]
        slopes, losses = exact.slopes(batch, outputs), exact.loss(batch, outputs)
        told = (problem.features(batch, outputs) - problem.features(batch, problem.truth[batch])).toarray()
        assert (fractions(slopes.matrix(told.shape)) == fractions(told) * slopes.unit).all()
        assert {type(each) for each in slopes.values.tolist()} <= {int}
        assert (losses.fractions() == fractions(problem.loss(batch, outputs))).all()
        positive = [each for each in fractions(problem.loss(*everything(problem))) if each > 0]
        assert exact.least_loss <= min(positive, default=exact.least_loss)
        assert exact.least_loss in positive or not positive or name in ("flow", "matching")
        seen += 1
    assert seen or name in ("structured",)


def everything(problem: Any) -> Any:
    number, outputs = lists(problem, np.arange(problem.n_samples))
    return number, outputs


@pytest.mark.parametrize("name", STRUCTURES)
def test_maxima_are_those_of_all_outputs(name):
    for problem, exact, samples, _, _, w, rng in cases(name):
        check_maxima(name, problem, exact, samples, w, rng)


def check_maxima(name, problem, exact, samples, w, rng):
    """Of all that the exact view maximises."""
    number, outputs = lists(problem, samples)
    batch, count = samples[number], len(samples)
    gains, losses = gains_of(problem, exact, batch, outputs, w), exact.loss(batch, outputs).fractions()
    weights, true = ratios(w), (outputs == problem.truth[batch]).all(axis=1)
    everywhere = np.ones(len(number), bool)
    clipped = getattr(problem, "outside", np.zeros(problem.n_samples, bool))[samples]
    margin = maxima(count, number, losses + gains, everywhere)
    margin = [max(each, 0) if clip else each for each, clip in zip(margin, clipped, strict=True)]
    assert exact.margin(weights, samples).fractions().tolist() == margin
    assert {type(each) for each in exact.margin(weights, samples).whole.tolist()} == {int}
    free = maxima(count, number, gains, losses == 0)
    assert exact.free(weights, samples).fractions().tolist() == [max(each or 0, 0) for each in free]
    if isinstance(exact, ExactRivals):
        found = exact.rival(weights, samples).fractions().tolist()
        assert found == maxima(count, number, gains, ~true)
    if isinstance(problem, SlackArgmax) and not (getattr(problem, "cost", np.zeros(1)) % 1).any():
        slack = maxima(count, number, losses * (1 + gains), everywhere)
        assert exact.slack(weights, samples).fractions().tolist() == slack
    if hasattr(exact, "augmented") and name in ("multiclass", "chain", "tree", "graph"):
        check_augmented(problem, exact, samples, number, outputs, gains, weights, rng)


def check_augmented(problem, exact, samples, number, outputs, gains, weights, rng):
    """A table of costs at each place of the batch, in quarters of thirds."""
    if classes_of(problem) is None or (getattr(problem, "signed", np.zeros(1)) > 0).any():
        return
    sizes = [int((problem.truth[i] >= 0).sum()) for i in samples]
    starts, k = np.concatenate([[0], np.cumsum(sizes)]), classes_of(problem)
    table = Ratios(np.array(rng.integers(-3, 9, (starts[-1], k)), object), 12)
    added = [
        sum(table.whole[starts[n] + t, y] for t, y in enumerate(output[: sizes[n]].tolist()))
        for n, output in zip(number.tolist(), outputs, strict=True)
    ]
    wanted = maxima(len(samples), number, gains + np.array(added, object) * Fraction(1, 12), number >= 0)
    assert exact.augmented(weights, samples, table).fractions().tolist() == wanted


def classes_of(problem: Any) -> int | None:
    return len(problem.classes) if hasattr(problem, "classes") else None


@pytest.mark.parametrize("name", STRUCTURES)
def test_what_is_no_output_is_found(name):
    """One entry of one row is another number; the first row that is in no list is named."""
    found = 0
    for problem, exact, samples, number, outputs, _, rng in cases(name):
        batch = samples[number]
        known = {int(i): set(map(tuple, problem.outputs(int(i)).tolist())) for i in samples}
        assert exact.fault(batch, outputs) is None
        highest = int(outputs.max()) + 2
        for _ in range(60):
            chosen = rng.permutation(len(number))[: rng.integers(1, 4)]
            rows, of = outputs[chosen].copy(), batch[chosen]
            for _ in range(rng.integers(1, 3)):
                rows[rng.integers(len(rows)), rng.integers(rows.shape[1])] = rng.integers(-2, highest + 1)
            pairs = enumerate(zip(of.tolist(), map(tuple, rows.tolist()), strict=True))
            wrong = [k for k, (i, row) in pairs if row not in known[i]]
            assert exact.fault(of, rows) == (wrong[0] if wrong else None), (of, rows)
            found += bool(wrong)
    assert found > 20 or name == "structured"


@pytest.mark.parametrize("weight", [-1.5, 0.0, 0.25, 8.0])
def test_matchings_whose_truth_is_on_top_or_at_the_bottom(weight):
    """The one feature of a link tells whether it is annotated; every other sample's annotations are no matching."""
    for seed in range(3):
        rng = np.random.default_rng([seed, 41])
        gold = [np.array([(0, 0), (1, 1)] if i % 2 else [(0, 0), (0, 1)]) for i in range(4)]
        edges = [rng.integers(-2, 1, (2, 2, 1)) / 4 for _ in gold]
        for table, links in zip(edges, gold, strict=True):
            table[links[:, 0], links[:, 1]] = rng.integers(1, 4, (2, 1)) / 4
        problem = Matching(edges, gold, 0.5, 1.5, clipped=True)
        check_maxima("matching", problem, problem.exact(), np.array([2, 0, 1, 3]), np.array([weight]), rng)


def test_covers_of_any_gains_weigh_what_the_best_paths_do():
    """Gains of arcs as they come, which no features need to bring about: also of detections that must be left out."""
    for seed in range(12):
        rng = np.random.default_rng([seed, 43])
        flow = Flow.tiny(rng)
        samples, number, outputs = np.arange(flow.n_samples), *everything(flow)
        row, arcs = flow.used(samples[number], outputs)
        for _ in range(6):
            gains = np.array(rng.integers(-20, 12, len(flow.gold)).tolist(), object)
            sums = np.zeros(len(number), object)
            np.add.at(sums, row, gains[arcs])
            best = [best_weight(flow, gains, int(i)) for i in samples]
            assert best == maxima(len(samples), number, sums, np.ones(len(number), bool))


def large(rng: np.random.Generator, size: int) -> Any:
    """Whole numbers of up to 200 bits, each of its own length; every fourth list has small ones, and ties."""
    lengths = np.full(size, 2) if rng.random() < 0.25 else rng.integers(0, 200, size)
    drawn = [int.from_bytes(rng.bytes(25)) >> (200 - int(length)) for length in lengths]
    return np.array([*drawn, None], object)[:-1]


def test_cuts_of_large_whole_numbers_are_those_of_all_labellings():
    """Capacities of 200 bits take several steps of `largest_flow`, of which each passes over some of the bits."""
    for seed in range(60):
        rng = np.random.default_rng([seed, 37])
        sizes = rng.integers(1, 6, 3)
        edges = [rng.permutation([(u, v) for v in range(n) for u in range(v)] or np.zeros((0, 2), int)) for n in sizes]
        edges = [each[: rng.integers(len(each) + 1)] for each in edges]
        labels = [np.append(rng.integers(0, 2, n - 1), n % 2) for n in sizes]
        problem = Graph([np.zeros((n, 1)) for n in sizes], edges, labels, classes=[0, 1])
        exact, firsts = problem.exact(), np.concatenate([[0], np.cumsum(sizes)])
        unary = (large(rng, 2 * firsts[-1]) * rng.choice([-1, 1], 2 * firsts[-1])).reshape(-1, 2)
        pairs = large(rng, sum(map(len, edges)))[:, None]
        ends = np.concatenate([[0], np.cumsum([len(each) for each in edges])])
        for i in range(3):
            own, theta = unary[firsts[i] : firsts[i + 1]], pairs[ends[i] : ends[i + 1], 0]
            scores = [
                sum(own[v, a] for v, a in enumerate(y)) + sum(theta[y[edges[i][:, 0]] == y[edges[i][:, 1]]])
                for y in map(np.array, product([0, 1], repeat=int(sizes[i])))
            ]
            assert exact.best(unary, pairs, i) == max(scores), (seed, i)


def test_hidden_states_have_no_exact_cuts():
    rng = np.random.default_rng(0)
    for problem in (
        Views(rng.normal(size=(4, 2)), ["a", "b"], [0, 2, 4]),
        Motif(["ACA", "CC"], [1, -1], 2),
    ):
        exact, w, everyone = problem.exact(), ratios(np.zeros(problem.n_features)), np.arange(2)
        assert (problem.truth[:, 1] < 0).any()
        assert exact.fault(*lists(problem, everyone)) is None, "every state of the true label is an output"
        for asked in (exact.margin, exact.rival):
            with pytest.raises(MissingCapability, match="is hidden; use latent-ssvm"):
                asked(w, everyone)
        with pytest.raises(MissingCapability, match="is hidden; use latent-ssvm"):
            exact.slopes(everyone, problem.truth)
