"""Reading STEM.json and STEM.npz (§1 of docs/certificate-format.md): strict, and bounded in time and memory.

`Malformed` is raised for everything that §1 refuses; `Unknown` for names that this checker does not know (§8).
A float64 is turned into the `Fraction` that it is, by `exact`.
"""

import ast
import hashlib
import json
import math
import re
import struct
import zipfile
import zlib
from fractions import Fraction

import numpy as np

JSON_BYTES, ARRAY_BYTES, HEADER_BYTES, DEPTH = 64 << 20, 1 << 30, 4096, 20
INFINITE = ("lower", "upper", "gap")
DEFAULTS = {  # §9: what version 1 left out
    "hard-margin": {"lam": 1.0},
    "perceptron": {"lam": 1.0},
    "soft-margin": {"lam": 0.1, "rescaling": "margin", "declare": "cuts"},
    "weighted-risk": {"lam": 0.1, "loss": "hinge"},
    "crf": {"lam": 0.1},
    "completed-ssvm": {"C": 10.0, "states": None, "kept": None},
    "fixed-cost": {"lam2": 0.1, "lam1": 0.0, "K": 1.0, "factoring": "unordered", "v": None, "parts": 0, "left_out": 0},
    "simplex-cost-learning": {"lam2": 0.1, "lam1": 0.0, "K": 1.0, "factoring": "unordered"},
    "normalized-cost-learning": {
        "lam2": 0.1,
        "lam1": 0.0,
        "K": 1.0,
        "factoring": "unordered",
        "counts": "expected",
        "baseline": None,
    },
    "self-paced": {"C": 10.0, "K": 1.0},
    "nuclear-dyadic": {"lam": 0.01, "dimensions": 1, "loss": "hinge"},
}
SMOOTH = ("squared", "logistic")


class Malformed(Exception):
    """The certificate breaks a rule of §1, §3 or §4."""


class Unknown(Exception):
    """The certificate names a kind that this checker does not know (§8)."""


def need(condition, sentence):
    """Raise Malformed(sentence) unless the condition holds."""
    if not condition:
        raise Malformed(sentence)


def exact(array):
    """The numbers of a float64 array of one or two dimensions as Fractions, in nested lists."""
    return [exact(row) for row in array] if np.ndim(array) else Fraction(float(array))


def is_number(value):
    """Whether a JSON value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


# ---------------------------------------------------------------------------------------------- STEM.json


def _unique(pairs):
    found = dict(pairs)
    need(len(found) == len(pairs), "a key stands twice")
    return found


def _float(text):
    value = float(text)
    need(math.isfinite(value), f"the number {text[:40]} is too great for a float64")
    return value


def _whole(text):
    value = int(text)
    try:
        need(int(float(value)) == value, f"the whole number {text[:40]} is no float64")
    except OverflowError:
        raise Malformed(f"the whole number {text[:40]} is too great for a float64") from None
    return value


def _word(word):
    need(word != "NaN", "NaN stands in the JSON")
    return math.inf if word == "Infinity" else -math.inf


def _walk(value, depth, allowed):
    """Refuse nesting deeper than DEPTH, and infinities elsewhere than at `allowed` keys of the top level."""
    need(not isinstance(value, float) or math.isfinite(value), "an infinity stands outside lower, upper and gap")
    if not isinstance(value, dict | list):
        return
    need(depth <= DEPTH, f"nesting deeper than {DEPTH}")
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if not (key in allowed and isinstance(item, float)):
            _walk(item, depth + 1, ())


def read_json(path):
    """The object of STEM.json."""
    need(path.is_file(), f"{path} is missing")
    need(path.stat().st_size <= JSON_BYTES, f"{path} is too long")
    try:
        text = path.read_bytes().decode("utf-8")
        record = json.loads(text, object_pairs_hook=_unique, parse_float=_float, parse_int=_whole, parse_constant=_word)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError, ValueError) as error:
        raise Malformed(f"{path} is no JSON: {error}") from None
    need(isinstance(record, dict), f"{path} is no object")
    _walk(record, 1, INFINITE)
    return record


def _text(record, *keys):
    for key in keys:
        need(isinstance(record.get(key), str), f"{key} is no text")


def _version(part, words):
    version, known = part.get("version"), 2 if part.get("name") == "soft-margin" else 1
    need(type(version) is int and version >= 1, f"the version of {words} is no whole number ≥ 1")
    if version > known:
        raise Unknown(f"version {version} of {words}")


REQUIRED = [
    "format",
    "proof",
    "formulation",
    "problem",
    "program",
    "lower",
    "upper",
    "gap",
    "oracle",
    "status",
    "backend",
    "versions",
]
PROOFS = ("cuts", "tangent", "tree", "program", "slopes")


def header(record):
    """The checked JSON in one shape for both formats: a copy of the record with every key of format 2."""
    need(record.get("format") in ("cutbench-certificate-1", "cutbench-certificate-2"), "the format is unknown")
    first = record["format"].endswith("1")
    record = _from_first(record) if first else record
    missing, extra = set(REQUIRED) - set(record), set(record) - {*REQUIRED, "alternation", "optimum"}
    need(not missing, f"keys are missing: {sorted(missing)}")
    need(not extra, f"keys are not allowed: {sorted(extra)}")
    for key in INFINITE:
        need(is_number(record[key]), f"{key} is no number")
    _text(record, "status", "backend", "oracle")
    need(isinstance(record["versions"], dict), "versions is no object")
    _text(record["versions"], *record["versions"])
    need(record["program"] in ("whole", "last of an alternation"), "program is neither whole nor last")
    need((record["program"] != "whole") == ("alternation" in record), "program and alternation contradict each other")
    if "alternation" in record:
        part = record["alternation"]
        need(isinstance(part, dict) and set(part) == {"formulation", "status"}, "alternation has other keys")
        _text(part, *part)
        need(all(word.isprintable() for word in part.values()), "alternation holds what is not printed")
    if "optimum" in record:
        _text(record, "optimum")
        need(len(record["optimum"]) <= 100_000, "optimum is too long")
        need(re.fullmatch(r"-?[0-9]+(/0*[1-9][0-9]*)?", record["optimum"]), "optimum is no fraction")
    _kinds(record)
    return record, first


def _kinds(record):
    proof, formulation, problem = record["proof"], record["formulation"], record["problem"]
    need(isinstance(proof, dict) and set(proof) == {"kind", "version"}, "proof has other keys")
    need(isinstance(formulation, dict) and set(formulation) == {"name", "version", "settings"}, "formulation's keys")
    need(isinstance(problem, dict) and {"output", "version", "data_sha256"} <= set(problem), "problem lacks keys")
    _text(proof, "kind")
    _text(formulation, "name")
    _text(problem, "output", "data_sha256")
    need(re.fullmatch("[0-9a-f]{64}", problem["data_sha256"]), "data_sha256 is no SHA-256")
    need(isinstance(formulation["settings"], dict), "settings is no object")
    for part, words in ((proof, "the proof"), (formulation, "the formulation"), (problem, "the output structure")):
        _version(part, words)
    need(proof["kind"] in PROOFS, f"the kind of proof is none of {PROOFS}")


def _from_first(record):
    """Format 1 as format 2 (§9); keys beyond those of §1 are left out."""
    need(not {"proof", "program"} & set(record), "format 1 has no proof and no program")
    record = {key: value for key, value in record.items() if key in (*REQUIRED, "alternation", "optimum")}
    formulation, problem = record.get("formulation"), record.get("problem")
    need(isinstance(formulation, dict) and set(formulation) >= {"name", "settings"}, "formulation lacks keys")
    need(isinstance(problem, dict) and isinstance(formulation["settings"], dict), "problem or settings is no object")
    need("version" not in formulation and "version" not in problem, "format 1 has no versions of kinds")
    _text(formulation, "name")
    name = formulation["name"]
    settings = {**DEFAULTS.get(name, {}), **formulation["settings"]}
    smooth = name == "crf" or (name == "weighted-risk" and settings["loss"] in SMOOTH)
    kind = {"self-paced": "tree", "nuclear-dyadic": "slopes"}.get(name, "tangent" if smooth else "cuts")
    return {
        **record,
        "proof": {"kind": kind, "version": 1},
        "formulation": {"name": name, "version": 1, "settings": settings},
        "problem": {**problem, "version": 1},
        "program": "last of an alternation" if "alternation" in record else "whole",
    }


# ---------------------------------------------------------------------------------------------- STEM.npz

TYPES = dict.fromkeys(("data_loss", "data_oracle"), "<U[0-9]{1,4}")
TYPES |= dict.fromkeys(("data_listed", "data_of_both"), r"\|b1")
NAMES = ("data_classes", "data_left_names", "data_right_names", "data_linear_names")
TYPES |= dict.fromkeys(NAMES, r"<f[48]|\|[iub]1|<[iu][248]|\|S[0-9]{1,4}|<U[0-9]{1,4}")


def _dtype(name, description):
    need(isinstance(description, str), f"{name} has a structured type")
    allowed = TYPES.get(name, r"<f8|<i8|\|u1")
    need(re.fullmatch(allowed, description), f"{name} has type {description}")
    try:
        dtype = np.dtype(description)
    except TypeError as error:
        raise Malformed(f"{name} has an unknown type: {error}") from None
    need(dtype.str == description and 0 < dtype.itemsize <= 4096, f"{name} has type {description}")
    return dtype


def _array(name, data):
    """The array of one .npy member's bytes."""
    need(data[:6] == b"\x93NUMPY" and len(data) >= 12, f"{name} is no .npy")
    version = tuple(data[6:8])
    need(version in ((1, 0), (2, 0), (3, 0)), f"{name} has .npy version {version}")
    start = 10 if version == (1, 0) else 12
    length = struct.unpack("<H" if start == 10 else "<I", data[8:start])[0]
    need(length <= HEADER_BYTES and start + length <= len(data), f"{name} has a header of {length} bytes")
    need(b"\\" not in data[start : start + length], f"{name} has a backslash in its header")
    try:
        text = data[start : start + length].decode("utf-8" if version == (3, 0) else "latin1")
        found = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise Malformed(f"{name} has no readable header: {error}") from None
    need(isinstance(found, dict) and set(found) == {"descr", "fortran_order", "shape"}, f"{name} has a wrong header")
    shape, fortran = found["shape"], found["fortran_order"]
    need(isinstance(shape, tuple) and len(shape) <= 2, f"{name} has more than two dimensions")
    need(all(type(size) is int and 0 <= size <= 1 << 40 for size in shape), f"{name} has a wrong shape")
    need(type(fortran) is bool, f"{name} has a wrong order")
    dtype = _dtype(name, found["descr"])
    need(math.prod(shape) * dtype.itemsize == len(data) - start - length, f"the bytes of {name} are not its shape's")
    flat = np.frombuffer(data, dtype, math.prod(shape), start + length) if dtype.itemsize else np.zeros(shape, dtype)
    if dtype.kind == "U":
        points = flat.view("<u4")
        fits = ((points < 0xD800) | (points > 0xDFFF)) & (points <= 0x10FFFF)
        need(bool(fits.all()), f"{name} holds what is no character")
    return flat.reshape(shape, order="F" if fortran else "C")


def read_arrays(path):
    """All arrays of STEM.npz by name."""
    need(path.is_file(), f"{path} is missing")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            need(len(names) <= 64, "the archive has more than 64 members")
            need(len(set(names)) == len(names), "a name stands twice in the archive")
            need(sum(member.file_size for member in members) <= ARRAY_BYTES, "the arrays are too great")
            for member in members:
                need(not member.flag_bits & 1, f"{member.filename} is encrypted")
                need(member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED), "a packing is unknown")
                need(member.filename.endswith(".npy"), f"{member.filename} is no .npy")
            return {name[:-4]: _array(name[:-4], archive.read(name)) for name in names}
    except Malformed:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        OSError,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,  # a name that is not UTF-8, an offset beyond 2⁶³
        struct.error,
    ) as error:
        raise Malformed(f"{path} is no zip archive: {error}") from None


def digest(arrays):
    """SHA-256 of the data arrays (§1)."""
    hashed = hashlib.sha256()
    for name in sorted(name[5:] for name in arrays if name.startswith("data_")):
        array = np.atleast_1d(arrays["data_" + name])
        hashed.update(f"{name} {array.dtype.str} {tuple(map(int, array.shape))}\n".encode())
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


def read_fractions(array, n_cuts):
    """The Fractions of `fractions`, one per cut."""
    need(array.dtype == np.uint8 and array.ndim == 1, "fractions are no bytes")
    need(array.size <= 1 << 22, "fractions are too long")
    text = array.tobytes()
    lines = text.split(b"\n") if text else []
    need(len(lines) == n_cuts, f"fractions has {len(lines)} lines for {n_cuts} cuts")
    found = []
    for line in lines:
        need(re.fullmatch(rb"-?[0-9a-f]{1,62500}/[0-9a-f]{1,62500}", line), "a line of fractions is no p/q")
        above, below = (int(part, 16) for part in line.split(b"/"))
        need(below != 0, "a denominator is 0")
        found.append(Fraction(above, below))
    need(math.lcm(*(value.denominator for value in found)).bit_length() <= 250_000, "the denominator is too long")
    return found
