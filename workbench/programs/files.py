"""Programs in files: MPS, QPS and LP format (read by HiGHS), Maros–Mészáros .mat, .npz, and Python.

    MPS, QPS, LP     highspy's reader, plain or .gz
    .mat             P, q, r, A, l, u of  min ½xᵀPx + qᵀx + r,  l ≤ Ax ≤ u;  ±1e20 and beyond mean none
    .npz             P, q, A, b (P and A dense or as P_data, P_indices, P_indptr: CSC) and cones (zero, nonneg, exp,
                     then the sizes of second-order cones) of  min ½xᵀPx + qᵀx,  b − Ax ∈ K
    .py              a function `program()` that returns a cp.Problem; it runs with the user's rights

Texts are read as decimals, numbers stored in binary as floats, unless `reading` says otherwise.
"""

from __future__ import annotations

import ast
from inspect import isfunction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.backends.model_files import read_model
from workbench.backends.second_reading import without_end
from workbench.contracts import Floats
from workbench.errors import BadInput
from workbench.programs.program import Program, program_of
from workbench.registries import line_within, see_beside
from workbench.system.archive import arrays_in

NONE = 1e20  # what the Maros–Mészáros files write for ∞
MEMBERS = ("P", "q", "A", "b", "cones", *(f"{name}_{part}" for name in "PA" for part in ("data", "indices", "indptr")))
RUN_AS = "<run_path>"  # what `runpy` calls the module that it runs
FEW = 4  # names in a sentence
TEXTS = (".mps", ".qps", ".lp", ".mps.gz", ".qps.gz", ".lp.gz")


def program_in(path: str | Path) -> tuple[Any, str]:
    """What a file holds, a `Program` or a cp.Problem, and the reading its numbers suggest."""
    path = Path(path)
    if path.is_dir():
        raise BadInput(f"{path} is a folder; name a file in it.")
    if not path.is_file():
        raise BadInput(f"The file {path} does not exist; check the path.")
    name = path.name.lower()
    if name.endswith(TEXTS):
        return of_text(path), "decimal"
    for ending, reader in ((".mat", of_mat), (".npz", of_npz), (".py", of_python)):
        if name.endswith(ending):
            return reader(path), "float"
    raise BadInput(f"{path} has an ending that no reader takes; give .mps, .qps, .lp (also .gz), .mat, .npz or .py.")


def load_program(path: str | Path) -> Program:
    """The `Program` in a file, as `wb.prove` takes it, with the numbers as stored."""
    found, _ = program_in(path)
    if isinstance(found, Program):
        return found
    from workbench.programs.compiled import compiled

    return compiled(found).program


def two_sided(P, q, A, lower: Floats, upper: Floats, names: list[str], **told) -> Program:
    """The program min ½xᵀPx + qᵀx, lower ≤ Ax ≤ upper; a bound of ±∞ is none."""
    A = sparse.csr_array(A)
    crossed = np.flatnonzero((lower == np.inf) | (upper == -np.inf) | np.isnan(lower) | np.isnan(upper))
    if len(crossed):
        at = int(crossed[0])
        raise BadInput(f"{names[at]} lies between {lower[at]} and {upper[at]}; correct its bounds.")
    same = np.flatnonzero(lower == upper)
    below = np.flatnonzero((lower > -np.inf) & (lower != upper))
    above = np.flatnonzero((upper < np.inf) & (lower != upper))
    rows = sparse.vstack([A[same], A[above], -A[below]])
    b = np.concatenate([upper[same], upper[above], -lower[below]])
    labels = [names[k] for k in same] + [f"{names[k]} (upper)" if lower[k] > -np.inf else names[k] for k in above]
    labels += [f"{names[k]} (lower)" if upper[k] < np.inf else names[k] for k in below]
    return program_of(P, q, rows, b, len(same), len(b) - len(same), rows=labels, **told)


def of_text(path: Path) -> Program:
    """MPS, QPS or LP format; bounds of variables become rows."""
    model = read_model(path)
    sign, every = -1 if model.maximise else 1, sparse.vstack([model.A, sparse.eye_array(len(model.c))])
    lower, upper = np.append(model.row_lower, model.lower), np.append(model.row_upper, model.upper)
    names = model.rows + [f"the bound of {name}" for name in model.columns]
    told = {
        "constant": sign * model.constant,
        "sign": sign,
        "columns": model.columns,
        "rounded": model.rounded,
        "name": path.name,
    }
    return two_sided(sign * model.P, sign * model.c, every, lower, upper, names, **told)


def of_mat(path: Path) -> Program:
    """A Maros–Mészáros problem as MATLAB 5."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        parts = loadmat(path)
        P, A = (sparse.csc_array(real(parts, name)) for name in "PA")
        q, lower, upper = (real(parts, name).ravel() for name in "qlu")
        constant = float(real(parts, "r").item())
    except (KeyError, ValueError, TypeError, NotImplementedError, MatReadError) as error:
        raise BadInput(f"{path} is no .mat file with P, q, r, A, l and u ({error}); write these into it.") from None
    beyond = np.flatnonzero(
        ((np.abs(lower) > NONE) & np.isfinite(lower)) | ((np.abs(upper) > NONE) & np.isfinite(upper))
    )
    told = tuple(without_end([f"row {k + 1}" for k in beyond.tolist()]))
    lower, upper = np.where(lower <= -NONE, -np.inf, lower), np.where(upper >= NONE, np.inf, upper)
    names = [f"row {k + 1}" for k in range(len(lower))]
    return two_sided(P, q, A, lower, upper, names, constant=constant, name=path.name, rounded=told)


def of_npz(path: Path) -> Program:
    """Arrays P, q, A, b and cones."""
    try:
        parts = arrays_in(path, MEMBERS)
        q, b = real(parts, "q").ravel(), real(parts, "b").ravel()
        zero, nonneg, exp, *soc = (whole(size) for size in parts["cones"])
        P, A = matrix_in(parts, "P", (len(q), len(q))), matrix_in(parts, "A", (len(b), len(q)))
    except (KeyError, ValueError, TypeError, OverflowError, OSError) as error:
        fault = f"it has no {error.args[0]}" if isinstance(error, KeyError) else str(error).splitlines()[0]
        raise BadInput(f"{path} is no .npz file with P, q, A, b and cones ({fault}); write these into it.") from None
    if min(zero, nonneg, exp) < 0 or min(soc, default=1) < 1 or zero + nonneg + sum(soc) + 3 * exp != len(b):
        raise BadInput(f"The cones of {path} do not add up to its {len(b)} rows; correct `cones`.")
    return program_of(P, q, A, b, zero, nonneg, tuple(soc), exp, name=path.name)


def real(parts: dict[str, Any], name: str) -> Any:
    """An array as floats, sparse where it was.

    `ValueError` for numbers that a float does not hold: complex ones, dates, texts, long integers, longer floats.
    """
    found = parts[name] if sparse.issparse(parts[name]) else np.asarray(parts[name])
    values: NDArray = np.asarray(found.data if sparse.issparse(found) else found)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name} is of type {values.dtype}, no real numbers")
    with np.errstate(invalid="ignore", over="ignore"):  # of whole numbers that come back as others
        floats = values.astype(float)
        kept = (floats.astype(values.dtype) == values) | ~np.isfinite(values)
    if not kept.all():
        raise ValueError(f"{name} holds numbers that float64 would round")
    return found.astype(float)


def whole(number: Any) -> int:
    if number != int(number):
        raise ValueError(f"cones holds {number}, no whole number")
    return int(number)


def matrix_in(parts: dict[str, Any], name: str, shape: tuple[int, int]) -> Any:
    if name in parts:
        return sparse.csc_array(real(parts, name).reshape(shape))
    data, indices, starts = (parts[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    if len(starts) != shape[1] + 1 or starts[0] != 0 or starts[-1] != len(data) or len(indices) != len(data):
        raise ValueError(f"{name}_indptr does not say where the {shape[1]} columns end")
    if (np.diff(starts) < 0).any() or ((indices < 0) | (indices >= shape[0])).any():
        raise ValueError(f"{name}_indices names a row that {name} lacks")
    return sparse.csc_array((real(parts, f"{name}_data"), indices, starts), shape=shape)


def of_python(path: Path) -> Any:
    """What the function `program` of a Python file returns."""
    import runpy

    import cvxpy as cp

    see_beside(path)
    try:
        names = runpy.run_path(str(path))
        found = names.get("program")
        problem = found() if callable(found) else None
    except Exception as error:
        raise BadInput(f"{place_in(path, error)} fails with {fault_of(error)}; correct it.") from error
    if not callable(found):
        raise BadInput(f"{path} {lacking(names, cp.Problem)}; give it a function program() that returns a cp.Problem.")
    if not isinstance(problem, cp.Problem):
        raise BadInput(f"program() of {path} returns {type(problem).__name__}; return a cp.Problem.")
    return problem


def place_in(path: Path, error: Exception) -> str:
    """`FILE line N`, the last line of a user's file that an error passed through; FILE alone if it passed none."""
    line = line_within(path, error)
    if isinstance(error, SyntaxError) and error.filename == str(path):
        line = error.lineno
    return f"{path} line {line}" if line else str(path)


def fault_of(error: Exception) -> str:
    """The kind of an error and the first line of its message, without the full stop."""
    lines = str(error.msg if isinstance(error, SyntaxError) else error).strip().splitlines()
    return ": ".join([type(error).__name__, *lines[:1]]).rstrip(". ")


def lacking(names: dict[str, Any], kind: type) -> str:
    """What a file without a function `program` defines: its functions, and its objects of this kind."""
    if "program" in names:
        return f"calls {a_kind(names['program'])} `program`"
    own = {name: each for name, each in names.items() if not name.startswith("_")}
    told = [f"{name}()" for name, each in own.items() if isfunction(each) and each.__module__ == RUN_AS]
    told += [f"the {kind.__name__} {name}" for name, each in own.items() if isinstance(each, kind)]
    told = [*told[:FEW], *([f"{len(told) - FEW} more"] if len(told) > FEW else [])]
    return f"defines {', '.join(told)} and no program()" if told else "defines no function"


def a_kind(thing: Any) -> str:
    """`an int`, `a Problem`."""
    name = type(thing).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def defines_program(path: Path) -> bool:
    """Whether a Python file defines a function `program`, by its text alone; False for a file that is no Python."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return False
    return any(isinstance(each, ast.FunctionDef) and each.name == "program" for each in tree.body)
