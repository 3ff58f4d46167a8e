"""Noise from a claim backwards: the factor at which a formula gives the ε that is asked for."""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from netsim.claims import Claim
from netsim.errors import PrivacyError

FARTHEST = 80
"""No noise is made more than 2^80 times as large, or as small."""
TOLERANCE = 1e-13
ROUNDING = float(np.finfo(np.float64).eps)


def noise_factor(claimed: Callable[[float], Claim | None], epsilon: float, delta: float) -> float:
    """The factor on the noise at which `claimed` says ε, for a formula that falls as the noise grows.

    You get a `PrivacyError` where nothing is claimed, a condition fails, or no factor up to 2^80 gives this ε.
    """
    if not (0 < epsilon < math.inf and 0 <= delta < 1):
        raise PrivacyError(f"cannot calibrate to ε = {epsilon:g}, δ = {delta:g}: need ε > 0 and 0 <= δ < 1")

    def excess(log_factor: float) -> float:
        claim = claimed(2.0**log_factor)
        if claim is None:
            raise PrivacyError("cannot calibrate: nothing is claimed")
        if claim.epsilon is None:
            raise PrivacyError(f"cannot calibrate: the claim is undefined ({'; '.join(claim.failed_conditions)})")
        return math.log(claim.epsilon / epsilon) if claim.epsilon > 0 else -math.inf

    first = claimed(1.0)
    if first is not None and first.epsilon:
        inverse = first.epsilon / epsilon  # exact where ε falls as 1/noise
        if abs(excess(math.log2(inverse))) <= 4 * ROUNDING:
            return inverse
    low = high = 0.0
    while excess(low) < 0 and low > -FARTHEST:
        low -= 1
    while excess(high) > 0 and high < FARTHEST:
        high += 1
    if excess(low) < 0 or excess(high) > 0:
        raise PrivacyError(f"cannot calibrate: no noise up to 2^±{FARTHEST} times this gives ε = {epsilon:g}")
    if low == high:
        return 2.0**low
    return 2.0 ** float(brentq(lambda t: max(excess(t), -1e3), low, high, xtol=TOLERANCE, rtol=TOLERANCE))
