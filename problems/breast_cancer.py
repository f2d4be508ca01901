"""Tumours, malignant (−1) or benign (1), by 30 measurements: a small real data set with linear scores.

It ships with scikit-learn (the extra `data`). Each measurement is standardised over all 569 tumours (mean 0,
variance 1); a constant 1 is the last feature. Samples come in the order of the source.
"""

from __future__ import annotations

import numpy as np

import workbench as wb


def breast_cancer(n: int = 569) -> wb.Linear:
    """The first n of 569 tumours, standardised, with a constant."""
    try:
        from sklearn.datasets import load_breast_cancer
    except ImportError:
        raise wb.MissingCapability("breast-cancer comes with scikit-learn; pip install 'cutbench[data]'.") from None
    X, y = load_breast_cancer(return_X_y=True)
    if not 2 <= n <= len(y):
        raise wb.BadInput(f"n is {n} but there are {len(y)} samples; choose n between 2 and {len(y)}.")
    X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(y))])
    return wb.Linear(X[:n], 2.0 * y[:n] - 1)


NAMES = {"breast-cancer": breast_cancer}
