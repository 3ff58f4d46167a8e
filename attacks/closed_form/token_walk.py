"""Walk of a token as a view shows it: which visits are whole, and which token brought which visit.

A token is named (sender, number): an agent sends one at each of its visits, so `number` is the visit's too, and a
visit that was missed leaves a gap in the numbers. In the order of sending, the tokens *to* an agent lie between the
tokens *from* it, and both have to fit:

    visits made before < number of a visit ≤ visits made after,

counted from the start upwards and from the next observed number downwards. Within these bounds all ways of the token
are followed (`attacks.closed_form.token_ways`), and what they agree on is certain, of tokens that were missed too. Of
these an acknowledgement tells to whom they went, and the sequence numbers of a reliable link how many went there.

A tap that misses packets may capture a repetition and not the first transmission: such a token's values hold, and
whom it was for, but not its place. Where clocks err, only what follows by number from the start is in order.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from attacks.closed_form.token_ways import Agreed, Bounds, Id, Pass, Unseen, Way, agreed
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.transcript.message import Record, Values

NOBODY = -2
"""Receiver of a row whose place in the token's way is unknown."""
START: Id = (-1, 0)
"""The token that the first holder begins with, public: zeros and x¹."""


@dataclass(frozen=True)
class _ObservedWalk:
    """`values` of each token that was observed, `START` too; `came[visit]`: the token that brought it, where that is
    certain; `made[token]`: how many visits each agent had made when it was sent, its sender's included, where all are
    certain; `visits[agent]`: how many are known of. `open`: ways of which it was one, at each place where there
    are several."""

    values: dict[Id, Values]
    came: dict[Id, Id]
    made: dict[Id, tuple[int, ...]]
    visits: tuple[int, ...]
    open: list[list[Way]]


def observed_walk(view: AdversaryView, first: int, names: tuple[str, ...], x: Array) -> _ObservedWalk:
    """Tokens and visits of a walk from `first` on, as far as a view shows them; `names` are the token's fields, of
    which ``x`` is x¹, (dimension,), at the start, and the others zeros."""
    public = view.public
    values: dict[Id, Values] = {START: _first_token(view, names, x)}
    doors = _at_doors(view, first, values)
    heard, ways = walked(view, first)
    for name, row in heard.items():
        values.setdefault(name, row.values)
    certain = {visit: token for visit, token in ways.came.items() if visit[0] not in doors}
    came = certain | {visit: token for found in doors.values() for visit, token in found.items()}
    counts = [0] * public.agents
    for sender, number in values.keys() - {START}:
        counts[sender] = max(counts[sender], number + 1)
    made = {} if public.forgetful else ways.made
    return _ObservedWalk(values, came, made, tuple(counts), [] if doors else ways.open)


def walked(view: AdversaryView, first: int) -> tuple[dict[Id, Record], Agreed]:
    """Messages in the clear on links and at insiders' doors, by name, and the way of a token from `first` on."""
    forgetful = view.public.forgetful
    rows = [
        _Sent(row, (row.sender, ~index if row.sender in forgetful else row.number))
        for index, row in enumerate(view.messages())
    ]
    heard: dict[Id, Record] = {}
    for row in rows:
        heard.setdefault(row.name, row.record)
    # a first holder that begins anew sends out another token: no order of packets shows which one an agent had
    return heard, Agreed({}, {}, []) if first in forgetful else _ways(view, first, rows)


def _first_token(view: AdversaryView, names: tuple[str, ...], x: Array) -> Values:
    zeros = np.zeros((view.replicas, view.public.dimension))
    return {name: zeros + x if name == "x" else zeros for name in names}


class _Sent(NamedTuple):
    """A token as it was observed, and its name."""

    record: Record
    name: Id


def _at_doors(view: AdversaryView, first: int, values: dict[Id, Values]) -> dict[int, dict[Id, Id]]:
    """A door tap misses nothing, and an agent passes its tokens on in the order in which it got them."""
    forgetful = view.public.forgetful
    doors = {agent: dict[Id, Id]() for agent in view.adversary.doors if agent not in forgetful}
    held = {agent: deque([START] if agent == first else []) for agent in doors}
    for index, row in enumerate(view.transcript):
        name = row.sender, -(10**9) - index if row.sender in forgetful else row.number
        if row.event == "received" and row.receiver in held:
            held[row.receiver].append(name)
        elif row.event == "sent" and row.sender in held and held[row.sender]:
            doors[row.sender][name] = held[row.sender].popleft()
        else:
            continue
        values.setdefault(name, row.values)
    return doors


def _bounds(agents: int, first: int, tokens: Sequence[_Sent]) -> list[Bounds]:
    """How often each agent has sent, after each of these tokens, in their order."""
    most: list[int | None] = [None] * agents
    highs: list[tuple[int | None, ...]] = []
    follower = NOBODY
    for row, _ in reversed(tokens):
        known = most[row.receiver]
        if known is not None and row.receiver != follower:  # a follower's own visit is taken off already
            most[row.receiver] = known - 1
        most[row.sender] = row.number + 1
        highs.append(tuple(most))
        most[row.sender] = row.number
        follower = row.sender
    least = [0] * agents
    least[first] = 1
    bounds: list[Bounds] = []
    for (row, _), high in zip(tokens, reversed(highs), strict=True):
        least[row.sender] = row.number + 1
        bounds.append(Bounds(tuple(least), high))
        least[row.receiver] += 1  # before whatever is sent next
    return bounds


def _ways(view: AdversaryView, first: int, rows: Sequence[_Sent]) -> Agreed:
    """What follows from the messages in their order, from acknowledgements, and from the numbers of all messages."""
    public = view.public
    known = [0] * public.agents
    for _, (sender, number) in rows:
        known[sender] = max(known[sender], number + 1)
    placed = _placed(view, first, rows)
    permissive = Bounds((0,) * public.agents, (None,) * public.agents)
    bounds = _bounds(public.agents, first, placed)
    hidden = _Hidden(view, rows, {name for _, name in placed}, known)
    if hidden.whole:
        bounds = [one._replace(low=tuple(map(_least, *one))) for one in bounds]
    passes, limits = list[Pass](), list[Bounds]()
    acknowledged, where = _acknowledged(view, rows, placed), {id(r): k for k, r in enumerate(view.transcript.records)}
    for (row, name), bound in zip(placed, bounds, strict=True):
        while acknowledged and acknowledged[0][0] < where[id(row)]:
            passes.append(acknowledged.popleft()[1])
            limits.append(permissive)
        passes.append(Pass(row.sender, row.receiver, row.number, name))
        limits.append(bound)
    return agreed(passes, limits, first, START, Unseen(tuple(known), hidden.receivers))


def _least(low: int, high: int | None) -> int:
    return low if high is None else high


def _acknowledged(view: AdversaryView, rows: Sequence[_Sent], placed: Sequence[_Sent]) -> deque[tuple[int, Pass]]:
    """Tokens that were missed and whose arrival was not, by the index of the acknowledgement's row.

    That of a first transmission goes on the air when the token arrives, unless packets queue, overtake or arrive
    twice.
    """
    transport = view.public.transport
    if transport.queues or transport.copies or not transport.in_order or view.adversary.clock_error > 0:
        return deque()
    inside = {name for _, name in placed}
    names = {(row.sender, row.receiver, row.sequence): name for row, name in rows}
    found: dict[tuple[int, int, int], tuple[int, Pass]] = {}
    for index, row in enumerate(view.transcript.records):
        if row.kind != "ack" or row.event != "air" or row.attempt > 0:
            continue
        token = row.receiver, row.sender, row.sequence
        name = names.get(token)
        if name is None or name not in inside:
            number = None if name is None or name[1] < 0 else name[1]
            found.setdefault(token, (index, Pass(row.receiver, row.sender, number, name)))
    return deque(found.values())


class _Hidden:
    """To whom messages can have gone that were not observed in their place.

    A tap that misses nothing misses nothing on its links. On a reliable link the numbers of its packets tell how many
    were missed between two of them. `whole`: from the first message on that was observed, all were.
    """

    def __init__(self, view: AdversaryView, rows: Sequence[_Sent], placed: set[Id], known: Sequence[int]) -> None:
        self._view, self._known, self._first = view, known, list(known)
        for _, (sender, number) in rows:
            self._first[sender] = min(self._first[sender], number)
        everywhere = view.adversary.links == "all" or (view.adversary.links is None and not view.inside)
        heard = {name for _, name in rows}
        torn = any((i, k) not in heard for i, most in enumerate(known) for k in range(self._first[i], most))
        self._misses = view.adversary.capture_loss > 0 or (everywhere and torn)
        self._late = view.adversary.start > 0 or (everywhere and any(self._first))
        self.whole = everywhere and not self._misses
        self._tapped = {frozenset((r.sender, r.receiver)) for r in view.transcript if r.event == "air"}
        self._receivers = {name: set[int]() if name in placed else {row.receiver} for row, name in rows}
        links: dict[Id, list[tuple[int, int]]] = defaultdict(list)
        for row, (sender, number) in sorted(rows, key=lambda sent: sent.name):
            links[sender, row.receiver].append((number, row.sequence))
        for agent, most in enumerate(known):
            missed = [k for k in range(most) if (agent, k) not in self._receivers]
            self._receivers |= {(agent, k): set(self._possible(agent, k)) for k in missed}
            self._count(agent, missed, links)

    def receivers(self, agent: int, number: int) -> Sequence[int]:
        """Of this message, and none where it was observed in its place."""
        if number < self._known[agent]:
            return sorted(self._receivers[agent, number])
        return self._possible(agent, number)

    def _possible(self, agent: int, number: int) -> list[int]:
        inside = self._view.inside.keys()
        missed = self._misses or (self._late and number <= self._first[agent])
        others = [j for j in self._view.public.neighbors[agent] if inside.isdisjoint((agent, j))]
        return [j for j in others if missed or frozenset((agent, j)) not in self._tapped]

    def _count(self, agent: int, missed: Sequence[int], links: Mapping[Id, Sequence[tuple[int, int]]]) -> None:
        """Between two packets of a link lie as many of the missed messages as numbers."""
        gaps: list[tuple[int, list[int], int]] = []
        for (sender, to), observed in links.items():
            if sender == agent and all(sequence >= 0 for _, sequence in observed):
                for (k, before), (n, after) in pairwise([(-1, -1), *observed]):
                    gaps.append((to, [one for one in missed if k < one < n], after - before - 1))
        changed = True
        while changed:
            changed = False
            for to, between, many in gaps:
                can = [k for k in between if to in self._receivers[agent, k]]
                sure = [k for k in can if len(self._receivers[agent, k]) == 1]
                if len(can) == many > len(sure):
                    for k in can:
                        self._receivers[agent, k] = {to}
                elif len(sure) == many < len(can):
                    for k in set(can) - set(sure):
                        self._receivers[agent, k].discard(to)
                else:
                    continue
                changed = True


def _placed(view: AdversaryView, first: int, rows: Sequence[_Sent]) -> list[_Sent]:
    """Tokens of which it is certain that they were sent in this order: no repetitions where the first may have been
    missed."""
    if view.adversary.clock_error > 0:
        chain = _followed({name: record for record, name in rows}, first, {})
        return [_Sent(row, (row.sender, row.number)) for row in chain]
    names = {id(record): name for record, name in rows}
    complete = view.adversary.capture_loss == 0
    return [
        _Sent(row, names[id(row)])
        for row in _in_order([record for record, _ in rows], first)
        if row.receiver != NOBODY and (complete or row.attempt == 0)
    ]


def _followed(known: dict[Id, Record], holder: int, counts: dict[int, int]) -> list[Record]:
    """Take the tokens from `holder` on, as long as the next one was observed: its sender and number are known before
    it is. `counts`: how many each agent has sent."""
    chain: list[Record] = []
    while (row := known.pop((holder, counts.get(holder, 0)), None)) is not None:
        chain.append(row)
        counts[holder] = row.number + 1
        holder = row.receiver
    return chain


# ── whole visits ─


class Visit(NamedTuple):
    """One activation of an agent, its `number`-th from 0: the token it got and the token it passed on."""

    agent: int
    number: int
    incoming: Values
    outgoing: Values


def unbroken_visits(view: AdversaryView, first: int, noisy: str, x: Array) -> Iterator[Visit]:
    """The visits of each agent from its first on, as long as none of its tokens was missed.

    Every agent's state follows from its own visits, so what is missed at one agent costs the others nothing. Insiders
    need no inference of their own; of agents that may begin anew nothing follows. `first` is the first holder: its
    incoming token is the public start, zeros under the name `noisy` and x¹, (dimension,), under ``x``.
    """
    walk = observed_walk(view, first, (noisy, "x"), x)
    skipped, seen = view.inside.keys() | view.public.forgetful, [0] * view.public.agents
    for agent, number in sorted(walk.values.keys() - {START}, key=lambda name: name[1]):
        token = walk.came.get((agent, number))
        if agent not in skipped and token in walk.values and number == seen[agent]:
            seen[agent] += 1
            yield Visit(agent, number, walk.values[token], walk.values[agent, number])


def _in_order(rows: Sequence[Record], holder: int) -> Iterator[Record]:
    """The order in which the one token passed.

    Rows of taps on links are in order. Those of insiders' doors are in order of time among them; at equal times the
    token's way gives the order, or, where part of it was missed, nothing does: then rows are for `NOBODY`.
    """
    counts: dict[int, int] = {}
    for _, group in groupby(rows, key=attrgetter("time")):
        here = list(group)
        if len({row.place for row in here}) > 1:
            known = {(row.sender, row.number): row for row in here}
            here = _followed(known, holder, dict(counts))
            here += [row._replace(receiver=NOBODY) for row in known.values()]
        for row in here:
            counts[row.sender] = row.number + 1
            holder = row.receiver
            yield row
