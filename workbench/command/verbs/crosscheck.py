"""Check learners against the proven optimum.

A learner is a name that `cutbench list` shows, or a Python file with NAMES or with a function
fit(problem, formulation, budget, rng) -> weights, where budget is a number of passes and rng a
seed. It may yield (passes, weights), too. The weights are an array of `formulation.blocks(problem).dim`
numbers in the order of the features φ(x, y): the weights of the first class first, then of the second.
A file runs with your rights, in a process of its own.
Ctrl-C keeps the verdicts so far; with --out `cutbench resume` goes on from there.

    cutbench crosscheck iris soft-margin --learners subgradient,bcfw,./mine.py
    cutbench crosscheck iris soft-margin --learners bcfw --passes 300 --report verdicts.html
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

import click

import workbench.command.records as records
import workbench.command.terminal as terminal
from workbench.command.continuing import begun, going_on
from workbench.command.exits import INTERRUPTED, complain
from workbench.command.places import is_page, spare_folder, spare_page
from workbench.command.reporting.contents import write_report
from workbench.command.solutions import SOLVED, all_settings, resumable, solution_code, solution_record, solved
from workbench.command.words import (
    data_option,
    json_option,
    nameable,
    names_of,
    overwrite_option,
    pair,
    pair_arguments,
    positive,
    verb,
)
from workbench.errors import BadInput, NotSeparable, UnknownName
from workbench.registries import dashed, is_path, registry
from workbench.system.alarm import TimeIsUp

if TYPE_CHECKING:
    from workbench.system.journal import Journal

MOST_SEEDS = 10**6
ROOM = 1.25  # times the passes that a trend needs are advised, for trends bend
MANY = 10**6  # passes from which on they are told as a power of ten
Meant = tuple[Any, Any, dict[str, Any], Sequence[Any], tuple[float, dict[str, Any]]]  # as `named` says
VERDICT_CODES = {"agrees": 0, "not comparable": 3, "not converged": 3, "disagrees": 1, "failed": 1}


@verb(__doc__)
@pair_arguments
@click.option("--learners", metavar="A,B,./MINE.PY", help="Learners to check.  [default: all of ours that fit]")
@click.option("--learner-set", multiple=True, metavar="NAME.KEY=VALUE", help="A setting of one of these learners.")
@click.option("--passes", default=50, show_default=True, help="Passes over the data a learner may take.")
@click.option("--seed", default=0, show_default=True, help="Seed of the learners' randomness.")
@click.option("--seeds", default=1, show_default=True, metavar="N", help="Runs, with seeds from --seed on.")
@click.option("--seconds", type=float, metavar="S", help="Limit of each run and its audits; checkpoints count.")
@click.option(
    "--patience",
    type=float,
    metavar="S",
    help="Seconds of further passes before a history accuses.  [default: 30 times the learner's own, plus 2]",
)
@click.option("--tolerance", default=1e-4, show_default=True, help="Relative excess that counts as agreement.")
@click.option("--gap", default=1e-9, show_default=True, help="Relative gap of the reference.")
@click.option("--audit", is_flag=True, help="Judge on related problems, too: samples twice, features rotated, ….")
@click.option("--out", metavar="DIR", help="Folder for the record, crosscheck.json, and the reference's certificate.")
@overwrite_option
@click.option("--report", metavar="FILE.html", help="Also write one HTML page, as `cutbench report` does.")
@data_option
@json_option
def command(
    problem: str,
    formulation: str,
    settings: tuple[str, ...],
    learners: str | None,
    learner_set: tuple[str, ...],
    out: str | None,
    report: str | None,
    overwrite: bool,
    as_json: bool,
    **options: Any,
) -> int:
    words = {"problem": problem, "formulation": formulation, "settings": settings, "learners": learners}
    words |= {"learner_set": learner_set, "report": report, "options": options}
    if report is not None:  # refused before anything is computed
        spare_page(report, "--report", overwrite, writing=() if out is None else written(Path(out)))
    if out is None:
        return continued(words, None, as_json)
    stem = Path(records.REFERENCE).stem
    with resumable(folder := spare_folder(out, overwrite, "crosscheck.json", certificates=[stem])):
        meant = named(words)  # a run with a fault in its words leaves no journal
        nameable(*meant[:2])
        with begun(folder, "crosscheck", words) as journal:
            return continued(words, journal, as_json, meant)


def written(folder: Path) -> list[Path]:
    """What a run writes into its folder besides a page: files, and folders of journals."""
    from workbench.proofs.files import files_of

    names = ("crosscheck.json", "journal", "solving")
    return [*map(folder.joinpath, names), *files_of(folder / records.REFERENCE)]


def named(words: dict[str, Any]) -> Meant:
    """Problem, formulation, source, learners, and `budget`, that the words of the command mean."""
    data, form, source = pair(words["problem"], words["formulation"], words["settings"])
    chosen = learners_of(words["learners"], form, data, words["learner_set"])
    return data, form, {"name": words["problem"], "settings": source}, chosen, budget(**words["options"])


def continued(words: dict[str, Any], journal: Journal | None, as_json: bool, meant: Meant | None = None) -> int:
    """Judge the learners of which the journal has no row, and print all rows; returns the exit code.

    meant : what the words mean, if somebody has looked already
    """
    from workbench.judging.learners import left_out

    data, form, origin, chosen, (gap, judging) = meant or named(words)
    page = None if words["report"] is None else page_at(words["report"])
    folder = journal and journal.run
    reference, facts = reference_of(form, data, gap, chosen, origin, journal and going_on(journal.run / "solving"))
    facts = names_of(words["problem"], words["formulation"]) | facts | {"certificate": None}
    with ExitStack() as leaving:
        place = folder or (page and Path(leaving.enter_context(TemporaryDirectory())))
        if place is not None and not isinstance(reference, NotSeparable):
            path = reference.certificate.save(place / records.REFERENCE)
            facts["certificate"] = None if folder is None else terminal.shown_path(path)
        rows: list[dict[str, Any]] = [line.numbers["row"] for line in journal.of("row")] if journal else []
        record: dict[str, Any] = {"reference": facts, "learners": rows}
        if words["learners"] is None and (others := left_out(form, data)):
            record["left_out"] = others
        told = judging | {"gap": gap, "seeds": list(judging["seeds"])}
        kept = {"settings": all_settings(form, origin), "asked": told}
        show = None if as_json else Verdicts(facts, [each.name for each in chosen], len(judging["seeds"]))
        try:
            if show:
                for row in rows:
                    show.row(row)
            for row in judged(chosen, reference, judging, len(rows)):
                rows.append(row)
                if show:
                    show.row(row)
                if journal:
                    journal.append("row", {"row": row})
                if place is not None:
                    records.keep("crosscheck", record | kept, place)
        except KeyboardInterrupt:
            record["interrupted"] = True
        except TimeIsUp:
            record["limit"] = True
        if journal and len(rows) == len(chosen) and not journal.finished:
            journal.append("end", {})
        if page is not None and place is not None and record["learners"]:
            write_report(place / "crosscheck.json", page)
    if show:
        for name, why in record.get("left_out", {}).items():
            click.echo(f"  {name} is left out: {why}")
        click.echo()
    else:
        terminal.emit(record)
    return verdicts_code(record, len(chosen), folder)


def page_at(word: str) -> Path:
    """The file of --report; on the way back by `resume`, a file that is no page of ours is in the way."""
    page = terminal.usable_file(word, "--report")
    resumed = click.get_current_context().info_name == "resume"
    if resumed and page.exists() and not is_page(page):
        raise BadInput(f"{page} exists and is no page of ours; move it away, and resume again.")
    return page


def learners_of(words: str | None, form: Any, data: Any, settings: tuple[str, ...] = ()) -> Sequence[Any]:
    """The learners that --learners names; without the option all of ours that fit."""
    from workbench.judging.learners import fitting, learners_named

    if words is None:
        return learners_named([each.name for each in fitting(form, data)], settings)
    names = list(filter(None, map(str.strip, words.split(","))))
    if not names:
        raise BadInput("--learners names no learner; write for example --learners subgradient,bcfw.")
    try:
        return learners_named(names, settings)
    except UnknownName as unknown:
        for name in names:
            if not is_path(name) and not known(name) and Path(f"{name}.py").is_file():
                raise BadInput(f"There is no learner called {name!r}; for your file write ./{name}.py.") from unknown
        raise


def known(name: str) -> bool:
    """Whether a learner of this name comes with cutbench."""
    return any(dashed(name) in registry(kind).objects for kind in ("solver", "learner"))


def budget(
    passes: int,
    seed: int,
    seeds: int,
    seconds: float | None,
    patience: float | None,
    tolerance: float,
    gap: float,
    audit: bool,
) -> tuple[float, dict[str, Any]]:
    """The gap of the reference, and the keyword arguments of `judge`, all checked."""
    for option, value in {"passes": passes, "tolerance": tolerance, "gap": gap, "seeds": seeds}.items():
        positive(option, value)
    positive("seconds", seconds)
    if not 0 <= seed < 2**63:
        raise BadInput(f"--seed is {seed}; a seed is a whole number from 0 on, below 2**63.")
    if seeds > MOST_SEEDS:
        raise BadInput(f"--seeds is {seeds}; give at most {MOST_SEEDS} runs.")
    if patience is not None and not 0 <= patience < float("inf"):
        raise BadInput(f"--patience is {patience:g}; give seconds from 0 on, such as --patience 60.")
    runs = {"passes": passes, "seeds": range(seed, seed + seeds), "seconds": seconds, "patience": patience}
    return gap, runs | {"tolerance": tolerance, "audit": audit or None}


def reference_of(
    form: Any,
    data: Any,
    gap: float,
    learners: Sequence[Any],
    source: dict[str, Any],
    journal: Path | Journal | None = None,
) -> tuple[Any, dict[str, Any]]:
    """The certified reference and its record; for solvers that learn from mistakes a Farkas ray is a reference, too."""
    try:
        reference = solved(form, data, "reference", gap=gap, source=source, journal=journal)
    except NotSeparable as ray:
        if not any(each.ours and each.thing.learns_from_mistakes for each in learners):
            raise
        facts = {"n_samples": data.n_samples, "upper": None, "lower": None, "gap": None, "status": "not separable"}
        return ray, facts | {"evidence": str(ray)}
    return reference, solution_record(reference, data)


def judged(learners: Sequence[Any], reference: Any, options: dict[str, Any], done: int = 0) -> Iterator[dict[str, Any]]:
    """One row a learner behind the first `done`, as soon as the learner is judged."""
    from workbench.judging import reference as judging
    from workbench.judging.judge import judge

    shared = judging.reference_of(reference)  # once, so that all learners share the clean runs
    for number, each in list(enumerate(learners, 1))[done:]:
        which = f"{each.name} ({number} of {len(learners)})"
        with terminal.stdout_kept(), terminal.status(f"{which} …") as show:
            watch = None if show is None else partial(told, show, which)
            row = terminal.plain(asdict(judge(each, shared, **options, watch=watch)))
        yield row


def told(show: Callable[[str], None], which: str, stage: str) -> None:
    """Put what the judge does now on the line of a terminal."""
    show(f"{which}: {stage} …")


def verdicts_code(record: Mapping[str, Any], asked: int, run: Path | None) -> int:
    """1 if a learner disagrees or failed, 3 if a learner or the reference is undecided; prints the remedy.

    run : the folder of --out, in which `cutbench resume` continues
    """
    rows = record["learners"]
    judged = f"{len(rows)} of {asked} learners were judged"
    if run is not None and (record.get("limit") or len(rows) < asked):
        judged += f"; `cutbench resume {terminal.shown_path(run)}` continues"
    if record.get("limit"):
        return complain(f"the time limit came; {judged}; raise --time-limit.", 3)
    if len(rows) < asked:
        return complain(f"interrupted; {judged}.", INTERRUPTED)
    codes = [VERDICT_CODES.get(row["verdict"], 1) for row in rows]
    if record["reference"]["status"] not in SOLVED:
        codes.append(solution_code(record["reference"]))
    elif 3 in codes and 1 not in codes:
        complain(advice([row for row, code in zip(rows, codes, strict=True) if code == 3]), 3)
    return 1 if 1 in codes else max(codes)


def advice(rows: Sequence[Mapping[str, Any]]) -> str:
    """What to do about learners without a verdict: more passes help those that have not converged, and no others."""
    going = ", ".join(still_open(row) for row in rows if row["verdict"] == "not converged")
    others = ", ".join(row["name"] for row in rows if row["verdict"] != "not converged")
    parts = [f"no verdict yet: {going}; raise --passes, or accept a larger excess by --tolerance"] * bool(going)
    parts += [f"no verdict possible: {others}; the column `because` says why"] * bool(others)
    return "; ".join(parts) + "."


def still_open(row: Mapping[str, Any]) -> str:
    """A learner without a verdict, and what its trend needs with room for bending: passes, rounded up to two digits,
    and seconds if each pass takes as long as now.
    """
    needed, passes, seconds = row["needed"], row["passes"], row["seconds"]
    if None in (needed, passes, seconds) or not 0 < needed < math.inf:
        return row["name"]
    unit = 10 ** max(math.floor(math.log10(ROOM * needed)) - 1, 0)
    enough = math.ceil(ROOM * needed / unit) * unit
    told = f"{enough:,}" if enough < MANY else f"{enough:.1e}"
    return f"{row['name']} ({told} passes, a quarter more than its trend needs, take {enough / passes * seconds:.2g} s)"


class Verdicts:
    """The table of verdicts on stdout, each row as soon as its learner is judged.

    The widths of the columns are known before the rows are: those of the names and of the longest verdict.
    """

    WIDTHS: ClassVar = {"verdict": max(map(len, VERDICT_CODES)), "seeds": 8, "excess": 7, "passes": 6, "seconds": 7}

    def __init__(self, reference: Mapping[str, Any], names: Sequence[str], seeds: int):
        self.columns = ["verdict", *(["seeds"] if seeds > 1 else []), "excess", "passes", "seconds"]
        self.widths = [max(map(len, ["learner", *names])), *(self.WIDTHS[each] for each in self.columns)]
        title = f"{reference['problem']} {reference['formulation']}"
        unproven = reference.get("evidence", "no joint optimum")
        optimum = unproven if reference["upper"] is None else f"optimum in {terminal.interval(reference)}"
        told = (
            f"{reference['status']}: {optimum}" if reference["upper"] is None else f"{optimum}, {reference['status']}"
        )
        click.echo(f"{title}: {told}")
        self.line(["learner", *self.columns, "because"])

    def row(self, row: Mapping[str, Any]) -> None:
        row = {**row, "seeds": agreeing(row)}
        formats = {"excess": "{:.1e}".format, "passes": "{:g}".format, "seconds": "{:.2f}".format}
        cells = ["" if row[key] is None else formats.get(key, str)(row[key]) for key in self.columns]
        self.line([row["name"], *cells, row["reason"]])

    def line(self, cells: Sequence[str]) -> None:
        terminal.line(cells, self.widths)
        sys.stdout.flush()


def agreeing(row: Mapping[str, Any]) -> str:
    """How many runs of a learner have its verdict."""
    return f"{sum(run['verdict'] == row['verdict'] for run in row['runs'])} of {len(row['runs'])}"
