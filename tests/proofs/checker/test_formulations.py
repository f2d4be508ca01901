"""Formulations and kinds of proof of the trusted checker: what each refuses, in its words, and its parts by themselves
(plain functions).
"""

from __future__ import annotations

from contextlib import contextmanager
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
from chance.against import about, refusal, said
from chance.certificates import certificates

from workbench.proofs.checker import contracts
from workbench.proofs.checker.contracts import Formulation, Labelled, Proof, Registered, Structure
from workbench.proofs.checker.formulations import completed as completing
from workbench.proofs.checker.formulations._errors import FACTORINGS, INPUTS, Errors, labelled
from workbench.proofs.checker.formulations._rounding import rounded
from workbench.proofs.checker.formulations.costs import Costs
from workbench.proofs.checker.formulations.intercepts import Intercepts
from workbench.proofs.checker.kinds import cuts
from workbench.proofs.checker.kinds.cuts import Cuts, checked, read_fractions, upper_end
from workbench.proofs.checker.learning import structure_of
from workbench.proofs.checker.regularizers import CountedCosts, SignedNorm, Simplex, SquaredNorm, Stacked
from workbench.proofs.checker.whole import Whole, exact, objects

INFINITE = float("inf")
WIDE = {"lower": -INFINITE, "upper": INFINITE, "gap": INFINITE}


def case(name, **settings):
    """A certificate by chance, with other settings, that claims nothing."""
    found = next(each for each in certificates() if each.name == name).copy("changed")
    found.header |= WIDE
    found.header["formulation"]["settings"] |= settings
    return found


def with_arrays(name, **arrays):
    found = case(name)
    found.arrays |= {key: np.array(value) for key, value in arrays.items()}
    found.sign()
    return found


# ── contracts ─────────────────────────────────────────────────────────────────────────────────────


def test_a_kind_of_definitions_has_a_registry_of_its_own():
    class Kind(Registered):
        what = "thing"

    class Nameless(Kind):
        pass

    class Named(Nameless):
        name = "a"

    class Second(Kind):
        name, version = "a", 2

    assert Kind.known == {("a", 1): Named, ("a", 2): Second}
    assert Kind.find("a", 2) is Second
    assert ("a", 1) not in Structure.known


def test_what_a_definition_must_say_has_no_default():
    for kind, names in (
        (Structure, ("__init__", "words", "is_output", "loss", "least_loss", "margin", "outputs", "magnitudes")),
        (Labelled, ("labels_of", "augmented")),
        (Formulation, ("push", "highest", "least_offset")),
        (Costs, ("starting",)),
    ):
        for name in names:
            call = vars(kind)[name]
            assert missing(call, *[None] * call.__code__.co_argcount), name
    assert missing(Costs.costs.func, None)
    assert missing(Proof.prepare, {}, {})
    assert missing(Proof.ends, None, None)
    assert Proof.faults(None) == []
    assert Proof.attains({}, {"fractions": None})
    assert not Proof.attains({}, {})


def missing(call, *given):
    try:
        call(*given)
    except NotImplementedError:
        return True
    return False


def test_what_is_not_defined_for_a_structure_is_refused_in_words():
    for name, output, told, settings in (
        ("soft-margin of motif", None, "slack rescaling is not defined for motif", {"rescaling": "slack"}),
        ("crf of linear", "graph", "crf is not defined for graph", {}),
        ("self-paced of linear", "graph", "self-paced is not defined for graph", {}),
        ("hard-margin of linear", "graph", "hard-margin is not defined for graph", {}),
        ("weighted-risk of linear", "multiclass", "weighted-risk is not defined for multiclass", {}),
        ("weighted-risk of linear", "multiclass", "weighted-risk is not defined for multiclass", {"loss": "logistic"}),
        ("fixed-cost of multiclass", "linear", "costs are not defined for linear", {}),
        ("completed-ssvm of multiclass", None, "completed-ssvm has no states for multiclass", {"states": [0] * 4}),
    ):
        found = case(name, **settings)
        if settings.get("loss") == "logistic":
            found.header["proof"]["kind"] = "tangent"
        if output is not None:
            data = next(each for each in certificates() if each.name == f"soft-margin of {output}")
            found.header["problem"]["output"] = output
            found.arrays = {key: each for key, each in found.arrays.items() if not key.startswith("data_")}
            found.arrays |= {key: each for key, each in data.arrays.items() if key.startswith("data_")}
            found.sign()
        assert refusal(said, found) == told, name


def test_a_structure_of_ones_own_without_a_best_rival_is_refused_in_words():
    mine = SimpleNamespace(name="mine")
    assert refusal(Structure.rival, mine, None, None) == "the best output besides the true one is not defined for mine"


def test_the_limit_of_outputs_counts_their_entries():
    base = next(each for each in certificates() if each.name == "soft-margin of matching")
    structure = structure_of(Structure.find("matching", 1), base.arrays)
    every = np.arange(structure.n)
    sizes = [structure.outputs(i).size for i in every.tolist()]
    kept = contracts.MOST_LISTED
    try:
        for most, fits in ((sum(sizes), True), (sum(sizes) - 1, False)):
            contracts.MOST_LISTED = most
            told = "" if fits else f"its outputs have more than {most} entries, too many to list"
            assert refusal(structure.listed, every) == told
            owners, outputs = structure.listed(every[::-1][:1])
            assert owners.tolist() == [structure.n - 1] * len(outputs)
    finally:
        contracts.MOST_LISTED = kept


def test_the_unit_of_whole_counts_is_one():
    base = next(each for each in certificates() if each.name == "soft-margin of motif")
    structure = structure_of(Structure.find("motif", 1), base.arrays)
    assert structure.unit == 1
    assert structure.dense(np.array([0]), structure.outputs(0)[:1]).unit == 1


def test_weights_without_a_dimension_are_refused():
    for base in certificates():
        if base.name.startswith("soft-margin") and "," not in base.name:
            found = base.copy("weights")
            found.arrays["data_weights"] = np.array(1.0)
            found.sign()
            assert refusal(said, found), base.name


# ── settings and samples ──────────────────────────────────────────────────────────────────────────


def test_settings_that_do_not_fit_the_data():
    n = len(case("completed-ssvm of motif").arrays["data_weights"])
    for name, settings, told in (
        ("completed-ssvm of motif", {"states": [0] * (n + 1)}, f"there are {n + 1} states for {n} samples"),
        ("completed-ssvm of motif", {"states": [10**9] * n}, "a state lies outside its span"),
        ("completed-ssvm of motif", {"kept": [1] * (n + 1)}, f"kept has {n + 1} entries for {n} samples"),
        ("completed-ssvm of motif", {"kept": [0] * n}, "kept leaves no sample with weight"),
        ("fixed-cost of multiclass", {"v": [1.0]}, "there are not 6 costs, one for each error class"),
        ("fixed-cost of multiclass", {"parts": 1}, "part 0 of 1 does not exist"),
        ("fixed-cost of multiclass", {"parts": 2, "left_out": 2}, "part 2 of 2 does not exist"),
        ("fixed-cost of multiclass", {"left_out": 1}, "part 1 of 0 does not exist"),
        ("normalized-cost-learning of multiclass", {"baseline": [1.0] * 2}, "there are 2 counts for 1 error classes"),
        ("fixed-cost of multiclass", {"v": [-0.5]}, "v is [-0.5], which fixed-cost does not take"),
        ("fixed-cost of multiclass", {"v": [1.1e300]}, "v is [1.1e+300], which fixed-cost does not take"),
        ("fixed-cost of multiclass", {"lam1": -0.5}, "lam1 is -0.5, which fixed-cost does not take"),
        ("fixed-cost of multiclass", {"lam1": 1.1e100}, "lam1 is 1.1e+100, which fixed-cost does not take"),
        ("fixed-cost of multiclass", {"parts": -1}, "parts is -1, which fixed-cost does not take"),
        ("fixed-cost of multiclass", {"left_out": -1}, "left_out is -1, which fixed-cost does not take"),
        (
            "normalized-cost-learning of multiclass",
            {"baseline": [-0.5]},
            "baseline is [-0.5], which normalized-cost-learning does not take",
        ),
        (
            "normalized-cost-learning of multiclass",
            {"baseline": [1.1e300]},
            "baseline is [1.1e+300], which normalized-cost-learning does not take",
        ),
        ("completed-ssvm of motif", {"kept": [2]}, "kept is [2], which completed-ssvm does not take"),
        ("completed-ssvm of motif", {"states": [-2]}, "states is [-2], which completed-ssvm does not take"),
        ("normalized-cost-learning of multiclass", {"baseline": None}, "counts and baseline do not fit together"),
        ("normalized-cost-learning of multiclass", {"counts": "none"}, "counts and baseline do not fit together"),
    ):
        found = case(name, **settings)
        if settings.get("v") == [1.0]:
            found.header["formulation"]["settings"]["factoring"] = "ordered"
        assert refusal(said, found) == told, (name, settings)
    motif = case("completed-ssvm of motif")
    motif.arrays["data_labels"][-1], motif.arrays["data_positions"][-1] = 0, -1
    motif.sign()
    motif.header["formulation"]["settings"]["states"] = motif.arrays["data_positions"].tolist()
    assert "does not take" not in refusal(said, motif)
    halves = case("fixed-cost of multiclass", parts=2, left_out=1)
    halves.arrays["weights"] *= 0
    assert said(halves).statement


def test_settings_that_the_first_format_left_out():
    """The defaults of docs/certificate-format.md §9, which format 1 left to the reader."""
    costs = {"lam2": 0.1, "lam1": 0.0, "K": 1.0, "factoring": "unordered"}
    expected = {
        "soft-margin": {"lam": 0.1, "rescaling": "margin", "declare": "cuts"},
        "hard-margin": {"lam": 1.0},
        "perceptron": {"lam": 1.0},
        "crf": {"lam": 0.1},
        "weighted-risk": {"lam": 0.1, "loss": "hinge"},
        "completed-ssvm": {"C": 10.0, "states": None, "kept": None},
        "self-paced": {"C": 10.0, "K": 1.0},
        "simplex-cost-learning": costs,
        "fixed-cost": costs | {"v": None, "parts": 0, "left_out": 0},
        "normalized-cost-learning": costs | {"counts": "expected", "baseline": None},
    }
    for name, settings in expected.items():
        kind = Formulation.find(name, 1)
        assert {key: setting.default for key, setting in kind.settings.items()} == settings, name
        assert kind.rounded_claims == (name in ("completed-ssvm", "self-paced") or "cost" in name), name
        assert kind.hard == (name in ("hard-margin", "perceptron")), name


def test_samples_that_weigh_nothing_any_more():
    found = case("completed-ssvm of multiclass", C=10.0)
    found.arrays["data_weights"] = np.where(found.arrays["data_weights"] > 0, 5e-324, 0.0)[
        : len(found.arrays["data_weights"])
    ]
    found.arrays["data_weights"][1:] = 0.0
    found.arrays["data_weights"][0] = 5e-324
    found.arrays["weights"] = np.where(found.arrays["samples"] == 0, 1.0, 0.0)
    found.sign()
    assert refusal(said, found) == "the sum of its weights over C rounds to 0"
    found.header["formulation"]["settings"]["C"] = 1
    assert not refusal(said, found)
    found = case("fixed-cost of multiclass", parts=2, left_out=0)
    n = len(found.arrays["data_weights"])
    folds = np.random.default_rng(2).permutation(np.arange(n) % 2)
    found.arrays["data_weights"] = (folds == 0).astype(float)
    found.arrays["weights"] = found.arrays["weights"] * 0
    found.sign()
    assert refusal(said, found) == "no sample with weight is left"
    found = case("simplex-cost-learning of multiclass")
    found.arrays["data_labels"] = found.arrays["data_labels"] * 0
    found.sign()
    assert refusal(said, found) == "no error can be reached, so there is nothing to learn costs from"
    told = "a number that its formulation rounds is too great for a float64"
    assert refusal(rounded, Fraction(10) ** 400) == told
    assert rounded(Fraction(1, 3)) == Fraction(1 / 3)
    assert completing.Completed.rounded_claims


def test_formulas_say_which_program_it_is():
    for name, settings, words in (
        ("soft-margin of linear", {"rescaling": "margin"}, "max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩, p_i"),
        ("soft-margin of linear", {"rescaling": "slack"}, "max_y ℓ_i(y) (1 − ⟨w, ψ_i(y)⟩), p_i"),
        ("weighted-risk of linear", {}, "(1 − y_i ⟨w, x_i⟩)₊"),
    ):
        assert words in said(case(name, **settings)).statement.formula, settings
    for loss, words in (("squared", "½ (⟨w, x_i⟩ − y_i)²"), ("logistic", "log(1 + exp(−y_i ⟨w, x_i⟩))")):
        found = next(each for each in certificates() if each.header["formulation"]["settings"].get("loss") == loss)
        assert words in said(found).statement.formula


# ── error classes ─────────────────────────────────────────────────────────────────────────────────


class Labels:
    """As much of a structure as `Errors` looks at."""

    def __init__(self, k, X=None, p=0):
        self.k, self.X, self.p = k, X, p


def test_every_factoring_numbers_its_classes():
    for k in (2, 3, 4, 5, 6):
        pairs = [(a, b) for a in range(k) for b in range(k) if a != b]
        for factoring in FACTORINGS[: -len(INPUTS)]:
            errors = Errors(Labels(k), factoring)
            found = [int(errors.table[pair]) for pair in pairs]
            assert sorted(set(found)) == list(range(errors.m)), (factoring, k)
            named = {
                "ordered": lambda a, b: (a, b), "unordered": lambda a, b: frozenset((a, b)), "true": lambda a, b: a,
                "predicted": lambda a, b: b, "constant": lambda a, b: 0,
            }[factoring]  # fmt: skip
            assert len({named(*pair) for pair in pairs}) == errors.m
            assert len({(named(*pair), each) for pair, each in zip(pairs, found, strict=True)}) == errors.m
    errors = Errors(Labels(3), "ordered")
    assert [int(errors.table[pair]) for pair in ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))] == [0, 1, 2, 3, 4, 5]
    errors = Errors(Labels(4), "unordered")
    assert [int(errors.table[a, b]) for a in range(4) for b in range(a + 1, 4)] == [0, 1, 2, 3, 4, 5]


def test_the_class_of_an_input_is_its_greatest_column():
    from workbench.proofs.checker.whole import Rows

    rng = np.random.default_rng(0)
    for p in (1, 2, 3, 4):
        rows = 60
        kept = rng.random((rows, p)) < 0.6
        dense = np.where(kept, rng.choice([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.0], (rows, p)), 0.0)
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        X = Rows(dense[kept], np.nonzero(kept)[1], indptr, p)
        structure = Labels(2, X, p)
        structure.labels = np.zeros(rows, np.int64)
        errors = Errors(structure, "input")
        assert errors.m == p
        assert errors.group.tolist() == dense.argmax(axis=1).tolist(), p
        assert errors.at(np.array([3, 5])).tolist() == [[-1, int(errors.group[3])], [-1, int(errors.group[5])]]
        assert Errors(structure, "input-smallest").group.tolist() == dense.argmin(axis=1).tolist(), p
        both = Errors(structure, "input-true")
        assert both.m == 2 * p
        assert both.at(np.array([3]))[0, 1] == 2 * errors.group[3]  # the true label is 0
        counted, bits = Errors(structure, "input-count"), [0, 1, 2, 2, 3]
        assert counted.m == bits[p] + 1
        assert counted.group.tolist() == [bits[count] for count in (dense != 0).sum(axis=1)]
        assert not Errors(structure, "true").group.any()


def test_labelled_structures_are_those_that_label_places():
    base = next(each for each in certificates() if each.name == "soft-margin of multiclass")
    structure = structure_of(Structure.find("multiclass", 1), base.arrays)
    assert labelled(structure) is structure


# ── regularizers ──────────────────────────────────────────────────────────────────────────────────


def whole(*numbers):
    return exact(np.array(numbers, float))


def test_regularizers_and_their_conjugates():
    """r(θ) + r*(s) ≥ ⟨s, θ⟩, with equality where it is attained."""
    signed = SignedNorm(Fraction(3, 4), np.array([False, True, True]))
    assert signed.conjugate(whole(1, -2, 3)) == Fraction(10) / (2 * Fraction(3, 4))
    assert signed.feasible(whole(-1, -2, 3)).fractions() == [-1, 0, 3]
    assert SquaredNorm(Fraction(3, 4)).conjugate(whole(1, -2, 3)) == Fraction(14) / (2 * Fraction(3, 4))
    assert SquaredNorm(Fraction(3, 4)).argmax(whole(3)).fractions() == [4]
    counted = CountedCosts(Fraction(2), (Fraction(3), Fraction(0), Fraction(1, 2)))
    assert counted.live.tolist() == [True, False, True]
    assert counted.start(3).fractions() == [1, 0, 1]
    assert counted.feasible(whole(-1, 5, 2)).fractions() == [0, 0, 2]
    assert counted.value(whole(2, 7, 0)) == 3 + Fraction(1, 2)
    assert counted.conjugate(whole(6, 100, -5)) == 3 * (4 - 1) + Fraction(1, 2) * (0 - 1)
    simplex = Simplex(np.array([True, False, True]))
    assert simplex.conjugate(whole(1, 9, 2)) == 2
    assert simplex.start(3).fractions() == [Fraction(1, 2), 0, Fraction(1, 2)]
    assert simplex.feasible(whole(1, 9, 3)).fractions() == [Fraction(1, 4), 0, Fraction(3, 4)]
    assert simplex.feasible(whole(-1, 9, -3)).fractions() == simplex.start(3).fractions()
    both = Stacked((2, 1), (SquaredNorm(Fraction(2)), SquaredNorm(Fraction(4))))
    assert both.value(whole(1, 2, 3)) == 5 + 18
    assert both.conjugate(whole(2, 4, 4)) == 5 + 2
    assert both.start(3).fractions() == [0, 0, 0]


# ── cuts ──────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def limits(**given):
    kept = {name: getattr(cuts, name) for name in given}
    try:
        for name, value in given.items():
            setattr(cuts, name, value)
        yield
    finally:
        for name, value in kept.items():
            setattr(cuts, name, value)


def lines(text):
    return np.frombuffer(text, np.uint8)


def test_fractions_that_are_refused():
    assert read_fractions(lines(b"1/3\n-a/0b"), 2).fractions() == [Fraction(1, 3), Fraction(-10, 11)]
    assert len(read_fractions(lines(b""), 0)) == 0
    for text, count, told in (
        (b"1/3", 2, "there are 2 cuts but 1 fractions"), (b"\xff/3", 1, "fractions are no text"),
        (b"1/3\n1", 2, "fractions are not written as p/q"), (b"1\n1/3", 2, "fractions are not written as p/q"),
        (b"1/0", 1, "fractions are not written as p/q"),
    ):  # fmt: skip
        assert refusal(read_fractions, lines(text), count) == told
    for given, text, told in (
        ({"MOST_TEXT": 2}, b"1/3", "fractions are longer than 2 bytes"),
        ({"MOST_DIGITS": 1}, b"1/3\n10/3", "a fraction has more than 1 digits"),
        ({"MOST_DIGITS": 1}, b"10/3\n1/3", "a fraction has more than 1 digits"),
        ({"MOST_DIGITS": 1}, b"-1/3\n1/3", ""),
        ({"MOST_BITS": 2}, b"1/3", ""),
        ({"MOST_BITS": 1}, b"1/3", "the fractions' common denominator has over 1 bits"),
        ({"MOST_TOGETHER": 2}, b"1/3", ""),
        ({"MOST_TOGETHER": 4}, b"1/3\n1/3", ""),
        ({"MOST_TOGETHER": 3}, b"1/3\n1/3", "the fractions' common denominator has over 1 bits"),
    ):
        with limits(**given):
            assert refusal(read_fractions, lines(text), text.count(b"\n") + 1) == told, (given, text)
    found = case("simplex-cost-learning of multiclass")
    found.arrays["fractions"] = lines(b"\n".join([b"1/3"] * len(found.arrays["weights"])))
    assert refusal(said, found) == "fractions are for squared norms only"
    found = case("soft-margin of linear")
    found.arrays["more"] = np.zeros(1)
    assert refusal(said, found) == "it holds an array that it should not, more"


def exact_program():
    base = next(each for each in certificates() if each.name == "soft-margin of linear, fractions")
    return Cuts.prepare(base.header, base.arrays)[1]


def test_no_fraction_is_negative_by_any_amount():
    program, beta = exact_program()
    assert checked(program, beta) is beta
    at = next(k for k in range(len(beta)) if (program.samples == program.samples[k]).sum() > 1)
    other = next(k for k in range(len(beta)) if k != at and program.samples[k] == program.samples[at])
    values = beta.values.copy()
    values[at], values[other] = values[at] + values[other] + 1, -1
    assert refusal(checked, program, Whole(values, beta.unit)) == "a fraction is negative"
    values[at], values[other] = values[at] - 1, 0
    assert not refusal(checked, program, Whole(values, beta.unit))
    values[at] += 1
    told = f"the fractions of sample {program.samples[at]} do not add up to its price"
    assert refusal(checked, program, Whole(values, beta.unit)) == told


def test_weight_without_a_price_is_named():
    for base in certificates():
        idle = np.flatnonzero(base.arrays.get("data_weights", np.ones(1)) == 0)
        at = np.flatnonzero(np.isin(base.arrays["samples"], idle))
        if len(at) and base.name == "soft-margin of linear":
            found = base.copy("weight")
            found.arrays["weights"][at[0]] = 1.0
            told = f"cut {at[0]} has weight but its sample {base.arrays['samples'][at[0]]} has price 0"
            assert refusal(said, found) == told
            return
    raise AssertionError


def test_the_start_only_scales_the_gap():
    """F at r's minimiser; 0 where hard constraints are not met there."""
    for base in about(certificates()):
        hard = base.name.startswith(("hard", "perceptron"))
        if base.name in ("soft-margin of linear", "hard-margin of linear", "perceptron of linear, fractions"):
            found, linear = said(base, **WIDE).ends, base.name.startswith("soft")
            assert found.start == (1 if linear else 0), base.name  # every loss is 1
            assert hard != linear


def test_hard_constraints_are_met_after_scaling_or_not_at_all():
    """Labels that cost nothing admit no scaling: the weights must not prefer one to the truth at all."""
    found = with_arrays(
        "hard-margin of multiclass", data_labels=[0], data_classes=[0, 1, 2], data_n_inputs=1, data_data=[1.0],
        data_cost=[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]],
        data_indices=[0], data_indptr=[0, 1], data_weights=[1.0], samples=[0], weights=[0.0], witnesses=[[1]],
    )  # fmt: skip
    for theta, value in (
        ([1.0, 0.0, 1.0], 2), ([1.0, 0.0, 1.25], None), ([0.75, 0.0, 0.75], 2), ([0.75, 0.0, 0.875], None),
        ([1.0, 1.0, 1.0], None), ([1.0, 0.0, 0.0], 1), ([2.0, 0.0, 0.0], 4), ([0.5, 0.0, 0.5], 2),
    ):  # fmt: skip
        found.arrays["theta"] = np.array(theta)
        program = Cuts.prepare(found.header, found.arrays)[1][0]
        reached = upper_end(program, program.theta)
        assert reached == (INFINITE if value is None else value), theta
    found.arrays |= {"data_cost": np.zeros((3, 3)), "theta": np.ones(3)}
    program = Cuts.prepare(found.header, found.arrays)[1][0]
    assert upper_end(program, program.theta) == 3


def test_intercepts_are_of_labels():
    wanted = Intercepts.settings["intercept"]
    assert wanted.default is True
    assert [bool(wanted.test(value)) for value in (True, False, 1)] == [True, False, False]
    graph = next(each for each in certificates() if each.name == "soft-margin of graph")
    structure = structure_of(Structure.find("graph", 1), graph.arrays)
    assert refusal(Intercepts, structure, {"lam": 1.0}) == "intercepts are not defined for graph"


def test_shares_are_on_the_simplex_to_the_last_bit():
    for base in about(certificates()):
        if base.header["proof"]["kind"] != "cuts" or "fractions" in base.arrays:
            continue
        program = Cuts.prepare(base.header, base.arrays)[1][0]
        form = program.formulation
        if form.hard:
            continue
        beta, total = cuts.simplex(program), form.total
        for i in range(form.structure.n):
            own = [x for x, sample in zip(beta.fractions(), program.samples.tolist(), strict=True) if sample == i]
            assert sum(own) == Fraction(int(form.weights.values[i]), form.weights.unit) / total, base.name
            assert all(x >= 0 for x in own)
            given = program.weights[program.samples == i]
            near = [Fraction(x) / Fraction(given.sum()) * sum(own) for x in given.tolist()] if given.any() else own
            assert all(abs(x - y) <= Fraction(1, 1 << 50) for x, y in zip(own, near, strict=True))
    assert objects([1]).dtype == object
