"""The second checker agrees with the first on honest certificates, and is right where a plain reference exists."""

from __future__ import annotations

import ast
import itertools
import math
import sys
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import second_checker
from both_checkers import both
from declared import proven_structures
from forging.campaign import honest, opened, pairs
from hypothesis import given
from hypothesis import strategies as st
from second_checker import enclosures
from second_checker.formulations import STRUCTURES, Program
from second_checker.structures import Structure, assignment

import workbench as wb
from workbench.registries import registry

FOLDER = Path(second_checker.__file__).parent


@pytest.mark.parametrize(("output", "formulation"), pairs())
def test_both_agree_on_honest_certificates(output, formulation, tmp_path):
    (certificate,) = honest(output, formulation, seed=7, count=1)
    certificate.write(tmp_path / "honest")
    said = both(str(tmp_path / "honest"))
    assert (said["first"], said["second"]) == ("proven", "proven"), said["why"]
    verdict = second_checker.check(tmp_path / "honest")
    size = max(abs(verdict.lower), abs(verdict.upper), 1)
    assert abs(Fraction(said["lower"]) - verdict.lower) <= size / 2**50
    assert abs(Fraction(said["upper"]) - verdict.upper) <= size / 2**50


@pytest.mark.parametrize("word", ["exact", "enclosed"])
def test_both_agree_on_graphs_of_three_labels(word, tmp_path):
    rng = np.random.default_rng(2)
    arrays = dict(registry("output").get("graph").random(rng, 3, 4, 3).arrays())
    arrays |= {"oracle": np.array(word), "classes": np.arange(3), "cost": 1 - np.eye(3)}
    arrays["labels"] = rng.integers(0, 3, len(arrays["labels"]))
    problem = registry("output").get("graph").from_arrays(arrays)
    forged = opened(wb.solve(registry("formulation").get("soft-margin")(), problem, gap=1e-6).certificate)
    assert ("hint_shares" in forged.arrays) == (word == "enclosed")
    forged.write(tmp_path / "graph")
    said = both(str(tmp_path / "graph"))
    assert (said["first"], said["second"]) == ("proven", "proven"), said["why"]
    if word == "enclosed":
        forged.arrays["hint_shares"][0, 0] = 1.5
        forged.write(tmp_path / "graph")
        said = both(str(tmp_path / "graph"))
        assert (said["first"], said["second"]) == ("malformed", "malformed")


def test_it_defines_every_structure_that_promises_proofs():
    """Without this, a structure that is defined once would be left out of the comparisons below."""
    assert set(STRUCTURES) == set(proven_structures())


def test_it_imports_the_standard_library_and_numpy_only():
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                assert name.partition(".")[0] in {*sys.stdlib_module_names, "numpy"}, f"{path.name} imports {name}"


def program_of(output, seed):
    (certificate,) = honest(output, "soft-margin", seed, count=1)
    settings = {"lam": Fraction(1), "rescaling": "margin", "declare": "cuts"}
    return Program("soft-margin", settings, certificate.arrays, output)


@pytest.mark.parametrize("output", ["multiclass", "chain", "matching"])
@pytest.mark.parametrize("seed", range(3))
def test_maxima_are_those_of_a_list_of_all_outputs(output, seed):
    data, rng = program_of(output, seed).data, np.random.default_rng(seed)
    kinds = ["margin", "zero-one", *(["slack"] if output != "matching" else [])]
    for _ in range(3):
        w = [Fraction(int(x), 2) for x in rng.integers(-3, 4, data.dim)]  # ties are likely
        for i, kind in itertools.product(range(data.n), kinds):
            assert data.height(i, w, kind) == Structure.height(data, i, w, kind)


@pytest.mark.parametrize("output", sorted(STRUCTURES))
def test_the_least_loss_is_that_of_a_list_of_all_outputs(output):
    data = program_of(output, 11).data
    for i in range(data.n):
        assert data.least_loss(i) == Structure.least_loss(data, i)
        assert all(data.is_output(i, z) for z in data.listed(i))
        assert len(set(data.listed(i))) == len(list(data.listed(i)))


def test_an_assignment_without_an_entry_is_the_best_of_the_others():
    rng = np.random.default_rng(3)
    for J, K in itertools.product(range(1, 4), range(1, 4)):
        score = [[Fraction(int(x)) for x in row] for row in rng.integers(-3, 6, (J, K))]
        rows = [
            z
            for z in itertools.product(range(-1, K), repeat=J)
            if len({k for k in z if k >= 0}) == sum(k >= 0 for k in z)
        ]
        total = {z: sum((score[j][k] for j, k in enumerate(z) if k >= 0), Fraction(0)) for z in rows}
        assert assignment(score) == max(total.values())
        for j, k in itertools.product(range(J), range(-1, K)):
            others = [value for z, value in total.items() if z[j] != k]
            assert assignment(score, (j, k)) == max(others)


@given(st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**9))
def test_exp_and_log_hold_the_true_value(x):
    context = Context(prec=90, Emax=10**9, Emin=-(10**9))
    found = enclosures.exp(x, 256)
    assert found.high - found.low <= found.high >> 240
    lows, highs = (context.multiply(Decimal(m), context.power(Decimal(2), found.e)) for m in (found.low, found.high))
    true = context.exp(context.divide(Decimal(x.numerator), Decimal(x.denominator)))
    room = context.multiply(true, Decimal("1e-85"))
    assert context.subtract(lows, room) <= true <= context.add(highs, room)
    low, high = enclosures.log(found)
    assert low <= x <= high
    assert high - low <= Fraction(1, 2**200) * max(1, abs(x))


@given(st.fractions(min_value=0, max_value=10**9))
def test_roots_hold_the_true_value(x):
    low, high = enclosures.roots(x)
    assert low * low <= x <= high * high
    assert (high - low) * 2**190 <= math.isqrt(math.ceil(x)) + 1
