"""The folder is the registry: one new file is one new problem, output, formulation, solver, learner or figure.

Each .py file of a folder (those that start with an underscore aside) ends with

    NAMES = {"command-name": object}

where the object is a class or a function with typed settings, as its kind of registry demands. Typed settings are read
from the signature (`settings_of`), parsed from `key=value` texts (`parse_settings`) and passed on (`build`). No
numerical package is imported here.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from workbench.errors import BadInput, CutbenchError, MissingCapability, UnknownName

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent if (PACKAGE.parent / "pyproject.toml").exists() else None
PACKAGED = {"output": "outputs", "formulation": "formulations", "solver": "solvers", "learner": "learners"}
BESIDE = {"problem": "problems", "figure": "figures", "benchmark": "benchmarks"}
KINDS = ("problem", "output", "formulation", "solver", "learner", "figure", "benchmark")
PRIVATE = "_cutbench_"  # the beginning of the names of modules that are files
USERS = f"{PRIVATE}user_"  # and of those of users' files
RUN_AS = "<run_path>"  # what `runpy` calls the module of a program file
REQUIRED: Any = inspect.Parameter.empty
TEXTUAL = (int, float, str, bool)
SPREAD = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


# ── folders ───────────────────────────────────────────────────────────────────────────────────────


class Registry:
    """The names that the files of one folder export.

    Parameters
    ----------
    kind : the word for one entry of the folder, for messages
    folder : the folder, read once
    package : the package of the folder's files; None loads the files by path under private names
    """

    def __init__(self, kind: str, folder: Path, package: str | None = None):
        self.kind, self.folder = kind, folder
        self.objects: dict[str, Any] = {}
        self.modules: dict[str, types.ModuleType] = {}
        files: dict[str, Path] = {}
        for path in sorted(folder.glob("[!_]*.py")):
            module = importlib.import_module(f"{package}.{path.stem}") if package else load_file(path, kind)
            for name, obj in exported(module, path).items():
                if name in files:
                    raise BadInput(f"Both {files[name]} and {path} register the {kind} {name!r}; rename one.")
                self.objects[name], self.modules[name], files[name] = obj, module, path

    def names(self) -> list[str]:
        return sorted(self.objects)

    def items(self) -> list[tuple[str, Any]]:
        return sorted(self.objects.items())

    def get(self, name: str) -> Any:
        """The object of a name, written with dashes or underscores; `UnknownName` offers the nearest name."""
        try:
            return self.objects[dashed(name)]
        except KeyError:
            raise UnknownName(self.kind, name, self.objects) from None


@cache
def registry(kind: str) -> Registry:
    """The registry of a kind: one of KINDS."""
    if kind in PACKAGED:
        return Registry(kind, PACKAGE / PACKAGED[kind], f"workbench.{PACKAGED[kind]}")
    if kind not in BESIDE:
        raise UnknownName("kind of registry", kind, [*PACKAGED, *BESIDE])
    return Registry(kind, folder_beside(BESIDE[kind]))


def folder_beside(name: str) -> Path:
    """The folder `name` inside the installed package, where a wheel packs it, else beside the package in a checkout."""
    for parent in filter(None, (PACKAGE, CHECKOUT)):
        if any((parent / name).glob("[!_]*.py")):
            return parent / name
    raise BadInput(f"This installation has no {name}; clone the repository of cutbench and run it from there.")


def present(kind: str) -> bool:
    """Whether this installation has the folder of a kind."""
    try:
        return kind in PACKAGED or folder_beside(BESIDE[kind]).is_dir()
    except BadInput:
        return False


def load_file(path: Path, kind: str = "file") -> types.ModuleType:
    """Run the Python file at `path` as a module with a private name; `BadInput` names a faulty line."""
    name = f"{PRIVATE}{kind}_{re.sub(r'[^0-9a-zA-Z]', '_', path.stem)}"
    if kind.startswith("user_"):
        see_beside(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # a .py path always has a spec,
    assert spec.loader is not None  # and the spec a loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and type hints look up their module here
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        line = error.lineno if isinstance(error, SyntaxError) else line_within(path, error)
        fault = f"{type(error).__name__}: {error}".splitlines()[0]
        raise BadInput(f"{path} stops in line {line} with {fault}; repair the file.") from error
    return module


def see_beside(path: Path) -> None:
    """Let a user's file import those beside it; installed packages of the same name come first."""
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.append(folder)


def line_within(path: Path, error: BaseException) -> int | None:
    """The last line of the file at `path` that the error passed through."""
    lines, frame = [], error.__traceback__
    while frame:
        if frame.tb_frame.f_code.co_filename == str(path):
            lines.append(frame.tb_lineno)
        frame = frame.tb_next
    return lines[-1] if lines else None


def place_of_a_user(error: BaseException, through: bool = False) -> str | None:
    """`FILE line N`, where a user's file stopped, or something outside of this package that the file called; None if
    this package stopped.

    through : whether the last line of a user's that the error passed is meant, though this package stopped behind it
    """
    place, frame = None, error.__traceback__
    while frame:
        name = str(frame.tb_frame.f_globals.get("__name__"))
        if name.startswith((USERS, RUN_AS)):
            place = f"{Path(frame.tb_frame.f_code.co_filename).name} line {frame.tb_lineno}"
        elif not through and name.startswith(("workbench.", PRIVATE)):
            place = None
        frame = frame.tb_next
    return place


def exported(module: types.ModuleType, path: Path) -> Mapping[str, Any]:
    """The module's NAMES, checked."""
    names = getattr(module, "NAMES", None)
    if not isinstance(names, dict) or not names:
        raise BadInput(f'{path} registers nothing; end it with NAMES = {{"its-name": object}}.')
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
            raise BadInput(f"{path} registers {name!r}; names are lower-case words joined by dashes.")
    return names


def dashed(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def is_path(text: str) -> bool:
    """Whether a user's word means a file: a registered name has neither separators nor dots."""
    return any(mark in text for mark in "/\\.")


def load_user_file(path: str | Path, kind: str, lone: str) -> dict[str, Any]:
    """The objects that a user's Python file registers: its NAMES, or the one object called `lone`.

    The file runs with the user's rights.
    """
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"There is no file {path}; check the path of the {kind}.")
    if path.suffix != ".py":
        first = "; the problem comes first, then the formulation" if kind == "formulation" else ""
        raise BadInput(f"{path} is no Python file, so that it defines no {kind}{first or '; name a .py file'}.")
    with contextlib.redirect_stdout(sys.stderr):  # stdout is for the command's answer
        module = load_file(path.resolve(), f"user_{kind}")
    if not hasattr(module, "NAMES") and hasattr(module, lone):
        return {path.stem: getattr(module, lone)}
    if not hasattr(module, "NAMES"):
        remedy = "it defines program(); use cutbench prove" if hasattr(module, "program") else "define one of them"
        raise BadInput(f"{path} defines neither NAMES nor {lone!r}; {remedy}.")
    return dict(exported(module, path))


# ── typed settings ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Setting:
    """One typed setting: int, float, str or bool, perhaps limited to `choices`, or None, or `many` of these."""

    name: str
    type: type
    default: Any
    choices: tuple[Any, ...] = ()
    optional: bool = False
    many: bool = False

    @property
    def kind(self) -> str:
        """The type in words, e.g. `int`, `margin|slack`, `float or none`."""
        word = "|".join(map(str, self.choices)) or self.type.__name__ + ",…" * self.many
        return f"{word} or none" if self.optional else word

    def parse(self, text: str) -> Any:
        """The value that `text` means, or `BadInput`."""
        word = text.strip()
        if self.optional and word.lower() == "none":
            return None
        for choice in self.choices:
            if word == str(choice):
                return choice
        if self.many:
            one = Setting(self.name, self.type, REQUIRED)
            parts = [part.strip() for part in word.strip("()[] ").removesuffix(",").split(",")]
            if "" in parts and len(parts) > 1:
                raise BadInput(f"{self.name}={text} has an empty place {parts.index('') + 1}; write a number there.")
            return tuple(one.parse(part) for part in parts if part)
        if not self.choices:
            try:
                value = SWITCH[word.lower()] if self.type is bool else self.type(word)
                if value == value:  # NaN is no setting
                    return value
            except (KeyError, ValueError):
                pass
        raise BadInput(f"{self.name}={text} is not {ARTICLE.get(self.kind, f'one of {self.kind}')}; {self.advice}.")

    @property
    def advice(self) -> str:
        if self.default is REQUIRED or self.default is None:
            return f"give {self.name} as {self.kind}"
        return f"its default is {self.name}={self.default}"


SWITCH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
ARTICLE = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false"}
ARTICLE |= {f"{kind},…": f"a list of {words[2:]}s, as 1,0,2" for kind, words in list(ARTICLE.items())[:2]}
ARTICLE |= {f"{kind} or none": f"{words} or none" for kind, words in ARTICLE.items()}


def settings_of(obj: Any) -> dict[str, Setting]:
    """The settings of a function or class, from the type hints of its signature.

    A tuple of numbers is written with commas. A parameter of another type, such as an array, is no setting: only Python
    code can pass one. Of a union with such types the one part that a text can write is the setting.
    """
    try:
        own = inspect.isclass(obj) and not is_dataclass(obj)  # a dataclass has its fields' hints, inherited ones too
        hints = get_type_hints(obj.__init__ if own else obj)
    except (NameError, AttributeError) as error:
        raise BadInput(f"A type hint of {obj.__name__} means nothing ({error}); import the name.") from error
    parameters = inspect.signature(obj).parameters.values()
    settings = [as_setting(p.name, hints.get(p.name), p.default) for p in parameters if p.kind not in SPREAD]
    return {setting.name: setting for setting in settings if setting}


def as_setting(name: str, hint: Any, default: Any) -> Setting | None:
    """The setting of a parameter, or None if its type is none of a setting's."""
    optional = False
    if get_origin(hint) in (Union, types.UnionType):
        optional = type(None) in get_args(hint)
        if complex in get_args(hint):  # NumPy's `ArrayLike`, of which a text is one
            return None
        writable = [part for part in get_args(hint) if part in TEXTUAL or get_origin(part) in (Literal, tuple)]
        hint = writable[0] if len(writable) == 1 else None
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        return Setting(name, type(choices[0]), default, choices, optional)
    if get_args(hint) in ((int, ...), (float, ...)) and get_origin(hint) is tuple:
        return Setting(name, get_args(hint)[0], default, (), optional, many=True)
    return Setting(name, hint, default, (), optional) if hint in TEXTUAL else None


def parse_settings(texts: Iterable[str], *objs: Any) -> list[dict[str, Any]]:
    """`key=value` texts as one dict of keyword arguments for each object; all objects share one namespace."""
    known = [settings_of(obj) for obj in objs]
    parsed: list[dict[str, Any]] = [{} for _ in objs]
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or not key:
            raise BadInput(f"The setting {text!r} is not of the form key=value; write for example lam=0.1.")
        owners = [j for j, settings in enumerate(known) if key in settings]
        if not owners:
            raise unknown_setting(key, known, value.strip())
        if len(owners) > 1:
            raise BadInput(f"The setting {key!r} belongs to problem and formulation alike; rename it in one of them.")
        if key in parsed[owners[0]]:
            raise BadInput(f"The setting {key!r} is given twice; keep one.")
        parsed[owners[0]][key] = known[owners[0]][key].parse(value)
    return parsed


def unknown_setting(key: str, known: Sequence[Mapping[str, Setting]], value: str = "") -> BadInput:
    """The error that offers the setting called like the value, or else the setting whose name is nearest to the key."""
    names = sorted({name for settings in known for name in settings})
    near = [value] if value in names else difflib.get_close_matches(key, names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}? " if near else "learners have theirs by --learner-set; " if "." in key else ""
    return BadInput(f"There is no setting called {key!r}; {hint}known: {', '.join(names) or 'none'}.")


def build(obj: Any, settings: Mapping[str, Any]) -> Any:
    """`obj(**settings)`; one sentence for a setting missing or unknown, and for an exception in a user's file."""
    values = {name.replace("-", "_"): value for name, value in settings.items()}
    parameters = inspect.signature(obj).parameters
    if (unknown := sorted(values.keys() - parameters)) and all(each.kind not in SPREAD for each in parameters.values()):
        raise BadInput(f"{obj.__name__} has no setting {', '.join(unknown)} in this version; leave out what it lacks.")
    for name, parameter in parameters.items():
        if parameter.default is REQUIRED and parameter.kind not in SPREAD and name not in values:
            raise BadInput(f"{obj.__name__} needs the setting {name!r}; add --set {name}=VALUE.")
    try:
        return obj(**values)
    except (Exception, SystemExit) as error:
        if isinstance(error, CutbenchError) or not getattr(obj, "__module__", "").startswith(USERS):
            raise
        fault, file, line = f"{type(error).__name__}: {error}".splitlines()[0], inspect.getfile(obj), ""
        for frame in traceback.extract_tb(error.__traceback__):
            line = f" line {frame.lineno}" if frame.filename == file else line
        raise BadInput(f"{obj.__name__} of {file}{line} stops with {fault}; repair the file.") from error


# ── what goes with what ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Pair:
    """Whether a formulation fits an output structure, and which solvers work on the two.

    `why` is the sentence of a refusal, None if the two fit; `solvers` maps each solver to such a sentence or None.
    """

    output: str
    formulation: str
    why: str | None
    solvers: dict[str, str | None]


def compatibility() -> list[Pair]:
    """Every output structure (its `tiny` instance) with every formulation and solver at default settings."""
    import numpy as np

    found = [fitting(output, kind.tiny(np.random.default_rng(0))) for output, kind in registry("output").items()]
    return [pair for pairs in found for pair in pairs]


def fitting(output: str, problem: Any) -> list[Pair]:
    """One problem, called `output`, with every formulation and solver at default settings."""
    pairs, solvers = [], {name: solver() for name, solver in registry("solver").items()}
    for name, kind in registry("formulation").items():
        formulation = kind()
        why = misfit(formulation, problem)
        takes = {} if why else {each: solver.misfit(formulation, problem) for each, solver in solvers.items()}
        pairs.append(Pair(output, name, why, takes))
    return pairs


def misfit(formulation: Any, problem: Any) -> str | None:
    """Why the formulation cannot work on the problem, or None."""
    from workbench.contracts import Majorized, SmoothForm

    if isinstance(formulation, SmoothForm):
        ask = formulation.terms
    else:
        ask = formulation.start if isinstance(formulation, Majorized) else formulation.oracle
    try:
        ask(problem)
    except MissingCapability as refusal:
        return str(refusal)
    return None
