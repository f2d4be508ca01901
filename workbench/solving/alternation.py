"""`solve` of an alternation: each convex program is certified, the alternation as a whole has no bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from workbench.contracts import CutForm, Majorized, Numbers, Problem
from workbench.errors import BadInput
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.certificate import Certificate, checked_arrays
from workbench.proofs.exact import sharpened
from workbench.solving.majorize import alternate
from workbench.solving.request import Request
from workbench.solving.solution import Solution, train_error
from workbench.system.journal import Entry, Journal


def alternating(
    formulation: Majorized,
    problem: Problem,
    request: Request,
    journal: Journal | None,
    solve: Callable[..., Solution],
) -> Solution:
    """Run the alternation to its end; the certificate of the solution is that of the last convex program.

    solve : answers a convex program to the request's gap, `solve(convex, problem, **options)`
    """
    if journal and journal.entries and request.gap < journal.settings["options"]["gap"]:
        raise BadInput(
            f"The rounds of the run in {journal.run} were solved to a gap of {journal.settings['options']['gap']}; "
            f"for a smaller gap solve into another folder."
        )
    inner_solve = partial(solve, **{**request.options, "polish": False}, source=request.source)
    end = alternate(formulation, problem, inner_solve, request, journal, partial(recalled, source=request.source))
    if journal and end.status != "limit" and not journal.finished:
        spent = {"seconds": end.seconds, "cpu_seconds": end.cpu_seconds}  # writing the last round included
        journal.append("end", {"status": end.status, "gap": max(entry["inner_gap"] for entry in end.history)} | spent)
    inner = end.inner
    assert inner is not None  # every start makes a round
    about = {"formulation": type(formulation).__name__, "status": end.status}
    remark = "an alternation proves no optimum, so there is no fraction to look for"
    return replace(
        inner,
        formulation=formulation,
        upper=formulation.value(problem, inner.theta_flat),
        lower=np.nan,
        gap=np.nan,
        status=end.status,
        rounds=len(end.history),
        seconds=end.seconds,
        cpu_seconds=end.cpu_seconds,
        compile_seconds=0.0,
        certificate=replace(inner.certificate, alternation=about, remark=remark),
        history=end.history,
        lower_kind="none",
        own_status=f"cycle of {end.cycle}" if end.status == "cycle" else "",
    )


def recalled(formulation: CutForm, problem: Problem, line: Entry, source: Numbers | None = None) -> Solution:
    """The solution of a convex program from its line in a journal, with both bounds computed anew.

    A gap that needed rational arithmetic in the first run is reached in rational arithmetic again.
    """
    bounds, inner, gap = bounds_for(formulation, problem), line.numbers["inner"], line.numbers["gap"]
    words = {"status": inner["status"], "backend": inner["backend"], "source": source or {}}
    certificate = Certificate(
        formulation, problem, **checked_arrays(line.arrays(), problem), upper=np.inf, lower=-np.inf, gap=np.inf, **words
    )
    lower, upper = map(float, certificate.recheck())
    certificate = replace(certificate, lower=lower, upper=upper, gap=bounds.gap(upper, lower))
    if certificate.gap > gap:
        certificate = sharpened(certificate, gap, certificate.theta)
    theta, ends = bounds.repaired(certificate.theta), ("upper", "lower", "gap")
    fields = inner | {name: vars(certificate)[name] for name in ends} | {"train_error": train_error(bounds, theta)}
    return Solution(formulation, problem, theta, certificate=certificate, **fields)
