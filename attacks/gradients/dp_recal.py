"""Every gradient of DP-RECAL but each agent's last, through the iterate that "needs no protection".

For r = 0 a visit's line 2 reads x⁺ = x − ũ − β(x − y_i), and x, ũ, x⁺ are all on the wire:

    y = x − (x − ũ − x⁺)/β.

An agent's next visit tells its y⁺; then λ⁺ = λ + β(x⁺ − y⁺) and ∇f(y) = λ + β(x − y) − (y⁺ − y)/α, whatever
the noise on ũ. The last gradient of an agent stays hidden: no later x⁺ tells its y⁺.

Against the repaired readings the same algebra still runs, but what it returns carries noise: under
``told_state`` the y it reads is the one the agent told, so the estimate is unbiased with standard deviation
σ_τ/(αβ); under ``fresh_noise`` every y it reads is off by σ_τ/β (the stated deviation is to leading order).

Source: our extension of the DP-RECAL paper's Appendix A. Who may run it: any eavesdropper.
"""

import math

import numpy as np

from attacks.gradients.baton import GradientEstimate, Visit, check_lossless, unbroken_visits
from netsim.adversary import AdversaryView
from netsim.algorithms.dp_recal import DPRecal
from netsim.algorithms.recal import coupling
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.regularizers import Zero


def through_iterates(view: AdversaryView) -> list[GradientEstimate]:
    """All gradients that the transcript determines, agent by agent in order of time.

    You get an `AttackError` where the algorithm is no DP-RECAL, r ≠ 0 (a prox that is no bijection) or a codec
    changes what is sent.
    """
    algorithm = view.public.algorithm
    if not isinstance(algorithm, DPRecal):
        raise AttackError(f"{type(algorithm).__name__} is not DP-RECAL: this inversion is its own")
    if not isinstance(view.public.regularizer, Zero):
        raise AttackError("r ≠ 0: x⁺ determines y only where the proximal map can be inverted; use r = 0")
    check_lossless(view)
    visits: dict[int, list[Visit]] = {}
    for visit in unbroken_visits(view, algorithm.first, "u_noisy"):
        visits.setdefault(visit.agent, []).append(visit)
    return [e for own in visits.values() for e in _invert(own, algorithm, coupling(view.public.agents))]


def _invert(visits: list[Visit], algorithm: DPRecal, beta: float) -> list[GradientEstimate]:
    copies = [_copy(visit, beta) for visit in visits]
    dual = np.zeros_like(copies[0])
    estimates: list[GradientEstimate] = []
    for visit, y, y_new in zip(visits, copies, copies[1:], strict=False):
        gradient = dual + beta * (visit.incoming["x"] - y) - (y_new - y) / algorithm.step
        deviation = _deviation(algorithm, visit.number + 1, beta)
        estimates.append(GradientEstimate(visit.agent, visit.number, y, gradient, deviation))
        dual = dual + beta * (visit.outgoing["x"] - y_new)
    return estimates


def _copy(visit: Visit, beta: float) -> Array:
    x, noisy, x_new = visit.incoming["x"], visit.incoming["u_noisy"], visit.outgoing["x"]
    return x - (x - noisy - x_new) / beta


def _deviation(algorithm: DPRecal, activation: int, beta: float) -> float:
    """Standard deviation of a coordinate of the estimate of an agent's `activation`-th gradient, from 1."""
    now = float(np.max(algorithm.noise(activation).stddev))
    gain = 1 / (algorithm.step * beta)
    if algorithm.reading == "told_state":
        return now * gain
    if algorithm.reading == "fresh_noise":
        return math.hypot(now, float(np.max(algorithm.noise(activation + 1).stddev))) * gain
    return 0.0
