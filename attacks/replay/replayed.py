"""Results of a replay: releases with the noise that explains them, and everything else that was sent, compared."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array, Mask
from netsim.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    UniformLaplace,
)
from netsim.transcript.message import Kind, as_sent

ULPS = 4096
"""A difference below so many units in the last place of what a coordinate has carried may be rounding."""


class _Law(Protocol):
    """Density of one release under a hypothesis: that of what was observed."""

    @property
    def noiseless(self) -> bool: ...

    def log_density(self, observed: Array, value: Array) -> Array: ...

    def quantiles(self, observed: Array, value: Array) -> Array: ...

    def variance(self) -> float | Array: ...


@dataclass(frozen=True)
class Perturbed:
    """Objective perturbation seen through x = argmin f + ⟨b, x⟩ + ‖x − v‖²/(2·step).

    The optimality condition reads the noise off x: b = `pull` − ∇f(x), pull = (v − x)/step. A density of b is one of
    x times |det ∂b/∂x| = det(I/step + ∇²f(x)), whose logarithm `log_jacobian` has shape (replicas,). A release's
    `value` is ∇f(x), in the units of b.
    """

    noise: Mechanism
    pull: Array
    log_jacobian: Array

    @property
    def noiseless(self) -> bool:
        return False

    def log_density(self, observed: Array, value: Array) -> Array:  # noqa: ARG002
        return self.noise.log_density(self.pull, value) + self.log_jacobian

    def quantiles(self, observed: Array, value: Array) -> Array:  # noqa: ARG002
        return self.noise.quantiles(self.pull, value)

    def variance(self) -> float | Array:
        return self.noise.variance()


def deviation(law: _Law) -> float | Array:
    """Standard deviation of one coordinate's noise; in units of the scale first, whose square is 0 below 1e-162."""
    match law:
        case Laplace(scale):
            return scale * math.sqrt(2)
        case Gaussian(stddev):
            return stddev
        case UniformLaplace(width, scale):
            return np.hypot(np.asarray(width) / math.sqrt(12), np.asarray(scale) * math.sqrt(2))
        case DiscreteLaplace(size, step) | DiscreteGaussian(size, step):
            return step * np.sqrt(type(law)(size / step).variance())
        case _:
            return np.sqrt(law.variance())


def scale_of(law: _Law) -> Array:
    """Parameter of a law (Laplace b, Gaussian σ, a modulus) or its deviation: one, or per coordinate."""
    named = (getattr(law, name, None) for name in ("scale", "stddev", "modulus"))
    scale = next((value for value in named if value is not None), deviation(law))
    return np.asarray(scale, dtype=np.float64)


def covered(law: _Law, value: Array) -> Array:
    """What the law's noise is added to: on a grid, where it rounds first."""
    return law.rounded(value) if isinstance(law, DiscreteLaplace | DiscreteGaussian) else value


@dataclass
class Release:
    """One `privatize` as this hypothesis explains it: `observed` = `value` + noise, both (replicas, dimension).

    By objective perturbation (`Perturbed`) `observed` is the minimizer and `value` the gradient there.
    `made_before` is the number of messages that the agent had sent when it was made; `sent_in` the first one,
    from 0, that carries it verbatim, None if none does. `drowned` (replicas,) is true where the noise is below the
    rounding of what was observed, and `judged` false from there on, or from where a comparison puts it. `carriers`
    are all messages that the very array was put in, encoded there or not, each with the name of the field.
    """

    made_before: int
    mechanism: _Law
    observed: Array
    value: Array
    judged: Mask
    sent_in: int | None = None
    drowned: Mask | bool = False
    carriers: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    @property
    def noise(self) -> _Law:
        """Law of the noise: that in the objective, where the objective is perturbed."""
        return self.mechanism.noise if isinstance(self.mechanism, Perturbed) else self.mechanism

    @property
    def scale(self) -> Array:
        """`scale_of` the noise."""
        return scale_of(self.noise)

    @cached_property
    def stddev(self) -> Array:
        """Standard deviation of the noise on each coordinate, (replicas, dimension); 0 where there is none."""
        return np.broadcast_to(deviation(self.noise), self.value.shape)

    def alike(self, other: "Release") -> bool:
        """Whether another one is of the same value and the same law: nobody tells them apart."""
        one, two = vars(self.mechanism), vars(other.mechanism)
        same = type(self.mechanism) is type(other.mechanism) and one.keys() == two.keys()
        return same and all(np.array_equal(one[k], two[k]) for k in one) and np.array_equal(self.value, other.value)

    @property
    def covered(self) -> Array:
        """Value that the noise is added to."""
        return covered(self.mechanism, self.value)

    def log_density(self) -> Array:
        """log p(observed | hypothesis), (replicas,)."""
        return self.mechanism.log_density(self.observed, self.value)

    def quantiles(self, rng: np.random.Generator) -> Array:
        """Uniform on (0, 1) under the hypothesis; of an atom, drawn uniformly between those of its ends."""
        up_to = self.mechanism.quantiles(self.observed, self.value)
        if not isinstance(self.mechanism, DiscreteMechanism):
            return up_to
        below = self.mechanism.quantiles_below(self.observed, self.value)
        return below + rng.random(self.value.shape) * (up_to - below)


class Answer(NamedTuple):
    """Answer of an agent's private objective: a "gradient" or a "proximal" point, (replicas, dimension)."""

    kind: Literal["gradient", "proximal"]
    value: Array


class Comparison(NamedTuple):
    """A value on the wire that is no release, as observed and as the hypothesis would have sent it.

    It is a field of the agent's `message`-th message, from 0. `possible` (replicas, dimension) marks where the codec
    may have made the observed one of a value that differs from this one by rounding: by `ULPS` units in the last
    place of the largest number that this coordinate has `carried`. None where nothing differs. `value` is what the
    hypothesis would have encoded, kept where that differs and where the codec is lossy: two values may become the
    same. `answer` is what the hypothesis had answered last. `judged` (replicas,) marks where no release
    before it drowned in rounding; a value without noise is compared wherever it is.
    """

    message: int
    name: str
    receiver: int
    observed: Array
    predicted: Array
    possible: Mask | None
    judged: Mask
    value: Array | None = None
    answer: Answer | None = None
    carried: Array | None = None

    @property
    def identical(self) -> bool:
        """Equal to the last bit."""
        return self.possible is None

    @property
    def differs(self) -> Mask:
        """Whether the two differ in any bit, (replicas,)."""
        return np.logical_not(np.all(self._same, axis=-1))

    @property
    def visible(self) -> Mask:
        """Whether the two differ by more than rounding and a random codec explain, (replicas,)."""
        if self.possible is None:
            return np.zeros(len(self.observed), dtype=bool)
        return np.logical_not(np.all(self._same | self.possible, axis=-1))

    @property
    def difference(self) -> float:
        """The largest |observed − predicted|; infinite where one is not a number."""
        with np.errstate(invalid="ignore"):
            difference = np.where(self._same, 0.0, np.abs(self.observed - self.predicted))
        return float(np.max(np.nan_to_num(difference, nan=np.inf), initial=0.0))

    @property
    def _same(self) -> Mask:
        """Mask of equal bits, (replicas, dimension)."""
        return np.equal(bits(self.observed), bits(self.predicted))


def bits(values: Array) -> NDArray[np.uint64]:
    """Bits on the wire of these values."""
    return as_sent(values).view(np.uint64)


class Sending(NamedTuple):
    """One message that the agent sent: in which activation (from 1), when it could be sent at the earliest
    (seconds: after what it had taken had arrived, and its queries were answered), how often it had done
    either in which order (`pace`), how many releases it had made, and which message it is: whom it was for
    (`EVERYBODY`, or an agent), "exchange" or "direct", the agent's count of that kind, from 0, and its fields in
    order."""

    activation: int
    time: float
    pace: int
    releases: int
    receiver: int
    kind: Kind
    number: int
    names: tuple[str, ...] = ()


class Departure(NamedTuple):
    """Place where the code, under this hypothesis, sends another `message` than was sent: `what` it does instead.

    `names`: those of the values that it sends there, where they are others; None where they are not.
    """

    message: int
    what: str
    names: tuple[str, ...] | None = None


@dataclass
class Replayed:
    """Everything the agent sent, as one hypothesis explains it.

    `departure`: the first difference in which messages there are (number, receiver, fields); what comes after
    it is not replayed. `overran`: whether it wanted to send another message where the record ends, and
    `out_of_releases` whether it wanted another release than were granted. `unreliable_from` is the activation
    from which in some replica the noise is below the rounding of the values; nothing after it is judged there.
    """

    releases: list[Release] = field(default_factory=list[Release])
    comparisons: list[Comparison] = field(default_factory=list[Comparison])
    sendings: list[Sending] = field(default_factory=list[Sending])
    departure: Departure | None = None
    overran: bool = False
    out_of_releases: bool = False
    unreliable_from: int | None = None

    def activation_of(self, message: int) -> int:
        """Activation of the `message`-th message, from 0; of the last one for later messages; 1 without any."""
        return self.sendings[min(message, len(self.sendings) - 1)].activation if self.sendings else 1

    @property
    def identical(self) -> bool:
        """Whether it sends the messages that were sent, and what no noise protects in them to the last bit."""
        return self.departure is None and all(c.identical for c in self.comparisons)
