"""The data sets by name (`wb.datasets`): each has a file in `sets/`; `store` defines where the loaders look.

ocr_letters()    handwritten words, letter by letter
hansards()       English–French sentence pairs with word links; made_bitext() generates a substitute,
                 in_dictionary() tells words that are linked elsewhere
reuters()        newswire stories with one of eight topics; made_stories() generates a substitute
promoters()      promoters of E. coli and other stretches of DNA
ratings()        labels that raters gave to items: face sentiment, bluebird, Book-Crossing
"""

from __future__ import annotations

from workbench.data.sets.crowds import CROWDS, Ratings, ratings
from workbench.data.sets.hansards import LINKS, PAIRS, Bitext, hansards, in_dictionary, made_bitext
from workbench.data.sets.ocr import OCR, Letters, ocr_letters
from workbench.data.sets.promoters import PROMOTERS, Sequences, promoters
from workbench.data.sets.reuters import STORIES, Stories, made_stories, reuters
from workbench.data.store import VARIABLE, MissingData, Source, cache_folder, content_digest, load, pinned

__all__ = [
    "CROWDS",
    "LINKS",
    "OCR",
    "PAIRS",
    "PROMOTERS",
    "STORIES",
    "VARIABLE",
    "Bitext",
    "Letters",
    "MissingData",
    "Ratings",
    "Sequences",
    "Source",
    "Stories",
    "cache_folder",
    "content_digest",
    "hansards",
    "in_dictionary",
    "load",
    "made_bitext",
    "made_stories",
    "ocr_letters",
    "pinned",
    "promoters",
    "ratings",
    "reuters",
]
