"""What a view tells of the whole network: each message that was seen anywhere, once, and the order at doors."""

from collections import deque
from typing import NamedTuple

import numpy as np

from netsim.adversary import AdversaryView
from netsim.errors import AttackError
from netsim.transcript.message import Kind, Values
from netsim.transcript.record import EVERYBODY, Record

Which = tuple[int, Kind, int]
"""A message: its sender, its kind, and the sender's count of that kind, from 0."""


class Heard(NamedTuple):
    """All that was seen in the clear.

    `values` of each message, as it was sent; `receivers` of those of kind "direct" (`EVERYBODY`: a broadcast). `rows`
    of each agent with a tap at its door, or inside, in order. `reached` are the agents at which the adversary
    listens: those at whose door it sits and both ends of the links that it heard.
    """

    values: dict[Which, Values]
    receivers: dict[Which, int]
    rows: dict[int, tuple[Record, ...]]
    reached: frozenset[int]

    @classmethod
    def of(cls, view: AdversaryView) -> "Heard":
        """You get an `AttackError` where one message was seen with two contents: somebody has altered it."""
        values: dict[Which, Values] = {}
        receivers: dict[Which, int] = {}
        reached = set(view.adversary.doors)
        for row in view.transcript:
            if row.event == "air":
                reached |= {row.sender} if row.receiver == EVERYBODY else {row.sender, row.receiver}
            if row.event == "closed" or row.kind not in ("exchange", "direct"):
                continue
            which = row.sender, row.kind, row.number
            _check_same(which, values.setdefault(which, row.values), row.values)
            if row.kind == "direct":
                broadcast = receivers.get(which, row.receiver) != row.receiver
                receivers[which] = EVERYBODY if broadcast else row.receiver
        doors = {agent: view.at_node(agent) for agent in view.adversary.doors}
        return cls(values, receivers, doors, frozenset(reached))

    def taken(self, agent: int) -> deque[Which]:
        """The direct messages that were delivered at this door, in their order."""
        rows = self.rows[agent]
        return deque((r.sender, r.kind, r.number) for r in rows if r.event == "received" and r.kind == "direct")


def _check_same(which: Which, first: Values, again: Values) -> None:
    if first is again:
        return
    same = first.keys() == again.keys() and all(
        first[name] is again[name] or np.array_equal(first[name], again[name], equal_nan=True) for name in first
    )
    if not same:
        raise AttackError(
            f"{which[1]} message {which[2]} of agent {which[0]} was seen with two contents: where messages are "
            "altered on their way, a joint probe does not know what the others went on with"
        )
