"""What the agents minimize: private objectives, a public regularizer, data sets, and the optimum.

Σ_i f_i(x) + n r(x), x ∈ R^d; every x and v has shape (replicas, dimension).
"""

from netsim.problems.bent import Bent
from netsim.problems.composite import regularized_proximal
from netsim.problems.data import Cache, Dataset, load
from netsim.problems.functions import FromFunctions, objective
from netsim.problems.kinds import (
    build,
    least_squares,
    logistic,
    mlp,
    nonconvex_logistic,
    scale_for,
    sensors,
    softmax,
)
from netsim.problems.logistic_loss import LogisticLoss
from netsim.problems.modelled import Modelled
from netsim.problems.nonconvex_logistic import NonconvexLogistic
from netsim.problems.objective import Objective, Sampled, weak_convexity
from netsim.problems.optimum import Optimum
from netsim.problems.problem import Problem
from netsim.problems.squared_loss import LeastSquares
from netsim.problems.tilted import Tilted
from netsim.regularizers import L1, Regularizer, Zero

__all__ = [
    "L1",
    "Bent",
    "Cache",
    "Dataset",
    "FromFunctions",
    "LeastSquares",
    "LogisticLoss",
    "Modelled",
    "NonconvexLogistic",
    "Objective",
    "Optimum",
    "Problem",
    "Regularizer",
    "Sampled",
    "Tilted",
    "Zero",
    "build",
    "least_squares",
    "load",
    "logistic",
    "mlp",
    "nonconvex_logistic",
    "objective",
    "regularized_proximal",
    "scale_for",
    "sensors",
    "softmax",
    "weak_convexity",
]
