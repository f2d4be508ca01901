"""Certificates of convex programs whose optima are known by hand, and the edits that only such certificates have.

for name, (base, ends) in known_programs().items(): edited(rng, base)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

import workbench as wb
from forging import EDITS
from forging.campaign import opened
from forging.forgery import ODD_NUMBERS, Forgery, Unfit, pick, place, sign
from workbench.programs.program import program_of
from workbench.programs.prove import prove_program

ONLY: dict[str, Any] = {}
SHARED = """key deleted, key of another type, key doubled, inner key doubled, json damaged, json nested,
archive damaged, number in the text changed, archive member forged, archive member doubled or added, archive of another,
datum changed, digest changed, array of another shape, array of another type, array missing or renamed,
setting key missing or added, setting odd, formulation exchanged, kind of proof exchanged,
version changed, word changed, output exchanged, whole and last exchanged, format one, condition added"""
INFINITE = float("inf")


def known_programs() -> dict[str, tuple[Forgery, tuple[Any, Any]]]:
    """Certificates by name, each with ends that hold the optimum of the user's program."""
    x, t = cp.Variable(2), cp.Variable()
    bent = program_of(np.array([[1.0, 2.0], [2.0, 1.0]]), [0.0, 0.0], sparse.csr_array((0, 2)), np.zeros(0), 0, 0)
    third = Fraction(1, 3)
    proofs = {
        "linear": (wb.prove(cp.Problem(cp.Minimize(x[0] + x[1]), [3 * x[0] >= 1, x[1] == 2])), third + 2, third + 2),
        "maximise": (wb.prove(cp.Problem(cp.Maximize(x[0] + 1), [3 * x[0] <= 1, x >= 0])), third + 1, third + 1),
        "decimal": (wb.prove(cp.Problem(cp.Minimize(t), [t >= 0.1]), reading="decimal"), Fraction(1, 10)),
        "quadratic": (wb.prove(cp.Problem(cp.Minimize(cp.sum_squares(x) + x[0]), [x[0] + x[1] == 1])), Fraction(7, 8)),
        "flat": (wb.prove(cp.Problem(cp.Minimize(cp.square(x[0] + x[1])), [x >= 1, x <= 9])), 4),
        "ball": (wb.prove(cp.Problem(cp.Minimize(x[0] + x[1]), [cp.norm(x) <= 5])), -7.0710678118654755, -7.07106781),
        "exponential": (wb.prove(cp.Problem(cp.Minimize(t), [cp.exp(x[0]) <= t, x[0] >= 1])), 2.71828, 2.71829),
        "infeasible": (wb.prove(cp.Problem(cp.Minimize(t), [x[0] + x[1] >= 3, x <= 1])), INFINITE),
        "none above": (wb.prove(cp.Problem(cp.Maximize(t), [x[0] >= 3, x <= 1])), -INFINITE),
        "unbounded": (wb.prove(cp.Problem(cp.Minimize(x[0] + x[1]), [x[0] >= 0, x[0] <= 1])), -INFINITE),
        "endless": (wb.prove(cp.Problem(cp.Maximize(x[1]), [x[0] >= 3])), INFINITE),
        "nonconvex": (prove_program(bent), -INFINITE),
    }
    return {name: (opened(proof), (ends[0], ends[-1])) for name, (proof, *ends) in proofs.items()}


def edited(rng: Any, base: Forgery) -> tuple[str, Forgery]:
    """A forgery of one or two edits, and their names."""
    every = ONLY | {kind: EDITS[kind] for kind in (" ".join(name.split()) for name in SHARED.split(","))}
    forged, names = base.copy(), []
    for _ in range(1 + (rng.random() < 0.25)):
        for _ in range(20):
            kind = pick(rng, every) if rng.random() < 0.4 else pick(rng, ONLY)
            try:
                with np.errstate(all="ignore"):
                    every[kind](rng, forged)
            except (Unfit, KeyError, AttributeError, TypeError, ValueError, IndexError):  # not for this certificate
                continue
            names.append(kind)
            break
    return ", ".join(names), forged


def only(function: Any) -> Any:
    ONLY[function.__name__.replace("_", " ")] = function
    return function


def lines(rng: Any, f: Forgery) -> tuple[str, list[bytes]]:
    """A vector of the forgery: its name and its lines."""
    name = pick(rng, [name for name in ("x", "w", "d", "y") if name in f.arrays])
    return name, f.arrays[name].tobytes().split(b"\n")


def put(f: Forgery, name: str, text: bytes) -> None:
    f.arrays[name] = np.frombuffer(text, np.uint8)


@only
def vector_number_moved(rng: Any, f: Forgery) -> None:
    name, found = lines(rng, f)
    at = int(rng.integers(len(found)))
    value = int(found[at], 16)
    found[at] = b"%x" % pick(rng, (value + 1, value - 1, -value, 2 * value, 0))
    put(f, name, b"\n".join(found))


@only
def vector_scaled(rng: Any, f: Forgery) -> None:
    name, found = lines(rng, f)
    put(f, name, b"\n".join([found[0], *(b"%x" % (int(line, 16) * pick(rng, (2, 2, 1, -1))) for line in found[1:])]))


@only
def vector_text_damaged(rng: Any, f: Forgery) -> None:
    name, found = lines(rng, f)
    at = int(rng.integers(len(found)))
    line = found[at]
    others = (b"", b"-", b"-0", b"0", b"-1", b"a", b"g", b"1e3", b"1.0", b"1_0", b"0x1", b"\xff")
    found[at] = pick(rng, (*others, b"0" + line, b"+" + line, b" " + line, line + b"\r", line.upper()))
    put(f, name, b"\n".join(found))


@only
def vector_line_more_or_less(rng: Any, f: Forgery) -> None:
    name, found = lines(rng, f)
    put(f, name, b"\n".join(pick(rng, (found[:-1], [*found, b"0"], [*found, b""], found[1:], found[:1], []))))


@only
def vector_missing_or_another(rng: Any, f: Forgery) -> None:
    name, _ = lines(rng, f)
    other = pick(rng, ("x", "w", "d", "y", "z", "theta"))
    f.arrays[other] = f.arrays.pop(name) if rng.random() < 0.5 else f.arrays[name]


@only
def vector_of_zeros(rng: Any, f: Forgery) -> None:
    size = len(f.arrays[pick(rng, ("data_q", "data_b"))])
    put(f, pick(rng, ("x", "w", "d", "y")), b"\n".join([b"1", *[b"0"] * size]))


@only
def conclusion_changed(rng: Any, f: Forgery) -> None:
    words = ("optimal", "bounded", "infeasible", "unbounded", "nonconvex", "unknown", None)
    f.header["formulation"]["settings"]["conclusion"] = pick(rng, words)


@only
def reading_or_sense_changed(rng: Any, f: Forgery) -> None:
    settings = f.header["formulation"]["settings"]
    if rng.random() < 0.5:
        settings["reading"] = pick(rng, ("float", "decimal", "text", 1))
    else:
        settings["sense"] = pick(rng, ("minimise", "maximise", "max", None))


@only
def claim_changed(rng: Any, f: Forgery) -> None:
    key = pick(rng, ("lower", "upper", "gap"))
    value = f.header[key]
    f.header[key] = pick(rng, (-value, value + 1, value - 1, 0, INFINITE, -INFINITE, float(np.nextafter(value, 9e9))))


@only
def optimum_changed(rng: Any, f: Forgery) -> None:
    told = f.header.get("optimum", "1")
    ends = f.header["lower"]
    plain = str(Fraction(ends)) if abs(ends) < INFINITE else "0"
    f.header["optimum"] = pick(rng, ("0", "1/0", told + "/1", "-" + told, plain, "", "1/-3", " 1", "0" + told, 3))


@only
def cones_changed(rng: Any, f: Forgery) -> None:
    cones = f.arrays["data_cones"].copy()
    here, there = rng.integers(len(cones), size=2)
    cones[here] -= 1
    cones[there] += 1
    f.arrays["data_cones"] = pick(rng, (cones, cones[:2], np.append(cones, 0), np.append(cones, 1), cones[::-1].copy()))
    sign(rng, f)


@only
def matrix_damaged(rng: Any, f: Forgery) -> None:
    array, at = place(rng, f, f"data_{pick(rng, 'PA')}_{pick(rng, ('indices', 'indptr'))}")
    array[at] = pick(rng, (array[at] + 1, array[at] - 1, 0, -1, 2**40))
    sign(rng, f)


@only
def number_of_the_program_changed(rng: Any, f: Forgery) -> None:
    name = pick(rng, ("data_P_data", "data_A_data", "data_q", "data_b", "data_constant"))
    array, at = place(rng, f, name)
    array[at] = pick(rng, (*ODD_NUMBERS, array[at] + 1, 2 * array[at], -array[at]))
    sign(rng, f)


@only
def root_changed(rng: Any, f: Forgery) -> None:
    root = f.arrays.get("root", np.zeros(1)).copy()
    if root.size:
        root[int(rng.integers(root.size))] += pick(rng, (1.0, -1.0, 1e-9, np.nan, np.inf))
    f.arrays["root"] = pick(
        rng, (root, root[:-1], np.append(root, 0.0), np.zeros(0), np.zeros(root.shape), 0 * root + 9)
    )
