"""Our formulations' CVXPY text with all cuts written out, proven by `wb.prove`: it meets our own certificates."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.registries import registry
from workbench.solving.masters.declared import written


def table(n=8, features=3, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return wb.Multiclass(np.round(rng.normal(size=(n, features)), 2), np.arange(n) % classes)


CASES = {
    "soft margin": lambda: (wb.SoftMargin(lam=0.1), table()),
    "slack rescaling": lambda: (wb.SoftMargin(lam=0.1, rescaling="slack"), table(seed=1)),
    "hard margin": lambda: (wb.HardMargin(), table(n=4, features=8)),
    "chain": lambda: (wb.SoftMargin(lam=0.1), chain()),
    "simplex costs": lambda: (wb.SimplexCostLearning(lam1=0.05, lam2=0.1, K=0.5), table(n=6)),
    "normalized costs": lambda: (wb.NormalizedCostLearning(lam1=0.05, lam2=0.1, K=0.5), table(n=6)),
}


def chain():
    rng = np.random.default_rng(2)
    return wb.Chain(
        [np.round(rng.normal(size=(t, 2)), 2) for t in (1, 2, 2)], [np.array(y) for y in ([0], [1, 0], [1, 1])]
    )


@pytest.mark.parametrize("name", CASES)
def test_the_written_program_has_the_certified_optimum(name):
    form, problem = CASES[name]()
    ours, proof = wb.solve(form, problem, gap=1e-7), wb.prove(written(form, problem)[0])
    assert proof.kind in ("optimal", "bounded")
    size = max(1.0, abs(ours.upper))
    assert proof.upper is None or float(proof.upper) >= ours.lower - 1e-12 * size
    assert proof.lower is None or float(proof.lower) <= ours.upper + 1e-12 * size
    assert proof.width < 1e-6 * size


@pytest.mark.parametrize(
    ("pair", "seed"),
    [
        *(("multiclass:crf", seed) for seed in (1, 2)),
        *((pair, 1) for pair in ("structured:crf", "linear:weighted-risk", "multiclass:kappa-difficulty")),
        *((pair, 1) for pair in ("motif:latent-ssvm", "motif:self-paced-latent", "multiclass:fixed-cost")),
        *((pair, 1) for pair in ("multiclass:perceptron", "structured:completed-ssvm")),
        ("matching:soft-margin", 0),  # with its compact text
    ],
)
def test_random_texts_of_the_benchmark_meet_our_certificates(pair, seed):
    """The fast part of `cutbench bench proven-texts`."""
    *_, record = registry("benchmark").get("proven-texts")(n=1, seed=seed, pair=pair)
    assert record["tried"] >= 1
    assert record["failures"] == []
    assert record["agreed"] + record["open"] == record["tried"]
