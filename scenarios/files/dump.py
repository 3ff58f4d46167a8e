"""A scenario written back as YAML or plain mappings: the fields that differ from their defaults, or all."""

import re
from collections.abc import Mapping
from io import StringIO
from typing import Any, cast

from pydantic import BaseModel
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from scenarios.files.document import Tree
from scenarios.files.models import tag_field

WIDE = 110
"""Columns of a line, as far as texts and numbers let it."""
BARE = re.compile(r"[^\W_]")
"""How a text begins that may stand without quotes."""
TRUTHS = ("yes", "no", "on", "off")
"""Texts that older versions of YAML read as truth values."""


def dump(scenario: BaseModel, full: bool = False) -> str:
    """YAML that `load` reads as the same scenario; `full`: with every default. Fields are in the schema's order."""
    yaml: Any = cast("Any", YAML)()
    yaml.Representer = _Representer
    yaml.width, yaml.allow_unicode = WIDE, True
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = StringIO()
    yaml.dump(_node(as_mappings(scenario, full), 0), stream)
    # what acts on a terminal stands in double quotes alone, where it is an escape
    return "".join(one if one.isprintable() or one == "\n" else f"\\U{ord(one):08x}" for one in stream.getvalue())


def as_mappings(model: BaseModel, full: bool = False) -> Tree:
    """A model as the mappings and lists of its file; `full`: with every default."""
    names = list(type(model).model_fields) if full else differing(model)
    first = [name for name in (tag_field(type(model)), "kind", "name") if name in names]
    found = {name: _plain(getattr(model, name), full) for name in dict.fromkeys([*first, *names])}
    if full:
        return found
    again = type(model).model_validate(found)  # of two models that look alike but for a default, that has to stand
    alike = [name for name in found if type(getattr(again, name)) is not type(getattr(model, name))]
    return found | {name: _plain(getattr(model, name), True) for name in alike}


def differing(model: BaseModel) -> list[str]:
    """The fields that a file needs: the tag, those without a default, and those that differ from it (a default may
    depend on other fields: the ridge of an mlp)."""
    kind, tag = type(model), tag_field(type(model))
    own = {name: _plain(getattr(model, name), True) for name in kind.model_fields}
    known = {name: field.get_default(call_default_factory=True) for name, field in kind.model_fields.items()}
    # compared in words, to the type and the last bit: −0.0 is not 0.0, nor 1 1.0
    names = [
        name
        for name, field in kind.model_fields.items()
        if name == tag or field.is_required() or repr(own[name]) != repr(_plain(known[name], True))
    ]
    again = kind.model_validate({name: own[name] for name in names})
    return [name for name in own if name in names or repr(own[name]) != repr(_plain(getattr(again, name), True))]


def _plain(value: Any, full: bool) -> Any:
    if isinstance(value, BaseModel):
        return as_mappings(value, full)
    if isinstance(value, list):
        return [_plain(one, full) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _plain(one, full) for key, one in cast("Tree", value).items()}
    return value


# ── YAML ────────────────────────────────────────────────────────────────────────────────────────────────


class _Representer(RoundTripRepresenter):
    """Null as a word: ruamel leaves the place empty."""


def _null(representer: Any, _: None) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:null", "null")


cast(Any, _Representer).add_representer(type(None), _null)


def _node(value: Any, depth: int) -> Any:
    """The same with a style: in one line where that is short, but for the file itself."""
    if isinstance(value, Mapping):
        fields = cast("Tree", value).items()
        node: Any = CommentedMap((_scalar(key), _node(one, depth + 1)) for key, one in fields)
    elif isinstance(value, list):
        node = CommentedSeq(_node(one, depth + 1) for one in cast("list[Any]", value))
    else:
        return _scalar(value)
    short = 2 * depth + len(str(cast(Any, value))) <= WIDE
    numbers = isinstance(value, list) and not any(isinstance(one, Mapping | list) for one in cast("list[Any]", value))
    if depth and (short or numbers) and not _deep(cast(Any, value)):
        node.fa.set_flow_style()
    return node


def _deep(value: Any) -> bool:
    """Whether a value is better read over several lines: a list of mappings, or a mapping with one inside of one."""
    if isinstance(value, list):
        return any(isinstance(one, Mapping) for one in cast("list[Any]", value))
    inner = [*cast("Tree", value).values()] if isinstance(value, Mapping) else []
    return any(_deep(one) or (isinstance(one, Mapping) and len(inner) > 1) for one in inner)


def _scalar(value: Any) -> Any:
    # ruamel leaves ?0 bare in a flow mapping, where it is the key 0
    if isinstance(value, str) and (BARE.match(value) is None or not value.isprintable() or value.lower() in TRUTHS):
        return DoubleQuotedScalarString(value)
    return value
