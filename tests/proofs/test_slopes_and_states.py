"""Both checkers on proofs by slopes and on trees over hidden states: equal ends, equal words on damaged ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import second_checker
from both_checkers import both
from forging import EDITS
from forging.campaign import HIDDEN, Campaign, fitted, honest, in_process
from forging.edits_of_slopes import greatest_norm
from second_checker.slopes import schur_corner

from workbench.proofs.verify import verify

PAIRS = [("dyads", "nuclear-dyadic"), (f"motif{HIDDEN}", "self-paced")]
OWN = [kind for kind in EDITS if kind.split()[0] in ("slope", "slopes", "tree", "theta", "dimensions", "side", "sides")]
OWN += ["claim an ulp away", "sample weight changed", "number setting changed", "label changed", "span changed"]


@pytest.fixture(scope="module")
def bases():
    return {pair: honest(*pair, 3, 2) for pair in PAIRS}


def judged(forged, folder):
    forged.write(folder / "forged")
    return both(str(folder / "forged"))


@pytest.mark.parametrize("pair", PAIRS)
def test_ends_of_honest_certificates_are_equal(bases, pair, tmp_path):
    for each in bases[pair]:
        said = judged(each, tmp_path)
        assert (said["first"], said["second"]) == ("proven", "proven"), said["why"]
        first, second = verify(tmp_path / "forged.json"), second_checker.check(tmp_path / "forged")
        assert second.upper == Fraction(first["upper_exact"])
        assert 0 <= second.lower - Fraction(first["lower_exact"]) <= second.upper / 10**20
    assert any((each.arrays["data_weights"] == 0).any() for each in bases[pair])


@pytest.mark.parametrize("pair", PAIRS)
def test_damaged_certificates_are_judged_equally(bases, pair, tmp_path):
    """Every kind of damage once, each claim in three ways; benchmarks/forgeries.py goes on with more."""
    campaign = Campaign(in_process, tmp_path)
    campaign.falsehood = lambda forged, said: {}
    campaign.attack("", bases[pair], OWN, 1, np.random.default_rng(4))
    assert campaign.tried() >= 40
    assert not campaign.found
    assert sum(row["proven"] for row in campaign.rows.values()) > 5


def test_the_spectral_bound_is_strict(bases, tmp_path):
    """Below λ = ‖S‖₂ neither checker proves a lower end; near above one of them may; well above both prove the same."""
    forged = bases[PAIRS[0]][0].copy()
    norm = greatest_norm(forged)
    forged.header |= {"lower": -np.inf, "upper": np.inf, "gap": np.inf}
    for factor, finite in (
        (0.5, {False}),
        (1 - 1e-9, {False}),
        (1 + 1e-9, {False, True}),
        (1.001, {True}),
        (2.0, {True}),
    ):
        forged.header["formulation"]["settings"]["lam"] = norm * factor
        said = judged(forged, tmp_path)
        assert (said["first"], said["second"]) == ("proven", "proven")
        assert (said["lower"] > -np.inf) in finite
        second = second_checker.check(tmp_path / "forged")
        assert (second.lower > -np.inf) == (factor > 1)
        assert (second.room == np.inf) == (factor < 1 + 1e-6)
        assert said["lower"] <= second.lower


@pytest.mark.parametrize("seed", range(5))
def test_the_corner_is_that_of_a_solve(seed):
    rng = np.random.default_rng(seed)
    root = rng.integers(-3, 4, (4, 4))
    M, b = root @ root.T + (seed > 0) * np.eye(4, dtype=int), rng.integers(-5, 6, 4)
    whole = np.block([[M, b[:, None]], [b, np.zeros((1, 1), int)]])
    places = {(i, j): Fraction(int(whole[i, j])) / 7 for i in range(5) for j in range(i + 1)}
    positive = np.linalg.eigvalsh(M).min() > 1e-9
    found = schur_corner(places, 4)
    assert (found is not None) == positive
    if positive:
        assert float(found) == pytest.approx(-(b @ np.linalg.solve(M, b)) / 7, rel=1e-9)


def test_an_ulp_above_what_is_proven_is_refused_by_both(bases, tmp_path):
    for pair in PAIRS:
        said = judged(bases[pair][0], tmp_path)
        for claim in ("fitted", "greedy"):
            again = judged(fitted(bases[pair][0], said, claim), tmp_path)
            assert (again["first"], again["second"]) == (("proven",) if claim == "fitted" else ("not proven",)) * 2


# ── what the campaign found ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("loss", "name", "number"), [("squared", "slopes", 1.7e308), ("hinge", "data_left_data", 1e300)]
)
def test_numbers_beyond_floats_are_no_crash(bases, loss, name, number, tmp_path):
    """S has entries above 1.8·10³⁰⁸, each a product of finite float64s: ‖S‖₂ ≥ λ, so the lower end is −∞."""
    forged = bases[PAIRS[0]][0].copy()
    forged.header["formulation"]["settings"] |= {"loss": loss, "lam": 1.0}
    forged.header |= {"lower": -np.inf, "upper": np.inf, "gap": np.inf}
    forged.arrays[name][:] = number
    forged.arrays["data_right_data"][:] = 1e20
    forged.sign()
    said = judged(forged, tmp_path)
    assert said["second"] == "proven"
    assert said["first"] == "proven", said["first"]


def test_a_point_beyond_floats_is_no_crash(tmp_path):
    forged = honest("matching", "perceptron", 5, 1)[0].copy()
    forged.arrays["theta"][:] = 1.7e308
    assert judged(forged, tmp_path)["second"] == "not proven"
    assert judged(forged, tmp_path)["first"] == "not proven"
