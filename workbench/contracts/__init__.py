"""The nouns of the house and the contracts between its rooms; one import for all of them.

cuts           Blocks, Prices, Cuts, Rows          θ by blocks, p_i, the pool of cuts, what a master receives
oracles        Oracle, Kernel, Terms               θ -> the highest cut of each sample
listings       Listing                             all cuts of single labels, as tables
problems       Problem and its capabilities        data and an output structure: features, loss, argmax
regularizers   Regularizer, Shape                  the term of F that depends on no sample
formulations   CutForm, SmoothForm, Majorized, Search
relations      Change, Row, Related               how an optimum moves with the data
solvers        Solver, Trace                       a stochastic method of ours, and the record of its run
"""

from __future__ import annotations

from workbench.contracts.cuts import Blocks, Cuts, Floats, Grown, GrownRows, Ints, Prices, Rows, SlopesAndOffsets
from workbench.contracts.formulations import (
    CutConstraints,
    CutForm,
    Declared,
    Formulation,
    Majorized,
    Optimum,
    Restarted,
    Search,
    SmoothForm,
)
from workbench.contracts.listings import Listing
from workbench.contracts.oracles import Kernel, Oracle, Terms
from workbench.contracts.problems import (
    Compact,
    CompactHinge,
    Enumerable,
    Exact,
    Kernelled,
    Labelled,
    Latent,
    LinearScores,
    Listable,
    LogPartition,
    Marginals,
    Missing,
    Predicting,
    Problem,
    Recording,
    RunnerUp,
    Signed,
    SlackArgmax,
    SlackKernelled,
    enumerated,
)
from workbench.contracts.regularizers import Regularizer, Shape
from workbench.contracts.relations import (
    MEANS,
    OF_MARGINS,
    OF_MEANS,
    OF_SLACKS,
    OF_SUMS,
    SAME,
    Change,
    Related,
    Row,
)
from workbench.contracts.solvers import Mistakes, Solver, State, Trace

__all__ = [
    "MEANS",
    "OF_MARGINS",
    "OF_MEANS",
    "OF_SLACKS",
    "OF_SUMS",
    "SAME",
    "Blocks",
    "Change",
    "Compact",
    "CompactHinge",
    "CutConstraints",
    "CutForm",
    "Cuts",
    "Declared",
    "Enumerable",
    "Exact",
    "Floats",
    "Formulation",
    "Grown",
    "GrownRows",
    "Ints",
    "Kernel",
    "Kernelled",
    "Labelled",
    "Latent",
    "LinearScores",
    "Listable",
    "Listing",
    "LogPartition",
    "Majorized",
    "Marginals",
    "Missing",
    "Mistakes",
    "Optimum",
    "Oracle",
    "Predicting",
    "Prices",
    "Problem",
    "Recording",
    "Regularizer",
    "Related",
    "Restarted",
    "Row",
    "Rows",
    "RunnerUp",
    "Search",
    "Shape",
    "Signed",
    "SlackArgmax",
    "SlackKernelled",
    "SlopesAndOffsets",
    "SmoothForm",
    "Solver",
    "State",
    "Terms",
    "Trace",
    "enumerated",
]
