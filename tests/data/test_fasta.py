"""FASTA: what is read, what is refused, and from two files to a verified motif of a protein."""

from __future__ import annotations

import gzip
import json
import re

import numpy as np
import pytest
from both_checkers import both
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli

POSITIVE = "; a remark\n>a first one\nMKVLAADER\n\n>b\nMKVL\n WWade\n"
NEGATIVE = ">c\nGGGGGGG\n>d\nSSSSTSS\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.fasta").write_text(POSITIVE)
    (tmp_path / "n.fasta.gz").write_bytes(gzip.compress(NEGATIVE.encode()))
    return tmp_path


def test_names_and_letters_are_read(files):
    assert wb.read_fasta("p.fasta") == (["a", "b"], ["MKVLAADER", "MKVLWWade"])
    assert wb.read_fasta("n.fasta.gz").names == ["c", "d"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no sequences; start each with a line >NAME."),
        ("ACGT\n>a\nA", "Line 1 of bad.fasta has letters before a line that starts with >; add a title."),
        (">a\n>b\nA", "The sequence a of bad.fasta has no letters; fill it or leave it out."),
    ],
)
def test_what_is_no_fasta_is_one_sentence(files, text, told):
    (files / "bad.fasta").write_text(text)
    with pytest.raises(wb.BadInput, match=re.escape(told)):
        wb.read_fasta("bad.fasta")
    (files / "bad.fasta").write_bytes(b">a\n\xff\xfe")
    with pytest.raises(wb.BadInput, match="is not text in UTF-8"):
        wb.read_fasta("bad.fasta")
    (files / "bad.fasta.gz").write_bytes(b">a\nAC")
    with pytest.raises(wb.BadInput, match=r"bad.fasta.gz cannot be read"):
        wb.read_fasta("bad.fasta.gz")
    with pytest.raises(wb.BadInput, match=r"There is no file none.fasta; check its path\."):
        wb.read_fasta("none.fasta")


@pytest.mark.parametrize(
    ("text", "alphabet", "told"),
    [
        ("MKVB", "protein", "Letter 3 of sequence 0 is 'B', which stands for D or N; write a letter of protein"),
        ("MKUV", "protein", "Letter 2 of sequence 0 is 'U', which stands for selenocysteine;"),
        ("MK*V", "protein", "Letter 2 of sequence 0 is '*', which stands for a stop;"),
        ("MK1V", "protein", "Letter 2 of sequence 0 is '1'; it must be one of A, C, D, E, F,"),
        ("ACNT", "dna", "Letter 2 of sequence 0 is 'N', which stands for any base; write a letter of dna"),
        ("ACLT", "dna", "Letter 2 of sequence 0 is 'L'; it must be one of A, C, G, T, or alphabet=protein."),
    ],
)
def test_an_ambiguity_code_is_told_what_it_stands_for(text, alphabet, told):
    with pytest.raises(wb.BadInput, match=re.escape(told)):
        wb.Motif([text], [1], 2, alphabet=alphabet)


def test_an_unknown_alphabet_is_one_sentence():
    with pytest.raises(wb.BadInput, match=r"The alphabet is 'rna'; choose dna or protein\."):
        wb.Motif(["ACGU"], [1], 2, alphabet="rna")


def test_a_motif_of_proteins_is_a_motif_of_letters():
    """The same letters as DNA and as protein: another number of weights, the same optimum."""
    texts, labels, positions = ["ACGTACG", "TTTTT", "GGACGG", "CCCTC"], [1, 0, 1, 0], [0, -1, 2, -1]
    dna, protein = (wb.Motif(texts, labels, 3, positions, alphabet=each) for each in ("dna", "protein"))
    assert (dna.n_features, protein.n_features) == (16, 80)
    small, large = (wb.solve(wb.SoftMargin(0.1), each, gap=1e-9) for each in (dna, protein))
    assert small.upper == pytest.approx(large.upper, rel=1e-8)
    used = ["ACDEFGHIKLMNPQRSTVWY".index(x) for x in "ACGT"]
    w = large.theta["w"].reshape(4, 20)
    assert not np.delete(w, used, axis=1).any()
    again = wb.Motif.from_arrays(protein.arrays())
    assert (again.alphabet, again.text(2)) == ("protein", "GGACGG")
    assert "alphabet" not in dna.arrays()


def test_both_checkers_prove_proteins(tmp_path):
    problem = wb.load_problem("proteins")(n=6, length=3, span=8)
    wb.solve(wb.LatentSSVM(starts=1), problem, gap=1e-6).certificate.save(tmp_path / "convex")
    wb.solve(wb.SelfPaced(), problem.take(np.array([0, 3, 4])), gap=0.5).certificate.save(tmp_path / "tree")
    for stem in ("convex", "tree"):
        said = both(str(tmp_path / stem))
        assert (said["first"], said["second"]) == ("proven", "proven"), said


def test_two_files_are_solved_verified_and_predicted(files):
    run = lambda *words: CliRunner().invoke(cli, words)  # noqa: E731
    given = ("--set", "positive=p.fasta", "--set", "negative=n.fasta.gz", "--set", "length=3")
    solved = run("solve", "fasta", "latent-ssvm", *given, "--set", "alphabet=protein", "--out", "a", "--json")
    assert solved.exit_code == 0, solved.output
    assert json.loads(run("verify", "a", "--json").stdout)["proven"]
    told = json.loads(run("predict", "a", "fasta", *given, "--set", "alphabet=protein", "--json").stdout)
    assert [each.split(" at ")[0] for each in told["predictions"]] == ["label −1"] * 2 + ["label +1"] * 2
    refused = run("solve", "fasta", "latent-ssvm", *given)
    assert refused.exit_code == 2
    assert "n.fasta.gz: Letter 0 of d is 'S', which stands for C or G" in refused.output
    assert run("solve", "fasta", "latent-ssvm").exit_code == 2
