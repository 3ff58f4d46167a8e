"""Cases of the certificate (sound mechanisms, games, planted faults), and the rows that count what they did."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol, Self, TypedDict, cast

import numpy as np

from attacks.audit.accounting.intervals import Interval, clopper_pearson
from attacks.audit.audit import audit
from attacks.audit.games.game import GameResult, play
from attacks.audit.result import AuditResult
from attacks.audit.verdict import BROKEN, RESOLUTION, ROUNDING, Verdict
from netsim.algorithms import Setting
from netsim.algorithms.planted_faults import FAULTS, Fault, OneScalar, ReusedSeed, SecondMessage, SentBefore
from netsim.arrays import Array
from netsim.claims import Adjacency, Claim
from netsim.errors import PrivacyError
from netsim.mechanisms import Gaussian, Laplace, Mechanism
from netsim.node import Node
from netsim.problems.objective import direction
from netsim.randomness import Streams
from scenarios.certificate import worlds as laws

CONFIDENCE = 0.99
"""Of every interval on the page, by itself."""
FIRST = 4
"""Repetitions of each case that a certificate keeps whole: who repeats them must find the same."""
MEDIANS = 250
"""Repetitions of each case, the first ones, of whose numbers a row has the medians; it counts what all did."""


class Outcome(NamedTuple):
    """Marks and numbers of one repetition (None: there is no such number)."""

    marks: frozenset[str]
    numbers: Mapping[str, float | None]


class Case(Protocol):
    """Something that is repeated; `name` is its own in its `part`, and its seeds depend on these two alone."""

    @property
    def part(self) -> str: ...

    @property
    def name(self) -> str: ...

    def once(self, repetition: int, streams: Streams) -> Outcome:
        """One repetition; all of its randomness comes from `streams`."""
        ...


def repeated(case: Case, seed: int, start: int, stop: int) -> list[Outcome]:
    """Repetitions start … stop − 1, each with streams of its own: the same whatever else is done."""
    streams = Streams(seed)
    return [case.once(k, streams.child("certificate", case.part, case.name, k)) for k in range(start, stop)]


@dataclass(frozen=True)
class Rate:
    """So many times in so many trials, with the two-sided Clopper–Pearson interval at `CONFIDENCE`."""

    count: int
    trials: int

    @property
    def interval(self) -> Interval:
        return clopper_pearson(self.count, self.trials, CONFIDENCE)

    @property
    def value(self) -> float:
        return self.count / self.trials

    def exceeds(self, nominal: float) -> bool:
        """Whether the rate is proven to be above `nominal`; if it is not, that happens with probability
        (1 − CONFIDENCE)/2 at most."""
        return self.interval.lower > nominal

    def __add__(self, other: "Rate") -> "Rate":
        return Rate(self.count + other.count, self.trials + other.trials)


@dataclass(frozen=True)
class Row:
    """All repetitions of one case, in short: how often each mark was the case, the median of each number over those
    of the first `MEDIANS` that have one, and the `first` repetitions whole."""

    part: str
    name: str
    repetitions: int
    counts: Mapping[str, int]
    medians: Mapping[str, float]
    first: tuple[Outcome, ...]

    @classmethod
    def of(cls, case: Case, outcomes: Sequence[Outcome]) -> Self:
        measured = outcomes[:MEDIANS]
        names = sorted({name for one in measured for name in one.numbers})
        known = {name: [x for one in measured if (x := one.numbers.get(name)) is not None] for name in names}
        medians = {name: round(statistics.median(values), 4) for name, values in known.items() if values}
        return cls(case.part, case.name, len(outcomes), _counts(outcomes), medians, tuple(outcomes[:FIRST]))

    def and_then(self, outcomes: Sequence[Outcome]) -> Self:
        """The row with further repetitions, the next ones; it has at least `MEDIANS`."""
        more = _counts(outcomes)
        counts = {mark: self.counts.get(mark, 0) + more.get(mark, 0) for mark in sorted({*self.counts, *more})}
        return replace(self, repetitions=self.repetitions + len(outcomes), counts=counts)

    def rate(self, *marks: str) -> Rate:
        """Rate of any of these marks; no two of them ever are together."""
        return Rate(sum(self.counts.get(mark, 0) for mark in marks), self.repetitions)

    def as_json(self) -> "StoredRow":
        return {
            "part": self.part,
            "name": self.name,
            "repetitions": self.repetitions,
            "counts": dict(self.counts),
            "medians": dict(self.medians),
            "first": [{"marks": sorted(one.marks), **one.numbers} for one in self.first],
        }

    @classmethod
    def from_json(cls, row: "StoredRow") -> Self:
        """You get a `KeyError` where something is missing."""
        first: list[Outcome] = []
        for one in row["first"]:
            numbers = {name: value for name, value in one.items() if not isinstance(value, list)}
            first.append(Outcome(frozenset(cast("list[str]", one["marks"])), numbers))
        return cls(row["part"], row["name"], row["repetitions"], row["counts"], row["medians"], tuple(first))


def _counts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """How often each mark was the case, in alphabetical order."""
    marks = sorted({mark for one in outcomes for mark in one.marks})
    return {mark: sum(mark in one.marks for one in outcomes) for mark in marks}


class StoredRow(TypedDict):
    """A row as certificate.json has it; an outcome has its `marks` beside its numbers."""

    part: str
    name: str
    repetitions: int
    counts: dict[str, int]
    medians: dict[str, float]
    first: list[dict[str, list[str] | float | None]]


SOUND_PART = "sound"
CLAIMS = (0.5, 1.0, 2.0, 4.0)
"""In turn, repetition by repetition."""
SOUND_TRIALS = 400
SOUND_ALARM, GAME, EXACT = "false alarm", "game above the truth", "exact interval misses the truth"
SELF_CHECK, DISAGREEMENT, REFUSED = "self-check failed", "game and exact loss disagree", "refused otherwise"
EXACTLY, PROVEN = "exact, of the truth", "proven by the game, of the truth"
LOW_P = "noise law p < 1%, direction 1", "noise law p < 1%, direction 2"
LOW = 0.01
REFUSALS = {
    "a self-check failed": SELF_CHECK, "do not follow the noise law": SELF_CHECK, "the game proves": DISAGREEMENT,
}  # fmt: skip
"""Words in an audit's refusal, and its name here."""


@dataclass(frozen=True)
class SoundCase:
    """One sound mechanism, audited again and again with new seeds; `auditor` may be another one than ours."""

    name: str
    build: Callable[[float], laws.World]
    trials: int = SOUND_TRIALS
    auditor: laws.Auditor = audit
    part: str = SOUND_PART

    def once(self, repetition: int, streams: Streams) -> Outcome:
        world = self.build(CLAIMS[repetition % len(CLAIMS)])
        try:
            found = world.audited(self.trials, streams, self.auditor)
        except PrivacyError as error:
            return Outcome(frozenset({_refusal(error)}), {})
        room, marks = ROUNDING * world.truth + RESOLUTION, set[str]()
        if found.judgement.verdict in BROKEN:
            marks.add(SOUND_ALARM)
        if found.epsilon_audited > world.truth:
            marks.add(GAME)
        if any(e.epsilon.lower > world.truth + room or e.epsilon.upper < world.truth - room for e in found.exact):
            marks.add(EXACT)
        marks |= {mark for mark, e in zip(LOW_P, found.exact, strict=True) if e.noise.p < LOW}
        numbers = {EXACTLY: found.epsilon_exact / world.truth, PROVEN: found.epsilon_audited / world.truth}
        return Outcome(frozenset(marks), {name: round(value, 4) for name, value in numbers.items()})


def _refusal(error: PrivacyError) -> str:
    """Why there was no verdict."""
    return next((name for words, name in REFUSALS.items() if words in str(error)), REFUSED)


GAME_PART = "game"
TRIALS = 500
"""Of each world."""
RELEASES = 3
ALARM, RATES = "game above the truth", "rates above the truth"

Draw = Callable[[float, int, np.random.Generator], tuple[Array, Array]]
"""(ε, trials, rng) ↦ the scores ln p₁/p₀ of so many trials of world 0, and of world 1."""
Referee = Callable[..., GameResult]
"""`attacks.audit.games.game.play`, or something with its arguments."""


def _randomized_response(epsilon: float, trials: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The truth with probability e^ε/(1 + e^ε): every bound that holds for it is attained by it."""
    right = rng.random((2, trials)) < 1 / (1 + math.exp(-epsilon))
    return np.where(right[0], -epsilon, epsilon), np.where(right[1], epsilon, -epsilon)


def _laplace(epsilon: float, trials: int, rng: np.random.Generator) -> tuple[Array, Array]:
    noise = rng.laplace(0, 1 / epsilon, (2, trials))
    return _laplace_score(noise[0], epsilon), _laplace_score(noise[1] + 1, epsilon)


def _three_laplace(epsilon: float, trials: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """ε in three releases."""
    share = epsilon / RELEASES
    noise = rng.laplace(0, 1 / share, (2, RELEASES, trials))
    zero, one = _laplace_score(noise[0], share), _laplace_score(noise[1] + 1, share)
    return zero.sum(axis=0), one.sum(axis=0)


def _geometric(epsilon: float, trials: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The difference of two geometric numbers: discrete Laplace noise, one step apart."""
    drawn = rng.geometric(-math.expm1(-epsilon), (4, trials))
    noise = (drawn[:2] - drawn[2:]).astype(np.float64)
    return _laplace_score(noise[0], epsilon), _laplace_score(noise[1] + 1, epsilon)


def _gaussian(epsilon: float, trials: int, rng: np.random.Generator) -> tuple[Array, Array]:
    mu = laws.gaussian_mu(epsilon, laws.DELTA)
    noise = rng.standard_normal((2, trials))
    return mu * noise[0] - mu * mu / 2, mu * noise[1] + mu * mu / 2


def _leaky_response(epsilon: float, trials: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Randomized response that with probability δ tells its world outright."""
    zero, one = _randomized_response(epsilon, trials, rng)
    leaked = rng.random((2, trials)) < laws.DELTA
    return np.where(leaked[0], -math.inf, zero), np.where(leaked[1], math.inf, one)


def _laplace_score(released: Array, epsilon: float) -> Array:
    return epsilon * (np.abs(released) - np.abs(released - 1))


GAMES: dict[str, tuple[Draw, float]] = {
    "randomized response": (_randomized_response, 0.0),
    "Laplace": (_laplace, 0.0),
    "three Laplace releases": (_three_laplace, 0.0),
    "discrete Laplace": (_geometric, 0.0),
    "Gaussian at δ": (_gaussian, laws.DELTA),
    "randomized response that leaks with δ": (_leaky_response, laws.DELTA),
}
"""By name: how scores are drawn, and the δ of the game."""


@dataclass(frozen=True)
class GameCase:
    """One mechanism, played again and again; `referee` may be another one than ours."""

    name: str
    draw: Draw
    delta: float
    referee: Referee = play
    part: str = GAME_PART

    def once(self, repetition: int, streams: Streams) -> Outcome:
        truth = CLAIMS[repetition % len(CLAIMS)]
        zero, one = self.draw(truth, TRIALS, streams.generator("scores"))
        rng = streams.generator("coins")
        found = self.referee(zero, one, delta=self.delta, confidence=laws.CONFIDENCE, rng=rng)
        marks = [ALARM] if found.epsilon_audited > truth else []
        marks += [RATES] if found.rates.epsilon > truth else []
        return Outcome(frozenset(marks), {PROVEN: round(found.epsilon_audited / truth, 4)})


# ── planted faults ──────────────────────────────────────────────────────────────────────────────────────
PLANTED, SUBTLE = "planted", "subtle"
BUDGETS = (20, 100, 400)
"""Transcripts of each world."""
LARGER_BUDGETS = (100, 300, 1000)
SCALE = 0.8
"""Of the gallery's faults: they claim 0.75, `SecondMessage` 1, `WrongClip` 1.7 at δ = 0.001."""
EPSILON = 1.0
"""ε claimed of noise that is a little too small."""
BARE: dict[type[Fault], str] = {OneScalar: "x", SentBefore: "monitored", ReusedSeed: "x", SecondMessage: "z"}
"""Faults that leave an unprotected message, and its field."""
CAUGHT, NAMED, BY_GAME = "caught", "named", "caught by the game alone"
VIOLATION, TIGHTNESS = "first violating release", "exact, of the claim"
Law = Literal["Laplace", "Gaussian"]
LAWS: tuple[Law, ...] = ("Laplace", "Gaussian")
FACTORS = (0.98, 0.95, 0.9, 0.8, 0.5)
"""Noise, as a share of the noise that the claim needs."""
HIDDEN_FACTORS = (1.05, 0.95, 0.9, 0.8)
"""Noise drawn, of the noise that the code declares."""


@dataclass(frozen=True)
class FaultCase:
    """One planted fault, audited again and again with so many transcripts."""

    fault: type[Fault]
    trials: int
    auditor: laws.Auditor = audit
    part: str = PLANTED

    @property
    def name(self) -> str:
        return f"{self.fault.__name__}, {self.trials} transcripts"

    def once(self, repetition: int, streams: Streams) -> Outcome:  # noqa: ARG002
        world = laws.of_gallery(self.fault, SCALE, sound=False)
        try:
            found = world.audited(self.trials, streams, self.auditor)
        except PrivacyError as error:
            return Outcome(frozenset({_refusal(error)}), {})
        field, verdict = BARE.get(self.fault), found.judgement.verdict
        # the message in the clear is named; or, where all have noise, none is, and the claim is refuted
        named = verdict is Verdict.UNPROTECTED and f"sends {field!r}" in str(found.uncovered)
        if field is None:
            named = verdict is Verdict.REFUTED and found.uncovered is None
        first = None if found.first_violation is None else float(found.first_violation)
        marks = _caught(found) | ({NAMED} if named else set[str]())
        return Outcome(frozenset(marks), {VIOLATION: first, TIGHTNESS: _of_claim(found)})


def _caught(found: AuditResult) -> set[str]:
    claimed = found.claim.epsilon
    assert claimed is not None
    marks = {CAUGHT} if found.judgement.verdict in BROKEN else set[str]()
    return marks | ({BY_GAME} if found.epsilon_audited > claimed else set[str]())


def _of_claim(found: AuditResult) -> float | None:
    """ε_exact over the claim; None where ε is infinite."""
    assert found.claim.epsilon is not None
    ratio = found.epsilon_exact / found.claim.epsilon
    return round(ratio, 4) if math.isfinite(ratio) else None


@dataclass(frozen=True)
class _MisdrawnLaplace(Laplace):
    """Declares b and draws with `drawn`·b."""

    drawn: float = 1.0

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        return Laplace(self.scale * self.drawn).release(value, rng)


@dataclass(frozen=True)
class _MisdrawnGaussian(Gaussian):
    """Declares σ and draws with `drawn`·σ."""

    drawn: float = 1.0

    def release(self, value: Array, rng: np.random.Generator) -> Array:
        return Gaussian(self.stddev * self.drawn).release(value, rng)


@dataclass(frozen=True)
class _LessNoise(Fault):
    """Noise `declared` times as large as claimed, or drawn `drawn` times as large as the code declares.

    Laplace noise as in the gallery, or Gaussian noise of deviation `scale`; both claim ε = `EPSILON`.
    """

    lesson = "A small fault asks for many transcripts, and for the right tool."
    law: Law = "Laplace"
    declared: float = 1.0
    drawn: float = 1.0

    def mechanism(self) -> Mechanism:
        size = self.scale * self.declared
        if self.drawn != 1:
            misdrawn = _MisdrawnLaplace if self.law == "Laplace" else _MisdrawnGaussian
            return misdrawn(size, self.drawn)
        return Laplace(size) if self.law == "Laplace" else Gaussian(size)

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            received = await node.exchange(x=node.privatize(x, self.mechanism()))
            x = await self.moved(node, received.mix("x"), x)
            node.estimate(x)

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        if self.law == "Laplace":
            return super().claim(adjacency, setting, delta)
        return Claim(EPSILON, laws.DELTA, "the exact ε of Gaussian releases", adjacency, "ℓ2")


@dataclass(frozen=True)
class SubtleCase:
    """Noise a little too small, declared so or not, audited again and again with so many transcripts."""

    law: Law
    declared: float
    drawn: float
    trials: int
    auditor: laws.Auditor = audit
    part: str = SUBTLE

    @property
    def name(self) -> str:
        what = f"declared {self.declared}" if self.drawn == 1 else f"drawn {self.drawn}"
        return f"{self.law}, {what}, {self.trials} transcripts"

    def world(self) -> laws.World:
        releases, moved = laws.ROUNDS - 1, 2 * laws.BOUND * laws.STEP
        laplace = releases * moved / EPSILON
        gaussian = math.sqrt(releases) * moved / laws.gaussian_mu(EPSILON, laws.DELTA)
        algorithm = _LessNoise(
            rounds=laws.ROUNDS,
            step=laws.STEP,
            scale=laplace if self.law == "Laplace" else gaussian,
            bound=laws.BOUND,
            law=self.law,
            declared=self.declared,
            drawn=self.drawn,
        )
        slope = laws.STEEP * direction("coordinate", laws.DIMENSION)
        return laws.turned(algorithm, (slope, -slope), None, math.nan)

    def once(self, repetition: int, streams: Streams) -> Outcome:  # noqa: ARG002
        try:
            found = self.world().audited(self.trials, streams, self.auditor)
        except PrivacyError as error:
            return Outcome(frozenset({_refusal(error)}), {})
        return Outcome(frozenset(_caught(found)), {TIGHTNESS: _of_claim(found)})


def cases() -> list[Case]:
    """All, in the order of the page; of noise too small each law and size at each budget, what is declared too small
    before what is drawn otherwise than declared."""
    sizes = [(factor, 1.0) for factor in FACTORS] + [(1.0, factor) for factor in HIDDEN_FACTORS]
    sound = [SoundCase(name, build) for name, build in laws.SOUND.items()]
    games = [GameCase(name, draw, delta) for name, (draw, delta) in GAMES.items()]
    planted = [FaultCase(fault, trials) for fault in FAULTS for trials in BUDGETS]
    subtle = [SubtleCase(law, *size, trials) for law in LAWS for size in sizes for trials in LARGER_BUDGETS]
    return [*sound, *games, *planted, *subtle]
