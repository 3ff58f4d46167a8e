"""What a file says, as plain mappings and lists that know where each of their parts stands; fields by dotted path."""

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from netsim.errors import ScenarioError

Key = str | int


class Place(NamedTuple):
    """A line of a file, from 1."""

    file: str
    line: int


class Fields(dict[str, Any]):
    """A mapping of a file; `places` says where each key stands, as far as it stands in a file."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[Key, Place] = {}


class Entries(list[Any]):
    """A list of a file; `places` says where each entry begins."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[Key, Place] = {}


def plain(tree: Any) -> Any:
    """The same as Python's own mappings and lists."""
    if isinstance(tree, Mapping):
        return {str(k): plain(v) for k, v in cast("Mapping[Any, Any]", tree).items()}
    if isinstance(tree, list):
        return [plain(v) for v in cast("list[Any]", tree)]
    return tree


def place_of(node: Any, key: Key) -> Place | None:
    """Where a key or an entry stands; None where it is in no file."""
    places: dict[Key, Place] = getattr(node, "places", {})
    return places.get(key)


def keys_of(field: str) -> list[Key]:
    """The keys and list indices of a dotted path."""
    return [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", field)]


def dotted(keys: Sequence[Key]) -> str:
    """The path of these keys and indices."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")


def put(tree: Any, path: str, value: Any, place: Place | None = None) -> None:
    """Set the field at a dotted path, as though it stood at that place; new mappings where none is.

    You get a `ScenarioError` for a path that leads nowhere.
    """
    keys = keys_of(path)
    if not keys or isinstance(keys[0], int):
        raise ScenarioError(path or "set", value, "no path of a field", "such as topology.agents, algorithms[0].step")
    node = tree
    for depth, key in enumerate(keys[:-1]):
        if isinstance(key, str) and isinstance(node, Mapping) and key not in node:
            _set(node, key, Fields(), place)
        node = _inside(node, key, path, keys[: depth + 1], value)
    _inside(node, keys[-1], path, keys, value, new=True)
    _set(node, keys[-1], copy.deepcopy(value), place)


def _inside(node: Any, key: Key, path: str, keys: Sequence[Key], value: Any, new: bool = False) -> Any:
    """What is at a key; `new`: it need not be there."""
    where, around = dotted(keys), dotted(keys[:-1])
    if isinstance(node, list):
        length = len(cast("list[Any]", node))
        if isinstance(key, int) and key < length:
            return cast("list[Any]", node)[key]
        allowed = f"{around}[0] … {around}[{length - 1}]" if length else f"{around}: [...]"
        why = f"{where} is no entry of the list" if isinstance(key, int) else f"{around} is a list: say which entry"
        raise ScenarioError(path, value, why, allowed)
    if isinstance(node, Mapping) and isinstance(key, str):
        return cast("Mapping[str, Any]", node).get(key) if new else cast("Mapping[str, Any]", node)[key]
    why = f"there is nothing inside of which {where} could be"
    raise ScenarioError(path, value, why, "a path in the file")


def _set(node: Any, key: Key, value: Any, place: Place | None) -> None:
    node[key] = value
    places: dict[Key, Place] | None = getattr(node, "places", None)
    if places is None:
        return
    if place is None:
        places.pop(key, None)
    else:
        places[key] = place
