"""Error messages from pydantic's findings: field, value, line and what is allowed there."""

import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from netsim.errors import ScenarioError, did_you_mean, together
from scenarios.files.document import Key, Place, Tree, dotted, keys_of, place_of, plain, plain_scalar, setting
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
    "dataclass": "a mapping of fields",
    "tuple": "a list",
    "model_attributes": "a mapping of fields",
}
BOUNDS = {
    "greater_than": "> {gt}",
    "greater_than_equal": ">= {ge}",
    "less_than": "< {lt}",
    "less_than_equal": "<= {le}",
    "too_short": "at least {min_length} entries",
    "too_long": "at most {max_length} entries",
    "string_too_long": "at most {max_length} characters",
    "string_too_short": "text that is not empty",
    "string_pattern_mismatch": "small letters, digits and hyphens: {pattern}",
    "finite_number": "a finite number",
}
ENDS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
OWN_ALGORITHM = (
    " (an algorithm of your own: kind: python, path: FILE.py:CLASS, parameters: {…}; or netsim audit FILE.py:CLASS)"
)
Path = list[Key]
M = TypeVar("M", bound=BaseModel)
FEW = 5
"""Forms with a tag that a message lists one by one; of more it lists the tags."""


def validated(
    model: type[M], tree: Any, file: str, settings: Sequence[str] = (), wrong: Sequence[ScenarioError] = ()
) -> M:
    """A tree of a file, or plain mappings and lists (whose errors are at line 1), as a model.

    Raises one `ScenarioError` with every mistake, after what else is `wrong`; one in a field that `settings` set on
    the command line names the setting and has no line.
    """
    try:
        found = model.model_validate({key: value for key, value in plain(tree).items() if key != EXTENDS})
    except ValidationError as error:
        own = as_set(mistakes(error, tree, file, model).each(), settings, tree)
        raise together([*wrong, *own]) from None
    if wrong:
        raise together(wrong)
    return found


def as_set(errors: Sequence[ScenarioError], settings: Sequence[str], tree: Any) -> list[ScenarioError]:
    """The mistakes of a tree; that of a field which a setting gave its value has the setting's name, and no line."""
    return [
        replace(one, field=f"-o {one.field}", file=None, line=None) if is_set(one.field, settings, tree) else one
        for one in errors
    ]


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
            # of the outermost field on the way that may take several forms, and whose value does not say which one
            parts = (keys[:length] for length in range(1, len(keys) + 1))
            unsettled = (part for part in parts if len(self._alternatives(part)) > 1 and not self._is_settled(part))
            groups.setdefault(tuple(next(unsettled, keys)), []).append((keys, one))
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
        # in place of an error for each entry of a list that was to be a list of lists, one of the list
        for field in dict.fromkeys(flat for one in found if (flat := _flat_list(one))):
            keys, value = keys_of(field), plain(_at(self.tree, keys_of(field)))
            place = where(self.tree, keys, self.file)
            hint = f"; did you mean [{setting(value)}]?" if self._is_allowed(keys, [value]) else ""
            problem = f"wrong type: a list of no lists{hint}"
            found.append(ScenarioError(field, value, problem, "a list of lists", place.file, place.line))
        found = [one for one in found if not _flat_list(one)]
        return sorted(found, key=lambda one: (one.file != self.file, one.file or "", one.line or 0))

    def _error(self, keys: Path, error: Any) -> ScenarioError:
        if (entry := error.get("ctx", {}).get("entry")) is not None:  # the one of a list that is wrong
            keys = [*keys, entry]
        value = None if error["type"] == "missing" else _at(self.tree, keys)
        problem, allowed = self._explain(error, keys, value)
        if error["type"].startswith("union_tag"):
            context = error.get("ctx", {})
            tag = str(context.get("discriminator")).strip("'")
            keys, value = [*keys, tag], _at(self.tree, [*keys, tag]) if "tag" in context else None
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
                node = cast("Mapping[Any, Any]", node)[key]
            elif isinstance(node, list) and isinstance(key, int) and key < len(cast("list[Any]", node)):
                node = cast("list[Any]", node)[key]
            elif last and isinstance(node, Mapping) and isinstance(key, str) and key.isidentifier():
                return [*keys, key]  # a missing field
            elif isinstance(node, Mapping) and key in self._not_meant(keys):
                return None
            else:
                continue
            keys.append(key)
            tags = map(tag_field, self._models_at(keys)) if isinstance(node, Mapping) else ()
            tag = next((cast("Tree", node).get(one) for one in tags if one is not None), None)
        return keys

    def _not_meant(self, keys: Sequence[Key]) -> set[str]:
        """The members of a union that a mapping's tag does not name; without a tag those that fit its fields less
        well than the one that fits best."""
        models, every = self._models_at(keys), {model.__name__ for model in self._models_at(keys, tagged=False)}
        if len(models) < len(every):
            return every - {model.__name__ for model in models}
        fits = {model.__name__: len(model.model_fields.keys() & _at(self.tree, keys).keys()) for model in models}
        best = [name for name, fit in fits.items() if fit == max(fits.values())]
        return set(fits) - set(best) if len(best) == 1 else set()

    # ── in words ────────────────────────────────────────────────────────────────────────────────────────
    def _explain(self, error: Any, keys: Sequence[Key], value: Any) -> tuple[str, str]:
        kind, context = error["type"], error.get("ctx", {})
        if kind in ("extra_forbidden", "missing"):
            models, name = self._models_at(keys[:-1]), str(keys[-1])
            forms = [list(model.model_fields) for model in models]
            allowed = "; or ".join(map(", ".join, forms))
            if kind == "missing":
                return "missing", allowed if len(forms) > 1 else self._form_at(keys)
            if tags := self._tags_at(keys):
                hint = _near(value, tags, TAG) or _constant(value, _at(self.tree, keys[:-1]))
                return f"unknown {name}{hint}", self._form_at(keys[:-1]) or ", ".join(tags)
            free = next((one for model in models for one in _free_fields(model)), "")
            if free and SAID.get(name) not in forms[0] and not _near(name, forms[0], 0.75):
                shown = "…" if isinstance(value, Mapping | list) else setting(cast(object, value))
                ways = [f"{one}: {{{name}: {shown}}}" for one in (*_inner(models[0], name), free)]
                return f"unknown field; did you mean {', or '.join(ways)}?", allowed
            beside = [one for form in forms for one in form]
            inner = "" if _near(name, beside) and SAID.get(name) not in beside else _alone_inside(name, value, models)
            inner = (
                inner or self._only_missing(keys, models) or _after_a_comma(name, value, _at(self.tree, keys[:-1]))
            )
            lists = [key for key, entries in self.tree.items() if isinstance(entries, list) and entries]
            return "unknown field" + (
                inner or self._of_another(keys) or _near_text(name, models, self.root, keys, lists)
            ), allowed
        if kind.startswith("union_tag"):
            return self._explain_tag(kind, context, keys)
        several = self._alternatives(keys)
        models = [model for one in self._annotations_at(keys) for model in models_in(one)]
        if len(several) > 1 and _weight(error) == 1:
            hint = _near(value, self._literals_at(keys)) or _of_no_form(value, several, models)
            return "not one of the allowed values" + hint, _either(several)
        if kind == "literal_error":
            hint = _near(value, self._literals_at(keys)) or of_the_wrong_type(value, "text", bare=True)
            return "not one of the allowed values" + hint, str(context["expected"])
        if kind == "string_pattern_mismatch":
            slug = re.sub(r"[^a-z0-9]+", "-", str(value).lower()).strip("-")
            hint = did_you_mean([slug] if slug else [])
            return f"not of the form of a name{hint}", BOUNDS[kind].format(**context)
        if kind in BOUNDS:
            allowed = self._range_at(keys, context) or BOUNDS[kind].format(**context)
            character = CHARACTERS.get(str(value).lower(), "") if context.get("max_length") == 1 else ""
            hint = f"; did you mean {character}?" if character else _of_hundred(value, context, allowed)
            allowed = re.sub(
                r"1 (entr|character)(ies|s)", lambda few: f"one {few[1]}{'y' * (few[2] == 'ies')}", allowed
            )
            return f"out of range{hint}", allowed + self._of_another_kind(keys)
        whole = int(value) if isinstance(value, float) and value.is_integer() and kind.startswith("int_") else None
        if whole is not None and (refused := self._refused(keys, whole)) is not None:
            return self._explain(refused, keys, whole)
        if kind == "int_from_float":
            return of_the_wrong_type(value, "a whole number"), "a whole number"
        if kind.endswith(("_type", "_parsing")):
            wanted = WANTED.get(kind.removesuffix("_type").removesuffix("_parsing"), str(error["msg"]))
            models = models or (self._models_at(keys) if isinstance(keys[-1], int) else [])
            form = next(_words(models[0])) if len(models) == 1 else ""
            form = form if form.count("…") <= FEW else ""
            if wanted == WANTED["list"]:
                hint = _nested(keys, value) or self._as_list(keys, value, models)
                return f"wrong type: {_kind(value)}{hint}", f"{wanted} of {form}" if form else wanted
            if wanted != WANTED["model"]:
                return of_the_wrong_type(value, wanted), wanted
            fields = list(models[0].model_fields) if len(models) == 1 else []
            tags = {tag_field(one) for one in models}
            tag = tags.pop() if len(tags) == 1 < len(models) else None
            forms = f"{{{tag}: …}} of {', '.join(_tags(models))}" if tag else ""
            allowed = form or forms or (f"{wanted}: {', '.join(fields)}" if fields else wanted)
            hint = _alone_in(value, models) or self._for_truth(keys, value)
            if not hint and isinstance(value, str):
                hint = _of_no_form(value, (), models)
            kind_of = "text" if isinstance(value, str) else _kind(value) if isinstance(value, bool) else "a number"
            return (f"wrong type: {kind_of}{hint}" if hint else of_the_wrong_type(value, wanted)), allowed
        return str(error["msg"]).removeprefix("Value error, "), str(context.get("allowed", ""))

    def _of_another_kind(self, keys: Sequence[Key]) -> str:
        """Some forms, by the words that tell them apart, that take the mapping around a value as it is otherwise."""
        there, own = plain(_at(self.tree, keys[:-1])), self._models_at(keys[:-1])
        found, tag = list[str](), None
        for model in self._models_at(keys[:-1], tagged=False) if isinstance(there, Mapping) else ():
            tag = tag_field(model)
            for word in literals(model, tag)[:1] if tag and model not in own else ():
                with suppress(ValidationError):
                    model.model_validate({**cast("Tree", there), tag: word})
                    found.append(str(word))
        return f"; or {tag}: {' or '.join(found[:3])}" if found else ""

    def _tags_at(self, keys: Sequence[Key]) -> list[str]:
        """The words of a field that tells the forms of a mapping apart, where its word is none of them; else none."""
        every = self._models_at(keys[:-1], tagged=False)
        words = [
            str(one) for model in every if tag_field(model) == keys[-1] for one in literals(model, str(keys[-1]))
        ]
        return [] if _at(self.tree, keys) in words else words

    def _form_at(self, keys: Sequence[Key]) -> str:
        """What may stand in this place, in words; "" of a mapping."""
        forms = [one for one in self._alternatives(keys) if one != WANTED["model"]]
        return _either(forms) if forms else ""

    def _as_list(self, keys: Sequence[Key], value: Any, models: Sequence[type[BaseModel]]) -> str:
        """A question that offers the list that a value was to be, where that would be right."""
        if isinstance(value, Mapping):
            there = cast("Tree", value)
            own = any(key in model.model_fields for model in models for key in there)
            return f"; did you mean {_written_as(there, WANTED['list'])}?" if own else ""
        if isinstance(value, str) and models:
            return re.sub(r"(\{.*\})", r"[\1]", _of_no_form(value, (), models))
        meant = f"[{value!r}]" if isinstance(value, BaseModel) else _written_as(value, WANTED["list"])
        return f"; did you mean {meant}?" if meant and self._is_allowed(keys, [value]) else ""

    def _for_truth(self, keys: Sequence[Key], value: object) -> str:
        """A question that offers a mapping of defaults for true, and no mapping for false, where they may stand."""
        if not isinstance(value, bool) or not self._is_allowed(keys, {} if value else None):
            return ""
        return "; did you mean {}, with every default?" if value else "; did you mean null?"

    def _is_allowed(self, keys: Sequence[Key], value: object) -> bool:
        """Whether a value is one that may stand at a place; yes where nothing is known of it."""
        return self._refused(keys, value) is None

    def _refused(self, keys: Sequence[Key], value: object) -> Any:
        """The first mistake of a value at a place; None of one that may stand there, and where nothing is known."""
        found: Any = None
        for one in self._annotations_at(keys, bounded=True):
            try:
                TypeAdapter[object](one).validate_python(value)
                return None
            except ValidationError as error:
                found = found or error.errors()[0]
        return found

    def _only_missing(self, keys: Sequence[Key], models: Sequence[type[BaseModel]]) -> str:
        """That a field is the one that is missing beside it, where one field is unknown there and one is missing."""
        there = cast("Tree", _at(self.tree, keys[:-1]))
        if len(models) != 1 or not str(keys[-1]).isidentifier():
            return ""
        fields = models[0].model_fields
        missing = [name for name, field in fields.items() if field.is_required() and name not in there]
        unknown = [name for name in there if name not in fields]
        return f"; did you mean {missing[0]!r}?" if len(missing) == 1 and unknown == [keys[-1]] else ""

    def _of_another(self, keys: Sequence[Key]) -> str:
        """That a field is one of another kind than the tag beside it names, and which tag that is."""
        every = self._models_at(keys[:-1], tagged=False)
        tags = [one for model in self._models_at(keys[:-1]) if (one := tag_field(model))]
        if not tags or not any(keys[-1] in model.model_fields for model in every):
            return ""
        return f" with {tags[0]}: {_at(self.tree, keys[:-1]).get(tags[0])}; other data or kinds have it"

    def _explain_tag(self, kind: str, context: Any, keys: Sequence[Key]) -> tuple[str, str]:
        if kind == "union_tag_not_found":
            there = [(model, tag_field(model)) for model in self._models_at(keys)]
            words = [str(value) for model, tag in there if tag for value in literals(model, tag)]
            tag = str(context.get("discriminator")).strip("'")
            others = {name for model, _ in there for name in model.model_fields if name != tag}
            return f"missing{_tag_in(_at(self.tree, keys), tag, words, keys, others)}", ", ".join(words)
        tags = str(context.get("expected_tags", "")).replace("'", "")
        own = OWN_ALGORITHM if keys[:1] == ["algorithms"] and len(keys) == 2 else ""
        tag = context.get("tag")
        hint = _near(tag, tags.split(", "), TAG)
        if not hint and "file" in tags.split(", ") and str(tag).lower() in ("graphml", "edgelist", "csv"):
            hint = "; did you mean {kind: file, path: …}?"
        if not hint and "csv" in tags.split(", ") and str(tag).endswith(".csv"):
            hint = f"; did you mean {{name: csv, path: {tag}}}?"
        return f"unknown {context['discriminator'].strip(chr(39))}{hint or own}", tags

    # ── what the schema says of a place ─────────────────────────────────────────────────────────────────
    def _models_at(self, keys: Sequence[Key], tagged: bool = True) -> list[type[BaseModel]]:
        """What a mapping at this place may be: one model where there is one, or, if `tagged`, a tag says which; else
        all."""
        models: list[type[BaseModel]] = [self.root]
        node: Any = self.tree
        named_by_user = False  # the keys of a dict are no fields
        for place, key in enumerate(keys, 1):
            node = node[key]
            if isinstance(key, str) and not named_by_user:
                fields = [model.model_fields[key] for model in models if key in model.model_fields]
                named_by_user = any(get_origin(field.annotation) is dict for field in fields)
                models = [one for field in fields for one in models_in(field.annotation)]
            else:
                named_by_user = False
            written: Tree = cast("Tree", node) if isinstance(cast("object", node), Mapping) else {}
            tags = [(model, tag_field(model)) for model in models if tagged or place < len(keys)]
            models = [m for m, tag in tags if tag and written.get(tag) in literals(m, tag)] or models
        return models

    def _annotations_at(self, keys: Sequence[Key], *, bounded: bool = False) -> list[Any]:
        """The annotation of the field at a path, `bounded`: with its bounds; none of an entry of a list."""
        if not keys or not isinstance(keys[-1], str):
            return []
        models = self._models_at(keys[:-1])
        fields = [model.model_fields[keys[-1]] for model in models if keys[-1] in model.model_fields]
        bounds = [one.metadata if bounded else [] for one in fields]
        found = [
            Annotated[one.annotation, *own] if own else one.annotation
            for one, own in zip(fields, bounds, strict=True)
        ]
        around = self._annotations_at(keys[:-1]) if not found else []  # the keys of a dict are no fields
        return found or [get_args(one)[1] for one in around if get_origin(one) is dict]

    def _range_at(self, keys: Sequence[Key], context: Any) -> str:
        """Both ends of the range of a number that has the one of which an error tells; "" where it has no other."""
        named = [*keys]
        while named and isinstance(named[-1], int):
            named.pop()
        fields = [model.model_fields.get(str(named[-1])) for model in self._models_at(named[:-1])] if named else []
        groups = [group for one in fields if one is not None for group in ([*one.metadata], *_limits(one.annotation))]
        for group in groups:
            ends = {name: end for one in group for name in ENDS if (end := getattr(one, name, None)) is not None}
            low, high = ([name for name in ends if name[0] == side] for side in "gl")
            if low and high and any(ends.get(name) == value for name, value in context.items()):
                number = float if any(isinstance(value, float) for value in context.values()) else int
                ends = {name: number(end) for name, end in ends.items()}
                if (low[0], high[0]) == ("ge", "le"):
                    return f"{ends['ge']} … {ends['le']}"
                return f"{ENDS[low[0]]} {ends[low[0]]} and {ENDS[high[0]]} {ends[high[0]]}"
        return ""

    def _alternatives(self, keys: Sequence[Key]) -> list[str]:
        """In words, the forms that the value of a field may take."""
        return list(dict.fromkeys(word for one in self._annotations_at(keys)[:1] for word in _words(one)))

    def _literals_at(self, keys: Sequence[Key]) -> list[str]:
        """The words that a field may be, or an entry of a list."""
        named = [*keys]
        while named and isinstance(named[-1], int):
            named.pop()
        return [str(one) for annotation in self._annotations_at(named) for one in _all_literals(annotation)]

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


def _limits(annotation: Any) -> Iterator[Sequence[Any]]:
    """What an annotation, or a part of it, says besides a type."""
    if get_origin(annotation) is Annotated:
        yield get_args(annotation)[1:]
    if not isinstance(annotation, type):
        for one in get_args(annotation):
            yield from _limits(one)


def _words(annotation: Any) -> Iterator[str]:
    """The forms that an annotation allows, in words."""
    kinds = {int: "int", float: "float", str: "string", bool: "bool", list: "list"}
    origin = get_origin(annotation)
    if origin is Literal:
        yield from map(repr, get_args(annotation))
    elif origin is Annotated:
        yield from _words(get_args(annotation)[0])
    elif annotation in kinds or origin in (list, dict):
        yield WANTED["dict" if origin is dict else kinds.get(annotation, "list")]
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


def _all_literals(annotation: Any) -> Iterator[Any]:
    for argument in get_args(annotation):
        yield from [argument] if get_origin(annotation) is Literal else _all_literals(argument)


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
    for key in keys:
        tree = tree[key]
    return tree


# ── the nearest allowed name, or form of a value ────────────────────────────────────────────────────────

TRUTHS = {
    "true": "true", "yes": "true", "on": "true", "y": "true",
    "false": "false", "no": "false", "off": "false", "n": "false",
}  # fmt: skip
"""Truth values of YAML 1.1, which are text in YAML 1.2, and texts that are to be one."""

SAID = {
    "links": "between", "data": "reconstruct", "records": "reconstruct", "target": "label",
    "nodes": "agents", "n": "agents", "size": "agents", "min": "low", "max": "high", "choices": "values",
    "sigma": "scale", "stddev": "scale", "std": "scale", "file": "path", "class": "path", "module": "path",
    "options": "parameters", "arguments": "parameters", "args": "parameters", "kwargs": "parameters",
}  # fmt: skip
"""Names by which people look for a field."""
CHARACTERS = {
    "tab": '"\\t"',
    r"\t": '"\\t"',
    "comma": '","',
    "semicolon": '";"',
    "space": '" "',
    "blank": '" "',
    "pipe": '"|"',
}
"""Words for a character."""
RENAMED = {"meddlers": "active_adversaries", "told_state": "sent_state", "last_heard": "last_received"}
"""Fields and words of files of version 0.1, and what they are called now."""
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9}
TAG = 0.65
"""How near a word has to be to one that tells forms apart, which are few: normal is not uniform."""
SHORTEST = 3
"""Letters of a name that is looked for in other parts."""
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d{1,2}")


def _near(written: object, names: Sequence[str], cutoff: float = 0.61) -> str:
    """A question that offers the nearest name, where there is one."""
    if isinstance(written, str) and RENAMED.get(written) in names:
        return f": renamed to {RENAMED[written]!r}"
    nearest = _nearest(written, names, cutoff)
    return did_you_mean([nearest] if nearest else [])


def _nearest(written: object, names: Sequence[str], cutoff: float) -> str:
    """The nearest name, "" where none is near; spelling counts, case and hyphens do not."""
    if not isinstance(written, str):
        return ""
    simple = {name.lower().replace("-", "_").replace(" ", "_"): name for name in names}
    word = written.lower().replace("-", "_").replace(" ", "_")
    begins = [name for name in simple if name.startswith(word)] if len(word) >= SHORTEST else []
    found = difflib.get_close_matches(word, simple, n=1, cutoff=cutoff) or (begins if len(begins) == 1 else [])
    return simple[found[0]] if found else ""


def _tag_in(there: object, tag: str, words: Sequence[str], keys: Sequence[Key], others: set[str]) -> str:
    """A question that offers the field that tells forms apart, of a mapping that has it not: a space that is missing,
    another name for it, which is none of the `others`, its word in the place of its name, or the mapping one level
    further in."""
    for name, value in cast("Tree", there).items() if isinstance(there, Mapping) else ():
        before, colon, after = name.partition(":")
        if colon and after and _near(before, [tag]):
            return f"; did you mean {tag!r}, with a space after the colon?"
        if isinstance(value, Mapping) and tag in value:
            return f"; did you mean {keys[-1]}.{name}: {{{tag}: …}}?"
        if (isinstance(value, str) and value.lower() in words) or (name not in others and _near(name, [tag], TAG)):
            return f"; did you mean {tag}: {setting(cast(object, value))}?"
        if name in words:
            return f"; did you mean {tag}: {name}?"
    return ""


def _constant(value: object, there: Tree) -> str:
    """A question that offers the number of a constant, which stands alone."""
    numbers = [one for one in there.values() if isinstance(one, int | float)]
    return f"; did you mean {numbers[0]} alone?" if value == "constant" and len(numbers) == 1 else ""


def _after_a_comma(name: str, value: object, there: Tree) -> str:
    """A question that offers the number with a point, of which a comma in braces has made the decimals a field."""
    fields = list(there)
    before = dict(zip(fields[1:], fields, strict=False)).get(name)
    whole = None if before is None else there[before]
    if value is not None or not name.isdecimal() or not isinstance(whole, int) or isinstance(whole, bool):
        return ""
    return f"; did you mean {before}: {whole}.{name}, with a decimal point?"


def _nested(keys: Sequence[Key], value: Any) -> str:
    """A question that offers the dotted field of a mapping whose values are lists, as of a grid."""
    paths = list(_lists(str(keys[-1]), value)) if isinstance(value, Mapping) and keys[:1] == ["grid"] else []
    return f"; did you mean {', '.join(f'{path}: {setting(one)}' for path, one in paths)}?" if paths else ""


def _lists(path: str, value: Any) -> Iterator[tuple[str, list[Any]]]:
    for name, inner in cast("Tree", value).items() if isinstance(value, Mapping) else ():
        if isinstance(inner, list):
            yield f"{path}.{name}", plain(inner)
        yield from _lists(f"{path}.{name}", inner)


def _near_text(
    name: str, models: Sequence[type[BaseModel]], root: type[BaseModel], keys: Sequence[Key], lists: Sequence[str]
) -> str:
    """Suggestion for an unknown field: a missing space, a near name beside it, a longer one with it as a word, or
    a field of another part. `models`: what the mapping around it may be; `lists`: parts of this tree that have an
    entry."""
    if match := re.fullmatch(r"(\w+):(\S.*)", name):
        return f"; did you mean {match[1]!r}, with a space after the colon?"
    beside = [one for model in models for one in model.model_fields]
    found = sorted({one for one in beside if name in one.split("_")}) if len(name) >= SHORTEST else []
    if not found and len(name) >= SHORTEST:
        around = dotted(keys[:-1])
        inside = re.sub(r"\[\d+\]", "[…]", around) + "."  # in a mapping of this kind or another
        everywhere = {path for path in _paths(root, name) if path != name and not path.startswith(inside)}
        places = sorted(
            everywhere | {f"{around}.{path}".lstrip(".") for model in models for path in _paths(model, name)},
            key=lambda path: (path.count("."), "[" in path, path),
        )
        places = [path.replace("[…]", "[0]", 1) if path.partition("[")[0] in lists else path for path in places]
        found = places if len(keys) == 1 else [path for path in places if path.startswith(f"{keys[0]}")]
    above = f"; did you mean {name}, at the top of the file?" if len(keys) > 1 and name in root.model_fields else ""
    return _near(name, beside, 0.75) or did_you_mean(found[:2]) or above or _near(name, beside, 0.65)


def _of_hundred(value: object, bounds: Mapping[str, Any], allowed: str) -> str:
    """A question that offers a percentage as the share that is meant."""
    if not isinstance(value, int | float) or not 5 <= value <= 100 or not bounds.get("lt", bounds.get("le", 2)) <= 1:
        return ""
    least = re.search(r">=? ?([\d.]+)", allowed)
    return f"; did you mean {value / 100:g}?" if least is None or value / 100 >= float(least[1]) else ""


def of_the_wrong_type(value: object, wanted: str, bare: bool = False) -> str:
    """A value in the place of what is `wanted`, and how that is written; `bare`: as a clause to append."""
    meant, unit = _written_as(value, wanted), ""
    if not meant and wanted in ("a number", "a whole number"):
        number, unit = _of_unit(value)
        meant = _written_as(number, wanted)
    hint = f"{unit}; did you mean {meant}?" if meant else ""
    return hint if bare else f"wrong type: {_kind(value)}{hint}"


def _of_unit(value: object) -> tuple[float | None, str]:
    """The number of a text with a unit, in the unit that files have, and what that is: 0.01 and seconds of 10ms."""
    text = value.strip() if isinstance(value, str) else ""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(\S+?)(?:/s|ps)?", text)
    if found is None or found[2] not in UNITS:
        return None, ""
    unit = "bytes" if found[2].endswith("B") else "seconds"
    return float(f"{float(found[1]) * UNITS[found[2]]:.12g}"), f"; in {unit}"


def _tags(models: Sequence[type[BaseModel]]) -> list[str]:
    """The words that tell these models apart."""
    return [str(one) for model in models if (tag := tag_field(model)) for one in literals(model, tag)]


def _of_no_form(value: object, forms: Sequence[str], models: Sequence[type[BaseModel]]) -> str:
    """How a value that is none of several forms may be written in one of them."""
    for wanted in ("a number", "a whole number", "true or false"):
        if wanted in forms and (meant := _written_as(value, wanted)):
            text = value if isinstance(value, str) else ""
            written = _kind(value).removeprefix("text").replace(", for", ":") if isinstance(value, str) else ""
            point = ", with a decimal point" if DECIMAL_COMMA.fullmatch(text.strip()) else ""
            return f"{written}; did you mean {meant}{point}?"
    number, unit = _of_unit(value)
    if number is not None and (hint := _of_no_form(number, (), models)):
        return f"{unit}{hint}"
    if isinstance(value, list) and len(cast("list[Any]", value)) == 1 and not isinstance(value[0], list):
        return "; did you mean the same without hyphens or brackets?"
    every = _tags(models)
    text = value.lower() if isinstance(value, str) else ""
    nearest = text if text in every else _nearest(cast("object", value), every, TAG)
    for model in models:
        tag = tag_field(model)
        words: tuple[Any, ...] = literals(model, tag) if tag else ()
        needed = [one for one, info in model.model_fields.items() if info.is_required() and one != tag]
        if nearest in words:
            return f"; did you mean {{{', '.join([f'{tag}: {nearest}', *(f'{one}: …' for one in needed)])}}}?"
        number = isinstance(value, int | float) and not isinstance(value, bool) and len(needed) == 1
        if tag and number and "float" in str(model.model_fields[needed[0]].annotation):
            bound = _bound_of(model, {tag: words[0], needed[0]: cast("object", value)})
            of_it, more = ("…", f", for a number {bound}") if bound else (f"{value}", "")
            return f"; did you mean {{{tag}: {words[0]}, {needed[0]}: {of_it}}}{more}?"
    for field, info in models[0].model_fields.items() if len(models) == 1 and isinstance(value, str) else ():
        if value in _all_literals(info.annotation):
            return f"; did you mean {{{field}: {value}}}?"
    return ""


def _bound_of(model: type[BaseModel], tree: Mapping[str, object]) -> str:
    """The bound that a number in a mapping is beyond; "" where the mapping is one of the model's."""
    try:
        model.model_validate(tree)
    except ValidationError as error:
        found = next((one for one in error.errors(include_url=False) if one["type"] in BOUNDS), None)
        return "" if found is None else BOUNDS[found["type"]].format(**found.get("ctx", {}))
    return ""


def _alone_inside(name: str, value: object, models: Sequence[type[BaseModel]]) -> str:
    """A question that offers the field in which a name stands alone, such as `scale: {epsilon: 1.0}` for `epsilon:
    1.0`; and the field by which `SAID` has it."""
    for model in models:
        if SAID.get(name) in model.model_fields:
            return f"; did you mean {SAID[name]!r}?"
        for field, info in model.model_fields.items():
            for one in models_in(info.annotation):
                required = [key for key, inner in one.model_fields.items() if inner.is_required()]
                if required == [name] and tag_field(one) is None and isinstance(value, int | float):
                    return f"; did you mean {field}: {{{name}: {setting(value)}}}?"
    return ""


def _alone_in(value: object, models: Sequence[type[BaseModel]]) -> str:
    """A question that offers a number as the only field that a mapping needs, `{bound: 1.0}` for `1.0`, or as the
    first of one that needs none: `{epsilon: 1.0}`."""
    if not isinstance(value, int | float) or isinstance(value, bool) or len(models) != 1:
        return ""
    fields = models[0].model_fields
    alone = [key for key, info in fields.items() if info.is_required()] or [*fields][:1]
    if len(alone) != 1:
        return ""
    try:
        models[0].model_validate({alone[0]: value})
    except ValidationError:
        return ""
    return f"; did you mean {{{alone[0]}: {setting(value)}}}?"


def _inner(model: type[BaseModel], name: str) -> Iterator[str]:
    """Fields of a model whose own models have a field of this name."""
    for field, info in model.model_fields.items():
        if any(name in one.model_fields for one in models_in(info.annotation)):
            yield field


def _free_fields(model: type[BaseModel]) -> Iterator[str]:
    """Fields that take a mapping of any names to anything."""
    for field, info in model.model_fields.items():
        if get_origin(info.annotation) is dict and get_args(info.annotation) == (str, Any):
            yield field


def _kind(value: object) -> str:
    if value is None:
        return "there is no value"
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int):
        return "a number"
    if isinstance(value, float) and not math.isfinite(value):
        return "no finite number"
    if isinstance(value, float):
        return "a number with a fraction" if value % 1 else "a number that YAML reads as one with a fraction"
    if isinstance(value, str):
        return "text, for it stands in quotes" if not isinstance(plain_scalar(value), str) else "text"
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list) else f"one {type(value).__name__.removesuffix('Spec')}"


def _written_as(value: object, wanted: str) -> str:
    if wanted == "true or false":
        if isinstance(value, str):
            return TRUTHS.get(value.lower(), "")
        return ("false", "true")[value] if isinstance(value, int) and value in (0, 1) else ""
    if wanted in ("a number", "a whole number"):
        number = _number(value)
        whole = number is not None and number % 1 == 0 and abs(number) < 1e15
        if number is None or (wanted == "a whole number" and not whole):
            return ""
        return repr(int(number) if whole else number)
    if wanted == "text" and isinstance(value, int | float):
        return f'"{str(value).lower()}", in quotes' if isinstance(value, bool) else f'"{value}", in quotes'
    if wanted == "a list" and isinstance(value, str | int | float):
        return f"[{setting(value)}]"
    if wanted == "a list" and isinstance(value, Mapping):
        return "a list of one, with a hyphen and a space before its first field"
    if wanted == "a mapping of fields" and isinstance(value, list):
        entries = cast("list[Any]", value)
        alone = len(entries) == 1 and isinstance(entries[0], Mapping)
        return "the same without hyphens or brackets" if alone else ""
    return ""


def _number(value: object) -> float | None:
    """The finite number that a value was to be."""
    if isinstance(value, float) and math.isfinite(value):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip().replace("_", "")
    digits = text.removesuffix("%").strip()
    try:
        number = float(digits.replace(",", "." if DECIMAL_COMMA.fullmatch(digits) else ""))
    except ValueError:
        return None
    number = number / 100 if text.endswith("%") else number
    return number if math.isfinite(number) else None


def _paths(model: type[BaseModel], name: str, where: str = "", depth: int = 3) -> Iterator[str]:
    """The dotted paths of all fields of this name, some levels deep."""
    for field, info in model.model_fields.items():
        inner = list(models_in(info.annotation))
        path = f"{where}.{field}".lstrip(".")
        if field == name:
            yield path
        entries = "[…]" if "list[" in str(info.annotation) and inner else ""
        for one in inner if depth > 1 else ():
            yield from _paths(one, name, path + entries, depth - 1)
