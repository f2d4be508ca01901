"""The kernels of a chain, for its weights as they are, W then A, or arranged: Wᵀ then A.

Arranged, the K weights of one input stand side by side, so that a letter of few inputs reads few stretches of memory.
For 36,000 words of 4 inputs each, 23 labels and 29,822 inputs, a search over all sentences reads 3.3 million weights.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import compiled_rows
from workbench.contracts import Floats, Ints, Kernel
from workbench.outputs import _rival_chain, _slack_chain, _viterbi
from workbench.outputs.tree import Tree


class Letters(Protocol):
    """What the kernels read of a chain (outputs/chain.py)."""

    letters: sparse.csr_array
    labels: Ints
    offsets: Ints
    lengths: Ints
    gaps: Floats
    cost: Floats
    divisors: Floats
    n_samples: int
    n_classes: int
    n_inputs: int
    n_features: int
    width: int
    paired: bool
    path: Tree | None


def margin(chain: Letters, augment: bool | Floats, arranged: bool) -> Kernel:
    """The kernel of the argmax with its losses, without, or with the costs (K, K) given."""
    if chain.path is not None:
        return chain.path.kernel(augment)
    given = not isinstance(augment, bool)
    rows, stride, edges, place = columned(chain, arranged)
    costs = augment if given else chain.cost if augment else np.zeros_like(chain.cost)
    scale = np.ones(chain.n_samples) if given else 1 / chain.divisors
    data = (chain.offsets, *rows, chain.labels, costs, scale, stride, edges)
    inputs = np.diff(rows[0][chain.offsets])
    most = 2 * int((inputs + chain.lengths).max())
    functions = _viterbi.argmax_into, _viterbi.add_slope, _viterbi.slope_into
    widest = chain.n_classes * (int(inputs.max()) + chain.n_classes)
    parts = _viterbi.parts_into, chain.width // 2 + 1
    return Kernel(data, *functions, most, _viterbi.reads_into, widest, *parts, place)


def slack(chain: Letters, levels: Ints, arranged: bool) -> Kernel:
    """The kernel of slack rescaling, costs in whole numbers `levels` (K, K); with features of pairs never arranged."""
    paired = chain.paired
    rows, *steps, place = columned(chain, arranged and not paired)
    inner = margin(chain, True, arranged and not paired)
    reads, parts = (
        (None, (None, 0)) if paired else (_slack_chain.reads_into, (_slack_chain.parts_into, inner.parts + 1))
    )
    most = np.add.reduceat(levels.max(axis=1)[chain.labels], chain.offsets[:-1])
    layout = (chain.offsets, *rows, chain.labels, 1 / chain.divisors, *steps, chain.gaps)
    functions = _slack_chain.argmax_into, _slack_chain.add_slope, _slack_chain.slope_into
    return Kernel((inner, levels, most, layout), *functions, inner.most, reads, inner.widest, *parts, place)


def rival(chain: Letters, arranged: bool) -> Kernel:
    """The kernel of unit margins; with features of pairs never arranged."""
    rows, *steps, place = columned(chain, arranged and not chain.paired)
    inner = margin(chain, True, arranged and not chain.paired)
    reads, parts = (
        (None, (None, 0)) if chain.paired else (_rival_chain.reads_into, (_rival_chain.parts_into, inner.parts + 1))
    )
    layout = (chain.offsets, *rows, chain.labels, *steps, chain.gaps)
    functions = _rival_chain.argmax_into, _rival_chain.add_slope, _rival_chain.slope_into
    data = inner, layout, chain.n_classes
    return Kernel(data, *functions, inner.most, reads, inner.widest, *parts, place)


def columned(chain: Letters, arranged: bool) -> tuple[tuple[Any, Any, Any], int, int, Ints | None]:
    """(indptr, where label 0's weight of each input stands, values), the step to the next label, where A begins, and
    the place of each weight, None where all stay.
    """
    k, p = chain.n_classes, chain.n_inputs
    indptr, columns, values = compiled_rows(chain.letters)
    if not arranged:
        return (indptr, columns, values), p, k * p, None
    place = np.arange(chain.n_features)
    place[: k * p] = place[: k * p].reshape(p, k).T.ravel()
    return (indptr, columns * k, values), 1, k * p, place
