"""Every formulation on every output structure that fits it: solve, verify, crosscheck and a picture, by the command.

The problems are the structures' own tiny instances, as Python files of a user; hard margins need data that can be
separated. `make test` runs ONE structure a formulation, and each structure once; `make nightly` runs all pairs.
`HIDDEN` is a motif whose positions are withheld, `HIDDEN_VIEWS` are views of which no true one is told.
"""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.registries import compatibility, registry

PROBLEM = """
import numpy as np
import workbench as wb

def problem():
    return wb.registry("output").get("{output}").tiny(np.random.default_rng({seed}))
"""
SEPARABLE = """
import workbench as wb

def problem():
    return wb.load_problem("toy")(n=9, separable=True)
"""
HIDDEN = """
import numpy as np
import workbench as wb

def problem():
    tiny = wb.registry("output").get("motif").tiny(np.random.default_rng({seed}))
    return wb.Motif([tiny.text(i) for i in range(tiny.n_samples)], tiny.labels, tiny.length, weights=tiny.weights)
"""
HIDDEN_VIEWS = """
import numpy as np
import workbench as wb

def problem():
    tiny = wb.registry("output").get("views").tiny(np.random.default_rng({seed}))
    labels = tiny.classes[tiny.labels]
    return wb.Views(tiny.X, labels, tiny.offsets, weights=tiny.weights, classes=tiny.classes)
"""
FIRST = {  # the structure on which `make test` runs a formulation; of a newer one the last that fits
    "completed-ssvm": "structured",
    "crf": "chain",
    "fixed-cost": "chain",
    "hard-margin": "multiclass",
    "kappa-difficulty": "multiclass",
    "latent-ssvm": "motif",
    "normalized-cost-learning": "multiclass",
    "nuclear-dyadic": "dyads",
    "perceptron": "matching",
    "self-paced": "tree",
    "self-paced-latent": "motif",
    "simplex-cost-learning": "multiclass",
    "soft-margin": "graph",
    "weighted-risk": "linear",
}
WITHHOLDING = {"motif, hidden": HIDDEN, "views, hidden": HIDDEN_VIEWS}
COMMON = "soft-margin"  # the formulation on which `make test` runs the structures that are not above
WITHHELD = [("motif, hidden", "self-paced"), ("views, hidden", "self-paced"), ("views, hidden", "latent-ssvm")]
GAP = "1e-3"


def pairs():
    every = sorted((each.output, each.formulation) for each in compatibility() if each.why is None)
    first = {(output, formulation) for formulation, output in FIRST.items()}
    first |= {(output, COMMON) for output, _ in every if output not in FIRST.values()}
    newer = {formulation: output for output, formulation in every if formulation not in FIRST}
    first |= {(output, formulation) for formulation, output in newer.items()}
    if os.environ.get("CUTBENCH_NIGHTLY"):
        return every + WITHHELD
    assert first <= set(every)
    assert {output for output, _ in first} == {output for output, _ in every}
    assert {formulation for _, formulation in first} == {formulation for _, formulation in every}
    return sorted(first) + WITHHELD


@pytest.mark.parametrize(("output", "formulation"), pairs())
def test_solve_verify_crosscheck_and_a_picture(output, formulation, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = WITHHOLDING.get(output, PROBLEM).format(output=output, seed=0)
    if formulation in ("hard-margin", "perceptron"):
        text = SEPARABLE if output == "multiclass" else separable(output, formulation)
    (tmp_path / "mine.py").write_text(text)
    pair = ("./mine.py", formulation, "--gap", GAP)
    solved = invoke("solve", *pair, "--out", "solved", "--json")
    record = json.loads(solved.stdout)
    open_ends = ("cycle", "stalled") if formulation == "nuclear-dyadic" else ("cycle",)
    assert solved.exit_code == (3 if record["status"] in open_ends else 0), solved.output
    assert record["learned"]["weights"]
    verified = invoke("verify", "solved/certificate.json", "--allow-conditional", "--json")
    assert verified.exit_code == 0, verified.output
    judged = invoke("crosscheck", *pair, "--passes", "10", "--tolerance", "1e-2", "--json")
    if formulation not in FIRST and "No solver of ours fits" in judged.stdout:
        assert judged.exit_code == 2  # a newer formulation has our solvers when somebody makes one fit
        return
    rows = json.loads(judged.stdout)["learners"]
    assert rows
    accused = [row["name"] for row in rows if row["verdict"] not in ("agrees", "not converged")]
    # an alternation may end at a local optimum, and the judge says so
    assert set(accused) <= ({"alternation"} if formulation == "self-paced" else set()), judged.output
    assert judged.exit_code in ((1,) if accused else (0, 3)), judged.output
    assert invoke("report", "solved", "--out", "page.html").exit_code == 0
    rounds = len(json.loads((tmp_path / "solved" / "solve.json").read_text())["history"])
    assert rounds == 1 or "<svg" in (tmp_path / "page.html").read_text()  # one round is no curve


def separable(output, formulation):
    """The structure's first tiny instance that weights separate with margins."""
    structure, form = registry("output").get(output), registry("formulation").get(formulation)()
    for seed in range(100):
        try:
            wb.solve(form, structure.tiny(np.random.default_rng(seed)), gap=1e-3)
        except wb.NotSeparable:
            continue
        return PROBLEM.format(output=output, seed=seed)
    raise AssertionError(f"no tiny {output} can be separated")


def invoke(*words):
    return CliRunner().invoke(cli, words)
