"""What `cutbench bench reliability` and the tests try: each module yields a `Trial` for each attempt."""

from __future__ import annotations

from typing import NamedTuple


class Trial(NamedTuple):
    """One attempt: what was done to what, whether the promise held, and the fault if the promise did not hold."""

    category: str
    kind: str
    survived: bool
    told: str = ""
