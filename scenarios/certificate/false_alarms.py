"""False-alarm cases: repeated games and whole audits of sound mechanisms, counted in rows."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self, TypedDict, cast

import numpy as np

from attacks.audit.accounting.intervals import Interval, clopper_pearson
from attacks.audit.audit import AuditResult, audit
from attacks.audit.games.game import GameResult, play
from attacks.audit.verdict import RESOLUTION, ROUNDING, Verdict
from netsim.arrays import Array
from netsim.errors import PrivacyError
from netsim.randomness import Streams
from scenarios.certificate import worlds as laws
from scenarios.certificate.worlds import DELTA, SOUND, Auditor, World

CONFIDENCE = 0.99
"""Of every interval on the page, by itself."""
FIRST = 4
"""Repetitions of each case that a certificate keeps whole: who repeats them must find the same."""


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
    that have one, and the `first` repetitions whole."""

    part: str
    name: str
    repetitions: int
    counts: Mapping[str, int]
    medians: Mapping[str, float]
    first: tuple[Outcome, ...]

    @classmethod
    def of(cls, case: Case, outcomes: Sequence[Outcome]) -> Self:
        names = sorted({name for one in outcomes for name in one.numbers})
        marks = sorted({mark for one in outcomes for mark in one.marks})
        known = {name: [x for one in outcomes if (x := one.numbers.get(name)) is not None] for name in names}
        return cls(
            case.part,
            case.name,
            len(outcomes),
            {mark: sum(mark in one.marks for one in outcomes) for mark in marks},
            {name: round(statistics.median(values), 4) for name, values in known.items() if values},
            tuple(outcomes[:FIRST]),
        )

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
REFUSALS = {"a self-check failed": SELF_CHECK, "the game proves": DISAGREEMENT}
"""Words in an audit's refusal, and its name here."""
BROKEN = frozenset({Verdict.REFUTED, Verdict.UNPROTECTED})


@dataclass(frozen=True)
class SoundCase:
    """One sound mechanism, audited again and again with new seeds; `auditor` may be another one than ours."""

    name: str
    build: Callable[[float], World]
    trials: int = SOUND_TRIALS
    auditor: Auditor = audit
    part: str = SOUND_PART

    def once(self, repetition: int, streams: Streams) -> Outcome:
        world = self.build(CLAIMS[repetition % len(CLAIMS)])
        try:
            found = world.audited(self.trials, streams, self.auditor)
        except PrivacyError as error:
            return Outcome(frozenset({refusal(error)}), {})
        numbers = {EXACTLY: found.epsilon_exact / world.truth, PROVEN: found.epsilon_audited / world.truth}
        return Outcome(
            frozenset(_marks(found, world.truth)), {name: round(value, 4) for name, value in numbers.items()}
        )


def refusal(error: PrivacyError) -> str:
    """Why there was no verdict."""
    return next((name for words, name in REFUSALS.items() if words in str(error)), REFUSED)


def sound_cases() -> list[SoundCase]:
    return [SoundCase(name, build) for name, build in SOUND.items()]


def _marks(found: AuditResult, truth: float) -> list[str]:
    room = ROUNDING * truth + RESOLUTION
    marks: list[str] = []
    if found.judgement.verdict in BROKEN:
        marks.append(SOUND_ALARM)
    if found.epsilon_audited > truth:
        marks.append(GAME)
    if any(e.epsilon.lower > truth + room or e.epsilon.upper < truth - room for e in found.exact):
        marks.append(EXACT)
    return marks + [mark for mark, e in zip(LOW_P, found.exact, strict=True) if e.noise.p < LOW]


PART = "game"
TRIALS = 500
"""Of each world."""
RELEASES = 3
ALARM, RATES = "game above the truth", "rates above the truth"

Draw = Callable[[float, np.random.Generator], tuple[Array, Array]]
"""(ε, rng) ↦ the scores ln p₁/p₀ of `TRIALS` trials of world 0, and of world 1."""
Referee = Callable[..., GameResult]
"""`attacks.audit.games.game.play`, or something with its arguments."""


def _randomized_response(epsilon: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """The truth with probability e^ε/(1 + e^ε): every bound that holds for it is attained by it."""
    right = rng.random((2, TRIALS)) < 1 / (1 + math.exp(-epsilon))
    return np.where(right[0], -epsilon, epsilon), np.where(right[1], epsilon, -epsilon)


def laplace(epsilon: float, rng: np.random.Generator) -> tuple[Array, Array]:
    noise = rng.laplace(0, 1 / epsilon, (2, TRIALS))
    return _laplace_score(noise[0], epsilon), _laplace_score(noise[1] + 1, epsilon)


def _three_laplace(epsilon: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """ε in three releases."""
    share = epsilon / RELEASES
    noise = rng.laplace(0, 1 / share, (2, RELEASES, TRIALS))
    zero, one = _laplace_score(noise[0], share), _laplace_score(noise[1] + 1, share)
    return zero.sum(axis=0), one.sum(axis=0)


def _geometric(epsilon: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """The difference of two geometric numbers: discrete Laplace noise, one step apart."""
    drawn = rng.geometric(-math.expm1(-epsilon), (4, TRIALS))
    noise = (drawn[:2] - drawn[2:]).astype(np.float64)
    return _laplace_score(noise[0], epsilon), _laplace_score(noise[1] + 1, epsilon)


def _gaussian(epsilon: float, rng: np.random.Generator) -> tuple[Array, Array]:
    mu = laws.gaussian_mu(epsilon, DELTA)
    noise = rng.standard_normal((2, TRIALS))
    return mu * noise[0] - mu * mu / 2, mu * noise[1] + mu * mu / 2


def _leaky_response(epsilon: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Randomized response that with probability δ tells its world outright."""
    zero, one = _randomized_response(epsilon, rng)
    leaked = rng.random((2, TRIALS)) < DELTA
    return np.where(leaked[0], -math.inf, zero), np.where(leaked[1], math.inf, one)


def _laplace_score(released: Array, epsilon: float) -> Array:
    return epsilon * (np.abs(released) - np.abs(released - 1))


GAMES: dict[str, tuple[Draw, float]] = {
    "randomized response": (_randomized_response, 0.0),
    "Laplace": (laplace, 0.0),
    "three Laplace releases": (_three_laplace, 0.0),
    "discrete Laplace": (_geometric, 0.0),
    "Gaussian at δ": (_gaussian, DELTA),
    "randomized response that leaks with δ": (_leaky_response, DELTA),
}
"""By name: how scores are drawn, and the δ of the game."""


@dataclass(frozen=True)
class GameCase:
    """One mechanism, played again and again; `referee` may be another one than ours."""

    name: str
    draw: Draw
    delta: float
    referee: Referee = play
    part: str = PART

    def once(self, repetition: int, streams: Streams) -> Outcome:
        truth = CLAIMS[repetition % len(CLAIMS)]
        zero, one = self.draw(truth, streams.generator("scores"))
        rng = streams.generator("coins")
        found = self.referee(zero, one, delta=self.delta, confidence=laws.CONFIDENCE, rng=rng)
        marks = [ALARM] if found.epsilon_audited > truth else []
        marks += [RATES] if found.rates.epsilon > truth else []
        return Outcome(frozenset(marks), {PROVEN: round(found.epsilon_audited / truth, 4)})


def game_cases() -> list[GameCase]:
    return [GameCase(name, draw, delta) for name, (draw, delta) in GAMES.items()]
