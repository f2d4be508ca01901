"""Search trees of the trusted checker: refusals in their words, and more trees by chance against the second checker
(plain functions).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
from chance.against import about, check_ends, check_verdict, limited, refusal, said
from chance.certificates import WIDE, case_of, certificates

from workbench.proofs.checker.kinds import _boxes
from workbench.proofs.checker.kinds._nodes import AGAIN, Tree, covers
from workbench.proofs.checker.kinds._terms import grid_of, size_of
from workbench.proofs.checker.kinds.tree import SearchTree
from workbench.proofs.checker.whole import Whole, objects

INFINITE = float("inf")
PACED = {"C": 3.0, "K": 2.0}


def changed(**arrays):
    """A self-paced certificate, some of its arrays changed, that claims nothing."""
    found = next(case for case in certificates() if case.name == "self-paced of linear").copy("changed")
    found.header |= WIDE
    found.arrays |= {key: np.array(value) for key, value in arrays.items()}
    return found


def alone(owners, **arrays):
    """The same with a tree of one node, or as the arrays say."""
    tree = {"tree_parents": [0], "tree_branches": [-1], "tree_cutoffs": [INFINITE], "tree_cuts": owners}
    tree |= {"tree_data": [0.25], "tree_indices": [0], "tree_indptr": [0, 1]}
    return changed(**(tree | arrays))


def test_trees_that_are_refused():
    base = changed()
    cuts, priced = int(base.arrays["tree_cuts"]), int((base.arrays["data_weights"] > 0).sum())
    none, two = np.zeros(0, np.int64), {"tree_indptr": [0, 1, 1], "tree_cutoffs": [INFINITE] * 2}
    behind, ends = (
        "the tree's nodes do not stand behind their parents",
        "tree_indptr does not say where the tree's rows end",
    )
    assert said(alone(cuts)).proven
    for arrays, told in (
        ({"tree_parents": none}, behind),
        ({"tree_parents": [1]}, behind),
        ({"tree_parents": [-1]}, behind),
        ({"tree_parents": [0, 1], "tree_branches": [-1, 0]} | two, behind),
        ({"tree_parents": [0, 2], "tree_branches": [-1, 0]} | two, behind),
        ({"tree_parents": [0, -1], "tree_branches": [-1, 0]} | two, behind),
        ({"tree_branches": [0]}, "the tree's root has a branch"),
        ({"tree_branches": [-2]}, f"tree_branches holds a number that is not in -1 … {2 * priced - 1}"),
        ({"tree_branches": [2 * priced]}, f"tree_branches holds a number that is not in -1 … {2 * priced - 1}"),
        ({"tree_branches": [-1, -1]}, "tree_branches has the shape (2,), not (1,)"),
        ({"tree_cutoffs": [np.nan]}, "a cutoff of the tree is no number"),
        ({"tree_cutoffs": [0.0, 0.0]}, "tree_cutoffs has the shape (2,), not (1,)"),
        ({"tree_cuts": cuts + 1}, f"the tree is not about the {cuts} cuts of the data"),
        ({"tree_cuts": -1}, f"tree_cuts holds a number that is not in 0 … {1 << 40}"),
        ({"tree_data": [-0.25]}, "tree_data holds a number below 0"),
        ({"tree_indices": [-1]}, f"tree_indices holds a number that is not in 0 … {cuts - 1}"),
        ({"tree_indices": [cuts]}, f"tree_indices holds a number that is not in 0 … {cuts - 1}"),
        ({"tree_indptr": [1, 1]}, ends),
        ({"tree_indptr": [0, 0]}, ends),
        ({"tree_indptr": [0, 2]}, ends),
        ({"tree_parents": [0, 0], "tree_branches": [-1, 0], "tree_indptr": [0, 2, 1], "tree_cutoffs": [1.0] * 2}, ends),
        ({"more": none}, "it holds an array that it should not, more"),
    ):
        assert refusal(said, alone(cuts, **arrays)) == told, arrays
    for cutoff in (INFINITE, -INFINITE, 0.0, -1e300, 1e300):
        assert said(alone(cuts, tree_cutoffs=[cutoff])).proven
    assert said(alone(cuts, tree_indices=[cuts - 1])).proven
    pair = {"tree_parents": [0, 0, 0], "tree_indptr": [0, 1, 1, 1], "tree_cutoffs": [INFINITE] * 3}
    assert said(alone(cuts, tree_branches=[-1, 2 * priced - 2, 2 * priced - 1], **pair)).proven


def hidden(output):
    return next(case for case in certificates() if case.name == f"self-paced of {output} hidden 0").copy("hidden")


def test_what_a_branch_leaves_out_is_a_first_state():
    told, seen = "a branch leaves out a state that is not a sample's first", set()
    for output in ("views", "motif"):
        case = hidden(output)
        case.header |= WIDE
        terms = SearchTree.prepare(case.header, case.arrays)[1][2]
        assert terms.states > len(terms.firsts) - 1
        case.arrays |= {"tree_parents": np.zeros(2, np.int64), "tree_indptr": np.zeros(3, np.int64)}
        case.arrays |= {"tree_cutoffs": np.full(2, INFINITE), "tree_data": np.zeros(0)}
        case.arrays["tree_indices"] = np.zeros(0, np.int64)
        for branch in range(2 * terms.states):
            case.arrays["tree_branches"] = np.array([AGAIN, branch])
            inner = branch % 2 == 1 and branch // 2 not in terms.firsts[:-1]
            assert (refusal(said, case) == told) == inner, (output, branch)
            seen.add((branch % 2, inner))
    assert seen == {(0, False), (1, False), (1, True)}


def test_hidden_truths_have_words_rivals_and_heights_of_their_own():
    words = ", t the outputs of zero loss, z the others"
    known = SearchTree.prepare(changed().header, changed().arrays)[1][0].formulation
    assert words not in known.formula
    for output in ("views", "motif"):
        case = hidden(output)
        form = SearchTree.prepare(case.header, case.arrays)[1][0].formulation
        assert form.formula.endswith(words)
        for seed in range(4):
            theta = Whole(objects(np.random.default_rng(seed).integers(-3, 4, form.dim).tolist()), 2)
            for i, height in zip(form.samples, form.highest(theta, form.samples).fractions(), strict=True):
                outputs = form.structure.listed(np.array([i]))[1]
                own = np.full(len(outputs), i)
                losses = form.structure.loss(own, outputs).fractions()
                gains = form.structure.gains(theta, own, outputs).fractions()
                pairs = list(zip(losses, gains, strict=True))
                best = max(loss + gain for loss, gain in pairs if loss) - max(gain for loss, gain in pairs if not loss)
                assert height == max(best, 0)
        form.structure.loss = lambda own, outputs: Whole(objects([0] * len(own)))
        assert refusal(form.pairs) == f"sample {form.samples[0]} has no output of positive loss"


@cache
def trees():
    """Self-paced certificates of small data and many trees."""
    found = []
    for seed in range(24):
        rng = np.random.default_rng([7, seed])
        settings = {"C": float(rng.choice([0.5, 3.0, 20.0])), "K": float(rng.choice([0.1, 2.0]))}
        found.append(case_of(rng, "self-paced", ("linear", "multiclass", "structured")[seed % 3], settings))
    return tuple(found)


def test_trees_prove_what_the_second_checker_finds():
    for case in about(trees()):
        verdict = said(case)
        assert verdict.proven, case.name
        check_ends(case, verdict)
        with limited(_boxes, MOST_AT_ONCE=2):
            assert said(case).ends == verdict.ends


@cache
def weighted():
    """The same with other multipliers and cutoffs, so that nodes are cut off, or bounds become infinite."""
    found = []
    for number, case in enumerate(trees()[:12]):
        for factor, cutoff in (
            (0.0, None),
            (8.0, -INFINITE),
            (1.0, -INFINITE),
            (0.5, 0.25),
            (10.0, None),
            (20.0, -INFINITE),
        ):
            new = case.copy("")
            if factor >= 10:  # features so small that nodes prove something, and ends of boxes are what counts
                new.arrays["data_data"] = new.arrays["data_data"] / 32
                new.sign()
            new.name = f"{case.name} {number} times {factor} cut off at {cutoff}"
            new.arrays["tree_data"] = new.arrays["tree_data"] * factor
            if cutoff is not None:
                new.arrays["tree_cutoffs"] = np.full_like(new.arrays["tree_cutoffs"], cutoff)
            if number % 2:
                new.arrays["theta"] = new.arrays["theta"] / 64
            new.header |= WIDE
            new.verdict = new.judged()
            found.append(new)
    return tuple(found)


def test_multipliers_and_cutoffs_prove_what_the_second_checker_finds():
    for case in about(weighted()):
        check_verdict(case, lambda case=case: said(case))


def nodes(parents, branches):
    return Tree(
        np.array(parents), np.array(branches), np.zeros(len(parents)), np.zeros(1), np.zeros(0), Whole(objects([]))
    )


ALONE, SEVERAL = np.arange(4), np.array([0, 1, 3])  # samples of one state each; a second sample of two states


def test_a_node_is_covered_by_all_sides_of_a_sample_or_by_itself_again():
    for branches, covered in (
        ([-1, 0, 1], True), ([-1, 0, 0], False), ([-1, 0, 2], False), ([-1, 1, 2], False), ([-1, 2, 3], True),
        ([-1, -1, 5], True), ([-1, 0, 3], False), ([-1, 3, 2], True),
    ):  # fmt: skip
        assert nodes([0, 0, 0], branches).covered(ALONE).tolist() == [covered, False, False], branches
    several = nodes([0, 0, 0, 1, 1], [-1, 0, 1, 4, 5])
    assert several.covered(ALONE).tolist() == [True, True, False, False, False]
    assert nodes([0], [-1]).covered(ALONE).tolist() == [False]
    assert [each.tolist() for each in nodes([0, 0, 1, 0, 2], [-1, 0, 1, 4, 5]).levels()] == [[0], [1, 3], [2], [4]]
    assert AGAIN == -1


def test_a_sample_of_two_states_is_covered_by_both_and_by_its_being_left_out():
    for branches, covered in (
        ({2, 3, 4}, True), ({2, 3}, False), ({3, 4}, False), ({2, 4}, False), ({2, 4, 5}, False), ({0, 1}, True),
        ({0, 3}, False), ({0, 2, 3, 4}, True), (set(), False),
    ):  # fmt: skip
        assert covers(branches, SEVERAL) is covered, branches


def test_the_size_of_a_number():
    for number, size in (
        (Fraction(0), 0),
        (Fraction(1), 0),
        (Fraction(1, 8), 3),
        (Fraction(9), -3),
        (Fraction(3, 5), 1),
    ):
        assert size_of(number) == size
        assert grid_of(number) == 2 ** (160 + size)
    assert grid_of(Fraction(1 << 200)) == grid_of(Fraction(1 << 160)) == 1
    assert grid_of(Fraction(1 << 159)) == 2
