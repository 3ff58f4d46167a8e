"""The public code of all agents run together, in memory, on what was observed and on what is given for the rest.

Private gradients are given; a release that was observed anywhere as it was made is what was observed, any other one
is its value plus noise that is given. A message that was observed goes on as it was observed; one that was not goes
on as the code has computed it. What the code makes of a value that was observed is one equation.

No clock: agents that exchange and wait for everybody do the same whatever the delays. What is *not* determined by
the code is the order in which direct messages arrive, and what private coins decide. Whom a message went to is read
off the doors and the links, and the order off the doors. At an agent without a tap messages are taken in some order,
and coins are some coins, both named by `Inputs.chance`: whoever runs passes has to see that other ones make no
difference (`maps`). A token is the one message on its way while everybody waits: there is but one order.
"""

import random
from collections.abc import Callable, Coroutine, Sequence
from functools import partial

from attacks.probe.joint.driven import Driven, End, until
from attacks.probe.joint.heard import Heard, Which
from attacks.probe.joint.passes import Field, Inputs, Pass
from netsim.adversary import PublicKnowledge
from netsim.errors import AttackError, ProtocolError
from netsim.transcript.message import Message, Values
from netsim.transcript.record import EVERYBODY


def drive(public: PublicKnowledge, heard: Heard, insiders: frozenset[int], inputs: Inputs) -> Pass:
    """Run every agent that is no insider to the end of its code; insiders do what they did.

    You get an `AttackError` where the code sends other messages than were sent, and where what happened does not
    follow from the code and what was observed.
    """
    network = Network(public, heard, insiders, inputs)
    network.run()
    return network.found


class Network:
    """What the agents of one pass share. `blind` are agents without a tap that wait for a direct message, and which
    one they may take."""

    def __init__(self, public: PublicKnowledge, heard: Heard, insiders: frozenset[int], inputs: Inputs) -> None:
        self.public, self.heard, self.insiders, self.inputs = public, heard, insiders, inputs
        self.found = Pass()
        self.inbox: list[dict[int, dict[int, Message]]] = [{} for _ in range(public.agents)]
        self.flight: list[tuple[Which, int, Message]] = []
        self.blind: dict[int, Which | None] = {}
        self.chance = random.Random(inputs.chance)
        self.unread = {which for which in heard.values if which[0] not in insiders}
        carriers = inputs.carriers or {}
        self.observed_in = {release: self._first(fields) for release, fields in carriers.items()}
        seen = (release for release, place in self.observed_in.items() if place is not None)
        self.verbatim = {f for release in seen for f in carriers[release]}

    def _first(self, fields: Sequence[Field]) -> Field | None:
        return next((f for f in fields if f[:3] in self.heard.values), None)

    def run(self) -> None:
        running = {i: self._started(i) for i in range(self.public.agents)}
        try:
            self._run(running)
        finally:
            for coroutine in running.values():
                coroutine.close()
        if self.unread:
            sender, kind, number = min(self.unread)
            raise AttackError(f"agent {sender}'s code does not send what was sent: {kind} message {number}")

    def _run(self, running: "dict[int, _Code]") -> None:
        waiting: dict[int, Callable[[], bool]] = {}
        while True:
            moved = False
            for i in list(running):
                while i in running and (i not in waiting or waiting[i]()):
                    moved = True
                    try:
                        waiting[i] = _stepped(i, running[i])
                    except (StopIteration, End):
                        del running[i]
            if not moved and not self._let_through():
                return

    def _started(self, agent: int) -> "_Code":
        if agent in self.insiders:
            return self._play(agent)
        self.found.points[agent], self.found.mechanisms[agent] = [], []
        return self.public.algorithm.run(Driven(self, agent))

    async def _play(self, agent: int) -> None:
        """An insider does what it did, in its order."""
        for row in self.heard.rows[agent]:
            which = row.sender, row.kind, row.number
            if row.event == "sent":
                self.post(which, self.as_observed(which), row.receiver)
            elif row.event == "received" and row.kind == "direct":
                await until(partial(self.has, which, agent))
                self.take(which, agent)

    def as_observed(self, which: Which) -> Values:
        """Of a message that was observed, in the shape of this pass."""
        return {name: self.inputs.observed((*which, name)) for name in self.heard.values[which]}

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


_Code = Coroutine[Callable[[], bool], None, None]


def _stepped(agent: int, code: _Code) -> Callable[[], bool]:
    """Run an agent to where it waits next."""
    try:
        return code.send(None)
    except RuntimeError as error:
        if str(error) == "no running event loop":
            raise ProtocolError(f"agent {agent} awaited something that is not the port's") from error
        raise
