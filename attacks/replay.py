"""The replay reader: rerun one agent's public code on what was observed, under a hypothesis about its data.

`gradient` asks the hypothesis; `privatize` returns the value that was observed and notes the noise that would
explain it; incoming messages are those observed; outgoing values that no noise covers are compared with those
observed. Two replays of the same record, one per hypothesis, give the exact privacy loss of every release and
the messages that no noise covers.

The record is a node tap's: what the agent sent and what was delivered to it, in order. Which field of which
message carries which release is read off the code itself: a first pass, on empty values, follows each array
that `privatize` returned to the place where it is sent. A release that never goes on the wire verbatim can be
replayed only if the caller grants its value; the loss is then that of an adversary who knows it, an upper
bound for one who sees the wire.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn, Protocol

import numpy as np

from netsim.adversary import AdversaryView, PublicKnowledge
from netsim.arrays import Array
from netsim.errors import ProtocolError, TranscriptError
from netsim.mechanisms import Mechanism
from netsim.messages import Message, Values
from netsim.node import Heard
from netsim.regularizers import Regularizer
from netsim.transcript import Record

ROUNDING = 1e-10
"""A noise below this fraction of the observed values drowns in their rounding: the replay stops there."""


class Hypothesis(Protocol):
    """What an agent's private objective might be. The caller brings it; an attack has no other."""

    def gradient(self, x: Array) -> Array:
        """∇f(x), (replicas, dimension)."""
        ...

    def proximal(self, v: Array, step: float) -> Array:
        """argmin f + ‖· − v‖²/(2·step), (replicas, dimension)."""
        ...


@dataclass(frozen=True)
class Release:
    """One `privatize` as this hypothesis explains it: `observed` = `value` + noise, both (replicas, dimension).

    `activation` counts the agent's rounds or activations from 1; `on_wire` is whether the release was sent
    verbatim.
    """

    activation: int
    mechanism: Mechanism
    observed: Array
    value: Array
    on_wire: bool

    def log_density(self) -> Array:
        """log p(observed | hypothesis), (replicas,)."""
        return self.mechanism.log_density(self.observed, self.value)


class Comparison(NamedTuple):
    """A value on the wire that is no release, as observed and as the hypothesis would have sent it."""

    activation: int
    name: str
    receiver: int
    observed: Array
    predicted: Array

    @property
    def difference(self) -> Array:
        """Largest coordinate of |observed − predicted| per replica, relative to the observed values."""
        scale = 1 + np.max(np.abs(self.observed), axis=-1)
        return np.nan_to_num(np.max(np.abs(self.observed - self.predicted), axis=-1) / scale, nan=np.inf)

    @property
    def identical(self) -> bool:
        """Equal to the last bit."""
        return bool(np.array_equal(self.observed, self.predicted))


@dataclass
class Replayed:
    """What one hypothesis says of everything the agent sent.

    `unreliable_from` is the activation from which the noise is below the rounding of the values; nothing
    after it is judged.
    """

    releases: list[Release] = field(default_factory=list[Release])
    comparisons: list[Comparison] = field(default_factory=list[Comparison])
    activations: int = 0
    unreliable_from: int | None = None

    @property
    def identical(self) -> bool:
        """Whether every value that no noise covers was reproduced to the last bit."""
        return all(c.identical for c in self.comparisons)


Slot = tuple[str, int, str]
"""Where a release went on the wire: kind, number of the message, name of the field."""


def replay(
    view: AdversaryView,
    agent: int,
    hypothesis: Hypothesis,
    coins: np.random.Generator,
    releases: Sequence[Array] | None = None,
) -> Replayed:
    """Rerun `agent` on what a tap at its door recorded.

    `coins` are the agent's private coins from their start (the adversary of an audit knows them); `releases`
    are the outputs of its `privatize` calls, needed only where one is not sent verbatim. You get a
    `TranscriptError` if no tap sat at the agent or a release is neither on the wire nor granted.
    """
    rows = view.at_node(agent)
    slots = _find_releases(view.public, agent, rows, view.replicas, _clone(coins))
    node = _Reader(view.public, agent, rows, view.replicas, coins, hypothesis, slots, releases)
    node.read()
    return node.found


def _find_releases(
    public: PublicKnowledge, agent: int, rows: tuple[Record, ...], replicas: int, coins: np.random.Generator
) -> dict[int, Slot]:
    node = _Tracer(public, agent, rows, replicas, coins)
    with np.errstate(all="ignore"):
        node.read()
    return node.slots


def _clone(coins: np.random.Generator) -> np.random.Generator:
    twin = np.random.Generator(type(coins.bit_generator)())
    twin.bit_generator.state = coins.bit_generator.state
    return twin


class _EndOfRecord(Exception):  # noqa: N818
    """The record holds nothing further for the agent to receive."""


class _Recorded(ABC):
    """A `Node` fed from a record: what both passes share. Subclasses say what is private and what is sent."""

    def __init__(
        self,
        public: PublicKnowledge,
        agent: int,
        rows: tuple[Record, ...],
        replicas: int,
        coins: np.random.Generator,
    ) -> None:
        self.id, self.agents = agent, public.agents
        self.neighbors = public.neighbors[agent]
        self.weights: Array = np.array([public.weights[agent, j] for j in (agent, *self.neighbors)])
        self.replicas, self.dimension = replicas, public.dimension
        self.regularizer: Regularizer = public.regularizer
        self.coins = coins
        self.activation = 1
        self._algorithm = public.algorithm
        self._exchanged: dict[int, dict[int, Record]] = {}
        self._direct: deque[Record] = deque()
        self._outgoing: dict[tuple[str, int], Record] = {}
        for row in rows:
            if row.event == "sent":
                self._outgoing[row.kind, row.number] = row
            elif row.kind == "exchange":
                self._exchanged.setdefault(row.number, {})[row.sender] = row
            else:
                self._direct.append(row)
        self._counts = {"exchange": 0, "direct": 0}

    def read(self) -> None:
        """Run the agent's code to the end of the record."""
        coroutine = self._algorithm.run(self)
        try:
            coroutine.send(None)
        except (StopIteration, _EndOfRecord):
            return
        finally:
            coroutine.close()
        raise ProtocolError(
            f"agent {self.id} awaited something that is not the port's: an algorithm reaches the world through "
            "its node only, or it cannot be replayed"
        )

    def zeros(self) -> Array:
        return np.zeros((self.replicas, self.dimension))

    async def exchange(self, **values: Array) -> Heard:
        number = self._counts["exchange"]
        told = self._tell("exchange", values)
        heard = self._exchanged.get(number, {})
        if len(heard) < len(self.neighbors):
            raise _EndOfRecord
        return Heard(self, told, {j: _message(row) for j, row in heard.items()})

    def send(self, to: int, **values: Array) -> None:
        self._tell("direct", values, to)

    def broadcast(self, **values: Array) -> None:
        self._tell("direct", values)

    async def receive(self) -> Message:
        if not self._direct:
            raise _EndOfRecord
        return _message(self._direct.popleft())

    def estimate(self, x: Array) -> None:  # noqa: ARG002
        self.activation += 1

    def _tell(self, kind: str, values: Values, to: int | None = None) -> Message:
        number = self._counts[kind]
        self._counts[kind] += 1
        row = self._outgoing.get((kind, number))
        if row is None:
            raise _EndOfRecord
        if to is not None and to != row.receiver:
            raise ProtocolError(
                f"agent {self.id} sent message {number} to agent {row.receiver}, its replay to agent {to}: "
                "these are not the coins it drew"
            )
        self._sent(row, values)
        return _message(row)

    @abstractmethod
    async def gradient(self, x: Array) -> Array: ...

    @abstractmethod
    async def proximal(self, v: Array, step: float) -> Array: ...

    @abstractmethod
    def privatize(self, value: Array, mechanism: Mechanism) -> Array: ...

    @abstractmethod
    def _sent(self, row: Record, values: Values) -> None:
        """Values leave the agent in the message that was recorded as `row`."""


def _message(row: Record) -> Message:
    return Message(row.sender, row.kind, row.number, row.values)


class _Tracer(_Recorded):
    """The first pass: public code on empty values, to see where each release goes on the wire."""

    def __init__(
        self,
        public: PublicKnowledge,
        agent: int,
        rows: tuple[Record, ...],
        replicas: int,
        coins: np.random.Generator,
    ) -> None:
        super().__init__(public, agent, rows, replicas, coins)
        self.slots: dict[int, Slot] = {}
        self._made: list[Array] = []  # kept alive: an id is an array's own as long as it lives
        self._index: dict[int, int] = {}

    async def gradient(self, x: Array) -> Array:
        return np.full_like(x, np.nan)

    async def proximal(self, v: Array, step: float) -> Array:  # noqa: ARG002
        return np.full_like(v, np.nan)

    def privatize(self, value: Array, mechanism: Mechanism) -> Array:
        if mechanism.noiseless:
            return value
        empty = np.full_like(value, np.nan)
        self._index[id(empty)] = len(self._made)
        self._made.append(empty)
        return empty

    def _sent(self, row: Record, values: Values) -> None:
        for name, value in values.items():
            if (index := self._index.get(id(value))) is not None:
                self.slots.setdefault(index, (row.kind, row.number, name))


class _Reader(_Recorded):
    """The second pass: the hypothesis's gradients, the observed releases, the comparisons."""

    def __init__(
        self,
        public: PublicKnowledge,
        agent: int,
        rows: tuple[Record, ...],
        replicas: int,
        coins: np.random.Generator,
        hypothesis: Hypothesis,
        slots: dict[int, Slot],
        granted: Sequence[Array] | None,
    ) -> None:
        super().__init__(public, agent, rows, replicas, coins)
        self.found = Replayed()
        self._hypothesis, self._slots, self._granted = hypothesis, slots, granted
        self._carriers = set(slots.values())

    async def gradient(self, x: Array) -> Array:
        return self._hypothesis.gradient(x)

    async def proximal(self, v: Array, step: float) -> Array:
        return self._hypothesis.proximal(v, step)

    def privatize(self, value: Array, mechanism: Mechanism) -> Array:
        if mechanism.noiseless:
            return value
        index = len(self.found.releases)
        observed = self._observed(index)
        if np.sqrt(np.max(mechanism.variance())) < ROUNDING * np.max(np.abs(observed)):
            self.found.unreliable_from = self.activation
            raise _EndOfRecord
        release = Release(self.activation, mechanism, observed, value, index in self._slots)
        self.found.releases.append(release)
        return observed

    def _observed(self, index: int) -> Array:
        slot = self._slots.get(index)
        if slot is not None:
            kind, number, name = slot
            return self._outgoing[kind, number].values[name]
        if self._granted is None:
            self._missing(index)
        if index >= len(self._granted):
            raise _EndOfRecord
        return self._granted[index]

    def _missing(self, index: int) -> NoReturn:
        raise TranscriptError(
            f"agent {self.id}'s release {index} (activation {self.activation}) is not on the wire as it was "
            "released: grant the replay its value (the loss is then an upper bound)"
        )

    def _sent(self, row: Record, values: Values) -> None:
        for name, value in values.items():
            if (row.kind, row.number, name) not in self._carriers:
                self.found.comparisons.append(
                    Comparison(self.activation, name, row.receiver, row.values[name], value)
                )
        self.found.activations = self.activation
