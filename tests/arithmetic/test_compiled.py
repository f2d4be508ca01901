"""numba's disk cache is shared by processes that do not know of each other; ours survive what it then holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import workbench
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


def test_an_index_that_names_a_class_of_before_is_replaced(tmp_path):
    """A class that is renamed, or moved, is still named in what numba left on disk."""
    source, script = tmp_path / "pairs.py", CALLS.replace("(np.ones(3), np.ones((3, 2)))", "(module.Pair(3.0, 4.0),)")
    script = script.replace("total = load_file(Path(sys.argv[1])).total", "module = load_file(Path(sys.argv[1]))")
    script = script.replace("total, ", "module.total, ")
    text = "from typing import NamedTuple\n\nclass Old(NamedTuple):\n    a: float\n    b: float\n\nPair = Old\n"
    text += "def total(pair):\n    return pair.a + pair.b\n"

    def run() -> str:
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", script, str(source)], capture_output=True, text=True, check=True
        ).stdout

    for content in (text, text.replace("Old", "New")):
        source.write_text(content)
        assert run() == run() == "7.0\n"


def twice(function, value):
    return 2.0 * function(value)


def length(value):
    return float(value.size)


def test_a_function_that_loops_are_given_again_and_again_is_looked_up_once():
    inner = compiled.compiled_function(length, (np.ones(3),))
    outer = compiled.compiled_function(twice, (inner, np.ones(3)))
    assert outer(inner, np.ones(3)) == 6.0
    look_up = inner.overloads[inner.nopython_signatures[0].args].library.get_pointer_to_function
    asked = look_up.cache_info().misses
    assert outer(inner, np.ones(4)) == 8.0
    assert (look_up.cache_info().misses, asked > 0) == (asked, True)


def test_the_compiler_packs_on_request_only(monkeypatch):
    from numba.core import config

    def fails(wanted):
        with compiled.packing(wanted):
            assert int(wanted) == config.SLP_VECTORIZE
            raise KeyError

    for before in (0, 1):  # 1: as a user's NUMBA_SLP_VECTORIZE says for code of theirs
        monkeypatch.setattr(config, "SLP_VECTORIZE", before)
        for wanted in (True, False):
            with pytest.raises(KeyError):
                fails(wanted)
            assert before == config.SLP_VECTORIZE


def test_only_the_ascents_ask_for_packing():
    """LLVM's pass was wrong at times, so nothing that a proof relies on is compiled with it."""
    root = Path(workbench.__file__).parent
    asking = {path.relative_to(root).parts[:2] for path in root.rglob("*.py") if "packed=True" in path.read_text()}
    assert asking == {("solving", "block_ascent")}
