"""One label against the rest by formulas written out: risks, slopes, intercepts, the best μ, and what is said of it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

import workbench as wb
from workbench.judging.conventions import one_vs_rest as module
from workbench.judging.conventions.neighbours import Suspect
from workbench.judging.conventions.one_vs_rest import (
    Point,
    Rows,
    described,
    fit,
    fitting,
    one_vs_rest,
    penalised,
    readings,
    stationary,
)
from workbench.judging.reference import Reference

K, N, P = 3, 12, 2
ON, SHARE, LEAST = 0.02, 30.0, 1e-8  # written out, not imported
FUNCTIONS = {
    "hinge": lambda m: max(1 - m, 0.0),
    "squared hinge": lambda m: max(1 - m, 0.0) ** 2,
    "squared loss": lambda m: (1 - m) ** 2,
    "likelihood": lambda m: np.log(1 + np.exp(-m)),
}


def rows(loss, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % K
    signs = 2.0 * (labels[:, None] == np.arange(K)) - 1
    return Rows(rng.normal(size=(N, P)), signs, rng.dirichlet(np.ones(N)), loss)


def written(data, W, b):
    """Σ_i p_i Σ_y f(s_iy (⟨W_y, x_i⟩ + b_y)), sample by sample."""
    f = FUNCTIONS[data.loss]
    return sum(
        p * sum(f(s * (float(W[y] @ x) + b[y])) for y, s in enumerate(signs))
        for p, x, signs in zip(data.prices, data.X, data.signs, strict=True)
    )


def weights(seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(K, P)), rng.normal(size=K)


@pytest.mark.parametrize("loss", FUNCTIONS)
def test_risks_slopes_and_bends_are_those_of_the_loss(loss):
    data, (W, b), step = rows(loss), weights(), 1e-6
    down, steps = weights(2)[0], (0.3, 2.0)
    there = [written(data, W - step * down, b) for step in (0.0, *steps)]
    assert data.risks(W, b, down, np.array(steps)) == pytest.approx(there)
    slope = data.slope(W, b)
    assert data.rise(W, b) == pytest.approx(float((W * slope).sum()))
    for y, j in np.ndindex(K, P):
        move = np.zeros((K, P))
        move[y, j] = step
        change = (written(data, W + move, b) - written(data, W - move, b)) / (2 * step)
        assert slope[y, j] == pytest.approx(change, abs=1e-8)
    m = np.array([-1.3, 0.4, 0.9, 1.4, 5.0])
    pulls, bends = data.pulls(m)
    f = FUNCTIONS[loss]
    assert pulls == pytest.approx([-(f(each + step) - f(each - step)) / (2 * step) for each in m], abs=1e-8)
    if loss != "hinge":
        second = [(f(each + 1e-4) - 2 * f(each) + f(each - 1e-4)) / 1e-8 for each in m]
        assert bends == pytest.approx(second, abs=1e-6)
    else:
        assert bends.tolist() == [0.0] * 5
    assert [part.tolist() for part in rows("hinge").pulls(np.ones(1))] == [[0.0], [0.0]]
    assert rows("squared hinge").pulls(np.ones(1))[1].tolist() == [0.0]


def test_margins_beyond_floats_are_no_overflow():
    pulls, bends = rows("likelihood").pulls(np.array([-1e4, 1e4]))
    assert (pulls.tolist(), bends.tolist()) == ([1.0, pytest.approx(0.0, abs=1e-300)], [0.0, pytest.approx(0.0)])


@pytest.mark.parametrize("loss", ["squared hinge", "likelihood"])
@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_intercepts_are_those_of_their_optimum(loss, mu):
    data, (W, _) = rows(loss), weights()
    for size in (1.0, 20.0):
        found = data.intercepts(size * W, mu)
        best = minimize(lambda b, size=size: written(data, size * W, b) + mu / 2 * b @ b, np.zeros(K), tol=1e-12).x
        np.testing.assert_allclose(found, best, atol=2e-5)


def test_intercepts_move_by_at_most_1_a_step_and_sixty_times():
    """All signs are +1 and nothing is penalised: a likelihood rises for ever."""
    data = Rows(np.zeros((2, 1)), np.ones((2, 1)), np.full(2, 0.5), "likelihood")
    b = 0.0
    for _ in range(60):
        pull = 1 / (1 + np.exp(b))
        b += min(pull / max(pull * (1 - pull), 1e-12), 1.0)
    assert data.intercepts(np.zeros((1, 1)), 0.0) == pytest.approx([b], rel=1e-9)
    flipped = Rows(np.zeros((2, 1)), -np.ones((2, 1)), np.full(2, 0.5), "likelihood")
    assert flipped.intercepts(np.zeros((1, 1)), 0.0) == pytest.approx([-b], rel=1e-9)


def hinge(margins, mu=0.5, prices=None):
    """The slope and ε of one label with features e_i and all signs +1, where the weights are the margins."""
    margins = np.asarray(margins, float)
    n = len(margins)
    prices = np.full(n, 1 / n) if prices is None else np.asarray(prices)
    data = Rows(np.eye(n), np.ones((n, 1)), prices, "hinge")
    return data.hinge_slope(margins[None], mu)


def test_samples_on_the_margin_have_the_share_that_fits_best():
    """Of features e_i: G_i = −p_i α_i is nearest to −μ w_i, so α_i = μ w_i/p_i, or 1 if that is more."""
    G, epsilon = hinge([0.5, 1.0, 1.5, 0.99, 1.01], mu=0.1)
    shares = 5 * 0.1 * np.array([1.0, 0.99, 1.01])
    np.testing.assert_allclose(G[0, [0, 1, 2, 3, 4]], [-0.2, -0.2 * shares[0], 0, -0.2 * shares[1], -0.2 * shares[2]])
    assert epsilon == pytest.approx(0.2 * (0.01 * (1 - shares[1]) + 0.01 * shares[2]))
    G, epsilon = hinge([1.0, 1.0], mu=9.0)
    np.testing.assert_allclose(G, -0.5)
    assert epsilon == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("away", "on"), [(0.0199, True), (0.0201, False)])
@pytest.mark.parametrize("sign", [-1, 1])
def test_two_hundredths_around_the_margin_are_on_it(away, on, sign):
    G, epsilon = hinge([1 + sign * away], mu=0.3)
    outside = -1.0 if sign < 0 else 0.0
    assert G[0, 0] == pytest.approx(-0.3 * (1 + sign * away) if on else outside)
    assert (epsilon > 0) == on


def test_a_sample_at_the_very_end_of_what_is_on_the_margin(monkeypatch):
    monkeypatch.setattr(module, "ON", 0.25)
    for margin in (0.75, 1.25):
        G, epsilon = hinge([margin], mu=0.3)
        assert G[0, 0] == pytest.approx(-0.3 * margin)
        assert epsilon == pytest.approx(max(1 - margin, 0.0) - 0.3 * margin * (1 - margin))


def test_shares_make_up_for_the_samples_below_the_margin():
    """Of inputs ½ and 1 with w = 1: −¼ − α/2 is nearest to −μ = −½ at α = ½."""
    data = Rows(np.array([[0.5], [1.0]]), np.ones((2, 1)), np.full(2, 0.5), "hinge")
    assert data.hinge_slope(np.ones((1, 1)), 0.5)[0] == pytest.approx(np.array([[-0.5]]))
    assert data.hinge_slope(np.ones((1, 1)), 0.9)[0] == pytest.approx(np.array([[-0.75]]))


def test_inputs_may_be_sparse():
    data = rows("hinge")
    W, _ = weights()
    W[0] /= data.X[0] @ W[0]  # the first sample is on the margin of its label
    thin = Rows(sparse.csr_array(data.X), data.signs, data.prices, "hinge")
    np.testing.assert_allclose(thin.hinge_slope(W, 0.1)[0], data.hinge_slope(W, 0.1)[0], atol=1e-9)


# ── the best μ ────────────────────────────────────────────────────────────────────────────────────


def test_the_best_multiple_is_that_of_least_squares():
    W, G = np.random.default_rng(0).normal(size=(2, K, P))
    best = minimize(lambda mu: ((mu[0] * W + G) ** 2).sum(), [0.0], tol=1e-12).x[0]
    assert fitting(W, G) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("loss", ["squared hinge", "likelihood"])
def test_weights_are_stationary_with_intercepts_of_their_own(loss):
    data = rows(loss)
    W = -0.2 * data.slope(np.zeros((K, P)), np.zeros(K))  # downhill, so that some μ > 0 fits
    free = stationary(data, W, "a free intercept")
    np.testing.assert_allclose(free.b, data.intercepts(W, 0.0))
    np.testing.assert_allclose(free.G, data.slope(W, free.b))
    assert (free.mu, free.epsilon) == (pytest.approx(fitting(W, free.G)), 0.0)
    without = stationary(data, W, "")
    assert without.b.tolist() == [0.0] * K
    assert without.mu == pytest.approx(fitting(W, data.slope(W, without.b)))
    kept = stationary(data, W, "a penalised intercept")
    assert fitting(W, data.slope(W, data.intercepts(W, kept.mu))) == pytest.approx(kept.mu, rel=1e-8)
    np.testing.assert_allclose(kept.b, data.intercepts(W, kept.mu))
    np.testing.assert_allclose(kept.G, data.slope(W, kept.b))
    assert kept.epsilon == 0.0


def test_of_a_penalised_intercept_no_multiple_may_fit():
    data = rows("squared hinge")
    uphill = 50 * data.slope(np.zeros((K, P)), np.zeros(K))
    assert penalised(data, uphill, fitting(uphill, data.slope(uphill, np.zeros(K)))) == 0.0
    point = stationary(data, uphill, "a penalised intercept")
    assert point.mu == 0.0


def test_scores_are_kept_for_the_weights_last_asked_about():
    data, W, V = rows("likelihood"), weights()[0], weights(3)[0]
    for each in (W, W, V, W):
        np.testing.assert_array_equal(data.scores(each), data.X @ each.T)
    assert data.scores(W) is data.scores(W)


def rising(times):
    """⟨W, G⟩ of the slope G = −times · W, whatever the intercept."""
    return SimpleNamespace(intercepts=lambda W, mu: mu, rise=lambda W, b: -times * float((W * W).sum()))


def test_a_multiple_is_looked_for_up_to_ten_times_the_free_one_and_1():
    """With a slope by which −⟨W, G⟩/‖W‖² is 5, whatever the intercept."""
    W = np.array([[1.0, 2.0]])
    assert penalised(rising(5.0), W, 5.0) == pytest.approx(5.0)
    assert penalised(rising(5.0), W, 0.51) == pytest.approx(5.0)
    assert penalised(rising(5.0), W, 0.49) == 0.0
    assert penalised(rising(0.9), W, 0.0) == pytest.approx(0.9)
    assert penalised(rising(1.1), W, 0.0) == 0.0
    for least, found in ((1.1 * LEAST, 1.1 * LEAST), (0.9 * LEAST, 0.0)):
        assert penalised(rising(least), W, 0.0) == pytest.approx(found, rel=1e-3)


def test_a_hinges_multiple_and_its_shares_are_found_in_turns():
    """Where G at μ is −(0.4 + μ/2) W, turns end at μ = 0.8, within 25 of them."""
    asked = []

    def slope(W, mu, half=0.5):
        asked.append(mu)
        return -(0.4 + half * mu) * W, 0.25

    W = np.ones((1, 2))
    data = SimpleNamespace(loss="hinge", slope=lambda W, b: -0.1 * W, hinge_slope=slope)
    point = stationary(data, W, "")
    assert (point.mu, point.epsilon) == (pytest.approx(0.8, rel=1e-6), 0.25)
    assert asked[:2] == pytest.approx([0.1, 0.45])
    assert len(asked) == 25
    asked.clear()
    quick = SimpleNamespace(loss="hinge", slope=lambda W, b: -0.1 * W, hinge_slope=lambda *of: slope(*of, half=1e-4))
    stationary(quick, W, "")
    assert len(asked) == 4  # 0.1, 0.40001, 0.4 + 4e-5, and no other
    asked.clear()
    still = SimpleNamespace(loss="hinge", slope=lambda W, b: 0.1 * W, hinge_slope=slope)
    assert stationary(still, W, "").mu == pytest.approx(-0.1)
    assert asked == []
    falls = SimpleNamespace(loss="hinge", slope=lambda W, b: -0.1 * W, hinge_slope=lambda W, mu: (0.2 * W, 0.0))
    assert stationary(falls, W, "").mu == pytest.approx(-0.2)


def test_turns_end_where_no_multiple_fits_and_only_there():
    W, asked = np.ones((1, 2)), []

    def told(start, follow):
        def slope(W, mu):
            asked.append(mu)
            return -follow(mu) * W, 0.0

        asked.clear()
        return stationary(SimpleNamespace(loss="hinge", slope=lambda W, b: -start * W, hinge_slope=slope), W, "").mu

    assert told(0.0, lambda mu: 1.0) == 0.0
    assert asked == []
    for end in (0.0, -0.2):
        assert told(0.1, lambda mu, end=end: end) == pytest.approx(end)
        assert len(asked) == 1
    assert told(2.0, lambda mu: 0.4 + mu / 2) == pytest.approx(0.8, rel=1e-6)  # from above
    assert len(asked) == 25
    assert told(1e-7, lambda mu: 4e-7 + mu / 2) == pytest.approx(8e-7, rel=1e-6)  # a change is relative to μ
    assert len(asked) == 25


def test_only_a_hinge_has_shares():
    asked, W = [], np.ones((1, 2))

    def slope(W, mu):
        asked.append(mu)
        return W, 0.0

    flat = SimpleNamespace(loss="likelihood", slope=lambda W, b: -0.1 * W, hinge_slope=slope)
    assert stationary(flat, W, "").mu == pytest.approx(0.1)
    assert asked == []


# ── what is said ──────────────────────────────────────────────────────────────────────────────────


def risking(risk):
    """Rows whose risk is made up."""
    return SimpleNamespace(risks=lambda W, b, down, steps: [risk(W - step * down, b) for step in (0.0, *steps)])


def test_the_excess_the_distance_and_a_better_point():
    """ρ²/(2μ) + ε of SHARE times μ/2 ‖W‖²; the least value along −ρ, at steps of 2^−12/μ to 4/μ."""
    W, b = np.array([[3.0, -4.0]]), np.zeros(1)
    point = Point(0.5, b, np.array([[-1.0, 2.5]]), 0.25)  # ρ = (0.5, 0.5)
    seen = []

    def risk(other, intercepts):
        seen.append(other)
        assert intercepts is b
        return 2.0 * float(other[0, 0])

    suspect = suspected(wb.Multiclass(*inputs()), W.ravel(), wb.SoftMargin(0.5))
    found = fit(risking(risk), W, point, ("its name", "its words"), suspect)
    size, most = SHARE * 0.25 * 25.0, 0.5 / 1.0 + 0.25
    assert found.most == pytest.approx(most / size)
    assert found.distance == pytest.approx(np.sqrt(2 * most / 0.5))
    steps = [2.0**k / 0.5 for k in range(-12, 3)]
    np.testing.assert_allclose(seen[1:], [W - step * 0.5 for step in steps])
    values = [0.25 * float((each * each).sum()) + 2.0 * each[0, 0] for each in seen]
    assert found.least == pytest.approx((values[0] - min(values)) / size)
    assert (found.neighbour.name, found.neighbour.sentence, found.neighbour.evidence) == (
        "its name",
        "its words",
        {"lam": 0.5},
    )
    level = fit(risking(lambda other, b: 1e3 * float(((other - W) ** 2).sum())), W, point, ("", ""), suspect)
    assert level.least == 0.0


def test_the_excess_falls_with_the_multiple():
    W, b = np.array([[3.0, -4.0]]), np.zeros(1)
    suspect = suspected(wb.Multiclass(*inputs()), W.ravel(), wb.SoftMargin(0.5))
    point = Point(2.0, b, np.array([[-5.0, 9.0]]), 0.25)  # ρ = (1, 1)
    found = fit(risking(lambda other, b: 0.0), W, point, ("", ""), suspect)
    assert found.most == pytest.approx((2.0 / 4.0 + 0.25) / (SHARE * 25.0))


@pytest.mark.parametrize(
    ("mu", "reason"),
    [
        *((0.3, True), (0.3 * 1.019, True), (0.3 * 1.021, False), (0.6, True), (0.15, True), (0.45, False)),
        *((1 / 9, True), (1.03 / 9, False), (0.3 / 9, True), (0.3 * 9, True)),
        *((1 / 0.3, True), (1 / (0.3 * 9), True), (2.0, False)),
    ],
)
def test_which_multiples_of_lambda_have_a_reason(mu, reason):
    """λ, twice or half of it, C = 1, a sum for a mean, a mean twice, λ in the place of C; n = 9."""
    W = np.array([[3.0, -4.0], [1.0, 0.0], [0.0, 2.0]])
    suspect = suspected(wb.Multiclass(*inputs()), W.ravel(), wb.SoftMargin(0.3))
    point = Point(mu, np.zeros(3), -mu * W, 0.0)
    found = fit(risking(lambda other, b: 0.0), W, point, ("", ""), suspect)
    assert found.neighbour.evidence == {"lam": mu} | ({} if reason else {"free": 1.0})


def test_the_words_of_what_is_learned():
    suspect = SimpleNamespace(n=50, form=SimpleNamespace(lam=0.3))
    name, said = described("squared hinge", "a free intercept", "scaled features", suspect, 0.6)
    assert name == "one-vs-rest, squared hinge, scaled features"
    assert said.startswith(
        "learns one label against the rest, each by a squared hinge with a free intercept that it does not report, "
        "with scaled features, with λ 2 times as large (the joint"
    )
    assert described("likelihood", "", "", suspect, 0.3) == (
        "one-vs-rest, likelihood",
        "learns one label against the rest, each by a likelihood of its own (the joint problem is "
        'multi_class="crammer_singer", with C = 1/(λn), in scikit-learn)',
    )
    assert "by a hinge, with C = 1 whatever λ is (" in described("hinge", "", "", suspect, 1 / 50)[1]
    of_crf = SimpleNamespace(n=50, form=wb.CRF(lam=0.3))
    assert "joint problem is LogisticRegression without OneV" in described("likelihood", "", "", of_crf, 0.3)[1]


# ── what is tried ─────────────────────────────────────────────────────────────────────────────────


def suspected(problem, theta=None, form=None):
    theta = np.ones(problem.n_features) if theta is None else np.asarray(theta, float)
    return Suspect(theta, Reference(form or wb.SoftMargin(0.1), problem, theta, 1.0, 0.0, 1.0))


def inputs(n=9, k=3):
    rng = np.random.default_rng(4)
    return rng.normal(size=(n, 2)) * [1.0, 3.0] + 1.0, np.arange(n) % k


def test_samples_are_weighed_as_given_and_by_classes():
    X, y = inputs()
    weights = np.arange(1.0, 10.0)
    found = {changed: prices for changed, _, prices in readings(suspected(wb.Multiclass(X, y, weights=weights)))}
    np.testing.assert_allclose(found[""], weights / weights.sum())
    np.testing.assert_allclose(found["standardised features"], weights / weights.sum())
    assert "balanced classes" not in found  # they are
    uneven = np.append(y[:-2], [0, 0])
    found = {changed: prices for changed, _, prices in readings(suspected(wb.Multiclass(X, uneven, weights=weights)))}
    counts = np.bincount(uneven)
    np.testing.assert_allclose(found["balanced classes"], weights * 9 / (3 * counts[uneven]) / weights.sum())
    (plain,) = (X for changed, X, _ in readings(suspected(wb.Multiclass(X, uneven))) if changed == "balanced classes")
    np.testing.assert_array_equal(plain, X)


def test_every_loss_is_tried_the_hinge_without_intercepts_and_on_features_as_they_are(monkeypatch):
    asked = []

    def found(rows, W, bias):
        asked.append((rows.loss, bias, rows.X.tolist()))
        return Point(float(rows.loss != "likelihood"), np.zeros(3), 0 * W, 0.0)

    monkeypatch.setattr(module, "stationary", found)
    X, y = inputs()
    suspect = suspected(wb.Multiclass(X, y), np.arange(6.0))
    fits = list(one_vs_rest(suspect))
    views = len({str(table) for _, _, table in asked})
    biases = ["", "a free intercept", "a penalised intercept"]
    assert [each[:2] for each in asked[:10]] == [
        *[("squared hinge", bias) for bias in biases],
        *[("squared loss", bias) for bias in biases],
        ("hinge", ""),
        *[("likelihood", bias) for bias in biases],
    ]
    assert asked[0][2] == X.tolist()
    assert len(asked) == 10 + 9 * (views - 1)
    assert len(fits) == 7 + 6 * (views - 1)  # without a μ > 0 there is none
    asked.clear()
    monkeypatch.setattr(module, "ROOM", X.size)
    list(one_vs_rest(suspect))
    assert "hinge" in {loss for loss, *_ in asked}
    asked.clear()
    monkeypatch.setattr(module, "ROOM", X.size - 1)
    list(one_vs_rest(suspect))
    assert "hinge" not in {loss for loss, *_ in asked}


def test_signs_are_those_of_labels(monkeypatch):
    seen = []
    monkeypatch.setattr(
        module, "stationary", lambda rows, W, bias: seen.append((rows, W)) or Point(0.0, None, None, 0.0)
    )
    X, y = inputs()
    list(one_vs_rest(suspected(wb.Multiclass(X, y), np.arange(6.0))))
    np.testing.assert_array_equal(seen[0][0].signs, np.where(y[:, None] == np.arange(3), 1.0, -1.0))
    assert seen[0][1].tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_where_there_is_no_one_against_the_rest(monkeypatch):
    monkeypatch.setattr(module, "stationary", lambda rows, W, bias: Point(1.0, np.zeros(len(W)), 0 * W, 0.0))
    X, y = inputs()
    assert list(one_vs_rest(suspected(wb.Multiclass(X, y))))
    assert list(one_vs_rest(suspected(wb.Multiclass(X, y), np.full(6, 1e-9))))
    assert not list(one_vs_rest(suspected(wb.Multiclass(X, y), np.zeros(6))))
    assert not list(one_vs_rest(suspected(wb.Multiclass(*inputs(k=2)))))
    chain = wb.Chain([X[:4], X[4:]], [y[:4], y[4:]])
    assert not list(one_vs_rest(suspected(chain)))
    assert not list(one_vs_rest(suspected(wb.Chain([X[:2], X[2:4], X[4:6]], [y[:2], y[2:4], y[4:6]]))))
    assert not list(one_vs_rest(suspected(wb.Linear(X, np.where(y == 0, 1.0, -1.0)))))


def test_the_numbers_of_one_against_the_rest():
    assert (module.ON, module.SAME, module.TURNS, module.LEAST) == (ON, 0.02, 25, LEAST)
    assert module.ROOM == 4_000_000
