"""Records: every verb's object fits docs/records.schema.json, folders are listed, and two runs are compared."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli
from workbench.command.compare import compared
from workbench.command.records import run_at
from workbench.errors import BadInput

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "records.schema.json").read_text())
PROGRAM = """import cvxpy as cp
def program():
    x = cp.Variable(name='x')
    return cp.Problem(cp.Minimize(x), [x >= {}])
"""
OWN = """import workbench as wb
def argmax(w, x, truth=None):
    return max((0, 1), key=lambda y: w[y] * x + (truth is not None and y != truth))
problem = wb.Structured([1, 2], [0, 1], lambda x, y: {y: float(x)}, lambda t, y: float(t != y), argmax, names=[0, 1])
"""
KEPT = [("solve", "run"), ("solve", "all"), ("crosscheck", "judged"), ("path", "path")]
COMMANDS = {  # each runs in one folder, after those above it
    "solve": [
        "solve ./own.py soft-margin --out own",
        "solve toy soft-margin --out run",
        "solve toy soft-margin --backend all --out all --gap 1e-4",
    ],
    "crosscheck": ["crosscheck toy soft-margin --learners bcfw,subgradient --passes 20 --out judged"],
    "verify": ["verify run"],
    "resume": ["resume run"],
    "prove": ["prove one.py --out program --backend all"],
    "infeasible": ["infeasible none.py", "infeasible one.py"],
    "path": [
        "path toy soft-margin --points 3 --epsilon 0.1 --folds 2 --out path",
        "path toy soft-margin --points 2 --between 1 0.8 --break-points",
    ],
    "explain": ["explain run"],
    "difficulty": ["difficulty run"],
    "compare": ["compare run judged", "compare program program"],
    "report": ["report run"],
    "runs": ["runs ."],
    "predict": ["predict run toy"],
    "list": ["list", "list soft-margin"],
    "doctor": ["doctor"],
    "check-oracle": ["check-oracle toy"],
    "new": ["new learner mine"],
    "bench": ["bench flows --set n=20 --set passes=1 --set repeats=1"],
    "error": ["solve nothing soft-margin", "compare run nowhere"],
}
SILENT = {"demo", "figures"}  # these write pictures and have no --json


def fits(verb, record):
    """Raise if a record is not as the schema defines it."""
    jsonschema.Draft202012Validator({"$ref": f"#/$defs/{verb}", "$defs": SCHEMA["$defs"]}).validate(record)


def run(words):
    return CliRunner().invoke(cli, [*shlex.split(words)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which all commands ran, with what each printed."""
    place, before = tmp_path_factory.mktemp("records"), Path.cwd()
    (place / "one.py").write_text(PROGRAM.format(1))
    (place / "own.py").write_text(OWN)
    (place / "none.py").write_text(PROGRAM.format("1, x <= 0"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        printed = {words: run(f"{words} --json") for each in COMMANDS.values() for words in each}
    assert Path.cwd() == before
    return place, printed


def test_every_verb_has_a_definition_and_a_command():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(COMMANDS) - {"error"} == set(cli.commands) - SILENT
    assert set(COMMANDS) <= set(SCHEMA["$defs"])


@pytest.mark.parametrize("verb", COMMANDS)
def test_what_a_verb_prints_fits_the_schema(folder, verb):
    for words in COMMANDS[verb]:
        result = folder[1][words]
        assert result.exit_code in ((2,) if verb == "error" else (0, 1, 3)), result.output
        record = json.loads(result.stdout)
        fits(verb, record)
        jsonschema.Draft202012Validator(SCHEMA).validate(record)
        with pytest.raises(jsonschema.ValidationError):
            fits(verb, [record])


@pytest.mark.parametrize(("verb", "place"), KEPT)
def test_what_is_kept_fits_too_and_holds_what_was_printed(folder, verb, place):
    kept = json.loads((folder[0] / place / f"{verb}.json").read_text())
    fits(verb, kept)
    words = shlex.split(kept["about"]["command"])
    assert words[1] == "resume" if place == "run" else words[: len(words)] == ["cutbench", *words[1:]]
    changed = kept | {"surprise": 1}
    with pytest.raises(jsonschema.ValidationError):
        fits(verb, changed)


def test_runs_lists_every_run_and_what_cannot_be_read(folder, tmp_path):
    rows = json.loads(folder[1]["runs ."].stdout)["runs"]
    assert {row["path"]: row["kind"] for row in rows} == {
        "all/solve.json": "solve",
        "judged/crosscheck.json": "crosscheck",
        "own/solve.json": "solve",
        "path/path.json": "path",
        "program/prove.json": "prove",
        "run/solve.json": "solve",
    }
    (tmp_path / "solve.json").write_text("{")
    text = run(f"runs {tmp_path}").stdout
    assert "holds no runs" in text
    assert "unreadable" in text


def test_a_run_is_found_by_folder_record_and_certificate(folder):
    place = folder[0]
    for word in ("run", "run/solve.json"):
        assert run_at(place / word).kind == "solve"
    for word in ("run/certificate.json", "run/certificate.npz"):
        found = run_at(place / word)
        assert (found.kind, found.title) == ("certificate", "toy soft-margin")
    with pytest.raises(BadInput, match="holds no run"):
        run_at(place)


def test_compare_tells_what_differs(folder, monkeypatch):
    monkeypatch.chdir(folder[0])
    assert run("solve toy soft-margin --set lam=0.3 --out other").exit_code == 0
    record = compared(run_at("run"), run_at("other"))
    assert record["same_optimum"] is False
    assert {"what": "lam", "first": 0.1, "second": 0.3} in record["settings"]
    assert record["contradiction"] is None
    same = compared(run_at("run"), run_at("judged"))
    assert same["same_optimum"] is True
    assert {row["what"]: row["second"] for row in same["verdicts"]}.keys() == {"bcfw", "subgradient"}
    assert all(row["first"] == row["second"] for row in same["bounds"] if row["what"] == "upper")


def test_programs_are_equal_whether_a_setting_was_whole_or_a_float(tmp_path):
    problem = wb.Multiclass.tiny(np.random.default_rng(0))
    for name, lam in (("whole", 1), ("float", 1.0), ("other", 2)):
        wb.solve(wb.SoftMargin(lam=lam), problem).certificate.save(tmp_path / name)
    whole, floats, other = (run_at(str(tmp_path / f"{name}.json")) for name in ("whole", "float", "other"))
    assert compared(whole, floats)["same_optimum"] is True
    assert compared(whole, other)["same_optimum"] is False


def test_disjoint_proven_intervals_of_one_optimum_are_a_contradiction(folder, monkeypatch):
    """Planted: the verdict on the second run is moved up by 1."""
    from workbench.proofs import verify as proofs

    monkeypatch.chdir(folder[0])
    true, asked = proofs.verify, []

    def moved(path):
        found = true(path)
        asked.append(path)
        return found | {key: found[key] + (len(asked) > 1) for key in ("lower", "upper")}

    monkeypatch.setattr("workbench.proofs.verify.verify", moved)
    result = run("compare run judged")
    assert result.exit_code == 1
    assert "share no point" in result.stderr
    assert len(asked) == 2
