"""The variants of a scenario: the base file with some fields replaced, each validated as a whole."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, cast

from netsim.errors import ScenarioError
from scenarios.loader import Located, validated
from scenarios.reproduction.labels import label
from scenarios.schema import Scenario
from scenarios.tree import Key, keys_of, put

OWN = ("name", "variants", "grid", "figures", "reproduces")
"""What belongs to all variants together."""
Entry = tuple[str, Any, int | None]
"""A dotted field, its value, and the line where the file says so."""


@dataclass(frozen=True)
class Variant:
    """A scenario of its own: `fields` says what it replaced in the base, by dotted path."""

    name: str
    fields: Mapping[str, Any]
    located: Located

    def named(self, error: ScenarioError) -> ScenarioError:
        """The same error, with the file's line and this variant's name."""
        return _named(self.name, self.located.locate(error))


def has_variants(scenario: Scenario) -> bool:
    """Whether a scenario is several runs."""
    return bool(scenario.variants or scenario.grid)


def expanded(source: Scenario | Located) -> tuple[Variant, ...]:
    """Every variant in the file's order, the grid's last field fastest; none where the scenario has none.

    You get a `ScenarioError` for a path that leads nowhere, for a name used twice, and for a variant that does not
    fit the schema; it names the variant, its field, and the line where the value was said.
    """
    located = source if isinstance(source, Located) else Located(source, "", source.model_dump(exclude_unset=True))
    if not has_variants(located.scenario):
        return ()
    found: list[Variant] = []
    for name, entries, line in _points(located):
        if any(name == other.name for other in found):
            twice = ScenarioError("variants", name, "two variants of this name", "names of their own")
            raise _at(located, line, twice)
        found.append(_variant(located, name, entries))
    return tuple(found)


def alone(source: Located, name: str) -> Located:
    """One variant as a scenario of its own, without the figures and checks that belong to all of them.

    You get a `ScenarioError` for a name that none has.
    """
    found = {one.name: one for one in expanded(source)}
    if name not in found:
        raise ScenarioError("--variant", name, "no such variant", ", ".join(found) or "none: it has no variants")
    tree = found[name].located.tree
    for key in ("figures", "reproduces"):
        tree.pop(key, None)
    return validated(tree, source.file)


# ── which there are ─────────────────────────────────────────────────────────────────────────────────────


def _points(located: Located) -> Iterator[tuple[str, list[Entry], int | None]]:
    """Name, replaced fields and line of every variant: each of the list at each point of the grid."""
    scenario, tree = located.scenario, located.tree
    named: list[tuple[str, list[Entry], int | None]] = [("", [], _line_of(tree, "grid"))]
    if scenario.variants:
        written = tree["variants"]
        named = [
            (one.name, _entries(one.set, written[k]["set"]), _line_of(written, k))
            for k, one in enumerate(scenario.variants)
        ]
    axes = [[(path, one, _line_of(tree["grid"], path)) for one in values] for path, values in scenario.grid.items()]
    for name, entries, line in named:
        for point in product(*axes):
            parts = [name] * bool(name) + [label(path, value) for path, value, _ in point]
            yield "-".join(parts), [*entries, *point], line


def _entries(plain: Mapping[str, Any], written: Any) -> list[Entry]:
    return [(path, value, _line_of(written, path)) for path, value in plain.items()]


# ── one of them ─────────────────────────────────────────────────────────────────────────────────────────


def _variant(base: Located, name: str, entries: Sequence[Entry]) -> Variant:
    tree = copy.deepcopy(base.tree)
    for key in ("variants", "grid"):
        tree.pop(key, None)
    for path, value, line in entries:
        try:
            _put(tree, path, value, line)
        except ScenarioError as error:
            raise _at(base, line, _named(name, error)) from None
    scenario = base.scenario
    tree["title"] = f"{scenario.title or scenario.name}: {name}"
    try:
        located = validated(tree, base.file)
    except ScenarioError as error:
        error = error if base.file else replace(error, file=None, line=None)
        raise _named(name, error) from None
    return Variant(name, {path: value for path, value, _ in entries}, located)


def _put(tree: Any, path: str, value: Any, line: int | None) -> None:
    """Replace a field, one that a variant may have of its own."""
    keys = keys_of(path)
    if keys and keys[0] in OWN:
        raise ScenarioError(path, value, "belongs to all variants together", f"not {', '.join(OWN)}")
    put(tree, path, value, line)


# ── where it stands ─────────────────────────────────────────────────────────────────────────────────────


def _line_of(node: Any, key: Key) -> int | None:
    """1-based line of a key in the file; None where there is no file."""
    try:
        return int(node.lc.data[key][0]) + 1
    except (AttributeError, KeyError, IndexError, TypeError):
        return None


def _named(name: str, error: ScenarioError) -> ScenarioError:
    return replace(error, field=f"variant {name}: {error.field}")


def _at(located: Located, line: int | None, error: ScenarioError) -> ScenarioError:
    return error if line is None or not located.file else replace(error, file=located.file, line=line)
