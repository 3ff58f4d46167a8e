"""What an exchange does when messages are missing: a setting of the exchange, not of the algorithm.

Live agents and replays of them keep the messages of their exchanges on a `Shelf`: what counts as missing, and
what stands in for it, is said once.
"""

import math
from dataclasses import dataclass
from typing import Literal

from netsim.errors import ScenarioError
from netsim.messages import Message

Names = tuple[str, ...]


@dataclass(frozen=True)
class Patience:
    """How long an exchange waits for its neighbors, and what stands in for a message that did not come. Public.

    `deadline` seconds after it began, an exchange goes on with what is here (0: with what is here now; None: never,
    it waits for all). A message that arrives at the deadline is in time. A neighbor is waited for until its message
    of that exchange or a later one is here: who is ahead does not answer any more.

    `instead` of a missing message stands the newest message of that neighbor with the same fields, late ones and
    those of later exchanges too (`last_heard`; before the first: the agent's own), or what the agent itself told in
    this exchange (`own_value`).
    """

    deadline: float | None = None
    instead: Literal["last_heard", "own_value"] = "last_heard"

    def __post_init__(self) -> None:
        if self.deadline is not None and not 0 <= self.deadline < math.inf:
            raise ScenarioError("deadline", self.deadline, "seconds that an exchange waits", ">= 0, or leave it out")

    @property
    def endless(self) -> bool:
        """Whether every exchange waits for all."""
        return self.deadline is None


WAIT_FOR_ALL = Patience()
"""What exchanges do where nothing else is said."""


class Shelf:
    """The messages of exchanges at one agent, as an impatient agent keeps them."""

    __slots__ = ("_ahead", "_collected", "_last_heard", "_neighbors", "_newest", "_slots", "_wanted", "awaited")

    def __init__(self, neighbors: tuple[int, ...], patience: Patience) -> None:
        self._neighbors, self._last_heard = neighbors, patience.instead == "last_heard"
        self._slots: dict[int, dict[int, Message]] = {}
        self._newest: dict[tuple[int, Names], Message] = {}
        self._ahead = dict.fromkeys(neighbors, -1)
        self._collected = 0
        self._wanted = -1
        self.awaited = 0
        """How many neighbors the exchange that was asked about last still waits for."""

    def put(self, message: Message) -> None:
        """A message has arrived, early, in time, late, or once more."""
        sender, number = message.sender, message.number
        ahead = self._ahead[sender]
        if number > ahead:
            self._ahead[sender] = number
            if ahead < self._wanted <= number:
                self.awaited -= 1
        if number >= self._collected:
            self._slots.setdefault(number, {}).setdefault(sender, message)
        if self._last_heard:
            key = sender, _names(message)
            if key not in self._newest or self._newest[key].number < number:
                self._newest[key] = message

    def complete(self, number: int) -> bool:
        """Whether exchange `number` waits for nobody; from now on `awaited` is about it."""
        self._wanted, self.awaited = number, len(self.missing(number))
        return not self.awaited

    def missing(self, number: int) -> tuple[int, ...]:
        """The neighbors that exchange `number` still waits for."""
        return tuple(j for j, ahead in self._ahead.items() if ahead < number)

    def collect(self, told: Message) -> dict[int, Message]:
        """One message for each neighbor, in their order: exchange `told.number` is over."""
        number, names = told.number, _names(told)
        here = {j: message for j, message in self._slots.get(number, {}).items() if _names(message) == names}
        self._collected = number + 1
        for old in [k for k in self._slots if k <= number]:
            del self._slots[old]
        instead = {j: self._newest.get((j, names), told) for j in self._neighbors if j not in here}
        return {j: here[j] if j in here else instead[j] for j in self._neighbors}


def _names(message: Message) -> Names:
    return tuple(sorted(message.values))
