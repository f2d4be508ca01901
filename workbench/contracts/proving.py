"""What a proof may ask of a problem besides `Problem`: exact arithmetic, known rounding, and what the proof assumes.

Each protocol is one capability, as those of contracts/problems.py.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from workbench.contracts.cuts import Floats, Ints


@runtime_checkable
class Exact(Protocol):
    """A problem with the same features, losses and maxima in rational arithmetic."""

    def exact(self) -> Any:  # an `ExactOutputs` of arithmetic/rationals.py, a wing above; None where there is none
        ...


@runtime_checkable
class ExactLoss(Protocol):
    """A problem that says whether ℓ is free of rounding; the losses of any other problem count as rounded."""

    exact_loss: bool


@runtime_checkable
class BoundedFeatures(Protocol):
    """A problem with a better bound on the rounding of its features than by `terms`; its losses are exact.

    feature_error : (n,) bound on the rounding error of an entry of φ(x, y) − φ(x, y')
    """

    feature_error: Floats


@runtime_checkable
class Nested(Protocol):
    """A problem whose scores are nested sums, so that far fewer roundings meet a number than `terms`.

    depth : (n,) the roundings that meet any one number on its way into the score of an output, with its loss
    """

    depth: Ints


@runtime_checkable
class Conditional(Protocol):
    """A problem about which proofs assume the sentences `conditions`; there may be none."""

    conditions: list[str]


@runtime_checkable
class Concurrent(Protocol):
    """An oracle, a problem or a regularizer whose functions several threads may call at a time.

    concurrent : whether `rows`, `features` and `loss`, and `argmax` where outputs are single labels, write to nothing
        but what they return; so do the functions of a regularizer and of what its `within` returns. What a class says
        holds for no class derived from it, and for no object that was given a function of its own
    """

    concurrent: bool


@runtime_checkable
class Placing(Protocol):
    """A problem that tells outputs of a sample from those of others, without exact arithmetic and without a list."""

    def misplaced(self, samples: Ints, outputs: Ints) -> int | None:
        """The number of the first output (m, width) that is none of its sample, or None."""
        ...


@runtime_checkable
class Hinting(Protocol):
    """A problem whose certificates hold hints, which spare the checker a search and which it tests before use."""

    def hints(self, w: Floats) -> dict[str, NDArray]: ...


@runtime_checkable
class Missing(Protocol):
    """A problem whose argmax may end below the maximum, by a known amount."""

    def missed(self, theta: Floats) -> Floats:
        """A bound (n,) on the maximum of each sample less the value that `argmax` finds."""
        ...
