"""The public API as a state machine: Hypothesis draws a problem and an order of calls; all answers must fit together.

A problem and a λ are drawn once; then `solve` by every master, runs that are cut off, damaged and resumed, certificates
saved, verified and tampered with, predictions, paths, learners, and cuts with weights at random come in any order.

    every interval that anything claims holds min F:      max of all lower ends ≤ min of all upper ends
    F(θ) of any θ, written out here for multiclass, is no less than any lower end
    a verified certificate says no less than the solution; a changed one is refused, or claims only what is true
    a finished run that is resumed keeps its ends; a damaged one begins from what is left and ends alike

`make test` draws 25 short orders, the same ones each time; `make fuzz` draws 2,000 longer ones.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)
from scipy import sparse

import workbench as wb
from workbench.contracts import Cuts
from workbench.errors import BackendFailed, BadInput, CutbenchError
from workbench.system.journal import CHECKPOINT, LINES, Journal

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from reliability.inputs import objective

STRUCTURES = ("multiclass", "linear", "chain", "matching", "multilabel", "tree", "motif")
LAMS = (1e-3, 0.05, 1.0, 20.0)
MASTERS = (None, "dual-block", "ascent", "gram", "compiled")
BACKENDS = (None, "CLARABEL", "PIQP", "OSQP", "SCS")
ROOM = 1e-12  # relative: upper ends are floats of enclosures, rounded outward, so this is for the sums written out here


def grid(rng: np.random.Generator) -> wb.Multiclass:
    """Small whole numbers: ties, samples twice, constant columns, and weights that may be 0."""
    n, k = int(rng.integers(2, 9)), int(rng.integers(2, 4))
    y = np.concatenate([np.arange(k), rng.integers(0, k, n)])
    weights = rng.integers(0, 3, len(y)) if rng.random() < 0.3 else None
    if weights is not None and not weights.any():
        weights[0] = 1
    return wb.Multiclass(rng.integers(-2, 3, (len(y), int(rng.integers(1, 4)))).astype(float), y, weights=weights)


def one_line(error: CutbenchError) -> None:
    assert str(error).isprintable(), f"not one printable line: {str(error)!r}"


class PublicApi(RuleBasedStateMachine):
    runs, certificates = Bundle("runs"), Bundle("certificates")

    def __init__(self) -> None:
        super().__init__()
        self.place, self.count = Path(tempfile.mkdtemp(prefix="machine-")), 0
        self.lower, self.upper, self.last = -math.inf, math.inf, None

    def teardown(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)

    def path(self, kind: str) -> Path:
        self.count += 1
        return self.place / f"{kind}{self.count}"

    def claim(self, lower: float, upper: float) -> None:
        """Somebody claims that min F lies in [lower, upper]."""
        assert not math.isnan(lower)
        assert not math.isnan(upper)
        self.lower, self.upper = max(self.lower, lower), min(self.upper, upper)

    def solved(self, **options: object) -> wb.Solution:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = wb.solve(self.form, self.problem, **options)
        assert found.status in ("optimal", "stalled", "limit")
        assert found.status != "optimal" or found.gap <= options["gap"]
        self.claim(found.lower, found.upper)
        self.last = found
        return found

    # ── the problem ───────────────────────────────────────────────────────────────────────────────

    @initialize(
        structure=st.sampled_from((*STRUCTURES, "grid", "grid")),
        seed=st.integers(0, 2**20),
        lam=st.sampled_from(LAMS),
        smooth=st.booleans(),
    )
    def begin(self, structure: str, seed: int, lam: float, smooth: bool) -> None:
        rng = np.random.default_rng(seed)
        self.problem = grid(rng) if structure == "grid" else wb.registry("output").get(structure).tiny(rng)
        self.form = (
            wb.CRF(lam=lam) if smooth and structure in ("grid", "multiclass", "chain") else wb.SoftMargin(lam=lam)
        )
        self.cuts = isinstance(self.form, wb.SoftMargin)
        self.bounds = wb.Bounds(self.form, self.problem)

    # ── solving, cut off and continued ────────────────────────────────────────────────────────────

    @rule(
        gap=st.sampled_from((1e-2, 1e-5, 1e-9)),
        master=st.sampled_from(MASTERS),
        backend=st.sampled_from(BACKENDS),
        groups=st.sampled_from((None, "one", 2)),
        rounds=st.sampled_from((1, 3, 60)),
    )
    def solve(self, gap: float, master: str | None, backend: str | None, groups: object, rounds: int) -> None:
        try:
            self.solved(gap=gap, master=master, backend=backend, groups=groups, max_rounds=rounds)
        except CutbenchError as error:  # options that do not fit together, or a backend that fails
            one_line(error)
            if (master, backend, groups) == (None, None, None):
                raise

    @rule(target=runs, rounds=st.sampled_from((1, 2, 40)), groups=st.sampled_from((None, "one")))
    def run(self, rounds: int, groups: object) -> Path:
        folder, groups = self.path("run"), groups if self.cuts else None
        self.solved(gap=1e-8, max_rounds=rounds, groups=groups, journal=folder)
        return folder

    @rule(run=runs, how=st.sampled_from(("torn", "behind", "checkpoint", "head")), share=st.floats(0, 1))
    def damage(self, run: Path, how: str, share: float) -> None:
        """What a dying process, or somebody with an editor who keeps a head of the lines, leaves behind."""
        lines, folder = run / "journal" / LINES, run / "journal"
        content = lines.read_bytes()
        first, last = content.find(b"\n") + 1, content.rstrip(b"\n").rfind(b"\n") + 1
        if how == "torn" and last:
            lines.write_bytes(content[: last + int(share * (len(content) - 1 - last))])
        elif how == "behind":
            lines.write_bytes(content + b'{"kind": "round", "upper": 0')
        elif how == "checkpoint":
            (folder / CHECKPOINT).unlink(missing_ok=True)
        elif how == "head":
            ends = [place + 1 for place, byte in enumerate(content) if byte == 10 and place + 1 >= first]
            lines.write_bytes(content[: ends[int(share * (len(ends) - 1))]])

    @rule(run=runs, gap=st.sampled_from((1e-4, 1e-9)))
    def resume(self, run: Path, gap: float) -> None:
        with Journal.resume(run) as journal:
            groups = journal.settings["options"]["groups"]
            found = self.solved(gap=gap, max_rounds=400, groups=groups, journal=journal)
        assert found.status != "limit"
        with Journal.resume(run) as journal:
            assert journal.finished

    @rule(run=runs)
    def two_writers(self, run: Path) -> None:
        with Journal.resume(run), pytest.raises(BadInput, match="Another process"):
            Journal.resume(run)

    # ── certificates ──────────────────────────────────────────────────────────────────────────────

    @precondition(lambda self: self.last is not None)
    @rule(target=certificates)
    def save(self) -> Path:
        path = self.last.certificate.save(self.path("certificate"))
        said = wb.verify(path, self.problem)
        assert said["data_matches"]
        if said["proven"]:
            room = 1e-9 * max(abs(self.last.upper), abs(self.last.lower))
            assert said["upper"] <= self.last.upper + room
            assert said["lower"] >= self.last.lower - room
            self.claim(said["lower"], said["upper"])
        return path

    @rule(path=certificates, another=st.integers(0, 100))
    def verify_for_other_data(self, path: Path, another: int) -> None:
        said = wb.verify(path, grid(np.random.default_rng(10**6 + another)))
        assert not said["data_matches"]
        assert not said["proven"]

    @rule(
        path=consumes(certificates),
        place=st.floats(0, 1, exclude_max=True),
        byte=st.integers(0, 255),
        arrays=st.booleans(),
    )
    def tamper(self, path: Path, place: float, byte: int, arrays: bool) -> None:
        """One byte of either file is another one: refused, or what is proven is true of the data inside."""
        victim = path.with_suffix(".npz") if arrays else path
        content = bytearray(victim.read_bytes())
        content[int(place * len(content))] = byte
        victim.write_bytes(content)
        try:
            said = wb.verify(path, self.problem)
        except BadInput as error:
            one_line(error)
        else:
            if said["proven"] and said["formulation"] == json.loads(path.read_text())["formulation"]["name"]:
                same = wb.verify(path, self.problem, expect={"lam": self.form.lam})
                if same["proven"]:
                    self.claim(same["lower"], same["upper"])

    @precondition(lambda self: self.last is not None)
    @rule(most=st.integers(1, 4))
    def explain(self, most: int) -> None:
        found = wb.explain(self.last.certificate, most)
        self.claim(found.lower, found.upper)
        assert len(found.samples) <= most
        pulls = [holder.pull for holder in found.samples]
        assert pulls == sorted(pulls, reverse=True)

    # ── what a solution is used for ───────────────────────────────────────────────────────────────

    @precondition(lambda self: self.last is not None and type(self.problem) is wb.Multiclass)
    @rule()
    def predict(self) -> None:
        """The labels of the greatest scores, written out."""
        X = self.problem.X.toarray() if sparse.issparse(self.problem.X) else self.problem.X
        scores = X @ self.last.theta_flat.reshape(len(self.problem.classes), -1).T
        labels, best = self.last.predict(X), scores.max(axis=1)
        places = [list(self.problem.classes).index(label) for label in np.asarray(labels).tolist()]
        chosen = scores[np.arange(len(scores)), places]
        np.testing.assert_allclose(chosen, best, rtol=1e-9, atol=1e-9 * np.abs(scores).max(initial=1e-300))

    @rule(epsilon=st.sampled_from((0.5, 0.1)))
    def path_of_lambdas(self, epsilon: float) -> None:
        lam = self.form.lam
        try:
            found = wb.path(self.form, self.problem, greatest=2 * lam, least=lam / 2, epsilon=epsilon)
        except BackendFailed:
            return
        assert found.gap <= epsilon
        here, more = found.at(lam), found.at(1.5 * lam)
        self.claim(here.lower, here.upper)
        assert here.lower <= more.upper * (1 + ROOM), "min F grows with λ"

    @rule(
        solver=st.sampled_from(("BCFW", "Subgradient", "DualBlock")), passes=st.integers(1, 6), seed=st.integers(0, 99)
    )
    def learn(self, solver: str, passes: int, seed: int) -> None:
        try:
            trace = wb.run(getattr(wb, solver)(), self.form, self.problem, passes=passes, rng=seed, compiled=False)
        except wb.MissingCapability:
            return
        for theta, upper, lower in zip(trace.thetas, trace.upper, trace.lower, strict=True):
            self.claim(-math.inf if math.isnan(lower) else lower, upper)
            self.point(theta)
        if self.last is not None and self.last.status == "optimal" and self.last.gap <= 1e-5:
            assert wb.crosscheck(trace, self.last).verdict != "disagrees", "a sound solver is accused"

    @precondition(lambda self: self.cuts)
    @rule(seed=st.integers(0, 2**20), many=st.integers(1, 12))
    def add_cuts(self, seed: int, many: int) -> None:
        """Cuts of weights at random, with weights at random on the simplices: a lower bound of min F."""
        rng, oracle, n = np.random.default_rng(seed), self.bounds.oracle, self.problem.n_samples
        pool = Cuts(oracle.dim, oracle.width)
        for _ in range(many):
            samples = np.sort(rng.permutation(n)[: int(rng.integers(1, n + 1))])
            pool.add(samples, self.bounds.highest(rng.normal(size=oracle.dim), samples), oracle.rows)
        weights = rng.random(len(pool))
        weights /= np.bincount(pool.samples, weights, minlength=n)[pool.samples] * (1 + 1e-15)
        self.claim(self.bounds.lower(pool, weights), math.inf)

    @rule(seed=st.integers(0, 2**20), scale=st.sampled_from((0.0, 1e-3, 1.0, 1e3)))
    def look(self, seed: int, scale: float) -> None:
        """F at a point at random."""
        dim = self.form.blocks(self.problem).dim
        self.point(scale * np.random.default_rng(seed).normal(size=dim))

    def point(self, theta: np.ndarray) -> None:
        self.claim(-math.inf, self.bounds.upper(theta))
        if (
            self.cuts
            and type(self.problem) is wb.Multiclass
            and (self.problem.cost == 1 - np.eye(len(self.problem.cost))).all()
        ):
            self.claim(-math.inf, float(objective(self.problem, theta, self.form.lam)) * (1 + ROOM))

    @invariant()
    def ends_do_not_cross(self) -> None:
        assert self.lower <= self.upper, f"[{self.lower!r}, {self.upper!r}]"


TestPublicApi = PublicApi.TestCase
slow_ok = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
longer = settings().max_examples > 50
TestPublicApi.settings = settings(
    max_examples=settings().max_examples if longer else 25,
    stateful_step_count=30 if longer else 15,
    deadline=None,
    derandomize=not longer,
    phases=list(Phase) if longer else [Phase.generate],  # an order of 15 calls is short enough to read
    suppress_health_check=slow_ok,
)
