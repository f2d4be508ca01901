"""A learner at work in a process of its own, so that no crash, hang or exit of the learner can stop the judge.

Learners from a user's file always run in such a process (system/processes.py), other packages' learners under a limit
of seconds do. An exception, an end of the process or a hang gives the verdict `failed`. `RemoteStand` asks, and
`answer` works in the other process; a question, and its answer, are a dict of plain values and a dict of arrays.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import astuple, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import CutForm, Numbers, Recording, Search, SmoothForm
from workbench.errors import BadInput, MissingCapability
from workbench.judging.audits import Finding
from workbench.judging.learners import Learner, made, user_learners
from workbench.judging.reference import Reference
from workbench.judging.reports import NUMBERS, BadAnswer, Report
from workbench.judging.stand import GRACE, Stand
from workbench.judging.warned import Tally, Warned
from workbench.proofs.certificate import Certificate
from workbench.registries import registry
from workbench.solving import transfer
from workbench.system.processes import OutOfTime, Process, Raised

Arrays = dict[str, NDArray]
LONGEST = 1e9  # seconds: as good as no limit, and a number of JSON


class RemoteStand(Stand):
    """A learner at work in a process of its own, which holds the problem."""

    clock = staticmethod(time.perf_counter)

    def __init__(
        self,
        learner: Learner,
        reference: Reference,
        limit: float | None,
        patience: float | None = None,
        process: Process | None = None,
    ):
        super().__init__(learner, reference, limit, patience)
        thing = ["file", learner.file, learner.name] if learner.file else address(learner)
        pair, self.arrays = transfer.sent(reference.formulation, reference.problem)
        self.words = pair | {"learner": thing, "settings": list(learner.settings)}
        self.process, self.opened = process, False

    def __enter__(self) -> RemoteStand:
        return self

    def __exit__(self, *failure: object) -> None:
        if self.process:
            self.process.end()

    @contextlib.contextmanager
    def beside(self, reference: Reference) -> Iterator[Stand]:
        other = RemoteStand(self.learner, reference, self.limit, self.patience, self.process)
        other.tally = self.tally
        yield other
        self.process, self.opened = other.process, False

    def asked(self, numbers: Numbers, arrays: Arrays, limit: float | None) -> tuple[Numbers, Arrays]:
        """The answer of a process that holds the learner and the problem; one that has ended is started again."""
        if self.process is None or not self.process.alive:
            self.process, self.opened = Process(answer), False
        if not self.opened:
            self.process.ask({"do": "open", **self.words}, self.arrays)
            self.opened = True
        try:
            told, arrays = self.process.ask(numbers, arrays, limit and limit + GRACE)
        except Raised as raised:
            self.hear(**self.process.ask({"do": "hear"}, {})[0]["heard"])
            kinds = {each.__name__: each for each in (MissingCapability, BadInput, BadAnswer, OutOfTime)}
            raise kinds[raised.kind](raised.text) if raised.kind in kinds else raised from None
        self.hear(**told["heard"])
        return told, arrays

    def hear(self, remarks: list[str], warned: list[tuple[str, str, int]], calls: int) -> None:
        """Note what the stand in the other process remarked, and what the learner warned of there."""
        self.remarks += remarks
        self.tally.add((Warned(*each) for each in warned), calls)

    def fitted(
        self, budget: int, seed: int, start: bool = False, within: float | None = None
    ) -> tuple[list[Report], float]:
        arrays = packed_start(self.reference) if start else {}
        within = within or self.limit
        question = {"do": "fit", "budget": budget, "seed": seed, "start": start, "within": within}
        told, arrays = self.asked(question, arrays, within)
        reports = []
        for k, (passes, claims, remarks, shape) in enumerate(told["reports"]):
            dual = [arrays[key] for j in range(3) if (key := f"dual_{k}_{j}") in arrays and not self.foreign]
            claims |= {"dual": dual[0] if len(dual) == 1 else tuple(dual)} if dual else {}
            claims |= {"iterate": arrays[f"iterate_{k}"]} if f"iterate_{k}" in arrays else {}
            reports.append(Report(passes, arrays[f"theta_{k}"], claims, tuple(remarks), tuple(shape)))
        return reports, told["seconds"]

    @property
    def foreign(self) -> bool:
        """Whether the numbers of outputs mean something else in the other process; then none are sent."""
        problem = self.reference.problem
        return isinstance(problem, Recording) and bool(problem.conditions)

    def findings(self, within: float = np.inf) -> list[Finding]:
        if self.foreign:
            return []
        reference = self.reference
        numbers = {"do": "audit", "upper": reference.upper, "lower": reference.lower, "gap": reference.gap}
        numbers |= {"within": min(within, LONGEST)}
        arrays = packed_start(reference) | {"theta": reference.theta}
        told, _ = self.asked(numbers, arrays, self.limit)
        return [Finding(*each) for each in told["findings"]]

    def takes_start(self) -> bool:
        return not self.foreign and self.asked({"do": "takes start"}, {}, self.limit)[0]["takes"]


# ── the other process ─────────────────────────────────────────────────────────────────────────────


def packed_start(reference: Reference) -> Arrays:
    """θ and the certified dual weights, none where slopes are the proof."""
    certificate = reference.certificate
    if certificate is None:
        none = np.zeros(0, np.int64)
        return {"weights": reference.theta, "samples": none, "witnesses": none[:, None], "mu": np.zeros(0)}
    parts = {"weights": certificate.theta, "samples": certificate.samples}
    return parts | {"witnesses": certificate.witnesses, "mu": certificate.weights}


def address(thing: Any) -> list[str]:  # a user's class, function or learner, or one of ours
    """[how, place, name] by which another process finds a class, a function, or a learner of our registry."""
    if isinstance(thing, Learner):
        if thing.name in registry("learner").objects:
            return ["registry", "learner", thing.name]
        thing = getattr(thing.thing, "func", thing.thing)  # of a `partial`
    return transfer.address(thing)


def found_at(how: str, place: str, name: str) -> Any:  # a user's class, function or learner, or one of ours
    """What `address` is about."""
    if how == "registry":
        return registry(place).get(name)
    return user_learners(place)[name] if how == "file" else transfer.found_at(how, place, name)


OPENED: dict[str, Stand] = {}
UNKNOWN = "the optimum is not sent before it is needed"


def answer(numbers: Numbers, arrays: Arrays) -> tuple[Numbers, Arrays]:
    """The work of a `RemoteStand`'s process; each answer says, too, what was heard since the last one."""
    told, out = done(numbers, arrays)
    stand = OPENED["stand"]
    heard = {"remarks": stand.remarks, "warned": [astuple(each) for each in stand.tally.warned]}
    heard["calls"] = stand.tally.calls
    stand.remarks, stand.tally = [], Tally()
    return told | {"heard": heard}, out


def done(numbers: Numbers, arrays: Arrays) -> tuple[Numbers, Arrays]:
    """What is asked for: a learner `open`ed, its fits and audits, or nothing (`hear`)."""
    do = numbers.pop("do")
    if do == "open":
        formulation, problem = transfer.received(numbers, arrays)
        learner = Learner(numbers["learner"][2], made(found_at(*numbers["learner"]), numbers["settings"]))
        reference = Reference(formulation, problem, np.zeros(0), np.inf, -np.inf, np.nan, missing=UNKNOWN)
        OPENED["stand"] = Stand(learner, reference)
        return {}, {}
    stand = OPENED["stand"]
    if do == "hear":
        return {}, {}
    if "mu" in arrays:
        stand.reference = with_optimum(stand.reference, numbers, arrays)
    if do == "takes start":
        return {"takes": stand.takes_start()}, {}
    if do == "audit":
        found = [list(each) for each in stand.findings(numbers["within"])]
        return {"findings": found}, {}
    reports, seconds = stand.fitted(**numbers)
    within = numbers["within"]
    if within and seconds > within and len(reports) == 1 and not reports[0].remarks:
        raise OutOfTime
    told, out = [], {}
    for k, (passes, theta, claims, remarks, shape) in enumerate(reports):
        out[f"theta_{k}"] = theta
        dual = claims.get("dual", ())
        out |= {f"dual_{k}_{j}": part for j, part in enumerate([dual] if isinstance(dual, np.ndarray) else dual)}
        out |= {f"iterate_{k}": claims["iterate"]} if "iterate" in claims else {}
        told.append([passes, {key: claims[key] for key in NUMBERS if key in claims}, remarks, shape])
    return {"reports": told, "seconds": seconds}, out


def with_optimum(reference: Reference, numbers: Numbers, arrays: Arrays) -> Reference:
    """The reference with the optimum that was sent."""
    ends = {key: numbers.get(key, np.nan) for key in ("upper", "lower", "gap")}
    form, problem = cast("CutForm | SmoothForm | Search", reference.formulation), reference.problem
    theta, samples, witnesses, mu = (arrays[name] for name in ("weights", "samples", "witnesses", "mu"))
    certificate = Certificate(form, problem, theta, samples, witnesses, mu, **ends, status="", backend="")
    return replace(reference, theta=arrays.get("theta", theta), certificate=certificate, missing="", **ends)
