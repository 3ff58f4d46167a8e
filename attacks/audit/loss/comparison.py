"""Comparison of two worlds on one sample, release by release.

Transcripts are simulated under the true hypothesis D and explained under D and D' by replaying the agent's code:

    L = Σ_t [ln p(observed_t | D) − ln p(observed_t | D')]   (nats).

A value that no noise protects and that D' would have sent differently is an *unprotected message*: L = ∞. So is a
message that D' would not have sent, or not to the same agent, or with other fields, or at another point.

All replicas are replayed at once. Code that takes a norm without its axis, a mean over the wrong one, or a branch for
all by the values of some does something else for many replicas than for one. So a few replicas are replayed alone,
and some number of them together, and must do as all did.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple, Protocol
from zlib import crc32

import numpy as np

from attacks.audit.followed.lines import ReadLine
from attacks.audit.followed.path import decided_at, walked
from attacks.audit.loss.codes import code_loss, product_form
from attacks.audit.loss.envelopes import Measured
from attacks.audit.loss.hidden_releases import Again, Mixed, Priced, mixed, priced
from attacks.audit.loss.noise_check import NOTHING, NoiseScores, check_draws, check_law
from attacks.audit.loss.recovered import Recovered, factors, recovered
from attacks.audit.loss.release_cost import Ratio, cost_and_shifts
from attacks.audit.loss.unprotected import Leaks, UnprotectedMessage
from attacks.audit.loss.wire_fields import FOLLOWED, Details, Released
from attacks.audit.outside import unlike_itself
from attacks.replay import (
    ULPS,
    Altered,
    Comparison,
    Departure,
    Hypothesis,
    Perturbed,
    Release,
    Replayed,
    Sending,
    bits,
    replay,
)
from attacks.replay.recorded import Recording
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.codecs import Codec, Dither
from netsim.errors import NetsimError, PrivacyError
from netsim.node import Computed
from netsim.randomness import NoiseThrough
from netsim.transcript import Record, Transcript


class _Wire(NamedTuple):
    """Loss of the first releases by their codes on the wire, (releases, replicas), and the message with each code, ∞
    from message `until` on: that is no function of the codes before, or of a law that is not known."""

    steps: Array
    sent_in: tuple[float, ...]
    until: float


def _determined(granted: Replayed, coded: Replayed, codec: Codec) -> float:
    """First message that is another one where the agent gets back the codes of its releases and not the releases, or
    that has a second code of one release, drawn anew; ∞ if none."""
    ends = [math.inf]
    for t, release in enumerate(granted.releases):
        twin = coded.releases[t] if t < len(coded.releases) else None
        alike = twin is not None and np.array_equal(bits(release.value), bits(twin.value))
        if twin is None or not release.carriers or not alike or not np.array_equal(release.stddev, twin.stddev):
            ends.append(release.carriers[0][0] if release.carriers else release.made_before)
        if codec.random and len(release.carriers) > 1:
            ends.append(release.carriers[1][0])
    encoded = {(c.message, c.name): c.value for c in coded.comparisons}
    for c in granted.comparisons:
        value = encoded.get((c.message, c.name))
        if c.value is None or value is None or not np.array_equal(bits(c.value), bits(value)):
            ends.append(c.message)
    places = [[(s.receiver, s.kind, s.number, s.names) for s in one.sendings] for one in (granted, coded)]
    ends += [k for k, (a, b) in enumerate(zip(*places, strict=False)) if a != b]
    ends += [len(places[1])] if len(places[1]) < len(places[0]) else []
    return min(ends)


ALONE = 7
"""Replicas of a sample that are replayed alone too, under either hypothesis."""
ONE_AT_A_TIME = "audit.chunk=1", "audit.search=null"
"""The settings that audit each transcript by itself; a search for a pair takes several together."""
_MANY = 8
"""Replicas that are enough to go by."""


def _check_independent(sample: "Sample", agent: int, hypothesis: Hypothesis, together: Replayed, alone: int) -> None:
    """Raise a `PrivacyError` where one of so many replicas `alone`, or the first few together, make other releases,
    or of other values or noise, or send other messages where all together sent what was observed.

    Under the other hypothesis messages are not compared: a difference in them is an unprotected message, however it
    came about. Values may differ by rounding: by `ULPS` units in the last place of the largest number observed.
    """
    door = sample.at_door(agent)
    for rows in _parts(sample, alone):
        count = rows.stop - rows.start
        which = f"replica {rows.start} alone" if count == 1 else f"the first {count} replicas"
        few = door.part(rows).replayed(agent, hypothesis, which)
        same = (few.departure is None) == (together.departure is None)
        if together.identical and (rows.start == 0 or not sample.tossed):  # coins drawn for each: the first have them
            same = same and not any(np.any(c.visible) for c in few.comparisons)
        if not same or not _same_releases(few, together, rows):
            _check_repeatable(sample, agent, hypothesis)
            line = _parting(sample, agent, hypothesis, rows)
            by = "(a norm, sum or mean without axis=-1, a branch)" if line is None else f"in {line}"
            drawn = ", or draws randomness that is not its node's" if line is None else ""
            raise PrivacyError(
                f"agent {agent} does something else for {which} than for all together: its code decides for all "
                f"replicas by the values of some {by}, or by how many they are{drawn}. Decide for each by itself "
                "(axis=-1, `np.where`), or audit one transcript at a time, without a search for a pair",
                *ONE_AT_A_TIME,
            )


def _parting(sample: "Sample", agent: int, hypothesis: Hypothesis, rows: slice) -> ReadLine | None:
    """The line that sends a replay of some rows another way through the code than all; None: they go alike."""
    with walked() as one:
        sample.at_door(agent).part(rows).replayed(agent, hypothesis, "a few")
    with walked() as other:
        sample.replayed(agent, hypothesis, "all together")
    return decided_at(one, other)


def _parts(sample: "Sample", alone: int) -> list[slice]:
    """Replicas that are replayed once more: some alone, and the first few; how many, what was released draws. Where
    only one is alone, it draws which, and no others are replayed."""
    replicas = sample.view.replicas
    if replicas == 1 or not alone:
        return []
    rng = np.random.default_rng([0, *(crc32(release.tobytes()) for release in sample.releases[:1])])
    if alone == 1:
        r = int(rng.integers(1, replicas))
        return [slice(r, r + 1)]
    found = [slice(r, r + 1) for r in sorted({int(k) for k in np.linspace(0, replicas - 1, alone)})]
    if replicas > 2:
        found.append(slice(0, min(replicas - 1, int(2 * (replicas / 2) ** rng.random()))))
    return found


def _check_repeatable(sample: "Sample", agent: int, hypothesis: Hypothesis) -> None:
    """Raise a `PrivacyError` where two replays of the same are not the same."""
    algorithm = sample.view.public.algorithm
    if why := unlike_itself(algorithm, lambda: sample.replayed(agent, hypothesis, "the hypothesis of before")):
        raise PrivacyError(f"agent {agent}'s code does something else when it is replayed again: {why}")


def _same_releases(alone: Replayed, together: Replayed, one: slice) -> bool:
    if len(alone.releases) != len(together.releases):
        return False
    pairs = [(a, b.value[one], b.stddev[one]) for a, b in zip(alone.releases, together.releases, strict=True)]
    if all(np.array_equal(r.value, b) and np.array_equal(r.stddev, stddev) for r, b, stddev in pairs):
        return True  # without a tolerance, which takes ten times as long
    seen = [*(r.observed for r in alone.releases), *(c.observed for c in alone.comparisons)]
    seen += [r.value for r in alone.releases]
    largest = max((float(np.max(np.abs(x[np.isfinite(x)]), initial=0.0)) for x in seen), default=0.0)
    room = ULPS * np.finfo(float).eps * largest
    for r, b, stddev in pairs:
        a = r.value
        with np.errstate(invalid="ignore"):
            near = np.all((np.abs(a - b) <= room) | (a == b) | (np.isnan(a) & np.isnan(b)))
        if not near or not np.allclose(r.stddev, stddev, rtol=1e-9, atol=0.0, equal_nan=True):
            return False
    return True


_TOO_FINE = 1e-30
"""Relative: a difference so far below a number is no rounding of that."""
_JITTERS = 4
_BEYOND = 16
"""A difference counts if it is so many times what last bits of the private answers change, or, where that is not
known, one last bit."""


def _last_bit(c: Comparison) -> Array:
    """One unit in the last place of what may have been rounded, (replicas, dimension): of the largest number carried,
    or of the value itself, where the difference is so far below the former that it cannot come from it."""
    assert c.carried is not None
    with np.errstate(invalid="ignore", over="ignore"):
        own = np.fmax(np.abs(c.observed), np.abs(c.predicted))
        foreign = np.abs(c.observed - c.predicted) < _TOO_FINE * c.carried
        return np.finfo(float).eps * np.where(foreign & np.isfinite(own), own, c.carried)


def _sharpened(sample: "Sample", agent: int, other: Hypothesis, theirs: Replayed) -> Replayed:
    """Replay whose differences count as rounding only if they are no larger than rounding can make them.

    What a coordinate has carried may have nothing to do with the value that is compared: a public 1e13 would hide
    differences of 9. So where differences were taken for rounding the private answers are moved by a last bit of
    the largest number carried: a difference many times what that changes is none.
    """
    hidden = [c for c in theirs.comparisons if np.any(c.differs & ~c.visible)]
    if not hidden or sample.view.public.codec.cells(hidden[0].observed) is not None:
        return theirs  # a codec that rounds makes a whole step of a last bit
    unit = np.min([_last_bit(c) for c in hidden], axis=0)
    changes = [np.zeros(sample.view.public.dimension) for _ in theirs.comparisons]
    for seed in range(_JITTERS):
        rng = np.random.default_rng(seed)
        jittered = Altered(other, lambda answer, rng=rng: answer + unit * rng.uniform(-1.0, 1.0, answer.shape))
        moved = sample.replayed(agent, jittered, "the other hypothesis, moved by last bits")
        if moved.departure != theirs.departure or len(moved.comparisons) != len(theirs.comparisons):
            return theirs
        for k, (a, b) in enumerate(zip(moved.comparisons, theirs.comparisons, strict=True)):
            with np.errstate(invalid="ignore"):
                changes[k] = np.fmax(changes[k], np.max(np.abs(a.predicted - b.predicted), axis=0))
    codec, found = sample.view.public.codec, list[Comparison]()
    for c, change in zip(theirs.comparisons, changes, strict=True):
        if c.possible is not None and c.value is not None:
            seen = (change > 0) & (len(c.observed) >= _MANY)  # enough to go by, and not by luck none
            room = _BEYOND * np.where(seen, change, np.maximum(change, _last_bit(c)))
            with np.errstate(invalid="ignore"):
                c = c._replace(possible=c.possible & codec.could_be(c.observed, c.value - room, c.value + room))
        found.append(c)
    return replace(theirs, comparisons=found)


PATIENCE, SOLVED = 16, 1024
"""A run on other data may query as many times as often, and so many times more: a loop that solves something to a
tolerance may have no end where data are far away."""


class Tilting(NamedTuple):
    """Tilted law of noise, ∝ p(n)·e^{θl} in each release of `shifts`, l its loss over Δ: that in scales of its noise,
    (dimension,), fixed before anything was drawn."""

    theta: float
    shifts: Mapping[int, Array]


class SimulatedAnew(Protocol):
    """Simulates a sample once more, the agent's coins or its noise changed on their way to it, or the noise of all
    agents `around` it."""

    def __call__(
        self,
        *,
        coins: NoiseThrough | None = None,
        noise: NoiseThrough | None = None,
        around: NoiseThrough | None = None,
    ) -> "Sample": ...


@dataclass(frozen=True)
class Sample:
    """Transcripts of one world: the view of a tap at the agent, and what the audit's adversary is granted besides.

    `coins()` gives the agent's private coins from their start; `releases` its noisy values, each (replicas,
    dimension), granted where they are not on the wire verbatim; `dither` the draws of a random codec. `log_weights`
    (releases, replicas): where noise was tilted (`attacks.audit.loss.aimed`), ln of the likelihood ratio of its own
    law over that drawn from, release by release; `tilting` is that law, where it is the same for all replicas.
    `tossed`: whether any agent tossed private coins. `computed`: who computed the run, where that is known.
    `again` simulates the same anew with coins or noise changed; None: that is not known.
    `queries`: how often the agent asked in the run; None: that is not known, and replays may ask without end.
    """

    view: AdversaryView
    coins: Callable[[], np.random.Generator]
    releases: Sequence[Array]
    dither: Dither | None = None
    log_weights: Array | None = None
    tossed: bool = False
    tilting: Tilting | None = None
    computed: Computed | None = None
    again: "SimulatedAnew | None" = field(default=None, repr=False)
    queries: int | None = None

    @property
    def most_queries(self) -> float:
        """How often the agent may ask in a replay, or in another run."""
        return math.inf if self.queries is None else PATIENCE * self.queries + SOLVED

    def recording(self, agent: int) -> Recording:
        """What passed the agent's door, for a pass of its code."""
        shared = self.view.shared.get(agent)
        return Recording(self.view.public, agent, self.view.at_node(agent), self.view.replicas, self.coins(), shared)

    def at_door(self, agent: int) -> "Sample":
        """Sample of what passed the agent's door alone."""
        rows = self.view.transcript.at_node(agent)
        view = replace(self.view, transcript=Transcript(rows, self.view.replicas))
        return replace(self, view=view)

    def replayed(self, agent: int, hypothesis: Hypothesis, which: str) -> Replayed:
        """Replay of the agent, all releases granted. Raises `PrivacyError` where its code fails under `which`, and
        `StalledError` where it asks without end."""
        try:
            return self.replayed_at(agent, hypothesis, self.coins())
        except NetsimError:
            raise
        except Exception as error:
            raise PrivacyError(
                f"agent {agent}'s code fails under {which}: {type(error).__name__}: {error}"
            ) from error

    def replayed_at(self, agent: int, hypothesis: Hypothesis, coins: np.random.Generator) -> Replayed:
        """The same at other coins; its code may raise anything."""
        most = self.most_queries
        return replay(self.view, agent, hypothesis, coins, self.releases, self.dither, most_queries=most)

    def replica(self, index: int) -> "Sample":
        """Sample of one transcript."""
        return self.part(slice(index, index + 1))

    def part(self, rows: slice) -> "Sample":
        """Sample of some transcripts."""
        records = [  # not by `_replace`, which takes five times as long: there are many rows
            Record(*row[:-1], {name: v[rows] for name, v in row.values.items()})
            for row in self.view.transcript.records
        ]
        shared = {agent: law.part(rows) for agent, law in self.view.shared.items()}
        transcript = Transcript(records, len(range(self.view.replicas)[rows]))
        view = replace(self.view, transcript=transcript, shared=shared)
        releases = [release[rows] for release in self.releases]
        dither = None if self.dither is None else self.dither.part(rows)
        return Sample(
            view, self.coins, releases, dither, tossed=self.tossed, computed=self.computed, queries=self.queries
        )

    def copied(self, copies: int) -> "Sample":
        """Sample of the first transcript, so many times; of a codec that draws nothing."""
        one = self.replica(0)
        rows = [
            row._replace(values={name: np.repeat(v, copies, axis=0) for name, v in row.values.items()})
            for row in one.view.transcript.records
        ]
        view = replace(one.view, transcript=Transcript(rows, copies))
        return replace(one, view=view, releases=[np.repeat(release, copies, axis=0) for release in one.releases])


@dataclass(frozen=True)
class WorldComparison:
    """One sample under both hypotheses. Messages are the agent's own, counted from 0; ∞ stands for none.

    `steps[t]` (replicas,) is what release t adds to the loss, in nats, and `cost[t]` its worst case
    (`attacks.audit.loss.release_cost`: ‖Δ‖₂²/σ² for Gaussian noise, ‖Δ‖₁/b for Laplace); `laws[t]` is its mechanism's
    type and `sent_in[t]` the message that carries it verbatim. `dates[k]` is the activation of message k. `leaked`
    (replicas,) is the first unprotected message of each transcript, `uncovered` the first of all, `faint` a
    difference that no noise protects and that may be rounding or chance. From message `granted_from` on everything
    here holds for an adversary who is granted a release that is not on the wire verbatim, or that the other world
    makes at another point: an upper bound for one who sees the wire. `complete` is false where the other world makes
    more releases than there were, which ends its replay. `bare` (replicas,) is the first message that no noise of the
    other world explains, granted nothing, and `inexplicable` that message. `rounded`: releases are on the wire as
    codes, of which `steps` are exact, and `cost` bounds them. `scores` (replicas,): what the wire alone says, no
    losses, where from `granted_from` on `steps` are of who has what was granted among decoys, which `cost` bounds too
    (`hidden_releases`). `coded` (releases, replicas): what the codes of the first releases add to the loss, or less,
    where `steps` are of who is granted the releases. `measured`: the shifts of Laplace releases, by those of
    first transcripts. `log_weights`: those of the sample. `tossed`: some agent tossed private coins. `computed`: that
    of the sample.
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
    scores: Array | None = None
    coded: Array | None = None
    measured: Measured | None = None
    details: Details = field(default_factory=Details)
    log_weights: Array | None = None
    tossed: bool = False
    computed: Computed | None = None

    @property
    def replicas(self) -> int:
        """Number of transcripts."""
        return self.leaked.size

    def losses(self, releases: int | None = None) -> Array:
        """Loss of each transcript by its first releases (None: all), (replicas,), in nats."""
        return np.asarray(np.sum(self.steps[:releases], axis=0), dtype=np.float64)

    def counted(self, cut: float) -> int:
        """Number of releases, from the first, that are on the wire before message `cut`."""
        return next((t for t, sent in enumerate(self.sent_in) if sent >= cut), len(self.sent_in))

    def on_wire(self, cut: float) -> "WorldComparison":
        """Comparison for an adversary who is granted nothing: messages before the cut, and those no noise explains.

        A release counts when it and all earlier ones are on the wire.
        """
        if math.isinf(cut) and self.coded is None:
            return replace(self, leaked=np.minimum(self.leaked, self.bare))
        length = self.counted(cut)
        return replace(
            self,
            steps=(self.steps if self.coded is None else self.coded)[:length],
            coded=None,
            rounded=self.rounded or self.coded is not None,
            scores=None,
            cost=self.cost[:length],
            laws=self.laws[:length],
            sent_in=self.sent_in[:length],
            leaked=np.minimum(np.where(self.leaked < cut, self.leaked, math.inf), self.bare),
            measured=None,
        )

    def losses_on_wire(self, cut: float) -> Array:
        """Loss in nats of each transcript, (replicas,), before message `cut`, with nothing granted."""
        seen = self.on_wire(cut)
        return np.where(np.isfinite(seen.leaked), math.inf, seen.losses())


@dataclass(frozen=True)
class Reproduced:
    """Sample that one agent's replay under the simulated hypothesis reproduces to the last bit."""

    sample: Sample
    agent: int
    true: Hypothesis
    mine: Replayed

    @classmethod
    def of(
        cls, sample: Sample, agent: int, true: Hypothesis, *, to_the_bit: bool = True, alone: int = ALONE
    ) -> "Reproduced":
        """Replay under the hypothesis that was simulated; errors as of `compare_worlds`. So many replicas are also
        replayed `alone`, to see that each is a world of its own."""
        if agent in sample.view.public.forgetful:
            raise PrivacyError(f"agent {agent} may begin anew without its state: an audit follows one life")
        mine = sample.replayed(agent, true, "the hypothesis that was simulated")
        _check_reproduced(sample, agent, true, mine, to_the_bit=to_the_bit)
        _check_independent(sample, agent, true, mine, alone)
        return cls(sample, agent, true, mine)

    def _coded(self, other: Hypothesis, theirs: Replayed, leaks: Leaks, there: Sample) -> _Wire | None:
        """Loss of the codes of releases, where the codec is lossy and knows their law (`attacks.audit.loss.codes`).

        A release that the agent goes on with as it was before it was encoded moves later messages, and these are no
        function of what was on the wire: found by replaying on the codes. `theirs` is the other hypothesis's replay
        on granted releases, at the coins of `there`; a code that it could not have made is added to the `leaks`.
        """
        sample, codec = self.sample, self.sample.view.public.codec
        sent = [row for row in sample.view.at_node(self.agent) if row.event == "sent"]
        places = list(takewhile(bool, (r.carriers for r in self.mine.releases)))
        if codec.lossless or not places:
            return None
        codes = [sent[message].values[name] for (message, name), *_ in places]
        until = math.inf
        for at, hypothesis, granted in ((sample, self.true, self.mine), (there, other, theirs)):
            try:
                with np.errstate(all="ignore"):
                    found = replace(at, releases=codes).replayed(self.agent, hypothesis, "its own codes")
            except NetsimError:
                return None
            until = min(until, _determined(granted, found, codec))
        steps: list[Array] = []
        pairs = zip(self.mine.releases, theirs.releases, strict=False)
        for (a, b), code, ((message, _), *_) in zip(pairs, codes, places, strict=False):
            if message >= until:
                break
            _check_cells(codec, a, code)
            loss = code_loss(codec, code, (a.mechanism, b.mechanism), (a.value, b.value))
            if loss is None:
                until = min(until, message)
                break
            leaks.impossible(a, b, a.judged & np.isinf(loss))
            steps.append(np.where(a.judged & np.isfinite(loss), loss, 0.0))
        sent_in = [float(message) if message < until else math.inf for (message, _), *_ in places]
        sent_in += [math.inf] * (len(self.mine.releases) - len(places))
        return _Wire(np.array(steps), tuple(sent_in), until) if steps else None

    def _again(self, hypothesis: Hypothesis, sample: Sample) -> Again:
        """Replay of a hypothesis on other releases."""
        return lambda releases: replay(sample.view, self.agent, hypothesis, sample.coins(), releases, sample.dither)

    def _inside(self, theirs: Replayed, other: Hypothesis, there: Sample) -> Priced | None:
        """Price of all that was sent, where Gaussian releases are inside affine messages."""
        return priced(
            self.mine, theirs, self.sample.releases, (self._again(self.true, self.sample), self._again(other, there))
        )

    def recovered(self, theirs: Replayed, other: Hypothesis, there: Sample) -> Recovered | None:
        """Releases that come out of the messages they are inside."""
        return recovered(self.mine, theirs, self.sample.releases, self._factors, self._again(other, there))

    @cached_property
    def _factors(self) -> Array | None:
        """How hidden releases move messages."""
        return factors(self.mine, self.sample.releases, self._again(self.true, self.sample))

    def _among_decoys(self, theirs: Replayed, other: Hypothesis, there: Sample) -> Mixed | None:
        """Loss of who has the releases that no message carries among decoys."""
        if not self.sample.view.public.codec.lossless:
            return None
        return mixed(
            self.mine, theirs, self.sample.releases, (self._again(self.true, self.sample), self._again(other, there))
        )

    def compared(
        self,
        other: Hypothesis,
        *,
        scored: bool = True,
        reference: Measured | None = None,
        coins: Callable[[], np.random.Generator] | None = None,
        draws: bool = False,
        claimed: float | None = None,
        alone: int = ALONE,
    ) -> WorldComparison:
        """Replay under another hypothesis, at the same private coins or at others, and explain what was sent.

        Not `scored`: the noise is not looked at, and `WorldComparison.noise`, `details` and `measured` are empty.
        `draws`: laws of somebody's own are drawn from once more, and have to be what they declare. `claimed`: the ε
        against which it is said that hidden noise has no effect (`attacks.audit.loss.unprotected.draws_for`).
        """
        sample, agent, true, mine = self.sample, self.agent, self.true, self.mine
        tossed = sample if coins is None else replace(sample, coins=coins)
        theirs = _sharpened(tossed, agent, other, tossed.replayed(agent, other, "the other hypothesis"))
        if scored:
            _check_independent(tossed, agent, other, theirs, alone)
        public, replicas = sample.view.public, sample.view.replicas
        out = self.recovered(theirs, other, tossed) if public.codec.lossless else None
        theirs, known = (theirs, {}) if out is None else out
        pairs = list(zip(mine.releases, theirs.releases, strict=False))
        sent = list(zip(mine.sendings, theirs.sendings, strict=False))
        drowned = _judge_where_they_differ(pairs)
        charges = [cost_and_shifts(a, b) for a, b in pairs]
        step = public.algorithm.stopping().unit
        leaks = Leaks(agent, replicas, mine, public.neighbors[agent], step)
        wire = self._coded(other, theirs, leaks, tossed)
        steps: list[Array] = []
        for a, b in pairs:
            here, there = a.log_density(), b.log_density()
            impossible = np.isneginf(there)
            leaks.release(a, b)
            leaks.impossible(a, b, impossible & ~np.isneginf(here))
            with np.errstate(invalid="ignore"):
                steps.append(np.where(a.judged & ~impossible, here - there, 0.0))  # that is an unprotected message
        covered = [r for t, r in enumerate(mine.releases) if r.sent_in is None and t not in known]
        inside = self._inside(theirs, other, tossed) if public.codec.lossless and covered else None
        for comparison in theirs.comparisons if inside is None else ():
            leaks.comparison(comparison)
        encoded = {(c.message, c.name): c for c in mine.comparisons if c.value is not None}
        for two in theirs.comparisons:  # values that the worlds encode differently, and the codec made equal
            one = encoded.get((two.message, two.name))
            if one is None or one.value is None or two.value is None or not two.identical:
                continue
            if not np.array_equal(bits(one.value), bits(two.value)):
                leaks.dithered(one, two)
        _add_departures(leaks, mine, theirs, sent, random_times=public.query_time(agent) is None)
        bare: Array = np.full(replicas, math.inf)
        inexplicable: UnprotectedMessage | None = None
        if public.codec.lossless and not theirs.out_of_releases and inside is None and (covered or not known):
            bare, inexplicable = leaks.unexplained(theirs, sample.releases, self._again(other, tossed), claimed)
        hidden = [r.made_before for r in covered if inside is None]
        granted_from = min(
            *(hidden if wire is None else [wire.until]),
            next((k for k, (a, b) in enumerate(sent) if a.releases != b.releases), math.inf),
            math.inf,
        )
        noise, details = NOTHING, Details()
        if scored:
            for a, _ in pairs:
                check_law(a)
            if draws:
                check_draws(mine.releases)
            # Δ, where it was fixed before the noise was drawn; by objective perturbation it depends on the noise: 0
            fixed = [
                np.zeros_like(a.value) if isinstance(a.mechanism, Perturbed) else a.value - b.value for a, b in pairs
            ]
            noise = NoiseScores.of([a for a, _ in pairs], fixed)
            averages = Ratio.averages(pairs, replicas) if wire is None else np.empty((4, len(pairs), 0))
            details = Details(
                _released(sample, agent, true, mine, len(pairs)),
                leaks.fields(granted_from),
                averages,
            )
        granted = Priced(
            np.array(steps).reshape(-1, replicas),
            np.array([cost for cost, _ in charges]).reshape(len(pairs), replicas),
            tuple(known.get(t, math.inf) if a.sent_in is None else a.sent_in for t, (a, _) in enumerate(pairs)),
        )
        spent, decoys = inside or granted, None
        if inside is None and wire is None and hidden:
            decoys = self._among_decoys(theirs, other, tossed)
        if decoys is not None:
            spent = spent._replace(steps=decoys.steps)
        coded = None if wire is None else wire.steps
        if wire is not None:
            whole = math.isinf(wire.until) and product_form(public.codec)
            spent = spent._replace(steps=wire.steps if whole else spent.steps, sent_in=wire.sent_in[: len(pairs)])
            coded = None if whole else coded
        return WorldComparison(
            steps=spent.steps,
            cost=spent.cost,
            laws=tuple(type(a.mechanism) for a, _ in pairs),
            sent_in=spent.sent_in,
            dates=tuple(sending.activation for sending in mine.sendings),
            leaked=leaks.first,
            uncovered=leaks.uncovered,
            faint=leaks.faint,
            granted_from=granted_from,
            complete=not theirs.out_of_releases,
            noise=noise,
            unreliable_from=None if drowned is None else mine.activation_of(drowned.made_before),
            bare=bare,
            inexplicable=inexplicable,
            rounded=wire is not None and coded is None,
            scores=None if decoys is None else decoys.scores,
            coded=coded,
            measured=Measured.of(pairs, charges, reference) if scored else None,
            details=details,
            log_weights=sample.log_weights,
            tossed=sample.tossed,
            computed=sample.computed,
        )


def _check_cells(codec: Codec, release: Release, code: Array) -> None:
    """Raise a `PrivacyError` where a codec of somebody's own encodes numbers of a cell otherwise: losses would be
    those of cells that are larger than they are."""
    if type(codec).__module__.startswith("netsim.") or (cells := codec.cells(code)) is None:
        return
    with np.errstate(invalid="ignore"):
        low, high = (np.clip(end, *(code + way * release.stddev for way in (-1, 1))) for end in cells)
        inside = low + np.random.default_rng(0).random(low.shape) * (high - low)
    if not np.array_equal(bits(codec.encode(inside)), bits(code)):
        raise PrivacyError(f"{codec}: numbers of one of its `cells` become others than that is the cell of")


def _judge_where_they_differ(pairs: list[tuple[Release, Release]]) -> Release | None:
    """Judge each transcript up to the first release that drowned in rounding and that the worlds make of other values
    or with other noise; return the first of these. One that is the same in both loses nothing."""
    first: Release | None = None
    for k, (a, b) in enumerate(pairs):
        judged = pairs[k - 1][0].judged if k else np.ones_like(a.judged)
        same = np.all((bits(a.value) == bits(b.value)) & (a.stddev == b.stddev), axis=-1) & (
            type(a.mechanism) is type(b.mechanism)
        )
        a.judged = b.judged = judged & (same | np.logical_not(a.drowned))
        if first is None and not np.all(a.judged):
            first = a
    return first


def reproduces(sample: Sample, agent: int, hypothesis: Hypothesis) -> None:
    """Raise a `PrivacyError` where an agent, replayed by itself, does not send what it sent, to the last bit."""
    mine = sample.replayed(agent, hypothesis, "its own data")
    _check_reproduced(sample, agent, hypothesis, mine, to_the_bit=True)


def compare_worlds(
    sample: Sample,
    agent: int,
    true: Hypothesis,
    other: Hypothesis,
    reference: Measured | None = None,
    *,
    draws: bool = False,
    claimed: float | None = None,
    alone: int = ALONE,
) -> WorldComparison:
    """Replay one agent of one sample under the hypothesis that was simulated and under the other one.

    Shifts are measured by a `reference` from another sample; without one, by those of the first transcripts here.
    Where noise was tilted it is not looked at: it does not follow its law. `draws`, `claimed` and
    `alone`: as of `Reproduced`.
    Raises `PrivacyError` if the true hypothesis does not reproduce what was sent, to the last bit, or if the agent's
    code fails under the other one.
    """
    scored = sample.log_weights is None
    return Reproduced.of(sample, agent, true, alone=alone).compared(
        other, scored=scored, reference=reference, draws=draws, claimed=claimed, alone=alone
    )


def _add_departures(
    leaks: Leaks, mine: Replayed, theirs: Replayed, sent: list[tuple[Sending, Sending]], *, random_times: bool
) -> None:
    """Add the messages that the other world sends otherwise, at another time or place, or no more than were sent."""
    orders = ((k, b) for k, (a, b) in enumerate(sent) if (a.kind, a.number, a.names) != (b.kind, b.number, b.names))
    if (swapped := next(orders, None)) is not None:
        k, there = swapped
        first = f"sends {there.kind} message {there.number} first, with the fields {', '.join(there.names)}"
        leaks.departure(Departure(k, first))
    if theirs.departure is not None and not theirs.out_of_releases:
        leaks.departure(theirs.departure)
    if not random_times:
        late = (
            (k, a.time, b.time) for k, (a, b) in enumerate(sent) if not math.isclose(a.time, b.time, rel_tol=1e-12)
        )
        if (first := next(late, None)) is not None:
            k, here, there = first
            leaks.departure(Departure(k, f"is ready to send it at {there:g} s, not at {here:g} s"))
    if theirs.overran and not mine.overran:
        leaks.departure(Departure(len(theirs.sendings), "goes on to send where it fell silent"))
    if random_times and (k := next((k for k, (a, b) in enumerate(sent) if a.pace != b.pace), None)) is not None:
        leaks.undecided(k)


def _released(sample: Sample, agent: int, true: Hypothesis, mine: Replayed, count: int) -> tuple[Released, ...]:
    """Place of each of the first releases; those that no message carries are followed to where they come out.

    Of the first transcript each of these is moved by 1, and the agent's code replayed: a field that changes has the
    release in it, or in the value that another release covers.
    """
    places: dict[int, tuple[int, str]] = {}
    hidden = [t for t, release in enumerate(mine.releases) if not release.carriers]
    one = sample.at_door(agent).replica(0) if hidden else sample
    for t in [t for t in hidden if t < len(one.releases)][:FOLLOWED]:
        moved = [r + 1.0 if k == t else r for k, r in enumerate(one.releases)]
        try:
            other = replay(one.view, agent, true, one.coins(), moved, one.dither)
        except NetsimError:
            continue
        changed = [(c.message, c.name) for c in other.comparisons if not c.identical]
        pairs = zip(mine.releases, other.releases, strict=False)
        changed += [a.carriers[0] for a, b in pairs if a.carriers and not np.array_equal(a.value[:1], b.value)]
        if changed:
            places[t] = min(changed)
    return Released.of(agent, sample.view.public.neighbors[agent], mine, count, places)


def _check_reproduced(
    sample: Sample, agent: int, hypothesis: Hypothesis, mine: Replayed, *, to_the_bit: bool
) -> None:
    """Raise a `PrivacyError` where a replay differs from what was sent (or differs by more than rounding)."""
    wrong = None if mine.departure is None else f"at its message {mine.departure.message} {mine.departure.what}"
    for one in mine.comparisons:
        if wrong is None and (not one.identical if to_the_bit else bool(np.any(one.visible))):
            wrong = f"sends another {one.name!r} in its message {one.message}"
    if wrong is not None:
        _check_repeatable(sample, agent, hypothesis)
        if mine.departure is None and not any(np.any(one.visible) for one in mine.comparisons):
            raise PrivacyError(
                f"agent {agent}, under the hypothesis that was simulated, {wrong}, in its last bits: a product over "
                "all replicas (`@`, np.dot) may round otherwise each time; "
                "`netsim.arrays.product(value[..., None, :], matrix)[..., 0, :]` multiplies each by itself"
            )
        raise PrivacyError(
            f"agent {agent}, under the hypothesis that was simulated, {wrong}: the replay is not of this run, or its "
            "code draws randomness, or knows of another agent, not through its node (module state)"
        )
