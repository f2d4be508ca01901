"""Renews tests/slow.txt, the tests that `make quick` leaves out, from a log of `pytest --durations=0`.

    make test TESTS="--durations=0 --durations-min=1" | tee log && python tests/support/slow.py log

A test (all its parameters together) is slow if it takes SLOW seconds or more. The slowest comes first, and
`tests/conftest.py` runs the files in that order.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

SLOW = 4.0
LIST = Path(__file__).resolve().parents[1] / "slow.txt"
LINE = re.compile(r"^([\d.]+)s (?:call|setup) +(tests/\S+?\.py::[^\[\s]+)")

if __name__ == "__main__":
    spent: Counter[str] = Counter()
    for line in Path(sys.argv[1]).read_text().splitlines():
        if found := LINE.match(line):
            spent[found[2]] += float(found[1])
    slow = [name for name, seconds in spent.most_common() if seconds >= SLOW]
    LIST.write_text("".join(f"{name}\n" for name in slow))
