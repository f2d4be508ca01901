"""The house style of all figures, and the one way a figure becomes files.

A file of `figures/` has two functions, perhaps a third, and exports itself,

    measure(**settings) -> dict[str, np.ndarray]      solves and runs; settings typed, with defaults
    draw(arrays) -> matplotlib Figure                 `@styled`; draws these arrays and nothing else
    of_runs(records) -> the same arrays, or None      optional: of records that a user keeps; None if no record fits
    NAMES = {"its-name": sys.modules[__name__]}

and `make` writes NAME.png (for reading), NAME.svg (for print; text stays text) and NAME.csv (the drawn arrays) into
a folder. The same arrays give the same bytes: no dates, no random identifiers.

Style. Sans serif, in the DejaVu Sans that comes with matplotlib, so that figures are equal on every machine. Five line
styles differ in three ways: in hue (for colour-blind readers, too), in lightness (steps of 13 and more, for print in
grey), and in dash and marker. Titles state what the figure shows; their numbers are computed from the arrays.

CSV. Every array is a column, every 2-D array several columns (name_0, name_1, …), in the array's order. Arrays of equal
length are one table with a row for each observation; a single number is repeated in every row. Tables of further
lengths stand to the right, behind an empty column; their rows are unrelated to the rows beside them. Floats are
written so that reading them gives the same floats; words that a spreadsheet would run get an apostrophe in front.

matplotlib is imported at the first drawing.
"""

from __future__ import annotations

import csv
import functools
import io
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.command.tables import cell
from workbench.errors import BadInput, MissingCapability
from workbench.proofs.files import write_whole
from workbench.registries import registry, settings_of, unknown_setting

Arrays = Mapping[str, NDArray]


class Style(NamedTuple):
    """The look of one series: hue and lightness, dash pattern, marker."""

    color: str
    dash: Any
    marker: str

    def line(self, **extra: Any) -> dict[str, Any]:
        """Keyword arguments of `axes.plot`; the marker is hollow, so that lines behind it show."""
        look = {"color": self.color, "linestyle": self.dash, "marker": self.marker}
        return look | {"markerfacecolor": "white", "markeredgecolor": self.color} | extra


STYLES = (
    Style("#101c36", "solid", "o"),
    Style("#8a1a50", (0, (5, 1.5)), "s"),
    Style("#107a84", (0, (1.2, 1.2)), "^"),
    Style("#de7430", "solid", "D"),
    Style("#e0ac2b", (0, (5, 1.2, 1.2, 1.2)), "v"),
)
INK, SOFT, PALE = "#1a1a1a", "#5f5f5f", "#e4e4e4"
DPI = 220
SUFFIXES = ("png", "svg", "csv")  # of the files of a figure
HOUSE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 8.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": False,
    "grid.color": PALE,
    "grid.linewidth": 0.6,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.6,
    "lines.markeredgewidth": 0.9,
    "text.color": INK,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "cutbench",
    "path.simplify": False,
}


def style() -> Any:
    """A context in which matplotlib follows the house style and ignores any matplotlibrc."""
    try:
        import matplotlib
    except ImportError:
        raise MissingCapability("Figures need matplotlib; pip install 'cutbench[figures]'.") from None
    settings: dict[Any, Any] = {**matplotlib.rcParamsDefault, "backend": "agg", **HOUSE}  # keys: matplotlib's names
    return matplotlib.rc_context(settings)


def styled(draw: Callable[[Arrays], Any]) -> Callable[[Arrays], Any]:
    """`draw` in the house style."""

    @functools.wraps(draw)
    def drawn(arrays: Arrays) -> Any:
        with style():
            return draw(arrays)

    return drawn


# ── parts of the drawings ─────────────────────────────────────────────────────────────────────────


def canvas(rows: int, columns: int, size: tuple[float, float], title: str, note: str, **options: Any) -> Any:
    """A figure of `size` inches with its headline, and its axes as an array (rows, columns).

    title : one or two bold lines, what the figure shows;  note : smaller, how to read the figure
    """
    from matplotlib.figure import Figure

    width, height = size
    titles, notes = textwrap.wrap(title, int(11.4 * width)), textwrap.wrap(note, int(18.5 * width))
    head = 0.18 * len(titles) + 0.145 * len(notes) + 0.14
    figure = Figure(figsize=(width, height + head), dpi=DPI)
    figure.set_layout_engine("constrained", rect=(0, 0, 1, height / (height + head)), w_pad=0.06, h_pad=0.06)
    inch = 1 / (height + head)
    figure.text(0.06 / width, 1 - 0.06 * inch, "\n".join(titles), va="top", weight="bold", size=9.5, linespacing=1.3)
    below = 1 - (0.1 + 0.18 * len(titles)) * inch
    figure.text(0.06 / width, below, "\n".join(notes), va="top", size=7.2, color=SOFT, linespacing=1.35)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def label(axes: Any, x: float, y: float, text: str, like: Style, shift: tuple[float, float], **extra: Any) -> None:
    """A direct label in a series' hue, darkened, `shift` typographic points from (x, y), on a thin white halo."""
    from matplotlib import patheffects
    from matplotlib.colors import to_rgb

    halo = [patheffects.withStroke(linewidth=2.2, foreground="white")]
    color = 0.7 * np.array(to_rgb(like.color)) + 0.3 * np.array(to_rgb(INK))
    look = {"color": color, "weight": "bold", "size": 7.5, "va": "center", "path_effects": halo, "zorder": 5}
    axes.annotate(text, (x, y), shift, textcoords="offset points", annotation_clip=False, **look | extra)


def decades(axis: Any, ticks: int = 8) -> None:
    """Ticks of a logarithmic axis: at most `ticks` powers of ten, written as text, and no minor ticks."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(numticks=ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: power(value)))
    axis.set_minor_locator(NullLocator())


def power(value: float) -> str:
    """A positive number to one digit: 4·10⁻¹⁰."""
    digits, exponent = f"{value:.0e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if digits == "1" else f"{digits}·10{raised}"


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


def make(names: Iterable[str] | None, out: str | Path, **settings: Any) -> list[Path]:
    """Measure and draw the registered figures of these names (None: all); returns the files' paths.

    settings : passed to every figure whose `measure` has a setting of that name
    """
    known = registry("figure")
    chosen = {name: known.get(name) for name in names or known.names()}
    takes = {name: settings_of(figure.measure) for name, figure in chosen.items()}
    for key in settings:
        if not any(key in own for own in takes.values()):
            raise unknown_setting(key, list(takes.values()))
    paths = []
    for name, figure in chosen.items():
        arrays = figure.measure(**{key: value for key, value in settings.items() if key in takes[name]})
        paths += save(name, arrays, figure.draw(arrays), out)
    return paths


def make_of(names: Iterable[str] | None, records: Sequence[Mapping[str, Any]], out: str | Path) -> list[Path]:
    """Draw the figures of these names (None: all that can) from records of runs; returns the files' paths.

    Raises
    ------
    BadInput : a figure named cannot be drawn from runs, or none of these records fits
    """
    return draw_all(fitting(names, records), out)


def draw_all(measured: Mapping[str, Arrays], out: str | Path) -> list[Path]:
    """Draw registered figures from their arrays, by name; returns the files' paths."""
    known = registry("figure")
    return [path for name, arrays in measured.items() for path in save(name, arrays, known.get(name).draw(arrays), out)]


def fitting(names: Iterable[str] | None, records: Sequence[Mapping[str, Any]]) -> dict[str, Arrays]:
    """The arrays that `make_of` draws, by the figures' names; errors as there."""
    known = registry("figure")
    able = {name: figure for name, figure in known.items() if hasattr(figure, "of_runs")}  # an optional function
    chosen = {name: known.get(name) for name in names or able}
    if other := next((name for name in chosen if name not in able), None):
        raise BadInput(f"The figure {other} measures its own runs; with --run name {', '.join(able)}.")
    found = {name: arrays_of(name, figure, records) for name, figure in chosen.items()}
    if missing := [name for name, arrays in found.items() if arrays is None and (names or len(found) == 1)]:
        raise BadInput(
            f"No run here has what {missing[0]} draws; name runs of `cutbench solve`, `crosscheck` or `path`."
        )
    drawn = {name: arrays for name, arrays in found.items() if arrays is not None}
    if not drawn:
        raise BadInput("No figure fits these runs; name runs of `cutbench solve`, `crosscheck` or `path`.")
    return drawn


def arrays_of(name: str, figure: Any, records: Sequence[Mapping[str, Any]]) -> Arrays | None:
    """What a figure draws from these records; `BadInput` where a record lacks what the figure takes for granted."""
    try:
        return figure.of_runs(records)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        raise BadInput(f"The figure {name} cannot read these records ({told}); make the runs again.") from error


def save(name: str, arrays: Arrays, figure: Any, out: str | Path) -> list[Path]:
    """Write NAME.png, NAME.svg and NAME.csv into the folder `out`, each whole or not at all."""
    out = Path(out)
    make_folder(out)
    with style():  # one layout for both pictures, which are then drawn once each
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine(None)
    contents = {"png": image(figure, "png"), "svg": image(figure, "svg"), "csv": table(arrays).encode()}
    paths = [out / f"{name}.{suffix}" for suffix in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        write_whole(path, content)
    return paths


def make_folder(path: Path) -> None:
    """Make the folder and those above it, or `BadInput`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"Cannot make the folder {path} ({error.strerror}); choose another.") from None


def image(figure: Any, suffix: str) -> bytes:
    """The figure as PNG or SVG; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    nameless = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
    with style():
        figure.savefig(buffer, format=suffix, dpi=DPI, metadata=nameless[suffix])
    return buffer.getvalue()


def table(arrays: Arrays) -> str:
    """The arrays as CSV text, in the form that the module's docstring describes."""
    tables: dict[int, list[list[Any]]] = {}
    longest = max((len(array) for array in arrays.values() if array.ndim), default=1)
    for name, array in arrays.items():
        rows = array if array.ndim else np.repeat(array, longest)
        named = [(f"{name}_{j}", column) for j, column in enumerate(rows.T)] if rows.ndim == 2 else [(name, rows)]
        tables.setdefault(len(rows), []).extend([title, *column.tolist()] for title, column in named)
    columns = [column for each in tables.values() for column in ([""], *each)][1:]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(cell, row) for row in zip_longest(*columns, fillvalue=""))
    return text.getvalue()
