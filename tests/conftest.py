"""Shared settings: hypothesis profiles, real data beside the checkout when present.

`make test` draws the same examples every time, so that a failure belongs to the change that made it; `nightly` draws
new ones, forty times as many where a test does not name a number of its own.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

slow_ok = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", max_examples=50, deadline=None, suppress_health_check=slow_ok, derandomize=True)
settings.register_profile("search", max_examples=200, deadline=None, suppress_health_check=slow_ok)
settings.register_profile("nightly", max_examples=2000, deadline=None, suppress_health_check=slow_ok)
settings.load_profile("default")

gc.set_threshold(50_000)  # with Python's 700, the search for circles of garbage takes a twentieth of the CPU time

beside = Path(__file__).resolve().parents[2] / "shared" / "data"
if "CUTBENCH_DATA" not in os.environ and beside.is_dir():
    os.environ["CUTBENCH_DATA"] = str(beside)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out the tests that tests/slow.txt names")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The files that hold the slowest tests come first, so that two processes end at about the same time.

    One process begins with the slowest file, which compiles most of the kernels, the other with the tests of proofs and
    programs, which compile little: of what both need later, most is on disk by then.
    """
    slow = (Path(__file__).parent / "slow.txt").read_text().split()
    files = list(dict.fromkeys(name.partition("::")[0] for name in slow))
    place = {name: rank for rank, name in enumerate(files, 2)} | {files[0]: 0}

    def turn(item: pytest.Item) -> int:
        name = item.nodeid.partition("::")[0]
        return 1 if name.startswith(("tests/proofs/", "tests/programs/")) else place.get(name, len(place) + 2)

    items.sort(key=turn)
    if not config.getoption("--quick"):
        return
    left_out = [item for item in items if item.nodeid.partition("[")[0] in slow]
    items[:] = [item for item in items if item.nodeid.partition("[")[0] not in slow]
    config.hook.pytest_deselected(items=left_out)
