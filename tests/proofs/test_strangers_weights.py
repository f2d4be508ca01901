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


def fitted(case: Forgery, folder: Any) -> tuple[float, float]:
    """The best claim that the checkers prove, as floats; one unit in the last place more on either side is refused."""
    found = told(claimed(case, -INFINITE, INFINITE), folder)
    assert found["first"] == PROVEN, found
    lower, upper = found["lower"], found["upper"]
    assert word(claimed(case, lower, upper), folder) == PROVEN
    if abs(lower) < INFINITE:
        assert word(claimed(case, float(np.nextafter(lower, INFINITE)), upper), folder) == FALSE
    if abs(upper) < INFINITE:
        assert word(claimed(case, lower, float(np.nextafter(upper, -INFINITE))), folder) == FALSE
    claimed(case, lower, upper)
    return lower, upper


def check(case: Forgery, folder: Any) -> tuple[float, float]:
    """The proven ends of a case, which hold the optimum by another route between them."""
    lower, upper = fitted(case, folder)
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
        ends[name] = check(case, tmp_path)
    assert ends["each cut three times"][1] == ends["backwards"][1] == ends["as they are"][1]
    assert ends["no cuts"][0] == -INFINITE
    assert ends["only truths"][0] == 0
