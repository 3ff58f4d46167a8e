"""A transcript from elsewhere, held against the scenario that it is attacked with, before anything is computed."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from attacks.replay.outline import Outline, outline
from attacks.replay.recorded import Recording
from netsim.errors import ScenarioError
from netsim.readers.deployed.capture import at_door
from netsim.simulation import Simulation
from netsim.transcript.foreign import ForeignRows, raise_all, shown
from netsim.transcript.imported import ENDINGS, read
from netsim.transcript.message import Record
from netsim.transcript.stored import StreamedTranscript


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
    outlines = dict[int, Outline]()
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


def _other_kinds(found: ForeignRows, outlines: dict[int, Outline]) -> Iterator[ScenarioError]:
    """A file without a message of any kind that the algorithm is seen to send."""
    sends = {kind for names, _ in outlines.values() for kind, _ in names}
    there = [k for k, row in enumerate(found.records) if row.kind in ("exchange", "direct")]
    if sends and there and not any(found.records[k].kind in sends for k in there):
        why = (
            f"the algorithm begins with a message of kind {' or '.join(map(repr, sorted(sends)))}: the file has none"
        )
        allowed = "a transcript of this algorithm, with a column `kind`"
        yield found.mistake(found.places[there[0]], "kind", found.records[there[0]].kind, why, allowed)


def _mistakes(found: ForeignRows, outlines: dict[int, Outline]) -> Iterator[ScenarioError]:
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
