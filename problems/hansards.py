"""Word alignment: English and French sentences of the Canadian Hansards, linked word by word.

    x_jk = 24 features of English word j and French word k of one sentence pair (FEATURES, in this order)
    y = the sure links made a matching;  loss = c⁺ false positives + c⁻ false negatives;  d = 24, or 25

The features are those of the lecture and of Taskar, Lacoste-Julien & Klein (2005): strings, association,
position, orthography. Association is Dice's coefficient over the sentence pairs that are loaded, all of
them, whatever n is; no link enters it. With C the number of pairs that hold a word, or both words,

    dice(e, f) = 2 C(e, f) / (C(e) + C(f)),      elsewhere: 2 (C(e, f) − 1) / (C(e) + C(f))

the second leaves the pair at hand out of C(e, f), so that a word seen once is associated with none.
Words are compared in lower case except where case is said; a stem is a word's first four letters.
Values are rounded to 1/1024, so that sums of features are exact.

Sure links often share a word: 105 of the 447 sets are no matchings. gold=projected (the default) takes all
447 pairs and the largest matching inside each set (`wb.nearest_matching`), which keeps 3,893 of 4,038
links; gold=matchings takes the other 342 pairs as they are; gold=clipped takes all pairs and links as they
are, and clips the hinges of the 105, whose links no matching reaches, at 0. A missed link costs three times a
wrong one by default, since the alignment error rate forgives wrong links that are possible (benchmarks/alignment.py).

dictionary=true adds a feature, the lecture's 1[(j, k) are in dictionary]: whether the two words are linked in another
sentence pair of the problem. The pair at hand is left out, or every link learned from would be there.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

import workbench as wb

GRID = 1024
STEM = 4
FEATURES = (
    "bias",
    "dice",
    "dice elsewhere",
    "stem dice elsewhere",
    "best of its row by dice elsewhere",
    "best of its column by dice elsewhere",
    "dice elsewhere of the words before",
    "dice elsewhere of the words behind",
    "distance",  # |(j + ½)/J − (k + ½)/K|
    "distance squared",
    "distance of frequent words",  # in a tenth of all pairs, one of the two
    "same word",
    "same word and case",
    "edit similarity",  # 1 − edit distance / length of the longer word
    "common prefix",  # as a share of the longer word
    "common suffix",
    "difference of lengths",
    "both punctuation",
    "one of them punctuation",
    "both with digits",
    "both capitalised",
    "both first or both last",
    "difference of frequencies",  # |log C(e) − log C(f)| / log n
    "frequency of the rarer word",  # log min(C(e), C(f)) / log n
)


def hansards(
    n: int | None = None,
    gold: Literal["projected", "matchings", "clipped"] = "projected",
    false_positive: float = 1.0,
    false_negative: float = 3.0,
    dictionary: bool = False,
    data: str | None = None,
) -> wb.Matching:
    """The first n usable sentence pairs (none: all) as a `Matching`; `data` is the folder of the two files."""
    pairs = wb.datasets.hansards(data)
    shapes = [(len(e), len(f)) for e, f in zip(pairs.english, pairs.french, strict=True)]
    links = [wb.nearest_matching(sure, shape) for sure, shape in zip(pairs.sure, shapes, strict=True)]
    usable = [i for i in range(len(shapes)) if gold != "matchings" or len(links[i]) == len(pairs.sure[i])]
    if n is not None and not 1 <= n <= len(usable):
        raise wb.BadInput(f"gold={gold} has {len(usable)} sentence pairs but n={n}; choose n from 1 to that.")
    features = edge_features(pairs.english, pairs.french, usable[:n])
    if dictionary:
        known = wb.datasets.in_dictionary(pairs, np.isin(np.arange(len(shapes)), usable[:n]))
        features = [np.dstack([each, known[i]]) for each, i in zip(features, usable[:n], strict=True)]
    kept = pairs.sure if gold == "clipped" else links
    chosen = [kept[i] for i in usable[:n]]
    return wb.Matching(features, chosen, false_positive, false_negative, clipped=gold == "clipped")


def synthetic_bitext(
    n: int = 60,
    seed: int = 0,
    gold: Literal["sure", "all"] = "sure",
    false_positive: float = 1.0,
    false_negative: float = 3.0,
) -> wb.Matching:
    """n made-up sentence pairs (`wb.datasets.made_bitext`) with the features of the Hansards.

    Their sure links are matchings; gold=all adds the possible ones, which share words with them, and clips such hinges.
    """
    if n < 1:
        raise wb.BadInput(f"n={n} sentence pairs make no problem; choose n ≥ 1.")
    pairs = wb.datasets.made_bitext(n, seed)
    kept = slice(None) if gold == "all" else slice(1)
    links = [np.concatenate(each[kept]) for each in zip(pairs.sure, pairs.possible, strict=True)]
    features = edge_features(pairs.english, pairs.french)
    return wb.Matching(features, links, false_positive, false_negative, clipped=gold == "all")


def edge_features(
    english: list[list[str]], french: list[list[str]], chosen: list[int] | None = None
) -> list[np.ndarray]:
    """(J, K, 24) for each sentence pair, or for the chosen ones; counts are over all of them."""
    sides = english, french
    words = [[[word.lower() for word in sentence] for sentence in side] for side in sides]
    stems = [[[word[:STEM] for word in sentence] for sentence in side] for side in words]
    (lexicon, counts, together), (stem_lexicon, stem_counts, stems_together) = map(counted, (words, stems))
    n, tables = len(english), []
    chosen = list(range(n)) if chosen is None else chosen
    strings = compared([[side[i] for i in chosen] for side in words])
    for i in chosen:
        e, f = (np.array([ids[word] for word in side[i]]) for ids, side in zip(lexicon, words, strict=True))
        seen = table(together, e, f)
        frequency = counts[0][e], counts[1][f]
        stem = [np.array([ids[s] for s in side[i]]) for ids, side in zip(stem_lexicon, stems, strict=True)]
        elsewhere = dice(seen - 1, *frequency)
        stemmed = dice(table(stems_together, *stem) - 1, *(c[ids] for c, ids in zip(stem_counts, stem, strict=True)))
        features = [
            np.ones(seen.shape),
            dice(seen, *frequency),
            elsewhere,
            stemmed,
            (elsewhere > 0) & (elsewhere == elsewhere.max(axis=1, keepdims=True)),
            (elsewhere > 0) & (elsewhere == elsewhere.max(axis=0, keepdims=True)),
            shifted(elsewhere, 1),
            shifted(elsewhere, -1),
            *positions(*frequency, n),
            *spelling([side[i] for side in sides], [side[i] for side in words], strings),
            *frequencies(*frequency, n),
        ]
        tables.append(np.round(GRID * np.stack(features, axis=2)) / GRID)
    return tables


# ── association ───────────────────────────────────────────────────────────────────────────────────


def counted(sides: list[list[list[str]]]) -> tuple[list[dict[str, int]], list[np.ndarray], sparse.csr_array]:
    """Both sides' lexicons (word → number), C of each word, and C(e, f) as a sparse matrix."""
    lexicons, holds = [], []
    for side in sides:
        lexicon = {word: number for number, word in enumerate(sorted({w for sentence in side for w in sentence}))}
        entries = [(i, lexicon[word]) for i, sentence in enumerate(side) for word in set(sentence)]
        where = tuple(np.array(entries).T)
        holds.append(sparse.csr_array((np.ones(len(entries)), where), shape=(len(side), len(lexicon))))
        lexicons.append(lexicon)
    return lexicons, [each.sum(axis=0) for each in holds], sparse.csr_array(holds[0].T @ holds[1])


def table(counts: sparse.csr_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The dense table (J, K) of these rows and columns."""
    return counts[rows][:, columns].toarray()


def dice(together: np.ndarray, e: np.ndarray, f: np.ndarray) -> np.ndarray:
    return 2 * together / (e[:, None] + f)


def shifted(values: np.ndarray, step: int) -> np.ndarray:
    """The table of the neighbours (j − step, k − step), 0 beyond the ends."""
    moved = np.zeros_like(values)
    if step > 0:
        moved[step:, step:] = values[:-step, :-step]
    else:
        moved[:step, :step] = values[-step:, -step:]
    return moved


# ── position, frequency, spelling ─────────────────────────────────────────────────────────────────


def positions(e: np.ndarray, f: np.ndarray, n: int) -> list[np.ndarray]:
    """Distance from the diagonal, its square, and itself again where one of the words is frequent."""
    j, k = (np.arange(len(side)) + 0.5 for side in (e, f))
    distance = np.abs(j[:, None] / len(e) - k / len(f))
    return [distance, distance**2, distance * (np.maximum(e[:, None], f) > n / 10)]


def frequencies(e: np.ndarray, f: np.ndarray, n: int) -> list[np.ndarray]:
    """How different the counts are, and the smaller one, as logarithms to base n."""
    first, second = np.log(e)[:, None] / np.log(max(n, 2)), np.log(f) / np.log(max(n, 2))
    return [np.abs(first - second), np.minimum(first, second)]


def spelling(
    written: list[list[str]], words: list[list[str]], strings: dict[tuple[str, str], np.ndarray]
) -> list[np.ndarray]:
    """Likeness of the words as strings, and what their letters say of their kind."""

    def both(test):
        first, second = (np.array([test(word) for word in side]) for side in written)
        return first[:, None] & second, first[:, None] ^ second

    same = np.array([[e == f for f in written[1]] for e in written[0]])
    likeness = np.array([[strings[e, f] for f in words[1]] for e in words[0]])
    punctuation, mixed = both(lambda word: not any(letter.isalnum() for letter in word))
    ends = np.zeros(same.shape, bool)
    ends[0, 0] = ends[-1, -1] = True
    return [
        likeness[:, :, 0] == 1,
        same,
        *np.moveaxis(likeness, 2, 0),
        punctuation,
        mixed,
        both(lambda word: any(letter.isdigit() for letter in word))[0],
        both(lambda word: word[0].isupper())[0],
        ends,
    ]


def compared(sides: list[list[list[str]]]) -> dict[tuple[str, str], np.ndarray]:
    """For all words that meet: (edit similarity, common prefix, common suffix, difference of lengths), shares."""
    pairs = sorted({(e, f) for one, other in zip(*sides, strict=True) for e in one for f in other})
    first, second = (spelled([pair[side] for pair in pairs]) for side in (0, 1))
    lengths = [(letters > 0).sum(axis=1) for letters in (first, second)]
    longer = np.maximum(*lengths)
    values = [
        1 - edit_distances(first, second, *lengths) / longer,
        agreeing(first, second) / longer,
        agreeing(*(spelled([pair[side][::-1] for pair in pairs]) for side in (0, 1))) / longer,
        np.abs(lengths[0] - lengths[1]) / longer,
    ]
    return dict(zip(pairs, np.stack(values, axis=1), strict=True))


def spelled(words: list[str]) -> np.ndarray:
    """Code points (m, longest), 0 behind the end."""
    return np.array(words).view(np.uint32).reshape(len(words), -1)


def agreeing(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """How many letters at the start are equal, (m,)."""
    width = min(first.shape[1], second.shape[1])
    alike = (first[:, :width] == second[:, :width]) & (first[:, :width] > 0)
    return np.logical_and.accumulate(alike, axis=1).sum(axis=1)


def edit_distances(first: np.ndarray, second: np.ndarray, lengths: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Levenshtein distances (m,) of words given as code points; all pairs at once, letter by letter."""
    distances = np.empty((first.shape[1] + 1, second.shape[1] + 1, len(first)), np.int16)
    distances[:, 0], distances[0] = np.arange(first.shape[1] + 1)[:, None], np.arange(second.shape[1] + 1)[:, None]
    for a in range(first.shape[1]):
        for b in range(second.shape[1]):
            replaced = distances[a, b] + (first[:, a] != second[:, b])
            distances[a + 1, b + 1] = np.minimum(np.minimum(distances[a, b + 1], distances[a + 1, b]) + 1, replaced)
    return distances[lengths, others, np.arange(len(first))]


NAMES = {"hansards": hansards, "synthetic-bitext": synthetic_bitext}
