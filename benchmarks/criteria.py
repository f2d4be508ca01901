"""Which criterion helps? Latent SSVM and self-paced learning from the same starts (docs/latent.md).

    plain         CCCP on all samples      (formulation latent-ssvm)
    slack, uncertainty, novelty            easy samples first by that criterion      (self-paced-latent)

Data: `motif`, a new planted motif for every split, n sequences to learn from and 200 to test on; and `promoters`,
random splits in two thirds and one third, the classes in equal parts. Every method starts from the same random weights.

test_error is the mean over splits of the mean over starts; test_error_best takes from each split the start with the
least training objective F, as a user would. Standard errors are over splits: s √(1/J + o), with o = 0 for independent
draws and o = n_test/n_train where splits overlap (Nadeau & Bengio 2003), and p is that of the paired t-test against
`plain` with the same correction. objective is F/C; recovery the share of positive training samples whose position is
the planted one, up to one shift common to all, of at most half the motif; slack_50 and slack_90 quantiles of ξ_i(w) at
the end; zero_slack the share of samples that are right with full margin. Seconds are CPU seconds per start.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from workbench.contracts import Floats, Ints
from workbench.data.loading import load_problem
from workbench.errors import checked_whole
from workbench.formulations.latent_ssvm import LatentSSVM
from workbench.formulations.self_paced_latent import SelfPacedLatent
from workbench.objectives.pacing import CRITERIA, hinges
from workbench.registries import load_file
from workbench.solving.solve import solve

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")

METHODS = ("plain", *CRITERIA)
TESTED = 200  # planted sequences
LEVEL = 0.05
MEASURED = ("test_error", "objective", "recovery", "slack_50", "slack_90", "zero_slack", "seconds", "rounds")


def formulation(method: str, C: float, start: int) -> Any:
    if method == "plain":
        return LatentSSVM(C, starts=1, start_seed=start)
    return SelfPacedLatent(C, **{name: float(name == method) for name in CRITERIA}, starts=1, start_seed=start)


def parts(name: str, split: int, n: int, data: str | None) -> tuple[Any, Any]:
    """What is learned from, and what is tested on."""
    rng = np.random.default_rng(split)
    if name == "motif":
        whole, count = load_problem("motif")(n=n + TESTED, draw=split), n // 2
    else:
        whole = load_problem("promoters")(data=data)
        count = whole.n_samples // 3
    sides = [rng.permutation(np.flatnonzero(whole.labels == label)) for label in (0, 1)]
    first = [side[:count] for side in sides], [side[count:] for side in sides]
    return tuple(whole.take(np.sort(np.concatenate(side))) for side in first)


def recovered(states: Ints, planted: Ints, length: int) -> float:
    """The share of equal positions, up to one shift."""
    return max(float((states == planted + shift).mean()) for shift in range(-(length // 2), length // 2 + 1))


def one_split(task: tuple[Any, ...]) -> list[dict[str, Any]]:
    """All methods from all starts on one split."""
    name, split, starts, n, C, gap, data = task
    train, test = parts(name, split, n, data)
    positive, rows = train.labels == 1, []
    for start in range(starts):
        for method in METHODS:
            began = time.process_time()
            found = solve(formulation(method, C, 1000 * split + start), train, gap=gap)
            spent, w = time.process_time() - began, found.theta_flat
            states = train.impute(w)
            xi, guess = hinges(train, w, states), test.argmax(w, np.arange(test.n_samples), augment=False)[:, 0]
            known = train.truth[positive, 1]
            rows.append(
                {
                    "data": name,
                    "split": split,
                    "start": start,
                    "method": method,
                    "status": found.status,
                    "test_error": float((guess != test.labels).mean()),
                    "objective": found.upper / C,
                    "recovery": recovered(states[positive], known, train.length) if known.min() >= 0 else np.nan,
                    "slack_50": float(np.quantile(xi, 0.5)),
                    "slack_90": float(np.quantile(xi, 0.9)),
                    "zero_slack": float((xi <= 1e-6).mean()),
                    "seconds": spent,
                    "rounds": found.rounds,
                    "worst_gap": max(entry["gap"] for entry in found.history),
                    "overlap": 0.0 if name == "motif" else test.n_samples / train.n_samples,
                }
            )
    return rows


def runs(tasks: list[tuple[Any, ...]], processes: int) -> Iterator[list[dict[str, Any]]]:
    if processes == 1:
        yield from map(one_split, tasks)
        return
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        yield from pool.imap_unordered(one_split, tasks)


def table_of(rows: list[dict[str, Any]], name: str, key: str) -> Floats:
    """(methods, splits, starts)."""
    chosen = sorted(
        (row for row in rows if row["data"] == name),
        key=lambda row: (METHODS.index(row["method"]), row["split"], row["start"]),
    )
    starts = 1 + max(row["start"] for row in chosen)
    return np.array([row[key] for row in chosen]).reshape(len(METHODS), -1, starts)


def error_of(values: Floats, overlap: float) -> float:
    """The standard error of a mean over splits (J,), see the module's docstring."""
    return float(values.std(ddof=1) * np.sqrt(1 / len(values) + overlap)) if len(values) > 1 else float("inf")


def p_value(differences: Floats, overlap: float) -> float:
    """Two-sided, of the corrected paired t-test."""
    from scipy.stats import t

    error, mean = error_of(differences, overlap), float(differences.mean())
    if mean == 0 or not np.isfinite(error):
        return 1.0
    return float(2 * t.sf(abs(mean) / error, len(differences) - 1)) if error > 0 else 0.0


def summary(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """One row a method."""
    overlap = next(row["overlap"] for row in rows if row["data"] == name)
    tables = {key: table_of(rows, name, key) for key in MEASURED}
    chosen = tables["objective"].argmin(axis=2)[:, :, None]
    best = np.take_along_axis(tables["test_error"], chosen, axis=2)[:, :, 0]
    found = []
    for m, method in enumerate(METHODS):
        means = {key: table[m].mean(axis=1) for key, table in tables.items()}
        row = {"data": name, "method": method} | {key: float(each.mean()) for key, each in means.items()}
        row["test_error_se"] = error_of(means["test_error"], overlap)
        row["test_error_best"] = float(best[m].mean())
        row["test_error_best_se"] = error_of(best[m], overlap)
        row["objective_se"] = error_of(means["objective"], overlap)
        row["objective_least"] = float(tables["objective"][m].min(axis=1).mean())
        for key in ("test_error", "objective", "recovery", "slack_90"):
            row[f"{key}_p"] = p_value(means[key] - tables[key][0].mean(axis=1), overlap)
        row["test_error_best_p"] = p_value(best[m] - best[0], overlap)
        found.append({key: None if isinstance(v, float) and not np.isfinite(v) else v for key, v in row.items()})
    return found


def judged(table: list[dict[str, Any]]) -> list[str]:
    """Which criteria help, in plain sentences."""
    plain, told = table[0], []
    for row in table[1:]:
        words = []
        for key, what in (("test_error", "test error"), ("objective", "training objective")):
            change, p = row[key] - plain[key], row[f"{key}_p"]
            sure = f"p = {p:.2g}"
            verdict = "no significant change of" if p >= LEVEL else "lower" if change < 0 else "higher"
            words.append(f"{verdict} {what} ({plain[key]:.3f} → {row[key]:.3f}, {sure})")
        told.append(
            f"{row['data']}, {row['method']}: {'; '.join(words)}; {row['seconds'] / plain['seconds']:.1f}× the time."
        )
    return told


def criteria(
    splits: int = 20,
    starts: int = 5,
    n: int = 40,
    C: float = 30.0,
    gap: float = 1e-4,
    only: str = "motif,promoters",
    processes: int = 2,
    data: str | None = None,
) -> dict[str, Any]:
    """The table (`rows`), what it says (`findings`), all `runs`, how many did not end stationary, and wall seconds."""
    checked_whole(1, splits=splits, starts=starts, n=n, processes=processes)
    began, names = time.perf_counter(), settings.chosen(only, ("motif", "promoters"), "data set")
    tasks = [(name, split, starts, n, C, gap, data) for split in range(splits) for name in names]
    told = [row for rows in runs(tasks, processes) for row in rows]
    tables = [summary(told, name) for name in names]
    return {
        "rows": [row for table in tables for row in table],
        "findings": [sentence for table in tables for sentence in judged(table)],
        "unsettled": sum(row["status"] != "stationary" for row in told),
        "worst_gap": max(row["worst_gap"] for row in told),
        "seconds": time.perf_counter() - began,
        "runs": [{key: v for key, v in row.items() if v == v} for row in told],
    }


NAMES = {"criteria": criteria}
