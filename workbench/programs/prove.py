"""`prove`: what a convex program's optimum is, or why it has none, as a proof that trusts no solver.

    exact numbers of the reading → proposals of backends → exact vectors → the checker's `check` → `Proof`

In order: P is shown to be positive semidefinite, or not; a linear program is solved from a simplex basis (linear.py), a
quadratic one from an active set (quadratic.py), so that the optimum is a fraction; where there is none, rays prove the
program infeasible or unbounded (rays.py); what is left, and programs over other cones, gets proven ends (ladder.py).
Nothing counts before `workbench.proofs.checker` agrees: it is asked about every conclusion, with the vectors alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from workbench.arithmetic.rationals import Ratios
from workbench.backends import ConeProgram
from workbench.backends.simplex import installed
from workbench.contracts import Floats, Ints
from workbench.errors import BadInput, UnknownName
from workbench.programs import ladder
from workbench.programs.curvature import bent, bent_exactly, factor
from workbench.programs.linear import INFEASIBLE, OPTIMAL, UNBOUNDED, spread, vertex
from workbench.programs.program import Exact, Program, exact
from workbench.programs.proof import UNKNOWN, Proof
from workbench.programs.quadratic import stationary
from workbench.programs.rays import descent, farkas, feasible, projected, relaxed
from workbench.proofs.checker.cones import Cones
from workbench.proofs.checker.convexity import semidefinite
from workbench.proofs.checker.programs import Claim, Finding, Numbers, check

FAR = 1e-6  # a gap beyond which all rungs are tried
NEAR = 1e-6  # slack of a row that counts as none, of the largest right-hand side


def prove_program(
    program: Program,
    reading: str = "float",
    backend: str | None = None,
    time_limit: float | None = None,
    start: tuple[Floats, Floats] | None = None,
) -> Proof:
    """The proof for a `Program`; see the module's docstring.

    backend : who proposes, or None for all in turn
    start : x and multipliers from which an active set is read first, whoever they are from
    """
    if backend is not None and backend.upper() not in ladder.BACKENDS:
        raise UnknownName("backend", backend, ladder.BACKENDS)
    began, cpu = time.perf_counter(), time.process_time()
    search = Search(program, reading, backend and backend.upper(), time_limit)
    search.start = start
    found = search.run()
    found.seconds, found.cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
    return found


class Search:
    """One program on its way to a proof: its exact numbers, as the prover and as the checker take them."""

    def __init__(self, program: Program, reading: str, backend: str | None, time_limit: float | None):
        self.program, self.reading, self.backend = program, reading, backend
        self.deadline = None if time_limit is None else time.perf_counter() + time_limit
        self.e = exact(program, reading)
        self.numbers = numbers_of(self.e)
        self.start: tuple[Floats, Floats] | None = None
        self.curved, self.root = bool(len(self.e.P.rows)), None
        self.by = backend or ""
        self.held: np.ndarray | None = None  # prices that are 0

    def run(self) -> Proof:
        if self.curved:
            if proof := self.concluded("nonconvex", {"d": bent(self.e)}):
                return proof
            self.root = factor(self.e)
            if not semidefinite(*self.numbers.P, self.e.shape[1], self.root):
                return self.concluded("nonconvex", {"d": bent_exactly(self.e)}) or self.unknown("P is not convex")
        half = None
        for attempt in self.attempts():
            if (found := attempt()) is not None and (found.kind != "bounded" or np.isfinite(found.width)):
                return found
            half = found or half
            if self.left is not None and self.left <= 0:
                return half or self.unknown("the time limit came first")
        refused = ladder.supports(ladder.BACKENDS[self.backend], self.program.cone) if self.backend else None
        why = refused.partition(";")[0] if refused else "no backend's answer could be corrected to a proof"
        return half or self.unknown(why)

    def attempts(self) -> Iterator[Callable[[], Proof | None]]:
        """What is tried, in order."""
        if not self.program.linear:
            _, answer = next(ladder.answers(self.program.cone, self.backend, self.left), ("", None))
            rays = (self.linear_rows, self.conic_rays)
            hopeless = answer is None or answer.infeasible or not np.isfinite(answer.x).all()
            return iter((*rays, self.between) if hopeless else (self.between, *rays))
        first = self.linear if installed() and not self.curved and self.backend in (None, "HIGHS") else self.quadratic
        rays = (self.infeasible, self.unbounded) if installed() else (self.conic_rays,)
        slow = () if self.backend or first == self.linear else (lambda: self.quadratic(ladder.LATER),)
        return iter((*([self.given] if self.start else []), first, *rays, *slow, self.between))

    @property
    def left(self) -> float | None:
        return None if self.deadline is None else self.deadline - time.perf_counter()

    # ── conclusions ──

    def concluded(self, kind: str, vectors: Mapping[str, Ratios | None], remark: str = "") -> Proof | None:
        """The proof by these vectors of a `Claim`, if the checker agrees."""
        given = {name: None if x is None else (x.whole.tolist(), x.unit) for name, x in vectors.items()}
        claim = Claim(**given, root=self.root if self.curved and given.get("y") is not None else None)
        found: Finding = check(self.numbers, kind, claim)
        if not found.proven:
            return None
        lower, upper = found.lower, found.upper
        if self.program.sign < 0:
            lower, upper = (None if end is None else -end for end in (upper, lower))
        kind = where_ends_meet(kind, found)
        return Proof(self.program, self.reading, kind, claim, lower, upper, found.rows, remark, self.by)

    def unknown(self, why: str) -> Proof:
        return Proof(self.program, self.reading, UNKNOWN, Claim(), remark=why, backend=self.by)

    # ── attempts ──

    def given(self) -> Proof | None:
        """From the values at hand: rows with a price above their slack hold with equality, or those without slack."""
        assert self.start is not None
        (x, z), cone = self.start, self.program.cone
        slack, self.by = cone.b - cone.A @ x, "the values at hand"
        near = np.where(slack <= NEAR * max(1.0, np.abs(cone.b).max(initial=0.0)), 1.0, 0.0) * (1 + np.abs(slack))
        found = stationary(self.e, x, z if z.any() else near, slack)
        return found and self.concluded(OPTIMAL, {"x": found[0], "y": found[1]})

    def linear(self) -> Proof | None:
        self.by = "HIGHS"
        found = vertex(self.e.q, self.e.A, self.e.b, self.e.zero)
        self.says = found.status
        return self.concluded(OPTIMAL, {"x": found.x, "y": found.y}) if found.status == OPTIMAL else None

    def quadratic(self, names: tuple[str, ...] = ladder.FIRST) -> Proof | None:
        cone = self.program.cone
        for name, answer in ladder.answers(cone, self.backend, self.left, names):
            if np.isfinite(answer.x).all() and np.isfinite(answer.z).all():
                self.by, slack = name, cone.b - cone.A @ answer.x
                found = stationary(self.e, answer.x, answer.z, slack)
                if found and (proof := self.concluded(OPTIMAL, {"x": found[0], "y": found[1]})):
                    return proof
        return None

    def infeasible(self) -> Proof | None:
        """By an irreducible ray; else by the prices of the least change that would make the rows feasible."""
        if proof := self.concluded(INFEASIBLE, {"y": farkas(self.e)}):
            return proof
        if (change := relaxed(self.e)) is None:
            return None
        remark = f"right-hand sides changed by {change.size:.2g} in all would make it feasible"
        few = self.among(np.flatnonzero(change.y.whole), remark)
        return few or self.concluded(INFEASIBLE, {"y": change.y}, remark)

    def among(self, rows: Ints, remark: str = "") -> Proof | None:
        """An irreducible contradiction among these linear rows."""
        equal = int((rows < self.e.zero).sum())
        b = Ratios(self.e.b.whole[rows], self.e.b.unit)
        part = self.e._replace(A=self.e.A.take(rows=rows), b=b, zero=equal, nonneg=len(rows) - equal, soc=(), exp=0)
        y = farkas(part) if len(rows) else None
        return None if y is None else self.concluded(INFEASIBLE, {"y": spread(y, rows, self.e.shape[0])}, remark)

    def linear_rows(self) -> Proof | None:
        """The linear rows of a conic program contradict one another on their own."""
        return self.among(np.arange(self.e.zero + self.e.nonneg)) if installed() else None

    def unbounded(self) -> Proof | None:
        d = descent(self.e)
        return None if d is None else self.concluded(UNBOUNDED, {"x": feasible(self.e), "d": d})

    def between(self) -> Proof | None:
        """Both ends by the ladder, each from the first rung that proves one; if they are far apart, from any."""
        x = self.near() if self.program.linear and installed() else self.climbed("x")
        vectors = x | (self.climbed("w", "y") or self.nearly())
        proof = self.concluded("bounded", vectors)
        if not self.program.linear and (proof is None or proof.gap > FAR):
            self.held = ladder.faint(self.program.cone, self.backend, self.left)
            vectors |= self.climbed("x", rungs=(None, *ladder.RUNGS) if x else (None,))
            vectors |= self.climbed("w", "y", rungs=(None, *ladder.RUNGS))
            x = {name: vectors[name] for name in vectors.keys() & {"x"}}
        names = ("upper", "lower") if self.program.sign > 0 else ("lower", "upper")
        sides = [side for side, has in zip(names, (x, vectors.get("y")), strict=True) if not has]
        why = "no corrected answer satisfied that side's constraints exactly; it may have no interior point"
        if self.program.linear and not x:
            why = "neither a point nor a contradiction was found; rounded numbers may contradict one another slightly"
        remark = f"no {' and no '.join(sides)} end could be proven: {why}" if sides else ""
        return self.concluded("bounded", vectors, remark)

    def nearly(self) -> dict[str, Ratios]:
        """A lower end from what a backend takes for a contradiction, where it is one up to rounding only."""
        for name, answer in ladder.answers(self.program.cone, self.backend, self.left) if self.curved else ():
            found = ladder.nearly_farkas(self.e, self.program.cone, answer.z) if np.isfinite(answer.z).all() else None
            if answer.infeasible and found and self.concluded("bounded", {"w": found[0], "y": found[1]}):
                self.by = name
                return {"w": found[0], "y": found[1]}
        return {}

    def stepped(self, rung: float | None, cone: Any, names: tuple[str, ...]) -> tuple[Ratios | None, ...] | None:
        """Candidates for the vectors x, or w and y, at a rung; plain ones for None."""
        if rung is None:
            pair = ladder.plain_pair(cone, self.backend, self.left)
            return pair and (pair if names != ("x",) else pair[:1])
        if names == ("x",):
            size = min(max(1.0, float(np.abs(cone.b).max(initial=0.0))), 1e6)
            return (ladder.upper_point(self.e, cone, rung * size, self.backend, self.left),)
        return ladder.lower_point(self.e, cone, rung, self.backend, self.left, self.held)

    def near(self) -> dict[str, Ratios]:
        """With linear rows: the feasible point next to a backend's answer, which needs no interior, or any."""
        for name, answer in ladder.answers(self.program.cone, self.backend, self.left):
            self.by = name
            if np.isfinite(answer.x).all():
                if (x := projected(self.e, answer.x)) is not None:
                    return {"x": x}
                break
        x = feasible(self.e)
        return {} if x is None else {"x": x}

    def climbed(
        self, *names: str, rungs: tuple[float | None, ...] = ladder.RUNGS, cone: ConeProgram | None = None
    ) -> dict[str, Ratios]:
        """The vectors of the first rung from which the checker takes an end; of rungs that are given, of the best."""
        best, least = dict[str, Ratios](), Fraction(0)
        for rung in rungs:
            found = self.stepped(rung, cone or self.program.cone, names)
            if found is None or any(each is None for each in found):
                continue
            vectors = {name: each for name, each in zip(names, found, strict=True) if each is not None}
            if proof := self.concluded("bounded", vectors):
                end = next(end for end in (proof.lower, proof.upper) if end is not None)
                worth = end * self.program.sign * (1 if names == ("x",) else -1)
                best, least = (vectors, worth) if not best or worth < least else (best, least)
                if rungs is ladder.RUNGS:
                    break
        return best

    def conic_rays(self) -> Proof | None:
        """What backends call infeasible or unbounded, proven from their rays."""
        cone = self.program.cone
        for name, answer in ladder.answers(cone, self.backend, self.left):
            self.by = name
            towards = np.isfinite(answer.z).all() and cone.b @ answer.z < 0
            if towards and (proof := self.concluded(INFEASIBLE, {"y": ladder.simple(answer.z)})):
                return proof
            for rung in ladder.RUNGS if towards else ():
                y = ladder.conic_farkas(self.e, cone, answer.z, rung)
                if proof := self.concluded(INFEASIBLE, {"y": y}):
                    return proof
            falls = np.isfinite(answer.x).all() and cone.q @ answer.x < 0
            x = self.climbed("x", cone=ladder.phase_one(cone)) if falls else {}
            for find in (ladder.simple, partial(ladder.conic_descent, self.e, cone)) if x else ():
                if (d := find(answer.x)) and (proof := self.concluded(UNBOUNDED, {"d": d, **x})):
                    return proof
        return None


def joined(lower: Proof, upper: Proof) -> Proof | None:
    """The proof about `lower`'s program with its dual vectors and the point of `upper`, if the checker agrees.

    `upper` is about the same program with more rows, so that its point satisfies all rows of `lower`'s.
    """
    w = lower.claim.w or lower.claim.x
    claim = Claim(x=upper.claim.x, w=w, y=lower.claim.y, root=lower.claim.root)
    found = check(numbers_of(exact(lower.program, lower.reading)), "bounded", claim)
    if not found.proven:
        return None
    kind = where_ends_meet("bounded", found)
    return Proof(lower.program, lower.reading, kind, claim, found.lower, found.upper, backend=lower.backend)


def where_ends_meet(kind: str, found: Finding) -> str:
    """The kind; two ends that are one fraction prove the optimum, and the certificate says so."""
    return OPTIMAL if kind == "bounded" and found.lower is not None and found.lower == found.upper else kind


# ── the checker's view ────────────────────────────────────────────────────────────────────────────────


def numbers_of(e: Exact) -> Numbers:
    """The exact program as the checker takes it."""

    def entries(matrix: Any) -> Any:
        return list(zip(matrix.rows.tolist(), matrix.columns.tolist(), matrix.whole.tolist(), strict=True)), matrix.unit

    vectors = ((x.whole.tolist(), x.unit) for x in (e.q, e.b))
    q, b = vectors
    return Numbers(entries(e.P), q, entries(e.A), b, e.constant, Cones(e.zero, e.nonneg, tuple(e.soc), e.exp))


def prove(problem: Any, reading: str = "float", backend: str | None = None, time_limit: float | None = None) -> Proof:
    """What is proven about a cp.Problem's optimum (or a `Program`'s), solved before by any backend, or by none.

    Exactly, as a fraction, where an active set can be found (linear rows); else between two proven ends; or a proof
    that no point is feasible, that the objective is unbounded, or that it is not convex. Variables keep their values.
    Values and dual values from anybody's solve are a starting point for linear rows, where CVXPY adds no variables of
    its own: the active set is read off them first. They are never believed; wrong ones cost time.

    reading : "float", numbers as stored, or "decimal", each as the shortest decimal that rounds to it
    backend : who proposes; None asks all that are installed, in turn. Whoever it is, nothing of theirs is believed
    time_limit : seconds for the backends; proofs take the time that they take

    Raises `BadInput` for a program that is not convex by CVXPY's rules, has parameters without values or numbers that
    are not finite, and `MissingCapability` for one with integer variables or semidefinite or power cones.
    """
    if time_limit is not None and not 0 < time_limit < np.inf:
        raise BadInput(f"time_limit is {time_limit!r}; give a positive number of seconds, such as 60.")
    if isinstance(problem, Program):
        return prove_program(problem, reading, backend, time_limit)
    from workbench.programs.compiled import compiled

    program, _, _, start = compiled(problem, reading)
    return prove_program(program, reading, backend, time_limit, None if backend else start)
