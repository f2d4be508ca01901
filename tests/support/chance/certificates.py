"""Certificates by chance: random data, a random point, random weights of cuts, and the ends that the second checker
finds for them. Nothing is solved, so the gap is wide; the proof holds all the same, and every number in it matters.

    for case in certificates(seed=0): case.header, case.arrays, case.verdict
"""

from __future__ import annotations

import copy
import io
import json
import math
import tempfile
import zipfile
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import second_checker
from second_checker.files import digest
from second_checker.formulations import program
from second_checker.trees import Search

from chance import data

INFINITE = float("inf")
WIDE = {"lower": -INFINITE, "upper": INFINITE, "gap": INFINITE}
SQUARED = ("soft-margin", "hard-margin", "perceptron", "completed-ssvm", "weighted-risk")
COSTLY = {"lam2": 0.5, "lam1": 0.25, "K": 2.0}
FIXED = COSTLY | {"v": None, "parts": 0, "left_out": 0}
NORMAL = COSTLY | {"baseline": None}
BASE = NORMAL | {"factoring": "constant", "counts": "baseline", "baseline": [0.7]}
SLACK = {"lam": 1, "rescaling": "slack", "declare": "compact"}
INTERCEPT = {"lam": 0.5, "rescaling": "margin", "declare": "cuts", "intercept": True}
ALL = tuple(each for each in data.STRUCTURES if each != "dyads")
FIRST = ("multiclass", "chain", "linear", "matching", "motif", "structured", "multilabel", "views")
FACTORINGS = ("ordered", "unordered", "true", "predicted", "constant", "input",
              "input-smallest", "input-count", "input-true")  # fmt: skip
SETTINGS: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    ("soft-margin", ALL, {"lam": 0.75, "rescaling": "margin", "declare": "cuts"}),
    ("soft-margin", ("multiclass", "chain", "linear", "structured", "multilabel"), SLACK),
    ("soft-margin", ("multiclass", "chain"), INTERCEPT),
    ("hard-margin", tuple(each for each in ALL if each != "graph"), {"lam": 2.0}),
    ("perceptron", FIRST, {"lam": 1.0}),
    ("weighted-risk", ("linear",), {"lam": 0.25, "loss": "hinge"}),
    ("weighted-risk", ("linear",), {"lam": 0.25, "loss": "squared"}),
    ("weighted-risk", ("linear",), {"lam": 0.25, "loss": "logistic"}),
    ("completed-ssvm", ("motif", "multiclass", "views"), {"C": 3.0, "states": None, "kept": None}),
    ("crf", (*FIRST, "tree", "flow"), {"lam": 0.3}),
    ("self-paced", ("multiclass", "linear", "matching", "motif", "structured", "multilabel", "views"),
     {"C": 3.0, "K": 2.0}),
    *(("simplex-cost-learning", ("multiclass", "chain"), COSTLY | {"factoring": each}) for each in FACTORINGS),
    *(("fixed-cost", ("multiclass", "chain"), FIXED | {"factoring": each}) for each in FACTORINGS),
    ("fixed-cost", ("multiclass",), FIXED | {"factoring": "constant", "v": [0.3], "parts": 3, "left_out": 1}),
    ("normalized-cost-learning", ("multiclass",), BASE),
    *(("normalized-cost-learning", ("multiclass", "chain"), NORMAL | {"factoring": "true", "counts": each})
      for each in ("none", "total", "logical", "logical-max", "expected")),
    ("normalized-cost-learning", ("chain",), NORMAL | {"factoring": "unordered", "counts": "logical-max"}),
    ("normalized-cost-learning", ("multiclass",), NORMAL | {"factoring": "input", "counts": "logical"}),
    ("normalized-cost-learning", ("multiclass",), BASE | {"factoring": "true", "baseline": [0.7, 0.0, 1.5]}),
    ("fixed-cost", ("multiclass",), FIXED | {"factoring": "predicted", "v": [0.25, 1.5, 0.0]}),
]  # fmt: skip

SOFT, PACED = SETTINGS[0][2], {"C": 3.0, "K": 2.0}
DYADIC = {"lam": 8.0, "dimensions": 2, "loss": "hinge"}
FURTHER: list[tuple[str, str, dict[str, Any], str, dict[str, Any]]] = [  # as the settings, a tag, words to the data
    ("soft-margin", "graph", SOFT, " of three labels", {"k": 3}),
    ("soft-margin", "graph", SOFT, " enclosed", {"k": 3, "oracle": "enclosed"}),
    *((name, "chain", settings, " with pairs", {"paired": True})
      for name, settings in (("soft-margin", SOFT), ("soft-margin", SLACK), ("soft-margin", INTERCEPT),
                             ("crf", {"lam": 0.3}), ("perceptron", {"lam": 1.0}),
                             ("simplex-cost-learning", COSTLY | {"factoring": "true"}))),
    *((name, "matching", settings, " clipped", {"clipped": True})
      for name, settings in (("soft-margin", SOFT), ("perceptron", {"lam": 1.0}), ("self-paced", PACED))),
    ("soft-margin", "motif", SOFT, " of six letters", {"q": 6}),
    *(("completed-ssvm", output, {"C": 3.0, "states": "first", "kept": None}, " hidden", {"hidden": True})
      for output in ("motif", "views")),
    *(("self-paced", output, PACED, f" hidden {draw}", {"hidden": True})
      for output in ("motif", "views") for draw in range(2)),
    *((name, "dyads", settings, "", {}) for name, settings in (("soft-margin", SOFT), ("soft-margin", INTERCEPT))),
    *(("nuclear-dyadic", "dyads", DYADIC | {"loss": loss}, f" of {k} labels", {"k": k})
      for loss in ("hinge", "squared") for k in (2, 3)),
]  # fmt: skip


@dataclass
class Case:
    """A certificate, a name, and what the second checker says of it."""

    name: str
    header: dict[str, Any]
    arrays: dict[str, np.ndarray]
    verdict: Any = None
    others: list[Any] = field(default_factory=list)

    def copy(self, name: str) -> Case:
        arrays = {key: array.copy() for key, array in self.arrays.items()}
        return Case(f"{self.name}, {name}", copy.deepcopy(self.header), arrays)

    def write(self, stem: Path) -> None:
        stem.with_name(stem.name + ".json").write_text(json.dumps(self.header))
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, array in self.arrays.items():
                member = io.BytesIO()
                np.lib.format.write_array(member, array)
                archive.writestr(name + ".npy", member.getvalue())
        stem.with_name(stem.name + ".npz").write_bytes(buffer.getvalue())

    def sign(self) -> None:
        self.header["problem"]["data_sha256"] = digest(self.arrays)

    def judged(self) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            self.write(Path(folder, "case"))
            return second_checker.check(Path(folder, "case"))

    def claimed(self, verdict: Any) -> Case:
        """The claim that fits the ends."""
        lower, upper = below(verdict.lower), -below(-verdict.reached)
        gap = INFINITE if INFINITE in (abs(lower), abs(upper)) else max(-below(-verdict.gap), 0.0)
        self.header |= {"lower": lower, "upper": upper, "gap": gap}
        self.verdict = verdict
        return self


def below(number: Any) -> float:
    """The greatest float that is not above a number."""
    if abs(number) == INFINITE:
        return number
    found = float(number)
    return found if Fraction(found) <= number else math.nextafter(found, -INFINITE)


def header(proof: str, formulation: str, settings: dict[str, Any], output: str) -> dict[str, Any]:
    return {
        "format": "cutbench-certificate-2",
        "proof": {"kind": proof, "version": 1},
        "formulation": {"name": formulation, "version": 1 + ("intercept" in settings), "settings": settings},
        "problem": {"output": output, "version": 1, "data_sha256": "0" * 64},
        "program": "whole",
        **WIDE,
        "oracle": "exact",
        "status": "optimal",
        "backend": "none",
        "versions": {"python": "3"},
    }


def case_of(rng: Any, name: str, output: str, settings: dict[str, Any], tag: str = "", **words: Any) -> Case:
    """A certificate of one formulation and structure."""
    whole = settings.get("rescaling") == "slack"
    arrays = {f"data_{key}": each for key, each in data.STRUCTURES[output](rng, whole, **words).items()}
    if words.get("oracle") == "enclosed":
        arrays["hint_shares"] = rng.choice([0.0, 0.25, 0.5, 1.0], (len(arrays["data_edges"]), words["k"]))
    if settings.get("states") == "first":
        settings = settings | {"states": first_states(output, arrays)}
    found = program(name, settings, arrays, output, version=1 + ("intercept" in settings))
    kind = "tree" if name == "self-paced" else "cuts"
    kind = "tangent" if name == "crf" or settings.get("loss") in ("squared", "logistic") else kind
    kind = "slopes" if name == "nuclear-dyadic" else kind
    case = Case(f"{name} of {output}{tag}", header(kind, name, settings, output), arrays)
    arrays["theta"] = separating(rng, found) if found.hard else data.numbers(rng, found.size)
    samples, witnesses, masses = cuts(rng, found) if kind == "cuts" else ([], [], [])
    arrays["samples"], arrays["weights"] = np.array(samples, np.int64), np.array(masses, float)
    arrays["witnesses"] = np.array(witnesses, np.int64).reshape(-1, found.data.width)
    if kind == "tree":
        arrays |= search(rng, found)
    if kind == "slopes":
        arrays["slopes"] = slopes(rng, found)
    case.sign()
    return case.claimed(case.judged())


def cuts(rng: Any, found: Any) -> tuple[list[int], list[Any], list[float]]:
    """One to three outputs a sample, some twice, one of a sample without a price at weight 0."""
    samples, witnesses, masses = [], [], []
    for i, price in enumerate(found.prices):
        listed = list(found.data.listed(i))
        for place in range(int(rng.integers(1, 4))):
            samples.append(i)
            witnesses.append(listed[rng.integers(len(listed))])
            masses.append(float(rng.choice([1.0, 0.25, 0.1, 3.0, 1.0] + [0.0] * (place > 0))) if price else 0.0)
    return samples, witnesses, masses


def separating(rng: Any, found: Any) -> np.ndarray:
    """A point that satisfies all constraints nearly, where updates on mistakes find one; then F there is scaled."""
    theta = np.zeros(found.size)
    pairs = [(i, z) for i, p in enumerate(found.prices) if p for z in found.data.listed(i)]
    for _ in range(60):
        for i, z in pairs:
            slope, offset = found.cut(i, z)
            if offset and sum(theta[j] * float(x) for j, x in slope.items()) + float(offset) > 0:
                for j, x in slope.items():
                    theta[j] -= float(x) / 4
    return theta * rng.choice([1.0, 0.9, 0.97, 2.0]) if theta.any() else data.numbers(rng, found.size)


def first_states(output: str, arrays: dict[str, np.ndarray]) -> list[int]:
    """The first window of each positive sample, the first view of each."""
    if output == "views":
        return [0] * len(arrays["data_labels"])
    return np.where(arrays["data_labels"], arrays["data_spans"][:, 0], -1).tolist()


def slopes(rng: Any, found: Any) -> np.ndarray:
    """(n, L): where the hinge's conjugate is finite."""
    sizes = rng.choice([0.0, 0.25, 0.5, 0.1, 1.0], (found.n, found.L))
    return -np.array([[found.target(i, c) for c in range(found.L)] for i in range(found.n)]) * sizes


def search(rng: Any, found: Any) -> dict[str, np.ndarray]:
    """A tree of a few nodes, with multipliers at random."""
    states = Search(found).states
    R, m = len(Search(found).cuts), int(rng.integers(1, 8))
    parents, branches = [0], [-1]
    while len(parents) < m:
        v = int(rng.integers(len(parents)))
        own = states[int(rng.integers(len(states)))]
        sides = [*(2 * state for state in own), 2 * own[0] + 1]
        count = len(sides) if rng.random() < 0.8 else len(sides) - 1
        parents += [v] * count
        branches += (sides if rng.random() < 0.8 else sides[:1] * len(sides))[:count]
    m = len(parents)
    kept = rng.random((m, R)) < 0.4
    multipliers = rng.choice([0.05, 0.1, 0.3, 0.0], (m, R))
    return {
        "tree_parents": np.array(parents, np.int64),
        "tree_branches": np.array(branches, np.int64),
        "tree_cutoffs": rng.choice([INFINITE, 3.0, 0.5, -INFINITE], m),
        "tree_cuts": np.array(R),
        "tree_data": multipliers[kept],
        "tree_indices": np.nonzero(kept)[1].astype(np.int64),
        "tree_indptr": data.ends(*kept.sum(axis=1)),
    }


def fractions(rng: Any, case: Case) -> Case:
    """The same with multipliers as fractions."""
    part = case.header["formulation"]
    found = program(part["name"], part["settings"], case.arrays, case.header["problem"]["output"])
    samples, lines = case.arrays["samples"].tolist(), []
    left = {i: p if p == INFINITE else Fraction(p) for i, p in enumerate(found.prices)}
    for k, i in enumerate(samples):
        last = i not in samples[k + 1 :]
        hard = left[i] == INFINITE
        beta = (
            Fraction(int(rng.integers(0, 4)), 3)
            if hard
            else left[i]
            if last
            else left[i] * Fraction(1, int(rng.integers(1, 4)))
        )
        left[i] -= 0 if hard else beta
        lines.append(f"{beta.numerator:x}/{beta.denominator:x}")
    new = case.copy("fractions")
    new.header |= WIDE
    new.arrays["fractions"] = np.frombuffer("\n".join(lines).encode(), np.uint8)
    return new.claimed(new.judged())


def certificates(seed: int = 0, rounds: int = 1) -> tuple[Case, ...]:
    """Proven certificates of every formulation and structure, `rounds` draws each."""
    return made(seed, rounds)


@cache
def made(seed: int, rounds: int) -> tuple[Case, ...]:
    found = []
    for draw in range(rounds):
        for number, (name, outputs, settings) in enumerate(SETTINGS):
            for output in outputs:
                rng = np.random.default_rng([seed, draw, number, ALL.index(output)])
                case = case_of(rng, name, output, settings)
                for _ in range(20 * (case.verdict.upper == INFINITE)):  # hard constraints that the point does not meet
                    case = case if case.verdict.upper < INFINITE else case_of(rng, name, output, settings)
                found.append(case)
                squared = name in SQUARED and output != "graph" and settings is not INTERCEPT
                if squared and case.header["proof"]["kind"] == "cuts":
                    found.append(fractions(rng, case))
        rng = np.random.default_rng([seed, draw])
        found += [case_of(rng, name, output, settings, tag, **words) for name, output, settings, tag, words in FURTHER]
    return tuple(found)
