"""Show all names.

With the NAME of a thing, its settings, defaults and formula. With a kind, such as `formulation`, what each thing of
this kind is. With `fits`, which outputs, formulations and solvers fit together, or else why not. With a data file, or a
FILE that defines a problem, its settings and size, and which formulations and solvers work on it.

    cutbench list formulation
    cutbench list soft-margin
    cutbench list fits
    cutbench list ./trees.py --set n=20
"""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.words import json_option, problem_of, verb
from workbench.data.loading import load_problem
from workbench.errors import BadInput, UnknownName
from workbench.registries import (
    KINDS,
    REQUIRED,
    Pair,
    Setting,
    build,
    compatibility,
    dashed,
    fitting,
    is_path,
    parse_settings,
    present,
    registry,
    settings_of,
)

FITS = "fits"


@verb(__doc__)
@click.argument("name", required=False)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the problem in FILE.")
@json_option
def command(name: str | None, settings: tuple[str, ...], as_json: bool) -> int:
    if name is not None and is_path(name):
        return of_file(name, settings, as_json)
    if settings:
        raise BadInput("--set is for a problem in a FILE; leave --set out, or name a file such as ./mine.py.")
    entries = [entry(kind, key, obj) for kind in filter(present, KINDS) for key, obj in registry(kind).items()]
    kinds = list(dict.fromkeys(each["kind"] for each in entries))
    if name is not None and name in kinds:
        of_kind = [each for each in entries if each["kind"] == name]
        terminal.emit({"entries": of_kind}) if as_json else print_kind(name, of_kind)
        return 0
    if name is not None and name != FITS:
        found = [each for each in entries if each["name"] == dashed(name)]
        if not found:
            raise UnknownName("name", name, {each["name"] for each in entries} | {*kinds, FITS})
        terminal.emit({"entries": found}) if as_json else print_entries(found)
        return 0
    if as_json:
        terminal.emit({"entries": entries, "compatibility": [asdict(each) for each in compatibility()]})
    elif name == FITS:
        rows = [[pair.output, pair.formulation, works(pair)] for pair in compatibility()]
        terminal.table(["output", "formulation", "what works"], rows)
    else:
        print_names(kinds, entries)
    return 0


def of_file(path: str, texts: tuple[str, ...], as_json: bool) -> int:
    """The record of a user's problem: settings, size, and what works on it."""
    source = load_problem(path)
    with terminal.stdout_kept():
        problem = problem_of(build(source, parse_settings(texts, source)[0]), path)
        pairs = fitting(type(problem).__name__, problem)
    settings = [{"key": s.name, "type": s.kind, "default": default_of(s)} for s in settings_of(source).values()]
    summary = (inspect.getdoc(source) or "").partition("\n")[0]
    sizes = {"n_samples": problem.n_samples, "n_features": problem.n_features, "oracle": problem.oracle_kind}
    found = {"kind": "problem", "name": path, "summary": summary, "settings": settings, "formula": ""}
    if as_json:
        terminal.emit({"entries": [found | sizes], "compatibility": [asdict(each) for each in pairs]})
        return 0
    print_entries([found])
    size = f"{problem.n_samples} samples, {problem.n_features} features, {problem.oracle_kind} argmax"
    click.echo(f"{type(problem).__name__}: {size}\n")
    terminal.table(["formulation", "what works"], [[pair.formulation, works(pair)] for pair in pairs])
    return 0


def works(pair: Pair) -> str:
    """What works on a pair, or why nothing does."""
    takes = ", ".join(name for name, why in pair.solvers.items() if why is None)
    return pair.why or f"solve; {takes or 'no solver of ours'}"


def entry(kind: str, name: str, obj: Any) -> dict[str, Any]:
    """The record of one name; the formula is the docstring of the file that registers the name."""
    formula = inspect.getdoc(registry(kind).modules[name]) or ""
    thing = getattr(obj, "draw", obj)  # a figure is what draws it
    own = inspect.getdoc(thing) if inspect.isclass(thing) or inspect.isroutine(thing) else None
    settings = settings_of(obj) if callable(obj) else {}
    shown = [{"key": s.name, "type": s.kind, "default": default_of(s)} for s in settings.values()]
    summary = (own or formula).partition("\n")[0]
    return {"kind": kind, "name": name, "summary": summary, "settings": shown, "formula": formula}


def default_of(setting: Setting) -> Any:
    return None if setting.default is REQUIRED else setting.default


def print_entries(entries: list[dict[str, Any]]) -> None:
    for each in entries:
        click.echo(": ".join(filter(None, (f"{each['kind']} {each['name']}", each["summary"]))) + "\n")
        if each["settings"]:
            rows = [[s["key"], s["type"], s["default"]] for s in each["settings"]]
            terminal.table(["setting", "type", "default"], rows)
        if each["formula"]:
            click.echo("\n".join(f"  {line}".rstrip() for line in each["formula"].splitlines()) + "\n")


def print_names(kinds: list[str], entries: list[dict[str, Any]]) -> None:
    """A paragraph of names for each kind, and where more is said."""
    for kind in kinds:
        names = ", ".join(each["name"] for each in entries if each["kind"] == kind)
        terminal.line([kind, names], [max(map(len, kinds))])
        click.echo()
    click.echo("cutbench list KIND  what each is, for example `cutbench list formulation`")
    click.echo("cutbench list NAME  its settings, defaults and formula, for example `cutbench list soft-margin`")
    click.echo("cutbench list fits  which outputs, formulations and solvers fit together, or else why not")


def print_kind(kind: str, entries: list[dict[str, Any]]) -> None:
    terminal.table([kind, "what it is"], [[each["name"], each["summary"]] for each in entries])
