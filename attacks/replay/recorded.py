"""A `Node` fed from the record of a tap at an agent's door."""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, Self

import numpy as np

from attacks.replay.coins import Unseen
from attacks.replay.replayed import Departure
from netsim.adversary import PublicKnowledge
from netsim.arguments import expect
from netsim.arrays import Array
from netsim.errors import AttackError, PrivacyError, ProtocolError, ScenarioError, StalledError, not_an_exit
from netsim.mechanisms import Gaussian, Mechanism
from netsim.models.model import Regularizer
from netsim.network.links import Shelf
from netsim.node import Exchange, FollowedCoins
from netsim.randomness import SharedNoise
from netsim.transcript.message import EVERYBODY, Event, Kind, Message, Record, Values, as_sent

NOT_RECORDED = -1
"""The size of a message that was missed."""
_NOTHING = np.empty((0, 0))


def gap(event: Event, sender: int, receiver: int, kind: Kind, number: int, names: Iterable[str] = ()) -> Record:
    """A row for a message that was not received, in its place among those that were; `names` are its fields'."""
    values = dict.fromkeys(names, _NOTHING)
    return Record(0.0, "node", event, sender, receiver, kind, number, -1, 0, NOT_RECORDED, values)


class EndOfRecord(BaseException):
    """Nothing further can be replayed."""


ENDS = 10_000
"""Times that code may catch the end of its record, and go on: then it is stopped where it waits."""


class _Stopped:
    """Awaited, it never comes: whatever the code catches, it does not go on."""

    def __await__(self) -> Generator[Self]:
        yield self


class Recording(NamedTuple):
    """Record of a tap at an agent's door, with the public protocol and the agent's coins.

    A pass that can do without some messages (a probe) may be given rows with gaps (`gap`): in the place of messages
    that were sent, or received directly. A message of an exchange that is not there, though the agent sent something
    later, was not received either. `shared`: what is known of the noise in the agent's releases that is from seeds it
    shares; None: nothing. `cut`: what the agent did after its last message is no part of it. `granted`: its first
    releases, in order, which a probe takes for observed where no message carries them; those after the last message
    it does not. `inside`: numbers of releases that nobody is taken to see but in the messages that they are inside.
    """

    public: PublicKnowledge
    agent: int
    rows: tuple[Record, ...]
    replicas: int
    coins: np.random.Generator
    shared: SharedNoise | None = None
    cut: bool = False
    granted: tuple[Array, ...] = ()
    inside: tuple[int, ...] = ()
    most_queries: float = math.inf
    """Private queries, at most; more are a `StalledError`."""


class RecordedNode(ABC):
    """One agent's port, fed with a recording. Subclasses define what is private.

    `blind_to_receivers`: the coins that choose them are unknown, so whom a message goes to is not compared; of coins
    that are followed (`attacks.replay.coins`) it is.
    """

    blind_to_receivers = False

    def __init__(self, recording: Recording) -> None:
        public, agent, rows, replicas, coins, self._shared_law, self._cut, _, self._inside, most = recording
        self.id, self.agents = agent, public.agents
        self.neighbors = public.neighbors[agent]
        self.weights: Array = public.weights[agent].copy()  # its own, as in a run: code may change it in place
        self.replicas, self.dimension = replicas, public.dimension
        self.regularizer: Regularizer = public.regularizer
        self.records = public.records[agent] if public.records else 1
        self.coins = coins
        self.blind_to_receivers = self.blind_to_receivers and not isinstance(coins, FollowedCoins)
        self.activation = 1
        self.departure: Departure | None = None
        self.sent = 0
        self.clock = 0.0
        self.pace = 0
        self._queries, self._most_queries, self._ends = 0, most, 0
        self.overran = False
        self._algorithm = public.algorithm
        self._query_time = public.query_time(agent) or 0.0
        self._shelf = None if public.exchange_policy.endless else Shelf(self.neighbors, public.exchange_policy)
        self._passing: deque[Record] = deque()
        self._exchanged: dict[int, dict[int, Record]] = {}
        self._direct: deque[Record] = deque()
        self._outgoing: dict[tuple[str, int], Record] = {}
        for row in rows:
            if row.event == "sent":
                self._outgoing[row.kind, row.number] = row
            elif row.kind == "exchange" and self._shelf is not None:
                self._passing.append(row)
            elif row.kind == "exchange":
                self._exchanged.setdefault(row.number, {}).setdefault(row.sender, row)  # the first one holds
            else:
                self._direct.append(row)
        self._unsent = len(self._outgoing)
        self._counts: dict[Kind, int] = {"exchange": 0, "direct": 0}

    def read(self) -> None:
        """Run the agent's code to the end of the record."""
        self.run_to_the_end()
        if self._unsent and self.departure is None:
            self._depart(f"does not send {self._unsent} of the messages that were sent")

    def run_to_the_end(self) -> bool:
        """Run the agent's code until it ends, or the record does: whether it was the code."""
        awaited = (
            f"agent {self.id} awaited something that is not the port's: an algorithm reaches the world through "
            "its node only, or it cannot be replayed"
        )
        coroutine = self._algorithm.run(self)
        try:
            if isinstance(coroutine.send(None), _Stopped):
                awaited = (
                    f"agent {self.id}'s code catches what ends it (`except:`, `except BaseException`), and goes on "
                    "without end: catch `Exception`"
                )
        except (StopIteration, EndOfRecord) as end:
            return isinstance(end, StopIteration)
        except SystemExit as error:
            raise not_an_exit(error) from None
        except RuntimeError as error:
            if str(error) == "no running event loop":
                raise ProtocolError(awaited) from error
            raise
        finally:
            with suppress(RuntimeError):  # it catches that, too
                coroutine.close()
        raise ProtocolError(awaited)

    def _end(self) -> EndOfRecord:
        """The error to raise where nothing further can be replayed."""
        self._ends += 1
        return EndOfRecord()

    async def _goes_on(self) -> None:
        """Nothing, but for code that catches every end."""
        if self._ends > ENDS:
            await _Stopped()

    def zeros(self) -> Array:
        return np.zeros((self.replicas, self.dimension))

    async def exchange(self, **values: Array) -> Exchange:
        await self._goes_on()
        number = self._counts["exchange"]
        own = self._put("exchange", values, EVERYBODY)
        if self._shelf is not None:
            return Exchange(self, own, self._closed(self._shelf, own))
        received = self._exchanged.get(number, {})
        if len(received) < len(self.neighbors) and not self._unsent:
            raise self._end()
        taken = {j: self._take(row) for j, row in received.items()}
        missing = [j for j in self.neighbors if j not in received]
        taken |= {j: self._imagined(j, "exchange", number, own.values) for j in missing}
        return Exchange(self, own, [taken[j] for j in self.neighbors])

    def _closed(self, shelf: Shelf, own: Message) -> tuple[Message, ...]:
        """Messages of an exchange when it was closed: the recorded order of arrivals and deadlines."""
        while self._passing:
            row = self._passing.popleft()
            if row.event == "closed":
                self._pass(row)
                return shelf.collect(own)
            self._seen(row)
            shelf.put(_message(row))
        raise self._end()

    def send(self, to: int, **values: Array) -> None:
        self._put("direct", values, to)

    def broadcast(self, **values: Array) -> None:
        self._put("direct", values, EVERYBODY)

    async def receive(self) -> Message:
        await self._goes_on()
        if not self._direct:
            raise self._end()
        return self._take(self._direct.popleft())

    def estimate(self, x: Array) -> None:  # noqa: ARG002
        self.activation += 1

    def _take(self, row: Record) -> Message:
        if row.size == NOT_RECORDED:
            return self._imagined(row.sender, row.kind, row.number, row.values)
        self._pass(row)
        self._seen(row)
        return _message(row)

    def _imagined(self, sender: int, kind: Kind, number: int, names: Iterable[str]) -> Message:
        """A message that was taken and not received."""
        return Message(sender, kind, number, {name: self._stand_in(sender, kind, number, name) for name in names})

    def _stand_in(self, sender: int, kind: Kind, number: int, name: str) -> Array:  # noqa: ARG002
        """Stand-in for a value that was taken and not captured: none, unless a subclass can do without it."""
        raise self._end()

    def _pass(self, row: Record) -> None:
        """Advance the clock: what the agent does now it can do when this has happened."""
        self.clock = max(self.clock, row.time)
        self.pace = hash((self.pace, row.time))

    def _asked(self) -> None:
        """A private query is answered."""
        self._queries += 1
        if self._queries > self._most_queries:
            raise StalledError.of_queries(self.id, self._most_queries)
        self.clock += self._query_time
        self.pace = hash((self.pace, None))

    def _put(self, kind: Kind, values: Values, to: int) -> Message:
        number = self._counts[kind]
        row = self._outgoing.get((kind, number))
        if row is None:
            self.overran = not self._unsent
            raise self._end()
        if row.size == NOT_RECORDED:
            self._counts[kind] += 1
            self._unsent -= 1
            self.sent += 1
            return Message(self.id, kind, number, {name: as_sent(value) for name, value in values.items()})
        if not self.blind_to_receivers and not self._goes(to, row.receiver):
            self._depart(f"sends {kind} message {number} to {_whom(to)}, not to {_whom(row.receiver)}")
            raise self._end()
        if values.keys() != row.values.keys():
            what = f"sends {_fields(values)} in {kind} message {number}, not {_fields(row.values)}"
            self._depart(what, tuple(values))
            raise self._end()
        self._counts[kind] += 1
        self._unsent -= 1
        self._seen(row)
        self._sent(row, values)
        self.sent += 1
        if self._cut and not self._unsent:
            raise self._end()
        return _message(row)

    def _goes(self, to: int, receiver: int) -> bool:
        """Whether the message goes to whom it went, or may: a receiver that coins choose is seen here."""
        if isinstance(to, Unseen) and not to.opened:
            return to.settle(receiver)
        return to == receiver

    def _depart(self, what: str, names: tuple[str, ...] | None = None) -> None:
        self.departure = Departure(self.sent, what, names)

    @abstractmethod
    def _seen(self, row: Record) -> None:
        """A message of the record, before the code goes on with it."""

    @abstractmethod
    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array: ...

    @abstractmethod
    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array: ...

    @abstractmethod
    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array: ...

    @abstractmethod
    def privatize(
        self, value: Array, mechanism: Mechanism, shared: Gaussian | None = None, draw: int | None = None
    ) -> Array: ...

    @abstractmethod
    def split(self, value: Array, mechanism: Gaussian) -> dict[int, Array]: ...

    @abstractmethod
    def _sent(self, row: Record, values: Values) -> None:
        """Values leave the agent in the message that was recorded as `row`."""


_WHOLE = set[type]()
"""Classes of mechanisms that have every method."""


def check_whole(
    agent: int, mechanism: Mechanism, refusal: type[PrivacyError] | type[AttackError] = PrivacyError
) -> None:
    """You get a `refusal` for a mechanism without a method that a reader needs: a run asks for `release` alone."""
    if type(mechanism) in _WHOLE:
        return
    try:
        expect(mechanism, "mechanism", Mechanism)
    except ScenarioError as error:
        raise refusal(f"agent {agent} privatizes with what {error.problem}; allowed: {error.allowed}") from None
    _WHOLE.add(type(mechanism))


def _message(row: Record) -> Message:
    return Message(row.sender, row.kind, row.number, row.values, row.size)


def _whom(receiver: int) -> str:
    chosen = isinstance(receiver, Unseen)  # to compare it would be to look at it
    return "its neighbors" if not chosen and receiver == EVERYBODY else f"agent {receiver}"


def _fields(values: Values) -> str:
    return ", ".join(map(repr, values)) or "no value"
