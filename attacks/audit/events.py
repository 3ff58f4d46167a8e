# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (dp_accounting ships no types)
"""Claims and priced releases as events of `dp_accounting`, for its accountants to compose with others.

The events carry the whole difference of the two worlds, whatever relation these are in: leave an accountant's
neighboring relation at its default (under REPLACE_ONE dp_accounting 0.6 doubles the difference of a Gaussian event).
dp_accounting is the extra `accounting`; without it you get an `ImportError` that says so.
"""

import math
from types import ModuleType
from typing import Any

from attacks.audit.statistics.products import Product
from netsim.claims import Claim
from netsim.errors import PrivacyError
from netsim.extras import install


def claimed_event(claim: Claim) -> Any:
    """The event that stands for a claim of pure ε: loses ε with probability e^ε/(1 + e^ε), and −ε else.

    That is the loss of randomized response, to which every ε-DP mechanism reduces (Kairouz, Oh, Viswanath 2015), so
    what dp_accounting makes of it, composed with other events, holds for every mechanism that keeps the claim. It is
    written as discrete Laplace noise of parameter ε over a difference of 1, whose loss is the same:
    `RandomizedResponseDpEvent` is counted once there, however often it is composed. ε = 0 is no event; ε = ∞, or a
    formula whose conditions fail, is a `NonPrivateDpEvent`. A claim with δ > 0 has no event of its own: a
    `PrivacyError`, see `claimed_loss`.
    """
    events = _accounting().dp_event
    if claim.epsilon is None or math.isinf(claim.epsilon):
        return events.NonPrivateDpEvent()
    if claim.delta > 0:
        raise PrivacyError(
            f"delta = {claim.delta!r}: dp_accounting has no event for (ε, δ); claimed_loss has its loss"
        )
    if claim.epsilon == 0:
        return events.NoOpDpEvent()
    return events.DiscreteLaplaceDpEvent(claim.epsilon, 1)


def claimed_loss(claim: Claim) -> Any:
    """The largest privacy loss distribution, a `PrivacyLossDistribution`, of a mechanism that keeps the (ε, δ) claim.

    It composes with others, and with itself. A claim without a finite number has none: a `PrivacyError`.
    """
    if claim.epsilon is None or math.isinf(claim.epsilon):
        raise PrivacyError(f"epsilon = {claim.epsilon!r}: nothing is claimed of which there is a loss")
    _accounting()
    from dp_accounting.pld import common, privacy_loss_distribution

    parameters = common.DifferentialPrivacyParameters(claim.epsilon, claim.delta)
    return privacy_loss_distribution.from_privacy_parameters(parameters)


def product_event(product: Product) -> Any:
    """Releases with known differences: a Gaussian event for all Gaussian ones, a Laplace event for each shift.

    These are exact, not bounds: dp_accounting's accountants get the numbers of `product_epsilon`, up to their grid. A
    difference that no noise covers is a `NonPrivateDpEvent`, none at all a `NoOpDpEvent`.
    """
    events = _accounting().dp_event
    if not product.finite:
        return events.NonPrivateDpEvent()
    parts: list[Any] = [events.GaussianDpEvent(1 / product.mu)] if product.mu_squared else []
    for shift, count in zip(*product.levels, strict=True):
        one = events.LaplaceDpEvent(1 / float(shift))
        parts.append(one if count == 1 else events.SelfComposedDpEvent(one, int(count)))
    if not parts:
        return events.NoOpDpEvent()
    return parts[0] if len(parts) == 1 else events.ComposedDpEvent(parts)


def _accounting() -> ModuleType:
    try:
        import dp_accounting
    except ImportError as error:
        raise ImportError(f"dp_accounting is not installed: {install('accounting')}") from error
    return dp_accounting
