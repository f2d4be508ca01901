"""Settings that are lists, or that another certificate gives: costs v, hidden states, a baseline's errors, weights."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.dyads.dyadic import Dyadic
from workbench.proofs.certificate import load

SMALL = ["--set", "n=4", "--set", "length=3", "--set", "span=7"]


def invoke(*words):
    return CliRunner().invoke(cli, words)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def record(*words):
    done = invoke(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_costs_by_numbers_are_those_of_python():
    told = record("solve", "toy", "fixed-cost", "--set", "n=9", "--set", "v=1,2,0.5", "--gap", "1e-6")
    form = wb.registry("formulation").get("fixed-cost")(v=(1.0, 2.0, 0.5))
    assert told["upper"] == pytest.approx(wb.solve(form, wb.load_problem("toy")(n=9)).upper, rel=1e-6)
    assert list(told["learned"]["costs"].values()) == [1.0, 2.0, 0.5]


def test_learned_costs_serve_again():
    """The optimum over (w, b) at the v of (10) is that of (10) less the terms of v alone."""
    first = record("solve", "toy", "normalized-cost-learning", "--set", "n=9", "--gap", "1e-8", "--out", "learned")
    again = record("solve", "toy", "fixed-cost", "--set", "n=9", "--set", "v=learned", "--gap", "1e-8")
    held, _ = load("learned/certificate")
    v, n = held.formulation.blocks(held.problem).split(held.theta)["v"], held.formulation.expected(held.problem)
    rest = held.formulation.K / 2 * float((n * (1 - v) ** 2).sum())
    assert again["upper"] == pytest.approx(first["upper"] - rest, rel=1e-4)


def test_a_baseline_is_counted_on_the_data():
    record("solve", "toy", "soft-margin", "--set", "n=30", "--set", "lam=10", "--gap", "1e-6", "--out", "base")
    words = ["solve", "toy", "normalized-cost-learning", "--set", "n=30", "--set", "counts=baseline", "--gap", "1e-5"]
    told = record(*words, "--set", "baseline=./base/certificate.json", "--out", "new")
    held, _ = load("base/certificate")
    wrong = held.problem.argmax(held.theta, np.arange(30), augment=False)[:, 0] != held.problem.labels
    assert sum(load("new/certificate")[0].formulation.baseline) == wrong.sum() > 0
    assert told["upper"] >= told["lower"] > 0
    assert "give counts of errors" in invoke(*words).output


def test_a_baseline_is_counted_on_the_data_at_hand_and_not_on_its_own():
    """The same model, learned from other points: its errors are those of its predictions on these points."""
    record("solve", "toy", "soft-margin", "--set", "n=30", "--set", "rng=5", "--set", "lam=10", "--out", "base")
    words = ["solve", "toy", "normalized-cost-learning", "--set", "counts=baseline", "--set", "baseline=base"]
    held, _ = load("base/certificate")
    W = held.theta.reshape(3, -1)
    for n in (30, 45):
        record(*words, "--set", f"n={n}", "--gap", "1e-3", "--out", f"new{n}")
        form, problem = (lambda new: (new.formulation, new.problem))(load(f"new{n}/certificate")[0])
        guess = (problem.X @ W.T).argmax(axis=1)
        pairs = [{0, 1}, {0, 2}, {1, 2}]
        expected = [sum({y, z} == pair for y, z in zip(problem.labels, guess, strict=True)) for pair in pairs]
        assert form.baseline == tuple(map(float, expected))
    assert sum(load("new45/certificate")[0].formulation.baseline) > 0


def test_states_are_given_by_numbers_or_by_weights():
    record("solve", "motif", "latent-ssvm", *SMALL, "--set", "starts=1", "--gap", "1e-5", "--out", "cccp")
    record("solve", "motif", "completed-ssvm", *SMALL, "--set", "states=./cccp", "--gap", "1e-5", "--out", "again")
    held, _ = load("cccp/certificate")
    states = held.problem.impute(held.theta)
    assert load("again/certificate")[0].formulation.states == tuple(states.tolist())
    words = ",".join(map(str, states.tolist()))
    record("solve", "motif", "completed-ssvm", *SMALL, "--set", f"states={words}", "--gap", "1e-5")
    refused = invoke("solve", "motif", "completed-ssvm", *SMALL, "--set", "states=1,x")
    assert refused.exit_code == 2
    assert "states=x is not a whole number" in refused.output


def test_criteria_at_the_weights_of_a_certificate():
    record("solve", "motif", "latent-ssvm", *SMALL, "--set", "starts=1", "--gap", "1e-5", "--out", "cccp")
    own = record("difficulty", "cccp")
    told = record("difficulty", "motif", "--set", "theta=cccp", *SMALL)
    for name in ("slack", "uncertainty", "novelty"):
        assert told[name] == own[name]
    other = record("difficulty", "motif", "--set", "theta=cccp", *SMALL, "--set", "draw=3")
    assert other["slack"] != own["slack"]
    refused = invoke("difficulty", "toy", "--set", "theta=cccp")
    assert refused.exit_code == 2
    assert "toy gives a Multiclass with 9 features, the certificate is about a Motif with 16" in refused.output


def test_a_certificate_that_says_nothing_of_these_data_is_one_sentence(tmp_path):
    """Costs of other classes of errors, weights of other structures and labels, no certificate, one key twice."""
    (tmp_path / "text.txt").write_text("hello")
    (tmp_path / "broken.json").write_text('{"a": 1}')
    (tmp_path / "named.csv").write_text("a,b,label\n1,2,x\n2,3,y\n0,1,z\n3,1,x\n")
    (tmp_path / "other.csv").write_text("a,b,label\n1,2,u\n2,3,y\n0,1,z\n3,1,u\n")
    toy, few = ("solve", "toy"), ("--set", "n=9")
    record(*toy, "normalized-cost-learning", *few, "--set", "factoring=true", "--gap", "1e-3", "--out", "true")
    record(*toy, "soft-margin", *few, "--gap", "1e-3", "--out", "svm")
    record("solve", "named.csv", "soft-margin", "--gap", "1e-3", "--out", "named")
    record("solve", "motif", "latent-ssvm", *SMALL, "--set", "starts=1", "--gap", "1e-3", "--out", "cccp")
    fixed, ten = (*toy, "fixed-cost", *few), (*toy, "normalized-cost-learning", *few, "--set", "counts=baseline")
    motif = ("solve", "motif", "completed-ssvm")
    for words, sentence in (
        ((*fixed, "--set", "v=true"), "has costs for other classes of errors ('0→·' where these data have '0–1')"),
        ((*fixed, "--set", "v=svm"), "is about SoftMargin, which learns no costs"),
        ((*fixed, "--set", "v=nowhere"), "The certificate needs nowhere.json, which does not exist"),
        ((*fixed, "--set", "v=broken.json"), "The certificate needs broken.npz"),
        ((*fixed, "--set", "v=text.txt"), "text.txt is a problem and no certificate"),
        ((*fixed, "--set", "v=true", "--set", "v=1,1,1"), "The setting 'v' is given twice"),
        ((*fixed, "--set", "v=true", "--set", "v=true"), "The setting 'v' is given twice"),
        ((*toy, "soft-margin", "--set", "v=true"), "There is no setting called 'v'"),
        ((*ten, "--set", "baseline=cccp"), "toy gives a Multiclass with 9 features, the certificate is about a Motif"),
        ((*motif, "--set", "length=4", "--set", "states=cccp"), "the certificate is about a Motif with 16"),
        ((*motif, "--set", "states=svm"), "the certificate is about a Multiclass with 9"),
        ((*toy, "completed-ssvm", "--set", "states=cccp"), "Multiclass has no states that a certificate could give"),
        (("difficulty", "other.csv", "--set", "theta=named"), "other.csv has the name 'u' where 'x' was learned"),
        (("crosscheck", *toy[1:], "soft-margin", "--set", "adagrad.step=1"), "learners have theirs by --learner-set"),
    ):
        refused = invoke(*words)
        assert refused.exit_code == 2, words
        assert sentence in refused.stderr.splitlines()[-1]


def test_spaces_around_a_certificate_do_not_matter():
    record("solve", "toy", "simplex-cost-learning", "--set", "n=9", "--gap", "1e-3", "--out", "one")
    given = record("solve", "toy", "fixed-cost", "--set", "n=9", "--set", "v = one", "--gap", "1e-3")
    held, _ = load("one/certificate")
    assert (
        list(given["learned"]["costs"].values())
        == held.formulation.blocks(held.problem).split(held.theta)["v"].tolist()
    )


def test_h_min_of_dyads_is_the_learner_s():
    words = ["--set", "tasks=12", "--set", "raters=6", "--set", "lam=0.1", "--gap", "0.9", "--out", "latent"]
    assert invoke("solve", "simulated-dyads", "nuclear-dyadic", *words).exit_code in (0, 3)
    told, (held, _) = record("difficulty", "latent")["h-min"], load("latent/certificate")
    view = held.formulation.oracle(held.problem)
    learner = Dyadic(1)
    learner.factors, learner.names = view.factors(held.theta), view.pairs.names
    np.testing.assert_array_equal(told, learner.least_importances(view.pairs))


def test_h_min_of_linear_scores():
    words = ["solve", "breast-cancer", "weighted-risk", "--set", "lam=0.1", "--gap", "1e-3", "--out", "risk"]
    record(*words)
    told, (held, _) = record("difficulty", "risk")["h-min"], load("risk/certificate")
    X, w = held.problem.X.toarray(), held.theta
    np.testing.assert_allclose(told, abs(X @ w) / (X**2).sum(axis=1), rtol=1e-9)


def test_step_sizes_of_learners():
    words = ["crosscheck", "toy", "kappa-difficulty", "--set", "n=9", "--gap", "1e-4", "--passes", "3"]
    words += ["--learners", "adagrad-alternating"]
    excesses = []
    for step in ("0.3", "0.01"):
        done = invoke(*words, "--learner-set", f"adagrad-alternating.step={step}", "--json")
        assert done.exit_code in (0, 3), done.output
        excesses.append(json.loads(done.stdout)["learners"][0]["excess"])
    assert excesses[0] != excesses[1]
    assert invoke(*words, "--learner-set", "adagrad-alternating.step=-1").exit_code == 2


OWN = """
from workbench.outputs.multiclass import Multiclass as Base

class Own:
    def __init__(self):
        import numpy as np
        self.base = Base(np.eye(3), np.arange(3))

    def __getattr__(self, name):
        if name == "base":
            raise AttributeError(name)
        return getattr(self.base, name)

NAMES = {"own": Own}
"""


@pytest.mark.parametrize("words", [("solve",), ("crosscheck", "--learners", "bcfw", "--out", "judged")])
def test_a_structure_that_no_certificate_can_name_is_refused_before_the_work(words, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    done = invoke(words[0], "own.py", "soft-margin", *words[1:])
    assert done.exit_code == 2
    assert "Own is in no registry of outputs, so no certificate can name it; put its file into" in done.output
    assert {each.name for each in tmp_path.iterdir()} <= {"own.py", "__pycache__"}
