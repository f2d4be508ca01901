"""Active learning of pairs: which rater is asked for which label, and who is rewarded with more work.

A pool of pairs; the label asked next is that of the pair with the least h_min, the importance that would turn its
prediction (dyads/dyadic.py), or a random one. `random_raters` of the raters answer at random, which nobody is told.
The source's remark: asking where predictions are easily turned "might reward a rater answering randomly with more
work". `reward` is the share of the questions that went to random raters over their share of the pool: above 1 they are
rewarded. Asking at random has reward 1 but for chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.dyads.dyadic import Dyadic
from workbench.dyads.pairs import Dyads, simulated, split
from workbench.errors import BadInput, checked_whole

RULES = ("h_min", "random")


def with_random_raters(dyads: Dyads, raters: int, seed: int) -> tuple[Dyads, Any]:
    """The pairs where the first `raters` raters answer at random; and (n,) whether a pair is one of theirs."""
    theirs = dyads.left.indices[dyads.left.indptr[:-1]] < raters
    part, rng = dyads.take(slice(None)), np.random.default_rng(seed)
    part.labels = np.where(theirs, rng.integers(0, len(dyads.classes), dyads.n_samples), dyads.labels)
    return part, theirs


def asked(
    pool: Dyads, theirs: Any, test: Dyads, rule: str, budget: int, rounds: int, passes: int, seed: int
) -> list[dict[str, Any]]:
    """One row a round: labels known, test error, and the reward so far."""
    order = np.random.default_rng([seed, 7]).permutation(pool.n_samples)
    size = max(budget // (rounds + 1), 2)
    known, rest, rows = order[:size], order[size:], []
    share = theirs[rest].mean()
    for _ in range(rounds):
        learner = Dyadic(1, step=0.2, seed=seed).fit(pool.take(known), passes)
        if rule == "h_min":
            rest = rest[np.argsort(learner.least_importances(pool.take(rest)), kind="stable")]
        known, rest = np.concatenate([known, rest[:size]]), rest[size:]
        error = test.error(Dyadic(1, step=0.2, seed=seed).fit(pool.take(known), passes).predict(test))
        reward = float(theirs[known[size:]].mean() / share)
        rows.append({"rule": rule, "seed": seed, "labels": len(known), "error": error, "reward": reward})
    return rows


def active_dyads(
    tasks: int = 120,
    raters: int = 60,
    random_raters: int = 12,
    classes: int = 2,
    budget: int = 1200,
    rounds: int = 8,
    passes: int = 15,
    seeds: int = 5,
) -> dict[str, Any]:
    """Rows, and `reward_h_min`, `reward_random`: means over seeds at the end; `deviation` of the former's mean."""
    checked_whole(1, tasks=tasks, raters=raters, random_raters=random_raters, budget=budget, rounds=rounds, seeds=seeds)
    if not random_raters < raters:
        raise BadInput(f"random_raters is {random_raters} of {raters} raters; leave at least one who looks.")
    rows = []
    for seed in range(seeds):
        dyads = simulated(tasks, raters * 2 // 3, raters, classes=classes, rank=1, seed=seed)
        train, test = (dyads.take(part) for part in split(dyads.n_samples, 1 / 4, seed))
        honest = test.take(test.left.indices[test.left.indptr[:-1]] >= random_raters)
        pool, theirs = with_random_raters(train, random_raters, seed)
        for rule in RULES:
            rows += asked(pool, theirs, honest, rule, budget, rounds, passes, seed)
    last = {rule: [r["reward"] for r in rows if r["rule"] == rule][rounds - 1 :: rounds] for rule in RULES}
    record: dict[str, Any] = {"rows": rows}
    record |= {f"reward_{rule}": float(np.mean(found)) for rule, found in last.items()}
    record["deviation"] = float(np.std(last["h_min"]) / max(seeds - 1, 1) ** 0.5)
    return record


NAMES = {"active-dyads": active_dyads}
