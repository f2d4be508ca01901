"""The Vowpal Wabbit format: read and written, dyads from it, errors with file and line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.dyads import vowpal
from workbench.dyads.pairs import Dyads, simulated
from workbench.dyads.vowpal import Example

names = st.text("abcxyz_09é-", min_size=1, max_size=6)
numbers = st.floats(-1e6, 1e6).map(float)
features = st.dictionaries(names, numbers, max_size=4)
labelled = st.builds(
    Example,
    label=st.integers(-3, 9).map(str),
    namespaces=st.dictionaries(names, features, min_size=1, max_size=3),
    importance=st.floats(0, 1e6),
    base=numbers,
    tag=st.just("") | names.map(lambda name: f"'{name}"),
)


@given(example=labelled)
def test_what_is_written_is_read(example):
    assert vowpal.parsed(vowpal.written(example)) == example


def test_the_lines_of_the_source():
    found = vowpal.parsed("2 2|rater r_2737 |task t_89 |id r_2737 t_89")
    ones = {"rater": {"r_2737": 1.0}, "task": {"t_89": 1.0}, "id": {"r_2737": 1.0, "t_89": 1.0}}
    assert found == Example("2", ones, tag="2")
    assert vowpal.parsed("2 2 |rater r_2737") == Example("2", {"rater": {"r_2737": 1.0}}, importance=2.0)
    assert vowpal.parsed("-1 0.5 3 'a|n:2 f:3 g f:-1 | h").namespaces == {"n": {"f": 4.0, "g": 2.0}, "": {"h": 1.0}}
    assert vowpal.parsed("1|n f") == Example("1", {"n": {"f": 1.0}})
    assert vowpal.parsed("|n f").label is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 f g", r"Line 3 of .*pairs\.vw has no \|"),
        ("1 2 3 4 |n f", "has 4 words before its features"),
        ("1 two |n f", "has 'two' as the number of its importance"),
        ("1 -2 |n f", "has the importance -2"),
        ("1 |n f:", "has the feature 'f:'"),
        ("1 |n f:nan", "has 'nan' as the number of its feature"),
        ("1 |n:x f", "has 'x' as the number of its namespace"),
    ],
)
def test_errors_name_file_and_line(tmp_path, line, message):
    path = tmp_path / "pairs.vw"
    path.write_text(f"1 |n f\n\n{line}\n")
    with pytest.raises(wb.BadInput, match=message):
        vowpal.read(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(wb.BadInput, match="cannot be read"):
        vowpal.read(tmp_path / "none.vw")
    (tmp_path / "packed").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(wb.BadInput, match="not UTF-8"):
        vowpal.read(tmp_path / "packed")
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(wb.BadInput, match="no example"):
        vowpal.read(tmp_path / "empty")


def test_dyads_there_and_back(tmp_path):
    problem = simulated(30, 3, 8, seed=1)
    vowpal.write(tmp_path / "pairs.vw", problem.examples("rater", "task"))
    lines = vowpal.read(tmp_path / "pairs.vw")
    again = Dyads.of_examples(lines, "rater", "task")
    assert again.n_samples == problem.n_samples
    np.testing.assert_array_equal(again.classes[again.labels], problem.classes[problem.labels].astype(str))
    for side in ("left", "right"):
        columns = [getattr(each, side).indices for each in (problem, again)]
        assert len(set(zip(*columns, strict=True))) == len(set(columns[0])) == len(set(columns[1]))
    assert again.linear.shape[1] == again.left.shape[1] + again.right.shape[1] + 1
    assert Dyads.of_examples(lines, "rater", "task", linear=["task"]).linear.shape[1] == again.right.shape[1] + 1
    with pytest.raises(wb.BadInput, match="Example 1 has no features in the namespace 'tusk'"):
        Dyads.of_examples(lines, "rater", "tusk")


@pytest.mark.parametrize(("line", "message"), [("|l a |r b", "no label"), ("1 1 0.5 |l a |r b", "the base 0.5")])
def test_examples_that_teach_nothing(line, message):
    with pytest.raises(wb.BadInput, match=f"Example 1 has {message}"):
        Dyads.of_examples([vowpal.parsed(line)], "l", "r")


def test_names_that_the_format_cannot_hold():
    with pytest.raises(wb.BadInput, match="holds a blank"):
        vowpal.written(Example("1", {"n": {"two words": 1.0}}))
    with pytest.raises(wb.BadInput, match="without a label"):
        vowpal.written(Example(None, {"n": {}}, importance=2.0))
