"""What the page of a run says: what was asked, what is proven, verdicts, figures, the work, how to repeat it.

The certificate of a run is verified anew when its page is written, and only what the checker says is called proven.
"""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

from workbench.command.records import Run, run_at
from workbench.command.reporting.charts import Series, chart
from workbench.command.reporting.holders import holders
from workbench.command.reporting.page import Cell, Claim, Column, Mood, Page, Part, Table, number, render, words
from workbench.command.terminal import interval, small
from workbench.errors import CutbenchError
from workbench.registries import registry

MOODS: dict[str, Mood] = {"failed": "bad", "disagrees": "bad", "agrees": "good"}  # the other verdicts are open
LONG = 60  # rows from which a table is folded away
HISTORY = ("round", "lower", "upper", "gap", "cuts", "seconds")


def write_report(word: str | Path, out: Path) -> Path:
    """Write the page of the run at `word` (a folder, a record or a certificate) to the file `out`."""
    from workbench.proofs.files import write_whole

    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, render(page_of(run_at(word))).encode())
    return out


def page_of(run: Run) -> Page:
    """The page of a run."""
    proof = proof_of(run)
    page = Page(run.title, run.kind, claims_of(run, proof))
    page.add("What was asked", asked(run, proof))
    if run.kind == "crosscheck":
        page.add("Verdicts", verdicts(run.record["learners"]))
        page.add("F(θ) − L by pass", [excess_chart(run)])
    page.add("What is proven", proven(run, proof))
    page.add("What holds the optimum", priced(run) if run.of_program else holders(run, proof))
    page.add("The path", followed(run))
    page.add("The run", work(run))
    page.add("Causes and remarks", details(run))
    page.add("Repeat it", repeat(run, proof))
    return page


# ── proofs ────────────────────────────────────────────────────────────────────────────────────────


def proof_of(run: Run) -> dict[str, Any]:
    """What `verify` says of the run's certificate; {} without one, or the fault as `reason`."""
    from workbench.proofs.verify import verify

    if run.certificate is None:
        return {}
    try:
        return verify(run.certificate)
    except CutbenchError as error:
        return {"proven": False, "refuted": True, "reason": str(error)}


def claims_of(run: Run, proof: Mapping[str, Any]) -> list[Claim]:
    """The sentences at the head: the proof, then the verdicts."""
    found = [claim_of(run, proof)]
    if run.kind == "crosscheck":
        rows = run.record["learners"]
        for verdict in sorted({row["verdict"] for row in rows}, key=lambda verdict: (*MOODS, verdict).index(verdict)):
            names = ", ".join(row["name"] for row in rows if row["verdict"] == verdict)
            found.append(Claim(MOODS.get(verdict, "open"), verdict.capitalize(), names))
        if run.record.get("interrupted"):
            found.append(Claim("open", "Interrupted", "Not all learners were judged."))
    return found


def claim_of(run: Run, proof: Mapping[str, Any]) -> Claim:
    """What is proven, in a sentence."""
    if run.kind == "path":
        told = run.record
        ends = f"λ from {shown(told.get('least'))} to {shown(told.get('greatest'))}"
        reached = f"to a relative gap of {small(told.get('gap'))}"
        return Claim("open", "Computed", f"Every {ends} {reached}, as the run proved; no certificate is kept of it.")
    if not proof:
        missing = run.told.get("evidence", "There is no certificate beside the record")
        return Claim("open", "Not proven here", f"{str(missing).rstrip('.')}; what follows is what the run printed.")
    if not proof["proven"]:
        word, mood = ("Not proven", "bad") if proof.get("refuted") else ("Proven on conditions", "open")
        return Claim(mood, word, str(proof["reason"] or "nothing is proven"))
    if run.kind == "prove":
        return Claim("good", "Proven", run.record["statement"])
    if proof.get("about"):
        return Claim("open", "Proven in part", proof["about"])
    if endless(run, proof):
        words = conclusion(proof)
        return Claim("good", "Proven", f"{words[:1].upper()}{words[1:]}.")
    return Claim("good", "Proven", f"The optimum lies in {interval(proof)}: relative gap {small(proof['gap'])}.")


def proven(run: Run, proof: Mapping[str, Any]) -> list[Part | None]:
    """The interval, what the proof rests on, and the exact fractions, folded away."""
    if not proof or "lower" not in proof:
        return []
    exact = {name: proof.get(f"{name}_exact") for name in ("lower", "upper", "gap")}
    rows = [("optimum", f"in {interval(proof)}"), ("relative gap", small(proof["gap"]))]
    if endless(run, proof):
        open_ = proof["settings"]["conclusion"] == "nonconvex"
        why = "nothing is proven about its value" if open_ else f"none: {conclusion(proof).rpartition(': ')[2]}"
        rows = [("optimum", why)]
        rows += [("constraints", ", ".join(names))] if (names := run.record.get("because")) else []
    about = "the whole program" if proof["program"] == "whole" else proof["program"]
    rows += [("arithmetic", proof["arithmetic"]), ("certificate of kind", proof["proof"]), ("it is about", about)]
    titles = {"assumes": "assumptions", "rests on": "conditional_on", "open": "not_proven"}
    sentences = [f"{title}: {each}" for title, key in titles.items() for each in proof[key]]
    parts: list[Part | None] = [Part("facts", rows=rows), Part("list", items_=sentences)]
    if proof.get("optimum"):
        parts.append(Part("folded", title="The optimum as a fraction", text=proof["optimum"]))
    elif all(exact.values()) and not endless(run, proof):
        text = "\n\n".join(f"{name} = {value}" for name, value in exact.items())
        parts.append(Part("folded", title="Both ends as fractions", text=text))
    return parts


def endless(run: Run, proof: Mapping[str, Any]) -> bool:
    """Whether a program is proven to have no solution, no finite optimum, or an objective that is not convex."""
    return run.of_program and bool(proof["proven"]) and all(map(math.isinf, (proof["lower"], proof["upper"])))


def conclusion(proof: Mapping[str, Any]) -> str:
    """The checker's words about a convex program: `no x satisfies the constraints`."""
    return str(proof["formula"]).partition(" in K: ")[2]


PRICES = (
    "The price of an inequality is how much the optimum improves per unit by which the constraint is loosened. "
    "The price of an equality has the sign of CVXPY's dual_value."
)


def priced(run: Run) -> list[Part | None]:
    """The point that attains the optimum, and the constraints that hold it, of a convex program."""
    point, prices = (numbers_in(run, key) for key in ("solution", "prices"))
    falling = dict(sorted(prices.items(), key=lambda each: -abs(each[1])))
    values = named_numbers("Variables, one a row", ("variable", "value"), point)
    held = named_numbers("Constraints with a price, one a row", ("constraint", "price"), falling)
    return [values, held, Part("text", text=PRICES) if held else None]


def numbers_in(run: Run, key: str) -> dict[str, float]:
    """The numbers by name that a record holds."""
    told = run.record.get(key)
    named = told.items() if isinstance(told, dict) else ()
    return {str(name): value for name, value in named if is_number(value) and value is not None}


def named_numbers(caption: str, titles: tuple[str, str], numbers: Mapping[str, float]) -> Part | None:
    lines = [[words(name), number(value, "{:.9g}")] for name, value in numbers.items()]
    table = Table(caption, (Column(titles[0]), Column(titles[1], "number")), lines)
    return Part("table", table=table, folded=len(lines) > LONG) if lines else None


# ── what was asked ────────────────────────────────────────────────────────────────────────────────


def asked(run: Run, proof: Mapping[str, Any]) -> list[Part | None]:
    """The formula, the settings and the sizes."""
    told = run.told
    if run.of_program:
        rows = [("program", str(run.record.get("program", "")))]
        rows += [("the certificate says", run.record["statement"])] if run.kind == "certificate" else []
        rows += [(name.replace("_", " "), str(count)) for name, count in sizes_of(run, proof).items()]
        rows += [(name, str(value)) for name, value in proof.get("settings", {}).items()]
        rounded = [str(each) for each in run.record.get("rounded", [])]
        kept = Part("list", items_=[f"rounded: {each}" for each in rounded]) if rounded else None
        return [stated(proof.get("formula")), Part("facts", rows=rows), kept]
    settings = run.record.get("settings") or proof.get("settings", {})
    rows = [("problem", told["problem"]), ("formulation", told["formulation"])]
    rows += [("settings", ", ".join(f"{name}={value}" for name, value in settings.items()))] * bool(settings)
    rows += [("outputs", str(proof.get("structure")))] * bool(proof.get("structure"))
    sizes = [f"{told[key]} {name}" for key, name in (("n_samples", "samples"), ("dim", "weights")) if key in told]
    rows += [("size", ", ".join(sizes))] * bool(sizes)
    own, full = proof.get("formula"), formula_of(told["formulation"])
    own = own or formulas_in(full)
    folded = Part("folded", title="The formulation in full", text=full) if own and full else None
    return [stated(own or full), Part("facts", rows=rows), folded]


def sizes_of(run: Run, proof: Mapping[str, Any]) -> Mapping[str, Any]:
    """The sizes of a convex program, from its record, or of a certificate as the checker counted them."""
    if run.kind == "prove":
        return run.record["sizes"]
    named = (("rows", "n_samples"), ("size", "structure"))
    return {name: proof[key] for name, key in named if key in proof}


def stated(formula: str | None) -> Part | None:
    return Part("formula", text=formula) if formula else None


def formula_of(formulation: str) -> str:
    """The docstring of a registered formulation's file, which states it; "" for others."""
    known = registry("formulation")
    return (known.modules[formulation].__doc__ or "").strip() if formulation in known.modules else ""


def formulas_in(doc: str) -> str:
    """The first formulas of a docstring: indented paragraphs, one after the other."""
    rest = dropwhile(lambda block: not block.startswith("    "), doc.split("\n\n"))
    return textwrap.dedent("\n".join(takewhile(lambda block: block.startswith("    "), rest)))


# ── verdicts ──────────────────────────────────────────────────────────────────────────────────────

LEARNERS = (Column("learner"), Column("verdict"), Column("excess", "number"), Column("passes", "number"))
LEARNERS += (Column("seconds", "number"), Column("because", "words"))


def verdicts(rows: Sequence[Mapping[str, Any]]) -> list[Part | None]:
    """One line a learner."""
    lines = [
        [
            words(row["name"]),
            words(row["verdict"], MOODS.get(row["verdict"], "open")),
            number(row.get("excess"), "{:.1e}"),
            number(row.get("passes"), "{:g}"),
            number(row.get("seconds"), "{:.2f}"),
            words(row["reason"]),
        ]
        for row in rows
    ]
    text = (
        "Excess is (F(θ) − L) / |F*| with the proven lower bound L: the learner is at most this far above the optimum."
    )
    return [Part("text", text=text), Part("table", table=Table("Verdicts, one learner a row", LEARNERS, lines))]


def excess_chart(run: Run) -> Part | None:
    rows = run.record["learners"]
    series = [Series(row["name"], [tuple(point) for point in row["history"] if pair(point)]) for row in rows]
    reference = run.record["reference"]
    ends = reference["upper"], reference["lower"]
    width = None if None in ends else ends[0] - ends[1]
    level = (width, "width of the proven interval")
    title = "How far each learner is from the optimum, at most"
    drawn = chart(title, ("passes over the data", "F(θ) − L"), series, (True, True), level)
    return drawn and Part("chart", chart=drawn)


def pair(point: Any) -> bool:
    return isinstance(point, list) and len(point) == 2 and all(isinstance(v, int | float | None) for v in point)


def details(run: Run) -> list[Part | None]:
    """What else is known of each learner: causes, remarks, its runs, the numbers behind the verdict."""
    parts: list[Part | None] = []
    for row in run.record.get("learners", []):
        causes = [sentence_of(each) for each in row["causes"]] + [str(each) for each in row["remarks"]]
        evidence = [(str(name), shown(value)) for name, value in (row.get("evidence") or {}).items()]
        parts.append(Part("heading", text=row["name"]))
        parts.append(Part("list", items_=causes) if causes else None)
        parts.append(runs_table(row) if len(row.get("runs") or []) > 1 else None)
        lines = [[words(name), Cell(value, value)] for name, value in evidence]
        caption = f"Numbers behind the verdict on {row['name']}"
        table = Table(caption, (Column("what"), Column("number", "number")), lines)
        parts.append(Part("table", table=table, folded=True) if lines else None)
    return parts


def sentence_of(cause: Any) -> str:
    """A cause, with how sure the judge is."""
    sure = "certain" if cause.get("confident") else "perhaps"
    return f"{sure} ({cause.get('kind')} {cause.get('name')}): {cause.get('sentence')}"


def runs_table(row: Mapping[str, Any]) -> Part:
    lines = [
        [number(run.get("seed"), "{:g}"), words(run.get("verdict")), number(run.get("excess"), "{:.1e}")]
        for run in row["runs"]
    ]
    columns = (Column("seed", "number"), Column("verdict"), Column("excess", "number"))
    return Part("table", table=Table(f"Runs of {row['name']}", columns, lines), folded=True)


def shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


# ── paths ─────────────────────────────────────────────────────────────────────────────────────────

DRAWN = {"lower": "optimum", "gap": "proven relative gap", "train_error": "loss"}  # the charts, by their first series


def followed(run: Run) -> list[Part | None]:
    """The optimum, the gap and the losses against λ, and the table behind them."""
    rows = [row for row in run.record["points"] if isinstance(row, dict)] if run.kind == "path" else []
    parts: list[Part | None] = []
    for key, label in DRAWN.items() if rows else ():
        names = {key: "training" if label == "loss" else label}
        names |= {"loss": "held out"} if label == "loss" and "loss" in rows[0] else {}
        label = "training loss" if label == "loss" and len(names) == 1 else label
        series = [Series(name, [(row.get("lam"), row.get(each)) for row in rows]) for each, name in names.items()]
        drawn = chart(f"The {label} against λ", ("λ", label), series, (True, key == "gap"))
        parts.append(drawn and Part("chart", chart=drawn))
    if run.kind == "path" and (breaks := run.record.get("break_points")):
        caption = f"{len(breaks)} break points of the path, by falling λ"
        parts.append(rows_table(caption, [spelled(each) for each in breaks], folded=len(breaks) > LONG))
    return [*parts, rows_table("Values of λ, one a row", rows)] if rows else []


def spelled(row: Mapping[str, Any]) -> dict[str, Any]:
    """A break point of a record, its cuts as sample and output in words."""
    names = {key: ", ".join(f"{cut['sample']}: {cut['output']}" for cut in row[key]) for key in ("enters", "leaves")}
    return {"lam": row["lam"]} | names | {"active": row["active"]}


# ── the run ───────────────────────────────────────────────────────────────────────────────────────


def work(run: Run) -> list[Part | None]:
    """Backend, rounds and seconds; how the gap closed; for several backends one row each."""
    told = run.told
    keys = ("status", "backend", "rounds", "cuts", "seconds", "cpu_seconds", "oracle_seconds", "master_seconds")
    rows = [
        (key.replace("_", " "), shown(told[key])) for key in (*keys, "train_error") if told.get(key) not in (None, "")
    ]
    parts: list[Part | None] = [Part("facts", rows=rows) if rows else None]
    history = [each for each in run.record.get("history") or [] if isinstance(each, dict)]
    if len(history) > 1 and all(isinstance(each.get("round"), int) for each in history):
        gaps = Series("relative gap", [(each["round"], each.get("gap")) for each in history])
        drawn = chart("How the proven gap closed", ("round", "relative gap"), [gaps])
        parts.append(drawn and Part("chart", chart=drawn))
        parts.append(rounds_table(history))
    if several := [each for each in run.record.get("rows") or [] if isinstance(each, dict)]:
        parts.append(rows_table("Backends, one a row", several))
    return parts


def rounds_table(history: Sequence[Mapping[str, Any]]) -> Part:
    columns = [Column(name, "number") for name in HISTORY if name in history[0]]
    shape = {"lower": "{:.12g}", "upper": "{:.12g}", "gap": "{:.1e}", "seconds": "{:.3f}"}
    lines = [[number(each.get(c.title), shape.get(c.title, "{:g}")) for c in columns] for each in history]
    return Part("table", table=Table("Rounds, one a row", columns, lines), folded=True)


PRECISE = ("value", "lower", "upper")  # columns whose rows differ in late digits


def rows_table(caption: str, rows: Sequence[Mapping[str, Any]], folded: bool = False) -> Part | None:
    """Rows of numbers and words as they stand in a record; None where they hold neither."""
    names = [name for name in rows[0] if not isinstance(rows[0][name], list | dict)]
    if not names:
        return None
    numeric = {name: all(is_number(row.get(name)) for row in rows) for name in names}
    titles = {name: "λ" if name == "lam" else name.replace("_", " ") for name in names}
    columns = [Column(titles[name], "number" if numeric[name] else "") for name in names]
    lines = [
        [
            number(row.get(n), "{:.12g}" if n in PRECISE else "{:.4g}") if numeric[n] else words(row.get(n))
            for n in names
        ]
        for row in rows
    ]
    return Part("table", table=Table(caption, columns, lines), folded=folded)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | None) and not isinstance(value, bool)


# ── how to repeat it ──────────────────────────────────────────────────────────────────────────────


def repeat(run: Run, proof: Mapping[str, Any]) -> list[Part | None]:
    """Commands, versions and digests."""
    from workbench.proofs.checker import archive

    commands = [str(run.about["command"])] if run.about.get("command") else []
    rows = []
    if run.certificate is not None:
        commands.append(f"cutbench verify {shlex.quote(str(run.certificate))}")
        for path in archive.files_of(run.certificate):
            rows.append((f"sha256 of {path.name}", file_digest(path)))
    if proof.get("data_sha256"):
        rows.append(("sha256 of the data", str(proof["data_sha256"])))
    versions = run.about.get("versions")
    if isinstance(versions, dict):
        rows.append(("versions", ", ".join(f"{name} {version}" for name, version in versions.items())))
    parts = [Part("command", text="\n".join(f"$ {each}" for each in commands)) if commands else None]
    if said := in_the_way(run):
        parts.append(Part("text", text=said))
    return [*parts, Part("facts", rows=rows) if rows else None]


def in_the_way(run: Run) -> str:
    """What the command finds in its way when it is repeated, and what then helps; "" where nothing is."""
    words = str(run.about.get("command") or "").split()
    if not words or "--overwrite" in words:
        return ""
    options = [name for name in ("--out", "--report") if name in words]
    if options:
        return f"What this command writes is there already: add --overwrite, or name another {' and '.join(options)}."
    if run.kind == "solve":
        return "The command replaces this run, which is in its default folder; --out keeps both."
    return ""


def file_digest(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"
