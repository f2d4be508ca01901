"""What holds an optimum: bounds without a sample hold for the optimum that is solved without it."""

from __future__ import annotations

import itertools
import json
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner
from declared import proven_structures
from scipy.optimize import linprog

import workbench as wb
from workbench.command.cli import cli
from workbench.errors import BadInput, CutbenchError, MissingCapability, NotSeparable
from workbench.judging.relations import taken
from workbench.proofs.support import explain, without
from workbench.registries import misfit, registry

OUTPUTS, FORMULATIONS = registry("output").objects, registry("formulation").objects


def tiny(output):
    return OUTPUTS[output].tiny(np.random.default_rng(11))


PAIRS = [
    (output, name)
    for output, name in itertools.product(OUTPUTS, FORMULATIONS)
    if misfit(FORMULATIONS[name](), tiny(output)) is None
]
SEPARATING = {"hard-margin", "perceptron"}
INSEPARABLE = {"flow", "linear", "motif", "multiclass", "multilabel", "views"}  # the tiny problems of these


@cache
def separated(output, name):
    """Whether some θ meets every cut, by a linear program over all outputs: those of a tiny problem can be listed."""
    problem, form = tiny(output), FORMULATIONS[name]()
    counted = np.flatnonzero(problem.weights > 0)
    listed = [problem.outputs(i) for i in counted]
    samples = np.repeat(counted, [len(each) for each in listed])
    slopes, offsets = form.oracle(problem).rows(samples, np.concatenate(listed))
    signed = np.resize(getattr(problem, "signed", False), slopes.shape[1])
    box = [(0 if each else None, None) for each in signed]
    found = linprog(np.zeros(slopes.shape[1]), slopes, -offsets, bounds=box)
    assert found.status in (0, 2)
    return found.status == 0


def test_the_tiny_problems_that_no_weights_separate_are_those_named_above():
    found = {output for output, name in PAIRS if name in SEPARATING and not separated(output, name)}
    assert found & {*proven_structures()} == INSEPARABLE


def test_every_kind_of_proof_is_among_the_pairs():
    smooth, others = {"crf", "weighted-risk"}, {"hard-margin", "simplex-cost-learning", "latent-ssvm", "self-paced"}
    separable = {name for output, name in PAIRS if not (name in SEPARATING and output in INSEPARABLE)}
    assert smooth | others | {"soft-margin"} <= separable


@pytest.mark.parametrize(("output", "name"), PAIRS)
def test_bounds_without_a_sample_hold_for_the_optimum_without_it(output, name):
    if name in SEPARATING and not separated(output, name):
        with pytest.raises(NotSeparable):
            wb.solve(FORMULATIONS[name](), tiny(output), gap=1e-8)
        return
    solution = wb.solve(FORMULATIONS[name](), tiny(output), gap=1e-8)
    if solution.certificate.tree is not None or solution.certificate.slopes is not None:
        with pytest.raises(MissingCapability, match="explain one of cuts"):
            explain(solution.certificate)
        return
    held, tried = solution.certificate, 0
    for each in explain(held, most=4).samples:
        bounds = without(held, each.sample)
        if bounds is None:
            assert each.left is None
            continue
        try:
            again = wb.solve(bounds.formulation, bounds.problem, gap=1e-8)
        except (NotSeparable, CutbenchError):
            continue
        tried += 1
        size = max(abs(again.upper), 1e-9)
        assert each.left.lower <= again.upper + 1e-12 * size
        assert again.lower - 1e-12 * size <= each.left.upper
        least, greatest = each.left.change
        assert least <= again.upper - held.lower + 1e-12 * size
        assert again.lower - held.upper - 1e-12 * size <= greatest
        if each.left.moved is not None:
            slack = np.sqrt(2 * max(again.upper - again.lower, 0.0) / bounds.regularizer.curvature)
            distance = np.linalg.norm(again.theta_flat - solution.certificate.theta)
            assert distance <= each.left.moved + slack + 1e-9
    assert tried


def test_a_sample_that_leaves_is_a_sample_that_was_never_there():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.arange(12) % 3
    problem, form = wb.Multiclass(X, y), wb.SoftMargin(lam=0.5)
    solution = wb.solve(form, problem, gap=1e-10)
    for each in explain(solution.certificate, most=12).samples:
        others = np.delete(np.arange(12), each.sample)
        alone = wb.solve(form, taken(problem, others), gap=1e-10)
        assert each.left.lower <= alone.upper
        assert alone.lower <= each.left.upper


def test_the_width_is_what_the_docstring_says():
    rng = np.random.default_rng(3)
    problem, lam = wb.Multiclass(rng.normal(size=(10, 2)), np.arange(10) % 2), 0.3
    solution = wb.solve(wb.SoftMargin(lam=lam), problem, gap=1e-12, polish=True)
    held, c = solution.certificate, 1 / (1 - 1 / 10)
    slopes, offsets = wb.Bounds(held.formulation, problem).oracle.rows(held.samples, held.witnesses)
    for each in explain(held, most=10).samples:
        own = held.samples == each.sample
        mean = slopes[own].T @ held.weights[own] * 10
        width = c**2 / 100 * np.linalg.norm(lam * held.theta + mean) ** 2 / (2 * lam)
        others = np.where(own, 0.0, held.weights * c)
        value, square = offsets @ others, np.sum((slopes.T @ others) ** 2) / lam
        share = np.clip(value / square, 0, 1)  # the weights of all, made smaller
        assert each.left.lower == pytest.approx(
            max(each.left.upper - width, share * value - share**2 * square / 2), rel=1e-5
        )


def test_no_end_is_below_that_of_all_weight_on_the_truths():
    """Small λ and few samples: the weights of the others prove less than nothing, which is known to be reached."""
    rng, lower = np.random.default_rng(0), []
    problem = wb.Multiclass(rng.normal(size=(12, 4)), np.arange(12) % 3)
    for each in explain(wb.solve(wb.SoftMargin(lam=1e-3), problem).certificate, most=12).samples:
        problem.weights = (np.arange(12) != each.sample).astype(float)
        other = wb.solve(wb.SoftMargin(lam=1e-3), problem)
        assert 0 <= each.left.lower <= other.upper
        assert other.lower <= each.left.upper
        lower.append(each.left.lower)
    assert max(lower) > 0


def test_shares_weights_and_counts_add_up():
    problem = wb.load_problem("iris")()
    held = wb.solve(wb.SoftMargin(lam=0.05), problem, gap=1e-10).certificate
    found = explain(held, most=150)
    assert len(found.samples) == found.support < 150
    assert sum(len(each.cuts) for each in found.samples) == found.cuts
    assert all(0 < each.share <= 1 + 1e-9 for each in found.samples)
    pulls = [each.pull for each in found.samples]
    assert pulls == sorted(pulls, reverse=True)
    for each in found.samples:
        own = sum(cut.weight for cut in each.cuts)
        assert own == pytest.approx(each.share / 150, abs=2e-6 / 150)
        if 1e-3 < each.share < 1 - 1e-3:  # complementary slackness: at the margin no output beats the truth
            assert each.hinge == pytest.approx(0, abs=1e-3)
    others = set(range(150)) - {each.sample for each in found.samples}
    margins = wb.Bounds(held.formulation, problem).hinges(held.theta, problem.argmax(held.theta, np.arange(150))).hi
    assert all(margins[i] < 1e-3 for i in others)


def test_the_verb_tells_samples_in_the_problems_words(tmp_path):
    run = CliRunner()
    assert run.invoke(cli, ["solve", "synthetic-chain", "soft-margin", "--out", str(tmp_path), "--json"]).exit_code == 0
    text = run.invoke(cli, ["explain", str(tmp_path), "--most", "2"]).stdout
    assert text.count('labels "') >= 4
    assert text.count("without it: the optimum changes by") == 2
    record = json.loads(run.invoke(cli, ["explain", str(tmp_path), "--most", "2", "--json"]).stdout)
    assert len(record["samples"]) == 2
    assert record["lower"] <= record["upper"]
    refused = run.invoke(cli, ["explain", str(tmp_path), "--most", "0"])
    assert (refused.exit_code, refused.stdout) == (2, "")


def test_a_witness_that_is_no_output_is_refused():
    problem = wb.load_problem("toy")()
    held = wb.solve(wb.SoftMargin(), problem, gap=1e-6).certificate
    held.witnesses = held.witnesses.copy()
    held.witnesses[0] = 99
    with pytest.raises(BadInput, match="no output of sample"):
        explain(held)


def test_a_sample_without_which_one_label_is_left_has_no_change():
    problem = wb.Multiclass([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["a", "b", "a"])
    found = wb.explain(wb.solve(wb.SimplexCostLearning(lam2=0.5, K=2.0), problem, gap=1e-6).certificate)
    assert [each.sample for each in found.samples if each.left is None] == [1]
