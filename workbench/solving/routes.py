"""The routes of `solve`: for each kind of formulation, the loop that runs and the outcome that it hands over.

    bounds of a kind     route            loop
    `Bounds`             `by_cuts`        cut generation (cutting_planes.py) with a master (masters/)
                         `compact`        none: a program of polynomial size, solved by CVXPY as a whole
    `SmoothBounds`       `descent`        L-BFGS, then Newton steps (smooth.py)
                         `declaration`    none: the CVXPY program, solved by the backend that was named
    `CappedBounds`       `search`         branch and bound (branch_and_bound.py)
    `DyadicBounds`       `factored`       dual ascent, then alternation (factored.py)

Whatever a route finds, the bounds alone say what the outcome proves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import summed
from workbench.arithmetic.compiled import available
from workbench.backends import BACKENDS, solve_cvxpy
from workbench.backends import backend as find_backend
from workbench.contracts import Cuts, Declared, Enumerable, Floats, Formulation, Ints, Labelled
from workbench.errors import BackendFailed, MissingCapability, OutOfMemory
from workbench.proofs.any_bounds import AnyBounds
from workbench.proofs.bounds import Bounds
from workbench.proofs.capped import CappedBounds
from workbench.proofs.dyadic import DyadicBounds
from workbench.proofs.smooth import SmoothBounds
from workbench.solving.branch_and_bound import search as branch_and_bound
from workbench.solving.cutting_planes import generate
from workbench.solving.factored import factored
from workbench.solving.family import Family
from workbench.solving.masters.choice import choose, make_master, successors_of_gram
from workbench.solving.masters.master import Master
from workbench.solving.masters.needs import DECLARED, demanded, fewer
from workbench.solving.masters.passes import Passes, passable
from workbench.solving.progress import Clock, Progress
from workbench.solving.request import Request
from workbench.solving.shards import Shards, engaged, told_of_threads
from workbench.solving.smooth import descend
from workbench.solving.solution import Outcome, versioned
from workbench.system.journal import Journal
from workbench.system.memory import demand

if TYPE_CHECKING:
    import cvxpy as cp

HEIRS = ("CLARABEL", "ECOS")  # backends that are tried one after the other; SCS would take minutes
MOST = 200_000  # rows of all outputs together, up to which an ascent about a moving centre starts with all of them
HUGE = 100_000  # entries of θ from which rounds under a time limit end at half of it, and passes have the rest
CAUTION = 0.1  # share of the requested gap by which a master raises hard rows of zero offset
Route = Callable[[Request, Journal | None], Outcome]


def route_for(bounds: AnyBounds, request: Request) -> Route:
    """The route that the kind of bounds, the formulation's declaration and the request ask for."""
    if isinstance(bounds, CappedBounds):
        return in_one_go(bounds.formulation, partial(search, bounds))
    if isinstance(bounds, DyadicBounds):
        return in_one_go(bounds.formulation, lambda request, _: factored(bounds, request))
    if isinstance(bounds, SmoothBounds):
        return in_one_go(bounds.formulation, partial(declaration if request.backend else descent, bounds))
    if isinstance(bounds.formulation, Declared) and bounds.formulation.declare == "compact":
        return in_one_go(bounds.formulation, partial(compact, bounds))
    return partial(by_cuts, bounds)


def in_one_go(formulation: Formulation, outcome_of: Route) -> Route:
    """A route without rounds of cuts: the journal's lines hold the beginning and the end of the run."""

    def route(request: Request, journal: Journal | None) -> Outcome:
        request.refuse_workers(formulation)
        outcome = outcome_of(request, journal)
        if journal and outcome.state.status != "limit" and not journal.finished:
            journal.append("end", {"status": outcome.state.status} | outcome.state.history[-1])
        return outcome

    return route


def by_cuts(bounds: Bounds, request: Request, journal: Journal | None) -> Outcome:
    """Cut generation on the formulation's lazy declaration, alone or with the workers that the request names."""
    with engaged(bounds, request) as (shards, told):
        outcome = cuts_with(shards, bounds, request, journal)
        outcome.state.predicted = shards and shards.predicted
    side = told_of_threads(bounds, request.threads)
    outcome.state.parallel = "; ".join(filter(None, [shards.told() if shards else told, side]))
    return outcome


def cuts_with(shards: Shards | None, bounds: Bounds, request: Request, journal: Journal | None) -> Outcome:
    """Passes or rounds of cut generation, as `choose` says; with workers, these answer for the oracle."""
    groups, caution = request.group_count(len(bounds.samples)), CAUTION * min(request.gap, 1e-4)
    family = Family(bounds, groups, caution=caution * bounds.oracle.least_loss, shards=shards)
    workers, counted = shards is not None, request.max_rounds is not None
    kind, chosen = choose(bounds, family.n_groups, request.master, request.backend, workers, counted)
    told = ""
    if kind == "gram" and request.groups is None and not family.hard and (few := fewer(bounds, groups)) < groups:
        told = f", {few} groups for want of memory"
        family = Family(bounds, few, caution=caution * bounds.oracle.least_loss, shards=shards)
    demanded(kind, bounds, family.n_groups)
    if kind in ("dual-block", "shards"):
        return by_passes(bounds, family, request, journal, shards if kind == "shards" else None)
    compiling = Clock()
    master = make_master(kind, family, chosen)
    if kind == "compiled":
        others = [] if request.backend else [BACKENDS[each] for each in HEIRS if BACKENDS[each].installed]
        master.successors = [partial(make_master, kind, family, other) for other in others if other is not chosen]
    elif kind == "gram" and request.backend is None and request.master is None and chosen is not None:
        master.successors = successors_of_gram(family, chosen)
    spent = compiling.spent
    held = []
    if kind == "ascent" and bounds.regularizer.curvature is None and len(bounds.samples) * labels_of(bounds) <= MOST:
        held = family.everything()
    elif len(bounds.regularizer.free):
        held = family.truths()
    if journal is None and shards is None and halved(bounds, request):
        state, cuts = in_halves(family, master, request, held, Clock(request.time_limit), spent[0])
    else:
        state, cuts = generate(family, master, request, held, journal), family.cuts
    from_truths(family, state)
    return Outcome(state, cuts, ", then ".join(map(named, state.masters)) + told, kind, *spent)


def halved(bounds: Bounds, request: Request) -> bool:
    """Whether rounds get half of the time limit and passes the rest: θ is long, and only the master is named."""
    more = request.max_rounds, request.backend, request.groups
    if request.time_limit is None or any(each is not None for each in more):
        return False
    return bounds.oracle.dim >= HUGE and available() and passable(bounds)


def in_halves(
    family: Family, master: Master, request: Request, held: list[Ints], clock: Clock, spent: float
) -> tuple[Progress, Cuts]:
    """Rounds in the first half of the time limit, and passes in the other if the rounds end there; the cuts.

    The first rounds of a long θ tell little: where masters are dear, few come before a limit.
    spent : seconds of the limit that making the master took
    """
    clock.deadline -= spent
    state = generate(family, master, request.within(max(clock.deadline / 2, 1e-3)), held)
    if state.status != "limit" or clock.left <= 0:
        return state, family.cuts
    passes = Passes(family, request.gap, request.observe)
    passes.learn(state)
    ended = alone(passes, clock, True)
    ended.masters = [*state.masters, "dual-block"]
    return ended, passes.cuts


def from_truths(family: Family, state: Progress) -> None:
    """Both ends of a run that a limit ended before its first master did: F at the start, all weight on the truths."""
    if np.isfinite(state.lower) or not state.history:
        return
    ids = np.concatenate(family.truths())
    prices = family.bounds.prices.floats()[family.cuts.samples[ids]]
    weights = summed(ids, np.zeros(len(ids)) if family.hard else prices, len(family.cuts))
    state.lower, state.weights = family.lower(weights, None), weights
    if np.isinf(state.upper):
        state.upper = family.bounds.upper(state.theta)
    ends = {"upper": state.upper, "lower": state.lower}
    state.history[-1] |= ends | {"gap": family.gap(state.upper, state.lower)}


def by_passes(
    bounds: Bounds, family: Family, request: Request, journal: Journal | None, shards: Shards | None = None
) -> Outcome:
    """Passes of dual-block; where they stand still, rounds of cut generation, and passes again where those crawl.

    With a journal, rounds follow the passes in any case, since rounds are what a journal keeps; but only one where
    rounding alone keeps the passes from the gap, which then is left to exact arithmetic.
    """
    compiling = Clock()
    passes = Passes(family, request.gap, None if journal else request.observe, journal, shards)
    spent, clock = compiling.spent, Clock(request.time_limit)
    kind = "shards" if shards else "dual-block"
    names = [kind]
    if not (journal and journal.entries):
        passes.run(clock)
    if passes.rounded and not journal:
        return Outcome(replace(passes.ended(), status="stalled"), passes.cuts, named(kind), kind, *spent)
    while journal or not (passes.reached or passes.late or clock.left <= 0):
        if why := crowded(family, passes):
            state = alone(passes, clock, request.time_limit is not None)
            state.said = why
            return Outcome(state, passes.cuts, ", then ".join(map(named, names)), kind, *spent)
        resumed = journal is not None and bool(journal.entries)  # then the cuts are those of its lines, in their order
        held, warm, progress = ([], None, None) if resumed else passes.handed()
        master = make_master("dual-block", family, None)
        rest = request if request.time_limit is None else request.within(max(clock.left, 1e-3))
        if journal:
            rounded = passes.rounded or journal.finished
            rest = replace(rest, max_rounds=1) if rounded else rest
            state = generate(family, master, rest, held, journal, warm)
            state.before = state.before if resumed else passes.before
            if rounded and state.status == "limit":
                state.status = "stalled"
                journal.append("end", {"status": state.status} | state.history[-1])
        else:
            state = generate(family, master, rest, held, None, warm, progress)
        names += [each for each in state.masters if each not in names]
        if state.status != "crawls":
            return Outcome(state, family.cuts, ", then ".join(map(named, names)), kind, *spent)
        passes.learn(state)
        passes.finishing.patient = 2 * passes.ascent.passes
        passes.run(clock)
    return Outcome(passes.ended(), passes.cuts, ", then ".join(map(named, names)), kind, *spent)


def crowded(family: Family, passes: Passes) -> str:
    """Why no rounds can follow the passes: the sentence on the memory of their master; "" where there is room."""
    try:
        demanded("gram" if family.hard else "ascent", family.bounds, int(np.count_nonzero(passes.duals[2])))
    except OutOfMemory as lacking:
        return f"only passes: {lacking}"
    return ""


def alone(passes: Passes, clock: Clock, limited: bool) -> Progress:
    """Passes in place of rounds: to the gap, to the time limit, or, without one, until more gain too little."""
    while not (passes.reached or passes.late or clock.left <= 0):
        before, passes.finishing.patient = passes.gap, 2 * passes.ascent.passes
        passes.run(clock)
        if not limited and not passes.gap < 0.5 * before:
            return replace(passes.ended(), status="stalled")
    return passes.ended()


def labels_of(bounds: Bounds) -> float:
    """The number of outputs of a sample, if each output is a single label; else ∞."""
    problem = bounds.problem
    if isinstance(problem, Labelled) and isinstance(problem, Enumerable) and bounds.problem.width == 1:
        return len(problem.classes)
    return np.inf


def named(master: str) -> str:
    """The name of a master's solver with its version."""
    return f"{master} {BACKENDS[master].version}" if master in BACKENDS else versioned(master)


def compact(bounds: Bounds, request: Request, _: Journal | None) -> Outcome:
    """The compact declaration, solved by CVXPY without cuts and certified by the same bounds."""
    clock = Clock()
    assert isinstance(bounds.formulation, Declared)  # `route_for` asked
    program, w, atoms = bounds.formulation.compact_program(bounds.problem)
    spent = clock.spent
    theta, status, backend = solved_whole(program, w, request.backend or "CLARABEL", request.time_limit)
    cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
    samples, witnesses, weights = atoms()
    mu = summed(cuts.add(samples, witnesses, bounds.oracle.rows), weights, len(cuts))
    state = Progress(theta, theta, mu, bounds.upper(theta), bounds.lower(cuts, mu), "stalled", said=status)
    only_round(bounds, state, len(cuts), clock.seconds - spent[0])
    return Outcome(state, cuts, backend, "compact", *spent)


def solved_whole(
    program: cp.Problem, variable: cp.Variable, name: str, time_limit: float | None
) -> tuple[Floats, str, str]:
    """θ, CVXPY's status, and the backend with its version, of a program that the backend solves as a whole."""
    chosen = find_backend(name)
    demand(declared_size(program), "The declared program", "use declare=cuts, or name no backend")
    status = solve_cvxpy(program, chosen.name, time_limit=time_limit)
    if variable.value is None:
        raise BackendFailed(f"{chosen.name} ended the declared program with {status!r}; try another backend.")
    return np.asarray(variable.value, float), status, named(chosen.name)


def declared_size(program: cp.Problem) -> float:
    """An estimate of the bytes that a backend takes for a program written out in CVXPY."""
    values = [constant.value for constant in program.constants()]
    entries = sum(value.nnz if sparse.issparse(value) else np.size(value) for value in values)
    sizes = sum(each.size for each in (*program.variables(), *program.constraints))
    return DECLARED * (entries + sizes)


def declaration(bounds: SmoothBounds, request: Request, _: Journal | None) -> Outcome:
    """The CVXPY program of a smooth form, solved by the backend that was named."""
    request.refuse_cuts(bounds.formulation)
    clock = Clock()
    program, variable = bounds.formulation.program(bounds.problem)
    spent = clock.spent
    name = str(request.backend)  # `route_for` comes here only with a name
    theta, status, backend = solved_whole(program, variable, name, request.time_limit)
    lower, upper = bounds.ends(*bounds.enclosed(theta))
    state = Progress(theta, theta, upper=upper, lower=lower, status="stalled", said=status)
    only_round(bounds, state, 0, clock.seconds - spent[0])
    return Outcome(state, no_cuts(bounds), backend, "declared", *spent)


def descent(bounds: SmoothBounds, request: Request, journal: Journal | None) -> Outcome:
    """Our own descent of a smooth form."""
    from scipy import __version__ as release  # its metadata take milliseconds to read

    request.refuse_cuts(bounds.formulation)
    state = descend(bounds, request, journal)
    own = f", then {versioned('newton')}" if "newton" in state.masters else ""
    return Outcome(state, no_cuts(bounds), f"SciPy {release} L-BFGS-B{own}", "lbfgs")


def search(bounds: CappedBounds, request: Request, journal: Journal | None) -> Outcome:
    """Our own branch and bound; its tree proves the lower bound."""
    if not request.backend is request.groups is request.master is None:
        name = type(bounds.formulation).__name__
        raise MissingCapability(f"{name} is solved by a search of our own; leave out backend, groups and master.")
    state, tree, spent = branch_and_bound(bounds, request, journal)
    return Outcome(state, no_cuts(bounds), versioned("branch and bound"), "search", *spent, tree=tree)


def only_round(bounds: AnyBounds, state: Progress, cuts: int, seconds: float) -> None:
    """Record the one round of a program that a backend solved as a whole."""
    gap, active = bounds.gap(state.upper, state.lower), int((state.weights > 0).sum())
    state.record(state.entry(1, gap, cuts, active, (seconds, 0.0, seconds)), None)


def no_cuts(bounds: AnyBounds) -> Cuts:
    return Cuts(bounds.oracle.dim, bounds.problem.width)
