"""Boxes in MOTChallenge's text format: read, written, refused; overlaps, identities, measures; a folder's problem."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest

import workbench as wb
from workbench.data import motchallenge

GT = """\
1,1,10,20,40,80,1,1,1.0
1,2,200,20,40,80,1,1,0.5
2,1,14,21,40,80,1,1,1.0
2,2,204,22,40,80,0,1,0.1
3,1,18,22,40,80,1,1,1.0
"""
DET = """\
2,-1,15.5,21,40,80,0.9,-1,-1,-1
1,-1,11,20,40,80,0.8,-1,-1,-1

1,-1,400,300,30,60,0.3,-1,-1,-1
3,-1,18,24,40,80,0.95,-1,-1,-1
"""


@pytest.fixture
def sequence(tmp_path):
    for name, text in {"gt": GT, "det": DET}.items():
        (tmp_path / "walk" / name).mkdir(parents=True)
        (tmp_path / "walk" / name / f"{name}.txt").write_text(text)
    return tmp_path


def test_a_file_is_read_by_frame(sequence):
    seen = motchallenge.read(sequence / "walk" / "det" / "det.txt")
    np.testing.assert_array_equal(seen.frames, [1, 1, 2, 3])
    np.testing.assert_array_equal(seen.boxes[2], [15.5, 21, 40, 80])
    np.testing.assert_array_equal(seen.confidences, [0.8, 0.3, 0.9, 0.95])
    assert set(seen.ids.tolist()) == {-1}
    motchallenge.write(sequence / "again.txt", seen)
    for one, other in zip(seen, motchallenge.read(sequence / "again.txt"), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,1,0,0,5,5", "line 1 has 6 numbers"),
        ("1,1,0,0,5,5,1\n1,x,0,0,5,5,1", "line 2 is no box"),
        ("0,1,0,0,5,5,1", "names frame 0 and id 1"),
        ("1,1.5,0,0,5,5,1", "id 1.5"),
        ("1,1,0,0,-5,5,1", "make both positive"),
        ("1,1,0,nan,5,5,1", "infinite, missing or beyond"),
        ("\n", "holds no boxes"),
        ("1,7,0,0,5,5,1\n2,7,0,0,5,5,1\n\n1,7,9,0,5,5,1", "line 4 has id 7 again on frame 1"),
    ],
)
def test_a_faulty_line_is_named(tmp_path, text, message):
    (tmp_path / "det.txt").write_text(text)
    with pytest.raises(wb.BadInput, match=message):
        motchallenge.read(tmp_path / "det.txt")
    with pytest.raises(wb.BadInput, match="cannot be read"):
        motchallenge.read(tmp_path / "none.txt")


def test_a_mark_of_byte_order_and_several_unknown_boxes_on_a_frame_are_read(tmp_path):
    (tmp_path / "det.txt").write_text("\ufeff1,-1,0,0,5,5,1\r\n1,-1,9,0,5,5,1\r\n", encoding="utf-8")
    assert motchallenge.read(tmp_path / "det.txt").frames.tolist() == [1, 1]


def test_overlaps_and_identities(sequence):
    a, b = np.array([0.0, 0, 10, 10]), np.array([5.0, 0, 10, 20])
    assert motchallenge.overlap(a, b) == pytest.approx(50 / 250)
    assert motchallenge.overlap(a, a + np.array([10, 0, 0, 0])) == 0
    seen, truth = (motchallenge.read(sequence / "walk" / name / f"{name}.txt") for name in ("det", "gt"))
    np.testing.assert_array_equal(motchallenge.identified(seen, truth), [1, -1, 1, 1])


def test_the_problem_of_a_folder(sequence):
    problem = wb.load_problem("mot-challenge")(str(sequence))
    assert problem.sizes.tolist() == [4]
    assert problem.describe(0, problem.truth[0]) == "tracks 0-2-3"
    with pytest.raises(wb.BadInput, match="holds no sequence"):
        wb.load_problem("mot-challenge")(str(sequence / "walk"))


def test_links_join_all_pairs_of_detections_at_most_skip_frames_apart():
    """Against all pairs of detections; frames without any among them."""
    rng = np.random.default_rng(0)
    made = sys.modules[wb.load_problem("tracking").__module__]
    for skip in (1, 3):
        frames = np.sort(rng.integers(1, 20, 40))
        boxes = np.column_stack([rng.uniform(0, 9, (40, 2)), np.full((40, 2), 10.0)])  # all near enough
        seen = motchallenge.Boxes(frames, np.full(40, -1), boxes, np.ones(40))
        links = made.graph_of(made.Scene(seen, np.zeros((40, 0)), seen, 20), skip, 9.0)[3]
        pairs = [(j, k) for j in range(40) for k in range(40) if 0 < frames[k] - frames[j] <= skip]
        assert links.tolist() == [list(pair) for pair in pairs]


def test_a_long_sequence_needs_no_table_of_all_pairs():
    """10,000 detections, 20 a frame: a table of all pairs alone would be 100 MB."""
    made = sys.modules[wb.load_problem("tracking").__module__]
    frames, places = np.repeat(np.arange(1, 501), 20), np.tile(np.arange(20) * 50.0, 500)
    boxes = np.column_stack([places, places, np.full(len(places), 20.0), np.full(len(places), 20.0)])
    seen = motchallenge.Boxes(frames, np.full(len(frames), -1), boxes, np.ones(len(frames)))
    tracemalloc.start()
    links = made.graph_of(made.Scene(seen, np.zeros((len(frames), 0)), seen, 500), 1, 0.6)[3]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(links) == 20 * 499
    assert most < 60e6


def test_a_scene_without_detections_is_named():
    with pytest.raises(wb.BadInput, match="Scene 0 shows no detection; lower miss"):
        wb.load_problem("tracking")(n=2, frames=4, objects=1, miss=0.999, clutter=0)


def test_measures_refuse_what_they_cannot_count():
    frames, boxes = np.array([1, 1]), np.array([[0.0, 0, 10, 10], [50, 0, 10, 10]])
    twice = motchallenge.Boxes(frames, np.array([1, 1]), boxes, np.ones(2))
    nobody, fine = twice._replace(ids=np.array([-1, -1])), twice._replace(ids=np.array([1, 2]))
    for truth, tracked, message in (
        ([twice], [fine], "true sequence 0 has id 1 twice on frame 1"),
        ([fine], [twice], "tracked sequence 0 has id 1 twice on frame 1"),
        ([nobody], [fine], "show no object"),
        ([fine, fine], [fine], "2 true sequences but 1 tracked"),
    ):
        with pytest.raises(wb.BadInput, match=message):
            motchallenge.measures(truth, tracked)


def test_measures_count_misses_clutter_and_switches():
    pytest.importorskip("motmetrics", reason="peer absent: motmetrics measures nothing")
    frames, ids = np.array([1, 1, 2, 2]), np.array([1, 2, 1, 2])
    boxes = np.array([[0.0, 0, 10, 10], [50, 0, 10, 10]] * 2)
    truth = motchallenge.Boxes(frames, ids, boxes, np.ones(4))
    assert motchallenge.measures([truth], [truth]) == {"mota": 1, "idf1": 1, "switches": 0}
    crossed = truth._replace(ids=np.array([1, 2, 2, 1]))
    assert motchallenge.measures([truth], [crossed]) == {"mota": 0.5, "idf1": 0.5, "switches": 2}
    half = motchallenge.measures([truth], [truth.take([0, 2])])
    assert half["mota"] == 0.5
    assert half["idf1"] == pytest.approx(2 / 3)
