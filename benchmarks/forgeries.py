"""Forged certificates: can anything false get the word "proven"?

Honest certificates of small random problems, some of whose samples have weight 0, are made for every formulation ×
output structure that fit, and edited (`tests/support/forging`). Both checkers judge each forgery, ours and that under
`tests/support` that was written from docs/certificate-format.md alone, in a process with bounded memory that is killed
after 20 seconds. The claim is tried three ways:

    kept      as the forger left it
    fitted    the ends and gap that the first checker recomputes: then only an unsound rule is left to find
    greedy    as fitted, but the lower end a unit in the last place too high: never true

A forgery is accepted if one checker says "proven", and false if the interval of its claim misses the optimum of the
problem that it states. That optimum comes from solving the problem from scratch, and from a second route that shares
no code with checkers or bounds (`forging/truth.py`). Two checkers disagree if one says "proven" and the other does not.

`failed` is the sum of accepted_false, disagreements, crashes and hangs. `unjudged` counts what was accepted and states
a problem whose numbers are beyond every solver (10¹⁵⁰, say), so that its optimum is not known.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import BadInput, checked_whole

SUPPORT = str(Path(__file__).resolve().parents[1] / "tests" / "support")
if SUPPORT not in sys.path:
    sys.path.insert(0, SUPPORT)

from forging import EDITS  # noqa: E402  found by the line above
from forging.campaign import COUNTS, Campaign, Court, honest, pairs  # noqa: E402

FAULTS = ("accepted_false", "disagreements", "crashes", "hangs")


def forgeries(n: int = 10_000, seed: int = 0, only: str = "", edits: str = "") -> Iterator[dict[str, Any]]:
    """At least n forgeries over all pairs (`only`: those with this text in them): what is accepted, false, disputed."""
    checked_whole(1, n=n)
    checked_whole(0, seed=seed)
    known = [kind for kind in EDITS if edits in kind]
    if not known:
        raise BadInput(f"No edit contains {edits!r}; write for example edits=weight.")
    court, chosen, start = Court(), pairs(only), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(court, Path(folder))
        try:
            for number, (output, name) in enumerate(chosen, 1):
                rng = np.random.default_rng([seed, number])
                bases = honest(output, name, seed)
                campaign.attack(f"{output}:{name}", bases, known, n * number // len(chosen), rng)
                yield {"finished": f"{number} of {len(chosen)} pairs"} | summary(campaign, start)
        finally:
            court.close()
    yield summary(campaign, start)


def summary(campaign: Campaign, start: float) -> dict[str, Any]:
    total = {key: sum(row[key] for row in campaign.rows.values()) for key in COUNTS}
    rows = [{"edit": kind, **row} for kind, row in sorted(campaign.rows.items())]
    return {
        **total,
        "failed": sum(total[key] for key in FAULTS),
        "statements": len(campaign.known),
        "seconds": time.perf_counter() - start,
        "findings": campaign.found[:20],
        "rows": rows,
    }


NAMES = {"forgeries": forgeries}
