"""Problems: private objectives, a public regularizer, data sets, and the optimum.

Σ_i f_i(x) + n r(x), x ∈ R^d; every x and v has shape (replicas, dimension).
"""

from netsim.models.model import L1, ElasticNet, FusedLasso, LInf, Regularizer, Zero
from netsim.problems.data import Cache, Dataset, load
from netsim.problems.losses import LeastSquares, LogisticLoss, NonconvexLogistic, PoissonLoss
from netsim.problems.minimizers import Optimum, regularized_proximal
from netsim.problems.modelled import FromFunctions, Modelled, objective
from netsim.problems.objective import Bent, Objective, Sampled, Surrounded, Tilted, weak_convexity
from netsim.problems.problem import (
    Problem,
    build,
    least_squares,
    logistic,
    mlp,
    nonconvex_logistic,
    poisson,
    scale_for,
    sensors,
    softmax,
)

__all__ = [
    "L1",
    "Bent",
    "Cache",
    "Dataset",
    "ElasticNet",
    "FromFunctions",
    "FusedLasso",
    "LInf",
    "LeastSquares",
    "LogisticLoss",
    "Modelled",
    "NonconvexLogistic",
    "Objective",
    "Optimum",
    "PoissonLoss",
    "Problem",
    "Regularizer",
    "Sampled",
    "Surrounded",
    "Tilted",
    "Zero",
    "build",
    "least_squares",
    "load",
    "logistic",
    "mlp",
    "nonconvex_logistic",
    "objective",
    "poisson",
    "regularized_proximal",
    "scale_for",
    "sensors",
    "softmax",
    "weak_convexity",
]
