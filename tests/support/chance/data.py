"""Small random data of every output structure, as the arrays of docs/certificate-format.md §3; NumPy only."""

from __future__ import annotations

from typing import Any

import numpy as np

NUMBERS = (-2.0, -1.5, -1.0, -0.75, -0.5, 0.25, 0.5, 1.0, 1.25, 2.0, 3.0, 0.1, -0.3, 7e-9)


def numbers(rng: Any, *shape: int) -> np.ndarray:
    """Numbers of few bits, so that ties are likely, and some of many."""
    return rng.choice(NUMBERS, shape)


def sparse(rng: Any, m: int, p: int) -> dict[str, np.ndarray]:
    """X of m rows and p columns."""
    kept = rng.random((m, p)) < 0.7
    kept[rng.integers(m), p - 1] = True
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    return {"data": numbers(rng, int(kept.sum())), "indices": np.nonzero(kept)[1].astype(np.int64), "indptr": indptr}


def weights(rng: Any, n: int) -> np.ndarray:
    """One is 0 where there are three or more."""
    found = rng.choice([1.0, 1.0, 2.0, 0.3], n)
    if n > 2:
        found[rng.integers(n)] = 0.0
    return found


def labelled(rng: Any, places: int, p: int, k: int, whole: bool = False) -> dict[str, np.ndarray]:
    cost = np.where(np.eye(k), 0.0, rng.choice([1.0, 2.0, 3.0] if whole else [1.0, 1.0, 0.5, 0.2, 0.0], (k, k)))
    found = {
        "labels": rng.permutation(np.arange(places) % k),
        "classes": np.arange(k) * 2,
        "cost": cost,
        "n_inputs": np.array(p),
    }
    return found | sparse(rng, places, p)


def ends(*sizes: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def multiclass(rng: Any, whole: bool = False) -> dict[str, np.ndarray]:
    n = int(rng.integers(3, 6))
    return labelled(rng, n, 3, 3, whole) | {"weights": weights(rng, n)}


def sequences(rng: Any, whole: bool, most: int, k: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    sizes = np.array([1, most, *rng.integers(1, most + 1, 1 + int(rng.integers(2)))])
    rng.shuffle(sizes)
    found = labelled(rng, int(sizes.sum()), 2, k, whole)
    found |= {"offsets": ends(*sizes), "weights": weights(rng, len(sizes))}
    return found | {"loss": np.array(rng.choice(["hamming-normalised", "hamming"]))}, sizes


def chain(rng: Any, whole: bool = False, paired: bool = False) -> dict[str, np.ndarray]:
    found, sizes = sequences(rng, whole, 3, int(rng.integers(2, 4)))
    return found | ({"pairs": numbers(rng, int(sizes.sum()) - len(sizes), 2)} if paired else {})


def linear(rng: Any, whole: bool = False) -> dict[str, np.ndarray]:
    n = int(rng.integers(3, 6))
    targets = rng.choice([1.0, -1.0, 0.0, 2.5, -0.25], n)
    return sparse(rng, n, 4) | {"n_features": np.array(4), "targets": targets, "weights": weights(rng, n)}


def matching(rng: Any, whole: bool = False, clipped: bool = False) -> dict[str, np.ndarray]:
    shapes = rng.integers(1, 4, (3, 2))
    width, truth = int(shapes[:, 0].max()), []
    for J, K in shapes:
        columns = np.concatenate([rng.permutation(K), [-1] * J])[:J]
        truth.append(np.concatenate([np.where(rng.random(J) < 0.7, columns, -1), [-1] * (width - J)]))
    found = sparse(rng, int(shapes.prod(axis=1).sum()), 2) | {"n_inputs": np.array(2), "shapes": shapes}
    found |= {"truth": np.array(truth, np.int64), "weights": weights(rng, 3)}
    found |= {"false_positive": np.array(1.0), "false_negative": np.array(float(rng.choice([1.5, 0.3])))}
    return found | (annotated(rng, shapes, found["truth"]) if clipped else {})


def annotated(rng: Any, shapes: np.ndarray, truth: np.ndarray) -> dict[str, np.ndarray]:
    """Links of samples of more than one edge, two of which share a row or a column; another `truth`."""
    links, truth = [], truth.copy()
    for i, (J, K) in enumerate(shapes.tolist()):
        own = {(0, 0), (0, K - 1)} if K > 1 else {(0, 0), (J - 1, 0)}
        if len(own) > 1:
            own |= {(j, k) for j in range(J) for k in range(K) if rng.random() < 0.3}
            links += [(i, *link) for link in sorted(own)]
            truth[i, :J] = -2
    return {"annotated": np.array(links, np.int64), "truth": truth}


def multilabel(rng: Any, whole: bool = False) -> dict[str, np.ndarray]:
    n, k, p = int(rng.integers(3, 6)), 3, 2
    found = sparse(rng, n, p) | {"n_inputs": np.array(p), "classes": np.arange(k) * 2}
    return found | {"truth": rng.integers(0, 2, (n, k)), "weights": weights(rng, n)}


def motif(rng: Any, whole: bool = False, hidden: bool = False, q: int = 4) -> dict[str, np.ndarray]:
    m, lengths = 2, rng.integers(3, 6, 4)
    first = rng.integers(0, lengths - m + 1)
    last = rng.integers(first, lengths - m + 1)
    labels = rng.integers(0, 2, 4)
    labels[0] = 1
    positions = np.where(labels, rng.integers(first, last + 1), -1)
    positions = np.where(hidden, -1, positions)
    found = {"letters": rng.integers(0, q, int(lengths.sum())).astype(np.uint8), "lengths": lengths}
    found |= {"alphabet": np.arange(q, dtype=np.uint8) * 3} if q != 4 else {}
    found |= {"labels": labels, "positions": positions, "spans": np.stack([first, last], axis=1)}
    return found | {"length": np.array(m), "weights": weights(rng, 4)}


def joined(rng: Any, sizes: np.ndarray, tree: bool) -> dict[str, np.ndarray]:
    """Edges: a forest, or pairs at random."""
    found, counts = [], []
    for size in sizes.tolist():
        order = rng.permutation(size)
        own = [(order[rng.integers(v)], order[v]) for v in range(1, size) if rng.random() < 0.8]
        if not tree and size > 1:
            own += [tuple(rng.permutation(size)[:2]) for _ in range(2)]
        found += own
        counts.append(len(own))
    edges = np.array(found, np.int64).reshape(-1, 2)
    pairs = numbers(rng, len(edges), 2)
    return {"edges": edges, "ends": ends(*counts), "pairs": pairs if tree else abs(pairs)}


def tree(rng: Any, whole: bool = False) -> dict[str, np.ndarray]:
    found, sizes = sequences(rng, whole, 4, 2)
    return found | joined(rng, sizes, True)


def graph(rng: Any, whole: bool = False, k: int = 2, oracle: str = "exact") -> dict[str, np.ndarray]:
    found, sizes = sequences(rng, whole, 4, k)
    return found | joined(rng, sizes, False) | {"oracle": np.array(oracle)}


def flow(rng: Any, whole: bool = False) -> dict[str, np.ndarray]:
    sizes, counts, heads, truth = np.array([4, 1, 3]), [], [], []
    rng.shuffle(sizes)
    for size in sizes.tolist():
        taken: set[int] = set()
        row = []
        for j in range(size):
            links = [k for k in range(j + 1, size) if rng.random() < 0.7]
            counts.append(len(links))
            heads += links
            free = [k for k in links if k not in taken]
            choice = int(rng.choice([-1, *([] if j in taken else [j]), *free, *free]))
            taken.add(choice)
            row.append(choice)
        truth.append(row)
    return flow_of(rng, sizes, counts, heads, truth)


def flow_of(rng: Any, sizes: Any, counts: Any, heads: Any, truth: Any) -> dict[str, np.ndarray]:
    width = int(max(sizes))
    found = {"blocks": np.array([1, 1, 2, 1]), "sizes": sizes, "counts": np.array(counts, np.int64)}
    found |= {"heads": np.array(heads, np.int64), "weights": weights(rng, len(sizes))}
    found |= {"truth": np.array([[*row, *[-1] * (width - len(row))] for row in truth], np.int64)}
    found |= {"false_positive": np.array(1.0), "false_negative": np.array(0.6)}
    return found | sparse(rng, 3 * len(counts) + len(heads), 5)


def structured(rng: Any, whole: bool = False) -> dict[str, np.ndarray]:
    n, more = 3, int(rng.integers(3, 7))
    owners = np.concatenate([np.arange(n), rng.integers(0, n, more)]).astype(np.int64)
    losses = np.concatenate([np.zeros(n), rng.choice([0.0, 1.0, 0.5, 0.3], more)])
    found = sparse(rng, n + more, 3) | {"n_features": np.array(3), "owners": owners, "losses": losses}
    found |= {"weights": weights(rng, n), "listed": np.array(True)}
    return found | {"source": np.frombuffer(b"text", np.uint8), "names": np.frombuffer(b"a\nb", np.uint8)}


def views(rng: Any, whole: bool = False, hidden: bool = False) -> dict[str, np.ndarray]:
    n, k, p, counts = 4, 3, 2, rng.integers(1, 4, 4)
    found = sparse(rng, int(counts.sum()), p) | {"n_inputs": np.array(p), "classes": np.arange(k) * 2}
    found |= {"offsets": ends(*counts), "labels": rng.integers(0, k, n), "states": rng.integers(0, counts)}
    found |= {"states": np.where(counts > 1, -1, 0)} if hidden else {}
    return found | {"weights": weights(rng, n)}


def dyads(rng: Any, whole: bool = False, k: int = 3) -> dict[str, np.ndarray]:
    n, sides = int(rng.integers(3, 6)), {"left": 2, "right": 3}
    found = labelled(rng, n, 2, k, whole) | {"weights": weights(rng, n), "of_both": np.array(True)}
    for side, p in sides.items():
        found |= {f"{side}_{key}": each for key, each in sparse(rng, n, p).items()} | {f"{side}_columns": np.array(p)}
    return found | {"left_names": np.array(["a", "b"]), "linear_names": np.arange(2)}


STRUCTURES = {
    each.__name__: each
    for each in (multiclass, chain, linear, matching, motif, tree, graph, flow, structured, multilabel, views, dyads)
}
