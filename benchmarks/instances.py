"""Random small instances of everything: three routes to each optimum must agree.

    cuts         `solve` with its default master, asked for a gap of 1e-9. Where floats cannot give it, since
                 the optimum is tiny beside the losses, it ends `stalled`; the exact finish then has to
    enumeration  every cut of every output in one CVXPY program, solved by CLARABEL
    exact        both bounds of the certificate in rational arithmetic

Where no weights reach a hard margin, `solve` must say so, its Farkas ray must hold as fractions (α ≥ 0,
Σαa = 0, Σαo > 0), and CLARABEL must find the program infeasible.

Output structures and formulations come from the registries. An output's `random(rng, n, d, labels)` draws
an instance of the size asked for, 2 ≤ n ≤ 30, 2 ≤ d ≤ 20, 2 to 6 labels; one without it is drawn by its
`tiny(rng)`. Settings of formulations are drawn by their types: numbers log-uniform in [1e-4, 1e2]
(λ is one), choices and switches evenly, whole numbers and texts stay at their defaults. Every fifth
instance is degenerate: its random numbers are (`Degenerate`), whatever the output makes of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from workbench.arithmetic.lifting import dependent_row, solve_whole
from workbench.arithmetic.rationals import product
from workbench.backends import BACKENDS, solve_cvxpy
from workbench.contracts import CutForm, Cuts, Majorized, Search, SmoothForm, enumerated
from workbench.errors import BackendFailed, BadInput, MissingCapability, NotSeparable, checked_whole
from workbench.proofs.bounds import Bounds
from workbench.proofs.exact import ExactBounds, exact_bounds, exact_optimum, optimum
from workbench.registries import misfit, registry, settings_of
from workbench.solving.solve import solve

TOLERANCE = 1e-8
WITNESSES = ("CLARABEL", "PIQP", "ECOS")
SMALLEST, LARGEST = 1e-4, 1e2
FLAWS = ("duplicates", "ties", "constant", "zero", "dominated")
KINDS = {"cuts": CutForm, "smooth": SmoothForm, "majorized": Majorized, "search": Search}


# ── instances ─────────────────────────────────────────────────────────────────────────────────────


class Degenerate(np.random.Generator):
    """A generator with a flaw: matrices of normal numbers, and arrays of whole numbers, come out degenerate.

    duplicates  all rows among three        ties       rounded to whole numbers
    constant    the first column is 1       zero       every other column is 0
    dominated   four fifths of a whole-number array are its least value
    `flawed` says whether that happened at all.
    """

    def __init__(self, seed: int, flaw: str | None):
        super().__init__(np.random.PCG64(seed))
        self.flaw, self.flawed, self.bank = flaw, False, {}

    def normal(self, loc=0.0, scale=1.0, size=None):
        numbers = super().normal(loc, scale, size)
        if self.flaw in (None, "dominated") or np.ndim(numbers) < 2:
            return numbers
        self.flawed = True
        columns = np.shape(numbers)[-1]
        if self.flaw == "duplicates":
            bank = self.bank.setdefault(columns, super().normal(loc, scale, (3, columns)))
            return bank[super().integers(0, 3, np.shape(numbers)[:-1])]
        if self.flaw == "ties":
            return np.round(numbers)
        numbers[..., : 1 if self.flaw == "constant" else None : 2] = float(self.flaw == "constant")
        return numbers

    def integers(self, low, high=None, size=None, *args, **keywords):
        numbers = super().integers(low, high, size, *args, **keywords)
        if self.flaw == "dominated" and np.size(numbers) > 1:
            self.flawed = True
            numbers[self.random(np.shape(numbers)) < 0.8] = 0 if high is None else low
        return numbers


@dataclass(frozen=True)
class Instance:
    """A formulation with its settings, a problem, and what is degenerate about it."""

    form: Any
    problem: Any
    flaw: str


def instance(output: str, formulation: str, seed: int, kinds: Any = CutForm) -> Instance:
    """The instance of that seed; `MissingCapability` or `BadInput` if 20 draws of the settings do not fit.

    kinds : the kinds of formulation that the settings may make
    """
    structure, kind = registry("output").get(output), registry("formulation").get(formulation)
    rng = Degenerate(seed, None if seed % 5 else FLAWS[seed // 5 % len(FLAWS)])
    if hasattr(structure, "random"):
        n, d, labels = (int(rng.integers(low, high + 1)) for low, high in ((2, 30), (2, 20), (2, 6)))
        problem = structure.random(rng, n, d, labels)
    else:
        problem = structure.tiny(rng)
    why: Exception | None = None
    for _ in range(200):
        try:
            form = kind(**drawn(kind, rng))
            refusal = misfit(form, problem) if isinstance(form, kinds) else "these settings have no cuts"
        except BadInput as error:
            why = error
            continue
        if refusal is None:
            return Instance(form, problem, rng.flaw if rng.flawed else "")
        why = MissingCapability(refusal)
    raise why


def drawn(kind: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Random settings of a formulation, by their types."""
    values: dict[str, Any] = {}
    for name, setting in settings_of(kind).items():
        if name == "declare" or setting.many:  # how a program is written, not which; lists fit one problem only
            continue
        if setting.choices:
            values[name] = setting.choices[rng.integers(len(setting.choices))]
        elif setting.type is bool:
            values[name] = bool(rng.random() < 0.5)
        elif setting.type is float:
            values[name] = float(np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST))))
    return values


# ── routes ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Check:
    """What the routes say of one instance: their worst difference and the certified gap, both relative."""

    fault: str = ""
    difference: float = 0.0
    gap: float = 0.0
    separable: bool = True
    stalled: bool = False
    backend: str = ""


def checked(given: Instance) -> Check:
    """All routes to the optimum of an instance with cuts, compared."""
    bounds = Bounds(given.form, given.problem)
    try:
        solution = solve(given.form, given.problem, gap=1e-9)
    except NotSeparable as error:
        return contradicted(bounds, error)
    stalled = solution.status != "optimal"
    certificate = optimum(solution.certificate) if stalled else solution.certificate
    rules, lower, upper = exact_bounds(certificate)
    if certificate.optimum is not None:
        lower, upper = exact_optimum(rules, certificate)
    value, low, high, _, backend = enumeration(bounds, abs(solution.upper) or 1.0)
    gap = float(rules.gap(upper, lower))
    difference = max(abs(bounds.relative(value, float(end))) for end in (lower, upper))
    if not max(solution.lower, certificate.lower) <= lower <= upper <= min(solution.upper, certificate.upper):
        fault = f"exact bounds [{float(lower)!r}, {float(upper)!r}] leave [{solution.lower!r}, {solution.upper!r}]"
    elif not (low <= upper and lower <= high):
        fault = f"bounds contradict: [{low!r}, {high!r}] by enumeration, [{float(lower)!r}, {float(upper)!r}] exact"
    elif not gap <= TOLERANCE:
        fault = f"the exact gap is {gap:.1e}"
    elif not difference <= TOLERANCE:
        fault = f"{backend} says {value!r}, the exact bounds say {float(upper)!r}: {difference:.1e} apart"
    else:
        fault = ""
    return Check(fault, difference, gap, stalled=stalled, backend=backend)


class Enumeration(NamedTuple):
    """The fully written program's value, the bounds that its own θ and dual values prove, and who solved it."""

    value: float = np.nan
    lower: float = -np.inf
    upper: float = np.inf
    status: str = ""
    backend: str = ""


def enumeration(bounds: Bounds, size: float = 1.0) -> Enumeration:
    """Every cut in one program, its objective in units of `size`: tolerances of backends are partly absolute.

    The first of WITNESSES whose answer is certified to TOLERANCE, or finds no point; else the best of them.
    """
    import cvxpy as cp

    from workbench.solving.masters.declared import written

    program, family = written(bounds.formulation, bounds.problem)
    scaled = cp.Problem(cp.Minimize(program.objective.expr / size), program.constraints)
    samples, outputs = enumerated(bounds.problem, bounds.samples)
    cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
    ids, best = cuts.add(samples, outputs, bounds.oracle.rows), Enumeration()
    for name in (each for each in WITNESSES if BACKENDS[each].installed):
        try:
            status = solve_cvxpy(scaled, name)
        except BackendFailed:
            continue
        if scaled.value is None or not np.isfinite(scaled.value):
            if status.startswith("infeasible"):
                return Enumeration(status=status, backend=name)
            continue
        weights = np.bincount(ids, np.maximum(family.constraints[0].dual_value, 0) * size, len(cuts))
        theta = family.units * np.concatenate([np.ravel(variable.value) for variable in family.theta])
        ends = bounds.lower(cuts, bounds.balanced(cuts, weights)), bounds.upper(theta)
        if not best.backend or bounds.gap(ends[1], ends[0]) < bounds.gap(best.upper, best.lower):
            best = Enumeration(float(scaled.value) * size, *ends, status, name)
        if bounds.gap(best.upper, best.lower) <= TOLERANCE:
            break
    return best


def contradicted(bounds: Bounds, error: NotSeparable) -> Check:
    """Whether the ray of a refused hard margin holds as fractions, and the written program has no point either."""
    found = enumeration(bounds)
    if exact_ray(ExactBounds(bounds.formulation, bounds.problem), error) is None:
        fault = "cutting planes call it not separable, but their ray is none as fractions"
    elif not found.status.startswith("infeasible"):
        fault = f"a Farkas ray stands against {found.backend or 'all backends'} ({found.status or 'failed'})"
    else:
        fault = ""
    return Check(fault, separable=False, backend=found.backend)


def exact_ray(rules: ExactBounds, error: NotSeparable) -> list[Fraction] | None:
    """Rational α ≥ 0 on the ray's cuts with Σαa = 0 and Σαo > 0; None if there are none.

    The heaviest cut gets α = 1; the rest follow from Σαa = 0, which determines them since a vertex of the
    linear program has independent ones. A cut that depends on those before it gets 0.
    """
    slopes, offsets = rules.oracle.rows(error.samples, error.outputs)
    order = np.argsort(-error.weights)
    A = slopes.matrix((len(order), rules.dim))[order]
    free = list(range(1, len(order)))
    while True:
        D = A[free]
        gram = product(D.ravel(), lambda piece, shape=D.shape: piece.reshape(shape), D.T) if free else D @ D.T
        if (row := dependent_row(gram)) is None:
            break
        del free[row]
    y, q = solve_whole(gram, -(D @ A[0]))
    alpha = np.zeros(len(order), object)
    alpha[[0, *free]] = [q, *y]
    holds = (alpha >= 0).all() and not (alpha @ A).any() and alpha @ offsets.whole[order] > 0
    return [Fraction(int(a), int(q)) for a in alpha] if holds else None


# ── the table ─────────────────────────────────────────────────────────────────────────────────────


def pairs(pair: str) -> Iterator[tuple[str, str]]:
    """Every (output, formulation) of the registries, or the one written OUTPUT:FORMULATION."""
    if pair:
        output, found, formulation = pair.partition(":")
        if not found:
            raise BadInput(f"pair={pair} names no pair; write OUTPUT:FORMULATION, such as chain:soft-margin.")
        registry("output").get(output), registry("formulation").get(formulation)
        yield output, formulation
        return
    for output in registry("output").names():
        for formulation in registry("formulation").names():
            yield output, formulation


def why_not(output: str, formulation: str) -> str:
    """Why the pair has no instances here: it does not fit, or it is not solved by cuts; or nothing."""
    form = registry("formulation").get(formulation)()
    problem = registry("output").get(output).tiny(np.random.default_rng(0))
    if not isinstance(form, CutForm):
        kinds = [name for name, kind in KINDS.items() if isinstance(form, kind)]
        return f"of the kind {' and '.join(kinds) or 'unknown'}, which has no cuts to enumerate"
    return misfit(form, problem) or ""


def tried(output: str, formulation: str, seeds: range) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The row of one pair, and its failures."""
    began = time.process_time()
    row: dict[str, Any] = {"output": output, "formulation": formulation, "tried": 0, "degenerate": 0, "inseparable": 0}
    row |= {
        "stalled": 0,
        "agreed": 0,
        "difference": 0.0,
        "gap": 0.0,
        "seconds": 0.0,
        "because": why_not(output, formulation),
    }
    failures = []
    for seed in () if row["because"] else seeds:
        try:
            given = instance(output, formulation, seed)
            check = checked(given)
            row["degenerate"] += bool(given.flaw)
        except Exception as error:  # whatever it is, it is a failure of this instance and has a line
            check = Check(f"{type(error).__name__}: {error}".splitlines()[0])
        row["tried"] += 1
        row["inseparable"] += not check.separable
        row["stalled"] += check.stalled
        row["agreed"] += not check.fault
        row |= {key: max(row[key], getattr(check, key)) for key in ("difference", "gap")}
        if check.fault:
            again = f"cutbench bench instances --set pair={output}:{formulation} --set seed={seed} --set n=1"
            failures.append({"pair": f"{output}:{formulation}", "seed": seed, "fault": check.fault, "again": again})
    row["seconds"] = time.process_time() - began
    return row, failures


def instances(n: int = 1000, seed: int = 0, pair: str = "") -> dict[str, Any]:
    """At least n random instances over all pairs; one row a pair, one a failure.

    rows      tried, of them degenerate, inseparable, stalled; agreed; the worst relative difference of the routes
              and exact gap of the certificates; CPU seconds; why a pair has no instances
    failures  what the routes disagree on, and the command that shows it again
    """
    checked_whole(1, n=n)
    chosen = list(pairs(pair))
    able = sum(not why_not(*each) for each in chosen)
    seeds = range(seed, seed + -(-n // max(able, 1)))
    table, failures = zip(*(tried(*each, seeds) for each in chosen), strict=True)
    total = {key: sum(row[key] for row in table) for key in ("tried", "agreed")}
    lost = [failure for each in failures for failure in each]
    return {**total, "failed": len(lost), "rows": list(table), "failures": lost}


NAMES = {"instances": instances}
