"""Seven convex solvers behind one call.

Every backend is given the same cone program and hands back the same two vectors:

    minimise  ½xᵀPx + qᵀx   subject to   b − Ax ∈ K = {0}^zero × R₊^nonneg × SOC(k₁) × … × EXP^exp

    SOC(k) = {(t, u) : ‖u‖ ≤ t, u ∈ R^(k−1)}        EXP = closure {(r, s, t) : s > 0, s·exp(r/s) ≤ t}

The Lagrangian is ½xᵀPx + qᵀx + zᵀ(Ax − b) with z in the dual cone K*, so (x, z) is optimal when

    Px + q + Aᵀz = 0,     b − Ax ∈ K,     z ∈ K*,     zᵀ(b − Ax) = 0,

and a ray z ∈ K* with Aᵀz = 0 and bᵀz < 0 (Farkas) proves that no x is feasible. Under `lower_zero` x ≥ 0
holds too and both "= 0" after Aᵀz become "≥ 0": what is left over is the multiplier of the bound.

An adapter only translates. It never judges an answer: the bounds do that, from the problem's own data, so a
solver that stops early or boasts costs rounds, not truth. Solvers are imported when they first solve.

A time limit goes to the solver's own clock. ECOS and PIQP have none: under a limit, and only then, they run
in a process of their own (`Watched`), whose alarm kills it, whatever native code is doing.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module, metadata, util

import numpy as np
from scipy import sparse

from workbench.errors import BackendFailed, CutbenchError, MissingCapability, UnknownName
from workbench.system.processes import OutOfTime, Process


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """min ½xᵀPx + qᵀx  s.t.  b − Ax ∈ {0}^zero × R₊^nonneg × SOC(soc[0]) × … × EXP^exp, in that order."""

    P: sparse.csc_array | np.ndarray  # (n, n) symmetric, both triangles; an ndarray asks for dense algebra
    q: np.ndarray  # (n,)
    A: sparse.csc_array | np.ndarray  # (m, n)
    b: np.ndarray  # (m,)
    zero: int
    nonneg: int
    soc: tuple[int, ...] = ()
    exp: int = 0
    lower_zero: bool = False  # x >= 0 besides the rows

    def __post_init__(self):
        (m, n), rows = self.A.shape, self.zero + self.nonneg + sum(self.soc) + 3 * self.exp
        shapes = self.P.shape, self.q.shape, self.b.shape, rows
        if shapes != ((n, n), (n,), (m,), m):  # compiled solvers read past the end rather than complain
            wanted = f"{(n, n)}, {(n,)}, {(m,)} and {m}"
            raise CutbenchError(f"A is {m} × {n}, so P, q, b and the cones' rows are {wanted}, not {shapes}.")


@dataclass(frozen=True, eq=False)
class Answer:
    """What the backend said; nobody trusts it. If `infeasible`, z is its ray (maximum 1) and x is nan.

    stopped : the time limit came before it had an x
    """

    x: np.ndarray
    z: np.ndarray  # nan where the backend gave none; >= 0 on nonneg rows
    status: str  # the backend's own word
    infeasible: bool
    iterations: int | None
    stopped: bool = False


@dataclass(frozen=True)
class Backend:
    """One solver: `run(program, options, warm)` translates, `options(tolerance)` speaks its dialect."""

    name: str
    package: str  # on PyPI and in an import statement
    run: Callable[[ConeProgram, dict, Answer | None], Answer]
    options: Callable[[float], dict]
    cones: frozenset[str]
    bounds: bool = False  # takes x >= 0 natively
    clock: str | None = "time_limit"  # its option for seconds; None asks for a watched process
    warms: bool = False  # a hint from before a few rows came or went saves time (measured: benchmarks/lazy.py)

    @property
    def version(self) -> str:
        return metadata.version(self.package)

    @property
    def installed(self) -> bool:
        return util.find_spec(self.package) is not None

    def solve(
        self,
        program: ConeProgram,
        tolerance: float,
        time_limit: float | None = None,
        warm: Answer | None = None,
    ) -> Answer:
        """`warm`, the answer to a program of the same shape, is a hint; OSQP, SCS, DAQP and (P = 0) HiGHS take it."""
        if reason := supports(self, program):
            raise MissingCapability(reason)
        options, began = self.options(tolerance), time.perf_counter()
        if time_limit is not None and self.clock:
            options[self.clock] = float(time_limit)
        if warm is not None and not (_fits(warm.x, program.q) and _fits(warm.z, program.b)):
            warm = None
        given, linear, borrowed = program, program.zero + program.nonneg, slice(0)
        if program.lower_zero and not self.bounds:
            given, warm = _bounds_as_rows(program, warm)
            borrowed = slice(linear, linear + program.q.size)
        try:
            if time_limit is not None and not self.clock:
                answer = watched(self).answer(given, options, warm, float(time_limit))
            else:
                answer = self.run(given, options, warm)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a Rust panic is no Exception
            (m, n), fault = given.A.shape, f"{type(error).__name__}: {error}".splitlines()[0]
            text = f"{self.name} failed on {n} variables and {m} rows ({fault}); try another backend."
            raise BackendFailed(text) from error
        x, z = _vector(answer.x, program.q.size), np.delete(_vector(answer.z, given.b.size), borrowed)
        z[program.zero : linear] = np.maximum(z[program.zero : linear], 0)  # some end at −1e-17
        if answer.infeasible:
            x, z = np.full_like(x, np.nan), z / max(np.abs(z).max(initial=0), np.finfo(float).tiny)
        late = time_limit is not None and time.perf_counter() - began > 0.9 * time_limit
        return replace(answer, x=x, z=z, stopped=bool(late and not answer.infeasible and np.isnan(x).any()))


def _fits(hint, like):
    return hint.shape == like.shape and np.isfinite(hint).all()


def _vector(values, size):
    """A float vector of its own, nan where a solver returned nothing or something of another length."""
    values = np.array([] if values is None else values, float).ravel()
    return values if values.size == size else np.full(size, np.nan)


def _bounds_as_rows(program, warm):
    """The same program with x ≥ 0 as rows −x ≤ 0 after its own nonneg rows, and the same hint."""
    A, n, cut = _csc(program.A), program.q.size, program.zero + program.nonneg
    A, at = sparse.vstack([A[:cut], -sparse.eye_array(n), A[cut:]], format="csc"), np.full(n, cut)
    if warm is not None:
        warm = replace(warm, z=np.insert(warm.z, at, _price_of_bounds(program, warm)))
    b, nonneg = np.insert(program.b, at, 0.0), program.nonneg + n
    return replace(program, A=A, b=b, nonneg=nonneg, lower_zero=False), warm


def _price_of_bounds(program, warm):
    return np.maximum(program.P @ warm.x + program.q + program.A.T @ warm.z, 0)


def _csc(matrix):
    """The one sparse type all accept: ECOS crashes on a csc_array, OSQP refuses 64-bit indices."""
    matrix = sparse.csc_array(matrix, dtype=float)
    matrix.sort_indices()
    indices, starts = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return sparse.csc_matrix((matrix.data, indices, starts), shape=matrix.shape)


def _dense(matrix, order="C"):
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=float, order=order)


def _below(program):
    """The left side of l ≤ Ax ≤ b."""
    return np.append(program.b[: program.zero], np.full(program.nonneg, -np.inf))


def _configure(settings, options):
    for key, value in options.items():
        setattr(settings, key, value)
    return settings


# ── a process of its own ──────────────────────────────────────────────────────────────────────────

STOPPED = "did not return within"


class Watched(Process):
    """An adapter in a process of its own, which answers one program after another until its alarm kills it."""

    def __init__(self, backend: Backend):
        super().__init__(answered)
        self.backend = backend

    def answer(self, program: ConeProgram, options: dict, warm: Answer | None, limit: float) -> Answer:
        """The adapter's answer; one without x if the limit came first."""
        numbers, arrays = _packed(program, options, warm)
        adapter = {"adapter": [self.backend.run.__module__, self.backend.run.__qualname__]}
        try:
            numbers, arrays = self.ask(numbers | adapter, arrays, limit)
        except OutOfTime:
            return Answer(None, None, f"{self.backend.name} {STOPPED} {limit:.3g} s", False, None)
        return Answer(arrays["x"], arrays["z"], **numbers)

    def end(self) -> int:
        _WATCHED.pop(self.backend, None)
        return super().end()


_WATCHED: dict[Backend, Watched] = {}


def watched(backend: Backend) -> Watched:
    """The process of a backend, started if there is none; starting takes half a second."""
    if backend not in _WATCHED:
        _WATCHED[backend] = Watched(backend)
    return _WATCHED[backend]


def answered(numbers: dict, arrays: dict[str, np.ndarray]) -> tuple[dict, dict[str, np.ndarray]]:
    """The work of a `Watched`: what the adapter says to the packed program."""
    module, name = numbers["adapter"]
    found = getattr(import_module(module), name)(*_unpacked(numbers, arrays))
    told = {"status": found.status, "infeasible": bool(found.infeasible), "iterations": found.iterations}
    vectors = {"x": found.x, "z": found.z}
    return told, {key: np.asarray([] if part is None else part, float) for key, part in vectors.items()}


def _packed(program, options, warm):
    numbers = {"options": options, "warm": warm is not None, "sizes": [program.zero, program.nonneg]}
    numbers |= {"soc": program.soc, "exp": program.exp, "lower_zero": program.lower_zero}
    arrays = {"q": program.q, "b": program.b}
    for name, matrix in (("P", program.P), ("A", program.A)):
        if sparse.issparse(matrix):
            matrix = sparse.csc_array(matrix)
            numbers[name] = matrix.shape
            arrays |= {f"{name}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
        else:
            arrays[name] = matrix
    return numbers, arrays | ({"x": warm.x, "z": warm.z} if warm else {})


def _unpacked(numbers, arrays):
    def matrix(name):
        if name in arrays:
            return arrays[name]
        parts = [arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr")]
        return sparse.csc_array(tuple(parts), shape=numbers[name])

    cones = *numbers["sizes"], tuple(numbers["soc"]), numbers["exp"], numbers["lower_zero"]
    program = ConeProgram(matrix("P"), arrays["q"], matrix("A"), arrays["b"], *cones)
    warm = Answer(arrays["x"], arrays["z"], "", False, None) if numbers["warm"] else None
    return program, numbers["options"], warm


# ── adapters ──────────────────────────────────────────────────────────────────────────────────────


def _clarabel(program, options, warm):
    import clarabel

    cones = [clarabel.ZeroConeT(program.zero), clarabel.NonnegativeConeT(program.nonneg)]
    cones += [clarabel.SecondOrderConeT(k) for k in program.soc] + [clarabel.ExponentialConeT()] * program.exp
    settings = _configure(clarabel.DefaultSettings(), options | {"verbose": False})
    data = _csc(sparse.triu(program.P)), program.q, _csc(program.A), program.b, cones
    found = clarabel.DefaultSolver(*data, settings).solve()
    status = str(found.status)
    return Answer(found.x, found.z, status, status.endswith("PrimalInfeasible"), found.iterations)


_OSQP_SPEAKS = threading.Lock()


@contextlib.contextmanager
def _aside():
    """OSQP told to be silent still says "Polishing not needed" through sys.stdout, which may carry JSON."""
    with _OSQP_SPEAKS, contextlib.redirect_stdout(sys.stderr):
        yield


def _osqp(program, options, warm):
    """Climb to the tolerance in rungs: polishing makes an answer exact, but only one that ADMM calls solved.

    Asked for 1e-10 at once ADMM can stall for ever; from 1e-4 or 1e-6 the polish jumps to rounding error.
    """
    import osqp

    tolerance, spent = options["eps_abs"], 0
    deadline = time.perf_counter() + options.get("time_limit", 1e9)
    solver, P, A = osqp.OSQP(), _csc(sparse.triu(program.P)), _csc(program.A)
    solver.setup(P, program.q, A, _below(program), program.b, verbose=False, **options)
    if warm is not None:
        solver.warm_start(warm.x, warm.z)
    for rung in [eps for eps in (1e-4, 1e-6, 1e-8) if eps > tolerance] + [tolerance]:
        left = max(deadline - time.perf_counter(), 1e-3)
        solver.update_settings(eps_abs=rung, eps_rel=rung, time_limit=left)
        with _aside():
            found = solver.solve(raise_error=False)
        info, spent = found.info, spent + found.info.iter
        if info.status != "solved" or max(info.prim_res, info.dual_res, abs(info.duality_gap)) <= tolerance:
            break
    infeasible = info.status.startswith("primal infeasible")
    return Answer(found.x, found.prim_inf_cert if infeasible else found.y, info.status, infeasible, spent)


def _ecos(program, options, warm):
    """Linear objectives only: minimise t + qᵀx over ½xᵀPx ≤ t, or (t + w, t − w, √(2w)·Rx) ∈ SOC, P = RᵀR.

    Any w > 0 will do; at 1 a large P costs half the digits. ECOS wants Ax = b apart from h − Gx ∈ K, and
    writes the exponential cone (r, t, s).
    """
    import ecos

    R, w = _root(program.P), max(1.0, program.P.diagonal().mean())
    (m, n), zero, tail = program.A.shape, program.zero, program.A.shape[0] - 3 * program.exp
    order = np.arange(m)
    order[tail:] = order[tail:].reshape(-1, 3)[:, [0, 2, 1]].ravel()  # undoes itself
    b, rows = program.b[order], sparse.csr_array(_csc(program.A))[order]
    rows = sparse.hstack([rows, sparse.csr_array((m, 1))], format="csr")
    rise = sparse.csr_array(([-1.0, -1.0], ([0, 1], [n, n])), shape=(2, n + 1))
    curve = sparse.hstack([-np.sqrt(2 * w) * R, sparse.csr_array((R.shape[0], 1))])
    G = sparse.vstack([rows[zero:tail], rise, curve, rows[tail:]])
    h = np.concatenate([b[zero:tail], [w, -w], np.zeros(R.shape[0]), b[tail:]])
    dims = {"l": program.nonneg, "q": [*program.soc, 2 + R.shape[0]], "e": program.exp}
    equalities = {"A": _csc(rows[:zero]), "b": b[:zero]} if zero else {}
    found = ecos.solve(np.append(program.q, 1.0), _csc(G), h, dims, **equalities, verbose=False, **options)
    z = np.concatenate([found["y"], found["z"][: tail - zero], found["z"][h.size - (m - tail) :]])[order]
    info = found["info"]
    return Answer(found["x"][:n], z, info["infostring"], info["exitFlag"] in (1, 11), info["iter"])


def _root(P):
    """R with RᵀR = P, less directions that are rounding error: entrywise if P is diagonal, else spectral."""
    values = P.diagonal()
    if sparse.issparse(P) and P.count_nonzero() == np.count_nonzero(values):
        return sparse.csr_array(sparse.diags_array(np.sqrt(np.maximum(values, 0))))[values > 0]
    values, vectors = np.linalg.eigh(_dense(P))
    keep = values > len(values) * np.finfo(float).eps * max(values[-1], 0)
    return sparse.csr_array(np.sqrt(values[keep])[:, None] * vectors[:, keep].T)


def _scs(program, options, warm):
    import scs

    data = {"P": _csc(sparse.triu(program.P)), "A": _csc(program.A), "b": program.b, "c": program.q}
    cones = {"z": program.zero, "l": program.nonneg, "q": list(program.soc), "ep": program.exp}
    hint = {} if warm is None else {"x": warm.x, "y": warm.z, "s": program.b - program.A @ warm.x}
    found = scs.SCS(data, cones, verbose=False, **options).solve(warm_start=warm is not None, **hint)
    info = found["info"]
    return Answer(found["x"], found["y"], info["status"], info["status_val"] in (-2, -7), info["iter"])


def _piqp(program, options, warm):
    import piqp

    if isinstance(program.P, np.ndarray):
        solver, convert = piqp.DenseSolver(), lambda matrix: _dense(matrix, order="F")
    else:
        solver, convert = piqp.SparseSolver(), _csc
    _configure(solver.settings, options)
    A, b, zero = program.A, program.b, program.zero
    lower = np.zeros(program.q.size) if program.lower_zero else None
    rows = convert(A[:zero]), b[:zero], convert(A[zero:]), None, b[zero:]
    solver.setup(convert(program.P), program.q, *rows, lower, None)
    status, found = solver.solve(), solver.result
    z = np.append(found.y, found.z_u)
    return Answer(found.x, z, status.name, status == piqp.PIQP_PRIMAL_INFEASIBLE, found.info.iter)


def _daqp(program, options, warm):
    import daqp

    n = program.q.size if program.lower_zero else 0  # leading limits beyond the rows of A are bounds on x
    upper, lower = np.append(np.full(n, np.inf), program.b), np.append(np.zeros(n), _below(program))
    kinds = np.repeat([0, 5, 0], [n, program.zero, program.nonneg]).astype(np.int32)  # 5: equality
    if warm is not None:
        dual = np.append(-_price_of_bounds(program, warm)[:n], warm.z)
        options = options | {"primal_start": warm.x, "dual_start": dual}
    data = _dense(program.P), program.q, _dense(program.A), upper, lower, kinds
    x, _, flag, info = daqp.solve(*data, **options)
    z = None if flag == -1 else info["lam"][n:]  # instead of a ray it leaves what memory held
    return Answer(x, z, f"exit flag {flag}", flag == -1, info["iterations"])


def _highs(program, options, warm):
    """Unasked HiGHS adds 1e-7·I to P, an error that no tolerance removes; with nothing added it gives up or
    cycles on many a singular P. A ridge relative to P keeps both harms small, not nil.
    """
    import highspy

    (m, n), A, P = program.A.shape, _csc(program.A), _csc(sparse.tril(program.P) if _curved(program.P) else program.P)
    columnwise, triangular, minimise, offset, continuous = 1, 1, 1, 0.0, np.zeros(n, np.int32)
    sizes = n, m, A.nnz, P.nnz, columnwise, triangular, minimise, offset
    bounds = np.full(n, 0.0 if program.lower_zero else -np.inf), np.full(n, np.inf)
    vectors = program.q, *bounds, _below(program), program.b
    matrices = A.indptr, A.indices, A.data, P.indptr, P.indices, P.data
    solver = highspy.Highs()
    options = options | {"output_flag": False, "qp_regularization_value": 1e-11 * P.diagonal().max()}
    done = [solver.setOptionValue(key, value) for key, value in options.items()]
    done += [solver.passModel(*sizes, *vectors, *matrices, continuous)]
    if warm is not None and not P.nnz:
        done += [solver.setBasis(_basis(program, warm))]
    done += [solver.run()]
    status = solver.modelStatusToString(solver.getModelStatus())
    if highspy.HighsStatus.kError in done:
        raise RuntimeError(f"model status {status}")
    found, info, infeasible = solver.getSolution(), solver.getInfo(), status == "Infeasible"
    prices = solver.getDualRay()[2] if infeasible else found.row_dual  # ∂ objective / ∂b, which is −z
    spent = max(info.qp_iteration_count, 0) + max(info.simplex_iteration_count, 0)
    return Answer(found.col_value, -np.asarray(prices), status, infeasible, spent)


def _curved(P):
    return P.nnz > 0 if sparse.issparse(P) else P.any()


def _basis(program, warm):
    """The simplex basis that an answer suggests: rows with a price and equations leave it, columns at 0 may."""
    import highspy

    kind, basis = highspy.HighsBasisStatus, highspy.HighsBasis()
    priced = (warm.z > 0) | (np.arange(program.b.size) < program.zero)
    basis.row_status = [kind.kUpper if row else kind.kBasic for row in priced.tolist()]
    bound = (warm.x <= 0) & program.lower_zero
    basis.col_status = [kind.kLower if column else kind.kBasic for column in bound.tolist()]
    basis.valid = basis.alien = True  # alien: of doubtful rank, HiGHS completes it
    return basis


def _options(*tolerances, floor=0.0, **fixed):
    """tolerance -> {each of the names: tolerance} and the fixed ones."""
    return lambda tolerance: dict.fromkeys(tolerances, max(tolerance, floor)) | fixed


# Below 1e-11 CLARABEL can stall and then hands back an iterate wrong in the third digit; DAQP at exactly its
# default of 1e-12 delivers 1e-6.
_CLARABEL = _options("tol_gap_abs", "tol_gap_rel", "tol_feas", "tol_ktratio", floor=1e-11, max_iter=200)
_OSQP = _options("eps_abs", "eps_rel", eps_prim_inf=1e-10, max_iter=200_000, polishing=True)
_ECOS = _options("abstol", "reltol", "feastol", max_iters=200)
_SCS = _options("eps_abs", "eps_rel", "eps_infeas", max_iters=200_000)
_PIQP = _options("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel", max_iter=250)
# The automatic proximal weight took 76,000 steps to 1e-11 on a singular Gram matrix, and 1e-7 gave up on
# three small programs in 300; this one took 750 and gave up on none.
_DAQP = _options("primal_tol", "dual_tol", floor=1e-11, eps_prox=1e-3, iter_limit=100_000)
_HIGHS = _options(
    "primal_feasibility_tolerance",
    "dual_feasibility_tolerance",
    floor=1e-10,
    qp_iteration_limit=100_000,
)

_LINEAR = frozenset({"zero", "nonneg", "quadratic"})
_CONIC = _LINEAR | {"soc", "exp"}  # ECOS takes a quadratic too, but only as one dense cone
_ALL = (
    Backend("CLARABEL", "clarabel", _clarabel, _CLARABEL, _CONIC),
    Backend("OSQP", "osqp", _osqp, _OSQP, _LINEAR),
    Backend("ECOS", "ecos", _ecos, _ECOS, _CONIC - {"quadratic"}, clock=None),
    Backend("SCS", "scs", _scs, _SCS, _CONIC, clock="time_limit_secs"),
    Backend("PIQP", "piqp", _piqp, _PIQP, _LINEAR, bounds=True, clock=None),
    Backend("DAQP", "daqp", _daqp, _DAQP, _LINEAR, bounds=True, warms=True),
    Backend("HIGHS", "highspy", _highs, _HIGHS, _LINEAR, bounds=True, warms=True),
)
BACKENDS: dict[str, Backend] = {each.name: each for each in _ALL}


def backend(name: str) -> Backend:
    """The backend of that name, in either case, ready to solve."""
    if not isinstance(name, str) or name.upper() not in BACKENDS:
        raise UnknownName("backend", str(name), BACKENDS)
    chosen = BACKENDS[name.upper()]
    if not chosen.installed:
        raise MissingCapability(f"{chosen.name} is not installed; pip install {chosen.package}.")
    return chosen


def supports(backend: Backend, program: ConeProgram) -> str | None:
    """Why this backend cannot take that program, or None."""
    lacking = {"soc": program.soc, "exp": program.exp}  # all take the rest
    lacking = [cone for cone, rows in lacking.items() if rows and cone not in backend.cones]
    able = [each.name for each in BACKENDS.values() if each.cones.issuperset(lacking)]
    return f"{backend.name} has no {' or '.join(lacking)} cone; use {' or '.join(able)}." if lacking else None


def solve_cvxpy(problem, name: str = "CLARABEL", tolerance: float = 1e-10, time_limit: float | None = None) -> str:
    """Solve a fully written CVXPY problem through an installed backend; the status CVXPY ends with."""
    from cvxpy.error import SolverError

    chosen = backend(name)
    options = chosen.options(tolerance)
    if time_limit is not None:
        if chosen.clock is None:
            able = " or ".join(each.name for each in BACKENDS.values() if each.clock)
            raise MissingCapability(f"{chosen.name} has no clock that CVXPY could set; use {able}, or no time limit.")
        options[chosen.clock] = float(time_limit)
    try:
        with _aside(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the status says so
            problem.solve(solver=chosen.name, **options)
    except SolverError as error:
        text = f"{chosen.name} failed on a CVXPY problem ({error}); try another backend."
        raise BackendFailed(text) from error
    return problem.status
