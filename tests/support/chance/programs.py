"""Certificates of convex programs by chance: x, w, y, d first, then a program for which they prove something.

    b = Ax + s with s ∈ K, q = −Pw − Aᵀy with y ∈ K*: then both ends are proven, and equal if w = x and yᵀs = 0.

All numbers are whole, or whole tenths read as decimals, so that nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from chance import damaged as damage
from chance.certificates import WIDE, Case, header

TRIPLES = [(0, 1, 1), (1, 1, 3), (-3, 2, 1), (0, 0, 2), (-1, 0, 0), (2, 1, 8), (-9, 1, 1)]  # in EXP
DUALS = [(-1, -1, 1), (-1, 0, 1), (0, 2, 1), (0, 0, 0), (-2, 3, 5), (-1, 5, 1), (-1, -2, 3)]  # in EXP*
OUTSIDE = [(1, 1, 2), (0, 1, 0), (1, 0, 5), (-1, 0, -1), (0, -1, 1), (-1, 1, 0), (3, 1, 20), (0, 1, -1)]
OUTSIDE_DUALS = [(1, 1, 1), (-1, -2, 2), (0, -1, 1), (0, 1, -1), (-1, 0, 0), (-1, -1, 0), (-5, -20, 30), (-1, 0, -1)]
SIZES = [
    (1, 2, (), 0),
    (0, 3, (3,), 0),
    (1, 1, (2, 1), 1),
    (2, 1, (), 2),
    (0, 0, (4,), 0),
    (1, 4, (), 0),
    (0, 0, (), 2),
]


def inside(rng: Any, sizes: Any, dual: bool = False) -> list[int]:
    """A point of K, or of K*; some entries on the border."""
    zero, nonneg, balls, triples = sizes
    found = rng.integers(-3, 4, zero).tolist() if dual else [0] * zero
    found += rng.integers(0, 3, nonneg).tolist()
    for size in balls:
        u = rng.integers(-2, 3, size - 1).tolist()
        found += [int(np.ceil(np.sqrt(sum(each * each for each in u)))) + int(rng.integers(2)), *u]
    choices = DUALS if dual else TRIPLES
    return found + [int(each) for _ in range(triples) for each in choices[rng.integers(len(choices))]]


def form(rng: Any, n: int, way: int) -> np.ndarray:
    """P: none, dominant, in need of its root, in need of elimination, in blocks."""
    F = rng.integers(-2, 3, (n, n))
    if way == 0:
        return np.zeros((n, n), int)
    if way == 1:
        return np.diag(rng.integers(1, 4, n)) * 4 + (F + F.T) // 4
    if way == 2:
        return F.T @ F + np.eye(n, dtype=int)
    flat = F[:2].T @ F[:2]
    if way == 4:
        flat = F[:1].T @ F[:1]
        flat[n // 2 :, : n // 2] = flat[: n // 2, n // 2 :] = 0
    return flat


def columns(matrix: np.ndarray, tenth: int) -> dict[str, np.ndarray]:
    rows, places = np.nonzero(matrix.T)
    indptr = np.concatenate([[0], np.cumsum((matrix != 0).sum(axis=0))]).astype(np.int64)
    return {"data": matrix.T[rows, places] / tenth, "indices": places.astype(np.int64), "indptr": indptr}


def text(numbers: Any, unit: int) -> np.ndarray:
    return np.frombuffer("\n".join(f"{int(each):x}" for each in [unit, *numbers]).encode(), np.uint8)


def case_of(name: str, P: Any, q: Any, A: Any, b: Any, sizes: Any, tenth: int = 1, **words: Any) -> Case:
    """The certificate of a program whose numbers are whole tenths (or wholes); the vectors are whole over `unit`."""
    unit, sense = words.pop("unit", 1), words.pop("sense", "minimise")
    arrays = {f"data_P_{key}": each for key, each in columns(np.asarray(P), tenth).items()}
    arrays |= {f"data_A_{key}": each for key, each in columns(np.asarray(A), tenth).items()}
    arrays |= {
        "data_q": np.array(q) / tenth,
        "data_b": np.array(b) / tenth,
        "data_constant": np.array(words.pop("constant", 0.5)),
    }
    zero, nonneg, balls, triples = sizes
    arrays["data_cones"] = np.array([zero, nonneg, triples, *balls], np.int64)
    if words.pop("root", False):
        live = np.flatnonzero(np.any(P, axis=1))
        small = np.asarray(P, float)[np.ix_(live, live)] / tenth
        arrays["root"] = np.linalg.cholesky(small - 1e-9 * np.eye(len(live))).ravel()
    arrays |= {key: text(each, unit) for key, each in words.items() if each is not None}
    settings = {"conclusion": name, "reading": "float" if tenth == 1 else "decimal", "sense": sense}
    case = Case(f"program {name} {sizes}", header("program", "program", settings, "program"), arrays)
    case.sign()
    return judged(case)


def judged(case: Case) -> Case:
    """The claim that fits, where the second checker finds ends."""
    verdict = case.judged()
    case.verdict = verdict
    return case if verdict.lower is None else case.claimed(verdict)


def bounded(rng: Any, sizes: Any, way: int, tenth: int) -> Case:
    """Both ends, equal where w = x and yᵀs = 0."""
    m, n = sizes[0] + sizes[1] + sum(sizes[2]) + 3 * sizes[3], 4
    A, x, P = rng.integers(-3, 4, (m, n)), rng.integers(-2, 3, n), form(rng, n, way)
    tight = way % 2 == 0 and not sizes[2] and not sizes[3]
    w, y, s = x if tight else rng.integers(-2, 3, n), np.array(inside(rng, sizes, True)), np.array(inside(rng, sizes))
    y = np.where(s > 0, 0, y) if tight else y
    q, b = -P @ w - A.T @ y, A @ x + s
    given = {"x": x, "w": None if tight else w, "y": y, "root": way == 2, "sense": ("minimise", "maximise")[way % 2]}
    if not tight and way == 3:
        given["x"] = None
    if not tight and way == 1:
        given["w"], given["y"] = None, None
    return case_of("optimal" if tight else "bounded", P, q, A, b, sizes, tenth, **given)


def others(rng: Any, sizes: Any, tenth: int) -> Iterator[Case]:
    """infeasible, unbounded, nonconvex."""
    m, n = sizes[0] + sizes[1] + sum(sizes[2]) + 3 * sizes[3], 4
    y = np.array(inside(rng, sizes, True))
    while 1 not in abs(y):
        y = np.array(inside(rng, sizes, True))
    A = rng.integers(-3, 4, (m, n))
    for k in np.flatnonzero(abs(y) == 1)[:1]:
        A[k] = -y[k] * (np.delete(y, k) @ np.delete(A, k, axis=0))
        b = rng.integers(-2, 3, m)
        b[k] -= y[k] * (b @ y + 1)
        yield case_of("infeasible", np.zeros((n, n), int), rng.integers(-2, 3, n), A, b, sizes, tenth, y=y)
    x, d, s, t = (
        rng.integers(-2, 3, n),
        np.array([1, -1, 0, 0]),
        np.array(inside(rng, sizes)),
        np.array(inside(rng, sizes)),
    )
    A = rng.integers(-3, 4, (m, n))
    A[:, 0] = A[:, 1] - t
    P = np.zeros((n, n), int)
    P[2:, 2:] = form(rng, 2, 2)
    P[:2, :2] = 1
    q = rng.integers(-2, 3, n)
    q[0] = q[1] - 1
    yield case_of("unbounded", P, q, A, A @ x + s, sizes, tenth, x=x, d=d, sense=("minimise", "maximise")[m % 2])
    P = np.diag([1, 1, 1, 1])
    P[0, 1] = P[1, 0] = 2
    yield case_of("nonconvex", P, q, A, rng.integers(-2, 3, m), sizes, tenth, d=np.array([1, -1, 0, 0]), x=x)


def wrong(case: Case) -> Iterator[Case]:
    """Each number of each vector one more or less; vectors missing; other conclusions, readings and senses."""
    for name in [name for name in ("x", "w", "y", "d") if name in case.arrays]:
        lines = case.arrays[name].tobytes().split(b"\n")
        for at in range(len(lines)):
            for step in (-1, 1):
                new = case.copy(f"{name} {at} {step}")
                changed = [b"%x" % (int(line, 16) + step * (at == k)) for k, line in enumerate(lines)]
                new.arrays[name] = np.frombuffer(b"\n".join(changed), np.uint8)
                yield new
        for other in (b"", b"1", b"0" + case.arrays[name].tobytes(), case.arrays[name].tobytes() + b"\n", b"-1",
                      case.arrays[name].tobytes().replace(b"\n", b"\n+", 1), b"2" + case.arrays[name].tobytes()[1:],
                      case.arrays[name].tobytes() + b"\n0", b"\xff" + case.arrays[name].tobytes()):  # fmt: skip
            new = case.copy(f"{name} {other!r}")
            new.arrays[name] = np.frombuffer(other, np.uint8)
            yield new
        new = case.copy(f"no {name}")
        del new.arrays[name]
        yield new
    for word in ("optimal", "bounded", "infeasible", "unbounded", "nonconvex", "x"):
        new = case.copy(f"called {word}")
        new.header["formulation"]["settings"]["conclusion"] = word
        yield new
    if "root" in case.arrays:
        new = case.copy("no root")
        del new.arrays["root"]
        yield new
        new = case.copy("another root")
        new.arrays["root"] = new.arrays["root"] * 2 + 1
        yield new


def border(rng: Any) -> Iterator[Case]:
    """s or y just outside of the cones, one block at a time."""
    for dual, points in ((False, OUTSIDE + TRIPLES), (True, OUTSIDE_DUALS + DUALS)):
        for point in points:
            A = np.array([[1], [2], [-1]])
            given = {"y": point} if dual else {"x": [1]}
            q = [-int(A[:, 0] @ point)] if dual else [1]
            yield case_of("bounded", [[0]], q, A, [1, 1, 1] if dual else A[:, 0] + point, (0, 0, (), 1), **given)
    for size, point in (
        (3, (5, 3, 4)),
        (3, (5, 3, 5)),
        (3, (-5, 3, 4)),
        (1, (0,)),
        (1, (-1,)),
        (2, (1, -1)),
        (2, (1, -2)),
    ):
        A = np.arange(1, size + 1).reshape(-1, 1)
        yield case_of("bounded", [[0]], [1], A, A[:, 0] * 2 + point, (0, 0, (size,), 0), x=[2])
        yield case_of("bounded", [[0]], [-int(A[:, 0] @ point)], A, [1] * size, (0, 0, (size,), 0), y=point)
    huge = 10**40
    for r, s, t in (
        (200, 1, huge),
        (-200, 1, 1),
        (90, 1, huge),
        (93, 1, huge),
        (-huge, huge, 1),
        (-huge, huge, huge // 2),
    ):
        arrays = {"x": [0], "unit": 1}
        case = case_of("bounded", [[0]], [1], [[1], [1], [1]], [1, 1, 1], (0, 0, (), 1), **arrays)
        case.arrays["data_b"] = np.array([float(r), float(s), float(t)])
        case.header |= WIDE
        case.sign()
        yield judged(case)


@cache
def programs(seed: int = 0) -> tuple[Case, ...]:
    """Programs of every conclusion over every cone, honest ones and with one number moved."""
    rng, found = np.random.default_rng(seed), []
    for number, sizes in enumerate(SIZES):
        for way in range(5):
            found.append(bounded(rng, sizes, way, (1, 10)[(number + way) % 2]))
        found += others(rng, sizes, (1, 10)[number % 2])
    every = list(found)
    for case in found[::2]:
        for new in wrong(case):
            new.header |= WIDE
            new.header.pop("optimum", None)
            new.verdict = new.judged()
            every.append(new)
    return (*every, *damaged(rng, found), *border(rng))


def damaged(rng: Any, found: list[Case]) -> Iterator[Case]:
    """Arrays, settings and names at and beyond the edge, in a program over every cone with a root and in an optimum."""
    rich = next(case for case in found if "root" in case.arrays and "(1, 1, (2, 1), 1)" in case.name)
    for base in (rich, next(case for case in found if "optimal" in case.name)):
        for name in base.arrays:
            few = base.arrays[name].dtype.kind == "u"
            for new in [*([] if few else damage.entries(rng, base, name)), *damage.shapes(rng, base, name)]:
                yield damage.judged(new, True)
        for new in damage.settings(base):
            yield damage.judged(new, False)
        for name in ("data_more", "more", "theta", "fractions", "hint_x"):
            new = base.copy(name)
            new.arrays[name] = np.zeros(1)
            yield damage.judged(new, True)
        for part, key in (("formulation", "name"), ("problem", "output"), ("proof", "kind")):
            for value in ("soft-margin", "multiclass", "x", "cuts"):
                new = base.copy(f"{key} {value}")
                new.header[part][key] = value
                yield damage.judged(new, False)
            new = base.copy(f"{part} of version 3")
            new.header[part]["version"] = 3
            yield damage.judged(new, False)
    for sizes in (
        [0, 0],
        [0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 3, 0],
        [4, -1, 0],
        [0, 0, 1],
        [0, 3, 0],
        [3, 0, 0],
        [0, 0, 0, 3],
    ):
        for m in (0, 3):
            new = case_of("bounded", [[0]], [1], np.ones((m, 1), int), [2] * m, (0, m, (), 0), x=[1])
            new.arrays["data_cones"] = np.array(sizes, np.int64)
            yield damage.judged(new, True)
    none = case_of("bounded", [[0]], [1], np.ones((1, 1), int), [2], (0, 1, (), 0), x=[1])
    none.arrays |= {"data_q": np.zeros(0), "data_A_data": np.zeros(0), "data_A_indices": np.zeros(0, np.int64)}
    none.arrays |= {"data_A_indptr": np.zeros(1, np.int64), "data_P_indptr": np.zeros(1, np.int64), "x": text([], 1)}
    yield damage.judged(none, True)
