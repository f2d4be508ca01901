"""Labelled texts from a folder of folders, or from lines label<TAB>text: the same texts, the same problem."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.data.loading import load_problem

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
    [("a\tb\nno tab here\n", "Line 2 of"), ("", "holds no texts"), ("a\tx\na\ty\n", "one label only")],
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
    for name, said in (("b", "'but' where 'bad' was learned"), ("c", "'p' where 'x' was learned")):
        refused = run(cli, ["predict", "a", "text", "--set", f"path={name}.tsv"])
        assert refused.exit_code == 2
        assert said in refused.stderr
