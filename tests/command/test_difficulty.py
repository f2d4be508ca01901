"""`cutbench difficulty`: slack, uncertainty and novelty of every sample from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.objectives.novelty_program import least_change_program
from workbench.objectives.pacing import novelty_of, rivals
from workbench.proofs.certificate import load


def invoke(*words):
    return CliRunner().invoke(cli, words)


def test_hidden_states(tmp_path, monkeypatch):
    """Against the definitions: rivals of every state listed, novelty by CVXPY, the entropy of equal scores."""
    monkeypatch.chdir(tmp_path)
    settings = ("n=4", "length=3", "span=6", "starts=1", "C=5")
    words = [word for each in settings for word in ("--set", each)]
    assert invoke("solve", "motif", "latent-ssvm", *words, "--gap", "1e-5", "--out", "out").exit_code == 0
    told = json.loads(invoke("difficulty", "out", "--json").stdout)
    held, _ = load("out/certificate")
    w = held.theta
    np.testing.assert_allclose(told["novelty"], novelty_of(held.problem, w), rtol=1e-6, atol=1e-12)
    for i, (slopes, losses) in enumerate(rivals(held.problem)):
        by_state = []
        for rows in slopes:
            program, _ = least_change_program(rows, losses - rows @ w)
            by_state.append(program.solve(solver="CLARABEL"))
        assert told["novelty"][i] == pytest.approx(min(by_state), abs=1e-6)
        scores = held.problem.hidden_scores(w, np.array([i]))[0]
        best = slopes[int(np.argmax(scores))]
        assert told["slack"][i] == pytest.approx(max(0.0, (losses - best @ w).max()), abs=1e-9)
    assert told["uncertainty"] == pytest.approx(
        wb.uncertainty(held.problem.hidden_scores(w, np.arange(4))).tolist(), abs=1e-12
    )
    assert invoke("difficulty", "out").stdout.splitlines()[0].split() == ["sample", "slack", "uncertainty", "novelty"]


def test_nothing_hidden(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert invoke("solve", "toy", "soft-margin", "--set", "n=6", "--gap", "1e-5", "--out", "out").exit_code == 0
    told = json.loads(invoke("difficulty", "out", "--json").stdout)
    assert "uncertainty" not in told
    np.testing.assert_array_equal(np.array(told["slack"]) > 1e-9, np.array(told["novelty"]) > 1e-18)


@pytest.mark.parametrize(
    ("data", "formulation", "settings"),
    [
        ("toy", "soft-margin", ("n=6", "intercept=true")),
        ("synthetic-chain", "soft-margin", ("n=8", "length=3", "labels=3", "noise=3", "lam=0.2", "intercept=true")),
        ("toy", "fixed-cost", ("n=12", "lam2=3", "K=2")),
        ("toy", "simplex-cost-learning", ("n=12", "lam2=3")),
    ],
)
def test_intercepts_and_costs_count_and_stay(tmp_path, monkeypatch, data, formulation, settings):
    """Against the definition: losses and scores of all outputs by hand, biases added, novelty of w by CVXPY."""
    monkeypatch.chdir(tmp_path)
    words = [word for each in settings for word in ("--set", each)]
    assert invoke("solve", data, formulation, *words, "--gap", "1e-4", "--out", "out").exit_code == 0
    told = json.loads(invoke("difficulty", "out", "--json").stdout)
    held, _ = load("out/certificate")
    problem, parts = held.problem, held.formulation.blocks(held.problem).split(held.theta)
    given = {"soft-margin": None, "fixed-cost": np.ones(3) * 2, "simplex-cost-learning": parts.get("v")}[formulation]
    for i in range(problem.n_samples):
        outputs = problem.outputs(i)
        truth = problem.truth[i]
        others = outputs[(outputs != truth).any(axis=1)]
        at = np.full(len(others), i)
        psi = (problem.features(at, truth[None].repeat(len(at), 0)) - problem.features(at, others)).toarray()
        own = sum(parts["b"][y] for y in truth if y >= 0)
        free = np.array([sum(parts["b"][y] for y in each if y >= 0) for each in others]) - own
        losses = problem.loss(at, others)
        if given is not None:  # unordered pairs of labels: 01, 02, 12
            losses = np.array([given[truth[0] + each[0] - 1] for each in others])
        assert told["slack"][i] == pytest.approx(max(0.0, (losses + free - psi @ parts["w"]).max()), abs=1e-9)
        program, _ = least_change_program(psi, losses + free - psi @ parts["w"])
        assert told["novelty"][i] == pytest.approx(program.solve(solver="CLARABEL"), rel=1e-5, abs=1e-7)
    assert any(told["slack"])
    own = [
        word
        for each in settings
        if each.split("=")[0] not in ("K", "lam", "lam2", "intercept")
        for word in ("--set", each)
    ]
    again = invoke("difficulty", data, *own, "--set", "theta=out", "--json")  # the same samples as a PROBLEM
    assert json.loads(again.stdout)["novelty"] == told["novelty"]


def test_what_has_no_weights_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("a,label\n1,x\n2,y\n")
    for words, sentence in (
        (
            ("toy",),
            "toy is a problem and no certificate, which holds learned weights; `cutbench solve toy soft-margin`",
        ),
        (("data.csv",), "`cutbench solve data.csv soft-margin` makes one, runs/data-soft-margin"),
        (("toy", "--set", "n=6"), "which `cutbench solve` writes; add --set theta=CERTIFICATE once"),
        (("nothing",), "nothing.json, which does not exist"),
    ):
        refused = invoke("difficulty", *words)
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert sentence in refused.stderr


def test_outputs_too_many_to_list_leave_slack_and_are_shown_by_their_ends(tmp_path, monkeypatch):
    """Tracks of scenes: `difficulty` says what is left out; lines of `explain` stay short, --json has whole outputs."""
    monkeypatch.chdir(tmp_path)
    words = [word for each in ("n=2", "frames=12", "objects=12") for word in ("--set", each)]
    assert invoke("solve", "tracking", "soft-margin", *words, "--gap", "1e-4", "--out", "out").exit_code == 0
    told = invoke("difficulty", "out", "--json")
    assert list(json.loads(told.stdout))[2:] == ["slack"]
    assert "left out (Sample 0 has too many sets of paths to list); slack is shown" in told.stderr
    held, _ = load("out/certificate")
    oracle = held.formulation.oracle(held.problem)
    slopes, offsets = oracle.rows(np.arange(2), oracle.argmax(held.theta, np.arange(2)))
    np.testing.assert_allclose(json.loads(told.stdout)["slack"], np.maximum(slopes @ held.theta + offsets, 0))
    shown = invoke("explain", "out").stdout
    assert " … " in shown
    assert max(map(len, shown.splitlines())) < 300
    whole = json.loads(invoke("explain", "out", "--json").stdout)["samples"]
    truth = {each["sample"]: each["truth"] for each in whole}
    assert truth == {i: held.problem.describe(i, held.problem.truth[i]) for i in truth}


def test_solve_says_which_bound_an_inexact_oracle_does_not_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = {}
    for oracle in ("exact", "under", "relaxed"):
        words = [w for each in ("n=1", "size=2", "labels=3", f"oracle={oracle}") for w in ("--set", each)]
        said[oracle] = invoke("solve", "grid", "soft-margin", *words, "--out", oracle).stdout
    assert "the lower bound holds and the upper one does not" in said["under"]
    assert "the lower one only for its relaxation" in said["relaxed"]
    assert "the oracle m" not in said["exact"]


def test_contradictory_samples_of_many_nodes_are_named_in_a_short_message():
    rng = np.random.default_rng(0)
    labels = [rng.integers(0, 2, 400) for _ in range(3)]
    problem = wb.Tree([np.ones((400, 1))] * 3, [np.zeros((0, 2), int)] * 3, labels)
    with pytest.raises(wb.NotSeparable, match=r"sample 2 \(labels [01 ]{50,60} … [01 ]{50,60} against") as refusal:
        wb.solve(wb.HardMargin(), problem)
    assert len(str(refusal.value)) < 1000
