"""Certificates: all that a sceptic needs to prove an optimum again without solving anything.

A certificate is two files, STEM.json and STEM.npz. It holds θ, the cuts with weight (sample,
witness, μ), the raw data of the problem, and the interval [lower, upper] that it claims. Slopes and
offsets are not stored: `verify` rebuilds them from the witnesses and the data, asks the oracle for
the upper bound anew, and evaluates both sides in interval arithmetic. It imports no solver.

    proven  ⇔  the data hash to what the certificate names, the oracle is exact, and the recomputed
               interval lies within the claimed one (up to 1e-12 of its size, the freedom that
               another machine's summation order needs)
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.bounds import Bounds, checked_theta
from workbench.errors import BadInput, MissingCapability
from workbench.registries import registry
from workbench.structures import Cuts, Floats, Ints

FORMAT = "cutbench-certificate-1"


@dataclass
class Certificate:
    """θ (p,), cuts with weight (samples (K,), witnesses (K, width), weights μ (K,)) and the claim."""

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

    def recheck(self) -> tuple[float, float]:
        """(lower, upper) recomputed from the data, θ and the weights alone."""
        bounds = Bounds(self.formulation, self.problem)
        theta = checked_theta(self.theta, bounds.oracle.dim)
        cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
        ids = cuts.add(self.samples, self.witnesses, bounds.oracle.rows)
        weights = np.bincount(ids, self.weights, len(cuts))
        return bounds.lower(cuts, weights), bounds.upper(theta)

    def save(self, stem: str | Path) -> Path:
        """Write STEM.json and STEM.npz, each whole or not at all; returns the JSON's path."""
        if not hasattr(self.problem, "arrays"):
            raise MissingCapability(
                f"{type(self.problem).__name__} cannot be put into a certificate; give it `arrays` and `from_arrays`."
            )
        stem, arrays = Path(stem), self.problem.arrays()
        stem.parent.mkdir(parents=True, exist_ok=True)
        buffer = io.BytesIO()
        parts = {"theta": self.theta, "samples": self.samples, "witnesses": self.witnesses, "weights": self.weights}
        np.savez_compressed(buffer, **parts, **{f"data_{k}": v for k, v in arrays.items()})
        header = {
            "format": FORMAT,
            "formulation": {"name": name_of("formulation", self.formulation), "settings": asdict(self.formulation)},
            "problem": {
                "output": name_of("output", self.problem),
                "data_sha256": data_sha256(arrays),
                **self.source,
            },
            "upper": self.upper,
            "lower": self.lower,
            "gap": self.gap,
            "status": self.status,
            "oracle": self.problem.oracle_kind,
            "backend": self.backend,
            "versions": versions(),
        }
        write_whole(stem.with_name(stem.name + ".npz"), buffer.getvalue())
        path = stem.with_name(stem.name + ".json")
        write_whole(path, (json.dumps(header, indent=2) + "\n").encode())
        return path


def load(path: str | Path) -> tuple[Certificate, dict[str, Any]]:
    """The certificate at PATH (its JSON file) and its header; raises `BadInput` if it cannot be read."""
    path = Path(path)
    try:
        header = json.loads(path.read_text())
        with open(path.with_suffix(".npz"), "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        if header["format"] != FORMAT:
            raise BadInput(f"{path} has the format {header['format']!r}, not {FORMAT!r}; write it again.")
        data = {name.removeprefix("data_"): arrays[name] for name in arrays if name.startswith("data_")}
        formulation = registry("formulation").get(header["formulation"]["name"])(**header["formulation"]["settings"])
        problem = registry("output").get(header["problem"]["output"]).from_arrays(data)
        certificate = Certificate(
            formulation,
            problem,
            **{name: arrays[name] for name in ("theta", "samples", "witnesses", "weights")},
            **{name: header[name] for name in ("upper", "lower", "gap", "status", "backend")},
        )
    except BadInput:
        raise
    except FileNotFoundError as error:
        raise BadInput(f"The certificate needs {error.filename}, which does not exist; check the path.") from None
    except Exception as error:  # any damage to the files: whatever parsing it trips over is the same to the user
        raise BadInput(f"{path} is not a readable certificate ({error}); write it again with `solve`.") from None
    return certificate, header


def verify(path: str | Path, data: Any = None) -> dict[str, Any]:
    """Prove the certificate at PATH again; with `data` (a problem), also that it is about these data."""
    certificate, header = load(path)
    lower, upper = certificate.recheck()
    bounds = Bounds(certificate.formulation, certificate.problem)
    digest = data_sha256(certificate.problem.arrays())
    same_data = digest == header["problem"]["data_sha256"]
    if data is not None:
        same_data = same_data and data_sha256(data.arrays()) == digest
    slack = 1e-12 * max(abs(upper), abs(lower))
    within = certificate.lower <= lower + slack and upper <= certificate.upper + slack
    return {
        "proven": bool(same_data and within and lower <= upper and certificate.problem.oracle_kind == "exact"),
        "lower": lower,
        "upper": upper,
        "gap": bounds.gap(upper, lower),
        "lower_exact": None,
        "upper_exact": None,
        "gap_exact": None,
        "arithmetic": "interval",
        "oracle": certificate.problem.oracle_kind,
        "data_matches": bool(same_data),
        "claimed": [certificate.lower, certificate.upper],
        "data_sha256": digest,
    }


def data_sha256(arrays: dict[str, NDArray]) -> str:
    """sha256 over names, types, shapes and bytes of the arrays, in order of their names."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def name_of(kind: str, thing: Any) -> str:
    """The command name under which the registry holds the class of `thing`."""
    for name, item in registry(kind).items():
        if item is type(thing):
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
