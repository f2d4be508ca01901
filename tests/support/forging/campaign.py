"""Honest certificates, their forgeries, and what both checkers say about these.

    campaign = Campaign(court, folder); campaign.attack(honest(output, formulation, seed), kinds, rng, pair)

Each edit's claim is tried three ways: `kept` as the forger left it; `fitted` to the ends and gap that the first
checker recomputes, so that only an unsound rule is left to find; `greedy`, as fitted, but the lower end a unit in the
last place too high.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import both_checkers
import numpy as np
from declared import proven_formulations, proven_structures
from second_checker.files import Malformed, read_arrays

import workbench as wb
from forging import truth as truths
from forging.forgery import EDITS, Forgery, Unfit
from workbench.errors import BadInput, CutbenchError
from workbench.proofs.certificate import data_sha256
from workbench.registries import misfit, registry
from workbench.system.processes import Died, OutOfTime, Process

LIMIT = 20.0
MOST_SAMPLES = 6
BASES = 4  # honest certificates a pair
POLISHED = ("soft-margin", "hard-margin", "perceptron", "completed-ssvm", "weighted-risk")
HIDDEN = ", hidden"  # the end of a structure's name: its positions are withheld
CLAIMS = ("kept", "fitted", "greedy")
COUNTS = ("tried", "proven", "accepted_false", "disagreements", "crashes", "hangs", "unjudged")
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "soft-margin": [{}, {"rescaling": "slack"}, {"lam": 2.0}, {"intercept": True}],
    "weighted-risk": [{}, {"loss": "squared"}, {"loss": "logistic"}],
    "completed-ssvm": [{"C": 1.0}, {}],
    "fixed-cost": [
        {},
        {"factoring": "ordered", "parts": 2, "left_out": 1, "lam1": 0.01},
        {"factoring": "true", "K": 2},
    ],
    "simplex-cost-learning": [{}, {"factoring": "predicted", "lam1": 0.01}, {"factoring": "input"}],
    "normalized-cost-learning": [
        {},
        {"counts": "logical", "factoring": "true"},
        {"counts": "none", "factoring": "input"},
    ],
    "self-paced": [{"C": 1.0}, {}, {"C": 3.0, "K": 2.0}],
    "nuclear-dyadic": [
        {"lam": 0.05},
        {"lam": 0.2, "loss": "squared", "dimensions": 2},
        {"lam": 0.02, "dimensions": 3},
        {"lam": 0.05, "loss": "squared"},
    ],
}


# ── honest certificates ───────────────────────────────────────────────────────────────────────────


def pairs(only: str = "") -> list[tuple[str, str]]:
    """output × formulation that fit and both checkers know; those of which the text `only` is a part."""
    found = []
    for output, name in itertools.product(proven_structures(), proven_formulations()):
        problem = registry("output").get(output).tiny(np.random.default_rng(0))
        if only in f"{output}:{name}" and misfit(registry("formulation").get(name)(), problem) is None:
            found.append((output, name))
    if only in f"motif{HIDDEN}:self-paced":
        found.append((f"motif{HIDDEN}", "self-paced"))
    if not found:
        raise BadInput(f"No pair contains {only!r}; write for example only=chain:soft-margin.")
    return found


def withheld(rng: np.random.Generator) -> Any:
    """Two to four planted motifs, their positions hidden."""
    planted = wb.load_problem("motif")(
        n=int(rng.integers(2, 5)), length=2, span=int(rng.integers(2, 5)), draw=int(rng.integers(2**31))
    )
    weights = rng.choice([1.0, 1.0, 2.0, 0.3], planted.n_samples)
    if planted.n_samples > 2:
        weights[rng.integers(planted.n_samples)] = 0.0
    texts = [planted.text(i) for i in range(planted.n_samples)]
    return wb.Motif(texts, planted.labels, planted.length, weights=weights)


def small(output: str, rng: np.random.Generator) -> Any:
    """A problem of at most MOST_SAMPLES samples, one of weight 0 where there are three or more."""
    if output.endswith(HIDDEN):
        return withheld(rng)
    structure = registry("output").get(output)
    while (problem := structure.tiny(rng)).n_samples > MOST_SAMPLES:
        pass
    weights = rng.choice([1.0, 1.0, 2.0, 0.3], problem.n_samples)
    if problem.n_samples > 2:
        weights[rng.integers(problem.n_samples)] = 0.0
    weighted = structure.from_arrays(problem.arrays() | {"weights": weights})
    return weighted if type(weighted) is structure else problem  # what is known from a file only has no certificate


def honest(output: str, name: str, seed: int, count: int = BASES) -> list[Any]:
    """Certificates that `solve` writes, every second one exact where there is an exact finish."""
    rng, found = np.random.default_rng(seed), []
    choices = VARIANTS.get(name, [{}])
    for draw in range(20 * count):
        if len(found) == count:
            break
        try:
            form = registry("formulation").get(name)(**choices[draw % len(choices)])
            exact = bool(len(found) % 2) and name in POLISHED
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
            return Forgery(json.loads(stem.with_suffix(".json").read_bytes()), dict(arrays))


# ── judging ───────────────────────────────────────────────────────────────────────────────────────


class Court:
    """Both checkers in a process of their own, begun anew when a certificate kills it."""

    def __init__(self) -> None:
        self.process: Process | None = None

    def __call__(self, stem: Path) -> dict[str, Any]:
        if self.process is None:
            self.process = Process(both_checkers.decide)
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
    return both_checkers.both(str(stem))


@dataclass
class Campaign:
    """Judges forgeries one by one and counts by the kind of edit."""

    court: Callable[[Path], dict[str, Any]]
    folder: Path
    rows: dict[str, dict[str, int]] = field(default_factory=dict)
    found: list[dict[str, Any]] = field(default_factory=list)
    known: dict[str, Any] = field(default_factory=dict)

    def attack(self, pair: str, bases: list[Forgery], kinds: list[str], until: int, rng: np.random.Generator) -> None:
        """Edits of honest certificates in turn, until `until` forgeries were judged in all, each edit at least once."""
        for turn in itertools.count():
            fits = [
                self.try_edit(kind, bases[(turn + place) % len(bases)], rng, pair) for place, kind in enumerate(kinds)
            ]
            if self.tried() >= until or not any(fits):
                return

    def tried(self) -> int:
        return sum(row["tried"] for row in self.rows.values())

    def try_edit(self, kind: str, base: Any, rng: np.random.Generator, pair: str) -> bool:
        """One edit of an honest certificate, its claim in three ways; False if it does not fit."""
        forged = base.copy()
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                EDITS[kind](rng, forged)
        except Unfit:
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
            named = [key for key, wrong in faults.items() if wrong]
            finding = {"kind": kind, "pair": pair, "claim": claim, "faults": named, "words": words}
            self.found.append({**finding, "why": said.get("why", "")})
            self.keep(forged, len(self.found))
        return said

    def keep(self, forged: Any, number: int) -> None:
        """Overridden where findings are to be kept as files."""

    def falsehood(self, forged: Any, said: dict[str, Any]) -> dict[str, bool]:
        """Whether the interval misses the optimum of what the forged certificate states. The interval is the claim, and
        the checker's own ends in format 1, whose claims are read with an allowance.
        """
        header = json.loads(forged.json())
        try:
            arrays = forged.arrays if forged.archive is None else read_arrays(self.folder / "forged.npz")
        except Malformed:  # where a checker accepts what cannot be read
            return {"unjudged": True}
        form = header["formulation"]
        stated = json.dumps([form["name"], form["settings"], header["problem"]["output"]])
        data = {name[5:]: array for name, array in arrays.items() if name.startswith("data_")}
        key = hashlib.sha256((stated + data_sha256(data)).encode()).hexdigest()
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


def fitted(forged: Any, said: dict[str, Any], claim: str) -> Any:
    """The forgery with the ends that the first checker finds."""
    new = forged.copy()
    lower = said["lower"] if claim == "fitted" else float(np.nextafter(said["lower"], np.inf))
    gap = said["gap"] if said["gap"] is not None and said["gap"] >= 0 else 0.0
    new.header |= {"lower": lower, "upper": said["upper"], "gap": gap}
    return new
