"""What got in the way of a new user with files of their own: each stumble once, through the command."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from workbench.command import terminal
from workbench.command.cli import cli
from workbench.data.readers import read

PATIENTS = "id;ward;temp;outcome;pulse\nP1;north;36,42;0;{}\nP2;south;37,5;1;79,3\nP3;north;38,65;2;74,4\n"
REVIEWS = ["-1 | dull film", "1 | fine film", "-1 | weak plot", "1 | fine plot", "-1 | dull plot", "1 | good film"]
ROADS = """
import workbench as wb
problem = wb.Structured([0, 1, 2], [1, 2, 0], lambda x, y: {f"{x}{y}": 1.0}, lambda t, y: t != y,
                        candidates=lambda x: [0, 1, 2])
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def done(*words: str, code: int = 0):
    answer = CliRunner().invoke(cli, list(words))
    assert answer.exit_code == code, answer.output
    return answer


def test_decimal_commas_are_numbers(here):
    (here / "p.csv").write_text("temp;outcome;pulse\n36,42;0;-1,5\n37,5;1;79\n,5;2;1,25e1\n")
    table = read(here / "p.csv", label="outcome")
    assert table.X.tolist() == [[36.42, -1.5], [37.5, 79.0], [0.5, 12.5]]
    assert table.y.tolist() == [0, 1, 2]
    assert table.remark == "decimal commas read as points"


@pytest.mark.parametrize("pulse", ["1.5", "1.234,5"])
def test_a_comma_that_may_part_thousands_is_no_decimal_comma(here, pulse):
    (here / "p.csv").write_text(
        PATIENTS.format(pulse).replace("id;ward;", "a;b;").replace("P", "").replace("north", "1")
    )
    refusal = done("solve", "p.csv", "soft-margin", "--set", "label=outcome", code=2).stderr
    assert "p.csv line" in refusal


def test_all_columns_of_words_are_told_at_once_and_names_are_to_be_dropped(here):
    (here / "p.csv").write_text(PATIENTS.format("70,1"))
    refusal = done("solve", "p.csv", "soft-margin", "--set", "label=outcome", code=2).stderr
    assert "--set drop=id (its words all differ)" in refusal
    assert "--set one_hot=ward (a column" in refusal
    (here / "p.csv").write_text(PATIENTS.format("70,1").replace("P2;south", "P2;"))  # an empty cell among words
    assert "--set label=ward" in done("solve", "p.csv", "soft-margin", code=2).stderr


def test_labels_are_never_offered_as_inputs(here):
    """A 0/1 column for each label would tell the answer to whoever learns."""
    (here / "n.csv").write_text("name,ward,a,label\nAnn,x,1,yes\nBob,y,2,no\nCid,x,3,yes\n")
    refusal = done("solve", "n.csv", "soft-margin", code=2).stderr
    assert "--set one_hot=ward (a column" in refusal
    assert "--set drop=name" in refusal


ROWS = "kind,plot,a,b\nja,1,1,2\nnein,2,2,1\nja,3,3,3\nnein,4,1,4\n"


@pytest.mark.parametrize(
    ("text", "settings", "code", "told"),
    [
        (ROWS, (), 0, "% of 4 differ from the labels in new.csv"),
        (ROWS, ("--set", "label=kind"), 0, "% of 4 differ from the labels in new.csv"),
        (ROWS, ("--set", "label=plot"), 0, "the weights do not know 1, 2, 3, 4"),
        (ROWS, ("--set", "label=a"), 2, "column a is an input of the weights"),
        ("plot,a,b\n1,1,2\n2,2,1\n", (), 0, ""),
        ("spot,a,b\n1,1,2\n2,2,1\n", (), 0, "column spot holds no labels that the weights know; name the labels by"),
        ("a,b\n1,2\n2,1\n", (), 0, ""),
    ],
)
def test_labels_are_found_again_beside_columns_that_were_left_out(here, text, settings, code, told):
    (here / "rows.csv").write_text(ROWS)
    (here / "new.csv").write_text(text)
    done("solve", "rows.csv", "soft-margin", "--set", "drop=plot", "--out", "r")
    answer = done("predict", "r", "new.csv", *settings, code=code)
    assert (told in answer.stderr) if told else answer.stderr == ""


def test_tabs_may_have_an_ending_of_their_own(here):
    (here / "t.tsv").write_text(ROWS.replace(",", "\t"))
    assert "labels from column kind: ja, nein" in done("solve", "t.tsv", "soft-margin", "--set", "label=kind").stderr
    (here / "p.mps").write_text("NAME\n")
    assert "`cutbench prove p.mps`" in done("solve", "p.mps", "soft-margin", code=2).stderr
    (here / "s.svm.gz").write_bytes(b"")  # samples, though the ending is one of programs, too
    assert "in no known format" in done("solve", "s.svm.gz", "soft-margin", code=2).stderr


def test_svmlight_tells_what_it_does_not_use(here):
    (here / "r.svm").write_text("1.5 qid:1 1:0.5\n2.5 qid:1 1:0.1\n1.5 qid:2 2:0.3\n")
    told = done("solve", "r.svm", "soft-margin").stderr
    assert "qid is not used; the labels are fractions, and each is a class" in told
    (here / "s.svm").write_text("1 1:0.5\n2 1:0.1\n")
    told = done("solve", "s.svm", "soft-margin").stderr
    assert "qid" not in told
    assert "fractions" not in told


def test_a_setting_given_as_an_option_is_told_its_way(here):
    told = done("solve", "iris", "soft-margin", "--lam", "1", code=2).stderr
    assert "if it is a setting, write --set lam=VALUE" in told
    assert "Did you mean" in done("verify", "x", "--exect", "1", code=2).stderr


@pytest.mark.parametrize(
    ("content", "name"),
    [("a\tDT\nman\tNN\n\nhe\tPP\n", "f.conll"), ("1 |w a b\n-1 |w c\n", "f.vw"), ("1 x\n", "3:0.25")],
)
def test_a_text_in_another_format_is_told_its_ending(here, content, name):
    (here / "f.txt").write_text(content)
    assert name in done("solve", "f.txt", "soft-margin", code=2).stderr


def test_weights_of_named_features_keep_the_names_and_predict_by_them(here):
    (here / "r.vw").write_text("\n".join(REVIEWS))
    (here / "new.vw").write_text("| film fine unseen\n| plot dull\n")
    assert "fine" in done("solve", "r.vw", "soft-margin", "--out", "mine").stdout
    assert done("predict", "mine", "new.vw").stdout.split() == ["1", "-1"]
    (here / "c.vw").write_text("\n".join(REVIEWS).replace("-1", "bad").replace("1", "ok").replace("|", "|w"))
    assert "w^fine" in done("solve", "c.vw", "soft-margin", "--out", "c").stdout
    (here / "c2.vw").write_text("|w film fine\n|w plot dull\n")
    assert done("predict", "c", "c2.vw").stdout.split() == ["ok", "bad"]
    (here / "amounts.vw").write_text("0.5 | a\n2 | b\n")
    done("solve", "amounts.vw", "soft-margin", "--out", "amounts")
    assert "learned on amounts" in done("predict", "amounts", "new.vw", code=2).stderr


def test_a_problem_that_is_an_object_is_taken_as_one(here):
    (here / "roads.py").write_text(ROADS)
    assert json.loads(done("solve", "roads.py", "soft-margin", "--json").stdout)["n_samples"] == 3


def test_a_learner_that_crashes_is_told_its_line(here):
    (here / "r.vw").write_text("\n".join(REVIEWS))
    (here / "mine.py").write_text("def fit(problem, formulation, budget, rng):\n    return rng.permutation(3)\n")
    answer = json.loads(done("crosscheck", "r.vw", "soft-margin", "--learners", "mine.py", "--json", code=1).stdout)
    assert answer["learners"][0]["reason"].endswith("no attribute 'permutation', mine.py line 2")


@pytest.mark.parametrize("wide", [40, 80, 120])
def test_the_last_column_ends_where_the_terminal_does(monkeypatch, capsys, wide):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(wide))
    reason = "Its objective is above the proven optimum and has not settled, so run it longer. " * 3
    terminal.line(["subgradient", "not converged", "50", reason], [11, 13, 20])
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= max(wide, 2 + 11 + 2 + 13 + 2 + 20)
    assert printed.split()[4:] == reason.split()


def test_columns_of_very_different_sizes_are_told_once(here):
    rows = [f"{i % 3},{1e5 * (i + 1)},{'ab'[i % 2]}" for i in range(8)]
    (here / "unscaled.csv").write_text("\n".join(["age,income,kind", *rows]) + "\n")
    said = done("crosscheck", "unscaled.csv", "soft-margin", "--learners", "bcfw", "--passes", "1", code=3).stderr
    assert said.count("Column age reaches 2 and income 8e+05") == 1
    assert said.count("8 samples, 2 inputs") == 1
    (here / "scaled.csv").write_text(
        "\n".join(["age,income,kind", *(row.replace("00000.0", "") for row in rows)]) + "\n"
    )
    assert "Column" not in done("solve", "scaled.csv", "soft-margin").stderr


def test_outputs_go_to_a_file(here):
    done("solve", "toy", "soft-margin", "--out", "run")
    printed = done("predict", "run", "toy").stdout
    assert done("predict", "run", "toy", "--out", "new/outputs.txt").stdout == "new/outputs.txt\n"
    assert (here / "new" / "outputs.txt").read_text() == printed
    (here / "new" / "outputs.txt").unlink()
    assert '"predictions"' in done("predict", "run", "toy", "--json", "--out", "new/outputs.txt").stdout
    assert (here / "new" / "outputs.txt").read_text() == printed
    assert "is a folder" in done("predict", "run", "toy", "--out", "new", code=2).stderr


def test_a_path_among_the_runs_says_its_range_and_its_gap(here):
    done("path", "toy", "soft-margin", "--points", "3", "--epsilon", "0.1", "--between", "1", "0.1", "--out", "way")
    text = " ".join(done("runs", ".").stdout.split())
    assert "path toy soft-margin 0.1 ≤ λ ≤ 1 optima to a gap of" in text


def test_equal_verdicts_are_compared_too(here):
    for seed in "12":
        words = ("--learners", "bcfw", "--passes", "30", "--seed", seed, "--out", seed)
        done("crosscheck", "toy", "soft-margin", *words, code=3)
    told = done("compare", "1", "2").stdout.splitlines()
    assert any(line.split() == ["bcfw", *(["not", "converged"] * 2)] for line in told)


CHOICES = """
import workbench as wb
def argmax(w, x, truth=None):
    return max((0, 1, 2), key=lambda y: w[y] * x + (truth is not None and y != truth))
problem = wb.Structured([1, 2, 3], [0, 1, 2], lambda x, y: {y: float(x)}, lambda t, y: float(t != y), argmax,
                        names=[0, 1, 2])
"""


def test_own_functions_are_told_what_a_proof_rests_on_and_what_works(here):
    (here / "own.py").write_text(CHOICES)
    told = done("solve", "./own.py", "soft-margin").stdout
    assert "rests on     the argmax of own.py" in told
    assert "finds the maximum" in told
    assert "no closed forms" not in told
    record = json.loads(done("solve", "./own.py", "soft-margin", "--overwrite", "--json").stdout)
    assert len(record["conditional_on"]) == 1
    table = done("list", "./own.py").stdout
    assert "problem ./own.py\n" in table
    for name in ("hard-margin", "self-paced"):
        row = next(line for line in table.splitlines() if line.split()[:1] == [name])
        assert "cannot be listed; give candidates(x)" in row
        assert "cannot be listed" in done("solve", "./own.py", name, code=2).stderr
    assert "the true output;" in done("explain", "runs/own-soft-margin").stdout


def test_an_unfinished_run_is_kept_listed_and_told(here):
    """No command that is refused, and none without --overwrite, takes the journal of a run that may go on."""
    words = ("solve", "digits", "soft-margin", "--set", "n=40")
    done(*words, "--max-rounds", "2", "--backend", "CLARABEL", code=3)
    kept = here / "runs" / "digits-soft-margin"
    before = (kept / "journal" / "lines.jsonl").read_bytes()
    for wrong in (["--backend", "clarbel"], ["--groups", "0"], ["--polish", "--backend", "nope"], []):
        done(*words, *wrong, code=2)
    assert "no backend called" in done(*words, "--backend", "clarbel", "--overwrite", code=2).stderr
    assert "`cutbench resume" in done(*words, "--out", str(kept), code=2).stderr
    assert (kept / "journal" / "lines.jsonl").read_bytes() == before
    for record in kept.glob("*.json"):
        record.unlink()
    assert "unfinished: `cutbench resume runs/digits-soft-margin`" in done("runs").stdout
    for verb in ("report", "verify", "explain"):
        assert "`cutbench resume" in done(verb, "runs/digits-soft-margin", code=2).stderr
    done("resume", "runs/digits-soft-margin")
    done(*words)  # a finished run may be replaced


def test_a_program_without_a_solution_is_reported_as_such(here):
    (here / "no.py").write_text(
        "import cvxpy as cp\ndef program():\n    x = cp.Variable(name='x')\n"
        "    return cp.Problem(cp.Minimize(x), [(x >= 0.3).set_label('demand'), (x <= 0.2).set_label('supply')])\n"
    )
    assert "cutbench infeasible no.py" in done("prove", "no.py", "--out", "no").stdout
    page = (here / done("report", "no").stdout.strip()).read_text()
    assert "none: no x satisfies the constraints" in page
    assert "demand, supply" in page
    assert "unknown" not in page


def test_a_contradiction_by_rounding_alone_is_told(here):
    text = "import cvxpy as cp\ndef program():\n    x = cp.Variable(2, name='x')\n"
    text += "    return cp.Problem(cp.Minimize(x[0]), [0.1*x[0] + 0.2*x[1] == 0.3, 0.3*x[0] + 0.6*x[1] == {}])\n"
    (here / "near.py").write_text(text.format(0.9))
    assert "--reading decimal" in done("infeasible", "near.py").stdout
    (here / "far.py").write_text(text.format(0.8))
    assert "--reading decimal" not in done("infeasible", "far.py").stdout


def test_a_column_without_a_name_has_its_number(here):
    """Of pandas' index, which `to_csv` writes first, without a name."""
    (here / "p.csv").write_text(",kind,a\n0,ja,1\n1,nein,2\n2,ja,3\n3,nein,2\n")
    assert read(here / "p.csv", label="kind").columns == ["column 1", "a"]
    assert read(here / "p.csv", label="kind", drop=("1",)).columns == ["a"]


def test_several_columns_that_may_hold_the_labels_are_told_unless_one_is_called_as_before(here):
    (here / "p.csv").write_text("kind,plot,a\n0,1,1\n1,0,2\n0,1,3\n1,1,1\n")
    words = "solve", "p.csv", "soft-margin", "--set", "drop=plot"
    done(*words, "--set", "label=kind", "--out", "named")
    assert "of 4 differ" in done("predict", "named", "p.csv").stderr
    (here / "q.csv").write_text((here / "p.csv").read_text().replace("kind", "sort"))
    assert "of 4 differ" in done("predict", "named", "q.csv").stderr  # since plot was left out in learning
    (here / "q.csv").write_text((here / "p.csv").read_text().replace("kind,plot", "sort,spot"))
    assert "column sort and column spot may hold the labels" in done("predict", "named", "q.csv").stderr


def test_folders_and_empty_names_are_told(here):
    (here / "some").mkdir()
    assert "some is a folder" in done("prove", "some", code=2).stderr
    assert "empty" in done("solve", "iris", "soft-margin", "--out", "", code=2).stderr
    done("path", "toy", "soft-margin", "--gap", "0.1", "--points", "2", "--out", "path")
    assert "no certificate is kept" in done("verify", "path", code=2).stderr


def test_a_likelihood_is_explained_by_its_distribution(here):
    done("solve", "synthetic-chain", "crf", "--set", "n=3", "--out", "crf")
    told = done("explain", "crf").stdout
    assert "of its weight on the model's distribution" in told
    assert "against" not in told
