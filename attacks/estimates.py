"""Gradient estimates: single ones of one agent, all of them with the law of their errors, and interval bounds.

Bounds come from where a proximal map, a compressor or a random weight leaves an interval. A codec's preimage is one
source: what a vector may have been, given what receivers decoded.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from attacks.probe import EXACT, UNMIXED, Law, Probed
from netsim.adversary import AdversaryView
from netsim.arguments import expect
from netsim.arrays import Array, Mask
from netsim.codecs import FLOAT64, Codec, Quantizer, RandomK, ScaledSign, TopK
from netsim.errors import AttackError, ScenarioError
from netsim.models import NOTHING, Penalty
from netsim.transcript.message import FLOAT_BYTES

SLACK = 1e-11
"""Relative: how much rounding may move an end of an interval; each end is moved outwards by it."""
CODEC_SLACK = 1e-9
"""Relative: how much a scale on the wire may be rounded."""


class GradientEstimate(NamedTuple):
    """∇f_agent(point) ≈ gradient, both (replicas, dimension).

    `query` counts the agent's gradient queries from 0; `stddev` is that of one coordinate's error, the same for
    all (0: exact up to rounding).
    """

    agent: int
    query: int
    point: Array
    gradient: Array
    stddev: float


Inversion = Callable[[AdversaryView], list[GradientEstimate]]
"""Function from a view to the estimates it determines; refuses with an `AttackError` that names what is missing."""


def check_estimates(estimates: Sequence[GradientEstimate]) -> None:
    """Raise a `ScenarioError` for what is no estimate: its shapes, its deviation, or another of the same query."""
    expect(estimates, "estimates", Sequence[GradientEstimate])
    seen = dict[tuple[int, int], int]()
    for k, one in enumerate(estimates):
        where = f"estimates[{k}]"
        for name, number in (("agent", one.agent), ("query", one.query)):
            expect(number, f"{where}.{name}", int)
            if number < 0:
                raise ScenarioError(f"{where}.{name}", number, "is negative", "counted from 0")
        for name, array in (("point", one.point), ("gradient", one.gradient)):
            check_shape(f"{where}.{name}", array, "(replicas, dimension)", (None, None))
        check_shape(f"{where}.gradient", one.gradient, "the shape of its point", one.point.shape)
        expect(one.stddev, f"{where}.stddev", float)
        if not one.stddev >= 0:
            raise ScenarioError(f"{where}.stddev", one.stddev, "is no standard deviation", "at least 0")
        if (first := seen.setdefault((one.agent, one.query), k)) != k:
            why = f"query {one.query} of agent {one.agent} is estimated twice: estimates[{first}] is of it too"
            raise ScenarioError(f"{where}.query", one.query, why, "one estimate of a query")


def check_shape(field: str, value: object, axes: str, shape: Sequence[int | None]) -> None:
    """Raise a `ScenarioError` for what is no array of this shape; an axis that is None may have any length."""
    expect(value, field, Array)
    found = np.shape(cast("Array", value))
    if len(found) != len(shape) or any(n not in (None, m) for m, n in zip(found, shape, strict=True)):
        wanted = "" if None in shape else f" = {tuple(shape)}"
        raise ScenarioError(f"{field}.shape", found, "does not fit", f"{axes}{wanted}")


def check_number(field: str, number: int, count: int, of: str) -> None:
    """Raise a `ScenarioError` for the number of none of so many agents, or queries."""
    expect(number, field, int)
    if not 0 <= number < count:
        allowed = f"0 … {count - 1}" if count else "none"
        raise ScenarioError(field, number, "there is no such one", f"{allowed}, for there are {count} {of}")


def check_lossless(view: AdversaryView) -> None:
    """You get an `AttackError` where a codec changes what is sent: no estimate would be as exact as stated."""
    if not view.public.codec.lossless:
        raise AttackError(f"{view.public.codec} changes what is sent: the inversion is for float64 on the wire")


@dataclass(frozen=True)
class Evidence:
    """∇f_agent(points[t]) ≈ gradients[t], in order of the agent's `queries`.

    `points`, `gradients` (rounds, replicas, dimension); `covariance` (rounds, rounds, dimension): of the errors of
    each coordinate, between rounds; coordinates are independent, and 0 is exact up to rounding. One for all may be a
    view of (rounds, rounds, 1) that is broadcast: its last stride is 0. `law` is that of the errors where it is
    known, else None: "laplace": they are independent between rounds too. What is not identifiable, or was
    made at an unknown point, is not in here; `hidden` counts it. `rounding` (rounds,): how far rounding alone may
    move a coordinate; None where nothing is known to amplify it.
    """

    agent: int
    queries: tuple[int, ...]
    points: Array
    gradients: Array
    covariance: Array
    law: Law | None = "gaussian"
    hidden: int = 0
    rounding: Array | None = None

    @classmethod
    def of(cls, estimates: Sequence[GradientEstimate], law: Law | None = "gaussian") -> "Evidence":
        """Evidence from the estimates of one agent, their errors independent. You get an `AttackError` without
        any, and a `ScenarioError` for those of several."""
        check_estimates(estimates)
        if not estimates:
            raise AttackError("no gradient estimate of this agent: nothing to reconstruct from")
        if others := {e.agent for e in estimates} - {estimates[0].agent}:
            agents = sorted({estimates[0].agent, *others})
            raise ScenarioError(
                "estimates", agents, "are of several agents", "Evidence.each(estimates): one for each"
            )
        for k, one in enumerate(estimates):
            check_shape(f"estimates[{k}].point", one.point, "that of the others", estimates[0].point.shape)
        points = np.array([e.point for e in estimates])
        variances = np.array([e.stddev**2 for e in estimates])
        covariance = np.broadcast_to(np.diag(variances)[..., None], (*np.diag(variances).shape, points.shape[-1]))
        queries = tuple(e.query for e in estimates)
        return cls(estimates[0].agent, queries, points, np.array([e.gradient for e in estimates]), covariance, law)

    @classmethod
    def each(cls, estimates: Sequence[GradientEstimate], law: Law | None = "gaussian") -> list["Evidence"]:
        """One for each agent among the estimates, in order of agents."""
        check_estimates(estimates)
        by_agent: dict[int, list[GradientEstimate]] = {}
        for estimate in estimates:
            by_agent.setdefault(estimate.agent, []).append(estimate)
        return [cls.of(own, law) for _, own in sorted(by_agent.items())]

    @classmethod
    def probed(cls, found: Probed) -> "Evidence":
        """All gradients at known points that a probe identified.

        You get an `AttackError` where there is none.
        """
        known = np.flatnonzero(found.identifiable & found.located)
        if not known.size:
            raise AttackError(f"no gradient of agent {found.agent} is identifiable: nothing to reconstruct from")
        covariance, laws = _block(found.covariance, known), {found.law[t] for t in known.tolist()}
        law: Law | None = "gaussian" if laws == {"gaussian"} else None
        if laws == {"laplace"}:  # that of all together only where they are independent
            block = covariance if covariance.strides[-1] else covariance[..., :1]
            apart, scale = block.copy(), np.sqrt(np.einsum("ttd->td", block))
            np.einsum("ttd->td", apart)[:] = 0.0
            independent = np.all(np.abs(apart) <= UNMIXED**0.5 * scale[:, None] * scale[None, :])
            law = "laplace" if independent else None
        return cls(
            found.agent,
            tuple(known.tolist()),
            found.points[known],
            found.gradients[known],
            covariance,
            law,
            len(found.identifiable) - len(known),
            found.rounding[known],
        )

    @property
    def rounds(self) -> int:
        return len(self.points)

    @property
    def replicas(self) -> int:
        return self.points.shape[1]

    @property
    def exact(self) -> bool:
        """Whether every estimate is exact up to rounding, and rounding small beside it."""
        if self.rounding is None:
            return not np.any(self.covariance[..., :1] if self.alike else self.covariance)
        size = np.max(np.abs(self.gradients), axis=(1, 2), initial=0.0)
        return bool(np.all(self.stddev <= self.rounding[:, None]) and np.all(self.rounding <= EXACT * size))

    @property
    def alike(self) -> bool:
        """Whether one covariance was given for all coordinates; without it they may be equal all the same."""
        return self.covariance.strides[-1] == 0

    @property
    def independent(self) -> bool:
        """Whether the errors of different rounds are uncorrelated."""
        between = self.covariance[..., :1] if self.alike else self.covariance
        return not np.any(between[~np.eye(self.rounds, dtype=np.bool_)])

    @property
    def stddev(self) -> Array:
        """Deviation of each estimate's error, (rounds, dimension)."""
        return np.sqrt(np.maximum(np.einsum("ttd->td", self.covariance), 0.0))

    def estimates(self) -> list[GradientEstimate]:
        """One by one; of evidence that is as uncertain in every coordinate."""
        each = zip(self.queries, self.points, self.gradients, self.stddev[:, 0].tolist(), strict=True)
        return [GradientEstimate(self.agent, *one) for one in each]

    def without(self, penalty: Penalty) -> Array:
        """The gradients of the mean loss alone, (rounds, replicas, dimension): what is public is subtracted."""
        return self.gradients if penalty == NOTHING else self.gradients - penalty.gradient(self.points)

    def only(self, rounds: Sequence[int]) -> "Evidence":
        """These of its estimates, by position."""
        chosen = list(rounds)
        return Evidence(
            self.agent,
            tuple(self.queries[t] for t in chosen),
            self.points[chosen],
            self.gradients[chosen],
            _block(self.covariance, chosen),
            self.law,
            self.hidden,
            None if self.rounding is None else self.rounding[chosen],
        )


def _block(covariance: Array, rounds: Sequence[int] | NDArray[np.intp]) -> Array:
    """Rows and columns of (rounds, rounds, dimension); what holds for all coordinates is kept once."""
    chosen = np.asarray(rounds, dtype=np.intp)
    cells = np.ix_(chosen, chosen)
    if covariance.strides[-1]:
        return covariance[cells]
    return np.broadcast_to(covariance[..., 0][cells][..., None], (len(chosen), len(chosen), covariance.shape[-1]))


class GradientBounds(NamedTuple):
    """low ≤ ∇f_agent(y) ≤ high, coordinate by coordinate, for a y between the `points`; all (replicas, dimension).

    `query` counts the agent's gradient queries from 0. `stddev`, (replicas, dimension) or 0: of noise that the bounds
    do not hold, mean 0: gradient + noise lies between them. Nothing else is assumed: without noise the true gradient
    is inside, rounding included.
    """

    agent: int
    query: int
    points: tuple[Array, Array]
    low: Array
    high: Array
    stddev: Array | float = 0.0

    @property
    def exact(self) -> Mask:
        """Mask of where low and high are one, up to 1e-8."""
        return self._narrower(1e-8)

    def _narrower(self, share: float) -> Mask:
        size = np.maximum(1.0, np.maximum(np.abs(self.low), np.abs(self.high)))
        with np.errstate(invalid="ignore"):
            return np.isfinite(size) & (self.high - self.low <= share * size)

    @property
    def middle(self) -> Array:
        """Halfway; ±∞ where one side is open, and not a number where both are."""
        with np.errstate(invalid="ignore"):
            return (self.low + self.high) / 2

    @property
    def uniform(self) -> Array:
        """The standard deviations of the middles' errors, were all numbers between the bounds equally likely.

        Bounds that rounding alone keeps apart count as one number.
        """
        with np.errstate(invalid="ignore"):
            width = np.where(self._narrower(10 * SLACK), 0.0, self.high - self.low)
        return np.sqrt(width**2 / 12 + np.square(self.stddev))


def root_mean_square(values: Array) -> float:
    """Over all of them."""
    return math.sqrt(float(np.mean(np.square(values))))


class Interval(NamedTuple):
    """Numbers between `low` and `high`, (replicas, dimension) each."""

    low: Array
    high: Array

    @classmethod
    def at(cls, value: Array) -> "Interval":
        return cls(value, value)


def preimage(codec: Codec, decoded: Array) -> Interval:
    """low ≤ v ≤ high for every v that becomes `decoded`, (replicas, dimension), whatever the dither; ±∞ included.

    - lossless: v itself. Codecs of single coordinates: their cells.
    - `TopK`: what was sent is v; of the others |v| is at most the least magnitude that was sent, 0 if fewer than k
      were.
    - `RandomK`: what was sent is v; of the others nothing is known.
    - `Quantizer`: within one level of ξ·decoded, with its sign, the level being on the wire.
    - `ScaledSign`: the sign, and |v| at most the ℓ1 norm.

    You get an `AttackError` for another codec.
    """
    if codec.lossless:
        return Interval.at(decoded)
    if isinstance(codec, TopK):
        sent = decoded != 0
        full = np.sum(sent, axis=-1, keepdims=True) >= codec.kept(decoded.shape[-1])
        least = np.min(np.where(sent, np.abs(decoded), np.inf), axis=-1, keepdims=True)
        room = np.where(sent | ~full, 0.0, least)
        return Interval(decoded - room, decoded + room)
    if isinstance(codec, RandomK):
        open_ = np.where(decoded == 0, np.inf, 0.0)
        sent = decoded / (decoded.shape[-1] / codec.kept(decoded.shape[-1])) if codec.unbiased else decoded
        slack = CODEC_SLACK * np.abs(sent) if codec.unbiased else 0.0
        return Interval(sent - open_ - slack, sent + open_ + slack)
    if isinstance(codec, Quantizer):
        # v/(ξ·unit) lies within one of the level; a scale with a common factor put in only makes the bounds wider
        shrinkage = codec.shrinkage(decoded.shape[-1])
        unit = shrinkage * np.array([FLOAT64.unpack(codec.pack(row)[:FLOAT_BYTES], 1) for row in decoded])
        value, room = shrinkage * decoded, unit * (1 + CODEC_SLACK)
        with np.errstate(invalid="ignore"):
            low, high = value - room, value + room
        low, high = (
            np.where(decoded > 0, np.maximum(low, 0.0), low),
            np.where(decoded < 0, np.minimum(high, 0.0), high),
        )
        nothing = (unit == 0) & (codec.norm == "l2")  # all levels 0: of any norm
        return Interval(np.where(nothing, -np.inf, low), np.where(nothing, np.inf, high))
    if isinstance(codec, ScaledSign):
        most = np.abs(decoded) * decoded.shape[-1] * (1 + CODEC_SLACK)
        return Interval(np.where(decoded < 0, -most, 0.0), np.where(decoded < 0, 0.0, most))
    if (cells := codec.cells(decoded)) is not None:
        return Interval(*cells)
    raise AttackError(f"{codec}: no bounds are known of what was sent before it")
