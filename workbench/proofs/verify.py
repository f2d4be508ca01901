"""`verify`: prove a certificate again, by the trusted checker, and say of what.

    proven          nothing is left that the checker did not establish itself, and the claim is right
    conditional_on  what the interval rests on besides, in sentences; then it is not proven

Every structure and formulation of the package is known to the checker (proofs/checker). A certificate about one that
is not, a user's own, is recomputed by that code in interval arithmetic: its interval then rests on this code, and the
verdict says so. What a proof is about: the data inside the certificate, under the formulation and settings that it
names. Only `data` and `expect` tie these to yours.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, runtime_checkable

import numpy as np

from workbench.arithmetic.intervals import up
from workbench.contracts import Conditional, Numbers, Problem, Recording
from workbench.errors import BadInput, CutbenchError, OutOfMemory
from workbench.proofs.any_bounds import AnyBounds, bounds_for
from workbench.proofs.certificate import (
    Certificate,
    arrays_of,
    check_outputs,
    data_sha256,
    fault_of,
    files_of,
    load,
    unreadable,
)
from workbench.proofs.checker import Malformed, Unknown, Verdict, check
from workbench.proofs.ends import above, below, text
from workbench.system import memory

TRUSTED = "Python's whole numbers, NumPy's sums and products of whole numbers below 2⁵³ in float64, and SHA-256"
ALLOWANCE = 1e-12  # of interval bounds, each end of its own size: another machine may add in another order
YOURS = "that the data inside the certificate are yours, unless they were compared (--data)"
INFINITE = float("inf")
INEXACT = {
    "under": "the oracle may miss the maximum: the lower bound holds and the upper one does not",
    "relaxed": "the oracle maximises over more than the outputs: the upper bound holds for the problem, "
    "the lower one only for its relaxation",
}


@runtime_checkable
class Digested(Protocol):
    """Data that know their own sha256, as a convex `Program` does."""

    sha256: str


def verify(
    path: str | Path | Certificate,
    data: Problem | Digested | None = None,
    given: str = "the data given",
    expect: Mapping[str, object] | None = None,
    problem: Problem | None = None,
) -> Numbers:
    """Prove the certificate at PATH again; one that is still in Python is saved to a temporary folder first.

    data : a problem, or a convex `Program`; then also prove that the certificate is about these data, called `given`
    expect : settings that the certificate must have (besides them `formulation` and `output`), as values or as text
    problem : a problem of the user's own class, by whose code the certificate is to be recomputed; if it is made of
        functions and `data` is None, also prove that the certificate is about its data

    Returns a dict: `proven`, true only if nothing is left open; `refuted`, true if something contradicts the claim;
    `conditional_on`, sentences, empty if it is proven; `formulation`, `settings`, `formula`, `structure`, `output`,
    `n_samples`, `dim`, `proof`, `program`, `not_proven`: what is proven, and what is not; `lower`, `upper`, `gap` as
    floats rounded outward and `lower_exact`, `upper_exact`, `gap_exact` as "p/q"; `optimum` "p/q" if the ends meet;
    `arithmetic` and `assumptions`; the `reason` why nothing is proven; `about`, if this is the last convex program of
    an alternation; `oracle`, `data_matches`, `claimed`, `data_sha256`.

    Raises
    ------
    BadInput : no certificate, or a damaged one; a setting that is expected and does not exist
    OutOfMemory : the checker needs more memory than there is
    """
    if isinstance(path, Certificate):
        with TemporaryDirectory() as folder:
            return verify(path.save(Path(folder) / "certificate"), data, given, expect, problem)
    if not isinstance(path, str | Path):
        raise BadInput(f"A {type(path).__name__} is no certificate; give its path, or the Certificate of a solution.")
    path, _ = files_of(path)
    try:
        verdict = check(path)
    except Unknown as reason:
        return judged(relative(path, problem, reason), data, given, expect)
    except FileNotFoundError as error:
        raise BadInput(f"The certificate needs {error.filename}, which does not exist; check the path.") from None
    except (Malformed, OSError) as error:
        raise BadInput(unreadable(path, fault_of(error))) from None
    except MemoryError:
        raise OutOfMemory(f"Checking {path} takes more memory than {memory_at_most()}.") from None
    if data is None and isinstance(problem, Recording):  # the proof does not use the problem's functions, only its data
        data, given = problem, "the data of the problem given"
    return judged(established(verdict), data, given, expect)


def memory_at_most() -> str:
    """What bounds the memory, and what to do about it."""
    limit = memory.limit()
    if limit is None:
        return "there is; verify on a larger machine"
    return f"the {limit / 2**30:.3g} GiB that it may take; raise --memory-limit"


def established(verdict: Verdict) -> Numbers:
    """What the checker says, as the dict of `verify`; `faults` is taken out by `judged`."""
    said, ends, gap = verdict.statement, verdict.ends, verdict.gap
    return {
        "proven": verdict.proven,
        "conditional_on": verdict.conditional_on,
        "formulation": said.formulation,
        "settings": said.settings,
        "formula": said.formula,
        "structure": said.structure,
        "n_samples": said.n,
        "dim": said.dim,
        "proof": verdict.kind,
        "program": verdict.program,
        "not_proven": verdict.not_proven,
        "lower": below(ends.lower),
        "upper": above(ends.upper),
        "gap": above(gap),
        "lower_exact": text(ends.lower),
        "upper_exact": text(ends.upper),
        "gap_exact": text(gap),
        "optimum": None if verdict.optimum is None else text(verdict.optimum),
        "arithmetic": ends.arithmetic,
        "assumptions": [TRUSTED],
        "about": next((each for each in verdict.not_proven if each.startswith("this is the last")), None),
        "oracle": verdict.oracle,
        "output": verdict.output,
        "data_matches": verdict.data_sha256 == verdict.data_named,
        "claimed": list(verdict.claimed[:2]),
        "data_sha256": verdict.data_sha256,
        "faults": verdict.faults,
    }


def judged(
    result: Numbers, data: Problem | Digested | None, given: str, expect: Mapping[str, object] | None
) -> Numbers:
    """The verdict after a look at the data and settings that are asked for."""
    faults = result.pop("faults")
    if data is not None and (other := sha256_of(data)) != result["data_sha256"]:
        result["data_matches"] = False
        faults = [*faults, f"{given} differ: sha256 {other} instead of {result['data_sha256']}"]
    faults = [*faults, *unexpected(result, expect or {})]
    if data is not None:
        result["not_proven"] = [each for each in result["not_proven"] if "--data" not in each]
    result["proven"] = not faults and not result["conditional_on"]
    result["reason"] = "; ".join([*faults, *result["conditional_on"]]) or None
    result["refuted"] = bool(faults)
    return result


def sha256_of(data: Problem | Digested) -> str:
    """Of a learning problem's arrays, or of a convex program's."""
    if not isinstance(data, Digested | Problem):
        raise BadInput(f"data is a {type(data).__name__}, not a problem; give one, e.g. data=wb.Multiclass(X, y).")
    return data.sha256 if isinstance(data, Digested) else data_sha256(arrays_of(data))


def unexpected(result: Numbers, expect: Mapping[str, object]) -> list[str]:
    """The settings that are not as expected, a sentence each."""
    known = result["settings"] | {"formulation": result["formulation"], "output": result["output"]}
    found = []
    for key, wanted in expect.items():
        name = key.replace("-", "_")
        if name not in known:
            raise BadInput(f"The certificate has no setting {key}; it has {', '.join(sorted(known))}.")
        if not same(known[name], wanted):
            found.append(f"{name} is {known[name]!r} in the certificate, not {wanted!r} as expected")
    return found


def same(value: object, wanted: object) -> bool:
    """Whether a setting is what somebody expects, who may have written it as text, a list with commas between."""
    if isinstance(value, list | tuple) and isinstance(wanted, str) and wanted != str(value):
        wanted = [each.strip() for each in wanted.strip("[]()").split(",") if each.strip()]
    if isinstance(value, list | tuple) and isinstance(wanted, list | tuple):
        return len(value) == len(wanted) and all(map(same, value, wanted))
    if isinstance(value, bool) or isinstance(wanted, bool):
        return str(value).lower() == str(wanted).lower()
    if isinstance(value, str):
        return value.replace("_", "-") == str(wanted).replace("_", "-")
    if value == wanted or str(value) == str(wanted) or (value is None and str(wanted).lower() == "none"):
        return True
    try:
        return float(str(value)) == float(str(wanted))
    except ValueError:
        return False


# ── certificates about users' own classes ─────────────────────────────────────────────────────────


@np.errstate(over="ignore", invalid="ignore")  # a file may hold any numbers; NaN and ∞ prove nothing
def relative(path: Path, problem: Problem | None, reason: Unknown) -> Numbers:
    """The interval of a certificate that the checker does not know, recomputed by the package's or the user's own
    code.
    """
    own = isinstance(problem, Recording)
    certificate, header = load(path, type(problem) if problem is not None and not own else None)
    if own and data_sha256(problem.arrays()) == header["data_sha256"]:  # its functions are asked again
        witnesses = problem.recalled(certificate.problem, certificate.witnesses)
        certificate = replace(certificate, problem=problem, witnesses=witnesses)
    elif own:
        raise BadInput(f"{path} is about other data or another version of the functions; build the problem as it was.")
    bounds, named = bounds_for(certificate.formulation, certificate.problem), header["problem"].get("data_sha256")
    digest, faults, kind = data_sha256(certificate.problem.arrays()), [], certificate.problem.oracle_kind
    if named != digest:
        faults.append(f"the data in the certificate differ: sha256 {digest} instead of {named}")
    if header.get("oracle") != kind:
        faults.append(
            f"the certificate calls its oracle {header.get('oracle')!r} where that of the outputs is {kind!r}"
        )
    conditions = [
        f"the prices, regularizer and cuts of {origin(type(certificate.formulation))}: {reason}"
        if reason.what == "formulation"
        else f"the features, losses and argmax of {origin(type(certificate.problem))}: {reason}"
    ]
    if isinstance(certificate.problem, Conditional):
        conditions = certificate.problem.conditions or conditions
    if kind != "exact":
        conditions.append(INEXACT.get(kind, f"the argmax, which calls itself {kind!r}, being exact"))
    try:
        if not check_outputs(certificate.problem, certificate):
            conditions.append("every witness being an output of its sample, of which there is no list")
        lower, upper = certificate.recheck()
    except CutbenchError:
        raise
    except ArithmeticError as error:
        raise BadInput(f"The numbers in {path} are too large or too small to check by ({error}); scale them.") from None
    except (IndexError, ValueError) as error:
        raise BadInput(f"A witness does not fit the data ({error}); write the certificate again.") from None
    conditions.append(f"{bounds.arithmetic} arithmetic in floats, rounded outward")
    lower, upper = below(lower), above(upper)
    gap = bounds.relative(upper, lower)
    return statement_of(certificate, header, bounds, compared=own) | {
        "conditional_on": conditions,
        "lower": lower,
        "upper": upper,
        "gap": gap,
        "lower_exact": None,
        "upper_exact": None,
        "gap_exact": None,
        "optimum": None,
        "arithmetic": bounds.arithmetic,
        "oracle": kind,
        "data_matches": named == digest,
        "claimed": [certificate.lower, certificate.upper],
        "data_sha256": digest,
        "faults": [*faults, *claim_faults(certificate, lower, upper, gap, bounds)],
    }


def statement_of(certificate: Certificate, header: Numbers, bounds: AnyBounds, compared: bool) -> Numbers:
    """What such a certificate is about, and of what it is a part; `compared` says whether its data were compared with
    the user's.
    """
    name, told, about = header["formulation"]["name"], certificate.alternation, None
    if told is not None:
        part = f"this is the last convex program ({name}) of {told['formulation']}, which ended {told['status']}"
        about = f"{part}; nothing is proven about the optimum of {told['formulation']} itself"
    return {
        "proven": False,
        "formulation": name,
        "settings": header["formulation"]["settings"],
        "formula": inspect.getdoc(type(certificate.formulation)),
        "structure": f"{type(certificate.problem).__name__}, which the checker does not know",
        "n_samples": certificate.problem.n_samples,
        "dim": bounds.oracle.dim,
        "proof": "intervals",
        "program": header.get("program", "whole" if told is None else "last of an alternation"),
        "not_proven": [*([about] if about else []), *([] if compared else [YOURS])],
        "assumptions": [TRUSTED],
        "about": about,
        "output": header["problem"].get("output"),
    }


def origin(family: type) -> str:
    """A class by its file and the digest of that."""
    try:
        file = Path(inspect.getfile(family))
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except (TypeError, OSError):
        return family.__name__
    return f"{family.__name__} in {file.name} (sha256 {digest})"


def claim_faults(certificate: Certificate, lower: float, upper: float, gap: float, bounds: AnyBounds) -> list[str]:
    """Which of lower, upper and gap are not as claimed, but for the allowance of intervals."""
    low, high = abs(lower), abs(upper)

    def room(size: float) -> float:
        return ALLOWANCE * size if size < INFINITE else 0.0

    found = []
    if not lower <= upper:
        found.append(f"a contradiction: the lower end {lower!r} exceeds the upper end {upper!r}, so a class has a bug")
    if not certificate.lower <= lower + room(max(low, min(high, bounds.scale))):
        found.append(f"the claimed lower bound is {certificate.lower!r}, the recomputed one {lower!r}")
    if not upper <= certificate.upper + room(high):
        found.append(f"the claimed upper bound is {certificate.upper!r}, the recomputed one {upper!r}")
    gap = min(gap, bounds.relative(certificate.upper, certificate.lower))
    if not (certificate.gap >= 0 and gap <= float(up(up(certificate.gap * (1 + ALLOWANCE))))):
        found.append(f"the claimed gap is {certificate.gap!r}, the recomputed one {gap!r}")
    if certificate.optimum is not None:
        found.append("an exact optimum is claimed, which intervals cannot prove")
    return found
