"""`cutbench predict` on pairs without labels, new texts, and files of the wrong kind."""

from __future__ import annotations

import json
from collections import Counter
from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.proofs.certificate import load

PAIRS = "left,right,label\nann,bird7,2\nbob,bird7,1\nann,bird8,2\nbob,bird9,1\ncid,bird8,2\ncid,bird9,1\n"


@pytest.fixture
def cutbench(tmp_path, monkeypatch):
    """Runs the command inside an empty folder; returns click's result."""
    monkeypatch.chdir(tmp_path)

    def run(*words, code=0):
        result = CliRunner().invoke(cli, [*map(str, words)])
        assert code in (result.exit_code, None), result.output + result.stderr
        return result

    return run


@pytest.mark.parametrize("formulation", ["soft-margin", "nuclear-dyadic"])
def test_pairs_without_labels_are_predicted_by_the_names_of_their_sides(cutbench, formulation):
    write("pairs.csv", PAIRS)
    cutbench("solve", "pairs", formulation, "--set", "path=pairs.csv", "--gap", "1e-3", "--out", "run", code=None)
    seen = json.loads(cutbench("predict", "run", "pairs.csv", "--json").stdout)["predictions"]
    order = [3, 0, 5, 1]  # so that new files meet the names in another order
    lines = [line.split(",") for line in PAIRS.splitlines()[1:]]
    sides = [(lines[i][0], lines[i][1]) for i in order]
    write("new.csv", "right,left\n" + "".join(f"{right},{left}\n" for left, right in sides))
    write("blank.csv", "left,right,label\n" + "".join(f"{left},{right},\n" for left, right in sides))
    write("other.csv", "rater,right\n" + "".join(f"{left},{right}\n" for left, right in sides))
    write("new.vw", "".join(f"|left {left} |right {right}\n" for left, right in sides))
    for file, words in (("new.csv", ()), ("blank.csv", ()), ("other.csv", ("--set", "left=rater")), ("new.vw", ())):
        result = cutbench("predict", "run", file, *words)
        assert result.stdout.split() == [seen[i] for i in order], file
        assert result.stderr == ""
        assert json.loads(cutbench("predict", "run", file, *words, "--json").stdout)["loss"] is None
    write("all.vw", "".join(f"{label} |left {left} |right {right}\n" for left, right, label in lines))
    assert "mean loss" in cutbench("predict", "run", "all.vw").stderr


def test_pairs_of_unknown_names_and_labels_are_one_sentence(cutbench):
    write("pairs.csv", PAIRS)
    cutbench("solve", "pairs", "soft-margin", "--set", "path=pairs.csv", "--out", "run")
    with np.load("run/learned.npz") as file:
        learned = file["names_w"]
    assert {"1: left ann", "2: right bird9", "1: constant"} <= set(learned.tolist())
    for text, sentence in (
        ("left,right\nann,bird7\neva,bird7\n", "The left name 'eva' was not among those learned"),
        ("left,right,label\nann,bird7,3\n", "new.csv has the label '3', which the weights do not know"),
        ("left,label\nann,1\n", "new.csv has no column 'right'"),
        ("left,right,label\nann,bird7,1\nann,bird8,\n", "label is missing"),
    ):
        write("new.csv", text)
        assert sentence in cutbench("predict", "run", "new.csv", code=2).stderr


def test_weights_of_bilinear_scores_have_the_names_of_sides_and_labels(cutbench):
    write("pairs.csv", PAIRS.replace("cid,bird9,1", "cid,bird9,3"))
    words = ("--set", "path=pairs.csv", "--set", "dimensions=2", "--gap", "0.5", "--out", "run")
    cutbench("solve", "pairs", "nuclear-dyadic", *words, code=None)
    with np.load("run/learned.npz") as file:
        found = dict(file)
    assert found["names_A"].tolist()[:4] == ["1: left ann [0]", "1: left ann [1]", "2: left ann [0]", "2: left ann [1]"]
    assert found["names_W"].tolist()[-3:] == ["1: constant", "2: constant", "3: constant"]
    assert {name: len(found[name]) for name in "ABW"} == {name: len(found[f"names_{name}"]) for name in "ABW"}


TEXTS = {
    "car": ["a red car", "the car is fast", "fast red wheels", "wheels of a car", "red red car"],
    "sky": ["the blue sky", "a star in the sky", "blue star", "sky and moon", "the moon is blue"],
}


def test_new_texts_are_read_in_the_words_and_frequencies_of_the_texts_learned_from(cutbench, tmp_path):
    write("a.tsv", "".join(f"{label}\t{text}\n" for label, texts in TEXTS.items() for text in texts))
    for words, out in (((), "run"), (("--set", "intercept=true"), "free")):
        cutbench("solve", "text", "soft-margin", "--set", "path=a.tsv", *words, "--out", out)
    new = ["RED moon, red car", "the unheard star", "nothing known", "sky sky car"]
    write("new.txt", "".join(f"{text}\n" for text in new))
    write("labelled.tsv", "".join(f"{label}\t{text}\n" for label, text in zip(["car", "sky"] * 2, new, strict=True)))
    for name in ("flat", "deep/car"):
        (tmp_path / name).mkdir(parents=True)
        for number, text in enumerate(new):
            write(f"{name}/{number}", text)
    for out in ("run", "free"):
        held, _ = load(f"{out}/certificate")
        expected = by_hand(held, new)
        for data in ("new.txt", "./flat", "flat", "deep", "labelled.tsv"):
            lines = [line.split("\t") for line in cutbench("predict", out, data).stdout.splitlines()]
            assert [label for label, *_ in lines] == expected, data
            below = {"flat": "", "./flat": "", "deep": "car/"}
            assert [name for _, *name in lines] == (
                [[f"{below[data]}{i}"] for i in range(4)] if data in below else [[]] * 4
            )
        share = np.mean(np.array(expected) != ["car", "sky"] * 2)
        assert f"{100 * share:.2f} % of 4 differ" in cutbench("predict", out, "labelled.tsv").stderr
        assert "differ" in cutbench("predict", out, "deep").stderr
        assert cutbench("predict", out, "flat").stderr == ""


def by_hand(held, texts):
    """The formula of data/texts.py from the 8 texts learned from, and the scores of the weights."""
    problem = wb.load_problem("text")(path="a.tsv")
    stories = wb.read_texts("a.tsv")
    order = np.sort(np.random.default_rng(0).permutation(10)[:8])
    learned = [stories.texts[i].split() for i in order]
    words = sorted({word for text in learned for word in text})
    assert problem.columns == words
    idf = [1 + log(9 / (1 + sum(word in text for text in learned))) for word in words]
    parts = held.formulation.blocks(held.problem).split(held.theta)
    found = []
    for text in texts:
        counts = Counter(text.lower().replace(",", "").split())
        x = np.array([counts[word] * factor for word, factor in zip(words, idf, strict=True)])
        scores = parts["w"].reshape(2, -1) @ (x / (sqrt(x @ x) or 1.0)) + parts.get("b", 0.0)
        found.append(str(held.problem.classes[scores.argmax()]))
    return found


def test_files_of_another_kind_are_one_sentence(cutbench, tmp_path):
    rng = np.random.default_rng(0)
    X, y, starts = rng.normal(size=(12, 2)), np.arange(12) % 2, np.array([0, 5, 12])
    np.savez("rows.npz", X=X, y=y)
    np.savez("sequences.npz", X=X, y=y, offsets=starts)
    write("a.tsv", "".join(f"{label}\t{text}\n" for label, texts in TEXTS.items() for text in texts))
    cutbench("solve", "./rows.npz", "soft-margin", "--out", "rows")
    cutbench("solve", "./sequences.npz", "soft-margin", "--out", "sequences")
    cutbench("solve", "text", "soft-margin", "--set", "path=a.tsv", "--out", "texts")
    (tmp_path / "folder").mkdir()
    for run, data, sentence in (
        ("rows", "./sequences.npz", "sequences.npz holds sequences, and the weights were learned on single rows"),
        ("sequences", "./rows.npz", "rows.npz has no offsets, and sequences/certificate.json is about sequences"),
        ("rows", "folder", "folder is a folder, and the weights were not learned on texts"),
        ("texts", "folder", "folder holds no folders; put the texts"),
        ("texts", "nothing.tsv", "There is no folder or file nothing.tsv"),
        ("toy", "rows.npz", "toy is a problem and no certificate, which holds learned weights; `cutbench solve toy"),
    ):
        assert sentence in cutbench("predict", run, data, code=2).stderr, (run, data)
    write("mixed.tsv", "car\tred car\nno label here\n")
    assert "Line 2 of mixed.tsv" in cutbench("predict", "texts", "mixed.tsv", code=2).stderr


@pytest.mark.parametrize("name", ["new.svm", "new.libsvm", "new.svmlight", "new.txt"])
@pytest.mark.parametrize("line", ["1 1:0.5 3:2\n", "1:0.5 3:2e-1 # no label\n\n"])
def test_weights_of_texts_predict_no_rows_of_numbers(cutbench, name, line):
    write("a.tsv", "".join(f"{label}\t{text}\n" for label, texts in TEXTS.items() for text in texts))
    cutbench("solve", "text", "soft-margin", "--set", "path=a.tsv", "--out", "run")
    write(name, 2 * line)
    refused = cutbench("predict", "run", name, code=2)
    assert refused.stdout == ""
    assert f"{name} holds rows of numbers (an svmlight file has lines `label index:value …`), and" in refused.stderr
    write("new.vw", "1 |a red:1\n")
    assert "the weights were not learned from such a file" in cutbench("predict", "run", "new.vw", code=2).stderr
    write("new.txt", "12:30 the red car\n1\n")
    assert len(cutbench("predict", "run", "new.txt").stdout.split()) == 2


def test_lines_of_svmlight_without_labels_are_predicted_and_not_compared(cutbench):
    write("a.svm", "1 1:1\n2 2:1\n1 1:2 2:0.5\n2 1:0.5 2:2\n")
    cutbench("solve", "a.svm", "soft-margin", "--out", "run")
    write("bare.svm", "1:3\n\n2:3 # a comment\nqid:7 1:1 2:4\n")
    bare = cutbench("predict", "run", "bare.svm")
    assert bare.stdout.split() == ["1", "2", "2"]
    assert bare.stderr == "bare.svm: qid is not used\n"
    assert json.loads(cutbench("predict", "run", "bare.svm", "--json").stdout)["error"] is None
    write("some.svm", "1:3\n1 2:3\n1:1 2:4\n2 2:1\n")
    some = cutbench("predict", "run", "some.svm")
    assert some.stdout.split() == ["1", "2", "2", "2"]
    assert "50.00 % of 2 differ from the labels in some.svm" in some.stderr
    assert "some.svm: 2 samples without a label\n" in some.stderr
    assert "line 1 begins with '1:3', not with a label" in cutbench("solve", "bare.svm", "soft-margin", code=2).stderr


def test_a_spoilt_vocabulary_is_one_sentence(cutbench):
    write("a.tsv", "".join(f"{label}\t{text}\n" for label, texts in TEXTS.items() for text in texts))
    cutbench("solve", "text", "soft-margin", "--set", "path=a.tsv", "--out", "run")
    header = json.loads(Path("run/certificate.json").read_text())
    for spoilt in (header["problem"]["idf"][:-1], "word", ["x"] * len(header["problem"]["idf"])):
        header["problem"]["idf"] = spoilt
        write("run/certificate.json", json.dumps(header))
        assert "learn them again" in cutbench("predict", "run", "a.tsv", code=2).stderr


def write(name, text):
    Path(name).write_text(text, encoding="utf-8")


def test_sequences_are_compared_by_positions_and_as_a_mean_over_sequences(cutbench):
    """The second share is what `solve` calls the train error."""
    Path("a.conll").write_text("the D\ncat N\nsees V\n\na D\n\ncat N\nsees N\n")
    told = cutbench("solve", "a.conll", "crf", "--set", "lam=1", "--out", "c").stdout
    error = next(line for line in told.splitlines() if "train error" in line).split()[2]
    said = cutbench("predict", "c", "a.conll").stderr
    assert "% of 6 differ from the labels in a.conll; " in said
    assert said.endswith(f"as the mean over sequences, like a train error, {error} %\n")


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (("red", "", "blue"), ("of 2 differ from the labels", "1 sample without a label in column colour")),
        (("NA", "?", "red"), ("of 1 differ from the labels", "2 samples without a label in column colour")),
        (("", "", ""), ()),
    ],
)
def test_rows_whose_labels_are_missing_are_predicted_and_not_compared(cutbench, labels, told):
    write("a.csv", "a,b,colour\n1,0,red\n0,1,blue\n2,0.5,red\n0.5,2,blue\n")
    cutbench("solve", "a.csv", "soft-margin", "--out", "run")
    rows = (f"{a},{b},{label}\n" for (a, b), label in zip(((3, 0), (0, 3), (1, 4)), labels, strict=True))
    write("new.csv", "".join(("a,b,colour\n", *rows)))
    answer = cutbench("predict", "run", "new.csv")
    assert answer.stdout.split() == ["red", "blue", "blue"]
    assert all(each in answer.stderr for each in told)
    assert ("label" in answer.stderr) == bool(told)


# ── what the weights and the tested samples are ───────────────────────────────────────────────────


def labelled_texts():
    write("a.tsv", "".join(f"{label}\t{text}\n" for label, texts in TEXTS.items() for text in texts))


def test_texts_to_test_on_are_those_held_back_by_the_settings_learned_with(cutbench):
    labelled_texts()
    cutbench("solve", "text", "soft-margin", "--set", "path=a.tsv", "--set", "draw=3", "--out", "run")
    held = json.loads(cutbench("predict", "run", "text", "--set", "split=test", "--json").stdout)
    assert (held["n_samples"], held["learned_from"]) == (2, 0)
    for words, part in (
        (("--set", "draw=1"), "draw=1 parts the texts otherwise than draw=3"),
        (("--set", "draw=0"), "draw=0 parts the texts otherwise than draw=3"),
        (("--set", "n=9"), "n=9 parts the texts otherwise than n=None"),
    ):
        assert part in cutbench("predict", "run", "text", "--set", "split=test", *words, code=2).stderr
    write("b.tsv", Path("a.tsv").read_text() + "sky\tmoon\n")
    words = ("--set", "split=test", "--set", "path=b.tsv")
    assert (
        "does not hold the texts that the weights were learned from"
        in cutbench("predict", "run", "text", *words, code=2).stderr
    )


def test_texts_that_were_learned_from_are_told(cutbench):
    labelled_texts()
    cutbench("solve", "text", "soft-margin", "--set", "path=a.tsv", "--set", "split=all", "--out", "all")
    told = cutbench("predict", "all", "text", "--set", "split=test", code=2).stderr
    assert "learned with split=all, from all texts, so that none is held back" in told
    assert "10 of them were learned from" in cutbench("predict", "all", "a.tsv").stderr
    cutbench("solve", "text", "soft-margin", "--set", "path=a.tsv", "--out", "run")
    assert "8 of them were learned from" in cutbench("predict", "run", "text").stderr
    assert json.loads(cutbench("predict", "run", "a.tsv", "--json").stdout)["learned_from"] == 8


def test_texts_of_another_draw_are_told_with_the_setting_and_the_way_to_read_them(cutbench):
    labelled_texts()
    cutbench("solve", "text", "soft-margin", "--set", "path=a.tsv", "--out", "run")
    fix = (
        "with which the weights were learned; `cutbench predict run a.tsv` reads all texts there in the words learned."
    )
    for words, part in (
        (("draw=3",), f"draw=3 takes other words than draw=0, {fix}"),
        (("split=all",), f"split=all takes other words than split=train, {fix}"),
        (("draw=3", "path=a.tsv"), f"draw=3 takes other words than draw=0, {fix}"),
        (("min_count=2",), f"min_count=2 takes other words than min_count=1, {fix}"),
    ):
        given = [word for each in words for word in ("--set", each)]
        assert part in cutbench("predict", "run", "text", *given, code=2).stderr
    cutbench("predict", "run", "a.tsv")


def test_a_forged_certificate_is_told(cutbench):
    cutbench("solve", "toy", "soft-margin", "--out", "run")
    assert json.loads(cutbench("predict", "run", "toy", "--json").stdout)["verified"] is True
    assert "claims" not in cutbench("predict", "run", "toy").stderr
    path = Path("run/certificate.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"lower": 5.0, "upper": 5.0}))
    assert json.loads(cutbench("predict", "run", "toy", "--json").stdout)["verified"] is False
    assert "run/certificate.json does not prove what it claims" in cutbench("predict", "run", "toy").stderr


def test_a_large_certificate_is_left_to_verify(cutbench, monkeypatch):
    cutbench("solve", "toy", "soft-margin", "--out", "run")
    monkeypatch.setattr("workbench.command.tested.QUICK", 10)
    assert json.loads(cutbench("predict", "run", "toy", "--json").stdout)["verified"] is None
    assert "`cutbench verify run/certificate.json` proves them" in cutbench("predict", "run", "toy").stderr


def test_data_that_do_not_fit_are_told_with_their_name_and_a_fix(cutbench):
    cutbench("solve", "iris", "soft-margin", "--out", "run")
    np.savez("three.npz", X=np.ones((3, 3)))
    told = cutbench("predict", "run", "three.npz", code=2).stderr
    assert "three.npz has 3 columns and the weights were learned on 4; give the same columns" in told
    told = cutbench("predict", "run", "nosuch", code=2).stderr
    assert "no file, folder or problem called nosuch; give a data file" in told
    assert "did you mean the problem iris?" in cutbench("predict", "run", "irs", code=2).stderr


def test_numbered_columns_are_taken_in_order_for_columns_with_names_and_told(cutbench):
    write("a.csv", "height,width,label\n1,5,low\n2,1,low\n5,2,high\n6,4,high\n")
    cutbench("solve", "a.csv", "soft-margin", "--out", "run")
    write("a.svm", "low 1:1\nhigh 1:5 2:2\n")
    told = cutbench("predict", "run", "a.svm").stderr
    assert "its numbers of columns, in order, were taken for the columns learned, height, width; a CSV file" in told
    assert "were taken for the columns" in json.loads(cutbench("predict", "run", "a.svm", "--json").stdout)["remark"]
    write("b.csv", "width,height\n5,1\n")
    assert cutbench("predict", "run", "b.csv").stdout == "low\n"


def test_sequences_for_rows_and_rows_for_sequences_are_told_with_the_kind_of_file(cutbench):
    write("a.csv", "height,width,label\n1,5,low\n2,1,low\n5,2,high\n6,4,high\n")
    write("a.conll", "the D\ncat N\nsees V\n\na D\n\ncat N\nsees N\n")
    cutbench("solve", "a.csv", "soft-margin", "--out", "rows")
    cutbench("solve", "a.conll", "crf", "--set", "lam=1", "--out", "two")
    told = cutbench("predict", "rows", "a.conll", code=2).stderr
    assert "a.conll holds sequences, and the weights were learned on single rows; give a row a sample (.csv)." in told
    told = cutbench("predict", "two", "a.csv", code=2).stderr
    assert "a.csv is no file of sequences, which two/certificate.json is about; give CoNLL text (.conll)" in told
    write("p.csv", PAIRS)
    cutbench("solve", "pairs", "soft-margin", "--set", "path=p.csv", "--out", "pairs")
    assert "give pairs (.csv, .tsv, .vw), or a problem." in cutbench("predict", "pairs", "a.conll", code=2).stderr
