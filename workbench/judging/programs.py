"""A learner's values for a user's own convex program, against its proven optimum.

The reference is `wb.prove(problem)`: proven ends L ≤ p* ≤ U (a maximisation counts negated). Of the values x handed
over, in the problem's own terms,

    e = f(x) − L,      relative excess e / max(|L|, |U|, 1e-6 · t*),      relative violation = violation / size

t* is the size of the objective's terms at the proven point, Σ_j |c_j x*_j| + |constant|. Where L ≤ 0 ≤ U, or where both
are 0 but for rounding, it is what the excess is divided by, and the sentence says so: terms at the point handed over
would hide its distance, however far it is. Where all terms are 0, the variables' units u_j stand for |x*_j|.

**Violations** are relative to the terms of their row at x, so that sums of huge terms may be off by their rounding:

    size_i = max(Σ_j |a_ij x_j| + |b_i|, s · Σ_j |a_ij| u_j),      s = 1 where b_i = 0, else UNIT

Rows without a constant, such as x ≥ 0, have terms of no other size than the violation, so that they need a unit; rows
with one need it where the constant is next to nothing, such as x ≥ 1e-8. Terms of expressions that are not affine:
judging/terms.py. u_j, the unit of a variable, is the first that there is (`units`):

    its largest |x*_j| at the proven point, unless x* is 0 but for rounding: for the next line, or for the proof, in
    whose interval the objective's terms in x* are lost
    the least size t at which its terms in a row reach the row's constant, Σ_j |a_ij| t = |b_i|, or its finite bound
    the least size t at which its terms in a row reach those of variables whose units are known, as in x ≤ 3 y
    the largest unit of all variables;  1 if there is none

So a constraint or an objective may be multiplied by any number, or each variable be told in a unit of its own, and the
verdict stays the same, unless the last line is needed: of a variable that is 0 at the proven point, and that no
constraint ties to a number other than 0, nothing in the problem says what is large, as in min Σ x_j² alone. (Nor does
the point handed over: measured by itself no point but 0 is near.) The sentence names such a variable where the excess
may depend on it. A variable whose entries are of several units has that of its largest entry.

and, in order, the first that holds:

    failed          crashed, values missing, of another shape, or not finite
    not converged   (feasibility) the last values violate a constraint by more than the tolerance, relative to its terms
    not converged   (feasibility) f(x) lies below L by more than the tolerance, relative to the same size
    agrees          f(x) lies within the tolerance of L, or of U where the interval is no wider than the tolerance
    not comparable  f(x) lies within the tolerance of U, and the interval is too wide, or open, to say more
    disagrees       (ended) f(x) lies above U, and x is the same from half of the passes on: the method has stopped
    not converged   f(x) lies above U; with a history of checkpoints the sentence says how fast f falls, or settles

There are no clean runs on a user's own program, so a history that has settled accuses nobody (judging/verdicts.py says
why a flat history alone proves nothing). A formulation that is its CVXPY text alone is judged by the same rules
(`crosscheck_text`): f(x) is F(θ), and L and U are the ends that `solve` proved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.contracts import Floats
from workbench.judging.reference import Reference
from workbench.judging.reports import Report
from workbench.judging.settling import FALL, ended, settling, stands
from workbench.judging.terms import reach, sizes, terms_in, written_out
from workbench.judging.words import AGREES, DISAGREES, FAILED, NOT_COMPARABLE, NOT_CONVERGED, Verdict
from workbench.programs.compiled import Compiled, compiled
from workbench.programs.prove import prove
from workbench.proofs.ends import nearest

if TYPE_CHECKING:
    import cvxpy as cp

    from workbench.programs.proof import Proof

FLOOR = 1e-6  # of the sizes of the objective's terms: the least that differences are divided by
ROUNDING = 1e-12  # of the same sizes: an optimum that is 0 but for rounding; of the largest unit: a variable that is 0
UNIT = 1e-3  # share of the variables' units in the size of a row that has a constant
DOMAIN = ", which its objective depends on"
TERMS = "relative to the size of its terms, since the optimum may be 0"


class Missed(NamedTuple):
    """How far a constraint is violated, and the same relative to the size of its terms."""

    absolute: float
    relative: float


def crosscheck_program(learned: Any, problem: cp.Problem, tolerance: float = 1e-4) -> Verdict:  # a user's values
    """Judge values of a cp.Problem's variables.

    learned : {variable or its name: values}, an array if there is one variable (of one entry, in any shape), a list
        of (passes, either), a cp.Problem for the values that its variables have, or the exception a learner died of
    """
    if isinstance(learned, Exception):
        told = " ".join(f"{type(learned).__name__}: {learned}".split())
        return Verdict(FAILED, np.inf, f"The learner crashed: {told}", rule="crash")
    made = compiled(problem)  # raises what `prove` raises, before any values are looked at
    if hasattr(learned, "is_dcp"):  # a user's cp.Problem, whose import takes a second
        learned = {variable: variable.value for variable in learned.variables()}
    steps = checkpoints(learned, problem)
    if fault := out_of_order([passes for passes, _ in steps]):
        return Verdict(FAILED, np.inf, fault, rule="weights")
    for _, values in steps:
        if fault := unusable(values, problem):
            return Verdict(FAILED, np.inf, fault, rule="weights")
    proof, kept = prove(problem), [(variable, variable.value) for variable in problem.variables()]
    try:
        there = at_proven(problem, made, proof)
        unit, guessed = units(problem, there, proof)
        terms = terms_of(problem, there, proof, unit)
        found = [evaluated(values, problem, proof.program.sign, unit) for _, values in steps]
    finally:
        for variable, value in kept:
            variable.save_value(value)
    if (proof.lower, proof.upper) == (None, None):
        sentence = f"Nothing is proven that the values could be compared with: {proof.remark or proof.statement}"
        return Verdict(NOT_COMPARABLE, np.nan, sentence.rstrip(".") + ".", rule="reference")
    known = (proof.lower, proof.upper) if proof.program.sign > 0 else (proof.upper, proof.lower)
    infinite = (-np.inf, np.inf)
    lower, upper = (
        none if end is None else proof.program.sign * nearest(end) for end, none in zip(known, infinite, strict=True)
    )
    ends = Ends(lower, upper, *size_of(lower, upper, terms, guessed), proof.program.sign)
    passes = [each for each, _ in steps]
    worst = [max((each.relative for each in missed), default=0.0) for _, missed in found]
    seen = [(each, value, far) for each, (value, _), far in zip(passes, found, worst, strict=True)]
    rests = ended([Report(each, flattened(values, problem)) for each, values in steps])
    return judged(seen, ends, tolerance, most_violated(problem, found[-1][1]), rests)


def at_proven(problem: cp.Problem, made: Compiled, proof: Proof) -> dict[int, Floats]:
    """|x*| of each variable that is compiled as it is; the variables keep x* as their values."""
    for variable in problem.variables():
        variable.save_value(None)
    if (x := proof.x) is not None:
        made.assign(problem, x)
    held = [variable for variable in problem.variables() if variable.value is not None]
    return {variable.id: np.abs(np.asarray(written_out(variable.value), float)) for variable in held}


class Units(NamedTuple):
    """The unit of each variable by its id, and the names of those of which nothing says what is large."""

    sizes: dict[int, float]
    guessed: tuple[str, ...] = ()


def units(problem: cp.Problem, proven: Mapping[int, Floats], proof: Proof) -> Units:
    """The unit of each variable, whose sizes at the proven point are given; see the module's docstring."""
    variables, none = problem.variables(), {each.id: 0.0 for each in problem.variables()}
    there = none | {key: float(np.max(each, initial=0.0)) for key, each in proven.items()}
    held = {key: list[Any]() for key in none}  # CVXPY's constraints have no types
    for constraint in problem.constraints:
        for each in constraint.variables():
            held[each.id].append(constraint)
    width, most, goal = width_of(proof), max(there.values(), default=0.0), problem.objective.expr
    constant = sizes(goal, none).item()
    for key, x in there.items():
        if x and 0 < sizes(goal, none | {key: x}).item() - constant <= width:
            there[key] = 0.0  # as good as 0 for all that is proven: a solver's noise
    found, more = dict[int, float](), True
    while more:
        left = [each for each in variables if each.id not in found]
        reached = {each.id: reach(held[each.id], each, none | found) for each in left}
        sized = {key: (least, there[key]) for key, least in reached.items() if least is not None}
        more = {key: x if x > ROUNDING * least else least for key, (least, x) in sized.items()}
        found |= more
    found |= {each.id: x for each in variables if each.id not in found and (x := there[each.id]) > ROUNDING * most}
    rest = max(found.values(), default=0.0) or 1.0
    guessed = tuple(each.name() for each in variables if each.id not in found)
    return Units({each.id: found.get(each.id, rest) for each in variables}, guessed)


def width_of(proof: Proof) -> float:
    """U − L, 0 where one of the ends is open."""
    return 0.0 if proof.lower is None or proof.upper is None else nearest(proof.upper) - nearest(proof.lower)


def terms_of(problem: cp.Problem, there: Mapping[int, Floats], proof: Proof, unit: Mapping[int, float]) -> float:
    """The size of the objective's terms at the proven point; in the variables' units where it is 0 there."""
    objective = problem.objective.expr
    in_units, found = sizes(objective, unit).item(), sizes(objective, {**unit, **there}).item()
    return found if found > max(ROUNDING * in_units, width_of(proof)) else in_units or 1.0


def size_of(lower: float, upper: float, terms: float, guessed: Sequence[str] = ()) -> tuple[float, str]:
    """What differences are divided by, and how that is told: `terms` where the optimum is 0, but for rounding.

    guessed : the variables of which nothing says what is large
    """
    known = [abs(end) for end in (lower, upper) if np.isfinite(end)]
    if lower <= 0 <= upper or max(known) <= ROUNDING * terms:
        first = guessed[0] + " and others" * (len(guessed) > 1) if guessed else ""
        return terms, TERMS + f"; no constraint gives {first} a unit, so state it in units of about 1" * bool(guessed)
    return max([FLOOR * terms, *known]), "relative"


def crosscheck_text(reports: list[Report], reference: Reference, tolerance: float) -> Verdict:
    """Judge weights θ for a formulation that is its CVXPY text alone; F(θ) = ∞ counts as a violation."""
    values = [reference.value(each.theta) for each in reports]
    seen = [(each.passes, e, 0.0 if np.isfinite(e) else np.inf) for each, e in zip(reports, values, strict=True)]
    return judged(seen, Ends(reference.lower, reference.upper, reference.size), tolerance)


def checkpoints(learned: Any, problem: cp.Problem) -> list[tuple[Any, Any]]:  # a user's values
    """(passes, values), one or several; pairs of numbers are the rows of a variable's values where they fit it."""
    several = isinstance(learned, Sequence) and not isinstance(learned, str) and len(learned)
    if not (several and all(isinstance(each, tuple) and len(each) == 2 for each in learned)):
        return [(1.0, learned)]
    shapes = [variable.shape for variable in problem.variables()]
    rows = shapes == [(len(learned), 2)] and all(np.ndim(value) == 0 for each in learned for value in each)
    return [(1.0, learned)] if rows else list(learned)


def out_of_order(passes: list[Any]) -> str | None:  # a user's values
    """Why these passes are no history, in a sentence."""
    real = [isinstance(each, Real) and 0 < float(each) < np.inf for each in passes]
    if not all(real):
        return f"The passes of checkpoint {real.index(False) + 1} are no positive number; give (passes, values)."
    if any(later <= earlier for earlier, later in pairwise(passes)):
        return "The passes of the checkpoints do not increase; give them in the order of the run."
    return None


def named(values: Any, problem: cp.Problem) -> dict[int, Any]:  # a user's values, and keys
    """Values by the variable's id; keys that are no variable stay as they are."""
    variables = problem.variables()
    if not isinstance(values, Mapping):
        return {variables[0].id: values} if len(variables) == 1 else {}
    by_name = {variable.name(): variable.id for variable in variables}

    def key_of(key: Any) -> Any:  # a user's key
        own = [variable.id for variable in variables if variable is key]
        return own[0] if own else by_name.get(key, key) if isinstance(key, str) else (key,)

    return {key_of(key): each for key, each in values.items()}


def flattened(values: Any, problem: cp.Problem) -> Floats:  # a user's values
    """The values of all variables, one behind the other."""
    given = named(values, problem)
    parts = [np.ravel(np.asarray(written_out(given[each.id]), float)) for each in problem.variables()]
    return np.concatenate(parts)


def unusable(values: Any, problem: cp.Problem) -> str | None:  # a user's values
    """Why these values cannot be judged, in a sentence."""
    given = named(values, problem)
    twice = [v.name() for v in problem.variables() if sum(v.name() == each.name() for each in problem.variables()) > 1]
    if twice and isinstance(values, Mapping) and any(key in twice for key in values if isinstance(key, str)):
        return f"Several variables are called {twice[0]}; give values by the variables themselves."
    if strange := [key for key in given if key not in {variable.id for variable in problem.variables()}]:
        return f"The key {strange[0]!s:.60} is no variable of the problem; give {{variable: values}}."
    for variable in problem.variables():
        if given.get(variable.id) is None:
            return f"The values of {variable.name()} are missing; give {{variable: values}} for each variable."
        value = given[variable.id]
        try:
            found = np.asarray(written_out(value))
            found = found if found.dtype.kind == "c" else found.astype(float)
        except (TypeError, ValueError, OverflowError):
            return f"The values of {variable.name()} are not numbers."
        if found.dtype.kind == "c":
            return f"The values of {variable.name()} are complex; give real numbers."
        if found.shape != variable.shape and not found.size == variable.size == 1:
            return f"The values of {variable.name()} have shape {found.shape}, not {variable.shape}."
        if not np.isfinite(found).all():
            return f"The values of {variable.name()} are not finite numbers."
    return None


def evaluated(
    values: Any,  # a user's
    problem: cp.Problem,
    sign: int,
    unit: Mapping[int, float],
) -> tuple[float, list[Missed]]:
    """The objective as of a minimisation, and what each constraint, then each variable's attributes are missed by."""
    given, variables = named(values, problem), problem.variables()
    for variable in variables:
        value = given[variable.id]
        variable.save_value(np.asarray(written_out(value), float).reshape(variable.shape))
    with np.errstate(all="ignore"):  # outside of a domain, or beyond floats; told by the sentence
        objective = problem.objective.value
        here = {each.id: np.abs(np.asarray(each.value, float)) for each in variables}
        missed = [missed_by(each.violation(), rows_of(each, here, unit)) for each in problem.constraints]
        for each in variables:  # their attributes
            size = np.maximum(here[each.id], unit[each.id])
            missed.append(missed_by(each.value - each.project(each.value), size))
    value = np.inf if objective is None else sign * float(np.ravel(np.asarray(objective, float))[0])
    return value if np.isfinite(value) else np.inf, missed


def rows_of(constraint: Any, here: Mapping[int, Any], unit: Mapping[int, float]) -> Floats:  # CVXPY has no types
    """The size of each row of a constraint, or of each cone; see the module's docstring."""
    at, constant, whole = (terms_in(constraint, each) for each in (here, dict.fromkeys(unit, 0.0), unit))
    found = np.maximum(at, np.where(constant > 0, UNIT, 1.0) * whole)
    return np.where(found > 0, found, 1.0)


def missed_by(violation: Any, rows: Floats) -> Missed:  # numbers or arrays
    """The largest relative violation of a constraint's rows, with its absolute one; ∞ where it is no number."""
    absolute = np.abs(np.asarray(written_out(violation), float))
    if not absolute.size:
        return Missed(0.0, 0.0)
    absolute = np.where(np.isnan(absolute), np.inf, absolute)
    relative = absolute / (rows if rows.shape in ((), absolute.shape) else rows.max())
    worst = np.unravel_index(int(np.argmax(relative)), relative.shape)
    return Missed(float(absolute[worst]), float(relative[worst]))


def most_violated(problem: cp.Problem, missed: list[Missed]) -> str:
    """The constraint that values violate most, by its label, else as it is written, and by how much."""
    worst = max(missed, key=lambda each: each.relative, default=Missed(0.0, 0.0))
    if worst.relative == 0.0:
        return ""
    place, count = missed.index(worst), len(problem.constraints)
    by = f" by {worst.absolute:.1e}" if np.isfinite(worst.absolute) else ""
    if place >= count:
        return f"the constraint that {problem.variables()[place - count].name()} declares{by}"
    chosen = problem.constraints[place]
    label = getattr(chosen, "label", None)  # the user's, in newer versions of CVXPY
    return f"the constraint {' '.join(str(label or chosen).split())[:60]}{by}"


class Ends(NamedTuple):
    """lower ≤ p* ≤ upper as of a minimisation, ±∞ where nothing is proven.

    size : what differences are divided by;  measure : how that is told (`size_of`)
    """

    lower: float
    upper: float
    size: float
    measure: str = "relative"
    sign: int = 1

    @property
    def worse(self) -> str:
        """Where worse objectives lie in the user's sense."""
        return "above" if self.sign > 0 else "below"

    @property
    def better(self) -> str:
        return "below" if self.sign > 0 else "above"

    @property
    def least(self) -> float:
        """The lower end of the interval in the user's sense."""
        return min(self.sign * self.lower, self.sign * self.upper)

    @property
    def told(self) -> str:
        """The interval in the user's sense."""
        low, high = sorted((self.sign * self.lower, self.sign * self.upper))
        parts = [f"at least {low:.9g}"] * bool(np.isfinite(low)) + [f"at most {high:.9g}"] * bool(np.isfinite(high))
        return " and ".join(parts)


def judged(
    seen: list[tuple[float, float, float]], ends: Ends, tolerance: float, broken: str = "", rests: float = np.nan
) -> Verdict:
    """The verdict on (passes, objective, violation) of checkpoints.

    violations are relative;  broken : the constraint violated most, and by how much
    rests : the passes from which on the values are the same, NaN if they move
    """
    passes, objectives, violations = (np.array(part, float) for part in zip(*seen, strict=True))
    base = ends.lower if np.isfinite(ends.lower) else ends.upper
    excesses: Floats = objectives - base
    excess, over = float(excesses[-1]) / ends.size, float(objectives[-1] - ends.upper) / ends.size
    gap = (ends.upper - ends.lower) / ends.size
    threshold = tolerance + gap if gap <= tolerance else tolerance
    evidence = {"objective": ends.sign * float(objectives[-1]), "threshold": threshold}
    evidence |= {"reference_lower": ends.least, "reference_gap": gap, "violation": float(violations[-1])}

    def verdict(word: str, told: str, rule: str) -> Verdict:
        return Verdict(word, excess, f"{told[0].upper()}{told[1:]}.", evidence, rule, float(excesses[-1]))

    if violations[-1] > tolerance:
        what = broken or "a constraint"
        of = f", {violations[-1]:.1e} of the size of its terms" if np.isfinite(violations[-1]) else DOMAIN
        return verdict(NOT_CONVERGED, f"its values violate {what}{of}", "feasibility")
    if objectives[-1] < ends.lower and -excess > threshold:
        told = f"its objective is {-excess:.1e} ({ends.measure}) {ends.better} the proven optimum"
        return verdict(NOT_CONVERGED, f"{told}, so its values are infeasible", "feasibility")
    if not np.isfinite(objectives[-1]):
        return verdict(NOT_CONVERGED, "its values lie outside of the domain of the objective", "feasibility")
    side = ends.worse if excess >= 0 else ends.better
    far = f"its objective is {abs(excess):.1e} ({ends.measure}) {side} the proven optimum"
    if side == ends.better and violations[-1] > 0:
        far += f", which its constraints, missed by {violations[-1]:.1e} of the size of their terms, allow"
    if np.isfinite(ends.lower) and excess <= threshold:
        return verdict(AGREES, f"{far}, within {threshold:.1e}", "optimum")
    if over <= tolerance:
        told = f"the optimum is proven to be {ends.told}, and its objective {evidence['objective']:.9g} cannot be told"
        return verdict(NOT_COMPARABLE, f"{told} from an optimum within {tolerance:.1e} ({ends.measure})", "reference")
    if gap > tolerance:
        far = f"its objective is {over:.1e} ({ends.measure}) {ends.worse} the proven end {ends.sign * ends.upper:.9g}"
    if len(passes) < 2:
        return verdict(
            NOT_CONVERGED, f"{far}; one answer tells not whether it moves: give [(passes, values), …]", "history"
        )
    if not np.isnan(rests):
        still = f"its values are the same from pass {rests:g} to pass {passes[-1]:g}"
        return verdict(DISAGREES, f"{far}, and it stops by itself there: {still}", "ended")
    curve = settling(passes, np.maximum(excesses, 0.0), threshold * ends.size)
    evidence |= {"limit": curve.limit, "power": curve.power}
    if excesses[-1] > FALL * excesses.min():
        told = f"and was {excesses.min() / ends.size:.1e} before, so it rises; look at its steps"
    elif curve.settled or stands(passes, excesses):
        told = "and seems to stay there; a flat history proves nothing, so run it longer"
    else:
        falls = f"falls like passes^-{curve.power:.2g}" if curve.power > 0 else "does not fall yet"
        told = f"and {falls}; run it longer"
    return verdict(NOT_CONVERGED, f"{far} {told}", "history")
