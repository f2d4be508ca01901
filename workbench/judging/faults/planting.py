"""What a planted fault is, and what it stands for: one small method of a plain learner that is wrong.

`self.clean` is the learner as it was, so `self.clean.loss(i, y) / 2` is the right loss, halved. Each fault says what
evidence about it is right, by its meaning and not by what a judge says: the conventions of judging/conventions/ that
the fault amounts to (`λ` is another λ without a reason), the audits of judging/audits.py that must contradict the
steps a learner lends (`dual`: its dual weights), or nothing beyond the excess. A wrong output is no argmax, and its
slope no subgradient; a wrong feature makes both wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.judging.faults.learners import Learner


@dataclass(frozen=True)
class Fault:
    """`methods` in place of a learner's own; `hosts` are the learners, "METHOD: FAMILY FAMILY; METHOD: …".

    evidence : what the fault amounts to, with commas: names of conventions and audits, any of which is right
    """

    name: str
    kind: str
    hosts: str
    methods: dict[str, object]
    evidence: str = ""

    @property
    def right(self) -> list[str]:
        """The names in `evidence`; without one, there is none beyond the excess."""
        return [each.strip() for each in self.evidence.split(",") if each]

    def pairs(self) -> list[tuple[str, str]]:
        """(method, family) of all hosts."""
        split = (host.split(":") for host in self.hosts.split(";"))
        return [(method.strip(), family) for method, families in split for family in families.split()]


def fault(name: str, kind: str, hosts: str, evidence: str = "", **methods: object) -> Fault:
    return Fault(name, kind, hosts, methods, evidence)


def both(first: Callable[..., object], second: Callable[..., object]) -> Callable[..., None]:
    """A method that does one thing after the other."""

    def method(self: Learner, *given: object) -> None:
        first(self, *given)
        second(self, *given)

    return method


def without(values: NDArray, index: int, by: float = 0.0) -> NDArray:
    """The same with another number at `index`."""
    changed = np.array(values)
    changed[index] = by
    return changed
