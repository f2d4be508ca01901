"""The trusted checker on certificates by chance: every end, gap and verdict is that of the second checker.

Plain functions without fixtures: `tests/nightly/mutation.py` calls them without pytest, in a fork for each mutant.
"""

from __future__ import annotations

import math

import numpy as np
from chance.against import about, check_ends, check_verdict, said, word
from chance.certificates import INFINITE, certificates
from chance.damaged import damaged
from chance.forged import forgeries

from workbench.proofs import checker


def test_the_ends_are_those_of_the_second_checker():
    for case in about(certificates()):
        verdict = said(case)
        assert verdict.proven, (case.name, verdict.faults)
        check_ends(case, verdict)


def test_damage_is_judged_as_by_the_second_checker():
    for case in about(damaged()):
        check_verdict(case, lambda case=case: said(case))


def test_forgeries_are_judged_as_by_the_second_checker():
    for case in about(forgeries()):
        check_verdict(case, lambda case=case: checker.check(case.stem))


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


def test_outputs_that_are_not_listed_prove_nothing_by_themselves():
    """Nothing but the settings and the kind of proof is looked at then (docs/certificate-format.md §1, §3)."""
    base = next(case for case in certificates() if case.name == "soft-margin of structured").copy("not listed")
    base.arrays["data_listed"] = np.array(False)
    for name in (*base.arrays, "data_recorded_data"):
        case = base.copy(name)
        case.arrays[name] = base.arrays[name] if name == "data_listed" else np.zeros(1)
        assert unknown(case), name
        assert case.judged().word == "conditional", name
    for part, key, value in (("formulation", "settings", {}), ("proof", "kind", "tangent")):
        case = base.copy(key)
        case.header[part][key] = value
        assert not unknown(case), key
        assert case.judged().word == "malformed", key


def unknown(case):
    """Whether the checker knows no such structure; else the certificate is malformed."""
    try:
        said(case)
    except checker.Unknown:
        return True
    except checker.Malformed:
        return False
    raise AssertionError(case.name)
