"""The nouns of the detective: suspects, whose weights are to be explained, and neighbours, other objectives to try."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.contracts import CutForm, Floats, Labelled, LinearScores, Oracle, Problem, SmoothForm
from workbench.judging.reference import Reference
from workbench.objectives.regularizers import SquaredNorm
from workbench.objectives.variants import Rescaled, RescaledTerms, SmoothVariant, Variant
from workbench.solving.transfer import rebuilt


@dataclass(frozen=True)
class Explanation:
    """What a learner does instead: the entry's `name`, one sentence, numbers, and whether nothing else fits.

    evidence : `excess` e under the named objective, `given` e₋ under the one asked for, `next` the least e₋ of the
        others, `multiple` κ where λ is meant
    """

    name: str
    sentence: str
    evidence: dict[str, float] = field(default_factory=dict)
    confident: bool = False


class Neighbour(NamedTuple):
    """Another reading of the weights: θ′ under formulation′ and problem′.

    size : in place of |F′(θ′)| where the minimum is 0;  evidence : what the entry found out on its way;
    objective : what tells F′ from others of this reference, the name if nothing else;
    hidden : the entries of θ′ that are not reported
    """

    name: str
    sentence: str
    formulation: Any  # any form, or a variant
    problem: Problem
    theta: Floats
    size: float = 0.0
    evidence: dict[str, float] = {}  # noqa: RUF012 never written to
    objective: Hashable = ()
    hidden: NDArray = np.zeros(0, bool)


class Fit(NamedTuple):
    """e and e₋ of a neighbour, and D, within which of its optimum the weights lie (∞ where r has no curvature).

    apart : how far from that optimum they are at least, of their length; 0 where that is not known
    risk : R′(θ′)/size of F′ = r′ + R′; ∞ where r is no squared norm
    """

    neighbour: Neighbour
    most: float
    least: float
    distance: float = np.inf
    apart: float = 0.0
    risk: float = np.inf


@dataclass(frozen=True)
class Suspect:
    """Weights to be explained, and what they should have been; history [(passes, θ), …]."""

    theta: Floats
    reference: Reference
    history: Sequence[tuple[float, Floats]] = ()

    @property
    def form(self) -> Any:  # any form, whose settings the entries read by name
        return self.reference.formulation

    @property
    def problem(self) -> Problem:
        return self.reference.problem

    @cached_property
    def values(self) -> tuple[float, float]:
        """F(θ) and F at the reference, as asked for."""
        bounds = self.reference.bounds
        return bounds.upper(self.theta), bounds.upper(self.reference.theta)

    @cached_property
    def n(self) -> int:
        return int(np.count_nonzero(self.problem.weights))

    @cached_property
    def plain(self) -> bool:
        """Whether θ is one vector w with r = λ/2 ‖w‖²."""
        return isinstance(self.form.regularizer(self.problem), SquaredNorm)

    @cached_property
    def intercepts(self) -> NDArray[np.bool_]:
        """(p,) whether an entry of w multiplies a feature that never varies."""
        if isinstance(self.problem, Labelled):
            inputs = self.problem.inputs
        elif isinstance(self.problem, LinearScores):
            inputs = self.problem.X
        else:
            return np.zeros(len(self.theta), bool)
        lowest, highest = (end(axis=0).toarray().ravel() for end in (inputs.min, inputs.max))
        constant = (lowest == highest) & (highest != 0)
        copies = np.tile(constant, len(self.problem.classes)) if isinstance(self.problem, Labelled) else constant
        return np.concatenate([copies, np.zeros(len(self.theta) - len(copies), bool)])

    @cached_property
    def length(self) -> float:
        return float(np.linalg.norm(self.theta))

    @property
    def labelled(self) -> Labelled:
        """The problem, if its outputs are labels at places."""
        assert isinstance(self.problem, Labelled)
        return self.problem

    @property
    def edges(self) -> int:
        """Entries of w that weigh inputs; transitions follow."""
        return len(self.labelled.classes) * self.labelled.inputs.shape[1]

    def same(self, name: str, sentence: str, theta: Floats, **evidence: float) -> Neighbour:
        """Other weights under the objective that was asked for."""
        return Neighbour(name, sentence, self.form, self.problem, theta, 0.0, evidence, "as asked for")

    def seen(self, name: str, sentence: str, scales: Floats) -> Neighbour:
        """The same objective with φ multiplied by D: w = D w′."""
        kind, view = (SmoothVariant, RescaledTerms) if isinstance(self.form, SmoothForm) else (Variant, Rescaled)
        theta = self.theta / np.where(scales > 0, scales, 1.0) * (scales > 0)
        form = kind(self.form, lambda inner: view(inner, scales))
        return Neighbour(name, sentence, form, self.problem, theta, objective=("features", scales.tobytes()))


SHARE = 30.0  # times r(θ′), the size of F′ where it hardly depends on weights that cost next to nothing
ALONG = (0.7, 1.4)  # multiples of θ that may be better than θ
UNNAMED = "λ"  # the name of a multiple of λ that no reason is known for

Entry = Callable[[Suspect], Iterable[Neighbour | Fit]]  # a Fit where no minimum has to be found


def data(name: str, sentence: str, key: str, change: Callable[[NDArray, Problem], ArrayLike]) -> Entry:
    """Another problem: `change(array, problem)` of the array `key` it consists of, where it has that and it differs."""

    def entry(suspect: Suspect) -> Iterator[Neighbour]:
        arrays = suspect.problem.arrays()
        if key in arrays:
            new = np.asarray(change(arrays[key], suspect.problem))
            if not np.array_equal(new, arrays[key]):
                problem = rebuilt(suspect.problem, arrays | {key: new})
                yield Neighbour(name, sentence, suspect.form, problem, suspect.theta)

    return entry


def viewed(name: str, sentence: str, view: Callable[[Oracle], Oracle], **extra: Any) -> Entry:  # fields of Variant
    """Another oracle or regularizer, for cuts with r = λ/2 ‖w‖²."""

    def entry(suspect: Suspect) -> Iterator[Neighbour]:
        if suspect.plain and isinstance(suspect.form, CutForm):
            yield Neighbour(name, sentence, Variant(suspect.form, view, **extra), suspect.problem, suspect.theta)

    return entry
