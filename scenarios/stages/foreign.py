"""A transcript from elsewhere, held against the scenario that it is attacked with, before anything is computed.

How many messages an agent's code sends, and the names of the values in each, is public where no data decide it. So
the code is run on what was recorded, with made-up answers, noise and coins, and made-up values where nothing was
captured. What several such runs agree on is the agent's outline: a transcript in which it is otherwise is none of
this algorithm.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attacks.replay.recorded import RecordedNode, Recording
from netsim.arrays import Array
from netsim.errors import NetsimError, ScenarioError
from netsim.mechanisms import Gaussian, Mechanism
from netsim.node import Coins, Exchange
from netsim.readers.deployed.capture import at_door
from netsim.simulation import Simulation
from netsim.transcript.foreign import ForeignRows, raise_all, shown
from netsim.transcript.imported import ENDINGS, read
from netsim.transcript.message import EVERYBODY, Kind, Message, Record, Values, as_sent
from netsim.transcript.stored import StreamedTranscript

RUNS = 2
"""Made-up runs that have to agree."""
_LONGEST = 100_000
"""Messages after which a run is given up."""


class _Outline(NamedTuple):
    """Names of the values in each message, by its kind and number; of all messages, if it is `complete`."""

    names: dict[tuple[str, int], frozenset[str]]
    complete: bool

    def shared(self, other: "_Outline") -> "_Outline":
        """What two runs agree on."""
        same = {key: found for key, found in self.names.items() if other.names.get(key) == found}
        both = self.complete and other.complete
        return _Outline(same, both and len(same) == len(self.names) == len(other.names))


def outline(recording: Recording) -> _Outline:
    """The outline of the agent's messages, as far as its code comes with what was recorded."""
    return reduce(_Outline.shared, (_Outliner(recording, seed).outline() for seed in range(RUNS)))


class _Outliner(RecordedNode):
    """One made-up run."""

    blind_to_receivers = True

    def __init__(self, recording: Recording, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        super().__init__(recording._replace(coins=Coins(np.random.PCG64(seed))))
        self._horizon = recording.public.algorithm.stopping().per_agent
        self._found: dict[tuple[str, int], frozenset[str]] = {}

    def outline(self) -> _Outline:
        """What the code sends until it ends, or cannot go on."""
        try:
            with np.errstate(all="ignore"):
                complete = self.run_to_the_end() or self._ended
        except (NetsimError, ValueError, ArithmeticError, LookupError, TypeError):  # of code at made-up numbers
            complete = False
        return _Outline(self._found, complete)

    @property
    def _ended(self) -> bool:
        """Whether a walk is over, which others end."""
        return self._horizon is not None and self.activation > self._horizon

    async def exchange(self, **values: Array) -> Exchange:
        await self._goes_on()
        number = self._counts["exchange"]
        own, received = self._put("exchange", values, EVERYBODY), self._exchanged.get(number, {})
        messages = [
            Message(j, "exchange", number, received[j].values if j in received else self._made_up(values))
            for j in self.neighbors
        ]
        return Exchange(self, own, messages)

    def estimate(self, x: Array) -> None:
        super().estimate(x)
        if self._ended:
            raise self._end()

    def _put(self, kind: Kind, values: Values, to: int) -> Message:  # noqa: ARG002  whom it is for is not compared
        number = self._counts[kind]
        if len(self._found) >= _LONGEST:
            raise self._end()
        self._counts[kind] += 1
        self._found[kind, number] = frozenset(values)
        row = self._outgoing.get((kind, number))
        same = row is not None and row.values.keys() == values.keys()
        return Message(
            self.id, kind, number, row.values if row and same else {n: as_sent(v) for n, v in values.items()}
        )

    def _made_up(self, names: Sequence[str] | Values) -> Values:
        return {name: self._any() for name in names}

    def _any(self) -> Array:
        return self._rng.standard_normal((self.replicas, self.dimension))

    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:  # noqa: ARG002
        return self._any()

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:  # noqa: ARG002
        return v + self._any()

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:  # noqa: ARG002
        return v + self._any()

    def privatize(
        self,
        value: Array,
        mechanism: Mechanism,  # noqa: ARG002
        shared: Gaussian | None = None,  # noqa: ARG002
        draw: int | None = None,  # noqa: ARG002
    ) -> Array:
        return value + self._rng.standard_normal(value.shape)

    def split(self, value: Array, mechanism: Gaussian) -> dict[int, Array]:
        return {j: self.privatize(value, mechanism) for j in (self.id, *self.neighbors)}

    def _seen(self, row: Record) -> None:
        pass

    def _sent(self, row: Record, values: Values) -> None:
        pass


# ── the rows of a file ─────────────────────────────────────────────────────────────────────────────────
def read_foreign(file: Path, columns: dict[str, str], simulation: Simulation) -> ForeignRows:
    """The rows of a transcript of any format; `columns` is the map of a file that has such.

    You get a `ScenarioError` that states all rows which no run of this algorithm in this scenario has, and a
    `TranscriptError` for a Parquet file or a spool that is damaged.
    """
    public, names = simulation.public(), simulation.topology.labels
    altered = bool(simulation.network.active_adversaries or simulation.timing.forgetful)
    if file.suffix in ENDINGS:
        found = read(file, columns, public, names, altered=altered)
    else:
        found = ForeignRows.of(str(file), enumerate(StreamedTranscript.open(file), start=1), "row")
        if not found.records:
            raise ScenarioError("file", str(file), "has no row", "a packet a row")
        found.check(public, altered=altered)
    if not altered:
        _check_messages(found, simulation, columns)
    return found


def _check_messages(found: ForeignRows, simulation: Simulation, columns: dict[str, str]) -> None:
    """Raise a `ScenarioError` for messages that the algorithm does not send, and for other names in them."""
    rows = [row for row in found.records if row.kind in ("exchange", "direct")]
    replicas = next((len(value) for row in rows for value in row.values.values()), 1)
    public, coins, own = simulation.public(), np.random.default_rng(0), dict[int, list[Record]]()
    for row in rows:
        for agent in {row.sender, row.receiver}:
            own.setdefault(agent, []).append(row)
    outlines = dict[int, _Outline]()
    for agent in {row.sender for row in rows}:
        door = [row for row in own[agent] if row.place == "node"] or at_door(own[agent], agent)
        outlines[agent] = outline(Recording(public, agent, tuple(door), replicas, coins))
    first = next((k for k, row in enumerate(found.records) if row.kind in ("exchange", "direct")), None)
    if first is not None:
        row = found.records[first]
        sends = outlines[row.sender].names.get((row.kind, row.number))
        if sends is not None and sends != row.values.keys():
            raise _other_names(found, sorted(sends), tuple(row.values), columns)
        raise_all(_other_kinds(found, outlines))
    wrong = list(_mistakes(found, outlines))
    if wrong:  # a row too many, where it is another one again
        raise_all(one for mistakes in found.repeated(outlines.keys()).values() for one in mistakes)
    raise_all(wrong)


def _other_kinds(found: ForeignRows, outlines: dict[int, _Outline]) -> Iterator[ScenarioError]:
    """A file without a message of any kind that the algorithm is seen to send."""
    sends = {kind for names, _ in outlines.values() for kind, _ in names}
    there = [k for k, row in enumerate(found.records) if row.kind in ("exchange", "direct")]
    if sends and there and not any(found.records[k].kind in sends for k in there):
        why = (
            f"the algorithm begins with a message of kind {' or '.join(map(repr, sorted(sends)))}: the file has none"
        )
        allowed = "a transcript of this algorithm, with a column `kind`"
        yield found.mistake(found.places[there[0]], "kind", found.records[there[0]].kind, why, allowed)


def _mistakes(found: ForeignRows, outlines: dict[int, _Outline]) -> Iterator[ScenarioError]:
    for place, row in zip(found.places, found.records, strict=True):
        if row.kind not in ("exchange", "direct") or row.event == "closed":
            continue
        names, complete = outlines[row.sender]
        which = f"{row.kind} {row.number} of agent {row.sender}"
        sends = names.get((row.kind, row.number))
        if sends is None and complete:
            count = sum(kind == row.kind for kind, _ in names)
            why = f"an agent sends {count} messages of kind {row.kind!r} in this algorithm, and this is {which}"
            allowed = f"0 … {count - 1}" if count else "none of this kind"
            yield found.mistake(place, "number", row.number, why, allowed)
        elif sends is not None and sends != row.values.keys():
            lacking = sorted(sends - row.values.keys())
            name = lacking[0] if lacking else min(row.values.keys() - sends)
            given = None if lacking else shown(row.values[name])
            why = f"{'missing: ' * bool(lacking)}the algorithm sends {_listed(sorted(sends))} in {which}"
            yield found.mistake(place, name, given, why, f"{_listed(sorted(sends))}, and no other value")


def _other_names(
    found: ForeignRows, sends: list[str], there: tuple[str, ...], columns: dict[str, str]
) -> ScenarioError:
    """The error of a file whose first message has other names than the algorithm sends there."""
    strange = [name for name in there if name not in sends]
    given = [columns.get(name, name) for name in strange] + ["COLUMN"] * len(sends)
    lacking = [name for name in sends if name not in there]
    maps = " ".join(f"--column {name}={column}" for name, column in zip(lacking, given, strict=False))
    maps = maps or " ".join(f"--column {name}={columns.get(name, name)}" for name in sends)
    own = [
        repr(name) + (f" ({found.column(name)})" if len(found.columns.get(name, ())) > 1 else "") for name in there
    ]
    mapped = [f"{name}={columns[name]}" for name in strange if name in columns]
    field, value = ("--column", mapped[0]) if mapped else ("file", found.file)
    why = f"the algorithm sends {_listed(sends)}, the file has {' and '.join(own) or 'no value'}"
    return ScenarioError(field, value, why, maps)


def _listed(names: list[str]) -> str:
    return " and ".join(map(repr, names)) or "no value"
