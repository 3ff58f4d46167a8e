"""Named random streams: every draw has an owner and a purpose, so nobody's draws disturb anybody else's.

The stream of ("agent", 3, "noise") depends on the seed and on that name only: adding an agent, a tap or an
attack changes no other stream. Generators of different names are independent (NumPy's `SeedSequence`).
"""

import hashlib
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from netsim.arrays import Array
from netsim.node import Coins

Name = str | int


@dataclass(frozen=True)
class Streams:
    """All randomness of one run, by name.

    `seed` is any non-negative int. The NumPy generators are models for experiments: their Laplace and
    Gaussian samples carry floating-point artefacts and are not deployable mechanisms.
    """

    seed: int

    def generator(self, *name: Name) -> np.random.Generator:
        """A fresh NumPy generator for this name, always starting at the same place."""
        return np.random.Generator(self.bits(*name))

    def bits(self, *name: Name) -> np.random.PCG64:
        """What a generator of this name draws from."""
        return np.random.PCG64(self._sequence(name))

    def plain(self, *name: Name) -> random.Random:
        """A fresh `random.Random`, for scalars: faster than NumPy one number at a time."""
        return random.Random(int.from_bytes(self._sequence(name).generate_state(4).tobytes(), "little"))

    def child(self, *name: Name) -> "Streams":
        """Streams of a part of the experiment (a chunk of an audit, a point of a sweep)."""
        state = self._sequence(name).generate_state(2, np.uint64)
        return Streams(int(state[0]) << 64 | int(state[1]))

    def _sequence(self, name: tuple[Name, ...]) -> np.random.SeedSequence:
        digest = hashlib.blake2b(repr(name).encode(), digest_size=16).digest()
        key = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
        return np.random.SeedSequence(self.seed, spawn_key=key)


NoiseThrough = Callable[[np.random.Generator], np.random.Generator]
"""What becomes of an agent's noise stream on its way to the agent."""


def noise_of(streams: Streams, chunk: int, agent: int) -> np.random.Generator:
    """An agent's private noise, in this chunk of replicas."""
    return streams.generator("agent", agent, "noise", chunk)


def dither_of(streams: Streams, chunk: int, agent: int) -> np.random.Generator:
    """What an agent's random codec draws, in this chunk of replicas. An audit hands it to a replay."""
    return streams.generator("agent", agent, "codec", chunk)


def coins_of(streams: Streams, agent: int, tosses: int = 0) -> Coins:
    """An agent's private coins, of these tosses. An audit hands them to a replay: its adversary knows them."""
    return Coins(streams.bits("agent", agent, "coins", *((tosses,) if tosses else ())))


# ── noise from seeds that neighbors share ───────────────────────────────────────────────────────────
ROUNDING = 1e-12
"""A variance that is left below this share of what it was counts as none."""


@dataclass(frozen=True, eq=False)
class SharedNoise:
    """Law of the noise in those releases of one agent that hold noise from shared seeds, to a listener.

    N(mean, covariance) in each coordinate: `mean` (releases, replicas, dimension), `covariance` (releases, releases).
    The listener hears every message and knows the data of all others, so also what noise is in their releases.
    """

    mean: Array
    covariance: Array

    def part(self, rows: slice) -> "SharedNoise":
        """The law in some replicas."""
        return SharedNoise(self.mean[:, rows], self.covariance)

    def given(self, noise: list[Array]) -> tuple[Array, float]:
        """Mean and standard deviation of the next release's noise, given that in the first ones."""
        k = len(noise)
        factor, mean = self.covariance[:k, :k], self.mean[k]
        left = max(float(self.covariance[k, k]), 0.0)
        if np.any(across := self.covariance[k, :k]):
            gain = np.asarray(linalg.pinvh(factor)) @ across
            mean = mean + np.einsum("l,lrd->rd", gain, np.array(noise) - self.mean[:k])
            left = max(left - float(across @ gain), 0.0)
        return mean, float(np.sqrt(left))


class _Entry(NamedTuple):
    """One release: the deviation of its own noise and of each edge's, which draw of the seeds, and all its noise."""

    agent: int
    own: float
    shared: float
    draw: int
    noise: Array


class EdgeNoise:
    """Noise of one run from seeds that neighbors share. PRIVATE to both ends of an edge.

    `kept`: what every agent used is kept, so that it can be said what a listener knows (`known`).
    """

    def __init__(
        self, streams: Streams, chunk: int, shape: tuple[int, int], neighbors: tuple[tuple[int, ...], ...], kept: bool
    ) -> None:
        self._streams, self._chunk, self._neighbors = streams, chunk, neighbors
        self.shape = shape
        """(replicas, dimension)."""
        self._entries: list[_Entry] | None = [] if kept else None

    def around(self, agent: int, draw: int) -> Array:
        """Σ_j ±z_ij over an agent's edges, of unit variance each: + where its number is the smaller."""
        return self._sum(agent, self._neighbors[agent], draw)

    def note(self, agent: int, own: float, shared: float, draw: int, noise: Array) -> None:
        """An agent has made a release with so much `noise` in it, (replicas, dimension)."""
        if self._entries is not None:
            self._entries.append(_Entry(agent, own, shared, draw, noise))

    def known(self, agent: int, holders: Iterable[int] = ()) -> SharedNoise | None:
        """What is left unknown of the noise in an agent's releases, in their order; None if it made none.

        The listener knows the noise of all releases of others, and holds the seeds and the noise of the `holders`.
        """
        held = frozenset(holders) - {agent}
        entries = sorted((e for e in self._entries or () if e.agent not in held), key=lambda e: e.agent)
        mine = [k for k, e in enumerate(entries) if e.agent == agent]
        if not mine:
            return None
        columns: dict[tuple[int, int, int], int] = {}
        rows, places, values = list[int](), list[int](), list[float]()
        for k, e in enumerate(entries):
            for j in self._neighbors[e.agent]:
                if j not in held:
                    rows.append(k)
                    edge = min(e.agent, j), max(e.agent, j), e.draw
                    places.append(columns.setdefault(edge, len(columns)))
                    values.append(e.shared if e.agent < j else -e.shared)
        mixing = sparse.csr_array((values, (rows, places)), shape=(len(entries), len(columns)))
        count, label = sparse.csgraph.connected_components(mixing @ mixing.T, directed=False)
        mean, covariance = np.zeros((len(mine), *self.shape)), np.zeros((len(mine), len(mine)))
        for part in range(count):
            at = [n for n, k in enumerate(mine) if label[k] == part]
            if not at:
                continue
            ours = [mine[n] for n in at]
            others = [k for k in np.flatnonzero(label == part).tolist() if entries[k].agent != agent]
            both = [*ours, *others]
            dense = mixing[both].toarray()
            whole = dense @ dense.T + np.diag([entries[k].own ** 2 for k in both])
            m = len(ours)
            gain = whole[:m, m:] @ np.asarray(linalg.pinvh(whole[m:, m:])) if others else np.zeros((m, 0))
            for n, k, row in zip(at, ours, gain, strict=True):
                mean[n] = self._held(entries[k], held)
                for weight, other in zip(row.tolist(), others, strict=True):
                    mean[n] += weight * (entries[other].noise - self._held(entries[other], held))
            left = whole[:m, :m] - gain @ whole[m:, :m]
            unknown = np.diag(left) > ROUNDING * np.diag(whole)[:m]
            covariance[np.ix_(at, at)] = np.where(np.outer(unknown, unknown), left, 0.0)
        return SharedNoise(mean, covariance)

    def _held(self, entry: _Entry, held: frozenset[int]) -> Array:
        """The part of a release's noise that is from seeds of the holders."""
        shared = tuple(j for j in self._neighbors[entry.agent] if j in held)
        return entry.shared * self._sum(entry.agent, shared, entry.draw)

    def _sum(self, agent: int, others: tuple[int, ...], draw: int) -> Array:
        total = np.zeros(self.shape)
        for j in others:
            low, high = min(agent, j), max(agent, j)
            stream = self._streams.generator("edge", low, high, "noise", self._chunk, draw)
            total += (1.0 if agent < j else -1.0) * stream.standard_normal(self.shape)
        return total
