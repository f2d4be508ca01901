"""The dyadic model and its learner: against single exact flows, replays, and what the data must show."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import workbench as wb
from workbench.dyads import flows
from workbench.dyads.dyadic import Dyadic, pairs_of, regularised_risk
from workbench.dyads.pairs import Dyads, Factors, simulated, split

seeds = st.integers(0, 2**32 - 1)


def sided(rng, n=12, classes=2):
    """Pairs with several real features on each side, importances, and linear features of their own."""
    left, right, linear = (rng.normal(size=(n, f)) * (rng.random((n, f)) < 0.7) for f in (4, 3, 2))
    left[:, 0] = right[:, 0] = 1
    labels = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    return Dyads(left, right, labels, sparse.csr_array(linear), rng.uniform(0.2, 3, n))


def score(factors, dyads, i, label):
    """p of one pair and label, written out."""
    left, right, x = (part[[i]].toarray()[0] for part in (dyads.left, dyads.right, dyads.linear))
    a, b = left @ factors.A[:, label], right @ factors.B[:, label]
    return a @ b + a.sum() + b.sum() + x @ factors.W[:, label]


@given(seed=seeds, k=st.integers(0, 3), classes=st.integers(2, 5))
def test_scores_are_the_model(seed, k, classes):
    rng = np.random.default_rng(seed)
    dyads = sided(rng, classes=classes)
    count = dyads.scores_per_pair
    sizes = [part.shape[1] for part in (dyads.left, dyads.right, dyads.linear)]
    factors = Factors(
        rng.normal(size=(sizes[0], count, k)), rng.normal(size=(sizes[1], count, k)), rng.normal(size=(sizes[2], count))
    )
    found = dyads.scores(factors)
    for i in range(dyads.n_samples):
        for label in range(count):
            assert found[i, label] == pytest.approx(score(factors, dyads, i, label), abs=1e-10)


class Slow:
    """The learner written out: whole vectors, explicit gradients of all parameters, shrunk at every visit."""

    def __init__(self, learner, dyads):
        self.learner, self.dyads, self.factors = learner, dyads, None
        state = learner.start(dyads)
        cut, count, k = state.count * dyads.left.shape[1], state.count, int(learner.dimensions)
        self.noise = [part.reshape(len(part) // count, count, k) for part in (state.latent[:cut], state.latent[cut:])]
        self.A, self.B, self.W = (
            np.zeros_like(part) for part in (*self.noise, np.zeros((dyads.linear.shape[1], count)))
        )
        self.touched = [np.zeros(len(part), bool) for part in self.noise]
        self.fade = np.exp(-learner.lam * learner.step)

    def visit(self, i):
        left, right, x = (part[[i]].toarray()[0] for part in (self.dyads.left, self.dyads.right, self.dyads.linear))
        for parameters, noise, touched, features in zip(
            (self.A, self.B), self.noise, self.touched, (left, right), strict=True
        ):
            fresh = (features != 0) & ~touched
            parameters[fresh], touched[fresh] = noise[fresh], True
        self.meet(i, left, right, x)
        for parameters in (self.A, self.B, self.W):
            parameters *= self.fade

    def flow(self, i, left, right, x, signed, y):
        """The gradient flow of h ℓ(Σ ± p_label, y) over `signed` labels, by the concatenated unit-length dyads."""
        size, other = np.linalg.norm(left), np.linalg.norm(right)
        a = np.concatenate([(left @ self.A[:, c] + 1) / size for c, _ in signed])
        b = np.concatenate([sign * (right @ self.B[:, c] + 1) / other for c, sign in signed])
        gamma, k = size * other, self.A.shape[2]
        bias = sum(sign * (x @ self.W[:, c] - k) for c, sign in signed)
        plus, minus = a + b, a - b
        X = len(signed) * (x @ x) / gamma
        numbers = gamma * (a @ b) + bias, gamma * (plus @ plus), gamma * (minus @ minus), X
        T = gamma * self.learner.step * self.dyads.importance[i]
        s = flows.stepper(self.learner.loss, flows.machine())(*numbers, y, T)
        new_a, new_b, _ = flows.moved(a, b, np.zeros(1), np.zeros(1), s)
        for j, (c, sign) in enumerate(signed):
            part = slice(j * k, (j + 1) * k)
            self.A[:, c] += np.outer(left, new_a[part] - a[part]) / size
            self.B[:, c] += np.outer(right, sign * (new_b[part] - b[part])) / other
            self.W[:, c] -= sign * s / gamma * x

    def meet(self, i, left, right, x):
        truth, count = self.dyads.labels[i], self.W.shape[1]
        if count == 1 or self.learner.reduction == "one-against-all":
            for c in range(count):
                y = 1.0 if truth == (c if count > 1 else 1) else -1.0
                self.flow(i, left, right, x, [(c, 1)], y)
            return
        alive = list(range(count))
        while len(alive) > 1:
            winners = []
            for j in range(0, len(alive), 2):
                if j + 1 == len(alive):
                    winners.append(alive[j])
                    continue
                u, v = alive[j : j + 2]
                if truth in (u, v):
                    self.flow(i, left, right, x, [(u, 1), (v, -1)], 1.0 if truth == u else -1.0)
                now = [score(Factors(self.A, self.B, self.W), self.dyads, i, c) for c in (u, v)]
                winners.append(u if now[0] >= now[1] else v)
            alive = winners


@pytest.mark.parametrize("reduction", ["tree", "one-against-all"])
@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_sweep_is_the_learner_written_out(reduction, loss, classes):
    rng = np.random.default_rng(classes)
    dyads = sided(rng, classes=classes)
    learner = Dyadic(2, loss, step=0.2, power=0.0, lam=0.3, reduction=reduction, seed=7)
    slow = Slow(learner, dyads)
    order = np.random.default_rng([7, 1])
    for _ in range(3):
        for i in order.permutation(dyads.n_samples):
            slow.visit(i)
    learner.fit(dyads, 3)
    for found, wanted in zip(learner.factors, (slow.A, slow.B, slow.W), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
def test_compiled_is_interpreted(loss):
    dyads = simulated(15, 3, 6, seed=2)
    fast, slow = (Dyadic(2, loss, lam=0.01, fast=fast).fit(dyads, 2).factors for fast in (None, False))
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_an_importance_of_two_is_the_update_twice():
    """One visit at importance h₁ + h₂ = two visits of the same pair; without shrinkage and with a constant step."""
    rng = np.random.default_rng(3)
    one = sided(rng).take(np.array([0]))
    double = sided(np.random.default_rng(3)).take(np.array([0]))
    double.importance = one.importance * 2
    once = Dyadic(2, "logistic", power=0.0).fit(double, 1).factors
    twice = Dyadic(2, "logistic", power=0.0).fit(one, 2).factors
    for found, wanted in zip(once, twice, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_symmetry_is_broken_on_first_touch_only():
    dyads = simulated(20, 3, 6, seed=4)
    seen = dyads.take(np.arange(12))
    learner = Dyadic(2, seed=5).fit(seen, 1)
    untouched = np.setdiff1d(np.arange(dyads.right.shape[1]), seen.right.indices)
    assert len(untouched)
    assert (learner.factors.B[untouched] == 0).all()
    assert (learner.factors.B[np.unique(seen.right.indices)] != 0).all()
    again = Dyadic(2, seed=5).fit(seen, 1).factors
    np.testing.assert_array_equal(learner.factors.A, again.A)
    flat = Dyadic(2, spread=0.0).fit(seen, 3).factors
    assert not np.array_equal(flat.A, learner.factors.A)
    np.testing.assert_allclose(flat.A[:, :, 0], flat.A[:, :, 1])  # the hyperdiagonal: dimensions stay equal


def planted(seed=0):
    """300 tasks × 40 of 60 raters in two classes, where raters weigh one hidden side of a task with either sign."""
    dyads = simulated(300, 40, 60, classes=2, rank=1, seed=seed)
    train, test = split(dyads.n_samples, 1 / 4, seed)
    return dyads.take(train), dyads.take(test)


def test_one_dimension_beats_the_linear_model_on_planted_data():
    train, test = planted()
    linear, dyadic = (test.error(Dyadic(k, step=0.2).fit(train, 15).predict(test)) for k in (0, 1))
    assert linear - dyadic > 3 * np.sqrt(linear * (1 - linear) / test.n_samples)


@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
def test_weights_stay_finite_over_all_steps(loss):
    dyads = simulated(60, 5, 12, seed=6)
    for step in (1e-3, 1e-1, 1e1, 1e3):
        factors = Dyadic(3, loss, step=step).fit(dyads, 3).factors
        assert all(np.isfinite(part).all() for part in factors)


def test_the_risk_of_two_classes_falls():
    train, _ = planted(1)
    risks = []
    Dyadic(1, step=0.02, lam=0.001, power=0.7).fit(
        train, 12, lambda _, f: risks.append(regularised_risk(train, f, 0.001))
    )
    assert risks[-1] < 0.9 * risks[0]


def test_weighted_errors_and_decisions():
    dyads = Dyads(["a", "b", "a"], ["x", "x", "y"], [0, 1, 2], importance=[1, 2, 1])
    assert dyads.error(np.array([0, 0, 0])) == pytest.approx(3 / 4)
    assert pairs_of(dyads).sizes[:, 2].tolist() == [3, 3, 3]
    assert dyads.left.shape == (3, 2)
    with pytest.raises(wb.BadInput, match="no ±1 targets"):
        dyads.targets  # noqa: B018


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["b"], [0]), "1 classes"),
        ((["a"], ["b", "c"], [0, 1]), "but 1 pairs on the left"),
        ((np.eye(2), np.array([[1.0], [0.0]]), [0, 1]), "Pair 1 has no right features"),
        ((["a", "b"], ["b", "c"], [0, 1], np.ones((3, 1))), "3 rows of linear features"),
        ((["a", "b"], ["b", "c"], [0, 1], None, [1, -1]), "must be finite, non-negative"),
        ((["a", "b"], ["b", "c"], [0, 1], None, None, [0, 2]), "Label 1 is not among"),
        ((["a", "b"], ["b", "c"], [0, 1], None, None, None, ["a"]), "not among the given left_names"),
    ],
)
def test_bad_pairs_are_refused(arguments, message):
    with pytest.raises(wb.BadInput, match=message):
        Dyads(*arguments)


@pytest.mark.parametrize(
    "settings", [{"dimensions": -1}, {"step": 0}, {"loss": "hinje"}, {"reduction": "forest"}, {"lam": float("inf")}]
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(wb.BadInput):
        Dyadic(**settings)


def test_h_min_turns_the_prediction():
    """An update of that importance towards the other label brings the score to zero."""
    dyads = sided(np.random.default_rng(8))
    learner = Dyadic(2, step=0.1, lam=0.1).fit(dyads, 4)
    h, p = learner.least_importances(dyads), dyads.scores(learner.factors)[:, 0]
    sizes = pairs_of(dyads).sizes
    for i in range(dyads.n_samples):
        left, right = dyads.left[[i]].toarray()[0], dyads.right[[i]].toarray()[0]
        a, b = (left @ learner.factors.A[:, 0] + 1) / sizes[i, 0], (right @ learner.factors.B[:, 0] + 1) / sizes[i, 1]
        gamma = sizes[i, 0] * sizes[i, 1]
        U, V, X = gamma * ((a + b) ** 2).sum(), gamma * ((a - b) ** 2).sum(), sizes[i, 2] / gamma
        s = flows.stepper("hinge", flows.machine())(p[i], U, V, X, -np.sign(p[i]), gamma * h[i])
        assert flows.predicted(s, p[i], U, V, X) == pytest.approx(0, abs=1e-9)
    with pytest.raises(wb.BadInput, match="call fit first"):
        Dyadic().least_importances(dyads)


def test_identities_are_found_by_name():
    """Pairs built apart number the same names anew; a learner finds each by its name, or refuses."""
    people, tasks = np.repeat(["a", "b", "c"], 4), np.tile(["t", "u", "v", "w"], 3)
    labels = (np.arange(12) % 5 < 2).astype(int)
    whole = Dyads(people, tasks, labels)
    learner = Dyadic(1, step=0.1).fit(whole, 20)
    asked = learner.predict(whole)
    late = np.flatnonzero(people != "a")[::-1]
    apart = Dyads(people[late], tasks[late], labels[late], classes=[0, 1])
    assert apart.left.shape[1] == 2
    assert learner.predict(apart).tolist() == asked[late].tolist()
    assert learner.least_importances(apart) == pytest.approx(learner.least_importances(whole)[late])
    with pytest.raises(wb.BadInput, match="left name 'd' was not among those learned"):
        learner.predict(Dyads(["d", "a"], ["t", "t"], [0, 1]))
    with pytest.raises(wb.BadInput, match=r"classes \['no', 'yes'\], those learned \[0, 1\]"):
        learner.predict(Dyads(["a", "a"], ["t", "u"], ["no", "yes"]))
    with pytest.raises(wb.BadInput, match="3 columns with no names, those learned 3 with names"):
        learner.predict(Dyads(np.eye(3), ["t", "u", "v"], [0, 1, 0]))
    lines = whole.examples("who", "what")
    written = Dyads.of_examples(lines, "who", "what", linear=["what"])
    turned = Dyads.of_examples(lines[::-1], "who", "what", linear=["what"])
    linear = Dyadic(1, step=0.1).fit(written, 20)
    assert linear.predict(turned).tolist() == linear.predict(written)[::-1].tolist()
    assert linear.predict(written).any()


# ── ratings from files ────────────────────────────────────────────────────────────────────────────


HEADING = '"User-ID";"ISBN";"Book-Rating"\n'
BOOKS = f"""{HEADING}"276725";"034545104X";"0"
"276726";"0155061224";"5"
"276725";"0155061224";"7"
"276727";" 0330299891";"8"
"276727";"0330299891";"9"
"276728";"\\"0432534220\\"";"10"
"276728";"3-498;0";"0"
"276729";"88\xe9\x85\xa0X";"6"
"""


def books(folder, text):
    (folder / "BX-Book-Ratings.csv").write_text(text, encoding="latin-1", newline="")
    return wb.datasets.ratings("book-crossing", folder)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_book_crossings_format(tmp_path, end):
    """Quotes, semicolons, blanks and Latin-1 in ISBNs stay what they are; \\x85 ends no line."""
    found = books(tmp_path, BOOKS.replace("\n", end))
    assert found.rater.tolist()[:3] == ["276725", "276726", "276725"]
    isbns = ["034545104X", *["0155061224"] * 2, " 0330299891", "0330299891", '"0432534220"', "3-498;0"]
    assert found.item.tolist() == [*isbns, "88\xe9\x85\xa0X"]
    assert found.label.tolist() == ["0", "5", "7", "8", "9", "10", "0", "6"]
    dyads = Dyads(found.rater, found.item, (found.label.astype(int) > 5).astype(int))
    assert (dyads.left.shape[1], dyads.right.shape[1], dyads.n_samples) == (5, 7, 8)
    assert Dyadic(1).fit(dyads, 2).predict(dyads).shape == (8,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOOKS + '"1";"2"\n', r"Line 10 of .*BX-Book-Ratings\.csv has 2 fields"),
        (BOOKS + '"1";" ";"3"\n', "Line 10 of .* give rater, item and label"),
        (BOOKS + '"276726";"0155061224";"6"\n', "Line 10 of .* judges the pair of line 3 again"),
        (BOOKS + '"276726";"01550"61224";"6"\n', "Line 10 of .* cannot be split"),
        (HEADING, "holds no ratings"),
        (BOOKS.removeprefix(HEADING), "Line 1 of .* must name the columns User-ID"),
    ],
)
def test_ratings_that_are_not(tmp_path, text, message):
    with pytest.raises(wb.BadInput, match=message):
        books(tmp_path, text)


def test_ratings_in_another_encoding(tmp_path):
    (tmp_path / "bluebird_crowd.txt").write_bytes(b"1\t2\t\xff\n")
    with pytest.raises(wb.BadInput, match="is not text in UTF-8"):
        wb.datasets.ratings("bluebird", tmp_path)


def test_ratings_that_are_missing(tmp_path, monkeypatch):
    monkeypatch.delenv("CUTBENCH_DATA", raising=False)
    with pytest.raises(wb.BadInput, match="put it into"):
        wb.datasets.ratings("bluebird", tmp_path)
    with pytest.raises(wb.BadInput, match="no ratings called 'bluebrid'"):
        wb.datasets.ratings("bluebrid")


def test_crowds_of_the_data_folder():
    try:
        faces, birds = (wb.datasets.ratings(name) for name in ("face-sentiment", "bluebird"))
    except wb.datasets.MissingData:
        pytest.skip("CUTBENCH_DATA holds no crowd data")
    assert (len(faces.rater), len(set(faces.rater)), len(set(faces.item)), set(faces.label)) == (
        5242,
        27,
        584,
        set("0123"),
    )
    assert (len(birds.rater), len(set(birds.rater)), len(set(birds.item)), set(birds.label)) == (
        4212,
        39,
        108,
        {"1", "2"},
    )


def test_the_crowd_problem_is_the_linear_model():
    problem = wb.load_problem("crowd")(source="simulated", n=50)
    assert problem.n_samples == 50
    assert wb.solve(wb.SoftMargin(0.1), problem, gap=1e-6).status == "optimal"
    with pytest.raises(wb.BadInput, match="choose n between 2"):
        wb.load_problem("crowd")(source="simulated", n=1)


def test_the_certified_optimum_of_the_linear_model_is_that_of_the_learner_s_risk():
    """Two scores ±⟨w, x⟩/2 with λ‖·‖²: mapped to one score, the optimum keeps its value; CVXPY finds no less."""
    table = wb.registry("benchmark").modules["dyadic-table"]
    dyads = table.planted(1000, 3)
    best = wb.solve(wb.SoftMargin(2 * table.LAM), table.as_linear(dyads), gap=1e-7)
    w = np.diff(best.theta_flat.reshape(2, -1), axis=0)[0]
    nothing = (np.zeros((side.shape[1], 1, 0)) for side in (dyads.left, dyads.right))
    assert regularised_risk(dyads, Factors(*nothing, w[:, None]), table.LAM) == pytest.approx(best.upper, rel=1e-9)
    v = cp.Variable(len(w))
    hinges = cp.pos(1 - cp.multiply(dyads.targets, dyads.linear @ v))
    program = cp.Problem(cp.Minimize(table.LAM / 2 * cp.sum_squares(v) + cp.sum(hinges) / dyads.n_samples))
    assert program.solve(solver="CLARABEL") == pytest.approx(best.lower, rel=1e-6)
    learned = Dyadic(0, step=0.3, power=0.75, lam=table.LAM).fit(dyads, 20).factors
    assert regularised_risk(dyads, learned, table.LAM) > best.lower


def test_linear_features_are_what_scikit_learn_takes():
    svm = pytest.importorskip("sklearn.svm")
    names, labels = np.array(list("abcabcab")), np.array([0, 1] * 4)
    for dyads in (wb.Dyads(names, names[::-1], labels), wb.Dyads(names, names[::-1], labels, np.eye(8))):
        assert dyads.linear.indices.dtype == dyads.linear.indptr.dtype == np.int32
        svm.LinearSVC(dual=True).fit(dyads.linear, labels)
        with pytest.raises(ValueError, match="int64"):
            svm.LinearSVC(dual=True).fit(wide(dyads.linear), labels)


def wide(matrix):
    index = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return sparse.csr_array((matrix.data, *index), shape=matrix.shape)
