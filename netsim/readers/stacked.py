"""Stacked reader of the port: one run of the coroutine stands for all agents.

Every vector holds all agents' rows, agent after agent: (agents · replicas, dimension). What an algorithm computes
of one agent's rows it so computes of all, and an exchange is a sum over the graph in the order in which the live
reader adds. Noise is of each agent's own stream, gradients are of each agent's own objective, times are maxima over
links. So values, their order and times are those of the live reader to the last bit
(`netsim.readers.stacked_network` has the order), at a fraction of the time.

It reads what is the same for all agents. Whatever differs between them (a number, a neighbor, a coin, a direct
message), and networks in which a message may be missing, raise `NotStackableError`: the run is begun anew by the live
reader, and says why.

With `backend="torch"` gradients are PyTorch's (`netsim.readers.torch_gradients`), and equal to a tolerance; the rest
is as it is.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from netsim.adversary import Adversary, InsiderState, Query, Tap
from netsim.algorithms import Algorithm
from netsim.arrays import Array, PerAgent, diverging
from netsim.codecs import Codec, Dither, Encoder
from netsim.errors import NetsimError, StalledError, not_an_exit
from netsim.mechanisms import Gaussian, Laplace, Mechanism, Releasing, released
from netsim.metrics import Metrics
from netsim.models.model import Regularizer, Zero
from netsim.network.links import AccessLaw, LinkLaw
from netsim.node import Backend, Device
from netsim.problems.problem import Gradients, Problem, stacked_gradients
from netsim.randomness import EdgeNoise, Streams
from netsim.readers.live import FLOAT64, gaussian_stddev
from netsim.readers.stacked_network import (
    Heard,
    Moments,
    Rows,
    Sent,
    StackedLinks,
    StackedSums,
    Travel,
    Whole,
    laws_of,
)
from netsim.readers.torch_gradients import TorchGradients
from netsim.readers.torch_gradients import obstacle as torch_obstacle
from netsim.settings import NetworkSettings, Recording, Timing
from netsim.topology import Topology
from netsim.transcript import Transcript
from netsim.transcript.message import Values, as_sent
from netsim.truth import Truth


class _Setup(Protocol):
    """What the reader takes of a `netsim.simulation.Simulation`, which runs it."""

    @property
    def problem(self) -> Problem: ...
    @property
    def topology(self) -> Topology: ...
    @property
    def algorithm(self) -> Algorithm: ...
    @property
    def network(self) -> NetworkSettings: ...
    @property
    def adversaries(self) -> Sequence[Adversary]: ...
    @property
    def timing(self) -> Timing: ...
    @property
    def recording(self) -> Recording: ...
    @property
    def replicas(self) -> int: ...
    @property
    def most_queries(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def chunk(self) -> int: ...
    @property
    def backend(self) -> Backend: ...
    @property
    def wire_codec(self) -> Codec: ...
    def noise_stream(self, agent: int) -> np.random.Generator: ...
    def dither_stream(self, agent: int) -> np.random.Generator: ...
    def metrics(self) -> Metrics: ...


class NotStackableError(NetsimError):
    """What makes agents unlike, or the network more than this reader models: the live reader runs it."""


def obstacle(simulation: _Setup) -> str | None:
    """Why a simulation is not for this reader, as far as that is known before it runs."""
    algorithm, network, timing = simulation.algorithm, simulation.network, simulation.timing
    lines, name = [network.access, *network.access_laws.values()], type(algorithm).__name__
    reasons = (
        (algorithm.stopping().walks, "a walk is one agent after the other"),
        (not vars(type(algorithm)).get("stackable"), f"{name} does not say that it is `stackable`"),
        (network.medium != "links", "agents have radios"),
        (bool(network.active_adversaries), "an active adversary is in the network"),
        (not network.exchange_policy.endless, "exchanges have a deadline"),
        (any(line != AccessLaw() for line in lines), "agents have access lines"),
        (timing.activation is not None, "agents have clocks"),
        (bool(timing.downtimes), "agents go down"),
        (simulation.recording.spool is not None, "transcripts are written while it runs"),
    )
    found = next((why for holds, why in reasons if holds), None)
    if found is None and simulation.backend == "torch":
        found = torch_obstacle(simulation.problem.distinct)
    return found or _lacks((network.links, *network.link_laws.values()))


def _lacks(laws: Sequence[LinkLaw]) -> str | None:
    """Why a message on one of these links may be missing, or more than one."""
    reasons = (
        ([law.losses is not None for law in laws if law.loss != 0], "links lose packets"),
        ([law.outages is not None for law in laws], "links go down"),
        ([law.reliable for law in laws], "links acknowledge packets"),
        ([law.duplication > 0 for law in laws], "links repeat packets"),
        ([law.buffer is not None for law in laws], "links have buffers"),
    )
    return next((why for which, why in reasons if any(which)), None)


class _Nobody:
    """The number of no agent: it may be handed on, and used for nothing."""

    def _refuse(self, *_: object) -> NoReturn:
        raise NotStackableError("the algorithm uses an agent's number")

    __index__ = __int__ = __float__ = __hash__ = __repr__ = __str__ = __bool__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __floordiv__ = _refuse


class _Neighbors:
    """As many neighbors as every agent has; who they are is not the same for all."""

    def __init__(self, degrees: Whole) -> None:
        self._degrees = degrees

    def __len__(self) -> int:
        if (self._degrees != self._degrees[0]).any():
            raise NotStackableError("the algorithm counts its neighbors, and agents have unlike numbers of them")
        return int(self._degrees[0])

    def __iter__(self) -> Iterator[int]:
        raise NotStackableError("the algorithm asks who its neighbors are")

    def __getitem__(self, _: object) -> NoReturn:
        raise NotStackableError("the algorithm asks who its neighbors are")


class _StackedExchange:
    """Of one exchange: all agents' messages."""

    def __init__(
        self, graph: StackedSums, degrees: _Neighbors, sent: Mapping[str, Array], shape: tuple[int, int]
    ) -> None:
        self._graph, self._degrees, self._sent, self._shape = graph, degrees, sent, shape

    def _agents(self, name: str) -> Array:
        return self.sent(name).reshape(len(self._graph.own), -1)

    def sent(self, name: str) -> Array:
        """What was sent under this name; read-only."""
        return self._sent[name]

    def values(self, name: str) -> list[Array]:
        """What the neighbors sent, in their order."""
        len(self._degrees)  # refused where agents have unlike numbers of neighbors
        return [one.reshape(self._shape) for one in self._graph.gathered(self._agents(name))]

    def __getitem__(self, name: str) -> NoReturn:
        raise NotStackableError("the algorithm asks who its neighbors are")

    def mix(self, name: str) -> Array:
        """Σ_j w_ij v_j, me first."""
        return self._graph.mix(self._agents(name)).reshape(self._shape)

    def sum(self, name: str) -> Array:
        """Σ_j v_j over neighbors."""
        return self._graph.sum(self._agents(name)).reshape(self._shape)

    def apart(self, name: str) -> Array:
        """Σ_j (v − v_j) over neighbors."""
        return self._graph.apart(self._agents(name)).reshape(self._shape)


class _Asked(NamedTuple):
    """One private query of all agents whose queries are kept: when, where and the gradient, (agents, replicas,
    dimension)."""

    times: Array
    points: Array
    gradients: Array


class _Closed(NamedTuple):
    """One estimate of all agents: when, at which step, what each had done before, its errors (agents, replicas), and
    how many messages to one neighbor, with how many bytes, and queries each agent had made by then."""

    times: Array
    step: int
    done: int
    errors: Array
    messages: int
    message_bytes: int
    queries: int


class _Ear(NamedTuple):
    """What an adversary records: on tapped links, in order, their places among all; of the links `attended`, doors'
    included, when messages pass and arrive; and of the agents `clear` any message in the clear. All ascend."""

    tapped: list[tuple[int, int]]
    places: Whole
    attended: Whole
    clear: Whole


def _union(parts: Iterable[Whole]) -> Whole:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *parts]))


@dataclasses.dataclass(frozen=True)
class _StackedRun:
    """What happened, in the parts of which a `netsim.simulation.Run` is made."""

    transcripts: tuple[Transcript, ...]
    inside: tuple[dict[int, InsiderState], ...]
    metrics: Metrics | None
    truth: Truth | None
    rounds: int
    ended: float
    packets: int
    bytes: int
    queries: int
    interrupted: bool
    device: Device | None
    """Where torch computed gradients; None where NumPy did."""


class _StackedNode:
    """A `Node` that stands for all agents of a simulation."""

    def __init__(self, simulation: _Setup) -> None:
        topology, problem, recording = simulation.topology, simulation.problem, simulation.recording
        self._simulation, self._streams = simulation, Streams(simulation.seed)
        self._n, self._r, self.dimension = topology.agents, simulation.replicas, problem.dimension
        self._shape, self._stack = (self._n * self._r, self.dimension), (self._n, self._r, self.dimension)
        self.agents, self.id = topology.agents, _Nobody()
        self.regularizer: Regularizer = problem.regularizer
        laws = laws_of(topology, simulation.network)
        self._links = StackedLinks(topology, laws)
        self._travel = Travel(self._links, laws, self._streams)
        self._graph = StackedSums(topology, self._links)
        self.neighbors = _Neighbors(self._links.degrees)
        self._torch = TorchGradients(problem.objectives) if simulation.backend == "torch" else None
        self._gradients: Gradients = self._torch or stacked_gradients(problem.objectives)
        self._codec, self._noise = simulation.wire_codec, dict[int, np.random.Generator]()
        self._encoders = None if self._codec.lossless else [self._encoder(i) for i in self._coding]
        everybody = np.arange(self._n)
        insiders = sorted({i for adversary in simulation.adversaries for i in adversary.insiders})
        self._kept_queries = np.array(everybody if recording.private == "everything" else insiders, dtype=np.int64)
        """The agents whose private queries are kept."""
        self._kept_releases = np.array(insiders if recording.private == "nothing" else everybody, dtype=np.int64)
        timing = simulation.timing
        computes = timing.compute is not None or timing.compute_laws
        self._compute = [self._work_of(i) for i in range(self._n)] if computes else None
        self.moments = Moments(self._n, ordered=bool(simulation.adversaries) or recording.measure)
        self._sent, self._asked, self._released = list[Sent](), list[_Asked](), list[Array]()
        self._closed = list[_Closed]()
        self._shared = self._queries = self._exchanges = self._bytes = self._done = 0
        self.metrics = None
        if recording.measure:
            self.metrics = simulation.metrics()

    @cached_property
    def _ears(self) -> list[_Ear]:
        topology, links = self._simulation.topology, self._links
        found = list[_Ear]()
        for adversary in self._simulation.adversaries:
            tapped, doors = sorted(adversary.tapped(topology)), np.array(adversary.doors, dtype=np.int64)
            on, into = links.of(tapped), links.into(doors)
            clear = np.unique(np.concatenate((links.senders[on[~links.sealed[on]]], links.senders[into], doors)))
            found.append(_Ear(tapped, on, np.unique(np.concatenate((on, into))), clear))
        return found

    @cached_property
    def _overheard(self) -> Whole:
        """Agents of whose messages some adversary records any in the clear: only theirs are kept."""
        return _union(ear.clear for ear in self._ears)

    @cached_property
    def _attended(self) -> Whole:
        """Links whose times some adversary records: only theirs are kept."""
        return _union(ear.attended for ear in self._ears)

    @cached_property
    def _edges(self) -> EdgeNoise:
        around = tuple(map(self._simulation.topology.neighbors, range(self._n)))
        kept = self._simulation.recording.private != "nothing"
        return EdgeNoise(self._streams, self._simulation.chunk, (self._r, self.dimension), around, kept=kept)

    @property
    def _coding(self) -> range:
        """Agents whose codec is one of its own: all where it draws, one for all where it does not."""
        return range(self._n if self._codec.random else 1)

    def _encoder(self, agent: int) -> Encoder:
        stream = partial(self._simulation.dither_stream, agent)
        return Encoder(self._codec, self.dimension, Dither(stream, self._r) if self._codec.random else None)

    def _work_of(self, agent: int) -> Callable[[], float] | None:
        law = self._simulation.timing.compute_law(agent)
        return None if law is None else partial(law.draw, self._streams.plain("agent", agent, "compute"))

    # ── what is not the same for all ────────────────────────────────────────────────────────────────────
    @property
    def weights(self) -> NoReturn:
        raise NotStackableError("the algorithm reads the weights of its links")

    @property
    def replicas(self) -> NoReturn:
        raise NotStackableError("the algorithm counts replicas")

    @property
    def records(self) -> NoReturn:
        raise NotStackableError("the algorithm counts records")

    @property
    def coins(self) -> NoReturn:
        raise NotStackableError("the algorithm tosses private coins")

    def split(self, value: Array, mechanism: Gaussian) -> NoReturn:  # noqa: ARG002
        raise NotStackableError("the algorithm splits values in shares")

    def send(self, to: int, **values: Array) -> NoReturn:  # noqa: ARG002
        raise NotStackableError("the algorithm sends direct messages")

    def broadcast(self, **values: Array) -> NoReturn:  # noqa: ARG002
        raise NotStackableError("the algorithm sends direct messages")

    async def receive(self) -> NoReturn:
        raise NotStackableError("the algorithm waits for direct messages")

    # ── private data ────────────────────────────────────────────────────────────────────────────────────
    def zeros(self) -> Array:
        return np.zeros(self._shape)

    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:
        self._work()
        x = self._checked(x)
        if batch is None:
            gradient = self._gradients(x.reshape(self._stack)).reshape(self._shape)
        elif self._torch is not None:
            raise NotStackableError("the algorithm asks for gradients of batches, which torch does not compute")
        else:
            gradient = self._each(lambda i, rows: self._objective(i).batch(batch).gradient(x[rows]))
        self._answered(x, gradient)
        return gradient

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:
        self._work()
        return self._proximal(self._checked(v), step, regularized and not isinstance(self.regularizer, Zero))

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:
        if mechanism.noiseless:
            return await self.proximal(v, step)
        self._work()
        noise = self._drawn(np.zeros(self._shape), mechanism)
        return self._release(self._proximal(self._checked(v) - step * noise, step, regularized=False))

    def privatize(
        self, value: Array, mechanism: Mechanism, shared: Gaussian | None = None, draw: int | None = None
    ) -> Array:
        noisy = value if mechanism.noiseless else self._drawn(self._checked(value), mechanism)
        if shared is not None and not shared.noiseless:
            which = self._shared if draw is None else draw
            own, each = (gaussian_stddev(law, 0) for law in (mechanism, shared))
            noisy = noisy + self._each(lambda i, _: shared.stddev * self._edges.around(i, which))
            for i in range(self._n):
                rows = self._rows(i)
                self._edges.note(i, own, each, which, noisy[rows] - value[rows])
            self._shared += 1
        return value if noisy is value else self._release(noisy)

    def _objective(self, agent: int) -> Any:
        return self._simulation.problem.objectives[agent]

    def _rows(self, agent: int) -> slice:
        return slice(agent * self._r, (agent + 1) * self._r)

    def _each(self, made: Callable[[int, slice], Array]) -> Array:
        return np.concatenate([made(i, self._rows(i)) for i in range(self._n)])

    def _proximal(self, v: Array, step: float, regularized: bool) -> Array:
        if regularized:
            x = self._each(lambda i, rows: self._objective(i).proximal(v[rows], step, self.regularizer))
            self._answered(x, self._gradients(x.reshape(self._stack)).reshape(self._shape))
            return x
        x = self._each(lambda i, rows: self._objective(i).proximal(v[rows], step))
        self._answered(x, (v - x) / step)
        return x

    def _drawn(self, value: Array, mechanism: Mechanism) -> Array:
        """Every agent's release, of its own stream."""
        one, plain = (self._r, self.dimension), not isinstance(self._stream(0), Releasing)
        if plain and type(mechanism) is Gaussian and np.ndim(mechanism.stddev) == 0:
            noise = self._each(lambda i, _: self._stream(i).standard_normal(size=one))
            return value + noise * mechanism.stddev
        if plain and type(mechanism) is Laplace and np.ndim(mechanism.scale) == 0:
            noise = self._each(lambda i, _: self._stream(i).laplace(size=one))
            return value + noise * mechanism.scale
        return self._each(lambda i, rows: released(self._part(mechanism, rows), value[rows], self._stream(i)))

    def _part(self, mechanism: Any, rows: slice) -> Mechanism:
        """One agent's law, of what holds numbers of all agents."""
        if not dataclasses.is_dataclass(mechanism):
            raise NotStackableError(f"noise of {type(mechanism).__name__}")
        held = {field.name: getattr(mechanism, field.name) for field in dataclasses.fields(mechanism)}
        own = {
            name: value[rows] for name, value in held.items() if np.ndim(value) == 2 and len(value) == self._shape[0]
        }
        return dataclasses.replace(mechanism, **own) if own else mechanism  # type: ignore[type-var]

    def _stream(self, agent: int) -> np.random.Generator:
        if agent not in self._noise:
            self._noise[agent] = self._simulation.noise_stream(agent)
        return self._noise[agent]

    def _release(self, value: Array) -> Array:
        value.setflags(write=False)
        if len(self._kept_releases):
            every, stack = len(self._kept_releases) == self._n, value.reshape(self._stack)
            self._released.append(stack if every else stack[self._kept_releases])
        return value

    def _answered(self, x: Array, gradient: Array) -> None:
        if len(who := self._kept_queries):
            stacks = (array.reshape(self._stack)[who] for array in (x, gradient))
            self._asked.append(_Asked(self.moments.now[who], *stacks))

    def _work(self) -> None:
        self._queries += 1
        if self._queries > self._simulation.most_queries:
            raise StalledError.of_queries(0, self._simulation.most_queries)
        if self._compute is None:
            return
        waits = np.array([draw is not None for draw in self._compute])
        seconds = np.array([0.0 if draw is None else draw() for draw in self._compute])
        if not (seconds[waits] > 0).all():
            raise NotStackableError("a query takes no time, where others do")
        self.moments.wait(seconds, waits)

    # ── messages ────────────────────────────────────────────────────────────────────────────────────────
    async def exchange(self, **values: Array) -> _StackedExchange:
        sent = self._encoded({name: as_sent(self._checked(value)) for name, value in values.items()})
        for value in sent.values():
            value.setflags(write=False)
        size = self._simulation.network.header_bytes + self._codec.size(self.dimension) * len(values)
        links, moments = self._links, self.moments
        begun, arrival = self._travel.of(moments.now, size)
        stacks: dict[str, Array] = {}
        if len(self._overheard):
            whole = {name: value.reshape(self._stack) for name, value in sent.items()}
            every = len(self._overheard) == self._n
            stacks = whole if every else {name: value[self._overheard] for name, value in whole.items()}
            for value in stacks.values():
                value.setflags(write=False)
        if moments.ordered:
            at = self._attended
            times = (begun, arrival) if len(at) == len(begun) else (begun[at], arrival[at])
            self._sent.append(Sent(moments.step, self._done, size, *times, stacks))
        moments.receive(arrival, links.senders, links.places, links.starts)
        self._exchanges += 1
        self._done += 1
        self._bytes += size
        return _StackedExchange(self._graph, self.neighbors, sent, self._shape)

    def _encoded(self, values: Values) -> Values:
        """What receivers decode; a random codec draws of each agent's own stream."""
        if self._encoders is None:
            return values
        if len(self._encoders) == 1:
            return self._encoders[0](values)
        parts = [
            encoder({name: value[self._rows(i)] for name, value in values.items()})
            for i, encoder in enumerate(self._encoders)
        ]
        return {name: np.concatenate([part[name] for part in parts]) for name in values}

    def estimate(self, x: Array) -> None:
        x, moments = self._checked(x), self.moments
        errors = np.empty((0, 0))
        if self.metrics is not None:
            errors = self.metrics.closed_by_all(as_sent(x).reshape(self._stack))
        counts = (self._exchanges, self._bytes, self._queries)
        self._closed.append(_Closed(moments.now, moments.step, self._done, errors, *counts))
        self._done += 1

    def _checked(self, value: Array) -> Array:
        if type(value) is not np.ndarray or value.dtype is not FLOAT64 or value.shape != self._shape:
            raise NotStackableError(f"a value of shape {getattr(value, 'shape', None)}")
        return value

    # ── after the run ───────────────────────────────────────────────────────────────────────────────────
    def outcome(self, *, interrupted: bool) -> _StackedRun:
        """All that happened."""
        simulation, links, closed = self._simulation, self._links, self._closed
        asked, released, recording = self._asked, self._released, simulation.recording
        asking, releasing = self._kept_queries, self._kept_releases

        def queried(agent: int) -> list[Query]:
            k = int(np.searchsorted(asking, agent))
            return [Query(one.times[k].item(), one.points[k], one.gradients[k]) for one in asked]

        def released_by(agent: int) -> list[Array]:
            k = int(np.searchsorted(releasing, agent))
            return [one[k] for one in released]

        def inside_of(agent: int) -> InsiderState:
            """Copies: what an adversary is handed refers to nobody else's."""
            own = tuple(Query(time, x.copy(), gradient.copy()) for time, x, gradient in queried(agent))
            made = tuple(one.copy() for one in released_by(agent))
            for one in made:
                one.setflags(write=False)
            return InsiderState(self._objective(agent), own, made)

        queries, releases = PerAgent(self._n, queried), PerAgent(self._n, released_by)
        truth = None
        if recording.private != "nothing":
            none = PerAgent(self._n, lambda _: list[Query]())
            known = queries if recording.private == "everything" else none
            truth = Truth(simulation.problem, known, releases, self.__dict__.get("_edges"))
        inside = [{i: inside_of(i) for i in adversary.insiders} for adversary in simulation.adversaries]
        packets = len(links.senders) * self._exchanges
        total = len(links.senders) * self._bytes + int(links.tags.sum()) * self._exchanges
        if self.metrics is not None:
            self._note(self.metrics)
        taps = [Tap(one, self._streams.plain("adversary", one.name)) for one in simulation.adversaries]
        transcripts = tuple(map(self._heard, taps, self._ears))
        return _StackedRun(
            transcripts,
            tuple(inside),
            self.metrics,
            truth,
            len(closed),
            float(closed[-1].times.max()) if closed else 0.0,
            packets,
            total,
            self._queries,
            interrupted,
            None if self._torch is None else self._torch.device,
        )

    def _note(self, metrics: Metrics) -> None:
        """Every estimate and what it had cost by then, in the order in which agents closed."""
        agents, links, moments = np.arange(self._n), self._links, self.moments
        tags = np.add.reduceat(links.tags[links.back], links.starts)
        parts: list[Rows] = []
        packets, sizes, closings = list[Whole](), list[Whole](), list[Whole]()
        nothing = np.zeros(self._n, dtype=np.int64)
        for one in self._sent:
            parts.append(moments.acted(one.step, agents, nothing + one.done))
            packets.append(links.degrees)
            sizes.append(links.degrees * one.size + tags)
            closings.append(nothing - 1)
        for k, one in enumerate(self._closed):
            parts.append(moments.acted(one.step, agents, nothing + one.done))
            packets.append(nothing)
            sizes.append(nothing)
            closings.append(nothing + k)
        if not self._closed:
            return
        rows = Rows.joined(parts)
        order = moments.order(rows)
        which = np.concatenate(closings)[order]
        here, who = which >= 0, np.tile(agents, len(parts))[order]
        which, who = which[here], who[here]
        counts = {
            "packets": np.cumsum(np.concatenate(packets)[order])[here],
            "bytes": np.cumsum(np.concatenate(sizes)[order])[here],
            "messages": np.array([one.messages for one in self._closed])[which] * links.degrees[who],
            "message_bytes": np.array([one.message_bytes for one in self._closed])[which] * links.degrees[who],
            "queries": np.array([one.queries for one in self._closed])[which],
        }
        errors = np.array([one.errors for one in self._closed])[which, who]
        metrics.noted(rows.time[order][here], who, errors, counts)

    def _heard(self, tap: Tap, ear: _Ear) -> Transcript:
        """What one adversary recorded; its rows are made when they are read."""
        adversary, on_links = tap.adversary, ear.places
        late = {edge: tap.clock_error() for edge in ear.tapped if edge[0] < edge[1]}
        offsets = np.array([late[min(edge), max(edge)] for edge in ear.tapped])
        sent = self._sent
        if len(ear.clear) < len(self._overheard):  # what others hear is none of its business
            places = np.searchsorted(self._overheard, ear.clear)
            sent = [one.of(places) for one in sent]
        heard = Heard(sent, ear.clear, self.moments, self._links, self._attended, on_links, offsets, adversary.doors)
        if adversary.capture_loss or adversary.start:
            captured = [row for begun, row in heard.captured() if begun >= adversary.start and not tap.misses()]
            return Transcript.deferred(lambda: (captured, heard.at_doors()), len(captured) + heard.door_rows, self._r)
        count = len(on_links) * len(self._sent) + heard.door_rows
        return Transcript.deferred(lambda: ([row for _, row in heard.captured()], heard.at_doors()), count, self._r)


def run_stacked(simulation: _Setup) -> _StackedRun:
    """Run all agents at once. You get a `NotStackableError` where they are unlike; Ctrl-C ends it early."""
    if (why := obstacle(simulation)) is not None:
        raise NotStackableError(why)
    node, interrupted = _StackedNode(simulation), False
    program = simulation.algorithm.run(node)  # type: ignore[arg-type]
    try:
        with diverging():
            program.send(None)
        raise NotStackableError("the algorithm waits for something besides its node")
    except StopIteration:
        pass
    except KeyboardInterrupt:
        interrupted = True
    except SystemExit as error:
        raise not_an_exit(error) from None
    finally:
        program.close()
    return node.outcome(interrupted=interrupted)
