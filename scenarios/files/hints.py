"""Suggestions for a wrong name or a value of a wrong type: the nearest allowed one."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel

from scenarios.files.document import Key, plain_scalar
from scenarios.files.models import literals, models_in, tag_field

TRUTHS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
"""Truth values of YAML 1.1 that are text in YAML 1.2."""

SAID = {"data": "reconstruct", "records": "reconstruct"}
"""Names by which people look for a field."""
RENAMED = {"meddlers": "active_adversaries", "told_state": "sent_state", "last_heard": "last_received"}
"""Fields and words of files of version 0.1, and what they are called now."""
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
SHORTEST = 3
"""Letters of a name that is looked for in other parts."""
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d{1,2}")


def near(written: object, names: Sequence[str], most: int = 1) -> str:
    """A question that offers the nearest names, where there are any; spelling counts, case and hyphens do not."""
    if not isinstance(written, str):
        return ""
    if RENAMED.get(written) in names:
        return f": renamed to {RENAMED[written]!r}"
    simple = {name.lower().replace("-", "_").replace(" ", "_"): name for name in names}
    found = difflib.get_close_matches(written.lower().replace("-", "_").replace(" ", "_"), simple, n=most)
    return f"; did you mean {' or '.join(repr(simple[one]) for one in found)}?" if found else ""


def near_text(name: str, forms: Sequence[Sequence[str]], root: type[BaseModel], keys: Sequence[Key]) -> str:
    """Suggestion for an unknown field: a missing space, a near name beside it, a longer one with it as a word, or
    a field of another part."""
    if match := re.fullmatch(r"(\w+):(\S.*)", name):
        return f"; did you mean {match[1]!r}, with a space after the colon?"
    if found := near(name, [one for form in forms for one in form]):
        return found
    if len(name) < SHORTEST:
        return ""
    beside = sorted({one for form in forms for one in form if name in one.split("_")})
    if beside:
        return f"; did you mean {' or '.join(map(repr, beside[:2]))}?"
    places = sorted({path for path in _paths(root, name) if path != name}, key=lambda path: (path.count("."), path))
    inside = [path for path in places if path.startswith(f"{keys[0]}")] if len(keys) > 1 else []
    chosen = (inside or places)[:2]
    return f"; did you mean {' or '.join(repr(path) for path in chosen)}?" if chosen else ""


def of_the_wrong_type(value: object, wanted: str, bare: bool = False) -> str:
    """A value in the place of what is `wanted`, and how that is written; `bare`: as a clause to append."""
    meant = _meant(value, wanted)
    hint = f"; did you mean {meant}?" if meant else ""
    return hint if bare else f"wrong type: {_kind(value)}{hint}"


def of_no_form(value: object, forms: Sequence[str], models: Sequence[type[BaseModel]]) -> str:
    """How a value that is none of several forms may be written in one of them."""
    for wanted in ("a number", "a whole number", "true or false"):
        if wanted in forms and (meant := _meant(value, wanted)):
            quoted = _kind(value).removeprefix("text") if isinstance(value, str) else ""
            point = (
                ", with a decimal point" if isinstance(value, str) and DECIMAL_COMMA.fullmatch(value.strip()) else ""
            )
            return f"{quoted.replace(', for', ':')}; did you mean {meant}{point}?"
    if isinstance(value, str) and (match := re.fullmatch(r"([\d.]+) ?(s|ms|us|µs)", value.strip())):
        number = float(f"{float(match[1]) * UNITS[match[2]]:.12g}")
        if hint := of_no_form(number, (), models):
            return f"; in seconds{hint}"
    if isinstance(value, list) and len(cast("list[Any]", value)) == 1:
        return "; did you mean the same without hyphens or brackets?"
    for model in models:
        tag = tag_field(model)
        words = literals(model, tag) if tag else ()
        if isinstance(value, str) and value.lower() in words:
            needed = [f"{one}: …" for one, info in model.model_fields.items() if info.is_required() and one != tag]
            return f"; did you mean {{{', '.join([f'{tag}: {value.lower()}', *needed])}}}?"
    if isinstance(value, int | float) and not isinstance(value, bool):
        for model in models:
            tag = tag_field(model)
            needed = [one for one, info in model.model_fields.items() if info.is_required() and one != tag]
            if tag and len(needed) == 1 and "float" in str(model.model_fields[needed[0]].annotation):
                kind = literals(model, tag)[0]
                return f"; did you mean {{{tag}: {kind}, {needed[0]}: {value}}}?"
    return ""


def inside(name: str, value: object, models: Sequence[type[BaseModel]]) -> str:
    """A question that offers the field in which a name stands alone, such as `scale: {epsilon: 1.0}` for `epsilon:
    1.0`; and the field by which `SAID` has it."""
    for model in models:
        if SAID.get(name) in model.model_fields:
            return f"; did you mean {SAID[name]!r}?"
        for field, info in model.model_fields.items():
            for one in models_in(info.annotation):
                required = [key for key, inner in one.model_fields.items() if inner.is_required()]
                if required == [name] and tag_field(one) is None and isinstance(value, int | float):
                    return f"; did you mean {field}: {{{name}: {value}}}?"
    return ""


def alone_in(value: object, models: Sequence[type[BaseModel]]) -> str:
    """A question that offers a number as the only field that a mapping needs: `{bound: 1.0}` for `1.0`."""
    if not isinstance(value, int | float) or isinstance(value, bool) or len(models) != 1:
        return ""
    required = [key for key, info in models[0].model_fields.items() if info.is_required()]
    return f"; did you mean {{{required[0]}: {value}}}?" if len(required) == 1 else ""


def _kind(value: object) -> str:
    if value is None:
        return "there is no value"
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int):
        return "a number"
    if isinstance(value, float) and value - value != 0:
        return "no finite number"
    if isinstance(value, float):
        return "a number with a fraction" if value % 1 else "a number that YAML reads as one with a fraction"
    if isinstance(value, str):
        return "text, for it stands in quotes" if not isinstance(plain_scalar(value), str) else "text"
    return "a mapping" if isinstance(value, Mapping) else "a list"


def _meant(value: object, wanted: str) -> str:
    if wanted == "true or false":
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower()
        if isinstance(value, str):
            return TRUTHS.get(value.lower(), "")
        return ("false", "true")[value] if isinstance(value, int) and value in (0, 1) else ""
    if wanted in ("a number", "a whole number"):
        number = _number(value)
        if number is None or (wanted == "a whole number" and number % 1):
            return ""
        return repr(int(number) if number % 1 == 0 and abs(number) < 1e15 else number)
    if wanted == "text" and isinstance(value, int | float):
        return f'"{str(value).lower()}", in quotes' if isinstance(value, bool) else f'"{value}", in quotes'
    if wanted == "a list" and isinstance(value, str | int | float):
        return f"[{value}]"
    if wanted == "a list" and isinstance(value, Mapping):
        return "a list of one, with a hyphen and a space before its first field"
    if wanted == "a mapping of fields" and isinstance(value, list):
        return "the same without hyphens or brackets" if len(cast("list[Any]", value)) == 1 else ""
    return ""


def _number(value: object) -> float | None:
    """The finite number that a value was to be."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if not isinstance(value, str):
        return None
    text, factor = value.strip().replace("_", ""), 1.0
    if text.endswith("%"):
        text, factor = text[:-1].strip(), 0.01
    text = text.replace(",", ".") if DECIMAL_COMMA.fullmatch(text) else text.replace(",", "")
    try:
        number = float(text) * factor if factor == 1 else float(text) / 100
    except ValueError:
        return None
    return number if number - number == 0 else None


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
