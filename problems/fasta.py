"""A user's own sequences, DNA or protein, from two FASTA files: those that hold a motif somewhere, and others.

    cutbench solve fasta latent-ssvm --set positive=kinases.fasta --set negative=others.fasta --set alphabet=protein

Where the motif lies is hidden (docs/latent.md). Letters that stand for several, such as N in DNA or B and X in
proteins, are refused in a sentence that says what they stand for.
"""

from __future__ import annotations

from typing import Literal

import workbench as wb


def fasta(
    positive: str = "", negative: str = "", length: int = 6, alphabet: Literal["dna", "protein"] = "dna"
) -> wb.Motif:
    """All sequences of both files, those of `negative` first; a motif of `length` letters in each of `positive`."""
    if not positive or not negative:
        raise wb.BadInput(
            "Two FASTA files are needed; give positive=, with sequences that hold the motif, and negative=."
        )
    found = [wb.read_fasta(path) for path in (negative, positive)]
    for path, names, texts in ((path, *each) for path, each in zip((negative, positive), found, strict=True)):
        for name, text in zip(names, texts, strict=True):
            try:
                wb.Motif([text], [1], length, alphabet=alphabet)
            except wb.BadInput as error:
                told = str(error).replace("sequence 0", name).replace("Sequence 0", name)
                raise wb.BadInput(f"{path}: {told}") from None
    texts = [text for each in found for text in each.texts]
    labels = [sign for sign, each in zip((-1, 1), found, strict=True) for _ in each.texts]
    return wb.Motif(texts, labels, length, alphabet=alphabet)


NAMES = {"fasta": fasta}
