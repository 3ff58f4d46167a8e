"""What a sweep varies."""

import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PrivateAttr, model_validator

from scenarios.schema.base import Count, Index, Model, Positive

Finite = Annotated[float, Field(allow_inf_nan=False)]


class Uniform(Model):
    """Between `low` and `high`; whole numbers, both ends included, where `whole`."""

    law: Literal["uniform"] = "uniform"
    low: Finite
    high: Finite
    whole: bool = False

    @model_validator(mode="after")
    def _has_width(self) -> "Uniform":
        if not self.low < self.high:
            raise ValueError("low must be below high")
        return self

    def draw(self, rng: np.random.Generator) -> float | int:
        if self.whole:
            return int(rng.integers(round(self.low), round(self.high), endpoint=True))
        return float(rng.uniform(self.low, self.high))


class LogUniform(Model):
    """Between `low` and `high`, every decade as likely as any other."""

    law: Literal["loguniform"] = "loguniform"
    low: Positive
    high: Positive

    @model_validator(mode="after")
    def _has_width(self) -> "LogUniform":
        if not self.low < self.high:
            raise ValueError("low must be below high")
        return self

    def draw(self, rng: np.random.Generator) -> float:
        return math.exp(rng.uniform(math.log(self.low), math.log(self.high)))


class Choice(Model):
    """One of these `values`."""

    law: Literal["choice"] = "choice"
    values: Annotated[list[Any], Field(min_length=1)]

    def draw(self, rng: np.random.Generator) -> Any:
        values = self.values
        return values[int(rng.integers(len(values)))]


Law = Annotated[Uniform | LogUniform | Choice, Field(discriminator="law")]


class Sweep(Model):
    """A `scenario` (shipped, or a path from the sweep's file) at every point of the `grid`; each of them `draws`
    times with fields drawn by the laws of `random`; and all of that for `repeats` seeds of the scenario, from its own
    on. `seed` is that of the draws. Fields are dotted paths: links.loss, algorithms[0].rounds. `keep`: every point
    keeps its results folder."""

    scenario: Annotated[str, Field(min_length=1)]
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    random: dict[str, Law] = {}
    draws: Count = 1
    repeats: Count = 1
    seed: Index = 0
    keep: bool = False
    _written: Any = PrivateAttr(default=None)

    def as_in(self, tree: Any) -> "Sweep":
        """The same, which knows where its file says it."""
        self._written = tree
        return self

    @property
    def written(self) -> Any:
        """What its file says, with places; None of a sweep that is no file."""
        return self._written

    @model_validator(mode="after")
    def _says_what_varies(self) -> "Sweep":
        if both := sorted(self.grid.keys() & self.random.keys()):
            raise ValueError(f"{both[0]} is in both grid and random")
        if self.draws > 1 and not self.random:
            raise ValueError("draws goes with random: say which fields are drawn, or use repeats")
        if "seed" in self.grid or "seed" in self.random:
            raise ValueError("the scenario's seed is varied by repeats")
        return self


def load_sweep(text: str, file: str) -> Sweep:
    """A sweep from YAML text. You get one `ScenarioError` that tells all its mistakes: file, line, field, value and
    what is allowed."""
    from scenarios.loader import as_model, read_fields
    from scenarios.tree import plain

    tree = read_fields(text, file, "scenario: …, grid: …")
    found = as_model(Sweep, plain(tree), tree, file)
    return found.as_in(tree)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a sweep file, for editors."""
    from scenarios.schema.export import exported

    return exported(Sweep)
