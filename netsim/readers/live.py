"""Live reader of the port: real gradients, fresh noise, messages through the simulated network.

An agent acts at ticks of its own clock, where it has one, and while it is not down (`Activity`).
"""

import asyncio
import math
import random
import reprlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import CoroutineType
from typing import Any, Literal, NoReturn, Protocol

import numpy as np

from netsim.adversary import Query, Tap
from netsim.arrays import Array
from netsim.bounds import Checked, Positive
from netsim.codecs import Codec, Dither, Encoder
from netsim.errors import ProtocolError, StalledError, what
from netsim.mechanisms import Gaussian, Mechanism, released
from netsim.models.model import Zero
from netsim.network.inbox import Inbox
from netsim.network.laws import Outages, Switch
from netsim.network.wires import Channel
from netsim.node import Exchange, own_share, share_factor
from netsim.problems import Problem
from netsim.randomness import EdgeNoise
from netsim.topology import Topology
from netsim.transcript.message import EVERYBODY, Kind, Message, Values, as_sent


@dataclass(frozen=True)
class PoissonClock(Checked):
    """Each agent begins its rounds (or activations) at ticks of its own Poisson clock, `rate` ticks per second.

    A round that is still under way at a tick misses that tick. Clocks have no memory, so the wait from the end of a
    round to the next tick is exponential of mean 1/rate. A token that arrives is worked on from the next tick on.
    """

    rate: Positive
    """Ticks per second."""

    def wait(self, rng: random.Random) -> float:
        """Seconds to the next tick."""
        return rng.expovariate(self.rate)


@dataclass(frozen=True)
class Downtime:
    """When an agent is down, and what that does to it. While it is down all its links are: what is under way is lost.

    `effect`: "offline", it goes on by itself; "restart_with_state", it stands still and goes on where it was (work
    under way when it went down is done when it comes back); "restart_without_state", its code is stopped and begins
    anew when it comes back, with none of its variables. What its transport keeps survives: the numbers of its
    messages, what it had not read, what was not acknowledged. Once an agent has ended, and all that are left began
    anew or are down for good, the run is over.
    """

    outages: Outages
    """When these agents are down."""
    effect: Literal["offline", "restart_with_state", "restart_without_state"] = "restart_with_state"
    """What becomes of an agent's state."""


class Activity:
    """One agent's turns: `tick` draws the seconds to its clock's next tick, `down` says when it stands still."""

    def __init__(self, tick: Callable[[], float] | None, down: Switch | None) -> None:
        self._tick, self._down = tick, down
        self._between = True

    async def turn(self) -> None:
        """Wait until the agent may act: between rounds, for its clock's next tick."""
        if self._between and self._tick is not None:
            await asyncio.sleep(self._tick())
        self._between = False
        await self.up()

    async def up(self) -> None:
        """Wait while the agent is down."""
        if self._down is None:
            return
        loop = asyncio.get_running_loop()
        while self._down.is_down(loop.time()):
            back = asyncio.Event()
            loop.call_at(self._down.next_change(loop.time()), back.set)
            await back.wait()

    async def lives(self, live: Callable[[], Coroutine[Any, Any, None]], begin_anew: Callable[[], None]) -> None:
        """Run `live()` to its end; whenever the agent goes down it is stopped, and begun anew when it is back."""
        assert self._down is not None
        loop, stopped = asyncio.get_running_loop(), False
        while True:
            await self.up()
            life = loop.create_task(live())

            def stop(life: "asyncio.Task[None]" = life) -> None:
                nonlocal stopped
                stopped = life.cancel()

            down = loop.call_at(self._down.next_change(loop.time()), stop)
            try:
                await asyncio.wait({life})
            finally:
                down.cancel()
                life.cancel()
            if not stopped:
                life.result()
                return
            stopped = False
            self.closed()
            begin_anew()

    def closed(self) -> None:
        """The agent has closed a round or an activation, or begins anew."""
        self._between = True

    def is_gone(self, now: float) -> bool:
        """Whether the agent is down for good."""
        return self._down is not None and self._down.is_down(now) and self._down.next_change(now) == math.inf


class Surroundings(Protocol):
    """What carries an agent's messages: the simulated network, or sockets (`netsim.readers.deployed`)."""

    @property
    def inboxes(self) -> Sequence[Inbox] | Mapping[int, Inbox]:
        """Where messages come in, by agent."""
        ...

    @property
    def channels(self) -> Mapping[tuple[int, int], Channel]:
        """What carries direct messages, by sender and receiver."""
        ...

    def broadcaster(self, agent: int) -> Callable[[Message], None]:
        """Sends a message to all neighbors of an agent."""
        ...


FLOAT64, ndarray = np.dtype(np.float64), np.ndarray


def gaussian_stddev(law: Mechanism, agent: int) -> float:
    """σ of noise that is to be released with noise from shared seeds: one number, Gaussian."""
    if not isinstance(law, Gaussian) or not isinstance(law.stddev, float | int):
        raise ProtocolError(
            f"agent {agent} adds noise from shared seeds to {law}: it goes with Gaussian(number) only"
        )
    return float(law.stddev)


def _written(value: object) -> str:
    """A value that is not allowed, and what it is."""
    return f"{reprlib.repr(value)}{'' if value is None else f', which {what(value)}'}"


class _OwnStreams(Protocol):
    """Makes an agent's private streams, from their start."""

    def noise(self) -> np.random.Generator: ...

    def coins(self) -> np.random.Generator: ...


class LiveNode:
    """A `Node` on the simulated network.

    It counts its private `queries`, and its `messages`, one for each receiver, with their `message_bytes`: what it
    sent, before a link repeats, tags or loses anything.
    """

    __slots__ = (
        "_activity", "_broadcast", "_channels", "_closed", "_coins", "_compute", "_directs", "_edges", "_encoder",
        "_exchanges", "_header_bytes", "_inbox", "_kept_queries", "_kept_releases", "_may_close_early",
        "_most_queries", "_noise", "_objective", "_shape", "_shared", "_streams", "_taps", "_value_bytes", "_ways",
        "agents", "dimension", "id", "message_bytes", "messages", "neighbors", "queries", "records", "regularizer",
        "replicas", "weights",
    )  # fmt: skip

    def __init__(
        self,
        agent: int,
        topology: Topology,
        problem: Problem,
        *,
        streams: _OwnStreams,
        edges: EdgeNoise,
        queries: list[Query] | None,
        most_queries: float,
        releases: list[Array] | None,
        network: Surroundings,
        taps: Sequence[Tap],
        may_close_early: bool,
        codec: Codec,
        dither: Dither | None,
        header_bytes: int,
        compute: Callable[[], float] | None,
        activity: Activity | None,
        closed: Callable[[int, Array], None],
    ) -> None:
        """One agent of a run; of the problem it keeps its own objective alone.

        `streams` makes its own, `edges` the noise from seeds that it shares. What it computes and
        releases is kept in `queries` and `releases` (None: it is not). `taps` sit at its door; where exchanges
        `may_close_early`, without some messages, they note when. `dither` has the draws of a codec that is random.
        `compute` draws how many seconds a private query takes. `activity` says when it may act (None: whenever it
        wants). `closed` is called at `estimate`, with its x.
        """
        self.id, self.agents, self.neighbors = agent, topology.agents, topology.neighbors(agent)
        self.weights, self.regularizer = topology.row(agent), problem.regularizer
        self.records, self._objective = problem.records[agent], problem.objectives[agent]
        self._shape = edges.shape  # one tuple for all
        self.replicas, self.dimension = self._shape
        self._streams = streams
        self._noise: np.random.Generator | None = None
        self._coins: np.random.Generator | None = None
        self._edges, self._shared = edges, 0
        self._kept_queries, self._most_queries, self._kept_releases = queries, most_queries, releases
        self._inbox, self._channels = network.inboxes[agent], network.channels
        self._ways: dict[int, Callable[[Message], None]] | None = None
        """How messages go to single neighbors, once one did."""
        self._broadcast = network.broadcaster(agent)
        self._taps, self._may_close_early = taps, may_close_early
        self._encoder = None if codec.lossless else Encoder(codec, self.dimension, dither)
        self._header_bytes, self._value_bytes = header_bytes, codec.size(self.dimension)
        self._compute, self._activity, self._closed = compute, activity, closed
        self._exchanges = self._directs = 0
        self.queries = self.messages = self.message_bytes = 0

    @property
    def coins(self) -> np.random.Generator:
        """My private coins; made when they are first tossed."""
        if self._coins is None:
            self._coins = self._streams.coins()
        return self._coins

    @property
    def tossed(self) -> bool:
        """Whether it tossed any."""
        return self._coins is not None

    # ── private data ────────────────────────────────────────────────────────────────────────────────
    def zeros(self) -> Array:
        return np.zeros(self._shape)

    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:
        await self._work()
        if type(x) is ndarray and x.shape != self._shape:  # which NumPy might stretch
            raise ValueError(f"x has the shape {x.shape}, and not {self._shape}")
        objective = self._objective if batch is None else self._objective.batch(batch)
        gradient = objective.gradient(x)
        self._answered(x, gradient)
        return gradient

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:
        """Recorded in the truth as the gradient that it determines, at its own output."""
        await self._work()
        if regularized and not isinstance(self.regularizer, Zero):
            x = self._objective.proximal(v, step, self.regularizer)
            self._answered(x, self._objective.gradient(x))
            return x
        x = self._objective.proximal(v, step)
        self._answered(x, (v - x) / step)
        return x

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:
        if mechanism.noiseless:
            return await self.proximal(v, step)
        await self._work()
        moved = v - step * released(mechanism, self.zeros(), self._drawn())
        x = self._objective.proximal(moved, step)
        self._answered(x, (moved - x) / step)
        return self._released(x)

    def privatize(
        self, value: Array, mechanism: Mechanism, shared: Gaussian | None = None, draw: int | None = None
    ) -> Array:
        if isinstance(mechanism, type):  # whose `noiseless` is a property, and so true
            raise ProtocolError(
                f"agent {self.id} privatizes with the class {mechanism.__name__}: with {mechanism.__name__}(scale)"
            )
        noisy = value if mechanism.noiseless else released(mechanism, value, self._drawn())
        if shared is not None and not shared.noiseless:
            which = self._shared if draw is None else draw
            noisy = noisy + shared.stddev * self._edges.around(self.id, which)
            own, each = (gaussian_stddev(law, self.id) for law in (mechanism, shared))
            self._edges.note(self.id, own, each, which, noisy - value)
            self._shared += 1
        return value if noisy is value else self._released(noisy)

    def split(self, value: Array, mechanism: Gaussian) -> dict[int, Array]:
        if mechanism.noiseless:
            return dict.fromkeys((self.id, *self.neighbors), value)
        made = np.array([released(mechanism, self.zeros(), self._drawn()) for _ in self.neighbors])
        noise = np.einsum("vj,jrd->vrd", share_factor(self.weights), made)
        shares = [self._released(value + one) for one in noise]
        return {self.id: own_share(value, shares, self.weights), **dict(zip(self.neighbors, shares, strict=True))}

    def _drawn(self) -> np.random.Generator:
        if self._noise is None:
            self._noise = self._streams.noise()
        return self._noise

    def _released(self, value: Array) -> Array:
        value.setflags(write=False)
        if self._kept_releases is not None:
            self._kept_releases.append(value)
        return value

    def _answered(self, x: Array, gradient: Array) -> None:
        if self._kept_queries is not None:
            self._kept_queries.append(Query(self._now(), x.copy(), gradient.copy()))

    async def _work(self) -> None:
        self.queries += 1
        if self.queries > self._most_queries:
            raise StalledError.of_queries(self.id, self._most_queries)
        if self._activity is not None:
            await self._activity.turn()
        if self._compute is not None:
            await asyncio.sleep(self._compute())
            if self._activity is not None:
                await self._activity.up()

    # ── messages ────────────────────────────────────────────────────────────────────────────────────
    async def exchange(self, **values: Array) -> Exchange:
        if self._activity is not None:
            await self._activity.turn()
        number = self._exchanges
        self._exchanges = number + 1
        message = self._outgoing("exchange", number, values, len(self.neighbors))
        self._broadcast(message)
        inbox = self._inbox
        if not inbox.has(number):
            await inbox.woken(number)
        if self._activity is not None:
            await self._activity.up()
        if self._may_close_early:
            for tap in self._taps:
                tap.closed(self._now(), message)
        return Exchange(self, message, inbox.collect(message))

    def send(self, to: int, **values: Array) -> None:
        if type(to) is not int:
            to = self._number(to)
        if self._ways is None:
            self._ways = {j: self._channels[self.id, j].send for j in self.neighbors}
        way = self._ways.get(to)
        if way is None:
            which = "itself" if to == self.id else f"agent {to}"
            raise ProtocolError(
                f"agent {self.id} sends to {which}, which is not its neighbor; neighbors: "
                f"{', '.join(map(str, self.neighbors)) or 'none'}"
            )
        number, self._directs = self._directs, self._directs + 1
        way(self._outgoing("direct", number, values, 1, to))

    def broadcast(self, **values: Array) -> None:
        number, self._directs = self._directs, self._directs + 1
        self._broadcast(self._outgoing("direct", number, values, len(self.neighbors)))

    def receive(self) -> "CoroutineType[Any, Any, Message]":  # no coroutine around the inbox's own
        return self._inbox.take() if self._activity is None else self._received(self._activity)

    async def _received(self, activity: Activity) -> Message:
        await activity.up()
        message = await self._inbox.take()
        await activity.turn()
        return message

    def estimate(self, x: Array) -> None:
        if self._activity is not None:
            self._activity.closed()
        if type(x) is not ndarray or x.dtype is not FLOAT64 or x.shape != self._shape:
            self._refuse(x, "estimates", "x")
        self._closed(self.id, x)

    def forget(self) -> None:
        """The agent was stopped and begins anew; numbers of messages go on."""
        self._inbox.forget()

    def _outgoing(self, kind: Kind, number: int, values: Values, receivers: int, to: int = EVERYBODY) -> Message:
        """A message as it goes on the wire: copies that nobody can write to, which take the place of `values`,
        recorded at the door, and counted."""
        shape = self._shape
        for name, value in values.items():
            if type(value) is not ndarray or value.dtype is not FLOAT64 or value.shape != shape:  # no call: it counts
                self._refuse(value, "sends", name)
            values[name] = copy = as_sent(value)
            copy.setflags(False)  # pyright: ignore[reportCallIssue]  # by position: the name takes as long again
        size = self._header_bytes + self._value_bytes * len(values)
        message = Message(self.id, kind, number, values if self._encoder is None else self._encoder(values), size)
        for tap in self._taps:
            tap.sent(self._now(), message, to)
        self.messages += receivers
        self.message_bytes += receivers * size
        return message

    def _number(self, to: object) -> int:
        """An agent's number as one of Python's: coins give NumPy's."""
        if not isinstance(to, bool) and isinstance(to, Integral):
            return int(to)
        raise ProtocolError(
            f"agent {self.id} sends to {_written(to)}; allowed: the number of one neighbor, an integer of "
            f"{self.neighbors}"
        )

    def _refuse(self, value: object, does: str, name: str) -> NoReturn:
        shape = getattr(value, "shape", None)
        found = f"= {_written(value)}"
        if shape is not None and not isinstance(value, type):
            found = f"of type {getattr(value, 'dtype', '')} and shape {shape}"
        allowed = f"every value has type float64 and shape (replicas, dimension) = {self._shape}"
        if isinstance(value, Real) or shape == ():
            allowed += "; a number goes as one such: node.zeros() + number"
        raise ProtocolError(f"agent {self.id} {does} {name!r} {found}; {allowed}")

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
