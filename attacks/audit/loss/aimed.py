"""Transcripts whose noise is aimed at large losses: the worst case at δ = 0, importance sampling at δ > 0.

A release v + n under noise of density ∝ e^{−|n|/b} loses (|n + Δ| − |n|)/b to the world in which v would have been v
− Δ: its maximum |Δ|/b where n has the sign of Δ.

**Worst case.** One agent's noise is drawn as always and given those signs; on a grid too, and with uniform noise
beside it, which is put at the end of its interval that the sign points to. What a random codec rounds goes away from
zero in half of them: a level is then as far out as it can be. Such transcripts are rare (2^{−numbers of
noise}) and possible: their loss bounds pure ε from below, as any loss seen does, for it is continuous in what is
seen. Where the differences do not depend on the noise, it is the supremum. Where noise has a larger scale than in
the other world there is none: large noise is likelier here by any factor, and the first such noise is put far out.
Noise of somebody's own law is moved to where it loses most (`attacks.audit.loss.far_out`). They are no sample of
anything: no rate and no mean is taken of them.

**Tilted.** Noise of density ∝ p(n)·e^{θl} in each release, l its loss: Gaussian noise moved by θΔ, Laplace noise in
three pieces. With w the product of p/(density drawn from) over all draws, E[w·f] = E_P[f] for each function f of the
transcript, and so

    δ(ε) = E_P[(1 − e^{ε−L})₊] = E_tilted[w (1 − e^{ε−L})₊],

which needs a hundred transcripts where P would need some 1/δ. The tilt of a draw may be anything that earlier draws
fix. It need not be that by the very Δ of its transcript: another one makes the sum vary more, and biases nothing.

Where messages say what a hidden release was (`attacks.audit.loss.recovered`), its Δ is by how much it is another one
in the other world: a tilt may not look at it, for it may hang on later draws.

Δ is guessed by simulating again with the same random numbers: a release's aim is the Δ that the transcripts before
had in it, and these depend on earlier draws only. A *pilot*, of other random numbers and used for nothing else, gives
the first Δ, θ (the saddle point for δ) and whether Δ depends on the noise: if not, one pass will do.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self, cast

import numpy as np

from attacks.audit.accounting.products import Product, saddle
from attacks.audit.loss.comparison import Reproduced, Sample, Tilting
from attacks.audit.loss.far_out import SOME, farthest_out, is_own
from attacks.replay import Hypothesis, Release, replay
from netsim.arrays import Array
from netsim.mechanisms import (
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    Releasing,
    UniformLaplace,
    UniformModulo,
)
from netsim.randomness import NoiseThrough

WORST_CASE = 2**41
"""Number of the chunk of worst-case transcripts."""
TILTED = 2**42
"""Number of the chunk of tilted transcripts; the next one is their pilot."""
TRANSCRIPTS, PILOT = 64, 16
"""Worst-case transcripts, or a chunk if that is less: their noise differs in size, and so does where the agent gets
to, at which the worlds may differ more or less. And transcripts of a pilot."""
WEIGHTED = 250
"""Tilted transcripts of each world, or a chunk if that is less."""
_PASSES = 3
_ALIKE = 1e-6
"""Relative: differences that vary by less do not depend on the noise."""
_FARTHEST, _STEEPEST = 1e3, 1e6
"""Largest |Δ|, in scales of the noise, and θ that are aimed at: beyond, rounding would show in the weights."""
_AIMED = Laplace | DiscreteLaplace | UniformLaplace
_OTHER, _LOST, _TIMES = 1e-9, 1e3, 1e8
"""Relative: scales that differ by more are others. A draw then loses about `_LOST` for each of its scales, if it need
not be put more than so many `_TIMES` as far: beyond, it would drown in rounding."""


class Aim(NamedTuple):
    """Signs of a draw of Laplace noise, (replicas, dimension), and what a uniform number drawn before it becomes; and
    how many times as far it is put."""

    signs: Array
    uniform: Array | float = 0.5
    times: Array | float = 1.0

    @classmethod
    def of(cls, true: Release, other: Release) -> "Aim":
        """Aim away from the other world: to the end of the interval of means that lies farther out, + if none."""
        ends: list[tuple[Array, Array]] = []
        for release in (true, other):
            law, value = release.noise, release.covered
            moved = value + law.width if isinstance(law, UniformLaplace) else value
            ends.append((np.minimum(value, moved), np.maximum(value, moved)))
        (low, high), (low_there, high_there) = ends
        up = high - high_there >= low_there - low
        width = true.noise.width if isinstance(true.noise, UniformLaplace) else 0.0
        return cls(np.where(up, 1.0, -1.0), np.where(up == np.greater_equal(width, 0), 1.0, 0.0), _times(true, other))


def _times(true: Release, other: Release) -> Array | float:
    """How many times as far noise is put: its loss has no bound where its scale is larger than in the other world."""
    light, lighter = (isinstance(release.noise, Gaussian) for release in (true, other))
    if lighter and not light:
        return np.full(true.value.shape, _LOST)  # whatever the scale of its tails
    if lighter != light or not isinstance(other.noise, _AIMED | Gaussian):
        return 1.0
    with np.errstate(all="ignore"):
        larger = np.broadcast_to(true.scale / other.scale - 1, true.value.shape)
        return np.where(larger > _OTHER, np.clip(_LOST / larger, 1.0, _TIMES), 1.0)


class WorstCaseNoise(np.random.Generator):
    """Laplace noise, on a grid too, whose t-th draw is aimed by `aims[t]`, and Gaussian noise that is put as far as
    `normal[t]` says; later draws are as always."""

    def __init__(self, source: np.random.Generator, aims: Sequence[Aim], normal: Sequence[Aim] = ()) -> None:
        super().__init__(source.bit_generator)
        self._aims, self._normal, self._second = list(reversed(aims)), list(reversed(normal)), cast(Any, None)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        drawn: Any = cast(Any, super()).laplace(0.0, scale, size)
        if not self._aims:
            return loc + drawn
        aim = self._aims.pop()
        return loc + np.abs(drawn) * aim.signs * aim.times

    def standard_normal(self, size: Any = None, *options: Any, **named: Any) -> Any:
        drawn: Any = cast(Any, super()).standard_normal(size, *options, **named)
        times = self._normal.pop().times if self._normal else 1.0
        return drawn * times if np.shape(times) == np.shape(drawn) else drawn

    def random(self, *options: Any, **named: Any) -> Any:
        drawn: Any = cast(Any, super()).random(*options, **named)
        aimed = self._aims and np.shape(self._aims[-1].signs) == np.shape(drawn)
        return np.broadcast_to(self._aims[-1].uniform, np.shape(drawn)) if aimed else drawn

    def geometric(self, p: Any, size: Any = None) -> Any:
        """Discrete Laplace noise is a difference of two of these: the first call draws both."""
        one: Any = cast(Any, super()).geometric(p, size)
        if self._second is not None:
            one, self._second = self._second, None
        elif self._aims:
            aim = self._aims.pop()
            far = np.rint(aim.signs * aim.times).astype(np.int64)
            steps = np.abs(one - cast(Any, super()).geometric(p, size)) * far
            one, self._second = 1 + np.maximum(steps, 0), 1 + np.maximum(-steps, 0)
        return one


class _WithOwnLaws(WorstCaseNoise, Releasing):
    """The same, where the t-th release of a law of somebody's own is moved by `offsets[t]`, (replicas, dimension), as
    far as that is possible; later ones are as always. `moved` is by how much they were."""

    def __init__(
        self, source: np.random.Generator, aims: Sequence[Aim], normal: Sequence[Aim], offsets: Sequence[Array]
    ) -> None:
        super().__init__(source, aims, normal)
        self._offsets, self.moved = list(reversed(offsets)), list[Array]()

    @classmethod
    def noted(cls, source: np.random.Generator, made: "list[_WithOwnLaws]", **named: Any) -> Self:
        """Such noise, which is added to what was `made`."""
        made.append(one := cls(source, **named))
        return one

    def released(self, mechanism: Mechanism, value: Array) -> Array:
        if not is_own(mechanism):
            return mechanism.release(value, self)
        seen = mechanism.release(value, np.random.Generator(self.bit_generator))
        offset = self._offsets.pop() if self._offsets else np.zeros_like(seen)
        if np.shape(offset) != np.shape(seen):
            offset, self._offsets = np.zeros_like(seen), []
        with np.errstate(all="ignore"):
            possible = np.isfinite(mechanism.log_density(seen + offset, value))
        self.moved.append(np.where(possible[:, None], offset, 0.0))
        return seen + self.moved[-1]


class _RoundedAway(np.random.Generator):
    """What a random codec draws: in the first half of the replicas, whatever has a fraction is rounded up."""

    def __init__(self, source: np.random.Generator) -> None:
        super().__init__(source.bit_generator)

    def random(self, size: Any = None, *options: Any, **named: Any) -> Any:
        drawn: Any = cast(Any, super()).random(size, *options, **named)
        drawn[: (len(drawn) + 1) // 2] = 0.0
        return drawn


class Tilt(NamedTuple):
    """Tilt of one draw: its release, its law, and Δ in scales of the noise, (replicas or 1, dimension)."""

    release: int
    law: type
    shift: Array


def log_weight(law: type, theta: float, shift: Array, noise: Array) -> Array:
    """ln of p/(density drawn from), (replicas,), of `noise` in units of its scale, (replicas, dimension), whose law,
    `Gaussian` or `Laplace`, was tilted by `theta` over Δ = `shift`, in the same units."""
    if law is Gaussian:
        moved = theta * shift
        return np.sum(moved**2 / 2 - moved * noise, axis=-1)
    s, rate, noise = np.abs(shift), 1 + 2 * theta, noise * np.where(shift < 0, -1.0, 1.0)
    gone = -np.expm1(-rate * s)
    loss = np.where(noise >= 0, s, np.where(noise <= -s, -s, s + 2 * noise))
    log_mean = theta * s + np.log((2 - gone + gone / rate) / 2)  # ln E[e^{θl}]
    return np.sum(log_mean - theta * loss, axis=-1)


class TiltedNoise(np.random.Generator):
    """Noise of unit scale, tilted by `theta` over the tilts in turn; as always from a draw on that lacks its own.

    `log_weights[t]` (replicas,) is ln of p/(density drawn from) of release t.
    """

    def __init__(self, source: np.random.Generator, tilts: Iterable[Tilt], theta: float) -> None:
        super().__init__(source.bit_generator)
        self._tilts, self._theta = iter(tilts), theta
        self.log_weights = dict[int, Array]()

    def standard_normal(self, size: Any = None, *_: Any, **__: Any) -> Any:
        drawn: Any = cast(Any, super()).standard_normal(size=size)
        if (tilt := self._next(Gaussian, size)) is not None:
            drawn = drawn + self._theta * tilt.shift
            self.log_weights[tilt.release] = log_weight(Gaussian, self._theta, tilt.shift, drawn)
        return drawn

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        drawn: Any = cast(Any, super()).laplace(0.0, 1.0, size)
        if (tilt := self._next(Laplace, size)) is not None:
            drawn = self._tilted(np.abs(drawn), tilt) * np.where(tilt.shift < 0, -1.0, 1.0)
        return loc + scale * drawn

    def _tilted(self, beyond: Array, tilt: Tilt) -> Array:
        """Noise over |Δ| = s: above 0, where l = s; below −s, where l = −s; between, of density ∝ e^{(1+2θ)n}.

        `beyond` are exponential. With r = e^{−(1+2θ)s} the three have weights as 1 : r : (1 − r)/(1 + 2θ)
        (`attacks.audit.accounting.tilting`).
        """
        s, rate = np.broadcast_to(np.abs(tilt.shift), beyond.shape), 1 + 2 * self._theta
        gone = -np.expm1(-rate * s)  # 1 − r
        total = 2 - gone + gone / rate
        above, between = 1 / total, gone / rate / total
        u = self.random(beyond.shape)
        part = np.clip((u - above) / np.where(between > 0, between, 1.0), 0.0, 1.0)
        inside = np.log1p(-part * gone) / rate
        noise = np.where(u < above, beyond, np.where(u < above + between, inside, -s - beyond))
        self.log_weights[tilt.release] = log_weight(Laplace, self._theta, s, noise)
        return noise

    def _next(self, law: type, size: Any) -> Tilt | None:
        tilt = next(self._tilts, None)
        if (
            tilt is None
            or tilt.law is not law
            or tilt.shift.shape[1:] != size[1:]
            or len(tilt.shift) not in (1, size[0])
        ):
            self._tilts: Iterator[Tilt] = iter(())
            return None
        return tilt


@dataclass(frozen=True)
class Aiming:
    """Simulator of transcripts under `true` whose noise points away from `other`, in each release as it was made.

    `simulate(index, replicas, noise, dither)` gives that many transcripts of chunk `index` of the true world, the
    same ones every time; the agent's noise is changed by `noise`, what its codec draws by `dither`.
    """

    simulate: Callable[[int, int, NoiseThrough | None, NoiseThrough | None], Sample]
    agent: int
    true: Hypothesis
    other: Hypothesis

    def worst_case(self, transcripts: int = TRANSCRIPTS) -> Sample:
        """Transcripts with noise of the worst signs."""
        sample, moved = self.simulate(WORST_CASE, transcripts, None, _RoundedAway), list[Array]()
        far_out = SOME
        for _ in range(_PASSES):
            every = self._replayed(sample, out=True)
            pairs = [(a, b) for a, b in every if isinstance(a.noise, _AIMED | Gaussian)]
            aims = [Aim.of(a, b) for a, b in pairs]
            far = [t for t, aim in enumerate(aims) if np.any(np.not_equal(aim.times, 1.0))]
            aims = [aim._replace(times=1.0) if t in far[1:] else aim for t, aim in enumerate(aims)]  # one is enough
            normal = [isinstance(a.noise, Gaussian) for a, _ in pairs]
            named = {
                "aims": [aim for aim, other in zip(aims, normal, strict=True) if not other],
                "normal": [aim for aim, other in zip(aims, normal, strict=True) if other],
            }
            own, made = [(a, b) for a, b in every if is_own(a.mechanism)], list[_WithOwnLaws]()
            noise = partial(WorstCaseNoise, **named)
            if own:
                offsets = farthest_out(own, moved, far_out)
                if not pairs and len(offsets) == len(moved) and all(map(np.array_equal, offsets, moved)):
                    break
                noise = partial(_WithOwnLaws.noted, made=made, offsets=offsets, **named)
            try:
                sample = self.simulate(WORST_CASE, transcripts, noise, _RoundedAway)
            except Exception:  # code may fail, in any way, where numbers are far out
                if not own or not far_out:
                    raise
                far_out = 0
                continue
            moved = made[-1].moved if made else []
        return sample

    def tilted(self, delta: float, transcripts: int = WEIGHTED) -> Sample:
        """Transcripts of tilted noise and their `log_weights`; plain ones where there is no noise to be tilted."""
        sample = self.simulate(TILTED + 1, min(transcripts, PILOT), None, None)
        tilts = list(_tilts(self._replayed(sample)))
        product = Product()
        for tilt in tilts:
            size = np.sqrt(np.mean(tilt.shift**2, axis=0))
            product *= Product.gaussian(size, 1.0) if tilt.law is Gaussian else Product.laplace(size, 1.0)
        if product == Product() or not 0 < delta < 1:
            return sample
        theta = min(saddle(product, delta).theta, _STEEPEST)
        means = [tilt._replace(shift=np.mean(tilt.shift, axis=0, keepdims=True)) for tilt in tilts]
        largest = max(float(np.max(np.abs(mean.shift))) for mean in means)
        apart = (np.max(np.abs(tilt.shift - mean.shift)) for tilt, mean in zip(tilts, means, strict=True))
        sample = self._tilted(means, theta, transcripts)
        if max(apart) <= _ALIKE * largest:
            return replace(sample, tilting=Tilting(theta, {mean.release: mean.shift[0] for mean in means}))
        for _ in range(_PASSES - 1):
            sample = self._tilted(list(_tilts(self._replayed(sample))), theta, transcripts)
        return sample

    def _tilted(self, tilts: Sequence[Tilt], theta: float, transcripts: int) -> Sample:
        made = list[TiltedNoise]()

        def through(stream: np.random.Generator) -> np.random.Generator:
            made.append(TiltedNoise(stream, tilts, theta))
            return made[-1]

        sample = self.simulate(TILTED, transcripts, through, None)
        by_release = made[-1].log_weights if made else {}
        weights = np.zeros((1 + max((len(sample.releases) - 1, *by_release)), transcripts))
        for release, log_weight in by_release.items():
            weights[release] = log_weight
        return replace(sample, log_weights=weights)

    def _replayed(self, sample: Sample, *, out: bool = False) -> list[tuple[Release, Release]]:
        """Releases under both hypotheses; with `out`, those of the other that come out of messages are shifted."""
        mine, theirs = (
            replay(sample.view, self.agent, hypothesis, sample.coins(), sample.releases, sample.dither)
            for hypothesis in (self.true, self.other)
        )
        if out and sample.view.public.codec.lossless:
            found = Reproduced(sample, self.agent, self.true, mine).recovered(theirs, self.other, sample)
            theirs = theirs if found is None else found.theirs
        return list(zip(mine.releases, theirs.releases, strict=False))


def _tilts(pairs: Sequence[tuple[Release, Release]]) -> Iterator[Tilt]:
    """Tilts of the draws, in order, up to the first of a law whose draws are not known: a tilt may look at earlier
    draws only, so that none may be missing here."""
    for t, (a, b) in enumerate(pairs):
        law = a.mechanism
        if type(law) not in (Gaussian, Laplace, UniformModulo):
            return
        if isinstance(law, Gaussian | Laplace) and not law.noiseless:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                shift = np.where(a.scale > 0, (a.value - b.value) / a.scale, 0.0)
            yield Tilt(t, type(law), np.clip(np.nan_to_num(shift), -_FARTHEST, _FARTHEST))
