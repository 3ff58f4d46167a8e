"""Plain JSON values of rows, releases and coins, read back to the last bit.

A finite number is itself: the shortest decimal that reads as the same float64. Others are texts: "inf", "-inf", and
the sixteen hexadecimal digits of what is not a number. Whole numbers of 128 bits are texts too ("0x…"), for readers
that know float64 only.
"""

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard, cast, get_args

import numpy as np

from netsim.arrays import Array
from netsim.errors import TranscriptError
from netsim.transcript.message import Kind
from netsim.transcript.record import DoorEvent, Record

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A tree that JSON can hold, in which infinities and NaN are texts."""
GENERATOR = "PCG64"


def is_mapping(tree: object) -> TypeGuard[Mapping[str, object]]:
    """Whether a part of a plain tree is a mapping."""
    return isinstance(tree, Mapping)


def is_list(tree: object) -> TypeGuard[list[object]]:
    """Whether a part of a plain tree is a list."""
    return isinstance(tree, list)


def number(value: float) -> float | str:
    """Plain form of a float64."""
    if math.isfinite(value):
        return value
    return struct.pack(">d", value).hex() if math.isnan(value) else str(value)


def to_number(tree: object, where: str) -> float:
    """You get a `TranscriptError` for what is none."""
    if isinstance(tree, int | float) and not isinstance(tree, bool):
        try:
            return float(tree)
        except OverflowError:
            raise _wrong(where, tree, "a number") from None
    if tree in ("inf", "-inf"):
        return float(cast(str, tree))
    if isinstance(tree, str) and len(tree) == 16:
        try:
            value = float(struct.unpack(">d", bytes.fromhex(tree))[0])
        except ValueError:
            raise _wrong(where, tree, "a number") from None
        if math.isnan(value):
            return value
    raise _wrong(where, tree, "a number")


def vector(value: Array) -> list[Json]:
    """(1, dimension)."""
    return [number(one) for one in cast("list[float]", value[0].tolist())]


def to_vector(tree: object, where: str) -> Array:
    """(1, dimension), read-only."""
    if not is_list(tree) or not tree:
        raise _wrong(where, tree, "a list of numbers")
    value = np.array([[to_number(one, f"{where}[{k}]") for k, one in enumerate(tree)]])
    value.flags.writeable = False
    return value


def row(record: Record) -> dict[str, Json]:
    """A row at a door: `receiver` −1 is every neighbor; no row of it was recorded on a link."""
    return {
        "time": number(record.time),
        "event": record.event,
        "sender": record.sender,
        "receiver": record.receiver,
        "kind": record.kind,
        "number": record.number,
        "attempt": record.attempt,
        "size": record.size,
        "values": {name: vector(value) for name, value in record.values.items()},
    }


def to_row(tree: object, where: str, agent: int) -> Record:
    """Row at the door of this agent."""
    time = to_number(entry(tree, "time", where), f"{where}.time")
    event, kind = entry(tree, "event", where), entry(tree, "kind", where)
    if event not in get_args(DoorEvent):
        raise _wrong(f"{where}.event", event, " or ".join(get_args(DoorEvent)))
    if kind not in get_args(Kind):
        raise _wrong(f"{where}.kind", kind, " or ".join(get_args(Kind)))
    whole = {
        key: _whole(entry(tree, key, where), f"{where}.{key}")
        for key in ("sender", "receiver", "number", "attempt", "size")
    }
    if agent != whole["receiver" if event == "received" else "sender"]:
        raise _wrong(f"{where}.event", event, f"at the door of agent {agent}")
    values = entry(tree, "values", where)
    if not is_mapping(values):
        raise _wrong(f"{where}.values", values, "a mapping of fields")
    return Record(
        time,
        "node",
        cast(DoorEvent, event),
        whole["sender"],
        whole["receiver"],
        cast(Kind, kind),
        whole["number"],
        -1,
        whole["attempt"],
        whole["size"],
        {name: to_vector(value, f"{where}.values.{name}") for name, value in values.items()},
    )


def releases(given: Sequence[Array], rows: Sequence[Record]) -> list[Json]:
    """Each release: where it is on the wire to the last bit (the agent's `message`, from 0, and the `field`), or as
    numbers where it is nowhere."""
    sent = [one for one in rows if one.event == "sent"]
    placed: dict[bytes, Json] = {
        value.tobytes(): {"message": k, "field": name}
        for k, one in reversed(list(enumerate(sent)))
        for name, value in one.values.items()
    }
    return [placed.get(release.tobytes()) or vector(release) for release in given]


def to_release(tree: object, where: str, rows: Sequence[Record]) -> Array:
    """(1, dimension)."""
    if not is_mapping(tree):
        return to_vector(tree, where)
    sent = [one for one in rows if one.event == "sent"]
    message = _whole(entry(tree, "message", where), f"{where}.message")
    name = entry(tree, "field", where)
    if not 0 <= message < len(sent) or name not in sent[message].values:
        raise _wrong(where, tree, f"a field of a message; {len(sent)} were sent")
    return sent[message].values[cast(str, name)]


@dataclass(frozen=True)
class Coins:
    """State of a PCG64, numpy's default generator: two numbers of 128 bits and two of 32."""

    state: int
    inc: int
    has_uint32: int
    uinteger: int

    @classmethod
    def of(cls, generator: np.random.Generator) -> "Coins":
        """You get a `TranscriptError` for a generator that is no PCG64."""
        found: Any = generator.bit_generator.state
        if found["bit_generator"] != GENERATOR:
            raise TranscriptError(f"coins of a {found['bit_generator']} cannot be stored: {GENERATOR} can")
        wide: dict[str, int] = found["state"]
        return cls(wide["state"], wide["inc"], int(found["has_uint32"]), int(found["uinteger"]))

    def generator(self) -> np.random.Generator:
        """A generator that starts at this state."""
        stream = np.random.PCG64()
        wide = {"state": self.state, "inc": self.inc}
        narrow = {"has_uint32": self.has_uint32, "uinteger": self.uinteger}
        stream.state = cast("Any", {"bit_generator": GENERATOR, "state": wide, **narrow})
        return np.random.Generator(stream)

    def plain(self) -> dict[str, Json]:
        return {
            "generator": GENERATOR,
            "state": hex(self.state),
            "inc": hex(self.inc),
            "has_uint32": self.has_uint32,
            "uinteger": self.uinteger,
        }

    @classmethod
    def of_plain(cls, tree: object) -> "Coins":
        if entry(tree, "generator", "coins") != GENERATOR:
            raise _wrong("coins.generator", entry(tree, "generator", "coins"), GENERATOR)

        def wide(key: str) -> int:
            text = entry(tree, key, "coins")
            try:
                return _within(int(cast(str, text), 16), 128, key)
            except (TypeError, ValueError):
                raise _wrong(f"coins.{key}", text, "a hexadecimal number") from None

        def narrow(key: str) -> int:
            return _within(_whole(entry(tree, key, "coins"), f"coins.{key}"), 32, key)

        return cls(wide("state"), wide("inc"), narrow("has_uint32"), narrow("uinteger"))


def _within(value: int, bits: int, key: str) -> int:
    if not 0 <= value < 2**bits:
        raise _wrong(f"coins.{key}", value, f"{bits} bits")
    return value


def entry(tree: object, key: str, where: str = "") -> object:
    """Value of a mapping under a key; raises `TranscriptError` where it has none."""
    if not is_mapping(tree) or key not in tree:
        raise TranscriptError(f"{f'{where}.' if where else ''}{key}: missing")
    return tree[key]


def listed(tree: object, key: str) -> list[object]:
    """List of a mapping under a key."""
    found = entry(tree, key)
    if not is_list(found):
        raise _wrong(key, found, "a list")
    return found


def _whole(tree: object, where: str) -> int:
    if not isinstance(tree, int) or isinstance(tree, bool) or abs(tree) >= 2**53:
        raise _wrong(where, tree, "a whole number")
    return tree


def _wrong(where: str, value: object, wanted: str) -> TranscriptError:
    shown = repr(value)
    return TranscriptError(f"{where} = {shown if len(shown) < 60 else shown[:56] + ' …'}: not {wanted}")
