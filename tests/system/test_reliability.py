"""A small part of `cutbench bench reliability`, and what the campaigns rest on: checkpoints, limits, alarms, floats.

The whole campaign is tests/support/reliability; docs/reliability.md holds its last run and the faults that it found.
"""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.arithmetic import machine
from workbench.backends import BACKENDS
from workbench.backends.cone import Answer, ConeProgram
from workbench.backends.limits import watched
from workbench.command import pictures, tables
from workbench.command.cli import cli
from workbench.command.exits import Interrupted
from workbench.command.solutions import resumable
from workbench.command.words import verb
from workbench.errors import BadInput, OutOfMemory, OutOfTime
from workbench.judging.judge import judge
from workbench.solving import recording
from workbench.solving.masters.master import GramMaster
from workbench.system import memory
from workbench.system.alarm import Late, TimeIsUp, alarm, time_limit
from workbench.system.journal import CHECKPOINT, LINES, PROGRAMS, Journal
from workbench.system.processes import Process

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
if str(SUPPORT) not in sys.path:
    sys.path.insert(0, str(SUPPORT))

from reliability import entries, hostile, slowly  # noqa: E402  found by the line above
from reliability.backends import PAIRS, judged, lying  # noqa: E402
from reliability.lies import LIES  # noqa: E402
from reliability.runs import BENCH, CROSSCHECK, clouds, motifs, scaled  # noqa: E402

# ── the campaigns ─────────────────────────────────────────────────────────────────────────────────


def test_runs_under_fire():
    """Kills and damage on runs of three kinds, in a process that may be forked."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{SUPPORT}", "OMP_NUM_THREADS": "1"}
    words = [
        sys.executable,
        "-W",
        "ignore",
        str(SUPPORT / "reliability" / "fire.py"),
        "5",
        "5",
        "cuts,smooth,search",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    trials = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(trials) == 5
    assert [trial for trial in trials if not trial[2]] == []


@pytest.mark.parametrize("kind", ["None", "x plainly wrong", "z NaN", "infeasible, a ray at random", "raises a panic"])
def test_lies_of_a_backend(kind):
    form, problem, more = PAIRS["gram"]()
    best = wb.solve(form, problem, gap=1e-10, **more).upper
    with np.errstate(all="ignore"), lying(LIES[kind], "time_limit"):
        assert judged(PAIRS["gram"](), best, {"max_rounds": 10}) == ""


HOSTILE = ["lines.jsonl is a link", "verify: JSON nested", "journal: no command", "LP: an exponent"]


@pytest.mark.parametrize("only", HOSTILE)
def test_hostile_files(only):
    trials = list(hostile.campaign(only))
    assert trials
    assert [trial for trial in trials if not trial.survived] == []


DAMAGED = [
    ("MPS", "CRLF", entries.PROVE),
    ("LP", "the first 60%", entries.PROVE),
    ("problem file", "an escape inside", entries.SOLVE),
    ("certificate, header", "number 3 is 1e400", ["verify", "run", "--json"]),
    ("certificate, arrays", "the first 90%", ["explain", "run", "--json"]),
    ("journal", "NUL inside", ["resume", "run", "--json"]),
]


@pytest.mark.parametrize(("file", "damage", "words"), DAMAGED, ids=[each[0] for each in DAMAGED])
def test_damaged_files_at_every_entry(file, damage, words):
    said, _ = entries.damaged(file, damage, words)
    assert said == []


@pytest.mark.parametrize("words", [["check-oracle", "toy", "--seed", "-1"], [*CROSSCHECK, "--seeds", "9" * 400]])
def test_seeds_beyond_all_bounds_are_one_sentence(words):
    said, _ = entries.tried(words)
    assert said == []


@pytest.mark.parametrize("kept", [True, False])
def test_an_error_of_work_that_the_time_limit_cut_short_is_the_end_of_time(kept):
    """A compiler that an alarm interrupts fails in its own cleaning up; native code forgets what came first."""

    @verb("A verb.")
    def command() -> int:
        try:
            time.sleep(5)
        except BaseException as error:
            failure = RuntimeError("no compiled object yet")
            failure.__context__ = error if kept else None
        raise failure

    with pytest.raises(OutOfTime, match=r"The time limit of 0.05 s came"):
        command.main(["--time-limit", "0.05"], standalone_mode=False)


def test_an_error_of_work_that_was_interrupted_is_the_interruption():
    """pybind11 takes a KeyboardInterrupt for arguments that do not fit, and raises a TypeError."""

    @verb("A verb.")
    def command() -> int:
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        raise TypeError("incompatible function arguments")

    outer = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of pytest ignore the signal
    try:
        with pytest.raises(click.Abort):
            command.main([], standalone_mode=False)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, outer)


def test_such_an_interruption_says_how_to_continue(tmp_path):
    """The line names the run although the error that reaches the run's end is native code's."""
    (tmp_path / "journal").mkdir()

    @verb("A verb.")
    def command() -> int:
        with resumable(tmp_path):
            with suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)
            raise TypeError("incompatible function arguments")

    outer = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of pytest ignore the signal
    try:
        with pytest.raises(Interrupted, match=r"^interrupted; `cutbench resume .*` continues\.$"):
            command.main([], standalone_mode=False)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, outer)


def test_a_full_disk_is_no_failure_of_a_benchmark(tmp_path, monkeypatch):
    """The numbers are printed, and the sentence is that of the journal."""
    monkeypatch.chdir(tmp_path)
    append = Journal.append

    def full(self, kind, numbers, **arrays):
        if kind == "row":
            raise BadInput("Cannot keep the journal.")
        return append(self, kind, numbers, **arrays)

    monkeypatch.setattr(Journal, "append", full)
    done = CliRunner().invoke(cli, [*BENCH, "--out", "run"])
    assert done.exit_code == 2
    assert "Cannot keep" not in done.stdout
    assert done.stderr == "cutbench: Cannot keep the journal.\n"


# ── checkpoints ───────────────────────────────────────────────────────────────────────────────────


class Enough(Exception):
    """Ends a run from outside, as a kill does."""


RUNS = {
    "passes": (wb.SoftMargin(lam=0.0002), clouds, {"master": "dual-block"}),
    "descent": (wb.CRF(lam=1e-4), scaled, {}),
    "search": (wb.SelfPaced(C=8.0, K=2.0), lambda: clouds(24, 3, True), {}),
}


@pytest.mark.parametrize("loop", RUNS)
def test_a_loop_goes_on_from_its_checkpoint(loop, tmp_path, monkeypatch):
    """Cut off at a checkpoint with rounds behind it, a run goes on: no work is done twice, the optimum is the same."""
    form, make, options = RUNS[loop]
    straight, keep, kept = wb.solve(form, make(), gap=1e-11, **options), recording.Checkpoints.keep, []

    def cut_off(self, numbers, **arrays):
        keep(self, numbers, **arrays)
        kept.append(numbers)
        if len(kept) >= 2 and len(numbers.get("history", "passes keep none")) > 1:
            raise Enough

    with monkeypatch.context() as patch:
        patch.setattr(recording, "EVERY", 1e-3)
        patch.setattr(recording.Checkpoints, "keep", cut_off)
        with pytest.raises(Enough):
            wb.solve(form, make(), gap=1e-11, journal=tmp_path, **options)
    with Journal.resume(tmp_path) as journal:
        last = journal.standing(loop)
        assert last.numbers == json.loads(json.dumps(kept[-1]))
        assert journal.standing("another loop") is None
        found = wb.solve(form, make(), gap=1e-11, journal=journal, **options)
    assert found.status == "optimal"
    for bound in (found.upper, found.lower):
        assert bound == pytest.approx(straight.upper, rel=1e-10)
    if loop != "passes":
        done = len(kept[-1]["history"])
        assert [entry["round"] for entry in found.history[:done]] == [entry["round"] for entry in kept[-1]["history"]]
        assert found.history[: done - 1] == kept[-1]["history"][: done - 1]


def test_a_program_inside_a_round_goes_on_after_a_kill(tmp_path, monkeypatch):
    """Cut off in the first program of an alternation: its rounds are kept, and are not run again."""
    form, write, inside = wb.LatentSSVM(C=10.0), Journal.write, []
    straight = wb.solve(form, motifs(), gap=1e-11)

    def cut_off(self, record):
        write(self, record)
        if self.settings["command"] == PROGRAMS and record["kind"] == "round":
            inside.append(record["round"])
            if len(inside) == 4:
                raise Enough

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", cut_off)
        with pytest.raises(Enough):
            wb.solve(form, motifs(), gap=1e-11, journal=tmp_path)
        with Journal.resume(tmp_path) as journal:
            assert journal.entries == []
            found = wb.solve(form, motifs(), gap=1e-11, journal=journal)
    assert inside[:5] == [1, 2, 3, 4, 5]
    assert found.upper == pytest.approx(straight.upper, rel=1e-10)
    assert not (tmp_path / "journal" / PROGRAMS).exists()


def test_a_program_of_another_round_is_begun_anew(tmp_path):
    with Journal.create(tmp_path, {"command": "test"}) as journal:
        with journal.inner(0) as inner:
            inner.append("round", {"n": 1})
        with journal.inner(0) as inner:
            assert [entry.numbers for entry in inner.entries] == [{"n": 1}]
        journal.append("round", {"n": 1})
        with journal.inner(0) as inner:
            assert inner.entries == []
        journal.drop_inner()
        (tmp_path / "elsewhere").mkdir()
        os.symlink(tmp_path / "elsewhere", tmp_path / "journal" / PROGRAMS)
        with pytest.raises(BadInput, match="is a link, and a run writes only into its own folder"):
            journal.inner(0)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_journal_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "run" / "journal")
    with pytest.raises(BadInput, match="is a link, and a run writes only into its own folder"):
        Journal.create(tmp_path / "run", {})
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_damaged_checkpoint_is_one_sentence(tmp_path):
    with Journal.create(tmp_path, {"command": "test"}) as journal:
        journal.checkpoint("passes", {"n": 1}, {"a": np.arange(4)})
        entry = journal.standing("passes")
        assert entry.numbers == {"n": 1}
        np.testing.assert_array_equal(entry.arrays()["a"], np.arange(4))
        path = tmp_path / "journal" / CHECKPOINT
        whole = path.read_bytes()
        for damage in (whole[:20], b"\0" + whole[1:], whole[:-3] + b"xxx"):
            path.write_bytes(damage)
            with pytest.raises(BadInput, match="delete that file to go on from the last finished round"):
                journal.standing("passes").arrays()
    with Journal.create(tmp_path, {"command": "another"}) as other:
        assert other.standing("passes") is None
        path.write_bytes(whole)
        with pytest.raises(BadInput, match="or of another run"):
            other.standing("passes")


def test_links_and_pipes_are_no_journal(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    for make in (os.symlink, lambda _, path: os.mkfifo(path)):
        folder = tmp_path / "run" / "journal"
        folder.mkdir(parents=True, exist_ok=True)
        make(victim, folder / LINES)
        with pytest.raises(BadInput, match="is no file but a link or a device"):
            Journal.create(tmp_path / "run", {})
        (folder / LINES).unlink()
    assert victim.read_text() == "kept"


# ── limits ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "size"), [("2GiB", 2**31), ("500M", 500 * 2**20), ("1073741824", 2**30), ("0.5 gb", 2**29)]
)
def test_sizes(text, size):
    assert memory.size_of(text) == size


@pytest.mark.parametrize("text", ["", "2", "-1G", "1e9", "nan", "GiB", "2 XB", "9" * 400, "9999999T"])
def test_sizes_that_are_none(text):
    with pytest.raises(BadInput, match="give a size of at least 256MiB, such as 2GiB"):
        memory.size_of(text)


def test_a_memory_limit_holds_and_is_lifted():
    limit = memory.held() + 2**29
    lifted = memory.limited_to(limit)
    try:
        assert memory.limit() == limit
        with pytest.raises(MemoryError):
            np.ones(2**28)
        with pytest.raises(OutOfMemory, match=r"A table would take 2 GiB and .* of memory are left; take less"):
            memory.demand(2**31, "A table", "take less")
    finally:
        lifted()
    assert memory.limit() is None
    assert len(np.zeros(2**20)) == 2**20


def test_a_gram_matrix_that_does_not_fit_ends_at_a_limit_with_what_is_proven(monkeypatch):
    """The estimate refuses the rows; the bounds so far stay."""
    monkeypatch.setattr("workbench.solving.masters.master.demand", refuse_after(3))
    found = wb.solve(wb.SoftMargin(lam=0.05), clouds(), gap=1e-11, master="gram", groups="one")
    best = wb.solve(wb.SoftMargin(lam=0.05), clouds(), gap=1e-11)
    assert found.status == "limit"
    assert found.lower <= best.upper
    assert best.lower <= found.upper < np.inf
    assert "out of memory: The inner products of" in found.own_status
    assert GramMaster.__name__ == "GramMaster"


def refuse_after(calls):
    left = iter(range(calls))

    def demand(size, what, instead):
        if next(left, None) is None:
            raise OutOfMemory(f"{what} would take much; {instead}.")

    return demand


def test_every_verb_has_both_limits():
    for name, each in cli.commands.items():
        words = {word for option in each.params for word in option.opts}
        assert {"--time-limit", "--memory-limit"} <= words, name


def test_a_verb_without_rounds_is_ended_in_time():
    words = ["crosscheck", "digits", "soft-margin", "--set", "lam=1e-5", "--learners", "bcfw", "--passes", "9999"]
    began = time.process_time()
    done = CliRunner().invoke(cli, [*words, "--time-limit", "2"])
    assert done.exit_code == 3, done.output
    assert "time limit" in done.stderr
    assert time.process_time() - began < 1.1 * 2 + 2
    assert done.stderr.replace("\n", "").isprintable()


def test_alarms_nest():
    with pytest.raises(TimeIsUp), time_limit(0.2), alarm(30.0):
        time.sleep(5)
    with time_limit(30.0):
        with pytest.raises(Late), alarm(0.05):
            time.sleep(5)
        assert 25 < signal.getitimer(signal.ITIMER_REAL)[0] < 30
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_limit_beyond_the_clock_of_the_system_is_no_limit():
    """It was an OverflowError of the timer, both here and in the process of a backend."""
    with time_limit(1e308), alarm(1e300), Process(slowly) as process:
        assert 1e4 < signal.getitimer(signal.ITIMER_REAL)[0] < 1e7
        process.ask({"seconds": 0.0}, {}, 1e308)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_no_alarm_is_lost_and_none_is_left_behind():
    """Rings while alarms are set and taken away: the outer alarm goes off once, in time, and nothing after."""
    handler, hook, rings = signal.getsignal(signal.SIGALRM), sys.unraisablehook, 0
    for length in np.random.default_rng(0).uniform(1e-3, 0.03, 60):
        began = time.monotonic()
        with pytest.raises(TimeIsUp), time_limit(length):  # noqa: PT012  (the loop has no end)
            while True:
                with suppress(Late), alarm(3e-5):
                    rings += 1
                with suppress(Late), alarm(max(length - (time.monotonic() - began), 1e-6)):
                    rings += 1
                assert time.monotonic() - began < 20
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        assert signal.getsignal(signal.SIGALRM) is handler
        assert sys.unraisablehook is hook
    assert rings > 60
    time.sleep(5e-3)


def test_an_alarm_that_a_destructor_drops_rings_again_at_once(capfd):
    """Three seconds later was too late: a benchmark worked for 5.3 seconds under a limit of 3."""

    class Slow:
        def __del__(self):
            while time.monotonic() - began < 0.2:  # the alarm is dropped here
                pass

    began, used = time.monotonic(), time.process_time()
    with pytest.raises(TimeIsUp), time_limit(0.1):  # noqa: PT012  (the loop has no end)
        Slow()
        while time.monotonic() - began < 10:
            pass
    assert time.process_time() - used < 1.2
    assert capfd.readouterr().err == ""


def test_an_answer_that_nobody_awaits_is_dropped_without_a_word(capfd):
    """A time limit ended the asking: the process that still works found its pipe closed, and printed a traceback."""
    process = Process(slowly)
    process.ask({"seconds": 0.0}, {})
    with pytest.raises(TimeIsUp), time_limit(0.1):
        process.ask({"seconds": 0.4}, {})
    assert not process.alive
    assert capfd.readouterr().err == ""


def test_a_forked_process_leaves_the_workers_of_its_parent_alone():
    """Both wrote into one pipe, and each read the other's answers, or waited for ever."""
    with Process(slowly) as process:
        process.ask({"seconds": 0.0}, {})
        child = os.fork()
        if child == 0:
            here = process.alive
            process.end()
            os._exit(here)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert process.alive
        process.ask({"seconds": 0.0}, {})


def test_a_forked_process_has_backends_of_its_own():
    """It asked its parent's, and met what another child had left in the pipe: half a question, or the answer to one."""

    def answer(size: int) -> Answer:
        return BACKENDS["CLARABEL"].solve(nearest(size), 1e-8, time_limit=30.0)

    answer(3)
    for size in (2, 4):
        child = os.fork()
        if child == 0:
            code = 1
            with suppress(BaseException):
                theirs = watched("CLARABEL", BACKENDS["CLARABEL"].run)
                right = np.allclose(answer(size).x, 0.5, atol=1e-6)
                os.write(theirs.questions.fileno(), b"half a question")
                code = 0 if right else 2
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert answer(5).x.size == 5


def test_threads_that_solve_at_once_have_backends_of_their_own():
    """They met answers to one another's questions. Processes of threads that have ended end with the next start."""
    own = BACKENDS["CLARABEL"]

    def answers(size: int) -> bool:
        found = (own.solve(nearest(size), 1e-8, time_limit=30.0).x for _ in range(20))
        return all(each.shape == (size,) and np.allclose(each, 0.5, atol=1e-6) for each in found)

    ours = watched("CLARABEL", own.run)
    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(answers, (2, 3, 4)))
        theirs = pool.submit(watched, "CLARABEL", own.run).result()
    assert theirs is not ours
    assert theirs.alive
    ours.end()
    assert watched("CLARABEL", own.run).alive
    assert not theirs.alive


def nearest(size: int) -> ConeProgram:
    """min ½‖x‖²  s.t.  x ≥ ½."""
    return ConeProgram(np.eye(size), np.zeros(size), -np.eye(size), np.full(size, -0.5), 0, size)


def test_an_alarm_leaves_the_timers_of_others():
    heard = []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(time.monotonic()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with alarm(30.0):
            time.sleep(0.1)
        assert len(heard) == 1
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Late), alarm(0.01):
            time.sleep(5)
        time.sleep(0.2)
        assert len(heard) == 2
    finally:
        signal.signal(signal.SIGALRM, before)


def test_sigterm_ends_a_run_as_ctrl_c_does(tmp_path):
    words = ["solve", "synthetic-chain", "soft-margin", "--set", "n=400", "--set", "lam=1e-7", "--gap", "1e-13"]
    words += ["--out", "run"]  # takes minutes, also beside other work
    code = "from workbench.command.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
    )
    while not (tmp_path / "run" / "journal" / LINES).is_file() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.3)
    process.terminate()
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"interrupted; `cutbench resume run` continues." in told


def test_a_failure_of_our_audit_is_ours(monkeypatch):
    """The audit of a solver of ours runs out of memory: a remark, and no verdict about the solver."""

    def exhausted(hooks, reference):
        raise MemoryError("Unable to allocate 23.8 GiB")

    reference = wb.solve(wb.SoftMargin(lam=0.5), clouds(), gap=1e-9)
    plain = judge("bcfw", reference, passes=2000)
    monkeypatch.setattr("workbench.judging.stand.audit", exhausted)
    found = judge("bcfw", reference, passes=2000)
    assert found.verdict == plain.verdict == "agrees"
    assert "An audit of ours could not be made (MemoryError: Unable to allocate 23.8 GiB)" in found.reason
    assert "crashed" not in found.reason


# ── floats, backends ──────────────────────────────────────────────────────────────────────────────


def test_the_floats_of_this_machine():
    assert set(machine.arithmetic()) >= {"Python", "NumPy"}
    assert not any(machine.arithmetic().values())


@pytest.mark.parametrize(
    ("place", "value", "claim"),
    [(1, 1.0, "nearest"), (4, 0.0, "subnormal"), (5, 1e-18, "no con"), (6, 1.0, "no re"), (7, 0.0, "NaN")],
)
def test_other_floats_are_found(place, value, claim):
    out = np.zeros(8)
    with np.errstate(invalid="ignore"):
        machine.measured(np.array([1.0, machine.ULP, 2.0**-1022, 1.0 + 2.0**-30, 2.0**53, np.inf]), out)
    assert all(machine.expected(out).values())
    out[place] = value
    assert [name for name, holds in machine.expected(out).items() if not holds] == [
        name for name in machine.CLAIMS if name.startswith(claim)
    ]


def test_a_backend_under_a_time_limit_runs_elsewhere():
    """A crash inside native code ends the other process, and is one sentence."""
    from reliability.lies import ENDS

    with lying(ENDS["crashes"], None), pytest.raises(wb.errors.BackendFailed, match="ended with SIGSEGV"):
        wb.solve(wb.SoftMargin(lam=0.05), clouds(15), gap=1e-3, backend="LIAR", time_limit=20.0)
    assert "LIAR" not in BACKENDS


@pytest.mark.parametrize(
    "change",
    [
        lambda first: first["options"].update(newer=1),
        lambda first: first["options"].pop("groups"),
        lambda first: first["formulation"]["settings"].update(newer=1),
    ],
)
def test_a_journal_of_another_version_is_one_sentence(change, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hostile.journal(hostile.resealed(change))()
    said, _ = entries.tried(["resume", "run"])
    assert said == []


# ── the surroundings of the command ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("closed", "encoding"),
    [("<&-", "utf-8"), (">&-", "utf-8"), ("2>&-", "utf-8"), ("<&- >&- 2>&-", "utf-8"), ("", "latin-1")],
)
def test_streams_that_are_closed_or_cannot_show_a_character(closed, encoding, tmp_path):
    """The list holds characters beyond Latin-1; a bad word is refused, and the sentence is lost with its stream."""
    own = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding}
    run = f"{sys.executable} -c 'from workbench.command.cli import main; main()' "
    for words, code in (("list", 0), ("verify nothing", 2)):
        done = subprocess.run(["sh", "-c", f"{run}{words} {closed}"], env=own, cwd=tmp_path, capture_output=True)
        assert (done.returncode, b"bug" in done.stderr) == (code, False), done.stderr
        assert bool(done.stdout) == (code == 0 and ">&-" not in closed.replace("2>&-", ""))
    assert list(tmp_path.iterdir()) == []


FORMULA = "=cmd|' /C calc'!A0"


def test_no_cell_that_we_write_is_a_formula():
    text = tables.written([{FORMULA: "@SUM(1)", "n": -1.5}, {"n": 2, "more": "-3+4"}])
    assert list(csv.reader(io.StringIO(text))) == [
        [f"'{FORMULA}", "n", "more"],
        ["'@SUM(1)", "-1.5", ""],
        ["", "2", "'-3+4"],
    ]
    assert pictures.table({"label": np.array([FORMULA, "y"]), "x": np.array([-1.0, 2.0])}) == (
        f"label,x\n'{FORMULA},-1.0\ny,2.0\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_a_full_disk_behind_stdout_is_one_sentence(tmp_path):
    """With --json the error's own object did not fit either, and that was a traceback."""
    main = "from workbench.command.cli import main; main()"
    words = [sys.executable, "-c", main, "solve", "toy", "soft-margin", "--json", "--out", str(tmp_path / "run")]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 2
    assert "No space left on device: standard output; free some, or write elsewhere." in done.stderr
    assert "Traceback" not in done.stderr
