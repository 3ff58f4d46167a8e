"""Which of an agent's records are asked as its private coins fall, where a pair of worlds differs in one of them.

A pair speaks for other records where none of them is asked more: no query, and no set of queries, has another record
with more chance.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from attacks.audit.followed.reading import HISTORIES, reading
from attacks.audit.loss.comparison import Sample
from attacks.replay import Hypothesis
from attacks.replay.coins import Coins, Drawn, Unseen, every
from netsim.errors import NetsimError

CHANCE = 1e-9
"""Chances that differ by less are the same."""
Asked = tuple[tuple[int, int], ...]
"""The queries that have a record, and how often each has it."""


def differing(worlds: Sequence[Hypothesis], records: int, dimension: int) -> int | None:
    """The one record by which two worlds differ; None where it is not one of several."""
    x = np.random.default_rng(0).standard_normal((1, dimension))
    zero, other = ([world.batch([k]).gradient(x) for k in range(records)] for world in worlds)
    apart = [k for k in range(records) if not np.array_equal(zero[k], other[k])]
    return apart[0] if len(apart) == 1 < records else None


def asked_more(one: Sample, agent: int, worlds: Sequence[Hypothesis]) -> int | None:
    """A record that private coins put into batches with more chance than the one by which the worlds differ; None
    where there is none, or where coins may fall in too many ways."""
    public = one.view.public
    records = public.records[agent] if public.records else 1
    chances = defaultdict[int, defaultdict[Asked, float]](lambda: defaultdict[Asked, float](float))
    try:
        for log_chance, found in every(partial(_asked, one, agent, records), HISTORIES):
            for record, asked in found.items():
                for queries, chance in asked.items():
                    chances[record][queries] += math.exp(log_chance) * chance
        mine = differing(worlds, records, public.dimension) if len(chances) > 1 else None
    except NetsimError:
        return None
    if mine is None:
        return None
    more = (k for k in sorted(chances) if any(p > chances[mine][q] + CHANCE for q, p in chances[k].items()))
    return next(more, None)


def _asked(one: Sample, agent: int, records: int, coins: Coins) -> Mapping[int, Mapping[Asked, float]]:
    """The queries of each record, with their chance, where coins fall so: those that name it, and those of each draw
    that nobody looked at, of whose places it may have one."""
    named, unseen = defaultdict[int, Counter[int]](Counter[int]), dict[Drawn, tuple[Unseen, Counter[int]]]()
    for query, batch in enumerate(reading(replace(one, coins=coins.again).recording(agent)).batches):
        for k in batch:
            if isinstance(k, Unseen) and not k.opened and k.drawn is not None:
                unseen.setdefault(k.drawn, (k, Counter[int]()))[1][query] += 1
            else:
                named[int(k)][query] += 1
    found = {record: {_sorted(queries): 1.0} for record, queries in named.items()}
    for drawn, (number, queries) in unseen.items():
        for record in range(records):
            chance = drawn.chance(record, number.options)
            some = found.setdefault(record, {})
            some[_sorted(queries)] = some.get(_sorted(queries), 0.0) + chance
    return found


def _sorted(queries: Counter[int]) -> Asked:
    return tuple(sorted(queries.items()))
