"""Certificates: all that a sceptic needs to prove an optimum again without solving anything.

A certificate is two files, STEM.json and STEM.npz (docs/certificate-format.md). It holds θ, the cuts with weight
(sample, witness, μ), the raw data of the problem, and the interval [lower, upper] that it claims. Slopes and offsets
are not stored: the trusted checker (proofs/checker) rebuilds them from the witnesses and the data, and recomputes
both ends over whole numbers. The certificate of a smooth formulation has no cuts, θ alone proves both bounds
(proofs/smooth.py); that of a search holds its tree (proofs/capped.py).

This module writes certificates, and reads them back as objects of the package. Neither proves anything: that is
`verify` (proofs/verify.py).
"""

from __future__ import annotations

import io
import json
import platform
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import (
    Asking,
    CutForm,
    Enumerable,
    Exact,
    Factored,
    Floats,
    Formulation,
    Hinting,
    Ints,
    Numbers,
    Placing,
    Problem,
    Recording,
    Search,
    SmoothForm,
    Sourced,
    Stored,
    TextForm,
)
from workbench.errors import BadInput, CutbenchError, MissingCapability, UnknownName
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.bounds import Evidence, checked_theta
from workbench.proofs.checker import archive
from workbench.proofs.checker.check import FORMATS, LAST, MOST_DIGITS, WHOLE
from workbench.proofs.checker.faults import Malformed, demand
from workbench.proofs.checker.kinds.cuts import read_fractions
from workbench.proofs.ends import above, below, parsed, text
from workbench.proofs.files import files_of, make_folder, spare_files, write_wholes, writer_of
from workbench.proofs.tree import Tree
from workbench.registries import registry, settings_of
from workbench.system.versions import installed_version


def asked(oracle: object, problem: Problem) -> Problem:
    """The problem that an oracle asks, which is the given one if it names none."""
    return oracle.problem if isinstance(oracle, Asking) else problem


@dataclass
class Certificate:
    """θ (p,), cuts with weight (samples (K,), witnesses (K, width), weights μ (K,)) and the claim.

    After `exact.optimum`: `optimum` is F*, `fractions` the rational μ that prove it, of which `weights`
    are the nearest floats; or `remark` says why there is none. What was found by search has no cuts but a `tree`.
    slopes : of `nuclear-dyadic`, (n, L), in place of cuts
    alternation : if this is the last convex program of one, whose (`formulation`) and how that ended (`status`)
    """

    formulation: CutForm | SmoothForm | Search | Factored | TextForm
    problem: Problem
    theta: Floats
    samples: Ints
    witnesses: Ints
    weights: Floats
    upper: float
    lower: float
    gap: float
    status: str
    backend: str
    source: Numbers = field(default_factory=dict)
    optimum: Fraction | None = None
    fractions: list[Fraction] | None = None
    remark: str = ""
    tree: Tree | None = None
    alternation: dict[str, str] | None = None
    slopes: Floats | None = None

    def __repr__(self) -> str:
        ends = f"{self.lower!r} ≤ F* ≤ {self.upper!r}, gap {self.gap:.2g}"
        return f"Certificate({self.formulation!r}, {self.problem!r}: {ends})"

    def recheck(self) -> tuple[float, Fraction | float]:
        """(lower, upper) recomputed from the data, θ and the weights alone."""
        bounds = bounds_for(self.formulation, self.problem)
        theta = checked_theta(self.theta, bounds.oracle.dim)
        check_outputs(asked(bounds.oracle, self.problem), self)
        return bounds.recheck(Evidence(theta, self.samples, self.witnesses, self.weights, self.tree, self.slopes))

    def parts(self) -> dict[str, NDArray]:
        """θ and what proves the lower bound, as `checked_arrays` reads them."""
        parts = {"theta": self.theta, "samples": self.samples, "witnesses": self.witnesses, "weights": self.weights}
        if self.fractions is not None:
            parts["fractions"] = written_fractions(self.fractions)
        if self.tree is not None:
            parts |= {f"tree_{name}": array for name, array in self.tree.arrays().items()}
        if self.slopes is not None:
            parts["slopes"] = self.slopes
        return parts

    def packed(self) -> tuple[dict[str, NDArray], Ints]:
        """The data, and the witnesses as these count outputs: where outputs are objects, a file numbers them anew."""
        if isinstance(self.problem, Recording):
            return self.problem.packed(self.formulation, self.theta, self.witnesses)
        return arrays_of(self.problem), self.witnesses

    def save(self, stem: str | Path) -> Path:
        """Write STEM.json and STEM.npz, each whole or not at all; returns the JSON's path. `stem` may end in either.

        `BadInput` for files of these names that are no certificate of ours, and for a name that no file can have.
        """
        (path, packed), (arrays, witnesses) = spare_files(stem), self.packed()
        make_folder(path.parent)
        buffer = io.BytesIO()
        hints = self.problem.hints(self.theta) if isinstance(self.problem, Hinting) else {}
        named: dict[str, Any] = {f"hint_{k}": v for k, v in hints.items()}  # NumPy's types take words for options
        named |= {f"data_{k}": v for k, v in arrays.items()}
        parts = self.parts() | {"witnesses": witnesses}
        header = json.dumps(self.header(arrays), indent=2, default=np.generic.item) + "\n"
        check_sizes(header, parts | named)
        np.savez_compressed(buffer, **parts, **named)
        write_wholes({path: header.encode(), packed: buffer.getvalue()})
        return path

    def header(self, arrays: dict[str, NDArray]) -> Numbers:
        """What the JSON says; `arrays` are the data."""
        told = {key: getattr(self.problem, key) for key in kept_of(self.problem)}  # members, by name
        if len(told.get("found_at") or ()) > MOST_PLACES:
            told["found_at"] = None
        smooth = isinstance(self.formulation, SmoothForm)
        kind = "tree" if self.tree is not None else "tangent" if smooth else "cuts"
        kind = kind if self.slopes is None else "slopes"
        optimum = None if self.optimum is None else text(self.optimum)  # one too long is left to `fractions`
        output = {"output": name_of("output", self.problem), "version": 1, "data_sha256": data_sha256(arrays)}
        return {
            "format": FORMATS[-1],
            "proof": {"kind": kind, "version": 1},
            "formulation": {**named(self.formulation), "version": version_of(self.formulation)},
            "problem": {**output, **{key: each for key, each in told.items() if each is not None}, **self.source},
            "program": WHOLE if self.alternation is None else LAST,
            **({} if self.alternation is None else {"alternation": self.alternation}),
            "upper": above(self.upper),
            "lower": below(self.lower),
            "gap": above(self.gap),
            **({} if optimum is None or len(optimum) > MOST_DIGITS else {"optimum": optimum}),
            "status": self.status,
            "oracle": self.problem.oracle_kind,
            "backend": self.backend,
            "versions": versions(),
        }


def kept_of(problem: object) -> tuple[str, ...]:
    """The names of what a problem keeps of its source."""
    return Sourced.KEPT if isinstance(problem, Sourced) else ()


def check_sizes(header: str, arrays: dict[str, NDArray]) -> None:
    """`BadInput` with the limit that the trusted checker has, where the files would be beyond it."""
    try:
        json.loads(header, parse_int=archive.whole_number)
        size, most = sum(np.asarray(array).nbytes for array in arrays.values()), archive.MOST_BYTES
        demand(len(header) <= archive.MOST_JSON, f"its JSON is longer than {archive.MOST_JSON} bytes")
        demand(size <= most, f"its arrays take {size} bytes, more than {most}")
        if "fractions" in arrays:
            read_fractions(arrays["fractions"], len(arrays["samples"]))
    except Malformed as reason:
        raise BadInput(
            f"The certificate is not written, as `verify` would refuse it ({reason}); solve without polish, or with "
            "shorter numbers."
        ) from None


MOST_PLACES = 100_000  # samples of which a certificate tells where each stood


class NoSamples(BadInput):
    """A certificate of a convex program, where one of a learning problem is asked for."""


def load(path: str | Path, family: type | None = None) -> tuple[Certificate, Numbers]:
    """The certificate at PATH (its stem or either file) and its header; raises `BadInput` if it cannot be read.

    family : the class of its problem, if no registry holds that
    """
    path, _ = files_of(path)
    try:
        header, arrays = archive.read(path)
        if header["format"] not in FORMATS:
            raise BadInput(f"it has the format {header['format']!r}, not {FORMATS[-1]!r}")
        if header["formulation"]["name"] == "program":
            told = "is about a convex program and holds no learning problem"
            raise NoSamples(f"{path} {told}; `cutbench verify {path}` proves it.")
        arrays = {name: np.array(array) for name, array in arrays.items()}  # compiled code takes no read-only ones
        data = {name.removeprefix("data_"): arrays[name] for name in arrays if name.startswith("data_")}
        problem = (family or registered("output", header["problem"]["output"])).from_arrays(data)
        kept = getattr(problem, "classes", None)  # a user's own structure may have none
        if kept is not None and "classes" in data and not np.array_equal(kept, data["classes"]):
            raise BadInput("its classes are not in order, so that weights would go to others than it says")
        for key in kept_of(problem):
            setattr(problem, key, header["problem"].get(key))
        told = header.get("alternation")
        form = checked_formulation(header["formulation"]["name"], header["formulation"]["settings"])
        certificate = Certificate(
            form,
            problem,
            **checked_arrays(arrays, problem),
            upper=checked_number("upper", header["upper"]),
            lower=checked_number("lower", header["lower"]),
            gap=checked_number("gap", header["gap"]),
            status=str(header["status"]),
            backend=str(header["backend"]),
            optimum=parsed(header["optimum"]) if "optimum" in header else None,
            alternation=None if told is None else {name: str(told[name]) for name in ("formulation", "status")},
        )
    except NoSamples:
        raise
    except FileNotFoundError as error:
        raise BadInput(f"The certificate needs {error.filename}, which does not exist; check the path.") from None
    except Exception as error:  # any damage to the files: whatever parsing it trips over is the same to the user
        raise BadInput(unreadable(path, fault_of(error))) from None
    if certificate.theta.shape != (dim := form.blocks(problem).dim,):
        raise BadInput(unreadable(path, f"it has {certificate.theta.size} weights but its problem needs {dim}"))
    if isinstance(form, Search) and certificate.tree is None:
        raise BadInput(unreadable(path, "it is about a search but holds no tree that proves it"))
    return certificate, header | {"data_sha256": data_sha256(data)}


def unreadable(path: Path, fault: str) -> str:
    """The sentence on a damaged certificate, with the command that writes one."""
    try:
        file = path.with_suffix(".json")
        header = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None  # a pipe may never end
    except (OSError, ValueError, RecursionError):  # then nothing tells what it was about
        header = None
    return f"{path} is not a readable certificate ({fault}); write it again with `{writer_of(header)}`."


def fault_of(error: Exception) -> str:
    """What is wrong with a file, by what parsing it tripped over."""
    if isinstance(error, CutbenchError):
        return " ".join(str(error).split()).rstrip(".")
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]}"
    if isinstance(error, TypeError | AttributeError):
        return "its parts are not of the kinds they should be"
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def check_outputs(problem: Problem, certificate: Certificate) -> bool:
    """Whether every witness is known to be an output of its sample; `BadInput` if one is known to be none.

    A structure without `finder` has to be believed.
    """
    samples, witnesses = certificate.samples, certificate.witnesses
    if not len(samples):
        return True
    if (misplaced := finder(problem)) is None:
        return False
    if (wrong := misplaced(samples, witnesses)) is not None:
        shown, sample = witnesses[wrong].tolist(), samples[wrong]
        raise BadInput(
            f"Cut {wrong} has the witness {shown}, which is no output of sample {sample}; write the certificate again."
        )
    return True


def finder(problem: Problem) -> Callable[[Ints, Ints], int | None] | None:
    """The function (samples, witnesses) → the number of the first witness that is no output of its sample, or None.

    By the exact view of the structure, else by a list of its outputs; None for a structure with neither.
    """
    if isinstance(problem, Placing):
        return problem.misplaced
    if isinstance(problem, Exact) and (exact := problem.exact()) is not None:
        return exact.fault
    if isinstance(problem, Enumerable) and problem.oracle_kind != "relaxed":

        def listed(samples: Ints, witnesses: Ints) -> int | None:
            known = {int(i): set(map(tuple, np.asarray(problem.outputs(int(i))).tolist())) for i in np.unique(samples)}
            pairs = enumerate(zip(samples.tolist(), map(tuple, witnesses.tolist()), strict=True))
            return next((k for k, (i, witness) in pairs if witness not in known[i]), None)

        return listed
    return None


def checked_formulation(name: str, settings: Numbers) -> CutForm | SmoothForm | Search | Factored:
    """The formulation; each setting must be what its type hint admits, as on the command line."""
    kind = registered("formulation", name)
    known = settings_of(kind)
    for key, value in settings.items():
        setting = known.get(key)
        if setting and setting.many and isinstance(value, list):  # by its type's own check, whatever the numbers
            continue
        if setting and value != setting.parse(str(value)):
            raise BadInput(f"{key} is {value!r}, which {name} does not take")
    return kind(**settings)


def registered(kind: str, name: str) -> type:
    """The class of that very name; what a person may write otherwise, a file may not."""
    if name not in (known := registry(kind)).objects:
        raise UnknownName(kind, str(name), known.names())
    return known.objects[name]


def checked_number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise BadInput(f"{name} is {value!r}, no number")
    return float(value)


def checked_arrays(arrays: dict[str, NDArray], problem: Problem) -> dict[str, Any]:  # fields of `Certificate`
    """θ, the cuts and their weights, with the shapes, types and ranges that they must have."""
    theta, weights = arrays["theta"], arrays["weights"]
    samples, witnesses = arrays["samples"], arrays["witnesses"]
    for name, array in {"theta": theta, "weights": weights}.items():
        if array.ndim != 1 or array.dtype != np.float64 or not np.isfinite(array).all():
            raise BadInput(f"{name} is no vector of finite float64 numbers")
    if (weights < 0).any():
        raise BadInput(f"the weight of cut {int((weights < 0).argmax())} is negative")
    for name, array in {"samples": samples, "witnesses": witnesses}.items():
        if array.dtype != np.int64:
            raise BadInput(f"{name} is of type {array.dtype}, not int64")
    if not samples.shape == weights.shape == witnesses.shape[:1] or witnesses.shape[1:] != (problem.width,):
        raise BadInput(
            f"samples {samples.shape}, witnesses {witnesses.shape} and weights {weights.shape} do not fit together"
        )
    if ((samples < 0) | (samples >= problem.n_samples)).any():
        raise BadInput(f"a cut names a sample that the data lack, they have {problem.n_samples}")
    fractions = None
    if "fractions" in arrays:
        fractions = parsed_fractions(arrays["fractions"])
        if len(fractions) != len(samples):
            raise BadInput(f"there are {len(samples)} cuts but {len(fractions)} fractions")
    parts = {"samples": samples, "witnesses": witnesses, "weights": weights, "fractions": fractions}
    slopes = arrays.get("slopes")
    if slopes is not None and not (slopes.ndim == 2 and slopes.dtype == np.float64 and np.isfinite(slopes).all()):
        raise BadInput("slopes is no table of finite float64 numbers")
    tree = {name.removeprefix("tree_"): arrays[name] for name in arrays if name.startswith("tree_")}
    return {"theta": theta, **parts, "slopes": slopes, "tree": Tree.of_arrays(tree) if tree else None}


def written_fractions(fractions: list[Fraction]) -> NDArray:
    """Fractions as the bytes of a text, "p/q" in hexadecimal digits, one a line."""
    return np.frombuffer("\n".join(f"{f.numerator:x}/{f.denominator:x}" for f in fractions).encode(), np.uint8)


def parsed_fractions(array: NDArray) -> list[Fraction]:
    lines = array.astype(np.uint8).tobytes().decode("ascii").split("\n")
    if not all(re.fullmatch(r"-?[0-9a-f]+/0*[1-9a-f][0-9a-f]*", line) for line in lines):
        raise BadInput("fractions are not written as p/q")
    return [Fraction(*(int(part, 16) for part in line.split("/"))) for line in lines]


def arrays_of(problem: Problem | Stored) -> dict[str, NDArray]:
    """The raw data of a problem, or `MissingCapability`."""
    if not isinstance(problem, Stored):
        raise MissingCapability(
            f"{type(problem).__name__} cannot be put into a certificate; give it `arrays` and `from_arrays`."
        )
    return problem.arrays()


def data_sha256(arrays: dict[str, NDArray]) -> str:
    """sha256 over names, types, shapes and bytes of the arrays, in order of their names.

    Arrays called recorded_… are no data but the outputs that a proof about users' objects needs.
    """
    return archive.digest({name: each for name, each in arrays.items() if not name.startswith("recorded_")})


def name_of(kind: str, thing: object) -> str:
    """The command name under which the registry holds the class of `thing`, or the nearest of those it derives from."""
    for family in type(thing).__mro__:
        for name, item in registry(kind).items():
            if item is family:
                return name
    raise MissingCapability(
        f"{type(thing).__name__} is in no registry of {kind}s, so no certificate can name it; put its file into "
        f"workbench/{kind}s, or solve in Python with wb.solve."
    )


def named(formulation: Formulation) -> Numbers:
    """The name and the settings of a formulation, from which `build` makes the formulation again."""
    return {"name": name_of("formulation", formulation), "settings": written(formulation)}


def written(formulation: Formulation) -> Numbers:
    """The settings of a formulation as JSON holds them; `BadInput` for a function, which no file can hold."""
    if not is_dataclass(formulation) or isinstance(formulation, type):
        settings = {name: getattr(formulation, name) for name in settings_of(type(formulation))}  # of a user's text
    else:
        later = {each.name for each in fields(formulation) if "version" in each.metadata} - set(chosen(formulation))
        settings = {name: value for name, value in asdict(formulation).items() if name not in later}
    for name, value in settings.items():
        if callable(value):
            known = getattr(value, "__name__", value)  # a user's function, which may be an object without a name
            raise BadInput(
                f"The setting {name} is the function {known}, which no file or other process can hold; keep the "
                f"solution in Python, or give {name} by name."
            )
    return settings


def chosen(formulation: Formulation) -> dict[str, int]:
    """The settings that a later version of the format brought and that differ from their defaults, and that version."""
    known = fields(formulation) if is_dataclass(formulation) and not isinstance(formulation, type) else ()
    later = [each for each in known if "version" in each.metadata]
    used = [each for each in later if getattr(formulation, each.name) != each.default]  # settings by name
    return {each.name: each.metadata["version"] for each in used}


def version_of(formulation: Formulation) -> int:
    """The version of the formulation in docs/certificate-format.md: the least that has all settings in use."""
    return max(chosen(formulation).values(), default=1)


def versions() -> dict[str, str]:
    """Python and the packages that computed the claim."""
    from workbench.backends import BACKENDS

    packages = ("cutbench", "numpy", "scipy", "numba", "cvxpy", *(each.package for each in BACKENDS.values()))
    found = {package: version for package in packages if (version := installed_version(package)) is not None}
    return {"python": platform.python_version()} | found
