"""The optimum over hidden states: enumeration, a mixed-integer solver, CCCP and self-paced learning (docs/latent.md).

Random small planted motifs: 6 to 8 sequences, 3 to 6 windows each, C ∈ {5, 10, 30}. Ways to min F(w) of latent-ssvm:

    enumeration   every choice of states h, each a convex program written out in full and solved by PIQP. Its weights
                  and multipliers are evaluated here, as F(w; h) and as the dual value

                      D(μ) = Σ_z μ_z Δ_z − ½‖Σ_z μ_z (Φ(x_i, y_i, h_i) − Φ_z)‖²,   μ ≥ 0,  Σ_{z of i} μ_z ≤ c_i,

                  so that min F is between the least D and the least F over all h
    scip          `mixed_program`; its states are kept, its value is not: the convex program at them is solved again
    planted       the convex program at the true states
    CCCP, and self-paced learning by slack, uncertainty, novelty: from the same random weights

An excess is F/min F − 1; the optimum is reached where that is at most 1e-6. Of several starts the best end counts,
"1 start" is the first one. better and worse count the instances on which a way ends below or above CCCP from as
many starts, planted below or above its best end, and p is that of a two-sided sign test on these.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from workbench.backends import BACKENDS, ConeProgram
from workbench.contracts import Floats, Ints
from workbench.data.loading import load_problem
from workbench.errors import checked_whole
from workbench.formulations.latent_ssvm import CompletedSSVM, LatentSSVM
from workbench.formulations.self_paced_latent import SelfPacedLatent
from workbench.objectives.pacing import CRITERIA, costs, rivals
from workbench.outputs.motif import Motif
from workbench.solving.solve import solve

AGREED = 1e-6
METHODS = ("CCCP", *CRITERIA)


def instances(count: int, most: int) -> Iterator[tuple[Motif, float]]:
    """Problems with at most `most` sequences, and C."""
    rng = np.random.default_rng(0)
    for draw in range(count):
        n, length, windows = int(rng.integers(most - 2, most + 1)), int(rng.integers(3, 6)), int(rng.integers(3, 7))
        span, mutation = length + windows - 1, float(rng.choice([0.0, 0.1, 0.3]))
        problem = load_problem("motif")(n=n, length=length, span=span, mutation=mutation, draw=draw)
        yield problem, float(rng.choice([5.0, 10.0, 30.0]))


def enumeration(problem: Any, C: float, K: float | None = None) -> tuple[float, float]:
    """(lower, upper) of min F over all states; with K over all selections as well, at s_i/K a sample left out."""
    c, moves = costs(problem, C), rivals(problem)
    charges = problem.weights / (K or np.inf)
    lower, upper = np.inf, np.inf
    for choice in itertools.product(*(range(-bool(K), len(states)) for states, _ in moves)):
        kept = np.flatnonzero(np.array(choice) >= 0)
        slopes = [moves[i][0][choice[i]] for i in kept]
        losses = [moves[i][1] for i in kept]
        ends = np.array(between(slopes, losses, c[kept])) + np.delete(charges, kept).sum()
        lower, upper = np.minimum((lower, upper), ends)
    return float(lower), float(upper)


def between(slopes: list[Floats], losses: list[Floats], c: Floats) -> tuple[float, float]:
    """A dual and a primal value of min ½‖w‖² + Σ c_i (max_z Δ_z − ⟨w, a_z⟩)₊; slopes (r, d), losses (r,) a sample."""
    if not slopes:
        return 0.0, 0.0
    a, loss = np.concatenate(slopes), np.concatenate(losses)
    owner = np.repeat(np.arange(len(c)), [len(each) for each in losses])
    (rows, d), n = a.shape, len(c)
    own = (owner[:, None] == np.arange(n)).astype(float)
    A = -np.block([[a, own], [np.zeros((n, d)), np.eye(n)]])
    P = np.diag(np.repeat([1.0, 0.0], [d, n]))
    program = ConeProgram(P, np.append(np.zeros(d), c), A, np.append(-loss, np.zeros(n)), 0, rows + n)
    answer = BACKENDS["PIQP"].solve(program, 1e-10)
    w, mu = answer.x[:d], answer.z[:rows]
    xi = np.where(own > 0, (loss - a @ w)[:, None], 0.0).max(axis=0)
    mu = mu * np.minimum(1.0, c / np.maximum(own.T @ mu, 1e-300))[owner]
    push = mu @ a
    return float(mu @ loss - push @ push / 2), float(w @ w / 2 + c @ xi)


def mixed(problem: Any, C: float) -> float:
    """F at the states that SCIP finds."""
    program = LatentSSVM(C).mixed_program(problem)
    program.program.solve(solver="SCIP")
    return at(problem, C, program.chosen()[0])


def at(problem: Any, C: float, states: Ints) -> float:
    """min F(w; h)."""
    return solve(CompletedSSVM(C, tuple(states)), problem).upper


def ends(problem: Any, method: str, C: float, starts: int) -> Floats:
    """F (starts,) at the end of each start."""
    shares = {name: float(name == method) for name in CRITERIA}
    form = SelfPacedLatent(C, **shares, starts=starts) if method in CRITERIA else LatentSSVM(C, starts=starts)
    last = {entry["start"]: entry["value"] for entry in solve(form, problem).history}
    return np.array([last[start] for start in range(starts)])


def compared(problem: Any, C: float, starts: int, scip: bool) -> dict[str, Any]:
    """One instance: excesses of all ways over the enumerated optimum."""
    lower, upper = enumeration(problem, C)
    row: dict[str, Any] = {"n": problem.n_samples, "states": int(np.prod(problem.n_hidden)), "C": C, "optimum": upper}
    row |= {"width": 1 - lower / upper, "planted": at(problem, C, problem.truth[:, 1]) / upper - 1}
    row |= {"scip": mixed(problem, C) / upper - 1} if scip else {}
    return row | {method: ends(problem, method, C, starts) / upper - 1 for method in METHODS}


def summary(name: str, starts: int, excess: Floats, plain: Floats) -> dict[str, Any]:
    """How often the optimum is reached, excesses (count,), and the sign test against those of CCCP (count,)."""
    from scipy.stats import binomtest

    better, worse = int((excess < plain - AGREED).sum()), int((excess > plain + AGREED).sum())
    row = {"way": name, "starts": starts, "reached": int((excess <= AGREED).sum()), "mean_excess": float(excess.mean())}
    row |= {"max_excess": float(excess.max()), "better": better, "worse": worse}
    return row | {"p": float(binomtest(better, better + worse).pvalue) if better + worse else 1.0}


def hidden_states(count: int = 40, starts: int = 5, most: int = 8) -> dict[str, Any]:
    """How often each way reaches the enumerated optimum over hidden states (`rows`), and by how much it misses.

    width : the widest interval of the enumeration, relative;  scip_agreed : instances on which SCIP's states lead to
    the same optimum to 1e-6;  below : ends below the enumerated optimum;  cases : one row an instance, best ends
    """
    checked_whole(1, count=count, starts=starts, most=most)
    scip = find_spec("pyscipopt") is not None
    told = [compared(problem, C, starts, scip) for problem, C in instances(count, most)]
    excess = {method: np.array([each[method] for each in told]) for method in METHODS}
    best = excess["CCCP"].min(axis=1)
    rows = [summary("planted", 0, np.array([each["planted"] for each in told]), best)]
    for method, found in excess.items():
        rows += [summary(method, 1, found[:, 0], excess["CCCP"][:, 0])]
        rows += [summary(method, starts, found.min(axis=1), best)]
    return {
        "instances": len(told),
        "width": max(each["width"] for each in told),
        "scip_instances": sum("scip" in each for each in told),
        "scip_agreed": sum(abs(each["scip"]) <= AGREED for each in told if "scip" in each),
        "below": sum(int((found < -AGREED).sum()) for found in excess.values()),
        "rows": rows,
        "cases": [{k: float(np.min(v)) if k in METHODS else v for k, v in each.items()} for each in told],
    }


NAMES = {"hidden-states": hidden_states}
