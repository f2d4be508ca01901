"""Proofs of programs: known optima, adversarial data, forged certificates, and a second checker."""

from __future__ import annotations

import json
import os
import sys
import traceback
from fractions import Fraction
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
import second_checker
from click.testing import CliRunner
from scipy import sparse
from scipy.io import savemat

import workbench as wb
from workbench.arithmetic import matrices
from workbench.arithmetic.matrices import completed, equal, lifted, solved
from workbench.arithmetic.rationals import ratios
from workbench.command.cli import cli
from workbench.errors import BadInput, MissingCapability
from workbench.programs.certificate import ends
from workbench.programs.compiled import compiled
from workbench.programs.files import program_in
from workbench.programs.program import decimals, exact, matrix_of, program_of, stored
from workbench.programs.prove import prove_program
from workbench.proofs.checker import Malformed, check

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("CUTBENCH_DATA", "nowhere")) / "programs"


def certified(proof, folder: Path):
    """The proof after both checkers agree on its certificate."""
    path = proof.save(folder / "c")
    verdict = check(path)
    assert verdict.proven, verdict.faults
    other = second_checker.check(path.with_suffix(""))
    assert other.proven, other.reason
    assert (other.lower, other.upper) == ends(proof)
    return proof


# ── exact optima ──────────────────────────────────────────────────────────────────────────────────


def test_a_linear_program_is_a_fraction(tmp_path):
    x = cp.Variable(2)
    proof = certified(wb.prove(cp.Problem(cp.Maximize(x[0] + 2 * x[1] + 7), [3 * x[0] + x[1] <= 1, x >= 0])), tmp_path)
    assert proof.optimum == 9
    proof = wb.prove(cp.Problem(cp.Minimize(x[0] + x[1]), [3 * x[0] >= 1, 7 * x[1] >= 1]))
    assert proof.optimum == Fraction(1, 3) + Fraction(1, 7)


def test_the_reading_names_the_number():
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(x), [x >= 0.1])
    assert wb.prove(problem).optimum == Fraction(0.1)
    assert wb.prove(problem, reading="decimal").optimum == Fraction(1, 10)


def test_parameters_constants_and_fixed_and_duplicated_rows(tmp_path):
    x, price = cp.Variable(2), cp.Parameter(value=0.5)
    rows = [x[0] == 1, x[0] == 1, x[1] >= 2, x[1] >= 2, x <= np.array([np.inf, 5.0])]
    proof = certified(wb.prove(cp.Problem(cp.Minimize(price * x[0] + x[1] - 0.25), rows)), tmp_path)
    assert proof.optimum == Fraction(9, 4)
    assert proof.program.rounded == ()


def test_only_what_can_be_rounded_is_named():
    x = cp.Variable(2)
    plain = [2 * x[0] + 0.3 * x[1] >= 1, 0.3 * (x[0] + x[1]) <= 9, np.array([[0.1, 0.7]]) @ x <= 5, x / 4 >= -3]
    exact_ones = [2 * (0.3 * x[0] - 0.25) >= -9, 0.3 * cp.norm(0.1 * x) <= 8]
    assert wb.prove(cp.Problem(cp.Minimize(0.1 * x[0] + x[1]), plain + exact_ones)).program.rounded == ()
    twice = [0.3 * (0.1 * x[0]) >= 1, 0.7 * (0.1 * x[1]) >= 1, x[0] / 3 >= 1]
    told = wb.prove(cp.Problem(cp.Minimize(x[0] + x[1]), twice)).program.rounded
    assert len(told) == 3
    assert all("rounded when it is compiled" in sentence for sentence in told)


@pytest.mark.filterwarnings("error")
def test_a_program_without_variables_is_refused(tmp_path):
    np.savez(tmp_path / "none.npz", P=np.zeros((0, 0)), q=np.zeros(0), A=np.zeros((1, 0)), b=[-1.0], cones=[0, 1, 0])
    with pytest.raises(BadInput, match="no variable"):
        program_in(tmp_path / "none.npz")


def test_a_long_fraction_is_not_called_exactly_a_float():
    x = cp.Variable()
    proof = wb.prove(cp.Problem(cp.Minimize(0.3 * x), [0.7 * x >= 1e-30]))
    assert "is a fraction of" in proof.statement
    assert "exactly" not in proof.statement
    assert "is exactly 3." in wb.prove(cp.Problem(cp.Minimize(x), [x >= 3])).statement


@pytest.mark.parametrize("n", [1, 3, 6])
def test_a_quadratic_program_with_a_singular_form(n, tmp_path):
    x, rng = cp.Variable(n), np.random.default_rng(n)
    F = rng.integers(-3, 4, (2, n)).astype(float)
    rows = [x >= -1, x <= 1, cp.sum(x) == 0]
    proof = certified(wb.prove(cp.Problem(cp.Minimize(cp.sum_squares(F @ x - 1)), rows)), tmp_path)
    assert proof.optimum is not None
    answer = cp.Problem(cp.Minimize(cp.sum_squares(F @ x - 1)), rows).solve(cp.CLARABEL)
    assert float(proof.optimum) == pytest.approx(answer, abs=1e-6)


def test_a_quadratic_form_that_bends_the_wrong_way(tmp_path):
    P = np.array([[1.0, 2.0], [2.0, 1.0]])
    program = program_of(P, [0.0, 0.0], sparse.csr_array((0, 2)), np.zeros(0), 0, 0)
    assert certified(prove_program(program), tmp_path).kind == "nonconvex"
    tiny = np.array([[1.0, 1.0], [1.0, 1.0 - 2**-52]])
    program = program_of(tiny, [0.0, 0.0], sparse.csr_array((0, 2)), np.zeros(0), 0, 0)
    assert certified(prove_program(program), tmp_path).kind == "nonconvex"
    program = program_of(np.ones((2, 2)), [1.0, 1.0], sparse.csr_array((0, 2)), np.zeros(0), 0, 0)
    assert certified(prove_program(program), tmp_path).optimum == Fraction(-1, 2)


# ── why there is none ─────────────────────────────────────────────────────────────────────────────


def test_infeasible_and_unbounded(tmp_path):
    x = cp.Variable(3)
    above = wb.prove(cp.Problem(cp.Minimize(x[0]), [x[0] + x[1] >= 2, x <= 1, x[0] <= 0.5]))
    assert certified(above, tmp_path).kind == "infeasible"
    assert len(above.rows) == 3
    same = wb.prove(cp.Problem(cp.Minimize(x[0]), [x[0] == 2, x[0] == 2 + 2**-51]))
    assert certified(same, tmp_path).kind == "infeasible"
    down = wb.prove(cp.Problem(cp.Maximize(x[0] - x[1]), [x[1] >= 0, x[2] == 1]))
    assert certified(down, tmp_path).kind == "unbounded"
    bent = wb.prove(cp.Problem(cp.Minimize(cp.square(x[0]) + x[1])))
    assert certified(bent, tmp_path).kind == "unbounded"


def test_the_direction_without_end_is_told_by_the_variables_names():
    x, t = cp.Variable(2, name="x"), cp.Variable(name="t")
    proof = wb.prove(cp.Problem(cp.Minimize(cp.sum(x) - t), [x >= 0, t <= 4 * x[0], t >= 0]))
    assert proof.direction == {"t": 1.0, "x[0]": 0.25}
    assert proof.statement.endswith("along a ray of feasible points (t +1, x[0] +0.25).")
    bent = program_of(np.diag([1.0, -1.0]), [0.0, 0.0], sparse.csr_array((0, 2)), np.zeros(0), 0, 0, columns=["u", "v"])
    assert set(prove_program(bent).direction or {}) == {"v"}
    wide = cp.Variable(9, name="w")
    told = wb.prove(cp.Problem(cp.Maximize(cp.sum(wide)), [wide == wide[0], wide >= 0])).statement
    assert "w[7] +1, 1 more)" in told
    assert wb.prove(cp.Problem(cp.Minimize(t), [t >= 1])).direction is None
    one, two, M = cp.Variable(name="a"), cp.Variable(name="a"), cp.Variable((2, 2), name="M")
    same = wb.prove(cp.Problem(cp.Minimize(one - two), [one == -2 * two]))
    assert same.direction == {"a (variable 1)": -1.0, "a (variable 2)": 0.5}
    matrix = wb.prove(cp.Problem(cp.Maximize(M[0, 1]), [M[1, 0] == 0, M[0, 0] == 1, M[1, 1] == 0]))
    assert matrix.direction == {"M[0,1]": 1.0}


def test_a_maximum_needs_a_concave_objective_and_a_contradiction_no_objective(tmp_path):
    text = "Maximize\n obj: [ a^2 + b^2 ] / 2\nSubject To\n c: a + b <= {}\nBounds\n a <= 3\nEnd\n"
    for side, words in (("2", "have a solution"), ("-1", "c, the bound of a (lower), the bound of b contradict")):
        (tmp_path / "a.lp").write_text(text.format(side))
        program, reading = program_in(str(tmp_path / "a.lp"))
        proof = prove_program(program, reading)
        assert proof.kind == "nonconvex"
        assert "is not concave: it bends the wrong way" in proof.statement
        told = CliRunner().invoke(cli, ["infeasible", str(tmp_path / "a.lp")]).stdout
        assert words in told
    proof.save(tmp_path / "c")
    told = CliRunner().invoke(cli, ["verify", str(tmp_path / "c")])
    assert told.exit_code == 0
    assert "  optimum  nothing is proven about its value: the objective is not concave" in told.stdout


def test_verify_tells_names_that_the_certificate_gives_and_the_data_it_was_held_against(tmp_path):
    x = cp.Variable(2)
    budget = cp.sum(x) <= 1
    budget.set_label("budget\x1b[31m")
    wb.prove(cp.Problem(cp.Minimize(0), [budget, x >= 1])).save(tmp_path / "c")
    told = CliRunner().invoke(cli, ["verify", str(tmp_path / "c")]).stdout
    assert "  names    budget�[31m, 1.0 <= var" in told
    (tmp_path / "a.lp").write_text("Minimize\n x\nSubject To\n low: x >= 2\n high: x <= 1\nEnd\n")
    program, reading = program_in(str(tmp_path / "a.lp"))
    prove_program(program, reading).save(tmp_path / "d")
    words = ["verify", str(tmp_path / "d"), "--data", str(tmp_path / "a.lp")]
    told = CliRunner().invoke(cli, words).stdout.splitlines()
    assert told[-1].endswith(f", as in {tmp_path / 'a.lp'}")
    assert not any(line.startswith("  open") for line in told)
    named = next(line for line in told if line.startswith("  names"))
    assert "low" in named
    assert named.endswith("(those rows by the certificate, which does not prove names)")
    (tmp_path / "a.lp").write_text("Minimize\n x\nSubject To\n low: x >= 3\n high: x <= 1\nEnd\n")
    refuted = CliRunner().invoke(cli, words)
    assert refuted.exit_code == 1
    assert "as in" not in refuted.stdout
    assert "  open" not in refuted.stdout


REFUSED = {
    "the objective minimises sqrt(x[0]), which is concave": lambda x: (cp.sqrt(x[0]), [x >= 1]),
    "in sqrt(x[0]) <= 1.0, sqrt(x[0]) is concave and 1.0 is constant": lambda x: (x[0], [cp.sqrt(x[0]) <= 1]),
    "exp(sqrt(x[0])) is neither convex nor concave": lambda x: (x[1] + cp.exp(cp.sqrt(x[0])), [x <= 1]),
    "x[0] * x[1] is neither convex nor concave": lambda x: (x[0], [x[0] * x[1] <= 1]),
    "semidefinite cones (by the constraint X >> 0)": lambda x: (
        (X := cp.Variable((2, 2), name="X"))[0, 0],
        [X >> 0, X[0, 1] == 1],
    ),
    "semidefinite cones (by lambda_max(": lambda x: (cp.lambda_max(cp.bmat([[x[0], x[1]], [x[1], x[0]]])), [x >= 1]),
    "semidefinite cones (by the variable S)": lambda x: (cp.Variable((2, 2), PSD=True, name="S")[0, 0], []),
    "The objective's coefficient of x[0] is not finite": lambda x: (np.array([np.nan, 1]) @ x, [x >= 1]),
    "A coefficient of x[1] in 1.0 <= [ 1. inf] @ x is not finite": lambda x: (x[0], [np.array([1, np.inf]) @ x >= 1]),
}


@pytest.mark.parametrize("says", REFUSED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")  # NumPy's and CVXPY's on such numbers
def test_a_refusal_names_the_part_of_the_program(says):
    objective, constraints = REFUSED[says](cp.Variable(2, name="x"))
    with pytest.raises((wb.BadInput, wb.MissingCapability)) as caught:
        wb.prove(cp.Problem(cp.Minimize(objective), constraints))
    assert says in str(caught.value)


def test_verify_says_that_there_is_no_optimum(tmp_path):
    x = cp.Variable(2)
    for constraint, told in ((x[0] + x[1] >= 3, "no x satisfies the constraints"), (x[0] == 1, "without end along")):
        path = wb.prove(cp.Problem(cp.Minimize(x[1]), [constraint, x <= 1])).save(tmp_path / "c")
        done = CliRunner().invoke(cli, ["verify", str(path)])
        assert done.exit_code == 0
        line = next(line for line in done.stdout.splitlines() if line.startswith("  optimum"))
        assert line.startswith("  optimum  none: ")
        assert told in line
        assert "unknown" not in done.stdout


def test_the_conflict_is_told_by_name():
    x, y = cp.Variable(2, name="x"), cp.Variable(name="y")
    budget = cp.sum(x) <= 1
    budget.set_label("budget")
    conflict = wb.infeasible(cp.Problem(cp.Minimize(y), [x >= 1, budget, y >= cp.norm(x), x[0] <= 5]))
    assert conflict.names == ["1.0 <= x", "budget"]
    assert conflict.irreducible
    assert conflict.changes == {"budget": 1} or conflict.changes == {"1.0 <= x": 1}
    ball, far = cp.norm(x) <= 1, x[0] >= 2
    conflict = wb.infeasible(cp.Problem(cp.Minimize(0), [x[1] <= 3, ball, far]))
    assert conflict.constraints == [ball, far]
    assert conflict.irreducible
    assert wb.infeasible(cp.Problem(cp.Minimize(y), [y >= 1])) is None


def test_each_member_of_a_conflict_is_necessary():
    rng, x = np.random.default_rng(3), cp.Variable(4)
    rows = [rng.integers(-4, 5, 4).astype(float) @ x >= float(rng.integers(0, 4)) for _ in range(14)]
    conflict = wb.infeasible(cp.Problem(cp.Minimize(cp.sum(x)), [*rows, x <= 0.25, x >= 0]))
    assert conflict.irreducible
    for left_out in conflict.constraints:
        rest = [each for each in conflict.constraints if each is not left_out]
        assert cp.Problem(cp.Minimize(0), rest).solve(cp.CLARABEL) == pytest.approx(0)


# ── proven ends ───────────────────────────────────────────────────────────────────────────────────


def test_cones_get_ends_that_both_checkers_prove(tmp_path):
    x, t = cp.Variable(3), cp.Variable(nonneg=True)
    rows = [cp.norm(x, 2) <= t, cp.sum(x) == 1, cp.log_sum_exp(x) <= 3]
    proof = certified(wb.prove(cp.Problem(cp.Maximize(-cp.sum_squares(x) + 2 - t), rows)), tmp_path)
    assert proof.kind == "bounded"
    assert proof.lower <= Fraction(2) - Fraction(1, 3) - Fraction(1, 3) ** Fraction(1, 2) <= proof.upper
    assert proof.width < 1e-7


def test_families_known_by_construction():
    from workbench.registries import registry

    *_, record = registry("benchmark").get("program-families")(instances=3, seed=11)
    assert record["false"] == record["wide"] == 0
    assert record["instances"] == 39


def test_degenerate_cones_end_honestly(tmp_path):
    x = cp.Variable(2)
    proof = wb.prove(cp.Problem(cp.Minimize(x[0]), [cp.norm(x) <= x[1]]))
    assert proof.kind in ("bounded", "unknown")
    assert proof.lower is None or proof.lower <= 0
    assert proof.upper is None or proof.upper >= 0
    assert proof.remark


# ── data at the edge ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e9, 1e300])
def test_tiny_and_huge_coefficients(size, tmp_path):
    A = np.array([[-size, 0.0], [0.0, -1.0]])
    program = program_of(None, [size, 1.0], A, np.array([-size, -1.0]), 0, 2)
    proof = prove_program(program)
    if proof.kind != "unknown":
        certified(proof, tmp_path)
    if proof.lower is not None:
        assert proof.lower <= Fraction(size) + 1
    if proof.upper is not None:
        assert proof.upper >= Fraction(size) + 1


def test_a_form_outside_of_the_objective_is_named_and_cones_are_taken():
    """CVXPY drops the eigenvalue 1e-12 of the first form, whose optimum is 1e6; the statement says so."""
    x, t = cp.Variable(2), cp.Variable()
    form = cp.quad_form(x, np.array([[1.0, 0.0], [0.0, 1e-12]]))
    [told] = wb.prove(cp.Problem(cp.Maximize(x[1]), [form <= 1, x[1] <= 1e9])).program.rounded
    assert "drops eigenvalues" in told
    assert wb.prove(cp.Problem(cp.Minimize(cp.quad_form(x, np.eye(2)) + x[0]))).program.rounded == ()
    proof = wb.prove(cp.Problem(cp.Minimize(t), [cp.SOC(t, x), x == [3, 4]]))
    assert proof.lower <= 5 <= proof.upper
    assert proof.program.rounded == ()


def test_what_is_refused_in_one_sentence():
    x, k, price = cp.Variable(2), cp.Variable(integer=True, name="k"), cp.Parameter(name="price")
    M = cp.Variable((2, 2), PSD=True)
    cases = {
        "is integer or boolean": cp.Problem(cp.Minimize(k)),
        "price has no value": cp.Problem(cp.Minimize(price * x[0])),
        "not convex": cp.Problem(cp.Maximize(cp.sum_squares(x))),
        "semidefinite": cp.Problem(cp.Minimize(cp.trace(M)), [M >> np.eye(2)]),
        "finite number": cp.Problem(cp.Minimize(x[0]), [x >= np.nan]),
        "no variable": cp.Problem(cp.Minimize(5)),
        "attribute symmetric": cp.Problem(cp.Minimize((S := cp.Variable((2, 2), symmetric=True))[0, 1]), [S >= 1]),
        "stands among real": cp.Problem(cp.Minimize(cp.imag(x)[0])),
        "attribute sparsity": cp.Problem(cp.Minimize(cp.sum(cp.Variable((3, 3), sparsity=[(0, 1), (1, 2)])))),
        "indefinite": cp.Problem(cp.Minimize(0), [cp.quad_form(x, np.diag([1.0, -1.0]), assume_PSD=True) <= 1]),
        "attribute complex": cp.Problem(cp.Minimize(cp.abs(c := cp.Variable(complex=True))), [c == 1 + 1j]),
    }
    for words, problem in cases.items():
        with pytest.raises((BadInput, MissingCapability), match=words) as told:
            wb.prove(problem)
        assert str(told.value).count("\n") == 0
    with pytest.raises(BadInput, match="reading"):
        wb.prove(cp.Problem(cp.Minimize(x[0]), [x >= 0]), reading="octal")
    for bad in (np.nan, np.inf):
        with pytest.raises(BadInput, match="finite"):
            program_of(None, [bad], np.eye(1), np.zeros(1), 0, 1)


def test_rows_find_their_constraints():
    x, t = cp.Variable(3, name="x"), cp.Variable()
    constraints = [cp.norm(x) <= t, cp.sum(x) == 1, x >= 0, cp.log_sum_exp(x) <= 3]
    found = compiled(cp.Problem(cp.Minimize(t), constraints))
    assert set(found.owners.tolist()) == {-1, 0, 1, 2, 3}
    assert [found.program.rows[k] for k in np.flatnonzero(found.owners == 2)] == ["0.0 <= x"] * 3


@pytest.mark.parametrize("attributes", [{}, {"nonneg": True}, {"bounds": [-3, np.array([9.0, 8.0, np.inf])]}])
def test_proving_leaves_a_problem_as_it_was(attributes):
    """CVXPY notes in its reductions which variables it replaced; the same problem is compiled and solved again."""
    y, price = cp.Variable(3, name="y", **attributes), cp.Parameter(3, nonneg=True, value=[1, 2, 3])
    problem = cp.Problem(cp.Minimize(price @ y), [cp.sum(y) >= 2, y >= 0])
    for value in ([1, 2, 3], [3, 2, 1]):
        price.value = value
        first, second = compiled(problem), compiled(problem)
        assert [first.program.columns[k] for k in range(3)] == ["y[0]", "y[1]", "y[2]"]
        assert first.columns == second.columns
        proof = wb.prove(problem)
        assert proof.optimum == 2
        second.assign(problem, proof.x)
        assert price.value @ y.value == 2
        assert problem.solve(cp.CLARABEL) == pytest.approx(2)
        assert wb.crosscheck(y.value, problem).verdict == "agrees"


def test_numbers_beyond_the_range_of_the_simplex_method():
    x = cp.Variable(2)
    tiny = cp.Problem(cp.Minimize(cp.sum(x)), [1e-12 * x >= np.array([1e-24, 3e-12]), 1e-11 * x[0] <= 1e12])
    assert wb.prove(tiny, reading="decimal").optimum == Fraction(1, 10**12) + 3
    huge = cp.Problem(cp.Maximize(1e-30 * x[0] - x[1]), [1e30 * x[0] <= 1, x[1] >= 1e-20, 1e25 * x[1] >= 1])
    assert wb.prove(huge, reading="decimal").optimum == Fraction(1, 10**60) - Fraction(1, 10**20)
    none = cp.Problem(cp.Minimize(x[0]), [1e-12 * x[0] >= 1e-24, 1e-11 * x[0] <= -1e12])
    assert wb.prove(none).kind == "infeasible"
    assert wb.infeasible(none).irreducible


# ── forgeries ─────────────────────────────────────────────────────────────────────────────────────


def forged(path: Path, change) -> bool:
    """Whether the checker accepts the certificate after a change of its header and arrays."""
    header = json.loads(path.read_text())
    with np.load(path.with_suffix(".npz")) as archive:
        arrays = {name: archive[name] for name in archive.files}
    change(header, arrays)
    other = path.with_name("forged.json")
    other.write_text(json.dumps(header))
    np.savez(other.with_suffix(".npz"), **arrays)
    try:
        return check(other).proven
    except Malformed:
        return False


def moved(name: str):
    def change(header, arrays):
        lines = bytes(arrays[name]).decode().splitlines()
        lines[1] = f"{int(lines[1], 16) + 1:x}"
        arrays[name] = np.frombuffer("\n".join(lines).encode(), np.uint8)

    return change


def test_forged_certificates_are_refused(tmp_path):
    x = cp.Variable(3)
    best = wb.prove(cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [cp.sum(x) <= 1, x[0] == 0])).save(tmp_path / "a")
    assert forged(best, lambda header, arrays: None)
    for name in "xy":
        assert not forged(best, moved(name))
    none = wb.prove(cp.Problem(cp.Minimize(x[0]), [x[0] >= 1, x[0] <= 0])).save(tmp_path / "b")
    assert not forged(none, moved("y"))
    ray = wb.prove(cp.Problem(cp.Minimize(x[0]), [x[1] >= 1])).save(tmp_path / "c")

    def concluded(word, **ends):
        def change(header, arrays):
            header["formulation"]["settings"]["conclusion"] = word
            header.update(ends)
            header.pop("optimum", None)

        return change

    nothing, below = {"lower": np.inf, "upper": np.inf, "gap": np.inf}, {"lower": -np.inf, "upper": -np.inf}
    assert not forged(ray, concluded("infeasible", **nothing))
    assert not forged(best, concluded("infeasible", **nothing))
    assert not forged(best, concluded("unbounded", **below, gap=np.inf))
    assert not forged(best, concluded("nonconvex"))
    assert not forged(best, lambda header, arrays: header.update(lower=header["upper"] + 1))
    assert not forged(best, lambda header, arrays: header["formulation"]["settings"].update(sense="maximise"))

    def curved_away(header, arrays):
        arrays["data_P_data"] = -arrays["data_P_data"]

    assert not forged(best, curved_away)


# ── files and the command ─────────────────────────────────────────────────────────────────────────


MPS = """NAME TOY
OBJSENSE
    MAX
ROWS
 N  COST
 L  BUDGET
 G  FLOOR
COLUMNS
    X  COST  1.5  BUDGET  1.0
    Y  COST  1.0  BUDGET  1.0
    Y  FLOOR  1.0
RHS
    R  BUDGET  4.1  FLOOR  0.1
BOUNDS
 UP B  X  3.0
ENDATA
"""


def test_files_of_every_format(tmp_path, monkeypatch):
    (tmp_path / "toy.mps").write_text(MPS)
    program, reading = program_in(tmp_path / "toy.mps")
    assert reading == "decimal"
    assert prove_program(program, reading).optimum == Fraction(56, 10)
    empty = sparse.csc_array((2, 2))
    savemat(
        tmp_path / "toy.mat",
        {"P": sparse.csc_matrix(np.eye(2)), "q": [[-1.0], [0.0]], "r": 2.0, "A": sparse.csc_matrix(np.eye(2))}
        | {"l": [[-1e20], [1.0]], "u": [[0.5], [1e20]]},
    )
    program, reading = program_in(tmp_path / "toy.mat")
    assert prove_program(program, reading).optimum == Fraction(17, 8)
    parts = {"P_data": empty.data, "P_indices": empty.indices, "P_indptr": empty.indptr, "q": np.array([1.0, 0.0])}
    np.savez(tmp_path / "toy.npz", **parts, A=-np.eye(2), b=-np.array([1.0, 2.0]), cones=[0, 2, 0])
    assert prove_program(program_in(tmp_path / "toy.npz")[0]).optimum == 1
    text = (
        "import cvxpy as cp\ndef program():\n    x = cp.Variable()\n    return cp.Problem(cp.Minimize(x), [x >= 3])\n"
    )
    (tmp_path / "toy.py").write_text(text)
    assert wb.prove(program_in(tmp_path / "toy.py")[0]).optimum == 3
    (tmp_path / "from_toy.py").write_text("import toy\ndef program():\n    return toy.program()\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    proof = wb.prove(program_in(tmp_path / "from_toy.py")[0])
    assert proof.optimum == 3
    assert proof.rounded == proof.program.rounded
    for name, words in {"none.mps": "exist", "bad.npz": "no .npz", "bad.mat": "no .mat", "bad.txt": "ending"}.items():
        if name.startswith("bad"):
            (tmp_path / name).write_bytes(b"nothing")
        with pytest.raises(BadInput, match=words):
            program_in(tmp_path / name)


PYTHON = {
    "import cvxpy as cp\ndef program():\n    x = cp.Variable(3)\n    raise ValueError('shapes (3,), (2,).')\n": (
        "own.py line 4 fails with ValueError: shapes (3,), (2,); correct it."
    ),
    "def program():\n    return inner()\ndef inner():\n    raise KeyError('a')\n": "own.py line 4 fails with KeyError",
    "import cvxpy as cp\n\ndef program(:\n": "own.py line 3 fails with SyntaxError: invalid syntax; correct it.",
    "def program(n):\n    return n\n": "own.py fails with TypeError: program() missing 1",
    "raise RuntimeError\n": "own.py line 1 fails with RuntimeError; correct it.",
    "import cvxpy as cp\nfrom math import sqrt\nplan = cp.Problem(cp.Minimize(cp.Variable()))\ndef build(): pass\n": (
        "own.py defines build(), the Problem plan and no program(); give it a function program()"
    ),
    "a = 3\n": "own.py defines no function; give it a function program() that returns a cp.Problem.",
    "program = 3\n": "own.py calls an int `program`; give it a function",
    "def a(): pass\nb = c = d = e = f = a\n": "defines a(), b(), c(), d(), 2 more and no program()",
}


@pytest.mark.parametrize("text", PYTHON)
def test_a_fault_in_a_python_file_is_told_with_its_line(text, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(BadInput) as error:
        program_in(tmp_path / "own.py")
    assert PYTHON[text] in str(error.value)
    assert str(error.value).startswith(str(tmp_path))


def test_the_frames_of_a_users_file_stay_with_the_error(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "own.py").write_text("def program():\n    return 1 / 0\n")
    with pytest.raises(BadInput) as error:
        program_in(tmp_path / "own.py")
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    shown = "".join(traceback.format_exception(error.value))
    assert f'File "{tmp_path / "own.py"}", line 2, in program' in shown


def test_a_path_in_the_place_of_a_problem_is_told_the_command():
    for path in ("portfolio.py", Path("portfolio.py")):
        with pytest.raises(BadInput, match=r"not a path; for a file, run `cutbench prove portfolio.py`"):
            wb.prove(path)


def test_verify_tells_what_is_no_certificate(tmp_path, monkeypatch):
    def refused(word):
        found = CliRunner().invoke(cli, ["verify", word])
        assert found.exit_code == 2
        return found.stderr

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("own.py").write_text(
        "import cvxpy as cp\ndef program():\n    x = cp.Variable()\n    return cp.Problem(cp.Minimize(x), [x >= 3])\n"
    )
    Path("toy.mps").write_text(MPS)
    Path("learn.py").write_text("def problem():\n    pass\n")
    assert CliRunner().invoke(cli, ["prove", "own.py", "--out", "mine"]).exit_code == 0
    monkeypatch.chdir(tmp_path / "mine")
    assert CliRunner().invoke(cli, ["verify", "."]).exit_code == 0
    monkeypatch.chdir(tmp_path)
    for name in ("own.py", "toy.mps"):
        assert f"{name} is a program and no certificate; `cutbench prove {name} --out DIR` writes one." in refused(name)
    assert "`cutbench solve learn.py soft-margin` makes one" in refused("learn.py")
    for word in ("mine/prove.json", "mine/prove"):
        told = "mine/prove.json is a record of `cutbench prove` and no certificate; verify mine/certificate.json."
        assert told in refused(word)
    for word in ("nothere", "nothere.py", "no/such/folder"):
        assert f"There is no file or folder {word};" in refused(word)
    Path("mine/certificate.json").unlink()
    assert "names none that is here" in refused("mine/prove.json")
    assert CliRunner().invoke(cli, ["prove", "own.py", "--out", "mine", "--overwrite"]).exit_code == 0
    Path("mine/certificate.json").write_text("{}")
    told = CliRunner().invoke(cli, ["prove", "own.py", "--out", "mine", "--overwrite"]).stderr
    assert "mine/certificate.json exists and is no certificate of ours" in told
    Path("half.json").write_text("{")
    assert "half.json is not a readable certificate" in refused("half.json")


def test_the_commands_say_what_they_read_and_wrote(tmp_path):
    from click.testing import CliRunner

    from workbench.command.cli import cli

    def run(*words):
        return CliRunner().invoke(cli, [str(word) for word in words])

    (tmp_path / "toy.mps").write_text(MPS)
    (tmp_path / "other.mps").write_text(MPS.replace("3.0\nENDATA", "4.0\nENDATA"))
    least = MPS.replace("OBJSENSE\n    MAX\n", "").replace("COST  1", "COST  -1")  # the same arrays
    (tmp_path / "least.mps").write_text(least)
    found = run("prove", tmp_path / "toy.mps")
    assert "2 variables, 5 rows" in found.stdout
    assert "nothing was written" in found.stdout
    assert json.loads(run("prove", tmp_path / "toy.mps", "--json").stdout)["sizes"]["variables"] == 2
    assert json.loads(run("infeasible", tmp_path / "toy.mps", "--json").stdout)["sizes"]["rows"] == 5
    found = run("prove", tmp_path / "toy.mps", "--out", tmp_path / "out")
    assert "check it: cutbench verify" in found.stdout
    found = run("verify", tmp_path / "out", "--data", tmp_path / "toy.mps")
    assert found.exit_code == 0
    assert "5 rows; 2 variables" in found.stdout
    assert "--data" not in found.stdout
    for name, words in {
        "other.mps": "differ",
        "least.mps": "sense is 'maximise' in the certificate, not 'minimise'",
    }.items():
        found = run("verify", tmp_path / "out", "--data", tmp_path / name)
        assert found.exit_code == 1
        assert words in found.stdout
    (tmp_path / "crash.py").write_text("def program():\n    return 3\n")
    assert "returns int; return a cp.Problem" in run("prove", tmp_path / "crash.py").stderr
    assert "use cutbench prove" in run("solve", tmp_path / "crash.py", "soft-margin").stderr


def test_the_command_prints_one_object(tmp_path):
    from click.testing import CliRunner

    from workbench.command.cli import cli

    (tmp_path / "toy.mps").write_text(MPS)
    found = CliRunner().invoke(cli, ["prove", str(tmp_path / "toy.mps"), "--json", "--out", str(tmp_path / "out")])
    told = json.loads(found.stdout)
    assert found.exit_code == 0
    assert told["kind"] == "optimal"
    assert told["optimum"] == "28/5"
    assert told["proven"] is True
    assert told["conditional_on"] == []
    assert check(told["certificate"]).optimum == Fraction(28, 5)
    found = CliRunner().invoke(cli, ["prove", str(tmp_path / "toy.mps"), "--json", "--backend", "all"])
    errors = [row["error"] for row in json.loads(found.stdout)["rows"] if row["error"] is not None]
    assert len(errors) > 3
    assert max(errors) < 1e-2
    (tmp_path / "toy.mps").write_text(MPS.replace("FLOOR  0.1", "FLOOR  9.0"))
    found = CliRunner().invoke(cli, ["infeasible", str(tmp_path / "toy.mps"), "--json"])
    assert found.exit_code == 0
    assert json.loads(found.stdout)["because"] == ["BUDGET", "FLOOR", "the bound of X (lower)"]
    (tmp_path / "toy.py").write_text("program = 3\n")
    found = CliRunner().invoke(cli, ["prove", str(tmp_path / "toy.py")])
    assert found.exit_code == 2
    assert found.stderr.count("\n") == 1


# ── systems ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n", [1, 4, 30])
def test_three_ways_to_solve_agree(n, monkeypatch):
    rng = np.random.default_rng(n)
    B = matrix_of(sparse.csc_array(rng.integers(-9, 10, (n, n)) / 10 + 3 * np.eye(n)), decimals)
    right = decimals(np.round(rng.normal(size=n), 2))
    z = solved(B, right)
    monkeypatch.setattr(matrices, "FLINT", False)
    assert equal(z, lifted(B, right))
    monkeypatch.setattr(matrices, "FLINT", True)
    pytest.importorskip("flint")
    assert equal(z, lifted(B, right))


def test_systems_beyond_floats_and_of_lower_rank():
    rng = np.random.default_rng(0)
    wild = rng.normal(size=(6, 6)) * 10.0 ** rng.integers(-290, 290, (6, 6))
    B, right = matrix_of(sparse.csc_array(wild), stored), ratios(np.ones(6))
    assert equal(B @ solved(B, right), right)
    low = rng.integers(-3, 4, (20, 8)).astype(float) @ rng.integers(-3, 4, (8, 30))
    B, x = matrix_of(sparse.csc_array(low), stored), rng.normal(size=30)
    right = B @ ratios(x)
    z = completed(B, right, x + 1e-9)
    assert equal(B @ z, right)
    assert completed(B, right + ratios(np.eye(20)[0]), x) is None


def test_decimals_are_what_python_prints():
    values = np.array([0.1, -2.5e-300, 1e300, 0.0, 123456.789, 5e-324])
    found = decimals(values).fractions()
    assert [str(Fraction(repr(v))) for v in values.tolist()] == [str(f) for f in found]


# ── programs that nobody here wrote ───────────────────────────────────────────────────────────────


LONG = {"QFORPLAN", "QISRAEL", "QGROW7", "CVXQP1_S", "CVXQP3_S", "bnl1", "DUAL1", "DUAL4", "PRIMAL1", "mondou2"}
FILES = sorted(path for path in DATA.glob("*/*.*") if path.name.split(".")[0] not in LONG)


@pytest.mark.skipif(not DATA.is_dir(), reason="CUTBENCH_DATA names no folder with `programs`")
def test_two_checkers_agree_on_the_collections(tmp_path):
    """As decimals; benchmarks/programs.py has the long ones and the floats."""
    kinds = {path: certified(prove_program(program_in(path)[0], "decimal"), tmp_path).kind for path in FILES}
    for path, kind in kinds.items():
        expected = {"lp": "optimal", "qp": "optimal", "infeasible": "infeasible"}[path.parent.name]
        assert kind == ("nonconvex" if path.name == "VALUES.mat" else expected), path.name


@pytest.mark.skipif(not DATA.is_dir(), reason="CUTBENCH_DATA names no folder with `programs`")
@pytest.mark.parametrize(
    ("name", "optimum"),
    [
        *(("lp/afiro.mps.gz", "-406659/875"), ("lp/degen2.mps.gz", "-717589/500"), ("qp/HS268.mat", "0")),
        *(("qp/HS35.mat", "1/9"), ("qp/VALUES.mat", None), ("infeasible/woodinfe.mps.gz", None)),
    ],
)
def test_collections(name, optimum, tmp_path):
    program, reading = program_in(DATA / name)
    proof = certified(prove_program(program, reading), tmp_path)
    assert proof.optimum == (None if optimum is None else Fraction(optimum))
    assert proof.kind == ("optimal" if optimum else "nonconvex" if "VALUES" in name else "infeasible")
    assert exact(program, reading).shape == program.cone.A.shape


# ── values at hand ────────────────────────────────────────────────────────────────────────────────


def quadratic(rng, n=6, m=10):
    """A strictly convex program of whole numbers."""
    x, F = cp.Variable(n), rng.integers(-3, 4, (n, n)).astype(float)
    A, b = rng.integers(-4, 5, (m, n)).astype(float), rng.integers(0, 6, m).astype(float)
    value = cp.quad_form(x, F.T @ F + np.eye(n)) + rng.integers(-9, 10, n).astype(float) @ x
    return cp.Problem(cp.Minimize(value), [A @ x <= b, cp.sum(x) == 1]), x


@pytest.mark.parametrize("backend", ["CLARABEL", "OSQP", "SCS"])
def test_values_of_a_solve_are_a_start_and_suffice_alone(backend, monkeypatch):
    for seed in range(4):
        problem, x = quadratic(np.random.default_rng(seed))
        proof = wb.prove(problem)
        assert proof.optimum is not None
        problem.solve(solver=backend)
        before, loose = x.value.copy(), wb.prove(problem)
        assert (loose.kind, loose.optimum) == ("optimal", proof.optimum)
        assert np.array_equal(x.value, before)
        if backend == "CLARABEL":
            with monkeypatch.context() as alone:
                alone.setattr("workbench.programs.ladder.answers", lambda *_, **__: iter(()))
                assert wb.prove(problem).optimum == proof.optimum
                assert wb.prove(problem).backend == "the values at hand"


def test_wrong_values_at_hand_are_not_believed():
    rng = np.random.default_rng(7)
    problem, x = quadratic(rng)
    optimum = wb.prove(problem).optimum
    for value in (np.zeros(6), rng.normal(size=6) * 1e6, np.full(6, 1e300), np.full(6, np.nan), np.full(6, np.inf)):
        x.save_value(value)
        for constraint in problem.constraints:
            constraint.dual_variables[0].save_value(rng.normal(size=constraint.shape) * 1e3)
        assert wb.prove(problem).optimum == optimum
    y = cp.Variable(3)
    linear = cp.Problem(cp.Minimize(cp.sum(y)), [y >= 0.1, cp.sum(y) >= 1])
    for value in (np.zeros(3), np.ones(3), np.array([0.1, 0.1, 0.8]), np.full(3, -5.0)):
        y.value = value
        assert wb.prove(linear).optimum == 1
    above = cp.Problem(cp.Minimize(y[0]), [y[0] >= 2, y[0] <= 1])
    assert wb.prove(above).kind == "infeasible"
    assert wb.prove(cp.Problem(cp.Minimize(y[0]), [y[1] >= 2])).kind == "unbounded"
