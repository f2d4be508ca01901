"""Learning on words: verdicts, a mutant found out, compiled = interpreted, compact = cutting planes.

With the real file (CUTBENCH_DATA, or `../shared/data` beside the checkout) the words are real; without
it a made file of the same shape takes its place.
"""

from __future__ import annotations

import inspect
import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.arithmetic import compiled as machine
from workbench.command.cli import cli
from workbench.outputs import _viterbi
from workbench.outputs.chain import Chain

SOLVERS = [wb.Subgradient(), wb.BCFW()]
PLACES = [Path(p) for p in (os.environ.get("CUTBENCH_DATA"), Path(__file__).resolve().parents[3] / "shared/data") if p]
REAL = next((str(place) for place in PLACES if (place / "ocr_letters.npz").is_file()), None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where ocr_letters.npz is: noisy copies of 26 shapes, in words of letters that follow one another, if made."""
    if REAL:
        return REAL
    made, rng = tmp_path_factory.mktemp("made"), np.random.default_rng(0)
    shapes = rng.random((26, 128)) < 0.25
    lengths = rng.integers(3, 6, 40).astype(np.uint8)
    labels = np.concatenate([(rng.integers(26) + np.arange(n) * 3) % 26 for n in lengths]).astype(np.uint8)
    pixels = np.packbits(shapes[labels] ^ (rng.random((len(labels), 128)) < 0.02), axis=1)
    np.savez_compressed(
        made / "ocr_letters.npz", pixels=pixels, labels=labels, lengths=lengths, folds=np.zeros(40, np.uint8)
    )
    return str(made)


@pytest.fixture(scope="module")
def words(folder):
    return wb.load_problem("ocr")(n=8, data=folder)


@cache
def generated() -> Chain:
    return wb.load_problem("synthetic-chain")(n=20, labels=5, length=7)


# ── verdicts ──────────────────────────────────────────────────────────────────────────────────────


def test_crosscheck_gives_verdicts_for_both_solvers(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTBENCH_DATA", folder)
    arguments = ["crosscheck", "ocr", "soft-margin", "--set", "n=8", "--set", "lam=10", "--gap", "1e-6"]
    arguments += ["--passes", "1500", "--tolerance", "1e-2", "--learners", "subgradient,bcfw", "--json"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["reference"]["status"] == "optimal"
    assert [row["name"] for row in record["learners"]] == ["subgradient", "bcfw"]
    for row in record["learners"]:
        assert row["verdict"] == "agrees", row
        assert row["reason"]
        assert row["evidence"]["reference_lower"] <= row["evidence"]["upper"]


def off_by_one():
    """The kernel's argmax with the transition of the pair (a − 1, b) in place of (a, b), both ways."""
    text = inspect.getsource(_viterbi.argmax_into)
    for right, wrong in (
        ("before, step = best[t - 1, a], transitions[a]", "before, step = best[t - 1, a], transitions[a - 1]"),
        ("best[t - 1, a] + transitions[a, here]", "best[t - 1, a] + transitions[a - 1, here]"),
    ):
        assert text.count(right) == 1, "the kernel has changed; change the mutant with it"
        text = text.replace(right, wrong)
    scope = dict(vars(_viterbi))
    exec(text, scope)
    return scope["argmax_into"]


class OffByOne(Chain):
    """Scores every pair by its neighbour's transition."""

    mutant = staticmethod(off_by_one())

    def kernel(self):
        return super().kernel()._replace(argmax_into=self.mutant)


@pytest.fixture(scope="module", params=["words", "generated"])
def reference(request, words):
    problem, lam = (words, 10.0) if request.param == "words" else (generated(), 0.3)
    return wb.solve(wb.SoftMargin(lam=lam), problem, gap=1e-6)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_the_off_by_one_transition_disagrees(solver, reference):
    form, problem = reference.formulation, reference.problem
    trace = wb.run(solver, form, OffByOne.from_arrays(problem.arrays()), passes=200, rng=0)
    judged = wb.crosscheck(trace, reference)
    assert judged.verdict == "disagrees", judged
    clean = wb.crosscheck(wb.run(solver, form, problem, passes=200, rng=0), reference)
    assert clean.verdict in ("agrees", "not converged"), clean
    assert clean.excess < judged.excess


# ── compiled and interpreted ──────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(not machine.available(), reason="numba is an optional dependency")
@pytest.mark.parametrize("solver", [*SOLVERS, wb.Subgradient(average="last", batch=3)], ids=str)
@pytest.mark.parametrize("data", ["words", "generated"])
def test_compiled_and_interpreted_traces_are_identical(solver, data, words, folder):
    problem = wb.load_problem("ocr")(n=3, data=folder) if data == "words" else generated()
    form = wb.SoftMargin(lam=0.1)
    fast, slow = (wb.run(solver, form, problem, passes=3, rng=1, compiled=how) for how in (True, False))
    assert (fast.compiled, slow.compiled) == (True, False)
    for name in ("thetas", "upper", "lower", "drift", "oracle_calls"):
        np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name), err_msg=name)


# ── the compact declaration ───────────────────────────────────────────────────────────────────────


def same_optimum(problem, lam):
    cuts = wb.solve(wb.SoftMargin(lam=lam), problem, gap=1e-8)
    compact = wb.solve(wb.SoftMargin(lam=lam, declare="compact"), problem, gap=1e-6)
    assert cuts.status == "optimal"
    assert compact.upper == pytest.approx(cuts.upper, abs=1e-8)
    assert compact.lower == pytest.approx(cuts.lower, abs=1e-8)


@pytest.mark.parametrize("lam", [0.01, 0.3])
def test_compact_equals_cutting_planes_on_real_words(folder, lam):
    """The first letters of two different words, with no labels but their own."""
    whole = wb.load_problem("ocr")(n=40, data=folder)
    spelled = {"".join(whole.classes[whole.truth[i, :3]]): i for i in range(40)}
    first, *others = spelled
    chosen = [spelled[first], spelled[next(other for other in others if set(other) & set(first))]]
    starts = whole.offsets[:-1]
    sequences = [whole.letters[starts[i] : starts[i] + 3] for i in chosen]
    same_optimum(Chain(sequences, [whole.classes[whole.truth[i, :3]] for i in chosen]), lam)


@pytest.mark.parametrize("seed", range(6))
def test_compact_equals_cutting_planes_on_random_chains(seed):
    rng = np.random.default_rng(seed)
    same_optimum(Chain.tiny(rng), float(10 ** rng.uniform(-1.5, 0)))
