"""Features changed by the learner before learning: standardised columns, rows of length one, other units.

    standardised   x → (x − m)/σ by column, m and σ the mean and the deviation (σ = 1 where a column never varies)
    scaled         x → x/σ without centring
    normalised     x → x/‖x‖ by row
    centred        x → x − m
    other units    x → 2x, x/2, x/max |x|

Weights learned on changed features score the original features wrongly, and are penalised on another scale. A learner
that undoes the change, w → w/σ, has correct scores and another penalty, Σ σ_j² w_j².
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
from scipy import sparse

from workbench.contracts import Floats, Labelled
from workbench.judging.conventions.neighbours import Neighbour, Suspect
from workbench.solving.transfer import rebuilt

SMALL = 1e-12  # variance of a column that never varies, relative to its mean square: rounding
VARIES = 1e-9  # relative; deviations and lengths that are all 1
UNDONE = ("standardised features", "scaled features")  # columns by columns, which changes the penalty
ROOM = 4_000_000  # entries of inputs that are written out


def deviations(X: sparse.csr_array) -> Floats:
    """σ (p,), 1 for columns that never vary."""
    mean, squares = X.mean(axis=0), X.multiply(X).mean(axis=0)
    variance = np.asarray(squares).ravel() - np.asarray(mean).ravel() ** 2
    return np.sqrt(np.where(variance > SMALL * np.asarray(squares).ravel(), variance, 1.0))


def views(inputs: sparse.csr_array) -> Iterator[tuple[str, Floats | sparse.csr_array]]:
    """(what was done, X′), the first as it is; large inputs stay sparse, and are not centred."""
    X = sparse.csr_array(inputs)
    dense = X.shape[0] * X.shape[1] <= ROOM
    yield "", X.toarray() if dense else X
    sigma = deviations(X)
    if np.abs(sigma - 1).max() > VARIES:
        scaled = sparse.csr_array(X @ sparse.diags_array(1 / sigma))
        if dense:
            yield "standardised features", scaled.toarray() - np.asarray(X.mean(axis=0)).ravel() / sigma
        yield "scaled features", scaled.toarray() if dense else scaled
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    if np.ptp(lengths) > VARIES * lengths.max(initial=0.0):
        rows = sparse.csr_array(sparse.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ X)
        yield "normalised rows", rows.toarray() if dense else rows


def units(inputs: sparse.csr_array) -> Iterator[tuple[str, Floats | sparse.csr_array]]:
    """(what was done, X′) for changes by one number, or by one row."""
    X = sparse.csr_array(inputs)
    mean = np.asarray(X.mean(axis=0)).ravel()
    if X.shape[0] * X.shape[1] <= ROOM and np.abs(mean).max() > VARIES * np.abs(X.data).max(initial=0.0):
        yield "centred features", X.toarray() - mean
    most = float(np.abs(X.data).max(initial=0.0))
    factors = {2.0: "twice as large", 0.5: "half as large"}
    if most > 0:
        factors.setdefault(1 / most, "divided by the largest value")
    for factor, said in factors.items():
        if abs(factor - 1) > VARIES:
            yield f"features {said}", X * factor


def changed_features(suspect: Suspect) -> Iterator[Neighbour]:
    """The same objective on changed features, with the weights as reported, or with the change undone."""
    problem, arrays = suspect.problem, suspect.problem.arrays()
    if not suspect.plain or not isinstance(problem, Labelled) or "data" not in arrays:
        return
    k, pairs = len(problem.classes), suspect.theta[suspect.edges :]
    changes = chain(islice(views(problem.inputs), 1, None), units(problem.inputs))
    for name, changed in changes:
        wide = sparse.csr_array(changed)
        parts = {"data": wide.data, "indices": wide.indices, "indptr": wide.indptr}
        other = rebuilt(problem, arrays | parts)
        scores = name.replace("features", "from scores")
        said = f"learns on {name}{f', or {scores},' if name.endswith('as large') else ''} and does not say so"
        yield Neighbour(name, said, suspect.form, other, suspect.theta, objective=(name,))
        if name in UNDONE:
            unary = suspect.theta[: suspect.edges].reshape(k, -1) * deviations(sparse.csr_array(problem.inputs))
            said = f"learns on {name} and undoes that afterwards, so that the penalty is another one"
            theta = np.append(unary.ravel(), pairs)
            yield Neighbour(f"{name}, undone", said, suspect.form, other, theta, objective=(name,))
