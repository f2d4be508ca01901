"""Every field of every kind of record, damaged: the commands that read records answer, or refuse in a sentence."""

from __future__ import annotations

import copy
import json
import os
import shutil
from itertools import cycle
from pathlib import Path

import pytest
from click.testing import CliRunner

from workbench.command import pictures
from workbench.command.cli import cli
from workbench.command.records import run_at
from workbench.errors import BadInput

STEP = 1 if os.environ.get("CUTBENCH_NIGHTLY") else 5  # of the fields, every STEP-th is damaged
GONE = object()
DAMAGES = {"true": True, "list": [1], "object": {}, "null": None, "1e400": float("inf"), "text": "x", "missing": GONE}
DAMAGES |= {"digits": 10**400, "name": "a\0b"}
MADE = {
    "solve": "solve toy soft-margin --set n=9 --gap 1e-2 --out {}",
    "all": "solve toy soft-margin --set n=9 --gap 1e-2 --backend all --out {}",
    "crosscheck": "crosscheck toy soft-margin --set n=9 --learners bcfw,perceptron --passes 2 --seeds 2 --out {}",
    "path": "path toy soft-margin --set n=9 --points 2 --between 1 0.8 --folds 2 --break-points --out {}",
    "prove": "prove small.lp --out {}",
}
READERS = (
    "report {} --out page.html --overwrite",
    "compare {} {}",
    "runs .",
    "figures --run {} --out drawn --overwrite",
)


def run(words):
    return CliRunner().invoke(cli, words.split())


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """A folder in which every kind of record was made."""
    folder = tmp_path_factory.mktemp("records")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("small.lp").write_text("min\n x\nst\n c: x >= 1\nend\n")
        for kind, words in MADE.items():
            assert run(words.format(kind)).exit_code in (0, 1, 3)
    return folder


def places(value, at=()):
    """Where fields are: of a list, those of the first two entries."""
    entries = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, each in entries:
        yield (*at, key)
        yield from places(each, (*at, key))


def damaged(record, place, damage):
    found = copy.deepcopy(record)
    inner = found
    for key in place[:-1]:
        inner = inner[key]
    if damage is GONE:
        del inner[place[-1]]
    else:
        inner[place[-1]] = damage
    return found


@pytest.mark.parametrize("kind", [*MADE, "certificate"])
def test_no_damage_to_a_field_is_called_a_bug_of_ours(kind, records, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(records / "solve", "sound")
    name = {"all": "solve", "certificate": "certificate"}.get(kind, kind)
    shutil.copytree(records / ("solve" if kind == "certificate" else kind), "damaged")
    if kind == "certificate":
        Path("damaged/solve.json").unlink()
    file = Path("damaged", f"{name}.json")
    record = json.loads(file.read_text())
    monkeypatch.setattr(pictures, "image", lambda figure, suffix: b"")  # the drawing is matplotlib's
    refused, turn = 0, cycle(READERS)
    for place in list(places(record))[::STEP]:
        for damage in DAMAGES.values():
            file.write_text(json.dumps(damaged(record, place, damage)))
            try:
                named = bool(run_at("damaged"))
            except BadInput as error:
                refused += 1
                named = str(file) in str(error) or "damaged holds" in str(error)
            assert named, (place, damage)
            for words in [next(turn), next(turn)]:
                result = run(words.replace("{}", "damaged"))
                told = f"{words} {place} {damage!r}: {result.stderr} {result.exception!r}"
                assert result.exit_code in (0, 1, 2, 3), told
                assert "bug of ours" not in result.stderr, told
    assert refused > 5


@pytest.mark.parametrize(
    ("kind", "field", "value", "part"),
    [
        ("crosscheck", "settings", True, "its 'settings' is missing or of a wrong kind"),
        ("crosscheck", "asked", [1], "its 'asked' is missing or of a wrong kind"),
        ("prove", "about.verb", [1], "is no record of cutbench"),
        ("path", "points.0.lam", "x", "its 'points[0].lam' is missing or of a wrong kind"),
        ("path", "points.1.lam", 0, "its 'points[1].lam' is missing or of a wrong kind"),
        ("path", "points.1.lam", -0.5, "its 'points[1].lam' is missing or of a wrong kind"),
        ("solve", "history.0.gap", True, "its 'history[0].gap' is missing or of a wrong kind"),
    ],
)
def test_the_sentence_names_the_file_and_the_field(kind, field, value, part, records, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(records / kind, "damaged")
    file = Path("damaged", f"{kind}.json")
    place = tuple(int(key) if key.isdigit() else key for key in field.split("."))
    file.write_text(json.dumps(damaged(json.loads(file.read_text()), place, value)))
    for words in ("report damaged", "compare damaged damaged"):
        result = run(words)
        assert result.exit_code == 2
        assert str(file) in result.stderr
        assert part in result.stderr
    assert f"unreadable: {file}" in run("runs .").stdout


def test_a_damaged_certificate_is_written_again_by_the_command_that_wrote_it(records, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind, verb in (("prove", "prove"), ("solve", "solve")):
        shutil.copy(records / kind / "certificate.npz", f"{kind}.npz")
        header = json.loads((records / kind / "certificate.json").read_text())
        nameless = header | {"formulation": {"version": 1}}
        for damaged, part in (
            (header | {"lower": "x"}, "'lower' is missing or no number"),
            (nameless, "names no form"),
        ):
            Path(f"{kind}.json").write_text(json.dumps(damaged))
            told = run(f"report {kind}.json")
            assert told.exit_code == 2
            assert part in told.stderr
            assert f"write it again with `{verb}`." in told.stderr


def test_compare_says_what_it_takes(records, monkeypatch):
    monkeypatch.chdir(records)
    takes = "compare takes two runs of `solve` or `crosscheck`, or two of `prove`"
    for words, part in (
        ("path solve", "path/path.json is a path, with an optimum for each λ; "),
        ("solve path/path.json", "path/path.json is a path, with an optimum for each λ; "),
        ("prove solve", "prove/prove.json is about a convex program, and solve/solve.json about a learning problem; "),
        ("solve prove/certificate", "prove/certificate.json is about a convex program, and solve/solve.json about a "),
    ):
        told = run(f"compare {words}")
        assert told.exit_code == 2
        assert part in told.stderr
        assert takes in told.stderr
    assert run("compare prove prove/certificate.json").exit_code == 0
