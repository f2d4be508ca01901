"""`solve`: the certified optimum of a formulation on a problem, by the loop its kind asks for.

The master is chosen by what the regularizer, the prices and the backend offer:

    r = μ/2‖θ‖², finite prices, no backend named   → AscentMaster (our own dual ascent; needs numba)
    r = μ/2‖θ‖², a backend with quadratics         → GramMaster (the dual over the rows)
    anything else                                  → CompiledMaster (the CVXPY declaration)

The default backend is the first installed of PREFERRED.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from workbench.backends import BACKENDS, Backend, solve_cvxpy
from workbench.backends import backend as find_backend
from workbench.bounds import Bounds
from workbench.certificate import Certificate
from workbench.compiled import available
from workbench.cutting_planes import Family, Observe, Progress, generate
from workbench.errors import BackendFailed, BadInput, MissingCapability
from workbench.exact import optimum as exact_optimum
from workbench.master import AscentMaster, CompiledMaster, GramMaster, Master
from workbench.structures import CutForm, Cuts, Floats

PREFERRED = {"gram": ("PIQP", "CLARABEL", "OSQP", "SCS"), "compiled": ("CLARABEL", "SCS", "ECOS")}
SHORT = 1000  # entries of θ up to which the primal is the stronger master


@dataclass
class Solution:
    """A certified answer: F* lies in [lower, upper] and θ attains `upper`.

    theta : blocks of θ by name;  theta_flat : θ (p,);  gap : relative, see `Bounds.gap`
    status : optimal (gap reached), stalled (the backend can give no more) or limit
    history : one dict a round: round, upper, lower, gap, cuts, active, seconds, …
    """

    formulation: Any
    problem: Any
    theta_flat: Floats
    upper: float
    lower: float
    gap: float
    status: str
    backend: str
    master: str
    cuts: int
    rounds: int
    seconds: float
    cpu_seconds: float
    compile_seconds: float
    oracle_seconds: float
    master_seconds: float
    train_error: float
    certificate: Certificate
    history: list[dict[str, Any]] = field(default_factory=list)
    lower_kind: str = "dual"

    @property
    def theta(self) -> dict[str, Floats]:
        return self.formulation.blocks(self.problem).split(self.theta_flat)

    @property
    def oracle(self) -> str:
        return self.problem.oracle_kind

    def __repr__(self) -> str:
        return (
            f"Solution({self.status}: {self.lower!r} ≤ F* ≤ {self.upper!r}, gap {self.gap:.2g}, "
            f"{self.rounds} rounds, {self.cuts} cuts, {self.backend})"
        )


def solve(
    formulation: Any,
    problem: Any,
    gap: float = 1e-9,
    backend: str | None = None,
    groups: int | str | None = None,
    master: str | None = None,
    time_limit: float | None = None,
    max_rounds: int | None = None,
    observe: Observe | None = None,
    polish: bool = False,
) -> Solution:
    """Solve to a certified relative gap.

    Parameters
    ----------
    gap : stop when (upper − lower)/size ≤ gap, both recomputed from the data
    backend : CLARABEL, ECOS, OSQP, PIQP, SCS, …; None picks one
    groups : rows a round: "all" (n-slack), "one" (one-slack) or a number; None means all
    master : "ascent", "gram", "compiled" or None (picked as the module's docstring says)
    time_limit, max_rounds : end with status `limit` beyond these (seconds, rounds)
    observe : called with a dict after each round
    polish : then look for the exact optimum, a fraction (workbench/exact.py): `certificate.optimum`, or
        `certificate.remark` says why there is none

    Raises
    ------
    NotSeparable : hard margins on data that no weights separate
    MissingCapability, BadInput, BackendFailed : one sentence each
    """
    if not (isinstance(gap, int | float) and 0 < gap < np.inf):
        raise BadInput(f"The gap is {gap}; ask for a positive number such as 1e-9.")
    if not isinstance(formulation, CutForm):
        raise MissingCapability(f"{type(formulation).__name__} cannot be solved; `cutbench list` names those that can.")
    cpu, clock = time.process_time(), time.perf_counter()
    bounds = Bounds(formulation, problem)
    if getattr(formulation, "declare", "cuts") == "compact":
        answer = solve_compact(bounds, backend)
    else:
        answer = solve_by_cuts(bounds, gap, backend, groups, master, time_limit, max_rounds, observe)
    state, last = answer.state, answer.state.history[-1]
    status = "optimal" if bounds.gap(state.upper, state.lower) <= gap else state.status
    theta, everyone = bounds.repaired(state.theta), np.arange(problem.n_samples)
    support = np.flatnonzero(state.weights > 0)
    certificate = Certificate(
        formulation=formulation,
        problem=problem,
        theta=state.theta,
        samples=answer.cuts.samples[support],
        witnesses=answer.cuts.witnesses[support],
        weights=state.weights[support],
        upper=state.upper,
        lower=state.lower,
        gap=bounds.gap(state.upper, state.lower),
        status=status,
        backend=answer.backend,
    )
    if polish:
        certificate = exact_optimum(certificate)
        theta = theta if certificate.optimum is None else bounds.repaired(certificate.theta)
    return Solution(
        formulation=formulation,
        problem=problem,
        theta_flat=theta,
        upper=certificate.upper,
        lower=certificate.lower,
        gap=certificate.gap,
        status=certificate.status,
        backend=answer.backend,
        master=answer.master,
        cuts=last["cuts"],
        rounds=last["round"],
        seconds=time.perf_counter() - clock - answer.compile_seconds,
        cpu_seconds=time.process_time() - cpu - answer.compile_cpu_seconds,
        compile_seconds=answer.compile_seconds,
        oracle_seconds=last["oracle_seconds"],
        master_seconds=last["master_seconds"],
        train_error=float(problem.loss(everyone, problem.argmax(theta, everyone, augment=False)).mean()),
        certificate=certificate,
        history=state.history,
    )


class Answer(NamedTuple):
    """What either route hands to `solve`."""

    state: Progress
    cuts: Cuts
    backend: str
    master: str
    compile_seconds: float
    compile_cpu_seconds: float


def solve_by_cuts(
    bounds: Bounds,
    gap: float,
    backend: str | None,
    groups: int | str | None,
    master: str | None,
    time_limit: float | None,
    max_rounds: int | None,
    observe: Observe | None,
) -> Answer:
    """Cut generation on the formulation's lazy declaration."""
    least = bounds.oracle.least_loss
    family = Family(bounds, group_count(groups, len(bounds.samples)), caution=0.1 * min(gap, 1e-4) * least)
    kind, chosen = choose(bounds, master, backend)
    clock, cpu = time.perf_counter(), time.process_time()
    engine = make_master(kind, family, chosen)
    spent = time.perf_counter() - clock, time.process_time() - cpu
    state = generate(family, engine, gap, max_rounds, time_limit, observe)
    return Answer(state, family.cuts, ", then ".join(map(versioned, state.masters)), kind, *spent)


def versioned(master: str) -> str:
    """The name of a master's solver with its version."""
    if master in BACKENDS:
        return f"{master} {BACKENDS[master].version}"
    return f"cutbench {metadata.version('cutbench')} {master}"


def solve_compact(bounds: Bounds, backend: str | None) -> Answer:
    """The compact declaration, solved by CVXPY as it stands and certified by the same bounds."""
    clock, cpu = time.perf_counter(), time.process_time()
    program, w, atoms = bounds.formulation.compact_program(bounds.problem)
    spent = time.perf_counter() - clock, time.process_time() - cpu
    chosen = find_backend(backend or "CLARABEL")
    status = solve_cvxpy(program, chosen.name)
    if w.value is None:
        raise BackendFailed(f"{chosen.name} ended the compact program with {status!r}; try another backend.")
    cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
    samples, witnesses, weights = atoms()
    ids = cuts.add(samples, witnesses, bounds.oracle.rows)
    mu = np.bincount(ids, weights, len(cuts))
    theta = np.asarray(w.value, float)
    state = Progress(theta, theta, mu, bounds.upper(theta), bounds.lower(cuts, mu), "stalled")
    seconds = time.perf_counter() - clock - spent[0]
    sizes = {"cuts": len(cuts), "active": int((mu > 0).sum())}
    times = {"seconds": seconds, "oracle_seconds": 0.0, "master_seconds": seconds}
    ends = {"upper": state.upper, "lower": state.lower, "gap": bounds.gap(state.upper, state.lower)}
    state.history.append({"round": 1, **ends, **sizes, **times})
    return Answer(state, cuts, versioned(chosen.name), "compact", *spent)


def group_count(groups: int | str | None, n: int) -> int:
    """The number of groups that `groups` asks for among n samples."""
    words = {None: n, "all": n, "one": 1}
    count = words.get(groups, groups)
    try:
        count = int(count)
    except (TypeError, ValueError):
        count = 0
    if count < 1:
        raise BadInput(f"groups is {groups!r}; give one, all or a positive number.")
    return min(count, n)


def choose(bounds: Bounds, kind: str | None, name: str | None) -> tuple[str, Backend | None]:
    """The kind of master and its backend, as the module's docstring says."""
    quadratic = getattr(bounds.regularizer, "curvature", None) is not None
    ascent = quadratic and not bounds.prices.hard
    fits = {"ascent": ascent and name is None, "gram": quadratic, "compiled": True}
    given = find_backend(name) if name else None
    if kind is None and given is None:
        kind = "ascent" if ascent and available() else "gram" if quadratic else "compiled"
    elif kind is None:
        kind = "gram" if quadratic and "quadratic" in given.cones else "compiled"
    if not fits.get(kind, False):
        raise BadInput(
            f"master is {kind!r}, which does not fit here; compiled always does, gram needs a squared-norm "
            f"regularizer, and ascent that, finite prices and no backend."
        )
    if kind != "ascent" and given is None:
        given = first_installed(kind)
        if given is None:
            raise MissingCapability("No convex solver is installed; install one, e.g. pip install clarabel.")
    return kind, given


def make_master(kind: str, family: Family, backend: Backend | None) -> Master:
    """The master, and the stronger ones that inherit its rows if it can give no more.

    The ascent is slow on ill-conditioned rows. Interior-point methods are not, and the primal, of size
    dim + groups, beats the dual, of the rows' size, unless θ is long.
    """
    bounds = family.bounds
    if kind == "gram":
        return GramMaster(bounds.regularizer.curvature, family.prices, bounds.oracle.dim, backend)
    if kind == "ascent":
        master = AscentMaster(bounds.regularizer.curvature, family.prices, bounds.oracle.dim)
        kinds = ("compiled", "gram") if bounds.oracle.dim <= SHORT else ("gram", "compiled")
        able = [(each, first_installed(each)) for each in kinds]
        master.heirs = [partial(make_master, each, family, found) for each, found in able if found]
        return master
    from workbench.declared import CompiledBase, LazyCuts

    cuts = LazyCuts(family.prices)
    return CompiledMaster(CompiledBase(bounds.formulation.program(bounds.problem, cuts), cuts), backend)


def first_installed(kind: str) -> Backend | None:
    return next((BACKENDS[name] for name in PREFERRED[kind] if BACKENDS[name].installed), None)
