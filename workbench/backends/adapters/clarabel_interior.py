"""Clarabel: an interior-point method in Rust for quadratic objectives over all our cones. The default."""

# Clarabel is a compiled module that does not list its names.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from scipy import sparse

from workbench.backends.adapter import CONIC, Backend, Options, dialect
from workbench.backends.cone import Answer, ConeProgram, as_csc, configured


def run(program: ConeProgram, options: Options, hint: Answer | None) -> Answer:
    """Cones as Clarabel's own objects; P by its upper triangle."""
    import clarabel

    cones = [clarabel.ZeroConeT(program.zero), clarabel.NonnegativeConeT(program.nonneg)]
    cones += [clarabel.SecondOrderConeT(k) for k in program.soc] + [clarabel.ExponentialConeT()] * program.exp
    settings = configured(clarabel.DefaultSettings(), options | {"verbose": False})
    data = as_csc(sparse.triu(program.P)), program.q, as_csc(program.A), program.b, cones
    found = clarabel.DefaultSolver(*data, settings).solve()
    status = str(found.status)
    return Answer.said(found.x, found.z, status, status.endswith("PrimalInfeasible"), found.iterations)


# Below 1e-11 Clarabel can stall and then return an iterate that is wrong in the third digit.
OPTIONS = dialect("tol_gap_abs", "tol_gap_rel", "tol_feas", "tol_ktratio", floor=1e-11, max_iter=200)

NAMES = {"clarabel": Backend("CLARABEL", "clarabel", run, OPTIONS, CONIC, rays=True)}
