"""Hinges clipped at 0 where the truth is no output: closed form, CVXPY, both checkers, predictions."""

from __future__ import annotations

import json

import cvxpy as cp
import numpy as np
import pytest
from both_checkers import both

import workbench as wb
from workbench.arithmetic.rationals import ratios
from workbench.formulations.perceptron import Separation
from workbench.formulations.self_paced import SelfPaced
from workbench.objectives.oracles import Decoding
from workbench.outputs.matching import ITSELF, Matching
from workbench.proofs.checker.archive import digest
from workbench.solvers.perceptron import Perceptron

TWICE = [(0, 0), (0, 1)]  # one row, two columns: no matching holds both links


def annotated(rng, n=5, most=3, d=3):
    """Samples whose annotations are any links, about half of them no matchings."""
    shapes = rng.integers(1, most + 1, (n, 2))
    features = [rng.normal(size=(j, k, d)) for j, k in shapes]
    gold = [np.argwhere(rng.random(x.shape[:2]) < 0.5) for x in features]
    return Matching(features, gold, *rng.uniform(0.5, 2, 2), clipped=True), features, gold


def by_hand(problem, features, gold, i, w):
    """Values ℓ − ⟨w, ψ⟩ of all matchings of a sample, by loops over sets of links."""
    truth, found = {tuple(link) for link in gold[i].tolist()}, []
    own = sum(features[i][link] for link in truth) if truth else np.zeros(len(w))
    for row in problem.outputs(i):
        if row[0] == ITSELF:
            continue
        y = {(j, int(k)) for j, k in enumerate(row) if k >= 0}
        loss = problem.false_positive * len(y - truth) + problem.false_negative * len(truth - y)
        found.append((loss, sum((features[i][link] for link in y), np.zeros(len(w))) - own))
    return found


@pytest.mark.parametrize("lam", [0.25, 0.5, 1.0, 4.0])
def test_the_closed_form_of_one_word_linked_twice(lam):
    """h(w) = 2 (1 − w)₊ with φ(y_i) = 2, so w* = min(1, 2/λ); unclipped, w* would be 1/λ wherever that exceeds 1."""
    problem = Matching([np.ones((1, 2, 1))], [TWICE], clipped=True)
    solution = wb.solve(wb.SoftMargin(lam=lam), problem, gap=1e-12)
    w = min(1, 2 / lam)
    assert solution.theta["w"][0] == pytest.approx(w, abs=1e-9)
    assert solution.upper == pytest.approx(lam / 2 * w**2 + 2 * (1 - w), abs=1e-11)
    assert problem.least_loss == 1.0


def test_the_optimum_equals_the_clipped_program_written_by_hand_and_both_declarations():
    rng = np.random.default_rng(0)
    clips = 0
    for _ in range(6):
        problem, features, gold = annotated(rng)
        clips += problem.outside.sum()
        w = cp.Variable(problem.n_features)
        lines = [by_hand(problem, features, gold, i, np.zeros(3)) for i in range(problem.n_samples)]
        hinges = [cp.pos(cp.max(cp.hstack([loss + slope @ w for loss, slope in each]))) for each in lines]
        program = cp.Problem(cp.Minimize(0.05 * cp.sum_squares(w) + sum(hinges) / problem.n_samples))
        program.solve(solver="CLARABEL")
        for declare in ("cuts", "compact"):
            solution = wb.solve(wb.SoftMargin(lam=0.1, declare=declare), problem, gap=1e-7)
            assert solution.upper == pytest.approx(program.value, rel=1e-6)
    assert clips > 8


def test_kernel_exact_and_argmax_equal_enumeration():
    rng = np.random.default_rng(1)
    answered = 0
    for _ in range(200):
        problem, features, gold = annotated(rng)
        w, everyone = rng.normal(size=3) * 3, np.arange(problem.n_samples)
        for augment in (True, False):
            kernel = problem.kernel(augment)
            oracle = wb.SoftMargin().oracle(problem) if augment else Decoding(problem)
            rows = oracle.argmax(w, everyone)
            for i in everyone:
                values = [augment * loss + slope @ w for loss, slope in by_hand(problem, features, gold, i, w)]
                best = max(max(values), 0)
                out = np.empty(problem.width, np.int64)
                assert kernel.argmax_into(kernel.data, w, i, out) == pytest.approx(best, abs=1e-10)
                slopes, offsets = oracle.rows(np.array([i, i]), np.stack([out, rows[i]]))
                np.testing.assert_allclose(slopes @ w + offsets, best, atol=1e-10)
                answered += rows[i][0] == ITSELF
        predicted = problem.argmax(w, everyone, augment=False)
        assert (predicted != ITSELF).all()
        exact = problem.exact()
        for kind, margin in (("margin", 0.0), ("rival", -np.inf)):
            found = getattr(exact, kind)(ratios(w), everyone).fractions()
            for i in everyone[problem.outside]:
                pairs = by_hand(problem, features, gold, i, w)
                best = max((kind == "margin") * loss + slope @ w for loss, slope in pairs)
                assert float(found[i]) == pytest.approx(max(best, margin), abs=1e-10)
    assert answered > 100


@pytest.mark.parametrize("formulation", [wb.SoftMargin(lam=0.3), wb.HardMargin(), SelfPaced(C=2.0, K=1.0)])
def test_both_checkers_prove_clipped_certificates_and_refuse_a_clip_that_is_none(formulation, tmp_path):
    rng, proven = np.random.default_rng(2), 0
    for _ in range(10):
        problem, _, _ = annotated(rng, n=3)
        try:
            solution = wb.solve(formulation, problem, gap=1e-6)
        except wb.NotSeparable:
            continue
        solution.certificate.save(tmp_path / "c")
        said = both(str(tmp_path / "c"))
        assert (said["first"], said["second"]) == ("proven", "proven"), said["why"]
        refusals = forged(problem, tmp_path / "c.npz", tmp_path)
        assert refusals == [("malformed", "malformed")] * len(refusals)
        proven += len(refusals) > 0
    assert proven >= 2


def forged(problem, path, folder):
    """What both checkers say where the clip is declared of a matching, of links that are none, or of nothing."""
    arrays, said = dict(np.load(path)), []
    header = json.loads(path.with_suffix(".json").read_text())
    i = int(problem.outside.argmax())
    links = arrays.get("data_annotated")
    if links is None:
        return said
    alone = links[(links[:, 0] != i) | (np.arange(len(links)) == np.flatnonzero(links[:, 0] == i)[0])]
    far = links + np.array([0, 0, 9])
    for number, changed in enumerate((alone, far, links[::-1], links[:0])):
        arrays["data_annotated"] = np.ascontiguousarray(changed)
        data = {name[5:]: array for name, array in arrays.items() if name.startswith("data_")}
        header["problem"]["data_sha256"] = digest(data)
        np.savez(folder / f"f{number}.npz", **arrays)
        (folder / f"f{number}.json").write_text(json.dumps(header))
        found = both(str(folder / f"f{number}"))
        said.append((found["first"], found["second"]))
        assert "annotated" in found["why"] or "truth" in found["why"], found["why"]
    return said


def test_a_perceptron_leaves_alone_what_no_matching_outscores():
    problem = Matching([np.ones((1, 2, 1))], [TWICE], clipped=True)
    trace = wb.run(Perceptron(average="last"), Separation(), problem, passes=3)
    assert trace.thetas[-1, 0] == 2.0  # once, at the tie of w = 0; then y_i outscores all


def test_files_predictions_and_words(tmp_path):
    problem = Matching([np.ones((1, 2, 1)), np.ones((2, 2, 1))], [TWICE, [(0, 1)]], clipped=True)
    again = Matching.from_arrays(problem.arrays())
    assert (again.truth == problem.truth).all()
    assert again.outside.tolist() == [True, False]
    assert problem.describe(0, problem.truth[0]) == "its 2 annotated links, which are no matching"
    assert [len(links) for links in problem.predict(np.ones(1), [np.ones((1, 2, 1))])] == [1]
    with pytest.raises(wb.BadInput, match="keep them by clipped=True"):
        Matching([np.ones((1, 2, 1))], [TWICE])
    plain = Matching([np.ones((1, 2, 1))], [[(0, 1)]], clipped=True)
    assert "annotated" not in plain.arrays()
