"""The nouns of the house and the contracts between its rooms; one import for all of them.

cuts           Blocks, Prices, Cuts, Rows          θ by blocks, p_i, the pool of cuts, what a master receives
oracles        Oracle, Kernel, Terms               θ -> the highest cut of each sample
problems       Problem and its capabilities        data and an output structure: features, loss, argmax
formulations   CutForm, SmoothForm, Majorized, Search
solvers        Solver, Trace                       a stochastic method of ours, and what its run left behind
"""

from __future__ import annotations

from workbench.contracts.cuts import Blocks, Cuts, Floats, Grown, GrownRows, Ints, Prices, Rows
from workbench.contracts.formulations import CutForm, Declared, Majorized, Restarted, Search, SmoothForm
from workbench.contracts.oracles import Kernel, Oracle, Terms
from workbench.contracts.problems import (
    Compact,
    CompactHinge,
    Enumerable,
    Kernelled,
    Labelled,
    Latent,
    LinearScores,
    LogPartition,
    Marginals,
    Problem,
    Recording,
    RunnerUp,
    SlackArgmax,
    enumerated,
)
from workbench.contracts.solvers import Mistakes, Solver, Trace

__all__ = [
    "Blocks",
    "Compact",
    "CompactHinge",
    "CutForm",
    "Cuts",
    "Declared",
    "Enumerable",
    "Floats",
    "Grown",
    "GrownRows",
    "Ints",
    "Kernel",
    "Kernelled",
    "Labelled",
    "Latent",
    "LinearScores",
    "LogPartition",
    "Majorized",
    "Marginals",
    "Mistakes",
    "Oracle",
    "Prices",
    "Problem",
    "Recording",
    "Restarted",
    "Rows",
    "RunnerUp",
    "Search",
    "SlackArgmax",
    "SmoothForm",
    "Solver",
    "Terms",
    "Trace",
    "enumerated",
]
