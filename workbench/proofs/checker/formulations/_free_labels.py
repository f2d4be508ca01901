"""Numbers b_y of labels that nothing penalises: B bounds |b| at some optimum (docs/certificate-format.md §4)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from workbench.proofs.checker.contracts import Labelled
from workbench.proofs.checker.whole import Whole, grouped, root_up

ROOT = 1 << 128


def reach(structure: Labelled, prices: Whole, total: Fraction, lam2: Fraction, U: Fraction, most: Fraction) -> Fraction:
    """A bound B on |b| at some optimum: from U ≥ min F, prices_i/total, λ₂‖w‖², and losses of at most `most`."""
    holds = np.unique(structure.owner * structure.k + structure.labels)
    shares = grouped(prices.values[holds // structure.k], holds % structure.k, structure.k)
    least = Fraction(int(shares[shares > 0].min()), prices.unit) / total
    size = Fraction(int(structure.magnitudes().max()), structure.unit)
    return U / least + 4 * size * root_up(U / lam2, ROOT) + most
