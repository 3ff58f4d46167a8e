"""A share of a sweep's points, for jobs that know nothing of each other, such as those of an array."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from netsim.errors import ScenarioError
from scenarios.sweep.points import Point


@dataclass(frozen=True)
class Shard:
    """Share `number` of `of`, from 1 on: every `of`-th point from number − 1 on, so that all shares are alike."""

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise ScenarioError("shard", str(self), "no share of that many", "I/N with 1 <= I <= N, such as 3/8")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, found: Sequence[Point]) -> Sequence[Point]:
        return found[self.number - 1 :: self.of]


def shard_of(text: str) -> Shard:
    """Of the text I/N. You get a `ScenarioError` for any other text."""
    if not (found := re.fullmatch(r"(\d+)/(\d+)", text.strip())):
        raise ScenarioError("shard", text, "is no share", "I/N with 1 <= I <= N, such as 3/8")
    return Shard(int(found[1]), int(found[2]))
