"""RECAL and DP-RECAL inverted: gradients from the token's duals, from its iterates, and under r = w‖x‖₁.

*Duals* (`through_duals`). From (u, x) → (u⁺, x⁺) at one visit, before an agent's first λ = 0 and the public y_i¹:

    λ⁺ = λ + (u⁺ − u),   y⁺ = x⁺ − (λ⁺ − λ)/β,   ∇f(y) = λ + β(x − y) − (y⁺ − y)/α_i.

This works on DP-RECAL *as analysed* too: there the exact u is on the wire beside its noisy copy. What tokens that
were missed cost: `attacks.closed_form.token_system`. Source: the DP-RECAL paper, Appendix A; this project's for gaps.

*Iterates* (`through_iterates`). For r = 0 line 2 of a visit reads x⁺ = x − ũ − β(x − y), and x, ũ, x⁺ are all on the
wire: y = x − (x − ũ − x⁺)/β. The next visit gives y⁺; then λ⁺ = λ + β(x⁺ − y⁺) and ∇f(y) as above, whatever the noise
on ũ. The last gradient of an agent stays hidden. Against the repaired readings the same algebra runs with errors that
are stated exactly: under ``sent_state`` they are independent with deviation σ_τ/(αβ); under ``fresh_noise`` each y is
on the wire twice, in ũ⁺ − ũ with noise σ_τ/β and in the next visit's x⁺ with noise σ_{τ+1}/β, and its error stays in
λ, so that the errors of an agent's gradients are correlated (`iterates(view).evidence()`). With r ≠ 0, x⁺ gives y
only up to the proximal map: the repaired readings are read through ũ⁺ − ũ alone. Source: this project.

*Soft threshold* (`sparse_bounds`, `sparse_evidence`). For r = w‖x‖₁ line 2 is x⁺ = S(x − ũ − β(x − y)) with the soft
threshold S at nw. A coordinate with x⁺ ≠ 0 gives y, β(x − y) = x − ũ − x⁺ − sign(x⁺)nw, and one with x⁺ = 0 gives
|x − ũ − β(x − y)| ≤ nw. With λ_k = β Σ_{t≤k}(x_t − y_t), x_t the iterate that visit t − 1 sent, the gradient is one
linear form of the y_k, each of which lies in an interval of its own,

    ∇f(y_k) = λ_k + β(x − y_k) − (y_{k+1} − y_k)/α,

so that its bounds are those of the form: tight, given this. An interval stays in λ for good: later bounds are wider.
As an estimate each y that is not exact is read from ũ⁺ − ũ, with noise σ/β, the last gradient's too; that which
coordinates are zero depends on the same noise a little is left out of the covariance. Source: this project.

*As published* (`through_noisy_duals`). What DP-RECAL's own paper measures its defence against: the duals' formula
with ũ in the place of u, which ignores that x⁺ gives y without any noise. ``as_deployable`` sends ũ⁺ = ũ + Δλ + n_τ,
so that this gradient is off by (n_0 = 0)

    Σ_{s<τ} n_s + n_{τ−1} + (n_τ − n_{τ−1})/(αβ),   and the point by −n_{τ−1}/β.

Under ``sent_state`` only n_τ/(αβ) is left. Under ``as_analysed`` ũ⁺ − ũ has the noise of the holder before in it too,
and under ``fresh_noise`` x⁺ has more: there the stated deviation is √2 that of (n_τ − n_{τ−1})/(αβ), which is of its
size and no more. Source: the DP-RECAL paper, Appendix A and its experiments on gradient leakage; that ũ is read where
u stood is our reading.

Who may run all of these: any eavesdropper; α_i, β, σ_τ, x¹ and y_i¹ are public.
"""

import math
from collections.abc import Mapping

import numpy as np

from attacks.closed_form.token_system import TokenSystem, Wire, exactly
from attacks.closed_form.token_walk import Visit, unbroken_visits
from attacks.estimates import (
    SLACK,
    Evidence,
    GradientBounds,
    GradientEstimate,
    Interval,
    Inversion,
    check_lossless,
    root_mean_square,
)
from netsim.adversary import AdversaryView
from netsim.algorithms import Algorithm, DPRecal, Recal
from netsim.algorithms.recal import Walk, coupling
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.models.model import L1, Zero

EXACT_STATE = ("as_analysed", "as_deployable")
"""Readings whose x⁺ holds no noise of its own."""


def through_duals(view: AdversaryView) -> list[GradientEstimate]:
    """All gradients that the transcript determines, each agent's in order of time; exact up to rounding.

    You get an `AttackError` where the algorithm is no RECAL, no exact u was on the wire or a codec changes
    what is sent.
    """
    return duals(view).estimates()


def duals(view: AdversaryView) -> TokenSystem:
    """The same with what is known besides: evidence, and differences of gradients whose dual is lost."""
    algorithm = view.public.algorithm
    if not isinstance(algorithm, Walk):
        raise AttackError(f"{type(algorithm).__name__} passes no token: this inversion is RECAL's")
    private = isinstance(algorithm, DPRecal)
    if private and algorithm.reading != "as_analysed":
        raise AttackError("no exact u is on the wire: only its noisy copy")
    check_lossless(view)
    moved = exactly if isinstance(view.public.regularizer, Zero) else None
    return TokenSystem(view, algorithm, Wire("u", "u_noisy" if private else "u", exactly, moved, exactly, sums=True))


def sparse_bounds(view: AdversaryView) -> list[GradientBounds]:
    """Bounds of every gradient but each agent's last, agent by agent in order of time.

    You get an `AttackError` where the algorithm is not DP-RECAL as analysed or as deployable, r is neither 0 nor
    w‖x‖₁, or a codec changes what is sent.
    """
    algorithm, threshold, beta = _checked(view)
    found: list[GradientBounds] = []
    for visits in _chains(view, algorithm):
        copies = {k: _copy_of(visit, beta, threshold) for k, visit in enumerate(visits)}
        copies[0] = Interval.at(_first_copy(algorithm, visits, view.public.agents))
        sent = np.zeros_like(copies[0].low)  # Σ_{t≤k} x_t
        for k, visit in enumerate(visits[:-1]):
            terms = _terms(k, algorithm.step_of(visit.agent), beta)
            low, high = _combined(terms, copies, beta * (sent + visit.incoming["x"]))
            found.append(GradientBounds(visit.agent, visit.number, (copies[k].low, copies[k].high), low, high))
            sent = sent + visit.outgoing["x"]
    return found


def sparse_evidence(view: AdversaryView) -> list[Evidence]:
    """Every gradient of each agent's unbroken visits: those coordinates that x⁺ gives are exact, the others have
    noise.

    The covariance is that of each coordinate, mean over replicas. Refuses what `sparse_bounds` refuses.
    """
    algorithm, threshold, beta = _checked(view)
    return [_evidence(own, algorithm, beta, threshold, view.public.agents) for own in _chains(view, algorithm)]


def _checked(view: AdversaryView) -> tuple[DPRecal, float, float]:
    """The algorithm, the threshold nw and β."""
    algorithm, regularizer = view.public.algorithm, view.public.regularizer
    if not isinstance(algorithm, DPRecal) or algorithm.reading not in EXACT_STATE:
        raise AttackError(
            "these bounds are of DP-RECAL as analysed or as deployable: its x⁺ holds no noise of its own"
        )
    if not isinstance(regularizer, L1 | Zero):
        raise AttackError(f"{type(regularizer).__name__}: these bounds are of r = w‖x‖₁")
    check_lossless(view)
    threshold = view.public.agents * regularizer.weight if isinstance(regularizer, L1) else 0.0
    return algorithm, threshold, coupling(view.public.agents)


def _chains(view: AdversaryView, algorithm: DPRecal) -> list[list[Visit]]:
    """Visits of each agent up to the first of which something was missed."""
    visits: dict[int, list[Visit]] = {}
    start, _ = algorithm.starts(view.public.agents, view.public.dimension)
    for visit in unbroken_visits(view, algorithm.first, "u_noisy", start):
        visits.setdefault(visit.agent, []).append(visit)
    return [own for _, own in sorted(visits.items())]


def _combined(terms: Mapping[int, float], intervals: Mapping[int, Interval], constant: Array) -> Interval:
    """constant + Σ_k terms[k]·v_k over all v_k in their intervals, which are independent: no wider than it must be.

    Each end is moved outwards by `SLACK` of the largest number that came in.
    """
    low = high = constant
    largest: Array = np.abs(constant)
    for k, coefficient in terms.items():
        if coefficient == 0:
            continue
        ends = coefficient * intervals[k].low, coefficient * intervals[k].high
        low, high = low + np.minimum(*ends), high + np.maximum(*ends)
        largest = np.maximum(largest, np.where(np.isfinite(ends[0]), np.abs(ends[0]), 0.0))
        largest = np.maximum(largest, np.where(np.isfinite(ends[1]), np.abs(ends[1]), 0.0))
    return Interval(low - SLACK * largest, high + SLACK * largest)


def _terms(k: int, alpha: float, beta: float) -> dict[int, float]:
    """Coefficients of ∇f(y_k) in y_0 … y_{k+1}."""
    terms = dict.fromkeys(range(1, k + 1), -beta)
    terms[k] = terms.get(k, 0.0) - beta + 1 / alpha
    terms[k + 1] = -1 / alpha
    return terms


def _evidence(visits: list[Visit], algorithm: DPRecal, beta: float, threshold: float, agents: int) -> Evidence:
    """y_{k+1} is read from visit k up to noise, and from visit k + 1 exactly where its x⁺ ≠ 0."""
    rounds = len(visits)
    step = algorithm.step_of(visits[0].agent)
    copies, variances = [_first_copy(algorithm, visits, agents)], [np.zeros_like(visits[0].outgoing["x"])]
    for k, visit in enumerate(visits):
        change = visit.outgoing["u_noisy"] - visit.incoming["u_noisy"]
        y_new = visit.outgoing["x"] - change / beta
        noise = np.full_like(y_new, (float(np.max(algorithm.noise(k + 1).stddev)) / beta) ** 2)
        if k + 1 < rounds:
            low, high = _copy_of(visits[k + 1], beta, threshold)
            exact = (visits[k + 1].outgoing["x"] != 0) | (threshold == 0)
            y_new, noise = np.where(exact, (low + high) / 2, y_new), np.where(exact, 0.0, noise)
        copies.append(y_new)
        variances.append(noise)
    rows = np.zeros((rounds, rounds + 1))
    for k in range(rounds):
        for t, coefficient in _terms(k, step, beta).items():
            rows[k, t] = coefficient
    sent = np.cumsum([np.zeros_like(copies[0]), *(visit.outgoing["x"] for visit in visits[:-1])], axis=0)
    x = np.array([visit.incoming["x"] for visit in visits])
    gradients = beta * (sent + x) + np.einsum("kt,trd->krd", rows, np.array(copies))
    covariance = np.einsum("kt,lt,td->kld", rows, rows, np.mean(np.array(variances), axis=1))
    queries = tuple(visit.number for visit in visits)
    return Evidence(visits[0].agent, queries, np.array(copies[:-1]), gradients, covariance, "gaussian")


def _first_copy(algorithm: DPRecal, visits: list[Visit], agents: int) -> Array:
    """y_0 = y_i¹, (replicas, dimension)."""
    zeros = np.zeros_like(visits[0].outgoing["x"])
    return zeros + algorithm.starts(agents, zeros.shape[1])[1][visits[0].agent]


def _copy_of(visit: Visit, beta: float, threshold: float) -> Interval:
    """Interval of y, by x⁺ alone."""
    x, noisy, x_new = visit.incoming["x"], visit.incoming["u_noisy"], visit.outgoing["x"]
    centre = x_new + np.sign(x_new) * threshold
    room = np.where(x_new == 0, threshold, 0.0)
    return _combined({0: 1 / beta}, {0: Interval(centre - room, centre + room)}, x - (x - noisy) / beta)


def through_iterates(view: AdversaryView) -> list[GradientEstimate]:
    """All gradients that the transcript determines, agent by agent in order of time.

    You get an `AttackError` where the algorithm is no DP-RECAL or a codec changes what is sent.
    """
    algorithm = view.public.algorithm
    exact_state = isinstance(algorithm, DPRecal) and algorithm.reading in EXACT_STATE
    if exact_state and isinstance(view.public.regularizer, L1):
        return [
            GradientEstimate(found.agent, k, found.points[t], found.gradients[t], root_mean_square(found.stddev[t]))
            for found in sparse_evidence(view)
            for t, k in enumerate(found.queries)
        ]
    return iterates(view).estimates()


def iterates(view: AdversaryView) -> TokenSystem:
    """The same with the covariance of the errors of each agent's gradients."""
    algorithm = view.public.algorithm
    if not isinstance(algorithm, DPRecal):
        raise AttackError(f"{type(algorithm).__name__} is not DP-RECAL: this inversion is its own")
    check_lossless(view)
    smooth, beta = isinstance(view.public.regularizer, Zero), coupling(view.public.agents)

    def stddev(agent: int, visit: int) -> float:  # noqa: ARG001
        return float(np.max(algorithm.noise(visit + 1).stddev))

    def step(agent: int, visit: int) -> float:
        return stddev(agent, visit) / (algorithm.step_of(agent) * beta)

    if algorithm.reading == "sent_state":
        wire = Wire("u_noisy", "u_noisy", exactly, exactly if smooth else None, step, sums=True)
    elif algorithm.reading == "fresh_noise":
        wire = Wire("u_noisy", "u_noisy", stddev, stddev if smooth else None, exactly, sums=False)
    else:
        wire = Wire(
            "u_noisy", "u_noisy", None if smooth else stddev, exactly if smooth else None, exactly, sums=False
        )
    return TokenSystem(view, algorithm, wire)


# ── what the papers infer themselves ─


def published_inversion_of(algorithm: Algorithm) -> Inversion:
    """Inversion of an algorithm's own paper: RECAL's Appendix A, and for DP-RECAL the same from the noisy ũ.

    You get an `AttackError` for others, whose papers infer none.
    """
    if isinstance(algorithm, DPRecal):
        return through_noisy_duals
    if isinstance(algorithm, Recal):
        return through_duals
    raise AttackError(f"no paper of {type(algorithm).__name__} infers gradients: there is no published inversion")


def through_noisy_duals(view: AdversaryView) -> list[GradientEstimate]:
    """An estimate of every gradient of every visit that was observed, agent after agent as the token went.

    You get an `AttackError` where the algorithm is no DP-RECAL, or a codec changes what is sent.
    """
    algorithm = view.public.algorithm
    if not isinstance(algorithm, DPRecal):
        raise AttackError(f"{type(algorithm).__name__} is not DP-RECAL: no noisy copy of u is on the wire")
    check_lossless(view)
    beta = coupling(view.public.agents)
    zero = np.zeros((view.replicas, view.public.dimension))
    x_first, y_first = algorithm.starts(view.public.agents, view.public.dimension)
    state: dict[int, tuple[Array, Array]] = {}
    estimates: list[GradientEstimate] = []
    for visit in unbroken_visits(view, algorithm.first, "u_noisy", x_first):
        alpha = algorithm.step_of(visit.agent)
        dual, y = state.get(visit.agent, (zero, zero + y_first[visit.agent]))
        change = visit.outgoing["u_noisy"] - visit.incoming["u_noisy"]
        y_new = visit.outgoing["x"] - change / beta
        gradient = dual + beta * (visit.incoming["x"] - y) - (y_new - y) / alpha
        deviation = _deviation(algorithm, visit.number + 1, alpha * beta)
        estimates.append(GradientEstimate(visit.agent, visit.number, y, gradient, deviation))
        state[visit.agent] = dual + change, y_new
    return estimates


def _deviation(algorithm: DPRecal, activation: int, scale: float) -> float:
    """Standard deviation of a coordinate of the estimate of an agent's `activation`-th gradient, from 1; α_iβ."""
    sigma = [float(np.max(algorithm.noise(s).stddev)) for s in range(1, activation + 1)]
    gain = 1 / scale
    if algorithm.reading == "sent_state":
        return sigma[-1] * gain
    if algorithm.reading != "as_deployable":
        return math.hypot(sigma[-1], sigma[-2] if activation > 1 else 0.0) * gain * math.sqrt(2)
    weights = [1.0] * (activation - 2) + ([2 - gain] if activation > 1 else []) + [gain]
    return math.sqrt(sum((w * s) ** 2 for w, s in zip(weights, sigma, strict=True)))
