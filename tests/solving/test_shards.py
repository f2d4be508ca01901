"""Workers: the same optimum as one machine, whatever they do."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Future
from importlib.util import find_spec

import numpy as np
import pytest

import workbench as wb
from workbench.contracts import Cuts
from workbench.proofs.any_bounds import bounds_for
from workbench.solving import shards as many
from workbench.solving import worker
from workbench.solving.family import Family
from workbench.solving.shards import ShardAscent, Shards
from workbench.solving.solution import release, train_error
from workbench.system import workers
from workbench.system.journal import Journal

GAP = 1e-7
NEEDS_DASK = pytest.mark.skipif(
    find_spec("distributed") is None, reason="distributed is not installed: pip install 'cutbench[cluster]'"
)


@pytest.fixture(scope="module")
def words():
    return wb.load_problem("synthetic-chain")(n=24)


@pytest.fixture(scope="module")
def optimum(words):
    return wb.solve(wb.SoftMargin(lam=0.05), words, gap=GAP)


@pytest.fixture
def dear(monkeypatch):
    """Every oracle counts as dear enough for workers."""
    monkeypatch.setattr(many, "EVEN", 0.0)
    monkeypatch.setattr(many, "EACH", 0.0)


def same(solution, optimum, gap=GAP):
    assert solution.status == "optimal"
    assert solution.gap <= gap
    assert solution.lower <= optimum.upper
    assert optimum.lower <= solution.upper


@pytest.mark.parametrize("master", [None, "shards"])
@pytest.mark.parametrize("spec", ["here:1", "here:3", "local:2"])
def test_workers_give_the_same_optimum(words, optimum, dear, spec, master, tmp_path):
    found = wb.solve(wb.SoftMargin(lam=0.05), words, gap=GAP, parallel=spec, master=master)
    same(found, optimum)
    assert found.parallel == f"{spec[-1]} workers"
    assert found.master == (master or "ascent")
    path = found.certificate.save(tmp_path / "shared")
    assert wb.verify(path, data=words)["proven"]


def test_cheap_oracles_stay_serial(words, optimum, monkeypatch):
    monkeypatch.setattr(many, "assembled", None)  # nobody is to be hired
    found = wb.solve(wb.SoftMargin(lam=0.05), words, gap=GAP, parallel="local:2")
    same(found, optimum)
    assert found.parallel.startswith("serial, because a sweep of the oracle over 24 samples takes")


def askers(monkeypatch):
    """Who sweeps, "workers" or "driver", in the order of sweeps."""
    found, true = [], Family.answers

    def answers(self, theta, clock):
        found.append("driver" if self.shards is None else "workers")
        return true(self, theta, clock)

    monkeypatch.setattr(Family, "answers", answers)
    return found


def test_workers_that_rightly_find_no_new_row_are_asked_again(words, optimum, dear, monkeypatch):
    """A round without a new row is no lie, as the driver tells by a few samples, and before it gives up by all."""
    sweeps, audits, true = askers(monkeypatch), [], Shards.missed

    def missed(self, theta):
        audits.append(true(self, theta))
        return audits[-1]

    monkeypatch.setattr(Shards, "missed", missed)
    same(wb.solve(wb.SoftMargin(lam=0.05), words, gap=GAP, parallel="here:2"), optimum)
    assert audits
    assert not any(audits)
    assert set(sweeps) == {"workers"}
    sweeps.clear()
    same(wb.solve(wb.SoftMargin(lam=0.05), words, gap=1e-12, parallel="here:2"), optimum)
    assert not any(audits)
    assert "dw" in "".join(who[0] for who in sweeps)


class AtOnce:
    """In place of a thread at the driver's side: what it is given is done before it goes on."""

    def __init__(self, count):
        assert count == 1

    def submit(self, work, *given):
        done = Future()
        done.set_result(work(*given))
        return done

    def shutdown(self):
        pass


def test_workers_that_deny_a_row_are_not_asked_again(words, optimum, dear, monkeypatch):
    lying(monkeypatch, "argmax", truths)
    monkeypatch.setattr(many, "ThreadPoolExecutor", AtOnce)  # the workers have started, and make the opening sweep
    sweeps = askers(monkeypatch)
    same(wb.solve(wb.SoftMargin(lam=0.05), words, gap=GAP, parallel="here:2"), optimum)
    assert sweeps.index("driver") == 2
    assert set(sweeps[2:]) == {"driver"}


# ── workers that lie ──────────────────────────────────────────────────────────────────────────────


def truths(numbers, arrays, reply):
    """Answers the truth, which is seldom the highest cut: upper bounds by this answer are too low."""
    return {"witnesses": worker.DESKS[numbers["run"]].problem.truth[arrays["samples"]]}


def stale(numbers, arrays, reply):
    """Answers as for θ = 0."""
    desk = worker.DESKS[numbers["run"]]
    return {"witnesses": desk.oracle.argmax(np.zeros_like(arrays["theta"]), arrays["samples"])}


SWEEPS = {
    "truths": truths,
    "stale": stale,
    "out of range": lambda n, a, r: {"witnesses": r["witnesses"] + 10**6},
    "negative": lambda n, a, r: {"witnesses": -1 - r["witnesses"]},
    "fewer": lambda n, a, r: {"witnesses": r["witnesses"][:-1]},
    "floats": lambda n, a, r: {"witnesses": r["witnesses"] + 0.5},
    "nothing": lambda n, a, r: {},
}


def lying(monkeypatch, task, lie, share=1.0, seed=0):
    """Every answer to `task`, or a share of them, becomes what `lie` makes of it."""
    true, rng = many.answer, np.random.default_rng(seed)

    def answer(numbers, arrays):
        words, reply = true(dict(numbers), arrays)
        return (
            (words, lie(numbers, arrays, reply)) if numbers["do"] == task and rng.random() < share else (words, reply)
        )

    monkeypatch.setattr(many, "answer", answer)


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize(("share", "seed"), [(1.0, 0), (0.3, 0), (0.5, 0), (0.5, 1), (0.5, 2)])
def test_sweeps_that_lie_cost_time_only(words, optimum, dear, monkeypatch, name, share, seed):
    lying(monkeypatch, "argmax", SWEEPS[name], share, seed)
    same(wb.solve(wb.SoftMargin(lam=0.05), words, gap=GAP, parallel="here:2"), optimum)


DECODES = SWEEPS | {"worst": lambda n, a, r: {"witnesses": (r["witnesses"] + 1) % 5}, "none": lambda n, a, r: None}


@pytest.mark.parametrize("name", ["", *DECODES])
@pytest.mark.parametrize("spec", ["here:2", "here:3"])
def test_predictions_of_workers_are_those_of_the_driver(words, optimum, dear, monkeypatch, name, spec):
    """One worker of two or three lies in every answer: `train_error` is that of the driver's own predictions."""
    true, answers = many.answer, []

    def answer(numbers, arrays):
        words, reply = true(dict(numbers), arrays)
        if numbers["do"] == "decode":
            answers.append(reply)
            reply = DECODES[name](numbers, arrays, reply) if name and len(answers) == 1 else reply
        return words, {} if reply is None else reply

    monkeypatch.setattr(many, "answer", answer)
    found = wb.solve(wb.SoftMargin(lam=0.05), words, gap=GAP, parallel=spec)
    same(found, optimum)
    assert len(answers) == int(spec[-1])
    assert found.train_error == train_error(bounds_for(wb.SoftMargin(lam=0.05), words), found.theta_flat)


def test_workers_predict_while_the_driver_proves(words, dear, monkeypatch):
    """The driver sweeps once for the upper bound, and never for predictions."""
    asked, true = [], type(bounds_for(wb.SoftMargin(lam=0.05), words).oracle).decode

    def decode(self, theta, samples):
        asked.append(len(samples))
        return true(self, theta, samples)

    bounds = bounds_for(wb.SoftMargin(lam=0.05), words)
    with Shards(bounds, "local:2") as shards:
        shards.open(0.1)
        monkeypatch.setattr(type(bounds.oracle), "decode", decode)
        theta = np.random.default_rng(0).normal(size=bounds.oracle.dim)
        with shards.predicting(theta):
            pass
        found = shards.predicted
        shards.predicted = None
        monkeypatch.setattr(shards, "ask", lambda questions: [None] * len(questions))
        with shards.predicting(theta):
            assert not asked
    assert asked == [24]
    assert np.array_equal(found.outputs, shards.predicted.outputs)
    assert np.array_equal(found.theta, theta)


def test_a_lie_would_prove_a_false_upper_bound(words, optimum, dear, monkeypatch):
    """Without the driver's own sweep the answer `truths` ends the run below the optimum: the check is needed."""
    lying(monkeypatch, "argmax", truths)
    bounds = bounds_for(wb.SoftMargin(lam=0.05), words)
    with Shards(bounds, "here:2") as shards:
        witnesses = shards.argmax(bounds.start, bounds.samples)
    assert bounds.upper(bounds.start, witnesses) < optimum.lower


def shifted(numbers, arrays, reply):
    weights = reply["weights"].copy()
    weights[0] += 0.01
    return reply | {"weights": weights}


MOVES = {
    "shifted": shifted,
    "negative": lambda n, a, r: r | {"weights": -r["weights"]},
    "nan": lambda n, a, r: r | {"weights": r["weights"] * np.nan},
    "foreign": lambda n, a, r: r | {"of": (r["of"] + 1) % 24},
    "out of range": lambda n, a, r: r | {"of": r["of"] + 10**6},
    "shape": lambda n, a, r: r | {"weights": r["weights"][:, None]},
    "no outputs": lambda n, a, r: r | {"witnesses": r["witnesses"] + 10**6},
    "worst": lambda n, a, r: r | {"weights": a["weights"], "of": a["of"], "witnesses": r["witnesses"][: len(a["of"])]},
    "nothing": lambda n, a, r: {},
}


@pytest.mark.parametrize("name", MOVES)
def test_the_dual_never_falls(words, monkeypatch, name):
    """Whatever comes back: D rises or stays, θ belongs to β, weights are ≥ 0 and sum to p_i."""
    lying(monkeypatch, "ascend", MOVES[name], share=0.5)
    bounds = bounds_for(wb.SoftMargin(lam=0.05), words)
    with Shards(bounds, "here:3") as shards:
        cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
        ascent = ShardAscent(shards, cuts)
        values = [ascent.value(ascent.weights)]
        for _ in range(8):
            ascent.advance()
            values.append(ascent.value(ascent.weights))
            assert (ascent.weights >= 0).all()
            mass = np.bincount(cuts.samples, ascent.weights, bounds.oracle.n_samples)
            assert mass == pytest.approx(bounds.prices.floats(), rel=1e-12)
            assert ascent.theta == pytest.approx(ascent.at(ascent.weights), abs=1e-12)
    assert (np.diff(values) >= 0).all()
    assert values[-1] > values[0]
    assert shards.rejected > 0 or name == "worst"


# ── workers that go ───────────────────────────────────────────────────────────────────────────────


def test_a_killed_worker_costs_time_only(words, optimum, dear):
    """One of two processes is killed again and again; another takes its place."""
    opened, kills = [], []
    true = many.assembled

    def watched(*arguments):
        opened.append(true(*arguments))
        return opened[-1]

    def hunt():
        rng = np.random.default_rng(1)
        while len(kills) < 3 and not done.is_set():
            time.sleep(float(rng.uniform(0.05, 0.3)))
            alive = [each for each in (opened[0].members if opened else ()) if each and each.alive]
            if alive:
                os.kill(alive[0].process.pid, signal.SIGKILL)
                kills.append(alive[0])

    done = threading.Event()
    hunter = threading.Thread(target=hunt)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many, "assembled", watched)
        hunter.start()
        try:
            same(wb.solve(wb.SoftMargin(lam=0.05), words, gap=GAP, parallel="local:2"), optimum)
        finally:
            done.set()
            hunter.join()
    assert kills


def test_a_run_goes_on_with_other_workers(words, optimum, dear, tmp_path):
    form = wb.SoftMargin(lam=0.05)
    begun = wb.solve(form, words, gap=GAP, parallel="here:3", max_rounds=4, journal=tmp_path / "run")
    assert begun.status == "limit"
    found = wb.solve(form, words, gap=GAP, journal=Journal.resume(tmp_path / "run"))
    same(found, optimum)
    assert found.rounds > 4
    assert found.parallel == ""


# ── users' own functions, and a cluster ───────────────────────────────────────────────────────────

OWN = """
    import time
    import numpy as np
    import workbench as wb

    def problem(pause: float = 0.0):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(12, 3))
        Y = [int(np.argmax(x)) for x in X]

        def argmax(w, x, y=None):
            time.sleep(pause)
            scores = [w[3 * k : 3 * k + 3] @ x + (y is not None and k != y) for k in range(3)]
            return int(np.argmax(scores))

        def features(x, y):
            out = np.zeros(9)
            out[3 * y : 3 * y + 3] = x
            return out

        return wb.Structured(X, Y, features=features, loss=lambda y, z: float(y != z), argmax=argmax)
"""


def test_functions_of_a_user_work_in_processes(tmp_path, dear, monkeypatch):
    """Also those that import a file beside theirs."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "own.py"
    (tmp_path / "beside_own.py").write_text("LOSS = 1.0\n")
    own = textwrap.dedent(OWN).replace("float(y != z)", "beside_own.LOSS * (y != z)")
    path.write_text(f"import beside_own\n{own}")
    from click.testing import CliRunner

    from workbench.command.cli import cli

    words = [
        "solve",
        str(path),
        "soft-margin",
        "--gap",
        "1e-6",
        "--parallel",
        "local:2",
        "--out",
        str(tmp_path / "run"),
    ]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    assert "2 workers" in result.output
    assert "refused" not in result.output


@NEEDS_DASK
@pytest.mark.filterwarnings("ignore")  # of tornado and dask, at their end
def test_dask_workers(words, optimum, dear):
    from distributed import LocalCluster

    words_of_cluster = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**words_of_cluster, host="127.0.0.1", protocol="tcp://") as cluster:
        spec = cluster.scheduler_address.replace("tcp://", "dask://")
        found = wb.solve(wb.SoftMargin(lam=0.05), words, gap=GAP, parallel=spec)
    same(found, optimum)
    assert found.parallel == "2 workers"


CLUSTER = """
    import sys
    from distributed import LocalCluster

    if __name__ == "__main__":
        words = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
        with LocalCluster(**words, protocol="tcp://") as cluster:
            print(cluster.scheduler_address, flush=True)
            sys.stdin.read()
"""
OTHER = """
    import os
    from workbench.solving import solution

    if os.environ.get("AT_A_WORKER") == "old":
        solution.release = lambda: "0.0.9"
"""


@pytest.fixture
def cluster(tmp_path):
    """start(at): a cluster of two processes whose environment says AT_A_WORKER=at; its process and its address."""
    (tmp_path / "cluster.py").write_text(textwrap.dedent(CLUSTER))
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(OTHER))
    started = []

    def start(at):
        paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        around = os.environ | {"AT_A_WORKER": at, "PYTHONPATH": paths}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        each = subprocess.Popen([sys.executable, str(tmp_path / "cluster.py")], env=around, **pipes)
        started.append(each)
        return each, each.stdout.readline().strip().replace("tcp://", "dask://")

    yield start
    for each in started:
        each.stdin.close()
        each.wait(30)
        each.stdout.close()


def command(tmp_path, address, content, *more):
    """The words of `cutbench solve` on a file of a user's functions."""
    (tmp_path / "own.py").write_text(textwrap.dedent(content))
    words = [sys.executable, "-m", "workbench.command.cli", "solve", str(tmp_path / "own.py"), "soft-margin", *more]
    return [*words, "--parallel", address, "--out", str(tmp_path / "run")]


@NEEDS_DASK
def test_an_oracle_that_fails_at_dask_workers_only_is_named(cluster, tmp_path):
    """The driver answers itself; the record names sample and cause, and nothing but the record is printed."""
    sick = OWN.replace("            scores", "            ill(x)\n            scores") + (
        """
    def ill(x):
        import os
        if os.environ.get("AT_A_WORKER") and x[0] > 1:
            raise ValueError("no licence here")
    """
    )
    words = command(tmp_path, cluster("ill")[1], sick, "--set", "pause=0.01", "--gap", "1e-3")
    ran = subprocess.run(words, capture_output=True, text=True, timeout=120, env=os.environ | {"COLUMNS": "400"})
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"argmax stops at sample \d+ with ValueError: no licence here", " ".join(ran.stdout.split()))
    assert ran.stderr == ""


@NEEDS_DASK
def test_dask_workers_of_another_version_are_refused_in_a_sentence(cluster, tmp_path):
    words = command(tmp_path, cluster("old")[1], OWN, "--set", "pause=0.01", "--gap", "1e-3")
    ran = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 2
    assert f"A worker has cutbench 0.0.9 and the driver {release()}; install the same on both" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert "Traceback" not in ran.stderr


@NEEDS_DASK
@pytest.mark.parametrize("gone", [True, False])
def test_ctrl_c_with_dask_is_a_sentence(cluster, tmp_path, gone):
    """Also where the cluster has gone, and dask's client looks for it."""
    each, address = cluster("well")
    words = command(tmp_path, address, OWN, "--set", "pause=0.2", "--gap", "1e-12")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        until, rounds = time.monotonic() + 60, tmp_path / "run" / "journal" / "arrays.npy"
        while not (rounds.exists() and rounds.stat().st_size) and time.monotonic() < until:
            time.sleep(0.05)
        if gone:
            each.kill()
            time.sleep(1.5)
        run.send_signal(signal.SIGINT)
        printed, said = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in printed + said
    assert said.strip().count("\n") == 0


def test_loggers_are_silent_for_a_while(capsys):
    name = "distributed_of_a_test"
    handler, loggers = logging.StreamHandler(sys.stdout), [logging.getLogger(each) for each in (name, f"{name}.client")]
    for each in loggers:  # as dask sets them up
        each.addHandler(handler)
        each.propagate = False
    with workers.muted(name):
        loggers[1].error("within")
        loggers[0].error("within")
    for each in loggers:
        each.error("after")
        each.removeHandler(handler)
    assert capsys.readouterr().out.split() == ["after", "after"]


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("gone", ["scheduler_info", "scatter", "submit"])
def test_a_cluster_that_goes_while_it_is_asked_gives_no_answer(gone):
    class Going:
        def __getattr__(self, name):
            def call(*_, **__):
                if name == gone:
                    raise OSError("Timed out trying to connect to the scheduler")
                return {"workers": {"tcp://one": {}}}

            return call

    asked = workers.DaskWorkers.__new__(workers.DaskWorkers)
    asked.client, asked.name, asked.packed, asked.placed = Going(), ["here", "work"], b"", None
    assert asked.ask([({"do": "argmax"}, {}), ({"do": "argmax"}, {})], 1.0) == [None, None]
    assert asked.lost == 2
    assert "Timed out" in asked.why


@pytest.mark.parametrize("spec", ["local:0", "local:9999", "two", "dask://nowhere", "local:2; rm", ""])
def test_other_words_are_refused(words, spec):
    with pytest.raises(wb.BadInput, match="parallel is"):
        wb.solve(wb.SoftMargin(), words, parallel=spec)


@pytest.mark.filterwarnings("ignore")  # of tornado, at its end
def test_a_scheduler_that_does_not_answer(words, dear, monkeypatch):
    """One sentence, with dask and without."""
    monkeypatch.setattr("workbench.system.workers.REACH", 0.5)
    with pytest.raises((wb.BadInput, wb.MissingCapability), match=r"No dask scheduler answers|pip install"):
        wb.solve(wb.SoftMargin(), words, parallel="dask://127.0.0.1:9")


def test_a_worker_that_forgot_a_run_is_told_again(words):
    """A cluster's worker keeps few runs: what it has let go is opened anew."""
    bounds = bounds_for(wb.SoftMargin(lam=0.05), words)
    with Shards(bounds, "here:1") as shards:
        worker.DESKS.clear()
        question = {"do": "argmax", "run": shards.run}, {"theta": bounds.start, "samples": bounds.samples}
        with pytest.raises(workers.Unopened):
            many.answer(*question)
        told, arrays = many.transfer.sent(bounds.formulation, words)
        opening = workers.packed((told | {"do": "open", "run": shards.run, "version": release()}, arrays))
        name = [many.answer.__module__, many.answer.__qualname__]
        reply = workers.read(workers.carried(name, opening, workers.packed(question)))
    assert np.array_equal(reply[1]["witnesses"], bounds.oracle.argmax(bounds.start, bounds.samples))


@pytest.mark.parametrize(
    ("word", "gap"), [("low", GAP), (None, 1e-3), ([], 1e-3), (float("nan"), 1e-3), (-float("inf"), 1e-3)]
)
def test_what_a_worker_says_of_its_pass_may_be_anything(words, optimum, dear, monkeypatch, word, gap):
    true = many.answer

    def answer(numbers, arrays):
        met, reply = true(dict(numbers), arrays)
        return (dict.fromkeys(met, word), reply)

    monkeypatch.setattr(many, "answer", answer)
    same(wb.solve(wb.SoftMargin(lam=0.05), words, gap=gap, parallel="here:2", master="shards"), optimum, gap)


@pytest.mark.parametrize("form", [wb.CRF(), wb.SelfPaced(10.0, 1.0), wb.SoftMargin(declare="compact")])
def test_routes_without_sweeps_refuse_workers(form):
    problem = wb.Multiclass(np.eye(3), [0, 1, 2])
    with pytest.raises(wb.MissingCapability, match="leave out parallel"):
        wb.solve(form, problem, parallel="local:2")


# ── the start ─────────────────────────────────────────────────────────────────────────────────────


def counted(monkeypatch, words):
    """The samples that the oracle of this process is asked for, one number for each question."""
    asked, true = [], type(words).argmax

    def argmax(self, w, samples, augment=True):
        asked.append(len(samples))
        return true(self, w, samples, augment)

    monkeypatch.setattr(type(words), "argmax", argmax)
    return asked


def test_no_point_is_swept_twice(words, optimum, monkeypatch):
    """The sweep at the start gives the first round's rows, too, and the last sweep the predictions."""
    asked, queries, true = counted(monkeypatch, words), [], Family.answers
    monkeypatch.setattr(Family, "answers", lambda self, theta, clock: queries.append(theta) or true(self, theta, clock))
    same(wb.solve(wb.SoftMargin(lam=0.05), words, gap=GAP), optimum)
    assert len(asked) == len(queries) + 1


def test_a_lie_at_the_start_makes_the_size_smaller_and_no_bound_false(words, optimum, dear, monkeypatch):
    lying(monkeypatch, "argmax", truths)
    bounds = bounds_for(wb.SoftMargin(lam=0.05), words)
    honest = bounds_for(wb.SoftMargin(lam=0.05), words).scale
    with Shards(bounds, "here:2") as shards:
        shards.open(0.0)
        bounds.open_with(shards.argmax(bounds.start, bounds.samples))
    assert bounds.scale < honest
    assert bounds.upper(bounds.start) == honest


@pytest.mark.parametrize(("spec", "cause"), [("here:2", "no room"), ("local:2", "install the same on both")])
def test_a_run_does_not_begin_where_no_worker_answers(words, dear, monkeypatch, spec, cause):
    """Workers of another version refuse the problem, in a sentence."""
    if spec == "here:2":
        monkeypatch.setattr(workers.Here, "ask", lambda self, questions, limit=None: [None] * len(questions))
        monkeypatch.setattr(workers.Here, "why", cause, raising=False)
    else:
        monkeypatch.setattr(many, "release", lambda: "0.0.1")
    with pytest.raises(wb.BadInput, match=f"No worker of {spec} answers .*{cause}"):
        wb.solve(wb.SoftMargin(lam=0.05), words, gap=1e-3, parallel=spec)
