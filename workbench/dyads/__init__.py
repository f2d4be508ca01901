"""Dyads: pairs of two kinds of things with labels, the learner of their bilinear scores, and its proven bound."""

from __future__ import annotations

from workbench.dyads.pairs import Dyads, Factors, simulated, split

__all__ = ["Dyads", "Factors", "simulated", "split"]
