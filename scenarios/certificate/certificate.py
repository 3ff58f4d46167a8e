"""Certificate of the auditor: every case repeated, and whether the promised rates hold."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypedDict

from attacks.audit.loss.noise_check import ALPHA
from attacks.audit.pair import spread
from netsim.arrays import whole
from netsim.errors import ScenarioError
from scenarios.certificate import false_alarms as games
from scenarios.certificate import false_alarms as sound
from scenarios.certificate import power
from scenarios.certificate.false_alarms import Case, Outcome, Rate, Row, StoredRow, game_cases, repeated, sound_cases
from scenarios.certificate.power import planted_cases, subtle_cases
from scenarios.certificate.worlds import CONFIDENCE

REPETITIONS = 1000
SEED = 0
BATCH = 25
"""Repetitions that one process does at a time."""
SHARES = {"sound": 1, "game": 4, "planted": 10, "subtle": 25}
"""Cases of a part are repeated REPETITIONS / share times, games share times as often."""


class _Stored(TypedDict):
    """The file certificate.json."""

    repetitions: int
    seed: int
    rows: list[StoredRow]


@dataclass(frozen=True)
class Certificate:
    """Every row, and what they were made with: the same arguments give the same rows."""

    repetitions: int
    seed: int
    rows: tuple[Row, ...]

    def part(self, name: str) -> list[Row]:
        return [row for row in self.rows if row.part == name]

    def as_json(self) -> str:
        """A row a line."""
        rows = ",\n".join(json.dumps(row.as_json(), ensure_ascii=False, allow_nan=False) for row in self.rows)
        return f'{{"repetitions": {self.repetitions}, "seed": {self.seed}, "rows": [\n{rows}\n]}}\n'

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """You get a `KeyError` where something is missing."""
        written: _Stored = json.loads(text)
        return cls(written["repetitions"], written["seed"], tuple(map(Row.from_json, written["rows"])))


def cases() -> list[Case]:
    """All, in the order of the page."""
    return [*sound_cases(), *game_cases(), *planted_cases(), *subtle_cases()]


def times(part: str, repetitions: int) -> int:
    """Repetitions of each case of a part, for a certificate of so many repetitions."""
    share = SHARES[part]
    return repetitions * share if part == "game" else -(-repetitions // share)


def certify(
    repetitions: int = REPETITIONS,
    *,
    seed: int = SEED,
    jobs: int = 1,
    chosen: Sequence[Case] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Certificate:
    """Repeat every case, or those `chosen`; the result does not depend on `jobs`.

    `repetitions` are those of each sound mechanism (see `times`). `progress` gets the number of repetitions done.
    You get a `ScenarioError` for repetitions below 1, a seed below 0, or a number of processes that is none.
    """
    whole(repetitions, "repetitions", 1)
    whole(seed, "seed", 0)
    if jobs == 0 or jobs < -1:
        raise ScenarioError("jobs", jobs, "not a number of processes", "-1 (one per core), or >= 1")
    wanted = list(cases() if chosen is None else chosen)
    tasks = [
        (case, seed, start, min(start + BATCH, times(case.part, repetitions)))
        for case in wanted
        for start in range(0, times(case.part, repetitions), BATCH)
    ]
    outcomes: dict[tuple[str, str], list[Outcome]] = {(case.part, case.name): [] for case in wanted}
    for (case, *_), some in zip(tasks, spread(repeated, tasks, jobs), strict=True):
        outcomes[case.part, case.name] += some
        if progress is not None:
            progress(len(some))
    return Certificate(repetitions, seed, tuple(Row.of(case, outcomes[case.part, case.name]) for case in wanted))


ERROR = 1 - CONFIDENCE
"""Of all that an audit says together, so of each thing that it says; and of a game."""
SELF_CHECKS = 4 * ALPHA
"""Two self-checks in each of two directions."""


class Promise(NamedTuple):
    """A rate, by `what` it counts and `whose`, and the `nominal` one that it must not exceed."""

    what: str
    whose: str
    rate: Rate
    nominal: float

    @property
    def broken(self) -> bool:
        return self.rate.exceeds(self.nominal)

    @property
    def open(self) -> bool:
        """Whether the rate may still be above its nominal value: so many trials do not exclude it."""
        return self.rate.interval.upper > self.nominal

    @property
    def excess(self) -> float:
        """Largest possible rate, as a multiple of the nominal one."""
        return self.rate.interval.upper / self.nominal


def promises(certificate: Certificate) -> Iterator[Promise]:
    """All that can be counted of the rows there are: of each row, and of the rows of a part together."""
    audits, played = certificate.part(sound.SOUND_PART), certificate.part(games.PART)
    for mark in (sound.SOUND_ALARM, sound.GAME, sound.EXACT):
        yield from _each(mark, audits, ERROR, mark)
    yield from _each("refused", audits, ERROR, sound.DISAGREEMENT, sound.REFUSED)
    yield from _each(sound.SELF_CHECK, audits, SELF_CHECKS, sound.SELF_CHECK)
    for mark in sound.LOW_P:
        yield from _each(mark, audits, sound.LOW, mark)
    for mark in (games.ALARM, games.RATES):
        yield from _each(mark, played, ERROR, mark)


def together(rows: list[Row], *marks: str) -> Rate:
    """Of all rows; 0 of 1 if there is none."""
    rates = [row.rate(*marks) for row in rows]
    return sum(rates[1:], rates[0]) if rates else Rate(0, 1)


def _missed(certificate: Certificate) -> list[str]:
    """The planted faults that were not caught, or not named, every time with the most transcripts."""
    most = f", {max(power.BUDGETS)} transcripts"
    rows = [row for row in certificate.part(power.PLANTED) if row.name.endswith(most)]
    return [row.name for row in rows if min(row.rate(power.CAUGHT).value, row.rate(power.NAMED).value) < 1]


def failures(certificate: Certificate) -> list[str]:
    """Broken promises as sentences; empty where the certificate holds."""
    broken = [
        f"{p.whose}: {p.what} in {p.rate.count} of {p.rate.trials}, at least {p.rate.interval.lower:.3g}, "
        f"above {p.nominal:.3g}"
        for p in promises(certificate)
        if p.broken
    ]
    return broken + [f"{name}: not caught and named every time" for name in _missed(certificate)]


def _each(what: str, rows: list[Row], nominal: float, *marks: str) -> Iterator[Promise]:
    for row in rows:
        yield Promise(what, row.name, row.rate(*marks), nominal)
    if rows:
        yield Promise(what, "all together", together(rows, *marks), nominal)
