"""The table of cost learning: what learned costs change in accuracy, every row certified (docs/mathematics.md §5).

Rows: the plain SVM (all costs 1), objective (1), objective (10) for every n_S, and costs by κ-difficulty with the
cosine step; columns: ordered and unordered pairs. Data, as `only` names them: `reuters` (R8, all 5,485 stories unless n
says less, tested on 2,189), `digits` (balanced; the first 1,000, tested on the other 797), and the synthetic suite
`exp`, `exp-small`, `exp-mini`, `plus-rare`, `plus-many-rare` (400 samples, 16,000 others to test on). `newsgroups` and
`r52` are generated texts (problem `synthetic-text`) of the size and the shares of topics of 20 Newsgroups (11,314 to
learn from, 7,532 to test on, 20 topics, nearly even) and of R52 (6,532 and 2,568, 52 topics, very uneven); n makes both
parts smaller alike.

Costs are K = 1 an error in the SVM and in (10). On the simplex they share K, so K is the number of reachable
classes there: 1 an error on average (K only rescales λ₂: docs/mathematics.md §5).

λ₂ is chosen for each row alike: of the values in `grid` the one with the highest accuracy on a held-out quarter of the
samples, learned from the rest to the gap INNER; of equals the largest. One value, the default, leaves no choice.

`adagrad-alternating` is the method that the source's author ran (learners/adagrad_alternating.py), with `passes` passes
from the same λ₂; `upper` is its F(w, b, v) and `lower` the certified minimum over (w, b) at its own v.

Every cell is a `wb.solve` to the gap, by the master that `solving/masters/ascent.py` describes where data are long;
of an alternation each inner program is one.

Accuracies carry exact (Clopper–Pearson) 95 % intervals; each row is compared with the SVM by McNemar's exact test
on the stories that one of the two gets wrong. `spread` is the greatest difference of two scores on a test sample. Where
it is below 0.01 of a cost of 1, w = b = 0 is as good as optimal, and what is predicted is rounding.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from workbench.contracts import Floats
from workbench.data.loading import load_problem
from workbench.errors import BadInput, checked_whole
from workbench.formulations.cost_learning import NormalizedCostLearning, SimplexCostLearning
from workbench.formulations.fixed_cost import FixedCostLearning
from workbench.formulations.kappa_difficulty import KappaDifficulty
from workbench.learners.adagrad_alternating import AdaGradAlternating
from workbench.objectives.factorings import classes_of, reachable
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.any_bounds import Bounds
from workbench.registries import load_file
from workbench.solving.majorize import alternate
from workbench.solving.request import Request
from workbench.solving.solve import solve

ROUNDS = 12  # of an alternation
INNER, HELD = 1e-2, 4  # the gap of inner validation, and of how many samples one is held out
settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")

LEVEL = 0.05
ADAGRAD = "adagrad-alternating"
NOTHING = 0.01  # a spread of scores
COUNTS = ("none", "total", "logical", "expected")  # n_S: 1, N, by label counts, by chance
PUBLISHED = {"expected": (0.759, 1.0), "logical": (0.907, 1.0), "total": (0.999, 1.0)}  # ranges of v, McDowell & Smith
MADE = {"newsgroups": (11_314, 7_532, 57_000, 160), "r52": (6_532, 2_568, 26_000, 120)}  # stories, words, length
SUITES = ("exp", "exp-small", "exp-mini", "plus-rare", "plus-many-rare")


def cost_table(
    n: int | None = None,
    grid: str = "0.1",
    gap: float = 1e-3,
    passes: int = 30,
    data: str | None = None,
    only: str = "reuters,digits",
    path: str = "",
) -> dict[str, Any]:
    """Rows for every cell, and whether the published findings hold; `failed` counts cells above the gap.

    path : with only=text, a folder with a folder a topic, or a file of lines label<TAB>text; a fifth is tested on
    """
    lams = tuple(settings.numbers(grid, "grid"))
    checked_whole(1, passes=passes)
    rows, findings = [], []
    for name in settings.chosen(only, ("reuters", "digits", "text", *MADE, *SUITES), "data set"):
        problem, test = texts(path, n) if name == "text" else datasets(name, n, data)
        told = table(name, problem, test, lams, gap, passes)
        rows += told
        findings += judged(name, told)
    failed = sum(row["gap"] > gap for row in rows)
    return {"rows": rows, "findings": findings, "seconds": sum(row["seconds"] for row in rows), "failed": failed}


def datasets(name: str, n: int | None, data: str | None) -> tuple[Multiclass, Multiclass]:
    """What is learned from, and what is tested on."""
    if name == "reuters":
        make = load_problem("reuters")
        return make(n=n, data=data), make(n=n, split="test", data=data)
    if name in SUITES:
        make = partial(load_problem("synthetic-costs"), suite=name)
        return make(copies=max(min(n or 400, 400) // 16, 1)), make(copies=1000, split="test")
    if name in MADE:
        size, others, words, length = MADE[name]
        size, share = (n or size), min((n or size) / size, 1.0)
        make = partial(load_problem("synthetic-text"), n=size, words=words, length=length, shape=name)
        return make(), part_of(make(split="test"), np.arange(min(round(share * others), size)))
    digits = load_problem("digits")(n=1797)
    size = min(n or 1000, 1000)
    parts = [(digits.X[part], digits.labels[part]) for part in (slice(size), slice(1000, None))]
    return tuple(Multiclass(X, y, classes=np.arange(10)) for X, y in parts)


def texts(path: str, n: int | None) -> tuple[Multiclass, Multiclass]:
    """The first n of a user's texts, in an order of their own; a fifth is tested on."""
    if not path:
        raise BadInput("only=text needs path=; give a folder with a folder a topic, or a file of label<TAB>text.")
    make = load_problem("text")
    return make(path=path, n=n), make(path=path, n=n, split="test")


def cells(problem: Multiclass, lam2: float) -> list[tuple[str, str, str, Any]]:
    """(method, factoring, n_S, formulation) of each row, the SVM first."""
    found = [("svm", "-", "-", FixedCostLearning(lam2=lam2))]
    for factoring in ("ordered", "unordered"):
        share = float(reachable(problem, classes_of(problem, factoring)).sum())
        found.append(("objective 1", factoring, "-", SimplexCostLearning(lam2, 0.0, share, factoring)))
        found += [("objective 10", factoring, c, NormalizedCostLearning(lam2, 0.0, 1.0, factoring, c)) for c in COUNTS]
        for method in ("cosine kappa", ADAGRAD):
            found.append((method, factoring, "-", KappaDifficulty(lam2, 0.0, share, factoring)))
    return found


def learned_cell(method: str, form: Any, problem: Multiclass, gap: float, passes: int) -> tuple[Any, Any, float, Any]:
    """What a row learns, with its costs v, the largest gap behind it, and how it ended."""
    certified = partial(solve, gap=gap)
    if method == ADAGRAD:
        theta = AdaGradAlternating().fit(problem, form, passes, 0)
        v = theta[-len(form.classes(problem).names) :]
        inner = form.surrogate(problem, v)
        best, own = certified(inner, problem), theta[: len(theta) - len(v)]
        cell = SimpleNamespace(theta_flat=own, upper=Bounds(inner, problem).upper(own), lower=best.lower)
        return cell, v, best.gap, {"status": "learned", "rounds": passes}
    if isinstance(form, KappaDifficulty):
        found = alternate(form, problem, certified, Request(max_rounds=ROUNDS))
        worst = max(entry["gap"] for entry in found.history)
        ended = {"status": found.status, "rounds": len(found.history), "cycle": found.cycle}
        return found.inner, found.states[-2], worst, ended
    cell = certified(form, problem)
    v = cell.theta.get("v", np.ones(len(form.classes(problem).names)))
    return cell, v, cell.gap, {"status": cell.status, "rounds": cell.rounds}


def chosen_lam(method: str, form: Any, problem: Multiclass, lams: tuple[float, ...], passes: int) -> float:
    """The λ₂ of the highest accuracy on a held-out part; of equals the largest."""
    if len(lams) == 1:
        return lams[0]
    order = np.random.default_rng(0).permutation(problem.n_samples)
    cut = problem.n_samples // HELD
    inner, outer = (part_of(problem, np.sort(part)) for part in (order[cut:], order[:cut]))

    def held(lam2: float) -> float:
        asked = replace(form, lam2=lam2)
        if method == ADAGRAD:  # its weights need no certificate here
            theta = AdaGradAlternating().fit(inner, asked, passes, 0)
        else:
            theta = learned_cell(method, asked, inner, INNER, passes)[0].theta_flat
        return float((scores(theta, inner, outer).argmax(axis=1) == outer.labels).mean())

    return max(sorted(lams, reverse=True), key=held)


def part_of(problem: Multiclass, samples: Any) -> Multiclass:
    """Some of the samples, with all classes."""
    return Multiclass(problem.X[samples], problem.classes[problem.labels[samples]], classes=problem.classes)


def table(
    name: str, problem: Multiclass, test: Multiclass, lams: tuple[float, ...], gap: float, passes: int
) -> list[dict[str, Any]]:
    rows, baseline = [], np.empty(0)
    for method, factoring, counts, form in cells(problem, lams[0]):
        start = time.process_time()
        form = replace(form, lam2=chosen_lam(method, form, problem, lams, passes))
        cell, v, worst, extra = learned_cell(method, form, problem, gap, passes)
        said = scores(cell.theta_flat, problem, test)
        right = said.argmax(axis=1) == test.labels
        baseline = right if method == "svm" else baseline
        known = reachable(problem, form.classes(problem))
        rows.append(
            {
                "problem": name,
                "method": method,
                "factoring": factoring,
                "n_S": counts,
                "lam2": form.lam2,
                "upper": cell.upper,
                "lower": cell.lower,
                "gap": worst,
                "accuracy": float(right.mean()),
                **interval(int(right.sum()), len(right)),
                **mcnemar(right, baseline),
                "spread": float(np.ptp(said, axis=1).max()),
                "v_least": float(v[known].min()),
                "v_greatest": float(v[known].max()),
                "v_published": PUBLISHED.get(counts),
                **extra,
                "seconds": time.process_time() - start,
            }
        )
    return rows


def scores(theta: Floats, problem: Multiclass, test: Multiclass) -> Floats:
    """(samples, labels) by W and b."""
    d, k = problem.n_features, len(problem.classes)
    return problem.scores(theta[:d], test.X) + theta[d : d + k]


def interval(right: int, total: int) -> dict[str, float]:
    """The Clopper–Pearson interval of a share."""
    from scipy.stats import binomtest

    found = binomtest(right, total).proportion_ci(0.95)
    return {"accuracy_low": float(found.low), "accuracy_high": float(found.high)}


def mcnemar(right: Any, baseline: Any) -> dict[str, Any]:
    """Stories that only this row, only the SVM gets right, and the exact two-sided p of such a split."""
    from scipy.stats import binomtest

    won, lost = int((right & ~baseline).sum()), int((baseline & ~right).sum())
    return {"won": won, "lost": lost, "p": float(binomtest(won, won + lost).pvalue) if won + lost else 1.0}


def judged(name: str, rows: list[dict[str, Any]]) -> list[str]:
    """The published findings in the light of these rows, in plain sentences."""

    def at(method: str, factoring: str, counts: str = "-") -> dict[str, Any]:
        return next(r for r in rows if (r["method"], r["factoring"], r["n_S"]) == (method, factoring, counts))

    ten = [row for row in rows if row["method"] == "objective 10" and row["n_S"] != "none"]
    off = [row for row in ten if row["p"] < LEVEL / len(ten)]
    said = [
        f"{name}: objective (10) with n_S = N, logical or expected differs from the SVM in {len(off)} of {len(ten)} "
        f"cells (McNemar, level {LEVEL:g} shared); the published null result {'does not hold' if off else 'holds'}."
    ]
    idle = [f"{r['method']} {r['factoring']} {r['n_S']}" for r in rows if r["spread"] < NOTHING]
    if idle:
        said.append(
            f"{name}: scores differ by less than {NOTHING:g} in {', '.join(idle)}: their accuracies mean nothing."
        )
    for factoring in ("ordered", "unordered"):
        one, other, single = (
            at("objective 1", factoring),
            at("cosine kappa", factoring),
            at("objective 10", factoring, "none"),
        )
        apart = other["accuracy_low"] > one["accuracy_high"] or one["accuracy_low"] > other["accuracy_high"]
        better = other["accuracy"] > one["accuracy"]
        verdict = "is confirmed" if apart and better else "is contradicted" if apart else "is not confirmed"
        said.append(
            f"{name}, {factoring}: cosine-κ {other['accuracy']:.4f} against objective (1) {one['accuracy']:.4f}, "
            f"intervals {'apart' if apart else 'overlap'}: that cosine-κ does better {verdict}; "
            f"(10) with n_S = 1 has {single['accuracy']:.4f}, objective (1)'s interval "
            f"{'holds' if one['accuracy_low'] <= single['accuracy'] <= one['accuracy_high'] else 'does not hold'} it."
        )
    return said


# ── how alternations end ──────────────────────────────────────────────────────────────────────────


def alternations(
    n: int = 100, lam2: float = 0.1, gap: float = 1e-6, rounds: int = 60, only: str = "reuters,digits"
) -> dict[str, Any]:
    """All three steps with all three measures, on the first n samples of each problem: how each ends, and where.

    `failed` counts those that reach the limit of rounds. Every inner program is certified to the gap.
    """
    checked_whole(1, n=n, rounds=rounds)
    rows = []
    for name in settings.chosen(only, ("reuters", "digits"), "data set"):
        problem = load_problem(name)(n=n)
        share = float(reachable(problem, classes_of(problem, "unordered")).sum())
        for measure in ("kappa", "non-generalisability", "perceptron"):
            for step in ("cosine", "dot", "inverted"):
                start, form = time.process_time(), KappaDifficulty(lam2, 0.0, share, "unordered", measure, step)
                found = alternate(form, problem, partial(solve, gap=gap), Request(max_rounds=rounds))
                rows.append(
                    {
                        "problem": name,
                        "difficulty": measure,
                        "step": step,
                        "status": found.status,
                        "cycle": found.cycle,
                        "rounds": len(found.history),
                        "gap": max(entry["gap"] for entry in found.history),
                        "positive": int((found.states[-1] > 0).sum()),
                        "v_greatest": float(found.states[-1].max()),
                        "seconds": time.process_time() - start,
                    }
                )
    return {"rows": rows, "failed": sum(row["status"] not in ("stationary", "cycle") for row in rows)}


NAMES = {"cost-table": cost_table, "alternations": alternations}
