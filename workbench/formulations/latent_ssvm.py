"""Latent structural SVM (Yu & Joachims 2009; docs/mathematics.md §6): each sample hides a variable h_i.

    min over w   F(w) = ½‖w‖² + Σ_i c_i ξ_i(w),      c_i = C s_i/Σs   (s_i the sample weights, 1 unless given)
    ξ_i(w) = max over (ŷ, ĥ) of [Δ(y_i, ŷ) + ⟨w, Φ(x_i, ŷ, ĥ)⟩] − max over h of ⟨w, Φ(x_i, y_i, h)⟩

F is a difference of convex functions. At fixed states h the second maximum is bounded from below by one of its members:

    F(w) ≤ F(w; h) = ½‖w‖² + Σ_i c_i max(0, max over z of [Δ_z + ⟨w, Φ_z − Φ(x_i, y_i, h_i)⟩]),

z running over the rivals (ŷ, ĥ), ŷ ≠ y_i, with equality at w if h = argmax: a majorant. (The usual one has ŷ = y_i
among its z as well; it is tight at the same w but lies above this one.) CCCP minimises F(·; h) (`completed-ssvm`,
certified), then sets h to the argmax, and again. F never rises; the loop in solving/majorize.py holds it to that. The
end is stationary: for the w that h leads to, no states are better than h. A stationary end proves nothing about min F,
hence several seeded starts, each from the best states for random weights. (Random states are contradicted by some
window of every negative sample, and lead to w = 0.)

*Dual.* F is not convex and has none without a gap. That of F(·; h), `completed-ssvm`, over weights α_i ≥ 0 on the
rivals of each sample with Σ_z α_i(z) ≤ 1, is

    max   Σ_i c_i Σ_z α_i(z) Δ_z − ½‖Σ_i c_i Σ_z α_i(z) (Φ(x_i, y_i, h_i) − Φ_z)‖²

The least F itself is a mixed-integer program, one binary u_ih a state (`mixed_program`):

    min ½‖w‖² + Σ_i t_i    s.t.  t_i ≥ c_i(Δ_z + ⟨w, Φ_z − Φ(x_i, y_i, h)⟩) − M_i(1 − u_ih),  t ≥ 0,  Σ_h u_ih = 1,
    M_i = c_i(max Δ + ρ max‖Φ_z − Φ(x_i, y_i, h)‖),      ρ = √(2 Σ_i c_i max Δ).

With charges κ_i for leaving a sample out, the last condition is Σ_h u_ih ≤ 1, the objective has
+ Σ_i κ_i(1 − Σ_h u_ih), and ρ = √(2 Σ_i min(c_i max Δ, κ_i)). Either ρ is √(2F) or more at w = 0, so an optimum has
‖w‖ ≤ ρ, where no hinge exceeds M_i: a state that is not chosen asks nothing of t_i.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from workbench.contracts import Blocks, Floats, Ints, Latent, Prices, Row
from workbench.errors import BadInput, MissingCapability, checked_positive, checked_whole
from workbench.objectives.oracles import MarginRescaling
from workbench.objectives.pacing import costs, hinges, rivals
from workbench.objectives.regularizers import SquaredNorm

KEPT = "give a 1 for each sample that is kept and a 0 for the others"


@dataclass(frozen=True)
class Completion(MarginRescaling):
    """The hinge of a completed problem; predictions are those of the problem whose states are hidden."""

    hidden: Any

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        return self.hidden.argmax(theta, samples, augment=False)


@dataclass(frozen=True)
class CompletedSSVM:
    """F(w; h) at the hidden `states` h, over the samples that are `kept`; by default the states of the data, and all
    samples.

    Prices are s_i v_i/(Σs/C) with v_i = 1 for a sample that is kept, else 0; at least one sample of positive weight
    must be kept.
    """

    C: float = 10.0
    states: tuple[int, ...] | None = None
    kept: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        checked_positive(C=self.C)
        if self.states is not None:
            object.__setattr__(self, "states", whole("states", self.states, "give a whole number for each sample"))
        if self.kept is not None:
            object.__setattr__(self, "kept", kept := whole("kept", self.kept, KEPT))
            if not set(kept) <= {0, 1}:
                raise BadInput(f"kept is {shown(kept)}; {KEPT}.")

    def relations(self) -> Row:
        """None: the states belong to samples in their order, and motifs to no layout that relations read."""
        return {}

    def blocks(self, problem: Any) -> Blocks:
        return Blocks(w=(problem.n_features,))

    def regularizer(self, problem: Any) -> SquaredNorm:
        return SquaredNorm(1.0)

    def prices(self, problem: Any) -> Prices:
        kept = np.ones(problem.n_samples) if self.kept is None else np.array(self.kept, float)
        if kept.shape != problem.weights.shape:
            raise BadInput(f"kept has {len(kept)} entries for {problem.n_samples} samples; give one for each.")
        if not (problem.weights * kept).any():
            raise BadInput("kept leaves no sample with weight to learn from; keep one at least.")
        total = sum(map(Fraction, problem.weights.tolist()), Fraction(0)) / Fraction(self.C)
        return Prices(problem.weights * kept, float(total))  # rounded once: the certificate's format says so

    def oracle(self, problem: Any) -> MarginRescaling:
        if self.states is None:
            return MarginRescaling(problem)
        return Completion(latent(problem).completed(np.array(self.states)), problem)

    def program(self, problem: Any, cuts: Any) -> Any:
        import cvxpy as cp

        w, xi = cp.Variable(problem.n_features), cp.Variable(cuts.groups)
        return cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cuts.prices @ xi), cuts([w], xi))


def whole(name: str, values: Any, fix: str) -> tuple[int, ...]:
    """The values (n,) as ints, or `BadInput` if they are not whole numbers."""
    try:
        array = np.asarray(values)
    except ValueError:  # of several lengths
        array = np.empty(0, object)
    row = array.ndim == 1 and array.dtype.kind in "biuf"
    if not row or (np.floor(array) != array).any() or (abs(array) >= 2**53).any():
        raise BadInput(f"{name} is {shown(values)}; {fix}.")
    return tuple(map(int, array))


def shown(values: Any) -> str:
    """The given values as text, shortened to what fits into a sentence."""
    text = " ".join(repr(values).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


class MixedProgram(NamedTuple):
    """A cp.Problem, its w (p,) and its binaries u, one a sample and state: `samples` and `states` say which."""

    program: Any
    w: Any
    u: Any
    samples: Ints
    states: Ints

    def chosen(self) -> tuple[Ints, Ints]:
        """After the solve: the state of each sample, the first if it is left out, and whether it is kept (n,)."""
        best, kept = [], []
        for i in range(int(self.samples[-1]) + 1):
            own = self.samples == i
            shares = self.u.value[own]
            best.append(self.states[own][int(shares.argmax())])
            kept.append(int(shares.max() > 0.5))
        return np.array(best), np.array(kept)


class Restarted:
    """Weights alone, learned from the states `first(problem, number)`, number = 0, …, `starts` − 1."""

    C: float
    starts: int
    first: Callable[[Any, int], Floats]

    def relations(self) -> Row:
        """None: an alternation has no optimum that a relation could move."""
        return {}

    def blocks(self, problem: Any) -> Blocks:
        return Blocks(w=(latent(problem).n_features,))

    def start(self, problem: Any) -> Floats:
        return self.first(problem, 0)

    def completed(self, states: Ints) -> CompletedSSVM:
        """The convex program with these hidden states (n,)."""
        return CompletedSSVM(self.C, tuple(states.tolist()))

    def restarts(self, problem: Any) -> list[Floats]:
        """The other first states."""
        return [self.first(problem, number) for number in range(1, self.starts)]


@dataclass(frozen=True)
class LatentSSVM(Restarted):
    """Latent structural SVM by CCCP; slack costs `C` = C > 0.

    CCCP runs `starts` times from the best states for random weights (seed `start_seed`); the solution is the best end.
    """

    C: float = 10.0
    starts: int = 5
    start_seed: int = 0

    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_positive(C=self.C)
        checked_whole(1, starts=self.starts)
        checked_whole(0, start_seed=self.start_seed)

    def first(self, problem: Any, number: int) -> Floats:
        """The first state of the start with this number, drawn from the seed."""
        return drawn(problem, self.start_seed, number).astype(float)

    def surrogate(self, problem: Any, state: Floats) -> CompletedSSVM:
        return self.completed(state.astype(np.int64))

    def step(
        self, problem: Any, theta: Floats, state: Floats, solve: Callable[[Any], Any]
    ) -> tuple[Floats, dict[str, Any]]:
        states = imputed(problem, theta, state.astype(np.int64))
        return states.astype(float), {"moved": int((states != state).sum())}

    def value(self, problem: Any, theta: Floats) -> float:
        return objective(problem, theta, self.C)

    def mixed_program(self, problem: Any, K: float | None = None) -> MixedProgram:
        """The program of the module's docstring; with charges s_i/K if K is given."""
        import cvxpy as cp

        c = costs(latent(problem), self.C)
        kappa = problem.weights / (K or np.inf)
        n, owners, states, rows, losses, of = problem.n_samples, [], [], [], [], []
        for i, (moves, loss) in enumerate(rivals(problem)):
            for state, slopes in zip(problem.hidden(i), moves, strict=True):
                of += [len(owners)] * len(loss)
                owners, states = [*owners, i], [*states, int(state)]
                rows, losses = [*rows, -slopes], [*losses, loss]
        owners, of, slopes, loss = np.array(owners), np.array(of), np.concatenate(rows), np.concatenate(losses)
        at_zero = np.minimum(c * loss.max(), kappa) if K else c * loss.max()
        most = c * (loss.max() + np.sqrt(2 * at_zero.sum()) * np.sqrt((slopes**2).sum(axis=1)).max())
        w, t, u = cp.Variable(problem.n_features), cp.Variable(n), cp.Variable(len(owners), boolean=True)
        sample = owners[of]
        hinge = cp.multiply(c[sample], slopes @ w + loss) - cp.multiply(most[sample], 1 - u[of])
        kept = (owners == np.arange(n)[:, None]).astype(float) @ u
        penalty = cp.sum_squares(w) / 2 + cp.sum(t) + (kappa @ (1 - kept) if K else 0)
        once = kept <= 1 if K else kept == 1
        return MixedProgram(
            cp.Problem(cp.Minimize(penalty), [t >= 0, t[sample] >= hinge, once]), w, u, owners, np.array(states)
        )


def latent(problem: Any) -> Any:
    """The problem, if it hides variables; else `MissingCapability`."""
    if not isinstance(problem, Latent):
        raise MissingCapability(f"{type(problem).__name__} hides no variables; use soft-margin or self-paced.")
    return problem


def drawn(problem: Any, seed: int, number: int) -> Ints:
    """The best states (n,) for random weights; start `number` of a seed is the same for every formulation."""
    return latent(problem).impute(np.random.default_rng([seed, number]).normal(size=problem.n_features))


def imputed(problem: Any, theta: Floats, states: Ints) -> Ints:
    """The best states (n,) for θ; ties, and samples of weight 0, keep the given `states`."""
    return np.where(problem.weights > 0, problem.impute(theta, states), states)


def objective(problem: Any, theta: Floats, C: float) -> float:
    """F(w), the states at their best."""
    return float(theta @ theta / 2 + (costs(problem, C) * hinges(problem, theta, problem.impute(theta))).sum())


NAMES = {"latent-ssvm": LatentSSVM, "completed-ssvm": CompletedSSVM}
