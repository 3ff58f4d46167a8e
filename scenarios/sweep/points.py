"""Points of a sweep: the fields it varies, the points in a fixed order, and shares of them for independent jobs."""

import copy
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, product
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np
from pydantic import (
    AfterValidator,
    Field,
    JsonValue,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError

from netsim.arguments import checked
from netsim.bounds import Count
from netsim.errors import ScenarioError, together
from scenarios.files import mistakes
from scenarios.files.document import keys_of, place_of, plain, put, setting
from scenarios.files.library import from_file, library, placed, read_fields
from scenarios.results.base import Setting
from scenarios.schema.load import Located, load_scenario, validated, without_name
from scenarios.schema.scenario import Scenario
from scenarios.schema.spec import Finite, Index, Model, Positive, Values, exported


def _mistake(problem: str, allowed: str) -> PydanticCustomError:
    """A mistake in a field's value, and what is allowed there."""
    return PydanticCustomError("sweep", "{problem}", {"problem": problem, "allowed": allowed})


def _has_width(law: Any) -> Any:
    if not law.low < law.high:
        raise _mistake("low must be below high", f"low < {law.high:g}, or high > {law.low:g}")
    return law


class Uniform(Model):
    """Between `low` and `high`; whole numbers, both ends included, where `whole`."""

    law: Literal["uniform"] = "uniform"
    low: Finite
    """The least value that is drawn."""
    high: Finite
    """The greatest value."""
    whole: bool = False
    """Whether whole numbers are drawn, both ends included."""
    _checked = model_validator(mode="after")(_has_width)

    @field_validator("whole")
    @classmethod
    def _between_whole_numbers(cls, whole: bool, others: ValidationInfo) -> bool:
        for name, end in others.data.items():
            if whole and isinstance(end, float) and end % 1:
                raise _mistake(f"whole numbers between ends of which {name} = {end} is none", "whole low and high")
        return whole

    def draw(self, rng: np.random.Generator) -> float | int:
        if self.whole:
            return int(rng.integers(round(self.low), round(self.high), endpoint=True))
        return float(rng.uniform(self.low, self.high))


class LogUniform(Model):
    """Between `low` and `high`, every decade as likely as any other."""

    law: Literal["loguniform"] = "loguniform"
    low: Positive
    """The least value."""
    high: Positive
    """The greatest value."""
    _checked = model_validator(mode="after")(_has_width)

    def draw(self, rng: np.random.Generator) -> float:
        return math.exp(rng.uniform(math.log(self.low), math.log(self.high)))


class Choice(Model):
    """One of these `values`."""

    law: Literal["choice"] = "choice"
    values: Annotated[list[Any], Field(min_length=1)]
    """The values of which one is drawn."""

    def draw(self, rng: np.random.Generator) -> Any:
        values = self.values
        return values[int(rng.integers(len(values)))]


Law = Annotated[Uniform | LogUniform | Choice, Field(discriminator="law")]


def _is_varied(path: str) -> str:
    if path == "seed":
        raise _mistake("the scenario's seed is varied by repeats", "`repeats: N`, for N seeds from the scenario's on")
    return path


Varied = Annotated[str, AfterValidator(_is_varied)]
"""A field of the scenario by its dotted path."""


class Sweep(Model):
    """A `scenario` (shipped, or a path from the sweep's file) at every point of the `grid`; each of them `draws`
    times with fields drawn by the laws of `random`; and all of that for `repeats` seeds of the scenario, from its own
    on. `seed` is that of the draws. Fields are dotted paths: links.loss, algorithms[0].rounds. `keep`: every point
    keeps its results folder."""

    scenario: Annotated[str, Field(min_length=1)]
    """A shipped scenario's name, or the path of a file from this one."""
    grid: dict[Varied, Values] = {}
    """Fields by dotted path, with the values that they take: a point for each combination."""
    random: dict[Varied, Law] = {}
    """Fields by dotted path, with the laws that their values are drawn by."""
    draws: Count = 1
    """How many draws of the random fields at each point of the grid."""
    repeats: Count = 1
    """How often everything is run, each time with another seed of the scenario (its own, the next, …): what differs
    then is chance."""
    seed: Index = 0
    """The seed of the draws."""
    keep: bool = False
    """Whether every point keeps its results folder."""
    _written: Any = PrivateAttr(default=None)

    def as_in(self, tree: Any) -> "Sweep":
        """The same, which knows where its file says it."""
        self._written = tree
        return self

    @property
    def written(self) -> Any:
        """The tree of its file, with places; None of a sweep that is no file."""
        return self._written

    def remarks(self) -> list[str]:
        """That nothing of it varies, or that each random field is drawn once."""
        varies = self.draws > 1 or self.repeats > 1 or any(len(values) > 1 for values in self.grid.values())
        alone = "The sweep has one point: no field has several values in grid, none is in random, and repeats is 1"
        if self.random:
            alone = "The sweep has one point: its random fields are drawn once. draws: 20 draws them 20 times"
        return [] if varies else [alone]

    @field_validator("random")
    @classmethod
    def _once(cls, random: dict[str, Law], others: ValidationInfo) -> dict[str, Law]:
        if both := sorted(others.data.get("grid", {}).keys() & random.keys()):
            raise _mistake(f"{both[0]} is in grid, too", "each field in grid or in random")
        return random

    @field_validator("draws")
    @classmethod
    def _of_random(cls, draws: int, others: ValidationInfo) -> int:
        if draws > 1 and not others.data.get("random", True):
            raise _mistake("draws goes with random: nothing is drawn", "1; or random: {FIELD: LAW}, or repeats")
        return draws


@checked
def load_sweep(text: str, file: str, settings: Sequence[str] = ()) -> Sweep:
    """A sweep from YAML text. You get one `ScenarioError` that tells all its mistakes: file, line, field, value and
    what is allowed; also those of its scenario with these `settings`, and of the values that fields are given."""
    if file.endswith(".py"):
        allowed = f"a YAML file: `scenario: …`, whose algorithm names it under kind: python, path: {file}:CLASS"
        raise ScenarioError("file", file, "is code, not a sweep", allowed)
    tree = read_fields(text, file, "scenario: …, grid: …")
    if "scenario" not in tree and "algorithms" in tree:
        why = "is a scenario, not a sweep: `netsim run` runs it"
        raise ScenarioError("file", file, why, f"a sweep: `scenario: {file}`, and the fields to vary", file, 1)
    placed(tree, file)
    try:
        return mistakes.validated(Sweep, tree, file).as_in(tree)
    except ScenarioError as error:
        own = [_of_scenario(one) for one in error.each()]
        found = [*own, *_mistaken_values(tree, file, settings)]
        raise together(_by_line(found)) from None


def _of_scenario(error: ScenarioError) -> ScenarioError:
    """With how a sweep sets a field of its scenario, where it is one."""
    if not error.problem.startswith("unknown field") or error.field not in Scenario.model_fields:
        return error
    value = "…" if isinstance(error.value, Mapping | list) else setting(error.value)
    option = shlex.quote(f"{error.field}={value}")
    ways = f"`-o {option}`, or grid: {{{error.field}: [{value}]}}"
    return replace(error, problem=f"unknown field: a scenario's; did you mean {ways}?")


def _mistaken_values(tree: Any, file: str, settings: Sequence[str]) -> Sequence[ScenarioError]:
    """Beside other mistakes those of the scenario, and of values that its fields are given."""
    fields = cast("Mapping[str, object]", plain(tree))
    if not (name := fields.get("scenario")) or not isinstance(name, str):
        return ()
    try:
        base = base_of(Sweep(scenario=name).as_in(tree), file, settings)
        grid, drawn = (_valid(name, kind, fields.get(kind)) for kind in ("grid", "random"))
        alone = {path: law for path, law in drawn.items() if path not in grid}
        sweep = Sweep.model_validate({"scenario": name, "grid": grid, "random": alone}).as_in(tree)
        if math.prod(map(len, sweep.grid.values())) <= _FEW:
            points(sweep, base)
    except ScenarioError as error:  # no number of a point is right yet
        return [replace(one, field=re.sub(r"^point \d+: ", "", one.field)) for one in error.each()]
    return ()


def _valid(scenario: str, kind: str, given: object) -> dict[str, object]:
    """The fields of a grid, or of random, whose own values or laws have no mistakes."""
    found: dict[str, object] = {}
    for path, values in cast("Mapping[str, object]", given).items() if isinstance(given, Mapping) else ():
        with suppress(ScenarioError, ValidationError):
            Sweep.model_validate({"scenario": scenario, kind: {path: values}})
            found[path] = values
    return found


def json_schema() -> JsonSchemaValue:
    """The JSON Schema of a sweep file, for editors."""
    return exported(Sweep)


def base_of(sweep: Sweep, file: str, settings: Sequence[str] = ()) -> Located:
    """The scenario of a sweep, whose path starts at the sweep's file. You get a `ScenarioError` with the line that
    names it where there is none."""
    shipped = sweep.scenario in library()
    try:
        return load_scenario(sweep.scenario if shipped else str(Path(file).parent / sweep.scenario), settings)
    except ScenarioError as error:
        if error.file is not None or error.field != "scenario":
            raise
        raise _at_scenario(from_file(error, sweep.scenario, file), sweep) from error


def _at_scenario(error: ScenarioError, sweep: Sweep) -> ScenarioError:
    """With the line of the sweep's file that names its scenario."""
    file, line = (sweep.written and place_of(sweep.written, "scenario")) or (None, None)
    return replace(error, value=sweep.scenario, file=file, line=line)


@dataclass(frozen=True)
class Point:
    """A scenario of its own, number `index` of its sweep, which sets `fields`; `tree` is all of it."""

    index: int
    fields: Mapping[str, Setting]
    seed: int
    tree: Mapping[str, JsonValue]


def points(sweep: Sweep, base: Located) -> tuple[Point, ...]:
    """All points, the grid's last field slowest to repeat: grid, then draws, then repeats.

    What is drawn at a point depends on the seed, its place in the grid and the number of its draw. You get a
    `ScenarioError` for all points that do not fit the schema (it names the point and the line of its value), and for
    a scenario with variants.
    """
    if base.scenario.several:
        why = "has variants: a sweep is over the fields of one run"
        several = ScenarioError("scenario", sweep.scenario, why, "a scenario without variants and grid")
        raise _at_scenario(several, sweep)
    found: list[Point] = []
    wrong: dict[object, ScenarioError] = {}
    numbers = count()
    for place, values in enumerate(product(*sweep.grid.values())):
        fixed = dict(zip(sweep.grid, values, strict=True))
        for draw in range(sweep.draws):
            rng = np.random.default_rng([sweep.seed, place, draw])
            fields = fixed | {path: law.draw(rng) for path, law in sweep.random.items()}
            for repeat in range(sweep.repeats):
                tree, seed = copy.deepcopy(plain(base.tree)), base.scenario.seed + repeat
                number, nowhere = next(numbers), list[ScenarioError]()
                for path, value in fields.items():
                    try:
                        put(tree, path, value)
                    except ScenarioError as error:
                        nowhere.append(error)
                try:
                    scenario = validated(tree | {"seed": seed}, "", (), nowhere).scenario
                    found.append(Point(number, fields, seed, scenario.model_dump(mode="json")))
                except ScenarioError as error:
                    each = [located(one, sweep, fields, number) for one in error.each()]
                    wrong |= {without_name(one): one for one in each if without_name(one) not in wrong}
            if len(wrong) >= MOST:
                raise together(_by_line(wrong.values()))
    if wrong:
        raise together(_by_line(wrong.values()))
    return tuple(found)


MOST = 20
"""Mistakes after which no further points are looked at."""
_FEW = 500
"""Points beyond which their values are not looked at where the file has other mistakes."""


def _by_line(errors: Iterable[ScenarioError]) -> list[ScenarioError]:
    """In the order of the sweep's file."""
    return sorted(errors, key=lambda one: one.line or 0)


def located(error: ScenarioError, sweep: Sweep, fields: Mapping[str, Setting], index: int) -> ScenarioError:
    """The error of a point with its number, and the place of the sweep's file that gave it the value."""
    keys, place = keys_of(error.field), None
    for path, value in fields.items():
        if keys[: len(keys_of(path))] != keys_of(path) or sweep.written is None:
            continue
        if path in sweep.grid:
            values = sweep.written["grid"][path]
            place = place_of(values, sweep.grid[path].index(value)) or place_of(sweep.written["grid"], path)
        else:
            place = place_of(sweep.written["random"], path)
            if error.allowed == "a whole number" and isinstance(value, float):
                hint = "{law: uniform, low: …, high: …, whole: true}"
                error = replace(error, problem=f"drawn with a fraction; did you mean {hint}?")
    file, line = (None, None) if place is None else place
    return replace(error, field=f"point {index}: {error.field}", file=file, line=line)


@dataclass(frozen=True)
class Shard:
    """Share `number` of `of`, from 1 on: every `of`-th point from number − 1 on, so that all shares are alike."""

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise ScenarioError("shard", str(self), "no share of that many", "I/N with 1 <= I <= N, such as 3/8")

    @classmethod
    def read(cls, text: str) -> "Shard":
        """Share of the text I/N. You get a `ScenarioError` for any other text."""
        if not (found := re.fullmatch(r"(\d+)/(\d+)", text.strip())):
            raise ScenarioError("shard", text, "is no share", "I/N with 1 <= I <= N, such as 3/8")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, found: Sequence[Point]) -> Sequence[Point]:
        return found[self.number - 1 :: self.of]
