"""A `Node` whose private gradients and unseen noise are given, and whose releases are those that were observed.

What the code then makes of a value that was observed is one equation for the gradients:

- a release on the wire:       value(g) + noise = observed;
- any other value on the wire: value(g) = observed;
- objective perturbation:      v − step·(g + noise) = observed x, where g is the gradient at x.

A release that is not on the wire as it was released (it is compressed, or only sent on in a sum) goes on as
value + noise with noise that is given too: one more unknown, of known law. Noise has its mean taken out, so that
what is unknown of it has mean 0.

The agent's private coins are not known and not needed: whom a message went to was observed, and the gradient of a
batch is one unknown whichever records are in it. Which these are is noted where the code names them, or takes them
from a subset.

`ProbeNode` is the private half of the port, the same for all victims. Where messages come from is the other half:
`RecordedAgent` feeds one agent from what was observed around it, `attacks.probe.network` many from each other.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple, cast

import numpy as np

from attacks.replay.coins import Coins, Drawn, Unseen, from_start
from attacks.replay.recorded import RecordedNode, Recording, check_whole
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian, Mechanism, OffCenter, UniformModulo
from netsim.models.model import Regularizer, Zero
from netsim.node import own_share, share_factor
from netsim.transcript.message import Kind, Record, Values

Field = tuple[int, Kind | Literal["release"], int, str]
"""A value on the wire: sender, kind and number of the message, name. Or a release that is granted: its agent, its
number, and no name."""
Query = tuple[int, int]
"""An agent, and which of its private queries, from 0."""
Release = tuple[int, int]
"""An agent, and which of its releases with noise, from 0."""
Seed = tuple[int, int, int]
"""Two neighbors, the smaller number first, and which draw of the seed that they share."""
Unknown = tuple[Literal["gradient", "noise", "gap"], int, int] | tuple[Literal["seed"], int, int, int]
"""The gradient of an agent's query, the noise of an agent's release, the k-th gap (and its sender), or the noise, of
variance 1, of a draw of a shared seed."""
Shape = tuple[int, int]
Batch = tuple[int | Drawn, ...] | None
"""Records of a query: numbers, or what coins chose unseen; None where it is not known which."""


def not_repeated(agent: int) -> str:
    """The beginning of an error: a replay without the private data sends something else."""
    return (
        f"run again without its private data, agent {agent}'s code sends other messages than were recorded: private "
        "data decide which messages it sends, or this is not the code that ran"
    )


class Gap(NamedTuple):
    """A value that the agent received and nobody observed: whose, in which message of that kind, and its field."""

    sender: int
    kind: Kind
    number: int
    name: str


class _Equation(NamedTuple):
    """Equation of a value that was observed: value + factor · noise = observed, (replicas, dimension).

    `release` is the one whose noise (its mean taken out) lies between them, None if none does, and `seeds` the noise
    from shared seeds, with its factors. `size`: the largest number, absolute, that the agent had computed with by
    then.
    """

    field: Field
    value: Array
    observed: Array
    release: Release | None
    factor: float
    size: float
    seeds: tuple[tuple[Seed, float], ...] = ()


@dataclass
class Pass:
    """One run of the victims' code: `points` of each agent's queries and `mechanisms` of its releases, in order.

    `unseen` are the releases that were observed nowhere as they were made; `seeds` the draws of shared seeds, and
    whether one is in such a release; `carriers` the observed fields that each
    release was put in verbatim (only where the pass looks for them); `gaps` the values that were received and not
    observed. `chancy`: whether anything happened by chance; `chosen`: messages whose receiver coins chose, the first
    one to the same receiver, and among whom they chose; `batches`: the records of each query that was for some only;
    `overran`: whether the code goes on to send where the record ends; `sent`: a recorded agent's messages, in order,
    and of each the activation and the pace at which it was ready: what queries and arrivals it waited for.
    """

    equations: list[_Equation] = field(default_factory=list[_Equation])
    points: dict[int, list[Array]] = field(default_factory=dict[int, list[Array]])
    mechanisms: dict[int, list[Mechanism]] = field(default_factory=dict[int, list[Mechanism]])
    unseen: list[Release] = field(default_factory=list[Release])
    seeds: dict[Seed, bool] = field(default_factory=dict[Seed, bool])
    carriers: dict[Release, list[Field]] = field(default_factory=dict[Release, list[Field]])
    gaps: list[Gap] = field(default_factory=list[Gap])
    chancy: bool = False
    chosen: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list[tuple[int, int, tuple[int, ...]]])
    batches: dict[Query, Batch] = field(default_factory=dict[Query, Batch])
    overran: bool = False
    sent: list[tuple[Kind, int, int, int]] = field(default_factory=list[tuple[Kind, int, int, int]])

    @property
    def queries(self) -> list[Query]:
        """All of them, agent by agent."""
        return [(agent, t) for agent, points in sorted(self.points.items()) for t in range(len(points))]

    @property
    def releases(self) -> list[Release]:
        """All of them, agent by agent."""
        return [(agent, k) for agent, made in sorted(self.mechanisms.items()) for k in range(len(made))]


class Inputs(NamedTuple):
    """Inputs of a pass, in its own `shape`. `observe` brings a value that was observed to that shape; `given` is
    the value of everything unknown, (replicas, dimension). `places`: the field in which each release was
    observed, None for the pass that finds them; `verbatim`: all fields that held a release as it was made, and which;
    a field that holds anything else in a pass has an equation there. `chance`
    draws what nobody saw. Only with `points` it is kept where queries were made and how large numbers became."""

    shape: Shape
    observe: Callable[[Array], Array]
    given: Callable[[Unknown], Array]
    places: Mapping[Release, Field] | None = None
    verbatim: Mapping[Field, Release] = MappingProxyType({})
    chance: int = 0
    points: bool = True


class _ShapeError(AttackError):
    """The code made an array whose shape is not (replicas, dimension), where these are not the run's own."""


class ProbeNode(ABC):
    """The private half of one agent's port in a pass."""

    id: int
    neighbors: tuple[int, ...]
    weights: Array
    regularizer: Regularizer
    sent: int
    """Number of messages that the agent has sent."""
    hessian: Array | None = None
    """(dimension, dimension), or (1, 1) for all coordinates: of an objective that is known to be quadratic. Then what
    is unknown of each of its gradients is the part that is the same everywhere."""
    _inputs: Inputs
    _found: Pass

    def _begin(self, inputs: Inputs, found: Pass) -> None:
        self._inputs, self._found = inputs, found
        self._points = found.points.setdefault(self.id, [])
        self._mechanisms = found.mechanisms.setdefault(self.id, [])
        self._made: dict[int, tuple[Release, Array, Array]] = {}
        """What the code was handed as a release, by its id, which is its own while it lives; and as it was then."""
        self._largest = 0.0
        self._draws = 0

    @abstractmethod
    def _observed(self, field: Field) -> Array:
        """Observed value of this agent, in the shape of the pass."""

    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:
        gradient = self._unknown_gradient()
        if self.hessian is not None:
            gradient = gradient + (x @ self.hessian if len(self.hessian) > 1 else x * self.hessian)
        if batch is not None:
            self._found.batches[self.id, len(self._points)] = _named(batch)
        self._query_at(x)
        return gradient

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:
        """x = prox_{step·r}(v − step·g), where g is the gradient at x."""
        x = self._reached(v - step * self._unknown_gradient(), step, regularized)
        if regularized and not isinstance(self.regularizer, Zero):
            x = self.regularizer.proximal(x, step)
        self._query_at(x)
        return x

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:
        """x = v − step·(g + b), where g is the gradient at x and b the noise."""
        if mechanism.noiseless:
            return await self.proximal(v, step)
        if self.hessian is not None:
            raise AttackError("an objective that is known and perturbed is no affine function of its noise alone")
        x = self._released(v - step * (self._unknown_gradient() + _mean(mechanism)), mechanism, -step)
        self._query_at(x)
        return x

    def privatize(
        self, value: Array, mechanism: Mechanism, shared: Gaussian | None = None, draw: int | None = None
    ) -> Array:
        if shared is None or shared.noiseless:
            return value if mechanism.noiseless else self._released(value + _mean(mechanism), mechanism, 1.0)
        which, self._draws = self._draws if draw is None else draw, self._draws + 1
        size = float(shared.stddev)
        seeds = tuple(
            ((min(self.id, j), max(self.id, j), which), size if self.id < j else -size) for j in self.neighbors
        )
        return self._released(value + _mean(mechanism), mechanism, 1.0, seeds)

    def split(self, value: Array, mechanism: Gaussian) -> dict[int, Array]:
        if mechanism.noiseless:
            return dict.fromkeys((self.id, *self.neighbors), value)
        made = [self._released(np.zeros(self._inputs.shape), mechanism, 1.0) for _ in self.neighbors]
        noise = np.einsum("vj,jrd->vrd", share_factor(self.weights), np.array(made))
        shares = [value + one for one in noise]
        return {self.id: own_share(value, shares, self.weights), **dict(zip(self.neighbors, shares, strict=True))}

    def _reached(self, v: Array, step: float, regularized: bool) -> Array:
        """Solution x of x + step·Hx = v."""
        if self.hessian is None:
            return v
        if regularized and not isinstance(self.regularizer, Zero):
            raise AttackError("a proximal point of a known objective and a regularizer together is not worked out")
        if len(self.hessian) == 1:
            return v / (1 + step * self.hessian)
        return np.asarray(np.linalg.solve(np.eye(len(self.hessian)) + step * self.hessian, v.T).T, dtype=np.float64)

    def _unknown_gradient(self) -> Array:
        """A copy, which the code may change in place as it may a gradient."""
        return self._sized(self._inputs.given(("gradient", self.id, len(self._points)))).copy()

    def _query_at(self, x: Array) -> None:
        self._points.append(self._sized(x).copy() if self._inputs.points else _NOWHERE)

    def _released(
        self, value: Array, mechanism: Mechanism, factor: float, seeds: tuple[tuple[Seed, float], ...] = ()
    ) -> Array:
        """value + factor · noise, as observed if it was."""
        if isinstance(mechanism, UniformModulo):
            raise AttackError(
                f"agent {self.id} releases a share modulo {mechanism.modulus} (UniformModulo) before its message "
                f"{self.sent}: it is no affine function of gradients and noise, and a probe cannot invert it"
            )
        check_whole(self.id, mechanism, AttackError)
        release = self.id, len(self._mechanisms)
        self._mechanisms.append(mechanism)
        if self._inputs.places is None:
            return self._handed(release, value)
        place = self._inputs.places.get(release) or self._granted(release)
        for seed, _ in seeds:
            self._found.seeds[seed] = self._found.seeds.get(seed, False) or place is None
        if place is None:
            self._found.unseen.append(release)
            for seed, by in seeds:
                value = value + by * self._inputs.given(("seed", *seed))
            return value + factor * self._inputs.given(("noise", *release))
        observed = self._observed(place)
        self._equate(place, value, observed, release, factor, seeds)
        return self._handed(release, observed)

    def _granted(self, release: Release) -> Field | None:  # noqa: ARG002
        """The place of a release that no message carries and that is taken for observed."""
        return None

    def _handed(self, release: Release, value: Array) -> Array:
        handed = value.copy()
        handed.setflags(write=False)  # as a run's own
        self._made[id(handed)] = release, handed, value.copy()
        return handed

    def _released_as(self, value: Array) -> Release | None:
        """The release that a value is, as it was handed out; None: it is another, or was changed in place."""
        release, _, before = self._made.get(id(value), (None, None, value))
        return release if np.array_equal(value, before, equal_nan=True) else None

    def _put_on_wire(self, field: Field, value: Array, observed: Array) -> None:
        """A value of the code is sent, and it is known what was sent."""
        if (release := self._released_as(value)) is not None:
            self._found.carriers.setdefault(release, []).append(field)
        if release is None or self._inputs.verbatim.get(field) != release:
            self._equate(field, value, observed, None, 0.0)

    def _equate(
        self,
        field: Field,
        value: Array,
        observed: Array,
        release: Release | None,
        factor: float,
        seeds: tuple[tuple[Seed, float], ...] = (),
    ) -> None:
        if value.shape != self._inputs.shape:
            raise _ShapeError(f"agent {self.id} sends {field[3]!r} as an array of shape {value.shape}")
        self._sized(value)
        self._sized(observed)
        self._found.equations.append(_Equation(field, value.copy(), observed, release, factor, self._largest, seeds))

    def _sized(self, value: Array) -> Array:
        if self._inputs.points:
            self._largest = max(self._largest, float(np.max(np.abs(value), initial=0.0)))
        return value


def _named(batch: Sequence[int]) -> Batch:
    """The records of a batch that the code has named, by their number or as what coins chose unseen; else None."""
    if not isinstance(batch, list | tuple | range | np.ndarray):  # to look into what coins drew would toss them
        return None
    named = [_named_one(k) for k in batch]
    return None if None in named else tuple(k for k in named if k is not None)


def _named_one(record: object) -> int | Drawn | None:
    if type(record) is Unseen:
        return int(record) if record.tossed else record.drawn
    return int(cast(int, record)) if type(record) is int or isinstance(record, np.integer) else None


class RecordedAgent:
    """One victim, fed with what was observed around it, gaps included: they are unknowns of any value, or of a law.

    What the agent sent and nobody observed is no equation.
    """

    alone = True
    substituted = True

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.shape: Shape = (recording.replicas, recording.public.dimension)

    def run(self, inputs: Inputs) -> Pass:
        found = Pass()
        node = _RecordedProbeNode(self._in_shape(inputs), inputs, found)
        node.read()
        if node.departure is not None:
            what = f"message {node.departure.message}: it {node.departure.what}"
            raise AttackError(f"{not_repeated(node.id)} ({what})")
        found.overran = node.overran
        if isinstance(node.coins, Coins):
            node.coins.end()
        return found

    def _in_shape(self, inputs: Inputs) -> Recording:
        recording = self._recording
        coins = from_start(recording.coins)  # every pass tosses the same
        rows = tuple(
            row._replace(values={name: inputs.observe(v) if v.size else v for name, v in row.values.items()})
            for row in recording.rows
        )
        granted = tuple(map(inputs.observe, recording.granted))
        return recording._replace(replicas=inputs.shape[0], rows=rows, coins=coins, granted=granted)


class _RecordedProbeNode(ProbeNode, RecordedNode):
    """The port of a recorded agent."""

    blind_to_receivers = True

    def __init__(self, recording: Recording, inputs: Inputs, found: Pass) -> None:
        RecordedNode.__init__(self, recording)
        self.replicas, self.dimension = inputs.shape
        self._releases = recording.granted
        self._chosen: dict[int, tuple[int, int]] = {}
        self._begin(inputs, found)

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:
        if not mechanism.noiseless and not self._unsent:
            raise self._end()
        return await super().perturbed_proximal(v, step, mechanism)

    def privatize(
        self, value: Array, mechanism: Mechanism, shared: Gaussian | None = None, draw: int | None = None
    ) -> Array:
        """Noise from shared seeds, where it is known what the listener knows of it, is as much as is left of it."""
        law, at = self._shared_law, self._draws
        if shared is None or shared.noiseless or law is None:
            return super().privatize(value, mechanism, shared, draw)
        if at >= len(law.mean):
            raise self._end()
        if np.any(law.covariance[at, :at]):
            raise AttackError(f"agent {self.id} uses noise from shared seeds again: releases share their noise")
        self._draws += 1
        left = Gaussian(float(np.sqrt(law.covariance[at, at])))
        return super().privatize(value + self._inputs.observe(law.mean[at]), left)

    def _observed(self, field: Field) -> Array:
        _, kind, number, name = field
        if kind != "release":
            return self._outgoing[kind, number].values[name]
        return self._releases[number]

    def _granted(self, release: Release) -> Field | None:
        known = self._unsent and release[1] < len(self._releases)
        return (self.id, "release", release[1], "") if known else None

    def _goes(self, to: int, receiver: int) -> bool:
        """A receiver that coins choose, and that decides nothing else, may be anybody."""
        if isinstance(to, Unseen) and not to.opened:
            _, first = self._chosen.setdefault(id(to), (to, self.sent))
            self._found.chosen.append((self.sent, first, tuple(to.options)))
            return True
        return to == receiver

    def _stand_in(self, sender: int, kind: Kind, number: int, name: str) -> Array:
        gaps = self._found.gaps
        gaps.append(Gap(sender, kind, number, name))
        return self._sized(self._inputs.given(("gap", sender, len(gaps) - 1)))

    def _seen(self, row: Record) -> None:
        for value in row.values.values():
            self._sized(value)

    def _query_at(self, x: Array) -> None:
        super()._query_at(x)
        self._asked()

    def _sent(self, row: Record, values: Values) -> None:
        self._found.sent.append((row.kind, row.number, self.activation, self.pace))
        for name, value in values.items():
            self._put_on_wire((self.id, row.kind, row.number, name), value, row.values[name])


_NOWHERE = np.zeros((0, 0))


def _mean(mechanism: Mechanism) -> Array | float:
    return mechanism.mean() if isinstance(mechanism, OffCenter) else 0.0
