"""Random problems twice: as a built-in structure, and by three functions in plain Python."""

from __future__ import annotations

import itertools

import numpy as np

import workbench as wb


def labels(n, rng, k=4, p=5):
    """Data of `Multiclass`, and the same by three functions."""
    X, y = np.round(rng.normal(size=(n, p)), 3), np.append(np.arange(k), rng.integers(0, k, n - k))
    cost = rng.integers(1, 4, (k, k)) * (1.0 - np.eye(k))

    def argmax(w, x, z=None):
        return int((w.reshape(k, p) @ x + (0 if z is None else cost[z])).argmax())

    functions = (lambda x, z: np.kron(np.eye(k)[z], x)), (lambda z, other: cost[z, other]), argmax
    return wb.Multiclass(X, y, cost), wb.Structured(X, y.tolist(), *functions)


def chains(n, rng, k=3, p=3):
    X = [np.round(rng.normal(size=(rng.integers(1, 5), p)), 3) for _ in range(n)]
    Y = [tuple(rng.integers(0, k, len(x)).tolist()) for x in X]
    Y[0], Y[1] = (0,) * len(X[0]), (1,) * len(X[1])

    def features(x, y):
        out = {("pair", a, b): float(count) for (a, b), count in pairs(y).items()}
        return out | {(label, j): float(x[np.equal(y, label), j].sum()) for label in set(y) for j in range(p)}

    def pairs(y):
        found = list(itertools.pairwise(y))
        return {each: found.count(each) for each in found}

    def argmax(w, x, y=None):
        best = [(0.0, ())]
        for t, row in enumerate(x):
            unary = [sum(w[b, j] * row[j] for j in range(p)) + (y is not None and y[t] != b) for b in range(k)]
            best = [
                max((s + unary[b] + (w["pair", path[-1], b] if path else 0.0), (*path, b)) for s, path in best)
                for b in range(k)
            ]
        return max(best)[1]

    loss = lambda y, z: sum(a != b for a, b in zip(y, z, strict=True))  # noqa: E731
    return wb.Chain(X, Y, "hamming", classes=range(k)), wb.Structured(X, Y, features, loss, argmax)


def matchings(n, rng, d=3):
    from scipy.optimize import linear_sum_assignment  # a quarter of a second, which most runs do without

    kind = wb.registry("output").get("matching")
    problem = next(each for each in (kind.random(rng, n, d, 3) for _ in range(99)) if "annotated" not in each.arrays())
    sizes = list(zip(problem.heights.tolist(), problem.widths.tolist(), strict=True))
    ends = np.cumsum([j * k for j, k in sizes])
    edges = [problem.edges[e - j * k : e].toarray().reshape(j, k, d) for e, (j, k) in zip(ends, sizes, strict=True)]
    truth = [tuple(row[:j].tolist()) for row, (j, _) in zip(problem.truth, sizes, strict=True)]
    plus, minus = problem.false_positive, problem.false_negative

    def features(x, y):
        return sum((x[j, k] for j, k in enumerate(y) if k >= 0), np.zeros(d))

    def loss(y, z):
        one, two = ({(j, k) for j, k in enumerate(each) if k >= 0} for each in (y, z))
        return plus * len(two - one) + minus * len(one - two)

    def argmax(w, x, y=None):
        gain = x @ w
        if y is not None:
            gain = gain + plus
            for j, k in enumerate(y):
                if k >= 0:
                    gain[j, k] -= plus + minus
        rows, columns = linear_sum_assignment(np.maximum(gain, 0), maximize=True)
        answer = np.full(len(x), -1)
        answer[rows] = np.where(gain[rows, columns] > 0, columns, -1)
        return tuple(answer.tolist())

    return problem, wb.Structured(edges, truth, features, loss, argmax, weights=problem.weights)


PAIRS = {"labels": labels, "chains": chains, "matchings": matchings}
