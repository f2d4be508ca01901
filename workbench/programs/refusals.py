"""What is refused before a program is proven, and by which part of it, in the user's own expressions."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from workbench.errors import BadInput, MissingCapability
from workbench.programs.roundings import atoms, roots
from workbench.programs.words import worded

REBUILT = (
    "symmetric",
    "diag",
    "hermitian",
    "complex",
    "imag",
    "sparsity",
)  # attributes whose variables CVXPY replaces by others


def check_problem(problem: Any) -> None:
    """One sentence for problems that cannot be proven."""
    import cvxpy as cp

    if isinstance(problem, str | PurePath):
        raise BadInput(f"A cp.Problem is wanted, not a path; for a file, run `cutbench prove {problem}`.")
    if not isinstance(problem, cp.Problem):
        raise BadInput(
            f"A cp.Problem is wanted, not {type(problem).__name__}; give cp.Problem(objective, constraints)."
        )
    mixed = [v for v in problem.variables() if v.attributes["integer"] or v.attributes["boolean"]]
    if mixed:
        raise MissingCapability(
            f"The variable {mixed[0].name()} is integer or boolean, and only continuous programs are proven; relax it, "
            "or take a backend's own bound by wb.LazyProblem (docs/lazy.md)."
        )
    if not problem.is_dcp():
        raise BadInput(f"The problem is not convex by CVXPY's rules: {not_convex(problem)}; rewrite that part.")
    missing = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    for variable in problem.variables():
        if kinds := [kind for kind in REBUILT if variable.attributes.get(kind)]:
            raise MissingCapability(
                f"The variable {variable.name()} has the attribute {kinds[0]}, so that CVXPY replaces it by others; "
                "write it as a real variable with constraints."
            )
    if missing:
        raise BadInput(f"The parameter {missing[0]} has no value; give it one before proving.")


def not_convex(problem: Any) -> str:
    """The part of a problem that breaks CVXPY's rules: the objective, a constraint, or the innermost atom in it."""
    for root in (problem.objective, *problem.constraints):
        if root.is_dcp():
            continue
        inner = innermost(root)
        if inner is not root:
            return f"{worded(inner)} is neither convex nor concave"
        if root is problem.objective:
            verb = "minimises" if type(root).__name__ == "Minimize" else "maximises"
            return f"the objective {verb} {worded(root.args[0])}, which is {root.args[0].curvature.lower()}"
        sides = " and ".join(f"{worded(each)} is {each.curvature.lower()}" for each in root.args)
        return f"in {root.label or worded(root)}, {sides}"
    return "see problem.is_dcp()"


def innermost(part: Any) -> Any:
    """The first part whose own parts all keep the rules, where it does not itself."""
    return next((innermost(each) for each in part.args if not each.is_dcp()), part)


SEMIDEFINITE = (
    "log_det", "lambda_max", "lambda_sum_largest", "normNuc", "sigma_max", "MatrixFrac", "TrInv", "condition_number",
    "quantum_cond_entr", "quantum_rel_entr", "von_neumann_entr",
)  # fmt: skip
POWER = ("Power", "GeoMean", "Pnorm", "inv_prod", "PowCone3D", "PowConeND")


def other_cones(problem: Any, kind: str) -> str:
    """Which constraint, variable or atom asks for semidefinite or power cones, as far as its class tells."""
    named = SEMIDEFINITE if kind == "semidefinite" else POWER
    signs, cones = (("PSD", "NSD"), ("PSD",)) if kind == "semidefinite" else ((), named)
    causes = [f"the constraint {worded(each)}" for each in problem.constraints if type(each).__name__ in cones]
    causes += [f"the variable {v.name()}" for v in problem.variables() if any(map(v.attributes.get, signs))]
    causes += [worded(atom) for root in roots(problem) for atom in atoms(root) if type(atom).__name__ in named]
    which = f" (by {causes[0]})" if causes else ""
    return (
        f"The problem compiles to {kind} cones{which}, which have no exact test here; write it with linear, quadratic, "
        "second-order or exponential ones."
    )


def without_words(problem: Any, error: Exception) -> str:
    """What an error that says nothing is likely to be about."""
    split = [atom for root in roots(problem) for atom in atoms(root) if type(atom).__name__ in ("real", "imag", "conj")]
    return f"{split[0]} stands among real variables only" if split else type(error).__name__
