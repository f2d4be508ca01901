"""What a `fit` may return, form by form, and what is said of everything else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import workbench as wb
from workbench.contracts import Blocks
from workbench.judging import reports
from workbench.judging.reports import (
    BadAnswer,
    Report,
    blocks_of,
    flat,
    is_checkpoint,
    report_of,
    reports_of,
    thinned,
)

KEPT, ENDLESS = 500, 100_000  # written out, not imported
W = np.array([1.0, 2.0])


def passes(returned, budget=8, **settings):
    return [each.passes for each in reports_of(returned, budget, **settings)]


# ── forms ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "returned",
    [W, W.tolist(), tuple(W), W[None], sparse.csr_array(W[None]), (W, {}), {"weights": W}, [(8, W)], [{"weights": W}]],
)
def test_every_form_of_the_same_weights(returned):
    (one,) = reports_of(returned, 8)
    assert (one.passes, one.theta.tolist(), one.claims, one.remarks) == (8.0, [1.0, 2.0], {}, ())
    assert one.theta is not returned


def test_a_report_beside_the_weights_counts():
    for returned in ((W, {"gap": 0.5, "passes": 3}), {"weights": W, "gap": 0.5, "passes": 3}):
        (one,) = reports_of(returned, 8)
        assert (one.passes, one.theta.tolist(), one.claims) == (3.0, [1.0, 2.0], {"gap": 0.5})


def test_weights_and_checkpoints_are_told_apart():
    assert is_checkpoint((1, W))
    assert is_checkpoint({})
    assert not is_checkpoint((1, 2.0))
    assert not is_checkpoint((W, W))
    assert not is_checkpoint((1, W, W))
    assert not is_checkpoint([1, W])
    assert not is_checkpoint(W)
    assert not is_checkpoint(None)
    for empty in ([], ()):
        (one,) = reports_of(empty, 8)
        assert one.theta.shape == (0,)
    with pytest.raises(BadAnswer, match="yielded nothing"):
        reports_of(iter([]), 8)
    (pair,) = reports_of((3.0, 4.0), 8)
    assert pair.theta.tolist() == [3.0, 4.0]


# ── passes ────────────────────────────────────────────────────────────────────────────────────────


def test_checkpoints_without_passes_are_spaced_evenly():
    assert passes(iter([W, W, W, W])) == [2.0, 4.0, 6.0, 8.0]
    assert passes(iter([W, (5, W), W, W])) == [2.0, 5.0, 6.0, 8.0]
    assert passes([(1, W), (1, W), (4, W)]) == [1.0, 1.0, 4.0]


def test_reading_ends_with_the_first_checkpoint_beyond_the_budget():
    read = []

    def told():
        for k in (0, 7, 8, 9, 10):
            read.append(k)
            yield k or 0.5, W

    assert passes(told()) == [0.5, 7.0, 8.0, 9.0]
    assert read == [0, 7, 8, 9]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([(5, W), (3, W)], "from 5 to 3; count them upwards"),
        ([(0, W), (0, W)], "from 0 to 0; count them upwards"),
    ],
)
def test_passes_go_up(told, words):
    with pytest.raises(BadAnswer, match=words):
        reports_of(told, 8)
    assert passes([(0, W), (1, W)]) == [0.0, 1.0]


def test_masked_weights_are_refused_and_masked_arrays_without_a_mask_are_not():
    with pytest.raises(BadAnswer, match=r"^1 of the weights are masked; give numbers, as weights\.filled\(0\) is\.$"):
        report_of(np.ma.array([1.0, 2.0], mask=[False, True]))
    assert report_of(np.ma.array([1.0, 2.0])).theta.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("bad", [-1.0, np.inf, np.nan])
def test_passes_are_numbers_from_0_on(bad):
    with pytest.raises(BadAnswer, match=f"passes are {bad:g}; count them from 0 on"):
        report_of({"weights": W, "passes": bad})
    assert report_of({"weights": W, "passes": 0}).passes == 0.0
    assert np.isnan(report_of({"weights": W, "passes": None}).passes)


# ── many checkpoints ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("count", [999, 1000, 1001, 1700, 40_000])
def test_a_long_history_is_thinned_and_keeps_its_beginning_its_course_and_its_end(count):
    """However often: even steps of the passes and of their logarithm are there, and the last hundred."""
    found = passes(((k, W) for k in range(1, count + 1)), count)
    assert len(found) == count if count < 1000 else len(found) < 1000
    assert found[-100:] == [float(k) for k in range(count - 99, count + 1)]
    assert found[:8] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    steps = np.diff(found)
    assert steps.max() <= count / 80
    assert (steps <= np.maximum(1, 0.12 * np.array(found[:-1]))).all()
    without = passes((W for _ in range(count)), count)
    np.testing.assert_allclose(without, found)


def test_what_is_thinned_is_half_of_what_there_was_at_most():
    for most in (16, 100, KEPT):
        held = list(range(2 * most))
        kept = thinned(held, [float(k) for k in held], most)
        assert len(kept) <= most
        assert kept == sorted(set(kept))
        assert (kept[0], kept[-(most // 5) :]) == (0, held[-(most // 5) :])
        late = thinned(held, [1.1**k for k in held], most)
        assert (late[0], len(late) <= most) == (0, True)


def test_iterates_that_are_replayed_are_all_kept():
    found = reports_of(({"weights": W, "iterate": W, "share": 1.0} for _ in range(1200)), 8)
    assert len(found) == 1200
    assert found[0].claims["iterate"].tolist() == [1.0, 2.0]
    assert found[0].claims["share"] == 1.0
    late = ({"weights": W, "iterate": W} if k == 999 else W for k in range(1200))
    assert len(reports_of(late, 8)) == 1200


def test_what_does_not_end_is_stopped(monkeypatch):
    monkeypatch.setattr(reports, "ENDLESS", 3)
    assert reports.ENDLESS != ENDLESS
    found = reports_of(((1 + 0.001 * k, k * W) for k in range(100)), 8)
    assert [each.theta.tolist() for each in found] == [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]
    assert [each.passes for each in found] == [1.0, 1.001, 1.002]
    assert [len(each.remarks) for each in found] == [0, 0, 1]
    assert "and 3 checkpoints, at pass 1.002 of 8." in found[-1].remarks[0]
    assert found[-1].remarks[0].startswith("It was stopped after ")
    odd = reports_of(({"weights": W, "passes": k, **({"odd": 1} if k == 3 else {})} for k in range(1, 9)), 8)
    assert [len(each.remarks) for each in odd] == [0, 0, 2]
    with pytest.raises(BadAnswer, match="yielded 3 checkpoints and no end, without their passes; tell those"):
        reports_of((W for _ in range(100)), 8)
    with pytest.raises(BadAnswer, match="without their passes"):
        reports_of(((1, W) if k != 1 else W for k in range(100)), 8)
    beyond = reports_of(((4 * k, W) for k in range(1, 100)), 8)
    assert (len(beyond), beyond[-1].remarks) == (3, ())  # it was beyond its budget by then


def test_the_number_of_checkpoints_that_are_read():
    assert reports.ENDLESS == ENDLESS
    assert reports.KEPT == KEPT


@pytest.mark.parametrize(("until", "count"), [(2.0, 3), (1.0, 2), (np.inf, 9)])
def test_reading_ends_when_the_seconds_are_over(until, count, monkeypatch):
    clock = iter(np.arange(100.0))
    monkeypatch.setattr(reports.time, "perf_counter", lambda: next(clock))
    told = {"weights": W, "odd": 1, "passes": 1}
    found = reports_of((told for _ in range(9)), 8, until=until)
    assert len(found) == count
    remarks = found[-1].remarks
    assert len(remarks) == (1 if until == np.inf else 2)
    told = f"It was stopped after {count + 1} s and {count} checkpoints, at pass 1 of 8."
    assert until == np.inf or remarks[1] == told


# ── single reports ────────────────────────────────────────────────────────────────────────────────


def test_claims_are_read_as_numbers():
    told = {"weights": W, "objective": 1, "lower": "0.5", "gap": np.float32(0.25), "share": None}
    assert report_of(told).claims == {"objective": 1.0, "lower": 0.5, "gap": 0.25}
    assert all(type(each) is float for each in report_of(told).claims.values())
    for key in ("objective", "lower", "gap", "share", "passes"):
        with pytest.raises(BadAnswer, match=f"The learner's {key} is a list, no number; write it as one"):
            report_of({"weights": W, key: []})


def test_a_report_without_weights():
    with pytest.raises(BadAnswer, match="has no weights, only gap, passes; add them"):
        report_of({"gap": 1.0, "passes": 2})
    with pytest.raises(BadAnswer, match="has no weights, only nothing; add them"):
        report_of({})
    assert report_of((2, W)).passes == 2.0
    assert np.isnan(report_of(W).passes)


def test_what_nobody_reads_and_what_claims_nothing_is_a_remark():
    told = {"weights": W, "Objectve": 1.0, "colour": 3}
    told |= {"lower": -np.inf, "gap": np.nan, "share": np.inf, "objective": np.nan}
    assert report_of(told).remarks == (
        "Its report says 'Objectve', which nobody reads; did you mean 'objective'?",
        "Its report says 'colour', which nobody reads; known: weights, passes, objective, lower, gap, dual, iterate, "
        "share.",
        "The lower it reports is -inf, which claims nothing; leave it out.",
        "The gap it reports is nan, which claims nothing; leave it out.",
        "The share it reports is inf, which claims nothing; leave it out.",
    )
    assert report_of({"weights": W, "lower": 0.0, "gap": 1.0}).remarks == ()


def test_dual_weights_are_three_parts_or_a_table():
    parts = report_of({"weights": W, "dual": ([0], [[1]], [0.5])}).claims["dual"]
    assert [each.dtype.kind for each in parts] == ["i", "i", "f"]
    assert [each.tolist() for each in parts] == [[0], [[1]], [0.5]]
    assert report_of({"weights": W, "dual": [[0], [[1]], [0.5]]}).claims["dual"][2].tolist() == [0.5]
    table = report_of({"weights": W, "dual": [[1, 2], [3, 4]]}).claims["dual"]
    assert (table.dtype.kind, table.tolist()) == ("f", [[1.0, 2.0], [3.0, 4.0]])
    assert report_of({"weights": W, "dual": np.eye(3)}).claims["dual"].shape == (3, 3)
    assert "dual" not in report_of({"weights": W, "dual": None}).claims
    with pytest.raises(BadAnswer, match=r"dual is a str, no weights; give \(samples, outputs, μ\) or a table"):
        report_of({"weights": W, "dual": "none"})


def test_weights_that_are_none():
    for told, words in (
        (None, "returned nothing; end it with `return weights`"),
        (W * 1j, "returned complex weights; return real ones"),
        ("weights", "returned a str, no array of weights"),
        (object(), "returned a object, no array of weights"),
        ([[1.0, 2.0], [3.0]], "returned a list, no array of weights"),
    ):
        with pytest.raises(BadAnswer, match=words):
            report_of(told)
    assert Report(1.0, W).claims == {}


# ── dicts of blocks ───────────────────────────────────────────────────────────────────────────────


BLOCKS = Blocks({"w": (2, 2), "c": (1,)})
ONE = "give one flat array, such as theta_flat"


def test_a_dict_of_the_blocks_is_one_vector():
    told = {"c": [5.0], "w": [[1.0, 2.0], [3.0, 4.0]]}
    assert flat(told, BLOCKS).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert report_of(told, BLOCKS).theta.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert [each.theta.tolist() for each in reports_of([told, told], 2, blocks=BLOCKS)] == [
        [1.0, 2.0, 3.0, 4.0, 5.0]
    ] * 2


@pytest.mark.parametrize(
    ("told", "blocks", "words"),
    [
        ({"w": np.ones(3), "c": [1.0]}, BLOCKS, "The block w of the weights has 3 entries; give 4."),
        ({"w": np.ones(4)}, BLOCKS, f"The weights are a dict of w; {ONE}, or a dict of exactly w, c."),
        ({}, None, f"The weights are a dict of nothing; {ONE}."),
        ({"w": np.ones(4), "c": [1.0]}, None, f"The weights are a dict of w, c; {ONE}."),
    ],
)
def test_other_dicts_are_refused(told, blocks, words):
    with pytest.raises(BadAnswer) as refusal:
        flat(told, blocks)
    assert str(refusal.value) == words


def test_the_blocks_of_a_form_and_none_of_a_text():
    problem = wb.Multiclass(np.eye(3), np.arange(3))
    assert list(blocks_of(wb.SoftMargin(), problem)) == ["w"]
    assert blocks_of(object(), problem) is None
