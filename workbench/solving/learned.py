"""What was learned, by name: weights, biases, costs of error classes, selected samples, hidden states.

    weights    w_j with the name of feature j, as the problem tells (contracts/problems.py, `Naming`), else w[j]
    biases     b_y for each label y
    costs      v_S for each class S of errors, learned (block v), set by difficulty, or given (`fixed-cost`)
    selected   v_i ∈ {0, 1}: of a search c_i h_i(θ) < κ_i; of an alternation, whom its last convex program kept
    states     h_i where samples hide a variable: those of the last convex program, or the best ones for θ

`of` collects these as arrays for a file, `summary` shortens the weights to the largest ones for a record.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import (
    Floats,
    Formulation,
    Ints,
    Labelled,
    Latent,
    Naming,
    NamingBlocks,
    Numbers,
    Problem,
    Search,
)
from workbench.errors import printed
from workbench.formulations.cost_learning import CostSettings
from workbench.formulations.fixed_cost import FixedCostLearning
from workbench.formulations.latent_ssvm import CompletedSSVM
from workbench.objectives.costs import FixedCost
from workbench.objectives.criteria import slack
from workbench.objectives.oracles import hides
from workbench.solving.solution import Solution

LARGEST = 10  # weights that a summary shows
WORDS = {"b": "biases", "v": "costs"}  # blocks that a summary shows in full


def of(solution: Solution) -> dict[str, NDArray]:
    """The blocks of θ, `names_…` of their entries, `v` where costs are given, and `selected` and `states` where the
    formulation has them.
    """
    form, problem = solution.certificate.formulation, solution.problem
    found = {name: np.asarray(block, float).ravel() for name, block in solution.theta.items()}
    if isinstance(form, FixedCostLearning):
        oracle = form.oracle(problem)
        assert isinstance(oracle, FixedCost)
        found["v"] = oracle.v
    named: dict[str, NDArray] = {}
    for name, block in found.items():
        named[f"names_{name}"] = np.array(names_of(name, len(block), form, problem), str)
    rest = {"selected": selected(form, problem, solution.theta_flat), "states": states_of(form, problem, solution)}
    return found | named | {name: array for name, array in rest.items() if array is not None}


def summary(found: dict[str, NDArray], problem: Problem) -> Numbers:
    """Of what `of` found: the largest weights, the numbers of zeros and of others; biases, costs and states in full."""
    blocks = [name for name in found if f"names_{name}" in found and name not in WORDS]
    w = np.concatenate([found[name] for name in blocks])
    names = np.concatenate([found[f"names_{name}"] for name in blocks])
    order = np.argsort(-np.abs(w), kind="stable")[:LARGEST]
    zeros = int((w == 0).sum())
    told: Numbers = {"weights": paired(names[order], w[order]), "zeros": zeros, "nonzeros": len(w) - zeros}
    told |= {word: paired(found[f"names_{key}"], found[key]) for key, word in WORDS.items() if key in found}
    if "selected" in found:
        told["left_out"] = np.flatnonzero(found["selected"] == 0).tolist()
    if "states" in found and isinstance(problem, Latent):
        several = np.flatnonzero(problem.n_hidden > 1)
        told["states"] = paired(several.astype(str), found["states"][several])
    return told


def paired(names: NDArray, values: NDArray) -> Numbers:
    return dict(zip(map(printed, names.tolist()), values.tolist(), strict=True))


def names_of(block: str, size: int, form: Formulation, problem: Problem) -> list[str]:
    """One name for each entry of a block of θ, in its order."""
    if isinstance(form, NamingBlocks) and block in (own := form.weight_names(problem)):
        return own[block]
    if block == "w" and isinstance(problem, Naming) and size == problem.n_features:
        return problem.weight_names()
    if block == "b" and isinstance(problem, Labelled) and size == len(problem.classes):
        return [str(each) for each in problem.classes]
    if block == "v" and isinstance(form, CostSettings):
        return [str(each) for each in form.classes(problem).names]
    return [f"{block}[{j}]" for j in range(size)]


def selected(form: Formulation, problem: Problem, theta: Floats) -> Ints | None:
    """v (n,) of 0 and 1, or None where every sample is learned from."""
    if isinstance(form, Search):
        charges = np.array([float(each) for each in form.charges(problem)[1]])
        kept = slack(form, problem, theta, np.arange(problem.n_samples)) < charges
        return np.where(problem.weights > 0, kept, 1).astype(np.int64)
    if isinstance(form, CompletedSSVM) and form.kept is not None:
        return np.array(form.kept)
    return None


def states_of(form: Formulation, problem: Problem, solution: Solution) -> Ints | None:
    """h (n,) of the last convex program, or the best states for θ; None where nothing is hidden."""
    if not isinstance(problem, Latent):
        return None
    if isinstance(form, CompletedSSVM) and form.states is not None:
        return np.array(form.states)
    searched = isinstance(form, Search) and hides(problem)
    return problem.impute(solution.theta_flat) if searched or isinstance(form, CompletedSSVM) else None
