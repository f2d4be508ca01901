"""The structured perceptron (Collins 2002, Figure 2) with Polyak averaging.

A visit decodes z = argmax_y ⟨w, φ(x_i, y)⟩, without loss, and moves w only on a mistake:

    z ≠ y_i:   w ← w + η ψ_i(z),      ψ_i(z) = φ(x_i, y_i) − φ(x_i, z)

A subgradient method on (1/n) Σ [max_y ⟨w, φ(x_i, y)⟩ − ⟨w, φ(x_i, y_i)⟩] with constant step η; from w = 0,
w/η does not depend on η, nor does any prediction. Reported: the last w, or a mean of w over all visits: `uniform`
of w as each visit leaves it, w̄_T = Σ_t η (T − t + 1)/T · ψ_t over the mistaken visits t (docs/mathematics.md §4);
`before` of w as each visit finds it, Σ_t η (T − t)/T · ψ_t, the average of the weights that were predicted with.

Mistakes. With ψ_t at the mistaken visits, ⟨w_t, ψ_t⟩ ≤ 0 gives ‖w_T‖² ≤ η² Σ ‖ψ_t‖², and so, for every u,

    number of mistakes ≤ Σ_t (1 − ⟨u, ψ_t⟩)₊ + ‖u‖ √(Σ_t ‖ψ_t‖²)

(Freund & Schapire 1999; Shalev-Shwartz 2012, §3.3). Where u separates with margin 1 the sum vanishes
and at most R²‖u‖² mistakes are left (Novikoff 1962). `crosscheck` judges by both inequalities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from workbench.contracts import CutForm, Floats, Ints, Solver
from workbench.errors import BadInput
from workbench.objectives.oracles import Decoding, UnitMargin


class State(NamedTuple):
    w: Floats
    late: Floats  # Σ (t − 1) η ψ_t: what the average has to leave out
    visits: Ints
    step: float


def sweep(argmax_into, add_slope, data, order, prices, witnesses, steps, state: State) -> None:
    """Visits the samples in `order` and logs each visit's answer; the truth moves nothing."""
    w, late, visits, step = state
    for k in range(len(order)):
        argmax_into(data, w, order[k], witnesses[k])
        add_slope(data, order[k], witnesses[k], -step, w)
        add_slope(data, order[k], witnesses[k], -step * visits[0], late)
        visits[0] += 1


@dataclass(frozen=True)
class Perceptron(Solver):
    """Structured perceptron; judged by its mistakes, for its objective has the minimum 0 at w = 0."""

    average: Literal["uniform", "before", "last"] = "uniform"
    step: float = 1.0

    name: ClassVar[str] = "perceptron"
    dual: ClassVar[bool] = False
    sweep = staticmethod(sweep)

    def __post_init__(self) -> None:
        if self.average not in ("uniform", "before", "last"):
            raise BadInput(f"average is {self.average!r}; choose 'uniform', 'before' or 'last'.")
        if not 1e-100 <= self.step <= 1e100:
            raise BadInput(f"step is {self.step!r}; it must be positive, from 1e-100 to 1e100, e.g. step=1.")

    def misfit(self, formulation: Any, problem: Any) -> str | None:
        if isinstance(formulation, CutForm) and isinstance(formulation.oracle(problem), UnitMargin):
            return None
        name = type(formulation).__name__
        return (
            f"perceptron minimises no regularised loss as {name} does; its own reference is the formulation perceptron."
        )

    def oracle(self, problem: Any) -> Decoding:
        return Decoding(problem)

    def init(self, formulation: Any, problem: Any) -> State:
        w, late = np.zeros((2, problem.n_features))
        return State(w, late, np.zeros(1, np.int64), float(self.step))

    def report(self, state: State) -> Floats:
        if self.average == "last" or state.visits[0] == 0:
            return state.w.copy()
        after = state.w - state.late / state.visits[0]
        return after - state.w / state.visits[0] if self.average == "before" else after

    def averaging(self, at: Ints, visits: int) -> Floats:
        """The weights of updates made at the visits `at` (1, 2, …) in what is reported after `visits`."""
        if self.average == "last":
            return np.full(len(at), self.step)
        return self.step * (visits - at + (self.average == "uniform")) / visits


NAMES = {"perceptron": Perceptron}
