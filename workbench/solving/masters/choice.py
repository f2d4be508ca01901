"""Which master solves the program over the cuts so far.

The regularizer, the prices and the named backend decide:

    r = μ/2‖θ‖², n·p ≤ TINY, n groups, no backend named, no workers → GramMaster, before numba is even loaded
    r = μ/2‖θ‖², finite prices, n groups, no backend named, no limit of rounds, an argmax in compiled code
                                                   → master "dual-block": passes of block ascent with their finish
                                                     (masters/passes.py; needs numba), then rounds of AscentMaster
    the same with n·p ≥ LONG, where any of these hold: p_i = ∞, free biases or costs in r (solvers/_extras.py), a
        limit of rounds, an argmax in Python       → the same; with p_i = ∞ the rounds are those of GramMaster
    r = μ/2‖θ‖², finite prices, no backend named   → AscentMaster (our own dual ascent; needs numba)
    r = μ/2‖θ‖², a backend with quadratics         → GramMaster (the dual over the rows)
    r with a shape, finite prices, no backend named, n·p ≥ LONG and n groups
                                                   → AscentMaster (about a moving centre where r is not curved)
    anything else                                  → CompiledMaster (the CVXPY declaration)
    master "shards", never the default             → passes on shards of the samples (solving/shards.py), then ascent

LONG was measured before the passes had a finish, in CPU seconds with dual-block | ascent (`cutbench bench routes`).
With it passes were ahead on everything tried above TINY, to 1e-9: ocr, 100 words, λ = 0.01 1.5 | 7.3; 30 words,
λ = 5e-4 1.0 | 17 without reaching the gap; digits, n = 300, λ = 1e-3 0.18 | 0.44; synthetic-tags 0.14 | 1.5;
synthetic-chain, λ = 1e-3 (n·p = 3,300) 0.8 | 1.8; tree (2,080) 0.7 | 1.2. TINY: iris (1,800) to 1e-9 took 0.22 s by
ascent and 0.13 s by PIQP, and the process 0.6 s less, which numba takes to load.

The default backend is the first installed of those in preferred.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from workbench.arithmetic.compiled import available
from workbench.backends import Backend
from workbench.backends import backend as find_backend
from workbench.errors import BadInput, MissingCapability
from workbench.proofs.bounds import Bounds
from workbench.solving.family import Family
from workbench.solving.masters.ascent import AscentMaster
from workbench.solving.masters.master import CompiledMaster, GramMaster, Master
from workbench.solving.masters.passes import passable
from workbench.solving.masters.preferred import first_installed

TINY = 2_000  # n·p up to which an interior-point method on the dual is done before compiled code is loaded
LONG = 500_000  # n·p from which passes without a finish come first
SHORT = 1000  # entries of θ up to which, with many groups, the primal is the first successor
NEEDS = {  # what a master that is asked for needs; "compiled" needs nothing
    "gram": "a squared norm as regularizer",
    "ascent": "a regularizer with a proximal step, finite prices and no backend",
    "dual-block": "a squared norm of the weights, no backend, one group a sample and a kernel with slope_into",
    "shards": "a squared norm of the weights, finite prices, no backend, one group a sample and workers (parallel)",
}
FEW = 1000  # groups up to which the dual is as fast as the primal, without an import of CVXPY


def choose(
    bounds: Bounds,
    groups: int,
    kind: str | None,
    name: str | None,
    workers: bool = False,
    counted: bool = False,
) -> tuple[str, Backend | None]:
    """The kind of master and its backend, as the module's docstring says; with `workers`, rounds rather than passes.

    counted : whether the user limits the number of rounds; passes then come first only from LONG on
    """
    quadratic = bounds.regularizer.curvature is not None
    shaped = quadratic or bounds.shape is not None
    fits = {"ascent": name is None and not bounds.prices.hard and shaped, "gram": quadratic, "compiled": True}
    every = groups == len(bounds.samples)
    fits["dual-block"] = name is None and every and passable(bounds)
    fits["shards"] = fits["dual-block"] and workers and quadratic and not bounds.prices.hard
    given = find_backend(name) if name else None
    if kind is None and given:
        kind = "gram" if quadratic and "quadratic" in given.cones else "compiled"
    elif kind is None:
        long, kind = every and large(bounds), "gram" if quadratic else "compiled"
        tiny = every and len(bounds.samples) * bounds.oracle.dim <= TINY and first_installed(kind) is not None
        if kind == "gram" and tiny and not workers:
            return kind, first_installed(kind)
        finishes = quadratic and not bounds.prices.hard and not counted
        if available() and fits["dual-block"] and not workers and (long or (finishes and swift(bounds))):
            kind = "dual-block"
        elif available() and fits["ascent"] and (quadratic or long):
            kind = "ascent"
    if not isinstance(kind, str) or not fits.get(kind, False):
        if kind not in NEEDS:
            raise BadInput(f"There is no master {kind!r}; give one of {', '.join(fits)}, or leave master out.")
        raise BadInput(f"The master {kind} does not fit here, it needs {NEEDS[kind]}; leave master out.")
    if kind not in ("ascent", "dual-block", "shards") and given is None:
        given = first_installed(kind)
        if given is None:
            raise MissingCapability("No convex solver is installed; install one, e.g. pip install clarabel.")
    return kind, given


def swift(bounds: Bounds) -> bool:
    """Whether passes run in compiled code: over tables of labels, or with a kernel that has data of its own."""
    return bounds.listing is not None or bool(bounds.oracle.kernel().data)


def large(bounds: Bounds) -> bool:
    """Whether passes come first whether or not they have a finish."""
    return len(bounds.samples) * bounds.oracle.dim >= LONG


def make_master(kind: str, family: Family, backend: Backend | None) -> Master:
    """The master, with its successors: stronger masters that take its rows over when it gains no more accuracy.

    The ascent is slow on ill-conditioned rows, interior-point methods are not. With many groups the primal, of size
    dim + groups, is faster than the dual, of the size of the rows, unless θ is long.
    """
    bounds = family.bounds
    if kind == "dual-block" and bounds.prices.hard:
        kind, backend = "gram", first_installed("gram")
    if kind == "gram":
        curvature = bounds.regularizer.curvature
        assert backend is not None  # `choose` gives one,
        assert curvature is not None  # and saw a squared norm
        return GramMaster(curvature, family.prices, bounds.oracle.dim, backend)
    if kind in ("ascent", "dual-block"):
        shape = bounds.regularizer.shape(bounds.oracle.dim)
        assert shape is not None  # as `choose` saw
        master = AscentMaster(shape, family.prices, bounds.start)
        primal = bounds.oracle.dim <= SHORT and len(family.prices) > FEW
        kinds = ("compiled", "gram") if primal else ("gram", "compiled")
        if bounds.regularizer.curvature is None:
            kinds = ("compiled",)
        able = [(each, first_installed(each)) for each in kinds]
        master.successors = [partial(make_master, each, family, found) for each, found in able if found]
        return master
    from workbench.solving.masters.declared import CompiledBase, LazyCuts

    assert backend is not None  # `choose` gives one
    cuts = LazyCuts(family.prices)
    return CompiledMaster(CompiledBase(bounds.formulation.program(bounds.problem, cuts), cuts), backend)


def successors_of_gram(family: Family, backend: Backend) -> list[Callable[[], Master]]:
    """Masters for the rows of a tiny problem with which its default, on the Gram matrix, has come to its end."""
    others = [("ascent", None)] if available() and not family.hard else []
    second = first_installed("compiled")
    others += [("compiled", second)] if second not in (None, backend) else []
    return [partial(make_master, kind, family, other) for kind, other in others]
