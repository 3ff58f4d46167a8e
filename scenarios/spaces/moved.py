"""Gradients that differ by at most a bound, wherever they are asked for."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from attacks.audit.pairs.directions import Direction, families, near, scaled
from attacks.audit.pairs.search import Candidate
from netsim.arrays import Array
from netsim.norms import Norm, length
from netsim.problems import Bent, Objective, Tilted
from scenarios.pairs import in_words

SIZES = (-1.0, 0.5, 0.25, -0.5, -0.25)
"""Of a change of full size, which is tried first."""
TURNS = (0.0, -1.0, 1.0, -2.0, 2.0)
"""Where a bend turns round: at tanh of so much when the agent is at the middle of its path."""
Made = Callable[[str, Direction, float], Candidate]


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
        return {name: self._of(name, directions) for name, directions in found.items()}

    def _of(self, family: str, directions: Iterator[Direction]) -> Iterator[Candidate]:
        for one in directions:
            if self.curvature is not None:
                yield self._bent(family, one, self._middle(one) + TURNS[0])
            yield self._tilted(family, one, 1.0)

    def near(self, candidate: Candidate) -> list[Callable[[], Candidate]]:
        """Smaller and opposite changes, or other turning points; then other directions at the same size."""
        hypothesis = candidate.hypothesis
        assert isinstance(hypothesis, Tilted | Bent)
        one, size = self._direction(candidate, hypothesis), self._size(hypothesis)
        if isinstance(hypothesis, Bent):
            shift = hypothesis.offset - self._middle(one)
            turns = [partial(self._turned, "turning points", one, turn) for turn in TURNS[1:]]
            return turns + [partial(self._moved, move, shift, self._turned) for move in near(one, self.norm)]
        sizes = [partial(self._tilted, "sizes", one, share * size) for share in SIZES]
        return sizes + [partial(self._moved, move, size, self._tilted) for move in near(one, self.norm)]

    @staticmethod
    def _moved(move: Callable[[], Direction], how: float, made: Made) -> Candidate:
        return made("nearby directions", move(), how)

    def _direction(self, candidate: Candidate, hypothesis: Tilted | Bent) -> Direction:
        """Of a candidate, in its own words."""
        words = candidate.description.split("(", 1)[1].rsplit(")", 1)[0]
        return Direction(re.sub(r"^-?[\d.]+ of ", "", words), scaled(hypothesis.slope, self.norm))

    def _size(self, hypothesis: Tilted | Bent) -> float:
        """Of a change, as a share of the largest."""
        return min(float(length(hypothesis.slope, self.norm)) / self.change, 1.0)

    def _turned(self, family: str, one: Direction, shift: float) -> Candidate:
        return self._bent(family, one, self._middle(one) + shift)

    def _tilted(self, family: str, one: Direction, share: float) -> Candidate:
        slope = share * self.change * one.vector
        words = one.words if share == 1.0 else f"{share:g} of {one.words}"
        return self._candidate(family, words, slope, Tilted(self.own, slope), 0.0)

    def _bent(self, family: str, one: Direction, offset: float) -> Candidate:
        assert self.curvature is not None
        slope = self.change * one.vector
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
        """What the agent's own data suggest: its gradient, where its curvature is largest and least, its path."""
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
