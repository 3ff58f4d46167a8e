"""One sample of transcripts under both hypotheses of an audit.

Transcripts are simulated under the true hypothesis D and explained under D and D':

    L = Σ_t [ln p(observed_t | D) − ln p(observed_t | D')].

A value that no noise covers and that D' would have sent differently is an *uncovered message*: L = ∞. So is a
message that D' would not have sent, or not to the same agent, or with other fields, or at another point.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attacks.audit.noise import NoiseScores, noise_scores
from attacks.replay import Comparison, Departure, Hypothesis, Release, Replayed, replay
from netsim.adversary import AdversaryView
from netsim.arrays import Array, Mask
from netsim.errors import PrivacyError
from netsim.mechanisms import Gaussian, Laplace


@dataclass(frozen=True)
class Sample:
    """Transcripts of one world: the view of a tap at the agent, and what the audit's adversary knows besides.

    `coins()` gives the agent's private coins from their start; `releases` its noisy values, granted for those
    that are not on the wire verbatim.
    """

    view: AdversaryView
    coins: Callable[[], np.random.Generator]
    releases: list[Array]


@dataclass(frozen=True)
class Uncovered:
    """What tells the two worlds apart at an agent's `activation` and no noise covers.

    `name` is the field, or "" where the worlds send different messages; `difference` the largest absolute one.
    """

    agent: int
    activation: int
    name: str
    sentence: str
    difference: float

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Explained:
    """One sample under both hypotheses.

    `steps[t]` (replicas,) is what release t adds to the loss and `cost[t]` the price it would have been quoted:
    ‖Δ‖₂²/σ² for Gaussian noise, ‖Δ‖₁/b for Laplace, ∞ where neither is meant; `activations[t]` is when.
    `leaked` (replicas,) is the activation of the first uncovered message that tells in that transcript, ∞ if
    none; `uncovered` is the first of all. `faint` is a difference that no noise covers and that may be
    rounding. `granted_from` is the activation of the first release that is not on the wire verbatim, ∞ if none:
    from there on everything here holds for an adversary who is granted it, an upper bound for one who sees the
    wire.
    """

    steps: Array
    cost: Array
    activations: tuple[int, ...]
    laws: frozenset[type]
    leaked: Array
    uncovered: Uncovered | None
    faint: Uncovered | None
    granted_from: float
    noise: NoiseScores
    unreliable_from: int | None

    @property
    def losses(self) -> Array:
        """L, (replicas,)."""
        return np.where(np.isfinite(self.leaked), math.inf, self.steps.sum(axis=0))


def explain(sample: Sample, agent: int, true: Hypothesis, other: Hypothesis) -> Explained:
    """Replay one agent of one sample under the hypothesis that was simulated and under the other one.

    You get a `PrivacyError` if the true hypothesis does not reproduce what was sent, to the last bit.
    """
    told = replay(sample.view, agent, true, sample.coins(), sample.releases)
    foil = replay(sample.view, agent, other, sample.coins(), sample.releases)
    _check_reproduced(agent, told)
    replicas = sample.view.replicas
    pairs = list(zip(told.releases, foil.releases, strict=False))
    same_number = len(told.releases) == len(foil.releases)
    leaks = _Leaks(agent, replicas)
    for a, b in pairs:
        leaks.release(a, b)
    for comparison in foil.comparisons:
        leaks.comparison(comparison)
    departure = foil.departure or _other_pace(told, foil)
    if departure is not None:
        leaks.departure(departure)
    return Explained(
        steps=np.array([_step(a, b) for a, b in pairs]).reshape(len(pairs), replicas),
        cost=np.array([_cost(a, b, same_number) for a, b in pairs]).reshape(len(pairs), replicas),
        activations=tuple(a.activation for a, _ in pairs),
        laws=frozenset(type(a.mechanism) for a, _ in pairs),
        leaked=leaks.first,
        uncovered=leaks.uncovered,
        faint=leaks.faint,
        granted_from=min((r.activation for r in told.releases if not r.on_wire), default=math.inf),
        noise=noise_scores([a for a, _ in pairs], [a.value - b.value for a, b in pairs]),
        unreliable_from=told.unreliable_from,
    )


def _check_reproduced(agent: int, told: Replayed) -> None:
    if told.departure is not None:
        when, what = told.departure
        raise PrivacyError(
            f"agent {agent}, at its activation {when} under the hypothesis that was simulated, {what}: the replay "
            "is not of this run"
        )
    for comparison in told.comparisons:
        if not comparison.identical:
            raise PrivacyError(
                f"agent {agent}'s {comparison.name!r} of activation {comparison.activation} is not what the "
                "hypothesis that was simulated gives: the replay is not of this run"
            )


def _other_pace(told: Replayed, foil: Replayed) -> Departure | None:
    """The same messages, but one after more or fewer incoming ones; or another one where the record ends."""
    for k, (a, b) in enumerate(zip(told.taken, foil.taken, strict=True)):
        if a != b:
            return Departure(foil.activations, f"sends its message {k} after {b} incoming messages, not {a}")
    if foil.overran and not told.overran:
        return Departure(foil.activations, "goes on to send where it fell silent")
    return None


class _Leaks:
    """Collects what no noise covers, the earliest activation first."""

    def __init__(self, agent: int, replicas: int) -> None:
        self.agent = agent
        self.first = np.full(replicas, math.inf)
        self.uncovered: Uncovered | None = None
        self.faint: Uncovered | None = None

    def comparison(self, c: Comparison) -> None:
        if c.identical:
            return
        to = "its neighbors" if c.receiver < 0 else f"agent {c.receiver}"
        found = Uncovered(
            self.agent,
            c.activation,
            c.name,
            f"agent {self.agent} sends {c.name!r} to {to} at its activation {c.activation}, a deterministic "
            f"function of its private gradients (the two worlds differ by {c.difference:.1e})",
            c.difference,
        )
        visible = c.visible
        if np.any(visible):
            self._note(found, visible)
        elif c.difference > 0 and self.faint is None:
            self.faint = found

    def release(self, a: Release, b: Release) -> None:
        """A release without noise in some coordinate, where the worlds differ."""
        impossible = np.logical_and(np.isneginf(b.log_density()), a.judged)
        if np.any(impossible):
            far = float(np.max(np.abs(a.value - b.value)[impossible]))
            sentence = (
                f"agent {self.agent} releases a value at its activation {a.activation} without noise in a "
                f"coordinate where the two worlds differ (by up to {far:.1e})"
            )
            self._note(Uncovered(self.agent, a.activation, "", sentence, far), impossible)

    def departure(self, departure: Departure) -> None:
        when, what = departure
        sentence = (
            f"which messages agent {self.agent} sends depends on its private data: at its activation {when} the "
            f"other world {what}"
        )
        self._note(Uncovered(self.agent, when, "", sentence, math.inf), np.ones(len(self.first), dtype=bool))

    def _note(self, found: Uncovered, replicas: Mask) -> None:
        self.first = np.where(replicas, np.minimum(self.first, found.activation), self.first)
        if self.uncovered is None or found.activation < self.uncovered.activation:
            self.uncovered = found


def _step(a: Release, b: Release) -> Array:
    with np.errstate(invalid="ignore"):
        step = a.log_density() - b.log_density()
    return np.where(a.judged & np.isfinite(step), step, 0.0)  # an impossible release is counted as uncovered


def _cost(a: Release, b: Release, comparable: bool) -> Array:
    difference = np.abs(a.value - b.value)
    mechanism, other = a.mechanism, b.mechanism
    if comparable and type(mechanism) is Laplace and type(other) is Laplace:
        same, scale, power = np.array_equal(mechanism.scale, other.scale), mechanism.scale, 1
    elif comparable and type(mechanism) is Gaussian and type(other) is Gaussian:
        same, scale, power = np.array_equal(mechanism.stddev, other.stddev), mechanism.stddev, 2
    else:
        same, scale, power = False, 1.0, 1
    if not same:
        return np.full(len(difference), math.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(difference == 0, 0.0, difference / scale)
    return np.where(a.judged, np.sum(ratio**power, axis=-1), 0.0)
