"""Certificates by which strangers tried to stop, slow down or mislead the checkers: both refuse each of them."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both_checkers import both
from click.testing import CliRunner
from forging.campaign import opened
from forging.forgery import Forgery, member

import workbench as wb
from workbench.command.cli import cli
from workbench.errors import OutOfMemory
from workbench.proofs import verify as verifying
from workbench.registries import registry
from workbench.system import memory
from workbench.system.alarm import SET

SECONDS = 20  # of the processor, for what takes milliseconds when it is refused as it should be


def forged(output: str, form: Any) -> Forgery:
    return opened(wb.solve(form, registry("output").get(output).tiny(np.random.default_rng(0)), gap=1e-6).certificate)


@pytest.fixture(scope="module")
def honest() -> Forgery:
    return forged("multiclass", wb.SoftMargin(lam=0.25))


def decided(forgery: Forgery, folder: Any) -> tuple[str, str]:
    forgery.write(folder / "c")
    began = time.process_time()
    found = both(str(folder / "c"))
    assert time.process_time() - began < SECONDS
    return found["first"], found["second"]


def test_the_honest_one_is_proven(honest, tmp_path):
    assert decided(honest, tmp_path) == ("proven", "proven")


def before_the_end(more: str) -> Callable[[str], str]:
    return lambda text: text.rstrip()[:-1] + more


def lower_as(word: str) -> Callable[[str], str]:
    return lambda text: text.replace(json.dumps(json.loads(text)["lower"]), word, 1)


def within_problem(more: str) -> Callable[[str], str]:
    return lambda text: text.replace('"problem": {', '"problem": {' + more, 1)


EVIL = '"program": "last of an alternation", "alternation": {"formulation": "x\\n  optimum  in 0 … 0\\u001b[2J", '
TEXTS = {
    **{f"digits {word!r}": lower_as(word) for word in ("٠.١", "+1", "01", ".5", "0x1", "1_0", "1e", "--1")},
    **{f"type {word}": lower_as(word) for word in ("true", "null", '"0"', "[0]", "NaN")},
    "a million digits": lower_as("-" + "1" * 10**6),
    "a huge exponent": lower_as("-1e" + "9" * 10**5),
    "a text without end": before_the_end(', "x": "' + '\\"' * 200_000),
    "texts without end": before_the_end(', "x": ' + '"\\' * 200_000),
    "deep": within_problem('"k": ' + "[" * 10**6),
    "a key twice, once escaped": before_the_end(', "\\u006cower": -1e9}'),
    "a version that is a float": lambda text: text.replace('"version": 1', '"version": 1.0'),
    "a version that is true": lambda text: text.replace('"version": 1', '"version": true'),
    "a caveat that steers a terminal": lambda text: text.replace('"program": "whole"', EVIL + '"status": "y"}'),
    "a byte-order mark": lambda text: "\ufeff" + text,
    "nothing": lambda text: "",
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_are_refused(name, honest, tmp_path):
    case = honest.copy()
    case.text = TEXTS[name](json.dumps(case.header)).encode()
    assert case.text != json.dumps(case.header).encode()
    assert decided(case, tmp_path) == ("malformed", "malformed")


def raw(descr: str, shape: str, order: str = "False", body: bytes = b"") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\x03\x00" + struct.pack("<I", len(text)) + text + body


F8 = "'<f8'"
MEMBERS = {
    "wider than memory": raw(F8, f"(0, {1 << 61})"),
    "wider than whole numbers": raw(F8, f"(0, {1 << 70})"),
    "a width of 3,800 digits": raw(F8, "(0x" + "f" * 3800 + ",)"),
    "a backslash": raw(r"'\<f8'", "(0,)"),
    "an escape": raw(r"'\x3cf8'", "(0,)"),
    "digits of another script": raw("'<f８'", "(0,)"),
    "a side of another script": raw(F8, "(０,)"),
    "an order that is a number": raw(F8, "(0,)", "1"),
    "a side that is true": raw(F8, "(True,)", body=b"\0" * 8),
    "turned bytes": raw("'>f8'", "(0,)"),
    "objects": raw("'|O'", "(1,)", body=b"\0" * 8),
    "fields": raw("[('a', '<f8')]", "(0,)"),
    "deep": raw(F8, "(" * 190 + "2," + ")" * 190),
    "minus signs": raw(F8, "(" + "-" * 3000 + "2,)"),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_arrays_that_are_refused(name, honest, tmp_path):
    case, buffer = honest.copy(), io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for key, array in case.arrays.items():
            archive.writestr(key + ".npy", MEMBERS[name] if key == "theta" else member(array))
    case.archive = buffer.getvalue()
    assert decided(case, tmp_path) == ("malformed", "malformed")


def test_a_matching_with_more_columns_than_are_read_is_refused(tmp_path):
    case, whole = forged("matching", wb.SoftMargin(lam=0.25)), np.zeros(0, np.int64)
    K = (1 << 15) + 1
    case.arrays |= {"theta": np.zeros(1), "samples": whole, "witnesses": np.zeros((0, 1), np.int64)}
    case.arrays |= {"weights": np.zeros(0), "data_data": np.zeros(0), "data_indices": whole}
    case.arrays |= {"data_indptr": np.zeros(K + 1, np.int64), "data_n_inputs": np.array(1), "data_weights": np.ones(1)}
    case.arrays |= {"data_shapes": np.array([[1, K]]), "data_truth": np.array([[-1]])}
    case.sign()
    assert decided(case, tmp_path) == ("malformed", "malformed")


@pytest.mark.parametrize("inputs", [1 << 27, 1 << 40])
def test_costs_of_more_inputs_than_weights_are_refused_before_they_are_written_out(inputs, tmp_path):
    case = forged("multiclass", registry("formulation").get("fixed-cost")())
    case.header["formulation"]["settings"] |= {"factoring": "input", "v": None}
    case.arrays["data_n_inputs"] = np.array(inputs)
    case.sign()
    assert decided(case, tmp_path) == ("malformed", "malformed")


def test_a_certificate_that_needs_more_memory_than_there_is_is_refused_in_a_sentence(honest, tmp_path, monkeypatch):
    honest.write(tmp_path / "c")

    def greedy(path: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(verifying, "check", greedy)
    with pytest.raises(OutOfMemory, match=r"Checking .*c\.json takes more memory than there is; verify on"):
        wb.verify(tmp_path / "c.json")


@pytest.mark.parametrize("ending", [".json", ".npz"])
def test_a_pipe_that_never_ends_is_refused(ending, honest, tmp_path):
    honest.write(tmp_path / "c")
    (tmp_path / f"c{ending}").unlink()
    os.mkfifo(tmp_path / f"c{ending}")
    words = [sys.executable, "-m", "workbench.command.cli", "verify", str(tmp_path / "c.json")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"c{ending} is no regular file" in done.stderr


def test_the_command_bounds_time_and_memory_unless_others_are_given(honest, tmp_path, monkeypatch):
    """A check that takes as much as it may is ended in a sentence, and the limits end with the command."""
    honest.write(tmp_path / "c")
    path, seen = str(tmp_path / "c.json"), []

    def greedy(path: Any) -> None:
        seen.append((memory.limit(), round(SET[-1].seconds)))
        raise MemoryError

    monkeypatch.setattr(verifying, "check", greedy)
    for words, size, seconds in (
        ([], "4 GiB", 600),
        (["--memory-limit", "3GiB"], "3 GiB", 600),
        (["--time-limit", "50"], "4 GiB", 50),
    ):
        done = CliRunner().invoke(cli, ["verify", path, *words])
        assert done.exit_code == 3
        assert f"takes more memory than the {size} that it may take; raise --memory-limit." in done.stderr
        assert seen.pop() == (int(size[0]) << 30, seconds)
    for words in ([], ["--help"], [path, "--no-such-option"]):
        assert CliRunner().invoke(cli, ["verify", *words]).exit_code in (0, 2)
        assert (memory.limit(), SET) == (None, [])
    monkeypatch.setattr(verifying, "check", lambda path: time.sleep(60))
    done = CliRunner().invoke(cli, ["verify", path, "--time-limit", "0.2"])
    assert done.exit_code == 3
    assert "The time limit of 0.2 s came before the answer; raise --time-limit." in done.stderr
