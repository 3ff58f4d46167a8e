"""The form of a witness file: what it holds, its seal, and how it is laid out for readers."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Self, cast

import numpy as np
from pydantic import Field, ValidationError

from attacks.audit.loss.aimed import AIMED
from netsim.arrays import Array
from netsim.errors import ScenarioError
from scenarios.experiment import Experiment
from scenarios.schema.base import Index, Model

FORMAT, VERSION = "netsim witness", 1
WIDTH = 240
"""Characters up to which a mapping or a list is written on one line; lists of numbers are however long they are."""

DEEPEST = 40
"""Lists and mappings within each other."""


class DataPrint(Model):
    """Whose data it is: its name and SHA-256 fingerprints of what the agents hold, of all in order (`everybody`), and
    of the audited `agent`."""

    name: str
    everybody: str
    agent: str

    @classmethod
    def of(cls, experiment: Experiment, agent: int) -> Self:
        """Of an experiment's data."""
        held = experiment.problem.objectives
        return cls(name=experiment.dataset.name, everybody=fingerprint(held), agent=fingerprint([held[agent]]))


class PairPrint(Model):
    """The other world: in words, and the `change` of the agent's own objective (`scenarios.adjacent`)."""

    description: str
    change: dict[str, Any]


class WitnessFile(Model):
    """What a witness file holds. `claim` and `account` are what the run found: a replay compares them with its own.

    `activations` is Θ, at which the claim was evaluated. `seal` is the SHA-256 of all the rest, numbers by value: it
    shows that a file was altered by accident or by hand, and nothing about who seals it anew.
    """

    format: Literal["netsim witness"] = FORMAT
    version: Literal[1] = VERSION
    says: str
    versions: dict[str, str]
    scenario: dict[str, Any]
    algorithm: str
    agent: Index
    world: Annotated[int, Field(ge=0, le=1)]
    chunk: Index
    replica: Index
    activations: Index
    pair: PairPrint
    claim: dict[str, Any]
    data: DataPrint
    account: dict[str, Any]
    transcript: dict[str, Any]
    seal: str = ""

    def sealed(self) -> Self:
        """The same with the seal that fits."""
        return self.model_copy(update={"seal": self._fitting()})

    @property
    def intact(self) -> bool:
        """Whether nothing was altered since it was sealed."""
        return self.seal == self._fitting()

    def _fitting(self) -> str:
        canonical = _by_value(self.model_dump(exclude={"seal"}))
        text = json.dumps(canonical, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def place(self) -> str:
        """Where the transcript was found, in words."""
        chunk = "chunk of aimed noise" if self.chunk == AIMED else f"chunk {self.chunk}"
        asked: Mapping[str, Any] = self.scenario.get("audit") or {}
        draw: int = asked.get("draw", 0)
        drawn = f", draw {draw}" if draw else ""
        return f"world {self.world}, {chunk}, replica {self.replica} of seed {self.scenario['seed']}{drawn}"

    def text(self) -> str:
        """JSON that every reader takes (no infinities, no NaN), a vector on a line."""
        return _laid_out(self.model_dump(), "") + "\n"

    @classmethod
    def read(cls, path: Path) -> Self:
        """You get a `ScenarioError` for a file that cannot be read, or is no witness."""
        try:
            tree: object = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
            _check_depth(tree)
            json.dumps(tree, ensure_ascii=False).encode()  # half of a pair of surrogates is no text
        except OSError as error:
            raise ScenarioError("witness", str(path), f"cannot be read ({error.strerror or error})") from None
        except (ValueError, RecursionError) as error:
            raise ScenarioError(
                "witness", str(path), f"no JSON ({error})", "a file that `netsim run` wrote"
            ) from None
        if not isinstance(tree, Mapping) or cast("Mapping[str, object]", tree).get("format") != FORMAT:
            raise ScenarioError("witness", str(path), f"not a {FORMAT}", "a file witness-….json of a results folder")
        entries = cast("Mapping[str, object]", tree)
        if entries.get("version") != VERSION:
            raise ScenarioError("version", entries.get("version"), "another version of the format", str(VERSION))
        try:
            return cls.model_validate(tree)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"]))
            raise ScenarioError(field, first.get("input"), first["msg"], file=str(path), line=1) from None


# ── fingerprints ────────────────────────────────────────────────────────────────────────────────────────


def fingerprint(objectives: Sequence[object]) -> str:
    """SHA-256 of the arrays that objectives hold (features, labels, a tilt), with their shapes, in single precision:
    machines whose last bits differ agree, and another data set does not."""
    found = hashlib.sha256()
    for objective in objectives:
        for array in _arrays(objective):
            found.update(repr(array.shape).encode())
            with np.errstate(over="ignore"):
                found.update((array + 0.0).astype("<f4").tobytes())
    return found.hexdigest()


def _arrays(value: object) -> Iterator[Array]:
    if isinstance(value, np.ndarray):
        yield cast(Array, value)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from _arrays(getattr(value, one.name))


# ── layout ──────────────────────────────────────────────────────────────────────────────────────────────


def _laid_out(value: object, indent: str) -> str:
    """JSON, indented; what is short, and every list of numbers, on one line."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    inner = indent + " "
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        if not entries or (indent and len(line) <= WIDTH):
            return line
        parts = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {_laid_out(v, inner)}" for key, v in entries.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if isinstance(value, list):
        items = cast("list[object]", value)
        if len(line) <= WIDTH or not any(isinstance(v, Mapping | list) for v in items):
            return line
        return "[\n" + ",\n".join(inner + _laid_out(v, inner) for v in items) + f"\n{indent}]"
    return line


def _by_value(tree: object) -> object:
    """Numbers as floats where these are exact: 1 and 1.0 are one number, whoever wrote the file anew."""
    if isinstance(tree, Mapping):
        return {key: _by_value(value) for key, value in cast("Mapping[str, object]", tree).items()}
    if isinstance(tree, list):
        return [_by_value(value) for value in cast("list[object]", tree)]
    if isinstance(tree, int) and not isinstance(tree, bool) and abs(tree) < 2**53:
        return float(tree)
    return tree


def _check_depth(tree: object) -> None:
    """A `ValueError` for what is nested deeper than any witness."""
    level = [tree]
    for _ in range(DEEPEST):
        level = [inner for one in level for inner in _within(one)]
    if level:
        raise ValueError(f"nested more than {DEEPEST} deep")


def _within(one: object) -> Iterable[object]:
    if isinstance(one, Mapping):
        return cast("Mapping[str, object]", one).values()
    return cast("list[object]", one) if isinstance(one, list) else ()


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")
