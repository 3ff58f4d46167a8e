"""Networks in which an agent's private coins fall otherwise: one for each kind of messages that they may decide on.

A replay ends where its coins send another message than was recorded, or release more. What such a history does from
there on is seen in a run of its own, in which these coins are forced. It is of the agent's own data, and of a few
kinds at most: that finds and ranks pairs, and proves nothing.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from attacks.audit.loss.comparison import Sample
from attacks.audit.loss.secret_coins import drawn_coins
from attacks.audit.pair import FIRST_CHUNK
from attacks.replay import Replayed
from attacks.replay.coins import Coins, every
from netsim.errors import AttackError
from netsim.simulation import Simulation
from scenarios.stages.worlds import worlds

SEEN, MOST = 32, 16
"""Kinds that are looked at, and that are kept, at most."""
UNLIKE = 8
"""Networks in which pairs are searched for by themselves, at most."""
HISTORIES, DRAWN = 256, 32
"""Histories that are read at most for kinds, fewer in long runs, and that are drawn where there are more."""
_WORK = 2**14
"""Messages that are replayed at these, at most."""
_Made = Callable[[], np.random.Generator]


@dataclass(frozen=True)
class CoinKinds:
    """The network as it is first, and one for each other kind that was seen. `unlike`: one for each noise of the
    releases, and for what they leave out, of any kind; the first is as it is. `missed`: there are more kinds, and of
    those that were seen some release like no other."""

    simulations: tuple[Simulation, ...]
    unlike: tuple[Simulation, ...]
    missed: bool = False

    def samples(self, agent: int) -> tuple[Sample, ...]:
        """A transcript of each."""
        return tuple(_sample(one, agent) for one in self.simulations)

    @classmethod
    def of_each(cls, simulation: Simulation, agents: Sequence[int]) -> "dict[int, CoinKinds]":
        """Those of these agents; where nobody tosses coins there is one."""
        if agents and _tosses(simulation, agents[0]):
            return {k: cls.of(simulation, k) for k in agents}
        return dict.fromkeys(agents, cls((simulation,), (simulation,)))

    @classmethod
    def of(cls, simulation: Simulation, agent: int) -> "CoinKinds":
        """The kinds of messages that the coins of an agent decide on."""
        found = [simulation]
        if (first := _Read.of(simulation, agent)) is None:
            return cls((simulation,), (simulation,))
        read, tried = [first], set[Hashable]()
        while opened := _unseen(read, tried):
            if len(tried) >= SEEN - 1:
                break
            history, made = next(iter(opened.items()))
            tried.add(history)
            forced = _with(made, simulation, agent)
            if (one := _Read.of(forced, agent)) is not None and not any(one.ended & other.ended for other in read):
                found.append(forced)
                read.append(one)
        unlike = dict[Hashable, Simulation]()
        for there, one in zip(found, read, strict=True):
            unlike.setdefault(one.own, there)
        firsts = {id(one): one for one in (*unlike.values(), *found)}
        for there, one in zip(found, read, strict=True):
            for law, made in one.laws.items():
                unlike.setdefault(law, _with(made, there, agent))
        missed = bool(opened) and [*Counter(one.own for one in read).values()].count(1) > 1
        return cls((*firsts.values(),)[:MOST], (*unlike.values(),)[:UNLIKE], missed)


def _tosses(simulation: Simulation, agent: int) -> bool:
    """Whether any agent tosses coins in a run; not where the code fails."""
    try:
        with np.errstate(all="ignore"):
            return _sample(simulation, agent).tossed
    except Exception:  # an algorithm's code may raise anything
        return False


def _sample(simulation: Simulation, agent: int) -> Sample:
    return worlds(simulation, agent, simulation.problem.objectives[agent], 1)(0, FIRST_CHUNK)


def _with(made: _Made, simulation: Simulation, agent: int) -> Simulation:
    """A network where an agent's coins are others."""
    return replace(simulation, coins_through={**simulation.coins_through, agent: partial(_forced, made)})


def _forced(made: _Made, _: np.random.Generator) -> np.random.Generator:
    """Coins of one history, whatever would have been tossed."""
    return made()


History = tuple[int | str, ...]
"""Outcomes of the coins that are tossed, or the number of a drawn history."""


@dataclass(frozen=True)
class _Read:
    """Histories of the coins in one run: those that end as it does, and others together where they part from it; the
    `laws` (`_laws_of`) of what is released in its `own` history and in those that end so."""

    ended: frozenset[History]
    parted: tuple[Mapping[History, _Made], ...]
    own: Hashable
    laws: Mapping[Hashable, _Made]

    @classmethod
    def of(cls, simulation: Simulation, agent: int) -> "_Read | None":
        """None where no coins are tossed, where they are too many to be read, or where the code fails."""
        own = simulation.problem.objectives[agent]
        try:
            with np.errstate(all="ignore"):
                sample = _sample(simulation, agent)
                most = min(HISTORIES, _WORK // (1 + len(sample.view.transcript.at_node(agent))))
                if not sample.tossed or most < DRAWN:
                    return None
                there = sample.replayed_at(agent, own, sample.coins())
                replayed = _histories(partial(sample.replayed_at, agent, own), most)
        except Exception:  # an algorithm's code may raise anything, at other coins too
            return None
        ended, parted, laws = set[History](), dict[Hashable, dict[History, _Made]](), dict[Hashable, _Made]()
        for history, made, found in replayed:
            if is_whole(found):
                ended.add(history)
                laws.setdefault(_laws_of(found), made)
            else:
                parted.setdefault(messages_of(found), {})[history] = made
        return cls(frozenset(ended), (*parted.values(),), _laws_of(there), laws)


def _histories(read: Callable[[np.random.Generator], Replayed], most: int) -> list[tuple[History, _Made, Replayed]]:
    """Replays at every history, or at some that are drawn; each with what makes its coins anew."""

    def listed(coins: Coins) -> tuple[Coins, Replayed]:
        return coins, read(coins)

    try:
        found = [one for _, one in every(listed, most)]
    except AttackError:
        return [(("drawn", k), partial(drawn_coins, k), read(drawn_coins(k))) for k in range(DRAWN)]
    return [(coins.history, partial(Coins.of, coins.history), there) for coins, there in found]


def _unseen(read: list[_Read], tried: set[Hashable]) -> Mapping[History, _Made]:
    """Histories that part from all runs where none of them is seen to end, and none was tried; none: empty."""
    ended = [history for one in read for history in one.ended]

    def is_seen(start: History) -> bool:
        return start in tried or any(history[: len(start)] == start for history in ended)

    groups = (group for one in read for group in one.parted if not any(map(is_seen, group)))
    return next(groups, dict[History, _Made]())


def _laws_of(found: Replayed) -> Hashable:
    """The noise of each release, and which of its numbers are 0."""
    each = ((one.value.shape, np.round(one.stddev, 9).tobytes(), np.equal(one.value, 0)) for one in found.releases)
    return tuple((shape, noise, still.tobytes()) for shape, noise, still in each)


def is_whole(found: Replayed) -> bool:
    """Whether a replay sends and releases all that the run did, and no more."""
    return found.departure is None and not found.overran and not found.out_of_releases


def messages_of(found: Replayed) -> Hashable:
    """What is seen of a replay besides numbers: whom its messages are for, and how it ends; and its releases."""
    sent = tuple((one.receiver, one.kind, one.names, one.releases) for one in found.sendings)
    ended = found.departure, found.overran, found.out_of_releases
    return sent, ended, tuple(one.value.shape for one in found.releases)
