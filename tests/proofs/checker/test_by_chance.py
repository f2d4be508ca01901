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


def test_arrays_that_do_not_belong_are_refused():
    kinds = {case.header["proof"]["kind"]: case for case in certificates()}
    costs = next(case for case in certificates() if "cost" in case.name)
    lines = "\n".join(["1/3"] * len(costs.arrays["weights"])).encode()
    others = {"more": np.zeros(1), "hint_shares": np.zeros((1, 2)), "fractions": np.frombuffer(lines, np.uint8)}
    for case in (*kinds.values(), costs):
        for name, array in others.items():
            if name not in case.arrays:
                new = case.copy(name)
                new.arrays[name] = array
                assert word(new) == "malformed", new.name


def test_no_weight_stands_on_a_sample_without_a_price():
    for base in certificates():
        idle = np.flatnonzero(base.arrays.get("data_weights", np.ones(1)) == 0)
        cuts = np.flatnonzero(np.isin(base.arrays["samples"], idle))
        if not len(cuts):
            continue
        case = base.copy("weight without a price")
        case.arrays["weights"][cuts[0]] = 5e-324
        assert word(case) == "malformed", case.name
        if "fractions" in base.arrays:
            lines = base.arrays["fractions"].tobytes().split(b"\n")
            for line in (b"1/1000", b"-1/1000"):
                case = base.copy("a fraction without a price")
                changed = [line if k == cuts[0] else each for k, each in enumerate(lines)]
                case.arrays["fractions"] = np.frombuffer(b"\n".join(changed), np.uint8)
                assert word(case) != "proven", case.name


def test_a_sample_without_weight_leaves_no_lower_end():
    for base in certificates():
        prices = base.arrays.get("data_weights", np.zeros(1)) > 0
        chosen = np.isin(base.arrays["samples"], np.flatnonzero(prices)[:1])
        hard = base.name.startswith(("hard", "perceptron"))
        if chosen.any() and "fractions" not in base.arrays and not hard and "parts" not in str(base.header):
            case = base.copy("no weight")
            case.arrays["weights"][chosen] = 0.0
            assert said(case).ends.lower == -INFINITE, case.name
            assert word(case, lower=-INFINITE, gap=INFINITE) == "proven", case.name
            assert word(case) == "not proven", case.name


def test_fractions_are_read_strictly():
    base = next(case for case in certificates() if "fractions" in case.arrays)
    lines = base.arrays["fractions"].tobytes().split(b"\n")
    for bad in (
        b"",
        b"1",
        b"1/0",
        b"1/00",
        b"1/-3",
        b"+1/3",
        b"1/3 ",
        b"x/3",
        b"1/3/3",
        b"A/3",
        b"\xff/3",
        b"1.0/3",
        b"--1/3",
    ):
        for at in (0, len(lines) - 1):
            case = base.copy(repr(bad))
            text = b"\n".join([*lines[:at], bad, *lines[at + 1 :]])
            case.arrays["fractions"] = np.frombuffer(text, np.uint8)
            assert word(case) == "malformed", bad
    for text in (b"\n".join(lines[1:]), b"\n".join([*lines, b"0/1"]), b"\n".join(lines) + b"\n"):
        case = base.copy("lines")
        case.arrays["fractions"] = np.frombuffer(text, np.uint8)
        assert word(case) == "malformed"
    above, below = lines[0].split(b"/")
    case = base.copy("not in lowest terms")
    twice = b"%x/0%x" % (2 * int(above, 16), 2 * int(below, 16))
    case.arrays["fractions"] = np.frombuffer(b"\n".join([twice, *lines[1:]]), np.uint8)
    assert word(case) == "proven"


def test_formulations_without_signed_weights_take_no_graphs():
    graph = next(case for case in certificates() if case.name == "soft-margin of graph")
    others = {(part["name"], part["version"]): (part, case.header["proof"])
              for case in certificates() for part in [case.header["formulation"]]}  # fmt: skip
    for name, (formulation, proof) in others.items():
        case = graph.copy(str(name))
        case.header |= {"formulation": formulation, "proof": proof}
        assert word(case) == ("proven" if name == ("soft-margin", 1) else "malformed"), name
