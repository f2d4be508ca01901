"""What a formulation declares about changes of the data: how its settings change so that the optima correspond.

    min F′ = c^q · min F,      settings s′ = c^{p_s} s,      w′* = c^p w*

A formulation's `relations()` maps each relation of judging/relations.py to its `Change`, or to None where no settings
make the optima correspond. An empty row says that the formulation has no optimum that relations could move.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, runtime_checkable


class Change(NamedTuple):
    """The powers of c: those of the settings by name, q of the value F*, p of the weights w, and that of a block b."""

    settings: Mapping[str, float] = {}
    value: float = 0.0
    weights: float = 0.0
    intercepts: float = 0.0


Row = dict[str, Change | None]

SAME = Change()
MEANS: Row = dict.fromkeys(("duplicate", "split", "permute", "rename", "rotate"), SAME)
SCALED = Change({"lam": 2.0}, 0.0, -1.0)  # φ → cφ: λ → c²λ, w → w/c
DEARER = Change({"lam": -1.0}, 1.0, 1.0)  # ℓ → cℓ under margin rescaling: λ → λ/c, w → cw, F → cF
DEARER_SLACK = Change({"lam": 1.0}, 1.0)  # ℓ → cℓ under slack rescaling: λ → cλ, w → w, F → cF
OF_MEANS: Row = {**MEANS, "features": SCALED, "loss": SAME}  # r + a mean of terms that do not depend on ℓ
OF_MARGINS: Row = {**MEANS, "features": SCALED, "loss": DEARER}
OF_SLACKS: Row = {**MEANS, "features": SCALED, "loss": DEARER_SLACK}
OF_SUMS: Row = {  # r and sums over samples
    "duplicate": Change({"lam1": 1.0, "lam2": 1.0}, 1.0),
    "split": SAME,
    "permute": SAME,
    "rename": SAME,
    "rotate": SAME,
    "features": Change({"lam1": 1.0, "lam2": 2.0}, 0.0, -1.0),
    "loss": SAME,
}


@runtime_checkable
class Related(Protocol):
    """A formulation that declares how its optimum moves with the data, as all of ours do."""

    def relations(self) -> Row:
        """{relation: change, or None where no settings make the optima correspond}; empty without an optimum."""
        ...
