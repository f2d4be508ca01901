"""The folder is the registry: names, settings, user files, and the pinned compatibility matrix."""

from __future__ import annotations

import itertools
import sys
import textwrap
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

from workbench.command.verbs.list import entry
from workbench.contracts import Problem
from workbench.data.loading import load_problem
from workbench.errors import BadInput, UnknownName, counted
from workbench.formulations.fixed_cost import FixedCostLearning
from workbench.registries import (
    KINDS,
    REQUIRED,
    Registry,
    Setting,
    build,
    compatibility,
    load_user_file,
    parse_settings,
    present,
    registry,
    settings_of,
)

# Which solvers refuse a formulation, with words from their refusals; first what several refuse alike.
IMPORTANCE = {"importance-aware": "minimise weighted-risk"}
MISTAKES = {"perceptron": "its own reference is the formulation perceptron", **IMPORTANCE}
SMOOTH_ONLY = {"crf-stochastic": "needs smooth terms"}
HARD = {
    **dict.fromkeys(("adagrad", "bcfw", "dual-block", "subgradient"), "needs finite prices"),
    **IMPORTANCE,
    **SMOOTH_ONLY,
}
OTHER_R = {  # r is not λ/2 ‖w‖²
    **dict.fromkeys(("bcfw", "dual-block", "subgradient"), "regularizer"),
    **MISTAKES,
    **SMOOTH_ONLY,
}
NO_CUTS = OTHER_R | {"adagrad": "needs cuts"}
REFUSALS = {
    "completed-ssvm": MISTAKES | SMOOTH_ONLY,
    "crf": {**dict.fromkeys(("adagrad", "bcfw", "dual-block"), "needs cuts"), **MISTAKES},
    "fixed-cost": OTHER_R,
    "hard-margin": HARD | MISTAKES,
    "kappa-difficulty": NO_CUTS,
    "latent-ssvm": NO_CUTS,
    "normalized-cost-learning": OTHER_R,
    "nuclear-dyadic": NO_CUTS,
    "perceptron": HARD,
    "self-paced": NO_CUTS,
    "self-paced-latent": NO_CUTS,
    "simplex-cost-learning": OTHER_R,
    "soft-margin": MISTAKES | SMOOTH_ONLY,
    "weighted-risk": {"perceptron": MISTAKES["perceptron"]} | SMOOTH_ONLY,
}
OF_LABELS = ("fixed-cost", "kappa-difficulty", "normalized-cost-learning", "simplex-cost-learning")
LATENT = ("latent-ssvm", "self-paced-latent")
HIDING = ("motif", "views")
COMPLETE = ("chain", "dyads", "flow", "graph", "matching", "multiclass", "multilabel", "structured", "tree")
UNLABELLED = ("flow", "graph", "linear", "matching", "motif", "multilabel", "structured", "tree", "views")
SIGNED = ("graph",)  # their r is λ/2 ‖w‖² on a cone
MISFITS = {  # outputs that do not fit a formulation at all, and why
    **dict.fromkeys(itertools.product(SIGNED, REFUSALS.keys() - {"soft-margin"}), "of any sign"),
    **dict.fromkeys(itertools.product(UNLABELLED, OF_LABELS), "counts errors in labels"),
    **dict.fromkeys(itertools.product((*COMPLETE, *HIDING), ["weighted-risk"]), "needs linear scores"),
    **dict.fromkeys(itertools.product({*COMPLETE, "linear", *HIDING} - {"dyads"}, ["nuclear-dyadic"]), "needs pairs"),
    **dict.fromkeys(itertools.product((*COMPLETE, "linear"), LATENT), "hides no variables"),
}


@pytest.fixture
def folder(tmp_path):
    """Writes files of a registry's folder and returns it."""

    def write(**files: str):
        for stem, text in files.items():
            (tmp_path / f"{stem}.py").write_text(textwrap.dedent(text))
        return tmp_path

    return write


def some_problem(n: int = 10, kind: Literal["a", "b"] = "a", seed: int | None = None, flip: bool = False):
    return n, kind, seed, flip


@dataclass(frozen=True)
class SomeFormulation:
    lam: float
    n_bins: int = 3
    table: np.ndarray | None = None


# ── folders ───────────────────────────────────────────────────────────────────────────────────────


def test_what_fits_what_is_pinned():
    pairs = {(pair.output, pair.formulation): pair for pair in compatibility()}
    assert {formulation for _, formulation in pairs} == REFUSALS.keys()
    assert {key for key, pair in pairs.items() if pair.why} == MISFITS.keys()
    for (output, formulation), pair in pairs.items():
        if pair.why:
            assert MISFITS[output, formulation] in pair.why
            continue
        refusals = {solver: why for solver, why in pair.solvers.items() if why}
        expected = REFUSALS[formulation] | (OTHER_R if output in SIGNED else {})
        assert refusals.keys() == expected.keys(), (output, formulation)
        assert all(expected[solver] in why for solver, why in refusals.items()), (output, formulation)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if present(kind)])
def test_every_registered_name_is_found_with_dashes_and_underscores(kind):
    for name, obj in registry(kind).items():
        assert registry(kind).get(name) is obj
        assert registry(kind).get(name.replace("-", "_")) is obj
        assert entry(kind, name, obj)["summary"], f"{name} has no docstring for `cutbench list`"


def test_no_setting_belongs_to_a_problem_and_a_formulation():
    for (_, problem), (_, formulation) in itertools.product(
        registry("problem").items(), registry("formulation").items()
    ):
        assert not settings_of(problem).keys() & settings_of(formulation).keys()


def test_an_unknown_name_offers_the_nearest():
    with pytest.raises(UnknownName, match="no problem called 'digit'; did you mean 'digits'"):
        registry("problem").get("digit")
    told = {
        "plain": "Nothing else.",
        "wrapped": "A LinearSVC of theirs.",
        "other": "LinearSVC again; linearsvcs.",
    }
    for name, hint in (
        ("LinearSVC", "did you mean 'other' or 'wrapped'?"),
        ("linearsvc", "did you mean 'other' or 'wrapped'?"),
        ("SVC", "known: other, plain, wrapped."),
        ("plian", "did you mean 'plain'?"),
        ("", "known: other, plain, wrapped."),
    ):
        assert str(UnknownName("learner", name, told, told)) == f"There is no learner called {name!r}; {hint}"
    with pytest.raises(UnknownName, match="known: "):
        registry("formulation").get("zzzzz")


def test_files_with_underscores_are_no_entries(folder):
    where = folder(one="NAMES = {'first-name': 1}", _helper="1 / 0")
    assert Registry("thing", where).names() == ["first-name"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a": "X = 1"}, r"a\.py registers nothing; end it with NAMES"),
        ({"a": "NAMES = {}"}, "registers nothing"),
        ({"a": "NAMES = {'x': 1}", "b": "NAMES = {'x': 2}"}, r"Both .*a\.py and .*b\.py register the thing 'x'"),
        ({"a": "NAMES = {'two_words': 1}"}, "joined by dashes"),
        ({"a": "x = 1\n1 / 0"}, r"a\.py stops in line 2 with ZeroDivisionError"),
        ({"a": "x = 1\ndef f(:"}, r"a\.py stops in line 2 with SyntaxError"),
    ],
)
def test_a_faulty_file_is_named(folder, files, message):
    with pytest.raises(BadInput, match=message):
        Registry("thing", folder(**files))


# ── settings ──────────────────────────────────────────────────────────────────────────────────────


def test_settings_are_read_from_signatures():
    assert settings_of(some_problem) == {
        "n": Setting("n", int, 10),
        "kind": Setting("kind", str, "a", ("a", "b")),
        "seed": Setting("seed", int, None, (), True),
        "flip": Setting("flip", bool, False),
    }
    assert settings_of(SomeFormulation) == {
        "lam": Setting("lam", float, REQUIRED),
        "n_bins": Setting("n_bins", int, 3),
    }


def test_settings_find_their_owner_and_their_type():
    texts = ["n=7", "kind=b", "seed=none", "flip=yes", "lam=1e-3", "n-bins=5"]
    for_problem, for_formulation = parse_settings(texts, some_problem, SomeFormulation)
    assert for_problem == {"n": 7, "kind": "b", "seed": None, "flip": True}
    assert for_formulation == {"lam": 1e-3, "n_bins": 5}
    assert build(some_problem, for_problem) == (7, "b", None, True)
    assert build(SomeFormulation, for_formulation) == SomeFormulation(1e-3, 5)


def test_a_list_has_no_empty_place():
    (costs,) = parse_settings(["v= [1, 0.5,2,]"], FixedCostLearning)
    assert costs == {"v": (1.0, 0.5, 2.0)}
    for text, place in (("v=1,,1", 2), ("v=,1", 1), ("v=1,,", 2), ("v=1, ,2,3", 2)):
        with pytest.raises(BadInput, match=rf"has an empty place {place}; write a number there"):
            parse_settings([text], FixedCostLearning)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("soft-margin", {"rescaling": "both"}),
        ("soft-margin", {"declare": None}),
        ("soft-margin", {"intercept": "yes"}),
        ("weighted-risk", {"loss": "cubic"}),
        ("nuclear-dyadic", {"loss": "logistic"}),
        ("kappa-difficulty", {"step_rule": "long"}),
        ("kappa-difficulty", {"difficulty": 3}),
        ("normalized-cost-learning", {"counts": "many"}),
        ("self-paced-latent", {"combine": "some"}),
    ],
)
def test_in_python_too_a_word_that_is_no_choice_is_one_sentence(kind, settings):
    ((name, value),) = settings.items()
    with pytest.raises(BadInput, match=rf"^{name} is {value!r}; (choose|give) .*\.$"):
        registry("formulation").get(kind)(**settings)


def test_numbers_are_counted_in_words():
    assert [counted(each, "round") for each in (0, 1, 2)] == ["0 rounds", "1 round", "2 rounds"]
    assert [counted(each, "entry") for each in (1, 3)] == ["1 entry", "3 entries"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["m=1"], "no setting called 'm'; .*known: flip, kind, lam, n, n_bins, seed"),
        (["lamb=1"], "did you mean 'lam'"),
        (["n=1.5"], "n=1.5 is not a whole number; its default is n=10"),
        (["seed=x"], "seed=x is not a whole number or none; give seed as int or none"),
        (["lam=nan"], "lam=nan is not a number"),
        (["flip=maybe"], "flip=maybe is not true or false"),
        (["kind=c"], r"kind=c is not one of a\|b"),
        (["n"], "not of the form key=value"),
        (["=1"], "not of the form key=value"),
        (["n=1", "n=2"], "given twice"),
    ],
)
def test_a_faulty_setting_is_one_sentence(texts, message):
    with pytest.raises(BadInput, match=message):
        parse_settings(texts, some_problem, SomeFormulation)


def test_a_setting_of_both_is_refused():
    with pytest.raises(BadInput, match="'n' belongs to problem and formulation alike"):
        parse_settings(["n=1"], some_problem, some_problem)


def test_a_missing_setting_is_named():
    with pytest.raises(BadInput, match="needs the setting 'lam'; add --set lam=VALUE"):
        build(SomeFormulation, {})


# ── problems ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("name", "n", "d", "k"), [("digits", 300, 64, 10), ("iris", 150, 4, 3), ("wine", 178, 13, 3)])
def test_bundled_problems_at_their_defaults(name, n, d, k):
    problem = build(load_problem(name), {})
    assert isinstance(problem, Problem)
    assert (problem.n_samples, problem.n_inputs, len(problem.classes)) == (n, d, k)


def test_digits_are_scaled_and_wine_is_standardised():
    digits, wine = build(load_problem("digits"), {"n": 1797}).X.toarray(), build(load_problem("wine"), {}).X.toarray()
    assert digits.min() == 0
    assert digits.max() == 1
    np.testing.assert_allclose(wine.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(wine.var(axis=0), 1)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("rng", range(4))
def test_toy_is_seeded_and_separable_on_demand(classes, rng):
    settings = {"classes": classes, "rng": rng, "separable": True}
    problem = build(load_problem("toy"), settings)
    points = problem.X.toarray()
    np.testing.assert_array_equal(points, build(load_problem("toy"), settings).X.toarray())
    np.testing.assert_array_equal(points[:, 2], 1)
    angles = 2 * np.pi * np.arange(classes) / classes + np.pi / 2
    centres = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(classes)])
    np.testing.assert_array_equal(problem.predict(centres.ravel(), points), problem.labels)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *(("digits", {"n": 0}), ("digits", {"n": 1798}), ("iris", {"n": 151}), ("iris", {"n": 50})),
        *(("toy", {"n": 2}), ("toy", {"classes": 1}), ("toy", {"rng": -1})),
    ],
)
def test_settings_out_of_range_are_refused(name, settings):
    with pytest.raises(BadInput):
        build(load_problem(name), settings)


# ── a user's files ────────────────────────────────────────────────────────────────────────────────

MINE = """
import workbench as wb

def problem(n: int = 4):
    return wb.Multiclass([[i, 1] for i in range(n)], [0, 1] * 2)

"""


def test_a_python_file_is_a_problem(folder):
    path = folder(mine=MINE) / "mine.py"
    source = load_problem(path)
    assert list(settings_of(source)) == ["n"]
    assert build(source, {}).n_samples == 4
    folder(mine=MINE + "NAMES = {'my-own': problem}")
    assert build(load_problem(str(path)), {"n": 4}).n_samples == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "defines neither NAMES nor 'problem'"),
        ("NAMES = {'a': int, 'b': int}", "registers 2 problems"),
        ("import nowhere", "stops in line 1 with ModuleNotFoundError"),
    ],
)
def test_a_faulty_problem_file_is_one_sentence(folder, text, message):
    with pytest.raises(BadInput, match=message):
        load_problem(folder(mine=text) / "mine.py")


def test_a_users_file_imports_those_beside_it(folder, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = folder(besides="NUMBER = 7", mine="from besides import NUMBER\ndef fit(*asked): return NUMBER") / "mine.py"
    assert load_user_file(path, "learner", "fit")["mine"]() == 7
    assert load_user_file(path, "learner", "fit")
    assert sys.path.count(str(path.parent.resolve())) == 1


def test_a_learner_file_brings_its_fit(folder):
    path = folder(mine="def fit(problem, formulation, budget, rng): return None") / "mine.py"
    assert list(load_user_file(path, "learner", "fit")) == ["mine"]
    table = path.with_name("rows.csv")
    table.write_text("a,b\n1,2\n")
    for kind, told in (
        ("learner", "name a .py file"),
        ("formulation", "the problem comes first, then the formulation"),
    ):
        with pytest.raises(BadInput, match=f"rows.csv is no Python file, so that it defines no {kind}; {told}."):
            load_user_file(table, kind, "fit")
    with pytest.raises(BadInput, match="There is no file"):
        load_user_file(path.with_name("other.py"), "learner", "fit")
