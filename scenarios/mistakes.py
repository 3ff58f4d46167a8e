"""What is wrong with a file, from what pydantic says: field, value, line, and what is allowed there."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError

from netsim.errors import ScenarioError
from scenarios.inheritance import line_of_base
from scenarios.tree import Key

WANTED = {
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "bool": "true or false",
    "list": "a list",
    "model": "a mapping of fields",
    "dict": "a mapping of fields",
    "model_attributes": "a mapping of fields",
}
OWN_ALGORITHM = (
    " (an algorithm of your own: kind: python, path: FILE.py:CLASS, parameters: {…}; or netsim audit FILE.py:CLASS)"
)


def first_error(error: ValidationError, tree: Any, file: str, root: type[BaseModel]) -> ScenarioError:
    """The error that says most about a file's `tree`, which was to be a `root`."""
    return _Mistakes(tree, root).first(error, file)


def plain(tree: Any) -> Any:
    """Ruamel's containers and scalars as Python's own."""
    if isinstance(tree, Mapping):
        return {str(k): plain(v) for k, v in cast(Mapping[Any, Any], tree).items()}
    if isinstance(tree, list):
        return [plain(v) for v in cast(list[Any], tree)]
    for kind in (bool, int, float, str):
        if isinstance(tree, kind):
            return kind(tree)
    return tree


@dataclass(frozen=True)
class _Mistakes:
    tree: Any
    root: type[BaseModel]

    def first(self, error: ValidationError, file: str) -> ScenarioError:
        """The error that says most: the deepest, at a field that was written, and of what fits its value best."""
        found = [(self._path(e["loc"]), e) for e in error.errors(include_url=False)]
        keys, chosen = max(found, key=lambda pair: (len(pair[0]), _weight(pair[1])))
        union = self._union_around(keys)
        others = len({tuple(path) for path, _ in found if path[: len(union)] != union})
        problem, allowed = self._explain(chosen, keys)
        if others:
            problem += f" (and {others} more)"
        value = _value(self.tree, keys, chosen)
        if chosen["type"].startswith("union_tag"):
            context = chosen.get("ctx", {})
            keys, value = [*keys, str(context.get("discriminator")).strip("'")], context.get("tag")
        return ScenarioError(_dotted(keys), value, problem, allowed, file, line_of(self.tree, keys))

    def _path(self, loc: tuple[Key, ...]) -> list[Key]:
        """Pydantic's location without the names of union members, which are no keys of the file."""
        keys: list[Key] = []
        node, tag = self.tree, None
        for position, key in enumerate(loc):
            last = position == len(loc) - 1
            if tag is not None and key == tag:
                tag = None  # the member that was chosen, even where a field has the same name
                continue
            if isinstance(node, Mapping) and key in node:
                node = cast(Mapping[Any, Any], node)[key]
            elif isinstance(node, list) and isinstance(key, int) and key < len(cast(list[Any], node)):
                node = cast(list[Any], node)[key]
            elif last and isinstance(node, Mapping) and isinstance(key, str) and key.isidentifier():
                return [*keys, key]  # a missing field
            else:
                continue
            keys.append(key)
            tag = self._tag(keys, node)
        return keys

    def _tag(self, keys: Sequence[Key], node: Any) -> str | None:
        """What a mapping says it is, where there are several things it can be."""
        if not isinstance(node, Mapping):
            return None
        tags = (_tag_field(model) for model in self._models_at(keys))
        return next((cast(Mapping[str, Any], node).get(tag) for tag in tags if tag is not None), None)

    def _explain(self, error: Any, keys: Sequence[Key]) -> tuple[str, str]:
        kind, context = error["type"], error.get("ctx", {})
        if kind == "extra_forbidden":
            forms = [list(model.model_fields) for model in self._models_at(keys[:-1])]
            near = difflib.get_close_matches(str(keys[-1]), [name for form in forms for name in form], n=1)
            return "unknown field" + (f"; did you mean {near[0]!r}?" if near else ""), _forms(forms)
        if kind == "missing":
            forms = [list(model.model_fields) for model in self._models_at(keys[:-1])]
            return "missing", _forms(forms) if len(forms) > 1 else ""
        if kind in ("union_tag_invalid", "union_tag_not_found"):
            tags = str(context.get("expected_tags", "")).replace("'", "")
            if kind == "union_tag_not_found":
                return "missing", ", ".join(self._tags_at(keys))
            own = OWN_ALGORITHM if keys[:1] == ["algorithms"] and len(keys) == 2 else ""
            return f"unknown {context['discriminator'].strip(chr(39))}{own}", tags
        several = self._alternatives(keys)
        if len(several) > 1 and _weight(error) == 1:
            return "not one of the allowed values", _either(several)
        if kind == "literal_error":
            return "not one of the allowed values", str(context["expected"])
        bounds = {
            "greater_than": "> {gt}",
            "greater_than_equal": ">= {ge}",
            "less_than": "< {lt}",
            "less_than_equal": "<= {le}",
            "too_short": "at least {min_length} entries",
            "too_long": "at most {max_length} entries",
            "string_pattern_mismatch": "letters, digits and hyphens: {pattern}",
            "finite_number": "a finite number",
        }
        if kind in bounds:
            return "out of range", bounds[kind].format(**context)
        if kind.endswith(("_type", "_parsing")):
            return "wrong type", WANTED.get(kind.removesuffix("_type").removesuffix("_parsing"), str(error["msg"]))
        return str(error["msg"]).removeprefix("Value error, "), ""

    def _models_at(self, keys: Sequence[Key]) -> list[type[BaseModel]]:
        """What a mapping at this place may be: one model where there is one, or a tag says which; else all."""
        models: list[type[BaseModel]] = [self.root]
        node: Any = self.tree
        named_by_user = False  # the keys of a dict are no fields
        for key in keys:
            node = node[key]
            if isinstance(key, str) and not named_by_user:
                fields = [model.model_fields[key] for model in models if key in model.model_fields]
                named_by_user = any(get_origin(field.annotation) is dict for field in fields)
                models = [one for field in fields for one in _models_in(field.annotation)]
            else:
                named_by_user = False
            models = _fitting(models, node)
        return models

    def _tags_at(self, keys: Sequence[Key]) -> list[str]:
        models = self._models_at(keys)
        return [str(value) for m in models if (tag := _tag_field(m)) for value in _literals(m, tag)]

    def _alternatives(self, keys: Sequence[Key]) -> list[str]:
        """In words, the forms that the value of a field may take."""
        if not keys or not isinstance(keys[-1], str):
            return []
        for model in self._models_at(keys[:-1]):
            if keys[-1] in model.model_fields:
                return list(dict.fromkeys(words(model.model_fields[keys[-1]].annotation)))
        return []

    def _union_around(self, keys: list[Key]) -> list[Key]:
        """The path of the outermost field on the way that may take several forms; errors of other forms lie in it."""
        for length in range(1, len(keys) + 1):
            if len(self._alternatives(keys[:length])) > 1:
                return keys[:length]
        return keys


def _weight(error: Any) -> int:
    """Of the errors of one field, one for each form it may take: a wrong value says more than a wrong type."""
    kind: str = error["type"]
    if kind == "missing":
        return 0
    if kind == "literal_error" or kind.endswith(("_type", "_parsing")):
        return 1
    return 2 if kind.startswith("union_tag") else 3


def _fitting(models: list[type[BaseModel]], node: Any) -> list[type[BaseModel]]:
    if not isinstance(node, Mapping):
        return models
    written = cast(Mapping[str, Any], node)
    tags = {model: _tag_field(model) for model in models}
    return [m for m, tag in tags.items() if tag and written.get(tag) in _literals(m, tag)] or models


def _tag_field(model: type[BaseModel]) -> str | None:
    """The field that tells a member of a union from the others: a required literal."""
    names = (name for name in ("kind", "name", "measure", "law") if name in model.model_fields)
    return next((name for name in names if model.model_fields[name].is_required() and _literals(model, name)), None)


def _literals(model: type[BaseModel], field: str) -> tuple[Any, ...]:
    annotation = model.model_fields[field].annotation
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def words(annotation: Any) -> Iterator[str]:
    """The forms that an annotation allows, in words."""
    plain = {int: "int", float: "float", str: "string", bool: "bool", list: "list"}
    origin = get_origin(annotation)
    if origin is Literal:
        yield from map(repr, get_args(annotation))
    elif origin is Annotated:
        yield from words(get_args(annotation)[0])
    elif annotation in plain or origin is list:
        yield WANTED[plain.get(annotation, "list")]
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        tag = _tag_field(annotation)
        if tag:
            yield f"{{{tag}: {' or '.join(map(str, _literals(annotation, tag)))}, …}}"
        else:
            yield f"{{{', '.join(f'{name}: …' for name in annotation.model_fields)}}}"
    elif origin is not None:
        for argument in get_args(annotation):
            yield from words(argument)


def _forms(forms: list[list[str]]) -> str:
    return "; or ".join(", ".join(form) for form in forms)


def _either(alternatives: list[str]) -> str:
    return ", ".join(alternatives[:-1]) + f" or {alternatives[-1]}"


def _value(tree: Any, keys: Sequence[Key], error: Any) -> object:
    if error["type"] == "missing":
        return None
    node = tree
    for key in keys:
        node = node[key]
    return plain(node)


def line_of(tree: Any, keys: Sequence[Key]) -> int:
    """1-based line of a field, or of the nearest enclosing one that stands in the file."""
    line, node = line_of_base(tree), tree
    for key in keys:
        try:
            line = node.lc.data[key][0] + 1
            node = node[key]
        except (KeyError, IndexError, AttributeError, TypeError):
            break
    return line


def _dotted(keys: Sequence[Key]) -> str:
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return text.lstrip(".") or "scenario"
