"""Certificates as objects: saved and read back whole; what cannot be one is refused in the sentence that says why.

`verify` reads files by the trusted checker (test_tampering.py); these are `load`, `recheck` and `save`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib import metadata
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.dyads.pairs import Dyads
from workbench.errors import BadInput, MissingCapability, UnknownName
from workbench.proofs import certificate as writing
from workbench.proofs import files
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.checker.check import FORMATS


def small() -> Any:
    X, y = np.array([[1.0, 0.0], [-1.0, 0.5], [2.0, 1.0]]), ["a", "b", "a"]
    return wb.solve(wb.SoftMargin(lam=0.25), wb.Multiclass(X, y)).certificate


@pytest.fixture(scope="module")
def certificate():
    return small()


@pytest.fixture(scope="module")
def polished(certificate):
    return wb.solve(certificate.formulation, certificate.problem, polish=True).certificate


@pytest.fixture(scope="module")
def searched():
    problem = wb.Multiclass(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), ["a", "b", "b"])
    return wb.solve(wb.SelfPaced(), problem).certificate


@pytest.fixture(scope="module")
def bilinear():
    rng = np.random.default_rng(0)
    pairs = Dyads(rng.normal(size=(4, 2)), rng.normal(size=(4, 2)), ["x", "y", "x", "y"])
    return wb.solve(wb.NuclearDyadic(), wb.DyadicPairs(pairs), gap=0.5).certificate


def damaged(certificate: Any, folder: Any, **changes: Any) -> Any:
    """A saved certificate with arrays, or keys of the header (a.b for b within a), changed; None takes away."""
    path = certificate.save(folder / "saved")
    header, packed = json.loads(path.read_text()), path.with_suffix(".npz")
    with np.load(packed) as archive:
        arrays = dict(archive)
    for name, value in changes.items():
        *outer, last = name.split("__")
        target = arrays if name in arrays or isinstance(value, np.ndarray) else header
        for each in outer:
            target = target[each]
        target[last] = value
        if value is None:
            del target[last]
    np.savez(packed, **arrays)
    path.write_text(json.dumps(header))
    return path


def test_weights_of_classes_that_are_not_in_order_are_not_read(certificate, tmp_path):
    """Whoever builds the problem again sorts the classes, so that rows of W would change their meaning."""
    assert writing.load(damaged(certificate, tmp_path))[0].problem.classes.tolist() == ["a", "b"]
    with pytest.raises(BadInput, match="its classes are not in order, so that weights would go to others"):
        writing.load(damaged(certificate, tmp_path, data_classes=np.array(["b", "a"])))
    rows = wb.Linear(np.array([[1.0], [-2.0]]), [1.0, -1.0])
    assert writing.load(wb.solve(wb.SoftMargin(), rows).certificate.save(tmp_path / "rows"))[0].problem.n_samples == 2


@pytest.mark.parametrize(
    ("kind", "part"),
    [("certificate", "weights"), ("polished", "fractions"), ("searched", "tree_parents"), ("bilinear", "slopes")],
)
def test_all_of_a_certificate_comes_back(kind, part, request, tmp_path):
    each = request.getfixturevalue(kind)
    for _ in range(2):  # the folder is new, then it is there
        again, header = writing.load(each.save(tmp_path / "new" / "folder" / "name"))
        assert header["format"] == FORMATS[-1]
        assert again.parts().keys() == each.parts().keys()
        for name, array in each.parts().items():
            assert again.parts()[name].tolist() == array.tolist(), name
        for name in ("formulation", "upper", "lower", "gap", "status", "backend", "optimum", "fractions"):
            assert getattr(again, name) == getattr(each, name), name
    assert again.recheck() == each.recheck()
    assert part in each.parts()


def test_tables_of_slopes_and_long_fractions_are_read_as_they_are_written(certificate):
    arrays = certificate.parts() | {"slopes": np.array([[0.5, -2.0], [0.0, 1.0]])}
    fractions = [Fraction(0x1F, 0x2AB), Fraction(-10, 11), *[Fraction(1, 3)] * (len(certificate.weights) - 2)]
    arrays["fractions"] = writing.written_fractions(fractions)
    again = writing.checked_arrays(arrays, certificate.problem)
    assert again["slopes"].tolist() == arrays["slopes"].tolist()
    assert again["fractions"] == fractions
    for words in ("5/0", "5", "g/1", "1/-2", ""):
        with pytest.raises(writing.BadInput, match="fractions are not written as p/q"):
            writing.parsed_fractions(np.frombuffer(words.encode(), np.uint8))


def test_a_header_names_what_computed_the_claim_and_nothing_that_is_absent(certificate, tmp_path):
    header = json.loads(certificate.save(tmp_path / "it").read_text())
    assert header["versions"]["numpy"] == np.__version__
    assert header["versions"]["scipy"] == metadata.version("scipy")
    assert header["problem"].keys() == {"output", "version", "data_sha256"} | certificate.source.keys()
    with_columns = replace(certificate)
    with_columns.problem.columns = ["p", "q"]
    try:
        path = with_columns.save(tmp_path / "named")
        assert json.loads(path.read_text())["problem"]["columns"] == ["p", "q"]
        assert writing.load(path)[0].problem.columns == ["p", "q"]
    finally:
        del with_columns.problem.columns


VECTOR, FIT = "is no vector of finite float64", "do not fit together"
FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"format": "other"}, "the format 'other', not 'cutbench-certificate-2'"),
    ({"formulation__name": "program"}, "about a convex program"),
    ({"formulation__name": "no-such"}, "no-such"),
    ({"formulation__name": "Soft-Margin"}, "Soft-Margin"),
    ({"formulation__settings": {"lam": "0.25"}}, "lam is '0.25', which soft-margin does not take"),
    ({"formulation__settings": {"lam": [0.25]}}, "soft-margin|number"),
    ({"formulation__settings": 3}, "not of the kinds"),
    ({"upper": True}, "upper is True, no number"),
    ({"lower": "1"}, "lower is '1', no number"),
    ({"gap": float("nan")}, "gap is nan, no number|NaN"),
    ({"upper": None}, "has no upper"),
    ({"optimum": "x"}, "x"),
    ({"alternation": {"status": "y"}}, "has no formulation"),
    ({"theta": np.zeros(5)}, "it has 5 weights but its problem needs 4"),
    ({"theta": np.zeros((4, 1))}, f"theta {VECTOR}"),
    ({"theta": np.zeros(4, np.float32)}, f"theta {VECTOR}"),
    ({"theta": np.array([0, 0, 0, np.inf])}, f"theta {VECTOR}"),
    ({"weights": np.array([1.0, np.nan])}, f"weights {VECTOR}"),
    ({"samples": np.zeros(2, np.int32)}, "samples is of type int32, not int64"),
    ({"witnesses": np.zeros((2, 1), float)}, "witnesses is of type float64, not int64"),
    ({"slopes": np.zeros(3)}, "slopes is no table"),
    ({"slopes": np.zeros((3, 2), int)}, "slopes is no table"),
    ({"slopes": np.array([[0.0, np.inf]])}, "slopes is no table"),
]


@pytest.mark.parametrize(("changes", "words"), FAULTS)
def test_what_is_no_certificate_is_refused_in_its_sentence(certificate, tmp_path, changes, words):
    path = damaged(certificate, tmp_path, **changes)
    with pytest.raises(BadInput, match=words) as told:
        writing.load(path)
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)
    assert ".)" not in str(told.value)


def test_cuts_that_do_not_fit_together_are_refused(certificate, tmp_path):
    samples, witnesses, weights = certificate.samples, certificate.witnesses, certificate.weights
    count = len(samples)
    for changes, words in (
        ({"samples": samples[:-1]}, FIT),
        ({"weights": weights[:-1]}, FIT),
        ({"witnesses": witnesses[:-1]}, FIT),
        ({"witnesses": np.tile(witnesses, 2)}, FIT),
        ({"weights": np.where(np.arange(count) == 1, -1e-300, weights)}, "the weight of cut 1 is negative"),
        ({"samples": np.where(np.arange(count) == 1, -1, samples)}, "names a sample that the data lack, they have 3"),
        ({"samples": np.where(np.arange(count) == 1, 3, samples)}, "names a sample that the data lack, they have 3"),
        ({"fractions": writing.written_fractions([Fraction(1, 2)] * (count + 1))}, f"{count} cuts but {count + 1}"),
        ({"fractions": np.frombuffer(b"1/2\n0.5", np.uint8)}, "not written as p/q"),
        ({"fractions": np.frombuffer(b"1/2\n--1/3", np.uint8)}, "not written as p/q"),
    ):
        with pytest.raises(BadInput, match=words):
            writing.load(damaged(certificate, tmp_path, **changes))


def test_weights_of_zero_and_the_first_sample_are_taken(certificate, tmp_path):
    weights = np.append(0.0, certificate.weights[1:])
    assert writing.load(damaged(certificate, tmp_path, weights=weights))[0].weights[0] == 0
    assert 0 in certificate.samples


def test_a_search_without_its_tree_is_refused(searched, tmp_path):
    gone = dict.fromkeys(each for each in searched.parts() if each.startswith("tree_"))
    with pytest.raises(BadInput, match="about a search but holds no tree"):
        writing.load(damaged(searched, tmp_path, **gone))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"needs \S*gone.json, which does not exist; check the path"):
        writing.load(tmp_path / "gone")


# ── witnesses that are no outputs ─────────────────────────────────────────────────────────────────


class Listed(wb.Multiclass):
    """Without exact arithmetic: known by a list of outputs, or, if relaxed, not at all."""

    def exact(self) -> None:
        return None


def moved(certificate: Any, problem: Any, label: int) -> Any:
    witnesses = certificate.witnesses.copy()
    witnesses[-1] = label
    return replace(certificate, problem=problem, witnesses=witnesses)


@pytest.mark.parametrize("kind", [wb.Multiclass, Listed])
def test_a_witness_that_is_no_output_is_named(certificate, kind):
    problem = kind(certificate.problem.X.toarray(), ["a", "b", "a"])
    count = len(certificate.samples)
    assert writing.check_outputs(problem, moved(certificate, problem, 1)) is True
    for label in (2, -1):
        with pytest.raises(
            BadInput, match=rf"Cut {count - 1} has the witness \[{label}\], which is no output of"
        ) as it:
            moved(certificate, problem, label).recheck()
        assert f"sample {certificate.samples[-1]};" in str(it.value)


def test_where_nothing_tells_outputs_from_others_they_are_believed(certificate):
    problem = Listed(certificate.problem.X.toarray(), ["a", "b", "a"])
    problem.oracle_kind = "relaxed"
    assert writing.check_outputs(problem, moved(certificate, problem, 2)) is False
    nothing = replace(certificate, samples=np.zeros(0, int), witnesses=np.zeros((0, 1), int), weights=np.zeros(0))
    assert writing.check_outputs(problem, nothing) is True


def test_cuts_of_completed_data_are_outputs_of_these(tmp_path):
    """Of the convex program inside, where a true label has its one state; the states are a setting of many numbers."""
    rng = np.random.default_rng(1)
    problem = wb.Views(rng.normal(size=(6, 2)), ["a", "b", "a"], [0, 2, 4, 6])
    found = wb.solve(wb.LatentSSVM(), problem, gap=1e-3).certificate
    assert writing.load(found.save(tmp_path / "states"))[0].recheck() == found.recheck()
    states = bounds_for(found.formulation, problem).oracle.problem.truth[found.samples]
    other = np.stack([states[:, 0], 1 - states[:, 1]], axis=1)  # the true label in its other view
    with pytest.raises(BadInput, match="Cut 0 has the witness"):
        replace(found, witnesses=other).recheck()


# ── what cannot be written ────────────────────────────────────────────────────────────────────────


def test_the_limits_of_the_checker_are_those_of_the_writer(certificate, tmp_path, monkeypatch):
    path, size = certificate.save(tmp_path / "fits"), 0
    with np.load(path.with_suffix(".npz")) as archive:
        size = sum(archive[name].nbytes for name in archive.files)
    monkeypatch.setattr(writing.archive, "MOST_BYTES", size)
    certificate.save(tmp_path / "fits")
    monkeypatch.setattr(writing.archive, "MOST_BYTES", size - 1)
    with pytest.raises(BadInput, match=f"its arrays take {size} bytes, more than {size - 1}"):
        certificate.save(tmp_path / "large")
    monkeypatch.undo()
    length = len(path.read_text())
    monkeypatch.setattr(writing.archive, "MOST_JSON", length)
    certificate.save(tmp_path / "fits")
    monkeypatch.setattr(writing.archive, "MOST_JSON", length - 1)
    with pytest.raises(BadInput, match=f"its JSON is longer than {length - 1} bytes"):
        certificate.save(tmp_path / "long")


def test_an_optimum_of_the_most_digits_stands_in_the_header(certificate, monkeypatch):
    optimum = Fraction(1, 7919)
    for longest in (5, 6, 7):
        monkeypatch.setattr(writing, "MOST_DIGITS", longest)
        assert ("optimum" in replace(certificate, optimum=optimum).header({})) == (longest >= len("1/7919"))


def test_a_setting_that_is_a_function_is_named(certificate):
    @dataclass
    class Own:
        rule: Any = len
        lam: float = field(default=1.0)

    with pytest.raises(BadInput, match="The setting rule is the function len, which no file"):
        writing.written(Own())
    assert writing.written(Own(rule=3)) == {"rule": 3, "lam": 1.0}


class Stranger:
    """In no registry."""


def test_a_setting_of_a_later_version_is_written_where_it_is_used():
    plain, used = wb.SoftMargin(lam=0.5), wb.SoftMargin(lam=0.5, intercept=True)
    assert "intercept" not in writing.written(plain)
    assert writing.written(used)["intercept"] is True
    assert (writing.version_of(plain), writing.version_of(used)) == (1, 2)
    own = Stranger()
    assert writing.chosen(own) == writing.written(own) == {}
    assert writing.version_of(own) == 1


def test_what_no_registry_holds_has_no_name():
    with pytest.raises(MissingCapability, match="Stranger is in no registry of outputs"):
        writing.name_of("output", Stranger())
    assert writing.name_of("output", Listed(np.ones((2, 1)), ["a", "b"])) == "multiclass"
    with pytest.raises(UnknownName, match="no-such"):
        writing.registered("output", "no-such")


def test_no_half_of_a_file_stays_behind(tmp_path, monkeypatch):
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(BadInput, match=r"Cannot write \S*it.json \(No space left on device\); choose another folder"):
        files.write_whole(tmp_path / "it.json", b"{}")
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    with pytest.raises(BadInput, match="Cannot write"):  # and where nothing was written at all
        files.write_whole(tmp_path / "no" / "such" / "it.json", b"{}")


def test_a_problem_without_arrays_is_in_no_certificate():
    with pytest.raises(MissingCapability, match="object cannot be put into a certificate; give it `arrays`"):
        writing.arrays_of(object())


class Own(wb.Multilabel):
    """A user's structure whose members have the names that our problems use for what they tell of their source."""

    name = "multilabel"
    idf = np.arange(3)

    @property
    def columns(self) -> str:
        return "the user's"


def test_members_of_a_users_structure_are_left_alone(tmp_path):
    solution = wb.solve(wb.SoftMargin(), Own(np.eye(3), [["a"], ["b"], ["a", "b"]]))
    certificate, header = writing.load(solution.certificate.save(tmp_path / "own"), Own)
    assert certificate.problem.columns == "the user's"
    assert not {"columns", "idf"} & header["problem"].keys()


def test_the_backend_of_a_claim_is_among_its_versions(tmp_path):
    pytest.importorskip("daqp")
    solution = wb.solve(wb.SoftMargin(), wb.Multiclass(np.eye(3), ["a", "b", "a"]), backend="DAQP")
    header = json.loads(solution.certificate.save(tmp_path / "it").read_text())
    assert header["versions"]["daqp"] == metadata.version("daqp")
