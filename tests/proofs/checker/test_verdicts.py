"""Headers, claims and verdicts of the trusted checker, by themselves and on small certificates (plain functions)."""

from __future__ import annotations

import copy
import json
import math
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
from chance.against import refusal, said
from chance.certificates import certificates

from workbench.proofs.checker import check, contracts, judged, normal
from workbench.proofs.checker.check import Claim, fraction, shown, upgraded
from workbench.proofs.checker.contracts import Ends, Formulation, Proof, Setting, Structure, settled
from workbench.proofs.checker.faults import Unknown
from workbench.proofs.checker.learning import relative_gap
from workbench.proofs.checker.outputs.multiclass import Multiclass

INFINITE = float("inf")


def case_of(name):
    """The first certificate by chance of this name."""
    return next(case for case in certificates() if case.name == name)


def soft():
    return case_of("soft-margin of multiclass")


# ── headers ───────────────────────────────────────────────────────────────────────────────────────


def changed(*keys, to=None, drop=False):
    """The header of `soft()` with one entry changed."""
    found = copy.deepcopy(soft().header)
    inside = found
    for key in keys[:-1]:
        inside = inside[key]
    inside[keys[-1]] = to
    if drop:
        del inside[keys[-1]]
    return found


def test_a_header_of_the_second_format_is_taken_as_it_is():
    found, old = normal(copy.deepcopy(soft().header))
    assert found == soft().header
    assert not old
    part = {"alternation": {"formulation": "a", "status": "b"}, "program": "last of an alternation"}
    assert normal(soft().header | part)[0] == soft().header | part
    assert normal(soft().header | {"optimum": "1/2"})[0]["optimum"] == "1/2"


def test_headers_that_are_refused():
    for value in (None, 1, "", "cutbench-certificate-3", [], "x" * 70):
        told = f"it has the format {str(value)[:60]!r}, not 'cutbench-certificate-2'"
        assert refusal(normal, changed("format", to=value)) == told
    for key in ("proof", "formulation", "problem", "program", "lower", "upper", "gap", "oracle", "status", "backend",
                "versions"):  # fmt: skip
        assert refusal(normal, changed(key, drop=True)) == f"it has no {key}"
    assert refusal(normal, changed("zz", to=1)) == "it has a key that it should not, 'zz'"
    assert refusal(normal, changed("z" * 70, to=1)) == f"it has a key that it should not, {'z' * 60!r}"
    for part, words in (("proof", "kind, version"), ("formulation", "name, version, settings")):
        for value in (None, [], "x", {}, {"version": 1}, soft().header[part] | {"more": 1}):
            assert refusal(normal, changed(part, to=value)) == f"its {part} is not {words}", value
    told = "its problem has no data_sha256 of 64 hexadecimal digits"
    for value in (None, [], "x", {}, {"output": "multiclass", "version": 1}):
        assert refusal(normal, changed("problem", to=value)) == told
    for value in (None, 3, "", "0" * 63, "0" * 65, "A" * 64, "g" * 64, "0" * 64 + "\n"):
        assert refusal(normal, changed("problem", "data_sha256", to=value)) == told
    for part, key in (("proof", "kind"), ("formulation", "name"), ("problem", "output")):
        for value in (None, 1, [], {}):
            assert refusal(normal, changed(part, key, to=value)) == f"its {part} has no {key}"
        for value in (None, 0, -1, 1.0, "1", True, []):
            told = f"the version of its {part} is no whole number from 1 on"
            assert refusal(normal, changed(part, "version", to=value)) == told
    assert refusal(normal, changed("problem", "output", drop=True)) == "its problem has no output"
    assert not refusal(normal, changed("problem", "more", to=1))
    assert not refusal(normal, changed("proof", "version", to=7))
    for key in ("status", "backend", "oracle"):
        for value in (None, 1, [], {}):
            assert refusal(normal, changed(key, to=value)) == f"its {key} is no text"
    for value in (None, 1, [], "x", {"a": 1}, {"a": "b", "c": None}):
        assert refusal(normal, changed("versions", to=value)) == "its versions are no texts"
    assert not refusal(normal, changed("versions", to={}))


def test_a_part_of_an_alternation_says_so():
    last, told = "last of an alternation", "its alternation is not a formulation and a status, printable both"
    for value in ("", None, 1, "part"):
        assert refusal(normal, changed("program", to=value)).startswith(f"its program is {str(value)!r}, neither ")
    apart = "program and alternation do not fit together"
    good = {"formulation": "a", "status": "b"}
    assert refusal(normal, changed("program", to=last)) == apart
    assert refusal(normal, changed("alternation", to=good)) == apart
    for value in (None, {}, {"formulation": "a"}, {"formulation": "a", "status": 1}, good | {"more": "x"}, [], "x",
                  good | {"status": "b\n"}, good | {"formulation": "\x1b[2J"}):  # fmt: skip
        assert refusal(normal, changed("program", to=last) | {"alternation": value}) == told, value


# ── format 1 ──────────────────────────────────────────────────────────────────────────────────────


def first_format(case, **more):
    """The header of a case as format 1 wrote it."""
    found = copy.deepcopy(case.header) | {"format": "cutbench-certificate-1"} | more
    for part in ("formulation", "problem"):
        del found[part]["version"]
    del found["proof"], found["program"]
    return found


def test_certificates_of_the_first_format_are_brought_up():
    found, old = normal(first_format(soft(), words="of old"))
    assert old
    assert found == soft().header | {"format": "cutbench-certificate-1"}
    last = normal(first_format(soft(), alternation={"formulation": "a", "status": "b"}))[0]
    assert last["program"] == "last of an alternation"
    for name, kind in (
        ("weighted-risk of linear", "cuts"),
        ("crf of chain", "tangent"),
        ("self-paced of linear", "tree"),
    ):
        header, old = normal(first_format(case_of(name)))
        assert header["proof"] == {"kind": kind, "version": 1}
        assert judged(header, old, case_of(name).arrays).proven, name
    header = first_format(case_of("weighted-risk of linear"))
    header["formulation"]["settings"] = {"loss": "squared", "lam": 0.25}
    assert upgraded(header)["proof"]["kind"] == "tangent"
    header["formulation"]["settings"] = {}
    assert upgraded(header)["formulation"]["settings"] == {"lam": 0.1, "loss": "hinge"}
    assert upgraded(header)["proof"]["kind"] == "cuts"


def test_headers_of_the_first_format_that_are_refused():
    good = first_format(soft())
    for key in ("proof", "program"):
        told = "it is of format 1, which has no proof and no program"
        assert refusal(normal, good | {key: soft().header[key]}) == told
    for part in ("formulation", "problem"):
        for value in (None, [], "x"):
            assert refusal(normal, good | {part: value}) == f"it has no {part}"
        told = "it is of format 1, which has no versions of kinds"
        assert refusal(normal, good | {part: good[part] | {"version": 1}}) == told
    for value in (None, [], "x"):
        said = good["formulation"] | {"settings": value}
        assert refusal(normal, good | {"formulation": said}) == "its settings are no object"
    assert "no formulation called 'x', version 1, is known" in refusal(normal, good | {"formulation": {"name": "x"}})


def test_the_first_format_leaves_a_rounding_open_where_it_was_loose():
    case = case_of("completed-ssvm of multiclass")
    ends = case.verdict
    near, far = (float(ends.lower + abs(max(abs(ends.lower), abs(ends.upper))) * k / 10**13) for k in (5, 20))
    header, old = normal(first_format(case, lower=near))
    found = judged(header, old, case.arrays)
    assert found.proven
    assert found.rounded
    assert found.not_proven[-2].startswith(
        f"the claim {near!r} … {header['upper']!r} of format 1, which left a rounding"
    )
    assert len(found.not_proven) == 3
    assert not judged(*normal(first_format(case, lower=far)), case.arrays).proven
    assert not said(case, lower=near).proven
    honest = judged(*normal(first_format(case)), case.arrays)
    assert honest.proven
    assert not honest.rounded
    room = math.nextafter(float(soft().verdict.lower), INFINITE)
    assert not judged(*normal(first_format(soft(), lower=room)), soft().arrays).proven


# ── claims ────────────────────────────────────────────────────────────────────────────────────────


def ends(lower, upper, reached=None, start=1):
    return Ends(lower, upper, upper if reached is None else reached, start, "rational")


def claimed(lower, upper, gap, room=0, **more):
    return Claim({"lower": lower, "upper": upper, "gap": gap} | more, Fraction(room))


def test_a_claim_within_the_ends_has_no_faults():
    found = ends(Fraction(1), Fraction(2))
    for lower, upper, gap in (
        (1, 2, 0.5),
        (0.5, 2.5, 0.5),
        (1.0, 2.0, 1.0),
        (-INFINITE, 2, INFINITE),
        (1, INFINITE, INFINITE),
    ):
        assert claimed(lower, upper, gap).faults(found) == [], (lower, upper, gap)
    assert claimed(1, 2, 0.5 - 0.45e-12).faults(found) == []
    assert claimed(1, 2, 0.5 - 0.55e-12).faults(found)
    assert claimed(1.5, 2, 1).faults(found) == ["the claimed lower bound is 1.5, the proven one 1.0"]
    told = ["the claimed lower bound is 0.1, the proven one 0.1 -6e-18"]
    assert claimed(0.1, 2, 1).faults(ends(Fraction(1, 10), Fraction(2))) == told
    told = ["the claimed upper bound is 0.3, the proven one 0.3 +1e-17"]
    assert claimed(0, 0.3, 1).faults(ends(Fraction(0), Fraction(3, 10))) == told
    assert claimed(1, 1.5, 1).faults(found) == ["the claimed upper bound is 1.5, the proven one 2.0"]
    assert claimed(1, 2, 0.25).faults(found) == ["the claimed gap is 0.25, the proven one 0.5"]
    assert claimed(1, 2, -0.5).faults(found) == ["the claimed gap is -0.5, the proven one 0.5"]
    assert claimed(1, 2, INFINITE).faults(found) == []
    for lower, upper in ((-INFINITE, 2), (1, INFINITE), (-INFINITE, INFINITE)):
        told = ["the claimed gap is 100.0 where an end is infinite"]
        assert claimed(lower, upper, 100.0).faults(found) == told
    for lower, upper in ((INFINITE, INFINITE), (1, -INFINITE), (INFINITE, 2)):
        assert claimed(lower, upper, INFINITE).faults(found)
    assert "the claimed gap is 9.0 where an end is infinite" in claimed(1, -INFINITE, 9.0).faults(found)
    nearer = ends(Fraction(1), Fraction(3), Fraction(2))  # the point of the upper end is not the point that was saved
    assert claimed(1, 2, 1).faults(nearer) == ["the claimed upper bound is 2.0, the proven one 3.0"]
    assert claimed(1, 3, 1, Fraction(1, 8)).faults(nearer) == []
    assert claimed(1, 2.75, 1, Fraction(1, 8)).rounded(nearer)
    assert not claimed(1, 3, 1, Fraction(1, 8)).rounded(nearer)
    met = claimed(1.125, 0.875, -0.2, Fraction(1, 8))
    assert met.faults(ends(Fraction(1), Fraction(1)))[0].startswith("the claimed gap is -0.2, the proven one")
    higher = ends(Fraction(1), Fraction(2), Fraction(3))
    assert claimed(1, 2, 1).faults(higher) == ["the claimed upper bound is 2.0, the proven one 3.0"]
    assert claimed(1, 3, 1).faults(higher) == []
    infinite = ends(Fraction(1), INFINITE)
    assert claimed(1, 2, 1).faults(infinite) == ["the claimed upper bound is 2.0, the proven one inf"]
    assert claimed(1, INFINITE, INFINITE).faults(infinite) == []
    assert claimed(5, 4, 1).faults(ends(Fraction(5), Fraction(4)))[0] == (
        "a contradiction: the lower end 5.0 exceeds the upper end 4.0, so a definition or the checker has a bug"
    )
    touching = ends(Fraction(2), Fraction(2))
    assert claimed(2, 2, 0).faults(touching) == []
    assert claimed(2, 2, 0, optimum="2").faults(touching) == claimed(2, 2, 0, optimum="4/2").faults(touching) == []
    for optimum, other in (
        ("3", touching),
        ("2", ends(Fraction(1), Fraction(2))),
        ("1", ends(Fraction(1), Fraction(2))),
    ):
        assert claimed(1, 2, 1, optimum=optimum).faults(other)[-1] == "the claimed optimum is not the proven one"


def test_a_wider_claim_may_have_the_smaller_gap_of_the_two():
    """The gap that is proven is the smaller of that of the ends and that of the claim."""
    assert claimed(0, 100, 0.5).faults(ends(Fraction(1), Fraction(2))) == []
    assert claimed(-100, 1, 1.01).faults(ends(Fraction(-1), Fraction(1))) == []
    assert claimed(-100, 1, 1.0).faults(ends(Fraction(-1), Fraction(1))) == [
        "the claimed gap is 1.0, the proven one 1.01"
    ]


def test_an_allowance_is_one_of_the_ends():
    found = ends(Fraction(1), Fraction(2), Fraction(3))
    room = Fraction(1, 8)
    assert claimed(1.25, 3, 1).faults(found)
    for lower, upper, rounded in ((1.25, 3, True), (1.375, 3, True), (1, 2.75, True), (1, 3, False), (1, 2.5, None)):
        claim = claimed(lower, upper, 1, room)
        assert claim.room == room * Fraction(upper)
        assert bool(claim.faults(found)) == (rounded is None), (lower, upper)
        assert rounded is None or claim.rounded(found) == rounded
    assert claimed(1.5, 3, 1, room).faults(found)
    assert not claimed(1.25, 3, 1).rounded(found)
    assert claimed(-4, INFINITE, INFINITE, room).room == Fraction(1, 2)
    assert claimed(-INFINITE, INFINITE, INFINITE, room).room == 0


def test_numbers_and_fractions_of_a_claim():
    for value in (True, None, "1", float("nan"), [1]):
        for key in ("lower", "upper", "gap"):
            header = {"lower": 1, "upper": 2, "gap": 0} | {key: value}
            assert refusal(Claim, header, Fraction(0)) == f"{key} is {str(value)!r}, no number"
    claim = claimed(1, 2, 3)
    assert (claim.lower, claim.upper, claim.gap, claim.optimum) == (1, 2, 3, None)
    assert type(claim.lower) is float
    for words, value in (
        ("3", 3),
        ("-3/4", Fraction(-3, 4)),
        ("6/08", Fraction(3, 4)),
        ("00/1", 0),
        ("1" * 5000, None),
    ):
        assert fraction(words) == (int(fraction(words)) if value is None else value)
    for words in ("", "1/0", "1/00", "1.5", " 1", "1/-2", "--1", "+1", None, 3, "a", "1/2/3", "1\n"):
        assert refusal(fraction, words) == f"the optimum {str(words)[:30]!r} is no fraction p/q", words
    longest = "1" * most_digits()
    assert fraction(longest) > 0
    assert refusal(fraction, longest + "1") == f"the optimum {'1' * 30!r} is no fraction p/q"
    assert sys.get_int_max_str_digits() > 0
    assert (shown(Fraction(1, 2)), shown(INFINITE)) == ("0.5", "inf")
    assert shown(Fraction(10**400)) == "beyond all floats"


def most_digits():
    return sys.modules["workbench.proofs.checker.check"].MOST_DIGITS


def test_gaps_are_relative_to_the_largest_end():
    half, tiny = Fraction(1, 2), Fraction(1, 10**9)
    for upper, lower, start, gap in (
        (2, 1, 0, half), (1, -2, 0, 3 * half), (-1, -2, 0, half), (0, 0, 0, 0), (3, 0, 0, 1), (1, 2, 0, -half),
        (-2, -1, 0, -half),
        (tiny, 0, 1, Fraction(1, 1000)), (tiny, 0, -1, Fraction(1, 1000)),
        (INFINITE, 0, 0, INFINITE), (0, -INFINITE, 0, INFINITE), (Fraction(1), Fraction(1, 2), 10**7, Fraction(1, 20)),
    ):  # fmt: skip
        assert relative_gap(upper, lower, start) == gap, (upper, lower, start)


# ── verdicts ──────────────────────────────────────────────────────────────────────────────────────


def test_what_a_verdict_says():
    found = said(soft())
    assert found.proven
    assert found.optimum is None
    assert (found.program, found.alternation, found.kind, found.output) == ("whole", None, "cuts", "multiclass")
    assert (found.oracle, found.data_sha256, found.data_named) == ("exact",) + (
        soft().header["problem"]["data_sha256"],
    ) * 2
    assert found.claimed == tuple(soft().header[key] for key in ("lower", "upper", "gap"))
    assert found.conditional_on == []
    assert found.not_proven == ["that the data inside the certificate are yours, unless they were compared (--data)"]
    part = {"alternation": {"formulation": "a", "status": "b"}, "program": "last of an alternation"}
    told = "this is the last convex program (soft-margin) of a, which ended b; nothing is proven about the optimum of a"
    assert said(soft(), **part).not_proven[0] == f"{told} itself"
    assert found.gap == relative_gap(found.ends.upper, found.ends.lower, found.ends.start) == soft().verdict.gap > 0
    statement = found.statement
    assert (statement.formulation, statement.settings) == ("soft-margin", soft().header["formulation"]["settings"])
    assert statement.n == len(soft().arrays["data_weights"])
    assert statement.dim == len(soft().arrays["theta"])
    with tempfile.TemporaryDirectory() as place:
        soft().write(Path(place, "case"))
        assert check(Path(place, "case")).proven
        assert refusal(check, Path(place, "case"), 100).startswith("its arrays take")


def test_faults_outside_of_the_ends():
    case = soft().copy("digest")
    case.header["problem"]["data_sha256"] = "1" * 64
    found = said(case)
    assert not found.proven
    assert found.faults == [
        f"the data in the certificate differ: sha256 {soft().header['problem']['data_sha256']} instead of {'1' * 64}"
    ]
    assert said(soft(), oracle="x" * 30).faults == [
        f"the certificate calls its oracle {'x' * 20!r} where that of the outputs is 'exact'"
    ]
    told = "an optimum is claimed, but nothing in the certificate is to attain it"
    assert said(soft(), optimum="1").faults == [told, "the claimed optimum is not the proven one"]
    exact = next(case for case in certificates() if "fractions" in case.arrays)
    assert told not in said(exact, optimum="1").faults


def test_an_optimum_is_where_exact_ends_meet():
    found = said(soft())
    for lower, upper, arithmetic, optimum in (
        (1, 1, "rational", 1), (1, 2, "rational", None), (1, 1, "ball (96 bits)", None), (0, 0, "rational", 0),
        (INFINITE, INFINITE, "rational", None), (-INFINITE, -INFINITE, "rational", None),
    ):  # fmt: skip
        met = copy.copy(found)
        object.__setattr__(met, "ends", Ends(lower, upper, upper, 1, arithmetic))
        assert met.optimum == optimum


def test_what_rests_on_an_oracle_that_may_miss_is_conditional():
    for oracle, words in (("under", "the upper end rests on"), ("relaxed", "the lower end rests on"), ("other", None)):
        kind = type("Missing", (Multiclass,), {"name": f"missing {oracle}", "oracle": oracle})
        try:
            case = soft().copy(oracle)
            case.header["problem"]["output"], case.header["oracle"] = kind.name, oracle
            found = said(case)
        finally:
            del Structure.known[kind.name, 1]
        assert found.faults == []
        assert found.proven == (words is None)
        assert [each.startswith(words or " ") for each in found.conditional_on] == [True] * (words is not None)


def certain():
    """A likelihood of samples with one output each: F = λ/2‖θ‖², so both ends are 0 at θ = 0."""
    case = case_of("crf of structured").copy("certain")
    n, arrays = len(case.arrays["data_weights"]), case.arrays
    arrays |= {"data_owners": np.arange(n), "data_losses": np.zeros(n), "theta": np.zeros(3)}
    arrays |= {"data_data": np.ones(n), "data_indices": np.zeros(n, np.int64), "data_indptr": np.arange(n + 1)}
    case.sign()
    return case


def test_enclosures_become_as_narrow_as_the_claim_needs():
    for digits, bits in ((20, 96), (40, 192), (100, 448), (200, 1024), (310, 1024)):
        end = 10.0**-digits
        found = said(certain(), lower=-end, upper=end, gap=1e300)
        assert found.ends.arithmetic == f"ball ({bits} bits)", digits
        assert found.proven == (digits < 310)
    squared = next(case for case in certificates() if "squared" in str(case.header))
    assert said(squared).ends.arithmetic == "rational"


# ── programs and registries ───────────────────────────────────────────────────────────────────────


def test_what_a_certificate_of_cuts_must_hold():
    samples = soft().arrays["samples"]
    for name, value, told in (
        ("theta", np.zeros(3), f"it has 3 weights in theta but its problem needs {len(soft().arrays['theta'])}"),
        ("weights", -soft().arrays["weights"], "weights holds a number below 0"),
        ("samples", samples * 0 - 1, "samples holds a number that is not in 0 … "),
        ("samples", samples * 0 + said(soft()).statement.n, "samples holds a number that is not in 0 … "),
        ("samples", samples[1:], "samples has the shape"),
        ("witnesses", np.hstack([soft().arrays["witnesses"]] * 2), "witnesses has the shape"),
        ("witnesses", soft().arrays["witnesses"] * 0 - 1, "cut 0 has the witness [-1], which is no output of sample "),
    ):
        case = soft().copy(name)
        case.arrays[name] = value
        assert refusal(said, case).startswith(told), told
    case = soft().copy("a witness")
    case.arrays["witnesses"][2] = 9
    assert refusal(said, case) == f"cut 2 has the witness [9], which is no output of sample {case.arrays['samples'][2]}"
    case = case_of("soft-margin of tree").copy("wide")
    case.arrays["witnesses"][0] = 10**17
    wide, sample = str(case.arrays["witnesses"][0].tolist())[:60], case.arrays["samples"][0]
    assert refusal(said, case) == f"cut 0 has the witness {wide}, which is no output of sample {sample}"
    case = soft().copy("data")
    case.arrays["data_more"] = np.zeros(1)
    assert refusal(said, case) == "it holds an array that it should not, data_more"
    case = soft().copy("proof")
    case.header["proof"]["kind"] = "tangent"
    assert refusal(said, case) == "soft-margin is not proven by tangent but by cuts"
    case = case_of("crf of chain").copy("cuts")
    case.arrays["weights"], case.arrays["samples"] = np.ones(1), np.zeros(1, np.int64)
    case.arrays["witnesses"] = np.zeros((1, case.arrays["witnesses"].shape[1]), np.int64)
    assert refusal(said, case) == "it has cuts, which a proof by tangent does not use"


def test_settings_are_those_of_the_formulation():
    kind = type(
        "Kind",
        (),
        {"name": "kind", "settings": {"a": Setting(contracts.is_positive, 1), "b": Setting(contracts.is_positive, 1)}},
    )
    assert settled(kind, {"b": 2, "a": 1}) == {"a": 1, "b": 2}
    assert refusal(settled, kind, []) == "its settings are no object"
    assert refusal(settled, kind, {"a": 1}) == "the setting b is missing"
    assert refusal(settled, kind, {}) == "the setting a is missing"
    assert refusal(settled, kind, {"a": 1, "b": 1, "c" * 70: 1}) == f"kind has no setting {'c' * 60!r}"
    assert refusal(settled, kind, {"a": -1, "b": 1}) == "a is -1, which kind does not take"
    assert refusal(settled, kind, {"a": "x" * 70, "b": 1}) == f"a is {'x' * 60}, which kind does not take"


def test_tests_of_settings():
    number, whole = contracts.is_number(-1, 2), contracts.is_whole(-1)
    for test, yes, no in (
        (number, (-1, 2, 0.5), (-1.01, 2.01, True, "1", None, float("nan"))),
        (
            contracts.is_positive,
            (1e-100, 1e100, 1, 0.1),
            (9e-101, 1.1e100, 0, -1, True, "1", None, float("nan"), INFINITE),
        ),
        (whole, (-1, 0, (1 << 53) - 1), (-2, 1 << 53, 1.0, True, None)),
        (contracts.one_of("a", "b"), ("a", "b"), ("c", "", 1, None, ["a"])),
        (contracts.one_of_numbers(0, 1), (0, 1, 1.0), (2, True, False, "0", None)),
        (contracts.or_none(whole), (None, 3), ("3", 1.5)),
        (contracts.list_of(whole), ([], [1], [1, 2]), (None, [1, 1.5], [1.5, 1], (1, 2), {1: 1})),
    ):
        assert all(test(each) for each in yes)
        assert not any(test(each) for each in no)


def test_kinds_are_found_by_name_and_version():
    for kind, what in ((Structure, "output structure"), (Formulation, "formulation"), (Proof, "kind of proof")):
        names = sorted({name for name, _ in kind.known})
        assert all(kind.find(*key).name == key[0] for key in kind.known)
        for name, version in (("x", 1), (names[0], 3), (names[0], 1.0), (names[0], True), ([], 1), (None, 1)):
            error = unknown(kind, name, version)
            assert (error.what, error.name, error.version) == (what, name, version)
            assert str(error).endswith(", ".join(names))


def unknown(kind, name, version):
    """The error that says what is known instead."""
    try:
        kind.find(name, version)
    except Unknown as error:
        return error
    raise AssertionError(name)


def test_a_verdict_survives_the_file():
    """Nothing of the header is lost between the file and the verdict."""
    with tempfile.TemporaryDirectory() as place:
        for case in (soft(), case_of("crf of chain")):
            case.write(Path(place, "case"))
            header = json.loads(Path(place, "case.json").read_text())
            assert check(Path(place, "case")).ends == judged(*normal(header), case.arrays).ends
