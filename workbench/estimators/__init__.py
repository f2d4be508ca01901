"""scikit-learn estimators whose optimum is proven: `fit` is `workbench.solve`, and `gap_` and `certificate_` say so.

    MulticlassSVC       margin or slack rescaling, any cost matrix
    CostLearningSVC     the costs of error classes learned along with the weights
    SelfPacedSVC        samples that are too hard are given up, at a charge
    ChainSVC, ChainCRF  sequences of labels; inputs as arrays or as lists of dicts
    StructuredSVC       any structure, by features, loss and argmax of yours

`C` is scikit-learn's: ½‖w‖² + C Σ_i s_i h_i(w) with sample weights s, which is λ = 1/(C Σ s) here.
"""

from workbench.estimators.chain import ChainCRF, ChainSVC
from workbench.estimators.cost_learning import CostLearningSVC
from workbench.estimators.multiclass import MulticlassSVC
from workbench.estimators.self_paced import SelfPacedSVC
from workbench.estimators.structured import StructuredSVC

__all__ = ["ChainCRF", "ChainSVC", "CostLearningSVC", "MulticlassSVC", "SelfPacedSVC", "StructuredSVC"]
