"""The data sets by name (`wb.datasets`): each has a file in `sets/`, and `store` says where the data are looked for.

ocr_letters()    handwritten words, letter by letter
hansards()       English–French sentence pairs with word links; made_bitext() where they are not at hand
reuters()        newswire stories with one of eight topics; made_stories() where they are not at hand
promoters()      promoters of E. coli and other stretches of DNA
ratings()        who judged what how: face sentiment, bluebird, Book-Crossing
"""

from __future__ import annotations

from workbench.data.sets.crowds import CROWDS, Ratings, ratings
from workbench.data.sets.hansards import LINKS, PAIRS, Bitext, hansards, made_bitext
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
    "load",
    "made_bitext",
    "made_stories",
    "ocr_letters",
    "pinned",
    "promoters",
    "ratings",
    "reuters",
]
