"""What the attacks on token algorithms share: the walk of the baton, as far as it was heard."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.messages import Values


class GradientEstimate(NamedTuple):
    """∇f_agent(point) ≈ gradient, both (replicas, dimension).

    `query` counts the agent's gradient queries from 0; `stddev` is that of one coordinate's error, the same for
    all (0: exact up to rounding).
    """

    agent: int
    query: int
    point: Array
    gradient: Array
    stddev: float


class Visit(NamedTuple):
    """One activation of an agent, its `number`-th from 0: the baton it got and the baton it passed on."""

    agent: int
    number: int
    incoming: Values
    outgoing: Values


def unbroken_visits(view: AdversaryView, first: int, noisy: str) -> Iterator[Visit]:
    """The visits of each agent from its first on, as long as none of its batons was missed.

    Every agent's state follows from its own visits, so what is missed at one agent costs the others nothing.
    The visits of an agent with a tap at its door are read there, those of the others on the links and at the doors of
    insiders. Insiders need no inference of their own; of agents that may begin anew nothing follows. `first` is the
    first holder: its incoming baton is the public start, zeros under the name `noisy` and ``x``.
    """
    watched, skipped = set(view.adversary.nodes), view.inside.keys() | view.public.forgetful
    start = {name: np.zeros((view.replicas, view.public.dimension)) for name in (noisy, "x")}
    yield from (visit for visit in _at_doors(view, first, start) if visit.agent not in skipped)
    yield from (visit for visit in _on_links(view, first, start) if visit.agent not in watched | skipped)


def _at_doors(view: AdversaryView, first: int, start: Values) -> Iterator[Visit]:
    """A door tap misses nothing, and an agent passes its batons on in the order in which it got them."""
    held = {agent: deque([start] if agent == first else []) for agent in view.adversary.doors}
    for row in view.transcript:
        if row.event == "received":
            held[row.receiver].append(row.values)
        elif row.event == "sent":
            yield Visit(row.sender, row.number, held[row.sender].popleft(), row.values)


def _on_links(view: AdversaryView, first: int, start: Values) -> Iterator[Visit]:
    """A visit is whole if the message heard just before the outgoing one was addressed to its sender.

    A tap that misses packets may have missed a first transmission and heard its repetition, after the next
    holder's: a message whose first attempt it did not hear is out of its place.
    """
    seen: dict[int, int] = {}
    complete = view.adversary.capture_loss == 0
    receiver, incoming = first, start
    for row in view.messages():
        agent = row.sender
        if not complete and row.attempt > 0:
            continue
        if receiver == agent and row.number == seen.get(agent, 0):
            seen[agent] = row.number + 1
            yield Visit(agent, row.number, incoming, row.values)
        else:
            seen[agent] = -1  # a gap: from here on this agent's dual is unknown
        receiver, incoming = row.receiver, row.values
