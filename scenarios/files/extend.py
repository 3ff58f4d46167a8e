"""Inheritance between scenario files (`extends`), and fields set from the command line."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from netsim.errors import ScenarioError, together
from scenarios.files.document import Place, Tree, keys_of, place_of, plain, put, read_yaml

EXTENDS = "extends"
TAGS = ("kind", "name")
Find = Callable[[str, str], tuple[Any, str]]
"""The tree and the name of the file that is called so in another file."""


def inherited(tree: Any, file: str, find: Find, below: tuple[str, ...] = ()) -> Any:
    """The tree with what it does not say taken from the file that it extends, and that one from its own; every field
    keeps the place where it was said.

    You get a `ScenarioError` at the line of `extends` for a base that is not there, or that extends this one.
    """
    if EXTENDS not in tree:
        return tree
    name = tree[EXTENDS]
    if not isinstance(name, str) or not name:
        raise _error(tree, file, name, "wrong type", "the name of a shipped scenario, or a path")
    try:
        base, place = find(name, file)
    except ScenarioError as error:
        if error.file is not None:
            raise
        raise _error(tree, file, name, error.problem, error.allowed) from error
    if place in (*below, file):
        chain = " → ".join([*below, file, place])
        raise _error(tree, file, name, f"extends itself ({chain})", "a file that does not lead back here")
    _fill(tree, inherited(base, place, find, (*below, file)))
    return tree


def overridden(tree: Any, settings: Sequence[str]) -> Any:
    """The tree with `path=value` set, value as YAML says it: links.loss=0.2, algorithms[0].rounds=50.

    You get a `ScenarioError` for all of them that are no settings, or whose paths lead nowhere.
    """
    mistakes: list[ScenarioError] = []
    for setting in settings:
        try:
            _override(tree, setting)
        except ScenarioError as error:
            mistakes.append(error)
    if mistakes:
        raise together(mistakes)
    return tree


def _override(tree: Any, setting: str) -> None:
    path, equals, text = (part.strip() for part in setting.partition("="))
    if not equals or not path:
        raise ScenarioError("-o", setting, "no setting", "FIELD=VALUE, such as links.loss=0.2")
    try:
        value = plain(read_yaml(text, "-o"))
    except ScenarioError as error:
        problem, allowed = error.problem.removeprefix("not valid YAML: "), error.allowed
        raise ScenarioError("-o", setting, f"the value is not valid YAML: {problem}", allowed) from error
    try:
        put(tree, path, value)
    except ScenarioError as error:
        raise replace(error, field=f"-o {error.field}") from error


def is_set(field: str, settings: Sequence[str]) -> bool:
    """Whether a field, or what it is in, was set from the command line."""
    keys = keys_of(field)
    paths = [keys_of(setting.partition("=")[0].strip()) for setting in settings]
    return any(keys[: len(path)] == path for path in paths if path)


def place_of_base(tree: Any) -> Place | None:
    """The place of `extends`, where there is one: where errors of what nobody says are."""
    return place_of(tree, EXTENDS)


def _fill(own: Any, base: Any) -> None:
    for key, value in base.items():
        if key == EXTENDS:
            continue
        if key not in own:
            own[key] = copy.deepcopy(value)
            if (place := place_of(base, key)) is not None:
                own.places[key] = place
        elif _of_one_kind(own[key], value):
            _fill(own[key], value)


def _of_one_kind(own: Any, base: Any) -> bool:
    """Whether both are mappings of which the first does not say that it is something else."""
    if not (isinstance(own, Mapping) and isinstance(base, Mapping)):
        return False
    ours, theirs = cast("Tree", own), cast("Tree", base)
    return all(tag not in ours or ours[tag] == theirs.get(tag) for tag in TAGS)


def _error(tree: Any, file: str, value: object, problem: str, allowed: str) -> ScenarioError:
    place = place_of_base(tree)
    return ScenarioError(EXTENDS, plain(value), problem, allowed, file, 1 if place is None else place.line)
