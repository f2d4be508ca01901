"""One function gives the bounds of every kind, and contradictions are never hidden."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from workbench.contracts import Majorized
from workbench.errors import Contradiction, MissingCapability
from workbench.proofs.any_bounds import bounds_for
from workbench.registries import misfit, registry

FITTING = [
    pytest.param(structure, kind, id=f"{output}-{name}")
    for output, structure in registry("output").items()
    for name, kind in registry("formulation").items()
    if misfit(kind(), structure.tiny(np.random.default_rng(0))) is None
]


@pytest.mark.parametrize(("structure", "kind"), FITTING)
def test_no_weights_lie_below_the_proven_optimum(structure, kind):
    """upper(θ) ≥ lower for random θ of several sizes and for the solution's own, for every formulation there is."""
    rng = np.random.default_rng(3)
    form, problem = kind(), structure.tiny(rng)
    if isinstance(form, Majorized):
        with pytest.raises(MissingCapability, match="no bounds of its whole"):
            wb.Bounds(form, problem)
        form = form.surrogate(problem, form.start(problem))
    bounds = wb.Bounds(form, problem)
    try:
        best = wb.solve(form, problem, gap=1e-6, time_limit=20)
    except wb.NotSeparable:
        assert bounds.upper(rng.normal(size=bounds.oracle.dim)) == np.inf
        return
    assert best.lower <= bounds.upper(best.theta_flat) <= best.upper + 1e-9 * abs(best.upper)
    for size in (0.01, 1.0, 30.0):
        theta = bounds.repaired(size * rng.normal(size=best.theta_flat.shape))
        assert bounds.upper(theta) >= best.lower


def test_a_search_is_known_to_the_public_door_and_to_races():
    problem = wb.load_problem("toy")(n=8)
    form = wb.SelfPaced(10.0, 1.0)
    best = wb.solve(form, problem, gap=1e-6)
    assert wb.Bounds(form, problem).upper(best.theta_flat) >= best.lower
    with pytest.raises(MissingCapability, match=r"proven\(tree, upper\)"):
        wb.Bounds(form, problem).lower(None, None)
    track = wb.race(form, problem, ["solve"], gap=1e-3, seconds=5)["solve"]
    assert track.laps
    assert all(gap >= 0 for _, gap in track.laps)


def test_what_is_no_formulation_is_told_so():
    problem = wb.load_problem("toy")(n=8)
    with pytest.raises(wb.BadInput, match="no formulation"):
        wb.Bounds(3.0, problem)
    assert type(bounds_for(wb.CRF(), problem)).__name__ == "SmoothBounds"


def forgetful(structure):
    """The structure with an argmax that forgets the loss."""

    class Forgetful(structure):
        def argmax(self, w, samples, augment=True):
            return super().argmax(w, samples, False)

        def kernel(self, augment=True):
            return super().kernel(False)

    return Forgetful


@pytest.mark.parametrize("lam", [0.01, 1.0])
@pytest.mark.parametrize("master", [None, "gram", "compiled"])
def test_an_argmax_without_the_loss_ends_in_a_contradiction(master, lam):
    rng = np.random.default_rng(0)
    faulty = forgetful(wb.Multiclass)(rng.normal(size=(30, 4)), rng.integers(0, 3, 30))
    with pytest.raises(Contradiction, match=r"lies above .* bug in the argmax"):
        wb.solve(wb.SoftMargin(lam=lam), faulty, master=master)


def test_an_argmax_known_to_miss_is_not_called_a_bug():
    """Kind under: a lower bound above the highest value found says that the maximum was missed, no more."""
    rng = np.random.default_rng(0)
    faulty = forgetful(wb.Multiclass)(rng.normal(size=(30, 4)), rng.integers(0, 3, 30))
    faulty.oracle_kind = "under"
    with pytest.raises(Contradiction, match="which is of kind under: it missed higher ones") as told:
        wb.solve(wb.SoftMargin(lam=1.0), faulty)
    assert "bug" not in str(told.value)


def test_races_and_verdicts_refuse_a_reference_above_the_learner():
    """The faulty structure makes every F(θ) too small; an honest lower bound lies above."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    form, faulty = wb.SoftMargin(lam=0.01), forgetful(wb.Multiclass)(X, y)
    honest = wb.solve(form, wb.Multiclass(X, y))
    trace = wb.run(wb.Subgradient(), form, faulty, passes=50, rng=0)
    with pytest.raises(Contradiction):
        wb.crosscheck(trace, replace(honest, problem=faulty))
    with pytest.raises(Contradiction):
        wb.race(form, faulty, ["subgradient"], seconds=2)
