"""Loss for who does not know an agent's private coins: what was seen is a mixture over their histories h,

    L(o) = ln Σ_h p(h) f(o | h, D) − ln Σ_h p'(h) f(o | h, D').

The histories of either world are listed (`attacks.replay.coins`) and the agent's code is replayed at each: f is the
product of the densities of its releases, and 0 where it would have sent something else. So L is exact for every
transcript, up to `HISTORIES` of them. A history that sends a value without noise has fewer numbers with a density
than another: where both explain what was seen, it was that one, for noise hits a point with probability 0.

Coins of other agents decide nothing: given what the agent received they are the same in both worlds. Who knows its
coins too learns no less: δ(ε) = E[(1 − e^{ε−L})₊] falls where something is kept secret. That is the upper end where
there are too many histories, and then the lower one is 0.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import special

from attacks.audit.accounting.formulas import SelfCheck, Weighted, epsilon_estimate, epsilon_from_losses
from attacks.audit.accounting.intervals import Interval
from attacks.audit.loss.comparison import Sample
from attacks.audit.loss.noise_check import ALPHA
from attacks.replay import Hypothesis, Replayed, Sending, replay
from attacks.replay.coins import HISTORIES, every
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.errors import AttackError, PrivacyError
from netsim.mechanisms import DiscreteMechanism, UniformModulo
from netsim.transcript.transcript import Transcript

SECRET = 2**44
"""First number of the chunks of one transcript with tosses of its own, of which `Simulate` makes two a toss: plain
ones, and after each one with aimed noise."""
TOSSED, FEWEST, LOOKED_AT = 250, 32, 4
"""Tosses of each world at least; of long runs and at δ = 0; those that tell whether there is anything to price."""
ENOUGH = 20
"""Losses beyond ε that an estimate wants."""
_MESSAGES = 40
"""Messages of a run from which on tosses are fewer."""


@dataclass(frozen=True)
class SecretCoins:
    """ε(δ) of the pair, of the larger direction, for who does not know the agent's private coins.

    `known`: that of who knows them, over all tosses, from the same transcripts. `histories`: how many of either world
    explain one transcript, at most; None where they could not be listed, as `unlisted` says: then
    `epsilon` is bounded from above alone. `tosses` of each world were looked at.
    """

    epsilon: Interval
    known: Interval
    histories: int | None
    tosses: int
    unlisted: str | None = None

    def judged(self, claim: Claim) -> Interval | None:
        """Interval by which a claim is judged; None at δ = 0 for who knows the coins: any toss refutes it."""
        if claim.coins == "secret":
            return self.epsilon
        return self.known if claim.delta > 0 else None

    def bare(self, claim: Claim) -> bool:
        """Whether more than δ of the mass is proven to have an infinite loss: of who knows the coins, where they are
        not listed, for noise is made by `privatize` and by nothing else."""
        return math.isinf(self.epsilon.lower if claim.coins == "secret" and self.histories else self.known.lower)

    def sentence(self, about: str) -> str:
        """Both prices, and of which of them the claim is (`netsim.claims.Claim.coins`)."""
        listed = f"{self.histories} histories explain a transcript, at most"
        listed = listed if self.histories else f"histories are not listed: {self.unlisted}"
        ends = [(_number(one.lower), _number(one.upper)) for one in (self.epsilon, self.known)]
        secret, known = ("∞" if low == "∞" else f"between {low} and {high}" for low, high in ends)
        return (
            f"Private coins were tossed ({listed}; {self.tosses} tosses): for who does not know them ε of the pair "
            f"is {secret}, for who does {known}; the claim is judged for who "
            f"{'knows them' if about == 'known' else 'does not'}."
        )


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"


class _Likelihood(NamedTuple):
    """How a replay explains transcripts: numbers that have a density, and ln f, −∞ where it does not; (replicas,)."""

    numbers: Array
    log_density: Array

    @classmethod
    def of(cls, found: Replayed, replicas: int) -> "_Likelihood":
        numbers, total = np.zeros(replicas), np.zeros(replicas)
        for release in found.releases:
            if np.any(release.drowned):
                raise AttackError("some noise is below the rounding of the values it covers")
            if not isinstance(release.mechanism, DiscreteMechanism | UniformModulo):
                numbers += np.count_nonzero(release.stddev > 0, axis=-1)
            total = total + release.log_density()
        for one in found.comparisons:
            total = np.where(one.visible, -math.inf, total)
        return cls(numbers, total)


_Ending = tuple[bool, tuple[Sending, ...]]


def _ending(found: Replayed) -> _Ending:
    """What else is seen: messages in order, when they could be sent, and whether more would have followed."""
    sent = (s._replace(activation=0, pace=0, releases=0, time=float(f"{s.time:.9g}")) for s in found.sendings)
    return found.overran, tuple(sent)


class _Group(NamedTuple):
    """Transcripts of the same messages, as one sample; their numbers, and how they end."""

    sample: Sample
    at: list[int]
    ending: _Ending


def _grouped(samples: Sequence[Sample], agent: int, endings: Sequence[_Ending]) -> Iterator[_Group]:
    """Transcripts of one replica together, where they hold the same messages."""
    groups: dict[object, list[int]] = {}
    doors = [sample.at_door(agent) for sample in samples]
    for k, (door, ending) in enumerate(zip(doors, endings, strict=True)):
        rows = tuple((*row[:9], tuple(row.values)) for row in door.view.transcript.records)
        groups.setdefault((rows, ending), []).append(k)
    for at in groups.values():
        first = doors[at[0]]
        every_row = zip(*(doors[k].view.transcript.records for k in at), strict=True)
        rows = tuple(
            row[0]._replace(
                values={name: np.concatenate([one.values[name] for one in row]) for name in row[0].values}
            )
            for row in every_row
        )
        view = replace(first.view, transcript=Transcript(rows, len(at)))
        yield _Group(replace(first, view=view, releases=[]), at, endings[at[0]])


def _listed(group: _Group, agent: int, hypothesis: Hypothesis, most: int) -> tuple[Array, Array, int]:
    """ln p(h) f of every possible history (histories, replicas), its numbers with a density; how many were tried."""
    view, replicas = group.sample.view, len(group.at)
    terms, numbers, tried = list[Array](), list[Array](), 0
    for chance, found in every(lambda coins: replay(view, agent, hypothesis, coins), most):
        tried += 1
        if found.departure is not None or _ending(found) != group.ending:
            continue
        one = _Likelihood.of(found, replicas)
        terms.append(chance + one.log_density)
        numbers.append(one.numbers)
    shape = len(terms), replicas
    return np.array(terms).reshape(shape), np.array(numbers).reshape(shape), tried


def _ratio(true: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
    """ln of the ratio of two sums over histories, ∞ where the other world has none; (replicas,)."""
    fewest = np.min(np.where(np.isneginf(true[0]), math.inf, true[1]), axis=0, initial=math.inf)
    if np.any(np.isinf(fewest)):
        raise PrivacyError(
            "no history of an agent's private coins sends what it sent: its code knows more than those"
        )
    if np.any(np.isfinite(other[0]) & (other[1] < fewest)):
        raise AttackError("the other world sends what noise made here without noise, but for rounding")
    sums = [
        special.logsumexp(np.where(numbers == fewest, terms, -math.inf), axis=0) if len(terms) else -math.inf
        for terms, numbers in (true, other)
    ]
    return np.asarray(sums[0] - sums[1])


class _Losses(NamedTuple):
    """Losses of transcripts for who knows the coins, and for who does not; None where histories are not listed. How
    many explain one transcript at most, and how many were tried."""

    known: Array
    secret: Array | None
    histories: int
    tried: int
    unlisted: str | None = None


def _losses(
    samples: Sequence[Sample], agent: int, true: Hypothesis, other: Hypothesis, *, listed: bool = True
) -> _Losses:
    """Losses of transcripts of one replica each under `true`."""
    known, endings = np.zeros(len(samples)), list[_Ending]()
    for k, sample in enumerate(samples):
        mine, theirs = (replay(sample.view, agent, f, sample.coins()) for f in (true, other))
        endings.append(_ending(mine))
        here, there = _Likelihood.of(mine, 1), _Likelihood.of(theirs, 1)
        if mine.departure is not None or not np.isfinite(here.log_density).all():
            raise PrivacyError(f"agent {agent}, replayed at its own coins, does not send what it sent")
        apart = theirs.departure is not None or _ending(theirs) != endings[-1] or here.numbers != there.numbers
        known[k] = math.inf if apart else (here.log_density - there.log_density).item()
    if not listed:
        return _Losses(known, None, 0, 0)
    secret, most, tried = np.zeros(len(samples)), 1, 1
    try:
        groups = list(_grouped(samples, agent, endings))
        each = min(HISTORIES, max(64, 4 * HISTORIES // len(groups)))  # transcripts of other times are replayed apart
        for group in groups:
            one, two = (_listed(group, agent, hypothesis, each) for hypothesis in (true, other))
            secret[group.at] = _ratio(one[:2], two[:2])
            most = max(most, *(int(np.max(np.sum(np.isfinite(terms), axis=0))) for terms, *_ in (one, two)))
            tried = max(tried, one[2], two[2])
    except AttackError as error:
        return _Losses(known, None, 0, 0, str(error))
    return _Losses(known, secret, most, tried)


def price_of_secret(
    simulate: Callable[[int, int], Sample],
    agent: int,
    hypotheses: tuple[Hypothesis, Hypothesis],
    delta: float,
    confidence: float,
    *,
    transcripts: int = 0,
    bounded: bool = True,
) -> SecretCoins | None:
    """The price of both directions together, at `confidence` by itself; None where coins choose receivers alone.

    From so many tosses of each world, one in four of the audit's `transcripts`, but at least `TOSSED`, fewer in long
    runs, and `FEWEST` at δ = 0.

    You get an `AttackError` where histories cannot be listed, unless it is to be `bounded` all the same, or another
    `NetsimError` where they cannot be replayed (what is released is not on the wire as it was); and a `PrivacyError`
    where a self-check fails: E[e^{−L}] ≤ 1.
    """
    orders = [(hypotheses[world], hypotheses[1 - world]) for world in (0, 1)]
    looks = [[simulate(world, SECRET + 2 * k) for k in range(LOOKED_AT)] for world in (0, 1)]
    public = looks[0][0].view.public
    if not public.codec.lossless or looks[0][0].view.shared or public.query_time(agent) is None:
        raise AttackError("what is sent is rounded, has noise that neighbors share, or is sent at random times")
    seen = [_losses(some, agent, *pair) for some, pair in zip(looks, orders, strict=True)]
    unlisted = next((one.unlisted for one in seen if one.unlisted), None)
    if unlisted is not None and not bounded:
        raise AttackError(unlisted)
    alike = all(one.secret is not None and np.allclose(one.known, one.secret) for one in seen)
    if unlisted is None and max(one.tried for one in seen) == 1 and alike:
        return None
    messages = max(len(one.view.transcript) for some in looks for one in some)
    wanted = max(TOSSED, transcripts // 4)
    tosses = FEWEST if delta == 0 else min(wanted, max(FEWEST, wanted * _MESSAGES // messages))
    sure, known, secret = 1 - (1 - confidence) / 2, list[Interval](), list[Interval]()
    for world, pair in enumerate(orders):
        first = SECRET + 2 * LOOKED_AT  # the others were looked at to decide
        plain, aimed = ([simulate(world, first + 2 * k + way) for k in range(tosses)] for way in (0, 1))
        drawn, others = (_losses(one, agent, *pair, listed=unlisted is None) for one in (plain, aimed))
        seen += [drawn, others]
        weights = np.array([0.0 if one.log_weights is None else float(np.sum(one.log_weights)) for one in aimed])
        for losses, tilted, ends in ((drawn.known, others.known, known), (drawn.secret, others.secret, secret)):
            if losses is None or tilted is None:
                continue
            if not SelfCheck.of(losses, 1 - ALPHA).passed:
                raise PrivacyError("no verdict: E[e^−L] is above 1 where private coins are tossed: a replay is wrong")
            ends.append(_enclosed(losses, (tilted, weights), delta, sure))
    above, unlisted = _larger(known), next((one.unlisted for one in seen if one.unlisted), None)
    if unlisted is not None:
        return SecretCoins(replace(above, lower=0.0), above, None, tosses, unlisted)
    return SecretCoins(_larger(secret), above, max(one.histories for one in seen), tosses)


def _enclosed(losses: Array, aimed: Weighted, delta: float, confidence: float) -> Interval:
    if delta > 0:
        found = epsilon_from_losses(losses, delta, confidence, aimed)
        few = losses.size * delta < ENOUGH  # then tilted transcripts say more
        estimate = epsilon_estimate(aimed[0], delta, aimed[1]) if few else found.estimate
        return replace(found, estimate=min(max(estimate, found.lower), found.upper))
    most = max(0.0, float(np.max(losses)), float(np.max(aimed[0])))
    return Interval(most, most, math.inf, confidence)


def _larger(ends: Sequence[Interval]) -> Interval:
    lower, estimate, upper = (max(getattr(one, end) for one in ends) for end in ("lower", "estimate", "upper"))
    return Interval(lower, min(max(estimate, lower), upper), upper, 2 * ends[0].confidence - 1)
