"""The public code of all agents run together, in memory, on what was observed and on what is given for the rest.

Private gradients are given; a release that was observed anywhere as it was made is what was observed, any other one
is its value plus noise that is given. A message that was observed goes on as it was observed; one that was not goes
on as the code has computed it. What the code makes of a value that was observed is one equation.

No clock: agents that exchange and wait for everybody do the same whatever the delays. What is *not* determined by
the code is the order in which direct messages arrive, and what private coins decide. Whom a message went to is read
off the doors and the links, of a token that nobody observed off its way (`attacks.closed_form.token_walk`), and the
order off the doors. At an agent without a tap messages are taken in some order,
and coins are some coins, both named by `Inputs.chance`: whoever runs passes has to see that other ones make no
difference (`attacks.probe.mapping`). A token is the one message on its way while everybody waits: there is but one
order.
"""

import random
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from attacks.closed_form.exchanges import TOKENS
from attacks.closed_form.token_walk import walked
from attacks.probe.node import Field, Inputs, Pass, ProbeNode, Shape, not_repeated
from netsim import node as port
from netsim.adversary import AdversaryView, PublicKnowledge
from netsim.arrays import Array
from netsim.errors import AttackError, ProtocolError
from netsim.transcript.message import EVERYBODY, Kind, Message, Record, Values

Which = tuple[int, Kind, int]
"""A message: its sender, its kind, and the sender's count of that kind, from 0."""


class _Seen(NamedTuple):
    """All that a view shows in the clear: each message that was observed anywhere, once, and the order at doors.

    `values` of each message, as it was sent; `receivers` of those of kind "direct" (`EVERYBODY`: a broadcast). `rows`
    of each agent with a tap at its door, or inside, in order. `reached` are the agents at which the adversary
    listens: those at whose door it sits and both ends of the links that it taps.
    """

    values: dict[Which, Values]
    receivers: dict[Which, int]
    rows: dict[int, tuple[Record, ...]]
    reached: frozenset[int]

    @classmethod
    def of(cls, view: AdversaryView) -> "_Seen":
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
            first, again = values.setdefault(which, row.values), row.values
            same = first is again or first.keys() == again.keys()
            if not same or any(
                first[name] is not again[name] and not np.array_equal(first[name], again[name], equal_nan=True)
                for name in first
            ):
                raise AttackError(
                    f"{which[1]} message {which[2]} of agent {which[0]} was seen with two contents: where messages "
                    "are altered on their way, a joint probe does not know what the others went on with"
                )
            if row.kind == "direct":
                broadcast = receivers.get(which, row.receiver) != row.receiver
                receivers[which] = EVERYBODY if broadcast else row.receiver
        algorithm = view.public.algorithm
        if isinstance(algorithm, TOKENS):
            for (receiver, _), (sender, number) in walked(view, algorithm.first)[1].came.items():
                receivers.setdefault((sender, "direct", number), receiver)
        doors = {agent: view.at_node(agent) for agent in view.adversary.doors}
        return cls(values, receivers, doors, frozenset(reached))

    def taken(self, agent: int) -> deque[Which] | None:
        """The direct messages that were delivered at this door, in their order; None without a tap there."""
        if agent not in self.rows:
            return None
        rows = self.rows[agent]
        return deque((r.sender, r.kind, r.number) for r in rows if r.event == "received" and r.kind == "direct")


class WholeNetwork:
    """All agents that are no insiders, as victims: run to the end of their code. Insiders do what they did.

    Unless `substituted`, what was observed shows which messages there were and nothing else: every message goes on as
    the code computes it, so that each equation is the message itself, as a function of all gradients and all noise.
    `hessians`: those of the agents whose objectives are known to be quadratic, as `ProbeNode` has them.
    """

    alone = False

    def __init__(
        self, view: AdversaryView, *, substituted: bool = True, hessians: Mapping[int, Array] | None = None
    ) -> None:
        _check(view)
        self.substituted, self.hessians = substituted, hessians or {}
        self._public, self._insiders = view.public, frozenset(view.inside)
        self._seen = _Seen.of(view)
        self.shape: Shape = (view.replicas, view.public.dimension)

    def run(self, inputs: Inputs) -> Pass:
        """You get an `AttackError` where the code sends other messages than were sent, and where what happened does
        not follow from the code and what was observed."""
        network = _Network(self._public, self._seen, self._insiders, inputs, self.substituted, self.hessians)
        network.run()
        return network.found

    def distances(self) -> dict[int, int]:
        """Hops from each agent to the nearest one at which the adversary listens; empty where it listens nowhere."""
        distance = dict.fromkeys(sorted(self._seen.reached), 0)
        front = list(distance)
        while front:
            reached = sorted({j for i in front for j in self._public.neighbors[i]} - distance.keys())
            distance |= dict.fromkeys(reached, 1 + max(distance.values()))
            front = reached
        return distance


@types.coroutine
def _until(ready: Callable[[], bool]) -> Generator[Callable[[], bool], None, None]:
    """Wait; the network looks whether it is ready."""
    if not ready():
        yield ready


class _End(BaseException):
    """An agent does nothing further that anybody has observed."""


class _NetworkProbeNode(ProbeNode):
    """One agent's port in a pass of the whole network."""

    def __init__(self, network: "_Network", agent: int) -> None:
        public = network.public
        self._network = network
        self.id, self.agents = agent, public.agents
        self.neighbors = public.neighbors[agent]
        self.weights: Array = public.weights[agent]
        self.replicas, self.dimension = network.inputs.shape
        self.regularizer = public.regularizer
        self.records = public.records[agent] if public.records else 1
        self.sent = 0
        self.hessian = network.hessians.get(agent)
        self._counts: dict[Kind, int] = {"exchange": 0, "direct": 0}
        self._coins: np.random.Generator | None = None
        self._door = network.seen.taken(agent)
        self._begin(network.inputs, network.found)

    @property
    def coins(self) -> np.random.Generator:
        """Some coins: nobody knows which. What they decide has to be observed, or make no difference."""
        if self._coins is None:
            self._found.chancy = True
            self._coins = np.random.default_rng((self._inputs.chance, self.id))
        return self._coins

    def zeros(self) -> Array:
        return np.zeros(self._inputs.shape)

    def estimate(self, x: Array) -> None:
        pass

    async def exchange(self, **values: Array) -> port.Exchange:
        own = self._post("exchange", values, EVERYBODY)
        slots, degree = self._network.inbox[self.id], len(self.neighbors)
        await _until(lambda: len(slots.get(own.number, ())) == degree)
        received = slots.pop(own.number, {})
        return port.Exchange(self, own, [received[j] for j in self.neighbors])

    def send(self, to: int, **values: Array) -> None:
        which = self.id, "direct", self._counts["direct"]
        receiver = self._network.seen.receivers.get(which)
        if receiver is None and self._coins is not None and len(self.neighbors) > 1:
            if not self._network.unread:
                raise _End
            raise AttackError(
                f"message {which[2]} of agent {self.id} to a single neighbor was not observed, and its coins are "
                "private: which way it went, and what came of it, is not known"
            )
        self._post("direct", values, to if receiver in (None, EVERYBODY) else receiver)

    def broadcast(self, **values: Array) -> None:
        self._post("direct", values, EVERYBODY)

    async def receive(self) -> Message:
        network, me = self._network, self.id
        if self._door is None:
            network.blind[me] = None
            await _until(lambda: network.blind[me] is not None)
            which = network.blind.pop(me)
            assert which is not None
            return network.take(which, me)
        if not self._door:
            raise _End
        which = self._door.popleft()
        await _until(partial(network.has, which, me))
        return network.take(which, me)

    def _observed(self, field: Field) -> Array:
        sender, kind, number, name = field
        assert kind != "release"  # nothing is granted
        return self._inputs.observe(self._network.seen.values[sender, kind, number][name])

    def _post(self, kind: Kind, values: Values, to: int) -> Message:
        which = self.id, kind, self._counts[kind]
        self._counts[kind] += 1
        self.sent += 1
        network = self._network
        if which not in network.seen.values:
            return network.post(which, {name: value.copy() for name, value in values.items()}, to)
        network.unread.discard(which)
        observed = network.as_observed(which)
        if observed.keys() != values.keys():
            raise AttackError(
                f"{not_repeated(self.id)} ({kind} message {which[2]}: it has {', '.join(sorted(values))}, and "
                f"{', '.join(sorted(observed))} were sent)"
            )
        for name, value in values.items():
            self._put_on_wire((*which, name), value, observed[name])
        if not network.substituted:
            observed = {name: value.copy() for name, value in values.items()}
        return network.post(which, observed, to)


class _Network:
    """State that the agents of one pass share. `blind` are agents without a tap that wait for a direct message, and
    which one they may take."""

    def __init__(
        self,
        public: PublicKnowledge,
        seen: _Seen,
        insiders: frozenset[int],
        inputs: Inputs,
        substituted: bool,
        hessians: Mapping[int, Array],
    ) -> None:
        self.public, self.seen, self.insiders, self.inputs = public, seen, insiders, inputs
        self.substituted, self.hessians = substituted, hessians
        self.found = Pass()
        self.inbox: list[dict[int, dict[int, Message]]] = [{} for _ in range(public.agents)]
        self.flight: list[tuple[Which, int, Message]] = []
        self.blind: dict[int, Which | None] = {}
        self.chance = random.Random(inputs.chance)
        self.unread = {which for which in seen.values if which[0] not in insiders}

    def run(self) -> None:
        play, code = self._play, self.public.algorithm.run
        running: dict[int, Coroutine[Callable[[], bool], None, None]] = {
            i: play(i) if i in self.insiders else code(_NetworkProbeNode(self, i)) for i in range(self.public.agents)
        }
        waiting: dict[int, Callable[[], bool]] = {}
        try:
            moved = True
            while moved or self._let_through():
                moved = False
                for i in list(running):
                    while i in running and (i not in waiting or waiting[i]()):
                        moved = True
                        try:
                            waiting[i] = running[i].send(None)
                        except (StopIteration, _End):
                            del running[i]
                        except RuntimeError as error:
                            if str(error) == "no running event loop":
                                raise ProtocolError(f"agent {i} awaited something that is not the port's") from error
                            raise
        finally:
            for coroutine in running.values():
                coroutine.close()
        if self.unread:
            sender, kind, number = min(self.unread)
            raise AttackError(f"{not_repeated(sender)} ({kind} message {number}: it is not sent)")

    async def _play(self, agent: int) -> None:
        """An insider does what it did, in its order."""
        for row in self.seen.rows[agent]:
            which = row.sender, row.kind, row.number
            if row.event == "sent":
                self.post(which, self.as_observed(which), row.receiver)
            elif row.event == "received" and row.kind == "direct":
                await _until(partial(self.has, which, agent))
                self.take(which, agent)

    def as_observed(self, which: Which) -> Values:
        """Values of a message that was observed, in the shape of this pass."""
        return {name: self.inputs.observe(value) for name, value in self.seen.values[which].items()}

    def post(self, which: Which, values: Values, receiver: int) -> Message:
        """A message goes to one neighbor, or to all."""
        message = Message(*which, values, size=0)
        for j in self.public.neighbors[which[0]] if receiver == EVERYBODY else (receiver,):
            if message.kind == "direct":
                self.flight.append((which, j, message))
            elif j not in self.insiders:
                self.inbox[j].setdefault(message.number, {})[message.sender] = message
        return message

    def has(self, which: Which, receiver: int) -> bool:
        """Whether this direct message is on its way there."""
        return any(one[0] == which and one[1] == receiver for one in self.flight)

    def take(self, which: Which, receiver: int) -> Message:
        """Deliver a direct message."""
        place = next(k for k, one in enumerate(self.flight) if one[0] == which and one[1] == receiver)
        return self.flight.pop(place)[2]

    def _let_through(self) -> bool:
        """Everybody waits: one of the messages on their way is taken, if anything observed is still to come."""
        coming = [(which, to) for which, to, _ in self.flight if to in self.blind]
        if not coming or not self.unread:
            return False
        self.found.chancy |= len(coming) > 1
        which, receiver = self.chance.choice(coming)
        self.blind[receiver] = which
        return True


def _check(view: AdversaryView) -> None:
    public = view.public
    if not public.codec.lossless:
        raise AttackError(f"{public.codec} changes what is sent: the inversion is for float64 on the wire")
    outside = set(range(public.agents)) - view.inside.keys()
    if forgetful := sorted(public.forgetful & outside):
        raise AttackError(f"agents {forgetful} may begin anew without their state: when is not known")
    if not public.exchange_policy.endless and outside:
        raise AttackError(
            "exchanges may end without some messages, and which came in time is known at a tapped door alone: probe "
            "each agent with a tap at its door by itself (attacks.inference)"
        )
