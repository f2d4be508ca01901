"""Write a working file to start from.

KIND is problem, program, learner, output, formulation, solver or figure; NAME is its name, words joined by dashes.
A problem is a file of three functions, a program a file with `program`, which returns a cp.Problem, a learner a file
with `fit`; they work from anywhere. For the other kinds the file is the tested example of the recipe with your name, in
that kind's folder of the checkout.

    cutbench new problem my-chunks
    cutbench new program my-lp
    cutbench new learner my-sgd
"""

from __future__ import annotations

import re
import site
import sys
import sysconfig
from importlib.machinery import PathFinder
from keyword import iskeyword
from pathlib import Path

import click

import workbench.command.terminal as terminal
from workbench.command.places import spare
from workbench.command.words import json_option, overwrite_option, verb
from workbench.errors import BadInput, MissingCapability
from workbench.registries import CHECKOUT, dashed

ANYWHERE = ("problem", "program", "learner")
FOLDERS = {"output": "workbench/outputs", "formulation": "workbench/formulations", "solver": "workbench/solvers"}
FOLDERS |= {"figure": "figures"}
STARTERS = Path(__file__).parents[1] / "starters"
RECIPE = re.compile(r"^`[\w/]+/(\w+)\.py`:\n\n```python\n(.*?)^```$", re.M | re.S)


@verb(__doc__)
@click.argument("kind")
@click.argument("name")
@click.option("--out", metavar="DIR", help="Folder of the file.  [default: here, or the kind's folder in a checkout]")
@overwrite_option
@json_option
def command(kind: str, name: str, out: str | None, overwrite: bool, as_json: bool) -> int:
    name = dashed(name)
    if kind not in (*ANYWHERE, *FOLDERS):
        raise BadInput(f"There is no kind called {kind!r}; choose one of {', '.join((*ANYWHERE, *FOLDERS))}.")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise BadInput(f"{name!r} is no name; write lower-case words joined by dashes, e.g. my-{kind}.")
    path = folder_of(kind, out) / f"{name.replace('-', '_')}.py"
    check_module(path)
    spare([path], "--out", overwrite, what="folder")
    path.write_text(starter(kind, name), encoding="utf-8")
    steps = [each.format(path=terminal.shown_path(path), name=name) for each in NEXT[kind]]
    if as_json:
        terminal.emit({"kind": kind, "name": name, "path": terminal.shown_path(path), "next": steps})
    else:
        click.echo("\n".join([terminal.shown_path(path), *(f"  {step}" for step in steps)]))
    return 0


NEXT = {
    "problem": ["cutbench check-oracle {path}", "cutbench solve {path} soft-margin --set lam=0.1"],
    "program": [
        "cutbench prove {path} --out runs/{name}",
        "cutbench verify runs/{name}",
        "cutbench report runs/{name}",
    ],
    "learner": ["cutbench crosscheck iris soft-margin --set lam=0.1 --learners {path}"],
    "output": ["see docs/recipes/output.md for the tables that need a line", "cutbench list {name}"],
    "formulation": ["see docs/recipes/formulation.md for the tables that need a line", "cutbench list {name}"],
    "solver": ["see docs/recipes/solver.md for the tables that need a line", "cutbench list {name}"],
    "figure": ["cutbench figures {name}"],
}


def folder_of(kind: str, out: str | None) -> Path:
    """The folder of the new file."""
    if out is not None:
        folder = terminal.usable_folder(out)
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    if kind in ANYWHERE:
        return Path()
    if CHECKOUT is None:
        raise MissingCapability(f"A {kind} is found in a checkout only; clone the repository, or give --out.")
    return CHECKOUT / FOLDERS[kind]


def check_module(path: Path) -> None:
    """`BadInput` if the file's name is a word of Python's, or that of a module, which Python would find no more."""
    name = path.stem
    if iskeyword(name):
        raise BadInput(
            f"{name!r} is a word of Python's, and no file of that name can be imported; choose another NAME."
        )
    if name in sys.stdlib_module_names or installed(name):
        raise BadInput(f"{path.name} would hide the Python module {name} from programs beside it; choose another NAME.")


def installed(name: str) -> bool:
    """Whether a package that is installed has a module of this name."""
    places = {*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("purelib")}
    return PathFinder.find_spec(name, sorted(places)) is not None


def starter(kind: str, name: str) -> str:
    """The text of the new file, with the example's names replaced."""
    if kind in ANYWHERE:
        return (STARTERS / f"{kind}.py").read_text(encoding="utf-8").replace("its-name", name)
    if CHECKOUT is None:
        raise MissingCapability(f"The recipe of a {kind} stands in a checkout only; clone the repository.")
    page = (CHECKOUT / "docs" / "recipes" / f"{kind}.md").read_text(encoding="utf-8")
    found = RECIPE.search(page)
    assert found is not None  # tests/command/test_new.py
    old, text = found.groups()
    pairs = {old: name.replace("-", "_"), old.replace("_", "-"): name, camel(old): camel(name)}
    for word, other in pairs.items():
        text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", other, text)
    return text


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[-_]", name))
