"""The port: everything an algorithm may do to the world, and nothing else.

An algorithm is a coroutine against a `Node`. The same unchanged code is read by several interpreters of this
protocol: `netsim.readers.live` runs it on the simulated network, `attacks.replay` reruns it on what was observed
under a hypothesis about the private data. Five rules make that work:

- all randomness and all private data come through the node;
- a value that carries DP noise is made by `privatize` and by nothing else;
- sums over neighbors run in a fixed order (use `Exchange`);
- replicas are worlds of their own: nothing is decided for all of them by the values of some;
- no module state.

`Computed` tells which reader ran a run, and on what its gradients were computed.
"""

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol, cast

import numpy as np

from netsim.arrays import Array
from netsim.errors import ProtocolError
from netsim.mechanisms import Gaussian, Mechanism
from netsim.models.model import Regularizer
from netsim.transcript.message import Message

__all__ = ["Exchange", "Node", "choose", "subset"]  # what an algorithm uses: `help` shows no more, of NumPy's least

Reader = Literal["live", "stacked", "deployed"]
"""Agent by agent, one run for all agents, or processes (`netsim.readers`)."""
Backend = Literal["numpy", "torch"]
Device = Literal["cpu", "cuda"]
FLOAT64 = np.dtype(np.float64)
WORD = 1 << 32
LOW = WORD - 1


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, sorted(names))) or "nothing"


class Exchange:
    """The values of one exchange: one message from each neighbor, and what I sent."""

    __slots__ = ("_messages", "_node", "_sent")

    def __init__(self, node: "Node", sent: Message, messages: Sequence[Message]) -> None:
        """`messages`: one from each of the node's neighbors, in their order."""
        self._node = node
        self._sent = sent
        self._messages = messages

    def values(self, name: str) -> list[Array]:
        """What the neighbors sent under this name, in the order of `node.neighbors`."""
        try:
            return [message.values[name] for message in self._messages]
        except KeyError:
            both = zip(self._node.neighbors, self._messages, strict=True)
            other, message = next((j, message) for j, message in both if name not in message.values)
            why = ": agents that began anew or took another branch are at other ones"
            raise ProtocolError(
                f"agent {self._node.id} wants {name!r} of exchange {self._sent.number}, in which agent {other} sent "
                f"{_listed(message.values)}{why if name in self._sent.values else ''}"
            ) from None

    def __getitem__(self, name: str) -> dict[int, Array]:
        return dict(zip(self._node.neighbors, self.values(name), strict=True))

    def apart(self, name: str) -> Array:
        """Σ_j (v − v_j) over my neighbors, v being what I sent: the graph Laplacian's row; fixed order."""
        sent = self.sent(name)
        return added(together([sent - value for value in self.values(name)]))

    def sent(self, name: str) -> Array:
        """What I sent under this name, as the others decode it; read-only."""
        try:
            return self._sent.values[name]
        except KeyError:
            raise ProtocolError(
                f"agent {self._node.id} wants its own {name!r} of exchange {self._sent.number}, in which it sent "
                f"{_listed(self._sent.values)}"
            ) from None

    def mix(self, name: str) -> Array:
        """Σ_j w_ij v_j over my neighbors and myself, my own term being what I sent; fixed order: me first."""
        terms = together([self.sent(name), *self.values(name)])
        terms *= self._node.weights[:, None, None]
        return added(terms)

    def sum(self, name: str) -> Array:
        """Σ_j v_j over my neighbors, in their order."""
        return added(together(self.values(name)))


def together(vectors: list[Array]) -> Array:
    """Vectors of one type and shape as one array, along a new first axis.

    Where floats lie in order their bytes are joined: a third of the time that NumPy takes over a few short ones.
    """
    first, parts = vectors[0], cast("list[bytes]", vectors)
    if first.dtype is FLOAT64:
        try:
            return np.frombuffer(bytearray().join(parts)).reshape((-1, *first.shape))
        except TypeError:  # one of them lies otherwise
            pass
    return np.array(vectors)


def added(terms: Array) -> Array:
    """Σ over the first axis, one term after the other, so that no replica's bits depend on how many there are.

    NumPy's sum does that but for single numbers, which it adds in pairs.
    """
    if terms.size == len(terms):
        return np.add.accumulate(terms, axis=0)[-1]
    return np.add.reduce(terms)


class Node(Protocol):
    """One agent's window on the world. Every vector has shape (replicas, dimension)."""

    @property
    def id(self) -> int:
        """My number, 0 … agents − 1."""
        ...

    @property
    def agents(self) -> int:
        """n, public."""
        ...

    @property
    def neighbors(self) -> tuple[int, ...]:
        """The agents I have links to, ascending."""
        ...

    @property
    def weights(self) -> Array:
        """My row of W, shape (1 + degree,): my own weight first, then my neighbors' in their order."""
        ...

    @property
    def replicas(self) -> int:
        """Independent draws of the noise carried at once: the leading axis."""
        ...

    @property
    def dimension(self) -> int:
        """d, the last axis."""
        ...

    @property
    def records(self) -> int:
        """m_i, how many records my objective is the mean over; public."""
        ...

    @property
    def regularizer(self) -> Regularizer:
        """The public r."""
        ...

    @property
    def coins(self) -> np.random.Generator:
        """My private coins (routes, batches), shared by all replicas. An audit prices them known, and secret."""
        ...

    def zeros(self) -> Array:
        """A fresh zero vector (replicas, dimension), the public starting point."""
        ...

    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:
        """∇f_i(x), PRIVATE; of the mean over a `batch` of my records, if one is named. May take simulated time."""
        ...

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:
        """argmin_x f_i(x) + ‖x − v‖²/(2·step), PRIVATE; with + r(x) if `regularized`. May take simulated time.

        It determines the gradient at its own output: x = prox_{step·r}(v − step·∇f_i(x)), or without r.
        """
        ...

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:
        """One release by objective perturbation: argmin_x f_i(x) + ⟨b, x⟩ + ‖x − v‖²/(2·step), b the noise.

        `mechanism` draws b; r plays no part. Send the very array you get back. May take simulated time.
        """
        ...

    def privatize(
        self, value: Array, mechanism: Mechanism, shared: Gaussian | None = None, draw: int | None = None
    ) -> Array:
        """One release: the private value with fresh noise. Send the array you get back, or a number of which it comes
        out to who knows what was sent before (x − step times it): an audit prices both.

        `shared`: besides, with each neighbor, noise of this law from the seed that we two share, added where my
        number is the smaller and subtracted where it is the larger, so that it cancels in the sum over all agents.
        Both ends of an edge get the same numbers for the same `draw` (default: how many such releases I have made).
        """
        ...

    def split(self, value: Array, mechanism: Gaussian) -> dict[int, Array]:
        """One release in shares, by agent, for me and each neighbor: value + Z_j, with Σ_j w_ij Z_j = 0 over all.

        Z_j = Y_j − Σ_k w_ik Y_k / (d w_ij), over my neighbors and me (d of them), for independent Y of this law. Send
        a share to its neighbor and nobody else, as the very array you get; keep your own. Without noise all are the
        value.
        """
        ...

    async def exchange(self, **values: Array) -> Exchange:
        """Send named values to all neighbors and wait for theirs of the same exchange."""
        ...

    def send(self, to: int, **values: Array) -> None:
        """Send named values to one neighbor; returns at once."""
        ...

    def broadcast(self, **values: Array) -> None:
        """Send named values to every neighbor; returns at once. They get it by `receive`."""
        ...

    async def receive(self) -> Message:
        """The next message sent to me by `send` or `broadcast`, in order of arrival: its `values["x"]` is what was
        sent as x=…, its `sender` who sent it."""
        ...

    def estimate(self, x: Array) -> None:
        """My current answer, for metrics only, never on the wire. Closes a round or an activation: call it last."""
        ...


def share_factor(weights: Array) -> Array:
    """L (d − 1, d − 1), lower triangular: the noise in my neighbors' shares of a split is L y, y independent.

    The law is that of Z_j = Y_j − Σ_k w_k Y_k / (d w_j), `weights` (d,), mine first; my own share follows.
    """
    mixing = np.eye(len(weights)) - weights / (len(weights) * weights[:, None])
    return np.asarray(np.linalg.cholesky((mixing @ mixing.T)[1:, 1:]), dtype=np.float64)


def own_share(value: Array, shares: Sequence[Array], weights: Array) -> Array:
    """My own share of a split `value`, from those of my neighbors: all noise sums to zero, my weight is the first."""
    noise = np.array([share - value for share in shares]) * weights[1:, None, None]
    return value - added(noise) / weights[0]


class Coins(np.random.Generator):
    """An agent's private coins: NumPy's generator, which `choose` and `subset` toss as well."""

    _draw: Callable[[], int] | None = None

    def choose(self, options: Sequence[int]) -> int:
        """One of the options, uniformly: `options[self.integers(len(options))]`, in a third of its time."""
        count = len(options)
        if count < 2:
            return options[int(self.integers(count))]
        draw = self._draw or self._words()
        scaled = draw() * count  # Lemire's multiply and shift, as in NumPy
        if scaled & LOW < count:
            while scaled & LOW < WORD % count:
                scaled = draw() * count
        return options[scaled >> 32]

    def _words(self) -> Callable[[], int]:
        """Draws the next 32 bits of the stream. By a pointer of our own: NumPy's releases the interpreter's lock."""
        given = self.bit_generator.ctypes
        address = ctypes.cast(given.next_uint32, ctypes.c_void_p).value
        kind = cast(
            Callable[[int | None], Callable[[int | None], int]], ctypes.PYFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
        )
        self._draw = partial(kind(address), given.state_address)
        return self._draw

    def subset(self, total: int, size: int) -> Sequence[int]:
        """So many of range(total), ascending, uniformly."""
        return sorted(int(one) for one in self.choice(total, size, replace=False))


class FollowedCoins(Coins):
    """Coins of a reader that follows what becomes of each toss (`attacks.replay.coins`)."""

    def choose(self, options: Sequence[int]) -> int:
        raise NotImplementedError

    def subset(self, total: int, size: int) -> Sequence[int]:
        raise NotImplementedError


def choose(coins: np.random.Generator, options: Sequence[int]) -> int:
    """One of the options, uniformly. Hand it on as it is: an audit then knows that it decides nothing else."""
    if not len(options):
        raise ProtocolError("choose(coins, []): there is nothing to choose from")
    return coins.choose(options) if isinstance(coins, Coins) else options[int(coins.integers(len(options)))]


def subset(coins: np.random.Generator, total: int, size: int) -> Sequence[int]:
    """So many of range(total), uniformly, each once and ascending: a batch of records. Hand it on as it is."""
    if size > total:
        raise ProtocolError(f"subset(coins, {total}, {size}): {size} of {total}, each once, are too many")
    return (coins if isinstance(coins, Coins) else Coins(coins.bit_generator)).subset(total, size)


@dataclass(frozen=True)
class Computed:
    """Who computed a run."""

    reader: Reader
    """"live", "stacked" or "deployed"."""
    unstacked: str | None
    """Why it was not the stacked reader; null where it was."""
    backend: Backend = "numpy"
    """Who computed gradients."""
    device: Device | None = None
    """Where PyTorch computed them; null of NumPy."""
