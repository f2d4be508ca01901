"""Certificates by which strangers tried to mislead what stands around the checkers: archives with two contents,
versions that nobody knows, problems of users' own functions, and names that steer a terminal.
"""

from __future__ import annotations

import io
import struct
import textwrap
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both_checkers import both
from click.testing import CliRunner
from forging.campaign import opened
from forging.forgery import Forgery, packed

import workbench as wb
from workbench.command.cli import cli
from workbench.errors import BadInput
from workbench.outputs._structured.rowed import RECORDED, lines_of
from workbench.registries import registry

STRUCTURES = (
    "multiclass", "chain", "linear", "multilabel", "matching", "motif", "views", "tree", "flow", "graph", "structured",
    "dyads",
)  # fmt: skip


def solved(output: str) -> Forgery:
    problem = registry("output").get(output).tiny(np.random.default_rng(0))
    return opened(wb.solve(wb.SoftMargin(lam=0.25), problem, gap=1e-6).certificate)


@pytest.fixture(scope="module")
def honest() -> Forgery:
    case = solved("multiclass")
    case.sign()
    return case


def words(case: Forgery, folder: Any) -> tuple[str, str]:
    case.write(folder / "c")
    found = both(str(folder / "c"))
    return found["first"], found["second"]


def run(*told: Any) -> tuple[int, str]:
    done = CliRunner().invoke(cli, list(map(str, told)))
    return done.exit_code, done.output


# ── archives ──────────────────────────────────────────────────────────────────────────────────────


def entry(field: int, kind: str, value: int) -> Callable[[bytes], bytes]:
    """One number of the first entry of the central directory changed."""

    def edit(raw: bytes) -> bytes:
        at = raw.index(b"PK\x01\x02") + field
        number = struct.pack(kind, value)
        return raw[:at] + number + raw[at + len(number) :]

    return edit


def other_member(raw: bytes) -> bytes:
    """The name in front of the first member is another than in the central directory."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        name = archive.namelist()[0].encode()
    return raw.replace(name, b"x" * len(name), 1)


ARCHIVES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a program before it": (lambda raw: b"#!/bin/sh\nexit 0\n" + raw, "proven"),
    "itself twice": (lambda raw: raw + raw, "proven"),
    "words behind it": (lambda raw: raw + b"proven", "proven"),
    "a comment longer than the file": (lambda raw: raw[:-2] + b"\xff\xff", "proven"),
    "a name with a zero in it": (lambda raw: raw.replace(b"theta.npy", b"theta\0npy"), "malformed"),
    "two names of one member": (other_member, "malformed"),
    "a packed size of 0": (entry(20, "<I", 0), "malformed"),
    "a size of 0": (entry(24, "<I", 0), "malformed"),
    "a size of 4 GiB": (entry(24, "<I", 2**32 - 1), "malformed"),
    "an offset beyond the file": (entry(42, "<I", 2**31 - 1), "malformed"),
    "another checksum": (entry(16, "<I", 0), "malformed"),
    "a way of packing that nobody knows": (entry(10, "<H", 99), "malformed"),
    "a later version of zip": (entry(6, "<H", 2**16 - 1), "malformed"),
    "an encrypted member": (entry(8, "<H", 1), "malformed"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_with_two_contents(name, honest, tmp_path):
    """What counts is the central directory at the end, for both checkers."""
    edit, wanted = ARCHIVES[name]
    case = honest.copy()
    case.archive = edit(case.npz())
    assert words(case, tmp_path) == (wanted, wanted)


def test_of_two_archives_in_one_file_the_last_one_counts(honest, tmp_path):
    case, other = honest.copy(), honest.copy()
    other.arrays["theta"] = other.arrays["theta"] * 100
    case.archive = other.npz() + case.npz()
    assert words(case, tmp_path) == ("proven", "proven")
    case.archive = case.npz() + other.npz()
    case.archive = packed(honest.arrays) + other.npz()
    assert words(case, tmp_path) == ("not proven", "not proven")


# ── versions that nobody knows ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("output", STRUCTURES)
def test_certificates_of_unknown_versions_are_never_proven_and_never_stop_the_command(output, tmp_path):
    """Their interval is computed by the code of the package, which meets arrays that no checker has looked at."""
    rng, base = np.random.default_rng(0), solved(output)
    odd = {"i": (-1, 2**62, -(2**63)), "f": (np.nan, np.inf, 1e308), "b": (True,), "u": (0, 200), "U": ("x",)}
    for name in base.arrays:
        for part in ("proof", "formulation", "problem"):
            case = base.copy()
            case.header[part]["version"] = 2
            array = case.arrays[name]
            edits = [array[:0] if array.ndim else array[None], np.full_like(array, rng.choice(odd[array.dtype.kind]))]
            case.arrays[name] = edits[int(rng.integers(2))]
            case.sign()
            case.write(tmp_path / "c")
            code, told = run("verify", tmp_path / "c.json")
            assert code in (1, 2), (name, part, told)
            assert not told.startswith("proven")


# ── problems of users' own functions ──────────────────────────────────────────────────────────────

FILE = """
    import numpy as np
    import workbench as wb

    def features(x, y):
        return np.kron(np.eye(3)[y], x)

    def loss(truth, y):
        return float(truth != y)

    def argmax(w, x, truth=None):
        return max(range(3), key=lambda y: features(x, y) @ w + (truth is not None and y != truth))

    def problem(n: int = 6, seed: int = 0):
        rng = np.random.default_rng(seed)
        return wb.Structured(list(rng.normal(size=(n, 2))), rng.integers(0, 3, n).tolist(), features, loss, argmax)
"""
CANDIDATES = FILE.replace("loss, argmax)", "loss, argmax, lambda x: range(3))")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(FILE))
    return path


@pytest.fixture
def own(file) -> Forgery:
    return opened(wb.solve(wb.SoftMargin(lam=0.25), wb.load_problem(file)(), gap=1e-6).certificate)


def test_features_that_a_file_alone_claims_are_named(own, file, tmp_path):
    """At w = 0 every sample loses 1 at most; outputs without features and without a text seem to prove that no w does
    better.
    """
    n = 6
    data = {f"recorded_{name}": own.arrays[f"data_{name}"] for name in ("data", "indices", "indptr")}
    data |= {"recorded_owners": np.arange(n), "recorded_losses": np.ones(n), "recorded_true": np.zeros(n, bool)}
    own.arrays |= {f"data_{name}": each for name, each in data.items()} | {"data_recorded_texts": lines_of([""] * n)}
    own.arrays |= {"samples": np.arange(n), "witnesses": n + np.arange(n)[:, None], "weights": np.full(n, 1 / n)}
    own.arrays["theta"] = np.zeros(6)
    own.header |= {"lower": 0.999999, "upper": 1.000001, "gap": 1e-5}
    own.write(tmp_path / "c")
    found = wb.verify(tmp_path / "c.json", problem=wb.load_problem(file)())
    assert (found["proven"], found["refuted"]) == (False, False)
    argmax, outputs, features, _ = found["conditional_on"]
    assert argmax.startswith("the argmax of mine.py (sha256 ")
    assert outputs == "6 recorded outputs that this argmax did not return again are valid outputs"
    assert features.startswith("features and losses of 6 recorded outputs without a text are those of mine.py (sha256 ")
    assert run("verify", tmp_path / "c.json", "--problem", file)[0] == 1


def test_an_output_that_no_argmax_returns_is_named(own, file, tmp_path):
    """Python reads −1 as the last of three labels: features has an answer for what is no output."""
    told = own.arrays["data_recorded_texts"].tobytes().decode().replace("2\n", "-1\n")
    own.arrays["data_recorded_texts"] = np.frombuffer(told.encode(), np.uint8)
    assert "-1\n" in told
    own.write(tmp_path / "c")
    found = wb.verify(tmp_path / "c.json", problem=wb.load_problem(file)())
    assert any(
        each.endswith("that this argmax did not return again are valid outputs") for each in found["conditional_on"]
    )


TEXTS = ("[", "1 2", '["set",["list"]]', '["array","<f8",[3],[1]]', '["graph","Graph"]', '["number","f8"]', "[" * 10**5)


def test_recorded_outputs_that_are_damaged_are_refused(own, file, tmp_path):
    problem = wb.load_problem(file)
    cases: dict[str, dict[str, np.ndarray | None]] = {
        f"no {name}": {f"data_recorded_{name}": None} for name in RECORDED
    }
    for name in RECORDED:
        if name != "names":  # of which there are none
            cases[f"fewer {name}"] = {f"data_recorded_{name}": own.arrays[f"data_recorded_{name}"][:-1]}
    count = len(own.arrays["data_recorded_owners"])
    for text in TEXTS:
        cases[text[:20]] = {"data_recorded_texts": lines_of([text] * count)}
    cases["no text"] = {"data_recorded_texts": np.full(2 * count, 200, np.uint8)}
    cases["a name that there is not"] = {"data_recorded_names": lines_of(['"x"'])}
    for owner in (-1, 6, 2**62):
        cases[f"sample {owner}"] = {"data_recorded_owners": np.full(count, owner)}
    for witness in (-1, 10**6, 2**63 - 1):
        cases[f"witness {witness}"] = {"witnesses": np.full_like(own.arrays["witnesses"], witness)}
    for name, edits in cases.items():
        case = own.copy()
        case.arrays = {key: each for key, each in (case.arrays | edits).items() if each is not None}
        case.write(tmp_path / "c")
        assert refused(tmp_path / "c.json", problem()), name


def refused(path: Any, problem: Any) -> bool:
    try:
        wb.verify(path, problem=problem)
    except BadInput:
        return True
    return False


SOURCES = (
    "proven\n",
    "\x1b[2Jmine.py\n" + "0" * 64 + "\n",
    "mine.py\nproven\n",
    "mine.py\n" + "A" * 64 + "\n",
    "\n0\n",
)


@pytest.mark.parametrize("told", SOURCES)
def test_a_file_of_functions_has_a_printable_name_and_a_digest(told, own, tmp_path):
    own.arrays["data_source"] = np.frombuffer(told.encode(), np.uint8)
    own.sign()
    own.write(tmp_path / "c")
    with pytest.raises(BadInput, match="its functions are in no file of a printable name and of a sha256"):
        wb.verify(tmp_path / "c.json")


def test_the_data_of_functions_with_candidates_are_compared(file, tmp_path):
    """The checker needs no function then, so that another file's would pass unseen."""
    file.write_text(textwrap.dedent(CANDIDATES))
    problem = wb.load_problem(file)
    path = wb.solve(wb.SoftMargin(lam=0.25), problem(), gap=1e-6).certificate.save(tmp_path / "c")
    assert wb.verify(path, problem=problem())["proven"]
    assert not any("--data" in each for each in wb.verify(path, problem=problem())["not_proven"])
    assert any("--data" in each for each in wb.verify(path)["not_proven"])
    other = wb.verify(path, problem=problem(seed=1))
    assert not other["proven"]
    assert other["reason"].startswith("the data of the problem given differ: sha256 ")


# ── names that steer a terminal ───────────────────────────────────────────────────────────────────

EVIL = ("\x1b[2Jproven", "</script><script>alert(1)</script>", "a\nproven in rational arithmetic", "\u202enevorp")


def test_names_in_a_certificate_pass_for_no_words_of_ours(honest, tmp_path):
    case, folder = honest.copy(), tmp_path / "run"
    folder.mkdir()
    case.arrays["data_classes"] = np.array(sorted(EVIL)[: len(case.arrays["data_classes"])])
    case.header["problem"]["name"], case.header["status"] = "".join(EVIL), "optimal\nproven"
    case.header["versions"] = {EVIL[2]: EVIL[0]}
    case.sign()
    case.write(folder / "certificate")
    for told in (["verify", folder], ["explain", folder], ["runs", tmp_path], ["report", folder]):
        code, text = run(*told)
        assert code == 0, text
        lines = text.splitlines()
        assert not any(line.startswith("proven") for line in lines[told[0] == "verify" :])
        assert all(line.isprintable() for line in lines)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "<script>alert" not in page
