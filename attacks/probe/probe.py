"""From the messages of one agent to the best unbiased estimate of its private gradients.

The agent's public code is run three times on what was observed: with zero gradients (what it would have sent:
the offsets), with unit impulses, one unknown per replica (the linear map), and with random gradients (is the map
affine at all?). Then y − offset = C g + D n, where n is the noise of the releases with its known variance, and g
follows by generalized least squares. For Laplace noise that is the best *linear* estimate.

Source: this project; what it needs is the algorithm's code and nothing else (Kerckhoffs). Who may run it: an
eavesdropper at the agent's door or, for algorithms that only exchange, on all its links.
"""

from dataclasses import dataclass

import numpy as np

from attacks.probe.linear import Solution, solve
from attacks.probe.prober import Given, Prober
from attacks.replay.places import Slot, find_releases
from attacks.replay.recorded import Recording
from netsim.arrays import Array, Mask
from netsim.errors import AttackError
from netsim.transcript import Record

AFFINE = 1e-7
"""Relative: what an affine map may miss by rounding."""


@dataclass(frozen=True)
class Probed:
    """Every private query of one agent, in order.

    `gradients` and `points` (queries, replicas, dimension): the estimates, and where the queries were made as far
    as the estimates tell; `covariance` (queries, queries, dimension) of the errors of each coordinate, between
    queries; `identifiable` (queries,): where the observations leave a gradient open, its estimate means nothing.
    `rank` and `condition` are those of the map from gradients to observations, of the worst coordinate;
    `per_coordinate`: coordinates have maps or noises of their own. `residual`: the largest misfit of what no noise
    covers, relative to what was observed.
    """

    agent: int
    gradients: Array
    points: Array
    covariance: Array
    identifiable: Mask
    rank: int
    condition: float
    per_coordinate: bool
    residual: float

    @property
    def stddev(self) -> Array:
        """Of each estimate's error, (queries, dimension); ∞ where it is not identifiable."""
        spread = np.sqrt(np.maximum(np.einsum("ttc->tc", self.covariance), 0.0))
        return np.where(self.identifiable[:, None], spread, np.inf)


def probe(recording: Recording) -> Probed:
    """Estimate every private gradient of one agent.

    You get an `AttackError` where the code, on what was observed, sends other messages than were sent, or where what
    it sends is no affine function of its gradients.
    """
    return _Probe(recording).run()


class _Probe:
    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.slots: dict[int, Slot] = find_releases(_rewound(recording))
        self.shape = (recording.replicas, recording.public.dimension)

    def run(self) -> Probed:
        zeros = np.zeros(self.shape)
        base = self._pass(self.recording, lambda _: zeros, lambda _: zeros)
        queries = len(base.points)
        if not queries:
            return _nothing(self.recording.agent, self.shape)
        unseen = [k for k, seen in enumerate(base.seen) if not seen]
        design, mixing, moving = self._maps(base, queries, unseen)
        self._check_affine(base, design, mixing, unseen)
        return self._estimated(base, design, mixing, moving, unseen)

    def _pass(self, recording: Recording, gradients: Given, noises: Given) -> Prober:
        prober = Prober(_rewound(recording), self.slots, gradients, noises)
        with np.errstate(over="ignore", invalid="ignore"):
            prober.read()
        if prober.departure is not None:
            what = f"message {prober.departure.message}: it {prober.departure.what}"
            raise AttackError(f"agent {recording.agent}'s code does not send what was sent ({what})")
        return prober

    def _maps(self, base: Prober, queries: int, unseen: list[int]) -> tuple[Array, Array, Array]:
        """C (equations, queries, dimension), D of unseen noises, and how the points move with the gradients."""
        worlds = 1 + queries + len(unseen)
        recording = self.recording._replace(replicas=worlds, rows=_repeated(self.recording.rows, worlds))
        answers = _impulses(worlds, self.shape[1], {t: 1 + t for t in range(queries)})
        noises = _impulses(worlds, self.shape[1], {k: 1 + queries + j for j, k in enumerate(unseen)})
        told = self._pass(recording, answers, noises)
        values = np.array([e.value for e in told.equations])
        change = values[:, 1:] - values[:, :1]
        points = np.array(told.points)
        moving = points[:, 1 : 1 + queries] - points[:, :1]
        if len(told.equations) != len(base.equations) or len(told.points) != queries:
            raise AttackError(f"what agent {self.recording.agent} sends is no affine function of its gradients")
        return change[:, :queries], change[:, queries:], moving

    def _check_affine(self, base: Prober, design: Array, mixing: Array, unseen: list[int]) -> None:
        """Random gradients must move every value as the map says, in every replica."""
        rng = np.random.default_rng(0)
        gradients = rng.standard_normal((design.shape[1], *self.shape))
        noises = rng.standard_normal((len(unseen), *self.shape))
        place = {k: j for j, k in enumerate(unseen)}
        told = self._pass(self.recording, lambda t: gradients[min(t, len(gradients) - 1)], lambda k: noises[place[k]])
        if len(told.equations) != len(base.equations) or len(told.variances) != len(base.variances):
            raise AttackError(f"what agent {self.recording.agent} sends is no affine function of its gradients")
        for k, (ours, before) in enumerate(zip(told.variances, base.variances, strict=True)):
            if not np.allclose(ours, before, rtol=1e-9, atol=0.0):
                raise AttackError(
                    f"how much noise agent {self.recording.agent} puts on its release {k} depends on its gradients: "
                    "a probe cannot invert it"
                )
        for e, before, c, b in zip(told.equations, base.equations, design, mixing, strict=True):
            moved = np.einsum("td,trd->rd", c, gradients) + np.einsum("td,trd->rd", b, noises)
            scale = 1 + np.max(np.abs(e.value)) + np.max(np.abs(before.value)) + np.max(np.abs(moved))
            if not np.max(np.abs(e.value - before.value - moved)) <= AFFINE * scale:
                self._check_repeats(base)
                raise AttackError(
                    f"what agent {self.recording.agent} sends as {e.what!r} in its message {e.message} is no affine "
                    "function of its gradients: a probe cannot invert it"
                )

    def _check_repeats(self, base: Prober) -> None:
        """What the code makes of the same answers must be the same twice."""
        zeros = np.zeros(self.shape)
        again = self._pass(self.recording, lambda _: zeros, lambda _: zeros)
        for e, before in zip(again.equations, base.equations, strict=True):
            if not np.array_equal(e.value, before.value, equal_nan=True):
                raise AttackError(
                    f"what agent {self.recording.agent} sends as {e.what!r} in its message {e.message} is not the "
                    "same twice: something random did not come through its node"
                )

    def _estimated(self, base: Prober, design: Array, mixing: Array, moving: Array, unseen: list[int]) -> Probed:
        observed = np.array([e.observed - e.value for e in base.equations])
        noise = self._noise(base, mixing, unseen)
        shared = _same(design) and _same(noise) and _same(moving)
        solutions = [self._solved(design, noise, observed, c) for c in ([slice(None)] if shared else self._columns)]
        queries = design.shape[1]
        gradients = np.concatenate([s.estimate.reshape(queries, self.shape[0], -1) for s in solutions], axis=-1)
        points = np.array(base.points) + np.einsum("tsd,srd->trd", moving, gradients)
        copies = self.shape[1] if shared else 1
        scale = max(1.0, float(np.max(np.abs(np.array([e.observed for e in base.equations])), initial=0.0)))
        return Probed(
            self.recording.agent,
            gradients,
            points,
            np.concatenate([np.repeat(s.covariance[..., None], copies, axis=-1) for s in solutions], axis=-1),
            np.all([s.identifiable for s in solutions], axis=0),
            min(s.rank for s in solutions),
            max(s.condition for s in solutions),
            not shared,
            max(float(np.max(s.residual, initial=0.0)) for s in solutions) / scale,
        )

    @property
    def _columns(self) -> list[slice]:
        return [slice(c, c + 1) for c in range(self.shape[1])]

    def _noise(self, base: Prober, mixing: Array, unseen: list[int]) -> Array:
        """B (equations, noises, dimension), in standard deviations."""
        dimension = self.shape[1]
        factors = np.zeros((len(base.equations), len(base.variances), dimension))
        for row, equation in enumerate(base.equations):
            if equation.noise is not None:
                factors[row, equation.noise] = 1.0
        factors[:, unseen] += mixing
        stddev = np.array([np.broadcast_to(np.sqrt(_of_all(v)), dimension) for v in base.variances])
        return factors * stddev.reshape(1, -1, dimension)

    def _solved(self, design: Array, noise: Array, observed: Array, c: slice) -> Solution:
        column = observed[..., c].reshape(len(observed), -1)
        first = 0 if c.start is None else c.start
        return solve(design[..., first], noise[..., first], column)


def _nothing(agent: int, shape: tuple[int, int]) -> Probed:
    """Of an agent that, as far as it was heard, has asked for no gradient."""
    none = np.zeros((0, *shape))
    covariance, identifiable = np.zeros((0, 0, shape[1])), np.zeros(0, dtype=bool)
    return Probed(agent, none, none, covariance, identifiable, 0, float("inf"), False, 0.0)


def _of_all(variance: Array) -> Array:
    """One per coordinate; you get an `AttackError` for a sweep, in which replicas differ."""
    flat = np.atleast_2d(variance)
    if len(flat) > 1 and np.any(flat != flat[:1]):
        raise AttackError("replicas have noise of different scales: probe them one by one")
    return flat[0]


def _same(values: Array) -> bool:
    """Whether all coordinates have the same, up to rounding."""
    if values.size == 0:
        return True
    spread = np.max(values, axis=-1) - np.min(values, axis=-1)
    return bool(np.all(spread <= 1e-9 * max(1.0, float(np.max(np.abs(values))))))


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


def _rewound(recording: Recording) -> Recording:
    """With coins of its own: every pass tosses the same."""
    coins = np.random.Generator(type(recording.coins.bit_generator)())
    coins.bit_generator.state = recording.coins.bit_generator.state
    return recording._replace(coins=coins)
