"""Texts as tf-idf unigrams: your own (`text`), newswire stories of Reuters, and made-up ones.

A word is a run of letters, of any script, and digits in the text, without capitals. With t the number of times that
word j occurs in story i, N the stories learned from, and N_j those of them that hold word j,

    x_ij = t · (1 + log((1 + N)/(1 + N_j))),      then x_i ← x_i/‖x_i‖₂       (a story of unknown words is 0)

The vocabulary, its order (that of the alphabet) and N_j are those of the stories learned from, whatever the
split: split=test has the same features, and the same classes, as the stories of split=train. Words in fewer than
min_count of these stories are left out. Weights keep their vocabulary: `cutbench predict RUN NEW` reads new texts.

    text             your own: a folder with a folder a label, or lines label<TAB>text; see `cutbench list text`
    reuters          R8, eight topics of very unequal size: 5,485 stories, 19,982 words, d = 8 × 19,982 = 159,856
    synthetic-text   made up, of any size

Your own texts are parted by chance into four fifths to learn from and one fifth held back, on which learned weights can
be tested: split=train, unless you say otherwise, learns from the four fifths; split=test is the fifth held back, for
`cutbench predict RUN text --set path=… --set split=test`; split=all learns from all and holds none back. draw is the
seed of that chance: the same number parts the texts in the same way, another number in another way. With n, only n of
the texts are drawn, and these are parted.

φ(x, y) = e_y ⊗ x without a constant; cost learning brings biases of its own.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

import workbench as wb


def reuters(
    n: int | None = None, split: Literal["train", "test"] = "train", min_count: int = 1, data: str | None = None
) -> wb.Multiclass:
    """The first n stories (none: all) or, as split=test, all test stories in their features; `data` is the folder."""
    learned = wb.datasets.reuters("train", data)
    if n is not None and not 1 <= n <= len(learned.texts):
        raise wb.BadInput(f"There are {len(learned.texts)} stories to learn from but n={n}; choose n from 1 to that.")
    learned = wb.datasets.Stories(learned.topics[:n], learned.texts[:n])
    asked = wb.datasets.reuters("test", data) if split == "test" else learned
    return tfidf_problem(learned, asked, min_count)


def synthetic_text(
    n: int = 200, split: Literal["train", "test"] = "train", seed: int = 0, labels: int = 5, min_count: int = 1,
    words: int = 400, length: int = 40, shape: Literal["falling", "newsgroups", "r52"] = "falling",
) -> wb.Multiclass:  # fmt: skip
    """n made-up stories (`wb.datasets.made_stories`) in the same features; split=test has n others.

    shape : shares of topics: falling (of `labels` topics the r-th ∝ 1/r), or as in 20 Newsgroups or R52, whatever
    `labels` is
    n=11314, shape=newsgroups, words=57000, length=160 have the size of 20 Newsgroups: 42,000 words, d = 840,000.
    """
    if min(n, labels, words) < 2 or length < 5:
        raise wb.BadInput(
            f"n={n} stories of {labels} topics, {words} words and length {length} make no problem; "
            "choose n, labels and words at least 2, and length at least 5."
        )
    made = wb.datasets.made_stories(2 * n, seed, labels, words, length, "" if shape == "falling" else shape)
    learned, other = (wb.datasets.Stories(made.topics[part], made.texts[part]) for part in (slice(n), slice(n, None)))
    return tfidf_problem(learned, other if split == "test" else learned, min_count)


def text(
    path: str, n: int | None = None, split: Literal["train", "test", "all"] = "train", draw: int = 0, min_count: int = 1
) -> wb.Multiclass:
    """n of a user's own texts (none: all) in these features, from a folder with a folder a label, or label<TAB>text.

    Texts are drawn by the seed `draw`; split=test has the last fifth of the n, split=train the others, which are
    learned from, and split=all learns from all n.
    """
    if not path:
        raise wb.BadInput("path is empty; name a folder with a folder a label, or a file of label<TAB>text.")
    found = wb.read_texts(path)
    size = len(found.texts) if n is None else n
    least = 2 if split == "all" else 5
    if len(found.texts) < least:
        raise wb.BadInput(f"{path} has {len(found.texts)} texts; give at least 5, a fifth of which are for testing.")
    if not least <= size <= len(found.texts):
        raise wb.BadInput(f"n is {size} but {path} has {len(found.texts)} texts; choose n between {least} and that.")
    order = np.random.default_rng(draw).permutation(len(found.texts))[:size]
    kept = size if split == "all" else size - size // 5
    parts = np.sort(order[:kept]), np.sort(order[kept:])
    topics, texts = np.array(found.topics), found.texts
    learned, other = (wb.datasets.Stories(topics[at].tolist(), [texts[i] for i in at]) for at in parts)
    try:
        problem = tfidf_problem(learned, other if split == "test" else learned, min_count)
    except wb.BadInput as error:
        raise wb.BadInput(f"{path}: {error}") from None
    asked = parts[1] if split == "test" else parts[0]
    problem.found_at = [(found.files or found.lines)[i] for i in asked]
    told = filter(None, (parted(len(texts), size, kept, split), found.remark))
    problem.reading = f"{path}: {'; '.join(told)}."
    return problem


def parted(every: int, size: int, kept: int, split: str) -> str:
    """Which of `every` texts a split of `size` has, `kept` of which are learned from, and where the others are."""
    undrawn = f"; {every - size} are not drawn, as n={size}" if size < every else ""
    if split == "all":
        return f"{size} of {every} texts, none held back{undrawn}"
    if split == "test":
        return f"{size - kept} of {every} texts, held back from the {kept} learned from{undrawn}"
    held = f"the other {size - kept}" if size == every else f"{size - kept} of the others"
    are = "is" if size - kept == 1 else "are"
    return f"{kept} of {every} texts; {held} {are} held back, --set split=test holds them, split=all has all{undrawn}"


def tfidf_problem(learned: wb.datasets.Stories, asked: wb.datasets.Stories, min_count: int) -> wb.Multiclass:
    """The stories `asked`, in the features and classes of those `learned`."""
    vocabulary, classes = wb.Vocabulary.of(learned.texts, min_count), np.unique(learned.topics)
    if unknown := set(asked.topics) - set(classes.tolist()):
        raise wb.BadInput(f"No story learned from has the topic {min(unknown)!r}; learn from more of them, larger n.")
    problem = wb.Multiclass(vocabulary.rows(asked.texts), asked.topics, classes=classes)
    problem.columns, problem.idf = vocabulary
    return problem


NAMES = {"reuters": reuters, "synthetic-text": synthetic_text, "text": text}
