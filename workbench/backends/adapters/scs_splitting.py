"""SCS: operator splitting for quadratic objectives over all our cones."""

from __future__ import annotations

from scipy import sparse

from workbench.backends.adapter import CONIC, Backend, Options, dialect
from workbench.backends.cone import Answer, ConeProgram, as_csc


def run(program: ConeProgram, options: Options, hint: Answer | None) -> Answer:
    """Our form is SCS's own, with s = b − Ax."""
    import scs

    data = {"P": as_csc(sparse.triu(program.P)), "A": as_csc(program.A), "b": program.b, "c": program.q}
    cones = {"z": program.zero, "l": program.nonneg, "q": list(program.soc), "ep": program.exp}
    start = {} if hint is None else {"x": hint.x, "y": hint.z, "s": program.b - program.A @ hint.x}
    found = scs.SCS(data, cones, verbose=False, **options).solve(warm_start=hint is not None, **start)
    info = found["info"]
    return Answer.said(found["x"], found["y"], info["status"], info["status_val"] in (-2, -7), info["iter"])


OPTIONS = dialect("eps_abs", "eps_rel", "eps_infeas", max_iters=200_000)

NAMES = {"scs": Backend("SCS", "scs", run, OPTIONS, CONIC, clock="time_limit_secs", hinted=True, rays=True)}
