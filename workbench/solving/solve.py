"""`solve`: the certified optimum of a formulation on a problem, by the loop that its kind asks for.

    request      the arguments, checked once                                      (request.py)
    bounds       upper and lower bounds of the pair, from the data alone          (proofs/any_bounds.py)
    route        which loop runs, with which master and which backend             (routes.py, masters/choice.py)
    outcome      where the run ended, with the cuts or the tree found on the way  (solution.py)
    certificate  what the bounds prove of the outcome                             (solution.py)

A formulation that is given only as a CVXPY program (`TextForm`) is solved by a separate loop (text.py). An alternation
as a whole has no bounds; `solve` certifies each of its convex programs instead (alternation.py).
"""

from __future__ import annotations

from pathlib import Path

from workbench.contracts import Formulation, Majorized, Numbers, Problem, Recording
from workbench.errors import MissingCapability
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.text import TextBounds
from workbench.solving.alternation import alternating
from workbench.solving.progress import Clock, Observe
from workbench.solving.recording import journalled
from workbench.solving.request import Request, checked_formulation
from workbench.solving.routes import route_for
from workbench.solving.shards import threaded
from workbench.solving.solution import Solution, certified, solution
from workbench.system.journal import Journal


def solve(
    formulation: Formulation,
    problem: Problem,
    gap: float = 1e-9,
    backend: str | None = None,
    groups: int | str | None = None,
    master: str | None = None,
    time_limit: float | None = None,
    max_rounds: int | None = None,
    observe: Observe | None = None,
    polish: bool = False,
    journal: str | Path | Journal | None = None,
    source: Numbers | None = None,
    parallel: str | None = None,
    threads: int | None = None,
) -> Solution:
    """Solve to a certified relative gap.

    Parameters
    ----------
    formulation, problem : what to minimise, such as SoftMargin(), over which data, such as Multiclass(X, y)
    gap : stop when (upper − lower)/size ≤ gap, both bounds recomputed from the data
    backend : a convex solver such as CLARABEL, ECOS, OSQP, PIQP or SCS; None picks one
    groups : rows that each round adds: "all" (one per sample, n-slack), "one" (one-slack) or a number; None means all
    master : "dual-block", "shards" (with `parallel`), "ascent", "gram", "compiled" or None (by masters/choice.py)
    time_limit, max_rounds : end with status `limit` beyond these (seconds, rounds), counted from this call
    observe : called with a dict after each round
    polish : after the run, look for the exact optimum, a fraction (proofs/exact.py): `certificate.optimum`;
        without one `certificate.remark` gives the reason
    journal : a folder that keeps each finished round (system/journal.py), or a `Journal`: an interrupted run
        continues with `journal=Journal.resume(folder)`
    source : the origin of the problem (`name`, `settings`), for the certificate and the journal
    parallel : workers for the oracle: "local:2" for two processes, "dask://HOST:PORT" for a cluster (solving/shards.py)
    threads : the number of threads for sweeps of a compiled oracle and for passes over many samples, from 1 to 4 per
        core; the same number gives the same result where no time limit is set

    Raises
    ------
    NotSeparable : hard margins on data that no weights separate
    Contradiction : a lower bound above an upper bound, by a bug in the problem's argmax, features or loss, or ours
    MissingCapability : the formulation, the problem and the options do not fit together
    BadInput : an argument that no method could use
    BackendFailed : a convex solver crashed or returned no weights
    """
    asked = gap, backend, groups, master, time_limit, max_rounds
    request = Request(*asked, observe, polish, parallel, threads, source or {})
    formulation = checked_formulation(formulation, problem)
    if isinstance(problem, Recording):
        problem.vet()
    if isinstance(formulation, Majorized):
        request.refuse_workers(formulation)
        with journalled(journal, formulation, problem, request) as record:
            return alternating(formulation, problem, request, record, solve)
    clock = Clock()
    bounds = bounds_for(formulation, problem)
    if isinstance(bounds, TextBounds):
        if journal is not None:
            raise MissingCapability(
                f"{bounds.name} is a text without closed forms, whose run keeps no journal; leave it out."
            )
        from workbench.solving.text import solved_text  # with CVXPY, which other routes may do without

        return solved_text(bounds, request, clock)
    route = route_for(bounds, request)
    with threaded(bounds, request.threads):
        if request.parallel is None:  # with workers this is computed later, while they evaluate the oracle
            bounds.tried()
        with journalled(journal, formulation, problem, request) as record:
            outcome = route(request, record)
        return solution(bounds, outcome, certified(bounds, outcome, request), clock)
