"""`solve`: the certified optimum of a formulation on a problem, by the loop its kind asks for.

The master is chosen by what the regularizer, the prices and the backend offer:

    r = μ/2‖θ‖², finite prices, no backend named   → AscentMaster (our own dual ascent; needs numba),
        begun, where n·p ≥ LONG, with passes of dual-block (solving/masters/passes.py): master "dual-block"
    r = μ/2‖θ‖², a backend with quadratics         → GramMaster (the dual over the rows)
    r with a shape, finite prices, no backend named, n·p ≥ LONG and n groups
                                                   → AscentMaster (about a moving centre where r is not curved)
    anything else                                  → CompiledMaster (the CVXPY declaration)

LONG was measured, in CPU seconds with dual-block | ascent (`cutbench bench routes`): 300 digits (n·p = 2·10⁵) to
1e-9 took 1.2 | 0.2, 1797 digits to 1e-6 1.1 | 1.5, 200 words (8·10⁵, λ = 0.01) 5 | 12, 626 words 6 | 24, and
with λ = 1/n 35 | not in 45. The less regularised, the longer either takes, and the more the passes save.

Other kinds have no master but a loop of their own: a search branches and bounds (solving/branch_and_bound.py), a
smooth form descends by L-BFGS and Newton steps (solving/smooth.py) or, if a backend is named, asks that
backend for the CVXPY declaration's optimum.

The default backend is the first installed of PREFERRED.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from functools import partial
from importlib import metadata
from inspect import isclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.arithmetic.compiled import available
from workbench.backends.solvers import BACKENDS, Backend, solve_cvxpy
from workbench.backends.solvers import backend as find_backend
from workbench.contracts import CutForm, Cuts, Enumerable, Floats, Labelled, Majorized, Search, SmoothForm
from workbench.errors import BackendFailed, BadInput, CutbenchError, MissingCapability, NotSeparable, checked_limits
from workbench.proofs.bounds import Bounds, SmoothBounds
from workbench.proofs.capped import CappedBounds, Tree
from workbench.proofs.certificate import Certificate, arrays_of, checked_arrays, data_sha256, name_of, versions
from workbench.proofs.door import bounds_for
from workbench.proofs.exact import optimum as exact_optimum
from workbench.proofs.exact import sharpened
from workbench.solvers.dual_block import DualBlock
from workbench.solving.branch_and_bound import search
from workbench.solving.cutting_planes import Family, Observe, Progress, generate
from workbench.solving.majorize import alternate
from workbench.solving.masters.ascent import AscentMaster
from workbench.solving.masters.master import CompiledMaster, GramMaster, Master
from workbench.solving.masters.passes import Passes
from workbench.solving.smooth import descend
from workbench.system.journal import Entry, Journal

PREFERRED = {"gram": ("PIQP", "CLARABEL", "OSQP", "SCS"), "compiled": ("CLARABEL", "ECOS", "SCS")}
HEIRS = ("CLARABEL", "ECOS")  # backends that are tried one after the other; SCS would take minutes
LONG = 500_000  # samples times entries of θ from which passes of dual-block come first
MOST = 200_000  # rows that an ascent about a moving centre is given at once, where it can be given all
SHORT = 1000  # entries of θ up to which the primal is the stronger master
OWN_WORDS = ("status", "backend", "master", "cuts", "rounds", "seconds", "cpu_seconds", "compile_seconds")
OWN_WORDS += ("oracle_seconds", "master_seconds", "own_status")  # what a solution says of itself, for the record


@dataclass
class Solution:
    """A certified answer: F* lies in [lower, upper] and θ attains `upper`.

    theta : blocks of θ by name;  theta_flat : θ (p,);  gap : relative, see `Bounds.gap`
    status : optimal (gap reached), stalled (the backend can give no more) or limit; of an alternation
        stationary, cycle, stalled (a convex program that its end rests on missed its gap) or limit
    own_status : the backend's own word in the last round; nothing rests on it
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
    own_status: str = ""

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

    def kept(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a journal holds of it: numbers, and arrays by name."""
        return {name: getattr(self, name) for name in OWN_WORDS}, self.certificate.parts()


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
    journal: str | Path | Journal | None = None,
    source: dict[str, Any] | None = None,
) -> Solution:
    """Solve to a certified relative gap.

    Parameters
    ----------
    gap : stop when (upper − lower)/size ≤ gap, both recomputed from the data
    backend : CLARABEL, ECOS, OSQP, PIQP, SCS, …; None picks one
    groups : rows a round: "all" (n-slack), "one" (one-slack) or a number; None means all
    master : "dual-block", "ascent", "gram", "compiled" or None (picked as the module's docstring says)
    time_limit, max_rounds : end with status `limit` beyond these (seconds, rounds), counted from this call
    observe : called with a dict after each round
    polish : then look for the exact optimum, a fraction (proofs/exact.py): `certificate.optimum`, or
        `certificate.remark` says why there is none
    journal : a folder where each finished round is kept (system/journal.py), or a `Journal`: a run that
        was ended before its time goes on with `journal=Journal.resume(folder)`
    source : where the problem comes from (`name`, `settings`), for the certificate and the journal

    Raises
    ------
    NotSeparable : hard margins on data that no weights separate
    MissingCapability, BadInput, BackendFailed : one sentence each
    """
    check_words(formulation, problem, gap=gap, time_limit=time_limit, max_rounds=max_rounds)
    if hasattr(problem, "vet"):
        problem.vet()
    formulation = plain_settings(formulation)
    if isinstance(formulation, Majorized):
        words = {"gap": gap, "backend": backend, "groups": groups, "master": master}
        kept = journalled(
            journal, formulation, problem, {"source": source or {}, "options": words | {"polish": polish}}
        )
        return solve_alternating(
            formulation, problem, words | {"source": source}, time_limit, max_rounds, observe, kept
        )
    if not isinstance(formulation, CutForm | SmoothForm | Search):
        raise MissingCapability(f"{type(formulation).__name__} cannot be solved; `cutbench list` names those that can.")
    cpu, clock = time.process_time(), time.perf_counter()
    bounds = bounds_for(formulation, problem)
    words = {"gap": gap, "backend": backend, "groups": groups, "master": master, "polish": polish}
    kept = journalled(journal, formulation, problem, {"source": source or {}, "options": words})
    if isinstance(bounds, CappedBounds):
        answer = solve_search(bounds, gap, backend, groups, master, time_limit, max_rounds, observe, kept)
    elif isinstance(bounds, SmoothBounds):
        answer = solve_smooth(bounds, gap, backend, groups, master, time_limit, max_rounds, observe, kept)
    elif getattr(formulation, "declare", "cuts") == "compact":
        answer = solve_compact(bounds, backend, time_limit, kept)
    else:
        answer = solve_by_cuts(bounds, gap, backend, groups, master, time_limit, max_rounds, observe, kept)
    state, last = answer.state, answer.state.history[-1]
    status = "optimal" if bounds.gap(state.upper, state.lower) <= gap else state.status
    theta = bounds.repaired(state.theta)
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
        source=source or {},
        remark="" if answer.tree is None else "the proof is a search tree, which yields no fraction",
        tree=answer.tree,
    )
    if answer.tree is not None:
        polish = False
    elif status == "stalled":
        certificate = sharpened(certificate, gap, state.latest)
        theta = bounds.repaired(certificate.theta)
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
        seconds=state.before[0] + time.perf_counter() - clock - answer.compile_seconds,
        cpu_seconds=state.before[1] + time.process_time() - cpu - answer.compile_cpu_seconds,
        compile_seconds=answer.compile_seconds,
        oracle_seconds=last["oracle_seconds"],
        master_seconds=last["master_seconds"],
        train_error=train_error(bounds, theta),
        certificate=certificate,
        history=state.history,
        own_status=state.said,
    )


def train_error(bounds: Bounds | SmoothBounds, theta: Floats) -> float:
    """The mean loss of what θ predicts on the samples learned from."""
    everyone = np.arange(bounds.problem.n_samples)
    return float(bounds.problem.loss(everyone, bounds.oracle.decode(theta, everyone)).mean())


def plain_settings(formulation: Any) -> Any:
    """A formulation with NumPy's numbers among its settings as Python's own, of which fractions are made."""
    own = vars(formulation) if is_dataclass(formulation) else {}
    numpys = {name: each.item() for name, each in own.items() if isinstance(each, np.generic)}
    return replace(formulation, **numpys) if numpys else formulation


def solve_alternating(
    formulation: Any,
    problem: Any,
    words: dict[str, Any],
    time_limit: float | None,
    max_rounds: int | None,
    observe: Observe | None,
    journal: AbstractContextManager[Journal | None],
) -> Solution:
    """The alternation to its end; bounds are those of its inner programs, of the whole there are none."""
    with journal as kept:
        if kept and kept.entries and words["gap"] < kept.settings["options"]["gap"]:
            raise BadInput(
                f"The rounds of the run in {kept.run} were solved to a gap of {kept.settings['options']['gap']}; "
                f"for a smaller one solve into another folder."
            )
        answer, recall = partial(solve, **words), partial(recalled, source=words["source"])
        found = alternate(formulation, problem, answer, max_rounds, time_limit, observe, kept, recall)
        if kept and found.status != "limit" and not kept.finished:
            kept.append("end", {"status": found.status, "gap": max(entry["inner_gap"] for entry in found.history)})
    inner = found.inner
    about = {"formulation": type(formulation).__name__, "status": found.status}
    remark = "an alternation proves no optimum, so there is no fraction to look for"
    return Solution(
        formulation=formulation,
        problem=problem,
        theta_flat=inner.theta_flat,
        upper=formulation.value(problem, inner.theta_flat),
        lower=np.nan,
        gap=np.nan,
        status=found.status,
        backend=inner.backend,
        master=inner.master,
        cuts=inner.cuts,
        rounds=len(found.history),
        seconds=found.seconds,
        cpu_seconds=found.cpu_seconds,
        compile_seconds=0.0,
        oracle_seconds=inner.oracle_seconds,
        master_seconds=inner.master_seconds,
        train_error=inner.train_error,
        certificate=replace(inner.certificate, alternation=about, remark=remark),
        history=found.history,
        lower_kind="none",
        own_status=f"cycle of {found.cycle}" if found.status == "cycle" else "",
    )


def recalled(formulation: Any, problem: Any, line: Entry, source: dict[str, Any] | None = None) -> Solution:
    """The solution that a line of an alternation's journal is about, both bounds computed anew.

    Where its gap was reached in rational arithmetic only, it is so again.
    """
    bounds, told, gap = bounds_for(formulation, problem), line.numbers["inner"], line.numbers["gap"]
    words = {"status": told["status"], "backend": told["backend"], "source": source or {}}
    certificate = Certificate(
        formulation, problem, **checked_arrays(line.arrays(), problem), upper=np.inf, lower=-np.inf, gap=np.inf, **words
    )
    lower, upper = certificate.recheck()
    certificate = replace(certificate, lower=lower, upper=upper, gap=bounds.gap(upper, lower))
    if certificate.gap > gap:
        certificate = sharpened(certificate, gap, certificate.theta)
    theta, ends = bounds.repaired(certificate.theta), ("upper", "lower", "gap")
    told = told | {name: getattr(certificate, name) for name in ends} | {"train_error": train_error(bounds, theta)}
    return Solution(formulation, problem, theta, certificate=certificate, **told)


def check_words(formulation: Any, problem: Any, **numbers: Any) -> None:
    """`BadInput` for arguments that no route could use."""
    if isclass(formulation) or hasattr(formulation, "truth"):
        raise BadInput("solve takes a formulation, then a problem; write for example solve(SoftMargin(), problem).")
    if isclass(problem) or not hasattr(problem, "truth"):
        thing = f"class {problem.__name__}" if isclass(problem) else type(problem).__name__
        raise BadInput(f"The problem is a {thing}; give an output structure with data, e.g. Multiclass(X, y).")
    checked_limits(**numbers)


@contextmanager
def journalled(
    journal: str | Path | Journal | None, formulation: Any, problem: Any, words: dict[str, Any]
) -> Iterator[Journal | None]:
    """The journal of this very run, begun or continued; one that holds nothing to go on from is not left behind.

    words : `source` and `options` of the run, for its first line
    """
    if journal is None:
        yield None
        return
    with opened(journal, formulation, problem, words) as kept:
        try:
            yield kept
        except CutbenchError as error:
            if isinstance(error, NotSeparable) or not kept.entries:
                kept.discard()
            raise


def opened(journal: str | Path | Journal, formulation: Any, problem: Any, words: dict[str, Any]) -> Journal:
    """The journal of a run with these words: a new one in a folder, or the one that is given.

    Raises `BadInput` if the one that is given is about other data or another formulation.
    """
    named = {"name": name_of("formulation", formulation), "settings": asdict(formulation)}
    settings = {"command": "solve", "folder": os.getcwd(), **words, "formulation": named}
    settings |= {"data_sha256": data_sha256(arrays_of(problem)), "versions": versions()}
    if isinstance(journal, str | Path):
        return Journal.create(journal, settings)
    if not isinstance(journal, Journal):
        raise BadInput(f"journal is {journal!r}; give the name of a folder.")
    with journal.closed_on_error():
        same_run(journal, settings)
    return journal


def same_run(journal: Journal, settings: dict[str, Any]) -> None:
    """`BadInput` unless what is to be continued is what the journal is about."""
    old, new = journal.settings, settings
    if old["data_sha256"] != new["data_sha256"]:
        raise BadInput(
            f"The data have changed since the run in {journal.run} began (sha256 {new['data_sha256'][:12]}… instead "
            f"of {old['data_sha256'][:12]}…); restore them, or solve again into another folder."
        )
    for what, before, now in (
        ("formulation", old["formulation"], new["formulation"]),
        ("groups", old["options"]["groups"], new["options"]["groups"]),
    ):
        if before != now:
            raise BadInput(
                f"The run in {journal.run} has the {what} {before}, not {now}; continue it with these, or solve into "
                f"another folder."
            )


class Answer(NamedTuple):
    """What either route hands to `solve`."""

    state: Progress
    cuts: Cuts
    backend: str
    master: str
    compile_seconds: float
    compile_cpu_seconds: float
    tree: Tree | None = None


def solve_by_cuts(
    bounds: Bounds,
    gap: float,
    backend: str | None,
    groups: int | str | None,
    master: str | None,
    time_limit: float | None,
    max_rounds: int | None,
    observe: Observe | None,
    journal: AbstractContextManager[Journal | None],
) -> Answer:
    """Cut generation on the formulation's lazy declaration."""
    least = bounds.oracle.least_loss
    family = Family(bounds, group_count(groups, len(bounds.samples)), caution=0.1 * min(gap, 1e-4) * least)
    kind, chosen = choose(bounds, family.n_groups, master, backend)
    others = [] if backend else [BACKENDS[each] for each in HEIRS if BACKENDS[each].installed]
    clock, cpu = time.perf_counter(), time.process_time()
    passes = Passes(family, gap) if kind == "dual-block" else None
    engine = make_master(kind, family, chosen)
    if kind == "compiled":
        engine.heirs = [partial(make_master, kind, family, other) for other in others if other is not chosen]
    spent = time.perf_counter() - clock, time.process_time() - cpu
    with journal as kept:
        loose = kind == "ascent" and bounds.regularizer.curvature is None
        listed = loose and len(bounds.samples) * labels_of(bounds.problem) <= MOST
        held = family.everything() if listed else family.truths() if len(bounds.regularizer.free) else []
        warm = None
        if passes and not (kept and kept.entries):
            held, warm, time_limit = passes.run(time_limit)
        state = generate(family, engine, gap, max_rounds, time_limit, observe, held, kept, warm)
    names = ["dual-block"] * (warm is not None) + state.masters
    return Answer(state, family.cuts, ", then ".join(map(versioned, names)), kind, *spent)


def labels_of(problem: Any) -> float:
    """How many outputs a sample has, if each is a single label; else ∞."""
    listed = isinstance(problem, Labelled) and isinstance(problem, Enumerable) and problem.width == 1
    return len(problem.classes) if listed else np.inf


def versioned(master: str) -> str:
    """The name of a master's solver with its version."""
    if master in BACKENDS:
        return f"{master} {BACKENDS[master].version}"
    return f"cutbench {metadata.version('cutbench')} {master}"


def solve_compact(
    bounds: Bounds, backend: str | None, time_limit: float | None, journal: AbstractContextManager[Journal | None]
) -> Answer:
    """The compact declaration, solved by CVXPY as it stands and certified by the same bounds."""
    return in_one_go(journal, partial(solved_compact, bounds, backend, time_limit))


def in_one_go(journal: AbstractContextManager[Journal | None], route: Callable[[], Answer]) -> Answer:
    """A route without rounds of cuts: a journal only says that it began, and that it ended."""
    with journal as kept:
        answer = route()
        if kept and not kept.finished:
            kept.append("end", {"status": answer.state.status} | answer.state.history[-1])
    return answer


def solved_compact(bounds: Bounds, backend: str | None, time_limit: float | None) -> Answer:
    clock, cpu = time.perf_counter(), time.process_time()
    program, w, atoms = bounds.formulation.compact_program(bounds.problem)
    spent = time.perf_counter() - clock, time.process_time() - cpu
    chosen = find_backend(backend or "CLARABEL")
    status = solve_cvxpy(program, chosen.name, time_limit=time_limit)
    if w.value is None:
        raise BackendFailed(f"{chosen.name} ended the compact program with {status!r}; try another backend.")
    cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
    samples, witnesses, weights = atoms()
    ids = cuts.add(samples, witnesses, bounds.oracle.rows)
    mu = np.bincount(ids, weights, len(cuts))
    theta = np.asarray(w.value, float)
    state = Progress(theta, theta, mu, bounds.upper(theta), bounds.lower(cuts, mu), "stalled", said=status)
    only_round(bounds, state, len(cuts), time.perf_counter() - clock - spent[0])
    return Answer(state, cuts, versioned(chosen.name), "compact", *spent)


def only_round(bounds: Bounds | SmoothBounds, state: Progress, cuts: int, seconds: float) -> None:
    """Put a program that was solved at once on record."""
    ends = {"upper": state.upper, "lower": state.lower, "gap": bounds.gap(state.upper, state.lower)}
    sizes = {"cuts": cuts, "active": int((state.weights > 0).sum())}
    times = {"seconds": seconds, "oracle_seconds": 0.0, "master_seconds": seconds}
    state.history.append({"round": 1, **ends, **sizes, **times})


def solve_smooth(
    bounds: SmoothBounds,
    gap: float,
    backend: str | None,
    groups: int | str | None,
    master: str | None,
    time_limit: float | None,
    max_rounds: int | None,
    observe: Observe | None,
    journal: AbstractContextManager[Journal | None],
) -> Answer:
    """Our own descent, or a backend on the declaration; either is certified by the bounds at its θ."""
    if groups is not None or master is not None:
        name = type(bounds.formulation).__name__
        raise BadInput(f"{name} has no cuts, so groups and master mean nothing; leave them out.")
    if backend is not None:
        return in_one_go(journal, partial(solved_declaration, bounds, backend, time_limit))
    return in_one_go(journal, partial(descended, bounds, gap, max_rounds, time_limit, observe))


def descended(
    bounds: SmoothBounds, gap: float, max_rounds: int | None, time_limit: float | None, observe: Observe | None
) -> Answer:
    state = descend(bounds, gap, max_rounds, time_limit, observe)
    own = f", then {versioned('newton')}" if "newton" in state.masters else ""
    return uncut(bounds, state, f"SciPy {metadata.version('scipy')} L-BFGS-B{own}", "lbfgs", 0.0, 0.0)


def solved_declaration(bounds: SmoothBounds, backend: str, time_limit: float | None) -> Answer:
    clock, cpu = time.perf_counter(), time.process_time()
    program, variable = bounds.formulation.program(bounds.problem)
    spent = time.perf_counter() - clock, time.process_time() - cpu
    chosen = find_backend(backend)
    status = solve_cvxpy(program, chosen.name, time_limit=time_limit)
    if variable.value is None:
        raise BackendFailed(f"{chosen.name} ended the declared program with {status!r}; try another backend.")
    theta = np.asarray(variable.value, float)
    lower, upper = bounds.recheck(theta)
    state = Progress(theta, theta, upper=upper, lower=lower, status="stalled", said=status)
    only_round(bounds, state, 0, time.perf_counter() - clock - spent[0])
    return uncut(bounds, state, versioned(chosen.name), "declared", *spent)


def uncut(bounds: SmoothBounds, state: Progress, backend: str, master: str, *spent: float) -> Answer:
    """An answer without cuts."""
    return Answer(state, Cuts(bounds.oracle.dim, bounds.problem.width), backend, master, *spent)


def solve_search(
    bounds: CappedBounds,
    gap: float,
    backend: str | None,
    groups: int | str | None,
    master: str | None,
    time_limit: float | None,
    max_rounds: int | None,
    observe: Observe | None,
    journal: AbstractContextManager[Journal | None],
) -> Answer:
    """Our own branch and bound; its tree proves the lower bound."""
    if not backend is groups is master is None:
        name = type(bounds.formulation).__name__
        raise MissingCapability(f"{name} is solved by a search of our own; leave out backend, groups and master.")
    return in_one_go(journal, partial(searched, bounds, gap, max_rounds, time_limit, observe))


def searched(
    bounds: CappedBounds, gap: float, max_rounds: int | None, time_limit: float | None, observe: Observe | None
) -> Answer:
    found = search(bounds, gap, max_rounds, time_limit, observe)
    state = Progress(found.theta, found.theta, upper=found.upper, lower=found.lower, status=found.status)
    state.history.extend(found.history)
    empty = Cuts(bounds.oracle.dim, bounds.problem.width)
    name = versioned("branch and bound")
    return Answer(state, empty, name, "search", found.compile_seconds, found.compile_cpu_seconds, found.tree)


def group_count(groups: int | str | None, n: int) -> int:
    """The number of groups that `groups` asks for among n samples."""
    count = {None: n, "all": n, "one": 1}.get(groups, groups)
    try:
        count = 0 if isinstance(count, bool | float) else int(count)
    except (TypeError, ValueError):
        count = 0
    if count < 1:
        raise BadInput(f"groups is {groups!r}; give one, all or a positive number.")
    return min(count, n)


def choose(bounds: Bounds, groups: int, kind: str | None, name: str | None) -> tuple[str, Backend | None]:
    """The kind of master and its backend, as the module's docstring says."""
    quadratic = bounds.regularizer.curvature is not None
    shaped = bounds.regularizer.shape(bounds.oracle.dim) is not None
    fits = {"ascent": name is None and not bounds.prices.hard and shaped, "gram": quadratic, "compiled": True}
    every = groups == len(bounds.samples)
    blocks = fits["ascent"] and quadratic and every
    fits["dual-block"] = blocks and DualBlock().misfit(bounds.formulation, bounds.problem) is None
    given = find_backend(name) if name else None
    if kind is None and given is None:
        long = every and len(bounds.samples) * bounds.oracle.dim >= LONG
        kind = "gram" if quadratic else "compiled"
        if fits["ascent"] and available() and (quadratic or long):
            kind = "dual-block" if long and fits["dual-block"] else "ascent"
    elif kind is None:
        kind = "gram" if quadratic and "quadratic" in given.cones else "compiled"
    if not fits.get(kind, False):
        raise BadInput(
            f"master is {kind!r}, which does not fit here; compiled always does, gram needs a squared-norm "
            f"regularizer, ascent a regularizer with a proximal step, finite prices and no backend, and dual-block "
            f"a squared norm, finite prices, no backend, one group a sample and a kernel with slope_into."
        )
    if kind not in ("ascent", "dual-block") and given is None:
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
    if kind in ("ascent", "dual-block"):
        master = AscentMaster(bounds.regularizer.shape(bounds.oracle.dim), family.prices, bounds.start)
        kinds = ("compiled", "gram") if bounds.oracle.dim <= SHORT else ("gram", "compiled")
        if bounds.regularizer.curvature is None:
            kinds = ("compiled",)
        able = [(each, first_installed(each)) for each in kinds]
        master.heirs = [partial(make_master, each, family, found) for each, found in able if found]
        return master
    from workbench.solving.masters.declared import CompiledBase, LazyCuts

    cuts = LazyCuts(family.prices)
    return CompiledMaster(CompiledBase(bounds.formulation.program(bounds.problem, cuts), cuts), backend)


def first_installed(kind: str) -> Backend | None:
    return next((BACKENDS[name] for name in PREFERRED[kind] if BACKENDS[name].installed), None)
