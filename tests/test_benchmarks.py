"""Every benchmark runs, small, and returns what its docstring promises; how fast it is, is not tested."""

from __future__ import annotations

import json
import math

import pytest
from click.testing import CliRunner

from workbench.cli import cli
from workbench.registries import registry, settings_of

SMALL = {
    "masters": {"n": 15, "gap": 1e-4, "repeats": 1, "backends": "PIQP"},
    "steps": {"n": 4, "passes": 1, "repeats": 2, "start": False},
    "ocr": {"n": 3, "lam": 1.0, "gap": 1e-3},
}
KEYS = {
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
    "ocr": {
        *("words", "status", "upper", "lower", "gap", "rounds", "cuts", "cpu_seconds", "process_cpu_seconds"),
        *("oracle_share", "master_share", "oracle_pass_ms", "oracle_passes"),
    },
}


@pytest.mark.parametrize("name", registry("benchmark").names())
def test_a_benchmark_returns_its_keys(name, monkeypatch):
    benchmark = registry("benchmark").get(name)
    assert name in SMALL, "give the new benchmark small settings and its keys here"
    assert SMALL[name].keys() <= settings_of(benchmark).keys()
    options = [word for key, value in SMALL[name].items() for word in ("--set", f"{key}={value}")]
    done = CliRunner().invoke(cli, ["bench", name, *options, "--json"])
    assert done.exit_code == 0, done.stderr or done.exception
    record = json.loads(done.stdout)
    assert KEYS[name] <= record.keys()
    for key, value in record.items():
        assert isinstance(value, str) or math.isfinite(value), key
        if isinstance(value, float) and any(word in key for word in ("cpu", "_us", "_over_", "ratio", "passes")):
            assert value >= 0, key
