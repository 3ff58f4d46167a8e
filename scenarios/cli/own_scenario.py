"""Scenario around a user's algorithm: five agents on a ring with synthetic data, and options of the command line."""

import difflib
from collections.abc import Sequence
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from netsim.errors import ScenarioError, together
from scenarios.files.document import keys_of, put
from scenarios.results.header import slug
from scenarios.schema import Scenario
from scenarios.schema import own as parameters
from scenarios.schema import own_code as owncode
from scenarios.schema.load import validated

PROBLEM = {
    "kind": "logistic",
    "data": {"name": "synthetic", "records": 40, "dimension": 6, "seed": 3, "norm_bound": 1.0},
    "ridge": 0.5,
}
TOPOLOGY = {"kind": "ring", "agents": 5}
SHORT = {"topology": "topology.kind", "agents": "topology.agents", "problem": "problem.kind", "data": "problem.data"}
"""Names that stand for a field, where the value is no mapping."""
FIELDS = "or topology, agents, problem, data, links, adversary, audit, seed, …"


def scenario_of(place: str, settings: Sequence[str], claim: tuple[float | None, float] | None = None) -> Scenario:
    """The scenario that audits the algorithm of FILE.py:CLASS. A setting NAME=VALUE is a parameter of the class where
    it has one of that name, a field of the scenario where not; `topology`, `agents`, `problem` and `data` are short
    for a kind or a name.

    You get a `ScenarioError` for a class that cannot be loaded, and for a name that is neither.
    """
    try:
        found = owncode.load(place)
    except ScenarioError as error:
        raise in_command_words(error) from None
    known = parameters.names(found.algorithm)
    algorithm: dict[str, Any] = {"kind": "python", "path": place, "name": found.algorithm.__name__, "parameters": {}}
    tree: dict[str, Any] = {
        "name": slug(found.algorithm.__name__, ()),
        "title": f"{found.algorithm.__name__}, audited",
        "problem": PROBLEM,
        "topology": TOPOLOGY,
        "attacks": {"gradients": False},
        "algorithms": [algorithm],
        "audit": {},
    }
    if claim is not None:
        algorithm["claim"] = {"epsilon": claim[0], "delta": claim[1], "source": "the command line"}
    tree = _copied(tree)
    for setting in settings:
        name, value = _setting(setting)
        _place(tree, name, value, known, found)
    return validated(tree, "").scenario


def in_command_words(error: ScenarioError) -> ScenarioError:
    """An error of the scenario in the words of the command line."""
    return together([_short(one) for one in error.each()])


def _short(error: ScenarioError) -> ScenarioError:
    field = error.field
    for inner in ("algorithms[0].parameters.", "algorithm.parameters."):
        if field.startswith(inner):
            field = f"-o {field.removeprefix(inner)}"
    if field in ("algorithm.path", "algorithms[0].path"):
        field = "algorithm"
    file, line = (None, None) if error.file == "" else (error.file, error.line)
    return ScenarioError(field, error.value, error.problem, error.allowed, file, line)


def _setting(setting: str) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals or not name.strip():
        raise ScenarioError("-o", setting, "no setting", "NAME=VALUE, such as rounds=20")
    try:
        return name.strip(), cast(Any, YAML(typ="safe", pure=True)).load(text)
    except YAMLError:
        raise ScenarioError("-o", setting, "the value is not valid YAML", "NAME=VALUE") from None


def _place(tree: dict[str, Any], name: str, value: Any, known: dict[str, Any], found: owncode.OwnCode) -> None:
    first = str(keys_of(name)[0]) if keys_of(name) else name
    if first in known:
        put(tree["algorithms"][0]["parameters"], name, value)
        return
    if first not in Scenario.model_fields and first not in SHORT:
        near = difflib.get_close_matches(first, [*known, *Scenario.model_fields, *SHORT], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        why = f"neither a parameter of {found.algorithm.__name__} nor a field of a scenario{hint}"
        raise ScenarioError(f"-o {name}", value, why, f"{parameters.signature(found.algorithm)}; {FIELDS}")
    if name == "data" and isinstance(value, str):
        tree["problem"]["data"] = {"name": value}
    elif name == "topology" and isinstance(value, str):
        tree["topology"]["kind"] = value
    elif name in SHORT and not isinstance(value, dict):
        put(tree, SHORT[name], value)
    else:
        put(tree, name.replace("data.", "problem.data.", 1) if name.startswith("data.") else name, value)


def _copied(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _copied(value) for key, value in cast("dict[str, Any]", tree).items()}
    return [_copied(value) for value in cast("list[Any]", tree)] if isinstance(tree, list) else tree
