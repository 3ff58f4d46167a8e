"""Conformance: whether a program that took an agent's place sent what the public algorithm sends.

The algorithm's own code is replayed on what passed the agent's door, with the agent's own data. What carries no noise
has to be equal, up to rounding. What carries noise tells the noise, which has to follow the law that the algorithm
declares: a program that forgets it, scales it or repeats it is found by the tests of `NoiseCheck`. Whose private data
enter in another size, by another step, is found by the test of `attacks.audit.deviation`, which says of what size.

A program of somebody else's draws its own private coins, which nobody else knows. Whom a message goes to is seen;
where coins decide anything else, the replay ends, and only what was sent before can tell against the program.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NoReturn, Self, cast

import numpy as np

from attacks.audit.deviation import POWER, deviation_test
from attacks.audit.loss.noise_check import ALPHA, NoiseCheck, NoiseScores
from attacks.replay import Hypothesis, Release, replay
from attacks.replay.coins import DrawnCoins, Unseen
from attacks.replay.recorded import EndOfRecord
from netsim.adversary import AdversaryView
from netsim.errors import TranscriptError
from netsim.shown import show

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
    detects: float | None = None
    """How many times as large what the data add to noisy messages would have to be to be found with probability
    `POWER`; None where no size would be found, or nothing has noise."""


def conformance(
    view: AdversaryView, agent: int, own: Hypothesis, coins: np.random.Generator | None = None
) -> Conformance:
    """Replay `agent` with its `own` data on what a tap at its door recorded, and say whether it follows.

    `coins` are the agent's private coins from their start; None: it drew its own, and nobody else knows them.
    """
    unknown, start = UnknownCoins(), deepcopy(coins)
    try:
        found = replay(view, agent, own, unknown if coins is None else coins)
    except TranscriptError as error:
        return Conformance(agent, None, f"cannot be replayed: {error}")
    sent = len(found.sendings)
    if found.departure is not None and not unknown.ended:
        what = f"in place of its message {found.departure.message} the algorithm {found.departure.what}"
        return Conformance(agent, False, what, sent)
    if found.overran:
        return Conformance(agent, False, f"the algorithm sends more than these {sent} messages", sent)
    for one in found.comparisons:
        if np.any(one.visible):
            why = f"message {one.message}: {one.name!r} is off by {show(one.difference)}, and no noise protects it"
            return Conformance(agent, False, why, one.message)
    noisy = [one for one in found.releases if np.any(one.stddev > 0)]
    law = NoiseCheck.of([NoiseScores.of(noisy, [np.zeros_like(one.value) for one in noisy])])
    size = deviation_test(view, agent, found.releases, UnknownCoins() if coins is None else start)
    check = NoiseCheck((*law.p_values, *(() if size.p is None else (size.p,))))
    numbers = sum(one.value.size for one in noisy)
    p = check.p if numbers else None
    if not check.passed:
        shown = f"p = {show(check.p, 1)}" if check.p else "p < 1e-300"
        why = "the noise has another law than the algorithm's"
        if all(map(_silent, noisy)):
            why = "there is no noise"
        elif size.p is not None and size.p <= min(law.p_values):
            why = "what its data add to its messages has another size than the algorithm's"
        return Conformance(agent, False, f"{why} ({shown}, {numbers} numbers)", sent, numbers, p)
    if found.departure is not None:
        found_so_far = f"the {sent} sent before that were not found to deviate"
        before = found_so_far if sent else "nothing was sent before that"
        why = f"after that its messages depend on private coins, which nobody else knows; {before}"
        return Conformance(agent, None, why, sent, numbers, p)
    if not numbers:
        return Conformance(agent, True, "every message is what the algorithm sends, up to rounding", sent)
    detects = size.detects(ALPHA / len(check.p_values))
    return Conformance(agent, True, _as_far_as(detects), sent, numbers, p, detects)


def _as_far_as(detects: float | None) -> str:
    """What the tests of the noise say, and what they would not have found."""
    found = "its messages are what the algorithm sends, up to noise of which no test finds another law"
    if detects is None:
        return f"{found}; another size of what its data add to them would not have been found"
    times = show(detects)
    return (
        f"{found}; had its data added {times} times as much to them, that would have been found ({POWER:.0%}); less "
        "may hide in the noise"
    )


class UnknownCoins(DrawnCoins):
    """Private coins of which only the receivers that they choose are seen: a reading ends where another is tossed."""

    def __init__(self) -> None:
        super().__init__(np.random.default_rng(0))  # never drawn from
        self.ended = False
        """Whether a toss ended the reading."""

    def copied(self) -> Self:
        return type(self)()

    def adopt(self, other: DrawnCoins) -> None:
        super().adopt(cast(Self, other))
        self.ended = isinstance(other, UnknownCoins) and other.ended

    def choose(self, options: Sequence[int]) -> int:
        """One of the options: whom the message went to, and unknown to whoever looks at it before."""
        return cast(int, _OneOf(self, tuple(options), self.toss))

    def toss(self, *_: Any, **__: Any) -> NoReturn:
        """Nobody knows what it is."""
        self.ended = True
        raise EndOfRecord

    subset = toss


class _OneOf(Unseen):
    """One of some agents, which can be written down while it is unknown."""

    def __str__(self) -> str:
        return " or ".join(map(str, self.options))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in ("bit_generator", *vars(UnknownCoins)):
        setattr(UnknownCoins, _name, UnknownCoins.toss)


def _silent(release: Release) -> bool:
    return bool(np.all(np.abs(release.observed - release.covered) <= ROUNDING * release.stddev))
