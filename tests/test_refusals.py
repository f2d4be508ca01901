"""Misuse of the Python interface: one sentence of `CutbenchError`, never what NumPy or CVXPY happened to say."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import workbench as wb
from workbench.errors import CutbenchError

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(6, 3)), np.array([0, 1, 2, 0, 1, 2])
WORDS, LABELS = [rng.normal(size=(4, 3)) for _ in range(3)], [np.array([0, 1, 0, 1])] * 3
CUBES, LINKS = [rng.normal(size=(2, 2, 3))] * 2, [[(0, 0)], [(1, 1)]]
MULTICLASS, CHAIN, MATCHING = wb.Multiclass(X, Y), wb.Chain(WORDS, LABELS), wb.Matching(CUBES, LINKS)
LINEAR = wb.registry("output").get("linear")(X, Y > 0)
SOFT = wb.SoftMargin(0.1)


def said(call, words: str) -> None:
    with pytest.raises(CutbenchError, match=words) as error:
        call()
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")


@pytest.mark.parametrize(
    ("words", "call"),
    {
        "not numbers": lambda: wb.Multiclass([[1, 2], [3]], [0, 1]),
        "weights are ragged or not numbers": lambda: wb.Multiclass(X, Y, weights=["a"] * 6),
        "weights are complex": lambda: wb.Multiclass(X, Y, weights=np.ones(6) * 1j),
        "cost matrix are ragged": lambda: wb.Multiclass(X, Y, cost=[[0, 1], [2]]),
        "label of sample 1 is missing": lambda: wb.Multiclass(X, [0, None, 1, 0, 1, 1]),
        "position 1 of sequence 0 is missing": lambda: wb.Chain(WORDS, [[0, None, 1, 0], *LABELS[1:]]),
        "position 2 of sequence 1 is missing": lambda: wb.Chain(WORDS, [LABELS[0], [0, 1, np.nan, 0], LABELS[2]]),
        "position . of sequence 0 is .*, sums of such squares overflow": lambda: wb.Chain(
            [w * 1e160 for w in WORDS], LABELS
        ),
        r"edge \(0, 0\) of sample 0 is .*, sums of such squares overflow": lambda: wb.Matching(
            [c * 1e160 for c in CUBES], LINKS
        ),
    }.items(),
)
def test_data(words, call):
    said(call, words)


@pytest.mark.parametrize("weights", [None, "a", np.zeros(2), 1j * np.zeros(9)], ids=str)
@pytest.mark.parametrize(("problem", "inputs"), [(MULTICLASS, X), (CHAIN, WORDS), (MATCHING, CUBES), (LINEAR, X)])
def test_learned_weights(problem, inputs, weights):
    said(lambda: problem.predict(weights, inputs), "learned weights")
    said(lambda: problem.predict(np.full(problem.n_features, np.nan), inputs), "not finite")


@pytest.mark.parametrize(
    ("words", "options"),
    {
        "no backend called '5'": {"backend": 5},
        "journal is 5; give the name of a folder": {"journal": 5},
        "gap is 'a'": {"gap": "a"},
        "max_rounds is 'a'": {"max_rounds": "a"},
    }.items(),
)
def test_options_of_solve(words, options):
    said(lambda: wb.solve(SOFT, MULTICLASS, **options), words)


# ── lazy constraints ──────────────────────────────────────────────────────────────────────────────

x, whole, scale = cp.Variable(2, name="x"), cp.Variable(2, integer=True), cp.Parameter(name="scale")


def lazily(oracle, objective=None, variable=x, constraints=(), **options):
    least = cp.Minimize(cp.sum_squares(variable - 1) if objective is None else objective)
    return wb.LazyProblem(least, constraints, [wb.LazyConstraint(variable, oracle)]).solve(**options)


@pytest.mark.parametrize(
    ("words", "call"),
    {
        "oracle returned 5; return an iterable": lambda: lazily(lambda v: 5),
        "a function of their values": lambda: lazily(5),
        "needs a cp.Variable": lambda: wb.LazyConstraint("x", lambda v: []),
        "1.j.* in a row; return real numbers": lambda: lazily(lambda v: [(np.array([1j, 0]), 0.0)]),
        "'abc' in a row": lambda: lazily(lambda v: [("abc", 0.0)]),
        "not finite": lambda: lazily(lambda v: [(np.array([np.nan, 0]), 0.0)]),
        "5 coefficients for x of size 2": lambda: lazily(lambda v: [(np.ones(5), 0.0)]),
        "OSQP searches no tree": lambda: lazily(lambda v: [], cp.sum(whole), whole, backend="OSQP"),
        "HIGHS takes integer variables in linear": lambda: lazily(lambda v: [], variable=whole, backend="HIGHS"),
        "No tree here takes .* exponential": lambda: lazily(lambda v: [], cp.sum(cp.exp(whole)), whole),
        "parameter scale has no value": lambda: lazily(lambda v: [], scale * cp.sum(x), constraints=[x >= 0]),
        "gap is 'a'": lambda: lazily(lambda v: [], gap="a"),
        "gap is 0": lambda: lazily(lambda v: [], gap=0),
        "feasibility is None": lambda: lazily(lambda v: [], feasibility=None),
        "it may be unbounded": lambda: lazily(lambda v: [], cp.sum(x)),
    }.items(),
)
def test_lazy_problems(words, call):
    said(call, words)


def test_an_iterable_that_cannot_be_true_or_false_is_read():
    """An array of rows has no truth value."""
    rows = np.array([[1.0, 1.0]])
    best = lazily(lambda v: [(row, -1.0) for row in rows if row @ v > 1 + 1e-9])
    assert best.value == pytest.approx(0.5, rel=1e-6)
