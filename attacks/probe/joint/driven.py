"""A `Node` of one pass: private gradients are given, and what was observed of its messages is what it sends."""

import types
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from attacks.probe.joint.passes import Equation, Release, ShapeError
from netsim import node as port
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.mechanisms import Mechanism, OffCenter, UniformModulo
from netsim.models.model import Regularizer, Zero
from netsim.transcript.message import Kind, Message, Values
from netsim.transcript.record import EVERYBODY

if TYPE_CHECKING:
    from attacks.probe.joint.network import Network


@types.coroutine
def until(ready: Callable[[], bool]) -> Generator[Callable[[], bool], None, None]:
    """Wait; the network looks whether it is ready."""
    if not ready():
        yield ready


class End(Exception):  # noqa: N818
    """An agent does nothing further that anybody has observed."""


_NOWHERE = np.zeros((0, 0))


class Driven:
    """One agent's port in a pass."""

    def __init__(self, network: "Network", agent: int) -> None:
        public = network.public
        self._network = network
        self.id, self.agents = agent, public.agents
        self.neighbors = public.neighbors[agent]
        self.weights: Array = public.weights[agent]
        self.replicas, self.dimension = network.inputs.shape
        self.regularizer: Regularizer = public.regularizer
        self.records = public.records[agent] if public.records else 1
        self._points, self._mechanisms = network.found.points[agent], network.found.mechanisms[agent]
        self._counts: dict[Kind, int] = {"exchange": 0, "direct": 0}
        self._coins: np.random.Generator | None = None
        self._door = network.heard.taken(agent) if agent in network.heard.rows else None
        self._made: dict[
            int, tuple[Release, Array]
        ] = {}  # the array is kept alive: its id is its own as long as it lives

    @property
    def coins(self) -> np.random.Generator:
        """Some coins: nobody knows which. What they decide has to be observed, or make no difference."""
        if self._coins is None:
            self._network.found.chancy = True
            self._coins = np.random.default_rng((self._network.inputs.chance, self.id))
        return self._coins

    def zeros(self) -> Array:
        return np.zeros(self._network.inputs.shape)

    def estimate(self, x: Array) -> None:
        pass

    # ── what is private ─────────────────────────────────────────────────────────────────────────────
    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:  # noqa: ARG002
        return self._asked(x)

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:
        """x = prox_{step·r}(v − step·g), where g is the gradient at x."""
        gradient = self._network.inputs.gradients(self.id, len(self._points))
        x = v - step * gradient
        if regularized and not isinstance(self.regularizer, Zero):
            x = self.regularizer.proximal(x, step)
        self._points.append(self._kept(x))
        return x

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:
        """x = v − step·(g + b), where g is the gradient at x and b the noise."""
        if mechanism.noiseless:
            return await self.proximal(v, step)
        gradient = self._network.inputs.gradients(self.id, len(self._points))
        x = self._released(v - step * (gradient + _mean(mechanism)), mechanism, -step)
        self._points.append(self._kept(x))
        return x

    def privatize(self, value: Array, mechanism: Mechanism) -> Array:
        if mechanism.noiseless:
            return value
        return self._released(value + _mean(mechanism), mechanism, 1.0)

    def _kept(self, x: Array) -> Array:
        return x.copy() if self._network.inputs.points else _NOWHERE

    def _asked(self, x: Array) -> Array:
        gradient = self._network.inputs.gradients(self.id, len(self._points))
        self._points.append(self._kept(x))
        return gradient

    def _released(self, value: Array, mechanism: Mechanism, factor: float) -> Array:
        """value + factor · noise, as observed if it was."""
        if isinstance(mechanism, UniformModulo):
            raise AttackError(
                f"agent {self.id} releases a share modulo {mechanism.modulus} (UniformModulo): it is no affine "
                "function of gradients and noise, and a probe cannot invert it"
            )
        release = self.id, len(self._mechanisms)
        self._mechanisms.append(mechanism)
        network, found = self._network, self._network.found
        if network.inputs.carriers is None:
            value = value.copy()
            self._made[id(value)] = release, value
            return value
        place = network.observed_in.get(release)
        if place is None:
            found.unseen.append(release)
            return value + factor * network.inputs.noises(*release)
        observed = network.inputs.observed(place)
        found.equations.append(Equation(place, self._checked(value, "releases"), observed, release, factor))
        return observed

    # ── messages ────────────────────────────────────────────────────────────────────────────────────
    async def exchange(self, **values: Array) -> port.Exchange:
        told = self._tell("exchange", values, EVERYBODY)
        slots, degree = self._network.inbox[self.id], len(self.neighbors)
        await until(lambda: len(slots.get(told.number, ())) == degree)
        return port.Exchange(self, told, slots.pop(told.number, {}))

    def send(self, to: int, **values: Array) -> None:
        which = self.id, "direct", self._counts["direct"]
        receiver = self._network.heard.receivers.get(which)
        if receiver is None and self._coins is not None and len(self.neighbors) > 1:
            if not self._network.unread:
                raise End
            raise AttackError(
                f"message {which[2]} of agent {self.id} to a single neighbor was not heard, and its coins are "
                "private: which way it went, and what came of it, is not known"
            )
        self._tell("direct", values, to if receiver in (None, EVERYBODY) else receiver)

    def broadcast(self, **values: Array) -> None:
        self._tell("direct", values, EVERYBODY)

    async def receive(self) -> Message:
        network, me = self._network, self.id
        if self._door is None:
            network.blind[me] = None
            await until(lambda: network.blind[me] is not None)
            which = network.blind.pop(me)
            assert which is not None
            return network.take(which, me)
        if not self._door:
            raise End
        which = self._door.popleft()
        await until(partial(network.has, which, me))
        return network.take(which, me)

    def _tell(self, kind: Kind, values: Values, to: int) -> Message:
        which = self.id, kind, self._counts[kind]
        self._counts[kind] += 1
        network = self._network
        for name, value in values.items():
            self._checked(value, f"sends {name!r} as")
            if (made := self._made.get(id(value))) is not None:
                network.found.carriers.setdefault(made[0], []).append((*which, name))
        if which not in network.heard.values:
            return network.post(which, {name: value.copy() for name, value in values.items()}, to)
        network.unread.discard(which)
        observed = network.as_observed(which)
        if observed.keys() != values.keys():
            raise AttackError(
                f"agent {self.id}'s code does not send what was sent: {sorted(values)} in {kind} message {which[2]}, "
                f"not {sorted(observed)}"
            )
        for name, value in values.items():
            if (*which, name) not in network.verbatim:
                found = Equation((*which, name), value.copy(), observed[name], None, 0.0)
                network.found.equations.append(found)
        return network.post(which, observed, to)

    def _checked(self, value: Array, does: str) -> Array:
        if value.shape != self._network.inputs.shape:
            raise ShapeError(f"agent {self.id} {does} an array of shape {value.shape}")
        return value


def _mean(mechanism: Mechanism) -> Array | float:
    return mechanism.mean() if isinstance(mechanism, OffCenter) else 0.0
