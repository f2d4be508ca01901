"""docs/api.md: the whole public API on one page, made from signatures and docstrings.

    python tests/support/api.py        writes the page; tests/test_api.py says when that is due

Public are the names of `workbench.public_names()`; of modules among them the names that they define without an
underscore; of classes their public methods and properties with a docstring of their own; and the contracts, in which
the other methods of output structures, formulations and solvers are documented.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import workbench as wb
from workbench import contracts
from workbench.registries import registry

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
HEAD = """# The public API

Everything that `import workbench as wb` offers, from signatures and docstrings. This page is generated:
`python tests/support/api.py` writes it. What is not here is private and may change in any release
([stability](stability.md)).

"""
VALUES = {
    "BACKENDS": "The convex solvers by name, each with its version, its cones and whether it is installed.",
    "RACES": "The races by name: problem, formulation and budget of each, for `race`.",
}
KINDS = {"output": "Output structures", "formulation": "Formulations", "solver": "Solvers", "learner": "Learners"}
RESTORED = {"from_arrays"}  # `Problem.arrays` says what it does
BARE = {
    "blocks",
    "prices",
    "kernel",
    "regularizer",
    "terms",
    "oracle",
    "program",
}  # of contracts; their types say it all
PLAIN = (dict, list, tuple, int, float, str)


def public() -> dict[str, Any]:
    """Every public name with its object."""
    return {name: getattr(wb, name) for name in wb.public_names()}


def titled() -> dict[str, dict[str, Any]]:
    """The public names by section: functions and values, classes by registry, other classes, modules."""
    names = public()
    sections: dict[str, dict[str, Any]] = {"Functions": {}, "Classes": {}}
    homes = {id(item): kind for kind in KINDS for _, item in registry(kind).items()}
    for name, item in names.items():
        if isinstance(item, ModuleType):
            title = f"Module `wb.{name}`"
            sections.setdefault(title, {"": item} | members(item))
        elif inspect.isclass(item):
            sections.setdefault(KINDS.get(homes.get(id(item), ""), "Classes"), {})[name] = item
        else:
            sections["Functions"][name] = item
    sections["Contracts"] = {each.__name__: each for each in protocols()}
    order = ["Functions", "Classes", *KINDS.values(), "Contracts"]
    return {title: sections[title] for title in [*order, *sorted(set(sections) - set(order))] if sections.get(title)}


def protocols() -> list[type]:
    """The protocols of workbench/contracts, by name."""
    found = {
        item for item in vars(contracts).values() if inspect.isclass(item) and getattr(item, "_is_protocol", False)
    }
    return sorted(found, key=lambda each: each.__name__)


def promised() -> set[str]:
    """The names of members that a contract documents: by a docstring of their own, or in that of the protocol."""
    names = {name for each in protocols() for name in methods(each)}
    words = {word for each in protocols() for word in re.findall(r"\w+", inspect.getdoc(each) or "")}
    members_ = {name for each in protocols() for name in [*vars(each), *getattr(each, "__annotations__", {})]}
    return names | (members_ & words) | RESTORED | BARE


def undocumented() -> list[str]:
    """Public names, and public methods of public classes, that neither a docstring nor a contract documents."""
    known, found = promised(), []
    for items in titled().values():
        for name, item in items.items():
            if not document(name, item):
                found.append(name)
            own = methods(item, bare=True) if inspect.isclass(item) and item not in protocols() else {}
            found += [f"{name}.{each}" for each in own if each not in known and not inspect.getdoc(getattr(item, each))]
    return found


def members(module: ModuleType) -> dict[str, Any]:
    """The public functions and classes that a module, or a package's own files, define."""
    found = {}
    for name, item in sorted(vars(module).items()):
        home = getattr(item, "__module__", "") or ""
        if not name.startswith("_") and callable(item) and home.startswith(module.__name__):
            found[name] = item
    return found


def methods(family: type, bare: bool = False) -> dict[str, Any]:
    """The public methods and properties that a class of ours defines, with a docstring; `bare`: also those without."""
    found = {}
    for name in dir(family):
        if name.startswith("_"):
            continue
        owner = next((each for each in family.__mro__ if name in vars(each)), None)
        item = inspect.getattr_static(family, name)
        ours = owner is not None and owner.__module__.startswith("workbench")
        kinds = (property, staticmethod, classmethod)
        if (
            ours
            and (inspect.isfunction(item) or isinstance(item, kinds))
            and (bare or inspect.getdoc(getattr(family, name)))
        ):
            found[name] = item
    return found


def document(name: str, item: Any) -> str:
    """The docstring, or the line of VALUES; "" without either. The field list that Python gives a dataclass is none."""
    if isinstance(item, PLAIN):
        return VALUES.get(name, "")
    text = inspect.getdoc(item) or ""
    own = getattr(item, "__name__", "")
    return "" if text.startswith(f"{own}(") else text


def signature(name: str, item: Any) -> str:
    """`name(parameters)`; a property or a value by its name."""
    if isinstance(item, staticmethod | classmethod):
        item = item.__func__
    try:
        text = f"{name}{inspect.signature(item)}" if callable(item) else name
    except (TypeError, ValueError):
        return name
    text = (
        re.sub(r" at 0x[0-9a-f]+|(?:<class |ForwardRef\()'(.*?)'[>)]", r"\1", text)
        .replace("workbench.", "")
        .replace("NoneType", "None")
    )
    return re.sub(r"""(: |-> )(["'])(.*?)\2(?=[,)]| = |$)""", r"\1\3", text)  # annotations are kept as texts


def entry(name: str, item: Any, level: int) -> str:
    text = document(name, item)
    if isinstance(item, dict):
        text += f" Keys: {', '.join(map(str, item))}."
    body = f"```text\n{text}\n```\n" if text else ""
    return f"{'#' * level} {name}\n\n```python\n{signature(name, item)}\n```\n\n{body}\n"


def page() -> str:
    """The page."""
    parts = [HEAD]
    for title, items in titled().items():
        parts.append(f"## {title}\n\n")
        for name, item in items.items():
            if isinstance(item, ModuleType):
                parts.append(f"```text\n{document(name, item)}\n```\n\n")
                continue
            parts.append(entry(name, item, 3))
            if inspect.isclass(item):
                parts += [entry(f"{name}.{own}", each, 4) for own, each in methods(item).items()]
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
