"""English–French sentence pairs with sure and possible word links: 447 pairs from the Canadian Hansards.

The test set of the NAACL 2003 shared task (Mihalcea & Pedersen), from https://github.com/neulab/awesome-align.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.data import store
from workbench.errors import BadInput

LINK = re.compile(r"([1-9]\d*)([-p])([1-9]\d*)")


class Bitext(NamedTuple):
    """Sentence pairs, their words, and links (m, 2) between them, counted from 0, in order.

    english, french : a list of words per pair;  sure, possible : one array of links (j, k) per pair,
    j an English word, k a French one; no link is both
    """

    english: list[list[str]]
    french: list[list[str]]
    sure: list[NDArray[np.int64]]
    possible: list[NDArray[np.int64]]


def hansards(folder: str | Path | None = None) -> Bitext:
    """The Hansards pairs from `enfr.src-tgt` and `enfr.gold`, in the folder or in `hansards` below it.

    A line of `enfr.src-tgt` is `english words ||| french words`, a line of `enfr.gold` `3-1 16p21 …`: English word,
    - for sure or p for possible, French word, counted from 1. Errors as `store.load`.
    """
    sentences, links = (store.lines_of(store.load(source, folder)) for source in (PAIRS, LINKS))
    if len(sentences) != len(links):
        raise BadInput(
            f"enfr.src-tgt has {len(sentences)} sentence pairs but enfr.gold has {len(links)} lines of links; "
            "take both files from one source."
        )
    english, french = zip(*(sides(line) for line in sentences), strict=True)
    found: dict[str, list[NDArray[np.int64]]] = {"-": [], "p": []}
    for number, line in enumerate(links):
        marked = [(mark, int(j) - 1, int(k) - 1) for j, mark, k in map(link, line.split())]
        for _, j, k in marked:
            if j >= len(english[number]) or k >= len(french[number]):
                raise BadInput(
                    f"Line {number + 1} of enfr.gold links words {j + 1} and {k + 1} but its sentences have "
                    f"{len(english[number])} and {len(french[number])}; correct the link."
                )
        for mark, kept in found.items():
            kept.append(np.array(sorted((j, k) for m, j, k in marked if m == mark), np.int64).reshape(-1, 2))
    return Bitext(list(english), list(french), found["-"], found["p"])


def made_bitext(n: int, seed: int = 0) -> Bitext:
    """n generated sentence pairs of 2 to 9 words, as a substitute for the Hansards.

    200 words of one language, rarer and rarer, have one partner each in the other, a third of them with
    the same beginning. The other sentence leaves a word out in one case of eight, swaps neighbours in
    one case of four, and may add a word without a partner. Links are sure; those next to one are possible
    in one case of eight.
    """
    rng = np.random.default_rng(seed)
    syllables = np.array([a + b for a in "bdfgklmnprst" for b in "aeiou"])
    words = ["".join(rng.choice(syllables, 3)) for _ in range(400)]
    partners = [
        one[:4] + other[4:] if t % 3 == 0 else other
        for t, (one, other) in enumerate(zip(words[:200], words[200:], strict=True))
    ]
    commonness = 1 / np.arange(1.0, 201)
    bitext = Bitext([], [], [], [])
    for _ in range(n):
        numbers = rng.choice(200, rng.integers(2, 10), replace=False, p=commonness / commonness.sum())
        kept = [j for j in range(len(numbers)) if rng.random() < 7 / 8] or [0]
        for k in range(len(kept) - 1):
            if rng.random() < 1 / 4:
                kept[k], kept[k + 1] = kept[k + 1], kept[k]
        extra = ["ne"] if rng.random() < 1 / 4 else []
        links = {(j, k) for k, j in enumerate(kept)}
        near = {(j, k + 1) for j, k in links if k + 1 < len(kept) and rng.random() < 1 / 8} - links
        bitext.english.append([words[number] for number in numbers])
        bitext.french.append([partners[numbers[j]] for j in kept] + extra)
        bitext.sure.append(np.array(sorted(links), np.int64).reshape(-1, 2))
        bitext.possible.append(np.array(sorted(near), np.int64).reshape(-1, 2))
    return bitext


def in_dictionary(bitext: Bitext, trained: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Whether two words, in lower case, are surely linked in another `trained` (n,) sentence pair: (J, K) a pair.

    The pair at hand does not count, so the links that are learned from do not vouch for themselves; no link of a pair
    that is not trained counts anywhere.
    """
    sides = zip(bitext.english, bitext.french, strict=True)
    words = [([word.lower() for word in e], [word.lower() for word in f]) for e, f in sides]
    linked = [{(e[j], f[k]) for j, k in links.tolist()} for (e, f), links in zip(words, bitext.sure, strict=True)]
    counts = Counter(entry for known, entries in zip(trained, linked, strict=True) if known for entry in entries)
    return [
        np.array([[counts[a, b] > (known and (a, b) in entries) for b in f] for a in e], bool)
        for (e, f), entries, known in zip(words, linked, trained.tolist(), strict=True)
    ]


def sides(line: str) -> tuple[list[str], list[str]]:
    """The English and the French words of a line, at least one each, or ValueError."""
    parts = [part.split() for part in line.split("|||")]
    if len(parts) != 2 or not all(parts):
        raise ValueError("is not of the form english words ||| french words")
    return parts[0], parts[1]


def link(text: str) -> tuple[str, str, str]:
    """(English word, - or p, French word) of a link in the file's notation, or ValueError."""
    matched = LINK.fullmatch(text)
    if matched is None:
        raise ValueError(f"has {text!r}, which is neither j-k nor jpk with words counted from 1")
    return matched[1], matched[2], matched[3]


def once_each(line: str) -> list[tuple[int, int]]:
    """The linked pairs of words of a line, or ValueError, also for a pair that occurs twice."""
    pairs = [(int(j), int(k)) for j, _, k in map(link, line.split())]
    if len(set(pairs)) < len(pairs):
        raise ValueError("links two words twice")
    return pairs


def hansards_source(name: str, check: Callable[[str], object], digest: str) -> store.Source:
    """One of the two files, by its name at the source, alone or in a folder `hansards`."""
    reader = store.read_lines(check)
    return store.Source(
        readers={f"hansards-{name}.npz": store.read_packed_lines, f"hansards/{name}": reader, name: reader},
        url="https://raw.githubusercontent.com/neulab/awesome-align/"
        f"5f150d45bbe51e167daf0a84abebaeb07c3323d1/examples/{name}",
        digest=digest,
        pack=lambda arrays: arrays,
    )


PAIRS = hansards_source("enfr.src-tgt", sides, "bbdd4b808796c58df2d63cc43e36a2148c5f0232f5d9084da3ab9ecfac2ab162")
LINKS = hansards_source("enfr.gold", once_each, "886565d8b1c2596e83c6b77e01661dd28386e958a25befbc89d6b5da4da85335")
