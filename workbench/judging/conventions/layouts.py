"""Correct weights in another layout, averaged or projected; other weights of samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from workbench.contracts import Floats, Ints, Labelled, Problem
from workbench.judging.conventions.neighbours import Neighbour, Suspect
from workbench.outputs.chain import Chain
from workbench.solving.transfer import rebuilt


def layouts(suspect: Suspect) -> Iterator[Neighbour]:
    """The same weights, laid out otherwise."""
    if not (suspect.plain and isinstance(suspect.problem, Labelled)):
        return
    k, edges = len(suspect.problem.classes), suspect.edges
    unary, pairs = suspect.theta[:edges], suspect.theta[edges:]
    for said, columns in (("lays its weights out", k), ("takes its weights to be laid out", edges // k)):
        other = np.concatenate([unary.reshape(-1, columns).T.ravel(), pairs])
        yield suspect.same("feature-major layout", f"{said} feature by feature, not label by label", other)
    order = nearest_order(unary.reshape(k, -1), suspect.reference.theta[:edges].reshape(k, -1))
    if (order != np.arange(k)).any():
        moved = pairs.reshape(k, k, -1)[np.ix_(order, order)].ravel() if len(pairs) else pairs
        other = np.concatenate([unary.reshape(k, -1)[order].ravel(), moved])
        yield suspect.same(
            "labels permuted", f"reports the weights of labels in another order, {order.tolist()}", other
        )
    if len(pairs):
        other = np.concatenate([unary, pairs.reshape(k, k, -1).swapaxes(0, 1).ravel()])
        yield suspect.same("transposed transitions", "swaps the two labels of its transitions", other)


def nearest_order(rows: Floats, best: Floats) -> Ints:
    """The order π for which Σ_y ‖rows_π(y) − best_y‖² is least."""
    from scipy.optimize import linear_sum_assignment  # a quarter of a second, which most runs do without

    return linear_sum_assignment(best @ rows.T, maximize=True)[1]


def projection(suspect: Suspect) -> Iterator[Neighbour]:
    repaired = suspect.form.regularizer(suspect.problem).feasible(suspect.theta)
    if (away := float(np.abs(repaired - suspect.theta).max(initial=0.0))) > 1e-9:
        yield suspect.same(
            "no projection", "misses the projection onto the domain, else it is right", repaired, away=away
        )


def averages(suspect: Suspect) -> Iterator[Neighbour]:
    """The mean of what it reported; and, of a running mean x̄_t since the start, (t x̄_t − s x̄_s)/(t − s), s ≈ t/2."""
    if not suspect.history:
        return
    passes, thetas = np.array([p for p, _ in suspect.history], float), np.array([theta for _, theta in suspect.history])
    half = int(np.searchsorted(passes, passes[-1] / 2, side="right")) - 1
    late = thetas[passes >= passes[-1] / 2]
    if len(late) > 1:
        said = "reports its last iterate where their average is right"
        yield suspect.same("last iterate", said, late.mean(axis=0))
    if passes[half] < passes[-1]:  # without one so early, half is −1, the last
        t, s = passes[-1], passes[half]
        said = "averages over all iterates since the start, where those of the second half are right"
        yield suspect.same("average from the start", said, (t * thetas[-1] - s * thetas[half]) / (t - s))


def by_length(suspect: Suspect) -> Iterator[Neighbour]:
    """Each sequence's term divided by its length T: weights s/T, and λ Σ s/(Σ s/T), since weights are normalised."""
    chain, form = suspect.problem, suspect.form
    if not (suspect.plain and isinstance(chain, Chain) and form.prices(chain).mean):
        return
    if not hasattr(form, "lam"):  # any form's λ
        return
    if np.ptp(chain.lengths) == 0:
        return  # one λ for another
    weights = chain.weights / chain.lengths
    lam = float(form.lam * chain.weights.sum() / weights.sum())  # any form's λ
    said = "divides the term of each sequence by its length"
    other = rebuilt(chain, chain.arrays() | {"weights": weights})
    yield Neighbour("terms by length", said, replace(form, lam=lam), other, suspect.theta)


def balanced(weights: Floats, problem: Problem) -> Floats:
    """Weights times n/(k n_y), where a sample has one label."""
    if problem.width > 1 or not isinstance(problem, Labelled):
        return weights
    counts = np.bincount(problem.labels, minlength=len(problem.classes))
    return weights * problem.n_samples / (np.count_nonzero(counts) * counts[problem.labels])
