"""The training loop of `adam.py` with one mistake of `adam_mistakes.py` each."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.judging.faults.second import adam_mistakes as wrong
from workbench.judging.faults.second.adam import Loop
from workbench.judging.faults.second.contract import (
    CASES,
    CRF_CHAINS,
    CRF_LABELS,
    HINGE_CHAINS,
    HINGE_LABELS,
    HINGE_RISK,
    HINGE_SCORES,
    LIKELIHOODS,
    Fault,
    Host,
)

LABELS, CHAINS = (CRF_LABELS, HINGE_LABELS), (CRF_CHAINS, HINGE_CHAINS)
AUGMENTED = (HINGE_SCORES, HINGE_RISK, HINGE_LABELS, HINGE_CHAINS)
HOST = Host("adam-loop", "A PyTorch-style loop in float32 with Adam.", CASES, 800, Loop())


def _fault(name: str, sentence: str, applies: tuple, amounts_to: str, **steps: Any) -> Fault:  # fields of Loop
    return Fault(f"adam-{name}", sentence, applies, HOST, Loop(**steps), tuple(amounts_to.split(", ")))


FAULTS = (
    _fault("stale-batch", "Every step sees the same mini-batch.", CASES, "data used", batches=wrong.same_batch),
    _fault(
        "drop-last",
        "Without shuffling, the last incomplete batch of 12 is dropped in every pass.",
        CASES,
        "data used",
        batches=wrong.full_batches_only,
        size=12,
    ),
    _fault(
        "half-sampled",
        "The sampler draws with replacement, and from the first half of the data only.",
        CASES,
        "data used",
        batches=wrong.drawn_from_the_first_half,
    ),
    _fault("last-sample", "The last sample is never seen.", CASES, "data used", batches=wrong.all_but_the_last),
    _fault(
        "held-out", "A random fifth of the data is kept for validation.", CASES, "data used", sampler=wrong.four_fifths
    ),
    _fault(
        "balanced",
        "The sampler gives every label the same share.",
        LABELS,
        "class weights, sample weights",
        sampler=wrong.balanced,
    ),
    _fault("shares-ignored", "Sample weights are ignored.", CASES, "sample weights", sampler=wrong.equal_shares),
    _fault(
        "ignored-label",
        "The index that means padding is also the first label, so its samples have no loss.",
        LABELS,
        "data used, class weights, sample weights",
        data=wrong.label_zero_ignored,
    ),
    _fault(
        "length-one",
        "Sequences of length 1 are skipped.",
        CHAINS,
        "data used, length normalisation, sample weights",
        sampler=wrong.length_one_skipped,
    ),
    _fault(
        "token-mean",
        "The loss of a sequence is divided by its length.",
        CHAINS,
        "length normalisation, sample weights",
        data=wrong.mean_over_tokens,
    ),
    _fault(
        "standardised",
        "Inputs are standardised and weights not mapped back.",
        CASES,
        "features",
        data=wrong.standardised,
    ),
    _fault("negatives", "Negative inputs are set to 0.", CASES, "features", data=wrong.negatives_dropped),
    _fault(
        "whole-numbers", "Inputs are cut to whole numbers.", CASES, "features, arithmetic", data=wrong.whole_numbers
    ),
    _fault("unit-rows", "Every input row is scaled to length 1.", CASES, "features", data=wrong.unit_rows),
    _fault(
        "dropout",
        "Two inputs in five are dropped at random.",
        CASES,
        "noise in the inputs, features",
        seen=wrong.dropout,
    ),
    _fault(
        "input-noise",
        "Inputs get Gaussian noise of variance 1.",
        CASES,
        "noise in the inputs, features",
        seen=wrong.noisy,
    ),
    _fault(
        "seventh-pass",
        "In one pass of seven every sample is given the next label.",
        LABELS + CHAINS,
        "labels",
        seen=wrong.others_labels_every_seventh_pass,
    ),
    _fault(
        "sorted-inputs",
        "Inputs of a batch are sorted by length for packing, labels are not.",
        CHAINS,
        "labels, data used, padding",
        seen=wrong.inputs_sorted_by_length,
    ),
    _fault(
        "padding",
        "Positions behind the end count as label 0.",
        CHAINS,
        "padding, transitions",
        data=wrong.padding_counted,
    ),
    _fault(
        "bias-beside",
        "A bias is learned beside the weights, without penalty, and not returned.",
        CASES,
        "intercept, features",
        data=wrong.with_constant,
        penalty=wrong.but_the_last_input,
        returned=wrong.own_inputs(1),
    ),
    _fault(
        "bias-decayed",
        "A bias is learned beside the weights, weight decay shrinks it too, and it is not returned.",
        CASES,
        "intercept, features",
        data=wrong.with_constant,
        returned=wrong.own_inputs(1),
    ),
    _fault(
        "ends",
        "Scores for the first and the last position are learned and not returned.",
        CHAINS,
        "intercept, transitions, features",
        data=wrong.with_ends,
        returned=wrong.own_inputs(2),
    ),
    _fault(
        "no-augmentation",
        "The loss is not added in the search.",
        AUGMENTED,
        "loss augmentation",
        data=wrong.augmented_by(0),
    ),
    _fault(
        "minus-loss",
        "The loss is subtracted in the search.",
        AUGMENTED,
        "loss augmentation",
        data=wrong.augmented_by(-1),
    ),
    _fault("double-loss", "The loss is added twice.", AUGMENTED, "loss augmentation", data=wrong.augmented_by(2)),
    _fault(
        "longest",
        "The Hamming loss is divided by the padded length.",
        (HINGE_CHAINS,),
        "loss augmentation, length normalisation",
        data=wrong.normalised_by_the_longest,
    ),
    _fault("smoothing", "Labels are smoothed by 0.2.", (CRF_LABELS,), "labels, loss function", head=wrong.smoothed),
    _fault(
        "softmax-twice", "Softmax is applied before the loss.", (CRF_LABELS,), "loss function", head=wrong.softmax_twice
    ),
    _fault(
        "temperature",
        "Scores are halved before the loss.",
        (*LIKELIHOODS, *AUGMENTED),
        "features, loss function, regularisation constant, weights returned",
        head=wrong.heated,
    ),
    _fault(
        "focal", "The focal loss takes the place of the likelihood.", LIKELIHOODS, "loss function", head=wrong.focal
    ),
    _fault("squared-hinge", "Hinges are squared.", AUGMENTED, "squared hinge, loss function", head=wrong.squared_hinge),
    _fault(
        "detached",
        "In a third of a batch no gradient flows to the truth.",
        CASES[:-1],
        "gradient",
        head=wrong.truth_detached,
    ),
    _fault("no-transitions", "Transitions stay 0.", CHAINS, "transitions, features", head=wrong.without_transitions),
    _fault(
        "greedy", "The search looks at each position alone.", (HINGE_CHAINS,), "argmax", head=wrong.searched_one_by_one
    ),
    _fault(
        "decay-twice",
        "The penalty is in the loss and in the optimiser.",
        CASES,
        "regularisation constant",
        penalty=wrong.penalised(2),
    ),
    _fault("no-decay", "Weight decay is forgotten.", CASES, "regularisation constant", penalty=wrong.nothing),
    _fault(
        "growing-decay",
        "λ grows by 5 % in every pass, up to a million times.",
        CASES,
        "regularisation constant",
        penalty=wrong.growing,
    ),
    _fault(
        "decay-off",
        "Weight decay ends after ten passes.",
        CASES,
        "regularisation constant",
        penalty=wrong.off_after_ten_passes,
    ),
    _fault("absolute", "The penalty is λ‖w‖₁.", CASES, "penalty", penalty=wrong.absolute),
    _fault(
        "free-transitions",
        "Transitions are not penalised.",
        CHAINS,
        "penalty, transitions",
        penalty=wrong.but_transitions,
    ),
    _fault(
        "clip-norm",
        "Gradients of the terms are clipped to norm 0.1.",
        CASES,
        "gradient, regularisation constant",
        change=wrong.clipped,
    ),
    _fault(
        "clip-entries",
        "Gradients of the terms are clipped to ±0.01.",
        CASES,
        "gradient, regularisation constant",
        change=wrong.clipped_entries,
    ),
    _fault(
        "clip-scaled",
        "Gradients are clipped before the scale of mixed precision is taken out.",
        CASES,
        "gradient, regularisation constant",
        change=wrong.clipped_before_unscaling,
    ),
    _fault(
        "summed",
        "The terms of a batch of eight are summed, not averaged.",
        CASES,
        "regularisation constant",
        change=wrong.summed,
    ),
    _fault("bfloat16", "Weights are kept in eight significant bits.", CASES, "arithmetic", optimiser=wrong.Brain),
    _fault(
        "half-weights",
        "Weights and moments are kept in half precision.",
        CASES,
        "arithmetic",
        dtype=np.float16,
        optimiser=wrong.Half,
    ),
    _fault(
        "decoupled",
        "Weight decay is decoupled from the second moment (AdamW).",
        CASES,
        "regularisation constant, penalty",
        penalty=wrong.nothing,
        optimiser=wrong.Decoupled,
    ),
    _fault(
        "never-zeroed", "Gradients are never set to zero.", CASES, "gradient, step size", optimiser=wrong.NeverZeroed
    ),
    _fault("signs", "The momentum holds signs of gradients.", CASES, "gradient", optimiser=wrong.SignedMomentum),
    _fault("no-memory", "Both moments forget at once.", CASES, "gradient, step size", optimiser=wrong.NoMemory),
    _fault(
        "schedule",
        "The learning rate vanishes within a few passes.",
        CASES,
        "step size, early stopping",
        rate=wrong.ended_early,
    ),
    _fault("tiny-rate", "The learning rate is a thousandth of what is wanted.", CASES, "step size", rate=wrong.tiny),
    _fault("no-schedule", "The learning rate is never lowered.", CASES, "step size", rate=wrong.never_decayed),
    _fault(
        "early-mean",
        "The returned mean is over the first tenth of the run.",
        CASES,
        "averaging, early stopping",
        keep=wrong.mean_of_the_first_tenth,
    ),
    _fault(
        "pairs-transposed",
        "Transitions are returned transposed.",
        CHAINS,
        "weights returned, transitions",
        returned=wrong.transposed,
    ),
    _fault("by-inputs", "Weights are returned input by input.", LABELS, "weights returned", returned=wrong.by_inputs),
)
