"""Bad and extreme input, through files, arrays and settings: a clear sentence, or a right answer.

    files      those of tests/data/test_hostile_files.py, through `cutbench solve`
    arrays     KINDS of samples and labels for every output structure that takes a matrix, each with SOFT and SMOOTH
    settings   numbers of every size and type for the settings of formulations and of `solve`

A solved problem of arrays is checked without solver and without our bounds: lower ≤ F(w) at points drawn at random and
at θ, and upper = F(θ), with F written out for multiclass in longdouble.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import workbench as wb
from reliability import Trial
from workbench.command.cli import cli
from workbench.errors import CutbenchError
from workbench.registries import load_file

TESTS = Path(__file__).resolve().parents[2]
LAM = 0.1


def commanded(words: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main(words)
        except SystemExit as left:
            return int(left.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """An empty working folder, below another one."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        inside = Path(place) / "inside"
        inside.mkdir()
        os.chdir(inside)
        try:
            yield inside
        finally:
            os.chdir(before)


def files() -> Iterator[Trial]:
    module = sys.modules.get("_files") or load_file(TESTS / "data" / "test_hostile_files.py", "test")
    for kind, (name, content, says) in module.REFUSED.items():
        with folder() as place:
            Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
            code, out, err = commanded(["solve", f"./{name}", "soft-margin"])
            left = [path for path in place.parent.rglob("*") if path.is_file() and path.parent != place]
        right = code == 2 and not out and says in err and err.rstrip("\n").isprintable() and not left
        yield Trial("input", f"file, {kind}", right, "" if right else f"{code}: {out}{err} {left}")
    for kind, (name, content, _) in module.HARMLESS.items():
        with folder():
            Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
            code, out, err = commanded(["solve", f"./{name}", "soft-margin", "--json", "--time-limit", "20"])
        yield Trial("input", f"file, {kind}", code in (0, 3), "" if code in (0, 3) else f"{code}: {out}{err}")


# ── arrays ────────────────────────────────────────────────────────────────────────────────────────


def plain() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return np.c_[rng.normal(size=(12, 2)), np.ones(12)], np.arange(12) % 3


def changed(x: Callable[[Any], Any] = lambda X: X, y: Callable[[Any], Any] = lambda y: y) -> Callable[[], Any]:
    def made() -> tuple[Any, Any]:
        X, labels = plain()
        return x(X), y(labels)

    return made


def entry(value: Any) -> Callable[[Any], Any]:
    def put(X: Any) -> Any:
        X = X.astype(object if isinstance(value, str | None) else float)
        X[3, 1] = value
        return X

    return put


def column(value: float) -> Callable[[Any], Any]:
    return lambda X: np.c_[X[:, :1], np.full(len(X), value), X[:, 2:]]


KINDS: dict[str, Callable[[], Any]] = {
    **{f"an entry {value}": changed(entry(value)) for value in (np.nan, np.inf, -np.inf, 1e308, 1e200, 1e-320, "x")},
    **{f"a column of {value:g}": changed(column(value)) for value in (0.0, 1e-300, 1e-150, 1e100, 1e150, 1e300)},
    **{f"all times {s:g}": changed(lambda X, s=s: X * s) for s in (0.0, 1e-300, 1e-160, 1e-30, 1e-8, 1e8, 1e30, 1e160)},
    **{f"as {kind}": changed(lambda X, kind=kind: X.astype(kind)) for kind in ("f2", "f4", "g", "i1", "u8", "?", "O")},
    **{f"as {kind}": changed(lambda X, kind=kind: X.astype(kind)) for kind in ("c16", "U9", "S9", ">f8")},
    "None in it": changed(entry(None)),
    "no samples": lambda: (np.empty((0, 3)), []),
    "no features": lambda: (np.empty((12, 0)), plain()[1]),
    "one sample": lambda: (np.ones((1, 3)), [0]),
    "one class": changed(y=lambda y: 0 * y),
    "a class each": changed(y=lambda y: np.arange(12)),
    "every sample twice": lambda: tuple(np.concatenate([part, part]) for part in plain()),
    "same samples, other labels": lambda: (np.ones((12, 3)), plain()[1]),
    "one axis": changed(lambda X: X[:, 0]),
    "three axes": changed(lambda X: X[:, :, None]),
    "a number": changed(lambda X: 3.0),
    "None": changed(lambda X: None),
    "a text": changed(lambda X: "samples"),
    "ragged": changed(lambda X: [list(row)[: 2 + k % 2] for k, row in enumerate(X)]),
    "lists": changed(lambda X: X.tolist()),
    "masked": changed(lambda X: np.ma.masked_less(X, 0.0)),
    "a matrix of sparse rows": changed(sparse.csr_matrix),
    "sparse with NaN": changed(lambda X: sparse.csr_array(entry(np.nan)(X))),
    "sparse columns": changed(sparse.csc_array),
    "sparse, twice the same entry": changed(lambda X: sparse.coo_array((np.ones(3), ([0, 0, 1], [0, 0, 1])), X.shape)),
    "a view backwards": changed(lambda X: X[::-1, ::-1]),
    "Fortran order": changed(np.asfortranarray),
    "read-only": changed(lambda X: np.lib.stride_tricks.as_strided(X, writeable=False)),
    "a generator": changed(lambda X: (row for row in X)),
    "a set": changed(lambda X: {1, 2, 3}),
    "too few labels": changed(y=lambda y: y[:-1]),
    "too many labels": changed(y=lambda y: np.append(y, 1)),
    "labels in a column": changed(y=lambda y: y[:, None]),
    "labels NaN": changed(y=lambda y: np.where(y == 1, np.nan, y)),
    "labels None": changed(y=lambda y: [None, *y[1:]]),
    "labels inf": changed(y=lambda y: np.where(y == 1, np.inf, y)),
    "labels as words": changed(y=lambda y: np.array(["a", "b", "c"])[y]),
    "labels as bytes": changed(y=lambda y: np.array([b"a", b"b", b"c"])[y]),
    "labels mixed": changed(y=lambda y: ["a", 1, 2.5, *y[3:]]),
    "labels with escapes": changed(y=lambda y: np.array(["\x1b[31m", "b", "c"])[y]),
    "labels huge": changed(y=lambda y: y.astype(object) * 10**30),
    "labels negative": changed(y=lambda y: -y),
    "labels real": changed(y=lambda y: y + 0.5),
    "labels as lists": changed(y=lambda y: [[label] for label in y]),
    "labels a dict": changed(y=lambda y: dict(enumerate(y))),
}
WEIGHTS = {"negative": -1.0, "NaN": np.nan, "inf": np.inf, "zero": 0.0, "tiny": 1e-300, "huge": 1e300}
MAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "multiclass": wb.Multiclass,
    "linear": wb.Linear,
    "chain": lambda X, y: wb.Chain([X, X], [y, y]),
    "tree": lambda X, y: wb.Tree([X], [[(0, 1), (1, 2)]], [y]),
}


def objective(problem: Any, w: Any, lam: float) -> np.longdouble:
    """F of a soft margin with 0/1 loss, written out."""
    X = np.asarray(problem.X.toarray() if sparse.issparse(problem.X) else problem.X, np.longdouble)
    W, n = np.asarray(w, np.longdouble).reshape(len(problem.classes), -1), np.arange(len(X))
    scores = X @ W.T
    margins = scores - scores[n, problem.labels][:, None] + 1
    margins[n, problem.labels] = 0
    shares = np.asarray(problem.weights, np.longdouble)
    return np.longdouble(lam) / 2 * (W**2).sum() + (margins.max(axis=1) * shares).sum() / shares.sum()


def wrong(problem: Any, found: Any, lam: float) -> str:
    """What is wrong with a solution of a soft margin, by points drawn at random."""
    if type(problem) is not wb.Multiclass or not np.isfinite(found.upper):
        return "" if found.lower <= found.upper else "the ends cross"
    rng, w = np.random.default_rng(0), found.theta_flat
    sizes = [0.0, *10.0 ** rng.uniform(-3, 3, 20)]
    points = [w, *(w + s * (np.abs(w).max() + 1e-3) * rng.normal(size=w.shape) for s in sizes)]
    least = min(objective(problem, point, lam) for point in points)
    if not found.lower <= least * (1 + 1e-12):
        return f"lower {found.lower!r} is above F = {least!r} at some w"
    value = objective(problem, w, lam)
    return "" if abs(value - found.upper) <= 1e-9 * abs(value) else f"upper {found.upper!r} is not F(θ) = {value!r}"


def tried(kind: str, make: Callable[[], Any], form: Any, **options: Any) -> Trial:
    """A problem made and solved: a sentence, or an answer that is right."""
    said = ""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            problem = make()
            found = wb.solve(form, problem, **{"gap": 1e-6, "max_rounds": 300} | options)
            said = wrong(problem, found, form.lam) if isinstance(form, wb.SoftMargin) else ""
    except CutbenchError as error:
        said = "" if str(error).isprintable() and str(error) else f"not one printable line: {str(error)!r}"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    return Trial("input", kind, not said, said)


def arrays() -> Iterator[Trial]:
    for name, make in MAKERS.items():
        for kind, data in KINDS.items():
            yield tried(f"{name}, {kind}", lambda make=make, data=data: make(*data()), wb.SoftMargin(lam=LAM))
    for kind, data in KINDS.items():
        yield tried(f"likelihood, {kind}", lambda data=data: wb.Multiclass(*data()), wb.CRF(lam=LAM))
    for kind, weight in WEIGHTS.items():
        for every in (False, True):
            weights = np.where(np.arange(12) == 4, weight, weight if every else 1.0)

            def made(weights: Any = weights) -> Any:
                return wb.Multiclass(*plain(), weights=weights)

            yield tried(f"weights, {'all' if every else 'one'} {kind}", made, wb.SoftMargin(lam=LAM))


# ── settings ──────────────────────────────────────────────────────────────────────────────────────

VALUES = (0, -1, np.nan, np.inf, 1e-320, 1e-101, 1e-12, 1e12, 1e101, "1", None, True, 1j, [1], np.float32(0.5), 10**400)


def settings() -> Iterator[Trial]:
    problem = wb.Multiclass(*plain())
    for value in VALUES:
        for name in ("lam",):
            kind = f"{name}={str(value)[:20]}"
            yield constructed(f"soft margin, {kind}", lambda v=value: wb.SoftMargin(lam=v), problem)
            yield constructed(f"likelihood, {kind}", lambda v=value: wb.CRF(lam=v), problem)
        for name in ("gap", "time_limit", "max_rounds", "groups", "backend", "master", "journal"):
            if not (name in ("time_limit", "max_rounds", "groups", "backend", "master", "journal") and value is None):
                kind = f"solve, {name}={str(value)[:20]}"
                form = wb.SoftMargin(lam=LAM)
                with folder():
                    yield tried(kind, lambda: problem, form, **{name: value})


def constructed(kind: str, make: Callable[[], Any], problem: Any) -> Trial:
    try:
        form = make()
    except CutbenchError as error:
        return Trial("input", kind, str(error).isprintable(), str(error))
    except Exception as error:
        return Trial("input", kind, False, f"{type(error).__name__}: {error}")
    return tried(kind, lambda: problem, form)


def campaign() -> Iterator[Trial]:
    yield from files()
    yield from arrays()
    yield from settings()
