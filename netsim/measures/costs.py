"""What a run had cost by the end of each round or activation: packets, bytes, private queries, activations, time."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array
from netsim.wires import Air

if TYPE_CHECKING:
    from netsim.live import LiveNode

Counts: TypeAlias = NDArray[np.int64]
"""Whole numbers, one for each round or activation."""


@dataclass(frozen=True)
class Costs:
    """Entry k − 1 is what it had cost when round or activation k was closed, in a round by its last agent.

    `plf`: the largest number of activations of one agent so far, Θ in the DP-RECAL paper's privacy formula (PLF in
    one version of it, LCI in the other); in rounds the number of the round. `packets` and `bytes`: all on the air
    by then, acknowledgements, retransmissions and what other agents were ahead with included; on radio a
    transmission counts once. `messages` and `message_bytes`: what agents sent in their first k rounds, or in all
    activations closed so far, one for each receiver, before any link repeats, tags or loses it. `queries`: gradients
    and proximal steps asked of the private objectives in the same activations, by all agents, one for a batch of
    records too; `queries_of_one`: by the agent that asked most. `time` is in virtual seconds.
    """

    plf: Counts
    packets: Counts
    bytes: Counts
    messages: Counts
    message_bytes: Counts
    queries: Counts
    queries_of_one: Counts
    time: Array


class Ledger:
    """What is noted at each closing, five whole numbers: what was on the air, and the closing agent's own counts."""

    __slots__ = ("_air", "_nodes", "asked", "bytes", "message_bytes", "messages", "packets")

    def __init__(self, air: Air, nodes: "Sequence[LiveNode]") -> None:
        self._air, self._nodes = air, nodes
        self.packets, self.bytes = array("q"), array("q")
        self.asked, self.messages, self.message_bytes = array("q"), array("q"), array("q")

    def closed(self, agent: int) -> None:
        """An agent closed a round or an activation, now."""
        node, air = self._nodes[agent], self._air
        self.packets.append(air.packets)
        self.bytes.append(air.bytes)
        self.asked.append(node.asked)
        self.messages.append(node.messages)
        self.message_bytes.append(node.message_bytes)


def by_round(ledger: Ledger, times: Array, closings: Counts) -> Costs:
    """`closings[i, k]` is which closing of the whole run was agent i's round k + 1; shape (agents, rounds)."""
    last = closings.max(axis=0)

    def own(counts: "array[int]") -> Counts:
        return np.array(counts, dtype=np.int64)[closings]

    asked = own(ledger.asked)
    return Costs(
        plf=np.arange(1, len(last) + 1, dtype=np.int64),
        packets=np.array(ledger.packets, dtype=np.int64)[last],
        bytes=np.array(ledger.bytes, dtype=np.int64)[last],
        messages=own(ledger.messages).sum(axis=0),
        message_bytes=own(ledger.message_bytes).sum(axis=0),
        queries=asked.sum(axis=0),
        queries_of_one=asked.max(axis=0, initial=0),
        time=times[closings].max(axis=0, initial=0.0),
    )


def by_activation(ledger: Ledger, times: Array, agents: Counts) -> Costs:
    """`agents[t]` closed activation t + 1 of the walk."""
    order = np.argsort(agents, kind="stable")
    first = np.ones(len(order), dtype=bool)
    first[1:] = agents[order][1:] != agents[order][:-1]

    def so_far(counts: "array[int]") -> Counts:
        """The sum over agents of their counts as of their latest closings."""
        values = np.array(counts, dtype=np.int64)
        steps = values[order]
        steps[~first] -= values[order][np.flatnonzero(~first) - 1]
        found = np.empty_like(steps)
        found[order] = steps
        return np.cumsum(found)

    starts = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    activation = np.empty(len(order), dtype=np.int64)
    activation[order] = np.arange(len(order)) - starts + 1
    return Costs(
        plf=np.maximum.accumulate(activation),
        packets=np.array(ledger.packets, dtype=np.int64),
        bytes=np.array(ledger.bytes, dtype=np.int64),
        messages=so_far(ledger.messages),
        message_bytes=so_far(ledger.message_bytes),
        queries=so_far(ledger.asked),
        queries_of_one=np.maximum.accumulate(np.array(ledger.asked, dtype=np.int64)),
        time=times,
    )
