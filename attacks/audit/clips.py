"""What an agent's code clips, found in what it sends, whoever wrote the clip.

A huge answer moves what is sent as the clipped one does: by how much, against a small answer, is the bound; by how
much if all coordinates are huge, the norm. That is what to try, and proves nothing: who uses it checks that the code
does with answers of all sizes what it does with clipped ones.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from attacks.audit.view_price import Order
from attacks.probe.mapping import Map, Mapper, check_size
from attacks.probe.node import Inputs, Pass, RecordedAgent, Unknown
from attacks.replay.recorded import Recording
from netsim.arrays import Array
from netsim.claims import Clip, Norm, length

NEAR, FAR = 1e-6, 1e12
"""Sizes of the smallest and the largest answers."""
ALIKE = 1e-6
"""Relative: what two shares may differ by that are to be the same."""
PAD = 1e-10
"""Relative: a pad that is less is rounding."""
WITHIN = 16
"""Random answers in a coordinate are below so many units: a bound has as many for each."""


class Cut(Clip):
    """Each coordinate cut to [−bound, bound] by itself: the same bounds as in ℓ∞, and another direction."""

    def __call__(self, v: Array) -> Array:
        return np.clip(v, -self.bound, self.bound)


@dataclass(frozen=True)
class Padded(Clip):
    """v ↦ v·min(1, bound/(‖v‖ + pad)): a little shorter, so that nobody divides by 0. The same bounds; its derivative
    is, to a factor of at most 1, a mean of a clip's and of the identity, and lengthens no more than these do."""

    pad: float = 0.0

    def __call__(self, v: Array) -> Array:
        return v * (self.bound / np.maximum(length(v, self.norm)[..., None] + self.pad, self.bound))


def stretch(clip: Clip | None, order: Order, dimension: int) -> float:
    """The largest factor by which a clip makes the difference of two vectors longer, in ℓ1 or ℓ2 as `order` says.

    Beyond its bound a clip in a norm ‖·‖ has the derivative (c/‖v‖)(I − w sᵀ), w = v/‖v‖ and s = ∇‖v‖, a projector
    along w. It is orthogonal, and shortens, in ℓ2 alone; else its norm is ‖w‖₂‖s‖₂ in ℓ2, and in ℓ1 the largest
    Σ_j |δ_jk − w_j s_k|. A cut lengthens nothing.
    """
    if clip is None or isinstance(clip, Cut) or dimension == 1:
        return 1.0
    root = math.sqrt(dimension)
    if order == 2:
        return 1.0 if clip.norm == "l2" else root
    return {"l1": 2.0, "l2": (1 + root) / 2, "linf": max(1.0, dimension - 1.0)}[clip.norm]


class _InUnits(RecordedAgent):
    """A victim whose answers are given in units, (queries,)."""

    def __init__(self, recording: Recording, units: Array) -> None:
        super().__init__(recording)
        self._units = units

    def run(self, inputs: Inputs) -> Pass:
        def given(unknown: Unknown) -> Array:
            value = inputs.given(unknown)
            return value * self._units[unknown[2]] if unknown[0] == "gradient" else value

        return super().run(inputs._replace(given=given))


@dataclass(frozen=True, eq=False)
class Clips:
    """By what each answer is clipped first of all, None: by nothing. `mapper` has answers in `units` (queries,) in
    which random ones, and impulses, are not clipped."""

    each: tuple[Clip | None, ...]
    units: Array
    mapper: Mapper

    @classmethod
    def of(cls, recording: Recording, mapper: Mapper) -> "Clips":
        """Those of the recorded agent, from its `mapper` in plain numbers."""
        each = _Moved(mapper).clips() if mapper.base.queries else ()
        if not any(each):
            return cls(each, np.ones(len(each)), mapper)
        units = np.array([1.0 if one is None else one.bound / (WITHIN * mapper.shape[1]) for one in each])
        return cls(each, units, Mapper(_InUnits(recording, units)))

    def map(self) -> Map:
        """Of clipped answers, in plain numbers. You get an `AttackError` as from `Mapper.map`."""
        found = self.mapper.map()
        if not any(self.each):
            return found
        plain = sparse.diags_array(1 / self.units)
        return replace(found, design=tuple(sparse.csr_array(one @ plain) for one in found.design))

    def __call__(self, answers: Array) -> Array:
        """Answers (queries, copies, dimension), clipped."""
        clipped = [v if clip is None else clip(v) for clip, v in zip(self.each, answers, strict=True)]
        return np.array(clipped).reshape(answers.shape)


class _Moved:
    """By how much an answer moves what is sent, nothing having been seen."""

    def __init__(self, mapper: Mapper) -> None:
        self.mapper, self.count, self.dimension = mapper, len(mapper.base.queries), mapper.shape[1]
        check_size("its answers, each by itself", 8.0 * self.count**2 * self.dimension)
        self.still = self._values(None)

    def clips(self) -> tuple[Clip | None, ...]:
        if not len(self.still):
            return (None,) * self.count
        first, flat = np.eye(self.dimension)[0], np.ones(self.dimension)
        near, far = self.by(NEAR * first), self.by(FAR * first)
        moved = np.nan_to_num(np.abs(near[..., 0]), nan=0.0, posinf=0.0)  # what was seen, 0 here, may be divided by
        rows = np.argmax(moved, axis=0)  # the message that an answer moves most
        queries = np.arange(self.count)
        slope = near[rows, queries, 0] / NEAR
        bound = np.divide(far[rows, queries, 0], slope, out=np.full(self.count, np.inf), where=slope != 0)
        clipped = np.isfinite(bound) & (bound > 0) & (bound < FAR / 2)
        if not np.any(clipped):
            return (None,) * self.count
        half = np.where(clipped, bound, 1.0)[:, None] * first / 2
        slope = self.by(half)[rows, queries, 0] / half[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = far[rows, queries, 0] / slope
            share = self.by(FAR * flat)[rows, queries, 0] / slope / bound
            at = self.by(2 * half)[rows, queries, 0] / slope
            pad = bound * (bound / at - 1)
        beside = np.zeros_like(half)
        if self.dimension > 1:
            beside[:, 0], beside[:, 1] = FAR, half[:, 0]
            beside = self.by(beside)[rows, queries] / np.where(clipped, slope, 1.0)[:, None]
        beside /= half[:, :1]
        return tuple(
            self._clip(float(bound[t]), float(share[t]), beside[t], float(pad[t])) if clipped[t] else None
            for t in range(self.count)
        )

    def _clip(self, bound: float, share: float, beside: Array, pad: float) -> Clip | None:
        """The clip with this bound, by how much of it is left to each of many huge coordinates, and of half of it to
        a second one; `pad` is how much shorter it may be, and rounding."""
        if not 0 < bound < math.inf:
            return None
        left: list[tuple[Norm, float]] = [("l1", 1 / self.dimension), ("l2", self.dimension**-0.5), ("linf", 1.0)]
        for norm, one in left:
            if abs(share - one) <= ALIKE * one:
                cut = norm == "linf" and abs(beside[1] - 1) <= ALIKE
                if cut:
                    return Cut(bound, norm)
                return Padded(bound, norm, pad) if PAD * bound < pad < bound else Clip(bound, norm)
        return None

    def by(self, answer: Array) -> Array:
        """What each answer alone moves, (equations, queries, dimension)."""
        answers = np.zeros((self.count, self.count, self.dimension))
        answers[np.arange(self.count), np.arange(self.count)] = answer
        return self._values(answers) - self.still

    def _values(self, answers: Array | None) -> Array:
        there = self.mapper.at(answers, copies=self.count, points=False, seen=np.zeros_like)
        return -self.mapper.left(there).reshape(-1, self.count, self.dimension)
