"""The names of the values in a transcript from elsewhere, against those that the algorithm sends."""

from collections.abc import Mapping, Sequence

from attacks.audit.conformance import UnknownCoins
from attacks.replay import replay
from netsim.adversary import Adversary, AdversaryView
from netsim.errors import NetsimError, ScenarioError
from netsim.readers.deployed.capture import at_door
from netsim.simulation import Simulation
from netsim.transcript import Transcript
from netsim.transcript.message import Record


def check_names(rows: Sequence[Record], simulation: Simulation, columns: Mapping[str, str], file: str) -> None:
    """Raise a `ScenarioError` where the first message has other names than the algorithm sends there; `columns` is
    the map that the file was read by. Nothing is said of an algorithm that cannot be replayed up to there."""
    first = next((row for row in rows if row.kind in ("exchange", "direct")), None)
    if first is None:
        return
    sends = _sent_first(rows, first.sender, simulation)
    there = tuple(first.values)
    if sends is None or set(sends) == set(there):
        return
    strange = [name for name in there if name not in sends]
    given = [columns.get(name, name) for name in strange] + ["COLUMN"] * len(sends)
    lacking = [name for name in sends if name not in there]
    maps = " ".join(f"--column {name}={column}" for name, column in zip(lacking, given, strict=False))
    maps = maps or " ".join(f"--column {name}={columns.get(name, name)}" for name in sends)
    names, own = (" and ".join(map(repr, one)) or "no value" for one in (sends, there))
    mapped = [f"{name}={columns[name]}" for name in strange if name in columns]
    field, value = ("--column", mapped[0]) if mapped else ("file", file)
    raise ScenarioError(field, value, f"the algorithm sends {names}, the file has {own}", maps)


def _sent_first(rows: Sequence[Record], agent: int, simulation: Simulation) -> tuple[str, ...] | None:
    """Names of the values of an agent's first message, by its code; None where they are those of the transcript, or
    where the code does not come so far."""
    door = at_door([row for row in rows if row.kind != "ack"], agent)
    end = next(k for k, row in enumerate(door) if row.event == "sent") + 1
    replicas = next((len(value) for row in door for value in row.values.values()), 1)
    view = AdversaryView(Adversary("door", (), (agent,)), Transcript(door[:end], replicas), simulation.public(), {})
    try:
        found = replay(view, agent, simulation.problem.objectives[agent], UnknownCoins())
    except NetsimError:
        return None
    return None if found.departure is None else found.departure.names
