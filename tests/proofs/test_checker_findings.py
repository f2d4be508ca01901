"""What forgers and a second checker found in the format and its checker, one by one (docs/certificate-format.md)."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.proofs.checker import Malformed, Unknown, check
from workbench.proofs.verify import verify
from workbench.registries import registry

FORMAT_1 = Path(__file__).resolve().parents[1] / "certificates" / "format_1"


class Saved:
    """A certificate on disk whose header, text and arrays can be changed."""

    def __init__(self, path):
        self.path, self.text = path, path.read_text()
        self.header = json.loads(self.text)
        with np.load(path.with_suffix(".npz")) as archive:
            self.arrays = dict(archive)

    def headed(self, **changes):
        self.path.write_text(json.dumps(self.header | changes))
        return self

    def settings(self, **changes):
        said = self.header["formulation"]
        return self.headed(formulation=said | {"settings": said["settings"] | changes})

    def write(self, **arrays):
        np.savez(self.path.with_suffix(".npz"), **self.arrays | arrays)
        return self

    def verdict(self):
        return check(self.path)

    def refused(self, match):
        with pytest.raises(Malformed, match=match) as caught:
            check(self.path)
        assert not isinstance(caught.value, Unknown)


def solved(folder, form, problem, **options):
    return Saved(wb.solve(form, problem, **options).certificate.save(folder / "c"))


@pytest.fixture
def saved(tmp_path):
    X = np.array([[1.0, 0.5], [0.2, -1.5], [-1.0, 0.3]])
    return solved(tmp_path, wb.SoftMargin(lam=0.3), wb.Multiclass(X, list("abc")))


@pytest.fixture
def polished(tmp_path):
    X = np.array([[1.0, 0.5], [0.2, -1.5], [-1.0, 0.3]])
    return solved(tmp_path, wb.SoftMargin(lam=0.3), wb.Linear(X, np.array([1.0, -1.0, 1.0])), polish=True)


@pytest.fixture
def old(tmp_path):
    def copied(stem):
        for suffix in (".json", ".npz"):
            (tmp_path / f"c{suffix}").write_bytes((FORMAT_1 / f"{stem}{suffix}").read_bytes())
        return Saved(tmp_path / "c.json")

    return copied


# ── JSON ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("number", [str(2**53 + 1), "1" + 400 * "0", "-1" + 400 * "0", "1" * 5000, "1e999", "-1e400"])
@pytest.mark.parametrize("place", ["lower", "lam", "rows"])
def test_numbers_that_no_float64_is_are_malformed(saved, number, place):
    """`lower` = 2⁵³ + 1 would be read as the optimum 2⁵³, and a false claim accepted."""
    text = json.dumps(saved.header | {"problem": saved.header["problem"] | {"rows": [7.5]}})
    old = {"lower": json.dumps(saved.header["lower"]), "lam": "0.3", "rows": "7.5"}[place]
    saved.path.write_text(
        text.replace(f": {old}" if place != "rows" else old, f" :{number}" if place != "rows" else number)
    )
    saved.refused("no float64|too great")


def test_whole_numbers_that_are_float64_are_read(saved):
    assert saved.headed(lower=-(2**60), upper=2**60, gap=2**61).verdict().proven


@pytest.mark.parametrize("place", ["rows", "lam"])
def test_infinity_stands_in_the_claim_only(saved, place):
    if place == "rows":
        saved.headed(problem=saved.header["problem"] | {"rows": [{"deep": float("inf")}]})
    else:
        saved.settings(lam=float("inf"))
    saved.refused("infinity")


@pytest.mark.parametrize("key", ["lower", "upper"])
def test_an_infinite_end_has_an_infinite_gap(saved, key):
    end = {"lower": -float("inf"), "upper": float("inf")}[key]
    assert any("infinite" in fault for fault in saved.headed(**{key: end}).verdict().faults)
    assert saved.headed(**{key: end, "gap": float("inf")}).verdict().proven


def test_brackets_in_texts_hide_no_depth(saved):
    deep = 30_000 * "["
    saved.path.write_text(f'{{"status": "{30_000 * "]"}", "versions": {deep}')
    saved.refused("nested")
    assert saved.headed(status=100 * "[" + '\\"' + 100 * "{").verdict().proven


def test_depth_21_is_refused_and_20_is_not(saved):
    def nested(depth):
        value = []
        for _ in range(depth - 1):
            value = [value]
        return saved.headed(problem=saved.header["problem"] | {"deep": value})

    assert nested(18).verdict().proven
    nested(19).refused("nested")


@pytest.mark.parametrize("key", ["complete", "theta"])
def test_no_other_key(saved, key):
    saved.headed(**{key: True}).refused("should not")


@pytest.mark.parametrize("digest", [None, "abc", 64 * "G", 63 * "a", 64 * "a" + "\n", 7])
def test_a_digest_is_64_digits(saved, digest):
    saved.headed(problem=saved.header["problem"] | {"data_sha256": digest}).refused("data_sha256")


def test_another_digest_is_not_proven(saved):
    verdict = saved.headed(problem=saved.header["problem"] | {"data_sha256": 64 * "a"}).verdict()
    assert not verdict.proven
    assert verdict.faults


@pytest.mark.parametrize("part", ["proof", "formulation", "problem"])
def test_unknown_names_and_versions_are_conditional_and_no_versions_malformed(saved, part):
    key = {"proof": "kind", "formulation": "name", "problem": "output"}[part]
    for change in ({"version": 3}, {key: "another"}):
        with pytest.raises(Unknown):
            saved.headed(**{part: saved.header[part] | change}).verdict()
    for version in (0, True, 1.0, "1", None):
        saved.headed(**{part: saved.header[part] | {"version": version}}).refused("version")
    saved.headed(**{part: saved.header[part] | {key: 3}}).refused(key)


def test_names_are_looked_up_before_settings_and_arrays(saved):
    saved.arrays["theta"] = np.zeros(1)
    saved.write()
    said = saved.header["formulation"] | {"settings": {"lam": "x"}}
    with pytest.raises(Unknown):
        saved.headed(formulation=said, problem=saved.header["problem"] | {"output": "another"}).verdict()


@pytest.mark.parametrize("word", ["under", "relaxed", "enclosed", "?"])
def test_another_oracle_is_not_proven(saved, word):
    assert any("oracle" in fault for fault in saved.headed(oracle=word).verdict().faults)


def test_an_optimum_needs_what_attains_it(polished):
    assert polished.verdict().proven
    assert polished.verdict().optimum is not None
    del polished.arrays["fractions"]
    assert any("attain" in fault for fault in polished.write().headed().verdict().faults)


# ── arrays ────────────────────────────────────────────────────────────────────────────────────────


def with_member(saved, name, raw):
    with zipfile.ZipFile(saved.path.with_suffix(".npz")) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    with zipfile.ZipFile(saved.path.with_suffix(".npz"), "w") as archive:
        for each, content in (members | {f"{name}.npy": raw}).items():
            archive.writestr(each, content)
    return saved


def npy(descr, shape, content, order="False", more="", version=b"\x01\x00"):
    head = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, {more}}}".encode()
    return b"\x93NUMPY" + version + len(head).to_bytes(2, "little") + head + content


@pytest.mark.parametrize(
    "changes",
    [
        {"order": "0"},
        {"order": "1"},
        {"more": "'x': 1"},
        {"version": b"\x01\x01"},
        {"descr": "float64"},
        {"descr": "f8"},
        {"descr": ">f8"},
        {"descr": "=f8"},
    ],
)
def test_headers_of_arrays_in_other_words(saved, changes):
    theta = saved.arrays["theta"]
    told = {"descr": "<f8", "shape": str(theta.shape), "content": theta.tobytes()}
    assert with_member(saved, "theta", npy(**told)).verdict().proven
    with_member(saved, "theta", npy(**told | changes)).refused("theta")


def test_either_order_is_read(saved):
    cost = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    first = saved.write(data_cost=cost).verdict()
    second = saved.write(data_cost=np.asfortranarray(cost)).verdict()
    assert first.data_sha256 == second.data_sha256
    assert first.ends == second.ends


@pytest.mark.parametrize(
    "classes",
    [
        np.array([0.0, np.nan, 1.0]),
        np.array([0.5, 1.5, 2.5], np.float16),
        np.array([0, 1, 2], ">i8"),
        np.array(["a", "b", "c"], ">U1"),
        np.array(["a", "b", "c"], "<U1025"),
        np.array([0x110000, 97, 98], "<u4").view("<U1"),
        np.array([0xD800, 97, 98], "<u4").view("<U1"),
        np.array(["a", "a", "b"]),
    ],
    ids=["nan", "half", "big end", "big text", "long text", "beyond", "surrogate", "same"],
)
def test_classes_of_no_kind(saved, classes):
    saved.write(data_classes=classes).refused("classes")


@pytest.mark.parametrize("classes", [np.array([b"a", b"b", b"c"]), np.array([0, 1, 2], np.uint16), np.arange(3.0)])
def test_classes_of_other_kinds_are_only_counted(saved, classes):
    ends = saved.verdict().ends
    assert saved.write(data_classes=classes).verdict().ends == ends


@pytest.mark.parametrize("loss", [np.array(b"hamming"), np.array(["hamming"]), np.array(1.0), np.array("other")])
def test_a_loss_is_one_text(tmp_path, loss):
    saved = solved(tmp_path, wb.SoftMargin(), wb.Chain.tiny(np.random.default_rng(1)))
    assert saved.verdict().proven
    saved.write(data_loss=loss).refused("loss")


def fractions_of(polished, line, count=None):
    count = len(polished.arrays["weights"]) if count is None else count
    return polished.write(fractions=np.frombuffer("\n".join([line] * count).encode(), np.uint8))


@pytest.mark.parametrize("line", [f"{'f' * 62_501}/1", f"1/{'f' * 62_501}", f"-{'f' * 62_501}/1"])
def test_fractions_have_at_most_62_500_digits(polished, line):
    fractions_of(polished, line).refused("62500 digits")


def test_fractions_together_are_short(polished):
    """Without a limit on the text, the greatest common divisors of ten million digits take hours."""
    fractions_of(polished, "1/1", 1 << 20).refused("cuts but")
    fractions_of(polished, "f" * (1 << 22) + "/1", 1).refused("longer than")


def test_fractions_over_their_denominator_fit_into_memory(polished, monkeypatch):
    from workbench.proofs.checker.kinds import cuts

    monkeypatch.setattr(cuts, "MOST_TOGETHER", 8 * len(polished.arrays["weights"]))
    fractions_of(polished, "1/101").refused("8 bits")


# ── formulations ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("weights", "C", "match"), [(1e308, 1e-100, "too great"), (5e-324, 1e100, "rounds to 0")])
def test_a_sum_of_weights_that_no_float_holds(tmp_path, weights, C, match):
    saved = solved(tmp_path, wb.CompletedSSVM(C=10.0), wb.Linear(np.eye(2), np.array([1.0, -1.0])))
    saved.write(data_weights=np.full(2, weights)).settings(C=C).refused(match)


def test_counts_that_no_float_holds(tmp_path):
    X, y = np.eye(3), list("abc")
    saved = solved(tmp_path, wb.NormalizedCostLearning(counts="total"), wb.Multiclass(X, y))
    saved.write(data_weights=np.full(3, 1e308)).refused("too great")


@pytest.mark.parametrize("setting", [{"parts": 2**53}, {"parts": 2.0}, {"left_out": 0.0}, {"parts": True}])
def test_parts_are_whole_numbers(tmp_path, setting):
    saved = solved(tmp_path, wb.FixedCostLearning(parts=2, left_out=1), wb.Multiclass(np.eye(4), list("abca")))
    assert saved.verdict().proven
    saved.settings(**setting).refused(next(iter(setting)))


@pytest.mark.parametrize("output", ["tree", "flow", "graph"])
def test_formulations_that_a_structure_lacks_are_malformed(tmp_path, output):
    saved = solved(tmp_path, wb.SoftMargin(), registry("output").get(output).tiny(np.random.default_rng(3)))
    settings = {"lam": 1.0, "loss": "hinge"}
    saved.headed(formulation={"name": "weighted-risk", "version": 1, "settings": settings}).refused(
        "graph|tree|flow|linear"
    )


@pytest.mark.parametrize("output", ["tree", "chain"])
def test_a_later_version_of_a_likelihood_is_recomputed_as_conditional(tmp_path, output):
    saved = solved(tmp_path, wb.CRF(), registry("output").get(output).tiny(np.random.default_rng(3)))
    found = verify(saved.headed(proof={"kind": "tangent", "version": 2}).path)
    assert not found["proven"]
    assert found["conditional_on"]


# ── format 1 ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("key", ["lower", "upper"])
def test_what_format_1_claims_within_its_allowance_is_not_what_is_proven(old, key):
    saved = old("multiclass-completed-ssvm")
    ends = saved.verdict().ends
    exact = float(getattr(ends, key))
    better = float(
        np.nextafter(np.nextafter(exact, np.inf if key == "lower" else -np.inf), 2 * exact * (key == "lower"))
    )
    found = verify(saved.headed(**{key: better}).path)
    assert found["proven"]
    assert found["lower"] <= ends.lower <= ends.upper <= found["upper"]
    assert any("left a rounding open" in sentence for sentence in found["not_proven"])
    assert not verify(saved.headed(**{key: exact * (1.01 if key == "lower" else 0.99)}).path)["proven"]


def test_a_claim_that_format_1_meets_is_not_called_open(old):
    saved = old("multiclass-completed-ssvm")
    ends = saved.verdict().ends
    lower, upper = float(ends.lower) - 0.1, float(ends.upper) + 0.1
    verdict = saved.headed(lower=lower, upper=upper, gap=1.0).verdict()
    assert verdict.proven
    assert not any("rounding" in sentence for sentence in verdict.not_proven)


@pytest.mark.parametrize(
    "changes", [{"proof": {"kind": "cuts", "version": 1}}, {"program": "whole"}, {"program": None}]
)
def test_format_1_has_no_proof_and_no_program(old, changes):
    old("multiclass-soft-margin").headed(**changes).refused("no proof and no program")


@pytest.mark.parametrize("part", ["formulation", "problem"])
def test_format_1_has_no_versions(old, part):
    saved = old("multiclass-soft-margin")
    saved.headed(**{part: saved.header[part] | {"version": 1}}).refused("no versions")


@pytest.mark.parametrize("key", ["status", "backend", "versions", "oracle", "gap"])
def test_format_1_has_the_other_keys(old, key):
    saved = old("multiclass-soft-margin")
    del saved.header[key]
    saved.headed().refused(f"no {key}")


def test_format_1_ignores_further_keys_and_lacks_settings(old):
    saved = old("multiclass-soft-margin")
    ends, said = saved.verdict().ends, saved.header["formulation"]
    saved.headed(note=7, formulation=said | {"settings": {}, "more": 1})
    assert saved.verdict().ends == ends
    saved.settings(unknown=1).refused("no setting")


def test_names_of_listed_outputs_are_bytes(tmp_path):
    problem = registry("output").get("structured").tiny(np.random.default_rng(3))
    saved = solved(tmp_path, wb.SoftMargin(), problem)
    assert saved.verdict().proven
    for name in ("data_source", "data_names"):
        saved.write(**{name: np.zeros(2)}).refused(name)
