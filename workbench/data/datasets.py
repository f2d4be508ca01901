"""Data files: found in a folder, else fetched once from their public source and checked by digest.

A file is looked for, in this order, in

    1. the folder that the caller names (`--data`); then it must be there
    2. the folder in the environment variable CUTBENCH_DATA
    3. the cache: `cutbench/` in the user's cache folder (XDG_CACHE_HOME, ~/Library/Caches, %LOCALAPPDATA%)
    4. its public source, over the network; what arrives is parsed, its *content* compared with a pinned
       SHA-256, and only then moved into the cache, in one step

Files in the user's own folders are checked for shape and range, so other data in the same format
work; what came over the network must have the pinned content, now and at every later reading. The
digest is taken of the arrays, not of the file: the archive at the source may be packed in any way.
Nothing is ever unpickled.

    ocr_letters()    handwritten words: R. Kassel's data as prepared by B. Taskar,
                     http://ai.stanford.edu/~btaskar/ocr/ (52,152 letters of 16 × 8 pixels, 6,877 words)
    hansards()       English–French sentence pairs with sure and possible word links: the test set of the
                     NAACL 2003 shared task (Mihalcea & Pedersen), 447 pairs from the Canadian Hansards,
                     as kept in https://github.com/neulab/awesome-align
    reuters()        newswire stories with one of eight topics: the R8 part of Reuters-21578 as prepared by
                     A. Cardoso-Cachopo (2007), 5,485 stories to learn from and 2,189 to test on, as kept in
                     https://github.com/Maryam-ask/NLP_PFAI_Assignment
    promoters()      53 promoters of E. coli and 53 other stretches of 57 bases: UCI's Molecular Biology (Promoter
                     Gene Sequences), collected by C. Harley and R. Reynolds, given by M. Noordewier and J. Shavlik
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import http.client
import os
import re
import shutil
import sys
import tempfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.errors import BadInput

VARIABLE = "CUTBENCH_DATA"
TIMEOUT = 30.0
BROKEN = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)


class MissingData(BadInput):
    """A data file that is neither in a folder nor to be had from its source; the message says where to put it."""


@dataclass(frozen=True)
class Source:
    """A data set's file names with their readers (the first is the cache's), its origin, its content's digest.

    pack : arrays → arrays of fixed types in a fixed order, which are what the digest is taken of
    """

    readers: Mapping[str, Callable[[Path], dict[str, NDArray]]]
    url: str
    digest: str
    pack: Callable[[dict[str, NDArray]], dict[str, NDArray]]


def load(source: Source, folder: str | Path | None = None) -> dict[str, NDArray]:
    """The arrays of a data set, see the module's docstring for where they are looked for.

    Raises
    ------
    MissingData : the file is nowhere and cannot be fetched
    BadInput : the file is damaged or is not what its name says
    """
    places = [Path(folder)] if folder is not None else []
    if folder is None and os.environ.get(VARIABLE):
        places.append(Path(os.environ[VARIABLE]))
    for place in places:
        for name, reader in source.readers.items():
            if (place / name).is_file():
                return read(place / name, reader)
    names = " or ".join(source.readers)
    if folder is not None:
        raise MissingData(f"There is no {names} in {folder}; put the file there (source: {source.url}).")
    kept = cache_folder() / next(iter(source.readers))
    if kept.is_file():
        return pinned(read(kept, source.readers[kept.name]), source, kept)
    return fetched(source, kept)


def cache_folder() -> Path:
    """`cutbench` in the platform's cache folder."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "cutbench"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "cutbench"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "cutbench"


def read(path: Path, reader: Callable[[Path], dict[str, NDArray]], name: str | None = None) -> dict[str, NDArray]:
    """What the reader makes of the file; `BadInput` names it, or what `name` calls it."""
    try:
        return reader(path)
    except BadInput:
        raise
    except BROKEN as error:
        fault = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(".")
        raise BadInput(f"{name or path} is truncated or damaged ({fault}); replace it by a fresh copy.") from None


def pinned(arrays: dict[str, NDArray], source: Source, path: Path | str) -> dict[str, NDArray]:
    """The arrays if they have the source's content, else `BadInput`."""
    found = content_digest(source.pack(arrays))
    if found != source.digest:
        raise BadInput(
            f"{path} does not hold the expected data (content SHA-256 {found[:12]}… instead of "
            f"{source.digest[:12]}…); delete it, or put a trusted copy into a folder and name that in {VARIABLE}."
        )
    return arrays


def fetched(source: Source, kept: Path) -> dict[str, NDArray]:
    """Download, parse, verify, then keep: `kept` appears complete or not at all."""
    name = source.url.rsplit("/", 1)[-1]
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix="fetching-") as work:
            raw, packed = Path(work) / name, Path(work) / kept.name
            with urllib.request.urlopen(source.url, timeout=TIMEOUT) as answer, raw.open("wb") as file:
                shutil.copyfileobj(answer, file)
            arrays = pinned(read(raw, source.readers[name], source.url), source, source.url)
            with packed.open("wb") as file:
                np.savez_compressed(file, **source.pack(arrays))
            os.replace(packed, kept)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise MissingData(
            f"{source.url} could not be fetched ({reason}); put {' or '.join(source.readers)} into a folder and "
            f"name it with --data or {VARIABLE}, or into {kept.parent}."
        ) from None
    return arrays


def content_digest(arrays: Mapping[str, NDArray]) -> str:
    """SHA-256 of names, types, shapes and little-endian entries, in the order given."""
    digest = hashlib.sha256()
    for name, array in arrays.items():
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


# ── handwritten words ─────────────────────────────────────────────────────────────────────────────

PIXELS = 16 * 8


class Letters(NamedTuple):
    """Handwritten words, their letters one after the other.

    pixels : (N, 128) of 0 and 1, 16 rows of 8;  labels : (N,) 0–25 for a–z;
    lengths : (n,) letters of each word, N in all;  folds : (n,) the fold 0–9 of each word
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    lengths: NDArray[np.int64]
    folds: NDArray[np.int64]


def ocr_letters(folder: str | Path | None = None) -> Letters:
    """The OCR words from `ocr_letters.npz` or the public `letter.data.gz`; errors as `load`."""
    return Letters(**load(OCR, folder))


def read_ocr_npz(path: Path) -> dict[str, NDArray]:
    """pixels (N, 16) bytes of packed bits, labels (N,), lengths (n,), folds (n,)."""
    with path.open("rb") as raw, np.lib.npyio.NpzFile(raw, allow_pickle=False) as file:
        packed = file["pixels"]
        if packed.dtype != np.uint8 or packed.ndim != 2:
            raise ValueError(f"pixels are {packed.dtype} {packed.shape}, not packed bytes (N, {PIXELS // 8})")
        rest = {name: whole(name, file[name]) for name in ("labels", "lengths", "folds")}
    return checked_letters({"pixels": np.unpackbits(packed, axis=1), **rest})


def read_ocr_text(path: Path) -> dict[str, NDArray]:
    """Taskar's table: per letter `id letter next_id word_id position fold p_0_0 … p_15_7`, tab separated.

    A word is a chain of next_id that ends with −1; words come in the order of their first letters.
    word_id and position are not used, as the source's own page advises.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="ascii") as file:
        lines = [line.split() for line in file if line.strip()]
    for number, fields in enumerate(lines, 1):
        if len(fields) != 6 + PIXELS or len(fields[1]) != 1:
            raise ValueError(f"line {number} has {len(fields)} fields, not a letter and {6 + PIXELS}")
    if not lines:
        raise ValueError("no letters")
    heads = np.array([[f[0], f[2], f[5]] for f in lines], dtype=np.int64)
    row_of = {int(name): row for row, name in enumerate(heads[:, 0])}
    if len(row_of) != len(lines):
        raise ValueError("a letter's id occurs twice")
    if lost := set(heads[:, 1].tolist()) - set(row_of) - {-1}:
        raise ValueError(f"no letter has the next_id {min(lost)}")
    following = [row_of.get(int(after), -1) for after in heads[:, 1]]
    order, lengths, firsts = [], [], sorted(set(range(len(lines))) - set(following))
    for first in firsts:
        row, before = first, len(order)
        while row >= 0:
            order.append(row)
            row = following[row]
            if len(order) > len(lines):
                raise ValueError("the letters of two words run into one another")
        lengths.append(len(order) - before)
    if len(order) != len(lines):
        raise ValueError("the letters of a word run in a circle or into another word")
    labels = np.frombuffer("".join(lines[row][1] for row in order).encode("ascii"), np.uint8).astype(np.int64)
    pixels = np.array([lines[row][6:] for row in order]).astype(np.int64)
    if not np.isin(pixels, (0, 1)).all():
        raise ValueError("pixels other than 0 and 1")
    arrays = {"pixels": pixels.astype(np.uint8), "labels": labels - ord("a")}
    return checked_letters({**arrays, "lengths": np.array(lengths), "folds": heads[firsts, 2]})


def whole(name: str, array: NDArray) -> NDArray[np.int64]:
    if array.dtype.kind not in "ui" or array.ndim != 1:
        raise ValueError(f"{name} are {array.dtype} {array.shape}, not a row of whole numbers")
    return array.astype(np.int64)


def checked_letters(arrays: dict[str, NDArray]) -> dict[str, NDArray]:
    """The arrays if they fit one another, else ValueError (`read` names the file)."""
    pixels, labels, lengths, folds = (arrays[name] for name in Letters._fields)
    if pixels.shape != (len(labels), PIXELS) or lengths.sum() != len(labels) or len(folds) != len(lengths):
        sizes = f"{pixels.shape} pixels, {len(labels)} labels, {lengths.sum()} letters in {len(lengths)} words"
        raise ValueError(f"its parts do not fit: {sizes}, {len(folds)} folds")
    if not len(labels) or lengths.min() < 1 or labels.min() < 0 or labels.max() > 25 or folds.min() < 0:
        raise ValueError("labels outside a–z, an empty word, or a negative fold")
    return arrays


def pack_letters(arrays: dict[str, NDArray]) -> dict[str, NDArray]:
    """As `ocr_letters.npz` holds them: packed bits and one byte a number."""
    small = {name: arrays[name].astype(np.uint8) for name in ("labels", "lengths", "folds")}
    return {"pixels": np.packbits(arrays["pixels"], axis=1), **small}


OCR = Source(
    readers={"ocr_letters.npz": read_ocr_npz, "letter.data.gz": read_ocr_text, "letter.data": read_ocr_text},
    url="http://ai.stanford.edu/~btaskar/ocr/letter.data.gz",
    digest="3f3b7c817af0fbe402d1bdf21343aedfd525b8ccb78c6ec8786afcef19b09551",
    pack=pack_letters,
)


# ── word alignment ────────────────────────────────────────────────────────────────────────────────

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

    A line of the first is `english words ||| french words`, a line of the second `3-1 16p21 …`, English
    word, - for sure or p for possible, French word, counted from 1. Errors as `load`.
    """
    sentences, links = (lines_of(load(source, folder)) for source in (PAIRS, LINKS))
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
    """n made-up sentence pairs of 2 to 9 words, where the Hansards are not at hand.

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


def sides(line: str) -> tuple[list[str], list[str]]:
    """The English and the French words of a line, at least one each, or ValueError."""
    parts = [part.split() for part in line.split("|||")]
    if len(parts) != 2 or not all(parts):
        raise ValueError("is not of the form english words ||| french words")
    return parts[0], parts[1]


def link(text: str) -> tuple[str, str, str]:
    """(English word, - or p, French word) of a link as it is written, or ValueError."""
    matched = LINK.fullmatch(text)
    if matched is None:
        raise ValueError(f"has {text!r}, which is neither j-k nor jpk with words counted from 1")
    return matched[1], matched[2], matched[3]


def once_each(line: str) -> list[tuple[int, int]]:
    """The pairs of words that a line links, none twice, or ValueError."""
    pairs = [(int(j), int(k)) for j, _, k in map(link, line.split())]
    if len(set(pairs)) < len(pairs):
        raise ValueError("links two words twice")
    return pairs


def read_lines(check: Callable[[str], Any]) -> Callable[[Path], dict[str, NDArray]]:
    """A reader of UTF-8 text, each line of which passes `check`; single spaces between its words are kept."""

    def reader(path: Path) -> dict[str, NDArray]:
        lines = [" ".join(line.split()) for line in path.read_text(encoding="utf-8").splitlines()]
        for number, line in enumerate(lines, 1):
            try:
                check(line)
            except ValueError as error:
                raise ValueError(f"line {number} {error}") from None
        if not lines:
            raise ValueError("no lines")
        return {"text": np.frombuffer("\n".join(lines).encode(), np.uint8)}

    return reader


def read_packed_lines(path: Path) -> dict[str, NDArray]:
    """The text of a cached file, one array of bytes."""
    with path.open("rb") as raw, np.lib.npyio.NpzFile(raw, allow_pickle=False) as file:
        text = file["text"]
    if text.dtype != np.uint8 or text.ndim != 1:
        raise ValueError(f"text is {text.dtype} {text.shape}, not a row of bytes")
    return {"text": text}


def lines_of(arrays: dict[str, NDArray]) -> list[str]:
    return arrays["text"].tobytes().decode().split("\n")


def hansards_source(name: str, check: Callable[[str], Any], digest: str) -> Source:
    """One of the two files, by its name at the source, alone or in a folder `hansards`."""
    reader = read_lines(check)
    return Source(
        readers={f"hansards-{name}.npz": read_packed_lines, f"hansards/{name}": reader, name: reader},
        url="https://raw.githubusercontent.com/neulab/awesome-align/"
        f"5f150d45bbe51e167daf0a84abebaeb07c3323d1/examples/{name}",
        digest=digest,
        pack=lambda arrays: arrays,
    )


PAIRS = hansards_source("enfr.src-tgt", sides, "bbdd4b808796c58df2d63cc43e36a2148c5f0232f5d9084da3ab9ecfac2ab162")
LINKS = hansards_source("enfr.gold", once_each, "886565d8b1c2596e83c6b77e01661dd28386e958a25befbc89d6b5da4da85335")


# ── newswire stories ──────────────────────────────────────────────────────────────────────────────

HEADING = "Class\tExample"  # what the public files begin with


class Stories(NamedTuple):
    """Texts and the topic of each, in the order of the file."""

    topics: list[str]
    texts: list[str]


def reuters(split: str = "train", folder: str | Path | None = None) -> Stories:
    """The R8 stories of a split from `train.txt.gz` or `test.txt.gz`, in the folder or in `r8` below it.

    A line is `topic<TAB>text`. Errors as `load`.
    """
    if split not in STORIES:
        raise BadInput(f"split is {split!r}; choose one of {', '.join(STORIES)}.")
    topics, texts = zip(*(story(line) for line in lines_of(load(STORIES[split], folder))), strict=True)
    return Stories(list(topics), list(texts))


def made_stories(n: int, seed: int = 0, labels: int = 5, words: int = 400) -> Stories:
    """n made-up stories of 5 to 40 words, where Reuters is not at hand; topics are rarer and rarer.

    Words are drawn by Zipf's law; each topic makes a tenth of them, its own, ten times as likely.
    """
    rng = np.random.default_rng(seed)
    syllables = np.array([a + b for a in "bdfgklmnprst" for b in "aeiou"])
    lexicon = np.array(["".join(rng.choice(syllables, 3)) for _ in range(words)])
    commonness, shares = 1 / np.arange(1.0, words + 1), 1 / np.arange(1.0, labels + 1)
    favour = np.where(rng.random((labels, words)) < 0.1, 10.0, 1.0) * commonness
    topics = np.concatenate([np.arange(labels), rng.choice(labels, max(n - labels, 0), p=shares / shares.sum())])[:n]
    texts = [" ".join(rng.choice(lexicon, rng.integers(5, 41), p=favour[t] / favour[t].sum())) for t in topics]
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


def stories_source(split: str, digest: str) -> Source:
    """One of the two files, by its name at the source, alone or in a folder `r8`."""
    public = f"r8-{split}-all-terms.txt"
    names = (f"r8/{split}.txt.gz", f"{split}.txt.gz", f"r8/{public}", public)
    return Source(
        readers={f"r8-{split}.npz": read_packed_lines, **dict.fromkeys(names, read_stories)},
        url="https://raw.githubusercontent.com/Maryam-ask/NLP_PFAI_Assignment/"
        f"22b863544b9282b7795bdc8be1e3906f2608b274/{public}",
        digest=digest,
        pack=lambda arrays: arrays,
    )


STORIES = {
    "train": stories_source("train", "b187a8c5d26e4b6eaff6131243a6f550a19dc4d8141ba6b9f0791c96f6194f1a"),
    "test": stories_source("test", "acca0498a179b0b6fa8a5f06f148c4bf70b475e605dccc1ca1e2c54d11590142"),
}


# ── ratings ───────────────────────────────────────────────────────────────────────────────────────


class Ratings(NamedTuple):
    """Who judged what how: three arrays (n,) of texts; no pair occurs twice."""

    rater: NDArray[np.str_]
    item: NDArray[np.str_]
    label: NDArray[np.str_]


class Layout(NamedTuple):
    """How a file of ratings is written: its first line if that names the columns, and where rater, item, label are."""

    file: str
    heading: list[str] | None
    columns: tuple[int, int, int]
    dialect: dict[str, Any]
    encoding: str = "utf-8"


CROWDS = {
    "face-sentiment": Layout("face_sentiment_answer.csv", ["question", "worker", "answer"], (1, 0, 2), {}),
    "bluebird": Layout("bluebird_crowd.txt", None, (1, 0, 2), {"delimiter": "\t"}),
    "book-crossing": Layout(
        "BX-Book-Ratings.csv",
        ["User-ID", "ISBN", "Book-Rating"],
        (0, 1, 2),
        {"delimiter": ";", "escapechar": "\\"},
        "latin-1",
    ),
}


def ratings(name: str, folder: str | Path | None = None) -> Ratings:
    """Judgements from a file in the folder, in CUTBENCH_DATA, or in `crowd` below either.

        face-sentiment   584 faces, 27 workers, 4 classes: question,worker,answer (Mozafari et al. 2014)
        bluebird         108 images, 39 raters, 2 classes: item, rater, label (Welinder et al. 2010)
        book-crossing    1,149,780 ratings from 0 (implicit interest) to 10: "User-ID";"ISBN";"Book-Rating", in Latin-1
                         (Ziegler et al. 2005); quotes, semicolons and blanks in ISBNs are kept as they are

    The file must be there: the first two have no pinned public copy, and of the third, whose site
    (http://www2.informatik.uni-freiburg.de/~cziegler/BX/) is down, no SHA-256 is known to us.
    """
    if name not in CROWDS:
        raise BadInput(f"There are no ratings called {name!r}; choose one of {', '.join(CROWDS)}.")
    layout = CROWDS[name]
    places = [Path(place) for place in (folder or os.environ.get(VARIABLE),) if place]
    found = [
        path for place in places for path in (place / layout.file, place / "crowd" / layout.file) if path.is_file()
    ]
    if not found:
        where = places[0] if places else f"a folder, named with --data or {VARIABLE}"
        raise MissingData(f"There is no {layout.file} for {name}; put it into {where}.")
    return rated(found[0], layout)


def rated(path: Path, layout: Layout) -> Ratings:
    """The ratings of a file, or `BadInput` with the line of the fault."""
    rows: list[list[str]] = []
    first: dict[tuple[str, str], int] = {}
    with path.open(encoding=layout.encoding, newline="") as file:
        reader = csv.reader(file, strict=True, **layout.dialect)
        try:
            if layout.heading and (heading := next(reader, None)) != layout.heading:
                raise BadInput(f"Line 1 of {path} is {heading}; it must name the columns {', '.join(layout.heading)}.")
            for fields in reader:
                number = reader.line_num
                if not any(fields):
                    continue
                if len(fields) != 3 or not all(field.strip() for field in fields):
                    raise BadInput(f"Line {number} of {path} has {len(fields)} fields; give rater, item and label.")
                rater, item, label = (fields[at] for at in layout.columns)
                if (earlier := first.setdefault((rater, item), number)) != number:
                    raise BadInput(f"Line {number} of {path} judges the pair of line {earlier} again; keep one.")
                rows.append([rater, item, label])
        except UnicodeDecodeError:
            raise BadInput(f"{path} is not text in {layout.encoding.upper()}; replace it by a fresh copy.") from None
        except csv.Error as error:
            raise BadInput(f"Line {reader.line_num} of {path} cannot be split ({error}); repair its quotes.") from None
    if not rows:
        raise BadInput(f"{path} holds no ratings; replace it by a fresh copy.")
    return Ratings(*(np.array(column) for column in zip(*rows, strict=True)))


# ── promoters ─────────────────────────────────────────────────────────────────────────────────────


class Sequences(NamedTuple):
    """Named texts over A, C, G, T and their labels 1 or −1, in the order of the file."""

    names: list[str]
    labels: NDArray[np.int64]
    texts: list[str]


def promoters(folder: str | Path | None = None) -> Sequences:
    """The promoter sequences from `promoters.data`; errors as `load`.

    A line is `+,name,sequence` or `-,name,sequence`; white space does not count.
    """
    rows = [stretch(line) for line in lines_of(load(PROMOTERS, folder))]
    signs, names, texts = zip(*rows, strict=True)
    return Sequences(list(names), np.where(np.array(signs) == "+", 1, -1), list(texts))


def stretch(line: str) -> tuple[str, str, str]:
    """Sign, name and letters of a line, or ValueError."""
    parts = ["".join(part.split()) for part in line.split(",")]
    if len(parts) != 3 or parts[0] not in ("+", "-") or not re.fullmatch("[acgtACGT]+", parts[2]):
        raise ValueError("is not of the form +,name,sequence or -,name,sequence over a, c, g, t")
    return parts[0], parts[1], parts[2].upper()


PROMOTERS = Source(
    readers={"promoters.npz": read_packed_lines, "promoters.data": read_lines(stretch)},
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/molecular-biology/promoter-gene-sequences/"
    "promoters.data",
    digest="7984e993bf743b281e950b07f4e23fe4cf95d38751ec1136623ba06acdde042b",
    pack=lambda arrays: arrays,
)
