"""Conformance: whether a program that took an agent's place sent what the public algorithm sends.

The algorithm's own code is replayed on what passed the agent's door, with the agent's own data. What carries no noise
has to be equal, up to rounding. What carries noise tells the noise, which has to follow the law that the algorithm
declares: a program that forgets it, scales it or repeats it is found by the tests of `NoiseCheck`.
"""

from dataclasses import dataclass

import numpy as np

from attacks.audit.loss.noise_check import NoiseCheck, NoiseScores
from attacks.replay import Hypothesis, Release, replay
from netsim.adversary import AdversaryView
from netsim.errors import TranscriptError

ROUNDING = 1e-9
"""Noise below this share of its deviation is none."""


@dataclass(frozen=True)
class Conformance:
    """Result for one agent."""

    agent: int
    follows: bool | None
    """None where nothing can be said."""
    reason: str
    messages: int = 0
    """How many the algorithm sends as they were sent, noise apart."""
    noise_numbers: int = 0
    """How many numbers of noise were tested."""
    p_value: float | None = None
    """Bonferroni's, of all tests of the noise; none without noise. A faithful program is below `ALPHA` with that
    probability at most."""


def conformance(view: AdversaryView, agent: int, own: Hypothesis, coins: np.random.Generator) -> Conformance:
    """Replay `agent` with its `own` data on what a tap at its door recorded, and say whether it follows.

    `coins` are those that the run gives the agent: a program that draws its own departs where the algorithm tosses
    any.
    """
    try:
        found = replay(view, agent, own, coins)
    except TranscriptError as error:
        return Conformance(agent, None, f"cannot be replayed: {error}")
    sent = len(found.sendings)
    if found.departure is not None:
        what = f"in place of its message {found.departure.message} the algorithm {found.departure.what}"
        return Conformance(agent, False, what, sent)
    if found.overran:
        return Conformance(agent, False, f"the algorithm sends more than these {sent} messages", sent)
    for one in found.comparisons:
        if np.any(one.visible):
            why = f"message {one.message}: {one.name!r} is off by {one.difference:.3g}, and no noise protects it"
            return Conformance(agent, False, why, one.message)
    noisy = [one for one in found.releases if np.any(one.stddev > 0)]
    check = NoiseCheck.of([NoiseScores.of(noisy, [np.zeros_like(one.value) for one in noisy])])
    numbers = sum(one.value.size for one in noisy)
    if not numbers:
        return Conformance(agent, True, "every message is the algorithm's", sent)
    if check.passed:
        return Conformance(agent, True, "every message is the algorithm's, and its noise", sent, numbers, check.p)
    shown = f"p = {check.p:.1g}" if check.p else "p < 1e-300"
    why = "there is no noise" if all(map(_silent, noisy)) else "the noise has another law than the algorithm's"
    return Conformance(agent, False, f"{why} ({shown}, {numbers} numbers)", sent, numbers, check.p)


def _silent(release: Release) -> bool:
    return bool(np.all(np.abs(release.observed - release.covered) <= ROUNDING * release.stddev))
