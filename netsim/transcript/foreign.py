"""Rows of a transcript from elsewhere, with their places in the file, and the checks that every format goes through.

A row is refused that no tap in the scenario's network can have recorded: of agents or links that it has not, of a
value that is no vector of the scenario, of a message that is there twice. All such rows of a file are stated at once.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np

from netsim.adversary import PublicKnowledge
from netsim.arrays import Array
from netsim.errors import ScenarioError, together
from netsim.transcript.message import EVERYBODY, Record

MOST = 20
"""Mistakes of a file that are stated; those that are the same in several rows are one."""
_NEIGHBORS = 12
"""Agents that a message lists."""
_PLACE = re.compile(r"^(packet|row) \d+, ")
_IN_ORDER = "times in the order of a sender's messages"
Unit = Literal["line", "packet", "row"]


class _Wrong(NamedTuple):
    """A mistake in one row: the name of its column, the number of a coordinate where it is in one, and the rest of a
    `ScenarioError`."""

    name: str
    value: object
    problem: str
    allowed: str
    coordinate: int | None = None


def raise_all(mistakes: Iterable[ScenarioError]) -> None:
    """Raise one `ScenarioError` that states the first `MOST` of the mistakes, if there is any."""
    alike = dict[tuple[str, str, str], list[ScenarioError]]()
    for one in mistakes:
        alike.setdefault((_PLACE.sub("", one.field), one.problem, one.allowed), []).append(one)
    found = [
        replace(first, problem=f"{first.problem}; so in {len(more):,} more") if more else first
        for first, *more in alike.values()
    ]
    if found:
        error = together(found[:MOST])
        if len(found) > MOST:
            error.add_note(f"the first {MOST} of {len(found):,}")
        raise error


@dataclass(frozen=True)
class ForeignRows:
    """Rows in order of time, and the place of each in the file: its line, or the number of its packet or row.

    `columns`: by the name of a value, or of a column of `COLUMNS`, the file's columns that hold it, where they are
    called otherwise. `counted`: whether messages have no numbers in the file, and were counted; `timed`: whether rows
    have times. `names` are the agents' where the file has names.
    """

    file: str
    records: Sequence[Record]
    places: Sequence[int]
    unit: Unit
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    counted: bool = False
    timed: bool = True
    names: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        file: str,
        rows: Iterable[tuple[int, Record]],
        unit: Unit,
        columns: Mapping[str, tuple[str, ...]] | None = None,
        *,
        counted: bool = False,
        timed: bool = True,
        names: Sequence[str] = (),
    ) -> "ForeignRows":
        """The rows in any order, each with its place."""
        ordered = sorted(rows, key=lambda one: one[1].time)
        places, records = [place for place, _ in ordered], [row for _, row in ordered]
        return cls(file, records, places, unit, columns or {}, counted, timed, names)

    def mistake(
        self, place: int, name: str, value: object, problem: str, allowed: str, coordinate: int | None = None
    ) -> ScenarioError:
        """The error of the value of this name (in one coordinate) at a place, with the column as the file has it."""
        said = self.column(name, coordinate)
        if self.unit == "line":
            return ScenarioError(said, value, problem, allowed, self.file, place)
        return ScenarioError(f"{self.unit} {place}, {said}", value, problem, allowed, self.file)

    def column(self, name: str, coordinate: int | None = None) -> str:
        """The column, or the columns, of this name in words."""
        if name == "number" and self.counted:
            return "count of messages"
        columns = self.columns.get(name, (name,))
        if coordinate is not None and coordinate < len(columns) > 1:
            columns = columns[coordinate : coordinate + 1]
        return f"column{'s' * (len(columns) > 1)} {', '.join(map(repr, columns))}"

    def line_of(self, place: int) -> str:
        """A place in words."""
        return f"{self.unit} {place}"

    def check(self, public: PublicKnowledge, *, altered: bool) -> None:
        """Raise a `ScenarioError` that states all rows that no run of the scenario has; `altered`: whether copies of
        one message may differ, and come again, since somebody alters them."""
        raise_all(self.misfits(public))
        raise_all(self._misplaced() if altered else [*self._misplaced(), *self._contradictions()])

    def misfits(self, public: PublicKnowledge) -> Iterator[ScenarioError]:
        """Rows that the scenario has not, each by itself."""
        for place, row in zip(self.places, self.records, strict=True):
            wrong = self._ends(row, public) or _kind(row) or next(_values(row, public.dimension), None)
            if wrong is not None:
                yield self.mistake(place, *wrong)

    def _ends(self, row: Record, public: PublicKnowledge) -> _Wrong | None:
        """An agent or a link that is not there."""
        for name, agent, least in (("sender", row.sender, 0), ("receiver", row.receiver, EVERYBODY)):
            if not least <= agent < public.agents:
                return _Wrong(name, agent, "no such agent in the scenario", f"0 … {public.agents - 1}")
        neighbors = public.neighbors[row.sender]
        if row.receiver in (EVERYBODY, *neighbors) or row.event == "closed":
            return None
        who, to = self._who(row.sender), self.names[row.receiver] if self.names else row.receiver
        why = (
            f"{who} is the sender, too" if row.receiver == row.sender else f"{who} has no link to it in the scenario"
        )
        listed = ", ".join(self.names[j] if self.names else str(j) for j in neighbors[:_NEIGHBORS])
        return _Wrong("receiver", to, why, f"its neighbors: {listed}{', …' * (len(neighbors) > _NEIGHBORS)}")

    def _who(self, agent: int) -> str:
        return f"agent {self.names[agent] if self.names else agent}"

    def _misplaced(self) -> Iterator[ScenarioError]:
        """Rows of a sender that go back in time."""
        latest: dict[tuple[object, ...], tuple[int, float, int]] = {}
        for place, row in zip(self.places, self.records, strict=True) if self.timed else ():
            if row.number < 0 or row.event != "air" or row.attempt:
                continue
            number, time, before = latest.get((row.sender, row.receiver, row.kind), (-1, row.time, place))
            if row.number >= number:
                latest[row.sender, row.receiver, row.kind] = row.number, row.time, place
            elif row.time > time and self.counted:
                why = f"goes back: {self.line_of(place)}, of the same link, has {row.time:g}"
                yield self.mistake(before, "time", time, why, f"{_IN_ORDER}, or a column `number`")
            elif row.time > time:
                why = (
                    f"{row.kind} {number} of {self._who(row.sender)} is earlier, at {time:g} ({self.line_of(before)})"
                )
                yield self.mistake(place, "time", row.time, why, _IN_ORDER)

    def _contradictions(self) -> Iterator[ScenarioError]:
        """Messages that are there twice, and copies of one exchange with other values.

        Where messages were counted, a row that is there twice moves the count of all after it, and is the mistake.
        """
        found = list(self._clashes())
        repeated = self.repeated({sender for sender, _ in found})
        for sender, mistake in found:
            if sender not in repeated:
                yield mistake
        for mistakes in repeated.values():
            yield from mistakes

    def repeated(self, senders: Collection[int]) -> dict[int, list[ScenarioError]]:
        """Rows of these senders that are another row again, where messages were counted and a link has more rows than
        others of the sender's."""
        if not self.counted:
            return {}
        every = zip(self.places, self.records, strict=True)
        rows = [one for one in every if one[1].sender in senders and one[1].kind == "exchange"]
        counts = Counter((row.sender, row.receiver) for _, row in rows)
        seen, found = dict[tuple[object, ...], int](), dict[int, list[ScenarioError]]()
        for place, row in sorted(rows, key=itemgetter(0)):
            values = tuple((name, value.tobytes()) for name, value in sorted(row.values.items()))
            first = seen.setdefault((row[:6], values) if self.timed else (row[1:6], values), place)
            fewest = min(count for (sender, _), count in counts.items() if sender == row.sender)
            if first != place and counts[row.sender, row.receiver] > fewest:
                to = self.names[row.receiver] if self.names else row.receiver
                why = f"{self.line_of(first)} is the same message of {self._who(row.sender)} to it"
                allowed = "a message once; a column `number`, where it is sent again"
                found.setdefault(row.sender, []).append(self.mistake(place, "receiver", to, why, allowed))
        return found

    def _clashes(self) -> Iterator[tuple[int, ScenarioError]]:
        """The same by the numbers of messages, each with its sender."""
        seen: dict[tuple[object, ...], int] = {}
        copies: dict[tuple[int, int], tuple[int, Record]] = {}
        for place, row in sorted(zip(self.places, self.records, strict=True), key=itemgetter(0)):
            if row.kind not in ("exchange", "direct"):
                continue
            first = seen.setdefault(row[1:9], place)
            if first != place and row.event in ("air", "sent"):
                what = f"{row.kind} {row.number} of {self._who(row.sender)}"
                why = f"{what} to the same agent is in {self.line_of(first)}, too"
                allowed = "a message once; a column `attempt`, where it is sent again"
                yield row.sender, self.mistake(place, "number", row.number, why, allowed)
            elif row.kind == "exchange" and row.values:
                first, other = copies.setdefault((row.sender, row.number), (place, row))
                yield from ((row.sender, one) for one in self._apart(place, row, first, other))

    def _apart(self, place: int, row: Record, first: int, other: Record) -> Iterator[ScenarioError]:
        what = f"both are of exchange {row.number} of {self._who(row.sender)}"
        for name in sorted(row.values.keys() | other.values.keys()):
            value, before = row.values.get(name), other.values.get(name)
            if value is None or before is None or not np.array_equal(value, before):
                given, there = None if value is None else shown(value), self.line_of(first)
                why = f"other values than in {there}: {what}"
                if value is None or before is None:
                    why = f"missing: {there} has it, and {what}" if value is None else f"{there} has none: {what}"
                allowed = "the same to every neighbor; a column `number`, where rows are missing or in another order"
                yield self.mistake(place, name, given, why, allowed)
                return


def shown(value: Array) -> object:
    """A vector as a list, or one for each replica where there are several."""
    return (value[0] if len(value) == 1 else value).tolist()


def _kind(row: Record) -> _Wrong | None:
    """Words of a row that contradict one another."""
    if (row.place == "link") != (row.event == "air"):
        return _Wrong(
            "event", row.event, f"not at a {row.place}", "air at a link; sent, received or closed at a node"
        )
    if row.kind in ("exchange", "direct"):
        return _Wrong("number", row.number, "no count of messages", ">= 0") if row.number < 0 else None
    if row.values:
        why = f"a message of kind {row.kind!r} shows no values"
        return _Wrong(min(row.values), shown(row.values[min(row.values)]), why, "none")
    return None


def _values(row: Record, dimension: int) -> Iterator[_Wrong]:
    """Values that are no vectors of the scenario, or not finite: no agent can send such."""
    for name, value in row.values.items():
        if value.shape[-1] != dimension:
            why = f"a vector of {value.shape[-1]:,}"
            yield _Wrong(name, shown(value), why, f"{dimension:,} numbers, the dimension of the scenario")
        elif not (finite := np.isfinite(value)).all():
            replica, k = np.argwhere(~finite)[0]
            where = f"coordinate {k}" + f" of replica {replica}" * (len(value) > 1)
            yield _Wrong(name, float(value[replica, k]), f"not finite ({where})", "finite numbers", int(k))
