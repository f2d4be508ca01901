"""Every benchmark runs, small, and returns what its docstring promises; how fast it is, is not tested."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import linprog

import workbench as wb
import workbench.command.terminal as terminal
from workbench.command.cli import cli
from workbench.data.loading import load_problem
from workbench.errors import BadInput
from workbench.registries import registry, settings_of

SMALL = {
    "speed": {"only": "few-digits,word-crf", "n": 12, "gap": 0.1, "seconds": 1.0},
    "large-speed": {"only": "text-soft,text-hard,tags-simplex", "seconds": 20.0, "small": True},
    "large": {
        "small": True,
        "limit": 5.0,
        "only": "text",
        "formulations": "soft-margin,crf",
        "routes": "dual-block,own",
    },
    "adagrad": {"passes": 20, "tolerance": 0.9, "only": "toy"},
    "alternations": {"n": 6, "gap": 0.1, "rounds": 2, "only": "digits"},
    "cost-table": {"n": 8, "gap": 0.1, "only": "digits", "grid": "0.1", "passes": 1},
    "error-counts": {"count": 2, "n": 12, "gap": 1e-3, "real": False},
    "threads": {"n": 12, "gap": 0.05, "repeats": 1},
    "shards": {
        "n": 20,
        "lams": "0.1",
        "counts": "1,2",
        "gap": 0.05,
        "slow": 0,
        "kills": 1,
        "lies": 1,
        "workers": "local",
    },
    "k-scaling": {"scales": "0.5", "lam2s": "0.2", "n": 12, "gap": 1e-4},
    "criteria": {"splits": 2, "starts": 1, "n": 10, "gap": 1e-2, "only": "motif", "processes": 1},
    "active-dyads": {"tasks": 20, "raters": 9, "random_raters": 3, "budget": 60, "rounds": 2, "passes": 2, "seeds": 2},
    "tree-regret": {"tasks": 60, "per_task": 4, "raters": 10, "classes": 4, "passes": 2},
    "dyadic-table": {"tasks": 60, "passes": 1, "rounds": 2, "seeds": 1},
    "flows": {"n": 20, "passes": 1, "repeats": 1},
    "vowpal-wabbit": {"tasks": 6, "passes": 2},
    "masters": {"n": 15, "gap": 1e-4, "repeats": 1, "backends": "PIQP"},
    "schedules": {"loops": 1, "only": "descent"},
    "steps": {"n": 4, "passes": 1, "repeats": 2, "start": False},
    "ocr": {"n": 3, "lam": 1.0, "gap": 1e-3},
    "alignment": {"n": 4, "folds": 3, "gap": 0.1},
    "instances": {"n": 3, "pair": "multiclass:soft-margin"},
    "lazy": {"degree": 4, "points": 101, "gap": 1e-4, "repeats": 1},
    "dual-block": {"n": 3, "lam": 1.0, "gap": 1e-1, "digits_n": 20},
    "routes": {"small": 15, "large": 20, "few": 2, "many": 2, "limit": 0.2},
    "tolerances": {"only": "hard", "backends": "CLARABEL,SCS"},
    "forgeries": {"n": 20, "only": "multiclass:soft", "edits": "weight"},
    "planted-bugs": {"seeds": 1, "hard": 0, "only": "matching", "bugs": "loss halved", "processes": 1},
    "detective": {"seeds": 1, "only": "no projection,no intercept", "family": "costs"},
    "second-catalogue": {"only": "ridge,logistic-labels"},
    "selection": {"n": 10, "seeds": 1, "limit": 0.2, "count": 2, "most": 6, "samples": 2},
    "hidden-states": {"count": 2, "starts": 2, "most": 5},
    "continuum": {"folds": 2, "most": 20, "only": "digits", "gap": 0.5, "inner": 0.9},
    "continuum-grid": {"most": 10, "only": "words", "inner": 0.9},
    "startup": {"repeats": 1},
    "path": {"n": 30, "epsilon": 0.1, "tried": 5, "points": 3},
    "reliability": {"only": "oracles"},
    "programs": {"only": "afiro,HS21,HS35,itest6", "readings": "float", "backends": "CLARABEL"},
    "program-families": {"instances": 1, "only": "ball,lasso,infeasible"},
    "proven-texts": {"n": 1, "pair": "structured:crf"},
    "oracles": {"enumerated": 5, "compared": 5},
    "own-models": {"n": 8},
    "pictures": {"size": 6, "train": 2, "cases": 1, "gap": 1e-4},
    "tracking": {"seeds": 2, "frames": 5, "objects": 4, "train": 1, "large_frames": 6, "large_objects": 4},
}
NONE = {"failed", "accepted_false", "disagreements", "crashes", "hangs", "unjudged", "false"}  # must be 0
DYADIC = {"decades_hinge", "decades_squared", "decades_logistic", "finite", "planted_gain", "chosen_gain"}
WAYS = ("lazy", "stacked", "scalar")
KEYS = {
    "schedules": {"rows", "loops", "accused", "agree", "failed"},
    "criteria": {"rows", "findings", "unsettled", "worst_gap", "seconds", "runs"},
    "large-speed": {"rows", "met"},
    "large": {"rows", "late", "stuck", "large", "worse"},
    "speed": {"rows", "few-digits_unit_ms", "few-digits_solve_ratio", "word-crf_unit_ms"},
    "dyadic-table": {"rows", "steps", "active", "bounds", "certified", *DYADIC},
    "flows": {f"{kind}_{loss}" for kind in ("linear", "dyadic") for loss in ("hinge", "squared", "logistic")},
    "vowpal-wabbit": {"vowpal_wabbit", "rows"},
    "masters": {
        *(f"{what}_{way}_piqp" for what in ("cpu", "rounds") for way in ("compiled", "gram", "stacked", "scalar")),
        *(f"{way}_{key}" for way in ("stacked", "scalar") for key in ("over_ours_piqp", "ratio", "over_default")),
        *("cpu_ascent", "rounds_ascent", "best_backend"),
    },
    "steps": {
        *(f"{data}_oracle_us" for data in ("words", "digits")),
        *(
            f"{data}_{solver}_{key}"
            for data in ("words", "digits")
            for solver in ("subgradient", "bcfw")
            for key in ("us", "over_oracle")
        ),
        "words",
    },
    "own-models": {"slowest", "growth", "rows"},
    "ocr": {
        *("words", "status", "upper", "lower", "gap", "rounds", "cuts", "cpu_seconds", "process_cpu_seconds"),
        *("oracle_share", "master_share", "oracle_pass_ms", "oracle_passes"),
    },
    "alignment": {
        *(
            f"{m}_{key}"
            for m in ("learned", "dictionary", "dice", "ones", "centred")
            for key in ("aer", "precision", "recall")
        ),
        *("limit_aer", "words", "pairs", "folds", "gap", "chosen_lams", "chosen_prices", "chosen_thresholds", "rows"),
    },
    "instances": {"tried", "agreed", "failed", "rows", "failures"},
    "lazy": {
        *(f"{key}_{way}" for key in ("value", "rounds", "cpu", "solver", "round_ms") for way in WAYS),
        *(f"{way}_{key}" for key in ("ratio", "overhead") for way in WAYS[1:]),
        "backend",
    },
    "dual-block": {
        *(f"{what}_1e-01" for what in ("seconds", "units", "passes")),
        *("words", "unit_ms", "upper", "lower", "digits_upper", "digits_lower"),
        *("digits_seconds", "liblinear_seconds", "digits_ratio"),
    },
    "routes": {
        f"{case}_{key}"
        for case in ("digits_small", "digits_large", "words_few", "words_many", "words_rough")
        for key in ("ratio", *(f"{m}_{key}" for m in ("dual_block", "ascent") for key in ("cpu", "status", "gap")))
    },
    "planted-bugs": {
        *("bugs", "runs", "detection", "by_accuracy", "by_account", "detection_by_weights", "datasets"),
        *("sound_runs", "sound_agree", "false_alarms", "failed", "kinds", "families", "rows", "alarms"),
    },
    "forgeries": {
        *("tried", "proven", "accepted_false", "disagreements", "crashes", "hangs", "unjudged"),
        *("failed", "statements", "seconds", "findings", "rows"),
    },
    "second-catalogue": {"faults", "harmful", "sound_runs", "worst_sound", "rows"},
    "selection": {
        *("searches", "proven", "slowest_cpu", "early_gap", "instances", "search_agreed", "scip_agreed"),
        *("scip_instances", "alternation_worse", "alternation_worst", "large_cpu", "rows", "small"),
        *(f"novelty_{key}" for key in ("difference", "width", "several_active", "cpu", "cvxpy_cpu", "ratio")),
    },
    "hidden-states": {"instances", "width", "scip_instances", "scip_agreed", "below", "rows", "cases"},
    "adagrad": {"rows", "failed"},
    "detective": {"cases", "diagonal", "confident", "false_confident", "cpu_per_case", "matrix", "rows"},
    "alternations": {"rows", "failed"},
    "continuum": {"failed", "cpu_seconds", "crossings", "claims", "table", "rows"},
    "continuum-grid": {"wins", "rows"},
    "oracles": {"failed", "rows"},
    "pictures": {
        *(f"large_{key}" for key in ("seconds", "gap", "error")),
        *("noisy_error", "closed", "contained", "under_refuted", "under_wrong", "rows"),
        *("widest_enclosed", "widest_relaxed"),
    },
    "tracking": {
        *(f"{method}_{key}" for method in ("plain", "learned", "limit") for key in ("mota", "idf1", "switches")),
        *(f"gain_{key}{error}" for key in ("mota", "idf1") for error in ("", "_error")),
        *("large_seconds", "large_gap", "large_detections", "large_arcs", "rows"),
    },
    "active-dyads": {"rows", "reward_h_min", "reward_random", "deviation"},
    "tree-regret": {"rows", "violations", "failed"},
    "cost-table": {"rows", "findings", "seconds", "failed"},
    "threads": {"words", "n", "lam", "asked", "crossed", "rows"},
    "shards": {"rows", *(f"{what}_{key}" for what in ("kills", "lies") for key in ("runs", "same", "times"))},
    "error-counts": {"rows", "random_rank", "random_deviation", "random_negative", "random_counted", "failed"},
    "k-scaling": {"rows", "failed"},
    "reliability": {"tried", "survived", "lost", "failed", "seconds", "findings", "rows"},
    "startup": {f"{name}{suffix}" for name in ("help", "list", "solve", "verify") for suffix in ("", "_cpu")},
    "path": {
        *("n", "epsilon", "gap", "solved", "cpu", "dearest", "ratio", "dearest_same_gap", "ratio_same_gap"),
        *("tried", "beyond", "worst", "failed"),
    },
    "programs": {"optimal", "infeasible", "irreducible", "median_seconds", "worst_seconds", "boasts_clarabel", "rows"},
    "program-families": {"instances", "exact", "false", "wide", "failed", "rows"},
    "proven-texts": {"tried", "agreed", "exact", "open", "unknown", "failed", "rows", "failures", "refused"},
    "tolerances": {"programs", "boasts", "worst_clarabel", "worst_scs", "rows"},
}


@pytest.mark.parametrize("name", registry("benchmark").names())
def test_a_benchmark_returns_its_keys(name, capsys):
    benchmark = registry("benchmark").get(name)
    assert name in SMALL, "give the new benchmark small settings and its keys here"
    assert SMALL[name].keys() <= settings_of(benchmark).keys()
    if name == "programs" and not Path(os.environ.get("CUTBENCH_DATA", "nowhere"), "programs").is_dir():
        pytest.skip("CUTBENCH_DATA names no folder with `programs`")
    options = [word for key, value in SMALL[name].items() for word in ("--set", f"{key}={value}")]
    done = CliRunner().invoke(cli, ["bench", name, *options, "--json"])
    assert done.exit_code == 0, done.stderr or done.exception
    record = json.loads(done.stdout)
    assert KEYS[name] <= record.keys()
    assert {key: record[key] for key in NONE & record.keys()} == dict.fromkeys(NONE & record.keys(), 0)
    for key, value in record.items():
        assert isinstance(value, (str, list)) or math.isfinite(value), key
        if isinstance(value, float) and any(word in key for word in ("cpu", "_us", "_over_", "ratio", "passes")):
            assert value >= 0, key
    terminal.facts(record)  # what the command prints without --json
    printed = capsys.readouterr().out
    assert all(key in printed for key, value in record.items() if not isinstance(value, list))
    for row in (row for value in record.values() if isinstance(value, list) for row in value):
        assert all(word in printed for word in (row if isinstance(row, dict) else [str(row)]))


def test_the_exchange_ends_where_the_rebuilt_one_does():
    """The same best polynomial, found from points in numbers that differ little: vertices may tie, rows be dropped."""
    record = registry("benchmark").get("lazy")(degree=8, points=401, gap=1e-7, repeats=1)
    for way in ("stacked", "scalar"):
        assert record[f"value_{way}"] == pytest.approx(record["value_lazy"], rel=2e-7)
        assert record[f"rounds_{way}"] == pytest.approx(record["rounds_lazy"], rel=0.5)
    task = registry("benchmark").modules["lazy"].Exchange(8, 401)
    m, p = task.V.shape
    A = np.block([[task.V, -np.ones((m, 1))], [-task.V, -np.ones((m, 1))]])
    whole = linprog(np.r_[np.zeros(p), 1], A, np.r_[task.f, -task.f], bounds=(None, None))
    assert record["value_lazy"] == pytest.approx(whole.fun, rel=1e-6)


def test_default_tolerances_certify_less_than_statuses_say():
    """Facts of the installed versions; a backend that improves changes its line here."""
    pytest.importorskip("daqp")
    record = registry("benchmark").get("tolerances")(backends="CLARABEL,OSQP,SCS,PIQP,DAQP")
    rows = {(row["program"], row["backend"]): row for row in record["rows"]}
    assert len(rows) == 30
    assert all(row["gap"] >= 0 for row in rows.values()), "a certified gap is negative only by contradiction"
    for name in ("CLARABEL", "PIQP", "DAQP"):
        assert all(rows[case, name]["says"] == "optimal" for case, each in rows if each == name)
        assert record[f"worst_{name.lower()}"] <= 1e-6
    assert rows["chain", "OSQP"]["says"] == "optimal"
    assert rows["chain", "OSQP"]["gap"] > 1e-6
    assert rows["hard-tight", "OSQP"]["gap"] > 1e-3
    boasts = [key for key, row in rows.items() if row["says"] == "optimal" and row["gap"] > 1e-6]
    assert record["boasts"] == len(boasts) >= 1
    assert {name for _, name in boasts} <= {"OSQP", "SCS"}


def test_the_continuum_goes_on_from_the_rows_that_are_kept(tmp_path):
    continuum = registry("benchmark").get("continuum")
    words = {"folds": 2, "most": 20, "only": "digits", "gap": 0.1, "inner": 0.5, "out": str(tmp_path / "kept")}
    begun = continuum(**words)
    first = next(begun)
    begun.close()
    rows = list(continuum(**words))[-1]["rows"]
    assert rows[:4] == first["rows"], "seconds included, so fold 0 was not measured again"
    assert [row["fold"] for row in rows] == [0] * 4 + [1] * 4
    assert (tmp_path / "kept" / "continuum.png").is_file()
    for row in rows:
        proven = row["method"] in ("crf", "margin")
        assert proven == (row["gap"] is not None)
        assert not proven or (row["lower"] <= row["upper"] and row["gap"] <= 0.1 and row["lam"] > 0)
    with pytest.raises(BadInput, match="other settings"):
        list(continuum(**words | {"gap": 0.2}))


@pytest.mark.parametrize("formulation", ["crf", "soft-margin"])
@pytest.mark.parametrize("name", ["digits", "synthetic-chain"])
def test_an_optimum_begun_elsewhere_is_the_same(name, formulation):
    """At another λ and with other samples; the two intervals must meet, and a start is no evidence."""
    warm, form = registry("benchmark").modules["continuum"].warm, registry("formulation").get(formulation)
    problem = load_problem(name)(n=24)
    problem.weights = np.repeat([1.0, 0.0], [16, 8])
    elsewhere = warm.solved(form(lam=1.0), problem, 1e-2)
    problem.weights = np.roll(problem.weights, 4)
    there = warm.solved(form(lam=0.1), problem, 1e-6, elsewhere)
    assert there.gap <= 1e-6
    cold = wb.solve(form(lam=0.1), problem, gap=1e-6)
    assert max(cold.lower, there.lower) <= min(cold.upper, there.upper)
    lost = there._replace(weights=there.weights * 1e3, theta=-there.theta)
    assert warm.solved(form(lam=0.1), problem, 1e-6, lost).lower <= cold.upper
