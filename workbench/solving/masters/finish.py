"""The finish of passes: the best weights on the cuts that have weight, proposed where that saves passes.

Passes find out soon which cuts hold the optimum, and take long to find their weights: near the optimum the gap falls by
a constant factor a pass. Where r = μ/2‖θ‖² the best weights on these cuts are those of a quadratic program. Two methods
find them, the second where the first left more than half of the gap:

    the active set            from the weights of the passes, a few systems of linear equations      masters/face.py
    an interior-point method  on the inner products of the cuts, and the active set from its weights

The first is exact as soon as the passes know nearly which cuts hold the optimum. The second needs no good start: where
features differ much in scale, such as a constant feature of 64 beside words, passes crawl far from the optimum.

**When.** The active set costs about as much as 1/DEAR of a pass for each cut, the interior-point method as 1/DEARER.
Either is made where the passes stand still, and where the fall of the estimates so far promises that more passes than
that are left. Passes go on from the weights, and find the cuts that these lack. A gap is relative to the upper end, and
so stays near 1 while the lower end is small; whether passes are slow is told by the gap relative to the lower end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Floats, Ints, Rows
from workbench.proofs.bounds import Bounds
from workbench.solving.masters.face import FAINT, FEW, settled
from workbench.solving.masters.master import GramMaster
from workbench.solving.masters.needs import fits
from workbench.solving.masters.preferred import first_installed

NEAR = 1e-3  # the estimate from which a finish is made before the passes stand still
SOONEST, DEAR = 5, 50  # passes between two finishes, at least: so many, and one for so many cuts
LATEST = 20  # passes that the next finish waits at least after some that gained nothing
SOON = 3  # divides the passes that may stand still: after so many, they are slow enough for a finish
GAIN = 0.9  # of the gap, which a finish must leave behind to have gained something
ENOUGH = 0.5  # of the gap: a proposal that leaves less ends the finish
PACE = 5e9  # products a second, at least, that a finish makes: under a time limit that leaves less it is not begun
SHORT = 1e-6  # of 1: what a gap relative to the upper end is short of it at most where the lower end is 0 or less
FAR = 0.1  # a relative gap above which passes seldom count as standing still
DEARER, MANY = 10, 1500  # of the interior-point method: cuts for a pass of cost; cuts beyond which it is not tried
STEPS = 20  # of it, each as dear as a factorisation
ACCURACY = 1e-8  # asked of it; the active set does the rest


class Ascent(Protocol):
    """What a finish needs of passes."""

    @property
    def passes(self) -> int: ...

    def duals(self) -> tuple[Ints, Ints, Floats]: ...


class Finish:
    """When a finish is due, and what it proposes.

    positions : (n,) each sample's group, among those of `prices`;  wanted : the relative gap;  patient : the passes
        before the gap may count as standing still
    since : the passes at the last finish that gained something;  fresh : the estimates (passes, gap) since then
    """

    def __init__(self, bounds: Bounds, positions: Ints, wanted: float, patient: int):
        self.bounds, self.positions, self.wanted, self.patient = bounds, positions, wanted, patient
        self.possible = bounds.regularizer.curvature is not None and not bounds.prices.hard
        self.since, self.fresh = 0, list[tuple[int, float]]()
        self.last, self.next, self.wait = 0, SOONEST, SOONEST  # at the last one, at the next, and between them
        self.next_interior = 0

    def note(self, passes: int, estimate: float) -> None:
        self.fresh.append((passes - self.since, estimate))

    def stands(self, passes: int) -> bool:
        """Whether the gap stands still since the last finish that gained something."""
        return standing(self.fresh, passes - self.since, self.patient)

    def due(self, ascent: Ascent, estimate: float, seconds: float, still: bool) -> bool:
        """Whether a finish is worth its time now; see the module's docstring.

        seconds : that are left
        still : no pass follows otherwise; then a finish comes at once if the last one gained something
        """
        passes = ascent.passes
        if not self.possible or not self.wanted < estimate < np.inf or (passes < self.next and not still):
            return False
        falls = [(at, of_lower(gap)) for at, gap in self.fresh]
        slow = standing(falls, passes - self.since, self.patient // SOON, np.inf)
        if not slow and estimate > NEAR:
            return False
        counts = np.bincount(ascent.duals()[0])
        shared = int(counts[counts > 1].sum())
        cost = max(SOONEST, shared // DEAR)
        self.next = max(passes + SOONEST, self.last + cost)
        if (
            shared > FEW
            or (passes < self.last + cost and not (still and self.wait == SOONEST))
            or seconds <= shared**2 * min(self.bounds.oracle.dim, FEW) / PACE
        ):
            return False
        return (slow or remaining(falls, of_lower(self.wanted)) > cost) and fits("gram", self.bounds, shared)

    def proposals(self, ascent: Ascent, seconds: float) -> Iterator[tuple[Ints, Ints, Floats, Floats, Floats]]:
        """Weights by both methods, as `PassMethod.begin` takes them; the second only if the caller asks on."""
        samples, witnesses, weights = ascent.duals()
        slopes, offsets = self.bounds.rows(samples, witnesses)
        rows, curvature = Rows(slopes, offsets, self.positions[samples]), self.bounds.regularizer.curvature
        prices = self.bounds.prices.floats()[self.bounds.samples]
        assert curvature is not None  # as `possible` says

        def start(beta: Floats) -> tuple[Ints, Ints, Floats, Floats, Floats]:
            held = np.flatnonzero(beta)
            return samples[held], witnesses[held], beta[held], slopes.T @ beta, offsets[held]

        beta = settled(rows, weights, prices, curvature)
        if beta is not None:
            yield start(beta)
        if self.worth(rows, ascent.passes, seconds):
            self.next_interior = 2 * ascent.passes
            beta = interior(rows, weights if beta is None else beta, prices, curvature)
            if beta is not None:
                yield start(beta)

    def worth(self, rows: Rows, passes: int, seconds: float) -> bool:
        """Whether the interior-point method saves more passes than it costs; not soon after it gained nothing."""
        shared = int(among_others(rows.groups).sum())
        cost = shared // DEARER
        return (
            self.next_interior <= passes
            and cost <= passes
            and shared <= MANY
            and seconds > STEPS * shared**3 / PACE
            and remaining(self.fresh, self.wanted) > cost
            and first_installed("gram") is not None
        )

    def ended(self, passes: int, gained: bool) -> None:
        """A finish that gains something is a new beginning; after one that does not the next waits longer."""
        self.last = passes
        self.wait = SOONEST if gained else min(2 * self.wait, LATEST)
        if gained:
            self.since, self.fresh, self.next_interior = passes, [], 0
        self.next = passes + self.wait


def interior(rows: Rows, weights: Floats, prices: Floats, curvature: float) -> Floats | None:
    """β (rows,), the best weights on all rows of groups that have several, by a backend and the active set.

    None if these have no greater dual than `weights`, or if no group has several.
    Rows that are alone in their group keep their weight. With f = Σ β_r a_r over these, and R the others, the dual
    ⟨o, β⟩ − ‖Rᵀβ + f‖²/2μ has the offsets o_r − ⟨a_r, f⟩/μ, so that the others are a program of their own.
    """
    backend, beside = first_installed("gram"), among_others(rows.groups)
    assert backend is not None  # as `worth` saw
    if not beside.any():
        return None
    shared = rows.take(np.flatnonzero(beside))
    held, groups = np.unique(shared.groups, return_inverse=True)
    fixed = rows.slopes.T @ np.where(beside, 0.0, weights)
    master = GramMaster(curvature, prices[held], rows.slopes.shape[1], backend)
    master.append(Rows(shared.slopes, shared.offsets - shared.slopes @ fixed / curvature, groups))
    beta = weights.copy()
    beta[beside] = master.solve(ACCURACY, 0.0).multipliers
    found = settled(rows, beta, prices, curvature, FAINT)
    return found if found is not None and dual(rows, found, curvature) > dual(rows, weights, curvature) else None


def dual(rows: Rows, beta: Floats, curvature: float) -> float:
    """⟨o, β⟩ − ‖Σ_r β_r a_r‖²/(2μ)."""
    push = rows.slopes.T @ beta
    return float(rows.offsets @ beta - push @ push / (2 * curvature))


def among_others(groups: Ints) -> NDArray[np.bool_]:
    """(rows,) whether a row's group has other rows, too."""
    return np.bincount(groups)[groups] > 1


def standing(estimates: Sequence[tuple[int, float]], passes: int, patient: int, far: float = FAR) -> bool:
    """Whether estimated gaps, (passes, gap), stand still: not halved while more than `patient` passes grew by half.

    Gaps above `far` do only after ten times as many passes, since both ends still have far to go.
    A gap below 0 is 0, of which the half is 0 again: what is left then is rounding, and no pass will find more.
    """
    if passes <= patient:
        return False
    split, gap = bisect_right(estimates, 2 * passes, key=lambda each: 3 * each[0]), itemgetter(1)
    earlier, recent = (max(min(map(gap, part), default=np.inf), 0.0) for part in (estimates[:split], estimates[split:]))
    return recent >= 0.5 * earlier and (recent < far or passes > 10 * patient)


def of_lower(gap: float) -> float:
    """(U − L)/L of a gap (U − L)/U; where L is 0 or less, that of a gap short of 1 by SHORT."""
    return gap / max(1 - gap, SHORT)


def remaining(estimates: Sequence[tuple[int, float]], wanted: float) -> float:
    """The passes to the wanted gap, if estimates, (passes, gap), go on falling as in the last half of the passes."""
    if not estimates:
        return np.inf
    passes, gap = estimates[-1]
    earlier = [each for each in estimates if 2 * each[0] <= passes] or list(estimates[:1])
    before, highest = earlier[-1]
    if not 0 < gap < highest:
        return np.inf
    return (passes - before) * float(np.log(gap / wanted) / np.log(highest / gap))
