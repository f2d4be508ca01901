"""Vectors of a proof about a convex program: whole numbers over one unit, out of floats or out of text."""

from __future__ import annotations

import re

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.programs import Vector
from workbench.proofs.checker.whole import Array, exact

MOST_LINE = 250_000  # characters of a whole number
WHOLE = re.compile(rb"-?[0-9a-f]+")


def stored(values: Array) -> Vector:
    found = exact(values)
    return [int(value) for value in found.values], found.unit


def decimal(values: Array) -> Vector:
    """Each float as the shortest decimal that rounds to it, as Python writes it."""
    parts = [re.fullmatch(r"(-?\d+)(?:\.(\d+))?(?:e([-+]\d+))?", repr(value)) for value in values.tolist()]
    read = [(int(p[1] + (p[2] or "")), int(p[3] or 0) - len(p[2] or "")) for p in parts if p]
    least = min([0, *(power for digits, power in read if digits)])
    return [digits * 10 ** (power - least) if digits else 0 for digits, power in read], 10**-least


def vector(fields: Fields, name: str, size: int) -> Vector | None:
    if not fields.has(name):
        return None
    lines = fields.typed(name, "|u1", (None,)).tobytes().split(b"\n")
    demand(len(lines) == size + 1, f"{name} has {len(lines) - 1} numbers, not {size}")
    demand(max(map(len, lines)) <= MOST_LINE, f"{name} has a number of more than {MOST_LINE} characters")
    demand(all(map(WHOLE.fullmatch, lines)), f"{name} holds a line that is no whole number")
    unit, *whole = (int(line, 16) for line in lines)
    demand(unit > 0, f"the unit of {name} is not positive")
    return whole, unit
