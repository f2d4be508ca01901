"""The nouns of the house and the contracts between its rooms; one import for all of them.

cuts           Blocks, Prices, Cuts, Rows          θ by blocks, p_i, the pool of cuts, what a master receives
oracles        Oracle, Kernel, Terms               θ -> the highest cut of each sample
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
    Scalable,
    Search,
    SmoothForm,
)
from workbench.contracts.oracles import Kernel, Oracle, Terms
from workbench.contracts.problems import (
    Asking,
    BoundedFeatures,
    Compact,
    CompactHinge,
    Conditional,
    Enumerable,
    Exact,
    ExactLoss,
    Hinting,
    Kernelled,
    Labelled,
    Latent,
    LinearScores,
    LogPartition,
    Marginals,
    Missing,
    Placing,
    Predicting,
    Problem,
    Recording,
    RunnerUp,
    Signed,
    SlackArgmax,
    Stored,
    Tabled,
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
    "Asking",
    "Blocks",
    "BoundedFeatures",
    "Change",
    "Compact",
    "CompactHinge",
    "Conditional",
    "CutConstraints",
    "CutForm",
    "Cuts",
    "Declared",
    "Enumerable",
    "Exact",
    "ExactLoss",
    "Floats",
    "Formulation",
    "Grown",
    "GrownRows",
    "Hinting",
    "Ints",
    "Kernel",
    "Kernelled",
    "Labelled",
    "Latent",
    "LinearScores",
    "LogPartition",
    "Majorized",
    "Marginals",
    "Missing",
    "Mistakes",
    "Optimum",
    "Oracle",
    "Placing",
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
    "Scalable",
    "Search",
    "Shape",
    "Signed",
    "SlackArgmax",
    "SlopesAndOffsets",
    "SmoothForm",
    "Solver",
    "State",
    "Stored",
    "Tabled",
    "Terms",
    "Trace",
    "enumerated",
]
