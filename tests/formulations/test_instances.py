"""A hundred of the random instances of `cutbench bench instances`, and what its generator promises."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Literal

import numpy as np
import pytest

import workbench as wb
from workbench.contracts import CutForm
from workbench.errors import NotSeparable, UnknownName
from workbench.proofs.bounds import Bounds
from workbench.proofs.exact import ExactBounds
from workbench.registries import compatibility, registry

bench = registry("benchmark").modules["instances"]


def test_a_hundred_instances_agree():
    record = bench.instances(n=100)
    assert record["failures"] == []
    assert record["tried"] == record["agreed"] >= 100
    fits = {(pair.output, pair.formulation) for pair in compatibility() if pair.why is None}
    by_cuts = {name for name, kind in registry("formulation").items() if isinstance(kind(), CutForm)}
    for row in record["rows"]:
        expected = (row["output"], row["formulation"]) in fits and row["formulation"] in by_cuts
        assert (row["tried"] > 0) == expected == (not row["because"])
        if expected:
            assert row["difference"] <= 1e-8
            assert row["gap"] <= 1e-8
    assert sum(row["degenerate"] for row in record["rows"]) >= 0.15 * record["tried"]
    assert any(0 < row["inseparable"] < row["tried"] for row in record["rows"])


def test_sizes_are_those_promised():
    sizes = {"n": set(), "d": set(), "k": set(), "lam": []}
    for seed in range(200):
        given = bench.instance("multiclass", "soft-margin", seed)
        sizes["n"].add(given.problem.n_samples)
        sizes["d"].add(given.problem.n_inputs)
        sizes["k"].add(len(given.problem.classes))
        sizes["lam"].append(given.form.lam)
    assert (min(sizes["n"]), max(sizes["n"])) == (2, 30)
    assert (min(sizes["d"]), max(sizes["d"])) == (2, 20)
    assert sizes["k"] == {2, 3, 4, 5, 6}
    assert 1e-4 <= min(sizes["lam"]) < 1e-3 < 10 < max(sizes["lam"]) <= 1e2
    assert abs(np.median(np.log10(sizes["lam"])) + 1) < 0.5


@pytest.mark.parametrize(
    ("flaw", "holds"),
    [
        ("duplicates", lambda X, y: len(np.unique(X, axis=0)) <= 3),
        ("ties", lambda X, y: (np.round(X) == X).all()),
        ("constant", lambda X, y: (X[:, 0] == 1).all()),
        ("zero", lambda X, y: not X[:, ::2].any() and X[:, 1::2].all()),
        ("dominated", lambda X, y: (y == 0).mean() > 0.6),
        (None, lambda X, y: len(np.unique(X)) == X.size),
    ],
)
def test_flaws_are_what_they_are_called(flaw, holds):
    rng = bench.Degenerate(7, flaw)
    problem = wb.Multiclass.random(rng, 30, 6, 4)
    assert holds(problem.X.toarray(), problem.labels)
    assert rng.flawed == (flaw is not None)


def test_an_instance_depends_on_its_seed_alone():
    one, two, other = (bench.instance("chain", "hard-margin", seed) for seed in (4, 4, 6))
    assert {k: v.tobytes() for k, v in one.problem.arrays().items()} == {
        k: v.tobytes() for k, v in two.problem.arrays().items()
    }
    assert one.form == two.form != other.form


@dataclass(frozen=True)
class Settings:
    """A setting of each type."""

    lam: float = 0.1
    kind: Literal["a", "b"] = "a"
    flag: bool = False
    count: int = 3


def test_settings_are_drawn_by_their_types():
    drawn = [bench.drawn(Settings, np.random.default_rng(seed)) for seed in range(20)]
    assert {frozenset(each) for each in drawn} == {frozenset({"lam", "kind", "flag"})}
    assert {each["kind"] for each in drawn} == {"a", "b"}
    assert {each["flag"] for each in drawn} == {True, False}


@pytest.mark.parametrize("route", ["enumeration", "exact_bounds"])
def test_a_route_that_is_off_is_found(route, monkeypatch):
    given = bench.instance("multiclass", "soft-margin", 1)
    assert bench.checked(given).fault == ""
    right = getattr(bench, route)

    def off(*arguments):
        answer = right(*arguments)
        if route == "enumeration":
            return answer._replace(value=answer.value * (1 + 3e-8))
        return answer[0], answer[1] * 2, answer[2] * 2

    monkeypatch.setattr(bench, route, off)
    assert bench.checked(given).fault
    monkeypatch.setattr(bench, "instance", lambda *names: given)
    record = bench.instances(n=1, pair="multiclass:soft-margin", seed=1)
    assert record["failed"] == 1
    assert "--set pair=multiclass:soft-margin --set seed=1" in record["failures"][0]["again"]


def test_a_crash_is_a_failure_with_its_seed(monkeypatch):
    def broken(given):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(bench, "checked", broken)
    record = bench.instances(n=2, pair="chain:soft-margin")
    assert [each["seed"] for each in record["failures"]] == [0, 1]
    assert "ZeroDivisionError" in record["failures"][0]["fault"]


def test_rays_are_proven_in_fractions():
    """Two equal samples of different labels contradict; a ray with a wrong cut, or on separable data, does not hold."""
    X = np.array([[0.1, 0.7], [0.1, 0.7], [0.3, -0.2]])
    problem = wb.Multiclass(X, [0, 1, 0])
    with pytest.raises(NotSeparable) as caught:
        wb.solve(wb.HardMargin(), problem)
    rules, error = ExactBounds(wb.HardMargin(), problem), caught.value
    ray = bench.exact_ray(rules, error)
    slopes, _ = Bounds(wb.HardMargin(), problem).oracle.rows(error.samples, error.outputs)
    assert all(alpha >= 0 for alpha in ray)
    assert np.abs(slopes[np.argsort(-error.weights)].T @ np.array(ray, float)).max() == 0
    moved = wb.Multiclass(X + np.array([[0, 0], [0, 1e-9], [0, 0]]), [0, 1, 0])
    assert bench.exact_ray(ExactBounds(wb.HardMargin(), moved), error) is None
    half = SimpleNamespace(samples=error.samples[:1], outputs=error.outputs[:1], weights=error.weights[:1])
    assert bench.exact_ray(rules, half) is None


def test_a_pair_must_be_written_as_one():
    with pytest.raises(wb.BadInput, match="OUTPUT:FORMULATION"):
        bench.instances(pair="chain")
    with pytest.raises(UnknownName, match="no output called 'chains'"):
        bench.instances(pair="chains:soft-margin")
