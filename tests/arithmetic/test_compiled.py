"""numba's disk cache is shared by processes that do not know of each other; ours survive what it then holds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from workbench.arithmetic import compiled

pytestmark = pytest.mark.skipif(not compiled.available(), reason="numba is not installed")

CALLS = """
import sys
import numpy as np
from workbench.arithmetic.compiled import compiled_function
from workbench.registries import load_file
from pathlib import Path

total = load_file(Path(sys.argv[1])).total
for values in (np.ones(3), np.ones((3, 2))):
    print(compiled_function(total, (values,))(values))
"""


def test_an_index_that_names_the_code_of_other_types_is_not_believed(tmp_path):
    """What two processes leave behind that save the first types of one function at the same moment."""
    source = tmp_path / "sums.py"
    source.write_text("def total(values):\n    return float(values.size)\n")

    def run() -> str:
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", CALLS, str(source)], capture_output=True, text=True, check=True
        ).stdout

    assert run() == "3.0\n6.0\n"
    first, second = sorted(tmp_path.rglob("*.nbc"))
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    assert run() == "3.0\n6.0\n"
