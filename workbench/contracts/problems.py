"""The contract of a problem, which is data with an output structure, and the contracts of its capabilities.

Every output structure provides `Problem`. Each further protocol is one capability, which a problem may have: a
formulation that needs a capability asks `isinstance(problem, Capability)` and otherwise refuses in one sentence.

Letters: n samples, d features, m rows of a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.contracts.cuts import Floats, Ints
from workbench.contracts.listings import Listing
from workbench.contracts.oracles import Kernel, Terms

if TYPE_CHECKING:
    import cvxpy as cp


@runtime_checkable
class Problem(Protocol):
    """Data with an output structure. Outputs are int64 rows of fixed width (padded with −1).

    n_samples, n_features, width : n, d and the width of an output row
    truth : (n, width) the true outputs;  weights : (n,) sample weights, 1 unless given
    magnitude : (n,) bound on max_y ‖φ(x_i, y)‖₁;  max_loss : (n,) bound on max_y ℓ_i(y)
    least_loss : the least positive loss of any output of any sample
    free_outputs : whether an output other than the truth can have zero loss
    terms : most multiply-adds in one score ⟨w, φ(x_i, y)⟩ [+ ℓ], for rounding bounds
    exact_features : whether the entries of φ(x,y) − φ(x,y') are free of rounding
    oracle_kind : "exact", "under" or "relaxed", what `argmax` finds
    """

    @property
    def n_samples(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def truth(self) -> Ints: ...

    weights: Floats

    @property
    def magnitude(self) -> Floats: ...

    @property
    def max_loss(self) -> Floats: ...

    @property
    def least_loss(self) -> float: ...

    @property
    def free_outputs(self) -> bool: ...

    @property
    def terms(self) -> int: ...

    @property
    def exact_features(self) -> bool: ...

    @property
    def oracle_kind(self) -> str: ...

    def features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        """φ(x_i, y) for a batch, (m, d)."""
        ...

    def loss(self, samples: Ints, outputs: Ints) -> Floats:
        """ℓ_i(y) ≥ 0 for a batch, (m,); zero at the truth."""
        ...

    def argmax(self, w: Floats, samples: Ints, augment: bool | Floats = True) -> Ints:
        """argmax_y ⟨w, φ(x_i, y)⟩ [+ ℓ_i(y) if augment] for a batch, (m, width).

        A `Labelled` problem also takes a table in place of the loss, see `Labelled`.
        """
        ...

    def describe(self, sample: int, output: Ints) -> str:
        """An output in the user's words, for messages."""
        ...

    def arrays(self) -> dict[str, NDArray]:
        """The arrays from which `from_arrays` rebuilds the problem, for certificates; no object arrays."""
        ...


@runtime_checkable
class Recording(Protocol):
    """A problem whose outputs are objects of the user; a row (m, 1) is the number of an object in this problem alone.

    A certificate holds the arrays of `packed`, which numbers the outputs anew; `recalled` translates the numbers back.
    origin : the problem file and its settings, from which other processes can build the problem; or None
    conditions : the sentences that proofs assume, as of `Conditional` (contracts/proving.py)
    """

    origin: tuple[str, dict[str, object]] | None
    conditions: list[str]

    def vet(self) -> None:
        """Try the user's functions that make up the problem; `BadInput` for a fault in one of them."""
        ...

    def copied(self) -> Problem:
        """A problem of its own by the same functions, which a learner may spoil."""
        ...

    def recorded(self, rows: Ints) -> dict[str, NDArray]:
        """The arrays from which `admitted` rebuilds these outputs, for a file."""
        ...

    def admitted(self, arrays: dict[str, NDArray], believe: bool = True) -> Ints:
        """The numbers of the outputs in a file's arrays, in this problem.

        believe : whether outputs without a text may come with the features and losses that the arrays claim
        """
        ...

    def packed(self, formulation: object, theta: Floats, witnesses: Ints) -> tuple[dict[str, NDArray], Ints]:
        """The arrays of a certificate, and the witnesses in the numbering of these arrays."""
        ...

    def recalled(self, file: object, witnesses: Ints) -> Ints:
        """The witnesses of a certificate with the problem `file`, in the numbering of this problem."""
        ...


@runtime_checkable
class Enumerable(Protocol):
    """A problem whose outputs can be listed."""

    def outputs(self, sample: int) -> Ints:
        """All of 𝒴_i, (|𝒴_i|, width)."""
        ...


@runtime_checkable
class ListedPerhaps(Protocol):
    """A problem whose outputs can be listed only if its user says what they are."""

    def listed(self) -> object:
        """The list of all outputs, or `MissingCapability`."""
        ...


def enumerated(problem: Enumerable, samples: Ints) -> tuple[Ints, Ints]:
    """All (sample, output) pairs, sample by sample: (m,) and (m, width)."""
    outputs = [problem.outputs(i) for i in samples]
    return np.repeat(samples, [len(each) for each in outputs]), np.concatenate(outputs)


@runtime_checkable
class SlackArgmax(Protocol):
    """A problem with an oracle for slack rescaling."""

    def slack_argmax(self, w: Floats, samples: Ints) -> Ints:
        """argmax_y ℓ_i(y)(1 − ⟨w, ψ_i(y)⟩) for a batch, (m, width)."""
        ...


@runtime_checkable
class Labelled(Protocol):
    """A problem whose outputs are labels at places: one place a sample, or one a position of a sequence.

    Row r of `inputs` (N, p) is the input at place r, labels[r] its true label as an index into `classes`.
    An output row holds the labels of its sample's places in order, then padding. `argmax` takes for
    `augment` also a table (P, k): what each label at each place of the batch adds to the score. `kernel` takes
    one table (k, k) for all places, by true label, and reads the table anew at every visit.
    """

    classes: NDArray
    labels: Ints
    inputs: sparse.csr_array

    def places(self, samples: Ints) -> tuple[Ints, Ints]:
        """(number in the batch, place) of all P places of a batch, in order."""
        ...


@runtime_checkable
class Divided(Labelled, Protocol):
    """A `Labelled` problem whose loss is ℓ_i(y) = Σ_t cost[y_it, y_t] / divisors_i, divisors (n,) whole and ≥ 1."""

    cost: Floats
    divisors: Floats


@runtime_checkable
class RunnerUp(Protocol):
    """A problem that finds the best output other than the truth (every sample has another output)."""

    def runner_up(self, w: Floats, samples: Ints) -> Ints:
        """argmax over y ≠ y_i of ⟨w, φ(x_i, y)⟩ for a batch, (m, width)."""
        ...


@runtime_checkable
class Compact(Protocol):
    """A problem that can state its loss-augmented maximum as a convex program of polynomial size."""

    def compact(self, w: cp.Variable) -> CompactHinge:
        """The hinge terms h_i as a CVXPY program in the variable w (d,)."""
        ...


class CompactHinge(NamedTuple):
    """max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩ written out: the least `hinge` under `constraints` is that maximum.

    `atoms()` reads, after the solve, dual weights over outputs: (samples, witnesses, weights ≥ 0).
    """

    hinge: cp.Expression
    constraints: list[cp.Constraint]
    atoms: Callable[[], tuple[Ints, Ints, Floats]]


def multipliers(inequality: Any) -> Floats:  # CVXPY's, whose values have no types once solved
    """The multipliers of a solved inequality, at least 0, in its shape."""
    return np.maximum(inequality.dual_value, 0)


@runtime_checkable
class Marginals(Protocol):
    """A problem that sums over all its outputs without listing them."""

    def marginals(self) -> Terms:
        """The terms log Σ_y exp⟨w, φ(x_i, y)⟩ − ⟨w, φ(x_i, y_i)⟩ (objectives/likelihoods.py)."""
        ...


@runtime_checkable
class Unsummable(Protocol):
    """A problem without `Marginals` that says why, in a few words."""

    no_marginals: str


@runtime_checkable
class Costed(Protocol):
    """A problem whose loss is a table: cost[true label, other label], (k, k)."""

    cost: Floats


@runtime_checkable
class OfFunctions(Protocol):
    """A problem made of a user's functions, which trials of its argmax call (objectives/trials.py).

    oracles : the names of the oracles that these functions are, "argmax" and "slack_argmax"
    known : how many columns of features have a name yet
    """

    oracles: tuple[str, ...]
    known: int

    def ask(self, name: str, w: Floats, samples: Ints, truths: bool) -> Ints:
        """The answers (m, 1) of the oracle `name`, which is given the true outputs or not."""
        ...

    def vouched(self, sample: int, most: int) -> Ints:
        """At most so many outputs (m, 1) of which a function of the user says that they are outputs of the sample."""
        ...

    def examined(self, sample: int, rng: np.random.Generator) -> tuple[str, int, str] | None:
        """A fault of the functions that shows without a maximum: its name, the sample and a sentence; or None."""
        ...


@runtime_checkable
class Predicting(Protocol):
    """A problem that predicts outputs of new inputs, in the user's own form: rows, sequences, objects."""

    def predict(self, w: Floats, inputs: Any, *bias: Floats) -> Any:  # of the user's own kind
        """The outputs of new inputs by the weights w and, of formulations with a bias, by `bias`."""
        ...


class LogPartition(NamedTuple):
    """log Σ_y exp⟨w, φ(x_i, y)⟩ (n,) written out: the least `values` under `constraints` are these."""

    values: cp.Expression
    constraints: list[cp.Constraint]


@runtime_checkable
class LinearScores(Protocol):
    """A problem with one score ⟨w, x⟩ a sample: rows of X (n, d), real `targets` (n,) and their `signs` ±1 (n,)."""

    X: sparse.csr_array
    targets: Floats
    signs: Floats


@runtime_checkable
class Latent(Protocol):
    """A problem whose samples hide a variable h_i, so that φ is φ(x, y, h); a state is one whole number a sample.

    n_hidden : (n,) the numbers |H_i| of states;  hides : whether the state of some truth is unknown
    An output names a label and a state; outputs of zero loss are the truth in its different states.
    """

    n_hidden: Ints
    hides: bool

    def hidden(self, sample: int) -> Ints:
        """H_i, (|H_i|,)."""
        ...

    def impute(self, w: Floats, states: Ints | None = None) -> Ints:
        """argmax_h ⟨w, φ(x_i, y_i, h)⟩ (n,); ties go to the state in `states`, else to the first."""
        ...

    def hidden_scores(self, w: Floats, samples: Ints) -> list[Floats]:
        """⟨w, φ(x_i, y_i, h)⟩ over H_i for each of a batch."""
        ...

    def completed(self, states: Ints, weights: Floats | None = None) -> Problem:
        """The problem whose truth has these states, and perhaps other sample weights, which may all be 0."""
        ...


@runtime_checkable
class Kernelled(Protocol):
    """A problem whose argmax, loss-augmented or not, is also a `Kernel`."""

    def kernel(self, augment: bool | Floats = True) -> Kernel:
        """`augment`: with the loss or without; a `Labelled` problem also takes a table (k, k) in its place."""
        ...


@runtime_checkable
class Arranged(Protocol):
    """A problem with kernels for weights in another order: those that a search reads in a row are neighbours."""

    def arranged(self, augment: bool | Floats = True, slack: bool = False) -> Kernel: ...


@runtime_checkable
class SlackKernelled(Protocol):
    """A problem whose slack-rescaled cuts have a `Kernel`, too."""

    def slack_kernel(self) -> Kernel: ...


@runtime_checkable
class RivalKernelled(Protocol):
    """A problem whose cuts at margin 1 have a `Kernel`, too; `arranged` perhaps for the weights in another order."""

    def rival_kernel(self, arranged: bool = False) -> Kernel: ...


@runtime_checkable
class Listable(Protocol):
    """A problem whose outputs are single labels, so that all its cuts are a `Listing`; cost (k, k) are its losses."""

    cost: Floats

    def listing(self, scale: Floats, offset: Floats) -> Listing:
        """The cuts with slopes scale_ty (e_y − e_t) ⊗ x_i and offsets offset_ty, both (k, k), of true label t."""
        ...


@runtime_checkable
class Listed(Protocol):
    """An oracle whose cuts may all be one `Listing`."""

    def listing(self) -> Listing | None: ...


@runtime_checkable
class Naming(Protocol):
    """A problem that names its weights in the user's words."""

    def weight_names(self) -> list[str]:
        """One name for each of the d weights, in order."""
        ...


@runtime_checkable
class Stored(Protocol):
    """What can be put into a file: `Problem`s, and data beside a certificate."""

    def arrays(self) -> dict[str, NDArray]: ...


@runtime_checkable
class Paired(Protocol):
    """A problem whose samples are pairs of two sides: `dyads` is a `Dyads` (dyads/pairs.py)."""

    dyads: Any  # of dyads/pairs.py, a wing above


@runtime_checkable
class Asking(Protocol):
    """An oracle that names the problem it asks, which may be another than its formulation was given: completed, say."""

    problem: Problem


@runtime_checkable
class Clipped(Protocol):
    """A problem that has samples whose true output is not among the outputs it predicts: their hinges are clipped at 0.

    outside : (n,) which samples these are. There the argmax with the loss may answer y_i, whose cut is 0, and the
        argmax without the loss never does
    """

    outside: NDArray[np.bool_]


@runtime_checkable
class Signed(Protocol):
    """A problem that admits only w_j ≥ 0 for the features j of the mask `signed` (d,)."""

    signed: NDArray[np.bool_]
