"""Each backend against the optimality conditions, written out here, not shared with the code under test."""

import importlib
import shutil
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from workbench.backends import BACKENDS, Answer, ConeProgram, backend, solve_cvxpy, supports
from workbench.backends.registry import ADAPTERS, found
from workbench.errors import BackendFailed, BadInput, CutbenchError, MissingCapability, UnknownName
from workbench.registries import Registry

pytestmark = pytest.mark.filterwarnings("error")

ROOT = Path(__file__).resolve().parents[2]
TIGHT = 1e-10
GIVES_RAY = {name for name, each in BACKENDS.items() if each.rays}
CLAIMS_INFEASIBLE = GIVES_RAY | {"DAQP"}  # whose exit flag says so, without a ray
if BACKENDS["PIQP"].installed and tuple(map(int, BACKENDS["PIQP"].version.split(".")[:2])) >= (0, 7):
    CLAIMS_INFEASIBLE |= {"PIQP"}  # before, it stopped at its iteration limit instead
CURVED_CONES = {name for name, each in BACKENDS.items() if each.cones >= {"soc", "exp"}}
UNAVAILABLE = {"ECOS": (sys.version_info >= (3, 13), "ECOS has no wheel for Python 3.13")}


def names(wanted=BACKENDS):
    marks = {name: pytest.mark.skipif(absent, reason=why) for name, (absent, why) in UNAVAILABLE.items()}
    chosen = [pytest.param(name, marks=marks.get(name, ())) for name in BACKENDS if name in wanted]
    return pytest.mark.parametrize("name", chosen)


def random_program(seed, dense=True, lower_zero=False, n=12, zero=3, nonneg=10):
    """Strictly convex and feasible, with some rows active."""
    rng = np.random.default_rng(seed)
    root, A, inside = rng.normal(size=(n, n)), rng.normal(size=(zero + nonneg, n)), rng.uniform(0, 1, n)
    slack = np.append(np.zeros(zero), rng.uniform(0, 1, nonneg) * (rng.random(nonneg) < 0.7))
    P, q, b = root @ root.T + 0.1 * np.eye(n), 3 * rng.normal(size=n), A @ inside + slack
    if not dense:
        P, A = sparse.csc_array(P), sparse.csc_array(A)
    return ConeProgram(P, q, A, b, zero, nonneg, lower_zero=lower_zero)


def residual(program, answer):
    """The worst violation of Px + q + Aᵀz = s, b − Ax ∈ K, z ∈ K*, z ⊥ b − Ax, s ⊥ x (s = 0 if x is free)."""
    x, z, zero, linear = answer.x, answer.z, program.zero, program.zero + program.nonneg
    gradient, slack = program.P @ x + program.q + program.A.T @ z, program.b - program.A @ x
    worst = [np.abs(slack[:zero]), -slack[zero:linear], -z[zero:linear], np.abs(z[:linear] * slack[:linear])]
    worst += [-gradient, -x, np.abs(x * gradient)] if program.lower_zero else [np.abs(gradient)]
    start = linear
    for size in program.soc:
        for v in (slack[start : start + size], z[start : start + size]):
            worst.append([np.linalg.norm(v[1:]) - v[0]])
        worst.append([abs(z[start : start + size] @ slack[start : start + size])])
        start += size
    return max(np.max(part, initial=0) for part in worst)


@names()
def test_installed_here(name):
    assert BACKENDS[name].installed, f"pip install {BACKENDS[name].package}"
    assert BACKENDS[name].version[0].isdigit()
    assert backend(name.lower()) is BACKENDS[name]


@names()
@pytest.mark.parametrize("lower_zero", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_optimality_conditions(name, dense, lower_zero):
    for seed in range(5):
        program = random_program(seed, dense, lower_zero)
        answer = backend(name).solve(program, TIGHT, time_limit=20)
        assert residual(program, answer) < BACKENDS[name].delivers, (seed, answer.status)
        assert answer.z[program.zero :].min() >= 0
        assert not answer.infeasible
        assert answer.iterations >= 0


@names()
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_singular_gram_matrix(name, scale):
    """The shape of a dual master: three simplices, more cuts than rank."""
    rng = np.random.default_rng(4)
    features = rng.normal(size=(30, 8)) * np.sqrt(scale)
    groups = np.kron(np.eye(3), np.ones((1, 10)))
    P, q = features @ features.T, rng.normal(size=30)
    program = ConeProgram(P, q, groups, np.ones(3), 3, 0, lower_zero=True)
    answer = backend(name).solve(program, TIGHT)
    assert residual(program, answer) < BACKENDS[name].delivers * max(scale, 1)


@names()
def test_linear_program(name):
    """max x₀ + 2x₁ over x₀ + x₁ ≤ 1, x ≥ 0, with 64-bit indices as CVXPY makes them."""
    A = sparse.csc_array(np.ones((1, 2)))
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    P, q = sparse.csc_array((2, 2)), np.array([-1.0, -2.0])
    program = ConeProgram(P, q, A, np.ones(1), 0, 1, lower_zero=True)
    answer = backend(name).solve(program, TIGHT)
    assert answer.x == pytest.approx([0, 1], abs=1e-7)
    assert answer.z == pytest.approx([2], abs=1e-7)


@names()
def test_diagonal_quadratic_in_sparse_form(name):
    """The projection of (3, −1) onto x ≥ 0, x₀ ≤ 1 with a third variable that the objective ignores."""
    P = sparse.diags_array([1.0, 1.0, 0.0], format="csc")
    rows = sparse.csc_array([[1.0, 0, 0], [0, 0, 1.0]])
    program = ConeProgram(P, np.array([-3.0, 1, 1]), rows, np.array([1.0, 4]), 0, 2, lower_zero=True)
    answer = backend(name).solve(program, TIGHT)
    assert answer.x == pytest.approx([1, 0, 0], abs=1e-5)
    assert answer.z == pytest.approx([2, 0], abs=1e-5)


@names()
def test_asking_for_more_than_doubles_hold_does_no_harm(name):
    """At 1e-12 CLARABEL stalled on two of the first sixty and returned an answer wrong by 5e-3."""
    for seed in (3, 23):
        program = random_program(seed, dense=False)
        assert residual(program, backend(name).solve(program, 1e-12)) < BACKENDS[name].delivers


@names()
def test_infeasible_with_a_farkas_ray(name):
    for seed in range(5):
        program = random_program(seed, zero=0, nonneg=10)
        against = np.arange(1.0, 11.0)  # this combination of the rows reads 0·x ≤ −1
        rows = np.vstack([program.A, -against @ program.A])
        program = replace(program, A=rows, b=np.append(program.b, -against @ program.b - 1), nonneg=11)
        answer = backend(name).solve(program, TIGHT)
        assert answer.infeasible == (name in CLAIMS_INFEASIBLE), answer.status
        if name in GIVES_RAY:
            assert np.abs(program.A.T @ answer.z).max() < 1e-6
            assert program.b @ answer.z < -1e-3
            assert answer.z.min() >= 0
            assert answer.z.max() == pytest.approx(1)
        if answer.infeasible:
            assert np.isnan(answer.x).all()


@names(CURVED_CONES)
@pytest.mark.parametrize("quadratic", [False, True])
def test_second_order_cones(name, quadratic):
    """min ½‖x‖² − pᵀx (or −pᵀx) over ‖x‖ ≤ 1 and ‖x‖ ≤ 2: x = p/‖p‖."""
    p = np.array([1.0, -2.0, 2.0])
    ball = np.vstack([np.zeros(3), -np.eye(3)])
    A, b = np.vstack([ball, ball]), np.array([1.0, 0, 0, 0, 2, 0, 0, 0])
    program = ConeProgram(np.eye(3) * quadratic, -p, A, b, 0, 0, soc=(4, 4))
    answer = backend(name).solve(program, TIGHT)
    assert answer.x == pytest.approx(p / 3, abs=1e-6)
    assert answer.z == pytest.approx(np.append((3 - quadratic) * np.append(1, -p / 3), np.zeros(4)), abs=1e-5)
    assert residual(program, answer) < 1e-5


@names(CURVED_CONES)
def test_all_cones_at_once(name):
    """min log Σ exp(u) − pᵀu + ½‖w‖² − cᵀw over Σu = 0, ‖w‖ ≤ 1: the entropy of p, plus ½ − ‖c‖ as ‖c‖ > 1.

    Variables (u, t, v, w) with Σv ≤ 1 and (uᵢ − t, 1, vᵢ) ∈ EXP, so at the optimum v = p and u − t = log p.
    """
    p, c = np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.5, 2.0])
    k, n = 4, 11
    entropy, identity = -p @ np.log(p), np.eye(n)
    u, t, v, w = identity[:k], identity[k], identity[k + 1 : 2 * k + 1], identity[2 * k + 1 :]
    cones = [row for i in range(k) for row in (t - u[i], np.zeros(n), -v[i])]
    A = np.vstack([u.sum(axis=0), v.sum(axis=0), np.zeros(n), -w, *cones])
    b = np.concatenate([[0.0, 1.0, 1.0, 0.0, 0.0], np.tile([0.0, 1.0, 0.0], k)])
    q = t - p @ u - c @ w
    program = ConeProgram(w.T @ w, q, A, b, zero=1, nonneg=1, soc=(3,), exp=k)
    answer = backend(name).solve(program, TIGHT)
    x, z = answer.x, answer.z
    assert x[k + 1 : 2 * k + 1] == pytest.approx(p, abs=1e-6)
    assert x[:k] - x[k] == pytest.approx(np.log(p), abs=1e-5)
    assert x[2 * k + 1 :] == pytest.approx(c / 2.5, abs=1e-5)
    assert q @ x + 0.5 * x @ program.P @ x == pytest.approx(entropy + 0.5 - 2.5, abs=1e-7)
    assert -b @ z - 0.5 * x @ program.P @ x == pytest.approx(entropy + 0.5 - 2.5, abs=1e-5)
    assert np.abs(program.P @ x + q + A.T @ z).max() < 1e-5


@names({name for name, each in BACKENDS.items() if each.hinted})
@pytest.mark.parametrize("lower_zero", [False, True])
def test_warm_start_saves_steps(name, lower_zero):
    program = random_program(7, lower_zero=lower_zero, n=30, nonneg=40)
    cold = backend(name).solve(program, TIGHT)
    warm = backend(name).solve(program, TIGHT, warm=cold)
    assert residual(program, warm) < BACKENDS[name].delivers
    assert warm.iterations <= cold.iterations
    stale = Answer(np.zeros(3), np.zeros(2), "of another program", False, 0)
    assert residual(program, backend(name).solve(program, TIGHT, warm=stale)) < BACKENDS[name].delivers


@names()
def test_nothing_on_stdout_and_inputs_untouched(name, capfd):
    """OSQP comments, unasked, on an optimum where no row is active."""
    P, q, A, b = np.eye(2), np.ones(2), np.eye(2), np.full(2, 5.0)
    kept = [part.copy() for part in (P, q, A, b)]
    answer = backend(name).solve(ConeProgram(P, q, A, b, 0, 2), TIGHT)
    assert answer.x == pytest.approx([-1, -1], abs=1e-4)
    assert capfd.readouterr().out == ""
    assert all(np.array_equal(old, new) for old, new in zip(kept, (P, q, A, b), strict=True))


@names()
def test_through_cvxpy(name, capfd):
    import cvxpy as cp

    x = cp.Variable(3)
    # The projection of (1, 3, −1) onto the simplex.
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - np.array([1.0, 3, -1]))), [x >= 0, cp.sum(x) == 1])
    if name not in cp.installed_solvers():
        with pytest.raises(MissingCapability, match=f"CVXPY does not know {name}; use CLARABEL"):
            solve_cvxpy(problem, name)
        return
    assert solve_cvxpy(problem, name.lower()) == "optimal"
    assert x.value == pytest.approx([0, 1, 0], abs=1e-5)
    assert problem.value == pytest.approx(6, abs=1e-6)
    assert capfd.readouterr().out == ""


def test_cvxpy_refusal_names_the_backend():
    import cvxpy as cp

    x = cp.Variable()
    with pytest.raises(BackendFailed, match="OSQP failed on a CVXPY problem"):
        solve_cvxpy(cp.Problem(cp.Minimize(cp.exp(x) - x)), "OSQP")


def test_cvxpy_knows_the_backends_of_the_core_install():
    import cvxpy as cp

    assert {"CLARABEL", "OSQP", "PIQP", "SCS"} <= set(cp.installed_solvers()) & set(BACKENDS)


def test_one_new_file_is_one_new_backend(tmp_path):
    """A file that is put beside the others is found by its NAMES and solves; nothing else is written."""
    for name in ("__init__.py", "piqp_interior.py"):
        shutil.copy2(ADAPTERS / name, tmp_path / name)
    mine = (ADAPTERS / "piqp_interior.py").read_text().replace('"piqp": Backend("PIQP"', '"mine": Backend("MINE"')
    (tmp_path / "mine_interior.py").write_text(mine)
    both = found(Registry("backend", tmp_path))
    assert list(both) == ["MINE", "PIQP"]
    program = random_program(0)
    assert residual(program, both["MINE"].solve(program, TIGHT)) < both["MINE"].delivers


@pytest.mark.parametrize("wrong", ['{"mine": Backend("OTHER", "numpy", run, OPTIONS, LINEAR)}', '{"mine": run}'])
def test_an_adapter_that_exports_something_else_is_refused(wrong, tmp_path):
    text = (ADAPTERS / "piqp_interior.py").read_text()
    (tmp_path / "mine.py").write_text(text[: text.index("NAMES = ")] + f"NAMES = {wrong}\n")
    with pytest.raises(BadInput, match="is no Backend called MINE"):
        found(Registry("backend", tmp_path))


def test_unknown_name_offers_the_nearest():
    with pytest.raises(UnknownName, match="CLARABEL"):
        backend("clarabell")


def test_absent_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(BACKENDS, "OSQP", replace(BACKENDS["OSQP"], package="no_such_package"))
    with pytest.raises(MissingCapability, match="pip install no_such_package"):
        backend("osqp")


def test_unsupported_cone_names_who_can():
    program = ConeProgram(np.eye(2), np.zeros(2), -np.eye(2), np.ones(2), 0, 0, soc=(2,))
    assert supports(BACKENDS["CLARABEL"], program) is None
    assert supports(BACKENDS["PIQP"], program) == "PIQP has no soc cone; use CLARABEL."
    with pytest.raises(MissingCapability, match="use CLARABEL"):
        BACKENDS["PIQP"].solve(program, TIGHT)


def test_misshapen_program_is_refused_before_compiled_code_sees_it():
    with pytest.raises(CutbenchError, match="make them"):
        ConeProgram(np.eye(2), np.zeros(2), np.eye(2), np.ones(2), 0, 3)


def test_a_crash_names_the_backend():
    class Panic(BaseException):
        """What a Rust extension raises: no Exception."""

    def explode(program, options, warm):
        raise Panic("index out of bounds")

    with pytest.raises(BackendFailed, match=r"PIQP failed on 12 variables and 13 rows \(Panic: index"):
        replace(BACKENDS["PIQP"], run=explode).solve(random_program(0), TIGHT)


def test_an_empty_answer_is_nan():
    empty = replace(BACKENDS["PIQP"], run=lambda *_: Answer(None, None, "gave up", False, None))
    answer = empty.solve(random_program(0), TIGHT)
    np.testing.assert_array_equal(answer.x, np.full(12, np.nan))
    np.testing.assert_array_equal(answer.z, np.full(13, np.nan))


@names({each for each in BACKENDS if BACKENDS[each].clock})
def test_time_limit_is_heard(name):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(200, 200))
    A, q = rng.normal(size=(300, 200)), rng.normal(size=200)
    program = ConeProgram(root @ root.T, q, A, np.ones(300), 0, 300)
    hurried, patient = (backend(name).solve(program, 1e-6, time_limit=seconds) for seconds in (1e-6, 60))
    assert hurried.status != patient.status
    assert residual(program, patient) < 1e-4


WITHOUT_CLOCK = {each for each in BACKENDS if not BACKENDS[each].clock}


@names(WITHOUT_CLOCK)
@pytest.mark.parametrize("lower_zero", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_a_process_of_its_own_gives_the_same_answer(name, dense, lower_zero):
    program = random_program(3, dense, lower_zero)
    here, there = (backend(name).solve(program, TIGHT, time_limit=limit) for limit in (None, 60))
    np.testing.assert_array_equal(here.x, there.x)
    np.testing.assert_array_equal(here.z, there.z)
    assert (here.status, here.iterations, here.infeasible) == (there.status, there.iterations, there.infeasible)
    assert not there.stopped


PLANTED = """
import ctypes
import os
import time


def hangs(program, options, warm):
    print("about to hang")
    ctypes.PyDLL(None).sleep(600)  # native code that keeps the interpreter's lock


def spins(program, options, warm):
    while True:
        pass


def crashes(program, options, warm):
    ctypes.string_at(0)


def leaves(program, options, warm):
    os._exit(7)


def raises(program, options, warm):
    raise ValueError("no such cone")
"""


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """Faulty adapters in a module that a process of its own can import, too."""
    (tmp_path / "planted.py").write_text(PLANTED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "planted", raising=False)
    return importlib.import_module("planted")


@pytest.mark.parametrize("fault", ["hangs", "spins"])
def test_a_backend_that_hangs_is_killed_at_its_limit(planted, fault, capfd):
    hanging = replace(BACKENDS["PIQP"], run=getattr(planted, fault))
    began = time.perf_counter()
    answer = hanging.solve(random_program(0), TIGHT, time_limit=0.3)
    assert time.perf_counter() - began < 30
    assert answer.status == "PIQP did not return within 0.3 s"
    assert answer.stopped
    assert np.isnan(answer.x).all()
    assert capfd.readouterr().out == ""
    assert hanging.solve(random_program(0), TIGHT, time_limit=0.3).stopped  # another process took its place


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("crashes", "its process ended with SIGSEGV"),
        ("leaves", "its process ended with exit code 7"),
        ("raises", "ValueError: no such cone"),
    ],
)
def test_a_crash_in_native_code_leaves_us_alive(planted, fault, says):
    faulty = replace(BACKENDS["PIQP"], run=getattr(planted, fault))
    with pytest.raises(BackendFailed, match=rf"^PIQP failed on 12 variables and 13 rows \(.*{says}\); try another"):
        faulty.solve(random_program(0), TIGHT, time_limit=30)


def test_a_watched_process_ends_with_ours():
    """Even if we are killed while it hangs: its alarm is the system's."""
    code = f"""
        import sys, time
        sys.path.insert(0, {str(ROOT / "tests" / "backends")!r})
        from test_backends import TIGHT, random_program
        from workbench.backends import BACKENDS, watched
        piqp = BACKENDS["PIQP"]
        piqp.solve(random_program(0), TIGHT, time_limit=30)
        print(watched(piqp.name, piqp.run).process.pid, flush=True)
        time.sleep(60)
    """
    ours = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    with ours:
        theirs = int(ours.stdout.readline())
        assert Path(f"/proc/{theirs}").exists()
        ours.kill()
    deadline = time.monotonic() + 20
    while alive(theirs):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_without_a_limit_no_process_is_started(monkeypatch):
    monkeypatch.setattr("workbench.backends.adapter.watched", lambda *_: pytest.fail("a process was asked for"))
    for name in WITHOUT_CLOCK:
        if BACKENDS[name].installed:
            assert not backend(name).solve(random_program(0), TIGHT).stopped


def test_through_cvxpy_only_a_clock_can_limit_time():
    import cvxpy as cp

    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(cp.square(x - 1)))
    assert solve_cvxpy(problem, "CLARABEL", time_limit=60) == "optimal"
    with pytest.raises(MissingCapability, match="PIQP has no clock that CVXPY could set; use CLARABEL or"):
        solve_cvxpy(problem, "PIQP", time_limit=60)


def test_solvers_are_imported_only_to_solve():
    packages = {each.package for each in BACKENDS.values()} | {"cvxpy"}
    code = f"import sys; from workbench.backends import BACKENDS; print({packages} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 8),
    zero=st.integers(0, 2),
    nonneg=st.integers(1, 8),
    lower=st.booleans(),
)
def test_two_interior_points_agree(seed, n, zero, nonneg, lower):
    program = random_program(seed, lower_zero=lower, n=n, zero=min(zero, n - 1), nonneg=nonneg)
    first, second = (backend(name).solve(program, TIGHT) for name in ("CLARABEL", "PIQP"))
    assert first.x == pytest.approx(second.x, abs=1e-4)  # a gap of ε leaves √ε where a multiplier vanishes
    value = [0.5 * x @ program.P @ x + program.q @ x for x in (first.x, second.x)]
    assert value[0] == pytest.approx(value[1], abs=1e-7, rel=1e-7)
