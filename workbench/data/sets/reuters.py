"""Newswire stories with one of eight topics: the R8 part of Reuters-21578 as prepared by A. Cardoso-Cachopo (2007).

5,485 stories to learn from and 2,189 to test on, from https://github.com/Maryam-ask/NLP_PFAI_Assignment.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.data import store
from workbench.errors import BadInput

HEADING = "Class\tExample"  # the first line of the public files
SHAPES = {  # how many of the stories to learn from have each topic, as prepared by Cardoso-Cachopo
    "newsgroups": "600 599 598 597 595 594 594 593 593 591 591 590 585 584 578 564 546 480 465 377",
    "r52": "2840 1596 253 251 206 190 123 108 97 90 70 58 54 46 41 37 37 33 31 31 31 26 24 22 19 19 17 15 15 14 13 13 "
    "13 11 10 9 8 7 7 6 6 6 5 4 4 3 3 3 2 2 2 1",
}


class Stories(NamedTuple):
    """Texts and the topic of each, in the order of the file."""

    topics: list[str]
    texts: list[str]


def reuters(split: str = "train", folder: str | Path | None = None) -> Stories:
    """The R8 stories of a split from `train.txt.gz` or `test.txt.gz`, in the folder or in `r8` below it.

    A line is `topic<TAB>text`. Errors as `store.load`.
    """
    if split not in STORIES:
        raise BadInput(f"split is {split!r}; choose one of {', '.join(STORIES)}.")
    topics, texts = zip(*(story(line) for line in store.lines_of(store.load(STORIES[split], folder))), strict=True)
    return Stories(list(topics), list(texts))


def made_stories(
    n: int, seed: int = 0, labels: int = 5, words: int = 400, length: int = 40, shape: str = ""
) -> Stories:
    """n generated stories of 5 to `length` words, as a substitute for Reuters; no topic is rarer than the one after.

    The lexicon has `words` entries, some alike. Words are drawn by Zipf's law, the r-th with probability ∝ 1/r; each
    topic makes a tenth of the words ten times as likely. Of `labels` topics the r-th has a share ∝ 1/r; a `shape`
    stands for their number and shares: newsgroups (20 topics, nearly even) or r52 (52, from 2,840 stories to one).
    """
    rng = np.random.default_rng(seed)
    syllables = np.array([a + b for a in "bdfgklmnprst" for b in "aeiou"])
    lexicon = np.array(["".join(rng.choice(syllables, 3)) for _ in range(words)])
    shares = np.array(SHAPES[shape].split(), float) if shape else 1 / np.arange(1.0, labels + 1)
    commonness, labels = 1 / np.arange(1.0, words + 1), len(shares)
    favour = np.where(rng.random((labels, words)) < 0.1, 10.0, 1.0) * commonness
    topics = np.concatenate([np.arange(labels), rng.choice(labels, max(n - labels, 0), p=shares / shares.sum())])[:n]
    below = np.cumsum(favour / favour.sum(axis=1, keepdims=True), axis=1)
    below /= below[:, -1:]
    texts = [" ".join(lexicon[below[t].searchsorted(rng.random(rng.integers(5, length + 1)), "right")]) for t in topics]
    return Stories([f"topic{t}" for t in topics], texts)


def story(line: str) -> tuple[str, str]:
    """The topic and the text of a line, or ValueError."""
    topic, bar, text = line.partition("\t")
    if not (topic.strip() and bar and text.strip()):
        raise ValueError("is not of the form topic<TAB>text")
    return topic.strip(), " ".join(text.split())


def read_stories(path: Path) -> dict[str, NDArray]:
    """The lines of a file of stories, gzip or not, UTF-8, without its heading; as one array of bytes."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        lines = file.read().removesuffix("\n").split("\n")
    kept = []
    for number, line in enumerate(lines, 1):
        if number == 1 and line.strip() == HEADING:
            continue
        try:
            kept.append("\t".join(story(line)))
        except ValueError as error:
            raise ValueError(f"line {number} {error}") from None
    if not kept:
        raise ValueError("no stories")
    return {"text": np.frombuffer("\n".join(kept).encode(), np.uint8)}


def stories_source(split: str, digest: str) -> store.Source:
    """One of the two files, by its name at the source, alone or in a folder `r8`."""
    public = f"r8-{split}-all-terms.txt"
    names = (f"r8/{split}.txt.gz", f"{split}.txt.gz", f"r8/{public}", public)
    return store.Source(
        readers={f"r8-{split}.npz": store.read_packed_lines, **dict.fromkeys(names, read_stories)},
        url="https://raw.githubusercontent.com/Maryam-ask/NLP_PFAI_Assignment/"
        f"22b863544b9282b7795bdc8be1e3906f2608b274/{public}",
        digest=digest,
        pack=lambda arrays: arrays,
    )


STORIES = {
    "train": stories_source("train", "b187a8c5d26e4b6eaff6131243a6f550a19dc4d8141ba6b9f0791c96f6194f1a"),
    "test": stories_source("test", "acca0498a179b0b6fa8a5f06f148c4bf70b475e605dccc1ca1e2c54d11590142"),
}
