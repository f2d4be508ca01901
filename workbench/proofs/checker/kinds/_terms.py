"""The convex terms whose least is a sample's: one a state, and their mean (docs/certificate-format.md §7)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np

from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.whole import Array, Whole, common, root_up, zeros


class Capped(Protocol):
    """What is asked of a formulation: c_i and κ_i (n,) of its `samples`, and the outputs' features and losses."""

    structure: Structure
    dim: int
    costs: Whole
    caps: Whole

    @property
    def samples(self) -> Array: ...


class Terms(NamedTuple):
    """The T convex terms: of all states, sample by sample, then of the mean state of each sample that has several.

    slopes (R, d), offsets (R,): cuts, term by term; term j has those from starts[j] on
    owner (T,): whose term;  firsts (n + 1,): where a sample's states start;  means (n,): the term of its mean state
    spread (states, d): φ(t) − mean φ, 0 for the only state
    """

    slopes: Whole
    offsets: Whole
    starts: Array
    owner: Array
    firsts: Array
    means: Array
    spread: Whole

    @property
    def states(self) -> int:
        return int(self.firsts[-1])

    def states_of(self, i: int) -> slice:
        return slice(self.firsts[i], self.firsts[i + 1])

    @property
    def cuts(self) -> int:
        return len(self.slopes)


def terms_of(form: Capped, owners: Array, outputs: Array, truths: Array | None) -> Terms:
    """From all cuts of a `SelfPaced` of formulations/self_paced.py."""
    slopes, offsets = form.structure.dense(owners, outputs), form.structure.loss(owners, outputs)
    fresh = np.diff(owners, prepend=-1) != 0
    if truths is not None:
        slopes = slopes - form.structure.dense(owners, truths)
        fresh[1:] |= (truths[1:] != truths[:-1]).any(axis=1)
    starts = np.append(np.flatnonzero(fresh), len(owners))
    owner = np.searchsorted(form.samples, owners[starts[:-1]])
    firsts = np.append(np.flatnonzero(np.diff(owner, prepend=-1)), len(owner))
    counts, means = np.diff(firsts), firsts[:-1].copy()
    unit = math.lcm(1, *counts.tolist())
    values, spread = slopes.values * unit, zeros(len(owner), form.dim)
    rows, heights, sizes, whose = [values], [offsets.values], list(np.diff(starts)), owner.tolist()
    for i in np.flatnonzero(counts > 1).tolist():
        first, last = int(firsts[i]), int(firsts[i + 1])
        own = values[starts[first] : starts[last]].reshape(last - first, -1, form.dim)
        mean = own.sum(axis=0) // (last - first)
        spread[first:last] = mean[0] - own[:, 0]
        means[i] = len(whose)
        rows.append(mean)
        heights.append(offsets.values[starts[first] : starts[first + 1]])
        sizes.append(len(mean))
        whose.append(i)
    unit = unit * slopes.unit
    starts = np.append(0, np.cumsum(sizes))
    offsets = Whole(np.concatenate(heights), offsets.unit)
    return Terms(
        Whole(np.concatenate(rows), unit), offsets, starts, np.array(whose), firsts, means, Whole(spread, unit)
    )


def lengths(rows: Whole) -> Whole:
    """The norms of the rows, rounded up."""
    squares = Whole((rows.values * rows.values).sum(axis=1), rows.unit**2).fractions()
    return common([root_up(each, grid_of(each)) for each in squares])


def grid_of(number: Fraction) -> int:
    """2^g with g about 160 − log₂ of a number ≥ 0, and at least 0."""
    return 1 << max(160 + size_of(number), 0)


def size_of(number: Fraction) -> int:
    """About −log₂ of a number ≥ 0."""
    return number.denominator.bit_length() - number.numerator.bit_length() if number else 0
