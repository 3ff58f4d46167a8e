"""ADMM with random penalties inverted, through λ, which anybody on the wire adds up.

Every x is on the wire and the state is what was sent, so λ_i^k = ζ Σ_{t≤k} Σ_j (x_j^t − x_i^t) is known, and so is
all of

    x⁺ = θ x_i + (1 − θ) x̄_i − (∇f_i(x_i) − λ_i)/D + Lap(b_k),   x̄_i the mean of the neighbors' x,

but θ ~ U(0, 1) and the Laplace noise, both of each coordinate its own:

    ĝ = λ_i + D((x_i + x̄_i)/2 − x⁺),   bias 0,   variance D²((x_i − x̄_i)²/12 + 2b_k²),
    λ_i + D(min(x_i, x̄_i) − x⁺) ≤ ∇f_i(x_i) + D·Lap(b_k) ≤ λ_i + D(max(x_i, x̄_i) − x⁺).

The random penalty hides a gradient by D|x_i − x̄_i|: nothing at consensus, nor in round 0, where all x are 0. Errors
of different rounds and coordinates are independent: θ and the noise of one round are in one release only, and no
better linear estimate of unknown gradients exists. It needs all that the agent and its neighbors sent from round 0
on.

Source: this project; the algorithm: Xiao 2019, Algorithm 1. Who may run it: an outsider on all links around the
agent, or at its door.
"""

import math
from itertools import count

import numpy as np

from attacks.closed_form.exchanges import Exchanges
from attacks.estimates import Evidence, GradientBounds, GradientEstimate, check_lossless, root_mean_square
from netsim.adversary import AdversaryView
from netsim.algorithms import RandomPenaltyAdmm
from netsim.errors import AttackError

SLACK = 1e-12
"""Relative: what rounding may move an end by, of the largest number that came in."""


def through_penalties(view: AdversaryView) -> list[GradientEstimate]:
    """One estimate per agent and round, up to the first of which something was missed; agent by agent.

    `stddev` is the root mean square over coordinates and replicas, which have each their own: `penalty_bounds`.
    You get an `AttackError` where the algorithm is another one, its exchanges may end without some messages, or a
    codec changes what is sent.
    """
    return [
        GradientEstimate(b.agent, b.query, b.points[0], b.middle, root_mean_square(b.uniform))
        for b in penalty_bounds(view)
    ]


def penalty_evidence(view: AdversaryView) -> list[Evidence]:
    """The same with variances by coordinate, mean over replicas; the law is neither Gaussian nor Laplace."""
    by_agent: dict[int, list[GradientBounds]] = {}
    for bounds in penalty_bounds(view):
        by_agent.setdefault(bounds.agent, []).append(bounds)
    evidence: list[Evidence] = []
    for agent, found in by_agent.items():
        variances = np.array([np.mean(np.square(b.uniform), axis=0) for b in found])
        covariance = np.einsum("ts,td->tsd", np.eye(len(found)), variances)
        points, gradients = np.array([b.points[0] for b in found]), np.array([b.middle for b in found])
        evidence.append(Evidence(agent, tuple(b.query for b in found), points, gradients, covariance, None))
    return evidence


def penalty_bounds(view: AdversaryView) -> list[GradientBounds]:
    """The interval of each gradient for θ in [0, 1]; `stddev` is D_i times that of the Laplace noise.

    θ being uniform, `GradientBounds.uniform` are the exact standard deviations of the middles' errors.
    """
    algorithm = view.public.algorithm
    if not isinstance(algorithm, RandomPenaltyAdmm):
        raise AttackError(f"{type(algorithm).__name__} is not random-penalty ADMM: this inversion is its own")
    if not view.public.exchange_policy.endless:
        raise AttackError("exchanges may end without some messages: nobody else knows which λ took in")
    check_lossless(view)
    exchanges, found = Exchanges(view), list[GradientBounds]()
    zeros = np.zeros((view.replicas, view.public.dimension))
    for agent in exchanges.agents:
        sent, taken = exchanges.sent, exchanges.taken(agent)
        x = dual = mean = zeros
        penalty = algorithm.own_penalty(agent)
        for k in count():
            if (agent, k) not in sent:
                break
            new = sent[agent, k]["x"]
            low, high = np.minimum(x, mean), np.maximum(x, mean)
            size = np.maximum(np.abs(dual), penalty * np.maximum(np.maximum(-low, high), np.abs(new)))
            slack, base = SLACK * size, dual - penalty * new
            stddev = penalty * math.sqrt(2) * float(algorithm.scale(k))
            ends = base + penalty * low - slack, base + penalty * high + slack
            found.append(GradientBounds(agent, k, (x, x), *ends, stddev))
            if k not in taken:
                break
            others = np.array([values["x"] for values in taken[k]])
            x, mean = new, others.mean(axis=0)
            dual = dual + algorithm.dual_step * (others.sum(axis=0) - len(others) * new)
    return found
