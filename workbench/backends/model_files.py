"""Model files in MPS, QPS and LP format, by HiGHS's reader, where a second reading agrees (second_reading.py).

minimise (or maximise)  ½xᵀPx + cᵀx + constant   subject to   row_lower ≤ A x ≤ row_upper,  lower ≤ x ≤ upper
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from workbench.backends.lp_text import lp_facts
from workbench.backends.mps_text import mps_facts
from workbench.backends.second_reading import Discrete, Facts, Unclear, compare, cut_off, overlong
from workbench.backends.silence import highs_model
from workbench.contracts import Floats
from workbench.errors import BadInput, MissingCapability
from workbench.system.unpacked import content_of


class Model(NamedTuple):
    """The numbers of a file, ±∞ for a missing bound; `rounded` says which floats do not hold as they are written."""

    P: sparse.csc_array
    c: Floats
    constant: float
    A: sparse.csc_array
    row_lower: Floats
    row_upper: Floats
    lower: Floats
    upper: Floats
    rows: list[str]
    columns: list[str]
    maximise: bool
    rounded: tuple[str, ...] = ()


def read_model(path: Path) -> Model:
    """The model in a file.

    Raises `BadInput` where the text cannot be read, or can in two ways, and `MissingCapability` without highspy or if
    some variables are not continuous.
    """
    try:
        import highspy
    except ModuleNotFoundError:
        raise MissingCapability(f"{path} needs highspy to be read; pip install highspy.") from None
    facts = facts_of(path)  # first: a file with a fault can keep HiGHS's reader, native code, for ever
    model = highs_model()
    if model.readModel(str(path)) == highspy.HighsStatus.kError:
        raise BadInput(f"{path} is no MPS, QPS or LP file that HiGHS can read; check its format.")
    lp, hessian = model.getLp(), model.getModel().hessian_
    n, m = lp.num_col_, lp.num_row_
    columns = list(lp.col_names_) or [f"x{k + 1}" for k in range(n)]
    whole = [k for k, kind in enumerate(lp.integrality_) if kind != highspy.HighsVarType.kContinuous]
    if whole:
        raise MissingCapability(
            f"{len(whole)} variables of {path} are integer or semi-continuous, {columns[whole[0]]} first; only "
            "continuous convex programs are proven, so relax these variables."
        )
    a = lp.a_matrix_
    kind = sparse.csc_array if a.format_ == highspy.MatrixFormat.kColwise else sparse.csr_array
    A = sparse.csc_array(kind((np.array(a.value_), np.array(a.index_), np.array(a.start_)), shape=(m, n)))
    P = sparse.csc_array((n, n))
    if hessian.dim_:
        parts = np.array(hessian.value_), np.array(hessian.index_), np.array(hessian.start_)
        below = sparse.csc_array(parts, shape=(n, n))
        triangular = hessian.format_ == highspy.HessianFormat.kTriangular
        P = sparse.csc_array(below + sparse.tril(below, -1).T) if triangular else below
    rows = list(lp.row_names_) or [f"row {k + 1}" for k in range(m)]
    low, high, least, most = (
        np.array(each, float) for each in (lp.row_lower_, lp.row_upper_, lp.col_lower_, lp.col_upper_)
    )
    maximise = lp.sense_ == highspy.ObjSense.kMaximize
    found = Model(
        P, np.array(lp.col_cost_, float), float(lp.offset_), A, low, high, least, most, rows, columns, maximise
    )
    compare(path, found, facts)
    return found._replace(rounded=(*facts.rounded, *cut_off(rows, facts)))


def text_of(path: Path) -> str:
    """The text of a file, plain or gzipped."""
    try:
        return content_of(path).decode()
    except UnicodeDecodeError:
        raise BadInput(f"{path} is no text in UTF-8; save it as one.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be unpacked ({error}); check the file.") from None


def facts_of(path: Path) -> Facts:
    """What the text of a file says; `BadInput` names a place that is unclear, `MissingCapability` one of integers."""
    reader = lp_facts if path.name.lower().removesuffix(".gz").endswith(".lp") else mps_facts
    try:
        text = text_of(path)
        facts = reader(text)
        facts.rounded += overlong(text)
        return facts
    except Discrete as place:
        raise MissingCapability(
            f"{path} has variables that are integer or semi-continuous ({place}); only continuous convex programs are "
            "proven, so relax these variables."
        ) from None
    except Unclear as fault:
        raise BadInput(f"{path} is unclear: {fault}; correct the file.") from None
