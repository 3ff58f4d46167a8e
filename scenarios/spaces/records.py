"""One record replaced: by one of another agent, its label as it is or flipped, or by itself with the other label."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from math import isqrt
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from attacks.audit.pairs.search import Candidate
from netsim.arrays import Array
from netsim.problems import Problem
from scenarios.problem import AnyLogistic, farthest
from scenarios.spaces.pool import Pool, few, gradients_at, strongest

NEAR = 10
"""Replacements on either side of one, by how far they move the gradient at the points of the run."""
WORK = 2**30
"""Differences taken at most to find the farthest pairs: some seconds. Beyond it only the strongest records count."""
Metric = Literal["l1", "l2"]


@dataclass(frozen=True)
class Records:
    """One record of `own` replaced. `points` (points, dimension) are some at which its gradient counts in a run."""

    agent: int
    own: AnyLogistic
    problem: Problem
    points: Array
    rng: np.random.Generator
    budget: int

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
        out, new = _pair_of(candidate)
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
    def _farthest(self, family: str, norm: Metric) -> Iterator[Candidate]:
        far = self._far[norm]
        if not far.size:
            return
        most = min(self.budget, far.size)
        flat = far.ravel()
        chosen = np.sort(np.argpartition(-flat, most - 1)[:most])
        for position in chosen[np.argsort(-flat[chosen], kind="stable")]:
            row, column = divmod(int(position), far.shape[1])
            yield self._candidate(family, int(self._own_kept[row]), int(self._new_kept[column]))

    def _anywhere(self) -> Iterator[Candidate]:
        if len(self.pool.labels):
            out, new, _ = farthest(self._signed, self.pool.signed)
            yield self._candidate("farthest anywhere", out, new)

    def _flipped(self) -> Iterator[Candidate]:
        moves = np.linalg.norm(
            gradients_at(self._signed, self._seen) - gradients_at(-self._signed, self._seen), axis=1
        )
        for out in np.argsort(-moves, kind="stable"):
            yield self._candidate("labels flipped", int(out), -1)

    def _drawn(self) -> Iterator[Candidate]:
        for _ in range(self.budget if len(self.pool.labels) else 0):
            out, new = self.rng.integers(self.own.records), self.rng.integers(len(self.pool.labels))
            yield self._candidate("drawn", int(out), int(new))

    def _candidate(self, family: str, out: int, new: int) -> Candidate:
        """`new` is a record of the pool; −1: the same one with its label flipped."""
        if new < 0:
            other = self.own.with_record(out, self.own.features[out], -float(self.own.labels[out]))
            words = f"record {out} of agent {self.agent} with its label flipped"
        else:
            other = self.own.with_record(out, self.pool.features[new], float(self.pool.labels[new]))
            words = f"record {out} of agent {self.agent} replaced by {self.pool.words[new]}"
        return Candidate(family, words, other, (out, new))

    # ── how far records are apart at the points ─────────────────────────────────────────────────────
    @cached_property
    def pool(self) -> Pool:
        """Who may come in."""
        return Pool.of(self.agent, self.problem)

    @cached_property
    def _signed(self) -> Array:
        return self.own.labels[:, None] * self.own.features

    @cached_property
    def _seen(self) -> Array:
        return few(self.points, self.own.dimension)

    @cached_property
    def _own_kept(self) -> NDArray[np.int64]:
        return strongest(self._signed, self._seen, max(1, isqrt(WORK // self._seen.size)))

    @cached_property
    def _new_kept(self) -> NDArray[np.int64]:
        return strongest(self.pool.signed, self._seen, max(1, WORK // (self._seen.size * len(self._own_kept))))

    @cached_property
    def _far(self) -> dict[Metric, Array]:
        """Between the gradients of own records and those of the pool, over all points together."""
        own = gradients_at(self._signed[self._own_kept], self._seen)
        new = gradients_at(self.pool.signed[self._new_kept], self._seen)
        return {"l1": cdist(own, new, "cityblock"), "l2": cdist(own, new, "euclidean")}


def _pair_of(candidate: Candidate) -> tuple[int, int]:
    """What `Records` made it of."""
    return cast(tuple[int, int], candidate.key)
