"""What a certificate is made of: cases that are repeated, and rows that count what happened."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

from attacks.audit.intervals import Interval, clopper_pearson
from netsim.randomness import Streams

CONFIDENCE = 0.99
"""Of every interval on the page, by itself."""


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
    """All repetitions of one case: `marks[m]` are those in which m was the case, `numbers[n]` one for each."""

    part: str
    name: str
    repetitions: int
    marks: Mapping[str, tuple[int, ...]]
    numbers: Mapping[str, tuple[float | None, ...]]

    @classmethod
    def of(cls, case: Case, outcomes: Sequence[Outcome]) -> Self:
        names = sorted({name for one in outcomes for name in one.numbers})
        marks = sorted({mark for one in outcomes for mark in one.marks})
        return cls(
            case.part,
            case.name,
            len(outcomes),
            {mark: tuple(k for k, one in enumerate(outcomes) if mark in one.marks) for mark in marks},
            {name: tuple(one.numbers.get(name) for one in outcomes) for name in names},
        )

    def rate(self, *marks: str) -> Rate:
        """How often at least one of the marks was the case."""
        return Rate(len({k for mark in marks for k in self.marks.get(mark, ())}), self.repetitions)

    def median(self, number: str) -> float | None:
        """Over the repetitions that have one; None if none has."""
        values = [value for value in self.numbers.get(number, ()) if value is not None]
        return statistics.median(values) if values else None

    def first(self, repetitions: int) -> "Row":
        """What the row would have been with so few repetitions."""
        marks = {mark: tuple(k for k in where if k < repetitions) for mark, where in self.marks.items()}
        return Row(
            self.part,
            self.name,
            min(self.repetitions, repetitions),
            {mark: where for mark, where in marks.items() if where},
            {name: values[:repetitions] for name, values in self.numbers.items()},
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "part": self.part,
            "name": self.name,
            "repetitions": self.repetitions,
            "marks": {mark: list(where) for mark, where in self.marks.items()},
            "numbers": {name: list(values) for name, values in self.numbers.items()},
        }

    @classmethod
    def from_json(cls, one: Mapping[str, Any]) -> Self:
        """You get a `KeyError` where something is missing."""
        return cls(
            one["part"],
            one["name"],
            one["repetitions"],
            {mark: tuple(where) for mark, where in one["marks"].items()},
            {name: tuple(values) for name, values in one["numbers"].items()},
        )
