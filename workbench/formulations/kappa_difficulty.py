"""Costs set by difficulty instead of learned: the alternating variants (McDowell 2014, §2; docs/mathematics.md §5).

    (w, b) ← argmin λ₂‖w‖² + λ₁‖w‖₁ + Σ_i max_y ⟨w, φ(y) − φ(y_i)⟩ + ⟨b, l(y) − l(y_i)⟩ + K⟨v, c_i(y)⟩
    v ← step(D(w, b), v)

for a measure D of how hard each error class is and a step that turns it into costs on the simplex
(objectives/difficulty.py): the source's 3 steps × 3 measures, two measures that the source suggests, and
non-generalisability over several folds. The alternation has no joint objective, hence no certificate as a whole; each
inner program has a certificate.

*Dual.* None for the alternation. That of each inner program is the dual of `fixed-cost` at the costs v of the round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from workbench.contracts import Blocks, Floats, Row
from workbench.errors import checked_choice
from workbench.formulations.cost_learning import CostSettings
from workbench.formulations.fixed_cost import FixedCostLearning
from workbench.objectives.difficulty import FOLDS, MEASURES, STEPS, Model
from workbench.objectives.factorings import reachable

ROUNDING = 1e-6  # of costs that a learner hands over

Difficulty = Literal[
    "kappa",
    "non-generalisability",
    "non-generalisability-folds",
    "perceptron",
    "stability",
    "separability",
]
Step = Literal["cosine", "dot", "inverted"]


@dataclass(frozen=True)
class KappaDifficulty(CostSettings):
    """Cost weights set by a measure of difficulty; the alternation ends when the weights settle or repeat."""

    difficulty: Difficulty = "kappa"
    step_rule: Step = "cosine"

    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_choice(*get_args(Difficulty), difficulty=self.difficulty)
        checked_choice(*get_args(Step), step_rule=self.step_rule)

    def relations(self) -> Row:
        """None: an alternation has no optimum that a relation could move."""
        return {}

    def blocks(self, problem: Any) -> Blocks:
        return self.fixed(self.start(problem)).blocks(problem)

    def start(self, problem: Any) -> Floats:
        """Equal costs on all classes that an error can reach."""
        live = reachable(problem, self.classes(problem))
        return live / max(live.sum(), 1)

    def surrogate(self, problem: Any, state: Floats) -> FixedCostLearning:
        return self.fixed(state, FOLDS if self.difficulty == "non-generalisability" else 0)

    def fixed(self, v: Floats, folds: int = 0, fold: int = 0) -> FixedCostLearning:
        """The inner program at costs v, perhaps without a fold of the samples."""
        return FixedCostLearning(self.lam2, self.lam1, self.K, self.factoring, tuple(v.tolist()), folds, fold)

    def step(
        self, problem: Any, theta: Floats, state: Floats, solve: Callable[[Any], Any]
    ) -> tuple[Floats, dict[str, Any]]:
        classes = self.classes(problem)
        D = MEASURES[self.difficulty](self.model(problem, theta, state), self, state, solve)
        v = STEPS[self.step_rule](D, state, reachable(problem, classes))
        return v, {"v": state.tolist(), "difficulty": D.tolist()}

    def parted(self, problem: Any, theta: Floats) -> tuple[Floats, Floats]:
        """θ = (w, b, v), as ((w, b), v)."""
        weights, v = np.split(theta, [-len(self.classes(problem).names)])
        return weights, v

    def outside(self, problem: Any, state: Floats) -> str:
        """Whether costs v leave the simplex by more than rounding, in a sentence."""
        if state.min() >= -ROUNDING and abs(state.sum() - 1) <= ROUNDING:
            return ""
        return f"Its costs are not on the simplex: least {state.min():.1e}, sum {state.sum():.6g}."

    def model(self, problem: Any, theta: Floats, state: Floats) -> Model:
        """What θ predicts on all samples."""
        oracle = self.fixed(state).oracle(problem)
        w, b, _ = oracle.split(theta)
        return Model(problem, oracle.classes, w, b, oracle.decode(theta, np.arange(problem.n_samples)))

    def value(self, problem: Any, theta: Floats) -> float:
        return float("nan")


NAMES = {"kappa-difficulty": KappaDifficulty}
