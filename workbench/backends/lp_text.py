"""The LP format, read strictly:

    Minimize            also Maximize, Minimum, Maximum, Min, Max
      cost: 2 x + 3 y + [ x ^ 2 + 4 x * y ] / 2 + 5
    Subject To          also Such That, st, s.t.
      limit: x + y >= 2
    Bounds
      -1 <= x <= 4      also x free, x = 3; without bounds, x >= 0
    End

Section words begin a line, in any case of letters. `\\` begins a comment. < and > mean ≤ and ≥.
"""

from __future__ import annotations

import re
from math import inf

from workbench.backends.second_reading import Discrete, Facts, Unclear

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
NAME = r"[A-Za-z_!\"#$%&(),;?@'`{}~|][A-Za-z0-9_!\"#$%&(),;?@'`{}~|.]*"
TOKEN = re.compile(rf"\s*(?:(?P<number>{NUMBER})|(?P<name>{NAME})|(?P<sign><=|=<|>=|=>|[<>=:+\-*/^\[\]]))")
OPENS = re.compile(r"(maxim(?:ize|um)|max|minim(?:ize|um)|min)(?![^\s])", re.I)
SECTION = re.compile(
    rf"(?P<objective>{OPENS.pattern})|(?P<rows>subject\s+to|such\s+that|s\.t\.|st\.?)(?![^\s:])|"
    r"(?P<bounds>bounds?)(?!\S)|(?P<end>end)(?!\S)|"
    r"(?P<other>generals?|gen|integers?|binar(?:y|ies)|bin|semi-continuous|semis?|sos[12]?)(?!\S)",
    re.I,
)
ORDER = ("objective", "rows", "bounds", "end")
SIDES = {"<=": "<", "=<": "<", "<": "<", ">=": ">", "=>": ">", ">": ">", "=": "="}
ENDLESS_WORDS = ("inf", "infinity")


def lp_facts(text: str) -> Facts:
    """What an LP text says."""
    facts = Facts()
    parts = sections(text, facts)
    objective = Tokens(parts.get("objective", ""), "the objective")
    objective.label()
    facts.constant = objective.sum(facts, facts.costs, None)
    objective.finished()
    rows = Tokens(parts.get("rows", ""), "the constraints")
    while rows.left:
        row(rows, facts)
    bounds = Tokens(parts.get("bounds", ""), "the bounds")
    while bounds.left:
        bound(bounds, facts)
    return facts


def sections(text: str, facts: Facts) -> dict[str, str]:
    """The text of each section."""
    found: dict[str, str] = {}
    now = ""
    for k, line in enumerate(text.splitlines(), 1):
        words = line.partition("\\")[0].strip()
        if not words:
            continue
        if now == "end":
            raise Unclear(f"line {k} stands after End")
        if match := SECTION.match(words):
            now = next(name for name in (*ORDER, "other") if match[name])
            if now == "other":
                raise Discrete(f"line {k} begins the section {match[0]}")
            if now in found or (list(found) and ORDER.index(now) < max(map(ORDER.index, found))):
                raise Unclear(f"line {k} begins another section {match[0]}")
            if now == "objective":
                facts.maximise = match[0].lower().startswith("max")
            found[now], words = "", words[match.end() :]
            if now == "end" and words.strip():
                raise Unclear(f"line {k} goes on after End")
        if not now or "objective" not in found:
            raise Unclear(f"line {k} is {words[:30]!r}, not Minimize or Maximize (so spelt, or Min, Max)")
        found[now] += f" {words}"
    if "objective" not in found or "end" not in found:
        raise Unclear("the text has no End" if found else "the text is empty")
    return found


class Tokens:
    """The tokens of a section, taken one by one."""

    def __init__(self, text: str, where: str):
        self.where, self.at, self.left = where, 0, []
        text = text.rstrip()
        while self.at < len(text):
            match = TOKEN.match(text, self.at)
            if not match:
                raise Unclear(f"{text[self.at :].strip()[:20]!r} in {where} is no number, name or sign")
            kind = match.lastgroup or ""
            self.left.append((kind, match[kind]))
            self.at = match.end()
        self.left.reverse()

    def peek(self, back: int = 1) -> tuple[str, str]:
        return self.left[-back] if len(self.left) >= back else ("", "")

    def take(self, kind: str) -> str:
        """The next token, of this kind."""
        found, word = self.peek()
        if found != kind:
            raise Unclear(f"a {kind} is missing in {self.where} {f'before {word!r}' if word else 'at its end'}")
        self.left.pop()
        return word

    def label(self) -> None:
        """`name:`, if there is one."""
        if self.peek(2)[1] == ":":
            self.take("name")
            self.left.pop()

    def factor(self) -> float:
        """Signs before a term."""
        sign = 1.0
        while self.peek()[1] in ("+", "-"):
            sign = -sign if self.left.pop()[1] == "-" else sign
        return sign

    def value(self) -> float:
        """A number with its sign, or ±∞."""
        sign, (kind, word) = self.factor(), self.peek()
        if kind == "name" and word.lower() in ENDLESS_WORDS:
            self.left.pop()
            return sign * inf
        return sign * float(self.take("number"))

    def sum(self, facts: Facts, told: dict, row: int | None) -> float:
        """Σ coefficient · name into `told`, products in brackets into the facts; the constant."""
        constants: list[float] = []
        first = True
        while self.left and self.peek()[1] not in SIDES:
            if not first and self.peek()[1] not in ("+", "-"):
                raise Unclear(f"no sign stands before {self.peek()[1]!r} in {self.where}")
            first, sign = False, self.factor()
            if self.peek()[1] == "[":
                self.products(facts, sign, row)
                continue
            given = float(self.take("number")) if self.peek()[0] == "number" else None
            if self.peek()[0] == "name":
                name = self.take("name")
                facts.names[name] = None
                key = name if row is None else (row, name)
                facts.once(told, key, sign * (1.0 if given is None else given), self.where)
            elif given is None:
                raise Unclear(f"a term is missing in {self.where} before {self.peek()[1]!r}")
            else:
                constants.append(sign * given)
        if len(constants) > 1:
            raise Unclear(f"{self.where} has {len(constants)} constants")
        return constants[0] if constants else 0.0

    def products(self, facts: Facts, sign: float, row: int | None) -> None:
        """[ Σ coefficient · name ^ 2 + coefficient · name * name ] / 2, of the objective."""
        self.left.pop()
        if row is not None or sign < 0:
            raise Unclear(f"a bracket in {self.where} belongs to no quadratic objective + [ … ] / 2")
        while self.peek()[1] != "]":
            scale = self.factor()
            scale *= float(self.take("number")) if self.peek()[0] == "number" else 1.0
            one = other = self.take("name")
            facts.names[one] = None
            if self.take("sign") == "^":
                if float(self.take("number")) != 2:
                    raise Unclear(f"a power of {one} is not 2")
            else:
                other = self.take("name")
                facts.names[other] = None
            for pair in {(one, other), (other, one)}:
                facts.once(facts.products, pair, scale if one == other else scale / 2, self.where)
        self.left.pop()
        if self.take("sign") != "/" or float(self.take("number")) != 2:
            raise Unclear("no / 2 stands after the bracket of the objective")

    def finished(self) -> None:
        if self.left:
            raise Unclear(f"{self.peek()[1]!r} in {self.where} cannot be read")


def row(tokens: Tokens, facts: Facts) -> None:
    """label: Σ coefficient · name ≤ number."""
    tokens.label()
    if tokens.sum(facts, facts.entries, len(facts.rows)):
        raise Unclear("a constraint has a constant on its left")
    side, value = SIDES.get(tokens.take("sign")), tokens.value()
    if side is None:
        raise Unclear("a constraint has no comparison")
    facts.rows.append((-inf if side == "<" else value, inf if side == ">" else value))


def bound(tokens: Tokens, facts: Facts) -> None:
    """number ≤ name ≤ number, or either half, or `name free`."""
    low: tuple[float, str] | None = None
    if tokens.peek()[0] != "name" or tokens.peek()[1].lower() in ENDLESS_WORDS:
        low = tokens.value(), {"<": ">", ">": "<", "=": "="}.get(SIDES.get(tokens.take("sign"), ""), "")
    name = tokens.take("name")
    facts.names[name] = None
    ends = facts.bounds.setdefault(name, [None, None])
    if low is None and tokens.peek()[1].lower() == "free":
        tokens.left.pop()
        ends[:] = -inf, inf
        return
    given = [] if low is None else [low]
    if tokens.peek()[1] in SIDES:
        sign = tokens.take("sign")
        given.append((tokens.value(), sign))
    if not given:
        raise Unclear(f"{name} in the bounds has none")
    for value, sign in given:
        side = SIDES.get(sign)
        for k, here in ((0, side in (">", "=")), (1, side in ("<", "="))):
            ends[k] = value if here else ends[k]
