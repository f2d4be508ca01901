"""What `cutbench bench reliability` and the tests try: each module yields a `Trial` for each attempt."""

from __future__ import annotations

import time
from typing import Any, NamedTuple


class Trial(NamedTuple):
    """One attempt: what was done to what, whether the promise held, and the fault if the promise did not hold."""

    category: str
    kind: str
    survived: bool
    told: str = ""


def slowly(numbers: dict[str, Any], arrays: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Work for a process of its own that takes `seconds`."""
    time.sleep(numbers["seconds"])
    return {}, {}
