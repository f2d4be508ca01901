"""What the catalogue is made of: cases, clean hosts, faults, and the words for what a fault amounts to.

A *case* is a pair (problem kind, formulation kind) with the loss of a weighted risk. A *host* is a clean learner,
`fit(problem, formulation, budget, rng)`. A *fault* is a host with one mistake; `fit` has the same signature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import CutForm, Formulation, LinearRisk, Problem, SmoothForm, Squared
from workbench.errors import MissingCapability
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.chain import Chain
from workbench.outputs.linear import Linear
from workbench.outputs.multiclass import Multiclass

CAUSES = {
    "regularisation constant": "another λ is minimised with, λ drifts during the run, or λ is not scaled by n",
    "penalty": "λ/2 ‖w‖² is replaced by another function, or some weights are not penalised",
    "loss function": "the terms h_i are replaced by other ones",
    "one-vs-rest": "one binary problem a label is solved in place of the joint one",
    "squared hinge": "hinges are squared",
    "loss augmentation": "ℓ_i(y) is missing, scaled, of the wrong sign, or normalised by another length",
    "length normalisation": "a sequence counts in proportion to a function of its length",
    "data used": "some samples are never, or rarely, learned from, or are learned from in part",
    "labels": "some samples are learned from with other labels than their own",
    "class weights": "samples count by the frequency of their label",
    "sample weights": "samples count by other shares than p_i",
    "features": "inputs are scaled, shifted, rounded, clipped, or partly dropped before learning",
    "noise in the inputs": "inputs are perturbed at random during learning",
    "intercept": "weights are learned beside those returned, or a constant input is added",
    "transitions": "pair scores are missing, transposed, or constrained",
    "padding": "positions behind the end of a sequence are learned from",
    "constraint on the weights": "weights are kept to a set that the problem does not name",
    "gradient": "a direction is followed that is no subgradient in expectation",
    "argmax": "the loss-augmented search does not return a maximum",
    "dual feasibility": "dual variables leave their set, or the weights are no longer those of the dual variables",
    "step size": "steps are so small or so large that no number of passes helps",
    "early stopping": "the learner ends by a rule of its own that is looser than 1e-3",
    "averaging": "a mean of weights is returned that holds weights from far away",
    "arithmetic": "numbers are kept in too few digits",
    "weights returned": "the right weights are returned in the wrong order, sign, scale, or not at all",
}


class Case(NamedTuple):
    """A kind of problem with a kind of formulation; `loss` names the loss of a weighted risk, else it is empty."""

    problem: str
    formulation: str
    loss: str = ""


HINGE_LABELS, HINGE_CHAINS = Case("multiclass", "soft-margin"), Case("chain", "soft-margin")
HINGE_SCORES, HINGE_RISK = Case("linear", "soft-margin"), Case("linear", "weighted-risk", "hinge")
CRF_LABELS, CRF_CHAINS, CRF_SCORES = Case("multiclass", "crf"), Case("chain", "crf"), Case("linear", "crf")
LOGISTIC_RISK = Case("linear", "weighted-risk", "logistic")
SQUARED_RISK = Case("linear", "weighted-risk", "squared")

HINGES = (HINGE_LABELS, HINGE_CHAINS, HINGE_SCORES, HINGE_RISK)
LIKELIHOODS = (CRF_LABELS, CRF_CHAINS, CRF_SCORES, LOGISTIC_RISK)
CASES = (*HINGES, *LIKELIHOODS, SQUARED_RISK)

Fit = Callable[[Problem, Formulation, int, int | np.random.Generator], NDArray]


@dataclass(frozen=True)
class Host:
    """A clean learner: within 1e-4 (relative) of the optimum of `CASES` it is made for, after `passes` on small data.

    name : a unique name;  applies : the cases;  passes : how many passes small data need;  fit : the learner
    needs : the package that it wraps, importable by this name, or an empty string
    """

    name: str
    sentence: str
    applies: tuple[Case, ...]
    passes: int
    fit: Fit
    needs: str = ""


@dataclass(frozen=True)
class Fault:
    """A host with one mistake.

    name, sentence : a unique name, and what is wrong in one sentence of plain English
    applies : the cases in which the mistake is made;  host : the clean learner that it is planted into
    fit : the learner with the mistake
    amounts_to : names of the cause, keys of `CAUSES`; a verdict that names any of them is right about the cause
    """

    name: str
    sentence: str
    applies: tuple[Case, ...]
    host: Host
    fit: Fit
    amounts_to: tuple[str, ...]


def loss_of(problem: Problem, formulation: Formulation) -> str:
    """hinge, likelihood or squared: which terms h_i the pair has.

    Raises
    ------
    MissingCapability : outputs that are not labels, sequences or linear scores; hard constraints; slack rescaling;
        formulations with blocks besides w
    """
    if not isinstance(problem, Multiclass | Chain | Linear):
        raise MissingCapability("this learner is made for labels, sequences and linear scores; choose one of these.")
    if not isinstance(formulation, CutForm | SmoothForm) or not isinstance(formulation, Squared):
        raise MissingCapability("this learner minimises λ/2‖w‖² and a mean of terms; choose soft-margin or crf.")
    slack = isinstance(formulation, SoftMargin) and formulation.rescaling != "margin"
    if slack or formulation.prices(problem).hard:
        raise MissingCapability("this learner rescales margins and allows slack; use rescaling=margin.")
    if sum(1 for _ in formulation.blocks(problem)) != 1:
        raise MissingCapability("this learner learns w alone; choose a formulation without further blocks.")
    if isinstance(formulation, CutForm):
        return "hinge"
    return "squared" if isinstance(formulation, LinearRisk) and formulation.loss == "squared" else "likelihood"
