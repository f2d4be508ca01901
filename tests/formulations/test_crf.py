"""Likelihoods against enumeration, finite differences, high precision, other programs; planted faults are found.

References: SciPy's logsumexp over listed outputs, `decimal` with 50 digits, scikit-learn, CVXPY.
"""

from __future__ import annotations

import inspect
import itertools
import math
import types
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

import workbench as wb
from workbench.backends import BACKENDS, solve_cvxpy
from workbench.contracts import Marginals
from workbench.objectives.likelihoods import ULPS, Enumerated
from workbench.outputs import _forward_backward, _marginals
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.bounds import Evidence
from workbench.registries import misfit

OUTPUTS = {"chain": wb.Chain, "multiclass": wb.Multiclass}
seeds = st.integers(0, 2**32 - 1)


def instance(seed, output=None):
    """A tiny problem, weights of any size, and a generator."""
    rng = np.random.default_rng(seed)
    problem = OUTPUTS[output or ("chain", "multiclass")[seed % 2]].tiny(rng)
    return problem, rng.normal(size=problem.n_features) * 10.0 ** rng.uniform(-2, 1.5), rng


def listed(problem, w, i):
    """h_i(w) and ∇h_i(w) over all outputs."""
    outputs = problem.outputs(i)
    rows = problem.features(np.full(len(outputs), i), outputs).toarray()
    truth = problem.features(np.array([i]), problem.truth[[i]]).toarray()[0]
    scores = rows @ w
    return logsumexp(scores) - truth @ w, np.exp(scores - logsumexp(scores)) @ rows - truth


def kernel_of(terms, w, i):
    """The same by the kernel."""
    kernel, slope, nothing = terms.kernel(), np.zeros(len(w)), np.empty(0, np.int64)
    value = kernel.argmax_into(kernel.data, w, i, nothing)
    kernel.add_slope(kernel.data, i, nothing, 1.0, slope)
    return value, slope


def faulty(terms, problem, w):
    """How many samples' values or gradients, by the batch or by the kernel, are not those of the enumeration."""
    wrong = 0
    for i in range(problem.n_samples):
        value, slope = listed(problem, w, i)
        batch, summed = terms.evaluate(w, np.array([i]), np.ones(1))
        for found, gradient in ((batch[0], summed), kernel_of(terms, w, i)):
            size = 1 + abs(w).max() * problem.magnitude[i]
            same = abs(found - value) <= 1e-12 * size
            same &= np.abs(gradient - slope).max() <= 1e-11 * size * (1 + problem.magnitude[i])
            wrong += not same
    return wrong


# ── values and gradients ──────────────────────────────────────────────────────────────────────────


def test_a_thousand_sums_are_those_of_the_enumeration():
    """Batch and kernel of labels, chains and lists."""
    cases = 0
    for seed in range(190):
        problem, w, _ = instance(seed)
        cases += problem.n_samples
        assert faulty(problem.marginals(), problem, w) == 0, seed
        if seed % 5 == 0:
            assert faulty(Enumerated(problem), problem, w) == 0, seed
    assert cases >= 1000


@given(seed=seeds)
def test_batches_add_up_and_do_not_depend_on_their_order(seed):
    problem, w, rng = instance(seed)
    chosen, weights = rng.integers(problem.n_samples, size=5), rng.random(5)
    for terms in (problem.marginals(), Enumerated(problem)):
        values, gradient = terms.evaluate(w, chosen, weights)
        single = [kernel_of(terms, w, i) for i in chosen]
        error, blur = terms.errors(w, chosen, weights)
        assert (np.abs(values - [value for value, _ in single]) <= 2 * error).all()
        assert np.linalg.norm(gradient - sum(c * s for c, (_, s) in zip(weights, single, strict=True))) <= 2 * blur


@pytest.fixture(params=["products", "logarithms"])
def form(request, monkeypatch):
    """Either form of the sums over chains, whatever the range of the scores, or products within theirs."""
    if request.param == "logarithms":
        monkeypatch.setattr(_forward_backward, "RANGE", -1.0)
    return request.param


def test_either_form_is_that_of_the_enumeration(form):
    for seed in range(0, 60, 2):
        problem, w, _ = instance(seed, "chain")
        assert faulty(problem.marginals(), problem, w) == 0, seed


@pytest.mark.parametrize("scale", [0.1, 3.0, 40.0])
def test_on_long_chains_the_two_forms_are_within_their_errors(scale, monkeypatch):
    problem = wb.load_problem("synthetic-chain")(n=12, labels=4, length=60)
    terms, everyone, c = problem.marginals(), np.arange(12), np.linspace(0, 1, 12)
    w = scale * np.random.default_rng(1).normal(size=problem.n_features)
    products, slope = terms.evaluate(w, everyone, c)
    monkeypatch.setattr(_forward_backward, "RANGE", -1.0)
    logarithms, other = terms.evaluate(w, everyone, c)
    error, blur = terms.errors(w, everyone, c)
    assert (np.abs(products - logarithms) <= 2 * error).all()
    assert np.linalg.norm(slope - other) <= 2 * blur
    assert (products >= 0).all()


@pytest.mark.parametrize("spread", [290.0, 310.0, 700.0, 5000.0])
def test_the_form_changes_before_a_product_underflows(spread):
    """Two labels, the worse of which is worth e^−spread less at each position; log Z is known in closed form."""
    chain = wb.Chain([np.ones((5, 1))], [[0, 1, 0, 1, 1]], classes=[0, 1])
    w = np.concatenate([[0.0, -spread], np.zeros(4)])
    (value,), slope = chain.marginals().evaluate(w, np.array([0]), np.ones(1))
    assert value == pytest.approx(3 * spread + 5 * math.log1p(math.exp(-spread)), rel=1e-14)
    assert slope[:2] == pytest.approx([3.0, -3.0], abs=1e-12)


def test_steps_hold_every_position_once_and_lead_back():
    rng = np.random.default_rng(5)
    for _ in range(50):
        offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 7, rng.integers(1, 6)))])
        steps = _forward_backward.Steps.of(offsets)
        assert sorted(steps.order) == list(range(offsets[-1]))
        assert (offsets[steps.owners] <= steps.order).all()
        assert (steps.order < offsets[steps.owners + 1]).all()
        first = len(offsets) - 1
        assert (steps.order[steps.before] == steps.order[first:] - 1).all()
        assert (steps.owners[steps.before] == steps.owners[first:]).all()


@pytest.mark.parametrize("output", OUTPUTS)
def test_gradients_are_the_slope_of_the_values(output):
    problem, _, rng = instance(3, output)
    w, everyone, c = rng.normal(size=problem.n_features), np.arange(problem.n_samples), rng.random(problem.n_samples)
    terms, step = problem.marginals(), 1e-5
    _, gradient = terms.evaluate(w, everyone, c)
    for j, unit in enumerate(np.eye(len(w))):
        ahead, behind = (c @ terms.evaluate(w + sign * step * unit, everyone, c)[0] for sign in (1, -1))
        assert gradient[j] == pytest.approx((ahead - behind) / (2 * step), abs=1e-8)


# ── rounding ──────────────────────────────────────────────────────────────────────────────────────


def precise(problem, w, i):
    """h_i(w) and ∇h_i(w) with 50 digits, as Decimals."""
    outputs = problem.outputs(i)
    rows = problem.features(np.full(len(outputs), i), outputs).toarray().tolist()
    truth = problem.features(np.array([i]), problem.truth[[i]]).toarray()[0].tolist()
    rows, truth, w = (
        [list(map(Decimal, row)) for row in rows],
        list(map(Decimal, truth)),
        list(map(Decimal, w.tolist())),
    )
    scores = [sum(a * b for a, b in zip(row, w, strict=True)) for row in rows]
    top = max(scores)
    shares = [(score - top).exp() for score in scores]
    total = sum(shares)
    own = sum(a * b for a, b in zip(truth, w, strict=True))
    expected = [sum(s * row[j] for s, row in zip(shares, rows, strict=True)) / total for j in range(len(w))]
    return top + total.ln() - own, [e - t for e, t in zip(expected, truth, strict=True)]


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1.0, 30.0, 1e4, 1e12])
@pytest.mark.parametrize("output", OUTPUTS)
def test_the_error_bounds_hold_against_fifty_digits(output, scale, form):
    """Values and gradients of batch, kernel and list; and the bounds are of rounding's own size."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        whole = OUTPUTS[output].tiny(rng)
        w = rng.normal(size=whole.n_features) * scale
        for terms in (whole.marginals(), Enumerated(whole)):
            for i in range(whole.n_samples):
                with localcontext() as context:
                    context.prec, context.Emin, context.Emax = 50, -(10**12), 10**12
                    value, slope = precise(whole, w, i)
                    batch, summed = terms.evaluate(w, np.array([i]), np.ones(1))
                    (error,), blur = terms.errors(w, np.array([i]), np.ones(1))
                    for found, gradient in ((batch[0], summed), kernel_of(terms, w, i)):
                        assert abs(Decimal(float(found)) - value) <= Decimal(float(error))
                        away = sum((Decimal(float(g)) - s) ** 2 for g, s in zip(gradient, slope, strict=True))
                        assert away.sqrt() <= Decimal(blur)
                assert error <= 1e-12 * (1 + scale * whole.magnitude[i]) * 10


def precise_chain(chain, w):
    """h and ∇h of the only sequence of a chain: the sums over paths with 50 digits, plainly."""
    k, p, steps = chain.n_classes, chain.n_inputs, range(1, len(chain.labels))
    W, A = [list(map(Decimal, row)) for row in w[: k * p].reshape(k, p).tolist()], w[k * p :].reshape(k, k).tolist()
    E, labels, truth = [[Decimal(a).exp() for a in row] for row in A], range(k), chain.labels.tolist()
    x = [list(map(Decimal, row)) for row in chain.letters.toarray().tolist()]
    scores = [[sum(a * b for a, b in zip(row, letter, strict=True)) for row in W] for letter in x]
    e = [[score.exp() for score in row] for row in scores]
    ahead, behind = [e[0]], [[Decimal(1)] * k]
    for t in steps:
        ahead.append([e[t][b] * sum(ahead[-1][a] * E[a][b] for a in labels) for b in labels])
        behind.insert(0, [sum(E[a][b] * e[-t][b] * behind[0][b] for b in labels) for a in labels])
    Z = sum(ahead[-1])
    slope = [[Decimal(0)] * p for _ in labels]
    for t, letter in enumerate(x):
        for b in labels:
            share = ahead[t][b] * behind[t][b] / Z - (b == truth[t])
            slope[b] = [total + share * each for total, each in zip(slope[b], letter, strict=True)]
    edges = list(itertools.pairwise(truth))
    pairs = [
        sum(ahead[t - 1][a] * E[a][b] * e[t][b] * behind[t][b] for t in steps) / Z - edges.count((a, b))
        for a in labels
        for b in labels
    ]
    own = sum(scores[t][y] for t, y in enumerate(truth)) + sum(Decimal(A[a][b]) for a, b in edges)
    return Z.ln() - own, [*itertools.chain(*slope), *pairs]


@pytest.mark.parametrize("scale", [0.1, 2.0, 20.0, 300.0])
def test_the_error_bounds_hold_on_long_chains_against_fifty_digits(scale, form):
    """Scores of 0.1 to 300 and more, thirty positions; the bounds are of rounding's own size."""
    rng = np.random.default_rng(7)
    chain = wb.Chain([rng.normal(size=(30, 2))], [rng.integers(0, 3, 30)], classes=[0, 1, 2])
    w, terms, only = scale * rng.normal(size=chain.n_features), chain.marginals(), np.array([0])
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 50, -(10**12), 10**12
        value, slope = precise_chain(chain, w)
        (found,), gradient = terms.evaluate(w, only, np.ones(1))
        (error,), blur = terms.errors(w, only, np.ones(1))
        assert abs(Decimal(float(found)) - value) <= Decimal(float(error))
        away = sum((Decimal(float(g)) - s) ** 2 for g, s in zip(gradient, slope, strict=True))
        assert away.sqrt() <= Decimal(blur)
        assert error <= 1e-10 * (1 + scale)


@pytest.mark.parametrize(("exp", "log"), [(math.exp, math.log), (np.exp, np.log)], ids=["math", "numpy"])
def test_exp_and_log_are_as_exact_as_assumed(exp, log):
    rng = np.random.default_rng(0)
    with localcontext() as context:
        context.prec = 50
        for x in np.concatenate([-(10.0 ** rng.uniform(-9, 2.8, 1500)), [0.0, -700.0, -1e-300]]).tolist():
            true = Decimal(x).exp()
            assert abs(Decimal(float(exp(x))) - true) <= ULPS * Decimal(math.ulp(float(true)))
        for x in (1 + 10.0 ** rng.uniform(-15, 6, 1500)).tolist():
            true = Decimal(x).ln()
            assert abs(Decimal(float(log(x))) - true) <= ULPS * Decimal(math.ulp(float(true)))


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("scale", [1e-320, 1e3, 1e6, 1e150, 1e307])
def test_huge_and_tiny_scores_neither_overflow_nor_lie(output, scale):
    problem, _, rng = instance(4, output)
    w, bounds = scale * rng.normal(size=problem.n_features), bounds_for(wb.CRF(), problem)
    lower, upper = bounds.recheck(Evidence(w))
    assert lower <= bounds_for(wb.CRF(), problem).scale
    assert upper >= wb.solve(wb.CRF(), problem).lower
    if scale > 1e100:
        assert (lower, upper) == (-np.inf, np.inf)
    if scale <= 1e6:
        assert np.isfinite([lower, upper]).all()
        value = sum(p * listed(problem, w, i)[0] for i, p in enumerate(wb.CRF().prices(problem).floats()))
        assert upper == pytest.approx(value + 0.05 * w @ w, rel=1e-9)


# ── bounds ────────────────────────────────────────────────────────────────────────────────────────


@given(seed=seeds, scale=st.floats(-4, 2), lam=st.floats(-4, 2))
def test_every_theta_is_above_and_below_the_optimum(seed, scale, lam):
    problem, _, rng = instance(seed)
    formulation = wb.CRF(lam=10.0**lam)
    best, bounds = wb.solve(formulation, problem), bounds_for(formulation, problem)
    assert best.gap <= 1e-9
    for w in (
        10.0**scale * rng.normal(size=problem.n_features),
        best.theta_flat + 1e-6 * rng.normal(size=len(best.theta_flat)),
    ):
        lower, upper = bounds.recheck(Evidence(w))
        assert (lower, upper) == (bounds.lower_at(w), bounds.upper(w))
        assert lower <= best.upper
        assert upper >= best.lower


@given(seed=seeds)
def test_the_lower_bound_is_the_entropy_dual_at_the_model_s_own_distributions(seed):
    problem, w, rng = instance(seed)
    lam = float(10.0 ** rng.uniform(-2, 1))
    bounds, entropy, moved = bounds_for(wb.CRF(lam=lam), problem), 0.0, np.zeros(problem.n_features)
    for i, price in enumerate(wb.CRF().prices(problem).floats()):
        outputs = problem.outputs(i)
        rows = problem.features(np.full(len(outputs), i), outputs).toarray()
        truth = problem.features(np.array([i]), problem.truth[[i]]).toarray()[0]
        logs = rows @ w - logsumexp(rows @ w)
        entropy -= price * np.exp(logs) @ logs
        moved += price * (truth - np.exp(logs) @ rows)
    size = 1 + lam * w @ w + moved @ moved / lam + np.abs(w).max() * problem.magnitude.max()
    assert bounds.lower_at(w) == pytest.approx(entropy - moved @ moved / (2 * lam), abs=1e-9 * size)


def test_weights_count_samples():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(9, 3)), rng.integers(3, size=9)
    counts = np.array([2, 0, 1, 3, 1, 1, 0, 2, 1])
    weighted = wb.solve(wb.CRF(), wb.Multiclass(X, y, weights=counts, classes=range(3)), gap=1e-11)
    repeated = wb.solve(
        wb.CRF(), wb.Multiclass(X.repeat(counts, axis=0), y.repeat(counts), classes=range(3)), gap=1e-11
    )
    assert weighted.upper == pytest.approx(repeated.upper, rel=1e-10)
    np.testing.assert_allclose(weighted.theta_flat, repeated.theta_flat, atol=1e-5)


# ── other programs ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(6))
def test_enumeration_messages_and_descent_have_one_optimum(seed):
    """Two declarations through CVXPY and our own descent, to 1e-8."""
    problem, _, _ = instance(seed)
    formulation = wb.CRF(lam=(0.03, 0.3, 2.0)[seed % 3])
    best = wb.solve(formulation, problem, gap=1e-11)
    assert best.status == "optimal"
    program, w = formulation.program(problem)
    solve_cvxpy(program, "CLARABEL")
    assert program.value == pytest.approx(best.upper, rel=1e-8)
    assert bounds_for(formulation, problem).upper(np.asarray(w.value)) == pytest.approx(best.upper, rel=1e-8)
    names = [name for name in ("ECOS", "CLARABEL", "SCS") if BACKENDS[name].installed]
    unlisted = types.SimpleNamespace(**{name: getattr(problem, name) for name in dir(problem) if name[:2] != "__"})
    del unlisted.marginals
    assert not isinstance(unlisted, Marginals)
    listing, _ = formulation.program(unlisted)
    solve_cvxpy(listing, names[seed % len(names)])
    assert listing.value == pytest.approx(best.upper, rel=1e-8)
    assert wb.solve(formulation, unlisted, gap=1e-11).upper == pytest.approx(best.upper, rel=1e-10)


@pytest.mark.parametrize("name", ["ECOS", "CLARABEL", "SCS"])
def test_backends_solve_the_declaration_and_our_bounds_certify_it(name):
    if not BACKENDS[name].installed:
        pytest.skip(f"{name} is an optional dependency")
    chain = wb.load_problem("synthetic-chain")(n=4, labels=3, length=5)
    solution, ours = (wb.solve(wb.CRF(lam=0.1), chain, gap=1e-8, backend=backend) for backend in (name, None))
    assert solution.status == "optimal"
    assert solution.backend.startswith(name)
    assert solution.upper == pytest.approx(ours.upper, rel=1e-8)


def test_logistic_regression_of_scikit_learn_is_the_multiclass_case():
    linear = pytest.importorskip("sklearn.linear_model")
    problem = wb.load_problem("iris")()
    formulation = wb.CRF(lam=0.05)
    learner = linear.LogisticRegression(C=1 / (0.05 * problem.n_samples), fit_intercept=False, tol=1e-10, max_iter=5000)
    w = learner.fit(problem.X.toarray(), problem.labels).coef_.ravel()
    best = wb.solve(formulation, problem, gap=1e-11)
    bounds = bounds_for(formulation, problem)
    assert 0 <= bounds.gap(bounds.upper(w), best.lower) < 1e-9
    np.testing.assert_allclose(w, best.theta_flat, atol=1e-4)


# ── who has marginals ─────────────────────────────────────────────────────────────────────────────


def test_matchings_are_listed_when_tiny_and_refused_beyond():
    rng = np.random.default_rng(0)
    tiny = wb.Matching.tiny(rng)
    assert wb.solve(wb.CRF(), tiny).status == "optimal"
    large = wb.Matching([rng.normal(size=(12, 12, 2))], [[(0, 0)]])
    with pytest.raises(wb.MissingCapability, match=r"crf needs marginals; Matching has none.*too many"):
        wb.solve(wb.CRF(), large)
    assert "crf needs marginals" in misfit(wb.CRF(), large)


def test_outputs_that_can_neither_be_summed_nor_listed_are_refused():
    problem = wb.Multiclass.tiny(np.random.default_rng(0))
    bare = types.SimpleNamespace(**{name: getattr(problem, name) for name in ("n_samples", "n_features", "weights")})
    with pytest.raises(wb.MissingCapability, match="has none, and its outputs cannot be listed either"):
        wb.CRF().terms(bare)


@pytest.mark.parametrize("lam", [0, -1, float("nan"), float("inf"), True, "1"])
def test_a_faulty_lambda_is_one_sentence(lam):
    with pytest.raises(wb.BadInput, match="must be positive"):
        wb.CRF(lam=lam)


# ── planted faults ────────────────────────────────────────────────────────────────────────────────

FAULTS = {
    "sign of the truth's marginal": ("singles[every, truth] -= 1", "singles[every, truth] += 1"),
    "no edges in the score of the truth": ("norms[later] -= A[", "norms[later] -= 0 * A["),
    "a step's sequences are another step's": ("truth[before], truth[later]", "truth[later], truth[before]"),
    "weights of another sequence": ("weights[steps.owners]", "weights[steps.owners[::-1]]"),
    "products: no edges in the gradient": ("pairs * E", "0 * pairs * E"),
    "products: edges transposed": ("np.matmul(alpha[last], E,", "np.matmul(alpha[last], E.T,"),
    "products: edges transposed on the way back": ("np.ascontiguousarray(E.T)", "np.ascontiguousarray(E)"),
    "products: weights forgotten on edges": ("(e[now] * weights[now, None])", "e[now]"),
    "products: not divided": ("e /= sums[:, None]", "e /= 1.0"),
    "logarithms: edges transposed": ("log_sum_exp(alpha[last] + A[:, b])", "log_sum_exp(alpha[last] + A[b])"),
    "logarithms: weights forgotten on edges": ("+= weights[now] @ joint", "+= joint.sum(axis=0)"),
    "logarithms: scores forgotten": ("alpha[now] += arrivals[now]", "alpha[now] = arrivals[now]"),
    "sign in the kernel": ("(1.0 if b == label else 0.0)", "(-1.0 if b == label else 0.0)"),
    "no edges in the kernel's score": ("own += A[truth", "own += 0.0 * A[truth"),
    "no edges in the kernel's gradient": ("+= scale * pair[t, a, b]", "+= 0.0 * pair[t, a, b]"),
    "shares not normalised": ("joint[a, b] /= sums[b]", "joint[a, b] /= 1.0"),
    "labels: sign": ("shares[every, truth] -= 1", "shares[every, truth] += 1"),
    "labels: sign in the kernel": ("(1.0 if label == truth[i] else 0.0)", "(0.0 if label == truth[i] else 1.0)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault, monkeypatch):
    """Each changes the source of `_marginals` or of `_forward_backward`; the first test's comparison must notice."""
    old, new = FAULTS[fault]
    changed = _forward_backward if fault.startswith(("products", "logarithms")) else _marginals
    source = inspect.getsource(changed)
    assert source.count(old) == 1, f"the source no longer holds {old!r}"
    mutant = types.ModuleType(changed.__name__)
    exec(compile(source.replace(old, new), "mutant", "exec"), mutant.__dict__)
    labels, wrong = fault.startswith("labels"), mutant if changed is _marginals else _marginals
    if fault.startswith("logarithms"):
        mutant.RANGE = -1.0
    found = 0
    for seed in range(15):
        problem, w, rng = instance(seed, "multiclass" if labels else "chain")
        if not labels and problem.paired:  # their sums are of another module
            continue
        c, everyone = rng.random(problem.n_samples), np.arange(problem.n_samples)
        right = problem.marginals().evaluate(w, everyone, c)[1]
        with monkeypatch.context() as changing:
            if changed is _forward_backward:
                changing.setattr(_marginals, "summed", mutant.summed)
            terms = (wrong.Softmax if labels else wrong.ForwardBackward)(problem)
            found += faulty(terms, problem, w)
            found += not np.allclose(terms.evaluate(w, everyone, c)[1], right)
    assert found


def test_a_learner_with_another_lambda_disagrees():
    from workbench.learners.crf_lbfgs import fit

    problem = wb.load_problem("iris")()
    best = wb.solve(wb.CRF(lam=0.1), problem)
    right, wrong = ([(k, fit(problem, wb.CRF(lam=lam), k, 0)) for k in (100, 200, 400)] for lam in (0.1, 0.2))
    assert wb.crosscheck(right, best).verdict == "agrees"
    assert wb.crosscheck(wrong, best).verdict == "disagrees"
    with pytest.raises(wb.MissingCapability, match="needs smooth terms"):
        fit(problem, wb.SoftMargin(), 10, 0)
