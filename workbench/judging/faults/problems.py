"""The random problems that planted faults are run on: seven families, few outputs per sample, and hard cases.

    multiclass uncentred chain matching linear    soft margin, or conditional likelihood for gradient, lbfgs, saga
    costs shares                                  normalised and simplex cost learning

Every problem has sample weights, and its last sample has a wrong label and weighs most.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import kept_rows
from workbench.contracts import Floats, Formulation, Ints, Labelled, Problem
from workbench.formulations.cost_learning import NormalizedCostLearning, SimplexCostLearning
from workbench.formulations.crf import CRF
from workbench.formulations.soft_margin import SoftMargin
from workbench.judging.relations import inputs, taken
from workbench.outputs.chain import Chain
from workbench.outputs.linear import Linear
from workbench.outputs.matching import Matching
from workbench.outputs.multiclass import Multiclass

LAMS = {
    "multiclass": 0.7,
    "uncentred": 0.7,
    "chain": 2.0,
    "matching": 0.3,
    "linear": 0.6,
    "costs": 30.0,
    "shares": 30.0,
}
LIKELIHOOD = ("gradient", "lbfgs", "saga")
HOSTS = {
    "multiclass": ("subgradient", "projected", "bcfw", "dual-ascent", *LIKELIHOOD),
    "uncentred": ("lbfgs",),
    "chain": ("subgradient", "projected", "bcfw", "dual-ascent", *LIKELIHOOD),
    "matching": ("subgradient", "projected", "bcfw", "dual-ascent"),
    "linear": ("subgradient", "projected", "bcfw", "dual-ascent", *LIKELIHOOD),
    "costs": ("adagrad",),
    "shares": ("adagrad",),
}


def uneven(rng: np.random.Generator, n: int) -> Floats:
    """Sample weights 1 to 3; the last sample, whose label is wrong in all problems, weighs 6."""
    return np.append(rng.integers(1, 4, n - 1), 6).astype(float)


def uneven_costs(rng: np.random.Generator, k: int) -> Floats:
    return rng.uniform(0.5, 2, (k, k)) * (1 - np.eye(k))


def clouds(rng: np.random.Generator, n: int, k: int, p: int) -> tuple[Floats, Ints]:
    """Normal clouds with an intercept, (n, p), and their labels."""
    y = np.append(np.arange(k), rng.integers(k, size=n - k))
    X = np.hstack([rng.normal(size=(n, p - 1)) + 1.5 * rng.normal(size=(k, p - 1))[y], np.ones((n, 1))])
    y[-1] = (y[-1] + 1) % k
    return X, y


def multiclass(rng: np.random.Generator, k: int = 4) -> Multiclass:
    X, y = clouds(rng, 24, k, 5)
    return Multiclass(X, y, uneven_costs(rng, k), uneven(rng, 24))


def uncentred(rng: np.random.Generator) -> Multiclass:
    """One column is counted from far away, like a year."""
    X, y = clouds(rng, 24, 4, 5)
    return Multiclass(X + np.array([2000.0, 0, 0, 0, 0]), y, None, uneven(rng, 24))


def linear(rng: np.random.Generator) -> Linear:
    X, y = clouds(rng, 30, 2, 5)
    return Linear(X, 2.0 * y - 1, uneven(rng, 30))


def chain(rng: np.random.Generator, k: int = 3) -> Chain:
    """10 words of 2 to 4 letters, labels by a Markov chain."""
    moves, means, words, labels = 1.5 * rng.normal(size=(k, k)), 1.2 * rng.normal(size=(k, 3)), [], []
    for _ in range(10):
        y = [int(rng.integers(k))]
        for _ in range(int(rng.integers(1, 4))):
            y.append(int((moves[y[-1]] + rng.gumbel(size=k)).argmax()))
        words.append(0.6 * np.hstack([means[y] + rng.normal(size=(len(y), 3)), np.ones((len(y), 1))]))
        labels.append(np.array(y))
    labels[-1] = (labels[-1] + 1) % k
    return Chain(words, labels, cost=uneven_costs(rng, k), weights=uneven(rng, 10), classes=np.arange(k))


def matching(rng: np.random.Generator) -> Matching:
    """12 samples of 2 or 3 rows and 3 columns; the truth is the heaviest matching of noisy scores."""
    from scipy.optimize import linear_sum_assignment  # a quarter of a second, which most runs do without

    w, edges, gold = np.append(1.5 * rng.normal(size=3), 0.5), [], []
    for _ in range(12):
        features = rng.normal(size=(int(rng.integers(2, 4)), 3, 4))
        features[..., -1] = 1
        gains = features @ w + 0.5 * rng.normal(size=features.shape[:2])
        links = zip(*linear_sum_assignment(np.maximum(gains, 0), maximize=True), strict=True)
        edges.append(features)
        gold.append([(j, k) for j, k in links if gains[j, k] > 0])
    gold[-1] = [(0, 0), (1, 2)]
    return Matching(edges, gold, false_positive=1.0, false_negative=2.0, weights=uneven(rng, 12))


def table(rng: np.random.Generator, k: int = 3) -> Multiclass:
    X, y = clouds(rng, 20, k, 4)
    return Multiclass(X, y, None, uneven(rng, 20))


PROBLEMS = {
    "multiclass": multiclass,
    "uncentred": uncentred,
    "chain": chain,
    "matching": matching,
    "linear": linear,
    "costs": table,
    "shares": table,
}


# ── hard cases ────────────────────────────────────────────────────────────────────────────────────

HARD = ("λ 1e-4", "λ 1e-2", "λ 1", "λ 1e2", "scaled", "passes 8", "passes 32")
HARD += ("tiny", "many classes", "duplicates", "collinear")
LENIENT = {"uncentred": ("λ 1e-2", "λ 1", "passes 8")}  # a column like a year is hard enough
MANY = {"multiclass": 9, "chain": 5, "costs": 6, "shares": 6}  # classes; linear and matching have none to add


def hard_cases(family: str) -> tuple[str, ...]:
    """The hard cases that a family has."""
    return tuple(case for case in LENIENT.get(family, HARD) if case != "many classes" or family in MANY)


def drawn(family: str, seed: int, case: str = "") -> tuple[Problem, float | None, int | None]:
    """The problem of that seed, λ and passes where the case says them."""
    rng = np.random.default_rng([seed, *map(ord, family)])
    lam = float(case.removeprefix("λ ")) if case.startswith("λ ") else None
    passes = int(case.split()[1]) if case.startswith("passes ") else None
    problem = PROBLEMS[family](rng, MANY[family]) if case == "many classes" else PROBLEMS[family](rng)
    return CHANGES[case](problem, rng) if case in CHANGES else problem, lam, passes


def with_columns(problem: Problem, change: Callable[[Floats], Floats]) -> Problem:
    """The same problem with its inputs (rows, p) changed."""
    arrays = dict(problem.arrays())
    return type(problem).from_arrays(arrays | kept_rows(sparse.csr_array(change(inputs(arrays).toarray()))))


def scaled(problem: Problem, rng: np.random.Generator) -> Problem:
    """Every column multiplied by 10^−2 to 10^2."""
    return with_columns(problem, lambda X: X * 10 ** rng.uniform(-2, 2, X.shape[1]))


def tiny(problem: Problem, rng: np.random.Generator) -> Problem:
    """Three to five of its samples, the last one with them; more where that many labels are to occur."""
    some = rng.permutation(problem.n_samples - 1)[: int(rng.integers(2, 5))]
    return taken(problem, np.append(covering(problem, some), problem.n_samples - 1))


def duplicates(problem: Problem, rng: np.random.Generator) -> Problem:
    """A third of its samples, each three times, and the last one; every label among them."""
    n = problem.n_samples
    some = covering(problem, rng.permutation(n - 1)[: n // 3])
    return taken(problem, np.append(np.tile(some, 3), n - 1))


def covering(problem: Problem, samples: Ints) -> Ints:
    """The samples, some replaced by one of each label: the plain learners take every label to occur."""
    if problem.width > 1 or not isinstance(problem, Labelled):
        return samples
    first = [int(np.flatnonzero(problem.labels == label)[0]) for label in range(len(problem.classes))]
    others = [each for each in samples.tolist() if each not in first]
    return np.array([*first, *others[: max(len(samples) - len(first), 0)]])


def collinear(problem: Problem, rng: np.random.Generator) -> Problem:
    """The second column is the first, but for one part in ten thousand."""
    return with_columns(
        problem, lambda X: np.column_stack([X[:, 0], X[:, 0] + 1e-4 * rng.normal(size=len(X)), X[:, 2:]])
    )


CHANGES = {"scaled": scaled, "tiny": tiny, "duplicates": duplicates, "collinear": collinear}


def formulated(method: str, family: str, lam: float | None = None) -> Formulation:
    """What a method minimises on a family; `lam` in place of the usual λ (λ₂ of cost learning)."""
    lam = LAMS[family] if lam is None else lam
    if family == "costs":
        return NormalizedCostLearning(lam2=lam, lam1=0.5, K=2.0, counts="logical")
    if family == "shares":
        return SimplexCostLearning(lam2=lam, lam1=0.5, K=4.0)
    return CRF(lam) if method in LIKELIHOOD else SoftMargin(lam)
