"""What a certificate is made of: cases that are repeated, and rows that count what happened."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

from attacks.audit.statistics.intervals import Interval, clopper_pearson
from netsim.randomness import Streams

CONFIDENCE = 0.99
"""Of every interval on the page, by itself."""
FIRST = 4
"""Repetitions of each case that a certificate keeps whole: who repeats them must find the same."""


class Outcome(NamedTuple):
    """What one repetition showed: what was the case, and numbers (None: there is none)."""

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
        """How often one of the marks was the case; no two of them ever are together."""
        return Rate(sum(self.counts.get(mark, 0) for mark in marks), self.repetitions)

    def as_json(self) -> dict[str, Any]:
        first = [{"marks": sorted(one.marks), **one.numbers} for one in self.first]
        return {
            "part": self.part,
            "name": self.name,
            "repetitions": self.repetitions,
            "counts": dict(self.counts),
            "medians": dict(self.medians),
            "first": first,
        }

    @classmethod
    def from_json(cls, one: Mapping[str, Any]) -> Self:
        """You get a `KeyError` where something is missing."""
        first = (dict(outcome) for outcome in one["first"])
        outcomes = tuple(Outcome(frozenset(outcome.pop("marks")), outcome) for outcome in first)
        return cls(one["part"], one["name"], one["repetitions"], one["counts"], one["medians"], outcomes)
