"""Chains whose pairs of neighbours have features: every route against enumeration, both checkers, the plain chain."""

from __future__ import annotations

import itertools
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from both_checkers import both
from forging.campaign import opened
from second_checker.formulations import Program

import workbench as wb
from workbench.arithmetic.compiled import available, compiled_kernel
from workbench.arithmetic.rationals import ratios
from workbench.data.loading import load_problem
from workbench.judging.relations import RELATIONS
from workbench.objectives.oracles import UnitMargin
from workbench.outputs import chain
from workbench.outputs.chain import Chain
from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.outputs.chain import Chain as Trusted
from workbench.proofs.checker.whole import exact
from workbench.registries import registry


def paired(rng, n=4, k=None, q=None, p=2, longest=4, halves=False, **settings):
    """Random sequences, the first of two letters; in halves there are ties and sums are exact."""
    k, q = k or int(rng.integers(2, 4)), q or int(rng.integers(1, 4))
    lengths = np.append(2, rng.integers(1, longest + 1, n - 1))

    def draw(*shape):
        return rng.integers(-2, 3, shape) / 2 if halves else rng.normal(size=shape)

    labels = [rng.integers(0, k, t) for t in lengths]
    gaps = [draw(t - 1, q) for t in lengths]
    return Chain([draw(t, p) for t in lengths], labels, classes=np.arange(k), pairs=gaps, **settings)


def plain_features(problem, i, y):
    """φ(x_i, y) by its definition."""
    k, p, q = problem.n_classes, problem.n_inputs, problem.n_pairs
    first, W, A = problem.offsets[i], np.zeros((k, p)), np.zeros((k, k, q))
    for t, label in enumerate(y):
        W[label] += problem.letters.toarray()[first + t]
        if t:
            A[y[t - 1], label] += problem.gaps[first + t]
    return np.concatenate([W.ravel(), A.ravel()])


def tables(problem):
    """Per sample: every labelling, its features less the truth's (Y, d), its loss (Y,), if it is the truth (Y,)."""
    for i, length in enumerate(problem.lengths.tolist()):
        outputs = np.array(list(itertools.product(range(problem.n_classes), repeat=length)))
        truth = problem.truth[i, :length]
        phi = np.array([plain_features(problem, i, y) for y in outputs]) - plain_features(problem, i, truth)
        loss = problem.cost[truth, outputs].sum(axis=1) / problem.divisors[i]
        yield outputs, phi, loss, (outputs == truth).all(axis=1)


def index(outputs, row):
    return int(np.flatnonzero((outputs == row[: outputs.shape[1]]).all(axis=1))[0])


@pytest.mark.parametrize("halves", [False, True], ids=["reals", "ties"])
@pytest.mark.parametrize("fast", [False, True] if available() else [False])
def test_every_search_equals_enumeration(halves, fast, monkeypatch):
    rng = np.random.default_rng(3 + halves)
    monkeypatch.setattr(chain, "available", lambda: fast)
    for _ in range(15):
        problem = paired(rng, halves=halves, loss=("hamming", "hamming-normalised")[rng.integers(2)])
        w, every = rng.integers(-2, 3, problem.n_features) / 2, np.arange(problem.n_samples)
        found = {
            "score": problem.argmax(w, every, augment=False),
            "margin": problem.argmax(w, every),
            "slack": problem.slack_argmax(w, every),
            "rival": problem.runner_up(w, every),
            "unit": UnitMargin(problem).argmax(w, every),
        }
        kernels = {"margin": problem.kernel(), "slack": problem.slack_kernel(), "unit": problem.rival_kernel()}
        for i, (outputs, phi, loss, true) in enumerate(tables(problem)):
            scores = phi @ w
            gains = {"score": scores, "margin": scores + loss, "slack": loss * (1 + scores)}
            gains["rival"], gains["unit"] = np.where(true, -np.inf, scores), np.where(true, 0.0, 1 + scores)
            for what, values in gains.items():
                assert values[index(outputs, found[what][i])] == pytest.approx(values.max(), abs=1e-10), what
            for what, kernel in kernels.items():
                compiled, out = compiled_kernel(kernel) if fast else kernel, np.empty(problem.width, np.int64)
                assert compiled.argmax_into(compiled.data, w, i, out) == pytest.approx(gains[what].max(), abs=1e-10)
                slope, at = np.zeros(problem.n_features), index(outputs, out)
                compiled.add_slope(compiled.data, i, out, 2.0, slope)
                expected = 2.0 * phi[at] * (loss[at] if what == "slack" else 1.0)
                np.testing.assert_allclose(slope, expected, atol=1e-10)


def test_features_losses_and_their_bounds_equal_enumeration():
    rng = np.random.default_rng(1)
    for _ in range(20):
        problem = paired(rng)
        for i, (outputs, phi, loss, _) in enumerate(tables(problem)):
            listed, samples = problem.outputs(i), np.full(len(outputs), i)
            assert np.array_equal(listed[:, : outputs.shape[1]], outputs)
            rows, own = problem.features(samples, listed), problem.features(samples[:1], problem.truth[[i]])
            np.testing.assert_allclose(rows.toarray() - own.toarray(), phi, atol=1e-12)
            np.testing.assert_allclose(problem.loss(samples, listed), loss, atol=1e-15)
            assert (abs(rows).sum(axis=1) <= problem.magnitude[i]).all()
    names = problem.weight_names()
    assert len(names) == len(set(names)) == problem.n_features


def test_exact_maxima_of_both_checkers_equal_enumeration():
    """In halves: floats are exact, so the three agree to the last digit."""
    rng, every = np.random.default_rng(8), np.arange(4)
    for _ in range(12):
        problem = paired(rng, halves=True, loss="hamming")
        arrays = {name: np.asarray(array) for name, array in problem.arrays().items()}
        trusted, view = Trusted(Fields(arrays)), problem.exact()
        settings = {"lam": Fraction(1), "rescaling": "margin", "declare": "cuts"}
        other = Program("soft-margin", settings, {f"data_{name}": each for name, each in arrays.items()}, "chain").data
        w = rng.integers(-3, 4, problem.n_features) / 2
        found = {what: getattr(view, what)(ratios(w), every).fractions() for what in ("margin", "slack", "rival")}
        theirs = {what: getattr(trusted, what)(exact(w), every) for what in found}
        for i, (_, phi, loss, true) in enumerate(tables(problem)):
            scores = phi @ w
            best = {"margin": scores + loss, "slack": loss * (1 + scores), "rival": np.where(true, -np.inf, scores)}
            for what, values in best.items():
                assert found[what][i] == Fraction(values.max())
                assert Fraction(int(theirs[what].values[i]), theirs[what].unit) == Fraction(values.max())
                if what != "rival":
                    assert other.height(i, [Fraction(x) for x in w], what) == Fraction(values.max())


@pytest.mark.parametrize("seed", range(3))
def test_likelihoods_and_their_gradients_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    problem = paired(rng, n=5)
    w, prices, value, gradient = rng.normal(size=problem.n_features), rng.random(5), [], 0.0
    for price, (_, phi, _, _) in zip(prices, tables(problem), strict=True):
        masses = np.exp(phi @ w)
        value.append(np.log(masses.sum()))
        gradient = gradient + price * (masses / masses.sum()) @ phi
    found, slope = problem.marginals().evaluate(w, np.arange(5), prices)
    np.testing.assert_allclose(found, value, atol=1e-12)
    np.testing.assert_allclose(slope, gradient, atol=1e-12)


def enumerated(problem, form, lam):
    """min λ/2 ‖w‖² + mean of the hinges, or of the likelihoods, over all labellings listed in CVXPY."""
    w, terms = cp.Variable(problem.n_features), []
    for _, phi, loss, _ in tables(problem):
        terms.append(cp.log_sum_exp(phi @ w) if form == "crf" else cp.max(phi @ w + loss))
    program = cp.Problem(cp.Minimize(lam / 2 * cp.sum_squares(w) + sum(terms) / problem.n_samples))
    return program.solve(solver="CLARABEL")


@pytest.mark.parametrize(
    ("form", "settings"),
    [("soft-margin", {}), ("soft-margin", {"declare": "compact"}), ("crf", {})],
    ids=["cuts", "compact", "crf"],
)
def test_the_optimum_is_that_of_the_enumerated_program_in_cvxpy(form, settings):
    problem = paired(np.random.default_rng(5), n=5, k=2, q=2)
    solution = wb.solve(registry("formulation").get(form)(lam=0.1, **settings), problem, gap=1e-7)
    assert solution.upper == pytest.approx(enumerated(problem, form, 0.1), rel=1e-5)


FORMS = [
    ("soft-margin", {}),
    ("soft-margin", {"rescaling": "slack"}),
    ("soft-margin", {"intercept": True}),
    ("crf", {}),
    ("normalized-cost-learning", {}),
]


@pytest.mark.parametrize(("form", "settings"), FORMS)
def test_both_checkers_prove_it_and_neither_without_its_pairs(form, settings, tmp_path):
    problem = paired(np.random.default_rng(2), k=2, q=1)
    found = opened(wb.solve(registry("formulation").get(form)(**settings), problem, gap=1e-6).certificate)
    found.write(tmp_path / "one")
    said = both(str(tmp_path / "one"))
    assert (said["first"], said["second"]) == ("proven", "proven"), said["why"]
    kept = found.arrays["data_pairs"]
    for pairs, word in ((3 * kept + 1, "not proven"), (kept[1:], "malformed"), (kept[:, :0], "malformed")):
        found.arrays["data_pairs"] = np.ascontiguousarray(pairs)
        found.write(tmp_path / "one")
        said = both(str(tmp_path / "one"))
        assert (said["first"], said["second"]) == (word, word), said["why"]


def test_constant_features_are_the_plain_chain_to_the_last_bit():
    rng = np.random.default_rng(4)
    for _ in range(10):
        given = paired(rng, q=1, halves=True)
        arrays = given.arrays()
        ones = Chain.from_arrays(arrays | {"pairs": np.ones_like(arrays["pairs"])})
        plain = Chain.from_arrays({name: each for name, each in arrays.items() if name != "pairs"})
        w, every = rng.normal(size=plain.n_features), np.arange(4)
        for search in ("argmax", "slack_argmax", "runner_up"):
            assert np.array_equal(getattr(plain, search)(w, every), getattr(ones, search)(w, every))
        assert abs(plain.features(every, plain.truth) - ones.features(every, ones.truth)).sum() == 0
        values, gradient = plain.marginals().evaluate(w, every, np.ones(4))
        again, other = ones.marginals().evaluate(w, every, np.ones(4))
        np.testing.assert_allclose(values, again, atol=1e-12)
        np.testing.assert_allclose(gradient, other, atol=1e-12)


def test_files_and_changes_of_the_data_keep_the_features_of_pairs():
    problem = paired(np.random.default_rng(6), n=5, q=2)
    again = Chain.from_arrays(problem.arrays())
    assert np.array_equal(problem.gaps, again.gaps)
    w, every = np.random.default_rng(0).normal(size=problem.n_features), np.arange(5)
    hinges = np.array([(phi @ w + loss).max() for _, phi, loss, _ in tables(problem)])
    for name in ("duplicate", "permute", "rename", "rotate"):
        changed = RELATIONS[name](problem)
        v = changed.moves["w"](w) if "w" in changed.moves else w
        others = np.array([(phi @ v + loss).max() for _, phi, loss, _ in tables(changed.problem)])
        np.testing.assert_allclose(np.sort(others)[:: 2 if name == "duplicate" else 1], np.sort(hinges), atol=1e-10)
    sequences = [problem.letters[a:b].toarray() for a, b in itertools.pairwise(problem.offsets)]
    gaps = [problem.gaps[a + 1 : b] for a, b in itertools.pairwise(problem.offsets)]
    best = problem.argmax(w, every, augment=False)
    for row, labels in zip(best, problem.predict(w, sequences, pairs=gaps), strict=True):
        assert row[: len(labels)].tolist() == labels.tolist()


X, Y = [np.eye(2), np.eye(2)[:1]], [[0, 1], [1]]


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([np.ones((1, 2))], "There are 2 sequences; give one table of features of pairs for each"),
        ([np.ones((2, 2)), np.ones((0, 2))], r"sequence 0 have shape \(2, 2\); give \(1, 2\)"),
        ([np.ones(1), np.ones((0, 2))], r"sequence 0 have shape \(1,\); give \(1, 2\)"),
        ([np.ones((1, 0)), np.ones((0, 0))], r"sequence 0 have shape \(1, 0\); give \(1, 1\)"),
        ([np.full((1, 2), np.nan), []], "A feature of a pair of sequence 0 is infinite, missing or beyond"),
        ([[["a"]], []], "The features of pairs of sequence 0 are ragged or not numbers"),
    ],
)
def test_features_of_pairs_that_do_not_fit_are_refused(pairs, said):
    with pytest.raises(wb.BadInput, match=said):
        Chain(X, Y, pairs=pairs)


def test_predictions_and_learners_ask_for_the_pairs_that_were_learned():
    problem = Chain(X, Y, pairs=[np.ones((1, 2)), []])
    for pairs in (None, [np.ones((1, 3)), np.ones((0, 3))]):
        with pytest.raises(wb.BadInput, match="give `pairs` as in training"):
            problem.predict(np.zeros(problem.n_features), X, pairs=pairs)
    one = Chain(X, Y, pairs=[np.ones((1, 1)), []])
    for name in ("generative", "python-crfsuite"):
        with pytest.raises(wb.MissingCapability, match="features of pairs"):
            registry("learner").get(name)(one, wb.CRF(), 1, np.random.default_rng(0))


def test_input_dependent_pairs_tell_what_plain_transitions_cannot():
    """The generator's order shows only where g_t = 1: the chain that reads g_t has the better held-out error."""
    generate, errors = load_problem("synthetic-chain"), {}
    train, test = (generate(pairs=True, n=n, order=1.0, noise=1.0, seed=seed) for n, seed in ((60, 0), (200, 1)))
    for name in ("pairs", "plain"):
        kept, new = (
            Chain.from_arrays({k: v for k, v in each.arrays().items() if name == "pairs" or k != "pairs"})
            for each in (train, test)
        )
        w = wb.solve(wb.SoftMargin(lam=0.01), kept, gap=1e-3).theta["w"]
        errors[name] = float(new.loss(np.arange(200), new.argmax(w, np.arange(200), augment=False)).mean())
    assert errors["pairs"] < errors["plain"] - 0.03, errors
