"""Every gradient of RECAL from the baton's duals.

From (u, x) → (u⁺, x⁺) at one visit, with λ = y = 0 before an agent's first:

    λ⁺ = λ + (u⁺ − u),   y⁺ = x⁺ − (λ⁺ − λ)/β,   ∇f(y) = λ + β(x − y) − (y⁺ − y)/α.

It needs every baton of the agent, from its first visit, on its links or at its door. It works on DP-RECAL *as
analysed* too: there the exact u is on the wire beside its noisy copy.

Source: the DP-RECAL paper, Appendix A. Who may run it: any eavesdropper; α and β are public.
"""

import numpy as np

from attacks.gradients.baton import GradientEstimate, check_lossless, unbroken_visits
from netsim.adversary import AdversaryView
from netsim.algorithms.recal import Walk, coupling
from netsim.arrays import Array
from netsim.errors import AttackError


def through_duals(view: AdversaryView) -> list[GradientEstimate]:
    """All gradients that the transcript determines, each agent's in order of time; exact up to rounding.

    You get an `AttackError` where the algorithm is no RECAL, no exact u was on the wire or a codec changes
    what is sent.
    """
    algorithm = view.public.algorithm
    if not isinstance(algorithm, Walk):
        raise AttackError(f"{type(algorithm).__name__} passes no baton: this inversion is RECAL's")
    check_lossless(view)
    beta, alpha = coupling(view.public.agents), algorithm.step
    zero = np.zeros((view.replicas, view.public.dimension))
    state: dict[int, tuple[Array, Array]] = {}
    estimates: list[GradientEstimate] = []
    for visit in unbroken_visits(view, algorithm.first, "u"):
        if "u" not in visit.outgoing:
            raise AttackError("no exact u is on the wire: only its noisy copy")
        dual, y = state.get(visit.agent, (zero, zero))
        change = visit.outgoing["u"] - visit.incoming["u"]
        y_new = visit.outgoing["x"] - change / beta
        gradient = dual + beta * (visit.incoming["x"] - y) - (y_new - y) / alpha
        estimates.append(GradientEstimate(visit.agent, visit.number, y, gradient, 0.0))
        state[visit.agent] = dual + change, y_new
    return estimates
