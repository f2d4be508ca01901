"""Samples as pictures: the pixels are those of the data, on a terminal and in a page, and survive a certificate."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.command.drawn import WIDE, lines, output_picture, pictures, words
from workbench.data.readers import data_problem
from workbench.proofs.certificate import load
from workbench.registries import registry


def test_a_digit_is_its_64_pixels_and_stays_so_in_a_certificate(tmp_path):
    pytest.importorskip("sklearn")
    problem = wb.load_problem("digits")(n=30)
    (seen,) = pictures(problem, 7)
    row = problem.X[[7]].toarray().reshape(8, 8)
    np.testing.assert_allclose(seen, (row - row.min()) / (row.max() - row.min()))
    path = wb.solve(wb.SoftMargin(), problem, gap=1e-2).certificate.save(tmp_path / "certificate")
    np.testing.assert_array_equal(pictures(load(path)[0].problem, 7)[0], seen)
    told = CliRunner().invoke(cli, ["explain", str(path), "--most", "2"])
    assert told.exit_code == 0, told.output
    sample = int(re.search(r"sample (\d+)", told.stdout)[1])
    assert "\n      ".join(["", *lines(pictures(problem, sample))]) in told.stdout
    assert CliRunner().invoke(cli, ["report", str(path)]).exit_code == 0
    page = (tmp_path / "report.html").read_text()
    drawn = re.search(rf">Sample {sample}: .*?</title>(.*?)</svg>", page, re.DOTALL)[1]
    marked = {(int(x), int(y)) for x, y in re.findall(r'x="(\d+)" y="(\d+)"', drawn)}
    assert marked == {(x, y) for y, x in zip(*np.nonzero(pictures(problem, sample)[0] > 0.02), strict=True)}


def test_a_word_is_a_picture_a_letter_and_a_grid_is_one_picture():
    letters = [np.eye(3, 8), np.eye(2, 8)]
    word = wb.Chain(letters, [["a", "b", "a"], ["b", "a"]])
    assert pictures(word, 0) == []
    word.pixels = [2, 4]
    assert [each.shape for each in pictures(word, 0)] == [(2, 4)] * 3
    assert pictures(word, 1)[1].ravel().tolist() == [0, 1, 0, 0, 0, 0, 0, 0]
    grid = wb.load_problem("grid")(n=2, size=5)
    (seen,) = pictures(grid, 1)
    nodes = grid.nodes[25:50].toarray()[:, 0]
    np.testing.assert_allclose(seen.ravel(), (nodes - nodes.min()) / np.ptp(nodes))


@pytest.mark.parametrize("told", [True, [8], [[]], [8, {"a": 1}], ["", 8], [8, True], [8, 0], [8.0, 8], "88", {"a": 8}])
def test_pixels_that_are_no_size_are_no_picture(tmp_path, told):
    problem = wb.load_problem("toy")(n=9)
    path = wb.solve(wb.SoftMargin(), problem, gap=1e-2).certificate.save(tmp_path / "certificate")
    header = json.loads(path.read_text())
    header["problem"]["pixels"] = told
    path.write_text(json.dumps(header))
    assert pictures(load(path)[0].problem, 0) == []
    for words_ in (["explain", str(path)], ["report", str(path)]):
        result = CliRunner().invoke(cli, words_)
        assert result.exit_code == 0, result.output


def test_a_sequence_of_words_is_told_in_its_words(tmp_path):
    path = tmp_path / "c.conll"
    path.write_text("the DT O\ncat NN B\n\ndogs NNS B\nbark VB O\n\n")
    for window in (0, 1):
        problem = data_problem(path)(window=window)
        assert [words(problem, i) for i in range(2)] == ["the cat", "dogs bark"]
    assert words(wb.Chain.tiny(np.random.default_rng(0)), 0) == ""
    assert words(wb.load_problem("iris")(), 0) == ""


def test_what_has_no_pixels_has_no_picture():
    assert pictures(wb.load_problem("toy")(), 0) == []
    assert lines([]) == []


def test_pictures_stand_side_by_side_in_a_line_that_ends():
    black, white = np.ones((14, 9)), np.zeros((14, 9))
    assert lines([black, white]) == ["█" * 9] * 7
    assert lines([np.ones((2, 2)), np.array([[0, 0.5], [1, 0]])]) == ["████   ▒▒", "████ ██"]
    told = lines([black] * 50)
    assert told[-1] == "…"
    assert max(map(len, told)) <= WIDE


def test_a_matching_is_a_table_of_its_links():
    problem = registry("output").get("matching").tiny(np.random.default_rng(5))
    output = problem.truth[0]
    (table,) = output_picture(problem, 0, output)
    assert table.shape == (problem.heights[0], problem.widths[0])
    shown = problem.describe(0, output).removeprefix("links ").split()
    assert [f"{j}-{k}" for j, k in np.argwhere(table == 1).tolist()] == shown


def test_tracks_are_rows_over_their_detections():
    problem = registry("output").get("flow").tiny(np.random.default_rng(5))
    for sample, output in enumerate(problem.truth):
        shown = problem.describe(sample, output).removeprefix("tracks ").split()
        (table,) = output_picture(problem, sample, output)
        assert ["-".join(map(str, np.flatnonzero(row == 1))) for row in table] == shown
        assert np.count_nonzero(table) == sum(len(track.split("-")) for track in shown)
    assert output_picture(registry("output").get("chain").tiny(np.random.default_rng(5)), 0, [0, 0]) == []
