"""One `solve` from the command line: progress, the record that `--json` prints, the record as text, the exit code.

`solve` begins a run in a folder and `resume` continues one, so both are a `FolderRun`; `crosscheck` takes its reference
from `solved`. The fields of a record are, in this order, the names (problem, formulation), the size, the proven
bounds, the work, and the path of the certificate.
"""

from __future__ import annotations

import io
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import workbench.command.records as records
import workbench.command.terminal as terminal
from workbench.command.exits import Interrupted, complain
from workbench.command.terminal import above, below, interval, shortened, small
from workbench.errors import BackendFailed, MissingCapability, OutOfMemory, counted
from workbench.registries import settings_of
from workbench.system.alarm import interruption

SOLVED = ("optimal", "stationary", "not separable")  # "not separable" has a Farkas ray as proof
REMEDIES = {
    "limit": "a limit came first; raise --time-limit, --max-rounds or --memory-limit, or ask for a larger --gap",
    "stalled": "the backend gains no more digits; try another --backend, or ask for a larger --gap",
    "cycle": "the iterates repeat; change the start or the settings",
}
NOTES = defaultdict(str, proven="no closed forms: by cutting planes on the CVXPY text, slower")
NOTES["relaxed"] = "not convex: the lower end is proven by a convex bound, the upper end by the model found"
RANK = "the convex bound and the model found leave this interval; more dimensions, a larger lam or --gap may close it"
FEW = 6  # entries of a list that a line shows
OWN_FIELDS = ("upper", "lower", "lower_kind", "gap", "status", "cuts", "rounds", "seconds", "cpu_seconds")
OWN_FIELDS += ("compile_seconds", "oracle_seconds", "master_seconds", "backend", "oracle", "train_error")


@dataclass
class FolderRun:
    """One `solve` into a folder, begun or continued.

    names : the names of problem and formulation in records;  source : the user's word for the problem, its settings
    """

    folder: Path
    data: Any
    formulation: Any
    names: dict[str, str]
    source: dict[str, Any]
    as_json: bool

    def row(self, stem: str, options: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """Solve and save the certificate; returns the record that `--json` prints, and the solution."""
        text = " ".join(self.names.values())
        solution = solved(self.formulation, self.data, text, source=self.source, **options)
        record = self.names | solution_record(solution, self.data)
        if options["polish"]:
            record |= optimum_record(solution.certificate)
        path = solution.certificate.save(self.folder / stem)
        if rests := rests_on(solution):
            record["conditional_on"] = rests
        record |= {"parallel": solution.parallel} if solution.parallel else {}
        record |= {"certificate": terminal.shown_path(path), "own_status": solution.own_status}
        return record, solution

    @property
    def settings(self) -> dict[str, Any]:
        return all_settings(self.formulation, self.source)

    def by_one(self, options: dict[str, Any]) -> int:
        """Solve with one backend and print; returns the exit code."""
        row, solution = self.row("certificate", options)
        remark = row.pop("own_status")
        row["learned"] = self.learned(solution)
        records.keep("solve", row | {"settings": self.settings, "history": solution.history}, self.folder)
        largest = float(max(self.data.max_loss, default=0.0))
        terminal.emit(row) if self.as_json else print_solution(row, self.settings, largest)
        if row["status"] in SOLVED and (hint := intercept_hint(self.data, self.settings, row["train_error"])):
            complain(hint, 0)  # of a run that is not at its optimum the error says nothing of lam
        return solution_code(row, remark, self.folder)

    def learned(self, solution: Any) -> dict[str, Any]:
        """What was learned, in full and by name into learned.npz, and as the field `learned`."""
        import numpy as np

        from workbench.proofs.files import write_whole
        from workbench.solving import learned

        buffer, found = io.BytesIO(), learned.of(solution)
        arrays: dict[str, Any] = dict(found)  # NumPy's types take words for options
        np.savez_compressed(buffer, **arrays)
        write_whole(self.folder / "learned.npz", buffer.getvalue())
        return terminal.plain(learned.summary(found, self.data))

    def by_all(self, options: dict[str, Any], journal: Any = None) -> int:
        """Solve with each backend, one row a backend, and print; returns the exit code.

        The journal keeps the rows: a continued run computes only missing rows and rows that a limit ended.
        """
        from workbench.contracts import text_alone
        from workbench.solving.recording import journalled
        from workbench.solving.request import Request

        began, asked = time.perf_counter(), {key: options[key] for key in ("gap", "groups", "polish")}
        request = Request(**asked, backend="all", source=self.source)
        place = None if text_alone(self.formulation) else journal or self.folder
        with journalled(place, self.formulation, self.data, request) as lines:
            rows = {entry.numbers["name"]: entry.numbers["row"] for entry in (lines.of("row") if lines else ())}
            open_ones = [name for name in installed_backends() if rows.get(name, {}).get("status", "limit") == "limit"]
            for left, name in zip(range(len(open_ones), 0, -1), open_ones, strict=True):
                whole, spent = options.get("time_limit"), time.perf_counter() - began
                share = whole and max((whole - spent) / left, 1e-3)
                rows[name] = self.tried(name, options | {"backend": name, "time_limit": share})
                if lines:
                    lines.append("row", {"name": name, "row": rows[name]})
            if lines and all(row["status"] != "limit" for row in rows.values()) and not lines.finished:
                lines.append("end", {})
        shown = list(rows.values())
        record = self.names | {"n_samples": self.data.n_samples, "rows": shown}
        records.keep("solve", record | {"settings": self.settings}, self.folder)
        terminal.emit(record) if self.as_json else print_backends(shown)
        return backends_code(shown)

    def tried(self, name: str, options: dict[str, Any]) -> dict[str, Any]:
        """The row of a backend, also if the backend fails."""
        began = time.perf_counter()
        try:
            return self.row(name.lower(), options)[0]
        except (BackendFailed, MissingCapability) as error:
            seconds = time.perf_counter() - began
            return {"backend": name, "status": "failed", "evidence": str(error), "seconds": seconds, "own_status": ""}


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Turn an interruption into one line that says how to continue."""
    try:
        with interruption():
            yield
    except KeyboardInterrupt:
        if not (folder / "journal").is_dir():
            raise
        raise Interrupted(f"interrupted; `cutbench resume {terminal.shown_path(folder)}` continues.") from None


def solved(form: Any, data: Any, text: str, **options: Any) -> Any:
    """`wb.solve` with progress on a terminal and nothing on stdout."""
    from workbench.solving.solve import solve

    try:
        with terminal.stdout_kept(), terminal.progress(text, options.get("gap")) as observe:
            return solve(form, data, observe=observe, **options)
    except MemoryError:
        dim = form.blocks(data).dim
        size = f"θ has {dim} entries, {8 * dim / 2**30:.2g} GiB"
        raise OutOfMemory(f"The memory does not suffice ({size}, several times over); take fewer features.") from None


def installed_backends() -> list[str]:
    from workbench.backends import BACKENDS

    return [name for name, backend in BACKENDS.items() if backend.installed]


# ── records ───────────────────────────────────────────────────────────────────────────────────────


def solution_record(solution: Any, data: Any) -> dict[str, Any]:
    """The fields of `--json`, in their order; names and the certificate's path aside."""
    record = {"n_samples": data.n_samples, "dim": len(solution.theta_flat)}
    record |= {field: getattr(solution, field) for field in OWN_FIELDS}  # fields and properties of `Solution`
    if solution.lower_kind == "none":
        record |= inner_record(solution.history) | {"history": solution.history}
    return terminal.plain(record)


def rests_on(solution: Any) -> list[str]:
    """What the interval takes for granted: of a text without closed forms, or of the user's own functions."""
    from workbench.contracts import Conditional

    told = getattr(solution.certificate, "conditions", ())  # certificates of texts have them
    own = solution.problem.conditions if isinstance(solution.problem, Conditional) else ()
    return [*told, *own]


def inner_record(history: list[dict[str, Any]]) -> dict[str, Any]:
    """The number of convex programs of an alternation, the number that missed the gap, and the largest gap."""
    sums = {name: sum(entry[name] for entry in history) for name in ("programs", "unsolved")}
    return sums | {"inner_gap": max(entry["inner_gap"] for entry in history)}


def optimum_record(certificate: Any) -> dict[str, Any]:
    """The field `optimum`: a fraction, or None together with a remark on stderr."""
    from workbench.proofs.ends import text

    if certificate.optimum is None:
        complain(certificate.remark, 0)
        return {"optimum": None}
    return {"optimum": text(certificate.optimum)}


# ── exit codes ────────────────────────────────────────────────────────────────────────────────────


def solution_code(row: dict[str, Any], remark: str = "", run: Path | None = None) -> int:
    """0 if solved, else 3 with the remedy on stderr; `remark` is the backend's status, `run` a folder to resume."""
    if row["status"] in SOLVED:
        return 0
    from workbench.backends import STOPPED

    said = f" ({remark})" if any(word in remark for word in (STOPPED, "out of memory")) else ""
    more = f"; `cutbench resume {terminal.shown_path(run)}` continues it" if run and row["status"] == "limit" else ""
    remedy = REMEDIES.get(row["status"], "no proof was reached")
    remedy = RANK if (row["status"], row.get("lower_kind")) == ("stalled", "relaxed") else remedy
    return complain(f"{row['status']}{said}: {remedy}{more}.", 3)


def backends_code(rows: list[dict[str, Any]]) -> int:
    """1 if two backends' proven intervals exclude each other, 0 if one reached the gap, else 3."""
    proven = [row for row in rows if None not in (row.get("lower"), row.get("upper"))]
    if proven and max(row["lower"] for row in proven) > min(row["upper"] for row in proven):
        return complain("two proven intervals exclude each other: the oracle or the features are wrong.", 1)
    if any(row["status"] in SOLVED for row in rows):
        return 0
    return complain("no backend reached the gap; ask for a larger --gap.", 3)


# ── readable text ─────────────────────────────────────────────────────────────────────────────────


def all_settings(formulation: Any, source: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of the formulation, and those that the user gave to the problem."""
    values = {name: getattr(formulation, name) for name in settings_of(type(formulation))}  # names known at run time
    return values | source.get("settings", {})


def print_solution(row: dict[str, Any], settings: Mapping[str, Any], largest: float) -> None:
    """largest : the greatest loss of an output."""
    from workbench.proofs.verify import INEXACT

    size = f"{counted(row['n_samples'], 'sample')}, {counted(row['dim'], 'weight')}"
    done = f"{counted(row['rounds'], 'round')}, {counted(row['cuts'], 'cut')}"
    lines = {
        "settings": ", ".join(f"{name}={value}" for name, value in settings.items()),
        "optimum": "not proven as a whole: this alternates, and the certificate is of its last convex program"
        if row["lower_kind"] == "none"
        else f"in {interval(row)}",
        "exactly": row.get("optimum") and shortened(row["optimum"]),
        "gap": f"{small(row['gap'])}{'' if row['gap'] is None else ' relative'}, {row['status']}",
        **(alternating(row) if row["lower_kind"] == "none" else {}),
        "work": f"{done}, {row['seconds']:.2f} s ({row['cpu_seconds']:.2f} s CPU)",
        "workers": row.get("parallel"),
        **train_loss(row["train_error"], largest),
        "backend": f"{row['backend']}, {row['oracle']} oracle",
        "but": INEXACT.get(row["oracle"], ""),
        "rests on": "; ".join(row.get("conditional_on", ())),
        "note": NOTES[row["lower_kind"]],
        **learned_lines(row["learned"]),
        "certificate": row["certificate"],
        "check it": f"cutbench verify {row['certificate']}",
    }
    click.echo(f"{row['problem']} {row['formulation']}: {size}")
    for name, text in lines.items():
        if text:
            click.echo(f"  {name:<12} {text}")


def learned_lines(learned: Mapping[str, Any]) -> dict[str, str]:
    """What was learned, FEW entries of each kind; learned.npz has all."""
    known = [word for word in ("weights", "biases", "costs") if word in learned]
    told = {word: sorted(learned[word].items(), key=size) for word in known}
    told["weights"], counts = [each for each in told["weights"] if each[1]], {"weights": learned.get("nonzeros")}
    lines = {
        word: listed([f"{name} {value:.4g}" for name, value in values], counts.get(word))
        for word, values in told.items()
    }
    if learned["zeros"]:
        lines["weights"] += f"; {learned['zeros']} are 0" if lines["weights"] else f"all {learned['zeros']} are 0"
    if "left_out" in learned:
        left = listed(list(map(str, learned["left_out"])))
        lines["selected"] = f"all samples but {left}" if left else "all samples"
    if "states" in learned:
        lines["states"] = listed([f"sample {i} at {h}" for i, h in learned["states"].items()])
    return lines


def size(entry: tuple[str, float]) -> float:
    """By which entries are sorted, the largest first."""
    return -abs(entry[1])


def listed(parts: list[str], count: int | None = None) -> str:
    """FEW of the parts, and how many more there are; `count` of all, where these are some of them."""
    more = [f"and {(count or len(parts)) - FEW} more"] * (len(parts) > FEW)
    return ", ".join(parts[:FEW] + more)


def alternating(row: Mapping[str, Any]) -> dict[str, str]:
    """The end of an alternation, and the accuracy of its convex programs."""
    ended = {} if row["upper"] is None else {"objective": f"{row['upper']:.12g}, where it ended"}
    missed = f"{row['unsolved']} of {row['programs']} convex programs missed the gap asked for, the worst has"
    reached = f"all {row['programs']} convex programs solved, to"
    return ended | {"inner gap": f"{missed if row['unsolved'] else reached} {small(row['inner_gap'])}"}


def intercept_hint(data: Any, settings: Mapping[str, Any], error: float) -> str:
    """What to try where labels are learned no better than by always answering the most frequent one; else ""."""
    from workbench.outputs.multiclass import Multiclass

    if settings.get("intercept") is not False or not isinstance(data, Multiclass) or data.cost.max() > 1:
        return ""
    import numpy as np

    shares = np.bincount(data.labels, data.weights) / data.weights.sum()
    if error < 0.9 * (1 - shares.max()):
        return ""
    return (
        f"the train error is about that of always answering {data.classes[shares.argmax()]}; try a smaller lam, a "
        "column of ones in the data, or --set intercept=true, which fewer learners take."
    )


def train_loss(loss: float, largest: float) -> dict[str, str]:
    """The mean loss on the training samples; a share, in per cent, where no output's loss exceeds 1."""
    return {"train error": f"{100 * loss:.2f} %"} if largest <= 1 else {"train loss": f"{loss:.4g} a sample"}


def print_backends(rows: list[dict[str, Any]]) -> None:
    columns = ["backend", "status", "gap", "lower", "upper", "own_status", "seconds", "certificate"]
    formats = {"gap": small, "lower": below, "upper": above, "seconds": "{:.2f}".format}
    shown = [[formats.get(key, str)(row[key]) if key in row else "" for key in columns] for row in rows]
    terminal.table([column.replace("_", " ") for column in columns], shown)
    for row in rows:
        if row["status"] == "failed":
            click.echo(f"{row['backend']}: {row['evidence']}")
