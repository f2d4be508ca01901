"""Every registered figure: measured small, drawn, written, the same each time, and true to its data."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from workbench.command import pictures
from workbench.errors import BadInput, UnknownName
from workbench.registries import registry, settings_of

pytest.importorskip("matplotlib")
FIGURES = registry("figure").names()
SMALL = {"n": 24, "passes": 30, "gap": 0.1, "instances": 2, "starts": 2}
SMALL |= {
    "patience": 0.001,
    "size": 10,
    "only": "digits",
    "splits": 4,
    "rounds": 4,
    "scales": 2,
    "lams": 2,
    "ranks": 1,
    "tasks": 6,
    "span": 6,
    "draws": 2,
}
SMALLER = {"speed": {"n": 8}, "cost-table": {"n": 12}, "hidden-states": {"span": 5}, "cost-alternations": {"copies": 5}}


@cache
def measured(name):
    figure, small = registry("figure").get(name), SMALL | SMALLER.get(name, {})
    return figure.measure(**{key: small[key] for key in small.keys() & settings_of(figure.measure).keys()})


@cache
def drawn(name):
    return registry("figure").get(name).draw(measured(name))


@cache
def shown(name):
    return svg(name, measured(name))


def svg(name, arrays):
    """The picture of these arrays, drawn once: no layout, and not the drawing by which `savefig` measures."""
    text = io.StringIO()
    write_svg(name, arrays, text)
    return text.getvalue()


def write_svg(name, arrays, file):
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    figure = registry("figure").get(name).draw(arrays)
    figure.set_layout_engine("none")
    with pictures.style():
        FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})


class OtherPicture(Exception):
    """What is drawn differs from the picture that was expected."""


class Expected(io.StringIO):
    """A file that takes the expected text, and ends the drawing at the first character that differs."""

    def __init__(self, picture):
        super().__init__()
        self.picture = picture

    def write(self, text):
        if not self.picture.startswith(text, self.tell()):
            raise OtherPicture
        return super().write(text)


def differs(name, arrays):
    """Whether these arrays give another picture than the measured ones."""
    file = Expected(shown(name))
    try:
        write_svg(name, arrays, file)
    except OtherPicture:
        return True
    return file.getvalue() != shown(name)


def read(text):
    """The arrays of a CSV text, by the rules of the module's docstring."""
    header, *rows = csv.reader(io.StringIO(text))
    arrays = {}
    for name, column in zip(header, zip(*rows, strict=True), strict=True):
        if not name:
            continue  # the empty column between two tables
        cells = [cell for cell in column if cell]
        for kind in (int, float, str):
            try:
                arrays[name] = np.array([kind(cell) for cell in cells])
                break
            except ValueError:
                continue
        if set(cells) <= {"True", "False"}:
            arrays[name] = np.array(cells) == "True"
    for name in [name for name in arrays if name.endswith("_0")]:
        stem, parts = name.removesuffix("_0"), []
        while f"{stem}_{len(parts)}" in arrays:
            parts.append(arrays.pop(f"{stem}_{len(parts)}"))
        arrays[stem] = np.stack(parts, axis=1)
    return arrays


def changed(array):
    """The same values in another order, so that bounds stay bounds; one more if all are equal; not, of bools."""
    if array.dtype.kind == "b":
        return ~array
    return array[::-1] if (array != array[::-1]).any() else array + 1


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_measured_and_drawn(name):
    figure = drawn(name)
    for axes in figure.axes:
        last = axes.get_subplotspec().is_last_row()
        assert axes.get_xlabel() or not last, "every column of panels needs a labelled horizontal axis"
        assert axes.get_ylabel() or not axes.get_subplotspec().is_first_col()
        assert axes.lines or axes.patches or axes.collections
    title = figure.texts[0].get_text()
    assert len(title.split()) > 5, "the title says what to see"


@pytest.mark.parametrize("name", FIGURES)
def test_the_csv_holds_what_is_measured(name):
    arrays = measured(name)
    again = read(pictures.table(arrays))
    assert again.keys() == arrays.keys()
    for key, array in arrays.items():
        np.testing.assert_array_equal(again[key], array, err_msg=key)


@pytest.mark.parametrize("name", FIGURES)
def test_other_data_give_another_picture(name):
    arrays = measured(name)
    for key, array in arrays.items():
        if array.dtype.kind != "U":
            assert differs(name, arrays | {key: changed(array)}), f"{name} does not draw {key}"


@pytest.mark.parametrize("name", FIGURES)
def test_files_are_whole_and_the_same_each_time(name, tmp_path):
    """The second time the figure is drawn from its CSV, which thus holds all that is drawn."""
    image = pytest.importorskip("PIL.Image")
    held, contents = read(pictures.table(measured(name))), []
    again = {key: held[key] for key in measured(name)}
    pairs = (measured(name), drawn(name)), (again, registry("figure").get(name).draw(again))
    for folder, (arrays, figure) in zip((tmp_path / "a", tmp_path / "b" / "c"), pairs, strict=True):
        paths = pictures.save(name, arrays, figure, folder)
        assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in paths)
        assert [path.suffix for path in paths] == [".png", ".svg", ".csv"]
        contents.append([path.read_bytes() for path in paths])
    assert contents[0] == contents[1]
    with image.open(paths[0]) as picture:
        picture.load()
        assert min(picture.info["dpi"]) > 199
    text = contents[0][1].decode()
    assert text.rstrip().endswith("</svg>")
    assert "dc:date" not in text
    assert drawn(name).texts[0].get_text().split()[0] in text, "text stays text"


def test_the_same_data_give_no_other_picture():
    arrays = measured("toy-margins")
    assert not differs("toy-margins", arrays)
    assert differs("toy-margins", arrays | {"label": changed(arrays["label"])})


def test_make_measures_with_the_given_settings(tmp_path):
    paths = pictures.make(["toy-margins"], tmp_path, n=12)
    assert [path.name for path in paths] == ["toy-margins.png", "toy-margins.svg", "toy-margins.csv"]
    assert len(read(paths[2].read_text())["label"]) == 3 * 12


def test_make_refuses_before_it_draws(tmp_path):
    with pytest.raises(UnknownName, match="gap-curves"):
        pictures.make(["toy-margins", "gap-curve"], tmp_path / "never")
    with pytest.raises(BadInput, match="colour"):
        pictures.make(["toy-margins"], tmp_path / "never", colour="red")
    assert not (tmp_path / "never").exists()


def test_an_unwritable_folder_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="choose another"):
        pictures.save("toy-margins", measured("toy-margins"), drawn("toy-margins"), tmp_path / "file" / "folder")


def test_tables_of_other_lengths_stand_behind_an_empty_column():
    text = pictures.table({"a": np.array([1, 2, 3]), "b": np.array([[0.1, np.nan]]), "c": np.array(7)})
    assert text == "a,c,,b_0,b_1\n1,7,,0.1,nan\n2,7,,,\n3,7,,,\n"


def test_styles_differ_in_grey_and_in_shape():
    from matplotlib.colors import to_rgb

    linear = [np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in map(np.array, colours(to_rgb))]
    lightness = [116 * np.cbrt(c @ [0.2126, 0.7152, 0.0722]) - 16 for c in linear]
    assert min(b - a for a, b in pairwise(lightness)) > 12
    for one, other in pairwise(pictures.STYLES):
        assert one.dash != other.dash
        assert one.marker != other.marker


def colours(to_rgb):
    return [to_rgb(style.color) for style in pictures.STYLES]


def test_a_users_matplotlib_settings_change_nothing_and_stay():
    import matplotlib

    def saved():
        return pictures.image(registry("figure").get("toy-margins").draw(measured("toy-margins")), "svg")

    ours = saved()
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 9, "svg.fonttype": "path"}):
        assert saved() == ours
        assert matplotlib.rcParams["font.size"] == 20


def test_figures_are_listed_without_matplotlib():
    code = (
        "import sys; from workbench.registries import registry; registry('figure'); print('matplotlib' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


@pytest.mark.parametrize(("value", "text"), [(4.2e-10, "4·10⁻¹⁰"), (1.2e-5, "10⁻⁵"), (3.0, "3·10⁰")])
def test_small_numbers_in_titles(value, text):
    assert pictures.power(value) == text


def test_the_interval_around_a_global_optimum_only_closes():
    arrays = measured("closing")
    for n in np.unique(arrays["sequences"]):
        own = arrays["sequences"] == n
        assert (np.diff(arrays["lower"][own]) >= -1e-9).all()
        assert (np.diff(arrays["upper"][own]) <= 1e-9).all()
        assert (arrays["lower"][own] > 0).all()
        assert (arrays["lower"][own] <= arrays["upper"][own]).all()
    assert (arrays["alternation"].min(axis=1) >= arrays["lower"].reshape(len(arrays["alternation"]), -1)[:, -1]).all()


def test_costs_on_the_simplex_are_paid_where_dual_errors_are_fewest():
    arrays = measured("simplex-costs")
    assert arrays["v"].sum() == pytest.approx(1.0)
    paid = arrays["v"] > 1e-4
    assert 0 < paid.sum() < len(paid)
    np.testing.assert_allclose(arrays["q"][paid], arrays["q"].min(), atol=1e-3)


def test_every_round_of_an_alternation_shares_one_unit_of_cost():
    arrays = measured("cost-alternations")
    for name in ("v_a", "v_b", "v_c"):
        held = arrays[name][(arrays[name] >= 0).all(axis=1)]
        assert len(held) >= 2
        np.testing.assert_allclose(held.sum(axis=1), 1.0, atol=1e-9)
        np.testing.assert_allclose(held[0], held[0][0])
