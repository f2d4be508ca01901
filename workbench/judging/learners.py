"""Which learner is meant: a solver of ours, a learner of the registry, a user's file, or a function in Python.

**The contract.** A learner is a function, or an object with a method,

    fit(problem, formulation, budget, rng)          budget: a number of passes; rng: a seed

that returns weights θ (p,), in the order of `formulation.blocks(problem)`: alone, with a report, or as checkpoints
(judging/reports.py). If `fit` returns weights alone, further fits with a half, a quarter, … of the budget make the
history. `fit` receives a copy of the data, and raises `MissingCapability` for problems that the learner does not take.
A learner may also lend single steps, which are audited (judging/audits.py):

    oracle(problem, formulation, theta, i)          the learner's argmax for sample i, an output
    subgradient(problem, formulation, theta, i)     of h_i at θ
    prox(problem, formulation, u, metric, step)     argmin over x of ½ Σ_j H_j (x_j − u_j)² + η r(x)
    iterates(problem, formulation)                  (average, iterate, share) after each visit, for as long as asked
    flow(problem, formulation, theta, i, h)         θ after the update by pair i with importance h, of bilinear scores

A `fit` with a parameter `start`, {"weights": θ, "dual": (samples, outputs, μ)}, promises to stay at an optimum.
Solvers of ours are learners, too: `run` calls them, and all of their steps are audited.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from workbench.contracts import Problem, Solver
from workbench.errors import BadInput, MissingCapability, UnknownName
from workbench.judging.reference import Formulation
from workbench.registries import REQUIRED, build, dashed, is_path, load_user_file, misfit, parse_settings, registry

TOLERANCES = ("tol", "tolerance", "eps", "epsilon", "ftol", "gtol", "max_iter", "maxiter")  # words for "until when"


@dataclass(frozen=True)
class Learner:
    """A learner by name: a solver of ours, a function `fit`, or an object with a method of that name.

    file : the user's Python file that defines it under this name, if one does
    settings : texts key=value with which it was made
    """

    name: str
    thing: Any  # a user's object
    file: str = ""
    settings: tuple[str, ...] = ()  # as `key=value`, with which the thing was made

    @property
    def ours(self) -> bool:
        return isinstance(self.thing, Solver)

    @property
    def fit(self) -> Callable[..., Any]:  # a user's function
        return getattr(self.thing, "fit", self.thing)  # a user's object, or a function

    @property
    def takes_start(self) -> bool:
        return not self.ours and "start" in inspect.signature(self.fit).parameters

    @property
    def tolerance(self) -> str:
        """The name of a setting of its own that says when it ends; "" if none is to be seen."""
        own = getattr(self.thing, "__dict__", ())  # a user's object may have no settings
        known = set() if self.ours else {*inspect.signature(self.fit).parameters, *own}
        return next((name for name in TOLERANCES if name in known), "")


def learners_named(words: Sequence[str], settings: Sequence[str] = ()) -> list[Learner]:
    """The learners of these names and paths of Python files; a file may hold several.

    settings : texts NAME.key=value, settings of the learner of that name
    """
    solvers, learners, found = registry("solver"), registry("learner"), dict[str, Learner]()
    own = settings_by_name(settings)
    for word in words:
        if is_path(word):
            file = str(Path(word).resolve())
            for name, each in user_learners(word).items():
                given = own.pop(name, ())
                found[name] = Learner(name, able(made(each, given), word), file, given)
            continue
        name = dashed(word)
        if name not in solvers.objects and name not in learners.objects:
            told = {each: inspect.getdoc(thing) or "" for each, thing in (*solvers.items(), *learners.items())}
            raise UnknownName("learner", word, told, told)
        given = own.pop(name, ())
        thing = made((solvers if name in solvers.objects else learners).get(name), given)
        found[name] = Learner(name, thing, settings=given)
    if own:
        raise UnknownName("learner among those to check", next(iter(own)), found)
    return list(found.values())


def settings_by_name(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Texts NAME.key=value as the texts key=value of each name."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, dot, rest = text.partition(".")
        if not dot or not name or "=" not in rest or "=" in name:
            raise BadInput(f"The setting {text!r} is not of the form NAME.key=value; e.g. adagrad.step=0.1.")
        found[dashed(name)] = (*found.get(dashed(name), ()), rest)
    return found


@runtime_checkable
class Offering(Protocol):
    """A learner that says which pairs it fits, and is offered for these by default, as solvers of ours are."""

    def misfit(self, formulation: Formulation, problem: Problem) -> str | None:
        """Why it does not fit the pair, or None."""
        ...


def fitting(formulation: Formulation, problem: Problem) -> list[Learner]:
    """All solvers and learners of ours that take the pair."""
    found = [each for each in offered() if each.thing.misfit(formulation, problem) is None]
    if not found:
        raise MissingCapability("No solver of ours fits this pair; name others with --learners.")
    return found


def offered() -> list[Learner]:
    """All solvers and learners that say which pairs they fit."""
    known = [*registry("solver").items(), *registry("learner").items()]
    return [Learner(name, kind()) for name, kind in known if inspect.isclass(kind) and issubclass(kind, Offering)]


def left_out(formulation: Formulation, problem: Problem) -> dict[str, str]:
    """Why learners that take the pair at the formulation's default settings do not take it at these settings."""
    kind = type(formulation)
    if any(each.default is REQUIRED for each in inspect.signature(kind).parameters.values()):
        return {}
    usual = kind()
    if misfit(usual, problem) is not None:
        return {}
    able = [each for each in offered() if each.thing.misfit(usual, problem) is None]
    told = {each.name: each.thing.misfit(formulation, problem) for each in able}
    return {name: why for name, why in told.items() if why is not None}


def user_learners(path: str) -> dict[str, Any]:  # a user's objects
    return load_user_file(path, "learner", "fit")


def made(thing: Any, settings: Sequence[str] = ()) -> Any:  # a user's object
    """A class built, with settings given as key=value; a function with those settings bound."""
    if inspect.isclass(thing):
        return build(thing, parse_settings(settings, thing)[0])
    return partial(thing, **parse_settings(settings, thing)[0]) if settings else thing


def able(thing: Any, place: str = "What was given") -> Any:  # a user's object
    """The thing, if it can be a learner; `place` is where it is from."""
    if not isinstance(thing, Solver) and not callable(getattr(thing, "fit", thing)):  # a user's object
        told = f"{place}: {type(thing).__name__} is no learner"
        raise BadInput(f"{told}; give a function fit(problem, formulation, budget, rng) -> weights.")
    if fits_rows(thing):
        name = type(thing).__name__
        told = f"{place}: {name} is an estimator, whose fit takes X and y and not a problem"
        wrap = "wrap it in a function fit(problem, formulation, budget, rng) that returns the weights that it learns"
        kernel = getattr(thing, "kernel", "linear")  # a user's estimator
        if kernel != "linear":
            raise BadInput(f"{told}; {wrap}, with kernel='linear', since kernel={kernel!r} learns no weights.")
        rows = f"c = {name}().fit(problem.X, problem.labels).coef_, as c.ravel()"
        raise BadInput(f"{told}; {wrap}, such as {rows}, for two labels np.concatenate([-c[0] / 2, c[0] / 2]).")
    return thing


def fits_rows(thing: Any) -> bool:  # a user's object
    """Whether it is an estimator in scikit-learn's manner, with fit(X, y, …)."""
    try:
        names = [*inspect.signature(getattr(thing, "fit", None) or str).parameters]  # a user's object
    except (TypeError, ValueError):
        return False
    return bool(names) and names[0] in ("X", "Xs")


def one_learner(thing: Any) -> Learner:  # a user's object, a name or a path
    """The learner that a caller of `judge` means."""
    if isinstance(thing, Learner):
        return thing
    if isinstance(thing, str | Path):
        found = learners_named([str(thing)])
        if len(found) > 1:
            raise BadInput(f"{thing} holds {len(found)} learners; judge them one by one, or leave one in NAMES.")
        return found[0]
    thing = able(made(thing))
    name = getattr(thing, "name", getattr(thing, "__name__", type(thing).__name__))  # a user's object, or a function
    return Learner(name, thing)
