"""Search spaces of an agent's objective within an adjacency: one record, all data, or bounded gradient changes."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isqrt
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import expit

from attacks.audit.pair import Candidate, Direction, families, near, scaled
from netsim.arrays import Array, evenly, product
from netsim.claims import Norm, length
from netsim.problems import Bent, Objective, Problem, Tilted
from scenarios.build.problem import AnyLogistic, farthest, in_words

COORDINATES = 2**12
"""Of points of a run, together: more coordinates, fewer points."""


@dataclass(frozen=True)
class _Pool:
    """Records that may come in: features (m, d), labels (m,) and what each is called."""

    features: Array
    labels: Array
    words: tuple[str, ...]

    @classmethod
    def of(cls, agent: int, problem: Problem) -> "_Pool":
        """Those of all other agents, with their labels and with the others."""
        parts = [(i, f) for i, f in enumerate(problem.objectives) if i != agent and isinstance(f, AnyLogistic)]
        words = [f"record {k} of agent {i}" for i, f in parts for k in range(f.records)]
        if not parts:
            return cls(np.empty((0, problem.dimension)), np.empty(0), ())
        features = np.concatenate([f.features for _, f in parts] * 2)
        labels = np.concatenate([f.labels for _, f in parts] + [-f.labels for _, f in parts])
        return cls(features, labels, (*words, *(f"{word}, its label flipped" for word in words)))

    @property
    def signed(self) -> Array:
        """z = b·a, (m, d)."""
        return self.labels[:, None] * self.features


def _few(points: Array, dimension: int) -> Array:
    """Some of the points, spread over them; the origin, where all algorithms start, if there are none."""
    if not len(points):
        return np.zeros((1, dimension))
    most = max(1, COORDINATES // dimension)
    return points[evenly(len(points), most)]


def _weights(signed: Array, points: Array) -> Array:
    """σ(−zᵀx) of every record z at every point x: (records, points)."""
    return np.asarray(expit(-product(signed, points.T)), dtype=np.float64)


def _gradients_at(signed: Array, points: Array) -> Array:
    """−σ(−zᵀx) z of every record z at every point x: (records, points·dimension)."""
    return (-_weights(signed, points)[:, :, None] * signed[:, None, :]).reshape(len(signed), -1)


def _strongest(signed: Array, points: Array, most: int) -> NDArray[np.int64]:
    """The positions, rising, of the records whose gradients are largest at the points, in the mean square."""
    size = np.sum(signed**2, axis=1) * np.mean(_weights(signed, points) ** 2, axis=1)
    return np.sort(np.argsort(-size, kind="stable")[:most])


@dataclass(frozen=True)
class _Replaced:
    """Records of `own` replaced. `points` (points, dimension) are some at which its gradient counts in a run."""

    agent: int
    own: AnyLogistic
    problem: Problem
    points: Array
    rng: np.random.Generator
    budget: int

    @cached_property
    def _pool(self) -> _Pool:
        """Records that may come in."""
        return _Pool.of(self.agent, self.problem)

    @cached_property
    def _signed(self) -> Array:
        return self.own.labels[:, None] * self.own.features

    @cached_property
    def _seen(self) -> Array:
        return _few(self.points, self.own.dimension)


class Data(_Replaced):
    """All records replaced, as many as before: their labels flipped, another agent's, or one repeated."""

    def families(self) -> dict[str, Iterator[Candidate]]:
        flipped = f"all labels of agent {self.agent} flipped"
        return {
            "labels flipped": iter([self._candidate("labels flipped", flipped, self.own.features, -self.own.labels)]),
            "one record repeated": self._repeated(),
            "another agent's data": self._swapped(),
            "labels drawn": self._drawn(),
        }

    def near(self, candidate: Candidate) -> list[Callable[[], Candidate]]:
        """The same features with the labels flipped, all or a quarter of them."""
        other = candidate.hypothesis
        assert isinstance(other, AnyLogistic)
        rows = np.arange(other.records)
        moves: list[Callable[[], Candidate]] = []
        for which in (rows, *np.array_split(rows, min(4, len(rows)))):
            labels = np.where(np.isin(rows, which), -other.labels, other.labels)
            words = "all labels" if len(which) == len(rows) else f"labels {which[0]} to {which[-1]}"
            sentence = f"{candidate.description}, {words} flipped"
            moves.append(partial(self._candidate, "nearby labels", sentence, other.features, labels))
        return moves

    def _repeated(self) -> Iterator[Candidate]:
        pool = self._pool
        if not pool.words:
            return
        far = np.zeros(len(pool.words))
        for point in self._seen:
            mean = _gradients_at(self._signed, point[None]).mean(axis=0)
            far = far + np.linalg.norm(_gradients_at(pool.signed, point[None]) - mean, axis=1)
        for new in np.argsort(-far, kind="stable"):
            rows = np.repeat(pool.features[new][None], self.own.records, axis=0)
            labels = np.full(self.own.records, pool.labels[new])
            words = f"all records of agent {self.agent} replaced by {pool.words[new]}"
            yield self._candidate("one record repeated", words, rows, labels)

    def _swapped(self) -> Iterator[Candidate]:
        for i, other in enumerate(self.problem.objectives):
            if i == self.agent or not isinstance(other, AnyLogistic):
                continue
            rows = np.arange(self.own.records) % other.records
            for sign, how in ((1.0, ""), (-1.0, ", labels flipped")):
                words = f"all records of agent {self.agent} replaced by those of agent {i}{how}"
                yield self._candidate("another agent's data", words, other.features[rows], sign * other.labels[rows])

    def _drawn(self) -> Iterator[Candidate]:
        for _ in range(self.budget):
            signs = self.rng.choice((-1.0, 1.0), self.own.records)
            words = f"{int(np.sum(signs < 0))} labels of agent {self.agent} flipped"
            yield self._candidate("labels drawn", words, self.own.features, signs * self.own.labels)

    def _candidate(self, family: str, words: str, features: Array, labels: Array) -> Candidate:
        other = replace(self.own, features=features, labels=labels)
        return Candidate(family, words, other, (words, labels.tobytes()))


SIZES = (-1.0, 0.5, 0.25, -0.5, -0.25)
"""Of a change of full size, which is tried first."""
TURNS = (0.0, -1.0, 1.0, -2.0, 2.0)
"""Turning points of a bend: at tanh of so much when the agent is at the middle of its path."""


@dataclass(frozen=True)
class Moved:
    """∇f moved by at most `change` in `norm`: by constant vectors, or by bends of `curvature` too if that is given.

    `points` (points, dimension) are some at which the agent's gradient counts in a run.
    """

    agent: int
    own: Objective
    change: float
    norm: Norm
    curvature: float | None
    points: Array
    rng: np.random.Generator

    def families(self) -> dict[str, Iterator[Candidate]]:
        """Directions at full size; with a curvature, bends along them first."""
        found = families(self.norm, self.own.dimension, self._suggested, self.rng)

        def along(family: str, directions: Iterator[Direction]) -> Iterator[Candidate]:
            for one in directions:
                if self.curvature is not None:
                    yield self._turned(family, one, TURNS[0])
                yield self._tilted(family, one, 1.0)

        return {name: along(name, directions) for name, directions in found.items()}

    def near(self, candidate: Candidate) -> list[Callable[[], Candidate]]:
        """Smaller and opposite changes, or other turning points; then other directions at the same size."""
        hypothesis = candidate.hypothesis
        assert isinstance(hypothesis, Tilted | Bent)
        words = candidate.description.split("(", 1)[1].rsplit(")", 1)[0]
        one = Direction(re.sub(r"^-?[\d.]+ of ", "", words), scaled(hypothesis.slope, self.norm))
        made, family = self._turned, "turning points"
        if isinstance(hypothesis, Bent):
            how, others = hypothesis.offset - self._middle(one), TURNS[1:]
        else:
            made, family = self._tilted, "sizes"
            how = min(float(length(hypothesis.slope, self.norm)) / self.change, 1.0)
            others = tuple(share * how for share in SIZES)

        def beside(move: Callable[[], Direction]) -> Candidate:
            return made("nearby directions", move(), how)

        same = [partial(made, family, one, other) for other in others]
        return same + [partial(beside, move) for move in near(one, self.norm)]

    def _tilted(self, family: str, one: Direction, share: float) -> Candidate:
        slope = share * self.change * one.vector
        words = one.words if share == 1.0 else f"{share:g} of {one.words}"
        return self._candidate(family, words, slope, Tilted(self.own, slope), 0.0)

    def _turned(self, family: str, one: Direction, shift: float) -> Candidate:
        """Bent about a point that is `shift` from the middle of the path."""
        assert self.curvature is not None
        slope, offset = self.change * one.vector, self._middle(one) + shift
        return self._candidate(family, one.words, slope, Bent(self.own, slope, self.curvature, offset), offset)

    def _candidate(self, family: str, words: str, slope: Array, other: Objective, offset: float) -> Candidate:
        sentence = f"the gradient of agent {self.agent} {in_words(words, slope, other, self.norm)}"
        return Candidate(family, sentence, other, (type(other), slope.tobytes(), offset))

    def _middle(self, one: Direction) -> float:
        """The offset at which a bend is 0 at the mean of the points."""
        assert self.curvature is not None
        slope = self.change * one.vector
        mean = self.points.mean(axis=0) if len(self.points) else np.zeros(self.own.dimension)
        return float(-self.curvature * np.sum(slope * mean) / np.sum(slope**2))

    @cached_property
    def _suggested(self) -> dict[str, Array]:
        """Directions from the agent's own data: its gradient, where its curvature is largest and least, its path."""
        zero = np.zeros((1, self.own.dimension))
        vectors = np.linalg.eigh(self.own.hessian(zero[0]))[1]
        found = {
            "the agent's gradient at 0": self.own.gradient(zero)[0],
            "the direction of its largest curvature": vectors[:, -1],
            "the direction of its least curvature": vectors[:, 0],
        }
        if len(self.points):
            found["its mean gradient on the way"] = self.own.gradient(self.points).mean(axis=0)
            found["its way"] = self.points[-1] - self.points[0]
        return found


NEAR = 10
"""Replacements on either side of one, by how far they move the gradient at the points of the run."""
WORK = 2**30
"""Differences taken at most to find the farthest pairs: some seconds. Beyond it only the strongest records count."""


class Records(_Replaced):
    """One record replaced."""

    def families(self) -> dict[str, Iterator[Candidate]]:
        return {
            "farthest on the way, ℓ2": self._farthest("farthest on the way, ℓ2", "l2"),
            "farthest on the way, ℓ1": self._farthest("farthest on the way, ℓ1", "l1"),
            "farthest anywhere": self._anywhere(),
            "labels flipped": self._flipped(),
            "drawn": self._drawn(),
        }

    def near(self, candidate: Candidate) -> list[Callable[[], Candidate]]:
        """The same record by others, others by the same one: those that move the gradient most first."""
        out, new = cast("tuple[int, int]", candidate.key)
        moves: list[Callable[[], Candidate]] = []
        if new < 0:
            return moves
        far = self._far["l2"]
        rows, columns = list(self._own_kept), list(self._new_kept)
        if out in rows:
            for column in np.argsort(-far[rows.index(out)], kind="stable")[:NEAR]:
                moves.append(partial(self._candidate, "nearby records", out, int(columns[column])))
        if new in columns:
            for row in np.argsort(-far[:, columns.index(new)], kind="stable")[:NEAR]:
                moves.append(partial(self._candidate, "nearby records", int(rows[row]), new))
        return moves

    # ── the families ────────────────────────────────────────────────────────────────────────────────
    def _farthest(self, family: str, norm: Literal["l1", "l2"]) -> Iterator[Candidate]:
        far, flat = self._far[norm], self._far[norm].ravel()
        if not far.size:
            return
        most = min(self.budget, far.size)
        chosen = np.sort(np.argpartition(-flat, most - 1)[:most])
        for position in chosen[np.argsort(-flat[chosen], kind="stable")]:
            row, column = divmod(int(position), far.shape[1])
            yield self._candidate(family, int(self._own_kept[row]), int(self._new_kept[column]))

    def _anywhere(self) -> Iterator[Candidate]:
        if len(self._pool.labels):
            out, new, _ = farthest(self._signed, self._pool.signed)
            yield self._candidate("farthest anywhere", out, new)

    def _flipped(self) -> Iterator[Candidate]:
        change = _gradients_at(self._signed, self._seen) - _gradients_at(-self._signed, self._seen)
        moves = np.linalg.norm(change, axis=1)
        for out in np.argsort(-moves, kind="stable"):
            yield self._candidate("labels flipped", int(out), -1)

    def _drawn(self) -> Iterator[Candidate]:
        for _ in range(self.budget if len(self._pool.labels) else 0):
            out, new = self.rng.integers(self.own.records), self.rng.integers(len(self._pool.labels))
            yield self._candidate("drawn", int(out), int(new))

    def _candidate(self, family: str, out: int, new: int) -> Candidate:
        """`new` is a record of the pool; −1: the same one with its label flipped."""
        if new < 0:
            other = self.own.with_record(out, self.own.features[out], -float(self.own.labels[out]))
            words = f"record {out} of agent {self.agent} with its label flipped"
        else:
            other = self.own.with_record(out, self._pool.features[new], float(self._pool.labels[new]))
            words = f"record {out} of agent {self.agent} replaced by {self._pool.words[new]}"
        return Candidate(family, words, other, (out, new))

    # ── how far records are apart at the points ─────────────────────────────────────────────────────
    @cached_property
    def _own_kept(self) -> NDArray[np.int64]:
        return _strongest(self._signed, self._seen, max(1, isqrt(WORK // self._seen.size)))

    @cached_property
    def _new_kept(self) -> NDArray[np.int64]:
        return _strongest(self._pool.signed, self._seen, max(1, WORK // (self._seen.size * len(self._own_kept))))

    @cached_property
    def _far(self) -> dict[str, Array]:
        """Between the gradients of own records and those of the pool, over all points together."""
        own = _gradients_at(self._signed[self._own_kept], self._seen)
        new = _gradients_at(self._pool.signed[self._new_kept], self._seen)
        return {"l1": cdist(own, new, "cityblock"), "l2": cdist(own, new, "euclidean")}


Spaces = Moved | Records | Data
