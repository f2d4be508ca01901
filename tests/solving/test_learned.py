"""What `solve` says that it learned: by name, in text, in JSON and in learned.npz."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.proofs.certificate import load

TINY_MOTIF = {"n": 6, "length": 3, "span": 7}


@pytest.fixture
def solved(tmp_path, monkeypatch):
    """Solves from the command line; returns the text, the record, learned.npz and the certificate."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object, **settings: object):
        chosen = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        words = ("solve", *map(str, words), *chosen, "--gap", "1e-6", "--overwrite", "--out")
        text = CliRunner().invoke(cli, (*words, "text"))
        told = CliRunner().invoke(cli, (*words, "out", "--json"))
        assert (text.exit_code, told.exit_code) == (0, 0), text.output + told.output
        with np.load("out/learned.npz", allow_pickle=False) as file:
            arrays = dict(file)
        return text.stdout, json.loads(told.stdout)["learned"], arrays, load("out/certificate")[0]

    return run


def test_weights_are_named_by_label_and_column(solved, tmp_path):
    (tmp_path / "mine.csv").write_text("height,width,label\n" + "3,0,big\n0,1,small\n2,1,big\n0,2,small\n")
    text, told, arrays, certificate = solved("mine.csv", "soft-margin", lam=0.1)
    assert arrays["names_w"].tolist() == ["big: height", "big: width", "small: height", "small: width"]
    np.testing.assert_array_equal(arrays["w"], certificate.theta)
    assert told["weights"] == dict(zip(arrays["names_w"].tolist(), arrays["w"].tolist(), strict=True))
    assert list(told["weights"].values()) == sorted(told["weights"].values(), key=lambda value: -abs(value))
    assert f"weights      {next(iter(told['weights']))} " in text


def test_costs_and_biases_are_named(solved):
    text, told, arrays, certificate = solved("synthetic-costs", "normalized-cost-learning", copies=2)
    assert list(told["costs"]) == ["0–1", "0–2", "0–3", "1–2", "1–3", "2–3"]
    assert list(told["biases"]) == ["0", "1", "2", "3"]
    np.testing.assert_array_equal(np.concatenate([arrays["w"], arrays["b"], arrays["v"]]), certificate.theta)
    assert max(told["costs"]["0–1"], told["costs"]["2–3"]) < 1e-3 < min(told["costs"]["0–2"], told["costs"]["1–3"])
    assert "costs        " in text


def test_costs_that_are_given_or_set_are_shown_too(solved):
    _, told, arrays, _ = solved("toy", "fixed-cost", n=9)
    assert told["costs"] == {"0–1": 1.0, "0–2": 1.0, "1–2": 1.0}
    _, told, arrays, certificate = solved("toy", "kappa-difficulty", n=9)
    assert tuple(arrays["v"]) == certificate.formulation.v
    assert sum(told["costs"].values()) == pytest.approx(1)


def test_selected_samples_are_those_whose_slack_costs_less_than_leaving_them_out(solved):
    text, told, arrays, certificate = solved("toy", "self-paced", n=9, C=20, K=8)
    problem, form = certificate.problem, certificate.formulation
    W = certificate.theta.reshape(3, -1)
    scores = problem.X.toarray() @ W.T + 1 - np.eye(3)[problem.labels]
    xi = scores.max(axis=1) - np.take_along_axis(scores, problem.labels[:, None], 1)[:, 0]
    left = np.flatnonzero(form.C / 9 * xi >= 1 / form.K)
    assert told["left_out"] == left.tolist() == np.flatnonzero(arrays["selected"] == 0).tolist()
    assert len(left)
    assert f"all samples but {left[0]}" in text


@pytest.mark.parametrize("formulation", ["latent-ssvm", "self-paced-latent"])
def test_hidden_positions_are_shown(solved, formulation):
    text, told, arrays, certificate = solved("motif", formulation, **TINY_MOTIF, starts=1)
    best = certificate.problem.impute(certificate.theta)
    assert told["states"] == {str(i): int(best[i]) for i in (3, 4, 5)}
    assert arrays["states"].tolist() == [-1, -1, -1, *best[3:]]
    assert f"sample 3 at {best[3]}" in text
    assert arrays["names_w"][:5].tolist() == ["A at 0", "C at 0", "G at 0", "T at 0", "A at 1"]


def test_a_structure_without_names_has_numbers(solved):
    _, told, arrays, _ = solved("grid", "soft-margin")
    assert set(told["weights"]) <= {f"w[{j}]" for j in range(len(arrays["w"]))}


def test_names_belong_to_features():
    """Each weight of a chain is met by the features that its name says."""
    chain = wb.Chain([np.eye(2), np.eye(2)[:1]], [["a", "b"], ["a"]])
    names = chain.weight_names()
    phi = chain.features(np.array([0]), np.array([[0, 1]])).toarray()[0]
    assert [names[j] for j in np.flatnonzero(phi)] == ["a: x[0]", "b: x[1]", "a→b"]
    motif = wb.Motif(["ACG", "TTT"], [1, 0], 2, [1, -1])
    phi = motif.features(np.array([0]), np.array([[1, 1]])).toarray()[0]
    assert [motif.weight_names()[j] for j in np.flatnonzero(phi)] == ["C at 0", "G at 1", "A outside"]
