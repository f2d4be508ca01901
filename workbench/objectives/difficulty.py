"""How hard a class of errors is, and what its cost should then be (seed: McDowell 2014, §2; docs/mathematics.md §5).

Difficulties D_S of the model's predictions ŷ, larger for harder classes:

    kappa               (P_S − P(B_S)) / (1 − P(B_S)), 0 if the denominator is 0
    non-generalisability  error rate of S on held-out samples − error rate of S on those learned from
    non-generalisability-folds  the mean of this over FOLDS folds, each the held-out part of a model of its own
    perceptron          Σ over errors in S of ⟨w, φ(ŷ) − φ(y)⟩, per error; 0 if there are none
    stability           change of the error rate of S on a fold when that fold is left out of training
    separability        least mean hinge when only errors in S cost: 0 if weights exist that avoid all of them

P_S is the share of places with an error in S, and P(B_S) = Σ over (y, y′) in S of P(y) P̂(y′) the same share
for predictions that are independent of the input. Cost steps v(D) on the simplex (`STEPS`):

    dot        argmin ⟨v, D⟩: the vertex of least D
    cosine     argmin of the cosine of v and D: some D < 0 → (−D)₊/‖(−D)₊‖₁; else zeros → uniform on them;
               else the vertex of least D; D = 0 → v stays
    inverted   (1 − D_S)/(m − Σ D), with D/max D where max D > 1; all D = 1 → v stays
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from workbench.contracts import Floats, Ints
from workbench.errors import BadInput
from workbench.objectives.factorings import Classes, error_counts, folds_of, reachable

FOLDS = 5


class Model(NamedTuple):
    """A model and its predictions: a problem, its error classes, weights w, biases b and predictions (n, width)."""

    problem: Any
    classes: Classes
    w: Floats
    b: Floats
    predictions: Ints


def places_of(model: Model) -> tuple[Floats, Ints, Ints, Ints]:
    """Weight, group, true and predicted label of every place."""
    number, places = model.problem.places(np.arange(model.problem.n_samples))
    labels = model.predictions[model.predictions >= 0]
    return model.problem.weights[number], model.classes.group[places], model.problem.labels[places], labels


def shares(model: Model) -> Floats:
    """P_S (m,)."""
    weights, *_ = places_of(model)
    return error_counts(model.problem, model.classes, model.predictions) / weights.sum()


def base_rates(model: Model) -> Floats:
    """P(B_S) (m,): true and predicted labels drawn independently within each group of places."""
    weights, group, truth, labels = places_of(model)
    table, m = model.classes.table, len(model.classes.names)
    k, found = table.shape[1], np.zeros(m)
    for g in np.unique(group):
        here = group == g
        true, guess = (
            np.bincount(each[here], weights[here], k) / max(weights[here].sum(), 1e-300) for each in (truth, labels)
        )
        wrong = table[g] >= 0
        joint = np.outer(true, guess) * weights[here].sum() / weights.sum()
        found += np.bincount(table[g][wrong], joint[wrong], m)
    return found


def kappa(model: Model) -> Floats:
    base = base_rates(model)
    room = 1 - base
    return np.where(room > 0, (shares(model) - base) / np.where(room > 0, room, 1), 0.0)


def perceptron_loss(model: Model) -> Floats:
    """Scores without biases, as in the source; a sample's difference counts once for each of its errors."""
    problem, everyone = model.problem, np.arange(model.problem.n_samples)
    rows = problem.features(everyone, model.predictions) - problem.features(everyone, problem.truth)
    lost, m = rows @ model.w, len(model.classes.names)
    number, places = problem.places(everyone)
    labels = model.predictions[model.predictions >= 0]
    error = model.classes.at(places, problem.labels[places])[np.arange(len(places)), labels]
    wrong = error >= 0
    weights = problem.weights[number[wrong]]
    total, count = (np.bincount(error[wrong], each, m) for each in (weights * lost[number[wrong]], weights))
    return np.where(count > 0, total / np.where(count > 0, count, 1), 0.0)


def rates(model: Model, kept: Any) -> Floats:
    """P_S (m,) over the samples in a mask alone."""
    problem = type(model.problem).from_arrays(model.problem.arrays() | {"weights": model.problem.weights * kept})
    return shares(model._replace(problem=problem))


def non_generalisability(model: Model, form: Any, v: Floats, solve: Any) -> Floats:
    """P_S on fold 0 of FOLDS, left out of training, less P_S on the other folds."""
    out = weighed(model.problem, 2) == 0
    return rates(model, out) - rates(model, ~out)


def weighed(problem: Any, parts: int) -> Ints:
    """(n,) the fold of each sample, those from `parts` − 1 on as one; `BadInput` if one has no sample of weight."""
    fold = np.minimum(folds_of(problem, FOLDS), parts - 1)
    empty = np.count_nonzero(np.bincount(fold, problem.weights, parts) == 0)
    if empty:
        raise BadInput(
            f"{empty} of {parts} folds of {problem.n_samples} samples hold none of positive weight; "
            f"give at least {FOLDS} samples, or choose another difficulty."
        )
    return fold


def over_folds(model: Model, form: Any, v: Floats, solve: Any) -> Floats:
    """Mean over FOLDS folds of P_S on the fold, of a model learned without it, less P_S of that model on the others."""
    fold, found = weighed(model.problem, FOLDS), np.zeros(len(v))
    for f in range(FOLDS):
        without = form.model(model.problem, solve(form.fixed(v, FOLDS, f)).theta_flat, v)
        found += (rates(without, fold == f) - rates(without, fold != f)) / FOLDS
    return found


def stability(model: Model, form: Any, v: Floats, solve: Any) -> Floats:
    """Mean over FOLDS folds of |P_S on the fold of a model without it − P_S on it of the model|."""
    fold, found = weighed(model.problem, FOLDS), np.zeros(len(v))
    for f in range(FOLDS):
        without = form.model(model.problem, solve(form.fixed(v, FOLDS, f)).theta_flat, v)
        found += np.abs(rates(without, fold == f) - rates(model, fold == f)) / FOLDS
    return found


def separability(model: Model, form: Any, v: Floats, solve: Any) -> Floats:
    """The optimum with all cost on S, per place that could err in S, in units of K."""
    problem, m = model.problem, len(v)
    number, places = problem.places(np.arange(problem.n_samples))
    table, weights = model.classes.at(places, problem.labels[places]), problem.weights[number]
    found = np.zeros(m)
    for s in np.flatnonzero(reachable(problem, model.classes)):
        able = weights[(table == s).any(axis=1)].sum()
        found[s] = solve(form.fixed(np.eye(m)[s])).upper / (form.K * able)
    return found


MEASURES: dict[str, Callable[[Model, Any, Floats, Any], Floats]] = {
    "kappa": lambda model, form, v, solve: kappa(model),
    "non-generalisability": non_generalisability,
    "non-generalisability-folds": over_folds,
    "perceptron": lambda model, form, v, solve: perceptron_loss(model),
    "stability": stability,
    "separability": separability,
}


# ── from difficulty to cost ───────────────────────────────────────────────────────────────────────


def vertex(D: Floats, live: Any) -> Floats:
    v = np.zeros(len(D))
    v[np.flatnonzero(live)[D[live].argmin()]] = 1
    return v


def dot(D: Floats, v: Floats, live: Any) -> Floats:
    """argmin over the simplex of ⟨v, D⟩; of several vertices the first."""
    return vertex(D, live)


def cosine(D: Floats, v: Floats, live: Any) -> Floats:
    """argmin over the simplex of ⟨v, D⟩/(‖v‖‖D‖)."""
    D = np.where(live, D, 0.0)
    if not D.any():
        return v
    easy = np.maximum(-D, 0)
    if easy.any():
        return easy / easy.sum()
    zero = live & (D == 0)
    return zero / zero.sum() if zero.any() else vertex(D, live)


def inverted(D: Floats, v: Floats, live: Any) -> Floats:
    """v_S = (1 − D_S)/(m − Σ D), D divided by its maximum where that exceeds 1; v stays where all D = 1."""
    D = D / max(1.0, float(D[live].max()))
    left = np.where(live, 1 - D, 0.0)
    return left / left.sum() if left.sum() > 0 else v


STEPS: dict[str, Callable[[Floats, Floats, Any], Floats]] = {"dot": dot, "cosine": cosine, "inverted": inverted}
