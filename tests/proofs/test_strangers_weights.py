"""Learning certificates by which strangers tried to mislead the checkers: weights, witnesses, points, trees, slopes,
data, settings and claims.

Whatever is proven is compared with the optimum by a route of its own: a closed form of one sample, the same problem in
other units, or `forging.truth`, which enumerates or writes all cuts out for a solver.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from both_checkers import both
from forging.campaign import opened
from forging.forgery import Forgery
from forging.truth import truth

import workbench as wb
from workbench.proofs.exact import text
from workbench.registries import registry

SECONDS, INFINITE = 20, float("inf")
PROVEN, FALSE, MALFORMED = "proven", "not proven", "malformed"
LEAST, MOST = 5e-324, 1.7976931348623157e308
STRUCTURES = (
    "multiclass", "chain", "linear", "multilabel", "matching", "motif", "views", "tree", "flow", "graph", "structured",
    "dyads",
)  # fmt: skip
Edit = Callable[[Forgery], Any]
OPTIMA: dict[str, tuple[Any, Any]] = {}


@cache
def solved(output: str, name: str = "soft-margin", seed: int = 0, polish: bool = False, **settings: Any) -> Forgery:
    problem = registry("output").get(output).tiny(np.random.default_rng(seed))
    form = registry("formulation").get(name)(**settings)
    return opened(wb.solve(form, problem, gap=1e-6, polish=polish).certificate)


def told(case: Forgery, folder: Any) -> dict[str, Any]:
    case.sign()
    case.write(folder / "c")
    began = time.process_time()
    found = both(str(folder / "c"))
    assert time.process_time() - began < SECONDS
    assert found["first"] == found["second"], found
    return found


def word(case: Forgery, folder: Any) -> str:
    return told(case, folder)["first"]


def claimed(case: Forgery, lower: float, upper: float, gap: float = INFINITE) -> Forgery:
    case.header.pop("optimum", None)
    case.header |= {"lower": lower, "upper": upper, "gap": gap}
    return case


def optimum(case: Forgery) -> tuple[Any, Any]:
    key = repr((case.header["problem"]["data_sha256"], case.header["formulation"]))
    if key not in OPTIMA:
        OPTIMA[key] = truth(case.header, case.arrays)
    return OPTIMA[key]


def fitted(case: Forgery, folder: Any, greedy: bool = False) -> tuple[float, float]:
    """The best claim that the checkers prove, as floats; if greedy, a unit in the last place more is refused, too."""
    found = told(claimed(case, -INFINITE, INFINITE), folder)
    assert found["first"] == PROVEN, found
    lower, upper = found["lower"], found["upper"]
    if greedy and abs(lower) < INFINITE:
        assert word(claimed(case, float(np.nextafter(lower, INFINITE)), upper), folder) == FALSE
    if greedy and abs(upper) < INFINITE:
        assert word(claimed(case, lower, float(np.nextafter(upper, -INFINITE))), folder) == FALSE
    if greedy:
        assert word(claimed(case, lower, upper), folder) == PROVEN
    return lower, upper


def check(case: Forgery, folder: Any, greedy: bool = False) -> tuple[float, float]:
    """The proven ends of a case, which hold the optimum by another route between them."""
    lower, upper = fitted(case, folder, greedy)
    low, high = optimum(case)
    room = 1e-9 * max(1.0, abs(float(low)))
    assert lower <= high + room, (lower, high)
    assert low - room <= upper, (low, upper)
    return lower, upper


# ── dual weights, witnesses, points ───────────────────────────────────────────────────────────────


def weighted(new: Callable[[np.ndarray], Any]) -> Edit:
    def edit(case: Forgery) -> None:
        case.arrays["weights"] = np.asarray(new(case.arrays["weights"]), float)

    return edit


def rows(choose: Callable[[int], Any]) -> Edit:
    def edit(case: Forgery) -> None:
        chosen = np.asarray(choose(len(case.arrays["samples"])), int)
        for name in ("samples", "witnesses", "weights"):
            case.arrays[name] = case.arrays[name][chosen]

    return edit


def point(new: Callable[[np.ndarray], Any]) -> Edit:
    def edit(case: Forgery) -> None:
        case.arrays["theta"] = np.asarray(new(case.arrays["theta"]), float)

    return edit


def truths_as_witnesses(case: Forgery) -> None:
    """A cut of slope 0 and loss 0 for every sample, and no other."""
    n = len(case.arrays["data_weights"])
    problem = registry("output").get(case.header["problem"]["output"]).from_arrays(case.data())
    case.arrays |= {"samples": np.arange(n), "witnesses": problem.truth.astype(np.int64), "weights": np.full(n, LEAST)}


PROOFS: dict[str, Edit] = {
    "as they are": lambda case: None,
    "an ulp up": weighted(lambda mu: np.nextafter(mu, 1)),
    "halves and doubles in turn": weighted(lambda mu: mu * 2.0 ** (1 - 2 * (np.arange(len(mu)) % 2))),
    "the least and the greatest floats in turn": weighted(lambda mu: np.resize([LEAST, MOST], len(mu))),
    "all the least float": weighted(lambda mu: np.full(len(mu), LEAST)),
    "2^-1074 to 2^1023": weighted(lambda mu: 2.0 ** np.linspace(-1074, 1023, len(mu)).round()),
    "each cut three times": rows(lambda M: np.repeat(np.arange(M), 3)),
    "backwards": rows(lambda M: np.arange(M)[::-1]),
    "only truths": truths_as_witnesses,
    "no cuts": rows(lambda M: []),
    "point of the least floats": point(lambda w: np.resize([LEAST, -LEAST], len(w))),
    "point of -0.0": point(lambda w: np.full(len(w), -0.0)),
    "point of the greatest floats": point(lambda w: np.resize([MOST, -MOST], len(w))),
    "point of mixed sizes": point(lambda w: np.resize([MOST, LEAST, 0.1], len(w))),
}


@pytest.mark.parametrize("output", STRUCTURES)
def test_any_weights_and_points_prove_ends_that_hold_the_optimum(output, tmp_path):
    ends = {}
    for name, edit in PROOFS.items():
        case = solved(output).copy()
        edit(case)
        ends[name] = check(case, tmp_path, greedy=name == "as they are")
    assert ends["each cut three times"][1] == ends["backwards"][1] == ends["as they are"][1]
    assert ends["no cuts"][0] == -INFINITE
    assert ends["only truths"][0] == 0


# ── one sample, whose optimum has a closed form ───────────────────────────────────────────────────


def single(name: str, x: float, given: dict[str, Any], weight: float = 1.0, target: float = 1.0) -> Forgery:
    """A certificate of the linear sample (x, target ≥ 0) at θ = 0: a cut of the other output, one of its own."""
    case, whole = solved("linear").copy(), np.zeros(1, np.int64)
    case.header["formulation"] = {"name": name, "version": 1, "settings": given}
    case.arrays = {
        "theta": np.zeros(1), "samples": np.zeros(2, np.int64), "witnesses": np.array([[0], [1]]), "weights": np.ones(2),
        "data_data": np.array([x]), "data_indices": whole, "data_indptr": np.array([0, 1]),
        "data_n_features": np.array(1), "data_targets": np.array([target]), "data_weights": np.array([weight]),
    }  # fmt: skip
    return case


def smooth(case: Forgery) -> None:
    """The proof by a tangent, without cuts."""
    case.header["proof"]["kind"] = "tangent"
    for name, shape in (("samples", 0), ("witnesses", (0, 1))):
        case.arrays[name] = np.zeros(shape, np.int64)
    case.arrays["weights"] = np.zeros(0)


def fractions(case: Forgery, *beta: Fraction) -> None:
    text = "\n".join(f"{'-' * (b < 0)}{abs(b.numerator):x}/{b.denominator:x}" for b in beta)
    case.arrays["fractions"] = np.frombuffer(text.encode(), np.uint8)


def soft(x: float, lam: float) -> Fraction:
    """min λ/2 w² + (1 − wx)₊."""
    ratio = Fraction(x) ** 2 / Fraction(lam)
    return 1 - ratio / 2 if ratio <= 1 else 1 / (2 * ratio)


SIZES = (0.75, 2.0**-1074, 1e-160, 2.0**-166, 2.0**166, 1e154, MOST)


@pytest.mark.parametrize("x", SIZES)
def test_exact_optima_of_one_sample_at_extremes(x, tmp_path):
    """The fractions prove the optimum; no other is proven, however near; and none where they miss the price."""
    for lam in (1e-100, 3, 1e100):
        best = Fraction(lam) / Fraction(x) ** 2
        share = min(best, Fraction(1))
        for name, given, beta, value in (
            ("soft-margin", {"rescaling": "margin", "declare": "cuts"}, (share, 1 - share), soft(x, lam)),
            ("soft-margin", {"rescaling": "slack", "declare": "compact"}, (share, 1 - share), soft(x, lam)),
            ("hard-margin", {}, (best, Fraction(0)), best / 2),
            ("perceptron", {}, (best, Fraction(7)), best / 2),
        ):
            case = single(name, x, {"lam": lam, **given})
            fractions(case, *beta)
            claimed(case, -INFINITE, INFINITE).header["optimum"] = text(value)
            assert word(case, tmp_path) == PROVEN
            for other in (value + Fraction(1, 10**700), value * (1 + Fraction(1, 10**30)), -value):
                case.header["optimum"] = text(other)
                assert word(case, tmp_path) == FALSE
            if name == "soft-margin":
                fractions(case, share, 1 - share + Fraction(1, 10**700))
                assert word(case, tmp_path) == MALFORMED


@pytest.mark.parametrize("x", SIZES)
def test_smooth_risks_of_one_sample_at_extremes(x, tmp_path):
    for lam, target in ((1e-100, 1.0), (0.1, -0.0), (0.1, LEAST), (1e100, -MOST)):
        for loss in ("squared", "logistic"):
            case = single("weighted-risk", x, {"lam": lam, "loss": loss}, target=target)
            smooth(case)
            lower, upper = fitted(case, tmp_path)
            if loss == "squared":
                value = Fraction(lam) * Fraction(target) ** 2 / (2 * (Fraction(lam) + Fraction(x) ** 2))
                assert lower <= value <= upper
            else:
                assert lower <= np.log(2) <= upper + 1e-15
