"""Comparison of two worlds on one sample, release by release.

Transcripts are simulated under the true hypothesis D and explained under D and D' by replaying the agent's code:

    L = Σ_t [ln p(observed_t | D) − ln p(observed_t | D')]   (nats).

A value that no noise covers and that D' would have sent differently is an *unprotected message*: L = ∞. So is a
message that D' would not have sent, or not to the same agent, or with other fields, or at another point.

All replicas are replayed at once. Code that takes a norm without its axis, a mean over the wrong one, or a branch for
all by the values of some does something else for many replicas than for one. So a few replicas are replayed alone,
and must do as they did together.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from attacks.audit.loss.envelopes import Measured, measured
from attacks.audit.loss.noise_check import NOTHING, NoiseScores, noise_scores
from attacks.audit.loss.release_cost import averages, cost_and_shifts
from attacks.audit.loss.unprotected import Leaks, UnprotectedMessage, inexplicable, variance_of
from attacks.audit.loss.wire_fields import Details, Place, followed, released
from attacks.replay import ULPS, Comparison, Departure, Hypothesis, Perturbed, Release, Replayed, bits, replay
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.codecs import Dither
from netsim.errors import NetsimError, PrivacyError, TranscriptError
from netsim.mechanisms import IntervalMechanism
from netsim.transcript.transcript import Transcript


def rounded_replays(
    sample: "Sample", agent: int, mine: tuple[Hypothesis, Replayed], theirs: tuple[Hypothesis, Replayed]
) -> tuple[Replayed, Replayed] | None:
    """Both replays with the releases as the codec rounded them, in place of those on the granted ones.

    Given are the hypotheses with their replays on granted releases. None where the codec is lossless or its cells are
    not known, where a release is not on the wire or its mechanism has no cost of an interval, and where the agent's
    code goes on with a release as it was before it was rounded: a replay on the rounded one then gives other values.
    """
    view = sample.view
    if view.public.codec.lossless or not all(isinstance(r.mechanism, IntervalMechanism) for r in mine[1].releases):
        return None
    found: list[Replayed] = []
    for hypothesis, granted in (mine, theirs):
        try:
            found.append(replay(view, agent, hypothesis, sample.coins()))
        except TranscriptError:
            return None
        if not _same_values(granted, found[-1]):
            return None
    return found[0], found[1]


def _same_values(granted: Replayed, rounded: Replayed) -> bool:
    pairs = list(zip(granted.releases, rounded.releases, strict=False))
    return (
        len(granted.releases) == len(rounded.releases)
        and granted.departure == rounded.departure
        and len(granted.sendings) == len(rounded.sendings)
        and all(b.sent_in is not None and np.array_equal(bits(a.value), bits(b.value)) for a, b in pairs)
        and len(granted.comparisons) == len(rounded.comparisons)
        and all(
            np.array_equal(bits(a.predicted), bits(b.predicted))
            for a, b in zip(granted.comparisons, rounded.comparisons, strict=True)
        )
    )


def _same_by_chance(mine: Replayed, theirs: Replayed) -> Iterator[tuple[Comparison, Comparison]]:
    """Values that the worlds encode differently, and that a random codec made equal."""
    first = {(c.message, c.name): c for c in mine.comparisons if c.value is not None}
    for two in theirs.comparisons:
        one = first.get((two.message, two.name))
        if one is None or one.value is None or two.value is None or not two.identical:
            continue
        if not np.array_equal(bits(one.value), bits(two.value)):
            yield one, two


_ALONE = 5
"""Replicas of each sample that are replayed alone too, under either hypothesis."""


def _check_independent(sample: "Sample", agent: int, hypothesis: Hypothesis, together: Replayed) -> None:
    """Raise a `PrivacyError` where a replica alone makes other releases, or of other values or noise.

    Other messages are not compared: a difference in them is an unprotected message, however it came about. Values may
    differ by rounding: by `ULPS` units in the last place of the largest number observed.
    """
    door, replicas = sample.at_door(agent), sample.view.replicas
    for r in sorted({int(k) for k in np.linspace(0, replicas - 1, _ALONE)}) if replicas > 1 else ():
        alone = replayed_under(door.replica(r), agent, hypothesis, f"replica {r} alone")
        if not _alike(together, alone, slice(r, r + 1)):
            raise PrivacyError(
                f"agent {agent} does something else for replica {r} alone than for all together: its code decides "
                "for all replicas by the values of some (a norm, sum or mean without axis=-1, a branch); decide for "
                "each by itself, or audit with `chunk` 1"
            )


def _alike(together: Replayed, alone: Replayed, one: slice) -> bool:
    if (alone.departure is None) != (together.departure is None):
        return False
    if len(alone.releases) != len(together.releases):
        return False
    room = ULPS * np.finfo(float).eps * _largest(alone)
    releases = zip(alone.releases, together.releases, strict=True)
    return all(_same_release(a, b, one, room) for a, b in releases)


def _same_release(alone: Release, together: Release, one: slice, room: float) -> bool:
    same = np.allclose(variance_of(alone), variance_of(together)[one], rtol=1e-9, atol=0.0, equal_nan=True)
    return bool(same) and _near(alone.value, together.value[one], room)


def _near(a: Array, b: Array, room: float) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.all((np.abs(a - b) <= room) | (a == b) | (np.isnan(a) & np.isnan(b))))


def _largest(alone: Replayed) -> float:
    seen: Sequence[Array] = [r.observed for r in alone.releases] + [c.observed for c in alone.comparisons]
    seen = [*seen, *(r.value for r in alone.releases)]
    finite = (np.abs(array[np.isfinite(array)]) for array in seen)
    return max((float(np.max(array, initial=0.0)) for array in finite), default=0.0)


@dataclass(frozen=True)
class Sample:
    """Transcripts of one world: the view of a tap at the agent, and what the audit's adversary is granted besides.

    `coins()` gives the agent's private coins from their start; `releases` its noisy values, each (replicas,
    dimension), granted where they are not on the wire verbatim; `dither` the draws of a random codec.
    """

    view: AdversaryView
    coins: Callable[[], np.random.Generator]
    releases: list[Array]
    dither: Dither | None = None

    def at_door(self, agent: int) -> "Sample":
        """Sample of what passed the agent's door alone."""
        rows = self.view.transcript.at_node(agent)
        view = replace(self.view, transcript=Transcript(rows, self.view.replicas))
        return replace(self, view=view)

    def replica(self, index: int) -> "Sample":
        """Sample of one transcript."""
        view = replace(self.view, transcript=self.view.transcript.replica(index))
        releases = [release[index : index + 1] for release in self.releases]
        return Sample(view, self.coins, releases, None if self.dither is None else self.dither.replica(index))


@dataclass(frozen=True)
class WorldComparison:
    """One sample under both hypotheses. Messages are the agent's own, counted from 0; ∞ stands for none.

    `steps[t]` (replicas,) is what release t adds to the loss, in nats, and `cost[t]` its worst case
    (`attacks.audit.loss.release_cost`: ‖Δ‖₂²/σ² for Gaussian noise, ‖Δ‖₁/b for Laplace); `laws[t]` is its mechanism's
    type and `sent_in[t]` the message that carries it verbatim. `dates[k]` is the activation of message k. `leaked`
    (replicas,) is the first unprotected message of each transcript, `uncovered` the first of all, `faint` a
    difference that no noise covers and that may be rounding or chance. From message `granted_from` on everything here
    holds for an adversary who is granted a release that is not on the wire verbatim, or that the other world makes at
    another point: an upper bound for one who sees the wire. `complete` is false where the other world makes more
    releases than there were, which ends its replay. `bare` (replicas,) is the first message that no noise of the
    other world explains, granted nothing, and `inexplicable` that message. `rounded`: the codec rounds the releases;
    `steps` are exact for that, `cost` bounds them. `measured`: the shifts of Laplace releases, by those of first
    transcripts.
    """

    steps: Array
    cost: Array
    laws: tuple[type, ...]
    sent_in: tuple[float, ...]
    dates: tuple[int, ...]
    leaked: Array
    uncovered: UnprotectedMessage | None
    faint: UnprotectedMessage | None
    granted_from: float
    complete: bool
    noise: NoiseScores
    unreliable_from: int | None
    bare: Array
    inexplicable: UnprotectedMessage | None
    rounded: bool = False
    measured: Measured | None = None
    details: Details = field(default_factory=Details)

    @property
    def replicas(self) -> int:
        """Number of transcripts."""
        return self.leaked.size

    def losses(self, releases: int | None = None) -> Array:
        """Loss of each transcript by its first releases (None: all), (replicas,), in nats."""
        return np.asarray(np.sum(self.steps[:releases], axis=0), dtype=np.float64)


@dataclass(frozen=True)
class Reproduced:
    """Sample that one agent's replay under the simulated hypothesis reproduces to the last bit."""

    sample: Sample
    agent: int
    true: Hypothesis
    mine: Replayed


def compare_worlds(
    sample: Sample, agent: int, true: Hypothesis, other: Hypothesis, reference: Measured | None = None
) -> WorldComparison:
    """Replay one agent of one sample under the hypothesis that was simulated and under the other one.

    Shifts are measured by a `reference` from another sample; without one, by those of the first transcripts here.
    Raises `PrivacyError` if the true hypothesis does not reproduce what was sent, to the last bit, or if the agent's
    code fails under the other one.
    """
    return compare(reproduce(sample, agent, true), other, reference=reference)


def reproduce(sample: Sample, agent: int, true: Hypothesis) -> Reproduced:
    """Replay under the hypothesis that was simulated; errors as of `compare_worlds`."""
    if agent in sample.view.public.forgetful:
        raise PrivacyError(f"agent {agent} may begin anew without its state: an audit follows one life")
    mine = replayed_under(sample, agent, true, "the hypothesis that was simulated")
    check_reproduced(agent, mine)
    _check_independent(sample, agent, true, mine)
    return Reproduced(sample, agent, true, mine)


def compare(
    known: Reproduced, other: Hypothesis, *, scored: bool = True, reference: Measured | None = None
) -> WorldComparison:
    """Replay under another hypothesis, and explain what was sent under both.

    Not `scored`: the noise is not looked at, and `WorldComparison.noise`, `details` and `measured` are empty.
    """
    sample, agent, true, mine = known.sample, known.agent, known.true, known.mine
    theirs = replayed_under(sample, agent, other, "the other hypothesis")
    if scored:
        _check_independent(sample, agent, other, theirs)
    rounded = rounded_replays(sample, agent, (true, mine), (other, theirs))
    mine, theirs = rounded or (mine, theirs)
    replicas = sample.view.replicas
    pairs = list(zip(mine.releases, theirs.releases, strict=False))
    logs = [(a.log_density(), b.log_density()) for a, b in pairs]
    charges = [cost_and_shifts(a, b) for a, b in pairs]
    neighbors = sample.view.public.neighbors[agent]
    leaks = Leaks(agent, replicas, mine, neighbors)
    for (a, b), (here, other_world) in zip(pairs, logs, strict=True):
        leaks.release(a, b)
        leaks.impossible(a, b, np.isneginf(other_world) & ~np.isneginf(here))
    for comparison in theirs.comparisons:
        leaks.comparison(comparison)
    for one, two in _same_by_chance(mine, theirs):
        leaks.dithered(one, two)
    random_times = sample.view.public.query_time(agent) is None
    departures = [] if theirs.out_of_releases else [theirs.departure]
    departures += [None if random_times else _other_time(mine, theirs), _other_end(mine, theirs)]
    for departure in filter(None, departures):
        leaks.departure(departure)
    if random_times and (message := _other_pace(mine, theirs)) is not None:
        leaks.undecided(message)
    bare, inexplicable_ = _inexplicable(sample, agent, other, theirs, leaks)
    granted_from = min(_granted_from(mine), _misaligned_from(mine, theirs))
    return WorldComparison(
        steps=np.array([_step(a, *both) for (a, _), both in zip(pairs, logs, strict=True)]).reshape(-1, replicas),
        cost=np.array([cost for cost, _ in charges]).reshape(len(pairs), replicas),
        laws=tuple(type(a.mechanism) for a, _ in pairs),
        sent_in=tuple(math.inf if a.sent_in is None else a.sent_in for a, _ in pairs),
        dates=tuple(sending.activation for sending in mine.sendings),
        leaked=leaks.first,
        uncovered=leaks.uncovered,
        faint=leaks.faint,
        granted_from=granted_from,
        complete=not theirs.out_of_releases,
        noise=_noise(pairs) if scored else NOTHING,
        unreliable_from=mine.unreliable_from,
        bare=bare,
        inexplicable=inexplicable_,
        rounded=rounded is not None,
        measured=measured(pairs, charges, reference) if scored else None,
        details=_details(known, pairs, mine, leaks, granted_from) if scored else Details(),
    )


def _details(
    known: Reproduced, pairs: list[tuple[Release, Release]], mine: Replayed, leaks: Leaks, granted_from: float
) -> Details:
    sample, agent = known.sample, known.agent
    places = _followed(sample, agent, known.true, mine)
    neighbors = sample.view.public.neighbors[agent]
    return Details(
        released(agent, neighbors, (a for a, _ in pairs), mine.sendings, places),
        leaks.fields.finish(granted_from),
        averages(pairs, sample.view.replicas),
    )


def _noise(pairs: list[tuple[Release, Release]]) -> NoiseScores:
    return noise_scores([a for a, _ in pairs], [_fixed_difference(a, b) for a, b in pairs])


def _inexplicable(
    sample: Sample, agent: int, other: Hypothesis, theirs: Replayed, leaks: Leaks
) -> tuple[Array, UnprotectedMessage | None]:
    """First messages that no noise explains, where releases are not on the wire and the codec rounds nothing."""
    nothing = np.full(sample.view.replicas, math.inf)
    if not sample.view.public.codec.lossless or theirs.out_of_releases:
        return nothing, None

    def again(releases: list[Array]) -> Replayed:
        return replay(sample.view, agent, other, sample.coins(), releases, sample.dither)

    found = inexplicable(theirs, sample.releases, again)
    if found is None:
        return nothing, None
    return np.where(found.where, found.message, math.inf), leaks.unexplained(found)


def _followed(sample: Sample, agent: int, true: Hypothesis, mine: Replayed) -> dict[int, Place]:
    """Places where releases that are not on the wire verbatim come out, by release."""
    if all(release.carriers for release in mine.releases):
        return {}
    one = sample.at_door(agent).replica(0)

    def again(releases: list[Array]) -> Replayed:
        return replay(one.view, agent, true, one.coins(), releases, one.dither)

    return followed(mine, one.releases, again)


def replayed_under(sample: Sample, agent: int, hypothesis: Hypothesis, which: str) -> Replayed:
    """Replay of the agent, all releases granted. Raises `PrivacyError` where its code fails under `which`."""
    try:
        return replay(sample.view, agent, hypothesis, sample.coins(), sample.releases, sample.dither)
    except NetsimError:
        raise
    except Exception as error:
        raise PrivacyError(f"agent {agent}'s code fails under {which}: {type(error).__name__}: {error}") from error


def check_reproduced(agent: int, mine: Replayed, *, to_the_bit: bool = True) -> None:
    """Raise a `PrivacyError` where a replay differs from what was sent (or differs by more than rounding)."""
    wrong = None if mine.departure is None else f"at its message {mine.departure.message} {mine.departure.what}"
    for one in mine.comparisons:
        if wrong is None and (not one.identical if to_the_bit else bool(np.any(one.visible))):
            wrong = f"sends another {one.name!r} in its message {one.message}"
    if wrong is not None:
        raise PrivacyError(
            f"agent {agent}, under the hypothesis that was simulated, {wrong}: the replay is not of this run, or its "
            "code draws randomness that does not come through its node"
        )


def _granted_from(mine: Replayed) -> float:
    return min((r.made_before for r in mine.releases if r.sent_in is None), default=math.inf)


def _misaligned_from(mine: Replayed, theirs: Replayed) -> float:
    """First message by which the two worlds have made different numbers of releases."""
    for k, (a, b) in enumerate(zip(mine.sendings, theirs.sendings, strict=False)):
        if a.releases != b.releases:
            return k
    return math.inf


def _other_time(mine: Replayed, theirs: Replayed) -> Departure | None:
    """First message that is ready at another time."""
    for k, (a, b) in enumerate(zip(mine.sendings, theirs.sendings, strict=False)):
        if not math.isclose(a.time, b.time, rel_tol=1e-12):
            return Departure(k, f"is ready to send it at {b.time:g} s, not at {a.time:g} s")
    return None


def _other_pace(mine: Replayed, theirs: Replayed) -> int | None:
    """First message before which the worlds receive and query in another order."""
    pairs = enumerate(zip(mine.sendings, theirs.sendings, strict=False))
    return next((k for k, (a, b) in pairs if a.pace != b.pace), None)


def _other_end(mine: Replayed, theirs: Replayed) -> Departure | None:
    if theirs.overran and not mine.overran:
        return Departure(len(theirs.sendings), "goes on to send where it fell silent")
    return None


def _step(a: Release, here: Array, under_other: Array) -> Array:
    with np.errstate(invalid="ignore"):
        step = here - under_other
    return np.where(a.judged & ~np.isneginf(under_other), step, 0.0)  # the impossible is an unprotected message


def _fixed_difference(a: Release, b: Release) -> Array:
    """Δ, where it was fixed before the noise was drawn; by objective perturbation it depends on the noise: 0."""
    return np.zeros_like(a.value) if isinstance(a.mechanism, Perturbed) else a.value - b.value
