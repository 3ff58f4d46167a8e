"""Inboxes: one entrance for the messages of an agent, with or without a deadline for its exchanges.

Where nothing can stop a message of an exchange once it is sent, the receiver's inbox knows at once when it arrives
(`Inbox.expect`): the clock has one entry for the last message of an exchange, not one for each.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from netsim.clock import VirtualEnvironment, Wait
from netsim.errors import ProtocolError
from netsim.network.links import ExchangePolicy, Shelf
from netsim.transcript.message import Message

HERE = -math.inf
"""The arrival of a message that is here already."""


class Way(Protocol):
    """What leads to an inbox that is told of messages as they are sent."""

    @property
    def foreseen_by(self) -> "Inbox": ...

    @property
    def seconds(self) -> float:
        """How long a message travels."""
        ...


class Inbox:
    """Messages of one agent that were not taken yet, and what the agent waits for."""

    __slots__ = (
        "_collected", "_degree", "_direct", "_environment", "_exchanges", "_wait", "_wanted", "enter", "neighbors",
        "owner",
    )  # fmt: skip

    foresees = True
    """Whether it may be told of messages before they arrive."""

    def __init__(self, environment: VirtualEnvironment, owner: int, neighbors: tuple[int, ...]) -> None:
        self._environment, self.owner, self.neighbors = environment, owner, neighbors
        self._degree = len(neighbors)
        self._exchanges: dict[int, dict[int, tuple[float, int, Message]]] = {}
        """By number and sender, arrivals with their numbers among the calls of an instant, and messages."""
        self._collected = 0
        self._direct: deque[Message] | None = None  # made for the first: an empty one takes 600 bytes
        self._wait: Wait | None = None
        self._wanted: int | None = None
        self.enter: Callable[[Message], None] = self._enter  # one object for all wires
        """Where messages come in."""

    @staticmethod
    def of(
        environment: VirtualEnvironment, owner: int, neighbors: tuple[int, ...], policy: ExchangePolicy | None
    ) -> "Inbox":
        """An agent's inbox; where the policy has a deadline, its exchanges end there."""
        if policy is None or policy.deadline is None:
            return Inbox(environment, owner, neighbors)
        return _PolicyInbox(environment, owner, neighbors, policy, policy.deadline)

    def _enter(self, message: Message) -> None:
        if message.kind != "exchange":
            if self._direct is None:
                self._direct = deque()
            self._direct.append(message)
            if self._wanted is None and self._wait is not None:
                self._wait.set()  # not by `_wake`: each call counts where a token walks
            return
        self.expect(message, HERE, message.sender)

    def enter_once(self, message: Message) -> None:
        """Where messages come in repeatedly: the first of a sender in an exchange holds; the others, and those of an
        exchange that is over, are left. (Copies of direct messages do not come this far: `netsim.network.network`.)
        """
        number = message.number
        if message.kind == "exchange" and (
            number < self._collected or message.sender in self._exchanges.get(number, ())
        ):
            return
        self.enter(message)

    def expect(self, message: Message, arrival: float, call: int) -> None:
        """A message of an exchange is sent and will arrive for certain, in the place of this call of its instant."""
        number = message.number
        slot = self._exchanges.setdefault(number, {})
        slot[message.sender] = arrival, call, message
        if number == self._wanted and len(slot) == self._degree:
            self._await_last(number)

    @staticmethod
    def expect_all(message: Message, now: float, ways: "Iterable[Way]", calls: Iterator[int]) -> None:
        """`expect` where each of the ways leads, in the places of the next calls."""
        number, sender = message.number, message.sender
        for way, call in zip(ways, calls, strict=False):  # the innermost loop of a synchronous run; calls never end
            inbox = way.foreseen_by
            slot = inbox._exchanges.get(number)
            if slot is None:
                slot = inbox._exchanges[number] = {}
            slot[sender] = now + way.seconds, call, message
            if number == inbox._wanted and len(slot) == inbox._degree:
                inbox._await_last(number)

    def _await_last(self, number: int) -> None:
        """All messages of the exchange that the agent waits for are known: it is woken by the last of them."""
        arrival, call = self._last(number)
        if self._environment.has_passed(arrival, call):
            self._wake()
        else:
            self._environment.call_as(arrival, call, self._arrived, number)

    def _last(self, number: int) -> tuple[float, int]:
        """When the last message of an exchange arrives, of those that are known, and as which call."""
        arrival, call, _ = max(self._exchanges[number].values())
        return arrival, call

    def _arrived(self, number: int) -> None:
        if number == self._wanted:
            self._wake()

    def _wake(self) -> None:
        if self._wait is not None:
            self._wait.set()

    def has(self, number: int) -> bool:
        """Whether every neighbor's message of exchange `number` is here."""
        known = len(self._exchanges.get(number, ()))
        return known == self._degree and self._environment.has_passed(*self._last(number))

    def collect(self, sent: Message) -> tuple[Message, ...]:
        """The neighbors' messages of the exchange in which the agent sent that, in their order; once all are here."""
        number = sent.number
        self._collected = number + 1
        slot = self._exchanges.pop(number)
        return tuple([slot[j][2] for j in self.neighbors])

    def coming(self, sender: int) -> list[Message]:
        """Messages of a neighbor that it knows of and that have not arrived."""
        passed = self._environment.has_passed
        slots = [slot[sender] for slot in self._exchanges.values() if sender in slot]
        return [message for arrival, call, message in slots if not passed(arrival, call)]

    @property
    def last_arrival(self) -> float:
        """When the last message that it knows of and nobody has taken arrives; −∞ for those that are here."""
        return max([entry[0] for slot in self._exchanges.values() for entry in slot.values()], default=HERE)

    async def take(self) -> Message:
        """Wait for the next direct message."""
        if not self._direct:
            await self.woken(None)
        assert self._direct is not None
        return self._direct.popleft()

    def woken(self, wanted: int | None) -> Wait:
        """Done when the exchange `wanted` is complete; for None, when a direct message is here."""
        wait = self._wait
        if wait is not None and wait.over:
            wait.again()
        elif (waits := self.waits_for()) is not None:
            raise ProtocolError(f"agent {self.owner} waits twice at once: {waits}; await one at a time")
        else:
            wait = self._wait = Wait(asyncio.get_running_loop())
        self._wanted = wanted
        if wanted is not None and len(self._exchanges.get(wanted, ())) == self._degree:
            self._await_last(wanted)
        return wait

    def forget(self) -> None:
        """Nobody waits here any more: the agent was stopped. What has arrived stays."""
        self._wait = None

    def waited_for(self) -> tuple[int, ...]:
        """The agents that a message is waited for from; none where the agent does not wait here."""
        if self._wait is None or self._wait.done:
            return ()
        return tuple(self.neighbors) if self._wanted is None else self._missing(self._wanted)

    def waits_for(self) -> str | None:
        """A sentence for a deadlock's message, or None if the agent does not wait here."""
        if self._wait is None or self._wait.done:
            return None
        what, ids = "any message" if self._wanted is None else f"exchange {self._wanted}", self.waited_for()
        agents = "agent" if len(ids) == 1 else "agents"
        return f"agent {self.owner} waits for {what} from {agents} {', '.join(map(str, ids))}"

    def _missing(self, number: int) -> tuple[int, ...]:
        passed = self._environment.has_passed
        here = {j for j, (arrival, call, _) in self._exchanges.get(number, {}).items() if passed(arrival, call)}
        return tuple(j for j in self.neighbors if j not in here)


class _PolicyInbox(Inbox):
    """An inbox whose exchanges end at a deadline, complete or not (`ExchangePolicy`)."""

    __slots__ = ("_deadline", "_shelf", "_timer")

    foresees = False

    def __init__(
        self,
        environment: VirtualEnvironment,
        owner: int,
        neighbors: tuple[int, ...],
        policy: ExchangePolicy,
        deadline: float,
    ) -> None:
        super().__init__(environment, owner, neighbors)
        self._deadline, self._shelf = deadline, Shelf(neighbors, policy)
        self._timer: asyncio.TimerHandle | None = None

    def _enter(self, message: Message) -> None:
        if message.kind != "exchange":
            super()._enter(message)
            return
        self._shelf.put(message)
        if self._wanted is not None and not self._shelf.awaited:
            self._wake()

    def has(self, number: int) -> bool:
        return self._shelf.complete(number)

    def collect(self, sent: Message) -> tuple[Message, ...]:
        """One message for each neighbor: its own of this exchange, or what stands in for it."""
        return self._shelf.collect(sent)

    def woken(self, wanted: int | None) -> Wait:
        """Done when no neighbor is waited for any more, or at the deadline."""
        wait = super().woken(wanted)
        self._cancel_deadline()  # that of an exchange which was given up
        if wanted is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(loop.time() + self._deadline, self._wake)
        return wait

    def forget(self) -> None:
        super().forget()
        self._cancel_deadline()

    def _wake(self) -> None:
        super()._wake()
        self._cancel_deadline()

    def _cancel_deadline(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _missing(self, number: int) -> tuple[int, ...]:
        return self._shelf.missing(number)
