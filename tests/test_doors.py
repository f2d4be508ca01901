"""Every public door: arguments in another order, or of another kind, are one sentence that names the door."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import workbench as wb
from workbench.errors import BadInput, CutbenchError

PROBLEM = wb.Multiclass(np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 3)
SOFT = wb.SoftMargin(lam=0.5)


@pytest.fixture(scope="module")
def solution():
    return wb.solve(SOFT, PROBLEM)


SWAPPED = {
    "solve": lambda s: wb.solve(PROBLEM, SOFT),
    "path": lambda s: wb.path(PROBLEM, SOFT),
    "validated": lambda s: wb.validated(PROBLEM, SOFT, [1.0, 0.1]),
    "race": lambda s: wb.race(PROBLEM, SOFT, ["bcfw"]),
    "run": lambda s: wb.run(wb.BCFW(), PROBLEM, SOFT),
    "run with a formulation first": lambda s: wb.run(SOFT, wb.BCFW(), PROBLEM),
    "watch": lambda s: wb.watch(SOFT, PROBLEM),
    "judge": lambda s: wb.judge(s, wb.BCFW()),
    "judge without a solution": lambda s: wb.judge(SOFT, PROBLEM),
    "Bounds": lambda s: wb.Bounds(PROBLEM, SOFT),
}


@pytest.mark.parametrize("door", SWAPPED)
def test_arguments_in_another_order_name_the_door(door, solution):
    with pytest.raises(BadInput, match=rf"; write for example {door.split()[0]}\("):
        SWAPPED[door](solution)


OTHER = {  # doors that know their argument by its kind, and say of which kind it must be
    "crosscheck": (lambda s: wb.crosscheck(s, np.zeros(9)), "ndarray is nothing to compare with"),
    "crosscheck of no solution": (lambda s: wb.crosscheck(SOFT, PROBLEM), "Multiclass is nothing to compare with"),
    "explain": (lambda s: wb.explain(s), "A Solution is no certificate; give the `certificate`"),
    "verify": (lambda s: wb.verify(s), "A Solution is no certificate; give its path"),
    "prove": (lambda s: wb.prove(PROBLEM), r"A cp\.Problem is wanted, not Multiclass"),
    "infeasible": (lambda s: wb.infeasible(PROBLEM), r"A cp\.Problem is wanted, not Multiclass"),
    "Separation": (lambda s: wb.Separation(PROBLEM), "lam is <Multiclass"),
    "judge with a program": (lambda s: wb.judge(wb.BCFW(), cp.Problem(cp.Minimize(cp.Variable()))), "not a Problem"),
    "solve with a name": (
        lambda s: wb.solve("soft-margin", PROBLEM),
        r"give solve a formulation such as SoftMargin\(\)",
    ),
    "path of a solution": (
        lambda s: wb.path(s, PROBLEM),
        r"^Solution cannot be solved; give path a formulation such as SoftMargin\(\)\.",
    ),
    "race with a solution": (
        lambda s: wb.race(SOFT, PROBLEM, s),
        r"are a Solution; give a list .* \[\"bcfw\", \"solve",
    ),
    "race with nobody": (
        lambda s: wb.race(SOFT, PROBLEM, ["nope"]),
        "no method called 'nope'; known: .*bcfw, .*cvxpy, .*one-slack, .*solve",
    ),
    "race with a number": (lambda s: wb.race(SOFT, PROBLEM, [3]), "no method called '3'; known: "),
    "tables of a solution": (
        lambda s: wb.tables(s),
        r"not a Solution; give its path, or pandas\.DataFrame\(solution\.history\)",
    ),
    "tables of a number": (lambda s: wb.tables(3), r"not a int; give its path\."),
    "crosscheck of other blocks": (
        lambda s: wb.crosscheck({"v": np.zeros(9)}, s),
        "The weights are a dict of v; give one flat array, such as theta_flat, or a dict of exactly w",
    ),
    "crosscheck of a short block": (
        lambda s: wb.crosscheck({"w": np.zeros(4)}, s),
        "The block w of the weights has 4 entries; give 9",
    ),
}


@pytest.mark.parametrize("door", OTHER)
def test_arguments_of_another_kind_say_what_is_wanted(door, solution):
    call, told = OTHER[door]
    with pytest.raises(CutbenchError, match=told):
        call(solution)


CALLS = {
    "solve": (lambda s: wb.solve(SOFT, PROBLEM, observe=3), "observe is 3; give a function of one argument"),
    "path": (lambda s: wb.path(SOFT, PROBLEM, observe=3), "observe is 3; give a function of one argument"),
    "run": (lambda s: wb.run(wb.BCFW(), SOFT, PROBLEM, observe=3), "observe is 3; give a function"),
    "watch": (lambda s: wb.watch(PROBLEM, SOFT, live=3), "live is 3; give a function"),
    "judge": (lambda s: wb.judge(wb.BCFW(), s, watch=3), "watch is 3; give a function"),
    "run at 3": (lambda s: wb.run(wb.BCFW(), SOFT, PROBLEM, checkpoints=3), "checkpoints is 3; give a list of whole"),
    "run at a": (lambda s: wb.run(wb.BCFW(), SOFT, PROBLEM, checkpoints=["a"]), r"checkpoints is \['a'\]; give a list"),
    "run at NaN": (lambda s: wb.run(wb.BCFW(), SOFT, PROBLEM, checkpoints=[np.nan]), r"checkpoints is \[nan\]"),
    "run at a half": (lambda s: wb.run(wb.BCFW(), SOFT, PROBLEM, checkpoints=[1.5]), r"checkpoints is \[1\.5\]"),
    "run nowhere": (lambda s: wb.run(wb.BCFW(), SOFT, PROBLEM, checkpoints=[]), r"checkpoints is \[\]; give a list"),
    "source": (lambda s: wb.solve(SOFT, PROBLEM, source="abc"), "source is 'abc'; give a dict such as source="),
    "source by numbers": (lambda s: wb.solve(SOFT, PROBLEM, source={1: 2}), r"source is \{1: 2\}; give a dict"),
    "race for nothing": (lambda s: wb.race(SOFT, PROBLEM, ["bcfw"], gap=0), "gap is 0; it must be positive"),
}


@pytest.mark.parametrize("door", CALLS)
def test_settings_of_another_kind_are_refused(door, solution):
    call, told = CALLS[door]
    with pytest.raises(BadInput, match=told):
        call(solution)


def test_whole_floats_are_checkpoints():
    assert wb.run(wb.BCFW(), SOFT, PROBLEM, passes=4, checkpoints=np.array([2.0, 4.0])).passes.tolist() == [2, 4]


# ── θ as the dict of its blocks ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("intercept", [False, True])
def test_weights_may_be_a_dict_of_the_blocks_of_a_solution(intercept):
    found = wb.solve(wb.SoftMargin(lam=0.5, intercept=intercept), PROBLEM)
    theta = dict(reversed(found.theta.items()))
    assert wb.crosscheck(theta, found).verdict == "agrees"
    assert wb.crosscheck([(1, theta), (2, theta)], found).verdict == "agrees"
    answers = (
        lambda budget: theta,
        lambda budget: (theta, {"objective": found.upper}),
        lambda budget: {"weights": theta, "passes": budget},
        lambda budget: [(k + 1, theta) for k in range(budget)],
        lambda budget: (theta for _ in range(budget)),
    )
    for answer in answers:
        judged = wb.judge(lambda p, f, budget, rng, a=answer: a(budget), found, passes=3, audit=False)
        assert judged.verdict == "agrees"


def test_a_fit_that_returns_other_blocks_is_told_which_there_are(solution):
    judged = wb.judge(lambda p, f, budget, rng: {"v": 1.0}, solution, audit=False)
    assert judged.verdict == "failed"
    assert "has no weights, only v; add them, as one flat array or as a dict of w" in judged.reason


# ── watch with a reference ────────────────────────────────────────────────────────────────────────


def test_a_reference_of_the_same_pair_is_taken(solution):
    copied = wb.Multiclass.from_arrays(PROBLEM.arrays())
    for problem, form in ((PROBLEM, SOFT), (copied, wb.SoftMargin(lam=np.float64(0.5), declare="compact"))):
        assert wb.watch(problem, form, reference=solution).reference is solution


@pytest.mark.parametrize(
    ("problem", "form", "told"),
    [
        (
            PROBLEM,
            wb.SoftMargin(lam=0.1),
            r"The reference minimises SoftMargin\(lam=0\.5.*the loop SoftMargin\(lam=0\.1",
        ),
        (PROBLEM, wb.CRF(lam=0.5), r"The reference minimises SoftMargin.*the loop CRF"),
        (wb.Multiclass(PROBLEM.X.toarray() + 1, PROBLEM.labels), SOFT, "The reference is of other data"),
        (wb.Multiclass(PROBLEM.X, PROBLEM.labels, weights=np.arange(12)), SOFT, "The reference is of other data"),
        (
            wb.Chain([PROBLEM.X.toarray()], [PROBLEM.labels]),
            SOFT,
            "The reference is of <Multiclass.*the loop of <Chain",
        ),
    ],
    ids=["lam", "formulation", "data", "weights", "structure"],
)
def test_a_reference_of_another_pair_is_refused(problem, form, told, solution):
    with pytest.raises(BadInput, match=f"{told}.*; give what `solve` returned for this pair, or leave reference out"):
        wb.watch(problem, form, reference=solution)


def test_what_is_no_reference_is_refused():
    with pytest.raises(BadInput, match="A int is nothing to compare with"):
        wb.watch(PROBLEM, SOFT, reference=3)


# ── estimators in the place of a learner ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("built", [True, False], ids=["object", "class"])
def test_an_estimator_is_told_how_to_be_a_learner(built, solution):
    """A verdict that the learner crashed would not say what to do."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import LinearSVC

    for kind in (LinearSVC, SGDClassifier):
        told = rf"{kind.__name__} is an estimator, whose fit takes X and y.*; wrap it in a function fit\(problem"
        with pytest.raises(BadInput, match=told):
            wb.judge(kind() if built else kind, solution)


def test_an_estimator_with_a_kernel_is_told_that_it_learns_no_weights(solution):
    from sklearn.svm import SVC

    with pytest.raises(BadInput, match=r"with kernel='linear', since kernel='rbf' learns no weights\."):
        wb.judge(SVC(), solution)
    with pytest.raises(BadInput, match=r"such as c = SVC\(\)\.fit"):
        wb.judge(SVC(kernel="linear"), solution)


def test_the_weights_of_an_estimator_of_two_labels_are_what_the_sentence_says():
    from sklearn.svm import LinearSVC

    two = wb.Multiclass(PROBLEM.X, np.arange(12) % 2)
    reference = wb.solve(SOFT, two)
    with pytest.raises(BadInput, match=r"for two labels np\.concatenate\(\[-c\[0\] / 2, c\[0\] / 2\]\)"):
        wb.judge(LinearSVC(), reference)

    def fit(problem, formulation, budget, rng):
        C = 2 / (formulation.lam * problem.n_samples)
        svm = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6, random_state=0)
        c = svm.fit(problem.X, problem.labels).coef_
        return np.concatenate([-c[0] / 2, c[0] / 2])

    assert wb.judge(fit, reference, tolerance=1e-3, audit=False).verdict == "agrees"


def test_an_estimator_wrapped_as_told_is_judged(solution):
    from sklearn.svm import LinearSVC

    def fit(problem, formulation, budget, rng):
        settings = {"multi_class": "crammer_singer", "fit_intercept": False, "max_iter": 10**6}
        C = 1 / (formulation.lam * problem.n_samples)
        svm = LinearSVC(C=C, tol=1 / budget**2, random_state=rng, **settings)
        return svm.fit(problem.X, problem.labels).coef_.ravel()

    assert wb.judge(fit, solution, tolerance=1e-3).verdict == "agrees"
