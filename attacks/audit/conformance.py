"""Conformance: whether a program that took an agent's place sent what the public algorithm sends.

The algorithm's own code is replayed on what passed the agent's door, with the agent's own data. What carries no noise
has to be equal, up to rounding. What carries noise tells the noise, which has to follow the law that the algorithm
declares: a program that forgets it, scales it or repeats it is found by the tests of `NoiseCheck`. Whose private data
enter in another size, by another step, is found by `_deviation_test`, which says of what size.

A program of somebody else's draws its own private coins, which nobody else knows. Whom a message goes to is seen;
where coins decide anything else, the replay ends, and only what was sent before can tell against the program.

The deviation test: replays with the agent's own objective and with one whose gradients are 0 differ, at each release
t, by D_t: what its private data add to the value beneath the noise. A program with another step, or another bound on
its gradients, sends value + θ D_t + noise with a θ ≠ 0. D_t and the value depend only on what was seen before release
t, so that for each θ the product over t of p(observed | value + θ D_t) / p(observed | value) is a martingale of mean
1 where the program is faithful, and so is the mean M over some θ. Hence P(M ≥ 1/α) ≤ α, whatever the number of
releases (Ville 1939). The power is computed on what was seen: noise is drawn again around value + θ D_t by each
release's law.
"""

from bisect import bisect_left
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NoReturn, Self, cast

import numpy as np
from scipy import special

from attacks.audit.loss.noise_check import ALPHA, NoiseCheck, NoiseScores
from attacks.replay import Hypothesis, Perturbed, Release, replay
from attacks.replay.coins import DrawnCoins, Unseen
from attacks.replay.recorded import EndOfRecord
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.errors import NetsimError, TranscriptError
from netsim.mechanisms import Mechanism
from netsim.models.model import Regularizer
from netsim.shown import show

ROUNDING = 1e-9
"""Noise below this share of its deviation is none."""
SIZES = np.concatenate([-(2.0 ** np.arange(-4, 0.5, 0.5)), 2.0 ** np.arange(-4, 5.5, 0.5)])
"""θ: by how many times of itself what the data add is larger. −1: they add nothing."""
POWER, _DRAWS = 0.9, 200
"""Probability with which a deviation is found that is called detectable, and draws of a run's noise that tell it."""


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
    size = _deviation_test(view, agent, found.releases, UnknownCoins() if coins is None else start)
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


@dataclass(frozen=True)
class _DeviationTest:
    """`p` is 1/M; None where data add nothing to a noisy release, or cannot be taken out of it."""

    p: float | None = None
    _known: tuple["_Noisy", ...] = ()

    def detects(self, alpha: float) -> float | None:
        """How many times as large what the data add would have to be (1 + θ, least of `SIZES`) to have a `p` below
        `alpha` with probability `POWER`; None where none would."""
        above, bar = [float(theta) for theta in SIZES if theta > 0], np.log(SIZES.size / alpha)

        def found(k: int) -> bool:
            rng, near = np.random.default_rng(k), np.array(above[max(0, k - 2) : k + 1])  # M is largest there
            ratios = sum((one.drawn(above[k], near, rng) for one in self._known), np.zeros((near.size, _DRAWS)))
            total = cast(Array, special.logsumexp(ratios, axis=0))
            return int(np.sum(total >= bar)) >= POWER * _DRAWS

        k = bisect_left(range(len(above)), 1, key=lambda k: int(found(k)))
        return None if k == len(above) else 1.0 + above[k]


@dataclass(frozen=True)
class _Noisy:
    """A release, and what the data add to its value, (replicas, dimension)."""

    release: Release
    added: Array

    def ratio(self, theta: float) -> float:
        """log p(observed | value + θ D) − log p(observed | value)."""
        one = self.release
        ratios = self._between(one.observed, one.value + theta * self.added, one.value)
        return float(np.sum(np.where(one.judged & np.logical_not(one.drowned), ratios, 0.0)))

    def drawn(self, theta: float, near: Array, rng: np.random.Generator) -> Array:
        """The same for each θ of `near` where noise is drawn again around the deviating value, (near, `_DRAWS`)."""
        found, one = np.zeros((near.size, _DRAWS)), self.release
        for value, added in zip(one.value, self.added, strict=True):
            faithful = np.broadcast_to(value, (_DRAWS, value.size))
            observed = cast(Mechanism, one.mechanism).release(faithful + theta * added, rng)
            found += [self._between(observed, faithful + other * added, faithful) for other in near]
        return found

    def _between(self, observed: Array, deviating: Array, faithful: Array) -> Array:
        with np.errstate(all="ignore"):
            law = self.release.mechanism
            ratios = law.log_density(observed, deviating) - law.log_density(observed, faithful)
        return np.nan_to_num(ratios, nan=0.0, posinf=np.inf, neginf=-np.inf)


class _NoData:
    """An objective that is 0 everywhere."""

    def gradient(self, x: Array) -> Array:
        return np.zeros_like(x)

    def hessian(self, x: Array) -> Array:
        return np.zeros((x.size, x.size))

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        return v if regularizer is None else regularizer.proximal(v, step)

    def batch(self, indices: Sequence[int]) -> Hypothesis:  # noqa: ARG002
        return self


def _deviation_test(view: AdversaryView, agent: int, releases: Sequence[Release], coins: Any) -> _DeviationTest:
    """Test an agent's `releases`, as a replay with its own data explains them; `coins` as for that replay."""
    try:
        others = replay(view, agent, _NoData(), coins).releases
    except NetsimError:
        return _DeviationTest()
    known = list[_Noisy]()
    for own, other in zip(releases, others, strict=False):  # the other may send fewer
        if isinstance(own.mechanism, Perturbed) or isinstance(other.mechanism, Perturbed):
            return _DeviationTest()  # there the value is a function of what was observed
        with np.errstate(all="ignore"):
            added = np.nan_to_num(own.value - other.value, nan=0.0, posinf=0.0, neginf=0.0)
        if np.all(own.stddev > 0) and np.any(added):
            known.append(_Noisy(own, added))
    if not known:
        return _DeviationTest()
    ratios = [sum(one.ratio(theta) for one in known) for theta in SIZES]
    mean = float(special.logsumexp(ratios)) - np.log(SIZES.size)
    return _DeviationTest(float(np.exp(-max(0.0, mean))), tuple(known))
