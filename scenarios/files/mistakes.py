"""Error messages from pydantic's findings: field, value, line and what is allowed there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError

from netsim.errors import ScenarioError, together
from scenarios.files.document import Key, Place, Tree, dotted, keys_of, place_of, plain
from scenarios.files.hints import alone_in, inside, near, near_text, of_no_form, of_the_wrong_type
from scenarios.files.library import EXTENDS, is_set
from scenarios.files.models import literals, models_in, tag_field

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
BOUNDS = {
    "greater_than": "> {gt}",
    "greater_than_equal": ">= {ge}",
    "less_than": "< {lt}",
    "less_than_equal": "<= {le}",
    "too_short": "at least {min_length} entries",
    "too_long": "at most {max_length} entries",
    "string_too_short": "text that is not empty",
    "string_pattern_mismatch": "small letters, digits and hyphens: {pattern}",
    "finite_number": "a finite number",
}
OWN_ALGORITHM = (
    " (an algorithm of your own: kind: python, path: FILE.py:CLASS, parameters: {…}; or netsim audit FILE.py:CLASS)"
)
Path = list[Key]
M = TypeVar("M", bound=BaseModel)
FEW = 5
"""Forms with a tag that a message lists one by one; of more it lists the tags."""


def validated(model: type[M], tree: Any, file: str, settings: Sequence[str] = ()) -> M:
    """A tree of a file, or plain mappings and lists (whose errors are at line 1), as a model.

    Raises one `ScenarioError` with every mistake; one in a field that `settings` set on the command line names the
    setting and has no line.
    """
    try:
        return model.model_validate({key: value for key, value in plain(tree).items() if key != EXTENDS})
    except ValidationError as error:
        found = mistakes(error, tree, file, model).each()
        raise together(
            [
                replace(one, field=f"-o {one.field}", file=None, line=None) if is_set(one.field, settings) else one
                for one in found
            ]
        ) from None


def mistakes(error: ValidationError, tree: Any, file: str | None, root: type[BaseModel]) -> ScenarioError:
    """One error with every mistake of a `tree` that was to be a `root`, in the order of their lines.

    Without a file they have no places. Where a field may take several forms, and nothing says which one is meant, the
    mistake of the likeliest is reported.
    """
    found = _Mistakes(tree, root, file or "").all(error)
    return together(found if file is not None else [replace(one, file=None, line=None) for one in found])


@dataclass(frozen=True)
class _Mistakes:
    tree: Any
    root: type[BaseModel]
    file: str

    def all(self, error: ValidationError) -> list[ScenarioError]:
        groups: dict[tuple[Key, ...], list[tuple[Path, Any]]] = {}
        for one in error.errors(include_url=False):
            if (keys := self._path(one["loc"])) is None:
                continue
            groups.setdefault(tuple(self._unsettled(keys)), []).append((keys, one))
        best = [max(group, key=lambda pair: (len(pair[0]), _weight(pair[1]))) for group in groups.values()]
        paths = [keys for keys, _ in best]
        valued = [keys for keys, one in best if one["type"] in BOUNDS]
        found = [
            self._error(keys, one)
            for keys, one in best
            if not (_weight(one) == 1 and any(_inside(other, keys) for other in paths))
            and not (one["type"] == "union_tag_not_found" and any(_inside(other, keys) for other in valued))
        ]
        misspelt = {_meant(one) for one in found}
        found = [one for one in found if not (one.problem == "missing" and one.field in misspelt)]
        found = [*(one for one in found if not _flat_list(one)), *self._flat_lists(found)]
        return sorted(found, key=lambda one: (one.file != self.file, one.file or "", one.line or 0))

    def _error(self, keys: Path, error: Any) -> ScenarioError:
        value = None if error["type"] == "missing" else _at(self.tree, keys)
        problem, allowed = self._explain(error, keys, value)
        if error["type"].startswith("union_tag"):
            context = error.get("ctx", {})
            keys, value = [*keys, str(context.get("discriminator")).strip("'")], context.get("tag")
        place = where(self.tree, keys, self.file)
        if not keys and self.file:
            return ScenarioError("file", self.file, problem, allowed, place.file, place.line)
        return ScenarioError(dotted(keys) or "scenario", plain(value), problem, allowed, place.file, place.line)

    def _path(self, loc: tuple[Key, ...]) -> Path | None:
        """Pydantic's location without the names of union members, which are no keys of the file; None of a member
        that the file does not mean."""
        keys: Path = []
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
            elif isinstance(node, Mapping) and key in self._not_meant(keys):
                return None
            else:
                continue
            keys.append(key)
            tag = self._tag(keys, node)
        return keys

    def _not_meant(self, keys: Sequence[Key]) -> set[str]:
        """The members of a union without tags that fit a mapping's fields less well than the one that fits best."""
        models = self._models_at(keys)
        fits = {model.__name__: len(model.model_fields.keys() & _at(self.tree, keys).keys()) for model in models}
        best = [name for name, fit in fits.items() if fit == max(fits.values())]
        return set(fits) - set(best) if len(best) == 1 else set()

    def _tag(self, keys: Sequence[Key], node: Any) -> str | None:
        """What a mapping says it is, where there are several things it can be."""
        if not isinstance(node, Mapping):
            return None
        tags = (tag_field(model) for model in self._models_at(keys))
        return next((cast(Tree, node).get(tag) for tag in tags if tag is not None), None)

    def _flat_lists(self, found: Sequence[ScenarioError]) -> list[ScenarioError]:
        """In place of an error for each entry of a list that was to be a list of lists, one of the list."""
        lists = dict.fromkeys(field for one in found if (field := _flat_list(one)))
        flat: list[ScenarioError] = []
        for field in lists:
            keys, value = keys_of(field), plain(_at(self.tree, keys_of(field)))
            place = where(self.tree, keys, self.file)
            problem = f"wrong type: a list of no lists; did you mean [{value}]?"
            flat.append(ScenarioError(field, value, problem, "a list of lists", place.file, place.line))
        return flat

    # ── in words ────────────────────────────────────────────────────────────────────────────────────────
    def _explain(self, error: Any, keys: Sequence[Key], value: Any) -> tuple[str, str]:
        kind, context = error["type"], error.get("ctx", {})
        if kind in ("extra_forbidden", "missing"):
            forms = [list(model.model_fields) for model in self._models_at(keys[:-1])]
            if kind == "missing":
                return "missing", _forms(forms) if len(forms) > 1 else ""
            inner = "" if near(str(keys[-1]), [one for form in forms for one in form]) else (
                inside(str(keys[-1]), value, self._models_at(keys[:-1]))
            )  # fmt: skip
            return "unknown field" + (inner or near_text(str(keys[-1]), forms, self.root, keys)), _forms(forms)
        if kind.startswith("union_tag"):
            return self._explain_tag(kind, context, keys)
        several = self._alternatives(keys)
        if len(several) > 1 and _weight(error) == 1:
            models = [model for one in self._annotations_at(keys) for model in models_in(one)]
            hint = near(value, self._literals_at(keys)) or of_no_form(value, several, models)
            return "not one of the allowed values" + hint, _either(several)
        if kind == "literal_error":
            hint = near(value, self._literals_at(keys)) or of_the_wrong_type(value, "text", bare=True)
            return "not one of the allowed values" + hint, str(context["expected"])
        if kind == "string_pattern_mismatch":
            slug = re.sub(r"[^a-z0-9]+", "-", str(value).lower()).strip("-")
            hint = f"; did you mean {slug!r}?" if slug else ""
            return f"not of the form of a name{hint}", BOUNDS[kind].format(**context)
        if kind in BOUNDS:
            return "out of range", BOUNDS[kind].format(**context).replace("1 entries", "one entry")
        if kind == "int_from_float":
            return of_the_wrong_type(value, "a whole number"), "a whole number"
        if kind.endswith(("_type", "_parsing")):
            wanted = WANTED.get(kind.removesuffix("_type").removesuffix("_parsing"), str(error["msg"]))
            models = [model for one in self._annotations_at(keys) for model in models_in(one)]
            hint = alone_in(value, models) if wanted == WANTED["model"] else ""
            return (f"wrong type: a number{hint}" if hint else of_the_wrong_type(value, wanted)), wanted
        return str(error["msg"]).removeprefix("Value error, "), ""

    def _explain_tag(self, kind: str, context: Any, keys: Sequence[Key]) -> tuple[str, str]:
        if kind == "union_tag_not_found":
            there = [(model, tag_field(model)) for model in self._models_at(keys)]
            return "missing", ", ".join(str(value) for model, tag in there if tag for value in literals(model, tag))
        tags = str(context.get("expected_tags", "")).replace("'", "")
        own = OWN_ALGORITHM if keys[:1] == ["algorithms"] and len(keys) == 2 else ""
        hint = near(context.get("tag"), tags.split(", "))
        return f"unknown {context['discriminator'].strip(chr(39))}{hint or own}", tags

    # ── what the schema says of a place ─────────────────────────────────────────────────────────────────
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
                models = [one for field in fields for one in models_in(field.annotation)]
            else:
                named_by_user = False
            models = _fitting(models, node)
        return models

    def _annotations_at(self, keys: Sequence[Key]) -> list[Any]:
        """The annotation of the field at a path; none of an entry of a list."""
        if not keys or not isinstance(keys[-1], str):
            return []
        models = self._models_at(keys[:-1])
        return [model.model_fields[keys[-1]].annotation for model in models if keys[-1] in model.model_fields]

    def _alternatives(self, keys: Sequence[Key]) -> list[str]:
        """In words, the forms that the value of a field may take."""
        return list(dict.fromkeys(word for one in self._annotations_at(keys)[:1] for word in _words(one)))

    def _literals_at(self, keys: Sequence[Key]) -> list[str]:
        """The words that a field may be, or an entry of a list."""
        named = [*keys]
        while named and isinstance(named[-1], int):
            named.pop()
        return [str(one) for annotation in self._annotations_at(named) for one in _all_literals(annotation)]

    def _unsettled(self, keys: Path) -> Path:
        """The path of the outermost field on the way that may take several forms, where its value does not say which
        one is meant: errors of other forms lie in it."""
        for length in range(1, len(keys) + 1):
            part = keys[:length]
            if len(self._alternatives(part)) > 1 and not self._is_settled(part):
                return part
        return keys

    def _is_settled(self, keys: Path) -> bool:
        around: Any = _at(self.tree, keys[:-1])
        if isinstance(around, Mapping) and keys[-1] not in around:
            return True
        node = _at(around, keys[-1:])
        if isinstance(node, list):
            return any(get_origin(one) is list for field in self._annotations_at(keys) for one in _members(field))
        if not isinstance(node, Mapping):
            return False
        models = self._models_at(keys)
        return all(map(tag_field, models)) or len(models) - len(self._not_meant(keys)) == 1


def where(tree: Any, keys: Sequence[Key], file: str) -> Place:
    """The place of a field, or of the nearest enclosing one that stands in a file; the file's first line, or the line
    of its `extends`, where there is none."""
    found, node = place_of(tree, EXTENDS) or Place(file, 1), tree
    for key in keys:
        found = place_of(node, key) or found
        try:
            node = node[key]
        except (KeyError, IndexError, TypeError):
            break
    return found


def _words(annotation: Any) -> Iterator[str]:
    """The forms that an annotation allows, in words."""
    kinds = {int: "int", float: "float", str: "string", bool: "bool", list: "list"}
    origin = get_origin(annotation)
    if origin is Literal:
        yield from map(repr, get_args(annotation))
    elif origin is Annotated:
        yield from _words(get_args(annotation)[0])
    elif annotation in kinds or origin is list:
        yield WANTED[kinds.get(annotation, "list")]
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        tag = tag_field(annotation)
        if tag:
            yield f"{{{tag}: {' or '.join(map(str, literals(annotation, tag)))}, …}}"
        else:
            yield "{" + ", ".join(f"{name}: …" for name in annotation.model_fields) + "}"
    elif annotation is not type(None):
        for argument in get_args(annotation):
            yield from _words(argument)


# ── small things ────────────────────────────────────────────────────────────────────────────────────────


def _weight(error: Any) -> int:
    """Of the errors of one field, one for each form it may take: a wrong value says more than a wrong type."""
    kind: str = error["type"]
    if kind == "missing":
        return 0
    if kind in ("literal_error", "int_from_float") or kind.endswith(("_type", "_parsing")):
        return 1
    return 2 if kind.startswith("union_tag") else 3


def _meant(error: ScenarioError) -> str:
    """The field that an unknown one beside it was to be."""
    match = re.fullmatch(r"unknown field; did you mean '(\w+)'(, with a space after the colon)?\?", error.problem)
    return dotted([*keys_of(error.field)[:-1], match[1]]) if match else ""


def _flat_list(error: ScenarioError) -> str:
    """The list that an error is an entry of, where that was to be a list and is a number."""
    keys = keys_of(error.field)
    flat = isinstance(keys[-1], int) and error.allowed == WANTED["list"] and isinstance(error.value, int | float)
    return dotted(keys[:-1]) if flat else ""


def _inside(inner: Path, outer: Path) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _fitting(models: list[type[BaseModel]], node: Any) -> list[type[BaseModel]]:
    if not isinstance(node, Mapping):
        return models
    written = cast(Tree, node)
    tags = {model: tag_field(model) for model in models}
    return [m for m, tag in tags.items() if tag and written.get(tag) in literals(m, tag)] or models


def _all_literals(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    elif not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        for argument in get_args(annotation):
            yield from _all_literals(argument)


def _members(annotation: Any) -> Iterator[Any]:
    """The members of a union, of any depth; the annotation itself where it is none."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _members(inner[0])
    elif inner and origin not in (list, dict, Literal):
        for one in inner:
            yield from _members(one)
    else:
        yield annotation


def _forms(forms: list[list[str]]) -> str:
    return "; or ".join(", ".join(form) for form in forms)


def _either(alternatives: list[str]) -> str:
    tagged = [one for one in alternatives if re.fullmatch(r"\{\w+: \w+, …\}", one)]
    if len(tagged) > FEW:
        tags = ", ".join(one.split()[1].rstrip(",") for one in tagged)
        first = alternatives.index(tagged[0])
        others = [one for one in alternatives if one not in tagged]
        alternatives = [*others[:first], f"{{{tagged[0].split(':')[0][1:]}: …}} of {tags}", *others[first:]]
    if len(alternatives) == 1:
        return alternatives[0]
    return ", ".join(alternatives[:-1]) + f" or {alternatives[-1]}"


def _at(tree: Any, keys: Sequence[Key]) -> Any:
    node = tree
    for key in keys:
        node = node[key]
    return node
