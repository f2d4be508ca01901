"""Changes of the data, one by one, against problems that are built as changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from workbench.contracts import Change
from workbench.judging.reference import Reference
from workbench.judging.relations import RELATIONS, Changed, beyond, moved, related, taken

ORDER = np.array([2, 0, 3, 1, 0])


def same(one, other):
    ours, theirs = one.arrays(), other.arrays()
    assert ours.keys() == theirs.keys()
    for key, each in ours.items():
        np.testing.assert_array_equal(each, theirs[key], err_msg=key)


def chain(paired):
    rng, lengths = np.random.default_rng(1), (2, 3, 1, 4)
    inputs, labels = [rng.normal(size=(t, 2)) for t in lengths], [rng.integers(0, 3, t) for t in lengths]
    labels[3][:3] = 0, 1, 2
    return inputs, labels, [rng.normal(size=(t - 1, 2)) for t in lengths] if paired else None


@pytest.mark.parametrize("paired", [False, True])
def test_sequences_in_another_order_keep_the_features_of_their_gaps(paired):
    inputs, labels, pairs = chain(paired)
    found = taken(wb.Chain(inputs, labels, pairs=pairs), ORDER, 0.5)
    parts = [[each[i] for i in ORDER] for each in (inputs, labels)]
    wanted = wb.Chain(*parts, pairs=pairs and [pairs[i] for i in ORDER], weights=np.full(5, 0.5))
    same(found, wanted)


@pytest.mark.parametrize("clipped", [False, True])
def test_edges_in_another_order_keep_their_links_be_they_a_matching_or_not(clipped):
    rng = np.random.default_rng(2)
    edges = [rng.normal(size=(*shape, 3)) for shape in ((2, 2), (1, 3), (3, 2), (2, 1))]
    gold = [[(0, 0), (1, 1)], [(0, 2)], [(0, 1), (2, 0)], [(1, 0)]]
    if clipped:
        gold[0], gold[2] = [(0, 0), (0, 1)], [(0, 1), (1, 1), (2, 0)]
    found = taken(wb.Matching(edges, gold, clipped=clipped), ORDER)
    same(found, wb.Matching([edges[i] for i in ORDER], [gold[i] for i in ORDER], clipped=clipped))


def test_what_a_change_makes_of_the_data():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(6, 2)), np.arange(6) % 3
    data = wb.Multiclass(X, y, np.arange(9.0).reshape(3, 3) * (1 - np.eye(3)), rng.uniform(1, 2, 6))
    changed = {name: change(data) for name, change in RELATIONS.items()}
    assert {name: each.c for name, each in changed.items()} == {
        **dict.fromkeys(RELATIONS, 1.0),
        "duplicate": 2.0,
        "features": 2.0,
        "loss": 2.0,
    }
    same(changed["features"].problem, wb.Multiclass(2 * X, y, data.cost, data.weights))
    same(changed["loss"].problem, wb.Multiclass(X, y, 2 * data.cost, data.weights))
    to = np.array([2, 0, 1])
    np.testing.assert_array_equal(changed["rename"].problem.labels, to[y])
    np.testing.assert_array_equal(changed["rename"].problem.cost[np.ix_(to, to)], data.cost)
    assert (changed["permute"].problem.labels != y).any()
    assert Changed(data).c == 1.0


def test_renamed_labels_take_all_of_their_weights_with_them():
    inputs, labels, pairs = chain(True)
    data = wb.Chain(inputs, labels, pairs=pairs)
    changed = RELATIONS["rename"](data)
    w = np.random.default_rng(4).normal(size=data.n_features)
    turned = changed.moves["w"](w)
    for before, after in zip(
        data.predict(w, inputs, pairs=pairs), changed.problem.predict(turned, inputs, pairs=pairs), strict=True
    ):
        np.testing.assert_array_equal(np.array([2, 0, 1])[before], after)


def test_turned_features_of_fewer_samples_than_features():
    X = np.random.default_rng(5).normal(size=(2, 4))
    changed = RELATIONS["rotate"](wb.Linear(X, [1.0, -1.0]))
    w = np.arange(4.0)
    np.testing.assert_allclose(changed.problem.X.toarray() @ changed.moves["w"](w), X @ w, rtol=1e-12)


def test_both_ends_of_the_optimum_move_alike():
    data = wb.Multiclass(np.eye(3), np.arange(3))
    reference = Reference(wb.SoftMargin(0.5), data, np.arange(9.0), 3.0, 2.0, 0.25)
    found = moved(reference, RELATIONS["loss"](data), Change({"lam": -1.0}, 1.0, 1.0))
    assert (found.upper, found.lower, found.gap, found.formulation.lam) == (6.0, 4.0, 0.25, 0.25)
    np.testing.assert_array_equal(found.theta, 2 * np.arange(9.0))


def test_each_of_two_costs_may_be_what_was_not_there():
    edges, gold = [np.ones((2, 2, 1))], [[(0, 0)]]
    plain, one, other = (wb.Matching(edges, gold, *costs) for costs in ((1.0, 1.0), (2.0, 1.0), (1.0, 2.0)))
    for dear in (one, other):
        assert beyond(plain, dear).what == "losses other than 0/1"
        same(beyond(plain, dear).without, plain)
        assert beyond(dear, dear) is None


def test_other_layouts_are_checked_by_no_relation():
    class Own(wb.Multiclass):
        """A structure that may have arrays of its own."""

    known = Reference(wb.SoftMargin(), wb.Multiclass(np.eye(3), np.arange(3)), np.zeros(9), 1.0, 1.0, 0.0)
    assert next(related(known))[0] == "duplicate"
    assert not list(related(replace(known, problem=Own(np.eye(3), np.arange(3)))))
    assert not list(related(replace(known, formulation=object())))
