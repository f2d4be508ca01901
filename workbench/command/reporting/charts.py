"""Line charts as SVG in a page: this module places lines, ticks and marks, the template `chart.html` draws them.

Both axes are logarithmic or plain. A series differs from the others in hue, dash and marker, as the figures of
`pictures.py` do; hues are CSS variables of the page, so that the same drawing serves light, dark and print.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

WIDTH, HEIGHT = 720.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 74.0, 150.0, 14.0, 46.0
ALONE = 24.0  # in RIGHT's place, where a single line needs no name
STYLES = 5  # that the page's style sheet knows
MARKED = 12  # marks of a line, at most
MOST_TICKS = 7
APART = 15.0  # between two labels at the ends of lines


@dataclass(frozen=True)
class Series:
    """A line: its name and its points (x, y); points that an axis cannot show are left out."""

    name: str
    points: Sequence[tuple[float | None, float | None]]


class Shown(NamedTuple):
    """A line with the points that both axes can show, from left to right."""

    name: str
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """The range of an axis in data, where the range lies on the page, and whether the axis is logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float, log: bool) -> Axis:
        low, high = min(values), max(values)
        if log:
            low, high = 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))
        if low == high:
            low, high = (low / 10, high * 10) if log else (low - 1, high + 1)
        return cls(low, high, start, end, log)

    def at(self, value: float) -> float:
        share = (
            math.log(value / self.low) / math.log(self.high / self.low)
            if self.log
            else (value - self.low) / (self.high - self.low)
        )
        return round(self.start + share * (self.end - self.start), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """(place, text) of each tick."""
        return [(self.at(value), text) for value, text in (self.decades() if self.log else self.steps())]

    def decades(self) -> list[tuple[float, str]]:
        first, last = round(math.log10(self.low)), round(math.log10(self.high))
        step = max(1, math.ceil((last - first) / MOST_TICKS))
        powers = range(first, last + 1, step)
        return [(10.0**power, f"{10**power:g}" if 0 <= power <= 4 else f"1e{power}") for power in powers]

    def steps(self) -> list[tuple[float, str]]:
        rough = (self.high - self.low) / MOST_TICKS
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough)
        first = math.ceil(self.low / step)
        return [(k * step, f"{k * step:.6g}") for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


@dataclass
class Line:
    """A drawn series: its style, its path, its marks as (x, y, words), and where its name stands."""

    name: str
    style: int
    path: str
    marks: list[tuple[float, float, str]]
    label: tuple[float, float]


@dataclass
class Chart:
    """A drawing for `chart.html`. title and alt : what a reader who does not see it is told;  level : (y, words)"""

    title: str
    alt: str
    xlabel: str
    ylabel: str
    x: Axis
    y: Axis
    lines: list[Line] = field(default_factory=list)
    level: tuple[float, str] | None = None
    size: tuple[float, float] = (WIDTH, HEIGHT)
    box: tuple[float, float, float, float] = (LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)


def chart(
    title: str,
    labels: tuple[str, str],
    series: Sequence[Series],
    log: tuple[bool, bool] = (False, True),
    level: tuple[float | None, str] = (None, ""),
) -> Chart | None:
    """The chart of these series, or None if no point can be shown; `level` is a horizontal line with its words."""
    kept = [Shown(each.name, points) for each in series if (points := shown(each.points, log))]
    if not kept:
        return None
    at_level = level[0]
    if at_level is not None and not (math.isfinite(at_level) and (at_level > 0 or not log[1])):
        at_level = None
    right = WIDTH - (RIGHT if len(kept) > 1 else ALONE)
    x = Axis.over([px for each in kept for px, _ in each.points], LEFT, right, log[0])
    heights = [py for each in kept for _, py in each.points] + ([] if at_level is None else [at_level])
    y = Axis.over(heights, HEIGHT - BOTTOM, TOP, log[1])
    told = "; ".join(f"{each.name} from {each.points[0][1]:.2g} to {each.points[-1][1]:.2g}" for each in kept)
    made = Chart(title, f"{labels[1]} against {labels[0]}: {told}.", *labels, x, y)
    made.box = (LEFT, TOP, right, HEIGHT - BOTTOM)
    made.lines = spread([drawn(each, k, x, y) for k, each in enumerate(kept)])
    made.level = None if at_level is None else (y.at(at_level), level[1])
    return made


def shown(points: Sequence[tuple[float | None, float | None]], log: tuple[bool, bool]) -> list[tuple[float, float]]:
    """The points that both axes can show, from left to right."""
    return sorted(
        (float(x), float(y))
        for x, y in points
        if x is not None
        and y is not None
        and all(math.isfinite(v) and (v > 0 or not is_log) for v, is_log in zip((x, y), log, strict=True))
    )


def drawn(series: Shown, number: int, x: Axis, y: Axis) -> Line:
    places = [(x.at(px), y.at(py), f"{series.name}: {px:g}, {py:.3g}") for px, py in series.points]
    path = "M" + " L".join(f"{px} {py}" for px, py, _ in places)
    step = max(1, math.ceil(len(places) / MARKED))
    marks = places[::-1][::step][::-1]
    return Line(series.name, number % STYLES, path, marks, (WIDTH - RIGHT + 8, places[-1][1]))


def spread(lines: list[Line]) -> list[Line]:
    """The lines with their labels moved apart, none above the box."""
    lowest = TOP
    for line in sorted(lines, key=lambda line: line.label[1]):
        lowest = max(line.label[1], lowest)
        line.label = (line.label[0], round(lowest, 2))
        lowest += APART
    over = max(0.0, max(line.label[1] for line in lines) - (HEIGHT - 4))
    for line in lines:
        line.label = (line.label[0], round(line.label[1] - over, 2))
    return lines
