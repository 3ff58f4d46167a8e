"""One published algorithm a file, its privacy claim on the same page."""

from netsim.algorithms.algorithm import Algorithm, Setting, Stopping
from netsim.algorithms.d_admm import DAdmm
from netsim.algorithms.dp_admm import DpAdmm
from netsim.algorithms.dp_recal import DPRecal
from netsim.algorithms.ic_admm import IcAdmm
from netsim.algorithms.private_gradient_descent import PrivateGradientDescent, stable_step
from netsim.algorithms.r_admm import MrAdmm, RAdmm
from netsim.algorithms.recal import Recal
from netsim.algorithms.rw_admm import RwAdmm
from netsim.algorithms.walkman import Walkman
from netsim.clipping import Clip

__all__ = [
    "Algorithm",
    "Clip",
    "DAdmm",
    "DPRecal",
    "DpAdmm",
    "IcAdmm",
    "MrAdmm",
    "PrivateGradientDescent",
    "RAdmm",
    "Recal",
    "RwAdmm",
    "Setting",
    "Stopping",
    "Walkman",
    "stable_step",
]
