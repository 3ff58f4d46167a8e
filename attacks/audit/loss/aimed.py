"""Transcripts that cost as much as they can: the agent's noise has the size it was drawn with, and is pointed.

A release v + n under noise of density ∝ e^{−|n|/b} loses (|n + Δ| − |n|)/b to the world in which v would have been
v − Δ: |Δ|/b, all that it can, where n has the sign of Δ. So one agent's noise is drawn as always and given those
signs. Such transcripts are rare (2^{−numbers of noise}) and possible: their loss bounds pure ε from below, as any
loss does that was seen, for it is continuous in what is seen. Where the differences do not depend on the noise, it is
the supremum. They are no sample of anything: no rate and no mean is taken of them.

Where differences do depend on the noise, the signs are those of the transcripts before, some passes long.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from attacks.audit.loss.explain import Sample
from attacks.replay import Hypothesis, replay
from netsim.arrays import Array
from netsim.randomness import NoiseThrough

AIMED = 2**41
"""The number of the chunk whose noise is aimed."""
TRANSCRIPTS = 16
"""So many are aimed, or a chunk if that is less: their noise differs in size."""
PASSES = 3


class AimedNoise(np.random.Generator):
    """Laplace noise whose t-th draw has the signs `signs[t]`, (replicas, dimension); later draws have their own."""

    def __init__(self, source: np.random.Generator, signs: Sequence[Array]) -> None:
        super().__init__(source.bit_generator)
        self._signs = iter(signs)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        drawn: Any = cast(Any, super()).laplace(0.0, scale, size)
        signs = next(self._signs, None)
        return loc + (drawn if signs is None else np.abs(drawn) * signs)


def aimed(
    simulate: Callable[[int, NoiseThrough], Sample],
    agent: int,
    true: Hypothesis,
    other: Hypothesis,
    transcripts: int = TRANSCRIPTS,
) -> Sample:
    """So many transcripts under `true` whose noise points away from `other`, in each release as it was made.

    `simulate(replicas, noise)` gives that many transcripts of the true world, the agent's noise stream changed by
    `noise`; the same ones every time.
    """
    sample = simulate(transcripts, lambda stream: stream)
    for _ in range(PASSES):
        signs = _signs(sample, agent, true, other)
        sample = simulate(transcripts, lambda stream, signs=signs: AimedNoise(stream, signs))
    return sample


def _signs(sample: Sample, agent: int, true: Hypothesis, other: Hypothesis) -> list[Array]:
    """Of Δ, in the order in which releases are made; + where there is none."""
    one, two = (
        replay(sample.view, agent, hypothesis, sample.coins(), sample.releases, sample.dither)
        for hypothesis in (true, other)
    )
    pairs = zip(one.releases, two.releases, strict=False)
    return [np.where(a.value < b.value, -1.0, 1.0) for a, b in pairs]
