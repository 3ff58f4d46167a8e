"""One transcript at an agent's door as a witness, and as plain JSON values that are read back to the last bit.

A finite number is itself: the shortest decimal that reads as the same float64. Others are texts: "inf", "-inf", and
the sixteen hexadecimal digits of what is not a number. Whole numbers of 128 bits are texts too ("0x…"), for readers
that know float64 only.
"""

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias, TypeGuard, cast, get_args

import numpy as np

from attacks.audit.loss.comparison import Sample
from netsim.adversary import Adversary, AdversaryView, PublicKnowledge
from netsim.arrays import Array
from netsim.codecs import Dither
from netsim.errors import TranscriptError, brief, written
from netsim.randomness import SharedNoise
from netsim.transcript import Transcript
from netsim.transcript.message import DoorEvent, Kind, Record

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


def _vector(value: Array) -> list[Json]:
    """(1, dimension)."""
    return [number(one) for one in cast("list[float]", value[0].tolist())]


def _to_vector(tree: object, where: str) -> Array:
    """(1, dimension), read-only."""
    if not is_list(tree) or not tree:
        raise _wrong(where, tree, "a list of numbers")
    value = np.array([[to_number(one, f"{where}[{k}]") for k, one in enumerate(tree)]])
    value.flags.writeable = False
    return value


def _row(record: Record) -> dict[str, Json]:
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
        "values": {name: _vector(value) for name, value in record.values.items()},
    }


def _to_row(tree: object, where: str, agent: int) -> Record:
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
        {name: _to_vector(value, f"{where}.values.{name}") for name, value in values.items()},
    )


def _releases(given: Sequence[Array], rows: Sequence[Record]) -> list[Json]:
    """Each release: where it is on the wire to the last bit (the agent's `message`, from 0, and the `field`), or as
    numbers where it is nowhere."""
    sent = [one for one in rows if one.event == "sent"]
    placed: dict[bytes, Json] = {
        value.tobytes(): {"message": k, "field": name}
        for k, one in reversed(list(enumerate(sent)))
        for name, value in one.values.items()
    }
    return [placed.get(release.tobytes()) or _vector(release) for release in given]


def _to_release(tree: object, where: str, rows: Sequence[Record]) -> Array:
    """(1, dimension)."""
    if not is_mapping(tree):
        return _to_vector(tree, where)
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
    shown = written(value)
    return TranscriptError(f"{where} = {shown if len(shown) < 60 else shown[:56] + ' …'}: not {wanted}")


@dataclass(frozen=True)
class Witness:
    """One transcript at the door of `agent`, and all that a replay of that agent needs besides public knowledge.

    `rows` are those of a tap at the agent, with values (1, dimension); `releases` the values of its `privatize`
    calls, in order, (1, dimension); `coins` the state of its private coins' PCG64 at their start; `dither` the draws
    of a random codec, one (1, dimension) array a value sent; `shared` what the listener knows of noise from shared
    seeds, None where there is none. It holds no datum; an auditor may see it, for an audit grants as much.
    """

    agent: int
    rows: tuple[Record, ...]
    releases: tuple[Array, ...]
    coins: Coins
    dither: tuple[Array, ...]
    shared: SharedNoise | None = None

    @classmethod
    def of(cls, sample: Sample, agent: int) -> "Witness":
        """Witness from a sample of one replica. Raises `TranscriptError` for coins that are no PCG64 stream."""
        assert sample.view.replicas == 1
        rows = sample.view.at_node(agent)
        public = sample.view.public
        drawn: Sequence[Array] = ()
        if public.codec.random and sample.dither is not None:
            count = sum(len(row.values) for row in rows if row.event == "sent")
            drawn = list(islice(sample.dither.draws(public.dimension), count))
        shared = sample.view.shared.get(agent)
        return cls(agent, rows, tuple(sample.releases), Coins.of(sample.coins()), tuple(drawn), shared)

    def sample(self, public: PublicKnowledge) -> Sample:
        """Transcript in an audit's form. Raises `TranscriptError` where its vectors are no points of the problem, or
        agents are named that are not there."""
        shared = {} if self.shared is None else {self.agent: self.shared}
        tap = Adversary("auditor", (), nodes=(self.agent,))
        view = AdversaryView(tap, Transcript(self.rows, 1), public, shared=shared)
        for row in self.rows:
            if not {row.sender, row.receiver} <= {-1, *range(public.agents)}:
                raise TranscriptError(f"a row from {row.sender} to {row.receiver}: there are {public.agents} agents")
        vectors = [value for row in self.rows for value in row.values.values()]
        means = () if self.shared is None else tuple(self.shared.mean)
        for value in (*vectors, *self.releases, *self.dither, *means):
            if value.shape != (1, public.dimension):
                raise TranscriptError(f"a vector of {value.shape[-1]} numbers, where points have {public.dimension}")
        dither = _Drawn(np.random.default_rng, 1, numbers=self.dither) if self.dither else None
        return Sample(view, self.coins.generator, list(self.releases), dither)

    def as_plain(self) -> dict[str, Json]:
        """Numbers, texts, lists and mappings; `of_plain` makes the same of them, to the last bit."""
        plain: dict[str, Json] = {
            "rows": [_row(row) for row in self.rows],
            "releases": _releases(self.releases, self.rows),
            "coins": self.coins.plain(),
            "dither": [_vector(numbers) for numbers in self.dither],
        }
        if self.shared is not None:
            covariance = [_vector(row[None]) for row in self.shared.covariance]
            plain["shared"] = {"mean": [_vector(one) for one in self.shared.mean], "covariance": [*covariance]}
        return plain

    @classmethod
    def of_plain(cls, agent: int, tree: object) -> "Witness":
        """You get a `TranscriptError` that names what is not there or not what it should be."""
        rows = tuple(_to_row(one, f"rows[{k}]", agent) for k, one in enumerate(listed(tree, "rows")))
        given = listed(tree, "releases")
        return cls(
            agent,
            rows,
            tuple(_to_release(one, f"releases[{k}]", rows) for k, one in enumerate(given)),
            Coins.of_plain(entry(tree, "coins")),
            tuple(_to_vector(one, f"dither[{k}]") for k, one in enumerate(listed(tree, "dither"))),
            _to_shared(entry(tree, "shared")) if is_mapping(tree) and "shared" in tree else None,
        )


def _to_shared(tree: object) -> SharedNoise:
    mean, covariance = (
        [_to_vector(one, f"shared.{name}[{k}]") for k, one in enumerate(listed(tree, name))]
        for name in ("mean", "covariance")
    )
    if len(mean) != len(covariance) or any(row.shape != (1, len(mean)) for row in covariance):
        raise _wrong("shared", f"{len(mean)} means, {len(covariance)} rows", "a covariance of as many releases")
    return SharedNoise(np.array(mean), np.concatenate(covariance))


@dataclass(frozen=True)
class _Drawn(Dither):
    """Dither of given numbers: one (1, dimension) array a value."""

    numbers: tuple[Array, ...] = ()

    def draws(self, dimension: int) -> Iterator[Array]:  # noqa: ARG002
        yield from self.numbers
        raise TranscriptError(f"a dither of {len(self.numbers)} values, and more are sent")


def differences(stored: object, found: object, where: str = "") -> Iterator[str]:
    """Places where two plain trees differ by more than 1e-9, relative (of numbers below 1: absolute), in brief."""
    if is_mapping(found) and is_mapping(stored):
        for key in (*stored, *(key for key in found if key not in stored)):
            yield from differences(stored.get(key), found.get(key), f"{where}.{key}" if where else key)
    elif is_list(found) and is_list(stored):
        if len(stored) != len(found):
            yield f"{where}: {len(stored)} entries stored, {len(found)} found"
        for k, (a, b) in enumerate(zip(stored, found, strict=False)):
            yield from differences(a, b, f"{where}[{k}]")
    else:
        pair = stored, found
        if any(isinstance(one, bool) for one in pair):
            same = stored is found
        elif isinstance(stored, int | float) and isinstance(found, int | float):
            same = math.isclose(stored, found, rel_tol=1e-9, abs_tol=1e-9)
        else:
            same = stored == found
        if not same:
            one, other = (f"{value:.10g}" if isinstance(value, float) else written(value) for value in pair)
            yield brief(f"{where}: {one} stored, {other} found")
