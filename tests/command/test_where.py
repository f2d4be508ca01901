"""Samples are named by their lines or files, where the source tells these."""

from __future__ import annotations

import json

from click.testing import CliRunner

from workbench.command.cli import cli


def run(*words):
    done = CliRunner().invoke(cli, list(map(str, words)))
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_holders_of_an_optimum_are_named_by_their_lines(tmp_path):
    """In the text, in --json and on the page."""
    (tmp_path / "d.csv").write_text("p,q,kind\n1,2,a\n\n2,3,b\n1,1,a\n3,0,b\n")
    run("solve", tmp_path / "d.csv", "soft-margin", "--out", tmp_path / "r")
    shown, told = run("explain", tmp_path / "r"), json.loads(run("explain", tmp_path / "r", "--json"))["samples"]
    lines = ("line 2", "line 4", "line 5", "line 6")
    assert told
    assert all(each["where"] == lines[each["sample"]] for each in told)
    assert all(f"sample {each['sample']} ({each['where']}): label" in shown for each in told)
    run("report", tmp_path / "r")
    assert f"Sample {told[0]['sample']} ({told[0]['where']})" in (tmp_path / "r" / "report.html").read_text()


def test_texts_are_named_by_file_or_line(tmp_path):
    texts = [("a", "good day"), ("b", "bad night"), ("a", "good sun"), ("b", "bad moon"), ("a", "day sun")]
    (tmp_path / "t.tsv").write_text("\n\n".join(map("\t".join, texts)) + "\n")
    for number, (label, text) in enumerate(texts):
        (tmp_path / "f" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "f" / label / f"{number}.txt").write_text(text)
    for name, places in (("t.tsv", ["line 1", "line 3", "line 5", "line 7", "line 9"]),
                         ("f", ["a/0.txt", "a/2.txt", "a/4.txt", "b/1.txt", "b/3.txt"])):  # fmt: skip
        run(
            "solve",
            "text",
            "soft-margin",
            "--set",
            f"path={tmp_path / name}",
            "--set",
            "split=all",
            "--out",
            tmp_path / f"r{name}",
        )
        told = json.loads(run("explain", tmp_path / f"r{name}", "--json"))["samples"]
        assert told
        assert all(each["where"] == places[each["sample"]] for each in told)
