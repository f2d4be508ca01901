"""A certified answer, and how it is put together from what a route found."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from workbench.contracts import Cuts, Floats, Problem
from workbench.errors import MissingCapability
from workbench.proofs.capped import Tree
from workbench.proofs.certificate import Certificate
from workbench.proofs.door import AnyBounds
from workbench.proofs.exact import optimum as exact_optimum
from workbench.proofs.exact import sharpened
from workbench.solving.progress import Clock, Progress
from workbench.solving.request import Formulation, Request

OWN_WORDS = ("status", "backend", "master", "cuts", "rounds", "seconds", "cpu_seconds", "compile_seconds")
OWN_WORDS += ("oracle_seconds", "master_seconds", "own_status")  # what a solution says of itself, for the record


@dataclass
class Solution:
    """A certified answer: F* lies in [lower, upper] and θ attains `upper`.

    theta : blocks of θ by name;  theta_flat : θ (p,);  gap : relative, see `Bounds.gap`
    status : optimal (gap reached), stalled (the backend can give no more) or limit; of an alternation
        stationary, cycle, stalled (a convex program that its end rests on missed its gap) or limit
    own_status : the backend's own word in the last round; nothing rests on it
    history : one dict a round: round, upper, lower, gap, cuts, active, seconds, …
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
    history: list[dict[str, Any]] = field(default_factory=list)
    lower_kind: str = "dual"
    own_status: str = ""

    @property
    def theta(self) -> dict[str, Floats]:
        return self.formulation.blocks(self.problem).split(self.theta_flat)

    @property
    def oracle(self) -> str:
        return self.problem.oracle_kind

    def predict(self, inputs: Any) -> Any:
        """What θ predicts for new inputs, given as to the problem's own `predict`: rows, sequences, objects, …"""
        if not hasattr(self.problem, "predict"):
            raise MissingCapability(f"{type(self.problem).__name__} predicts no new inputs; give it a method predict.")
        parts = self.theta
        return self.problem.predict(parts["w"], inputs, *([parts["b"]] if "b" in parts else []))

    def __repr__(self) -> str:
        return (
            f"Solution({self.status}: {self.lower!r} ≤ F* ≤ {self.upper!r}, gap {self.gap:.2g}, "
            f"{self.rounds} rounds, {self.cuts} cuts, {self.backend})"
        )

    def kept(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a journal holds of it: numbers, and arrays by name."""
        return {name: getattr(self, name) for name in OWN_WORDS}, self.certificate.parts()


class Answer(NamedTuple):
    """What a route hands to `solve`: where its run ended, the cuts or the tree that prove it, and who computed."""

    state: Progress
    cuts: Cuts
    backend: str
    master: str
    compile_seconds: float = 0.0
    compile_cpu_seconds: float = 0.0
    tree: Tree | None = None


def certified(bounds: AnyBounds, answer: Answer, request: Request) -> Certificate:
    """The certificate of an answer; where a run stalled, or `polish` asks, after a proof in rational arithmetic."""
    state, searched = answer.state, answer.tree is not None
    gap = bounds.gap(state.upper, state.lower)
    support = np.flatnonzero(state.weights > 0)
    support = support[bounds.prices.weights[answer.cuts.samples[support]] > 0]  # declarations leave dust on the others
    certificate = Certificate(
        formulation=bounds.formulation,
        problem=bounds.problem,
        theta=state.theta,
        samples=answer.cuts.samples[support],
        witnesses=answer.cuts.witnesses[support],
        weights=state.weights[support],
        upper=state.upper,
        lower=state.lower,
        gap=gap,
        status="optimal" if gap <= request.gap else state.status,
        backend=answer.backend,
        source=request.source,
        remark="the proof is a search tree, which yields no fraction" if searched else "",
        tree=answer.tree,
    )
    if searched:
        return certificate
    if certificate.status == "stalled":
        certificate = sharpened(certificate, request.gap, state.latest)
    return exact_optimum(certificate) if request.polish else certificate


def solution(bounds: AnyBounds, answer: Answer, certificate: Certificate, clock: Clock) -> Solution:
    """The solution that a certificate proves, with the record of how it was found."""
    state, last = answer.state, answer.state.history[-1]
    theta = bounds.repaired(certificate.theta)
    return Solution(
        formulation=certificate.formulation,
        problem=certificate.problem,
        theta_flat=theta,
        upper=certificate.upper,
        lower=certificate.lower,
        gap=certificate.gap,
        status=certificate.status,
        backend=answer.backend,
        master=answer.master,
        cuts=last["cuts"],
        rounds=last["round"],
        seconds=state.before[0] + clock.seconds - answer.compile_seconds,
        cpu_seconds=state.before[1] + clock.cpu_seconds - answer.compile_cpu_seconds,
        compile_seconds=answer.compile_seconds,
        oracle_seconds=last["oracle_seconds"],
        master_seconds=last["master_seconds"],
        train_error=train_error(bounds, theta),
        certificate=certificate,
        history=state.history,
        own_status=state.said,
    )


def train_error(bounds: AnyBounds, theta: Floats) -> float:
    """The mean loss of what θ predicts on all samples."""
    problem: Problem = bounds.problem
    everyone = np.arange(problem.n_samples)
    return float(problem.loss(everyone, bounds.oracle.decode(theta, everyone)).mean())


def versioned(name: str) -> str:
    """The name of a method of ours with our version."""
    return f"cutbench {metadata.version('cutbench')} {name}"
