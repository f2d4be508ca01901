"""Motifs: windows against plain counting, hidden and completed positions, planted data, refusals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motif_helpers import tiny

import workbench as wb
from workbench.arithmetic import compiled as machine
from workbench.arithmetic.rationals import ratios
from workbench.contracts import Kernelled, Latent, Problem
from workbench.objectives.oracles import MarginRescaling
from workbench.outputs import motif

seeds = st.integers(0, 2**32 - 1)


def counted(problem, sample, label, position):
    """φ(x, y, h), letter by letter."""
    m, phi = problem.length, np.zeros(problem.n_features)
    for t, x in enumerate(problem.text(sample)):
        inside = label == 1 and position <= t < position + m
        phi[(4 * (t - position) if inside else 4 * m) + "ACGT".index(x)] += 1
    return phi


@given(seed=seeds)
@settings(max_examples=25)
def test_features_are_counts(seed):
    problem, _ = tiny(seed)
    for i in range(problem.n_samples):
        outputs = problem.outputs(i)
        found = problem.features(np.full(len(outputs), i), outputs).toarray()
        np.testing.assert_array_equal(found, [counted(problem, i, *output) for output in outputs])
        assert (found.sum(axis=1) == problem.lengths[i]).all()


@given(seed=seeds)
@settings(max_examples=25)
def test_imputed_positions_have_the_highest_score(seed):
    problem, rng = tiny(seed)
    w = rng.normal(size=problem.n_features)
    everyone = np.arange(problem.n_samples)
    states, scores = problem.impute(w), problem.hidden_scores(w, everyone)
    for i in everyone:
        listed = [counted(problem, i, problem.labels[i], h) @ w for h in problem.hidden(i)]
        np.testing.assert_allclose(scores[i], listed, atol=1e-12)
        assert problem.n_hidden[i] == len(listed)
        assert states[i] == problem.hidden(i)[np.argmax(listed)]


def test_of_equal_positions_the_old_one_stays_else_the_first():
    problem = wb.Motif(["ACACAC", "TTTT"], [1, -1], 2)
    w = np.random.default_rng(0).normal(size=12)
    w[:8] = [3, 0, 0, 0, 0, 3, 0, 0]  # AC
    assert problem.impute(w).tolist() == [0, -1]
    for old in (0, 2, 4):
        assert problem.impute(w, np.array([old, -1])).tolist() == [old, -1]
    assert problem.impute(w, np.array([1, -1])).tolist() == [0, -1]
    assert problem.impute(0 * w, np.array([3, -1])).tolist() == [3, -1]


@given(seed=seeds)
@settings(max_examples=25)
def test_a_completed_problem_has_one_output_of_the_true_label(seed):
    """Its oracle, kernel and exact view against enumeration; weights may be zero."""
    problem, rng = tiny(seed)
    states = np.array([rng.choice(problem.hidden(i)) for i in range(problem.n_samples)])
    completed = problem.completed(states, np.zeros(problem.n_samples))
    assert isinstance(completed, Problem) and isinstance(completed, Kernelled)  # noqa: PT018
    assert not completed.free_outputs
    assert not completed.weights.any()
    w, oracle, everyone = (
        rng.integers(-2, 3, problem.n_features) + 0.0,
        MarginRescaling(completed),
        np.arange(len(states)),
    )
    kernel, exact = completed.kernel(), completed.exact()
    slopes, offsets = oracle.rows(everyone, oracle.argmax(w, everyone))
    for i in everyone:
        outputs, truth = completed.outputs(i), counted(problem, i, problem.labels[i], states[i])
        rivals = [1 + counted(problem, i, *each) @ w - truth @ w for each in outputs if each[0] != problem.labels[i]]
        assert len(rivals) == len(outputs) - 1 or not problem.labels[i]
        best, out = max(0.0, *rivals), np.empty(2, np.int64)
        assert (slopes @ w + offsets)[i] == best == kernel.argmax_into(kernel.data, w, i, out)
        assert exact.margin(ratios(w), np.array([i])).fractions()[0] == Fraction(best)
        assert (outputs == out).all(axis=1).any()
    assert exact.fault(everyone, completed.truth) is None
    again = wb.Motif.from_arrays(completed.arrays() | {"weights": problem.weights})
    np.testing.assert_array_equal(again.argmax(w, everyone), completed.argmax(w, everyone))


def test_compiled_and_interpreted_windows_are_equal_to_the_last_bit(monkeypatch):
    if not machine.available():
        pytest.skip("numba is an optional dependency")
    problem = wb.load_problem("motif")(n=20)
    w, everyone = np.random.default_rng(0).normal(size=problem.n_features), np.arange(20)
    fast = problem.search(w, everyone, problem.truth[:, 1])
    monkeypatch.setattr(motif, "available", lambda: False)
    for one, other in zip(fast, problem.search(w, everyone, problem.truth[:, 1]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_hidden_positions_are_refused_where_they_are_needed():
    problem = wb.load_problem("motif")(n=8, hide=True)
    assert isinstance(problem, Latent)
    assert problem.describe(7, problem.truth[7]) == "label +1, position hidden"
    for form in (wb.SoftMargin(), wb.HardMargin(), wb.CRF()):
        with pytest.raises(wb.MissingCapability, match="position of sample 4 is hidden; use latent-ssvm"):
            wb.solve(form, problem)
    with pytest.raises(wb.MissingCapability, match="is hidden"):
        problem.kernel()


def test_planted_motifs_are_where_the_truth_says():
    settings_ = {"n": 40, "length": 7, "mutation": 0.0, "decoys": 0.0, "draw": 3}
    problem = wb.load_problem("motif")(**settings_)
    windows = {problem.describe(i, problem.truth[i]).split("(")[1] for i in range(20, 40)}
    assert len(windows) == 1
    assert problem.labels.tolist() == [0] * 20 + [1] * 20
    again = wb.load_problem("motif")(**settings_)
    assert again.arrays().keys() == problem.arrays().keys()
    assert all((again.arrays()[key] == each).all() for key, each in problem.arrays().items())
    mutated = wb.load_problem("motif")(n=400, mutation=0.4, draw=3)
    copies = np.array([list(mutated.describe(i, mutated.truth[i])[-9:-1]) for i in range(200, 400)])
    same = [(column == max(set(column), key=list(column).count)).mean() for column in copies.T]
    assert np.mean(same) == pytest.approx(0.7, abs=0.05)  # 0.6 + 0.4/4


def test_predictions_and_parts():
    problem = wb.load_problem("motif")(n=40, mutation=0.0, decoys=0.0)
    w = wb.solve(wb.SoftMargin(lam=1e-3), problem, gap=1e-4).theta["w"]
    signs = problem.predict(w, [problem.text(i).lower() for i in range(40)])
    np.testing.assert_array_equal(signs, 2 * problem.argmax(w, np.arange(40), augment=False)[:, 0] - 1)
    part = problem.take(np.array([3, 30]))
    assert (part.text(1), part.truth[1].tolist()) == (problem.text(30), problem.truth[30].tolist())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], 2), "no sequences"),
        (("ACGT", [1], 2), "no sequences"),
        ((["ACGT", "AC"], [1, 0], 3), "Sequence 1 has 2 letters, fewer"),
        ((["ACGT", "ACNT"], [1, 0], 2), "Letter 2 of sequence 1 is 'N'"),
        ((["ACGT", 5], [1, 0], 2), "Sequence 1 is a int"),
        ((["ACGT"], [1, 0], 2), "1 sequences but labels of shape"),
        ((["ACGT", "ACGT"], [1, 2], 2), "use 1 and −1"),
        ((["ACGT"], [1], 0), "motif's length is 0"),
        ((["ACGT", "ACGT"], [1, 0], 2, [3, -1]), "position of sample 0 is 3; it must be from 0 to 2"),
        ((["ACGT", "ACGT"], [1, 0], 2, [1, 0]), "since it is negative"),
        ((["ACGT", "ACGT"], [1, 0], 2, [0.5, -1]), "one whole number each"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message):
    with pytest.raises(wb.BadInput, match=message):
        wb.Motif(*arguments)


@pytest.mark.parametrize("settings_", [{"n": 1}, {"length": 31}, {"mutation": 1.5}, {"decoys": -0.1}])
def test_settings_out_of_range(settings_):
    with pytest.raises(wb.BadInput, match="plant nothing"):
        wb.load_problem("motif")(**settings_)


# ── promoters ─────────────────────────────────────────────────────────────────────────────────────


def test_promoters_are_read(tmp_path):
    (tmp_path / "promoters.data").write_text("+,S10,\t\tacgtac\n-,  7 ,ttttgg\n-,8,aaaaaa\n")
    found = wb.datasets.promoters(tmp_path)
    assert found.names == ["S10", "7", "8"]
    assert found.texts == ["ACGTAC", "TTTTGG", "AAAAAA"]
    problem = wb.load_problem("promoters")(n=3, length=2, data=str(tmp_path))
    assert problem.labels.tolist() == [1, 0, 0]
    for n in (1, 4):
        with pytest.raises(wb.BadInput, match="choose n from 2"):
            wb.load_problem("promoters")(n=n, data=str(tmp_path))


def test_damaged_promoters_are_named(tmp_path):
    (tmp_path / "promoters.data").write_text("+,S10,acgt\n*,7,acgt\n")
    with pytest.raises(wb.BadInput, match=r"promoters\.data is truncated or damaged.*line 2 is not of the form"):
        wb.datasets.promoters(tmp_path)


def test_the_public_promoters_are_what_they_were():
    try:
        arrays = wb.datasets.load(wb.datasets.PROMOTERS)
    except wb.datasets.MissingData as reason:
        pytest.skip(str(reason))
    wb.datasets.pinned(arrays, wb.datasets.PROMOTERS, "promoters.data")
    problem = wb.load_problem("promoters")()
    assert (problem.n_samples, problem.labels.sum(), set(problem.lengths.tolist())) == (106, 53, {57})
