"""What a prompt shows of problems and results: one line, and no dump of arrays."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import workbench as wb
from workbench.contracts import Shown
from workbench.registries import registry


@pytest.mark.parametrize("output", [name for name, each in registry("output").items() if issubclass(each, Shown)])
def test_a_prompt_shows_a_problem_by_its_sizes(output):
    problem = registry("output").get(output).tiny(np.random.default_rng(5))
    labels = f"{len(problem.classes)} labels, " if output in {"chain", "dyads", "multiclass"} else ""
    sizes = f"{problem.n_samples} samples, {labels}{problem.n_features} weights"
    assert repr(problem) == f"<{type(problem).__name__}: {sizes}>"


def test_a_prompt_shows_results_in_a_line():
    problem, x = registry("output").get("multiclass").tiny(np.random.default_rng(5)), cp.Variable(name="x")
    solution = wb.solve(wb.SoftMargin(0.5), problem)
    assert repr(solution.certificate).startswith("Certificate(SoftMargin(lam=0.5, ")
    assert repr(solution.certificate).endswith(f"≤ F* ≤ {solution.upper!r}, gap {solution.gap:.2g})")
    proof = wb.prove(cp.Problem(cp.Minimize(x), [x >= 3]))
    assert repr(proof) == f"Proof({proof.statement})"
    assert "is exactly 3." in proof.statement
    path = wb.path(wb.SoftMargin(), problem, 1.0, 0.5, 0.1)
    assert repr(path) == f"Path(0.5 ≤ λ ≤ 1: {len(path.knots)} solves, gap {path.gap:.2g})"
    judged = wb.judge(lambda problem, form, passes, rng: wb.solve(form, problem).theta_flat, solution, passes=3)
    assert repr(judged) == f"Judgement({judged.name} {judged.verdict}: {judged.reason})"
    assert judged.verdict == "agrees"
