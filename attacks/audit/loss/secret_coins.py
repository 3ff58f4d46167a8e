"""Loss for who does not know an agent's private coins: what was seen is a mixture over their histories h,

    L(o) = ln Σ_h p(h) f(o | h, D) − ln Σ_h p'(h) f(o | h, D').

The histories of either world are listed (`attacks.replay.coins`) and the agent's code is replayed at each: f is the
product of the densities of its releases, and 0 where it would have sent something else. So L is exact for every
transcript, up to `HISTORIES` of them. A history that sends a value without noise has fewer numbers with a density
than another: where both explain what was seen, it was that one, for noise hits a point with probability 0.

Coins of other agents decide nothing: given what the agent received they are the same in both worlds. Who knows its
coins too learns no less: δ(ε) = E[(1 − e^{ε−L})₊] falls where something is kept secret. That is the upper end where
there are too many histories. The lower one is then that of a game, for any function of what was seen makes a true
one: of the likelihoods' ratio, each a mean over histories that were drawn beforehand, the same for all transcripts.
What no history explains that was drawn, of either world, tells nothing: noise that is made of such coins.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from attacks.audit.accounting.formulas import SelfCheck, Weighted, epsilon_estimate, epsilon_from_losses
from attacks.audit.accounting.intervals import Interval
from attacks.audit.games.game import play
from attacks.audit.loss.comparison import Sample
from attacks.audit.loss.costliest import NUMBERS, RUNS, WORK, Histories, Look, Numbers, Search
from attacks.audit.loss.noise_check import ALPHA
from attacks.audit.loss.recovered import all_come_out
from attacks.audit.verdict import exceeds
from attacks.replay import CombinedReleaseError, Hypothesis, Replayed, Sending, attempted_replay
from attacks.replay.coins import HISTORIES, Coins, DrawnCoins, copied, every
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.errors import AttackError, NetsimError, PrivacyError
from netsim.mechanisms import DiscreteMechanism, UniformModulo
from netsim.shown import show
from netsim.transcript import Transcript

SECRET = 2**44
"""First number of the chunks of one transcript with tosses of its own, of which `Simulate` makes two a toss: plain
ones, and after each one with aimed noise."""
TOSSED, FEWEST, LOOKED_AT = 250, 32, 4
"""Tosses of each world at least; of long runs and at δ = 0; those that tell whether there is anything to price."""
ENOUGH = 20
"""Losses beyond ε that an estimate wants."""
_DRAWN, _LEAST_DRAWN, _MOST_DRAWN = 7, 32, 512
"""Seed of histories that are drawn, and how many at least and at most: fewer where transcripts hold messages of their
own, for they are replayed apart, and in long runs."""
_WORK = 2**14
"""Messages that are replayed at these in each world, at most, but for the least."""
_SAME = 1e-9
"""Relative: a loss that is larger by less counts as equal."""
_RARE = 5.0
"""Histories that are expected and not one of which is drawn: with probability e^−5."""
_FARTHER = 1e3
"""Score of a message more that the histories of one world explain, where none explains all."""
_MESSAGES = 40
"""Messages of a run from which on tosses are fewer."""


@dataclass(frozen=True)
class SecretCoins:
    """ε(δ) of the pair, of the larger direction, for who does not know the agent's private coins.

    `known`: that of who knows them, over all tosses, from the same transcripts. `histories`: how many of either world
    explain one transcript, at most; None where they could not be listed, as `unlisted` says: then
    `epsilon` is that of `known` from above, and of a game with `drawn` histories from below. `apart`: a transcript
    that many of these explain and none of the other world would have been explained by some, were the ratio of their
    odds no more than e to this (`_RARE`). `tosses` of each world were looked at. `rarer`: who knows them loses most
    at a toss that none of these has.
    """

    epsilon: Interval
    known: Interval
    histories: int | None
    tosses: int
    unlisted: str | None = None
    drawn: int = 0
    apart: float = 0.0
    rarer: bool = False

    def judged(self, claim: Claim) -> Interval | None:
        """Interval by which a claim is judged; None at δ = 0 for who knows the coins, where no toss is `rarer`: any
        toss refutes it."""
        if claim.coins == "secret":
            return self.epsilon
        return self.known if claim.delta > 0 or self.rarer else None

    def sentence(self, about: str) -> str:
        """Both prices, and of which of them the claim is (`netsim.claims.Claim.coins`)."""
        listed = f"{self.histories} histories explain a transcript, at most"
        if self.histories is None:
            game = f"; from below by a game with {self.drawn} of them" if self.drawn else ""
            listed = f"histories are not listed: {self.unlisted}{game}"
        ends = [(_number(one.lower), _number(one.upper)) for one in (self.epsilon, self.known)]
        secret, known = (low if low == high else f"between {low} and {high}" for low, high in ends)
        return (
            f"Private coins were tossed ({listed}; {self.tosses} tosses): for a listener who does not know them, "
            f"ε of the pair is {secret}; for one who does, it is {known}. The claim is judged for one who "
            f"{'knows them' if about == 'known' else 'does not'}."
        )


def _number(value: float) -> str:
    return show(value, 4)


def read_at(sample: Sample, agent: int, hypothesis: Hypothesis, coins: np.random.Generator) -> Replayed:
    """Replay of transcripts at some coins.

    A release that no message carries as it was made is granted, where it comes out of the messages at these coins
    too: two affine maps of releases to messages that make the same of what was drawn are one. You get a
    `CombinedReleaseError` where one does not.
    """
    try:
        return attempted_replay(sample.view, agent, hypothesis, coins)
    except CombinedReleaseError:
        if not sample.releases:
            raise
        start = copied(coins)
        found = attempted_replay(sample.view, agent, hypothesis, coins, sample.releases)
        if found.departure is not None and not found.out_of_releases:
            return found
        if not all_come_out(
            found,
            sample.releases,
            lambda releases: attempted_replay(sample.view, agent, hypothesis, copied(start), releases),
        ):
            raise
        return found


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


def _grouped(samples: Sequence[Sample], agent: int, endings: Sequence[_Ending], alone: bool) -> list[_Group]:
    """Transcripts of one replica together, where they hold the same messages; each by itself if `alone`."""
    groups: dict[object, list[int]] = {}
    doors = [sample.at_door(agent) for sample in samples]
    for k, (door, ending) in enumerate(zip(doors, endings, strict=True)):
        rows = tuple((*row[:9], tuple(row.values)) for row in door.view.transcript.records)
        groups.setdefault((rows, ending, k if alone else None), []).append(k)
    return [_Group(joined([doors[k] for k in at]), at, endings[at[0]]) for at in groups.values()]


def joined(doors: Sequence[Sample]) -> Sample:
    """Transcripts that hold the same messages as one sample; without releases where they made others."""
    first = doors[0]
    every_row = zip(*(door.view.transcript.records for door in doors), strict=True)
    rows = tuple(
        row[0]._replace(values={name: np.concatenate([one.values[name] for one in row]) for name in row[0].values})
        for row in every_row
    )
    alike = len({tuple(release.shape for release in one.releases) for one in doors}) == 1
    releases = [np.concatenate(some) for some in zip(*(one.releases for one in doors), strict=True)] if alike else []
    return replace(first, view=replace(first.view, transcript=Transcript(rows, len(doors))), releases=releases)


class _Apart(Exception):  # noqa: N818
    """The code decides for all transcripts of a group by the values of some: each has to be replayed by itself."""


class History(NamedTuple):
    """One history as it explains a group: ln p(h) f, −∞ where it does not, numbers with a density; (replicas,).
    `sent`: how many messages it sends as they were sent."""

    terms: Array
    numbers: Array
    sent: Array

    @classmethod
    def of(cls, group: _Group, log_chance: float, found: Replayed) -> "History":
        """A replay of the whole group."""
        replicas = len(group.at)
        visible = ((c.message, c.visible) for c in found.comparisons)
        sent = np.min([np.where(seen, message, len(found.sendings)) for message, seen in visible], axis=0,
                      initial=len(found.sendings)) * np.ones(replicas)  # fmt: skip
        if found.departure is not None or _ending(found) != group.ending:
            return cls(np.full(replicas, -math.inf), np.zeros(replicas), np.minimum(sent, len(found.sendings)))
        one = _Likelihood.of(found, replicas)
        return cls(log_chance + one.log_density, one.numbers, sent + np.isfinite(one.log_density))

    @classmethod
    def of_all(cls, found: "Sequence[History]") -> "History":
        """Several, one a row."""
        return cls(*(np.array([getattr(one, name) for one in found]) for name in cls._fields))

    def total(self, numbers: Array) -> Array:
        """ln of the sum of histories, one a row, with so many numbers that have a density; (replicas,)."""
        return np.asarray(special.logsumexp(np.where(self.numbers == numbers, self.terms, -math.inf), axis=0))


_Read = Callable[[_Group, Hypothesis], Iterator[tuple[Any, History]]]
"""Histories of a group under a hypothesis, each with what makes its coins anew."""
Shares = Callable[[float], None]
"""Receiver of the share of all histories that was read since it was called before."""


def _listing(agent: int, most: int, progress: Shares) -> _Read:
    """Every history, of which as large a share is read as it is likely."""

    def read(group: _Group, hypothesis: Hypothesis) -> Iterator[tuple[Callable[[], Coins], History]]:
        def one(coins: Coins) -> tuple[Coins, Replayed]:
            return coins, read_at(group.sample, agent, hypothesis, coins)

        for chance, (coins, found) in every(one, most):
            progress(math.exp(chance))
            yield partial(Coins.of, coins.history), History.of(group, chance, found)

    return read


def _drawing(agent: int, count: int, progress: Shares) -> _Read:
    """So many histories that are drawn, the same for all transcripts."""

    def read(group: _Group, hypothesis: Hypothesis) -> Iterator[tuple[Callable[[], DrawnCoins], History]]:
        for k in range(count):
            make = partial(drawn_coins, k)
            coins = make()
            found = attempted_replay(group.sample.view, agent, hypothesis, coins)
            progress(1 / count)
            yield make, History.of(group, coins.log_chance, found)

    return read


def drawn_coins(number: int) -> DrawnCoins:
    """Coins of the `number`-th history that is drawn."""
    return DrawnCoins(np.random.default_rng((_DRAWN, number)))


def at_histories(
    one: Sample, agent: int, hypothesis: Hypothesis, most: int, drawn: int
) -> tuple[list[tuple[float, Replayed]], bool]:
    """Replays at every history of the agent's coins, each with ln of its probability, and that these are all; where
    there are more than `most`, at some that are `drawn`, alike. The code may raise anything."""
    read = partial(one.replayed_at, agent, hypothesis)
    try:
        return list(every(read, most)), True
    except AttackError:
        return [(0.0, read(drawn_coins(k))) for k in range(drawn)], False


def _together(group: _Group, agent: int, hypothesis: Hypothesis, read: _Read) -> History:
    """All histories of a group, (histories, replicas). `_Apart` where transcripts alone are explained otherwise.

    Of each transcript one history is looked at: what decides for all by the values of one is seen unless it does so
    at so few histories that hardly any of them is drawn.
    """
    made, found = zip(*read(group, hypothesis), strict=True)
    whole = History.of_all(found)
    rng = np.random.default_rng(len(group.at))
    for k in range(len(group.at)) if len(group.at) > 1 else ():
        one = _Group(group.sample.replica(k), [0], group.ending)
        h = int(rng.integers(len(made)))
        coins = made[h]()
        alone = History.of(one, 0.0, read_at(one.sample, agent, hypothesis, coins))
        alone = alone._replace(terms=alone.terms + coins.log_chance)
        pairs = zip(alone, (rows[h, k] for rows in whole), strict=True)
        if not all(np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in pairs):
            raise _Apart
    return whole


def _ratio(true: History, other: History) -> Array:
    """ln of the ratio of two sums over histories, ∞ where the other world has none; (replicas,)."""
    fewest = _fewest(true)
    if np.any(np.isinf(fewest)):
        raise PrivacyError(
            "no history of an agent's private coins sends what it sent: its code knows more than those"
        )
    if np.any(_fewest(other) < fewest):
        raise AttackError("the other world sends what noise made here without noise, but for rounding")
    return true.total(fewest) - other.total(fewest)


def _fewest(found: History) -> Array:
    """Fewest numbers with a density of those histories that explain it, ∞ if none does; (replicas,)."""
    return np.min(np.where(np.isneginf(found.terms), math.inf, found.numbers), axis=0, initial=math.inf)


class _Losses(NamedTuple):
    """Losses of transcripts for who knows the coins, and for who does not; None where histories are not listed. How
    many explain one transcript at most, and how many were tried. `worlds`: mixtures of both, of the histories that
    explain a transcript, by its number, where they are known; one transcript of those that the same explain."""

    known: Array
    secret: Array | None
    histories: int
    tried: int
    unlisted: str | None = None

    def joined(self, other: "_Losses") -> "_Losses":
        """These, and others."""
        known = np.append(self.known, other.known)
        secret = None if self.secret is None or other.secret is None else np.append(self.secret, other.secret)
        histories, tried = max(self.histories, other.histories), max(self.tried, other.tried)
        return self._replace(known=known, secret=secret, histories=histories, tried=tried)


def unseen(_: float) -> None:
    """Progress that nobody looks at."""


def _part_of(progress: Shares, parts: int) -> Shares:
    """Receiver of the share of one of so many parts."""
    return lambda share: progress(share / parts)


def losses_of(
    samples: Sequence[Sample],
    agent: int,
    true: Hypothesis,
    other: Hypothesis,
    *,
    listed: bool = True,
    progress: Shares = unseen,
) -> _Losses:
    """Losses of transcripts of one replica each under `true`."""
    known, endings = np.zeros(len(samples)), list[_Ending]()
    for k, sample in enumerate(samples):
        mine, theirs = (read_at(sample, agent, f, sample.coins()) for f in (true, other))
        endings.append(_ending(mine))
        here, there = _Likelihood.of(mine, 1), _Likelihood.of(theirs, 1)
        if mine.departure is not None or not np.isfinite(here.log_density).all():
            raise PrivacyError(f"agent {agent}, replayed at its own coins, does not send what it sent")
        apart = theirs.departure is not None or _ending(theirs) != endings[-1] or here.numbers != there.numbers
        known[k] = math.inf if apart else (here.log_density - there.log_density).item()
    if not listed:
        return _Losses(known, None, 0, 0)
    try:
        try:
            return _Losses(known, *_of_histories(samples, agent, true, other, endings, progress))
        except _Apart:
            return _Losses(known, *_of_histories(samples, agent, true, other, endings, progress, alone=True))
    except AttackError as error:
        return _Losses(known, None, 0, 0, unlisted=str(error))


def _of_histories(
    samples: Sequence[Sample],
    agent: int,
    true: Hypothesis,
    other: Hypothesis,
    endings: Sequence[_Ending],
    progress: Shares,
    *,
    alone: bool = False,
) -> tuple[Array, int, int]:
    """Losses for who does not know the coins, and `_Losses.histories` and `tried`."""
    secret, most, tried = np.zeros(len(samples)), 1, 1
    groups = _grouped(samples, agent, endings, alone)
    each = min(HISTORIES, max(64, 4 * HISTORIES // len(groups)))  # transcripts of other times are replayed apart
    listing = _listing(agent, each, _part_of(progress, 2 * len(groups)))
    for group in groups:
        one, two = (_together(group, agent, f, listing) for f in (true, other))
        secret[group.at] = _ratio(one, two)
        for found in (one, two):
            most = max(most, int(np.max(np.sum(np.isfinite(found.terms), axis=0))))
            tried = max(tried, len(found.terms))
    return secret, most, tried


def _looked(sample: Sample, agent: int, worlds: tuple[Hypothesis, Hypothesis], histories: int) -> Look:
    """Transcripts of the first world, as many as may be where there are so many histories, replayed together at all
    of these."""
    mine = read_at(sample, agent, worlds[0], sample.coins())
    numbers = sum(release.value.shape[-1] for release in mine.releases)
    part = sample.at_door(agent).part(slice(max(1, NUMBERS // (histories * max(1, numbers)))))
    replicas, reads = part.view.replicas, list[list[_Numbered]]()
    group, own = _Group(part, list(range(replicas)), _ending(mine)), Numbers.of(mine.releases, replicas)
    for hypothesis in worlds:

        def read(coins: Coins, hypothesis: Hypothesis = hypothesis) -> tuple[Coins, Replayed]:
            return coins, read_at(part, agent, hypothesis, coins)

        reads.append(
            [
                _Numbered(
                    History.of(group, chance, there), Numbers.of(there.releases, replicas), chance, coins.history
                )
                for chance, (coins, there) in every(read, HISTORIES)
            ]
        )
    one, two = (History.of_all([one.history for one in some]) for some in reads)
    fewest = _fewest(one)
    with np.errstate(invalid="ignore"):
        losses = one.total(fewest) - two.total(fewest)
    known = np.isfinite(fewest) & (_fewest(two) >= fewest) & ~np.isnan(losses)
    both = [
        Histories.mixed(
            [one.log_chance for one in some],
            np.isfinite(found.terms) & (found.numbers == fewest),
            [one.numbers for one in some],
            own,
        )
        for found, some in zip((one, two), reads, strict=True)
        if own is not None
    ]
    coins = [partial(Coins.of, one.outcomes) for one in reads[0]]
    return Look(np.where(known, losses, -math.inf), coins, own, both)


class _Numbered(NamedTuple):
    """One history of a group, with the numbers that it releases, ln of its odds, and how its coins come out."""

    history: History
    numbers: Numbers | None
    log_chance: float
    outcomes: tuple[int, ...]


class _Scores(NamedTuple):
    """Scores of transcripts, larger the more they look like world 1, (transcripts,), and how many histories of
    either world explain each, (2, transcripts)."""

    scores: Array
    explained: Array


def _scores(
    samples: Sequence[Sample],
    agent: int,
    hypotheses: tuple[Hypothesis, Hypothesis],
    world: int,
    count: int,
    progress: Shares,
    *,
    alone: bool,
) -> _Scores:
    """Scores of transcripts of one replica each, by so many histories that are drawn."""
    endings = [_ending(attempted_replay(one.view, agent, hypotheses[world], one.coins())) for one in samples]
    scores, explained = np.zeros(len(samples)), np.zeros((2, len(samples)))
    groups = _grouped(samples, agent, endings, alone)
    drawing = _drawing(agent, count, _part_of(progress, 2 * len(groups)))
    for group in groups:
        zero, one = (_together(group, agent, f, drawing) for f in hypotheses)
        fewest = np.minimum(_fewest(zero), _fewest(one))
        ends = [found.total(np.where(np.isinf(fewest), -1.0, fewest)) for found in (zero, one)]
        farther = np.max(one.sent, axis=0) - np.max(zero.sent, axis=0)
        neither = np.isinf(fewest)
        with np.errstate(invalid="ignore"):
            scores[group.at] = np.where(neither, _FARTHER * farther, ends[1] - ends[0])
        explained[:, group.at] = [np.sum(np.isfinite(found.terms), axis=0) for found in (zero, one)]
    return _Scores(scores, explained)


def price_of_secret(
    simulate: Callable[[int, int], Sample],
    agent: int,
    hypotheses: tuple[Hypothesis, Hypothesis],
    delta: float,
    confidence: float,
    *,
    transcripts: int = 0,
    bounded: bool = True,
    played: bool = True,
    besides: tuple[Sequence[Sample], Sequence[Sample]] = ((), ()),
    claimed: float | None = None,
    progress: Shares = unseen,
) -> SecretCoins | None:
    """The price of both directions together, at `confidence` by itself; None where coins choose receivers alone.

    From so many tosses of each world, one in four of the audit's `transcripts`, but at least `TOSSED`, fewer in long
    runs, and `FEWEST` at δ = 0. There transcripts of either world `besides` these count too, of one replica each: any
    that is possible; and of a claim about who does not know the coins one that is searched for, less where what is
    `claimed` is refuted anyway (`attacks.audit.loss.costliest`).

    Where histories cannot be listed a game with drawn ones is `played` against who does not know them. `progress`
    receives shares of those that are listed or drawn.

    You get an `AttackError` where histories cannot be listed, unless it is to be `bounded` all the same, or another
    `NetsimError` where they cannot be replayed (what is released is not on the wire as it was); and a `PrivacyError`
    where a self-check fails: E[e^{−L}] ≤ 1.
    """
    orders = [(hypotheses[world], hypotheses[1 - world]) for world in (0, 1)]
    looks = [[simulate(world, SECRET + 2 * k) for k in range(LOOKED_AT)] for world in (0, 1)]
    public = looks[0][0].view.public
    if not public.codec.lossless or looks[0][0].view.shared or public.query_time(agent) is None:
        raise AttackError("what is sent is rounded, has noise that neighbors share, or is sent at random times")
    part = _part_of(progress, 6)  # two looks, and in each world plain and aimed transcripts
    seen = [losses_of(some, agent, *pair, progress=part) for some, pair in zip(looks, orders, strict=True)]
    unlisted = next((one.unlisted for one in seen if one.unlisted), None)
    if unlisted is not None and not bounded:
        raise AttackError(unlisted)
    alike = all(one.secret is not None and np.allclose(one.known, one.secret) for one in seen)
    if unlisted is None and max(one.tried for one in seen) == 1 and alike:
        return None
    messages = max(1, *(len(one.view.transcript) for some in looks for one in some))
    wanted = max(TOSSED, transcripts // 4)
    plainly = min(wanted, max(FEWEST, wanted * _MESSAGES // messages))
    tosses = FEWEST if delta == 0 else plainly
    sure, known, secret = 1 - (1 - confidence) / 2, list[Interval](), list[Interval]()
    seldom, often = 0.0, 0.0
    plains = list[list[Sample]]()
    for world, pair in enumerate(orders):
        first = SECRET + 2 * LOOKED_AT  # the others were looked at to decide
        plain, aimed = ([simulate(world, first + 2 * k + way) for k in range(tosses)] for way in (0, 1))
        several = unlisted is not None and played  # a game wants some where pure ε does not
        more = range(tosses, plainly if several else tosses)
        if delta == 0:
            aimed += besides[world]
        plains.append(plain + [simulate(world, first + 2 * k) for k in more])
        listed = unlisted is None
        drawn, others = (losses_of(one, agent, *pair, listed=listed, progress=part) for one in (plain, aimed))
        seen += [drawn, others]
        if delta == 0 and played and drawn.secret is not None and others.secret is not None:
            most = float(np.max([*drawn.secret, *others.secret]))
            runs = 0 if claimed is not None and exceeds(most, claimed) else RUNS
            found = _costliest(simulate(world, 0), agent, pair, runs, max(drawn.tried, others.tried), most)
            others = others if found is None else others.joined(found)
        seldom = max(seldom, float(np.max(others.known[tosses:], initial=0.0)))
        often = max(often, float(np.max(drawn.known)), float(np.max(others.known[:tosses])))
        weights = np.array([0.0 if one.log_weights is None else float(np.sum(one.log_weights)) for one in aimed])
        for losses, tilted, ends in ((drawn.known, others.known, known), (drawn.secret, others.secret, secret)):
            if losses is None or tilted is None:
                continue
            if not SelfCheck.of(losses, 1 - ALPHA).passed:
                raise PrivacyError("no verdict: E[e^−L] is above 1 where private coins are tossed: a replay is wrong")
            ends.append(_enclosed(losses, (tilted, weights), delta, sure))
    rarer = seldom > often * (1 + _SAME)
    above, unlisted = _larger(known), next((one.unlisted for one in seen if one.unlisted), None)
    if unlisted is None:
        return SecretCoins(_larger(secret), above, max(one.histories for one in seen), tosses, rarer=rarer)
    lower, apart, drawn = _of_drawn(plains, agent, hypotheses, delta, sure, progress) if played else (0.0, 0.0, 0)
    lower = min(lower, above.upper)
    epsilon = replace(above, lower=lower, estimate=max(lower, above.estimate))
    return SecretCoins(epsilon, above, None, tosses, unlisted, drawn, apart, rarer)


def _costliest(
    base: Sample, agent: int, worlds: tuple[Hypothesis, Hypothesis], runs: int, histories: int, most: float
) -> _Losses | None:
    """Losses of a transcript like those of a `base`, or of other tosses in so many `runs`, that was found to lose
    most; None where it is no more than `most`. So many `histories` were listed."""
    messages = 1 + len(base.view.transcript.at_node(agent))
    runs = min(runs, WORK // (4 * histories * messages))
    for loss, one in Search(base, partial(_looked, agent=agent, worlds=worlds, histories=histories), runs).found():
        if loss <= most * (1 + _SAME):
            break
        with suppress(NetsimError):  # of numbers so large that something is lost in rounding, say
            found = losses_of([one], agent, *worlds)
            if found.secret is not None:
                return found
    return None


def _of_drawn(
    samples: Sequence[Sequence[Sample]],
    agent: int,
    hypotheses: tuple[Hypothesis, Hypothesis],
    delta: float,
    confidence: float,
    progress: Shares,
) -> tuple[float, float, int]:
    """ε that a game with drawn histories proves, `SecretCoins.apart`, and how many histories were drawn."""
    apart = {tuple(row[:9] for row in one.view.at_node(agent)) for some in samples for one in some}
    most = min(HISTORIES // len(apart), _WORK // max(1, *map(len, apart)))
    count, part = min(_MOST_DRAWN, max(_LEAST_DRAWN, most)), _part_of(progress, 2)

    def scored(count: int, *, alone: bool) -> list[_Scores]:
        pairs = enumerate(samples)
        return [_scores(some, agent, hypotheses, world, count, part, alone=alone) for world, some in pairs]

    try:
        zero, one = scored(count, alone=False)
    except _Apart:
        zero, one = scored(count := _LEAST_DRAWN, alone=True)
    own = [np.where(f.explained[1 - w] == 0, f.explained[w], 0) for w, f in enumerate((zero, one))]
    odds = math.log(max(1.0, float(np.max(own)) / _RARE))
    game = play(zero.scores, one.scores, delta=delta, confidence=confidence, rng=np.random.default_rng(_DRAWN))
    return game.epsilon_audited, odds, count


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
