"""Proof by a search tree, for capped terms (docs/certificate-format.md §7; the mathematics in docs/mathematics.md §6).

    F(w) = ½‖w‖² + Σ_i min(t_i(w), κ_i),    t_i(w) = min over the states h of c_i max_z ⟨a_hz, w⟩ + o_hz

A node holds a box low ≤ t(w*) ≤ high and dual weights λ; what nodes prove is computed anew (`_boxes`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.contracts import Ends, Proof, Statement
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.kinds._boxes import Boxes
from workbench.proofs.checker.kinds._nodes import AGAIN, Tree
from workbench.proofs.checker.kinds._terms import terms_of
from workbench.proofs.checker.learning import Program, read_program
from workbench.proofs.checker.whole import Array, Whole, exact

MOST_ENTRIES = 20_000_000  # of all slopes together


class SearchTree(Proof):
    name = "tree"

    @classmethod
    def prepare(cls, header: Header, arrays: dict[str, Array]) -> tuple[Statement, Any]:  # each kind its own
        statement, program = read_program(header, arrays, "tree")
        form, fields = program.formulation, program.fields
        owners, outputs, truths = form.pairs()
        demand(len(owners) * form.dim <= MOST_ENTRIES, "all cuts together are too many entries to search")
        terms = terms_of(form, owners, outputs, truths)
        parents = fields.ints("tree_parents", None)
        count, most = len(parents), 2 * terms.states - 1
        ordered = count and parents[0] == 0 and (parents >= 0).all() and (parents[1:] < np.arange(1, count)).all()
        demand(ordered, "the tree's nodes do not stand behind their parents")
        branches = fields.ints("tree_branches", count, within=(AGAIN, most))
        demand(branches[0] == AGAIN, "the tree's root has a branch")
        left_out = branches[(branches != AGAIN) & (branches % 2 == 1)] // 2
        demand(np.isin(left_out, terms.firsts[:-1]).all(), "a branch leaves out a state that is not a sample's first")
        cutoffs = fields.typed("tree_cutoffs", "<f8", (count,))
        demand(not np.isnan(cutoffs).any(), "a cutoff of the tree is no number")
        demand(fields.number("tree_cuts", 0) == terms.cuts, f"the tree is not about the {terms.cuts} cuts of the data")
        weights, starts = fields.floats("tree_data", None, least=0.0), fields.ints("tree_indptr", count + 1)
        cuts = fields.ints("tree_indices", len(weights), within=(0, terms.cuts - 1))
        rising = starts[0] == 0 and starts[-1] == len(weights) and (starts[1:] >= starts[:-1]).all()
        demand(rising, "tree_indptr does not say where the tree's rows end")
        fields.done()
        return statement, (program, Tree(parents, branches, cutoffs, starts, cuts, exact(weights)), terms)

    @classmethod
    def ends(cls, prepared: Any, claim: Callable[[Ends], bool]) -> Ends:  # prepared: each kind its own
        program, tree, terms = prepared
        upper, start = (value_at(program, point) for point in (program.theta, program.start()))
        return Ends(Boxes(program.formulation, terms, upper).proven(tree), upper, upper, start, "rational")


def value_at(program: Program, point: Whole) -> Fraction:
    """F at the point."""
    form = program.formulation
    return form.regularizer.value(point) + form.capped(form.highest(point, form.samples))
