"""Learning certificates by which strangers tried to mislead the checkers: weights, witnesses, points, trees, slopes,
data, settings and claims.

Whatever is proven is compared with the optimum by a route of its own: a closed form of one sample, the same problem in
other units, or `forging.truth`, which enumerates or writes all cuts out for a solver.
"""

from __future__ import annotations

import json
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
from workbench.proofs.ends import text
from workbench.registries import registry

SECONDS, INFINITE = 20, float("inf")
PROVEN, FALSE, MALFORMED = "proven", "not proven", "malformed"
LEAST, MOST = 5e-324, 1.7976931348623157e308
STRUCTURES = (
    "multiclass", "chain", "linear", "multilabel", "matching", "motif", "views", "tree", "flow", "graph", "structured",
    "dyads",
)  # fmt: skip
Edit = Callable[[Forgery], Any]
SLOT = "a value of JSON"
OPTIMA: dict[str, tuple[Any, Any]] = {}


@cache
def solved(output: str, name: str = "soft-margin", seed: int = 0, polish: bool = False, **settings: Any) -> Forgery:
    problem = registry("output").get(output).tiny(np.random.default_rng(seed))
    form = registry("formulation").get(name)(**settings)
    return opened(wb.solve(form, problem, gap=1e-6, polish=polish).certificate)


def told(case: Forgery, folder: Any) -> dict[str, Any]:
    """What both checkers say; of a text that is written already, the digest is left alone."""
    if case.text is None:
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


def seen(new: Callable[[np.ndarray], Any]) -> Edit:
    return lambda case: case.arrays.update(witnesses=new(case.arrays["witnesses"]))


NO_OUTPUTS: dict[str, Edit] = {
    "the greatest number": seen(lambda z: np.full_like(z, 2**63 - 1)),
    "the least number": seen(lambda z: np.full_like(z, -(2**63))),
    "2^32 more": seen(lambda z: z + (1 << 32)),
    "-2 throughout": seen(lambda z: np.full_like(z, -2)),
    "a column more": seen(lambda z: np.column_stack([z, z[:, :1] * 0 - 1])),
    "no column": seen(lambda z: z[:, :0]),
    "other numbers": seen(lambda z: z.astype(np.int32)),
    "one witness less": seen(lambda z: z[1:]),
    "a sample beyond": lambda case: case.arrays["samples"].__setitem__(0, len(case.arrays["data_weights"])),
    "a sample before": lambda case: case.arrays["samples"].__setitem__(0, -1),
}


@pytest.mark.parametrize("output", STRUCTURES)
def test_witnesses_that_are_no_outputs(output, tmp_path):
    for name, edit in NO_OUTPUTS.items():
        case = solved(output).copy()
        edit(case)
        assert word(claimed(case, -INFINITE, INFINITE), tmp_path) == MALFORMED, name


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
    case.arrays |= {name: case.arrays[name][:0] for name in ("samples", "witnesses", "weights")}


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
    for lam in (3, 1e-100 if x > 1 else 1e100):
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
            for other in (value + Fraction(1, 10**700), value * (1 + Fraction(1, 10**30))):
                case.header["optimum"] = text(other)
                assert word(case, tmp_path) == FALSE
            if name == "soft-margin":
                fractions(case, share, 1 - share + Fraction(1, 10**700))
                assert word(case, tmp_path) == MALFORMED


@pytest.mark.parametrize("x", SIZES)
def test_smooth_risks_of_one_sample_at_extremes(x, tmp_path):
    for lam, target in ((1e-100, 1.0), (0.1, -0.0), (1e100, -MOST)):
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


def alternating(name: str, status: str) -> Edit:
    told = {"program": "last of an alternation", "alternation": {"formulation": name, "status": status}}
    return lambda case: case.header.update(told)


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


# ── searches, tangents, slopes ────────────────────────────────────────────────────────────────────


def searched(x: float, C: float, K: float, nodes: list[tuple[int, int, float, float]]) -> Forgery:
    """A tree of nodes (parent, branch, cutoff, λ on the cut of the other output) about one linear sample."""
    case = single("self-paced", x, {"C": C, "K": K})
    smooth(case)
    case.header["proof"]["kind"] = "tree"
    parents, branches, cutoffs, lam = (list(each) for each in zip(*nodes, strict=True))
    whole = {"parents": parents, "branches": branches, "cuts": 2, "indices": [0] * len(nodes)}
    case.arrays |= {f"tree_{name}": np.array(each, np.int64) for name, each in whole.items()}
    case.arrays |= {"tree_cutoffs": np.array(cutoffs, float), "tree_data": np.array(lam, float)}
    case.arrays["tree_indptr"] = np.arange(len(nodes) + 1)
    return case


def kept(x: float, C: float, K: float) -> Fraction:
    """min ½w² + min(C(1 − wx)₊, 1/K)."""
    return min(Fraction(C) * soft(x, 1 / Fraction(C)), 1 / Fraction(K))


NAN = float("nan")
ROOT, NO = (0, -1, -INFINITE, 0.5), (0, 1, -INFINITE, 0.0)
TREES: dict[str, tuple[list[tuple[int, int, float, float]], str]] = {
    "a root": ([ROOT], PROVEN),
    "a root of the greatest weight": ([(0, -1, 0.0, MOST)], PROVEN),
    "a root of the least weight": ([(0, -1, 0.0, LEAST)], PROVEN),
    "an infinite cutoff": ([(0, -1, INFINITE, 0.5)], PROVEN),
    "both branches": ([ROOT, (0, 0, 0.0, 0.5), NO], PROVEN),
    "one branch is cut off": ([ROOT, NO], PROVEN),
    "the other is cut off": ([ROOT, (0, 0, -INFINITE, 0.5)], PROVEN),
    "a branch twice": ([ROOT, NO, NO], PROVEN),
    "leaves thrice": ([ROOT, (0, 0, 0.0, 0.5), NO, NO, (0, 0, 0.0, 1.0), NO], PROVEN),
    "both branches, then the other on each": ([ROOT, (0, 0, 0.0, 0.5), NO, (1, 1, 0.0, 0.5), (2, 0, 0.0, 0.5)], PROVEN),
    "a hundred times the same box": ([ROOT, *((k, -1, -MOST, 0.25) for k in range(99))], PROVEN),
    "cutoffs that rise": ([ROOT, (0, 0, MOST, 0.5), (0, 1, INFINITE, 0.0)], PROVEN),
    "no node": ([], MALFORMED),
    "a root of a branch": ([(0, 0, 0.0, 0.5)], MALFORMED),
    "a node that is its own parent": ([ROOT, (1, 0, 0.0, 0.5)], MALFORMED),
    "a circle": ([ROOT, (2, 0, 0.0, 0.5), (1, 1, 0.0, 0.5)], MALFORMED),
    "a parent of -1": ([ROOT, (-1, 0, 0.0, 0.5)], MALFORMED),
    "a branch of no sample": ([ROOT, (0, 2, 0.0, 0.5)], MALFORMED),
    "a branch of -2": ([ROOT, (0, -2, 0.0, 0.5)], MALFORMED),
    "a cutoff that is NaN": ([(0, -1, NAN, 0.5)], MALFORMED),
    "a weight below 0": ([(0, -1, 0.0, -LEAST)], MALFORMED),
}


@pytest.mark.parametrize("name", TREES)
def test_trees_of_one_sample(name, tmp_path):
    nodes, wanted = TREES[name]
    for x, C, K in ((1.5, 2.0, 1.0), (0.5, 2.0, 0.25), (1e-160, 1e-100, 1e100), (1e150, 1e100, 1e-100)):
        case = searched(x, C, K, nodes or [ROOT])
        if not nodes:
            case.arrays |= {f"tree_{key}": np.zeros(0, np.int64) for key in ("parents", "branches", "indices")}
            case.arrays |= {"tree_cutoffs": np.zeros(0), "tree_data": np.zeros(0), "tree_indptr": np.zeros(1, np.int64)}
        for theta in (0.0, 0.6):
            case.arrays["theta"][:] = theta
            if wanted == MALFORMED:
                assert word(claimed(case, -INFINITE, INFINITE), tmp_path) == MALFORMED
                continue
            lower, upper = fitted(case, tmp_path)
            assert lower <= kept(x, C, K) <= upper


def test_trees_by_chance(tmp_path):
    """Any tree whatever proves a bound below the optimum."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        nodes = [(0, -1, float(rng.choice([-INFINITE, 0.0, INFINITE])), float(rng.exponential()))]
        for v in range(1, int(rng.integers(1, 7))):
            cutoff = float(rng.choice([-1.0, 0.0, 0.3]))
            nodes.append((int(rng.integers(v)), int(rng.integers(-1, 2)), cutoff, float(rng.exponential())))
        x, C, K = rng.uniform(0.3, 2), rng.uniform(0.3, 3), rng.uniform(0.5, 3)
        case = searched(x, C, K, nodes)
        case.arrays["theta"][:] = rng.choice([0.0, 1 / x, min(C * x, 1 / x)])
        lower, upper = fitted(case, tmp_path)
        assert lower <= kept(x, C, K) <= upper


@pytest.mark.parametrize("output", [each for each in STRUCTURES if each != "graph"])
def test_likelihoods_at_points_of_any_size(output, tmp_path):
    for size in (LEAST, -0.0, 30.0, 1e2 if output in ("chain", "tree") else 1e5):
        case = solved(output).copy()
        case.header["formulation"] = {"name": "crf", "version": 1, "settings": {"lam": 0.1}}
        smooth(case)
        case.arrays["theta"] = np.resize([size, -size, size / 3], case.arrays["theta"].shape)
        check(case, tmp_path)


def paired(left: float, right: float, given: dict[str, Any], slope: float, theta: float = 0.0) -> Forgery:
    """A certificate of slopes about one pair of one feature on each side, whose linear feature is 0."""
    case, at, ends = solved("dyads").copy(), np.zeros(1, np.int64), np.array([0, 1])
    case.header["formulation"] = {"name": "nuclear-dyadic", "version": 1, "settings": given}
    smooth(case)
    case.header["proof"]["kind"] = "slopes"
    case.arrays = {name: array for name, array in case.arrays.items() if not name.endswith("_names")}
    case.arrays |= {"theta": np.full(2 * given["dimensions"] + 1, theta), "slopes": np.array([[slope]])}
    case.arrays |= {"data_data": np.zeros(1), "data_indices": at, "data_indptr": ends, "data_n_inputs": np.array(1)}
    case.arrays |= {"data_labels": at + 1, "data_classes": np.array([0, 1]), "data_cost": 1 - np.eye(2)}
    case.arrays["data_weights"] = np.ones(1)
    for side, x in (("left", left), ("right", right)):
        case.arrays |= {f"data_{side}_data": np.array([x]), f"data_{side}_indices": at, f"data_{side}_indptr": ends}
        case.arrays[f"data_{side}_columns"] = np.array(1)
    return case


@pytest.mark.parametrize("loss", ["hinge", "squared"])
@pytest.mark.parametrize(
    "sides", [(1.0, 0.5), (1e300, 1e-300), (LEAST, MOST), (MOST, MOST), (0.0, -0.0), (1e-160, 1e-160)]
)
def test_slopes_of_one_pair(loss, sides, tmp_path):
    """L is −k cᵀQ⁻¹c and what the loss gains, or −∞: with ‖S‖ near λ floats overflow, of which nothing is proven."""
    for slope in (0.0, -0.25, -1.0, -1.0 + 2.2e-9, -1.0 + 1e-15, -LEAST, LEAST, -1.5):
        for dimensions in (1, 3):
            given = {"lam": 1.0, "loss": loss, "dimensions": dimensions}
            case = paired(*sides, given, slope)
            found = told(claimed(case, -INFINITE, INFINITE), tmp_path)
            assert found["first"] == PROVEN
            best = bound_of_one(*map(Fraction, sides), Fraction(1), Fraction(slope), dimensions, loss)
            assert Fraction(found["lower"] if found["lower"] > -INFINITE else -MOST) <= max(best, -Fraction(MOST))
            if sides == (1.0, 0.5) and abs(slope) in (0, 0.25, 1):
                assert found["lower"] == pytest.approx(float(best), rel=1e-12)


def bound_of_one(left: Fraction, right: Fraction, lam: Fraction, g: Fraction, k: int, loss: str) -> Fraction:
    """The bound of §12 for one pair of label +1, by the inverse of a 2 × 2 matrix; −∞ as the least float."""
    if (loss == "hinge" and not 0 <= -g <= 1) or abs(g * left * right) >= lam:
        return -Fraction(MOST)
    S, square = g * left * right, g * g / 4
    inverse = 2 * square * (lam * (left**2 + right**2) - 2 * S * left * right) / (lam**2 - S**2)
    return -g - (g * g / 2 if loss == "squared" else 0) - k * inverse


# ── settings, words, and what ties a certificate to somebody's data ────────────────────────────────


LINEAR = {"lam": 0.25, "rescaling": "margin", "declare": "cuts"}
WORDS: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "soft-margin": ("linear", LINEAR, {
        "lam=1e-100": PROVEN, "lam=1e100": PROVEN, "lam=1": PROVEN, "lam=9.99e-101": MALFORMED,
        "lam=1.01e100": MALFORMED,
        "lam=0": MALFORMED, "lam=-0.25": MALFORMED, "lam=true": MALFORMED, 'lam="0.25"': MALFORMED,
        "lam=null": MALFORMED,
        'rescaling="slack"': PROVEN, 'rescaling="Margin"': MALFORMED, "rescaling=null": MALFORMED,
        "rescaling=[]": MALFORMED,
        'declare="compact"': PROVEN, "declare=true": MALFORMED, "intercept=true": MALFORMED, 'LAM=0.25': MALFORMED,
    }),
    "completed-ssvm": ("linear", {"C": 2.0, "states": None, "kept": None}, {
        "C=1e100": PROVEN, "C=1e-100": PROVEN, "C=Infinity": MALFORMED, "C=1e999": MALFORMED, "C=5e-324": MALFORMED,
        "kept=[1]": PROVEN, "kept=[1.0]": PROVEN, "kept=[0]": MALFORMED, "kept=[true]": MALFORMED,
        "kept=[1, 1]": MALFORMED,
        "kept=[0.5]": MALFORMED, "kept=[-0.0]": MALFORMED, "kept=1": MALFORMED, "states=[0]": MALFORMED,
        "states=[]": MALFORMED,
    }),
    "weighted-risk": ("linear", {"lam": 0.25, "loss": "hinge"}, {
        'loss="hinge"': PROVEN, 'loss="logistic"': MALFORMED, 'loss="squared"': MALFORMED, "loss=0": MALFORMED,
    }),
    "fixed-cost": ("multiclass", {
        "lam2": 0.1, "lam1": 0.0, "K": 1.0, "factoring": "unordered", "v": None, "parts": 0, "left_out": 0,
    }, {
        "K=1e100": PROVEN, "K=1e-100": PROVEN, "K=0": MALFORMED, "lam1=1e100": PROVEN, "lam1=-1e-300": MALFORMED,
        "lam1=-0.0": PROVEN, "lam1=5e-324": PROVEN, "lam2=0": MALFORMED, "v=[0, 0, 0]": PROVEN, "v=[0, 0]": MALFORMED,
        "v=[1, 1, -1e-300]": MALFORMED, "v=[1e300, 5e-324, 0]": PROVEN, "v=[]": MALFORMED, "v=[true, 1, 1]": MALFORMED,
        "parts=1": MALFORMED, "parts=2.0": MALFORMED, "left_out=1": MALFORMED, "parts=9007199254740992": MALFORMED,
        'factoring="input"': PROVEN, 'factoring=""': MALFORMED,
    }),
    "simplex-cost-learning": ("multiclass", {"lam2": 0.1, "lam1": 0.0, "K": 1.0, "factoring": "unordered"}, {
        "K=1e100": PROVEN, "K=1e-100": PROVEN, "lam1=1e100": PROVEN, 'factoring="ordered"': MALFORMED,
    }),
    "normalized-cost-learning": ("multiclass", {
        "lam2": 0.1, "lam1": 0.0, "K": 1.0, "factoring": "unordered", "counts": "expected", "baseline": None,
    }, {
        "K=1e100": PROVEN, "K=1e-100": PROVEN, 'counts="none"': PROVEN, 'counts="total"': PROVEN,
        'counts="logical"': PROVEN,
        'counts="baseline"': MALFORMED, "baseline=[1, 1, 1]": MALFORMED,
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_settings_at_the_edge_of_what_they_may_be(name, tmp_path):
    output, given, table = WORDS[name]
    for change, wanted in table.items():
        if output == "linear":
            case = single(name, 0.75, dict(given))
        else:
            case = solved(output, name, **{key: each for key, each in given.items() if each is not None}).copy()
        key, _, value = change.partition("=")
        settings = case.header["formulation"]["settings"] = given | {key: SLOT}
        case.text = None
        found = claimed(case, -INFINITE, INFINITE)
        found.sign()
        found.text = json.dumps(found.header).replace(json.dumps(SLOT), value).encode()
        assert word(found, tmp_path) == wanted, (name, change)
        assert settings[key] == SLOT


SAID: dict[str, tuple[Edit, str]] = {
    "an alternation's last program": (alternating("x", "y"), PROVEN),
    "an alternation of no name": (alternating("", ""), PROVEN),
    "an alternation over two lines": (alternating("x", "proven\nwhole"), MALFORMED),
    "an alternation turned around": (alternating("\u202enevorp", "x"), MALFORMED),
    "an alternation of the whole": (
        lambda case: case.header.update(alternation={"formulation": "x", "status": "y"}),
        MALFORMED,
    ),
    "the last of none": (lambda case: case.header.update(program="last of an alternation"), MALFORMED),
    "a program Whole": (lambda case: case.header.update(program="Whole"), MALFORMED),
    "an oracle under": (lambda case: case.header.update(oracle="under"), FALSE),
    "an oracle Exact": (lambda case: case.header.update(oracle="Exact"), FALSE),
    "an oracle exact and more": (lambda case: case.header.update(oracle="exact "), FALSE),
    "an oracle null": (lambda case: case.header.update(oracle=None), MALFORMED),
    "version 0": (lambda case: case.header["problem"].update(version=0), MALFORMED),
    "version 2 of the data": (lambda case: case.header["problem"].update(version=2), "conditional"),
    "version 3 of the formulation": (lambda case: case.header["formulation"].update(version=3), "conditional"),
    "version 2 of the proof": (lambda case: case.header["proof"].update(version=2), "conditional"),
    "another proof": (lambda case: case.header["proof"].update(kind="tangent"), MALFORMED),
    "a proof of a program": (lambda case: case.header["proof"].update(kind="program"), MALFORMED),
    "data of another structure": (lambda case: case.header["problem"].update(output="linear"), MALFORMED),
    "dyads without sides": (lambda case: case.header["problem"].update(output="dyads"), MALFORMED),
    "a digest in capitals": (lambda case: case.header["problem"].update(data_sha256="A" * 64), MALFORMED),
    "a digest of others": (lambda case: case.header["problem"].update(data_sha256="0" * 64), FALSE),
}


@pytest.mark.parametrize("name", SAID)
def test_words_about_what_is_proven(name, tmp_path):
    edit, wanted = SAID[name]
    case = solved("multiclass").copy()
    case.sign()
    edit(case)
    case.text = json.dumps(claimed(case, -INFINITE, INFINITE).header).encode()
    assert word(case, tmp_path) == wanted


EXPECTED = {
    "lam=0.25": True, "lam=2.5e-1": True, "lam=0.250": True, "lam=0.25000000000000001": True, "lam=1/4": False,
    "lam=0.25000000000000006": False, "lam=nan": False, "rescaling=margin": True, "rescaling=slack": False,
    "rescaling=Margin": False, "formulation=soft-margin": True, "formulation=soft_margin": True,
    "output=multiclass": True,
    "output=dyads": False, "declare=cuts": True, "lam=True": False,
}  # fmt: skip


INTERCEPT = {"intercept=true": True, "intercept=True": True, "intercept=1": False, "intercept=false": False}


def test_what_is_expected_is_compared_by_value(tmp_path):
    for case, table in ((solved("multiclass", lam=0.25), EXPECTED), (solved("multiclass", intercept=True), INTERCEPT)):
        case.write(tmp_path / "c")
        for words, same in table.items():
            key, _, value = words.partition("=")
            assert wb.verify(tmp_path / "c.json", expect={key: value})["proven"] is same, words
    assert not wb.verify(tmp_path / "c.json", expect={"intercept": 1})["proven"]


def test_data_are_tied_to_all_that_the_objective_reads(tmp_path):
    """Whatever of the data differs, the certificate is about others; -0.0 for 0 and other types of names, too."""
    case = solved("multiclass")
    case.write(tmp_path / "c")
    problem = registry("output").get("multiclass").from_arrays(case.data())
    assert wb.verify(tmp_path / "c.json", data=problem)["proven"]
    X, y, names = problem.X.toarray(), problem.labels, problem.classes
    others = {
        "weights": wb.Multiclass(X, y, problem.cost, np.append(np.ones(len(y) - 1), 2.0)),
        "weights of one size": wb.Multiclass(X, y, problem.cost, np.full(len(y), 2.0)),
        "costs": wb.Multiclass(X, y, problem.cost * 2),
        "columns turned around": wb.Multiclass(X[:, ::-1], y, problem.cost),
        "labels renamed": wb.Multiclass(X, np.array(["a", "b", "c", "d"])[y], problem.cost),
        "labels exchanged": wb.Multiclass(X, len(names) - 1 - y, problem.cost[::-1, ::-1]),
        "samples turned around": wb.Multiclass(X[::-1], y[::-1], problem.cost),
        "a unit in the last place": wb.Multiclass(np.nextafter(X, 9), y, problem.cost),
    }
    for name, other in others.items():
        found = wb.verify(tmp_path / "c.json", data=other)
        assert not found["proven"], name
        assert not found["data_matches"], name
        assert "the data given differ" in found["reason"], name
