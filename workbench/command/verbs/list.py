"""Show all names, and which of them fit together.

With NAME: the settings, defaults and formula of that name.

    cutbench list soft-margin
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.words import json_option, verb
from workbench.errors import UnknownName
from workbench.registries import KINDS, REQUIRED, Setting, compatibility, dashed, present, registry, settings_of


@verb(__doc__)
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> int:
    entries = [entry(kind, key, obj) for kind in filter(present, KINDS) for key, obj in registry(kind).items()]
    if name is not None:
        found = [each for each in entries if each["name"] == dashed(name)]
        if not found:
            raise UnknownName("name", name, {each["name"] for each in entries})
        terminal.emit({"entries": found}) if as_json else print_entries(found)
        return 0
    pairs = compatibility()
    if as_json:
        terminal.emit({"entries": entries, "compatibility": [asdict(each) for each in pairs]})
    else:
        print_registries(entries, pairs)
    return 0


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
        click.echo(f"{each['kind']} {each['name']}: {each['summary']}\n")
        if each["settings"]:
            rows = [[s["key"], s["type"], s["default"]] for s in each["settings"]]
            terminal.table(["setting", "type", "default"], rows)
        if each["formula"]:
            click.echo("\n".join(f"  {line}".rstrip() for line in each["formula"].splitlines()) + "\n")


def print_registries(entries: list[dict[str, Any]], pairs: Sequence[Any]) -> None:
    for kind in dict.fromkeys(each["kind"] for each in entries):
        rows = [[each["name"], each["summary"]] for each in entries if each["kind"] == kind]
        terminal.table([kind, "what it is"], rows)
    rows = []
    for pair in pairs:
        takes = ", ".join(name for name, why in pair.solvers.items() if why is None)
        rows.append([pair.output, pair.formulation, pair.why or f"solve; {takes or 'no solver of ours'}"])
    terminal.table(["output", "formulation", "what works"], rows)
