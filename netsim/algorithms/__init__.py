"""One published algorithm a file, its privacy claim on the same page."""

from netsim.algorithms.algorithm import Algorithm, Setting, Stopping
from netsim.algorithms.dmsp import Dmsp
from netsim.algorithms.dp_recal import DPRecal
from netsim.algorithms.dpp2 import Dpp2
from netsim.algorithms.private_gradient_descent import PrivateGradientDescent, stable_step
from netsim.algorithms.random_aggregates import GroupedDescent, NeighborRange
from netsim.algorithms.random_penalty_admm import RandomPenaltyAdmm
from netsim.algorithms.recal import Recal
from netsim.algorithms.secret_sharing import SecretSharing
from netsim.clipping import Clip

__all__ = [
    "Algorithm",
    "Clip",
    "DPRecal",
    "Dmsp",
    "Dpp2",
    "GroupedDescent",
    "NeighborRange",
    "PrivateGradientDescent",
    "RandomPenaltyAdmm",
    "Recal",
    "SecretSharing",
    "Setting",
    "Stopping",
    "stable_step",
]
