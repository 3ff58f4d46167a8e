"""Witnesses: transcripts that refute a claim, with their exact losses: one, release by release, or a set of them.

At δ = 0 one transcript that world w can make, with L = ln p(t | D_w)/p(t | D_1−w) above ε, refutes ε; so does an
unprotected message (L = ∞). At δ > 0 no transcript does, however large its L; one with an unprotected message shows
that message, and the share of transcripts that hold one is the audit's to bound.

A set refutes a claim at δ > 0, and proves a lower end of ε. If the claim is true, E[w (1 − e^{ε−L})₊] ≤ δ, L the loss
of a transcript and w its weight (1, or p/(density drawn from) where noise was tilted). So a bettor on more ever has
1/α with probability α at most (`running_log_wealth`), and a set ends with the first transcript at which the claim is
refuted. Transcripts are cut after some message of the agent: what is sent later takes nothing back. One looks at
`LAWS` chunks, the first of each world and that of tilted noise, and at as many cuts as the claim has activations, and
each look has an equal part of the error rate.
"""

import base64
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal, NamedTuple, cast

import numpy as np

from attacks.audit.accounting.intervals import boundary, error_rate, running_log_wealth
from attacks.audit.loss.aimed import log_weight
from attacks.audit.loss.comparison import Reproduced, Sample, Tilting, WorldComparison
from attacks.audit.loss.unprotected import UnprotectedMessage
from attacks.audit.loss.wire_fields import Link
from attacks.audit.pair import Pair
from attacks.audit.verdict import RESOLUTION, ROUNDING, exceeds
from attacks.audit.witness_values import (
    Json,
    Witness,
    differences,
    entry,
    is_list,
    is_mapping,
    listed,
    number,
    to_number,
)
from attacks.replay import Hypothesis
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.errors import TranscriptError
from netsim.mechanisms import Gaussian, Laplace
from netsim.transcript.message import EVERYBODY

LAWS = 4
"""Chunks that a set may be of: the first of each world, and that of tilted noise."""
MOST_NUMBERS = 2**17
"""Numbers of a set: a megabyte."""
_ROOM = 1e-9
"""Relative: a lower end is written so much below, for whoever computes it again rounds otherwise."""


@dataclass(frozen=True)
class Item:
    """Part of the loss from one `privatize` call, the agent's `release`-th, from 0.

    `message` is the agent's message that carries it verbatim, from 0, None if none does, and `name` the field there
    ("" if none); `receivers` that message's; `activation` that of the message, or of the release if none carries it,
    from 1. `law` is the mechanism's class, `scale` its parameter (Laplace b, Gaussian σ, the modulus of uniform
    noise), one number or one a coordinate. `l1` and `l2` are norms of Δ, by which the worlds' values differ (by
    objective perturbation: the gradients at the minimizer). `loss` is ln p(observed | D)/p(observed | D') in nats.
    `counts`: a tap at the agent's door sees it; else the release was granted, and the loss holds with that only.
    """

    release: int
    activation: int
    message: int | None
    receivers: tuple[int, ...]
    law: str
    scale: float | tuple[float, ...]
    l1: float
    l2: float
    loss: float
    counts: bool
    name: str = ""


@dataclass(frozen=True)
class Account:
    """Loss of one transcript at an agent's door, in nats.

    `uncovered` is its first unprotected message, sent to `uncovered_to`; the loss is ∞ from it on. `identical`: the
    true hypothesis reproduced every message to the last bit, not only up to rounding. From activation
    `unreliable_from` on noise drowns in the rounding of what it covers: nothing counts from there on.
    """

    agent: int
    items: tuple[Item, ...]
    uncovered: UnprotectedMessage | None
    identical: bool
    unreliable_from: int | None
    uncovered_to: tuple[int, ...] = ()

    @property
    def total(self) -> float:
        """Sum of all losses that count."""
        return math.inf if self.uncovered is not None else sum(item.loss for item in self._counted)

    def running(self) -> list[float]:
        """Loss up to each release: ∞ from the unprotected message on."""
        bare = self.before_uncovered
        return [loss if bare is None or t < bare else math.inf for t, loss in enumerate(self._sums())]

    @property
    def before_uncovered(self) -> int | None:
        """Number of releases before the unprotected message; None where there is none."""
        if self.uncovered is None:
            return None
        bare = self.uncovered.message
        after = (t for t, item in enumerate(self.items) if item.message is not None and item.message >= bare)
        return next(after, len(self.items))

    def first_above(self, claimed: float) -> int | None:
        """First release by which the losses of releases are above a claimed ε (nats), None if they never are."""
        return next((t for t, loss in enumerate(self._sums()) if exceeds(loss, claimed)), None)

    def by_activation(self) -> dict[int, float]:
        """Loss of the messages of each activation; ∞ in that of the unprotected message."""
        sums: dict[int, float] = {} if self.uncovered is None else {self.uncovered.activation: math.inf}
        for item in self._counted:
            sums[item.activation] = sums.get(item.activation, 0.0) + item.loss
        return sums

    def by_link(self) -> dict[Link, float]:
        """Loss of the messages over each link (from, to), ∞ for the unprotected one; broadcasts count on each."""
        sums: dict[Link, float] = {(self.agent, j): math.inf for j in self.uncovered_to}
        for item in self._counted:
            for j in item.receivers:
                sums[self.agent, j] = sums.get((self.agent, j), 0.0) + item.loss
        return sums

    def as_plain(self) -> dict[str, Json]:
        """Numbers, texts, lists and mappings; infinities are the text "inf"."""
        uncovered = self.uncovered
        return {
            "total": number(self.total),
            "uncovered": None
            if uncovered is None
            else {"message": uncovered.message, "activation": uncovered.activation, "field": uncovered.name,
                "to": list(self.uncovered_to)},
            "releases": [
                {
                    "release": item.release, "activation": item.activation, "message": item.message,
                    "field": item.name, "to": list(item.receivers), "law": item.law,
                    "scale": list(item.scale) if isinstance(item.scale, tuple) else item.scale,
                    "l1": number(item.l1), "l2": number(item.l2),
                    "loss": number(item.loss), "counts": item.counts,
                }
                for item in self.items
            ],
            "by_activation": {str(k): number(loss) for k, loss in self.by_activation().items()},
            "by_link": {f"{i} to {j}": number(loss) for (i, j), loss in self.by_link().items()},
        }  # fmt: skip

    def proves(self, claim: Claim) -> Literal["refuted", "unprotected"] | None:
        """Verdict that this transcript proves: "unprotected" by a message that no noise protects (where δ > 0, the
        share of transcripts that hold one is not known from it); "refuted" by its loss, at δ = 0 only."""
        if self.uncovered is not None:
            return "unprotected"
        if claim.delta > 0 or claim.epsilon is None:
            return None
        return "refuted" if exceeds(self.total, claim.epsilon) else None

    def _sums(self) -> list[float]:
        """Sums of the releases' losses, up to each."""
        return list(accumulate(item.loss if item.counts else 0.0 for item in self.items))

    @property
    def _counted(self) -> list[Item]:
        return [item for item in self.items if item.counts]


def itemize(sample: Sample, agent: int, true: Hypothesis, other: Hypothesis, *, to_the_bit: bool = True) -> Account:
    """Account of a sample of one replica, by replaying the agent under both hypotheses.

    Raises `PrivacyError` if the true hypothesis does not reproduce what was sent: every bit of it, or, without
    `to_the_bit`, all but rounding, as for a transcript of another machine, where exponentials end in other bits.
    """
    assert sample.view.replicas == 1
    known = Reproduced.of(sample, agent, true, to_the_bit=to_the_bit)
    explained = known.compared(other)
    here, there = known.mine, sample.replayed(agent, other, "the other hypothesis")
    wire = explained.on_wire(explained.granted_from)
    sent = [row for row in sample.view.at_node(agent) if row.event == "sent"]
    counted = explained.counted(explained.granted_from)

    def receivers(message: int | None) -> tuple[int, ...]:
        """Agents that a message is for; nobody where it was not sent."""
        if message is None or message >= len(sent):
            return ()
        to = sent[message].receiver
        return sample.view.public.neighbors[agent] if to == EVERYBODY else (to,)

    items: list[Item] = []
    for t, (a, b) in enumerate(zip(here.releases, there.releases, strict=False)):
        sent_in = explained.sent_in[t]
        message = int(sent_in) if math.isfinite(sent_in) else None
        difference = np.abs(a.covered - b.covered)[0]
        scales: list[float] = np.broadcast_to(a.scale, a.value.shape)[0].tolist()
        items.append(
            Item(
                release=t,
                activation=here.activation_of(a.made_before if message is None else message),
                message=message,
                receivers=receivers(message),
                law=type(a.noise).__name__,
                scale=scales[0] if len(set(scales)) == 1 else tuple(scales),
                l1=float(np.sum(difference)),
                l2=float(np.sqrt(np.sum(difference**2))),
                loss=float((wire if t < counted else explained).steps[t, 0]),
                counts=t < counted,
                name=next((name for at, name in a.carriers if at == message), ""),
            )
        )
    first = float(explained.on_wire(explained.granted_from).leaked[0])
    named = (explained.uncovered, explained.inexplicable)
    uncovered = next((u for u in named if u is not None and u.message == first), None)
    return Account(
        agent,
        tuple(items),
        uncovered,
        known.mine.identical,
        explained.unreliable_from,
        receivers(None if uncovered is None else uncovered.message),
    )


class Place(NamedTuple):
    """Place of a transcript in an audit: `world`, `chunk` of it, `replica` of the chunk."""

    world: int
    chunk: int
    replica: int


class _Candidate(NamedTuple):
    """Transcript that may be a witness: its first unprotected `message` (∞: none), and the `loss` of its releases."""

    message: float
    loss: float
    place: Place

    @property
    def rank(self) -> tuple[float, float, Place]:
        """Order, the best first: the earliest unprotected message; else the largest loss; else the first."""
        return self.message, -self.loss, self.place


def candidate(explained: WorldComparison, world: int, chunk: int) -> _Candidate:
    """Best transcript of one chunk, for a tap at the agent's door that is granted nothing."""
    seen = explained.on_wire(explained.granted_from)
    first, losses = seen.leaked, seen.losses()
    best = int(np.lexsort((-losses, first))[0])
    return _Candidate(float(first[best]), float(losses[best]), Place(world, chunk, best))


def best(seen: Iterable[Iterable[WorldComparison]]) -> _Candidate | None:
    """Best transcript of an audit: `seen` has the chunks of each world in order. None where there is none."""
    found = (candidate(part, world, k) for world, parts in enumerate(seen) for k, part in enumerate(parts))
    return min(found, key=lambda one: one.rank, default=None)


def find(simulate: Callable[[int, int], Sample], pair: Pair, where: Place) -> tuple[Witness, Account]:
    """Simulate the chunk again, cut out the transcript, and replay it alone.

    `simulate(world, chunk)` is an audit's; it gives the same transcripts every time.
    """
    sample = simulate(where.world, where.chunk).replica(where.replica)
    true, other = pair.hypotheses[where.world], pair.hypotheses[1 - where.world]
    return Witness.of(sample, pair.agent), itemize(sample, pair.agent, true, other)


def log_threshold(looks: int, confidence: float) -> float:
    """ln of the wealth from which on a set refutes a claim, where so many cuts are looked at."""
    return math.log(LAWS * max(looks, 1)) - math.log(error_rate(confidence))


def _log_wealth(losses: Array, log_weights: Array, epsilon: float, delta: float) -> Array:
    """ln of the wealth after each transcript, of who bets on δ(ε) > δ."""
    over = -np.expm1(np.minimum(epsilon - losses, 0.0))
    return running_log_wealth(over * np.exp(np.minimum(log_weights, 600.0)) / delta - 1)


class Cut(NamedTuple):
    """First `transcripts` of a chunk, each up to its `messages`-th message, with so many `releases`."""

    transcripts: int
    messages: int
    releases: int


def smallest(
    explained: WorldComparison, claim: Claim, looks: int, confidence: float, numbers: Sequence[int]
) -> Cut | None:
    """Smallest set of a chunk that refutes a claim at δ > 0; None where none does with `MOST_NUMBERS`.

    `numbers[k]` are those of a transcript up to message k.
    """
    assert claim.epsilon is not None
    epsilon, limit = claim.epsilon * (1 + 2 * ROUNDING) + 2 * RESOLUTION, log_threshold(looks, confidence)
    seen, found = explained.on_wire(explained.granted_from), list[tuple[int, Cut]]()
    for messages in range(1, 1 + int(min(looks, len(numbers), explained.granted_from))):
        count = seen.counted(messages)
        losses = np.where(seen.leaked < messages, np.inf, np.sum(seen.steps[:count], axis=0))
        weights = np.zeros_like(losses) if seen.log_weights is None else np.sum(seen.log_weights[:count], axis=0)
        above = np.flatnonzero(_log_wealth(losses, weights, epsilon, claim.delta) >= limit)
        if above.size and (size := (int(above[0]) + 1) * numbers[messages - 1]) <= MOST_NUMBERS:
            found.append((size, Cut(int(above[0]) + 1, messages, count)))
    return min(found, default=(0, None))[1]


def numbers_until(sample: Sample, agent: int) -> list[int]:
    """Numbers at the agent's door up to each of its messages."""
    found, total = list[int](), 0
    for row in sample.view.at_node(agent):
        total += len(row.values) * sample.view.public.dimension
        if row.event == "sent":
            found.append(total)
    return found


@dataclass(frozen=True)
class TranscriptSet:
    """Transcripts at one agent's door, of the same messages; with the law of their noise where that was tilted."""

    transcripts: tuple[Witness, ...]
    tilting: Tilting | None

    @classmethod
    def of(cls, sample: Sample, agent: int, cut: Cut) -> "TranscriptSet":
        """Set of a chunk's first transcripts. Raises `TranscriptError` where it has fewer, or fewer messages."""
        found, there = list[Witness](), len(numbers_until(sample, agent))
        if cut.transcripts > sample.view.replicas or not 1 <= cut.messages <= there:
            raise TranscriptError(f"{cut}, of {sample.view.replicas} transcripts of {there} messages each")
        for index in range(cut.transcripts):
            one = Witness.of(sample.replica(index), agent)
            sent = [k for k, row in enumerate(one.rows) if row.event == "sent"]
            found.append(
                replace(one, rows=one.rows[: sent[cut.messages - 1] + 1], releases=one.releases[: cut.releases])
            )
        tilting = sample.tilting
        if tilting is not None:
            tilting = Tilting(tilting.theta, {t: v for t, v in tilting.shifts.items() if t < cut.releases})
        return cls(tuple(found), tilting)

    def evidence(self, samples: Iterable[Sample], true: Hypothesis, other: Hypothesis) -> "Evidence":
        """Losses and weights of the transcripts, as `samples`, by replaying the agent under both hypotheses."""
        agent, accounts, weights = self.transcripts[0].agent, list[Account](), list[float]()
        for sample in samples:
            accounts.append(itemize(sample, agent, true, other, to_the_bit=False))
            weights.append(self._log_weight(sample, agent, true))
        losses = [account.total for account in accounts]
        return Evidence(accounts[0], np.array(losses), np.array(weights))

    def _log_weight(self, sample: Sample, agent: int, true: Hypothesis) -> float:
        if self.tilting is None:
            return 0.0
        theta, shifts = self.tilting
        made, found = sample.replayed(agent, true, "its own data").releases, 0.0
        for t, shift in shifts.items():
            if t >= len(made) or type(made[t].mechanism) not in (Gaussian, Laplace):
                raise TranscriptError(
                    f"a tilt of release {t}, which is none of {len(made)} with Laplace or normal noise"
                )
            with np.errstate(divide="ignore", invalid="ignore"):
                noise = np.where(made[t].scale > 0, (made[t].observed - made[t].value) / made[t].scale, 0.0)
            found += float(log_weight(type(made[t].mechanism), theta, shift, noise)[0])
        return found

    def check_drawn(self, sample: Sample) -> None:
        """You get a `TranscriptError` where the chunk's first transcripts are other ones, by more than rounding."""
        there = TranscriptSet.of(sample, self.transcripts[0].agent, self.cut)
        other = next(differences(self.transcripts[0].as_plain(), there.transcripts[0].as_plain()), None)
        if other is None and not np.allclose(self._numbers, there._numbers, rtol=1e-8, atol=1e-12):
            other = "transcripts stored in another order, or other ones, found"
        if other is None:
            other = next(differences(_plain(self.tilting), _plain(there.tilting), "tilting"), None)
        if other is not None:
            raise TranscriptError(f"the seed draws other transcripts: {other}")

    @property
    def cut(self) -> Cut:
        first = self.transcripts[0]
        return Cut(len(self.transcripts), sum(row.event == "sent" for row in first.rows), len(first.releases))

    @property
    def _numbers(self) -> Array:
        """Numbers of all transcripts but the first, one a row: of its rows in order, field after field."""
        values = ([v[0] for row in one.rows for v in row.values.values()] for one in self.transcripts[1:])
        return np.array([np.concatenate(one) for one in values]).reshape(len(self.transcripts) - 1, self._width)

    @property
    def _width(self) -> int:
        return sum(v.size for row in self.transcripts[0].rows for v in row.values.values())

    # ── as plain values ─────────────────────────────────────────────────────────────────────────────────
    def as_plain(self) -> dict[str, Json]:
        """Numbers, texts, lists and mappings, of all but the first transcript. Raises `TranscriptError` where the
        transcripts do not differ in the numbers of their messages alone."""
        packed = base64.b64encode(self._numbers.astype("<f8").tobytes()).decode()
        plain: dict[str, Json] = {"tilting": _plain(self.tilting), "numbers": packed}
        if TranscriptSet.of_plain(self.transcripts[0], plain, self.cut.transcripts).same(self):
            return plain
        raise TranscriptError("transcripts that differ in more than the numbers of their messages")

    def same(self, other: "TranscriptSet") -> bool:
        """Whether all transcripts are the same, to the last bit."""
        return [one.as_plain() for one in self.transcripts] == [one.as_plain() for one in other.transcripts]

    @classmethod
    def of_plain(cls, first: Witness, tree: object, transcripts: int) -> "TranscriptSet":
        """You get a `TranscriptError` that names what is not there or not what it should be."""
        try:
            packed = base64.b64decode(cast(str, entry(tree, "numbers")), validate=True)
            rows = np.frombuffer(packed, dtype="<f8").astype(np.float64)
            rows = rows.reshape(transcripts - 1, cls((first,), None)._width)
        except (TypeError, ValueError) as error:
            raise TranscriptError(f"sample.numbers: not those of {transcripts - 1} transcripts ({error})") from None
        if not np.all(np.isfinite(rows)):
            raise TranscriptError("sample.numbers: not finite")
        tilting = _to_tilting(entry(tree, "tilting"))
        points = {v.shape[1:] for row in first.rows for v in row.values.values()}
        if tilting is not None and not {v.shape for v in tilting.shifts.values()} <= points:
            raise TranscriptError("tilting.shifts: not points of the problem")
        return cls((first, *(_refilled(first, row) for row in rows)), tilting)


def _refilled(first: Witness, numbers: Array) -> Witness:
    """The transcript with other numbers; its releases are where those of the first are."""
    fields = [(k, name) for k, row in enumerate(first.rows) for name in row.values]
    ends = np.cumsum([first.rows[k].values[name].size for k, name in fields])[:-1]
    parts = iter(np.split(numbers[None], ends, axis=1))
    rows = tuple(row._replace(values={name: next(parts) for name in row.values}) for row in first.rows)
    sent = [row for row in rows if row.event == "sent"]
    return replace(first, rows=rows, releases=tuple(sent[k].values[name] for k, name in _places(first)))


def _places(first: Witness) -> Iterator[tuple[int, str]]:
    """Message and field of each release."""
    for one in listed(first.as_plain(), "releases"):
        if not is_mapping(one):
            raise TranscriptError("a set of transcripts with a release that is not on the wire as it was made")
        yield cast(int, one["message"]), cast(str, one["field"])


def _plain(tilting: Tilting | None) -> Json:
    if tilting is None:
        return None
    shifts: dict[str, Json] = {str(t): cast("list[Json]", v.tolist()) for t, v in tilting.shifts.items()}
    return {"theta": tilting.theta, "shifts": shifts}


def _to_tilting(tree: object) -> Tilting | None:
    if tree is None:
        return None
    shifts, found = entry(tree, "shifts", "tilting"), dict[int, Array]()
    for key, value in shifts.items() if is_mapping(shifts) else ():
        if not (key.isdecimal() and is_list(value)):
            raise TranscriptError(f"tilting.shifts: {key!r:.40} is no release, or has no list of numbers")
        found[int(key)] = np.array([to_number(one, "tilting.shifts") for one in value])
    theta = to_number(entry(tree, "theta", "tilting"), "tilting.theta")
    if not (0 <= theta < math.inf and all(np.all(np.isfinite(v)) for v in found.values())):
        raise TranscriptError("tilting: θ < 0, or numbers that are not finite")
    return Tilting(theta, found)


class Evidence(NamedTuple):
    """Account of the first transcript of a set; losses and ln of weights of all."""

    first: Account
    losses: Array
    log_weights: Array

    def lower(self, delta: float, looks: int, confidence: float) -> float:
        """Largest ε at which δ(ε) > δ is proven at this confidence, by all transcripts together (0: none)."""
        limit = log_threshold(looks, confidence)

        def proven(epsilon: float) -> bool:
            return bool(_log_wealth(self.losses, self.log_weights, epsilon, delta)[-1] >= limit)

        finite = self.losses[np.isfinite(self.losses)]
        top = max(float(np.max(finite, initial=0.0)), 0.0)
        if not proven(0.0):
            return 0.0
        return (top if proven(top) else boundary(proven, 0.0, top)) * (1 - _ROOM)
