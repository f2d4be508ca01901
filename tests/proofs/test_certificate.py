"""Certificates verify without any solver, and damage does not pass."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris

import workbench as wb
from workbench.command.cli import cli
from workbench.errors import BadInput
from workbench.proofs import certificate as writing
from workbench.proofs.certificate import data_sha256
from workbench.proofs.verify import verify


@pytest.fixture(scope="module")
def solution():
    X, y = load_iris(return_X_y=True)
    return wb.solve(wb.SoftMargin(lam=0.01), wb.Multiclass(X, np.array(["setosa", "versicolor", "virginica"])[y]))


@pytest.fixture
def path(solution, tmp_path):
    return solution.certificate.save(tmp_path / "iris")


def test_verifies_where_no_solver_can_be_imported(path):
    solvers = ("cvxpy", "clarabel", "osqp", "ecos", "scs", "piqp", "daqp", "highspy", "numba")
    block = f"import sys\nfor m in {solvers}: sys.modules[m] = None\n"
    script = block + f"import json, workbench as wb\nprint(json.dumps(wb.verify({str(path)!r})))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    proof = json.loads(out)
    assert proof["proven"]
    assert proof["gap"] <= 1e-9
    assert len(proof["data_sha256"]) == 64


def test_a_certificate_in_python_is_verified_like_its_files(solution, path):
    in_python, on_disk = wb.verify(solution.certificate), wb.verify(path)
    assert in_python == on_disk
    assert in_python["proven"]
    weaker = replace(solution.certificate, lower=solution.certificate.upper)
    assert not wb.verify(weaker)["proven"]
    with pytest.raises(wb.BadInput, match="A Solution is no certificate; give its path, or the Certificate of"):
        wb.verify(solution)
    with pytest.raises(wb.BadInput, match=r"data is a list, not a problem; give one, e\.g\. data=wb\.Multiclass"):
        wb.verify(path, data=[[1.0, 2.0]])


def test_numpys_numbers_are_settings_like_others(solution, tmp_path):
    form, data = wb.SoftMargin(lam=np.float32(0.25)), solution.problem
    run = wb.solve(form, data, gap=np.float32(1e-3), max_rounds=np.int64(50), journal=tmp_path / "run")
    assert run.certificate.formulation == wb.SoftMargin(lam=0.25)
    assert verify(run.certificate.save(tmp_path / "single"))["proven"]


def rewrite(path, **changes):
    """Change arrays of the npz or keys of the header in place."""
    with np.load(path.with_suffix(".npz")) as archive:
        arrays = dict(archive)
    header = json.loads(path.read_text())
    for name, change in changes.items():
        target = arrays if name in arrays else header
        target[name] = change(target[name])
    np.savez(path.with_suffix(".npz"), **arrays)
    path.write_text(json.dumps(header))


def bumped(array):
    array = array.copy()
    array.flat[0] += 1
    return array


@pytest.mark.parametrize(
    "changes",
    [
        {"theta": bumped},
        {"witnesses": lambda w: (w + 1) % 3},
        {"weights": lambda w: w * np.linspace(0.1, 2, len(w))},
        {"data_data": bumped},
        {"data_labels": lambda y: np.roll(y, 1)},
        {"lower": lambda x: x * 1.01},
        {"upper": lambda x: x * 0.99},
    ],
    ids=lambda c: next(iter(c)),
)
def test_a_changed_certificate_is_not_proven(path, changes):
    assert verify(path)["proven"]
    rewrite(path, **changes)
    result = verify(path)
    assert not result["proven"]
    assert re.search("the claimed|the data in the certificate differ", result["reason"])


def test_a_weaker_claim_is_still_proven(path):
    rewrite(path, lower=lambda x: x * 0.9, upper=lambda x: x * 1.1)
    assert verify(path)["proven"]


def test_other_data_do_not_match(path, solution):
    assert verify(path, data=solution.problem)["proven"]
    other = wb.Multiclass(solution.problem.X.toarray() + 1e-9, solution.problem.classes[solution.problem.labels])
    result = verify(path, other, "the data in other.csv")
    assert (result["proven"], result["data_matches"]) == (False, False)
    digests = data_sha256(other.arrays()), data_sha256(solution.problem.arrays())
    assert result["reason"] == "the data in other.csv differ: sha256 {} instead of {}".format(*digests)


def test_the_command_says_why_data_do_not_match(path, tmp_path):
    (tmp_path / "other.csv").write_text("x,label\n1,setosa\n2,virginica\n")
    words = ["verify", str(path), "--data", str(tmp_path / "other.csv")]
    for extra in ([], ["--json"]):
        result = CliRunner().invoke(cli, words + extra)
        assert result.exit_code == 1
        assert re.search(r"the data in \S*other.csv differ: sha256 \w{64} instead of \w{64}", result.stdout)


@pytest.mark.parametrize("damage", ["json", "npz", "missing", "format"])
def test_damage_is_one_sentence(path, damage):
    if damage == "json":
        path.write_text(path.read_text()[:-40])
    elif damage == "npz":
        path.with_suffix(".npz").write_bytes(path.with_suffix(".npz").read_bytes()[:-200])
    elif damage == "missing":
        path.with_suffix(".npz").unlink()
    else:
        rewrite(path, format=lambda _: "something-else")
    with pytest.raises(wb.BadInput) as caught:
        verify(path)
    assert "\n" not in str(caught.value)
    assert str(path.parent) in str(caught.value)


@pytest.mark.parametrize("name", ["iris", "iris.json", "iris.npz", "iris.2"])
def test_a_name_with_or_without_its_endings(solution, tmp_path, name):
    stem = name.removesuffix(".json").removesuffix(".npz")
    assert solution.certificate.save(tmp_path / name) == tmp_path / f"{stem}.json"
    assert {each.name for each in tmp_path.iterdir()} == {f"{stem}.json", f"{stem}.npz"}
    for again in (stem, f"{stem}.json", f"{stem}.npz"):
        assert verify(tmp_path / again)["proven"]
        assert CliRunner().invoke(cli, ["verify", str(tmp_path / again)]).exit_code == 0


def test_no_name_at_all(solution):
    for use in (solution.certificate.save, verify):
        with pytest.raises(wb.BadInput, match="names no certificate"):
            use("")


@pytest.mark.parametrize(
    "held",
    [
        {"own.npz": b"mine"},
        {"own.json": b'{"a": 1}'},
        {"own.json": b"no text of ours"},
        {"own.json": b"[]"},
        {"own.npz": b"mine", "own.json": b'{"format": "other"}'},
    ],
)
def test_a_file_that_is_no_certificate_is_never_replaced(solution, tmp_path, held):
    for name, content in held.items():
        (tmp_path / name).write_bytes(content)
    x = cp.Variable()
    proof = wb.prove(cp.Problem(cp.Minimize(x), [x >= 1]))
    for thing in (solution.certificate, proof):
        with pytest.raises(wb.BadInput, match=r"own\.\w+ exists and is no certificate of ours; choose another name"):
            thing.save(tmp_path / "own.json")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == held


def test_a_certificate_may_be_replaced_also_by_one_about_a_program(solution, tmp_path):
    x = cp.Variable()
    for thing in (solution.certificate, wb.prove(cp.Problem(cp.Minimize(x), [x >= 1])), solution.certificate):
        assert verify(thing.save(tmp_path / "own"))["proven"]
    (tmp_path / "own.npz").unlink()
    assert verify(solution.certificate.save(tmp_path / "own"))["proven"]
    for thing in (solution.certificate, wb.prove(cp.Problem(cp.Minimize(x), [x >= 1]))):  # each in the other's place
        (tmp_path / "own.json").unlink()
        assert verify(thing.save(tmp_path / "own"))["proven"]


@pytest.mark.parametrize("about", ["a learning problem", "a program"])
def test_a_users_npz_beside_a_certificate_of_ours_is_never_replaced(solution, tmp_path, about):
    x = cp.Variable()
    thing = solution.certificate if about == "a learning problem" else wb.prove(cp.Problem(cp.Minimize(x), [x >= 1]))
    thing.save(tmp_path / "own")
    np.savez(tmp_path / "own.npz", X=np.ones(3))
    held = (tmp_path / "own.npz").read_bytes()
    with pytest.raises(wb.BadInput, match=r"own\.npz exists and is no certificate of ours"):
        thing.save(tmp_path / "own")
    assert (tmp_path / "own.npz").read_bytes() == held


@pytest.mark.parametrize("left", [0, 60, 0.5, -1], ids=["nothing", "a beginning", "a half", "all but a byte"])
def test_a_damaged_certificate_may_be_written_again(solution, tmp_path, left):
    """As the message about a damaged certificate tells its reader to."""
    x = cp.Variable()
    for k, thing in enumerate((solution.certificate, wb.prove(cp.Problem(cp.Minimize(x), [x >= 1])))):
        stem = tmp_path / f"own{k}"
        thing.save(stem)
        packed = stem.with_suffix(".npz")
        content = packed.read_bytes()
        packed.write_bytes(content[: int(left * len(content)) if isinstance(left, float) else left])
        assert verify(thing.save(stem))["proven"]


BLOCKED = {
    "below a file": ("file/sub/iris", "Cannot write .*iris.json, as .*file is a file and no folder; choose another"),
    "NUL": ("a\0b", "has a character that no file can have in its name; remove it"),
    "long": ("a" * 300, "Cannot write a.* … a.*json .File name too long.; choose another name"),
    "None": (None, "A certificate's name is None; give a path such as runs/iris"),
    "a number": (3, "A certificate's name is 3; give a path such as runs/iris"),
}


@pytest.mark.parametrize("name", BLOCKED)
def test_a_name_that_no_file_can_have_is_refused(solution, tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("in the way")
    stem, told = BLOCKED[name]
    x = cp.Variable()
    for thing in (solution.certificate, wb.prove(cp.Problem(cp.Minimize(x), [x >= 1]))):
        with pytest.raises(wb.BadInput, match=told):
            thing.save(stem)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_made_is_refused(solution, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with pytest.raises(wb.BadInput, match=r"Cannot make the folder .* \(Permission denied\); choose another one"):
        solution.certificate.save(tmp_path / "sub" / "iris")


def test_arrays_of_a_user_are_no_certificate_whatever_stands_among_them(solution, tmp_path):
    np.savez(tmp_path / "own.npz", theta=np.ones(2), samples=np.ones(2), weights=np.ones(2), data_q=1, data_b=1)
    held = (tmp_path / "own.npz").read_bytes()
    with pytest.raises(wb.BadInput, match=r"own\.npz exists and is no certificate of ours"):
        solution.certificate.save(tmp_path / "own")
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [held]


def test_neither_file_is_written_where_one_cannot_be(tmp_path):
    (tmp_path / "b").mkdir()
    with pytest.raises(wb.BadInput, match="Cannot write"):
        writing.write_wholes({tmp_path / "a": b"1", tmp_path / "none" / "c": b"2"})
    assert [each.name for each in tmp_path.iterdir()] == ["b"]


def test_nothing_half_written(solution, tmp_path):
    target = tmp_path / "file"
    target.write_text("in the way")
    with pytest.raises(wb.BadInput):
        solution.certificate.save(target / "sub" / "iris")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]


def test_a_negative_lower_bound_verifies(tmp_path):
    """Early certificates have one; the exact interval is narrower and its relative gap can still be larger."""
    X, y = load_iris(return_X_y=True)
    s = wb.solve(wb.SoftMargin(lam=0.01), wb.Multiclass(X, y), max_rounds=2)
    assert s.lower < 0 < s.upper
    assert verify(s.certificate.save(tmp_path / "early"))["proven"]


@pytest.mark.parametrize("size", [1e3, 1e5, 1e7])
def test_a_theta_far_out_lends_the_lower_end_nothing(tmp_path, size):
    """Intervals have an allowance of their own size: a huge upper end must not carry a false lower one, nor a gap."""
    X = np.array([[1.0, 0], [-1, 0.2], [2, 1], [-2, 1.0]])
    problem = wb.Multiclass(X, [0, 1, 0, 1])
    best = wb.solve(wb.CRF(lam=0.1), problem, gap=1e-9).certificate
    theta = best.theta / np.linalg.norm(best.theta) * size
    honest = replace(best, theta=theta)
    lower, upper = honest.recheck()
    for claim in (
        {"lower": 0.9e-12 * upper, "gap": 1.0},
        {"lower": lower, "gap": 1e-9},
        {"lower": lower, "gap": -1e-14},
    ):
        false = replace(honest, upper=upper * (1 + 1e-9), **claim)
        assert not verify(false.save(tmp_path / "false"))["proven"]
    true = replace(honest, upper=upper, lower=lower, gap=2.0)
    assert verify(true.save(tmp_path / "true"))["proven"]


# ── what the checker would refuse by its size ─────────────────────────────────────────────────────


def third(digits):
    """A fraction of so many hexadecimal digits."""
    return Fraction(16 ** (digits - 1), 16 ** (digits - 1) + 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fractions": [third(62_501)]}, "more than 62500 digits"),
        ({"fractions": [third(62_000), third(61_000)]}, "common denominator has over 250000 bits"),
        ({"fractions": [Fraction(1, 7**50_000)] * 130}, "longer than 4194304 bytes"),
        ({"formulation": wb.SoftMargin(lam=2**53 + 1)}, "9007199254740993, which is no float64"),
        ({"source": {"name": "x" * (64 << 20)}}, "JSON is longer than"),
    ],
)
def test_what_verify_would_refuse_is_not_written(solution, tmp_path, changes, words):
    certificate = solution.certificate
    if "fractions" in changes:
        rest = len(certificate.samples) - len(changes["fractions"])
        changes = {"fractions": changes["fractions"] + [Fraction(1, 3)] * rest}
    with pytest.raises(BadInput, match=words) as told:
        replace(certificate, **changes).save(tmp_path / "long")
    assert str(told.value).count("\n") == 0
    assert list(tmp_path.iterdir()) == []


def test_claims_that_are_no_floats_are_rounded_outward(solution, tmp_path):
    """2⁵³ + 1 is no float64, which the checker wants; a lower end goes down and an upper end up."""
    far = replace(solution.certificate, lower=-(2**53) - 1, upper=2**53 + 1, gap=Fraction(1, 3) + 3)
    header = json.loads(far.save(tmp_path / "far").read_text())
    assert (header["lower"], header["upper"]) == (-(2.0**53) - 2, 2.0**53 + 2)
    assert Fraction(header["gap"]) >= Fraction(10, 3)
    assert verify(tmp_path / "far.json")["proven"]


def test_an_optimum_too_long_for_the_header_is_left_to_the_fractions(tmp_path):
    problem = wb.Linear(np.array([[1.0], [-2.0]]), np.array([1.0, -1.0]))
    certificate = wb.solve(wb.SoftMargin(lam=0.5), problem, polish=True).certificate
    assert "optimum" in json.loads(certificate.save(tmp_path / "short").read_text())
    path = replace(certificate, optimum=third(90_000)).save(tmp_path / "long")
    assert "optimum" not in json.loads(path.read_text())
    assert verify(path)["proven"]
