"""The certificate: every case, repeated, in several processes."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from attacks.audit.parallel import spread
from netsim.checks import whole
from netsim.errors import ScenarioError
from scenarios.certificate.games import game_cases
from scenarios.certificate.power import planted_cases, subtle_cases
from scenarios.certificate.rows import Case, Outcome, Row, repeated
from scenarios.certificate.sound import sound_cases

REPETITIONS = 1000
SEED = 0
BATCH = 25
"""Repetitions that one process does at a time."""
SHARES = {"sound": 1, "game": 4, "planted": 10, "subtle": 25}
"""Cases of a part are repeated REPETITIONS / share times, games share times as often."""


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
        written: dict[str, Any] = json.loads(text)
        return cls(written["repetitions"], written["seed"], tuple(map(Row.from_json, written["rows"])))


def cases() -> list[Case]:
    """All, in the order of the page."""
    return [*sound_cases(), *game_cases(), *planted_cases(), *subtle_cases()]


def times(part: str, repetitions: int) -> int:
    """How often cases of a part are repeated, for a certificate of so many repetitions."""
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

    `repetitions` are those of each sound mechanism (see `times`). `progress` is told how many repetitions were done.
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
