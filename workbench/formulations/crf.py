"""Conditional random field: regularised conditional likelihood (Lafferty, McCallum & Pereira 2001).

    min over w   λ/2 ‖w‖² + Σ_i p_i h_i(w)          p_i = 1/n, or weight_i / Σ weights

    h_i(w) = log Σ_y exp⟨w, φ(x_i, y)⟩ − ⟨w, φ(x_i, y_i)⟩ = −log q_i(y_i),    q_i(y) ∝ exp⟨w, φ(x_i, y)⟩

On `multiclass` this is multinomial logistic regression.

*Dual.* Over one distribution q_i on the outputs of each sample,

    max over q   Σ_i p_i H(q_i) − ‖Σ_i p_i E_{q_i} ψ_i‖²/(2λ),       H entropy, ψ_i(y) = φ(x_i, y_i) − φ(x_i, y),

and the model's own distributions at any w give the value F(w) − ‖∇F(w)‖²/(2λ) (docs/mathematics.md §4),
so a certificate needs w alone. The task loss does not enter F; predictions are the labels of highest score.

The declaration is an exponential-cone program (ECOS, CLARABEL, SCS): all outputs written out, or one
message per position and label for chains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.contracts import OF_MEANS, Marginals, Row, Terms
from workbench.formulations._ridge import Ridge
from workbench.objectives.likelihoods import Enumerated, declared


@dataclass(frozen=True)
class CRF(Ridge):
    """Conditional random field: min λ/2 ‖w‖² − Σ_i p_i log p(y_i | x_i; w), with `lam` = λ > 0 and p_i = 1/n.

    In packages that minimise ½‖w‖² − C Σ_i log p, C = 1/(λn); for labels this is logistic regression.
    """

    def terms(self, problem: Any) -> Terms:
        """By the problem's own marginals, or by listing its outputs where it has none."""
        return problem.marginals() if isinstance(problem, Marginals) else Enumerated(problem)

    def relations(self) -> Row:
        """Likelihoods do not look at ℓ."""
        return OF_MEANS

    def program(self, problem: Any) -> tuple[Any, Any]:
        return declared(self.lam, problem, self.terms(problem), self.prices(problem).floats())


NAMES = {"crf": CRF}
