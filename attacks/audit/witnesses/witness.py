"""Witnesses: one transcript that refutes a claim, cut out of a sample, as plain data, and a sample again.

At δ = 0 one transcript that world w can make, with L = ln p(t | D_w)/p(t | D_1−w) above ε, refutes ε; so does an
uncovered message (L = ∞). At δ > 0 no transcript does, however large its L; one with an uncovered message shows that
message, and how many transcripts hold one is the audit's to say.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol, cast

import numpy as np

from attacks.audit.loss.explain import Explained, Sample
from attacks.audit.witnesses import plain
from attacks.audit.witnesses.itemized import Account, above, counting, itemize, uncovered_from
from attacks.replay import Hypothesis
from netsim.adversary import Adversary, AdversaryView, PublicKnowledge
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.codecs import Dither
from netsim.errors import TranscriptError
from netsim.transcript import Record, Transcript

Shown = Literal["refuted", "unprotected"]


class Place(NamedTuple):
    """Where an audit found a transcript: of which `world`, in which `chunk` of it, which `replica` of the chunk."""

    world: int
    chunk: int
    replica: int


class Candidate(NamedTuple):
    """A transcript that may be a witness: its first uncovered `message` (∞: none), and the `loss` of its releases."""

    message: float
    loss: float
    place: Place

    @property
    def rank(self) -> tuple[float, float, Place]:
        """The least is the best: what no noise covers, the earliest; else the largest loss; else the first."""
        return self.message, -self.loss, self.place


class Worlds(Protocol):
    """The two hypotheses of one agent (`attacks.audit.audit.Pair`)."""

    @property
    def agent(self) -> int: ...

    @property
    def hypotheses(self) -> tuple[Hypothesis, Hypothesis]: ...


def candidate(explained: Explained, world: int, chunk: int) -> Candidate:
    """The best of the transcripts of one chunk, by what a tap at the agent's door sees and is granted nothing."""
    first = uncovered_from(explained)
    losses = np.sum(explained.steps[: counting(explained)], axis=0)
    best = int(np.lexsort((-losses, first))[0])
    return Candidate(float(first[best]), float(losses[best]), Place(world, chunk, best))


def best(seen: Iterable[Iterable[Explained]]) -> Candidate | None:
    """The best transcript of an audit: of each world the chunks in order. None where there is none."""
    found = (candidate(part, world, k) for world, parts in enumerate(seen) for k, part in enumerate(parts))
    return min(found, key=lambda one: one.rank, default=None)


def find(simulate: Callable[[int, int], Sample], pair: Worlds, where: Place) -> tuple["Witness", Account]:
    """Simulate the chunk again, cut out the transcript, and replay it alone.

    `simulate(world, chunk)` is an audit's; it gives the same transcripts every time.
    """
    sample = simulate(where.world, where.chunk).replica(where.replica)
    true, other = pair.hypotheses[where.world], pair.hypotheses[1 - where.world]
    return Witness.of(sample, pair.agent), itemize(sample, pair.agent, true, other)


def shown(account: Account, claim: Claim) -> Shown | None:
    """What this transcript shows of a claim: "unprotected" by a message that no noise covers (how many transcripts
    hold one, where δ > 0, it does not say); "refuted" by its loss, at δ = 0 only; None: nothing."""
    if account.uncovered is not None:
        return "unprotected"
    if claim.delta > 0 or claim.epsilon is None:
        return None
    return "refuted" if above(account.total, claim.epsilon) else None


@dataclass(frozen=True)
class Witness:
    """One transcript at the door of `agent`, and what a replay of that agent needs besides what is public.

    `rows` are those of a tap at the agent, with values (1, dimension); `releases` what its `privatize` calls gave, in
    order, (1, dimension); `coins` the state of its private coins' PCG64 at their start; `dither` the numbers that a
    random codec took for this transcript, one (1, dimension) array a value sent, none for other codecs. Who may see
    it: whom the audit grants as much. It holds no datum.
    """

    agent: int
    rows: tuple[Record, ...]
    releases: tuple[Array, ...]
    coins: Mapping[str, Any]
    dither: tuple[Array, ...]

    @classmethod
    def of(cls, sample: Sample, agent: int) -> "Witness":
        """Of a sample of one replica. You get a `TranscriptError` for coins that are no PCG64 stream."""
        assert sample.view.replicas == 1
        rows = sample.view.at_node(agent)
        public = sample.view.public
        drawn: Sequence[Array] = ()
        if public.codec.random and sample.dither is not None:
            count = sum(len(row.values) for row in rows if row.event == "sent")
            drawn = list(islice(sample.dither.draws(public.dimension), count))
        state = plain.known_coins(sample.coins().bit_generator.state)
        return cls(agent, rows, tuple(sample.releases), state, tuple(drawn))

    def sample(self, public: PublicKnowledge) -> Sample:
        """The transcript as an audit takes it. You get a `TranscriptError` where its vectors are no points of the
        problem, or where agents are named that are not there."""
        view = AdversaryView(Adversary("auditor", (), nodes=(self.agent,)), Transcript(self.rows, 1), public)
        for row in self.rows:
            if not {row.sender, row.receiver} <= {-1, *range(public.agents)}:
                raise TranscriptError(f"a row from {row.sender} to {row.receiver}: there are {public.agents} agents")
        vectors = [value for row in self.rows for value in row.values.values()]
        for value in (*vectors, *self.releases, *self.dither):
            if value.shape != (1, public.dimension):
                raise TranscriptError(f"a vector of {value.shape[-1]} numbers, where points have {public.dimension}")
        dither = _Drawn(np.random.default_rng, 1, numbers=self.dither) if self.dither else None
        return Sample(view, partial(_coins, self.coins), list(self.releases), dither)

    def as_plain(self) -> dict[str, Any]:
        """Numbers, texts, lists and mappings; `of_plain` makes the same of them, to the last bit."""
        return {
            "rows": [plain.row(row) for row in self.rows],
            "releases": plain.releases(self.releases, self.rows),
            "coins": plain.coins(self.coins),
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
            plain.to_coins(plain.entry(tree, "coins")),
            tuple(plain.to_vector(one, f"dither[{k}]") for k, one in enumerate(plain.listed(tree, "dither"))),
        )


@dataclass(frozen=True)
class _Drawn(Dither):
    """A dither whose numbers are all there: one (1, dimension) array a value."""

    numbers: tuple[Array, ...] = ()

    def draws(self, dimension: int) -> Iterator[Array]:  # noqa: ARG002
        yield from self.numbers
        raise TranscriptError(f"a dither of {len(self.numbers)} values, and more are sent")


def _coins(state: Mapping[str, Any]) -> np.random.Generator:
    """A generator that starts at this state."""
    stream = np.random.PCG64()
    stream.state = cast("Any", dict(state))
    return np.random.Generator(stream)


def as_plain(account: Account) -> dict[str, Any]:
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
    """The places where two plain trees differ by more than 1e-9, relative (of numbers below 1: absolute)."""
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
