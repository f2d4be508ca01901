"""Sequences from files: CoNLL text and npz, as problems and to predict; and what `list` says of a user's file."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

import workbench as wb
from workbench.command.cli import cli
from workbench.data.loading import load_problem
from workbench.data.tables import conll
from workbench.proofs.certificate import load

TRAIN = "-DOCSTART- -X- O\n\nEU NNP ORG\nrejects VBZ O\nGerman JJ MISC\n\n\nPeter\tNNP\tPER\nBlackburn NNP PER\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.conll").write_text(TRAIN)
    (tmp_path / "new.conll").write_text("EU NNP\nrejects VBZ\n\nGerman JJ\n\nBlackburn NNP\n")
    return tmp_path


def run(*words):
    return CliRunner().invoke(cli, list(words))


def test_what_is_read_is_told_and_labels_in_another_column_are_noticed(folder):
    said = run("solve", "train.conll", "soft-margin", "--set", "lam=1").stderr
    assert (
        "cutbench: train.conll: 2 sequences, 5 positions; labels from the last of 3 columns: MISC, O, ORG, PER." in said
    )
    assert "write it last" not in said
    swapped = "".join(f"{'ABC'[k % 3]} w{k} x{k % 7}\n" + "\n" * (k % 5 == 4) for k in range(30))
    for text, noticed in (
        ("".join(" ".join(reversed(line.split())) + "\n" for line in swapped.splitlines()), False),  # label last
        (
            "".join(
                " ".join((*line.split()[::2], line.split()[1])) + "\n" if line else "\n"
                for line in swapped.splitlines()
            ),
            True,
        ),
    ):
        (folder / "other.conll").write_text(text)
        said = load_problem("other.conll")().reading
        assert ("Column 1 has 3 different words: if it holds the labels, write it last." in said) is noticed, said
    assert "labels from the last of 3 columns: w0, w1, w10, w11, w12, w13, w14, w15, w16, w17, … (30 labels)." in said


def test_words_of_neighbours_are_features(folder):
    sequences, labels = conll.read(folder / "train.conll", window=1)
    assert labels == [["ORG", "O", "MISC"], ["PER", "PER"]]
    assert sequences[0][0] == dict.fromkeys(("0[0]:EU", "1[0]:NNP", "0[1]:rejects", "1[1]:VBZ"), 1.0)
    assert set(sequences[1][1]) == {"0[-1]:Peter", "1[-1]:NNP", "0[0]:Blackburn", "1[0]:NNP"}
    assert set(conll.read(folder / "train.conll", window=0)[0][1][1]) == {"0[0]:Blackburn", "1[0]:NNP"}
    assert conll.read(folder / "new.conll", 1, columns=2)[1] is None


def test_a_byte_order_mark_and_windows_line_ends_are_no_text(folder):
    (folder / "windows.conll").write_bytes(b"\xef\xbb\xbf" + TRAIN.replace("\n", "\r\n").encode())
    assert conll.read(folder / "windows.conll", 1) == conll.read(folder / "train.conll", 1)


@pytest.mark.parametrize("formulation", ["soft-margin", "crf"])
def test_text_is_learned_proven_and_predicted(folder, formulation):
    free = ["--set", "intercept=true"] if formulation == "soft-margin" else []
    done = run("solve", "train.conll", formulation, "--set", "lam=0.01", "--set", "loss=hamming", *free, "--out", "r")
    assert done.exit_code == 0, done.output
    assert run("verify", "r/certificate.json").exit_code == 0
    assert run("predict", "r", "new.conll").stdout == "ORG O\nMISC\nPER\n"
    said = json.loads(run("predict", "r", "train.conll", "--json").stdout)
    labels = [["ORG", "O", "MISC"], ["PER", "PER"]]
    assert said == {"n_samples": 2, "predictions": labels, "error": 0.0, "verified": True}
    assert "0.00 % of 5 differ" in run("predict", "r", "train.conll").stderr


@pytest.mark.parametrize("thin", [False, True])
def test_arrays_are_learned_and_predicted(folder, thin):
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(12, 3)), 1), rng.integers(0, 2, 12)
    rows = sparse.csr_array(X)
    held = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(X.shape)}
    held = held if thin else {"X": X}
    np.savez("words.npz", y=y, offsets=[0, 5, 6, 12], **held)
    np.savez("new.npz", offsets=[0, 12], **held)
    problem = load_problem("words.npz")(loss="hamming")
    assert problem.lengths.tolist() == [5, 1, 6]
    assert run("solve", "words.npz", "soft-margin", "--out", "r").exit_code == 0
    theirs = wb.solve(wb.SoftMargin(), wb.Chain([X[:5], X[5:6], X[6:]], [y[:5], y[5:6], y[6:]])).predict([X])
    assert run("predict", "r", "new.npz").stdout.split() == [str(each) for each in theirs[0]]


def test_chains_take_dicts_and_keep_their_names(tmp_path):
    dicts = [[{"word": "a", "size": 2.0}, {"word": "b"}], [{"word": "b", "odd": True}]]
    solution = wb.solve(wb.SoftMargin(lam=0.01), wb.Chain(dicts, [["x", "y"], ["y"]]))
    assert solution.problem.columns == ["odd", "size", "word:a", "word:b"]
    assert solution.problem.weight_names()[1] == "x: size"
    assert [row.tolist() for row in solution.predict([[{"word": "b"}], [{"word": "a", "new": "z"}]])] == [["y"], ["x"]]
    again, _ = load(solution.certificate.save(tmp_path / "c"))
    assert again.problem.columns == solution.problem.columns


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        ("a b\nc d e\n", (), "line 2 has 3 columns but line 1 has 2"),
        ("\n\n", (), "holds no position with a word and a label"),
        ("a\nb\n", (), "holds no position with a word and a label"),
        ("a O\nb O\n", (), "bad.conll: All labels are O"),
        ("a\x1b[2J O\n", (), "line 1, .* has unprintable characters"),
        ("a\u2028b O\nc P\n", (), "line 1, .* has unprintable characters"),
        ("a O\nb P\n", ("--set", "window=-1"), "window is -1; give"),
        ("a O\nb P\n", ("--set", "label=3"), "no setting called 'label'"),
    ],
)
def test_bad_text_is_one_sentence(folder, text, words, sentence):
    (folder / "bad.conll").write_text(text)
    done = run("solve", "bad.conll", "crf", *words)
    assert done.exit_code == 2
    assert re.search(sentence, done.stderr), done.stderr


@pytest.mark.parametrize("ends", [[0, 5], [1, 12], [0, 5, 5, 12], [0.0, 12.0], [0], [[0, 12]]])
def test_bad_offsets_are_one_sentence(folder, ends):
    np.savez("bad.npz", X=np.ones((12, 2)), y=np.arange(12) % 2, offsets=ends)
    done = run("solve", "bad.npz", "crf")
    assert done.exit_code == 2
    assert "offsets are not where each sequence starts, rising from 0 to 12" in done.stderr


def test_files_that_do_not_fit_the_weights_are_refused(folder):
    np.savez("words.npz", X=np.eye(4), y=[0, 1, 0, 1], offsets=[0, 2, 4])
    assert run("solve", "words.npz", "crf", "--out", "arrays").exit_code == 0
    assert run("solve", "train.conll", "crf", "--out", "text").exit_code == 0
    (folder / "wide.conll").write_text("a b c d\n")
    (folder / "latin.conll").write_bytes(b"caf\xe9 O\n")
    for result, data, sentence in (
        ("arrays", "new.conll", "the weights were not learned from such"),
        ("text", "wide.conll", "has 4 columns but the weights know 2 of words"),
        ("text", "words.npz", "features per position but the weights were learned on"),
        ("text", "latin.conll", "is not text in UTF-8"),
        ("text", "none.conll", "There is no file none.conll"),
    ):
        done = run("predict", result, data)
        assert (done.exit_code, sentence in done.stderr) == (2, True), done.stderr


def test_list_says_what_works_on_a_file_of_ones_own(folder):
    assert run("new", "problem", "mine").exit_code == 0
    said = json.loads(run("list", "./mine.py", "--set", "n=7", "--json").stdout)
    (entry,) = said["entries"]
    assert (entry["kind"], entry["n_samples"], entry["oracle"]) == ("problem", 7, "exact")
    assert [each["key"] for each in entry["settings"]] == ["n", "seed"]
    fits = {each["formulation"]: each["why"] for each in said["compatibility"]}
    assert fits["soft-margin"] is None
    assert "too many to list" in fits["crf"]
    text = run("list", "train.conll").stdout
    assert "Chain: 2 samples" in text
    assert "solve; adagrad, bcfw, dual-block, subgradient" in text
    for words, sentence in (
        (("nowhere.py",), "There is no file nowhere.py"),
        (("soft-margin", "--set", "a=1"), "--set is for a problem in a FILE"),
        (("./mine.py", "--set", "zz=1"), "There is no setting called 'zz'; known: n, seed"),
    ):
        done = run("list", *words)
        assert (done.exit_code, sentence in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("value", "said"), [(10**400, "beyond floats"), (b"x", "give a number"), (1j, "give a number")]
)
def test_features_that_are_no_numbers_and_no_texts_are_one_sentence(value, said):
    with pytest.raises(wb.BadInput, match=f"The feature w is .*{said}"):
        wb.Chain([[{"w": value}], [{"w": 1}]], [["D"], ["N"]])


def test_texts_and_numbers_of_numpy_are_features():
    chain = wb.Chain(
        [[{"w": np.str_("b"), "x": np.float32(0.5)}], [{"y": np.bool_(True), "z": np.int64(2)}]], [[0], [1]]
    )
    assert chain.columns == ["w:b", "x", "y", "z"]


def test_predict_refuses_settings_that_would_do_nothing(folder):
    for name, text, setting in [("a.conll", TRAIN, "window=0"), ("a.svm", "a 1:1\nb 1:2\n", "label=x")]:
        (folder / name).write_text(text)
        assert run("solve", name, "soft-margin", "--out", name + ".d").exit_code == 0
        done = run("predict", name + ".d", name, "--set", setting)
        assert done.exit_code == 2
        assert f"leave --set {setting} out" in done.stderr
