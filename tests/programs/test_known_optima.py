"""Random programs that are built around their optimum: nothing that is proven may contradict the construction.

Of a point x, slacks s ∈ K and prices y ∈ K* with sᵀy = 0, the program with b = Ax + s and q = −Px − Aᵀy has the
optimum ½xᵀPx + qᵀx. All numbers are fractions that floats hold.
"""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

from workbench.command.cli import cli
from workbench.programs.program import program_of
from workbench.programs.prove import prove_program

TRIPLES = ((3, 4, 5), (5, 12, 13), (8, 15, 17))


def dyadic(rng, *shape, unit=64, most=256):
    return rng.integers(-most, most + 1, shape) / unit


def rows(rng, m, n):
    """A matrix with a flaw now and then: equal rows, an empty column, rows or columns of far sizes."""
    A, flaw = dyadic(rng, m, n), rng.integers(0, 7)
    if flaw == 0 and m > 1:
        A[1] = A[0]
    if flaw == 1:
        A[:, 0] = 0
    if flaw == 2:
        A *= 2.0 ** rng.integers(-30, 30, (m, 1))
    if flaw == 3:
        A *= 2.0 ** rng.integers(-20, 20, (1, n))
    return A


def cone_pair(rng, size):
    """(s, y) in a second-order cone, complementary: both on the boundary, or one of them 0."""
    t, u = 1.0, np.ones(1)
    if size > 2:
        *legs, t = map(float, TRIPLES[rng.integers(len(TRIPLES))])
        u = np.append(legs, np.zeros(size - 3)) * rng.choice([-1, 1], size - 1)
    zero, kind = np.zeros(size), rng.integers(3)
    if kind == 0:
        return np.append(t, u), np.append(t, -u) / 4
    return (np.append(t + 1, u), zero) if kind == 1 else (zero, np.append(t + 2, u))


def exponential_pair(rng):
    """(s, y) in EXP and EXP*: both on the boundary, where −u·exp(v/u) = e·w, or s inside."""
    if rng.integers(2):
        return np.array([0.0, 1, 1]), np.array([-1.0, -1, 1])
    return np.array([-1.0, 1, 2]), np.zeros(3)


def built(rng, kind):
    """The arguments of `program_of`, and the optimum."""
    n, nonneg = int(rng.integers(1, 6)), int(rng.integers(0, 7))
    zero = int(rng.integers(0, min(n, 3)))
    soc = tuple(rng.integers(2, 5, 1 + rng.integers(2)).tolist()) if kind == "soc" else ()
    exp = 1 if kind == "exp" else 0
    held = rng.random(nonneg) < 0.5
    s = [np.zeros(zero), np.where(held, 0.0, np.abs(dyadic(rng, nonneg, unit=8)))]
    y = [dyadic(rng, zero, unit=8), np.where(held, np.abs(dyadic(rng, nonneg, unit=8)), 0.0)]
    for pair in [*(cone_pair(rng, size) for size in soc), *(exponential_pair(rng) for _ in range(exp))]:
        s.append(pair[0])
        y.append(pair[1])
    s, y, G = np.concatenate(s), np.concatenate(y), rng.integers(-3, 4, (n, n)).astype(float)
    P, A, x = (G.T @ G if kind == "qp" else np.zeros((n, n))), rows(rng, len(s), n), dyadic(rng, n, unit=8, most=32)
    b, q = A @ x + s, -P @ x - A.T @ y  # exact: few bits of one size; where not, the instance is drawn again
    exact = [[Fraction(value) for value in np.ravel(each).tolist()] for each in (P, A, x, s, y, b, q)]
    fP, fA, fx, fs, fy, fb, fq = exact
    m = len(s)
    sound = all(fb[k] == sum(fA[k * n + j] * fx[j] for j in range(n)) + fs[k] for k in range(m))
    stationary = [
        sum(fP[j * n + i] * fx[i] for i in range(n)) + sum(fA[k * n + j] * fy[k] for k in range(m)) for j in range(n)
    ]
    if not sound or any(fq[j] != -stationary[j] for j in range(n)):
        return built(rng, kind)
    half = sum(fP[i * n + j] * fx[i] * fx[j] for i in range(n) for j in range(n)) / 2
    return (P, q, A, b, zero, nonneg, soc, exp), half + sum(a * c for a, c in zip(fq, fx, strict=True))


@pytest.mark.parametrize("kind", ["lp", "qp", "soc", "exp"])
def test_no_proof_contradicts_the_construction(kind, tmp_path):
    rng = np.random.default_rng(["lp", "qp", "soc", "exp"].index(kind))
    for number in range(12):
        parts, optimum = built(rng, kind)
        proof = prove_program(program_of(*parts))
        assert proof.kind in ("optimal", "bounded", "unknown")
        assert proof.lower is None or proof.lower <= optimum
        assert proof.upper is None or proof.upper >= optimum
        if kind in ("lp", "qp"):
            assert proof.optimum == optimum
        if number % 4 == 0:
            P, q, A, b, zero, nonneg, soc, exp = parts
            np.savez(tmp_path / "p.npz", P=P, q=q, A=A, b=b, cones=[zero, nonneg, exp, *soc])
            told = json.loads(CliRunner().invoke(cli, ["prove", str(tmp_path / "p.npz"), "--json"]).stdout)
            ends = (told["lower_exact"], told["upper_exact"])
            lower, upper = (None if end is None else Fraction(end) for end in ends)
            assert lower is None or lower <= optimum
            assert upper is None or upper >= optimum
