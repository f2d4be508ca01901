"""Proofs by slopes against the second checker, at the edges of their domains, and beyond floats (plain functions)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from chance.against import check_ends, limited, refusal, said, word
from chance.certificates import DYADIC, WIDE, case_of
from second_checker.slopes import schur_corner

from workbench.proofs.checker import convexity
from workbench.proofs.checker.formulations.nuclear_dyadic import NuclearDyadic
from workbench.proofs.checker.kinds import slopes
from workbench.proofs.checker.kinds.slopes import Coupling, inverse_form
from workbench.proofs.checker.whole import objects

INFINITE = float("inf")


def dyadic(seed, **settings):
    """A certificate that claims nothing."""
    case = case_of(np.random.default_rng([11, seed]), "nuclear-dyadic", "dyads", DYADIC | settings, k=2 + seed % 2)
    case.header |= WIDE
    return case


def checked(case):
    case.sign()
    case.verdict = case.judged()
    verdict = said(case)
    assert (verdict.proven, case.verdict.word) == (True, "proven"), (case.name, verdict.faults, case.verdict.reason)
    check_ends(case, verdict)
    return verdict.ends.lower


def test_lower_ends_are_those_of_the_second_checker():
    finite = []
    for seed in range(24):
        rng, loss = np.random.default_rng(seed), ("hinge", "squared")[seed // 2 % 2]
        case = dyadic(seed, loss=loss, lam=float(rng.choice([0.5, 4.0, 64.0])), dimensions=1 + seed % 3)
        if loss == "squared":
            case.arrays["slopes"] = rng.normal(size=case.arrays["slopes"].shape) * rng.choice([0.01, 1.0])
        finite.append(checked(case) > -INFINITE)
    assert 4 < sum(finite) < 23


def test_a_slope_outside_of_the_hinges_domain_proves_nothing():
    case = dyadic(1, lam=1e4)
    idle = int(np.flatnonzero(case.arrays["data_weights"] == 0)[0])
    priced = int(np.flatnonzero(case.arrays["data_weights"])[0])
    assert checked(case) > -INFINITE
    for at, factor in ((idle, 7.0), (priced, 0.0)):
        case.arrays["slopes"][at] = factor
        assert checked(case) > -INFINITE
    y = np.where(case.arrays["data_labels"][priced] == np.arange(3), 1.0, -1.0)
    for size, inside in ((1.0, True), (np.nextafter(1.0, 2.0), False), (1e-20, True), (-(2.0**-60), False)):
        case.arrays["slopes"][priced] = -y * size
        assert (checked(case) > -INFINITE) is inside, size


def test_the_inverse_form_is_bounded_from_above_to_many_digits():
    rng = np.random.default_rng(0)
    for trial in range(30):
        a, b, unit = (int(x) for x in (*rng.integers(1, 4, 2), rng.integers(1, 9)))
        S, left, right = (objects(rng.integers(-9, 10, size).tolist()) for size in (a * b, a, b))
        coupling = Coupling(S.reshape(a, b), left, right, unit)
        norm = float(np.linalg.norm(S.reshape(a, b).astype(float), 2)) / unit
        lam, share = Fraction(round(norm * 64 * rng.choice([0.5, 0.99, 1.01, 3.0])) + 1, 64), Fraction(1)
        for times in (1, 3):  # S and c are over Σ weights, which is 1/share
            scaled = Coupling(coupling.sides * times, left * times, right * times, unit)
            found = inverse_form(scaled, lam, share / times)
            places = {(i, i): lam for i in range(a + b)} | {
                (a + j, i): Fraction(int(S.reshape(a, b)[i, j]), unit) for i in range(a) for j in range(b)
            }
            places |= {(a + b, i): Fraction(int(x), unit) for i, x in enumerate([*left, *right])}
            corner = schur_corner(places, a + b)  # of 2Q and 2c: −4cᵀ(2Q)⁻¹c
            if corner is None:
                assert found is None, trial
                continue
            expected = -corner / 2
            assert found is not None, trial
            assert expected <= found <= expected + Fraction(1, 10**18) * max(1, expected), trial


def test_the_bound_allows_for_a_poor_solution():
    """Without S, cᵀQ⁻¹c = (left² + right²)/(2λ) is ‖ρ‖²/σ at z = 0."""
    none = Coupling(objects([0]).reshape(1, 1), objects([3]), objects([4]), 1)
    with limited(np.linalg, solve=lambda Q, C: np.zeros_like(C)):
        assert inverse_form(none, Fraction(2), Fraction(1)) == Fraction(25, 4)


def test_where_the_norm_is_not_below_lambda_nothing_is_proven():
    one = Coupling(objects([5]).reshape(1, 1), objects([1]), objects([1]), 1)
    for lam, proven in ((Fraction(5), False), (Fraction(4), False), (Fraction(501, 100), True)):
        assert (inverse_form(one, lam, Fraction(1)) is not None) is proven
    assert inverse_form(one._replace(sides=-one.sides), Fraction(5), Fraction(1)) is None
    huge = one._replace(left=objects([slopes.LARGEST * 6]))
    assert inverse_form(huge, Fraction(6), Fraction(1)) is None
    assert inverse_form(huge._replace(left=-huge.left), Fraction(6), Fraction(1)) is None
    many = Coupling(objects([3] * 4).reshape(2, 2), objects([1, 0]), objects([0, 1]), 1)
    assert inverse_form(many, Fraction(6), Fraction(1)) is None
    assert inverse_form(many, Fraction(61, 10), Fraction(1)) is not None
    with limited(slopes, MARGIN=0):
        assert inverse_form(many, Fraction(6), Fraction(1)) is None


def test_a_bound_on_the_norm_is_proven_or_not():
    """‖S‖ = 5 of (5), and of ((3, 4), (0, 0)), over the unit 2."""
    for S in (objects([10]).reshape(1, 1), objects([6, 8, 0, 0]).reshape(2, 2)):
        for s in (Fraction(5), Fraction(16, 3), Fraction(501, 100)):
            assert slopes.bounded(S, 2, s), s
        for s in (Fraction(499, 100), Fraction(14, 3), Fraction(1)):
            assert not slopes.bounded(S, 2, s), s


def test_floats_propose_a_factor_that_saves_the_elimination():
    """Of a matrix that is close to singular, at several scales; a wrong factor proves nothing, and is not needed."""
    for one in (1, 1000, 10**6):
        S = objects([6, 8, 8, 7, 1, 2]).reshape(3, 2) * 50
        norm = float(np.linalg.norm(S.astype(float), 2)) / one
        above, below = (Fraction(norm * (1 + side * slopes.MARGIN)) for side in (1, -1))
        with limited(convexity, MOST_WORK=-1):
            assert slopes.bounded(S, one, above), one
        with limited(np.linalg, cholesky=lambda M: np.eye(len(M))):
            assert slopes.bounded(S, one, above)
            assert not slopes.bounded(S, one, below)


def test_entries_beyond_floats_prove_nothing_and_large_ones_do():
    for sign in (1, -1):
        beyond = Coupling(objects([sign * 10**400, 0]).reshape(2, 1), objects([1, 1]), objects([1]), 1)
        assert inverse_form(beyond, Fraction(1), Fraction(1)) is None
        large = Coupling(objects([1]).reshape(1, 1), objects([sign * 10**100]), objects([1]), 1)
        assert inverse_form(large, Fraction(2), Fraction(1)) > 10**200 / 4


def test_settings_and_their_defaults():
    assert {key: setting.default for key, setting in NuclearDyadic.settings.items()} == {
        "lam": 0.01, "dimensions": 1, "loss": "hinge",
    }  # fmt: skip
    allowed = NuclearDyadic.settings["dimensions"].test
    assert [bool(allowed(k)) for k in (0, 1, 2, 1000, 1001)] == [False, True, True, True, False]


def test_sides_that_are_too_large_are_refused():
    case = dyadic(0)
    told = "its sides have 2 and 3 features, more than this proof is carried out for"
    for limits, refused in (
        ({"MOST_SIDE": 2}, False),
        ({"MOST_SIDE": 1}, True),
        ({"MOST_CELLS": 6}, False),
        ({"MOST_CELLS": 5}, True),
    ):
        with limited(slopes, **limits):
            assert refusal(said, case) == (told if refused else ""), limits


def test_numbers_beyond_floats_prove_nothing():
    for name, number in (("slopes", 1.7e308), ("data_left_data", 1e300), ("data_data", 1e300)):
        case = dyadic(2, loss="squared", lam=1.0)
        case.arrays[name][:] = number
        case.sign()
        assert word(case) == "proven", name
