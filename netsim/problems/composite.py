"""The proximal map of f + r, solved to a stated tolerance."""

import numpy as np

from netsim.arrays import Array
from netsim.errors import SimulationError
from netsim.problems.objective import Objective
from netsim.problems.optimum import minimizer
from netsim.regularizers import Regularizer, Zero

TOLERANCE = 1e-12


def regularized_proximal(objective: Objective, v: Array, step: float, regularizer: Regularizer) -> Array:
    """argmin_x f(x) + r(x) + ‖x − v‖²/(2·step), each row alone."""
    if isinstance(regularizer, Zero):
        return objective.proximal(v, step)
    return np.concatenate([_row(objective, v[r : r + 1], step, regularizer) for r in range(len(v))])


def _row(objective: Objective, v: Array, step: float, regularizer: Regularizer) -> Array:
    def gradient(x: Array) -> Array:
        return objective.gradient(x) + (x - v) / step

    def hessian(x: Array) -> Array:
        return objective.hessian(x[0]) + np.eye(v.shape[-1]) / step

    x = minimizer(gradient, hessian, objective.smoothness + 1 / step, regularizer, v)
    off = np.abs(x - regularizer.proximal(x - gradient(x), 1.0)).max()
    if not off <= TOLERANCE * (1 + np.abs(v).max() / step):
        raise SimulationError(f"proximal of {objective!r} with r: missed its tolerance at step = {step!r}")
    return x
