"""The trusted checker on certificates by chance: every end, gap and verdict is that of the second checker.

Plain functions without fixtures: `tests/nightly/mutation.py` calls them without pytest, in a fork for each mutant.
"""

from __future__ import annotations

import copy
import math
import os
from fractions import Fraction

from chance.certificates import INFINITE, certificates
from chance.damaged import damaged
from chance.forged import forgeries

from workbench.proofs.checker import Malformed, check, judged, normal

SAME = Fraction(1, 10**20)


def first(cases):
    """Those that are about the module under mutation first, so that its mutants die young."""
    word = os.environ.get("CUTBENCH_MUTATED", "").strip("_").replace("_", "-")
    return sorted(cases, key=lambda case: word not in case.name) if word else cases


def said(case, **changes):
    """The verdict on a case, its header changed."""
    return judged(*normal(copy.deepcopy(case.header) | changes), case.arrays)


def word(case, **changes):
    """`proven`, `not proven` or `malformed`."""
    try:
        return "proven" if said(case, **changes).proven else "not proven"
    except Malformed:
        return "malformed"


def check_ends(case, verdict):
    """The same numbers; where they are enclosed, to 10⁻²⁰ of the larger end."""
    ends, other = verdict.ends, case.verdict
    room = 0 if not other.rounded else max(abs(other.lower), abs(other.upper)) * SAME
    pairs = [(ends.upper, other.upper), (max(ends.upper, ends.reached), other.reached), (ends.lower, other.lower)]
    loose = "self-paced of" in case.name and "," in case.name  # an edit may divide the roundings of §7 by a tiny c_i
    for found, expected in pairs[: 2 if loose else 3]:
        assert found == expected or abs(found - expected) <= room, case.name
    if loose:
        return
    assert verdict.gap == other.gap or (other.rounded and abs(verdict.gap - other.gap) <= SAME), case.name


def test_the_ends_are_those_of_the_second_checker():
    for case in first(certificates()):
        verdict = said(case)
        assert verdict.proven, (case.name, verdict.faults)
        check_ends(case, verdict)


def test_forgeries_are_judged_as_by_the_second_checker():
    for case in first(forgeries()):
        try:
            verdict = check(case.stem)
        except Malformed:
            assert not case.verdict.proven, case.name
            continue
        agreed = verdict.proven == case.verdict.proven or case.verdict.rounded
        assert agreed, (case.name, verdict.faults, case.verdict.reason)
        if case.verdict.lower is not None:
            check_ends(case, verdict)


def test_damage_is_judged_as_by_the_second_checker():
    for case in first(damaged()):
        try:
            verdict = said(case)
        except Malformed:
            assert not case.verdict.proven, case.name
            continue
        assert verdict.proven == case.verdict.proven, (case.name, verdict.faults, case.verdict.reason)
        if case.verdict.lower is not None:
            check_ends(case, verdict)


def test_no_claim_says_more_than_is_proven():
    for case in certificates()[::11]:
        lower, upper, gap = (case.header[key] for key in ("lower", "upper", "gap"))
        assert word(case, lower=math.nextafter(lower, INFINITE)) == "not proven", case.name
        if case.verdict.reached == case.verdict.upper < INFINITE:
            assert word(case, upper=math.nextafter(upper, -INFINITE)) == "not proven", case.name
            assert word(case, gap=gap * (1 - 3e-12) - 3e-12) == "not proven", case.name
            assert word(case, gap=INFINITE) == "proven", case.name
            assert word(case, gap=-gap) == ("not proven" if gap else "proven"), case.name
            assert word(case, upper=INFINITE) == word(case, lower=-INFINITE) == "not proven", case.name
            assert word(case, upper=INFINITE, gap=INFINITE) == "proven", case.name
        elif upper == INFINITE:
            assert word(case, gap=1e300) == "not proven", case.name
        assert word(case, lower=-INFINITE, gap=INFINITE) == "proven", case.name
