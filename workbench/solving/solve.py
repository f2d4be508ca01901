"""`solve`: the certified optimum of a formulation on a problem, by the loop that its kind asks for.

    request      what is asked, checked once                                   (request.py)
    bounds       both bounds of the pair, from the data alone                  (proofs/door.py)
    route        how the run is made: which loop, which master, which backend  (routes.py, masters/choice.py)
    certificate  what the bounds say of the answer                             (solution.py)

An alternation has no bounds of its whole; `solve` answers each of its convex programs instead (alternation.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.contracts import Majorized, Problem, Recording
from workbench.proofs.door import bounds_for
from workbench.solving.alternation import alternating
from workbench.solving.progress import Clock, Observe
from workbench.solving.recording import journalled
from workbench.solving.request import Formulation, Request, checked_formulation
from workbench.solving.routes import route_for
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
    source: dict[str, Any] | None = None,
) -> Solution:
    """Solve to a certified relative gap.

    Parameters
    ----------
    gap : stop when (upper − lower)/size ≤ gap, both recomputed from the data
    backend : CLARABEL, ECOS, OSQP, PIQP, SCS, …; None picks one
    groups : rows a round: "all" (n-slack), "one" (one-slack) or a number; None means all
    master : "dual-block", "ascent", "gram", "compiled" or None (picked as masters/choice.py says)
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
    Contradiction : a lower bound above an upper one: a bug in the problem's argmax, features or loss, or in ours
    MissingCapability, BadInput, BackendFailed : one sentence each
    """
    request = Request(gap, backend, groups, master, time_limit, max_rounds, observe, polish, source or {})
    formulation = checked_formulation(formulation, problem)
    if isinstance(problem, Recording):
        problem.vet()
    if isinstance(formulation, Majorized):
        with journalled(journal, formulation, problem, request) as kept:
            return alternating(formulation, problem, request, kept, solve)
    clock = Clock()
    bounds = bounds_for(formulation, problem)
    route = route_for(bounds, request)
    with journalled(journal, formulation, problem, request) as kept:
        answer = route(request, kept)
    return solution(bounds, answer, certified(bounds, answer, request), clock)
