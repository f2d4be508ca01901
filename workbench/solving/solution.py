"""`Solution`, a certified answer, and how one is made from the outcome of a route."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Blocks, Cuts, Floats, Formulation, Numbers, Predicting, Problem
from workbench.errors import MissingCapability, counted
from workbench.proofs.any_bounds import AnyBounds
from workbench.proofs.bounds import Bounds
from workbench.proofs.certificate import Certificate
from workbench.proofs.exact import optimum as exact_optimum
from workbench.proofs.exact import sharpened
from workbench.proofs.tree import Tree
from workbench.solving.progress import Clock, Predicted, Progress, Record
from workbench.solving.request import Request
from workbench.system.versions import installed_version

OWN_WORDS = ("status", "backend", "master", "cuts", "rounds", "seconds", "cpu_seconds", "compile_seconds")
OWN_WORDS += ("oracle_seconds", "master_seconds", "own_status")  # fields that a journal keeps


@dataclass
class Solution:
    """A certified answer: F* lies in [lower, upper] and θ attains `upper`.

    theta : blocks of θ by name;  theta_flat : θ (p,);  gap : relative, see `Bounds.gap`
    status : optimal (gap reached), stalled (no master gains accuracy any more) or limit; of an alternation
        stationary, cycle, stalled (a convex program on which the end rests missed its gap) or limit
    own_status : the backend's own status in the last round; no result depends on this word
    parallel : what became of the workers, or why there were none
    history : one dict a round: round, upper, lower, gap, cuts, active, seconds, …
    lower_kind : how `lower` is proven: dual, by what the certificate holds (weights of cuts, θ alone where terms are
        smooth, or a search tree); proven, by `wb.prove` of a text's program with the
        cuts generated (solving/text.py); relaxed, by the dual of a convex relaxation, of factored models; none, of an
        alternation
    blocks : of θ, where the formulation is a text; else the formulation tells them
    """

    formulation: Formulation
    problem: Any  # a `Problem`; users read members of their own output structure here
    theta_flat: Floats
    upper: float
    lower: float
    gap: float
    status: str
    backend: str
    master: str
    cuts: int
    rounds: int
    seconds: float
    cpu_seconds: float
    compile_seconds: float
    oracle_seconds: float
    master_seconds: float
    train_error: float
    certificate: Certificate
    history: list[Record] = field(default_factory=list)
    lower_kind: str = "dual"
    own_status: str = ""
    parallel: str = ""
    blocks: Blocks | None = None

    @property
    def theta(self) -> dict[str, Floats]:
        """θ by the names of its blocks, each in its own shape."""
        form, problem = self.certificate.formulation, self.certificate.problem
        blocks = self.blocks or form.blocks(problem)  # pyright: ignore[reportAttributeAccessIssue] (texts come with blocks)
        return blocks.split(self.theta_flat)

    @property
    def oracle(self) -> str:
        """What the problem's argmax guarantees: exact, under or relaxed."""
        return self.problem.oracle_kind

    def predict(self, inputs: Any) -> Any:  # of the user's own kind
        """The predictions of θ for new inputs, in the form that the problem's own `predict` takes: rows, objects, …"""
        if not isinstance(self.problem, Predicting):
            raise MissingCapability(f"{type(self.problem).__name__} predicts no new inputs; define a method predict.")
        parts = self.theta
        return self.problem.predict(parts["w"], inputs, *([parts["b"]] if "b" in parts else []))

    def __repr__(self) -> str:
        return (
            f"Solution({self.status}: {self.lower!r} ≤ F* ≤ {self.upper!r}, gap {self.gap:.2g}, "
            f"{counted(self.rounds, 'round')}, {counted(self.cuts, 'cut')}, {self.backend})"
        )

    def kept(self) -> tuple[Numbers, dict[str, NDArray]]:
        """What a journal holds of the solution: numbers and words, and arrays by name."""
        return {name: vars(self)[name] for name in OWN_WORDS}, self.certificate.parts()


class Outcome(NamedTuple):
    """What a route hands to `solve`: the end of its run, the cuts or the tree that prove `lower`, and the backend."""

    state: Progress
    cuts: Cuts
    backend: str
    master: str
    compile_seconds: float = 0.0
    compile_cpu_seconds: float = 0.0
    tree: Tree | None = None
    slopes: Floats | None = None


def certified(bounds: AnyBounds, outcome: Outcome, request: Request) -> Certificate:
    """The certificate of an outcome; where a run stalled, or on `polish`, sharpened in rational arithmetic."""
    state, without_cuts = outcome.state, outcome.tree is not None or outcome.slopes is not None
    gap = bounds.gap(state.upper, state.lower)
    support = np.flatnonzero(state.weights > 0)
    support = support[bounds.prices.weights[outcome.cuts.samples[support]] > 0]  # some weights of price 0 are tiny
    certificate = Certificate(
        formulation=bounds.formulation,
        problem=bounds.problem,
        theta=state.theta,
        samples=outcome.cuts.samples[support],
        witnesses=outcome.cuts.witnesses[support],
        weights=state.weights[support],
        upper=state.upper,
        lower=state.lower,
        gap=gap,
        status="optimal" if gap <= request.gap else state.status,
        backend=outcome.backend,
        source=request.source,
        remark="the proof is a search tree or slopes, which yield no fraction" if without_cuts else "",
        tree=outcome.tree,
        slopes=outcome.slopes,
    )
    if without_cuts:
        return certificate
    if certificate.status == "stalled":
        certificate = sharpened(certificate, request.gap, state.latest)
    return exact_optimum(certificate) if request.polish else certificate


def solution(bounds: AnyBounds, outcome: Outcome, certificate: Certificate, clock: Clock) -> Solution:
    """The solution that a certificate proves, with the record of the run."""
    state, last = outcome.state, outcome.state.history[-1]
    theta = bounds.repaired(certificate.theta)
    return Solution(
        formulation=certificate.formulation,
        problem=certificate.problem,
        theta_flat=theta,
        upper=certificate.upper,
        lower=certificate.lower,
        gap=certificate.gap,
        status=certificate.status,
        lower_kind="dual" if outcome.slopes is None else "relaxed",
        backend=outcome.backend,
        master=outcome.master,
        cuts=last["cuts"],
        rounds=last["round"],
        seconds=state.before[0] + clock.seconds - outcome.compile_seconds,
        cpu_seconds=state.before[1] + clock.cpu_seconds - outcome.compile_cpu_seconds,
        compile_seconds=outcome.compile_seconds,
        oracle_seconds=last["oracle_seconds"],
        master_seconds=last["master_seconds"],
        train_error=train_error(bounds, theta, state.predicted),
        certificate=certificate,
        history=state.history,
        own_status=state.said,
        parallel=state.parallel,
    )


def train_error(bounds: AnyBounds, theta: Floats, known: Predicted | None = None) -> float:
    """The mean loss of the predictions of θ over all samples; `known` are predictions of this or another θ."""
    problem: Problem = bounds.problem
    everyone, beside = np.arange(problem.n_samples), bounds.beside if isinstance(bounds, Bounds) else None
    if known is not None and np.array_equal(known.theta, theta):
        return float(problem.loss(everyone, known.outputs).mean())
    if isinstance(bounds, Bounds) and bounds.tables:
        labels = bounds.tables.decoded(theta, bounds.spread)
        if labels is not None:
            return float(problem.loss(everyone, labels[:, None]).mean())
    if beside:
        decoded = np.concatenate(beside.spread(lambda some: bounds.oracle.decode(theta, some), everyone))
        return float(problem.loss(everyone, decoded).mean())
    return float(problem.loss(everyone, bounds.oracle.decode(theta, everyone)).mean())


def versioned(name: str) -> str:
    """The name of a method of ours with the version of cutbench."""
    return f"cutbench {release()} {name}"


def release() -> str:
    """The version of cutbench."""
    return installed_version("cutbench") or ""
