"""What the agents minimize: private objectives, a public regularizer, data sets, and the optimum.

Σ_i f_i(x) + n r(x), x ∈ R^d; every x and v has shape (replicas, dimension).
"""

from netsim.problems.data import Dataset, load
from netsim.problems.logistic_loss import LogisticLoss
from netsim.problems.objective import Objective
from netsim.problems.optimum import Optimum
from netsim.problems.problem import Problem, build, least_squares, logistic
from netsim.problems.squared_loss import LeastSquares
from netsim.problems.tilted import Tilted
from netsim.regularizers import L1, Regularizer, Zero

__all__ = [
    "L1",
    "Dataset",
    "LeastSquares",
    "LogisticLoss",
    "Objective",
    "Optimum",
    "Problem",
    "Regularizer",
    "Tilted",
    "Zero",
    "build",
    "least_squares",
    "load",
    "logistic",
]
