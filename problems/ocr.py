"""Handwritten words, letter by letter: the first n words of one fold of Kassel's and Taskar's OCR data.

    x_t = [128 pixels, 1, is first letter, is last letter] (131)     labels a–z
    φ(x, y) = 26 × 131 letter features and 26 × 26 transitions, d = 4,082;  loss = wrong letters / length

Fold 0 holds the 626 words that the literature calls "OCR small" (Lacoste-Julien et al. 2013).
"""

from __future__ import annotations

import string

import numpy as np

import workbench as wb


def ocr(n: int = 100, fold: int = 0, data: str | None = None) -> wb.Chain:
    """The first n words of a fold, or of all folds but 0 if it is -1, as a `Chain`; `data` is the folder that holds
    ocr_letters.npz.
    """
    words = wb.datasets.ocr_letters(data)
    chosen = np.flatnonzero(words.folds > 0 if fold == -1 else words.folds == fold)
    if not 1 <= n <= len(chosen):
        raise wb.BadInput(f"Fold {fold} of the OCR data has {len(chosen)} words but n={n}; choose n from 1 to that.")
    ends = np.cumsum(words.lengths)
    names, sequences, labels = np.array(list(string.ascii_lowercase)), [], []
    for word in chosen[:n]:
        letters = slice(ends[word] - words.lengths[word], ends[word])
        place = np.zeros((words.lengths[word], 3))
        place[:, 0] = place[0, 1] = place[-1, 2] = 1
        sequences.append(np.hstack([words.pixels[letters], place]))
        labels.append(names[words.labels[letters]])
    problem = wb.Chain(sequences, labels, classes=names)
    problem.pixels = [16, 8]
    return problem


NAMES = {"ocr": ocr}
