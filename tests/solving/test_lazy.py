"""Constraints on demand for any CVXPY program, each example against an independent answer."""

from __future__ import annotations

import re
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.csgraph import minimum_spanning_tree

import workbench as wb
from workbench.backends import BACKENDS
from workbench.contracts import Rows
from workbench.errors import BackendFailed, BadInput
from workbench.solving.lazy import LazyConstraint, LazyProblem
from workbench.solving.masters.declared import CompiledBase, LazyCuts

GRID = np.linspace(0, 1, 2001)


def chebyshev(degree, exchanged="rows"):
    """Best uniform approximation of exp on a grid by a polynomial: two rows per grid point."""
    V, f = np.vander(GRID, degree + 1, increasing=True), np.exp(GRID)
    c, t = cp.Variable(degree + 1), cp.Variable()

    def oracle(c_value, t_value):
        error = V @ c_value - f
        j = int(np.abs(error).argmax())
        sign = np.sign(error[j])
        if abs(error[j]) <= t_value:
            return
        yield ((sign * V[j], -1.0), -sign * f[j]) if exchanged == "rows" else sign * (V[j] @ c - f[j]) <= t

    def repair(c_value, t_value):
        return c_value, np.abs(V @ c_value - f).max()

    return LazyProblem(cp.Minimize(t), [t >= 0], [LazyConstraint([c, t], oracle)]), repair, (V, f)


@pytest.mark.parametrize("exchanged", ["rows", "expressions"])
def test_chebyshev_approximation(exchanged):
    problem, repair, (V, f) = chebyshev(3, exchanged)
    s = problem.solve(gap=1e-5, repair=repair)  # 5e-9 of an error of 5e-4
    n = len(f)
    full = linprog(
        [0, 0, 0, 0, 1], np.block([[V, -np.ones((n, 1))], [-V, -np.ones((n, 1))]]), np.r_[f, -f], bounds=(None, None)
    )
    assert s.status == "optimal"
    assert s.upper == pytest.approx(full.fun, abs=5e-9)
    assert s.lower <= full.fun + 1e-9
    assert s.violation <= 1e-15
    assert s.rows < 30


def robust(kind):
    """max cᵀx s.t. aᵀx ≤ b for every a in an uncertainty set around ā: oracle against counterpart."""
    rng = np.random.default_rng(4)
    n = 8
    mean, spread, gain = rng.uniform(1, 2, n), rng.uniform(0.1, 0.5, n), rng.uniform(1, 2, n)
    x = cp.Variable(n)
    base = [x >= 0, x <= 3]

    def ellipsoid(v):
        size = np.linalg.norm(spread * v)
        return [(mean + spread**2 * v / size if size else mean, -5.0)]

    def budget(v):
        worst = np.argsort(-spread * v)[:2]
        a = mean.copy()
        a[worst] += spread[worst]
        return [(a, -5.0)]

    if kind == "ellipsoid":
        oracle, counterpart = ellipsoid, [mean @ x + cp.norm(cp.multiply(spread, x)) <= 5]
    else:
        oracle, counterpart = budget, [mean @ x + cp.sum_largest(cp.multiply(spread, x), 2) <= 5]
    written = cp.Problem(cp.Maximize(gain @ x), base + counterpart)
    return LazyProblem(cp.Maximize(gain @ x), base, [LazyConstraint(x, oracle)]), written


@pytest.mark.parametrize("kind", ["ellipsoid", "budget"])
def test_robust_linear_programs_equal_their_counterparts(kind):
    lazy, written = robust(kind)
    s = lazy.solve(gap=1e-7)
    written.solve(solver=cp.CLARABEL)
    assert s.status == "optimal"
    assert s.value == pytest.approx(written.value, rel=1e-7)
    room = 1e-7 * abs(written.value)
    assert s.lower - room <= written.value <= s.upper + room


def test_spanning_tree_by_cuts():
    """min cᵀx, x(E) = n − 1, x(E[S]) ≤ |S| − 1: violated sets by a minimum cut with each vertex forced in."""
    rng = np.random.default_rng(1)
    n = 7
    edges = [(i, j) for i in range(n) for j in range(i)]
    cost = rng.uniform(1, 2, len(edges))
    x = cp.Variable(len(edges))
    subsets = [[v for v in range(n) if mask >> v & 1] for mask in range(1, 2**n) if 2 <= mask.bit_count() < n]

    def oracle(value):
        for s in subsets:
            a = np.array([float(i in s and j in s) for i, j in edges])
            if a @ value > len(s) - 1 + 1e-9:
                yield a, 1.0 - len(s)

    s = LazyProblem(cp.Minimize(cost @ x), [x >= 0, cp.sum(x) == n - 1], [LazyConstraint(x, oracle)]).solve()
    graph = np.zeros((n, n))
    for (i, j), c in zip(edges, cost, strict=True):
        graph[i, j] = c
    assert s.value == pytest.approx(minimum_spanning_tree(graph).sum(), rel=1e-7)
    assert s.rows < len(subsets)


def test_soft_margin_in_ten_lines():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    lam, n, k = 0.1, 40, 3
    W, xi = cp.Variable((k, 3)), cp.Variable(n)

    def oracle(W_value, xi_value):
        scores = X @ W_value.T + (np.arange(k) != y[:, None])
        for i, z in enumerate(scores.argmax(axis=1)):
            yield (W[int(z)] - W[int(y[i])]) @ X[i] + float(z != y[i]) <= xi[i]

    s = LazyProblem(
        cp.Minimize(lam / 2 * cp.sum_squares(W) + cp.sum(xi) / n), [xi >= 0], [LazyConstraint([W, xi], oracle)]
    ).solve(gap=1e-8)
    assert s.value == pytest.approx(wb.solve(wb.SoftMargin(lam=lam), wb.Multiclass(X, y)).upper, rel=1e-7)


def ball(radius, backend="CLARABEL"):
    """min ‖x − (2, 1)‖ over a ball, its tangents generated; the base holds a second-order cone and a Parameter."""
    x, r = cp.Variable(2), cp.Parameter(nonneg=True, value=radius)

    def tangent(v):
        size = np.linalg.norm(v)
        return [(v / size, -1.0)] if size > 1 else []

    problem = LazyProblem(
        cp.Minimize(cp.norm(x - np.array([2.0, 1.0])) + 3.0),
        [cp.norm(x - np.array([0.0, 1.0])) <= r],
        [LazyConstraint(x, tangent)],
    )
    return problem, x, r


@pytest.mark.parametrize("backend", ["CLARABEL", "ECOS", "SCS"])
def test_second_order_cones_in_the_base(backend):
    if not BACKENDS[backend].installed:
        pytest.skip(f"{backend} has no wheel for this Python")
    problem, x, _ = ball(5.0, backend)
    s = problem.solve(gap=1e-6, feasibility=1e-7, backend=backend)
    assert s.value == pytest.approx(np.sqrt(5) - 1 + 3, abs=1e-6)
    np.testing.assert_allclose(x.value, np.array([2, 1]) / np.sqrt(5), atol=1e-3)


def test_parameters_keep_the_rows():
    problem, _, r = ball(5.0)
    first = problem.solve(gap=1e-7)
    r.value = 0.5
    second = problem.solve(gap=1e-7)
    fresh, _, _ = ball(0.5)
    third = fresh.solve(gap=1e-7)
    y = cp.Variable(2)
    center = np.array([0.0, 1.0])
    whole = cp.Problem(
        cp.Minimize(cp.norm(y - np.array([2.0, 1.0])) + 3), [cp.norm(y - center) <= 0.5, cp.norm(y) <= 1]
    )
    whole.solve(solver=cp.CLARABEL)
    assert second.value == pytest.approx(whole.value, rel=1e-6)
    assert third.value == pytest.approx(whole.value, rel=1e-6)
    assert second.history[0]["cuts"] >= first.rows > third.history[0]["cuts"]


def test_base_variables_that_only_rows_mention():
    x, b = cp.Variable(), cp.Variable()
    s = LazyProblem(
        cp.Minimize(x), [x >= -9], [LazyConstraint([x, b], lambda u, v: [((-1.0, 1.0), 1.0), ((-1.0, -1.0), 1.0)])]
    ).solve()
    assert s.value == pytest.approx(1, abs=1e-7)


@pytest.mark.parametrize(
    ("oracle", "words"),
    [
        (lambda v: [3], "return pairs"),
        (lambda v: None, r"oracle returned None; return \[\] if nothing is violated"),
        (lambda v: 5, r"oracle returned 5; return an iterable of members, \[\] for none"),
        (lambda v: [(np.ones(3), 0.0)], "3 coefficients"),
        (lambda v: [(np.array([np.nan, 1.0]), 0.0)], "not finite"),
        (lambda v: [cp.square(cp.Variable()) <= 1], "not affine"),
    ],
)
def test_bad_oracles_are_one_sentence(oracle, words):
    x = cp.Variable(2)
    with pytest.raises(wb.BadInput, match=words):
        LazyProblem(cp.Minimize(cp.sum_squares(x)), [], [LazyConstraint(x, oracle)]).solve()


@pytest.mark.parametrize("attribute", ["nonneg", "nonpos", "PSD", "symmetric"])
def test_attributes_that_replace_a_variable_are_refused(attribute):
    x = cp.Variable((2, 2), **{attribute: True})
    with pytest.raises(wb.BadInput, match=f"attribute {attribute}, .* write it as a constraint"):
        LazyProblem(cp.Minimize(cp.sum(x)), [], [LazyConstraint(x, lambda v: [])])


@pytest.mark.parametrize("backend", ["HIGHS", "DAQP", "CLARABEL", "PIQP"])
def test_a_hint_changes_the_way_not_the_answer(backend):
    """Backends that gain by the last answer get it, rows that came and went since included; the others do not."""
    if not BACKENDS[backend].installed:
        pytest.skip(f"{backend} is not installed")
    problem, repair, _ = chebyshev(3)
    warmed = problem.solve(gap=1e-4, backend=backend, repair=repair)
    hints, solve = [], type(BACKENDS[backend]).solve

    def watched(self, program, tolerance, time_limit=None, warm=None):
        hints.append(warm)
        assert warm is None or warm.z.shape == program.b.shape
        return solve(self, program, tolerance, time_limit, None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(BACKENDS[backend]), "solve", watched)
        problem, repair, _ = chebyshev(3)
        cold = problem.solve(gap=1e-4, backend=backend, repair=repair)
    assert warmed.status == cold.status == "optimal"
    assert warmed.upper == pytest.approx(cold.upper, rel=3e-4)
    assert [hint is not None for hint in hints] == [False] + [BACKENDS[backend].warms] * (len(hints) - 1)


@pytest.mark.parametrize("square", [False, True])
def test_an_optimum_of_zero_needs_a_unit(square):
    """A cubic is its own best cubic approximation: no relative gap, but one in units of `floor`."""
    grid = np.linspace(-1, 1, 201)
    powers, f = np.vander(grid, 4, increasing=True), 1 + 2 * grid - 3 * grid**2 + 0.5 * grid**3
    c, t = cp.Variable(4), cp.Variable()

    def worst(c, t):
        residual = f - powers @ c
        k = np.argmax(np.abs(residual))
        sign = np.sign(residual[k])
        return [((-sign * powers[k], -1.0), sign * f[k])] if abs(residual[k]) > t else []

    def built():
        objective = cp.square(t) if square else t
        return wb.LazyProblem(
            cp.Minimize(objective), [t >= -1 if square else t >= 0], [wb.LazyConstraint((c, t), worst)]
        )

    def repair(c, t):
        return c, np.abs(f - powers @ c).max()

    assert built().solve(backend="CLARABEL", repair=repair).status == "stalled"
    s = built().solve(backend="CLARABEL", repair=repair, floor=1.0)
    assert s.status == "optimal"
    assert -1e-8 <= s.lower <= s.upper <= 1e-8
    assert s.gap == s.upper - s.lower
    with pytest.raises(wb.BadInput, match="floor"):
        built().solve(floor=-1.0)


@pytest.mark.parametrize("written", [True, False])
def test_rows_of_other_parameters_are_dropped(written):
    """max x₀ + 2x₁ on a disc of radius R is √5 R; rows written with R drop by themselves, others when told to."""
    x, R = cp.Variable(2), cp.Parameter(nonneg=True)

    def outside(v):
        size = np.linalg.norm(v)
        if size <= R.value + 1e-10:
            return []
        return [(v / size) @ x <= R] if written else [(v / size, -R.value)]

    problem = wb.LazyProblem(cp.Maximize(x[0] + 2 * x[1]), [x <= 50, x >= -50], [wb.LazyConstraint(x, outside)])
    for R.value in (1.0, 2.0, 0.5, 3.0):
        if not written:
            problem.forget()
        s = problem.solve(gap=1e-7)
        assert s.value == pytest.approx(np.sqrt(5) * R.value, rel=1e-6)
    before = len(problem.pool.rows)
    problem.solve(gap=1e-7)
    assert len(problem.pool.rows) == before


def test_a_repair_that_does_not_repair_is_refused():
    x = cp.Variable(2)
    disc = wb.LazyConstraint(x, lambda v: [(v / np.linalg.norm(v), -1.0)] if np.linalg.norm(v) > 1 else [])
    problem = wb.LazyProblem(cp.Maximize(x[0]), [x <= 5, x >= -5], [disc])
    with pytest.raises(wb.BadInput, match="repair returned a point that the oracles find violated by"):
        problem.solve(repair=lambda v: (3 * v,))
    for repair in (lambda v: v / max(1.0, np.linalg.norm(v)), lambda v: [v / max(1.0, np.linalg.norm(v))]):
        assert problem.solve(repair=repair).value == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(wb.BadInput, match=r"value for each variable of the oracles, of shapes \(2,\)"):
        problem.solve(repair=lambda v: (v, v))


def test_an_oracle_that_writes_into_its_argument_changes_nothing():
    x = cp.Variable(2)

    def rude(v):
        found = [(v.copy() / np.linalg.norm(v), -1.0)] if np.linalg.norm(v) > 1 + 1e-10 else []
        v[:] = 7.0
        return found

    s = wb.LazyProblem(cp.Maximize(x[0]), [x <= 5, x >= -5], [wb.LazyConstraint(x, rude)]).solve(gap=1e-7)
    assert s.value == pytest.approx(1.0, abs=1e-6)
    assert "history" not in repr(s)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda x, lazy: wb.LazyProblem(x[0], [], [lazy]), "objective is cp.Minimize"),
        (lambda x, lazy: wb.LazyProblem(cp.Minimize(x[0]), x >= 0, [lazy]), "constraints are a list of Constraint"),
        (lambda x, lazy: wb.LazyProblem(cp.Minimize(x[0]), [], lazy), "lazy are a list of LazyConstraint"),
        (lambda x, lazy: wb.LazyProblem(cp.Minimize(x[0]), [], [lambda v: []]), "lazy are a list of LazyConstraint"),
        (lambda x, lazy: wb.LazyConstraint(7, lambda v: []), "needs a cp.Variable"),
        (lambda x, lazy: ended(x, lazy, time_limit="x"), "time_limit is 'x'"),
        (lambda x, lazy: ended(x, lazy, max_rounds=0), "max_rounds is 0; give a positive whole number"),
    ],
)
def test_misuse_is_one_sentence(build, words):
    x = cp.Variable(2)
    with pytest.raises(wb.BadInput, match=words):
        build(x, wb.LazyConstraint(x, lambda v: []))


def ended(x, lazy, **words):
    return wb.LazyProblem(cp.Minimize(cp.sum(x)), [x >= 0], [lazy]).solve(**words)


def test_semidefinite_bases_are_refused():
    x, M = cp.Variable(2), cp.Variable((2, 2))
    problem = wb.LazyProblem(cp.Minimize(cp.trace(M)), [M >> 0], [wb.LazyConstraint(x, lambda v: [])])
    with pytest.raises(wb.MissingCapability, match="semidefinite"):
        problem.solve()


def test_contradictory_rows_are_named():
    x = cp.Variable()
    with pytest.raises(wb.BadInput, match="no feasible point"):
        LazyProblem(cp.Minimize(x), [x >= 1], [LazyConstraint(x, lambda v: [(1.0, 0.0)])]).solve()


def test_the_layout_read_from_cvxpy():
    """The contract with CVXPY's compiled data: columns by variable, constants, cones."""
    x, y = cp.Variable(3), cp.Variable(2)
    cuts = LazyCuts(np.empty(0))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1) + 4), [*cuts([x, y]), x <= 2, cp.sum(x) == 1])
    base = CompiledBase(problem, cuts)
    assert base.offset == 4
    assert len(set(base.theta)) == 5
    answer = BACKENDS["CLARABEL"].solve(base.cone, 1e-10)
    assert answer.x[base.theta][:3].sum() == pytest.approx(1)
    rows = Rows(sparse.csr_array(np.array([[1.0, 0, 0, 2.0, 3.0]])), np.array([5.0]), np.array([-1]))
    grown, where = base.extended(rows)
    assert grown.nonneg == base.cone.nonneg + 1
    assert where.stop - where.start == 1
    np.testing.assert_array_equal(grown.A.toarray()[where][0, base.theta], [1, 0, 0, 2, 3])
    assert grown.b[where] == -5.0


def test_an_unbounded_program_claims_no_bound():
    x = cp.Variable(2)
    problem = LazyProblem(cp.Maximize(x[0] + x[1]), [], [LazyConstraint(x, lambda v: [])])
    with pytest.raises(BackendFailed, match="may be unbounded"):
        problem.solve()
    with pytest.raises(wb.BadInput, match="gap is nan"):
        problem.solve(gap=float("nan"))


# ── the four examples of the page end proven ──────────────────────────────────────────────────────────


def examples() -> dict[str, str]:
    """The code blocks of docs/lazy.md that solve a LazyProblem over continuous variables, by their section."""
    text = (Path(__file__).parents[2] / "docs" / "lazy.md").read_text()
    part = text[text.index("## In eight lines") : text.index("## With integer variables")]
    found = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    return {code.split("\n\n")[1].split("\n")[0][:20] + str(k): code for k, code in enumerate(found)}


@pytest.mark.parametrize("code", examples().values(), ids=["disc", "uniform", "robust", "trees", "svm"])
def test_the_lower_ends_of_the_pages_examples_are_proven(code, monkeypatch, tmp_path):
    solve, answers = LazyProblem.solve, []

    def kept(self, *args, **options):
        answers.append(solve(self, *args, **options))
        return answers[-1]

    monkeypatch.setattr(LazyProblem, "solve", kept)
    exec(compile(code, "docs/lazy.md", "exec"), {"__name__": "docs"})
    assert [each.lower_kind for each in answers] == ["proven"] * len(answers)
    assert answers
    for number, each in enumerate(answers):
        path = each.proof.save(tmp_path / str(number))
        said = wb.verify(path)
        assert said["proven"], said
        assert each.gap <= 1e-7


# ── integer variables ─────────────────────────────────────────────────────────────────────────────────


def knapsack(backend, rng, mixed=False, curved=False):
    """max gainᵀx + y over 0/1 x, rows ⟨a, x⟩ + y ≤ b on demand; enumerated, y in closed form."""
    n, m = 7, 40
    gain, A, b = rng.integers(1, 20, n) / 4, rng.integers(0, 9, (m, n)) / 2, rng.integers(6, 20, m) / 2
    x, y = cp.Variable(n, boolean=True), cp.Variable()

    def oracle(x_value, y_value):
        k = int((A @ x_value + y_value - b).argmax())
        return [((A[k], 1.0), -b[k])] if A[k] @ x_value + y_value > b[k] + 1e-9 else []

    value = gain @ x + (y if mixed else 0) - (cp.sum_squares(x - 0.25) if curved else 0)
    base = [y <= 2, y >= -50] if mixed else [y == 0]
    found = LazyProblem(cp.Maximize(value), base, [LazyConstraint([x, y], oracle)]).solve(backend=backend)
    points = np.array([[mask >> j & 1 for j in range(n)] for mask in range(2**n)], float)
    highest = np.minimum((b - points @ A.T).min(axis=1), 2.0)
    worth = points @ gain - (((points - 0.25) ** 2).sum(axis=1) if curved else 0)
    best = (worth + highest).max() if mixed else worth[(points @ A.T <= b).all(axis=1)].max()
    return found, best, x


@pytest.mark.parametrize("kind", ["HIGHS", "SCIP", "HIGHS mixed", "SCIP mixed", "SCIP curved", "SCIP mixed curved"])
def test_a_tree_finds_what_enumeration_finds_and_its_bound_is_never_called_proven(kind):
    backend, *more = kind.split()
    pytest.importorskip({"HIGHS": "highspy", "SCIP": "pyscipopt"}[backend])
    for seed in range(4):
        rng = np.random.default_rng(seed)
        found, best, x = knapsack(backend, rng, **dict.fromkeys(more, True))
        assert found.status == "optimal"
        assert found.value == pytest.approx(best, abs=1e-7)
        assert found.lower_kind == "backend's"
        assert found.proof is None
        assert set(np.unique(x.value)) <= {0.0, 1.0}
        assert found.backend.startswith(backend)


def test_round_trips_by_subtours_and_what_contradicts_says_so():
    x = cp.Variable(3, integer=([0, 2],))
    told = LazyProblem(cp.Minimize(cp.sum(x)), [x >= 0.5], [LazyConstraint(x, lambda v: [(-np.ones(3), 4.2)])]).solve()
    assert told.value == pytest.approx(4.2, abs=1e-9)  # the second entry is continuous
    assert np.array_equal(x.value[[0, 2]], np.round(x.value[[0, 2]]))
    odd = LazyConstraint(x, lambda v: [(np.array([2.0, 0.0, 2.0]), -5.0), (np.array([-2.0, 0.0, -2.0]), 5.0)])
    with pytest.raises(BadInput, match="contradict"):
        LazyProblem(cp.Minimize(cp.sum(x)), [x >= 0, x <= 9], [odd]).solve()
