"""Certificates by chance, edited by the forger (tests/support/forging), and what the second checker says of them."""

from __future__ import annotations

import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import second_checker
from forging import EDITS
from forging.forgery import Forgery, Unfit

from chance.certificates import Case, certificates

WAYS = 3
FOLDER = tempfile.TemporaryDirectory(prefix="forged-by-chance-")  # for as long as this process lives


class Forged(NamedTuple):
    """The two files of a forgery, what was done, and what the second checker says."""

    name: str
    stem: Path
    verdict: Any


@cache
def forgeries(seed: int = 0) -> tuple[Forged, ...]:
    """Each edit on WAYS certificates that it fits."""
    bases, found, rng = certificates(seed), [], np.random.default_rng(seed)
    for kind, edit in EDITS.items():
        done = 0
        for at in rng.permutation(len(bases)):
            forged = opened(bases[at], bases[(at + 1) % len(bases)])
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    edit(rng, forged)
            except Unfit:
                continue
            stem = Path(FOLDER.name, str(len(found)))
            forged.write(stem)
            found.append(Forged(f"{bases[at].name}, {kind}", stem, second_checker.check(stem)))
            done += 1
            if done == WAYS:
                break
    return tuple(found)


def opened(case: Case, other: Case) -> Forgery:
    """A certificate as the forger sees it."""
    ours, theirs = case.copy(""), other.copy("")
    return Forgery(ours.header, ours.arrays, [Forgery(theirs.header, theirs.arrays)])
