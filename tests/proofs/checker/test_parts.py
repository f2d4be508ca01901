"""Parts of the trusted checker by themselves: limits of size, exact products, enclosures (plain functions)."""

from __future__ import annotations

import json
import math
import tempfile
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
from chance.against import limited, word
from chance.certificates import certificates
from chance.programs import programs

from workbench.proofs.checker import archive, balls, contracts, whole
from workbench.proofs.checker.faults import Malformed
from workbench.proofs.checker.kinds import _vectors, cuts, program, tree


def refused(call, *given):
    try:
        call(*given)
    except Malformed:
        return True
    return False


def test_what_is_too_long_is_refused():
    exact = next(case for case in certificates() if "fractions" in case.arrays)
    text = exact.arrays["fractions"].tobytes()
    digits = max(len(part) for line in text.split(b"\n") for part in line.split(b"/"))
    denominator = math.lcm(*(int(line.split(b"/")[1], 16) for line in text.split(b"\n"))).bit_length()
    for limits, kept in (
        ({"MOST_TEXT": len(text)}, "proven"),
        ({"MOST_TEXT": len(text) - 1}, "malformed"),
        ({"MOST_DIGITS": digits}, "proven"),
        ({"MOST_DIGITS": digits - 1}, "malformed"),
        ({"MOST_BITS": denominator}, "proven"),
        ({"MOST_BITS": denominator - 1}, "malformed"),
        ({"MOST_TOGETHER": denominator * (text.count(b"\n") + 1)}, "proven"),
        ({"MOST_TOGETHER": denominator * (text.count(b"\n") + 1) - 1}, "malformed"),
    ):
        with limited(cuts, **limits):
            assert word(exact) == kept, limits
    paced = next(case for case in certificates() if "tree_data" in case.arrays)
    entries = int(paced.arrays["tree_cuts"]) * len(paced.arrays["theta"])
    for limit, kept in ((entries, "proven"), (entries - 1, "malformed")):
        with limited(tree, MOST_ENTRIES=limit):
            assert word(paced) == kept
    with limited(contracts, MOST_LISTED=3):
        assert word(paced) == "malformed"
    case = next(case for case in programs() if "x" in case.arrays and len(case.arrays["data_P_data"]))
    longest = max(max(map(len, case.arrays[name].tobytes().split(b"\n"))) for name in "xwyd" if name in case.arrays)
    curved = len(set(case.arrays["data_P_indices"].tolist()))
    for module, limits, kept in (
        (_vectors, {"MOST_LINE": longest}, "proven"),
        (_vectors, {"MOST_LINE": longest - 1}, "malformed"),
        (program, {"MOST_CURVED": curved}, "proven"),
        (program, {"MOST_CURVED": curved - 1}, "malformed"),
    ):
        with limited(module, **limits):
            assert word(case) == kept, limits


def test_products_are_exact_whatever_their_bits():
    rng = np.random.default_rng(0)
    for bits, more in ((3, 3), (20, 20), (53, 200), (500, 60), (2000, 4000)):
        m, p, k = 7, 5, 3
        kept = rng.random((m, p)) < 0.6
        digits = rng.integers(-(1 << 52), 1 << 52, int(kept.sum())).astype(float)
        data = np.ldexp(digits, rng.integers(0, min(bits, 900), len(digits)) - 60)
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        rows = whole.Rows(data, np.nonzero(kept)[1], indptr, p)
        X = np.zeros((m, p), object)
        X[kept] = [Fraction(x) for x in data.tolist()]
        small, shifts = rng.integers(-9, 9, k * p).tolist(), rng.integers(0, more, k * p).tolist()
        W = whole.objects(x << shift for x, shift in zip(small, shifts, strict=True))
        W = W.reshape(k, p)
        picked = np.array([3, 0, 3, 6])
        found = rows.scores(picked, W)
        assert (found == X[picked] @ W.T * rows.unit).all()
        blocks, factors = np.array([0, 2, 2, 1]), W.ravel()[:4]
        expected = np.zeros((k, p), object)
        for row, block, factor in zip(picked, blocks, factors, strict=True):
            expected[block] += X[row] * factor
        assert (rows.spread(picked, blocks, factors, k) == expected.ravel() * rows.unit).all()
        with limited(whole, MOST_AT_ONCE=2):
            assert (rows.spread(picked, blocks, factors, k) == expected.ravel() * rows.unit).all()
        assert (rows.sizes() == abs(X).sum(axis=1) * rows.unit).all()
        assert (whole.dense_product(W, W.T) == W @ W.T).all()
        kept, counts = Watched(data, rows.indices, indptr, p), []
        kept.seen = counts
        with limited(whole, MOST_AT_ONCE=2):
            kept.spread(picked, blocks, factors, k)
        assert max(counts) <= 2 + p
        assert (
            rows.spread(picked[:1], blocks[:1], factors[:1], k)
            == rows.spread(picked, blocks, factors * [1, 0, 0, 0], k)
        ).all()
        with limited(whole, MOST_DENSE=1):
            assert refused(whole.dense_product, W, W.T)
        with limited(whole, MOST_WORK=1):
            assert not refused(whole.dense_product, W, W.T)
            assert refused(rows.scores, picked, W) == (whole.widths(rows.values, W, 5) is not None)


class Watched(whole.Rows):
    def summed(self, at, *rest):
        self.seen.append(len(at))
        return super().summed(at, *rest)


def test_pieces_add_up_to_the_numbers():
    numbers = whole.objects([0, 1, -1, 7, -(1 << 70) + 5, (1 << 90) - 1])
    for width in (1, 8, 53):
        found = whole.pieces(numbers, width)
        assert sum(part.astype(int).astype(object) << (place * width) for place, part in enumerate(found)).tolist() == (
            numbers.tolist()
        )
        assert all((abs(part) < 2**width).all() for part in found)


def test_pieces_are_as_wide_as_exact_sums_of_products_allow():
    def found(first, second, terms=1):
        return whole.widths(whole.objects([0, -(1 << (first - 1))]), whole.objects([1 << (second - 1), 0]), terms)

    for given, expected in (
        ((10, 30), (10, 42)), ((26, 26), (26, 26)), ((30, 10), (42, 10)), ((30, 30), (26, 26)), ((26, 99), (26, 26)),
        ((10, 42 * 48), (10, 42)), ((10, 42 * 48 + 1), None), ((42 * 48, 10), (42, 10)), ((42 * 48 + 1, 10), None),
        ((5, 5, 1 << 44), (4, 4)), ((4, 5, 1 << 44), (4, 4)), ((4, 4, 1 << 45), None), ((3, 3, 1 << 46), None),
    ):  # fmt: skip
        assert found(*given) == expected, given


def test_rows_of_any_length_are_added_up_exactly():
    long, ones = 600, float((1 << 24) - 1)
    rows = whole.Rows(np.full(long + 1, ones), np.arange(long + 1) % long, np.array([0, 1, long + 1]), long)
    weight, value = (1 << 29) - 1, (1 << 24) - 1
    W = np.full((1, long), weight, object)
    expected = [value * weight, value * weight * long]
    assert rows.scores(np.arange(2), W).ravel().tolist() == expected
    number = np.minimum(np.arange(long + 1), 1)
    assert rows.summed(np.arange(long + 1), W[0, :2], number, number).tolist() == expected


def test_how_much_work_is_too_much():
    """One product of a pair of pieces of a pair of entries, as many as the two factors have."""
    left, right = np.full((2, 3), (1 << 60) - 1, object), np.full((3, 5), 1, object)
    for wider in (0, 100, 7000):
        steps = whole.widths(left, right << wider, 3)
        pairs = whole.MOST_PIECES**3
        if steps is not None:
            pairs = len(whole.pieces(left, steps[0])) * len(whole.pieces(right << wider, steps[1]))
        assert (steps is None) == (wider == 7000)
        assert pairs == {0: 2, 100: pairs, 7000: 48**3}[wider] >= 2
        assert not refused_beyond(2 * 3 * 5 * pairs, whole.dense_product, left, right << wider, limit="MOST_DENSE")
    rows = whole.Rows(np.array([1.0, 2.0**60 + 2.0**9, 3.0]), np.array([0, 1, 1]), np.array([0, 2, 3]), 2)
    W = np.full((5, 2), (1 << 90) - 1, object)
    for weights in (W, W >> 89):
        steps = whole.widths(rows.values, weights, 2)
        each = len(whole.pieces(rows.values, steps[0])) * len(whole.pieces(weights, steps[1]))
        assert not refused_beyond(3 * 5 * each, rows.scores, np.arange(2), weights)
        factors, target = weights[:2, 0], np.array([0, 0, 1])
        steps = whole.widths(rows.values, factors, 2)
        each = len(whole.pieces(rows.values, steps[0])) * len(whole.pieces(factors, steps[1]))
        assert not refused_beyond(3 * each, rows.summed, np.arange(3), factors, np.array([0, 0, 1]), target)


def refused_beyond(work, call, *given, limit="MOST_WORK"):
    with limited(whole, **{limit: work - 1}):
        assert refused(call, *given), (work, call)
    with limited(whole, **{limit: work}):
        return refused(call, *given)


def test_products_at_the_edge_of_float64():
    """Sums of products of pieces stay below 2⁵³, for entries of as many ones as fit."""
    for terms in (1, 2, 3, 4, 7, 8, 1000):
        for left in (1, 5, 26, 27, 52, 53, 80, 200):
            for right in (1, 5, 25, 26, 27, 53, 90):
                a, b = whole.objects([(1 << left) - 1] * terms), whole.objects([(1 << right) - 1] * terms)
                steps = whole.widths(a, b, terms)
                assert steps is None or sum(steps) + (terms - 1).bit_length() <= 53 + (terms == 1)
                found = whole.dense_product(a.reshape(1, -1), b.reshape(-1, 1))
                assert found[0, 0] == terms * ((1 << left) - 1) * ((1 << right) - 1)


def test_floats_are_whole_over_the_least_power_of_two():
    for floats in ([0.0], [1.0, 3.0], [0.5, -0.75], [5e-324, 1.0], [1e300, -0.0], [0.1, 2.0**60], [4.0, 2.0**60], []):
        found = whole.exact(floats)
        assert found.fractions() == [Fraction(x) for x in floats]
        assert found.unit == max([Fraction(x).denominator for x in floats], default=1)
    assert whole.common([Fraction(1, 3), Fraction(1, 6)]).unit == 6
    assert whole.common([Fraction(1, 3)]).unit == 3
    assert whole.common([]).unit == 1
    assert whole.root_up(Fraction(2), 10) == Fraction(15, 10)
    assert whole.root_up(Fraction(4), 10) == 2
    assert whole.root_up(Fraction(0), 10) == 0
    assert whole.root_up(Fraction(401, 100), 1) == 3


def test_exp_and_log_hold_the_true_value():
    context, P = Context(prec=120, Emax=10**6, Emin=-(10**6)), 200
    two = context.power(Decimal(2), Decimal(P))
    for p, q in ((0, 1), (-1, 1), (-1, 3), (-7, 10), (-100, 7), (-130, 1), (-(10**6), 1)):
        x = Fraction(p, q)
        lo, hi = (int(each[0]) for each in balls.exp(whole.objects([x.numerator]), x.denominator, P))
        true = context.multiply(context.exp(context.divide(Decimal(p), Decimal(q))), two)
        assert lo <= true <= hi, x
        assert hi - lo <= 4, x
    for number in (1, 2, 3, 7, 1000, (1 << 300) + 1, (1 << 90) - 1, 10**200):
        lo, hi = balls.log(number, P)
        true = context.multiply(context.ln(Decimal(number)), two)
        assert lo <= true <= hi, number
        assert hi - lo <= 4, number


def test_files_are_refused_beyond_their_limits():
    case = certificates()[0]
    with tempfile.TemporaryDirectory() as place:
        stem = Path(place, "case")
        case.write(stem)
        text, size = stem.with_suffix(".json").stat().st_size, len(case.arrays)
        held = sum(len(each.tobytes()) for each in case.arrays.values())
        for limits, kept in (
            ({"MOST_JSON": text}, True),
            ({"MOST_JSON": text - 1}, False),
            ({"MOST_MEMBERS": size}, True),
            ({"MOST_MEMBERS": size - 1}, False),
            ({"MOST_DEPTH": 3}, True),
            ({"MOST_DEPTH": 2}, False),
            ({"MOST_BYTES": 1 << 30}, True),
            ({"MOST_BYTES": held}, False),
        ):
            with limited(archive, **limits):
                assert refused(archive.read, stem) != kept, limits
        assert refused(archive.read, stem, held)
        header, arrays = archive.read(stem)
        assert header == json.loads(stem.with_suffix(".json").read_text())
        assert {name: each.tolist() for name, each in arrays.items()} == {k: v.tolist() for k, v in case.arrays.items()}
