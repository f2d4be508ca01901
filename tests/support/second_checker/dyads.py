"""The output structure `dyads` (§3) and the proof by slopes of `nuclear-dyadic` (§12), all in fractions."""

from .files import need
from .reader import MOST_COLUMNS
from .structures import Multiclass


class Dyads(Multiclass):
    """`multiclass` over linear features of pairs; sides[side] holds the rows of each side, of columns[side] columns."""

    def __init__(self, read):
        super().__init__(read)
        self.sides, self.columns = {}, {"linear": self.p}
        for side in ("left", "right"):
            self.columns[side] = read.whole(f"{side}_columns", (), 1, MOST_COLUMNS)
            parts = {key: read.array(f"{side}_{key}", None, (None,)) for key in ("data", "indices", "indptr")}
            own = type(read)({f"data_{key}": array for key, array in parts.items()})
            self.sides[side] = own.rows(None, self.n, self.columns[side])[1]
        read.array("of_both", "|b1", ())
        for side, columns in self.columns.items():
            if f"{side}_names" in read.arrays:
                found = read.array(f"{side}_names", None, (columns,)).tolist()
                need(len(set(found)) == columns, f"two columns of {side} share a name")
