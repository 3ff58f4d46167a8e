"""Noise from a claim backwards: the factor at which a formula gives the ε that is asked for."""

import math
from collections.abc import Callable

from scipy.optimize import brentq

from netsim.claims import Claim
from netsim.errors import PrivacyError

FARTHEST = 2.0**80
"""No noise is made so many times as large, or as small."""
TOLERANCE = 1e-12
"""Relative, of the factor."""


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

    low = high = 0.0
    while excess(low) < 0 and 2.0**-low < FARTHEST:
        low -= 1
    while excess(high) > 0 and 2.0**high < FARTHEST:
        high += 1
    if low == high:
        return 1.0
    ends = [max(min(excess(end), 1e3), -1e3) for end in (low, high)]
    if ends[0] < 0 or ends[1] > 0:
        raise PrivacyError(f"cannot calibrate: no amount of noise up to {FARTHEST:.1g} times as much gives ε = {epsilon:g}")
    return 2.0 ** float(brentq(lambda t: max(min(excess(t), 1e3), -1e3), low, high, xtol=TOLERANCE, rtol=TOLERANCE))
