"""Files that are something else than their reader takes them for: one sentence each; and where each sample stood."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.data.readers import data_problem, read
from workbench.proofs.certificate import load

RNG = np.random.default_rng(0)
CSV = "a,b,kind\n" + "".join(f"{i},{i % 3}.5,{'xy'[i % 2]}\n" for i in range(12))
TEXTS = {
    "a.csv": CSV,
    "a.svm": "1 1:2 2:3\n2 1:3 2:4\n",
    "a.conll": "one A\ntwo B\n\nthree A\n",
    "a.vw": "1 |a one\n-1 |a two\n",
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ── bytes that are no text ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", TEXTS)
def test_utf_16_is_refused_with_and_without_its_mark(here, name, kind):
    (here / name).write_bytes(TEXTS[name].encode(kind))
    with pytest.raises(wb.BadInput, match=rf"{name} is text in UTF-16, not text in UTF-8; save it again as UTF-8"):
        data_problem(name)()
    (here / name).write_text(TEXTS[name])
    assert data_problem(name)().n_samples >= 2


@pytest.mark.parametrize("kind", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("word", ["hello", "привет", "γειά", "zażółć"])
def test_utf_16_of_other_alphabets_is_refused(here, word, kind):
    (here / "a.csv").write_bytes(CSV.replace("xy"[0], word).encode(kind))
    with pytest.raises(wb.BadInput, match="is text in UTF-16"):
        read("a.csv")


def test_sequences_of_letters_in_utf_16_are_refused(here):
    (here / "a.fasta").write_bytes(">one\nACGT\n".encode("utf-16-le"))
    with pytest.raises(wb.BadInput, match="is text in UTF-16"):
        wb.read_fasta("a.fasta")


@pytest.mark.parametrize("name", TEXTS)
def test_binary_files_are_refused(here, name):
    for content in (gzip.compress(CSV.encode() * 9), RNG.integers(0, 256, 5000).astype(np.uint8).tobytes()):
        (here / name).write_bytes(content)
        with pytest.raises(wb.BadInput, match=r"is a binary file, not text in UTF-8; unpack or export it as text\."):
            data_problem(name)()


@pytest.mark.parametrize("name", ["a.fasta", "b.FASTA"])
def test_binary_files_hold_no_sequences(here, name):
    (here / name).write_bytes(gzip.compress(b">one\n" + bytes(RNG.choice([65, 67, 71, 84], 2000).tolist())))
    with pytest.raises(wb.BadInput, match="is a binary file"):
        wb.read_fasta(name)


# ── texts without words ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ["", "!!! ... _"], ids=["empty", "signs alone"])
def test_texts_without_words_are_refused_as_such(here, text):
    """The message advised to lower min_count, which was 1."""
    for label in "ab":
        (here / "texts" / label).mkdir(parents=True)
        for k in range(4):
            (here / "texts" / label / str(k)).write_text(text)
    with pytest.raises(
        wb.BadInput, match=r"texts: The \d texts hold no words, which are runs of letters and digits; give"
    ):
        wb.load_problem("text")(path="texts")


# ── labels that are none ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"label": "kind", "drop": "kind"}, "column kind is both label and drop; leave it out of one of them"),
        ({"label": "kind", "drop": "a,KIND"}, "column kind is both label and drop"),
        ({"label": "kind", "drop": "a", "one_hot": "A"}, "column a is in drop and in one_hot"),
    ],
)
def test_a_column_is_not_dropped_and_used(here, settings, says):
    (here / "a.csv").write_text(CSV)
    with pytest.raises(wb.BadInput, match=says):
        data_problem("a.csv")(**settings)
    (here / "b.csv").write_text(CSV.split("\n", 1)[1])
    numbered = {name: value.lower().replace("kind", "3").replace("a", "1") for name, value in settings.items()}
    with pytest.raises(wb.BadInput, match=says.replace("kind", "3").replace("column a", "column 1")):
        data_problem("b.csv")(**numbered)


AMOUNTS = (
    r"Classification needs classes, and the labels have 1,300 different values in 1,300 samples; round or bin them"
)


def test_amounts_are_no_classes(here):
    X, y = RNG.normal(size=(1300, 2)), RNG.normal(size=1300)
    with pytest.raises(wb.BadInput, match=rf"^{AMOUNTS}\.$"):
        wb.Multiclass(X, y)
    np.savez("a.npz", X=X, y=y)
    (here / "a.csv").write_text("a,b,label\n" + "".join(f"{a},{b},{c}\n" for (a, b), c in zip(X, y, strict=True)))
    (here / "a.svm").write_text("".join(f"{c} 1:{a}\n" for (a, _), c in zip(X, y, strict=True)))
    for name, more in (
        ("a.npz", ", or choose"),
        ("a.csv", ", or choose other labels by --set label=NAME"),
        ("a.svm", ""),
    ):
        with pytest.raises(wb.BadInput, match=rf"^{name}: {AMOUNTS}{more}"):
            data_problem(name)()


def test_fractions_may_be_classes_where_they_are_few_or_named():
    X = RNG.normal(size=(300, 2))
    halves, noise = np.arange(300) % 20 / 2, RNG.normal(size=300)
    assert len(wb.Multiclass(X, halves).classes) == 20
    assert len(wb.Multiclass(X, np.arange(300) % 50 / 2).classes) == 50
    assert len(wb.Multiclass(X, noise, classes=noise).classes) == 300
    assert len(wb.Multiclass(X, np.arange(300.0)).classes) == 300  # whole numbers may be names
    assert len(wb.Multiclass(X, [f"{k}" for k in range(299)] + ["nan"]).classes) == 300
    problem = wb.Multiclass(X, noise, classes=noise)
    assert wb.Multiclass.from_arrays(problem.arrays()).n_samples == 300  # as of certificates that there are


def test_a_column_of_names_of_samples_holds_no_classes(here):
    """A solve with a class a sample ran for minutes."""
    rows = [f"{i % 7},{i % 3}.5,{i % 2},n{i}" for i in range(120)]
    (here / "named.csv").write_text("\n".join(["a,b,kind,id", *rows, ""]))
    (here / "bare.csv").write_text("\n".join([*rows, ""]))
    (here / "a.svm").write_text("".join(f"{i} 1:{i % 3}\n" for i in range(120)))
    np.savez("a.npz", X=np.ones((120, 2)), y=np.arange(120))
    told = "all 120 labels differ in {}, so there is no class to learn; {}"
    for name, where, fix in (
        ("named.csv", "column id, the last", "name the column of classes by --set label=kind."),
        ("bare.csv", "column 4, the last", "name the column of classes by its number, e.g. --set label=1."),
        ("a.svm", "the first word of each line", "write classes there."),
        ("a.npz", "the array y", "name the array of classes by --set label=NAME."),
    ):
        with pytest.raises(wb.BadInput) as error:
            data_problem(name)()
        assert str(error.value) == f"{name}: {told.format(where, fix)}"
    assert len(data_problem("named.csv")(label="kind", drop="id").classes) == 2


def test_no_cost_matrix_is_made_of_a_class_a_sample(here):
    """Of 10⁵ classes a matrix of losses takes 80 GB."""
    np.savez("a.npz", X=np.ones((10**5, 1)), y=np.arange(10**5))
    with pytest.raises(wb.BadInput, match="all 100,000 labels differ"):
        data_problem("a.npz")()


# ── svmlight's first index ────────────────────────────────────────────────────────────────────────


def test_an_index_0_is_told(here):
    (here / "zero.svm").write_text("1 0:2 2:1\n2 1:3\n1 2:1\n")
    (here / "one.svm").write_text("1 1:2 3:1\n2 2:3\n1 3:1\n")
    zero, one = (data_problem(f"{name}.svm")() for name in ("zero", "one"))
    np.testing.assert_array_equal(zero.X.toarray(), one.X.toarray())
    assert zero.reading.endswith("; indices count from 0, as 0 occurs.")
    assert "count" not in one.reading
    again = read("one.svm", n_inputs=4, columns=0)
    assert again.remark.startswith("no index is 0, and they count from 0 as in the data learned from")
    assert read("zero.svm", n_inputs=3, columns=0).remark == ""


# ── CoNLL text without empty lines ────────────────────────────────────────────────────────────────


def test_one_endless_sequence_is_refused(here):
    lines = [f"w{i % 50} {'AB'[i % 2]}" for i in range(2001)]
    (here / "a.conll").write_text("\n".join([*lines, ""]))
    told = r"a\.conll is one sequence of 2,001 positions, as no empty line parts it; write an empty line behind each"
    with pytest.raises(wb.BadInput, match=told):
        data_problem("a.conll")()
    (here / "a.conll").write_text("\n".join([*lines[:2000], ""]))
    assert data_problem("a.conll")().n_samples == 1
    (here / "a.conll").write_text("\n".join([*lines[:1], "", *lines[1:], ""]))
    assert data_problem("a.conll")().n_samples == 2


# ── where each sample stood ───────────────────────────────────────────────────────────────────────


def test_problems_tell_where_each_sample_stood(here):
    (here / "a.csv").write_text("a,b,kind\n1,2,x\n\n3,4,y\n5,6,\n7,8,x\n")
    (here / "a.svm").write_text("# comment\n1 1:2\n\n2 1:3\n")
    (here / "a.conll").write_text("-DOCSTART- O\n\none A\ntwo B\n\n\nthree A\n")
    (here / "a.vw").write_text("1 |a one\n\n \n-1 |a two\n")
    found = data_problem("a.csv")(unlabelled="drop")
    assert [found.where(i) for i in range(3)] == ["line 2", "line 4", "line 6"]
    assert data_problem("a.svm")().found_at == [2, 4]
    assert data_problem("a.vw")().found_at == [1, 4]
    assert data_problem("a.conll")().found_at == [3, 7]
    assert wb.Multiclass([[1.0], [2.0]], [0, 1]).where(0) == ""


def test_texts_tell_their_files(here):
    for label in "ab":
        (here / "texts" / label).mkdir(parents=True)
        for k in range(5):
            (here / "texts" / label / f"{k}.txt").write_text(f"word{label} word{k}")
    make = wb.load_problem("text")
    train, test, every = (make(path="texts", split=split) for split in ("train", "test", "all"))
    assert every.found_at == [f"{label}/{k}.txt" for label in "ab" for k in range(5)]
    assert sorted(train.found_at + test.found_at) == every.found_at
    for problem in (train, test, every):
        for i in range(problem.n_samples):
            names = {problem.names[j] for j in problem.X[[i]].indices}
            label, k = problem.where(i).removesuffix(".txt").split("/")
            assert names == {f"word{label}", f"word{k}"}


def test_a_certificate_tells_where_each_sample_stood(here):
    (here / "a.csv").write_text(CSV)
    done = CliRunner().invoke(cli, ["solve", "a.csv", "soft-margin", "--out", "run"])
    assert done.exit_code == 0, done.output
    held, _ = load("run/certificate")
    assert [held.problem.where(i) for i in (0, 11)] == ["line 2", "line 13"]
    assert wb.verify("run/certificate")["proven"]


@pytest.mark.parametrize(
    "spoilt", [5, "abc", [], [1], {"0": 1}, [None] * 12, [True] * 12, [[1]] * 12, ["a\x1b[2Jb"] * 12], ids=str
)
def test_places_of_a_spoilt_certificate_do_no_harm(here, spoilt):
    (here / "a.csv").write_text(CSV)
    wb.solve(wb.SoftMargin(), data_problem("a.csv")()).certificate.save("run")
    header = json.loads((here / "run.json").read_text())
    header["problem"]["found_at"] = spoilt
    (here / "run.json").write_text(json.dumps(header))
    told = load("run")[0].problem.where(3)
    assert told.isprintable()
    assert "\x1b" not in told
    assert told == "" or isinstance(spoilt, list)


def test_many_places_are_left_out_of_a_certificate(here, monkeypatch):
    monkeypatch.setattr("workbench.proofs.certificate.MOST_PLACES", 11)
    (here / "a.csv").write_text(CSV)
    problem = data_problem("a.csv")()
    wb.solve(wb.SoftMargin(), problem).certificate.save("run")
    assert problem.where(0) == "line 2"
    assert load("run")[0].problem.where(0) == ""
