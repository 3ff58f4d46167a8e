"""From a YAML file to a `Scenario`, to each of its variants (the file with some fields replaced), or to the hosts of
`netsim deploy --agents-on`, with errors that name file, line, field, value and what is allowed; and the line by which
an editor finds the JSON Schema of a file.

The line is that of the YAML language server (VS Code, Neovim, Emacs, JetBrains). A shipped file names its schema by
the path from itself, which works in a checkout and where the package is installed; a file that is written elsewhere
names the installed schema, by its address on this machine: no network is needed.
"""

import copy
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import TypeAdapter, ValidationError

from netsim.arguments import checked
from netsim.errors import ScenarioError, together, written
from netsim.readers.deployed import hosts
from scenarios.files import mistakes
from scenarios.files.document import OF_PATH, Key, Place, Tree, dotted, keys_of, place_of, plain, put
from scenarios.files.library import full_tree, is_set, label, no_variant, read_fields, read_source, read_text
from scenarios.files.models import as_mappings, literals, models_in
from scenarios.schema import own_code
from scenarios.schema.scenario import Scenario
from scenarios.schema.spec import OF_TYPE, Spec
from scenarios.schema.world import TopologySpec


class Located:
    """A scenario and where each of its fields stands in its file."""

    def __init__(self, scenario: Scenario, file: str, tree: Any, settings: Sequence[str] = ()) -> None:
        self.scenario, self.file, self.tree, self.settings = scenario, file, tree, settings

    def locate(self, error: ScenarioError) -> ScenarioError:
        """The same error with the file and the line of its field (or of the nearest enclosing one). An error that has
        a place already, in a trace or a graph file, keeps it."""
        return together([self._located(one) for one in error.each()])

    def _located(self, error: ScenarioError) -> ScenarioError:
        if error.file is not None:
            return error
        if is_set(error.field, self.settings):
            return replace(error, field=f"-o {error.field}")
        place = mistakes.where(self.tree, keys_of(error.field), self.file)
        return replace(error, file=place.file, line=place.line)


@checked
def load_scenario(source: str | Path, settings: Sequence[str] = ()) -> Located:
    """A scenario from a YAML file, or by name from the library, with `settings` such as ``links.loss=0.2``.

    Raises `ScenarioError` for a file that is not there or is not YAML, and with every field that does not fit.
    """
    return parse(*read_source(str(source)), settings)


@checked
def parse(text: str, file: str = "<text>", settings: Sequence[str] = ()) -> Located:
    """A scenario from YAML text. Raises one `ScenarioError` with every mistake."""
    tree, wrong = full_tree(text, file, settings)
    return validated(tree, file, settings, wrong)


def validated(tree: Any, file: str, settings: Sequence[str] = (), wrong: Sequence[ScenarioError] = ()) -> Located:
    """A scenario from the tree of a file, or from plain mappings and lists (whose errors are at line 1). What else is
    `wrong` is raised with its mistakes."""
    try:
        return Located(mistakes.validated(Scenario, tree, file, settings, wrong), file, tree, settings)
    except ScenarioError as error:
        found = [*_of_algorithms(tree, file), *_of_agents(tree, file)]
        every = [*mistakes.as_set(found, settings, tree), *error.each()]
        raise together(sorted(every, key=lambda one: one.line or 0)) from None


def _of_algorithms(tree: Any, file: str) -> Iterator[ScenarioError]:
    """A mistake for each algorithm of one's own whose file is not there, and for each whose name another one has:
    what is built says it, but nothing is built of a scenario with other mistakes."""
    listed = cast("Tree", plain(tree)).get("algorithms")
    kinds, names = models_in(Scenario.model_fields["algorithms"].annotation), set[object]()
    defaults = {kind: one.model_fields["name"].default for one in kinds for kind in literals(one, "kind")}
    for k, one in enumerate(cast("list[Any]", listed) if isinstance(listed, list) else []):
        own: Tree = cast("Tree", one) if isinstance(one, dict) else {}
        kind = own.get("kind")
        path = own.get("path") if kind == "python" else None
        if isinstance(path, str) and (wrong := own_code.absent(path)) is not None:
            place = mistakes.where(tree, ["algorithms", k, "path"], file)
            yield replace(wrong, field=f"algorithms[{k}].path", file=place.file, line=place.line)
        name = own.get("name", defaults.get(kind) if isinstance(kind, str) else None)
        if name and isinstance(name, str) and name in names:
            place = mistakes.where(tree, ["algorithms", k, "name"] if "name" in own else ["algorithms", k], file)
            yield ScenarioError(f"algorithms[{k}].name", name, "used twice", "another name", place.file, place.line)
        names.add(name if isinstance(name, str) else None)


def _of_agents(tree: Any, file: str) -> Iterator[ScenarioError]:
    """A mistake for each agent that is not there, where the topology is right, and the same in all variants: what is
    built says it, too."""
    fields = cast("Tree", plain(tree))
    varied = bool(fields.get("variants") or fields.get("grid"))
    every = () if varied else _numbers(fields)
    found = {dotted(keys): one for keys, one in every if _AGENT.fullmatch(dotted(keys))}
    try:
        topology = TypeAdapter(TopologySpec).validate_python(fields.get("topology")) if found else None
        agents = getattr(topology, "agents", 0) or (0 if topology is None else topology.build().agents)
    except (ScenarioError, ValidationError):
        return
    for field, agent in found.items():
        if agent >= agents:
            place = mistakes.where(tree, keys_of(field), file)
            yield ScenarioError(field, agent, "no such agent", f"0 … {agents - 1}", place.file, place.line)


_AGENT = re.compile(r"audit\.agent|(access|(stragglers|downtimes)\[\d+\])\.agents\[\d+\]")
"""Fields that name an agent."""


def _numbers(node: Any, keys: tuple[Key, ...] = ()) -> Iterator[tuple[tuple[Key, ...], int]]:
    """Whole numbers of a tree, each with the keys on the way to it."""
    if isinstance(node, int):
        yield keys, node
    entries = cast("list[Any]", node) if isinstance(node, list) else []
    for key, one in cast("Tree", node).items() if isinstance(node, Mapping) else enumerate(entries):
        yield from _numbers(one, (*keys, key))


# ── variants ────────────────────────────────────────────────────────────────────────────────────────────
_OWN = ("name", "variants", "grid", "figures", "reproduces")
"""Fields that belong to all variants together."""
_Entry = tuple[str, Any, Place | None]
"""A dotted field, its value, and where a file says so."""


@dataclass(frozen=True)
class Variant:
    """A scenario of its own: `fields` says what it replaced in the base, by dotted path."""

    name: str
    fields: Tree
    located: Located

    def named(self, error: ScenarioError) -> ScenarioError:
        """The same error, with the file's line and this variant's name."""
        return _named(self.name, self.located.locate(error))


def expanded(source: Scenario | Located) -> tuple[Variant, ...]:
    """Every variant in the file's order, the grid's last field fastest; none where the scenario has none.

    You get a `ScenarioError` for a path that leads nowhere, for a name used twice, and for all variants that do not
    fit the schema; it names the variant, its field, and the line where the value was said.
    """
    located = source if isinstance(source, Located) else Located(source, "", as_mappings(source))
    if not located.scenario.several:
        return ()
    found: dict[str, Variant | None] = {}
    wrong: dict[object, ScenarioError] = {}
    for name, entries, place in _points(located):
        if name in found:
            twice = ScenarioError("variants", name, "two variants of this name", "names of their own")
            raise _at(place, twice)
        try:
            found[name] = _variant(located, name, entries)
        except ScenarioError as error:
            found[name] = None
            wrong |= {without_name(one): one for one in reversed(error.each()) if without_name(one) not in wrong}
    if wrong:
        raise together(sorted(wrong.values(), key=lambda one: one.line or 0))
    return tuple(one for one in found.values() if one is not None)


def without_name(error: ScenarioError) -> object:
    """The key under which a mistake that several variants or points share, such as a value of the grid, is reported
    for the first alone."""
    named = OF_PATH.match(error.problem) is not None or error.problem.startswith(
        "unknown field"
    )  # whatever its value
    return error.field.partition(": ")[2], None if named else repr(error.value), error.file, error.line


def alone(source: Located, name: str) -> Located:
    """One variant as a scenario of its own, without the figures and checks that belong to all of them.

    You get a `ScenarioError` for a name that none has.
    """
    found = {one.name: one for one in expanded(source)}
    if name not in found:
        raise no_variant(name, [*found])
    tree = found[name].located.tree
    for key in ("figures", "reproduces"):
        tree.pop(key, None)
    return validated(tree, source.file)


def small(source: Located) -> Located:
    """A paper's item at its `reproduces.small`, which is added to what is `missing`; the same where it has none.

    You get a `ScenarioError` for a path that leads nowhere, or to the item itself.
    """
    reproduces = source.scenario.reproduces
    if reproduces is None or reproduces.small is None:
        return source
    tree = copy.deepcopy(source.tree)
    item = tree["reproduces"]
    shrunk = item.pop("small")
    for path, value in shrunk.items():
        place = place_of(shrunk, path)
        try:
            if (keys := keys_of(path)) and keys[0] in ("name", "reproduces"):
                raise ScenarioError(path, value, "is the item's own", "a field that says how large it is")
            put(tree, path, value, place)
        except ScenarioError as error:
            raise _at(place, replace(error, field=f"reproduces.small: {error.field}")) from None
    listed = ", ".join(f"{path} = {written(_brief(plain(value)), whole=True)}" for path, value in shrunk.items())
    item["missing"] = [*item.get("missing", []), f"small scale: {listed}"]
    return validated(tree, source.file)


def _brief(value: Any) -> Any:
    """A value as one reads it in a sentence: entries that have a name by their names."""
    if isinstance(value, list):
        return [
            cast("Any", one).get("name", one) if isinstance(one, dict) else one for one in cast("list[Any]", value)
        ]
    return value


def _points(located: Located) -> Iterator[tuple[str, list[_Entry], Place | None]]:
    """Name, replaced fields and line of every variant: each of the list at each point of the grid."""
    scenario, tree = located.scenario, located.tree
    named: list[tuple[str, list[_Entry], Place | None]] = [("", [], place_of(tree, "grid"))]
    if scenario.variants:
        named = [
            (one["name"], [(path, value, place_of(one["set"], path)) for path, value in one["set"].items()], place)
            for one, place in ((one, place_of(tree["variants"], k)) for k, one in enumerate(tree["variants"]))
        ]
    axes: list[list[_Entry]] = []
    for path in scenario.grid:
        values, whole = tree["grid"][path], place_of(tree["grid"], path)
        axes.append([(path, value, place_of(values, k) or whole) for k, value in enumerate(values)])
    for name, entries, place in named:
        for point in product(*axes):
            parts = [name] * bool(name) + [label(path, value) for path, value, _ in point]
            yield "-".join(parts), [*entries, *point], place


def _variant(base: Located, name: str, entries: Sequence[_Entry]) -> Variant:
    tree = copy.deepcopy(base.tree)
    for key in ("variants", "grid"):
        tree.pop(key, None)
    wrong: list[ScenarioError] = []
    for path, value, place in entries:
        try:
            if (keys := keys_of(path)) and keys[0] in _OWN:
                raise ScenarioError(path, value, "belongs to all variants together", f"not {', '.join(_OWN)}")
            put(tree, path, value, place)
        except ScenarioError as error:
            wrong.append(_at(place, error))
    scenario = base.scenario
    tree["title"] = f"{scenario.title or scenario.name}: {name}"
    try:
        located = validated(tree, base.file, (), wrong)
    except ScenarioError as error:
        error = error if base.file else together([replace(one, file=None, line=None) for one in error.each()])
        raise _named(name, error) from None
    return Variant(name, {path: plain(value) for path, value, _ in entries}, located)


def _named(name: str, error: ScenarioError) -> ScenarioError:
    return together([replace(one, field=f"variant {name}: {one.field}") for one in error.each()])


def _at(place: Place | None, error: ScenarioError) -> ScenarioError:
    return error if place is None else replace(error, file=place.file, line=place.line)


# ── hosts of a deployment ───────────────────────────────────────────────────────────────────────────────
class _PlaceSpec(Spec, of=hosts.Place): ...


class _HostSpec(Spec, of=hosts.Host): ...


OF_TYPE[hosts.Place], OF_TYPE[hosts.Host] = _PlaceSpec, _HostSpec


class _HostsSpec(Spec, of=hosts.Hosts): ...


def load_hosts(path: Path) -> hosts.Hosts:
    """Hosts of a YAML file. You get one `ScenarioError` with all its mistakes: file, line, field, value, what is
    allowed."""
    file = str(path)
    tree = read_fields(read_text(path), file, "coordinator: {address: …, port: …}, agents: […]")
    spec = mistakes.validated(cast("Any", _HostsSpec), tree, file)
    try:
        return spec.build()
    except ScenarioError as error:
        place = mistakes.where(tree, keys_of(error.field), file)
        raise replace(error, file=place.file, line=place.line) from None


# ── the line by which an editor finds the schema ────────────────────────────────────────────────────────
Kind = Literal["scenario", "sweep"]
MARK = "# yaml-language-server: $schema="


def schema_file(kind: Kind = "scenario") -> Path:
    """The installed JSON Schema of a scenario file, or of a sweep file."""
    return Path(__file__).with_name(f"{kind}.schema.json")


def schema_line(kind: Kind = "scenario", beside: Path | None = None) -> str:
    """The first line of a YAML file, with its line break, by which editors find its schema.

    `beside`: the folder of the file, which then names the schema by a relative path (for files of this package).
    Without it the line names the installed schema, for a file that may be anywhere on this machine.
    """
    file = schema_file(kind)
    return f"{MARK}{file.as_uri() if beside is None else os.path.relpath(file, beside).replace(os.sep, '/')}\n"


def with_schema_line(text: str) -> str:
    """A scenario's YAML text that begins with its schema line; one that it has is replaced."""
    first, _, rest = text.partition("\n")
    return schema_line() + (rest if first.startswith(MARK) else text)
