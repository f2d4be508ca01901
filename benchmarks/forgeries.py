"""Forged certificates: can anything false get the word "proven"?

Honest certificates of small random problems, some of whose samples have weight 0, are made for every formulation ×
output structure that fit, and edited (`_forging.py`). Each forgery is judged by both checkers, ours and the one under
`tests/support` that was written from docs/certificate-format.md alone, in a process that is killed after `LIMIT` seconds
and has bounded memory. The claim is tried three ways:

    kept      as the forger left it
    fitted    the ends and gap that the first checker recomputes: then only an unsound rule is left to find
    greedy    as fitted, but the lower end a unit in the last place too high: never true

A forgery is accepted if one checker says "proven", and false if the interval of its claim misses the optimum of the
problem that it states. That optimum comes from solving the problem from scratch, and from a second route that shares
no code with checkers or bounds (`_truth.py`). Two checkers disagree if one says "proven" and the other does not.

`unjudged` counts what was accepted and has no known optimum. Nothing may be left of accepted_false, disagreements,
crashes, hangs and unjudged; `failed` is their sum.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from workbench.errors import BadInput, CutbenchError, checked_whole
from workbench.registries import load_file, misfit, registry
from workbench.system.processes import Died, OutOfTime, Process

SUPPORT = Path(__file__).resolve().parents[1] / "tests" / "support"
forging = load_file(Path(__file__).with_name("_forging.py"), "benchmark")
truths = load_file(Path(__file__).with_name("_truth.py"), "benchmark")

LIMIT = 20.0
MOST_SAMPLES = 6
BASES = 4  # honest certificates a pair
CLAIMS = ("kept", "fitted", "greedy")
COUNTS = ("tried", "proven", "accepted_false", "disagreements", "crashes", "hangs", "unjudged")
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "soft-margin": [{}, {"rescaling": "slack"}, {"lam": 2.0}],
    "weighted-risk": [{}, {"loss": "squared"}, {"loss": "logistic"}],
    "completed-ssvm": [{"C": 1.0}, {}],
    "fixed-cost": [{}, {"factoring": "ordered", "parts": 2, "left_out": 1, "lam1": 0.01}, {"factoring": "true", "K": 2}],
    "simplex-cost-learning": [{}, {"factoring": "predicted", "lam1": 0.01}, {"factoring": "input"}],
    "normalized-cost-learning": [{}, {"counts": "logical", "factoring": "true"}, {"counts": "none", "factoring": "input"}],
    "self-paced": [{"C": 1.0}, {}, {"C": 3.0, "K": 2.0}],
}


# ── honest certificates ───────────────────────────────────────────────────────────────────────────


def pairs(only: str = "") -> list[tuple[str, str]]:
    """output × formulation that fit; those of which the text `only` is a part."""
    found = []
    for output, name in itertools.product(registry("output").names(), registry("formulation").names()):
        problem = registry("output").get(output).tiny(np.random.default_rng(0))
        if only in f"{output}:{name}" and misfit(registry("formulation").get(name)(), problem) is None:
            found.append((output, name))
    if not found:
        raise BadInput(f"No pair contains {only!r}; write for example only=chain:soft-margin.")
    return found


def small(output: str, rng: np.random.Generator) -> Any:
    """A problem of at most MOST_SAMPLES samples, one of weight 0 where there are three or more."""
    structure = registry("output").get(output)
    while (problem := structure.tiny(rng)).n_samples > MOST_SAMPLES:
        pass
    weights = rng.choice([1.0, 1.0, 2.0, 0.3], problem.n_samples)
    if problem.n_samples > 2:
        weights[rng.integers(problem.n_samples)] = 0.0
    return structure.from_arrays(problem.arrays() | {"weights": weights})


def honest(output: str, name: str, seed: int, count: int = BASES) -> list[Any]:
    """Certificates that `solve` writes, every second one exact where there is an exact finish."""
    rng, found = np.random.default_rng(seed), []
    choices = VARIANTS.get(name, [{}])
    for draw in range(20 * count):
        if len(found) == count:
            break
        try:
            form = registry("formulation").get(name)(**choices[draw % len(choices)])
            exact = bool(len(found) % 2) and name in ("soft-margin", "hard-margin", "perceptron", "completed-ssvm", "weighted-risk")
            certificate = wb.solve(form, small(output, rng), gap=1e-9, polish=exact).certificate
        except CutbenchError:  # not separable, no slack rescaling, no class of errors
            continue
        found.append(opened(certificate))
    for each in found:
        each.others = [other for other in found if other is not each] or [each]
    return found


def opened(certificate: Any) -> Any:
    """The certificate as a forger sees it: the contents of its two files."""
    with tempfile.TemporaryDirectory() as folder:
        stem = Path(folder) / "honest"
        certificate.save(stem)
        with np.load(stem.with_suffix(".npz")) as arrays:
            return forging.Forgery(json.loads(stem.with_suffix(".json").read_bytes()), dict(arrays))


# ── judging ───────────────────────────────────────────────────────────────────────────────────────


class Court:
    """Both checkers in a process of their own, begun anew when a certificate kills it."""

    def __init__(self) -> None:
        if str(SUPPORT) not in sys.path:
            sys.path.insert(0, str(SUPPORT))
        import both_checkers

        self.work, self.process = both_checkers.decide, None

    def __call__(self, stem: Path) -> dict[str, Any]:
        if self.process is None:
            self.process = Process(self.work)
        try:
            return self.process.ask({"stem": str(stem)}, {}, LIMIT)[0]
        except (OutOfTime, Died) as error:
            self.close()
            return {"first": type(error).__name__, "second": type(error).__name__, "lower": None, "tie": False}

    def close(self) -> None:
        if self.process is not None:
            self.process.end()
            self.process = None


def in_process(stem: Path) -> dict[str, Any]:
    """Both checkers here: quicker to start, and nothing stops one that hangs."""
    if str(SUPPORT) not in sys.path:
        sys.path.insert(0, str(SUPPORT))
    import both_checkers

    return both_checkers.both(str(stem))


@dataclass
class Campaign:
    """Judges forgeries one by one and counts by the kind of edit."""

    court: Callable[[Path], dict[str, Any]]
    folder: Path
    rows: dict[str, dict[str, int]] = field(default_factory=dict)
    found: list[dict[str, Any]] = field(default_factory=list)
    known: dict[str, Any] = field(default_factory=dict)

    def try_edit(self, kind: str, base: Any, rng: np.random.Generator, pair: str) -> bool:
        """One edit of an honest certificate, its claim in three ways; False if it does not fit."""
        forged = base.copy()
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                forging.EDITS[kind](rng, forged)
        except forging.Unfit:
            return False
        said = self.judge(kind, forged, pair, "kept")
        if said.get("lower") is None or forged.text is not None or "lower" not in forged.header:
            return True
        for claim in CLAIMS[1:]:
            self.judge(kind, fitted(forged, said, claim), pair, claim)
        return True

    def judge(self, kind: str, forged: Any, pair: str, claim: str) -> dict[str, Any]:
        row = self.rows.setdefault(kind, dict.fromkeys(COUNTS, 0))
        stem = self.folder / "forged"
        forged.write(stem)
        said = self.court(stem)
        row["tried"] += 1
        words = (said["first"], said["second"])
        accepted = "proven" in words
        row["proven"] += accepted
        faults = {
            "crashes": any(word.startswith("crash") or word == "Died" for word in words),
            "hangs": "OutOfTime" in words,
            "disagreements": (words[0] == "proven") != (words[1] == "proven") and not said["tie"],
            **(self.falsehood(forged, said) if accepted else {}),
        }
        for key, wrong in faults.items():
            row[key] += bool(wrong)
        if any(faults.values()):
            faults_found = [key for key, wrong in faults.items() if wrong]
            self.found.append(
                {"kind": kind, "pair": pair, "claim": claim, "faults": faults_found, "words": words, "why": said.get("why", "")}
            )
            self.keep(forged, len(self.found))
        return said

    def keep(self, forged: Any, number: int) -> None:
        """Overridden where findings are to be kept as files."""

    def falsehood(self, forged: Any, said: dict[str, Any]) -> dict[str, bool]:
        """Whether the interval misses the optimum of what the forged certificate states. The interval is the claim, and
        the checker's own ends in format 1, whose claims are read with an allowance.
        """
        try:
            header, arrays = as_read(forged)
        except ValueError:  # NumPy cannot read what a checker accepted
            return {"unjudged": True}
        said = json.dumps([header["formulation"]["name"], header["formulation"]["settings"], header["problem"]["output"]])
        data = {name[5:]: array for name, array in arrays.items() if name.startswith("data_")}
        key = hashlib.sha256((said + forging.data_sha256(data)).encode()).hexdigest()
        if key not in self.known:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self.known[key] = truths.truth(header, arrays)
            except truths.Unknown as error:
                self.known[key] = str(error)
        if isinstance(self.known[key], str):
            said["why"] = self.known[key]
            return {"unjudged": True}
        lower, upper = self.known[key]
        proven = said if header["format"] == "cutbench-certificate-1" and said["lower"] is not None else header
        return {"accepted_false": not (proven["lower"] <= upper and lower <= proven["upper"])}


def as_read(forged: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of an accepted certificate as its files say them."""
    import io

    with np.load(io.BytesIO(forged.npz())) as arrays:
        return json.loads(forged.json()), dict(arrays)


def fitted(forged: Any, said: dict[str, Any], claim: str) -> Any:
    """The forgery with the ends that the first checker finds."""
    new = forged.copy()
    lower = said["lower"] if claim == "fitted" else float(np.nextafter(said["lower"], np.inf))
    gap = said["gap"] if said["gap"] is not None and said["gap"] >= 0 else 0.0
    new.header |= {"lower": lower, "upper": said["upper"], "gap": gap}
    return new


# ── the campaign ──────────────────────────────────────────────────────────────────────────────────


def forgeries(n: int = 10_000, seed: int = 0, only: str = "", edits: str = "") -> Iterator[dict[str, Any]]:
    """At least n forgeries over all pairs (`only`: those that contain this text): what is accepted, false, in dispute."""
    checked_whole("n", n, 1)
    checked_whole("seed", seed, 0)
    known = [kind for kind in forging.EDITS if edits in kind]
    if not known:
        raise BadInput(f"No edit contains {edits!r}; write for example edits=weight.")
    court, chosen, start = Court(), pairs(only), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(court, Path(folder))
        try:
            for number, (output, name) in enumerate(chosen):
                attack(campaign, output, name, known, n * (number + 1) // len(chosen), seed)
                yield {"finished": f"{number + 1} of {len(chosen)} pairs"} | summary(campaign, start)
        finally:
            court.close()
    yield summary(campaign, start)


def attack(campaign: Campaign, output: str, name: str, known: list[str], until: int, seed: int) -> None:
    """Edits of one pair in turn, until `until` certificates were tried in all, and each edit at least once."""
    bases = honest(output, name, seed)
    rng = np.random.default_rng([seed, *f"{output}:{name}".encode()])
    for turn in itertools.count():
        fits = [
            campaign.try_edit(kind, bases[(turn + place) % len(bases)], rng, f"{output}:{name}")
            for place, kind in enumerate(known)
        ]
        if sum(row["tried"] for row in campaign.rows.values()) >= until or not any(fits):
            return


def summary(campaign: Campaign, start: float) -> dict[str, Any]:
    total = {key: sum(row[key] for row in campaign.rows.values()) for key in COUNTS}
    faults = ("accepted_false", "disagreements", "crashes", "hangs", "unjudged")
    rows = [{"edit": kind, **row} for kind, row in sorted(campaign.rows.items())]
    return {
        **total,
        "failed": sum(total[key] for key in faults),
        "statements": len(campaign.known),
        "seconds": time.perf_counter() - start,
        "findings": campaign.found[:20],
        "rows": rows,
    }


NAMES = {"forgeries": forgeries}
