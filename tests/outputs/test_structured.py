"""Problems by functions: the optima of the built-in structures, proofs by file and digest, and sentences for faults."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
import sys
import textwrap
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from own_pairs import PAIRS, chains, labels
from scipy import sparse

import workbench as wb
from workbench.outputs._structured import texts
from workbench.outputs._structured.table import Table
from workbench.proofs.certificate import load
from workbench.system.journal import Journal

# ── the same optimum, by our structures and by three functions ────────────────────────────────────


@pytest.mark.parametrize("pair", PAIRS.values())
@pytest.mark.parametrize("lam", [1.0, 0.03])
def test_three_functions_reach_the_optimum_of_the_built_in_structure(pair, lam):
    for seed in range(2):
        built_in, own = pair(12, np.random.default_rng(seed))
        ours, theirs = (wb.solve(wb.SoftMargin(lam=lam), each, gap=1e-10) for each in (built_in, own))
        assert theirs.status == "optimal"
        assert theirs.upper == pytest.approx(ours.upper, rel=1e-9)
        assert max(ours.lower, theirs.lower) <= min(ours.upper, theirs.upper)


@pytest.mark.parametrize("formulation", [wb.HardMargin(), wb.CRF(lam=0.1), wb.SoftMargin(lam=0.1, rescaling="slack")])
def test_candidates_stand_in_for_an_argmax_in_every_formulation(formulation):
    built_in, own = labels(8, np.random.default_rng(0), p=9)
    functions = own.functions
    listed = wb.Structured(own.xs, own.objects[:8], functions.features, functions.loss, candidates=lambda x: range(4))
    ours, theirs = (wb.solve(formulation, each, gap=1e-9) for each in (built_in, listed))
    assert theirs.upper == pytest.approx(ours.upper, rel=1e-8)


def test_own_marginals_and_own_slack_argmax():
    built_in, own = labels(10, np.random.default_rng(0))
    features, loss, argmax = own.functions.features, own.functions.loss, own.functions.argmax

    def marginals(w, x):
        scores = w.reshape(4, 5) @ x
        shares = np.exp(scores - scores.max())
        return scores.max() + np.log(shares.sum()), np.kron(shares / shares.sum(), x)

    def slack(w, x, y):
        return max(range(4), key=lambda z: loss(y, z) * (1 - w @ (features(x, y) - features(x, z))))

    able = wb.Structured(own.xs, own.objects[:10], features, loss, argmax, slack_argmax=slack, marginals=marginals)
    for formulation in (wb.CRF(lam=0.1), wb.SoftMargin(lam=0.1, rescaling="slack")):
        ours, theirs = (wb.solve(formulation, each, gap=1e-9) for each in (built_in, able))
        assert theirs.upper == pytest.approx(ours.upper, rel=1e-8)
        with pytest.raises(wb.MissingCapability):
            wb.solve(formulation, own)


# ── cost ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("pair", PAIRS.values())
def test_the_same_optimum_of_larger_problems(pair):
    """How much slower: `cutbench bench own-models`."""
    ours, theirs = (wb.solve(wb.SoftMargin(lam=0.02), each, gap=1e-10) for each in pair(60, np.random.default_rng(0)))
    assert theirs.upper == pytest.approx(ours.upper, rel=1e-9)


def test_features_are_asked_once_an_output_and_rows_cost_what_they_hold():
    asked = []
    _, own = labels(60, np.random.default_rng(0))
    functions = own.functions

    def features(x, y):
        asked.append((x.tobytes(), y))
        return functions.features(x, y)

    problem = wb.Structured(own.xs, own.objects[:60], features, functions.loss, functions.argmax)
    problem.vetted = True
    wb.solve(wb.SoftMargin(lam=0.01), problem)
    assert len(asked) <= len(set(asked)) + 1  # the first truth, to see of what kind features are
    table = Table(3)
    for number in range(2000):
        table.append(0, np.array([1]), np.array([float(number)]), 0.0)
    assert table.take(np.array([7, 1999]))[:, [1]].toarray().ravel().tolist() == [7.0, 1999.0]


# ── kinds of outputs and features ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Name:
    text: str


class Opaque:
    def __init__(self, value):
        self.value = value


GRAPH = nx.DiGraph([(0, 1), (1, "b")])
GRAPH.add_node((2, 3), colour="red")
SPOKEN = [
    None,
    True,
    3,
    -0.5,
    "ü",
    (1, "a"),
    [1, [2]],
    {1, 2},
    frozenset(["x"]),
    {"a": (1,)},
    np.arange(6).reshape(2, 3),
]
SPOKEN += [np.float32(0.1), np.array(["ab", "c"]), GRAPH, nx.Graph([(1, 2)])]


@pytest.mark.parametrize("output", SPOKEN, ids=lambda each: type(each).__name__)
def test_texts_rebuild_outputs(output):
    again = texts.read(texts.written(output))
    assert type(again) is type(output)
    assert texts.written(again) == texts.written(output)
    assert texts.key_of(again) == texts.key_of(output)


def test_equal_outputs_have_one_key_and_others_others():
    keys = [texts.key_of(each) for each in SPOKEN]
    assert len(set(keys)) == len(keys)
    assert texts.key_of({1, 2}) == texts.key_of({2, 1})
    assert texts.key_of(Name("a")) == texts.key_of(Name("a"))
    assert texts.key_of(Opaque(1)) is None


@pytest.mark.parametrize(
    "made", [int, str, Opaque, lambda z: [z], lambda z: {z}, lambda z: np.eye(4)[z], lambda z: Name(z)]
)
def test_any_object_is_an_output(made, tmp_path):
    _, own = labels(10, np.random.default_rng(0))
    best = wb.solve(wb.SoftMargin(lam=0.1), own)
    number = {texts.key_of(made(z)): z for z in range(4)}

    def read(y):
        return y.value if isinstance(y, Opaque) else number[texts.key_of(y)]

    functions = own.functions
    problem = wb.Structured(
        own.xs,
        [made(z) for z in own.objects[:10]],
        lambda x, y: functions.features(x, read(y)),
        lambda y, z: functions.loss(read(y), read(z)),
        lambda w, x, y=None: made(functions.argmax(w, x, None if y is None else read(y))),
    )
    solution = wb.solve(wb.SoftMargin(lam=0.1), problem)
    assert solution.upper == pytest.approx(best.upper, rel=1e-8)
    assert len(problem.table) <= 40
    proof = wb.verify(solution.certificate.save(tmp_path / "c"))
    assert not proof["refuted"]
    assert proof["lower"] <= best.upper


def test_dicts_sparse_rows_and_vectors_are_the_same_features():
    _, own = labels(10, np.random.default_rng(0))
    features, loss, argmax = own.functions.features, own.functions.loss, own.functions.argmax

    def as_dict(x, y):
        return {(y, j): value for j, value in enumerate(x)}

    def by_names(w, x, y=None):
        return max(range(4), key=lambda z: w.score(as_dict(x, z)) + (0 if y is None else loss(y, z)))

    dense = wb.solve(wb.SoftMargin(lam=0.1), own, gap=1e-10).upper
    for phi, oracle in ((lambda x, y: sparse.csr_matrix(features(x, y)), argmax), (as_dict, by_names)):
        problem = wb.Structured(own.xs, own.objects[:10], phi, loss, oracle)
        assert wb.solve(wb.SoftMargin(lam=0.1), problem, gap=1e-10).upper == pytest.approx(dense, rel=1e-9)
    solution = wb.solve(wb.SoftMargin(lam=0.1), problem)
    assert problem.predict(solution.theta["w"], own.xs) == own.predict(
        wb.solve(wb.SoftMargin(lam=0.1), own).theta["w"], own.xs
    )
    with pytest.raises(wb.BadInput, match=r"one more than the 3 there is room for; give all names as names="):
        wb.Structured(own.xs, own.objects[:10], as_dict, loss, by_names, names=[(0, 0), (0, 1), (0, 2)])


# ── proofs ────────────────────────────────────────────────────────────────────────────────────────

FILE = """
    import numpy as np
    import workbench as wb

    def features(x, y):
        return {(y, j): value for j, value in enumerate(x)}

    def loss(y, z):
        return float(y != z)

    def argmax(w, x, y=None):
        return max("abc", key=lambda z: w.score(features(x, z)) + (y is not None and y != z))

    def problem(n: int = 20, seed: int = 0):
        rng = np.random.default_rng(seed)
        X = [tuple(x) for x in np.round(rng.normal(size=(n, 3)), 2).tolist()]
        return wb.Structured(X, rng.choice(list("abc"), n).tolist(), features, loss, argmax)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(FILE))
    return path


def test_a_certificate_is_relative_to_the_argmax_of_a_file(file, tmp_path):
    build = wb.load_problem(file)
    solution = wb.solve(wb.SoftMargin(lam=0.05), build())
    path = solution.certificate.save(tmp_path / "c")
    alone, asked = wb.verify(path), wb.verify(path, problem=build())
    for proof in (alone, asked):
        assert not proof["proven"]
        assert not proof["refuted"]
        assert "mine.py (sha256 " in proof["conditional_on"][0]
        assert solution.lower - 1e-12 <= proof["lower"] <= proof["upper"] <= solution.upper + 1e-12
    assert len(alone["conditional_on"]) == 3
    assert "mine.py (sha256 " in alone["conditional_on"][1]
    assert asked["conditional_on"][0] == f"the argmax of mine.py (sha256 {build().digest[:16]}…) finds the maximum"
    _, outputs, arithmetic = asked["conditional_on"]
    assert re.fullmatch(r"\d+ recorded outputs that this argmax did not return again are valid outputs", outputs)
    assert "arithmetic" in arithmetic
    other = wb.verify(path, build(seed=1))
    assert other["reason"].startswith("the data given differ")
    held = load(path)[0]
    names = {held.problem.describe(i, z) for i, z in zip(held.samples, held.witnesses, strict=True) if z[0] >= 20}
    assert names <= {"'a'", "'b'", "'c'"}


def test_another_file_of_the_same_functions_is_another_oracle(file, tmp_path):
    path = wb.solve(wb.SoftMargin(lam=0.05), wb.load_problem(file)()).certificate.save(tmp_path / "c")
    file.write_text(file.read_text().replace("y != z)", "y != z) * 1.0"))
    assert not wb.verify(path, wb.load_problem(file)())["data_matches"]


def test_recorded_features_that_the_file_does_not_give_are_refused(file, tmp_path):
    path = wb.solve(wb.SoftMargin(lam=0.05), wb.load_problem(file)()).certificate.save(tmp_path / "c")
    with np.load(path.with_suffix(".npz")) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["data_recorded_losses"] = 2 * arrays["data_recorded_losses"]
    np.savez(path.with_suffix(".npz"), **arrays)
    assert wb.verify(path)["refuted"]
    with pytest.raises(wb.BadInput, match="are not those recorded; use the same file"):
        wb.verify(path, problem=wb.load_problem(file)())


def test_a_listed_problem_is_proven_without_its_functions(tmp_path):
    _, own = labels(10, np.random.default_rng(0))
    functions = own.functions
    listed = wb.Structured(own.xs, own.objects[:10], functions.features, functions.loss, candidates=lambda x: range(4))
    solution = wb.solve(wb.SoftMargin(lam=0.1), listed, polish=True)
    proof = wb.verify(solution.certificate.save(tmp_path / "c"))
    assert proof["proven"]
    assert proof["arithmetic"] == "rational"
    assert proof["optimum"] is not None
    assert proof["conditional_on"] == []


def test_a_run_goes_on_where_it_was_ended(file, tmp_path):
    build = wb.load_problem(file)
    whole = wb.solve(wb.SoftMargin(lam=0.01), build())
    part = wb.solve(wb.SoftMargin(lam=0.01), build(), max_rounds=3, journal=tmp_path / "run")
    assert part.status == "limit"
    with Journal.resume(tmp_path / "run") as journal:
        again = wb.solve(wb.SoftMargin(lam=0.01), build(), journal=journal)
    assert again.status == "optimal"
    assert again.rounds >= 3
    assert again.upper == pytest.approx(whole.upper, rel=1e-8)
    ends = [[(each["upper"], each["lower"], each["cuts"]) for each in run.history[:3]] for run in (part, again)]
    assert ends[0] == ends[1]


def test_learners_and_judges_take_own_problems(file):
    problem = wb.load_problem(file)()
    reference = wb.solve(wb.SoftMargin(lam=0.1), problem)
    assert wb.judge("dual-block", reference).verdict == "agrees"

    def fit(data, formulation, budget, rng):
        return wb.solve(wb.SoftMargin(lam=10 * formulation.lam), data).theta_flat

    accused = wb.judge(fit, reference)
    assert accused.verdict == "disagrees"
    assert accused.causes[0].name == "λ"


def test_unlisted_outputs_are_refused_where_a_list_is_needed(file):
    problem = wb.load_problem(file)()
    for formulation in (wb.HardMargin(), wb.CRF()):
        with pytest.raises(wb.MissingCapability, match="cannot be listed"):
            wb.solve(formulation, problem)


def test_counts_before_it_lists():
    listed = []

    def candidates(x):
        for each in itertools.product(range(10), repeat=9):
            listed.append(each)
            yield each

    def argmax(w, x, y=None):
        return tuple(9 * (w[0] > 0) if k or y is None else 9 * (w[0] + 1 > 0) for k in range(9))

    loss = lambda y, z: float(y[0] != z[0])  # noqa: E731
    problem = wb.Structured([0], [(0,) * 9], lambda x, y: [sum(y)], loss, argmax, candidates)
    assert len(listed) <= 50_001
    with pytest.raises(wb.MissingCapability, match="at most 50000 in all"):
        wb.solve(wb.CRF(), problem)


# ── sloppy, but right ─────────────────────────────────────────────────────────────────────────────


class Wrapped:
    """Equal to itself only, also inside a tuple."""

    def __init__(self, value):
        self.value = value


class Tensor:
    """What tensors of other libraries do: their hash is of identity, and no array before `detach`."""

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return id(self)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("call detach first")

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self.value)


def doubled(w):
    """What functions do with weights by name that they may not change."""
    for each in (w.copy(), copy.copy(w), copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        each["another"] = 1.0
        assert each["nobody"] == 0.0
        assert each.score({"another": 2.0}) == 2.0


SLOPPY = {
    "lists for tuples": (lambda y: [y], lambda z: z[0]),
    "objects in tuples": (lambda y: (Wrapped(y),), lambda z: z[0].value),
    "tensors": (Tensor, lambda z: int(z.value)),
    "numpy's numbers": (np.int64, int),
    "floats": (float, int),
}


@pytest.mark.parametrize("name", SLOPPY)
def test_outputs_of_another_kind_than_the_truth_are_neither_random_nor_lacking(name):
    """The argmax and the candidates return one kind of object, the truths are of another."""
    into, out = SLOPPY[name]
    built_in, own = labels(8, np.random.default_rng(0))
    functions = own.functions
    undo = lambda z: z if isinstance(z, int) else out(z)  # noqa: E731
    features, loss = (lambda x, z: functions.features(x, undo(z))), (lambda y, z: functions.loss(undo(y), undo(z)))
    argmax = lambda w, x, y=None: into(functions.argmax(w, x, None if y is None else undo(y)))  # noqa: E731
    best = wb.solve(wb.SoftMargin(lam=0.1), built_in).upper
    for candidates in (None, lambda x: map(into, range(4))):
        problem = wb.Structured(own.xs, own.objects[:8], features, loss, argmax, candidates)
        report = wb.check(problem, seconds=0.1)
        assert report.ok, str(report)
        assert wb.solve(wb.SoftMargin(lam=0.1), problem).upper == pytest.approx(best, rel=1e-8)


def test_tensors_are_features_and_losses():
    _, own = labels(8, np.random.default_rng(0))
    features, loss, argmax = own.functions.features, own.functions.loss, own.functions.argmax
    same = wb.Structured(
        own.xs, own.objects[:8], lambda x, y: Tensor(features(x, y)), lambda y, z: Tensor(loss(y, z)), argmax
    )
    one, two = (wb.solve(wb.SoftMargin(lam=0.1), each, gap=1e-9).upper for each in (own, same))
    assert one == two


def test_weights_by_name_are_read_only_and_their_copies_are_not():
    _, own = chains(6, np.random.default_rng(0))

    def careful(w, x, y=None):
        doubled(w)
        return own.functions.argmax(w, x, y)

    def careless(w, x, y=None):
        w |= {"another": 1.0}
        return own.functions.argmax(w, x, y)

    words = own.xs, own.objects[:6], own.functions.features, own.functions.loss
    assert wb.check(wb.Structured(*words, careful), seconds=0.1).ok
    assert "changes the weights" in str(wb.check(wb.Structured(*words, careless), seconds=0.1))


# ── faults ────────────────────────────────────────────────────────────────────────────────────────

GOOD = {"features": lambda x, y: [x * y], "loss": lambda y, z: float(y != z), "argmax": lambda w, x, y=None: 1}
BAD = {
    "features is 3, no function": {"features": 3},
    "neither argmax nor candidates": {"argmax": None},
    r"features stops at sample 0 for the output 1 with ZeroDivisionError.*\(line \d+ of test_structured.py\)": {
        "features": lambda x, y: 1 / 0
    },
    "features of sample 1 with 1 are no numbers": {"features": lambda x, y: ["a"] if x == 2 else [1.0]},
    "features of sample 0 with 1 are no numbers": {"features": lambda x, y: ["1.5"]},
    "are None": {"features": lambda x, y: None},
    "loss stops at sample 0 for the output 1 with SystemExit: 3": {"loss": lambda y, z: sys.exit(3)},
    "candidates of sample 1 lack its true output 1; add": {"candidates": lambda x: [1] if x == 1 else [0, 2]},
    "There are 2 features of sample 1 with 1 and 1 elsewhere": {"features": lambda x, y: [1.0] * x},
    "is inf; return finite numbers": {"features": lambda x, y: [np.inf]},
    "The loss at sample 0 of 1 is nan": {"loss": lambda y, z: np.nan},
    "The loss at sample 0 of 1 is None": {"loss": lambda y, z: None},
    "of its own true output is 1.0; it must be 0": {"loss": lambda y, z: 1.0},
    "2 inputs and 1 outputs": {"outputs": [1]},
    "There are 0 inputs": {"inputs": [], "outputs": []},
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_functions_and_data_are_one_sentence(sentence):
    with pytest.raises(wb.BadInput, match=sentence) as caught:
        wb.Structured(**({"inputs": [1, 2], "outputs": [1, 1]} | GOOD | BAD[sentence]))
    assert "\n" not in str(caught.value)
