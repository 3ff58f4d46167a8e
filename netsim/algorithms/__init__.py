"""One published algorithm a file, its privacy claim on the same page."""

from netsim.algorithms.algorithm import Algorithm, Setting, Stopping
from netsim.algorithms.cpgt import Cpgt
from netsim.algorithms.diadsp import DiaDSP
from netsim.algorithms.dmsp import Dmsp
from netsim.algorithms.dp_recal import DPRecal
from netsim.algorithms.dpp2 import Dpp2
from netsim.algorithms.extra import Extra, PgExtra
from netsim.algorithms.gradient_tracking import GradientTracking, adapted_step
from netsim.algorithms.mixing import tracking_step
from netsim.algorithms.nids import Nids
from netsim.algorithms.ppdc import Ppdc, ppdc_step
from netsim.algorithms.private_gradient_descent import PrivateGradientDescent, stable_step
from netsim.algorithms.random_aggregates import GroupedDescent, NeighborRange
from netsim.algorithms.random_penalty_admm import RandomPenaltyAdmm
from netsim.algorithms.recal import Recal
from netsim.algorithms.secret_sharing import SecretSharing
from netsim.clipping import Clip

__all__ = [
    "Algorithm",
    "Clip",
    "Cpgt",
    "DPRecal",
    "DiaDSP",
    "Dmsp",
    "Dpp2",
    "Extra",
    "GradientTracking",
    "GroupedDescent",
    "NeighborRange",
    "Nids",
    "PgExtra",
    "Ppdc",
    "PrivateGradientDescent",
    "RandomPenaltyAdmm",
    "Recal",
    "SecretSharing",
    "Setting",
    "Stopping",
    "adapted_step",
    "ppdc_step",
    "stable_step",
    "tracking_step",
]
