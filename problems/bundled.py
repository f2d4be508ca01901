"""Small real data sets that ship with scikit-learn (the extra `data`); nothing is downloaded.

    digits   1,797 handwritten digits of 8×8 pixels, 10 classes; X/16, so features lie in [0, 1]
    iris     150 flowers, 4 lengths in cm as they are, 3 classes
    wine     178 wines, 13 measurements, each standardised over all 178 (mean 0, variance 1), 3 classes
    breast-cancer  569 tumours, malignant (−1) or benign (1), by 30 measurements: linear scores. Each measurement
                   is standardised over all 569 (mean 0, variance 1); a constant 1 is the last feature

The first n samples in the order of the source, no bias feature but the one said. iris and wine are sorted by
class: fewer than 51 irises or 60 wines hold a single one.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

import workbench as wb

FILES = {  # lines of heading, and the file
    "digits": (0, "digits.csv.gz"),
    "iris": (1, "iris.csv"),
    "wine": (1, "wine_data.csv"),
    "breast-cancer": (1, "breast_cancer.csv"),
}


def digits(n: int = 300) -> wb.Multiclass:
    """The first n of 1,797 handwritten digits, X/16, no bias."""
    X, y = source("digits")
    problem = wb.Multiclass(*first(n, X / 16, y))
    problem.pixels = [8, 8]
    return problem


def iris(n: int = 150) -> wb.Multiclass:
    """The first n of 150 irises, lengths in cm, no bias."""
    return wb.Multiclass(*first(n, *source("iris")))


def wine(n: int = 178) -> wb.Multiclass:
    """The first n of 178 wines, every feature standardised over all 178, no bias."""
    X, y = source("wine")
    return wb.Multiclass(*first(n, standardised(X), y))


def breast_cancer(n: int = 569) -> wb.Linear:
    """The first n of 569 tumours, standardised, with a constant."""
    X, y = source("breast-cancer")
    X, y = first(n, np.column_stack([standardised(X), np.ones(len(y))]), y, least=2)
    return wb.Linear(X, 2.0 * y - 1)


def source(name: str):
    """The arrays (X, y) of a data set bundled with scikit-learn, whose own files are read.

    The package is not imported, which would take longer than to solve. Its loaders give the same arrays (a test).
    """
    package = find_spec("sklearn")  # looks for the package and does not run it
    if package is None or package.origin is None:
        raise wb.MissingCapability(f"{name} comes with scikit-learn; pip install 'cutbench[data]'.")
    heading, file = FILES[name]
    table = np.loadtxt(Path(package.origin).parent / "datasets" / "data" / file, delimiter=",", skiprows=heading)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int64)


def standardised(X):
    """Every column with mean 0 and variance 1."""
    return (X - X.mean(axis=0)) / X.std(axis=0)


def first(n: int, X, y, least: int = 1):
    """The first n rows of both."""
    if not least <= n <= len(y):
        raise wb.BadInput(f"n is {n} but there are {len(y)} samples; choose n between {least} and {len(y)}.")
    return X[:n], y[:n]


NAMES = {"digits": digits, "iris": iris, "wine": wine, "breast-cancer": breast_cancer}
