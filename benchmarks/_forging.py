"""Edits of certificates: each takes an honest one and makes something of it that a forger might try.

    EDITS[name](rng, forgery)      changes the forgery in place; `Unfit` if there is nothing to change

The name of the function is the kind of edit in the benchmark's table. Data that are edited get a digest that fits them
nine times in ten, so that the digest is not what refuses them.
"""

from __future__ import annotations

import copy
import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from workbench.proofs.certificate import data_sha256

EDITS: dict[str, Callable[[Any, Forgery], None]] = {}
ODD_NUMBERS = (0.0, -0.0, -1.0, 5e-324, 1e-300, 1e300, 1.7e308, float("inf"), float("-inf"), float("nan"))
ODD_VALUES = (None, True, False, "0.5", "", [], {}, [1.0], "NaN", 10**30, 2**53 + 1, -1, 0, 1e308, "1e9", 1e-320)


class Unfit(Exception):
    """The edit finds nothing to change in this certificate."""


@dataclass
class Forgery:
    """STEM.json and STEM.npz as `header` and `arrays`; `text` and `archive` replace them by raw bytes."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]
    others: list[Forgery] = field(default_factory=list)
    text: bytes | None = None
    archive: bytes | None = None

    def copy(self) -> Forgery:
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        return Forgery(copy.deepcopy(self.header), arrays, self.others, self.text, self.archive)

    def json(self) -> bytes:
        return json.dumps(self.header).encode() if self.text is None else self.text

    def npz(self) -> bytes:
        return packed(self.arrays) if self.archive is None else self.archive

    def write(self, stem: Path) -> None:
        for ending, content in ((".json", self.json()), (".npz", self.npz())):
            stem.with_name(stem.name + ending).write_bytes(content)

    def data(self) -> dict[str, np.ndarray]:
        return {name[5:]: array for name, array in self.arrays.items() if name.startswith("data_")}

    def sign(self) -> None:
        """A digest that fits the data."""
        self.header["problem"]["data_sha256"] = data_sha256(self.data())


def packed(arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            archive.writestr(name + ".npy", member(array))
    return buffer.getvalue()


def member(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def edit(function: Callable[[Any, Forgery], None]) -> Callable[[Any, Forgery], None]:
    EDITS[function.__name__.replace("_", " ")] = function
    return function


def pick(rng: Any, items: Any) -> Any:
    items = list(items)
    if not items:
        raise Unfit
    return items[int(rng.integers(len(items)))]


def place(rng: Any, forgery: Forgery, name: str) -> tuple[np.ndarray, Any]:
    """An array of the forgery and one index of it."""
    array = forgery.arrays.get(name)
    if array is None or not array.size:
        raise Unfit
    return array, np.unravel_index(int(rng.integers(array.size)), array.shape)


def keep(forgery: Forgery, rows: Any) -> None:
    """The cuts `rows` only, in this order; a line of the fractions goes with each."""
    if "fractions" in forgery.arrays:
        lines = forgery.arrays["fractions"].tobytes().split(b"\n")
        forgery.arrays["fractions"] = np.frombuffer(b"\n".join(lines[row] for row in rows), np.uint8)
    for name in ("samples", "witnesses", "weights"):
        forgery.arrays[name] = forgery.arrays[name][np.asarray(rows, int)]


def cuts_of(forgery: Forgery) -> int:
    """How many cuts there are, at least one."""
    if not len(forgery.arrays["samples"]):
        raise Unfit
    return len(forgery.arrays["samples"])


# ── weights, cuts ─────────────────────────────────────────────────────────────────────────────────


@edit
def weight_moved(rng: Any, f: Forgery) -> None:
    M, weights = cuts_of(f), f.arrays["weights"]
    here, there = rng.integers(M, size=2)
    amount = weights[here] * rng.choice([0.01, 0.5, 1.0])
    weights[here] -= amount
    weights[there] += amount


@edit
def weights_scaled(rng: Any, f: Forgery) -> None:
    cuts_of(f)
    with np.errstate(over="ignore"):
        f.arrays["weights"] *= rng.choice([2.0, 0.5, 1.1, 1e-300, 1e300, 1e10])


@edit
def weights_of_a_sample_scaled(rng: Any, f: Forgery) -> None:
    cuts_of(f)
    chosen = f.arrays["samples"] == pick(rng, f.arrays["samples"])
    f.arrays["weights"][chosen] *= rng.choice([2.0, 0.5, 10.0, 0.0, 1e-9])


@edit
def cut_dropped(rng: Any, f: Forgery) -> None:
    M = cuts_of(f)
    keep(f, np.delete(np.arange(M), rng.integers(M)))


@edit
def cut_doubled(rng: Any, f: Forgery) -> None:
    M = cuts_of(f)
    keep(f, [*range(M), int(rng.integers(M))])
    if rng.random() < 0.5:
        f.arrays["weights"] = f.arrays["weights"] / 2


@edit
def cuts_in_another_order(rng: Any, f: Forgery) -> None:
    keep(f, rng.permutation(cuts_of(f)))


@edit
def weight_an_ulp_away(rng: Any, f: Forgery) -> None:
    weights, at = place(rng, f, "weights")
    weights[at] = np.nextafter(weights[at], rng.choice([-np.inf, np.inf]))


@edit
def weight_odd(rng: Any, f: Forgery) -> None:
    weights, at = place(rng, f, "weights")
    weights[at] = rng.choice(ODD_NUMBERS)


@edit
def weight_on_a_priceless_sample(rng: Any, f: Forgery) -> None:
    idle = np.flatnonzero(f.arrays["data_weights"] == 0)
    sample, weights = pick(rng, idle), f.arrays["weights"]
    row = pick(rng, range(cuts_of(f)))
    keep(f, [*range(len(weights)), row])
    f.arrays["samples"][-1] = sample
    f.arrays["weights"][-1] = rng.choice([0.0, 1e-12, 1.0, weights.max(), 5e-324])
    same = np.flatnonzero(f.arrays["samples"][:-1] == sample)
    if same.size:
        f.arrays["witnesses"][-1] = f.arrays["witnesses"][same[0]]


# ── witnesses, samples, θ ─────────────────────────────────────────────────────────────────────────


@edit
def witness_out_of_range(rng: Any, f: Forgery) -> None:
    witnesses, at = place(rng, f, "witnesses")
    witnesses[at] = rng.choice([-1, -2, 10**7, 2**62, -(2**63), 2**63 - 1, witnesses.max() + 1, 255])


@edit
def witness_another_output(rng: Any, f: Forgery) -> None:
    witnesses, at = place(rng, f, "witnesses")
    witnesses[at] = rng.integers(-1, witnesses.max(initial=1) + 1)


@edit
def witness_of_another_sample(rng: Any, f: Forgery) -> None:
    here, there = rng.integers(cuts_of(f), size=2)
    f.arrays["witnesses"][here] = f.arrays["witnesses"][there]


@edit
def witness_doubled_inside(rng: Any, f: Forgery) -> None:
    if f.arrays["witnesses"].shape[1] < 2:
        raise Unfit
    row = f.arrays["witnesses"][rng.integers(cuts_of(f))]
    row[-1] = row[0]


@edit
def sample_of_a_cut_changed(rng: Any, f: Forgery) -> None:
    samples, at = place(rng, f, "samples")
    n = len(f.arrays["data_weights"])
    samples[at] = rng.choice([rng.integers(n), n, -1, 2**40, (samples[at] + 1) % n])


@edit
def theta_moved(rng: Any, f: Forgery) -> None:
    theta = f.arrays["theta"]
    theta += rng.normal(size=theta.shape) * rng.choice([1e-12, 1e-6, 1e-2, 1.0, 100.0])


@edit
def theta_scaled(rng: Any, f: Forgery) -> None:
    f.arrays["theta"] *= rng.choice([0.0, -1.0, 1 + 1e-9, 0.5, 1e150])


@edit
def theta_odd(rng: Any, f: Forgery) -> None:
    theta, at = place(rng, f, "theta")
    theta[at] = rng.choice(ODD_NUMBERS)


@edit
def theta_of_another(rng: Any, f: Forgery) -> None:
    f.arrays["theta"] = pick(rng, f.others).arrays["theta"].copy()


# ── the claim ─────────────────────────────────────────────────────────────────────────────────────


@edit
def claim_moved(rng: Any, f: Forgery) -> None:
    key = pick(rng, ("lower", "upper", "gap"))
    f.header[key] += rng.choice([1e-12, -1e-12, 1e-3, -1e-3, 1.0, -1.0]) * max(abs(f.header[key]), 1e-9)


@edit
def claim_an_ulp_away(rng: Any, f: Forgery) -> None:
    key = pick(rng, ("lower", "upper", "gap"))
    for _ in range(int(rng.integers(1, 4))):
        f.header[key] = float(np.nextafter(f.header[key], rng.choice([-np.inf, np.inf])))


@edit
def claim_odd(rng: Any, f: Forgery) -> None:
    f.header[pick(rng, ("lower", "upper", "gap"))] = pick(rng, ODD_NUMBERS + ODD_VALUES + (10**400, -(10**400)))


@edit
def claim_infinite_on_a_side(rng: Any, f: Forgery) -> None:
    key, end = pick(rng, (("lower", -np.inf), ("upper", np.inf)))
    f.header[key] = float(end)
    f.header["gap"] = pick(rng, (f.header["gap"], float("inf"), 0.0))


@edit
def ends_exchanged(rng: Any, f: Forgery) -> None:
    f.header["lower"], f.header["upper"] = f.header["upper"], f.header["lower"]


@edit
def optimum_claimed(rng: Any, f: Forgery) -> None:
    exact = f.header.get("optimum", str(Fraction(f.header["lower"])))
    above, below = Fraction(exact).as_integer_ratio()
    ways = ("1/3", "0/1", exact, f"{above * 7}/{below * 7}", f"{above + 1}/{below}", f" {exact}", f"{exact}\n")
    ways += (f"-{exact}", "1/0", "0x10", "1_0", "٣", "9" * 5000, "1e3", "1.5", 3, None, "+1", f"{above}/00{below}")
    f.header["optimum"] = pick(rng, ways)


@edit
def fractions_edited(rng: Any, f: Forgery) -> None:
    if "fractions" not in f.arrays:
        raise Unfit
    lines = f.arrays["fractions"].tobytes().split(b"\n")
    at = int(rng.integers(len(lines)))
    above, below = lines[at].split(b"/")
    more = b"%x" % abs(int(above, 16) + 1)
    ways = (more + b"/" + below, b"-" + lines[at], above + b"/0", above, b"", lines[at].upper(), b"0x" + lines[at])
    ways += (lines[at] + b"\n1/1", b"+" + lines[at], b" " + lines[at], b"0/1", above + b"/-" + below, b"0" + lines[at])
    lines[at] = pick(rng, ways)
    f.arrays["fractions"] = np.frombuffer(b"\n".join(lines), np.uint8)


@edit
def fractions_moved(rng: Any, f: Forgery) -> None:
    if "fractions" not in f.arrays:
        raise Unfit
    lines = [Fraction(*(int(x, 16) for x in line.split(b"/"))) for line in f.arrays["fractions"].tobytes().split(b"\n")]
    here, there = rng.integers(len(lines), size=2)
    amount = lines[here] / int(rng.choice([1, 2, 1000, -2]))
    lines[here] -= amount
    lines[there] += amount
    f.arrays["fractions"] = np.frombuffer(b"\n".join(b"%x/%x" % each.as_integer_ratio() for each in lines), np.uint8)


@edit
def fractions_invented(rng: Any, f: Forgery) -> None:
    M = cuts_of(f)
    number = pick(rng, (b"0/1", b"1/1", b"1/%x" % M, b"1/3", b"-1/1"))
    f.arrays["fractions"] = np.frombuffer(b"\n".join([number] * M), np.uint8)


@edit
def fractions_dropped(rng: Any, f: Forgery) -> None:
    if f.arrays.pop("fractions", None) is None:
        raise Unfit


# ── data ──────────────────────────────────────────────────────────────────────────────────────────


def sign(rng: Any, f: Forgery) -> None:
    if rng.random() < 0.9:
        f.sign()


@edit
def datum_changed(rng: Any, f: Forgery) -> None:
    name = pick(rng, (name for name in f.arrays if name.startswith("data_")))
    array, at = place(rng, f, name)
    if array.dtype.kind == "f":
        array[at] = pick(rng, (array[at] * 2, -array[at], 0.0, np.nextafter(array[at], 9.0), array[at] + 1, np.nan))
    elif array.dtype.kind in "iu":
        array[at] = pick(rng, (array[at] + 1, 0, 1, abs(int(array[at]) - 1)))
    else:
        array[at] = pick(rng, ("hamming", "hamming-normalised", "x"))
    sign(rng, f)


@edit
def sample_weight_changed(rng: Any, f: Forgery) -> None:
    weights, at = place(rng, f, "data_weights")
    weights[at] = rng.choice([0.0, 1.0, 2.0, 1e-6, 1e6, -1.0, -0.0])
    sign(rng, f)


@edit
def all_weights_scaled(rng: Any, f: Forgery) -> None:
    f.arrays["data_weights"] *= rng.choice([2.0, 0.25, 3.0, 1e20, 1e-20])
    sign(rng, f)


@edit
def label_changed(rng: Any, f: Forgery) -> None:
    name = pick(rng, {"data_labels", "data_targets", "data_truth", "data_positions"} & set(f.arrays))
    array, at = place(rng, f, name)
    array[at] = rng.choice([-array[at], array[at] + 1, 0, 1, -1])
    sign(rng, f)


@edit
def feature_changed(rng: Any, f: Forgery) -> None:
    if "data_data" not in f.arrays:
        raise Unfit
    X = f.arrays["data_data"]
    with np.errstate(over="ignore"):
        X *= rng.choice([-1.0, 2.0, 0.0, 1e3, 1e300, 1 + 2**-52])
    sign(rng, f)


@edit
def digest_changed(rng: Any, f: Forgery) -> None:
    digest = f.header["problem"]["data_sha256"]
    other = pick(rng, f.others).header["problem"]["data_sha256"]
    f.header["problem"]["data_sha256"] = pick(rng, (digest.upper(), digest[:-1], other, digest + "\n", "0" * 64, None))


@edit
def array_of_another_shape(rng: Any, f: Forgery) -> None:
    name = pick(rng, f.arrays)
    array = f.arrays[name]
    ways = [array.reshape(-1)[:-1], array.reshape(1, -1), array.reshape(-1, 1), np.append(array, array[:1])] if array.ndim else []
    ways += [np.atleast_1d(array), np.asfortranarray(array), np.zeros((0, 3)), array.reshape(1, 1, -1), array[..., None]]
    f.arrays[name] = pick(rng, ways)
    sign(rng, f)


@edit
def array_of_another_type(rng: Any, f: Forgery) -> None:
    name = pick(rng, f.arrays)
    kind = pick(rng, ("<f4", ">f8", "<i4", ">i8", "<u8", "|u1", "<f8", "<i8", "|b1", "<c16", "<U8", "|S8", "|O", "<f2"))
    with np.errstate(all="ignore"):
        try:
            f.arrays[name] = f.arrays[name].astype(kind)
            sign(rng, f)
        except (ValueError, TypeError, UnicodeEncodeError):
            raise Unfit from None


@edit
def array_missing_or_renamed(rng: Any, f: Forgery) -> None:
    name = pick(rng, f.arrays)
    array = f.arrays.pop(name)
    new = pick(rng, (None, "data_" + name, name + "2", "theta", "../x", "data_", "", name.upper(), "tree_cuts"))
    if new is not None:
        f.arrays[new] = array
    sign(rng, f)


@edit
def array_of_another_certificate(rng: Any, f: Forgery) -> None:
    name, other = pick(rng, f.arrays), pick(rng, f.others)
    f.arrays[name] = other.arrays.get(name, other.arrays["theta"]).copy()
    sign(rng, f)


# ── kinds and settings ────────────────────────────────────────────────────────────────────────────

SETTINGS: dict[str, tuple[Any, ...]] = {
    "rescaling": ("margin", "slack"),
    "loss": ("hinge", "squared", "logistic"),
    "factoring": ("ordered", "unordered", "true", "predicted", "constant", "input"),
    "counts": ("none", "total", "logical", "logical-max", "expected", "baseline"),
    "declare": ("cuts", "compact"),
}
FORMS = {
    "soft-margin": {"lam": 0.1, "rescaling": "margin", "declare": "cuts"},
    "hard-margin": {"lam": 0.1},
    "perceptron": {"lam": 0.1},
    "crf": {"lam": 0.1},
    "weighted-risk": {"lam": 0.1, "loss": "hinge"},
    "completed-ssvm": {"C": 10.0, "states": None, "kept": None},
    "self-paced": {"C": 10.0, "K": 1.0},
    "simplex-cost-learning": {"lam2": 0.1, "lam1": 0.0, "K": 1.0, "factoring": "unordered"},
}


@edit
def number_setting_changed(rng: Any, f: Forgery) -> None:
    settings = f.header["formulation"]["settings"]
    key = pick(rng, (key for key in settings if key in ("lam", "lam1", "lam2", "C", "K")))
    settings[key] = pick(rng, (settings[key] * 2, settings[key] / 2, 1, 1e-100, 1e100, float(np.nextafter(settings[key], 9))))


@edit
def setting_odd(rng: Any, f: Forgery) -> None:
    settings = f.header["formulation"]["settings"]
    settings[pick(rng, settings)] = pick(rng, ODD_VALUES + ODD_NUMBERS)


@edit
def choice_changed(rng: Any, f: Forgery) -> None:
    settings = f.header["formulation"]["settings"]
    key = pick(rng, (key for key in settings if key in SETTINGS))
    settings[key] = pick(rng, SETTINGS[key])


@edit
def parts_changed(rng: Any, f: Forgery) -> None:
    settings = f.header["formulation"]["settings"]
    if "parts" not in settings:
        raise Unfit
    pairs = ((0, 0), (2, 0), (2, 1), (3, 2), (1, 0), (2, 2), (-2, 0), (2.0, 0), (10**20, 3), (True, False), (2, -1))
    settings["parts"], settings["left_out"] = pick(rng, pairs)


@edit
def list_setting_changed(rng: Any, f: Forgery) -> None:
    settings, n = f.header["formulation"]["settings"], len(f.arrays["data_weights"])
    key = pick(rng, {"states", "kept", "v", "baseline"} & set(settings))
    length = pick(rng, (n, n, 1, 2, 3, 4, 6, 12))
    ways = ([1] * length, [0] * length, [0.5] * length, [1.0, *[0.0] * (length - 1)], [-1] * length, [True] * length, None)
    settings[key] = pick(rng, (*ways, [10**300] * length, list(map(int, rng.integers(0, 5, length)))))
    if key == "baseline" and rng.random() < 0.7:
        settings["counts"] = "baseline"


@edit
def setting_key_missing_or_added(rng: Any, f: Forgery) -> None:
    settings = f.header["formulation"]["settings"]
    if rng.random() < 0.5:
        settings[pick(rng, ("lam", "C", "extra", "polish", "K"))] = 0.1
    else:
        del settings[pick(rng, settings)]


@edit
def formulation_exchanged(rng: Any, f: Forgery) -> None:
    name = pick(rng, FORMS)
    f.header["formulation"] = {"name": name, "version": 1, "settings": dict(FORMS[name])}
    if rng.random() < 0.5:
        kind = {"self-paced": "tree", "crf": "tangent"}.get(name, "cuts")
        f.header["proof"] = {"kind": kind, "version": 1}


@edit
def kind_of_proof_exchanged(rng: Any, f: Forgery) -> None:
    f.header["proof"] = {"kind": pick(rng, ("cuts", "tangent", "tree", "cone", "", None)), "version": 1}


@edit
def version_changed(rng: Any, f: Forgery) -> None:
    f.header[pick(rng, ("proof", "formulation", "problem"))]["version"] = pick(rng, (0, 2, -1, "1", 1.0, True, None, 10**30))


@edit
def word_changed(rng: Any, f: Forgery) -> None:
    key = pick(rng, ("oracle", "status", "backend", "program", "format"))
    words = ("exact", "under", "relaxed", "whole", "last of an alternation", "", None, 3, "cutbench-certificate-3")
    f.header[key] = pick(rng, words)


@edit
def output_exchanged(rng: Any, f: Forgery) -> None:
    f.header["problem"]["output"] = pick(rng, ("multiclass", "chain", "linear", "matching", "motif", "graph", "", None))


@edit
def whole_and_last_exchanged(rng: Any, f: Forgery) -> None:
    told = {"formulation": "latent-ssvm", "status": "stationary"}
    way = int(rng.integers(4))
    if way == 0:
        f.header |= {"program": "last of an alternation", "alternation": told}
    elif way == 1:
        f.header["program"] = "whole"
        f.header.pop("alternation", None)
    elif way == 2:
        f.header["program"] = pick(rng, ("whole", "last of an alternation", "part"))
    else:
        f.header["alternation"] = pick(rng, (told, {}, None, {**told, "more": ""}, {"formulation": 1, "status": ""}))


@edit
def format_one(rng: Any, f: Forgery) -> None:
    """The same in format 1; the versions and sometimes a setting go."""
    f.header["format"] = "cutbench-certificate-1"
    if rng.random() < 0.9:
        f.header.pop("proof")
        f.header.pop("program")
        for part in ("formulation", "problem"):
            f.header[part].pop("version")
    if rng.random() < 0.3:
        settings = f.header["formulation"]["settings"]
        settings.pop(pick(rng, settings))
    if rng.random() < 0.3:
        f.header["more"] = 1


@edit
def condition_added(rng: Any, f: Forgery) -> None:
    f.header[pick(rng, ("proven", "conditional_on", "complete", "fractions", "theta"))] = pick(rng, (True, [], "whole"))


# ── trees ─────────────────────────────────────────────────────────────────────────────────────────


def tree_of(f: Forgery) -> int:
    if "tree_parents" not in f.arrays:
        raise Unfit
    return len(f.arrays["tree_parents"])


def trimmed(f: Forgery, nodes: Any) -> None:
    """The nodes given only; λ goes with each, parents keep their numbers where they still exist."""
    a = f.arrays
    rows = [slice(a["tree_indptr"][v], a["tree_indptr"][v + 1]) for v in nodes]
    for name in ("tree_data", "tree_indices"):
        a[name] = np.concatenate([a[name][:0], *(a[name][row] for row in rows)])
    a["tree_indptr"] = np.cumsum([0, *(row.stop - row.start for row in rows)]).astype(np.int64)
    for name in ("tree_parents", "tree_branches", "tree_cutoffs"):
        a[name] = a[name][np.asarray(nodes, int)]


@edit
def tree_cut(rng: Any, f: Forgery) -> None:
    trimmed(f, list(range(int(rng.integers(1, tree_of(f) + 1)))))


@edit
def tree_node_dropped(rng: Any, f: Forgery) -> None:
    m = tree_of(f)
    gone = int(rng.integers(m))
    trimmed(f, [v for v in range(m) if v != gone])
    parents = f.arrays["tree_parents"]
    if rng.random() < 0.7:
        parents[parents > gone] -= 1


@edit
def tree_parent_changed(rng: Any, f: Forgery) -> None:
    parents, at = place(rng, f, "tree_parents")
    parents[at] = rng.choice([0, at[0], at[0] - 1, -1, 10**6, at[0] // 2])


@edit
def tree_branch_changed(rng: Any, f: Forgery) -> None:
    branches, at = place(rng, f, "tree_branches")
    branches[at] = rng.choice([-1, 0, 1, branches[at] ^ 1, -2, 10**6, branches[at] + 2])


@edit
def tree_cutoff_changed(rng: Any, f: Forgery) -> None:
    cutoffs, at = place(rng, f, "tree_cutoffs")
    cutoffs[at] = rng.choice([*ODD_NUMBERS, cutoffs[at] / 2, cutoffs[at] * 2])


@edit
def tree_multiplier_changed(rng: Any, f: Forgery) -> None:
    data, at = place(rng, f, "tree_data")
    with np.errstate(over="ignore"):
        data[at] = rng.choice([data[at] * 2, data[at] / 2, 0.0, -data[at], 1e200, np.nan, np.inf, data[at] + 1e-3])


@edit
def tree_multiplier_moved(rng: Any, f: Forgery) -> None:
    indices, at = place(rng, f, "tree_indices")
    indices[at] = rng.choice([0, 1, indices[at] + 1, -1, 10**9])


@edit
def tree_rows_changed(rng: Any, f: Forgery) -> None:
    array, at = place(rng, f, pick(rng, ("tree_indptr", "tree_cuts")))
    array[at] += rng.choice([-1, 1, 2])


@edit
def tree_grown(rng: Any, f: Forgery) -> None:
    m = tree_of(f)
    trimmed(f, [*range(m), int(rng.integers(m))])
    f.arrays["tree_parents"][-1] = rng.integers(m)
    f.arrays["tree_branches"][-1] = rng.integers(-1, 2 * np.count_nonzero(f.arrays["data_weights"]))


# ── the files themselves ──────────────────────────────────────────────────────────────────────────


@edit
def key_deleted(rng: Any, f: Forgery) -> None:
    part = pick(rng, (f.header, f.header, f.header["proof"], f.header["formulation"], f.header["problem"], f.header["versions"]))
    part.pop(pick(rng, part))


@edit
def key_of_another_type(rng: Any, f: Forgery) -> None:
    f.header[pick(rng, f.header)] = pick(rng, ODD_VALUES)


@edit
def key_doubled(rng: Any, f: Forgery) -> None:
    key = pick(rng, f.header)
    value = pick(rng, (f.header[key], pick(rng, f.others).header.get(key, 0), 0))
    first = rng.random() < 0.5
    pair = f"{json.dumps(key)}: {json.dumps(value)}"
    body = json.dumps(f.header)[1:-1]
    f.text = ("{" + (f"{pair}, {body}" if first else f"{body}, {pair}") + "}").encode()


@edit
def inner_key_doubled(rng: Any, f: Forgery) -> None:
    part = pick(rng, ("settings", "problem", "proof"))
    text = f.json().decode()
    f.text = re.sub(rf'("{part}": {{)("[^"]*": [^,}}]*)', r"\1\2, \2", text, count=1).encode()


@edit
def json_damaged(rng: Any, f: Forgery) -> None:
    text = f.json()
    at = int(rng.integers(len(text)))
    ways = (b"", text[:at], text + b"x", b"\xef\xbb\xbf" + text, text.decode().encode("utf-16"), b"[" + text + b"]", b"null")
    ways += (b"\xff" + text, text.replace(b'"lower": ', b'"lower": 1e999, "x": '), b"[" * 100_000, b'{"a":' * 3000 + b"1")
    ways += (text.replace(b'"gap": ', b'"gap": NaN, "x": '), text[:at] + bytes([int(rng.integers(256))]) + text[at + 1 :])
    f.text = pick(rng, ways)


@edit
def json_nested(rng: Any, f: Forgery) -> None:
    deep: Any = 1
    for _ in range(int(rng.choice([3, 17, 18, 19, 20, 500]))):
        deep = [deep]
    f.header[pick(rng, ("problem", "problem", "versions"))]["more"] = deep


@edit
def number_in_the_text_changed(rng: Any, f: Forgery) -> None:
    key = pick(rng, ("lower", "upper", "gap"))
    new = pick(rng, ("1e999", "-1e999", "NaN", "Infinity", "-Infinity", "9" * 5000, "1E1", "-0", "01", "1.", "9007199254740993"))
    f.text = re.sub(rf'"{key}": [^,}}]*', f'"{key}": {new}', f.json().decode()).encode()


@edit
def archive_damaged(rng: Any, f: Forgery) -> None:
    content = bytearray(f.npz())
    if rng.random() < 0.5:
        for _ in range(int(rng.integers(1, 4))):
            content[int(rng.integers(len(content)))] = int(rng.integers(256))
    else:
        content = content[: int(rng.integers(len(content)))] if rng.random() < 0.7 else content + b"PK\x05\x06" + b"\0" * 18
    f.archive = bytes(content)


@edit
def archive_member_forged(rng: Any, f: Forgery) -> None:
    name = pick(rng, f.arrays)
    content = member(f.arrays[name])
    length = struct.unpack("<H", content[8:10])[0]
    text, body = content[10 : 10 + length], content[10 + length :]
    shape = pick(rng, (b"(1000000000000,)", b"(-1,)", b"(True,)", b"(2, 2, 2)", b"(0,)", b"((((1,),),),)", b"[3]", b"(3L,)"))
    ways = (re.sub(rb"\([0-9, ]*\)", shape, text), text.replace(b"<f8", b"|O").replace(b"<i8", b"|O"))
    ways += (text.replace(b"False", b"True"), text.replace(b"False", b"0"), text[:-1] + b" " * 5000 + b"\n", b"(" * 900)
    ways += (text.replace(b"'descr'", b"'descr': '<f8', 'descr'"), text.replace(b"<f8", b"<i8"), text + b" " * 64)
    text = pick(rng, ways)
    version = pick(rng, (b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x04\x00"))
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(text))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", pick(rng, (0, 8))) as archive:
        for other, array in f.arrays.items():
            forged = b"\x93NUMPY" + version + size + text + body
            archive.writestr(other + ".npy", forged if other == name else member(array))
    f.archive = buffer.getvalue()


@edit
def archive_member_doubled_or_added(rng: Any, f: Forgery) -> None:
    name = pick(rng, f.arrays)
    new = pick(rng, (name + ".npy", name + ".npy", name, "x.npy", "folder/", "../" + name + ".npy", name + ".npy.npy", ".npy"))
    buffer = io.BytesIO(packed(f.arrays))
    with zipfile.ZipFile(buffer, "a", pick(rng, (0, 8, 12, 14))) as archive:
        try:
            archive.writestr(new, member(pick(rng, (f.arrays[name], f.arrays["theta"] * 2, np.zeros(10**6)))))
        except UserWarning:  # where warnings are errors: a name that stands twice
            raise Unfit from None
    f.archive = buffer.getvalue()


@edit
def archive_of_another(rng: Any, f: Forgery) -> None:
    f.archive = pick(rng, f.others).npz()
