"""Every formulation's own CVXPY text, proven by `wb.prove` as any convex program, against our certificates.

The instances are those of `instances`; for each, the text is

    cuts       `program(problem, cuts)` with every cut of every output written out
    smooth     `program(problem)` of likelihoods and smooth risks: exponential cones, squares
    compact    `compact_program(problem)`, where a formulation and an output structure have one
    surrogate  the convex program of an alternation at its first state, with every cut written out

Ours is `solve` with its default method and a gap of 1e-9. Two proven intervals about one number must meet; the texts
hold prices and products of constants as CVXPY rounds them, so the intervals may miss one another by ROUNDED of the
optimum's size. Where no weights reach a hard margin, both must say so: on duplicated samples with contradictory labels
the text's rows are sums rounded to floats, which may contradict one another up to rounding only, where ours come from
the data in fractions. Weights of 1e10 that reach such margins count as none: the text must prove them that large.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from workbench.contracts import CutForm, Enumerable, Majorized, Search, SmoothForm
from workbench.errors import MissingCapability, NotSeparable, checked_whole
from workbench.programs.prove import Proof, prove
from workbench.proofs.any_bounds import bounds_for
from workbench.registries import load_file, misfit, registry
from workbench.solving.solve import solve

sampled = load_file(Path(__file__).with_name("instances.py"), "benchmark")

ROUNDED = 1e-12
ABSURD = 1e19  # ½‖w‖² of a margin that consists of rounding errors

KINDS = (CutForm, SmoothForm, Majorized)  # what has a text that `prove` takes


def texts(form: Any, problem: Any) -> Iterator[tuple[str, Any, Any]]:
    """(name, formulation that `solve` takes, cp.Problem) of each text."""
    from workbench.solving.masters.declared import written

    if isinstance(form, SmoothForm):
        yield "smooth", form, form.program(problem)[0]
    elif isinstance(form, Majorized):
        inner = form.surrogate(problem, form.start(problem))
        yield "surrogate", inner, written(inner, problem)[0]
    else:
        yield "cuts", form, written(form, problem)[0]
        if hasattr(form, "compact_program"):
            try:
                yield "compact", form, form.compact_program(problem)[0]
            except MissingCapability:
                return


def compared(form: Any, problem: Any, proof: Proof) -> dict[str, float | str]:
    """How far the two intervals are apart, relative to the optimum, and how wide the text's is; or a fault."""
    try:
        ours = solve(form, problem)
    except NotSeparable:
        fits = proof.kind == "infeasible" or (proof.lower is not None and proof.lower > ABSURD)
        return {"fault": "" if fits else f"not separable by ours, {proof.kind} as a text"}
    if proof.kind == "unknown":
        return {"fault": ""}
    if proof.kind not in ("optimal", "bounded"):
        return {"fault": f"{proof.statement} Ours lies in [{ours.lower!r}, {ours.upper!r}]."}
    bounds = bounds_for(form, problem)
    low = -np.inf if proof.lower is None else float(proof.lower)
    high = np.inf if proof.upper is None else float(proof.upper)
    apart = max(bounds.relative(ours.lower, high), bounds.relative(low, ours.upper)) if low < np.inf else np.inf
    width = bounds.relative(high, low)
    apart = 0.0 if not np.isfinite(apart) else max(apart, 0.0)
    told = f"the text lies in [{low!r}, {high!r}], ours in [{ours.lower!r}, {ours.upper!r}]"
    return {"apart": apart, "width": width, "fault": told if apart > ROUNDED else ""}


def why_not(output: str, formulation: str) -> str:
    """Why a pair has no text that can be proven, or nothing."""
    form, problem = (
        registry("formulation").get(formulation)(),
        registry("output").get(output).tiny(np.random.default_rng(0)),
    )
    if isinstance(form, Search):
        return "a mixed-integer text"
    if reason := misfit(form, problem):
        return reason
    if not isinstance(form, KINDS):
        return "a semidefinite text"
    return "" if isinstance(problem, Enumerable) or isinstance(form, SmoothForm) else "no list of outputs"


def tried(output: str, formulation: str, seeds: range) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One row a text of the pair, and the failures."""
    rows: dict[str, dict[str, Any]] = {}
    failures = []
    for seed in seeds:
        given = sampled.instance(output, formulation, seed, KINDS)
        for name, form, program in texts(given.form, given.problem):
            began = time.process_time()
            proof = prove(program)
            spent = time.process_time() - began
            found = compared(form, given.problem, proof)
            row = rows.setdefault(name, start(output, formulation, name))
            row["tried"] += 1
            row["exact"] += proof.optimum is not None
            row["infeasible"] += proof.kind == "infeasible"
            row["open"] += proof.kind == "bounded" and None in (proof.lower, proof.upper)
            row["unknown"] += proof.kind == "unknown"
            both = proof.kind == "infeasible" or None not in (proof.lower, proof.upper)
            row["agreed"] += not found["fault"] and both
            row["apart"] = max(row["apart"], found.get("apart", 0.0))
            row["width"] = max(row["width"], w if np.isfinite(w := found.get("width", 0.0)) else 0.0)
            row["seconds"] += spent
            if found["fault"]:
                again = f"cutbench bench proven-texts --set pair={output}:{formulation} --set seed={seed} --set n=1"
                failures.append({"pair": f"{output}:{formulation}", "seed": seed, **found, "again": again})
    return list(rows.values()), failures


def start(output: str, formulation: str, text: str) -> dict[str, Any]:
    """The row of a text before its first instance."""
    counts = dict.fromkeys(("tried", "exact", "infeasible", "open", "unknown", "agreed"), 0)
    words = {"output": output, "formulation": formulation, "text": text}
    return words | counts | dict.fromkeys(("apart", "width", "seconds"), 0.0)


def proven_texts(n: int = 200, seed: int = 0, pair: str = "") -> Iterator[dict[str, Any]]:
    """At least n random instances over all pairs; one row a text, one a failure.

    rows : tried; agreed, by two ends that meet ours or by a contradiction; of these proven exactly, proven infeasible;
        with an end open, with nothing proven; how far the two intervals are apart at worst, and the widest (both
        relative to the optimum); CPU seconds of the proofs
    refused : pairs without such a text, and why
    """
    checked_whole(1, n=n)
    pairs = list(sampled.pairs(pair))
    reasons = {each: why_not(*each) for each in pairs}
    able = [each for each in pairs if not reasons[each]]
    rows: list[dict[str, Any]] = []
    lost: list[dict[str, Any]] = []
    for each in able:
        found, failures = tried(*each, range(seed, seed + -(-n // max(len(able), 1))))
        rows, lost = rows + found, lost + failures
        total = {key: sum(row[key] for row in rows) for key in ("tried", "agreed", "exact", "open", "unknown")}
        record = total | {"failed": len(lost), "rows": list(rows), "failures": list(lost)}
        refused = [{"pair": ":".join(two), "because": why} for two, why in reasons.items() if why]
        yield record | {"refused": refused, "finished": ":".join(each)}


NAMES = {"proven-texts": proven_texts}
