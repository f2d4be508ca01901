"""The shapes of records: which fields a reader relies on, and of which kinds all fields are.

A shape is one of

    a tuple of types      a value of one of them; numbers are finite, and True is a number only where bool is named;
                          `Printable` and `Positive` narrow texts and numbers
    [shape]               a list of values of that shape
    Each(shape)           an object whose values have that shape
    {"key": shape}        an object with these fields; a key that ends in ? may be missing; further keys are let be

docs/records.schema.json says what our verbs write; these shapes admit older records, with fewer fields.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import BadInput, printed, shortened

LONGEST = 80  # characters of a field's name in a message
LARGEST = 1e300  # of a whole number


class Each(NamedTuple):
    """An object whose values have this shape."""

    shape: Any


class Printable(str):
    """A text without control characters, which could be no part of a file's name and steer a terminal."""


class Positive(float):
    """A number above 0, such as λ, of which figures show the logarithm."""


TEXT, MAYBE, NAME = (str,), (str, type(None)), (Printable,)
REAL = (int, float)
ABOVE_0 = (*REAL, Positive)
NUMBER = (*REAL, type(None))
SWITCH = (bool,)
ANY_OBJECT: dict[str, Any] = {}
SOME_OBJECT = (dict, type(None))
SCALAR = (str, bool, *NUMBER)

INTERVAL = {"lower": NUMBER, "upper": NUMBER, "gap": NUMBER, "status": TEXT}
WORK = ("cuts", "rounds", "seconds", "cpu_seconds", "compile_seconds", "oracle_seconds", "master_seconds")
WORK = (*WORK, "train_error", "n_samples", "dim", "programs", "unsolved", "inner_gap")
NAMED = {"problem": NAME, "formulation": NAME}
OF_RUN = {f"{key}?": NUMBER for key in (*WORK, "lower", "upper", "gap")}
OF_RUN |= {f"{key}?": TEXT for key in ("status", "backend", "oracle", "lower_kind", "own_status", "evidence")}
OF_RUN |= {f"{key}?": MAYBE for key in ("certificate", "optimum")}
OF_RUN |= {"conditional_on?": [TEXT], "learned?": ANY_OBJECT}
ROUND = {f"{key}?": NUMBER for key in ("lower", "upper", "gap")}
ROUND |= {f"{key}?": REAL for key in ("round", "cuts", "seconds", "active")}
ABOUT = {"format?": TEXT, "verb?": TEXT, "command?": TEXT, "versions?": Each(TEXT)}
KEPT = {"about?": ABOUT, "settings?": ANY_OBJECT, "asked?": ANY_OBJECT, "history?": [ROUND]}
CAUSE = {"kind?": TEXT, "name?": TEXT, "sentence?": TEXT, "confident?": SWITCH}
OWN_RUN = {"seed?": NUMBER, "verdict": TEXT, "excess?": NUMBER, "rule?": TEXT, "seconds?": NUMBER}
LEARNER = {"name": NAME, "verdict": TEXT, "reason": TEXT, "history": [[NUMBER]], "causes": [CAUSE], "remarks": [TEXT]}
LEARNER |= {f"{key}?": NUMBER for key in ("excess", "passes", "seconds", "absolute", "needed", "calls")}
LEARNER |= {"evidence?": SOME_OBJECT, "runs?": [OWN_RUN], "rule?": TEXT}
POINT = {"lam": ABOVE_0} | {
    f"{key}?": NUMBER for key in ("lower", "upper", "gap", "train_error", "loss", "low", "high")
}
CUT = {"sample": REAL, "output": TEXT}
BREAK = {"lam": ABOVE_0, "enters": [CUT], "leaves": [CUT], "active": REAL}
PROVEN = {"kind": TEXT, "statement": TEXT, "sizes": Each(REAL), "lower": NUMBER, "upper": NUMBER, "gap": NUMBER}
PROVEN |= {"because?": [TEXT], "rounded?": [TEXT], "program?": TEXT, "certificate?": MAYBE}
PROVEN |= {"solution?": SOME_OBJECT, "prices?": SOME_OBJECT, "rows?": [Each((list, dict, *SCALAR))]}
FOLLOWED = {**NAMED, "epsilon": REAL, "gap": REAL, "least": REAL, "greatest": REAL, "points": [POINT]}
FOLLOWED |= {"break_points?": [BREAK]}

JUDGED = {"learners": [LEARNER], "reference": {**NAMED, **OF_RUN}, "left_out?": Each(TEXT)}
JUDGED |= {"interrupted?": SWITCH, "limit?": SWITCH}
NEVER: tuple[type, ...] = ()  # of fields that only another kind of record has
ALIEN = {f"{key}?": NEVER for key in ("reference", "learners")} | KEPT

SHAPES: dict[str, dict[str, Any]] = {
    "solve": {**ALIEN, **NAMED, **OF_RUN, "rows?": [OF_RUN], "points?": NEVER, "break_points?": NEVER},
    "crosscheck": {**KEPT, **JUDGED, "points?": NEVER, "break_points?": NEVER, "rows?": NEVER},
    "prove": {**ALIEN, **PROVEN, "points?": NEVER, "break_points?": NEVER},
    "path": {**ALIEN, **FOLLOWED, "rows?": NEVER},
}


def checked(content: Any, shape: Any, path: Path, what: str = "record") -> None:
    """`BadInput` unless what the file at `path` holds has the shape; the sentence names the first field that has not.

    what : the kind of the file, in a word
    """
    if (at := fault(content, shape)) is not None:
        name = printed(shortened(at, LONGEST))
        raise BadInput(f"{path} is a damaged {what}, its {name!r} is missing or of a wrong kind; run it again.")


def fault(value: Any, shape: Any, at: str = "") -> str | None:
    """The first field, as `learners[0].name`, that has not its shape; None if all have theirs."""
    if isinstance(shape, Each):
        if not isinstance(value, dict):
            return at
        return first(fault(each, shape.shape, f"{at}.{key}".lstrip(".")) for key, each in value.items())
    if isinstance(shape, Mapping):
        return fault_of_object(value, shape, at)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return at
        return first(fault(each, shape[0], f"{at}[{k}]") for k, each in enumerate(value))
    return None if fits(value, shape) else at


def fault_of_object(value: Any, shape: Mapping[str, Any], at: str) -> str | None:
    if not isinstance(value, dict):
        return at
    for key, each in shape.items():
        name = key.removesuffix("?")
        place = f"{at}.{name}".lstrip(".")
        if name not in value:
            if name == key:
                return place
        elif (found := fault(value[name], each, place)) is not None:
            return found
    return None


def first(faults: Any) -> str | None:
    return next((each for each in faults if each is not None), None)


def fits(value: Any, types: tuple[type, ...]) -> bool:
    """Whether a value has one of these types; a number that is not finite, or too large for a float, has none."""
    if isinstance(value, bool):
        return bool in types
    if isinstance(value, int | float) and not (abs(value) <= LARGEST and math.isfinite(value)):
        return False
    if Printable in types:
        return isinstance(value, str) and value.isprintable()
    if Positive in types and isinstance(value, int | float):
        return value > 0
    return isinstance(value, types)


def unwieldy(value: Any, at: str = "") -> str | None:
    """The first field that is a whole number too large for a float; None if there is none."""
    if isinstance(value, dict):
        return first(unwieldy(each, f"{at}.{key}".lstrip(".")) for key, each in value.items())
    if isinstance(value, list):
        return first(unwieldy(each, f"{at}[{k}]") for k, each in enumerate(value))
    return at if isinstance(value, int) and abs(value) > LARGEST else None
