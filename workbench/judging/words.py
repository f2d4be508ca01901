"""The five verdicts, and `Verdict`, the record of one with its numbers and its reason."""

from __future__ import annotations

from dataclasses import dataclass, field

AGREES, NOT_CONVERGED, DISAGREES = "agrees", "not converged", "disagrees"
NOT_COMPARABLE, FAILED = "not comparable", "failed"
VERDICTS = (AGREES, NOT_CONVERGED, DISAGREES, NOT_COMPARABLE, FAILED)


@dataclass(frozen=True)
class Verdict:
    """A verdict, the relative excess, one sentence, the numbers behind it, and the rule that decided.

    excess : (F(θ) − L)/size, relative to the optimum (judging/reference.py);  absolute : F(θ) − L
    needed : how many passes the fitted trend needs to come within the tolerance; ∞ if it leads nowhere near,
        NaN where no trend was fitted
    fact : the part of the reason that says what was seen, without what is open or asked for, and without a full stop;
        the whole reason if nothing else is given
    rule : one of `crash`, `weights`, `objective`, `reference`, `drift`, `feasibility`, `reported`, `optimum`,
        `rate`, `ended`, `settled`, `identity`, `history`, `mistakes`, `residuals`, `memory`, or `relation: ` or
        `audit: ` and the name of a relation or an audit
    """

    verdict: str
    excess: float
    reason: str
    evidence: dict[str, float] = field(default_factory=dict)
    rule: str = ""
    absolute: float = float("nan")
    needed: float = float("nan")
    fact: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fact", self.fact or self.reason.rstrip("."))


def far(excess: float, absolute: float) -> str:
    """How far above the proven optimum, as the beginning of a reason."""
    return f"Its objective is {excess:.1e} (relative, {absolute:.1e} absolute) above the proven optimum"
