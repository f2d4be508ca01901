"""Runs that are killed, damaged and continued: the same optimum, and no finished round lost."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.command.cli import cli
from workbench.errors import BadInput, CutbenchError, MissingCapability, NotSeparable
from workbench.system.journal import ARRAYS, LINES, Journal, read

ROOT = Path(__file__).resolve().parents[2]
GAP = 1e-11
FORM = wb.SoftMargin(lam=0.05)


def blobs(n: int = 40, seed: int = 0) -> wb.Multiclass:
    """Three overlapping clouds in the plane."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return wb.Multiclass(np.c_[rng.normal(size=(n, 2)) + 1.5 * np.eye(3)[y][:, :2], np.ones(n)], y)


def close(solution, best) -> None:
    """The same proven optimum, from a history without gaps in which no bound gets worse."""
    assert solution.status == "optimal"
    for bound in (solution.upper, solution.lower):
        assert bound == pytest.approx(best.upper, rel=1e-10)
    rounds = [entry["round"] for entry in solution.history]
    assert rounds == list(range(1, len(rounds) + 1))
    for before, after in itertools.pairwise(solution.history):
        assert before["lower"] <= after["lower"]
        assert before["upper"] >= after["upper"]
        assert before["seconds"] <= after["seconds"]


@pytest.fixture(scope="module")
def best():
    return wb.solve(FORM, blobs(), gap=GAP, groups="one")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A whole run's folder."""
    folder = tmp_path_factory.mktemp("run")
    wb.solve(FORM, blobs(), gap=GAP, groups="one", journal=folder)
    return folder


@pytest.fixture
def copied(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def resumed(folder, **options):
    return wb.solve(FORM, blobs(), **{"gap": GAP, "groups": "one", "journal": Journal.resume(folder), **options})


# ── what a journal is ─────────────────────────────────────────────────────────────────────────────


def test_what_is_appended_is_read_again(tmp_path):
    arrays = {"a": np.arange(6).reshape(2, 3), "b": np.array([1.5, np.inf]), "none": np.empty((0, 4))}
    with Journal.create(tmp_path / "x", {"command": "test", "über": [1, None]}) as journal:
        journal.append("round", {"round": 1, "lower": -np.inf, "upper": 1 / 3}, **arrays)
        journal.append("other", {"name": "learner"})
    told, (first, second) = read(tmp_path / "x")
    assert told == {"command": "test", "über": [1, None]}
    assert (first.kind, first.numbers) == ("round", {"round": 1, "lower": -np.inf, "upper": 1 / 3})
    found = first.arrays()
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    assert (second.kind, second.arrays()) == ("other", {})
    with Journal.resume(tmp_path / "x") as journal:
        journal.append("end", {}, more=np.ones(3))
        assert journal.finished
    _, entries = read(tmp_path / "x")
    assert [entry.kind for entry in entries] == ["round", "other", "end"]
    np.testing.assert_array_equal(entries[2].arrays()["more"], np.ones(3))
    np.testing.assert_array_equal(entries[0].arrays()["a"], arrays["a"])


def test_the_first_line_says_what_the_run_is(finished):
    first, *others = (finished / "journal" / LINES).read_text().splitlines()
    told = json.loads(first)
    assert told["kind"] == "settings"
    assert told["format"] == "cutbench-journal-1"
    settings = {name: value for name, value in vars(FORM).items() if name != "intercept"}  # of version 2 only
    assert told["formulation"] == {"name": "soft-margin", "settings": settings}
    assert (told["options"]["gap"], told["options"]["groups"]) == (GAP, "one")
    assert len(told["data_sha256"]) == 64
    assert "numpy" in told["versions"]
    assert [json.loads(line)["kind"] for line in others] == ["round"] * (len(others) - 1) + ["end"]
    assert {path.name for path in (finished / "journal").iterdir()} == {LINES, ARRAYS}


def test_only_what_is_new_is_written(finished):
    """Each atom once, each row once, θ's best and the weights only where they changed."""
    _, entries = read(finished)
    pieces = [entry.arrays() for entry in entries if entry.kind == "round"]
    atoms = np.concatenate([np.c_[piece["samples"], piece["witnesses"]] for piece in pieces])
    assert len(np.unique(atoms, axis=0)) == len(atoms)
    held = np.unique(np.concatenate([piece["rows"] for piece in pieces]))
    np.testing.assert_array_equal(held, np.arange(sum(len(piece["lengths"]) for piece in pieces)))
    for (before, after), piece in zip(itertools.pairwise(entries), pieces[1:], strict=False):
        assert ("support" in piece) == (after.numbers["lower"] > before.numbers["lower"])
        assert ("best" in piece) == (after.numbers["upper"] < before.numbers["upper"])


# ── limits and resuming ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "options",
    [{"groups": "one"}, {"groups": "all"}, {"groups": 7}, {"backend": "CLARABEL"}, {"backend": "PIQP"},
     {"master": "compiled"}],
    ids=str,
)  # fmt: skip
def test_a_limit_after_every_few_rounds_changes_nothing(tmp_path, best, options):
    options = {"gap": GAP, "max_rounds": 4, **options}
    solution = wb.solve(FORM, blobs(), journal=tmp_path, **options)
    sessions = 1
    while solution.status == "limit":
        earlier = [dict(entry) for entry in solution.history]
        solution = wb.solve(FORM, blobs(), journal=Journal.resume(tmp_path), **options)
        assert solution.history[: len(earlier) - 1] == earlier[:-1]
        assert solution.history[len(earlier) - 1]["lower"] == earlier[-1]["lower"]
        assert solution.rounds <= len(earlier) + 4
        sessions += 1
        assert sessions < 60
    assert sessions > 1
    close(solution, best)
    assert solution.certificate.recheck() == (solution.lower, solution.upper)


def test_a_finished_run_stays_as_it_is(copied, best):
    before = (copied / "journal" / LINES).read_bytes()
    solution = resumed(copied)
    close(solution, best)
    assert (solution.upper, solution.lower) == (best.upper, best.lower)
    assert (copied / "journal" / LINES).read_bytes() == before


def test_a_run_goes_on_to_a_tighter_gap(tmp_path, best):
    loose = wb.solve(FORM, blobs(), gap=1e-3, groups="one", journal=tmp_path)
    tight = resumed(tmp_path)
    assert loose.gap > GAP
    close(tight, best)
    assert tight.rounds > loose.rounds
    assert [entry.kind for entry in read(tmp_path)[1]].count("end") == 2


def test_a_stalled_run_is_stalled_again_at_once(tmp_path):
    stalled = wb.solve(FORM, blobs(), gap=1e-17, journal=tmp_path)
    again = wb.solve(FORM, blobs(), gap=1e-17, journal=Journal.resume(tmp_path))
    assert stalled.status == again.status == "stalled"
    assert again.rounds == stalled.rounds
    assert again.backend == stalled.backend  # the last of the masters took over again
    assert again.lower == stalled.lower


def test_hard_margins_are_continued(tmp_path):
    y = np.repeat([0, 1, 2], 10)
    X = np.c_[np.random.default_rng(1).normal(size=(30, 2)) + 12 * np.eye(3)[y][:, :2], np.ones(30)]
    problem, form = wb.Multiclass(X, y), wb.HardMargin()
    straight = wb.solve(form, problem, gap=1e-9)
    wb.solve(form, problem, gap=1e-9, max_rounds=2, journal=tmp_path)
    solution = wb.solve(form, problem, gap=1e-9, journal=Journal.resume(tmp_path))
    assert solution.status == straight.status == "optimal"
    assert solution.rounds > 2
    assert solution.upper == pytest.approx(straight.upper, rel=1e-8)


def test_the_compact_declaration_has_a_beginning_and_an_end(tmp_path):
    form = wb.SoftMargin(lam=0.05, declare="compact")
    first = wb.solve(form, blobs(), gap=1e-6, journal=tmp_path)
    assert [entry.kind for entry in read(tmp_path)[1]] == ["end"]
    again = wb.solve(form, blobs(), gap=1e-6, journal=Journal.resume(tmp_path))
    assert again.upper == pytest.approx(first.upper, rel=1e-6)


def test_contradictions_leave_no_journal(tmp_path):
    problem = wb.Multiclass(np.ones((2, 1)), [0, 1])
    with pytest.raises(NotSeparable):
        wb.solve(wb.HardMargin(), problem, journal=tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_another_run_is_refused(copied):
    with pytest.raises(BadInput, match=r"data have changed since the run in .* began \(sha256 \w{12}… instead of"):
        wb.solve(FORM, blobs(seed=1), gap=GAP, groups="one", journal=Journal.resume(copied))
    with pytest.raises(BadInput, match=r"has the formulation .*0\.05.*, not .*0\.5"):
        wb.solve(wb.SoftMargin(lam=0.5), blobs(), gap=GAP, groups="one", journal=Journal.resume(copied))
    with pytest.raises(BadInput, match="has the groups one, not all"):
        resumed(copied, groups="all")
    assert resumed(copied).status == "optimal"


# ── kill -9 ───────────────────────────────────────────────────────────────────────────────────────

KILLED = """
import json, os, signal, sys, time
import numpy as np
import workbench as wb
from pathlib import Path
from workbench.system.journal import Journal, read
sys.path.insert(0, {tests!r})
from test_journal import FORM, GAP, blobs

run, rng, problem = Path(sys.argv[1]), np.random.default_rng(int(sys.argv[2])), blobs()
lines = run / "journal" / "lines.jsonl"


def solved(journal, observe=None):
    return wb.solve(FORM, problem, gap=GAP, groups="one", journal=journal, observe=observe)


def killed(journal, after):
    "A process that solves, killed after so many more rounds and a random moment; the rounds it had told of."
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        solved(Journal.resume(run) if journal else run, lambda entry: os.write(told, b"x"))
        os._exit(0)
    os.close(told)
    seen = b""
    while len(seen) < after and (more := os.read(heard, after - len(seen))):
        seen += more
    time.sleep(rng.uniform(0, 2 * a_round))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    while more := os.read(heard, 4096):
        seen += more
    os.close(heard)
    return len(seen), os.waitstatus_to_exitcode(status)


solved(run / "warm-up")  # compiled code is loaded, files are read
start = time.perf_counter()
solved(run / "timed")
total = len(read(run / "timed")[1]) - 1
a_round = (time.perf_counter() - start) / total
kills, rounds = [], 0
for k in range(20):
    if k % 4 == 0:
        rounds = 0  # another run
    here = rounds
    told, code = killed(k % 4, int(rng.integers(1, max(total // 5, 2))))
    _, entries = read(run)
    finished = [entry.numbers["round"] for entry in entries if entry.kind == "round"]
    assert finished == list(range(1, len(finished) + 1))
    kills.append([code, here + told, len(finished)])
    rounds = len(finished)
    if k % 4 == 3:
        solution = solved(Journal.resume(run))
        kills[-1] += [solution.upper, solution.lower, solution.status, [h["round"] for h in solution.history],
                      [h["lower"] for h in solution.history], len(finished)]
print(json.dumps(kills))
"""


def test_killed_at_twenty_moments(tmp_path, best):
    """Five runs, each killed four times and then finished; no round that was told of is lost."""
    script = KILLED.format(tests=str(ROOT / "tests" / "system"))
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), "0"],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    kills = json.loads(done.stdout)
    assert len(kills) == 20
    assert sum(code == -signal.SIGKILL for code, *_ in kills) >= 18  # one or the other may have been finished before
    for _, told, kept, *_ in kills:
        assert kept >= told
    assert len({kept for _, _, kept, *_ in kills}) > 10  # they are spread over the run
    for upper, lower, status, rounds, lowers, before in (kill[3:] for kill in kills if len(kill) > 3):
        assert status == "optimal"
        assert upper == pytest.approx(best.upper, rel=1e-10)
        assert lower == pytest.approx(best.upper, rel=1e-10)
        assert rounds == list(range(1, len(rounds) + 1))
        assert len(rounds) >= before
        assert all(a <= b for a, b in itertools.pairwise(lowers))


# ── damage ────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=25)
@given(data=st.data())
def test_every_head_of_a_journal_is_a_journal(finished, best, data):
    """Cut the lines at any byte: the run goes on from the last whole line, to the same optimum."""
    whole = (finished / "journal" / LINES).read_bytes()
    size = data.draw(st.integers(0, len(whole)))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(finished, folder, dirs_exist_ok=True)
        os.truncate(Path(folder) / "journal" / LINES, size)
        kept = whole[:size].count(b"\n")
        if not kept:
            with pytest.raises(BadInput, match="was ended before it began; solve again"):
                Journal.resume(folder)
            return
        with Journal.resume(folder) as journal:
            assert len(journal.entries) == kept - 1
        solution = resumed(folder)
    close(solution, best)
    assert solution.rounds >= len([line for line in whole[:size].splitlines()[:kept] if b'"round"' in line[:20]])


@settings(max_examples=15)
@given(data=st.data())
def test_any_other_damage_names_a_line_and_the_lines_before_it_are_a_journal(finished, best, data):
    name = data.draw(st.sampled_from([LINES, ARRAYS]))
    content = bytearray((finished / "journal" / name).read_bytes())
    last = content.rindex(b"\n", 0, -1) if name == LINES else len(content)
    at = data.draw(st.integers(0, last - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(finished, folder, dirs_exist_ok=True)
        (Path(folder) / "journal" / name).write_bytes(content)
        with pytest.raises(BadInput, match=r"^Line \d+ of .* is damaged \(.*\); restore the file") as refusal:
            resumed(folder)
        line = int(str(refusal.value).split()[1])
        path = Path(folder) / "journal" / LINES
        if name == LINES:
            assert line == bytes(content[:at]).count(b"\n") + 1
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[: line - 1]))
        if line == 1:
            return
        solution = resumed(folder)
    close(solution, best)


@pytest.mark.parametrize("damage", ["missing", "empty", "half"])
def test_lost_arrays(copied, damage):
    path = copied / "journal" / ARRAYS
    size = path.stat().st_size
    path.unlink() if damage == "missing" else os.truncate(path, size // 2 if damage == "half" else 0)
    with pytest.raises(BadInput, match=r"Line \d+ of .* is damaged \(its part of arrays.npy"):
        resumed(copied)
    lines = (copied / "journal" / LINES).read_bytes()
    assert len(lines.splitlines()) == len(read(copied)[1]) + 1


def test_lines_moved_or_left_out_are_found(copied):
    path = copied / "journal" / LINES
    lines = path.read_bytes().splitlines(keepends=True)
    for changed in (lines[:3] + lines[4:], [*lines[:3], lines[4], lines[3], *lines[5:]], [*lines[:4], lines[3]] * 2):
        path.write_bytes(b"".join(changed))
        with pytest.raises(BadInput, match="is damaged"):
            Journal.resume(copied)


def test_bytes_behind_the_last_line_are_dropped(copied, best):
    for name, garbage in ((LINES, b'{"kind": "rou'), (ARRAYS, b"\x93NUMPY half a piece")):
        with (copied / "journal" / name).open("ab") as file:
            file.write(garbage)
    close(resumed(copied), best)
    assert b"half a piece" not in (copied / "journal" / ARRAYS).read_bytes()


def test_the_advice_on_a_damaged_journal_can_be_followed(copied):
    lines = copied / "journal" / LINES
    whole = lines.read_bytes()
    for number, advice in ((0, "begin the run anew, for that line says"), (1, "to go on from the line before")):
        parts = whole.splitlines(keepends=True)
        parts[number] = parts[number].replace(b"{", b"[", 1)
        lines.write_bytes(b"".join(parts))
        with pytest.raises(BadInput, match=f"^Line {number + 1} of .*; restore the file, or .*{advice}") as refusal:
            Journal.resume(copied)
        assert ("line before" in str(refusal.value)) == (number > 0)


@pytest.mark.parametrize(("content", "state"), [(b"", "is empty"), (b'{"kind"', "holds no whole line")])
def test_a_journal_that_was_emptied_beside_its_record_is_told_as_that(copied, content, state):
    (copied / "journal" / LINES).write_bytes(content)
    with pytest.raises(BadInput, match="was ended before it began; solve again"):
        Journal.resume(copied)
    (copied / "solve.json").write_text("{}")
    with pytest.raises(BadInput, match=rf"lines.jsonl {state}, though solve.json beside it came from a run; restore"):
        Journal.resume(copied)


def test_other_files_are_no_journal(tmp_path):
    with pytest.raises(BadInput, match="holds no journal of a run; name the folder that --out named"):
        Journal.resume(tmp_path)
    (tmp_path / "journal").mkdir()
    for text in ("hello\n", '{"kind": "settings"}\n', "\0\0\0\n"):
        (tmp_path / "journal" / LINES).write_text(text)
        with pytest.raises(BadInput, match="solve again"):
            read(tmp_path)
    with Journal.create(tmp_path, {"format": "cutbench-journal-0"}):
        pass
    with pytest.raises(BadInput, match="is no journal of the format cutbench-journal-1"):
        read(tmp_path)


# ── one writer, disks ─────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def another_process(code: str, *words: str):
    """A Python process that runs `code` and has said so."""
    script = f"import sys, time\nsys.path.insert(0, {str(ROOT)!r})\n{textwrap.dedent(code)}"
    process = subprocess.Popen([sys.executable, "-c", script, *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


HOLDS = """
    from workbench.system.journal import Journal
    with Journal.resume(sys.argv[1]):
        print("ready", flush=True)
        time.sleep(60)
"""


def test_a_second_process_is_refused_while_the_first_lives(copied, best):
    before = (copied / "journal" / LINES).read_bytes()
    with another_process(HOLDS, str(copied)) as first:
        with pytest.raises(BadInput, match=r"process is working on the run in .*; wait for it, or choose"):
            Journal.resume(copied)
        with pytest.raises(BadInput, match="Another process is working"):
            wb.solve(FORM, blobs(), groups="one", journal=copied)
        assert len(read(copied)[1]) == before.count(b"\n") - 1  # reading is free
        first.kill()
        first.wait()
        close(resumed(copied), best)
    assert (copied / "journal" / LINES).read_bytes() == before


@contextlib.contextmanager
def disk_full_after(size: int):
    """No file can grow beyond `size` bytes: the system's own limit, so writes fail as they do on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.9])
def test_a_full_disk_is_one_sentence_and_loses_nothing(tmp_path, finished, best, share):
    told = []
    size = int(share * (finished / "journal" / ARRAYS).stat().st_size)
    with (
        disk_full_after(size),
        pytest.raises(BadInput, match=r"Cannot keep the journal in .*; make room there") as error,
    ):
        wb.solve(FORM, blobs(), gap=GAP, groups="one", journal=tmp_path / "run", observe=told.append)
    assert "\n" not in str(error.value)
    assert told
    assert len(read(tmp_path / "run")[1]) == len(told)
    close(resumed(tmp_path / "run"), best)


def test_a_write_that_fails_half_way_is_taken_back(tmp_path, monkeypatch):
    with Journal.create(tmp_path, {}) as journal:
        journal.append("round", {"round": 1}, a=np.arange(3))
        before = [(tmp_path / "journal" / name).read_bytes() for name in (LINES, ARRAYS)]

        def refuse(handle):
            raise OSError(errno.EIO, "Input/output error")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", refuse)
            for arrays in ({}, {"a": np.arange(9)}):
                with pytest.raises(BadInput, match=r"Cannot keep the journal in .* \(Input/output error\)"):
                    journal.append("round", {"round": 2}, **arrays)
        assert [(tmp_path / "journal" / name).read_bytes() for name in (LINES, ARRAYS)] == before
        journal.append("round", {"round": 2}, a=np.arange(4))
    assert [entry.numbers["round"] for entry in read(tmp_path)[1]] == [1, 2]


@contextlib.contextmanager
def nobody():
    """Not the superuser, who may write anywhere."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_cannot_be_written(finished):
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        copy = Path(shutil.copytree(finished, Path(place) / "run"))
        for path in (Path(place), copy, copy / "journal"):
            path.chmod(0o555)
        for name in (LINES, ARRAYS):
            (copy / "journal" / name).chmod(0o444)
        with nobody():
            assert read(copy)[1][-1].kind == "end"
            for attempt in (lambda: Journal.resume(copy), lambda: Journal.create(Path(place) / "new", {})):
                with pytest.raises(BadInput, match=r"Cannot keep the journal in .* \(Permission denied\)"):
                    attempt()
        for path in (Path(place), copy, copy / "journal"):
            path.chmod(0o755)


# ── the command ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def cutbench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words, code: int = 0):
        result = CliRunner().invoke(cli, [str(word) for word in words])
        assert result.exit_code == code, result.output
        return result

    return run


IRIS = (
    "solve",
    "iris",
    "soft-margin",
    "--set",
    "lam=0.01",
    "--groups",
    "one",
    "--gap",
    "1e-11",
    "--out",
    "run",
    "--overwrite",
)


def test_resume_ends_what_a_limit_interrupted(cutbench):
    straight = json.loads(cutbench(*IRIS, "--json").stdout)
    limited = cutbench(*IRIS, "--max-rounds", 5, "--json", code=3)
    assert "`cutbench resume run` continues it" in limited.stderr
    limited = json.loads(limited.stdout)
    more = json.loads(cutbench("resume", "run", "--max-rounds", 3, "--json", code=3).stdout)
    done = json.loads(cutbench("resume", "run", "--json").stdout)
    assert (limited["rounds"], more["rounds"]) == (5, 8)
    assert list(done) == list(straight)
    assert done["status"] == "optimal"
    assert done["upper"] == pytest.approx(straight["upper"], rel=1e-10)
    assert json.loads(cutbench("verify", "run", "--json").stdout)["proven"] is True
    again = cutbench("resume", "run")
    assert "the run in run is finished; this is its result." in again.stderr
    assert "iris soft-margin: 150 samples" in again.stdout
    tighter = cutbench("resume", "run", "--gap", "1e-2", "--json")
    assert json.loads(tighter.stdout)["rounds"] == done["rounds"]


def test_solving_again_begins_again(cutbench):
    cutbench(*IRIS, "--max-rounds", 5, code=3)
    cutbench(*IRIS, "--max-rounds", 2, code=3)
    assert len(read("run")[1]) == 2


def test_resume_polishes_if_solve_was_to(cutbench):
    words = ("solve", "toy", "soft-margin", "--out", "run", "--overwrite", "--polish", "--json")
    straight = json.loads(cutbench(*words).stdout)
    cutbench(*words, "--max-rounds", 1, code=0 if straight["rounds"] == 1 else 3)
    done = json.loads(cutbench("resume", "run", "--json").stdout)
    assert done["optimum"] == straight["optimum"] is not None


def test_resume_reads_a_problem_file_again(cutbench, tmp_path, monkeypatch):
    rows = "".join(f"{a},{b},{label}\n" for a, b, label in [(0, 1, "x"), (1, 1, "x"), (1, 2, "y"), (5, 1, "y")])
    Path("four.csv").write_text(rows)
    cutbench("solve", "./four.csv", "soft-margin", "--out", "run", "--max-rounds", 1, code=3)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert json.loads(cutbench("resume", "../run", "--json").stdout)["problem"] == "four"
    (tmp_path / "four.csv").write_text(rows.replace("5", "6"))
    assert "The data have changed since the run in ../run began" in cutbench("resume", "../run", code=2).stderr
    (tmp_path / "four.csv").unlink()
    assert "There is no file" in cutbench("resume", "../run", code=2).stderr


def test_a_refusal_leaves_no_journal(cutbench):
    for words in (("--backend", "clarabell"), ("--groups", "few"), ("--backend", "all"), ()):
        cutbench("solve", "iris", "hard-margin", "--out", "run", *words, code=2)
        assert not Path("run").exists()


def test_resume_refuses_in_one_sentence(cutbench, copied):
    assert "holds no journal of a run" in cutbench("resume", "nothing", code=2).stderr
    assert "was begun in Python; continue there" in cutbench("resume", copied, code=2).stderr
    failure = json.loads(cutbench("resume", "nothing", "--json", code=2).stdout)
    assert list(failure) == ["error", "exit_code"]
    assert failure["exit_code"] == 2


def test_all_backends_are_continued_with_those_that_lack(cutbench, monkeypatch):
    monkeypatch.setattr("workbench.command.solutions.installed_backends", lambda: ["CLARABEL", "PIQP"])
    words = ("solve", "toy", "soft-margin", "--backend", "all", "--gap", "1e-7", "--out", "run", "--json")
    straight = json.loads(cutbench(*words).stdout)["rows"]
    path = Path("run/journal") / LINES
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    rows = json.loads(cutbench("resume", "run", "--json").stdout)["rows"]
    assert rows[0] == straight[0]
    assert rows[1]["upper"] == straight[1]["upper"]
    assert rows[1]["seconds"] != straight[1]["seconds"]
    again = cutbench("resume", "run", "--json")
    assert json.loads(again.stdout)["rows"] == rows
    assert "is finished" in again.stderr


SLOW = """
import numpy as np
import workbench as wb

def problem():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 4
    return wb.Multiclass(rng.normal(size=(80, 30)), y)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["SIGINT", "SIGKILL"])
def test_the_command_is_stopped_and_continued(cutbench, tmp_path, how):
    """A real process; what it printed to be done is what is done."""
    Path("slow.py").write_text(SLOW)
    options = ("--set", "lam=0.01", "--groups", "one", "--gap", "1e-11", "--out")
    words = ("solve", "slow.py", "soft-margin", *options)
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{listen}; from workbench.command.cli import main; main()"
    command = [sys.executable, "-c", code, *words, "run"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    lines, deadline = Path("run/journal") / LINES, time.monotonic() + 60
    while not (lines.exists() and lines.read_bytes().count(b"\n") > 8):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGSTOP)  # lest the run end while another process asks for it
    refused = cutbench("resume", "run", code=2)
    assert "Another process is working on the run in run" in refused.stderr
    process.send_signal(how)
    process.send_signal(signal.SIGCONT)
    stdout, stderr = process.communicate(timeout=60)
    assert stdout == ""
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert stderr == "cutbench: interrupted; `cutbench resume run` continues.\n"
    before = [entry.numbers["round"] for entry in read("run")[1]]
    assert before
    done = json.loads(cutbench("resume", "run", "--json").stdout)
    assert done["status"] == "optimal"
    assert done["rounds"] >= before[-1]
    assert json.loads(cutbench("verify", "run", "--json").stdout)["proven"] is True


# ── words that no run can use ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_rounds": -1}, "max_rounds is -1; give a positive whole number"),
        ({"max_rounds": 2.5}, "max_rounds is 2.5"),
        ({"max_rounds": True}, "max_rounds is True"),
        ({"time_limit": -3}, "time_limit is -3; give a positive number such as 60"),
        ({"time_limit": np.nan}, "time_limit is nan"),
        ({"gap": None}, "gap is None"),
        ({"gap": "small"}, "gap is 'small'"),
        ({"groups": True}, "groups is True"),
        ({"groups": 2.5}, "groups is 2.5"),
    ],
    ids=str,
)
def test_arguments(options, says):
    with pytest.raises(BadInput, match=says):
        wb.solve(FORM, blobs(), **options)


def test_arguments_in_another_order():
    for words in ((blobs(), FORM), (wb.SoftMargin, blobs()), (blobs(), blobs())):
        with pytest.raises(BadInput, match="solve takes a formulation, then a problem"):
            wb.solve(*words)
    for problem in (wb.Multiclass, None, np.ones(3)):
        with pytest.raises(BadInput, match="give an output structure with data"):
            wb.solve(FORM, problem)
    with pytest.raises(MissingCapability, match="cannot be solved"):
        wb.solve(object(), blobs())
    assert issubclass(BadInput, CutbenchError)


def test_a_program_of_a_round_whose_arrays_are_gone_begins_again(tmp_path):
    """A kill came while the program was being deleted, and the line after it was torn: `resume` refused for ever."""
    with Journal.create(tmp_path, {"command": "solve"}) as journal:
        with journal.inner(0) as inner:
            inner.append("round", {}, x=np.ones(3))
        with journal.inner(0) as inner:
            assert len(inner.entries) == 1
        (inner.folder / "arrays.npy").unlink()
        with journal.inner(0) as inner:
            assert not inner.entries
