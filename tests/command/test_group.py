"""The group of verbs: a file is a verb, help imports nothing heavy, and a reader who leaves is no error."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from workbench.command.cli import cli
from workbench.command.exits import reader_watched
from workbench.command.group import FIRST, Verbs

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "from workbench.command.cli import main; main()"
OWN = '''"""Say how long a word is.

Nothing else happens.

    cutbench how-long word
      two  blanks   stay
"""

import sys

import click

from workbench.command.words import verb

sys.imported_verbs = [*getattr(sys, "imported_verbs", []), __name__]


@verb(__doc__)
@click.argument("word")
def command(word: str) -> int:
    click.echo(len(word))
    return 3
'''


def process(code: str, *words: str, **options) -> subprocess.CompletedProcess[str]:
    """Runs Python code that sees `words` as its command line, with stderr as text."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        timeout=60,
        **{"stdout": subprocess.PIPE} | options,
    )


# ── a file is a verb ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def own_verbs(tmp_path, monkeypatch):
    """The command with a folder that holds one verb and one helper."""
    folder = tmp_path / "own_verbs"
    folder.mkdir()
    (folder / "how_long.py").write_text(OWN)
    (folder / "_helper.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "imported_verbs", [], raising=False)
    verbs = Verbs(folder, "own_verbs")
    monkeypatch.setattr(cli, "verbs", verbs)
    monkeypatch.setattr(cli, "commands", verbs)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "own_verbs"]:
        del sys.modules[name]


def test_a_new_file_is_a_new_verb(own_verbs):
    result = CliRunner().invoke(cli, ["how-long", "four"])
    assert (result.stdout, result.stderr, result.exit_code) == ("4\n", "", 3)
    assert sys.imported_verbs == ["own_verbs.how_long"]
    assert CliRunner().invoke(cli, ["helper"]).exit_code == 2


def test_the_groups_help_runs_no_file(own_verbs):
    result = CliRunner().invoke(cli, ["--help"])
    assert "how-long  Say how long a word is." in result.stdout
    assert sys.imported_verbs == []


def test_examples_are_printed_as_they_stand(own_verbs):
    text = CliRunner().invoke(cli, ["how-long", "--help"]).stdout
    assert "      cutbench how-long word\n        two  blanks   stay\n" in text


def test_newcomers_verbs_come_first_and_the_others_by_alphabet():
    names = list(cli.commands)
    assert tuple(names[: len(FIRST)]) == FIRST
    assert names[len(FIRST) :] == sorted(names[len(FIRST) :])
    assert len(cli.commands) == len(set(names)) == len(names)


@pytest.mark.parametrize("name", cli.commands)
def test_every_verb_explains_itself_with_an_example_that_parses(name):
    text = CliRunner().invoke(cli, [name, "--help"]).stdout
    assert cli.verbs.summary(name) in text
    assert cli.verbs.summary(name).endswith(".")
    examples = [line.strip() for line in text.splitlines() if line.startswith("      cutbench ")]
    assert examples
    for line in examples:
        _, verb, *words = shlex.split(line)
        assert verb == name
        cli.commands[verb].make_context(verb, words)


def completed(words):
    """What the shell completion of click offers for a line of words, of which the last is being typed."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "_CUTBENCH_COMPLETE": "bash_complete"}
    environment |= {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment)
    assert done.stderr == ""
    return [line.removeprefix("plain,") for line in done.stdout.split()]


def test_the_shell_completes_verbs_and_options():
    assert completed(["cutbench", "ver"]) == ["verify"]
    assert completed(["cutbench", "solve", "--ov"]) == ["--overwrite"]


def test_no_verbs_help_imports_anything_heavy():
    code = """if True:
        import contextlib, io, sys
        from workbench.command.cli import cli
        for name in cli.commands:
            if name != "bench":  # which lists the benchmarks of this checkout
                with contextlib.redirect_stdout(io.StringIO()):
                    cli.main([name, "--help"], standalone_mode=False)
                heavy = {"numpy", "scipy", "numba", "cvxpy", "sklearn", "matplotlib", "rich"} & set(sys.modules)
                assert not heavy, f"{name} --help imports {heavy}"
    """
    done = process(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_small_solve_imports_only_what_it_needs(tmp_path):
    """CVXPY, scikit-learn and SciPy's optimisers cost more time than this solve."""
    code = """if True:
        import atexit, sys
        heavy = {"cvxpy", "sklearn", "matplotlib", "rich", "scipy.optimize", "scipy.stats", "scipy.special"}
        atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))
        from workbench.command.cli import main
        main()
    """
    done = process(code, "solve", "iris", "soft-margin", "--out", str(tmp_path))
    assert done.returncode == 0
    assert "optimal" in done.stdout
    assert done.stderr == "[]\n"


# ── a reader who leaves ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("list",), 141),
        (("list", "--json"), 141),
        (("--help",), 141),
        (("solve", "--help"), 141),
        (("--version",), 141),
        (("solve", "nothing", "soft-margin", "--json"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_pipe_that_nobody_reads_ends_the_command_quietly(words, code):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = process(SCRIPT, *words, stdout=writing)
    finally:
        os.close(writing)
    assert done.returncode == code
    assert (
        done.stderr == "" if code == 141 else done.stderr.startswith("cutbench: There is no problem called 'nothing'")
    )


def test_a_pipe_closed_early_is_no_error():
    line = f'"$0" -c "{SCRIPT}" list | head -1; exit ${{PIPESTATUS[0]}}'
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", line, sys.executable], capture_output=True, text=True, env=environment)
    assert done.stdout.split()[0] == "problem"
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""
    assert done.returncode in (0, 141)  # 0 if all lines were written before `head` left


def test_a_broken_pipe_elsewhere_is_not_taken_for_it():
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError), reader_watched():
        os.write(writing, b"x")
    os.close(writing)
