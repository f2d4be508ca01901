"""A second catalogue of planted faults, written from the README and the learner contract without a look at the judge.

`HOSTS` are clean learners, `FAULTS` the same learners with one mistake each.
Nothing here knows how verdicts are reached.

    host              what it is                               lends           faults are in
    adam-loop         a PyTorch-style loop in float32          subgradient     adam_faults
    svc-*, sgd-*, …   wrappers of scikit-learn's estimators    –               wrappers
    crfsuite, dlib    wrappers of python-crfsuite and dlib     –               sequence_wrappers
    l-bfgs            smooth objectives by SciPy               subgradient     batch
    dual-ascent       dual coordinate ascent for hinges        oracle          dual

A fault lends what its host lends, with the mistake if it is in that step; adam-early-mean lends its iterates, too.
"""

from __future__ import annotations

from workbench.judging.faults.second import adam_faults, batch, dual, sequence_wrappers, wrappers
from workbench.judging.faults.second.contract import CASES, CAUSES, Case, Fault, Host

HOSTS: tuple[Host, ...] = (adam_faults.HOST, *wrappers.HOSTS, *sequence_wrappers.HOSTS, batch.HOST, dual.HOST)
FAULTS: tuple[Fault, ...] = (
    *adam_faults.FAULTS,
    *wrappers.FAULTS,
    *sequence_wrappers.FAULTS,
    *batch.FAULTS,
    *dual.FAULTS,
)

__all__ = ["CASES", "CAUSES", "FAULTS", "HOSTS", "Case", "Fault", "Host"]
