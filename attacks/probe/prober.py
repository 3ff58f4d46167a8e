"""A `Node` whose private gradients and unseen noise are given, and whose releases are those that were observed.

What the code then makes of a value that was observed is one equation for the gradients:

- a release on the wire:       value(g) + noise = observed;
- any other value on the wire: value(g) = observed;
- objective perturbation:      ∇f(x) − v/step + b = −x/step at the observed x.

A release that is not on the wire as it was released (it is compressed, or only sent on in a sum) goes on as
value + noise with noise that is given too: one more unknown, of known law. Noise has its mean taken out, so that
what is unknown of it has mean 0.

A message to the agent that was not heard is given too, field by field (`Gap`): unknowns of any value, or of a law.
What the agent sent and nobody heard is no equation.

The agent's private coins are not known and not needed: whom a message went to was observed, and the gradient of a
batch is one unknown whichever records are in it.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from attacks.replay.recorded import EndOfRecord, RecordedNode, Recording, Slot
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian, Laplace, Mechanism, OffCenter, UniformModulo
from netsim.models.model import Zero
from netsim.transcript.message import Kind, Values
from netsim.transcript.record import Record

Given = Callable[[int], Array]
"""The value of the k-th unknown, (replicas, dimension)."""
Law = Literal["gaussian", "laplace"]


class Gap(NamedTuple):
    """A value that the agent took and that was not heard: whose, in which message of that kind, and its field."""

    sender: int
    kind: Kind
    number: int
    name: str


Incoming = Callable[[int, Gap], Array]
"""What stands for the k-th gap, (replicas, dimension)."""


class Equation(NamedTuple):
    """What the code makes of something that was observed: `value`, (replicas, dimension), and `observed`.

    `noise` is the number of the release whose noise lies between them, None if none does. `message` counts the
    agent's messages from 0.
    """

    message: int
    what: str
    value: Array
    observed: Array
    noise: int | None


class Prober(RecordedNode):
    """One pass: `gradients(t)` answers the t-th private query, `noises(k)` is added to the k-th release if unseen,
    and `incoming(k, gap)` stands for the k-th value that was taken and not heard (zeros where it is None).

    You get an `AttackError` for shares modulo p: they are no sum of a value and noise.
    """

    def __init__(
        self,
        recording: Recording,
        slots: dict[int, Slot],
        gradients: Given,
        noises: Given,
        incoming: Incoming | None = None,
    ) -> None:
        super().__init__(recording)
        self.blind_to_receivers = True
        self._slots, self._gradients, self._noises, self._incoming = slots, gradients, noises, incoming
        self.equations: list[Equation] = []
        self.sizes: list[float] = []
        """Of each equation: the largest number that the agent had carried by then, absolute."""
        self.points: list[Array] = []
        self.variances: list[Array] = []
        """Of each release's noise, (dimension,) or ()."""
        self.laws: list[Law | None] = []
        """Of each release's noise: None for every other one."""
        self.seen: list[bool] = []
        """Whether each release is on the wire."""
        self.gaps: list[Gap] = []
        self._largest = 0.0
        self._given: set[int] = set()
        self._kept: list[Array] = []  # kept alive: an id is an array's own as long as it lives

    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:  # noqa: ARG002
        return self._answer(x)

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:
        """x = prox_{step·r}(v − step·g), where g is the gradient at x."""
        gradient = self._gradients(len(self.points))
        x = v - step * gradient
        if regularized and not isinstance(self.regularizer, Zero):
            x = self.regularizer.proximal(x, step)
        self._carried(gradient)
        self.points.append(self._carried(x).copy())
        return x

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:
        if mechanism.noiseless:
            return await self.proximal(v, step)
        release = self._released(mechanism)
        x = self._observed(release)
        if x is None and not self._unsent:
            raise EndOfRecord
        if x is None:
            gradient = self._gradients(len(self.points))
            x = v - step * (gradient + _mean(mechanism) + self._noises(release))
            self.points.append(self._carried(x).copy())
            return x
        gradient = self._answer(x)
        self._equate("perturbed minimizer", gradient + _mean(mechanism) - v / step, -x / step, release)
        return x

    def privatize(self, value: Array, mechanism: Mechanism) -> Array:
        if mechanism.noiseless:
            return value
        release = self._released(mechanism)
        observed = self._observed(release)
        if observed is None:
            return value + _mean(mechanism) + self._noises(release)
        self._equate("release", value + _mean(mechanism), observed, release)
        return observed

    def _answer(self, x: Array) -> Array:
        gradient = self._carried(self._gradients(len(self.points)))
        self.points.append(self._carried(x).copy())
        return gradient

    def _equate(self, what: str, value: Array, observed: Array, noise: int | None) -> None:
        self._carried(value)
        self.equations.append(Equation(self.sent, what, value, self._carried(observed), noise))
        self.sizes.append(self._largest)

    def _carried(self, value: Array) -> Array:
        self._largest = max(self._largest, float(np.max(np.abs(value), initial=0.0)))
        return value

    def _released(self, mechanism: Mechanism) -> int:
        if isinstance(mechanism, UniformModulo):
            raise AttackError(
                f"agent {self.id} releases a share modulo {mechanism.modulus} (UniformModulo) before its message "
                f"{self.sent}: it is no affine function of gradients and noise, and a probe cannot invert it"
            )
        self.variances.append(np.asarray(mechanism.variance(), dtype=np.float64))
        self.laws.append(_law(mechanism))
        return len(self.variances) - 1

    def _observed(self, release: int) -> Array | None:
        slot = self._slots.get(release)
        row = None if slot is None else self._outgoing.get(slot[:2])
        self.seen.append(row is not None)
        if slot is None or row is None:
            return None
        observed = row.values[slot[2]]
        self._given.add(id(observed))
        self._kept.append(observed)
        return observed

    def _stand_in(self, sender: int, kind: Kind, number: int, name: str) -> Array:
        gap = Gap(sender, kind, number, name)
        self.gaps.append(gap)
        value = self.zeros() if self._incoming is None else self._incoming(len(self.gaps) - 1, gap)
        return self._carried(value)

    def _seen(self, row: Record) -> None:
        for value in row.values.values():
            self._carried(value)

    def _sent(self, row: Record, values: Values) -> None:
        for name, value in values.items():
            if id(value) not in self._given:
                self._equate(name, value.copy(), row.values[name], None)


def _law(mechanism: Mechanism) -> Law | None:
    if isinstance(mechanism, Laplace):
        return "laplace"
    return "gaussian" if isinstance(mechanism, Gaussian) else None


def _mean(mechanism: Mechanism) -> Array | float:
    return mechanism.mean() if isinstance(mechanism, OffCenter) else 0.0
