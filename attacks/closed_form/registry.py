"""Registry of the algorithms with a closed-form inversion, and when it is tried before a probe.

    λ⁺ = λ + (ũ⁺ − ũ),   y⁺ = x⁺ − (ũ⁺ − ũ)/β,   ∇f(y) = λ + β(x − y) − (y⁺ − y)/α.

It is what the published defence is measured against, and ignores that x⁺ tells y without any noise
(`attacks.closed_form.recal`). ``as_deployable`` puts ũ⁺ = ũ + Δλ + n_τ on the wire, so that this gradient is
off by

    Σ_{s<τ} n_s + n_{τ−1} + (n_τ − n_{τ−1})/(αβ),   and the point by −n_{τ−1}/β,

n_0 = 0. Under ``sent_state`` the agent itself goes on with the λ and y above: only n_τ/(αβ) is left. Under
``as_analysed`` ũ⁺ − ũ has the noise of the holder before in it too, and under ``fresh_noise`` x⁺ has more:
there the
stated deviation is √2 that of (n_τ − n_{τ−1})/(αβ), which is of its size and no more.

Source: the DP-RECAL paper, Appendix A and its experiments on gradient leakage; that ũ is read where u stood
is our
reading. Who may run it: any eavesdropper; α, β and σ_τ are public.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attacks.closed_form.dpp2 import relay_evidence, through_relay
from attacks.closed_form.gradient_descent import through_differences, unclipped
from attacks.closed_form.gradient_tracking import through_tracking, tracking_evidence
from attacks.closed_form.random_penalty_admm import penalty_evidence, through_penalties
from attacks.closed_form.recal import duals, iterates, sparse_evidence, through_duals, through_iterates
from attacks.estimates import Evidence, GradientEstimate, check_lossless, unbroken_visits
from netsim.adversary import AdversaryView
from netsim.algorithms import Algorithm, Cpgt, DiaDSP, Dpp2, DPRecal, PrivateGradientDescent, RandomPenaltyAdmm, Recal
from netsim.algorithms.dp_recal import DPRecal as dp_recal_DPRecal
from netsim.algorithms.recal import coupling
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.models.model import L1

Inversion = Callable[[AdversaryView], list[GradientEstimate]]


class ClosedForm(NamedTuple):
    """An algorithm's own inversion: estimates by `infer`, and `evidence` with the covariance and law of their errors.

    `first`: it is tried before a probe, because it is exact, goes over gaps that a probe cannot, or inverts what a
    probe refuses as a rule; else after a probe that refused.
    """

    infer: Inversion
    evidence: Callable[[AdversaryView], list[Evidence]]
    first: bool


def closed_form_of(algorithm: Algorithm) -> ClosedForm | None:
    """The algorithm's own inversion, if there is one. A new one goes here."""
    if isinstance(algorithm, Recal) or (isinstance(algorithm, DPRecal) and algorithm.reading == "as_analysed"):
        return ClosedForm(through_duals, _recal, first=True)
    if isinstance(algorithm, DPRecal):
        return ClosedForm(through_iterates, _dp_recal, first=True)
    if isinstance(algorithm, RandomPenaltyAdmm):
        return ClosedForm(through_penalties, penalty_evidence, first=True)
    if isinstance(algorithm, PrivateGradientDescent):
        return ClosedForm(through_differences, _independent_laplace, first=False)
    if isinstance(algorithm, Dpp2):
        return ClosedForm(through_relay, relay_evidence, first=False)
    if isinstance(algorithm, DiaDSP | Cpgt):
        return ClosedForm(through_tracking, _tracking, first=False)
    return None


def _recal(view: AdversaryView) -> list[Evidence]:
    return duals(view).evidence()


def _dp_recal(view: AdversaryView) -> list[Evidence]:
    deployable = isinstance(view.public.algorithm, DPRecal) and view.public.algorithm.reading == "as_deployable"
    if deployable and isinstance(view.public.regularizer, L1):
        return sparse_evidence(view)
    return iterates(view).evidence()


def _tracking(view: AdversaryView) -> list[Evidence]:
    return tracking_evidence(view) if view.public.codec.lossless else Evidence.each(through_tracking(view), law=None)


def _independent_laplace(view: AdversaryView) -> list[Evidence]:
    """Each error is that of one release. What was clipped is no gradient: `unclipped` alone, the rest is hidden.

    You get an `AttackError` where a clip may have acted on every gradient of every agent.
    """
    estimates = through_differences(view)
    kept = unclipped(view, estimates)
    if estimates and not kept:
        raise AttackError(
            "the clip may have acted on every gradient: what was sent tells the clipped ones alone "
            "(through_differences), not the gradients"
        )
    lost = Counter(e.agent for e in estimates)
    lost.subtract(e.agent for e in kept)
    return [replace(one, hidden=lost[one.agent]) for one in Evidence.each(kept, "laplace")]


def published_inversion_of(algorithm: Algorithm) -> Inversion:
    """How an algorithm's own paper infers gradients: RECAL's Appendix A, and for DP-RECAL the same from the noisy ũ.

    You get an `AttackError` for others, whose papers infer none.
    """
    if isinstance(algorithm, dp_recal_DPRecal):
        return through_noisy_duals
    if isinstance(algorithm, Recal):
        return through_duals
    raise AttackError(f"no paper of {type(algorithm).__name__} infers gradients: there is no published inversion")


def published_evidence(view: AdversaryView) -> list[Evidence]:
    """What the algorithm's own paper would infer (`published_inversion_of`), one for each agent."""
    return Evidence.each(published_inversion_of(view.public.algorithm)(view))


def through_noisy_duals(view: AdversaryView) -> list[GradientEstimate]:
    """An estimate of every gradient of every visit that was heard, agent after agent as the baton went.

    You get an `AttackError` where the algorithm is no DP-RECAL, or a codec changes what is sent.
    """
    algorithm = view.public.algorithm
    if not isinstance(algorithm, dp_recal_DPRecal):
        raise AttackError(f"{type(algorithm).__name__} is not DP-RECAL: no noisy copy of u is on the wire")
    check_lossless(view)
    beta, alpha = coupling(view.public.agents), algorithm.step
    zero = np.zeros((view.replicas, view.public.dimension))
    state: dict[int, tuple[Array, Array]] = {}
    estimates: list[GradientEstimate] = []
    for visit in unbroken_visits(view, algorithm.first, "u_noisy"):
        dual, y = state.get(visit.agent, (zero, zero))
        change = visit.outgoing["u_noisy"] - visit.incoming["u_noisy"]
        y_new = visit.outgoing["x"] - change / beta
        gradient = dual + beta * (visit.incoming["x"] - y) - (y_new - y) / alpha
        deviation = _deviation(algorithm, visit.number + 1, beta)
        estimates.append(GradientEstimate(visit.agent, visit.number, y, gradient, deviation))
        state[visit.agent] = dual + change, y_new
    return estimates


def _deviation(algorithm: dp_recal_DPRecal, activation: int, beta: float) -> float:
    """Standard deviation of a coordinate of the estimate of an agent's `activation`-th gradient, from 1."""
    sigma = [float(np.max(algorithm.noise(s).stddev)) for s in range(1, activation + 1)]
    gain = 1 / (algorithm.step * beta)
    if algorithm.reading == "sent_state":
        return sigma[-1] * gain
    if algorithm.reading != "as_deployable":
        return math.hypot(sigma[-1], sigma[-2] if activation > 1 else 0.0) * gain * math.sqrt(2)
    weights = [1.0] * (activation - 2) + ([2 - gain] if activation > 1 else []) + [gain]
    return math.sqrt(sum((w * s) ** 2 for w, s in zip(weights, sigma, strict=True)))
