"""Forged certificates get no false "proven" (benchmarks/forgeries.py, in small), and the campaign would notice one."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from both_checkers import both
from forging import EDITS
from forging.campaign import Campaign, fitted, honest, in_process, opened
from forging.forgery import member, packed

import workbench as wb
from workbench.errors import BadInput
from workbench.proofs.verify import verify
from workbench.registries import registry

CASES = [
    ("chain", "soft-margin"),
    ("linear", "hard-margin"),
    ("linear", "self-paced"),
    ("multiclass", "crf"),
    ("motif", "completed-ssvm"),
    ("matching", "perceptron"),
]


@pytest.mark.parametrize(("output", "formulation"), CASES)
def test_no_forgery_is_accepted_that_is_false(output, formulation, tmp_path):
    campaign = Campaign(in_process, tmp_path)
    campaign.attack("", honest(output, formulation, 5, 1), list(EDITS), 1, np.random.default_rng(5))
    assert campaign.tried() >= 60
    assert not [each for each in campaign.found if each["faults"] != ["unjudged"]]
    assert sum(row["proven"] for row in campaign.rows.values()) > 0


@pytest.mark.parametrize(
    ("first", "second", "fault"),
    [
        ("proven", "proven", "accepted_false"),
        ("proven", "malformed", "disagreements"),
        ("crash: x", "proven", "crashes"),
    ],
)
def test_the_campaign_notices_a_checker_that_is_wrong(first, second, fault, tmp_path):
    def court(stem):
        return {**both(str(stem)), "first": first, "second": second, "tie": False}

    campaign = Campaign(court, tmp_path)
    kinds = ["weight moved", "ends exchanged", "claim moved"]
    campaign.attack("", honest("multiclass", "soft-margin", 5, 2), kinds, 20, np.random.default_rng(5))
    assert sum(row[fault] for row in campaign.rows.values()) > 0


# ── what the campaign found, one by one ───────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def certificate():
    return honest("multiclass", "soft-margin", 5, 1)[0]


@pytest.fixture(scope="module")
def exact():
    problem = wb.Linear(np.array([[1.0], [-2.0]]), np.array([1.0, -1.0]))
    form = registry("formulation").get("soft-margin")(lam=0.5)
    return opened(wb.solve(form, problem, gap=1e-9, polish=True).certificate)


def refused(forged, folder):
    """Neither checker says proven."""
    forged.write(folder / "forged")
    said = both(str(folder / "forged"))
    return said["first"] != "proven" and said["second"] != "proven"


def test_a_whole_number_is_not_rounded_before_it_is_compared(tmp_path):
    """lower = 2⁵³ + 1 is false where the optimum is 2⁵³, though its float64 is 2⁵³."""
    form = registry("formulation").get("hard-margin")(lam=2.0**54)
    forged = opened(wb.solve(form, wb.Linear(np.ones((1, 1)), np.ones(1)), gap=1e-9).certificate)
    forged.arrays |= {"theta": np.ones(1), "weights": np.full(len(forged.arrays["weights"]), 2.0**54)}
    forged.header |= {"lower": 2**53, "upper": 2**53, "gap": 0.0}
    forged.header.pop("optimum", None)
    forged.arrays.pop("fractions", None)
    assert not refused(forged, tmp_path)
    forged.header |= {"lower": 2**53 + 1, "upper": 2**53 + 2, "gap": 1.0}
    assert refused(forged, tmp_path)


@pytest.mark.parametrize("number", [10**400, -(10**400)], ids=["huge", "-huge"])
@pytest.mark.parametrize("key", ["lower", "upper"])
def test_a_number_beyond_floats_is_refused(certificate, key, number, tmp_path):
    forged = certificate.copy()
    forged.header[key] = number
    assert refused(forged, tmp_path)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN"])
def test_a_literal_beyond_floats_is_no_infinity(certificate, number, tmp_path):
    forged = certificate.copy()
    header = json.dumps(forged.header | {"upper": float("inf"), "gap": float("inf")})
    forged.text = header.replace("Infinity", number).encode()
    assert refused(forged, tmp_path)


@pytest.mark.parametrize(("key", "end"), [("lower", -np.inf), ("upper", np.inf)])
def test_an_infinite_end_has_an_infinite_gap(certificate, key, end, tmp_path):
    forged = certificate.copy()
    forged.header[key] = float(end)
    assert refused(forged, tmp_path)
    forged.header["gap"] = float("inf")
    assert not refused(forged, tmp_path)


def test_no_other_key_is_allowed(certificate, tmp_path):
    forged = certificate.copy()
    forged.header["complete"] = True
    assert refused(forged, tmp_path)


def test_the_order_of_an_array_is_true_or_false(certificate, tmp_path):
    import io
    import zipfile

    forged = certificate.copy()
    whole = member(forged.arrays["theta"]).replace(b"'fortran_order': False,", b"'fortran_order': 0,    ")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in forged.arrays.items():
            archive.writestr(name + ".npy", whole if name == "theta" else member(array))
    forged.archive = buffer.getvalue()
    assert refused(forged, tmp_path)
    forged.archive = packed(forged.arrays)
    assert not refused(forged, tmp_path)


def test_an_optimum_needs_fractions(exact, tmp_path):
    assert "optimum" in exact.header
    assert "fractions" in exact.arrays
    forged = exact.copy()
    assert not refused(forged, tmp_path)
    del forged.arrays["fractions"]
    assert refused(forged, tmp_path)


def test_fractions_of_very_many_digits_are_refused_at_once(exact, tmp_path):
    forged, start = exact.copy(), time.process_time()
    lines = forged.arrays["fractions"].tobytes().split(b"\n")
    lines[0] = b"1" * 10**6 + b"/" + b"3" * 10**6
    forged.arrays["fractions"] = np.frombuffer(b"\n".join(lines), np.uint8)
    assert refused(forged, tmp_path)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("output", ["tree", "flow"])
def test_a_formulation_that_does_not_fit_is_no_crash(output, tmp_path):
    forged = honest(output, "soft-margin", 5, 1)[0].copy()
    forged.header["formulation"] = {"name": "weighted-risk", "version": 1, "settings": {"lam": 1.0, "loss": "hinge"}}
    forged.write(tmp_path / "forged")
    said = both(str(tmp_path / "forged"))
    assert (said["first"], said["second"]) == ("malformed", "malformed")


@pytest.mark.parametrize("output", ["tree", "chain"])
def test_a_later_version_is_conditional_and_no_crash(output, tmp_path):
    forged = honest(output, "crf", 5, 1)[0].copy()
    forged.header["proof"]["version"] = 2
    forged.write(tmp_path / "forged")
    said = both(str(tmp_path / "forged"))
    assert (said["first"], said["second"]) == ("conditional", "conditional")


@pytest.mark.parametrize("amount", [0.0, 1e-12, 1.0])
def test_weight_on_a_priceless_sample_proves_nothing(certificate, amount, tmp_path):
    """The first break of the word: cuts of samples of weight 0, in a program with hard constraints, too."""
    for pair in (("multiclass", "soft-margin"), ("linear", "hard-margin")):
        forged = next(each for each in honest(*pair, 5, 4) if (each.arrays["data_weights"] == 0).any()).copy()
        row = len(forged.arrays["samples"])
        for name in ("samples", "witnesses", "weights"):
            forged.arrays[name] = np.concatenate([forged.arrays[name], forged.arrays[name][:1]])
        forged.arrays["samples"][row] = int(np.flatnonzero(forged.arrays["data_weights"] == 0)[0])
        forged.arrays["weights"][row] = amount
        forged.header.pop("optimum", None)
        if "fractions" in forged.arrays:
            forged.arrays["fractions"] = np.append(forged.arrays["fractions"], np.frombuffer(b"\n0/1", np.uint8))
        assert refused(forged, tmp_path) == (amount > 0)


def test_a_claim_an_ulp_too_good_is_refused(certificate, tmp_path):
    certificate.write(tmp_path / "honest")
    said = both(str(tmp_path / "honest"))
    assert not refused(fitted(certificate, said, "fitted"), tmp_path)
    assert refused(fitted(certificate, said, "greedy"), tmp_path)


def test_an_unreadable_certificate_is_bad_input(certificate, tmp_path):
    forged = certificate.copy()
    forged.text = b"{"
    forged.write(tmp_path / "forged")
    with pytest.raises(BadInput):
        verify(tmp_path / "forged.json")


def test_a_gap_below_the_rounding_of_enclosures_is_a_tie(tmp_path):
    """θ = 0 is the optimum, log 2: the gap is nothing but the width of an enclosure, which each checker chooses."""
    problem = wb.Linear(np.array([[1.0], [1.0]]), np.array([1.0, -1.0]))
    forged = opened(wb.solve(registry("formulation").get("crf")(lam=0.5), problem).certificate)
    forged.arrays["theta"][:] = 0.0
    words = set()
    for gap in (1e-15, 1e-30, 1e-80, 1e-200, 1e-300, 0.0, float("inf"), -float("inf"), -1.0):
        forged.header |= {"lower": 0.6931471805599453, "upper": 0.6931471805599454, "gap": gap}
        forged.write(tmp_path / "tie")
        said = both(str(tmp_path / "tie"))
        assert said["first"] == said["second"] or said["tie"], (gap, said)
        words.add((said["first"], said["second"]))
    assert ("proven", "proven") in words
    assert ("not proven", "not proven") in words
