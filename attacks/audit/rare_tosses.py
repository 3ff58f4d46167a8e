"""Messages without noise, or with less, at tosses of private coins that hardly ever come out, and that nobody need
have tossed.

Each toss of a transcript is turned once, to every other outcome, and both worlds are replayed at it, others doing
what they did. Where a value differs that no noise covers, or another message is sent, the transcript is simulated
anew with coins that fall that way. That one has a positive probability. If no history of the other world's coins
explains it, up to its first unprotected message, its loss is infinite: at δ = 0 any such transcript is enough; at
δ > 0 the tosses until there have to come out so with a probability above δ, by their odds and by how many fresh
transcripts with these tosses are alike. Where that is not proven the claim is not called consistent all the same.

At δ = 0 the toss at which releases cost most, above the claim, is simulated anew too, with aimed noise: a possible
transcript, whose loss counts as that of any other.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from attacks.audit.accounting.formulas import leaks
from attacks.audit.loss.comparison import Reproduced, Sample
from attacks.audit.loss.costliest import fallen
from attacks.audit.loss.release_cost import cost_and_shifts
from attacks.audit.loss.secret_coins import SECRET, drawn_coins, joined, losses_of
from attacks.audit.loss.unprotected import UnprotectedMessage, draws_for
from attacks.audit.pair import Simulate
from attacks.audit.verdict import exceeds
from attacks.replay import Hypothesis, Release, attempted_replay
from attacks.replay.coins import Coins, DrawnCoins, every
from netsim.arrays import Array, Mask
from netsim.claims import Claim
from netsim.errors import AttackError, NetsimError, TranscriptError
from netsim.shown import show
from netsim.transcript import Transcript

TURNED = 1024
"""Tosses that are turned at most, each by itself."""
_JOINT = 2048
"""Histories of several tosses, at most."""
_DRAWN = 256
"""Sets of coins drawn at most, where none can be turned."""
_WORK = 2**14
"""Messages that are replayed at most in each world, but for `_LEAST` replays."""
_LEAST = 16
_SAME = 1e-9
"""Relative: numbers that differ by less are the same but for rounding."""
_SIMULATED = 8
"""Ways to depart from a transcript's messages of which one each is simulated."""
_FRESH = 16
"""Transcripts at δ > 0 that are simulated with coins that fall one way."""
_CHEAP = 8
"""So many tosses take the time of a message."""

_REDRAWN, _MORE = 64, 16
"""Times that releases are drawn anew to see what they have no effect on; and how many more of them another history
may make."""


@dataclass(frozen=True)
class RareSending:
    """What the agent sends without noise where its coins fall one way. `proven`: the loss is infinite in more than δ
    of the mass, for whom the claim is about. `agent`: another one than the audited, None: that one."""

    way: str
    what: str
    proven: bool = False
    agent: int | None = None

    def __str__(self) -> str:
        whose = "its private coins" if self.agent is None else f"private coins of agent {self.agent}"
        return f"Where {whose} fall one way ({self.way}) {self.what}"


class _LikelyCoins(Coins):
    """Coins whose tosses come out the likeliest way, but for those that are forced."""

    def toss(self, odds: Sequence[float]) -> int:
        outcomes = self._tosses.outcomes
        if max(odds) < sum(odds) and self._at == len(self._tosses.odds) == len(outcomes):
            outcomes.append(odds.index(max(odds)))
        return super().toss(tuple(odds))


class _Both(NamedTuple):
    """Both worlds at one history: how it came about, what no noise covers in either, by message and field, and which
    messages they are, as far as there are more, or others, than there were."""

    words: str
    coins: Coins | DrawnCoins
    sent: tuple[dict[tuple[int, str], Array], dict[tuple[int, str], Array]]
    ends: tuple[object, object]
    cost: float
    """Of all releases, for who knows the coins."""

    @property
    def first_apart(self) -> tuple[int, str] | None:
        """The first message and field that are not the same in both."""
        one, other = self.sent
        keys = sorted(one.keys() | other.keys())
        return next((key for key in keys if not _same(one.get(key), other.get(key))), None)

    def explained(self, at: Sequence["_Both"]) -> bool:
        """Whether at each of the two there is a history at which the other world sends the same."""

        def there(sent: dict[tuple[int, str], Array], world: int) -> bool:
            return any(
                sent.keys() == one.sent[world].keys() and all(_same(v, one.sent[world][k]) for k, v in sent.items())
                for one in at
            )

        return there(self.sent[0], 1) and there(self.sent[1], 0)


def _same(one: Array | None, other: Array | None) -> bool:
    if one is None or other is None or one.shape != other.shape:
        return False
    return bool(np.allclose(one, other, rtol=_SAME, atol=_SAME * float(np.max(np.abs(one), initial=0.0))))


def _turned(sample: Sample, agent: int, hypotheses: tuple[Hypothesis, Hypothesis], most: int) -> Iterator[_Both]:
    """Both worlds at the likeliest history, and at those in which one toss came out another way."""
    likely = _LikelyCoins.of(())
    first = _both(sample, agent, hypotheses, likely, "one of the likeliest")
    history, odds = likely.history, likely.tossed
    yield first._replace(words=f"of probability {show(math.exp(likely.log_chance))}") if len(odds) == 1 else first
    most = max(_LEAST, min(most, _WORK // (1 + len(sample.view.transcript.at_node(agent)) + len(odds) // _CHEAP)))
    for t, k in ways(history, odds, most):
        chance = odds[t][k] / math.fsum(odds[t])
        forced = _LikelyCoins.of((*history[:t], k))
        yield _both(sample, agent, hypotheses, forced, f"of probability {show(chance)}")


def ways(history: Sequence[int], odds: Sequence[Sequence[float]], most: int) -> Iterator[tuple[int, int]]:
    """Tosses and their other outcomes: those of the first tosses, before which little else was tossed; and some of
    all others, where they are more than `most`."""
    ends = np.cumsum([len(some) - 1 for some in odds])
    total = int(ends[-1]) if len(ends) else 0
    half = most if total <= most else most // 2
    numbers = [*range(min(half, total)), *range(half, total, -(-(total - half) // half) if total > half else 1)]
    for n in numbers:
        t = int(np.searchsorted(ends, n, side="right"))
        k = n - int(ends[t - 1] if t else 0)
        k += k >= history[t]
        if odds[t][k]:
            yield t, k


def _both(
    sample: Sample,
    agent: int,
    hypotheses: tuple[Hypothesis, Hypothesis],
    coins: Coins | DrawnCoins,
    words: str,
) -> _Both:
    ends = list[object]()

    made = list[Sequence[Release]]()

    def sent(hypothesis: Hypothesis) -> dict[tuple[int, str], Array]:
        found = attempted_replay(sample.view, agent, hypothesis, coins.copied(), sample.releases, sample.dither)
        other = found.departure is not None or found.overran or found.out_of_releases
        ends.append((found.departure, len(found.sendings), found.overran) if other else None)
        made.append(found.releases)
        return {(c.message, c.name): c.predicted for c in found.comparisons}

    start = coins.copied()
    attempted_replay(sample.view, agent, hypotheses[0], coins, sample.releases, sample.dither)  # notes what is tossed
    zero, one = (sent(hypothesis) for hypothesis in hypotheses)
    cost = math.fsum(float(cost_and_shifts(*pair)[0][0]) for pair in zip(*made, strict=False))
    return _Both(words, start, (zero, one), (ends[0], ends[1]), cost)


# ── is it proven? ───────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class RareTosses:
    """Transcripts in which the agent's coins fall one way. The one whose tosses are turned is chunk `index` of world
    0."""

    simulate: Simulate
    agent: int
    hypotheses: tuple[Hypothesis, Hypothesis]
    claim: Claim
    confidence: float
    index: int

    @cached_property
    def _found(self) -> Sequence[_Both]:
        """Both worlds at turned tosses, or at some that are drawn."""
        sample, agent, hypotheses = self.simulate(0, self.index), self.agent, self.hypotheses
        if not sample.view.public.codec.lossless:
            return ()
        most = min(TURNED, max(_LEAST, _WORK // (1 + len(sample.view.transcript.at_node(agent)))))
        try:
            return list(_turned(sample, agent, hypotheses, most))
        except AttackError:
            words = f"one of {min(most, _DRAWN)} that were drawn"
            return [_both(sample, agent, hypotheses, drawn_coins(k), words) for k in range(min(most, _DRAWN))]

    @property
    def _joint(self) -> Sequence[_Both]:
        """Both worlds at all histories, where several tosses may have to come out one way; none where these are too
        many."""
        sample = self.simulate(0, self.index)

        def read(coins: Coins) -> _Both:
            return _both(sample, self.agent, self.hypotheses, coins, "of several tosses")

        try:
            return [
                one for _, one in every(read, min(_JOINT, 2 * _WORK // (1 + len(sample.view.at_node(self.agent)))))
            ]
        except AttackError:
            return ()

    @staticmethod
    def _costliest(found: Sequence[_Both]) -> _Both | None:
        return max((one for one in found if math.isfinite(one.cost)), key=attrgetter("cost"), default=None)

    def sending(self) -> RareSending | None:
        """What the agent sends, at a toss of its coins, that the other world would not send and no noise covers; None
        where that was not found."""
        found, secret = self._found, self.claim.coins == "secret"
        apart = (one for one in found if one.first_apart is not None and not (secret and one.explained(found)))
        departing = {one.ends: one for one in reversed(found) if one.ends != (None, None)}
        doubt: RareSending | None = None
        for one in [*islice(apart, 1), *list(reversed(departing.values()))[:_SIMULATED]]:
            seen, proven = self.first_unprotected(one.coins), self.proven(one.coins)
            if one.first_apart is not None and seen is None and not self._hidden(one):
                seen = f"agent {self.agent} sends {one.first_apart[1]!r} in its message {one.first_apart[0]}"
            if seen is not None and proven is not False and (doubt is None or proven):
                doubt = RareSending(one.words, str(seen), bool(proven))
            if proven:
                break
        return doubt

    def _hidden(self, one: _Both) -> bool:
        """Whether noise that is not sent as it was made is in what is apart, so that it may cover it."""
        sample, own = self.simulate(0, self.index), self.hypotheses[0]
        known = attempted_replay(
            sample.view, self.agent, own, one.coins.copied(), sample.releases, sample.dither
        ).releases

        def sent(seed: int) -> Array | None:
            rng = np.random.default_rng(seed)
            made = [rng if release.sent_in is None else release.observed for release in known]
            found = attempted_replay(sample.view, self.agent, own, one.coins.copied(), made, sample.dither)
            return next((c.predicted for c in found.comparisons if (c.message, c.name) == one.first_apart), None)

        zero, one_more = sent(0), sent(1)
        return zero is not None and one_more is not None and not _same(zero, one_more)

    def costly(self) -> tuple[Sequence[Sample], Sequence[Sample]]:
        """Of each world a transcript with aimed noise at the toss at which releases cost most; at δ = 0, and where
        that is above the claim."""
        most = self._costliest(self._found)
        if most is None or self.claim.delta > 0:
            return (), ()
        if not exceeds(most.cost, self.claim.epsilon or math.inf):
            most = self._costliest(self._joint)
        if most is None or not exceeds(most.cost, self.claim.epsilon or math.inf):
            return (), ()
        zero, one = (fallen(self.simulate(world, SECRET + 1), most.coins) for world in (0, 1))
        return (zero,), (one,)

    def first_unprotected(self, coins: Coins | DrawnCoins) -> UnprotectedMessage | None:
        """The first message that tells the worlds apart for who knows the coins, of a transcript of either world."""
        for world in (0, 1):
            with suppress(NetsimError):
                seen, _ = self._compared(fallen(self._sample(world, 0), coins), world)
                if seen is not None:
                    return seen
        return None

    def proven(self, coins: Coins | DrawnCoins) -> bool | None:
        """Whether more than δ of the mass is proven to have an infinite loss; None where nothing is known."""
        known = True
        for world in (0, 1):
            found: bool | None = None
            with suppress(NetsimError):
                found = self._proven(world, coins)
            if found:
                return True
            known = known and found is not None
        return False if known else None

    def _proven(self, world: int, coins: Coins | DrawnCoins) -> bool | None:
        delta, (chance,) = self.claim.delta, self._chances(world, coins, [0])
        if not chance or delta == 0:
            return chance if chance is None else chance > 0
        if chance <= delta:  # that much may be lost
            return None
        chances = self._chances(world, coins, range(1, 1 + _FRESH))
        bare = [one for one in chances if one]
        level = (1 - self.confidence) / 2  # two directions
        return True if bare and leaks(len(bare), _FRESH, delta / min(bare), level) else None

    def _chances(self, world: int, coins: Coins | DrawnCoins, numbers: Sequence[int]) -> list[float | None]:
        """Probability of the tosses until the first unprotected message of a transcript, where its loss is infinite
        for whom the claim is about; 0 where it is not, None where that is not known."""
        found, cuts = dict[int, float | None](), dict[int, Sample]()
        for k in numbers:
            made = fallen(self._sample(world, k), coins)
            seen, message = self._compared(made, world)
            found[k] = None if message is None else 0.0
            if seen is not None and message is not None:
                cuts[k] = _until(made, self.agent, message)
        if self.claim.coins == "known":
            bare: Sequence[bool | None] = [True] * len(cuts)
        else:
            bare = self._unexplained(list(cuts.values()), world) if cuts else []
        for (k, cut), infinite in zip(cuts.items(), bare, strict=True):
            found[k] = self._chance(cut, world) if infinite else None if infinite is None else 0.0
        return list(found.values())

    def _chance(self, cut: Sample, world: int) -> float:
        """Probability of the tosses of a transcript; where it is not known a positive number that is below."""
        coins = cut.coins()
        if not isinstance(coins, Coins):
            return math.ulp(0.0)
        attempted_replay(cut.view, self.agent, self.hypotheses[world], coins, cut.releases, cut.dither)
        return max(math.exp(coins.log_chance), math.ulp(0.0))

    def _unexplained(self, cuts: Sequence[Sample], world: int) -> Sequence[bool | None]:
        """Whether no history of the other world explains transcripts; None where that is not known."""
        hypotheses = self.hypotheses[world], self.hypotheses[1 - world]
        try:
            losses = losses_of(cuts, self.agent, *hypotheses)
        except TranscriptError:  # a release is not on the wire, or a copy of it is
            chance = min(self._chance(cut, world) for cut in cuts) - self.claim.delta
            draws = max(draws_for(self.claim.epsilon), _REDRAWN) / chance if chance > 0 else math.inf
            releases = [np.concatenate(some) for some in zip(*(cut.releases for cut in cuts), strict=True)]
            together = replace(joined(cuts), releases=releases, coins=cuts[0].coins)
            explained = _explained_beside_noise(together, self.agent, hypotheses, draws)
            return [None if explained else True] * len(cuts)
        return [None] * len(cuts) if losses.secret is None else [bool(one) for one in np.isinf(losses.secret)]

    def _sample(self, world: int, number: int) -> Sample:
        return self.simulate(world, self.index if number == 0 else SECRET + 2 * number)

    def _compared(self, made: Sample, world: int) -> tuple[UnprotectedMessage | None, int | None]:
        """The first unprotected message for who knows the coins, and its number; None where hidden noise may explain
        it, or may not."""
        seen = Reproduced.of(made, self.agent, self.hypotheses[world], alone=0)
        found = seen.compared(self.hypotheses[1 - world], scored=False, claimed=self.claim.epsilon)
        first = found.on_wire(found.granted_from).leaked[0]
        if math.isinf(first):
            return None, None if np.isfinite(found.leaked[0]) else 0
        named = (one for one in (found.uncovered, found.inexplicable) if one is not None and one.message == first)
        return next(named, None), int(first)


def _until(sample: Sample, agent: int, message: int) -> Sample:
    """The sample at the agent's door, up to one of its messages, from 0."""
    rows = sample.view.at_node(agent)
    sent = [k for k, row in enumerate(rows) if row.event == "sent"]
    rows = rows[: sent[message] + 1] if message < len(sent) else rows
    return replace(sample, view=replace(sample.view, transcript=Transcript(rows, sample.view.replicas), cut=True))


def _sent(
    cut: Sample, agent: int, hypothesis: Hypothesis, coins: Coins, message: int, rng: np.random.Generator
) -> dict[str, Mask] | None:
    """Fields of a message, and in which transcripts, (replicas,), they may be what was sent, all releases drawn anew;
    None where there are too many of these."""
    made = [rng] * (len(cut.releases) + _MORE)
    with np.errstate(all="ignore"):
        found = attempted_replay(cut.view, agent, hypothesis, coins, made, cut.dither)
    if found.out_of_releases:
        return None
    return {c.name: np.logical_not(c.visible) for c in found.comparisons if c.message == message}


def _explained_beside_noise(cut: Sample, agent: int, hypotheses: Sequence[Hypothesis], draws: float) -> bool:
    """Whether some history of the second hypothesis may send all fields of the last message that no release has an
    effect on under the first, which was simulated.

    Releases are drawn anew under both, and a history has a share of the `draws` as large as its odds: what none of
    them sends is too rare for the claim. What is not known counts as explained.
    """
    message, rng = sum(row.event == "sent" for row in cut.view.at_node(agent)) - 1, np.random.default_rng(0)
    coins = cut.coins()
    if draws > _WORK or not isinstance(coins, Coins):
        return True
    here = [_sent(cut, agent, hypotheses[0], coins.copied(), message, rng) or {} for _ in range(_REDRAWN)]
    fixed = [name for name in here[0] if all(name in one and np.all(one[name]) for one in here)]

    def explains(tossed: Coins) -> bool:
        _sent(cut, agent, hypotheses[1], tossed, message, rng)  # notes what is tossed
        for _ in range(math.ceil(draws * math.exp(tossed.log_chance))):
            again = tossed.copied()
            there = _sent(cut, agent, hypotheses[1], again, message, rng)
            if there is None or again.tossed != tossed.tossed:
                return True
            if all(name in there for name in fixed) and np.any(np.all([there[name] for name in fixed], axis=0)):
                return True
        return False

    return not fixed or any(found for _, found in every(explains))
