"""`watch`: a recorder for training loops of any library, judged against the proven optimum.

    watch = wb.watch(problem, formulation)
    for epoch in range(300):
        …                                   # PyTorch, JAX, NumPy, anything
        watch.step(model.weight)            # one pass more
    print(watch.verdict())                  # agrees, disagrees and why, not converged

`step` takes θ as one array or tensor, as one for each block of `formulation.blocks(problem)`, or as a dict of
these; shapes are flattened row by row, tensors are detached and copied. The optimum is computed when first needed:
after the loop, or at the first step if `live` is given. Weights of float32 are kept in float32 and graded in float64,
so the objective belongs to the very numbers of the loop.

The record keeps at most 2 · KEPT steps or half a GiB; when it is full, steps are thinned out, and a fifth of those that
are left are the last ones (`reports.thinned`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Floats, Labelled, Problem
from workbench.errors import BadInput, checked_positive
from workbench.judging.judge import CHANCE, Cause, Judgement, Run, excesses, explained
from workbench.judging.reference import Formulation, Reference, reference_of
from workbench.judging.reports import thinned
from workbench.judging.verdicts import DISAGREES, Report, crosscheck, objective
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.certificate import arrays_of, data_sha256
from workbench.proofs.text import TextBounds
from workbench.solving.progress import checked_calls
from workbench.solving.request import plain_settings
from workbench.solving.solution import Solution
from workbench.solving.solve import solve

KEPT = 500  # steps that are left of a record after it was thinned out, at most
MOST = 1 << 25  # numbers that are left then, at most


def watch(
    problem: Problem,
    formulation: Formulation,
    per_pass: float = 1.0,
    gap: float = 1e-9,
    reference: Solution | None = None,
    live: Callable[[dict[str, float]], object] | None = None,
) -> Recorder:
    """A recorder for one run of a training loop.

    Parameters
    ----------
    problem, formulation : in this order
    per_pass : how many calls of `step` are one pass over the data, 1 for a call an epoch
    gap : relative gap of the reference
    reference : what `solve` returned for this pair, if there is one already
    live : called after each step with {"passes", "upper", "excess"}; then each step costs an argmax for each sample

    Raises `BadInput` for a reference of another problem or formulation, and for a `live` that cannot be called.
    """
    checked_positive(per_pass=per_pass, gap=gap)
    checked_calls(live=live)
    if not isinstance(problem, Problem) or isinstance(formulation, Problem):
        raise BadInput("watch takes a problem, then a formulation; write for example watch(problem, SoftMargin()).")
    if reference is not None:
        refuse_others(reference_of(reference), problem, formulation)
    return Recorder(problem, formulation, per_pass, gap, reference, live)


def refuse_others(reference: Reference, problem: Problem, formulation: Formulation) -> None:
    """`BadInput` for a reference of another formulation, another output structure or other data than the loop's."""
    fix = "give what `solve` returned for this pair, or leave reference out"
    known, solved = reference.problem, reference.formulation
    if not alike(solved, plain_settings(formulation)):
        raise BadInput(f"The reference minimises {solved}, the loop {formulation}; {fix}.")
    if known is problem:
        return
    if type(known) is not type(problem):
        raise BadInput(f"The reference is of {known!r}, the loop of {problem!r}; {fix}.")
    if data_sha256(arrays_of(known)) != data_sha256(arrays_of(problem)):
        raise BadInput(f"The reference is of other data than the loop's {problem!r}; {fix}.")


def alike(one: Formulation, other: Formulation) -> bool:
    """Whether two formulations minimise the same; those of a user's that are no dataclasses, by their attributes."""
    if is_dataclass(one) and is_dataclass(other):
        return objective(one) == objective(other)
    return one is other or (type(one) is type(other) and vars(one) == vars(other))


class Recorder:
    """The weights of a training loop, at the passes at which it had them."""

    def __init__(
        self,
        problem: Problem,
        formulation: Formulation,
        per_pass: float,
        gap: float,
        reference: Solution | None,
        live: Callable[[dict[str, float]], object] | None,
    ):
        self.problem, self.formulation, self.per_pass, self.gap, self.live = problem, formulation, per_pass, gap, live
        self.bounds = bounds = bounds_for(formulation, problem)
        self.blocks = bounds.blocks if isinstance(bounds, TextBounds) else bounds.formulation.blocks(problem)
        self.most = int(np.clip(MOST // max(self.blocks.dim, 1), 16, KEPT))
        self.steps, self.record = 0, list[tuple[float, NDArray]]()
        if reference is not None:
            self.reference = reference

    @cached_property
    def reference(self) -> Solution:
        """The proven optimum."""
        return solve(self.formulation, self.problem, gap=self.gap)

    def step(self, *weights: Any, passes: float | None = None) -> None:  # arrays or tensors of any library
        """Records the current weights; `passes`, the passes over the data so far, replaces the count of calls."""
        theta = self.flat(weights)
        self.steps += 1
        passes = self.steps / self.per_pass if passes is None else float(passes)
        if self.record and passes <= self.record[-1][0]:
            raise BadInput(f"Step {self.steps} is at {passes:g} passes after {self.record[-1][0]:g}; count upwards.")
        self.record.append((passes, theta))
        if len(self.record) > 2 * self.most:
            self.record = thinned(self.record, [passes for passes, _ in self.record], self.most)
        if self.live is not None:
            upper = self.bounds.upper(theta.astype(float))
            self.live({"passes": passes, "upper": upper, "excess": self.excess(upper)})

    def flat(self, weights: tuple[Any, ...]) -> NDArray:  # arrays or tensors of any library
        """θ (p,), in its own type of float."""
        if len(weights) == 1 and isinstance(weights[0], Mapping):
            if missing := set(self.blocks) - set(weights[0]):
                raise BadInput(f"The weights lack {', '.join(sorted(missing))}; give {', '.join(self.blocks)}.")
            weights = tuple(weights[0][name] for name in self.blocks)
        parts = [as_array(each) for each in weights]
        self.refuse_columns(parts)
        theta = np.concatenate([part.ravel() for part in parts]) if parts else np.empty(0)
        if theta.shape != (self.blocks.dim,):
            wanted = ", ".join(f"{name} {shape}" for name, shape in self.blocks.items())
            raise BadInput(f"Step {self.steps + 1} has {theta.size} weights; give {self.blocks.dim}: {wanted}.")
        return theta

    def refuse_columns(self, parts: list[NDArray]) -> None:
        """`BadInput` for a class in each column, as in X W and in the kernels of JAX, where rows are classes."""
        if parts and parts[0].ndim == 2 and isinstance(self.problem, Labelled):
            (rows, columns), classes = parts[0].shape, len(self.problem.classes)
            if rows != classes == columns:
                told = f"Step {self.steps + 1} has weights of shape ({rows}, {columns}), a class in each column"
                raise BadInput(f"{told}; give a class in each row, for example W.T.")

    def reports(self) -> list[Report]:
        """The record as the judge wants it."""
        if not self.record:
            raise BadInput("Nothing was recorded; call step(weights) in the loop.")
        return [Report(passes, theta.astype(float)) for passes, theta in self.record]

    def excess(self, upper: float) -> float:
        """(F(θ) − L)/F*, as verdicts state it."""
        return reference_of(self.reference).excess(upper)

    def curve(self) -> dict[str, Floats]:
        """What a gap curve is drawn from: passes, the objective `upper`, and `excess`, relative to the optimum."""
        reports = self.reports()
        upper = np.array([self.bounds.upper(each.theta) for each in reports])
        excess = np.array([self.excess(each) for each in upper])
        return {"passes": np.array([each.passes for each in reports]), "upper": upper, "excess": excess}

    def verdict(self, tolerance: float = 1e-4) -> Judgement:
        """What is proven about the loop, with the likely cause where it rests above the optimum.

        A loop cannot be asked for more steps, and rates that fall to 0 come to rest anywhere. So a rest accuses only at
        what is certainly another objective's optimum (`Detective.identity`); else it is `not converged`.
        tolerance : relative excess that counts as agreement; loops in float32 seldom get below 1e-6
        """
        reports, causes, reference = self.reports(), list[Cause](), reference_of(self.reference)
        found = crosscheck(reports, self.reference, tolerance, alone=True)
        if found.rule == "settled" or (
            found.verdict == DISAGREES and (found.rule in CHANCE or found.rule == "feasibility")
        ):
            found, causes = explained(found, reports, reference, guesses=True)
        passes, runs = reports[-1].passes, [Run(0, found.verdict, found.excess, found.rule, np.nan)]
        told = found.verdict, found.excess, passes, np.nan, found.reason, found.evidence, found.rule
        ends = {"absolute": found.absolute, "needed": found.needed, "history": excesses(reports, reference)}
        return Judgement("watched", *told, runs, causes, **ends)


def as_array(weights: Any) -> NDArray:  # of any library
    """An array of floats, copied: of arrays, of numbers, and of tensors, which need not be imported for that."""
    for step in ("detach", "cpu"):  # what tensors of PyTorch have, others some of it
        weights = getattr(weights, step)() if hasattr(weights, step) else weights  # of any library
    if str(getattr(weights, "dtype", "")).endswith(("bfloat16", "float16")):  # of any library
        weights = weights.float() if hasattr(weights, "float") else weights.astype("float32")  # of any library
    if hasattr(weights, "detach") and hasattr(weights, "numpy"):  # a tensor of any library
        weights = weights.numpy()
    try:
        found = np.array(weights)
        if found.dtype.kind not in "biuf":
            raise TypeError(f"they are of type {found.dtype}")
    except (TypeError, ValueError) as error:
        raise BadInput(f"The weights are no numbers ({error}); give arrays or tensors.") from None
    return found if found.dtype == np.float32 else found.astype(float)
