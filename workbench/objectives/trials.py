"""An argmax on trial: whether it finds the maximum, and whether a problem's functions are functions at all.

At weights w of many kinds the argmax is asked for a sample i, twice, with the loss and without. Its answer ŷ must not
score below any output that is known to be one: the truth, the candidates if there are any, and every answer that
the argmax itself has given for this sample,

    ⟨w, φ(x_i, ŷ)⟩ + ℓ_i(ŷ)  ≥  ⟨w, φ(x_i, y)⟩ + ℓ_i(y) − allowance for rounding          (no ℓ without the loss)

so a fault is certain: a better output is named. The weights are 0, where only the loss counts; tiny, where a score that
is not linear shows; whole numbers, where scores tie; random of several sizes; and for each sample the path

    w ← w + φ(x_i, y_i) − φ(x_i, ŷ),

of a perceptron on that sample alone, which often ends at a w at which the truth wins. Outputs of other samples and
changed outputs are no evidence, since no function says that they are outputs of this sample.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from workbench.contracts import Enumerable, Floats, Ints, OfFunctions, Signed, SlackArgmax
from workbench.errors import BadInput, CutbenchError, MissingCapability
from workbench.system.alarm import Late, alarm

ROUNDING = 1e-9  # of the size of a score: what the answer may miss
PATH = 12  # steps of the perceptron on one sample
MOST = 5000  # candidates of a sample that are looked at
KINDS = ("argmax", "augmented", "slack")
TENFOLD = 10  # times the seconds of a trial: then the first sample, too, is left unfinished


class Fault(NamedTuple):
    """What is wrong, in a word and in one sentence, and the sample that shows it (−1 if none does)."""

    name: str
    sample: int
    sentence: str


class Found(Exception):
    """Carries a fault."""


class Trial:
    """One problem's functions on trial.

    tried : how many answers were looked at;  samples : of how many samples
    """

    def __init__(self, problem: Any, rng: int | np.random.Generator = 0, patience: float = 10.0):
        self.problem, self.rng, self.patience = problem, np.random.default_rng(rng), patience
        self.tried, self.samples, self.stop = 0, 0, float("inf")
        self.pools: dict[int, Ints] = {}
        self.first: dict[tuple[int, str], tuple[Floats, Ints]] = {}

    # ── asking ────────────────────────────────────────────────────────────────────────────────────

    @property
    def kinds(self) -> list[str]:
        """Which oracles there are to ask."""
        problem = self.problem
        given = problem.oracles if isinstance(problem, OfFunctions) else ("argmax", "slack_argmax")
        slack = "slack_argmax" in given and isinstance(problem, SlackArgmax)
        return [*(KINDS[:2] if "argmax" in given else []), *(["slack"] if slack else [])]

    def ask(self, kind: str, w: Floats, sample: int) -> Ints:
        """The answer (1, width), watched."""
        problem, one = self.problem, np.array([sample])
        name = "slack_argmax" if kind == "slack" else "argmax"
        with self.watched(name, sample):
            if isinstance(problem, OfFunctions):
                answer = problem.ask(name, w, one, kind != "argmax")
            elif kind == "slack":
                answer = problem.slack_argmax(w.copy(), one)
            else:
                answer = problem.argmax(w.copy(), one, augment=kind == "augmented")
        self.tried += 1
        return np.asarray(answer).reshape(1, -1)

    def watched(self, name: str, sample: int) -> Watch:
        return Watch(self, name, sample)

    # ── one sample ────────────────────────────────────────────────────────────────────────────────

    def pool(self, sample: int) -> Ints:
        """The outputs (m, width) known to be outputs of the sample."""
        if sample not in self.pools:
            known = self.problem.truth[[sample]]
            with suppress(MissingCapability), self.watched("candidates", sample):
                if isinstance(self.problem, OfFunctions):
                    known = np.concatenate([known, self.problem.vouched(sample, MOST)])
                elif isinstance(self.problem, Enumerable):
                    known = np.concatenate([known, self.problem.outputs(sample)[:MOST]])
            self.pools[sample] = known
        return self.pools[sample]

    def values(self, kind: str, w: Floats, sample: int, outputs: Ints) -> tuple[Floats, float]:
        """What the oracle maximises, for each output, and how far rounding may move it."""
        batch = np.full(len(outputs), sample)
        with self.watched("features", sample):
            rows = self.problem.features(batch, outputs)
        scores = rows @ w
        size = float((abs(rows) @ np.abs(w)).max(initial=0.0))
        if kind == "argmax":
            return scores, ROUNDING * size
        loss = self.problem.loss(batch, outputs)
        if kind == "augmented":
            return scores + loss, ROUNDING * (size + loss.max(initial=0.0))
        own = (self.problem.features(np.array([sample]), self.problem.truth[[sample]]) @ w)[0]
        return loss * (1 + scores - own), ROUNDING * (1 + 2 * size) * loss.max(initial=0.0)

    def admitted(self, w: Floats) -> Floats:
        """w, its entries that must be ≥ 0 made so."""
        return np.where(self.problem.signed, np.abs(w), w) if isinstance(self.problem, Signed) else w

    def probe(self, kind: str, w: Floats, sample: int) -> Ints:
        """The answer at w, compared with a second one and with what is known; raises `Found`."""
        w = self.admitted(w)
        answer = self.ask(kind, w, sample)
        if not np.array_equal(again := self.ask(kind, w, sample), answer):
            one, two = (self.problem.describe(sample, y[0]) for y in (answer, again))
            said = f"{word(kind)} at sample {sample} returns {one} and then {two} at the same weights; make it"
            raise Found(Fault("random", sample, f"{said} deterministic, ties included."))
        self.first.setdefault((sample, kind), (w, answer))
        self.compare(kind, w, sample, answer)
        pool = self.pool(sample)
        if not (pool == answer).all(axis=1).any():
            self.pools[sample] = np.concatenate([pool, answer])
        return answer

    def compare(self, kind: str, w: Floats, sample: int, answer: Ints) -> None:
        """Raise `Found` if a known output beats the answer of an oracle that calls itself exact."""
        if self.problem.oracle_kind != "exact":
            return
        outputs = np.concatenate([answer, self.pool(sample)])
        values, allowance = self.values(kind, w, sample, outputs)
        best = int(values.argmax())
        if values[best] <= values[0] + allowance:
            return
        mine, other = (self.problem.describe(sample, outputs[k]) for k in (0, best))
        sentence = (
            f"{word(kind)} at sample {sample} returns {mine}, whose value is {values[0]:.6g}, but {other} "
            f"has {values[best]:.6g}{self.hint(kind, w, sample, answer, values)}."
        )
        raise Found(Fault("not the maximum", sample, sentence))

    def hint(self, kind: str, w: Floats, sample: int, answer: Ints, values: Floats) -> str:
        """What the fault may come from."""
        if kind == "augmented" and np.array_equal(self.ask("argmax", w, sample), answer):
            return "; it returns the same without y, so perhaps it does not add the loss"
        if len(values) > 2 and values[0] <= values.min():
            return "; it is the worst output known, so perhaps a sign is wrong"
        return ""

    def weights(self, sample: int) -> Iterator[tuple[str, Floats]]:
        """Which oracle to ask, at which weights."""
        kinds, d = self.kinds, self.problem.n_features
        size, worst = float(self.problem.magnitude[sample]) or 1.0, float(self.problem.max_loss[sample]) or 1.0
        known = self.problem.known if isinstance(self.problem, OfFunctions) else d  # a column without a name weighs 0
        yield from ((kind, np.zeros(d)) for kind in kinds)
        for scale in (1e-6, 0.3, 1.0, 3.0, 1e3):
            w = np.where(np.arange(d) < known, self.rng.normal(size=d) * scale * worst / size * np.sqrt(known), 0.0)
            yield from ((kind, w) for kind in kinds)
        w = np.where(np.arange(d) < known, self.rng.integers(-2, 3, d), 0.0)
        yield from ((kind, w) for kind in kinds)

    def path(self, kind: str, sample: int) -> None:
        """A perceptron on one sample, PATH steps at most: often the truth wins at its end."""
        w, one = np.zeros(self.problem.n_features), np.array([sample])
        truth = self.problem.features(one, self.problem.truth[one])
        for _ in range(PATH):
            if time.perf_counter() > self.stop:
                return
            answer = self.probe(kind, w, sample)
            step = (truth - self.problem.features(one, answer)).toarray().ravel()
            if not step.any():
                break
            w = w + step
        if w.any():  # beyond the last step
            self.probe(kind, 2 * w, sample)
            self.probe(kind, -w, sample)

    def sample(self, sample: int) -> None:
        """All probes of one sample, or as many as a slow oracle leaves time for."""
        if isinstance(self.problem, OfFunctions):
            with self.watched("one of the functions", sample):
                if fault := self.problem.examined(sample, self.rng):
                    raise Found(Fault(*fault))
        for kind, w in self.weights(sample):
            if time.perf_counter() > self.stop and w.any():
                return
            self.probe(kind, w, sample)
        for kind in self.kinds:
            self.path(kind, sample)

    def again(self, late: int) -> None:
        """First answers once more, those of this sample and of the first: an oracle may remember what it should not."""
        earliest = next(iter(self.first), (late, ""))[0]
        for (sample, kind), (w, before) in list(self.first.items()):
            if sample in (earliest, late) and not np.array_equal(now := self.ask(kind, w, sample), before):
                one, two = (self.problem.describe(sample, y[0]) for y in (before, now))
                said = f"{word(kind)} at sample {sample} returned {one} and later {two} at the same weights; let it"
                raise Found(Fault("memory", sample, f"{said} depend on its arguments alone."))

    # ── all ───────────────────────────────────────────────────────────────────────────────────────

    def faults(self, seconds: float) -> list[Fault]:
        """One fault of each name, of as many samples as the time allows; of one, if it takes less than tenfold."""
        began, found = time.perf_counter(), dict[str, Fault]()
        end, self.stop = began + seconds, began + TENFOLD * seconds
        for sample in self.rng.permutation(np.flatnonzero(self.problem.weights > 0)).tolist():
            for work in (self.sample, self.again):
                try:
                    work(sample)
                except Found as fault:
                    found.setdefault(fault.args[0].name, fault.args[0])
            self.samples += 1
            if time.perf_counter() > end or "hangs" in found:
                break
        return list(found.values())


class Watch:
    """Turns what a function raises, and its silence, into a fault."""

    def __init__(self, trial: Trial, name: str, sample: int):
        self.trial, self.name, self.number, self.alarm = trial, name, sample, alarm(trial.patience)

    def __enter__(self) -> None:
        self.alarm.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        with suppress(Late):
            self.alarm.__exit__(kind, error, trace)
        if isinstance(error, Late):
            told = f"{self.name} at sample {self.number} has not returned within {self.trial.patience:g} s"
            raise Found(Fault("hangs", self.number, f"{told}; make it end.")) from None
        if isinstance(error, BadInput):
            raise Found(Fault("fails", self.number, str(error))) from error
        if isinstance(error, Exception) and not isinstance(error, CutbenchError | Found):
            told = f"{self.name} stops at sample {self.number} with {type(error).__name__}: {error}"
            raise Found(Fault("fails", self.number, f"{told}; repair it.")) from error
        return False


def word(kind: str) -> str:
    """An oracle in words."""
    return {"argmax": "argmax without the loss", "augmented": "argmax with the loss", "slack": "slack_argmax"}[kind]
