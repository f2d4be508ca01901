"""Word alignment by cross-validation: learned weights against a Dice threshold and untrained weights.

    alignment error rate  AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)        (Och & Ney 2003)
    precision = |A ∩ P| / |A|,   recall = |A ∩ S| / |S|                     sums over all sentence pairs

A are the predicted links, S the sure and P ⊇ S the possible ones, all of the raw file, not projected.
Each fold is predicted by what was chosen on the others; a sentence pair that is held out has weight 0.
Dice's coefficient counts words, not links, over all pairs, those held out included.

    learned   soft margin; λ and the price c⁻ of a missed link by their AER on the next fold, then once
              more on all training folds
    dictionary the same with one feature more, whether the two words are linked in another training pair: the lecture's
              1[(j, k) in dictionary]; no link of a pair that is tested or chosen on enters
    dice      heaviest matching for dice − τ; τ and which of the two Dice features, by AER on the training folds
    ones      heaviest matching for the sum of all features: every weight is 1
    centred   the same for features of mean 0 and variance 1 over all edges
    limit     the sure links themselves, made a matching: no matching of sure links has a lower AER
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Floats, Ints
from workbench.data.datasets import Bitext, MissingData, hansards, in_dictionary, made_bitext
from workbench.data.loading import load_problem
from workbench.errors import BadInput
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.matching import Matching, heaviest_matching, links_of
from workbench.solving.solve import solve

LAMS, PRICES = (0.1, 0.01, 0.001), (1.0, 3.0, 10.0)
DICE, THRESHOLDS = (1, 2), np.arange(0.0, 0.8, 0.025)


def alignment(n: int | None = None, folds: int = 5, gap: float = 1e-4, seed: int = 0) -> dict[str, Any]:
    """AER, precision and recall of each method over all folds; the first n pairs (none: all).

    words         hansards, or generated (synthetic-bitext) if the data are not at hand
    pairs, folds  how many sentence pairs, in how many parts;  gap : the proven gap of every solve
    METHOD_aer, METHOD_precision, METHOD_recall   for learned, dictionary, dice, ones, centred, limit
    chosen_lams, chosen_prices, chosen_thresholds   by fold
    rows          the same numbers, one object a method
    """
    words, pairs, problem = bitext(n)
    if not 3 <= folds <= problem.n_samples:
        raise BadInput(
            f"folds={folds} leaves no pairs to test, choose on or train on; choose 3 to {problem.n_samples}."
        )
    fold = np.random.default_rng(seed).permutation(problem.n_samples) % folds
    dense = problem.edges.toarray()
    spread = np.where(dense.std(axis=0) > 0, dense.std(axis=0), 1.0)
    centred = ((dense - dense.mean(axis=0)) / spread).sum(axis=1)
    dices = {(c, t): counts(pairs, aligned(problem, dense[:, c] - t)) for c, t in product(DICE, THRESHOLDS)}
    tallies = {
        "learned": np.zeros((problem.n_samples, 4)),
        "dictionary": np.zeros((problem.n_samples, 4)),
        "dice": np.zeros((problem.n_samples, 4)),
        "ones": counts(pairs, aligned(problem, dense.sum(axis=1))),
        "centred": counts(pairs, aligned(problem, centred)),
        "limit": counts(pairs, [links_of(row) for row in problem.truth]),
    }
    chosen = []
    for k in range(folds):
        test, inner = fold == k, fold == (k + 1) % folds
        lam, price, tallies["learned"][test] = tuned(lambda _: problem, pairs, test, inner, gap)
        _, _, tallies["dictionary"][test] = tuned(lambda used: looked_up(problem, pairs, used), pairs, test, inner, gap)
        threshold = min(dices, key=lambda setting: error_rate(dices[setting][~test]))
        tallies["dice"][test] = dices[threshold][test]
        chosen.append((lam, price, threshold[1]))
    record: dict[str, Any] = {"words": words, "pairs": problem.n_samples, "folds": folds, "gap": gap}
    rows = [{"method": name} | rates(tally) for name, tally in tallies.items()]
    record |= {f"{row['method']}_{key}": row[key] for row in rows for key in ("aer", "precision", "recall")}
    for name, values in zip(("lams", "prices", "thresholds"), zip(*chosen, strict=True), strict=True):
        record[f"chosen_{name}"] = " ".join(f"{value:g}" for value in values)
    return record | {"rows": rows}


def bitext(n: int | None) -> tuple[str, Bitext, Matching]:
    """What the sentence pairs are, the pairs, and the problem of their sure links, or of generated ones."""
    try:
        pairs = hansards()
        return "hansards", Bitext(*(each[:n] for each in pairs)), load_problem("hansards")(n=n)
    except MissingData:
        return "generated", made_bitext(n or 60), load_problem("synthetic-bitext")(n=n or 60)


def tuned(
    problem: Callable[[NDArray[np.bool_]], Matching], pairs: Bitext, test: Any, inner: Any, gap: float
) -> tuple[float, float, Floats]:
    """λ and c⁻ by the AER of `inner`, which is left out for that, and the counts of `test`, learned from all the rest.

    problem : from the pairs learned from, a mask (n,), to the problem, whose features may depend on their links
    """
    fewer, most = problem(~(test | inner)), problem(~test)
    settings = {
        setting: counts(pairs, learned(fewer, ~(test | inner), *setting, gap)) for setting in product(LAMS, PRICES)
    }
    lam, price = min(settings, key=lambda setting: error_rate(settings[setting][inner]))
    return lam, price, counts(pairs, learned(most, ~test, lam, price, gap))[test]


def looked_up(problem: Matching, pairs: Bitext, used: NDArray[np.bool_]) -> Matching:
    """The problem with one feature more: whether the words are linked in another of the `used` sentence pairs."""
    known = [table.ravel() for table in in_dictionary(pairs, used)]
    edges = np.column_stack([problem.edges.toarray(), np.concatenate(known)])
    tables = np.split(edges, problem.starts[1:-1])
    gold = [links_of(row) for row in problem.truth]
    shapes = np.stack([problem.heights, problem.widths], axis=1)
    return Matching(tables, gold, problem.false_positive, problem.false_negative, problem.weights, shapes)


def learned(problem: Matching, used: Any, lam: float, price: float, gap: float) -> list[Ints]:
    """The links of every pair by weights learned on the `used` ones (n,), at a proven gap."""
    changes = {"weights": used.astype(float), "false_negative": np.array(price)}
    trained = solve(SoftMargin(lam=lam), Matching.from_arrays(problem.arrays() | changes), gap=gap)
    return aligned(problem, problem.edges @ trained.theta["w"])


def aligned(problem: Matching, gains: Floats) -> list[Ints]:
    """The links (m, 2) of the heaviest matching of every pair for one gain per edge (N,)."""
    return [links_of(heaviest_matching(table)) for table in problem.tables(gains)]


def counts(pairs: Bitext, links: list[Ints]) -> Floats:
    """|A|, |S|, |A ∩ S| and |A ∩ P| of every sentence pair, (n, 4)."""
    found = np.zeros((len(links), 4))
    for row, ours, sure, possible in zip(found, links, pairs.sure, pairs.possible, strict=False):
        a, s, p = ({tuple(link) for link in each.tolist()} for each in (ours, sure, possible))
        row[:] = len(a), len(s), len(a & s), len(a & (s | p))
    return found


def rates(tally: Floats) -> dict[str, float]:
    """AER, precision and recall of counts (n, 4) summed over sentence pairs."""
    a, s, sure, possible = tally.sum(axis=0).tolist()
    aer = 1 - (sure + possible) / (a + s) if a + s else 0.0
    return {"aer": aer, "precision": possible / a if a else 1.0, "recall": sure / s if s else 1.0}


def error_rate(tally: Floats) -> float:
    return rates(tally)["aer"]


NAMES = {"alignment": alignment}
