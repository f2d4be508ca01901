"""Two runs side by side: what was asked differently, which bounds and verdicts differ, and whether they contradict.

Two runs are about the same optimum if data (by digest), formulation and settings are equal. Then their proven intervals
share a point, the optimum; if they do not, one of the definitions has a bug. Intervals count as proven when the
checker says so of the certificates, which are verified anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.command.records import Run

WRITTEN_ONLY = ("declare",)  # settings that say how a program is written, not which
WORK = ("status", "backend", "rounds", "cuts", "seconds", "cpu_seconds", "train_error")


def compared(first: Run, second: Run) -> dict[str, Any]:
    """The record of `cutbench compare`: rows of what differs, all verdicts, and `contradiction`, a sentence or None."""
    statements = [statement_of(run) for run in (first, second)]
    asked = [flat(run, said) for run, said in zip((first, second), statements, strict=True)]
    bounds = [bounds_of(run, said) for run, said in zip((first, second), statements, strict=True)]
    told = [run.told for run in (first, second)]
    same = identity(statements[0]) is not None and identity(statements[0]) == identity(statements[1])
    return {
        "runs": [str(first.path), str(second.path)],
        "same_optimum": same,
        "settings": differing(*asked),
        "bounds": [{"what": key, "first": bounds[0].get(key), "second": bounds[1].get(key)} for key in bounds[0]],
        "work": differing(*({key: each.get(key) for key in WORK} for each in told)),
        "verdicts": paired(verdicts_of(first), verdicts_of(second)),
        "versions": differing(first.about.get("versions", {}), second.about.get("versions", {})),
        "contradiction": contradiction(*bounds) if same else None,
    }


def statement_of(run: Run) -> dict[str, Any]:
    """What `verify` says of a run's certificate; {} without one."""
    from workbench.proofs.verify import verify

    return {} if run.certificate is None else verify(run.certificate)


def identity(said: Mapping[str, Any]) -> Any:
    """What two certificates about the same optimum agree in; None without a certificate."""
    if not said:
        return None
    settings = {key: value for key, value in said["settings"].items() if key not in (*WRITTEN_ONLY, "conclusion")}
    return said["data_sha256"], said["formulation"], said["program"], settings  # in which 1 equals 1.0


def flat(run: Run, said: Mapping[str, Any]) -> dict[str, Any]:
    """All that was asked, by name."""
    told = run.told
    settings = run.record.get("settings") or said.get("settings") or {}
    asked = run.record.get("asked") or {}
    named = {"kind": run.kind, "problem": told.get("problem", told.get("program"))}
    named |= {"formulation": told.get("formulation"), "data_sha256": said.get("data_sha256")}
    return named | dict(settings) | dict(asked)


def bounds_of(run: Run, said: Mapping[str, Any]) -> dict[str, Any]:
    """Both ends and the gap, recomputed or else as the record has them, and which of these they are."""
    sound = bool(said) and not said["refuted"]
    told = said if sound else run.told
    ends = {key: told.get(key) for key in ("lower", "upper", "gap")}
    return ends | {"proven": bool(said.get("proven")), "recomputed": sound}


def verdicts_of(run: Run) -> dict[str, Any]:
    return {row["name"]: row["verdict"] for row in run.record.get("learners", [])}


def paired(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each entry; what one lacks is None."""
    names = [*first, *(name for name in second if name not in first)]
    return [{"what": name, "first": first.get(name), "second": second.get(name)} for name in names]


def differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows whose entries are not equal."""
    return [row for row in paired(first, second) if row["first"] != row["second"]]


def contradiction(first: Mapping[str, Any], second: Mapping[str, Any]) -> str | None:
    """A sentence if the intervals, which are about one optimum, share no point."""
    ends = [first["lower"], first["upper"], second["lower"], second["upper"]]
    sound = first["recomputed"] and second["recomputed"]
    if not sound or None in ends or max(ends[0], ends[2]) <= min(ends[1], ends[3]):
        return None
    what = "proven intervals" if first["proven"] and second["proven"] else "recomputed intervals"
    return f"The {what} [{ends[0]!r}, {ends[1]!r}] and [{ends[2]!r}, {ends[3]!r}] of the same optimum share no point"
