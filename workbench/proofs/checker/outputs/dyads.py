"""Dyads: `multiclass` over linear features of pairs, and the features of both sides (docs/certificate-format.md §3).

Pair i has a left side l_i, row i of `left`, and a right side r_i, row i of `right`. Formulations of linear scores read
neither. `nuclear-dyadic` scores by both.
"""

from __future__ import annotations

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.outputs._common import read_rows
from workbench.proofs.checker.outputs.multiclass import Multiclass
from workbench.proofs.checker.whole import Array, Rows

SIDES = ("left", "right")


class Dyads(Multiclass):
    name = "dyads"

    def __init__(self, fields: Fields):
        super().__init__(fields)
        self.left, self.right = (side_of(fields, side, self.n) for side in SIDES)
        read_names(fields, "linear", self.p)
        demand(
            fields.get("of_both").shape == () and fields.get("of_both").dtype == bool, "of_both is not true or false"
        )

    def words(self) -> str:
        sides = f"{self.left.columns} left and {self.right.columns} right features"
        return f"dyads: one of {self.k} labels for each of {self.n} pairs with {sides}"


def side_of(fields: Fields, side: str, n: int) -> Rows:
    """The rows of one side."""
    columns = fields.number(f"{side}_columns", 1)
    read_names(fields, side, columns)
    names = ("data", "indices", "indptr")
    return read_rows(Fields({name: fields.get(f"{side}_{name}") for name in names}, f"data_{side}_"), n, columns)


def read_names(fields: Fields, side: str, columns: int) -> Array | None:
    """The names of columns, which are no part of any objective; None if there are none."""
    if not fields.has(f"{side}_names"):
        return None
    names = fields.get(f"{side}_names")
    distinct = names.shape == (columns,) and len(set(names.tolist())) == columns
    demand(distinct, f"data_{side}_names does not name {columns} columns apart")
    return names
