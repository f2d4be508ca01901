"""The first catalogue of faults: written by the authors of the judge, one small method of a plain learner at a time.

Kinds:

    oracle     another output than the highest one is found        loss       a wrong loss
    features   wrong slopes                                       scaling    λ, 1/n, weights: another trade-off
    step       wrong lengths or directions of steps               average    a wrong average
    projection onto the wrong set, or in the wrong metric         sampling   not all samples, or not as drawn
    dual       dual weights, offsets or the Gram matrix wrong     report     what is returned is not what was learned
    number     too few digits                                     stop       ends before it is done

No fault here only slows a learner down: each settles where the objective is higher (`cutbench bench planted-bugs`
measures by how much), or never settles.
"""

from workbench.judging.faults.first.costs import COSTS
from workbench.judging.faults.first.duals import DUALS
from workbench.judging.faults.first.endings import ENDINGS
from workbench.judging.faults.first.features import FEATURES
from workbench.judging.faults.first.outputs import OUTPUTS
from workbench.judging.faults.first.steps import STEPS

FAULTS = [*OUTPUTS, *FEATURES, *STEPS, *DUALS, *ENDINGS, *COSTS]
