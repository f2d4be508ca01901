"""The command `cutbench`: each command parses its words, calls the Python API, and prints.

    stdout   the answer: readable text, or with --json one object and nothing else
    stderr   progress (on a terminal), remedies, and errors: one line that starts with `cutbench:`

Exit codes: 0 solved, stationary, agrees, proven · 1 disagrees, failed, not proven · 2 bad input or
usage · 3 not converged, limit, stalled, cycle · 70 a bug of ours · 130 interrupted. CUTBENCH_DEBUG=1
shows the traceback of any error. Numerical packages are imported inside the commands, so that
`--help` is instant.
"""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

import workbench.command.terminal as terminal
from workbench import __version__
from workbench.data.loading import load_problem
from workbench.errors import BackendFailed, BadInput, CutbenchError, MissingCapability, NotSeparable, UnknownName
from workbench.registries import (
    KINDS,
    REQUIRED,
    Setting,
    build,
    compatibility,
    dashed,
    is_path,
    parse_settings,
    present,
    registry,
    settings_of,
)

BUG = 70
INTERRUPTED = 130
SOLVED = ("optimal", "stationary", "not separable")  # the last with a Farkas ray as proof
VERDICT_CODES = {"agrees": 0, "not comparable": 3, "not converged": 3, "disagrees": 1, "failed": 1}
REMEDIES = {
    "limit": "a limit came first; raise --time-limit or --max-rounds, or ask for a larger --gap",
    "stalled": "the backend can give no more digits; try another --backend, or ask for a larger --gap",
    "cycle": "the iterates repeat; change the start or the settings",
}


class Commands(click.Group):
    """A group whose commands return exit codes and whose errors are one line on stderr."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of this file, which is a newcomer's

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or ["--help"])

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        if not standalone_mode or debugging():
            code = super().main(*args, standalone_mode=False, **extra)
        else:
            code = self.guarded(*args, **extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def guarded(self, *args: Any, **extra: Any) -> int | None:
        """The exit code; every error has become one line, and with --json also the one object."""
        words = args[0] if args else extra.get("args")
        try:
            return super().main(*args, standalone_mode=False, **extra)
        except (Exception, SystemExit) as error:
            sentence, code = told(error)
            if "--json" in (sys.argv[1:] if words is None else words):
                terminal.emit({"error": sentence, "exit_code": code})
            return complain(sentence, code)


class Benchmarks(click.Command):
    """A command whose help ends with the benchmarks of this installation."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = registry("benchmark").items() if present("benchmark") else []
        with formatter.section("Benchmarks"):
            formatter.write_dl([(name, entry("benchmark", name, obj)["summary"]) for name, obj in found])


class Interrupted(CutbenchError):
    """A run that was interrupted and can be continued."""

    exit_code = INTERRUPTED


def told(error: Exception | SystemExit) -> tuple[str, int]:
    """An error as one sentence, and the exit code."""
    if isinstance(error, click.Abort):
        return "interrupted.", INTERRUPTED
    if isinstance(error, click.UsageError):
        where = f" ({error.ctx.command_path} --help explains)" if error.ctx else ""
        return error.format_message().rstrip(".") + f"{where}.", 2
    if isinstance(error, click.ClickException):
        return error.format_message(), 2
    if isinstance(error, CutbenchError):
        return str(error), error.exit_code
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename or 'a file'}; check the path.", 2
    if isinstance(error, SystemExit):
        return f"Somebody's code left with exit({error}) instead of an answer; remove that from your files.", 2
    if isinstance(error, MemoryError):
        return f"The memory does not suffice ({error or 'nobody says for what'}); take fewer features or samples.", 2
    if isinstance(error, ModuleNotFoundError):
        if (error.name or "workbench").split(".")[0] != "workbench":
            return f"The package {error.name} is missing; `cutbench doctor` says what brings it.", 2
        return f"This installation has no {error.name}; install cutbench again.", BUG
    fault = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"this is a bug of ours ({fault}); CUTBENCH_DEBUG=1 shows where, please report it.", BUG


def debugging() -> bool:
    return os.environ.get("CUTBENCH_DEBUG") == "1"


def complain(sentence: str, code: int) -> int:
    click.echo(f"cutbench: {' '.join(sentence.split())}", err=True)
    return code


def json_option(command: Callable) -> Callable:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")(command)


def data_option(command: Callable) -> Callable:
    """--data DIR: where loaders look first; the same as $CUTBENCH_DATA."""

    def remember(context: click.Context, option: click.Parameter, folder: str | None) -> None:
        if folder is not None:
            if not Path(folder).is_dir():
                raise BadInput(f"The data folder {folder} does not exist; correct --data.")
            os.environ["CUTBENCH_DATA"] = folder

    help_ = "Folder of the data sets.  [default: $CUTBENCH_DATA]"
    return click.option("--data", metavar="DIR", expose_value=False, callback=remember, help=help_)(command)


def set_option(command: Callable) -> Callable:
    text = "A setting of the problem or the formulation, e.g. lam=0.1; `cutbench list NAME` shows them."
    return click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=text)(command)


CODES = """Exit codes: 0 solved, agrees, proven · 1 disagrees, failed, not proven · 2 bad input · 3 not converged,
a limit, stalled · 70 a bug · 130 interrupted. CUTBENCH_DEBUG=1 shows the traceback of any error."""


@click.group(cls=Commands, epilog=CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="cutbench")
def cli() -> None:
    """Structured prediction solved to a proven optimum, and learners checked against it.

    PROBLEM is a name that `cutbench list` shows, a svmlight, CSV or npz file, or a Python file that
    defines a problem; a Python file runs with your rights.
    """


# ── demo ─────────────────────────────────────────────────────────────────────────────────────────────


@cli.command()
@click.option("--out", default="runs/demo", show_default=True, metavar="DIR", help="Folder of its files.")
def demo(out: str) -> int:
    """Small real data: proven, cross-checked, drawn."""
    folder = terminal.usable_folder(out)
    from workbench.command.demo import main

    return main(folder) or 0


# ── list ──────────────────────────────────────────────────────────────────────────────────────────


@cli.command("list")
@click.argument("name", required=False)
@json_option
def list_(name: str | None, as_json: bool) -> int:
    """Show all names and what fits what.

    With NAME its settings, defaults and formula.
    """
    entries = [entry(kind, key, obj) for kind in filter(present, KINDS) for key, obj in registry(kind).items()]
    if name is not None:
        found = [each for each in entries if each["name"] == dashed(name)]
        if not found:
            raise UnknownName("name", name, {each["name"] for each in entries})
        if as_json:
            terminal.emit({"entries": found})
        else:
            terminal.print_entries(found)
        return 0
    pairs = compatibility()
    if as_json:
        terminal.emit({"entries": entries, "compatibility": [asdict(each) for each in pairs]})
    else:
        terminal.print_registries(entries, pairs)
    return 0


def entry(kind: str, name: str, obj: Any) -> dict[str, Any]:
    """What `list` tells about one name; the formula is its file's docstring."""
    formula = inspect.getdoc(registry(kind).modules[name]) or ""
    thing = getattr(obj, "draw", obj)  # a figure is what draws it
    own = inspect.getdoc(thing) if inspect.isclass(thing) or inspect.isroutine(thing) else None
    settings = settings_of(obj) if callable(obj) else {}
    shown = [{"key": s.name, "type": s.kind, "default": default_of(s)} for s in settings.values()]
    summary = (own or formula).partition("\n")[0]
    return {"kind": kind, "name": name, "summary": summary, "settings": shown, "formula": formula}


def default_of(setting: Setting) -> Any:
    return None if setting.default is REQUIRED else setting.default


# ── solve ─────────────────────────────────────────────────────────────────────────────────────────


@cli.command()
@click.argument("problem")
@click.argument("formulation")
@set_option
@click.option("--gap", default=1e-9, show_default=True, help="Relative gap to prove.")
@click.option("--backend", metavar="NAME|all", help="The convex solver; `all` asks each that is installed.")
@click.option("--groups", metavar="one|all|N", help="Rows a round: one (one-slack) to all (n-slack, the default).")
@click.option("--time-limit", type=float, metavar="S", help="Stop after S seconds.")
@click.option("--max-rounds", type=int, metavar="N", help="Stop after N rounds of cuts.")
@click.option("--polish", is_flag=True, help="Then look for the exact optimum, a fraction.")
@click.option("--out", metavar="DIR", help="Folder of the certificate.  [default: runs/PROBLEM-FORMULATION]")
@data_option
@json_option
def solve(
    problem: str,
    formulation: str,
    settings: tuple[str, ...],
    gap: float,
    backend: str | None,
    groups: str | None,
    time_limit: float | None,
    max_rounds: int | None,
    polish: bool,
    out: str | None,
    as_json: bool,
) -> int:
    """Solve PROBLEM under FORMULATION to a proven gap.

    Each finished round is kept in the journal of the folder: `cutbench resume` continues what was
    interrupted, killed or ended by a limit.
    """
    data, form, source = pair(problem, formulation, settings)
    names = {"problem": short_name(problem), "formulation": dashed(formulation)}
    folder = terminal.usable_folder(out or Path("runs") / "-".join(names.values()))
    options = {"gap": positive("gap", gap), "time_limit": positive("time-limit", time_limit)}
    options |= {"max_rounds": positive("max-rounds", max_rounds), "groups": groups, "polish": polish}
    run = Run(folder, data, form, names, {"name": problem, "settings": source}, as_json)
    with resumable(folder):
        if backend is not None and backend.lower() == "all":
            return run.by_all(options)
        return run.by_one({"backend": backend, **options, "journal": folder})


@cli.command()
@click.argument("run")
@click.option("--gap", type=float, help="Relative gap to prove.  [default: as it was]")
@click.option("--time-limit", type=float, metavar="S", help="Stop after S more seconds.")
@click.option("--max-rounds", type=int, metavar="N", help="Stop after N more rounds of cuts.")
@data_option
@json_option
def resume(run: str, gap: float | None, time_limit: float | None, max_rounds: int | None, as_json: bool) -> int:
    """Continue an interrupted run.

    RUN is the folder of a `solve` that was interrupted, killed, or ended by a limit. Problem files are
    read again and must hold the same data. Limits given to `solve` no longer count.
    """
    from workbench.system.journal import Journal

    limits = {"gap": positive("gap", gap), "time_limit": positive("time-limit", time_limit)}
    limits |= {"max_rounds": positive("max-rounds", max_rounds)}
    with resumable(Path(run)), Journal.resume(run) as journal:
        words = journal.settings
        if "name" not in words["source"]:
            raise MissingCapability(
                f"The run in {run} was begun in Python; go on there, with solve(…, journal=Journal.resume({run!r}))."
            )
        source, formulation = words["source"], words["formulation"]
        place = Path(words["folder"], source["name"]) if is_path(source["name"]) else source["name"]
        data = problem_of(build(load_problem(place), source.get("settings", {})), source["name"])
        form = build(registry("formulation").get(formulation["name"]), formulation["settings"])
        options = words["options"] | {key: value for key, value in limits.items() if value is not None}
        if journal.finished and (gap is None or gap >= journal.entries[-1].numbers.get("gap", 0)):
            complain(f"the run in {run} is finished; this is its result.", 0)
        names = {"problem": short_name(source["name"]), "formulation": formulation["name"]}
        again = Run(Path(run), data, form, names, source, as_json)
        if options["backend"] == "all":
            return again.by_all(options, journal)
        return again.by_one(options | {"journal": journal})


@dataclass
class Run:
    """One `solve` into a folder, begun or continued."""

    folder: Path
    data: Any
    formulation: Any
    names: dict[str, str]
    source: dict[str, Any]
    as_json: bool

    def row(self, stem: str, options: dict[str, Any]) -> dict[str, Any]:
        """Solve, leave the certificate, and say what `--json` prints."""
        text = " ".join(self.names.values())
        solution = solved(self.formulation, self.data, text, source=self.source, **options)
        record = self.names | solution_record(solution, self.data)
        if options["polish"]:
            record |= polished(solution.certificate)
        path = solution.certificate.save(self.folder / stem)
        return record | {"certificate": terminal.shown_path(path), "own_status": solution.own_status}

    def by_one(self, options: dict[str, Any]) -> int:
        row = self.row("certificate", options)
        remark = row.pop("own_status")
        terminal.emit(row) if self.as_json else terminal.print_solution(row)
        return solution_code(row, remark, self.folder)

    def by_all(self, options: dict[str, Any], journal: Any = None) -> int:
        """One row a backend; the journal keeps them, so that none is computed again unless a limit ended it."""
        from workbench.solving.recording import journalled
        from workbench.solving.request import Request

        asked = {key: options[key] for key in ("gap", "groups", "polish")}
        request = Request(**asked, backend="all", source=self.source)
        with journalled(journal or self.folder, self.formulation, self.data, request) as kept:
            rows = {entry.numbers["name"]: entry.numbers["row"] for entry in kept.of("row")}
            for name in installed_backends():
                if name not in rows or rows[name]["status"] == "limit":
                    rows[name] = self.tried(name, options | {"backend": name})
                    kept.append("row", {"name": name, "row": rows[name]})
            if all(row["status"] != "limit" for row in rows.values()) and not kept.finished:
                kept.append("end", {})
        shown = list(rows.values())
        record = self.names | {"n_samples": self.data.n_samples, "rows": shown}
        terminal.emit(record) if self.as_json else terminal.print_backends(shown)
        return backends_code(shown)

    def tried(self, name: str, options: dict[str, Any]) -> dict[str, Any]:
        began = time.perf_counter()
        try:
            return self.row(name.lower(), options)
        except (BackendFailed, MissingCapability) as error:
            seconds = time.perf_counter() - began
            return {"backend": name, "status": "failed", "evidence": str(error), "seconds": seconds, "own_status": ""}


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Turn an interruption into one line that says how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        if not (folder / "journal").is_dir():
            raise
        raise Interrupted(f"interrupted; `cutbench resume {terminal.shown_path(folder)}` continues.") from None


def pair(problem: str, formulation: str, settings: tuple[str, ...]) -> tuple[Any, Any, dict[str, Any]]:
    """The problem and the formulation that the user's words mean, and the problem's settings."""
    form = registry("formulation").get(formulation)
    source = load_problem(problem)
    for_problem, for_form = parse_settings(settings, source, form)
    chosen, data = build(form, for_form), build(source, for_problem)
    return problem_of(data, problem), chosen, for_problem


def problem_of(data: Any, name: str) -> Any:
    from workbench.contracts import Problem

    if not isinstance(data, Problem):
        raise BadInput(f"{name} gives a {type(data).__name__}, no problem; return for example wb.Multiclass(X, y).")
    return data


def solved(form: Any, data: Any, text: str, **options: Any) -> Any:
    import workbench

    try:
        with terminal.stdout_kept(), terminal.progress(text) as observe:
            return workbench.solve(form, data, observe=observe, **options)
    except MemoryError:
        size = form.blocks(data).dim
        told = f"θ has {size} entries, {8 * size / 2**30:.2g} GiB"
        raise BadInput(f"The memory does not suffice ({told}, several times over); take fewer features.") from None


def short_name(problem: str) -> str:
    return Path(problem).stem if is_path(problem) else dashed(problem)


def positive(option: str, value: Any) -> Any:
    if value is not None and not 0 < value < float("inf"):
        raise BadInput(f"--{option} is {value}; give a positive number.")
    return value


def installed_backends() -> list[str]:
    from workbench.backends.solvers import BACKENDS

    return [name for name, backend in BACKENDS.items() if backend.installed]


def solution_record(solution: Any, data: Any) -> dict[str, Any]:
    """The fields of `--json`, in their order; names and the certificate's path aside."""
    own = ("upper", "lower", "lower_kind", "gap", "status", "cuts", "rounds", "seconds", "cpu_seconds")
    own += ("compile_seconds", "oracle_seconds", "master_seconds", "backend", "oracle", "train_error")
    record = {"n_samples": data.n_samples, "dim": len(solution.theta_flat)}
    record |= {field: getattr(solution, field) for field in own}
    if solution.lower_kind == "none":
        record |= inner_record(solution.history) | {"history": solution.history}
    return terminal.plain(record)


def inner_record(history: list[dict[str, Any]]) -> dict[str, Any]:
    """Of all convex programs of an alternation: how many, how many missed their gap, and the largest gap."""
    sums = {name: sum(entry[name] for entry in history) for name in ("programs", "unsolved")}
    return sums | {"inner_gap": max(entry["inner_gap"] for entry in history)}


def polished(certificate: Any) -> dict[str, Any]:
    """The field `optimum`, a fraction or None; then a remark goes to stderr."""
    from workbench.proofs.exact import text

    if certificate.optimum is None:
        complain(certificate.remark, 0)
        return {"optimum": None}
    return {"optimum": text(certificate.optimum)}


def solution_code(row: dict[str, Any], remark: str = "", run: Path | None = None) -> int:
    """0 if solved; else 3, with the remedy on stderr; `remark` is what the backend said, `run` can be resumed."""
    if row["status"] in SOLVED:
        return 0
    from workbench.backends.solvers import STOPPED

    said = f" ({remark})" if STOPPED in remark else ""
    more = f"; `cutbench resume {terminal.shown_path(run)}` goes on" if run and row["status"] == "limit" else ""
    return complain(f"{row['status']}{said}: {REMEDIES.get(row['status'], 'no proof was reached')}{more}.", 3)


def backends_code(rows: list[dict[str, Any]]) -> int:
    """1 if two backends' proven intervals exclude each other, 0 if one reached the gap, else 3."""
    proven = [row for row in rows if None not in (row.get("lower"), row.get("upper"))]
    if proven and max(row["lower"] for row in proven) > min(row["upper"] for row in proven):
        return complain("two proven intervals exclude each other: the oracle or the features are wrong.", 1)
    if any(row["status"] in SOLVED for row in rows):
        return 0
    return complain("no backend reached the gap; ask for a larger --gap.", 3)


# ── crosscheck ────────────────────────────────────────────────────────────────────────────────────


@cli.command()
@click.argument("problem")
@click.argument("formulation")
@click.option("--learners", metavar="A,B,./MINE.PY", help="Learners to check.  [default: all of ours that fit]")
@set_option
@click.option("--passes", default=50, show_default=True, help="Passes over the data a learner may take.")
@click.option("--seed", default=0, show_default=True, help="Seed of the learners' randomness.")
@click.option("--seeds", default=1, show_default=True, metavar="N", help="Runs, with seeds from --seed on.")
@click.option("--seconds", type=float, metavar="S", help="Limit of each run; checkpoints until then are judged.")
@click.option("--tolerance", default=1e-4, show_default=True, help="Relative excess that counts as agreement.")
@click.option("--gap", default=1e-9, show_default=True, help="Relative gap of the reference.")
@click.option("--audit", is_flag=True, help="Judge on related problems, too: samples twice, features rotated, ….")
@click.option("--out", metavar="DIR", help="Folder for the record, crosscheck.json, and the reference's certificate.")
@data_option
@json_option
def crosscheck(
    problem: str,
    formulation: str,
    learners: str | None,
    settings: tuple[str, ...],
    passes: int,
    seed: int,
    seeds: int,
    seconds: float | None,
    tolerance: float,
    gap: float,
    audit: bool,
    out: str | None,
    as_json: bool,
) -> int:
    """Check learners against the proven optimum.

    A learner is a name that `cutbench list` shows, or a Python file with NAMES or with a function
    fit(problem, formulation, budget, rng) -> weights, where budget is a number of passes and rng a
    seed. It may yield (passes, weights), too. A file runs with your rights, in a process of its own.
    Ctrl-C keeps what is judged.
    """
    data, form, source = pair(problem, formulation, settings)
    from workbench.judging.judge import fitting, learners_named

    words = None if learners is None else list(filter(None, map(str.strip, learners.split(","))))
    if words == []:
        raise BadInput("--learners names nobody; write for example --learners subgradient,bcfw.")
    chosen = fitting(form, data) if words is None else learners_named(words)
    for option, value in {"passes": passes, "tolerance": tolerance, "gap": gap, "seeds": seeds}.items():
        positive(option, value)
    positive("seconds", seconds)
    if seed < 0:
        raise BadInput(f"--seed is {seed}; a seed is a whole number from 0 on.")
    folder = None if out is None else terminal.usable_folder(out)
    names = {"problem": short_name(problem), "formulation": dashed(formulation)}
    by_mistakes = any(hasattr(each.thing, "share") for each in chosen)
    reference, told = referenced(form, data, gap, by_mistakes, {"name": problem, "settings": source})
    path = None
    if folder is not None and hasattr(reference, "certificate"):
        path = terminal.shown_path(reference.certificate.save(folder / "reference"))
    options = {"passes": passes, "seeds": range(seed, seed + seeds), "tolerance": tolerance, "seconds": seconds}
    record: dict[str, Any] = {"reference": names | told | {"certificate": path}, "learners": (rows := [])}
    try:
        for number, each in enumerate(chosen, 1):
            doing = f"{each.name} ({number} of {len(chosen)}) …"
            rows.append(checked(each, reference, doing, audit=audit or None, **options))
            if folder is not None:
                terminal.keep(record, folder / "crosscheck.json")
    except KeyboardInterrupt:
        record["interrupted"] = True
    if as_json:
        terminal.emit(record)
    else:
        terminal.print_verdicts(record)
    if len(rows) < len(chosen):
        return complain(f"interrupted; {len(rows)} of {len(chosen)} learners were judged.", INTERRUPTED)
    codes = [VERDICT_CODES.get(row["verdict"], 1) for row in rows]
    if record["reference"]["status"] not in SOLVED:
        codes.append(solution_code(record["reference"]))
    elif 3 in codes and 1 not in codes:
        complain("no verdict was reached on every learner; raise --passes, or see the reasons.", 3)
    return 1 if 1 in codes else max(codes)


def referenced(form: Any, data: Any, gap: float, mistakes: bool, source: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The certified reference and its record; for solvers judged by mistakes, a Farkas ray is one, too."""
    try:
        reference = solved(form, data, "reference", gap=gap, source=source)
    except NotSeparable as ray:
        if not mistakes:
            raise
        told = {"n_samples": data.n_samples, "upper": None, "lower": None, "gap": None, "status": "not separable"}
        return ray, told | {"evidence": str(ray)}
    return reference, solution_record(reference, data)


def checked(learner: Any, reference: Any, doing: str, **options: Any) -> dict[str, Any]:
    """One learner's row."""
    from workbench.judging.judge import judge

    with terminal.stdout_kept(), terminal.status(doing):
        return terminal.plain(asdict(judge(learner, reference, **options)))


# ── verify, predict ───────────────────────────────────────────────────────────────────────────────


@cli.command()
@click.argument("certificate")
@click.option("--data", metavar="FILE", help="Also prove that the certificate is about this data file.")
@json_option
def verify(certificate: str, data: str | None, as_json: bool) -> int:
    """Prove a certificate again, without any solver."""
    from workbench.proofs.certificate import verify as prove

    result = prove(json_path(certificate), data_problem_of(data) if data else None, f"the data in {data}")
    if as_json:
        terminal.emit(result)
    else:
        terminal.print_proof(result)
    return 0 if result["proven"] else 1


def json_path(certificate: str) -> Path:
    """The certificate's JSON file, also if the user names its folder, its npz file, or both by their stem."""
    from workbench.proofs.certificate import files_of

    path = Path(certificate)
    return path / "certificate.json" if path.is_dir() else files_of(path)[0]


def data_problem_of(path: str) -> Any:
    from workbench.data.readers import data_problem

    return data_problem(path)()


@cli.command()
@click.argument("result")
@click.argument("data")
@json_option
def predict(result: str, data: str, as_json: bool) -> int:
    """Predict for a data file with certified weights.

    RESULT is a certificate, DATA a svmlight, CSV or npz file. Columns with names are matched by name,
    svmlight's indices count from 0 or 1 as in the file learned from. Prints one output a line; if the
    file holds labels too, the share of wrong ones goes to stderr.
    """
    from workbench.data.readers import read
    from workbench.outputs.multiclass import Multiclass
    from workbench.proofs.certificate import load

    path = json_path(result)
    certificate, _ = load(path)
    problem = certificate.problem
    if not isinstance(problem, Multiclass):
        raise MissingCapability(f"{path} is about {type(problem).__name__} outputs; predict reads tables only.")
    table = read(data, problem.n_inputs, problem.columns)
    parts = certificate.formulation.blocks(problem).split(certificate.theta)
    predictions = problem.predict(parts["w"], table.X, parts.get("b"))
    error = error_rate(predictions, table.y, problem.classes)
    if as_json:
        terminal.emit({"n_samples": len(predictions), "predictions": predictions, "error": error})
        return 0
    click.echo("\n".join(map(str, predictions)))
    if error is not None:
        click.echo(f"{100 * error:.2f} % of {len(predictions)} differ from the labels in {data}", err=True)
    elif table.y is not None and len(given := set(table.y.tolist())) > 1:  # one label for all stands for none
        strange = sorted(map(str, given - set(problem.classes.tolist())))
        click.echo(f"not compared with the labels in {data}: the weights do not know {', '.join(strange)}", err=True)
    return 0


def error_rate(predictions: Any, labels: Any, classes: Any) -> float | None:
    """The share of wrong predictions; None without labels, or with labels the weights do not know."""
    if labels is None or len(labels) != len(predictions) or not set(labels.tolist()) <= set(classes.tolist()):
        return None
    return float((predictions != labels).mean())


# ── figures, doctor, bench ────────────────────────────────────────────────────────────────────────


@cli.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--out", default="runs/figures", show_default=True, metavar="DIR", help="Folder of the pictures.")
def figures(names: tuple[str, ...], out: str) -> int:
    """Draw figures: PNG, SVG, and their data as CSV.

    Without a NAME all of them.
    """
    known = registry("figure")
    chosen = {name: known.get(name) for name in names or known.names()}
    folder = terminal.usable_folder(out)
    from workbench.command.pictures import make

    for path in make(list(chosen), folder):
        click.echo(terminal.shown_path(path))
    return 0


@cli.command()
@json_option
def doctor(as_json: bool) -> int:
    """Examine the installation: packages, backends, caches, data."""
    from workbench.command.doctor import examine, remedies

    with terminal.stdout_kept():
        report = examine()
    if as_json:
        terminal.emit(report)
    else:
        terminal.print_report(report, remedies(report))
    return 0 if report["ok"] else 1


@cli.command(cls=Benchmarks)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the benchmark.")
@json_option
def bench(names: tuple[str, ...], settings: tuple[str, ...], as_json: bool) -> int:
    """Run benchmarks of a checkout.

    Without a NAME all of them. Ends with exit code 1 if one of them has failures to report; one that
    cannot run says why, and the others go on. Ctrl-C keeps what is found.
    """
    known = registry("benchmark")
    chosen = {name: known.get(name) for name in names or known.names()}
    plans = [(name, obj, parse_settings(settings, obj)[0]) for name, obj in chosen.items()]
    results: dict[str, dict[str, Any]] = {}
    late = ""
    for name, obj, given in plans:
        try:
            with terminal.stdout_kept(), terminal.status(f"{name} …") as show:
                for results[name] in records(build(obj, given)):
                    if show and "finished" in results[name]:
                        show(f"{name}: {results[name]['finished']} …")
        except KeyboardInterrupt:
            late, results[name] = name, results.get(name, {}) | {"interrupted": True}
        except CutbenchError as error:
            if len(plans) == 1:
                raise
            results[name] = {"failed": 1, "error": str(error)}
        if not as_json:
            click.echo(name)
            terminal.facts(results[name])
        if late:
            break
    if as_json:
        terminal.emit(results[names[0]] if len(names) == 1 else results)
    if late:
        return complain(f"interrupted in {late}, benchmark {len(results)} of {len(plans)}.", INTERRUPTED)
    return int(any(result.get("failed") for result in results.values()))


def records(made: Any) -> Iterator[dict[str, Any]]:
    """What a benchmark returns; or all that it yields, each more complete than the last."""
    if inspect.isgenerator(made):
        yield from made
    else:
        yield made


def main() -> None:
    """The entry point `cutbench`."""
    cli(prog_name="cutbench")


if __name__ == "__main__":
    main()
