"""`cutbench difficulty`: slack, uncertainty and novelty of every sample from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.formulations._novelty import least_change_program
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


def test_nothing_hidden_and_weights_with_biases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert invoke("solve", "toy", "soft-margin", "--set", "n=6", "--gap", "1e-5", "--out", "out").exit_code == 0
    told = json.loads(invoke("difficulty", "out", "--json").stdout)
    assert "uncertainty" not in told
    np.testing.assert_array_equal(np.array(told["slack"]) > 1e-9, np.array(told["novelty"]) > 1e-18)
    assert invoke("solve", "toy", "fixed-cost", "--set", "n=6", "--gap", "1e-3", "--out", "biased").exit_code == 0
    words = ("--set", "n=6", "--set", "intercept=true", "--gap", "1e-3", "--out", "free")
    assert invoke("solve", "toy", "soft-margin", *words).exit_code == 0
    for name, formulation in (("biased", "fixed-cost learned 12"), ("free", "soft-margin learned 12")):
        refused = invoke("difficulty", name)
        assert refused.exit_code == 2
        assert f"{formulation} weights for the 9 features of Multiclass" in refused.stderr
