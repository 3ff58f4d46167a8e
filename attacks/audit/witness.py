"""Witnesses: one transcript that refutes a claim, with its exact loss, release by release.

At δ = 0 one transcript that world w can make, with L = ln p(t | D_w)/p(t | D_1−w) above ε, refutes ε; so does an
unprotected message (L = ∞). At δ > 0 no transcript does, however large its L; one with an unprotected message shows
that message, and the share of transcripts that hold one is the audit's to bound.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Literal, NamedTuple, Protocol

import numpy as np

from attacks.audit import witness_values as plain
from attacks.audit.loss.comparison import (
    Reproduced,
    Sample,
    WorldComparison,
    check_reproduced,
    compare,
    replayed_under,
    rounded_replays,
)
from attacks.audit.loss.release_cost import covered, noise_of, scale_of
from attacks.audit.loss.unprotected import UnprotectedMessage
from attacks.audit.loss.wire_fields import Link, activation_of
from attacks.audit.verdict import exceeds
from attacks.replay import Hypothesis, Release, Sending
from netsim.adversary import Adversary, AdversaryView, PublicKnowledge
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.codecs import Dither
from netsim.errors import TranscriptError
from netsim.transcript.record import EVERYBODY, Record
from netsim.transcript.transcript import Transcript


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
    mine = replayed_under(sample, agent, true, "the hypothesis that was simulated")
    check_reproduced(agent, mine, to_the_bit=to_the_bit)
    explained = compare(Reproduced(sample, agent, true, mine), other)
    theirs = replayed_under(sample, agent, other, "the other hypothesis")
    here, there = rounded_replays(sample, agent, (true, mine), (other, theirs)) or (mine, theirs)
    rows = [row for row in sample.view.at_node(agent) if row.event == "sent"]
    door = _Door(rows, sample.view.public.neighbors[agent], here.sendings)
    counted = counting(explained)
    pairs = zip(here.releases, there.releases, strict=False)
    uncovered = _first_unprotected(explained)
    return Account(
        agent,
        tuple(door.item(t, *pair, float(explained.steps[t, 0]), t < counted) for t, pair in enumerate(pairs)),
        uncovered,
        mine.identical,
        explained.unreliable_from,
        () if uncovered is None else door.receivers(uncovered.message),
    )


def counting(explained: WorldComparison) -> int:
    """Number of releases, from the first, that are on the wire before anything has to be granted."""
    reached = (t for t, sent in enumerate(explained.sent_in) if sent >= explained.granted_from)
    return next(reached, len(explained.sent_in))


def _unprotected_from(explained: WorldComparison) -> Array:
    """First unprotected message of each transcript, (replicas,), ∞ if none. Nothing is granted."""
    leaked = np.where(explained.leaked < explained.granted_from, explained.leaked, math.inf)
    return np.minimum(leaked, explained.bare)


def _first_unprotected(explained: WorldComparison) -> UnprotectedMessage | None:
    first = float(_unprotected_from(explained)[0])
    named = (explained.uncovered, explained.inexplicable)
    return next((u for u in named if u is not None and u.message == first), None)


class _Door(NamedTuple):
    """Messages that the agent sent, its neighbors, and when it sent each."""

    sent: list[Record]
    neighbors: tuple[int, ...]
    sendings: list[Sending]

    def item(self, index: int, here: Release, there: Release, loss: float, counts: bool) -> Item:
        """Item of a release, from both worlds."""
        difference = np.abs(covered(here) - covered(there))[0]
        return Item(
            release=index,
            activation=activation_of(self.sendings, here.made_before if here.sent_in is None else here.sent_in),
            message=here.sent_in,
            receivers=() if here.sent_in is None else self.receivers(here.sent_in),
            law=type(noise_of(here)).__name__,
            scale=_scale(here),
            l1=float(np.sum(difference)),
            l2=float(np.sqrt(np.sum(difference**2))),
            loss=loss,
            counts=counts,
            name=next((name for message, name in here.carriers if message == here.sent_in), ""),
        )

    def receivers(self, message: int) -> tuple[int, ...]:
        """Agents that a message is for; nobody where it was not sent."""
        if message >= len(self.sent):
            return ()
        receiver = self.sent[message].receiver
        return self.neighbors if receiver == EVERYBODY else (receiver,)


def _scale(release: Release) -> float | tuple[float, ...]:
    """Parameter of the law: one number, or one a coordinate where they differ."""
    numbers: list[float] = np.broadcast_to(scale_of(release), release.value.shape)[0].tolist()
    return numbers[0] if len(set(numbers)) == 1 else tuple(numbers)


Shown = Literal["refuted", "unprotected"]


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


class _Worlds(Protocol):
    """Hypotheses of one agent in both worlds (`attacks.audit.audit.Pair`)."""

    @property
    def agent(self) -> int: ...

    @property
    def hypotheses(self) -> tuple[Hypothesis, Hypothesis]: ...


def candidate(explained: WorldComparison, world: int, chunk: int) -> _Candidate:
    """Best transcript of one chunk, for a tap at the agent's door that is granted nothing."""
    first = _unprotected_from(explained)
    losses = explained.losses(counting(explained))
    best = int(np.lexsort((-losses, first))[0])
    return _Candidate(float(first[best]), float(losses[best]), Place(world, chunk, best))


def best(seen: Iterable[Iterable[WorldComparison]]) -> _Candidate | None:
    """Best transcript of an audit: `seen` has the chunks of each world in order. None where there is none."""
    found = (candidate(part, world, k) for world, parts in enumerate(seen) for k, part in enumerate(parts))
    return min(found, key=lambda one: one.rank, default=None)


def find(simulate: Callable[[int, int], Sample], pair: _Worlds, where: Place) -> tuple["Witness", Account]:
    """Simulate the chunk again, cut out the transcript, and replay it alone.

    `simulate(world, chunk)` is an audit's; it gives the same transcripts every time.
    """
    sample = simulate(where.world, where.chunk).replica(where.replica)
    true, other = pair.hypotheses[where.world], pair.hypotheses[1 - where.world]
    return Witness.of(sample, pair.agent), itemize(sample, pair.agent, true, other)


def shown(account: Account, claim: Claim) -> Shown | None:
    """Verdict that this transcript proves: "unprotected" by a message that no noise covers (where δ > 0, the share of
    transcripts that hold one is not known from it); "refuted" by its loss, at δ = 0 only; None: nothing."""
    if account.uncovered is not None:
        return "unprotected"
    if claim.delta > 0 or claim.epsilon is None:
        return None
    return "refuted" if exceeds(account.total, claim.epsilon) else None


@dataclass(frozen=True)
class Witness:
    """One transcript at the door of `agent`, and all that a replay of that agent needs besides public knowledge.

    `rows` are those of a tap at the agent, with values (1, dimension); `releases` the values of its `privatize`
    calls, in order, (1, dimension); `coins` the state of its private coins' PCG64 at their start; `dither` the draws
    of a random codec, one (1, dimension) array a value sent. It holds no datum; an auditor may see it, for an audit
    grants as much.
    """

    agent: int
    rows: tuple[Record, ...]
    releases: tuple[Array, ...]
    coins: plain.Coins
    dither: tuple[Array, ...]

    @classmethod
    def of(cls, sample: Sample, agent: int) -> "Witness":
        """Witness from a sample of one replica. Raises `TranscriptError` for coins that are no PCG64 stream."""
        assert sample.view.replicas == 1
        rows = sample.view.at_node(agent)
        public = sample.view.public
        drawn: Sequence[Array] = ()
        if public.codec.random and sample.dither is not None:
            count = sum(len(row.values) for row in rows if row.event == "sent")
            drawn = list(islice(sample.dither.draws(public.dimension), count))
        return cls(agent, rows, tuple(sample.releases), plain.Coins.of(sample.coins()), tuple(drawn))

    def sample(self, public: PublicKnowledge) -> Sample:
        """Transcript in an audit's form. Raises `TranscriptError` where its vectors are no points of the problem, or
        agents are named that are not there."""
        view = AdversaryView(Adversary("auditor", (), nodes=(self.agent,)), Transcript(self.rows, 1), public)
        for row in self.rows:
            if not {row.sender, row.receiver} <= {-1, *range(public.agents)}:
                raise TranscriptError(f"a row from {row.sender} to {row.receiver}: there are {public.agents} agents")
        vectors = [value for row in self.rows for value in row.values.values()]
        for value in (*vectors, *self.releases, *self.dither):
            if value.shape != (1, public.dimension):
                raise TranscriptError(f"a vector of {value.shape[-1]} numbers, where points have {public.dimension}")
        dither = _Drawn(np.random.default_rng, 1, numbers=self.dither) if self.dither else None
        return Sample(view, self.coins.generator, list(self.releases), dither)

    def as_plain(self) -> dict[str, plain.Json]:
        """Numbers, texts, lists and mappings; `of_plain` makes the same of them, to the last bit."""
        return {
            "rows": [plain.row(row) for row in self.rows],
            "releases": plain.releases(self.releases, self.rows),
            "coins": self.coins.plain(),
            "dither": [plain.vector(numbers) for numbers in self.dither],
        }

    @classmethod
    def of_plain(cls, agent: int, tree: object) -> "Witness":
        """You get a `TranscriptError` that names what is not there or not what it should be."""
        rows = tuple(plain.to_row(one, f"rows[{k}]", agent) for k, one in enumerate(plain.listed(tree, "rows")))
        given = plain.listed(tree, "releases")
        return cls(
            agent,
            rows,
            tuple(plain.to_release(one, f"releases[{k}]", rows) for k, one in enumerate(given)),
            plain.Coins.of_plain(plain.entry(tree, "coins")),
            tuple(plain.to_vector(one, f"dither[{k}]") for k, one in enumerate(plain.listed(tree, "dither"))),
        )


@dataclass(frozen=True)
class _Drawn(Dither):
    """Dither of given numbers: one (1, dimension) array a value."""

    numbers: tuple[Array, ...] = ()

    def draws(self, dimension: int) -> Iterator[Array]:  # noqa: ARG002
        yield from self.numbers
        raise TranscriptError(f"a dither of {len(self.numbers)} values, and more are sent")


def as_plain(account: Account) -> dict[str, plain.Json]:
    """An account as numbers, texts, lists and mappings; infinities are the text "inf"."""
    uncovered = account.uncovered
    return {
        "total": plain.number(account.total),
        "uncovered": None
        if uncovered is None
        else {"message": uncovered.message, "activation": uncovered.activation, "field": uncovered.name,
            "to": list(account.uncovered_to)},
        "releases": [
            {
                "release": item.release, "activation": item.activation, "message": item.message,
                "field": item.name, "to": list(item.receivers), "law": item.law,
                "scale": list(item.scale) if isinstance(item.scale, tuple) else item.scale,
                "l1": plain.number(item.l1), "l2": plain.number(item.l2),
                "loss": plain.number(item.loss), "counts": item.counts,
            }
            for item in account.items
        ],
        "by_activation": {str(k): plain.number(loss) for k, loss in account.by_activation().items()},
        "by_link": {f"{i} to {j}": plain.number(loss) for (i, j), loss in account.by_link().items()},
    }  # fmt: skip


def differences(stored: object, found: object, where: str = "") -> Iterator[str]:
    """Places where two plain trees differ by more than 1e-9, relative (of numbers below 1: absolute)."""
    if plain.is_mapping(found) and plain.is_mapping(stored):
        for key in (*stored, *(key for key in found if key not in stored)):
            yield from differences(stored.get(key), found.get(key), f"{where}.{key}" if where else key)
    elif plain.is_list(found) and plain.is_list(stored):
        if len(stored) != len(found):
            yield f"{where}: {len(stored)} entries stored, {len(found)} found"
        for k, (a, b) in enumerate(zip(stored, found, strict=False)):
            yield from differences(a, b, f"{where}[{k}]")
    elif not _same(stored, found):
        yield f"{where}: {_short(stored)} stored, {_short(found)} found"


def _same(stored: object, found: object) -> bool:
    if isinstance(stored, bool) or isinstance(found, bool):
        return stored is found
    if isinstance(stored, int | float) and isinstance(found, int | float):
        return math.isclose(stored, found, rel_tol=1e-9, abs_tol=1e-9)
    return stored == found


def _short(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)
