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
from workbench.errors import BadInput
from workbench.proofs.certificate import load
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
        weights = case.arrays["data_weights"]  # of which only the ratios matter
        OPTIMA[key] = truth(case.header, case.arrays | {"data_weights": weights / max(1.0, weights.max())})
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
        "theta": np.zeros(1), "weights": np.ones(2),
        "samples": np.zeros(2, np.int64), "witnesses": np.array([[0], [1]]),
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


# ── data and settings ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("output", [each for each in STRUCTURES if each != "motif"])
def test_the_same_problem_in_other_units_has_the_same_ends(output, tmp_path):
    """Features by s, λ by s² and θ by 1/s; and weights of samples by any factor."""
    case = solved(output).copy()
    before = fitted(case, tmp_path)
    for s, weight in ((2.0**160, 2.0**900), (2.0**-160, 2.0**-900)):
        case = solved(output).copy()
        for name in ("data_data", "data_pairs"):
            if name in case.arrays:
                case.arrays[name] = case.arrays[name] * s
        if output == "chain":
            continue  # counts of neighbours have no unit
        case.header["formulation"]["settings"]["lam"] *= s * s
        case.arrays["theta"] = case.arrays["theta"] / s
        case.arrays["data_weights"] = case.arrays["data_weights"] * weight
        assert fitted(case, tmp_path) == before


def put(name: str, at: Any, value: Any) -> Edit:
    def edit(case: Forgery) -> None:
        array = case.arrays[f"data_{name}"] = case.arrays[f"data_{name}"].copy()
        array[at] = value

    return edit


def become(name: str, *values: Any) -> Edit:
    return lambda case: case.arrays.__setitem__(f"data_{name}", np.array(*values))


def empty_row(case: Forgery) -> None:
    """The first sample's row of X holds nothing."""
    ends = case.arrays["data_indptr"]
    kept = slice(int(ends[1]), None)
    case.arrays |= {"data_data": case.arrays["data_data"][kept], "data_indices": case.arrays["data_indices"][kept]}
    case.arrays["data_indptr"] = np.append(0, ends[1:] - ends[1])


def zeros_stored(case: Forgery) -> None:
    case.arrays["data_data"] = np.resize([0.0, -0.0], case.arrays["data_data"].shape)


def a_class_more(case: Forgery) -> None:
    """A class that no sample has, with weights that are all 0, errors into which cost nothing."""
    k, p = len(case.arrays["data_classes"]), int(case.arrays["data_n_inputs"])
    case.arrays["data_classes"] = np.arange(k + 1)
    case.arrays["data_cost"] = np.pad(case.arrays["data_cost"], ((0, 1), (0, 1)))
    case.arrays["theta"] = np.append(case.arrays["theta"], np.zeros(p))


WRAP = [0, 2**63 - 1, 5 - 2**63, 4]  # differences that are positive where they wrap around, and add up to 4


def wrapped(name: str) -> Edit:
    """Ends that fall by more than 2⁶³, over four nodes or four edges."""

    def edit(case: Forgery) -> None:
        none, q = np.zeros(0, np.int64), case.arrays["data_pairs"].shape[1]
        N, E = (4, 0) if name == "offsets" else (3, 4)
        case.arrays |= {"data_labels": np.zeros(N, np.int64), "data_indptr": np.zeros(N + 1, np.int64)}
        case.arrays |= {"data_data": np.zeros(0), "data_indices": none, "data_weights": np.ones(3), "samples": none}
        case.arrays |= {"data_offsets": np.arange(4), "data_ends": np.zeros(4, np.int64), "weights": np.zeros(0)}
        case.arrays |= {"data_edges": np.zeros((E, 2), np.int64), "data_pairs": np.zeros((E, q))}
        case.arrays |= {"witnesses": np.zeros((0, 4), np.int64), f"data_{name}": np.array(WRAP)}

    return edit


def linked(case: Forgery) -> None:
    """A link from the last detection to itself."""
    case.arrays["data_counts"][-1] += 1
    case.arrays["data_heads"] = np.append(case.arrays["data_heads"], case.arrays["data_sizes"][-1] - 1)
    case.arrays["data_indptr"] = np.append(case.arrays["data_indptr"], case.arrays["data_indptr"][-1])


def resized(name: str, size: int) -> Edit:
    def edit(case: Forgery) -> None:
        old = case.arrays[f"data_{name}"]
        case.arrays[f"data_{name}"] = np.append(old, np.zeros(size, old.dtype))[:size]

    return edit


DATA: dict[str, dict[str, tuple[Edit, str]]] = {
    "multiclass": {
        "a right label costs -0.0": (put("cost", (0, 0), -0.0), PROVEN),
        "a right label costs the least float": (put("cost", (1, 1), LEAST), MALFORMED),
        "a negative cost": (put("cost", (0, 1), -LEAST), MALFORMED),
        "no costs at all": (put("cost", slice(None), 0.0), PROVEN),
        "costs of all sizes": (put("cost", (0, slice(1, None)), LEAST), PROVEN),
        "an empty row": (empty_row, PROVEN),
        "zeros stored": (zeros_stored, PROVEN),
        "a class more": (a_class_more, PROVEN),
        "classes 0.0 and -0.0": (become("classes", [0.0, -0.0, 1.0]), MALFORMED),
        "a class that is NaN": (become("classes", [0.0, np.nan, 1.0]), MALFORMED),
        "classes that differ in zeros at their end": (become("classes", [b"a", b"a\0", b"b"], "S2"), MALFORMED),
        "classes of one code point in two ways": (become("classes", ["e", "e\u0301", "é"]), PROVEN),
        "a label that is no class": (put("labels", 0, 3), MALFORMED),
        "no weights": (put("weights", slice(None), -0.0), MALFORMED),
        "a cut whose sample weighs -0.0": (put("weights", 0, -0.0), MALFORMED),
        "weights of the least and the greatest floats": (put("weights", slice(1, 3), [LEAST, MOST]), PROVEN),
        "weights whose sum is no float": (put("weights", slice(0, 2), MOST), PROVEN),
        "no input": (become("n_inputs", 0), MALFORMED),
        "2^40 inputs": (become("n_inputs", 1 << 40), MALFORMED),
    },
    "chain": {
        "offsets that wrap around": (become("offsets", WRAP), MALFORMED),
        "another word for the loss": (become("loss", "Hamming"), MALFORMED),
        "the other loss": (lambda case: become("loss", flipped(case))(case), PROVEN),
        "lengths none": (become("offsets", [0]), MALFORMED),
    },
    "linear": {
        "a target of -0.0": (put("targets", 0, -0.0), PROVEN),
        "the least targets": (put("targets", slice(None), LEAST), PROVEN),
        "an empty row": (empty_row, PROVEN),
    },
    "multilabel": {"a truth of 2": (put("truth", (0, 0), 2), MALFORMED), "zeros stored": (zeros_stored, PROVEN)},
    "matching": {
        "a cost of 0": (become("false_positive", 0.0), MALFORMED),
        "the least cost": (become("false_negative", LEAST), PROVEN),
        "annotated, but none": (become("annotated", np.zeros((0, 3), np.int64)), MALFORMED),
        "annotated, a matching": (become("annotated", [[0, 0, 0]]), MALFORMED),
        "a truth of -2": (put("truth", (0, 0), -2), MALFORMED),
    },
    "motif": {
        "a window that is beyond": (put("spans", (0, 1), 2**62), MALFORMED),
        "a length that wraps around": (put("lengths", slice(0, 2), [2**62, -(2**62)]), MALFORMED),
        "no letter": (become("length", 0), MALFORMED),
    },
    "views": {
        "offsets that wrap around": (put("offsets", slice(1, 3), [2**63 - 1, 5 - 2**63]), MALFORMED),
        "a view that is none": (put("states", 0, 2**62), MALFORMED),
    },
    "tree": {
        "offsets that wrap around": (wrapped("offsets"), MALFORMED),
        "ends that wrap around": (wrapped("ends"), MALFORMED),
        "an edge to itself": (put("edges", 0, [0, 0]), MALFORMED),
    },
    "flow": {
        "one block": (lambda case: become("blocks", [int(case.arrays["data_blocks"].sum())])(case), MALFORMED),
        "five blocks": (resized("blocks", 5), MALFORMED),
        "sizes that wrap around": (put("sizes", slice(0, 2), [2**63 - 1, 2**63 - 1]), MALFORMED),
        "a link to itself": (linked, MALFORMED),
        "a cost of 0": (become("false_negative", -0.0), MALFORMED),
    },
    "graph": {
        "offsets that wrap around": (wrapped("offsets"), MALFORMED),
        "ends that wrap around": (wrapped("ends"), MALFORMED),
        "the least negative feature": (put("pairs", (0, 0), -LEAST), MALFORMED),
        "a feature of -0.0": (put("pairs", (0, 0), -0.0), PROVEN),
        "weights of edges below 0": (point(lambda w: -abs(w)), PROVEN),
    },
    "structured": {
        "an output of another sample": (put("owners", -1, 0), PROVEN),
        "an output of none": (put("owners", -1, 2**62), MALFORMED),
        "a truth that costs": (put("losses", 0, LEAST), MALFORMED),
        "outputs that cost nothing": (put("losses", slice(None), 0.0), PROVEN),
    },
    "dyads": {
        "a name twice": (put("left_names", slice(0, 2), 0), MALFORMED),
        "another word on both": (lambda case: become("of_both", not case.arrays["data_of_both"])(case), PROVEN),
    },
}


def flipped(case: Forgery) -> str:
    return "hamming-normalised" if str(case.arrays["data_loss"]) == "hamming" else "hamming"


def test_classes_that_are_not_in_order_are_proven_and_not_predicted_by(tmp_path):
    """Whatever reads a model sorts the classes of its data, so that weights would go to other classes."""
    case = solved("multiclass").copy()
    become("classes", [2, 0, 1])(case)
    fitted(case, tmp_path)
    with pytest.raises(BadInput, match="its classes are not in order"):
        load(tmp_path / "c.json")


@pytest.mark.parametrize("output", DATA)
def test_data_at_the_edge_of_what_they_may_be(output, tmp_path):
    for name, (edit, wanted) in DATA[output].items():
        case = solved(output).copy()
        edit(case)
        if wanted == PROVEN:
            check(case, tmp_path)
        else:
            assert word(claimed(case, -INFINITE, INFINITE), tmp_path) == wanted, name
