"""Ratings: labels that raters gave to items, from files of the user."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.data import store
from workbench.errors import BadInput


class Ratings(NamedTuple):
    """Rater, item and label of each judgement: three arrays (n,) of texts; no pair of rater and item occurs twice."""

    rater: NDArray[np.str_]
    item: NDArray[np.str_]
    label: NDArray[np.str_]


class FileFormat(NamedTuple):
    """The format of a file of ratings: the heading if there is one, and the columns of rater, item and label."""

    file: str
    heading: list[str] | None
    columns: tuple[int, int, int]
    delimiter: str = ","
    escapechar: str | None = None
    encoding: str = "utf-8"


CROWDS = {
    "face-sentiment": FileFormat("face_sentiment_answer.csv", ["question", "worker", "answer"], (1, 0, 2)),
    "bluebird": FileFormat("bluebird_crowd.txt", None, (1, 0, 2), "\t"),
    "book-crossing": FileFormat(
        "BX-Book-Ratings.csv",
        ["User-ID", "ISBN", "Book-Rating"],
        (0, 1, 2),
        ";",
        "\\",
        "latin-1",
    ),
}


def ratings(name: str, folder: str | Path | None = None) -> Ratings:
    """Judgements from a file in the folder, in CUTBENCH_DATA, or in a folder `crowd` inside one of these.

        face-sentiment   584 faces, 27 workers, 4 classes: question,worker,answer (Mozafari et al. 2014)
        bluebird         108 images, 39 raters, 2 classes: item, rater, label (Welinder et al. 2010)
        book-crossing    1,149,780 ratings from 0 (implicit interest) to 10: "User-ID";"ISBN";"Book-Rating", in Latin-1
                         (Ziegler et al. 2005); quotes, semicolons and blanks in ISBNs are kept as they are

    The file must be there: the first two have no pinned public copy, and of the third, whose site
    (http://www2.informatik.uni-freiburg.de/~cziegler/BX/) is down, no SHA-256 is known to us.
    """
    if name not in CROWDS:
        raise BadInput(f"There are no ratings called {name!r}; choose one of {', '.join(CROWDS)}.")
    form = CROWDS[name]
    places = [Path(place) for place in (folder or os.environ.get(store.VARIABLE),) if place]
    found = [path for place in places for path in (place / form.file, place / "crowd" / form.file) if path.is_file()]
    if not found:
        where = places[0] if places else f"a folder, named with --data or {store.VARIABLE}"
        raise store.MissingData(f"There is no {form.file} for {name}; put it into {where}.")
    return rated(found[0], form)


def rated(path: Path, form: FileFormat) -> Ratings:
    """The ratings of a file, or `BadInput` with the line of the fault."""
    rows: list[list[str]] = []
    first: dict[tuple[str, str], int] = {}
    with path.open(encoding=form.encoding, newline="") as file:
        reader = csv.reader(file, strict=True, delimiter=form.delimiter, escapechar=form.escapechar)
        try:
            if form.heading and (heading := next(reader, None)) != form.heading:
                raise BadInput(f"Line 1 of {path} is {heading}; it must name the columns {', '.join(form.heading)}.")
            for fields in reader:
                number = reader.line_num
                if not any(fields):
                    continue
                if len(fields) != 3 or not all(field.strip() for field in fields):
                    raise BadInput(f"Line {number} of {path} has {len(fields)} fields; give rater, item and label.")
                rater, item, label = (fields[at] for at in form.columns)
                if (earlier := first.setdefault((rater, item), number)) != number:
                    raise BadInput(f"Line {number} of {path} judges the pair of line {earlier} again; keep one.")
                rows.append([rater, item, label])
        except UnicodeDecodeError:
            raise BadInput(f"{path} is not text in {form.encoding.upper()}; replace it by a fresh copy.") from None
        except csv.Error as error:
            raise BadInput(f"Line {reader.line_num} of {path} cannot be split ({error}); repair its quotes.") from None
    if not rows:
        raise BadInput(f"{path} holds no ratings; replace it by a fresh copy.")
    return Ratings(*(np.array(column) for column in zip(*rows, strict=True)))
