"""RECAL and DP-RECAL inverted: gradients from the baton's duals, from its iterates, and under r = w‖x‖₁.

From (u, x) → (u⁺, x⁺) at one visit, with λ = y = 0 before an agent's first:

    λ⁺ = λ + (u⁺ − u),   y⁺ = x⁺ − (λ⁺ − λ)/β,   ∇f(y) = λ + β(x − y) − (y⁺ − y)/α.

It works on DP-RECAL *as analysed* too: there the exact u is on the wire beside its noisy copy. With r = 0
line 2
tells y once more, and batons that were missed follow from those that were not
(`attacks.closed_form.token_system` says what
a gap costs). With r ≠ 0 a visit that was missed leaves an agent's λ open, and only differences of its later
gradients follow (`differences`), until Σ_i λ_i = u closes it.

Source: the DP-RECAL paper, Appendix A, and this project's for gaps. Who may run it: any eavesdropper; α and
β are
public.

For r = 0 a visit's line 2 reads x⁺ = x − ũ − β(x − y_i), and x, ũ, x⁺ are all on the wire:

    y = x − (x − ũ − x⁺)/β.

An agent's next visit tells its y⁺; then λ⁺ = λ + β(x⁺ − y⁺) and ∇f(y) = λ + β(x − y) − (y⁺ − y)/α, whatever
the noise on ũ. The last gradient of an agent stays hidden: no later x⁺ tells its y⁺.

Against the repaired readings the same algebra still runs, with errors that are stated exactly:

- ``sent_state``: λ and y are what the agent told, and only its step is off: the estimates are unbiased,
their errors
  independent with standard deviation σ_τ/(αβ), the last gradient's too.
- ``fresh_noise``: each y is told twice, by ũ⁺ − ũ with noise σ_τ/β and by the next visit's x⁺ with noise
  σ_{τ+1}/β, and is taken with weights; its error stays in λ, so the errors of an agent's gradients are
  correlated:
  use `iterates(view).evidence()`. The last gradient follows from ũ⁺ alone.

With r ≠ 0, x⁺ tells y only up to the proximal map: the repaired readings are read through ũ⁺ − ũ alone, with
its
noise. With r = w‖x‖₁ the first two tell many coordinates exactly, and bounds of the others
(`attacks.closed_form.recal`). What missed batons
cost: `attacks.closed_form.token_system`.

Source: our extension of the DP-RECAL paper's Appendix A. Who may run it: any eavesdropper.

Line 2 is x⁺ = S(x − ũ − β(x − y)) with the soft threshold S at nw. A coordinate with x⁺ ≠ 0 tells y,

    β(x − y) = x − ũ − x⁺ − sign(x⁺)nw,

and one with x⁺ = 0 tells that |x − ũ − β(x − y)| ≤ nw. Each y_k lies in an interval of its own, and with
λ_k = β Σ_{t≤k}(x_t − y_t), x_t the iterate that visit t − 1 sent, the gradient is one linear form of them,

    ∇f(y_k) = λ_k + β(x − y_k) − (y_{k+1} − y_k)/α,

so that its bounds are those of the form: tight, given this. A coordinate whose y was never inside an
interval is
exact. An interval stays in λ for good: later bounds are wider. The chain of an agent ends at the first visit
of which
something was missed, and its last gradient stays hidden.

As an estimate (`sparse_evidence`) each y that is not told exactly is read from ũ⁺ − ũ, with noise σ/β; the last
gradient's too. That which coordinates are zero depends on the same noise a little is left out of the
covariance.

Where the exact u is on the wire (RECAL, as analysed) nothing needs bounds: `attacks.closed_form.recal` holds
for any r.
Source: this project. Who may run it: any eavesdropper.
"""

from collections.abc import Iterator

import numpy as np

from attacks.closed_form.bounds import GradientBounds, Interval, combined
from attacks.closed_form.dpp2 import root_mean_square
from attacks.closed_form.token_system import TokenSystem, Wire, exactly
from attacks.estimates import Evidence, GradientEstimate, Visit, check_lossless, unbroken_visits
from netsim.adversary import AdversaryView
from netsim.algorithms.dp_recal import DPRecal
from netsim.algorithms.recal import Walk, coupling
from netsim.errors import AttackError
from netsim.models.model import L1, Zero


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
        raise AttackError(f"{type(algorithm).__name__} passes no baton: this inversion is RECAL's")
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
    return [b for own in _chains(view, algorithm) for b in _bounds(own, algorithm.step, beta, threshold)]


def sparse_evidence(view: AdversaryView) -> list[Evidence]:
    """Every gradient of each agent's unbroken visits: coordinates that are told exactly are, and others have noise.

    The covariance is that of each coordinate, mean over replicas. Refuses what `sparse_bounds` refuses.
    """
    algorithm, threshold, beta = _checked(view)
    return [_evidence(own, algorithm, beta, threshold) for own in _chains(view, algorithm)]


def _sparse_estimates(view: AdversaryView) -> list[GradientEstimate]:
    """The same as estimates; `stddev` is the root mean square over coordinates and replicas."""
    return [
        GradientEstimate(found.agent, k, found.points[t], found.gradients[t], root_mean_square(found.stddev[t]))
        for found in sparse_evidence(view)
        for t, k in enumerate(found.queries)
    ]


def _checked(view: AdversaryView) -> tuple[DPRecal, float, float]:
    """The algorithm, the threshold nw and β."""
    algorithm, regularizer = view.public.algorithm, view.public.regularizer
    if not isinstance(algorithm, DPRecal) or algorithm.reading not in ("as_analysed", "as_deployable"):
        raise AttackError(
            "these bounds are of DP-RECAL as analysed or as deployable: its x⁺ holds no noise of its own"
        )
    if not isinstance(regularizer, L1 | Zero):
        raise AttackError(f"{type(regularizer).__name__}: these bounds are of r = w‖x‖₁")
    check_lossless(view)
    threshold = view.public.agents * regularizer.weight if isinstance(regularizer, L1) else 0.0
    return algorithm, threshold, coupling(view.public.agents)


def _chains(view: AdversaryView, algorithm: DPRecal) -> list[list[Visit]]:
    """Of each agent its visits up to the first of which something was missed."""
    visits: dict[int, list[Visit]] = {}
    for visit in unbroken_visits(view, algorithm.first, "u_noisy"):
        visits.setdefault(visit.agent, []).append(visit)
    return [own for _, own in sorted(visits.items())]


def _bounds(visits: list[Visit], alpha: float, beta: float, threshold: float) -> Iterator[GradientBounds]:
    copies = {k: _copy_of(visit, beta, threshold) for k, visit in enumerate(visits)}
    copies[0] = Interval.at(np.zeros_like(copies[0].low))
    sent = np.zeros_like(copies[0].low)  # Σ_{t≤k} x_t
    for k, visit in enumerate(visits[:-1]):
        x = visit.incoming["x"]
        found = combined(_terms(k, alpha, beta), copies, beta * (sent + x))
        yield GradientBounds(visit.agent, visit.number, (copies[k].low, copies[k].high), found.low, found.high)
        sent = sent + visit.outgoing["x"]


def _terms(k: int, alpha: float, beta: float) -> dict[int, float]:
    """How ∇f(y_k) depends on y_0 … y_{k+1}; y_0 = 0."""
    terms = dict.fromkeys(range(1, k + 1), -beta)
    terms[k] = terms.get(k, 0.0) - beta + 1 / alpha
    terms[k + 1] = -1 / alpha
    return terms


def _evidence(visits: list[Visit], algorithm: DPRecal, beta: float, threshold: float) -> Evidence:
    """y_{k+1} is told by visit k up to noise, and by visit k + 1 exactly where its x⁺ ≠ 0."""
    rounds = len(visits)
    copies, variances = [np.zeros_like(visits[0].outgoing["x"])], [np.zeros_like(visits[0].outgoing["x"])]
    for k, visit in enumerate(visits):
        change = visit.outgoing["u_noisy"] - visit.incoming["u_noisy"]
        told = visit.outgoing["x"] - change / beta
        noise = np.full_like(told, (float(np.max(algorithm.noise(k + 1).stddev)) / beta) ** 2)
        if k + 1 < rounds:
            low, high = _copy_of(visits[k + 1], beta, threshold)
            exact = (visits[k + 1].outgoing["x"] != 0) | (threshold == 0)
            told, noise = np.where(exact, (low + high) / 2, told), np.where(exact, 0.0, noise)
        copies.append(told)
        variances.append(noise)
    rows = np.zeros((rounds, rounds + 1))
    for k in range(rounds):
        for t, coefficient in _terms(k, algorithm.step, beta).items():
            rows[k, t] = coefficient
    rows[:, 0] = 0.0
    sent = np.cumsum([np.zeros_like(copies[0]), *(visit.outgoing["x"] for visit in visits[:-1])], axis=0)
    x = np.array([visit.incoming["x"] for visit in visits])
    gradients = beta * (sent + x) + np.einsum("kt,trd->krd", rows, np.array(copies))
    covariance = np.einsum("kt,lt,td->kld", rows, rows, np.mean(np.array(variances), axis=1))
    queries = tuple(visit.number for visit in visits)
    return Evidence(visits[0].agent, queries, np.array(copies[:-1]), gradients, covariance, "gaussian")


def _copy_of(visit: Visit, beta: float, threshold: float) -> Interval:
    """Where y is, by x⁺ alone."""
    x, noisy, x_new = visit.incoming["x"], visit.incoming["u_noisy"], visit.outgoing["x"]
    told = x_new + np.sign(x_new) * threshold
    room = np.where(x_new == 0, threshold, 0.0)
    centre: Interval = combined({0: 1 / beta}, {0: Interval(told - room, told + room)}, x - (x - noisy) / beta)
    return centre


EXACT_STATE = ("as_analysed", "as_deployable")
"""Readings whose x⁺ holds no noise of its own."""


def through_iterates(view: AdversaryView) -> list[GradientEstimate]:
    """All gradients that the transcript determines, agent by agent in order of time.

    You get an `AttackError` where the algorithm is no DP-RECAL or a codec changes what is sent.
    """
    algorithm = view.public.algorithm
    if (
        isinstance(algorithm, DPRecal)
        and algorithm.reading in EXACT_STATE
        and isinstance(view.public.regularizer, L1)
    ):
        return _sparse_estimates(view)
    return iterates(view).estimates()


def iterates(view: AdversaryView) -> TokenSystem:
    """The same with the covariance of the errors of each agent's gradients."""
    algorithm = view.public.algorithm
    if not isinstance(algorithm, DPRecal):
        raise AttackError(f"{type(algorithm).__name__} is not DP-RECAL: this inversion is its own")
    check_lossless(view)
    smooth = isinstance(view.public.regularizer, Zero)
    return TokenSystem(view, algorithm, _wire(algorithm, smooth, coupling(view.public.agents)))


def _wire(algorithm: DPRecal, smooth: bool, beta: float) -> Wire:
    def stddev(visit: int) -> float:
        return float(np.max(algorithm.noise(visit + 1).stddev))

    def step(visit: int) -> float:
        return stddev(visit) / (algorithm.step * beta)

    if algorithm.reading == "sent_state":
        return Wire("u_noisy", "u_noisy", exactly, exactly if smooth else None, step, sums=True)
    if algorithm.reading == "fresh_noise":
        return Wire("u_noisy", "u_noisy", stddev, stddev if smooth else None, exactly, sums=False)
    if not smooth:
        return Wire("u_noisy", "u_noisy", stddev, None, exactly, sums=False)
    return Wire("u_noisy", "u_noisy", None, exactly, exactly, sums=False)
