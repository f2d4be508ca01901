"""Certificates: all that a sceptic needs to prove an optimum again without solving anything.

A certificate is two files, STEM.json and STEM.npz. It holds θ, the cuts with weight (sample,
witness, μ), the raw data of the problem, and the interval [lower, upper] that it claims. Slopes and
offsets are not stored: `verify` rebuilds them from the witnesses and the data, asks the oracle for
the upper bound anew, and evaluates both sides in rational arithmetic (proofs/exact.py); in interval
arithmetic where the output structure has no exact decoder, and then says so. It imports no solver.
The certificate of a smooth formulation has no cuts: θ alone proves both bounds (proofs/bounds.py).

    proven  ⇔  the data hash to what the certificate names, the oracle is exact, the recomputed bounds
               lie within the claimed ones, and the claimed gap and optimum, if any, are right

What a proof is about: the data inside the certificate, under the formulation that it names. Someone
who changes a datum and its sha256 has a certificate about other data, proven if its bounds hold for
those; only `data=` (`--data FILE`) ties it to yours. `status`, `backend`, `versions` and the
problem's name and settings say where the claim comes from; nothing rests on them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.intervals import up
from workbench.contracts import Floats, Ints, Recording, Search
from workbench.errors import BadInput, CutbenchError, MissingCapability, UnknownName
from workbench.proofs.bounds import checked_theta
from workbench.proofs.capped import Tree
from workbench.proofs.door import bounds_for
from workbench.proofs.exact import above, below, exact_bounds, exact_optimum, nearest, parsed, text
from workbench.registries import registry, settings_of

FORMAT = "cutbench-certificate-1"
ALLOWANCE = 1e-12
MOST_BYTES = 4 << 30  # of a certificate's unpacked arrays


@dataclass
class Certificate:
    """θ (p,), cuts with weight (samples (K,), witnesses (K, width), weights μ (K,)) and the claim.

    After `exact.optimum`: `optimum` is F*, `fractions` the rational μ that prove it, of which `weights`
    are the nearest floats; or `remark` says why there is none. What was found by search has no cuts but a `tree`.
    alternation : if this is the last convex program of one, whose (`formulation`) and how that ended (`status`)
    """

    formulation: Any
    problem: Any
    theta: Floats
    samples: Ints
    witnesses: Ints
    weights: Floats
    upper: float
    lower: float
    gap: float
    status: str
    backend: str
    source: dict[str, Any] = field(default_factory=dict)
    optimum: Fraction | None = None
    fractions: list[Fraction] | None = None
    remark: str = ""
    tree: Tree | None = None
    alternation: dict[str, str] | None = None

    def recheck(self) -> tuple[float, float]:
        """(lower, upper) recomputed from the data, θ and the weights alone."""
        bounds = bounds_for(self.formulation, self.problem)
        theta = checked_theta(self.theta, bounds.oracle.dim)
        if isinstance(self.formulation, Search):
            return bounds.recheck(theta, self.tree)
        return bounds.recheck(theta, self.samples, self.witnesses, self.weights)

    def parts(self) -> dict[str, NDArray]:
        """θ and what proves the lower bound, as `checked_arrays` reads them."""
        parts = {"theta": self.theta, "samples": self.samples, "witnesses": self.witnesses, "weights": self.weights}
        if self.fractions is not None:
            parts["fractions"] = written_fractions(self.fractions)
        if self.tree is not None:
            parts |= {f"tree_{name}": array for name, array in self.tree.arrays().items()}
        return parts

    def packed(self) -> tuple[dict[str, NDArray], Ints]:
        """The data, and the witnesses as these count outputs: where outputs are objects, a file numbers them anew."""
        if isinstance(self.problem, Recording):
            return self.problem.packed(self.formulation, self.theta, self.witnesses)
        return arrays_of(self.problem), self.witnesses

    def save(self, stem: str | Path) -> Path:
        """Write STEM.json and STEM.npz, each whole or not at all; returns the JSON's path. `stem` may end in either."""
        (path, archive), (arrays, witnesses) = files_of(stem), self.packed()
        columns = getattr(self.problem, "columns", None)  # as in the file it was read from (data/readers.py)
        path.parent.mkdir(parents=True, exist_ok=True)
        buffer = io.BytesIO()
        parts = self.parts() | {"witnesses": witnesses}
        np.savez_compressed(buffer, **parts, **{f"data_{k}": v for k, v in arrays.items()})
        header = {
            "format": FORMAT,
            "formulation": {"name": name_of("formulation", self.formulation), "settings": asdict(self.formulation)},
            "problem": {
                "output": name_of("output", self.problem),
                "data_sha256": data_sha256(arrays),
                **({} if columns is None else {"columns": columns}),
                **self.source,
            },
            "upper": self.upper,
            "lower": self.lower,
            "gap": self.gap,
            **({} if self.optimum is None else {"optimum": text(self.optimum)}),
            "status": self.status,
            **({} if self.alternation is None else {"alternation": self.alternation}),
            "oracle": self.problem.oracle_kind,
            "backend": self.backend,
            "versions": versions(),
        }
        write_whole(archive, buffer.getvalue())
        write_whole(path, (json.dumps(header, indent=2, default=np.generic.item) + "\n").encode())
        return path


def load(path: str | Path) -> tuple[Certificate, dict[str, Any]]:
    """The certificate at PATH (its stem or either file) and its header; raises `BadInput` if it cannot be read."""
    path, archive = files_of(path)
    try:
        header = json.loads(path.read_text())
        if header["format"] != FORMAT:
            raise BadInput(f"{path} has the format {header['format']!r}, not {FORMAT!r}; write it again.")
        arrays = read_archive(archive)
        data = {name.removeprefix("data_"): arrays[name] for name in arrays if name.startswith("data_")}
        problem = registered("output", header["problem"]["output"]).from_arrays(data)
        problem.columns = header["problem"].get("columns")
        certificate = Certificate(
            checked_formulation(header["formulation"]["name"], header["formulation"]["settings"]),
            problem,
            **checked_arrays(arrays, problem),
            **{name: checked_number(name, header[name]) for name in ("upper", "lower", "gap")},
            **{name: str(header[name]) for name in ("status", "backend")},
            optimum=parsed(header["optimum"]) if "optimum" in header else None,
            alternation={name: str(header["alternation"][name]) for name in ("formulation", "status")}
            if "alternation" in header
            else None,
        )
    except FileNotFoundError as error:
        raise BadInput(f"The certificate needs {error.filename}, which does not exist; check the path.") from None
    except Exception as error:  # any damage to the files: whatever parsing it trips over is the same to the user
        raise BadInput(
            f"{path} is not a readable certificate ({fault_of(error)}); write it again with `solve`."
        ) from None
    if certificate.theta.shape != (dim := certificate.formulation.blocks(problem).dim,):
        raise BadInput(f"{path} has {certificate.theta.size} weights but its problem needs {dim}; write it again.")
    if isinstance(certificate.formulation, Search) and certificate.tree is None:
        raise BadInput(f"{path} is about a search but holds no tree that proves it; write it again with `solve`.")
    return certificate, header | {"data_sha256": data_sha256(data)}


def header_of(path: str | Path) -> dict[str, Any]:
    """The JSON half of a certificate."""
    return load(path)[1]


def files_of(name: str | Path) -> tuple[Path, Path]:
    """STEM.json and STEM.npz, where `name` is STEM or either file."""
    path = Path(name)
    if not path.name:
        raise BadInput(f"{str(name)!r} names no certificate; give a name such as runs/iris.")
    stem = path.stem if path.suffix in (".json", ".npz") else path.name
    return path.with_name(f"{stem}.json"), path.with_name(f"{stem}.npz")


def fault_of(error: Exception) -> str:
    """What is wrong with a file, by what parsing it tripped over."""
    if isinstance(error, CutbenchError):
        return " ".join(str(error).split()).rstrip(".")
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]}"
    if isinstance(error, json.JSONDecodeError):
        return f"its text stops making sense in line {error.lineno}"
    if isinstance(error, UnicodeDecodeError):
        return "it is no text"
    if isinstance(error, zipfile.BadZipFile | EOFError | zlib.error):
        return "its npz file is damaged"
    if isinstance(error, TypeError | AttributeError):
        return "its parts are not of the kinds they should be"
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def read_archive(path: Path) -> dict[str, NDArray]:
    """All arrays of an npz file, whose size is looked at before it is unpacked."""
    with open(path, "rb") as file:
        with zipfile.ZipFile(file) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > MOST_BYTES:
            raise BadInput(f"its arrays take {size} bytes, more than {MOST_BYTES}")
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}


def checked_formulation(name: str, settings: dict[str, Any]) -> Any:
    """The formulation; each setting must be what its type hint admits, as on the command line."""
    kind = registered("formulation", name)
    known = settings_of(kind)
    for key, value in settings.items():
        setting = known.get(key)
        if setting and value != setting.parse(str(value)):
            raise BadInput(f"{key} is {value!r}, which {name} does not take")
    return kind(**settings)


def registered(kind: str, name: str) -> Any:
    """The class of that very name; what a person may write otherwise, a file may not."""
    if name not in (known := registry(kind)).objects:
        raise UnknownName(kind, str(name), known.names())
    return known.objects[name]


def checked_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise BadInput(f"{name} is {value!r}, no number")
    return float(value)


def checked_arrays(arrays: dict[str, NDArray], problem: Any) -> dict[str, Any]:
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
    tree = {name.removeprefix("tree_"): arrays[name] for name in arrays if name.startswith("tree_")}
    return {"theta": theta, **parts, "tree": Tree.of_arrays(tree) if tree else None}


def written_fractions(fractions: list[Fraction]) -> NDArray:
    """Fractions as the bytes of a text, "p/q" in hexadecimal digits, one a line."""
    return np.frombuffer("\n".join(f"{f.numerator:x}/{f.denominator:x}" for f in fractions).encode(), np.uint8)


def parsed_fractions(array: NDArray) -> list[Fraction]:
    lines = array.astype(np.uint8).tobytes().decode("ascii").split("\n")
    if not all(re.fullmatch(r"-?[0-9a-f]+/[0-9a-f]+", line) for line in lines):
        raise BadInput("fractions are not written as p/q")
    return [Fraction(*(int(part, 16) for part in line.split("/"))) for line in lines]


# ── proofs ────────────────────────────────────────────────────────────────────────────────────────


class Proof(NamedTuple):
    """What was recomputed: `lower` ≤ F* ≤ `upper`, F(θ) ≤ `reached`, and a gap; `why` is None if all is rational."""

    lower: Any
    upper: Any
    reached: Any
    gap: Any
    why: str | None
    arithmetic: str = "rational"


def prove(certificate: Certificate) -> Proof:
    """Both bounds in rational arithmetic, or enclosed by intervals where there is no exact decoder, or a tree."""
    if isinstance(certificate.formulation, Search):
        reason = "the lower bound is that of a search tree, whose nodes are bounded in interval arithmetic"
        return enclosed(certificate, reason)
    try:
        rules, lower, reached = exact_bounds(certificate)
    except MissingCapability as refusal:
        return enclosed(certificate, f"oracle not re-run exactly: {refusal}")
    upper = reached
    if certificate.fractions is not None:
        lower, upper = exact_optimum(rules, certificate)
    return Proof(lower, upper, reached, rules.gap(upper, lower), None)


def enclosed(certificate: Certificate, why: str) -> Proof:
    """Both bounds in interval arithmetic, with the reason `why` it takes that."""
    bounds = bounds_for(certificate.formulation, certificate.problem)
    try:
        lower, upper = certificate.recheck()
    except CutbenchError:
        raise
    except (IndexError, ValueError) as error:
        raise BadInput(f"A witness does not fit the data ({error}); write the certificate again.") from None
    return Proof(lower, upper, upper, bounds.relative(above(upper), lower), why, bounds.arithmetic)


def verify(path: str | Path, data: Any = None, given: str = "the data given") -> dict[str, Any]:
    """Prove the certificate at PATH again; with `data` (a problem), also that it is about these, called `given`.

    Returns a dict: `proven`; `conditional_on`, what the interval takes for granted, empty for a proof;
    `lower`, `upper`, `gap` as floats rounded outward; `lower_exact`,
    `upper_exact`, `gap_exact` as "p/q" and `arithmetic` "rational", or None and "interval", with what that assumes of
    the machine if anything; the `reason` why it is not proven, or not in rational arithmetic; `optimum` "p/q" if
    lower = upper; `about`, if the certificate calls itself the last convex program of an alternation; `oracle`,
    `data_matches`, `claimed`, `data_sha256`.
    """
    certificate, header = load(path)
    digest, kind = data_sha256(certificate.problem.arrays()), certificate.problem.oracle_kind
    strange = [*data_faults(header, digest)]
    if data is not None and (other := data_sha256(arrays_of(data))) != digest:
        strange.append(f"{given} differ: sha256 {other} instead of {digest}")
    elif isinstance(data, Recording):  # its functions are asked again
        witnesses = data.recalled(certificate.problem, certificate.witnesses)
        certificate = replace(certificate, problem=data, witnesses=witnesses)
    faults, conditions = [*strange], getattr(certificate.problem, "conditions", [])
    if not header.get("oracle") == kind == "exact":
        faults.append(f"the oracle is {kind!r} and the certificate calls it {header.get('oracle')!r}, not both 'exact'")
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # a file may hold any numbers; NaN and ∞ prove nothing
            proof = prove(certificate)
            faults += claim_faults(certificate, proof)
    except ArithmeticError as error:
        raise BadInput(f"The numbers in {path} are too large or too small to prove by ({error}); scale them.") from None
    rational = proof.why is None
    return {
        "proven": not faults and not conditions,
        "conditional_on": conditions,
        "faults": faults,
        "lower": below(proof.lower),
        "upper": above(proof.upper),
        "gap": above(proof.gap),
        "lower_exact": text(proof.lower) if rational else None,
        "upper_exact": text(proof.upper) if rational else None,
        "gap_exact": text(proof.gap) if rational else None,
        "optimum": text(proof.lower) if rational and proof.lower == proof.upper else None,
        "arithmetic": proof.arithmetic,
        "reason": "; ".join([*faults, *([] if rational else [proof.why])]) or None,
        "about": about(certificate),
        "oracle": kind,
        "data_matches": not strange,
        "claimed": [certificate.lower, certificate.upper],
        "data_sha256": digest,
    }


def about(certificate: Certificate) -> str | None:
    """Of what an alternation's certificate is one, and of what not; None for any other."""
    if certificate.alternation is None:
        return None
    name, status = certificate.alternation["formulation"], certificate.alternation["status"]
    part = f"the last convex program ({type(certificate.formulation).__name__}) of {name}, which ended {status}"
    return f"{part}; nothing is proven about the optimum of {name} itself"


def data_faults(header: dict[str, Any], digest: str) -> Iterator[str]:
    """What speaks against the data inside a certificate, whose problem, once rebuilt, hashes to `digest`."""
    held, named = header["data_sha256"], header["problem"].get("data_sha256")
    if held != named:
        yield f"the data in the certificate differ: sha256 {held} instead of {named}"
    elif held != digest:
        yield "the data in the certificate are not in the form in which `solve` writes them"


def claim_faults(certificate: Certificate, proof: Proof) -> Iterator[str]:
    """Which of lower, upper (as a bound and as F(θ)), gap and optimum are not as claimed.

    Rational bounds need no allowance: the claims are floats rounded outward. Intervals get 1e-12, the freedom
    that another machine's summation order needs, each end of its own size: a θ far out makes the upper end
    huge and must not lend the lower one anything beyond 1e-12 of F at r's minimiser. The claimed gap must
    hold for the proven interval or for the claimed one, which can be smaller where a bound is negative.
    """
    bounds, reached = bounds_for(certificate.formulation, certificate.problem), max(proof.upper, proof.reached)
    low, high = nearest(abs(proof.lower)), nearest(abs(proof.upper))

    def room(size: float) -> float:
        return ALLOWANCE * size if proof.why and size < np.inf else 0  # a whole 0: fractions stay fractions

    if not certificate.lower <= proof.lower + room(max(low, min(high, bounds.scale))):
        yield f"the claimed lower bound is {certificate.lower!r}, the proven one {below(proof.lower)!r}"
    if not reached <= certificate.upper + room(high):
        yield f"the claimed upper bound is {certificate.upper!r}, the proven one {above(reached)!r}"
    if not proof.lower <= proof.upper:
        yield "the lower bound exceeds the upper one, or one of them is no number"
    gap = min(proof.gap, bounds.relative(certificate.upper, certificate.lower))
    if not (certificate.gap >= 0 and gap <= float(up(up(certificate.gap * (1 + room(1)))))):
        yield f"the claimed gap is {certificate.gap!r}, the proven one {above(gap)!r}"
    if certificate.optimum not in (None, proof.lower if proof.lower == proof.upper else None):
        yield "the claimed optimum is not the proven one"


def arrays_of(problem: Any) -> dict[str, NDArray]:
    """The raw data of a problem, or `MissingCapability`."""
    if not hasattr(problem, "arrays"):
        raise MissingCapability(
            f"{type(problem).__name__} cannot be put into a certificate; give it `arrays` and `from_arrays`."
        )
    return problem.arrays()


def data_sha256(arrays: dict[str, NDArray]) -> str:
    """sha256 over names, types, shapes and bytes of the arrays, in order of their names.

    Arrays called recorded_… are no data but outputs that the proof is about.
    """
    digest = hashlib.sha256()
    for name in sorted(name for name in arrays if not name.startswith("recorded_")):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def name_of(kind: str, thing: Any) -> str:
    """The command name under which the registry holds the class of `thing`, or the nearest of those it derives from."""
    for family in type(thing).__mro__:
        for name, item in registry(kind).items():
            if item is family:
                return name
    raise MissingCapability(
        f"{type(thing).__name__} is in no registry of {kind}s, so no certificate can name it; put it into its folder."
    )


def versions() -> dict[str, str]:
    """Python and the packages that computed the claim."""
    found = {"python": platform.python_version()}
    for package in ("cutbench", "numpy", "scipy", "cvxpy", "clarabel", "piqp", "osqp", "ecos", "scs"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or nothing."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise BadInput(f"Cannot write {path} ({error.strerror}); choose another folder.") from None
