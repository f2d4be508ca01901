"""Reuters: where its files are looked for, what is refused, and the tf-idf of a story word by word.

With the real files (CUTBENCH_DATA, or `../shared/data` beside the checkout) their content is checked too;
without them made stories take their place. Nothing here touches the network.
"""

from __future__ import annotations

import gzip
import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.data import datasets, store
from workbench.data.datasets import MissingData, content_digest, load
from workbench.data.loading import load_problem
from workbench.data.sets import reuters as reuters_file

reuters = load_problem("reuters")

REAL = [Path(p) for p in (os.environ.get("CUTBENCH_DATA"), Path(__file__).resolve().parents[3] / "shared/data") if p]
REAL = next((str(p) for p in REAL if (p / "r8" / "train.txt.gz").is_file()), None)
real_only = pytest.mark.skipif(REAL is None, reason="the real files are not here; made ones are tested above")

TRAIN = ["grain\tWheat and corn, wheat", "earn\tcorn net  profit ", "earn\tprofit of 15 mln"]
TEST = ["earn\tprofit unheard corn", "grain\tnothing known"]


def write(folder: Path, name: str, lines: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / name, "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """No data of this machine and no network: an empty cache and sources that do not exist."""
    monkeypatch.delenv("CUTBENCH_DATA", raising=False)
    monkeypatch.setattr(store, "cache_folder", lambda: tmp_path / "cache" / "cutbench")
    absent = {
        split: replace(source, url=(tmp_path / "absent" / source.url.rsplit("/", 1)[-1]).as_uri())
        for split, source in datasets.STORIES.items()
    }
    monkeypatch.setattr(reuters_file, "STORIES", absent)


@pytest.fixture
def made(tmp_path):
    write(tmp_path / "made" / "r8", "train.txt.gz", TRAIN)
    write(tmp_path / "made" / "r8", "test.txt.gz", TEST)
    return tmp_path / "made"


def test_stories_are_read_as_they_were_written(made, monkeypatch):
    for folder in (made, made / "r8"):
        stories = datasets.reuters("train", folder)
        assert stories.topics == ["grain", "earn", "earn"]
        assert stories.texts == ["Wheat and corn, wheat", "corn net profit", "profit of 15 mln"]
    monkeypatch.setenv("CUTBENCH_DATA", str(made))
    assert reuters().n_samples == 3
    assert reuters(split="test").n_samples == 2


def test_the_public_files_begin_with_a_heading(tmp_path):
    (tmp_path / "r8-train-all-terms.txt").write_text("\n".join(["Class\tExample", *TRAIN]) + "\n")
    assert datasets.reuters("train", tmp_path).topics == ["grain", "earn", "earn"]


def test_absent_files_say_where_to_put_them(tmp_path):
    with pytest.raises(MissingData, match=r"all-terms\.txt could not be fetched .* put .*r8/train\.txt\.gz"):
        datasets.reuters()
    with pytest.raises(MissingData, match=r"There is no .*r8/test\.txt\.gz .*in .*; put the file there"):
        datasets.reuters("test", tmp_path)


def test_what_is_fetched_must_be_what_was_pinned(made, tmp_path):
    public = tmp_path / "public" / "r8-train-all-terms.txt"
    public.parent.mkdir()
    public.write_text("\n".join(["Class\tExample", *TRAIN]) + "\n")
    source = replace(datasets.STORIES["train"], url=public.as_uri())
    with pytest.raises(wb.BadInput, match="does not hold the expected data"):
        load(source)
    digest = content_digest(load(source, made))
    fetched = load(replace(source, digest=digest))
    kept = load(replace(source, digest=digest, url="file:///nowhere/r8-train-all-terms.txt"))
    assert fetched["text"].tobytes() == kept["text"].tobytes() == load(source, made)["text"].tobytes()


@pytest.mark.parametrize(
    ("number", "line", "message"),
    [
        (2, "earn net profit", r"train\.txt\.gz is .*line 2 is not of the form topic<TAB>text"),
        (1, "\tnet profit", "line 1 is not of the form"),
        (3, "earn\t ", "line 3 is not of the form"),
    ],
)
def test_a_damaged_file_is_one_sentence_with_its_line(number, line, message, made):
    write(made / "r8", "train.txt.gz", [*TRAIN[: number - 1], line, *TRAIN[number:]])
    with pytest.raises(wb.BadInput, match=message):
        datasets.reuters("train", made)


def test_what_is_no_gzip_and_what_is_no_split_are_refused(made):
    (made / "r8" / "train.txt.gz").write_bytes(b"plain")
    with pytest.raises(wb.BadInput, match=r"train\.txt\.gz is truncated or damaged"):
        datasets.reuters("train", made)
    with pytest.raises(wb.BadInput, match="split is 'dev'; choose one of train, test"):
        datasets.reuters("dev", made)


def test_tfidf_is_the_formula_word_by_word(made):
    """Vocabulary 15 and corn mln net of profit wheat; corn and profit are in two of three stories."""
    problem = reuters(data=str(made))
    assert (problem.n_inputs, problem.classes.tolist()) == (8, ["earn", "grain"])
    rare, common = 1 + math.log(4 / 2), 1 + math.log(4 / 3)
    first = np.array([0, rare, common, 0, 0, 0, 0, 2 * rare])
    np.testing.assert_allclose(problem.X.toarray()[0], first / np.linalg.norm(first), rtol=1e-14)


def test_test_stories_take_words_and_weights_from_those_learned_from(made):
    problem = reuters(split="test", data=str(made))
    assert problem.labels.tolist() == [0, 1]
    rows = problem.X.toarray()
    assert rows[0].nonzero()[0].tolist() == [2, 6]
    np.testing.assert_allclose(rows[0, [2, 6]], [math.sqrt(0.5)] * 2)
    assert not rows[1].any()
    assert reuters(min_count=2, data=str(made)).n_inputs == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 4}, "There are 3 stories to learn from but n=4"),
        ({"n": 0}, "n=0"),
        ({"min_count": 3}, "No word occurs in min_count=3 of 3 stories"),
        ({"min_count": 0}, "min_count=0; a word is counted from one story on"),
        ({"n": 1, "split": "test"}, "No story learned from has the topic 'earn'"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message, made):
    with pytest.raises(wb.BadInput, match=message):
        reuters(data=str(made), **settings)


def test_made_stories_can_be_learned():
    make = load_problem("synthetic-text")
    problem, test = make(n=120), make(n=120, split="test")
    assert problem.n_inputs == test.n_inputs
    np.testing.assert_allclose(np.linalg.norm(problem.X.toarray(), axis=1), 1)
    theta = wb.solve(wb.SoftMargin(lam=0.01), problem, gap=1e-3).theta_flat
    assert np.mean(test.predict(theta, test.X) == test.classes[test.labels]) > 0.7
    with pytest.raises(wb.BadInput, match="make no problem"):
        make(n=1)


@real_only
def test_the_real_stories_are_the_pinned_ones():
    for split, source in datasets.STORIES.items():
        assert content_digest(load(source, REAL)) == source.digest, split
    problem, test = reuters(data=REAL), reuters(split="test", data=REAL)
    assert (problem.n_samples, test.n_samples) == (5485, 2189)
    assert np.bincount(problem.labels).tolist() == [1596, 253, 2840, 41, 190, 206, 108, 251]
    assert problem.n_inputs == test.n_inputs == 19_982
