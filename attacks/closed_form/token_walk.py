"""Walk of a token as a view shows it: which visits are whole, and which token brought which visit.

A token is named (sender, number): an agent sends one at each of its visits, so `number` is the visit's too, and a
visit that was missed leaves a gap in the numbers. In the order of sending, the tokens *to* an agent lie between the
tokens *from* it, and both have to fit:

    visits made before < number of a visit ≤ visits made after,

counted from the start upwards and from the next observed number downwards. Where both counts agree, the token brought
that visit, whatever was missed elsewhere; where they do not, nothing is claimed. The same counts give how many visits
each agent had made when a token was sent.

A tap that misses packets may capture a repetition and not the first transmission: such a token's values hold, its
place does not, until the visit that sent it has one. Where clocks err, only what follows by number from the start is
in order.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.transcript.message import Values
from netsim.transcript.record import Record

NOBODY = -2
"""Receiver of a row whose place in the token's way is unknown."""


Id = tuple[int, int]
"""Sender and number of a token; agent and number of the visit that sent it. Of a sender that may begin anew, and
count anew, the number is negative and of this row only."""
START: Id = (-1, 0)
"""The token that the first holder begins with, public: zeros and x¹."""


@dataclass(frozen=True)
class _ObservedWalk:
    """`values` of each token that was observed, `START` too; `came[visit]`: the token that brought it, where that is
    certain; `made[token]`: how many visits each agent had made when it was sent, its sender's included, where all are
    certain; `visits[agent]`: how many are known of."""

    values: dict[Id, Values]
    came: dict[Id, Id]
    made: dict[Id, tuple[int, ...]]
    visits: tuple[int, ...]


def observed_walk(view: AdversaryView, first: int, names: tuple[str, ...], x: Array) -> _ObservedWalk:
    """Tokens and visits of a walk from `first` on, as far as a view shows them; `names` are the token's fields, of
    which ``x`` is x¹, (dimension,), at the start, and the others zeros."""
    public = view.public
    values: dict[Id, Values] = {START: _first_token(view, names, x)}
    doors = _at_doors(view, first, values)
    rows = [
        _Sent(row, (row.sender, ~index if row.sender in public.forgetful else row.number))
        for index, row in enumerate(view.messages())
    ]
    for row in rows:
        values.setdefault(row.name, row.record.values)
    order = _Order(public.agents, first, [])
    if first not in public.forgetful:
        order = _placed(view, first, rows)
    certain = {visit: token for visit, token in order.came.items() if visit[0] not in doors}
    came = certain | {visit: token for found in doors.values() for visit, token in found.items()}
    counts = [0] * public.agents
    for sender, number in values.keys() - {START}:
        counts[sender] = max(counts[sender], number + 1)
    made = {} if public.forgetful else order.made
    return _ObservedWalk(values, came, made, tuple(counts))


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


class _Order:
    """Batons in the order in which they were sent, and what follows from it (`came` and `made`)."""

    def __init__(self, agents: int, first: int, tokens: list[_Sent]) -> None:
        self.agents, self.first, self.tokens = agents, first, tokens
        self.came: dict[Id, Id] = {(first, 0): START}
        self.made: dict[Id, tuple[int, ...]] = {}
        after = list(self._downwards())[::-1]
        least = [0] * agents  # number of visits each agent had made when a token was sent
        least[first] = 1
        for (row, name), high in zip(tokens, after, strict=True):
            least[row.sender] = row.number + 1
            if least[row.receiver] == high[row.receiver]:
                self.came[row.receiver, least[row.receiver]] = name
            if tuple(least) == high:
                self.made[name] = tuple(least)
            least[row.receiver] += 1  # before whatever is sent next

    def _downwards(self) -> Iterator[tuple[int | None, ...]]:
        """The greatest number of visits, from the last token to the first; None where none is known."""
        most: list[int | None] = [None] * self.agents
        follower = NOBODY
        for row, _ in reversed(self.tokens):
            known = most[row.receiver]
            if known is not None and row.receiver != follower:  # a follower's own visit is taken off already
                most[row.receiver] = known - 1
            most[row.sender] = row.number + 1
            yield tuple(most)
            most[row.sender] = row.number
            follower = row.sender


def _placed(view: AdversaryView, first: int, rows: Sequence[_Sent]) -> _Order:
    agents = view.public.agents
    if view.adversary.clock_error > 0:
        chain = _followed({name: record for record, name in rows}, first, {})
        return _Order(agents, first, [_Sent(row, (row.sender, row.number)) for row in chain])
    names = {id(record): name for record, name in rows}
    complete = view.adversary.capture_loss == 0
    certain = [
        _Sent(row, names[id(row)])
        for row in _in_order([record for record, _ in rows], first)
        if row.receiver != NOBODY and (complete or row.attempt == 0)
    ]
    inside = {name for _, name in certain}
    floating = {} if complete else {row.name: row for row in rows if row.name not in inside}
    order = _Order(agents, first, certain)
    while found := [visit for visit in order.came if visit in floating]:
        after = {order.came[visit]: floating.pop(visit) for visit in found}
        tokens = [after[START]] if START in after else []
        for token in order.tokens:
            tokens += [token, after[token.name]] if token.name in after else [token]
        order = _Order(agents, first, tokens)
    return order


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

    Every agent's state follows from its own visits, so what is missed at one agent costs the others nothing.
    The visits of an agent with a tap at its door are read there, those of the others on the links and at the doors
    of insiders. Insiders need no inference of their own; of agents that may begin anew nothing follows. Where there
    may be more than one token (a first holder that begins anew) no order of packets on links shows which one an
    agent had, and only doors are read. A token that a link delivers twice is taken once. `first` is the first
    holder: its incoming token is the public start, zeros under the name `noisy` and x¹, (dimension,), under ``x``.
    """
    watched, skipped = set(view.adversary.nodes), view.inside.keys() | view.public.forgetful
    start = _first_token(view, (noisy, "x"), x)
    held = {agent: deque([start] if agent == first else []) for agent in view.adversary.doors if agent not in skipped}
    for row in view.transcript:
        if row.event == "received" and row.receiver in held:
            held[row.receiver].append(row.values)
        elif row.event == "sent" and row.sender in held:  # in the order in which it got them; a door misses nothing
            yield Visit(row.sender, row.number, held[row.sender].popleft(), row.values)
    if first in view.public.forgetful:
        return
    yield from (visit for visit in _visits_on_links(view, first, start) if visit.agent not in watched | skipped)


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


def _visits_on_links(view: AdversaryView, first: int, start: Values) -> Iterator[Visit]:
    """A visit is whole if the message observed just before the outgoing one was addressed to its sender.

    A tap that misses packets may have missed a first transmission and observed its repetition, after the next
    holder's: a message whose first attempt it missed is out of its place.
    """
    seen: dict[int, int] = {}
    complete = view.adversary.capture_loss == 0
    receiver, incoming = first, start
    for row in _in_order(view.messages(), first):
        agent = row.sender
        if row.receiver == NOBODY:
            seen[agent] = -1
            receiver = NOBODY
            continue
        if not complete and row.attempt > 0:
            continue
        if receiver == agent and row.number == seen.get(agent, 0):
            seen[agent] = row.number + 1
            yield Visit(agent, row.number, incoming, row.values)
        else:
            seen[agent] = -1  # a gap: from here on this agent's dual is unknown
        receiver, incoming = row.receiver, row.values
