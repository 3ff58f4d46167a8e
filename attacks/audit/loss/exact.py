"""Exact privacy loss of an adjacent pair: ε(δ) of one direction from every sample.

Transcripts of a direction are pooled: ε(δ) from their losses and costs, after each release and at the end.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attacks.audit.accounting.formulas import (
    SelfCheck,
    Weighted,
    epsilon_at_least,
    epsilon_estimate,
    epsilon_from_losses,
    gaussian_epsilon,
    leaks,
)
from attacks.audit.accounting.intervals import Interval, clopper_pearson, error_rate
from attacks.audit.accounting.products import Product, product_epsilon
from attacks.audit.loss.comparison import WorldComparison
from attacks.audit.loss.envelopes import CONSTANT, SLACK, Measured
from attacks.audit.loss.noise_check import ALPHA, NoiseCheck, NoiseScores
from attacks.audit.loss.release_cost import PURE, UNBOUNDED, laws_with_cost
from attacks.audit.loss.unprotected import UnprotectedMessage
from netsim.arrays import Array
from netsim.mechanisms import Gaussian, Laplace

NOISE = 2_000_000
"""Numbers of each property of the noise that are checked; of later samples none is kept."""
FORMULAS = 8
"""Releases up to which ε of a product is computed after each; with more only at the end: it takes a second."""
SINGLES = 2**43
"""First number of chunks of one transcript each, whose agents toss coins of their own."""
TOSSES = 32
"""So many chunks of one transcript where private coins are tossed; one where none are."""
COURSE = 10_000
"""Transcripts whose losses are kept release by release, for the levels on the way."""


@dataclass(frozen=True)
class Level:
    """Budget spent up to an agent's `activation`: ε(δ) of all that it had sent by then."""

    activation: int
    """The activation, from 1."""
    lower: float
    """ε proven at the confidence of the whole, for each activation by itself."""
    estimate: float
    """ε of the sample."""
    release: int | None
    """The last release included, from 0; the last of an activation counts with all that was sent by its end. Null
    where an activation had unprotected messages and no release."""


@dataclass(frozen=True)
class _Shape:
    """Structure common to the transcripts of a direction: the longest list of releases, and the messages they are in.

    `laws` are `object` where transcripts do not agree; `in_step`: all carry their releases in the same messages;
    `bounded`: costs bound the losses, and are not those of what was seen.
    """

    laws: tuple[type, ...]
    sent_in: tuple[float, ...]
    dates: tuple[int, ...]
    in_step: bool
    rounded: bool
    bounded: bool

    @classmethod
    def of(cls, parts: Iterable[WorldComparison]) -> "_Shape":
        longest = cls((), (), (), True, False, False)
        alike = in_step = True
        for part in parts:
            one = cls(
                part.laws, part.sent_in, part.dates, True, part.rounded, part.rounded or part.scores is not None
            )
            short, long = (one, longest) if len(one.laws) <= len(longest.laws) else (longest, one)
            alike = alike and short.laws == long.laws[: len(short.laws)]
            in_step = in_step and short.sent_in == long.sent_in[: len(short.sent_in)]
            dates = max(longest.dates, one.dates, key=len)
            rounded, bounded = longest.rounded or one.rounded, longest.bounded or one.bounded
            longest = replace(long, dates=dates, rounded=rounded, bounded=bounded)
        laws = longest.laws if alike else (object,) * len(longest.laws)
        return replace(longest, laws=laws, in_step=in_step)

    def date(self, message: float) -> float:
        """Activation of a message; ∞ for a message that is never sent."""
        if math.isinf(message):
            return math.inf
        return self.dates[min(int(message), len(self.dates) - 1)] if self.dates else 1

    @property
    def messages(self) -> Array:
        """Message by which each release, and all before it, are on the wire."""
        return np.maximum.accumulate(np.array(self.sent_in, dtype=np.float64))

    @property
    def ends(self) -> Array:
        """Last message counted with each release: its own, or of its activation if no release follows there."""
        messages = self.messages
        dates = [self.date(message) for message in messages.tolist()]
        last = [k + 1 == len(dates) or dates[k + 1] > date for k, date in enumerate(dates)]
        whole = [self.end(date) for date in dates]
        return np.maximum(messages, np.where(last, whole, messages))

    def end(self, date: float) -> float:
        """Last message of an activation; of the last activation, whatever follows too."""
        if not self.dates or date >= self.dates[-1]:
            return math.nextafter(math.inf, 0.0)
        return float(np.searchsorted(self.dates, date, side="right")) - 1


@dataclass(frozen=True)
class _LossSummary:
    """Summary of all transcripts up to some release: least and greatest cost, greatest loss, how many had an
    unprotected message (`infinite`), whether Gaussian noise hid a difference (`unbounded`), the common product, and
    the first losses."""

    laws: tuple[type, ...]
    least: float
    most: float
    top: float
    infinite: int
    unbounded: bool
    product: Product | None
    losses: Array


class _Pool:
    """Transcripts of a direction, added one sample after the other; a shorter one ends with zeros.

    Kept: of each transcript its loss and first unprotected message, of each release the extremes of what had been
    spent by then (`_Shape.ends`), and of the first `COURSE` transcripts the loss by then. `tilted` transcripts are
    no part of any of these.
    """

    def __init__(
        self,
        parts: Iterable[WorldComparison],
        shape: _Shape,
        delta: float,
        confidence: float,
        tilted: WorldComparison | None = None,
    ) -> None:
        self.shape, self.delta, self.confidence, self.tilted = shape, delta, confidence, tilted
        length = len(shape.laws)
        self._messages, self._ends = shape.messages, shape.ends
        self._least, self._most = np.full(length, math.inf), np.full(length, -math.inf)
        self._top, self._dearest = np.full(length, -math.inf), np.zeros(length)
        self.least, self.most = math.inf, 0.0
        losses, leaked, course = list[Array](), list[Array](), list[Array]()
        measured = list[Measured | None]()
        room = COURSE
        for part in parts:
            spent, paid = (np.cumsum(_padded(rows, length), axis=0) for rows in (part.steps, part.cost))
            exposed = part.leaked <= self._ends[:, None]
            spent_by, paid_by = np.where(exposed, math.inf, spent), np.where(exposed, math.inf, paid)
            if length:
                cost = _padded(part.cost, length)
                dearest = np.max(cost, axis=1, where=np.isfinite(cost), initial=0.0)
                self._least = np.minimum(self._least, np.min(paid_by, axis=1))
                self._most = np.maximum(self._most, np.max(paid_by, axis=1))
                self._top = np.maximum(self._top, np.max(spent_by, axis=1))
                self._dearest = np.maximum(self._dearest, dearest)
            out = np.isfinite(part.leaked)
            total = np.where(out, math.inf, paid[-1] if length else 0.0)
            self.least, self.most = min(self.least, float(np.min(total))), max(self.most, float(np.max(total)))
            losses.append(np.where(out, math.inf, spent[-1] if length else 0.0))
            leaked.append(part.leaked)
            measured.append(part.measured)
            course.append(spent_by[:, :room])
            room -= course[-1].shape[1]
        self.losses, self.leaked = np.concatenate(losses), np.concatenate(leaked)
        self.course = np.concatenate(course, axis=1)
        self._measured = Measured.pooled(measured)

    def enclosed(self) -> tuple[Interval, bool]:
        """Interval of ε(δ), and whether its estimate is by formula."""
        whole = self._whole
        tilted = None if self.tilted is None else _weighted(self.tilted)
        estimate, by_formula = self._estimate(whole, tilted)
        if self.delta == 0:
            return Interval(self._witnessed(whole), estimate, math.inf, self.confidence), by_formula
        sampled = epsilon_from_losses(self.losses, self.delta, 1 - self._side, tilted)
        lower, upper = sampled.lower, sampled.upper
        if self._gaussian(whole):
            lower = lower if self.shape.bounded else max(lower, self._cheapest(whole))
            if self._unseen < self.delta:
                dearest = math.sqrt(whole.most) + SLACK
                upper = max(min(upper, gaussian_epsilon(dearest, self.delta - self._unseen)), lower)
        elif (measured := self._products) is not None:
            found = measured.enclosed(self.delta, 1 - self._side)
            lower = lower if self.shape.bounded else max(lower, found.lower)
            upper = max(min(upper, found.upper), lower)
        return Interval(lower, min(max(estimate, lower), upper), upper, self.confidence), by_formula

    def growth(self, final: float) -> tuple[Level, ...]:
        """Levels after each release and all that its activation sent, and at the end of each activation that had
        unprotected messages and no release; the last lower end is `final`.

        The estimates do not fall, for ε of more messages is at least ε of fewer. Only the last level, where the
        transcripts carry their releases in different messages.
        """
        whole = self._whole
        end = self._estimate(whole, None)[0] if whole.product is not None else math.inf
        found, reached = list[Level](), 0.0
        for last, activation, release, spent in self._checkpoints():
            tilted = self._tilted(last)
            reached = min(max(reached, self._estimate(spent, None if spent.infinite else tilted)[0]), end)
            proven = self._proven(spent)
            if tilted is not None:
                proven = max(proven, epsilon_at_least([tilted], self.delta, self._side / 2))
            found.append(Level(activation, proven, reached, release))
        if found:
            found[-1] = replace(found[-1], lower=final)
        elif np.any(np.isfinite(self.leaked)):
            first = float(np.min(self.leaked))
            found.append(Level(int(self.shape.date(first)), final, self._estimate(whole, None)[0], None))
        return tuple(found)

    def _checkpoints(self) -> list[tuple[float, int, int | None, "_LossSummary"]]:
        """(last message that counts, activation, release if one was made, summary by then) of each level."""
        if not self.shape.in_step or not self.shape.laws:
            return []
        points: list[tuple[float, int, int | None, _LossSummary]] = [
            (end, int(self.shape.date(message)), t, self._level(t))
            for t, (message, end) in enumerate(zip(self._messages.tolist(), self._ends.tolist(), strict=True))
            if math.isfinite(message)
        ]
        with_release = {activation for _, activation, _, _ in points}
        ends = [end for end, *_ in points]
        leaks = np.unique(self.leaked[np.isfinite(self.leaked)]).tolist()
        for activation in sorted({int(self.shape.date(leak)) for leak in leaks} - with_release):
            last = self.shape.end(activation)
            releases = sum(end <= last for end in ends)
            points.append((last, activation, None, self._with_leaks(releases, last)))
        return sorted(points, key=lambda point: point[0])

    def _level(self, t: int) -> _LossSummary:
        """Summary up to release t."""
        length = len(self._messages)
        return _LossSummary(
            self.shape.laws[: t + 1],
            float(self._least[t]),
            float(self._most[t]),
            float(self._top[t]),
            self._infinite(float(self._ends[t])),
            self._unbounded(t + 1),
            self._product(t + 1) if length <= FORMULAS or t + 1 == length else None,
            self.course[t],
        )

    def _with_leaks(self, releases: int, last: float) -> _LossSummary:
        """Summary of the first releases, which may be none, and all unprotected messages up to a later message."""
        leaked = self.leaked[: self.course.shape[1]] <= last
        if releases == 0:
            before = _LossSummary((), 0.0, 0.0, 0.0, 0, False, None, np.zeros(leaked.size))
        else:
            before = self._level(releases - 1)
        losses: Array = np.where(leaked, math.inf, before.losses)
        return replace(
            before, most=math.inf, top=math.inf, infinite=self._infinite(last), product=None, losses=losses
        )

    def _infinite(self, last: float) -> int:
        """Number of transcripts with an unprotected message up to some message."""
        return int(np.count_nonzero(self.leaked <= last))

    @property
    def _whole(self) -> _LossSummary:
        """Summary of all releases and all unprotected messages."""
        top, infinite = float(np.max(self.losses)), int(np.count_nonzero(np.isinf(self.losses)))
        releases = len(self.shape.laws)
        unbounded, product = self._unbounded(releases), self._product(releases)
        return _LossSummary(self.shape.laws, self.least, self.most, top, infinite, unbounded, product, self.losses)

    def _unbounded(self, releases: int) -> bool:
        """Whether noise of unbounded loss, not rounded, was seen to hide a difference: at δ = 0 that is ε = ∞."""
        pairs = zip(self.shape.laws[:releases], self._dearest[:releases].tolist(), strict=True)
        return not self.shape.rounded and any(law in UNBOUNDED and cost > SLACK**2 for law, cost in pairs)

    @property
    def _products(self) -> Measured | None:
        """Transcripts as products of Laplace and Gaussian releases, where they are that and nothing else."""
        found, laws = self._measured, laws_with_cost(self.shape.laws)
        fits = Laplace in laws and laws <= {Gaussian, Laplace} and math.isfinite(self.most)
        return found if fits and found is not None and found.known else None

    def _product(self, releases: int) -> Product | None:
        """Product of the first releases, where they make the same differences in all transcripts."""
        found = self._products
        return found.until(releases) if found is not None and found.constant else None

    def _estimate(self, level: _LossSummary, tilted: Weighted | None) -> tuple[float, bool]:
        """(ε, whether by formula): the formula's where every transcript costs the same; else the sample's, or that of
        the tilted one, where that is too small for δ."""
        largest = level.most
        if math.isfinite(largest) and largest - level.least <= CONSTANT * largest:
            if largest <= SLACK**2:
                return 0.0, True
            if laws_with_cost(level.laws) == {Gaussian} and not self.shape.bounded:
                return gaussian_epsilon(math.sqrt(largest), self.delta), True
            if level.product is not None and self.delta > 0 and not self.shape.bounded:
                return product_epsilon(level.product, self.delta), True
            if laws_with_cost(level.laws) <= PURE and self.delta == 0 and not self.shape.bounded:
                return largest, True
        if self.delta == 0:
            return self._witnessed(level), False
        few = tilted is not None and self.losses.size * self.delta < tilted[0].size
        losses, log_weights = tilted if tilted is not None and few else (level.losses, 0.0)
        return epsilon_estimate(losses, self.delta, log_weights), False

    def _proven(self, level: _LossSummary) -> float:
        """Lower end that needs no betting: for the levels on the way, of which there are many."""
        if self.delta == 0:
            return self._witnessed(level)
        if self._gaussian(level) and not self.shape.bounded:
            return self._cheapest(level)
        return math.inf if leaks(level.infinite, self.leaked.size, self.delta, self._side / 2) else 0.0

    def _tilted(self, last: float) -> Weighted | None:
        """Losses of the tilted transcripts by releases up to some message, and the weights of these releases.

        Unprotected messages are left out: later draws may decide on them.
        """
        part = self.tilted
        if part is None or part.log_weights is None:
            return None
        count = part.counted(math.nextafter(last, math.inf))
        return part.losses(count), np.sum(part.log_weights[:count], axis=0)

    def _gaussian(self, level: _LossSummary) -> bool:
        return laws_with_cost(level.laws) <= {Gaussian} and math.isfinite(level.most)

    @property
    def _side(self) -> float:
        """Error rate of each end (α/2); half of it goes to the sampled losses and half to the cost."""
        return error_rate(self.confidence) / 2

    @property
    def _unseen(self) -> float:
        """Upper bound of the share of transcripts costing more than all seen, or less: Clopper–Pearson, 0 of N."""
        return clopper_pearson(0, self.leaked.size, 1 - self._side / 2, "upper").upper

    def _cheapest(self, level: _LossSummary) -> float:
        root = max(math.sqrt(level.least) - SLACK, 0.0)
        return gaussian_epsilon(root, self.delta + self._unseen) if self.delta + self._unseen < 1 else 0.0

    @staticmethod
    def _witnessed(level: _LossSummary) -> float:
        """Lower end at δ = 0: the largest loss seen; ∞ if Gaussian noise, not rounded, hid a difference."""
        return math.inf if level.unbounded else max(0.0, level.top)


def _uncovered(part: WorldComparison, cut: float) -> list[UnprotectedMessage]:
    """The first unprotected messages of a sample, with nothing granted."""
    return [u for u in (part.uncovered, part.inexplicable) if u is not None and u.message < cut]


def _scores(parts: Iterable[WorldComparison], losses: Array) -> Array | None:
    """Those of the samples where all have some, ∞ with an unprotected message; else None."""
    found = [part.scores for part in parts]
    some = [one for one in found if one is not None]
    return np.where(np.isinf(losses), losses, np.concatenate(some)) if some and len(some) == len(found) else None


def _weighted(part: WorldComparison) -> Weighted:
    """Losses and ln of the weights of tilted transcripts."""
    assert part.log_weights is not None
    return np.where(np.isfinite(part.leaked), math.inf, part.losses()), np.sum(part.log_weights, axis=0)


def _padded(rows: Array, length: int) -> Array:
    return np.pad(rows, ((0, length - len(rows)), (0, 0)))


@dataclass(frozen=True)
class ExactLoss:
    """Privacy loss of one direction: all samples under D, compared with D'.

    `epsilon` encloses ε(δ) of this pair for an adversary at the agent's door. Its estimate is `by_formula` where
    releases are Gaussian or Laplace (δ > 0; a product of both, by quadrature) or Laplace alone (δ = 0) and make the
    same differences in all transcripts, or there are none; else the sample's, also where the codec rounded the
    releases, or what was granted is among decoys: their cost before that bounds from above only. At δ > 0 its ends
    come from the sampled losses and from an envelope of all transcripts (`attacks.audit.loss.envelopes`). For
    Gaussian releases that is the cost: with m and M the least and greatest Σ‖Δ_t‖₂²/σ_t² of N transcripts, another
    one costs less than m, or more than M, with probability at most p each (Clopper–Pearson for 0 of N), and δ_√m(ε) −
    p ≤ δ(ε) ≤ δ_√M(ε) + p: stopped before it costs more than M the mechanism is √M-GDP (a privacy filter). At δ = 0
    the lower end is the largest loss seen, or ∞ if a Gaussian release depends on the data, and there is no upper end:
    transcripts never seen may cost more.

    `losses` (transcripts,) in nats, ∞ with an unprotected message; `scores` what the wire alone says of all that was
    sent, where every sample has what was granted among decoys (`hidden_releases`); `course` (releases,
    transcripts) has those of the first `COURSE` by each release; `leaks` is the share of infinite losses, `uncovered`
    the first message that made one, `faint` a difference that may be rounding. From activation `granted_from` on (∞:
    never) some release is not on the wire verbatim and had to be granted: the upper end is for an adversary who knows
    it; the lower end, `losses` and `uncovered` look at earlier messages only. From `unreliable_from` on the noise
    drowned in rounding: nothing later was looked at, and the upper end is ∞. `silent`: the agent sent nothing.
    `dearest`: the most that the releases of a transcript cost at δ = 0, for who is granted all; ∞ where that is not
    known. `aimed`: the lower end is that of a transcript whose noise was given the worst signs.
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
    dearest: float
    scores: Array | None
    aimed: bool = False

    @classmethod
    def of(
        cls,
        parts: Iterable[WorldComparison],
        delta: float,
        confidence: float,
        granted: float | None = None,
        tilted: WorldComparison | None = None,
    ) -> "ExactLoss":
        """Pool the samples of one direction; they are read a few times and never held all at once.

        `tilted` transcripts, whose noise was drawn from another law, are for the lower end and the estimate at δ > 0.
        `granted` is the first message that the lower end leaves out, the same for both directions (None: these
        samples' own). All results hold together at `confidence`.
        """
        cut = min(part.granted_from for part in parts) if granted is None else granted
        shape = _Shape.of(parts)
        if tilted is None or tilted.log_weights is None or delta == 0:
            on_wire = tilted = None
        else:
            on_wire = tilted.on_wire(min(cut, tilted.granted_from))
        everything = _Pool(parts, shape, delta, confidence, tilted)
        seen = _Shape.of(part.on_wire(cut) for part in parts)
        wire = _Pool((part.on_wire(cut) for part in parts), seen, delta, confidence, on_wire)
        uncovered, faint, unreliable = list[UnprotectedMessage](), list[UnprotectedMessage](), list[int]()
        noise, complete = list[NoiseScores](), True
        lower = wire.enclosed()[0].lower
        if on_wire is not None:
            uncovered += _uncovered(on_wire, cut)
        for part in parts:
            uncovered += [u for u in (part.uncovered,) if u is not None and u.message < cut]
            uncovered += [u for u in (part.inexplicable,) if u is not None]
            faint += [u for u in (part.faint,) if u is not None]
            unreliable += [date for date in (part.unreliable_from,) if date is not None]
            complete = complete and part.complete
            noise.append(part.noise)
        closed = complete and not faint and not unreliable  # everything was looked at
        epsilon, by_formula = everything.enclosed()
        if math.isinf(cut) and any(part.coded is not None for part in parts):
            epsilon, by_formula = replace(wire.enclosed()[0], upper=epsilon.upper), False
        upper = max(epsilon.upper if closed else math.inf, lower)
        return cls(
            epsilon=Interval(lower, min(max(epsilon.estimate, lower), upper), upper, confidence),
            by_formula=by_formula and math.isinf(cut) and closed,
            losses=wire.losses,
            course=wire.course,
            leaks=float(np.mean(np.isinf(wire.losses))),
            uncovered=min(uncovered, key=lambda u: u.message, default=None),
            faint=faint[0] if faint else None,
            granted_from=shape.date(cut),
            self_check=SelfCheck.of(everything.losses, 1 - ALPHA),
            noise=NoiseCheck.of(noise),
            growth=wire.growth(lower),
            unreliable_from=min(unreliable, default=None),
            silent=not shape.dates,
            dearest=everything.most if closed and laws_with_cost(shape.laws) <= PURE else math.inf,
            scores=_scores(parts, wire.losses),
        )

    def of_other_tosses(self, lower: float) -> "ExactLoss":
        """The same where ε is judged over many tosses of private coins, `lower` at least: what is unprotected or not
        sent at the first says nothing of the others."""
        return replace(self, uncovered=None, silent=self.silent and lower == 0)

    def with_worst_case(self, part: WorldComparison, cut: float) -> "ExactLoss":
        """Exact loss at δ = 0 with worst-case transcripts taken in, which are possible and no sample.

        Their largest loss is a lower end as the largest loss seen is, before `cut` and what had to be granted. An
        unprotected message that no sample has is noted, and proves nothing: how rare such noise is, is not known.
        """
        cut = min(cut, part.granted_from)
        seen = part.on_wire(cut)
        if self.uncovered is None and (shown := _uncovered(part, cut)):
            return replace(self, uncovered=shown[0])
        pool = _Pool([seen], _Shape.of([seen]), 0.0, self.epsilon.confidence)
        lower = pool.enclosed()[0].lower
        if not self.epsilon.lower < lower < math.inf:
            return self
        growth, levels = self.growth, pool.growth(lower)
        if [level.activation for level in levels] == [level.activation for level in growth]:
            growth = tuple(
                replace(level, lower=max(level.lower, other.lower), estimate=max(level.estimate, other.lower))
                for level, other in zip(growth, levels, strict=True)
            )
        ends = self.epsilon
        epsilon = Interval(lower, max(ends.estimate, lower), max(ends.upper, lower), ends.confidence)
        return replace(self, epsilon=epsilon, growth=growth, aimed=True)

    def over_tosses(self, parts: Sequence[WorldComparison], delta: float) -> "ExactLoss":
        """Exact loss of transcripts of tosses of their own alone, cut after as many releases as there are here."""
        most = len(self.course)
        cut = [replace(p, steps=p.steps[:most], cost=p.cost[:most], laws=p.laws[:most], sent_in=p.sent_in[:most],
                       measured=None) for p in parts]  # fmt: skip
        return ExactLoss.of(cut, delta, self.epsilon.confidence)

    def with_tosses(self, parts: Sequence[WorldComparison], delta: float) -> "ExactLoss":
        """Exact loss with transcripts of other tosses of the private coins taken in.

        What they prove is a lower end too. They are cut after as many releases as there were: the claim is of those.
        """
        other, ends = self.over_tosses(parts, delta), self.epsilon
        uncovered = self.uncovered if self.unprotected or other.uncovered is None else other.uncovered
        if uncovered is not None and self.uncovered is None:  # no message of those that were counted
            few = f"in {round(other.leaks * len(parts))} of {len(parts)} runs with private coins of their own"
            uncovered = replace(uncovered, sentence=f"{few} {uncovered.sentence}")
        lower = max(ends.lower, other.epsilon.lower)
        upper = math.inf if other.leaks and not other.unprotected else max(ends.upper, lower)
        growth = self.growth or other.growth
        if growth:
            growth = (*growth[:-1], replace(growth[-1], lower=lower, estimate=max(growth[-1].estimate, lower)))
        return replace(
            self,
            epsilon=Interval(lower, max(ends.estimate, lower), upper, ends.confidence),
            growth=growth,
            uncovered=uncovered,
            leaks=max(self.leaks, other.leaks),
            faint=self.faint or other.faint,
            unreliable_from=other.unreliable_from if self.unreliable_from is None else self.unreliable_from,
        )

    @property
    def unprotected(self) -> bool:
        """Whether more than δ of the transcripts are proven to hold an unprotected message: ε = ∞."""
        return self.uncovered is not None and math.isinf(self.epsilon.lower)

    @property
    def passed(self) -> bool:
        """Whether both self-checks hold: E[e^{−L}] ≤ 1, and the noise follows its declared law."""
        return self.self_check.passed and self.noise.passed


def scores_of(zero: ExactLoss, one: ExactLoss) -> tuple[Array, Array]:
    """What the white-box game of two directions goes by: the same function of the wire in both, or it proves that
    functions differ."""
    if zero.scores is None or one.scores is None:
        return -zero.losses, one.losses
    return -zero.scores, one.scores
