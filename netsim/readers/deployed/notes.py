"""What agents and their coordinator say to each other: a class for each word, as JSON, and the arrays of a report."""

import asyncio
import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias, cast

import numpy as np
from pydantic import Field, TypeAdapter

from netsim.arrays import Array

FIRST = 512
"""Bytes that the first note of a connection has at most: who speaks is not known yet."""
_LENGTHS = struct.Struct("<II")
Arrays: TypeAlias = Mapping[str, Array]


@dataclass(frozen=True)
class Here:
    """An agent is up, and its neighbors reach it at this port."""

    secret: str
    agent: int
    port: int
    word: Literal["here"] = "here"


@dataclass(frozen=True)
class Turnstile:
    """On this connection an agent asks before it begins or ends an activation of a walk."""

    secret: str
    agent: int
    word: Literal["turnstile"] = "turnstile"


@dataclass(frozen=True)
class Failed:
    """An agent cannot go on, or not begin."""

    secret: str
    agent: int
    error: str
    word: Literal["failed"] = "failed"


@dataclass(frozen=True)
class Start:
    """The run began so many real seconds ago. By neighbor, where to dial: host, port, and a relay's ticket."""

    ago: float
    addresses: dict[int, tuple[str, int, str]]
    word: Literal["start"] = "start"


@dataclass(frozen=True)
class Stop:
    """The walk is over, or the run was interrupted: report what there is."""

    word: Literal["stop"] = "stop"


@dataclass(frozen=True)
class Over:
    """The run is over for everybody."""

    word: Literal["over"] = "over"


@dataclass(frozen=True)
class Alive:
    """A sign of life: rounds or activations closed, messages sent, and what the agent waits for."""

    closed: int
    messages: int
    waits: str | None
    word: Literal["alive"] = "alive"


@dataclass(frozen=True)
class Report:
    """All that an agent has of its run; with arrays. By neighbor, messages and bytes `sent`; `names` of the values
    in its messages."""

    queries: int = 0
    tossed: bool = False
    sent: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    names: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    word: Literal["report"] = "report"


Note: TypeAlias = Here | Turnstile | Failed | Start | Stop | Over | Alive | Report
_ADAPTER = TypeAdapter[Note](Annotated[Note, Field(discriminator="word")])


def packed(note: Note, arrays: Arrays | None = None) -> bytes:
    """A note's bytes: two lengths, JSON, and an archive of arrays."""
    text, file = _ADAPTER.dump_json(note), io.BytesIO()
    if arrays:
        np.savez(file, **cast(Any, arrays))
    return _LENGTHS.pack(len(text), file.tell()) + text + file.getvalue()


async def read(reader: asyncio.StreamReader, *, trusted: bool = True) -> tuple[Note, Arrays]:
    """The next note and its arrays. You get an `EOFError` where the other side is gone, and a `ValueError` for what
    is no note, or, of who is not yet `trusted`, a long one."""
    text, size = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
    if not trusted and (size or text > FIRST):
        raise ValueError(f"a first note of {text + size:,} bytes; at most {FIRST}")
    note = _ADAPTER.validate_json(await reader.readexactly(text))
    if not size:
        return note, {}
    with np.load(io.BytesIO(await reader.readexactly(size)), allow_pickle=False) as found:
        return note, {name: found[name] for name in found.files}
