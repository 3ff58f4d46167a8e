"""Exact privacy loss of an adjacent pair: ε(δ) of one direction from every sample, and worst-case sampling.

A release v + n under noise of density ∝ e^{−|n|/b} loses (|n + Δ| − |n|)/b to the world in which v would have been v
− Δ: its maximum |Δ|/b where n has the sign of Δ. So one agent's noise is drawn as always and given those signs. Such
transcripts are rare (2^{−numbers of noise}) and possible: their loss bounds pure ε from below, as any loss seen does,
for it is continuous in what is seen. Where the differences do not depend on the noise, it is the supremum. They are
no sample of anything: no rate and no mean is taken of them. Where differences do depend on the noise, the signs are
those of the transcripts before, `_PASSES` long.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from attacks.audit.accounting.formulas import SelfCheck, loss_self_check
from attacks.audit.accounting.intervals import Interval
from attacks.audit.loss.comparison import Sample, WorldComparison
from attacks.audit.loss.noise_check import ALPHA, NoiseCheck, NoiseScores, check_noise
from attacks.audit.loss.pool import Level, Pool, Shape
from attacks.audit.loss.unprotected import UnprotectedMessage
from attacks.replay import Hypothesis, replay
from netsim.arrays import Array
from netsim.randomness import NoiseThrough

NOISE = 2_000_000
"""Numbers of each property of the noise that are checked; of later samples none is kept."""


@dataclass(frozen=True)
class ExactLoss:
    """Privacy loss of one direction: all samples under D, compared with D'.

    `epsilon` encloses ε(δ) of this pair for an adversary at the agent's door. Its estimate is `by_formula` where
    releases are Gaussian or Laplace (δ > 0; a product of both, by quadrature) or Laplace alone (δ = 0) and make the
    same differences in all transcripts, or there are none; else the sample's, also where the codec rounded the
    releases: their cost before that bounds from above only. At δ > 0 its ends come from the sampled losses and from
    an envelope of all transcripts (`attacks.audit.loss.envelopes`). For Gaussian releases that is the cost: with m
    and M the least and greatest Σ‖Δ_t‖₂²/σ_t² of N transcripts, another one costs less than m, or more than M, with
    probability at most p each (Clopper–Pearson for 0 of N), and δ_√m(ε) − p ≤ δ(ε) ≤ δ_√M(ε) + p: stopped before it
    costs more than M the mechanism is √M-GDP (a privacy filter). At δ = 0 the lower end is the largest loss seen, or
    ∞ if a Gaussian release depends on the data, and there is no upper end: transcripts never seen may cost more.

    `losses` (transcripts,) in nats, ∞ with an unprotected message; `course` (releases, transcripts) has those of the
    first `COURSE` by each release; `leaks` is the share of infinite losses, `uncovered` the first message that made
    one, `faint` a difference that may be rounding. From activation `granted_from` on (∞: never) some release is not
    on the wire verbatim and had to be granted: the upper end is for an adversary who knows it; the lower end,
    `losses` and `uncovered` look at earlier messages only. From `unreliable_from` on the noise drowned in rounding:
    nothing later was looked at, and the upper end is ∞. `silent`: the agent sent nothing. `aimed`: the lower end is
    that of a transcript whose noise was given the worst signs.
    """

    epsilon: Interval
    by_formula: bool
    losses: Array
    course: Array
    leaks: float
    uncovered: UnprotectedMessage | None
    faint: UnprotectedMessage | None
    granted_from: float
    self_check: SelfCheck
    noise: NoiseCheck
    growth: tuple[Level, ...]
    unreliable_from: int | None
    silent: bool
    aimed: bool = False

    @property
    def unprotected(self) -> bool:
        """Whether more than δ of the transcripts are proven to hold an unprotected message: ε = ∞."""
        return self.uncovered is not None and math.isinf(self.epsilon.lower)

    @property
    def passed(self) -> bool:
        """Whether both self-checks hold: E[e^{−L}] ≤ 1, and the noise follows its declared law."""
        return self.self_check.passed and self.noise.passed


def granted_from(parts: Iterable[WorldComparison]) -> float:
    """First message, of any sample, from which on something had to be granted."""
    return min(part.granted_from for part in parts)


def with_worst_case(found: ExactLoss, part: WorldComparison, cut: float) -> ExactLoss:
    """Exact loss at δ = 0 with worst-case transcripts taken in, which are possible and no sample.

    Their largest loss is a lower end as the largest loss seen is, before `cut` and what had to be granted in them.
    """
    seen = _on_wire(part, min(cut, part.granted_from))
    pool = Pool([seen], Shape.of([seen]), 0.0, found.epsilon.confidence)
    lower = pool.enclosed()[0].lower
    if not found.epsilon.lower < lower < math.inf:
        return found
    growth, levels = found.growth, pool.growth(lower)
    if [level.activation for level in levels] == [level.activation for level in growth]:
        growth = tuple(
            replace(level, lower=max(level.lower, other.lower), estimate=max(level.estimate, other.lower))
            for level, other in zip(growth, levels, strict=True)
        )
    ends = found.epsilon
    epsilon = Interval(lower, max(ends.estimate, lower), max(ends.upper, lower), ends.confidence)
    return replace(found, epsilon=epsilon, growth=growth, aimed=True)


def losses_on_wire(part: WorldComparison, cut: float) -> Array:
    """Loss in nats of each transcript, (transcripts,), before message `cut`, with nothing granted."""
    seen = _on_wire(part, cut)
    return np.where(np.isfinite(seen.leaked), math.inf, seen.losses())


def combine(
    parts: Iterable[WorldComparison], delta: float, confidence: float, granted: float | None = None
) -> ExactLoss:
    """Pool the samples of one direction; they are read a few times and never held all at once.

    `granted` is the first message that the lower end leaves out, the same for both directions (None: these samples'
    own). All results hold together at `confidence`.
    """
    cut = granted_from(parts) if granted is None else granted
    shape = Shape.of(parts)
    everything = Pool(parts, shape, delta, confidence)
    seen = Shape.of(_on_wire(part, cut) for part in parts)
    wire = Pool((_on_wire(part, cut) for part in parts), seen, delta, confidence)
    rest = _Rest.of(parts, cut)
    epsilon, by_formula = everything.enclosed()
    lower = wire.enclosed()[0].lower
    upper = max(epsilon.upper if rest.closed else math.inf, lower)
    return ExactLoss(
        epsilon=Interval(lower, min(max(epsilon.estimate, lower), upper), upper, confidence),
        by_formula=by_formula and math.isinf(cut) and rest.closed,
        losses=wire.losses,
        course=wire.course,
        leaks=float(np.mean(np.isinf(wire.losses))),
        uncovered=rest.uncovered,
        faint=rest.faint,
        granted_from=shape.date(cut),
        self_check=loss_self_check(everything.losses, 1 - ALPHA),
        noise=check_noise(rest.noise),
        growth=wire.growth(lower),
        unreliable_from=rest.unreliable_from,
        silent=not shape.dates,
    )


@dataclass(frozen=True)
class _Rest:
    """Unprotected and unreliable messages, and the noise; `closed`: everything was looked at."""

    uncovered: UnprotectedMessage | None
    faint: UnprotectedMessage | None
    unreliable_from: int | None
    closed: bool
    noise: list[NoiseScores]

    @classmethod
    def of(cls, parts: Iterable[WorldComparison], cut: float) -> "_Rest":
        found, faint, unreliable, closed = list[UnprotectedMessage](), list[UnprotectedMessage](), list[int](), True
        noise = list[NoiseScores]()
        for part in parts:
            found += [u for u in (part.uncovered,) if u is not None and u.message < cut]
            found += [u for u in (part.inexplicable,) if u is not None]
            faint += [u for u in (part.faint,) if u is not None][: not faint]
            unreliable += [date for date in (part.unreliable_from,) if date is not None]
            closed = closed and part.complete and part.faint is None and part.unreliable_from is None
            noise.append(part.noise)
        first = min(found, key=lambda u: u.message, default=None)
        return cls(first, faint[0] if faint else None, min(unreliable, default=None), closed, noise)


def _on_wire(part: WorldComparison, cut: float) -> WorldComparison:
    """Comparison for an adversary who is granted nothing: messages before the cut, and those no noise explains.

    A release counts when it and all earlier ones are on the wire.
    """
    if math.isinf(cut):
        return replace(part, leaked=np.minimum(part.leaked, part.bare))
    length = next((t for t, sent in enumerate(part.sent_in) if sent >= cut), len(part.sent_in))
    return replace(
        part,
        steps=part.steps[:length],
        cost=part.cost[:length],
        laws=part.laws[:length],
        sent_in=part.sent_in[:length],
        leaked=np.minimum(np.where(part.leaked < cut, part.leaked, math.inf), part.bare),
        measured=None,
    )


WORST_CASE = 2**41
"""Number of the chunk of worst-case transcripts."""
TRANSCRIPTS = 16
"""Worst-case transcripts, or a chunk if that is less: their noise differs in size."""
_PASSES = 3


class _WorstCaseNoise(np.random.Generator):
    """Laplace noise whose t-th draw has the signs `signs[t]`, (replicas, dimension); later draws have their own."""

    def __init__(self, source: np.random.Generator, signs: Sequence[Array]) -> None:
        super().__init__(source.bit_generator)
        self._signs = iter(signs)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        drawn: Any = cast(Any, super()).laplace(0.0, scale, size)
        signs = next(self._signs, None)
        return loc + (drawn if signs is None else np.abs(drawn) * signs)


def worst_case_sample(
    simulate: Callable[[int, NoiseThrough], Sample],
    agent: int,
    true: Hypothesis,
    other: Hypothesis,
    transcripts: int = TRANSCRIPTS,
) -> Sample:
    """Transcripts under `true` whose noise points away from `other`, in each release as it was made.

    `simulate(replicas, noise)` gives that many transcripts of the true world, the agent's noise stream changed by
    `noise`, the same ones every time.
    """
    sample = simulate(transcripts, lambda stream: stream)
    for _ in range(_PASSES):
        one, two = (
            replay(sample.view, agent, hypothesis, sample.coins(), sample.releases, sample.dither)
            for hypothesis in (true, other)
        )
        pairs = zip(one.releases, two.releases, strict=False)
        signs = [np.where(a.value < b.value, -1.0, 1.0) for a, b in pairs]  # of Δ; + where Δ = 0
        sample = simulate(transcripts, lambda stream, signs=signs: _WorstCaseNoise(stream, signs))
    return sample
