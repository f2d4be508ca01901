"""The audit of single flows of bilinear scores: ours follow the differential equation, planted faults do not."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.judging.audits import audit_flow
from workbench.judging.hooks import hooks_of
from workbench.judging.reference import reference_of
from workbench.learners.dyadic import DyadicLearner


def reference(loss="hinge", classes=2, k=2):
    problem = wb.load_problem("simulated-dyads")(tasks=5, per_task=3, raters=4, classes=classes)
    return reference_of(wb.solve(wb.NuclearDyadic(0.3, k, loss), problem, gap=1e-2))


def findings(learner, found):
    return list(audit_flow(hooks_of(learner, found.formulation, found.problem), found))


@pytest.mark.parametrize(("loss", "classes"), [("hinge", 2), ("squared", 2), ("hinge", 3)])
def test_updates_of_ours_follow_the_equation(loss, classes):
    (finding,) = findings(DyadicLearner(), reference(loss, classes))
    assert finding.name == "flow"
    assert finding.worst < 1e-7
    assert not finding.sentence


class Explicit(DyadicLearner):
    """One explicit step of length h in place of the flow."""

    def flow(self, problem, formulation, theta, i, importance):
        return theta + importance / 1e-6 * (super().flow(problem, formulation, theta, i, 1e-6) - theta)


class Half(DyadicLearner):
    """The right side of a pair does not move."""

    def flow(self, problem, formulation, theta, i, importance):
        moved = super().flow(problem, formulation, theta, i, importance)
        blocks = formulation.blocks(problem)
        parts, before = dict(blocks.split(moved)), blocks.split(theta)
        return blocks.join(parts | {"B": before["B"]})


@pytest.mark.parametrize("wrong", [Explicit, Half])
def test_another_update_is_found(wrong):
    (finding,) = findings(wrong(), reference())
    assert finding.worst > 1e-3
    assert "away from the flow" in finding.sentence


def test_a_learner_without_flows_and_another_formulation_are_not_audited():
    found = reference()
    assert not findings(lambda problem, formulation, budget, rng: np.zeros(1), found)
    plain = reference_of(wb.solve(wb.SoftMargin(0.1), wb.load_problem("toy")(n=9), gap=1e-6))
    assert not findings(DyadicLearner(), plain)


def test_crosscheck_audits_flows(tmp_path):
    """By the command: a wrong flow is told as the cause, the learner of ours is not accused."""
    (tmp_path / "wrong.py").write_text(
        "from workbench.learners.dyadic import DyadicLearner\n\n\n"
        "class Double(DyadicLearner):\n"
        "    def flow(self, problem, formulation, theta, i, importance):\n"
        "        return super().flow(problem, formulation, theta, i, 2 * importance)\n\n\n"
        'NAMES = {"double": Double}\n'
    )
    learners = f"dyadic,{tmp_path / 'wrong.py'}"
    words = ("crosscheck", "simulated-dyads", "nuclear-dyadic", "--set", "lam=0.3", "--set", "tasks=6", "--gap", "1e-3")
    told = CliRunner().invoke(cli, (*words, "--learners", learners, "--passes", "50", "--tolerance", "1e-2", "--json"))
    rows = {row["name"]: row for row in json.loads(told.stdout)["learners"]}
    assert rows["dyadic"]["verdict"] == "agrees"
    assert "away from the flow" in json.dumps(rows["double"], ensure_ascii=False), rows
