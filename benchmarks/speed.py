"""Ours, CVXPY and other people's learners side by side: CPU seconds to certified gaps, in one run.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 cutbench bench speed
    cutbench bench speed --set only=digits --set n=100 --set gap=1e-2

The races, how they are timed and judged: `judging/racing.py`. The times of a method that reaches no gap are
None, with what it reached in the time as `best`; one that cannot take part, or is absent, says why in `refusal`.
"""

from __future__ import annotations

from typing import Any

from workbench.errors import BadInput, UnknownName
from workbench.judging.racing import RACES, race, unit

GAPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def speed(only: str = "", methods: str = "", n: int = 0, gap: float = 1e-4, seconds: float = 60.0) -> dict[str, Any]:
    """A row per race and method: seconds to 1e-1, 1e-2, … down to `gap`; CASE_METHOD_ratio against the first of ours.

    only, methods : names apart by commas, all if empty;  n : samples, 0 stands for each race's own
    seconds : CPU that a method may take, one fit or solve more or less
    cpu_GAP, passes_GAP, ratio_GAP of a row : CPU seconds, exact oracle passes of the same price, times ours
    CASE_METHOD_ratio : ratio at the smallest gap that both reached;  CASE_unit_ms : CPU of one exact oracle pass
    """
    if gap not in GAPS or n < 0 or not seconds > 0:
        raise BadInput(f"gap={gap}, n={n}, seconds={seconds}; give a gap of 1e-1 to 1e-6, n ≥ 0 and seconds > 0.")
    chosen = named(only) or list(RACES)
    for name in chosen:
        if name not in RACES:
            raise UnknownName("race", name, RACES)
    record: dict[str, Any] = {"rows": []}
    for name in chosen:
        case = RACES[name]
        data, form, problem = case.built(n or None)
        tracks = race(form, problem, named(methods) or case.methods, gap, seconds)
        price, ours = unit(tracks), next(iter(tracks.values()))
        record[f"{name}_unit_ms"] = 1e3 * price
        for method, track in tracks.items():
            row = {"race": name, "data": data, "n": problem.n_samples, "lam": form.lam, "method": method}
            for each in GAPS[: GAPS.index(gap) + 1]:
                spent, own = track.reached(each), ours.reached(each)
                row[f"cpu_{each:.0e}"], row[f"passes_{each:.0e}"] = spent, spent and spent / price
                row[f"ratio_{each:.0e}"] = ratio = spent / own if spent and own else None
                if ratio and track is not ours:
                    record[f"{name}_{method}_ratio"] = ratio
            best = min((each for _, each in track.laps), default=None)
            record["rows"].append(row | {"best": best, "refusal": track.refusal})
    return record


def named(words: str) -> list[str]:
    return list(filter(None, map(str.strip, words.split(","))))


NAMES = {"speed": speed}
