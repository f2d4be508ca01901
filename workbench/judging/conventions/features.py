"""Other features: intercepts with and without a penalty, weights that are left at zero, standardised columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from workbench.contracts import Labelled
from workbench.judging.conventions.neighbours import Neighbour, Suspect

ZERO = 1e-6  # weights that are none, relative to the largest
LIGHT = 2.0**6  # a feature as many times larger costs 2⁻¹² as much


def intercepts(suspect: Suspect) -> Iterator[Neighbour]:
    constant = suspect.intercepts
    if suspect.plain and constant.any() and not constant.all():
        said = "leaves the intercept out of the penalty"
        yield suspect.seen("intercept not penalised", said, np.where(constant, LIGHT, 1.0))


def own_intercepts(suspect: Suspect) -> Iterator[Neighbour]:
    """A constant column more, last of each label's, whose weights nobody reports."""
    arrays = suspect.problem.arrays()
    width = next((key for key in ("n_inputs", "n_features") if key in arrays), "")
    if not (
        suspect.plain and width and hasattr(suspect.problem, "inputs" if isinstance(suspect.problem, Labelled) else "X")
    ):
        return
    p, edges = int(arrays[width]), suspect.edges if isinstance(suspect.problem, Labelled) else len(suspect.theta)
    hidden = np.concatenate([np.tile(np.arange(p + 1) == p, edges // p), np.zeros(len(suspect.theta) - edges, bool)])
    theta = np.zeros(len(hidden))
    theta[~hidden] = suspect.theta
    X = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(len(arrays["indptr"]) - 1, p))
    for name, how, value in (
        ("intercept added", "penalised like the weights", 1.0),
        ("free intercept added", "without penalty", LIGHT),
    ):
        wide = sparse.csr_array(sparse.hstack([X, np.full((X.shape[0], 1), value)]))
        wider = {"data": wide.data, "indices": wide.indices, "indptr": wide.indptr, width: np.array(p + 1)}
        problem = type(suspect.problem).from_arrays(arrays | wider)
        said = f"has an intercept of its own, {how}, and does not report it"
        yield Neighbour(name, said, suspect.form, problem, theta, hidden=hidden)


def subspaces(suspect: Suspect) -> Iterator[Neighbour]:
    """Features left out, so that their weights are zero: each subspace once, by the first of its descriptions."""
    if not suspect.plain:
        return
    every = np.arange(suspect.problem.n_samples)
    positive = suspect.problem.features(every, suspect.problem.truth)
    counts, labelled = np.asarray(positive.sum(axis=0)).ravel(), isinstance(suspect.problem, Labelled)
    seen = np.asarray(abs(positive).sum(axis=0)).ravel() > 0
    pairs = np.arange(len(suspect.theta)) >= (suspect.edges if labelled else len(suspect.theta))
    told, d = {np.ones(len(suspect.theta), bool).tobytes(), bytes(len(suspect.theta))}, len(suspect.theta)
    for name, what, kept in (
        ("no intercept", "has no intercept", ~suspect.intercepts),
        ("no transitions", "takes positions for independent, its transitions are zero", ~pairs),
        ("unseen features", "leaves out the {} of {} features that no true output has", seen),
        (
            "no positive count",
            "leaves out the {} of {} features whose sum over the true outputs is not positive",
            counts > 0,
        ),
        ("zero weights", "keeps {} of {} weights at zero, and is optimal among such weights", suspect.theta != 0),
    ):
        left_out = float(np.abs(suspect.theta[~kept]).max(initial=0.0))
        if kept.tobytes() not in told and left_out <= ZERO * float(np.abs(suspect.theta).max(initial=0.0)):
            told.add(kept.tobytes())
            yield suspect.seen(name, what.format(int((~kept).sum()), d), kept * 1.0)
