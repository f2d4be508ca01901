"""Convex programs that nobody here wrote: what is proven of each, and how far backends are off.

The folder `programs` of $CUTBENCH_DATA (netlib LPs, infeasible ones by Chinneck, Maros and Mészáros's QPs), each under
both readings. CPU seconds are those of `prove`, everything after reading the file. Published optima stand in
`published.csv`; one is called wrong if it differs from the proven one by more than a unit of its last printed digit.
"""

from __future__ import annotations

import csv
import os
import statistics
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from workbench.backends import BACKENDS
from workbench.errors import BadInput
from workbench.programs.accuracy import one
from workbench.programs.files import program_in
from workbench.programs.prove import Proof, prove_program
from workbench.registries import load_file

chosen = load_file(Path(__file__).with_name("_settings.py"), "benchmark").chosen

BOAST = 1e-6
FOLDERS = ("lp", "qp", "infeasible")


def programs(
    folder: str = "", kinds: str = "", only: str = "", readings: str = "float,decimal", backends: str = ""
) -> Iterator[dict[str, Any]]:
    """One row a program and reading: what is proven, its bits, CPU seconds, what is published.

    exact, bounded, …  rows of each kind;  median_seconds, worst_seconds : CPU
    irreducible : infeasible rows whose contradiction is proven irreducible;  published_wrong : their names
    table : one row a kind of programs and reading;  backends : one row a backend, what of the next three keys it has
    solved_BACKEND : of programs with an optimum, how many it calls solved at its default tolerance (for `backends`)
    boasts_BACKEND, worst_BACKEND : of these, how many are off by more than 1e-6 (relative to max(1, |optimum|)), and
    the largest such error
    """
    place = Path(folder or Path(os.environ.get("CUTBENCH_DATA", "../shared/data")) / "programs")
    if not place.is_dir():
        raise BadInput(f"There is no folder {place}; set CUTBENCH_DATA to the folder that holds `programs`.")
    published = {(row["kind"], row["name"]): row["published_optimum"] for row in table(place)}
    files = {f"{kind}/{path.name}": path for kind in FOLDERS for path in sorted((place / kind).iterdir())}
    wanted = chosen(kinds, FOLDERS, "kind")
    names = chosen(only, sorted({path.name.split(".")[0] for path in files.values()}), "program")
    asked = chosen(backends, [name for name in BACKENDS if BACKENDS[name].installed], "backend") if backends else []
    rows: list[dict[str, Any]] = []
    for title, path in files.items():
        kind, name = title.partition("/")[0], path.name.split(".")[0]
        if kind not in wanted or name not in names:
            continue
        program = program_in(path)[0]
        for reading in chosen(readings, ("float", "decimal"), "reading"):
            proof = prove_program(program, reading)
            rows.append(row_of(title, proof, published.get((kind, name), "")))
            if reading == "float" and proof.optimum is not None:
                told = {each: one(proof, each, 20.0) for each in asked}
                rows[-1] |= {each: row["error"] if row["solved"] else None for each, row in told.items()}
        yield summary(rows, asked) | {"finished": f"{len(rows)} rows, {title} last"}
    yield summary(rows, asked)


def table(place: Path) -> list[dict[str, str]]:
    path = place / "published.csv"
    return list(csv.DictReader(path.read_text().splitlines())) if path.is_file() else []


def row_of(title: str, proof: Proof, published: str) -> dict[str, Any]:
    """What is proven of one program under one reading."""
    optimum = proof.optimum
    return {
        "program": title,
        "reading": proof.reading,
        "kind": proof.kind,
        "optimum": None if optimum is None else float(optimum),
        "bits": None if optimum is None else optimum.denominator.bit_length(),
        "gap": proof.gap if proof.kind == "bounded" else None,
        "rows": len(proof.rows) or None,
        "seconds": proof.cpu_seconds,
        "published": published,
        "wrong": optimum is not None and differs(optimum, published),
        "remark": proof.remark,
    }


def differs(optimum: Fraction, published: str) -> bool:
    """Whether a printed number is off by more than one unit of its last digit."""
    try:
        number = Decimal(published).normalize()
    except ArithmeticError:
        return False
    last = Fraction(10) ** int(number.as_tuple().exponent)
    return abs(optimum - Fraction(number)) > last


def summary(rows: list[dict[str, Any]], asked: list[str]) -> dict[str, Any]:
    counts = Counter(row["kind"] for row in rows)
    seconds = [row["seconds"] for row in rows]
    record: dict[str, Any] = dict(sorted(counts.items()))
    record |= {"median_seconds": statistics.median(seconds), "worst_seconds": max(seconds)}
    record["irreducible"] = sum(row["kind"] == "infeasible" and bool(row["rows"]) for row in rows)
    record["published_wrong"] = ", ".join(dict.fromkeys(row["program"].split("/")[1] for row in rows if row["wrong"]))
    for name in asked:
        errors = [row[name] for row in rows if row.get(name) is not None]
        record |= {f"solved_{name.lower()}": len(errors), f"boasts_{name.lower()}": sum(e > BOAST for e in errors)}
        record[f"worst_{name.lower()}"] = max(errors, default=None)
    keys = list(dict.fromkeys(key for row in rows for key in row))
    tables = {"table": collected(rows)} | ({"backends": boasts(record, asked)} if asked else {})
    return record | tables | {"rows": [{key: row.get(key) for key in keys} for row in rows]}


def collected(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a kind of programs and reading: how many end how, the median bits of an optimum's denominator, CPU s."""
    found = []
    for group in dict.fromkeys((row["program"].partition("/")[0], row["reading"]) for row in rows):
        part = [row for row in rows if (row["program"].partition("/")[0], row["reading"]) == group]
        ends, bits = Counter(row["kind"] for row in part), [row["bits"] for row in part if row["bits"]]
        seconds = [row["seconds"] for row in part]
        row = {"programs": group[0], "reading": group[1], "count": len(part), "exact": ends["optimal"]}
        row |= {each: ends[each] for each in ("infeasible", "nonconvex", "bounded", "unknown")}
        row |= {"bits": statistics.median(bits) if bits else None}
        found.append(row | {"median": statistics.median(seconds), "worst": max(seconds)})
    return found


def boasts(record: dict[str, Any], asked: list[str]) -> list[dict[str, Any]]:
    """One row a backend: of the programs with an optimum, how many it calls solved; how many of these are off."""
    keys = ("solved", "boasts", "worst")
    return [{"backend": name} | {key: record[f"{key}_{name.lower()}"] for key in keys} for name in asked]


NAMES = {"programs": programs}
