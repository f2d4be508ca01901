"""`solve` for a formulation that is its CVXPY text alone: cutting planes, then both ends of one certificate.

The text is a `LazyProblem` whose family the oracle generates: a row ⟨a, θ⟩ + o ≤ ξ_g for each sample whose highest cut
the master misses, from the rows of the true outputs on. Then, about the convex program with the generated rows,

    lower   `wb.prove` of that program: to leave cuts out can only lower the minimum
    upper   `wb.prove` of the same program with θ fixed and ξ ≥ H, H_i ≥ h_i(θ) the oracle's values rounded outward:
            its point (θ, ξ, …) satisfies every cut, generated or not, if the oracle is right

Both ends stand in one certificate, the dual vectors of the first and the point of the second. `cutbench verify` proves
the interval for the program with the generated rows. For the program with all cuts the interval rests on the oracle
(`conditions`), which a text alone gives the checker no means to repeat.

No closed form helps: no block ascent, no conjugate, one compiled program a round and two proofs at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy import sparse

from workbench.arithmetic.intervals import Interval, matvec
from workbench.contracts import Floats, Ints, Rows
from workbench.errors import MissingCapability
from workbench.programs.program import Program, program_of
from workbench.programs.proof import Proof
from workbench.programs.prove import joined, prove_program
from workbench.proofs.certificate import Certificate
from workbench.proofs.ends import above, below
from workbench.proofs.text import TextBounds
from workbench.solving.lazy import LazyConstraint, LazyProblem, LazySolution
from workbench.solving.lazy_rows import LazyRow
from workbench.solving.progress import Clock
from workbench.solving.request import Request
from workbench.solving.solution import Solution, train_error

NEAR = 1e-6  # slack of a row that counts as none
CAUTIONS = (0.0, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7)  # by which rows without ξ are tightened until θ satisfies all cuts


class TextProblem(LazyProblem):
    """The program of a text, with the oracle's cuts on demand."""

    def __init__(self, bounds: TextBounds):
        text = bounds.text
        members = [*text.theta, *([] if text.xi is None else [text.xi])]
        self.bounds, self.members = bounds, members
        super().__init__(bounds.program.objective, bounds.program.constraints, [LazyConstraint(members, list)])
        truth = bounds.problem.truth[bounds.samples]
        for row in self.rows(truth) if text.xi is not None else ():
            self.pool.add(row)  # without ξ ≥ 0 the first master would be unbounded

    @property
    def values(self) -> Floats:
        """The variables' values, one after the other, as rows count them."""
        held = [np.asarray(each.value).ravel(order="F") for each in self.variables]
        return np.concatenate(held).astype(float)

    @property
    def theta(self) -> Floats:
        """θ, from the variables' values."""
        return np.concatenate([np.ravel(each.value) for each in self.bounds.text.theta]).astype(float)

    def violated(self) -> Iterator[LazyRow]:
        """The row of the highest cut of each sample at the variables' values."""
        return self.rows(self.bounds.oracle.argmax(self.theta, self.bounds.samples))

    def rows(self, witnesses: Ints) -> Iterator[LazyRow]:
        """The rows of these witnesses, one a sample."""
        bounds, text = self.bounds, self.bounds.text
        slopes, offsets = bounds.oracle.rows(bounds.samples, witnesses)
        offsets = offsets - bounds.oracle.offset_error(bounds.samples)
        columns = np.concatenate([np.arange(self.pool.dim)[self.place[each.id]] for each in text.theta])
        slack = None if text.xi is None else np.arange(self.pool.dim)[self.place[text.xi.id]]
        slopes.sort_indices()
        for k, (a, b) in enumerate(zip(slopes.indptr, slopes.indptr[1:], strict=False)):
            used, values = columns[slopes.indices[a:b]], slopes.data[a:b]
            if slack is not None:
                used, values = np.append(used, slack[k]), np.append(values, -1.0)
            if len(used):
                yield LazyRow(used, np.asarray(values, float), float(offsets[k]))

    def lifted(self, *values: Floats) -> tuple[Floats, ...]:
        """The variables' values with H in ξ's place."""
        theta = np.concatenate([np.ravel(each) for each in values[:-1]]).astype(float)
        return (*values[:-1], self.bounds.heights(theta))


@dataclass
class TextCertificate(Certificate):
    """What is proven of a text: `proof`, about the program with the cuts generated, and what the rest rests on."""

    proof: Proof | None = None
    conditions: list[str] = field(default_factory=list)

    def save(self, stem: str | Path) -> Path:
        if self.proof is None:
            raise MissingCapability(
                f"Nothing is proven about {type(self.formulation).__name__}, so there is no certificate to save; ask "
                "for a larger gap, or bound the variables of its text."
            )
        return self.proof.save(stem)

    def recheck(self) -> tuple[float, float]:
        if self.proof is None or self.proof.lower is None or self.proof.upper is None:
            return -np.inf, np.inf
        return below(self.proof.lower), above(self.proof.upper)


def solved_text(bounds: TextBounds, request: Request, clock: Clock) -> Solution:
    """The certified answer; see the module's docstring."""
    refuse(bounds, request)
    lazy = TextProblem(bounds)
    repair = None if bounds.text.xi is None else lazy.lifted
    options = {"time_limit": request.time_limit, "max_rounds": request.max_rounds, "observe": request.observe}
    found = lazy.solve(request.gap / 4, request.backend, floor=bounds.floor, repair=repair, prove=False, **options)
    proof, theta = proven(lazy, request.gap, request.time_limit)
    lower = -np.inf if proof is None or proof.lower is None else below(proof.lower)
    upper = np.inf if proof is None or proof.upper is None else above(proof.upper)
    gap = bounds.gap(upper, lower)
    status = "optimal" if gap <= request.gap else "limit" if found.status == "limit" else "stalled"
    empty, none = np.empty(0, np.int64), np.empty((0, bounds.oracle.width), np.int64)
    words = {"status": status, "backend": found.backend, "source": request.source}
    words["remark"] = "a text without closed forms proves an interval, by `wb.prove`"
    ends = {"upper": upper, "lower": lower, "gap": gap}
    certificate = TextCertificate(
        bounds.formulation, bounds.problem, theta, empty, none, np.empty(0), **ends, **words,
        proof=proof, conditions=bounds.conditions,
    )  # fmt: skip
    return answer(bounds, found, certificate, clock)


def refuse(bounds: TextBounds, request: Request) -> None:
    """One sentence for options that a text has no use for."""
    for name, value in {"groups": request.groups, "master": request.master, "polish": request.polish or None}.items():
        if value is not None:
            raise MissingCapability(f"{bounds.name} is a text without closed forms and takes no {name}; leave it out.")


def answer(bounds: TextBounds, found: LazySolution, certificate: TextCertificate, clock: Clock) -> Solution:
    """The solution that a certificate proves, with the record of the run."""
    last = found.history[-1]
    return Solution(
        formulation=bounds.formulation,
        problem=bounds.problem,
        theta_flat=certificate.theta,
        upper=certificate.upper,
        lower=certificate.lower,
        gap=certificate.gap,
        status=certificate.status,
        backend=found.backend,
        master="text",
        cuts=found.rows,
        rounds=found.rounds,
        seconds=clock.seconds - found.compile_seconds,
        cpu_seconds=clock.cpu_seconds,
        compile_seconds=found.compile_seconds,
        oracle_seconds=last["oracle_seconds"],
        master_seconds=last["master_seconds"],
        train_error=train_error(bounds, certificate.theta),
        certificate=certificate,
        history=found.history,
        lower_kind="proven",
        blocks=bounds.blocks,
    )


# ── the proof ─────────────────────────────────────────────────────────────────────────────────────────


def proven(lazy: TextProblem, gap: float, time_limit: float | None) -> tuple[Proof | None, Floats]:
    """The proof about the program with generated rows, with an upper end where one is found, and its θ.

    Rows that hold with equality, nearly, come first: others only cost accuracy, since a lower end that is moved inwards
    pays for the slack of every row.
    """
    rows, best, point, theta = lazy.pool.take(lazy.pool.handles()), None, *upper_end(lazy, time_limit)
    slack = -(rows.slopes @ lazy.values + rows.offsets)
    for chosen in (slack <= NEAR, slack < np.inf):
        found = prove_program(program(lazy, rows.take(chosen)), time_limit=time_limit)
        if found.lower is None:
            continue
        found = (point and joined(found, point)) or alone(found)
        assert found.lower is not None  # neither drops it
        best = found if best is None or best.lower is None or found.lower > best.lower else best
        lower, upper = best.lower, best.upper
        if lower is not None and upper is not None and lazy.bounds.gap(above(upper), below(lower)) <= gap:
            break
    return best, theta


def alone(lower: Proof) -> Proof:
    """The proof of a lower end without the point, which satisfies the generated rows only."""
    claim = lower.claim._replace(x=None, w=lower.claim.w or lower.claim.x)
    return replace(lower, kind="bounded", claim=claim, upper=None, remark="no point that satisfies every cut was found")


def upper_end(lazy: TextProblem, time_limit: float | None) -> tuple[Proof | None, Floats]:
    """The proof whose point satisfies every cut, and its θ; None where no such point was found."""
    bounds, first = lazy.bounds, lazy.theta
    for caution in CAUTIONS if bounds.text.xi is None else CAUTIONS[:1]:
        theta = tightened(lazy, caution) if caution else first
        heights = above_rows(lazy, theta)
        if bounds.text.xi is None and heights.max(initial=0.0) > 0:
            continue
        point = prove_program(program(lazy, Rows.none(lazy.pool.dim), theta, heights), time_limit=time_limit)
        if point.claim.x is not None:
            return point, theta
    return None, first


def above_rows(lazy: TextProblem, theta: Floats) -> Floats:
    """H (groups,) at θ: the maxima over all outputs, and no less than the generated rows, which features may round."""
    heights, text = lazy.bounds.sharp_heights(theta), lazy.bounds.text
    rows, x = lazy.pool.take(lazy.pool.handles()), np.zeros(lazy.pool.dim)
    for variable, part in zip(text.theta, np.split(theta, np.cumsum([v.size for v in text.theta])[:-1]), strict=True):
        x[lazy.place[variable.id]] = part
    values = (matvec(rows.slopes, Interval(x)) + Interval(rows.offsets)).hi
    if text.xi is None:
        return np.maximum(heights, values.max(initial=-np.inf))
    np.maximum.at(heights, sparse.csr_array(rows.slopes[:, lazy.place[text.xi.id]]).indices, values)
    return heights


def tightened(lazy: TextProblem, caution: float) -> Floats:
    """θ of the program whose rows hold by a margin of `caution`."""
    master, rows = lazy.master(lazy.base, None), lazy.pool.take(lazy.pool.handles())
    master.append(rows._replace(offsets=rows.offsets + caution))
    lazy.assign(master.solve(1e-12, 0.0).theta)
    return lazy.theta


def program(lazy: TextProblem, rows: Rows, theta: Floats | None = None, heights: Floats | None = None) -> Program:
    """The text's compiled program with these rows; with `theta` also θ fixed there, and ξ ≥ `heights`."""
    base, text = lazy.base, lazy.bounds.text
    cone, place = base.extended(rows)
    names = ["" if not place.start <= k < place.stop else f"cut {k - place.start + 1}" for k in range(len(cone.b))]
    A, b, split = sparse.csr_array(cone.A), cone.b, cone.zero + cone.nonneg
    fixed, raised = np.empty(0, np.int64), np.empty(0, np.int64)
    if theta is not None:
        fixed = np.concatenate([base.theta[lazy.place[each.id]] for each in text.theta])
        raised = raised if text.xi is None else base.theta[lazy.place[text.xi.id]]
        heights = np.empty(0) if text.xi is None or heights is None else heights
        unit = sparse.csr_array(sparse.eye_array(A.shape[1]))
        A = sparse.vstack([unit[fixed], A[:split], -unit[raised], A[split:]], format="csr")
        b = np.concatenate([theta, b[:split], -heights, b[split:]])
        names = []
    about = f"{lazy.bounds.name} on {type(lazy.bounds.problem).__name__} with {len(rows.offsets)} generated cuts"
    return program_of(
        cone.P, cone.q, A, b, cone.zero + len(fixed), cone.nonneg + len(raised), cone.soc, cone.exp,
        constant=base.offset, rows=names, name=about, source={"generated": str(len(rows.offsets))},
    )  # fmt: skip
