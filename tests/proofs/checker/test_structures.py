"""The trusted checker's output structures against those of the second checker, output by output (plain functions)."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
from chance.against import about
from chance.certificates import certificates
from second_checker.formulations import program
from second_checker.structures import dot

from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.faults import Malformed
from workbench.proofs.checker.learning import structure_of
from workbench.proofs.checker.whole import Whole, objects

PLAIN = {"lam": 1.0, "rescaling": "margin", "declare": "cuts"}


@cache
def listed():
    """A case of each structure, with the second checker's reading of it."""
    found: dict = {}
    for case in certificates():
        name = case.header["formulation"]["name"]
        if name == "soft-margin" and "hint_shares" not in case.arrays:
            found.setdefault((case.name.partition(",")[0], case.header["formulation"]["settings"]["rescaling"]), case)
    return [
        (case, program("soft-margin", PLAIN, case.arrays, case.header["problem"]["output"]).data)
        for case in found.values()
    ]


def cases():
    for case, data in listed():
        if case in about([case]):
            yield case, data, structure_of(Structure.find(case.header["problem"]["output"], 1), case.arrays)


def test_outputs_losses_and_features():
    for case, data, structure in cases():
        w = [Fraction((7 * j) % 11 - 5, 4) for j in range(data.dim)]
        weights = Whole(objects(int(4 * x) for x in w), 4)
        assert (structure.n, structure.dim, structure.width) == (data.n, data.dim, data.width), case.name
        assert structure.truth.tolist() == [list(data.truth(i)) for i in range(data.n)], case.name
        for i in range(data.n):
            outputs = [list(z) for z in data.listed(i)]
            assert structure.outputs(i).tolist() == outputs, case.name
            samples, rows = np.full(len(outputs), i), np.array(outputs).reshape(len(outputs), data.width)
            assert structure.is_output(samples, rows).all(), case.name
            assert structure.loss(samples, rows).fractions() == [data.loss(i, tuple(z)) for z in outputs], case.name
            deltas = [data.delta(i, tuple(z)) for z in outputs]
            assert structure.gains(weights, samples, rows).fractions() == [dot(w, each) for each in deltas], case.name
            dense = structure.dense(samples, rows)
            for row, delta in zip(dense.values, deltas, strict=True):
                assert [Fraction(int(x), dense.unit) for x in row] == [delta.get(j, 0) for j in range(data.dim)], (
                    case.name
                )
            masses = Whole(objects(range(1, len(outputs) + 1)), 3)
            total = [sum(Fraction(k, 3) * d.get(j, 0) for k, d in enumerate(deltas, 1)) for j in range(data.dim)]
            assert structure.combined(samples, rows, masses).fractions() == total, case.name


def test_features_of_nodes_and_edges_of_other_units():
    base = next(case for case in certificates() if case.name == "soft-margin of tree")
    arrays = base.arrays | {"data_pairs": base.arrays["data_pairs"] / 1024}
    structure = structure_of(Structure.find("tree", 1), arrays)
    data = program("soft-margin", PLAIN, arrays, "tree").data
    assert structure.unit > structure.X.unit
    for i in range(data.n):
        outputs = structure.outputs(i)
        dense = structure.dense(np.full(len(outputs), i), outputs)
        for row, z in zip(dense.values, outputs.tolist(), strict=True):
            delta = data.delta(i, tuple(z))
            assert [Fraction(int(x), dense.unit) for x in row] == [delta.get(j, 0) for j in range(data.dim)]


def test_what_is_no_output():
    rng = np.random.default_rng(0)
    for case, data, structure in cases():
        for i in range(data.n):
            outputs = [tuple(z) for z in data.listed(i)]
            rows = {tuple(each) for each in rng.integers(-2, 5, (40, data.width)).tolist()}
            for z in outputs[:4]:
                for at in range(data.width):
                    rows |= {(*z[:at], z[at] + step, *z[at + 1 :]) for step in (-2, -1, 1, 2, 3, 1 << 40)}
            rows |= set(outputs)
            told = structure.is_output(np.full(len(rows), i), np.array(sorted(rows)).reshape(-1, data.width))
            assert told.tolist() == [z in set(outputs) for z in sorted(rows)], case.name


def test_maxima_and_least_losses():
    rng = np.random.default_rng(1)
    for case, data, structure in cases():
        every = np.arange(data.n)
        for i in range(data.n):
            assert structure.least_loss(every[i : i + 1]) == data.least_loss(i), case.name
        losses = [each for i in range(data.n) if (each := data.least_loss(i)) is not None]
        assert structure.least_loss(every) == min(losses, default=None), case.name
        for trial in range(4):
            w = [Fraction(int(x), 2) * min(trial, 1) for x in rng.integers(-3, 4, data.dim)]
            if structure.signed is not None:
                w = [abs(x) if signed else x for x, signed in zip(w, structure.signed, strict=True)]
            weights = Whole(objects(int(2 * x) for x in w), 2)
            for samples in (every, every[::-1], every[1:2]):
                heights = [data.height(i, w, "margin") for i in samples.tolist()]
                assert structure.margin(weights, samples).fractions() == heights, case.name
                check_others(case, data, structure, samples, w, weights)


def check_others(case, data, structure, samples, w, weights):
    """slack and the runner-up, where they are defined."""
    deltas = [
        [(dot(w, data.delta(i, z)), data.loss(i, z), z != data.truth(i)) for z in data.listed(i)]
        for i in samples.tolist()
    ]
    try:
        found = structure.slack(weights, samples).fractions()
        assert found == [max(loss * (1 + gain) for gain, loss, _ in each) for each in deltas], case.name
    except Malformed:
        assert case.header["formulation"]["settings"]["rescaling"] == "margin", case.name
    rivals = [[gain for gain, _, other in each if other] for each in deltas]
    if "hint_shares" in case.arrays or not all(rivals):
        return
    assert structure.rival(weights, samples).fractions() == [max(each) for each in rivals], case.name


def test_bounds_on_the_sizes_of_features():
    for case, data, structure in cases():
        try:
            sizes = structure.magnitudes()
        except NotImplementedError:  # no formulation asks for it
            continue
        for i in range(data.n):
            size, near = Fraction(int(sizes[i]), structure.unit), structure.name in ("multiclass", "chain")
            for z in data.listed(i):
                assert 2 * size >= sum(map(abs, data.delta(i, z).values())), case.name
                assert not near or size >= sum(map(abs, data.features(i, z).values())), case.name


def test_the_sizes_of_a_trees_features_are_sums():
    case = next(case for case in certificates() if case.name == "soft-margin of tree").copy("fractions of 64")
    case.arrays["data_data"], case.arrays["data_pairs"] = case.arrays["data_data"] / 8, case.arrays["data_pairs"] / 64
    for edges in (True, False):
        if not edges:
            none = {
                "edges": np.zeros((0, 2), np.int64),
                "pairs": np.zeros((0, 1)),
                "ends": case.arrays["data_ends"] * 0,
            }
            case.arrays |= {f"data_{key}": each for key, each in none.items()}
        data = program("soft-margin", PLAIN, case.arrays, "tree").data
        structure = structure_of(Structure.find("tree", 1), case.arrays)
        for i, size in enumerate(structure.magnitudes()):
            rows = [abs(x) for row, *_ in data.places[i] for x in row.values()]
            pairs = abs(case.arrays["data_pairs"][structure.ends[i] : structure.ends[i + 1]]).ravel().tolist()
            assert Fraction(int(size), structure.unit) == sum(rows) + sum(map(Fraction, pairs)), i


def test_a_matrix_has_at_least_one_column():
    for case, _, structure in cases():
        name = next((name for name in ("data_n_inputs", "data_n_features") if name in case.arrays), None)
        if name is None:
            continue
        for columns in (0, 1):
            new = case.copy("few columns")
            new.arrays.pop("data_linear_names", None)
            new.arrays |= {"data_data": np.zeros(0), "data_indices": np.zeros(0, np.int64), name: np.array(columns)}
            new.arrays["data_indptr"] = np.zeros_like(new.arrays["data_indptr"])
            try:
                structure_of(type(structure), new.arrays)
                assert columns == 1, case.name
            except Malformed:
                assert columns == 0, case.name


def test_the_least_loss_where_few_labels_cost_anything():
    for case, _, structure in cases():
        if "data_cost" not in case.arrays:
            continue
        for cost in (np.zeros_like(case.arrays["data_cost"]), 1.0 - np.eye(structure.k)):
            new = case.copy("costs")
            new.arrays["data_cost"] = cost
            found = structure_of(type(structure), new.arrays)
            data = program("soft-margin", PLAIN, new.arrays, structure.name).data
            for i in range(data.n):
                assert found.least_loss(np.array([i])) == data.least_loss(i), case.name
