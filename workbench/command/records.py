"""Records on disk: what a verb prints with --json, kept beside how it was asked and by which versions.

    FOLDER/solve.json        of `solve` and `resume`, with the history of the run
    FOLDER/crosscheck.json   of `crosscheck`
    FOLDER/prove.json        of `prove`
    FOLDER/path.json         of `path`

A file is the object that --json prints and a key `about`: format, verb, command, versions. docs/records.schema.json
describes all records. `run_at` finds the record of a folder or file again; a certificate without a record, as Python
code saves one, is a run of the kind `certificate`. Records prove nothing: bounds are taken from certificates.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.shapes import INTERVAL, SHAPES, TEXT, checked, unwieldy
from workbench.errors import BadInput, CutbenchError

FORMAT = "cutbench-record-1"
REFERENCE = "reference.json"  # the certificate of a crosscheck's reference, beside its record
LARGEST = 2**26  # bytes of a record that is read


@dataclass(frozen=True)
class Run:
    """A record on disk: its kind (a key of SHAPES, or `certificate`), its file, and the certificate that it names."""

    kind: str
    path: Path
    record: dict[str, Any]
    certificate: Path | None

    @property
    def about(self) -> dict[str, Any]:
        return self.record.get("about", {})

    @property
    def told(self) -> dict[str, Any]:
        """What is said of the optimum: of a crosscheck its reference, of other runs the record itself."""
        return self.record["reference"] if self.kind == "crosscheck" else self.record

    @property
    def of_program(self) -> bool:
        """Whether it is about a convex program."""
        return self.kind == "prove" or (self.kind == "certificate" and self.record["formulation"] == "program")

    @property
    def title(self) -> str:
        """What was asked, in a few words."""
        if self.of_program:
            return str(self.record.get("program", "program"))
        return f"{self.told['problem']} {self.told['formulation']}"


# ── writing ───────────────────────────────────────────────────────────────────────────────────────


def keep(kind: str, record: Mapping[str, Any], folder: Path) -> Path:
    """Write FOLDER/KIND.json for the verb that is running, whole or not at all."""
    from workbench.proofs.certificate import versions

    context = click.get_current_context()
    about = {"format": FORMAT, "verb": kind, "command": command_line(context), "versions": versions()}
    path = folder / f"{kind}.json"
    terminal.keep({"about": about} | dict(record), path)
    return path


def command_line(context: click.Context) -> str:
    """The command as one would type it, options at their defaults and --json left out."""
    words = ["cutbench", str(context.info_name)]
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name), context.meta.get(f"cutbench.{parameter.name}"))
        if isinstance(parameter, click.Argument):
            words += [str(each) for each in ([value] if isinstance(value, str) else value or [])]
        elif isinstance(parameter, click.Option) and parameter.name != "as_json":
            words += spelled(parameter, value, context)
    return shlex.join(words)


def spelled(option: click.Option, value: Any, context: click.Context) -> list[str]:
    """An option with its value as words; none where the value is the default."""
    name = option.opts[-1]
    if value is None or value in ((), option.get_default(context)):
        return []
    if option.is_flag:
        return [name]
    return [word for each in (value if option.multiple else [value]) for word in (name, str(each))]


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def run_at(word: str | Path) -> Run:
    """The run that a folder, a record or a certificate holds; `word` may be the stem of a certificate's files.

    Raises
    ------
    BadInput : no such file; a folder with no run or with several; a file that is no record
    """
    path = Path(word)
    if not path.is_dir():
        return run_of(path if path.exists() else stem_file(path))
    from workbench.system.journal import unfinished

    found = runs_in(path)
    if not found and unfinished(path):
        raise BadInput(f"{path} holds an unfinished run; `cutbench resume {path}` continues it.")
    if not found:
        raise BadInput(f"{path} holds no run; name a folder that --out named, or list runs with `cutbench runs`.")
    if len(found) > 1:
        names = ", ".join(str(run.path) for run in found)
        raise BadInput(f"{path} holds {len(found)} runs; name one of {names}.")
    return found[0]


def stem_file(path: Path) -> Path:
    """STEM.json where `path` is the stem of such a file, else `path`."""
    from workbench.proofs.checker.archive import files_of

    beside = files_of(path)[0] if path.name else path
    return beside if beside.is_file() else path


def runs_in(folder: Path) -> list[Run]:
    """The runs of one folder: its records, or else the certificates that no record explains."""
    records = [run_of(folder / f"{kind}.json") for kind in SHAPES if (folder / f"{kind}.json").is_file()]
    return records or [run_of(path) for path in certificates_in(folder)]


def certificates_in(folder: Path) -> list[Path]:
    """The JSON files of a folder that have an npz file beside them, which makes both a certificate."""
    return sorted(path for path in folder.glob("*.json") if path.with_suffix(".npz").is_file())


def below(folder: Path) -> Iterator[tuple[Path, Run | str | CutbenchError]]:
    """Every run in a folder and the folders inside, with its path.

    An unfinished run without a record comes as its verb, an unreadable one as its error.
    """
    from workbench.system.journal import unfinished

    for each in sorted({folder, *(path for path in folder.rglob("*") if path.is_dir() and path.name != "journal")}):
        try:
            found = runs_in(each)
            yield from ((run.path, run) for run in found)
            if not found and (begun := unfinished(each)):
                yield each, begun
        except CutbenchError as error:
            yield each, error


def run_of(path: Path) -> Run:
    """The run of one file: a record, or a certificate by its JSON or npz file."""
    if path.suffix == ".npz":
        path = path.with_suffix(".json")
    content = content_of(path)
    if str(content.get("format", "")).startswith("cutbench-certificate"):
        return Run("certificate", path, of_certificate(path, content), path)
    kind = kind_of(content)
    if kind is None:
        raise BadInput(f"{path} is no record of cutbench; name a file that `cutbench solve` or `crosscheck` wrote.")
    checked(content, SHAPES[kind], path)
    told = content["reference"] if kind == "crosscheck" else content
    if kind in ("solve", "crosscheck") and "rows" not in told:
        checked(told, INTERVAL, path)
    if (at := unwieldy(content)) is not None:
        raise BadInput(f"{path} is a damaged record, its {at!r} is a number too large; run it again.")
    return Run(kind, path, content, named_certificate(path, content))


def content_of(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    if not path.is_file():
        raise BadInput(f"There is no record {path}; check the path.")
    if path.stat().st_size > LARGEST:
        raise BadInput(f"{path} has more than {LARGEST >> 20} MiB, too many for a record; name another file.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise BadInput(f"{path} is no JSON; name a record or a certificate.") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path} holds no JSON object; name a record or a certificate.")
    return content


def kind_of(content: Mapping[str, Any]) -> str | None:
    """The kind of a record, by its `about` or, for what --json printed, by its keys."""
    about = content.get("about")
    if isinstance(about, dict) and about.get("format") == FORMAT:
        verb = about.get("verb")
        return verb if isinstance(verb, str) and verb in SHAPES else None
    telling = {"crosscheck": "learners", "path": "points", "prove": "program_sha256", "solve": "n_samples"}
    return next((kind for kind, key in telling.items() if key in content and "about" not in content), None)


def of_certificate(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    """The header of a certificate in the words of a record."""
    from workbench.proofs.files import writer_of

    again = f"with `{writer_of(header)}`"
    checked(header, {"formulation": {}, "problem": {}, "status": TEXT}, path, "certificate")
    if wrong := next((key for key in ENDS if key not in header or not is_end(header[key])), None):
        raise BadInput(
            f"{path} is a damaged certificate, its {wrong!r} is missing or no number; write it again {again}."
        )
    told, problem = header["formulation"], header["problem"]
    if not all(isinstance(each, str) for each in (told.get("name"), problem.get("output"))):
        raise BadInput(f"{path} is a damaged certificate, it names no formulation; write it again {again}.")
    named = {"problem": Path(str(problem.get("name", problem["output"]))).stem, "formulation": told["name"]}
    named |= {key: header[key] for key in INTERVAL} | {"backend": header.get("backend")}
    return named | of_program(path, header) if told["name"] == "program" else named


ENDS = ("lower", "upper", "gap")


def is_end(value: Any) -> bool:
    """Whether a certificate can claim this as an end or a gap: a number, perhaps infinite, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        return False
    return value is None or isinstance(value, float) or abs(value) < 2**1000


def of_program(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    """What the certificate of a convex program says besides its ends: names, its statement, what was rounded."""
    told, settings = header["problem"], header["formulation"].get("settings")
    conclusion = settings.get("conclusion") if isinstance(settings, dict) else None
    lists = {key: told[key] if isinstance(told.get(key), list) else [] for key in ("because", "rounded")}
    return {
        "program": f"{told.get('name', 'program')} in {path.name}",
        "statement": header["status"],
        "status": str(conclusion),
        "because": list(dict.fromkeys(str(name) for name in lists["because"] if name)),
        "rounded": list(map(str, lists["rounded"])),
    }


def named_certificate(path: Path, content: Mapping[str, Any]) -> Path | None:
    """The certificate that a record names, looked for beside the record first: folders are moved."""
    rows = [row for row in content.get("rows") or [] if isinstance(row, dict) and row.get("certificate")]
    best = min(rows, key=lambda row: (row.get("gap") is None, row.get("gap") or 0.0), default={})
    told = content.get("reference", content).get("certificate") or best.get("certificate") or REFERENCE
    return next((each for each in (path.parent / Path(told).name, Path(told)) if is_file(each)), None)


def is_file(path: Path) -> bool:
    """Whether a file is there; False for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
