"""What commands write over: nothing that they read, nothing that exists without --overwrite, nothing of a user's."""

from __future__ import annotations

import json
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.registries import present


@pytest.fixture
def cutbench(tmp_path, monkeypatch):
    """Runs the command inside an empty folder; returns click's result."""
    monkeypatch.chdir(tmp_path)

    def run(words, code=0):
        result = CliRunner().invoke(cli, words.split())
        assert result.exit_code == code, result.output + result.stderr
        return result

    return run


JUDGE = "crosscheck toy soft-margin --learners bcfw --passes 300 --tolerance 0.01"
WRITERS = {
    "predict run toy --out new": "choose another file with --out, or replace it by --overwrite",
    "report run --out new.html": "choose another file with --out, or replace that file by --overwrite",
    f"{JUDGE} --report new.html": "choose another file with --report, or replace that file by --overwrite",
}


@pytest.mark.parametrize("words", WRITERS)
def test_a_file_that_exists_is_replaced_only_on_purpose(words, cutbench):
    cutbench("solve toy soft-margin --out run")
    cutbench(words)
    file = Path(words.split()[-1])
    file.write_text("mine")
    foreign = " and was not written by cutbench" * (file.suffix == ".html")
    assert f"{file} exists{foreign}; {WRITERS[words]}." in cutbench(words, code=2).stderr
    assert file.read_text() == "mine"
    cutbench(f"{words} --overwrite")
    assert file.read_text() != "mine"


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("predict run new.csv --out new.csv", "new.csv"),
        ("predict run new.csv --out run/certificate.json", "run/certificate.json"),
        ("predict run/certificate new.csv --out run/certificate.npz", "run/certificate.npz"),
        ("report run --out run/solve.json", "run/solve.json"),
        ("report run/solve.json --out run/certificate.npz", "run/certificate.npz"),
        ("crosscheck new.csv soft-margin --learners ./own.py --report new.csv", "new.csv"),
        ("crosscheck new.csv soft-margin --learners bcfw,./own.py --report own.py", "own.py"),
        ("solve here/learned.npz soft-margin --out here", "here/learned.npz"),
        ("prove here/prove.json --out here", "here/prove.json"),
    ],
)
def test_what_a_command_reads_is_never_replaced(words, file, cutbench):
    Path("new.csv").write_text("a,b,label\n0,1,low\n1,1,low\n4,1,high\n5,1,high\n")
    Path("own.py").write_text("def fit(problem, formulation, budget, rng):\n    return [0.0] * 4\n")
    Path("here").mkdir()
    Path("here/prove.json").write_text("{}")
    np.savez("here/learned.npz", X=np.eye(4), y=np.array([0, 0, 1, 1]))
    cutbench("solve new.csv soft-margin --out run")
    before = Path(file).read_bytes()
    assert f"{file} is read by this very command" in cutbench(f"{words} --overwrite", code=2).stderr
    assert Path(file).read_bytes() == before


def test_default_places_are_replaced_with_a_word_if_they_hold_ours(cutbench):
    assert "replaces" not in cutbench("solve toy soft-margin --out run").stderr
    assert "replaces" not in cutbench("report run").stderr
    assert "cutbench: this page replaces the one in run/report.html; --out keeps both." in cutbench("report run").stderr
    Path("run/report.html").write_text("my notes")
    assert "run/report.html exists and was not written by cutbench" in cutbench("report run", code=2).stderr
    assert Path("run/report.html").read_text() == "my notes"
    assert "replaces" not in cutbench("report run --overwrite").stderr
    cutbench("solve toy soft-margin")
    Path("runs/toy-soft-margin/solve.json").write_text("{}")
    told = cutbench("solve toy soft-margin", code=2).stderr
    assert "runs/toy-soft-margin/solve.json exists and was not written by cutbench" in told


def test_pages_of_several_certificates_of_a_folder_do_not_replace_one_another(cutbench):
    x = cp.Variable(name="x")
    for name in ("one", "two"):
        wb.prove(cp.Problem(cp.Minimize(x), [x >= len(name)])).save(name)
        assert cutbench(f"report {name}.json").stdout == f"{name}.html\n"
    assert Path("one.html").read_text() != Path("two.html").read_text()


def test_the_page_says_what_the_repeated_command_finds_in_its_way(cutbench):
    cutbench("solve toy soft-margin --out run")
    cutbench("solve toy soft-margin")
    cutbench("report run --out page.html")
    assert "add --overwrite, or name another --out." in Path("page.html").read_text()
    cutbench("report runs/toy-soft-margin --out other.html")
    text = Path("other.html").read_text()
    assert "add --overwrite" not in text
    assert "--out keeps both" in text


@pytest.mark.parametrize("words", ["solve toy soft-margin", "prove small.lp"])
def test_a_foreign_certificate_is_refused_before_the_work(words, cutbench, monkeypatch):
    Path("small.lp").write_text("min\n x\nst\n c: x >= 1\nend\n")
    Path("F").mkdir()
    Path("F/certificate.json").write_text("{}")
    early = lambda *_, **__: pytest.fail("worked before looking at --out")  # noqa: E731
    monkeypatch.setattr("workbench.command.solutions.solved", early)
    monkeypatch.setattr("workbench.command.verbs.prove.found_in", early)
    told = cutbench(f"{words} --out F --overwrite", code=2).stderr
    assert "F/certificate.json exists and is no certificate of ours; choose another folder with --out, or move" in told
    assert Path("F/certificate.json").read_text() == "{}"


def test_figures_and_the_demo_follow_the_rule(cutbench):
    if not present("figure"):
        pytest.skip("this installation has no figures")
    cutbench("solve toy soft-margin --out run")
    cutbench("figures judged --run run --out drawn")
    told = cutbench("figures judged --run run --out drawn", code=2).stderr
    assert "drawn/judged.png exists; choose another folder with --out" in told
    cutbench("figures judged --run run --out drawn --overwrite")
    cutbench("figures judged --run run")
    again = cutbench("figures judged --run run")
    assert "cutbench: these figures replace those in runs/figures; --out keeps both." in again.stderr
    Path("runs/figures/judged.svg").unlink()
    told = cutbench("figures judged --run run", code=2).stderr
    assert "runs/figures/judged.png exists and was not written by cutbench" in told
    Path("mine/certificates").mkdir(parents=True)
    Path("mine/certificates/digits.json").write_text("{}")
    assert "mine/certificates/digits.json exists" in cutbench("demo --out mine", code=2).stderr


def test_the_message_names_the_option_of_the_file(cutbench):
    Path("file").write_text("in the way")
    told = cutbench(f"{JUDGE} --report file/x.html", code=2).stderr
    assert "Cannot write to file (" in told
    assert "choose another file with --report." in told


def test_an_exit_in_a_program_file_is_told_with_its_line(cutbench):
    Path("stops.py").write_text("import sys\n\n\ndef program():\n    sys.exit(3)\n")
    assert "stops.py line 5 called exit(3) in place of an answer" in cutbench("prove stops.py", code=2).stderr


def test_advice_points_to_what_is_there(cutbench):
    told = cutbench("solve toy soft-margin --between 1", code=2).stderr
    assert "No such option --between; `cutbench path` has it" in told
    Path("sub.py").write_text("")
    told = cutbench("crosscheck toy soft-margin --learners sub", code=2).stderr
    assert "There is no learner called 'sub'; for your file write ./sub.py." in told


def test_a_finished_run_with_a_report_can_be_resumed(cutbench):
    cutbench(f"{JUDGE} --out kept --report page.html")
    cutbench("resume kept")
    Path("page.html").write_text("mine")
    assert "page.html exists and is no page of ours" in cutbench("resume kept", code=2).stderr
    assert json.loads(Path("kept/crosscheck.json").read_text())["learners"]


@pytest.mark.parametrize("place", ["zz", "./other/../zz"])
@pytest.mark.parametrize("file", ["crosscheck.json", "reference.json", "reference.npz", "journal/page.html"])
def test_a_page_takes_the_place_of_no_file_that_the_run_itself_writes(place, file, cutbench):
    Path("other").mkdir()
    told = cutbench(f"{JUDGE} --out zz --report {place}/{file}", code=2).stderr
    assert f"zz/{file} is written by this very command as its record; name another file with --report." in told
    assert not Path("zz").exists()


@pytest.mark.parametrize("name", ["page.pdf", "page"])
def test_a_page_is_html_by_its_name_too(name, cutbench):
    cutbench("solve toy soft-margin --out run")
    for words in (f"report run --out {name}", f"{JUDGE} --report {name}"):
        told = cutbench(words, code=2).stderr
        option = words.split()[-2]
        assert f"{name} does not end in .html, and the page is HTML; write {option} page.html." in told
        assert not Path(name).exists()
    cutbench("report run --out PAGE.HTM")


def test_advice_to_overwrite_is_given_only_where_it_is_followed(cutbench):
    folder = Path("runs/toy-soft-margin")
    folder.mkdir(parents=True)
    (folder / "certificate.json").write_text("{}")
    told = cutbench("solve toy soft-margin", code=2).stderr
    assert f"{folder}/certificate.json exists and is no certificate of ours; choose another folder with --out" in told
    assert "--overwrite" not in told
    (folder / "certificate.json").unlink()
    cutbench("solve toy soft-margin")
    np.savez(folder / "learned.npz", X=np.eye(2))
    Path("mine").mkdir()
    np.savez("mine/learned.npz", X=np.eye(2))
    for words, place in (("", folder), (" --out mine", "mine")):
        told = cutbench(f"solve toy soft-margin{words}", code=2).stderr
        assert f"{place}/learned.npz exists and was not written by cutbench" in told
        assert "or replace that file by --overwrite" in told
    cutbench("solve toy soft-margin --overwrite")
    cutbench("solve toy soft-margin")


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_a_certificate_of_a_finished_run_that_was_cut_short_is_written_again(suffix, cutbench):
    cutbench("solve toy soft-margin --out run")
    cutbench(f"{JUDGE} --out judged")
    for run, stem in (("run", "certificate"), ("judged", "reference")):
        file = Path(run, f"{stem}.{suffix}")
        file.write_bytes(file.read_bytes()[:20])
        told = cutbench(f"resume {run}", code=2).stderr
        assert f"{file}, which this run writes, is damaged; delete it and run `cutbench resume {run}` again." in told
        file.unlink()
        cutbench(f"resume {run}")
        assert "proven" in cutbench(f"verify {run}/{stem}").stdout
