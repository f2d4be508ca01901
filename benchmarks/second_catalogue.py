"""The second catalogue of planted faults on its own small data: how far above the optimum each ends, and what is harm.

excess   (F(w) − F*)/F* after `budget` passes, and `later`, after four times as many
harmful  both are above 1e-2
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.judging.faults.second import FAULTS, HOSTS
from workbench.judging.faults.second.measure import excess, installed, measured
from workbench.registries import load_file

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")


def second_catalogue(only: str = "", seed: int = 0, every: bool = False) -> dict[str, Any]:
    """One row a fault of the hosts in `only`, on its first case or on `every` case; hosts are run at their passes."""
    names = settings.chosen(only, [host.name for host in HOSTS], "host")
    hosts = [host for host in HOSTS if host.name in names and installed(host)]
    sound = [excess(host.fit, case, host.passes, seed) for host in hosts for case in host.applies]
    rows = []
    for fault in FAULTS:
        for case in fault.applies if fault.host in hosts else ():
            figure = measured(fault, case, seed)
            words = {
                "fault": fault.name,
                "case": " ".join(filter(None, case)),
                "amounts_to": ", ".join(fault.amounts_to),
            }
            rows.append(words | {"excess": figure.end, "later": figure.later, "harmful": figure.harmful})
            if not every:
                break
    harmful = sum(row["harmful"] for row in rows)
    return {
        "faults": len(rows),
        "harmful": harmful,
        "sound_runs": len(sound),
        "worst_sound": max(sound, default=0.0),
        "rows": rows,
    }


NAMES = {"second-catalogue": second_catalogue}
