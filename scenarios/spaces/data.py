"""All data of an agent replaced, as many records as before."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from attacks.audit.pairs.search import Candidate
from netsim.arrays import Array
from netsim.problems import Problem
from scenarios.problem import AnyLogistic
from scenarios.spaces.pool import Pool, few, gradients_at


@dataclass(frozen=True)
class Data:
    """All records of `own` replaced, as many as before: their labels flipped, another agent's, or one repeated."""

    agent: int
    own: AnyLogistic
    problem: Problem
    points: Array
    rng: np.random.Generator
    budget: int

    def families(self) -> dict[str, Iterator[Candidate]]:
        return {
            "labels flipped": self._labels(),
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

    def _labels(self) -> Iterator[Candidate]:
        yield self._candidate(
            "labels flipped", f"all labels of agent {self.agent} flipped", self.own.features, -self.own.labels
        )

    def _repeated(self) -> Iterator[Candidate]:
        pool = Pool.of(self.agent, self.problem)
        if not pool.words:
            return
        own = self.own.labels[:, None] * self.own.features
        far = np.zeros(len(pool.words))
        for point in few(self.points, self.own.dimension):
            mean = gradients_at(own, point[None]).mean(axis=0)
            far = far + np.linalg.norm(gradients_at(pool.signed, point[None]) - mean, axis=1)
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
