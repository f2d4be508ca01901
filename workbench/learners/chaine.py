"""chaine: CRFsuite's core with dicts as features; the objective is that of python-crfsuite.

    theirs   min Σ_i h_i(w) + c₂ ‖w‖²           h_i the negative log-likelihood of sequence i
    ours     min λ/2 ‖w‖² + 1/n Σ_i h_i(w),     c₂ = λn/2, c₁ = 0;  n counts the samples, whose weights must be equal

all_possible_states, all_possible_transitions and min_freq = −10³⁰⁰ give every pair a weight. `budget` is the number of
iterations. A label that no sequence has is unknown to chaine.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from workbench.learners._peers import needs
from workbench.learners.python_crfsuite import SETTINGS, posed, weights
from workbench.learners.sklearn_crfsuite import EVERY_PAIR


@needs("chaine", "chaine")
def fit(problem, formulation, budget, rng):
    """chaine's L-BFGS, `budget` iterations at most; every pair has a weight."""
    from chaine.crf import Model, Trainer
    from chaine.logging import set_verbosity

    settings, data = posed(problem, formulation, budget, "chaine")
    set_verbosity(0)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        trainer = Trainer("lbfgs", **SETTINGS, **settings, **EVERY_PAIR)
        trainer.train(*map(list, zip(*data, strict=True)), model_filepath=path)
        model: Any = Model(path)  # chaine annotates states as lists of lists; their rows are dicts
    found = [{tuple(each.values())[:2]: each["weight"] for each in rows} for rows in (model.states, model.transitions)]
    return weights(problem, SimpleNamespace(state_features=found[0], transitions=found[1]))


NAMES = {"chaine": fit}
