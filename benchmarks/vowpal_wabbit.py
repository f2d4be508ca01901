"""Vowpal Wabbit's Python wheel and ours on the same text file: CPU time, and 0/1 loss on held-out pairs.

Planted pairs in two classes (dyads/pairs.py, `simulated`), a quarter held out; hinge loss. Two models:

    linear    both sides and a constant                     VW: its default updates (normalized, adaptive, invariant)
    dyadic    with one latent dimension besides             VW: --lrq rt1, gradient steps on each factor in turn
"""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from workbench.dyads import vowpal
from workbench.dyads.dyadic import Dyadic
from workbench.dyads.pairs import Dyads, simulated, split
from workbench.errors import checked_whole

MODELS = {"linear": 0, "dyadic": 1}


def written(tasks: int, folder: Path, seed: int) -> dict[str, Path]:
    """Training and test file by name."""
    pairs = simulated(tasks, 40, 60, classes=2, seed=seed)
    signed = Dyads(pairs.left, pairs.right, pairs.targets.astype(int))
    paths = {name: folder / f"{name}.vw" for name in ("train", "test")}
    for path, part in zip(paths.values(), split(pairs.n_samples, 1 / 4, seed), strict=True):
        vowpal.write(path, signed.take(part).examples("rater", "task"))
    return paths


def ours(paths: dict[str, Path], k: int, passes: int) -> dict[str, Any]:
    """Both files are read as one, so that equal features get equal columns."""
    began = process_time()
    train, test = (vowpal.read(path) for path in paths.values())
    pairs = Dyads.of_examples([*train, *test], "rater", "task")
    reading = process_time() - began
    learner = Dyadic(k, step=0.3).fit(pairs.take(slice(len(train))), passes)
    held = pairs.take(slice(len(train), None))
    seconds = {"seconds": reading + learner.cpu_seconds, "ms_per_pass": 1e3 * learner.cpu_seconds / passes}
    return seconds | {"error": held.error(learner.predict(held))}


def theirs(paths: dict[str, Path], k: int, passes: int) -> dict[str, Any]:
    """Milliseconds of a pass: what more than one pass takes beyond one, which reads the text and writes the cache."""
    from vowpalwabbit import Workspace

    words = ["--quiet", "--loss_function", "hinge", "--holdout_off", "--kill_cache", "--data", str(paths["train"])]
    words += ["--cache_file", str(paths["train"].with_suffix(".cache"))] + ["--lrq", f"rt{k}"] * (k > 0)
    seconds = []
    for count in (1, passes):
        began = process_time()
        machine = Workspace(arg_list=[*words, "--passes", str(count)])
        seconds.append(process_time() - began)
        wrong = [machine.predict(vowpal.written(each)) * float(each.label) <= 0 for each in vowpal.read(paths["test"])]
        machine.finish()
    per_pass = 1e3 * (seconds[1] - seconds[0]) / max(passes - 1, 1)
    return {"seconds": seconds[1], "ms_per_pass": max(per_pass, 0.0), "error": sum(wrong) / len(wrong)}


def vowpal_wabbit(tasks: int = 300, passes: int = 15, seed: int = 0) -> dict[str, Any]:
    """Side by side, where vowpalwabbit is installed; else ours alone.

    vowpal_wabbit    its version, or that it is absent
    rows             learner, model, seconds (CPU; reading and all passes), ms_per_pass, error
    """
    checked_whole(1, tasks=tasks, passes=passes)
    there = find_spec("vowpalwabbit") is not None
    learners = {"ours": ours} | ({"vowpal wabbit": theirs} if there else {})
    for k in MODELS.values():
        Dyadic(k, step=0.3).fit(simulated(2, 2, 2, classes=2), 1)  # compiles
    with TemporaryDirectory() as folder:
        paths = written(tasks, Path(folder), seed)
        rows = [
            {"learner": name, "model": model} | learn(paths, k, passes)
            for model, k in MODELS.items()
            for name, learn in learners.items()
        ]
    return {"vowpal_wabbit": version("vowpalwabbit") if there else "absent: pip install vowpalwabbit", "rows": rows}


NAMES = {"vowpal-wabbit": vowpal_wabbit}
