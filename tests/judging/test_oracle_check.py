"""`wb.check` finds every planted fault of an oracle, and accuses no sound one."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import workbench as wb

LABELS = "abc"


def features(x, y):
    """Dense: each label's sum of letters, and pairs of neighbouring labels."""
    k, p = len(LABELS), x.shape[1]
    out, index = np.zeros(k * p + k * k), [LABELS.index(each) for each in y]
    for t, label in enumerate(index):
        out[label * p : (label + 1) * p] += x[t]
    for a, b in itertools.pairwise(index):
        out[k * p + a * k + b] += 1
    return out


def hamming(truth, y):
    return sum(a != b for a, b in zip(truth, y, strict=True))


def viterbi(w, x, y=None, extra=1.0):
    """The exact argmax, ties to the last of equal paths by its text."""
    k, p = len(LABELS), x.shape[1]
    unary, pairs = w[: k * p].reshape(k, p) @ x.T, w[k * p :].reshape(k, k)
    best = {"": 0.0}
    for t in range(len(x)):
        new = {}
        for path, score in best.items():
            for b, label in enumerate(LABELS):
                value = score + unary[b, t] + extra * (y is not None and y[t] != label)
                value += pairs[LABELS.index(path[-1]), b] if path else 0.0
                key = path[-1:] + label if t else label
                if (value, path + label) > new.get(key[-1], (-np.inf, ""))[:2]:
                    new[key[-1]] = (value, path + label)
        best = {path: value for value, path in new.values()}
    return max(best, key=lambda path: (best[path], path))


def words(n=6, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.integers(-2, 3, (rng.integers(2, 4), 2)).astype(float) for _ in range(n)]
    return X, ["".join(rng.choice(list(LABELS), len(x))) for x in X]


def all_words(x):
    return map("".join, itertools.product(LABELS, repeat=len(x)))


def chain(argmax=viterbi, phi=features, loss=hamming, **more):
    return wb.Structured(*words(), phi, loss, argmax, **more)


def best(x, value):
    return max(all_words(x), key=value)


def enumerated(w, x, y=None):
    return best(x, lambda z: w @ features(x, z) + (hamming(y, z) if y else 0))


# ── sound ones ────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Box:
    word: str


def named(x, y):
    found = {}
    for t, (row, label) in enumerate(zip(x, y, strict=True)):
        for j, value in enumerate(row):
            found[label, j] = found.get((label, j), 0.0) + value
        if t:
            found[y[t - 1], label] = found.get((y[t - 1], label), 0.0) + 1.0
    return found


def by_names(w, x, y=None):
    return best(x, lambda z: w.score(named(x, z)) + (hamming(y, z) if y else 0))


def boxed(w, x, y=None):
    return Box(viterbi(w, x, y and y.word))


def ranking():
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(4, 3)) for _ in range(5)]
    Y = [tuple(rng.permutation(4).tolist()) for _ in X]

    def phi(x, y):
        place = np.empty(4)
        place[list(y)] = np.arange(4)
        return (3 - 2 * place) @ x

    def loss(truth, y):
        return sum(a != b for a, b in zip(truth, y, strict=True))

    def argmax(w, x, y=None):
        from scipy.optimize import linear_sum_assignment

        gain = np.outer(x @ w, 3 - 2 * np.arange(4)) + (0 if y is None else 1 - np.eye(4)[np.argsort(y)])
        return tuple(np.argsort(linear_sum_assignment(gain, maximize=True)[1]).tolist())

    return wb.Structured(X, Y, phi, loss, argmax)


def arborescences():
    """Trees by their heads, of networkx; changed heads would make cycles, which nobody may hold against the oracle."""
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(4, 4, 2)) for _ in range(4)]

    def argmax(w, x, y=None):
        graph, score = nx.DiGraph(), x @ w
        for head, word in itertools.product(range(4), range(1, 4)):
            if head != word:
                wrong = y is not None and y[word - 1] != head
                graph.add_edge(head, word, weight=score[head, word] + wrong)
        tree = nx.maximum_spanning_arborescence(graph)
        return tuple(next(iter(tree.predecessors(word))) for word in range(1, 4))

    def phi(x, y):
        return sum(x[head, word] for word, head in enumerate(y, 1))

    return wb.Structured(X, [(0, 1, 2), (0, 0, 0), (2, 0, 2), (0, 1, 1)], phi, hamming, argmax)


def multiclass(**more):
    X, y = np.random.default_rng(3).normal(size=(8, 3)), [0, 1, 2, 0, 1, 2, 0, 1]

    def argmax(w, x, y=None):
        scores = w.reshape(3, 3) @ x
        return int((scores + (0 if y is None else 2.0 * (np.arange(3) != y))).argmax())

    return wb.Structured(X, y, lambda x, z: np.kron(np.eye(3)[z], x), lambda y, z: 2.0 * (y != z), argmax, **more)


def subsets():
    X = np.random.default_rng(4).normal(size=(6, 3))

    def argmax(w, x, y=None):
        gain = w * x + (0 if y is None else 1 - 2 * np.isin(np.arange(3), list(y)))
        return set(np.flatnonzero(gain > 0).tolist())

    def phi(x, y):
        return x * np.isin(np.arange(3), list(y))

    return wb.Structured(X, [{0}, {1, 2}, set(), {0, 1, 2}, {2}, {0}], phi, lambda y, z: len(y ^ z), argmax)


def images():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5, 3, 3))

    def argmax(w, x, y=None):
        return (w[0] * x + w[1] + (0 if y is None else 1 - 2 * y) > 0).astype(int)

    def phi(x, y):
        return np.array([(x * y).sum(), y.sum()])

    return wb.Structured(X, rng.integers(0, 2, (5, 3, 3)), phi, lambda y, z: float((y != z).sum()), argmax)


def memo():
    known = {}

    def argmax(w, x, y=None):
        key = w.tobytes(), x.tobytes(), y
        if key not in known:
            known[key] = viterbi(w, x, y)
        return known[key]

    return chain(argmax)


def no_weights():
    problem = words()
    return wb.Structured(*problem, features, hamming, viterbi, weights=[0, 1, 2, 0, 1, 1])


def slack(w, x, y):
    return best(x, lambda z: hamming(y, z) * (1 - w @ (features(x, y) - features(x, z))))


def sums(w, x):
    outputs = list(all_words(x))
    phi = np.array([features(x, z) for z in outputs])
    scores = phi @ w
    shares = np.exp(scores - scores.max())
    return scores.max() + np.log(shares.sum()), shares @ phi / shares.sum()


SOUND = {
    "dynamic program": chain,
    "enumeration": lambda: chain(
        lambda w, x, y=None: best(x, lambda z: w @ features(x, z) + (hamming(y, z) if y else 0))
    ),
    "candidates": lambda: chain(candidates=all_words),
    "candidates alone": lambda: chain(None, candidates=all_words),
    "dicts": lambda: chain(by_names, named),
    "sparse rows": lambda: chain(phi=lambda x, y: sparse.csr_array(features(x, y)[None])),
    "objects": lambda: wb.Structured(
        words()[0], map(Box, words()[1]), lambda x, y: features(x, y.word), lambda y, z: hamming(y.word, z.word), boxed
    ),
    "lists": lambda: chain(lambda w, x, y=None: list(viterbi(w, x, y)), lambda x, y: features(x, list(y))),
    "arrays": lambda: chain(lambda w, x, y=None: np.array(list(viterbi(w, x, y)))),
    "another scale of loss": lambda: chain(
        lambda w, x, y=None: viterbi(w, x, y, 7.0), loss=lambda y, z: 7 * hamming(y, z)
    ),
    "rankings": ranking,
    "trees": arborescences,
    "labels": multiclass,
    "labels listed": lambda: multiclass(candidates=lambda x: range(3)),
    "subsets": subsets,
    "images": images,
    "a sound cache": memo,
    "sample weights": no_weights,
    "slack rescaling": lambda: chain(slack_argmax=slack),
    "marginals": lambda: chain(marginals=sums),
    "an under oracle": lambda: chain(lambda w, x, y=None: viterbi(w * (w > 0), x, y), exact=False),
}


@pytest.mark.parametrize("name", SOUND)
def test_no_sound_oracle_is_accused(name):
    report = wb.check(SOUND[name](), seconds=0.3)
    assert report.ok, str(report)
    assert str(report).startswith("No fault in ")


# ── planted faults ────────────────────────────────────────────────────────────────────────────────


def counting(step):
    """An argmax that calls `step(count, w, x, y)`, which may return None for the right answer."""
    count = itertools.count(1)

    def argmax(w, x, y=None):
        found = step(next(count), w, x, y)
        return viterbi(w, x, y) if found is None else found

    return argmax


def ties_at_random():
    rng = np.random.default_rng(0)

    def argmax(w, x, y=None):
        values = {z: w @ features(x, z) + (hamming(y, z) if y else 0) for z in all_words(x)}
        top = [z for z, value in values.items() if value >= max(values.values()) - 1e-9]
        return top[rng.integers(len(top))]

    return chain(argmax)


def stale():
    known = {}

    def argmax(w, x, y=None):
        key = x.tobytes(), y
        return known.setdefault(key, viterbi(w, x, y))

    return chain(argmax)


def greedy(w, x, y=None):
    path = ""
    for t in range(len(x)):
        path = max(
            (path + label for label in LABELS),
            key=lambda z: w @ features(x[: t + 1], z) + (0 if y is None else hamming(y[: t + 1], z)),
        )
    return path


def sorts_input(w, x, y=None):
    found = viterbi(w, x, y)
    x.sort(axis=0)
    return found


def halves_weights(w, x, y=None):
    w *= 0.5
    return viterbi(w, x, y)


def hanging(w, x, y=None):
    time.sleep(60)


def shifted(x, y):
    out = features(x, y)
    return out if y[0] == "a" else np.append(out, 0.0)


def drawn():
    rng = np.random.default_rng(0)
    return lambda x, y: features(x, y) + rng.normal(size=15) * 1e-3


def neighbours(w, x, y=None):
    others = [z for z in words()[1] if len(z) == len(x)]
    return others[int(abs(w).sum() * 1e3) % len(others)]


def biased(w, x, y=None):
    return best(x, lambda z: w @ features(x, z) + (hamming(y, z) if y else 0) + 0.3 * z.count("c"))


def unlabelled(w, x):
    return viterbi(w, x)


def cut_short(w, x, y=None):
    return viterbi(w, x, y)[:-1] + "a"


def second(w, x, y=None):
    return sorted(all_words(x), key=lambda z: w @ features(x, z) + (hamming(y, z) if y else 0))[-2]


FAULTS = {
    "not loss-augmented": lambda: chain(lambda w, x, y=None: viterbi(w, x)),
    "always loss-augmented": lambda: chain(lambda w, x, y=None: viterbi(w, x, y or "a" * len(x))),
    "loss counted twice": lambda: chain(lambda w, x, y=None: viterbi(w, x, y, 2.0)),
    "loss subtracted": lambda: chain(lambda w, x, y=None: viterbi(w, x, y, -1.0)),
    "wrong sign": lambda: chain(lambda w, x, y=None: viterbi(-w, x, y)),
    "lies every tenth time": lambda: chain(counting(lambda k, w, x, y: "c" * len(x) if k % 10 == 0 else None)),
    "lies about long inputs": lambda: chain(counting(lambda k, w, x, y: "a" * len(x) if len(x) > 2 else None)),
    "worse after a hundred calls": lambda: chain(counting(lambda k, w, x, y: "b" * len(x) if k > 100 else None)),
    "second best": lambda: chain(second),
    "ties at random": ties_at_random,
    "stale cache": stale,
    "greedy": lambda: chain(greedy),
    "changes its input": lambda: chain(sorts_input),
    "changes the weights": lambda: chain(halves_weights),
    "another sample's output": lambda: chain(neighbours),
    "the truth, whenever given": lambda: chain(lambda w, x, y=None: y or viterbi(w, x)),
    "a constant": lambda: chain(lambda w, x, y=None: "a" * len(x)),
    "a score that is not linear": lambda: chain(biased),
    "last position ignored": lambda: chain(cut_short),
    "no output": lambda: chain(lambda w, x, y=None: None),
    "too short": lambda: chain(lambda w, x, y=None: viterbi(w, x, y)[:-1]),
    "raises": lambda: chain(counting(lambda k, w, x, y: 1 // (k % 7))),
    "takes no truth": lambda: chain(unlabelled),
    "hangs": lambda: chain(hanging),
    "NaN": lambda: chain(phi=lambda x, y: features(x, y) * (np.nan if y[0] == "c" else 1.0)),
    "features of two lengths": lambda: chain(phi=shifted),
    "features at random": lambda: chain(phi=drawn()),
    "a negative loss": lambda: chain(loss=lambda y, z: hamming(y, z) - 2 * (z[0] == "b" != y[0])),
    "a loss of the truth": lambda: chain(loss=lambda y, z: 1.0),
    "candidates without the truth": lambda: chain(candidates=lambda x: [z for z in all_words(x) if "c" not in z]),
    "an answer that is no candidate": lambda: chain(candidates=lambda x: set(all_words(x)) - {"c" * len(x)}),
    "slack_argmax without the loss": lambda: chain(slack_argmax=lambda w, x, y: viterbi(w, x)),
    "marginals of another model": lambda: chain(marginals=lambda w, x: sums(2 * w, x)),
}


REFUSED = (
    "NaN",
    "features of two lengths",
    "a loss of the truth",
    "candidates without the truth",
)  # as soon as the problem is built


@pytest.mark.parametrize("name", FAULTS)
def test_every_planted_fault_is_found(name):
    if name in REFUSED:
        with pytest.raises(wb.BadInput, match=r"sample \d"):
            FAULTS[name]()
        return
    report = wb.check(FAULTS[name](), seconds=1.0, patience=0.3)
    assert not report.ok
    for fault in report.faults:
        assert fault.sentence.endswith(".")
        assert fault.sentence.count("\n") == 0


def test_the_first_solve_looks_and_says_what_it_saw():
    with pytest.raises(wb.BadInput, match=r"argmax with the loss at sample \d .* perhaps it does not add the loss"):
        wb.solve(wb.SoftMargin(lam=0.1), FAULTS["not loss-augmented"]())


def test_what_the_trials_saw_is_forgotten():
    problem = chain(by_names, named)
    before = len(problem.table), dict(problem.vocabulary)
    problem.vet()
    assert (len(problem.table), problem.vocabulary) == before


@pytest.mark.parametrize("kind", [name for name, _ in wb.registry("output").items()])
def test_built_in_outputs_stand_their_trial(kind):
    problem = wb.registry("output").get(kind).tiny(np.random.default_rng(0))
    assert wb.check(problem, seconds=0.2).ok


def test_a_slow_oracle_is_not_waited_for():
    """One sample is left unfinished after ten times the seconds; each kind of question is asked once at least."""
    slow = chain()
    asked, inner = [], slow.functions.argmax

    def argmax(w, x, y=None):
        asked.append(y is None)
        time.sleep(0.02)
        return inner(w, x, y)

    problem = wb.Structured(slow.xs, slow.objects[: slow.n_samples], features, hamming, argmax)
    began = time.perf_counter()
    report = wb.check(problem, seconds=0.01)
    assert report.ok
    assert set(asked) == {True, False}
    assert len(asked) < 40  # all probes of a sample ask more than 80 times
    assert time.perf_counter() - began < 30
