"""The data arrays of a certificate, each checked as it is taken (§3)."""

import itertools
import math

import numpy as np

from .files import exact, need

MOST_COLUMNS = 1 << 40


class Reader:
    """Data arrays by name, each checked as it is taken; `end` refuses what nobody took."""

    def __init__(self, arrays):
        self.arrays = {name[5:]: array for name, array in arrays.items() if name.startswith("data_")}
        self.hints = {name[5:]: array for name, array in arrays.items() if name.startswith("hint_")}
        self.taken, self.hinted = set(), set()

    def array(self, name, dtype, shape):
        need(name in self.arrays, f"data_{name} is missing")
        self.taken.add(name)
        found = self.arrays[name]
        need(dtype is None or found.dtype.str == dtype, f"data_{name} has type {found.dtype.str}")
        fits = found.ndim == len(shape) and all(a in (None, b) for a, b in zip(shape, found.shape, strict=True))
        need(fits, f"data_{name} has shape {found.shape}")
        return found

    def floats(self, name, shape, lowest=-math.inf):
        found = self.array(name, "<f8", shape)
        need(bool(np.isfinite(found).all() and (found >= lowest).all()), f"data_{name} has a number out of range")
        return exact(found)

    def whole(self, name, shape, low=None, high=None, dtype="<i8"):
        found = self.array(name, dtype, shape).tolist()
        flat = [found] if not shape else list(itertools.chain(*found)) if len(shape) == 2 else found
        inside = all((low is None or low <= item) and (high is None or item <= high) for item in flat)
        need(inside, f"data_{name} has a number out of range")
        return found

    def classes(self):
        found = self.array("classes", None, (None,)).tolist()
        need(len(found) >= 2 and len(set(found)) == len(found), "classes are no two or more distinct values")
        need(all(item == item for item in found), "a class is NaN")
        return len(found)

    def weights(self, n):
        found = self.floats("weights", (n,), 0)
        need(any(found), "all weights are 0")
        return found

    def costs(self, k):
        found = self.floats("cost", (k, k), 0)
        need(not any(found[y][y] for y in range(k)), "the cost of a right label is not 0")
        return found

    def hint(self, name, shape):
        need(name in self.hints, f"hint_{name} is missing")
        found = self.hints[name]
        need(found.dtype.str == "<f8" and found.shape == shape, f"hint_{name} is {found.dtype.str} {found.shape}")
        need(bool(np.isfinite(found).all()), f"hint_{name} is not finite")
        self.hinted.add(name)
        return exact(found)

    def rows(self, columns, m=None, p=None):
        """The rows of X as dicts column → number; the number of columns is p, or stands in an array."""
        p = self.whole(columns, (), 1, MOST_COLUMNS) if p is None else p
        indptr = self.whole("indptr", (None if m is None else m + 1,), 0)
        data, indices = self.floats("data", (None,)), self.whole("indices", (None,), 0, p - 1)
        need(len(indptr) >= 1 and indptr[0] == 0 and indptr[-1] == len(data) == len(indices), "indptr has wrong ends")
        need(all(a <= b for a, b in itertools.pairwise(indptr)), "indptr falls")
        found = []
        for first, last in itertools.pairwise(indptr):
            columns = indices[first:last]
            need(all(a < b for a, b in itertools.pairwise(columns)), "the indices of a row do not rise")
            found.append({j: x for j, x in zip(columns, data[first:last], strict=True) if x})
        return p, found

    def end(self):
        need(self.taken == set(self.arrays), f"data arrays are not allowed: {sorted(set(self.arrays) - self.taken)}")
        need(self.hinted == set(self.hints), f"hints are not allowed: {sorted(set(self.hints) - self.hinted)}")
