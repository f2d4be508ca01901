"""Prove a certificate again, without any solver, and print what is proven.

CERTIFICATE is the JSON file, the npz file beside it, or the folder of both. Every number is recomputed from the data
in the certificate, over whole numbers. --data compares these data with yours, --expect the settings. A certificate
about an output structure of your own depends on the code in --problem; such a proof is conditional, and the exit code
is 1 unless --allow-conditional.

    cutbench verify runs/iris-soft-margin
    cutbench verify runs/mine-hard-margin --data mine.csv
    cutbench verify runs/afiro --data afiro.mps.gz
    cutbench verify runs/digits-soft-margin --data digits --set n=100 --expect lam=0.1
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.terminal import interval, shortened, small
from workbench.command.words import certificate_path, json_option, names_problem, problem_of, verb
from workbench.data.loading import load_problem
from workbench.errors import BadInput, printed
from workbench.registries import build, is_path, parse_settings, settings_of

LONGEST = 200  # characters of names
SECONDS, MEMORY = 600, "4GiB"  # so that no file from elsewhere stops this machine


@verb(__doc__, seconds=SECONDS, most=MEMORY)
@click.argument("certificate")
@click.option("--data", metavar="FILE|PROBLEM", help="Also prove that the certificate is about these data.")
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="A setting of the problem that --data names."
)
@click.option("--expect", metavar="KEY=VALUE", multiple=True, help="Refuse a certificate with another setting.")
@click.option("--problem", metavar="FILE", help="A Python file with your output structure; it runs with your rights.")
@click.option("--allow-conditional", is_flag=True, help="Exit with 0 also if the interval rests on conditions.")
@json_option
def command(
    certificate: str, data: str | None, settings: tuple[str, ...], expect: tuple[str, ...], **options: Any
) -> int:
    from workbench.proofs.verify import verify

    check_word(Path(certificate))
    path = certificate_path(certificate)
    wanted = dict(map(expected, expect))
    if data is not None and about_program(path):
        from workbench.command.verbs.prove import found_in

        if settings:
            raise BadInput(f"--set {settings[0]} belongs to a learning problem; a program file has no settings.")
        with terminal.stdout_kept():
            own, _ = found_in(data)
        wanted |= {"sense": "minimise" if own.sign > 0 else "maximise"}
    else:
        own = None if data is None else problem_in(data, settings, path)
    if settings and data is None:
        raise BadInput(f"--set {settings[0]} belongs to the problem of --data; name one, e.g. --data digits.")
    place = options["problem"]
    code = None if place is None else coded(place, path)
    result = verify(path, own, f"the data in {data}", wanted, code)
    terminal.emit(result) if options["as_json"] else print_proof(result, data, row_names(path))
    allowed = options["allow_conditional"] and not result["refuted"]
    return 0 if result["proven"] or allowed else 1


def check_word(path: Path) -> None:
    """`BadInput` for a word that names no certificate: a file that `prove` reads, a record, or nothing at all."""
    from workbench.programs.files import TEXTS, defines_program
    from workbench.proofs.files import files_of

    if path.is_dir():
        return
    header, packed = files_of(path)
    model = path.name.lower().endswith((*TEXTS, ".mat"))
    if path.is_file() and (model or (path.suffix == ".py" and defines_program(path))):
        raise BadInput(f"{path} is a program and no certificate; `cutbench prove {path} --out DIR` writes one.")
    if header.is_file() and not packed.exists():
        check_no_record(header)
    missing = not (path.exists() or header.exists() or packed.exists())
    if missing and (is_path(str(path)) or not names_problem(str(path))):
        raise BadInput(f"There is no file or folder {path}; give a certificate's folder, or one of its two files.")


def check_no_record(path: Path) -> None:
    """`BadInput`, with the certificate's name, for a JSON file that is the record of a run."""
    from workbench.command.records import content_of, kind_of, run_of

    try:
        kind = kind_of(content_of(path))
    except BadInput:
        return  # what is wrong with the file is said where the file is read as a certificate
    if kind is None:
        return
    found = run_of(path).certificate
    told = f"{path} is a record of `cutbench {kind}` and no certificate"
    if found is None:
        raise BadInput(f"{told}, and names none that is here; verify a run that was written with --out DIR.")
    raise BadInput(f"{told}; verify {found}.")


def about_program(certificate: Path) -> bool:
    """Whether a certificate is one of `cutbench prove`."""
    from workbench.proofs.checker import Malformed
    from workbench.proofs.checker.archive import read_json

    try:
        told = read_json(certificate).get("formulation")
    except (Malformed, OSError):
        return False  # what is wrong with the file is said where the file is read as a whole
    return isinstance(told, dict) and told.get("name") == "program"


def coded(place: str, certificate: Path) -> Any:
    """The problem of a Python file, built with those settings of the certificate's problem that the file takes."""
    from workbench.proofs.certificate import load

    source = load_problem(place)
    told, known = {}, settings_of(source)
    if known:
        told = load(certificate)[1]["problem"].get("settings", {})
    with terminal.stdout_kept():
        return problem_of(build(source, {key: told[key] for key in known if key in told}), place)


def expected(words: str) -> tuple[str, str]:
    """KEY and VALUE."""
    key, equals, value = words.partition("=")
    if not key or not equals:
        raise BadInput(f"--expect {words} is no KEY=VALUE; write for example --expect lam=0.1.")
    return key, value


def problem_in(place: str, settings: tuple[str, ...], certificate: Path) -> Any:
    """The problem of a data file, or of a name or Python file, with these settings.

    Settings of a data file that are not given are those of the certificate's problem.
    """
    from workbench.proofs.certificate import load

    source = load_problem(place)
    words = dict(*parse_settings(settings, source))
    if not place.endswith(".py") and is_path(place):
        kept, known = load(certificate)[1]["problem"].get("settings", {}), settings_of(source)
        words = {key: kept[key] for key in known if key in kept} | words
    return problem_of(build(source, words), place)


def row_names(certificate: Path) -> str:
    """How the certificate calls the rows that contradict one another; "" where it calls none."""
    from workbench.proofs.checker.archive import read_json

    told = read_json(certificate).get("problem")  # `verify` has read the file, so it is one
    names = told.get("because", []) if isinstance(told, dict) else []
    names = list(dict.fromkeys(map(str, names))) if isinstance(names, list) else []
    return printed(shortened(", ".join(filter(None, names)), LONGEST))


def print_proof(result: dict[str, Any], data: str | None, named: str) -> None:
    """Print what was proven, about which program, on which assumptions, and what was not proven.

    data : with what the certificate's data were compared
    named : what the certificate calls the rows that the proof names by their numbers
    """
    conditional = result["conditional_on"] and not result["refuted"]
    verdict = "proven" if result["proven"] else "CONDITIONAL, not proven," if conditional else "NOT PROVEN"
    click.echo(f"{verdict} in {result['arithmetic']} arithmetic")
    general = result["formulation"] == "program"
    words = [f"{key}={shortened(str(value), 60)}" for key, value in result["settings"].items()]
    chosen = " ".join(words if general else [result["formulation"], *words])
    click.echo(f"  program  {chosen}")
    click.echo(f"           {(result['formula'] or '').partition(chr(10))[0]}")
    if general:
        click.echo(f"  sizes    {result['n_samples']} rows; {result['structure']}")
        if named:
            click.echo(f"  names    {named} (those rows by the certificate, which does not prove names)")
    else:
        click.echo(f"  outputs  {result['structure']}")
        click.echo(f"  sizes    n = {result['n_samples']}, d = {result['dim']}")
    if general and result["proven"] and math.isinf(result["lower"]) and math.isinf(result["upper"]):
        why = result["formula"].partition(" in K: ")[2]
        none = "nothing is proven about its value" if result["settings"]["conclusion"] == "nonconvex" else "none"
        click.echo(f"  optimum  {none}: {why.rpartition(': ')[2] if none == 'none' else why}")
    else:
        print_ends(result)
    for title, sentences in {"assumes": "assumptions", "rests on": "conditional_on", "open": "not_proven"}.items():
        for sentence in result[sentences]:
            click.echo(f"  {title:8} {sentence}")
    if result["refuted"]:
        click.echo(f"  because  {result['reason']}")
    same = f", as in {data}" if data is not None and result["data_matches"] else ""
    click.echo(f"  data     sha256 {result['data_sha256']}{same}")


def print_ends(result: dict[str, Any]) -> None:
    click.echo(f"  optimum  in {interval(result)}")
    if result["optimum"]:
        click.echo(f"  exactly  {shortened(result['optimum'])}")
    elif result["arithmetic"] == "rational":
        click.echo(f"  lower    {shortened(result['lower_exact'])}")
        click.echo(f"  upper    {shortened(result['upper_exact'])}")
    click.echo(f"  gap      {small(result['gap'])} relative")
