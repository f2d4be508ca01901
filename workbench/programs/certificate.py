"""The certificate of a program's proof: its data, its vectors, and what they prove (docs/certificate-format.md §11)."""

from __future__ import annotations

import io
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from workbench.contracts import Floats
from workbench.errors import MissingCapability
from workbench.proofs.certificate import versions
from workbench.proofs.checker.kinds.program import START, ends_of
from workbench.proofs.checker.learning import relative_gap
from workbench.proofs.checker.programs import Finding
from workbench.proofs.ends import above, below, text
from workbench.proofs.files import make_folder, spare_files, write_wholes

LONGEST = 100_000  # characters of the optimum in the header; the vectors prove it in any case


def save(proof: Any, stem: str | Path) -> Path:
    """Write STEM.json and STEM.npz, each whole or not at all; the JSON's path.

    `BadInput` for files of these names that are no certificate of ours.
    """
    if proof.kind == "unknown":
        raise MissingCapability(f"Nothing is proven about {proof.program.name}, so there is no certificate to save.")
    path, archive = spare_files(stem)
    make_folder(path.parent)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **parts(proof))
    write_wholes({path: (json.dumps(header(proof), indent=2) + "\n").encode(), archive: buffer.getvalue()})
    return path


def ends(proof: Any) -> tuple[Fraction | float, Fraction | float]:
    """Both ends of the optimum in the user's sense, ±∞ included."""
    sign = proof.program.sign
    own = (proof.lower, proof.upper) if sign > 0 else (negative(proof.upper), negative(proof.lower))
    lower, upper = ends_of(proof.kind, Finding(True, *own))
    return (lower, upper) if sign > 0 else (-upper, -lower)


def negative(end: Fraction | None) -> Fraction | None:
    return None if end is None else -end


def header(proof: Any) -> dict[str, Any]:
    lower, upper = ends(proof)
    program, optimum = proof.program, None if proof.optimum is None else text(proof.optimum)
    settings = {"conclusion": proof.kind, "reading": proof.reading}
    settings |= {"sense": "minimise" if program.sign > 0 else "maximise"}
    named = {"name": program.name, "rows": list(program.rows), "columns": list(program.columns)}
    named |= {"because": [program.rows[k] for k in proof.rows], "rounded": list(program.rounded)} | program.source
    return {
        "format": "cutbench-certificate-2",
        "proof": {"kind": "program", "version": 1},
        "formulation": {"name": "program", "version": 1, "settings": settings},
        "problem": {"output": "program", "version": 1, "data_sha256": program.sha256, **named},
        "program": "whole",
        "lower": below(lower),
        "upper": above(upper),
        "gap": above(relative_gap(upper, lower, START)),
        **({} if optimum is None or len(optimum) > LONGEST else {"optimum": optimum}),
        "oracle": "exact",
        "status": proof.statement,
        "backend": proof.backend,
        "versions": versions(),
    }


def parts(proof: Any) -> dict[str, Any]:
    """Data and vectors."""
    found: dict[str, Any] = {f"data_{name}": array for name, array in proof.program.arrays().items()}
    vectors = {name: getattr(proof.claim, name) for name in "xwyd"}
    found |= {name: written(*vector) for name, vector in vectors.items() if vector is not None}
    if proof.claim.root is not None:
        found["root"] = root_floats(*proof.claim.root)
    return found


def written(whole: list[int], unit: int) -> np.ndarray:
    """A unit and whole numbers in hexadecimal digits, one a line."""
    return np.frombuffer("\n".join(f"{value:x}" for value in [unit, *whole]).encode(), np.uint8)


def root_floats(whole: list[int], unit: int) -> Floats:
    """The floats that the whole numbers were made from, exactly."""
    return np.array([value / unit for value in whole])


def record(proof: Any) -> dict[str, Any]:
    """What `cutbench prove --json` prints: the keys of `verify`, and the conclusion."""
    lower, upper = ends(proof)
    finite = [end if isinstance(end, Fraction) else None for end in (lower, upper)]
    gap = None if None in finite else relative_gap(upper, lower, START)
    settings = {"reading": proof.reading, "sense": "minimise" if proof.program.sign > 0 else "maximise"}
    return {
        "proven": proof.kind != "unknown",
        "conditional_on": [],
        "kind": proof.kind,
        "statement": proof.statement,
        "formulation": "program",
        "settings": settings,
        "n_samples": proof.program.cone.A.shape[0],
        "dim": proof.program.cone.A.shape[1],
        "sizes": proof.program.sizes,
        "lower": below(lower),
        "upper": above(upper),
        "gap": None if gap is None else above(gap),
        "lower_exact": None if finite[0] is None else text(finite[0]),
        "upper_exact": None if finite[1] is None else text(finite[1]),
        "gap_exact": None if gap is None else text(gap),
        "optimum": None if proof.optimum is None else text(proof.optimum),
        "arithmetic": "rational",
        "reading": proof.reading,
        "rounded": list(proof.program.rounded),
        "because": proof.names,
        "remark": proof.remark,
        "solution": proof.solution,
        "prices": proof.prices,
        "direction": proof.direction,
        "program_sha256": proof.program.sha256,
        "data_sha256": proof.program.sha256,
        "backend": proof.backend,
        "seconds": proof.seconds,
        "cpu_seconds": proof.cpu_seconds,
    }
