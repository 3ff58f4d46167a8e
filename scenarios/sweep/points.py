"""The points of a sweep: which fields are set to what, in an order that depends on the sweep alone."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from netsim.errors import ScenarioError, together
from scenarios.loader import Located, validated
from scenarios.reproduction.variants import has_variants
from scenarios.sweep.spec import Sweep
from scenarios.tree import keys_of, place_of, plain, put


@dataclass(frozen=True)
class Point:
    """A scenario of its own, number `index` of its sweep: `fields` says what it sets, `tree` is all of it."""

    index: int
    fields: Mapping[str, Any]
    seed: int
    tree: Mapping[str, Any]


def points(sweep: Sweep, base: Located) -> tuple[Point, ...]:
    """All points, the grid's last field slowest to repeat: grid, then draws, then repeats.

    What is drawn at a point depends on the seed, its place in the grid and the number of its draw. You get a
    `ScenarioError` for the points that do not fit the schema (it names the point and the line of the value), and for a
    scenario with variants.
    """
    if has_variants(base.scenario):
        why = "has variants: a sweep is over the fields of one run"
        raise ScenarioError("scenario", sweep.scenario, why, "a scenario without variants and grid")
    found: list[Point] = []
    wrong: dict[object, ScenarioError] = {}
    for place, values in enumerate(product(*sweep.grid.values())):
        fixed = dict(zip(sweep.grid, values, strict=True))
        for draw in range(sweep.draws):
            rng = np.random.default_rng([sweep.seed, place, draw])
            fields = fixed | {path: law.draw(rng) for path, law in sweep.random.items()}
            for repeat in range(sweep.repeats):
                try:
                    found.append(_point(len(found) + len(wrong), fields, base, base.scenario.seed + repeat))
                except ScenarioError as error:
                    located = [_located(one, sweep, fields, len(found) + len(wrong)) for one in error.each()]
                    wrong |= {_what(one): one for one in located if _what(one) not in wrong}
            if len(wrong) >= MOST:
                raise together(list(wrong.values()))
    if wrong:
        raise together(list(wrong.values()))
    return tuple(found)


MOST = 20
"""Mistakes after which no further points are looked at."""


def _what(error: ScenarioError) -> object:
    """What is wrong at several points, such as a value of the grid, is told of the first alone."""
    return error.field.partition(": ")[2], repr(error.value), error.line


def _located(error: ScenarioError, sweep: Sweep, fields: Mapping[str, Any], index: int) -> ScenarioError:
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
    file, line = (None, None) if place is None else place
    return replace(error, field=f"point {index}: {error.field}", file=file, line=line)


def _point(index: int, fields: Mapping[str, Any], base: Located, seed: int) -> Point:
    tree: dict[str, Any] = copy.deepcopy(plain(base.tree))
    for path, value in fields.items():
        put(tree, path, value)
    tree["seed"] = seed
    scenario = validated(tree, "").scenario
    return Point(index, fields, seed, scenario.model_dump(mode="json"))
