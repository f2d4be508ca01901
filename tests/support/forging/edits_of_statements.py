"""Edits of what is stated: data, with a digest that fits them, settings, kinds, and the words about the whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from forging.forgery import ODD_NUMBERS, ODD_VALUES, Forgery, Unfit, edit, pick, place, sign

# ── data ──────────────────────────────────────────────────────────────────────────────────────────


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
        X *= rng.choice([-1.0, 2.0, 0.0, 1e3, 1e9, 1 + 2**-52])
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
    ways = (
        [array.reshape(-1)[:-1], array.reshape(1, -1), array.reshape(-1, 1), np.append(array, array[:1])]
        if array.ndim
        else []
    )
    ways += [
        np.atleast_1d(array),
        np.asfortranarray(array),
        np.zeros((0, 3)),
        array.reshape(1, 1, -1),
        array[..., None],
    ]
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
    "factoring": ("ordered", "unordered", "true", "predicted", "constant", "input", "input-true"),
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
    settings[key] = pick(
        rng, (settings[key] * 2, settings[key] / 2, 1, 1e-3, 1e3, float(np.nextafter(settings[key], 9)))
    )


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
    ways = (
        [1] * length,
        [0] * length,
        [0.5] * length,
        [1.0, *[0.0] * (length - 1)],
        [-1] * length,
        [True] * length,
        None,
    )
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
    f.header[pick(rng, ("proof", "formulation", "problem"))]["version"] = pick(
        rng, (0, 2, -1, "1", 1.0, True, None, 10**30)
    )


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
