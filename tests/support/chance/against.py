"""The trusted checker against what the second checker said of cases by chance."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

INFINITE = float("inf")
SAME = Fraction(1, 10**20)  # of ends that are enclosed


def about(cases: Iterable[Any]) -> list[Any]:
    """The cases that run the module under mutation (tests/nightly/mutation.py says which); all of them otherwise."""
    words = os.environ.get("CUTBENCH_MUTATED", "")
    return [case for case in cases if re.search(words, case.name)]


def said(case: Any, **changes: Any) -> Any:
    """The verdict on a case, its header changed."""
    from workbench.proofs.checker import judged, normal

    return judged(*normal(copy.deepcopy(case.header) | changes), case.arrays)


def word(case: Any, **changes: Any) -> str:
    """`proven`, `not proven` or `malformed`."""
    from workbench.proofs.checker import Malformed

    try:
        return "proven" if said(case, **changes).proven else "not proven"
    except Malformed:
        return "malformed"


def check_ends(case: Any, verdict: Any) -> None:
    """The same numbers; where they are enclosed, to 10⁻²⁰ of the larger end; a lower end by slopes within its room."""
    ends, other = verdict.ends, case.verdict
    if other.room is not None:
        assert (ends.upper, ends.reached) == (other.upper, other.reached), case.name
        assert ends.lower <= other.lower, case.name
        assert other.room == INFINITE or ends.lower == other.lower or other.lower - ends.lower <= other.room, case.name
        return
    room = 0 if not other.rounded else max(abs(other.lower), abs(other.upper)) * SAME
    pairs = [(ends.upper, other.upper), (max(ends.upper, ends.reached), other.reached), (ends.lower, other.lower)]
    loose = "self-paced of" in case.name and "," in case.name  # an edit may divide the roundings of §7 by a tiny c_i
    for found, expected in pairs[: 2 if loose else 3]:
        assert found == expected or abs(found - expected) <= room, case.name
    if not loose:
        assert verdict.gap == other.gap or (other.rounded and abs(verdict.gap - other.gap) <= SAME), case.name


def check_verdict(case: Any, judge: Any) -> None:
    """Both say proven, or both do not; and both find the same ends."""
    from workbench.proofs.checker import Malformed

    try:
        verdict = judge()
    except Malformed:
        assert not case.verdict.proven, case.name
        return
    agreed = verdict.proven == case.verdict.proven or case.verdict.rounded
    assert agreed, (case.name, verdict.faults, case.verdict.reason)
    if case.verdict.lower is not None:
        check_ends(case, verdict)


def refusal(call: Any, *given: Any, **named: Any) -> str:
    """The sentence with which a call refuses what it is given; empty if it does not."""
    from workbench.proofs.checker import Malformed

    try:
        call(*given, **named)
    except Malformed as error:
        return str(error)
    return ""


@contextmanager
def limited(module: Any, **limits: Any) -> Iterator[None]:
    """Other limits of a module for a while."""
    kept = {name: getattr(module, name) for name in limits}
    try:
        for name, value in limits.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in kept.items():
            setattr(module, name, value)
