"""Sweeps in threads: the oracle's own answers, the same bits for any number of threads."""

from __future__ import annotations

import os
from fractions import Fraction
from threading import get_ident
from types import MethodType

import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.arithmetic.compiled import available
from workbench.arithmetic.rationals import ratios
from workbench.contracts import Cuts
from workbench.objectives import sweeps
from workbench.objectives.oracles import Decoding, MarginRescaling, SlackRescaling, UnitMargin
from workbench.objectives.regularizers import SquaredNorm
from workbench.objectives.sweeps import Sweeps, concurrent, unfit
from workbench.proofs import bounds as bounds_module
from workbench.proofs.any_bounds import bounds_for
from workbench.solving.block_ascent import crammer_singer_crew
from workbench.solving.shards import threaded
from workbench.system.journal import Journal
from workbench.system.threads import Threads

pytestmark = pytest.mark.skipif(not available(), reason="numba is not installed: pip install 'cutbench[fast]'")
NAMES = ["synthetic-chain", "grid", "tracking", "tree", "motif"]


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """No sweep is too short for threads."""
    monkeypatch.setattr(sweeps, "EVEN", 0.0)


def bounds_of(name):
    return bounds_for(wb.SoftMargin(lam=0.05), wb.load_problem(name)())


def flat(data):
    """All arrays of a kernel's data, those of the kernels inside too."""
    if isinstance(data, np.ndarray):
        return [data]
    return [array for each in data for array in flat(each)] if isinstance(data, tuple) else []


def content(path):
    """The arrays of a certificate, as bytes."""
    with np.load(path.with_suffix(".npz")) as arrays:
        return {name: arrays[name].tobytes() for name in arrays.files}


def touched(kernel, other, bounds, theta):
    """Whether a sweep by `kernel` changes an array of `other`."""
    before = [array.copy() for array in flat(tuple(other))]
    out = np.full(bounds.oracle.width, -1, np.int64)
    for i in bounds.samples.tolist():
        kernel.argmax_into(kernel.data, theta, i, out)
    return any((now != old).any() for now, old in zip(flat(tuple(other)), before, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_any_number_of_threads_gives_the_oracles_heights(name):
    bounds, rng = bounds_of(name), np.random.default_rng(3)
    beside = [Sweeps(bounds.oracle, count) for count in (1, 2, 3)]
    for _ in range(3):
        theta = bounds.regularizer.feasible(rng.normal(size=bounds.oracle.dim))
        slopes, offsets = bounds.oracle.rows(bounds.samples, bounds.oracle.argmax(theta, bounds.samples))
        found = [each.argmax(theta, bounds.samples) for each in beside]
        assert all((each == found[0]).all() for each in found)
        own_slopes, own_offsets = bounds.oracle.rows(bounds.samples, found[0])
        assert np.allclose(own_slopes @ theta + own_offsets, slopes @ theta + offsets, rtol=1e-12, atol=1e-12)
    for each in beside:
        each.end()


@pytest.mark.parametrize("name", NAMES)
def test_threads_write_to_no_array_of_one_another(name):
    bounds = bounds_of(name)
    theta = bounds.regularizer.feasible(np.random.default_rng(4).normal(size=bounds.oracle.dim))
    beside = Sweeps(bounds.oracle, 2)
    assert not touched(*beside.kernels, bounds, theta)
    beside.end()


def test_a_kernel_in_two_threads_would_be_noticed():
    """The test before this one sees a search that writes to its data."""
    bounds = bounds_of("tracking")
    beside = Sweeps(bounds.oracle, 1)
    assert touched(
        beside.kernels[0], beside.kernels[0], bounds, np.random.default_rng(4).normal(size=bounds.oracle.dim)
    )
    beside.end()


@pytest.mark.parametrize("master", ["ascent", "dual-block"])
def test_the_certificate_does_not_depend_on_threads(master, tmp_path):
    words, saved = wb.load_problem("synthetic-chain")(n=24), []
    for count in (1, 2, 3):
        found = wb.solve(wb.SoftMargin(lam=0.05), words, gap=1e-6, master=master, threads=count)
        assert found.status == "optimal"
        alone = ", passes in one, because there are fewer than 2,000 samples"
        assert found.parallel == ("1 thread" if count == 1 else f"{count} threads{alone}")
        path = found.certificate.save(tmp_path / f"threads-{count}")
        saved.append((found.upper, found.lower, found.theta_flat.tobytes(), content(path)))
    assert saved[0] == saved[1] == saved[2]
    assert wb.verify(path, data=words)["proven"]


def labelled(n=60, k=4):
    """Sparse inputs of 30 columns, some of them equal, of k labels."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n, 30)) * (rng.random((n, 30)) < 0.3)
    X[n // 2 :] = X[: n - n // 2]
    return wb.Multiclass(X, rng.permutation(np.arange(n) % k))


@pytest.mark.parametrize("form", [wb.SoftMargin(lam=0.02), wb.SoftMargin(lam=0.02, rescaling="slack")])
def test_labels_in_threads(form, monkeypatch, tmp_path):
    """The same bits for the same number, the same optimum for all, and a certificate that the checker proves."""
    monkeypatch.setattr(sweeps, "WORK", 0)
    monkeypatch.setattr(crammer_singer_crew, "SAVED", -np.inf)
    problem, found, every = labelled(), [], np.arange(60)
    for count in (1, 2, 2, 3, 8):
        each = wb.solve(form, problem, gap=1e-8, master="dual-block", threads=count)
        assert each.status == "optimal"
        assert each.parallel == ("1 thread" if count == 1 else f"{count} threads")
        found.append(each)
    assert content(found[1].certificate.save(tmp_path / "a")) == content(found[2].certificate.save(tmp_path / "b"))
    assert (found[1].upper, found[1].lower) == (found[2].upper, found[2].lower)
    for each in found:
        assert each.lower <= found[0].upper
        assert found[0].lower <= each.upper
        decoded = problem.argmax(each.theta_flat, every, augment=False)  # two equal rows are a tie but for a rounding
        assert each.train_error == problem.loss(every, decoded).mean()
    assert wb.verify(tmp_path / "a", data=problem)["proven"]


def test_bounds_of_labels_in_threads_enclose_those_of_one(monkeypatch):
    """Both ends of any θ and of any weights: near those of one thread, and still an enclosure of the true numbers."""
    monkeypatch.setattr(sweeps, "WORK", 0)
    problem, rng = labelled(), np.random.default_rng(9)
    bounds = bounds_for(wb.SoftMargin(lam=0.02), problem)
    samples = np.repeat(bounds.samples, 4)
    witnesses, weights = np.tile(np.arange(4), len(bounds.samples))[:, None], rng.random(len(samples))
    theta = rng.normal(size=bounds.oracle.dim)

    def ends():
        cuts = Cuts.distinct(samples, witnesses, *bounds.rows(samples, witnesses))
        return bounds.upper(theta), bounds.lower(cuts, weights), bounds.dual(cuts, weights)[1]

    hinges = bounds.oracle.exact().highest(ratios(theta), bounds.samples)
    risk = Fraction(int(sum(hinges.whole)), hinges.unit * len(bounds.samples))
    true = risk + Fraction(0.02) / 2 * sum(Fraction(each) ** 2 for each in theta.tolist())
    upper, lower, push = ends()
    for count in (2, 3, 7):
        with threaded(bounds, count):
            other = ends()
        assert Fraction(other[0]) >= true
        assert other[0] == pytest.approx(upper, rel=1e-13)
        assert other[1] == pytest.approx(lower, rel=1e-13)
        assert ((other[2].lo <= push.hi) & (push.lo <= other[2].hi)).all()
        assert (other[2].hi - other[2].lo <= 1e-12).all()


def test_a_run_goes_on_with_another_number_of_threads(tmp_path):
    words = wb.load_problem("synthetic-chain")(n=24)
    wb.solve(wb.SoftMargin(lam=0.05), words, gap=1e-7, threads=3, max_rounds=4, journal=tmp_path / "run")
    with Journal.resume(tmp_path / "run") as journal:
        found = wb.solve(wb.SoftMargin(lam=0.05), words, gap=1e-7, threads=2, journal=journal)
    assert found.status == "optimal"
    assert found.parallel.startswith("2 threads")


def test_oracles_that_threads_do_not_help():
    """One thread, and why; the same optimum."""
    labels = wb.Multiclass(np.eye(3), [0, 1, 2])
    found = wb.solve(wb.SoftMargin(), labels, threads=2)
    assert found.status == "optimal"
    assert "one product of matrices" in found.parallel

    def argmax(w, x, y=None):
        return max((0, 1), key=lambda z: w[z] * (x + 1) + (y is not None and z != y))

    own = wb.Structured([0, 1], [0, 1], lambda x, y: np.eye(2)[y] * (x + 1), lambda y, z: float(y != z), argmax)
    assert "local:N takes processes" in unfit(bounds_for(wb.SoftMargin(), own).oracle, None)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2", 10**6])
def test_other_numbers_are_refused(count):
    with pytest.raises(wb.BadInput, match="threads is"):
        wb.solve(wb.SoftMargin(), wb.Multiclass(np.eye(3), [0, 1, 2]), threads=count)


def test_routes_without_sweeps_refuse_threads():
    with pytest.raises(wb.MissingCapability, match="leave out threads"):
        wb.solve(wb.CRF(), wb.Multiclass(np.eye(3), [0, 1, 2]), threads=2)


def test_the_command_takes_threads(tmp_path):
    from workbench.command.cli import cli

    words = ["solve", "synthetic-chain", "soft-margin", "--set", "n=20", "--out", str(tmp_path / "run"), "--threads"]
    most = 4 * (os.cpu_count() or 1)
    result = CliRunner().invoke(cli, [*words, str(most + 1)])
    assert result.exit_code == 2
    assert f"from 1 to {most}" in result.output
    result = CliRunner().invoke(cli, [*words, "2"])
    assert result.exit_code == 0, result.output
    assert "2 threads" in result.output


@pytest.mark.parametrize("name", ["synthetic-chain", "grid", "tracking", "tree"])
def test_cuts_are_written_down_in_threads_to_the_same_bits(name, monkeypatch):
    """Several at a time, and the same number for any number of threads."""
    monkeypatch.setattr(bounds_module, "RUN", 3)
    found = []
    for count in (1, 2, 3):
        bounds, rng = bounds_of(name), np.random.default_rng(3)
        assert bounds.concurrent
        with bounds.sweeping(count):
            row = []
            for _ in range(5):
                theta = bounds.regularizer.feasible(rng.normal(size=bounds.oracle.dim))
                slopes, offsets = bounds.rows(bounds.samples, bounds.highest(theta, bounds.samples))
                row += [bounds.upper(theta), slopes.toarray().tobytes(), offsets.tobytes()]
        found.append(row)
    assert found[0] == found[1] == found[2]
    whole, witnesses = bounds_of(name), bounds.oracle.argmax(theta, bounds.samples)
    slopes, offsets = whole.oracle.rows(whole.samples, witnesses)
    assert found[0][-2:] == [slopes.toarray().tobytes(), offsets.tobytes()]


def test_runs_of_samples_have_one_length_for_any_number_of_threads(monkeypatch):
    """RUN at most, and EVEN runs or a multiple; of a user's own functions there is one run, of all, in this thread."""
    monkeypatch.setattr(bounds_module, "RUN", 3)
    bounds, some, seven = bounds_of("synthetic-chain"), np.arange(13), np.arange(7)

    def lengths(*arrays):
        assert all(len(each) == len(arrays[0]) for each in arrays)
        return len(arrays[0])

    for size, runs in ((7, [2, 2, 2, 1]), (13, [2] * 5 + [1] * 3), (4, [1] * 4), (3, [3]), (1, [1]), (0, [0])):
        assert bounds.spread(lengths, some[:size], some[:size]) == runs
        with bounds.sweeping(2):
            assert bounds.spread(lengths, some[:size], some[:size]) == runs
    with bounds.sweeping(2):
        asked, share = [], bounds.sweeps.hands.share
        monkeypatch.setattr(bounds.sweeps.hands, "share", lambda calls: asked.append(len(calls)) or share(calls))
        bounds.spread(lengths, seven)
        assert asked == [4]
        bounds.concurrent = False
        assert bounds.spread(lengths, seven) == [7]
        assert asked == [4]
    single = bounds_for(wb.SoftMargin(lam=0.05), labels(wb.Multiclass))
    assert single.concurrent
    assert single.spread(lengths, seven) == [7]
    with single.sweeping(2):
        assert single.spread(lengths, seven) == [4, 3]


def test_functions_of_a_users_own_are_asked_in_one_thread():
    """A class derived from ours may write to what its functions share, and so may functions of one object."""

    class Own(wb.Chain):
        pass

    chains = [each([np.eye(2)] * 3, ["ab"] * 3) for each in (wb.Chain, Own, wb.Chain)]
    chains[2].features = chains[2].features
    oracles = [MarginRescaling(each) for each in chains]
    assert [concurrent(oracle, oracle.problem) for oracle in oracles] == [True, False, False]
    assert concurrent(SlackRescaling(chains[0]), chains[0])
    assert concurrent(UnitMargin(chains[0]), chains[0])
    assert not concurrent(Decoding(chains[0]), chains[0])
    assert not concurrent(object(), chains[0])
    assert not concurrent(oracles[1], chains[0]), "it asks its own problem, whatever problem its formulation was given"
    chains[0].concurrent = False
    assert not concurrent(oracles[0], chains[0])

    class Property(wb.Chain):
        concurrent = property(lambda self: False)

    class Vouched(wb.Chain):
        concurrent = True

    for kind, said in ((Property, False), (Vouched, True)):
        problem = kind([np.eye(2)] * 3, ["ab"] * 3)
        assert concurrent(MarginRescaling(problem), problem) is said


def test_the_first_sweep_learns_how_long_one_takes(monkeypatch):
    """From a few samples, and the others are shared already."""
    monkeypatch.setattr(sweeps, "EVEN", 1e-9)
    bounds = bounds_for(wb.SoftMargin(lam=0.05), wb.load_problem("synthetic-chain")(n=200))
    beside, runs = Sweeps(bounds.oracle, 2), []
    answer = beside.answer

    def counted(theta, kernel, samples, found):
        runs.append(len(samples))
        answer(theta, kernel, samples, found)

    monkeypatch.setattr(beside, "answer", counted)
    theta = np.random.default_rng(3).normal(size=bounds.oracle.dim)
    assert (beside.argmax(theta, bounds.samples) == bounds.oracle.argmax(theta, bounds.samples)).all()
    assert sorted(runs) == [sweeps.TIMED, 68, 68]
    beside.end()


def labels(kind, n=60, p=8, k=7):
    rng = np.random.default_rng(5)
    return kind(rng.normal(size=(n, p)), rng.integers(k, size=n))


class Asked(wb.Multiclass):
    """Notes which threads ask for features."""

    def features(self, samples, outputs):
        ASKED.add(get_ident())
        return super().features(samples, outputs)


class Norm(SquaredNorm):
    """Notes which threads ask for values and conjugates."""

    def value(self, w):
        ASKED.add(get_ident())
        return super().value(w)

    def conjugate(self, s):
        ASKED.add(get_ident())
        return super().conjugate(s)


class Normed(wb.SoftMargin):
    def regularizer(self, problem):
        return Norm(self.lam)


ASKED = set()


@pytest.mark.parametrize("whose", ["class", "object", "regularizer"])
def test_single_labels_ask_a_users_own_functions_in_one_thread(whose, monkeypatch):
    """And bounds are those of one thread."""
    monkeypatch.setattr(sweeps, "WORK", 1)
    formulation = (Normed if whose == "regularizer" else wb.SoftMargin)(0.05)
    ends = []
    for count in (1, 2):
        problem = labels(Asked if whose == "class" else wb.Multiclass)
        if whose == "object":
            problem.features = MethodType(Asked.features, Asked(problem.X, problem.labels))
        ASKED.clear()
        found = wb.solve(formulation, problem, gap=1e-6, master="dual-block", threads=count)
        assert found.parallel == ("2 threads" if count == 2 else "1 thread")
        assert {get_ident()} == ASKED
        ends.append(found)
    assert max(each.lower for each in ends) <= min(each.upper for each in ends)


def test_both_bounds_of_single_labels_are_asked_for_side_by_side(monkeypatch):
    monkeypatch.setattr(sweeps, "WORK", 1)
    asked, together = [], Threads.together

    def counted(self, one, other):
        asked.append(self.count)
        return together(self, one, other)

    monkeypatch.setattr(Threads, "together", counted)
    ends = []
    for form in (wb.SoftMargin(0.05), Normed(0.05)):
        found = wb.solve(form, labels(wb.Multiclass), gap=1e-6, master="dual-block", threads=2)
        ends.append((found.lower, found.upper, len(asked)))
    assert ends[0][2] > 0
    assert ends[0] == ends[1], "the same bounds, and no further call of a user's own norm"
