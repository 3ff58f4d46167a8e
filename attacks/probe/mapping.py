"""How what an agent sends depends on what is unknown, read off its own code on what was observed.

The code is run with all unknowns 0 (what it would have sent: the offsets), with unit impulses, one unknown per
replica (the linear map), and with random values (is the map affine at all?). Then

    y = offset + C g + N u + D n,

g the private gradients, u the values that the agent took and nobody heard, n the noise of releases that are not on
the wire. A release that is on the wire adds its noise to its own row of y.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from attacks.probe.prober import Gap, Given, Prober
from attacks.replay.recorded import Recording, Slot, find_releases
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.transcript.record import Record

AFFINE = 1e-7
"""Relative: what an affine map may miss by rounding, of a value's own size."""
ROUNDING = 1e-12
"""And of the largest of all values."""
ALIKE = 1e-12
"""Relative: coefficients of two readings of a map that are the same."""
LOST = 64
"""And how many units in the last place of the largest number carried they may differ by."""

Prior = Callable[[Gap], tuple[Array, float] | None]
"""What is known of a value that was not heard: its mean, which broadcasts against (replicas, dimension), and the
standard deviation of a coordinate (Gaussian); None: nothing, it may be any."""


class Unknowns(NamedTuple):
    """One value of everything that is unknown: `gradients` (queries, replicas, dimension), `gaps` (gaps, …), less
    what a prior expects of them, and `noises` (unseen releases, …)."""

    gradients: Array
    gaps: Array
    noises: Array

    def times(self, factor: float) -> "Unknowns":
        return Unknowns(factor * self.gradients, factor * self.gaps, factor * self.noises)


class Map(NamedTuple):
    """`design` C, `gaps` N, `mixing` D, each (equations, unknowns, dimension); `moving` (queries, queries + gaps,
    dimension): how the points of the queries move with g and u."""

    design: Array
    gaps: Array
    mixing: Array
    moving: Array


class Mapping:
    """All passes of one agent's code on one recording.

    You get an `AttackError` where the code, on what was observed, sends other messages than were sent.
    """

    def __init__(self, recording: Recording, prior: Prior | None = None) -> None:
        self.recording, self._prior = recording, prior
        self.shape = (recording.replicas, recording.public.dimension)
        self._slots: dict[int, Slot] = find_releases(_rewound(recording))
        zeros = np.zeros(self.shape)
        self.base = self._pass(recording, lambda _: zeros, lambda _: zeros, lambda _: zeros)
        """With all unknowns 0."""
        self.unseen = [k for k, seen in enumerate(self.base.seen) if not seen]
        """The releases whose noise is an unknown of its own."""

    @property
    def queries(self) -> int:
        return len(self.base.points)

    @property
    def gaps(self) -> list[Gap]:
        """The values that were taken and not heard, in order."""
        return self.base.gaps

    def deviation(self, gap: Gap) -> float | None:
        """The standard deviation that the prior gives it, None without one."""
        known = None if self._prior is None else self._prior(gap)
        return None if known is None else known[1]

    def at(self, unknowns: Unknowns, copies: int = 1) -> Prober:
        """The pass with these values; of so many `copies` of all replicas, one after the other."""
        gradients, gaps, noises = unknowns
        replicas, dimension = self.shape
        shape = copies * replicas, dimension
        place = {k: j for j, k in enumerate(self.unseen)}
        told = self._pass(
            self.recording if copies == 1 else _copied(self.recording, copies),
            lambda t: _nth(gradients, t, shape),
            lambda k: _nth(noises, place.get(k, len(noises)), shape),
            lambda k: _nth(gaps, k, shape),
            copies=copies,
        )
        self._check_same(told, copies=copies)
        return told

    def read(self) -> Map:
        """The linear map, read on what was observed, and on zeros in its place.

        Beside large values impulses lose digits: where the two are the same up to that, the one on zeros is exact.
        """
        heard = self._read(self.recording.rows)
        try:
            clean = self._read(_zeroed(self.recording.rows))
        except AttackError:
            return heard
        largest = max([1.0, *self.base.sizes])
        rounding = LOST * float(np.finfo(np.float64).eps) * largest
        same = all(
            np.all(np.abs(one - other) <= ALIKE * np.abs(one) + rounding)
            for one, other in zip(heard, clean, strict=True)
        )
        return clean if same else heard

    def _read(self, rows: tuple[Record, ...]) -> Map:
        """Unit impulses: what clips or projects has to do nothing at their size."""
        queries, gaps = self.queries, len(self.gaps)
        worlds, dimension = 1 + queries + gaps + len(self.unseen), self.shape[1]
        recording = self.recording._replace(replicas=worlds, rows=_repeated(rows, worlds))
        told = self._pass(
            recording,
            _impulses(worlds, dimension, {t: 1 + t for t in range(queries)}),
            _impulses(worlds, dimension, {k: 1 + queries + gaps + j for j, k in enumerate(self.unseen)}),
            _impulses(worlds, dimension, {k: 1 + queries + k for k in range(gaps)}),
            alike=True,
        )
        self._check_same(told, variances=False)
        values = np.array([e.value for e in told.equations]).reshape(-1, worlds, dimension)
        change = values[:, 1:] - values[:, :1]
        points = np.array(told.points)
        return Map(
            change[:, :queries],
            change[:, queries : queries + gaps],
            change[:, queries + gaps :],
            points[:, 1 : 1 + queries + gaps] - points[:, :1],
        )

    def drawn(self, around: Unknowns, spread: float) -> Unknowns:
        """Values `around` some; `spread` is the deviation in units of the largest there, or of 1 around 0."""
        rng = np.random.default_rng(0)

        def near(values: Array, about: bool) -> Array:
            size = np.max(np.abs(values), axis=(0, 2), keepdims=True) if np.any(values) else 1.0
            return (values if about else 0.0) + spread * size * rng.standard_normal(values.shape)

        return Unknowns(near(around.gradients, True), near(around.gaps, True), near(around.noises, True))

    def check_affine(self, linear: Map, unknowns: Unknowns, told: Prober, copies: int = 1) -> None:
        """The pass `told` with these values moved every value as the map says, in every replica of every copy."""
        pairs = list(zip(told.equations, self.base.equations, strict=True))
        largest = max((float(np.max(np.abs(e.value))) for pair in pairs for e in pair), default=0.0)
        rounding = ROUNDING * max(1.0, largest)
        for (e, base), c, n, d in zip(pairs, linear.design, linear.gaps, linear.mixing, strict=True):
            before = np.tile(base.value, (copies, 1))
            moved = _moved(c, unknowns.gradients) + _moved(n, unknowns.gaps) + _moved(d, unknowns.noises)
            scale = np.max(np.abs(e.value)) + np.max(np.abs(before)) + np.max(np.abs(moved))
            if not np.max(np.abs(e.value - before - moved)) <= AFFINE * scale + rounding:
                self._check_repeats()
                raise AttackError(
                    f"what agent {self.recording.agent} sends as {e.what!r} in its message {e.message} is no affine "
                    f"function of {self._unknown}: a probe cannot invert it"
                )

    @property
    def _unknown(self) -> str:
        return "its gradients and what was not heard" if self.gaps else "its gradients"

    def _pass(
        self,
        recording: Recording,
        gradients: Given,
        noises: Given,
        gaps: Given,
        alike: bool = False,
        copies: int = 1,
    ) -> Prober:
        def incoming(k: int, gap: Gap) -> Array:
            known = None if self._prior is None else self._prior(gap)
            if known is None:
                return gaps(k)
            mean = np.broadcast_to(known[0], self.shape)
            return (mean[:1] if alike else np.tile(mean, (copies, 1))) + gaps(k)

        prober = Prober(_rewound(recording), self._slots, gradients, noises, incoming)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            prober.read()
        if prober.departure is not None:
            what = f"message {prober.departure.message}: it {prober.departure.what}"
            raise AttackError(f"agent {recording.agent}'s code does not send what was sent ({what})")
        return prober

    def _check_same(self, told: Prober, variances: bool = True, copies: int = 1) -> None:
        """The same questions, equations and noises as without any unknown."""
        base, agent = self.base, self.recording.agent
        ours = len(told.points), len(told.equations), len(told.variances), len(told.gaps)
        if ours != (len(base.points), len(base.equations), len(base.variances), len(base.gaps)):
            raise AttackError(f"what agent {agent} sends is no affine function of {self._unknown}")
        if not variances:
            return
        for k, (here, variance) in enumerate(zip(told.variances, base.variances, strict=True)):
            before = np.tile(variance, (copies, 1)) if np.ndim(variance) == 2 and len(variance) > 1 else variance
            if not np.allclose(here, before, rtol=1e-9, atol=0.0):
                raise AttackError(
                    f"how much noise agent {agent} puts on its release {k} depends on {self._unknown}: "
                    "a probe cannot invert it"
                )

    def _check_repeats(self) -> None:
        """What the code makes of the same answers must be the same twice."""
        zeros = np.zeros(self.shape)
        again = self._pass(self.recording, lambda _: zeros, lambda _: zeros, lambda _: zeros)
        for e, before in zip(again.equations, self.base.equations, strict=True):
            if not np.array_equal(e.value, before.value, equal_nan=True):
                raise AttackError(
                    f"what agent {self.recording.agent} sends as {e.what!r} in its message {e.message} is not the "
                    "same twice: something random did not come through its node"
                )


def _moved(change: Array, by: Array) -> Array:
    return np.einsum("td,trd->rd", change, by)


def _nth(values: Array, k: int, shape: tuple[int, int]) -> Array:
    return values[k] if k < len(values) else np.zeros(shape)


def _impulses(worlds: int, dimension: int, places: dict[int, int]) -> Given:
    def given(k: int) -> Array:
        values = np.zeros((worlds, dimension))
        if k in places:
            values[places[k]] = 1.0
        return values

    return given


def _repeated(rows: tuple[Record, ...], worlds: int) -> tuple[Record, ...]:
    """The first replica of everything, as often as there are worlds."""
    return tuple(
        row._replace(values={name: np.repeat(value[:1], worlds, axis=0) for name, value in row.values.items()})
        for row in rows
    )


def _zeroed(rows: tuple[Record, ...]) -> tuple[Record, ...]:
    """With zeros for everything observed."""
    return tuple(
        row._replace(values={name: np.zeros_like(value) for name, value in row.values.items()}) for row in rows
    )


def _copied(recording: Recording, copies: int) -> Recording:
    """All replicas of everything, so many times."""
    rows = tuple(
        row._replace(values={name: np.tile(value, (copies, 1)) for name, value in row.values.items()})
        for row in recording.rows
    )
    return recording._replace(replicas=copies * recording.replicas, rows=rows)


def _rewound(recording: Recording) -> Recording:
    """With coins of its own: every pass tosses the same."""
    coins = np.random.Generator(type(recording.coins.bit_generator)())
    coins.bit_generator.state = recording.coins.bit_generator.state
    return recording._replace(coins=coins)
