"""The words of the command line that several verbs share: options, PROBLEM and FORMULATION.

Every function here turns the user's words into an object of the Python API or raises `BadInput` with one sentence.
Heavy modules are imported inside functions.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from workbench.command.given import certificates_among, setting_from
from workbench.command.records import REFERENCE
from workbench.data.loading import load_problem
from workbench.errors import BadInput, OutOfTime
from workbench.registries import build, dashed, is_path, load_user_file, parse_settings, present, registry, settings_of
from workbench.system import memory
from workbench.system.alarm import TimeIsUp, alarm, interruption, tells

# ── the decorators of a verb ──────────────────────────────────────────────────────────────────────


def verb(
    doc: str | None, cls: type[click.Command] = click.Command, seconds: float | None = None, most: str | None = None
) -> Callable[[Callable[..., int]], click.Command]:
    """The decorator of the function `command` in a file of `verbs/`; `doc` is the file's `__doc__`.

    Indented paragraphs of the docstring, the examples, are printed as they stand. Every verb takes --time-limit and
    --memory-limit, which are `seconds` and `most` unless the user gives others; None sets no limit. A verb without a
    parameter `time_limit` of its own is ended when its time is up.
    """
    text = re.sub(r"\n\n(?= )", "\n\n\b\n", doc or "")  # \b is click's mark for "do not wrap"

    def command(function: Callable[..., int]) -> click.Command:
        return click.command(cls=cls, help=text)(memory_option(timed(function, seconds), most))

    return command


SPARE = 1.1, 1.5  # a verb that keeps a time limit of T seconds itself is stopped after 1.1 T + 1.5, to end by 1.1 T + 2


def timed(function: Callable[..., int], default: float | None = None) -> Callable[..., int]:
    """The function of a verb, with --time-limit; `OutOfTime` if the verb gives no answer in time."""
    own = "time_limit" in inspect.signature(function).parameters

    @functools.wraps(function)
    def within(*words: Any, time_limit: float | None = None, **options: Any) -> int:
        given = positive("time-limit", time_limit)
        options |= {"time_limit": given} if own else {}
        seconds = SPARE[0] * given + SPARE[1] if own and given else given
        limit = None if seconds is None else alarm(seconds, TimeIsUp)
        try:
            with interruption(), limit or nullcontext():
                return function(*words, **options)
        except (Exception, TimeIsUp) as error:
            if tells(error) or limit is None or not limit.rang:
                raise
            raise OutOfTime(f"The time limit of {given:g} s came before the answer; raise --time-limit.") from None

    if own:
        return within
    help_ = "Stop after S seconds."
    return click.option(
        "--time-limit", type=float, metavar="S", default=default, show_default=default is not None, help=help_
    )(within)


def memory_option(command: Callable, default: str | None = None) -> Callable:
    """--memory-limit SIZE: the memory that this process, and each process that it starts, may take."""

    @functools.wraps(command)
    def within(*words: Any, memory_limit: str | None, **options: Any) -> int:
        lifted = None if memory_limit is None else memory.limited_to(memory.size_of(memory_limit))
        try:
            return command(*words, **options)
        finally:
            if lifted is not None:
                lifted()

    help_ = "Stop before a process takes more, e.g. 2GiB."
    return click.option(
        "--memory-limit", metavar="SIZE", default=default, show_default=default is not None, help=help_
    )(within)


def overwrite_option(command: Callable) -> Callable:
    said = "Replace files that are already there."
    return click.option("--overwrite", is_flag=True, help=said)(command)


def json_option(command: Callable) -> Callable:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")(command)


def data_option(command: Callable) -> Callable:
    """--data DIR: the folder in which loaders look first, as $CUTBENCH_DATA."""

    def remember(context: click.Context, option: click.Parameter, folder: str | None) -> None:
        if folder is not None:
            if not Path(folder).is_dir():
                raise BadInput(f"The data folder {folder} does not exist; correct --data.")
            os.environ["CUTBENCH_DATA"] = folder
            context.meta["cutbench.data"] = folder  # for the command line in records

    help_ = "Folder of the data sets.  [default: $CUTBENCH_DATA]"
    return click.option("--data", metavar="DIR", expose_value=False, callback=remember, help=help_)(command)


def set_option(command: Callable) -> Callable:
    text = "A setting of the problem or the formulation, e.g. lam=0.1; `cutbench list NAME` shows them."
    return click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=text)(command)


def pair_arguments(command: Callable) -> Callable:
    """PROBLEM and FORMULATION with --set, which `pair` turns into objects."""
    return click.argument("problem")(click.argument("formulation")(set_option(command)))


# ── words as objects ──────────────────────────────────────────────────────────────────────────────


def pair(problem: str, formulation: str, settings: tuple[str, ...]) -> tuple[Any, Any, dict[str, Any]]:
    """The problem and the formulation that the user's words mean, and the problem's settings."""
    form = load_formulation(formulation)
    source = load_problem(problem)
    learned, written = certificates_among(settings)
    for_problem, for_form = parse_settings(written, source, form)
    chosen = None if learned else build(form, for_form)  # wrong settings are told before data are read
    data = problem_of(build(source, for_problem), problem)
    for key, path in learned.items():
        if key not in settings_of(form):
            parse_settings([f"{key}={path}"], source, form)  # says which settings there are
        for_form[key] = setting_from(key, certificate_path(path), data, problem, form, for_form)
    chosen = chosen or build(form, for_form)
    from workbench.contracts import Recording

    if is_path(problem) and isinstance(data, Recording):
        data.origin = (str(Path(problem).resolve()), for_problem)
    return data, chosen, for_problem


def nameable(data: Any, form: Any) -> None:
    """Raise `MissingCapability` before a solve, not after one, for a problem that no certificate can name."""
    from workbench.contracts import text_alone
    from workbench.proofs.certificate import name_of

    if not text_alone(form):  # whose solution has no certificate of cuts
        name_of("output", data)


def load_formulation(word: str) -> Any:
    """The class of a registered name, or of a user's Python file: its one entry of NAMES, or its `Formulation`."""
    if not is_path(word):
        return registry("formulation").get(word)
    found = load_user_file(word, "formulation", "Formulation")
    if len(found) > 1:
        raise BadInput(f"{word} registers {len(found)} formulations ({', '.join(sorted(found))}); leave one in NAMES.")
    (form,) = found.values()
    if not callable(form):
        raise BadInput(f"{word} registers a {type(form).__name__}; register a class with a method program.")
    return form


def problem_of(data: Any, name: str) -> Any:
    """`data` if it is a problem; `name` is the user's word for it."""
    from workbench.contracts import Problem, Sourced

    if not isinstance(data, Problem):
        given = type(data).__name__
        raise BadInput(f"{name} gives a {given} in place of a problem to learn; return e.g. wb.Multiclass(X, y).")
    if isinstance(data, Sourced) and data.reading:
        said = click.get_current_context().meta.setdefault("cutbench.readings", set())
        if data.reading not in said:  # a command may load its problem more than once
            click.echo(f"cutbench: {data.reading}", err=True)  # so that the user sees a wrong guess of the labels
        said.add(data.reading)
    return data


def names_of(problem: str, formulation: str) -> dict[str, str]:
    """The names of problem and formulation in a record; a file is named by its stem."""
    return {"problem": short_name(problem), "formulation": dashed(short_name(formulation))}


def short_name(problem: str) -> str:
    return Path(problem).stem if is_path(problem) else dashed(problem)


def positive(option: str, value: Any) -> Any:
    """`value` if it is positive and finite, or None; `option` is its name without the dashes."""
    if value is not None and not 0 < value < float("inf"):
        raise BadInput(f"--{option} is {value}; give a positive number.")
    return value


def limits(gap: float | None, time_limit: float | None, max_rounds: int | None) -> dict[str, Any]:
    """--gap, --time-limit and --max-rounds as keyword arguments of `solve`."""
    checked = {"gap": positive("gap", gap), "time_limit": positive("time-limit", time_limit)}
    return checked | {"max_rounds": positive("max-rounds", max_rounds)}


def names_problem(word: str) -> bool:
    return present("problem") and dashed(word) in registry("problem").objects


def certificate_path(word: str) -> Path:
    """A certificate's JSON file, also if the user names the folder, the npz file, or both files by their stem."""
    from workbench.proofs.files import files_of

    path = Path(word)
    beside = not path.exists() and not files_of(path)[0].exists() and not is_path(word)
    if (path.is_file() and path.suffix not in (".json", ".npz")) or (beside and names_problem(word)):
        run = f"runs/{short_name(word)}-soft-margin"
        raise BadInput(
            f"{word} is a problem and no certificate, which holds learned weights; `cutbench solve {word} soft-margin` "
            f"makes one, {run}."
        )
    if not path.is_dir():
        return files_of(path)[0]
    from workbench.system.journal import unfinished

    found, reference = path / "certificate.json", path / REFERENCE
    if not found.exists() and not reference.exists() and unfinished(path):
        raise BadInput(f"{path} holds an unfinished run and no certificate; `cutbench resume {path}` continues it.")
    if not found.exists() and not reference.exists() and (path / "path.json").exists():
        raise BadInput(f"{path} holds a path, of which no certificate is kept; solve one λ of it to have one.")
    return reference if reference.exists() and not found.exists() else found
