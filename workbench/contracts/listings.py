"""`Listing`: every cut of a problem whose outputs are single labels, as a few small tables over the rows of its data.

    a_i(y) = s_cy (e_y − e_t) ⊗ x_i + B (ε_y − ε_t) + K ε_{k + S_cy},      o_i(y) = o_cy       for y ≠ t

with c the kind of sample i and t its true label; the truth's own cut is zero. The first part stands over the weights
W (k, p), label by label; ε are unit vectors of the entries of θ behind W: k biases, present where B = 1, then costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.contracts.cuts import Floats, Ints


class Listing(NamedTuple):
    """The tables of the module's docstring, for k labels, n samples and C kinds of samples.

    indptr (n + 1,), indices, values : the rows x_i of the data, CSR;  square : (n,) ‖x_i‖²
    kind : (n,) c;  truth : (C,) t;  scale : (C, k) s, 0 at t;  offset : (C, k) o, 0 at t
    biased : B, 0 or 1;  classes : (C, k) S, −1 where an error costs nothing;  K : the scale of costs
    inputs : the columns of W
    """

    indptr: Ints
    indices: Ints
    values: Floats
    square: Floats
    kind: Ints
    truth: Ints
    scale: Floats
    offset: Floats
    biased: int
    classes: Ints
    K: float
    inputs: int

    @property
    def plain(self) -> bool:
        """Whether all slopes are (e_y − e_t) ⊗ x_i: no biases, no costs, no factors."""
        others = np.arange(self.scale.shape[1]) != self.truth[:, None]
        return not self.biased and not (self.classes >= 0).any() and bool((self.scale == others).all())
