"""python-crfsuite: Okazaki's CRFsuite, conditional random fields over chains by L-BFGS.

    theirs   min Σ_i h_i(w) + c₂ ‖w‖²           h_i the negative log-likelihood of sequence i, real-valued attributes
    ours     min λ/2 ‖w‖² + 1/n Σ_i h_i(w),     c₂ = λn/2, c₁ = 0;  n counts the samples, whose weights must be equal

**Weights left out.** By default CRFsuite has a weight for (attribute, label) and for (label, next label) only if the
two occur together in the training data, and if the values with which they do add up to feature.minfreq = 0 at least:
pairs that never occur, and signed attributes that are negative on the whole. These weights stay at 0, where the optimum
has most of them negative: an optimum over a subspace, hence another objective. The settings
feature.possible_states, feature.possible_transitions and feature.minfreq = −10³⁰⁰ give every pair a weight.
Two names, so that either behaviour can be judged:

    python-crfsuite        its defaults: above the optimum for good, wherever a pair is left out
    python-crfsuite-full   the three settings: reaches the optimum, if every label occurs

`left_out` lists the weights that CRFsuite leaves out. A label that no sequence has is unknown to CRFsuite under either
name. `budget` is the number of iterations. Models are read from CRFsuite's own dump, which rounds to 1e-6.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from workbench.contracts import Labelled, Problem
from workbench.errors import MissingCapability
from workbench.learners._peers import equal, likelihood, needs

SETTINGS = {"epsilon": 1e-9, "delta": 0.0}  # the budget ends most runs before
EVERY_PAIR = {"feature.possible_states": True, "feature.possible_transitions": True, "feature.minfreq": -1e300}


def train(problem, formulation, budget, full):
    """CRFsuite's L-BFGS, `budget` iterations at most; nothing in it is random."""
    import pycrfsuite

    settings, data = posed(problem, formulation, budget, "python-crfsuite")
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(SETTINGS | settings | (EVERY_PAIR if full else {}))
    for rows, labels in data:
        trainer.append(pycrfsuite.ItemSequence(rows), labels)
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")
        trainer.train(model)
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        found = tagger.info()
        tagger.close()
    return weights(problem, found)


def posed(problem, formulation, budget, learner):
    """CRFsuite's settings c₁, c₂, max_iterations, and (attributes, labels) of each sequence whose weight is not 0."""
    risk = likelihood(formulation, problem, learner)
    shape(problem)
    settings = {"c1": 0.0, "c2": risk.mu * equal(risk, learner) / 2, "max_iterations": budget}
    runs = [problem.places(np.array([i]))[1] for i in risk.samples]
    return settings, [(attributes(problem.inputs[run]), list(map(str, problem.labels[run]))) for run in runs]


def attributes(rows):
    """One dict {column: value} a position, zeros left out."""
    cuts = np.split(np.arange(rows.nnz), rows.indptr[1:-1])
    return [dict(zip(map(str, rows.indices[cut]), rows.data[cut].tolist(), strict=True)) for cut in cuts]


def weights(problem, found):
    """Our w = [W, A] of what CRFsuite's dump holds; 0 for what it has no weight for."""
    k, p = shape(problem)
    W, A = np.zeros((k, p)), np.zeros((k, k))
    for (column, label), value in found.state_features.items():
        W[int(label), int(column)] = value
    for (before, after), value in found.transitions.items():
        A[int(before), int(after)] = value
    return np.concatenate([W.ravel(), A.ravel()])


def left_out(problem):
    """(d,) which weights CRFsuite does not have by default: of pairs that never occur, or in sum negatively."""
    shape(problem)
    everyone = np.flatnonzero(problem.weights)
    true = problem.features(everyone, problem.truth[everyone])
    occurs = (true != 0).sum(axis=0) > 0
    return ~occurs | (true.sum(axis=0) < 0)


def shape(problem: Problem) -> tuple[int, int]:
    """(K, p) of a chain with w = [W (K, p), A (K, K)]."""
    if isinstance(problem, Labelled):
        k, p = len(problem.classes), problem.inputs.shape[1]
        if problem.n_features == k * (p + k) and "pairs" not in problem.arrays():
            return k, p
    raise MissingCapability(
        f"python-crfsuite learns chains without features of pairs and {type(problem).__name__} is none here; use "
        "crf-lbfgs, or sklearn-logistic."
    )


@needs("pycrfsuite", "python-crfsuite")
def fit(problem, formulation, budget, rng):
    """CRFsuite at its defaults, which leave pairs of attributes and labels out."""
    return train(problem, formulation, budget, full=False)


@needs("pycrfsuite", "python-crfsuite")
def fit_full(problem, formulation, budget, rng):
    """CRFsuite with the settings that give every pair of attribute and label a weight."""
    return train(problem, formulation, budget, full=True)


NAMES = {"python-crfsuite": fit, "python-crfsuite-full": fit_full}
