"""Labelled texts from a folder of folders, or from lines label<TAB>text: the same texts, the same problem."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.command.cli import cli
from workbench.data.loading import load_problem
from workbench.data.texts import words_of

TEXTS = {"cars": ["A fast car", "old car, red"], "space": ["the Moon is far", "two moons", "caf\xe9 on Mars"]}


def written(folder):
    for label, texts in TEXTS.items():
        (folder / label).mkdir(parents=True)
        for j, text in enumerate(texts):
            (folder / label / f"{j}").write_bytes(text.encode("latin-1"))
    return "\n".join(f"{label}\t{text}" for label, texts in TEXTS.items() for text in texts)


def test_a_folder_and_a_file_are_the_same_texts(tmp_path):
    lines = written(tmp_path / "news")
    (tmp_path / "news" / ".hidden").mkdir()
    (tmp_path / "a.tsv").write_text(lines + "\n\n", encoding="utf-8")
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    found = [wb.read_texts(tmp_path / name) for name in ("news", "a.tsv", "a.tsv.gz")]
    assert found[0] == found[1] == found[2]
    assert found[0].topics == ["cars"] * 2 + ["space"] * 3
    assert found[0].texts[-1] == "caf\xe9 on Mars"


def test_every_text_is_learned_from_or_tested_on(tmp_path):
    stories = wb.datasets.made_stories(60, labels=3)
    (tmp_path / "a.tsv").write_text("\n".join(map("\t".join, zip(*stories, strict=True))))
    make = load_problem("text")
    train, test = make(path=str(tmp_path / "a.tsv")), make(path=str(tmp_path / "a.tsv"), split="test")
    assert (train.n_samples, test.n_samples) == (48, 12)
    assert (train.classes == test.classes).all()
    assert train.n_inputs == test.n_inputs
    np.testing.assert_allclose(np.sqrt((train.X.multiply(train.X)).sum(axis=1)), 1)
    both = np.concatenate([train.classes[train.labels], test.classes[test.labels]])
    assert sorted(both) == sorted(stories.topics)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a\tb\nc\t\n", r"Line 2 of .*a\.tsv has the label 'c' and no text; write the text behind the tab, or remove"),
        ("a\tb\nno tab here\n", r"Line 2 of .* is not of the form label<TAB>text"),
        ("a\tb\n\tno label\n", r"Line 2 of .* is not of the form label<TAB>text"),
        ("", "holds no texts"),
        ("a\tx\na\ty\n", "one label only"),
    ],
)
def test_faulty_files_are_one_sentence(content, said, tmp_path):
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(wb.BadInput, match=said):
        wb.read_texts(tmp_path / "a.tsv")


def test_faulty_folders_are_one_sentence(tmp_path):
    with pytest.raises(wb.BadInput, match="holds no folders"):
        wb.read_texts(tmp_path)
    (tmp_path / "a").mkdir()
    with pytest.raises(wb.BadInput, match="holds no texts; fill it"):
        wb.read_texts(tmp_path)
    with pytest.raises(wb.BadInput, match="There is no folder"):
        wb.read_texts(tmp_path / "b")


def test_too_few_texts_and_no_path_are_one_sentence(tmp_path):
    (tmp_path / "a.tsv").write_text("x\tgood day\ny\tbad day\n")
    with pytest.raises(wb.BadInput, match=r"a\.tsv has 2 texts; give at least 5"):
        load_problem("text")(path=str(tmp_path / "a.tsv"))
    with pytest.raises(wb.BadInput, match="path is empty"):
        load_problem("text")(path="")


def test_a_split_says_where_the_other_texts_are(tmp_path):
    stories = wb.datasets.made_stories(60, labels=3)
    path = tmp_path / "a.tsv"
    path.write_text("\n".join(map("\t".join, zip(*stories, strict=True))))
    make = load_problem("text")
    for settings, size, told in (
        ({}, 48, "48 of 60 texts; the other 12 are held back, --set split=test holds them, split=all has all."),
        ({"split": "test"}, 12, "12 of 60 texts, held back from the 48 learned from."),
        ({"split": "all"}, 60, "60 of 60 texts, none held back."),
        ({"n": 50}, 40, "10 of the others are held back, --set split=test holds them, split=all has all; 10 are not"),
        ({"n": 9}, 8, "1 of the others is held back"),
        ({"n": 50, "split": "all"}, 50, "50 of 60 texts, none held back; 10 are not drawn, as n=50."),
    ):
        problem = make(path=str(path), **settings)
        assert problem.n_samples == size
        assert problem.reading.startswith(f"{path}: ")
        assert told in problem.reading
    every = make(path=str(path), split="all")
    assert every.classes[every.labels].tolist() == stories.topics
    assert every.columns == sorted({word for text in stories.texts for word in text.split()})
    path.write_text("x\tgood day\ny\tbad day\n")
    assert make(path=str(path), split="all").n_samples == 2
    told = CliRunner().invoke(cli, ["solve", "text", "soft-margin", "--set", f"path={path}", "--set", "split=all"])
    assert "2 of 2 texts, none held back." in told.stderr


def test_list_says_what_split_and_draw_mean():
    told = " ".join(CliRunner().invoke(cli, ["list", "text"]).stdout.split())
    assert "split=train, unless you say otherwise, learns from the four fifths" in told
    assert "split=all learns from all" in told
    assert "draw is the seed of that chance" in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Häßlich, ÉTÉ; Страх", ["hässlich", "été", "страх"]),
        ("u\u0308ber U\u0308BER Über", ["über"] * 3),  # the dots as a sign of their own
        ("İzmir \u0939\u093f\u0928\u094d\u0926\u0940", ["i\u0307zmir", "\u0939\u093f\u0928\u094d\u0926\u0940"]),
        ("snake_case naïve_Été 3ème", ["snake", "case", "naïve", "été", "3ème"]),
        ("love \u2764\ufe0f \U0001f600 – «oui»", ["love", "oui"]),
        ("", []),
    ],
)
def test_words_are_runs_of_letters_of_every_script(text, words):
    assert words_of(text) == words


@given(st.text(st.characters(max_codepoint=127)))
def test_words_of_ascii_texts_are_runs_of_a_to_z_and_digits(text):
    """Beside text of another script, too; the weights kept in certificates know these words."""
    words = re.findall("[a-z0-9]+", text.lower())
    assert words_of(text) == words
    assert words_of(f"{text} é") == [*words, "é"]
    assert words_of(f"{text} э\u0301") == [*words, "э\u0301"]


def test_words_with_umlauts_are_learned_and_predicted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text("x\tschön grün\ny\thässlich Öde\n" * 3, encoding="utf-8")
    run = CliRunner().invoke
    assert run(cli, ["solve", "text", "soft-margin", "--set", "path=a.tsv", "--out", "m"]).exit_code == 0
    kept = json.loads(Path("m/certificate.json").read_text(encoding="utf-8"))["problem"]["columns"]
    assert kept == ["grün", "hässlich", "schön", "öde"]
    assert run(cli, ["verify", "m"]).exit_code == 0
    Path("new.txt").write_text("HÄSSLICH\nSCHÖN\no\u0308de\n", encoding="utf-8")
    assert run(cli, ["predict", "m", "new.txt"]).stdout.split() == ["y", "x", "y"]


def test_empty_files_are_counted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(Path("news"))
    before = wb.read_texts("news").remark
    Path("news/cars/0").write_text(" \n")
    Path("news/space/0").write_text("")
    found = wb.read_texts("news")
    assert found.remark == f"2 texts without a word, first news/cars/0; {before}"
    assert "2 texts without a word" in load_problem("text")(path="news").reading


def test_texts_in_another_encoding_are_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(Path("news"))
    told = "1 text not in UTF-8 read as Latin-1, first news/space/2"
    assert wb.read_texts("news").remark == told
    assert told in load_problem("text")(path="news").reading
    Path("a.tsv").write_bytes("x\tschön\ny\töde\n".encode("latin-1") * 3)
    assert load_problem("text")(path="a.tsv").reading.endswith("; the file is not in UTF-8 and read as Latin-1.")
    Path("a.txt").write_bytes("schön\n".encode("latin-1"))
    run = CliRunner().invoke
    assert run(cli, ["solve", "text", "soft-margin", "--set", "path=a.tsv", "--out", "m"]).exit_code == 0
    assert "a.txt: the file is not in UTF-8 and read as Latin-1" in run(cli, ["predict", "m", "a.txt"]).stderr
    for code in ("utf-16-le", "utf-16-be"):
        Path("b.tsv").write_bytes("\ufeffx\tschön\ny\töde\n".encode(code))
        with pytest.raises(wb.BadInput, match=r"b\.tsv is text in UTF-16, not text in UTF-8; save it again as UTF-8"):
            wb.read_texts("b.tsv")


def test_a_folder_in_the_place_of_a_problem_is_told_to_be_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mytexts", "my texts", "toy"):
        written(Path(name))
    for word, shown in (("mytexts", "mytexts"), ("./mytexts/", "mytexts"), ("my texts", "'my texts'")):
        refused = CliRunner().invoke(cli, ["solve", word, "soft-margin"])
        assert refused.exit_code == 2
        assert "is a folder and no problem" in refused.stderr
        assert f"`cutbench solve text FORMULATION --set path={shown}`" in refused.stderr
    assert load_problem("toy")().n_samples  # a registered name comes first
    with pytest.raises(wb.errors.UnknownName):
        load_problem("")
    with pytest.raises(wb.errors.UnknownName):
        load_problem("t" * 5000)


def test_weights_of_other_words_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_text("x\tgood day\ny\tbad day\n" * 5)
    (tmp_path / "b.tsv").write_text("y\tgood day\nx\tbut day\n" * 5)
    run = CliRunner().invoke
    assert run(cli, ["solve", "text", "soft-margin", "--set", "path=a.tsv", "--out", "a"]).exit_code == 0
    assert '"good"' in (tmp_path / "a" / "certificate.json").read_text()
    assert run(cli, ["verify", "a"]).exit_code == 0
    assert run(cli, ["predict", "a", "text", "--set", "path=a.tsv"]).exit_code == 0
    (tmp_path / "c.tsv").write_text("p\tgood day\nq\tbad day\n" * 5)
    other = "path=b.tsv takes other words than path=a.tsv, with which the weights were learned; "
    other += "`cutbench predict a b.tsv` reads all texts there in the words learned"
    for name, said in (("b", other), ("c", "'p' where 'x' was learned")):
        refused = run(cli, ["predict", "a", "text", "--set", f"path={name}.tsv"])
        assert refused.exit_code == 2
        assert said in refused.stderr
