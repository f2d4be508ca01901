"""The table relation × formulation, cell by cell, against certified optima; and what it is good for."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import workbench as wb
from workbench.contracts import Change
from workbench.judging.reference import reference_of
from workbench.judging.relations import RELATIONS, SAID, described, moved, related
from workbench.proofs.any_bounds import bounds_for
from workbench.registries import registry

GAP = 1e-8


@cache
def problem(name: str):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(9, 3)), np.append(np.arange(3), rng.integers(0, 3, 6))
    cost, lengths = rng.uniform(0.5, 2, (3, 3)) * (1 - np.eye(3)), (2, 3, 1, 2)
    if name == "multiclass":
        return wb.Multiclass(X, y, cost, rng.uniform(0.5, 2, 9))
    if name == "separable":
        return wb.Multiclass(3 * np.repeat(np.eye(3), 3, 0) + 0.3 * X, np.repeat(np.arange(3), 3), cost)
    if name == "linear":
        return wb.Linear(X, rng.normal(size=9), rng.uniform(0.5, 2, 9))
    if name == "matching":
        edges, gold = [rng.normal(size=(2, 2, 3)) for _ in range(4)], [[(0, 0), (1, 1)], [(0, 1)], [], [(1, 0)]]
        return wb.Matching(edges, gold, 2.0, 0.5)
    return wb.Chain([rng.normal(size=(t, 2)) for t in lengths], [rng.integers(0, 3, t) for t in lengths])


ROWS = [
    ("soft-margin", {}, ("multiclass", "chain", "matching", "linear")),
    ("soft-margin", {"rescaling": "slack"}, ("multiclass",)),
    ("soft-margin", {"intercept": True}, ("multiclass", "chain")),
    ("hard-margin", {}, ("separable",)),
    ("perceptron", {}, ("separable",)),
    ("crf", {}, ("multiclass", "chain")),
    ("weighted-risk", {}, ("linear",)),
    ("weighted-risk", {"loss": "logistic"}, ("linear",)),
    ("simplex-cost-learning", {}, ("multiclass",)),
    ("normalized-cost-learning", {}, ("multiclass",)),
    ("normalized-cost-learning", {"counts": "none", "lam1": 0.05}, ("multiclass",)),
    ("fixed-cost", {"v": (1.0, 2.0, 0.5), "factoring": "true"}, ("multiclass",)),
    ("self-paced", {}, ("multiclass",)),
]
CASES = [(name, settings, data) for name, settings, places in ROWS for data in places]


@cache
def solved(name: str, settings: tuple, data: str):
    return reference_of(wb.solve(registry("formulation").get(name)(**dict(settings)), problem(data), gap=GAP))


def meet(one, other, slack: float = 1e-7) -> bool:
    """Whether the proven intervals of two references have a point in common."""
    slack *= max(abs(one.upper), 1e-9)
    return one.lower - slack <= other.upper and other.lower - slack <= one.upper


@pytest.mark.parametrize(("name", "settings", "data"), CASES, ids=lambda each: str(each))
def test_true_cells_hold(name, settings, data):
    """The changed problem, solved anew, has the optimum that the relation foretells, and the moved θ attains it."""
    reference = solved(name, tuple(settings.items()), data)
    seen = set()
    for relation, foretold in related(reference):
        assert meet(foretold, wb.solve(foretold.formulation, foretold.problem, gap=GAP)), relation
        if np.isfinite(foretold.theta).all():
            value = bounds_for(foretold.formulation, foretold.problem).upper(foretold.theta)
            assert value == pytest.approx(foretold.upper, rel=1e-6), relation
        seen.add(relation)
    missing = set(RELATIONS) - seen
    refused = {relation for relation, change in reference.formulation.relations().items() if change is None}
    no_data = {"chain": {"features"}, "linear": {"rename", "loss"}, "matching": {"rename"}}.get(data, set())
    assert missing == refused | no_data


FALSE = [
    ("normalized-cost-learning", {"counts": "none"}, "duplicate", Change({"lam1": 1.0, "lam2": 1.0}, 1.0)),
    ("normalized-cost-learning", {"lam1": 0.05}, "rotate", Change()),
    ("normalized-cost-learning", {"factoring": "input"}, "rotate", Change()),
    ("fixed-cost", {"v": (1.0, 2.0, 0.5), "factoring": "true"}, "rename", Change()),
    ("fixed-cost", {"parts": 3}, "permute", Change()),
]


@pytest.mark.parametrize(("name", "settings", "relation", "naive"), FALSE, ids=lambda each: str(each)[:30])
def test_false_cells_are_false(name, settings, relation, naive):
    """What would hold for others does not hold here: the optimum moves."""
    reference = solved(name, tuple(settings.items()), "multiclass")
    assert reference.formulation.relations()[relation] is None
    claimed = moved(reference, RELATIONS[relation](reference.problem), naive)
    assert not meet(claimed, wb.solve(claimed.formulation, claimed.problem, gap=GAP))


@pytest.mark.parametrize("relation", ["features", "loss"])
def test_settings_have_to_follow(relation):
    """λ left as it was, the optimum is another one: the table's powers are needed."""
    reference = solved("soft-margin", (), "multiclass")
    claimed = moved(reference, RELATIONS[relation](reference.problem), Change())
    assert not meet(claimed, wb.solve(claimed.formulation, claimed.problem, gap=GAP))


PLAIN = {"multiclass": set(), "matching": {"split"}, "chain": {"split", "loss"}, "separable": {"split"}}


@pytest.mark.parametrize("data", PLAIN)
def test_what_a_change_brings_that_was_not_there(data):
    """Sample weights and losses other than 0/1, and the changed problem without them."""
    for name, foretold in related(solved("soft-margin", (), data)):
        assert (foretold.beyond is not None) == (name in PLAIN[data]), name
        if foretold.beyond is not None:
            what, without = foretold.beyond
            assert what == {"split": "sample weights", "loss": "losses other than 0/1"}[name]
            assert without.n_samples == foretold.problem.n_samples
            assert (without.weights == 1).all()
            if name == "loss":
                np.testing.assert_array_equal(without.cost, 1 - np.eye(len(without.cost)))


NONE = {"kappa-difficulty", "latent-ssvm", "completed-ssvm", "self-paced-latent", "nuclear-dyadic"}


@pytest.mark.parametrize("name", registry("formulation").names())
def test_every_formulation_declares_every_relation_or_none(name):
    """A new formulation cannot be skipped in silence: its row is whole, or it is empty by intent."""
    row = registry("formulation").get(name)().relations()
    assert set(row) == (set() if name in NONE else set(RELATIONS))


def test_indices_stay_narrow():
    """Other people's packages refuse 64-bit indices."""
    for _, foretold in related(solved("soft-margin", (), "multiclass")):
        assert foretold.problem.X.indices.dtype == np.int32


def test_a_relation_finds_what_this_problem_cannot_show():
    rng = np.random.default_rng(0)
    data = wb.Multiclass(rng.normal(size=(12, 3)), np.arange(12) % 3)
    best = wb.solve(wb.SoftMargin(), data, gap=1e-8)

    def shy(problem, formulation, budget, rng):
        """Right as long as features are below 4 in size: it clips them."""
        clipped = wb.Multiclass(np.clip(problem.X.toarray(), -3.2, 3.2), problem.labels, problem.cost)
        return wb.solve(formulation, clipped, gap=1e-6).theta_flat

    assert np.abs(data.X.data).max() < 3.2
    assert wb.judge(shy, best, passes=256, audit=False).verdict == "agrees"
    found = wb.judge(shy, best, passes=256, audit=True)
    assert (found.verdict, found.rule) == ("disagrees", "relation: features")
    assert "On a copy of this problem with all inputs multiplied by 2 and with lam=" in found.reason


def test_a_related_problem_is_described_to_a_stranger_with_the_settings_that_change():
    reference = reference_of(wb.solve(wb.SoftMargin(lam=0.1), problem("chain"), gap=GAP))
    told = {name: described(name, reference, changed) for name, changed in related(reference)}
    ends = ", whose optimum follows from the one that is proven"
    assert told["permute"] == f"a copy of this problem with the samples in another order{ends}"
    assert told["loss"] == (
        f"a copy of this problem with all losses multiplied by 2 and with lam=0.05 instead of lam=0.1{ends}"
    )
    reference = solved("normalized-cost-learning", (("counts", "none"), ("lam1", 0.05)), "multiclass")
    told = {name: described(name, reference, changed) for name, changed in related(reference)}
    assert "all inputs multiplied by 2 and with lam2=0.4 instead of lam2=0.1 and with lam1=0.1" in told["features"]
    assert set(SAID) == set(RELATIONS)
