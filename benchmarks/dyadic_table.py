"""Dyads: what latent dimensions, losses, steps and chosen labels do to the test error.

The experiment of Mineiro's post of 2011 on data like his: 10,000 tasks × 5 raters (simulated, 15/16 for training),
face sentiment and bluebird (3/4 for training), and planted pairs in two classes with one hidden side.
Scores by scoring filter tree, hinge loss unless said. Errors ± are binomial.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from scipy import sparse

from workbench.data.datasets import MissingData, ratings
from workbench.data.loading import load_problem
from workbench.dyads.dyadic import Dyadic, regularised_risk
from workbench.dyads.nuclear import alternate, nuclear_bound
from workbench.dyads.pairs import Dyads, simulated, split
from workbench.errors import checked_whole
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.multiclass import Multiclass
from workbench.solving.solve import solve

LOSSES = ("hinge", "squared", "logistic")
STEPS = (0.03, 0.1, 0.3)
PLANTED = ("linear", "dyadic k=1")
LAMS = (1e-5, 1e-4, 3e-4)
LAM, CERTIFIED = 1e-3, (20, 100, 400)  # of the certified linear model: λ, and passes


def sources(tasks: int, seed: int) -> dict[str, tuple[Dyads, Dyads]]:
    """(training, test) by name; real data only where they are at hand."""
    found = {"simulated": (simulated(tasks, seed=seed), 1 / 16), "planted": (planted(tasks, seed), 1 / 4)}
    for name in ("face-sentiment", "bluebird"):
        try:
            given = ratings(name)
        except MissingData:
            continue
        found[name] = Dyads(given.rater, given.item, given.label), 1 / 4
    cut = {name: (dyads, split(dyads.n_samples, share, seed)) for name, (dyads, share) in found.items()}
    return {name: (dyads.take(train), dyads.take(test)) for name, (dyads, (train, test)) in cut.items()}


def planted(tasks: int, seed: int) -> Dyads:
    """Two classes, one hidden side, 40 of 60 raters a task."""
    return simulated(max(tasks // 33, 30), 40, 60, classes=2, rank=1, seed=seed)


def row(data: str, model: str, error: float, n: int, **more: Any) -> dict[str, Any]:
    return {"data": data, "model": model, "error": error, "deviation": float(np.sqrt(error * (1 - error) / n))} | more


def repeated(dyads: Dyads, copies: int) -> Dyads:
    """The same pairs with every linear feature `copies` times: as many weights as a dyadic model touches."""
    part = dyads.take(slice(None))
    part.linear = sparse.hstack([dyads.linear] * copies).tocsr()
    return part


def models(name: str, train: Dyads, test: Dyads, passes: int) -> list[dict[str, Any]]:
    """Best constant, linear, k = 1, 2, 3, then k = 1 shrunk and one against all.

    As in the post, the step is the one of three that is best for the linear model, on an eighth of the training pairs;
    so is the λ of the shrinkage, for k = 1.
    """
    constant = np.full(test.n_samples, np.bincount(train.labels, train.importance).argmax())
    inner, outer = (train.take(part) for part in split(train.n_samples, 1 / 8, 0))

    def held(**settings: Any) -> float:
        return outer.error(Dyadic(**settings).fit(inner, passes).predict(outer))

    def learned(label: str, **settings: Any) -> dict[str, Any]:
        learner = Dyadic(step=step, **settings).fit(train, passes)
        error, per_pass = test.error(learner.predict(test)), 1e3 * learner.cpu_seconds / passes
        return row(name, label, error, test.n_samples, step=step, ms_per_pass=per_pass)

    step = min(STEPS, key=lambda step: held(dimensions=0, step=step))
    lam = min(LAMS, key=lambda lam: held(dimensions=1, step=step, lam=lam))
    rows = [row(name, "best constant", test.error(constant), test.n_samples), learned("linear", dimensions=0)]
    rows += [learned(f"dyadic k={k}", dimensions=k) for k in (1, 2, 3)]
    wide = Dyadic(0, step=step).fit(repeated(train, 3), passes)
    rows[-1]["ms_per_pass_of_as_many_linear_weights"] = 1e3 * wide.cpu_seconds / passes
    rows.append(learned("dyadic k=1, shrunk", dimensions=1, lam=lam) | {"lam": lam})
    if train.scores_per_pair > 1:
        rows.append(learned("dyadic k=1, one against all", dimensions=1, reduction="one-against-all"))
    return rows


def over_steps(train: Dyads, test: Dyads, passes: int) -> list[dict[str, Any]]:
    """k = 1 with steps over four orders of magnitude, for three losses."""
    rows = []
    for loss in LOSSES:
        for step in 10.0 ** np.arange(-3, 1.1, 0.5):
            learner = Dyadic(1, loss, step=float(step)).fit(train, passes)
            finite = all(np.isfinite(part).all() for part in learner.factors)
            error = test.error(learner.predict(test))
            rows.append(row("simulated", loss, error, test.n_samples, step=float(step), finite=str(finite)))
    return rows


def active(train: Dyads, test: Dyads, passes: int, rounds: int, seeds: int) -> list[dict[str, Any]]:
    """Pools of planted pairs: labels asked where h_min is least, against labels asked at random, equal budgets."""
    rows = []
    for rule in ("h_min", "random"):
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            order = rng.permutation(train.n_samples)
            size = max(train.n_samples // (4 * rounds), 2)
            known, pool = order[: 2 * size], order[2 * size :]
            for _ in range(rounds):
                learner = Dyadic(1, step=0.2, seed=seed).fit(train.take(known), passes)
                error = test.error(learner.predict(test))
                rows.append(row("planted", rule, error, test.n_samples, labels=len(known), seed=seed))
                if rule == "h_min":
                    pool = pool[np.argsort(learner.least_importances(train.take(pool)), kind="stable")]
                known, pool = np.concatenate([known, pool[:size]]), pool[size:]
    return rows


def bounded(passes: int, seed: int) -> list[dict[str, Any]]:
    """Regularised risks over the proven bound, 6 raters and 8 tasks, λ = 0.02: learned, then alternated."""
    dyads, lam, rows = simulated(8, 5, 6, classes=2, seed=seed), 0.02, []
    for k in (1, 2, 6):
        factors = Dyadic(k, step=0.2, power=0.7, lam=lam, spread=0.5).fit(dyads, 20 * passes).factors
        proven = nuclear_bound(dyads, lam, k).lower
        better = alternate(dyads, factors, lam)[-1]
        risks = [regularised_risk(dyads, each, lam) for each in (factors, better)]
        rows.append(
            {"k": k, "bound": proven, "ratio_learned": risks[0] / proven, "ratio_alternated": risks[1] / proven}
        )
    return rows


def certified(tasks: int, seed: int) -> list[dict[str, Any]]:
    """The regularised hinge risk of the linear model over its certified optimum, after 20, 100 and 400 passes.

    On all pairs of bluebird (problems/crowd.py), where the data are at hand, and on the planted pairs.
    Two scores ±⟨w, x⟩/2 with λ‖·‖² have the risk of one score ⟨w, x⟩ with λ/2 ‖w‖², so `crowd` takes 2λ.
    """
    problems, rows = {"planted": planted(tasks, seed)}, []
    with contextlib.suppress(MissingData):
        given = ratings("bluebird")
        problems["bluebird"] = Dyads(given.rater, given.item, given.label)
    for name, dyads in problems.items():
        crowd = load_problem("crowd")() if name == "bluebird" else as_linear(dyads)
        optimum = solve(SoftMargin(lam=2 * LAM), crowd, gap=1e-6)
        for passes in CERTIFIED:
            learner = Dyadic(0, step=0.3, power=0.75, lam=LAM, seed=seed).fit(dyads, passes)
            risk = regularised_risk(dyads, learner.factors, LAM)
            bounds = {"lower": optimum.lower, "upper": optimum.upper, "excess": risk / optimum.upper - 1}
            rows.append({"data": name, "passes": passes, "risk": risk, **bounds})
    return rows


def as_linear(dyads: Dyads) -> Multiclass:
    """The pairs as problems/crowd.py states them."""
    return Multiclass(dyads.linear, dyads.classes[dyads.labels], classes=dyads.classes)


def dyadic_table(
    tasks: int = 10_000, passes: int = 15, rounds: int = 12, seeds: int = 3, seed: int = 0
) -> dict[str, Any]:
    """Best constant, linear and dyadic models; steps over four decades; chosen labels.

    rows          data, model, error, deviation, step, lam, ms_per_pass (CPU)
    steps         model (loss), step, error, deviation, finite: k = 1 on the simulated pairs
    active        model (rule), labels, seed, error: k = 1 on the planted pairs
    certified     data, passes, risk, lower, upper, excess: the linear model's risk against its certified optimum
    bounds        k, bound, ratio_learned, ratio_alternated: regularised risk over its proven lower bound
    decades_LOSS  over how many decades of steps the error beats the best constant by 10 deviations
    finite        whether all weights of `steps` are
    planted_gain  by how many deviations k = 1 beats the linear model on the planted pairs
    chosen_gain   mean over budgets and seeds of the error at random less the error by h_min
    """
    checked_whole(1, tasks=tasks, passes=passes, rounds=rounds, seeds=seeds)
    data = sources(tasks, seed)
    for loss in LOSSES:
        Dyadic(1, loss).fit(data["planted"][0].take(slice(2)), 1)  # compiles
    rows = [each for name, (train, test) in data.items() for each in models(name, train, test, passes)]
    steps = over_steps(*data["simulated"], passes)
    chosen = active(*data["planted"], passes, rounds, seeds)
    constant = rows[0]
    record: dict[str, Any] = {"rows": rows, "steps": steps, "active": chosen}
    record["certified"] = certified(tasks, seed)
    record["bounds"] = bounded(passes, seed)
    for loss in LOSSES:
        better = [each["step"] for each in steps if each["model"] == loss and beats(each, constant)]
        record[f"decades_{loss}"] = float(np.log10(max(better) / min(better))) if better else 0.0
    linear, dyadic = (next(each for each in rows if each["data"] == "planted" and each["model"] == m) for m in PLANTED)
    errors = {
        rule: np.mean([each["error"] for each in chosen if each["model"] == rule]) for rule in ("h_min", "random")
    }
    record["finite"] = str(all(each["finite"] == "True" for each in steps))
    record["planted_gain"] = (linear["error"] - dyadic["error"]) / max(linear["deviation"], 1e-300)
    record["chosen_gain"] = float(errors["random"] - errors["h_min"])
    return record


def beats(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """By ten deviations."""
    return one["error"] + 10 * max(one["deviation"], other["deviation"]) < other["error"]


NAMES = {"dyadic-table": dyadic_table}
