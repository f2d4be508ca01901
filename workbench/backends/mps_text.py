"""MPS and QPS, read by words or, where names hold spaces, by the columns of the fixed format.

ROWS      N|L|G|E row            the first N row is the objective; further ones count for nothing
COLUMNS   column row value [row value]
RHS       [set] row value …      of the objective: −constant
RANGES    [set] row value …      r:  L [b − |r|, b],  G [b, b + |r|],  E [b, b + |r|] or, r < 0, [b − |r|, b]
BOUNDS    UP|LO|FX|FR|MI|PL [set] column [value]
QUADOBJ   column column value    one triangle of P; QMATRIX: both
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from math import inf

from workbench.backends.second_reading import Discrete, Facts, Unclear

DISCRETE = ("BV", "LI", "UI", "SC", "SI")  # bounds of variables that are not continuous
SECTIONS = [
    "NAME",
    "OBJSENSE",
    "ROWS",
    "COLUMNS",
    "RHS",
    "RANGES",
    "BOUNDS",
    "QUADOBJ",
    "QSECTION",
    "QMATRIX",
    "ENDATA",
]
FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))  # of the fixed format
VALUELESS = {"FR": (-inf, inf), "MI": (-inf, None), "PL": (None, inf)}


@dataclass
class Table:
    """The rows while they are read."""

    facts: Facts = field(default_factory=Facts)
    kinds: dict[str, str] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    objective: str = ""
    rhs: dict[str, float] = field(default_factory=dict)
    ranges: dict[str, float] = field(default_factory=dict)
    sets: dict[str, str] = field(default_factory=dict)


def mps_facts(text: str) -> Facts:
    """What an MPS text says."""
    try:
        return read(text, str.split)
    except Unclear as fault:
        try:
            return read(text, fields)
        except Unclear:
            raise fault from None


def fields(line: str) -> list[str]:
    """The fields of fixed MPS, blank ones left out."""
    line = line.expandtabs()
    cut = (line[a:b].strip() for a, b in FIELDS)
    if "".join(line.split()) != "".join("".join(line[a:b].split()) for a, b in FIELDS):
        raise ValueError(line)
    return [word for word in cut if word]


def read(text: str, cut: Callable[[str], list[str]]) -> Facts:
    table, now, seen = Table(), "", []
    for k, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or line.startswith("*"):
            continue
        if now == "ENDATA":
            raise Unclear(f"line {k} stands after ENDATA")
        if not line[0].isspace():
            now = words[0].upper()
            if now not in SECTIONS or now in seen:
                raise Unclear(f"line {k} begins {'another' if now in SECTIONS else 'the unknown'} section {words[0]}")
            seen.append(now)
            if now != "OBJSENSE" or len(words) == 1:
                continue
            words = words[1:]
        try:
            entry(table, now, cut(line) if line[0].isspace() else words)
        except (ValueError, KeyError, IndexError):
            told = f"line {k}, {line.strip()[:50]!r}"
            if (now == "BOUNDS" and line.split()[0] in DISCRETE) or (now == "COLUMNS" and "'MARKER'" in line):
                raise Discrete(told) from None
            raise Unclear(f"{told}, is no entry of {now or 'any section'}") from None
    if now != "ENDATA" or not table.objective:
        raise Unclear("the text has no ENDATA" if now != "ENDATA" else "no N row is there to be the objective")
    finish(table)
    return table.facts


def entry(table: Table, now: str, words: list[str]) -> None:
    """One line of a section; ValueError, KeyError or IndexError where it is none."""
    facts = table.facts
    if now == "OBJSENSE":
        facts.maximise = {"MAX": True, "MAXIMIZE": True, "MIN": False, "MINIMIZE": False}[words[0].upper()]
    elif now == "ROWS":
        kind, name = words[0].upper(), *words[1:]
        if kind not in "NLGE" or len(words) != 2 or name in table.kinds:
            raise ValueError(name)
        table.kinds[name] = kind
        if kind != "N":
            table.places[name] = len(table.places)
        elif not table.objective:
            table.objective = name
    elif now == "COLUMNS":
        column(table, *words)
    elif now in ("RHS", "RANGES"):
        told = table.rhs if now == "RHS" else table.ranges
        if len(words) % 2:
            one_set(table, now, words[0])
        for name, value in pairs(words[len(words) % 2 :]):
            if name not in table.kinds:
                raise KeyError(name)
            facts.once(told, name, value, now)
    elif now == "BOUNDS":
        bound(table, words[0], words[1:])
    elif now in ("QUADOBJ", "QSECTION", "QMATRIX"):
        one, other, value = words[0], words[1], float(words[2])
        known = facts.names[one], facts.names[other], *words[3:]
        if len(known) != 2:
            raise ValueError(words)
        for pair in {(one, other)} if now == "QMATRIX" else {(one, other), (other, one)}:
            facts.once(facts.products, pair, value, now)
    else:
        raise ValueError(now)


def pairs(words: list[str]) -> list[tuple[str, float]]:
    """(name, value), one or two of them."""
    if len(words) not in (2, 4):
        raise ValueError(words)
    return [(name, float(value)) for name, value in zip(words[::2], words[1::2], strict=True)]


def column(table: Table, name: str, *words: str) -> None:
    facts = table.facts
    facts.names[name] = None
    for row, value in pairs(list(words)):
        if table.kinds[row] != "N":
            facts.once(facts.entries, (table.places[row], name), value, f"row {row} of COLUMNS")
        elif row == table.objective:
            facts.once(facts.costs, name, value, "the objective")


def one_set(table: Table, section: str, name: str) -> None:
    """Refuse a second set of right-hand sides, ranges or bounds: readers differ on which one counts."""
    if table.sets.setdefault(section, name) != name:
        raise Unclear(f"{section} has two sets, {table.sets[section]} and {name}")


def bound(table: Table, kind: str, words: list[str]) -> None:
    kind, facts = kind.upper(), table.facts
    if not words:
        raise IndexError(kind)
    if kind in VALUELESS:
        name = words[-1] if len(words) < 3 else words[1]
        ends = VALUELESS[kind]
    else:
        name, value = words[-2], float(words[-1])
        ends = {"UP": (None, value), "LO": (value, None), "FX": (value, value)}[kind]
    if len(words) > 3 or name not in facts.names:
        raise KeyError(name)
    if len(words) - (kind not in VALUELESS) > 1:
        one_set(table, "BOUNDS", words[0])
    given = facts.bounds.setdefault(name, [None, None])
    given[:] = [old if new is None else new for old, new in zip(given, ends, strict=True)]


def finish(table: Table) -> None:
    """Ends of the rows from their kinds, right-hand sides and ranges."""
    facts = table.facts
    facts.constant = -table.rhs.get(table.objective, 0.0) + 0.0
    for name in table.places:
        kind, b, r = table.kinds[name], table.rhs.get(name, 0.0), table.ranges.get(name)
        lower, upper = -inf if kind == "L" else b, inf if kind == "G" else b
        if r is not None:
            down = kind == "L" or (kind == "E" and r < 0)
            other = b - abs(r) if down else b + abs(r)
            lower, upper = (other, b) if down else (b, other)
            if Decimal(repr(b)) + (-1 if down else 1) * abs(Decimal(repr(r))) != Decimal(repr(other)):
                facts.rounded.append(f"the range of {name}: its other end is rounded to {other!r}")
        facts.rows.append((lower, upper))
