"""Hostile and ambiguous model files: what two readings do not agree on is refused, and nothing is proven about it."""

from __future__ import annotations

import gzip
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.io import savemat

import workbench as wb
from workbench.backends import model_files
from workbench.command.cli import cli
from workbench.errors import BadInput, MissingCapability
from workbench.programs.files import program_in
from workbench.programs.prove import prove_program

LP = "Minimize\n obj: x + 2 y\nSubject To\n c1: x + y >= 2\nBounds\n y <= 4\nEnd\n"
MPS = """NAME t
ROWS
 N cost
 L up
 G low
 E same
COLUMNS
 x cost 1 up 1
 x low 1
 y cost 2 same 1
 y low 1
RHS
 r up 4 low 1
 r same 3
ENDATA
"""
ADDED = MPS.replace("ENDATA\n", "{}\nENDATA\n")
LP_BAD = {
    "British": (LP.replace("Minimize", "Minimise"), "'Minimise'"),
    "one word": ("hello\n", "'hello'"),
    "prose": ("Dear reader,\nhere is no program.\nEnd\n", "'Dear reader,'"),
    "nothing": ("", "empty"),
    "comments": ("\\ nothing else\n", "empty"),
    "misspelt rows": (LP.replace("Subject To", "Subjct To"), "'Subjct'"),
    "text after End": (LP + "z >= 3\n", "after End"),
    "words after End": (LP.replace("End", "End x"), "after End"),
    "two objectives": (LP.replace("Subject", "Maximize\n other: x - y\nSubject"), "another section"),
    "two labels": (LP.replace("Subject", " other: x - y\nSubject"), "'other'"),
    "no End": (LP.replace("End\n", ""), "no End"),
    "half a row": ("Minimize\n x\nSubject To\n c: x >=\nEnd\n", "missing"),
    "a term twice": (LP.replace("x + 2 y", "x - x + 2 y"), "x stands twice in the objective"),
    "a row's term twice": (LP.replace("c1: x + y", "c1: x + y + x"), "x stands twice"),
    "two numbers": (LP.replace("2 y", "2 3 y"), "no sign stands before '3'"),
    "negative upper bound": (LP.replace("y <= 4", "y <= -4"), "upper bound -4"),
    "a tiny entry": (LP.replace("c1: x", "c1: 1e-10 x"), "two ways"),
}
MPS_BAD = {
    "one word": ("hello\n", "unknown section"),
    "nothing": ("", "no ENDATA"),
    "truncated": (MPS.replace("ENDATA\n", ""), "no ENDATA"),
    "text after": (MPS + " x cost 2\n", "after ENDATA"),
    "misspelt section": (MPS.replace("RHS", "RHSS"), "unknown section RHSS"),
    "spaces in names": (MPS.replace(" x ", " x one "), "no entry of COLUMNS"),
    "an entry twice": (MPS.replace(" x low 1", " x low 1\n x up 5"), "x stands twice"),
    "no such row": (MPS.replace(" x low", " x nowhere"), "no entry of COLUMNS"),
    "two right-hand sides": (MPS.replace(" r same", " s same"), "two sets, r and s"),
    "negative upper bound": (ADDED.format("BOUNDS\n UP b x -9"), "upper bound -9"),
    "no objective": (MPS.replace(" N cost", " L cost"), "no N row"),
    "British": (MPS.replace("ROWS", "OBJSENSE\n MAXIMISE\nROWS"), "no entry of OBJSENSE"),
    "a tiny entry": (MPS.replace("x low 1", "x low 1e-10"), "two ways"),
    "not a number": (MPS.replace("x low 1", "x low nan"), "two ways"),
    "free, then bounded": (ADDED.format("BOUNDS\n FR b x\n UP b x 3"), "two ways"),
    "half a form": (ADDED.format("QMATRIX\n x x 2\n x y 1"), "QMATRIX|can read|two ways"),
}
CASES = [("lp", *case) for case in LP_BAD.items()] + [("mps", *case) for case in MPS_BAD.items()]


@pytest.mark.parametrize(("ending", "name", "case"), CASES, ids=[f"{ending} {name}" for ending, name, _ in CASES])
def test_what_is_ambiguous_is_refused(ending, name, case, tmp_path):
    text, words = case
    path = tmp_path / f"bad.{ending}"
    path.write_text(text)
    with pytest.raises(BadInput, match=words) as fault:
        program_in(path)
    assert "\n" not in str(fault.value)
    found = CliRunner().invoke(cli, ["prove", str(path)])
    assert found.exit_code == 2
    assert "The minimum" not in found.output


@pytest.mark.parametrize("section", ["General", "Generals", "Binary", "Semi-continuous"])
def test_integers_in_lp_are_refused(section, tmp_path):
    (tmp_path / "a.lp").write_text(LP.replace("End", f"{section}\n y\nEnd"))
    with pytest.raises(MissingCapability, match=f"begins the section {section}.*relax these variables"):
        program_in(tmp_path / "a.lp")


@pytest.mark.parametrize("bound", ["BV b x", "LI b x 2", "UI b x 2", "SC b x 9"])
def test_integers_in_mps_are_refused(bound, tmp_path):
    (tmp_path / "a.mps").write_text(ADDED.format(f"BOUNDS\n {bound}"))
    with pytest.raises(MissingCapability, match=f"'{bound}'.*relax these variables"):
        program_in(tmp_path / "a.mps")


def test_marked_integers_in_mps_are_refused(tmp_path):
    (tmp_path / "a.mps").write_text(MPS.replace("COLUMNS\n", "COLUMNS\n M 'MARKER' 'INTORG'\n"))
    with pytest.raises(MissingCapability, match="relax these variables"):
        program_in(tmp_path / "a.mps")


def test_a_file_with_a_fault_never_reaches_the_reader_in_native_code(tmp_path, monkeypatch):
    """This one kept HiGHS's reader for ever, deaf to Ctrl-C; the fuzzer of tests/nightly/guided.py found it."""
    monkeypatch.setattr("highspy.Highs.readModel", None)
    columns = "COLUMNS\n X COST 1 R1 1\n Y COST 2 R2 8\nRHBS\n\nOS R1 1\n"
    (tmp_path / "a.mps").write_text(f"NAME T\nROWS\n N COST\n G R0\n L R2\n{columns}BOUNDS\n UP B X 4\nEQDA\0\0")
    with pytest.raises(BadInput, match="'X COST 1 R1 1', is no entry of COLUMNS"):
        program_in(tmp_path / "a.mps")


# What both readings agree on, with optima worked out by hand.
GOOD = {
    "plain.lp": (LP, 2),
    "words.lp": ("\\ a comment\nMAX 2x + 3y\ns.t. x + y <= 2\nend\n", 6),
    "curved.lp": (
        "min\n o: - 2 x + [ 2 x ^ 2 + 2 x * y + 2 y ^ 2 ] / 2\nst\n c: x + y >= -9\nbounds\n x free\n y = 0\nend",
        -1,
    ),
    "constant.lp": ("Minimum\n o: x + 2.5e1\nSuch That\n c: x >= 1\nEnd\n", 26),
    "bounds.lp": ("min\n o: x - y - z\nst\n c: x + y + z <= 9\nbounds\n -5 <= x <= 4\n y <= 2\n 3 >= z\nend\n", -10),
    "zero.lp": ("min\n o: 0 x\nst\n c: x >= 1\nend\n", 0),
    "plain.mps": (MPS, 6),
    "constant.mps": (MPS.replace(" r same 3", " r same 3 cost -7"), 13),
    "ranges.mps": (ADDED.format("RANGES\n r up 2 low 5\n r same -1"), Fraction(4) + 2),
    "max.mps": (MPS.replace("ROWS", "OBJSENSE\n MAX\nROWS"), 10),
    "two N.mps": (MPS.replace(" N cost", " N cost\n N other").replace(" y low 1", " y low 1 other 3"), 6),
    "curved.mps": (ADDED.format("BOUNDS\n FR b x\nQUADOBJ\n x x 2\n x y 1\n y y 4"), 20),
    "spaces.mps": (
        "NAME          T\nROWS\n N  COST\n G  THE ROW\nCOLUMNS\n"
        "    THE COL   COST               3.0   THE ROW            2.0\n"
        "RHS\n    R S       THE ROW            1.0\nENDATA\n",
        Fraction(3, 2),
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_clear_is_proven(name, tmp_path):
    text, optimum = GOOD[name]
    (tmp_path / name).write_text(text)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    for path in (tmp_path / name, tmp_path / f"{name}.gz"):
        assert prove_program(*program_in(path)).optimum == optimum


@pytest.mark.parametrize("part", ["c", "A", "row_lower", "lower", "constant"])
def test_a_reader_that_errs_is_caught(part, tmp_path, monkeypatch):
    """HiGHS with one number changed: the second reading does not agree."""
    right = model_files.compare

    def wrong(path, model, facts):
        right(path, model, facts)
        return right(
            path, model._replace(**{part: getattr(model, part) * 2 + 1 if part != "A" else model.A * 2}), facts
        )

    monkeypatch.setattr(model_files, "compare", wrong)
    (tmp_path / "a.lp").write_text(LP)
    with pytest.raises(BadInput, match="two ways"):
        program_in(tmp_path / "a.lp")


HUGE = "Minimize\n obj: x + y\nSubject To\n c1: x + y >= {}\n c2: x - y <= 3\nBounds\n {} <= x <= 4\n y <= {}\nEnd\n"


@pytest.mark.parametrize(
    ("numbers", "names"),
    [
        (("1", "-9", "1e19"), None),
        (("-1e22", "-9", "5"), "c1"),
        (("1", "-1e25", "1e20"), "x, y"),
        (("1", "-inf", "inf"), None),
    ],
)
def test_bounds_that_are_too_large_to_count_are_named(numbers, names, tmp_path):
    (tmp_path / "a.lp").write_text(HUGE.format(*numbers))
    told = program_in(tmp_path / "a.lp")[0].rounded
    assert [sentence.partition(":")[0] for sentence in told] == ([f"the bound of {names}"] if names else [])


def test_bounds_that_are_too_large_to_count_are_named_in_other_formats(tmp_path):
    (tmp_path / "a.mps").write_text(ADDED.format("BOUNDS\n UP bnd x 1e21"))
    assert "the bound of x: taken as none" in program_in(tmp_path / "a.mps")[0].rounded[0]
    parts = {"P": np.eye(2), "q": np.ones((2, 1)), "r": 0.0, "A": np.eye(2)}
    savemat(tmp_path / "a.mat", parts | {"l": [[-1e20], [0.0]], "u": [[1e20], [1e25]]})
    assert program_in(tmp_path / "a.mat")[0].rounded == (
        "the bound of row 2: taken as none, as all of 1e+20 and beyond",
    )


def test_what_floats_cannot_hold_is_said(tmp_path):
    (tmp_path / "a.mps").write_text(ADDED.format("RANGES\n r low 0.2").replace("low 1\n r same", "low 0.1\n r same"))
    assert "the range of low" in program_in(tmp_path / "a.mps")[0].rounded[0]
    (tmp_path / "a.lp").write_text(LP.replace(">= 2", ">= 2.00000000000000000001"))
    assert "2.00000000000000000001: rounded to 2.0" in program_in(tmp_path / "a.lp")[0].rounded[0]
    for ordinary in (">= 0.10000000000000000000", ">= 1e-5"):
        (tmp_path / "a.lp").write_text(LP.replace(">= 2", ordinary))
        assert program_in(tmp_path / "a.lp")[0].rounded == ()


# ── arrays that a float does not hold ─────────────────────────────────────────────────────────────────

SOUND = {"P": np.eye(2), "q": np.ones(2), "A": np.ones((1, 2)), "b": np.ones(1), "cones": np.array([0, 1, 0])}
STRANGE = {
    "complex128, no real": {"q": np.array([1j, 0])},
    "datetime64": {"q": np.array(["2020-01-01", "2020-01-02"], "M8[D]")},
    "no real numbers": {"A": np.array([["a", "b"]])},
    "float64 would round": {"q": np.array([2**53 + 1, 1])},
    "q holds numbers that float64": {"q": np.array([2**63 - 1, 0])},
    "no whole number": {"cones": np.array([0, 1.9, 0])},
    "do not add up": {"cones": np.array([0, 1, 0, 0])},
    "not enough values": {"cones": np.array([1])},
    "cannot reshape": {"A": np.ones((3, 2))},
    "cannot convert float infinity": {"cones": np.array([np.inf, 0, 0])},
    "pickled objects": {"q": np.array([1, None], object)},
}


@pytest.mark.parametrize(("words", "change"), STRANGE.items(), ids=list(STRANGE))
@pytest.mark.filterwarnings("error")
def test_arrays_that_are_no_program_are_refused(words, change, tmp_path):
    np.savez(tmp_path / "p.npz", **(SOUND | change))
    with pytest.raises(BadInput, match=words):
        program_in(tmp_path / "p.npz")


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, bool])
def test_arrays_of_other_types_are_read_if_nothing_is_lost(kind, tmp_path):
    np.savez(tmp_path / "p.npz", **(SOUND | {"q": np.ones(2, kind), "A": np.ones((1, 2), kind)}))
    assert wb.prove(wb.load_program(tmp_path / "p.npz")).optimum == -1
    savemat(tmp_path / "p.mat", {"P": np.eye(1), "q": [1j], "r": 0.0, "A": np.eye(1), "l": [-1.0], "u": [1.0]})
    with pytest.raises(BadInput, match="no real numbers"):
        program_in(tmp_path / "p.mat")


def test_a_name_cannot_steer_the_terminal(tmp_path):
    x = cp.Variable()
    low = x >= 1
    low.set_label("\x1b]0;title\x07low")
    told = wb.prove(cp.Problem(cp.Minimize(x), [low, x <= 0])).statement
    assert told.isprintable()
    assert "title" in told


def test_ends_beyond_floats_are_told():
    x = cp.Variable()
    proof = wb.prove(cp.Problem(cp.Minimize(1e200 * x), [1e-200 * x >= 1e200]))
    assert proof.upper is None or proof.upper >= Fraction(10) ** 500
    assert proof.statement
    assert proof.gap >= 0
