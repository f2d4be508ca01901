"""The table of cost learning: what learned costs change in accuracy, every row certified (docs/mathematics.md §5).

Rows: the plain SVM (all costs 1), objective (1), objective (10) for every n_S, and costs by κ-difficulty with the
cosine step; columns: ordered and unordered pairs. Data: `reuters` (R8, all 5,485 stories unless n says less, tested
on 2,189) and `digits` (balanced; the first 1,000, tested on the other 797).

Costs are K = 1 an error in the SVM and in (10). On the simplex they share K, so K is the number of reachable
classes there: 1 an error on average (K only rescales λ₂: docs/mathematics.md §5). λ₂ is one for all rows.

**How a cell is certified.** The dual over α_i in the simplex of labels, by pairwise steps as in `dual-block`, with
W = −d/(2λ₂), l = Σα(l(y) − l(y_i)), and proximal terms for what is not strongly convex (method of multipliers):

    b = b₀ − s² l/(2λ₂),    (10)  v_S = (1 − q_S/n_S)₊,    (1)  v = the projection of v₀ − Kq/ε onto the simplex

b₀ and v₀ become b and v every few passes. s² is the mean ‖x_i‖² and ε = K²λ₂/s², so that biases and costs move
about as fast as weights. Along a pair (y⁺, y⁻) of sample i the curvature is at most (‖x_i‖² + s²)/λ₂ +
K(1/n_{S⁺} + 1/n_{S⁻}), or + 2K²/ε, so no step lowers the dual. None of that enters a bound: both are `Bounds` of
the formulation itself, with the weights balanced so that l = 0.

Accuracies carry exact (Clopper–Pearson) 95 % intervals; each row is compared with the SVM by McNemar's exact test
on the stories that one of the two gets wrong.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from workbench import compiled as machine
from workbench.bounds import Bounds
from workbench.costs import reachable
from workbench.errors import MissingCapability
from workbench.formulations.cost_learning import NormalizedCostLearning, SimplexCostLearning
from workbench.formulations.fixed_cost import FixedCostLearning
from workbench.formulations.kappa_difficulty import KappaDifficulty
from workbench.majorize import alternate
from workbench.outputs.multiclass import Multiclass
from workbench.registries import load_problem
from workbench.regularizers import projected
from workbench.structures import Cuts, Floats, Ints

REFRESHED = 5  # passes between two moves of b₀ and v₀
MOST = 5000  # passes
ROUNDS = 12  # of an alternation
LEVEL = 0.05
COUNTS = ("none", "total", "logical", "expected")  # n_S: 1, N, by label counts, by chance
PUBLISHED = {"expected": (0.759, 1.0), "logical": (0.907, 1.0), "total": (0.999, 1.0)}  # ranges of v, McDowell & Smith


class Dual(NamedTuple):
    """α (n, k) and what follows from it and from b₀ and v₀: W (k, p), b (k,), q and v (m,)."""

    alpha: Floats
    W: Floats
    b: Floats
    q: Floats
    v: Floats
    before: Floats  # v₀


class Terms(NamedTuple):
    """The problem in arrays, and r of v: n_S for (10), ε for (1), none of both for fixed v."""

    indptr: Ints
    columns: Ints
    values: Floats
    squares: Floats  # ‖x_i‖² + s²
    labels: Ints
    table: Ints
    counts: Floats
    live: Ints
    epsilon: float
    ridge: float  # s²
    lam2: float
    K: float


def ascend(order: Ints, projected, terms: Terms, dual: Dual) -> int:
    """One pairwise step for each sample in `order`; how many moved."""
    indptr, columns, values, squares, labels, table, counts, live, epsilon, ridge, lam2, K = terms
    alpha, W, b, q, v, before = dual
    k, moved, scores = len(b), 0, np.zeros(len(b))
    for i in order:
        own = labels[i]
        for y in range(k):
            score = b[y]
            for j in range(indptr[i], indptr[i + 1]):
                score += W[y, columns[j]] * values[j]
            scores[y] = score if y == own else score + K * v[table[own, y]]
        up, down = int(np.argmax(scores)), own
        for y in range(k):
            if alpha[i, y] > 0.0 and (alpha[i, down] <= 0.0 or scores[y] < scores[down]):
                down = y
        rise = scores[up] - scores[down]
        if rise <= 0.0:
            continue
        curvature = squares[i] / lam2
        for y in (up, down):
            if y != own and len(counts) > 0:
                curvature += K / counts[table[own, y]]
            elif y != own and len(live) > 0:
                curvature += K * K / epsilon
        step = min(alpha[i, down], rise / curvature)
        moved += 1
        for y, sign in ((up, step), (down, -step)):
            alpha[i, y] += sign
            b[y] -= sign * ridge / (2.0 * lam2)
            for j in range(indptr[i], indptr[i + 1]):
                W[y, columns[j]] -= sign * values[j] / (2.0 * lam2)
            if y != own:
                S = table[own, y]
                q[S] += sign
                if len(counts) > 0:
                    v[S] = max(1.0 - q[S] / counts[S], 0.0)
        if len(live) > 0 and (up != own or down != own):
            pull = before[live] - K * q[live] / epsilon
            v[live] = projected(pull, np.ones(len(live)))
    return moved


class Cell(NamedTuple):
    """A certified optimum, with what `alternate` asks of one."""

    theta_flat: Floats
    upper: float
    lower: float
    gap: float
    cuts: int
    v: Floats
    passes: int


class Solver:
    """Certifies formulations on one problem to a relative gap, each from the α of the last."""

    def __init__(self, problem: Multiclass, gap: float, seed: int = 0):
        if not machine.available():
            raise MissingCapability("cost-table needs numba; pip install 'cutbench[fast]'.")
        self.problem, self.gap, self.rng = problem, gap, np.random.default_rng(seed)
        k, X = len(problem.classes), problem.X
        self.alpha, self.b = np.eye(k)[problem.labels], np.zeros(k)
        squares: Floats = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        self.ridge = float(squares.mean())
        self.arrays = (
            X.indptr.astype(np.int64),
            X.indices.astype(np.int64),
            X.data,
            squares + self.ridge,
            problem.labels,
        )

    def __call__(self, formulation: Any, *_: Any) -> Cell:
        bounds, terms = Bounds(formulation, self.problem), self.terms(formulation)
        cuts, best, passes = Cuts(bounds.oracle.dim, 1), Best(), 0
        dual = self.dual(terms, bounds)
        step = ascent(terms, dual)
        while bounds.gap(best.upper, best.lower) > self.gap and passes < MOST:
            for _ in range(max(1, passes // REFRESHED // 2)):
                for _ in range(REFRESHED):
                    step(self.rng.permutation(self.problem.n_samples))
                passes += REFRESHED
                self.refresh(terms, dual)
            self.look(bounds, cuts, dual, best)
        gap = bounds.gap(best.upper, best.lower)
        return Cell(best.theta, best.upper, best.lower, gap, len(cuts), best.v, passes)

    def refresh(self, terms: Terms, dual: Dual) -> None:
        """b₀ ← b and v₀ ← v, and what follows."""
        residual = dual.alpha.sum(axis=0) - np.bincount(terms.labels, minlength=len(dual.b))
        dual.b[:] -= terms.ridge * residual / (2 * terms.lam2)
        self.b = dual.b + terms.ridge * residual / (2 * terms.lam2)
        if len(terms.live):
            dual.before[:] = dual.v
            dual.v[terms.live] = costs(terms, dual)

    def terms(self, form: Any) -> Terms:
        """r of v by the kind of formulation."""
        table, none = form.classes(self.problem).table[0], np.empty(0)
        counts = form.expected(self.problem) if isinstance(form, NormalizedCostLearning) else none
        simplex = isinstance(form, SimplexCostLearning)
        live = np.flatnonzero(reachable(self.problem, form.classes(self.problem))) if simplex else np.empty(0, int)
        scales = float(form.K**2 * form.lam2 / self.ridge), self.ridge, float(form.lam2), float(form.K)
        return Terms(*self.arrays, np.ascontiguousarray(table), counts, live, *scales)

    def dual(self, terms: Terms, bounds: Bounds) -> Dual:
        """What follows from α; costs as they are where they are given."""
        k, lam2 = len(self.problem.classes), terms.lam2
        moved = self.alpha - np.eye(k)[self.problem.labels]
        W, b = -(self.problem.X.T @ moved).T / (2 * lam2), self.b - terms.ridge * moved.sum(axis=0) / (2 * lam2)
        m = int(terms.table.max()) + 1
        classes = terms.table[self.problem.labels]
        q = np.bincount(classes[classes >= 0], self.alpha[classes >= 0], m)
        if len(terms.counts):
            v = np.where(terms.counts > 0, np.maximum(1 - q / np.where(terms.counts > 0, terms.counts, 1), 0), 0)
        else:
            v = bounds.start[-m:].copy() if len(terms.live) else bounds.oracle.v.copy()
        dual = Dual(self.alpha, np.ascontiguousarray(W), b, q, v, v.copy())
        if len(terms.live):
            dual.v[terms.live] = costs(terms, dual)
        return dual

    def look(self, bounds: Bounds, cuts: Cuts, dual: Dual, best: Best) -> None:
        """Both bounds of now, if they are better."""
        theta = np.concatenate([dual.W.ravel(), dual.b, dual.v])[: bounds.oracle.dim]
        upper = bounds.upper(theta)
        if upper < best.upper:
            best.upper, best.theta, best.v = upper, theta, dual.v.copy()
        samples, labels = np.nonzero(dual.alpha > 0)
        ids = cuts.add(samples, labels[:, None], bounds.oracle.rows)
        weights = np.bincount(ids, dual.alpha[samples, labels], len(cuts))
        best.lower = max(best.lower, bounds.lower(cuts, bounds.balanced(cuts, weights)))


@dataclass
class Best:
    """The best bounds so far, and where the upper one is attained."""

    upper: float = np.inf
    lower: float = -np.inf
    theta: Floats = field(default_factory=lambda: np.empty(0))
    v: Floats = field(default_factory=lambda: np.empty(0))


def costs(terms: Terms, dual: Dual) -> Floats:
    """v on the simplex, its live entries."""
    live = terms.live
    return projected(dual.before[live] - terms.K * dual.q[live] / terms.epsilon, np.ones(len(live)))


def ascent(terms: Terms, dual: Dual) -> Any:
    """step(order), compiled."""
    floats, order = terms.values, terms.indptr
    onto = machine.compiled_function(projected, (floats, floats), "floats")
    swept = machine.compiled_function(ascend, (order, onto, terms, dual), "int64")
    return lambda order: swept(order, onto, terms, dual)


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────


def cost_table(
    n: int | None = None, lam2: float = 0.1, gap: float = 1e-3, data: str | None = None, only: str = "reuters,digits"
) -> dict[str, Any]:
    """Rows for every cell, and whether the published findings hold; `failed` counts cells above the gap."""
    rows, findings = [], []
    for name in only.split(","):
        told = table(name, *datasets(name, n, data), lam2, gap)
        rows += told
        findings += judged(name, told)
    failed = sum(row["gap"] > gap for row in rows)
    return {"rows": rows, "findings": findings, "seconds": sum(row["seconds"] for row in rows), "failed": failed}


def datasets(name: str, n: int | None, data: str | None) -> tuple[Multiclass, Multiclass]:
    """What is learned from, and what is tested on."""
    if name == "reuters":
        make = load_problem("reuters")
        return make(n=n, data=data), make(n=n, split="test", data=data)
    digits = load_problem("digits")(n=1797)
    size = min(n or 1000, 1000)
    parts = [(digits.X[part], digits.labels[part]) for part in (slice(size), slice(1000, None))]
    return tuple(Multiclass(X, y, classes=np.arange(10)) for X, y in parts)


def cells(problem: Multiclass, lam2: float) -> list[tuple[str, str, str, Any]]:
    """(method, factoring, n_S, formulation) of each row, the SVM first."""
    found = [("svm", "-", "-", FixedCostLearning(lam2=lam2))]
    for factoring in ("ordered", "unordered"):
        k = len(problem.classes)
        share = float(k * (k - 1) // (1 if factoring == "ordered" else 2))
        found.append(("objective 1", factoring, "-", SimplexCostLearning(lam2, 0.0, share, factoring)))
        found += [("objective 10", factoring, c, NormalizedCostLearning(lam2, 0.0, 1.0, factoring, c)) for c in COUNTS]
        found.append(("cosine kappa", factoring, "-", KappaDifficulty(lam2, 0.0, share, factoring)))
    return found


def table(name: str, problem: Multiclass, test: Multiclass, lam2: float, gap: float) -> list[dict[str, Any]]:
    solver, rows, baseline = Solver(problem, gap), [], np.empty(0)
    for method, factoring, counts, form in cells(problem, lam2):
        start, extra = time.process_time(), {}
        if isinstance(form, KappaDifficulty):
            found = alternate(form, problem, solver, max_rounds=ROUNDS)
            cell, v = found.inner, found.states[-2]
            extra = {"status": found.status, "rounds": len(found.history), "cycle": found.cycle}
            worst = max(entry["gap"] for entry in found.history)
        else:
            cell = solver(form)
            v, worst, extra = cell.v, cell.gap, {"passes": cell.passes}
        right = predictions(cell.theta_flat, problem, test) == test.labels
        baseline = right if method == "svm" else baseline
        known = reachable(problem, form.classes(problem))
        rows.append(
            {
                "problem": name,
                "method": method,
                "factoring": factoring,
                "n_S": counts,
                "upper": cell.upper,
                "lower": cell.lower,
                "gap": worst,
                "accuracy": float(right.mean()),
                **interval(int(right.sum()), len(right)),
                **mcnemar(right, baseline),
                "v_least": float(v[known].min()),
                "v_greatest": float(v[known].max()),
                "v_published": PUBLISHED.get(counts),
                **extra,
                "seconds": time.process_time() - start,
            }
        )
    return rows


def predictions(theta: Floats, problem: Multiclass, test: Multiclass) -> Ints:
    """Labels by W and b."""
    d, k = problem.n_features, len(problem.classes)
    return (problem.scores(theta[:d], test.X) + theta[d : d + k]).argmax(axis=1)


def interval(right: int, total: int) -> dict[str, float]:
    """The Clopper–Pearson interval of a share."""
    found = stats.binomtest(right, total).proportion_ci(0.95)
    return {"accuracy_low": float(found.low), "accuracy_high": float(found.high)}


def mcnemar(right: Any, baseline: Any) -> dict[str, Any]:
    """Stories that only this row, only the SVM gets right, and the exact two-sided p of such a split."""
    won, lost = int((right & ~baseline).sum()), int((baseline & ~right).sum())
    return {"won": won, "lost": lost, "p": float(stats.binomtest(won, won + lost).pvalue) if won + lost else 1.0}


def judged(name: str, rows: list[dict[str, Any]]) -> list[str]:
    """The published findings in the light of these rows, in plain sentences."""

    def at(method: str, factoring: str, counts: str = "-") -> dict[str, Any]:
        return next(r for r in rows if (r["method"], r["factoring"], r["n_S"]) == (method, factoring, counts))

    ten = [row for row in rows if row["method"] == "objective 10" and row["n_S"] != "none"]
    off = [row for row in ten if row["p"] < LEVEL / len(ten)]
    said = [
        f"{name}: objective (10) with n_S = N, logical or expected differs from the SVM in {len(off)} of {len(ten)} "
        f"cells (McNemar, level {LEVEL:g} shared); the published null result {'does not hold' if off else 'holds'}."
    ]
    for factoring in ("ordered", "unordered"):
        one, other, single = (
            at("objective 1", factoring),
            at("cosine kappa", factoring),
            at("objective 10", factoring, "none"),
        )
        apart = other["accuracy_low"] > one["accuracy_high"] or one["accuracy_low"] > other["accuracy_high"]
        better = other["accuracy"] > one["accuracy"]
        verdict = "is confirmed" if apart and better else "is contradicted" if apart else "is not confirmed"
        said.append(
            f"{name}, {factoring}: cosine-κ {other['accuracy']:.4f} against objective (1) {one['accuracy']:.4f}, "
            f"intervals {'apart' if apart else 'overlap'}: that cosine-κ does better {verdict}; "
            f"(10) with n_S = 1 has {single['accuracy']:.4f}, objective (1)'s interval "
            f"{'holds' if one['accuracy_low'] <= single['accuracy'] <= one['accuracy_high'] else 'does not hold'} it."
        )
    return said


NAMES = {"cost-table": cost_table}
