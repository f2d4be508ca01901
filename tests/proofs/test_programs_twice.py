"""Both checkers on certificates of convex programs: honest ones, forged ones, and forgeries that one once accepted."""

from __future__ import annotations

import numpy as np
import pytest
import second_checker
from both_checkers import both
from forging.programs import edited, known_programs, put

INFINITE = float("inf")


@pytest.fixture(scope="module")
def known():
    return known_programs()


def said(forged, folder):
    forged.write(folder / "forged")
    return both(str(folder / "forged"))


def test_both_agree_on_programs_whose_optima_are_known(known, tmp_path):
    for name, (base, (low, high)) in known.items():
        found = said(base, tmp_path)
        assert (found["first"], found["second"]) == ("proven", "proven"), (name, found["why"])
        verdict = second_checker.check(tmp_path / "forged")
        assert verdict.lower <= high, name
        assert low <= verdict.upper, name
        assert name in ("nonconvex", "ball", "exponential") or verdict.lower == verdict.upper == low, name


def test_no_forgery_of_a_program_is_accepted_that_is_false(known, tmp_path):
    rng, words = np.random.default_rng(16), set()
    for k in range(220):
        name = list(known)[k % len(known)]
        base, (low, high) = known[name]
        base.others = [known[list(known)[rng.integers(len(known))]][0]]
        kinds, forged = edited(rng, base)
        found = said(forged, tmp_path)
        pair = [("malformed" if found[key] == "conditional" else found[key]) for key in ("first", "second")]
        assert pair[0] == pair[1], (name, kinds, found)
        words.add(pair[0])
        if pair[0] == "proven" and stated(forged) == stated(base):
            assert forged.header["lower"] <= high, (name, kinds)
            assert low <= forged.header["upper"], (name, kinds)
    assert words == {"proven", "not proven", "malformed"}


def stated(forgery):
    """The program that a certificate is about."""
    settings = forgery.header["formulation"]["settings"]
    return forgery.header["problem"]["data_sha256"], settings.get("reading"), settings.get("sense")


@pytest.mark.parametrize("word", ["optimal", "infeasible", "unbounded", "nonconvex"])
def test_no_conclusion_is_proven_by_a_claim_that_says_nothing(known, word, tmp_path):
    """Both ends of (−∞, ∞) are right for any program, and the conclusion was not looked at."""
    for name, (base, _) in known.items():
        if word != base.header["formulation"]["settings"]["conclusion"]:
            forged = base.copy()
            forged.header["formulation"]["settings"]["conclusion"] = word
            forged.header.pop("optimum", None)
            forged.header |= {"lower": -INFINITE, "upper": INFINITE, "gap": INFINITE}
            found = said(forged, tmp_path)
            assert (found["first"], found["second"]) == ("not proven", "not proven"), name


def test_a_form_that_is_not_symmetric_is_refused(known, tmp_path):
    """½x₁x₂ − x₁ on x₁ ≥ 0, x₂ ≥ 4 has the minimum 0, though Pd = 0 for d = (1, 0) where P = [[0, 1], [0, 0]]."""
    forged = known["unbounded"][0].copy()
    forged.arrays |= {"data_P_data": np.array([1.0]), "data_P_indices": np.array([0])}
    forged.arrays |= {"data_P_indptr": np.array([0, 0, 1]), "data_A_data": np.array([-1.0, -1.0])}
    forged.arrays |= {"data_A_indices": np.array([0, 1]), "data_A_indptr": np.array([0, 1, 2])}
    forged.arrays |= {"data_q": np.array([-1.0, 0.0]), "data_b": np.array([0.0, -4.0])}
    put(forged, "x", b"1\n0\n4")
    put(forged, "d", b"1\n1\n0")
    forged.sign()
    found = said(forged, tmp_path)
    assert (found["first"], found["second"]) == ("malformed", "malformed")
    assert "not symmetric" in found["why"]


def test_the_ends_of_columns_are_looked_at_before_memory_is_taken(known, tmp_path):
    forged = known["linear"][0].copy()
    forged.arrays["data_A_indptr"][1] = 1 << 40
    forged.sign()
    assert said(forged, tmp_path)["first"] == "malformed"
