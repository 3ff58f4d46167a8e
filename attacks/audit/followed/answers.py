"""What an agent's code was found to do on a transcript, and what its lines were answered."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attacks.audit.followed.kinds import What
from attacks.audit.followed.lines import ReadLine
from attacks.audit.followed.path import Step, parts_at
from netsim.arrays import Array
from netsim.transcript.message import Kind as Channel

SAME = 1e-6
"""Relative: what two readings of the same numbers may differ by."""

TIMES = 64
"""How often a line is told apart that asks once more, as in a loop, at most."""
Place = tuple[ReadLine, tuple[int, ...], str]
"""A line that asks something of each number; how often it was asked before in the run, the place in its code and in
that of its callers; and what it asks."""
Answers = Mapping[Place, set[float]]


@dataclass
class Reading:
    """The lines that `read`, in order; the `messages`, each with its kind and those of its fields; the least and the
    largest answer to what lines `asked` of each number (0 and 1 of a comparison, and what a function with levels
    gave), where NumPy goes on with them; and why what is sent is no affine function, if it is none."""

    read: list[ReadLine] = field(default_factory=list[ReadLine])
    messages: list[tuple[Channel, tuple[tuple[str, What], ...]]] = field(default_factory=list[Any])
    asked: dict[Place, set[float]] = field(default_factory=dict[Place, set[float]])
    times: Counter[Place] = field(default_factory=Counter[Place])
    """How often each line asked, by its place alone."""
    bent: str | None = None
    given: list[Array] = field(default_factory=list[Array])
    """What it handed to the port."""
    failed: ReadLine | None = None
    """Where the code failed on followed values."""
    answers: int = 0
    """How many private answers it got."""
    batches: list[Sequence[int]] = field(default_factory=list[Sequence[int]])
    """Of its queries that are about some of its records, these."""
    path: Sequence[Step] = ()

    def same(self, other: "Reading") -> bool:
        """Whether the code does the same, and hands on the same."""
        return parts_at(self.path, other.path) is None and self.apart(other) is None

    def answered(self, place: Place, answers: Sequence[float]) -> None:
        """Note what a line got, once more."""
        line, where, how = place
        before = min(self.times[place], TIMES - 1)
        self.times[place] += 1
        self.asked.setdefault((line, (before, *where), how), set()).update(answers)

    @property
    def private(self) -> set[tuple[Channel, str, What]]:
        """Fields of messages that are made of private answers, and of what kind they are."""
        known = What.PUBLIC, What.SEEN
        return {(kind, *field) for kind, fields in self.messages for field in fields if field[1] not in known}

    def apart(self, plain: "Reading") -> ReadLine | None:
        """What tells followed values from arrays, where `plain` ones were handed to the port otherwise."""
        pairs = zip(self.given, plain.given, strict=False)
        same = len(self.given) == len(plain.given) and all(
            one.shape == other.shape and np.allclose(one, other, SAME, 0, equal_nan=True) for one, other in pairs
        )
        return None if same else ReadLine("", 0, "something that tells a followed value from an array")
