"""A user's labelled texts: a folder with a folder a label, or a file with `label<TAB>text` a line (perhaps .gz).

    news/rec.autos/101.txt        rec.autos<TAB>Which car is this
    news/sci.space/7              sci.space<TAB>The shuttle is late

The folder is the form in which 20 Newsgroups is handed out. Labels and files come in the order of their names; hidden
files are passed over. A text that is no UTF-8 is read as Latin-1, as old news is, and a remark counts such texts. Texts
to predict may lack labels: a folder of files, or a file with a text a line and no tabs.

**Features.** A word is a run of letters, of any script, and digits in the text, without capitals (`words_of`). With t
the number of times that word j occurs in text i, N the texts learned from, and N_j those of them that hold word j,

    x_ij = t · (1 + log((1 + N)/(1 + N_j))),      then x_i ← x_i/‖x_i‖₂       (a text of unknown words is 0)

A `Vocabulary` holds the words and the factors 1 + log(…). Weights learned on texts keep both, so that new texts get the
same features.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from workbench.data.plain import check_text
from workbench.data.sets.reuters import Stories, story
from workbench.errors import BadInput, counted
from workbench.outputs.multiclass import Multiclass
from workbench.system.unpacked import content_of

WORD = re.compile(r"[^\W_]+")


class Vocabulary(NamedTuple):
    """Words in the order of their columns, and the factor 1 + log((1 + N)/(1 + N_j)) of each."""

    words: list[str]
    idf: list[float]

    @classmethod
    def of(cls, texts: Sequence[str], min_count: int = 1) -> Vocabulary:
        """The words that occur in at least `min_count` of the texts, in the order of the alphabet."""
        if min_count < 1:
            raise BadInput(f"min_count={min_count}; a word is counted from one story on, min_count=1.")
        holding = Counter(word for text in texts for word in {*words_of(text)})
        words = sorted(word for word, count in holding.items() if count >= min_count)
        if not holding:
            raise BadInput(f"The {len(texts)} texts hold no words, which are runs of letters and digits; give others.")
        if not words:
            raise BadInput(f"No word occurs in min_count={min_count} of {len(texts)} stories; lower it.")
        return cls(words, [1 + math.log((1 + len(texts)) / (1 + holding[word])) for word in words])

    @classmethod
    def learned(cls, problem: Multiclass) -> Vocabulary | None:
        """Those of the texts that a problem was made of, or None; `BadInput` if a file has spoilt them."""
        words, idf = problem.columns, problem.idf
        if idf is None:
            return None
        numbers = isinstance(idf, list) and all(isinstance(each, float | int) for each in idf)
        if not (numbers and isinstance(words, list) and len(words) == len(idf) == problem.n_inputs):
            raise BadInput("The weights do not keep one number for each word of their texts; learn them again.")
        return cls(words, idf)

    def rows(self, texts: Sequence[str]) -> sparse.csr_array:
        """The weighted counts of words (n, words), each row of length 1, or 0 for a text without a known word."""
        column = {word: j for j, word in enumerate(self.words)}
        counts = [Counter(word for word in words_of(text) if word in column) for text in texts]
        found = ((i, column[word], t) for i, row in enumerate(counts) for word, t in row.items())
        entries = [(i, j, t * self.idf[j]) for i, j, t in found]
        at, words, values = (np.array(part) for part in zip(*entries, strict=True)) if entries else np.empty((3, 0))
        at = at.astype(int)
        norms = np.sqrt(np.bincount(at, values * values, len(texts)))
        return sparse.csr_array((values / norms[at], (at, words.astype(int))), shape=(len(texts), len(self.words)))


class OwnTexts(Stories):
    """A user's texts and their labels, none for texts to predict.

    remark : what the user should know of them;  files : of texts that are files, the path of each below the folder
    lines : of texts that are lines of a file, the number of each
    """

    remark: str = ""
    files: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()


def words_of(text: str) -> list[str]:
    """The words of a text in their order: its longest runs of letters and digits, without capitals.

    Letters are those of every script, with the marks that belong to them (ü is one letter, written as one sign or as u
    and two dots); ß is ss, as in capitals. The words of an ASCII text are its runs of a–z and 0–9 in lower case.
    """
    if text.isascii():
        return WORD.findall(text.lower())
    plain = unicodedata.normalize("NFC", text.casefold())
    marks = "".join(sorted(c for c in set(plain) if unicodedata.category(c).startswith("M")))
    return re.findall(rf"[^\W_](?:[^\W_]|[{marks}])*" if marks else WORD, plain)


def read_texts(path: str | Path) -> OwnTexts:
    """The texts and their labels, in the order of the folders and files, or of the lines.

    Raises
    ------
    BadInput : nothing there, fewer than two labels, an empty folder, or a line without label, tab and text
    """
    found = at(Path(path), bare=False)
    if len(set(found.topics)) < 2:
        raise BadInput(f"{path} has texts of one label only; give at least two labels.")
    return found


def to_predict(path: str | Path) -> OwnTexts:
    """Texts, and their labels if there are any; errors as of `read_texts`, though one label is enough."""
    return at(Path(path), bare=True)


def at(path: Path, bare: bool) -> OwnTexts:
    """The texts of a folder or file; if `bare`, they may lack labels, and then there are no topics."""
    if not path.exists():
        raise BadInput(f"There is no folder or file {path}; check its path.")
    try:
        return of_folder(path, bare) if path.is_dir() else of_lines(path, bare)
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({getattr(error, 'strerror', None) or error}); check it.") from None


def of_folder(path: Path, bare: bool) -> OwnTexts:
    """The files below PATH/LABEL, or of PATH."""
    here = [each for each in sorted(path.iterdir()) if not each.name.startswith(".")]
    labels = [each for each in here if each.is_dir()]
    if bare and here and not labels:
        return of_files(path, [], here)
    if not labels:
        raise BadInput(f"{path} holds no folders; put the texts of each label into a folder called like the label.")
    topics, every = [], []
    for label in labels:
        files = [each for each in sorted(label.rglob("*")) if each.is_file() and not each.name.startswith(".")]
        if not files:
            raise BadInput(f"The folder {label} holds no texts; fill it or remove it.")
        topics += [label.name] * len(files)
        every += files
    return of_files(path, topics, every)


def of_files(folder: Path, topics: list[str], files: list[Path]) -> OwnTexts:
    """A text a file of the folder, each on one line."""
    texts, old = zip(*(decoded(each, each.read_bytes()) for each in files), strict=True)
    found = OwnTexts(topics, [" ".join(text.split()) for text in texts])
    found.files = tuple(str(each.relative_to(folder)) for each in files)
    empty, remarks = [not text.strip() for text in texts], []
    if any(empty):
        remarks.append(f"{counted(sum(empty), 'text')} without a word, first {files[empty.index(True)]}")
    if any(old):
        remarks.append(f"{counted(sum(old), 'text')} not in UTF-8 read as Latin-1, first {files[old.index(True)]}")
    found.remark = "; ".join(remarks)
    return found


def of_lines(path: Path, bare: bool) -> OwnTexts:
    """The lines of a file."""
    text, old = decoded(path, content_of(path))
    lines = text.splitlines()
    texts = [" ".join(line.split()) for line in lines if line.strip()]
    if bare and texts and not any("\t" in line.strip() for line in lines):
        return with_remark(OwnTexts([], texts), old)
    found, numbers = [], []
    for number, line in enumerate(lines, 1):
        if line.strip():
            numbers.append(number)
            label, tab, rest = line.partition("\t")
            if label.strip() and tab and not rest.strip():
                told = f"Line {number} of {path} has the label {label.strip()[:60]!r} and no text"
                raise BadInput(f"{told}; write the text behind the tab, or remove the line.")
            try:
                found.append(story(line))
            except ValueError:
                raise BadInput(f"Line {number} of {path} is not of the form label<TAB>text; repair it.") from None
    if not found:
        raise BadInput(f"{path} holds no texts; give one a line, as label<TAB>text.")
    own = OwnTexts(*map(list, zip(*found, strict=True)))
    own.lines = tuple(numbers)
    return with_remark(own, old)


def with_remark(found: OwnTexts, old: bool) -> OwnTexts:
    """The texts of one file, with a remark if it is `old`, read as Latin-1."""
    if old:
        found.remark = "the file is not in UTF-8 and read as Latin-1"
    return found


def decoded(path: Path, content: bytes) -> tuple[str, bool]:
    """The text of a file, and whether it is no UTF-8 and was read as Latin-1; `BadInput` where it is no text."""
    check_text(path, content)
    try:
        return content.decode("utf-8-sig"), False
    except UnicodeDecodeError:
        return content.decode("latin-1"), True
