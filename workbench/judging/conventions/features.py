"""Other features: intercepts with and without a penalty, weights that are left at zero or are not reported.

**Intercepts.** If the data have a constant column, r penalises its weight like any other weight, and a learner may
leave that penalty out. If the data have none, the objective has no intercept, and a learner that adds one minimises
another objective: with a penalty on the intercept (as liblinear), or without (as L-BFGS for likelihoods). Both are
tried on data with a constant column, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.contracts import Floats, Labelled, LinearScores
from workbench.judging.conventions.neighbours import Neighbour, Suspect
from workbench.solving.transfer import rebuilt

ZERO = 1e-6  # weights that are none, relative to the largest
BY_DATA = ("unseen features", "no positive count")
LIGHT = 2.0**6  # a feature as many times larger costs 2⁻¹² as much
LIGHTER = 2.0**9  # the same of transitions, which grow to 30 and more where a pair of labels never occurs


def intercepts(suspect: Suspect) -> Iterator[Neighbour]:
    constant = suspect.intercepts
    if suspect.plain and constant.any() and not constant.all():
        said = "leaves the intercept out of the penalty"
        yield suspect.seen("intercept not penalised", said, np.where(constant, LIGHT, 1.0))


def free_transitions(suspect: Suspect) -> Iterator[Neighbour]:
    """Pairs of labels without a penalty, as packages have it that regularise the inputs' weights only."""
    labelled = isinstance(suspect.problem, Labelled)
    pairs = np.arange(len(suspect.theta)) >= (suspect.edges if labelled else len(suspect.theta))
    if suspect.plain and pairs.any():
        said = "leaves the transitions out of the penalty"
        yield suspect.seen("transitions not penalised", said, np.where(pairs, LIGHTER, 1.0))


def own_intercepts(suspect: Suspect) -> Iterator[Neighbour]:
    """Data with one more constant column, the last of each label's, whose weights are not reported."""
    for name, how, value in (
        ("intercept added", "penalised like the weights", 1.0),
        ("free intercept added", "without penalty", LIGHT),
    ):
        said = f"has an intercept of its own, {how}, and does not report it"
        yield from widened(suspect, name, said, lambda rows, value=value: np.full((rows, 1), value))


def own_ends(suspect: Suspect) -> Iterator[Neighbour]:
    """Weights for the first and the last label of a sequence, as toolkits have start and end states."""
    arrays = suspect.problem.arrays()
    if "offsets" not in arrays or not isinstance(suspect.problem, Labelled):
        return

    def ends(rows: int) -> Floats:
        table = np.zeros((rows, 2))
        table[arrays["offsets"][:-1], 0] = table[arrays["offsets"][1:] - 1, 1] = 1.0
        return table

    said = "has weights of its own for the first and the last label of a sequence, and does not report them"
    yield from widened(suspect, "ends added", said, ends)


def widened(suspect: Suspect, name: str, said: str, columns: Callable[[int], Floats]) -> Iterator[Neighbour]:
    """Columns more, last of each label's, whose weights are hidden; `columns(rows)` is (rows, q)."""
    arrays = suspect.problem.arrays()
    width = next((key for key in ("n_inputs", "n_features") if key in arrays), "")
    if not (suspect.plain and width and isinstance(suspect.problem, Labelled | LinearScores)):
        return
    p, edges = int(arrays[width]), suspect.edges if isinstance(suspect.problem, Labelled) else len(suspect.theta)
    X = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(len(arrays["indptr"]) - 1, p))
    more = columns(X.shape[0])
    q = more.shape[1]
    hidden = np.concatenate([np.tile(np.arange(p + q) >= p, edges // p), np.zeros(len(suspect.theta) - edges, bool)])
    theta = np.zeros(len(hidden))
    theta[~hidden] = suspect.theta
    wide = sparse.csr_array(sparse.hstack([X, more]))
    wider = {"data": wide.data, "indices": wide.indices, "indptr": wide.indptr, width: np.array(p + q)}
    problem = rebuilt(suspect.problem, arrays | wider)
    yield Neighbour(name, said, suspect.form, problem, theta, hidden=hidden)


def subspaces(suspect: Suspect) -> Iterator[Neighbour]:
    """Features left out, so that their weights are zero: each subspace once, by the first of its descriptions.

    A subspace that holds the optimum asked for has the same minimum, and is no other objective: on images, pixels that
    are always black. A description by the data comes with the number of ways to leave out so many features: where
    these are few, another reason may well have left out the same ones.
    """
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
        if kept.tobytes() in told or not vanish(suspect.theta, ~kept):
            continue
        told.add(kept.tobytes())
        if not vanish(suspect.reference.theta, ~kept):
            left = int((~kept).sum())
            found = suspect.seen(name, what.format(left, d), kept.astype(float))
            yield found._replace(evidence={"ways": float(at_least(d, left))}) if name in BY_DATA else found


def at_least(d: int, k: int) -> int:
    """At most the number of ways to leave out k of d features, and that number where k or d − k is at most three."""
    return math.comb(d, min(k, d - k, 3))


def vanish(theta: Floats, among: NDArray[np.bool_]) -> bool:
    """Whether the weights of these entries are none, relative to the largest."""
    return float(np.abs(theta[among]).max(initial=0.0)) <= ZERO * float(np.abs(theta).max(initial=0.0))
