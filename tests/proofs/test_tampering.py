"""No change of a certificate is proven unless what it then claims is true.

The judge below is a verifier of its own: Fractions, enumeration of all outputs, no line of cutbench.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import workbench as wb
from workbench.arithmetic.rationals import ratios
from workbench.proofs import exact
from workbench.proofs.verify import verify
from workbench.registries import registry

ROUNDS = 7  # mutations of every field in each of the four cases, twice that for arrays

# ── the judge ─────────────────────────────────────────────────────────────────────────────────────


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


class Judge:
    """All outputs of all samples of a certificate's data: ψ-slopes and losses in Fractions."""

    def __init__(self, header, data):
        self.header, self.chain = header, header["problem"]["output"] == "chain"
        self.data = {name.removeprefix("data_"): array.tolist() for name, array in data.items()}
        self.classes, self.p = len(self.data["classes"]), self.data["n_inputs"]
        ends = self.data["indptr"]
        self.rows = [[Fraction(0)] * self.p for _ in ends[1:]]
        for i, (start, stop) in enumerate(itertools.pairwise(ends)):
            for j in range(start, stop):
                self.rows[i][self.data["indices"][j]] += Fraction(self.data["data"][j])
        offsets = self.data["offsets"] if self.chain else range(len(self.rows) + 1)
        self.pieces = [range(start, stop) for start, stop in itertools.pairwise(offsets)]
        self.truth = [tuple(self.data["labels"][t] for t in piece) for piece in self.pieces]
        self.lam = Fraction(header["formulation"]["settings"]["lam"])
        self.slack = header["formulation"]["settings"].get("rescaling") == "slack"
        self.hard = header["formulation"]["name"] == "hard-margin"
        self.prices = [Fraction(w) / sum(map(Fraction, self.data["weights"])) for w in self.data["weights"]]

    def phi(self, i, y):
        k = self.classes
        found = [Fraction(0)] * (k * self.p + self.chain * k * k)
        for t, label in zip(self.pieces[i], y, strict=True):
            for j, value in enumerate(self.rows[t]):
                found[label * self.p + j] += value
        if self.chain:
            for a, b in itertools.pairwise(y):
                found[k * self.p + a * k + b] += 1
        return found

    def cut(self, i, y):
        """(slope, offset) of sample i's output y."""
        loss = sum((Fraction(self.data["cost"][a][b]) for a, b in zip(self.truth[i], y, strict=True)), Fraction(0))
        if self.chain and self.data["loss"] == "hamming-normalised":
            loss /= len(y)
        slope = [a - b for a, b in zip(self.phi(i, y), self.phi(i, self.truth[i]), strict=True)]
        return ([loss * a for a in slope] if self.slack else slope), loss

    def upper(self, theta):
        """The least F at θ, or at a positive multiple of θ that is feasible if the margins are hard."""
        theta, worst, scale = list(map(Fraction, theta)), Fraction(0), Fraction(0)
        for i, piece in enumerate(self.pieces):
            outputs = itertools.product(range(self.classes), repeat=len(piece))
            cuts = [self.cut(i, y) for y in outputs if y != self.truth[i]] if self.prices[i] else []
            values = [(dot(a, theta), o) for a, o in cuts]
            if not self.hard:
                worst += self.prices[i] * max([Fraction(0), *(v + o for v, o in values)])  # 0 is the truth's
            elif any(v > 0 or (v == 0 and o > 0) for v, o in values):
                return math.inf
            else:
                scale = max([scale, *(o / -v for v, o in values if o > 0)])
        if self.hard:
            return self.lam / 2 * dot(theta, theta) * scale**2
        return self.lam / 2 * dot(theta, theta) + worst

    def lower(self, samples, witnesses, weights):
        weights = list(map(Fraction, weights))
        if not self.hard:
            mass = [sum(w for w, i in zip(weights, samples, strict=True) if i == j) for j in range(len(self.pieces))]
            if any(p and not m for p, m in zip(self.prices, mass, strict=True)):
                return -math.inf
            weights = [w / mass[i] * self.prices[i] if w else w for w, i in zip(weights, samples, strict=True)]
        value, push = Fraction(0), [Fraction(0)] * len(self.phi(0, self.truth[0]))
        for i, z, w in zip(samples, witnesses, weights, strict=True):
            if w:
                slope, offset = self.cut(i, z[: len(self.pieces[i])])
                value += w * offset
                push = [s + w * a for s, a in zip(push, slope, strict=True)]
        return value - dot(push, push) / (2 * self.lam)


def read(path):
    with np.load(path.with_suffix(".npz")) as archive:
        arrays = dict(archive)
    return json.loads(path.read_text()), arrays


def write(path, header, arrays):
    path.write_text(json.dumps(header))
    np.savez(path.with_suffix(".npz"), **arrays)


def parts_of(arrays):
    return {name: array for name, array in arrays.items() if name.startswith("data_")}


def bounds_of(header, arrays):
    """(lower, upper) that the certificate's own cuts and θ give, by the judge."""
    judge = Judge(header, parts_of(arrays))
    cuts = [arrays[name].tolist() for name in ("samples", "witnesses", "weights")]
    return judge.lower(*cuts), judge.upper(arrays["theta"].tolist())


def claims_are_true(header, arrays):
    lower, upper = bounds_of(header, arrays)
    width = (upper - lower) / max(upper, -lower, lower) if upper != lower else 0
    return header["lower"] <= lower and upper <= header["upper"] and width <= header["gap"] * (1 + 1e-12)


def sha256(arrays):
    """The digest of the data, as the certificate's documentation defines it."""
    digest = hashlib.sha256()
    for name in sorted(name.removeprefix("data_") for name in parts_of(arrays)):
        array = np.ascontiguousarray(arrays[f"data_{name}"])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
    return digest.hexdigest()


FREE = {("problem", "columns"), ("problem", "name"), ("problem", "arguments")}  # nothing rests on these keys


# ── certificates to tamper with ───────────────────────────────────────────────────────────────────


def multiclass():
    X = np.array([[1.0, 0.5], [0.2, -1.5], [-1.0, 0.3], [0.8, 0.9], [-0.7, -0.4]])
    return wb.Multiclass(X, list("abcab"), weights=[1, 2, 0.5, 1, 1])


def chain():
    rng = np.random.default_rng(1)
    return wb.Chain([rng.normal(size=(t, 2)).round(1) for t in (3, 1, 2)], [[0, 1, 1], [1], [1, 0]])


def separable():
    return wb.Multiclass([[0.0, 1], [1, 1], [4, 1], [5, 1]], list("xxyy"))


CASES = {
    "multiclass": (wb.SoftMargin(lam=0.3), multiclass),
    "chain": (wb.SoftMargin(lam=0.2), chain),
    "slack": (wb.SoftMargin(lam=0.2, rescaling="slack"), chain),
    "hard": (wb.HardMargin(lam=2.0), separable),
}


@pytest.fixture(scope="module", params=CASES)
def original(request, tmp_path_factory):
    formulation, make = CASES[request.param]
    path = wb.solve(formulation, make()).certificate.save(tmp_path_factory.mktemp(request.param) / "c")
    result = verify(path)
    assert result["proven"]
    header, arrays = read(path)
    assert claims_are_true(header, arrays)
    lower, upper = bounds_of(header, arrays)
    assert abs(Fraction(result["lower_exact"]) - lower) < Fraction(1, 2**100)  # weights on a grid of 2⁻¹²⁸
    assert Fraction(result["upper_exact"]) >= upper if make is separable else Fraction(result["upper_exact"]) == upper
    return path


@pytest.fixture
def path(original, tmp_path):
    for suffix in (".json", ".npz"):
        shutil.copy(original.with_suffix(suffix), tmp_path / f"c{suffix}")
    return tmp_path / "c.json"


def is_sentence(error):
    return "\n" not in str(error) and str(error).endswith(".")


def accepted(path):
    """Whether the certificate is proven; unreadable ones are refused in one sentence."""
    try:
        return verify(path)["proven"]
    except wb.CutbenchError as error:
        return not is_sentence(error)


# ── one change at random ──────────────────────────────────────────────────────────────────────────


def changed_number(x, rng):
    ways = (
        lambda: x * float(1 + rng.choice([-1, 1]) * 10.0 ** -rng.integers(0, 16)),
        lambda: float(np.nextafter(x, rng.choice([-np.inf, np.inf]))),
        lambda: -x,
        lambda: x + float(rng.choice([-1, 1])),
        lambda: float(rng.choice([0.0, 1e-300, 1e300, np.inf, -np.inf, np.nan])),
    )
    return ways[rng.integers(len(ways))]()


def changed_leaf(value, rng):
    """Another value in place of a JSON leaf: mostly of its type, now and then of none that fits."""
    if rng.random() < 0.15:
        return rng.choice(np.array([None, [], {}, "", True, 10**400, "margin"], object))
    if isinstance(value, float | int):
        return changed_number(value, rng)
    return rng.choice(
        [value[:-1], value + "x", value.swapcase(), value[::-1], "soft-margin", "chain", "slack", "exact"]
    )


def changed_array(array, rng):
    """Another array: mostly one changed entry, or entries exchanged, dropped, repeated, of another type or shape."""
    array, kind = array.copy(), rng.random()
    if kind < 0.7 and array.size:
        at = int(rng.integers(array.size))
        if array.dtype.kind == "f":
            array.flat[at] = changed_number(float(array.flat[at]), rng)
        elif array.dtype.kind in "iu":
            array.flat[at] += rng.choice([-1, 1, 2, 1000, 2**40])
        else:
            array.flat[at] = array.flat[at][::-1] + "?"
        return array
    ways = (
        lambda: rng.permutation(array) if array.ndim else array + np.array(1).astype(array.dtype),
        lambda: array[:-1] if array.ndim else array[None],
        lambda: np.concatenate([array, array[:1]]) if array.ndim else array[None],
        lambda: array.astype({"f": "f4", "i": "f8", "U": "S"}.get(array.dtype.kind, "f8")),
        lambda: array[None],
        lambda: array[:0] if array.ndim else np.array(np.nan),
    )
    return ways[rng.integers(len(ways))]()


def leaves(tree, trail=()):
    for key, value in tree.items():
        yield from leaves(value, (*trail, key)) if isinstance(value, dict) and value else [(*trail, key)]


def set_leaf(tree, trail, change):
    for key in trail[:-1]:
        tree = tree[key]
    tree[trail[-1]] = change(tree[trail[-1]])


def test_every_field_of_the_header(original, path):
    header, arrays = read(original)
    refused = {}
    for number, trail in enumerate(leaves(header)):
        rng = np.random.default_rng([number, 1])
        for _ in range(ROUNDS):
            false, _ = read(original)
            set_leaf(false, trail, lambda value, rng=rng: changed_leaf(value, rng))
            path.write_text(json.dumps(false))
            if accepted(path):
                assert claims_are_true(false, arrays), (trail, false)
            else:
                refused[".".join(trail)] = refused.get(".".join(trail), 0) + 1
        false, _ = read(original)
        inside = false
        for key in trail[:-1]:
            inside = inside[key]
        del inside[trail[-1]]
        path.write_text(json.dumps(false))
        assert accepted(path) == (trail[0] == "versions" or trail[:2] in FREE), f"without {trail}"
    for trail in ("lower", "upper", "gap", "formulation.settings.lam", "problem.data_sha256", "oracle", "format"):
        assert refused[trail] >= 2, refused


def test_every_array(original, path):
    header, arrays = read(original)
    refused = {}
    for number, name in enumerate(arrays):
        rng = np.random.default_rng([number, 2])
        for j in range(2 * ROUNDS):
            with np.errstate(all="ignore"):
                false = arrays | {name: changed_array(arrays[name], rng)}
            said = json.loads(json.dumps(header))
            if name.startswith("data_") and j % 2:  # the digest is made to fit: a claim about other data
                said["problem"]["data_sha256"] = sha256(false)
            write(path, said, false)
            if not accepted(path):
                refused[name] = refused.get(name, 0) + 1
                continue
            same = all(np.array_equal(false[n], arrays[n]) for n in parts_of(arrays))
            assert j % 2 or same, f"{name} changed under the old digest"
            assert claims_are_true(said, false), name
    for name in ("theta", "weights", "witnesses", "data_data", "data_labels", "data_indices"):
        assert refused[name] >= ROUNDS / 2, refused


# ── changes that agree with one another ───────────────────────────────────────────────────────────


def test_false_claims_that_are_consistent_with_themselves(original, path):
    """Each makes the claim better than it is and mends what a careless verifier would look at."""

    def better_lower(header, arrays):
        header["lower"] = (header["lower"] + 9 * header["upper"]) / 10 + 1e-9
        header["upper"] = max(header["upper"], header["lower"])
        arrays["weights"] = arrays["weights"] * 1.5

    def shifted(header, arrays):
        header["lower"], header["upper"] = header["lower"] * 1.001, header["upper"] * 1.001

    def smaller_gap(header, arrays):
        header["gap"] = 0.0
        arrays["theta"] = arrays["theta"] * (1 + 1e-6)
        header["upper"] *= 1 + 1e-3

    def other_lam(header, arrays):
        header["formulation"]["settings"]["lam"] *= 4
        header["lower"], header["upper"] = header["lower"] * 4.5, header["upper"] * 4.5

    def scaled_theta(header, arrays):
        arrays["theta"], header["upper"] = arrays["theta"] * 0.5, header["upper"] * 0.9

    def costlier(header, arrays):
        arrays["data_cost"] = arrays["data_cost"] * 1.5
        header["problem"]["data_sha256"] = sha256(arrays)

    def relabelled(header, arrays):
        arrays["data_labels"] = np.roll(arrays["data_labels"], 1)
        header["problem"]["data_sha256"] = sha256(arrays)

    def witnesses_of_others(header, arrays):
        arrays["witnesses"] = np.roll(arrays["witnesses"], 1, axis=0)
        arrays["samples"] = np.sort(arrays["samples"])

    def twice_the_weight(header, arrays):
        arrays["data_weights"] = arrays["data_weights"] * np.arange(1, len(arrays["data_weights"]) + 1)
        header["problem"]["data_sha256"] = sha256(arrays)

    fell = []
    for lie in (
        *(better_lower, shifted, smaller_gap, other_lam, scaled_theta),
        *(costlier, relabelled, witnesses_of_others, twice_the_weight),
    ):
        header, arrays = read(original)
        lie(header, arrays)
        write(path, header, arrays)
        if accepted(path):
            assert claims_are_true(header, arrays), lie.__name__
        else:
            fell.append(lie.__name__)
    assert {"better_lower", "shifted", "smaller_gap", "scaled_theta"} <= set(fell)


def test_a_true_claim_about_other_data_is_told_apart_only_by_the_data(original, path, request):
    """One datum, its digest and the bounds changed together: a proof, but about other data, as `data=` shows."""
    mine = CASES[request.node.callspec.params["original"]][1]()
    assert verify(original, data=mine)["proven"]
    header, arrays = read(original)
    arrays["data_data"] = arrays["data_data"].copy()
    arrays["data_data"][0] += 1 / 64
    header["problem"]["data_sha256"] = sha256(arrays)
    lower, upper = bounds_of(header, arrays)
    header["lower"], header["upper"], header["gap"] = float(lower) - 1e-9, 1.5 * float(upper), 1.0
    write(path, header, arrays)
    result = verify(path)
    assert result["proven"]
    assert result["data_sha256"] != verify(original)["data_sha256"]
    told = verify(path, data=mine)
    assert (told["proven"], told["data_matches"]) == (False, False)


def test_polished_certificates(original, path):
    """Their optimum is a claim of its own; rational weights, floats and θ are each looked at."""
    formulation, make = next(c for name, c in CASES.items() if name in str(original.parent))
    certificate = exact.optimum(wb.solve(formulation, make()).certificate)
    assert certificate.optimum is not None, certificate.remark
    polished = certificate.save(path.parent / "p")
    assert verify(polished)["proven"]
    header, arrays = read(polished)
    assert header["gap"] < 1e-14
    rng = np.random.default_rng(5)
    for name in ("optimum", "lower", "upper", "gap", "fractions", "theta", "witnesses", "samples", "weights"):
        for _ in range(ROUNDS):
            said, false = read(polished)
            if name in said:
                said[name] = changed_leaf(said[name], rng)
            else:
                false[name] = changed_array(false[name], rng)
            write(path, said, false)
            if accepted(path):
                assert said["lower"] <= certificate.optimum <= said["upper"], name
                assert Fraction(said["optimum"]) == certificate.optimum
                assert Judge(said, parts_of(false)).upper(false["theta"].tolist()) <= said["upper"]
    for lie in (certificate.optimum + Fraction(1, 10**30), certificate.optimum - Fraction(1, 10**30)):
        write(path, header | {"optimum": str(lie)}, arrays)
        assert not accepted(path)


def test_a_lower_end_half_a_digit_too_high(tmp_path):
    """Two points at ±1 have F* = 1 − 1/λ; the float nearest to 12/13 is above it, and no lower bound."""
    problem = wb.Multiclass([[1.0], [-1.0]], ["+", "-"])
    certificate = exact.optimum(wb.solve(wb.SoftMargin(lam=13.0), problem).certificate)
    assert certificate.lower < certificate.optimum == Fraction(12, 13) < Fraction(12 / 13)
    assert verify(certificate.save(tmp_path / "true"))["proven"]
    assert not verify(replace(certificate, lower=12 / 13).save(tmp_path / "false"))["proven"]


# ── search trees ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)).round(2), rng.integers(0, 2, 12)
    certificate = wb.solve(wb.SelfPaced(C=10.0, K=1.0), wb.Multiclass(X, y)).certificate
    return certificate.save(tmp_path_factory.mktemp("search") / "c")


def test_a_false_gap_of_a_search(searched, tmp_path):
    """Its own gap is a few digits of rounding, but it is not nothing."""
    assert verify(searched)["proven"]
    header, arrays = read(searched)
    assert 0 < header["gap"] < 1e-12
    reached = verify(searched)["gap"]
    for gap in (0, reached / 100):
        write(tmp_path / "c.json", header | {"gap": gap}, arrays)
        result = verify(tmp_path / "c.json")
        assert not result["proven"]
        assert f"the claimed gap is {float(gap)!r}, the proven one" in result["reason"]


@pytest.mark.parametrize("last", [-1, -964, -(10**9)])
def test_a_tree_whose_matrix_ends_before_it_begins(searched, tmp_path, last):
    header, arrays = read(searched)
    arrays["tree_indptr"][-1] = last
    write(tmp_path / "c.json", header, arrays)
    with pytest.raises(wb.BadInput, match="indptr"):
        verify(tmp_path / "c.json")


@pytest.mark.parametrize("name", ["theta", "tree_data", "tree_cutoffs", "data_weights", "data_cost"])
def test_huge_numbers_in_a_search(searched, tmp_path, name):
    """Floats overflow on the way; then nothing is proven, and nothing is said but that."""
    header, arrays = read(searched)
    arrays[name].flat[1] = 1e308
    header["problem"]["data_sha256"] = sha256(arrays)
    write(tmp_path / "c.json", header, arrays)
    assert not accepted(tmp_path / "c.json")


# ── damage ────────────────────────────────────────────────────────────────────────────────────────

DAMAGE = {
    "theta of another width": {"theta": np.zeros(3)},
    "theta as a matrix": {"theta": np.zeros((2, 3))},
    "theta in words": {"theta": np.array(["a"] * 6)},
    "weights not finite": {"weights": np.nan},
    "weights infinite": {"weights": np.inf},
    "weights negative": {"weights": -1.0},
    "weights complex": {"weights": 1j},
    "fewer weights than cuts": {"weights": np.ones(1)},
    "samples beyond the data": {"samples": 99},
    "samples before the data": {"samples": -1},
    "samples as floats": {"samples": 0.5},
    "witnesses beyond the labels": {"witnesses": 99},
    "witnesses before the labels": {"witnesses": -5},
    "witnesses as floats": {"witnesses": 0.5},
    "witnesses too wide": {"witnesses": np.zeros((4, 9), np.int64)},
    "indices beyond the columns": {"data_indices": 10**9},
    "indices before the columns": {"data_indices": -7},
    "ends beyond the data": {"data_indptr": 10**12},
    "ends before the data": {"data_indptr": -964},
    "ends far before the data": {"data_indptr": -(10**9)},
    "ends as floats": {"data_indptr": 0.5},
    "ends of fewer rows": {"data_indptr": np.zeros(2, np.int64)},
    "more data than indices": {"data_data": np.ones(50)},
    "more indices than data": {"data_indices": np.zeros(50, np.int64)},
    "indices as a matrix": {"data_indices": np.zeros((2, 5), np.int64)},
    "labels beyond the classes": {"data_labels": 77},
    "labels before the classes": {"data_labels": -1},
    "a feature that is no number": {"data_data": np.nan},
    "an astronomical width": {"data_n_inputs": np.array(10**15)},
    "a width that is none": {"data_n_inputs": np.array(-1)},
    "sample weights negative": {"data_weights": -1.0},
    "cost matrix of another size": {"data_cost": np.zeros((7, 7))},
    "a cost whose sums overflow": {"data_cost": np.array([[0, 1, 1e308], [1, 0, 1], [1, 1, 0]])},
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_malformed_arrays_are_one_sentence(path, damage):
    header, arrays = read(path)
    for name, value in DAMAGE[damage].items():
        old = arrays[name]
        if np.ndim(value) == 0 and old.ndim:
            value = np.concatenate([np.atleast_1d(old.ravel()[1:]), [value]]).reshape(old.shape)
        arrays[name] = value
    header["problem"]["data_sha256"] = sha256(arrays)
    write(path, header, arrays)
    if damage == "a cost whose sums overflow":  # in floats; whole numbers hold it, and the claim is false
        assert not accepted(path)
        return
    with pytest.raises(wb.BadInput) as caught:
        verify(path)
    assert is_sentence(caught.value)


@pytest.mark.parametrize("output", ["chain", "linear", "matching", "multiclass"])
def test_no_matrix_reaches_scipy_unchecked(output):
    """SciPy's own check lets a negative last end pass, and its loops then write where they should not."""
    kind = registry("output").objects[output]
    arrays = kind.tiny(np.random.default_rng(0)).arrays()
    ends = arrays["indptr"]
    for last in (-1, -964, -(10**9), -(2**63), ends[-1] - 1, ends[-1] + 1, 2**63 - 1):
        with pytest.raises(wb.BadInput, match="indptr"):
            kind.from_arrays(arrays | {"indptr": np.append(ends[:-1], last)})
    for first in (-1, 1, -(2**63)):
        with pytest.raises(wb.BadInput, match="indptr"):
            kind.from_arrays(arrays | {"indptr": np.append(first, ends[1:])})
    around = np.concatenate([ends[:1], [2**63 - 1, -(2**63)], ends[3:]])  # its differences wrap around to be positive
    with pytest.raises(wb.BadInput, match="indptr"):
        kind.from_arrays(arrays | {"indptr": around})


def test_a_motif_whose_position_is_gone_is_one_sentence(tmp_path):
    """Position −1 must not count as the last window, nor lie outside the windows there are."""
    problem = wb.Motif(["ACGT", "AC", "GGGG", "TTAC"], [1, 0, 0, 1], 2, [2, -1, -1, 2])
    header, arrays = read(wb.solve(wb.SoftMargin(lam=1.0), problem).certificate.save(tmp_path / "c"))
    for spans in (arrays["data_spans"], np.array([[2, 2], [0, 0], [0, 2], [2, 2]])):
        arrays |= {"data_positions": np.array([-1, -1, -1, 2]), "data_spans": spans}
        header["problem"]["data_sha256"] = sha256(arrays)
        write(tmp_path / "c.json", header, arrays)
        with pytest.raises(wb.BadInput, match="is hidden"):
            verify(tmp_path / "c.json")
    exact_view = problem.from_arrays({name.removeprefix("data_"): part for name, part in parts_of(arrays).items()})
    with pytest.raises(wb.MissingCapability, match="is hidden"):
        exact_view.exact().margin(ratios(np.ones(12)), np.arange(4))


@pytest.mark.parametrize("missing", ["theta", "weights", "data_labels", "data_indptr"])
def test_a_missing_array_is_one_sentence(path, missing):
    header, arrays = read(path)
    del arrays[missing]
    write(path, header, arrays)
    with pytest.raises(wb.BadInput, match=missing.removeprefix("data_")):
        verify(path)


def test_an_archive_that_promises_too_much_is_not_unpacked(path, monkeypatch):
    monkeypatch.setattr("workbench.proofs.checker.archive.MOST_BYTES", 1000)
    with pytest.raises(wb.BadInput, match="more than 1000"):
        verify(path)


def test_a_shape_without_its_bytes_is_one_sentence(path):
    header, arrays = read(path)
    write(path, header, arrays | {"theta": np.zeros(2)})
    raw = path.with_suffix(".npz").read_bytes()
    old, new = b"'shape': (2,), }" + b" " * 9, b"'shape': (2" + b"0" * 9 + b",), }"
    assert raw.count(old) >= 1
    path.with_suffix(".npz").write_bytes(raw.replace(old, new))
    with pytest.raises(wb.BadInput):
        verify(path)


@pytest.mark.parametrize("size", [1e154, 1e200, 1e308, -1e308])
def test_a_theta_whose_objective_is_no_float(path, size):
    header, arrays = read(path)
    arrays["theta"][0] = size
    write(path, header, arrays)
    result = verify(path)
    assert not result["proven"]
    assert f"the claimed upper bound is {header['upper']!r}, the proven one" in result["reason"]
    assert result["upper"] > 1e300


@pytest.mark.parametrize("words", ["1e999999999", "1/0", "0.5", "-", "", "1/2/3", "9" * 200_000])
def test_an_optimum_that_is_no_fraction(path, words):
    header, arrays = read(path)
    write(path, header | {"optimum": words}, arrays)
    with pytest.raises(wb.BadInput, match="no fraction"):
        verify(path)
