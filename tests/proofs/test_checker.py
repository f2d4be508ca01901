"""The trusted checker: what it must refuse, what it must accept, and what it must not import."""

from __future__ import annotations

import ast
import io
import json
import shutil
import subprocess
import sys
import tokenize
import zipfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from declared import PROMISED, proven_formulations, proven_structures

import workbench as wb
from workbench.command.cli import cli
from workbench.contracts import Cuts
from workbench.errors import Contradiction
from workbench.proofs.bounds import Bounds
from workbench.proofs.capped import CappedBounds
from workbench.proofs.certificate import data_sha256, load
from workbench.proofs.checker import Malformed, check
from workbench.proofs.checker.balls import exp, log
from workbench.proofs.checker.check import FORMATS, LAST, OPTIONAL, REQUIRED, WHOLE
from workbench.proofs.checker.contracts import Formulation, Structure
from workbench.proofs.checker.kinds.tree import SearchTree
from workbench.proofs.checker.whole import Rows, dense_product, exact, objects, root_up
from workbench.proofs.exact import ExactBounds
from workbench.proofs.verify import same, verify
from workbench.registries import misfit, registry

ROOT = Path(__file__).resolve().parents[2]
CHECKER = ROOT / "workbench" / "proofs" / "checker"
FORMAT_1 = sorted((ROOT / "tests" / "certificates" / "format_1").glob("*.json"))
CORE = {f"{name}.py" for name in ("__init__", "archive", "balls", "check", "contracts", "faults", "learning", "whole")}
MOST_CORE, MOST_DEFINITION = 900, 120  # code lines


# ── what it is made of ────────────────────────────────────────────────────────────────────────────


def code_lines(path):
    """Lines that hold code: no docstring, no comment, no blank line."""
    text = path.read_text()
    documented = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            documented |= set(range(body[0].lineno, body[0].end_lineno + 1))
    idle = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type not in idle]
    return len({line for t in tokens for line in range(t.start[0], t.end[0] + 1)} - documented)


def test_it_is_small():
    core = [CHECKER / name for name in sorted(CORE)]
    definitions = [p for p in CHECKER.rglob("*.py") if p not in core]
    assert sum(map(code_lines, core)) <= MOST_CORE
    assert {p.name: code_lines(p) for p in definitions if code_lines(p) > MOST_DEFINITION} == {}


def test_it_imports_nothing_but_the_standard_library_and_numpy():
    for path in CHECKER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in getattr(node, "names", ())]
            for name in names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                allowed = name.split(".")[0] in {*sys.stdlib_module_names, "numpy"}
                assert allowed or name.startswith("workbench.proofs.checker"), f"{path.name} imports {name}"


def test_it_loads_nothing_else_of_the_package():
    script = "import sys, workbench.proofs.checker\nprint(*sorted(m for m in sys.modules if m.split('.')[0] in "
    script += "('workbench', 'scipy', 'cvxpy', 'numba')))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    loaded = {m for m in out.split() if not m.startswith("workbench.proofs.checker")}
    assert loaded == {"workbench", "workbench.proofs"}


STRUCTURES = {"chain", "dyads", "flow", "graph", "linear", "matching", "motif", "multiclass", "multilabel"}
STRUCTURES |= {"structured", "tree", "views"}


def test_no_structure_of_the_package_has_lost_its_proofs():
    """A new one may be without; these may not."""
    assert set(proven_structures()) >= STRUCTURES


def test_every_kind_that_solve_writes_has_a_definition():
    """A structure with `exact` promises proofs, so it needs a definition (docs/certificate-format.md §10).

    A structure without `exact` needs none; a definition without the structure's `exact` proves what nobody promised.
    A formulation promises proofs by its name in the list of tests/support/declared.py.
    """
    known = {name for name, _ in Formulation.known}
    alternations = {"latent-ssvm", "self-paced-latent", "kappa-difficulty"}
    assert {name for name, _ in Structure.known} == set(proven_structures())
    assert known == set(proven_formulations()) - alternations
    assert known >= PROMISED


# ── certificates of format 1 and of format 2 ──────────────────────────────────────────────────────


@pytest.mark.parametrize("path", FORMAT_1, ids=lambda p: p.stem)
def test_certificates_of_format_1_still_verify(path):
    header, verdict = json.loads(path.read_text()), check(path)
    assert verdict.proven, verdict.faults
    assert header["lower"] - 1e-12 <= verdict.ends.lower <= verdict.ends.upper <= header["upper"] + 1e-12
    if "optimum" in header:
        assert verdict.optimum == Fraction(header["optimum"])


def test_the_schema_and_the_checker_ask_for_the_same_keys():
    schema = json.loads((ROOT / "docs" / "certificate.schema.json").read_text())
    assert set(schema["required"]) == REQUIRED
    assert set(schema["properties"]) == REQUIRED | OPTIONAL
    assert schema["properties"]["format"]["const"] == FORMATS[-1]
    assert schema["properties"]["program"]["enum"] == [WHOLE, LAST]


def tiny(output, name):
    problem, form = (
        registry("output").objects[output].tiny(np.random.default_rng(11)),
        registry("formulation").objects[name](),
    )
    return (problem, form) if misfit(form, problem) is None else None


PAIRS = [(o, f) for o in proven_structures() for f in proven_formulations() if tiny(o, f)]


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """A function from a pair to its certificate's path, or None where no weights separate the data."""
    folder, found = tmp_path_factory.mktemp("pairs"), {}

    def path_of(output, name):
        if (output, name) not in found:
            problem, form = tiny(output, name)
            try:
                found[output, name] = wb.solve(form, problem, gap=1e-7).certificate.save(folder / f"{output}-{name}")
            except wb.NotSeparable:
                found[output, name] = None
        return found[output, name]

    return path_of


@pytest.mark.parametrize(("output", "name"), PAIRS)
def test_edited_headers_are_refused(solved, output, name, tmp_path):
    """Each of these lies or is malformed; none may be proven, and none may crash."""
    path = solved(output, name)
    if path is None:
        assert name in ("hard-margin", "perceptron")
        return
    assert check(path).proven
    header = json.loads(path.read_text())
    shutil.copy(path.with_suffix(".npz"), tmp_path / "c.npz")
    width = abs(header["upper"]) + abs(header["lower"]) + 1
    lies = [
        {"lower": header["upper"] + 1e-3 * width},
        {"upper": header["lower"] - 1e-3 * width},
        {"lower": "0"},
        {"upper": True},
        {"gap": -1.0},
        {"gap": float("nan")},
        {"oracle": "under"},
        {"oracle": None},
        {"program": "part"},
        {"program": "last of an alternation"} if header["program"] == "whole" else {"program": "whole"},
        {"alternation": None},
        {"format": "cutbench-certificate-3"},
        {"proof": {"kind": "trust", "version": 1}},
        {"proof": header["proof"] | {"version": 2}},
        {"proof": header["proof"] | {"version": True}},
        {"formulation": header["formulation"] | {"name": "soft-magin"}},
        {"formulation": header["formulation"] | {"version": 7}},
        {"formulation": header["formulation"] | {"settings": {}}},
        {"formulation": header["formulation"] | {"settings": header["formulation"]["settings"] | {"mu": 1}}},
        {"problem": header["problem"] | {"output": "matchings"}},
        {"problem": header["problem"] | {"data_sha256": "0" * 64}},
        {"problem": {}},
        {"optimum": "1/3"},
        {"optimum": 0.5},
        {"surplus": 1},
    ]
    for key, value in header["formulation"]["settings"].items():
        if isinstance(value, int | float):
            lies += [{"formulation": with_setting(header, key, other)} for other in (True, "1", None, -1.0, 1e300)]
    for missing in header:
        lies.append({missing: ...})
    for lie in lies:
        false = {key: value for key, value in (header | lie).items() if value is not ...}
        (tmp_path / "c.json").write_text(json.dumps(false))
        assert not accepted(tmp_path / "c"), lie


def accepted(path):
    """Whether the certificate is proven; one that is none is refused in one sentence."""
    try:
        return check(path).proven
    except Malformed as fault:
        return "\n" in str(fault)


def with_setting(header, key, value):
    return header["formulation"] | {"settings": header["formulation"]["settings"] | {key: value}}


# ── finding 1: weight on samples without a price ──────────────────────────────────────────────────


def two_problems():
    """The same points, the fifth of weight 1 or of weight 0: optima 4.39… and 0.8056."""
    X, y = [[0.0, 1], [1, 1], [4, 1], [5, 1], [2.4, 1]], list("xxyyx")
    return wb.Multiclass(X, y), wb.Multiclass(X, y, weights=[1, 1, 1, 1, 0])


@pytest.mark.parametrize("form", [wb.HardMargin(), wb.Separation()], ids=["hard-margin", "perceptron"])
@pytest.mark.parametrize("polish", [False, True])
def test_dual_weight_on_a_sample_of_weight_0_proves_nothing(form, polish, tmp_path):
    even, weighted = two_problems()
    false = wb.solve(form, even, polish=polish).certificate
    true = wb.solve(form, weighted, polish=polish).certificate
    assert true.upper < 0.81 < 4.39 < false.lower
    assert verify(true.save(tmp_path / "true"))["proven"]
    with pytest.raises(wb.BadInput, match="its sample 4 has price 0"):
        verify(replace(false, problem=weighted).save(tmp_path / "false"))
    bounds, cuts = Bounds(form, weighted), Cuts(even.n_features, 1)
    ids = cuts.add(false.samples, false.witnesses, bounds.oracle.rows)
    assert bounds.lower(cuts, np.bincount(ids, false.weights, len(cuts))) <= true.upper
    rules = ExactBounds(form, weighted)
    assert rules.lower(false.samples, false.witnesses, rules.multipliers(false.samples, false.weights)) <= true.upper
    assert not rules.on_simplex(false.samples, exact_like(false.weights))


def exact_like(weights):
    from workbench.arithmetic.rationals import ratios

    return ratios(weights)


def test_finite_prices_refuse_such_weight_too(tmp_path):
    even, weighted = two_problems()
    false = wb.solve(wb.SoftMargin(lam=0.1), even).certificate
    assert (false.samples == 4).any()
    with pytest.raises(wb.BadInput, match="its sample 4 has price 0"):
        verify(replace(false, problem=weighted).save(tmp_path / "false"))


def test_declarations_leave_no_dust_on_samples_without_a_price(tmp_path):
    _, weighted = two_problems()
    found = wb.solve(wb.SoftMargin(lam=0.1, declare="compact"), weighted, gap=1e-6)
    assert verify(found.certificate.save(tmp_path / "c"))["proven"]


# ── finding 2: witnesses that are no outputs ──────────────────────────────────────────────────────


@pytest.mark.parametrize("witness", [10**7, -(10**7), 2**62, -2])
def test_a_matching_with_a_witness_far_out_is_one_sentence(witness, tmp_path):
    problem = wb.Matching.tiny(np.random.default_rng(3))
    certificate = wb.solve(wb.SoftMargin(lam=0.1), problem).certificate
    false = certificate.witnesses.copy()
    false[0, 0] = witness
    path = replace(certificate, witnesses=false).save(tmp_path / "c")
    with pytest.raises(wb.BadInput, match="is no output of sample"):
        verify(path)
    with pytest.raises(wb.BadInput, match="is no output of sample"):
        load(path)[0].recheck()


@pytest.fixture
def tags(monkeypatch):
    """The class of CONTRIBUTING's recipe, in the registry as if its file stood in the folder."""
    text = next(p for p in [ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")] if "class Tags" in p.read_text())
    source = next(piece for piece in text.read_text().split("```python\n") if "class Tags" in piece).split("```")[0]
    scope = {"__name__": "tags"}
    exec(compile(source, "tags.py", "exec"), scope)
    monkeypatch.setitem(registry("output").objects, "tags", scope["Tags"])
    return scope["Tags"]


def test_a_structure_of_ones_own_is_conditional(tags, monkeypatch, tmp_path):
    problem = tags(np.array([[1.0, 0.5], [-1.0, 0.3], [0.2, -1.0]]), np.array([[1, 0], [0, 1], [1, 1]]))
    certificate = wb.solve(wb.SoftMargin(lam=0.5), problem).certificate
    path = certificate.save(tmp_path / "c")
    result = verify(path)
    assert not result["proven"]
    assert any("Tags" in sentence for sentence in result["conditional_on"])
    assert not result["refuted"]
    assert certificate.lower <= result["upper"]
    for extra, code in (([], 1), (["--allow-conditional"], 0)):
        done = CliRunner().invoke(cli, ["verify", str(path), *extra])
        assert done.exit_code == code
        assert "CONDITIONAL" in done.stdout
    for witness in (2, -1):
        false = certificate.witnesses.copy()
        false[0] = witness
        with pytest.raises(wb.BadInput, match="is no output of sample"):
            verify(replace(certificate, witnesses=false).save(tmp_path / "false"))
    monkeypatch.delitem(registry("output").objects, "tags")
    with pytest.raises(wb.BadInput, match="tags"):
        verify(path)
    assert verify(path, problem=problem)["conditional_on"] == result["conditional_on"]
    monkeypatch.setitem(registry("output").objects, "tags", tags)
    path = replace(certificate, lower=certificate.upper * 0.9 + 0.1, upper=1.0, gap=1.0).save(tmp_path / "refuted")
    assert CliRunner().invoke(cli, ["verify", str(path), "--allow-conditional"]).exit_code == 1


# ── finding 3: what was proven ────────────────────────────────────────────────────────────────────


@pytest.fixture
def digits(tmp_path):
    problem = registry_problem("digits", n=40)
    return wb.solve(wb.SoftMargin(lam=0.5), problem, gap=1e-4).certificate.save(tmp_path / "digits")


def registry_problem(name, **settings):
    from workbench.data.loading import load_problem

    return load_problem(name)(**settings)


def test_verify_says_what_was_proven(digits):
    result = verify(digits)
    assert (result["formulation"], result["n_samples"], result["dim"]) == ("soft-margin", 40, 640)
    assert result["settings"] == {"lam": 0.5, "rescaling": "margin", "declare": "cuts"}
    assert (result["program"], result["proof"], result["conditional_on"]) == ("whole", "cuts", [])
    assert "λ/2 ‖w‖²" in result["formula"]
    assert any("data" in sentence for sentence in result["not_proven"])
    shown = CliRunner().invoke(cli, ["verify", str(digits)]).stdout
    for word in ("soft-margin lam=0.5", "λ/2 ‖w‖²", "n = 40, d = 640", "assumes", "open", result["data_sha256"]):
        assert word in shown


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--expect", "lam=0.5"], 0),
        (["--expect", "lam=1e-1"], 1),
        (["--expect", "lam=0.5", "--expect", "formulation=soft-margin", "--expect", "output=multiclass"], 0),
        (["--expect", "formulation=crf"], 1),
        (["--expect", "mu=1"], 2),
        (["--expect", "lam"], 2),
        (["--data", "digits", "--set", "n=40"], 0),
        (["--data", "digits", "--set", "n=41"], 1),
        (["--data", "iris"], 1),
        (["--data", "no-such-problem"], 2),
        (["--set", "n=40"], 2),
    ],
)
def test_verify_compares_with_what_is_expected(digits, words, code):
    done = CliRunner().invoke(cli, ["verify", str(digits), *words])
    assert done.exit_code == code, done.output


@pytest.mark.parametrize(
    ("value", "wanted", "told"),
    [
        ([-1, -1, 3.0], "-1,-1,3", True),  # as `--set` takes a list
        ([-1, -1, 3.0], "[-1, -1.0, 3]", True),
        ([-1, -1, 3.0], "-1,-1", False),
        ([-1, -1, 3.0], "-1,-1,4", False),
        ([-1, -1, 3.0], (-1, -1, 3), True),
        ([], "", True),
        (["hinge"], "hinge", True),
        (["a", "b"], "['a', 'b']", True),  # as Python writes it
        ([[1, 2], [3]], "[[1, 2], [3]]", True),
        ("1,2", "1,2", True),
    ],
)
def test_a_list_is_compared_with_words(value, wanted, told):
    assert same(value, wanted) is told


def test_the_caveat_of_an_alternation_does_not_go_with_its_key(tmp_path):
    problem = wb.Motif.tiny(np.random.default_rng(2))
    path = wb.solve(wb.LatentSSVM(starts=1), problem).certificate.save(tmp_path / "c")
    result, header = verify(path), json.loads(path.read_text())
    assert result["program"] == "last of an alternation"
    assert "nothing is proven about the optimum of LatentSSVM itself" in result["about"]
    del header["alternation"]
    path.write_text(json.dumps(header))
    with pytest.raises(wb.BadInput, match="do not fit together"):
        verify(path)
    path.write_text(json.dumps(header | {"program": "whole"}))
    assert any("hidden states" in sentence for sentence in verify(path)["not_proven"])
    old = {
        key: header[key] for key in ("lower", "upper", "gap", "oracle", "status", "backend", "formulation", "problem")
    }
    for part in ("formulation", "problem"):
        del old[part]["version"]
    path.write_text(json.dumps(old | {"versions": {}, "format": "cutbench-certificate-1"}))
    assert any("hidden states" in sentence for sentence in verify(path)["not_proven"])


# ── finding 4: contradictions are not clamped away ────────────────────────────────────────────────


@pytest.fixture(scope="module")
def searched():
    rng = np.random.default_rng(1)
    return wb.solve(wb.SelfPaced(C=10.0, K=1.0), wb.Multiclass(rng.normal(size=(8, 2)), rng.integers(0, 2, 8)))


def test_an_unsound_tree_raises_and_says_bug(searched, monkeypatch):
    certificate = searched.certificate
    monkeypatch.setattr(CappedBounds, "proven", lambda self, tree, upper: upper * 1.01)
    with pytest.raises(Contradiction, match="bug"):
        certificate.recheck()
    with pytest.raises(Contradiction, match="bug"):
        wb.solve(certificate.formulation, certificate.problem)


def test_a_contradiction_refuses_the_certificate(searched, monkeypatch, tmp_path):
    path = searched.certificate.save(tmp_path / "c")
    honest = SearchTree.ends
    monkeypatch.setattr(SearchTree, "ends", lambda prepared, claim: crossed(honest(prepared, claim)))
    verdict = check(path)
    assert not verdict.proven
    assert any("contradiction" in fault for fault in verdict.faults)


def crossed(ends):
    return ends._replace(lower=ends.upper + 1)


# ── damaged and hostile files ─────────────────────────────────────────────────────────────────────


@pytest.fixture
def pair(tmp_path):
    X = np.array([[1.0, 0.5], [0.2, -1.5], [-1.0, 0.3]])
    path = wb.solve(wb.SoftMargin(lam=0.3), wb.Multiclass(X, list("abc"))).certificate.save(tmp_path / "c")
    with np.load(path.with_suffix(".npz")) as archive:
        return path, json.loads(path.read_text()), dict(archive)


def refused(path):
    with pytest.raises(Malformed) as caught:
        check(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"format": 1}',
        "[" * 100_000,
        '{"a": ' * 100 + "1" + "}" * 100,
        '{"lower": ' + "9" * 10_000 + "}",
    ],
    ids=["empty", "list", "null", "open", "number", "deep", "nested", "digits"],
)
def test_text_that_is_no_certificate(pair, text):
    path, _, _ = pair
    path.write_text(text)
    refused(path)


def test_a_key_that_stands_twice(pair):
    path, _, _ = pair
    path.write_text(path.read_text().replace('"lower":', '"lower": 0.0, "lower":', 1))
    refused(path)


def npy(shape, order="False", descr="'<f8'"):
    head = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        npy("(10**9,)"),
        npy("(1000000000000,)"),
        npy("(-1,)"),
        npy("(2, 2, 2)"),
        npy("(True,)"),
        npy("(" * 900 + "2" + ",)" * 900),
        npy("(0,)", descr="'|O'"),
        npy("(0,)", descr="[('a', '<f8')]"),
        npy("(0,)", descr="'<c16'"),
        b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little"),
        npy("(1,)") + b"12345678" + b"9",
    ],
)
def test_an_array_that_is_none(pair, content):
    path, _, arrays = pair
    with zipfile.ZipFile(path.with_suffix(".npz"), "w") as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            archive.writestr(f"{name}.npy", content if name == "theta" else buffer.getvalue())
    refused(path)


def test_a_zip_bomb_is_not_unpacked(pair):
    path, _, _ = pair
    with zipfile.ZipFile(path.with_suffix(".npz"), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("theta.npy", npy("(1048576,)") + bytes(8 << 20))
    assert path.with_suffix(".npz").stat().st_size < 20_000
    with pytest.raises(Malformed, match="more than 1048576"):
        check(path, most_bytes=1 << 20)


def test_an_array_that_stands_twice_or_should_not_stand_there(pair):
    path, _, arrays = pair
    for extra in ({"theta2": np.zeros(1)}, {"data_extra": np.zeros(1)}, {"tree_cuts": np.array(1)}):
        np.savez(path.with_suffix(".npz"), **arrays | extra)
        refused(path)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path.with_suffix(".npz"), "a") as archive:
        archive.writestr("theta.npy", b"")
    refused(path)


def test_fractions_with_a_long_common_denominator(pair):
    path, _, arrays = pair
    lines = [f"1/{(1 << (90_000 + k)) + 1:x}" for k in range(len(arrays["weights"]))]
    arrays["fractions"] = np.frombuffer("\n".join(lines).encode(), np.uint8)
    np.savez(path.with_suffix(".npz"), **arrays)
    refused(path)


@pytest.mark.parametrize("name", ["theta", "weights"])
def test_a_tiny_number_among_ordinary_ones_is_no_hang(pair, name):
    path, _, arrays = pair
    arrays[name][0] = 5e-324
    np.savez(path.with_suffix(".npz"), **arrays)
    assert not check(path).proven


# ── its own arithmetic ────────────────────────────────────────────────────────────────────────────


def test_enclosures_of_exp_and_log_hold():
    """Against the series in fractions: Σ xʲ/j! with its remainder; and log by the inverse."""
    rng = np.random.default_rng(0)
    for P in (40, 96, 200):
        for x in [Fraction(0), *(Fraction(-int(n), int(d)) for n, d in rng.integers(1, 1000, (40, 2)))]:
            (low,), (high,) = exp(objects([x.numerator]), x.denominator, P)
            if x > -20:
                value = 1 / sum(
                    (Fraction((-x) ** j, factorial(j)) for j in range(160)), Fraction(0)
                )  # too large, barely
                assert Fraction(int(low), 1 << P) <= value
                assert value * (1 - Fraction(1, 1 << (P + 20))) <= Fraction(int(high), 1 << P)
            assert 0 <= low < high
            assert high - low <= 2 + (int(high) >> 30)
        for number in (1, 2, 3, 10, 10**9 + 7, (1 << 300) + 1, *rng.integers(1, 1 << 40, 20).tolist()):
            low, high = log(number, P)
            assert high - low <= 2
            assert abs(Fraction(low, 1 << P) - Fraction(np.log(float(number)))) < Fraction(1, 10**9)


def factorial(j):
    import math

    return math.factorial(j)


def test_sparse_and_dense_products_equal_plain_ones():
    rng = np.random.default_rng(4)
    for size, spread in ((1, 1), (8, 3), (40, 300), (60, 1100)):
        data = rng.normal(size=30) * 2.0 ** rng.integers(-spread, spread // 3 + 1, 30).clip(-900, 900)
        indices, indptr = np.concatenate([np.sort(rng.permutation(9)[:5]) for _ in range(6)]), np.arange(0, 31, 5)
        rows = Rows(data, indices, indptr, 9)
        weights = objects(int(x) for x in rng.integers(-(10**9), 10**9, 27)).reshape(3, 9) * 7**size
        plain = np.zeros((6, 9), object)
        for i in range(6):
            for j in range(*indptr[i : i + 2]):
                plain[i, indices[j]] += rows.values[j]
        which = np.array([5, 0, 0, 3])
        assert (rows.scores(which, weights) == plain[which] @ weights.T).all()
        factors, blocks = objects([3**size, -1, 2, 7]), np.array([0, 2, 1, 1])
        expected = np.zeros((3, 9), object)
        for i, block, factor in zip(which, blocks, factors, strict=True):
            expected[block] += factor * plain[i]
        assert (rows.spread(which, blocks, factors, 3) == expected.ravel()).all()
        assert (dense_product(plain, weights.T) == plain @ weights.T).all()
        assert exact(data).fractions() == [Fraction(x) for x in data.tolist()]


def test_roots_are_rounded_up():
    for square in (Fraction(0), Fraction(2), Fraction(1, 3), Fraction(10**40 + 1), Fraction(1, 10**40)):
        root = root_up(square, 1 << 64)
        assert square <= root**2
        assert root == 0 or (root - Fraction(1, 1 << 64)) ** 2 < square


def test_the_digest_is_the_one_that_problems_have():
    problem = wb.Chain.tiny(np.random.default_rng(0))
    assert len(data_sha256(problem.arrays())) == 64
